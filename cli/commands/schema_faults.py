"""Faults of a value against its schema, with their places: jsonschema finds them, this module words them.

A framework's own file is checked by its typed model, which is open where the framework takes further keys. A key that
the model does not know is a fault if the reader says that nothing uses it; so this agrees with `lint`, which has the
same reader.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

from jsonschema import Draft202012Validator

from ...schemas.fast_records import NamedTuple
from ...schemas.message import Words, in_chinese
from ...schemas.plain_values import is_list, is_mapping, number_in
from ...schemas.shared_words import join_words
from ...schemas.source import Span
from ...schemas.suggestion import closest, suggestion
from ..messages_compiled import say
from ..terminal import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from jsonschema import ValidationError

    from ...schemas.config import Config, Setting
    from ...schemas.source import SourceText
    from ...schemas.yaml_reader.document import YamlDocument

    Path = tuple[str | int, ...]


class Place(NamedTuple):
    """Spans of an entry: of its key, if it has one, and of its value."""

    key: Span | None
    value: Span


def nearest(path: Path, place: Callable[[Path], Place | None], *, of_key: bool) -> Span | None:
    """The place of the element a path names; if it has none, the place of the closest element around it."""
    for size in range(len(path), 0, -1):
        found = place(path[:size])
        if found is not None:
            return found.key if of_key and size == len(path) and found.key is not None else found.value
    return None


def yaml_place(document: YamlDocument, path: Path) -> Place | None:
    """The place of the element that a path names in a YAML file; None if there is none."""
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
        """The offset behind the JSON value that begins at an offset."""
        return self._decoder.raw_decode(self._source.text, at)[1]

    def _skip_space(self, at: int) -> int:
        found = _SPACE.match(self._source.text, at)
        return at if found is None else found.end()


_TOML_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_TOML_KEYS = rf"{_TOML_NAME}(?:\s*\.\s*{_TOML_NAME})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_TOML_KEYS})\s*\]")
_PAIR = re.compile(rf"\s*({_TOML_KEYS})\s*=\s*")
_TOML_TEXT = re.compile(r'"""|\'\'\'')


def toml_places(source: SourceText, inside: Path = ()) -> Mapping[tuple[str | int, ...], Place]:
    """Places of the tables and keys in a TOML text, by path; found by lines, since the parser keeps none.

    `inside` is the table that counts as the whole: `tool.accmap` of a `pyproject.toml`.
    """
    places: dict[tuple[str | int, ...], Place] = {}
    table: tuple[str | int, ...] = ()
    counts: dict[tuple[str | int, ...], int] = {}
    quoted = False
    for number in range(1, source.line_count + 1):
        line = source.line(number)
        was_quoted, quoted = quoted, quoted ^ (len(_TOML_TEXT.findall(line)) % 2 == 1)
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
    return tuple(part.strip("\"'") for part in re.findall(_TOML_NAME, text))


_SAID = frozenset(
    (
        "type", "enum", "const", "required", "additionalProperties", "minimum", "maximum", "minItems", "maxItems",
        "pattern", "anyOf", "oneOf",
    )
)  # fmt: skip
"""Keywords of a schema that have a sentence of their own."""
_KINDS = {
    "array": say.kind_array, "boolean": say.kind_boolean, "integer": say.kind_integer, "null": say.kind_null,
    "number": say.kind_number, "object": say.kind_object, "string": say.kind_string,
}  # fmt: skip
_LONGEST = 60
_MOST_WORDS = 30


class Fault(NamedTuple):
    """One thing that does not fit: where, by which keyword of the schema, and the sentence in both languages."""

    path: tuple[str | int, ...]
    keyword: str
    en: str
    zh: str
    span: Span | None = None

    @property
    def key(self) -> str:
        """The path as it is written: `pairs[0].steps`."""
        return dotted_path(self.path)

    @property
    def is_about_key(self) -> bool:
        """True if the key itself, and not its value, is what does not fit."""
        return self.keyword == "additionalProperties"


def faults(value: object, schema: Mapping[str, Any]) -> list[Fault]:
    """All faults of a value against a JSON schema, in the order of their paths."""
    found: dict[Fault, None] = {}
    validator: Any = Draft202012Validator(schema)
    for error in validator.iter_errors(value):
        found.update(dict.fromkeys(fault for cause in _causes(error) for fault in _faults_of(cause)))
    return sorted(found, key=lambda fault: [(isinstance(step, str), str(step).rjust(9)) for step in fault.path])


def dotted_path(path: Iterable[str | int]) -> str:
    """A path as people write it."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def _causes(error: ValidationError) -> Iterator[ValidationError]:
    """The errors to show: of alternatives that all failed, those inside the alternative that fits best."""
    if not error.context or _asks_for_keys(error.validator_value):
        yield error
        return
    branches: dict[object, list[ValidationError]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    nearest = min(branches.values(), key=_error_distance)
    if all(_is_of_kind(inner) for inner in nearest) or len(_other_classes(error)) == len(branches):
        yield error  # no alternative is of the value's kind, or of its class
        return
    for inner in nearest:
        yield from _causes(inner)


def _asks_for_keys(limit: Any) -> bool:
    """True for alternatives that only name the keys which must be there."""
    return all(choice.keys() == {"required"} for choice in limit)


def _other_classes(error: ValidationError) -> list[ValidationError]:
    """Errors of alternatives that are told apart by one key, if its value selects none of them; else empty."""
    named = [inner for inner in error.context or () if inner.validator == "const"]
    return named if len({tuple(inner.absolute_path) for inner in named}) == 1 else []


def _error_distance(errors: Sequence[ValidationError]) -> tuple[bool, bool, int]:
    other_kind = any(_is_of_kind(error) for error in errors)
    other_class = any(error.validator in ("const", "enum", "not") for error in errors)
    return other_kind, other_class, len(errors)


def _is_of_kind(error: ValidationError) -> bool:
    return error.validator == "type" and not error.relative_path


def _faults_of(error: ValidationError) -> Iterator[Fault]:
    """The faults behind one error of the JSON schema library, in accmap's own words."""
    path = tuple(error.absolute_path)
    keyword = str(error.validator)
    limit: Any = error.validator_value
    if keyword == "required":
        instance: Mapping[str, Any] = error.instance  # type: ignore[assignment]
        name = next(name for name in limit if name not in instance)
        yield _fault_with_words(path, keyword, path, name=name)
    elif keyword == "additionalProperties" and limit is False:
        yield from _unknown_keys(error, path)
    elif keyword in ("anyOf", "oneOf") and (fault := _fault_of_choices(error, path)) is not None:
        yield fault
    elif keyword == "type":
        yield _kind_fault(path, error.instance, cast("list[Any]", limit) if isinstance(limit, list) else [limit])
    elif keyword == "enum":
        yield _fault_with_words(
            path, keyword, path, value=_short_json(error.instance), limit=_words(error.instance, limit)
        )
    else:
        yield _fault_with_words(path, keyword, path, value=_short_json(error.instance), limit=_short_json(limit))


def _fault_of_choices(error: ValidationError, path: tuple[str | int, ...]) -> Fault | None:
    """One fault for a value that fits no alternative: the allowed kinds, words or keys; None if it is another case."""
    limit: Any = error.validator_value
    if _asks_for_keys(limit):
        listed = ", ".join(" + ".join(choice["required"]) for choice in limit)
        return _fault_with_words(path, str(error.validator), path, limit=listed)
    if classes := _other_classes(error):
        path = tuple(classes[0].absolute_path)
        words = _words(classes[0].instance, sorted((str(one.validator_value) for one in classes), key=str.lower))
        return _fault_with_words(path, "enum", path, value=_short_json(classes[0].instance), limit=words)
    if error.context:
        return _kind_fault(
            path, error.instance, [inner.validator_value for inner in error.context if _is_of_kind(inner)]
        )
    return None


def _unknown_keys(error: ValidationError, path: tuple[str | int, ...]) -> Iterator[Fault]:
    """A fault for each key that the schema does not have, with a similar key or the list of known ones."""
    schema: Mapping[str, Any] = error.schema  # type: ignore[assignment]
    known: Mapping[str, Any] = schema.get("properties", {})
    instance: Mapping[str, Any] = error.instance  # type: ignore[assignment]
    for name in instance:
        if name not in known:
            hint = suggestion(name, known) or say.the_keys_are(listed=", ".join(known))
            yield _fault_with_words((*path, name), "additionalProperties", path, name=_short_json(name), hint=hint)


def unknown_key(path: tuple[str | int, ...], owner: tuple[str | int, ...], name: str, known: Iterable[str]) -> Fault:
    """The fault of a key that its owner takes and does not use, with the key that was probably meant."""
    return _fault_with_words(path, "additionalProperties", owner, name=_short_json(name), hint=suggestion(name, known))


def _kind_fault(path: tuple[str | int, ...], value: object, kinds: Iterable[Any]) -> Fault:
    """The fault of a value of the wrong type; a number in quotes gets the hint to write it without them."""
    chosen = tuple(map(str, dict.fromkeys(kinds)))
    names = [_KINDS[kind]() if kind in _KINDS else kind for kind in chosen]
    hint: Words | str = ""
    if isinstance(value, str) and not {"number", "integer"}.isdisjoint(chosen):
        number = number_in(value)
        if number is not None and isfinite(number) and ("number" in chosen or number.is_integer()):
            hint = say.write_this_number(value=int(number) if "number" not in chosen else number)
    return _fault_with_words(path, "type", path, value=_short_json(value), limit=join_words(names, "either"), hint=hint)


def _fault_with_words(path: tuple[str | int, ...], keyword: str, named: tuple[str | int, ...], **said: str) -> Fault:
    chinese = {name: in_chinese(one) for name, one in said.items()}
    return Fault(
        path, keyword, _fault_sentence("en", keyword, named, said), _fault_sentence("zh", keyword, named, chinese)
    )


def _fault_sentence(language: str, keyword: str, named: tuple[str | int, ...], said: Mapping[str, str]) -> str:
    """The sentence of a fault in one language, from the texts of its keyword and the path it is about."""
    word: Callable[..., str] = say.page("fault", language)
    key = dotted_path(named) or word("whole")
    return word(keyword if keyword in _SAID else "other", key=key, keyword=keyword, **said)


def _words(value: object, limit: Sequence[object]) -> str:
    """The allowed values as a list in words; a long list is cut to those similar to the given value."""
    words = [_short_json(word) for word in limit]
    if len(words) <= _MOST_WORDS:
        return ", ".join(words)
    near = closest(str(value), map(str, limit))
    return ", ".join([_short_json(near)] * (near is not None) + words[:5]) + ", …"


def _short_json(value: object) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, default=str), _LONGEST)


class FrameworkCheck(NamedTuple):
    """The faults of a framework's file, and the place of each entry that a path names."""

    kind: str
    faults: Sequence[Fault]
    place: Callable[[Path], Place | None]


def check_mindformers(
    config: Config, schema: Mapping[str, Any], value: Any, place: Callable[[Path], Place | None]
) -> FrameworkCheck:
    """The faults of a YAML's value, by the model of the dialect and version that the reader found."""
    spans = [problem.span for problem in config.problems if problem.span is not None]

    def is_reported(fault: Fault) -> bool:
        span = nearest(fault.path, place, of_key=fault.is_about_key)
        return any(_begin_together(one, span) for one in spans)

    # A class of its own program's, and a key that a legacy class carries along, are no mistakes.
    found = [fault for fault in faults(value, schema) if fault.keyword not in ("const", "enum") or is_reported(fault)]
    reported = {fault.path for fault in found}
    unused = _unused_keys(value, schema, schema, config.settings, ())
    unknown = (fault for fault in unused if fault.path not in reported and is_reported(fault))
    return FrameworkCheck("mindformers", [*found, *unknown], place)


def check_megatron(config: Config, schema: Mapping[str, Any]) -> FrameworkCheck:
    """The faults of a launch's arguments, by the model of the version that the reader found."""
    known: Mapping[str, Any] = schema["properties"]
    flags = [f"--{key.replace('_', '-')}" for key in known]
    spans = [problem.span for problem in config.problems if problem.span is not None]
    written = _written_settings(config)
    # What the parser takes has a value; a fork's parser takes more than Megatron-LM's.
    refused = {
        key: setting.raw
        for key, setting in written.items()
        if not setting.decided and key in known and any(_is_behind(span, setting.span) for span in spans)
    }
    values = {key: raw[0] if len(raw) == 1 else list(raw) for key, raw in refused.items() if raw}
    unknown = (
        unknown_key((key,), (), setting.flag or key, flags)
        for key, setting in written.items()
        if setting.acceptance == "unknown" and any(_begin_together(span, setting.span) for span in spans)
    )

    def place(path: Path) -> Place | None:
        setting = written.get(str(path[0]))
        if setting is None or setting.span is None:
            return None
        return Place(setting.span, next((span for span in spans if _is_behind(span, setting.span)), setting.span))

    return FrameworkCheck("megatron", [*faults(values, schema), *unknown], place)


def _written_settings(config: Config) -> dict[str, Setting]:
    """The arguments that the launch itself has, with all of their words read."""
    unread = {word.text for word in config.unresolved}
    return {
        key: setting
        for key, setting in config.settings.items()
        if setting.origin == "explicit" and setting.raw and unread.isdisjoint(setting.raw)
    }


def _is_behind(span: Span, whole: Span | None) -> bool:
    """True for a part of a span that does not begin with it: the value behind a flag."""
    if whole is None or (span.end_line, span.end_column) > (whole.end_line, whole.end_column):
        return False
    return (span.line, span.column) > (whole.line, whole.column)


def _begin_together(span: Span, other: Span | None) -> bool:
    return other is not None and (span.line, span.column) == (other.line, other.column)


def _unused_keys(
    value: Any, schema: Mapping[str, Any], whole: Mapping[str, Any], settings: Mapping[str, Setting], path: Path
) -> Iterator[Fault]:
    """Keys that nothing uses, the outermost ones, each with the key of the model that was probably meant."""
    if is_list(value):
        for number, entry in enumerate(value):
            yield from _unused_keys(entry, {}, whole, settings, (*path, number))
    if not is_mapping(value):
        return
    known = dict(_members(schema, whole, value))
    for key, entry in value.items():
        if known and _is_unused((*path, key), settings):
            yield unknown_key((*path, key), path, str(key), [name for name in known if name != key])
        else:
            yield from _unused_keys(entry, known.get(key, {}), whole, settings, (*path, key))


def _is_unused(path: Path, settings: Mapping[str, Setting]) -> bool:
    """True if the reader says of a key, or of all below it, that nothing uses it."""
    name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
    below = [one for key, one in settings.items() if key == name or key.startswith((f"{name}.", f"{name}["))]
    return bool(below) and all(one.acceptance in ("ignored", "unknown") for one in below)


def _members(
    schema: Mapping[str, Any], whole: Mapping[str, Any], value: Mapping[Any, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The keys, each with its schema, that a mapping may have, with those of the alternative that its type selects."""
    if "$ref" in schema:
        schema = whole["$defs"][str(schema["$ref"]).rpartition("/")[2]]
    yield from schema.get("properties", {}).items()
    discriminator = schema.get("discriminator")
    if discriminator is not None:
        chosen = discriminator["mapping"].get(value.get(discriminator["propertyName"]))
        branches = [] if chosen is None else [{"$ref": chosen}]
    else:
        branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
        named = [branch for branch in branches if "discriminator" in branch and any(_members(branch, whole, value))]
        branches = named or branches
    for branch in branches:
        yield from _members(branch, whole, value)
