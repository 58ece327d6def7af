"""`tools/compare_outputs.py`, with two installations of a program that only calls itself accmap."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent
_PATH = _ROOT / "tools" / "compare_outputs.py"
_SPEC = importlib.util.spec_from_file_location("compare_outputs", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
compare_outputs = importlib.util.module_from_spec(_SPEC)
sys.modules["compare_outputs"] = compare_outputs
_SPEC.loader.exec_module(compare_outputs)

_PROGRAM = """
import json, os, sys, time
_ASKED = []
def main(words):
    _ASKED.append(words)
    with open(os.environ["ASKED_LOG"] + NAME, "a") as log:
        log.write(" ".join(words) + "\\n")
    if words[0] == "rules":
        print(json.dumps([{"code": "NET009"}]))
        return 0
    files = [word for word in words if word.endswith((".sh", ".yaml"))]
    answer = {"files": files, "findings": [{"code": "A", "line": 1}, {"code": "B", "line": 2}], "by": "accmap 1.0"}
    code = 0
    CHANGE
    print(json.dumps(answer))
    if "--report" in words:
        with open(words[words.index("--report") + 1], "w") as report:
            report.write(json.dumps({"rows": files}))
    return code
"""
_FILES = {
    "o+megatron@0123456789ab/run one.sh": "python pretrain_gpt.py --num-layers 2\n",
    "o+megatron@0123456789ab/two.sh": "python pretrain_gpt.py --hidden-size 2\n",
    "o+mindformers/three.yaml": "seed: 1\n",
}


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files and the list of them, and the log of the questions."""
    lines: list[str] = []
    for name, text in _FILES.items():
        path = tmp_path / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        repository, file = name.split("@")[0].split("/")[0].replace("+", "/"), name.split("/", 1)[1]
        digest = hashlib.sha256(text.encode()).hexdigest()
        lines.append(f"{digest} {repository} {'0123456789ab' + 28 * '0'} {file}\n")
    (tmp_path / "list").write_text("".join(lines), "utf-8")
    monkeypatch.setenv("ASKED_LOG", str(tmp_path / "asked-"))
    return tmp_path


def _install(place: Path, name: str, change: str = "", version: str = "1.0") -> str:
    """A folder with `bin/python` and a package `accmap` that answers as told."""
    site = place / name / "site"
    (site / "accmap").mkdir(parents=True)
    text = _PROGRAM.replace("CHANGE", change).replace("NAME", repr(name)).replace("1.0", version)
    (site / "accmap" / "__init__.py").write_text(text, "utf-8")
    (site / "accmap-1.dist-info").mkdir()
    (site / "accmap-1.dist-info" / "METADATA").write_text(f"Name: accmap\nVersion: {version}\n", "utf-8")
    (site / "accmap-1.dist-info" / "entry_points.txt").write_text("[console_scripts]\naccmap = accmap:main\n", "utf-8")
    python = place / name / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{site}" exec "{sys.executable}" -S "$@"\n', "utf-8")
    python.chmod(0o755)
    return str(place / name)


def _compare(corpus: Path, old: str, new: str, *words: str) -> int:
    options = ["--before", old, "--after", new, "--corpus", str(corpus / "corpus"), "--list", str(corpus / "list")]
    return compare_outputs.main([*options, "--cache", str(corpus / "cache"), "--jobs", "1", *words])


def _asked(corpus: Path, name: str) -> list[str]:
    return (corpus / f"asked-{name}").read_text("utf-8").splitlines()


def test_equal_installations(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Version, folder and time of day may differ; every command is asked for files and pairs, and the cache is used."""
    old = _install(corpus, "old", 'answer["at"] = "2026-01-02 03:04:05"')
    same = 'answer["at"] = "2027-02-03T04:05:06Z"; answer["by"] = "accmap 2.0"'
    new = _install(corpus, "new", same, version="2.0")
    assert _compare(corpus, old, new) == 0
    assert "3 files, 22 answers, 0 different" in capsys.readouterr().out
    asked = _asked(corpus, "new")
    assert {line.split(" ")[0] for line in asked} == set(compare_outputs.COMMANDS)
    assert sum(line.startswith("diff ") for line in asked) == 4
    assert sum(line.startswith("explain ") for line in asked) == 3
    assert len(_asked(corpus, "old")) == len(asked) + 1  # the codes of the rules
    assert _compare(corpus, old, new) == 0
    assert _asked(corpus, "old")[len(asked) + 1 :] == ["rules --format json"]


def test_differences_are_named_by_their_keys(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each part of an answer counts: output, exit code, standard error, report, a crash, in each command."""
    change = """
    if words[0] == "show":
        answer["findings"][0]["line"] = 7
    elif words[0] == "recipe":
        code = 1 if "two.sh" in words[1] else 0
    elif words[0] == "convert":
        files = []
    elif words[0] == "explain":
        os.write(1, b"noise")
        raise ValueError("broken")
    elif words[0] == "lint":
        print("x", file=sys.stderr)
    """
    old, new = _install(corpus, "old"), _install(corpus, "new", "import sys" + change)
    assert _compare(corpus, old, new, "--paths", "*.sh") == 1
    printed = capsys.readouterr().out
    assert "show out.findings[].line: 2 answers" in printed
    assert "recipe code: 1 answers, such as: accmap recipe o+megatron@0123456789ab/two.sh" in printed
    assert "convert report.rows[] (removed): 2 answers" in printed
    assert "before: 0\n    after:  ValueError('broken')" in printed
    assert "lint err: 4 answers" in printed
    assert "\ndiff" not in printed


_BEFORE = {"files": ["a"], "findings": [{"code": "A", "line": 1}, {"code": "B", "line": 2}]}


@pytest.mark.parametrize(
    ("after", "keys"),
    [
        ({**_BEFORE, "findings": [{"code": "A", "line": 7}, {"code": "B", "line": 2}]}, ["out.findings[].line"]),
        ({**_BEFORE, "findings": [{"code": "A", "line": 1}]}, ["out.findings[] (removed)"]),
        ({**_BEFORE, "findings": [{"code": "C"}, *_BEFORE["findings"]]}, ["out.findings[] (added)"]),
        ({**_BEFORE, "findings": _BEFORE["findings"][::-1]}, ["out.findings[] (order)"]),
        ({**_BEFORE, "findings": [{"code": "A", "line": True}, {"code": "B", "line": 2}]}, ["out.findings[].line"]),
        ({**_BEFORE, "more": 1}, ["out.more (added)"]),
        ({"findings": _BEFORE["findings"]}, ["out.files (removed)"]),
        ({"findings": _BEFORE["findings"], "files": ["a"]}, ["out (order)"]),
        ({"files": ["b"], "findings": None}, ["out.files[]", "out.findings"]),
    ],
)
def test_keys_that_differ(after: object, keys: list[str]) -> None:
    """One item more does not make all the next ones differ."""
    before = {"code": "0", "out": json.dumps(_BEFORE)}
    assert list(dict(compare_outputs.differing_keys(before, {"code": "0", "out": json.dumps(after)}))) == keys


def test_notation_and_plain_text() -> None:
    """JSON with other blanks differs, too; of a text the first line that differs is the example."""
    spaced = {"out": json.dumps(_BEFORE, indent=1)}
    assert [key for key, _ in compare_outputs.differing_keys({"out": json.dumps(_BEFORE)}, spaced)] == [
        "out (notation)"
    ]
    texts = {"err": "one\ntwo\nthree"}, {"err": "one\n2\n3"}
    assert list(compare_outputs.differing_keys(*texts)) == [("err", ("two", "2"))]


def test_an_answer_that_depends_on_earlier_ones(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told, and does not count: two fresh processes answer the same."""
    old, new = _install(corpus, "old"), _install(corpus, "new", 'answer["n"] = len(_ASKED) > 1 or answer.pop("n", 0)')
    equal = _install(corpus, "equal", 'answer["n"] = False or answer.pop("n", 0)')
    assert _compare(corpus, equal, new, "--commands", "recipe") == 0
    assert capsys.readouterr().err.count("equal in fresh processes, different in a long-lived one") == 2
    assert _compare(corpus, old, new, "--commands", "recipe") == 1


def test_a_share_is_always_the_same(corpus: Path) -> None:
    """The first files by digest."""
    old, new = _install(corpus, "old"), _install(corpus, "new")
    assert _compare(corpus, old, new, "--commands", "show", "--sample", "2") == 0
    lines = sorted((corpus / "list").read_text("utf-8").splitlines())[:2]
    assert [line.split(" ", 3)[3] in asked for line, asked in zip(lines, _asked(corpus, "new"), strict=True)] == [
        True
    ] * 2


def test_a_file_that_changed_stops_the_comparison(corpus: Path) -> None:
    """Another text is not the listed file."""
    (corpus / "corpus/o+mindformers/three.yaml").write_text("seed: 2\n", "utf-8")
    with pytest.raises(SystemExit, match=r"does not hold three.yaml of o/mindformers"):
        _compare(corpus, _install(corpus, "old"), _install(corpus, "new"))


def test_the_list_names_at_least_2000_files() -> None:
    """Each once, by its content."""
    lines = [line.split(" ", 3) for line in (_ROOT / "tests/regression.list").read_text("utf-8").splitlines()]
    assert len({digest for digest, *_ in lines}) == len(lines) > 2000
    assert all(
        len(digest) == 64 and repository.count("/") == 1 and len(commit) == 40
        for digest, repository, commit, _ in lines
    )
