"""The versions of MindSpore Transformers: their facts, and the version and the dialect of a file.

Every version has one compiled module, and only the one that is asked for is imported.
"""

from __future__ import annotations

import os

from ..diagnostic import UnreadableError, diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple, cast, named_module
from ..message import NOTHING
from ..plain_values import is_on
from ..versions import (
    default_name,
    default_target,
    minor_of,
    names,
    names_with_facts,
    nearest_version,
    number_of,
    stand_ins,
    target_dialect,
)
from ..versions_compiled import NUMBERS
from .messages_compiled import say
from .only_in_compiled import ONLY_IN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..config import ReadOptions, VersionOrigin
    from ..message import Words


STATIC_VERSIONS = names_with_facts("mindformers", "static")
KNOWN_VERSIONS = names("mindformers")
"""Every version that `--mindformers` may name; 2.0 has facts of its own for the dynamic graph alone."""
DEFAULT_STATIC = default_name("mindformers", "static")
DEFAULT_DYNAMIC = default_name("mindformers", "dynamic")

_STANDS_FOR = stand_ins("mindformers", "static")
"""A version without facts of its own, and the nearest one that has them."""


def minor_version(text: str) -> str:
    """Version without its patch: `1.9` for `1.9.0`; branch names unchanged."""
    return text if text in NUMBERS else ".".join(text.lstrip("vr").split(".")[:2])


def known_version(text: str, where: str = "--mindformers") -> str:
    """Version name for texts such as `v1.9.0`; UnreadableError if unknown."""
    version = minor_of(text) or text.strip()
    if version not in KNOWN_VERSIONS:
        known = ", ".join(KNOWN_VERSIONS)
        raise UnreadableError(
            diagnose(say.unknown_version(given=text, known=known, nearest=nearest_version(text, KNOWN_VERSIONS)), where)
        )
    return version


def static_version(asked: str | None) -> str:
    """The version whose facts answer for the version `asked`."""
    if asked is None:
        return DEFAULT_STATIC
    version = minor_version(asked)
    version = _STANDS_FOR.get(version, version)
    if version in STATIC_VERSIONS:
        return version
    return STATIC_VERSIONS[0] if number_of(version) < number_of(STATIC_VERSIONS[0]) else STATIC_VERSIONS[-1]


def static_catalog(version: str) -> dict[str, Any]:
    """Facts of one of `STATIC_VERSIONS`."""
    module = named_module(f"static_{version.replace('.', '_')}_compiled", __package__)
    return module.CATALOG


_ONLY_DYNAMIC = frozenset(("lr_scheduler", "parallelism", "training"))
_ONLY_STATIC = frozenset(("runner_config", "parallel_config", "lr_schedule", "use_legacy", "trainer"))


WRITTEN: Mapping[str, tuple[str, ...]] = {
    "static": names("mindformers", "static", "write"),
    "dynamic": names("mindformers", "dynamic", "write"),
}
"""The versions that can be written, by dialect."""


def target_of(version: str | None, dialect: str | None) -> tuple[str, str]:
    """Version and dialect to write, completed if only one is named."""
    usual_version, usual_dialect = default_target("mindformers")
    if version is not None:
        return version, dialect or target_dialect("mindformers", minor_version(version)) or usual_dialect
    if dialect is None or dialect == usual_dialect:
        return usual_version, usual_dialect
    return DEFAULT_STATIC, dialect


class Chosen(NamedTuple):
    """The version whose rules apply, where it comes from and by what it was found."""

    version: str
    origin: VersionOrigin
    reason: Words = NOTHING


def dialect_and_version(
    value: Mapping[Any, Any],
    options: ReadOptions,
    tree: Callable[[], tuple[str, str] | None] = lambda: None,
    written: str | None = None,
) -> tuple[str, Chosen]:
    """Dialect of a configuration and the version whose rules apply.

    `tree` finds the source tree that the file belongs to; `written`: the version that accmap wrote the file for.
    """
    dialect = options.dialect or detected_dialect(value)
    return dialect, _version(value, dialect, options, tree, written)


def _version(
    value: Mapping[Any, Any],
    dialect: str,
    options: ReadOptions,
    tree: Callable[[], tuple[str, str] | None],
    written: str | None,
) -> Chosen:
    """Version as requested, or from tree, header, distinctive keys or default."""
    if options.mindformers is not None:
        return Chosen(known_version(options.mindformers), "given")
    found = tree()
    if found is not None:
        given, path = found
        said = say.tree_says if os.path.basename(path) == "__init__.py" else say.tree_has
        return Chosen(minor_version(given), "detected", said(path=path, given=given))
    usual = DEFAULT_DYNAMIC if dialect == "dynamic" else DEFAULT_STATIC
    # The usual one is written where nobody has said a version: it is no better known for that.
    if written != usual and written in WRITTEN.get(dialect, ()):
        return Chosen(written, "detected", say.written_for(version=written))
    if dialect == "dynamic":
        return Chosen(usual, "assumed")
    for path, values, version in ONLY_IN:
        held = _value_at(value, path)
        if held is not None and (values is None or held in values):
            name = ".".join(path) + (f": {held}" if values else "")
            return Chosen(version, "detected", say.only_version_knows(version=version, name=name))
    return Chosen(usual, "assumed")


def _value_at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, Any]", value).get(step)
    return value if isinstance(value, (str, bool, int)) else None


def detected_dialect(value: Mapping[Any, Any]) -> str:
    """The dialect that the keys of a configuration speak."""
    keys = {key for key in value if isinstance(key, str)}
    if keys & _ONLY_DYNAMIC and not keys & _ONLY_STATIC:
        return "dynamic"
    # `MFContextOperator` keeps the value as written; `switches.yaml` says what becomes of null.
    return "legacy" if is_on(value.get("use_legacy", True), "truth_null_on") else "static"
