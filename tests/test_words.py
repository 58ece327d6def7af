"""Plain words: the measured patterns, long sentences, and every message in its final form with values."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest

from accmap.schemas.compilers.tables import load_table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import read_sentences  # noqa: E402

LONGEST = 30
LEFT: dict[str, int] = load_table((ROOT / "tests" / "words_left.yaml").read_text("utf-8"))
"""Sentences of each file that are still long or have a pattern. A file that is not in the list has none."""
VALUES = {
    "path": "run.sh",
    "key": "optimizer.eps",
    "count": "3",
    "why": "it is not JSON",
    "line": "12",
    "version": "1.9",
}
BROKEN = re.compile(r"[{}]|\.\.(?!\.)(?<!\.\.\.)|。。|。\.|，，|(?<! ) {2,}(?! )|\bNone\b|\( | \)")


def hard(sentence: read_sentences.Sentence) -> list[str]:
    """The reasons why a sentence is hard to read."""
    return [
        *read_sentences.matches(sentence),
        *(["long"] if read_sentences.longest_part(sentence.text) > LONGEST else []),
    ]


@cache
def hard_sentences() -> dict[str, list[str]]:
    """The hard sentences of each file, with their reasons."""
    found: dict[str, list[str]] = {}
    for one in (*read_sentences.catalogue_sentences("en"), *read_sentences.document_sentences("en")):
        if reasons := hard(one):
            found.setdefault(one.file, []).append(f"{one.file}:{one.line} ({', '.join(reasons)}): {one.text}")
    return found


def test_sentences_are_plain() -> None:
    more = [line for file, lines in hard_sentences().items() if len(lines) > LEFT.get(file, 0) for line in lines]
    assert not more, "\n".join(more)


def final(text: str) -> str:
    """A message with a value in each placeholder."""
    return re.sub(
        r"\{(\w*)[^{}]*\}", lambda found: VALUES.get(found[1], "x1"), text.replace("{{", "<").replace("}}", ">")
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_message_is_whole_in_its_final_form(language: str) -> None:
    wrong: list[str] = []
    for sentence in read_sentences.catalogue_sentences(language):
        if not sentence.file.endswith("messages.yaml"):
            continue
        text = final(read_sentences.without_code(sentence.text) if language == "en" else sentence.text)
        if not text.strip() or BROKEN.search(text.strip()):
            wrong.append(f"{sentence.file}:{sentence.line}: {text}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("{path} is no tokenizer.", ["is no"]),
        ("{given} stands for it.", ["stands"]),
        ("The source does not say it.", ["say"]),
        ("What is relevant is named.", ["what"]),
        ("Give `--timeout` more.", []),
        ("It gives another number.", ["give"]),
        ("accmap used {given} as a placeholder; set it.", []),
        ("word " * 31, ["long"]),
    ],
)
def test_a_pattern_is_found(text: str, reasons: list[str]) -> None:
    assert hard(read_sentences.Sentence("file", 1, text, "catalogue")) == reasons
