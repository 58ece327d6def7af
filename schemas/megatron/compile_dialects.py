"""Makes the compiled dialects: each file of `dialects/` with its facts as a plain literal, and the signs of them all.

The file is read here by the same program that reads a user's own (`dialects.py`), so that what is misspelt in it stops
the maker.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..house_yaml import house_yaml
from ..literal_module import literal_module
from . import facts as stored
from .dialects import dialect_of

FOLDER = Path(__file__).with_name("dialects")


def read_dialects() -> list[dict[str, Any]]:
    """The authored dialects with their facts, by name."""
    return [_with_facts(house_yaml(path.read_text("utf-8"))) for path in sorted(FOLDER.glob("*.yaml"))]


def _with_facts(content: dict[str, Any]) -> dict[str, Any]:
    facts = stored.read(str(FOLDER / content.pop("facts"))).arguments
    versions: dict[str, dict[str, Any]] = content["versions"]
    for version, more in versions.items():
        like = more.get("like")
        for entry in facts:
            if like in entry["versions"] and version not in entry["versions"]:
                entry["versions"].append(version)
    return {**content, "arguments": [*facts, *content.get("arguments", [])]}


def _options(one: dict[str, Any]) -> list[str]:
    options: list[str] | str = one["options"]
    return options.split() if isinstance(options, str) else options


def _masks(arguments: list[dict[str, Any]], order: list[str], usual: set[str]) -> dict[str, int]:
    """Which versions take an option, and which a choice of it that others do not, a bit each; not what is usual."""
    masks: dict[str, int] = {}
    for one in arguments:
        bits = sum(1 << at for at, version in enumerate(order) if version in one["versions"])
        words = [option for option in _options(one) if option.startswith("--")]
        words += [f"{option} {choice}" for option in words for choice in one.get("choices", ())]
        masks.update({word: masks.get(word, 0) | bits for word in words})
    everywhere = (1 << len(order)) - 1
    return {word: bits for word, bits in masks.items() if word not in usual and (" " not in word or bits < everywhere)}


def products() -> dict[str, str]:
    """The compiled modules."""
    files: dict[str, str] = {}
    signs: list[tuple[Any, ...]] = []
    megatrons = stored.read().arguments
    nobodys = {option for one in megatrons for option in one["options"]}
    taken = {
        f"{option} {choice}" for one in megatrons for option in one["options"] for choice in one.get("choices", ())
    }
    for content in read_dialects():
        name = str(content["name"])
        order = list(content["versions"])
        for version in order:
            dialect_of(content, version, f"dialects/{name}.yaml")
        given = content.get("signs") or {}
        base = {option for one in stored.read().of(str(content["base"])) for option in one["options"]}
        masks = _masks(content["arguments"], order, base | taken)
        values = tuple(tuple(one) for one in given.get("values", ()))
        own = tuple(word for word in masks if " " not in word and word not in nobodys) + tuple(
            f"{option} {choice}"
            for one in content["arguments"]
            for option in nobodys.intersection(_options(one))
            for choice in one.get("choices", ())
            if f"{option} {choice}" not in taken
        )
        signs.append((name, tuple(order), tuple(given.get("scripts", ())), values, tuple(dict.fromkeys(own)), masks))
        about = f"The dialect {name}; compiled from dialects/{name}.yaml."
        files[f"schemas/megatron/dialect_{name.replace('-', '_')}_compiled.py"] = literal_module(about, CONTENT=content)
    about = "What a dialect is recognised by; compiled from dialects/*.yaml."
    files["schemas/megatron/dialect_signs_compiled.py"] = literal_module(about, SIGNS=tuple(signs))
    return files
