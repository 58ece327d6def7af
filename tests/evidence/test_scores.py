"""Evaluation scores against a benchmark's: what is read from which report, and the 0.4%."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.evidence.scores import ScoreCheck, Settings, check_scores, read_scores, setting_differences
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.diagnostic import UnreadableError

CASES = load_table((Path(__file__).parent / "scores.yaml").read_text("utf-8"))


def checked(case: dict[str, Any], folder: Path) -> ScoreCheck:
    read: list[dict[str, float]] = []
    reports: list[Settings] = []
    for side in ("scores", "benchmark"):
        given_ = case[side]
        name = given_["text"]
        if "file" in given_:
            name = str(folder / given_["file"])
            Path(name).write_text(given_["text"], "utf-8")
        scores, report = read_scores(name, case.get("metrics", ()))
        read.append(scores)
        reports.append(report)
    told = [f"{one.task} {one.what} {one.scores} | {one.benchmark}" for one in setting_differences(*reports)]
    assert told == case.get("otherwise", [])
    return check_scores(*read, reports=reports, **case.get("options", {}))


@pytest.mark.procedure("proc.infer.dataset_score")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_scores(case: dict[str, Any], tmp_path: Path) -> None:
    found = checked(case, tmp_path)
    rows = {row.name.removesuffix("/score") if case.get("plain") else row.name: row.passes for row in found.rows}
    expected = {
        name.removesuffix("/score") if case.get("plain") else name: verdict == "pass"
        for name, verdict in case["rows"].items()
    }
    assert rows == expected
    assert list(found.only_scores) == case.get("only_scores", [])
    assert list(found.only_benchmark) == case.get("only_benchmark", [])
    if "note" in case:
        assert any(case["note"] in note.en for note in found.notes)
    if "mean" in case:
        assert found.mean.passes == (case["mean"] == "pass")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"results": {"a": '),
        ("a.json", '"word"'),
        ("a.yaml", "a: [1"),
        ("a.csv", "task,score\na\n"),
        ("a.txt", "just words here\n"),
        ("a.txt", ""),
        ("a.txt", b"\xff\xfe"),
        ("a.json", "[" * 50_000),
        ("a.json", json.dumps({f"task{at}": at for at in range(20_001)})),
        ("a.csv", "task,score\n" + "".join(f"task{at},{at}\n" for at in range(20_001))),
        ("a.txt", "task: 1\n" * 300_000),
    ],
)
def test_what_holds_no_scores_is_refused(name: str, text: str | bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UnreadableError):
        read_scores(str(path))


def test_nothing_in_common_is_refused() -> None:
    with pytest.raises(UnreadableError) as error:
        check_scores({"a": 1.0, "b": 1.0}, {"c": 1.0, "d": 1.0})
    assert error.value.diagnostic.kind.code == "EVD097"
    with pytest.raises(UnreadableError):
        read_scores("no such file")


@given(score=st.floats(0, 100), known=st.floats(0.1, 100))
def test_the_error_is_relative_to_the_benchmark(score: float, known: float) -> None:
    row = check_scores({"a": score}, {"a": known}).rows[0]
    assert row.error == pytest.approx((score - known) / known * 100)
    assert row.passes == (abs(score - known) / known * 100 <= 0.4 + 1e-9)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "task,score\nmmlu,10\nmmlu,50\n", "mmlu has two scores, 10.0 and 50.0 (line 3)"),
        ("a.csv", "dataset,version,metric,mode,m\nx,1a,acc,gen,10\nx,2b,acc,gen,50\n", "x/acc has two scores"),
        ("a.txt", "mmlu 10\nMMLU 50\n", "(line 2)"),
        ("a.json", '{"mmlu": 10,\n "mmlu": 50}', "the key mmlu stands twice (line 2)"),
        ("a.json", '[{"dataset": "x", "score": 1}, {"dataset": "x", "score": 2}]', "x/score has two scores"),
        ("a.yaml", "a: 1\nb: 2\na: 3\n", "the key a stands twice (line 3)"),
        ("a.yaml", "a: {x: 1}\nb: 2\na: {x: 1, y: 2}\n", "the key a stands twice (line 3)"),
    ],
)
def test_a_task_with_two_scores_is_refused(name: str, text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(UnreadableError) as refused:
        read_scores(str(path))
    assert said in refused.value.diagnostic.message("en")


def test_a_task_that_stands_twice_with_one_score_has_that_score(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("task,score\nmmlu,50\nmmlu,50\n")
    assert read_scores(str(path))[0] == {"mmlu": 50.0}
    path = tmp_path / "a.yaml"
    path.write_text("mmlu: 50\nb: {x: [1, {score: 2}]}\nmmlu: 50\nb: {x: [1, {score: 2}]}\n")
    assert read_scores(str(path))[0] == {"mmlu": 50.0, "b/x/0": 1.0, "b/x/1/score": 2.0}
    path = tmp_path / "a.json"
    path.write_text('{"mmlu": 50, "mmlu": 50}')
    assert read_scores(str(path))[0] == {"mmlu": 50.0}


@pytest.mark.parametrize(
    "item", ["[*a{below}, *a{below}, {many}]", "{{<<: [*a{below}, {many}]}}", "{{x: *a{below}, y: [{many}]}}"]
)
def test_aliases_that_stand_for_billions_of_values_are_refused_at_once(item: str, tmp_path: Path) -> None:
    levels = [f"l{at}: &a{at} " + item.format(below=at - 1, many=", ".join([f"*a{at - 1}"] * 9)) for at in range(1, 9)]
    path = tmp_path / "a.yaml"
    path.write_text("\n".join(["l0: &a0 {score: 1}", *levels]))
    with pytest.raises(UnreadableError) as refused:
        read_scores(str(path))
    assert "more than 200000 values" in refused.value.diagnostic.message("en")


def test_an_alias_of_what_it_stands_in_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: &a {score: 1, b: *a}\n")
    with pytest.raises(UnreadableError) as refused:
        read_scores(str(path))
    assert "stands in itself by its alias" in refused.value.diagnostic.message("en")


def test_a_report_is_read_once(tmp_path: Path) -> None:
    """What a process substitution holds is gone behind the first reading."""
    text = '{"results": {"mmlu": {"acc": 0.5}}, "n-samples": {"mmlu": {"effective": 5}}}'
    end, other = os.pipe()
    os.write(other, text.encode())
    os.close(other)
    scores, report = read_scores(f"/dev/fd/{end}")
    os.close(end)
    assert scores == {"mmlu/acc": 0.5}
    assert report.told == {("mmlu", "samples"): "5"}
