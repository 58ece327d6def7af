"""The first pass in the files' own types: errors alike agree, and a type that differs is seen and blamed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap import load
from accmap.cli.commands.verify import run_verification
from accmap.schemas.border.text_output import json_text
from accmap.schemas.config import ReadOptions
from accmap.schemas.plain_values import json_value
from accmap.verifier.installations import missing_modules
from accmap.verifier.verdict.comparison import NotCompared, Values
from accmap.verifier.verdict.native_dtypes import (
    rounding_errors,
    run_native_dtypes,
    types_to_blame,
    undecided_types,
    without_types,
)
from accmap.verifier.worker.blueprint import Blueprint, InputPlan, Job, OptimizerPlan
from accmap.verifier.worker.processes import Worker, WorkerAnswer

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import write_pair

if TYPE_CHECKING:
    from accmap.verifier.worker.processes import Workers

real = pytest.mark.skipif(
    bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
)
JOB = Job("a", Blueprint("megatron", {}, OptimizerPlan("adam", 1, 0, 0, 0, 1, 1)), (InputPlan(1, 1, 8, 8),))
PAIRS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "the same types": ({"family": "dense"}, []),
    "the norm's type, which no kernel tells": (
        {"family": "dense", "model": {"layernorm_compute_dtype": "bfloat16"}}, [],
    ),
    "float16 on both": (
        {"family": "dense", "megatron": {"bf16": None, "fp16": True}, "model": {"compute_dtype": "float16"}}, [],
    ),
    "float16 on one": (
        {"family": "dense", "megatron": {"bf16": None, "fp16": True}}, ["precision.compute_dtype"],
    ),
    "float32 on one": (
        {"family": "dense", "model": {"compute_dtype": "float32"}}, ["precision.compute_dtype"],
    ),
    "the router's type, which errors alike do not tell": (
        {"family": "moe_softmax", "megatron": {"moe-router-dtype": "fp32"}, "model": {"moe_router_dtype": "bfloat16"}},
        [],
    ),
    "the rotation in bfloat16 beside float32": (
        {
            "family": "dense",
            "megatron": {"bf16": None},
            "model": {"compute_dtype": "float32", "rotary_dtype": "bfloat16"},
        },
        ["precision.rotary_dtype"],
    ),
    "the type of the rotation, in which unfused Megatron-Core computes": (
        {"family": "dense", "megatron": {"no-rope-fusion": True}, "model": {"rotary_dtype": "bfloat16"}}, [],
    ),
}  # fmt: skip


def pass_of(error: float, types: float = 2.0**-7) -> WorkerAnswer:
    """A pass whose numbers are this many ulps beside those in float32."""
    np = pytest.importorskip("numpy")
    signs = np.array([1, -1, 1, -1], np.float32)
    return WorkerAnswer({}, dict.fromkeys(("logits", "gradient/a", "gradient/b"), 1 + error * types * signs))


@pytest.mark.parametrize(
    ("errors", "agree"),
    [((1.0, 1.2), True), ((1.0, 1.8), False), ((0.0, 0.03), True), ((0.0, 1.0), False), ((5.0, 5.0), False)],
)
def test_errors_alike_agree(errors: tuple[float, float], agree: bool) -> None:
    exact = [pass_of(0.0), pass_of(0.0)]
    found = rounding_errors(exact, [pass_of(error) for error in errors], ("bfloat16", "bfloat16"))
    assert all(row.agrees for row in found) is agree
    assert found[0].a == pytest.approx(errors[0], abs=1e-4)


def test_what_is_no_number_never_agrees() -> None:
    exact = [pass_of(0.0), pass_of(0.0)]
    found = rounding_errors(exact, [pass_of(float("nan")), pass_of(float("nan"))], ("float16", "float16"))
    assert not any(row.agrees for row in found)


def answered(pair: dict[str, Any], folder: Path, workers: Workers, **chosen: str) -> dict[str, Any]:
    """The answer of `accmap verify`, by processes that the module's pairs share."""
    files = list(map(str, write_pair(pair, folder)))
    found, _findings, _configs = run_verification(files, ReadOptions(), dict(chosen), workers=workers)
    answer: dict[str, Any] = json.loads(str(json_text(json_value(found.to_json((), (), ())))))
    return answer


@pytest.mark.frameworks
@real
@pytest.mark.parametrize("name", PAIRS)
def test_types_on_real_models(name: str, tmp_path: Path, workers: Workers) -> None:
    pair, expected = PAIRS[name]
    answer = answered(pair, tmp_path, workers, precision="as-written", stage="step1")
    found = answer["precision"]
    assert found["agrees"] is not bool(expected)
    told = {entry["field"] for entry in answer["not_compared"] if entry.get("differs")}
    assert "precision.compute_dtype" not in {entry["field"] for entry in answer["not_compared"]}
    if expected:
        assert answer["verdict"] == "mismatch"
        assert answer["first_divergence"]["direction"] == "rounding"
        assert [entry["field"] for entry in answer["first_divergence"]["differing"]] == expected
        assert not told.intersection(expected)
    else:
        assert answer["verdict"] != "mismatch"
        assert found["errors"][0]["a"] > 0.5
    widened = "widening" in {one["name"] for one in answer["stand_ins"]}
    assert widened is (found["compute"][1] == "bfloat16" or "precision.rotary_dtype" in expected)


@pytest.mark.frameworks
@real
@pytest.mark.parametrize(
    ("pair", "place"),
    [
        (PAIRS["the rotation in bfloat16 beside float32"][0], ("precision.rotary_dtype", "rounding")),
        (PAIRS["the same types"][0], None),
        # `core/optim/adamw.py` casts what it assigns; Megatron-LM updates main weights in float32.
        ({"family": "dense", "model": {"params_dtype": "bfloat16"}}, ("precision.params_dtype", "update")),
        ({"family": "dense", "model": {"params_dtype": "float16"}}, ("precision.params_dtype", "update")),
    ],
)
def test_types_that_differ_are_run_unasked(
    pair: dict[str, Any], place: tuple[str, str] | None, tmp_path: Path, workers: Workers
) -> None:
    answer = answered(pair, tmp_path, workers)
    found = answer["first_divergence"]
    assert (place is None) is (found is None)
    if found is not None:
        assert ([entry["field"] for entry in found["differing"]], found["direction"]) == ([place[0]], place[1])
    assert (answer.get("precision") is not None) is (place is not None and place[1] == "rounding")


def test_a_type_of_a_single_place_is_named_beside_errors_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np = pytest.importorskip("numpy")
    numbers = {"logits": np.ones(4, np.float32), "gradient/a": np.full(4, 1 + 1 / 128, np.float32)}
    passes = iter([WorkerAnswer({"stand_ins": {}}, numbers)] * 4)
    monkeypatch.setattr(Worker, "ask", lambda _self, _job: None)
    monkeypatch.setattr(Worker, "answer", lambda _self: next(passes))
    script, config = write_pair(PAIRS["the router's type, which errors alike do not tell"][0], tmp_path)
    configs, processes = (load(script), load(config)), [Worker("megatron"), Worker("mindformers")]
    found = run_native_dtypes(configs, (JOB, JOB), processes, lambda _said: None, routes=False)
    assert found.agrees
    [entry] = undecided_types(found)
    assert (entry.field, entry.values) == ("moe.router.dtype", Values("float32", "bfloat16"))
    # Where the errors are not alike, the type is all there is to blame.
    assert [entry.field for entry in types_to_blame(found, configs)] == ["moe.router.dtype"]
    listed = [NotCompared(name, "as before") for name in ("moe.router.dtype", "precision.params_dtype", "x")]
    assert [entry.field for entry in without_types(listed, found)] == ["precision.params_dtype", "x"]
