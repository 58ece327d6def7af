"""The plain part of YAML that nearly every configuration keeps to, read line by line without PyYAML.

A lint that imports PyYAML instead costs 1.2 starts of Python more (7.9, not 6.6). What is read here: block mappings and
sequences, scalars that are plain or in simple quotes on one line, lists in brackets, comments, anchors, aliases and
`<<`. A file with anything else, and every file with a mistake, is `Beyond` and is read with libyaml instead: so this
module reports no errors, and what it answers is what the other reader would, which a test holds against every form
it knows.
"""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING
from ..source import Span
from .node import MAX_DEPTH, MAX_EXPANDED, Node

if TYPE_CHECKING:
    from typing import Any, Protocol

    from ..diagnostic import Diagnostic
    from ..source import SourceText

    class Reader(Protocol):
        """The part of the whole reader (`document.Reader`) that this one needs."""

        source: SourceText
        problems: list[Diagnostic]
        anchors: dict[str, Node]
        open_anchors: set[str]

        def define(self, anchor: str, node: Node) -> None: ...  # noqa: D102
        def merge(self, merged: dict[Any, Node], child: Node) -> object: ...  # noqa: D102
        def plain_value(self, text: str, span: Span) -> Any: ...  # noqa: D102


Row = tuple[int, int, str]
"""A line that says something: its number, its indentation, and its text from there on."""

_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
_FLOW_MARKS = frozenset("[]{}:#&*!|>'\"%@`\\?")


class Beyond(Exception):  # noqa: N818 - not an error: another reader takes over
    """The text goes beyond plain YAML, or is none."""


def read_plain(reader: Reader) -> Node | None:
    """Root node of a plain document; `Beyond` if PyYAML must read it."""
    text = reader.source.text
    if not text.replace("\n", "").isprintable():
        raise Beyond  # tabs, carriage returns, other line breaks, and what YAML refuses
    return _Lines(reader, text).document()


class _Lines:
    def __init__(self, reader: Reader, text: str) -> None:
        self.reader = reader
        self.rows: list[Row] = []
        self.at = 0
        for number, line in enumerate(text.split("\n"), 1):
            content = line.lstrip(" ")
            if content and content[0] != "#":
                self.rows.append((number, len(line) - len(content), content.rstrip(" ")))
        self.rows.append((0, -1, ""))  # an end that no block reaches beyond

    def document(self) -> Node | None:
        """Root node of all lines; None for an empty document."""
        if len(self.rows) == 1:
            return None
        _, indent, content = self.rows[0]
        if (content[0] in "%-." and content[:3] in ("---", "...")) or content[0] == "%":
            raise Beyond
        root = self.block(indent, 0, None, None)
        if self.at != len(self.rows) - 1:
            raise Beyond
        return root

    def block(self, indent: int, depth: int, key: Span | None, anchor: tuple[str, int, int] | None) -> Node:
        """The mapping or sequence that starts at the present row."""
        number, _, content = self.rows[self.at]
        if depth >= MAX_DEPTH:
            raise Beyond
        start = (number, indent + 1)
        name = None
        if anchor is not None:
            name, *place = anchor
            start = (place[0], place[1])
            if name in self.reader.anchors or name in self.reader.open_anchors:
                raise Beyond
            self.reader.open_anchors.add(name)
        if content[:2] == "- " or content == "-":
            node = self.sequence(indent, depth, key, name, start)
        else:
            node = self.mapping(indent, depth, key, name, start)
        if node.size > MAX_EXPANDED:
            raise Beyond
        if name is not None:
            self.reader.define(name, node)
        return node

    def mapping(self, indent: int, depth: int, key: Span | None, anchor: str | None, start: tuple[int, int]) -> Node:
        """Node of a block mapping at an indentation."""
        rows = self.rows
        own: dict[Any, Node] = {}
        merged: dict[Any, Node] = {}
        child: Node | None = None
        size = 1
        while True:
            number, column, content = rows[self.at]
            if column != indent:
                break
            end = content.find(": ")
            if end < 0:
                end = len(content) - 1
                if content[end] != ":":
                    raise Beyond
            name = content[:end]
            place = _span((number, indent + 1, number, indent + 1 + end, None))
            rest = content[end + 1 :].lstrip(" ")
            at = indent + len(content) - len(rest)
            if (
                rest in _scalars
                and name in _names
                and name not in own
                and name != "<<"
                and rows[self.at + 1][1] <= indent
            ):
                self.at += 1
                span = _span((number, at + 1, number, at + len(rest) + 1, None))
                child = own[name] = _node(
                    ("scalar", _scalars[rest], span, place, _NOTHING, (), None, None, rest, True, False, 1)
                )
                size += 2
                continue
            if name == "<<":
                if merged or rest[:1] != "*":
                    raise Beyond
                child = self.value(number, at, rest, indent, depth, None, after=indent + end + 1)
                self.reader.merge(merged, child)
            else:
                if name in own or not (name in _names or _is_name(name)):
                    raise Beyond
                child = own[name] = self.value(number, at, rest, indent, depth, place, after=indent + end + 1)
            size += 1 + child.size
        if child is None or rows[self.at][1] > indent:
            raise Beyond
        items = {**merged, **own} if merged else own
        value = {name: entry.value for name, entry in items.items()}
        span = Span(start[0], start[1], child.span.end_line, child.span.end_column)
        return Node("mapping", value, span, key, items, anchor=anchor, size=size)

    def sequence(self, indent: int, depth: int, key: Span | None, anchor: str | None, start: tuple[int, int]) -> Node:
        """Node of a block sequence at an indentation."""
        rows = self.rows
        entries: list[Node] = []
        size = 1
        while True:
            number, column, content = rows[self.at]
            if column != indent or (content[:2] != "- " and content != "-"):
                break
            rest = content[1:].lstrip(" ")
            at = indent + len(content) - len(rest)
            if not rest or rest[0] == "#":
                self.at += 1
                inner = rows[self.at][1]
                if inner <= indent:
                    raise Beyond
                child = self.block(inner, depth + 1, None, None)
            elif rest[0] == "&" or rest[:2] == "- " or rest == "-":
                raise Beyond
            elif rest[0] not in _INDICATORS and (rest[-1] == ":" or ": " in rest):
                rows[self.at] = number, at, rest  # a mapping whose first key stands behind the dash
                child = self.block(at, depth + 1, None, None)
            else:
                child = self.value(number, at, rest, indent, depth, None, after=at)
            entries.append(child)
            size += child.size
        if rows[self.at][1] > indent:
            raise Beyond
        last = entries[-1].span
        span = Span(start[0], start[1], last.end_line, last.end_column)
        value = [entry.value for entry in entries]
        return Node("sequence", value, span, key, {}, tuple(entries), anchor, size=size)

    def value(self, number: int, at: int, rest: str, indent: int, depth: int, key: Span | None, *, after: int) -> Node:
        """Node of the value after a colon or dash, on the line or below it."""
        self.at += 1
        anchor: tuple[str, int, int] | None = None
        first = rest[:1]
        if first == "&":
            name, _, behind = rest[1:].partition(" ")
            if not _is_word(name):
                raise Beyond
            anchor = name, number, at + 1
            behind = behind.lstrip(" ")
            at += len(rest) - len(behind)
            rest, first = behind, behind[:1]
            if first in ("&", "*", "{"):
                raise Beyond
        if not rest or first == "#":
            return self.nested_block(number, indent, depth, key, anchor, after)
        if first == "[" and anchor is None:
            cursor = _Cursor(number, at, rest, indent)
            node = self.flow(cursor, depth + 1, key)
            _nothing_behind(cursor.text, cursor.place)
            if self.rows[self.at][1] > indent:
                raise Beyond
            return node
        if self.rows[self.at][1] > indent:
            raise Beyond  # the value goes on in the next line
        if first == "*":
            return self.alias(number, at, _without_comment(rest), key)
        if rest == "{}":
            return Node("mapping", {}, Span(number, at + 1, number, at + 3), key, flow=True)
        if first in "'\"":
            end = _closing_quote(rest, 0)
            _nothing_behind(rest, end)
            return self.scalar(number, at, rest[:end], key, anchor)
        return self.plain(number, at, rest, key, anchor)

    def plain(self, number: int, at: int, rest: str, key: Span | None, anchor: tuple[str, int, int] | None) -> Node:
        """Node of an unquoted scalar; common ones are cached."""
        text = _without_comment(rest)
        if (text[0] in _INDICATORS and not (text[0] == "-" and text[1:2] not in ("", " "))) or (
            ":" in text and (text[-1] == ":" or ": " in text)
        ):
            raise Beyond
        noted = len(self.reader.problems)
        node = self.scalar(number, at, text, key, anchor)
        if (
            anchor is None
            and len(text) == len(rest) < _LONGEST_SCALAR
            and len(_scalars) < _MOST_SCALARS
            and len(self.reader.problems) == noted
        ):
            _scalars[rest] = node.value
        return node

    def nested_block(
        self, number: int, indent: int, depth: int, key: Span | None, anchor: tuple[str, int, int] | None, after: int
    ) -> Node:
        """The block in the lines below, or nothing: null."""
        _, inner, content = self.rows[self.at]
        if inner > indent or (inner == indent and (content[:2] == "- " or content == "-")):
            return self.block(inner, depth + 1, key, anchor)
        if anchor is not None:
            raise Beyond
        place = Span(number, after + 1, number, after + 1)
        return Node("scalar", None, place, key, text="", plain=True)

    def scalar(self, number: int, at: int, text: str, key: Span | None, anchor: tuple[str, int, int] | None) -> Node:
        """Node of a quoted or unquoted scalar."""
        start = at + 1 if anchor is None else anchor[2]
        span = Span(number, start, number, at + len(text) + 1)
        plain = text[0] not in "'\""
        value: Any = self.reader.plain_value(text, span) if plain else text[1:-1]
        if type(value) not in _PLAIN_TYPES:
            raise Beyond
        name = None if anchor is None else anchor[0]
        written = text if plain else value
        node = Node("scalar", value, span, key, anchor=name, text=written, plain=plain)
        if name is not None:
            if name in self.reader.anchors or name in self.reader.open_anchors:
                raise Beyond
            self.reader.define(name, node)
        return node

    def alias(self, number: int, at: int, text: str, key: Span | None) -> Node:
        node = self.reader.anchors.get(text[1:])
        if node is None:
            raise Beyond
        span = Span(number, at + 1, number, at + len(text) + 1)
        return node._replace(span=span, key_span=key, anchor_span=node.span, anchor=None)

    def flow(self, cursor: _Cursor, depth: int, key: Span | None) -> Node:
        """Node of a flow list at the cursor."""
        if depth >= MAX_DEPTH:
            raise Beyond
        line, column = cursor.number, cursor.column()
        entries: list[Node] = []
        size = 1
        cursor.place += 1
        while True:
            first = self.next_mark(cursor)
            if first == "]" and not entries:
                break
            child = self.flow(cursor, depth + 1, None) if first == "[" else self.entry(cursor, first)
            entries.append(child)
            size += child.size
            mark = self.next_mark(cursor)
            if mark == "]":
                break
            if mark != ",":
                raise Beyond
            cursor.place += 1
        cursor.place += 1
        span = Span(line, column, cursor.number, cursor.column())
        value = [entry.value for entry in entries]
        return Node("sequence", value, span, key, {}, tuple(entries), flow=True, size=size)

    def entry(self, cursor: _Cursor, first: str) -> Node:
        """A scalar or an alias in a list."""
        text, start = cursor.text, cursor.place
        if first in "'\"":
            cursor.place = _closing_quote(text, start)
            return self.scalar(cursor.number, cursor.base + start, text[start : cursor.place], None, None)
        end = start + (first == "*")
        while end < len(text) and text[end] not in ",]":
            if text[end] in _FLOW_MARKS:
                raise Beyond
            end += 1
        cursor.place = end
        word = text[start:end].rstrip(" ")
        if first == "*":
            return self.alias(cursor.number, cursor.base + start, word, None)
        if not word or end == len(text) or (word[0] == "-" and word[1:2] in ("", " ")):
            raise Beyond  # nothing between commas, a word that goes on in the next line, a dash
        return self.scalar(cursor.number, cursor.base + start, word, None, None)

    def next_mark(self, cursor: _Cursor) -> str:
        """Next non-blank character of a flow list, on this or a later line."""
        while True:
            while cursor.text[cursor.place : cursor.place + 1] == " ":
                cursor.place += 1
            found = cursor.text[cursor.place : cursor.place + 1]
            if found and (found != "#" or cursor.text[cursor.place - 1] != " "):
                return found
            number, base, text = self.rows[self.at]
            if base <= cursor.indent and text[:1] != "]":
                raise Beyond
            self.at += 1
            cursor.number, cursor.base, cursor.text, cursor.place = number, base, text, 0


class _Cursor:
    """A place in a list that may go on over several lines."""

    __slots__ = ("base", "indent", "number", "place", "text")

    def __init__(self, number: int, base: int, text: str, indent: int) -> None:
        self.number = number
        self.base = base
        self.text = text
        self.place = 0
        self.indent = indent

    def column(self) -> int:
        return self.base + self.place + 1


_PLAIN_TYPES = frozenset((str, int, float, bool, type(None)))


_span, _node = Span._make, Node._make
_NOTHING: dict[Any, Node] = {}

_LONGEST_SCALAR = 60
_MOST_SCALARS = 10_000
_scalars: dict[str, str | int | float | bool | None] = {}
"""What the text behind a colon means, where it is a plain scalar about which there is nothing to say."""

_names: set[str] = set()
"""Keys that were found to be names: the same few hundred stand in every file."""


def _is_name(key: str) -> bool:
    """True if a key is certainly a string."""
    if not (key[:1].isalpha() and _is_word(key) and len(key) < 100 and key.lower() not in _WORDS):
        return False
    if len(_names) < _MOST_NAMES:
        _names.add(key)
    return True


_MOST_NAMES = 10_000


_WORDS = frozenset(("yes", "no", "on", "off", "true", "false", "null"))


def _is_word(name: str) -> bool:
    return name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()


def _without_comment(text: str) -> str:
    end = text.find(" #")
    return text if end < 0 else text[:end].rstrip(" ")


def _closing_quote(text: str, start: int) -> int:
    """Position of the closing quote; escapes are not supported."""
    quote = text[start]
    end = text.find(quote, start + 1)
    if end < 0 or text[end + 1 : end + 2] == quote or (quote == '"' and "\\" in text[start:end]):
        raise Beyond
    return end + 1


def _nothing_behind(text: str, end: int) -> None:
    behind = text[end:]
    if behind and (behind[0] != " " or behind.lstrip(" ")[0] != "#"):
        raise Beyond
