"""Makes the diagnostics of a log, with their place and an excerpt of the line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.diagnostic import Diagnostic, UnreadableError, diagnose
from ...schemas.source import Span

if TYPE_CHECKING:
    from typing import NoReturn

    from ...schemas.message import Problem


def problem(what: Problem, file: str, line: int | None = None) -> Diagnostic:
    """A problem at a line of a file."""
    return diagnose(what, file, place(line))


def refuse(what: Problem, file: str) -> NoReturn:
    """UnreadableError: there is nothing to work with."""
    raise UnreadableError(diagnose(what, file))


def place(line: int | None) -> Span | None:
    """The first column of a line."""
    return None if line is None else Span(line, 1, line, 2)


def excerpt(line: bytes, limit: int = 120) -> str:
    """A line as a message may show it: decoded, without control characters, cut."""
    text = line.decode("utf-8", "replace").strip()
    text = "".join(letter if letter.isprintable() else "·" for letter in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"
