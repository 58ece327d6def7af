"""One cause is one finding: what hangs on what (`causes.yaml`), and how it is said and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_cases import pair_of

from accmap.cli.lean import main
from accmap.schemas.compilers.tables import load_table

CASES: list[dict[str, Any]] = load_table((Path(__file__).parent / "causes.yaml").read_text("utf-8"))


def lint(case: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    files = pair_of(case, folder)
    given = [str(files["megatron"]), str(files["mindformers"])]
    code = main(["lint", *given, "--profile", "train", "--no-cache", "--no-config", *arguments])
    return code, capsys.readouterr().out


def named(entry: dict[str, Any]) -> tuple[str, str]:
    fields: list[str] = entry["fields"]
    return entry["code"], f"{entry['code']} {fields[0]}" if len(fields) == 1 else entry["code"]


@pytest.mark.table(3)
@pytest.mark.parametrize("case", CASES, ids=[case["about"] for case in CASES])
def test_what_follows_hangs_on_its_cause(
    case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = lint(case, tmp_path, capsys, "--format", "json", *case.get("arguments", ()))
    answer = json.loads(out)
    entries: list[dict[str, Any]] = answer["diagnostics"]
    causes = [place for place, entry in enumerate(entries) if case["cause"] in named(entry)]
    assert len(causes) == 1, [named(entry) for entry in entries]
    assert entries[causes[0]]["because_of"] is None
    followers = {name for entry in entries if entry["because_of"] == causes[0] for name in named(entry)}
    assert set(case["follow"]) <= followers
    assert case["follow"] or not followers
    assert all(
        entries[entry["because_of"]]["because_of"] is None for entry in entries if entry["because_of"] is not None
    )
    heads = [entry for entry in entries if entry["because_of"] is None]
    counted = {
        severity: sum(entry["severity"] == severity for entry in heads) for severity in ("error", "warning", "info")
    }
    assert counted == {severity: answer["summary"][severity] for severity in counted}
    assert answer["summary"]["error"] == case.get("errors", answer["summary"]["error"])
    assert sum(answer["summary"]["following"].values()) + len(heads) == len(entries)
    assert code == int(any(entry["severity"] == "error" for entry in entries))


@pytest.mark.parametrize(
    ("language", "said", "hint"),
    [
        ("en", "because lr_schedule is missing: ", " (--remarks)"),
        ("zh", "由于缺少 lr_schedule：另有 ", "（--remarks 显示）"),
    ],
)
def test_a_page_names_the_cause_and_counts_the_rest(
    language: str, said: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = {"base": "planted"}
    _, out = lint(case, tmp_path, capsys, "--format", "text", "--lang", language)
    lines = [line for line in out.splitlines() if said in line]
    assert len(lines) == 1
    assert lines[0].endswith(hint)
    assert "SCH051" not in out
    _, out = lint(case, tmp_path, capsys, "--format", "text", "--lang", language, "--remarks")
    below = out.splitlines()
    at = next(place for place, line in enumerate(below) if said in line)
    assert hint not in below[at]
    assert "SCH05" in "".join(below[at + 1 : at + 9])
    assert below[at + 1].startswith("    ")


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


def test_a_silenced_cause_hides_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = lint({"base": "planted"}, tmp_path, capsys, "--format", "json", "--ignore", "OPT013")
    entries = json.loads(out)["diagnostics"]
    alone = [entry for entry in entries if entry["code"] == "SCH051" and entry["severity"] == "error"]
    assert alone
    assert any(entry["because_of"] is None for entry in alone)
    assert code == 1


def test_a_chosen_severity_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cause that a user has made advice takes no error with it."""
    (tmp_path / "accmap.toml").write_text('[severity]\nMAP056 = "info"\n', "utf-8")
    files = pair_of({"base": "planted"}, tmp_path)
    main(["lint", *map(str, files.values()), "--no-cache", "--format", "json"])
    entries = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [entry["severity"] for entry in entries if entry["code"] == "MAP056"] == ["info"]
    assert [entry["because_of"] for entry in entries if entry["code"] == "MOE002"] == [None]


def test_what_a_framework_refuses_does_not_follow_from_what_the_other_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a file alone nothing is compared, so that a class without an equal causes none of its own faults."""
    file = tmp_path / "alone.yaml"
    file.write_text(
        "run_mode: train\ntrainer: {type: CausalLanguageModelingTrainer}\nuse_legacy: False\n"
        "model: {model_config: {architectures: [Qwen3ForCausalLM], model_type: qwen3, num_hidden_layers: 2}}\n"
        "optimizer:\n  type: AdamOffload\n  betas: [0.9, 0.95]\n",
        "utf-8",
    )
    assert main(["lint", str(file), "--no-cache", "--no-config", "--format", "json"]) == 1
    entries: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["diagnostics"]
    refused = next(entry for entry in entries if entry["code"] == "MAP068")
    lacking = next(entry for entry in entries if entry["code"] == "MAP110")
    assert (refused["because_of"], refused["severity"], lacking["severity"]) == (None, "error", "warning")
