"""Plain words: the measured patterns, long sentences, and every message in its final form with values."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import read_sentences  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 30
EMPTY = yaml.ScalarNode("", "")
ENGLISH_ALONE = re.compile(r"^\{\w+\}$|\{detail\}$")
"""Words of Python or of bash, which Chinese replaces with a sentence."""
VALUES = {
    "path": "run.sh",
    "key": "optimizer.eps",
    "count": "3",
    "why": "it is not JSON",
    "line": "12",
    "version": "1.9",
}
BROKEN = re.compile(r"[{}]|\.\.(?!\.)(?<!\.\.\.)|。。|。\.|，，|(?<! ) {2,}(?! )|\( | \)")


def hard(sentence: read_sentences.Sentence) -> list[str]:
    """The reasons why a sentence is hard to read."""
    return [
        *read_sentences.matches(sentence),
        *(["long"] if read_sentences.longest_part(sentence.text) > LONGEST else []),
    ]


def hard_sentences() -> list[str]:
    """Every hard sentence of the catalogues and documents, with its place and the reasons."""
    sentences = (*read_sentences.catalogue_sentences("en"), *read_sentences.document_sentences("en"))
    return [f"{one.file}:{one.line} ({', '.join(hard(one))}): {one.text}" for one in sentences if hard(one)]


def test_sentences_are_plain() -> None:
    hard_ones = hard_sentences()
    assert not hard_ones, "\n".join(hard_ones)


def final(text: str) -> str:
    """A message with a value in each placeholder."""
    return re.sub(
        r"\{(\w*)[^{}]*\}", lambda found: VALUES.get(found[1], "x1"), text.replace("{{", "<").replace("}}", ">")
    )


def texts() -> Iterator[tuple[str, str, str]]:
    """Place, English and Chinese text of every catalogue entry."""
    for path in read_sentences.catalogues():
        for en, zh in read_sentences.flow(yaml.compose(path.read_text("utf-8"), yaml.CSafeLoader) or EMPTY):
            yield f"{path.relative_to(ROOT).as_posix()}:{en.start_mark.line + 1}", en.value, zh.value


def placeholders(text: str) -> set[str]:
    """Names of the values in a message, without the suffix of a language."""
    return {name.removesuffix("_zh").removesuffix("_en") for name in re.findall(r"(?<![{$`])\{(\w+)[^{}]*\}", text)}


def test_an_entry_is_whole_in_its_final_form() -> None:
    sentences = [
        (place, final(read_sentences.without_code(text)).strip())
        for place, en, zh in texts()
        for text in (en, zh)
        if "\n" not in text  # a part of a page has tables and code
    ]
    assert not [f"{place}: {text}" for place, text in sentences if text and BROKEN.search(text)]


def test_both_languages_have_the_same_values() -> None:
    assert not [
        f"{place}: {sorted(placeholders(en) ^ placeholders(zh))}: {en}"
        for place, en, zh in texts()
        if placeholders(en) != placeholders(zh) and not ENGLISH_ALONE.search(en)
    ]


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
