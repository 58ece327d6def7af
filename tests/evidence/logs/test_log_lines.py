"""Training lines of every version of both frameworks, and what is said where one cannot be read."""

from __future__ import annotations

import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from writing_logs import dynamic_line, falling, megatron_line, megatron_run, static_line, static_run

from accmap.evidence.logs.columns import ABSENT, GRAD_NORM, LEARNING_RATE, LOSS
from accmap.evidence.logs.log_reader import LogReader, read_run
from accmap.evidence.logs.sources import Piece
from accmap.evidence.logs.training_lines import FEWEST, Shape
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.diagnostic import UnreadableError

CASES: list[dict[str, Any]] = load_table(Path(__file__).with_name("training_lines.yaml").read_text("utf-8"))


def same(found: float, expected: float | None) -> bool:
    if expected is None:
        return found == ABSENT
    return math.isnan(found) if math.isnan(expected) else found == pytest.approx(expected)


@pytest.mark.procedure("proc.logs.fields")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_line_says_what_its_framework_meant(case: dict[str, Any], tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(case["text"].encode())
    run = read_run(str(log))
    assert run.framework == case["framework"]
    assert run.dialect == case.get("dialect", "")
    assert list(run.steps) == case["steps"]
    for name, values in case["columns"].items():
        column = run.column(name)
        assert all(same(found, value) for found, value in zip(column, values, strict=True)), (name, column)
    for name in case.get("missing", ()):
        assert not run.has(name)
    assert not [problem for problem in run.problems if problem.kind.code == "EVD003"]


@pytest.mark.procedure("proc.logs.fields")
def test_an_iteration_is_counted_over_the_epochs(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("".join(static_line(step, 2.0, epoch_length=7) for step in range(1, 15)))
    assert list(read_run(str(log)).steps) == list(range(1, 15))


LINES = [*megatron_run(falling(4)).splitlines(keepends=True), "something else\n"]
GARBLED = (
    LINES[1][: len(LINES[1]) // 2] + "\n",
    LINES[1].replace("lm loss: ", "lm loss: x"),
    LINES[1].replace("       2/", "     x2x/"),
    LINES[1].replace(" | ", " ¦ ", 2),
    LINES[1].replace("number of nan iterations", "number of n\0n iterations"),
)


@pytest.mark.parametrize("garbled", GARBLED)
def test_a_garbled_line_is_a_problem_with_its_place(garbled: str, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes((LINES[0] + garbled + "".join(LINES[2:])).encode())
    run = read_run(str(log))
    assert list(run.steps) == [1, 3, 4]
    found = [problem for problem in run.problems if problem.kind.code == "EVD003"]
    assert len(found) == 1
    assert found[0].kind.severity == "error"
    assert found[0].span is not None
    assert found[0].span.line == 2


@pytest.mark.parametrize("spelled", ["learnIng rate", "learning-rate"])
@pytest.mark.parametrize("line", [0, 4])
def test_two_spellings_of_one_column_are_one_column(spelled: str, line: int, tmp_path: Path) -> None:
    lines = megatron_run(falling(40)).split("\n")
    path = tmp_path / "run.log"
    path.write_text("\n".join(lines))
    usual = read_run(str(path)).column(LEARNING_RATE).tolist()
    lines[line] = lines[line].replace("learning rate", spelled)
    path.write_text("\n".join(lines))
    run = read_run(str(path))
    assert run.column(LEARNING_RATE).tolist() == usual
    assert {len(values) for values in run.columns.values()} == {40}
    assert not run.bad_steps


def test_of_two_spellings_on_one_line_the_first_counts(tmp_path: Path) -> None:
    text = megatron_run(falling(200)).replace("| grad norm: 1.000 |", "| grad norm: 1.000 | grad-norm: 2.0 |")
    (tmp_path / "run.log").write_text(text)
    run = read_run(str(tmp_path / "run.log"))
    assert set(run.column(GRAD_NORM)) == {1.0}
    assert len(run.column(GRAD_NORM)) == 200


@pytest.mark.parametrize("end", ["global_norm: ", "global_norm: [", "global_norm: [1.2 3.4]", "loss_scale: 1.0"])
def test_a_line_that_ends_early_is_a_problem(end: str, tmp_path: Path) -> None:
    whole = static_run(falling(3))
    line = static_line(4, 2.0)
    (tmp_path / "run.log").write_text(whole + line[: line.index(end.partition(":")[0])] + end + "\n")
    run = read_run(str(tmp_path / "run.log"))
    assert list(run.steps) == [1, 2, 3]
    assert [problem.kind.code for problem in run.problems] == ["EVD003"]


@pytest.mark.parametrize("line", [megatron_line(3, 2.0), static_line(3, 2.0), dynamic_line(3, 2.0)])
def test_a_last_line_counts_only_where_it_is_whole(line: str, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    before = {"{ step": dynamic_line, "{ Epoch": static_line}
    writer = next((writer for word, writer in before.items() if word in line), megatron_line)
    whole = writer(1, 2.2) + writer(2, 2.1)
    for cut in range(20, len(line.rstrip("\n"))):
        log.write_text(whole + line[:cut])
        run = read_run(str(log))
        if 3 in run.steps:
            # Only what stands after the last value may be missing.
            assert line[cut:].strip(" |}\n0123456789.T") in (
                "",
                "train_throughput_per_npu:",
                ", train_throughput_per_npu:",
            )
            assert run.column(LOSS)[2] == pytest.approx(2.0)
        elif any(word in line[:cut] for word in ("iteration  ", "{ Epoch:[", "{ step:[")):
            bad = {problem.kind.code for problem in run.problems if problem.kind.severity == "error"}
            assert bad
            assert bad <= {"EVD003", "EVD004"}, line[:cut]
    log.write_text(whole + line.rstrip("\n"))
    assert list(read_run(str(log)).steps) == [1, 2, 3]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"no training here\n" * 9, bytes(range(256)) * 50, b"{ Epoch:["])
def test_a_file_without_training_lines_is_refused(content: bytes, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(content)
    with pytest.raises(UnreadableError) as told:
        read_run(str(log))
    assert told.value.diagnostic.kind.code in ("EVD001", "EVD002", "EVD004")
    assert told.value.diagnostic.message("zh") != told.value.diagnostic.message("en")


def test_logs_of_both_frameworks_in_one_file_are_told(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(megatron_run(falling(5)) + static_run(falling(3)))
    run = read_run(str(log))
    assert run.framework == "megatron"
    assert [problem.kind.code for problem in run.problems] == ["EVD009"]


@given(
    st.lists(
        st.one_of(st.integers(1, 40), st.binary(max_size=30).filter(lambda noise: b"|" not in noise)), max_size=40
    ),
    st.integers(1, 400),
)
@settings(max_examples=60)
def test_however_it_is_cut_into_pieces_a_log_says_the_same(parts: list[int | bytes], size: int) -> None:
    lines = [
        megatron_line(part, 2 + part / 100).encode() if isinstance(part, int) else part.replace(b"\n", b" ") + b"\n"
        for part in parts
    ]
    text = b"".join(lines)
    whole, pieces = LogReader(), LogReader()
    if text:
        whole.take(text, 1, "x")
    piece, first = b"", 1
    for line in lines:
        piece += line
        if len(piece) >= size:
            pieces.take(piece, first, "x")
            first += piece.count(b"\n")
            piece = b""
    if piece:
        pieces.take(piece, first, "x")
    steps = [part for part in parts if isinstance(part, int)]
    for reader in (whole, pieces):
        found = reader.lines.get("megatron")
        assert (list(found.steps) if found else []) == steps
        if found is not None:
            assert list(found.columns[LOSS]) == pytest.approx([2 + step / 100 for step in steps])
            numbers = [place for place, part in enumerate(parts, 1) if isinstance(part, int)]
            assert list(found.numbers) == numbers


@given(st.binary(max_size=200), st.integers(0, 2000))
@settings(max_examples=80)
def test_no_bytes_crash_and_no_line_is_lost(noise: bytes, place: int) -> None:
    text = (megatron_run(falling(6)) + "x\n").encode()
    at = place % len(text)
    reader = LogReader()
    reader.take(text[:at] + noise + text[at:] + b"\n", 1, "x")
    lines = reader.lines.get("megatron")
    assert lines is not None
    assert len(set(lines.steps)) + lines.unreadable >= 6 - noise.count(b"\n")


@pytest.mark.parametrize("form", ["megatron", "static", "dynamic"])
def test_a_regular_log_is_read_without_looking_at_single_lines(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """This is what makes a million lines take seconds: gaps in the columns must not slow it down."""

    def slow(*_given: object) -> None:
        raise AssertionError("a line was read by itself")

    lines = {
        "megatron": [megatron_line(step, None if step % 7 == 0 else 2.0, norm=None if step % 5 == 0 else 1.0)
                     for step in range(1, 3000)],
        "static": [line for step in range(1, 3000)
                   for line in (static_line(step, 2.0, norm=None if step % 5 == 0 else 1.0), "  0.1% | | 19 }\n")],
        "dynamic": [dynamic_line(step, 2.0, norm=None if step % 5 == 0 else 1.0) for step in range(1, 3000)],
    }[form]  # fmt: skip
    monkeypatch.setattr("accmap.evidence.logs.training_lines.Lines._one", slow)
    reader = LogReader()
    text = "".join(lines).encode()
    half = text.index(b"\n", len(text) // 2) + 1
    reader.take(text[:half], 1, "x")
    reader.take(text[half:], text.count(b"\n", 0, half) + 1, "x")
    found = reader.run("x", ("x",))
    assert found is not None
    assert list(found.steps) == list(range(1, 3000))
    assert found.column(LOSS)[0] == 2.0
    assert found.lines[-1] == len(lines) - (form == "static")


def lines_of(form: str, count: int, losses: list[float], first: int = 1) -> list[str]:
    """Lines of one shape, but for what their losses are."""
    write = {
        "megatron": lambda step, loss: megatron_line(step, loss, norm=1.0 + step % 3, rate=1e-4 / (1 + step % 2)),
        "static": lambda step, loss: static_line(step, loss, norm=1.0 + step % 3, epoch_length=9),
        "dynamic": lambda step, loss: dynamic_line(step, loss, norm=1.0 + step % 3),
    }[form]
    return [write(step, losses[step % len(losses)]) for step in range(first, first + count)]


@pytest.mark.parametrize("form", ["megatron", "static", "dynamic"])
def test_lines_of_one_shape_are_taken_at_once(form: str) -> None:
    reader = LogReader()
    reader.take("".join(lines_of(form, 20, [2.0, 2.5])).encode(), 1, "x")
    assert reader.lines[form].take_alike("".join(lines_of(form, 20, [10.25, 1.0], 21)).encode(), 21, 20)
    assert list(reader.lines[form].steps) == list(range(1, 41))


@pytest.mark.parametrize("form", ["megatron", "static", "dynamic"])
def test_lines_of_one_length_are_taken_in_slices_whatever_stands_between_them(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only lines of another length, as of a larger loss, are split at their separators."""
    split: list[int] = []
    match = Shape.match

    def noted(shape: Shape, chunk: bytes, lines: int) -> object:
        split.append(lines)
        return match(shape, chunk, lines)

    monkeypatch.setattr("accmap.evidence.logs.training_lines.Shape.match", noted)
    write = {"megatron": megatron_line, "static": partial(static_line, epoch_length=5000), "dynamic": dynamic_line}[
        form
    ]
    written = [write(step, 2 + step / 1000) for step in range(100, 420)]
    reader = LogReader()
    reader.take("".join(written[:20]).encode(), 1, "x")
    written[120] = written[120].replace("412", "14120")
    lines = reader.lines[form]
    assert lines.take_alike("".join(written[20:]).encode(), 21, 300)
    assert sum(split) == 1
    assert list(lines.steps) == list(range(100, 420))
    assert list(lines.numbers) == list(range(1, 321))
    assert list(lines.columns[LOSS]) == pytest.approx([2 + step / 1000 for step in range(100, 420)])


@pytest.mark.parametrize("form", ["megatron", "static", "dynamic"])
@pytest.mark.parametrize(
    ("place", "instead"),
    [
        (" 15", "1 5"),
        (" 15", " -5"),
        ("2.150000", "2.15\n000"),
        ("2.150000", "2.15\t000"),
        ("2.150000", "2.15000 "),
        ("2.150000", "2.15000\r"),
        ("2.150000", "\t2.15000"),
        ("2.150000", "\f2.15000"),
        ("2.150000", "2 150000"),
        ("2.150000", "2.1x0000"),
        ("1.0", "1x0"),
        ("412", "4x2"),
    ],
)
def test_a_line_of_the_same_length_is_read_as_the_pattern_reads_it(form: str, place: str, instead: str) -> None:
    write = {"megatron": megatron_line, "static": partial(static_line, epoch_length=5000), "dynamic": dynamic_line}[
        form
    ]
    written = [write(step, 2 + step / 1000).replace("E+00", "00") for step in range(100, 180)]
    assert place in written[50]
    written[50] = written[50].replace(place, instead, 1)

    def told(chunks: list[list[str]]) -> object:
        reader, first = LogReader(), 1
        for chunk in chunks:
            text = "".join(chunk)
            reader.take_piece(Piece(text.encode(), first, True, lines=text.count("\n")), "x")
            first += text.count("\n")
        found = reader.lines[form]
        said = [one.message() for one in found.problems]
        return repr((found.steps, found.numbers, sorted(found.padded_columns().items()), said))

    assert told([written[:20], written[20:]]) == told([[line] for line in written])


@pytest.mark.parametrize("form", ["megatron", "static", "dynamic"])
def test_what_stands_at_a_logs_beginning_does_not_slow_down_the_rest(form: str) -> None:
    reader = LogReader()
    reader.take(("building the model\n" + "".join(lines_of(form, 20, [2.0, 2.5]))).encode(), 1, "x")
    lines = reader.lines[form]
    assert not lines.take_alike("".join(lines_of(form, 20, [2.0, 2.5], 21)).encode(), 22, 20)
    reader.take("".join(lines_of(form, 20, [2.0, 2.5], 21)).encode(), 22, "x")
    assert lines.take_alike("".join(lines_of(form, 20, [2.0, 2.5], 41)).encode(), 42, 20)


NUMBER = re.compile(r"[\d.E+-]*\d")
"""What fills a field of a line, or ends in one."""


@settings(max_examples=200)
@given(st.data())
def test_lines_of_one_shape_give_what_the_pattern_finds(data: st.DataObject) -> None:
    """A chunk that is split at its separators gives what is found line by line; else it is left to the pattern."""
    form = data.draw(st.sampled_from(["megatron", "static", "dynamic"]))
    losses = data.draw(st.lists(st.sampled_from([2.0, 2.5, 12.0, math.nan, 1e200, -3.0]), min_size=1, max_size=3))
    count = data.draw(st.integers(1, 12) | st.integers(FEWEST, 3 * FEWEST))
    lines = lines_of(form, count, losses)
    text = "".join(lines_of(form, count, losses, count + 1))
    words = [
        "",
        "|",
        "\n",
        " ",
        "x",
        " lm loss:",
        "| lm loss: 1 |",
        "iteration 7/ 9 |",
        ", loss: 1",
        "NaN",
        "[",
        "}",
        "[before the start of training step]",
        "\t",
        "\r",
    ]
    for _ in range(data.draw(st.integers(0, 3))):
        borders = [place for number in NUMBER.finditer(text) for place in (number.start(), number.end() - 1)]
        at = data.draw(st.integers(0, len(text) - 1) | st.sampled_from(borders))
        piece = data.draw(st.sampled_from([*words, *"  0179+--.\t\r\v\f"]))
        text = text[:at] + piece + text[at + data.draw(st.integers(0, 3) | st.just(len(piece))) :]
    text = text.rstrip("\n") + "\n"

    def told(at_once: bool) -> object:
        with pytest.MonkeyPatch.context() as patch:
            if not at_once:
                patch.setattr("accmap.evidence.logs.training_lines.Lines.take_alike", lambda *_: False)
            reader = LogReader()
            after = 1 + count
            for chunk, first in (("".join(lines), 1), (text, after), (text, after + text.count("\n"))):
                reader.take_piece(Piece(chunk.encode(), first, True, lines=chunk.count("\n")), "x")
            found = reader.lines[form]
            said = [one.message() for one in found.problems]
            columns = sorted(found.padded_columns().items())
            return repr((found.steps, found.numbers, columns, said, reader.norms.waits, reader.norms.broken))

    assert told(True) == told(False)
