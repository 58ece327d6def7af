"""The command line's own parser: the table decides, and every mistake is named."""

from __future__ import annotations

import pytest

from accmap.cli.argument_parser import UsageError, parse
from accmap.cli.options import COMMANDS, all_commands, options_of

SHOW = COMMANDS["show"]


def test_files_and_options_in_any_order() -> None:
    parsed = parse(SHOW, ["--var", "A=1", "run.sh", "--format=json", "--var=B=2", "--world-size", "8"])
    assert parsed.files == ("run.sh",)
    assert parsed.values["var"] == ["A=1", "B=2"]
    assert parsed.values["format"] == "json"
    assert parsed.values["world_size"] == 8


@pytest.mark.parametrize(
    ("words", "files", "positional"),
    [
        (["run.sh", "--arg", "8", "node1"], ("run.sh",), ["8", "node1"]),
        (["--arg", "8", "run.sh"], ("run.sh",), ["8"]),
        (["run.sh", "--arg", "8", "--arg=-x", "--arg", "y"], ("run.sh",), ["8", "-x", "y"]),
        (["--arg", "8", "--", "run.sh"], ("run.sh",), ["8"]),
        (["-", "--arg", "1"], ("-",), ["1"]),
    ],
)
def test_positional_parameters_leave_the_file_that_is_needed(
    words: list[str], files: tuple[str, ...], positional: list[str]
) -> None:
    parsed = parse(SHOW, words)
    assert parsed.files == files
    assert parsed.values["arg"] == positional


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "show requires FILE"),
        (["a", "b"], "show accepts FILE; remove 'b'"),
        (["a", "--fromat", "json"], "did you mean --format?"),
        (["a", "--format", "yaml"], "--format must be one of text, json, not 'yaml'"),
        (["a", "--format"], "--format requires a value FORMAT"),
        (["a", "--world-size", "many"], "must be an integer, not 'many'"),
        (["a", "--all=yes"], "--all does not accept a value"),
    ],
)
def test_wrong_use_says_what_is_wrong(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        parse(SHOW, words)


def test_explain_takes_the_flags_of_other_programs() -> None:
    parsed = parse(COMMANDS["explain"], ["--num-layers", "--lang", "zh", "NET001"])
    assert parsed.files == ("--num-layers", "NET001")
    assert parsed.values["lang"] == "zh"


@pytest.mark.parametrize("name", all_commands())
def test_no_two_options_of_a_command_share_a_name_or_a_destination(name: str) -> None:
    options = options_of(all_commands()[name])
    names = [text for option in options for text in option.names]
    assert len(names) == len(set(names))
    assert len({option.dest for option in options}) == len(options)


@pytest.mark.parametrize("name", all_commands())
def test_every_row_speaks_both_languages(name: str) -> None:
    command = all_commands()[name]
    for row in (command, *options_of(command)):
        assert row.help.endswith((".", "…"))
        assert any("\u4e00" <= letter <= "\u9fff" for letter in row.help_zh), row
