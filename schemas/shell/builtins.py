"""Bash's builtin commands: each takes the shell and the expanded words and answers with the status."""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING, NamedTuple
from . import launchers
from .effects import record_edits
from .expansion import alternatives, join_with_blanks, shell_quoted
from .interpreter import Commands
from .messages_compiled import say
from .parser import Parser, ShellSyntaxError
from .scanner import BLANKS, is_digits, is_name, is_whole_number, name_end, run_end, word_end
from .session import (
    INPUTS,
    Discard,
    Exit,
    ExpressionError,
    Holding,
    Leave,
    RefusedTarget,
    Return,
    UndecidedError,
)
from .state import Variable
from .syntax import Assignment, Bare, Quoted, Word
from .text import Code, Piece, character, cut, display, hole, is_loose, join_bytes, plain, string_of, unknown_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .expansion import Field
    from .interpreter import Shell
    from .text import Place, Text

_OPTION_LETTERS = {"e": "errexit", "u": "nounset", "x": "xtrace", "f": "noglob", "a": "allexport", "v": "verbose"}
_READ_VALUES = "adinNptu"
"""The options of `read` that take a value."""
PRINTING = ("basename", "dirname", "seq", "tr", "sed")
"""What `programs.TABLE` has, which is imported for a script that runs one of them."""
NOT_RUN = ("expr", "bc", "cut", "awk", "wc", "head", "tail", "xargs", "rev")
"""Programs whose output would follow from what they are given, and that no public launch needs."""
MOST_GIVEN = 100_000
"""How long an input may be that a program is given."""


def _strings(fields: Sequence[Field]) -> list[str] | None:
    """Words as strings; None if one is unknown."""
    found: list[str] = []
    for field in fields:
        string = field.string()
        if string is None:
            return None
        found.append(string)
    return found


def _succeed(_shell: Shell, _fields: list[Field], _place: Place) -> int | None:
    return 0


def _fail(_shell: Shell, _fields: list[Field], _place: Place) -> int | None:
    return 1


def _emit_unknown_output(shell: Shell, _fields: list[Field], place: Place) -> int | None:
    """Write unknown output, for commands whose result depends on the machine."""
    shell.emit_unknown(place)
    return None


def _echo(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Builtin `echo`: write the words, with escapes if asked for."""
    words = fields[1:]
    newline, escapes = True, False
    while words:
        option = words[0].string()
        if option is None or len(option) < 2 or option[0] != "-" or option[1:].strip("neE"):
            break
        newline = newline and "n" not in option
        escapes = (escapes and "E" not in option) or option.rfind("e") > option.rfind("E")
        words = words[1:]
    if shell.out is None:
        return 0
    text = join_with_blanks(words, place)
    if escapes:
        text, is_ended = _decode_pieces(text)
        newline = newline and not is_ended
    shell.emit((*text, *plain("\n", place)) if newline else text)
    return 0


def _decode_pieces(text: Text) -> tuple[Text, bool]:
    """Text with the escapes of `echo -e` decoded, and whether one of them ends the output."""
    pieces: list[Piece] = []
    for piece in text:
        if piece.doubt is not None or "\\" not in piece.text:
            pieces.append(piece)
            continue
        decoded, is_ended = _decode_escapes(piece.text, _ECHO)
        pieces.append(piece._replace(text=decoded, verbatim=False))
        if is_ended:
            return tuple(pieces), True
    return tuple(pieces), False


_PLAIN_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b",
    '"': '"', "'": "'", "?": "?",
}  # fmt: skip
_ECHO = r"[ntr\\abfveEc]|0[0-7]{0,3}"
_PRINTF_B = rf"{_ECHO}|[1-7][0-7]{{0,2}}"
_PRINTF_FORMAT = r"[ntr\\abfveE\"'?]|[0-7]{1,3}"
"""The escapes that each of them decodes, beside those of hexadecimal digits."""


def _decode_escapes(text: str, escapes: str) -> tuple[str, bool]:
    """A text with its escapes decoded, and whether one of them, of the letter c, ends the output."""
    if "\\" not in text:
        return text, False
    import re

    pieces: list[str] = []
    rest = 0
    for found in re.finditer(rf"\\({escapes}|x[0-9a-fA-F]{{1,2}}|u[0-9a-fA-F]{{1,4}}|U[0-9a-fA-F]{{1,8}})", text):
        pieces.append(text[rest : found.start()])
        body = found[1]
        if body == "c":
            return join_bytes(pieces), True
        pieces.append(_PLAIN_ESCAPES.get(body) or character(body))
        rest = found.end()
    return join_bytes([*pieces, text[rest:]]), False


def _printf(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Builtin `printf`: write formatted words, or assign them to a variable with `-v`."""
    words = fields[1:]
    name: str | None = None
    if len(words) > 1 and words[0].string() == "-v":
        name = words[1].string()
        if name is None:
            shell.forget_all(place, say.variable_set_unknown())
            return None
        words = words[2:]
    if words and words[0].string() == "--":
        words = words[1:]
    if not words:
        return 2
    text = _format_words(shell, words, place)
    if name is None:
        shell.emit(text)
        return 0
    if not _is_identifier(name):
        return 2
    if any(_has_nul(word.text()) for word in words):  # a variable ends before it
        text = unknown_text(say.formatted_undecided(), place)
    _assign_target(shell, name, text, place)
    return 0


def _has_nul(text: Text) -> bool:
    """True if an escape in the text writes the character of number zero."""
    string = display(text)
    if "\\" not in string:
        return False
    import re

    escapes = re.finditer(r"\\([0-7]{1,4}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8})", string)
    return any(not character(found[1]) for found in escapes)


def _assign_target(shell: Shell, target: str, value: Text, place: Place) -> None:
    """Assign to a variable or to an element, as `printf -v` and `read` name it."""
    name, _, index = target.partition("[")
    key: int | str | None = None
    if index:
        index = index.removesuffix("]")
        key = shell.key(name, Word((Bare(plain(index, place), index),), place))
        if key is None:
            shell.forget(name, place)
            return
    shell.assign(name, value, key, place=place)


def _format_words(shell: Shell, words: Sequence[Field], place: Place) -> Text:
    """Text of a `printf` format applied to its words, repeated until all are used."""
    import re

    form = words[0].string()
    if form is None or any(word.split for word in words):
        return unknown_text(say.format_unknown(), place)
    arguments = [word.text() for word in words[1:]]
    specifications = re.findall(r"%%|%[-+ #0]*(?:[0-9]+|\*)?(?:\.(?:[0-9]+|\*)?)?[a-zA-Z]|%\([^)]*\)T|[^%]+|%", form)
    pieces: list[Piece] = []
    used = 0
    while True:
        took = False
        for specification in specifications:
            if specification == "%%" or not specification.startswith("%"):
                pieces.extend(
                    plain("%" if specification == "%%" else _decode_escapes(specification, _PRINTF_FORMAT)[0], place)
                )
                continue
            value: Text = ()
            if used < len(arguments):
                value = arguments[used]
                took = True
            used += 1
            made = _one_format(specification, value, place)
            pieces.extend(made)
        shell.spend(len(specifications))
        if used >= len(arguments) or not took:
            return tuple(pieces)


def _one_format(specification: str, value: Text, place: Place) -> Text:
    """Text of one format specification for a value; unknown text if it cannot be computed."""
    import re

    if specification == "%s":
        return value
    string = string_of(value)
    if string is None or "*" in specification or re.search(r"[0-9]{5}", specification) or "_" in string:
        return unknown_text(say.formatted_unknown(), place)
    try:
        made = _by_format(specification, string)
    except (ValueError, TypeError, OverflowError):
        made = None
    return unknown_text(say.formatted_undecided(), place) if made is None else plain(made, place)


def _by_format(specification: str, string: str) -> str | None:
    """Value in a `printf` format; None for unsupported formats."""
    import re

    kind = specification[-1]
    if kind in "diuxXo":
        return (specification[:-1] + "d" if kind in "di" else specification) % int(string or "0", 0)
    if kind in "feEgG":
        return specification % float(string or "0")
    if kind == "s":
        return specification % string
    if kind == "c":
        return string[:1]
    if specification == "%b":
        decoded, is_end = _decode_escapes(string, _PRINTF_B)
        return None if is_end else decoded
    if specification == "%q":
        if not string or not string.isprintable():
            return shell_quoted(string)
        return re.sub(r"[ |&;()<>!{}*\[\]?^$`\"'\\,]|^[~#]|(?<=[:=])~", r"\\\g<0>", string)
    return None


def _cd(shell: Shell, fields: list[Field], _place: Place) -> int | None:
    """Builtin `cd`: change the working directory, which may become unknown."""
    words = [field for field in fields[1:] if field.string() not in ("-P", "-L", "-e", "--")]
    if len(words) > 1 and not any(field.split for field in words):
        return 1
    target = words[0].string() if len(words) == 1 else None
    if target is None or target == "-":
        shell.state.cwd = None
        if words:
            shell.state.variables.pop("PWD", None)
        return None
    if target == "":
        return 0
    full = shell.absolute(target)
    if full is None:
        return None
    shell.went_to = full[1:] if full.startswith("//") else full
    shell.state.cwd = shell.went_to if shell.went_to in shell.directories else None
    return None if shell.state.cwd is None else 0


def _pwd(shell: Shell, _fields: list[Field], place: Place) -> int | None:
    shell.emit((*shell.directory(place), *plain("\n", place)))
    return 0


def _pushd(shell: Shell, _fields: list[Field], _place: Place) -> int | None:
    """Builtin `pushd`, which is not followed: the working directory is unknown from then on."""
    shell.state.cwd = None
    return None


def _set(shell: Shell, fields: list[Field], _place: Place) -> int | None:
    """Builtin `set`: change options and positional parameters."""
    words = fields[1:]
    options = set(shell.state.options)
    ended = False
    while words and not ended:
        word = words[0].string()
        if word is None or word[:1] not in ("-", "+") or word in ("-", "+"):
            break
        words, ended = words[1:], word == "--"
        for letter in word[1:]:
            name = _OPTION_LETTERS.get(letter)
            if letter == "o":
                name, words = words[0].string() if words else None, words[1:]
            if name:
                options.discard(f"?{name}")
                (options.add if word[0] == "-" else options.discard)(name)
    shell.state.options = frozenset(options)
    if words or ended:
        shell.state.positional = tuple([field.as_value() for field in words])
        shell.state.own = shell.not_given
    return 0


def _shift(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Builtin `shift`: drop positional parameters."""
    count = 1
    if len(fields) > 1:
        string = fields[1].string()
        if string is None or not is_digits(string):
            shell.state.positional = (unknown_text(say.shift_unknown(), place),)
            return None
        count = int(string[:9])
    values = shell.state.positional
    if any(is_loose(value) for value in values[:count]):
        return None
    if count > len(values):
        return 1
    shell.state.positional = values[count:]
    return 0


def declare(shell: Shell, name: str, arguments: Sequence[Word | Assignment], place: Place) -> None:
    """`export`, `local`, `declare`, `typeset`, `readonly` with assignments among their arguments."""
    shell.substitution_status = 0
    declaration = _Declaration(shell, name, place)
    for argument in arguments:
        if isinstance(argument, Assignment):
            for each in _each_alternative(shell, argument):
                declaration.one(argument.name, each)
        else:
            for field in shell.fields([argument]):
                declaration.take(field)
    shell.state.status = declaration.status


def _each_alternative(shell: Shell, assignment: Assignment) -> Iterator[Assignment]:
    """`export A={1,2}` as `export A=1 A=2`: braces in these words are expanded as in those of any command."""
    value = assignment.value
    if not isinstance(value, Word):
        yield assignment
        return
    for parts in alternatives(value.parts, shell.spend) or ((),):
        yield assignment._replace(value=value._replace(parts=tuple(parts)))


def _declare(shell: Shell, fields: list[Field], place: Place) -> int | None:
    declaration = _Declaration(shell, fields[0].string() or "declare", place)
    for field in fields[1:]:
        declaration.take(field)
    return declaration.status


class _Declaration:
    """One `declare` command: its options as they are met, and what they make of each name."""

    def __init__(self, shell: Shell, command: str, place: Place) -> None:
        self.shell = shell
        self.command = command
        self.place = place
        self.flags: set[str] = set()
        """The letters given; `+x` for one that is taken away."""
        self.is_misplaced = command == "local" and not shell.state.frames
        self.status = int(self.is_misplaced)
        """The exit status: bash refuses `local` outside of a function, words that are not names, readonly variables."""

    def take(self, field: Field) -> None:
        """An option, a name, or an assignment that only an expansion produced: `export $NAME=value`."""
        string = field.string()
        if string is not None and string[:1] in ("-", "+") and len(string) > 1:
            sign = "" if string[0] == "-" else "+"
            self.flags.update([sign + letter for letter in string[1:]])
            return
        text = display(field.text())
        name, assignment = self._declared(field.text(), text)
        if name:
            self.one(name, assignment)
        elif self._names_no_variable():
            return
        elif string is None:
            self.shell.note(say.effect_unknown(text=text), self.place)
        elif not _is_identifier(string.partition("=")[0].removesuffix("+")):
            self.status = 1

    def _declared(self, text: Text, string: str) -> tuple[str, Assignment | None]:
        """The variable that a word names, and the assignment to it or to an element; an empty name for other words."""
        end = after = name_end(string, 0)
        if not end:
            return (string, None) if is_name(string) else ("", None)
        index: Word | None = None
        if string.startswith("[", end):
            index, after = Parser(Code(self.place.source, text, self.place)).subscript(end) or (None, end)
        operator = next((one for one in ("=", "+=") if string.startswith(one, after)), "")
        if operator:
            value = Word((Quoted(cut(text, after + len(operator), len(string))),), self.place)
            return string[:end], Assignment(string[:end], index, operator == "+=", value, self.place)
        if after < len(string):
            return (string, None) if is_name(string) else ("", None)
        return string[:end], None

    def one(self, name: str, assignment: Assignment | None) -> None:
        """Declare a variable with its value, unless bash refuses it."""
        if self._names_no_variable() or self.is_misplaced:
            return
        if assignment is not None and assignment.subscript is not None and self.command in ("export", "readonly"):
            self.status = 1
            return
        try:
            if self._is_refused(name, assignment):
                raise RefusedTarget
            self._declare(name, assignment)
        except RefusedTarget:
            self.status = 1

    def _declare(self, name: str, assignment: Assignment | None) -> None:
        """Set a variable's attributes and value; RefusedTarget if it is readonly."""
        shell, flags, state = self.shell, self.flags, self.shell.state
        refers = not flags.isdisjoint(("n", "+n")) and self.command != "export"
        value = None if assignment is None else assignment.value
        target = shell.text(value) if refers and isinstance(value, Word) else None
        if target is not None and string_of(target) == name:
            # bash warns of a reference to itself and takes the global variable of that name
            if any(name in frame for frame in state.frames):
                shell.forget(name, self.place)
            return
        self._keep_outer(name)
        found = name if refers else shell.assignment_target(name, self.place)
        if found is None:
            return
        variable = self._with_flags(state.variables.get(found) or Variable(), refers=refers)
        state.variables[found] = variable if target is None else variable._replace(value=target)
        if target is None and assignment is not None:
            shell.perform(self._as_array(assignment) if variable.items is not None else assignment)
        if self.command == "readonly" or "r" in flags:
            state.variables[found] = state.variables[found]._replace(readonly=True)

    def _as_array(self, assignment: Assignment) -> Assignment:
        """An assignment to an array, whose elements may be in a text: `declare -a "A=(1 2)"`."""
        if self.command == "export" or (self.command == "readonly" and self.flags.isdisjoint("aA")):
            return assignment
        if assignment.subscript is not None or not isinstance(assignment.value, Word):
            return assignment
        text = self.shell.text(assignment.value, assigned=True)
        string = display(text)
        if not (string.startswith("(") and string.endswith(")")):
            return assignment._replace(value=assignment.value._replace(parts=(Quoted(text),)))
        try:
            elements = Parser(Code(self.place.source, text, self.place)).elements()
        except ShellSyntaxError as error:
            self.shell.note(error.problem, error.place)
            raise Discard from None
        return assignment._replace(value=elements)

    def _names_no_variable(self) -> bool:
        """True if it is about aliases or functions, or prints."""
        return self.command == "alias" or not self.flags.isdisjoint("fFp")

    def _is_refused(self, name: str, assignment: Assignment | None) -> bool:
        """True for a readonly variable that `declare` or `local` would set or hide; a caller's may be hidden."""
        state = self.shell.state
        held = state.variables.get(name)
        if held is None or not held.readonly or self.command in ("export", "readonly"):
            return False
        if self._is_local() and name not in state.frames[-1]:
            return not any(name in frame for frame in state.frames)
        return assignment is not None and isinstance(assignment.value, Word)

    def _is_local(self) -> bool:
        """True if the names are those of the running function."""
        local = self.command == "local" or (self.command in ("declare", "typeset") and "g" not in self.flags)
        return local and bool(self.shell.state.frames)

    def _keep_outer(self, name: str) -> None:
        """Save a variable's outer value, to be restored when the function ends."""
        state = self.shell.state
        if self._is_local() and name not in state.frames[-1]:
            old = state.frames[-1][name] = state.variables.get(name)
            state.variables[name] = Variable(exported=old is not None and old.exported)

    def _with_flags(self, variable: Variable, *, refers: bool) -> Variable:
        """Variable with the attributes of the declaration's options."""
        flags, command = self.flags, self.command

        def has_flag(held: bool, flag: str) -> bool:
            return (held or flag in flags) and f"+{flag}" not in flags

        exported = has_flag(variable.exported or command == "export", "x")
        if not flags.isdisjoint(("a", "A")) and variable.items is None:
            variable = variable._replace(value=None, items=variable.entries())
        return variable._replace(
            exported=exported and not ("n" in flags and command == "export"),
            integer=has_flag(variable.integer, "i"),
            keyed=variable.keyed or "A" in flags,
            case="u" if "u" in flags else "l" if "l" in flags else variable.case,
            reference=(variable.reference or refers) and "+n" not in flags,
        )


def _is_identifier(text: str) -> bool:
    """True for a name, or a name with a subscript."""
    end = name_end(text, 0)
    return end > 0 and (end == len(text) or (text[end] == "[" and text[-1] == "]"))


def _unset_names(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Builtin `unset`: remove variables, functions or elements; it fails for a readonly one."""
    status = 0
    functions = references = False
    variables = shell.state.variables
    for field in fields[1:]:
        string = field.string() or display(field.text())
        if string.startswith("-"):
            functions, references = "f" in string, "n" in string
        elif "[" in string and not functions:
            status = _unset_item(shell, string, place) or status
        elif functions or string not in variables:
            shell.state.functions.pop(string, None)
        else:
            name = string if references else shell.assignment_target(string, place) or ""
            if name in variables and variables[name].readonly:
                status = 1
            elif name in variables:
                del variables[name]
    return status


def _unset_item(shell: Shell, string: str, place: Place) -> int:
    """Remove an array element, as in `unset 'A[1]'`; the status."""
    name, _, index = string.partition("[")
    name = shell.assignment_target(name, place) or ""
    variable = shell.variable(name)
    if variable is None or variable.items is None:
        return 0
    key: int | str = index.rstrip("]")
    if not variable.keyed:
        if not is_whole_number(key):
            shell.forget(name, place)
            return 0
        key = variable.index_of(int(key))
        if isinstance(key, int) and key < 0:
            return 1
    items = {entry: value for entry, value in variable.items.items() if entry != key}
    shell.state.variables[name] = variable._replace(items=items)
    return 0


def _eval(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Builtin `eval`: run the joined words as code."""
    text = join_with_blanks(fields[1:], place)
    if text and text[0].doubt is not None:
        # Without its first word nothing is known of a command.
        shell.note(say.effect_unknown(text=display(text)), place)
    with Holding(shell, calls=shell.calls, code_own=shell.not_given):
        shell.descend()
        return _run_text(shell, text, place)


def _run_text(shell: Shell, text: Text, place: Place) -> int | None:
    """Run assembled text as code in this shell."""
    shell.state.status = 0
    shell.run_code(Code(place.source, text, place))
    return shell.state.status


def _source(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Builtin `source`: run a file in this shell."""
    if len(fields) < 2:
        return 2
    path = fields[1].string()
    if path is None:
        shell.note(say.source_unknown(text=display(fields[1].text())), place)
        return None
    if path in INPUTS and shell.input.text is not None:
        return _run_text(shell, shell.input.text, place)
    kept = shell.state.positional
    if len(fields) > 2:
        shell.state.positional = tuple([field.as_value() for field in fields[2:]])
    shell.state.status = 0
    try:
        if not shell.run_file(path, place):
            return None
    finally:
        if len(fields) > 2:
            shell.state.positional = kept
    return shell.state.status


def _given_status(shell: Shell, fields: list[Field]) -> int | None:
    if len(fields) < 2:
        return shell.state.status
    string = fields[1].string()
    return int(string) & 255 if string is not None and is_whole_number(string) else None


def _return(shell: Shell, fields: list[Field], _place: Place) -> int | None:
    shell.state.status = _given_status(shell, fields)
    if not shell.returned:
        return 2  # bash refuses it outside of a function and goes on
    raise Return


def _exit(shell: Shell, fields: list[Field], place: Place) -> int | None:
    shell.state.status = _given_status(shell, fields)
    shell.ended = place
    raise Exit(shell.state.status)


def _leave_loops(shell: Shell, fields: list[Field], _place: Place) -> int | None:
    """Builtins `break` and `continue`: leave or restart loops."""
    if not shell.loops:
        return 0
    levels = 1
    if len(fields) > 1:
        string = fields[1].string() or "1"
        levels = max(int(string[:6]), 1) if is_digits(string) else 1
    shell.state.status = 0
    levels = min(levels, shell.loops)
    raise Leave(levels, again=fields[0].string() == "continue")


def _test(shell: Shell, fields: list[Field], _place: Place) -> int | None:
    """Builtins `test` and `[`."""
    words = fields[1:]
    if fields[0].string() == "[":
        if not words or words[-1].string() != "]":
            return 2 if not words or words[-1].string() is not None else None
        words = words[:-1]
    from .conditions import plain_test

    return plain_test(shell, words)


def _let(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Builtin `let`: evaluate arithmetic; status 1 if the last result is 0."""
    found = 0
    for field in fields[1:]:
        string = field.string()
        try:
            if string is None:
                raise UndecidedError
            found = shell.evaluate(string, place)
        except UndecidedError:
            text = display(field.text())
            name = text[: word_end(text, 0)]
            if name:
                shell.forget(name, place)
            return None
        except ExpressionError:
            return 1
    return int(found == 0)


class _ReadRequest(NamedTuple):
    """The targets and options of a `read`; `sure` is False if its words or options leave them open."""

    names: list[str]
    array: str | None
    options: dict[str, str]
    sure: bool

    def targets(self) -> list[str]:
        return [*self.names, *([self.array] if self.array else [])] or ["REPLY"]


def _read_request(fields: Sequence[Field]) -> _ReadRequest:
    """Variables and options that a `read` command asks for."""
    names: list[str] = []
    options: dict[str, str] = {}
    waiting = [field.string() for field in fields]
    sure = None not in waiting
    while waiting:
        word = waiting.pop(0)
        if word is None:
            continue
        if names or not word.startswith("-") or len(word) == 1:
            names.append(word)
            continue
        for number, letter in enumerate(word[1:], 2):
            options[letter] = ""
            if letter in _READ_VALUES:
                options[letter] = word[number:] or (waiting.pop(0) if waiting else "") or ""
                break
    return _ReadRequest(names, options.get("a"), options, sure and options.keys().isdisjoint("inNu"))


def _read(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Builtin `read`: take a line of input into variables."""
    asked = _read_request(fields[1:])
    options = asked.options
    given = shell.input.string()
    if given is None or not asked.sure or ("r" not in options and "\\" in given):
        _read_unknown(shell, asked, place)
        return None
    if not all(map(_is_identifier, asked.targets())):
        return 1
    line, found, rest = given.partition((options["d"][:1] or "\0") if "d" in options else "\n")
    shell.input.text = plain(rest, place)
    separators = shell.separators()
    if separators is None:
        for name in asked.targets():
            shell.forget(name.partition("[")[0], place)
        return None
    _take_words(shell, asked, line, separators, place)
    return 0 if found else 1


def _take_words(shell: Shell, asked: _ReadRequest, line: str, separators: str, place: Place) -> None:
    """Assign a line's words to the variables or the array of a `read`."""
    if asked.array is not None:
        items: dict[int | str, Text] = {
            number: plain(word, place) for number, word in enumerate(_split(line, separators, 0))
        }
        _set_array(shell, asked.array, items, place)
        return
    words = _split(line, separators, len(asked.names)) if asked.names else [line]
    for number, name in enumerate(asked.names or ["REPLY"]):
        _assign_target(shell, name, plain(words[number] if number < len(words) else "", place), place)


def _read_unknown(shell: Shell, asked: _ReadRequest, place: Place) -> None:
    """Set the variables of a `read` to unknown values."""
    for target in asked.targets():
        name = target.partition("[")[0]
        if not is_name(name):
            continue
        if name == asked.array or name != target:
            shell.undecided_reason = say.unread_input()
            shell.forget(name, place)
        else:
            shell.assign(name, hole(say.unread_input(), place), None, place=place)


def _set_array(shell: Shell, name: str, items: Mapping[int | str, Text], place: Place) -> None:
    found = shell.assignment_target(name, place)
    if found is not None:
        old = shell.state.variables.get(found) or Variable()
        shell.require_writable(old)
        shell.state.variables[found] = old._replace(value=None, items=items, own=shell.not_given)


def _split(line: str, separators: str, most: int) -> list[str]:
    """The words of a line for `read`; the last of `most` takes the rest."""
    blanks = "".join([char for char in separators if char in BLANKS])
    marks = separators.translate(dict.fromkeys(map(ord, BLANKS)))
    if not separators:
        return [line]
    words: list[str] = []
    line = line.lstrip(blanks)
    while line:
        if most and len(words) == most - 1:
            rest = line.rstrip(blanks)
            # a mark that ends the last word is dropped
            if rest and rest[-1] in marks and not any(char in separators for char in rest[:-1]):
                rest = rest[:-1]
            return [*words, rest]
        end = run_end(line, 0, len(line), separators)
        words.append(line[:end])
        line = line[end:].lstrip(blanks)
        if line and line[0] in marks:
            line = line[1:].lstrip(blanks)
    return words


def _mapfile(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Builtin `mapfile`: take all input lines into an array."""
    name = "MAPFILE"
    strip = False
    sure = True
    for field in fields[1:]:
        word = field.string()
        if word == "-t":
            strip = True
        elif word is not None and is_name(word):
            name = word
        else:
            sure = False
    given = shell.input.string()
    if given is None or not sure:
        shell.undecided_reason = say.unread_input()
        shell.forget(name, place)
        return None
    from .programs import lines_of

    lines = lines_of(given, ends=not strip)
    _set_array(shell, name, {number: plain(line, place) for number, line in enumerate(lines)}, place)
    return 0


def _getopts(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Builtin `getopts`: parse the next option."""
    words = _strings(fields[1:3])
    if words is None or len(words) < 2:
        return None
    options, name = words
    values = tuple([field.as_value() for field in fields[3:]]) if len(fields) > 3 else shell.state.positional
    arguments = [string_of(value) for value in values]
    position, inner = _variable_string(shell, "OPTIND", "1"), _variable_string(shell, "_accmap_optpos", "1")
    if position is None or not is_whole_number(position) or None in arguments:
        for target in (name, "OPTARG", "OPTIND"):
            shell.forget(target, place)
        return None
    found = _next_option(
        options, [argument or "" for argument in arguments], max(int(position), 1), _offset_or_one(inner)
    )
    _set_option_value(shell, found, values, place)
    for target, text in ((name, found.letter), ("OPTIND", found.position), ("_accmap_optpos", found.offset)):
        shell.assign(target, plain(str(text), place), None, place=place)
    return found.status


def _offset_or_one(inner: str | None) -> int:
    return int(inner) if inner is not None and is_whole_number(inner) else 1


def _set_option_value(shell: Shell, found: _Option, values: Sequence[Text], place: Place) -> None:
    """Set OPTARG after a `getopts` call."""
    if isinstance(found.value, int):
        shell.assign("OPTARG", values[found.value], None, place=place)
    elif found.value is not None:
        shell.assign("OPTARG", plain(found.value, place), None, place=place)
    elif not found.status:
        shell.state.variables.pop("OPTARG", None)


class _Option(NamedTuple):
    """Result of one call of `getopts`, and the start of the next; a value is a text or the number of a word."""

    letter: str
    position: int
    offset: int = 1
    value: str | int | None = None
    status: int = 0


def _next_option(options: str, arguments: Sequence[str], at: int, offset: int) -> _Option:
    """Next option for `getopts` from a position: letter, new position, value and status."""
    word = arguments[at - 1] if at <= len(arguments) else ""
    if not word.startswith("-") or word in ("-", "--"):
        return _Option("?", at + (word == "--"), status=1)
    letter = word[offset] if 0 < offset < len(word) else word[1]
    silent, known_ones = options.startswith(":"), options.lstrip(":")
    more = offset + 1 < len(word)
    following = (at, offset + 1) if more else (at + 1, 1)
    where = known_ones.find(letter) if letter != ":" else -1
    if where < 0:
        return _Option("?", *following, letter if silent else None)
    if known_ones[where + 1 : where + 2] != ":":
        return _Option(letter, *following)
    if more:
        return _Option(letter, at + 1, 1, word[offset + 1 :])
    if at < len(arguments):
        return _Option(letter, at + 2, 1, at)
    return _Option(":", at + 1, 1, letter) if silent else _Option("?", at + 1)


def _variable_string(shell: Shell, name: str, otherwise: str) -> str | None:
    """Text of a variable, `otherwise` if unset; None if unknown."""
    variable = shell.variable(name)
    return otherwise if variable is None or variable.value is None else string_of(variable.value)


def _command(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Builtins `command`, `builtin` and `exec`: run the words without functions."""
    words = fields[1:]
    name = fields[0].string()
    while words and (words[0].string() or "").startswith("-"):
        option = words[0].string() or ""
        words = words[1:]
        if name == "command" and ("v" in option or "V" in option):
            return _which(shell, words[0].string() if words else None, place)
        if name == "exec" and option == "-a":
            words = words[1:]
    if not words:
        return 0
    shell.invoke(words, (), (), place, functions=False)
    if name == "exec":
        shell.ended = place
        raise Exit(shell.state.status)
    return shell.state.status


def _which(shell: Shell, target: str | None, place: Place) -> int | None:
    """Result of `command -v`."""
    if target in TABLE or target in shell.state.functions:
        shell.emit(plain(f"{target}\n", place))
        return 0
    shell.emit_unknown(place)
    return None


def _type(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Builtin `type`: output unknown; succeeds for a known builtin or function."""
    target = fields[-1].string()
    shell.emit_unknown(place)
    return 0 if target in TABLE or target in shell.state.functions else None


def _shopt(shell: Shell, fields: list[Field], _place: Place) -> int | None:
    """Builtin `shopt`: switch shell options."""
    words = _strings(fields[1:]) or []
    options = set(shell.state.options)
    for word in words:
        if not word.startswith("-"):
            options.discard(f"?shopt-{word}")
            (options.add if "-s" in words else options.discard)("shopt-" + word)
    shell.state.options = frozenset(options)
    return 0


def _program(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Run an emulated program."""
    name = fields[0].string() or ""
    if name == "xargs" and len(fields) > 1:
        launchers.start(shell, fields, {}, shell.input, place)
        return None
    words = _strings(fields[1:])
    if name in ("sed", "awk"):
        record_edits(shell, name, fields[1:], shell.input.text, place)
    if name == "sed" and not (words and words[0].startswith(("s/", "s|", "s#", "s,"))):
        for field in fields[1:]:
            shell.touch(field.string() or "")
    if shell.out is None:
        return None
    if name in NOT_RUN:
        shell.emit_unknown(place, say.program_not_run(name=name))
        return None
    if words is None:
        shell.note_doubt(tuple([piece for field in fields for piece in field.pieces]))
        shell.emit_unknown(place, shell.undecided_reason)
        return None
    return _cat(shell, words, place) if name == "cat" else _run_small_program(shell, name, words, place)


def _run_small_program(shell: Shell, name: str, words: list[str], place: Place) -> int | None:
    """Run an emulated program such as `sed` on words and input; its output is unknown if it cannot."""
    given = shell.input.string()
    if name == "sed" and len(words) > 1 and not words[-2].startswith("-"):
        *words, file = words  # an expression and the one file that it is for
        held = shell.content(file)
        given = None if held is None else string_of(held)
    printed = None
    if given is None or len(given) <= MOST_GIVEN:
        shell.spend(5 + len(given or "") // 64)
        from . import programs

        printed = programs.TABLE[name](words, given)
    if printed is None:
        shell.emit_unknown(place)
        return None
    shell.emit(plain(printed[0], place))
    return printed[1]


def _cat(shell: Shell, words: Sequence[str], place: Place) -> int | None:
    """Program `cat`: write known files or the input."""
    if words in ([], ["-"]):
        given = shell.input.string()
        if shell.input.text is None or (given is not None and len(given) > MOST_GIVEN):
            shell.emit_unknown(place)
            return None
        shell.spend(5 + len(given or "") // 64)
        shell.emit(shell.input.text)
        return 0
    held = [None if word.startswith("-") else shell.content(word) for word in words]
    if None in held:
        options = any(word.startswith("-") for word in words)
        shell.emit_unknown(place, None if options else say.what_a_file_holds())
        return None
    for text in held:
        shell.emit(text or ())
    return 0


def _realpath(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """Programs `realpath` and `readlink -f` for known files."""
    words = _strings(fields[1:]) or []
    paths = [word for word in words if not word.startswith("-")]
    options = {word for word in words if word.startswith("-")}
    needs = fields[0].string() == "readlink"
    sure = options <= {"-f", "-e", "-m", "-s"} and not (needs and options.isdisjoint(("-f", "-e", "-m")))
    full = shell.absolute(paths[0]) if len(paths) == 1 and paths[0] and sure else None
    if full in shell.files or full in shell.directories:
        shell.emit(plain(f"{full}\n", place))
        return 0
    shell.emit_unknown(place)
    return None


TABLE: dict[str, Callable[[Shell, list[Field], Place], int | None]] = {
    ":": _succeed, "true": _succeed, "false": _fail, "echo": _echo, "printf": _printf, "cd": _cd, "chdir": _cd,
    "pwd": _pwd, "pushd": _pushd, "popd": _pushd, "set": _set, "shift": _shift, "export": _declare,
    "declare": _declare, "typeset": _declare, "local": _declare, "readonly": _declare, "unset": _unset_names,
    "eval": _eval, "source": _source, ".": _source, "return": _return, "exit": _exit, "logout": _exit,
    "break": _leave_loops, "continue": _leave_loops, "test": _test, "[": _test, "let": _let, "read": _read,
    "mapfile": _mapfile, "readarray": _mapfile, "getopts": _getopts, "command": _command, "builtin": _command,
    "exec": _command, "type": _type, "shopt": _shopt, "trap": _succeed, "alias": _succeed, "unalias": _succeed,
    "umask": _succeed, "ulimit": _emit_unknown_output, "hash": _succeed, "wait": _emit_unknown_output,
    "jobs": _emit_unknown_output, "times": _emit_unknown_output,
    "kill": _emit_unknown_output, "disown": _succeed, "enable": _succeed, "complete": _succeed, "bind": _succeed,
    "history": _succeed, "realpath": _realpath, "readlink": _realpath,
    "cat": _program, **dict.fromkeys((*PRINTING, *NOT_RUN), _program),
}  # fmt: skip

COMMANDS = Commands(TABLE, declare, launchers.start)
