"""A whole log as a run: restarts, gaps, repeated lines, windows; directories, compressed logs, event files."""

from __future__ import annotations

import gzip
import math
from typing import TYPE_CHECKING

import pytest
from writing_logs import (
    dynamic_line,
    event_file,
    events_of,
    falling,
    megatron_line,
    megatron_run,
    static_line,
    static_run,
)

from accmap.evidence.logs.columns import GRAD_NORM, LEARNING_RATE, LOSS
from accmap.evidence.logs.comparison import compare
from accmap.evidence.logs.event_files import is_event_file, masked_crc
from accmap.evidence.logs.log_reader import read_run
from accmap.evidence.logs.verdict import Grounds
from accmap.schemas.diagnostic import UnreadableError

if TYPE_CHECKING:
    from pathlib import Path

    from accmap.evidence.logs.run import Run


def read(path: Path, text: str | bytes) -> Run:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_run(str(path))


def codes(run: Run) -> list[str]:
    return [problem.kind.code for problem in run.problems]


def said(run: Run) -> str:
    return " ".join(problem.message() for problem in run.problems)


def test_after_a_restart_the_later_lines_count(tmp_path: Path) -> None:
    again = [9.0 + step / 100 for step in range(8, 13)]
    run = read(tmp_path / "a.log", megatron_run(falling(10)) + "restarted\n" + megatron_run(again, first=8))
    assert list(run.steps) == list(range(1, 13))
    assert list(run.column(LOSS)[7:]) == pytest.approx(again)
    assert codes(run) == ["EVD005"]
    assert "Step 10" in said(run).replace("after step 10", "Step 10") or "step 10" in said(run)
    assert "the 3 repeated steps" in said(run)
    assert run.problems[0].span is not None
    assert run.problems[0].span.line == 12


def test_gaps_are_counted(tmp_path: Path) -> None:
    lines = megatron_run(falling(20)).splitlines(keepends=True)
    run = read(tmp_path / "a.log", "".join(lines[:4] + lines[6:12] + lines[13:]))
    assert codes(run) == ["EVD008"]
    assert "2 gaps" in said(run)
    assert "3 lines are missing" in said(run)
    assert "4 → 7" in said(run)


def test_repeated_and_conflicting_lines_are_told_apart(tmp_path: Path) -> None:
    line = megatron_line(3, 5.0)
    run = read(
        tmp_path / "a.log", megatron_run(falling(2)) + line + line + megatron_line(3, 4.5) + megatron_line(4, 4.0)
    )
    assert list(run.steps) == [1, 2, 3, 4]
    assert run.column(LOSS)[2] == 4.5
    assert codes(run) == ["EVD006", "EVD007"]


@pytest.mark.parametrize(
    ("steps", "windows"),
    [
        ([1, 2, 3], [1, 1, 1]),
        ([10, 20, 30], [10, 10, 10]),
        ([1, 10, 20, 30], [1, 10, 10, 10]),  # 0.16 and later print the first iteration, too
        ([10, 20, 40, 50], [10, 10, 10, 10]),  # a lost line makes no window longer
        ([10, 20, 30, 26, 30, 40], [10, 10, 1, 5, 10]),  # resumed from 25: 30 is a mean of 26 to 30
        ([5], [5]),
        ([1, 3, 5, 7], [1, 1, 1, 1]),  # no multiples of an interval: lines that are left of a longer log
        ([30, 10, 20], [10, 10, 10]),  # in whatever order
    ],
)
def test_a_megatron_loss_is_the_mean_of_its_interval(steps: list[int], windows: list[int], tmp_path: Path) -> None:
    run = read(tmp_path / "a.log", "".join(megatron_line(step, 2.0) for step in steps))
    expected = dict(zip(dict.fromkeys(sorted(steps)), windows, strict=True)) if len(set(steps)) == len(windows) else {}
    assert list(run.windows) == (windows if not expected else [expected[step] for step in run.steps])


def test_mindformers_losses_are_the_steps_own(tmp_path: Path) -> None:
    run = read(tmp_path / "a.log", "".join(static_line(step, 2.0) for step in (10, 20, 30)))
    assert list(run.windows) == [1, 1, 1]
    assert run.interval == 10


def test_skipped_iterations_have_no_loss_and_nan_ones_have_nan(tmp_path: Path) -> None:
    text = megatron_line(1, None, skipped=1) + megatron_line(2, None) + megatron_line(3, 2.0, nan=1)
    losses = read(tmp_path / "a.log", text).column(LOSS)
    assert losses[0] == -math.inf
    assert math.isnan(losses[1])


def test_a_log_whose_losses_are_all_nan_says_so(tmp_path: Path) -> None:
    run = read(tmp_path / "a.log", "".join(megatron_line(step, None) for step in range(1, 9)))
    assert codes(run) == ["EVD017"]
    assert "every mean loss was NaN" in said(run)
    assert all(map(math.isnan, run.column(LOSS)))


def test_compressed_logs_are_read_and_damage_is_told(tmp_path: Path) -> None:
    whole = gzip.compress(megatron_run(falling(2000)).encode())
    assert len(read(tmp_path / "a.log.gz", whole).steps) == 2000
    run = read(tmp_path / "b.log.gz", whole[: len(whole) // 2])
    assert 0 < len(run.steps) < 2000
    assert "EVD019" in codes(run)


class TestDirectories:
    """A directory stands for one run."""

    def test_of_workers_the_first_counts_and_others_must_agree(self, tmp_path: Path) -> None:
        for rank in range(3):
            text = static_run([2.0, 1.9, 1.8 if rank < 2 else 1.7])
            (tmp_path / f"worker_{rank}.log").write_text(text)
        (tmp_path / "scheduler.log").write_text("nothing\n")
        run = read_run(str(tmp_path))
        assert run.files[-1].endswith("worker_0.log")
        assert codes(run) == ["EVD010", "EVD011"]
        assert "worker_2.log" in said(run)
        assert "at step 3" in said(run)

    def test_steps_of_other_files_alone_are_counted(self, tmp_path: Path) -> None:
        (tmp_path / "first.log").write_text(static_run(falling(60)))
        (tmp_path / "second.log").write_text(static_run(falling(40), first=51))
        run = read_run(str(tmp_path))
        assert (len(run.steps), run.elsewhere) == (60, 30)
        found = compare(run, run._replace(name="other", elsewhere=0), grounds=Grounds(10)).verdict
        assert found.answer in ("partial", "undecided")
        assert "only other files in the directory contain these values" in [one.en for one in found.unseen]

    def test_with_pipeline_stages_the_last_card_counts(self, tmp_path: Path) -> None:
        warning = "- WARNING - pipeline stages: 2 > 1, the loss on the last card is valid.\n"
        for rank in (0, 1, 10):
            (tmp_path / f"worker_{rank}.log").write_text(warning + static_run([float(rank), 1.0]))
        run = read_run(str(tmp_path))
        assert run.files[-1].endswith("worker_10.log")
        assert run.column(LOSS)[0] == 10.0
        assert codes(run) == ["EVD010"]
        alone = read_run(str(tmp_path / "worker_0.log"))
        assert codes(alone) == ["EVD015"]

    def test_a_stage_without_loss_is_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "worker_0.log").write_text("".join(dynamic_line(step, None, norm=None) for step in (1, 2)))
        (tmp_path / "worker_1.log").write_text("".join(dynamic_line(step, 2.0) for step in (1, 2)))
        run = read_run(str(tmp_path))
        assert run.files[-1].endswith("worker_1.log")
        alone = read_run(str(tmp_path / "worker_0.log"))
        assert "EVD017" in codes(alone)
        assert "last pipeline stage" in said(alone)

    def test_rotated_parts_of_a_rank_are_one_log(self, tmp_path: Path) -> None:
        folder = tmp_path / "log" / "rank_0"
        folder.mkdir(parents=True)
        losses = falling(30)
        (folder / "info.log.2").write_text(static_run(losses[:10]))
        (folder / "info.log.1").write_text(static_run(losses[10:20], first=11))
        (folder / "info.log").write_text(static_run(losses[20:], first=21))
        (folder / "error.log").write_text("")
        run = read_run(str(tmp_path))
        assert list(run.steps) == list(range(1, 31))
        assert not run.problems

    def test_workers_logs_go_before_the_ranks(self, tmp_path: Path) -> None:
        (tmp_path / "rank_0").mkdir()
        (tmp_path / "rank_0" / "info.log").write_text(static_run([3.0, 2.0]))
        (tmp_path / "worker_0.log").write_text(static_run([3.0, 2.0, 1.0]))
        (tmp_path / "notes.txt").write_text("x")
        assert len(read_run(str(tmp_path)).steps) == 3

    def test_without_logs_it_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "notes.md").write_text("x")
        with pytest.raises(UnreadableError) as told:
            read_run(str(tmp_path))
        assert told.value.diagnostic.kind.code == "EVD012"


class TestEventFiles:
    """TensorBoard event files of either framework."""

    def test_the_checksum_is_the_published_one(self) -> None:
        # CRC-32C of "123456789" is 0xE3069283 (RFC 3720), masked as the format does.
        crc = 0xE3069283
        assert masked_crc(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF

    @pytest.mark.procedure("proc.logs.fields")
    def test_megatrons_tags(self, tmp_path: Path) -> None:
        tags = {
            "lm loss": {1: 11.0, 2: 10.5},
            "lm loss vs samples": {16: 11.0, 32: 10.5},
            "grad-norm": {1: 3.0, 2: 2.0},
            "learning-rate": {1: 1e-4, 2: 2e-4},
            "load_balancing_loss": {1: 1.0, 2: 1.0},
            "lm loss validation": {2: 9.0},
        }
        run = read(tmp_path / "events.out.tfevents.1.host", events_of(tags))
        assert (run.framework, run.source, list(run.steps)) == ("megatron", "events", [1, 2])
        assert list(run.column(LOSS)) == [11.0, 10.5]
        assert list(run.column(GRAD_NORM)) == [3.0, 2.0]
        assert run.column(LEARNING_RATE)[1] == pytest.approx(2e-4)
        assert run.has("load_balancing_loss")
        assert list(run.windows) == [1, 1]

    @pytest.mark.parametrize(
        ("tag", "dialect", "shift"),
        [("lm-loss", "static", 0), ("throughput", "dynamic", 1), ("grad-norm", "static", 0)],
    )
    def test_mindformers_tags(self, tag: str, dialect: str, shift: int, tmp_path: Path) -> None:
        run = read(tmp_path / "some.file", events_of({"loss": {1: 11.0, 2: 10.5}, tag: {1: 1.0, 2: 1.0}}))
        assert (run.framework, run.dialect, run.rate_shift) == ("mindformers", dialect, shift)

    def test_tensors_of_one_number_are_scalars_too(self, tmp_path: Path) -> None:
        data = event_file([(1, "lm loss", 2.5), (2, "lm loss", float("nan"))], tensors=True)
        losses = read(tmp_path / "events.out.tfevents.1", data).column(LOSS)
        assert losses[0] == 2.5
        assert math.isnan(losses[1])

    def test_several_files_are_a_restart(self, tmp_path: Path) -> None:
        (tmp_path / "events.out.tfevents.1").write_bytes(events_of({"lm loss": {1: 3.0, 2: 2.9, 3: 2.8}}))
        (tmp_path / "events.out.tfevents.2").write_bytes(events_of({"lm loss": {3: 2.7, 4: 2.6}}))
        run = read_run(str(tmp_path))
        assert list(run.steps) == [1, 2, 3, 4]
        assert run.column(LOSS)[2] == pytest.approx(2.7)

    @pytest.mark.parametrize("damage", ["cut", "length", "body", "field"])
    def test_damage_ends_the_reading_and_is_told(self, damage: str, tmp_path: Path) -> None:
        whole = bytearray(events_of({"lm loss": dict.fromkeys(range(1, 50), 2.0)}))
        if damage == "cut":
            del whole[len(whole) // 2 :]
        elif damage == "length":
            whole[len(whole) // 2 : len(whole) // 2 + 60] = bytes(60)
        elif damage == "body":
            whole[-6] ^= 0xFF  # in the number itself: only the checksum tells
        else:
            bad = b"\xff\xff"
            head = len(bad).to_bytes(8, "little")
            whole += head + masked_crc(head).to_bytes(4, "little") + bad + masked_crc(bad).to_bytes(4, "little")
        run = read(tmp_path / "events.out.tfevents.1", bytes(whole))
        assert 20 <= len(run.steps) <= 49
        assert codes(run) == ["EVD013"]
        assert run.problems[0].kind.severity == "error"

    def test_a_file_without_a_loss_and_one_of_noise_are_refused(self, tmp_path: Path) -> None:
        for data, code in ((events_of({"grad-norm": {1: 1.0}}), "EVD014"), (b"\x00" * 40, "EVD013")):
            path = tmp_path / "events.out.tfevents.1"
            path.write_bytes(data)
            with pytest.raises(UnreadableError) as told:
                read_run(str(path))
            assert told.value.diagnostic.kind.code == code
        log = tmp_path / "run.log"
        log.write_bytes(b"plain text of a log")
        assert not is_event_file(str(log))


def later(text: str) -> str:
    """The lines as 0.16 and later write them: with microseconds."""
    return text.replace("10:00:00]", "10:00:00.123456]")


def test_the_second_line_of_later_versions_is_taken_apart(tmp_path: Path) -> None:
    losses = [11.0, 10.0, 9.0, 8.0]
    printed = [11.0, 10.5, 9.0, 8.0]
    run = read(tmp_path / "a.log", later(megatron_run(printed)))
    assert list(run.column(LOSS)) == losses
    assert run.recovered == (2,)
    assert list(read(tmp_path / "b.log", megatron_run(printed)).column(LOSS)) == printed
    resumed = read(tmp_path / "c.log", later(megatron_run(printed) + megatron_run(printed, first=3)))
    assert list(resumed.column(LOSS)) == [11.0, 10.0, 11.0, 10.0, 9.0, 8.0]
    # A log that begins in the middle was cut; one where a process says something first was not.
    assert list(read(tmp_path / "d.log", later(megatron_run(printed, first=7))).column(LOSS)) == printed
    assert (
        list(read(tmp_path / "e.log", "starting\n" * 9 + later(megatron_run(printed, first=7))).column(LOSS)) == losses
    )


def test_a_run_that_was_resumed_where_it_stood(tmp_path: Path) -> None:
    begun = "training ...\n[before the start of training step] datetime: 2025-01-01 10:00:00.123456 \n"
    again = megatron_line(5, 7.0) + megatron_line(6, 6.5) + megatron_line(7, 5.0)
    text = begun + later(megatron_run([11.0, 10.5, 9.0, 8.0])) + "more\n" * 3 + begun + later(again)
    run = read(tmp_path / "a.log", text)
    assert list(run.column(LOSS)) == [11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0]
    assert run.recovered == (2, 6)
    assert [found.kind.code for found in run.problems] == ["EVD005"]
    assert list(run.lines) == [3, 4, 5, 6, 12, 13, 14]
    # The words alone, in the middle of a chunk or of a version that begins no mean twice, change nothing else.
    assert list(read(tmp_path / "b.log", begun + again).column(LOSS)) == [7.0, 6.5, 5.0]
    assert list(read(tmp_path / "c.log", begun + later(again)).column(LOSS)) == [7.0, 6.0, 5.0]
    # A job that was started over and over says them more often than functions can call each other.
    assert list(read(tmp_path / "d.log", begun * 2_000 + later(again)).column(LOSS)) == [7.0, 6.0, 5.0]


def test_a_start_that_is_announced_long_before_the_first_line_counts(tmp_path: Path) -> None:
    begun = "[before the start of training step]\n" + "a warning\n" * 200_000
    run = read(tmp_path / "a.log", begun + later(megatron_run([11.0, 10.5], first=7)))
    assert list(run.column(LOSS)) == [11.0, 10.0]
    assert list(read(tmp_path / "b.log", later(megatron_run([11.0, 10.5], first=7))).column(LOSS)) == [11.0, 10.5]


@pytest.mark.parametrize(
    ("skipped", "losses"), [((1, 1), [-math.inf, 10.5]), ((0, 1), [11.0, -math.inf]), ((1, 2), [-math.inf, -math.inf])]
)
def test_skipped_iterations_in_the_second_line(skipped: tuple[int, int], losses: list[float], tmp_path: Path) -> None:
    lines = [
        megatron_line(1, None if skipped[0] else 11.0, skipped=skipped[0]),
        megatron_line(2, None if skipped[1] == 2 else 11.0 if not skipped[0] else 10.5, skipped=skipped[1]),
        megatron_line(3, 9.0),
    ]
    run = read(tmp_path / "a.log", later("".join(lines)))
    assert list(run.column(LOSS))[:2] == losses


def test_a_first_line_at_a_multiple_is_covered_once_more(tmp_path: Path) -> None:
    text = later("".join(megatron_line(step, 2.0) for step in (10, 20, 30, 40)))
    assert list(read(tmp_path / "a.log", "starting\n" * 9 + text).windows) == [1, 11, 10, 10]
    assert list(read(tmp_path / "b.log", text).windows) == [10, 10, 10, 10]
