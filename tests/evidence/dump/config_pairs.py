"""Pairs for the tests of dump configurations: small runs, changed by a few flags and keys."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accmap.evidence.dump.config_request import Subject, subject_of
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/verifier/pairs"))
from pair_files import TABLE, write_pair  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping


def pair_of(name: str, folder: Path, changes: Mapping[str, Any] | None = None) -> Subject:
    """A pair of `tests/verifier/pairs/pairs.yaml`, with changes on top, as the commands read it."""
    changes = changes or {}
    known = TABLE["equal"][name]
    pair = {
        "family": known["family"],
        "megatron": {"global-batch-size": 2, **known.get("megatron", {}), **changes.get("megatron", {})},
        "model": {**known.get("model", {}), **changes.get("model", {})},
        "mindformers": {**known.get("mindformers", {}), **changes.get("mindformers", {})},
    }
    script, yaml = write_pair(pair, folder)
    options = ReadOptions(world_size=changes.get("devices"))
    return subject_of([read_config(str(script), options), read_config(str(yaml), options)], options)
