"""Plain values: guards of type, copies, numbers as text, the truth of a switch, and values as JSON."""

from __future__ import annotations

import math

from .fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeGuard


def is_mapping(value: object) -> TypeGuard[dict[Any, Any]]:
    """True for a mapping, in a form that a type checker follows."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """True for a list, in a form that a type checker follows."""
    return isinstance(value, list)


def number_in(text: str | bytes) -> float | None:
    """Number that a text is in Python's syntax; None for other text."""
    try:
        return float(text)
    except ValueError:
        return None


def json_or_text(text: str) -> Any:
    """Value of a JSON text, else the text."""
    from json import loads

    try:
        return loads(text)
    except (ValueError, RecursionError):
        return text


def deep_copy(value: Any) -> Any:
    """A copy whose mappings and lists can be changed."""
    if is_mapping(value):
        return {key: deep_copy(entry) for key, entry in value.items()}
    if is_list(value):
        return [deep_copy(entry) for entry in value]
    return value


def is_number(text: str) -> bool:
    """True if Python reads a number: `1e-8`, `inf` and `nan` are numbers, too."""
    return number_in(text) is not None


def whole_number(text: str) -> int | None:
    """Whole number as `int()` reads it; None for other text and beyond 64 bits."""
    try:
        found = int(text)
    except ValueError:
        return None
    return found if found.bit_length() < INTEGER_BITS else None


INTEGER_BITS = 64
"""What the integers of the frameworks hold."""


def is_whole_number(value: float) -> bool:
    """True for a number without a fraction that an integer of the frameworks holds."""
    return value.is_integer() and int(value).bit_length() < INTEGER_BITS


_DIGITS = 12
"""Fractions that agree to nine digits are the same everywhere; what a product leaves behind stands further on."""


def short(value: float) -> str:
    """Float as short text: 0.1 + 0.2 becomes 0.3."""
    return repr(value if value % 1 == 0 else float(f"{value:.{_DIGITS}g}"))


def in_full(text: str, longest: int = 2000) -> str:
    """Text of a value; very long ones shortened, with their length."""
    rest = len(text) - longest
    return text if rest <= 0 else f"{text[:longest]} [+{rest:,}]"


_LARGEST = 3.4e38
"""The largest number of float32."""
_SHOWN = 60


def is_value_of(kind: str, value: object) -> bool:
    """True for a value of a kind: `whole`, `number` (fits float32) or `text`."""
    if kind == "text":
        return isinstance(value, str)
    if isinstance(value, bool):
        return False
    if kind == "whole":
        return isinstance(value, int) and value >= 0 and value.bit_length() < INTEGER_BITS
    return isinstance(value, (int, float)) and -_LARGEST <= value <= _LARGEST


def brief(value: object) -> object:
    """Value, or the start of its text if that is long."""
    is_long = (isinstance(value, int) and value.bit_length() > INTEGER_BITS) or len(str(value)) > _SHOWN
    return brief_text(value) if is_long else value


def brief_text(value: object) -> str:
    """A value in a message: of a long one, the beginning."""
    if isinstance(value, int) and value.bit_length() > INTEGER_BITS:
        value = hex(value)  # Python writes no more than 4,300 decimal digits
    return in_full(str(value), _SHOWN)


def plain(value: object) -> str:
    """Value as text, floats shortened."""
    return short(value) if isinstance(value, float) else str(value)


def json_value(value: object) -> object:
    """A value of a configuration; not-a-number and the infinities are strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if isinstance(value, dict):
        return {str(key): json_value(entry) for key, entry in value.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, (list, tuple)):
        return [json_value(entry) for entry in value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    # YAML also has dates and bytes: they are shown as written.
    return str(value)


class LazyList:
    """The JSON of each record, made when it is asked for: all at once would take more memory than the records.

    An encoder takes it with `default=list`.
    """

    def __init__(self, write: Callable[[Any, str], dict[str, Any]], records: Sequence[Any], language: str) -> None:
        self._write = write
        self._records = records
        self._language = language

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self._write(record, self._language) for record in self._records)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self._write(self._records[index], self._language)


TRUTH = "truth"
"""The test `if value`: empty texts, lists and mappings, zeros and null are off, anything else is on."""
_OF_NULL: Mapping[str, bool | None] = {
    TRUTH: False,
    "truth_null_on": True,
    "truth_not_null": None,
    "bool": None,
    "bool_null_off": False,
    "bool_null_on": True,
    "whole": None,
}
TESTS = frozenset(_OF_NULL)
"""Every way in which code asks."""


def is_on(value: object, test: str = TRUTH) -> bool | None:
    """True if a value switches on; None if the framework refuses it."""
    if isinstance(value, bool):
        return value
    if value is None:
        return _OF_NULL[test]
    if test.startswith(TRUTH):
        return bool(value)
    if test == "whole" and isinstance(value, int) and value in (0, 1):
        return value == 1
    return None
