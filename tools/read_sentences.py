"""Sentences that a person reads, from the catalogues and the documents: counted by pattern, or drawn for a rating.

python tools/read_sentences.py --pattern stands       # every sentence with a pattern of PATTERNS
python tools/read_sentences.py --draw COMMIT          # 60 of the catalogues, 60 of the documents, 60 in Chinese
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("cli", "rules", "verifier", "evidence", "mapper", "mappings", "schemas")
MADE_BY_THE_BUILD = ("docs/matrix", "docs/configuration", "docs/rules", "docs/evidence-codes")
CHINESE = re.compile("[\u4e00-\u9fff]")
PATTERNS = {
    "is no": r"\b(?:is|are|was|were) no\b(?! (?:longer|more|fewer|less|later|earlier)\b)",
    "stands": r"\b(?:stands|stood|standing|stand(?!-| ?in\b| ?alone))\b",
    "say": r"\b(?:says?|said|saying|told|tells)\b",
    "what": r"(?<![?] )\b[Ww]hat\b(?!['’]s)(?! to\b)(?!\.)",
    "where": r"\b(?:but|only|also|even|and|or|not|nothing|unset|unless|,) where\b",
    "give": r"\b(?:gives?|gave)\b",
    "there is nothing": r"\b(?:nothing that|nothing where)\b",
    "of its own": r"\bof (?:its|their|your|one's) own\b",
    "question as a label": r"^(?:Whether|How|Why|Which) [^?]*$",
    "in place of": r"\bin place of\b",
}
"""The patterns that WRITING.md names and a search can find; docs, code spans and quotations of output are left out."""


class Sentence(NamedTuple):
    """A sentence, its place, and its kind: `catalogue` or `document`."""

    file: str
    line: int
    text: str
    source: str


def flow(node: yaml.Node) -> Iterator[tuple[yaml.ScalarNode, yaml.ScalarNode]]:
    """Pairs of an English text and its Chinese, in the order of the file."""
    if isinstance(node, yaml.MappingNode):
        by_key = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        for key, value in by_key.items():
            other = by_key.get("zh") if key == "en" else by_key.get(f"{key}_zh")
            if isinstance(value, yaml.ScalarNode) and isinstance(other, yaml.ScalarNode):
                yield value, other
        for _, value in node.value:
            yield from flow(value)
    elif isinstance(node, yaml.SequenceNode):
        for first, second in zip(node.value, node.value[1:], strict=False):
            scalars = isinstance(first, yaml.ScalarNode) and isinstance(second, yaml.ScalarNode)
            if scalars and CHINESE.search(second.value) and not CHINESE.search(first.value):
                yield first, second
        for value in node.value:
            yield from flow(value)


def english(text: str) -> list[str]:
    """The sentences of an English text."""
    return [
        one.strip()
        for one in re.split(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z`{\"'-]|accmap)", text.replace("**", ""))
        if one.strip()
    ]


def chinese(text: str) -> list[str]:
    """The sentences of a Chinese text."""
    return [one.strip() for one in re.split(r"(?<=[。！？])", text.replace("**", "")) if CHINESE.search(one)]


def catalogues() -> Iterator[Path]:
    """Every table of the product that is in the repository."""
    tracked = subprocess.run(["git", "ls-files", *ROOMS], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return (ROOT / name for name in tracked.splitlines() if name.endswith(".yaml") and "/corpus" not in name)


def documents(language: str) -> Iterator[Path]:
    """Every page that a person writes."""
    tracked = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in tracked.splitlines():
        if name.startswith("tests/") or name.startswith(MADE_BY_THE_BUILD) or "/defects/" in name:
            continue
        if name.endswith(".zh-CN.md") == (language == "zh"):
            yield ROOT / name


def catalogue_sentences(language: str) -> Iterator[Sentence]:
    """The sentences of all catalogues."""
    for path in catalogues():
        for pair in flow(yaml.compose(path.read_text("utf-8"), yaml.CSafeLoader) or yaml.ScalarNode("", "")):
            node = pair[language == "zh"]
            for text in english(node.value) if language == "en" else chinese(node.value):
                yield Sentence(path.relative_to(ROOT).as_posix(), node.start_mark.line + 1, text, "catalogue")


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, list items and cells of a page, without its code blocks, each with its line."""
    block, start, in_code = "", 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
            line = ""
        elif in_code:
            continue
        bare = line.strip()
        begins = re.match(r"([-*]|\d+\.|#+|>)\s+", bare)
        if bare.startswith("!["):
            bare = ""
        if not bare or begins or bare.startswith("|"):
            if block:
                yield start, block
            block = ""
        if bare.startswith("|"):
            yield from ((number, cell.strip()) for cell in bare.strip("|").split(" | ") if not set(cell) <= set(" -:|"))
        elif bare.startswith("#"):
            yield number, bare.lstrip("# ")
        elif bare:
            block, start = (f"{block} {bare}", start) if block else (bare[begins.end() if begins else 0 :], number)


def document_sentences(language: str) -> Iterator[Sentence]:
    """The sentences of all documents."""
    for path in documents(language):
        for number, block in paragraphs(path.read_text("utf-8")):
            if language == "en" and CHINESE.search(block):
                continue  # a link to the other language, or a term of it
            for text in english(block) if language == "en" else chinese(block):
                yield Sentence(path.relative_to(ROOT).as_posix(), number, text, "document")


def without_code(text: str) -> str:
    """The text with one word for each code span, link target, quotation, placeholder and name of a key."""
    for pattern in (r"``.*?``", r"`[^`]*`", r"\{[^{}]*\}", r"“[^”]*”", r'"[^"]*"', r"\(https?:[^)]*\)"):
        text = re.sub(pattern, "X", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def words(text: str) -> int:
    """The number of words; a code span is one."""
    return sum(1 for word in without_code(text).split() if re.search(r"\w", word))


def longest_part(text: str) -> int:
    """The number of words of a sentence's longest part between semicolons."""
    return max(words(part) for part in re.split(r"; | · ", text))


def matches(sentence: Sentence) -> list[str]:
    """The names of the patterns that a sentence has."""
    bare = without_code(sentence.text)
    return [name for name, pattern in PATTERNS.items() if re.search(pattern, bare)]


def draw(commit: str) -> dict[str, list[Sentence]]:
    """Sixty sentences of each kind, drawn by the first eight hexadecimal digits of a commit."""
    chance = random.Random(int(commit[:8], 16))
    kinds: dict[str, Iterable[Sentence]] = {
        "catalogues": catalogue_sentences("en"),
        "documents": document_sentences("en"),
        "Chinese": [*catalogue_sentences("zh"), *document_sentences("zh")],
    }
    return {
        name: chance.sample([one for one in every if name == "Chinese" or words(one.text) > 3], 60)
        for name, every in kinds.items()
    }


def main() -> None:
    """Print sentences, or counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pattern", choices=[*PATTERNS, "long"])
    parser.add_argument("--draw", metavar="COMMIT")
    given = parser.parse_args()
    if given.draw:
        for name, every in draw(given.draw).items():
            print(f"\n{name}")
            for number, one in enumerate(every, 1):
                print(f"{number:3} {one.file}:{one.line}  {one.text}")
        return
    every = [*catalogue_sentences("en"), *document_sentences("en")]
    for one in every:
        if given.pattern in matches(one) or (given.pattern == "long" and longest_part(one.text) > 30):
            print(f"{one.file}:{one.line}: {one.text}")
    if not given.pattern:
        for source in ("catalogue", "document"):
            mine = [one for one in every if one.source == source]
            counts = {name: sum(name in matches(one) for one in mine) for name in PATTERNS}
            print(f"{source}: {len(mine)} sentences, {sum(longest_part(one.text) > 30 for one in mine)} long, {counts}")


if __name__ == "__main__":
    main()
