"""Compile the facts (`facts.yaml`, `judged.yaml`) into modules that import in a millisecond: one a version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..versions import names_with_facts
from .catalog_source import dynamic_facts, static_facts
from .shape import is_mapping

if TYPE_CHECKING:
    from typing import Literal

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


def products() -> dict[str, str]:
    """The compiled module of every version."""
    graphs: tuple[Literal["static", "dynamic"], ...] = ("static", "dynamic")
    return {
        f"schemas/mindformers/{graph}_{version.replace('.', '_')}_compiled.py": rendered(graph, version)
        for graph in graphs
        for version in names_with_facts("mindformers", graph)
    }
