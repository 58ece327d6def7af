"""Documents name only commands, options and codes that the help and the rule pages describe."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from accmap.cli.options import all_commands, options_of
from accmap.evidence.codes import codes
from accmap.rules.pages import every_page

ROOT = Path(__file__).resolve().parents[2]
TRACKED = subprocess.run(
    ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split()
PAGES = [name for name in TRACKED if not name.startswith(("tests/", "rules/", "docs/announce/"))]
COMMON = {"--help", "--lang", "--version", "--verbose"}
PRETENDED = re.compile("9[0-9]{2}$")
"""The codes of the recipes in CONTRIBUTING; SYN9xx are real."""


def options(command: str) -> set[str]:
    """The names of a command's options."""
    return COMMON.union(*(option.names for option in options_of(all_commands()[command])))


def command_lines(text: str) -> list[list[str]]:
    """The words of every command line of accmap, in code blocks and in code spans."""
    return [line.split() for line in re.findall(r"(?:`|^\$? ?)accmap ([a-z][^`\n#|]+)", text, re.MULTILINE)]


def unknown_options(text: str) -> list[str]:
    """Options of the text's command lines that the help of their command lacks."""
    unknown = []
    for words in command_lines(text):
        name = next((name for size in (2, 1) if (name := " ".join(words[:size])) in all_commands()), None)
        if name is None or name == "explain":  # explain takes flags of the frameworks; prose may begin with "accmap"
            continue
        given = [word.lstrip("[").split("=")[0].rstrip(".,;)]") for word in words]
        unknown += [f"{name} {word}" for word in given if re.match("--[a-z]", word) and word not in options(name)]
    return unknown


@pytest.mark.parametrize("name", PAGES)
def test_the_help_has_every_option_of_a_document(name: str) -> None:
    assert unknown_options((ROOT / name).read_text("utf-8")) == []


def test_an_unknown_option_is_found() -> None:
    assert unknown_options("Run `accmap lint a.sh --fixx`.\n```\n$ accmap weights check A --all\n```") == [
        "lint --fixx"
    ]


def test_every_code_of_a_document_has_its_page() -> None:
    known = {*every_page(), *codes()}
    kinds = {code[:3] for code in known}
    named = {
        (name, code)
        for name in PAGES
        for code in re.findall(r"\b[A-Z]{3}[0-9]{3}\b", (ROOT / name).read_text("utf-8"))
        if code[:3] in kinds and not (PRETENDED.search(code) and code[:3] != "SYN")
    }
    assert len(named) > 100
    assert sorted((name, code) for name, code in named if code not in known) == []
