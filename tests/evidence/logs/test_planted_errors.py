"""Errors planted in real runs: each is found, in the log of the other framework and with the sides exchanged."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest
from planted_errors import Curves, Error, compared, lines_of, planted
from test_real_runs import real_text
from test_real_runs import run as real_run

from accmap.evidence.logs.columns import GRAD_NORM, LEARNING_RATE, LOSS

if TYPE_CHECKING:
    from collections.abc import Callable

    from accmap.evidence.logs.verdict import Experiment


@cache
def curves(name: str) -> Curves:
    found = real_run(name)
    return Curves(*(tuple(found.column(column)) for column in (LOSS, GRAD_NORM, LEARNING_RATE)))


# Of float32 and bfloat16 runs of the same: what was changed, the verdict, what finds it.
ERRORS = {
    **{
        f"loss 10% up for {length} steps": (Error("loss", 299, length, 1.1), "mismatch", "spikes")
        for length in (1, 5, 33, 60, 100, 700)
    },
    "loss 10% up throughout": (Error("loss", 0, 1000, 1.1), "mismatch", "first loss"),
    "loss 10% down for 100 steps": (Error("loss", 400, 100, 0.9), "mismatch", "spikes"),
    "loss 3% up for a step": (Error("loss", 499, 1, 1.03), "mismatch", "spikes"),
    "loss 2% up for 50 steps": (Error("loss", 499, 50, 1.02), "mismatch", "spikes"),
    "loss 0.8% up for 20 steps": (Error("loss", 499, 20, 1.008), "undecided", "spikes"),
    "loss that jumps and returns": (Error("loss", 199, 200, 1.05), "mismatch", "spikes"),
    "losses of zero": (Error("loss", 499, 20, 0.0), "mismatch", "spikes"),
    "loss 2% up at the end": (Error("loss", 900, 100, 1.02), "mismatch", "late gap"),
    "first loss 1% up": (Error("loss", 0, 1, 1.01), "mismatch", "first loss"),
    "a loss of NaN": (Error("loss", 699, 1, math.nan), "mismatch", "finite"),
    "norm 50 times for a step": (Error("norm", 499, 1, 50.0), "undecided", "norm spikes"),
    "norm 3 times for 10 steps": (Error("norm", 499, 10, 3.0), "undecided", "norm spikes"),
    "norms of zero": (Error("norm", 499, 20, 0.0), "mismatch", "mean norm"),
    "norm 15% up throughout": (Error("norm", 0, 1000, 1.15), "mismatch", "mean norm"),
    "an infinite norm": (Error("norm", 699, 1, math.inf), "mismatch", "finite"),
    "rate 2% up from the middle": (Error("rate", 499, 501, 1.02), "mismatch", "learning rate"),
    "rate 10% up for a step": (Error("rate", 499, 1, 1.1), "mismatch", "learning rate"),
}


@pytest.mark.table(4)
@pytest.mark.parametrize(("error", "answer", "name"), ERRORS.values(), ids=list(ERRORS))
def test_an_error_is_found(error: Error, answer: str, name: str) -> None:
    a = "".join(lines_of(curves("base12"), "megatron"))
    b = "".join(lines_of(planted(curves("bf12"), [error]), "static"))
    for sides in ((a, b), (b, a)):
        verdict = compared(*sides, steps=1000).verdict
        assert verdict.answer == answer, verdict.said
        bad = {one.name for one in verdict.criteria if one.decides and one.status in ("fail", "undecided")}
        assert name in bad


def _without(column: str) -> Callable[[str], str]:
    return lambda text: re.sub(rf" {column}: [^|]*\|", "", text)


def _norms_in_ten_lines(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(lines[:10]) + "".join(map(_without("grad norm"), lines[10:]))


def _norm_of_step_1(text: str) -> str:
    return re.sub(r"((?:iteration +[234]/).*?) grad norm: [^|]*\|", r"\1", text)


def _cut(start: int, end: int) -> Callable[[str], str]:
    def cut(text: str) -> str:
        lines = text.splitlines(keepends=True)
        return "".join(lines[:start] + lines[end:])

    return cut


# Experiment, both runs, whether the first log is changed, too, what is changed, the verdict, what is named.
GAPS: dict[str, tuple[Experiment, str, str, bool, Callable[[str], str], str, str]] = {
    "lines in the middle": ("standard", "base12", "bf12", False, _cut(420, 520), "partial", "100 steps"),
    "the end": ("standard", "base12", "bf12", False, _cut(701, 2000), "partial", "300 steps of"),
    "norms in ten lines": ("standard", "base12", "bf12", False, _norms_in_ten_lines, "partial", "grad norm"),
    "rates of one log": ("standard", "base12", "bf12", False, _without("learning rate"), "partial", "learning rate"),
    "rates": ("lr-zero", "lr0_12", "lr0_bf16", True, _without("learning rate"), "undecided", "learning rate"),
    "rates of a repetition": ("repeat", "base12", "rep12", True, _without("learning rate"), "partial", "learning rate"),
    "a column of a repetition": ("repeat", "base12", "rep12", False, _without("loss scale"), "partial", "loss_scale"),
    "the second norm": ("first-steps", "s_base12", "s_bf12", False, _norm_of_step_1, "partial", "grad norm of step 2"),
}


@pytest.mark.table(4)
@pytest.mark.parametrize(("experiment", "a", "b", "both", "change", "answer", "what"), GAPS.values(), ids=list(GAPS))
def test_what_is_missing_is_named(
    experiment: Experiment, a: str, b: str, both: bool, change: Callable[[str], str], answer: str, what: str
) -> None:
    ours, theirs = (real_text(name) for name in (a, b))
    ours, theirs = change(ours) if both else ours, change(theirs)
    for sides in ((ours, theirs), (theirs, ours)):
        verdict = compared(*sides, experiment, steps=2 if experiment == "first-steps" else 100).verdict
        assert verdict.answer == answer, verdict.said
        assert any(one.what.startswith(what) for one in verdict.unseen), verdict.unseen
