"""Whatever files a process read before, in whatever order, it answers as one that was started anew."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
FILES = 60
INSTEAD = ("0", "1", "8", "64", "-0.0", "1.0e-4", "true", "null", "adam", "[0, 1]", "float32", "${UNSET}")


def _write_files(folder: Path) -> None:
    """The examples' files, from some of which lines are missing and in which values are others or stand elsewhere."""
    chance = random.Random(60)
    known = sorted(path for path in EXAMPLES.glob("*/m*.*") if path.suffix in (".sh", ".yaml"))
    for number in range(FILES):
        path = known[number % len(known)]
        lines = path.read_text("utf-8").split("\n")
        for _ in range(min(number // len(known), 1) * 6):
            at = chance.randrange(len(lines))
            head, colon, _old = lines[at].partition(": ") if path.suffix == ".yaml" else lines[at].rpartition(" ")
            word = chance.choice(("", *INSTEAD))
            lines[at] = f"{head}{colon}{word}" if colon and word else ""
        above = ["# moved"] * (number % 3)
        (folder / f"file{number:02d}{path.suffix}").write_text("\n".join([*lines[:1], *above, *lines[1:]]), "utf-8")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="fresh processes are forks")
def test_any_order_gives_the_same_answers(tmp_path: Path) -> None:
    _write_files(tmp_path)
    done = subprocess.run(
        [sys.executable, str(HERE / "answers_in_order.py"), str(tmp_path), "3"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "120", "ACCMAP_LANG": "en"},
        check=True,
    )
    assert json.loads(done.stdout) == []
