"""The entry point of `accmap`: finds the command, parses its words and runs it, importing only what it needs."""

from __future__ import annotations

import os
import sys

from .exit_codes import FINE, UNUSABLE
from .own_modules import find_own_modules_first

TYPE_CHECKING = False  # importing `typing` costs as much as starting Python
if TYPE_CHECKING:
    from collections.abc import Sequence

_UNREAD = 141
"""What a shell says of a program that SIGPIPE ended."""
_WHERE_TO_LOOK = (
    "`accmap --help` lists the commands, `accmap COMMAND --help` the options",
    "`accmap --help` 列出命令，`accmap COMMAND --help` 列出选项",
)
_HELP = ("-h", "--help")
_VERBOSE = ("--verbose", "-v")
_COMPLETION = ("--install-completion", "--show-completion")


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line and answer with its exit code; without `words` it is the process's own, which ends here."""
    if words is not None:
        return _guarded(list(words))
    import gc

    gc.set_threshold(100_000)  # a run makes many values that live to its end, and next to no cycles
    find_own_modules_first()
    code = _guarded(sys.argv[1:])
    if code == _UNREAD:
        _end_unread()
    if "threading" not in sys.modules:  # threads would have to be waited for
        import atexit

        # Everything is written. To free each module and value one by one would cost as much as Python's start; so
        # this process ends as those of multiprocessing do.
        atexit._run_exitfuncs()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        os._exit(code)
    return code


def _guarded(given: list[str]) -> int:
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
        from ..schemas.system_reasons import system_reason
        from .running import language_in

        reason = system_reason(error)
        why, why_zh = str(reason), reason.zh
        chinese = language_in(given) == "zh"
        from ..schemas.border.outgoing import tell

        tell(f"accmap: 无法写出结果：{why_zh}" if chinese else f"accmap: the answer cannot be written: {why}")
        return UNUSABLE
    except KeyboardInterrupt:
        return 130


def _without_reader() -> int:
    """Nobody reads our output any more (`| head`): end as a program without an answer of its own to the signal does."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python must not complain at exit
    return _UNREAD


def _end_unread() -> None:
    """End by the signal itself, where the system has it."""
    import signal

    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)


def _main(words: list[str]) -> int:
    if words and words[0] in ("--version", "-V"):
        return _version(words)
    if words and words[0] == "lint":
        from accmap import __version__

        from .cache import replay

        known = replay(words, __version__)
        if known is not None:
            return known
    asks = any(word in _HELP for word in words) or words[:1] in ([word] for word in _COMPLETION)
    if not words or asks or "_ACCMAP_COMPLETE" in os.environ:
        from .commands import is_known

        if asks and not is_known(words):
            return _usage(_unknown(words), words)
        from .app import run_application

        return run_application(words)
    return _run(words)


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


def _version(words: list[str]) -> int:
    from accmap import __version__

    sys.stdout.write(f"accmap {__version__}\n")
    if any(word in _VERBOSE for word in words):
        from .about import tell_about

        tell_about()
    return FINE


def _run(words: list[str]) -> int:
    from .options import COMMANDS

    command = COMMANDS.get(words[0])
    if command is None:
        from .commands import named

        command = named(words)
    if command is None:
        return _usage(_unknown(words), words)
    from .parsing import UsageError, parse

    try:
        parsed = parse(command, words[len(command.name.split()) :])
    except UsageError as error:
        return _usage((error.en, error.zh), words)
    from .running import run_command

    return run_command(command, parsed)


def _unknown(words: list[str]) -> tuple[str, str]:
    """What is wrong with the name of a command, and what was probably meant, in English and Chinese."""
    from ..schemas.suggestion import closest
    from .commands import ALL_COMMANDS, members

    group = members(words[0])
    if group:
        given, given_zh = (f", not {words[1]!r}", f"，而不是 {words[1]!r}") if len(words) > 1 else ("", "")
        return (
            f"{words[0]} is followed by {' or '.join(group)}{given}",
            f"{words[0]} 之后应为 {' 或 '.join(group)}{given_zh}",
        )
    swapped = (name for name in ALL_COMMANDS if sorted(name) == sorted(words[0]))
    close = next(swapped, None) or closest(words[0], ALL_COMMANDS)
    hint, hint_zh = (
        (f"did you mean {close}?", f"是否应为 {close}？")
        if close
        else (f"the commands are {', '.join(ALL_COMMANDS)}", f"命令有 {', '.join(ALL_COMMANDS)}")
    )
    return f"there is no command {words[0]!r}; {hint}", f"没有命令 {words[0]!r}；{hint_zh}"


def _usage(message: tuple[str, str], words: Sequence[str]) -> int:
    from .running import language_in

    zh = language_in(words) == "zh"
    from ..schemas.border.outgoing import tell

    tell(f"accmap: {message[zh]}")
    tell(f"accmap: {_WHERE_TO_LOOK[zh]}")
    return UNUSABLE
