"""Forks of Megatron-LM: the one that a version or a file belongs to, loaded when it is met."""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING, cast
from ..versions import minor_of
from . import catalog as own
from .catalog import VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..config import Config
    from ..diagnostic import Diagnostic
    from .catalog import Catalog
    from .dialects import Dialect

OWN = "arguments"
"""The dialect of Megatron-LM itself; each of its forks that accmap knows has one of its own."""

UNKNOWN_FLAGS = frozenset(("MAP002", "MAP042", "MAP121", "MAP122", "MAP146"))
"""Arguments that the version does not know and that are no slip: the program is a fork's or has words of its own."""
_PARSED = frozenset(("MAP003", "MAP006", "MAP030"))
"""How many words an argument takes, which, and what is checked: facts of a fork that accmap knows answer for it."""
REFUSED_BY_THE_BASE = _PARSED.union(("MAP035", "MAP108", "MAP126", "NET032", "PAR007", "PAR011"))
"""What Megatron-LM itself refuses; a fork that has flags of its own may take it."""


def may_take_it(config: Config) -> bool:
    """True if a fork may accept what Megatron-LM refuses."""
    return fork_of(config) is not None or _is_strange(config.problems)


def may_take_stop(config: Config, rule: str | None) -> bool:
    """True if a fork may run despite what stops Megatron-LM."""
    return (rule is None or rule in REFUSED_BY_THE_BASE) and may_take_it(config)


def _is_strange(problems: Sequence[Diagnostic]) -> bool:
    return any(problem.kind.code in UNKNOWN_FLAGS for problem in problems)


def in_doubt(
    found: Iterable[Diagnostic],
    fork: Dialect | None,
    problems: Sequence[Diagnostic],
    files_of: Callable[[], frozenset[str] | None] = lambda: None,
) -> tuple[Diagnostic, ...]:
    """Findings with refusals lowered to warnings if only the forked framework is known to refuse.

    `problems` are the reader's, which know the strange arguments; `files_of` are the launch's, where others are beside.
    """
    strange = _is_strange(problems)
    if fork is not None:
        found = (entry for entry in found if entry.kind.code not in fork.replaced)
    elif not strange:
        return tuple(found)
    answered = fork is not None and not fork.borrowed and not strange  # its facts are of what runs, and know every flag
    open_to_it = REFUSED_BY_THE_BASE - _PARSED if answered else REFUSED_BY_THE_BASE
    files = files_of()
    return tuple(
        entry._replace(kind=entry.kind._replace(severity="warning"))
        if entry.kind.code in open_to_it and entry.kind.severity == "error" and (files is None or entry.file in files)
        else entry
        for entry in found
    )


def dialect_asked(text: str | None, where: str = "--megatron") -> Dialect | None:
    """Dialect that a version text names; None for Megatron-LM's own versions."""
    if text is None or minor_of(text) or text.strip() in VERSIONS:
        return None
    from .dialects import dialect_named

    return dialect_named(text.strip(), where)


def normalise_version(text: str, where: str = "--megatron") -> str:
    """Megatron-LM version for a version or fork name; UnreadableError if unknown."""
    fork = dialect_asked(text, where)
    return own.normalise_version(text, where) if fork is None else fork.base


def fork_of(config: Config) -> Dialect | None:
    """Fork dialect in which a file was read; None otherwise."""
    return cast("Dialect | None", config.fork)


def catalog(version: str, fork: Dialect | None = None) -> Catalog:
    """The arguments of a version, with those of a fork's dialect."""
    return own.catalog(version) if fork is None else fork.known
