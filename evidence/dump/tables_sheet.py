"""Tables from disk as rows of text: `.csv`, and the first sheet of an `.xlsx` (a zip of XML), read as a stream.

`python-calamine` would not do: it has no limit of memory and ends the process (0.9.1: for a sheet of 1,417 bytes, whose
two cells lie far apart, it asks for 550 GB).
"""

from __future__ import annotations

import csv
import io
import os
import re
import zipfile
import zlib
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from ...schemas.border.inputs import open_regular
from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.shared_words import system_reason
from ..archives import Budget, Unpacked, Window, opened_archive
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...schemas.message import Words

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_SHEET = "xl/worksheets/sheet1.xml"
_STRINGS = "xl/sharedStrings.xml"
MOST_ROOM = 600 << 20
"""What a sheet may unpack to; msprobe's of a whole model have some tens of megabytes."""
_LONGEST_ROW = 1 << 22
"""Characters of a row: a cell holds a whole call stack."""
_PACKED = 40
"""A sheet of numbers is packed to a tenth or twentieth."""
_SMALL = 8 << 20
_DEEPEST = 32
_MOST_HELD = 100_000
"""Elements of one row; the widest sheet there is has 16,384 cells in it."""
_CELL, _ROW = 58, 64
"""Bytes of memory for a cell and a row, without what stands in them."""


def read_rows(path: str) -> Iterator[list[str]]:
    """Every row that is not empty, one by one; UnreadableError where the file is missing, cut off or no table."""
    if not os.path.isfile(path):
        raise UnreadableError(diagnose(say.missing(path=path), path))
    try:
        empty = True
        for row in _sheet(path) if path.lower().endswith(".xlsx") else _csv(path):
            empty = False
            yield row
    except (
        OSError, UnicodeDecodeError, csv.Error, zipfile.BadZipFile, zlib.error, KeyError, EOFError, RuntimeError,
        NotImplementedError, ValueError,
    ) as error:  # fmt: skip
        raise broken(path, why_unreadable(error)) from None
    except ElementTree.ParseError as error:
        raise broken(path, say.its_sheet_is_not_whole(error=error)) from None
    if empty:
        raise broken(path, say.the_table_is_empty())


def broken(path: str, why: Words) -> UnreadableError:
    """A table that cannot be used."""
    return UnreadableError(diagnose(say.broken_table(path=path, why=why), path))


def why_unreadable(error: Exception) -> Words:
    """The reason why a table cannot be read."""
    if isinstance(error, OSError):
        return system_reason(error)
    if isinstance(error, UnicodeDecodeError):
        return say.byte_is_not_utf_8(start=error.start)
    return say.it_cannot_be_read(error=error)


def _csv(path: str) -> Iterator[list[str]]:
    csv.field_size_limit(_LONGEST_ROW)
    for row in csv_rows(path, strict=True):
        if any(cell.strip() for cell in row):
            yield row


def csv_rows(path: str, *, strict: bool) -> Iterator[list[str]]:
    """The rows of a CSV file that are not empty; OSError, UnicodeDecodeError or csv.Error where it is none."""
    with open_regular(path) as opened, io.TextIOWrapper(opened, encoding="utf-8-sig", newline="") as stream:
        lines = _Lines(stream)
        for row in csv.reader(lines, strict=strict):
            lines.held = 0
            if row:
                yield row


class _Lines:
    """The lines of a table, of which one row holds so many characters at most."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream
        self.held = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(_LONGEST_ROW + 1)
        self.held += len(line)
        if self.held > _LONGEST_ROW:
            raise csv.Error("one of its rows holds more than any table of msprobe")
        if not line:
            raise StopIteration
        return line


def _sheet(path: str) -> Iterator[list[str]]:
    with open_regular(path) as opened:
        size = os.fstat(opened.fileno()).st_size
        with opened_archive(Window(opened, 0, size)) as archive:
            budget = Budget(min(MOST_ROOM, _PACKED * size + _SMALL))
            strings = list(_strings(archive, budget)) if _STRINGS in archive.namelist() else []
            with archive.open(_SHEET) as stream:
                for element in _elements(_Sheet(stream, budget), f"{_MAIN}row"):
                    row = _row(element, strings, budget)
                    if any(cell.strip() for cell in row):
                        yield row


class _Sheet(Unpacked):
    _last = b""

    def read(self, size: int = -1) -> bytes:
        data = super().read(size)
        # Entities multiply a few bytes into any amount of text, and no spreadsheet has them.
        if b"<!" in self._last + data:
            raise zipfile.BadZipFile("its sheet declares entities")
        self._last = data[-1:]
        return data


def _elements(stream: _Sheet, tag: str) -> Iterator[ElementTree.Element]:
    """The elements of a name, one after the other; nothing of what was read is kept."""
    above: list[ElementTree.Element] = []
    inside = held = others = 0
    for event, element in ElementTree.iterparse(stream, ("start", "end")):  # pyright: ignore[reportArgumentType]
        if event == "start":
            above.append(element)
            inside += element.tag == tag
            held += 1
            if len(above) > _DEEPEST or held > _MOST_HELD:
                raise zipfile.BadZipFile("one of its rows holds more than any table of msprobe")
            continue
        above.pop()
        inside -= element.tag == tag
        if inside:
            continue
        if element.tag == tag:
            yield element
        elif others < _MOST_HELD:
            others += 1
        else:
            raise zipfile.BadZipFile("it holds more than rows")
        element.clear()
        if above:
            above[-1].clear()
        held = len(above)


def _strings(archive: zipfile.ZipFile, budget: Budget) -> Iterator[str]:
    with archive.open(_STRINGS) as stream:
        for element in _elements(_Sheet(stream, budget), f"{_MAIN}si"):
            text = _text(element)
            budget.take(_CELL + len(text) if text else 8)
            yield text


def _row(element: ElementTree.Element, strings: list[str], budget: Budget) -> list[str]:
    row: list[str] = []
    for cell in element.iter(f"{_MAIN}c"):
        column = _column(cell.get("r", ""), len(row))
        budget.take(8 * (column + 1 - len(row)))
        row += [""] * (column - len(row))
        kind = cell.get("t")
        value = cell.find(f"{_MAIN}v")
        text = "" if value is None or value.text is None else value.text
        if kind == "s":
            at = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else len(strings)
            text = strings[at] if at < len(strings) else text
        elif kind == "inlineStr":
            text = _text(cell)
        row.append(text)
    return row


def _text(element: ElementTree.Element) -> str:
    return "".join(part.text or "" for part in element.iter(f"{_MAIN}t"))


def _column(reference: str, following: int) -> int:
    """The position of a cell such as `AB12`, counted from 0."""
    letters = re.match(r"[A-Z]{1,3}", reference)
    if letters is None:
        return following
    at = 0
    for letter in letters[0]:
        at = at * 26 + ord(letter) - ord("A") + 1
    return max(at - 1, following)
