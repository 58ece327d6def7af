"""Results as they are handed out: copies of lists and mappings, and tables for notebooks with all text escaped."""

from __future__ import annotations

from accmap.schemas.border.text_output import markup
from accmap.schemas.fast_records import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TypeVar

    from accmap.schemas.config import Config

    Any_ = TypeVar("Any_")
    AnyConfig = TypeVar("AnyConfig", bound=Config)

MOST_ROWS = 60


def table(heading: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A heading and a table of at most so many rows, as HTML."""
    listed = list(rows)
    head = "".join(f"<th>{markup(column)}</th>" for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{markup(_text(cell))}</td>' for cell in row)}</tr>" for row in listed[:MOST_ROWS]
    )
    rest = f"<p>… {len(listed) - MOST_ROWS} more</p>" if len(listed) > MOST_ROWS else ""
    return f"<p><b>{markup(heading)}</b></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def text(heading: str, content: str) -> str:
    """A heading and a text as it is."""
    shown = "\n".join(markup(line) for line in content.split("\n"))
    return f"<p><b>{markup(heading)}</b></p><pre>{shown}</pre>"


def _text(cell: object) -> str:
    return "" if cell is None else str(cell)


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
