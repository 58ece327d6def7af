"""Makes the compiled dialects: each file of `dialects/` with its facts as a plain literal, and the signs of them all.

The file is read here by the same program that reads a user's own (`dialects.py`), so that what is misspelt in it stops
the maker.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...compilers.tables import literal_module, load_table
from ..dialects import base_of, dialect_of
from . import fact_store

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(__file__).parents[1] / "dialects"


def _with_facts(content: dict[str, Any]) -> dict[str, Any]:
    """Dialect content with the extracted argument facts merged in."""
    named = content.pop("facts", None)
    for of_extraction in ("sections", "tree", "presets"):
        content.pop(of_extraction, None)
    facts = [] if named is None else fact_store.read(str(FOLDER / named)).arguments
    versions: dict[str, dict[str, Any]] = content["versions"]
    for version, more in versions.items():
        like = more.get("like")
        for entry in facts:
            if like in entry["versions"] and version not in entry["versions"]:
                entry["versions"].append(version)
    return {**content, "arguments": [*facts, *content.get("arguments", [])]}


def products() -> dict[str, str]:
    """Text of the compiled modules by file name, for the generator."""
    files: dict[str, str] = {}
    signs: list[tuple[Any, ...]] = []
    for content in [_with_facts(load_table(path.read_text("utf-8"))) for path in sorted(FOLDER.glob("*.yaml"))]:
        name = str(content["name"])
        for version in content["versions"]:
            dialect_of(content, version, f"dialects/{name}.yaml")
        signs.append(_signs(content))
        about = f"The dialect {name}; compiled from dialects/{name}.yaml."
        files[f"schemas/megatron/dialect_{name.replace('-', '_')}_compiled.py"] = literal_module(about, CONTENT=content)
    files.update(_preset_modules())
    about = "What a dialect is recognised by; compiled from dialects/*.yaml."
    files["schemas/megatron/dialect_signs_compiled.py"] = literal_module(about, SIGNS=tuple(signs))
    return files


def _preset_modules() -> dict[str, str]:
    """Text of the preset modules of a dialect by file name."""
    files: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*-presets.json")):
        rows: list[tuple[str, list[str], Any]] = json.loads(path.read_text("utf-8"))
        versions = sorted({version for _, held, _ in rows for version in held})
        presets = {version: {name: told for name, held, told in rows if version in held} for version in versions}
        about = f"Presets of a dialect by version and path; compiled from dialects/{path.name}."
        module = f"schemas/megatron/dialect_{path.stem.replace('-', '_')}_compiled.py"
        files[module] = literal_module(about, PRESETS=presets)
    return files


def _signs(content: dict[str, Any]) -> tuple[Any, ...]:
    """Compiled record by which files of a fork are recognized.

    Where `words` are named they alone are the fork's own: the others may be anybody's.
    """
    facts, order = fact_store.read(), list(content["versions"])
    given: dict[str, Any] = content.get("signs") or {}
    usual = _words(facts.of(str(content["base"])))
    masks = _masks(content["arguments"], order, set() if "alone" in content else usual)
    options = {word for word in _words(facts.arguments) if " " not in word}
    choices = _words(content["arguments"]) - _words(facts.arguments)
    own = [word for word in masks if " " not in word and word not in options]
    own += sorted(word for word in choices if word.partition(" ")[0] in options)
    own = given.get("words", own)
    values = tuple(tuple(one) for one in given.get("values", ()))
    like = sum(1 for one in content["versions"].values() if "like" in one)
    bases = tuple(base_of(content, version) for version in order)
    return (
        str(content["name"]),
        tuple(order),
        tuple(given.get("scripts", ())),
        values,
        tuple(own),
        masks,
        like,
        bases if len(set(bases)) > 1 else (),  # one base for all tells nothing
        tuple((version, more["mark"]) for version, more in reversed(content["versions"].items()) if "mark" in more),
    )


def _words(arguments: Iterable[dict[str, Any]]) -> set[str]:
    """The options of some arguments, and each with its choices."""
    return {word for one in arguments for word in _option_words(one)}


def _option_words(one: dict[str, Any]) -> list[str]:
    options: list[str] | str = one["options"]
    words = [word for word in (options.split() if isinstance(options, str) else options) if word.startswith("--")]
    return words + [f"{option} {choice}" for option in words for choice in one.get("choices", ())]


def _masks(arguments: list[dict[str, Any]], order: list[str], usual: set[str]) -> dict[str, int]:
    """Bit mask of versions for each distinctive option or choice."""
    masks: dict[str, int] = {}
    for one in arguments:
        held = one.get("versions", order)
        bits = sum(1 << at for at, version in enumerate(order) if version in held)
        masks.update({word: masks.get(word, 0) | bits for word in _option_words(one)})
    everywhere = (1 << len(order)) - 1
    return {word: bits for word, bits in masks.items() if word not in usual and (" " not in word or bits < everywhere)}
