"""Walks a script the way bash does, on values that may be unknown, and runs nothing.

Assignments, tests, loops and functions are followed as long as they can be decided. Where they cannot, both ways
are walked and the states joined; a program that would be started is recorded if it is a training program.
"""

from __future__ import annotations

import posixpath

from ..fast_records import TYPE_CHECKING, NamedTuple
from ..message import NOTHING, Words
from . import pattern
from .effects import Launches, record_output, target_of
from .expansion import Expander, plain_text
from .messages_compiled import say
from .parser import Parser, ShellSyntaxError
from .session import (
    BadSubscript,
    Discard,
    Exit,
    ExpressionError,
    Holding,
    Leave,
    RefusedTarget,
    Return,
    Stop,
    SubmittedError,
    UndecidedError,
)
from .state import State, Variable, WrittenFiles, join_states
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
    Substitution,
    Test,
    While,
    Word,
)
from .text import Code, Doubt, Piece, hole, is_loose, plain, string_of, with_expansion
from .variables import fresh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..source import SourceText
    from .effects import Started, Target
    from .expansion import Field
    from .session import Start
    from .syntax import Command, Element, Item, Redirect
    from .text import Place, Text


class Questions:
    """Those that one script asked. `met` and `answered` hold them as `--branch` names them."""

    def __init__(self, answers: Mapping[str, bool], script: SourceText) -> None:
        self.answers = answers
        self.script = script
        self.met: set[str] = set()
        self.answered: set[str] = set()
        self.causes: dict[str, Words] = {}
        """Of a condition that nobody can decide what would decide it, where that is known."""

    def answer(self, place: Place, cause: Words) -> bool | None:
        """The answer of `--branch` to the condition at a place; `cause` is why it cannot be decided."""
        key = self.name(place)
        self.met.add(key)
        if "--" in cause and "--branch" not in cause:
            self.causes[key] = cause
        for given in (key, _place_name(place)):
            if given in self.answers:
                self.answered.add(given)
                return self.answers[given]
        for given, answer in self.answers.items():
            file, colon, line = given.rpartition(":")
            if colon and line == str(place.line()):
                one, other = f"/{posixpath.normpath(file)}", f"/{posixpath.normpath(place.source.name)}"
                if one.endswith(other) or other.endswith(one):  # it names the file by more or less of its path
                    self.answered.add(given)
                    return answer
        return None

    def name(self, place: Place) -> str:
        """Name of a condition for `--branch`."""
        return str(place.line()) if place.source is self.script else _place_name(place)

    def reason(self, place: Place) -> Words:
        """Reason why a condition cannot be decided."""
        key = self.name(place)
        if key not in self.met:
            return say.what_line_does(line=key)
        if key in self.causes:
            return say.test_where(line=key, why=self.causes[key])
        return say.test_at(line=key)


def _place_name(place: Place) -> str:
    return f"{posixpath.basename(place.source.name)}:{place.line()}"


MOST_ITERATIONS = 3_000
OF_A_JOB = ("SLURM_JOB_ID", "SLURM_JOBID")
"""Variables by which a script asks for the Slurm job; what else Slurm sets is not known and stays unset."""
_OPENING = frozenset(("<", ">", ">>", ">|", "&>", "&>>", "<>"))
_FILLING = frozenset((">", ">>", ">|"))


class Input:
    """Standard input of a command, consumed line by line. None: not known."""

    __slots__ = ("text",)

    def __init__(self, text: Text | None) -> None:
        self.text = text

    def string(self) -> str | None:
        """Whole input as a string; None if unknown."""
        return None if self.text is None else string_of(self.text)


class Commands(NamedTuple):
    """The commands that a script does not define: builtins by name, declarations, and all other programs."""

    builtins: Mapping[str, Callable[[Shell, list[Field], Place], int | None]]
    declare: Callable[[Shell, str, Sequence[Word | Assignment], Place], None]
    program: Callable[[Shell, list[Field], dict[str, Variable], Input, Place], None]


class Shell(Expander):
    """One reading of one script."""

    def __init__(self, commands: Commands, start: Start) -> None:
        super().__init__(start)
        self.commands = commands
        self.launches = Launches()
        self.questions = Questions(start.options.branches, start.home)
        self.out: list[Text] | None = None
        self.input: Input = Input(None)
        self.guarded: int = 0
        self.repeating = 0
        self.rounds: int = 0
        self.returned: list[list[State]] = []
        self.left: list[list[tuple[State, bool]]] = []
        self.why_left = NOTHING
        self.loops: int = 0
        """How many loops of this function, or of this subshell, are running."""
        self.substitution_status: int | None = 0
        self.went_to: str | None = None
        """Where the last `cd` leads, whether that folder is known to exist or not."""

    def perform(self, assignment: Assignment, *, export: bool = False) -> None:
        """Perform an assignment."""
        outer, self.not_given = self.not_given, self.code_own
        self._assign_value(assignment, export=export)
        self.not_given = outer

    def _assign_value(self, assignment: Assignment, *, export: bool) -> None:
        """Assign a word or array to a variable or element."""
        name, index, value = assignment.name, assignment.subscript, assignment.value
        if not isinstance(value, Word):
            self._assign_array(value, assignment)
            return
        text = self.text(value, assigned=True)
        key = None if index is None else self.key(name, index)
        if index is not None and key is None:
            self.forget(name, index.place)
            return
        self.assign(name, text, key, place=assignment.place, append=assignment.append, export=export)

    def _assign_array(self, elements: Sequence[Element], assignment: Assignment) -> None:
        """Assign the elements of an array literal."""
        place = assignment.place
        name = self.assignment_target(assignment.name, place)
        if name is None:
            return
        old = self.state.variables.get(name) or Variable()
        if old.readonly:
            self.exit_on_error()
            raise Discard
        items = old.entries() if assignment.append else {}
        if old.keyed and elements and all(element.key is None for element in elements):
            sure = self._take_pairs(elements, items)
        else:
            following = 0 if old.keyed else max(map(int, items), default=-1) + 1
            sure = self._take_elements(name, elements, items, following)
            self.spend(len(items) // 2)
        if sure:
            own = self.not_given or (old.own if assignment.append else None)
            self.state.variables[name] = old._replace(value=None, items=items, place=place, own=own)
        else:
            self.forget(name, place)

    def _take_pairs(self, elements: Sequence[Element], items: dict[int | str, Text]) -> bool:
        """`M=(key value ...)` of an associative array; False where a key is not known."""
        words = [field.as_value() for field in self.fields([element.value for element in elements])]
        for at in range(0, len(words), 2):
            key = string_of(words[at])
            if key is None:
                return False
            items[key] = words[at + 1] if at + 1 < len(words) else ()
        return True

    def _take_elements(
        self, name: str, elements: Sequence[Element], items: dict[int | str, Text], following: int
    ) -> bool:
        """`A=(word [key]=value ...)`; False where a key is not known."""
        for element in elements:
            if element.key is not None:
                try:
                    key = self.key(name, element.key)
                    if isinstance(key, int) and key < 0:  # counted from the end of what is there by now
                        key += max(map(int, items), default=-1) + 1
                        self.check_subscript(key)
                except BadSubscript:
                    continue
                if key is None:
                    return False
                text = self.text(element.value, assigned=True)
                items[key] = (*items.get(key, ()), *text) if element.append else text
                following = key + 1 if isinstance(key, int) else following
                continue
            sure = plain_text(element.value)
            if sure is not None:
                items[following] = sure
                following += 1
                self.spend(1)
                continue
            for field in self.fields([element.value]):
                items[following] = field.as_value()
                following += 1
        return True

    # Running code

    def run_code(self, code: Code) -> None:
        """Runs a whole text, one complete command after the other."""
        parser = Parser(code)
        while True:
            parser.extended = "shopt-extglob" in self.state.options
            try:
                items = parser.line()
            except ShellSyntaxError as error:
                self.note(error.problem, error.place)
                self.state.status = 2
                return
            for place in parser.truncated:
                self.note(say.here_document(), place)
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
                self.run_in_subshell(lambda command=item.command: self.execute(command))
                self.state.status = 0
            else:
                self.execute(item.command)

    def run_in_subshell(self, action: Callable[[], None]) -> int | None:
        """Status of an action whose changes are discarded."""
        ended = self.ended
        with Holding(self, state=self.state.copy(), loops=0):
            try:
                action()
            except Exit as stop:
                self.ended = ended
                return stop.status
            except (Return, Leave):
                pass
            except Discard:
                return 1
            return self.state.status

    def execute(self, command: Command) -> None:
        """Run one command."""
        self.place = command.place
        self.spend(1)
        kind = type(command)
        outer, self.not_given = self.not_given, self.code_own
        if kind is Simple:
            self.simple(command)  # type: ignore[arg-type]
        else:
            _ACTIONS[kind](self, command)
        # what a command prints may be a word of the one around it
        self.not_given = outer if self.out is None else outer or self.not_given
        if (
            self.state.status
            and "errexit" in self.state.options
            and not self.guarded
            and kind in (Simple, Subshell, Test, ArithmeticCommand, Pipeline)
            and not (kind is Pipeline and command.negated)  # type: ignore[union-attr]
        ):
            self.ended = command.place
            raise Exit(self.state.status)

    def _execute_guarded(self, command: Command, last: bool = False) -> None:
        """Run a command whose failure does not end the script under `set -e`."""
        with Holding(self, guarded=self.guarded + (not last)):
            self.execute(command)

    def condition(self, items: Sequence[Item]) -> int | None:
        """The status of a list that is a condition."""
        self.undecided_reason = NOTHING
        with Holding(self, guarded=self.guarded + 1):
            self.run(items)
        return self.state.status

    def answer_of(self, place: Place) -> bool | None:
        """The user's answer to a condition that nobody can decide by reading."""
        return self.questions.answer(place, self.undecided_reason)

    def either(self, place: Place, *ways: Callable[[], None] | None) -> None:
        """Run several possible ways from the same state and join the results."""
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
            self.state = join_states(ends, self.questions.reason(place), place)

    def _wait(self, ways_out: list[tuple[Stop, State]], place: Place | None = None) -> None:
        """Keep states in which a function or loop may end, until it does."""
        if ways_out and place is not None:
            self.why_left = self.questions.reason(place)
        for stop, state in ways_out:
            if isinstance(stop, Return):
                if self.returned:
                    self.returned[-1].append(state)
            elif isinstance(stop, Leave) and self.left:
                self.left[max(len(self.left) - stop.levels, 0)].append((state, stop.again))

    def _join_output(self, outputs: list[list[Text]], place: Place) -> None:
        assert self.out is not None
        strings = {string_of(tuple([piece for text in output for piece in text])) for output in outputs}
        if len(strings) == 1 and None not in strings:
            self.out.extend(outputs[0])
        else:
            self.out.append(hole(self.questions.reason(place), place))

    def _and_or(self, command: AndOr) -> None:
        """Run commands joined by `&&` and `||`; both ways if a status is unknown."""
        self.undecided_reason = NOTHING
        self._execute_guarded(command.first)
        place = command.first.place
        for number, (operator, step) in enumerate(command.rest):
            last = number == len(command.rest) - 1
            if self.state.status is None:
                settled = self.answer_of(place)
                self.state.status = None if settled is None else int(not settled)
            asked, place = place, step.place
            if self.state.status is None:

                def way(step: Command = step, last: bool = last) -> None:
                    self._execute_guarded(step, last)

                def skip(operator: str = operator) -> None:
                    self.state.status = None if operator == "&&" else 0

                self.either(asked, way, skip)
                if self.state.status and last:
                    self.state.status = None
            elif (self.state.status == 0) == (operator == "&&"):
                self._execute_guarded(step, last)

    # Compound commands

    def _pipeline(self, command: Pipeline) -> None:
        """Run a pipeline and set its status."""
        if len(command.commands) == 1:
            self._execute_guarded(command.commands[0])
        else:
            with Holding(self, input=self.input, out=self.out):
                statuses = self._run_pipeline(command.commands)
            self.state.status = statuses[-1]
            if "pipefail" in self.state.options and statuses[-1] == 0:
                failed = [status for status in statuses if status != 0]
                self.state.status = failed[-1] if failed else 0
        if command.negated and self.state.status is not None:
            self.state.status = int(self.state.status == 0)

    def _run_pipeline(self, commands: Sequence[Command]) -> list[int | None]:
        """The status of each command of a pipeline."""
        out = self.out
        statuses: list[int | None] = []
        for part in commands[:-1]:
            printed: list[Text] = []
            self.out = printed
            statuses.append(self.run_in_subshell(lambda part=part: self.execute(part)))
            self.input = Input(tuple([piece for text in printed for piece in text]))
        self.out, last = out, commands[-1]
        if "shopt-lastpipe" in self.state.options and "monitor" not in self.state.options:
            self.execute(last)
            return [*statuses, self.state.status]
        return [*statuses, self.run_in_subshell(lambda: self.execute(last))]

    def _if(self, command: If, number: int = 0) -> None:
        """Run an `if` from a clause on; both ways if its condition is unknown."""
        if number == len(command.clauses):
            self.state.status = 0
            self.run(command.otherwise)
            return
        condition, body = command.clauses[number]
        status = self.condition(condition)
        place = condition[0].command.place
        taken = self.answer_of(place) if status is None else status == 0
        if taken is None:
            self.either(place, lambda: self._body(body), lambda: self._if(command, number + 1))
        elif taken:
            self._body(body)
        else:
            self._if(command, number + 1)

    def _body(self, body: Sequence[Item]) -> None:
        self.state.status = 0
        self.run(body)

    def _case(self, command: Case) -> None:
        subject = self.text(command.subject)
        self.undecided_reason = NOTHING
        self.note_doubt(subject)
        self._alternatives(command, subject, 0)

    def _alternatives(self, command: Case, subject: Text, number: int) -> None:
        """Run a `case` from a clause on; both ways if a match is unknown."""
        string = string_of(subject)
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
                outcome = self.answer_of(clause.patterns[0].place)
            if outcome is None:
                self.either(
                    clause.patterns[0].place,
                    lambda at=at: self._clause_taken(command, subject, at),
                    lambda at=at: self._alternatives(command, subject, at + 1),
                )
                return
            if outcome:
                self._clause_taken(command, subject, at)
                return
        self.state.status = 0

    def _case_matches(self, word: Word, string: str | None) -> bool | None:
        """True if a pattern matches the subject; None if undecided."""
        try:
            parts = self.pattern_parts(word)
            if string is None:
                return True if len(parts) == 1 and parts[0] == ("*", False) else None
            return pattern.matches(parts, string, extended=self.has_extglob)
        except (UndecidedError, pattern.TooHardError):
            return None

    def _clause_taken(self, command: Case, subject: Text, at: int) -> None:
        self._body(command.clauses[at].body)
        if command.clauses[at].ending == ";&" and at + 1 < len(command.clauses):
            self._clause_taken(command, subject, at + 1)
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
        """Run a loop whose `rounds` tells if another round follows; None means unknown.

        `finite` is a loop over words that are known: it goes on where it may have been left, too. `question` is
        where a condition stands that `--branch` may settle: such a loop goes round once.
        """
        ends: list[State] = []
        unsure = len(self.unsure)
        self.left.append([])
        try:
            with Holding(self, loops=self.loops + 1, rounds=self.rounds):
                self._go_round(rounds, body, place, ends, finite=finite, question=question, until=until)
        finally:
            self.left.pop()
            del self.unsure[unsure:]
        self.state = self._rejoin(ends, place)

    def _go_round(
        self,
        rounds: Callable[[], bool | None],
        body: Sequence[Item],
        place: Place,
        ends: list[State],
        *,
        finite: bool,
        question: Place | None,
        until: bool,
    ) -> None:
        """Run the rounds of a loop; `ends` collects the states in which it may end."""
        status: int | None = 0
        for count in range(MOST_ITERATIONS + 1):
            going, once = rounds(), None
            if going is None:
                # answered from outside, the loop goes round once
                answer = None if question is None else self.answer_of(question)
                going = once = None if answer is None else answer != until
            if going is None:
                self._uncertain(body, question or place)
            elif going:
                if count == MOST_ITERATIONS:
                    break
                self.rounds += count == 1
                on, off = self._round(body, gone=bool(ends))
                if once:
                    on, off = [], [*off, *on]
                ends.extend(off)
                if not on:
                    return
                self.state = self._rejoin(on, place)
                status = self.state.status
                if finite or not off:
                    if off:
                        self.unsure.append(place)
                    continue
                self._uncertain(body, place)
            self.state.status = status if going is False else None
            ends.append(self.state)
            return
        self.note(say.endless_loop(), place)
        self.ended = place
        raise Exit(None)

    def _rejoin(self, states: list[State], place: Place) -> State:
        """One state for several in which a loop continues or ends."""
        reason = self.why_left or say.loop_at(line=place.line())
        return states[0] if len(states) == 1 else join_states(states, reason, place)

    def _round(self, body: Sequence[Item], *, gone: bool) -> tuple[list[State], list[State]]:
        """Run a loop's body once; returns the states that continue and those that leave."""
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
        """Run a loop's body that may run any number of times."""

        def way() -> None:
            try:
                self._body(body)
            except Leave as stop:
                if stop.levels > 1:
                    raise Leave(stop.levels - 1, again=stop.again) from None

        for turn in range(3):
            before = self.state
            with Holding(self, repeating=self.repeating + 1 + (turn > 0)):
                self.either(place, way, None)
            waiting, self.left[-1] = self.left[-1], []
            if waiting:
                states = [state for state, _ in waiting]
                self.state = join_states([*states, self.state], say.loop_at(line=place.line()), place)
            if before.variables == self.state.variables and before.options == self.state.options:
                break

    def _while(self, command: While) -> None:
        def rounds() -> bool | None:
            status = self.condition(command.condition)
            return None if status is None else (status == 0) != command.until

        question = command.condition[0].command.place
        self._loop(rounds, command.body, command.place, question=question, until=command.until)

    def _for(self, command: For) -> None:
        """Run a `for` or `select` loop over words."""
        if command.words is None:
            values = list(self.state.positional)
        else:
            values = [field.as_value() for field in self.fields(command.words)]
        if not values and self.not_given is not None:
            self._would_fill(command)
        waiting = iter(values)
        sure = not command.select and not any(is_loose(value) for value in values)
        held = self.state.variables.get(command.name)
        if held is not None and held.readonly and (values or command.select):
            self.exit_on_error()
            self.state.status = 1
            return

        def rounds() -> bool | None:
            if not sure:
                reason = say.loop_words(line=command.place.line())
                self.assign(command.name, hole(reason, command.place), None, place=command.place)
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

    def _would_fill(self, command: For) -> None:
        """Mark variables that a loop over absent script arguments would set."""
        inside: list[object] = [command.body]
        while inside:
            one = inside.pop()
            if isinstance(one, Assignment):
                written = one.place.snippet()
                if f"${command.name}" in written or f"${{{command.name}" in written:
                    old = self.state.variables.get(one.name) or Variable()
                    self.state.variables[one.name] = old._replace(own=self.not_given)
            elif isinstance(one, (tuple, list)) and not isinstance(one, Word):
                inside.extend(one)  # pyright: ignore[reportUnknownArgumentType]

    def _arithmetic_for(self, command: ArithmeticFor) -> None:
        """Run a `for ((…))` loop."""
        try:
            self.arithmetic(command.first)
        except UndecidedError:
            pass
        except (ExpressionError, RefusedTarget):
            self.state.status = 1
            return
        first = True

        def rounds() -> bool | None:
            nonlocal first
            if not first:
                self._arithmetic_step(command.step)
            first = False
            try:
                if not command.condition.parts:
                    return True
                return self.arithmetic(command.condition) != 0
            except UndecidedError:
                return None
            except ExpressionError:
                return False

        self._loop(rounds, command.body, command.place)

    def _arithmetic_step(self, part: object) -> None:
        try:
            self.arithmetic(part)  # type: ignore[arg-type]
        except (UndecidedError, ExpressionError):
            return

    def _group(self, command: Group) -> None:
        self.run(command.body)

    def _subshell(self, command: Subshell) -> None:
        self.state.status = self.run_in_subshell(lambda: self.run(command.body))

    def _arithmetic_command(self, command: ArithmeticCommand) -> None:
        try:
            self.state.status = int(self.arithmetic(command.expression) == 0)
        except UndecidedError:
            self.state.status = None
        except (ExpressionError, RefusedTarget):
            self.state.status = 1

    def _test(self, command: Test) -> None:
        from .conditions import extended_test

        decided = extended_test(self, command.expression)
        self.state.status = None if decided is None else int(not decided)

    def _function(self, command: Function) -> None:
        self.state.functions[command.name] = command
        self.state.status = 0

    def _redirect(self, command: Redirected) -> None:
        """Run a command with redirections."""
        found = self.given_input(command.redirects)
        with Holding(self, input=found or self.input):
            opens, target = self._opens(command.redirects)
            if opens:
                self._run_diverted(command.redirects, target, lambda: self.execute(command.body))
            else:
                self.state.status = 1

    # Simple commands

    def given_input(self, redirects: Sequence[Redirect]) -> Input | None:
        """Standard input from redirections; None without any."""
        found: Input | None = None
        for redirect in redirects:
            if redirect.operator not in ("<", "<<", "<<-", "<<<", "<>") or redirect.descriptor not in ("", "0"):
                continue
            if redirect.document is not None:
                body = redirect.document.body
                found = Input(() if body is None else self.text(body))
            elif redirect.operator == "<<<" and redirect.target is not None:
                text = self.text(redirect.target)
                found = Input((*text, *plain("\n", redirect.target.place)))
            else:
                found = Input(self._read_from(redirect.target))
        return found

    def _read_from(self, target: Word | None) -> Text | None:
        """Text of the file that `< file` names, or output of the commands of `< <(...)`."""
        if target is None:
            return None
        if len(target.parts) == 1 and isinstance(target.parts[0], ProcessSubstitution):
            return self.output_of(target.parts[0])
        found = self.fields([target])
        name = found[0].string() if len(found) == 1 else None
        return None if name is None else self.content(name)

    def output_of(self, part: Substitution | ProcessSubstitution) -> Text:
        """Output of the commands of a substitution."""
        printed: list[Text] = []

        def run() -> None:
            if isinstance(part, Substitution) and "shopt-inherit_errexit" not in self.state.options:
                self.state.options -= {"errexit"}
            self.run(part.body)

        guarded = self.guarded if isinstance(part, Substitution) else 0
        with Holding(self, out=printed, guarded=guarded, calls=self.calls, input=self.input):
            self.descend()
            self.substitution_status = self.run_in_subshell(run)
        return tuple([piece for text in printed for piece in text])

    def _opens(self, redirects: Sequence[Redirect]) -> tuple[bool, Target | None]:
        """True unless a redirection certainly fails, and the output's target."""
        target: Target | None = None
        for redirect in redirects:
            word = redirect.target
            if word is None or redirect.operator not in _OPENING:
                continue
            fields = self.fields([word])
            if any(field.string() is None for field in fields):
                continue
            name = fields[0].string() if len(fields) == 1 else None
            if not name:
                self.note(say.redirect_fails(text=word.place.snippet()), word.place)
                return False, None
            if redirect.operator in _FILLING and redirect.descriptor in ("", "1"):
                target = target_of(self, name, redirect.operator)
            if redirect.operator != "<":
                self.touch(name)
                self.leave(name, None)
            if redirect.operator in ("<", "<>") and self.is_missing(name):
                self.note(say.input_missing(path=name), word.place)
                if redirect.operator == "<":
                    return False, None
        return True, target

    def simple(self, command: Simple) -> None:
        """Runs a simple command."""
        self.substitution_status = 0
        words, redirects = command.words, command.redirects
        if len(words) > 1 and any(isinstance(word, Assignment) for word in words):
            first = words[0]
            literal = first.literal() if isinstance(first, Word) else None
            self.commands.declare(self, literal or "declare", words[1:], command.place)
            return
        fields = self.fields(words)  # type: ignore[arg-type]
        if not fields:
            for assignment in command.assignments:
                self.perform(assignment)
            self.state.status = self.substitution_status
        opens, target = self._opens(redirects) if redirects and not (words and not fields) else (True, None)
        if not opens:
            self.state.status = 1
        elif fields:
            self._run_diverted(
                redirects, target, lambda: self.invoke(fields, command.assignments, redirects, command.place)
            )

    def _run_diverted(self, redirects: Sequence[Redirect], target: Target | None, run: Callable[[], None]) -> None:
        """Run an action with redirected output."""
        if not _diverts(redirects):
            run()
            return
        printed: list[Text] | None = None if target is None else []
        with Holding(self, out=printed):
            run()
        if target is not None and printed is not None:
            record_output(self, target, printed)

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
        name = fields[0].string()
        function = self.state.functions.get(name) if name is not None and functions else None
        builtin = self.commands.builtins.get(name) if name is not None else None
        kept: dict[str, Variable | None] = {}
        for assignment in assignments:
            held = self.state.variables.get(assignment.name)
            try:
                self.perform(assignment, export=True)
                kept.setdefault(assignment.name, held)
            except RefusedTarget:
                continue
        if function is None and builtin is None:
            extra = {one: self.state.variables[one] for one in kept}
            self.state.restore(kept)
            # recorded if it starts a training, followed if it is a shell, else of unknown effect
            self.commands.program(self, fields, extra, self.given_input(redirects) or self.input, place)
            return
        try:
            with Holding(self, input=self.given_input(redirects) or self.input):
                if function is not None:
                    self.call(function, [field.as_value() for field in fields[1:]])
                elif builtin is not None:
                    self.state.status = builtin(self, fields, place)
        except RefusedTarget:
            if function is not None:
                raise
            self.state.status = 1
        finally:
            self.state.restore(kept)

    def call(self, function: Function, arguments: list[Text]) -> None:
        """Call a function."""
        code, positional, own = function.code, self.state.positional, self.state.own
        source = self.name if code.source is self.home else code.source.name
        names = [*self.function_names, function.name]
        with Holding(self, calls=self.calls, loops=0, left=[*self.left, []], function_names=names, code_own=None):
            self.descend()
            self.state.positional, self.state.own = tuple(arguments), self.not_given
            self.state.frames = (*self.state.frames, {})
            try:
                self._run_until_return(lambda: self.execute(function.body), source, function.name, function.place)
            finally:
                self.state.positional, self.state.own = positional, own
                if self.state.frames:
                    self.state.restore(self.state.frames[-1])
                    self.state.frames = self.state.frames[:-1]

    def _run_until_return(self, action: Callable[[], None], source: str, name: str, place: Place) -> None:
        """Run a function or sourced file until it returns."""
        with Holding(self, sources=[*self.sources, source], returned=[*self.returned, []]):
            try:  # noqa: SIM105 - contextlib is not imported on the lint path
                action()
            except Return:
                pass
            early = self.returned[-1]
            if early:
                reason = self.why_left or say.how_it_returns(name=name)
                self.state = join_states([*early, self.state], reason, place)

    def emit(self, text: Text) -> None:
        """Write to standard output, if it is recorded."""
        if self.out is not None:
            self.out.append(text)

    def emit_unknown(self, place: Place, reason: Words | None = None) -> None:
        """Write unknown output."""
        if self.out is not None:
            self.emit(hole(reason or say.program_prints(), place))

    def substitution_text(self, part: Substitution) -> Text:
        """The text of a `$(...)`."""
        pieces = list(self.output_of(part))
        only = part.body[0].command if len(part.body) == 1 else None
        if isinstance(only, Simple) and not only.words and not only.assignments and only.redirects:
            held = self.given_input(only.redirects)
            text = None if held is None else held.text
            pieces = list(hole(say.what_a_file_holds(), part.place) if text is None else text)
        self.spend(len(pieces) // 8)
        while pieces and pieces[-1].doubt is None:
            last = pieces.pop()
            stripped = last.text.rstrip("\n")
            if stripped:
                pieces.append(last.cut(0, len(stripped)))
                break
        return with_expansion(tuple(pieces), part.place)

    # Other files and strings of code

    def run_file(self, path: str, place: Place) -> bool:
        """Run a file in this shell; False if it cannot be read."""
        code = self.code_in(path, place)
        if code is None:
            return False

        def run() -> None:
            with Holding(self, calls=self.calls):
                self.descend()
                self._run_until_return(lambda: self.run_code(code), path, path, place)

        if self.state.cwd is None and not path.startswith("/"):
            self.either(place, run, None)
        else:
            run()
        return True

    def run_child(
        self,
        code: Code | str,
        name: str,
        arguments: list[Text],
        extra: dict[str, Variable],
        place: Place,
        *,
        elsewhere: bool = False,
    ) -> None:
        """Run a file or code in a shell of its own; `elsewhere` is another machine.

        A shell `elsewhere`, on another machine, knows neither this one's variables nor its directory.
        """
        unsure = self.unsure
        code_own = None if isinstance(code, str) else self.not_given
        if isinstance(code, str):
            if self.state.cwd is None and not code.startswith("/"):
                unsure = [*unsure, place]
            held = self.code_in(code, place)
            if held is None:
                return
            code = held
        child = State()
        child.cwd = None if elsewhere else self.state.cwd
        for key, variable in {**({} if elsewhere else self.state.variables), **extra}.items():
            if variable.exported or key in extra:
                child.variables[key] = variable._replace(exported=True, readonly=False)
        fresh(child.variables, place)
        child.positional, child.own = tuple(arguments), self.not_given
        ended = self.ended
        status: int | None = None
        with Holding(
            self, state=child, name=name, home=code.source, sources=[name], function_names=[], returned=[], left=[],
            guarded=0, loops=0, calls=self.calls, unsure=unsure, code_own=code_own,
        ):  # fmt: skip
            self.descend()
            try:
                self.run_code(code)
                status = self.state.status
            except Exit as stop:
                status = stop.status
                self.ended = ended
            except Stop:
                pass
        self.state.status = status

    def submit_itself(self, arguments: list[Text], extra: dict[str, Variable], place: Place) -> None:
        """Continue as the job that `sbatch "$0"` starts.

        A job that submits the next one, or a script that has trained by then, is not read again.
        """
        if self.is_job or any(one.launch.rank for one in self.launches.found):
            return
        handed = {
            key: variable._replace(exported=True, readonly=False)
            for key, variable in {**self.state.variables, **extra}.items()
            if variable.exported or key in extra
        }
        for name in OF_A_JOB:
            doubt = Doubt(say.set_in_the_job(name=name), place, atomic=True)
            handed[name] = Variable((Piece(f"${name}", place, doubt=doubt),), exported=True)
        if self.state.cwd is not None:
            handed["SLURM_SUBMIT_DIR"] = Variable(plain(self.state.cwd, place), exported=True)
        raise SubmittedError(tuple(arguments), handed)

    def enter_job(self, job: SubmittedError) -> None:
        """Start as the job that the script submits of itself."""
        self.is_job = True
        self.state.variables.update(job.variables)
        self.state.positional = job.arguments

    def record(self, started: Started, place: Place) -> None:
        """Record a launch."""
        self.launches.keep(
            started,
            place,
            why=self.unsure[0] if self.unsure else None,
            directory=self.state.cwd or self.went_to,
            loop=self.rounds > 0,
            endless=self.repeating > 0,
            written=WrittenFiles(dict(self.written), frozenset(self.astray), frozenset(self.filled)),
        )


_ACTIONS: dict[type, Callable[[Shell, Any], None]] = {
    AndOr: Shell._and_or,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
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
    Redirected: Shell._redirect,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
}


def _diverts(redirects: Sequence[Redirect]) -> bool:
    """True if standard output goes somewhere else."""
    for redirect in redirects:
        if redirect.operator in ("&>", "&>>"):
            return True
        if redirect.operator in (">", ">>", ">|") and redirect.descriptor in ("", "1"):
            return True
        if redirect.operator == ">&" and redirect.descriptor in ("", "1"):
            target = None if redirect.target is None else redirect.target.literal()
            return target != "1"
    return False
