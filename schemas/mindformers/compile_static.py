"""Compile the static graph's facts (`static_*.json`) into modules that import in a millisecond."""

from __future__ import annotations

import json
import os
from typing import Any

from ..versions import names_with_facts
from .shape import is_mapping

VERSIONS = names_with_facts("mindformers", "static")


def rendered(version: str) -> str:
    """The text of the compiled module of one version."""
    with open(_path(version, ".json"), encoding="utf-8") as stream:
        facts: dict[str, Any] = json.load(stream)
    lines = [
        f'"""Facts of MindSpore Transformers {version}, static graph: compiled from static_{_slug(version)}.json."""'
    ]
    lines += ["", "CATALOG = {"]
    for section, content in facts.items():
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
    return {f"schemas/mindformers/static_{_slug(version)}_compiled.py": rendered(version) for version in VERSIONS}


def _slug(version: str) -> str:
    return version.replace(".", "_")


def _path(version: str, ending: str) -> str:
    return os.path.join(os.path.dirname(__file__), f"static_{_slug(version)}{ending}")
