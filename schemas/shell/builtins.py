"""Bash's builtin commands: each takes the shell and the expanded words and answers with the status."""

from __future__ import annotations

import posixpath

from ..light_typing import TYPE_CHECKING
from . import conditions, launchers, programs, tree
from .arithmetic import ExpressionError, UndecidedError
from .expansion import shell_quoted, spaced
from .flow import Exit, Leave, Return
from .interpreter import Commands
from .scanning import is_digits, is_name, is_whole_number, name_end, word_end
from .state import Variable
from .syntax import Assignment, Bare, Word
from .text import Code, Piece, known, plain, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .expansion import Field
    from .interpreter import Shell
    from .text import Place, Text

_OPTION_LETTERS = {"e": "errexit", "u": "nounset", "x": "xtrace", "f": "noglob", "a": "allexport", "v": "verbose"}


def _strings(fields: Sequence[Field]) -> list[str] | None:
    """The words, or None where one of them is not known."""
    found: list[str] = []
    for field in fields:
        string = field.known()
        if string is None:
            return None
        found.append(string)
    return found


def _nothing(_shell: Shell, _fields: list[Field], _place: Place) -> int | None:
    return 0


def _true(_shell: Shell, _fields: list[Field], _place: Place) -> int | None:
    return 0


def _false(_shell: Shell, _fields: list[Field], _place: Place) -> int | None:
    return 1


def _unsure(shell: Shell, _fields: list[Field], place: Place) -> int | None:
    shell.emit_unknown(place)
    return None


def _echo(shell: Shell, fields: list[Field], place: Place) -> int | None:
    words = fields[1:]
    newline, escapes = True, False
    while words:
        option = words[0].known()
        if option is None or len(option) < 2 or option[0] != "-" or option[1:].strip("neE"):
            break
        newline = newline and "n" not in option
        for letter in option:
            escapes = letter == "e" if letter in "eE" else escapes
        words = words[1:]
    if shell.out is None:
        return 0
    pieces: list[Piece] = []
    for number, field in enumerate(words):
        if number:
            pieces.extend(plain(" ", place))
        for piece in field.pieces:
            if escapes and piece.doubt is None and "\\" in piece.text:
                pieces.append(Piece(_unescaped(piece.text), piece.place, False, piece.chain))
            else:
                pieces.append(piece)
    if newline:
        pieces.extend(plain("\n", place))
    shell.emit(tuple(pieces))
    return 0


def _unescaped(text: str) -> str:
    """The escapes that `echo -e` and `printf %b` know."""
    import re

    def one(found: re.Match[str]) -> str:
        body = found[1]
        simple = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
        if body in simple:
            return simple[body]
        digits = body[1:]
        code = int(digits or "0", 16 if body[0] == "x" else 8)
        return chr(code & 0xFF)

    return re.sub(r"\\(n|t|r|\\|a|b|f|v|e|0[0-7]{0,3}|x[0-9a-fA-F]{1,2})", one, text)


def _printf(shell: Shell, fields: list[Field], place: Place) -> int | None:
    import re

    words = fields[1:]
    name: str | None = None
    if len(words) > 1 and words[0].known() == "-v":
        name = words[1].known()
        if name is None:
            shell.forget_all(place, "which variable is set is not known")
            return None
        words = words[2:]
    if words and words[0].known() == "--":
        words = words[1:]
    if not words:
        return 2
    text = _formatted(shell, words, place)
    if name is not None:
        match = re.fullmatch(r"([A-Za-z_]\w*)(?:\[(.*)\])?", name)
        if match is None:
            return 2
        key: int | str | None = None
        if match[2] is not None:
            key = shell.key(match[1], Word((Bare(plain(match[2], place), match[2]),), place))
            if key is None:
                shell.forget(match[1], place)
                return 0
        shell.assign(match[1], text, key, place=place)
    else:
        shell.emit(text)
    return 0


def _formatted(shell: Shell, words: Sequence[Field], place: Place) -> Text:
    import re

    form = words[0].known()
    if form is None or any(word.split for word in words):
        return unknown("its format or its arguments are not known", place)
    arguments = [word.text() for word in words[1:]]
    specifications = re.findall(r"%%|%[-+ #0]*(?:[0-9]+|\*)?(?:\.(?:[0-9]+|\*)?)?[a-zA-Z]|%\([^)]*\)T|[^%]+|%", form)
    pieces: list[Piece] = []
    used = 0
    while True:
        took = False
        for specification in specifications:
            if specification == "%%" or not specification.startswith("%"):
                pieces.extend(plain("%" if specification == "%%" else _unescaped(specification), place))
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
    import re

    kind = specification[-1]
    if specification == "%s":
        return value
    string = known(value)
    if string is None or "*" in specification or re.search(r"[0-9]{5}", specification) or "_" in string:
        return unknown("a formatted value that is not known", place)
    try:
        if kind in "di":
            return plain(specification[:-1].__add__("d") % int(string or "0", 0), place)
        if kind in "uxXo":
            return plain(specification % int(string or "0", 0), place)
        if kind in "feEgG":
            return plain(specification % float(string or "0"), place)
        if kind == "s":
            return plain(specification % string, place)
        if kind == "c":
            return plain(string[:1], place)
        if specification == "%b":
            return plain(_unescaped(string), place)
        if specification == "%q":
            return plain(string if re.fullmatch(r"[\w./:=@%+,-]+", string) else shell_quoted(string), place)
    except (ValueError, TypeError, OverflowError):
        pass
    return unknown("a formatted value that cannot be decided", place)


def _cd(shell: Shell, fields: list[Field], _place: Place) -> int | None:
    words = [field for field in fields[1:] if field.known() not in ("-P", "-L", "-e", "--")]
    if not words:
        shell.state.cwd = None
        return None
    target = words[0].known()
    if target is None or target == "-" or len(words) > 1:
        if len(words) > 1 and not any(field.split for field in words):
            return 1
        shell.state.cwd = None
        shell.state.variables.pop("PWD", None)
        return None
    if target == "":
        return 0
    here = shell.state.cwd
    if here is None and not target.startswith("/"):
        return None
    full = posixpath.normpath(posixpath.join(here or "/", target))
    if full.startswith("//"):
        full = full[1:]
    shell.went_to = full
    if full in shell.directories:
        shell.state.cwd = full
        return 0
    shell.state.cwd = None
    return None


def _pwd(shell: Shell, _fields: list[Field], place: Place) -> int | None:
    shell.emit((*shell.directory(place), *plain("\n", place)))
    return 0


def _pushd(shell: Shell, _fields: list[Field], _place: Place) -> int | None:
    shell.state.cwd = None
    return None


def _set(shell: Shell, fields: list[Field], _place: Place) -> int | None:
    words = fields[1:]
    options = set(shell.state.options)
    at = 0
    while at < len(words):
        word = words[at].known()
        if word is None or (word[:1] not in ("-", "+")) or word in ("-", "+"):
            break
        at += 1
        if word == "--":
            shell.state.positional = tuple([field.settled() for field in words[at:]])
            shell.state.options = frozenset(options)
            return 0
        on = word[0] == "-"
        for letter in word[1:]:
            name = _OPTION_LETTERS.get(letter)
            if letter == "o":
                name = words[at].known() if at < len(words) else None
                at += 1
            if name:
                (options.add if on else options.discard)(name)
    shell.state.options = frozenset(options)
    if at < len(words):
        shell.state.positional = tuple([field.settled() for field in words[at:]])
    return 0


def _shift(shell: Shell, fields: list[Field], place: Place) -> int | None:
    count = 1
    if len(fields) > 1:
        string = fields[1].known()
        if string is None or not is_digits(string):
            shell.state.positional = (unknown("how far the arguments are shifted is not known", place),)
            return None
        count = int(string[:9])
    values = shell.state.positional
    for value in values[:count]:
        if any(piece.doubt is not None and piece.doubt.loose for piece in value):
            return None
    if count > len(values):
        return 1
    shell.state.positional = values[count:]
    return 0


def declare(shell: Shell, name: str, arguments: Sequence[Word | Assignment], place: Place) -> None:
    """`export`, `local`, `declare`, `typeset`, `readonly` with assignments among their arguments."""
    flags = ""
    shell.substitution_status = 0
    for argument in arguments:
        if isinstance(argument, Assignment):
            _declare_one(shell, name, flags, argument.name, argument, place)
            continue
        for field in shell.fields([argument]):
            string = field.known()
            if string is None:
                _declare_field(shell, name, flags, field, place)
            elif string[:1] in ("-", "+") and len(string) > 1:
                flags += string[1:] if string[0] == "-" else ""
                if string in ("+x", "+i", "+n"):
                    flags += string
            else:
                _declare_field(shell, name, flags, field, place)
    shell.state.status = 0


def _declare_field(shell: Shell, name: str, flags: str, field: Field, place: Place) -> None:
    """One argument that only an expansion produced: `export $NAME=value`."""
    text = shown(field.text())
    end = name_end(text, 0)
    operator = "=" if text.startswith("=", end) else "+=" if text.startswith("+=", end) else ""
    if not end or not operator:
        if is_name(text):
            _declare_one(shell, name, flags, text, None, place)
        elif field.known() is None and name != "alias" and not set(flags) & set("fFp"):
            shell.note("effect-unknown", place, text=text)
        return
    _declare_one(shell, name, flags, text[:end], None, place)
    skip = end + len(operator)
    value: list[Piece] = []
    for piece in field.pieces:
        if skip >= len(piece.text) and piece.doubt is None:
            skip -= len(piece.text)
            continue
        value.append(piece.cut(skip, len(piece.text)) if skip and piece.doubt is None else piece)
        skip = 0
    shell.assign(text[:end], tuple(value), None, place=place, append=operator == "+=")


def _declare_one(
    shell: Shell, command: str, flags: str, name: str, assignment: Assignment | None, place: Place
) -> None:
    if command == "alias" or "f" in flags or "F" in flags or "p" in flags:
        return
    state = shell.state
    inside = bool(state.frames)
    local = command == "local" or (command in ("declare", "typeset") and inside and "g" not in flags)
    target: Text | None = None
    refers = "n" in flags and command != "export"
    if refers and assignment is not None and isinstance(assignment.value, Word):
        target = shell.text(assignment.value)
        if known(target) == name:
            # bash warns of the circle and takes the global variable of that name
            if any(name in frame for frame in state.frames):
                shell.forget(name, place)
            return
    if local and inside:
        frame = state.frames[-1]
        if name not in frame:
            frame[name] = state.variables.get(name)
            old = state.variables.get(name)
            state.variables[name] = Variable(exported=old.exported if old is not None else False)
    if not refers:
        found = shell.plain_name(name, place)
        if found is None:
            return
        name = found
    variable = state.variables.get(name) or Variable()
    exported = variable.exported or command == "export" or "x" in flags
    if ("n" in flags and command == "export") or "+x" in flags:
        exported = False
    case = "u" if "u" in flags else "l" if "l" in flags else variable.case
    items = variable.items
    value = variable.value
    if ("a" in flags or "A" in flags) and items is None:
        items = {} if value is None else {0: value}
        value = None
    state.variables[name] = variable._replace(
        value=value,
        items=items,
        exported=exported,
        integer=variable.integer or "i" in flags,
        keyed=variable.keyed or "A" in flags,
        case=case,
        reference=(variable.reference or refers) and "+n" not in flags,
    )
    if target is not None:
        state.variables[name] = state.variables[name]._replace(value=target)
    elif assignment is not None:
        shell.perform(assignment)
    if command == "readonly" or "r" in flags:
        state.variables[name] = state.variables[name]._replace(readonly=True)


def _declaring(shell: Shell, fields: list[Field], place: Place) -> int | None:
    name = fields[0].known() or "declare"
    flags = ""
    for field in fields[1:]:
        string = field.known()
        if string is not None and string[:1] in ("-", "+") and len(string) > 1:
            flags += string[1:] if string[0] == "-" else string
        else:
            _declare_field(shell, name, flags, field, place)
    return 0


def _unset(shell: Shell, fields: list[Field], place: Place) -> int | None:
    functions = references = False
    for field in fields[1:]:
        string = field.known() or shown(field.text())
        if string.startswith("-"):
            functions, references = "f" in string, "n" in string
        elif functions:
            shell.state.functions.pop(string, None)
        elif "[" in string:
            name, _, index = string.partition("[")
            name = shell.plain_name(name, place) or ""
            variable = shell.variable(name)
            if variable is not None and variable.items is not None:
                key: int | str = index.rstrip("]")
                if not variable.keyed:
                    if not is_whole_number(str(key)):
                        shell.forget(name, place)
                        continue
                    key = int(key)
                    if key < 0:
                        key += max([int(entry) for entry in variable.items], default=-1) + 1
                items = {entry: value for entry, value in variable.items.items() if entry != key}
                shell.state.variables[name] = variable._replace(items=items)
        elif string in shell.state.variables:
            if not references:
                string = shell.plain_name(string, place) or ""
            held = shell.state.variables.get(string)
            if held is not None and not held.readonly:
                del shell.state.variables[string]
        else:
            shell.state.functions.pop(string, None)
    return 0


def _eval(shell: Shell, fields: list[Field], place: Place) -> int | None:
    text = spaced(fields[1:], place)
    if text and text[0].doubt is not None:
        # Without its first word nothing is known of a command.
        shell.note("effect-unknown", place, text=shown(text))
    shell.calls += 1
    try:
        if shell.calls > 30:
            shell.spend(1_000_000_000)
        shell.state.status = 0
        shell.run_code(Code(place.source, text, place))
    finally:
        shell.calls -= 1
    return shell.state.status


def _source(shell: Shell, fields: list[Field], place: Place) -> int | None:
    if len(fields) < 2:
        return 2
    path = fields[1].known()
    if path is None:
        shell.note("source-unknown", place, text=shown(fields[1].text()))
        return None
    if path in tree.INPUTS and shell.input.text is not None:
        shell.state.status = 0
        shell.run_code(Code(place.source, shell.input.text, place))
        return shell.state.status
    kept = shell.state.positional
    if len(fields) > 2:
        shell.state.positional = tuple([field.settled() for field in fields[2:]])
    shell.state.status = 0
    try:
        if not shell.run_file(path, place):
            return None
    finally:
        if len(fields) > 2:
            shell.state.positional = kept
    return shell.state.status


def _status(shell: Shell, fields: list[Field]) -> int | None:
    if len(fields) < 2:
        return shell.state.status
    string = fields[1].known()
    return int(string) & 255 if string is not None and is_whole_number(string) else None


def _return(shell: Shell, fields: list[Field], _place: Place) -> int | None:
    shell.state.status = _status(shell, fields)
    if not shell.returned:
        return 1
    raise Return


def _exit(shell: Shell, fields: list[Field], place: Place) -> int | None:
    shell.state.status = _status(shell, fields)
    shell.ended = place
    raise Exit(shell.state.status)


def _leave(shell: Shell, fields: list[Field], _place: Place) -> int | None:
    if not shell.loops:
        return 0
    levels = 1
    if len(fields) > 1:
        string = fields[1].known() or "1"
        levels = max(int(string[:6]), 1) if is_digits(string) else 1
    shell.state.status = 0
    levels = min(levels, shell.loops)
    raise Leave(levels, again=fields[0].known() == "continue")


def _test(shell: Shell, fields: list[Field], place: Place) -> int | None:
    words = fields[1:]
    if fields[0].known() == "[":
        if not words or words[-1].known() != "]":
            return 2 if not words or words[-1].known() is not None else None
        words = words[:-1]
    return conditions.plain_test(shell, words, place)


def _let(shell: Shell, fields: list[Field], place: Place) -> int | None:
    found = 0
    for field in fields[1:]:
        string = field.known()
        if string is None:
            text = shown(field.text())
            name = text[: word_end(text, 0)]
            if name:
                shell.forget(name, place)
            return None
        try:
            found = shell.evaluate(string, place)
        except UndecidedError:
            name = string[: word_end(string, 0)]
            if name:
                shell.forget(name, place)
            return None
        except ExpressionError:
            return 1
    return int(found == 0)


def _read(shell: Shell, fields: list[Field], place: Place) -> int | None:  # noqa: C901 - one grammar, read in one place
    names: list[str] = []
    array: str | None = None
    raw, delimiter, at = False, "\n", 1
    sure = True
    while at < len(fields):
        word = fields[at].known()
        at += 1
        if word is None:
            sure = False
            continue
        if word.startswith("-") and len(word) > 1 and not names:
            for number, letter in enumerate(word[1:], 1):
                if letter in "adinNptu":
                    value = word[number + 1 :]
                    if not value and at < len(fields):
                        value = fields[at].known() or ""
                        at += 1
                    if letter == "a":
                        array = value
                    elif letter == "d":
                        delimiter = value[:1] or "\0"
                    elif letter in "inNu":
                        sure = False
                    break
                raw = raw or letter == "r"
        else:
            names.append(word)
    given = shell.input.known()
    targets = [*names, *([array] if array else [])] or ["REPLY"]
    if given is None or not sure or (not raw and "\\" in given):
        for name in targets:
            if is_name(name):
                text = unknown("it is read from an input that is not known", place)
                if name == array:
                    shell.undecided_reason = text[0].doubt.reason if text[0].doubt else ""
                    shell.forget(name, place)
                else:
                    shell.assign(name, (text[0]._replace(text=""),), None, place=place)
        return None
    line, found, rest = given.partition(delimiter)
    shell.input.text = plain(rest, place)
    separators = shell.separators()
    if separators is None:
        for name in targets:
            shell.forget(name, place)
        return None
    if array is not None:
        items: dict[int | str, Text] = {}
        for number, word in enumerate(_split(line, separators, 0)):
            items[number] = plain(word, place)
        array = shell.plain_name(array, place)
        if array is not None:
            old = shell.state.variables.get(array) or Variable()
            shell.state.variables[array] = old._replace(value=None, items=items)
    elif not names:
        shell.assign("REPLY", plain(line, place), None, place=place)
    else:
        words = _split(line, separators, len(names))
        for number, name in enumerate(names):
            shell.assign(name, plain(words[number] if number < len(words) else "", place), None, place=place)
    return 0 if found else 1


def _split(line: str, separators: str, most: int) -> list[str]:
    """The words of a line for `read`; the last of `most` takes the rest."""
    blanks = "".join([char for char in separators if char in " \t\n"])
    if not separators:
        return [line]
    words: list[str] = []
    at, size = 0, len(line)
    while at < size and line[at] in blanks:
        at += 1
    while at < size:
        if most and len(words) == most - 1:
            rest = line[at:].rstrip(blanks) if blanks else line[at:]
            if (
                rest
                and rest[-1] in separators
                and rest[-1] not in blanks
                and not any(char in separators for char in rest[:-1])
            ):
                rest = rest[:-1]
            words.append(rest)
            return words
        start = at
        while at < size and line[at] not in separators:
            at += 1
        words.append(line[start:at])
        while at < size and line[at] in blanks:
            at += 1
        if at < size and line[at] in separators and line[at] not in blanks:
            at += 1
            while at < size and line[at] in blanks:
                at += 1
    return words


def _mapfile(shell: Shell, fields: list[Field], place: Place) -> int | None:
    name = "MAPFILE"
    strip = False
    sure = True
    for field in fields[1:]:
        word = field.known()
        if word == "-t":
            strip = True
        elif word is not None and is_name(word):
            name = word
        else:
            sure = False
    given = shell.input.known()
    if given is None or not sure:
        shell.undecided_reason = "it is read from an input that is not known"
        shell.forget(name, place)
        return None
    lines = programs.lines_of(given, ends=not strip)
    found = shell.plain_name(name, place)
    if found is not None:
        shell.state.variables[found] = Variable(None, {number: plain(line, place) for number, line in enumerate(lines)})
    return 0


def _getopts(shell: Shell, fields: list[Field], place: Place) -> int | None:  # noqa: C901 - one grammar, read in one place
    words = _strings(fields[1:3])
    if words is None or len(words) < 2:
        return None
    options, name = words
    values: tuple[Text, ...] = shell.state.positional
    if len(fields) > 3:
        values = tuple([field.settled() for field in fields[3:]])
    arguments = [known(value) for value in values]
    position = shell.variable("OPTIND")
    at_text = known(position.value) if position is not None and position.value is not None else "1"
    inner = shell.variable("_accmap_optpos")
    offset_text = known(inner.value) or "" if inner is not None and inner.value is not None else "1"
    offset = int(offset_text) if is_whole_number(offset_text) else 1
    if at_text is None or not is_whole_number(at_text) or None in arguments:
        for target in (name, "OPTARG", "OPTIND"):
            shell.forget(target, place)
        return None
    at = max(int(at_text), 1)

    def store(target: str, text: str) -> None:
        shell.assign(target, plain(text, place), None, place=place)

    def finish(letter: str, next_at: int, next_offset: int, status: int) -> int:
        store(name, letter)
        store("OPTIND", str(next_at))
        store("_accmap_optpos", str(next_offset))
        return status

    word = arguments[at - 1] if at <= len(arguments) else None
    if word is None or not word.startswith("-") or word == "-":
        return finish("?", at, 1, 1)
    if word == "--":
        return finish("?", at + 1, 1, 1)
    letter = word[offset] if 0 < offset < len(word) else word[1]
    silent = options.startswith(":")
    more = offset + 1 < len(word)
    where = options.lstrip(":").find(letter) if letter != ":" else -1
    if where < 0:
        if silent:
            store("OPTARG", letter)
        else:
            shell.state.variables.pop("OPTARG", None)
        return finish("?", at if more else at + 1, offset + 1 if more else 1, 0)
    if options.lstrip(":")[where + 1 : where + 2] != ":":
        shell.state.variables.pop("OPTARG", None)
        return finish(letter, at if more else at + 1, offset + 1 if more else 1, 0)
    if more:
        rest = values[at - 1]
        string = known(rest) or ""
        store("OPTARG", string[offset + 1 :])
        return finish(letter, at + 1, 1, 0)
    if at >= len(arguments):
        if silent:
            store("OPTARG", letter)
            return finish(":", at + 1, 1, 0)
        shell.state.variables.pop("OPTARG", None)
        return finish("?", at + 1, 1, 0)
    shell.assign("OPTARG", values[at], None, place=place)
    return finish(letter, at + 2, 1, 0)


def _command(shell: Shell, fields: list[Field], place: Place) -> int | None:
    words = fields[1:]
    name = fields[0].known()
    while words and (words[0].known() or "").startswith("-"):
        option = words[0].known() or ""
        words = words[1:]
        if name == "command" and ("v" in option or "V" in option):
            target = words[0].known() if words else None
            if target in TABLE or target in shell.state.functions:
                shell.emit(plain(f"{target}\n", place))
                return 0
            shell.emit_unknown(place)
            return None
        if name == "exec" and option == "-a":
            words = words[1:]
    if not words:
        return 0
    shell.invoke(words, (), (), place, functions=False)
    if name == "exec":
        shell.ended = place
        raise Exit(shell.state.status)
    return shell.state.status


def _type(shell: Shell, fields: list[Field], place: Place) -> int | None:
    target = fields[-1].known()
    shell.emit_unknown(place)
    return 0 if target in TABLE or target in shell.state.functions else None


def _shopt(shell: Shell, fields: list[Field], _place: Place) -> int | None:
    words = _strings(fields[1:]) or []
    options = set(shell.state.options)
    for word in words:
        if not word.startswith("-"):
            (options.add if "-s" in words else options.discard)("shopt-" + word)
    shell.state.options = frozenset(options)
    return 0


def _program(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """A program of which the output follows from what it is given."""
    if fields[0].known() == "xargs" and len(fields) > 1:
        launchers.start(shell, fields, {}, shell.input, place)
        return None
    if fields[0].known() == "sed":
        for field in fields[1:]:
            shell.touch(field.known() or "")
    if shell.out is None:
        return None if fields[0].known() != "expr" else _printed_status(shell, fields)
    words = _strings(fields[1:])
    if words is None:
        shell.doubted(tuple([piece for field in fields for piece in field.pieces]))
        shell.emit_unknown(place, shell.undecided_reason)
        return None
    name = fields[0].known() or ""
    if name == "cat" and words and not any(word.startswith("-") for word in words):
        return _cat(shell, words, place)
    given = shell.input.known()
    if given is not None and len(given) > 100_000:
        shell.emit_unknown(place)
        return None
    shell.spend(5 + len(given or "") // 64)
    printed = programs.TABLE[name](words, given)
    if printed is None:
        if name == "cat" and shell.input.text is not None and words in ([], ["-"]):
            shell.emit(shell.input.text)
            return 0
        shell.emit_unknown(place)
        return None
    text = plain(printed[0], place)
    if name in ("cat", "xargs") and shell.input.text is not None and name == "cat":
        text = shell.input.text
    shell.emit(text)
    return printed[1]


def _cat(shell: Shell, words: Sequence[str], place: Place) -> int | None:
    """`cat FILE...`: what files of the tree hold."""
    held = [shell.content(word) for word in words]
    for text in held:
        if text is None:
            shell.emit_unknown(place, "it is what a file holds")
            return None
    for text in held:
        shell.emit(text or ())
    return 0


def _printed_status(_shell: Shell, fields: list[Field]) -> int | None:
    words = _strings(fields[1:])
    printed = programs.TABLE[fields[0].known() or ""](words, None) if words is not None else None
    return None if printed is None else printed[1]


def _realpath(shell: Shell, fields: list[Field], place: Place) -> int | None:
    """`realpath` and `readlink -f` of a file that was read: links aside, its absolute path."""
    words = _strings(fields[1:])
    if words is None:
        shell.emit_unknown(place)
        return None
    paths = [word for word in words if not word.startswith("-")]
    options = {word for word in words if word.startswith("-")}
    needs: set[str] = {"-f", "-e", "-m"} if fields[0].known() == "readlink" else set()
    if len(paths) == 1 and options <= {"-f", "-e", "-m", "-s"} and (not needs or options & needs):
        here = shell.state.cwd
        if here is not None or paths[0].startswith("/"):
            full = posixpath.normpath(posixpath.join(here or "/", paths[0])) if paths[0] else ""
            if full in shell.files or full in shell.directories:
                shell.emit(plain(full + "\n", place))
                return 0
    shell.emit_unknown(place)
    return None


TABLE: dict[str, Callable[[Shell, list[Field], Place], int | None]] = {
    ":": _true, "true": _true, "false": _false, "echo": _echo, "printf": _printf, "cd": _cd, "chdir": _cd,
    "pwd": _pwd, "pushd": _pushd, "popd": _pushd, "set": _set, "shift": _shift, "export": _declaring,
    "declare": _declaring, "typeset": _declaring, "local": _declaring, "readonly": _declaring, "unset": _unset,
    "eval": _eval, "source": _source, ".": _source, "return": _return, "exit": _exit, "logout": _exit,
    "break": _leave, "continue": _leave, "test": _test, "[": _test, "let": _let, "read": _read,
    "mapfile": _mapfile, "readarray": _mapfile, "getopts": _getopts, "command": _command, "builtin": _command,
    "exec": _command, "type": _type, "shopt": _shopt, "trap": _nothing, "alias": _nothing, "unalias": _nothing,
    "umask": _nothing, "ulimit": _unsure, "hash": _nothing, "wait": _unsure, "jobs": _unsure, "times": _unsure,
    "kill": _unsure, "disown": _nothing, "enable": _nothing, "complete": _nothing, "bind": _nothing,
    "history": _nothing, "realpath": _realpath, "readlink": _realpath,
    **dict.fromkeys(programs.TABLE, _program),
}  # fmt: skip

COMMANDS = Commands(TABLE, declare, launchers.start)
