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
from accmap.verifier.installations import missing_modules

pytest.importorskip("numpy")

from weight_files import pair

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.procedure("proc.weights.convert"),
    pytest.mark.skipif(
        bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
    ),
]

REAL = Path(__file__).with_name("real")
RUN = Path(__file__).parents[2] / "framework_run.py"
COUNTERS = ("fi_accu", "expert_load")
"""Counters of the router that the network keeps and no checkpoint of weights holds."""


NEWEST = Path(__file__).parents[3] / ".frameworks" / "mindformers" / "2.1.0"


def run(script: str, *words: object, **variables: str) -> dict[str, Any]:
    """The last line that a script prints, as JSON."""
    environment = {**os.environ, "GLOG_v": "4", "OMP_NUM_THREADS": "1", **variables}
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


@pytest.mark.parametrize("family", ["grouped", "tied", "moe_softmax", "deepseek"])
def test_megatrons_own_loader_takes_the_distributed_form(
    family: str, saved: Callable[..., tuple[Path, float]], tmp_path: Path
) -> None:
    """Strictly in both directions: nothing is missing, and nothing is there that the model does not ask for."""
    folder, loss = saved(family)
    script, config = folder / "pretrain.sh", folder / "train.yaml"
    there, back = tmp_path / "mindformers", tmp_path / "megatron"
    given = ("--config", script, "--config", config)
    assert accmap("weights", "convert", folder / "torch", "-o", there, *given) == 0
    words = ("weights", "convert", there, "-o", back, *given, "--ckpt-format", "torch_dist", "--shard-size", 0.001)
    assert accmap(*words) == 0
    assert run("megatron_run.py", "load", folder, back)["loss"] == loss
    assert accmap("weights", "check", folder / "torch_dist", back, "--config", script) == 0


@pytest.mark.parametrize("form", ["torch", "torch_dist"])
def test_experts_in_one_module_take_either_form(
    form: str, saved: Callable[..., tuple[Path, float]], tmp_path: Path
) -> None:
    """`GroupedMLP` from a checkpoint of single experts."""
    folder, loss = saved("moe_softmax")
    script, _ = pair("moe_softmax", tmp_path / "grouped", megatron={"moe-grouped-gemm": True})
    place = tmp_path / "megatron"
    given = ("--config", script, "--to", "megatron", "--ckpt-format", form)
    assert accmap("weights", "convert", folder / "torch", "-o", place, *given) == 0
    assert run("megatron_run.py", "load", tmp_path / "grouped", place, "--grouped")["loss"] == loss


@pytest.mark.parametrize(
    ("family", "kind", "form"),
    [
        ("latent", "tensor", "torch"),
        ("further", "tensor", "torch"),
        ("deepseek", "tensor", "torch"),
        ("moe_sigmoid", "expert", "torch"),
        ("grouped", "tensor", "torch_dist"),
        ("moe_softmax", "tensor", "torch_dist"),
        ("deepseek", "expert", "torch_dist"),
    ],
)
def test_two_processes_load_their_parts(
    family: str, kind: str, form: str, saved: Callable[..., tuple[Path, float]], tmp_path: Path
) -> None:
    """Tensor- and expert-parallel ranks: their shards, or what they take out of the distributed form themselves."""
    folder, loss = saved(family)
    script, config = folder / "pretrain.sh", folder / "train.yaml"
    there, parts = tmp_path / "mindformers", tmp_path / "parts"
    given = ("--config", script, "--config", config)
    assert accmap("weights", "convert", folder / "torch_dist", "-o", there, *given) == 0
    how = (f"--{kind}-parallel", 2) if form == "torch" else ("--ckpt-format", form)
    assert accmap("weights", "convert", there, "-o", parts, *given, *how) == 0
    found = run("parallel_run.py", folder, parts, tmp_path / "store", kind)["loss"]
    assert relative(found, loss) <= 1e-5


EIGHT = {"megatron": {"num-layers": 8}, "model": {"num_hidden_layers": 8}}
EIGHT_MIXED = {"megatron": {"num-layers": 8, "moe-layer-freq": "[0]*1+[1]*7"}, "model": {"num_hidden_layers": 8}}


@pytest.mark.parametrize(
    ("family", "changes", "cut", "words"),
    [
        (
            "grouped",
            EIGHT,
            {"pipeline": 2, "rounds": 2},
            ("--pipeline-parallel", 2, "--num-layers-per-virtual-pipeline-stage", 2),
        ),
        (
            "tied",
            EIGHT,
            {"pipeline": 3, "first": 1, "last": 3},
            (
                *("--pipeline-parallel", 3, "--decoder-first-pipeline-num-layers", 1),
                *("--decoder-last-pipeline-num-layers", 3),
            ),
        ),
        (
            "deepseek",
            EIGHT_MIXED,
            {"pipeline": 3, "rounds": 2, "first": 4, "last": 2},
            (
                *("--pipeline-parallel", 3, "--num-virtual-stages-per-pipeline-rank", 2),
                *("--decoder-first-pipeline-num-layers", 4, "--decoder-last-pipeline-num-layers", 2),
            ),
        ),
        (
            "grouped",
            EIGHT,
            {"pipeline": 5, "embedding": True, "loss": True},
            (
                *("--pipeline-parallel", 5, "--account-for-embedding-in-pipeline-split"),
                "--account-for-loss-in-pipeline-split",
            ),
        ),
    ],
    ids=["virtual", "uneven", "both", "accounted"],
)
def test_every_chunk_of_a_pipeline_loads(
    family: str,
    changes: dict[str, Any],
    cut: dict[str, Any],
    words: tuple[object, ...],
    saved: Callable[..., tuple[Path, float]],
    tmp_path: Path,
) -> None:
    """Megatron-Core builds each chunk itself and takes its part strictly; together they compute the same loss."""
    folder, loss = saved(family, **json.loads(json.dumps(changes)))
    script = folder / "pretrain.sh"
    place = tmp_path / "pipeline"
    given = ("--config", script, "--to", "megatron")
    assert accmap("weights", "convert", folder / "torch_dist", "-o", place, *given, *words) == 0
    found = run("pipeline_run.py", folder, place, json.dumps(cut))
    assert found["loss"] == loss
    assert [layer for chunk in found["layers"] for layer in chunk] == list(range(8))
    assert accmap("weights", "check", folder / "torch", place, "--config", script) == 0


Trained = tuple[Path, list[float]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Trained]:
    """The folder of a family's pair with both forms after ten steps of Megatron-Core, and its next losses."""
    known: dict[str, Trained] = {}

    def train(family: str) -> Trained:
        if family not in known:
            folder = tmp_path_factory.mktemp(family)
            model = {"moe_grouped_gemm": True} if family == "moe_softmax" else {}
            pair(family, folder, model=model, megatron={"bf16": None})
            known[family] = folder, run("megatron_run.py", "train", folder)["losses"]
        return known[family]

    return train


@pytest.mark.parametrize(
    ("source", "way", "target"),
    [("torch", "mindformers", "torch"), ("torch_dist", "mindformers", "torch_dist"), ("torch", "", "torch_dist")],
)
@pytest.mark.parametrize("family", ["grouped", "moe_softmax"])
def test_megatron_goes_on_with_its_optimizer(
    family: str, source: str, way: str, target: str, trained: Callable[[str], Trained], tmp_path: Path
) -> None:
    """Through the other framework's form, or straight into the other form: the next losses are the same numbers."""
    folder, losses = trained(family)
    given = ("--config", folder / "pretrain.sh", "--optimizer")
    start = folder / source
    if way:
        there = ("-o", tmp_path / way, "--config", folder / "train.yaml")
        assert accmap("weights", "convert", start, *given, *there) == 0
        start, given = tmp_path / way, (*given, "--config", folder / "train.yaml")
    words = ("--to", "megatron", "--ckpt-format", target, "-o", tmp_path / "megatron")
    assert accmap("weights", "convert", start, *given, *words) == 0
    assert run("megatron_run.py", "resume", folder, tmp_path / "megatron")["losses"] == losses


@pytest.mark.parametrize("family", ["grouped", "moe_softmax"])
def test_the_distributed_optimizer_goes_on(family: str, tmp_path: Path) -> None:
    """Its state, through the other framework's form, in the form of `fully_sharded_model_space` again."""
    model = {"moe_grouped_gemm": True} if family == "moe_softmax" else {}
    flags = {"bf16": None, "use-distributed-optimizer": True}
    script, config = pair(family, tmp_path, model=model, megatron=flags)
    losses = run("distributed_run.py", "train", tmp_path)["losses"]
    given = ("--config", script, "--config", config, "--optimizer")
    assert accmap("weights", "convert", tmp_path / "distributed", *given, "-o", tmp_path / "there") == 0
    back = ("--ckpt-format", "torch_dist", "-o", tmp_path / "back")
    assert accmap("weights", "convert", tmp_path / "there", *given, *back) == 0
    assert run("distributed_run.py", "resume", tmp_path, tmp_path / "back")["losses"] == losses


@pytest.mark.parametrize("form", ["torch", "torch_dist"])
@pytest.mark.parametrize("family", ["grouped", "moe_softmax"])
def test_a_run_goes_on_with_its_optimizer(
    family: str, form: str, trained: Callable[[str], Trained], tmp_path: Path
) -> None:
    """After ten steps of Megatron-Core: the next losses, the second of which depends on the moments and the step."""
    folder, losses = trained(family)
    static = folder / "train.yaml"
    dynamic = tmp_path / "dynamic.yaml"
    accmap("upgrade", static, "-o", dynamic, "--write-anyway")
    words = ("weights", "convert", folder / form, "--config", static)
    assert accmap(*words, "-o", tmp_path / "static", "--optimizer") == 0
    ends = ("--to", "mindformers", "--config", static, "--config", dynamic)
    carried = ("weights", "convert", tmp_path / "static", *ends, "--optimizer", "-o", tmp_path / "dynamic")
    assert accmap(*carried) == 0
    assert accmap(*words, "-o", tmp_path / "anew") == 0
    own = run("mindformers_run.py", "resume", static, tmp_path / "static", tmp_path / "saved")["losses"]
    found = {"static": own[:2]}
    if NEWEST.is_dir():
        newest = {"PYTHONPATH": str(NEWEST)}
        found["dynamic"] = run("mindformers_run.py", "resume", dynamic, tmp_path / "dynamic", **newest)["losses"]
    anew = run("mindformers_run.py", "resume", static, tmp_path / "anew")["losses"]
    for graph, ours in found.items():
        apart = [abs(one - other) for one, other in zip(ours, losses, strict=True)]
        assert max(apart) <= 2e-6, (graph, apart)
        # What the update adds is below what the same weights already differ by.
        assert abs((ours[1] - ours[0]) - (losses[1] - losses[0])) <= 1e-6, (graph, ours, losses)
    assert abs(anew[1] - losses[1]) > 1e-3, "the moments count"
    assert anew[0] == found["static"][0], "the distance of the first losses is that of the two models"
    back = ("--config", static, "--config", folder / "pretrain.sh", "--optimizer", "--ckpt-format", form)
    assert accmap("weights", "convert", tmp_path / "saved", *back, "-o", tmp_path / "back") == 0
    theirs = run("megatron_run.py", "resume", folder, tmp_path / "back")["losses"]
    apart = [abs(one - other) for one, other in zip(theirs, own[2:], strict=True)]
    assert max(apart) <= 2e-6, ("what MindSpore Transformers saved", apart)
    assert abs((theirs[1] - theirs[0]) - (own[3] - own[2])) <= 1e-6
