"""`accmap check answers`: which forms are read, which answers are the same, where others part, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.evidence.model_answers import AnswerFile, check_answers, columns_of
from accmap.schemas.compilers.tables import load_table

CASES = load_table((Path(__file__).parent / "check_answers.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_answers(accmap: Any, case: dict[str, Any]) -> None:
    files = {case[side]["file"]: case[side]["text"] for side in ("a", "b")}
    words = ["check", "answers", *files, *case.get("options", ())]
    answer = accmap(*words, "--format", "json", files=files)
    found = json.loads(answer.out)
    assert {key: found[key] for key in case["says"]} == case["says"]
    assert answer.code == (found["verdict"] != "same")
    if "row" in case:
        assert {key: found["rows"][0][key] for key in case["row"]} == case["row"]
    unseen = {one["what"]: one["reason"] for one in found["not_compared"]}
    for file, count in case.get("unseen", {}).items():
        assert unseen[file].endswith(count)
    assert case.get("note", "") in " ".join(found["notes"])
    for language in ("en", "zh"):
        shown = accmap(*words, "--lang", language)
        assert shown.code == answer.code
        assert all(row["question"].partition("\r")[0] in shown.out for row in found["rows"])


def test_questions_that_differ_are_written_and_can_be_compared_again(accmap: Any) -> None:
    many = {f"q{number}": f"x{number}" for number in range(40)}
    files = {"a.json": json.dumps(many), "b.json": json.dumps({key: value + "!" for key, value in many.items()})}
    answer = accmap("check", "answers", "a.json", "b.json", "--differing", "d.jsonl", "--show", "3", files=files)
    assert answer.code == 1
    assert answer.out.count("✗") == 3
    assert "37 more" in answer.out
    assert "written: d.jsonl" in answer.err
    written = [json.loads(line) for line in Path("d.jsonl").read_text("utf-8").splitlines()]
    assert [one["question"] for one in written] == list(many)
    assert accmap("check", "answers", "d.jsonl", "a.json", "--answer", "a").code == 2  # a.json has no such member
    assert accmap("check", "answers", "a.json", "b.json", "--differing", "d.jsonl").code == 2  # it stands already


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", '{"question": "p", "answer": "x"}\n{"question": \n', "line 2"),
        ("a.jsonl", '{"question": "p", "answer": "x"}\n[1]\n', "line 2"),
        ("a.jsonl", '{"question": "p", "answer": "x"}\n' + "[" * 100_000 + "\n", "line 2"),
        ("a.jsonl", '{"question": "p", "gold": "x"}\n', "--answer. The records contain question, gold"),
        ("a.json", "[1, 2]", "JSON Lines"),
        ("a.json", '{"a": ', "EVD111"),
        ("a.csv", "question,answer\np\n", "1 cells, but the header has 2"),
        ("a.csv", b"question,answer\np,\xff\xfe\n", "line 2"),
        ("a.txt", "p\n", "JSON Lines"),
        ("a.json", "\n", "no answers"),
        ("gone.json", None, "no such file"),
    ],
)
def test_refused(accmap: Any, name: str, text: str | bytes | None, said: str) -> None:
    files: dict[str, str | bytes] = {"b.json": '{"p": "x"}'}
    if text is not None:
        files[name] = text
    for words in ((name, "b.json"), ("b.json", name)):
        answer = accmap("check", "answers", *words, files=files)
        assert answer.code == 2
        assert said in answer.err


def test_tokens_of_a_tokenizer_are_counted(accmap: Any, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    letters = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]"))
    letters.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    files = {"a.json": '{"q": "aaab"}', "b.json": '{"q": "aaaa"}'}
    letters.save(str(tmp_path / "tokenizer.json"))
    answer = accmap(
        "check", "answers", "a.json", "b.json", "--tokenizer", str(tmp_path), "--format", "json", files=files
    )
    assert (json.loads(answer.out)["unit"], json.loads(answer.out)["rows"][0]["token"]) == ("token", 4)


@given(
    st.dictionaries(st.text(max_size=4), st.text(max_size=6), min_size=1, max_size=8), st.data(), st.sampled_from("jt")
)
def test_what_was_changed_is_what_differs(
    tmp_path_factory: Any, answers: dict[str, str], data: st.DataObject, form: str
) -> None:
    """A file against itself in another order, with some answers changed: exactly these differ."""
    changed = set(data.draw(st.lists(st.sampled_from(sorted(answers)), unique=True)))
    order = data.draw(st.permutations(sorted(answers)))
    other = [{"question": key, "answer": answers[key] + ("changed" if key in changed else "")} for key in order]
    folder = tmp_path_factory.mktemp("answers")
    paths = folder / "a.json", folder / f"b.json{'l' if form == 'j' else ''}"
    paths[0].write_text(json.dumps([{"question": key, "answer": value} for key, value in answers.items()]), "utf-8")
    paths[1].write_text("\n".join(map(json.dumps, other)) if form == "j" else json.dumps(other), "utf-8")
    a, b = (AnswerFile(str(path)) for path in paths)
    found = check_answers(a, b, (columns_of(a), columns_of(b)))
    assert {row.question for row in found.rows} == changed
    assert (found.compared, found.different) == (len(answers), len(changed))
