"""Whatever a process was asked before, in whatever order, it answers as one that was started anew."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from question_files import EXAMPLES, questions, questions_about_forks, write_files

if TYPE_CHECKING:
    from question_files import Question

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="fresh processes are forks")


def _differing(asked: list[Question], orders: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(HERE / "answers_in_order.py"), str(orders)],
        input=json.dumps(asked), capture_output=True, text=True, check=True,
        env={**os.environ, "COLUMNS": "120", "ACCMAP_LANG": "en"},
    )  # fmt: skip
    return json.loads(done.stdout)


def test_other_questions_before_change_no_answer(tmp_path: Path) -> None:
    chance = random.Random(60)
    names = write_files(tmp_path, 12, chance)
    assert _differing(questions(tmp_path, names, 14, chance), 2) == {"compared": 28, "differing": []}


def test_another_fork_before_changes_no_recipe(tmp_path: Path) -> None:
    write_files(tmp_path, 0, random.Random(60))
    assert _differing(questions_about_forks(tmp_path), 2) == {"compared": 18, "differing": []}


@pytest.mark.slow
def test_many_questions_in_many_orders(tmp_path: Path) -> None:
    chance = random.Random(61)
    names = write_files(tmp_path, 60, chance)
    assert _differing(questions(tmp_path, names, 500, chance), 4) == {"compared": 2000, "differing": []}


def _linted(accmap: Any, names: list[str], jobs: int) -> tuple[dict[str, list[str]], Any]:
    """What is said of each file, in its order, and the summary."""
    answer = accmap("lint", "--no-cache", "--format", "json", "--jobs", str(jobs), *names)
    assert answer.code in (0, 1, 2), answer.err
    found = json.loads(answer.out)
    said: dict[str, list[str]] = {}
    for entry in found["diagnostics"]:
        cause = entry["because_of"]
        if cause is not None:  # its place among all findings is another one in another order
            head = found["diagnostics"][cause]
            entry["because_of"] = [head["code"], head["file"], head["span"], head["message"]]
        said.setdefault(entry["file"], []).append(json.dumps(entry, sort_keys=True))
    found["summary"]["versions"].sort(key=lambda one: one["file"])
    return said, [answer.code, found["summary"]]


def _in_other_orders(accmap: Any, folder: Path, variants: int, runs: int) -> int:
    """How many files' answers were compared."""
    chance = random.Random(62)
    names = write_files(folder, variants, chance)
    pairs = "[[pairs]]\nmegatron = 'shipped/*.sh'\nmindformers = 'shipped/*.yaml'\n"
    (folder / "accmap.toml").write_text(f"profile = 'train'\n{pairs}", "utf-8")
    for name in [name for name in names if name.startswith("shipped/") and name.endswith(".sh")]:
        text = (EXAMPLES / "planted" / "mindformers.yaml").read_text("utf-8")
        (folder / name).with_suffix(".yaml").write_text(text, "utf-8")
    first = _linted(accmap, names, 1)
    for run in range(runs):
        chance.shuffle(names)
        assert _linted(accmap, names, 1 + (run + 1) % 3) == first
    return runs * len(names)


def test_other_order_and_other_processes_say_the_same_of_each_file(
    accmap: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To try each fix takes as long as many runs; the longer test does.
    monkeypatch.setattr("accmap.cli.commands.lint._SHOWS_FIXES", ())
    assert _in_other_orders(accmap, tmp_path, 2, 2) == 52


@pytest.mark.slow
def test_many_files_in_many_orders(accmap: Any, tmp_path: Path) -> None:
    assert _in_other_orders(accmap, tmp_path, 60, 30) >= 2000
