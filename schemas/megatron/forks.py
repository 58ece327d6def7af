"""Which fork of Megatron-LM a version or a file is of, if any; what is known of one is loaded when one is met."""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from ..version_text import minor_of
from . import catalog as own
from .catalog import VERSIONS

if TYPE_CHECKING:
    from ..config import Config
    from .catalog import Catalog
    from .dialects import Dialect

OWN = "arguments"
"""The dialect of Megatron-LM itself; each of its forks that accmap knows has one of its own."""


def dialect_asked(text: str | None, where: str = "--megatron") -> Dialect | None:
    """The fork's dialect that a version names; None where it is a version of Megatron-LM's own."""
    if text is None or minor_of(text) or text.strip() in VERSIONS:
        return None
    from .dialects import dialect_named

    return dialect_named(text.strip(), where)


def normalise_version(text: str, where: str = "--megatron") -> str:
    """The version of Megatron-LM that a text names, or that a fork stands on; UnreadableError for one not known."""
    fork = dialect_asked(text, where)
    return own.normalise_version(text, where) if fork is None else fork.base


def fork_of(config: Config) -> Dialect | None:
    """The dialect that a file was read in; None for Megatron-LM's own, and for files of another framework."""
    if config.framework != "megatron" or config.dialect == OWN:
        return None
    from .dialects import dialect_named

    return dialect_named(config.dialect)


def catalog(version: str, dialect: str) -> Catalog:
    """The arguments of a version, with those of a fork's dialect."""
    if dialect == OWN:
        return own.catalog(version)
    from .dialects import dialect_named

    fork = dialect_named(dialect)
    return own.catalog(version) if fork is None else fork.known
