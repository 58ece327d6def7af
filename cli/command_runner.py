"""Runs a parsed command: folds the reading options, finds the command's module, and turns failure into exit codes."""

from __future__ import annotations

import os
import sys

from ..schemas.border.inputs import Inputs, exchange_inputs, written_files
from ..schemas.border.text_output import forget_colours, tell, tell_crash
from ..schemas.config import ReadOptions
from ..schemas.diagnostic import Language, ReadBackError, UnreadableError
from ..schemas.fast_records import TYPE_CHECKING, named_module
from ..schemas.reader import check_versions
from .argument_parser import Parsed, UsageError, branches_of, counts_from_one
from .exit_codes import BROKEN, UNUSABLE
from .language import language_of
from .messages_compiled import say
from .options import Command, reading_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class _Arguments:
    """Files and options of a command by name; `arguments_compiled.py` has their types, for the type checker."""

    def __init__(self, parsed: Parsed, values: Mapping[str, object]) -> None:
        self.files = parsed.files
        self.words = parsed.words
        self.__dict__.update(values)


def run_command(command: Command, parsed: Parsed) -> int:
    """The exit code of the command."""
    outer = exchange_inputs(Inputs(noted=command.name == "lint"))
    forget_colours()
    try:
        return _run_parsed(command, parsed)
    finally:
        if written_files() and not parsed.values.get("quiet"):
            _tell_written(language_of(parsed.values.get("lang")))
        exchange_inputs(outer)


_MOST_TOLD = 8
"""Files that have a line each; of more, each folder has one."""


def _tell_written(language: Language) -> None:
    """Tell of every file that the command has written, with its size."""
    from .terminal import in_bytes

    written = written_files()
    if len(written) <= _MOST_TOLD:
        lines = [say.file_written(name=name, size=in_bytes(size)) for name, size in written.items()]
    else:
        folders: dict[str, list[int]] = {}
        for name, size in written.items():
            folders.setdefault(os.path.dirname(name), []).append(size)
        lines = [
            say.files_written(count=len(sizes), folder=folder or ".", size=in_bytes(sum(sizes)))
            for folder, sizes in folders.items()
        ]
    for line in lines:
        tell(line.text(language))


def _gather_reading_options(command: Command, parsed: Parsed, values: dict[str, object]) -> None:
    """One value, `reading`, in place of the options that say how files are read."""
    reading = {option.dest: values.pop(option.dest) for option in reading_options(command)}
    values["reading"] = check_versions(read_options(reading, parsed.files))
    values["stdin_filename"] = reading["stdin_filename"]


def _run_parsed(command: Command, parsed: Parsed) -> int:
    """Import the module of a command and run it; a known error is printed to stderr and becomes the exit code."""
    values = dict(parsed.values)
    values["lang"] = language_of(values.get("lang"))
    if values.get("output") == "-":
        values["output"] = None  # standard output, as for other programs
    try:
        if command.reads:
            _gather_reading_options(command, parsed, values)
        _keep_blas_in_one_thread(command)
        module, _, function = command.module.partition(":")
        run = getattr(named_module(module, __package__), function or "run")
        if not _is_told_of(command, parsed.files, values):
            return run(_Arguments(parsed, values))
        from .progress import Clock

        with Clock(values["lang"]):
            return run(_Arguments(parsed, values))
    except UnreadableError as error:
        print_unreadable(error, values["lang"])  # pyright: ignore[reportArgumentType]
        return UNUSABLE
    except ReadBackError as error:
        for line in error.message(values["lang"]).split("\n"):  # pyright: ignore[reportArgumentType]
            tell(line)
        return BROKEN
    except UsageError as error:
        tell(f"accmap: {error.message(values['lang'])}")  # pyright: ignore[reportArgumentType]
        return UNUSABLE
    except OSError as error:
        if error.filename is None:
            raise  # nobody reads the answer, or it cannot be written
        from ..schemas.shared_words import system_reason

        said = say.of_file(file=error.filename, said=system_reason(error))
        tell(f"accmap: {said.text(str(values['lang']))}")
        return UNUSABLE
    except MemoryError:
        pass  # what the command has made is let go first: a message needs memory, too
    except Exception as error:
        from .language import is_not_built

        if is_not_built(error):
            raise
        return _report_crash(error, str(values["lang"]))
    tell(say.out_of_memory().text(str(values["lang"])))
    return UNUSABLE


def _keep_blas_in_one_thread(command: Command) -> None:
    """The library below numpy starts no threads: commands of evidence have their own.

    If memory is too short for those of OpenBLAS, it waits for ever, or ends the process as an interrupt does.
    """
    if command.module.startswith("evidence.") and not command.runs_others:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _is_told_of(command: Command, files: Sequence[str], values: Mapping[str, object]) -> bool:
    """True if somebody wants to know how far a command is that takes long.

    One that goes on until it is interrupted shows its answers instead, and what is typed in is not written over.
    """
    if (
        values.get("quiet")
        or command.runs_others
        or not sys.stderr.isatty()
        or values.get("follow")
        or values.get("watch")
    ):
        return False
    return not ("-" in files and sys.stdin.isatty())


def print_unreadable(error: UnreadableError, language: Language) -> None:
    """One line on stderr for a file that cannot be read."""
    diagnostic = error.diagnostic
    place = diagnostic.file if diagnostic.span is None else diagnostic.span.at(diagnostic.file)
    tell(f"{place}: {diagnostic.kind.code} {diagnostic.message(language)}")


def read_options(values: Mapping[str, object], files: Sequence[str] = ()) -> ReadOptions:
    """The reading options of a command line as the readers take them."""
    variables: dict[str, str] = dict(os.environ) if values["env"] else {}
    for assignment in _words_in_list(values["var"]):
        name, equals, value = assignment.partition("=")
        if not equals or not name.isidentifier():
            known = name if name.isidentifier() else "NAME"
            raise UsageError(say.var_takes_name_value_not(assignment=assignment, name=known))
        variables[name] = value
    return ReadOptions(
        megatron=_text_or_none(values["megatron"]),
        mindformers=_text_or_none(values.get("mindformers")),  # `upgrade` has an option of its own by that name
        transformers=_text_or_none(values["transformers"]),
        dialect=_text_or_none(values["dialect"]),
        variables=variables,
        positional=_words_in_list(values["arg"]),
        unset_empty=bool(values["unset_empty"]),
        declared=_words_in_list(values["declare"]),
        encoding=_text_or_none(values["encoding"]),
        confine=_confining_folder(files) if values["confine"] else None,
        branches=branches_of(_words_in_list(values["branch"])),
        world_size=_count(values, "world_size"),
        launch=_count(values, "launch"),
        steps=_count(values, "steps"),
        dataset_size=_count(values, "dataset_size"),
    )


def _confining_folder(files: Sequence[str]) -> str:
    from .configuration import Configuration, confining_folder

    return confining_folder(Configuration(), files[0] if files else "")


def _count(values: Mapping[str, object], name: str) -> int | None:
    """A number of things; there is at least one of them."""
    number = values.get(name)
    if isinstance(number, int) and number < 1:
        raise counts_from_one(f"--{name.replace('_', '-')}", number)
    return number if isinstance(number, int) else None


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _words_in_list(value: object) -> tuple[str, ...]:
    return tuple(str(word) for word in value) if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _report_crash(error: Exception, language: str) -> int:
    """Report a bug; a library that memory is too short for is none."""
    from ..schemas.installation import is_out_of_memory

    if isinstance(error, ImportError) and is_out_of_memory(error):
        tell(say.out_of_memory().text(language))
        return UNUSABLE
    tell_crash(error)
    tell(say.bug_in_accmap(name=type(error).__name__).text(language))
    return BROKEN
