"""Edits of a YAML text: one value at its place, a key at the end of its section, a section at the end of the file."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.yaml_reader.document import parse_path, read_yaml
from .edits import Edit
from .yaml_text import block, scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ...schemas.config import Value
    from ...schemas.source import SourceText
    from ...schemas.yaml_reader.node import Node


class YamlEditor:
    """Makes edits for one text. With `shared` an anchored value is changed for all that refer to it."""

    def __init__(self, source: SourceText, *, shared: bool, fresh: Mapping[str, Any] | None = None) -> None:
        self.source = source
        self.document = read_yaml(source)
        self.shared = shared
        self.fresh: Mapping[str, Any] = fresh or {}
        """Whole sections as a newly written file has them, for those that the text lacks."""
        self._new: dict[tuple[Any, ...], tuple[Node, dict[str, Any], str]] = {}

    def real(self, key: str) -> str:
        """The key with a callback's place in the file's list; as it is where there is none."""
        if "{" not in key:
            return key
        section, _, rest = key.partition("{")
        name, _, tail = rest.partition("}")
        place = self._callback(section, name)
        return key if place is None else f"{section}[{place}]{tail}"

    def put(self, key: str, value: Value) -> Iterator[Edit]:
        """Edits after which `key` has this value; none where it has it already or cannot be edited."""
        path = self.real(key)
        if "{" in path:
            self._new_callback(key, value)
            return
        node = self.document.find(path)
        if node is None:
            self._insert(path, key, value)
        elif not _equal(node.value, value):
            yield from self._replace(node, key, value)

    def rename(self, key: str, name: str, value: Value) -> Iterator[Edit]:
        """Edits after which the entry of `key` is called `name` and has this value."""
        node = self.document.find(key)
        if node is None or node.key_span is None:
            return
        yield Edit(*self.source.offsets(node.key_span), name.rpartition(".")[2], name)
        if not _equal(node.value, value):
            yield from self._replace(node, key, value)

    def drop(self, key: str) -> Iterator[Edit]:
        """Edits after which `key` is not written; its comment stays."""
        path = self.real(key)
        node = None if "{" in path else self.document.find(path)
        parent = None if "." not in path else self.document.find(path.rpartition(".")[0])
        if node is None or node.key_span is None or not _of_one_line(node):
            return
        if parent is not None and (parent.flow or len(parent.items) < 2):
            return
        line = self.source.line(node.key_span.line)
        if line[: node.key_span.column - 1].strip():
            return
        start = self.source.offset(node.key_span.line, node.key_span.column)
        end = self.source.offset(node.span.end_line, node.span.end_column)
        remark = line[node.span.end_column - 1 :].strip()
        if remark:
            after = len(line) - len(line[node.span.end_column - 1 :].lstrip()) + 1
            yield Edit(start, self.source.offset(node.key_span.line, after), "", key)
            return
        first = self.source.offset(node.key_span.line, 1)
        following = self.source.text.find("\n", end)
        yield Edit(first, len(self.source.text) if following < 0 else following + 1, "", key)

    # --- a value that is there ---

    def _replace(self, node: Node, key: str, value: Value) -> Iterator[Edit]:
        if node.anchor is not None and not self.shared:
            return
        kind = "scalar" if node.anchor_span is not None else node.kind
        if isinstance(value, (list, tuple)) and kind == "sequence":
            yield from self._sequence(node, key, list(value))
            return
        if isinstance(value, dict) and kind == "mapping":
            for name, part in value.items():
                yield from self.put(f"{self.real(key)}.{name}", part)
            return
        if kind != "scalar" and not node.flow:
            return  # a block would lose its comments
        start, end = self.source.offsets(node.span)
        text = self._styled(node, value)
        if start == end and not self.source.text[start - 1].isspace():
            text = " " + text
        yield Edit(start, end, text, key)

    def _sequence(self, node: Node, key: str, value: list[Value]) -> Iterator[Edit]:
        plain = all(entry.kind == "scalar" and entry.anchor is None for entry in node.entries)
        if plain and len(node.entries) == len(value):
            for entry, wanted in zip(node.entries, value, strict=True):
                if not _equal(entry.value, wanted):
                    yield Edit(*self.source.offsets(entry.span), self._styled(entry, wanted), key)
            return
        start, end = self.source.offsets(node.span)
        if node.flow:
            yield Edit(start, end, _anchored(node, scalar(value)), key)
        elif plain and "#" not in self.source.text[start:end] and node.key_span is not None and node.anchor is None:
            colon = self.source.text.index(":", self.source.offsets(node.key_span)[1]) + 1
            if "#" not in self.source.text[colon:start]:
                yield Edit(colon, end, " " + scalar(value), key)

    def _styled(self, node: Node, value: Value) -> str:
        """The value as text, in the quotes that stood there."""
        start, _ = self.source.offsets(node.span)
        quote = self.source.text[start : start + 1]
        if isinstance(value, str) and quote in ("'", '"') and value.isprintable() and not set(value) & set("\"'\\"):
            return quote + value + quote
        return _anchored(node, scalar(value))

    # --- a value that is not there ---

    def _insert(self, path: str, key: str, value: Value) -> None:
        steps = list(parse_path(path))
        for depth in range(len(steps) - 1, -1, -1):
            section = self.document.find(tuple(steps[:depth])) if depth else self.document.root
            if section is None:
                continue
            rest = steps[depth:]
            if not all(isinstance(step, str) for step in rest):
                return
            whole = self.fresh.get(str(rest[0])) if depth == 0 else None
            _, content, _ = self._new.setdefault(tuple(steps[:depth]), (section, {}, key))
            if isinstance(whole, dict):
                content.setdefault(str(rest[0]), whole)
                return
            for step in rest[:-1]:
                content = content.setdefault(str(step), {})
            content[str(rest[-1])] = value
            return

    def _new_callback(self, key: str, value: Value) -> None:
        section, _, rest = key.partition("{")
        name, _, tail = rest.partition("}")
        listed = self.document.find(section)
        place = self.document.root if listed is None else listed
        if place is None or (listed is not None and (listed.kind != "sequence" or listed.flow or not listed.entries)):
            return
        _, content, _ = self._new.setdefault(() if listed is None else (section,), (place, {}, key))
        entries: list[dict[str, Any]] = content.setdefault(section, [])
        known = next((one for one in entries if one["type"] == name), None)
        entry: dict[str, Any] = {"type": name} if known is None else known
        if known is None:
            entries.append(entry)
        if tail != ".type":
            entry[tail.lstrip(".")] = value

    def rest(self) -> Iterator[Edit]:
        """The edits that write what was not there, each section's keys together."""
        for path, (section, content, key) in self._new.items():
            if section.kind == "sequence":
                first = section.entries[0].span
                lines = [line[2:] for line in list(block({str(path[-1]): content[str(path[-1])]}, {}))[1:]]
                yield self._line_after(section.span.end_line, first.column - 3, lines, key)
            else:
                yield from self._into(section, content, key)

    def _into(self, section: Node, content: dict[str, Any], key: str) -> Iterator[Edit]:
        if section.anchor_span is not None:
            return
        if section.kind == "mapping" and section.flow:
            _, end = self.source.offsets(section.span)
            inner = scalar(content)[1:-1]
            yield Edit(end - 1, end - 1, f", {inner}" if section.items else inner, key)
            return
        if section.kind == "mapping" and section.items:
            place = section.span
            # A merged key stands where its own mapping does.
            own = (
                node.key_span
                for node in section.items.values()
                if node.key_span is not None and place.line <= node.key_span.line <= place.end_line
            )
            first = next(own, None)
            if first is None:
                return
            indent, last = first.column - 1, place.end_line
        elif section.kind == "scalar" and section.text == "" and section.key_span is not None:
            indent, last = section.key_span.column + 1, section.key_span.line
        else:
            return
        yield self._line_after(last, indent, list(block(content, {})), key)

    def _line_after(self, number: int, indent: int, lines: list[str], key: str) -> Edit:
        end = self.source.offset(number, len(self.source.line(number)) + 1)
        return Edit(end, end, "".join(f"\n{' ' * max(0, indent)}{line}" for line in lines), key)

    def _callback(self, section: str, name: str) -> int | None:
        listed = self.document.find(section)
        for place, entry in enumerate(() if listed is None else listed.entries):
            if entry.kind == "mapping" and "type" in entry.items and entry.items["type"].value == name:
                return place
        return None


def _anchored(node: Node, text: str) -> str:
    return text if node.anchor is None else f"&{node.anchor} {text}"


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, list) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))  # pyright: ignore
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return type(one) is type(other) and one == other
    return bool(one == other)


def _of_one_line(node: Node) -> bool:
    """Whether a value stands beside its key as a whole, and nothing else refers to it."""
    if node.anchor is not None or node.anchor_span is not None or node.key_span is None:
        return False
    return node.key_span.line == node.span.end_line and (node.kind == "scalar" or node.flow)
