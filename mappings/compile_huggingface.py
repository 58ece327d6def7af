"""Makes `huggingface.yaml` a module: for every family and version the fields in order, each a function of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..schemas.compilers.rows import LINE, Names, TableError, plain, read_table
from ..schemas.huggingface.extract import read_families
from ..schemas.versions import versions_in
from . import huggingface_functions

SOURCE = Path(__file__).with_name("huggingface.yaml")
WRITTEN = Path(__file__).with_name("huggingface_written.yaml")
NAME = "mappings/huggingface.yaml"
CONTEXT = ("rope",)
BUILTINS = ("float", "int")
_MEMBERS = {"section", "source", "families", "versions", "fields", LINE}


def sections() -> list[dict[str, Any]]:
    """The sections in order; an error where one is malformed."""
    found: list[dict[str, Any]] = read_table(str(SOURCE))["sections"]
    for one in found:
        if set(one) - _MEMBERS or not {"section", "source", "fields"} <= set(one):
            raise TableError(NAME, one, f"this is no section: {sorted(set(one) - {LINE})}")
    return found


def names(facts: dict[str, Any], family: str) -> Names:
    """The names that the expressions of a family may read: the keys that its class takes, in any version."""
    classes = [facts[version]["families"][family] for version in facts]
    known = {key for one in classes for key in (*one["defaults"], *one["renamed"])} | _COMMON

    def place(name: str) -> str | None:
        return name if name in known else None

    return Names(dir(huggingface_functions), CONTEXT, BUILTINS, place)


_COMMON = {"head_dim", "hidden_size", "num_hidden_layers"}
"""What the code asks a class for that may have no such argument (`getattr(config, "head_dim", None)`)."""


_OF_ALL = {"torch_dtype", "use_cache", "tie_word_embeddings", "rope_scaling", "rope_theta", "partial_rotary_factor"}
"""What the class of all configurations takes, and what 5 has nested in another key."""


def products() -> dict[str, str]:
    """The compiled module."""
    facts, written = read_families(), sections()
    versions = tuple(facts)
    lines = ['"""What transformers builds, as recipe fields; compiled from huggingface.yaml."""', ""]
    lines += ["from typing import Any", "", "from . import huggingface_functions as f", "", "FIELDS: Any = {"]
    for family in facts[versions[0]]["families"]:
        readable = names(facts, family)
        lines.append(f"    {family!r}: (")
        for one in written:
            if family not in one.get("families", (family,)):
                continue
            held = versions_in(str(one.get("versions", "-")), list(versions))
            for field, text in plain(one["fields"]).items():
                try:
                    value = readable.compile(str(text))
                except ValueError as error:
                    raise TableError(NAME, one, f"{family}: {field}: {error}") from error
                lines.append(f"        ({field!r}, {tuple(held)!r}, {value}),")
        lines.append("    ),")
    lines += ["}", *_writer_lines(facts), f"REASONS: Any = {_reasons()!r}", f"SOURCES = {_sources(written)!r}", ""]
    return {"mappings/huggingface_compiled.py": "\n".join(lines)}


def _writer_lines(facts: dict[str, Any]) -> list[str]:
    """The keys of every family that can be written, as functions of the recipe's fields."""
    content = read_table(str(WRITTEN))
    taken: dict[str, dict[str, str]] = {family: {} for family in content["families"]}
    place = Names(dir(huggingface_functions), (), BUILTINS, lambda name: name if "." in name else None)
    for one in content["sections"]:
        for family in one["families"]:
            for key, text in plain(one["keys"]).items():
                if key not in _known_keys(facts, family):
                    raise TableError(WRITTEN.name, one, f"{family} has no {key}")
                try:
                    taken[family][key] = place.compile(str(text))
                except ValueError as error:
                    raise TableError(WRITTEN.name, one, f"{family}: {key}: {error}") from error
    lines = ["WRITTEN: Any = {"]
    for family, keys in taken.items():
        lines += [f"    {family!r}: (", *(f"        ({key!r}, {text})," for key, text in keys.items()), "    ),"]
    return [*lines, "}"]


def _known_keys(facts: dict[str, Any], family: str) -> set[str]:
    """The keys that a class takes in some version, and those of every class."""
    classes = [facts[version]["families"][family] for version in facts]
    return {key for one in classes for key in (*one["defaults"], *one["renamed"].values())} | _OF_ALL | _COMMON


def _reasons() -> dict[str, tuple[str, str, str]]:
    told: list[dict[str, Any]] = plain(read_table(str(SOURCE))["reasons"])
    return {key: (one["impact"], one["en"], one["zh"]) for one in told for key in one["keys"]}


def _sources(written: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(one["source"]) for one in written))
