"""Parts of messages are said in Chinese, too: every phrase that a reader puts into one has its Chinese."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from accmap.mapper.schedule import from_config
from accmap.schemas.border.incoming import PROBLEMS
from accmap.schemas.phrases import PHRASES, SLOTS, in_chinese

ROOT = Path(__file__).resolve().parents[2]
_CHINESE = re.compile("[\u4e00-\u9fff]")
_SAID = re.compile(rf'\b(?:{"|".join(sorted(SLOTS))})=f?"((?:[^"\\]|\\.)*)"(?!\s*if\b)(?=[,)\s])')
_RAISED = re.compile(r'(?:ExpressionError|\brefuse|_refuse)\(\s*f?"((?:[^"\\]|\\.)+)"\s*\)')


def _phrases() -> list[str]:
    found: set[str] = set()
    for folder in ("schemas", "mapper/schedule"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text("utf-8")
            if path.name in ("phrases.py", "problems.py") or "compiled" in path.name:
                continue
            # Where both languages are given, the one for Chinese follows.
            found.update(said[1] for said in _SAID.finditer(text) if "_zh=" not in text[said.end() : said.end() + 80])
            found.update(_RAISED.findall(text))
    return sorted(phrase for phrase in found if " " in re.sub(r"\{[^{}]*\}:? ?", "", phrase))


def test_there_are_phrases() -> None:
    assert len(_phrases()) > 20


@pytest.mark.parametrize("phrase", _phrases())
def test_every_phrase_of_the_readers_has_its_chinese(phrase: str) -> None:
    said = re.sub(r"\{[^{}]*\}", "X1", phrase)
    candidates = (said, f"Some: {said}")  # a schedule's class stands before what it refuses
    assert any(_CHINESE.search(in_chinese(one)) for one in candidates), phrase


@pytest.mark.parametrize("remedy", [*from_config._REMEDIES.values(), from_config._OTHERWISE])
def test_every_remedy_has_its_chinese(remedy: str) -> None:
    assert _CHINESE.search(in_chinese(remedy))


@pytest.mark.parametrize(("english", "chinese"), PHRASES)
def test_the_table_is_whole(english: str, chinese: str) -> None:
    holes = english.replace("{{", "").replace("}}", "").count("{}")
    assert chinese.replace("{{", "").replace("}}", "").count("{}") == holes
    said = english.replace("{{", "{").replace("}}", "}")
    for number in range(holes):
        said = said.replace("{}", f"x{number}", 1)
    answer = in_chinese(said)
    assert answer != said
    assert all(f"x{number}" in answer for number in range(holes))


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("a string or null", "字符串 或 null"),
        ("a whole number or a number", "整数 或 数值"),
        (", while parsing a block mapping (line 3)", "；解析块映射时（第 3 行）"),
        ("There is no file a b.sh.", "文件 a b.sh 不存在。"),
        ("There is no file config.json", "文件 config.json 不存在"),
        (
            "Byte 12 (0xff) is not UTF-8. Save the file as UTF-8.",
            "第 12 字节 (0xff) 不是 UTF-8。请将文件保存为 UTF-8。",
        ),
        ("x.sh is a link to y.sh, which does not exist.", "x.sh 是指向 y.sh 的链接，但目标不存在。"),
        ("nobody said this", "nobody said this"),
        ("{odd} braces", "{odd} braces"),
    ],
)
def test_parts(english: str, chinese: str) -> None:
    assert in_chinese(english) == chinese


@pytest.mark.parametrize("text", [": " * 100_000, ", " * 100_000, "x is not a mapping" * 10_000, " or " * 10_000])
def test_a_long_text_of_a_user_is_no_burden(text: str) -> None:
    assert in_chinese(text)


def test_messages_of_files_can_be_quoted() -> None:
    for kind in PROBLEMS.values():
        text = re.sub(r"\{(\w+)(:\w+)?\}", r"<\1>", kind.en)
        assert _CHINESE.search(in_chinese(text)), text
