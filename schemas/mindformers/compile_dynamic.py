"""Compile the dynamic graph's facts (`facts.yaml`) to the literal modules that `dynamic.py` loads.

Run `python -m accmap.schemas.mindformers.compile_dynamic` after they changed; a test checks that they are fresh.
"""

from __future__ import annotations

import os
from pprint import pformat

from ..versions import names_with_facts
from .catalog_source import dynamic_facts

VERSIONS = names_with_facts("mindformers", "dynamic")


def compiled_text(version: str) -> str:
    """The text of the literal module for a version."""
    head = f'"""TrainConfig of MindSpore Transformers {version}, compiled from facts.yaml."""\n\n'
    return f"{head}CATALOG = {pformat(dynamic_facts(version), width=118, compact=True)}\n"


def compiled_path(version: str) -> str:
    """Where the literal module of a version stands."""
    return os.path.join(os.path.dirname(__file__), f"dynamic_{version.replace('.', '_')}_compiled.py")


def main() -> None:
    """Write every literal module."""
    for version in VERSIONS:
        with open(compiled_path(version), "w", encoding="utf-8") as stream:
            stream.write(compiled_text(version))


if __name__ == "__main__":
    main()
