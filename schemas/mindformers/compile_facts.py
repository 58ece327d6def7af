"""Compile the facts (`facts.yaml`, `judged.yaml`) into modules that import in a millisecond: one a version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compilers.tables import literal_module, load_table
from ..plain_values import is_mapping
from ..versions import default_name, names_with_facts
from .catalog_source import dynamic_facts, static_facts

if TYPE_CHECKING:
    from typing import Literal

MODEL_TYPE = ("model", "model_config", "model_type")
MEANINGS = Path(__file__).with_name("meanings.yaml")
FACTS = {"static": static_facts, "dynamic": dynamic_facts}


def rendered(graph: Literal["static", "dynamic"], version: str) -> str:
    """The text of the compiled module of one version."""
    lines = [
        f'"""Facts of MindSpore Transformers {version}, {graph} graph: compiled from facts.yaml and judged.yaml."""'
    ]
    lines += ["", "CATALOG = {"]
    for section, content in FACTS[graph](version).items():
        if is_mapping(content):
            entries: dict[str, Any] = content
            lines.append(f"    {section!r}: {{")
            lines += [f"        {key!r}: {value!r}," for key, value in entries.items()]
            lines.append("    },")
        else:
            lines.append(f"    {section!r}: {content!r},")
    return "\n".join([*lines, "}", ""])


def _told(facts: dict[str, Any]) -> set[tuple[str, ...]]:
    """The keys that a version's static graph knows by their paths, and the classes behind the path that names them."""
    sections: dict[str, Any] = facts["sections"]
    general = sections["general_config"]["defaults"]
    mappings = {name: one["defaults"] for name, one in sections.items() if is_mapping(one["defaults"])}
    inner: set[tuple[str, ...]] = {
        (name, key) for name, keys in mappings.items() if name != "general_config" for key in keys
    }
    classes: set[tuple[str, ...]] = {(*MODEL_TYPE, name) for name in facts["names"] if not name.startswith("mcore_")}
    return inner | classes | {(name,) for name in (*general, *sections)}


def only_in() -> tuple[tuple[tuple[str, ...], tuple[str, ...] | None, str], ...]:
    """Paths of keys, or of keys with values, that the usual version does not know, and the newest one that does."""
    known = _told(static_facts(default_name("mindformers", "static")))
    found: list[tuple[tuple[str, ...], tuple[str, ...] | None, str]] = []
    for version in reversed(names_with_facts("mindformers", "static")):
        new = _told(static_facts(version)) - known
        known |= new
        types = tuple(sorted(path[-1] for path in new if path[:-1] == MODEL_TYPE))
        found += [(MODEL_TYPE, types, version)] if types else []
        found += [(path, None, version) for path in sorted(new) if path[:-1] != MODEL_TYPE]
    return tuple(found)


def products() -> dict[str, str]:
    """The compiled module of every version, and of what tells versions apart."""
    graphs: tuple[Literal["static", "dynamic"], ...] = ("static", "dynamic")
    about = "Keys that one version of MindSpore Transformers knows and the usual one does not: made from facts.yaml."
    meanings = load_table(MEANINGS.read_text("utf-8"))
    said = "What keys mean, for the typed models; compiled from meanings.yaml."
    return {
        "schemas/mindformers/only_in_compiled.py": literal_module(about, ONLY_IN=only_in()),
        "schemas/mindformers/meanings_compiled.py": literal_module(said, MEANINGS=meanings),
    } | {
        f"schemas/mindformers/{graph}_{version.replace('.', '_')}_compiled.py": rendered(graph, version)
        for graph in graphs
        for version in names_with_facts("mindformers", graph)
    }
