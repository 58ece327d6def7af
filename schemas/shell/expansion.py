"""What words become: parameters, substitutions, splitting and patterns, in the order in which bash does it."""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from . import pattern
from .arithmetic import Evaluator, ExpressionError, UndecidedError
from .braces import alternatives
from .flow import Discard, Exit
from .scanning import fields, name_end
from .syntax import Arithmetic, Bare, Double, Parameter, ProcessSubstitution, Quoted, Substitution, Word
from .text import Doubt, Piece, Place, doubt_of, known, passed_through, plain, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .interpreter import Shell
    from .state import Variable
    from .syntax import Part
    from .text import Text

_FORMULA = r"[-0-9+*()\[\]|, ]+|(?=[^|\d-]*[|\d-])[-0-9+*()\[\]|, MEGDtmL]{5,}"
"""Layer formulas such as `[0]+[1]*3`, hybrid patterns `M-M-M*-` and pipeline layouts `Et*3|tt*29m|L`."""


class Field:
    """One word after expansion. `split` says that it may turn out to be several words, or none."""

    __slots__ = ("pattern", "pieces", "protected", "split")

    def __init__(self, text: Text = ()) -> None:
        self.pieces: list[Piece] = [*text]
        self.split = False
        self.pattern = False
        self.protected = False
        """Whether quotes protect a character in it that would make a pattern."""

    def known(self) -> str | None:
        """The word, or None where it is not known."""
        return None if self.split else known(tuple(self.pieces))

    def text(self) -> Text:
        """The word as text."""
        return tuple(self.pieces)


def doubt_reason(field: Field) -> str:
    """Why a field is not known."""
    doubt = doubt_of(field.text())
    return doubt.reason if doubt is not None else "how it is split into words is not known"


def _loosened(text: Text) -> Text:
    return tuple(
        piece if piece.doubt is None else piece._replace(doubt=piece.doubt._replace(loose=True)) for piece in text
    )


def plain_text(word: Word) -> Text | None:
    """What a word becomes that is nothing but plain characters: itself. None for every other word."""
    parts = word.parts
    if len(parts) != 1:
        return None
    part = parts[0]
    if not isinstance(part, Bare):
        return None
    string = part.string
    if "{" in string or "~" in string or "*" in string or "?" in string or "[" in string:
        return None
    text = part.text
    return text if len(text) == 1 and text[0].doubt is None else None


class _Builder:
    """Collects fields while the parts of a word are expanded."""

    __slots__ = ("blank_closed", "current", "done")

    def __init__(self) -> None:
        self.done: list[Field] = []
        self.current: Field | None = None
        self.blank_closed = True

    def open(self) -> Field:
        if self.current is None:
            self.current = Field()
        return self.current

    def add(self, text: Iterable[Piece]) -> None:
        field = self.open()
        for piece in text:
            field.pieces.append(piece)
            if piece.doubt is not None and piece.doubt.loose:
                field.split = True
            field.protected = field.protected or pattern.has_pattern(piece.text, extended=True)

    def close(self) -> None:
        if self.current is not None:
            self.done.append(self.current)
            self.current = None


class Expander:
    """Expands words in the state of one shell."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell

    @property
    def extended(self) -> bool:
        """Whether `shopt -s extglob` is on."""
        return "shopt-extglob" in self.shell.state.options

    # Words

    def fields(self, words: Sequence[Word]) -> list[Field]:
        """The fields that a command line's words become."""
        found: list[Field] = []
        for word in words:
            sure = plain_text(word)
            if sure is not None:
                found.append(Field(sure))
                self.shell.spend(1)
                continue
            parts = word.parts
            if len(parts) == 1 and isinstance(parts[0], Bare):
                string = parts[0].string
                if not ("{" in string or "~" in string or pattern.has_pattern(string)):
                    field = Field()
                    field.pieces.extend(parts[0].text)
                    if doubt_of(parts[0].text) is not None:
                        field.split = any(p.doubt is not None and not p.doubt.atomic for p in parts[0].text)
                    found.append(field)
                    self.shell.spend(1)
                    continue
            for one in alternatives(parts, self.shell.spend):
                found.extend(self._word_fields(one, word.place))
            if len(found) > 200_000:
                self.shell.spend(1_000_000_000)
        return found

    def _word_fields(self, parts: Sequence[Part], place: Place) -> list[Field]:
        builder = _Builder()
        assigns = 0
        for number, part in enumerate(parts):
            if isinstance(part, Bare):
                text = part.text
                if number == 0:
                    assigns = _assignment_end(part.string)
                if "~" in part.string:
                    last = number == len(parts) - 1
                    if number == 0 and part.string[0] == "~":
                        text = self._tildes(text, part.string, place, (0,), last=last)
                    elif assigns:
                        # outside POSIX mode, bash treats an argument that looks like an assignment as one
                        starts = _tilde_starts(part.string, 0 if number else assigns, first=not number)
                        text = self._tildes(text, part.string, place, starts, last=last)
                self._bare(builder, text)
            elif isinstance(part, Quoted):
                builder.add(part.text)
            elif isinstance(part, Double):
                self._double(builder, part)
            else:
                self._unquoted(builder, part)
        builder.close()
        if any(field.pattern for field in builder.done) and "noglob" not in self.shell.state.options:
            return [one for field in builder.done for one in self._globbed(field, place)]
        return builder.done

    def _bare(self, builder: _Builder, text: Text) -> None:
        field = builder.open()
        for piece in text:
            field.pieces.append(piece)
            if piece.doubt is not None:
                field.split = field.split or not piece.doubt.atomic
            elif pattern.has_pattern(piece.text, extended=self.extended):
                field.pattern = True

    def _double(self, builder: _Builder, part: Double) -> None:
        nothing = True
        for inner in part.parts:
            if isinstance(inner, Quoted):
                builder.add(inner.text)
                nothing = False
            elif isinstance(inner, Parameter):
                values, listed = self.parameter(inner, quoted=True)
                if not listed:
                    nothing = False
                    builder.add(values[0])
                for number, value in enumerate(values if listed else ()):
                    if number:
                        builder.close()
                    builder.add(value)
                    nothing = False
            else:
                builder.add(self._produced(inner))
                nothing = False
        if nothing and not part.parts:
            builder.open()

    def _unquoted(self, builder: _Builder, part: Part) -> None:
        if isinstance(part, Parameter):
            if part.form in (":-", "-", ":+", "+") and self._split_operand(builder, part):
                return
            values, listed = self.parameter(part, quoted=False)
        else:
            values, listed = [self._produced(part)], False
        for number, value in enumerate(values):
            if number and listed:
                builder.close()
            self._split(builder, value)

    def _split_operand(self, builder: _Builder, part: Parameter) -> bool:
        """`${X:-a "b c"}` outside quotes: the operand's own quotes decide how it splits."""
        if (
            part.operand is None
            or part.indirect
            or not any(isinstance(inner, (Double, Quoted, Parameter)) for inner in part.operand.parts)
        ):
            return False
        taken = self._operand_taken(part)
        if taken is not True:
            return False
        for number, inner in enumerate(part.operand.parts):
            if isinstance(inner, Quoted):
                builder.add(passed_through(inner.text, part.place))
            elif isinstance(inner, Double):
                self._double(builder, inner)
            elif isinstance(inner, Bare):
                text = inner.text
                if number == 0 and inner.string.startswith("~"):
                    last = len(part.operand.parts) == 1
                    text = self._tildes(text, inner.string, part.place, (0,), last=last)
                self._split(builder, passed_through(text, part.place))
            else:
                self._unquoted(builder, inner)
        return True

    def _split(self, builder: _Builder, text: Text) -> None:
        separators = self.separators()
        if separators is None:
            for piece in text:
                builder.add((piece,))
                builder.open().split = True
            return
        if separators == "":
            self._unsplit(builder, text)
            return
        self.shell.spend(sum([len(piece.text) for piece in text]) // 64 + 1)
        if separators != " \t\n":
            self._split_by(builder, text, separators)
            return
        for piece in text:
            if piece.doubt is not None:
                field = builder.open()
                field.pieces.append(piece)
                field.split = field.split or not piece.doubt.atomic
                continue
            string = piece.text
            at = 0
            for start, end in fields(string):
                if start > at:
                    builder.close()
                field = builder.open()
                field.pieces.append(piece.cut(start, end))
                if pattern.has_pattern(string[start:end], extended=self.extended):
                    field.pattern = True
                at = end
            if at < len(string):
                builder.close()

    def _unsplit(self, builder: _Builder, text: Text) -> None:
        for piece in text:
            field = builder.open()
            field.pieces.append(piece)
            if piece.doubt is not None:
                field.split = field.split or not piece.doubt.atomic
            elif pattern.has_pattern(piece.text, extended=self.extended):
                field.pattern = True

    def _split_by(self, builder: _Builder, text: Text, separators: str) -> None:
        blanks = "".join([char for char in separators if char in " \t\n"])
        closed_by_blank = False
        for piece in text:
            if piece.doubt is not None:
                field = builder.open()
                field.pieces.append(piece)
                field.split = field.split or not piece.doubt.atomic
                continue
            start = 0
            for at, char in enumerate(piece.text):
                if char not in separators:
                    closed_by_blank = False
                    continue
                if at > start:
                    self._unsplit(builder, (piece.cut(start, at),))
                start = at + 1
                if char in blanks:
                    closed_by_blank = closed_by_blank or builder.current is not None
                    builder.close()
                else:
                    if builder.current is None and not closed_by_blank:
                        builder.open()
                    closed_by_blank = False
                    builder.close()
            if start < len(piece.text):
                self._unsplit(builder, (piece.cut(start, len(piece.text)),))

    def separators(self) -> str | None:
        """The characters of IFS; None where they are not known."""
        variable = self.shell.state.variables.get("IFS")
        if variable is None or variable.value is None:
            return " \t\n"
        return known(variable.value)

    def _globbed(self, field: Field, place: Place) -> list[Field]:
        """A field that is a file name pattern: what it matches in the tree, else nobody can know."""
        if not field.pattern or field.split:
            return [field]
        string = known(field.text())
        if string is None:
            field.split = True
            return [field]
        options = self.shell.state.options
        if (
            not _may_match(string, extended=self.extended)
            and "shopt-nullglob" not in options
            and "shopt-failglob" not in options
        ):
            return [field]
        if not field.protected:
            from .globbing import matched

            names = matched(self.shell, string)
            if names is not None:
                return [Field(plain(name, field.pieces[0].place)) for name in names]
        changed = Field()
        changed.split = True
        doubt = Doubt("a file name pattern: what it matches depends on the files that are there", place)
        changed.pieces = [Piece(string, field.pieces[0].place, False, (), doubt)]
        return [changed]

    def text(self, word: Word, *, assigned: bool = False) -> Text:
        """A word where nothing is split: an assignment's value, a test's operand, a here-string."""
        parts = word.parts
        if len(parts) == 1:
            part = parts[0]
            if isinstance(part, Quoted):
                return part.text
            if isinstance(part, Bare) and "~" not in part.string:
                return part.text
        found: list[Piece] = []
        for number, part in enumerate(parts):
            if isinstance(part, Bare):
                if "~" in part.string:
                    first = number == 0
                    starts = _tilde_starts(part.string, 0, first=first) if assigned else (0,) if first else ()
                    starts = [start for start in starts if part.string.startswith("~", start)]
                    last = number == len(parts) - 1
                    found.extend(self._tildes(part.text, part.string, word.place, starts, last=last))
                else:
                    found.extend(part.text)
            elif isinstance(part, Quoted):
                found.extend(part.text)
            elif isinstance(part, Double):
                found.extend(self.double_text(part))
            else:
                found.extend(self._joined_part(part, quoted=False))
        return self._weighed(found)

    def _weighed(self, pieces: list[Piece]) -> Text:
        """The pieces as a text, paid for by their number and length: doubling a variable must come to an end."""
        if len(pieces) > 8:
            self.shell.spend(len(pieces) // 8 + sum([len(piece.text) for piece in pieces]) // 1024)
        return tuple(pieces)

    def double_text(self, part: Double) -> Text:
        """A double-quoted string as one text."""
        found: list[Piece] = []
        for inner in part.parts:
            if isinstance(inner, Quoted):
                found.extend(inner.text)
            else:
                found.extend(self._joined_part(inner, quoted=True))
        return self._weighed(found)

    def _joined_part(self, part: Part, *, quoted: bool) -> Text:
        if isinstance(part, Parameter):
            values, listed = self.parameter(part, quoted=quoted)
            if not listed or len(values) == 1:
                return values[0] if values else ()
            separator = " "
            if part.name == "*" or (part.subscript is not None and part.subscript.literal() == "*"):
                separators = self.separators()
                separator = " " if separators is None else separators[:1]
            return _joined(values, plain(separator, part.place))
        return self._produced(part)

    def pattern_parts(self, word: Word) -> list[tuple[str, bool]]:
        """A word as a pattern: its characters, and whether they are quoted. Raises UndecidedError."""
        found: list[tuple[str, bool]] = []
        for number, part in enumerate(word.parts):
            if isinstance(part, Bare):
                text, quoted = part.text, False
                if number == 0 and part.string.startswith("~"):
                    last = len(word.parts) == 1
                    text = self._tildes(text, part.string, word.place, (0,), last=last)
            elif isinstance(part, Quoted):
                text, quoted = part.text, True
            elif isinstance(part, Double):
                text, quoted = self.double_text(part), True
            else:
                text, quoted = self._joined_part(part, quoted=False), False
            string = known(text)
            if string is None:
                raise UndecidedError
            found.append((string, quoted))
        return found

    # Parts

    def _produced(self, part: Part) -> Text:
        if isinstance(part, Arithmetic):
            return self.arithmetic_text(part)
        if isinstance(part, Substitution):
            return self.shell.substituted(part)
        if isinstance(part, ProcessSubstitution):
            return unknown("a process substitution's name is made when it runs", part.place, atomic=True)
        if isinstance(part, Double):
            return self.double_text(part)
        if isinstance(part, (Bare, Quoted)):
            return part.text
        return self._joined_part(part, quoted=True)

    def arithmetic_text(self, part: Arithmetic) -> Text:
        """`$((...))`."""
        try:
            return plain(str(self.arithmetic(part)), part.place)
        except UndecidedError:
            reason = self.shell.undecided_reason or "it depends on a value that is not known"
            return unknown(reason, part.place, atomic=True)
        except ExpressionError as error:
            self.shell.note("arithmetic", part.place, text=part.place.shown(), why=str(error))
            raise Discard from None

    def arithmetic(self, part: Arithmetic) -> int:
        """The value of an expression; raises UndecidedError or ExpressionError."""
        text = self.double_text(Double(part.parts, part.place))
        string = known(text)
        if string is None:
            self.shell.doubted(text)
            raise UndecidedError
        return self.evaluate(string, part.place)

    def evaluate(self, expression: str, place: Place) -> int:
        """The value of an expression given as a string."""
        self.shell.spend(len(expression) // 16 + 2)

        def read(name: str, index: str | None) -> str:
            self.shell.spend(3)
            found = self._numeric(name, index, running[0], place)
            string = known(found)
            if string is None:
                self.shell.doubted(found)
                raise UndecidedError
            return string

        def write(name: str, index: str | None, value: int) -> None:
            key: int | str | None = None
            if index is not None:
                variable = self.shell.variable(name)
                key = index if variable is not None and variable.keyed else running[0].value(index)
            self.shell.assign(name, plain(str(value), place), key, place=place)

        running = [Evaluator(read, write)]
        try:
            return running[0].value(expression)
        finally:
            running.clear()  # it holds the two functions, and they hold it

    def _numeric(self, name: str, index: str | None, evaluator: Evaluator, place: Place) -> Text:
        if index is None:
            found = self.shell.value_of(name, place)
            return self.shell.unset(name, place) if found is None else found
        variable = self.shell.variable(name)
        items: Mapping[int | str, Text] = {} if variable is None or variable.items is None else variable.items
        key: int | str = index if variable is not None and variable.keyed else evaluator.value(index)
        if isinstance(key, int) and key < 0 and items:
            key += max([entry for entry in items if isinstance(entry, int)], default=-1) + 1
        return items.get(key, ())

    def _tildes(self, text: Text, string: str, place: Place, starts: Sequence[int], *, last: bool) -> Text:
        """A bare part with the tildes at `starts` expanded; a prefix ends at a slash or colon, or with the word."""
        if len(string) != sum([len(piece.text) for piece in text]):
            return unknown("the home directory is not known; give --var HOME=DIRECTORY", place)
        found: list[Piece] = []
        done = 0
        for start in starts:
            stops = [at for at in [string.find(mark, start) for mark in "/:"] if at >= 0]
            if not stops and not last:
                continue  # what follows is quoted or expanded: bash takes no such prefix
            end = min(stops, default=len(string))
            home = self._home(string[start:end], place)
            if home is not None:
                found.extend(_cut(text, done, start))
                found.extend(home)
                done = end
        return (*found, *_cut(text, done, len(string))) if done else text

    def _home(self, prefix: str, place: Place) -> Text | None:
        """What `~`, `~+` and `~user` stand for; None where the text stays as it is."""
        if prefix == "~":
            home = self.shell.variable("HOME")
            if home is not None and home.value is not None:
                return home.value
            found = unknown("the home directory is not known; give --var HOME=DIRECTORY", place, atomic=True)
            return (found[0]._replace(text="~"),)
        if prefix == "~+":
            return self.shell.directory(place)
        if prefix[1:].replace("_", "a").replace("-", "a").isalnum():
            return (unknown("the home directory of a user is not known", place, atomic=True)[0]._replace(text=prefix),)
        return None

    # Parameters

    def parameter(self, part: Parameter, *, quoted: bool) -> tuple[list[Text], bool]:
        """The values of an expansion, and whether they are separate words (`$@`, `${A[@]}`)."""
        place = part.place
        self.shell.spend(1)
        form = part.form
        if form == "bad":
            self.shell.note("bad-substitution", place, text=place.shown())
            raise Discard
        if form == "names":
            names = sorted(name for name in self.shell.state.variables if name.startswith(part.name))
            return [plain(name, place) for name in names], True
        name, index = part.name, part.subscript
        if part.indirect:
            subscript = None if index is None else index.literal()
            if subscript in ("@", "*") and not form:
                return self._keys(name, subscript, place, quoted=quoted)
            held = self.shell.state.variables.get(name)
            if held is not None and held.reference and held.value and index is None:
                # of a name reference, `${!name}` is the name that it refers to
                return [passed_through(held.value, place)], False
            target = self._scalar(name, index, place)
            string = None if target is None else known(target)
            if target is None or string == "":
                if self.shell.options.unset_empty or string == "":
                    return [()], False
                return [self.shell.unset(name, place)], False
            if string is None:
                return [unknown(_why(target), place)], False
            name, index = reference(string, place)
            if not name:
                raise Discard
        subscript = None if index is None else index.literal()
        if name in ("@", "*") or subscript in ("@", "*"):
            return self._many(part, name, index, "@" if "@" in (name, subscript) else "*", quoted=quoted)
        if not form:
            found = self._scalar(name, index, place)
            if found is None:
                found = self.shell.unset(name, place)
            if len(found) > 8:
                self.shell.spend(len(found) // 8)
            return [passed_through(found, place)], False
        return [self._formed(part, name, index)], False

    def _scalar(self, name: str, index: Word | None, place: Place) -> Text | None:
        """A parameter's value; None where it is unset."""
        if index is None:
            return self.shell.value_of(name, place)
        variable = self.shell.variable(name)
        if variable is None:
            return self.shell.special_item(name, index, place)
        return self.element(variable, index, place)

    def element(self, variable: Variable, index: Word, place: Place) -> Text | None:
        """An element of a variable; None where it is unset."""
        if variable.items is None:
            return variable.value if known(self.text(index)) in ("0", "-1") else None
        return self._item(variable, index, place)

    def _item(self, variable: Variable, index: Word, place: Place) -> Text | None:
        items = variable.items or {}
        text = self.text(index)
        string = known(text)
        if string is None:
            return unknown(_why(text), place)
        if variable.keyed:
            found = items.get(string)
        else:
            try:
                number = self.evaluate(string, place)
            except UndecidedError:
                return unknown(self.shell.undecided_reason, place)
            except ExpressionError:
                raise Discard from None
            if any(_is_loose(value) for value in items.values()):
                return unknown("the array's length is not known", place)
            if number < 0:
                number += max([key for key in items if isinstance(key, int)], default=-1) + 1
            found = items.get(number)
        return found

    def _keys(self, name: str, subscript: str, place: Place, *, quoted: bool) -> tuple[list[Text], bool]:
        variable = self.shell.variable(name)
        if variable is None or (variable.items is None and variable.value is None):
            return [], True
        if variable.items is None:
            return [plain("0", place)], True
        found = [plain(str(key), place) for key in variable.items]
        if variable.keyed and len(found) > 1:
            return [unknown("the order of an associative array's keys is not defined", place)], False
        if any(_is_loose(value) for value in variable.items.values()):
            return [unknown("the array's length is not known", place)], False
        if subscript == "*" and quoted:
            return [_joined(found, plain(" ", place))], False
        return found, True

    def _many(  # noqa: C901 - one grammar, read in one place
        self, part: Parameter, name: str, index: Word | None, sign: str, *, quoted: bool
    ) -> tuple[list[Text], bool]:
        place, form = part.place, part.form
        variable: Variable | None = None
        if index is None:
            values = list(self.shell.state.positional)
            numbers: list[int | str] = list(range(1, len(values) + 1))
        else:
            variable = self.shell.variable(name)
            if variable is None:
                special = self.shell.special_item(name, index, place)
                values = [] if special is None else [special]
                if not values and form not in (":-", "-", ":+", "+", ":=", "=", "length"):
                    absent = self.shell.unset(name, place)
                    # Of an array that nobody set, not even the number of its words is known.
                    values = [_loosened(absent)] if absent else []
                numbers = list(range(len(values)))
            elif variable.items is None:
                values = [] if variable.value is None else [variable.value]
                numbers = [0] if values else []
            else:
                numbers = list(variable.items)
                if not variable.keyed:
                    numbers.sort(key=int)
                values = [variable.items[number] for number in numbers]
                if variable.keyed and len(values) > 1 and form != "length":
                    reason = "the order of an associative array's entries is not defined"
                    values = [(Piece("", place, False, (), Doubt(reason, place, loose=True)),)]
        self.shell.spend(len(values) // 2)
        if form == "length":
            if any(_is_loose(value) for value in values):
                return [unknown("the array's length is not known", place, atomic=True)], False
            return [plain(str(len(values)), place)], False
        if form in (":-", "-", ":=", "=", ":?", "?"):
            empty = not values or (form[0] == ":" and len(values) == 1 and known(values[0]) == "")
            if empty:
                if form[-1] == "?":
                    self.shell.note("parameter-refused", place, text=place.shown())
                    raise Exit(1)
                assert part.operand is not None
                return [passed_through(self.text(part.operand), place)], False
        elif form in (":+", "+"):
            if not values or (form[0] == ":" and len(values) == 1 and known(values[0]) == ""):
                return [()], False
            assert part.operand is not None
            return [passed_through(self.text(part.operand), place)], False
        elif form == ":":
            sliced = self._slice(part, values, numbers, positional=index is None)
            if sliced is None:
                return [
                    (Piece(place.shown(), place, False, (), Doubt("the slice is not known", place, loose=True)),)
                ], True
            values = sliced
        elif form:
            values = [self._transformed(part, value) for value in values]
        values = [passed_through(value, place) for value in values]
        if sign == "*" and quoted:
            separators = self.separators()
            separator = " " if separators is None else separators[:1]
            return [_joined(values, plain(separator, place))], False
        return values, True

    def _slice(
        self, part: Parameter, values: list[Text], numbers: list[int | str], *, positional: bool
    ) -> list[Text] | None:
        try:
            assert part.operand is not None
            offset = self._number(part.operand)
            length = None if part.second is None else self._number(part.second)
        except UndecidedError:
            return None
        if any(_is_loose(value) for value in values):
            return None
        if positional:
            values = [plain(self.shell.name, part.place), *values]
            numbers = [0, *numbers]
        if offset < 0:
            offset += (int(numbers[-1]) + 1) if numbers else 0
            if offset < 0:
                return []
        kept = [value for number, value in zip(numbers, values, strict=True) if int(number) >= offset]
        if length is not None:
            if length < 0:
                raise Discard
            kept = kept[:length]
        return kept

    def _number(self, word: Word) -> int:
        text = self.text(word)
        string = known(text)
        if string is None:
            self.shell.doubted(text)
            raise UndecidedError
        try:
            return self.evaluate(string, word.place)
        except ExpressionError:
            raise Discard from None

    def _operand_taken(self, part: Parameter) -> bool | None:
        """Whether `${X:-word}` and its like take their operand; None where that is not known."""
        subscript = None if part.subscript is None else part.subscript.literal()
        if part.name in ("@", "*") or subscript in ("@", "*"):
            return None
        value = self._scalar(part.name, part.subscript, part.place)
        return self._taken(part.form, value)

    def _taken(self, form: str, value: Text | None) -> bool | None:
        if value is None:
            absent: bool | None = True
        elif form[0] == ":":
            absent = _is_empty(value)
        else:
            absent = None if _maybe_unset(value) else False
        if form[-1] == "+" and absent is not None:
            return not absent
        return absent

    def _formed(self, part: Parameter, name: str, index: Word | None) -> Text:
        place, form = part.place, part.form
        value = self._scalar(name, index, place)
        if form == "length":
            if value is None:
                value = self.shell.unset(name, place)
            string = known(value)
            return unknown(_why(value), place, atomic=True) if string is None else plain(str(len(string)), place)
        if form in (":-", "-", ":=", "=", ":?", "?", ":+", "+"):
            assert part.operand is not None
            taken = self._taken(form, value)
            if taken is None:
                return unknown(_why(value or ()), place)
            if form[-1] == "+":
                return passed_through(self.text(part.operand), place) if taken else ()
            if not taken:
                return passed_through(value or (), place)
            if form[-1] == "?":
                if not self.shell.options.unset_empty and value is None:
                    return self.shell.unset(name, place)
                self.shell.note("parameter-refused", place, text=place.shown())
                raise Exit(1)
            found = passed_through(self.text(part.operand), place)
            if form[-1] == "=":
                self.shell.assign(name, found, None, place=place)
            return found
        if value is None:
            value = self.shell.unset(name, place)
        return self._transformed(part, value)

    def _transformed(self, part: Parameter, value: Text) -> Text:
        """`${X#p}`, `${X/p/r}`, `${X:1:2}`, `${X^^}`, `${X@Q}` of one value."""
        place, form, operand = part.place, part.form, part.operand
        assert operand is not None
        string = known(value)
        if string is None:
            if form in ("##", "#", "%", "%%"):
                trimmed = self._trimmed_end(form, operand, value)
                if trimmed is not None:
                    return passed_through(trimmed, place)
            return unknown(_why(value), place, atomic=all(p.doubt is None or p.doubt.atomic for p in value))
        self.shell.spend(len(string) // 64)
        try:
            if form == ":":
                return passed_through(_cut(value, *self._bounds(part, len(string))), place)
            if form in ("#", "##"):
                parts = self.pattern_parts(operand)
                gone = pattern.without_prefix(parts, string, longest=form == "##", extended=self.extended)
                return passed_through(_cut(value, gone, len(string)), place)
            if form in ("%", "%%"):
                parts = self.pattern_parts(operand)
                end = pattern.without_suffix(parts, string, longest=form == "%%", extended=self.extended)
                return passed_through(_cut(value, 0, end), place)
            if form in ("/", "//"):
                return self._replaced(part, string)
            if form in ("^", "^^", ",", ",,"):
                return self._recased(part, string)
            if form == "@":
                kind = operand.literal()
                if kind in ("U", "L", "u"):
                    changed = {"U": str.upper, "L": str.lower, "u": _capitalized}[kind](string)
                    return plain(changed, place)
                if kind == "Q":
                    return plain(shell_quoted(string), place)
        except (UndecidedError, pattern.TooHardError):
            pass
        return unknown(self.shell.undecided_reason or "the expansion cannot be decided", place)

    def _trimmed_end(self, form: str, operand: Word, value: Text) -> Text | None:
        """A literal prefix or suffix can be removed from a known end of a value that is otherwise not known."""
        try:
            parts = self.pattern_parts(operand)
        except UndecidedError:
            return None
        literal = "".join([text for text, _ in parts])
        if any(pattern.has_pattern(text) and not quoted for text, quoted in parts) or "\\" in literal:
            return None
        piece = value[0] if form[0] == "#" else value[-1]
        if piece.doubt is not None or len(piece.text) < len(literal):
            return None
        if form[0] == "#":
            gone = len(literal) if piece.text.startswith(literal) else 0
            return (piece.cut(gone, len(piece.text)), *value[1:])
        end = len(piece.text) - (len(literal) if piece.text.endswith(literal) else 0)
        return (*value[:-1], piece.cut(0, end))

    def _bounds(self, part: Parameter, size: int) -> tuple[int, int]:
        assert part.operand is not None
        start = self._number(part.operand)
        if start < 0:
            start += size
            if start < 0:
                return 0, 0
        end = size
        if part.second is not None:
            length = self._number(part.second)
            end = start + length if length >= 0 else size + length
            if length < 0 and end < start:
                raise Discard
        return min(start, size), min(max(end, start), size)

    def _replaced(self, part: Parameter, string: str) -> Text:
        assert part.operand is not None
        parts = self.pattern_parts(part.operand)
        anchor = ""
        if part.form == "/" and parts and parts[0][0][:1] in ("#", "%") and not parts[0][1]:
            anchor = parts[0][0][0]
            parts = [(parts[0][0][1:], False), *parts[1:]]
        replacement = () if part.second is None else self.text(part.second)
        new = known(replacement)
        if new is None:
            self.shell.doubted(replacement)
            raise UndecidedError
        if not any(text for text, _ in parts):
            changed = new + string if anchor == "#" else string + new if anchor == "%" else string
            return plain(changed, part.place)
        expression = pattern.translated(parts, extended=self.extended)
        if anchor:
            expression = rf"\A(?:{expression})" if anchor == "#" else rf"(?:{expression})\Z"
        compiled = pattern.compiled(expression, string)
        return plain(compiled.sub(lambda _: new, string, 1 if part.form == "/" else 0), part.place)

    def _recased(self, part: Parameter, string: str) -> Text:
        assert part.operand is not None
        change = str.upper if part.form[0] == "^" else str.lower
        parts = self.pattern_parts(part.operand)
        expression = pattern.compiled(pattern.translated(parts, extended=self.extended) or ".", "a")
        limit = len(string) if len(part.form) == 2 else 1
        changed = "".join(
            [change(char) if at < limit and expression.fullmatch(char) else char for at, char in enumerate(string)]
        )
        return plain(changed, part.place)


def _capitalized(string: str) -> str:
    return string[:1].upper() + string[1:]


def _joined(values: list[Text], separator: Text) -> Text:
    found: list[Piece] = []
    for number, value in enumerate(values):
        if number:
            found.extend(separator)
        found.extend(value)
    return tuple(found)


def _cut(text: Text, start: int, end: int) -> Text:
    found: list[Piece] = []
    at = 0
    for piece in text:
        low, high = max(start - at, 0), min(end - at, len(piece.text))
        if high > low:
            found.append(piece.cut(low, high))
        at += len(piece.text)
    return tuple(found)


def _assignment_end(string: str) -> int:
    """Where the value of a word that looks like an assignment begins; 0 where it does not look so."""
    end = name_end(string, 0)
    if end and string.startswith("[", end):
        close = string.find("]", end)
        end = close + 1 if close > 0 else 0
    if not end:
        return 0
    end += string.startswith("+", end)
    return end + 1 if string.startswith("=", end) else 0


def _tilde_starts(string: str, at: int, *, first: bool) -> list[int]:
    """Where tildes may stand that bash expands in an assignment's value: at its beginning, and behind colons."""
    found = [at] if first and string.startswith("~", at) else []
    while (at := string.find(":~", at)) >= 0:
        at += 1
        found.append(at)
    return found


def _is_empty(value: Text) -> bool | None:
    string = known(value)
    if string is not None:
        return not string
    if any(piece.doubt is None and piece.text for piece in value):
        return False
    if any(piece.doubt is not None and piece.doubt.atomic for piece in value):
        return False
    return None


def _maybe_unset(value: Text) -> bool:
    return len(value) == 1 and value[0].doubt is not None and not value[0].doubt.atomic


def _is_loose(value: Text) -> bool:
    return any(piece.doubt is not None and piece.doubt.loose for piece in value)


def _why(value: Text) -> str:
    doubt = doubt_of(value)
    return doubt.reason if doubt is not None else "it depends on a value that is not known"


def _may_match(string: str, *, extended: bool) -> bool:
    """Whether a file name pattern could match a file. Formulas such as `([0]*3+[1]*58)` and options cannot."""
    if "[" in string and not ("]" in string or "*" in string or "?" in string):
        return False
    first = min([at for at in (string.find(char) for char in "*?[") if at >= 0], default=0)
    if "=" in string[:first]:
        return False  # `key=[a,b]`, `let X=Y*2`: no file is called so
    if string.startswith("-") or "://" in string or ("(" in string and not extended):
        return False
    import re

    return not re.fullmatch(_FORMULA, string)


def reference(string: str, place: Place) -> tuple[str, Word | None]:
    """The name and subscript that an indirect expansion's value gives."""
    import re

    found = re.fullmatch(r"([A-Za-z_]\w*|[0-9]{1,9}|[@*#?$!-])(?:\[(.+)\])?", string)
    if found is None:
        return "", None
    if found[2] is None:
        return found[1], None
    return found[1], Word((Bare(plain(found[2], place), found[2]),), place)


def shell_quoted(string: str) -> str:
    """The string in single quotes, as `${X@Q}` gives it."""
    return "'" + string.replace("'", "'\\''") + "'"
