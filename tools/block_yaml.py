"""Lays out YAML tables in block style, at most 120 columns wide: `python tools/block_yaml.py mappings/*.yaml`.

A mapping that holds only scalars, or a list of scalars and short lists, stays on its line where it fits there; the
entries of a list of mappings never do. Comments, anchors and the way a scalar is quoted are kept, so the loaded
content is the same to the letter. `--check` writes nothing and names the files that would change.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 120
_INDENT = 2


class Node(NamedTuple):
    """A part of a document: `text` of a scalar or an alias, else its children, keys and values in turn."""

    kind: str
    start: int
    end: int
    anchor: str
    text: str
    children: tuple[Node, ...]


def block_style(source: str) -> str:
    """The same YAML in block style."""
    if source[:1] == "\ufeff" or "\t" in source:
        raise ValueError("a table has neither a byte order mark nor tabs")
    events = (event for event in yaml.parse(source, yaml.SafeLoader))
    node = _node(source, events, next(event for event in events if isinstance(event, yaml.NodeEvent)))
    layout = _Layout(source)
    layout.block(node, 0)
    layout.comments_before(len(source) + 1, 0)
    return "\n".join(layout.lines) + "\n"


def _node(source: str, events: Iterator[yaml.Event], event: yaml.Event) -> Node:
    """The node that an event of the YAML parser begins, with its children; ValueError for a block scalar or a tag."""
    start, end = _place(event.start_mark), _place(event.end_mark)
    if isinstance(event, yaml.AliasEvent):
        return Node("scalar", start, end, "", f"*{event.anchor}", ())
    assert isinstance(event, yaml.NodeEvent)
    anchor = f"&{event.anchor} " if event.anchor else ""
    if isinstance(event, yaml.ScalarEvent):
        if event.style in ("|", ">") or event.tag:
            raise ValueError(f"a block scalar or a tag: {source[start:end][:40]}")
        text = source[start:end]
        text = text[text.index(" ") + 1 :] if anchor else text
        if "\n" in text:
            text = _join_lines(text, quoted=bool(event.style))
        return Node("scalar", start, end, anchor, text, ())
    kind = "mapping" if isinstance(event, yaml.MappingStartEvent) else "list"
    children: list[Node] = []
    for inner in events:
        if isinstance(inner, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            return Node(kind, start, _place(inner.end_mark), anchor, "", tuple(children))
        children.append(_node(source, events, inner))
    raise AssertionError("no end")


def _place(mark: Any) -> int:
    return mark.index


def _join_lines(text: str, *, quoted: bool) -> str:
    """A scalar of several lines on one; an escaped line end leaves no space."""
    whole = ""
    for line in text.split("\n"):
        part = line.strip()
        escaped = quoted and whole.endswith("\\") and (len(whole) - len(whole.rstrip("\\"))) % 2 == 1
        if not part:
            raise ValueError(f"a scalar holds an empty line: {text[:40]}")
        whole = whole[:-1] + part if escaped else f"{whole} {part}" if whole else part
    return whole


def width(text: str) -> int:
    """The number of columns that a text takes."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def _flow(node: Node) -> str:
    """A part on one line."""
    if node.kind == "scalar":
        return node.anchor + node.text
    if node.kind == "list":
        return f"{node.anchor}[{', '.join(map(_flow, node.children))}]"
    pairs = zip(node.children[::2], node.children[1::2], strict=True)
    return f"{node.anchor}{{{', '.join(f'{_flow(key)}: {_flow(value)}' for key, value in pairs)}}}"


def _may_flow(node: Node) -> bool:
    """True if a part is small enough in kind to stand on one line."""
    if node.kind == "scalar":
        return True
    if node.kind == "mapping":
        keys = {key.text for key in node.children[::2]}
        return not keys & {"en", "zh"} and all(
            value.kind == "scalar" or (value.kind == "list" and all(one.kind == "scalar" for one in value.children))
            for value in node.children[1::2]
        )
    return all(one.kind != "mapping" and _may_flow(one) for one in node.children)


class _Layout:
    def __init__(self, source: str) -> None:
        self.lines: list[str] = []
        self._comments: list[tuple[int, str]] = []
        at = 0
        for line in source.split("\n"):
            if line.strip().startswith("#") or not line.strip():
                self._comments.append((at, line.strip()))
            at += len(line) + 1
        if self._comments and not self._comments[-1][1]:
            self._comments.pop()

    def comments_before(self, place: int, indent: int) -> None:
        """The comments that stand before a place and were not written yet."""
        while self._comments and self._comments[0][0] < place:
            text = self._comments.pop(0)[1]
            self.lines.append(" " * indent + text if text else "")

    def _has_comment(self, node: Node) -> bool:
        return any(node.start < at < node.end for at, _ in self._comments)

    def block(self, node: Node, indent: int) -> None:
        """A mapping or a list, an entry a line or more."""
        if node.kind == "list":
            for child in node.children:
                self.comments_before(child.start, indent)
                if child.kind == "mapping" and child.children and not child.anchor:
                    first = len(self.lines)
                    self.block(child, indent + _INDENT)
                    at = next(n for n in range(first, len(self.lines)) if not self._is_comment(self.lines[n]))
                    self.lines[at] = " " * indent + "- " + self.lines[at].lstrip()
                else:
                    self._entry(" " * indent + "-", child, indent)
            return
        for key, value in zip(node.children[::2], node.children[1::2], strict=True):
            self.comments_before(key.start, indent)
            self._entry(f"{' ' * indent}{_flow(key)}:", value, indent)

    @staticmethod
    def _is_comment(line: str) -> bool:
        return not line.strip() or line.lstrip().startswith("#")

    def _entry(self, head: str, value: Node, indent: int) -> None:
        """Write one entry after `head` (`key:` or `-`): on one line if it fits, else folded, wrapped or as a block."""
        text = _flow(value)
        fits = width(head) + 1 + width(text) <= WIDTH
        if value.kind == "scalar":
            self.lines.extend([f"{head} {text}"] if fits else _fold_text(head, value, indent + _INDENT))
        elif not value.children or (fits and _may_flow(value) and not self._has_comment(value)):
            self.lines.append(f"{head} {text}")
        elif _is_run(value) and not self._has_comment(value):
            self.lines.extend(_wrap_entry(head, value, indent + _INDENT))
        else:
            self.lines.append(f"{head} {value.anchor}".rstrip())
            self.block(value, indent + _INDENT)


def _is_run(node: Node) -> bool:
    """True if a list is one of plain words: it is wrapped and not set out one a line."""
    return node.kind == "list" and all(one.kind == "scalar" and width(one.text) < WIDTH // 3 for one in node.children)


def _wrap_entry(head: str, node: Node, indent: int) -> list[str]:
    """The lines of a list in brackets, wrapped at the width."""
    lines, line = [f"{head} {node.anchor}["], " " * indent
    for place, child in enumerate(node.children):
        part = _flow(child) + ("," if place < len(node.children) - 1 else "")
        if width(line) + 1 + width(part) > WIDTH and line.strip():
            lines.append(line)
            line = " " * indent
        line += (" " if line.strip() else "") + part
    return [*lines, line, " " * (indent - _INDENT) + "]"]


def _fold_text(head: str, node: Node, indent: int) -> list[str]:
    """A long text over several lines; one without blanks in double quotes, with escaped line ends."""
    text = node.text
    if text[0] not in "\"'":
        text = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    elif text[0] == "'":
        text = '"' + text[1:-1].replace("''", "'").replace("\\", "\\\\").replace('"', '\\"') + '"'
    lines: list[str] = []
    line = f"{head} {node.anchor}"
    for part in _parts(text):
        if width(line) + width(part.rstrip()) + 1 > WIDTH and line.strip():
            lines.append(line.rstrip() if line.endswith(" ") else line + "\\")
            line = " " * indent
        line += part
    return [*lines, line]


def _parts(text: str) -> Iterator[str]:
    """The parts of a text in double quotes, broken behind a blank, a bar or a wide character, never in an escape."""
    part = ""
    for place, one in enumerate(text):
        part += one
        following = text[place + 1 : place + 2]
        wide = one == "|" or (unicodedata.east_asian_width(one) in "WF" and not _closes(following))
        if (one == " " or wide) and following not in ("", " ", '"'):
            yield part
            part = ""
    yield part


def _closes(character: str) -> bool:
    """True if a character may not begin a line."""
    return character != "" and unicodedata.category(character) in ("Pe", "Pf", "Po")


def main(words: list[str]) -> int:
    """Lay out the named files."""
    check, changed = "--check" in words, 0
    for name in words:
        if name == "--check":
            continue
        path = Path(name)
        before = path.read_text("utf-8")
        after = block_style(before)
        if yaml.safe_load(after) != yaml.safe_load(before):
            raise ValueError(f"{name}: the content would change")
        if after != before:
            changed += 1
            print(name)
            if not check:
                path.write_text(after, "utf-8")
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
