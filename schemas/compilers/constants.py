"""Makes `NAME_compiled.py` of each `NAME.yaml` of plain constants, and `purposes_compiled.py` of `purposes.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .tables import freeze, literal_module, load_table

ROOT = Path(__file__).resolve().parents[2]
TABLES = {
    "mappings/keys": "Keys that are asked for by what they are",
    "schemas/megatron/names": "Flags that stand for others",
    "schemas/mindformers/launch_options": "The options of run_mindformer.py, and keys at the top",
    "evidence/score_names": "Columns of evaluation reports",
    "evidence/seeding": "Code that fixes every seed",
    "evidence/data/names": "Keys that name a tokenizer, and the types of tokens",
    "evidence/dump/names": "Names in dumps, and what both sides call the same",
    "evidence/logs/columns": "Columns of training logs",
    "evidence/logs/gaps": "Gaps between training logs",
    "evidence/weights/number_types": "Number types of weights",
    "evidence/weights/names": "What a checkpoint says of its model",
    "verifier/constants": "What models are built with, and what stands in",
}


KINDS = ("training", "post-training", "other-model", "data", "conversion", "inference", "evaluation", "tool")
_NOTHING = ("", "")


def products() -> dict[str, str]:
    """A module for each table of constants, and the one of the purposes of files."""
    constants = {
        f"{table}_compiled.py": literal_module(
            f"{about}; compiled from {table.rpartition('/')[2]}.yaml.",
            **freeze(load_table((ROOT / f"{table}.yaml").read_text("utf-8"))),
        )
        for table, about in TABLES.items()
    }
    return {**constants, "schemas/purposes_compiled.py": _purposes()}


def _purposes() -> str:
    content: dict[str, Any] = load_table((ROOT / "schemas" / "purposes.yaml").read_text("utf-8"))
    mindformers = content["mindformers"]
    tables: dict[str, object] = {
        "PROGRAMS": tuple(_program(entry, "name") for entry in content["programs"]),
        "MODULES": tuple(_program(entry, "name") for entry in content["modules"]),
        "ENGINES": tuple(
            (*_program(entry, "name"), tuple(tuple(map(str, row)) for row in entry["words"]), tuple(entry["decides"]))
            for entry in content["engines"]
        ),
        "RECIPES": tuple(_program(entry, "name") for entry in content["recipes"]),
        "ARGUMENTS": tuple(
            (*_program(entry, "dest"), str(entry.get("with", "")), entry.get("over") == "any")
            for entry in content["arguments"]
        ),
        "MINDFORMERS_KEYS": frozenset(mindformers["keys"]),
        "SHARED_KEYS": frozenset(mindformers["shared_keys"]),
        "SECTIONS": frozenset(mindformers["sections"]),
        "RUN_MODES": tuple(_program(entry, "name") for entry in mindformers["run_modes"]),
        "FINE_TUNING": tuple(
            _program({**entry, "kind": "post-training"}, "key") for entry in mindformers["fine_tuning"]
        ),
        "OTHER_YAML": tuple(
            (tuple(entry.get("all", ())), tuple(entry.get("any", ())), *_pair(entry["what"]), bool(entry.get("own")))
            for entry in content["yaml"]
        ),
    }
    about = "What a file is for; compiled from purposes.yaml."
    return literal_module(about, **tables)


def _program(entry: dict[str, Any], name: str) -> tuple[str, ...]:
    """Name, kind, what it is in both languages, what is lost in both, and whose parser reads its arguments."""
    if entry["kind"] not in KINDS or (entry["kind"] != "training" and "what" not in entry):
        raise ValueError(f"{entry[name]}: {entry['kind']!r} is no kind, or nothing says what it is")
    what = _pair(entry.get("what", _NOTHING))
    return (entry[name], entry["kind"], *what, *_pair(entry.get("lost", _NOTHING)), entry.get("parser", "megatron"))


def _pair(texts: Any) -> tuple[str, str]:
    english, chinese = texts
    return str(english), str(chinese)
