"""A YAML file as PyYAML's `safe_load` understands it, with the place of every key and value.

MindFormers reads its configuration with PyYAML, so YAML 1.1 is the truth here: `1e-5` is a string, `on` is a
boolean, `017` is fifteen. `read_yaml` walks the events of libyaml without recursion, builds the same Python values
as `safe_load`, remembers where each one stands, and reports what a reader of the file may not expect: keys that are
written twice, strings that look like numbers, words that are booleans. What `safe_load` refuses, and what could not
be held in bounded time and memory, is one `UnreadableError` with its place.
"""

from __future__ import annotations

from ..diagnostic import Related, UnreadableError, diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple, cast
from ..message import Problem, Words, verbatim
from ..messages_compiled import say
from ..shell.scanner import is_whole_number
from ..source import SourceText, Span
from .node import KEPT_AT, MAX_DEPTH, MAX_EXPANDED, SAME_VALUE, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

    from ..diagnostic import Diagnostic

_LIBYAML_TOO_DEEP = "exceeded maximum nesting depth"
"""The words of libyaml's own limit, which PyYAML's wheels have since 6.0.4."""
_MOST_COMPARED = 1000
"""Nodes of more values are not compared: aliases can make a value far larger than its file."""
MAX_TABBED_TEXT = 100_000
"""Up to this length a text with tabs is scanned a second time, as slowly as PyYAML does it."""


class YamlDocument(NamedTuple):
    """A whole file."""

    source: SourceText
    root: Node | None
    problems: tuple[Diagnostic, ...]

    @property
    def value(self) -> Any:
        """Value as `yaml.safe_load` returns it; None for an empty document."""
        return None if self.root is None else self.root.value

    def find(self, path: str | tuple[Any, ...]) -> Node | None:
        """The node at a path such as `model.model_config.hidden_size` or `callbacks[0].type`."""
        node = self.root
        for step in parse_path(path) if isinstance(path, str) else path:
            if node is None:
                return None
            if node.kind == "mapping":
                node = node.items.get(step)
            elif isinstance(step, int) and 0 <= step < len(node.entries):
                node = node.entries[step]
            else:
                return None
        return node


def parse_path(path: str) -> tuple[str | int, ...]:
    """The steps of a dotted path: `a.b[0].c` is a, b, 0, c."""
    steps: list[str | int] = []
    for part in path.split("."):
        name, *indices = part.split("[")
        if name:
            steps.append(name)
        steps += [int(index.rstrip("]")) if is_whole_number(index.rstrip("]")) else index for index in indices]
    return tuple(steps)


def read_yaml(source: SourceText) -> YamlDocument:
    """The document in `source`, or UnreadableError where `yaml.safe_load` fails too."""
    for known in _recent:
        if known.source is source:
            return known
    found = _read_document(source)
    _recent.insert(0, found)
    del _recent[2:]
    return found


_recent: list[YamlDocument] = []
"""The documents at hand: whoever mends a file asks for it again. A document is never changed."""


def json_items(source: SourceText) -> Mapping[Any, Node]:
    """Entries of a JSON file with places."""
    try:
        root = read_yaml(SourceText(source.name, source.text.replace("\t", " "))).root  # JSON allows tabs
    except UnreadableError:
        return {}
    return {} if root is None else root.items


def _read_document(source: SourceText) -> YamlDocument:
    """Document by the fast reader, or by PyYAML if the text needs it."""
    from .fast_path import Beyond, read_plain

    reader = Reader(source)
    try:
        root = read_plain(reader)
    except Beyond:
        return Reader(source).read()
    return YamlDocument(source, root, tuple(reader.problems))


_NUMBER_LIKE = r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)[eE][-+]?[0-9]+"
_TAG = "tag:yaml.org,2002:"
_ODD_BOOLEANS = frozenset(["yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"])
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(["true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"], True),
    **dict.fromkeys(["false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"], False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
"""The plain words that PyYAML does not read as strings."""
_ODD_BREAKS = ("\x85", "\u2028", "\u2029")


class _Frame:
    """A collection under construction."""

    __slots__ = ("anchor", "children", "event", "key", "last", "size", "tag")

    def __init__(self, event: Any, tag: str) -> None:
        self.event = event
        self.tag = tag
        self.anchor: str | None = event.anchor
        self.children: list[Node] = []
        self.last: Any = None
        self.size = 1


def _is_same_value(a: Node, b: Node) -> bool:
    """True if two nodes have equal values; large ones only if identical."""
    return a is b or (a.size == b.size and a.size <= _MOST_COMPARED and _are_one(a.value, b.value))


def _are_one(one: Any, other: Any) -> bool:
    """True if two values are equal with equal types, key order ignored."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        mine, theirs = cast("dict[Any, Any]", one), cast("dict[Any, Any]", other)
        return mine.keys() == theirs.keys() and all(_are_one(value, theirs[key]) for key, value in mine.items())
    if isinstance(one, list):
        mine, theirs = cast("list[Any]", one), cast("list[Any]", other)
        return len(mine) == len(theirs) and all(map(_are_one, mine, theirs))
    return repr(one) == repr(other)


class Reader:
    """One pass over one file: over libyaml's events, or over the lines of plain YAML (`fast_path.py`)."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.problems: list[Diagnostic] = []
        self.anchors: dict[str, Node] = {}
        self.open_anchors: set[str] = set()
        self.expanded = 0
        text = source.text
        self.same_lines = not any(mark in text for mark in _ODD_BREAKS) and text.count("\r") == text.count("\r\n")

    def read(self) -> YamlDocument:
        """The whole document, by libyaml's events."""
        yaml = self.yaml
        try:
            parser = (
                yaml.cyaml.CParser(self.source.text) if yaml.__with_libyaml__ else yaml.SafeLoader(self.source.text)
            )
            root = self._document(parser.get_event)
            self._scan_tabs(yaml)
        except yaml.MarkedYAMLError as error:
            self._refuse_syntax(error)
        except yaml.reader.ReaderError as error:
            self._refuse_character(error.position)
        except UnicodeEncodeError as error:
            self._refuse_character(error.start)
        return YamlDocument(self.source, root, tuple(self.problems))

    @property
    def yaml(self) -> Any:
        """PyYAML module, imported on first use."""
        import yaml

        return yaml

    def _scan_tabs(self, yaml: Any) -> None:
        # MindFormers loads with PyYAML's own scanner, which refuses a tab outside quotes where libyaml takes it.
        text = self.source.text
        if "\t" in text and len(text) <= MAX_TABBED_TEXT:
            for _ in yaml.parse(text, Loader=yaml.SafeLoader):
                pass

    def _document(self, next_event: Callable[[], Any]) -> Node | None:
        """Root node built from PyYAML's events, with limits on depth and size."""
        yaml = self.yaml
        scalar, alias = yaml.ScalarEvent, yaml.AliasEvent
        mapping, sequence = yaml.MappingStartEvent, yaml.SequenceStartEvent
        mapping_end, sequence_end = yaml.MappingEndEvent, yaml.SequenceEndEvent
        root: Node | None = None
        documents = 0
        stack: list[_Frame] = []
        while True:
            event = next_event()
            kind = cast("Any", type(event))
            if kind is scalar:
                node = self._scalar(event)
            elif kind is alias:
                node = self._alias(event)
            elif kind is mapping or kind is sequence:
                if len(stack) >= MAX_DEPTH:
                    self._refuse(say.too_deep(limit=MAX_DEPTH), self._mark_span(event.start_mark, event.end_mark))
                stack.append(self._frame(event, kind is mapping))
                continue
            elif kind is mapping_end:
                node = self._mapping(stack.pop(), event)
            elif kind is sequence_end:
                node = self._sequence(stack.pop(), event)
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    self._refuse(say.several_documents(), self._mark_span(event.start_mark, event.end_mark))
                continue
            elif event is None or kind is yaml.StreamEndEvent:
                return root
            else:
                continue
            if stack:
                stack[-1].children.append(node)
                stack[-1].size += node.size
                if stack[-1].size > MAX_EXPANDED:
                    self._refuse(say.alias_bomb(limit=MAX_EXPANDED), node.span)
            else:
                self._refuse_special(node)
                root = node

    def _scalar(self, event: Any) -> Node:
        """Node of a scalar event."""
        text: str = event.value
        tag: str | None = event.tag
        span = self._mark_span(event.start_mark, event.end_mark)
        plain = event.style is None or event.style == ""
        value: Any
        if tag is None or tag == "!":
            value = text
            if tag == "!" or event.implicit[0]:
                # `!` has any text read as a plain one: `! '12'` is a number, and so is a block with its line break
                value = (self._odd_value if text[-1:] == "\n" else self.plain_value)(text, span)
        else:
            value = self._tagged_value(tag, text, span)
        if event.style in ("|", ">"):
            self._check_block_head(span)
            span = self._without_trailing_blank(span)
        node = Node("scalar", value, span, anchor=event.anchor, text=text, plain=plain)
        if event.anchor is not None:
            self.define(event.anchor, node)
        return node

    def plain_value(self, text: str, span: Span) -> Any:
        """The value of a plain scalar: PyYAML's, and the usual forms without asking it."""
        if text[:1] not in _NUMBER_STARTS:
            if text in _WORDS:
                if text in _ODD_BOOLEANS:
                    self._note(say.boolean_word(text=text, value=str(_WORDS[text]).lower()), span)
                return _WORDS[text]
            return _Special("merge") if text == "<<" else _Special("value") if text == "=" else text
        if not _NUMBER_CHARACTERS.issuperset(text):
            return text
        kind = _usual_number(text) if text.isascii() and len(text) < 100 else None
        if kind is None:
            return self._odd_value(text, span)
        if kind is str:
            self._note(say.number_like_string(text=text, better=_as_yaml_float(text)), span)
        return kind(text)

    def _odd_value(self, text: str, span: Span) -> Any:
        """Value of number-like text by PyYAML's own patterns."""
        import re

        for tag, pattern in self.yaml.SafeLoader.yaml_implicit_resolvers.get(text[:1], ()):
            if pattern.match(text):
                return self._implicit_value(tag, text, span)
        if re.fullmatch(_NUMBER_LIKE, text):
            self._note(say.number_like_string(text=text, better=_as_yaml_float(text)), span)
        return text

    def _implicit_value(self, tag: str, text: str, span: Span) -> Any:
        """Value of an untagged scalar; notes octal, sexagesimal and date forms."""
        name = tag[len(_TAG) :]
        value = self._tagged_value(tag, text, span)
        if name in ("int", "float"):
            if ":" in text:
                self._note(say.sexagesimal(text=text, value=value), span)
            elif name == "int" and text.lstrip("+-")[:1] == "0" and text.lstrip("+-")[1:2].isdigit():
                self._note(say.octal(text=text, value=value), span)
        elif name == "timestamp":
            self._note(say.date(text=text), span)
        return value

    def _tagged_value(self, tag: str, text: str, span: Span) -> Any:
        if tag in (_TAG + "merge", _TAG + "value"):
            return _Special(tag[len(_TAG) :])
        if tag not in self.yaml.SafeLoader.yaml_constructors:
            self._refuse(say.unsafe_tag(tag=_shown_tag(tag)), span)
        return self._construct(tag, text, span)

    def _construct(self, tag: str, text: str, span: Span) -> Any:
        """Value of a scalar by PyYAML's constructor for a tag."""
        if len(text) > _LONGEST_NUMBER and tag in (f"{_TAG}int", f"{_TAG}float"):
            # Neither framework counts so far, and to work a number out takes the square of its length.
            self._refuse(say.bad_value(text=_short_excerpt(text), why=say.number_too_long()), span)
        yaml = self.yaml
        maker = yaml.SafeLoader.yaml_constructors[tag]
        constructor = yaml.constructor.SafeConstructor()
        try:
            value = maker(constructor, yaml.ScalarNode(tag, text))
            if hasattr(value, "__next__"):
                value = next(value)  # the collections' makers are generators, and refuse a scalar when advanced
                self._refuse(say.bad_value(text=_short_excerpt(text), why=say.not_of_tag(tag=_shown_tag(tag))), span)
        except yaml.YAMLError as error:
            self._refuse(
                say.bad_value(text=_short_excerpt(text), why=say.foreign(str(getattr(error, "problem", error)))), span
            )
        except (ValueError, LookupError, OverflowError, TypeError, ArithmeticError, AttributeError) as error:
            self._refuse(say.bad_value(text=_short_excerpt(text), why=verbatim(error)), span)
        return value

    def _alias(self, event: Any) -> Node:
        """Node that an alias refers to."""
        span = self._mark_span(event.start_mark, event.end_mark)
        node = self.anchors.get(event.anchor)
        if node is None:
            if event.anchor in self.open_anchors:
                self._refuse(say.recursive_alias(anchor=event.anchor), span)
            self._refuse(say.undefined_alias(anchor=event.anchor), span)
        return node._replace(span=span, anchor_span=node.span, anchor=None)

    def _frame(self, event: Any, mapping: bool) -> _Frame:
        """Open collection of a start event, after checks of its tag and anchor."""
        tag: str | None = event.tag
        name = ("map" if mapping else "seq") if tag is None or tag == "!" else tag
        if tag is not None and tag != "!":
            name = tag[len(_TAG) :] if tag.startswith(_TAG) else tag
            if tag not in self.yaml.SafeLoader.yaml_constructors:
                self._refuse(say.unsafe_tag(tag=_shown_tag(tag)), self._mark_span(event.start_mark, event.end_mark))
            if name not in (("map", "set") if mapping else ("seq", "omap", "pairs")):
                place = self._mark_span(event.start_mark, event.end_mark)
                self._refuse(say.bad_value(text=_shown_tag(tag), why=say.wrong_kind_for_tag()), place)
        if event.anchor is not None:
            if event.anchor in self.anchors or event.anchor in self.open_anchors:
                place = self._mark_span(event.start_mark, event.end_mark)
                self._refuse(say.duplicate_anchor(anchor=event.anchor), place)
            self.open_anchors.add(event.anchor)
        return _Frame(event, name)

    def _sequence(self, frame: _Frame, event: Any) -> Node:
        """Node of a finished sequence."""
        span = self._collection_span(frame, event)
        for child in frame.children:
            self._refuse_special(child)
        value: Any = [child.value for child in frame.children]
        if frame.tag in ("omap", "pairs"):
            value = []
            for child in frame.children:
                if child.kind != "mapping" or len(child.items) != 1:
                    self._refuse(say.bad_value(text="!!" + frame.tag, why=say.mappings_of_one_key()), child.span)
                value.extend(child.value.items())
        node = Node(
            "sequence",
            value,
            span,
            entries=tuple(frame.children),
            anchor=frame.anchor,
            flow=bool(frame.event.flow_style),
            size=frame.size,
        )
        if frame.anchor is not None:
            self.define(frame.anchor, node)
        return node

    def _mapping(self, frame: _Frame, event: Any) -> Node:
        """Node of a finished mapping, with merges applied and duplicates reported."""
        span = self._collection_span(frame, event)
        merged: dict[Any, Node] = {}
        own: dict[Any, Node] = {}
        contested: dict[Any, tuple[Node, Node]] = {}
        children = frame.children
        for key, child in zip(children[::2], children[1::2], strict=True):
            name = key.value
            if type(name) is _Special:
                if name.name == "merge":
                    contested.update(self.merge(merged, child))
                    continue
                name = "="
            if key.kind != "scalar":
                self._refuse(say.unhashable_key(), key.span)
            self._refuse_special(child)
            if not isinstance(name, str):
                shown = key.text or ""
                self._note(say.not_a_string_key(text=shown, value=name, type=type(name).__name__), key.span)
            if name in own:
                self._duplicate(key, own[name], child)
            own[name] = child._replace(key_span=key.span)
        for name in contested.keys() - own.keys():
            kept, other = contested[name]
            self._note(
                say.merge_order(
                    key=str(name), kept=_short_excerpt(repr(kept.value)), other=_short_excerpt(repr(other.value))
                ),
                span,
            )
        items = {**merged, **own}
        value: Any = {name: child.value for name, child in items.items()}
        if frame.tag == "set":
            value = set(value)
        node = Node(
            "mapping", value, span, items=items, anchor=frame.anchor, flow=bool(frame.event.flow_style), size=frame.size
        )
        if frame.anchor is not None:
            self.define(frame.anchor, node)
        return node

    def merge(self, merged: dict[Any, Node], child: Node) -> dict[Any, tuple[Node, Node]]:
        """Merge mappings from `<<`; returns keys whose value depends on the PyYAML version."""
        # In a list the first mapping wins; of several merge keys the last one does. PyYAML 6.0.4 decides by the
        # identity of the key's text (`constructor.py:flatten_mapping`), so that the other mapping wins for most keys.
        contested: dict[Any, tuple[Node, Node]] = {}
        sources = child.entries[::-1] if child.kind == "sequence" else (child,)
        for one in sources:
            if one.kind != "mapping":
                self._refuse(say.bad_merge(), one.span)
            for name in merged.keys() & one.items.keys():
                if not _is_same_value(merged[name], one.items[name]):
                    contested[name] = one.items[name], merged[name]
            merged.update(one.items)
        return contested

    def _duplicate(self, key: Node, earlier: Node, kept: Node) -> None:
        note = say.dropped_value()
        related = Related(self.source.name, earlier.key_span, str(note), note.zh)
        problem = say.duplicate_key(key=key.text, kept=_short_excerpt(repr(kept.value)))
        more = ((SAME_VALUE, _is_same_value(earlier, kept)), (KEPT_AT, kept.span))
        problem = problem._replace(values=(*problem.values, *more))
        self.problems.append(diagnose(problem, self.source.name, key.span, (related,)))

    def define(self, anchor: str, node: Node) -> None:
        """Remember the node of an anchor."""
        if anchor in self.anchors:
            self._refuse(say.duplicate_anchor(anchor=anchor), node.span)
        self.open_anchors.discard(anchor)
        self.anchors[anchor] = node

    def _collection_span(self, frame: _Frame, event: Any) -> Span:
        """Span of a mapping or list, up to its last entry."""
        start = frame.event.start_mark
        if frame.event.flow_style or not frame.children:
            return self._mark_span(start, event.end_mark)
        last = frame.children[-1]
        opening = self._mark_span(start, start)
        return opening.through(last.span)

    def _mark_span(self, start: Any, end: Any) -> Span:
        if self.same_lines:
            return Span(start.line + 1, start.column + 1, end.line + 1, end.column + 1)
        return self.source.span(start.index, end.index)

    def _without_trailing_blank(self, span: Span) -> Span:
        """Span of a block scalar without blank lines at its end."""
        line = min(span.end_line, self.source.line_count)
        if span.end_column > 1 and line == span.end_line:
            return span
        line -= 1
        while line > span.line and not self.source.line(line).strip():
            line -= 1
        return Span(span.line, span.column, line, len(self.source.line(line)) + 1)

    def _check_block_head(self, span: Span) -> None:
        """Refuse `|#` and `>2#`: libyaml takes the rest for a comment, and `safe_load` refuses the file."""
        import re

        if re.compile(r"(?:[&!]\S*\s+)*[|>][-+0-9]*#").match(self.source.line(span.line), span.column - 1):
            why = say.foreign("did not find expected whitespace or line break")
            context = say.yaml_context(context=say.foreign("while scanning a block scalar"))
            self._refuse(say.syntax(why=why, context=context), span)

    def _refuse_special(self, node: Node) -> None:
        if type(node.value) is _Special:
            self._refuse(say.bad_value(text=node.text, why=say.lone_mark()), node.span)

    def _note(self, problem: Problem, span: Span) -> None:
        self.problems.append(diagnose(problem, self.source.name, span))

    def _refuse(self, problem: Problem, span: Span) -> NoReturn:
        raise UnreadableError(diagnose(problem, self.source.name, span))

    def _refuse_syntax(self, error: Any) -> NoReturn:
        """Raise UnreadableError for a syntax error, at the line that causes it."""
        mark = error.problem_mark or error.context_mark
        problem: str = error.problem or "unreadable"
        if mark is not None and problem == _LIBYAML_TOO_DEEP:
            self._refuse(say.too_deep(limit=MAX_DEPTH), self._mark_span(mark, mark))
        if mark is None:
            span = Span(1, 1, 1, 1)
        else:
            span = self._mark_span(mark, mark)
            if span.line > self.source.line_count:
                last = self.source.line_count
                span = Span(last, len(self.source.line(last)) + 1, last, len(self.source.line(last)) + 1)
            line = self.source.line(span.line)
            if self.source.text[mark.index : mark.index + 1] == "\t":
                self._refuse(say.tab(), Span(span.line, span.column, span.line, span.column + 1))
            tab = line.find("\t")
            if tab >= 0 and not line[:tab].strip(" -"):
                self._refuse(say.tab(), Span(span.line, tab + 1, span.line, tab + 2))
        context = Words("", "")
        if error.context and error.context_mark is not None:
            context = say.yaml_context_at(context=say.foreign(error.context), line=self._line_of(error.context_mark))
        elif error.context:
            context = say.yaml_context(context=say.foreign(error.context))
        if mark is not None:
            span = self._cause(span, error)
        self._refuse(say.syntax(why=say.foreign(problem), context=context), span)

    def _cause(self, seen: Span, error: Any) -> Span:
        """Span of the line that causes an error noticed later."""
        if error.context == "while scanning a simple key" and error.context_mark is not None:
            return self._whole(self._line_of(error.context_mark))  # a key without its colon
        if error.problem not in ("did not find expected key", "did not find expected <document start>"):
            return seen
        # Something ended too early: a line further in than its neighbours, before the one where it is noticed.
        lines = [at for at in range(1, seen.line) if self._says(at)]
        if not lines or not self._says(seen.line):
            return seen
        last, here = lines[-1], self._indent(seen.line)
        if self._indent(last) <= here or (len(lines) > 1 and self._indent(lines[-2]) > here):
            return seen
        above = self.source.line(lines[-2]).split(" #")[0].rstrip() if len(lines) > 1 else ""
        # The first of its section: the odd one is that which the next line is unlike.
        is_other = above.endswith((":", "-")) and self._indent(self._next_after(seen.line)) != here
        return seen if is_other else self._whole(last)

    def _next_after(self, line: int) -> int:
        """Next line with content; the line itself if there is none."""
        return next((at for at in range(line + 1, self.source.line_count + 1) if self._says(at)), line)

    def _says(self, line: int) -> bool:
        """True if a line has content besides a comment."""
        return bool(self.source.line(line).split("#")[0].strip())

    def _indent(self, line: int) -> int:
        text = self.source.line(line)
        return len(text) - len(text.lstrip(" "))

    def _line_of(self, mark: Any) -> int:
        return self._mark_span(mark, mark).line

    def _whole(self, line: int) -> Span:
        """Span of a line without its indent."""
        return Span(line, self._indent(line) + 1, line, len(self.source.line(line)) + 1)

    def _refuse_character(self, index: int) -> NoReturn:
        at = min(max(index, 0), max(len(self.source.text) - 1, 0))
        bad = next((i for i, c in enumerate(self.source.text) if not _is_printable(c)), at)
        character = f"U+{ord(self.source.text[bad]):04X}" if self.source.text else "?"
        self._refuse(say.not_printable(character=character), self.source.span(bad, bad + 1))


class _Special:
    """A plain `<<` or `=`, which has a meaning as a key and none as a value."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


_LONGEST_NUMBER = 300
_NUMBER_STARTS = frozenset("+-.0123456789")
_NUMBER_CHARACTERS = frozenset("0123456789_.+-:eE xXabcdfABCDF infINF naNA tTzZ\t")
"""What a number, an infinity, not-a-number or a date of YAML 1.1 is written with."""


def _usual_number(text: str) -> type[int | float | str] | None:
    """Type of common number texts; None if PyYAML's patterns must decide."""
    number = text[1:] if text[0] in "+-" else text
    if number.isdigit() and (number[0] != "0" or number == "0"):
        return int
    mantissa, marked, exponent = number.lower().partition("e")
    whole, dot, part = mantissa.partition(".")
    if not whole.isdigit() or (part and not part.isdigit()):
        return None
    signed = exponent[:1] in ("+", "-")
    if dot and (not marked or (signed and exponent[1:].isdigit())):
        return float
    return str if marked and (exponent[1:] if signed else exponent).isdigit() else None


def _is_printable(character: str) -> bool:
    """True if YAML permits a character."""
    point = ord(character)
    return (
        character in "\t\n\r\x85"
        or 0x20 <= point <= 0x7E
        or 0xA0 <= point <= 0xD7FF
        or (0xE000 <= point <= 0x10FFFF and point not in (0xFFFE, 0xFFFF))
    )


def _as_yaml_float(text: str) -> str:
    """Number in a form that YAML 1.1 reads as a float."""
    mantissa, _, exponent = text.replace("E", "e").partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    elif mantissa.startswith("."):
        mantissa = "0" + mantissa
    return f"{mantissa}e{exponent if exponent[:1] in ('-', '+') else '+' + exponent}"


def _short_excerpt(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _shown_tag(tag: str) -> str:
    return "!!" + tag[len(_TAG) :] if tag.startswith(_TAG) else tag
