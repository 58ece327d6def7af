"""Reads a launch script: which training program it starts, and with exactly which arguments.

The answer is what `bash PATH ARGS` would do in `cwd` with an empty environment, found without running anything.
What cannot be decided is listed as unresolved.
"""

from __future__ import annotations

from ..config import Argument, Launch, Unresolved
from ..diagnostic import Diagnostic, UnreadableError, diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple
from ..message import NOTHING, join_words
from ..source import Span
from .expansion import doubt_reason
from .messages_compiled import say
from .scanner import is_digits
from .text import Code, Piece, Place, display, place_of, string_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from ..config import ReadOptions
    from ..message import Words
    from ..source import SourceText
    from .effects import Found
    from .expansion import Field
    from .interpreter import Shell
    from .state import WrittenFiles


UNREAD = ("source-not-read", "source-not-known", "written-by-the-script")
"""What is said of a file that takes part in a script and was not read."""
_OPENINGS = ("export ", "source ", ". ", "if [", "cd ", "set -", "for ", "function ", "bash ", "sh ")


class ScriptReading(NamedTuple):
    """The launches of a script, and the problems and open words of the chosen one."""

    launches: tuple[Launch, ...]
    chosen: Launch | None
    others: tuple[Launch, ...]
    unresolved: tuple[Unresolved, ...]
    problems: tuple[Diagnostic, ...]
    written: WrittenFiles
    """The files that the script has written before the chosen launch."""


def read_script(
    source: SourceText,
    options: ReadOptions,
    open_file: Callable[[str], SourceText],
    *,
    path: str,
    cwd: str,
    list_directory: Callable[[str], list[str] | None] | None = None,
) -> ScriptReading:
    """All launches of a script; UnreadableError if it starts no training program."""
    from .builtins import COMMANDS
    from .interpreter import Shell
    from .session import Start, SubmittedError

    start = Start(options, open_file, path, cwd, source, list_directory)
    shell = Shell(COMMANDS, start)
    try:
        _walk(shell, source)
    except SubmittedError as job:
        shell = Shell(COMMANDS, start)
        shell.enter_job(job)
        _walk(shell, source)
    return _answer(shell, source, options)


def _walk(shell: Shell, source: SourceText) -> None:
    """Run the script to its end, or until reading stops."""
    from .session import ExhaustedError, Exit, Stop

    try:
        shell.run_code(_code(shell, source))
    except Exit:
        pass
    except Stop:
        pass
    except ExhaustedError:
        shell.note(say.too_much_work(), shell.place)
    except RecursionError:
        shell.note(say.too_deep(), shell.place)


def _code(shell: Shell, source: SourceText) -> Code:
    """File as bash reads it; a byte-order mark belongs to the first word."""
    if not source.has_byte_order_mark:
        return Code(source)
    place = Place(source, 0, min(len(source.text), 1))
    shell.note(say.byte_order_mark(), place)
    whole = Piece(source.text, Place(source, 0, len(source.text)), True)
    return Code(source, (Piece("\ufeff", place), whole), place)


def looks_like_script(source: SourceText) -> bool:
    """True if a text is a shell script rather than a YAML file or an argument list."""
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
    """Result of reading a script: all likely launches, the chosen one and problems."""
    home = source.name
    found = shell.launches.found
    best = max([one.launch.rank for one in found], default=-1)
    kept = [one for one in found if one.launch.rank == best]
    kept.sort(key=lambda one: (one.place.source is not source, one.place.start))
    if not kept:
        _no_launch(shell, source)
    launches = tuple([_launch(one, home) for one in kept])
    taken = _choose_launch(shell, kept, options, home)
    chosen, launch = kept[taken], launches[taken]
    _sweeps(shell, [one.place for one in kept], options)
    _branches(shell, source, options)
    words = [(word, launch.arguments[number], number) for number, word in enumerate(chosen.launch.arguments)]
    words += [(word, _argument(word, chosen, home), None) for word in chosen.launch.before]
    unresolved = [
        Unresolved(argument.text, doubt_reason(word), argument.span, number, word.split)
        for word, argument, number in words
        if word.string() is None
    ]
    _stray_backslashes(shell, chosen, launch)
    if "\r\n" in source.text:
        end = source.text.index("\r\n")
        shell.problems.append(diagnose(say.carriage_returns(), home, source.span(end, end + 1)))
    others = tuple([other for number, other in enumerate(launches) if number != taken])
    return ScriptReading(launches, launch, others, tuple(unresolved), tuple(shell.problems), chosen.written)


def _choose_launch(shell: Shell, kept: list[Found], options: ReadOptions, home: str) -> int:
    """Index of the launch that is requested, else of the last one reached."""
    if options.launch is not None:
        if not 1 <= options.launch <= len(kept):
            raise UnreadableError(diagnose(say.no_such_launch(number=options.launch, count=len(kept)), home))
        return options.launch - 1
    # the last by time, not by place: a function may be called late that is written early
    order = {id(one): number for number, one in enumerate(shell.launches.found)}
    first = sorted([at for at in _training(kept) if not kept[at].again], key=lambda at: order[id(kept[at])])
    straight = [at for at in first if kept[at].straight]
    taken = straight[-1] if straight else first[-1]
    why = kept[taken].why
    if not straight and why is not None:
        line = shell.questions.name(why)
        said = say.conditional_launch if line in shell.questions.met else say.conditional_launch_open
        shell.note(said(line=line), kept[taken].place)
    return taken


def _training(kept: list[Found]) -> list[int]:
    """Indices of the programs that train, among several with training flags."""
    everything = list(range(len(kept)))
    if len(kept) == 1:
        return everything
    from ..file_kind import OTHER_MODEL, POST_TRAINING, TRAINING, program_kind

    trains = (TRAINING, POST_TRAINING, OTHER_MODEL, None)
    return [number for number in everything if program_kind(kept[number].launch.script) in trains] or everything


def _sweeps(shell: Shell, places: Sequence[Place], options: ReadOptions) -> None:
    """Report launches inside loops that start them with changing values."""
    for place, sweep in shell.launches.swept.items():
        if not sweep.differs or place not in places:
            continue
        if options.launch is not None and not sweep.unknown:
            continue  # one of them was asked for
        shell.note(say.sweep_unknown() if sweep.unknown else say.sweep(count=sweep.starts), place)


def _branches(shell: Shell, source: SourceText, options: ReadOptions) -> None:
    """Report `--branch` answers that no condition used."""
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
        lines = ", ".join(open_)
        said = say.branch_not_asked(line=key, lines=lines) if open_ else say.branch_none_asked(line=key)
        shell.problems.append(diagnose(said, source.name, span))


def _no_launch(shell: Shell, source: SourceText) -> NoReturn:
    """Raise UnreadableError with the likely reason why no launch was found."""
    errors = [problem for problem in shell.problems if problem.kind.severity == "error"]
    if errors:
        raise UnreadableError(errors[0])
    span: Span | None = None
    lines = _condition_lines(shell)
    first = min(shell.questions.met, key=_line_order, default="")
    said = say.no_launch()
    telling = _first_cause(shell)
    if telling is not None:
        said, span = say.no_launch_problem(hint=telling.words()), telling.span
    elif shell.ended is not None:
        span = shell.ended.span(source.name)
        line = span.line if span else 0
        settle = say.no_launch_conditions(line=line, lines=lines, first=first)
        said = settle if first else say.no_launch_exit(line=line)
    elif shell.questions.met:
        said = say.no_launch_open(lines=lines, first=first)
    raise UnreadableError(diagnose(said, source.name, span))


def _condition_lines(shell: Shell) -> Words:
    """Lines of undecided conditions, with answers that would decide them."""
    lines: dict[Words, list[str]] = {}
    for line in sorted(shell.questions.met, key=_line_order)[:10]:
        lines.setdefault(shell.questions.causes.get(line, NOTHING), []).append(line)
    told = [(", ".join(named), why) for why, named in lines.items()]
    return join_words([say.lines_where(lines=named, why=why) if why else named for named, why in told], ", ", ", ")


def _first_cause(shell: Shell) -> Diagnostic | None:
    """Problem that may explain why no launch was found."""
    problems = shell.problems
    telling = [problem for problem in problems if problem.kind.name == "endless-loop"]
    telling += [problem for problem in problems if problem.kind.name in UNREAD]
    if not telling and shell.ended is None and not shell.questions.met:
        telling = problems
    return telling[0] if telling else None


def _line_order(question: str) -> tuple[bool, int, str]:
    return ":" in question, len(question), question


def _launch(found: Found, home: str) -> Launch:
    """Launch record of a found start."""
    started = found.launch
    env: dict[str, str | None] = {}
    spans: dict[str, Span] = {}
    for name, variable in started.env.items():
        if variable.value is None:
            continue
        env[name] = string_of(variable.value)
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
        not_given=None if started.not_given is None else started.not_given.span(home),
        counted_at="; ".join(_place_of_count(field) for field in started.counted),
    )


def _place_of_count(field: Field) -> str:
    """File and line at which a number of processes is written, and the variable that carries it to the launch."""
    piece = next(reversed(field.text()), None)
    if piece is None:
        return ""
    variable = f"{piece.chain[-1].snippet()}, " if piece.chain else ""
    return f"{variable}{piece.place.source.name}:{piece.place.line()}"


def _argument(field: Field, found: Found, home: str) -> Argument:
    """Argument record of a word, with its place and the reason if it is unknown."""
    text = field.text()
    if len(text) == 1 and not field.split:
        written, place, _, _, doubt = text[0]
        return _argument_of((written, place.span(home), doubt is None, False, "" if doubt is None else doubt.reason))
    place = place_of(text, found.place)
    resolved = field.string() is not None
    return Argument(display(text), place.span(home), resolved, field.split, "" if resolved else doubt_reason(field))


_argument_of = Argument._make


def _stray_backslashes(shell: Shell, found: Found, launch: Launch) -> None:
    """Report arguments that a stray backslash makes."""
    for number, argument in enumerate(launch.arguments):
        text = argument.text
        if text != "\\" and (not text or text.strip(" \t")):
            continue
        field = found.launch.arguments[number]
        place = field.pieces[0].place if field.pieces else found.place
        before = place.source.text[place.start - 1 : place.start]
        if text == "\\" or before == "\\":
            shell.note(say.stray_backslash(text=repr(text)), place)
