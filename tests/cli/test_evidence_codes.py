"""The codes of evidence: each has one meaning, a page, and an explanation."""

from __future__ import annotations

import re
from pathlib import Path

from accmap.evidence.codes import codes

ROOT = Path(__file__).resolve().parents[2]


def test_every_code_in_the_room_is_on_the_page() -> None:
    written = set[str]()
    for folder in (ROOT / "evidence", ROOT / "cli" / "evidence"):
        for path in folder.rglob("*.py"):
            written.update(re.findall(r'"(EVD\d{3})"', path.read_text("utf-8")))
        for path in folder.rglob("messages.yaml"):
            written.update(re.findall(r"code: (EVD\d{3})", path.read_text("utf-8")))
    assert written == set(codes())


def test_one_command_and_one_severity_each() -> None:
    for code in codes().values():
        assert len({kind.severity for kind in code.kinds}) == 1, code


def test_a_code_is_explained(accmap) -> None:
    for code in codes():
        answer = accmap("explain", code)
        assert answer.code == 0
        assert code in answer.out
    assert "消息" in accmap("explain", "evd001", "--lang", "zh").out
    assert accmap("explain", "EVD999").code == 2
