"""Values of variables, also of those that bash keeps itself, and assignments."""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING
from ..message import Words, verbatim
from .messages_compiled import say
from .scanner import is_name
from .session import (
    BadSubscript,
    Discard,
    ExhaustedError,
    Exit,
    ExpressionError,
    RefusedTarget,
    Session,
    UndecidedError,
)
from .state import Variable, joined_variable
from .syntax import Bare, Word
from .text import Doubt, Piece, display, hole, is_loose, lower_case, plain, string_of, unknown_text, upper_case

if TYPE_CHECKING:
    from .arithmetic import Evaluator
    from .session import Start
    from .text import Place, Text

LONGEST_TEXT = 4_000_000

_SET_BY_BASH = {
    name: reason
    for names, reason in (
        ("RANDOM SRANDOM", "it is random"),
        ("SECONDS", "it is the time since the start"),
        ("EPOCHSECONDS EPOCHREALTIME", "it is the time"),
        ("HOSTNAME", "it is the machine's name"),
        ("BASHPID PPID", "it is a process number"),
        ("UID EUID", "it is the user's number"),
        ("OSTYPE", "it names the system"),
        ("HOSTTYPE MACHTYPE", "it names the machine's type"),
        ("BASH_VERSION BASH_VERSINFO", "it is bash's version"),
        ("BASH", "it is bash's own path"),
        ("SHELL", "it is the user's shell"),
        ("TERM", "it names the terminal"),
        ("PATH", "it is where programs are searched"),
        ("SHLVL", "it counts the shells"),
        ("BASHOPTS SHELLOPTS", "it lists bash's options"),
        ("COLUMNS", "it is the terminal's width"),
        ("LINES", "it is the terminal's height"),
        ("DIRSTACK", "it lists directories"),
        ("GROUPS", "it lists the user's groups"),
        ("PIPESTATUS", "it is the status of programs that were not run"),
        ("_", "it is the last argument of the last command"),
        ("OLDPWD", "it is the directory before"),
        ("BASH_COMMAND", "it is the running command"),
        ("BASH_LINENO", "it is where a function was called"),
        ("BASH_ARGC", "it counts arguments"),
        ("BASH_ARGV", "it lists arguments"),
        ("BASH_SUBSHELL", "it counts subshells"),
    )
    for name in names.split()
}
_KEPT = frozenset(("IFS", "OPTIND", "_accmap_optpos"))
"""What no script names where it names a variable by its name alone."""
_MAY_BE_ANYTHING = frozenset(("PATH", "SHELL", "BASH", "OLDPWD", "_", "BASH_COMMAND"))
_UNSET_AT_FIRST = frozenset(("OLDPWD", "COLUMNS", "LINES"))


def reference(string: str, place: Place) -> tuple[str, Word | None]:
    """Name and subscript in the value of an indirect expansion."""
    import re

    found = re.fullmatch(r"([A-Za-z_]\w*|[0-9]{1,9}|[@*#?$!-])(?:\[(.+)\])?", string)
    if found is None:
        return "", None
    if found[2] is None:
        return found[1], None
    return found[1], Word((Bare(plain(found[2], place), found[2]),), place)


def fresh(variables: dict[str, Variable], place: Place) -> None:
    """Set the variables that every shell sets for itself."""
    variables["IFS"] = Variable(plain(" \t\n", place))
    variables["OPTIND"] = Variable(plain("1", place))


class Variables(Session):
    """The variables of the shell that is being walked through."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        options = start.options
        for name, value in options.variables.items():
            self.state.variables[name] = Variable((Piece(value, self.place),) if value else (), exported=True)
        fresh(self.state.variables, self.place)
        self.state.positional = tuple([plain(value, self.place) for value in options.positional])

    def text(self, word: Word, *, assigned: bool = False) -> Text:
        """Text of a word without splitting."""
        raise NotImplementedError

    # Names

    def variable(self, name: str) -> Variable | None:
        """Variable of a name, references followed; None if unset."""
        found = self.state.variables.get(name)
        if found is not None and found.reference and found.value:
            return self._referenced_variable(name, found.value)
        if found is not None and found.own is not None:
            self.not_given = self.not_given or found.own
        return found if found is not None and found.is_set() else None

    def _referenced_variable(self, name: str, value: Text) -> Variable | None:
        """Variable or element that a name reference means."""
        target = self.resolve_reference(name)
        if target is None:
            reason = say.referred_unknown(name=name)
            return Variable(None, {0: (Piece("", self.place, False, (), Doubt(reason, value[0].place, loose=True)),)})
        found = self.state.variables.get(target[0])
        if found is None or not found.is_set():
            return None
        if target[1] is None:
            return found
        try:
            item = self.element(found, target[1], self.place)
        except BadSubscript:
            return None
        return None if item is None else Variable(item)

    def resolve_reference(self, name: str) -> tuple[str, Word | None] | None:
        """Final name and subscript of a name; None if unknown."""
        for _ in range(8):
            found = self.state.variables.get(name)
            if found is None or not found.reference or not found.value:
                return name, None
            target = string_of(found.value)
            if target is None:
                return None
            if not is_name(target):
                base, index = reference(target, self.place)
                return (base, index) if index is not None else None
            name = target
        return None

    def assignment_target(self, name: str, place: Place) -> str | None:
        """Variable that an assignment sets; None for elements."""
        target = self._target_with_subscript(name, place)
        if target is not None and target[1] is not None:
            self.forget(target[0], place)
            return None
        return None if target is None else target[0]

    def _target_with_subscript(self, name: str, place: Place) -> tuple[str, Word | None] | None:
        """Variable that an assignment sets, with subscript; None if unknown."""
        found = self.state.variables.get(name)
        if found is None or not found.reference or not found.value:
            return name, None
        target = self.resolve_reference(name)
        if target is None:
            self.forget_all(place, say.referred_unknown(name=name))
        return target

    # Values

    def value_of(self, name: str, place: Place) -> Text | None:
        """Value of `$name`; None if unset."""
        first = name[0]
        if first.isdigit():
            return self._positional(int(name[:9]), place)
        if not (first.isalpha() or first == "_"):
            return self._special(name, place)
        found = self.variable(name)
        if found is None:
            return self._own(name, place)
        return found.value if found.items is None else found.items.get(found.first_key())

    def _own(self, name: str, place: Place) -> Text | None:
        """The value of a variable that bash keeps itself."""
        if name == "PWD":
            return self.directory(place)
        if name == "LINENO":
            return plain(str(place.line()), place)
        if name == "BASH_SOURCE":
            return plain(self.sources[-1], place)
        if name == "FUNCNAME":
            return plain(self.function_names[-1], place) if self.function_names else None
        if name in _SET_BY_BASH and name not in self.state.variables and name not in _UNSET_AT_FIRST:
            return unknown_text(
                say.set_by_bash(name=name, detail=_SET_BY_BASH[name]), place, atomic=name not in _MAY_BE_ANYTHING
            )
        return None

    def special_item(self, name: str, index: Word, place: Place) -> Text | None:
        """An element of an array that bash itself keeps."""
        literal = index.literal()
        if name in ("BASH_SOURCE", "FUNCNAME"):
            if literal in ("0", "@", "*"):
                return self.value_of(name, place)
            if name == "BASH_SOURCE" and literal == "-1":
                return plain(self.sources[0], place)
            if name == "BASH_SOURCE" and literal == "1" and not self.function_names:
                return plain(self.sources[-2], place) if len(self.sources) > 1 else None
            return unknown_text(say.how_called(name=f"{name}[{literal}]"), place)
        if name in _SET_BY_BASH and name not in self.state.variables:
            return unknown_text(say.set_by_bash(name=name, detail=_SET_BY_BASH[name]), place)
        return None

    def _positional(self, number: int, place: Place) -> Text | None:
        if number == 0:
            return plain(self.name, place)
        values = self.state.positional
        if any(is_loose(value) for value in values[:number]):
            return unknown_text(say.argument_count(), place)
        return values[number - 1] if number <= len(values) else None

    def _special(self, name: str, place: Place) -> Text | None:
        """Value of `$#`, `$?` and similar; None if it is not special."""
        if name == "#":
            if any(is_loose(value) for value in self.state.positional):
                return unknown_text(say.argument_count(), place, atomic=True)
            return plain(str(len(self.state.positional)), place)
        if name == "?":
            if self.state.status is None:
                return unknown_text(say.status_of_a_program(), place, atomic=True)
            return plain(str(self.state.status), place)
        return unknown_text(_special(name), place, atomic=True)

    def unset_value(self, name: str, place: Place) -> Text:
        """The expansion of an unset variable."""
        if self.options.unset_empty:
            if "nounset" in self.state.options and name not in ("@", "*"):
                self.note(say.unbound(variable=name), place)
                raise Exit(1)
            if "?nounset" in self.state.options and name not in ("@", "*"):
                self.note(say.unbound_perhaps(variable=name), place)
            return ()
        if name.isdigit():
            return unknown_text(say.argument_not_given(name=name), place)
        return unknown_text(say.not_set(name=name), place)

    def directory(self, place: Place) -> Text:
        """Working directory as text."""
        if self.state.cwd is None:
            return unknown_text(say.directory_depends(), place)
        return plain(self.state.cwd, place)

    def element(self, variable: Variable, index: Word, place: Place) -> Text | None:
        """Element of a variable; None if unset."""
        text = self.text(index)
        string = string_of(text)
        if string is None:
            return unknown_text(why(text), place)
        if variable.items is not None and variable.keyed:
            return variable.items.get(string)
        try:
            return self._numbered(variable, self.evaluate(string, place), place)
        except UndecidedError:
            return unknown_text(self.undecided_reason, place)
        except ExpressionError:
            raise Discard from None

    def _numbered(self, variable: Variable, number: int, place: Place) -> Text | None:
        """Element of an array by its number; None if unset."""
        if variable.items is None:
            self.check_subscript(number)
            return variable.value if number == 0 else None
        if any(is_loose(value) for value in variable.items.values()):
            return unknown_text(say.array_length(), place)
        found = variable.index_of(number)
        self.check_subscript(found)
        return variable.items.get(found)

    def check_subscript(self, number: int | str) -> None:
        """BadSubscript for a number before the first element; under `set -e` the shell ends."""
        if isinstance(number, int) and number < 0:
            self.exit_on_error()
            raise BadSubscript

    # Arithmetic

    def evaluate(self, expression: str, place: Place) -> int:
        """Value of an arithmetic expression; UndecidedError or ExpressionError."""
        self.spend(len(expression) // 16 + 2)

        def read(name: str, index: str | None) -> str:
            self.spend(3)
            return self.decide(self._numeric(name, index, running[0], place))

        def write(name: str, index: str | None, value: int) -> None:
            key: int | str | None = None
            if index is not None:
                variable = self.variable(name)
                key = index if variable is not None and variable.keyed else running[0].value(index)
            assigned.append(name)
            try:
                self.assign(name, plain(str(value), place), key, place=place)
            except BadSubscript:
                return  # bash reports it, and the expression has its value

        from .arithmetic import Evaluator

        assigned: list[str] = []

        running = [Evaluator(read, write)]
        try:
            return running[0].value(expression)
        except UndecidedError:
            self.forget_assigned(expression, place)
            raise
        except ExpressionError:
            if running[0].too_deep:  # bash ends such a recursion, too, but at another depth
                for name in assigned:
                    self.forget(name, place)
            raise
        finally:
            running.clear()  # it holds the two functions, and they hold it

    def forget_assigned(self, expression: str, place: Place) -> None:
        """The variables that an undecided arithmetic expression assigns become unknown."""
        if "=" not in expression and "++" not in expression and "--" not in expression:
            return
        import re

        for found in re.finditer(
            r"(?:\+\+|--)\s*([A-Za-z_]\w*)"
            r"|([A-Za-z_]\w*)(\[[^]]*\])?\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))",
            expression,
            re.ASCII,
        ):
            name = found[1] or found[2]
            variable = self.variable(name)
            if variable is not None and variable.readonly:
                continue
            if found[3] or any(sign in expression for sign in ("?", "&&", "||")):
                self.forget(name, place)
            else:
                reason = self.undecided_reason or say.value_unknown()
                self.assign(name, unknown_text(reason, place, atomic=True), None, place=place)

    def _numeric(self, name: str, index: str | None, evaluator: Evaluator, place: Place) -> Text:
        """Text of a variable or element for arithmetic."""
        if index is None:
            found = self.value_of(name, place)
            return self.unset_value(name, place) if found is None else found
        variable = self.variable(name)
        if variable is None:
            return self.unset_value(name, place)
        if variable.keyed:
            return () if variable.items is None else variable.items.get(index, ())
        try:
            return self._numbered(variable, evaluator.value(index), place) or ()
        except BadSubscript:
            return ()

    def key(self, name: str, index: Word) -> int | str | None:
        """Element key that a subscript means; None if unknown."""
        if not index.parts:
            self.check_subscript(-1)
        text = self.text(index)
        string = string_of(text)
        variable = self.variable(name)
        if string is None:
            self.note_doubt(text)
            return None
        if variable is not None and variable.keyed:
            return string
        try:
            return self.evaluate(string, index.place)
        except UndecidedError:
            return None
        except ExpressionError:
            raise Discard from None

    # Assignment

    def assign(
        self, name: str, value: Text, key: int | str | None, *, place: Place, append: bool = False, export: bool = False
    ) -> None:
        """Set a variable or element."""
        destination = self._destination(name, key, place)
        if destination is None:
            return
        name, key = destination
        old = self.state.variables.get(name) or Variable()
        self.require_writable(old)
        self._weigh(value)
        value = self._with_attributes(old, value, place)
        if key is None and old.items is not None:
            key = old.first_key()
        if key is not None:
            self._assign_item(name, old, key, value, place, append=append)
            return
        if append and old.value:
            value = self._as_integer_sum(old.value, value, place) if old.integer else (*old.value, *value)
            self.spend(len(value) // 8)
        self.state.variables[name] = Variable(
            value, None, False, old.exported or export or "allexport" in self.state.options, old.integer, False,
            old.case, old.reference, place, self.not_given or (old.own if append else None),
        )  # fmt: skip

    def _destination(self, name: str, key: int | str | None, place: Place) -> tuple[str, int | str | None] | None:
        """Variable and element that a name means; None for a broken reference."""
        target = self._target_with_subscript(name, place)
        if target is None or target[1] is None:
            return None if target is None else (target[0], key)
        named = self.key(target[0], target[1])
        if named is None:
            self.forget(target[0], place)
            return None
        return target[0], named

    def require_writable(self, variable: Variable) -> None:
        """RefusedTarget for a readonly variable; under `set -e` the shell ends."""
        if variable.readonly:
            self.exit_on_error()
            raise RefusedTarget

    def _weigh(self, value: Text) -> None:
        """Count the size of a value against the budget; ExhaustedError if it is too long."""
        size = sum([len(piece.text) for piece in value])
        self.spend(len(value) // 8 + size // 512)
        if size > LONGEST_TEXT:
            raise ExhaustedError

    def _assign_item(
        self, name: str, old: Variable, key: int | str, value: Text, place: Place, *, append: bool
    ) -> None:
        items, key = old.entries(), old.index_of(key)
        self.check_subscript(key)
        items[key] = (*items[key], *value) if append and key in items else value
        self.spend(len(items) // 16)
        self.state.variables[name] = old._replace(value=None, items=items, place=place, own=self.not_given or old.own)

    def _with_attributes(self, variable: Variable, value: Text, place: Place) -> Text:
        """Value changed by `declare -i`, `-u` or `-l`."""
        if variable.integer:
            return self._as_integer(value, place)
        string = string_of(value) if variable.case else None
        return (
            value
            if string is None
            else plain(upper_case(string) if variable.case == "u" else lower_case(string), place)
        )

    def _as_integer(self, value: Text, place: Place) -> Text:
        """Value evaluated as arithmetic, for variables declared with `-i`."""
        string = string_of(value)
        if string is None:
            return unknown_text(verbatim(display(value)), place, atomic=True)
        try:
            return plain(str(self.evaluate(string, place)), place)
        except UndecidedError:
            return unknown_text(self.undecided_reason, place, atomic=True)
        except ExpressionError:
            raise Discard from None

    def _as_integer_sum(self, old: Text, new: Text, place: Place) -> Text:
        first, second = string_of(self._as_integer(old, place)), string_of(new)
        if first is None or second is None:
            return unknown_text(say.sum_unknown(), place, atomic=True)
        return self._as_integer(plain(f"{first} + {second}", place), place)

    def forget(self, name: str, place: Place) -> None:
        """A variable becomes unknown."""
        target = self.resolve_reference(name)
        if target is None:
            self.forget_all(place, say.referred_unknown(name=name))
            return
        name = target[0]
        reason = self.undecided_reason or say.something_unknown()
        old = self.state.variables.get(name) or Variable()
        self.state.variables[name] = old._replace(value=None, items={0: hole(reason, place, loose=True)})

    def forget_all(self, place: Place, reason: Words) -> None:
        """Something is assigned, and it may be any variable."""
        for name, old in self.state.variables.items():
            if not old.readonly and not old.reference and name not in _KEPT:
                self.state.variables[name] = joined_variable(old, Variable(hole(reason, place)), Doubt(reason, place))


def _special(name: str) -> Words:
    """Reason why a special parameter is unknown."""
    if name in ("$", "!"):
        return say.process_number()
    return say.shells_options() if name == "-" else say.not_known()


def why(text: Text) -> Words:
    """The reason for which a text is not known."""
    for piece in text:
        if piece.doubt is not None:
            return piece.doubt.reason
    return say.value_unknown()
