"""Makes the authored tables, families and frames into literal modules, and the JSON Schema of a table."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..schemas.compilers.tables import freeze, literal_module, load_table, members
from ..schemas.megatron.catalog import VERSIONS, catalog
from ..schemas.megatron.facts.compile_validation import read_rows
from .model import FamiliesFile, Harmless, SideKeys, Skeleton, StopsFile, TableFile, TransformerConfigFile, UnmappedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


HERE = Path(__file__).parent
FACTS = HERE.parent / "schemas" / "mindformers"
_WORD = re.compile(r"[A-Za-z_]\w*")
TOPICS = (
    "model", "attention", "position", "moe", "precision", "optimizer", "schedule", "batch", "parallel", "recompute",
    "fusion", "data", "training",
)  # fmt: skip
_MODEL = {"static": "model.model_config.", "dynamic": "model."}
_WEIGHT_TABLES = ("blocks", "parameters", "norm", "kind", "aliases", "renames", "splits", "others")
_RECORDS = ("blocks", "parameters")


def topics() -> list[Path]:
    """The table files, in the order of the recipe."""
    return [HERE / f"{topic}.yaml" for topic in TOPICS]


def compile_tables() -> dict[str, Any]:
    """The constants of the compiled tables."""
    rows: list[Any] = []
    notes: list[Any] = []
    gates: dict[str, Any] = {}
    ignored: set[str] = set()
    for path in topics():
        content: dict[str, Any] = load_table(path.read_text(encoding="utf-8"))
        TableFile.model_validate(content)
        for row in content["rows"]:
            rows.append(_row(path.stem, row, content.get("only", []), len(notes)))
            notes.append(_notes(row))
        for row in content["rows"]:
            gates.update({field: _gate(gate) for field, gate in row.get("gates", {}).items()})
            for caveat in row.get("caveats", ()):
                if caveat.get("ignored"):
                    ignored.update(caveat.get("about") or row.get("fields") or [row["field"]])
    reasons, megatron, mindformers = _reasons(rows)
    derived = {row.target for row in read_rows()}
    misspelt = _keys(rows) - derived - {dest for version in VERSIONS for dest in catalog(version).by_dest}
    if misspelt:
        raise ValueError(f"no version of Megatron-LM has an argument of this name: {', '.join(sorted(misspelt))}")
    strange = _mindformers_words(rows) - _known_words()
    if strange:
        raise ValueError(f"no version of MindSpore Transformers has a key of this name: {', '.join(sorted(strange))}")
    return {
        "ROWS": tuple(rows),
        "NOTES": tuple(notes),
        "GATES": gates,
        "IGNORED": tuple(sorted(ignored)),
        "REASONS": reasons,
        "MEGATRON_REASONS": megatron,
        "MINDFORMERS_REASONS": mindformers,
    }


def _gate(gate: dict[str, Any]) -> tuple[Any, ...]:
    """Compiled tuple of a gate's conditions."""
    return (
        conditions(gate.get("counts", ())),
        {side: conditions(held) for side, held in gate.get("unless", {}).items()},
        conditions(gate.get("either", ())),
        conditions(gate.get("certain", ())),
        conditions(gate.get("alike", ())),
        gate.get("through"),
        conditions(gate.get("through_where", ())),
    )


def _row(topic: str, row: dict[str, Any], only: list[Any], number: int) -> tuple[Any, ...]:
    """Compiled tuple of a mapping row."""
    fields = tuple(row["fields"]) if "fields" in row else (row["field"],)
    model = row.get("model")
    both = row.get("mindformers")
    static = row.get("static", model if model is not None else both)
    dynamic = row.get("dynamic", model if model is not None else both)
    return (
        topic,
        fields,
        row["loss"],
        row.get("write", "always" if model is not None else "differs"),
        row.get("impact"),
        conditions(row.get("only", only)),
        _sides(row["megatron"], "", fields),
        _sides(static, _MODEL["static"] if "static" not in row and model is not None else "", fields),
        _sides(dynamic, _MODEL["dynamic"] if "dynamic" not in row and model is not None else "", fields),
        number,
        "caveats" in row,
        row.get("part_of"),
    )


_SELDOM = ("since", "until", "source", "source_since", "source_until", "ignored")


def _notes(row: dict[str, Any]) -> tuple[Any, ...]:
    """Compiled tuple of a row's caveats, sources and notes."""
    note = row.get("note", {"en": "", "zh": ""})
    caveats = tuple(
        (
            caveat.get("to"),
            conditions(caveat["when"]),
            caveat["status"],
            tuple(caveat.get("instead", {}).items()),
            tuple(caveat.get("about", ())),
            caveat["en"],
            caveat["zh"],
            *_leave_out_trailing_none(tuple([caveat.get(name) for name in _SELDOM])),
        )
        for caveat in row.get("caveats", [])
    )
    return caveats, tuple(row["sources"]), note["en"], note["zh"]


def _leave_out_trailing_none(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without what is not said at the end."""
    while values and values[-1] is None:
        values = values[:-1]
    return values


def conditions(entries: Iterable[Sequence[Any]]) -> tuple[Any, ...]:
    """Conditions as a run compares them: a name, a comparison and an operand, which may be None."""
    return tuple(freeze((*entry, None)[:3]) for entry in entries)


def _sides(side: Any, prefix: str, fields: tuple[str, ...]) -> tuple[Any, ...]:
    if side == "none":
        return ()
    if isinstance(side, list):
        variants = cast("list[Any]", side)
        return tuple(_side(variant, prefix, fields) for variant in variants)
    return (_side({"keys": [side]} if isinstance(side, str) else side, prefix, fields),)


def _side(side: dict[str, Any], prefix: str, fields: tuple[str, ...]) -> tuple[Any, ...]:
    """Compiled tuple of one side of a row."""
    keys = side.get("keys") or ([side["key"]] if "key" in side else [])
    resolved = side.get("resolved", [])
    resolved = [resolved] if isinstance(resolved, str) else resolved
    fixed: tuple[Any, ...] | None = None
    if "fixed" in side:
        value = side["fixed"]
        fixed = tuple(cast("list[Any]", value)) if len(fields) > 1 and isinstance(value, list) else (value,)
    return (
        tuple(prefix + key for key in keys),
        side.get("lens", "same"),
        {name: value for name, value in side.items() if name not in SideKeys.model_fields},
        tuple(f"resolved.transformer.{name}" for name in resolved) + tuple(side.get("read", [])),
        tuple(prefix + name for name in side.get("aliases", [])) + tuple(side.get("alternatives", [])),
        fixed,
        side.get("environment"),
        side.get("since"),
        side.get("until"),
    )


def _reasons(rows: list[Any]) -> tuple[Any, dict[str, int], dict[str, int]]:
    """Reasons for keys without a row, and the reason's number for each key of both frameworks."""
    content = load_table((HERE / "unmapped.yaml").read_text(encoding="utf-8"))
    UnmappedFile.model_validate(content)
    mapped = _keys(rows)
    dests = dict.fromkeys(sorted({dest for version in VERSIONS for dest in catalog(version).by_dest} - mapped))
    reasons: list[Any] = []
    megatron: dict[str, int] = {}
    mindformers: dict[str, int] = {}
    for number, entry in enumerate(content["reasons"]):
        reasons.append(
            (
                entry["impact"],
                entry["en"],
                entry["zh"],
                tuple(entry.get("with", ())),
                entry.get("sure", True),
                entry.get("elsewhere", False),
            )
        )
        for pattern in entry.get("megatron", []):
            if entry.get("elsewhere"):
                megatron.setdefault(pattern, number)
            for dest in _match_arguments(dests, pattern):
                megatron.setdefault(dest, number)
            if pattern in mapped:  # a row takes it up in some versions only
                megatron.setdefault(pattern, number)
        for path in entry.get("mindformers", []):
            if mindformers.setdefault(path, number) != number:
                raise ValueError(f"unmapped.yaml has two reasons for {path}")
    return tuple(reasons), megatron, dict(sorted(mindformers.items(), key=lambda entry: -len(entry[0])))


def _match_arguments(dests: Mapping[str, None], pattern: str) -> Iterable[str]:
    """The arguments that a pattern fits: most patterns are names."""
    if not any(sign in pattern for sign in "*?["):
        return (pattern,) if pattern in dests else ()
    return [dest for dest in dests if fnmatchcase(dest, pattern)]


def _keys(rows: list[Any]) -> set[str]:
    """The arguments of Megatron-LM that rows name."""
    return {name for row in rows for side in row[6] for key in side[0] + side[4] for name in key.split("|")}


def _mindformers_words(rows: list[Any]) -> set[str]:
    """The words of the keys of MindSpore Transformers that rows name."""
    return {
        word for row in rows for sides in row[7:9] for side in sides for key in side[0] for word in _WORD.findall(key)
    }


def _known_words() -> set[str]:
    """The words of its facts and of what we make of them, and those of keys that it hands on unread."""
    known = "".join((FACTS / name).read_text("utf-8") for name in ("facts.yaml", "resolution.yaml"))
    handed_on: list[str] = load_table((HERE / "keys.yaml").read_text("utf-8"))["HANDED_ON"]
    return {*_WORD.findall(known), *handed_on}


def compile_families() -> dict[str, Any]:
    """The constants of the compiled families and skeletons."""
    content = load_table((HERE / "families.yaml").read_text(encoding="utf-8"))
    FamiliesFile.model_validate(content)
    families = {
        name: (
            name,
            entry["architecture"],
            entry["trains"],
            entry.get("fixes", {}),
            tuple(entry.get("lacks", ())),
            tuple(entry.get("needs", ())),
            {field: tuple(keys) for field, keys in entry.get("keys", {}).items()},
            entry.get("without_experts", {}),
            conditions(entry.get("prefers", ())),
            entry["source"],
            entry.get("in_dynamic", {}).get("fixes", {}),
            entry.get("in_dynamic", {}).get("without_experts", {}),
        )
        for name, entry in content["families"].items()
    }
    skeletons = load_table((HERE / "skeleton.yaml").read_text(encoding="utf-8"))
    for skeleton in skeletons.values():
        Skeleton.model_validate(skeleton)
    return {"WEIGHTS": content["weights"], "FAMILIES": families, "SKELETONS": skeletons}


def _stops() -> tuple[Any, ...]:
    content = StopsFile.model_validate(_table("stops"))
    return tuple(
        members(stop, "sources", side=side, at=at, when=conditions(stop.when))
        for stop in content.stops
        for side, at in stop.places().items()
    )


def _shared_fields() -> dict[str, Any]:
    """The fields of both frameworks' TransformerConfig, and the reasons why a difference has no effect."""
    content = TransformerConfigFile.model_validate(_table("transformer_config"))
    reasons: list[Harmless] = list(content.reasons.values())
    places = {name: place for place, name in enumerate(content.reasons)}
    fields: list[tuple[Any, ...]] = []
    for field in content.fields:
        why: list[int] = []
        for reason in field.harmless:
            if isinstance(reason, str):
                why.append(places[reason])
            else:
                if reason not in reasons:
                    reasons.append(reason)
                why.append(reasons.index(reason))
        arguments = field.arguments or [field.name]
        fields.append(members(field, arguments=arguments, harmless=why))
    closed = {name: (why.en, why.zh) for name, why in content.closed.items()}
    return {"CLOSED": closed, "REASONS": tuple(map(_reason, reasons)), "FIELDS": tuple(fields)}


def _reason(reason: Harmless) -> tuple[Any, ...]:
    """A reason for a key without a row, as a tuple: conditions and sources, then the texts."""
    own = members(reason, "en", "zh", "sources", when=conditions(reason.when))
    return (*own, reason.en, reason.zh)


def _weights() -> dict[str, Any]:
    """The parameters of both frameworks."""
    table = _table("weights")
    return {name.upper(): tuple(table[name]) if name in _RECORDS else table[name] for name in _WEIGHT_TABLES}


def _huggingface_weights() -> dict[str, Any]:
    """The rows of transformers' parameters, each with its families, relation and True for a transposed matrix."""
    table = _table("weights_huggingface")
    rows: list[tuple[str, tuple[str, ...], str, bool, tuple[str, ...] | None]] = []
    for section in table["parameters"]:
        families = tuple(section["families"]) if "families" in section else None
        for megatron, theirs, *how in section["rows"]:
            names = (theirs,) if isinstance(theirs, str) else tuple(theirs)
            relation = how[0] if how else "same"
            if relation not in ("same", "stacked", "heads") or how[1:] not in ([], ["turned"]):
                raise ValueError(f"weights_huggingface.yaml: {megatron}: {how}")
            rows.append((megatron, names, relation, how[1:] == ["turned"], families))
    homeless = {family: (one["en"], one["zh"]) for family, one in table["homeless"].items()}
    copies: dict[str, Any] = table["copies"]
    repeating: list[list[str]] = copies["rows"]
    return {
        "PARAMETERS": tuple(rows),
        "PREDICTING": tuple(copies["families"]),
        "COPIES": tuple(tuple(row) for row in repeating),
        "PREDICTION": (copies["en"], copies["zh"]),
        "OTHERS": tuple(table["others"]),
        "HOMELESS": homeless,
    }


def _table(name: str) -> dict[str, Any]:
    return load_table((HERE / f"{name}.yaml").read_text("utf-8"))


_CONSTANTS: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "families": (
        "Model families and the frames of written files; compiled from families.yaml and skeleton.yaml.",
        compile_families,
    ),
    "stops": ("What loads and cannot run; compiled from stops.yaml.", lambda: {"STOPS": _stops()}),
    "transformer_config": (
        "The fields of both TransformerConfigs; compiled from transformer_config.yaml.",
        _shared_fields,
    ),
    "weights": ("Parameters of both frameworks; compiled from weights.yaml.", _weights),
    "weights_huggingface": (
        "Parameters of transformers' models; compiled from weights_huggingface.yaml.",
        _huggingface_weights,
    ),
}
"""Compiled module → its first line, and the maker of its constants."""


def products() -> dict[str, str]:
    """The compiled modules: what every reading needs, what only some ask for, and the tables beside the rows."""
    tables = compile_tables()
    notes = tables.pop("NOTES")
    return {
        "mappings/tables_compiled.py": literal_module("The mapping tables; compiled from the YAML files.", **tables),
        "mappings/notes_compiled.py": literal_module(
            "The notes of the mapping tables' rows; compiled from the YAML files.", NOTES=notes
        ),
    } | {f"mappings/{name}_compiled.py": literal_module(about, **make()) for name, (about, make) in _CONSTANTS.items()}
