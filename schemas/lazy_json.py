"""Records of an answer that become JSON where one is looked at: all at once would take more memory than they tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from collections.abc import Callable

    Written = dict[str, Any]


class Late(Sequence["Written"]):
    """The JSON of each record, by the function that writes one; an encoder takes it with `default=list`."""

    def __init__(self, write: Callable[[Any, str], Written], records: Sequence[Any], language: str) -> None:
        self._write = write
        self._records = records
        self._language = language

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> Written: ...
    @overload
    def __getitem__(self, index: slice) -> list[Written]: ...
    def __getitem__(self, index: int | slice) -> Written | list[Written]:
        if isinstance(index, int):
            return self._write(self._records[index], self._language)
        return [self._write(one, self._language) for one in self._records[index]]
