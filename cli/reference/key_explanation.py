"""`accmap explain KEY`: what a flag, a key or a recipe field means and what it corresponds to, from the tables.

`explanation` gathers it as plain JSON values; the three forms (text, Markdown, JSON) are written from these alone.
"""

from __future__ import annotations

from ...mapper.recipe.vocabulary import vocabulary
from ...mapper.row_words import (
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
from ...mappings.tables import table
from ...schemas.border.text_output import json_text, page, paint
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.catalog import VERSIONS
from ...schemas.megatron.dialects import dialects_with, known_dialects
from ...schemas.mindformers.versions import DEFAULT_STATIC, STATIC_VERSIONS
from ...schemas.plain_values import json_value
from ...schemas.shared_words import term
from ..messages_compiled import say
from ..terminal import columns, wants_colour, width, wrap
from .key_history import argument_history, class_defaults, key_history
from .key_search import DYNAMIC_VERSIONS, find_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, Literal

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Row, Side
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from .key_search import Named

_FEW = 3
"""A row of more keys describes a group, such as the learning rate: only what was asked for gets its versions."""
_MARGIN = 26
_LEGACY_SECTION = "moe_config."


class _Line(NamedTuple):
    label: str
    text: str


class _Part(NamedTuple):
    heading: str
    lead: str
    lines: list[_Line]


def explain_key(word: str, language: Language, form: str) -> Outgoing | None:
    """The explanation of a flag, key, alias or field, written in `form`; None where nothing is called so."""
    found = find_named(word)
    if found is None:
        return None
    answer = explanation(found, language)
    if form == "json":
        return json_text(answer)
    parts = list(_parts(answer, language))
    return _markdown(answer["name"], parts) if form == "markdown" else _text(answer["name"], parts)


def explanation(found: Named, language: Language) -> dict[str, Any]:
    """Everything that is known, as JSON values."""
    arguments, keys = list(found.arguments), list(found.keys)
    if not found.mentioned:
        for row in found.rows:
            arguments += [dest for dest in _few(row.megatron) if dest not in arguments]
            keys += [key for key in _few(row.static + row.dynamic) if key not in keys]
    return {
        "name": found.word,
        "arguments": list(found.arguments),
        "keys": [shown_key(key) for key in found.keys],
        "mentioned_only": found.mentioned,
        "rows": [_row(row, language) for row in found.rows],
        "related": [list(row.fields) for row in found.related],
        "reasons": _reasons(found, language),
        "megatron": [entry for dest in arguments if (entry := _argument(dest))],
        "mindformers": [entry for key in keys if (entry := _key(key))],
    }


def _few(sides: Sequence[Side]) -> list[str]:
    """The keys of a row that has few of them on every side."""
    if any(len(side.keys) > _FEW for side in sides):
        return []
    return [one for side in sides for key in side.keys for one in key.split("|")]


def _row(row: Row, language: Language) -> dict[str, Any]:
    place = 1 if language == "zh" else 0
    return {
        "fields": [_field(name, language) for name in row.fields],
        "loss": row.loss,
        "loss_means": loss_means(row.loss, language),
        "proof": proof_words(row, language) or None,
        "only": conditions(row.only, language) or None,
        "megatron": _sides(row.megatron, language, megatron=True),
        "static": _sides(row.static, language, megatron=False),
        "dynamic": _sides(row.dynamic, language, megatron=False),
        "note": (row.zh if place else row.en) or None,
        "caveats": [caveat_words(caveat, language) for caveat in row.caveats],
        "sources": list(row.sources),
    }


def _field(name: FieldName, language: Language) -> dict[str, Any]:
    field = vocabulary()[name]
    return {
        "field": name,
        "meaning": field.zh if language == "zh" else field.en,
        "type": field.type,
        "unit": field.unit,
        "impact": field.impact,
        "neutral": json_value(field.default),
    }


def _sides(sides: Sequence[Side], language: Language, *, megatron: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for side, when in with_versions(sides, language):
        aliases = [one for alias in side.aliases for one in alias.split("|")]
        found.append(
            {
                "names": list(megatron_names(side) if megatron else mindformers_names(side)),
                "aliases": [_flag(one) if megatron else shown_key(one) for one in aliases],
                "instead": behaviour(side, language),
                "values": values(side),
                "since": side.since,
                "until": side.until,
                "versions": when or None,
            }
        )
    return found


def _flag(dest: str) -> str:
    return "--" + dest.removeprefix("deprecated_").replace("_", "-")


def _reasons(found: Named, language: Language) -> list[dict[str, Any]]:
    """Reasons for names that have no row."""
    if found.rows:
        return []
    rows = table()
    reasons: dict[str, Any] = {dest: rows.megatron_reason(dest) for dest in found.arguments}
    reasons.update({dest: fork.about(dest) for dest in found.arguments for fork in dialects_with(dest)})
    reasons.update({key: rows.mindformers_reason(key) for key in found.keys})
    by_text: dict[str, dict[str, Any]] = {}
    for name, reason in reasons.items():
        if reason is not None:
            text = reason.zh if language == "zh" else reason.en
            entry = by_text.setdefault(text, {"names": [], "impact": reason.impact, "text": text})
            entry["names"].append((flags(name) or (name,))[0] if name in found.arguments else shown_key(name))
    return list(by_text.values())


def _argument(dest: str) -> dict[str, Any] | None:
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


def _key(path: str) -> dict[str, Any] | None:
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


def _parts(answer: Mapping[str, Any], language: Language) -> Iterator[_Part]:
    word = say.page("explain", language)
    lead = word("mentioned", name=answer["name"]) if answer["mentioned_only"] else ""
    for entry in answer["rows"]:
        yield _Part(", ".join(field["field"] for field in entry["fields"]), lead, list(_row_lines(entry, language)))
        lead = ""
    for reason in answer["reasons"]:
        label = word("reason")
        yield _Part(
            ", ".join(reason["names"]), "", [_Line(label, reason["text"] + _impact(reason["impact"], language))]
        )
    if answer["related"]:
        names = "; ".join(
            ", ".join(fields[:_FEW]) + (" …" if len(fields) > _FEW else "") for fields in answer["related"]
        )
        yield _Part(word("related"), names, [])
    for entry in answer["megatron"]:
        lines = [
            _Line(_ranges(state["versions"], (*VERSIONS, *known_dialects())), _argument_words(state, language))
            for state in entry["states"]
        ]
        yield _Part(word("argument", name=entry["argument"]), "", lines)
    for entry in answer["mindformers"]:
        yield _Part(word("key", name=entry["key"]), "", list(_key_lines(entry, language)))


def _row_lines(entry: Mapping[str, Any], language: Language) -> Iterator[_Line]:
    word = say.page("explain", language)
    for field in entry["fields"]:
        facts = [field["type"].replace("|", " | ")]
        if field["unit"]:
            facts.append(term(field["unit"], language))
        if field["neutral"] is not None:
            facts.append(word("neutral", value=shown_value(field["neutral"])))
        about = f"{field['meaning']} ({'; '.join(facts)}){_impact(field['impact'], language)}"
        yield _Line(field["field"].rpartition(".")[2], about)
    for side in ("megatron", "static", "dynamic"):
        for one in entry[side]:
            yield _Line(word(side), _side_words(one, language))
        if not entry[side]:
            yield _Line(word(side), word("nothing"))
    yield _Line(word("loss"), entry["loss_means"] if language == "zh" else f"{entry['loss']}: {entry['loss_means']}")
    for label in ("proof", "only", "note"):
        if entry[label]:
            yield _Line(word(label), entry[label])
    for caveat in entry["caveats"]:
        yield _Line(word("caveat"), caveat)
    yield _Line(word("sources"), "; ".join(entry["sources"]))


def _side_words(side: Mapping[str, Any], language: Language) -> str:
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
    word = say.page("explain", language)
    if not state["known"]:
        return word("unknown")
    parts = [", ".join(state["flags"]), state["type"] or "str"]
    if state["choices"]:
        parts.append(word("choices", value=", ".join(map(shown_value, state["choices"]))))
    parts.append(word("default", value=shown_value(state["default"])))
    return " · ".join(parts)


def _key_lines(entry: Mapping[str, Any], language: Language) -> Iterator[_Line]:
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


def _impact(impact: Literal["numerics", "performance", "none"], language: Language) -> str:
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


def _text(name: str, parts: Sequence[_Part]) -> Outgoing:
    colour, limit = wants_colour(), width()
    lines = [paint(name, "bold", colour)]
    for part in parts:
        lines.append("")
        if part.lead and part.lines:
            lines += [*wrap(part.lead, limit), ""]
        lines += [paint(line, "cyan", colour) for line in wrap(part.heading, limit, "  ")]
        if part.lead and not part.lines:
            lines += wrap(f"  {part.lead}", limit, "  ")
        for label, text in part.lines:
            margin = f"  {label}{' ' * max(2, _MARGIN - columns(label))}" if label else "  "
            first, *rest = wrap(margin + text, limit, " " * (_MARGIN + 2 if label else 2))
            lines += [first.replace(label, paint(label, "dim", colour), 1) if label else first, *rest]
    return page([*lines, ""])


def _markdown(name: str, parts: Sequence[_Part]) -> Outgoing:
    lines = [f"# `{name}`"]
    for part in parts:
        lines += ["", *([part.lead, ""] if part.lead and part.lines else []), f"## {part.heading}", ""]
        if part.lead and not part.lines:
            lines.append(part.lead)
        lines += [f"- **{label}**: {text}" if label else f"- {text}" for label, text in part.lines]
    return page(lines)
