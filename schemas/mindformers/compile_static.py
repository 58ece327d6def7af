"""Compile the static graph's facts (`facts.yaml`, `judged.yaml`) into modules that import in a millisecond."""

from __future__ import annotations

from typing import Any

from ..versions import names_with_facts
from .catalog_source import static_facts
from .shape import is_mapping

VERSIONS = names_with_facts("mindformers", "static")


def rendered(version: str) -> str:
    """The text of the compiled module of one version."""
    lines = [
        f'"""Facts of MindSpore Transformers {version}, static graph: compiled from facts.yaml and judged.yaml."""'
    ]
    lines += ["", "CATALOG = {"]
    for section, content in static_facts(version).items():
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
    return {
        f"schemas/mindformers/static_{version.replace('.', '_')}_compiled.py": rendered(version) for version in VERSIONS
    }
