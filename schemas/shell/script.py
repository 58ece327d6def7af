"""Reads a launch script: which training program it starts, and with exactly which arguments.

The answer is what `bash PATH ARGS` would do in `cwd` with an empty environment, found without running anything.
What cannot be decided is listed as unresolved.
"""

from __future__ import annotations

from ..config import Argument, Launch, Unresolved
from ..diagnostic import Diagnostic, UnreadableError, finding
from ..light_typing import TYPE_CHECKING, NamedTuple
from ..source import Span
from .expansion import doubt_reason
from .problems import PROBLEMS
from .scanning import is_digits
from .text import Code, Piece, Place, known, shown, written_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from ..config import ReadOptions
    from ..source import SourceText
    from .expansion import Field
    from .interpreter import Shell
    from .launches import Found


_UNREAD = ("source-not-read", "source-not-known")
_OPENINGS = ("export ", "source ", ". ", "if [", "cd ", "set -", "for ", "function ", "bash ", "sh ")


class ScriptReading(NamedTuple):
    """What a launch script starts."""

    launches: tuple[Launch, ...]
    chosen: Launch | None
    others: tuple[Launch, ...]
    unresolved: tuple[Unresolved, ...]
    problems: tuple[Diagnostic, ...]


def read_script(
    source: SourceText,
    options: ReadOptions,
    open_file: Callable[[str], SourceText],
    *,
    path: str,
    cwd: str,
    list_directory: Callable[[str], list[str] | None] | None = None,
) -> ScriptReading:
    """Everything that the script starts; UnreadableError where it starts no training program."""
    from .builtins import COMMANDS
    from .flow import ExhaustedError, Exit, Stop
    from .interpreter import Shell

    shell = Shell(COMMANDS, options, open_file, path=path, cwd=cwd, home=source, list_directory=list_directory)
    try:
        shell.run_code(_code(shell, source))
    except Exit:
        pass
    except Stop:
        pass
    except ExhaustedError:
        shell.note("too-much-work", shell.place)
    except RecursionError:
        shell.note("too-deep", shell.place)
    return _answer(shell, source, options)


def _code(shell: Shell, source: SourceText) -> Code:
    """The file as bash reads it: a byte-order mark belongs to its first word."""
    if not source.marked:
        return Code(source)
    place = Place(source, 0, min(len(source.text), 1))
    shell.note("byte-order-mark", place)
    whole = Piece(source.text, Place(source, 0, len(source.text)), True)
    return Code(source, (Piece("\ufeff", place), whole), place)


def looks_like_script(source: SourceText) -> bool:
    """Whether a text is a shell script rather than a YAML file or an argument list."""
    text = source.text
    if text.startswith("#!"):
        first = text[: text.find("\n")] if "\n" in text else text
        return "sh" in first or "slurm" in first
    for mark in ("torchrun", "python ", "python3 ", "deepspeed ", "msrun", "srun ", "mpirun ", "\nexport ", "#SBATCH"):
        if mark in text:
            return True
    for line in text.splitlines()[:400]:
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        name, equals, _ = stripped.partition("=")
        if equals and name.replace("_", "a").replace("+", "").isalnum() and not name[0].isdigit():
            return True
        return stripped.startswith(_OPENINGS)
    return False


def _answer(shell: Shell, source: SourceText, options: ReadOptions) -> ScriptReading:
    home = source.name
    best = max([found.launch.rank for found in shell.launches.found], default=-1)
    kept = [found for found in shell.launches.found if found.launch.rank == best]
    if not kept:
        _no_launch(shell, source)
    order = sorted(range(len(kept)), key=lambda number: _position(kept[number], source))
    made = {number: _launch(kept[number], home) for number in order}
    launches = tuple([made[number] for number in order])
    if options.launch is not None:
        if not 1 <= options.launch <= len(launches):
            raise UnreadableError(finding(PROBLEMS, "no-such-launch", home, number=options.launch, count=len(launches)))
        taken = order[options.launch - 1]
    else:
        first = [number for number in _training(kept) if not kept[number].again]
        straight = [number for number in first if kept[number].straight]
        taken = straight[-1] if straight else first[-1]
        why = kept[taken].why
        if not straight and why is not None:
            line = shell.questions.name(why)
            kind = "conditional-launch" if line in shell.questions.met else "conditional-launch-open"
            shell.note(kind, kept[taken].place, line=line)
    chosen = kept[taken]
    launch = made[taken]
    _sweeps(shell, [found.place for found in kept], options)
    _branches(shell, source, options)
    unresolved: list[Unresolved] = []
    for number, argument in enumerate(chosen.launch.arguments):
        if argument.known() is None:
            unresolved.append(_unresolved(argument, launch.arguments[number], doubt_reason(argument), number))
    unresolved.extend(
        [
            _unresolved(argument, _argument(argument, chosen, home), doubt_reason(argument), None)
            for argument in chosen.launch.before
            if argument.known() is None
        ]
    )
    _stray_backslashes(shell, chosen, launch)
    if "\r\n" in source.text:
        end = source.text.index("\r\n")
        shell.problems.append(finding(PROBLEMS, "carriage-returns", home, source.span(end, end + 1)))
    others = tuple([made[number] for number in order if number != taken])
    return ScriptReading(launches, launch, others, tuple(unresolved), tuple(shell.problems))


def _training(kept: list[Found]) -> list[int]:
    """Of several programs with training flags, those that train: converting a checkpoint takes some of them, too."""
    everything = list(range(len(kept)))
    if len(kept) == 1:
        return everything
    from ..purpose import OTHER_MODEL, POST_TRAINING, TRAINING, program_kind

    trains = (TRAINING, POST_TRAINING, OTHER_MODEL, None)
    return [number for number in everything if program_kind(kept[number].launch.script) in trains] or everything


def _sweeps(shell: Shell, places: Sequence[Place], options: ReadOptions) -> None:
    """Says which launches stand in loops that start them again with something else."""
    for place, sweep in shell.launches.swept.items():
        if not sweep.differs or place not in places:
            continue
        if options.launch is not None and not sweep.unknown:
            continue  # one of them was asked for
        shell.note("sweep-unknown" if sweep.unknown else "sweep", place, count=sweep.starts)


def _branches(shell: Shell, source: SourceText, options: ReadOptions) -> None:
    """Says which answers of `--branch` nothing asked for."""
    for key in options.branches:
        if key in shell.questions.answered:
            continue
        file = key.rpartition(":")[0]
        if file and not any(one.endswith("/" + file.rpartition("/")[2]) for one in shell.files):
            continue  # of a file that this script has nothing to do with
        line = int(key) if is_digits(key) else 0
        inside = 0 < line <= source.line_count
        span = Span(line, 1, line, len(source.line(line)) + 1) if inside else None
        open_ = sorted(shell.questions.met, key=_line_order)[:10]
        kind = "branch-not-asked" if open_ else "branch-none-asked"
        shell.problems.append(finding(PROBLEMS, kind, source.name, span, line=key, lines=", ".join(open_)))


def _position(found: Found, source: SourceText) -> tuple[bool, int]:
    return found.place.source is not source, found.place.start


def _no_launch(shell: Shell, source: SourceText) -> NoReturn:
    errors = [problem for problem in shell.problems if problem.kind.severity == "error"]
    if errors:
        raise UnreadableError(errors[0])
    span: Span | None = None
    hint = ""
    kind = "no-launch"
    endless = next((problem for problem in shell.problems if problem.kind.name == "endless-loop"), None)
    # a script that was not read may be the one that starts the training
    unread = next((problem for problem in shell.problems if problem.kind.name in _UNREAD), None)
    if endless is not None:
        kind, hint, span = "no-launch-problem", endless.message(), endless.span
    elif unread is not None:
        kind, hint, span = "no-launch-problem", unread.message(), unread.span
    elif shell.ended is not None:
        span = shell.ended.span(source.name)
        kind = "no-launch-conditions" if shell.questions.met else "no-launch-exit"
    elif shell.questions.met:
        kind = "no-launch-open"
    elif shell.problems:
        kind = "no-launch-problem"
        hint = shell.problems[0].message()
        span = shell.problems[0].span
    lines = ", ".join(sorted(shell.questions.met, key=_line_order)[:10])
    line = span.line if span else 0
    raise UnreadableError(finding(PROBLEMS, kind, source.name, span, hint=hint, line=line, lines=lines))


def _line_order(question: str) -> tuple[bool, int, str]:
    return ":" in question, len(question), question


def _launch(found: Found, home: str) -> Launch:
    started = found.launch
    env: dict[str, str | None] = {}
    spans: dict[str, Span] = {}
    for name, variable in started.env.items():
        if variable.value is None:
            continue
        env[name] = known(variable.value)
        if variable.place is not None and variable.place.end > variable.place.start:
            spans[name] = variable.place.span(home)
    return Launch(
        started.launcher,
        started.script,
        tuple([_argument(field, found, home) for field in started.arguments]),
        started.world_size,
        env,
        found.place.span(home),
        spans,
        found.directory,
    )


def _argument(field: Field, found: Found, home: str) -> Argument:
    text = field.text()
    if len(text) == 1 and not field.split:
        written, place, _, _, doubt = text[0]
        return _argument_of((written, place.span(home), doubt is None, False, "" if doubt is None else doubt.reason))
    place = written_at(text, found.place)
    resolved = field.known() is not None
    return Argument(shown(text), place.span(home), resolved, field.split, "" if resolved else doubt_reason(field))


_argument_of = Argument._make


def _unresolved(field: Field, argument: Argument, reason: str, number: int | None) -> Unresolved:
    return Unresolved(argument.text, reason, argument.span, number, field.split)


def _stray_backslashes(shell: Shell, found: Found, launch: Launch) -> None:
    for number, argument in enumerate(launch.arguments):
        text = argument.text
        if text != "\\" and (not text or text.strip(" \t")):
            continue
        field = found.launch.arguments[number]
        place = field.pieces[0].place if field.pieces else found.place
        before = place.source.text[place.start - 1 : place.start]
        if text == "\\" or before == "\\":
            shell.note("stray-backslash", place, text=repr(text))
