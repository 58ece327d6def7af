"""One value that a framework does not expect: what its own code makes of it, and never an error of accmap's own."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from accmap.cli.lean import main

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "deepseek_v3"
SCRIPT = (EXAMPLE / "megatron.sh").read_text("utf-8")
with open(EXAMPLE / "mindformers.yaml", encoding="utf-8") as _stream:
    RUN: dict[str, Any] = yaml.safe_load(_stream)
with open(HERE / "wrong_values.yaml", encoding="utf-8") as _stream:
    CASES: dict[str, list[tuple[str, Any, int]]] = yaml.safe_load(_stream)
VALUES: tuple[Any, ...] = (None, "", "x", 0.5, -1, 0, [], [1], {}, {"a": 1}, True)
WORDS = ("''", "x", "0.5", "-1", "0", "1", "true", "1 2", "")
COMMANDS = ("convert", "lint", "show")
OWN_ERROR = 3
STEP = 17
"""One in so many of the sweep is tried; the number divides none of the lists, so that each value comes to many keys."""


def _paths(node: dict[str, Any], at: str = "") -> Iterator[str]:
    for key, value in node.items():
        yield at + key
        if isinstance(value, dict):
            yield from _paths(cast("dict[str, Any]", value), f"{at}{key}.")


def _yaml_with(path: str, value: Any) -> str:
    run = copy.deepcopy(RUN)
    *sections, key = path.split(".")
    node = run
    for name in sections:
        node = node[name]
    node[key] = value
    return yaml.safe_dump(run, sort_keys=False)


def _script_with(flag: str, words: str) -> str:
    text, count = re.subn(rf"({flag}) [^ \n]+", rf"\1 {words}", SCRIPT)
    assert count == 1, flag
    return text


@pytest.mark.parametrize(("path", "value", "code"), CASES["mindformers"])
def test_a_value_of_a_yaml(path: str, value: Any, code: int, tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(_yaml_with(path, value), "utf-8")
    assert main(["convert", str(file)]) == code


@pytest.mark.parametrize(("flag", "words", "code"), CASES["megatron"])
def test_a_value_of_a_script(flag: str, words: str, code: int, tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_text(_script_with(flag, words), "utf-8")
    assert main(["convert", str(file)]) == code


def test_any_value_of_any_key_is_answered(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    asked = [(path, value) for path in _paths(RUN) for value in VALUES][::STEP]
    for place, (path, value) in enumerate(asked):
        file.write_text(_yaml_with(path, value), "utf-8")
        command = COMMANDS[place % len(COMMANDS)]
        assert main([command, str(file)]) < OWN_ERROR, (command, path, value)
    assert len(asked) > 60


def test_any_words_for_any_flag_are_answered(tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    flags = re.findall(r"^ +(--[a-z0-9-]+) [^ \n]+$", SCRIPT, re.MULTILINE)
    asked = [(flag, words) for flag in flags for words in WORDS][::STEP]
    for place, (flag, words) in enumerate(asked):
        file.write_text(_script_with(flag, words), "utf-8")
        command = COMMANDS[place % len(COMMANDS)]
        assert main([command, str(file)]) < OWN_ERROR, (command, flag, words)
    assert len(asked) > 20
