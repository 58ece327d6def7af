"""Expansion of words: braces, parameters, substitutions, splitting and patterns, in bash's order."""

from __future__ import annotations

import itertools

from ..fast_records import TYPE_CHECKING
from . import pattern
from .messages_compiled import say
from .scanner import BLANKS, name_end, run_end
from .session import BadSubscript, Discard, ExhaustedError, Exit, ExpressionError, UndecidedError
from .state import Variable
from .syntax import Arithmetic, Bare, Double, Parameter, ProcessSubstitution, Quoted, Substitution, Word
from .text import (
    Doubt,
    Piece,
    Place,
    between,
    cut,
    display,
    doubt_of,
    hole,
    is_loose,
    lower_case,
    plain,
    string_of,
    unknown_text,
    upper_case,
    with_expansion,
)
from .variables import Variables, reference, why

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from ..message import Words
    from .syntax import Part
    from .text import Text


_NUMBERS = r"(-?[0-9]+)\.\.(-?[0-9]+)(?:\.\.(-?[0-9]+))?"
_LETTERS = r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?[0-9]+))?"
DEEPEST = 20

_Char: TypeAlias = "tuple[str, Piece | Part]"


def alternatives(parts: Sequence[Part], spend: Callable[[int], None]) -> list[Sequence[Part]]:
    """Words produced by brace expansion."""
    undecided = _undecided_braces(parts)
    if undecided is not None:
        return [(undecided,)]
    if not _has_braces(parts):
        return [parts]
    flat: list[_Char] = []
    for part in parts:
        if isinstance(part, Bare):
            for piece in part.text:
                if piece.doubt is not None:
                    flat.append(("", Bare((piece,), piece.text)))
                else:
                    flat.extend([(char, piece.cut(at, at + 1)) for at, char in enumerate(piece.text)])
        else:
            flat.append(("", part))
    found = _expand_braces(flat, spend, 0)
    if len(found) == 1 and len(found[0]) == len(flat):
        return [parts]
    return [_assemble_parts(one) for one in found if one]


def _has_braces(parts: Sequence[Part]) -> bool:
    return any(isinstance(part, Bare) and "{" in part.string and part.string != "{}" for part in parts)


def _inner_quotes(part: Double) -> str:
    """Characters of the double quotes within double quotes, where bash looks for braces as if nothing quoted them."""
    found: list[str] = []
    for inner in part.parts:
        if isinstance(inner, Substitution):
            text = inner.place.snippet()
            if text.startswith("`") and '"' in text:
                found.append(text)
        elif isinstance(inner, Parameter) and inner.operand is not None:
            words = (inner.operand,) if inner.second is None else (inner.operand, inner.second)
            nested = [one for word in words for one in word.parts if isinstance(one, Double)]
            found += [display(one.text) for double in nested for one in double.parts if isinstance(one, Quoted)]
    return "".join(found)


def _undecided_braces(parts: Sequence[Part]) -> Quoted | None:
    """What stands for a word whose braces are in double quotes within double quotes; None for other words."""
    quoted = [part for part in parts if isinstance(part, Double)]
    text = "".join([_inner_quotes(part) for part in quoted])
    if not ("{" in text and "}" in text and ("," in text or ".." in text)):
        return None
    place = quoted[0].place
    return Quoted((Piece(place.snippet(), place, doubt=Doubt(say.expansion_undecided(), place, loose=True)),))


def _expand_braces(flat: list[_Char], spend: Callable[[int], None], depth: int) -> list[list[_Char]]:
    """Character lists produced by brace expansion; recursive for nested braces."""
    spend(len(flat) // 8 + 1)
    found: list[list[_Char]] = [[]]
    done = at = 0
    while True:
        opened = _opening_brace(flat, at, done)
        if opened is None:
            break
        closed, commas = _closing_brace(flat, opened, spend)
        if closed is None:
            at = opened + 1
            continue
        inner = flat[opened + 1 : closed]
        choices: list[list[_Char]] = []
        if any(char == "," for char, _ in inner):
            if depth >= DEEPEST:
                spend(1_000_000_000)
            for low, high in itertools.pairwise((opened, *commas, closed)):
                choices.extend(_expand_braces(flat[low + 1 : high], spend, depth + 1))
        else:
            # what is no sequence stays as it is, and so does everything within it
            choices = _sequence(inner, spend) or [flat[opened : closed + 1]]
        between = flat[done:opened]
        spend(len(found) * len(choices) * (1 + len(between) // 8))
        found = [[*head, *between, *choice] for head in found for choice in choices]
        done = at = closed + 1
    rest = flat[done:]
    spend(len(found) * len(rest) // 8)
    return [[*head, *rest] for head in found] if rest else found


def _opening_brace(flat: list[_Char], at: int, start: int) -> int | None:
    """Position of the next brace that may open; a leading `{}` does not."""
    for place in range(at, len(flat)):
        if flat[place][0] == "{" and not (place == start and place + 1 < len(flat) and flat[place + 1][0] == "}"):
            return place
    return None


def _closing_brace(flat: list[_Char], opened: int, spend: Callable[[int], None]) -> tuple[int | None, list[int]]:
    """Position of the closing brace, and of the commas on its level."""
    level = 0
    commas: list[int] = []
    sequence = False
    for at in range(opened + 1, len(flat)):
        char = flat[at][0]
        if char == "{":
            level += 1
        elif char == "}" and level:
            level -= 1
        elif level:
            continue
        elif char == "}" and (commas or sequence):
            spend((at - opened) // 64)
            return at, commas
        elif char == ",":
            commas.append(at)
        elif char == "." and at + 2 < len(flat) and flat[at + 1][0] == "." and flat[at + 2][0] != "}":
            sequence = True
    spend((len(flat) - opened) // 64)
    return None, []


def _sequence(inner: list[_Char], spend: Callable[[int], None]) -> list[list[_Char]] | None:
    """The entries of `1..9` or `a..e`; None for anything else."""
    if not all(char for char, _ in inner):
        return None
    string = "".join([char for char, _ in inner])
    piece = inner[0][1] if inner else None
    if ".." not in string:
        return None
    import re

    found = re.fullmatch(_NUMBERS, string) or re.fullmatch(_LETTERS, string)
    if found is None or max(len(side or "") for side in found.groups()) > 18:
        return None
    texts = _between(found[1], found[2], abs(int(found[3] or 1)) or 1, spend)
    return [[(text, piece._replace(text=text, verbatim=False))] for text in texts]  # type: ignore[union-attr]


def _between(first: str, last: str, step: int, spend: Callable[[int], None]) -> list[str]:
    """Letters or numbers of a brace sequence."""
    letters = first.isalpha()
    start, end = (ord(first), ord(last)) if letters else (int(first), int(last))
    spend(abs(end - start) // step)
    numbers = range(start, end + 1, step) if start <= end else range(start, end - 1, -step)
    # numbers are as wide as the widest if one is written with leading zeros
    zeros = any(side.lstrip("-").startswith("0") and len(side.lstrip("-")) > 1 for side in (first, last))
    width = max(len(first), len(last)) if zeros and not letters else 0
    return [chr(number) if letters else f"{number:0{width}d}" for number in numbers]


def _assemble_parts(chars: list[_Char]) -> tuple[Part, ...]:
    """Word parts rebuilt from expanded characters."""
    parts: list[Part] = []
    run: list[Piece] = []

    def flush() -> None:
        if run:
            parts.append(Bare(tuple(run), "".join([piece.text for piece in run])))
            run.clear()

    for char, thing in chars:
        if not char:
            flush()
            parts.append(thing)  # type: ignore[arg-type]
            continue
        before = parts[-1] if parts and not run else None
        if isinstance(before, Parameter) and before.bare and (char.isalnum() or char == "_") and char.isascii():
            # braces are expanded before names are looked for: $x{1,2} is $x1 $x2
            parts[-1] = before._replace(name=before.name + char)
            continue
        joined = _join_adjacent(run[-1], thing) if run else None  # type: ignore[arg-type]
        if joined is None:
            run.append(thing)  # type: ignore[arg-type]
        else:
            run[-1] = joined
    flush()
    return tuple(parts)


def _join_adjacent(last: Piece, piece: Piece) -> Piece | None:
    """Two text pieces as one if they are adjacent in the source."""
    if not (last.verbatim and piece.verbatim and last.place.source is piece.place.source):
        return None
    if last.place.end != piece.place.start:
        return None
    return last._replace(text=last.text + piece.text, place=last.place._replace(end=piece.place.end))


_FORMULA = r"[-0-9+*()\[\]|, ]+|(?=[^|\d-]*[|\d-])[-0-9+*()\[\]|, MEGDtmL]{5,}"
"""Layer formulas such as `[0]+[1]*3`, hybrid patterns `M-M-M*-` and pipeline layouts `Et*3|tt*29m|L`."""


_OF_NO_MATCH = ("shopt-nullglob", "shopt-failglob", "?shopt-nullglob", "?shopt-failglob")
"""Options under which a pattern that matches no file is not read as it stands."""
MOST_FIELDS = 200_000
_ALTERNATIVES = (":-", "-", ":+", "+")
_DEFAULTING = (":-", "-", ":=", "=", ":?", "?", ":+", "+")
_BEARS_NOTHING = (":-", "-", ":+", "+", ":=", "=", "length")


class Field:
    """One word after expansion. `split` says that it may turn out to be several words, or none."""

    __slots__ = ("pattern", "pieces", "protected", "split")

    def __init__(self, text: Text = ()) -> None:
        self.pieces: list[Piece] = [*text]
        self.split = False
        self.pattern = False
        self.protected = False
        """True if quotes protect a character in it that would make a pattern."""

    def string(self) -> str | None:
        """Word as a string; None if unknown."""
        return None if self.split else string_of(tuple(self.pieces))

    def text(self) -> Text:
        """The word as text."""
        return tuple(self.pieces)

    def as_value(self) -> Text:
        """Word as a value; one that may split is marked as loose."""
        if not self.split:
            return self.text()
        return tuple(
            [
                piece
                if piece.doubt is None or piece.doubt.atomic
                else piece._replace(doubt=piece.doubt._replace(loose=True))
                for piece in self.pieces
            ]
        )


def doubt_reason(field: Field) -> Words:
    """The reason for which a field is not known."""
    doubt = doubt_of(field.text())
    return doubt.reason if doubt is not None else say.split_unknown()


def _as_loose(text: Text) -> Text:
    return tuple(
        piece if piece.doubt is None else piece._replace(doubt=piece.doubt._replace(loose=True)) for piece in text
    )


def _length_text(value: Text, place: Place) -> Text:
    """The text of `${#X}`."""
    string = string_of(value)
    return unknown_text(why(value), place, atomic=True) if string is None else plain(str(len(string)), place)


def _is_absent(form: str, values: Sequence[Text]) -> bool:
    """True if `:-`, `-` and the like see the values of a list as unset or empty."""
    return not values or (form[0] == ":" and len(values) == 1 and string_of(values[0]) == "")


def plain_text(word: Word) -> Text | None:
    """The text of a word of plain characters alone; None for every other word."""
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
        """The field that is being built; a new one if there is none."""
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
        """End the field that is being built, if there is one."""
        if self.current is not None:
            self.done.append(self.current)
            self.current = None


class Expander(Variables):
    """Expands words in the state of one shell."""

    def substitution_text(self, part: Substitution) -> Text:
        """The text of a `$(...)`."""
        raise NotImplementedError

    @property
    def has_extglob(self) -> bool:
        """True if `shopt -s extglob` is on."""
        return "shopt-extglob" in self.state.options

    # Words

    def fields(self, words: Sequence[Word]) -> list[Field]:
        """The fields that a command line's words become."""
        found: list[Field] = []
        for word in words:
            sure = plain_text(word)
            if sure is not None:
                found.append(Field(sure))
                self.spend(1)
                continue
            parts = word.parts
            if len(parts) == 1 and isinstance(parts[0], Bare):
                string, text = parts[0].string, parts[0].text
                if not ("{" in string or "~" in string or pattern.has_pattern(string)):
                    field = Field(text)
                    field.split = any(p.doubt is not None and not p.doubt.atomic for p in text)
                    found.append(field)
                    self.spend(1)
                    continue
            for one in alternatives(parts, self.spend):
                found.extend(self._word_fields(one, word.place))
            if len(found) > MOST_FIELDS:
                raise ExhaustedError
        return found

    def _word_fields(self, parts: Sequence[Part], place: Place) -> list[Field]:
        """Fields of one word after expansion, splitting and file name matching."""
        builder = _Builder()
        assigns = 0
        for number, part in enumerate(parts):
            if isinstance(part, Bare):
                if number == 0:
                    assigns = _assignment_end(part.string)
                builder.open()
                starts: Sequence[int] = ()
                if "~" in part.string:
                    if number == 0 and part.string[0] == "~":
                        starts = (0,)
                    elif assigns:
                        # outside POSIX mode, bash treats an argument that looks like an assignment as one
                        starts = _tilde_starts(part.string, 0 if number else assigns, first=not number)
                self._unsplit(builder, self._tildes(part, place, starts, last=number == len(parts) - 1))
            elif isinstance(part, Quoted):
                builder.add(part.text)
            elif isinstance(part, Double):
                self._double(builder, part)
            else:
                self._add_unquoted(builder, part)
        builder.close()
        if any(field.pattern for field in builder.done) and "noglob" not in self.state.options:
            return [one for field in builder.done for one in self._match_files(field, place)]
        return builder.done

    def _double(self, builder: _Builder, part: Double) -> None:
        """Add a double-quoted part to the fields; `"$@"` makes several."""
        if not part.parts:
            builder.open()
        for inner in part.parts:
            self._add_quoted(builder, inner)

    def _add_quoted(self, builder: _Builder, part: Part) -> None:
        """Add a part from inside double quotes."""
        if isinstance(part, (Quoted, Bare)):
            builder.add(part.text)
        elif isinstance(part, Double):
            self._double(builder, part)
        elif not isinstance(part, Parameter):
            builder.add(self._part_text(part))
        elif part.form not in _ALTERNATIVES or not self._quoted_operand(builder, part):
            for number, value in enumerate(self.parameter(part, quoted=True)[0]):
                if number:
                    builder.close()
                builder.add(value)

    def _quoted_operand(self, builder: _Builder, part: Parameter) -> bool:
        """Add the operand of a quoted `${X:-…}` if a list in it makes several fields; False if not used."""
        if part.operand is None or not any(isinstance(inner, (Double, Parameter)) for inner in part.operand.parts):
            return False
        if self._operand_taken(part) is not True:
            return False
        builder.open()  # an empty list in an operand is an empty word
        for inner in part.operand.parts:
            if isinstance(inner, (Quoted, Bare)):
                builder.add(with_expansion(inner.text, part.place))
            else:
                self._add_quoted(builder, inner)
        return True

    def _add_unquoted(self, builder: _Builder, part: Part) -> None:
        """Add an unquoted expansion to the fields, split at separators."""
        if isinstance(part, Parameter):
            if part.form in _ALTERNATIVES and self._split_operand(builder, part):
                return
            values, listed = self.parameter(part, quoted=False)
        else:
            values, listed = [self._part_text(part)], False
        for number, value in enumerate(values):
            if number and listed:
                builder.close()
            self._split(builder, value)

    def _split_operand(self, builder: _Builder, part: Parameter) -> bool:
        """Add the operand of an unquoted `${X:-…}`, split by its own quotes; False if not used."""
        if part.operand is None or not any(
            isinstance(inner, (Double, Quoted, Parameter)) for inner in part.operand.parts
        ):
            return False
        taken = self._operand_taken(part)
        if taken is not True:
            return False
        for number, inner in enumerate(part.operand.parts):
            if isinstance(inner, Quoted):
                builder.add(with_expansion(inner.text, part.place))
            elif isinstance(inner, Double):
                self._double(builder, inner)
            elif isinstance(inner, Bare):
                starts = (0,) if number == 0 and inner.string.startswith("~") else ()
                text = self._tildes(inner, part.place, starts, last=len(part.operand.parts) == 1)
                self._split(builder, with_expansion(text, part.place))
            else:
                self._add_unquoted(builder, inner)
        return True

    def _split(self, builder: _Builder, text: Text) -> None:
        """Adds an expansion's text, a field for each stretch between separators."""
        separators = self.separators()
        if not separators:
            self._unsplit(builder, text)
            if text and separators is None:
                builder.open().split = True
            return
        self.spend(sum([len(piece.text) for piece in text]) // 64 + 1)
        closed_by_blank = False
        for piece in text:
            if piece.doubt is not None:
                self._unsplit(builder, (piece,))
                continue
            string, at, size = piece.text, 0, len(piece.text)
            while at < size:
                end = run_end(string, at, size, separators)
                if end > at:
                    self._unsplit(builder, (piece.cut(at, end),))
                    closed_by_blank = False
                if end == size:
                    break
                if string[end] in BLANKS:
                    closed_by_blank = closed_by_blank or builder.current is not None
                else:
                    if builder.current is None and not closed_by_blank:
                        builder.open()
                    closed_by_blank = False
                builder.close()
                at = end + 1

    def _unsplit(self, builder: _Builder, text: Text) -> None:
        """Add text to the current field without splitting."""
        for piece in text:
            field = builder.open()
            field.pieces.append(piece)
            if piece.doubt is not None:
                field.split = field.split or not piece.doubt.atomic
            elif pattern.has_pattern(piece.text, extended=self.has_extglob):
                field.pattern = True

    def separators(self) -> str | None:
        """Characters of IFS; None if unknown."""
        variable = self.state.variables.get("IFS")
        if variable is None or variable.value is None:
            return " \t\n"
        return string_of(variable.value)

    def _match_files(self, field: Field, place: Place) -> list[Field]:
        """Fields for the files that a pattern matches; the pattern itself if that is unknown."""
        if not field.pattern or field.split:
            return [field]
        string = string_of(field.text())
        if string is None:
            field.split = True
            return [field]
        if not pattern.is_pattern(string, extended=self.has_extglob):
            return [field]
        certain = self.state.options.isdisjoint(_OF_NO_MATCH)
        if certain and not _may_match(string, extended=self.has_extglob):
            return [field]
        names = None if field.protected else pattern.matching_files(self, string)
        if names is not None:
            return [Field(plain(name, field.pieces[0].place)) for name in names]
        doubt = Doubt(say.file_pattern(), place)
        changed = Field((Piece(string, field.pieces[0].place, False, (), doubt),))
        changed.split = True
        return [changed]

    def text(self, word: Word, *, assigned: bool = False, quoted: bool = False) -> Text:
        """Text of a word without splitting; no tilde of a quoted one is expanded."""
        parts = word.parts
        if len(parts) == 1:
            part = parts[0]
            if isinstance(part, Quoted):
                return part.text
            if isinstance(part, Bare) and (quoted or "~" not in part.string):
                return part.text
        found: list[Piece] = []
        for number, part in enumerate(parts):
            if isinstance(part, Bare):
                first = number == 0
                if quoted:
                    starts: Sequence[int] = ()
                elif assigned:
                    starts = _tilde_starts(part.string, 0, first=first)
                else:
                    starts = (0,) if first and part.string.startswith("~") else ()
                found.extend(self._tildes(part, word.place, starts, last=number == len(parts) - 1))
            elif isinstance(part, (Quoted, Double)):
                found.extend(part.text if isinstance(part, Quoted) else self.double_text(part))
            else:
                found.extend(self._joined_part(part, quoted=False))
        return self._charge(found)

    def _charge(self, pieces: list[Piece]) -> Text:
        """The pieces as a text, paid for by their number and length: doubling a variable must come to an end."""
        if len(pieces) > 8:
            self.spend(len(pieces) // 8 + sum([len(piece.text) for piece in pieces]) // 1024)
        return tuple(pieces)

    def double_text(self, part: Double) -> Text:
        """Text of a double-quoted string."""
        found: list[Piece] = []
        for inner in part.parts:
            if isinstance(inner, Quoted):
                found.extend(inner.text)
            else:
                found.extend(self._joined_part(inner, quoted=True))
        return self._charge(found)

    def _joined_part(self, part: Part, *, quoted: bool) -> Text:
        """Text of one part; several values are joined."""
        if isinstance(part, Parameter):
            values, listed = self.parameter(part, quoted=quoted)
            if not listed or len(values) == 1:
                return values[0] if values else ()
            if part.name == "*" or (part.subscript is not None and part.subscript.literal() == "*"):
                return self._join_star(values, part.place)
            return between(values, plain(" ", part.place))
        return self._part_text(part)

    def pattern_parts(self, word: Word) -> list[tuple[str, bool]]:
        """Word as pattern characters, each with True if quoted; UndecidedError if unknown."""
        found: list[tuple[str, bool]] = []
        for number, part in enumerate(word.parts):
            if isinstance(part, Bare):
                starts = (0,) if number == 0 and part.string.startswith("~") else ()
                text = self._tildes(part, word.place, starts, last=len(word.parts) == 1)
            elif isinstance(part, (Quoted, Double)):
                text = part.text if isinstance(part, Quoted) else self.double_text(part)
            else:
                text = self._joined_part(part, quoted=False)
            string = string_of(text)
            if string is None:
                raise UndecidedError
            found.append((string, isinstance(part, (Quoted, Double))))
        return found

    # Parts

    def _part_text(self, part: Part) -> Text:
        """Text of a part other than a parameter."""
        if isinstance(part, Arithmetic):
            return self.arithmetic_text(part)
        if isinstance(part, Substitution):
            return self.substitution_text(part)
        if isinstance(part, ProcessSubstitution):
            return unknown_text(say.process_substitution(), part.place, atomic=True)
        if isinstance(part, Double):
            return self.double_text(part)
        if isinstance(part, (Bare, Quoted)):
            return part.text
        return self._joined_part(part, quoted=True)

    def arithmetic_text(self, part: Arithmetic) -> Text:
        """Text of `$((…))`."""
        try:
            return plain(str(self.arithmetic(part)), part.place)
        except UndecidedError:
            reason = self.undecided_reason or say.value_unknown()
            return unknown_text(reason, part.place, atomic=True)
        except ExpressionError as error:
            self.note(say.arithmetic(text=part.place.snippet(), why=error.words), part.place)
            raise Discard from None

    def arithmetic(self, part: Arithmetic) -> int:
        """The value of an expression; raises UndecidedError or ExpressionError."""
        text = self.double_text(Double(part.parts, part.place))
        try:
            expression = self.decide(text)
        except UndecidedError:
            self.forget_assigned(display(text), part.place)
            raise
        return self.evaluate(expression, part.place)

    def _tildes(self, part: Bare, place: Place, starts: Sequence[int], *, last: bool) -> Text:
        """A bare part with the tildes at `starts` expanded; a prefix ends at a slash or colon, or with the word."""
        text, string = part.text, part.string
        if "~" not in string:
            return text
        if len(string) != sum([len(piece.text) for piece in text]):
            return unknown_text(say.home_unknown(), place) if starts else text
        found: list[Piece] = []
        done = 0
        for start in starts:
            stops = [at for at in [string.find(mark, start) for mark in "/:"] if at >= 0]
            if not stops and not last:
                continue  # what follows is quoted or expanded: bash takes no such prefix
            end = min(stops, default=len(string))
            home = self._home(string[start:end], place)
            if home is not None:
                found.extend(cut(text, done, start))
                found.extend(home)
                done = end
        return (*found, *cut(text, done, len(string))) if done else text

    def _home(self, prefix: str, place: Place) -> Text | None:
        """Directory of `~`, `~+` or `~user`; None if the text is kept."""
        if prefix == "~":
            home = self.variable("HOME")
            if home is not None and home.value is not None:
                return home.value
            found = unknown_text(say.home_unknown(), place, atomic=True)
            return (found[0]._replace(text="~"),)
        if prefix == "~+":
            return self.directory(place)
        if prefix[1:].replace("_", "a").replace("-", "a").isalnum():
            return (unknown_text(say.home_of_a_user(), place, atomic=True)[0]._replace(text=prefix),)
        return None

    # Parameters

    def parameter(self, part: Parameter, *, quoted: bool) -> tuple[list[Text], bool]:
        """The values of an expansion, and whether they are separate words (`$@`, `${A[@]}`)."""
        place = part.place
        self.spend(1)
        form = part.form
        if form == "bad":
            self.note(say.bad_substitution(text=place.snippet()), place)
            self.exit_on_error()
            raise Discard
        if form == "names":
            return self._names(part.name, place), True
        name, index = part.name, part.subscript
        subscript = None if index is None else index.literal()
        if part.indirect:
            if subscript in ("@", "*") and not form:
                return self._keys(name, subscript, place, quoted=quoted)
            target = self._indirect(part)
            if not isinstance(target[0], str):
                return [target[0]], False
            name, index = target[0], target[1]
            subscript = None if index is None else index.literal()
        if name in ("@", "*") or subscript in ("@", "*"):
            return self._many(part, name, index, "@" if "@" in (name, subscript) else "*", quoted=quoted)
        if not form:
            return [self._plain_value(name, index, place)], False
        return [self._form_value(part, name, index, quoted=quoted)], False

    def _names(self, start: str, place: Place) -> list[Text]:
        """The values of `${!start@}`: the names of the variables that begin so."""
        return [plain(name, place) for name in sorted(self.state.variables) if name.startswith(start)]

    def _plain_value(self, name: str, index: Word | None, place: Place) -> Text:
        """The value of a parameter without an operator."""
        found = self._scalar(name, index, place)
        if found is None:
            found = self.unset_value(name, place)
        if len(found) > 8:
            self.spend(len(found) // 8)
        return with_expansion(found, place)

    def _indirect(self, part: Parameter) -> tuple[str | Text, Word | None]:
        """Name and subscript behind `${!name}`, or the resulting value."""
        name, index, place = part.name, part.subscript, part.place
        held = self.state.variables.get(name)
        if held is not None and held.reference and held.value and index is None:
            # of a name reference, `${!name}` is the name that it refers to
            return with_expansion(held.value, place), None
        target = self._scalar(name, index, place)
        string = None if target is None else string_of(target)
        if target is None or string == "":
            if target is None and name.isdigit():
                return name, index  # unset as well, and so is what an argument that is not given would name
            if string == "" or self.options.unset_empty:
                self.exit_on_error()
                raise Discard  # bash refuses to look for a variable without a name
            return self.unset_value(name, place), None
        if string is None:
            return unknown_text(why(target), place), None
        found = reference(string, place)
        if not found[0]:
            self.exit_on_error()
            raise Discard
        return found

    def _scalar(self, name: str, index: Word | None, place: Place) -> Text | None:
        """Value of a parameter; None if unset."""
        if index is None:
            return self.value_of(name, place)
        variable = self.variable(name)
        if variable is None and (special := self.special_item(name, index, place)) is not None:
            return special
        try:
            return self.element(Variable() if variable is None else variable, index, place)
        except BadSubscript:
            return None

    def _keys(self, name: str, subscript: str, place: Place, *, quoted: bool) -> tuple[list[Text], bool]:
        """Keys of an array, and True if they form a list."""
        variable = self.variable(name)
        if variable is None or (variable.items is None and variable.value is None):
            return [], True
        if variable.items is None:
            return [plain("0", place)], True
        found = [plain(str(key), place) for key in variable.items]
        if variable.keyed and len(found) > 1:
            return [unknown_text(say.order_of_keys(), place)], False
        if any(is_loose(value) for value in variable.items.values()):
            return [unknown_text(say.array_length(), place)], False
        if subscript == "*" and quoted:
            return [between(found, plain(" ", place))], False
        return found, True

    def _many(
        self, part: Parameter, name: str, index: Word | None, sign: str, *, quoted: bool
    ) -> tuple[list[Text], bool]:
        """Values of `$@`, `$*` or an array with an operator applied, and True if they form a list."""
        place, form = part.place, part.form
        numbers, values = self._values_of_many(part, name, index)
        if form == "length":
            if index is not None:
                self._require_array(name, values, place)
            if any(is_loose(value) for value in values):
                return [unknown_text(say.array_length(), place, atomic=True)], False
            return [plain(str(len(values)), place)], False
        if form in _DEFAULTING:
            empty = _is_absent(form, values)
            if empty != (form[-1] == "+"):
                return [self._operand_text(part, quoted=quoted)], False
            if empty:
                return ([], True) if sign == "@" and quoted and not values else ([()], False)
        elif form == ":":
            sliced = self._slice(part, values, numbers, positional=index is None)
            if sliced is None:
                return [(hole(say.slice_unknown(), place, loose=True)[0]._replace(text=place.snippet()),)], True
            values = sliced
        elif form:
            values = [self._transform(part, value) for value in values]
        values = [with_expansion(value, place) for value in values]
        return ([self._join_star(values, place)], False) if sign == "*" and quoted else (values, True)

    def _values_of_many(self, part: Parameter, name: str, index: Word | None) -> tuple[Sequence[int | str], list[Text]]:
        """The subscripts and values of the positional parameters or of a whole array."""
        if index is None:
            values = self._positional_parameters(part.place, part.form)
            numbers: Sequence[int | str] = range(1, len(values) + 1)
        else:
            numbers, values = self._elements(name, index, part)
        self.spend(len(values) // 2)
        return numbers, values

    def _require_array(self, name: str, values: list[Text], place: Place) -> None:
        """Refuse `${#X[@]}` under `set -u` if X is not an array, even if it has a value."""
        variable = self.variable(name)
        absent = not values if variable is None else variable.items is None
        if absent and self.options.unset_empty and "nounset" in self.state.options:
            self.note(say.unbound(variable=name), place)
            self.exit_on_error()
            raise Discard

    def _positional_parameters(self, place: Place, form: str) -> list[Text]:
        """Positional parameters; notes if the script was given none."""
        values = list(self.state.positional)
        if form == "length":
            return values
        if not values and not self.calls and not self.options.positional:
            self.not_given = self.not_given or place
        self.not_given = self.not_given or self.state.own
        return values

    def _elements(self, name: str, index: Word, part: Parameter) -> tuple[list[int | str], list[Text]]:
        """The subscripts and values of a whole array."""
        variable = self.variable(name)
        if variable is None:
            special = self.special_item(name, index, part.place)
            values = [] if special is None else [special]
            if not values and part.form not in _BEARS_NOTHING:
                absent = self.unset_value(name, part.place)
                # Of an array that nobody set, not even the number of its words is known.
                values = [_as_loose(absent)] if absent else []
            return list(range(len(values))), values
        entries = variable.entries()
        if variable.keyed and len(entries) > 1 and part.form != "length":
            reason = say.order_of_entries()
            return list(entries), [hole(reason, part.place, loose=True)]
        numbers = list(entries) if variable.keyed else sorted(entries, key=int)
        return numbers, [entries[number] for number in numbers]

    def _join_star(self, values: Sequence[Text], place: Place) -> Text:
        """`"$*"`: the values joined by the first character of IFS."""
        separators = self.separators()
        return between(values, plain(" " if separators is None else separators[:1], place))

    def _operand_text(self, part: Parameter, *, quoted: bool) -> Text:
        """The operand of `${X:-word}` and its like, in place of the value."""
        if part.form[-1] == "?":
            option = "--arg VALUE" if part.name.isdigit() else f"--var {part.name}=VALUE"
            self.note(say.parameter_refused(text=part.place.snippet(), option=option), part.place)
            raise Exit(1)
        assert part.operand is not None
        return with_expansion(self.text(part.operand, quoted=quoted), part.place)

    def _slice(
        self, part: Parameter, values: list[Text], numbers: Sequence[int | str], *, positional: bool
    ) -> list[Text] | None:
        """Values of `${X[@]:offset:length}`; None if undecided."""
        try:
            assert part.operand is not None
            offset = self._number(part.operand)
            length = None if part.second is None else self._number(part.second)
        except UndecidedError:
            return None
        if any(is_loose(value) for value in values):
            return None
        if positional:
            values = [plain(self.name, part.place), *values]
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
        string = self.decide(self.text(word))
        try:
            return self.evaluate(string, word.place)
        except ExpressionError:
            raise Discard from None

    def _operand_taken(self, part: Parameter) -> bool | None:
        """True if a parameter's form uses its operand; None if undecided."""
        name, index = part.name, part.subscript
        if part.indirect:
            target = self._indirect(part)
            if not isinstance(target[0], str):
                return None
            name, index = target[0], target[1]
        if name in ("@", "*") or (index is not None and index.literal() in ("@", "*")):
            values = self._values_of_many(part, name, index)[1]
            return None if any(map(is_loose, values)) else _is_absent(part.form, values) != (part.form[-1] == "+")
        value = self._scalar(name, index, part.place)
        return self._takes_operand(part.form, value)

    def _takes_operand(self, form: str, value: Text | None) -> bool | None:
        """True if `${X:-word}` and similar forms use their operand; None if undecided."""
        if value is None:
            absent: bool | None = True
        elif form[0] == ":":
            absent = _is_empty(value)
        else:
            unsure = len(value) == 1 and value[0].doubt is not None and not value[0].doubt.atomic
            absent = None if unsure else False
        if form[-1] == "+" and absent is not None:
            return not absent
        return absent

    def _form_value(self, part: Parameter, name: str, index: Word | None, *, quoted: bool) -> Text:
        """Value of a parameter with an operator such as `:-`, `=` or a length."""
        place, form = part.place, part.form
        if form == "length":
            return self._length(name, index, place)
        value = self._scalar(name, index, place)
        if form in _DEFAULTING:
            taken = self._takes_operand(form, value)
            if taken is None:
                return unknown_text(why(value or ()), place)
            if not taken:
                return () if form[-1] == "+" else with_expansion(value or (), place)
            if form[-1] == "?" and not self.options.unset_empty and value is None:
                return self.unset_value(name, place)
            found = self._operand_text(part, quoted=quoted)
            if form[-1] == "=":
                self.assign(name, found, None, place=place)
            return found
        # Of an unset variable bash makes nothing: neither quotes (`@Q`) nor a replacement (`/*/x`).
        return self._transform(part, value) if value is not None else self.unset_value(name, place)

    def _length(self, name: str, index: Word | None, place: Place) -> Text:
        """Length of a variable or element; of a bad subscript there is none, and bash drops the line."""
        variable = None if index is None else self.variable(name)
        if variable is None or index is None:
            value = self._scalar(name, index, place)
        else:
            value = self.element(variable, index, place)
        return _length_text(self.unset_value(name, place) if value is None else value, place)

    def _transform(self, part: Parameter, value: Text) -> Text:
        """`${X#p}`, `${X/p/r}`, `${X:1:2}`, `${X^^}`, `${X@Q}` of one value."""
        place, form = part.place, part.form
        string = string_of(value)
        if string is None:
            trimmed = self._trimmed_end(part, value) if form in ("##", "#", "%", "%%") else None
            if trimmed is not None:
                return with_expansion(trimmed, place)
            return unknown_text(why(value), place, atomic=all(p.doubt is None or p.doubt.atomic for p in value))
        self.spend(len(string) // 64)
        try:
            if form[0] in ":#%":
                return with_expansion(cut(value, *self._bounds(part, string)), place)
            changed = self._replace_pattern(part, string) if form[0] == "/" else self._change_case(part, string)
            if changed is not None:
                return plain(changed, place)
        except (UndecidedError, pattern.TooHardError):
            pass
        return unknown_text(self.undecided_reason or say.expansion_undecided(), place)

    def _trimmed_end(self, part: Parameter, value: Text) -> Text | None:
        """Value with a literal prefix or suffix removed, although another part is unknown."""
        assert part.operand is not None
        try:
            parts = self.pattern_parts(part.operand)
        except UndecidedError:
            return None
        literal = "".join([text for text, _ in parts])
        front = part.form[0] == "#"
        piece = value[0 if front else -1]
        if any(pattern.has_pattern(text) and not quoted for text, quoted in parts) or "\\" in literal:
            return None
        if piece.doubt is not None or len(piece.text) < len(literal):
            return None
        size = len(piece.text)
        if front:
            return (piece.cut(len(literal) if piece.text.startswith(literal) else 0, size), *value[1:])
        return (*value[:-1], piece.cut(0, size - len(literal) if piece.text.endswith(literal) else size))

    def _bounds(self, part: Parameter, string: str) -> tuple[int, int]:
        """The stretch that `${X:1:2}`, `${X#p}` and `${X%p}` leave of a value."""
        assert part.operand is not None
        form, size = part.form, len(string)
        if form[0] != ":":
            parts, longest = self.pattern_parts(part.operand), len(form) == 2
            if form[0] == "#":
                return pattern.without_prefix(parts, string, longest=longest, extended=self.has_extglob), size
            return 0, pattern.without_suffix(parts, string, longest=longest, extended=self.has_extglob)
        start = self._number(part.operand)
        start = start + size if start < 0 else start
        if start < 0:
            return 0, 0
        end = size
        if part.second is not None:
            length = self._number(part.second)
            end = start + length if length >= 0 else size + length
            if length < 0 and end < start:
                raise Discard
        return min(start, size), min(max(end, start), size)

    def _replace_pattern(self, part: Parameter, string: str) -> str:
        """Text of `${X/pattern/text}`."""
        assert part.operand is not None
        parts = self.pattern_parts(part.operand)
        anchor = ""
        if part.form == "/" and parts and parts[0][0][:1] in ("#", "%") and not parts[0][1]:
            anchor = parts[0][0][0]
            parts = [(parts[0][0][1:], False), *parts[1:]]
        new = self.decide(() if part.second is None else self.text(part.second))
        if "&" in new:
            raise UndecidedError  # from bash 5.2 on it stands for what was matched, before for itself
        if not any(text for text, _ in parts):
            return {"#": new + string, "%": string + new}.get(anchor, string)
        form = {"#": r"\A(?:{})", "%": r"(?:{})\Z"}.get(anchor, "{}")
        expression = form.replace("{}", pattern.to_regex(parts, extended=self.has_extglob))
        compiled = pattern.compile_bounded(expression, string)
        if part.form == "/":
            return compiled.sub(lambda _: new, string, 1)
        # Python also matches nothing behind the last character, bash does not: `${X//*/z}` is one z.
        return compiled.sub(lambda found: new if found.start() < len(string) or not string else "", string)

    def _change_case(self, part: Parameter, string: str) -> str | None:
        """`${X^^p}`, `${X,p}`, `${X@U}` and `${X@Q}`."""
        assert part.operand is not None
        if part.form == "@":
            change = _CHANGES.get(part.operand.literal() or "")
            return None if change is None else change(string)
        if part.form == "*":
            return None
        recase = upper_case if part.form[0] == "^" else lower_case
        parts = self.pattern_parts(part.operand)
        expression = pattern.compile_bounded(pattern.to_regex(parts, extended=self.has_extglob) or ".", "a")
        limit = len(string) if len(part.form) == 2 else 1
        return "".join(
            [recase(char) if at < limit and expression.fullmatch(char) else char for at, char in enumerate(string)]
        )


def shell_quoted(string: str) -> str:
    """Text in quotes, as `${X@Q}` produces: single ones, or `$'…'` if a character is not printable."""
    if string.isprintable():
        return "'" + string.replace("'", "'\\''") + "'"
    return "$'" + "".join([_ESCAPED.get(char) or _octal(char) for char in string]) + "'"


_ESCAPED = {char: f"\\{letter}" for char, letter in zip("\a\b\x1b\f\n\r\t\v\\'", "abEfnrtv\\'", strict=True)}


def _octal(char: str) -> str:
    return (
        char if char.isprintable() else "".join([f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape")])
    )


_CHANGES: dict[str, Callable[[str], str]] = {
    "U": upper_case,
    "L": lower_case,
    "u": lambda string: upper_case(string[:1]) + string[1:],
    "Q": shell_quoted,
}


def _assignment_end(string: str) -> int:
    """Start of the value in a word that looks like an assignment; 0 for any other word."""
    end = name_end(string, 0)
    if end and string.startswith("[", end):
        close = string.find("]", end)
        end = close + 1 if close > 0 else 0
    if not end:
        return 0
    end += string.startswith("+", end)
    return end + 1 if string.startswith("=", end) else 0


def _tilde_starts(string: str, at: int, *, first: bool) -> list[int]:
    """Positions of tildes that bash expands in an assignment."""
    found = [at] if first and string.startswith("~", at) else []
    while (at := string.find(":~", at)) >= 0:
        at += 1
        found.append(at)
    return found


def _is_empty(value: Text) -> bool | None:
    """True if a value is empty; None if undecided."""
    string = string_of(value)
    if string is not None:
        return not string
    if any(piece.doubt is None and piece.text for piece in value):
        return False
    if any(piece.doubt is not None and piece.doubt.atomic for piece in value):
        return False
    return None


def _may_match(string: str, *, extended: bool) -> bool:
    """True if a pattern could match a file, not a formula or option."""
    first = min([at for at in (string.find(char) for char in "*?[") if at >= 0], default=0)
    if "=" in string[:first]:
        return False  # `key=[a,b]`, `let X=Y*2`: no file is called so
    if string.startswith("-") or "://" in string or ("(" in string and not extended):
        return False
    import re

    return not re.fullmatch(_FORMULA, string)


def join_with_blanks(fields: Sequence[Field], place: Place) -> Text:
    """The words joined by blanks."""
    return between([field.text() for field in fields], plain(" ", place))
