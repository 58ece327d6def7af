"""Why a word is not known is said in Chinese, too: every reason of the reader has its sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from accmap.schemas.shell.reasons import in_chinese

ROOM = Path(__file__).resolve().parents[3] / "schemas" / "shell"
CALL = re.compile(r'(?:unknown|Doubt)\(\s*(?:reason or |self\.undecided_reason or )?f?"([^"]+)"')
REASONS = sorted({found for path in ROOM.glob("*.py") for found in CALL.findall(path.read_text("utf-8"))})


def test_the_reader_has_reasons() -> None:
    assert len(REASONS) > 15


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_has_a_chinese_sentence(reason: str) -> None:
    said = re.sub(r"\{[^{}]*\}", "X1", reason)
    assert in_chinese(said) != said
    assert not re.search("[a-z]{3,} [a-z]{3,}", in_chinese(said))


def test_its_own_part_is_kept() -> None:
    said = in_chinese("DATA_PATH is not set in the file; give it with --var DATA_PATH=VALUE")
    assert said == "文件中未设置 DATA_PATH，请用 --var DATA_PATH=VALUE 给出"
    assert in_chinese("it depends on the test at line 42") == "取决于第 42 行的判断"
    assert in_chinese("nobody said this") == "nobody said this"
