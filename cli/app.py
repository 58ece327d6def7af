"""The Typer application, built from the option table: help pages and shell completion.

A command line that runs never comes here; `lean.py` parses it from the same table. Typer is asked only for
`--help`, for completion, and where no command was given.
"""

from __future__ import annotations

import inspect
import re
from contextlib import redirect_stdout
from enum import Enum
from io import StringIO
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..schemas.border.outgoing import composed, emit
from .commands import ALL_COMMANDS, members
from .options import Command, Option, options_of
from .running import language_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ABOUT = {
    "en": "Will this MindSpore Transformers run train the same model, the same way, as that Megatron-LM run?",
    "zh": "这个 MindSpore Transformers 训练任务，与那个 Megatron-LM 训练任务，训练的是同一个模型、以同样的方式吗？",
}


_USAGE = re.compile(r"Usage: accmap\b([a-z ]*)(?=\[).*\n(?: .*\n)*")
_USAGE_WORDS = {"en": ("Usage: ", "[OPTIONS]"), "zh": ("用法：", "[选项]")}
_MEMBERS = {"en": "COMMAND [ARGS]...", "zh": "命令 [参数]..."}
_CHINESE = (
    (r"(?m)^Options:$", "选项："),
    (r"(?m)^Commands:$", "命令："),
    (r"Print\s+the\s+version\.", "显示版本。"),
    (r"Show\s+this\s+message\s+and\s+exit\.", "显示本页。"),
    (r"Install\s+completion\s+for\s+the\s+current\s+shell\.", "为当前 shell 安装命令补全。"),
    (
        r"Show\s+completion\s+for\s+the\s+current\s+shell,\s+to\s+copy\s+it\s+or\s+customize\s+the\s+installation\.",
        "显示当前 shell 的命令补全脚本，以便复制或自行安装。",
    ),
)
"""Typer's own words on a help page."""


def run_application(words: Sequence[str]) -> int:
    """Answer a request for help or completion; the exit code."""
    language = language_in(words)
    application = build_application(language)
    # A group of commands has no option of its own; the page's language is known by now.
    pairs = zip(("", *words), words, strict=False)
    given = [word for before, word in pairs if "--lang" not in (before, word) and not word.startswith("--lang=")]
    if given and given[0] in ALL_COMMANDS and " ".join(given[:2]) in ALL_COMMANDS:
        # `playbook` takes operands itself, so that `playbook status` cannot be a member of a group.
        given[:2] = [" ".join(given[:2])]
    page = StringIO()
    code: object = 0
    try:
        with redirect_stdout(page):
            application(args=given or ["--help"], prog_name="accmap")
    except SystemExit as done:
        code = done.code
    emit(composed(_in_our_words(page.getvalue(), language)))
    return code if isinstance(code, int) else 0


def _in_our_words(page: str, language: str) -> str:
    """A help page with the table's own usage line, and in Chinese where that was asked for; other texts as they are."""
    given = _USAGE.match(page)
    if given is None:
        return page
    name = given[1].strip()
    command = ALL_COMMANDS.get(name)
    operands = _MEMBERS[language] if command is None else command.operands
    begin, options = _USAGE_WORDS[language]
    usage = f"{begin}{' '.join(filter(None, ('accmap', name)))} {options} {operands}\n"
    rest = page[given.end() :]
    if language == "zh":
        for pattern, text in _CHINESE:
            rest = re.sub(pattern, text, rest)
    return usage + rest


def build_application(language: str = "en") -> typer.Typer:
    """The application with one command for each row of the table."""
    application = typer.Typer(
        help=_ABOUT[language],
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @application.callback()
    def root(  # pyright: ignore[reportUnusedFunction]
        version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
    ) -> None:
        del version

    root.__doc__ = _ABOUT[language]
    groups: dict[str, typer.Typer] = {}
    for command in ALL_COMMANDS.values():
        described = command.help_zh if language == "zh" else command.help
        first, _, second = command.name.partition(" ")
        if not second or first in ALL_COMMANDS:
            application.command(command.name, help=described)(_callback(command, language))
            continue
        if first not in groups:
            groups[first] = typer.Typer(help=_group_help(first, language), no_args_is_help=True, rich_markup_mode=None)
            application.add_typer(groups[first], name=first)
        groups[first].command(second, help=described)(_callback(command, language))
    return application


def _group_help(first: str, language: str) -> str:
    """What a group of commands is for: the lines of its members."""
    rows = [ALL_COMMANDS[f"{first} {second}"] for second in members(first)]
    return "".join(row.help_zh for row in rows) if language == "zh" else " ".join(row.help for row in rows)


def _callback(command: Command, language: str) -> Callable[..., None]:
    """A function whose signature is the command's row, which is how Typer learns its parameters."""

    def callback(**_given: object) -> None:
        """Stand for the command in help pages; a command line that runs never comes here."""

    files = inspect.Parameter(
        "files",
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[
            list[str] | None, typer.Argument(metavar=command.operands, show_default=False, hidden=True)
        ],
    )
    options = [_parameter(option, language) for option in options_of(command)]
    callback.__signature__ = inspect.Signature([files, *options])  # type: ignore[attr-defined]
    callback.__annotations__ = {parameter.name: parameter.annotation for parameter in [files, *options]}
    return callback


def _parameter(option: Option, language: str) -> inspect.Parameter:
    described = option.help_zh if language == "zh" else option.help
    annotation: Any
    default: object = option.default
    extra: dict[str, Any] = {}
    if option.kind == "flag":
        annotation, default = bool, False
    elif option.kind in ("list", "rest"):
        annotation, default = (list[str] | None), None
    elif option.choices:
        # Typer takes the words of a choice from an enumeration.
        annotation, default = Enum(option.dest, {choice: choice for choice in option.choices}), None
        extra["show_default"] = False
        described += f" [{option.default}]" if option.default else ""
    else:
        annotation = option.type | None
    if option.metavar and not option.choices:
        extra["metavar"] = option.metavar
    info = typer.Option(*option.names, help=described, **extra)
    return inspect.Parameter(
        option.dest, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, info]
    )
