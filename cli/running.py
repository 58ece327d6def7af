"""Runs a parsed command: folds the reading options, finds the command's module, and turns failure into exit codes."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from ..schemas.config import ReadOptions
from ..schemas.diagnostic import Language, UnreadableError
from ..schemas.light_typing import TYPE_CHECKING
from .branches import branches_of
from .lean import BROKEN, UNUSABLE
from .options import READING, Command
from .parsing import Parsed, UsageError, counts_from_one

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def run_command(command: Command, parsed: Parsed) -> int:
    """The exit code of the command."""
    values = dict(parsed.values)
    values["lang"] = language_of(values.get("lang"))
    if values.get("output") == "-":
        values["output"] = None  # standard output, as for other programs
    try:
        if command.reads:
            values["options"] = read_options(values)
            values["stdin_name"] = values["stdin_filename"]
            for option in READING:
                del values[option.dest]
        module = import_module(f".{command.module}", __package__)
        return module.run(parsed.files, **values)
    except UnreadableError as error:
        report(error, values["lang"])  # pyright: ignore[reportArgumentType]
        return UNUSABLE
    except UsageError as error:
        print(f"accmap: {error.message(values['lang'])}", file=sys.stderr)  # pyright: ignore[reportArgumentType]
        return UNUSABLE
    except OSError as error:
        if error.filename is None:
            raise  # nobody reads the answer, or it cannot be written
        from ..schemas.system_reasons import system_reason

        why, why_zh = system_reason(error)
        chinese = values["lang"] == "zh"
        print(f"accmap: {error.filename}{'：' if chinese else ': '}{why_zh if chinese else why}", file=sys.stderr)
        return UNUSABLE
    except Exception as error:  # noqa: BLE001 - the last line of defence: a bug becomes exit code 3
        return _bug(error, str(values["lang"]))


def report(error: UnreadableError, language: Language) -> None:
    """One line on stderr for a file that cannot be read."""
    diagnostic = error.diagnostic
    place = diagnostic.file
    if diagnostic.span is not None:
        place = f"{diagnostic.span.file or place}:{diagnostic.span.line}:{diagnostic.span.column}"
    print(f"{place}: {diagnostic.kind.code} {diagnostic.message(language)}", file=sys.stderr)


def language_of(given: object) -> Language:
    """The language of messages: `--lang`, else ACCMAP_LANG, else English."""
    chosen = given or os.environ.get("ACCMAP_LANG", "en")
    return "zh" if str(chosen).lower().startswith("zh") else "en"


def language_in(words: Sequence[str]) -> Language:
    """The language that a command line asks for, before it is parsed."""
    for before, word in zip(("", *words), words, strict=False):
        given = word.rpartition("=")[2]
        if given in ("en", "zh") and (word.startswith("--lang=") or before == "--lang"):
            return language_of(given)
    return language_of(None)


def read_options(values: Mapping[str, object]) -> ReadOptions:
    """The reading options of a command line as the readers take them."""
    variables: dict[str, str] = dict(os.environ) if values["env"] else {}
    for assignment in _words(values["var"]):
        name, equals, value = assignment.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(
                f"--var takes NAME=VALUE, not {assignment!r}", f"--var 的形式是 NAME=VALUE，而不是 {assignment!r}"
            )
        variables[name] = value
    world_size = values["world_size"]
    launch = values["launch"]
    for option, number in (("--world-size", world_size), ("--launch", launch)):
        if isinstance(number, int) and number < 1:
            raise counts_from_one(option, number)
    return ReadOptions(
        megatron=_text(values["megatron"]),
        mindformers=_text(values["mindformers"]),
        dialect=_text(values["dialect"]),
        variables=variables,
        positional=_words(values["arg"]),
        unset_empty=bool(values["unset_empty"]),
        world_size=world_size if isinstance(world_size, int) else None,
        launch=launch if isinstance(launch, int) else None,
        declared=_words(values["declare"]),
        branches=branches_of(_words(values["branch"])),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _words(value: object) -> tuple[str, ...]:
    return tuple(str(word) for word in value) if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _bug(error: Exception, language: str) -> int:
    import traceback

    traceback.print_exception(error, file=sys.stderr)
    name = type(error).__name__
    print(
        f"accmap: 这是 accmap 的缺陷（{name}），不是您文件的问题；请报告以上内容。"
        if language == "zh"
        else f"accmap: this is a bug in accmap ({name}), not in your file; please report the lines above.",
        file=sys.stderr,
    )
    return BROKEN
