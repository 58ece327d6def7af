"""Megatron-LM's model over two ranks against one rank: the same numbers, and what a layout changes is named."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.lean import main
from accmap.verifier import verify as verifying
from accmap.verifier.comparison import compare
from accmap.verifier.needs import missing
from accmap.verifier.not_compared import NotCompared
from accmap.verifier.processes import WorkerAnswer, WorkerFailure
from accmap.verifier.ranks import LAYOUTS, LayoutRun, not_proved, said

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import write_pair

real = pytest.mark.skipif(bool(missing("megatron")), reason="Megatron-Core is not installed")


def answer(scale: float = 1.0) -> WorkerAnswer:
    """What a process says of one gradient."""
    np = pytest.importorskip("numpy")
    values: dict[str, Any] = {"shapes": {"a.weight": [4]}, "losses": [{"loss": 4.0}]}
    return WorkerAnswer(values, {"gradient/a.weight": np.full(4, scale, np.float32)})


def test_a_layout_that_changes_numbers_is_named_and_matches_in_part() -> None:
    run = LayoutRun(LAYOUTS[0], "a.sh", compare(answer(), answer(2.0)))
    assert run.changed == {"gradients": ["a.weight"], "elements": ["a.weight"]}
    [entry] = not_proved((run,), "en")
    assert entry.field == "parallel.tensor_size"
    assert "a.weight" in entry.reason
    assert run.agrees is False


@pytest.mark.long
def test_ranks_that_hold_other_copies_never_agree() -> None:
    np = pytest.importorskip("numpy")
    pytest.importorskip("torch")
    from accmap.verifier.megatron_shards import Piece, assembled

    piece = Piece("norm", (0,), (2,), (2,), 0)
    same, other = np.ones(2, np.float32), np.array([1, 2], np.float32)
    assert (assembled([(piece, same), (piece, same)])["norm"] == 1).all()
    assert np.isnan(assembled([(piece, same), (piece, other)])["norm"]).all()


def test_a_layout_that_is_the_same_says_so_of_its_fields() -> None:
    run = LayoutRun(LAYOUTS[2], "a.sh", compare(answer(), answer()))
    assert not_proved((run,), "en") == []
    left = [NotCompared("parallel.pipeline_size", "x"), NotCompared("y", "z")]
    told = said(left, (run,), "zh")
    assert "pipeline" in told[0].reason
    assert told[1] is left[1]


def test_a_layout_that_stops_is_no_proof() -> None:
    run = LayoutRun(LAYOUTS[3], "a.sh", failure=WorkerFailure("RuntimeError: gloo", "error"))
    [entry] = not_proved((run,), "en")
    assert entry.field == "parallel.expert_size"
    assert "gloo" in entry.reason
    assert run.agrees is None


@pytest.mark.parametrize(
    ("sizes", "refused"),
    [
        ({"attention.num_heads": 3}, {"tensor", "tensor-sequence", "expert"}),
        ({"moe.num_experts": 3}, {"tensor", "expert"}),
        ({"moe.ffn_hidden_size": 33}, {"tensor", "tensor-sequence"}),
        ({"moe.shared.ffn_hidden_size": 33}, {"tensor", "tensor-sequence", "expert"}),
        ({"model.num_layers": 3}, {"tensor", "pipeline"}),
        ({}, {"tensor"}),
    ],
)
def test_a_layout_that_does_not_divide_the_model_is_not_tried(sizes: dict[str, int], refused: set[str]) -> None:
    from accmap.verifier.blueprint import Blueprint, InputPlan, Job, OptimizerPlan
    from accmap.verifier.processes import Worker
    from accmap.verifier.ranks import tried

    class Failing(Worker):
        def run(self, job: Job, progress: Any = None) -> WorkerFailure:
            return WorkerFailure("ended", "memory")

    job = Job("a", Blueprint("megatron", {}, OptimizerPlan("adam", 1, 0, 0, 0, 1, 1)), (InputPlan(1, 1, 8, 8),))
    whole = {"moe.num_experts": 4, "attention.num_heads": 4, "model.num_layers": 2, **sizes}
    runs = tried(job, Failing("megatron"), whole, "a.sh", 1e-5, lambda _said: None)
    assert {run.layout.name for run in runs if run.left_out is not None} == refused
    assert all(run.failure is not None for run in runs if run.left_out is None)


@real
def test_what_a_layout_changes_can_be_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = LayoutRun(LAYOUTS[0], "a.sh", compare(answer(), answer(2.0)))
    alike = verifying._Found((compare(answer(), answer()),), [], {}, None, ())  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(verifying, "_seeds_run", lambda *_given: alike)
    monkeypatch.setattr(verifying, "_spread", lambda *_given: (changed,))
    monkeypatch.setattr(verifying.Worker, "start", lambda _self: None)
    script, config = write_pair({"family": "dense"}, tmp_path)
    (tmp_path / "accmap.toml").write_text('[verify]\naccept = ["parallel.tensor_size", "parallel.sequence"]\n', "utf-8")
    main(["verify", str(script), str(config), "--closest", "--ranks", "--format", "json"])
    told = capsys.readouterr()
    [entry] = [one for one in json.loads(told.out)["not_compared"] if one["field"] == "parallel.tensor_size"]
    assert entry["accepted"]
    assert "differs" not in entry
    assert "parallel.sequence" in told.err
    assert "parallel.tensor_size" not in told.err


def test_two_files_of_mindspore_transformers_have_no_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _script, config = write_pair({"family": "dense"}, tmp_path)
    assert main(["verify", str(config), str(config), "--ranks"]) == 2
    assert "--ranks" in capsys.readouterr().err


@pytest.mark.frameworks
@pytest.mark.slow
@real
def test_the_layouts_of_a_mixture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tensors with sequences, layers and experts over two ranks; tensors alone are refused by the framework."""
    script, _config = write_pair({"family": "moe_softmax"}, tmp_path)
    main(["verify", str(script), "--against", "torch", "--ranks", "--format", "json"])
    runs = {run["layout"]: run for run in json.loads(capsys.readouterr().out)["ranks"]}
    assert {name: run["agrees"] for name, run in runs.items()} == {
        "tensor": None, "tensor-sequence": True, "pipeline": True, "expert": True,
    }  # fmt: skip
    assert all(run["worst_gradient"] < 1e-6 for run in runs.values() if run["agrees"])
    assert "sequence" in runs["tensor"]["reason"]


@pytest.mark.frameworks
@pytest.mark.slow
@real
def test_latent_attention_changes_with_tensor_parallelism(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Core 0.12 gathers the rotated part of the keys from ranks and never adds up what their heads say of it.

    `transformer/multi_latent_attention.py:get_query_key_value_tensors`; the forward pass is the same.
    """
    script, _config = write_pair({"family": "latent"}, tmp_path)
    assert main(["verify", str(script), "--against", "torch", "--ranks", "--format", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    runs = {run["layout"]: run for run in answer["ranks"]}
    assert {name: run["agrees"] for name, run in runs.items()} == {
        "tensor": False, "tensor-sequence": False, "pipeline": True, "expert": None,
    }  # fmt: skip
    assert {"gradients", "norms"} <= runs["tensor"]["changed"].keys()
    assert "1" not in runs["tensor"]["changed"]["loss"]
    assert answer["verdict"] == "partial"
    told = {entry["field"]: entry for entry in answer["not_compared"] if entry.get("differs")}
    assert "linear_proj" in told["parallel.tensor_size"]["reason"]
