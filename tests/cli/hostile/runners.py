"""What reads accmap's answers, written after its own rules: CI runners, a terminal, a spreadsheet, a Markdown page."""

from __future__ import annotations

import re
import unicodedata
from html.parser import HTMLParser
from typing import NamedTuple

JOINERS = "\u200c\u200d"


class Command(NamedTuple):
    """A command in a log that a runner carries out."""

    name: str
    properties: dict[str, str]
    message: str


def unsafe_characters(text: str, allowed: str = "") -> set[str]:
    """What steers a terminal or hides text from a reader of it; a lone surrogate never reaches one."""
    return {
        character
        for character in set(text) - set("\n\t" + JOINERS + allowed)
        if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs")
    }


def github_commands(log: str) -> list[Command]:
    """actions/runner `ActionCommand.TryParseV2` and, for `##[name]`, `TryParse`: any blanks may come before `::`."""
    found: list[Command] = []
    for line in re.split(r"[\n\r]", log):
        text = line.lstrip()
        if text.startswith("::") and (end := text.find("::", 2)) > 0:
            name, _, given = text[2:end].partition(" ")
            rows = [row.partition("=") for row in given.split(",") if "=" in row]
            properties = {key.strip(): _unescaped(value, ("%3A", ":"), ("%2C", ",")) for key, _, value in rows}
            found.append(Command(name, properties, _unescaped(text[end + 2 :])))
        elif (start := line.find("##[")) >= 0 and (end := line.find("]", start)) > 0:
            found.append(Command(line[start + 3 : end], {}, line[end + 1 :]))
    return found


def _unescaped(text: str, *more: tuple[str, str]) -> str:
    for written, plain in (("%0D", "\r"), ("%0A", "\n"), *more, ("%25", "%")):
        text = text.replace(written, plain)
    return text


def azure_commands(log: str) -> list[Command]:
    """azure-pipelines-agent `Command.TryParse`: `##vso[` wherever in a line it stands; `##[` formats the line."""
    found: list[Command] = []
    for line in re.split(r"[\n\r]", log):
        start = line.find("##vso[")
        if start >= 0 and (end := line.find("]", start)) > 0:
            area, _, given = line[start + 6 : end].partition(" ")
            rows = [row.partition("=") for row in given.split(";") if "=" in row]
            found.append(
                Command(
                    area, {key: _unescaped_azure(value) for key, _, value in rows}, _unescaped_azure(line[end + 1 :])
                )
            )
        elif re.search(r"##\[\w+\]", line):
            found.append(Command("format", {}, line))
    return found


def _unescaped_azure(text: str) -> str:
    for written, plain in (("%3B", ";"), ("%0D", "\r"), ("%0A", "\n"), ("%5D", "]"), ("%AZP25", "%")):
        text = text.replace(written, plain)
    return text


def other_commands(log: str) -> list[str]:
    """TeamCity's service messages, and GitLab's sections, which need an escape sequence."""
    return re.findall(r"##teamcity\[|section_(?:start|end):\d+:[^\n]*\x1b", log)


class Tags(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.names: list[tuple[str, tuple[str, ...]]] = []
        self.texts: list[str] = []
        self.odd: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append((tag, tuple(name for name, _ in attrs)))
        self.odd += [f"{name}={value}" for name, value in attrs if name.startswith("on") or _runs(value)]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.odd.append(data)


def _runs(value: str | None) -> bool:
    return (value or "").strip().lower().startswith(("javascript:", "data:", "vbscript:"))


def runs_in_a_spreadsheet(cell: str) -> bool:
    """Whether a spreadsheet takes the cell for a formula (OWASP's list, and the full-width forms that Excel takes)."""
    text = cell.lstrip(" \t\r\n\u3000\u00a0")
    if not text.startswith(tuple("=+-@＝＋－＠")):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False
