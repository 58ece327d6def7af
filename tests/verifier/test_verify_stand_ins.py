"""Every stand-in that computes something, against a reference: values and gradients; and none of them stays behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.frameworks
RUN = Path(__file__).parents[1] / "framework_run.py"


def answer(module: str, *words: str, before: tuple[str, ...] = ()) -> dict[str, Any]:
    """Run a proof in a process of its own: frameworks are not unloaded again."""
    done = subprocess.run(
        [sys.executable, str(RUN), "-c", f"from {module} import main; main(*{words!r})"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(*before),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def environment(*before: str) -> dict[str, str]:
    paths = [*before, str(Path(__file__).parent / "proofs"), *(path for path in sys.path if path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def test_the_stand_ins_of_megatron() -> None:
    pytest.importorskip("torch")
    found = answer("torch_proofs")
    assert found["errors"]
    assert max(found["errors"].values()) < 1e-5, found["errors"]
    assert found["left_behind"] == []


def test_the_stand_ins_of_mindformers() -> None:
    pytest.importorskip("mindspore")
    pytest.importorskip("mindformers")
    found = answer("mindspore_proofs")
    assert max(found["errors"].values()) < 1e-5, found["errors"]
    assert found["left_behind"] == []
    # The reason for one of them: the framework's own gradient is wrong.
    assert found["own_split_gradient_error"] > 0.1
    assert set(found["unproved"]) == {"context", "move", "repeat-kv", "morph", "shared-experts"}


def test_the_stand_ins_of_the_dynamic_graph() -> None:
    pytest.importorskip("mindspore")
    pytest.importorskip("mindformers")
    found = answer("dynamic_proofs")
    assert len(found["errors"]) > 15
    assert max(found["errors"].values()) < 1e-5, found["errors"]
    assert found["unproved"] == []
    assert found["refused"]
    assert found["left_behind"] == []


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.12", "0.13", "0.14", "0.15"])
def test_the_configuration_is_the_one_that_megatron_makes_of_its_arguments(version: str) -> None:
    """From 0.16 on, its own function needs Triton or Python 3.12 to be imported."""
    trees = os.environ.get("ACCMAP_MEGATRON_TREES")
    if not trees:
        pytest.skip("ACCMAP_MEGATRON_TREES names no folder of trees")
    found = answer("megatron_config_proofs", version, before=(str(Path(trees) / version),))
    assert len(found) > 10
    assert {name: fields for name, fields in found.items() if fields} == {}
