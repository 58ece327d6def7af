"""What is computed of a `config.json` is what transformers' own classes have: parameters, frequencies, scales."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accmap.mapper.recipe.reading import recipe_of
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

HERE = Path(__file__).parent
CASES: dict[str, dict[str, Any]] = load_table((HERE / "models.yaml").read_text("utf-8"))["cases"]
PYTHONS = [sys.executable, *filter(None, os.environ.get("ACCMAP_TRANSFORMERS", "").split(":"))]
"""The interpreter of the tests, and others that have other versions of transformers."""
pytestmark = pytest.mark.frameworks


def _told(keys: dict[str, Any], version: str) -> dict[str, Any]:
    text = json.dumps({**keys, "transformers_version": version}, indent=2)
    recipe = recipe_of(config_of(SourceText("config.json", text), ReadOptions(), path="config.json"))
    return {name: value.value for name, value in recipe.fields.items() if name.startswith("computed.")}


@pytest.mark.parametrize("python", PYTHONS)
def test_computed_quantities_are_those_of_the_real_classes(python: str) -> None:
    pytest.importorskip("transformers")
    program = [python, "-W", "ignore", str(HERE / "ask_transformers.py")]
    answer = subprocess.run(program, input=json.dumps(CASES), capture_output=True, text=True, check=True)
    version = subprocess.run(
        [python, "-c", "import transformers; print(transformers.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    real: dict[str, dict[str, Any]] = json.loads(answer.stdout.splitlines()[-1])
    assert len({keys["model_type"] for keys in CASES.values()}) >= 12
    for name, keys in CASES.items():
        told = _told(keys, version)
        assert told["computed.parameters"] == real[name]["parameters"], name
        if "scale" in real[name]:
            assert told["computed.attention_scale"] == pytest.approx(real[name]["scale"], rel=1e-7), name
        if "frequencies" not in real[name]:
            assert told["computed.rotary_frequencies"] is None, name
            continue
        frequencies = told["computed.rotary_frequencies"]
        assert frequencies["count"] == len(real[name]["frequencies"]), name
        for place, value in frequencies.items():
            if place.isdigit():
                assert value == pytest.approx(real[name]["frequencies"][int(place)], rel=2e-6), name
        assert told["computed.rotary_amplitude"] == pytest.approx(real[name]["amplitude"], rel=1e-6), name
