"""A model's `config.json`: its keys with their places, and the defaults of the class that reads it."""

from __future__ import annotations

from ..config import Config, Setting
from ..diagnostic import UnreadableError, diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple, cast
from ..message import NOTHING, verbatim
from ..plain_values import brief_text, is_list, is_mapping, is_value_of
from ..source import SourceText, Span
from ..versions import default_name, minor_of, names, nearest_version, number_of
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..config import Value
    from ..message import Problem, Words

FILE = "config.json"
"""How the file is called that describes a model folder."""
_SIGNS = ('"model_type"', '"architectures"')


class ConfigurationClass(NamedTuple):
    """The way in which transformers reads the files of one family."""

    name: str
    model: str
    renamed: Mapping[str, str]
    """Names of attributes that are other keys in the file."""
    defaults: Mapping[str, Value]
    published: str
    """Where its code is published; empty for a class of transformers."""
    others: tuple[tuple[str, str], ...]
    """Parts of keys that only other code of the same model_type reads, each with whose code that is."""


def is_model(source: SourceText) -> bool:
    """True if a text is a model's `config.json`."""
    text = source.text
    return text[:256].lstrip()[:1] == "{" and any(sign in text for sign in _SIGNS)


def class_of(family: str, version: str) -> ConfigurationClass:
    """The configuration class of a family."""
    from .facts_compiled import FACTS

    return ConfigurationClass(*FACTS[version][family])


def known_version(text: str, where: str = "--transformers") -> str:
    """Version name for texts such as `4.57.1` or `v4.57`; UnreadableError if unknown."""
    version, known = minor_of(text), names("huggingface")
    if version not in known:
        nearest = nearest_version(text, known)
        raise UnreadableError(diagnose(say.unknown_version(given=text, known=", ".join(known), nearest=nearest), where))
    return version


def huggingface_config(source: SourceText, asked: str | None = None) -> Config:
    """The configuration of a `config.json` in the version `asked`; UnreadableError for a model without facts."""
    keys = _json_keys(source)
    places = _places(source, keys)
    version, reason = _version(keys.get("transformers_version")) if asked is None else (known_version(asked), NOTHING)
    family = _known_family(keys, source.name, places, version)
    known = class_of(family, version)
    _require_own(known, family, keys, source.name, places)
    odd = _odd_values(keys)
    settings = _settings(keys, places, known)
    settings.update({key: settings[key]._replace(value=None, decided=False) for key, *_ in odd})
    problems = [diagnose(_unusable(*one[1:], version), source.name, places.get(one[0])) for one in odd]
    if known.published:
        said = say.published_code(version=version, family=family, model=known.model, where=known.published)
        problems.append(diagnose(said, source.name, places.get("model_type")))
    elif "auto_map" in keys:
        said = say.custom_code(version=version, family=family)
        problems.append(diagnose(said, source.name, places.get("auto_map")))
    return Config(
        source.name,
        "huggingface",
        version,
        family,
        settings,
        problems=tuple(problems),
        version_origin="given" if asked is not None else "detected" if reason else "assumed",
        version_reason=reason,
    )


def _settings(keys: Mapping[str, Any], places: Mapping[str, Span], known: ConfigurationClass) -> dict[str, Setting]:
    """Settings of the file's keys and of the class's defaults for the others."""
    settings = {key: Setting(key, value, "explicit", places.get(key)) for key, value in keys.items()}
    for key, value in known.defaults.items():
        others = (known.renamed.get(key), *(name for name, own in known.renamed.items() if own == key))
        if key not in settings and not any(name in settings for name in others):
            settings[key] = Setting(key, value, "default")
    return settings


def _odd_values(keys: Mapping[str, Any]) -> list[tuple[str, str, str, object]]:
    """Values that no network can be built with: key, shown name, required type and value.

    A section of rotary parameters is open as a whole if one of its numbers is odd.
    """
    from .facts_compiled import KINDS, ROTARY_NUMBERS, ROTARY_SECTIONS

    found: list[tuple[str, str, str, object]] = []
    for key, value in keys.items():
        kind, may_be_null = KINDS.get(key, ("", True))
        if kind and not (value is None and may_be_null) and not is_value_of(kind, value):
            found.append((key, key, kind, value))
        if key in ROTARY_SECTIONS and is_mapping(value):
            odd = ((name, inner) for name, inner in value.items() if not _is_plain(inner, name in ROTARY_NUMBERS))
            found += [(key, f"{key}.{name}", "number", inner) for name, inner in odd]
    return found


def _is_plain(value: object, is_numeric: bool) -> bool:
    if value is None or is_list(value):
        return True
    return is_value_of("number", value) or (isinstance(value, (str, bool)) and not is_numeric)


def _unusable(key: str, kind: str, value: object, version: str) -> Problem:
    """Problem for a key whose value is of another kind than wanted."""
    expected = {"whole": say.kind_whole, "number": say.kind_number, "text": say.kind_text}[kind]()
    return say.value_of_another_kind(key=key, expected=expected, value=brief_text(value), version=version)


def _require_own(
    known: ConfigurationClass, family: str, keys: Mapping[str, Any], file: str, places: Mapping[str, Span]
) -> None:
    """UnreadableError for a file of another code that shares the model_type."""
    found = ((key, whose) for key in keys for part, whose in known.others if part in key)
    for key, whose in found:
        said = say.other_code(family=family, key=key, whose=whose, known=known.name)
        raise UnreadableError(diagnose(said, file, places.get(key)))


def _json_keys(source: SourceText) -> dict[str, Any]:
    """JSON object in a file; UnreadableError if it is not one."""
    import json

    try:
        found: object = json.loads(source.text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(diagnose(say.no_model_json(said=verbatim(str(error))), source.name)) from error
    if not is_mapping(found):
        raise UnreadableError(diagnose(say.no_model_json(said=verbatim(type(found).__name__)), source.name))
    return cast("dict[str, Any]", found)


def _places(source: SourceText, keys: Mapping[str, Any]) -> dict[str, Span]:
    """The place of each key; the whole file if the place is unknown."""
    from ..yaml_reader.document import json_items

    items = json_items(source)
    whole = Span(1, 1, source.line_count, len(source.line(source.line_count)) + 1)
    return {key: whole if (node := items.get(key)) is None else (node.key_span or node.span) for key in keys}


def _version(written: object) -> tuple[str, Words]:
    """Version to read with: the newest known one that is not newer than the writer's."""
    usual = default_name("huggingface", "transformers")
    if not isinstance(written, str) or not number_of(written):
        return usual, NOTHING
    given = number_of(written)
    same = [name for name in names("huggingface") if number_of(name)[0] == given[0]]
    older = [name for name in same if number_of(name) <= given]
    found = older[-1] if older else same[0] if same else usual
    return found, say.written_by(version=verbatim(written))


def _known_family(keys: Mapping[str, Any], file: str, places: Mapping[str, Span], version: str) -> str:
    """Model family in `model_type`; UnreadableError if missing or unknown."""
    from .facts_compiled import FACTS

    written = keys.get("model_type")
    if written is None:
        raise UnreadableError(diagnose(say.no_family(), file))
    known: Mapping[str, object] = FACTS[version]
    if not isinstance(written, str) or written not in known:
        from ..suggestion import suggestion

        near = suggestion(str(written), known)
        said = say.unknown_family(value=written, suggestion=near, known=", ".join(sorted(known)))
        raise UnreadableError(diagnose(said, file, places.get("model_type")))
    return written
