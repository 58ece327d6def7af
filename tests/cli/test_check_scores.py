"""`accmap check scores`: what is read from which report, the 0.4%, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accmap.schemas.compilers.tables import load_table

CASES = load_table((Path(__file__).parent / "check_scores.yaml").read_text("utf-8"))


@pytest.mark.procedure("proc.infer.dataset_score")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_scores(accmap: Any, case: dict[str, Any]) -> None:
    given_ = [case[side] for side in ("scores", "benchmark")]
    names = [side.get("file", side["text"]) for side in given_]
    words = [*names, *case.get("options", ()), *(word for one in case.get("metrics", ()) for word in ("--metric", one))]
    files = {side["file"]: side["text"] for side in given_ if "file" in side}
    found = json.loads(accmap("check", "scores", *words, "--format", "json", files=files).out)
    rows = {row["name"]: "pass" if row["passes"] else "fail" for row in found["rows"]}
    assert rows == case["rows"]
    assert found["only_scores"] == case.get("only_scores", [])
    assert found["only_benchmark"] == case.get("only_benchmark", [])
    otherwise = [f"{one['what']}: {one['reason']}" for one in found["not_compared"] if "|" in one["reason"]]
    assert otherwise == case.get("otherwise", [])
    assert case.get("note", "") in " ".join(found["notes"])
    assert case.get("mean") in (None, "pass" if found["mean"]["passes"] else "fail")
    for language in ("en", "zh"):
        assert accmap("check", "scores", *words, "--lang", language).code == (found["verdict"] != "pass")


def aliases(item: str) -> str:
    """A YAML in which each value stands for many of the one before it."""
    lines = (f"l{at}: &a{at} " + item.format(below=at - 1, many=", ".join([f"*a{at - 1}"] * 9)) for at in range(1, 9))
    return "\n".join(["l0: &a0 {score: 1}", *lines])


REFUSED = [
    ("a.json", '[{"idx": 0, "question": "When?", "answer": "1999"}]', "check answers"),
    ("a.json", '{"0": {"origin_prompt": "When?", "prediction": "1999", "gold": "1998"}}', "check answers"),
    ("a.jsonl", '{"doc_id": 0, "resps": [["1999"]]}\n{"doc_id": 1, "resps": [["2"]]}\n', "check answers"),
    ("a.csv", "question,answer\nWhen?,1999\n", "check answers"),
    ("a.json", '[{"idx": 0}, {"idx": 1}]', "without task names"),
    ("a.json", '{"outputs": [{"text": "the answer is 5", "score": 5}]}', "check answers"),
    ("a.json", '{"run": {"rows": [{"question": "When?", "output": "1999", "score": 1}]}}', "check answers"),
    ("a.json", '[{"score": 0.5}, {"score": 0.7}]', "without task names"),
    ("a.json", '{"results": {"a": ', "JSON"),
    ("a.json", '"word"', "EVD09"),
    ("a.yaml", "a: [1", "EVD09"),
    ("a.csv", "task,score\na\n", "line 2 should have 2 columns, not 1"),
    ("a.csv", "task,first,second\nmmlu,0.8,0.7\n", "first, second"),
    ("a.txt", "just words here\n", "EVD09"),
    ("a.txt", "", "SYN908"),
    ("a.txt", b"\xff\xfe", "SYN928"),
    ("a.json", "[" * 50_000, "EVD09"),
    ("a.json", json.dumps({f"task{at}": at for at in range(20_001)}), "EVD09"),
    ("a.csv", "task,score\n" + "".join(f"task{at},{at}\n" for at in range(20_001)), "EVD09"),
    ("a.txt", "task: 1\n" * 300_000, "EVD09"),
    ("a.csv", "task,score\nmmlu,10\nmmlu,50\n", "mmlu has two scores, 10.0 and 50.0 (line 3)"),
    ("a.csv", "dataset,version,metric,mode,m\nx,1a,acc,gen,10\nx,2b,acc,gen,50\n", "x/acc has two scores"),
    ("a.txt", "mmlu 10\nMMLU 50\n", "(line 2)"),
    ("a.json", '{"mmlu": 10,\n "mmlu": 50}', "the key mmlu occurs twice (line 2)"),
    ("a.json", '[{"dataset": "x", "score": 1}, {"dataset": "x", "score": 2}]', "x/score has two scores"),
    ("a.yaml", "a: 1\nb: 2\na: 3\n", "the key a occurs twice (line 3)"),
    ("a.yaml", "a: {x: 1}\nb: 2\na: {x: 1, y: 2}\n", "the key a occurs twice (line 3)"),
    ("a.yaml", "a: &a {score: 1, b: *a}\n", "contains itself through its alias"),
    *(
        ("a.yaml", aliases(item), "more than 200000 values")
        for item in ("[*a{below}, *a{below}, {many}]", "{{<<: [*a{below}, {many}]}}", "{{x: *a{below}, y: [{many}]}}")
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "said"), REFUSED, ids=range(len(REFUSED)))
def test_a_file_that_is_refused(accmap: Any, name: str, text: str | bytes, said: str) -> None:
    answer = accmap("check", "scores", name, "80", files={name: text})
    assert answer.code == 2
    assert said in " ".join(answer.err.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.json", "80"), "SYN900"),
        (("80",), "check scores requires SCORES BENCHMARK"),
        (("80", "80", "--tolerance", "-1"), "percentage"),
        (("a.json", "b.json"), "EVD097"),
    ],
)
def test_what_cannot_be_compared(accmap: Any, words: tuple[str, ...], said: str) -> None:
    files = {"a.json": '{"a": 1.0, "b": 1.0}', "b.json": '{"c": 1.0, "d": 1.0}'}
    answer = accmap("check", "scores", *words, files=files)
    assert answer.code == 2
    assert said in answer.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mmlu": 0.8, ', "JSON 不完整，第 1 行"),
        ("mmlu 0.8\nhello", "第 2 行的格式不是"),
        ("task,score\nmmlu\n", "第 2 行有 1 列，应为 2 列"),
        ("task,a,b\nmmlu,1,2\n", "有多个数值列（a, b）"),
    ],
)
def test_reasons_in_chinese(accmap: Any, text: str, said: str) -> None:
    answer = accmap("check", "scores", "s", "0.7", "--lang", "zh", files={"s": text})
    assert answer.code == 2
    assert said in answer.err


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(score=st.floats(0, 100), known=st.floats(0.1, 100))
def test_the_error_is_relative_to_the_benchmark(accmap: Any, score: float, known: float) -> None:
    files = {"a.json": json.dumps({"a": score}), "b.json": json.dumps({"a": known})}
    row = json.loads(accmap("check", "scores", "a.json", "b.json", "--format", "json", files=files).out)["rows"][0]
    assert row["error"] == pytest.approx((score - known) / known * 100)
    assert row["passes"] == (abs(score - known) / known * 100 <= 0.4 + 1e-9)


@pytest.mark.parametrize(
    ("name", "text", "scores"),
    [
        ("a.csv", "task,score\nmmlu,50\nmmlu,50\n", {"mmlu": 50.0}),
        ("a.json", '{"mmlu": 50, "mmlu": 50}', {"mmlu": 50.0}),
        (
            "a.yaml",
            "mmlu: 50\nb: {x: [1, {score: 2}]}\nmmlu: 50\nb: {x: [1, {score: 2}]}\n",
            {"mmlu": 50.0, "b/x/0": 1.0, "b/x/1/score": 2.0},
        ),
    ],
)
def test_a_task_that_stands_twice_with_one_score_has_that_score(
    accmap: Any, name: str, text: str, scores: dict[str, float]
) -> None:
    answer = accmap("check", "scores", name, name, "--format", "json", files={name: text})
    assert {row["name"]: row["score"] for row in json.loads(answer.out)["rows"]} == scores


def test_a_report_is_read_once(accmap: Any) -> None:
    """A process substitution is empty after the first reading."""
    end, other = os.pipe()
    os.write(other, b'{"results": {"mmlu": {"acc": 0.5}}, "n-samples": {"mmlu": {"effective": 5}}}')
    os.close(other)
    whole = {"b.json": '{"results": {"mmlu": {"acc": 0.5}}, "n-samples": {"mmlu": {"effective": 100}}}'}
    answer = accmap("check", "scores", f"/dev/fd/{end}", "b.json", "--format", "json", files=whole)
    os.close(end)
    found = json.loads(answer.out)
    assert [(row["name"], row["score"]) for row in found["rows"]] == [("mmlu/acc", 0.5)]
    assert "5 | 100" in found["not_compared"][0]["reason"]
