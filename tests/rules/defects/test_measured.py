"""Known defects that were measured: the experiment again, on the real code of an affected and of a mended version."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from accmap.rules.defects_listed_compiled import LISTED
from accmap.schemas.compilers.tables import load_table

HERE = Path(__file__).parent
TREES = os.environ.get("ACCMAP_MEGATRON_TREES", "")
WHEELS = HERE.parents[2] / ".frameworks" / "mindformers"
MEASURED: dict[str, dict[str, Any]] = load_table((HERE / "measured.yaml").read_text("utf-8"))


def test_every_measurement_is_repeated() -> None:
    told = {code: row["evidence"]["test"] for code, row in LISTED.items() if row["evidence"]["kind"] == "measured"}
    assert told == {code: f"tests/rules/defects/test_measured.py::test_measured[{code}]" for code in MEASURED}


@pytest.mark.parametrize("code", MEASURED)
def test_what_was_measured_is_what_is_listed(code: str) -> None:
    affected = LISTED[code]["in"]
    assert MEASURED[code]["has"] in affected
    assert MEASURED[code].get("mended", "none so far") not in affected
    assert ("mended" in MEASURED[code]) == (LISTED[code]["affected"]["fixed"] is not None)


@pytest.mark.frameworks
@pytest.mark.parametrize("code", MEASURED)
def test_measured(code: str) -> None:
    row = MEASURED[code]
    asked = [(row["has"], row["finds"]), *([(row["mended"], row["then"])] if "mended" in row else [])]
    for version, expected in asked:
        found = figures(code, version)
        for name, value in expected.items():
            assert found.get(name) == (pytest.approx(value, rel=1e-3) if isinstance(value, float) else value), (
                version,
                found,
            )


def figures(code: str, version: str) -> dict[str, Any]:
    if LISTED[code]["framework"] == "megatron":
        tree, program, codes = Path(TREES, version), "experiments.py", (code,)
    else:
        tree, program, codes = WHEELS / f"{version}.0", "experiments_mindformers.py", told_of(version)
    if not tree.is_dir() or (program == "experiments.py" and not TREES):
        pytest.skip(f"there is no source of {version}")
    return answers(HERE / program, tree, codes)[code]


def told_of(version: str) -> tuple[str, ...]:
    """The experiments on one version of MindSpore Transformers: they leave each other alone, so one process has all."""
    rows = ((code, row) for code, row in MEASURED.items() if LISTED[code]["framework"] == "mindformers")
    return tuple(code for code, row in rows if version in (row["has"], row.get("mended")))


@cache
def answers(program: Path, tree: Path, codes: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    ran = subprocess.run(
        [sys.executable, str(HERE.parents[1] / "framework_run.py"), str(program), str(tree), *codes],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "TORCHDYNAMO_DISABLE": "1"},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout.splitlines()[-1])
