"""Which facts belong to which version of MindSpore Transformers (static graph).

Every version has one compiled module, and only the one that is asked for is imported.
"""

from __future__ import annotations

from ..diagnostic import UnreadableError, finding
from ..fast_records import TYPE_CHECKING
from ..named_module import named_module
from ..versions import default_name, minor_of, names, names_with_facts, number_of, stand_ins
from .messages_compiled import say

if TYPE_CHECKING:
    from typing import Any

STATIC_VERSIONS = names_with_facts("mindformers", "static")
KNOWN_VERSIONS = names("mindformers")
"""Every version that `--mindformers` may name; 2.0 has facts of its own for the dynamic graph alone."""
DEFAULT_STATIC = default_name("mindformers", "static")
DEFAULT_DYNAMIC = default_name("mindformers", "dynamic")

_STANDS_FOR = stand_ins("mindformers", "static")
"""A version without facts of its own, and the nearest one that has them."""


def minor_version(text: str) -> str:
    """`1.9.0` as `1.9`."""
    return ".".join(text.lstrip("vr").split(".")[:2])


def known_version(text: str, where: str = "--mindformers") -> str:
    """`1.9` for `1.9`, `1.9.0`, `v1.9.0`; UnreadableError for one that is not known."""
    version = minor_of(text)
    if version is None or version not in KNOWN_VERSIONS:
        known = ", ".join(KNOWN_VERSIONS)
        raise UnreadableError(finding(say.unknown_version(given=text, known=known), where))
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
    """The facts of one of `STATIC_VERSIONS`."""
    module = named_module(f"static_{version.replace('.', '_')}_compiled", __package__)
    return module.CATALOG
