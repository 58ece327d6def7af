"""Hover texts, completions and the partner's place for the word under the cursor; the partner's values of a file.

Lines and columns count from 1 in characters, as everywhere in accmap.
"""

from __future__ import annotations

import re

from ...mapper.differences import difference_of
from ...mapper.recipe.vocabulary import COMPUTED
from ...rules.naming import describe_origin, display_value, labels
from ...rules.places import places_of
from ...schemas.border.text_output import markdown, markdown_code
from ...schemas.config import explicit_of
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.catalog import DEFAULT_VERSION
from ...schemas.megatron.forks import catalog, fork_of
from ...schemas.mindformers.versions import DEFAULT_STATIC
from ..linting.file_search import YAMLS
from ..messages_compiled import say
from ..reference.key_explanation import explain_key
from ..reference.key_search import dynamic_defaults, static_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...mappings.names_compiled import FieldName
    from ...rules.subject import Side, Subject
    from ...schemas.config import Config
    from ...schemas.diagnostic import Language
    from ...schemas.megatron.catalog import ArgumentFact
    from ...schemas.source import SourceText, Span
    from ...schemas.yaml_reader.node import Node
    from .open_files import OpenFiles

_WORD = re.compile(r"--[A-Za-z][\w-]*|\b[A-Z][A-Z0-9_]{3,}\b")
"""What a script may be asked about: a flag, or a variable of the environment."""
_FLAG_BEGUN = re.compile(r"(?<![\w-])--[\w-]*$")
_VALUE_BEGUN = re.compile(r"(?<![\w-])(--[A-Za-z][\w-]*)(?:=|[ \t]+)([\w.-]*)$")
_KEY_BEGUN = re.compile(r"^([ ]*)([A-Za-z_]\w*|)$")
_KEY = re.compile(r"^([ ]*)([A-Za-z_]\w*):(?:[ \t]*(?:&\w+[ \t]*)?(?:#.*)?)$")
_MOST_FIELDS = 3


class Choice(NamedTuple):
    """A word that may be written, in place of the `begun` characters before the cursor."""

    text: str
    begun: int
    detail: str
    asked: str | None = None
    """What `word_text` explains."""


def hover_text(
    files: OpenFiles, path: str, line: int, column: int, language: Language
) -> tuple[str, Span | None] | None:
    """Hover text of a place, as Markdown: its value on both sides, and its explanation from the tables."""
    source, seen = files.source(path), files.side_of(path)
    if source is None or line > source.line_count:
        return None
    if seen is None:
        name, span, values = _word_at(source.line(line), column), None, ""
    else:
        side, subject = seen
        key, span = _key_at(side, line, column)
        name = key if side.framework == "mindformers" else _word_at(source.line(line), column)
        values = "" if key is None else _values(side, subject, key, language)
        if not name and key is not None:  # the value of a flag
            setting = side.setting(key)
            name = None if setting is None else setting.flag
    found = None if name is None else word_text(name, language)
    told = "\n\n".join(filter(None, (values, found)))
    return (told, span) if told else None


class PartnerValue(NamedTuple):
    """The partner's value of a setting, shown behind the setting."""

    line: int
    column: int
    label: str
    explanation: str
    """Both values with their origins, as Markdown."""


def partner_place(files: OpenFiles, path: str, line: int, column: int) -> tuple[str, Span] | None:
    """The place in the partner that decides the setting under the cursor, or where the partner would set it."""
    seen = files.side_of(path)
    if seen is None:
        return None
    side, subject = seen
    key, _ = _key_at(side, line, column)
    for name in () if key is None else _fields_of(side, key):
        for partner in _partners(side, subject):
            if partner.field(name) is not None:
                span = places_of(partner).field_span(name)
                return span.file or partner.config.file, span
    return None


def partner_values(files: OpenFiles, path: str, first: int, last: int, language: Language) -> list[PartnerValue]:
    """The partner's value of every setting that ends on some lines of a file: `= 512` or `≠ 640`."""
    seen = files.side_of(path)
    if seen is None:
        return []
    side, subject = seen
    values: list[PartnerValue] = []
    for setting in explicit_of(side.config.settings):
        span = setting.span
        if span is None or span.file is not None or not first <= span.end_line <= last:
            continue
        key = setting.key
        labels = [label for name in _fields_of(side, key) if (label := _partner_label(side, subject, key, name))]
        if labels:
            explanation = _values(side, subject, key, language)
            values.append(PartnerValue(span.end_line, span.end_column, ", ".join(labels), explanation))
    return values


def _partner_label(side: Side, subject: Subject, key: str, name: FieldName) -> str | None:
    """The partner's value of a field, at the key that decides it most; None if either side does not decide it."""
    spot = places_of(side).main_spot(name)
    for partner in _partners(side, subject) if spot is not None and spot.key == key else ():
        row = difference_of(name, side.recipe, partner.recipe)
        if row is not None and row.b is not None and row.status in _MARKS:
            return f"{_MARKS[row.status]} {display_value(row.b.value)}"
    return None


_MARKS = {"equal": "=", "different": "≠"}


def _partners(side: Side, subject: Subject) -> Iterator[Side]:
    return (other for other in subject.sides if other is not side)


def word_text(name: str, language: Language) -> str | None:
    """Explanation of a flag or a key from the tables, as Markdown."""
    return explain_key(name, language, "markdown")


def completions(files: OpenFiles, path: str, line: int, column: int) -> list[Choice]:
    """Completions at a place: flags, values of one, or keys of the section."""
    source, config = files.source(path), files.last_read(path)
    if source is None or line > source.line_count:
        return []
    before = source.line(line)[: column - 1]
    framework = "mindformers" if path.endswith(YAMLS) else "megatron"
    if config is not None and config.framework != framework:
        return []  # a script that launches MindSpore Transformers, a YAML of Megatron-LM's arguments
    if framework == "mindformers":
        return list(_keys(source, config, line, before))
    return list(_flags(config, before))


def _word_at(text: str, column: int) -> str | None:
    at = column - 1
    return next((one.group() for one in _WORD.finditer(text) if one.start() <= at < one.end()), None)


def _key_at(side: Side, line: int, column: int) -> tuple[str | None, Span | None]:
    """The key whose name or value stands at a place of the file itself."""
    document = side.config.document
    found = None if document is None else _node_at("", document.root, line, column)
    if found is not None:
        return found
    for setting in explicit_of(side.config.settings):
        if setting.span is not None and setting.span.file is None and _holds(setting.span, line, column):
            return setting.key, setting.span
    return None, None


def _node_at(path: str, node: Node | None, line: int, column: int) -> tuple[str, Span] | None:
    """The path and span of the YAML key under the cursor, searched below a node; None if there is none."""
    for key, below in () if node is None else node.items.items():
        place = f"{path}.{key}" if path else str(key)
        if below.key_span is not None and _holds(below.key_span, line, column):
            return place, below.key_span
        found = _node_at(place, below, line, column)
        if found is not None:
            return found
    for number, below in enumerate(() if node is None else node.entries):
        found = _node_at(f"{path}[{number}]", below, line, column)
        if found is not None:
            return found
    return None


def _holds(span: Span, line: int, column: int) -> bool:
    """True if a position lies within a span."""
    return (span.line, span.column) <= (line, column) < (span.end_line, span.end_column)


def _values(side: Side, subject: Subject, key: str, language: Language) -> str:
    """Fields of the recipe that a key decides, on each side."""
    told: list[str] = []
    for name in _fields_of(side, key):
        label = labels(name).text(language)
        told.append(f"**{markdown(label)}** ({markdown_code(str(name))})\n")
        told += [f"- {_value(one, name, language)}" for one in subject.sides]
        told.append("")
    return "\n".join(told).rstrip()


def _fields_of(side: Side, key: str) -> list[FieldName]:
    read = side.recipe.fields.items()
    fields: list[FieldName] = [name for name, one in read if key in one.keys and not name.startswith(COMPUTED)]
    return fields[:_MOST_FIELDS]


def _value(side: Side, name: FieldName, language: Language) -> str:
    """A line with the value of a field on one side and its origin, for hover text."""
    field = side.field(name)
    framework = "Megatron-LM" if side.framework == "megatron" else "MindSpore Transformers"
    if field is None:
        return f"{framework}: {say.lsp_has_no_such_setting().text(language)}"
    if not field.decided:
        return f"{framework}: {say.lsp_cannot_be_known().text(language)}"
    origin = describe_origin(side, name, places_of(side).spots(name)).text(language)
    return f"{framework}: {markdown_code(display_value(field.value))} ({markdown(origin)})"


def _flags(config: Config | None, before: str) -> Iterator[Choice]:
    """Completions at the cursor in a script: flags of Megatron-LM, or the choices of the flag before it."""
    known = catalog(DEFAULT_VERSION) if config is None else catalog(config.framework_version, fork_of(config))
    value = _VALUE_BEGUN.search(before)
    if value is not None:
        fact = known.by_option.get(value[1])
        if fact is not None:
            yield from [Choice(str(choice), len(value[2]), _argument_detail(fact)) for choice in fact.choices or ()]
        return
    begun = _FLAG_BEGUN.search(before)
    if begun is not None:
        for option, fact in known.by_option.items():
            if option.startswith("--"):
                yield Choice(option, len(begun[0]), _argument_detail(fact), option)


def _argument_detail(fact: ArgumentFact) -> str:
    if fact.action != "store":
        return ""
    default = "" if fact.default is None else f" = {display_value(fact.default)}"
    return f"{fact.type or 'str'}{default}"


def _keys(source: SourceText, config: Config | None, line: int, before: str) -> Iterator[Choice]:
    """Completions at the cursor in a YAML: keys of the section that are not there yet."""
    begun = _KEY_BEGUN.match(before)
    if begun is None:
        return
    section = _section(source, line, len(begun[1]))
    if section is None:
        return
    prefix = f"{section}." if section else ""
    names = dict.fromkeys(
        [path[len(prefix) :].partition(".")[0] for path in _known_keys(config) if path.startswith(prefix)]
    )
    document = None if config is None else config.document
    node = None if document is None else document.find(section) if section else document.root
    for name in names:
        if node is None or name not in node.items:
            yield Choice(name, len(begun[2]), "", f"{prefix}{name}")


def _known_keys(config: Config | None) -> Iterable[str]:
    if config is None:
        return static_keys(DEFAULT_STATIC)
    return (dynamic_defaults if config.dialect == "dynamic" else static_keys)(config.framework_version)


def _section(source: SourceText, line: int, indent: int) -> str | None:
    """The section in which a line of some indentation stands; None within a list, or where that cannot be told."""
    path: list[str] = []
    for number in range(line - 1, 0, -1):
        if indent == 0:
            break
        text = source.line(number)
        own = len(text) - len(text.lstrip(" "))
        if not text.strip() or text.lstrip().startswith("#") or own >= indent:
            continue
        key = _KEY.match(text)
        if key is None:
            return None
        path.append(key[2])
        indent = own
    return ".".join(reversed(path))
