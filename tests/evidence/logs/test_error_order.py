"""More error never makes a verdict better, and the same two runs have one verdict however their logs are written."""

from __future__ import annotations

import gzip
import random
from typing import TYPE_CHECKING

import pytest
from planted_errors import RANK, REWRITTEN, Error, chain, compared, drawn, gapped, lines_of, planted, rewritten, twin

from accmap.evidence.logs.comparison import compare
from accmap.evidence.logs.log_reader import read_run
from accmap.evidence.logs.verdict import Grounds

if TYPE_CHECKING:
    from pathlib import Path

SEEDS = [pytest.param(range(8), id="some"), pytest.param(range(8, 240), id="many", marks=pytest.mark.slow)]


@pytest.mark.parametrize("seeds", SEEDS)
def test_more_error_never_makes_a_verdict_better(seeds: range) -> None:
    for seed in seeds:
        pairs = chain(seed)
        answers = pairs.answers()
        ranks = [RANK[answer] for answer in answers]
        assert ranks == sorted(ranks, reverse=True), f"{pairs.said}: {answers}"
        assert pairs.answers(swapped=True) == answers, f"{pairs.said}, sides swapped"


@pytest.mark.parametrize("seeds", SEEDS)
def test_less_evidence_never_makes_a_verdict_good(seeds: range) -> None:
    for seed in seeds:
        pairs, errors = gapped(seed)
        whole, *rest = pairs.answers()
        assert whole in (("undecided", "mismatch") if errors else ("match",)), f"{pairs.said}: {whole}"
        assert set(rest) <= {"partial", "undecided"}, f"{pairs.said}: {rest}"


@pytest.mark.parametrize("seeds", SEEDS)
def test_a_log_that_is_written_otherwise_has_the_same_verdict(seeds: range) -> None:
    for seed in seeds:
        said, experiment, (benchmark, logs) = rewritten(seed)
        answers = [compared(benchmark, log, experiment).verdict.answer for log in logs]
        others = {write.__name__: answer for write, answer in zip(REWRITTEN, answers[1:], strict=True)}
        assert set(others.values()) == {answers[0]}, f"{said}, {answers[0]}: {others}"


@pytest.mark.parametrize("seed", range(3))
def test_a_log_in_parts_or_packed_is_the_same_log(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    curves = drawn(draw, 150)
    errors = ((), (Error("loss", 60, 3, 1.2),), (Error("norm", 40, 2, 6.0),))[seed]
    (tmp_path / "a.log").write_text("".join(lines_of(curves, "megatron")))
    lines = lines_of(planted(twin(draw, curves, 1e-5), errors), "static")
    (tmp_path / "b.log").write_text("".join(lines))
    (tmp_path / "b.log.gz").write_bytes(
        gzip.compress("".join(lines[:70]).encode()) + gzip.compress("".join(lines[70:]).encode())
    )
    parts = tmp_path / "run" / "rank_0"
    parts.mkdir(parents=True)
    for name, part in (("info.log.2", lines[:50]), ("info.log.1", lines[50:100]), ("info.log", lines[100:])):
        (parts / name).write_text("".join(part))
    answers = [
        compare(read_run(str(tmp_path / "a.log")), read_run(str(tmp_path / name)), grounds=Grounds(100)).verdict.answer
        for name in ("b.log", "b.log.gz", "run")
    ]
    assert answers == [("match", "mismatch", "undecided")[seed]] * 3
