"""Values and records as the contract writes them in JSON."""

from __future__ import annotations

import math

from .fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any


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
