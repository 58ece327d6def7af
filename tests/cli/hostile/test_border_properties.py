"""Whatever stands in values, keys, names and comments: no answer steers its reader, and each reads back as written."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import tempfile
import xml.etree.ElementTree as ET
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

sys.path.insert(0, str(Path(__file__).parent))
from runners import (
    Tags,
    azure_commands,
    github_commands,
    other_commands,
    runs_in_a_spreadsheet,
    unsafe_characters,
)

from accmap.cli.lean import main
from accmap.schemas.border.text_output import visible, visible_lines

FORMATS = ["text", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "azure", "markdown", "csv"]
SAYINGS = [
    "::error file=a::b", "::set-output name=x::y", "  ::stop-commands::t", "##vso[task.setvariable variable=a]b",
    "##[error]x", "##teamcity[x]", "####[x]", "##vso##[a]vso[b]", "\x1b[31m", "\x1b]0;t\x07", "\x9b2J", "\r", "\n",
    "\t", "\x00", "\x08", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\u2066", "\u200b", "\ufeff", "\u00ad",
    "\U000e0041", "\ufdd0", "\ufdd8", "\ufffe", "\uffff", "\U0001ffff", "=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-2+3",
    "＝1", "<script>alert(1)</script>", "<img src=x onerror=y>", "</title>", "]]>", "<!--", "&amp;", "&#10;", "%0A",
    "%25", "%3A", "%AZP25", ";", "]", ",", ":", "::", "|", "`", "``` ", "[a](javascript:b)", "![a](//h/b)", "<//h/b>",
    "https://h/b", "*a*", "__b__", "~~c~~", "# d", "'", '"', "\\", "$(id)", "`id`", "{", "}", "${x", "{0}", "{file}",
    "%s", "\u4e2d", "\u200d", "section_start:1:x\r\x1b[0K", "x" * 300,
]  # fmt: skip
pieces = st.one_of(st.sampled_from(SAYINGS), st.text(max_size=6))
texts = st.lists(pieces, min_size=1, max_size=4).map("".join)
in_files = texts.map(lambda text: text.encode("utf-8", "replace").decode())
names = st.lists(st.one_of(pieces, st.sampled_from(["\udce9", "\udcff"])), min_size=1, max_size=3).map(
    lambda found: _name("".join(found))
)
quick = settings(
    max_examples=20,
    suppress_health_check=list(HealthCheck),
    database=None,
    phases=(Phase.explicit, Phase.generate),  # to shrink what fails takes minutes; the example says enough
)


def _name(text: str) -> str:
    """Something that a file system takes as a name."""
    text = re.sub("[\ud800-\udc7f\udd00-\udfff]", "?", text).replace("/", "~").replace("\0", "~")
    return os.fsdecode(os.fsencode(text)[:120]) + "_"


class Run:
    """One command line in this process, its answers as a terminal would get them."""

    def __init__(self, *words: str) -> None:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with redirect_stdout(out), redirect_stderr(err):
            self.code = main(list(words))
            out.flush()
            err.flush()
        self.out, self.err = (_bytes(stream).decode("utf-8") for stream in (out, err))


def _bytes(stream: io.TextIOWrapper) -> bytes:
    held = stream.buffer
    assert isinstance(held, io.BytesIO)
    return held.getvalue()


def harmless(text: str, allowed: str = "") -> None:
    assert not unsafe_characters(text, allowed), sorted(map(ascii, unsafe_characters(text, allowed)))
    assert not github_commands(text)
    assert not azure_commands(text)
    assert not other_commands(text)


def script(value: str, comment: str) -> str:
    def quoted(text: str) -> str:
        return "'" + text.replace("\0", "").replace("'", "'\\''") + "'"

    return (
        f"#!/bin/bash\n# {comment.replace(chr(10), ' ').replace(chr(0), '')}\nexport NOTE={quoted(value)}\n"
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 \\\n"
        "  --seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 --global-batch-size 16 \\\n"
        "  --train-iters 1000 --lr 1e-4 --min-lr 1e-5 --lr-decay-style cosine --lr-warmup-iters 100 --bf16 \\\n"
        f"  --data-path {quoted(value)} --tokenizer-model {quoted(value)} --tensorboard-dir {quoted(value)} \\\n"
        f"  --tokenizer-type NullTokenizer --no-such {quoted(value)}\n"
    )


def config(value: str, comment: str) -> str:
    """A YAML whose values and keys say anything."""
    text = '"' + "".join(map(_yaml_escape, value)) + '"'
    shown = "".join(character if character.isprintable() else " " for character in comment)
    return (
        f"# {shown}\nseed: 1\nrun_mode: 'train'\nuse_legacy: False\nrun_name: {text}\n{text}: {text}\n"
        f"pretrained_model_dir: hf\nmodel:\n  model_config:\n    model_type: qwen3\n    num_layers: {text}\n"
        f"    hidden_act: {text}\n    {text}: 1\n    normalization: {text}\n"
        f"lr_schedule:\n  type: {text}\n  learning_rate: 1.e-4\n  total_steps: {text}\n"
        f"optimizer:\n  type: {text}\n  {text}: {text}\n"
    )


def _yaml_escape(character: str) -> str:
    plain = character.isprintable() and character not in '"\\'
    return character if plain else f"\\U{ord(character):08x}"


class Place:
    """A folder with a script and a YAML under odd names; the work happens in it."""

    def __init__(self, name: str, value: str, comment: str, *, named: bool = True) -> None:
        self.home = tempfile.TemporaryDirectory()
        folder = os.path.join(self.home.name, name if named else "x")
        os.mkdir(folder)
        self.script = f"{'./' * name.startswith('-')}{name}/{name}.sh" if named else "x/x.sh"
        self.yaml = f"./{name}/{name}.yaml" if named else "./x/x.yaml"
        self.write(self.script, script(value, comment))
        self.write(self.yaml, config(value, comment))
        os.mkdir(os.path.join(self.home.name, "hf"))
        # JSON's escapes can say half of a character.
        text = json.dumps(
            {"model_type": value + "\ud83d", "num_hidden_layers": value, value: [value], "rope_theta": value}
        )
        self.write("hf/config.json", text)
        self.write("accmap.toml", 'profile = "train"\n')
        self.before = os.getcwd()

    def write(self, name: str, text: str) -> None:
        with open(os.path.join(self.home.name, name), "wb") as stream:
            stream.write(text.encode("utf-8", "surrogatepass"))

    def __enter__(self) -> Place:
        os.chdir(self.home.name)
        return self

    def __exit__(self, *given: Any) -> None:
        os.chdir(self.before)
        self.home.cleanup()


def check(form: str, out: str, place: Place) -> None:
    """What the format's own reader makes of an answer of lint."""
    shown = {visible(place.script), visible(place.yaml), "hf/config.json"}
    exact = {visible_lines(place.script), visible_lines(place.yaml), "hf/config.json"}
    if form in ("text", "concise"):
        harmless(out)
    elif form in ("json", "jsonl", "gitlab", "sarif"):
        harmless(out)
        _check_json(form, out, place)
    elif form == "github":
        assert not unsafe_characters(out)
        assert not azure_commands(out)
        lines = out.splitlines()
        commands = github_commands(out)
        assert len(commands) == len(lines) - 1  # the last one counts them
        for command in commands:
            assert command.name in ("error", "warning", "notice")
            assert command.properties.keys() <= {"file", "line", "col", "endLine", "endColumn", "title"}
            assert command.properties["file"] in exact
            assert re.fullmatch(r"[A-Z]{3}\d{3} [^%\n]+", command.properties["title"])
            harmless("\n".join(f"_{line}" for line in command.message.split("\n")))
    elif form == "azure":
        assert not unsafe_characters(out)
        for line in out.splitlines():
            commands = azure_commands(line)
            if not line.startswith("##vso[task.logissue "):
                harmless(line)
                continue
            assert [command.name for command in commands] == ["task.logissue"]
            assert line.count("##vso[") == 1
            assert commands[0].properties["sourcepath"] in exact
            assert commands[0].properties.keys() <= {"type", "sourcepath", "linenumber", "columnnumber", "code"}
    elif form == "junit":
        harmless(out)
        suites = ET.fromstring(out)
        assert {suite.get("name") for suite in suites.iter("testsuite")} <= shown
        assert {element.tag for element in suites.iter()} <= {
            "testsuites", "testsuite", "testcase", "failure", "system-out", "properties", "property",
        }  # fmt: skip
        assert {row.get("value") for row in suites.iter("property")} == {"train", "accmap.toml"}
    elif form == "csv":
        harmless(out)
        rows = list(csv.reader(io.StringIO(out, newline="")))
        assert {len(row) for row in rows} == {11}
        assert not [cell for row in rows for cell in row if runs_in_a_spreadsheet(cell)]
        for row in rows[1:]:
            named = visible(f"{place.script} {place.yaml}")
            assert row[0] in (named, f"'{named}")  # a name may begin with an apostrophe of its own
    else:
        _check_markdown(out, place)


def _check_json(form: str, out: str, place: Place) -> None:
    files = {place.script, place.yaml, "hf/config.json"}
    if form == "json":
        answer = json.loads(out)
        assert {entry["file"] for entry in answer["diagnostics"]} <= files
        assert answer["summary"]["configuration"] == "accmap.toml"
    elif form == "jsonl":
        assert {json.loads(line)["file"] for line in out.split("\n")[:-1]} <= files
    elif form == "gitlab":
        assert {entry["location"]["path"] for entry in json.loads(out)} <= files
    else:
        run = json.loads(out)["runs"][0]
        assert run["properties"] == {"profile": "train", "configuration": "accmap.toml"}
        for result in run["results"]:
            uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            assert uri.isascii()
            assert os.fsdecode(unquote_to_bytes(uri)) in files


def _check_markdown(out: str, place: Place) -> None:
    harmless(out, "\u200b")
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough", "linkify"]).parse(out)
    everything = [*tokens, *(child for token in tokens for child in token.children or ())]
    assert {token.type for token in everything} <= {
        "heading_open", "heading_close", "inline", "text", "paragraph_open", "paragraph_close", "code_inline",
        "table_open", "table_close", "thead_open", "thead_close", "tbody_open", "tbody_close", "tr_open", "tr_close",
        "th_open", "th_close", "td_open", "td_close", "link_open", "link_close", "text_special",
    }, sorted({token.type for token in everything})  # fmt: skip
    links = [str(token.attrGet("href")) for token in everything if token.type == "link_open"]
    assert all(
        re.fullmatch(r"https://[\w./-]+/[A-Z]{3}\d{3}\.md|[\w./:-]+[A-Z]{3}\d{3}[\w./-]*", link) for link in links
    ), links
    codes = [token.content for token in everything if token.type == "code_inline"]
    places = {visible(place.script), visible(place.yaml), "hf/config.json"}
    assert all(re.fullmatch(r"[\w.-]+", code) or any(code.startswith(name) for name in places) for code in codes), codes


@settings(quick, max_examples=5)
@given(names, in_files, in_files)
def test_every_form_of_lint(name: str, value: str, comment: str) -> None:
    from accmap.cli.commands.lint import render
    from accmap.cli.configuration import find_configuration
    from accmap.cli.linting.linter import lint
    from accmap.cli.linting.settings import Reader, settings_of
    from accmap.schemas.config import ReadOptions

    with Place(name, value, comment) as place:
        chosen = settings_of(find_configuration(place.script), ReadOptions(), None, (), (), ())
        chosen = chosen._replace(tries_fixes=False)  # the rules' own fixes are shown; a run tries them, too
        report = lint(chosen, (place.script, place.yaml), Reader(), with_subjects=True)
        assert report.diagnostics
        for language in ("en", "zh"):
            for form in FORMATS:
                out = render(report, form, language).encode("utf-8", "backslashreplace").decode()
                check(form, out, place)
            for form in ("text", "json"):
                harmless(render(report, form, language, statistics=True))


@settings(quick, max_examples=12)
@given(names, in_files, in_files, st.sampled_from(FORMATS))
def test_lint_as_it_is_run(name: str, value: str, comment: str, form: str) -> None:
    with Place(name, value, comment) as place:
        run = Run("lint", "--no-cache", place.script, place.yaml, "--format", form)
        assert run.code in (0, 1, 2), run.err
        harmless(run.err)
        check(form, run.out, place)


COMMANDS = [
    "show {script} --all", "show {yaml} --all", "show {yaml} --format json", "recipe {script}",
    "recipe {yaml} --format json", "diff {script} {yaml} --all", "diff {script} {yaml} --format json", "lr {script}",
    "lr {script} --format csv", "lr {script} --format json",
    pytest.param("lint {script} {yaml} --diff --unsafe --no-cache", marks=pytest.mark.slow),
    "lint {script} {yaml} --statistics --no-cache", "pair {script} -d out --force",
    "convert {script} -o out.yaml --force",
    "explain {value}", "explain {value} --format json", "rules {value}", "show {value}", "{value}",
    "lint {script} --select {value}", "show {script} --var {value}", "lint --{value}", "schema {value}",
    "--help {value}", "lint --help {value}", "lint {script} --config {value}", "lint {script} --output-file {value}",
    "convert {script} -o {script}", "lint {script} --baseline {yaml}", "report {script} {yaml}",
]  # fmt: skip


@pytest.mark.table(4)
@pytest.mark.parametrize("line", COMMANDS)
@settings(quick, max_examples=3)
@given(name=names, value=in_files, comment=in_files)
def test_every_command(line: str, name: str, value: str, comment: str) -> None:
    with Place(name, value, comment) as place:
        given_words = {"script": place.script, "yaml": place.yaml, "value": _name(value).lstrip("-")}
        run = Run(*(re.sub(r"\{(\w+)\}", lambda word: given_words[word[1]], word) for word in line.split()))
        assert run.code in (0, 1, 2), run.err
        assert run.code != 2 or run.out or run.err
        harmless(run.err)
        harmless(run.out)
        if "json" in line and run.out:
            json.loads(run.out)
        assert "report" not in line or not Tags(run.out).odd
        if "csv" in line and run.out:
            assert not [cell for row in csv.reader(io.StringIO(run.out)) for cell in row if runs_in_a_spreadsheet(cell)]


@settings(quick, max_examples=10)
@given(names, in_files, in_files)
def test_pages_have_no_more_elements_than_for_a_plain_name(name: str, value: str, comment: str) -> None:
    with Place("plain", "plain", "plain") as place:
        plain = {
            form: Run("lr", place.script, "--format", form, "-o", f"o.{form}") and _text(f"o.{form}")
            for form in ("html", "svg")
        }
    with Place(name, value, comment) as place:
        for form in ("html", "svg"):
            run = Run("lr", place.script, "--format", form, "-o", f"o.{form}")
            assert run.code == 0, run.err
            page = _text(f"o.{form}")
            harmless(page)
            assert Tags(page).names == Tags(plain[form]).names
            assert not Tags(page).odd
            assert any(visible(f"_{place.script}")[1:] in text for text in Tags(page).texts)
            if form == "svg":
                ET.fromstring(page)


def _text(name: str) -> str:
    return Path(name).read_text("utf-8")


@settings(quick, max_examples=10)
@given(names, in_files.filter(lambda value: not value.startswith("-")), in_files)  # a flag is no value, and refused
def test_what_is_converted_says_the_same_whatever_the_file_is_called(name: str, value: str, comment: str) -> None:
    """The text of a conversion is exact; a name or a comment may stand in its comments only."""
    found: list[Any] = []
    for named in (True, False):
        with Place(name, value, comment, named=named) as place:
            run = Run("convert", place.script)
            assert run.code in (0, 1), run.err
            harmless(run.err)
            found.append(yaml.safe_load(run.out))
            assert Run("convert", place.script, "-o", "o.yaml", "--report", "o.json").code in (0, 1)
            report = _text("o.json")
            harmless(report)
            json.loads(report)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("::error::x", True), (" \t::debug::x", True), ("x ::error::x", False), ("::x", False),
        ("##[error]x", True), ("a ##[group]x", True),
    ],
)  # fmt: skip
def test_the_reader_of_github_knows_a_command(line: str, runs: bool) -> None:
    assert bool(github_commands(line)) is runs


def test_the_reader_of_azure_finds_a_command_anywhere() -> None:
    (found,) = azure_commands("x ##vso[task.setvariable variable=a%3Bb]c%0Ad")
    assert found == ("task.setvariable", {"variable": "a;b"}, "c\nd")
