"""What can be wrong with a schedule or is worth knowing about it: messages with numbers as a person writes them."""

from __future__ import annotations

from ...schemas.diagnostic import Diagnostic
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec

    from ...schemas.message import Language, Problem, Words

    Values = ParamSpec("Values")

LARGEST = 1e18
"""Numbers from here on are no setting of a schedule."""


class Note(NamedTuple):
    """One remark about a schedule: the message's name, the values that fill it, and what it says."""

    name: str
    values: tuple[tuple[str, object], ...]
    said: Words

    def message(self, language: Language = "en") -> str:
        """The sentence for a person."""
        return self.said.text(language)


def note(said: Callable[Values, Words], *_: Values.args, **values: Values.kwargs) -> Note:
    """A remark of a message and what fills it."""
    return Note(said.__name__, tuple(values.items()), said(**_shown(values)))  # pyright: ignore[reportCallIssue]


def problem(said: Callable[Values, Problem], *_: Values.args, **values: Values.kwargs) -> Diagnostic:
    """A finding about a schedule as a whole, without a place or a file yet."""
    found = said(**_shown(values))  # pyright: ignore[reportCallIssue]
    return Diagnostic(found.kind, "", None, found.values)


def _shown(values: dict[str, object]) -> dict[str, object]:
    return {name: shown(value) for name, value in values.items()}


def shown(value: object) -> str:
    """A number as a person writes it: short, and without losing a difference that matters."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and (not value.is_integer() or abs(value) >= 1e15):
        return f"{value:.6g}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    return str(value)
