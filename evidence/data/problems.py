"""Errors that refuse data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.diagnostic import UnreadableError, diagnose

if TYPE_CHECKING:
    from typing import NoReturn

    from ...schemas.message import Problem, Words


def unreadable(problem: Problem, file: str) -> NoReturn:
    """End the reading of `file` with one finding."""
    raise UnreadableError(diagnose(problem, file))


class RefusedError(ValueError):
    """Settings from which no framework builds a data set, and why."""

    def __init__(self, said: Words) -> None:
        super().__init__(said)
        self.words = said


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
