"""A long log read by several processes gives what one process reads, whatever stands between its lines."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from accmap.evidence.logs.log_reader import LogReader, processes_for, read_spread
from accmap.evidence.logs.sources import open_log, pieces

LINES = 9000
MEGATRON = (
    " [2025-01-01 10:00:00] iteration {step:8d}/   90000 | consumed samples: {step:12d} | learning rate: 1.0E-04 | "
    "lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: {loss:.3f} | number of skipped iterations:   0 | "
    "number of nan iterations:   0 |\n"
)
MINDFORMERS = (
    "2025-01-01 10:00:00,123 - INFO - {{ Epoch:[  1/  1], step:[{step:5d}/90000], loss: {loss:5.6f}, per_step_time: "
    "412ms, lr: 1e-04, overflow cond: False, loss_scale: 1.0, global_norm: [{loss:.6f}], train_throughput_per_npu: 2T\n"
)
ODD = (
    "",
    "a warning of a library",
    "[before the start of training step]",
    " iteration        7/   90000 | lm loss: 1.0E+00 | z_loss: 2.0E+00 | number of nan iterations:   0 |",
    " iteration        7/   90000 | consumed samples:     1 | lm loss: 1.0E+",
    " iteration        7/   90000 | consumed samples: 7 | lm loss: oh | number of nan iterations:   0 |",
    "{ Epoch:[  1/  1], step:[    7/90000], loss: 1.5, per_step_time: 1ms, lr: 1e-04, overflow cond: True",
    "{ Epoch:[  1/  1], step:[    7/90000], loss: N/A, per_step_time: 1ms, lr: 1e-04, global_norm: None",
    "local norm: [1.0, 2.0, 3.0]",
    "norm_size: 3",
    "x" * 70_000,
)


def told(reader: LogReader, path: Path) -> object:
    """Everything that a reader found."""
    lines = {name: (one.steps, one.numbers, one.padded_columns(), one.starts) for name, one in reader.lines.items()}
    return repr((lines, reader.run(str(path), (str(path),))))


def alone(path: Path) -> LogReader:
    reader = LogReader()
    with open_log(str(path)) as stream:
        for piece in pieces(stream):
            reader.take_piece(piece, str(path))
    return reader


@settings(max_examples=20, phases=[Phase.generate])
@given(
    st.sampled_from([MEGATRON, MINDFORMERS]),
    st.lists(st.tuples(st.integers(0, LINES), st.sampled_from(ODD)), max_size=4),
    st.sampled_from([1 << 15, 1 << 17, 100_003]),
    st.booleans(),
)
def test_processes_read_what_one_reads(line: str, odd: list[tuple[int, str]], part: int, ends: bool) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.log"
        rows = [line.format(step=step, loss=1 + step % 997 / 7) for step in range(1, LINES)]
        for at, text in odd:
            rows.insert(at, text + "\n")
        path.write_text("".join(rows)[: None if ends else -1], "utf-8")
        reader = LogReader()
        read_spread(reader, str(path), 2, part)
        assert told(reader, path) == told(alone(path), path)


@pytest.mark.parametrize("every", [1, 10])
def test_most_parts_are_read_by_others(every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.log"
    rows = [MEGATRON.format(step=step, loss=step) if step % every == 0 else "served\n" for step in range(LINES * every)]
    path.write_text("".join(rows), "utf-8")
    here: list[int] = []
    take = LogReader.take_piece
    reader = LogReader()

    def counted(self: LogReader, piece: object, file: str) -> None:
        if self is reader:
            here.append(len(piece.data))  # type: ignore[attr-defined]
        take(self, piece, file)  # type: ignore[arg-type]

    monkeypatch.setattr(LogReader, "take_piece", counted)
    read_spread(reader, str(path), 2, 1 << 16)
    assert sum(here) < (1 << 20) + (1 << 17)
    assert told(reader, path) == told(alone(path), path)


def test_short_logs_and_pipes_are_read_here(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(MEGATRON.format(step=1, loss=1), "utf-8")
    with open_log(str(path)) as stream:
        assert processes_for(stream) == 1


def test_a_start_that_is_announced_long_before_the_first_line_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    rows = ["[before the start of training step]\n", *["a warning\n"] * 200_000]
    path.write_text("".join(rows) + "".join(MEGATRON.format(step=step, loss=1) for step in range(1, 4)), "utf-8")
    assert alone(path).lines["megatron"].starts == [0]
