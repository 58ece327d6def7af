"""Tables from disk as rows of text: `.csv`, and the first sheet of an `.xlsx` (a zip of XML), read as a stream."""

from __future__ import annotations

import csv
import os
import re
import sys
import zipfile
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from ...schemas.diagnostic import UnreadableError, finding
from ...schemas.system_reasons import system_reason
from .compare_problems import PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_SHEET = "xl/worksheets/sheet1.xml"
_STRINGS = "xl/sharedStrings.xml"


def read_rows(path: str) -> list[list[str]]:
    """Every row that is not empty; UnreadableError where the file is missing, cut off or no table."""
    if not os.path.isfile(path):
        raise UnreadableError(finding(PROBLEMS, "missing", path, path=path))
    try:
        rows = list(_sheet(path)) if path.lower().endswith(".xlsx") else list(_csv(path))
    except (OSError, UnicodeDecodeError, csv.Error, zipfile.BadZipFile, KeyError, EOFError) as error:
        raise broken(path, *why_unreadable(error)) from None
    except ElementTree.ParseError as error:
        raise broken(path, f"its sheet is not whole ({error})", f"工作表不完整（{error}）") from None
    if not rows:
        raise broken(path, "the table is empty", "表是空的")
    return rows


def broken(path: str, why: str, why_zh: str) -> UnreadableError:
    """A table that cannot be used."""
    return UnreadableError(finding(PROBLEMS, "broken-table", path, path=path, why=why, why_zh=why_zh))


def why_unreadable(error: Exception) -> tuple[str, str]:
    """Why a table cannot be read, in English and Chinese."""
    if isinstance(error, OSError):
        return system_reason(error)
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8", f"第 {error.start} 字节不是 UTF-8"
    return f"it cannot be read ({error})", f"无法读取（{error}）"


def _csv(path: str) -> Iterator[list[str]]:
    # A cell holds a whole call stack.
    csv.field_size_limit(min(sys.maxsize, 1 << 30))
    with open(path, encoding="utf-8-sig", newline="") as stream:
        for row in csv.reader(stream, strict=True):
            if any(cell.strip() for cell in row):
                yield row


def _sheet(path: str) -> Iterator[list[str]]:
    with zipfile.ZipFile(path) as archive:
        strings = list(_strings(archive)) if _STRINGS in archive.namelist() else []
        with archive.open(_SHEET) as stream:
            for _event, element in ElementTree.iterparse(stream):
                if element.tag != f"{_MAIN}row":
                    continue
                row = _row(element, strings)
                element.clear()
                if any(cell.strip() for cell in row):
                    yield row


def _strings(archive: zipfile.ZipFile) -> Iterator[str]:
    with archive.open(_STRINGS) as stream:
        for _event, element in ElementTree.iterparse(stream):
            if element.tag == f"{_MAIN}si":
                yield _text(element)
                element.clear()


def _row(element: ElementTree.Element, strings: list[str]) -> list[str]:
    row: list[str] = []
    for cell in element.iter(f"{_MAIN}c"):
        column = _column(cell.get("r", ""), len(row))
        row += [""] * (column - len(row))
        kind = cell.get("t")
        value = cell.find(f"{_MAIN}v")
        text = "" if value is None or value.text is None else value.text
        if kind == "s" and text.isdigit() and int(text) < len(strings):
            text = strings[int(text)]
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
