"""Every row of the accuracy guide's procedure ends in a command of the playbook and in a test."""

from __future__ import annotations

import re
from pathlib import Path

from accmap.cli.options import command_named
from accmap.evidence.playbook.plan import stages
from accmap.schemas.compilers.tables import load_table

TESTS = Path(__file__).parent
PROCEDURES = set((TESTS / "procedures.txt").read_text("utf-8").split())


def test_every_row_has_a_test() -> None:
    marked = {
        row
        for path in TESTS.rglob("test_*.py")
        for row in re.findall(r'mark\.procedure\(\s*"([^"]+)"', path.read_text("utf-8"))
    }
    for path in (TESTS / "rules" / "cases").glob("*.yaml"):
        marked |= {row for case in load_table(path.read_text("utf-8")) for row in case.get("procedures", ())}
    assert marked == PROCEDURES


def test_every_row_has_a_command() -> None:
    found: set[str] = set()
    for stage in stages():
        for check in stage.checks:
            words = [check.judge, *(tuple(line.split()[1:]) for line in check.do if line.startswith("accmap "))]
            if check.ticks or any(word and command_named(word) for word in words):
                found.update(check.sources)
    assert found == PROCEDURES
