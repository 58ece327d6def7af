"""Writing YAML that PyYAML, which is YAML 1.1, reads back as the same values, in the layout of an older file.

A float needs a point and a signed exponent, words like `on` need quotes; everything else is kept plain, the way the
framework's own files are written.
"""

from __future__ import annotations

import math
from itertools import dropwhile, takewhile

from ...schemas.border.text_output import visible
from ...schemas.fast_records import TYPE_CHECKING, cast
from ...schemas.versions import header_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ...schemas.config import Value
    from ...schemas.source import Span
    from ...schemas.yaml_reader.document import YamlDocument
    from ...schemas.yaml_reader.node import Node

_PLAIN_WORDS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-")
_RESERVED = frozenset(
    ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf", "", "~", ".", "-", "--", "---")
)


def scalar(value: Value) -> str:
    """Value as YAML on one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, str):
        return (
            value
            if _is_plain(value)
            else ('"' + "".join(_ESCAPES.get(char) or _escape_character(char) for char in value) + '"')
        )
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {scalar(entry)}" for key, entry in value.items()) + "}"
    return "[" + ", ".join(scalar(entry) for entry in value) + "]"


def is_same_yaml(one: Any, other: Any) -> bool:
    """True if two YAML values are equal with equal types."""
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, list) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(is_same_yaml(a, b) for a, b in zip(one, other, strict=True))  # pyright: ignore
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return type(one) is type(other) and one == other
    return bool(one == other)


def _float_text(value: float) -> str:
    """Float in a form that YAML reads as a float: `1.0e-06`."""
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{exponent if exponent[0] in '+-' else '+' + exponent}"


def _is_plain(text: str) -> bool:
    return (
        text[:1].isalpha()
        and text.isascii()
        and all(char in _PLAIN_WORDS for char in text)
        and text.lower() not in _RESERVED
    )


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def _escape_character(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def block(content: Mapping[str, object], comments: Mapping[str, str], indent: int = 0, path: str = "") -> Iterator[str]:
    """YAML lines of a mapping, with a comment after the value of its path."""
    pad = "  " * indent
    for key, value in content.items():
        here = f"{path}.{key}" if path else key
        name = scalar(key)
        if isinstance(value, Anchored):
            yield f"{pad}{name}: &{value.name}"
            yield from block(value.content, comments, indent + 1, here)
        elif isinstance(value, Alias):
            yield f"{pad}{name}: *{value.name}"
        elif isinstance(value, dict) and value:
            yield _with_comment(f"{pad}{name}:", comments.get(here))
            yield from block(value, comments, indent + 1, here)  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(value, list) and value and any(isinstance(entry, dict) for entry in value):  # pyright: ignore
            yield f"{pad}{name}:"
            yield from _entry_lines(value, comments, indent, here)  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield _with_comment(f"{pad}{name}: {scalar(value)}", comments.get(here))  # type: ignore[arg-type]  # pyright: ignore


def _entry_lines(entries: list[object], comments: Mapping[str, str], indent: int, path: str) -> Iterator[str]:
    """YAML lines of a list's entries."""
    pad = "  " * indent
    for place, entry in enumerate(entries):
        lines = (
            list(block(entry, comments, indent + 2, f"{path}[{place}]"))  # pyright: ignore[reportUnknownArgumentType]
            if isinstance(entry, dict)
            else ["  " * (indent + 2) + scalar(entry)]  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        )
        yield f"{pad}  - {lines[0].lstrip()}"
        yield from lines[1:]


def _with_comment(line: str, comment: str | None) -> str:
    return f"{line}  # {visible(comment)}" if comment else line


class Anchored:
    """A mapping with an anchor."""

    def __init__(self, name: str, content: dict[str, object]) -> None:
        self.name = name
        self.content = content


class Alias:
    """A reference to an anchored mapping."""

    def __init__(self, name: str) -> None:
        self.name = name


class LaidOutYaml:
    """A document written in the layout of another one: its order, its comments and its spelling of equal values.

    `sources` names, for each key of the new document, the keys of the old one that it comes from, the nearest first. An
    old key gives its comments to one new key; `owners` says to which.
    """

    def __init__(
        self,
        old: YamlDocument,
        content: Mapping[str, Any],
        sources: Mapping[str, tuple[str, ...]],
        owners: Mapping[str, str],
    ) -> None:
        self.old, self.content, self.sources, self.owners = old, content, sources, owners
        self.remarks = Remarks(old)
        self.unit = _indent_unit(old)
        self.anchors: dict[str, int] = {}
        """Anchors of the old text, and how many new keys would refer to each."""
        self.defined: dict[str, object] = {}
        """Anchors that are written already, and their values."""
        self.headings: dict[str, str] = {}
        """The section of the old text that heads one of the new text."""
        self.moved_headings: dict[str, list[str]] = {}
        """Comments of a section that heads none, above its first key that lives on."""
        self._place_headings("", content)
        self._keep_other_headings()
        self._count_anchors("", content)

    def text(self, title: str | None) -> str:
        """The whole text; `title` becomes its first line."""
        lines = [] if title is None else [f"# {title}"]
        lines += [line for line in self.remarks.head if not _is_title(line)]
        if lines and lines[-1].strip():
            lines.append("")
        for place, line in enumerate(self._mapping("", self.content, 0)):
            if place == 0 and not line.strip():
                continue
            lines.append(line)
        lines += self.remarks.tail
        return "\n".join(lines).rstrip("\n") + "\n"

    # --- order ---

    def _place_headings(self, path: str, content: Mapping[str, Any]) -> None:
        """Find the old section that each new section continues."""
        for key, value in content.items():
            here, entries = _path_of(path, key), _section(value)
            if entries is None:
                continue
            self._place_headings(here, entries)
            node = self.old.find(here)
            if node is not None and node.kind == "mapping":
                self.headings[here] = here
                continue
            above = [parent for name in entries if (parent := self._old_parent(_path_of(here, name)))]
            free = [one for one in above if one not in self.headings.values()]
            if free:
                self.headings[here] = max(dict.fromkeys(free), key=free.count)

    def _old_parent(self, here: str) -> str:
        source = self.headings.get(here) or next(iter(self.sources.get(here, ())), "")
        return source.rpartition(".")[0]

    def _keep_other_headings(self) -> None:
        """Move comments of vanished sections to the first of their keys that still exists."""
        kept = set(self.headings.values())
        for section, lines in self.remarks.above.items():
            node = self.old.find(section)
            if node is None or node.kind != "mapping" or section in kept or not _comments(lines):
                continue
            heirs = (owner for key, owner in self.owners.items() if key.startswith(f"{section}."))
            first = min(heirs, key=self._rank_of_leaf, default=None)
            if first is not None:
                self.moved_headings.setdefault(first, []).extend(_comments(lines))

    def _rank(self, path: str, value: object) -> tuple[float, float]:
        """Position in the old text by which a key is sorted; last if it is new."""
        heading = self.headings.get(path)
        if heading is not None:
            return self._position(heading)
        entries = _section(value)
        if entries is not None:
            return min((self._rank(_path_of(path, key), one) for key, one in entries.items()), default=_AT_THE_END)
        if _list_of_sections(value) is not None:
            return self._position(path)
        return self._rank_of_leaf(path)

    def _rank_of_leaf(self, path: str) -> tuple[float, float]:
        return self._position(next(iter(self.sources.get(path, ())), ""))

    def _position(self, source: str) -> tuple[float, float]:
        node = self.old.find(source) if source else None
        place = None if node is None else node.key_span or node.span
        return _AT_THE_END if place is None else (place.line, place.column)

    # --- lines ---

    def _mapping(self, path: str, content: Mapping[str, Any], indent: int) -> Iterator[str]:
        ordered = sorted(content.items(), key=lambda entry: self._rank(_path_of(path, entry[0]), entry[1]))
        for place, (key, value) in enumerate(ordered):
            yield from self._entry(_path_of(path, key), key, value, indent, first=place == 0)

    def _entry(self, path: str, key: str, value: Any, indent: int, *, first: bool) -> Iterator[str]:
        """Lines of a key with its comments."""
        pad = " " * indent
        above, beside = self._comments_of(path)
        entries, listed = _section(value), _list_of_sections(value)
        is_spaced = "" in above or bool(self.remarks.is_spaced and not indent and (entries or listed))
        if is_spaced and not (first and indent):
            yield ""
        yield from (pad + line for line in above if line)
        if not entries and not listed:
            yield from self._leaf(path, f"{pad}{scalar(key)}:", beside, value, indent)
            return
        yield f"{pad}{scalar(key)}:{beside}"
        yield from (
            self._mapping(path, entries, indent + self.unit) if entries else self._list(path, listed or [], indent)
        )

    def _leaf(self, path: str, name: str, beside: str, value: Any, indent: int) -> Iterator[str]:
        first, *more = self._value(path, value, indent)
        yield f"{name} {first}{beside}" if first else f"{name}{beside}"
        yield from more
        for old in self._own_keys(path):
            yield from (" " * indent + line for line in self.remarks.below.get(old, ()))

    def _list(self, path: str, entries: list[Any], indent: int) -> Iterator[str]:
        """YAML lines of a list in the old file's indentation."""
        inner = indent + self.unit
        for place, entry in enumerate(entries):
            content = _section(entry)
            if content is None:
                yield f"{' ' * inner}- {scalar(entry)}"
                continue
            lines = [line for line in self._mapping(f"{path}[{place}]", content, inner + 2) if line]
            comments = list(takewhile(lambda line: line.lstrip().startswith("#"), lines))
            yield from (line[2:] for line in comments)
            yield f"{' ' * inner}- {lines[len(comments)].lstrip()}"
            yield from lines[len(comments) + 1 :]

    def _comments_of(self, path: str) -> tuple[list[str], str]:
        """Comment lines above a key and the comment behind it."""
        heading = self.headings.get(path)
        mine = [heading] if heading is not None else self._own_keys(path)
        above = list(self.moved_headings.get(path, ()))
        beside = ""
        for name in mine:
            above += self.remarks.above.get(name, ())
            remark = self.remarks.beside.get(name)
            if remark is not None and not beside:
                beside = remark
            elif remark is not None:
                above.append(remark.strip())
        return above, beside

    def _own_keys(self, path: str) -> list[str]:
        """The old keys whose comments a key gets, the nearest first."""
        nearest = self.sources.get(path, ())[:1]
        return sorted((one for one, owner in self.owners.items() if owner == path), key=lambda one: one not in nearest)

    # --- values ---

    def _value(self, path: str, value: Any, indent: int) -> list[str]:
        """Text of a value: the old spelling if it means the same."""
        name = next(iter(self.sources.get(path, ())), "")
        node = self.old.find(name) if name else None
        if node is None or not is_same_yaml(node.value, value) or node.span.file is not None:
            return [scalar(value)]
        anchor = self._anchor_of(node)
        if anchor is None:
            return self._spelling(node, indent) or [scalar(value)]
        if self.owners.get(name) != path or self.anchors.get(anchor, 0) < 2:
            return [scalar(value)]
        if anchor not in self.defined:
            self.defined[anchor] = value
            return [f"&{anchor} {scalar(value)}"]
        return [f"*{anchor}" if is_same_yaml(self.defined[anchor], value) else scalar(value)]

    def _spelling(self, node: Node, indent: int) -> list[str] | None:
        """Old text of a value at a new indentation; None if it cannot be reused."""
        source, span = self.old.source, node.span
        if span.line == span.end_line and (node.kind == "scalar" or node.flow):
            start, end = source.offsets(span)
            return [source.text[start:end]]
        if node.kind != "sequence" or node.flow or node.key_span is None or not _is_plain_list(node):
            return None
        # A list's span ends where its last entry does; the comment behind that stays with it.
        last = node.entries[-1].span
        lines = [source.line(number) for number in range(node.key_span.line + 1, last.end_line + 1)]
        shift = indent - (node.key_span.column - 1)
        return ["", *(_shift_line(line, shift) for line in lines)]

    def _anchor_of(self, node: Node) -> str | None:
        """Name of the anchor that a node defines or refers to."""
        if node.anchor_span is None:
            return node.anchor
        start, end = self.old.source.offsets(node.span)
        return self.old.source.text[start:end].lstrip("*")

    def _count_anchors(self, path: str, content: Mapping[str, Any]) -> None:
        """Count the uses of each anchor whose values are still equal."""
        for key, value in content.items():
            here, entries = _path_of(path, key), _section(value)
            if entries is not None:
                self._count_anchors(here, entries)
                continue
            name = next(iter(self.sources.get(here, ())), None)
            node = None if name is None else self.old.find(name)
            if node is None or self.owners.get(name or "") != here:
                continue
            if (anchor := self._anchor_of(node)) and is_same_yaml(node.value, value):
                self.anchors[anchor] = self.anchors.get(anchor, 0) + 1


class Remarks:
    """The comments of a text by the key that they belong to."""

    def __init__(self, document: YamlDocument) -> None:
        self.source = document.source
        self.above: dict[str, list[str]] = {}
        """Lines above a key, without their indent; an empty one stands for blank lines."""
        self.beside: dict[str, str] = {}
        """The comment behind a key, with the blanks before it."""
        self.below: dict[str, list[str]] = {}
        """Comments that are indented deeper than the next key: they close the section of the key before."""
        self.head: list[str] = []
        """The comment at the start of the file, which belongs to no key."""
        self.tail: list[str] = []
        """The comment behind the last key."""
        places = sorted(_keys_by_place(document.root, ""), key=lambda entry: entry[1].line)
        end, before = 0, ""
        for path, key, node in places:
            self._read_above(path, key, end, before)
            before = path
            end = max(end, self._last_line(key, node))
            remark = self._remark(key, node)
            if remark is not None:
                self.beside[path] = remark
        lines = [self.source.line(number) for number in range(end + 1, self.source.line_count + 1)]
        self.tail = lines if _comments([line.strip() for line in lines]) else []
        self.is_spaced = any("" in self.above.get(str(name), ()) for name in (document.value or ()))
        """True if blank lines stand between the sections."""

    def _read_above(self, path: str, key: Span, end: int, before: str) -> None:
        """Collect the comments between the previous key and this one, except deeper indented ones."""
        between = [self.source.line(number) for number in range(end + 1, key.line)]
        if any(one.strip() and not one.lstrip().startswith("#") for one in between):
            return
        kept = list(dropwhile(lambda one: not one.strip() or _width(one) >= key.column, between))
        deeper = _texts_of(between[: len(between) - len(kept)])
        if deeper:
            self.below[before] = deeper
        if not before:
            kept = self._take_head(kept)
        has_blank = "" in map(str.strip, between)
        self.above[path] = ["", *_texts_of(kept)] if has_blank else _texts_of(kept)

    def _take_head(self, lines: list[str]) -> list[str]:
        """Keep the file's leading comment; the rest belongs to the first key."""
        last_blank = max((place for place, one in enumerate(lines) if not one.strip()), default=len(lines))
        self.head = lines[:last_blank]
        return lines[last_blank:]

    def _last_line(self, key: Span, node: Node) -> int:
        """Last line of a key's own text; for a section, the key's line."""
        is_section = not node.flow and (node.items or any(entry.kind == "mapping" for entry in node.entries))
        if node.anchor_span is not None or is_section:
            return key.line
        return max(key.line, node.span.end_line - (node.span.end_column == 1))

    def _remark(self, key: Span, node: Node) -> str | None:
        """The comment behind a key and its value."""
        line = self.source.line(key.line)
        after = key.end_column - 1
        if node.span.line == node.span.end_line == key.line:
            after = max(after, node.span.end_column - 1)
        rest = line[after:]
        if node.kind == "scalar" and node.span.line == key.line != node.span.end_line:
            return None  # a text of several lines begins here
        at = rest.find("#")
        if at < 0 or (at and not rest[at - 1].isspace()):
            return None
        blanks = len(rest[:at]) - len(rest[:at].rstrip())
        return " " * max(1, blanks) + rest[at:].rstrip()


def _keys_by_place(node: Node | None, path: str) -> Iterator[tuple[str, Span, Node]]:
    """Keys in the text with place and value; repetitions by aliases are left out."""
    if node is None or node.anchor_span is not None:
        return
    for key, child in node.items.items():
        here = _path_of(path, str(key))
        if child.key_span is not None and child.key_span.file is None:
            yield here, child.key_span, child
            if not node.flow and not child.flow:
                yield from _keys_by_place(child, here)
    for place, entry in enumerate(node.entries):
        yield from _keys_by_place(entry, f"{path}[{place}]")


def _section(value: object) -> Mapping[str, Any] | None:
    """The keys of a value that is a mapping."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def _list_of_sections(value: object) -> list[Any] | None:
    """List if its entries are mappings, else None."""
    entries = cast("list[Any]", value) if isinstance(value, list) else []
    return entries if any(isinstance(one, dict) for one in entries) else None


_AT_THE_END = (float("inf"), 0.0)


def _path_of(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _width(line: str) -> int:
    """Number of leading blanks in a line."""
    return len(line) - len(line.lstrip())


def _comments(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line]


def _is_title(line: str) -> bool:
    """True for the comment line that accmap writes first."""
    return header_version("mindformers", line) is not None


def _is_plain_list(node: Node) -> bool:
    """True if a list has one entry on each line and no aliases."""
    below = node.key_span is not None and bool(node.entries) and node.entries[0].span.line > node.key_span.line
    return below and all(
        entry.kind == "scalar"
        and entry.anchor is None
        and entry.anchor_span is None
        and entry.span.line == entry.span.end_line
        and entry.span.file is None
        for entry in node.entries
    )


def _texts_of(lines: Sequence[str]) -> list[str]:
    """The lines that are not blank, without their indent."""
    return [line.strip() for line in lines if line.strip()]


def _shift_line(line: str, shift: int) -> str:
    """A line further to the right by some blanks, or to the left."""
    width = max(0, _width(line) + shift)
    return " " * width + line.lstrip() if line.strip() else ""


def _indent_unit(document: YamlDocument) -> int:
    """By how much the document indents the keys of a section."""
    for node in document.root.items.values() if document.root is not None else ():
        if node.kind == "mapping" and not node.flow and node.anchor_span is None:
            columns = [one.key_span.column - 1 for one in node.items.values() if one.key_span is not None]
            if columns and columns[0] > 0:
                return columns[0]
    return 2
