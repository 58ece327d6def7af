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
from question_files import questions, write_files

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


@pytest.mark.slow
def test_many_questions_in_many_orders(tmp_path: Path) -> None:
    chance = random.Random(61)
    names = write_files(tmp_path, 60, chance)
    assert _differing(questions(tmp_path, names, 500, chance), 4) == {"compared": 2000, "differing": []}
