"""Compile the authored `dynamic_*.json` catalogs to the literal modules that `dynamic.py` loads."""

from __future__ import annotations

import json
import os
from pprint import pformat

from ..versions import names_with_facts

VERSIONS = names_with_facts("mindformers", "dynamic")
_HERE = os.path.dirname(os.path.abspath(__file__))


def compiled_text(version: str) -> str:
    """The text of the literal module for a version."""
    with open(_path(version, ".json"), encoding="utf-8") as stream:
        catalog = json.load(stream)
    head = f'"""TrainConfig of MindSpore Transformers {version}, compiled from dynamic_{_slug(version)}.json."""\n\n'
    return f"{head}CATALOG = {pformat(catalog, width=118, compact=True)}\n"


def products() -> dict[str, str]:
    """The compiled module of every version."""
    return {f"schemas/mindformers/dynamic_{_slug(version)}_compiled.py": compiled_text(version) for version in VERSIONS}


def _path(version: str, ending: str) -> str:
    return os.path.join(_HERE, f"dynamic_{_slug(version)}{ending}")


def _slug(version: str) -> str:
    return version.replace(".", "_")
