"""A line of plain words is read at once, and says what it says word by word."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.schemas.shell.parser import Parser, ShellSyntaxError
from accmap.schemas.shell.text import Code
from accmap.schemas.source import SourceText

WORDS = st.sampled_from(
    ("run", "--lr", "1e-4", "a=b", "a=(", ")", "x+=(", "[1]=2", "{a,b}", "~", "*", "#c", "$X", '"q r"', "'s'", "\\",
     ";", "|", "2>&1", ">f", "{fd}>g", "export", "in", "for", "do", "done", "if", "then", "fi", "é", "\t", "\r",
     "a\\ b", "!", "}", "{")
)  # fmt: skip
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=5).flatmap(
    lambda lines: st.lists(
        st.sampled_from(("\n", " \\\n", "\\\n", "  \n")), min_size=len(lines), max_size=len(lines)
    ).map(lambda ends: "".join(line + end for line, end in zip(lines, ends, strict=True)))
)


def _read(text: str) -> tuple[list[str], int]:
    parser = Parser(Code(SourceText("x.sh", text)))
    found: list[str] = []
    try:
        while (line := parser.line()) is not None:
            found.append(repr(line).replace(repr(parser.code.source), "source"))
    except ShellSyntaxError as error:
        found.append(f"{error.problem} {error.place[1:]}")
    return found, parser.words


def _one_by_one(parser: Parser) -> tuple[int, list[object]]:
    return parser.size, []


@settings(max_examples=400)
@given(TEXTS)
def test_a_run_is_its_words(text: str) -> None:
    at_once = _read(text)
    kept = Parser._plain_run  # pyright: ignore[reportPrivateUsage]
    try:
        Parser._plain_run = _one_by_one  # type: ignore[method-assign,assignment]
        assert _read(text) == at_once
    finally:
        Parser._plain_run = kept  # type: ignore[method-assign]


@pytest.mark.parametrize(
    "text",
    ["a=(\n  [2]=x y\n)\n", "a=(\n  b\n  c # d\n)\n", "run \\\n  --a b \\\n  --c # d\n", "a=(\n b c)\n", "x=(\n)\n"],
)
def test_what_is_no_plain_run(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = _read(text)
    monkeypatch.setattr(Parser, "_plain_run", _one_by_one)
    assert _read(text) == at_once


def test_too_many_words_are_refused_at_the_same_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from accmap.schemas.shell import parser

    monkeypatch.setattr(parser, "MOST_WORDS", 20)
    text = "x=(\n" + "  a b c d e\n" * 6 + ")\n"
    at_once = _read(text)
    monkeypatch.setattr(Parser, "_plain_run", _one_by_one)
    assert _read(text)[0] == at_once[0]
