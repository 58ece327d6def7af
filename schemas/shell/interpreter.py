"""Walks a script the way bash does, on values that may be unknown, and runs nothing.

Assignments, tests, loops and functions are followed as long as they can be decided. Where they cannot, both ways
are walked and the states joined; a program that would be started is recorded if it is a training program.
"""

from __future__ import annotations

import posixpath

from ..diagnostic import Diagnostic, UnreadableError
from ..light_typing import TYPE_CHECKING
from . import builtins, conditions, launchers, pattern, tree
from .arithmetic import ExpressionError, UndecidedError
from .expansion import Expander, Field, plain_text, reference
from .flow import Discard, ExhaustedError, Exit, Leave, Return, Stop
from .parser import Parser, ShellSyntaxError
from .problems import PROBLEMS
from .scanning import is_name
from .state import State, Variable, joined, joined_variable
from .syntax import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Assignment,
    Case,
    For,
    Function,
    Group,
    If,
    Pipeline,
    ProcessSubstitution,
    Redirected,
    Simple,
    Subshell,
    Test,
    While,
    Word,
)
from .text import Code, Doubt, Piece, Place, doubt_of, known, passed_through, plain, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..config import ReadOptions
    from ..source import SourceText
    from .syntax import Command, Element, Item, Redirect, Substitution
    from .text import Text

MOST_STEPS = 45_000
LONGEST_TEXT = 4_000_000
MOST_ITERATIONS = 3_000
DEEPEST_CALLS = 30
MOST_STARTS = 200
"""How many starts of one launch in a loop are kept; the others are counted."""
MOST_LAUNCHES = 2_000

_SET_BY_BASH = {
    "RANDOM": "it is random",
    "SRANDOM": "it is random",
    "SECONDS": "it is the time since the start",
    "EPOCHSECONDS": "it is the time",
    "EPOCHREALTIME": "it is the time",
    "HOSTNAME": "it is the machine's name",
    "BASHPID": "it is a process number",
    "PPID": "it is a process number",
    "UID": "it is the user's number",
    "EUID": "it is the user's number",
    "OSTYPE": "it names the system",
    "HOSTTYPE": "it names the machine's type",
    "MACHTYPE": "it names the machine's type",
    "BASH_VERSION": "it is bash's version",
    "BASH": "it is bash's own path",
    "SHELL": "it is the user's shell",
    "TERM": "it names the terminal",
    "PATH": "it is where programs are searched",
    "SHLVL": "it counts the shells",
    "BASHOPTS": "it lists bash's options",
    "SHELLOPTS": "it lists bash's options",
    "COLUMNS": "it is the terminal's width",
    "LINES": "it is the terminal's height",
    "DIRSTACK": "it lists directories",
    "GROUPS": "it lists the user's groups",
    "PIPESTATUS": "it is the status of programs that were not run",
    "_": "it is the last argument of the last command",
    "OLDPWD": "it is the directory before",
    "BASH_COMMAND": "it is the running command",
    "BASH_VERSINFO": "it is bash's version",
    "BASH_LINENO": "it is where a function was called",
    "BASH_ARGC": "it counts arguments",
    "BASH_ARGV": "it lists arguments",
    "BASH_SUBSHELL": "it counts subshells",
}
_KEPT = frozenset(("IFS", "OPTIND", "_accmap_optpos"))
"""What no script names where it names a variable by its name alone."""
_MAY_BE_ANYTHING = frozenset(("PATH", "SHELL", "BASH", "OLDPWD", "_", "BASH_COMMAND"))
_UNSET_AT_FIRST = frozenset(("OLDPWD", "COLUMNS", "LINES"))


_OPENING = frozenset(("<", ">", ">>", ">|", "&>", "&>>", "<>"))


class Input:
    """What a command reads from its standard input, consumed line by line. None: not known."""

    __slots__ = ("text",)

    def __init__(self, text: Text | None) -> None:
        self.text = text

    def known(self) -> str | None:
        """The whole input where it is known."""
        return None if self.text is None else known(self.text)


class Found:
    """A launch as it was met. `again` says that a loop has come by before."""

    __slots__ = ("again", "directory", "launch", "place", "rank", "straight", "why")

    def __init__(
        self,
        launch: launchers.Started,
        place: Place,
        *,
        straight: bool,
        why: Place | None,
        directory: str | None,
        again: bool,
    ) -> None:
        self.directory = directory
        self.launch = launch
        self.place = place
        self.straight = straight
        self.why = why
        self.again = again
        self.rank = launch.rank


class Sweep:
    """What a loop makes of one launch: how often it is started, whether any start differs from the first."""

    __slots__ = ("differs", "starts", "unknown")

    def __init__(self, starts: int) -> None:
        self.starts = starts
        self.differs = False
        self.unknown = False


class Shell:
    """One reading of one script."""

    def __init__(
        self,
        options: ReadOptions,
        open_file: Callable[[str], SourceText],
        *,
        path: str,
        cwd: str,
        home: SourceText,
        list_directory: Callable[[str], list[str] | None] | None = None,
    ) -> None:
        self.options = options
        self.open_file = open_file
        self.list_directory = list_directory
        self.name = path
        self.home: SourceText = home
        self.script = home
        self.start_cwd = cwd
        self.roots = (cwd, posixpath.dirname(posixpath.normpath(posixpath.join(cwd, path))))
        self.expand = Expander(self)
        self.state = State()
        self.state.cwd = cwd
        self.problems: list[Diagnostic] = []
        self.found: list[Found] = []
        self.steps = 0
        self.calls = 0
        self.out: list[Text] | None = None
        self.input: Input = Input(None)
        self.guarded: int = 0
        self.unsure: list[Place] = []
        self.repeating = 0
        self.rounds: int = 0
        self.swept: dict[Place, Sweep] = {}
        self.questions: set[str] = set()
        self.answered: set[str] = set()
        self.firsts: dict[tuple[int, int, int], list[Found]] = {}
        """The launches by their place, without those that a loop starts again."""
        self.causes: dict[str, str] = {}
        """Of a condition that nobody can decide what would decide it, where that is known."""
        self.returned: list[list[State]] = []
        self.left: list[list[tuple[State, bool]]] = []
        self.why_left = ""
        self.loops: int = 0
        """How many loops of this function, or of this subshell, are running."""
        self.sources: list[str] = [path]
        self.function_names: list[str] = []
        self.undecided_reason = ""
        self.substitution_status: int | None = 0
        self.ended: Place | None = None
        self.directories: set[str] = set()
        self.went_to: str | None = None
        """Where the last `cd` leads, whether that folder is known to exist or not."""
        self.files: set[str] = set()
        self.touched: set[str] = set()
        """Files that the script itself may have changed by now."""
        self.removed: set[str] = set()
        """And those that it may have taken away."""
        self._know(posixpath.join(cwd, path))
        self.place = Place(home, 0, 0)
        for name, value in options.variables.items():
            text = (Piece(value, self.place),) if value else ()
            self.state.variables[name] = Variable(text, exported=True)
        self.state.variables["IFS"] = Variable(plain(" \t\n", self.place))
        self.state.variables["OPTIND"] = Variable(plain("1", self.place))
        self.state.positional = tuple([plain(value, self.place) for value in options.positional])

    def _know(self, path: str) -> None:
        """A file that was read exists, and so do the directories above it."""
        self.files.add(posixpath.normpath(path))
        for start in (posixpath.dirname(path), self.start_cwd):
            directory = posixpath.normpath(start) if start else ""
            while directory and directory not in self.directories:
                self.directories.add(directory)
                directory = posixpath.dirname(directory)

    # Budget and notes

    def spend(self, steps: int) -> None:
        """Counts work, so that no script takes forever."""
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise ExhaustedError

    def note(self, problem: str, place: Place, **values: str | int) -> None:
        """Records a problem once."""
        found = Diagnostic(PROBLEMS[problem], place.source.name, place.span(place.source.name), tuple(values.items()))
        if found not in self.problems and len(self.problems) < 200:
            self.problems.append(found)

    def doubted(self, text: Text) -> None:
        """Remembers why something cannot be decided."""
        doubt = doubt_of(text)
        if doubt is not None:
            self.undecided_reason = doubt.reason

    # Variables

    def variable(self, name: str) -> Variable | None:
        """A variable, through name references; None where it is not set at all."""
        found = self.state.variables.get(name)
        if found is not None and found.reference and found.value:
            return self._behind(name, found.value)
        return None if found is None or (found.value is None and found.items is None) else found

    def _behind(self, name: str, value: Text) -> Variable | None:
        """The variable, or the element of an array, that a name reference stands for."""
        target = self.referred(name)
        if target is None:
            reason = f"which variable {name} refers to is not known"
            doubt = (Piece("", self.place, False, (), Doubt(reason, value[0].place, loose=True)),)
            return Variable(None, {0: doubt})
        found = self.state.variables.get(target[0])
        if found is None or (found.value is None and found.items is None):
            return None
        if target[1] is None:
            return found
        item = self.expand.element(found, target[1], self.place)
        return None if item is None else Variable(item)

    def referred(self, name: str) -> tuple[str, Word | None] | None:
        """The variable that a name stands for, through name references, and its subscript; None where nobody knows."""
        for _ in range(8):
            found = self.state.variables.get(name)
            if found is None or not found.reference or not found.value:
                return name, None
            target = known(found.value)
            if target is None:
                return None
            if not is_name(target):
                base, index = reference(target, self.place)
                return (base, index) if index is not None else None
            name = target
        return None

    def plain_name(self, name: str, place: Place) -> str | None:
        """The variable that takes what is given to `name`; None where that was settled here."""
        found = self.state.variables.get(name)
        if found is None or not found.reference or not found.value:
            return name
        target = self.referred(name)
        if target is None:
            self.forget_all(place, f"which variable {name} refers to is not known")
            return None
        if target[1] is not None:
            self.forget(target[0], place)
            return None
        return target[0]

    def forget_all(self, place: Place, reason: str) -> None:
        """Something is assigned, and it may be any variable."""
        doubt = Doubt(reason, place)
        for name, old in self.state.variables.items():
            if not old.readonly and not old.reference and name not in _KEPT:
                self.state.variables[name] = joined_variable(
                    old, Variable((Piece("", place, False, (), doubt),)), doubt
                )

    def value_of(self, name: str, place: Place) -> Text | None:
        """The value of `$name`; None where it is unset."""
        first = name[0]
        if first.isdigit():
            return self._positional(int(name[:9]), place)
        if not (first.isalpha() or first == "_"):
            return self._special(name, place)
        found = self.variable(name)
        if found is not None:
            if found.items is None:
                return found.value
            return found.items.get("0" if found.keyed else 0)
        if name == "PWD":
            return self.directory(place)
        if name == "LINENO":
            return plain(str(place.line()), place)
        if name == "BASH_SOURCE":
            return plain(self.sources[-1], place)
        if name == "FUNCNAME":
            return plain(self.function_names[-1], place) if self.function_names else None
        if name in _SET_BY_BASH and name not in self.state.variables and name not in _UNSET_AT_FIRST:
            return unknown(f"{name} is set by bash: {_SET_BY_BASH[name]}", place, atomic=name not in _MAY_BE_ANYTHING)
        return None

    def special_item(self, name: str, index: Word, place: Place) -> Text | None:
        """An element of an array that bash itself keeps."""
        literal = index.literal()
        if name in ("BASH_SOURCE", "FUNCNAME"):
            if literal in ("0", "@", "*"):
                return self.value_of(name, place)
            if name == "BASH_SOURCE" and literal in ("-1",):
                return plain(self.sources[0], place)
            if name == "BASH_SOURCE" and literal == "1" and len(self.sources) > 1 and not self.function_names:
                return plain(self.sources[-2], place)
            if name == "BASH_SOURCE" and literal == "1" and len(self.sources) == 1 and not self.function_names:
                return None
            return unknown(f"{name}[{literal}] depends on how the script was called", place)
        if name in _SET_BY_BASH and name not in self.state.variables:
            return unknown(f"{name} is set by bash: {_SET_BY_BASH[name]}", place)
        return None

    def _positional(self, number: int, place: Place) -> Text | None:
        if number == 0:
            return plain(self.name, place)
        values = self.state.positional
        for value in values[:number]:
            if any(piece.doubt is not None and piece.doubt.loose for piece in value):
                return unknown("how many arguments there are is not known", place)
        return values[number - 1] if number <= len(values) else None

    def _special(self, name: str, place: Place) -> Text | None:
        if name == "#":
            for value in self.state.positional:
                if any(piece.doubt is not None and piece.doubt.loose for piece in value):
                    return unknown("how many arguments there are is not known", place, atomic=True)
            return plain(str(len(self.state.positional)), place)
        if name == "?":
            if self.state.status is None:
                return unknown("the status of a program that was not run", place, atomic=True)
            return plain(str(self.state.status), place)
        reasons = {"$": "a process number", "!": "a process number", "-": "the shell's options"}
        return unknown(reasons.get(name, "it is not known"), place, atomic=True)

    def unset(self, name: str, place: Place) -> Text:
        """What an unset variable expands to."""
        if self.options.unset_empty:
            if "nounset" in self.state.options and name not in ("@", "*"):
                self.note("unbound", place, variable=name)
                raise Exit(1)
            return ()
        if name.isdigit():
            return unknown(f"the script's argument {name} is not given; give it with --arg", place)
        return unknown(f"{name} is not set in the file; give it with --var {name}=VALUE", place)

    def directory(self, place: Place) -> Text:
        """The working directory."""
        if self.state.cwd is None:
            return unknown("the working directory depends on a `cd` that may fail", place)
        return plain(self.state.cwd, place)

    def assign(
        self, name: str, value: Text, key: int | str | None, *, place: Place, append: bool = False, export: bool = False
    ) -> None:
        """Gives a variable, or one element of an array, a value."""
        old = self.state.variables.get(name) or Variable()
        if old.reference and old.value:
            target = self.referred(name)
            if target is None:
                self.forget_all(place, f"which variable {name} refers to is not known")
                return
            name = target[0]
            if target[1] is not None:
                key = self.key(name, target[1])
                if key is None:
                    self.forget(name, place)
                    return
            old = self.state.variables.get(name) or Variable()
        if old.readonly:
            return
        size = sum([len(piece.text) for piece in value])
        self.spend(len(value) // 8 + size // 512)
        if size > LONGEST_TEXT:
            raise ExhaustedError
        if old.integer:
            value = self._as_integer(value, place)
        elif old.case and known(value) is not None:
            string = known(value) or ""
            value = plain(string.upper() if old.case == "u" else string.lower(), place)
        if key is None and old.items is not None:
            key = "0" if old.keyed else 0
        if key is None:
            if append and old.value:
                value = self._as_integer_sum(old.value, value, place) if old.integer else (*old.value, *value)
                self.spend(len(value) // 8)
            self.state.variables[name] = Variable(
                value, None, False, old.exported or export or "allexport" in self.state.options, old.integer, False,
                old.case, old.reference, place,
            )  # fmt: skip
            return
        items: dict[int | str, Text] = (
            dict(old.items) if old.items is not None else ({} if old.value is None else {0: old.value})
        )
        if isinstance(key, int) and key < 0:
            key += max([entry for entry in items if isinstance(entry, int)], default=-1) + 1
        if append and key in items:
            value = (*items[key], *value)
        items[key] = value
        self.spend(len(items) // 16)
        self.state.variables[name] = old._replace(value=None, items=items, place=place)

    def _as_integer(self, value: Text, place: Place) -> Text:
        string = known(value)
        if string is None:
            return unknown(shown(value), place, atomic=True)
        try:
            return plain(str(self.expand.evaluate(string, place)), place)
        except UndecidedError:
            return unknown(self.undecided_reason, place, atomic=True)
        except ExpressionError:
            raise Discard from None

    def _as_integer_sum(self, old: Text, new: Text, place: Place) -> Text:
        first, second = known(self._as_integer(old, place)), known(new)
        if first is None or second is None:
            return unknown("a sum of values that are not known", place, atomic=True)
        return self._as_integer(plain(f"{first} + {second}", place), place)

    def settled(self, field: Field) -> Text:
        """A field as a value of its own; one that may split becomes loose."""
        if not field.split:
            return field.text()
        return tuple(
            [
                piece
                if piece.doubt is None or piece.doubt.atomic
                else piece._replace(doubt=piece.doubt._replace(loose=True))
                for piece in field.pieces
            ]
        )

    def perform(self, assignment: Assignment, *, export: bool = False) -> None:
        """Performs `name=value` and its like."""
        name, place = assignment.name, assignment.place
        value = assignment.value
        if isinstance(value, Word):
            text = self.expand.text(value, assigned=True)
            key: int | str | None = None
            if assignment.subscript is not None:
                key = self.key(name, assignment.subscript)
                if key is None:
                    self.forget(name, assignment.subscript.place)
                    return
            self.assign(name, text, key, place=place, append=assignment.append, export=export)
            return
        self._assign_array(name, value, assignment)

    def key(self, name: str, index: Word) -> int | str | None:
        """The element that a subscript names; None where that is not known."""
        text = self.expand.text(index)
        string = known(text)
        variable = self.variable(name)
        if string is None:
            self.doubted(text)
            return None
        if variable is not None and variable.keyed:
            return string
        try:
            return self.expand.evaluate(string, index.place)
        except UndecidedError:
            return None
        except ExpressionError:
            raise Discard from None

    def forget(self, name: str, place: Place) -> None:
        """A variable becomes unknown."""
        target = self.referred(name)
        if target is None:
            self.forget_all(place, f"which variable {name} refers to is not known")
            return
        name = target[0]
        doubt = Doubt(self.undecided_reason or "it depends on something that is not known", place, loose=True)
        old = self.state.variables.get(name) or Variable()
        self.state.variables[name] = old._replace(value=None, items={0: (Piece("", place, False, (), doubt),)})

    def _assign_array(self, name: str, elements: Sequence[Element], assignment: Assignment) -> None:
        found = self.plain_name(name, assignment.place)
        if found is None:
            return
        name = found
        old = self.state.variables.get(name) or Variable()
        if old.readonly:
            return
        items: dict[int | str, Text] = {}
        following = 0
        if assignment.append:
            items = dict(old.items) if old.items is not None else ({} if old.value is None else {0: old.value})
            if not old.keyed and items:
                following = max([int(key) for key in items]) + 1
        pairs = old.keyed and elements and all(element.key is None for element in elements)
        if pairs:
            words = [self.settled(field) for field in self.expand.fields([element.value for element in elements])]
            for at in range(0, len(words), 2):
                key = known(words[at])
                if key is None:
                    self.forget(name, assignment.place)
                    return
                items[key] = words[at + 1] if at + 1 < len(words) else ()
            self.state.variables[name] = old._replace(value=None, items=items, place=assignment.place)
            return
        for element in elements:
            if element.key is not None:
                place_key = self.key(name, element.key)
                if place_key is None:
                    self.forget(name, assignment.place)
                    return
                text = self.expand.text(element.value, assigned=True)
                items[place_key] = (*items.get(place_key, ()), *text) if element.append else text
                if isinstance(place_key, int):
                    following = place_key + 1
                continue
            sure = plain_text(element.value)
            if sure is not None:
                items[following] = sure
                following += 1
                self.spend(1)
                continue
            for field in self.expand.fields([element.value]):
                items[following] = self.settled(field)
                following += 1
        self.spend(len(items) // 2)
        self.state.variables[name] = old._replace(value=None, items=items, place=assignment.place)

    def part(self) -> None:
        """The reading is over: the shell and its expander let go of each other, so that their memory goes at once."""
        del self.expand

    # Running code

    def run_code(self, code: Code) -> None:
        """Runs a whole text, one complete command after the other."""
        parser = Parser(code)
        while True:
            parser.extended = "shopt-extglob" in self.state.options
            try:
                items = parser.line()
            except ShellSyntaxError as error:
                self.note(error.problem, error.place, found=error.found)
                self.state.status = 2
                return
            for place in parser.truncated:
                self.note("here-document", place)
            if items is None:
                return
            try:
                self.run(items)
            except Discard:
                self.state.status = 1  # not even `set -e` ends the script here

    def run(self, items: Sequence[Item]) -> None:
        """Runs a list of commands."""
        for item in items:
            if item.background:
                self.aside(lambda command=item.command: self.execute(command))
                self.state.status = 0
            else:
                self.execute(item.command)

    def aside(self, action: Callable[[], None]) -> int | None:
        """Runs something in a subshell: its changes are lost, its status is given."""
        saved, ended, loops = self.state, self.ended, self.loops
        self.state, self.loops = saved.copy(), 0
        try:
            action()
            status = self.state.status
        except Exit as stop:
            status = stop.status
            self.ended = ended
        except (Return, Leave):
            status = self.state.status
        except Discard:
            status = 1
        finally:
            self.state, self.loops = saved, loops
        return status

    def execute(self, command: Command) -> None:
        """Runs one command."""
        self.place = command.place
        self.spend(1)
        kind = type(command)
        if kind is Simple:
            self.simple(command)  # type: ignore[arg-type]
        elif kind is AndOr:
            self._and_or(command)  # type: ignore[arg-type]
        else:
            _ACTIONS[kind](self, command)
        if (
            self.state.status
            and "errexit" in self.state.options
            and not self.guarded
            and kind in (Simple, Subshell, Test, ArithmeticCommand, Pipeline)
            and not (kind is Pipeline and command.negated)  # type: ignore[union-attr]
        ):
            self.ended = command.place
            raise Exit(self.state.status)

    def condition(self, items: Sequence[Item]) -> int | None:
        """The status of a list that is a condition."""
        self.guarded += 1
        self.undecided_reason = ""
        try:
            self.run(items)
        finally:
            self.guarded -= 1
        return self.state.status

    def either(self, place: Place, *ways: Callable[[], None] | None) -> None:
        """Walks several ways of which one will be taken, and joins what comes of them."""
        start = self.state
        ends: list[State] = []
        outputs: list[list[Text]] = []
        stops: list[Stop] = []
        ways_out: list[tuple[Stop, State]] = []
        kept_out = self.out
        self.unsure.append(place)
        for way in ways:
            self.state = start.copy()
            self.out = None if kept_out is None else []
            try:
                if way is not None:
                    way()
            except Exit as stop:
                stops.append(stop)
                continue
            except (Return, Leave) as stop:
                ways_out.append((stop, self.state))
                continue
            except Discard:
                self.state.status = 1
            finally:
                if self.out is not None:
                    outputs.append(self.out)
            ends.append(self.state)
        self.unsure.pop()
        self.out = kept_out
        if kept_out is not None:
            self._join_output(outputs, place)
        if not ends:
            if not ways_out:
                self.state = start
                raise stops[0]
            # all ways leave: one of them is gone on with, the others wait where they arrive
            stop, self.state = ways_out.pop(0)
            self._wait(ways_out, place)
            raise stop
        self._wait(ways_out, place)
        if len(ends) == 1:
            self.state = ends[0]
        else:
            self.spend(len(start.variables) // 8)
            self.state = joined(ends, self.depends(place), place)

    def _wait(self, ways_out: list[tuple[Stop, State]], place: Place | None = None) -> None:
        """Keeps the states in which a function or a loop may be left, for where it is left to."""
        if ways_out and place is not None:
            self.why_left = self.depends(place)
        for stop, state in ways_out:
            if isinstance(stop, Return):
                if self.returned:
                    self.returned[-1].append(state)
            elif isinstance(stop, Leave) and self.left:
                self.left[max(len(self.left) - stop.levels, 0)].append((state, stop.again))

    def settled_by_user(self, place: Place) -> bool | None:
        """What `--branch` says of a condition that nobody can decide by reading."""
        key = self.question(place)
        self.questions.add(key)
        if self.undecided_reason and "--" in self.undecided_reason and "--branch" not in self.undecided_reason:
            self.causes[key] = self.undecided_reason
        for given in (key, self._named(place)) if self.options.branches else ():
            if given in self.options.branches:
                self.answered.add(given)
                return self.options.branches[given]
        return self._answer(place)

    def _named(self, place: Place) -> str:
        return f"{posixpath.basename(place.source.name)}:{place.line()}"

    def _answer(self, place: Place) -> bool | None:
        """An answer of `--branch` that names the file by more or less of its path."""
        for key, answer in self.options.branches.items():
            file, colon, line = key.rpartition(":")
            if colon and line == str(place.line()):
                one, other = f"/{posixpath.normpath(file)}", f"/{posixpath.normpath(place.source.name)}"
                if one.endswith(other) or other.endswith(one):
                    self.answered.add(key)
                    return answer
        return None

    def question(self, place: Place) -> str:
        """How `--branch` names the condition at a place."""
        line = place.line()
        return str(line) if place.source is self.script else self._named(place)

    def depends(self, place: Place) -> str:
        """Why something is not known that a condition decides."""
        key = self.question(place)
        if key not in self.questions:
            return f"it depends on what line {key} does"
        if key in self.causes:
            return f"it depends on the test at line {key}, where {self.causes[key]}"
        return f"it depends on the test at line {key}; settle it with --branch {key}=yes or --branch {key}=no"

    def _join_output(self, outputs: list[list[Text]], place: Place) -> None:
        assert self.out is not None
        strings = {known(tuple([piece for text in output for piece in text])) for output in outputs}
        if len(strings) == 1 and None not in strings:
            self.out.extend(outputs[0])
        else:
            doubt = Doubt(self.depends(place), place)
            self.out.append((Piece("", place, False, (), doubt),))

    def _and_or(self, command: AndOr) -> None:
        self.guarded += 1
        self.undecided_reason = ""
        try:
            self.execute(command.first)
        finally:
            self.guarded -= 1
        place = command.first.place
        for number, (operator, step) in enumerate(command.rest):
            last = number == len(command.rest) - 1
            status = self.state.status
            if status is None:
                settled = self.settled_by_user(place)
                if settled is not None:
                    status = self.state.status = int(not settled)
            asked, place = place, step.place
            if status is None:

                def way(step: Command = step, last: bool = last) -> None:
                    self._guarded(step, last)

                def skipped(operator: str = operator) -> None:
                    self.state.status = None if operator == "&&" else 0

                self.either(asked, way, skipped)
                if isinstance(self.state.status, int) and self.state.status and last:
                    self.state.status = None
            elif (status == 0) == (operator == "&&"):
                self._guarded(step, last)

    def _guarded(self, command: Command, last: bool) -> None:
        if last:
            self.execute(command)
            return
        self.guarded += 1
        try:
            self.execute(command)
        finally:
            self.guarded -= 1

    # Compound commands

    def _pipeline(self, command: Pipeline) -> None:
        commands = command.commands
        if len(commands) == 1:
            self.guarded += 1
            try:
                self.execute(commands[0])
            finally:
                self.guarded -= 1
        else:
            kept_input, kept_out = self.input, self.out
            statuses: list[int | None] = []
            try:
                for number, part in enumerate(commands):
                    last = number == len(commands) - 1
                    self.out = kept_out if last else []
                    if last and "shopt-lastpipe" in self.state.options and "monitor" not in self.state.options:
                        self.execute(part)
                        statuses.append(self.state.status)
                        break
                    statuses.append(self.aside(lambda part=part: self.execute(part)))
                    if not last:
                        assert self.out is not None
                        self.input = Input(tuple([piece for text in self.out for piece in text]))
            finally:
                self.input, self.out = kept_input, kept_out
            self.state.status = statuses[-1]
            if "pipefail" in self.state.options and statuses[-1] == 0:
                failed = [status for status in statuses if status != 0]
                self.state.status = failed[-1] if failed else 0
        if command.negated and self.state.status is not None:
            self.state.status = int(self.state.status == 0)

    def _if(self, command: If) -> None:
        self._clause(command, 0)

    def _clause(self, command: If, number: int) -> None:
        if number == len(command.clauses):
            self.state.status = 0
            self.run(command.otherwise)
            return
        condition, body = command.clauses[number]
        status = self.condition(condition)
        place = condition[0].command.place
        if status is None:
            settled = self.settled_by_user(place)
            status = None if settled is None else int(not settled)
        if status is None:
            self.either(place, lambda: self._body(body), lambda: self._clause(command, number + 1))
        elif status == 0:
            self._body(body)
        else:
            self._clause(command, number + 1)

    def _body(self, body: Sequence[Item]) -> None:
        self.state.status = 0
        self.run(body)

    def _case(self, command: Case) -> None:
        subject = self.expand.text(command.subject)
        self.undecided_reason = ""
        self.doubted(subject)
        self._alternatives(command, subject, 0)

    def _alternatives(self, command: Case, subject: Text, number: int) -> None:
        string = known(subject)
        for at in range(number, len(command.clauses)):
            clause = command.clauses[at]
            outcome: bool | None = False
            for word in clause.patterns:
                decided = self._case_matches(word, string)
                if decided:
                    outcome = True
                    break
                if decided is None:
                    outcome = None
            if outcome is None:
                outcome = self.settled_by_user(clause.patterns[0].place)
            if outcome is None:
                self.either(
                    clause.patterns[0].place,
                    lambda at=at: self._taken(command, subject, at),
                    lambda at=at: self._alternatives(command, subject, at + 1),
                )
                return
            if outcome:
                self._taken(command, subject, at)
                return
        self.state.status = 0

    def _case_matches(self, word: Word, string: str | None) -> bool | None:
        try:
            parts = self.expand.pattern_parts(word)
            if string is None:
                return True if len(parts) == 1 and parts[0] == ("*", False) else None
            return pattern.matches(parts, string, extended=self.expand.extended)
        except (UndecidedError, pattern.TooHardError):
            return None

    def _taken(self, command: Case, subject: Text, at: int) -> None:
        self._body(command.clauses[at].body)
        if command.clauses[at].ending == ";&" and at + 1 < len(command.clauses):
            self._taken(command, subject, at + 1)
        elif command.clauses[at].ending == ";;&":
            self._alternatives(command, subject, at + 1)

    def _loop(
        self,
        rounds: Callable[[], bool | None],
        body: Sequence[Item],
        place: Place,
        *,
        finite: bool = False,
        question: Place | None = None,
        until: bool = False,
    ) -> None:
        """Runs `body` while `rounds` says True; None means that nobody can know.

        `finite` is a loop over words that are known: it goes on where it may have been left, too. `question` is
        where a condition stands that `--branch` may settle: such a loop goes round once.
        """
        count = 0
        self.left.append([])
        self.loops += 1
        ends: list[State] = []
        status: int | None = 0
        unsure = len(self.unsure)
        try:
            while True:
                going = rounds()
                once = False
                if going is None and question is not None:
                    settled = self.settled_by_user(question)
                    if settled is not None:
                        going = once = settled != until
                if going is None:
                    self._uncertain(body, question or place)
                    self.state.status = None
                    ends.append(self.state)
                    break
                if not going:
                    self.state.status = status
                    ends.append(self.state)
                    break
                count += 1
                if count > MOST_ITERATIONS:
                    self.note("endless-loop", place)
                    self.ended = place
                    raise Exit(None)
                if count == 2:
                    self.rounds += 1
                on, off = self._round(body, gone=bool(ends))
                if once:
                    on, off = [], [*off, *on]
                ends.extend(off)
                if not on:
                    break
                reason = self.why_left or f"it depends on the loop at line {place.line()}"
                self.state = on[0] if len(on) == 1 else joined(on, reason, place)
                status = self.state.status
                if off and not finite:
                    self._uncertain(body, place)
                    self.state.status = None
                    ends.append(self.state)
                    break
                if off:
                    self.unsure.append(place)
        finally:
            self.left.pop()
            self.loops -= 1
            del self.unsure[unsure:]
            if count >= 2:
                self.rounds -= 1
        reason = self.why_left or f"it depends on the loop at line {place.line()}"
        self.state = ends[0] if len(ends) == 1 else joined(ends, reason, place)

    def _round(self, body: Sequence[Item], *, gone: bool) -> tuple[list[State], list[State]]:
        """Runs a loop's body once: the states in which the loop goes on, and those in which it is left."""
        on: list[State] = []
        stopped: Stop | None = None
        waits: Stop | None = None
        try:
            self._body(body)
            on.append(self.state)
        except Leave as stop:
            if stop.levels > 1:
                waits, stopped = stop, Leave(stop.levels - 1, again=stop.again)
            else:
                self.left[-1].append((self.state, stop.again))
        except (Exit, Return) as stop:
            waits = stopped = stop
        waiting, self.left[-1] = self.left[-1], []
        on.extend([state for state, again in waiting if again])
        off = [state for state, again in waiting if not again]
        if stopped is not None and waits is not None:
            if not (on or off or gone):
                raise stopped
            self._wait([(waits, self.state)])
        return on, off

    def _uncertain(self, body: Sequence[Item], place: Place) -> None:
        """A loop of which nobody knows how often it runs: its body may change things any number of times."""
        self.repeating += 1
        try:
            for turn in range(3):
                before = self.state
                self.repeating += turn > 0

                def way() -> None:
                    try:
                        self._body(body)
                    except Leave as stop:
                        if stop.levels > 1:
                            raise Leave(stop.levels - 1, again=stop.again) from None

                try:
                    self.either(place, way, None)
                finally:
                    self.repeating -= turn > 0
                waiting, self.left[-1] = self.left[-1], []
                if waiting:
                    states = [state for state, _ in waiting]
                    self.state = joined([*states, self.state], f"it depends on the loop at line {place.line()}", place)
                if before.variables == self.state.variables:
                    break
        finally:
            self.repeating -= 1

    def _while(self, command: While) -> None:
        def rounds() -> bool | None:
            status = self.condition(command.condition)
            return None if status is None else (status == 0) != command.until

        question = command.condition[0].command.place
        self._loop(rounds, command.body, command.place, question=question, until=command.until)

    def _for(self, command: For) -> None:
        if command.words is None:
            values = list(self.state.positional)
        else:
            values = [self.settled(field) for field in self.expand.fields(command.words)]
        waiting = iter(values)
        sure = not command.select and not any(
            piece.doubt is not None and piece.doubt.loose for value in values for piece in value
        )

        def rounds() -> bool | None:
            if not sure:
                reason = f"the words of the loop at line {command.place.line()} are not known"
                value = (Piece("", command.place, False, (), Doubt(reason, command.place)),)
                self.assign(command.name, value, None, place=command.place)
                return None if values or command.select else False
            value = next(waiting, None)
            if value is None:
                return False
            held = self.state.variables.get(command.name)
            if held is not None and held.reference:  # the loop lets the reference itself stand for one after the other
                self.state.variables[command.name] = held._replace(value=value)
            else:
                self.assign(command.name, value, None, place=command.place)
            return True

        self._loop(rounds, command.body, command.place, finite=sure)

    def _arithmetic_for(self, command: ArithmeticFor) -> None:
        self._arithmetic_step(command.first)
        first = True

        def rounds() -> bool | None:
            nonlocal first
            if not first:
                self._arithmetic_step(command.step)
            first = False
            try:
                if not command.condition.parts:
                    return True
                return self.expand.arithmetic(command.condition) != 0
            except UndecidedError:
                return None
            except ExpressionError:
                return False

        self._loop(rounds, command.body, command.place)

    def _arithmetic_step(self, part: object) -> None:
        try:
            self.expand.arithmetic(part)  # type: ignore[arg-type]
        except (UndecidedError, ExpressionError):
            return

    def _group(self, command: Group) -> None:
        self.run(command.body)

    def _subshell(self, command: Subshell) -> None:
        self.state.status = self.aside(lambda: self.run(command.body))

    def _arithmetic_command(self, command: ArithmeticCommand) -> None:
        try:
            self.state.status = int(self.expand.arithmetic(command.expression) == 0)
        except UndecidedError:
            self.state.status = None
        except ExpressionError:
            self.state.status = 1

    def _test(self, command: Test) -> None:
        decided = conditions.extended(self, command.expression)
        self.state.status = None if decided is None else int(not decided)

    def _function(self, command: Function) -> None:
        self.state.functions[command.name] = command
        self.state.status = 0

    def _redirected(self, command: Redirected) -> None:
        kept_input, kept_out = self.input, self.out
        found = self.given_input(command.redirects)
        if found is not None:
            self.input = found
        if self._cannot_open(command.redirects):
            self.input = kept_input
            self.state.status = 1
            return
        if self.out is not None and _diverts(command.redirects):
            self.out = None
        try:
            self.execute(command.body)
        finally:
            self.input, self.out = kept_input, kept_out

    # Simple commands

    def given_input(self, redirects: Sequence[Redirect]) -> Input | None:
        """What redirections give as standard input; None where they give none."""
        found: Input | None = None
        for redirect in redirects:
            if redirect.operator not in ("<", "<<", "<<-", "<<<", "<>") or redirect.descriptor not in ("", "0"):
                continue
            if redirect.document is not None:
                body = redirect.document.body
                found = Input(() if body is None else self.expand.text(body))
            elif redirect.operator == "<<<" and redirect.target is not None:
                text = self.expand.text(redirect.target)
                found = Input((*text, *plain("\n", redirect.target.place)))
            else:
                found = Input(self._read_from(redirect.target))
        return found

    def _read_from(self, target: Word | None) -> Text | None:
        """What stands in the file that `< file` names, or what the commands of `< <(...)` print."""
        if target is None:
            return None
        if len(target.parts) == 1 and isinstance(target.parts[0], ProcessSubstitution):
            return self.printed(target.parts[0])
        found = self.expand.fields([target])
        name = found[0].known() if len(found) == 1 else None
        return None if name is None else self.content(name)

    def printed(self, part: Substitution | ProcessSubstitution) -> Text:
        """What the commands of a substitution print."""
        kept_out, kept_input = self.out, self.input
        self.out = []
        self.guarded += 1
        self.calls += 1
        if self.calls > DEEPEST_CALLS:
            raise ExhaustedError
        try:
            self.substitution_status = self.aside(lambda: self.run(part.body))
            return tuple([piece for text in self.out for piece in text])
        finally:
            self.calls -= 1
            self.guarded -= 1
            self.out, self.input = kept_out, kept_input

    def content(self, path: str) -> Text | None:
        """The text of a file of the tree; None where it has none that is known."""
        full = None if self.state.cwd is None else posixpath.normpath(posixpath.join(self.state.cwd, path))
        if full is None or path in self.touched or full in self.touched or full in self.removed:
            return None
        if not tree.readable(full, self.roots):
            return None
        try:
            source = self.open_file(full if self.state.cwd != self.start_cwd or path.startswith(("-", "/")) else path)
        except UnreadableError as error:
            return () if error.diagnostic.kind.code == "SYN908" else None
        if len(source.text) > tree.LONGEST_CONTENT:
            return None
        self.spend(len(source.text) // 64 + 1)
        return (Piece(source.text, Place(source, 0, len(source.text)), True),) if source.text else ()

    def _cannot_open(self, redirects: Sequence[Redirect]) -> bool:
        """Whether a redirection certainly fails, so that bash does not run the command."""
        for redirect in redirects:
            word = redirect.target
            if word is None or redirect.operator not in _OPENING:
                continue
            fields = self.expand.fields([word])
            if any(field.known() is None for field in fields):
                continue
            name = fields[0].known() if len(fields) == 1 else None
            if not name:
                self.note("redirect-fails", word.place, text=word.place.shown())
                return True
            if redirect.operator != "<":
                self.touch(name)
            if redirect.operator in ("<", "<>") and not name.startswith(("/", "&")) and self.state.cwd is not None:
                full = posixpath.normpath(posixpath.join(self.state.cwd, name))
                if tree.is_stream(full):
                    continue
                try:
                    self.open_file(full if self.state.cwd != self.start_cwd else name)
                except UnreadableError as error:
                    if error.diagnostic.kind.code == "SYN900":
                        self.note("input-missing", word.place, path=name)
                        return redirect.operator == "<"
        return False

    def touch(self, name: str, *, gone: bool = False) -> None:
        """A file that the script writes holds something else than it does now."""
        kept = self.removed if gone else self.touched
        kept.add(name)
        if self.state.cwd is not None:
            kept.add(posixpath.normpath(posixpath.join(self.state.cwd, name)))

    def simple(self, command: Simple) -> None:
        """Runs a simple command."""
        self.substitution_status = 0
        words = command.words
        if not words:
            for assignment in command.assignments:
                self.perform(assignment)
            self.state.status = self.substitution_status
            if command.redirects and self._cannot_open(command.redirects):
                self.state.status = 1
            return
        first = words[0]
        if len(words) > 1 and any(isinstance(word, Assignment) for word in words):
            literal = first.literal() if isinstance(first, Word) else None
            builtins.declare(self, literal or "declare", words[1:], command.place)
            return
        fields = self.expand.fields(words)  # type: ignore[arg-type]
        if not fields:
            for assignment in command.assignments:
                self.perform(assignment)
            self.state.status = self.substitution_status
            return
        kept_out = self.out
        if command.redirects and self._cannot_open(command.redirects):
            self.state.status = 1
            return
        if kept_out is not None and command.redirects and _diverts(command.redirects):
            self.out = None
        try:
            self.invoke(fields, command.assignments, command.redirects, command.place)
        finally:
            self.out = kept_out

    def invoke(
        self,
        fields: list[Field],
        assignments: Sequence[Assignment],
        redirects: Sequence[Redirect],
        place: Place,
        *,
        functions: bool = True,
    ) -> None:
        """Runs a command whose words are expanded."""
        name = fields[0].known()
        function = self.state.functions.get(name) if name is not None and functions else None
        builtin = builtins.TABLE.get(name) if name is not None else None
        if function is None and builtin is None:
            self.external(fields, assignments, redirects, place)
            return
        saved: dict[str, Variable | None] = {}
        for assignment in assignments:
            saved[assignment.name] = self.state.variables.get(assignment.name)
            self.perform(assignment, export=True)
        kept_input = self.input
        given = self.given_input(redirects)
        if given is not None:
            self.input = given
        try:
            if function is not None:
                self.call(function, [self.settled(field) for field in fields[1:]])
            elif builtin is not None:
                self.state.status = builtin(self, fields, place)
        finally:
            self.input = kept_input
            for key, old in saved.items():
                if old is None:
                    self.state.variables.pop(key, None)
                else:
                    self.state.variables[key] = old

    def call(self, function: Function, arguments: list[Text]) -> None:
        """Calls a function."""
        self.calls += 1
        if self.calls > DEEPEST_CALLS:
            raise ExhaustedError
        kept = self.state.positional
        loops, self.loops = self.loops, 0
        self.state.positional = tuple(arguments)
        self.state.frames = (*self.state.frames, {})
        self.returned.append([])
        self.left.append([])
        self.function_names.append(function.name)
        self.sources.append(self.source_name(function.code))
        try:
            try:  # noqa: SIM105 - contextlib is not imported on the lint path
                self.execute(function.body)
            except Return:
                pass
            early = self.returned[-1]
            if early:
                place = function.place
                reason = self.why_left or f"it depends on how {function.name} returns"
                self.state = joined([*early, self.state], reason, place)
        finally:
            self.sources.pop()
            self.function_names.pop()
            self.left.pop()
            self.returned.pop()
            self.calls -= 1
            self.loops = loops
            self.state.positional = kept
            frames = self.state.frames
            if frames:
                for name, old in frames[-1].items():
                    if old is None:
                        self.state.variables.pop(name, None)
                    else:
                        self.state.variables[name] = old
                self.state.frames = frames[:-1]

    def source_name(self, code: Code) -> str:
        """The name under which bash knows the file that code stands in."""
        return self.name if code.source is self.home else code.source.name

    def external(
        self, fields: list[Field], assignments: Sequence[Assignment], redirects: Sequence[Redirect], place: Place
    ) -> None:
        """A program: recorded if it starts a training, followed if it is a shell, else of unknown effect."""
        extra: dict[str, Variable] = {}
        if assignments:
            kept = {one.name: self.state.variables.get(one.name) for one in assignments}
            for assignment in assignments:
                self.perform(assignment, export=True)
                extra[assignment.name] = self.state.variables[assignment.name]
            for name, old in kept.items():
                if old is None:
                    self.state.variables.pop(name, None)
                else:
                    self.state.variables[name] = old
        given = self.given_input(redirects) or self.input
        launchers.start(self, fields, extra, given, place)

    def emit(self, text: Text) -> None:
        """Writes to standard output, where somebody looks at it."""
        if self.out is not None:
            self.out.append(text)

    def emit_unknown(self, place: Place, reason: str = "") -> None:
        """Writes something that is not known."""
        if self.out is not None:
            doubt = Doubt(reason or "it is what a program prints, and nothing is run", place)
            self.out.append((Piece("", place, False, (), doubt),))

    def substituted(self, part: Substitution) -> Text:
        """What `$(...)` gives."""
        pieces = list(self.printed(part))
        if len(part.body) == 1:
            only = part.body[0].command
            if isinstance(only, Simple) and not only.words and not only.assignments and only.redirects:
                held = self.given_input(only.redirects)
                pieces = [Piece("", part.place, False, (), Doubt("it is what a file holds", part.place))]
                if held is not None and held.text is not None:
                    pieces = list(held.text)
        self.spend(len(pieces) // 8)
        while pieces and pieces[-1].doubt is None:
            last = pieces.pop()
            stripped = last.text.rstrip("\n")
            if stripped:
                pieces.append(last.cut(0, len(stripped)))
                break
        return passed_through(tuple(pieces), part.place)

    # Other files and strings of code

    def run_file(self, path: str, place: Place) -> bool:
        """Runs a file in this shell, as `source` does; False where it cannot be read."""
        source = self._opened(path, place)
        if source is None:
            return False
        if self.state.cwd is None and not path.startswith("/"):
            self.either(place, lambda: self._run_source(source, path, place), None)
        else:
            self._run_source(source, path, place)
        return True

    def _run_source(self, source: SourceText, path: str, place: Place) -> None:
        self.calls += 1
        if self.calls > DEEPEST_CALLS:
            raise ExhaustedError
        self.sources.append(path)
        self.returned.append([])
        try:
            try:  # noqa: SIM105
                self.run_code(Code(source))
            except Return:
                pass
            early = self.returned[-1]
            if early:
                reason = self.why_left or f"it depends on how {path} returns"
                self.state = joined([*early, self.state], reason, place)
        finally:
            self.returned.pop()
            self.sources.pop()
            self.calls -= 1

    def _opened(self, path: str, place: Place) -> SourceText | None:
        full = "./" + path if path.startswith("-") else path
        # after a `cd` that may have failed the file may still be the one seen from here
        if not path.startswith("/") and self.state.cwd not in (None, self.start_cwd):
            full = posixpath.normpath(posixpath.join(self.state.cwd or "", path))
        if tree.is_stream(posixpath.join(self.start_cwd, full)):
            self.note("source-unknown", place, text=path)
            return None
        try:
            source = self.open_file(full)
        except UnreadableError as error:
            if error.diagnostic.kind.code != "SYN908":
                self.note("source-missing", place, path=path, why=str(error))
                return None
            return _empty(full)
        self._know(posixpath.join(self.start_cwd, full))
        return source

    def run_child(
        self,
        code: Code | str,
        name: str,
        arguments: list[Text],
        extra: dict[str, Variable],
        place: Place,
        *,
        elsewhere: bool = False,
    ) -> bool:
        """Runs a file (by path) or code in a shell of its own; False where the file cannot be read.

        A shell `elsewhere`, on another machine, knows neither this one's variables nor its directory.
        """
        unsure = False
        if isinstance(code, str):
            source = self._opened(code, place)
            if source is None:
                return False
            unsure = self.state.cwd is None and not code.startswith("/")
            code = Code(source)
        if unsure:
            self.unsure.append(place)
        self.calls += 1
        if self.calls > DEEPEST_CALLS:
            raise ExhaustedError
        kept = (
            self.state,
            self.name,
            self.sources,
            self.function_names,
            self.returned,
            self.left,
            self.guarded,
            self.home,
            self.loops,
        )
        self.loops = 0
        child = State()
        child.cwd = None if elsewhere else self.state.cwd
        given = {} if elsewhere else {**self.state.variables, **extra}
        for key, variable in given.items():
            if variable.exported or key in extra:
                child.variables[key] = variable._replace(exported=True, readonly=False)
        child.variables["IFS"] = Variable(plain(" \t\n", place))
        child.variables["OPTIND"] = Variable(plain("1", place))
        child.positional = tuple(arguments)
        self.state, self.name, self.sources = child, name, [name]
        self.function_names, self.returned, self.left, self.guarded = [], [], [], 0
        self.home = code.source
        status: int | None = None
        ended = self.ended
        try:
            self.run_code(code)
            status = self.state.status
        except Exit as stop:
            status = stop.status
            self.ended = ended
        except Stop:
            status = None
        finally:
            (
                self.state, self.name, self.sources, self.function_names,
                self.returned, self.left, self.guarded, self.home, self.loops,
            ) = kept  # fmt: skip
            self.calls -= 1
            if unsure:
                self.unsure.pop()
        self.state.status = status
        return True

    def record(self, started: launchers.Started, place: Place) -> None:
        """Keeps a launch. What a loop starts again is counted, and compared with the first of its starts."""
        firsts: list[Found] = []
        if self.repeating or self.rounds:
            firsts = self.firsts.get((id(place.source), place.start, place.end), [])
        if firsts:
            sweep = self.swept.setdefault(firsts[0].place, Sweep(len(firsts)))
            sweep.differs = sweep.differs or all(launchers.differ(one.launch, started) for one in firsts)
            if self.repeating:
                sweep.unknown = True
                return
            sweep.starts += 1
            if sweep.starts > MOST_STARTS:
                return
        if len(self.found) < MOST_LAUNCHES:
            why = self.unsure[0] if self.unsure else None
            directory = self.state.cwd or self.went_to
            straight = not self.unsure
            made = Found(started, place, straight=straight, why=why, directory=directory, again=bool(firsts))
            self.found.append(made)
            if not firsts:
                self.firsts.setdefault((id(place.source), place.start, place.end), []).append(made)


_ACTIONS: dict[type, Callable[[Shell, Any], None]] = {
    Pipeline: Shell._pipeline,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    If: Shell._if,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    Case: Shell._case,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    While: Shell._while,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    For: Shell._for,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    ArithmeticFor: Shell._arithmetic_for,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    Group: Shell._group,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    Subshell: Shell._subshell,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    ArithmeticCommand: Shell._arithmetic_command,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    Test: Shell._test,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    Function: Shell._function,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    Redirected: Shell._redirected,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
}


def _empty(name: str) -> SourceText:
    from ..source import SourceText

    return SourceText(name, "\n")


def _diverts(redirects: Sequence[Redirect]) -> bool:
    """Whether standard output goes somewhere else."""
    for redirect in redirects:
        if redirect.operator in ("&>", "&>>"):
            return True
        if redirect.operator in (">", ">>", ">|") and redirect.descriptor in ("", "1"):
            return True
        if redirect.operator == ">&" and redirect.descriptor in ("", "1"):
            target = None if redirect.target is None else redirect.target.literal()
            return target != "1"
    return False


def words_of(shell: Shell, text: Text, place: Place) -> list[Field]:
    """A text that a program will read as a command line, as words."""
    parser = Parser(Code(place.source, text, place), extended=shell.expand.extended)
    found: list[Field] = []
    try:
        items = parser.everything()
    except ShellSyntaxError:
        return found
    for item in items:
        if isinstance(item.command, Simple):
            found.extend(shell.expand.fields([word for word in item.command.words if isinstance(word, Word)]))
    return found
