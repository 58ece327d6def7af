"""`accmap schema NAME`: the JSON Schema of what accmap reads and answers; `--check FILE` holds a file to it."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ...schemas.border.text_output import emit, json_text, page
from ...schemas.config import ReadOptions
from ...schemas.fast_records import NamedTuple
from ...schemas.file_kind import is_mindformers
from ...schemas.mindformers.versions import static_version
from ...schemas.plain_values import is_mapping
from ...schemas.reader import config_of
from ...schemas.shared_words import mark
from ...schemas.yaml_reader.document import read_yaml
from ..answers_compiled import schema_check_json
from ..argument_parser import UsageError
from ..configuration import find_configuration, read_configuration, toml_table
from ..exit_codes import BAD, FINE
from ..inputs import read_input
from ..messages_compiled import say
from ..schemas_compiled import SCHEMAS
from .schema_faults import (
    Fault,
    FrameworkCheck,
    JsonPlaces,
    check_megatron,
    check_mindformers,
    faults,
    nearest,
    toml_places,
    yaml_place,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...schemas.diagnostic import Language
    from ...schemas.mindformers.models import Dialect
    from ...schemas.source import SourceText, Span
    from ..arguments_compiled import SchemaArgs
    from .schema_faults import Path, Place

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
NAMES = tuple(sorted((*SCHEMAS, "megatron", "mindformers", "recipe")))


def schema_of(
    name: str, megatron: str | None = None, mindformers: str | None = None, dialect: str | None = None
) -> dict[str, Any]:
    """A schema by its name; those of a framework's own arguments and keys are of one version."""
    if name in SCHEMAS:
        return SCHEMAS[name]
    if name == "recipe":
        from ...mapper.recipe.vocabulary import json_schema

        return json_schema()
    if name == "megatron":
        from ...schemas.megatron.catalog import DEFAULT_VERSION
        from ...schemas.megatron.models import model as megatron_model

        found = megatron_model(megatron or DEFAULT_VERSION)
    elif name == "mindformers":
        from ...schemas.mindformers.models import model as mindformers_model
        from ...schemas.versions import default_name

        usual = default_name("mindformers", "dynamic" if dialect == "dynamic" else "static")
        found = mindformers_model(cast("Dialect", dialect or "static"), mindformers or usual)
    else:
        listed = ", ".join(NAMES)
        raise UsageError(say.there_is_no_schema_the(name=name, listed=listed))
    return {"$schema": _DRAFT, **found.model_json_schema()}


_TOML = ("accmap.toml", "pyproject.toml")
_TABLES = {"rows": "table", "stops": "stops", "fields": "transformer-config", "reasons": "unmapped"}
"""The first key of a table under `mappings/`, and what it is a table of."""
_NOT_ANSWERS = ("config", "stops", "table", "transformer-config", "unmapped")


class Checked(NamedTuple):
    """The answer."""

    file: str
    kind: str
    fits: bool
    faults: Sequence[Fault]


class _Read(NamedTuple):
    """A file's value, and what knows the places in it."""

    value: Any
    place: Callable[[Path], Place | None]


def check_file(
    name: str,
    kind: str | None,
    stdin_name: str | None,
    versions: tuple[str | None, str | None, str | None],
    *,
    as_json: bool,
    language: Language,
) -> int:
    """Say what does not fit; 1 where there is something. `kind` is the schema's name, else the file says it."""
    if kind is not None and kind not in NAMES:
        schema_of(kind)  # raises, with the names that there are
    source = read_input(name, stdin_name)
    kind, found, place = _check_framework(source, kind, versions, name) or _check_schema(source, kind, versions)
    placed = [(nearest(fault.path, place, of_key=fault.is_about_key), fault) for fault in found]
    placed.sort(key=lambda entry: (0, 0) if entry[0] is None else entry[0][:2])
    places, found = [place for place, _ in placed], [fault for _, fault in placed]
    if as_json:
        told = [fault._replace(span=place) for fault, place in zip(found, places, strict=True)]
        emit(json_text(schema_check_json(Checked(source.name, kind, not found, told), language)))
    else:
        emit(page(_fault_lines(source.name, kind, found, places, language)))
    return BAD if found else FINE


def _check_framework(
    source: SourceText, kind: str | None, versions: tuple[str | None, str | None, str | None], path: str
) -> FrameworkCheck | None:
    """The check of a framework's own file, in its dialect and version; None for a file of another kind."""
    options = ReadOptions(megatron=versions[0], mindformers=versions[1], dialect=versions[2])
    if kind in (None, "mindformers") and _is_yaml(source):
        document = read_yaml(source)
        if is_mapping(document.value) and is_mindformers(document.value):
            config = config_of(source, options, path=path)
            # A tree of a version without facts is read by those of the nearest one.
            version = config.framework_version
            version = version if config.dialect == "dynamic" else static_version(version)
            schema = schema_of("mindformers", mindformers=version, dialect=config.dialect)
            return check_mindformers(config, schema, document.value, partial(yaml_place, document))
    if kind in (None, "megatron") and not (_is_toml(source, kind) or _is_yaml(source) or _is_json(source)):
        config = config_of(source, options, path=path)
        if config.framework == "megatron":
            return check_megatron(config, schema_of("megatron", megatron=config.framework_version))
    return None


def _check_schema(
    source: SourceText, kind: str | None, versions: tuple[str | None, str | None, str | None]
) -> FrameworkCheck:
    """The check of any other file by one schema."""
    read = _read_content(source, kind)
    kind = kind or _kind_of(source.name, read.value)
    found = faults(read.value, schema_of(kind, *versions))
    if kind == "config" and not found:
        found = _meanings(source)
    return FrameworkCheck(kind, found, read.place)


def _is_toml(source: SourceText, kind: str | None) -> bool:
    ending = _file_extension(source)
    return ending == ".toml" or (kind == "config" and ending not in (".json", ".yaml", ".yml"))


def _is_yaml(source: SourceText) -> bool:
    return _file_extension(source) in (".yaml", ".yml")


def _is_json(source: SourceText) -> bool:
    return _file_extension(source) == ".json" or (not _is_yaml(source) and source.text.lstrip()[:1] in "{[")


def _file_extension(source: SourceText) -> str:
    return os.path.splitext(source.name)[1].lower()


def _read_content(source: SourceText, kind: str | None) -> _Read:
    """The parsed content of a TOML, JSON or YAML file, with a function from a path in it to its place in the text."""
    if _is_toml(source, kind):
        inside = ("tool", "accmap") if os.path.basename(source.name) == "pyproject.toml" else ()
        return _Read(toml_table(source.name, source.text), toml_places(source, inside).get)
    if _is_json(source):
        return _Read(_json_content(source), JsonPlaces(source))
    document = read_yaml(source)
    return _Read(document.value, partial(yaml_place, document))


def _json_content(source: SourceText) -> Any:
    """The parsed JSON; UsageError with line and column if it is not valid."""
    try:
        return json.loads(source.text)
    except json.JSONDecodeError as error:
        place = f"{source.name}:{error.lineno}:{error.colno}"
        raise UsageError(say.not_valid_json(place=place, msg=error.msg)) from None
    except (RecursionError, ValueError) as error:
        raise UsageError(say.is_no_json_to_read(name=source.name, error=error)) from None


def _kind_of(name: str, value: Any) -> str:
    """Name of the schema that a file belongs to, by its name or its keys."""
    found = "config" if os.path.basename(name) in _TOML or name.endswith(".toml") else None
    if isinstance(value, dict):
        keys = cast("dict[str, Any]", value).keys()
        found = found or next(
            (table for key, table in _TABLES.items() if key in keys and keys <= _keys_of(table)), None
        )
        found = found or _answer_of(keys)
    elif isinstance(value, list):
        found = "rules"
    if found is None:
        listed = ", ".join(NAMES)
        raise UsageError(say.does_not_say_what_it(name=name, listed=listed))
    return found


def _keys_of(kind: str) -> set[str]:
    return set(SCHEMAS[kind].get("properties", ()))


def _answer_of(keys: Any) -> str | None:
    """The schema of an answer or a baseline that shares the most keys with the file; None if none does."""
    scores: dict[str, tuple[bool, int]] = {}
    for kind in (*SCHEMAS, "recipe"):
        required = set(schema_of(kind).get("required", ())) if kind not in _NOT_ANSWERS else set[str]()
        if required and len(required & keys) * 2 > len(required):
            known = set(schema_of(kind)["properties"])
            scores[kind] = required <= keys, len(known & keys) - len(required - keys) - len(keys - known)
    return max(scores, key=scores.__getitem__) if scores else None


def _meanings(source: SourceText) -> list[Fault]:
    """Faults in a valid `accmap.toml` that a schema cannot see: unknown codes, an `extend` without a file."""
    try:
        find_configuration(
            "", lambda path: source.text if path == source.name else read_configuration(path), source.name
        )
    except UsageError as error:
        en = error.en.removeprefix(f"{source.name}: ")
        key = en.partition(":")[0]
        return [
            Fault(
                (key,) if key.isidentifier() else (),
                "meaning",
                en,
                error.zh.removeprefix(source.name + mark("colon", "zh")),
            )
        ]
    return []


def _fault_lines(
    name: str, kind: str, found: Sequence[Fault], places: Sequence[Span | None], language: Language
) -> list[str]:
    """A line for each fault with its place, then a line that counts them; one line alone if the file fits."""
    chinese, word = language == "zh", say.page("schema_check", language)
    lines = [
        f"{name}{'' if place is None else f':{place.line}:{place.column}'}{mark('colon', language)}"
        f"{fault.zh if chinese else fault.en}"
        for fault, place in zip(found, places, strict=True)
    ]
    if not found:
        return [word("fits", name=name, kind=kind)]
    return [*lines, word("several" if len(found) > 1 else "one", name=name, count=len(found), kind=kind)]


def run(args: SchemaArgs) -> int:
    """Print one schema, or the names where none is given; with `check`, what in a file is not as its schema says."""
    _require_versions(args.megatron, args.mindformers)
    if args.check is not None:
        if args.files:
            raise UsageError(say.schema_check_takes_one_file(file=args.files[0]))

        return check_file(
            args.check,
            args.of,
            args.stdin_filename,
            (args.megatron, args.mindformers, args.dialect),
            as_json=args.format == "json",
            language=args.lang,
        )
    if args.of is not None:
        raise UsageError(say.of_goes_with_check())
    emit(
        json_text(schema_of(args.files[0], args.megatron, args.mindformers, args.dialect), 2)
        if args.files
        else page(NAMES)
    )
    return 0


def _require_versions(megatron: str | None, mindformers: str | None) -> None:
    """UnreadableError for a version that is not known, also where the schema is the same in all of them."""
    if megatron is not None:
        from ...schemas.megatron.catalog import normalise_version

        normalise_version(megatron)
    if mindformers is not None:
        from ...schemas.mindformers.versions import known_version

        known_version(mindformers)
