"""Errors that refuse data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.diagnostic import UnreadableError, WordsError, diagnose

if TYPE_CHECKING:
    from typing import NoReturn

    from ...schemas.message import Problem


def unreadable(problem: Problem, file: str) -> NoReturn:
    """End the reading of `file` with one finding."""
    raise UnreadableError(diagnose(problem, file))


class RefusedError(WordsError):
    """Settings from which no framework builds a data set, and why."""


class MissingPackageError(Exception):
    """NumPy, on which the order of samples depends, is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(package)
        self.package = package


def need_numpy() -> None:
    """Raise `MissingPackageError` where NumPy is not installed."""
    try:
        import numpy  # noqa: F401  # pyright: ignore[reportUnusedImport] - only its presence is asked for
    except ImportError as error:
        raise MissingPackageError("numpy") from error
