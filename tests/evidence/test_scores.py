"""Evaluation scores against a benchmark's: what is read from which report, and the 0.4%."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.evidence.scores import ScoreCheck, check_scores, read_scores
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.house_yaml import house_yaml

CASES = house_yaml((Path(__file__).parent / "scores.yaml").read_text("utf-8"))


def checked(case: dict[str, Any], folder: Path) -> ScoreCheck:
    read: list[dict[str, float]] = []
    for side in ("scores", "benchmark"):
        given_ = case[side]
        name = given_["text"]
        if "file" in given_:
            name = str(folder / given_["file"])
            Path(name).write_text(given_["text"], "utf-8")
        read.append(read_scores(name, case.get("metrics", ())))
    return check_scores(*read, **case.get("options", {}))


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
