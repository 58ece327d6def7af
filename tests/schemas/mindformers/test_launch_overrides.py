"""What a run_mindformer.py launch changes in its YAML."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Argument, Launch
from accmap.schemas.mindformers.config_state import Undecided
from accmap.schemas.mindformers.launch import is_dynamic_launch, is_mindformers_launch, launch_overrides
from accmap.schemas.mindformers.launch_reading import OPTIONS, custom_value
from accmap.schemas.mindformers.messages_compiled import say
from accmap.schemas.source import Span

HERE = os.path.dirname(__file__)
with open(os.path.join(HERE, "launch_cases.yaml"), encoding="utf-8") as _stream:
    CASES: list[dict[str, Any]] = load_table(_stream.read())


def launch_of(words: list[str], launcher: str | None = None) -> Launch:
    """A launch of the first word with the others, all on one line."""
    column, arguments = 1, []
    for word in words:
        span = Span(1, column, 1, column + len(word))
        arguments.append(Argument(word, span, resolved=not word.startswith("$")))
        column += len(word) + 1
    return Launch(launcher, words[0], tuple(arguments[1:]), 8, {}, Span(1, 1, 1, column))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    launch = launch_of(case["argv"].split(" "))
    version = case.get("version", "1.9")
    found = launch_overrides(launch, version, "run.sh")
    assert found.config == case["config"]
    undecided = [change.path for change in found.overrides if isinstance(change.value, Undecided)]
    values = {change.path: None if change.path in undecided else change.value for change in found.overrides}
    assert values == case.get("overrides", {})
    assert undecided == case.get("undecided", [])
    assert [problem.kind.name for problem in found.problems] == case.get("problems", [])
    assert is_dynamic_launch(launch, version) is case.get("dynamic", False)
    for problem in found.problems:
        assert problem.span is not None
        assert problem.file == "run.sh"
        assert "{" not in problem.message("en") + problem.message("zh")


def test_a_change_knows_where_it_was_written() -> None:
    launch = launch_of(["run_mindformer.py", "--config", "a.yaml", "--seed", "7"])
    (change,) = launch_overrides(launch, "1.9").overrides
    assert change.span is not None
    assert (change.span.column, change.span.end_column, change.option) == (35, 43, "--seed")


@pytest.mark.parametrize(
    ("words", "launcher", "expected"),
    [
        ("run_mindformer.py --config a.yaml", None, True),
        ("/a/b/run_mindformer.py", "python", True),
        ("run_deepseek3.py --config a.yaml", "msrun", True),
        ("run_deepseek3.py --config=a.yml", "/usr/bin/msrun", True),
        ("pretrain_gpt.py --num-layers 2", "torchrun", False),
        ("pretrain_gpt.py --config a.yaml", "torchrun", False),
        ("pretrain_gpt.py --num-layers 2", "msrun", False),
    ],
)
def test_what_is_a_mindformers_launch(words: str, launcher: str | None, expected: bool) -> None:
    assert is_mindformers_launch(launch_of(words.split(), launcher)) is expected


def test_every_option_has_a_place() -> None:
    assert len({option.flag for option in OPTIONS}) == len(OPTIONS)
    placeless = {"--help", "--config", "--register_path", "--options", "--modal_type"}
    assert {option.flag for option in OPTIONS if not option.paths} == placeless


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("1_0", 10), ("0.5", 0.5), ("inf ", None), ("true", True), ('{"a": 1}', {"a": 1}), ("x,y", "x,y")],
)
def test_custom_values(text: str, value: object) -> None:
    if value is None:
        with pytest.raises(OverflowError):
            custom_value(text)
    else:
        assert custom_value(text) == value


WORDS = st.sampled_from([option.flag for option in OPTIONS] + ["--a.b", "--", "-1", "", "=", "--=", "x=y", "$X", "[1,"])


@given(st.lists(st.one_of(WORDS, st.text(max_size=8)), max_size=8))
def test_no_command_line_crashes(words: list[str]) -> None:
    found = launch_overrides(launch_of(["run_mindformer.py", *words]), "1.9")
    assert found == launch_overrides(launch_of(["run_mindformer.py", *words]), "1.9")
    assert all(problem.kind in say.kinds.values() for problem in found.problems)


def test_a_value_written_elsewhere_leaves_the_span_of_its_option() -> None:
    option, value = Span(4, 40, 4, 55), Span(3, 3, 3, 10)
    arguments = (
        Argument("--config", Span(4, 1, 4, 9)),
        Argument("a.yaml", Span(4, 10, 4, 16)),
        Argument("--load_checkpoint", option),
        Argument("/data", value),
        Argument("--batch_size", Span(4, 60, 4, 72)),
        Argument("4", Span(9, 1, 9, 2, "env.sh")),
    )
    launch = Launch(None, "run_mindformer.py", arguments, 8, {}, Span(4, 1, 4, 80))
    spans = {change.path: change.span for change in launch_overrides(launch, "1.9", "run.sh").overrides}
    assert spans["load_checkpoint"] == option
    assert spans["runner_config.batch_size"] == Span(4, 60, 4, 72)


def test_a_configuration_that_cannot_be_decided_is_said() -> None:
    found = launch_overrides(launch_of(["run_mindformer.py", "--config", "$CFG"]), "1.9", "run.sh")
    assert found.config is None
    assert [(problem.kind.code, problem.span) for problem in found.problems] == [("MAP079", Span(1, 28, 1, 32))]
