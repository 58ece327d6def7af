"""What a verdict over two logs rests on: enough steps, the same weights, the same samples at the same step.

Every expectation is what the guide's experiments ask for (`proc.stage2.*`, `proc.stage3.*`); the limits were set by
runs of the real Megatron-LM 0.12 and 0.16 program (`test_real_runs.py`).
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, cast

import pytest
from test_log_comparison import criterion, judged, notes, run
from test_real_runs import run as real_run
from writing_logs import falling, megatron_line, megatron_run, static_run

from accmap.evidence.logs.beginning import Beginning
from accmap.evidence.logs.comparing import compare
from accmap.evidence.logs.verdict import Grounds
from accmap.schemas.message import Words

if TYPE_CHECKING:
    from accmap.evidence.logs.verdict import Experiment

SUM = "> accmap weights: {} numbers, checksum {}\n"
NORMS = "local_norm/decoder.final_layernorm.weight: {}\nlocal_norm/output_layer.weight: {}\n"


def uneven(count: int, seed: int = 3) -> list[float]:
    """A loss with the ups and downs that its samples give it."""
    draw = random.Random(seed)
    return [loss + draw.gauss(0, 0.1) for loss in falling(count)]


class TestLength:
    """A thousand steps are a thousand steps."""

    @pytest.mark.parametrize("experiment", ["standard", "repeat", "lr-zero"])
    @pytest.mark.parametrize(("count", "answer"), [(3, "undecided"), (999, "undecided"), (1000, "match")])
    def test_fewer_than_the_guide_asks_for_decide_nothing(self, experiment: str, count: int, answer: str) -> None:
        rate = 0.0 if experiment == "lr-zero" else 1e-4
        a, b = megatron_run(falling(count), rate=rate), static_run(falling(count), rate=rate)
        if experiment == "repeat":
            b = a
        found = judged(a, b, experiment=cast("Experiment", experiment), steps=None)
        assert found.verdict.answer == answer, found.verdict.said
        if count < 1000:
            assert f"{count} of 1,000 steps so far" in criterion(found, "length").said

    def test_a_difference_is_one_at_once(self) -> None:
        found = judged(megatron_run([2.0] * 3), static_run([2.5] * 3), steps=None)
        assert found.verdict.answer == "mismatch"

    def test_means_count_as_the_steps_that_they_cover(self) -> None:
        found = judged(megatron_run(falling(1000), interval=10), static_run(falling(1000)), steps=None)
        assert found.verdict.answer == "match"

    def test_a_shorter_run_is_judged_where_that_is_asked_for(self) -> None:
        found = judged(megatron_run(falling(50)), static_run(falling(50)), steps=50)
        assert found.verdict.answer == "match"
        assert "as asked; the guide's experiment has 1,000" in criterion(found, "length").said


class TestWeights:
    """Two random beginnings have nearly the same loss."""

    def test_two_first_steps_alone_show_nothing(self) -> None:
        found = judged(megatron_run([11.0, 10.9]), static_run([11.0, 10.9]), experiment="first-steps", steps=None)
        assert found.verdict.answer == "undecided"
        assert "two random beginnings" in criterion(found, "weights").said

    @pytest.mark.parametrize(
        ("ours", "theirs", "status", "answer"),
        [
            # Layers or rows in each other's place have the same sum.
            ((100, "0" * 16), (100, "0" * 16), "undecided", "undecided"),
            ((100, "2" * 16), (100, "1" * 16), "fail", "mismatch"),
            ((100, "222222222222" + "0000"), (100, "111111111111" + "0000"), "fail", "mismatch"),
            # One run keeps its weights in bfloat16: the other's rounded are these, or others.
            ((100, "222222222222" + "0000"), (100, "2" * 16), "undecided", "undecided"),
            ((100, "0" * 16), (128, "1" * 16), "undecided", "undecided"),
        ],
    )
    def test_checksums(self, ours: tuple[int, str], theirs: tuple[int, str], status: str, answer: str) -> None:
        a, b = SUM.format(*ours) + megatron_run([11.0, 10.9]), SUM.format(*theirs) + static_run([11.0, 10.9])
        found = judged(a, b, experiment="first-steps", steps=None)
        assert (criterion(found, "weights").status, found.verdict.answer) == (status, answer)

    @pytest.mark.parametrize(
        ("ours", "theirs", "answer"),
        [
            ((0.5, 0.25), (0.5005, 0.2502), "match"),
            ((0.5, 0.25), (0.53, 0.26), "undecided"),
            ((0.5, 0.25), (0.6, 0.25), "mismatch"),
        ],
    )
    def test_local_norms(self, ours: tuple[float, float], theirs: tuple[float, float], answer: str) -> None:
        # Within the guide's 10% two seeds lie, too: equal weights are a hundredth apart (measured on real runs).
        a, b = NORMS.format(*ours) + megatron_run([11.0, 10.9]), NORMS.format(*theirs) + static_run([11.0, 10.9])
        assert judged(a, b, experiment="first-steps", steps=None).verdict.answer == answer

    @pytest.mark.parametrize(
        ("layout", "base"),
        [("n_laylayers_12", "n_base12"), ("n_layqkv_12", "n_base12"), ("n_layfc1_bf12", "n_bf12")],
    )
    def test_weights_in_each_others_place_have_one_checksum(self, layout: str, base: str) -> None:
        # Runs of the real program: without local norms nothing else tells them apart.
        a, b = (real_run(name)._replace(norms=(), beginning=Beginning(f"{'1' * 16}/100")) for name in (base, layout))
        assert compare(a, b, "first-steps").verdict.answer == "undecided"

    def test_most_parameters_alike_are_not_all(self) -> None:
        # The gate and the up projection of one layer in each other's place: 0.06% in the middle, 1.3% and 4% there.
        a, b = (real_run(name)._replace(beginning=Beginning()) for name in ("g_base12", "g_gateup12"))
        assert compare(a, b, "first-steps").verdict.answer == "undecided"
        found = compare(a, b, "standard", grounds=Grounds(3)).verdict
        assert found.answer == "partial"
        assert "initial weights" in [one.what for one in found.unseen]

    def test_a_long_run_does_not_rest_on_its_checksum(self) -> None:
        a, b = megatron_run(uneven(1000)), static_run([loss + 0.004 for loss in uneven(1000)])
        total = SUM.format(100, "1" * 16)
        assert judged(total + a, total + b, steps=None).verdict.answer == "partial"

    def test_other_numbers_of_weights_leave_it_to_the_local_norms(self) -> None:
        a = SUM.format(100, "0" * 16) + NORMS.format(0.5, 0.25) + megatron_run([11.0, 10.9])
        b = SUM.format(128, "1" * 16) + NORMS.format(0.5, 0.25) + static_run([11.0, 10.9])
        assert judged(a, b, experiment="first-steps", steps=None).verdict.answer == "match"

    @pytest.mark.parametrize(
        ("said", "unloaded"),
        [
            ("Network parameters are not loaded: (['decoder.final_layernorm.weight', 'x.y'], [])\n", True),
            ("Network parameters are not loaded: ['decoder.final_layernorm.weight']\n", True),
            ("Network parameters not loaded:\nt - INFO -   - decoder.final_layernorm.weight\n", True),
            ("Network parameters are not loaded: ([], ['decoder.final_layernorm.weight'])\n", False),
            ("Network parameters are not loaded: ['adam_m.decoder.final_layernorm.weight', 'global_step']\n", False),
            ("All Network parameters are loaded.\n", False),
        ],
    )
    def test_a_record_of_weights_that_were_not_loaded(self, said: str, unloaded: bool) -> None:
        grounds = Grounds(record=Words("one was converted from the other", "由另一方转换"), recorded=True)
        a, b = run(megatron_run([11.0, 10.9])), run(said + static_run([11.0, 10.9]))
        assert b.beginning.unloaded == ("decoder.final_layernorm.weight" if unloaded else "")
        found = compare(a, b, "first-steps", grounds=grounds)
        assert found.verdict.answer == ("undecided" if unloaded else "match")

    @pytest.mark.parametrize(("recorded", "answer"), [(True, "match"), (False, "undecided")])
    def test_a_record(self, recorded: bool, answer: str) -> None:
        grounds = Grounds(record=Words("one was converted from the other", "由另一方转换"), recorded=recorded)
        a, b = run(megatron_run([11.0, 10.9])), run(static_run([11.0, 10.9]))
        assert compare(a, b, "first-steps", grounds=grounds).verdict.answer == answer
        alone = a._replace(beginning=Beginning(random=True))
        assert compare(alone, b, "first-steps", grounds=grounds).verdict.answer == "undecided"

    def test_a_log_says_how_it_began(self) -> None:
        text = (
            "    will not load any checkpoints and will start from random\n"
            "  successfully loaded checkpoint from weights/megatron [ t 1/1, p 1/1 ] at iteration 0\n"
        )
        found = run(SUM.format(7, "f" * 16) + text + megatron_run([2.0] * 3)).beginning
        assert found == Beginning(f"{'f' * 16}/7", "weights/megatron", random=True)

    def test_a_long_run_from_other_weights_is_not_within_the_standard(self) -> None:
        found = judged(megatron_run(uneven(1000)), static_run([loss + 0.004 for loss in uneven(1000)]), steps=None)
        assert found.verdict.answer == "partial"
        assert [one.what for one in found.verdict.unseen] == ["initial weights"]


class TestSteps:
    """The ups and downs of a loss come from its samples."""

    @pytest.mark.parametrize("later", [1, -1, 3, 30])
    @pytest.mark.parametrize("experiment", ["standard", "repeat"])
    def test_a_shift_is_named_and_taken_back(self, later: int, experiment: str) -> None:
        losses = uneven(200)
        a, b = megatron_run(losses, first=50), megatron_run(losses, first=50 + later)
        found = judged(a, b, experiment=cast("Experiment", experiment))
        said = criterion(found, "steps").said
        assert found.verdict.answer == "mismatch"
        assert f"--shift {later}" in said
        assert ("later" if later > 0 else "earlier") in said
        again = judged(a, b, shift=later, experiment=cast("Experiment", experiment))
        assert again.verdict.answer == "match", again.verdict.said
        assert "--shift" in notes(again)

    def test_other_samples_are_found(self) -> None:
        found = judged(megatron_run(uneven(300, 1)), static_run(uneven(300, 2)))
        assert criterion(found, "steps").status == "fail"
        assert found.verdict.answer == "mismatch"

    def test_rounding_is_no_other_order(self) -> None:
        smooth = [2 + 9 * 0.98**step for step in range(300)]
        draw = random.Random(1)
        other = [loss + draw.gauss(0, 1e-5) for loss in smooth]
        assert judged(megatron_run(smooth), static_run(other)).verdict.answer == "match"

    def test_local_norms_are_shifted_with_their_run(self) -> None:
        head = NORMS.format(0.5, 0.25)
        a = head + megatron_run(uneven(100), first=1)
        b = head + megatron_run(uneven(100), first=3)
        assert criterion(judged(a, b, shift=2), "local norms").status == "pass"


class TestRates:
    """A rate that differs beyond its digits is a difference."""

    @pytest.mark.parametrize("experiment", ["standard", "repeat"])
    @pytest.mark.parametrize(("by", "answer"), [(1.0, "match"), (1 + 1e-7, "match"), (1.02, "mismatch")])
    def test_from_a_step_on(self, experiment: str, by: float, answer: str) -> None:
        losses = falling(60)
        b = "".join(megatron_line(at, loss, rate=1e-4 * (by if at >= 50 else 1)) for at, loss in enumerate(losses, 1))
        found = judged(megatron_run(losses), b, experiment=cast("Experiment", experiment))
        assert found.verdict.answer == answer
        if answer == "mismatch":
            assert criterion(found, "learning rate").step == 51  # Megatron-LM prints the next step's

    def test_without_a_rate_it_is_named(self) -> None:
        found = judged(megatron_run(falling(60)), static_run(falling(60), rate=None))
        assert found.verdict.answer == "partial"
        assert [one.what for one in found.verdict.unseen] == ["learning rate"]


class TestSpikes:
    """A spike of the difference is one, however good the mean."""

    @pytest.mark.parametrize("length", [1, 5, 30])
    def test_it_decides(self, length: int) -> None:
        a = falling(1000)
        b = falling(1000, lambda step: 1.5 if 300 <= step < 300 + length else 0.0)
        assert criterion(judged(megatron_run(a), static_run(b)), "spikes").status == "fail"

    def test_a_level_that_moves_is_left_to_the_other_limits(self) -> None:
        found = judged(megatron_run(falling(900)), static_run(falling(900, lambda step: 0.018 if step > 780 else 0.0)))
        assert criterion(found, "spikes").status == "info"
