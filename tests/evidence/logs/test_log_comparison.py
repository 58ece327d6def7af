"""Two runs side by side: steps aligned, losses that mean the same, and the judgement of every experiment."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from writing_logs import dynamic_line, falling, megatron_line, megatron_run, static_line, static_run

from accmap.evidence.logs.alignment import Extras, comparable
from accmap.evidence.logs.comparison import Comparison, compare
from accmap.evidence.logs.log_reader import LogReader
from accmap.evidence.logs.verdict import Grounds
from accmap.mapper.recipe.reading import recipe_of
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Callable

    from accmap.evidence.logs.departure import Criterion
    from accmap.evidence.logs.run import Run
    from accmap.evidence.logs.verdict import Experiment
    from accmap.mapper.recipe.values import Recipe


def run(text: str, name: str = "a.log") -> Run:
    reader = LogReader()
    reader.take(text.encode(), 1, name)
    found = reader.run(name, (name,))
    assert found is not None
    return found


def judged(a: str, b: str, *, steps: int | None = 1, shift: int = 0, **given: object) -> Comparison:
    """Two logs compared; as many steps as they have are enough unless the guide's own number is asked for (None)."""
    grounds = Grounds(steps, shift)
    return compare(run(a, "a.log"), run(b, "b.log"), grounds=grounds, **given)  # type: ignore[arg-type]


def criterion(comparison: Comparison, name: str) -> Criterion:
    return next(found for found in comparison.verdict.criteria if found.name == name)


def notes(comparison: Comparison) -> str:
    return " ".join(note for note in comparison.notes)


class TestAlignment:
    """By step, never by position."""

    def test_a_missing_line_moves_nothing(self) -> None:
        losses = falling(50)
        lines = static_run(losses).splitlines(keepends=True)
        found = judged(megatron_run(losses), "".join(lines[:7] + lines[9:]))
        assert found.aligned.loss.size == 48
        assert max(abs(a - b) for a, b in zip(found.aligned.loss.a, found.aligned.loss.b, strict=True)) < 1e-5
        assert found.aligned.only_a == 2
        assert found.verdict.answer == "partial"
        assert "2 steps: no common line covers these steps; the first gap is 7 → 10" in found.verdict.said

    @given(st.sets(st.integers(1, 60), min_size=25), st.sets(st.integers(1, 60), min_size=25), st.randoms())
    @settings(max_examples=40)
    def test_whatever_lines_are_there_and_in_whatever_order(
        self, ours: set[int], theirs: set[int], order: random.Random
    ) -> None:
        shuffled = list(theirs)
        order.shuffle(shuffled)
        a = "".join(static_line(step, step / 10) for step in sorted(ours))
        b = "".join(static_line(step, step / 10) for step in shuffled)
        found = judged(a, b).aligned.loss
        assert list(found.steps) == sorted(ours & theirs)
        assert list(found.a) == list(found.b)

    def test_a_mean_stands_beside_the_mean_of_the_same_steps(self) -> None:
        losses = falling(100)
        found = judged(megatron_run(losses, interval=10), static_run(losses))
        assert list(found.aligned.loss.steps) == list(range(10, 101, 10))
        assert max(abs(a - b) for a, b in zip(found.aligned.loss.a, found.aligned.loss.b, strict=True)) < 1e-5
        assert found.verdict.answer == "match"
        assert "over the same steps" in notes(found)
        assert "over the 10 steps up to step 10" in criterion(found, "first loss").said

    def test_two_means_of_different_length(self) -> None:
        losses = falling(120)
        found = judged(megatron_run(losses, interval=4), megatron_run(losses, interval=6)).aligned
        assert list(found.loss.steps) == []
        assert found.uncovered == 10
        found = judged(megatron_run(losses, interval=4), megatron_run(losses, interval=12)).aligned
        assert found.loss.size == 10
        assert max(abs(a - b) for a, b in zip(found.loss.a, found.loss.b, strict=True)) < 1e-5

    def test_where_the_other_side_lacks_steps_nothing_is_compared(self) -> None:
        losses = falling(100)
        every_tenth = "".join(static_line(step, losses[step - 1]) for step in range(10, 101, 10))
        found = judged(megatron_run(losses, interval=10), every_tenth)
        assert found.aligned.loss.size == 0
        assert found.aligned.norm.size == 10
        assert found.verdict.answer == "undecided"
        assert "the other log lacks some steps" in found.verdict.criteria[-1].said + notes(found)

    def test_megatrons_learning_rate_is_the_next_steps(self) -> None:
        rates = [0.0, *(step * 1e-6 for step in range(1, 40))]
        a = "".join(megatron_line(step, 2.0, rate=rates[step]) for step in range(1, 30))
        b = "".join(static_line(step, 2.0, rate=rates[step - 1]) for step in range(1, 30))
        c = "".join(dynamic_line(step, 2.0, rate=rates[step]) for step in range(1, 30))
        for one, other, count in ((a, b, 28), (b, a, 28), (a, c, 29)):
            equal = criterion(judged(one, other), "learning rate")
            assert (equal.status, equal.said) == ("pass", f"the learning rates are equal over {count} steps")
        assert "a.log prints the learning rate of the next step" in notes(judged(a, b))
        off = "".join(static_line(step, 2.0, rate=rates[step]) for step in range(1, 30))
        found = criterion(judged(a, off), "learning rate")
        assert (found.status, found.step) == ("fail", 2)


RECIPE = """\
torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 \\
  --max-position-embeddings 128 --micro-batch-size 1 --train-iters 10 --lr 1e-4 --num-experts 4 {}
"""


def recipe(words: str, version: str = "0.12") -> Recipe:
    options = ReadOptions(megatron=version)
    return recipe_of(config_of(SourceText("run.sh", RECIPE.format(words)), options, path="run.sh"))


def test_a_resumed_run_repeats_one_that_was_not() -> None:
    losses = [2.0000001 + 0.1234567 * step for step in range(1, 41)]
    whole = megatron_run(losses)
    printed = [*losses]
    for first in (0, 20):  # 0.16 and later: the second line of a process is the mean of its first two iterations
        printed[first + 1] = (losses[first] + losses[first + 1]) / 2
    begun = "[before the start of training step]\n"
    lines = megatron_run(printed).replace("10:00:00]", "10:00:00.123456]").splitlines(keepends=True)
    resumed = begun + "".join(lines[:20]) + begun + "".join(lines[20:])
    assert judged(whole, resumed, experiment="repeat").verdict.answer == "match"
    assert judged(resumed, whole, experiment="repeat").verdict.answer == "match"
    other = resumed.replace(f"{printed[21]:.6E}", f"{printed[21] + 2e-5:.6E}")
    assert judged(whole, other, experiment="repeat").verdict.answer == "mismatch"


@pytest.mark.parametrize(
    ("instead", "standard", "named"),
    [
        (
            ("global batch size:    16", "global batch size:    32"),
            "partial",
            "global_batch_size: 16 and 32 at step 1;",
        ),
        (("skipped iterations:   0", "skipped iterations:   1"), "partial", "skipped: 0 and 1 at step 1;"),
        (("nan iterations:   0", "nan iterations:   1"), "mismatch", "nan_iterations: 0 and 1 at step 1;"),
    ],
)
def test_other_batches_and_other_skipped_steps_are_no_match(
    instead: tuple[str, str], standard: str, named: str
) -> None:
    losses = [5.0 - 0.001 * step for step in range(1000)]
    whole = megatron_run(losses)
    other = whole.replace(*instead, 3)
    assert other != whole
    assert judged(whole, whole, experiment="standard").verdict.answer == "match"
    for experiment, answer in (("repeat", "mismatch"), ("standard", standard)):
        for sides in ((whole, other), (other, whole)):
            found = judged(*sides, experiment=experiment).verdict
            assert found.answer == answer
    if standard == "partial":
        assert named in judged(whole, other, experiment="standard").verdict.said
    assert named in criterion(judged(whole, other, experiment="repeat"), "iterations").said


@pytest.mark.procedure("proc.logs.loss_sum")
class TestComposition:
    """MindSpore Transformers' static loss is a sum; Megatron's is not."""

    def test_separate_losses_are_compared_as_such(self) -> None:
        whole = "".join(static_line(step, 3.5, separate="lm_loss: 2.000000, ") for step in range(1, 6))
        found = judged(megatron_run([2.0] * 5), whole)
        assert found.verdict.answer == "match"
        assert "language modeling" in notes(found)

    def test_a_configuration_rebuilds_the_sum(self) -> None:
        more = " load_balancing_loss: 1.200000E+00 | mtp_1 loss: 3.000000E+00 | mtp_2 loss: 4.000000E+00 |"
        a = "".join(megatron_line(step, 2.0, more=more) for step in range(1, 6))
        words = "--moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 0.01 --moe-layer-freq [0,1,1,1]"
        words += " --mtp-num-layers 2 --mtp-loss-scaling-factor 0.3"
        total = 2.0 + 0.01 * 3 * 1.2 + 0.3 / 2 * (3.0 + 4.0)
        found = judged(a, static_run([total] * 5), recipes=[recipe(words)])
        assert found.verdict.answer == "match"
        assert "0.03 * load_balancing_loss" in notes(found)
        assert judged(static_run([total] * 5), a, recipes=[recipe(words)]).verdict.answer == "match"
        assert judged(a, static_run([total] * 5)).verdict.answer == "mismatch"

    def test_later_versions_divide_by_the_further_predictions_too(self) -> None:
        words = "--num-experts 4 --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 0.01"
        words += " --moe-layer-freq [0,1,1,1] --mtp-num-layers 1 --mtp-loss-scaling-factor 0.1"
        balance = 4.0  # three layers of the decoder, one of the further prediction, 1 each
        for version, layers in (("0.12", 3), ("0.13", 4), ("0.16", 4)):
            more = f" load_balancing_loss: {balance / layers:.6E} | mtp_1 loss: 3.000000E+00 |"
            a = "".join(megatron_line(step, 2.0, more=more) for step in range(1, 6))
            found = judged(a, static_run([2.0 + 0.01 * balance + 0.3] * 5), recipes=[recipe(words, version)])
            assert found.verdict.answer == "match"
            assert f"{0.01 * layers:g} * load_balancing_loss" in notes(found)

    def test_what_is_assumed_is_said(self) -> None:
        assert "accmap assumes" in notes(judged(megatron_run([2.0] * 5), static_run([2.0] * 5)))
        more = " load_balancing_loss: 1.200000E+00 |"
        mixed = judged("".join(megatron_line(step, 2.0, more=more) for step in range(1, 6)), static_run([2.0] * 5))
        assert "load_balancing_loss" in notes(mixed)
        plain = judged(megatron_run([2.0] * 5), static_run([2.0] * 5), recipes=[recipe("--moe-aux-loss-coeff 0")])
        assert "contains no auxiliary loss" in notes(plain)
        words = "--moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 0.01"
        lacking = judged(megatron_run([2.0] * 5), static_run([2.04] * 5), recipes=[recipe(words)])
        assert "does not print this part (load_balancing_loss)" in notes(lacking)

    def test_the_dynamic_graphs_loss_is_the_language_models(self) -> None:
        dynamic = "".join(dynamic_line(step, 2.0, more="load_balancing_loss:   1.010000, ") for step in range(1, 6))
        assert judged(megatron_run([2.0] * 5), dynamic).verdict.answer == "match"

    def test_early_versions_print_no_mean_for_a_depth(self) -> None:
        more = " mtp_1 loss: 3.000000E+00 |"
        a = run("".join(megatron_line(step, 2.0, more=more) for step in (10, 20, 30)))
        b = run("".join(static_line(step, 2.3) for step in range(1, 31)))
        told = comparable(a, b, Extras(0.0, 0.1, ("x.sh",), mtp_means=False)).notes[0]
        assert "mtp_N loss" in told
        rebuilt = comparable(a, b, Extras(0.0, 0.1, ("x.sh",), mtp_means=True))
        assert list(rebuilt.a) == pytest.approx([2.3] * 3)


class TestStandard:
    """The published limits, from either side."""

    @pytest.mark.procedure("proc.stage2.step1_loss")
    @pytest.mark.parametrize(
        ("a", "b", "status"),
        [(0.9, 0.9049, "pass"), (0.9, 0.9051, "fail"), (11.0, 11.0549, "pass"), (11.0, 11.0551, "fail")],
    )
    def test_the_first_loss(self, a: float, b: float, status: str) -> None:
        for one, other in ((a, b), (b, a)):  # a share is one of the smaller value
            found = judged(megatron_run([one, *[0.9] * 9]), static_run([other, *[0.9] * 9]))
            assert criterion(found, "first loss").status == status
            assert ("forward pass" in notes(found)) == (status == "fail")

    @pytest.mark.parametrize(
        ("level", "off", "status"),
        [(0.5, 0.0098, "pass"), (0.5, 0.0102, "fail"), (11.0, 0.109, "pass"), (11.0, 0.111, "fail")],
    )
    def test_the_mean(self, level: float, off: float, status: str) -> None:
        wiggle = [level + (off if step % 2 else -off) for step in range(100)]
        found = judged(megatron_run([level] * 100), static_run(wiggle))
        assert criterion(found, "mean loss").status == status

    @pytest.mark.parametrize(("norm", "status"), [(1.0999, "pass"), (1.1001, "fail")])
    def test_the_mean_norm(self, norm: float, status: str) -> None:
        a, b = static_run([2.0] * 9, norm=1.0), static_run([2.0] * 9, norm=norm)
        for sides in ((a, b), (b, a)):
            found = judged(*sides)
            assert criterion(found, "mean norm").status == status
            # A first norm that is 9% off is within the limit, but no sign of equal weights.
            assert found.verdict.answer == ("partial" if status == "pass" else "mismatch")

    def test_a_log_without_norms_is_judged_by_its_loss(self) -> None:
        found = judged(megatron_run([2.0] * 9), static_run([2.0] * 9, norm=None))
        assert criterion(found, "mean norm").status == "info"
        assert found.verdict.answer == "partial"
        assert [one.what for one in found.verdict.unseen] == ["grad norm", "initial weights"]

    @pytest.mark.parametrize("steps", [3, 20, 999])
    def test_steps_that_one_run_alone_has_are_not_within_the_standard(self, steps: int) -> None:
        found = judged(megatron_run(falling(1000)), static_run(falling(1000)[:steps]))
        assert found.verdict.answer == "partial"
        assert f"{1000 - steps:,} steps of" in found.verdict.said
        assert "未比较" in found.verdict.said.text("zh")

    @pytest.mark.procedure("proc.stage3.loss_late_gap")
    @pytest.mark.parametrize(("gap", "status"), [(0.018, "pass"), (0.022, "fail")])
    def test_the_late_gap(self, gap: float, status: str) -> None:
        found = judged(megatron_run(falling(900)), static_run(falling(900, lambda step: gap if step > 780 else 0.0)))
        assert criterion(found, "late gap").status == status
        assert criterion(found, "mean loss").status == "pass"
        assert ("downstream" in criterion(found, "late gap").said) == (status == "pass")
        # The guide leaves a gap within 1% to an evaluation of downstream tasks, which is not made here.
        assert found.verdict.answer == ("undecided" if status == "pass" else "mismatch")
        assert criterion(found, "spikes").step == 781

    def test_too_few_common_steps_decide_nothing(self) -> None:
        found = judged(megatron_run([2.0, 1.9]), static_run([2.0, 1.9]))
        assert found.verdict.answer == "undecided"
        assert "3 are required" in criterion(found, "common").said
        apart = judged(megatron_run([2.0] * 5), static_run([2.0] * 5, first=6))
        assert apart.verdict.answer == "undecided"
        assert "no common step" in criterion(apart, "common").said

    @pytest.mark.parametrize("where", ["a", "b", "both"])
    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_nan_and_infinity_are_never_good(self, where: str, value: float) -> None:
        losses = falling(30)
        bad = [value if step == 17 else loss for step, loss in enumerate(losses, 1)]
        found = judged(static_run(bad if where != "b" else losses), static_run(bad if where != "a" else losses))
        assert found.verdict.answer == "mismatch"
        assert criterion(found, "finite").step == 17

    @pytest.mark.parametrize(
        ("name", "a", "b"),
        [
            ("finite", *("".join(megatron_line(step, None, norm=None) for step in range(1, 20)),) * 2),
            ("finite", *(static_run([math.nan] * 20),) * 2),
            ("finite", megatron_run(falling(9)) + megatron_line(10, 2.0, skipped=1, nan=1), megatron_run(falling(10))),
            ("readable", megatron_run(falling(9)).replace("lm loss: ", "lm loss: ?", 1), static_run(falling(9))),
        ],
        ids=["no loss at all", "only NaN", "an iteration of NaN", "a bad line"],
    )
    def test_these_are_never_good(self, name: str, a: str, b: str) -> None:
        found = judged(a, b)
        assert found.verdict.answer == "mismatch"
        assert criterion(found, name).status == "fail"

    @pytest.mark.parametrize("experiment", ["standard", "repeat", "first-steps", "lr-zero"])
    def test_a_run_that_skipped_every_step_is_not_judged(self, experiment: Experiment) -> None:
        fine, idle = megatron_run(falling(20), rate=0.0), megatron_run(falling(20), rate=0.0, skipped=1)
        for texts in ((idle, idle), (fine, idle), (idle, fine)):
            found = judged(*texts, experiment=experiment)
            assert criterion(found, "updates").status == "undecided"
            repeats = experiment != "repeat" or texts[0] == texts[1]
            assert found.verdict.answer == ("undecided" if repeats else "mismatch")
        some = megatron_run(falling(19), rate=0.0, skipped=1) + megatron_line(20, falling(20)[-1], rate=0.0)
        assert judged(some, fine).verdict.answer == "partial"
        assert not [one for one in judged(some, fine, experiment=experiment).verdict.criteria if one.name == "updates"]

    def test_overflow_in_every_step_of_the_static_graph(self) -> None:
        text = static_run(falling(20))
        assert "overflow cond: False" in text
        found = judged(text.replace("overflow cond: False", "overflow cond: True"), text)
        assert criterion(found, "updates").status == "undecided"


@pytest.mark.procedure("proc.stage3.loss_divergence")
class TestDeparture:
    """Where two curves part."""

    @staticmethod
    def noisy(count: int, change: Callable[[int], float], seed: int) -> list[float]:
        draw = random.Random(seed)
        return [loss + draw.gauss(0, 0.002) for loss in falling(count, change)]

    @pytest.mark.parametrize("step", [3, 64, 65, 400, 999, 1000])
    @pytest.mark.parametrize("size", [0.3, -0.3])
    def test_a_spike_is_found_at_its_step(self, step: int, size: float) -> None:
        spiked = self.noisy(1000, lambda at: size if at == step else 0.0, 2)
        found = judged(megatron_run(self.noisy(1000, lambda at: 0.0, 1)), static_run(spiked))
        assert [spike.step for spike in found.verdict.departure.spikes] == [step]
        assert criterion(found, "spikes").step == step
        assert found.verdict.departure.apart is None

    @pytest.mark.parametrize("step", [30, 301, 870])
    def test_a_lasting_jump_is_found_at_its_step(self, step: int) -> None:
        jumped = self.noisy(1000, lambda at: 0.4 if at >= step else 0.0, 2)
        found = judged(megatron_run(self.noisy(1000, lambda at: 0.0, 1)), static_run(jumped))
        assert criterion(found, "apart").step == step
        assert found.verdict.departure.spikes[0].step == step
        assert found.verdict.answer == "mismatch"

    def test_a_slow_drift_is_found_where_it_leaves_the_limits(self) -> None:
        drifted = self.noisy(1000, lambda at: max(0.0, at - 600) * 0.001, 2)
        found = judged(megatron_run(self.noisy(1000, lambda at: 0.0, 1)), static_run(drifted))
        step = criterion(found, "apart").step
        assert step is not None
        assert 612 <= step <= 632

    @pytest.mark.parametrize("seed", range(5))
    def test_noise_alone_is_no_departure(self, seed: int) -> None:
        found = judged(
            megatron_run(self.noisy(1000, lambda at: 0.0, seed)),
            static_run(self.noisy(1000, lambda at: 0.0, seed + 50)),
        )
        assert not found.verdict.departure.spikes
        assert found.verdict.departure.apart is None

    def test_a_spike_before_a_lasting_jump_is_not_its_beginning(self) -> None:
        jumped = self.noisy(400, lambda at: 0.4 if at == 100 or at >= 220 else 0.0, 2)
        found = judged(megatron_run(self.noisy(400, lambda at: 0.0, 1)), static_run(jumped))
        assert criterion(found, "apart").step == 220
        assert [spike.step for spike in found.verdict.departure.spikes] == [100, 220]

    def test_a_difference_that_goes_back_does_not_last(self) -> None:
        found = judged(
            megatron_run(falling(1000)), static_run(falling(1000, lambda at: 0.4 if 200 <= at < 260 else 0.0))
        )
        assert found.verdict.departure.apart is None
        assert found.verdict.departure.spikes[0].step == 200


class TestFirstSteps:
    """Stage 2 of the guide."""

    @pytest.mark.procedure("proc.stage2.step1_loss")
    def test_the_first_step_decides(self) -> None:
        good = judged(megatron_run([11.0, 10.5]), static_run([11.001, 10.501]), experiment="first-steps")
        assert good.verdict.answer == "undecided"  # nothing shows that both began with the same weights
        assert criterion(good, "weights").status == "undecided"
        bad = judged(megatron_run([11.0, 10.5]), static_run([11.2, 10.5]), experiment="first-steps")
        assert bad.verdict.answer == "mismatch"
        assert "forward pass" in notes(bad)

    @pytest.mark.procedure("proc.stage2.optimizer")
    def test_a_second_step_that_differs_points_at_the_optimizer(self) -> None:
        found = judged(megatron_run([11.0, 10.5]), static_run([11.0, 10.9]), experiment="first-steps")
        assert criterion(found, "first loss").status == "pass"
        assert criterion(found, "second loss").status == "fail"
        assert found.verdict.answer == "mismatch"
        assert "optimizer" in notes(found)
        # In the standard comparison the second loss is told; the limit of a single step decides.
        for second, status in ((10.57, "undecided"), (10.62, "fail")):
            longer = judged(megatron_run([11.0, 10.5, *[2.0] * 98]), static_run([11.0, second, *[2.0] * 98]))
            bad = [one for one in longer.verdict.criteria if one.decides and one.status not in ("pass", "info")]
            assert [(one.name, one.status) for one in bad] == [("spikes", status)]
            assert "optimizer" in notes(longer)

    def test_without_the_second_step_it_is_open(self) -> None:
        found = judged(megatron_run([11.0]), static_run([11.0]), experiment="first-steps")
        assert found.verdict.answer == "undecided"
        assert "only one log contains step 2" in criterion(found, "second loss").said


class TestRepetition:
    """Two runs of the same thing, with determinism on."""

    def test_every_printed_digit_counts(self) -> None:
        losses = falling(50)
        assert judged(megatron_run(losses), megatron_run(losses), experiment="repeat").verdict.answer == "match"
        other = [loss + (1e-5 if step == 30 else 0) for step, loss in enumerate(losses, 1)]
        found = judged(static_run(losses), static_run(other), experiment="repeat")
        assert found.verdict.answer == "mismatch"
        assert criterion(found, "every loss").step == 30
        norms = judged(static_run(losses), static_run(losses, norm=1.000001), experiment="repeat")
        assert norms.verdict.answer == "mismatch"


@pytest.mark.procedure("proc.stage3.lr_zero")
class TestLearningRateZero:
    """Weights that stay as they are: every step by itself."""

    @pytest.mark.parametrize(
        ("off", "norm", "answer"),
        [(0.001, 1.05, "match"), (0.0012, 1.0, "mismatch"), (0.0, 1.06, "mismatch"), (-0.0009, 0.96, "match")],
    )
    def test_each_step_has_its_limits(self, off: float, norm: float, answer: str) -> None:
        losses = falling(1000)
        changed = "".join(
            static_line(step, loss + (off if step == 500 else 0), norm=norm if step == 700 else 1.0, rate=0.0)
            for step, loss in enumerate(losses, 1)
        )
        found = judged(megatron_run(losses, rate=0.0), changed, experiment="lr-zero")
        assert found.verdict.answer == answer
        if abs(off) > 0.001:
            assert criterion(found, "every loss").step == 500
            assert "1 of 1,000 steps exceed" in criterion(found, "every loss").said

    def test_a_learning_rate_that_is_not_zero_is_not_the_experiment(self) -> None:
        found = judged(megatron_run([2.0] * 20, rate=0.0), static_run([2.0] * 20, rate=1e-6), experiment="lr-zero")
        assert found.verdict.answer == "mismatch"
        assert criterion(found, "learning rate").status == "fail"

    def test_without_norms_it_is_open_and_a_short_run_is_told(self) -> None:
        found = judged(
            megatron_run([2.0] * 20, rate=0.0),
            static_run([2.0] * 20, rate=0.0, norm=None),
            experiment="lr-zero",
            steps=None,
        )
        assert found.verdict.answer == "undecided"
        assert "20 of the 1,000 required steps so far" in criterion(found, "length").said


@pytest.mark.procedure("proc.stage3.benchmark_error")
class TestBenchmarkBand:
    """The benchmark's own error is the band to stay in."""

    @staticmethod
    def drawn(seed: int, *, spread: float = 0.05, off: float = 0.0, spike: int = 0) -> str:
        draw = random.Random(seed)
        return static_run(
            loss + draw.gauss(0, spread) + off + (2.0 if step == spike else 0.0)
            for step, loss in enumerate(falling(600), 1)
        )

    def judged(self, text: str, spread: float = 0.05) -> Comparison:
        twins = [run(self.drawn(seed, spread=spread), f"r{seed}") for seed in (1, 2)]
        return compare(twins[0], run(text, "b.log"), twins=twins, grounds=Grounds(1))

    @pytest.mark.parametrize("seed", range(10, 20))
    def test_a_third_run_of_the_same_kind_is_inside(self, seed: int) -> None:
        found = self.judged(self.drawn(seed))
        assert found.verdict.answer == "match", [entry.said for entry in found.verdict.criteria]
        assert not criterion(found, "mean loss").decides

    @pytest.mark.parametrize(
        ("given", "name"),
        [({"spread": 0.4}, "band"), ({"off": 0.12}, "around zero"), ({"spike": 333}, "band")],
    )
    def test_more_noise_an_offset_or_a_spike_is_not(self, given: dict[str, float], name: str) -> None:
        found = self.judged(self.drawn(12, **given))  # type: ignore[arg-type]
        assert criterion(found, name).status == "fail"
        assert found.verdict.answer == "mismatch"

    def test_a_small_offset_to_one_side_is_not_around_zero(self) -> None:
        twins = [run(self.drawn(seed), f"r{seed}") for seed in (1, 2)]
        shifted = run(static_run(loss + 0.025 for loss in twins[0].column("loss")))
        found = compare(twins[0], shifted, twins=twins, grounds=Grounds(1))
        assert criterion(found, "band").status == "pass"
        assert criterion(found, "around zero").status == "fail"

    def test_equal_runs_give_no_band(self) -> None:
        twins = [run(self.drawn(1), "r1"), run(self.drawn(1), "r2")]
        found = compare(twins[0], run(self.drawn(3), "b"), twins=twins, grounds=Grounds(1))
        assert "do not define a noise band" in criterion(found, "band").said
        assert found.verdict.answer != "match"
        assert compare(twins[0], run(self.drawn(1), "b"), twins=twins, grounds=Grounds(1)).verdict.answer == "match"

    def test_means_stand_in_a_band_of_means(self) -> None:
        """The mean of ten steps has a third of a step's noise: in the band of single steps any offset would lie."""
        twins = [run(self.drawn(seed), f"r{seed}") for seed in (1, 2)]

        def tens(seed: int, spread: float) -> Run:
            draw = random.Random(seed)
            return run(megatron_run([loss + draw.gauss(0, spread) for loss in falling(600)], interval=10), "b.log")

        for seed in range(10, 14):
            found = compare(twins[0], tens(seed, 0.05), twins=twins, grounds=Grounds(1))
            assert found.verdict.answer == "match", found.verdict.said
            wide = compare(twins[0], tens(seed, 0.3), twins=twins, grounds=Grounds(1))
            assert criterion(wide, "band").status == "fail"
        printed = [run(megatron_run(one.column("loss"), interval=10), one.name) for one in twins]
        for seed in range(10, 14):
            found = compare(printed[0], run(self.drawn(seed), "b.log"), twins=printed, grounds=Grounds(1))
            assert found.verdict.answer == "match", found.verdict.said

    def test_steps_without_a_band_are_named(self) -> None:
        twins = [run("".join(self.drawn(seed).splitlines(keepends=True)[:500]), f"r{seed}") for seed in (1, 2)]
        found = compare(
            run(self.drawn(1), "a.log"), run(self.drawn(3), "b.log"), twins=twins, grounds=Grounds(1)
        ).verdict
        assert found.answer == "partial"
        assert "loss: at 100 steps, the two benchmark runs do not define a noise band" in found.said

    def test_nan_in_a_benchmark_run_is_never_good(self) -> None:
        twins = [run(self.drawn(1), "r1"), run(static_run([math.nan] * 600), "r2")]
        assert compare(twins[0], run(self.drawn(3), "b"), twins=twins, grounds=Grounds(1)).verdict.answer == "mismatch"
