"""`accmap explain KEY`: what a flag, a key or a recipe field means and what it corresponds to, from the tables.

`explanation` gathers it as plain JSON values; the three forms (text, Markdown, JSON) are written from these alone.
"""

from __future__ import annotations

from ...mapper.mapping_rows import (
    behaviour,
    caveat_words,
    conditions,
    flags,
    loss_means,
    megatron_names,
    mindformers_names,
    proof_words,
    shown_key,
    shown_value,
    values,
    with_versions,
)
from ...mapper.recipe.vocabulary import vocabulary
from ...mappings.tables import field_named, table
from ...schemas.border.text_output import json_text, page, paint
from ...schemas.config import ReadOptions
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.catalog import VERSIONS, catalog
from ...schemas.megatron.dialects import dialects_with, known_dialects
from ...schemas.mindformers.versions import DEFAULT_STATIC, STATIC_VERSIONS, static_catalog
from ...schemas.plain_values import json_value
from ...schemas.shared_words import term
from ...schemas.source import SourceText
from ..messages_compiled import say
from ..options import all_commands, options_of
from ..terminal import columns, wants_colour, width, wrap
from .key_search import DYNAMIC_VERSIONS, MODEL_CONFIG, REGISTRIES, Named, dynamic_defaults, find_named, plain_path
from .reference_compiled import NAMES
from .section_explanation import same_as, section_record, sections_named
from .word_search import synonyms_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal, TypeVar

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Row, Side
    from ...schemas.border.text_output import Outgoing
    from ...schemas.config import Acceptance, Value
    from ...schemas.diagnostic import Language
    from ...schemas.megatron.catalog import ArgumentFact
    from ..options import Option
    from .word_search import Candidate

_FEW = 3
"""A row of more keys describes a group, such as the learning rate: only what was asked for gets its versions."""
_MARGIN = 26
_WIDEST = 44
"""Labels of so many columns still decide where the texts beside them begin."""
_LEGACY_SECTION = "moe_config."
_PROBE = """
use_legacy: False
run_mode: train
model: {{model_config: {{model_type: {model}, architectures: [{architecture}], {key}: 1}}}}
"""


class ArgumentState(NamedTuple):
    """State of an argument in some versions of Megatron-LM; `known` is False if they do not have it."""

    versions: tuple[str, ...]
    known: bool
    flags: tuple[str, ...]
    type: str | None
    choices: tuple[Value, ...] | None
    default: Value


class KeyState(NamedTuple):
    """State of a key in some versions of MindSpore Transformers."""

    versions: tuple[str, ...]
    dialect: str
    acceptance: Acceptance
    """`unknown` and `conflict` stop the run."""
    models: tuple[str, ...]
    """The model types it holds for; none where the key belongs to a section."""
    default: Value
    has_default: bool


class ClassDefault(NamedTuple):
    """The value that a model type takes where the key is not written."""

    model: str
    value: Value


if TYPE_CHECKING:
    _State = TypeVar("_State", ArgumentState, KeyState)


class _Line(NamedTuple):
    label: str
    text: str


class _Part(NamedTuple):
    heading: str
    lead: str
    lines: list[_Line]
    code: Sequence[str] = ()
    """Lines of a file, shown as they are."""


def explain_key(word: str, language: Language, form: str) -> Outgoing | None:
    """The explanation of a flag, key, section, alias or field, written in `form`; None if nothing is called so."""
    name = word.strip().partition("=")[0]
    sections = () if name.startswith("-") else sections_named(name)
    options = options_named(name)
    found = find_named(same_as(name))
    if found is None and not sections and not options and name not in NAMES:
        return None
    answer = explanation(found or nothing_named(name), sections, language)
    answer |= {
        "name": name,
        "meaning": NAMES[name][language == "zh"] if name in NAMES else None,
        "options": [_option_facts(option, commands, language) for option, commands in options.items()],
        "candidates": [one._asdict() for one in synonyms_of(name, _names_in(answer), language)],
    }
    if form == "json":
        return json_text(answer)
    parts = list(_answer_parts(answer, language))
    return _markdown_page(name, parts) if form == "markdown" else _text_page(name, parts)


def _names_in(answer: Mapping[str, Any]) -> set[str]:
    """The names that an explanation has already: of fields, flags and keys."""
    names = {field["field"] for row in answer["rows"] for field in row["fields"]}
    sides = [side for row in answer["rows"] for of in ("megatron", "static", "dynamic") for side in row[of]]
    return names.union(answer["keys"], *(side["names"] for side in sides))


def list_candidates(word: str, listed: Sequence[Candidate], language: Language, form: str) -> Outgoing:
    """A page with the names that an unknown word may mean, written in `form`."""
    if form == "json":
        nothing = {"meaning": None, "options": [], "candidates": [one._asdict() for one in listed]}
        return json_text({**explanation(nothing_named(word), (), language), **nothing})
    lines = [_Line(one.name, one.meaning) for one in listed]
    part = _Part(say.word_may_mean().text(language), "", lines)
    last = _Part(say.explain_one(name=listed[0].name).text(language), "", [])
    return _markdown_page(word, [part, last]) if form == "markdown" else _text_page(word, [part, last])


def nothing_named(word: str) -> Named:
    """An empty result for a word that names nothing."""
    return Named(word, (), (), (), (), mentioned=False)


def explanation(found: Named, sections: Sequence[str], language: Language) -> dict[str, Any]:
    """The explanation of a name, and of the YAML sections that it names, as JSON values."""
    found = _without_namesakes(found, sections)
    arguments, keys = _with_partners(found)
    rowless = not found.rows and found.word in vocabulary()
    return {
        "name": found.word,
        "sections": [section_record(path, language) for path in sections],
        "fields": [_field_facts(field_named(found.word), language)] if rowless else [],
        "arguments": list(found.arguments),
        "keys": [shown_key(key) for key in found.keys],
        "mentioned_only": found.mentioned,
        "rows": [_row_facts(row, language) for row in found.rows],
        "related": [list(row.fields) for row in found.related],
        "reasons": _reasons(found, sections, language),
        "megatron": [entry for dest in arguments if (entry := _argument_facts(dest))],
        "mindformers": [entry for key in keys if (entry := _key_facts(key))],
    }


def _without_namesakes(found: Named, sections: Sequence[str]) -> Named:
    """For the name of a section, the result without other keys of the same name and loosely related rows."""
    if not sections:
        return found
    keys = tuple(key for key in found.keys if plain_path(key) in sections)
    return found._replace(rows=() if found.mentioned else found.rows, keys=keys, mentioned=False)


def _with_partners(found: Named) -> tuple[list[str], list[str]]:
    """The arguments and keys of a word, and those of its rows that have few."""
    arguments, keys = dict.fromkeys(found.arguments), dict.fromkeys(found.keys)
    if not found.mentioned:
        for row in found.rows:
            arguments.update(dict.fromkeys(_few(row.megatron)))
            keys.update(dict.fromkeys(_few(row.static + row.dynamic)))
    return list(arguments), list(keys)


def options_named(name: str) -> dict[Option, list[str]]:
    """The options of accmap itself that are called so, each with the commands that take it."""
    found: dict[Option, list[str]] = {}
    if name.startswith("-"):
        for command in all_commands().values():
            for option in options_of(command):
                if name in option.names:
                    found.setdefault(option, []).append(command.name)
    return found


def _option_facts(option: Option, commands: list[str], language: Language) -> dict[str, Any]:
    """An option of accmap itself as JSON: names, value, help and the commands that take it."""
    return {
        "names": list(option.names),
        "takes": option.metavar or (" | ".join(option.choices) if option.kind != "flag" else None),
        "meaning": option.help_zh if language == "zh" else option.help,
        "commands": commands,
    }


def _few(sides: Sequence[Side]) -> list[str]:
    """The keys of a row, if it has few enough of them on every side."""
    if any(len(side.keys) > _FEW for side in sides):
        return []
    return [one for side in sides for key in side.keys for one in key.split("|")]


def _row_facts(row: Row, language: Language) -> dict[str, Any]:
    """A row of the mapping table as JSON: fields, loss, conditions, and the names on each side."""
    place = 1 if language == "zh" else 0
    return {
        "fields": [_field_facts(name, language) for name in row.fields],
        "loss": row.loss,
        "loss_means": loss_means(row.loss, language),
        "proof": proof_words(row, language) or None,
        "only": conditions(row.only, language) or None,
        "megatron": _side_facts(row.megatron, language, megatron=True),
        "static": _side_facts(row.static, language, megatron=False),
        "dynamic": _side_facts(row.dynamic, language, megatron=False),
        "note": (row.zh if place else row.en) or None,
        "caveats": [caveat_words(caveat, language) for caveat in row.caveats],
        "sources": list(row.sources),
    }


def _field_facts(name: FieldName, language: Language) -> dict[str, Any]:
    """A field of the recipe as JSON: meaning, type, unit, impact and neutral value."""
    field = vocabulary()[name]
    return {
        "field": name,
        "meaning": field.zh if language == "zh" else field.en,
        "type": field.type,
        "unit": field.unit,
        "impact": field.impact,
        "neutral": json_value(field.default),
    }


def _side_facts(sides: Sequence[Side], language: Language, *, megatron: bool) -> list[dict[str, Any]]:
    """The names that a row has in one framework as JSON, with aliases, values and versions."""
    found: list[dict[str, Any]] = []
    for side, when in with_versions(sides, language):
        aliases = [one for alias in side.aliases for one in alias.split("|")]
        found.append(
            {
                "names": list(megatron_names(side) if megatron else mindformers_names(side)),
                "aliases": [_flag_of_dest(one) if megatron else shown_key(one) for one in aliases],
                "instead": behaviour(side, language),
                "values": values(side),
                "since": side.since,
                "until": side.until,
                "versions": when or None,
            }
        )
    return found


def _flag_of_dest(dest: str) -> str:
    return "--" + dest.removeprefix("deprecated_").replace("_", "-")


def _reasons(found: Named, sections: Sequence[str], language: Language) -> list[dict[str, Any]]:
    """The reasons why names have no row in the mapping tables."""
    if found.rows:
        return []
    rows = table()
    reasons: dict[str, Any] = {dest: rows.megatron_reason(dest) for dest in found.arguments}
    reasons.update({dest: fork.about(dest) for dest in found.arguments for fork in dialects_with(dest)})
    reasons.update({key: rows.mindformers_reason(key) for key in found.keys if key not in sections})
    by_text: dict[str, dict[str, Any]] = {}
    for name, reason in reasons.items():
        if reason is not None:
            text = reason.zh if language == "zh" else reason.en
            entry = by_text.setdefault(text, {"names": [], "impact": reason.impact, "text": text})
            entry["names"].append((flags(name) or (name,))[0] if name in found.arguments else shown_key(name))
    return list(by_text.values())


def _argument_facts(dest: str) -> dict[str, Any] | None:
    """A Megatron-LM argument as JSON: flags, type, choices and default in each range of versions; None if unknown."""
    states = argument_history(dest)
    if not any(state.known for state in states):
        return None
    return {
        "argument": dest,
        "states": [
            {
                "versions": list(state.versions),
                "known": state.known,
                "flags": list(state.flags),
                "type": state.type,
                "choices": json_value(state.choices),
                "default": json_value(state.default),
            }
            for state in states
        ],
    }


def _key_facts(path: str) -> dict[str, Any] | None:
    """A YAML key as JSON: acceptance, models and default in each range of versions, and defaults of model classes."""
    states, defaults = key_history(path), class_defaults(path)
    if not states and not defaults:
        return None
    return {
        "key": shown_key(path),
        "states": [
            {
                "versions": list(state.versions),
                "dialect": state.dialect,
                "acceptance": state.acceptance,
                "models": list(state.models),
                **({"default": json_value(state.default)} if state.has_default else {}),
            }
            for state in states
        ],
        "class_defaults": {one.model: json_value(one.value) for one in defaults},
    }


def _answer_parts(answer: Mapping[str, Any], language: Language) -> Iterator[_Part]:
    """The parts of an explanation in order: meaning, sections, fields, rows, arguments and keys."""
    word = say.page("explain", language)
    if answer["meaning"]:
        yield _Part(answer["name"], "", [_Line(word("meaning"), answer["meaning"])])
    for entry in answer["sections"]:
        yield from _section_parts(entry, language)
    for field in answer["fields"]:
        yield _Part(field["field"], "", [_Line(word("field"), _field_words(field, language))])
    yield from _row_parts(answer, language)
    for entry in answer["megatron"]:
        lines = [
            _Line(_ranges(state["versions"], (*VERSIONS, *known_dialects())), _argument_words(state, language))
            for state in entry["states"]
        ]
        yield _Part(word("argument", name=entry["argument"]), "", lines)
    for entry in answer["mindformers"]:
        yield _Part(word("key", name=entry["key"]), "", list(_key_lines(entry, language)))
    yield from _closing_parts(answer, language)


def _row_parts(answer: Mapping[str, Any], language: Language) -> Iterator[_Part]:
    """The rows of the tables, the reasons of what has none, and other rows that read the same."""
    word = say.page("explain", language)
    lead = word("mentioned", name=answer["name"]) if answer["mentioned_only"] else ""
    for entry in answer["rows"]:
        yield _Part(_names_of_fields(entry), lead, list(_row_lines(entry, language)))
        lead = ""
    for reason in answer["reasons"]:
        text = reason["text"] + _impact_text(reason["impact"], language)
        yield _Part(", ".join(reason["names"]), "", [_Line(word("reason"), text)])
    if answer["related"]:
        names = "; ".join(
            ", ".join(fields[:_FEW]) + (" …" if len(fields) > _FEW else "") for fields in answer["related"]
        )
        yield _Part(word("related"), names, [])


def _closing_parts(answer: Mapping[str, Any], language: Language) -> Iterator[_Part]:
    """The last parts of an explanation: exceptions of the rows, related names, and options of accmap."""
    word = say.page("explain", language)
    for entry in answer["rows"]:
        if entry["caveats"]:
            lines = [_Line("", f"- {caveat}") for caveat in entry["caveats"]]
            yield _Part(word("caveats", name=_names_of_fields(entry)), "", lines)
    if answer["candidates"]:
        lines = [_Line(one["name"], one["meaning"]) for one in answer["candidates"]]
        yield _Part(say.see_also(word=answer["name"]).text(language), "", lines)
    for entry in answer["options"]:
        takes = f" {entry['takes']}" if entry["takes"] else ""
        commands = ", ".join(f"accmap {name}" for name in entry["commands"])
        lines = [_Line(word("meaning"), entry["meaning"]), _Line(word("commands"), commands)]
        yield _Part(word("option", name=", ".join(entry["names"]) + takes), "", lines)


def _names_of_fields(entry: Mapping[str, Any]) -> str:
    return ", ".join(field["field"] for field in entry["fields"])


def _section_parts(entry: Mapping[str, Any], language: Language) -> Iterator[_Part]:
    """A section: what it holds, the keys of each graph beside Megatron-LM's flags, an example."""
    word = say.page("explain", language)
    lead = entry["holds"] or ""
    yield _Part(word("section", name=entry["section"]), lead, [])
    for graph in entry["graphs"]:
        other = "dynamic" if graph["graph"] == "static" else "static"
        lines = [_Line(word(other), ", ".join(graph["other_graph"]))] if graph["other_graph"] else []
        lines += [_Line(word("sections"), ", ".join(graph["sections"]))] if graph["sections"] else []
        for row in graph["rows"]:
            megatron = ", ".join(row["megatron"]) or word("nothing")
            many = len(row["keys"]) > 1
            text = f"{', '.join(row['keys'])}: {megatron}" if many else megatron
            lines.append(_Line(word("together") if many else row["keys"][0], text))
        if graph["without_row"]:
            lines.append(_Line(word("reason"), ", ".join(graph["without_row"])))
        yield _Part(word("section.keys", graph=word(graph["graph"])), "", lines)
    if entry["reason"]:
        yield _Part(word("reason"), entry["reason"] + _impact_text(entry["impact"], language), [])
    for example in entry["examples"]:
        heading = "example" if example["version"] is None else "written"
        yield _Part(
            word(heading, graph=word(example["graph"]), version=example["version"]), "", [], example["text"].split("\n")
        )


def _row_lines(entry: Mapping[str, Any], language: Language) -> Iterator[_Line]:
    """A row of the mapping table as labelled lines: fields, names on each side, loss, sources."""
    word = say.page("explain", language)
    for field in entry["fields"]:
        yield _Line(field["field"].rpartition(".")[2], _field_words(field, language))
    for side in ("megatron", "static", "dynamic"):
        for one in entry[side]:
            yield _Line(word(side), _side_words(one, language))
        if not entry[side]:
            yield _Line(word(side), word("nothing"))
    yield _Line(word("loss"), entry["loss_means"] if language == "zh" else f"{entry['loss']}: {entry['loss_means']}")
    for label in ("proof", "only", "note"):
        if entry[label]:
            yield _Line(word(label), entry[label])
    yield _Line(word("sources"), "; ".join(entry["sources"]))


def _field_words(field: Mapping[str, Any], language: Language) -> str:
    """The meaning of a field with type, unit, neutral value and impact, in one line."""
    word = say.page("explain", language)
    facts = [field["type"].replace("|", " | ")]
    if field["unit"]:
        facts.append(term(field["unit"], language))
    if field["neutral"] is not None:
        facts.append(word("neutral", value=shown_value(field["neutral"])))
    return f"{field['meaning']} ({'; '.join(facts)}){_impact_text(field['impact'], language)}"


def _side_words(side: Mapping[str, Any], language: Language) -> str:
    """The names of a row on one side with versions, values and aliases, in one line."""
    word = say.page("explain", language)
    parts = [", ".join(side["names"])] if side["names"] else []
    if side["instead"]:
        parts.append(side["instead"])
    if side["versions"]:
        parts.append(f"({side['versions']})")
    if side["values"]:
        listed = ", ".join(f"{theirs} = {shown_value(ours)}" for theirs, ours in side["values"].items())
        parts.append("· " + word("values", values=listed))
    if side["aliases"]:
        parts.append("· " + word("aliases", names=", ".join(side["aliases"])))
    return " ".join(parts) or word("nothing")


def _argument_words(state: Mapping[str, Any], language: Language) -> str:
    """The flags, type, choices and default of an argument in one line; a word if the version has no such argument."""
    word = say.page("explain", language)
    if not state["known"]:
        return word("unknown")
    parts = [", ".join(state["flags"]), state["type"] or "str"]
    if state["choices"]:
        parts.append(word("choices", value=", ".join(map(shown_value, state["choices"]))))
    parts.append(word("default", value=shown_value(state["default"])))
    return " · ".join(parts)


def _key_lines(entry: Mapping[str, Any], language: Language) -> Iterator[_Line]:
    """Labelled lines on a YAML key: acceptance and default by version, and defaults of model classes."""
    word = say.page("explain", language)
    for state in entry["states"]:
        acceptance = state["acceptance"]
        text = word("unknown.key" if acceptance == "unknown" else acceptance)
        if state["models"]:
            text = word("by", state=text, models=", ".join(state["models"]))
        if "default" in state and acceptance == "accepted":
            text += " · " + word("default", value=shown_value(state["default"]))
        if entry["key"].startswith(_LEGACY_SECTION) and acceptance == "accepted":
            text += f" ({word('legacy')})"
        yield _Line(f"{_ranges(state['versions'], _ORDERS[state['dialect']])} {word(state['dialect'])}", text)
    if entry["class_defaults"]:
        listed = ", ".join(f"{model} {shown_value(value)}" for model, value in entry["class_defaults"].items())
        yield _Line("", word("classes", version=DEFAULT_STATIC, values=listed))


def _impact_text(impact: Literal["numerics", "performance", "none"], language: Language) -> str:
    return f" [{say.page('impact', language)(impact)}]"


_ORDERS = {"static": STATIC_VERSIONS, "dynamic": DYNAMIC_VERSIONS}


def _ranges(listed: Sequence[str], order: Sequence[str]) -> str:
    """`0.12–0.19`, `1.6, 1.8–2.1`: neighbours in the list of versions are joined."""
    runs: list[list[str]] = []
    for version in listed:
        if runs and order.index(runs[-1][-1]) + 1 == order.index(version):
            runs[-1].append(version)
        else:
            runs.append([version])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def _text_page(name: str, parts: Sequence[_Part]) -> Outgoing:
    """An explanation as wrapped and coloured lines for a terminal."""
    colour, limit = wants_colour(), width()
    lines = [paint(name, "bold", colour)]
    for part in parts:
        lines.append("")
        if part.lead and part.lines:
            lines += [*wrap(part.lead, limit), ""]
        lines += [paint(line, "cyan", colour) for line in wrap(part.heading, limit, "  ")]
        if part.lead and not part.lines:
            lines += wrap(f"  {part.lead}", limit, "  ")
        lines += _text_lines(part, limit, colour=colour)
        lines += [f"    {line}" for line in part.code]
    return page([*lines, ""])


def _text_lines(part: _Part, limit: int, *, colour: bool) -> Iterator[str]:
    """The labels of a part, and beside them their texts."""
    widest = max((columns(label) for label, _ in part.lines), default=0)
    indent = _MARGIN if widest + 2 <= _MARGIN or widest > _WIDEST else widest + 2
    for label, text in part.lines:
        margin = f"  {label}{' ' * max(2, indent - columns(label))}" if label else "  "
        first, *rest = wrap(margin + text, limit, " " * (indent + 2 if label else 2))
        yield first.replace(label, paint(label, "dim", colour), 1) if label else first
        yield from rest


def _markdown_page(name: str, parts: Sequence[_Part]) -> Outgoing:
    """An explanation as a Markdown page with a heading for each part."""
    lines = [f"# `{name}`"]
    for part in parts:
        lines += ["", *([part.lead, ""] if part.lead and part.lines else []), f"## {part.heading}", ""]
        if part.lead and not part.lines:
            lines.append(part.lead)
        lines += [f"- **{label}**: {text}" if label else f"- {text}" for label, text in part.lines]
        if part.code:
            lines += ["```yaml", *part.code, "```"]
    return page(lines)


def argument_history(dest: str) -> tuple[ArgumentState, ...]:
    """The states of an argument, each with the versions that share it."""
    states: list[ArgumentState] = []
    for version in VERSIONS:
        facts = [fact for fact in catalog(version).arguments if fact.dest == dest]
        states.append(_argument_state(version, facts))
    states += [
        _argument_state(fork.name, [fact for fact in fork.arguments if fact.dest == dest])
        for fork in dialects_with(dest)
    ]
    return tuple(_merge_states(states))


def _argument_state(version: str, facts: Sequence[ArgumentFact]) -> ArgumentState:
    if not facts:
        return ArgumentState((version,), False, (), None, None, None)
    first = facts[0]
    kind = first.type if first.action == "store" else "bool"
    flags = tuple(option for fact in facts for option in fact.options)
    return ArgumentState((version,), True, flags, kind, first.choices, first.default)


def key_history(path: str) -> tuple[KeyState, ...]:
    """The states of a key path, each with the versions that share it."""
    states: list[KeyState] = []
    if path.startswith(MODEL_CONFIG) and "." not in path.removeprefix(MODEL_CONFIG):
        for version in STATIC_VERSIONS:
            states += _model_states(version, path.removeprefix(MODEL_CONFIG))
    elif any(_section_state(version, path).acceptance == "accepted" for version in STATIC_VERSIONS):
        states += [_section_state(version, path) for version in STATIC_VERSIONS]
    dynamic = {version: dynamic_defaults(version) for version in DYNAMIC_VERSIONS}
    if any(path in defaults for defaults in dynamic.values()):
        states += [_dynamic_state(version, path, defaults) for version, defaults in dynamic.items()]
    return tuple(_merge_states(states))


def class_defaults(path: str) -> tuple[ClassDefault, ...]:
    """Defaults of a key of `model_config`, by the model types that can be trained."""
    if not path.startswith(MODEL_CONFIG):
        return ()
    key = path.removeprefix(MODEL_CONFIG)
    found: list[ClassDefault] = []
    for model, entry in _models(DEFAULT_STATIC):
        for defaults in (entry["signature"], entry["mf"]):
            if key in defaults:
                found.append(ClassDefault(model, defaults[key]))
                break
    return tuple(found)


def _models(version: str) -> list[tuple[str, dict[str, Any]]]:
    """The model types that can be trained on the static graph, with the facts of their classes."""
    entries = [entry for entry in static_catalog(version)["classes"].values() if not entry["legacy"]]
    return [(entry["model_type"], entry) for entry in entries if entry["trainable"] and entry["model_type"]]


def _model_states(version: str, key: str) -> list[KeyState]:
    """States of a key with the model types that share each, found by reading a file that contains it."""
    from ...schemas.mindformers.effective import mindformers_config

    by_acceptance: dict[Acceptance, list[str]] = {}
    for model, entry in _models(version):
        text = _PROBE.format(model=model, architecture=_architecture(version, str(entry["class"])), key=key)
        source = SourceText("probe.yaml", text)
        config = mindformers_config(source, ReadOptions(mindformers=version, dialect="static"), _empty_source)
        setting = config.settings.get(MODEL_CONFIG + key)
        if setting is not None:
            by_acceptance.setdefault(setting.acceptance, []).append(model)
    return [
        KeyState((version,), "static", acceptance, tuple(models), None, False)
        for acceptance, models in by_acceptance.items()
    ]


def _architecture(version: str, name: str) -> str:
    """The network that a configuration class belongs to."""
    wanted = name.removesuffix("Config").lower() + "forcausallm"
    return next((one for one in static_catalog(version)["models"] if one.lower() == wanted), name)


def _empty_source(path: str) -> SourceText:
    return SourceText(path, "")


def _section_state(version: str, path: str) -> KeyState:
    """State of a key of a section in one version of the static graph: known or not, with its default."""
    facts = static_catalog(version)
    section, _, key = path.partition(".")
    general = facts["sections"]["general_config"]["defaults"]
    if not key:
        known = section in general or section in facts["sections"]
        return _state_of_key(version, known, general.get(section), strict=False, has=section in general)
    entry = facts["sections"].get(section)
    defaults: dict[str, Any] = {} if entry is None or entry["list"] else entry["defaults"]
    arguments = {
        name
        for one in facts["registry"].get(REGISTRIES.get(section, ""), {}).values()
        for name in one["args"]
    }  # fmt: skip
    strict = entry is not None and bool(entry["strict"])
    return _state_of_key(
        version, key in defaults or key in arguments, defaults.get(key), strict=strict, has=key in defaults
    )


def _state_of_key(version: str, known: bool, default: Value, *, strict: bool, has: bool) -> KeyState:
    acceptance: Acceptance = "accepted" if known else "unknown" if strict else "ignored"
    return KeyState((version,), "static", acceptance, (), default, has)


def _dynamic_state(version: str, path: str, defaults: dict[str, object]) -> KeyState:
    known = path in defaults
    default = defaults.get(path)
    has = known and default is not ...
    return KeyState((version,), "dynamic", "accepted" if known else "unknown", (), default if has else None, has)  # type: ignore[arg-type]


def _merge_states(states: Iterable[_State]) -> list[_State]:
    """States that only differ in the version, as one."""
    merged: list[_State] = []
    for state in states:
        for at, earlier in enumerate(merged):
            if repr(earlier[1:]) == repr(state[1:]):
                merged[at] = earlier._replace(versions=earlier.versions + state.versions)
                break
        else:
            merged.append(state)
    return merged
