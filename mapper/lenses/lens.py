"""What a lens is: one named transform between a framework's values and recipe fields, read and written by one object.

`get` turns the values of a side's keys (in the order in which the row lists them) into the values of the row's
fields; `put` turns fields into keys. Laws, tested for every row: what was put is got again, and putting what was got
gives the keys back up to their canonical form. `OMIT` leaves a key out of the written file.
"""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Final, TypeAlias

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value


class Omitted:
    """Stands for a key that is not written."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "OMIT"


OMIT: Final = Omitted()
UNDECIDED: Final = "undecided"
"""In place of a number that the keys do not decide: a value of another kind than its field's leaves the field open."""
Values: TypeAlias = "tuple[Value, ...]"
Written: TypeAlias = "tuple[Value | Omitted, ...]"


class Scope(NamedTuple):
    """What a lens may ask besides its own values."""

    side: str
    """megatron, static or dynamic."""
    version: str
    options: Mapping[str, Value]
    field: Callable[[FieldName], Value]
    """Another field of the recipe; None where it is not known."""


def none_missing(values: Values, scope: Scope) -> Sequence[int]:
    """Of a lens whose fields may all have a value."""
    del values, scope
    return ()


class Lens(NamedTuple):
    """Both directions."""

    get: Callable[[Values, Scope], Values]
    put: Callable[[Values, Scope], Written]
    drives: tuple[tuple[int, ...], ...] = ()
    """For every field the places of the keys that decide it; every key for every field where empty."""
    without: Callable[[Values, Scope], Sequence[int]] = none_missing
    """The places of fields that have no value if the keys that decide them are known, whatever else is open."""


def integer(value: Value) -> int | None:
    """A whole number, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if value == value and abs(value) != float("inf") and value == int(value) else None


def number(value: Value) -> int | float | None:
    """A number, or None; a whole number of more than three hundred digits, which no float can hold, is none."""
    if isinstance(value, float):
        return value
    return value if isinstance(value, int) and not isinstance(value, bool) and -_MOST < value < _MOST else None


_MOST = 1 << 1023


def items(value: Value) -> list[Value] | None:
    """The entries of a list, or None."""
    if isinstance(value, (list, tuple)):
        return list(value)
    return None


def entries(value: Value) -> Mapping[str, Value] | None:
    """The entries of a mapping, or None."""
    return value if isinstance(value, dict) else None
