"""The Typer application, built from the option table: help pages and shell completion.

A command line that runs never comes here; `lean.py` parses it from the same table. Typer is asked only for
`--help`, for completion, and where no command was given.
"""

from __future__ import annotations

import inspect
import os
from contextlib import redirect_stdout
from enum import Enum
from io import StringIO
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.completion import get_completion_script  # pyright: ignore[reportPrivateImportUsage] - it has no other name
from typer.core import TyperCommand, TyperGroup

from ..schemas.border.text_output import emit, trust_text
from .language import language_in
from .messages_compiled import say
from .options import Command, Option, all_commands, group_members, options_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .messages_compiled import HelpWords

_OWN_OPTIONS = ("help", "install_completion", "show_completion")
"""Options that Typer adds, and describes in English alone."""


def _word(language: str) -> HelpWords:
    return say.page("help", language)


class _Page(TyperCommand):
    """A command whose help page has the table's usage line, and headings in the page's language."""

    language = "en"

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """The line that the table has for the command."""
        _write_usage(self.language, ctx.command_path, _operands(ctx.command_path, self.language), formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Every option and what it does."""
        _write_options(self, self.language, ctx, formatter)


class _GroupPage(TyperGroup):
    """A group of commands, the same way."""

    language = "en"

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """The line that says that a command follows."""
        _write_usage(self.language, ctx.command_path, _operands(ctx.command_path, self.language), formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Every option, then every command."""
        _write_options(self, self.language, ctx, formatter)
        members = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        width = formatter.width - 6 - max(len(name) for name, _ in members)
        rows = [(name, member.get_short_help_str(width)) for name, member in members]
        _write_list(_word(self.language)("commands"), rows, formatter)


class _ChinesePage(_Page):
    language = "zh"


class _ChineseGroupPage(_GroupPage):
    language = "zh"


_HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}
_SHELLS = ("bash", "zsh", "fish")
_PAGES = {"en": (_Page, _GroupPage), "zh": (_ChinesePage, _ChineseGroupPage)}


def _operands(path: str, language: str) -> str:
    command = all_commands().get(path.partition(" ")[2])
    return _word(language)("command") if command is None else command.operands


def _write_usage(language: str, path: str, operands: str, formatter: Any) -> None:
    word = _word(language)
    formatter.write(f"{word('usage')}{path} {word('options_of_usage')} {operands}\n")


def _write_options(command: Any, language: str, ctx: Any, formatter: Any) -> None:
    rows: list[tuple[str, str]] = [
        (record[0], _word(language)(option.name) if option.name in _OWN_OPTIONS else record[1])
        for option, record in ((option, option.get_help_record(ctx)) for option in command.get_params(ctx))
        if record is not None
    ]
    _write_list(_word(language)("options"), rows, formatter)


def _write_list(heading: str, rows: list[tuple[str, str]], formatter: Any) -> None:
    formatter.write_paragraph()
    formatter.write(f"{heading}\n")
    with formatter.indentation():
        formatter.write_dl(rows)


def run_application(words: Sequence[str]) -> int:
    """Answer a request for help or completion; the exit code."""
    language = language_in(words)
    # A group of commands has no option of its own; the page's language is known by now.
    pairs = zip(("", *words), words, strict=False)
    given = [word for before, word in pairs if "--lang" not in (before, word) and not word.startswith("--lang=")]
    if len(given) == 2 and given[0] == "--show-completion" and given[1] in _SHELLS:
        # Typer would look at the shell that runs it, whatever shell is named.
        emit(
            trust_text(
                get_completion_script(prog_name="accmap", complete_var="_ACCMAP_COMPLETE", shell=given[1]) + "\n"
            )
        )
        return 0
    page = StringIO()
    code: object = 0
    try:
        with redirect_stdout(page):
            _answer(given, language)
    except SystemExit as done:
        code = done.code
    emit(trust_text(page.getvalue()))
    return code if isinstance(code, int) else 0


def _answer(given: list[str], language: str) -> None:
    """Show the page that is asked for; of one command nothing but that command is built."""
    name = next((one for one in (" ".join(given[:2]), *given[:1]) if one in all_commands() or group_members(one)), None)
    if name is None or "_ACCMAP_COMPLETE" in os.environ:
        build_application(language)(args=given or ["--help"], prog_name="accmap")
        return
    page, group = _PAGES[language]
    if name in all_commands():
        application = _application()
        _add(application, all_commands()[name], None, page, language)
    else:
        application = _application(cls=group, help=_group_help(name, language))
        for second in group_members(name):
            _add(application, all_commands()[f"{name} {second}"], second, page, language)
    application(args=given[len(name.split()) :], prog_name=f"accmap {name}")


def _application(**given: Any) -> typer.Typer:
    """An application without completion, which only the whole program offers."""
    return typer.Typer(
        **given, add_completion=False, no_args_is_help=True, rich_markup_mode=None, context_settings=_HELP_OPTIONS
    )


def _add(application: typer.Typer, command: Command, name: str | None, page: type[TyperCommand], language: str) -> None:
    described = command.help_zh if language == "zh" else command.help
    application.command(name, cls=page, help=described, context_settings=_HELP_OPTIONS)(_callback(command, language))


def build_application(language: str = "en") -> typer.Typer:
    """The application with one command for each row of the table."""
    page, group = _PAGES[language]
    word = _word(language)
    application = typer.Typer(
        cls=group,
        help=word("about"),
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings=_HELP_OPTIONS,
    )

    @application.callback()
    def root(  # pyright: ignore[reportUnusedFunction]
        version: bool = typer.Option(False, "--version", "-V", help=word("version")),
        verbose: bool = typer.Option(False, "--verbose", help=word("verbose")),
    ) -> None:
        del version, verbose

    root.__doc__ = word("about")
    groups: dict[str, typer.Typer] = {}
    for command in all_commands().values():
        first, _, second = command.name.partition(" ")
        if not second or first in all_commands():
            _add(application, command, command.name, page, language)
            continue
        if first not in groups:
            groups[first] = typer.Typer(
                cls=group, help=_group_help(first, language), no_args_is_help=True, rich_markup_mode=None
            )
            application.add_typer(groups[first], name=first)
        _add(groups[first], command, second, page, language)
    return application


def _group_help(first: str, language: str) -> str:
    """Help of a group of commands: the lines of its members."""
    rows = [all_commands()[f"{first} {second}"] for second in group_members(first)]
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
        annotation = {"str": str, "int": int, "float": float}[option.type] | None
    if option.metavar and not option.choices:
        extra["metavar"] = option.metavar
    info = typer.Option(*option.names, help=described, **extra)
    return inspect.Parameter(
        option.dest, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, info]
    )
