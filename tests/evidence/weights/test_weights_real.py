"""Converted checkpoints in the real models: both frameworks load them, and the loss is the same.

Megatron-Core saves its `torch` and `torch_dist` forms, the command converts, MindSpore Transformers' own
`load_checkpoint` takes the result; and back. Each framework runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.lean import main
from accmap.verifier.verify import missing

pytest.importorskip("numpy")

from weight_files import pair

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.procedure("proc.weights.convert"),
    pytest.mark.skipif(bool(missing("megatron") + missing("mindformers")), reason="the frameworks are not installed"),
]

REAL = Path(__file__).with_name("real")
RUN = Path(__file__).parents[2] / "framework_run.py"
COUNTERS = ("fi_accu", "expert_load")
"""Counters of the router that the network keeps and no checkpoint of weights holds."""


def run(script: str, *words: object) -> dict[str, Any]:
    """The last line that a script prints, as JSON."""
    environment = {**os.environ, "GLOG_v": "4", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(RUN), str(REAL / script), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def accmap(*words: object) -> int:
    return main([str(word) for word in words])


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Path, float]]:
    """The folder of a family's pair with Megatron-Core's checkpoints, and the loss; saved once."""
    known: dict[tuple[str, str], tuple[Path, float]] = {}

    def save(family: str, *words: str, **changes: Any) -> tuple[Path, float]:
        key = (family, repr((words, changes)))
        if key not in known:
            folder = tmp_path_factory.mktemp(family)
            pair(family, folder, **changes)
            known[key] = folder, run("megatron_run.py", "save", folder, *words)["loss"]
        return known[key]

    return save


def relative(a: float, b: float) -> float:
    return abs(a - b) / max(abs(a), abs(b))


@pytest.mark.parametrize("form", ["torch", "torch_dist"])
@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("grouped", {}),
        ("tied", {}),
        ("moe_sigmoid", {"model": {"use_interleaved_weight_layout_mlp": True}}),
        ("deepseek", {}),
    ],
    ids=["grouped", "tied", "moe_sigmoid", "deepseek"],
)
def test_the_same_loss_on_both_sides_and_back(
    family: str, changes: dict[str, Any], form: str, saved: Callable[..., tuple[Path, float]], tmp_path: Path
) -> None:
    folder, loss = saved(family, **changes)
    script, config = folder / "pretrain.sh", folder / "train.yaml"
    there, back = tmp_path / "mindformers", tmp_path / "megatron"
    words = ("weights", "convert", folder / form, "-o", there, "--config", script, "--config", config)
    assert accmap(*words, "--shard-size", 0.002) == 0
    loaded = run("mindformers_run.py", "load", folder, there)
    assert [name for name in loaded["not_loaded"] if not name.endswith(COUNTERS)] == []
    assert relative(loaded["loss"], loss) <= 1e-5
    if form == "torch":
        assert accmap("weights", "convert", there, "-o", back, "--config", script, "--config", config) == 0
        assert run("megatron_run.py", "load", folder, back)["loss"] == loss
        assert accmap("weights", "check", folder / "torch_dist", back, "--config", script) == 0
    assert accmap("weights", "check", folder / form, there, "--config", script, "--config", config) == 0


def test_what_mindspore_transformers_saves_is_read(saved: Callable[..., tuple[Path, float]], tmp_path: Path) -> None:
    folder, _ = saved("deepseek")
    script, config = folder / "pretrain.sh", folder / "train.yaml"
    loss = run("mindformers_run.py", "save", folder, tmp_path / "saved")["loss"]
    assert accmap("weights", "check", tmp_path / "saved", config) == 0
    converted = tmp_path / "converted"
    words = ("weights", "convert", tmp_path / "saved", "-o", converted, "--config", script, "--config", config)
    assert accmap(*words) == 0
    assert relative(run("megatron_run.py", "load", folder, converted)["loss"], loss) <= 1e-5


@pytest.mark.procedure("proc.weights.bf16_cast")
def test_a_bfloat16_run_and_weights_cast_to_bfloat16(saved: Callable[..., tuple[Path, float]], tmp_path: Path) -> None:
    """Megatron-LM loads bfloat16; the same numbers in float32 give MindSpore Transformers the same loss."""
    folder, loss = saved("moe_sigmoid", "--bf16")
    config = folder / "train.yaml"
    there = tmp_path / "mindformers"
    words = ("weights", "convert", folder / "torch", "-o", there, "--config", config, "--dtype", "fp32")
    assert accmap(*words) == 0
    assert relative(run("mindformers_run.py", "load", folder, there)["loss"], loss) <= 1e-5
    # Weights that were never rounded are other weights, and the check says so.
    plain, _ = saved("moe_sigmoid")
    assert accmap("weights", "convert", plain / "torch", "-o", tmp_path / "plain", "--config", config) == 0
    assert accmap("weights", "check", folder / "torch", tmp_path / "plain", "--config", config) == 1


@pytest.mark.parametrize("family", ["grouped", "latent", "further"])
def test_two_tensor_parallel_processes_load_their_shards(
    family: str, saved: Callable[..., tuple[Path, float]], tmp_path: Path
) -> None:
    folder, loss = saved(family)
    script, config = folder / "pretrain.sh", folder / "train.yaml"
    there, shards = tmp_path / "mindformers", tmp_path / "shards"
    given = ("--config", script, "--config", config)
    assert accmap("weights", "convert", folder / "torch_dist", "-o", there, *given) == 0
    assert accmap("weights", "convert", there, "-o", shards, *given, "--tensor-parallel", 2) == 0
    found = run("parallel_run.py", folder, shards, tmp_path / "store")["loss"]
    assert relative(found, loss) <= 1e-5
