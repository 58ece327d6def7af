"""Compile the static graph's facts (`facts.yaml`, `judged.yaml`) into modules that import in a millisecond.

Run `python -m accmap.schemas.mindformers.compile_static` after either changed; a test compares the two.
"""

from __future__ import annotations

import os
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


def compiled_path(version: str) -> str:
    """Where the compiled module of a version stands."""
    return os.path.join(os.path.dirname(__file__), f"static_{version.replace('.', '_')}_compiled.py")


def main() -> None:
    """Write every compiled module."""
    for version in VERSIONS:
        with open(compiled_path(version), "w", encoding="utf-8") as stream:
            stream.write(rendered(version))


if __name__ == "__main__":
    main()
