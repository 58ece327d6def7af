"""What is handed out belongs to whoever asked for it: lists and mappings that accmap keeps are copied.

Settings that are the same for every file, and what one reading leaves for the next, are kept in one place; a caller who
changed them would change what the next file says.
"""

from __future__ import annotations

from accmap.schemas.fast_records import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from accmap.schemas.config import Config

    Any_ = TypeVar("Any_")
    AnyConfig = TypeVar("AnyConfig", bound=Config)


def own(value: Any_) -> Any_:
    """The same value with lists and mappings of its own, however deep they stand."""
    found: Any = value
    if isinstance(value, dict):
        found = {key: own(entry) for key, entry in cast("dict[Any, Any]", value).items()}
    elif isinstance(value, list):
        found = [own(entry) for entry in cast("list[Any]", value)]
    elif isinstance(value, tuple):
        held = cast("tuple[Any, ...]", value)
        entries = [own(entry) for entry in held]
        if any(one is not other for one, other in zip(entries, held, strict=True)):
            make: Any = getattr(held, "_make", tuple)
            found = make(entries)
    return cast("Any_", found)


def with_own_settings(config: AnyConfig) -> AnyConfig:
    """The same configuration with settings of its own, and without the tree of its text, which others share."""
    settings = {
        key: setting if setting.value.__class__ in _ATOMS else setting._replace(value=own(setting.value))
        for key, setting in config.settings.items()
    }
    return config._replace(settings=settings, document=None)


_ATOMS = frozenset((str, int, float, bool, type(None)))
