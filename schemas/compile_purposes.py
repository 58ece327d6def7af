"""Makes `purposes_compiled.py` from `purposes.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .house_yaml import house_yaml
from .literal_module import literal_module

SOURCE = Path(__file__).with_name("purposes.yaml")
KINDS = ("training", "post-training", "other-model", "data", "conversion", "inference", "evaluation", "tool")
_NOTHING = ("", "")


def products() -> dict[str, str]:
    """The compiled module."""
    content: dict[str, Any] = house_yaml(SOURCE.read_text("utf-8"))
    mindformers = content["mindformers"]
    tables: dict[str, object] = {
        "PROGRAMS": tuple(_program(entry, "name") for entry in content["programs"]),
        "MODULES": tuple(_program(entry, "name") for entry in content["modules"]),
        "ENGINES": tuple(
            (*_program(entry, "name"), tuple(_words(entry)), tuple(entry["decides"])) for entry in content["engines"]
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
    return {"schemas/purposes_compiled.py": literal_module(about, **tables)}


def _words(entry: dict[str, Any]) -> list[tuple[str, ...]]:
    words: list[list[str]] = entry["words"]
    return [tuple(row) for row in words]


def _program(entry: dict[str, Any], name: str) -> tuple[str, ...]:
    """Name, kind, what it is in both languages, what is lost in both, and whose parser reads its arguments."""
    if entry["kind"] not in KINDS or (entry["kind"] != "training" and "what" not in entry):
        raise ValueError(f"{entry[name]}: {entry['kind']!r} is no kind, or nothing says what it is")
    what = _pair(entry.get("what", _NOTHING))
    return (entry[name], entry["kind"], *what, *_pair(entry.get("lost", _NOTHING)), entry.get("parser", "megatron"))


def _pair(texts: Any) -> tuple[str, str]:
    english, chinese = texts
    return str(english), str(chinese)
