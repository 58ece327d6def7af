"""One cause is one finding: how each form shows what follows from it (`cases/causes.yaml` lists what does)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from test_cases import written

from accmap.cli.lean import main

if TYPE_CHECKING:
    from pathlib import Path


def lint(case: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    files = written(case, folder)
    given = [*map(str, files.values())]
    code = main(["lint", *given, "--profile", "train", "--no-cache", "--no-config", *arguments])
    return code, capsys.readouterr().out


@pytest.mark.parametrize(
    ("language", "head", "line"),
    [
        (
            "en",
            "because lr_schedule is missing: ",
            "error[SCH051] Peak learning rate (schedule.learning_rate): 0.0001 | ",
        ),
        ("zh", "由于缺少 lr_schedule：另有 ", "错误[SCH051] 学习率（峰值）（schedule.learning_rate）：0.0001 | "),
    ],
)
def test_a_page_has_a_line_with_both_values_for_all_that_follows(
    language: str, head: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = {"base": "planted"}
    _, out = lint(case, tmp_path, capsys, "--format", "text", "--lang", language)
    below = out.splitlines()
    (at,) = [place for place, text in enumerate(below) if text.startswith(f"  {head}")]
    number = int(re.findall(r"\d+", below[at])[-1])
    follow = below[at + 1 : at + 1 + number]
    assert f"    {line}5e-05" in follow
    assert all(text.startswith("    ") for text in follow)
    assert below[at + 1 + number] == ""
    _, out = lint(case, tmp_path, capsys, "--format", "text", "--lang", language, "--all")
    assert re.search(r"\n    \S+mindformers.yaml:22:18: \S+\[MAP065\] .*\n      .*\n      22 \|   learning_rate", out)


@pytest.mark.parametrize("form", ["github", "gitlab", "junit", "azure", "markdown", "sarif", "jsonl"])
def test_formats_for_programs_have_every_finding(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = {"base": "planted"}
    _, out = lint(case, tmp_path, capsys, "--format", form)
    assert out.count("SCH051") >= 3
    if form == "sarif":
        results = json.loads(out)["runs"][0]["results"]
        hanging = [entry for entry in results if "becauseOf" in entry["properties"]]
        assert {results[entry["properties"]["becauseOf"]]["ruleId"] for entry in hanging} == {
            "MAP056",
            "NET009",
            "OPT006",
            "OPT010",
            "OPT013",
            "RUN002",
        }
        assert all(entry["relatedLocations"][-1]["message"]["text"] for entry in hanging)
    elif form == "jsonl":
        entries = [json.loads(line) for line in out.splitlines()]
        assert {entries[entry["because_of"]]["code"] for entry in entries if entry["because_of"] is not None}
    else:
        assert "Follows from OPT013" in out


def test_a_chosen_severity_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cause that a user has made advice takes no error with it."""
    (tmp_path / "accmap.toml").write_text('[severity]\nMAP056 = "info"\n', "utf-8")
    files = written({"base": "planted"}, tmp_path)
    main(["lint", *map(str, files.values()), "--no-cache", "--format", "json"])
    entries = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [entry["severity"] for entry in entries if entry["code"] == "MAP056"] == ["info"]
    assert [entry["because_of"] for entry in entries if entry["code"] == "MOE002"] == [None]
