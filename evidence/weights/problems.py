"""The diagnostics and errors that refuse a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ...schemas.diagnostic import Diagnostic, UnreadableError, diagnose
from ...schemas.shared_words import first_of, system_reason
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...schemas.message import Problem, Words

_LISTED = 6


def problem(what: Problem, file: str) -> Diagnostic:
    """One occurrence of a problem."""
    return diagnose(what, file)


def raise_unreadable(what: Problem, file: str) -> NoReturn:
    """Stop at a checkpoint that cannot be read."""
    raise UnreadableError(diagnose(what, file))


def raise_garbled(file: str, why: Words) -> NoReturn:
    """Stop at a file that is not what its name says."""
    raise_unreadable(say.garbled(file=file, why=why), file)


def raise_denied(file: str, error: OSError) -> NoReturn:
    """Stop at a file that the system does not give, or that is no file."""
    raise_garbled(file, system_reason(error))


def raise_duplicate(file: str, first: str, second: str) -> NoReturn:
    """Two names of a checkpoint stand for one weight."""
    raise_garbled(file, say.and_are_the_same_weight(first=first, second=second))


def list_names(names: Iterable[str]) -> str:
    """The first few of many names, and how many more there are."""
    return first_of(list(names), _LISTED)


class RefusedError(Exception):
    """A conversion that must not go on: exit code 1 and these diagnostics."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*(diagnostic.message() for diagnostic in diagnostics))
        self.diagnostics = diagnostics
