"""Compile the dynamic graph's facts (`facts.yaml`) to the literal modules that `dynamic.py` loads."""

from __future__ import annotations

from pprint import pformat

from ..versions import names_with_facts
from .catalog_source import dynamic_facts

VERSIONS = names_with_facts("mindformers", "dynamic")


def compiled_text(version: str) -> str:
    """The text of the literal module for a version."""
    head = f'"""TrainConfig of MindSpore Transformers {version}, compiled from facts.yaml."""\n\n'
    return f"{head}CATALOG = {pformat(dynamic_facts(version), width=118, compact=True)}\n"


def products() -> dict[str, str]:
    """The compiled module of every version."""
    return {
        f"schemas/mindformers/dynamic_{version.replace('.', '_')}_compiled.py": compiled_text(version)
        for version in VERSIONS
    }
