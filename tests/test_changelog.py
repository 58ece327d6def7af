"""The changelog says the same in both languages: each line of one stands at the same place in the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NAMES = {"新增": "Added", "变更": "Changed", "修复": "Fixed", "移除": "Removed"}
WORDS = r"`[^`]+`|\b[A-Z]{3}\d{3}\b"
"""What stands in both languages as it is: code, and the codes of findings."""


def sections(name: str) -> dict[str, list[str]]:
    """The entries of each section, by the version and the section's English name."""
    found: dict[str, list[str]] = {}
    version = section = ""
    for line in (ROOT / name).read_text("utf-8").splitlines():
        if line.startswith("## "):
            version = line.split()[1]
        elif line.startswith("### "):
            title = line[4:].strip()
            section = f"{version} {NAMES.get(title, title)}"
            assert section not in found, f"{name}: {section} has two headings"
            found[section] = []
        elif line.startswith("- "):
            found[section].append(line)
        elif section and line.strip():
            assert line.startswith("  "), f"{name}: this line is no part of an entry: {line}"
            assert found[section], f"{name}: this line stands before any entry: {line}"
            found[section][-1] += "\n" + line
    return found


ENGLISH, CHINESE = sections("CHANGELOG.md"), sections("CHANGELOG.zh-CN.md")


def test_both_have_the_same_entries() -> None:
    counts = [{section: len(entries) for section, entries in every.items()} for every in (ENGLISH, CHINESE)]
    assert counts[0] == counts[1], "a line in CHANGELOG.md has its own in CHANGELOG.zh-CN.md, and the other way round"


@pytest.mark.parametrize("section", ENGLISH)
def test_each_is_about_the_same(section: str) -> None:
    for place, (ours, theirs) in enumerate(zip(ENGLISH[section], CHINESE[section], strict=True), 1):
        missing = set(re.findall(WORDS, theirs)) ^ set(re.findall(WORDS, ours))
        told = {word for word in missing if re.fullmatch(r"[A-Z]{3}\d{3}|`accmap [a-z ]+`", word)}
        assert not told, f"entry {place} of {section} names {sorted(told)} in one language only"


@pytest.mark.parametrize("name", ["CHANGELOG.md", "CHANGELOG.zh-CN.md"])
def test_no_entry_stands_twice(name: str) -> None:
    every = [entry for entries in sections(name).values() for entry in entries]
    assert len({entry.partition(".")[0] for entry in every}) == len(every)


def test_they_lead_to_each_other() -> None:
    assert "](CHANGELOG.zh-CN.md)" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "](CHANGELOG.md)" in (ROOT / "CHANGELOG.zh-CN.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["CHANGELOG.md", "CHANGELOG.zh-CN.md"])
def test_a_release_is_read_in_minutes(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    releases = [len(part.encode()) for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]]
    assert max(releases) <= 8192, releases
