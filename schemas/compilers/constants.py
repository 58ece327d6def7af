"""Makes `NAME_compiled.py` of each `NAME.yaml` of plain constants, and the modules of `purposes` and `versions.yaml`.

`python -m accmap.schemas.compilers.constants FRAMEWORK` prints the distributions that hold the sources of its versions.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from .tables import freeze, literal_module, load_table

ROOT = Path(__file__).resolve().parents[2]
TABLES = {
    "schemas/addresses": "Addresses at which accmap is published",
    "mappings/keys": "Keys that are asked for by what they are",
    "mappings/inference": "Settings of inference",
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
    "verifier/fork_flags": "Flags of forks whose meaning was compared with the fork's source",
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
    return {**constants, **versions_product(), "schemas/purposes_compiled.py": _purposes_module()}


def _purposes_module() -> str:
    """Source text of the module with tables of programs and file purposes."""
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
            (
                *_program(entry, "dest"),
                str(entry.get("with", "")),
                entry.get("over") == "any",
                tuple(entry.get("is", ())),
            )
            for entry in content["arguments"]
        ),
        "MINDFORMERS_KEYS": frozenset(mindformers["keys"]),
        "SHARED_KEYS": frozenset(mindformers["shared_keys"]),
        "SECTIONS": frozenset(mindformers["sections"]),
        "RUN_MODES": tuple(_program(entry, "name") for entry in mindformers["run_modes"]),
        "FINE_TUNING": tuple(
            _program({**entry, "kind": "post-training"}, "key") for entry in mindformers["fine_tuning"]
        ),
        "RECIPES_OF_OTHERS": tuple(
            (tuple(entry["marks"]), *_english_and_chinese(entry["what"]), *_english_and_chinese(entry["instead"]))
            for entry in content["recipes_of_others"]
        ),
        "OTHER_YAML": tuple(
            (
                tuple(entry.get("all", ())),
                tuple(entry.get("any", ())),
                *_english_and_chinese(entry["what"]),
                entry.get("kind", ""),
            )
            for entry in content["yaml"]
        ),
    }
    about = "What a file is for; compiled from purposes.yaml."
    return literal_module(about, **tables)


def _program(entry: dict[str, Any], name: str) -> tuple[str, ...]:
    """Name, kind, texts and argument parser of a program's table entry."""
    if entry["kind"] not in KINDS or (entry["kind"] != "training" and "what" not in entry):
        raise ValueError(f"{entry[name]}: {entry['kind']!r} is no kind, or nothing says what it is")
    what = _english_and_chinese(entry.get("what", _NOTHING))
    return (
        entry[name],
        entry["kind"],
        *what,
        *_english_and_chinese(entry.get("lost", _NOTHING)),
        entry.get("parser", "megatron"),
    )


def _english_and_chinese(texts: Any) -> tuple[str, str]:
    english, chinese = texts
    return str(english), str(chinese)


VERSIONS_SOURCE = Path(__file__).resolve().parent.with_name("versions.yaml")
DIALECTS = {
    "megatron": ("megatron",),
    "mindformers": ("static", "dynamic", "legacy"),
    "huggingface": ("transformers",),
}
USES = ("default", "target", "read", "write", "verify")
_MEMBERS = {"name", "number", "label", "tag", "wheel", "install", "mark", "trees", "facts"}


def read_versions() -> dict[str, list[dict[str, Any]]]:
    """The authored list by framework; ValueError where a line is malformed."""
    content: dict[str, list[dict[str, Any]]] = load_table(VERSIONS_SOURCE.read_text("utf-8"))
    if set(content) != set(DIALECTS):
        raise ValueError(f"{VERSIONS_SOURCE}: {sorted(content)} are not {sorted(DIALECTS)}")
    for framework, entries in content.items():
        _check_versions(framework, entries)
    return content


def _check_versions(framework: str, entries: list[dict[str, Any]]) -> None:
    """ValueError if version entries are malformed, out of order or without one default."""
    dialects = DIALECTS[framework]
    names = [entry.get("name") for entry in entries]
    for entry in entries:
        wrong = _wrong_with(entry, dialects, names)
        if wrong:
            raise ValueError(f"{VERSIONS_SOURCE}: {framework} {entry.get('name')}: {wrong}")
    if len(set(names)) < len(names) or sorted(entries, key=lambda entry: _version_number(entry) or ()) != entries:
        raise ValueError(f"{VERSIONS_SOURCE}: {framework} is not in the order of its versions")
    for dialect in dialects:
        usual = [entry["name"] for entry in entries if "default" in entry.get(dialect, "").split()]
        if len(usual) != (dialect != "legacy"):  # what no version is for by default is never assumed
            raise ValueError(f"{VERSIONS_SOURCE}: {dialect} has {len(usual)} defaults")


def _wrong_with(entry: dict[str, Any], dialects: tuple[str, ...], names: list[Any]) -> str:
    """Mistake in a version's entry; empty if there is none."""
    strange = set(entry) - _MEMBERS - set(dialects)
    if strange or not isinstance(entry.get("name"), str) or not set(entry) & set(dialects):
        return str(sorted(strange)) if strange else "its name is a text, and it has a dialect"
    if not {"tag", "wheel"} & set(entry):
        return "says not where its source is"
    if _version_number(entry) is None:
        return "a name without two numbers needs `number`"
    unknown = {dialect: set(entry.get(dialect, "").split()) - set(USES) for dialect in dialects}
    for dialect, uses in unknown.items():
        if uses:
            return f"{dialect} has no {sorted(uses)}"
    return "" if set(entry.get("facts", {}).values()) <= set(names) else "its facts are of no version"


def _version_number(entry: dict[str, Any]) -> tuple[int, ...] | None:
    parts = str(entry.get("number", entry["name"])).split(".")
    return tuple(map(int, parts)) if len(parts) == 2 and all(part.isdecimal() for part in parts) else None


def versions_product() -> dict[str, str]:
    """Text of the compiled versions module by file name."""
    rows: list[tuple[Any, ...]] = []
    numbers: dict[str, tuple[int, ...] | None] = {}
    marks: dict[str, tuple[tuple[str, str], ...]] = {}
    trees: dict[str, str] = {}
    for framework, entries in read_versions().items():
        marks[framework] = tuple((entry["name"], entry["mark"]) for entry in reversed(entries) if "mark" in entry)
        for entry in entries:
            trees.update(dict.fromkeys(entry.get("trees", ()), entry["name"]))
            if "number" in entry:
                numbers[entry["name"]] = _version_number(entry)
            rows += [_version_row(framework, dialect, entry) for dialect in DIALECTS[framework] if dialect in entry]
    about = "The versions of the frameworks; compiled from versions.yaml."
    made = literal_module(about, VERSIONS=tuple(rows), NUMBERS=numbers, MARKS=marks, TREES=trees)
    return {"schemas/versions_compiled.py": made}


def _version_row(framework: str, dialect: str, entry: dict[str, Any]) -> tuple[Any, ...]:
    facts = entry.get("facts", {}).get(dialect, entry["name"])
    told = (entry.get("label"), entry.get("tag"), entry.get("wheel"), entry.get("install", entry.get("wheel")))
    return (framework, entry["name"], dialect, tuple(entry[dialect].split()), facts, *told)


def main(framework: str) -> None:
    """Print the wheels of a framework."""
    print("\n".join(entry["wheel"] for entry in read_versions()[framework] if "wheel" in entry))


if __name__ == "__main__":
    main(sys.argv[1])
