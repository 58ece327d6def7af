"""A step that the files cut into other micro batches is cut so by both trainers, and parts where numbers change."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from accmap.cli.commands.verify import findings_of, pair_findings
from accmap.schemas.border.file_input import read_text
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of, read_config
from accmap.verifier.installations import missing_modules
from accmap.verifier.plan import schedules
from accmap.verifier.verdict import coverage
from accmap.verifier.verdict.comparison import DifferingSetting, Divergence
from accmap.verifier.verdict.coverage import Findings, unexercised_fields
from accmap.verifier.verify import verify
from accmap.verifier.worker import inputs
from accmap.verifier.worker.blueprint import CutPlan, InputPlan

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import TABLE, script_of, write_pair

if TYPE_CHECKING:
    from accmap.schemas.config import Config
    from accmap.verifier.verification import Verification
    from accmap.verifier.worker.processes import Workers

frameworks = [
    pytest.mark.frameworks,
    pytest.mark.skipif(
        bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
    ),
]
_ONE_RANK: dict[str, Any] = {
    "use_parallel": True,
    "parallel": {"parallel_mode": 1, "full_batch": True},
    "parallel_config": {"data_parallel": 1, "model_parallel": 1, "pipeline_stage": 1},
}


def pair(family: str, ours: int, theirs: int, step: int, **changes: Any) -> dict[str, Any]:
    """A family's pair whose sides take so many samples at once, of as many a step."""
    runner = {"batch_size": theirs, "gradient_accumulation_steps": step // theirs}
    flags = {"micro-batch-size": ours, "global-batch-size": step, **changes.pop("megatron", {})}
    return {"family": family, "megatron": flags, "mindformers": {**_ONE_RANK, "runner_config": runner}, **changes}


def read(given: dict[str, Any], folder: Path) -> tuple[Config, Config]:
    script, config = write_pair(given, folder)
    return of_file(script), of_file(config)


def of_file(path: Path) -> Config:
    return config_of(read_text(str(path)), ReadOptions(), path=str(path))


def scripts(family: str, folder: Path, **more: Any) -> tuple[Config, Config]:
    """Two launches that differ in the micro batch alone: 1 sample and 4."""
    flags = {**TABLE["common"]["megatron"], **TABLE["families"][family].get("megatron", {}), **more}
    found: list[Config] = []
    for size in (1, 4):
        path = folder / f"of_{size}.sh"
        path.write_text(script_of({**flags, "micro-batch-size": size}), "utf-8")
        found.append(of_file(path))
    return found[0], found[1]


def named(a: Config, b: Config, *, matched: bool = False) -> set[str]:
    findings = findings_of((a, b), [read_text(config.file) for config in (a, b)])
    return {entry.field for entry in unexercised_fields((a, b), pair_findings(findings), "all", matched=matched)}


@pytest.mark.parametrize(
    ("ours", "theirs", "step", "sizes"),
    [(1, 2, 4, (4, 1, 2)), (2, 1, 2, (4, 2, 1)), (4, 2, 8, (8, 4, 2)), (2, 3, 6, (12, 2, 3)), (8, 64, 64, (8, 2, 4))],
)
def test_cuts_are_made_small(ours: int, theirs: int, step: int, sizes: tuple[int, ...], tmp_path: Path) -> None:
    found = coverage.micro_batches_of(*read(pair("dense", ours, theirs, step), tmp_path))
    assert found is not None
    samples, one, other = sizes
    assert found.plans == (CutPlan(samples, one), CutPlan(samples, other))
    assert found.shrunk == ({} if (one, other) == (ours, theirs) else {schedules.MICRO_BATCH_SIZE: [
        {"a": ours, "b": theirs}, {"a": one, "b": other}
    ]})  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        pair("dense", 2, 2, 4),
        {**pair("dense", 1, 2, 4), "megatron": {"micro-batch-size": 1, "global-batch-size": 8}},
        pair("dense", 1, 2, 4, megatron={"calculate-per-token-loss": True, "mtp-num-layers": 1}),
    ],
)
def test_other_steps_are_run_as_before(given: dict[str, Any], tmp_path: Path) -> None:
    assert coverage.micro_batches_of(*read(given, tmp_path)) is None


def test_what_was_cut_is_not_named_and_what_was_not_is(tmp_path: Path) -> None:
    assert schedules.MICRO_BATCH_SIZE not in named(*read(pair("dense", 1, 2, 4), tmp_path))
    unequal = {**pair("dense", 1, 2, 4), "megatron": {"micro-batch-size": 1, "global-batch-size": 8}}
    assert schedules.MICRO_BATCH_SIZE in named(*read(unequal, tmp_path))
    assert coverage.differing_settings(*read(unequal, tmp_path), schedules.MICRO_BATCHES) == []


def test_every_cut_weighs_the_samples_otherwise() -> None:
    batch = inputs.thinning_tokens(InputPlan(1, 12, 16, 96))
    weights: list[list[float]] = []
    for size in (1, 2, 3, 4, 6, 12):
        counts = [float(micro.counted.sum()) for micro in inputs.split_batch(batch, size)]
        assert len(counts) == 12 // size
        weights.append([1 / (len(counts) * count) for count in counts for _sample in range(size)])
    assert np.concatenate([micro.tokens for micro in inputs.split_batch(batch, 5)]).tolist() == batch.tokens.tolist()
    for one, other in pairwise(weights):
        assert max(abs(a / b - 1) for a, b in zip(one, other, strict=True)) > 0.01


class TestWithFrameworks:
    """Both trainers on the same samples."""

    pytestmark = frameworks

    @pytest.mark.parametrize("given", [pair("dense", 1, 2, 4), pair("moe_softmax", 4, 2, 8)], ids=["dense", "experts"])
    def test_a_step_cut_otherwise_parts(self, given: dict[str, Any], tmp_path: Path, workers: Workers) -> None:
        ours, theirs = given["megatron"]["micro-batch-size"], 2
        found = verify(*read(given, tmp_path), Findings(), workers=workers)
        assert found.verdict == "mismatch", found.failures
        assert found.divergence == Divergence("accumulation", "update")
        assert found.differing == (DifferingSetting(schedules.MICRO_BATCH_SIZE, ours, theirs),)
        assert (found.suspected, found.rest) == ((), "match")
        assert all(row.agrees for row in found.worst.gradients)
        assert all(not row.agrees for row in found.worst.norms)

    @pytest.mark.parametrize("size", [1, 4])
    @pytest.mark.parametrize("family", ["dense", "moe_softmax"])
    def test_the_cut_alone_sets_them_apart(
        self, family: str, size: int, tmp_path: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = CutPlan(8, size)
        monkeypatch.setattr(schedules, "cuts_of_step", lambda _a, _b: schedules.Cuts((plan, plan), {}))
        found = verify(*read(pair(family, 1, 2, 8), tmp_path), Findings(), workers=workers)
        assert found.verdict == "match", (found.worst.disagreements(), found.failures)
        assert max(row.relative or 0 for row in (*found.worst.norms, *found.worst.training)) < 2e-6

    @pytest.mark.parametrize(
        ("family", "more", "verdict"),
        [
            ("dense", {}, "mismatch"),
            ("dense", {"calculate-per-token-loss": True}, "match"),
            ("moe_softmax", {"calculate-per-token-loss": True}, "mismatch"),
        ],
        ids=["a mean of means", "by token", "by token beside a balancing loss"],
    )
    def test_tokens_that_weigh_alike_match(
        self, family: str, more: dict[str, Any], verdict: str, tmp_path: Path, workers: Workers
    ) -> None:
        a, b = scripts(family, tmp_path, **more)
        found: Verification = verify(a, b, Findings(), workers=workers)
        assert found.verdict == verdict, (found.worst.disagreements(), found.failures)
        assert (schedules.MICRO_BATCH_SIZE in named(a, b, matched=True)) == (family != "dense")


# Megatron-LM's average over the tokens of a step is the dynamic graph's average of averages if all tokens count.
@pytest.mark.parametrize(
    ("flags", "uneven"),
    [
        ("", True),
        ("--calculate-per-token-loss", False),
        ("--calculate-per-token-loss --eod-mask-loss", True),
        ("--eod-mask-loss", True),
    ],
)
def test_tokens_that_no_file_masks_count_in_each_micro_batch(flags: str, uneven: bool, tmp_path: Path) -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "qwen3_dense"
    script = tmp_path / "megatron.sh"
    script.write_text((example / "megatron.sh").read_text("utf-8").replace("--bf16", f"--bf16 {flags}"), "utf-8")
    configs = read_config(str(script)), read_config(str(example / "mindformers_dynamic.yaml"))
    assert coverage.draws_uneven_batches(*configs) == uneven
    # What runs decides it, where another version runs instead of the file's: the trainer of 1.9 takes the step at once.
    assert not coverage.draws_uneven_batches(*configs, versions=["0.12.3", "1.9.0"])
    assert coverage.draws_uneven_batches(*configs, versions=["0.12.3", "2.1.0"]) == uneven
