"""Editors of a launch script and of a YAML: they replace, add or remove a setting and keep all other characters."""

from __future__ import annotations

import re
from itertools import takewhile

from ...mappings.tables import argument_beside
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.yaml_reader.document import parse_path, read_yaml
from ..equality import is_identical
from .megatron_file import PLAIN_WORD, quote_word
from .yaml_text import block, is_same_yaml, scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ...schemas.config import Argument, Config, Setting, Value
    from ...schemas.source import SourceText, Span
    from ...schemas.yaml_reader.document import YamlDocument
    from ...schemas.yaml_reader.node import Node


class Edit(NamedTuple):
    """The characters from `start` to `end` become `text`, for the sake of `key`."""

    start: int
    end: int
    text: str
    key: str


def apply_edits(text: str, edits: Sequence[Edit]) -> str | None:
    """Text after all edits; None if two of them overlap."""
    newline = "\r\n" if "\r\n" in text else "\n"
    distinct = list(dict.fromkeys((edit.start, edit.end, edit.text) for edit in edits))
    ordered = sorted(distinct, key=lambda edit: (edit[0], edit[1]))
    parts: list[str] = []
    at = 0
    for start, end, new in ordered:
        if start < at:
            return None
        parts += [text[at:start], new.replace("\n", newline)]
        at = end
    return "".join([*parts, text[at:]])


_NAME = r"\$(?:\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)"
_VARIABLE = re.compile(rf"""[ \t]+("{_NAME}"|{_NAME})(?=[\s"')\\]|$)""")


class _WrittenArgument(NamedTuple):
    """One argument of the launch: its flag and its words."""

    flag: Argument
    words: tuple[Argument, ...]


class ScriptEditor:
    """Makes edits for one script. With `shared` a variable's assignment is changed, otherwise the place of its use."""

    def __init__(self, source: SourceText, config: Config, wanted: Config, *, shared: bool) -> None:
        self.source = source
        self.config = config
        self.wanted = wanted
        self.shared = shared
        launch = config.launch
        self.arguments = () if launch is None else launch.arguments

    def real(self, key: str) -> str:
        """The key; a script's arguments have one name."""
        return key

    def put(self, key: str, value: Value) -> Iterator[Edit]:
        """Edits after which the argument has the wanted words."""
        del value  # the words of a freshly written script are what reads back as this value
        target, setting = self.wanted.settings.get(key), self.config.settings.get(key)
        if target is None or target.origin != "explicit" or target.flag is None:
            yield from self.drop(key)
        elif setting is None or setting.origin != "explicit" or not is_identical(setting.value, target.value):
            yield from self.give(key, target.flag, list(target.raw or ()))

    def give(self, key: str, flag: str, words: list[str]) -> Iterator[Edit]:
        """Edits that give an argument these values."""
        setting = self.config.settings.get(key)
        if setting is None or setting.origin != "explicit":
            yield from self._append(flag, words, key)
        elif (written := self._find_argument(setting)) is not None:
            yield from self._change_argument(written, flag, words, key)

    def drop_at(self, span: Span) -> Iterator[Edit]:
        """Edits that remove a word of the launch; a flag goes with its values."""
        for place, argument in enumerate(self.arguments):
            if argument.span[:2] != span[:2] or argument.span.file is not None or not argument.resolved:
                continue
            words: list[Argument] = []
            for word in self.arguments[place + 1 :] if argument.text.startswith("--") else ():
                if word.text.startswith("--"):
                    break
                words.append(word)
            written = _WrittenArgument(argument, tuple(words))
            if all(word.resolved and word.span.file is None for word in words) and self._is_adjacent(written):
                last = words[-1] if words else argument
                yield self._remove_argument(self._outer(argument.span)[0], self._outer(last.span)[1], argument.text)
            return

    def _change_argument(self, written: _WrittenArgument, name: str, words: list[str], key: str) -> Iterator[Edit]:
        """Edits that change the words of a given argument."""
        flag = written.flag
        if "=" in flag.text and not written.words and len(words) == 1:
            yield self._replace_word(flag.span, f"{flag.text.partition('=')[0]}={words[0]}", key)
        elif not words and not written.words:
            if flag.text != name:
                yield Edit(*self.source.offsets(flag.span), name, key)
        elif len(words) == len(written.words):
            yield from self._words(written, words, key)
        elif words and written.words:
            start, end = self._outer(written.words[0].span)[0], self._outer(written.words[-1].span)[1]
            if not self._is_adjacent(written):
                used = _VARIABLE.match(self.source.text, self.source.offsets(flag.span)[1])
                if used is None:
                    return
                start, end = used.span(1)
            yield Edit(start, end, " ".join(quote_word(word) for word in words), key)

    def drop(self, key: str) -> Iterator[Edit]:
        """Edits that remove an argument."""
        setting = self.config.settings.get(key)
        written = None if setting is None or setting.origin != "explicit" else self._find_argument(setting)
        if written is None:
            return
        start, end = self._outer(written.flag.span)
        if written.words and self._is_adjacent(written):
            end = self._outer(written.words[-1].span)[1]
        elif written.words:
            used = _VARIABLE.match(self.source.text, end)
            if used is None or len(written.words) != 1:
                return
            end = used.end(1)
        yield self._remove_argument(start, end, key)

    def rest(self) -> Iterator[Edit]:
        """No edits: a script's arguments are all written at once."""
        yield from ()

    # --- where an argument stands ---

    def _find_argument(self, setting: Setting) -> _WrittenArgument | None:
        """Last occurrence of an argument, which is the effective one."""
        span = setting.span
        if span is None or span.file is not None:
            return None
        for place, argument in enumerate(self.arguments):
            at = argument.span
            if (at.line, at.column) == (span.line, span.column) and at.file is None and argument.resolved:
                if "=" in argument.text:
                    return _WrittenArgument(argument, ())
                words = self.arguments[place + 1 : place + 1 + len(setting.raw or ())]
                if any(word.span.file is not None or not word.resolved for word in words):
                    return None
                return _WrittenArgument(argument, tuple(words))
        return None

    def _is_adjacent(self, written: _WrittenArgument) -> bool:
        """True if the words stand in the text right behind their flag."""
        at = self._outer(written.flag.span)[1]
        for word in written.words:
            start, end = self._outer(word.span)
            if start < at or self.source.text[at:start].strip(" \t\\\n"):
                return False
            at = end
        return True

    def _words(self, written: _WrittenArgument, words: list[str], key: str) -> Iterator[Edit]:
        """Edits that replace an argument's words, in the variable that holds them if necessary."""
        beside = self._is_adjacent(written)
        for old, new in zip(written.words, words, strict=True):
            if old.text == new:
                continue
            if beside or self.shared:
                yield self._replace_word(old.span, new, key)
                continue
            used = _VARIABLE.match(self.source.text, self.source.offsets(written.flag.span)[1])
            if used is None or len(words) != 1:
                return
            yield Edit(used.start(1), used.end(1), quote_word(new), key)

    def _replace_word(self, span: Span, word: str, key: str) -> Edit:
        """Edit of one word, keeping its quotes if they can hold the new text."""
        inner, outer = self.source.offsets(span), self._outer(span)
        quote = self.source.text[outer[0]] if inner != outer else ""
        if quote and not set(word) & set("'" if quote == "'" else '"\\$`'):
            return Edit(*inner, word, key)
        return Edit(*outer, quote_word(word), key)

    def _outer(self, span: Span) -> tuple[int, int]:
        """The place of a word with the quotes around it."""
        start, end = self.source.offsets(span)
        text = self.source.text
        if start and end < len(text) and text[start - 1] in "'\"" and text[end] == text[start - 1]:
            return start - 1, end + 1
        return start, end

    # --- a new argument, an argument less ---

    def _append(self, flag: str, words: list[str], key: str) -> Iterator[Edit]:
        """Edits that add an argument, next to a related one or after the program's name."""
        new = " ".join([flag, *(quote_word(word) for word in words)])
        if any(not PLAIN_WORD.fullmatch(word) for word in words) and (place := self._behind_script()) is not None:
            # Inside a variable's text quotes would be part of the word; on the command line they are quotes.
            yield Edit(place, place, f" {new}", key)
            return
        place = argument_beside(self.config, key, self.source)
        if place is not None:
            yield self._next_to(self.arguments[place], place, new, key)

    def _behind_script(self) -> int | None:
        """Text position after the program's name; None if the text does not contain it."""
        launch = self.config.launch
        if launch is None or launch.script is None or launch.span.file is not None:
            return None
        start, end = self.source.offsets(launch.span)
        at = self.source.text.find(launch.script, start, end)
        after = at + len(launch.script)
        return after if at >= 0 and self.source.text[after : after + 1].isspace() else None

    def _rest_of_line(self, place: int) -> tuple[str, int]:
        """The rest of a line behind a place, and the line's end."""
        text = self.source.text
        stop = text.find("\n", place)
        if stop < 0:
            return text[place:].strip(), len(text)
        return text[place:stop].strip(), stop - (text[stop - 1] == "\r")

    def _next_to(self, argument: Argument, place: int, new: str, key: str) -> Edit:
        """Edit that adds words beside an argument, in the line style around it."""
        start, end = self._outer(argument.span)
        following = list(takewhile(lambda word: not word.text.startswith("--"), self.arguments[place + 1 :]))
        end = self._end_of_values(argument, following, end)
        line = self.source.line(argument.span.line)
        indent = line[: argument.span.column - 1]
        continued = argument.span.line > 1 and self.source.line(argument.span.line - 1).rstrip().endswith("\\")
        rest, stop = self._rest_of_line(end)
        if indent.strip() or (following and end == self._outer(argument.span)[1]):
            return Edit(start, start, f"{new} ", key)
        if rest == "\\" or (not rest and continued):
            return Edit(end, end, f" \\\n{indent}{new}", key)
        if (not rest or rest.startswith("#")) and not continued:
            return Edit(stop, stop, f"\n{indent}{new}", key)
        return Edit(start, start, f"{new} ", key)

    def _end_of_values(self, argument: Argument, following: Sequence[Argument], end: int) -> int:
        """Text position at which an argument's values end."""
        used = _VARIABLE.match(self.source.text, end)
        if following and self._is_adjacent(_WrittenArgument(argument, tuple(following))):
            return self._outer(following[-1].span)[1]
        return used.end(1) if following and used is not None else end

    def _remove_argument(self, start: int, end: int, key: str) -> Edit:
        """Edit that deletes an argument, with its line if nothing else is on it."""
        text = self.source.text
        first = text.rfind("\n", 0, start) + 1
        stop = text.find("\n", end)
        stop = len(text) if stop < 0 else stop
        before, after = text[first:start].strip(), text[end:stop].strip()
        continued = text[:first].rstrip("\r\n").endswith("\\")
        if not before and (after == "\\" or (not after and not continued)):
            return Edit(first, min(stop + 1, len(text)), "", key)
        while start > first and text[start - 1] in " \t" and (before or not after):
            start -= 1
        while not before and end < stop and text[end] in " \t":
            end += 1
        return Edit(start, end, "", key)


_paths: list[tuple[YamlDocument, dict[tuple[object, ...], str]]] = []
"""The last documents and the paths of their nodes by place: a fix search asks once a finding, of thousands of nodes."""


def _paths_of(document: YamlDocument) -> dict[tuple[object, ...], str]:
    """Path of each node by the place of its key or value."""
    for held, paths in _paths:
        if held is document:
            return paths
    paths: dict[tuple[object, ...], str] = {}
    for path, node in _nodes_of(document):
        for span in (node.key_span or node.span, node.span):
            paths.setdefault(span[:4], path)
            paths.setdefault(span[:2], path)
    _paths.insert(0, (document, paths))
    del _paths[2:]
    return paths


def _nodes_of(document: YamlDocument) -> Iterator[tuple[str, Node]]:
    """All nodes with their paths; aliases count under their own path."""
    waiting: list[tuple[str, Node]] = [("", document.root)] if document.root else []
    while waiting:
        path, node = waiting.pop()
        if path:
            yield path, node
        if node.anchor_span is None:
            waiting += [(f"{path}.{key}" if path else str(key), below) for key, below in node.items.items()]
            waiting += [(f"{path}[{place}]", below) for place, below in enumerate(node.entries)]


class YamlEditor:
    """Makes edits for one text. With `shared` an anchored value is changed for all that refer to it."""

    def __init__(self, source: SourceText, *, shared: bool, fresh: Mapping[str, Any] | None = None) -> None:
        self.source = source
        self.document = read_yaml(source)
        self.shared = shared
        self.fresh: Mapping[str, Any] = fresh or {}
        """Whole sections as a newly written file has them, for those that the text lacks."""
        self._new: dict[tuple[Any, ...], tuple[Node, dict[str, Any], str]] = {}
        self._dropped: dict[str, set[str]] = {}
        """The last names of the keys that are dropped, by the path of their section."""

    def real(self, key: str) -> str:
        """Key with the callback's index in this file."""
        if "{" not in key:
            return key
        section, _, rest = key.partition("{")
        name, _, tail = rest.partition("}")
        place = self._callback(section, name)
        return key if place is None else f"{section}[{place}]{tail}"

    def put(self, key: str, value: Value) -> Iterator[Edit]:
        """Edits that set a key; none if it is set so already or cannot be edited."""
        path = self.real(key)
        if "{" in path:
            self._new_callback(key, value)
            return
        node = self.document.find(path)
        if node is None:
            self._insert(path, key, value)
        elif not is_same_yaml(node.value, value):
            yield from self._replace(node, key, value)

    def path_at(self, span: Span) -> str | None:
        """Path of the key or value at a text position."""
        paths = _paths_of(self.document)
        return paths.get(span[:4]) or paths.get(span[:2])  # the whole place, else where it begins

    def rename(self, key: str, name: str, value: Value) -> Iterator[Edit]:
        """Edits that rename a key and set its value."""
        node = self.document.find(key)
        if node is None or node.key_span is None:
            return
        yield Edit(*self.source.offsets(node.key_span), name.rpartition(".")[2], name)
        if not is_same_yaml(node.value, value):
            yield from self._replace(node, key, value)

    def drop(self, key: str) -> Iterator[Edit]:
        """Edits that remove a key and keep its comment."""
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
        section, _, name = path.rpartition(".")
        self._dropped.setdefault(section, set()).add(name)
        yield from self._drop_lines(node, node.key_span, key)

    def _drop_lines(self, node: Node, key_span: Span, key: str) -> Iterator[Edit]:
        """Edits that delete a key's lines, or only its text if a comment follows."""
        line = self.source.line(key_span.line)
        start = self.source.offset(key_span.line, key_span.column)
        end = self.source.offset(node.span.end_line, node.span.end_column)
        remark = line[node.span.end_column - 1 :].strip()
        if remark:
            after = len(line) - len(line[node.span.end_column - 1 :].lstrip()) + 1
            yield Edit(start, self.source.offset(key_span.line, after), "", key)
            return
        first = self.source.offset(key_span.line, 1)
        following = self.source.text.find("\n", end)
        if first and following >= 0:
            # With the line end before it: what is written behind this line, as the last of its section, has its place.
            yield Edit(first - 1, following, "", key)
        else:
            yield Edit(first, len(self.source.text) if following < 0 else following + 1, "", key)

    def remove(self, key: str) -> Iterator[Edit]:
        """Edits that delete a key's lines, and its section if that becomes empty."""
        path = key
        while (above := path.rpartition(".")[0]) and (parent := self.document.find(above)) is not None:
            if len(parent.items) > 1:
                break
            path = above
        node = self.document.find(path)
        if node is None or node.key_span is None or node.key_span.file is not None:
            return
        indent = self.source.line(node.key_span.line)[: node.key_span.column - 1]
        if indent.strip():
            return  # a mapping in braces, or the first key of a list's entry
        last = max(node.key_span.line, node.span.end_line - (node.span.end_column == 1))
        start = self.source.offset(node.key_span.line, 1)
        following = self.source.text.find("\n", self.source.offset(last, 1))
        yield Edit(start, len(self.source.text) if following < 0 else following + 1, "", key)

    # --- a value that is there ---

    def _replace(self, node: Node, key: str, value: Value) -> Iterator[Edit]:
        """Edits that replace a node's value by another of any kind."""
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
            yield from self._fold_section(node, key, value)
            return
        start, end = self.source.offsets(node.span)
        text = self._in_style(node, value)
        if start == end and not self.source.text[start - 1].isspace():
            text = " " + text
        yield Edit(start, end, text, key)

    def _fold_section(self, node: Node, key: str, value: Value) -> Iterator[Edit]:
        """Edits that replace a section by one value; none if a comment or anchor would be lost."""
        end = self.source.offsets(node.span)[1]
        if node.kind != "mapping" or node.anchor is not None or node.key_span is None or isinstance(value, dict):
            return
        colon = self.source.text.index(":", self.source.offsets(node.key_span)[1]) + 1
        if not set(self.source.text[colon:end]) & set("#&"):
            yield Edit(colon, end, " " + scalar(value), key)

    def _sequence(self, node: Node, key: str, value: list[Value]) -> Iterator[Edit]:
        """Edits that change a list, entry by entry or as a whole."""
        plain = all(entry.kind == "scalar" and entry.anchor is None for entry in node.entries)
        if plain and len(node.entries) == len(value):
            yield from self._entries(node.entries, key, value)
            return
        start, end = self.source.offsets(node.span)
        if node.flow:
            yield Edit(start, end, _with_anchor(node, scalar(value)), key)
        elif plain and value and node.anchor is None:
            yield from self._resize_block(node.entries, key, value)

    def _entries(self, entries: Sequence[Node], key: str, value: list[Value]) -> Iterator[Edit]:
        """Edits of list entries that differ."""
        for entry, wanted in zip(entries, value, strict=False):
            if not is_same_yaml(entry.value, wanted):
                yield Edit(*self.source.offsets(entry.span), self._in_style(entry, wanted), key)

    def _resize_block(self, entries: Sequence[Node], key: str, value: list[Value]) -> Iterator[Edit]:
        """Edits that add or delete lines at the end of a block list."""
        dashes = [self.source.line(entry.span.line)[: entry.span.column - 1] for entry in entries]
        if any(dash.strip() != "-" for dash in dashes) or any(one.span.line != one.span.end_line for one in entries):
            return
        yield from self._entries(entries, key, value)
        for entry, dash in list(zip(entries, dashes, strict=True))[len(value) :]:
            yield from self._drop_lines(entry, entry.span._replace(column=dash.index("-") + 1), key)
        if more := value[len(entries) :]:
            last = entries[-1].span.line
            stop = self.source.offset(last, 1) + len(self.source.line(last).rstrip("\r\n"))
            yield Edit(stop, stop, "".join(f"\n{dashes[-1]}{scalar(one)}" for one in more), key)

    def _in_style(self, node: Node, value: Value) -> str:
        """Text of a value in the quotes of the old one."""
        start, _ = self.source.offsets(node.span)
        quote = self.source.text[start : start + 1]
        if isinstance(value, str) and quote in ("'", '"') and value.isprintable() and not set(value) & set("\"'\\"):
            return quote + value + quote
        return _with_anchor(node, scalar(value))

    # --- a value that is not there ---

    def _insert(self, path: str, key: str, value: Value) -> None:
        """Queue a new key for its section; `rest` writes it."""
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
        """Queue a new callback, or a key of one, for the callback list."""
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
        """Edits that write queued keys by section and remove sections that became empty."""
        yield from self._drop_empty_sections()
        for path, (section, content, key) in self._new.items():
            if section.kind == "sequence":
                first = section.entries[0].span
                lines = [line[2:] for line in list(block({str(path[-1]): content[str(path[-1])]}, {}))[1:]]
                yield self._line_after(section.span.end_line, first.column - 3, lines, key)
            else:
                yield from self._into(section, content, key)

    def _drop_empty_sections(self) -> Iterator[Edit]:
        """Edits that remove sections without keys, which the framework rejects."""
        written = {".".join(map(str, path)) for path in self._new}
        for path, names in self._dropped.items():
            section = self.document.find(path) if path else None
            if section is None or section.key_span is None or section.anchor is not None or path in written:
                continue
            if names == set(map(str, section.items)):
                first = self.source.offset(section.key_span.line, 1)
                following = self.source.text.find("\n", first)
                name, _, remark = self.source.text[first:following].partition("#")
                if first and name.strip().endswith(":"):
                    start = self.source.offsets(section.key_span)[0]
                    yield Edit(start, first + len(name), "", path) if remark else Edit(first - 1, following, "", path)

    def _into(self, section: Node, content: dict[str, Any], key: str) -> Iterator[Edit]:
        """Edit that adds keys at the end of an existing section."""
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
        """Edit that inserts lines after a line."""
        end = self.source.offset(number, len(self.source.line(number)) + 1)
        return Edit(end, end, "".join(f"\n{' ' * max(0, indent)}{line}" for line in lines), key)

    def _callback(self, section: str, name: str) -> int | None:
        """Index of a callback in the file's list; None if absent."""
        listed = self.document.find(section)
        for place, entry in enumerate(() if listed is None else listed.entries):
            if entry.kind == "mapping" and "type" in entry.items and entry.items["type"].value == name:
                return place
        return None


def _with_anchor(node: Node, text: str) -> str:
    return text if node.anchor is None else f"&{node.anchor} {text}"


def _of_one_line(node: Node) -> bool:
    """True if a value is on its key's line and nothing else refers to it."""
    if node.anchor is not None or node.anchor_span is not None or node.key_span is None:
        return False
    return node.key_span.line == node.span.end_line and (node.kind == "scalar" or node.flow)
