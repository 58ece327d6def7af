"""Where a key or a value of a JSON, TOML or YAML file stands, by its path in what was read."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ..schemas.fast_records import NamedTuple
from ..schemas.source import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..schemas.source import SourceText
    from ..schemas.yaml_reader.document import YamlDocument

    Path = tuple[str | int, ...]


class Place(NamedTuple):
    """Where an entry is: its key, where it has one, and its value."""

    key: Span | None
    value: Span


def nearest(path: Path, place: Callable[[Path], Place | None], *, of_key: bool) -> Span | None:
    """The place of what a path names, or of the nearest thing around it that has one."""
    for size in range(len(path), 0, -1):
        found = place(path[:size])
        if found is not None:
            return found.key if of_key and size == len(path) and found.key is not None else found.value
    return None


def yaml_place(document: YamlDocument, path: Path) -> Place | None:
    """In a YAML file, as its reader noted it."""
    node = document.find(path)
    return None if node is None else Place(node.key_span, node.span)


_SPACE = re.compile(r"[ \t\r\n]*")


class JsonPlaces:
    """In a JSON text, which is walked from its start for each path: the values beside it are skipped as a whole."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._decoder = json.JSONDecoder()

    def __call__(self, path: Path) -> Place | None:
        """The place of an entry; None where the text has none of that path."""
        at, key = self._skip_space(0), None
        for step in path:
            found = self._entry(at, step)
            if found is None:
                return None
            key, at = found
        return Place(key, self._source.span(at, self._end(at)))

    def _entry(self, at: int, step: str | int) -> tuple[Span | None, int] | None:
        """The key's place and the offset of the value of one entry; of a key that stands twice the last one counts."""
        text = self._source.text
        if text[at] not in "{[":
            return None
        named = text[at] == "{"
        found: tuple[Span | None, int] | None = None
        number = 0
        at = self._skip_space(at + 1)
        while text[at] not in "}]":
            name: Any = number
            key = None
            if named:
                name, end = self._decoder.raw_decode(text, at)
                key = self._source.span(at, end)
                at = self._skip_space(self._skip_space(end) + 1)
            if name == step:
                found = (key, at)
            number += 1
            at = self._skip_space(self._end(at))
            if text[at] == ",":
                at = self._skip_space(at + 1)
        return found

    def _end(self, at: int) -> int:
        return self._decoder.raw_decode(self._source.text, at)[1]

    def _skip_space(self, at: int) -> int:
        found = _SPACE.match(self._source.text, at)
        return at if found is None else found.end()


_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEYS = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEYS})\s*\]")
_PAIR = re.compile(rf"\s*({_KEYS})\s*=\s*")
_TEXT = re.compile(r'"""|\'\'\'')


def toml_places(source: SourceText, inside: Path = ()) -> Mapping[tuple[str | int, ...], Place]:
    """In a TOML text, for tables and for keys that begin a line: the parser of Python's library keeps no places.

    `inside` is the table that counts as the whole: `tool.accmap` of a `pyproject.toml`.
    """
    places: dict[tuple[str | int, ...], Place] = {}
    table: tuple[str | int, ...] = ()
    counts: dict[tuple[str | int, ...], int] = {}
    quoted = False
    for number in range(1, source.line_count + 1):
        line = source.line(number)
        was_quoted, quoted = quoted, quoted ^ (len(_TEXT.findall(line)) % 2 == 1)
        if was_quoted:
            continue
        header = _HEADER.match(line)
        if header is not None:
            table = _key_path(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            else:
                table = tuple(
                    step
                    for at, name in enumerate(table, 1)
                    for step in ((name, counts[table[:at]]) if table[:at] in counts else (name,))
                )
            span = Span(number, header.start(2) + 1, number, header.end(2) + 1)
            places[table] = Place(span, span)
            continue
        pair = _PAIR.match(line)
        if pair is not None:
            key = Span(number, pair.start(1) + 1, number, pair.end(1) + 1)
            places[(*table, *_key_path(pair[1]))] = Place(
                key, Span(number, pair.end() + 1, number, len(line.rstrip()) + 1)
            )
    size = len(inside)
    return {path[size:]: place for path, place in places.items() if path[:size] == inside}


def _key_path(text: str) -> tuple[str | int, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_NAME, text))
