"""The entry point of `accmap`: finds the command, parses its words and runs it, importing only what it needs.

Start-up is measured in starts of Python (CPU time of `python -I -c pass`). A lint of one pair takes 6.6, `yamllint` on
the YAML alone 8.5. Each of these is measured alone, by its absence:

- Imports in the function that needs them: with `re`, `json`, PyYAML, jsonschema, Pydantic and Typer at the top, a lint
  takes 23.7.
- `typing` is not imported (`schemas/fast_records.py`): 2.5.
- The process ends without freeing its modules one by one: 2.0.
- YAML in its plain form is read without PyYAML (`schemas/yaml_reader/fast_path.py`): 1.2.
- The garbage collector starts later: 0.5.

Modules are imported as Python does it: nothing here replaces a part of Python.
"""

from __future__ import annotations

import os
import sys

from .exit_codes import FINE, UNUSABLE

TYPE_CHECKING = False  # importing `typing` costs as much as starting Python
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..schemas.message import Words

_UNREAD = 141
"""What a shell says of a program that SIGPIPE ended."""
_HELP = ("-h", "--help")
_VERBOSE = ("--verbose", "-v")
_COMPLETION = ("--install-completion", "--show-completion")


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line and answer with its exit code; without `words` it is the process's own, which ends here."""
    if sys.platform == "win32":
        return _refuse_windows(sys.argv[1:] if words is None else words)
    if words is not None:
        return _run_guarded(list(words))
    import gc

    # A run makes many values that live to its end, and next to no cycles: this saves half a start of Python.
    gc.set_threshold(100_000)
    code = _run_guarded(sys.argv[1:])
    if code == _UNREAD:
        _end_unread()
    if "threading" not in sys.modules:  # threads would have to be waited for
        import atexit

        # Everything is written. To free each module and value one by one would cost two starts of Python; so this
        # process ends as those of multiprocessing do.
        atexit._run_exitfuncs()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        os._exit(code)
    return code


def _run_guarded(given: list[str]) -> int:
    """Run one command line with safe streams; a closed pipe, a write error or an interrupt becomes an exit code."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us (`>&-`): nobody wants to read it
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115 - it stays open to the end
    for stream in (sys.stdout, sys.stderr):
        # What the terminal's encoding lacks is written as \uXXXX, which JSON reads back.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        code = _main(_with_its_command(given))
        sys.stdout.flush()
        sys.stderr.flush()
        return code
    except BrokenPipeError:
        return _without_reader()
    except OSError as error:
        from ..schemas.shared_words import system_reason
        from .language import language_in
        from .messages_compiled import say

        said = say.answer_cannot_be_written(reason=system_reason(error))
        from ..schemas.border.text_output import tell

        tell(f"accmap: {said.text(language_in(given))}")
        return UNUSABLE
    except ModuleNotFoundError as error:
        from ..schemas.border.text_output import tell
        from .language import build_instruction, is_not_built, language_in

        if not is_not_built(error):
            raise
        tell(build_instruction(error.name, language_in(given)))
        return UNUSABLE
    except KeyboardInterrupt:
        return 130
    except MemoryError:
        pass  # as in a command: its values are let go first
    return _without_memory(given)


def _without_memory(words: Sequence[str]) -> int:
    """Say that memory ran out, if there is enough for that; the exit code."""
    try:
        from ..schemas.border.text_output import tell
        from .language import language_in
        from .messages_compiled import say

        tell(say.out_of_memory().text(language_in(words)))
    except MemoryError:
        pass
    return UNUSABLE


def _refuse_windows(words: Sequence[str]) -> int:
    from ..schemas.border.text_output import tell
    from .language import language_in
    from .messages_compiled import say

    tell(say.windows_unsupported().text(language_in(words)))
    return UNUSABLE


def _without_reader() -> int:
    """Discard the rest of the output after its reader has closed the pipe; the exit code of that signal."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python must not complain at exit
    return _UNREAD


def _end_unread() -> None:
    """Kill the process with SIGPIPE, on systems that have it."""
    import signal

    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)


def _main(words: list[str]) -> int:
    """Answer from the cache, print the version or the help, or run the command; the exit code."""
    if words and words[0] in ("--version", "-V"):
        return _print_version(words)
    if words and words[0] == "lint":
        from accmap import __version__

        from .cache import replay

        known = replay(words, __version__)
        if known is not None:
            return known
    asks = any(word in _HELP for word in words) or words[:1] in ([word] for word in _COMPLETION)
    if not words or asks or "_ACCMAP_COMPLETE" in os.environ:
        if asks and not _names_a_command(words):
            return _report_usage(_unknown_command(words), words)
        from .help_pages import run_application

        return run_application(words)
    return _run(words)


def _names_a_command(words: Sequence[str]) -> bool:
    """True if the words before the first option name a command, a group of them, or nothing at all."""
    from itertools import takewhile

    from .options import command_named, group_members

    plain = list(takewhile(lambda word: not word.startswith("-"), words[:2]))
    return not plain or command_named(words) is not None or (len(plain) == 1 and bool(group_members(plain[0])))


def _with_its_command(words: list[str]) -> list[str]:
    """`accmap --lang zh lint FILE` as `accmap lint FILE --lang zh`."""
    if not words or words[0].partition("=")[0] != "--lang":
        return words
    first = 2 if words[0] == "--lang" else 1
    asked, rest = words[:first], words[first:]
    if not rest or rest[0].startswith("-"):
        return words
    at = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:at], *asked, *rest[at:]]


def _print_version(words: list[str]) -> int:
    """Print the version; with `--verbose` also details of the installation."""
    from accmap import __version__

    sys.stdout.write(f"accmap {__version__}\n")
    if any(word in _VERBOSE for word in words):
        from .version_details import tell_about

        tell_about()
    return FINE


def _run(words: list[str]) -> int:
    """Find the command, parse its options and run it; a usage error is printed and gives exit code 2."""
    from .options import COMMANDS, command_named

    command = COMMANDS.get(" ".join(words[:2])) or COMMANDS.get(words[0]) or command_named(words)
    if command is None:
        return _report_usage(_unknown_command(words), words)
    from .argument_parser import UsageError, parse

    try:
        parsed = parse(command, words[len(command.name.split()) :])
    except UsageError as error:
        return _report_usage(error.said, words)
    from .command_runner import run_command

    return run_command(command, parsed)


def _unknown_command(words: list[str]) -> Words:
    """Sentence on an unknown command, with the one that was probably meant."""
    from ..schemas.shared_words import join_words
    from ..schemas.suggestion import closest
    from .messages_compiled import say
    from .options import all_commands, group_members

    group = join_words(group_members(words[0]), "or")
    if group:
        if len(words) == 1:
            return say.is_followed_by(word=words[0], members=group)
        return say.is_followed_by_not(word=words[0], members=group, given=words[1])
    swapped = (name for name in all_commands() if sorted(name) == sorted(words[0]))
    close = next(swapped, None) or closest(words[0], all_commands())
    if close:
        return say.no_command_but(word=words[0], close=close)
    return say.no_command_among(word=words[0], commands=", ".join(all_commands()))


def _report_usage(message: Words, words: Sequence[str]) -> int:
    """Print a usage error and the hint to the help on stderr; exit code 2."""
    from .language import language_in
    from .messages_compiled import say

    language = language_in(words)
    from ..schemas.border.text_output import tell

    for said in (message, say.where_to_look()):
        tell(f"accmap: {said.text(language)}")
    return UNUSABLE
