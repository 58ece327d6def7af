"""Where Chinese may stand: in catalogues and tables, and in the few Python files that a list gives a reason for."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("api", "cli", "evidence", "rules", "verifier", "mapper", "mappings", "schemas")
CHINESE = re.compile("[\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]")
STILL = dict(
    line.split(": ", 1) for line in (Path(__file__).parent / "chinese_in_python.txt").read_text("utf-8").splitlines()
)
"""Files whose texts cannot stand in a `messages.yaml`, each with the reason."""


def with_chinese() -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if not path.name.endswith("_compiled.py") and CHINESE.search(path.read_text("utf-8"))
    }


def test_no_other_module_holds_chinese() -> None:
    assert with_chinese() - STILL.keys() == set()


def test_the_list_only_shrinks() -> None:
    assert STILL.keys() - with_chinese() == set(), "take these out of chinese_in_python.txt"
