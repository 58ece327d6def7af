"""Help pages: options in groups, examples, defaults; no page is taller or wider than a screen."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from accmap.cli.help_compiled import EXAMPLES, FAMILIES, GROUP_OF, GROUPS, TOPIC_OF, TOPICS
from accmap.cli.options import all_commands, options_of
from accmap.cli.terminal import columns

SCREEN = 80
MOST_USED = ("", "lint", "convert", "pair", "show", "diff", "lr", "verify", "report", "explain", "rules", "logs")
NAMES = ("", *FAMILIES, *all_commands())
LANGUAGES = ("en", "zh")


@pytest.fixture(autouse=True)
def _screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(SCREEN))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_a_screen(accmap, name: str, language: str) -> None:
    lines = accmap(*name.split(), "--help", "--lang", language).out.splitlines()
    assert len(lines) <= (41 if name in MOST_USED else 50)
    assert [line for line in lines if columns(line) > SCREEN] == []
    assert not any(line.endswith("...") and "[" not in line for line in lines)


@pytest.mark.parametrize("limit", [60, 100, 200])
def test_no_summary_is_cut_at_any_width(accmap, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setenv("COLUMNS", str(limit))
    page = re.sub(r"\s+", " ", accmap("--help").out)
    for name, command in all_commands().items():
        page_of = page if " " not in name else re.sub(r"\s+", " ", accmap(name.split()[0], "--help").out)
        assert command.help in page_of
    assert all(text in page for _, text, _ in FAMILIES.values())


VERBS = {
    "Align", "Check", "Compare", "Convert", "Explain", "Find", "List", "Offer", "Plot", "Print", "Record", "Remove",
    "Run", "Show", "Write",
}  # fmt: skip


def test_every_summary_is_a_short_verb_phrase() -> None:
    summaries = [command.help for command in all_commands().values()] + [text for _, text, _ in FAMILIES.values()]
    assert {summary.split()[0].rstrip(",") for summary in summaries} == VERBS
    assert [summary for summary in summaries if len(summary) > 60] == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", all_commands())
def test_every_option_is_named_and_all_are_shown_in_full(accmap, name: str, language: str) -> None:
    options = options_of(all_commands()[name])
    plain = accmap(*name.split(), "--help", "--lang", language).out
    full = re.sub(r"\s+", "", accmap(*name.split(), "--help", "all", "--lang", language).out)
    for option in options:
        assert re.search(rf"(^|[ ,]){option.names[0]}( |$)", plain, re.MULTILINE), option.names
        text = option.help_zh if language == "zh" else option.help
        assert re.sub(r"\s+", "", text.rstrip(".。")) in full
        if option.default is not None and option.choices:
            assert f"{option.default}({'default' if language == 'en' else '默认'})" in full.replace("（", "(").replace(
                "）", ")"
            )
        elif option.default is not None:
            assert f"default:{option.default}" in full or f"默认：{option.default}" in full


@pytest.mark.parametrize("group", [name for name, (*_, folded) in GROUPS.items() if folded])
def test_a_folded_group_is_shown_alone_in_full(accmap, group: str) -> None:
    name = next(name for name, groups in GROUP_OF.items() if group in groups.values())
    page = accmap(*name.split(), "--help", group).out
    shown = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", page, re.MULTILINE))
    assert shown == {
        option.names[0] for option in options_of(all_commands()[name]) if GROUP_OF[name][option.dest] == group
    }
    assert page.splitlines()[0].startswith(f"Usage: accmap {name} ")
    assert "Examples" not in page


def test_options_about_reading_are_one_group() -> None:
    for name, command in all_commands().items():
        own = {option.dest for option in command.options}
        reading = {dest for dest, group in GROUP_OF[name].items() if group == "reading"} - own
        assert not command.reads or len(reading) >= 15


def test_each_page_has_a_few_examples_of_its_command() -> None:
    for name, lines in EXAMPLES.items():
        assert 1 < len(lines) <= 4, name
        assert all(line.startswith(f"accmap {name}") and len(line) + 2 <= SCREEN for line in lines), name
    assert set(EXAMPLES) == set(all_commands())


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_of_commands_has_examples_of_theirs(accmap, name: str, language: str) -> None:
    page = accmap(*name.split(), "--help", "--lang", language).out
    shown = [line.strip() for line in page.splitlines() if line.startswith(f"  accmap {name}".rstrip())]
    assert 1 < len(shown) <= 4
    assert all(line in (one for lines in EXAMPLES.values() for one in lines) for line in shown)


def test_each_command_has_a_topic(accmap) -> None:
    assert set(TOPIC_OF.values()) | {topic for topic, *_ in FAMILIES.values()} == set(TOPICS)
    page = accmap("--help").out
    assert all(f"\n{en}:\n" in page for en, _ in TOPICS.values())


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("folder", "suffix"), [("", ""), ("zh_CN", ".zh-CN")])
@pytest.mark.parametrize("name", all_commands())
def test_the_manual_and_the_document_of_all_commands_name_every_option(name: str, folder: str, suffix: str) -> None:
    manual = (ROOT / "docs" / "man" / folder / f"accmap-{name.replace(' ', '-')}.1").read_text("utf-8")
    document = (ROOT / "docs" / f"commands{suffix}.md").read_text("utf-8")
    section = document.partition(f"\n### accmap {name}\n")[2].partition("\n### accmap ")[0]
    for option in options_of(all_commands()[name]):
        assert option.names[0] in manual.replace("\\-", "-"), option
        assert option.names[0] in section, option
    for line in EXAMPLES[name]:
        assert line in manual.replace("\\-", "-")
        assert f"- `{line}`" in section
    overview = (ROOT / "docs" / "man" / folder / "accmap.1").read_text("utf-8")
    assert f"\n.B {name}\n" in overview


@pytest.mark.browser  # groff comes with the part `browsers`
def test_the_manual_has_no_mistakes_for_groff() -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not here")
    pages = sorted((ROOT / "docs" / "man").rglob("*.1"))
    assert len(pages) == 2 * (1 + len(all_commands()))
    words = [groff, "-man", "-Tutf8", "-K", "utf-8", "-ww", "-z", *map(str, pages)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
