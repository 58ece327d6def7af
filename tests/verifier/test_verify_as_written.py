"""The first pass in the files' own types: errors alike agree, and a type that differs is seen and blamed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.lean import main
from accmap.verifier.as_written import compared
from accmap.verifier.processes import WorkerAnswer
from accmap.verifier.verify import missing

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import write_pair

real = pytest.mark.skipif(bool(missing("megatron") + missing("mindformers")), reason="the frameworks are not installed")
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
    "the type of the rotation, in which unfused Megatron-Core computes": (
        {"family": "dense", "model": {"rotary_dtype": "bfloat16"}}, [],
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
    found = compared(exact, [pass_of(error) for error in errors], ("bfloat16", "bfloat16"))
    assert all(row.agrees for row in found) is agree
    assert found[0].a == pytest.approx(errors[0], abs=1e-4)


def test_what_is_no_number_never_agrees() -> None:
    exact = [pass_of(0.0), pass_of(0.0)]
    found = compared(exact, [pass_of(float("nan")), pass_of(float("nan"))], ("float16", "float16"))
    assert not any(row.agrees for row in found)


@pytest.mark.frameworks
@real
@pytest.mark.parametrize("name", PAIRS)
def test_types_on_real_models(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair, blamed = PAIRS[name]
    files = map(str, write_pair(pair, tmp_path))
    main(["verify", *files, "--precision", "as-written", "--stage", "step1", "--format", "json"])
    answer = json.loads(capsys.readouterr().out)
    found = answer["precision"]
    assert found["agrees"] is not bool(blamed)
    told = {entry["field"] for entry in answer["not_compared"] if entry.get("differs")}
    assert "precision.compute_dtype" not in {entry["field"] for entry in answer["not_compared"]}
    if blamed:
        assert answer["verdict"] == "mismatch"
        assert answer["first_divergence"]["direction"] == "rounding"
        assert [entry["field"] for entry in answer["first_divergence"]["differing"]] == blamed
        assert not told.intersection(blamed)
    else:
        assert answer["verdict"] != "mismatch"
        assert found["errors"][0]["a"] > 0.5
    widened = "widening" in {one["name"] for one in answer["stand_ins"]}
    assert widened is ("bfloat16" in found["compute"][1])
