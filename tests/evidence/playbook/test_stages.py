"""The table of the guide: every command in it exists, every procedure is in it, both languages are there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from accmap.cli.argument_parser import parse
from accmap.cli.lint_formats.checklist import checklist_rows
from accmap.cli.options import command_named
from accmap.evidence.playbook.plan import Names, PlanError, check_states, next_of, pages, plan_from, plan_of, stages
from accmap.mapper.recipe.reading import recipe_of
from accmap.schemas.border.file_input import read_text
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of

EXAMPLES = Path(__file__).parents[3] / "examples"
MATCH = '{"verdict": "match", "loss": [{}], "gradients": [{}], "sides": ["megatron", "mindformers"]}'
NAMES = Names("../m.sh", "../m.yaml", "../m.sh")


def plan(example: str = "deepseek_v3"):
    source = read_text(str(EXAMPLES / example / "megatron.sh"))
    return plan_of(recipe_of(config_of(source, ReadOptions(), path=source.name)), NAMES)


def commands() -> list[tuple[str, ...]]:
    whole = plan()
    found = [words for stage in whole.stages for words in (*stage.prepare, *(words for _, words in stage.writes))]
    found += [
        words for stage in whole.stages for check in stage.checks for words in (check.prepare, check.judge) if words
    ]
    for stage in whole.stages:
        for check in stage.checks:
            for line in check.actions("en"):
                if line.startswith("accmap "):
                    found.append(tuple(line.split()[1:]))
    return found


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_exists_and_takes_its_options(words: tuple[str, ...]) -> None:
    command = command_named(words)
    assert command is not None
    parse(command, words[len(command.name.split()) :])


def test_every_line_speaks_both_languages() -> None:
    for stage in stages():
        for check in stage.checks:
            for texts in (stage.title, stage.aim, check.title, check.accept, check.otherwise):
                assert set(texts) == {"en", "zh"}
                assert re.search(r"[\u4e00-\u9fff]", texts["zh"])
            remarks = [line for line in check.do if line.startswith("# ")]
            assert [line[2:4] for line in remarks] == ["en", "zh"] * (len(remarks) // 2), check.id


def test_a_plan_survives_its_file() -> None:
    whole = plan()
    again = plan_from(json.loads(json.dumps(whole.to_json())))
    assert again == whole


def test_only_rungs_that_give_something_back_are_climbed() -> None:
    dense, mixed = plan("qwen3_dense"), plan("deepseek_v3")
    assert set(dense.rungs) < set(range(1, 13))
    assert dense.rungs != mixed.rungs
    assert dense.rungs[-1] == 12


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "version"),
        ({"rungs": [99]}, "alignment steps"),
        ({"rungs": [True]}, "alignment steps"),
        ({"rungs": None}, "alignment steps"),
        ({"checks": 3}, "checks"),
        ({"checks": ["configuration/gone"]}, "configuration/gone"),
        ({"megatron": "--fix"}, "files"),
        ({"reading": ["--fix"]}, "read"),
        ({"reading": ["--output-file=x"]}, "read"),
        ({"reading": None}, "read"),
        ({"source": 1}, "files"),
    ],
)
def test_a_file_that_is_no_plan(change: dict[str, object], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        plan_from({**plan().to_json(), **change})
    with pytest.raises(PlanError):
        plan_from([])


def test_pages_name_every_check_and_only_paths_of_the_directory() -> None:
    whole = plan()
    written = pages(whole)
    assert len(written) == 2 * (1 + len(whole.stages))
    for stage in whole.stages:
        english, chinese = (written[f"{stage.folder}/README{end}.md"] for end in ("", ".zh-CN"))
        for check in stage.checks:
            assert check.title["en"] in english
            assert check.accept["zh"] in chinese
        assert "# zh:" not in english
        assert "# en:" not in chinese
        assert "{" not in english.replace("${", "")


def test_standing_follows_the_files(tmp_path: Path) -> None:
    whole = plan()
    found = {(one.stage.id, one.check.id): one for one in check_states(whole, str(tmp_path))}
    assert found["first-steps", "losses"].state == "waiting"
    assert found["first-steps", "losses"].missing == ("3-first-steps/megatron.log", "3-first-steps/mindformers.log")
    assert found["configuration", "lint"].state == "ready"
    (tmp_path / "1-configuration").mkdir()
    checklist = tmp_path / "1-configuration" / "checklist.md"
    answer = tmp_path / "1-configuration" / "verify.json"
    cases = [
        ("| [x] | a |\n| [ ] | b | c |\n", "waiting", MATCH, "passed"),
        ("| [x] | a |\n", "passed", '{"verdict": "mismatch"}', "failed"),
        ("nothing\n", "unusable", '{"verdict"', "unusable"),
        ("- [X] a\n", "passed", "[]", "unusable"),
        ("- [X] a\n", "passed", '{"verdict": "match"}', "unusable"),
    ]
    for ticks, ticked, text, answered in cases:
        checklist.write_text(ticks, "utf-8")
        answer.write_text(text, "utf-8")
        now = {one.check.id: one for one in check_states(whole, str(tmp_path)) if one.stage.id == "configuration"}
        assert (now["checklist"].state, now["models"].state) == (ticked, answered)
    (tmp_path / "3-first-steps" / "dump" / "megatron").mkdir(parents=True)
    dump = next(one for one in check_states(whole, str(tmp_path)) if one.check.id == "dump")
    assert dump.missing == ("3-first-steps/dump/megatron", "3-first-steps/dump/mindformers")


def test_an_optional_check_does_not_hold_up_the_rest() -> None:
    whole = plan()
    passed = [one._replace(state="passed") for one in check_states(whole, "/nowhere")]
    assert next_of(passed) is None
    at = next(number for number, one in enumerate(passed) if one.check.optional)
    assert next_of([*passed[:at], passed[at]._replace(state="waiting"), *passed[at + 1 :]]) is None
    failed = passed[at]._replace(state="failed")
    assert next_of([*passed[:at], failed, *passed[at + 1 :]]) is failed


@pytest.mark.parametrize("name", ["guide-coverage.md", "guide-coverage.zh-CN.md"])
def test_every_row_of_the_guide_has_its_command_on_the_page(name: str) -> None:
    root = Path(__file__).parents[3]
    page = (root / "docs" / name).read_text("utf-8")
    told = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    checklist = [line.partition(":")[0] for line in (root / "rules/checklist.yaml").read_text("utf-8").splitlines()]
    assert {row for row in checklist if row.startswith("check.")} <= set(told)
    assert {source for stage in stages() for check in stage.checks for source in check.sources} <= set(told)
    assert len(told) == 41 + 51
    for row, line in told.items():
        shown = [words.split()[1:] for words in re.findall(r"`(accmap [^`]+)`", line)]
        assert shown, row
        for words in shown:
            words = ["1" if word in ("K", "N") else word for word in words]
            command = command_named(words)
            assert command is not None, words
            parse(command, words[len(command.name.split()) :])


@pytest.mark.parametrize("name", ["guide-coverage.md", "guide-coverage.zh-CN.md"])
def test_the_rules_of_a_checklist_row_are_those_that_name_it(name: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / name).read_text("utf-8")
    told = re.findall(r"^\| `(check\.[^`]+)` \| ([A-Z0-9, ]+) \|", page, re.MULTILINE)
    assert len(told) == 51
    assert told == [(row.identifier, ", ".join(row.codes)) for row in checklist_rows()]
