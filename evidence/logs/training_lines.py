"""Reading the training lines of one form out of chunks of bytes, at the speed of one regular expression.

The columns of a run's lines hardly ever change. So the first line of a new layout is taken apart column by column,
and from all layouts seen a pattern is made that finds such lines in a chunk at once and hands out the wanted values.
A chunk where that pattern does not find every line that looks like a training line is read again line by line, which
teaches the pattern new columns or ends in a problem that names the line.

Most lines of a long log have the shape of one that was read before (`Shape`): the same columns, which differ in their
numbers. Split at its separators such a chunk gives each column as every so many pieces: one
that does not change takes one comparison, one that is read over is the same but for digits, signs and spaces, and any
other is what stands between the same two texts in every line. That costs a third of what the pattern of its form
takes. Where anything is unusual nothing is taken, and the pattern reads the chunk.

Frameworks pad their figures, so that most lines of a log are of one length (`Even`). Then the bytes at one place of all
lines are one slice, and a comparison a place shows that lines differ in their numbers only. That costs half of
splitting such a chunk at its separators, which is left for lines of another length.
"""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from .columns import ABSENT, LARGEST, LEARNING_RATE, column_value, is_loss, is_metric, own_name
from .messages_compiled import say
from .sources import excerpt, problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...schemas.diagnostic import Diagnostic
    from ...schemas.message import Words

VARIES = b"0123456789+- "
CONTROLS = b"\t\r\v\f"
"""What `float` passes over, and a line's pattern does not."""
_BEGIN = re.compile(rb" ?[^:]*: *\[?")
_END = re.compile(rb"[^\d]*$")


class Column(NamedTuple):
    """A piece of the line that was read before, and the column it is."""

    at: int
    """Which piece of a line it is."""
    piece: bytes
    begin: bytes = b""
    """What stands before the value."""
    end: bytes = b""
    """What stands after it."""
    called: str = ""
    """What accmap calls it; empty where its value is read over."""
    value: float = ABSENT


class Taken(NamedTuple):
    """The columns of a chunk of lines of one shape."""

    heads: Sequence[Sequence[bytes]]
    """The groups of the heads, one sequence a group."""
    lines: int
    columns: Mapping[str, tuple[float, Sequence[bytes]]]
    """What stands in each column: one value of all lines, or the text of each."""


class Head(NamedTuple):
    """The piece of a line that holds its step; what of the head stands before it is the same in all lines."""

    at: int
    piece: bytes
    pattern: re.Pattern[bytes]
    """Finds the step where pieces are parted by the mark and a space."""
    groups: tuple[bytes, ...]
    varies: int
    """Which of the groups is the step."""
    before: tuple[Column, ...]
    """The pieces before it, each with what of the head it ends with."""
    starts: int
    """The piece in which the head begins."""
    whole: re.Pattern[bytes]
    """Finds a whole head, whatever changes in it."""


class Shape(NamedTuple):
    """The pieces of which the lines of a chunk are made."""

    mark: bytes
    """Pieces of a line are parted by it."""
    width: int
    """How many pieces a line has."""
    head: Head
    columns: tuple[Column, ...]

    def match(self, chunk: bytes, lines: int) -> Taken | None:
        """Values of a chunk whose lines all have this shape; None if one differs."""
        # What begins a line begins with the end of the line before.
        pieces = (b"\n" + chunk.replace(b"\n", self.mark + b"\n")).split(self.mark)
        pieces.pop()
        if len(pieces) != lines * self.width:
            return None
        heads = self._heads(pieces, lines)
        if heads is None:
            return None
        columns: dict[str, tuple[float, Sequence[bytes]]] = {}
        for column in self.columns:
            texts = pieces[column.at :: self.width]
            if texts.count(column.piece) == lines:
                entry: tuple[float, Sequence[bytes]] = (column.value, ())
            elif not column.called:
                if not self._is_alike(column, texts):
                    return None
                continue
            else:
                values = self._values(column, texts)
                if values is None:
                    return None
                entry = (column.value, values)
            if column.called:
                columns.setdefault(column.called, entry)
        return Taken(heads, lines, columns)

    def _heads(self, pieces: list[bytes], lines: int) -> Sequence[Sequence[bytes]] | None:
        """Changing parts of the line heads; None if the text around a step differs."""
        head = self.head
        for column in head.before:
            texts = pieces[column.at :: self.width]
            if texts.count(column.piece) != lines and not self._is_alike(column, texts):
                return None if not column.end else self._any_heads(pieces, lines)
        end = self.mark + b" "
        text = end + end.join(pieces[head.at :: self.width]) + end
        found = head.pattern.findall(text)
        if len(found) != lines or _bare(text) != self.mark + _bare(head.piece + self.mark) * lines:
            return None
        return [found if at == head.varies else [group] * lines for at, group in enumerate(head.groups)]

    def _any_heads(self, pieces: list[bytes], lines: int) -> Sequence[Sequence[bytes]] | None:
        """Changing parts of heads with more than the step, such as the epoch."""
        head = self.head
        each = [pieces[at :: self.width] for at in range(head.at + 1)]
        wanted = (*(column.piece for column in head.before), head.piece)
        if not all(self._is_alike(Column(0, piece), texts) for piece, texts in zip(wanted, each, strict=True)):
            return None
        parts = zip(*each[head.starts :], strict=True)
        end = self.mark + b" \n"
        found = head.whole.findall(end.join(map(self.mark.join, parts)) + end)
        return list(zip(*found, strict=True)) if len(found) == lines else None

    def _is_alike(self, column: Column, texts: list[bytes]) -> bool:
        """True if texts differ only in digits, signs and spaces between an equal start and end."""
        text = self.mark + self.mark.join(texts) + self.mark
        if _bare(text) != self.mark + _bare(column.piece + self.mark) * len(texts):
            return False
        begins = not column.begin or text.count(self.mark + column.begin) == len(texts)
        return begins and (not column.end or text.count(column.end + self.mark) == len(texts))

    def _values(self, column: Column, texts: list[bytes]) -> Sequence[bytes] | None:
        """Value texts of a column; None if its name or surroundings differ in a line."""
        if not column.begin:  # a word, which is the same in all lines
            return None
        text = self.mark.join(texts)
        if not (text.startswith(column.begin) and text.endswith(column.end)):
            return None
        between = column.end + self.mark + column.begin
        bare = text[len(column.begin) : len(text) - len(column.end)]
        if bare.translate(None, CONTROLS) != bare:
            return None
        values = bare.replace(between, self.mark)
        if len(bare) - len(values) != (len(between) - len(self.mark)) * (len(texts) - 1):
            return None
        return None if b" " + self.mark in values or values.endswith(b" ") else values.split(self.mark)


def _bare(text: bytes) -> bytes:
    """Text without characters that vary between lines: digits, signs, spaces."""
    return text.translate(None, VARIES)


def shape_of(
    line: bytes, pattern: re.Pattern[bytes], mark: bytes, last: bytes, called: Callable[[bytes], tuple[str, float]]
) -> Shape | None:
    """Shape of a line that the form's pattern read; None if it is too irregular."""
    found = list(pattern.finditer(line))
    if len(found) != 1 or not line.endswith(b"\n"):
        return None
    pieces = (b"\n" + line.replace(b"\n", mark + b"\n")).split(mark)[:-1]
    head = _head_of(line, found[0], mark, pieces)
    if head is None:
        return None
    columns: list[Column] = []
    for at, piece in enumerate(pieces[head.at + 1 :], head.at + 1):
        column = _column_of(at, piece, called)
        if column is None:
            return None
        columns.append(column)
        if piece.partition(b":")[0].strip() == last:
            rest = [Column(beyond, more) for beyond, more in enumerate(pieces[at + 1 :], at + 1)]
            return Shape(mark, len(pieces), head, (*columns, *rest))
    return None


def _head_of(line: bytes, found: re.Match[bytes], mark: bytes, pieces: list[bytes]) -> Head | None:
    """Piece of a line with the step; None if the step has no piece of its own."""
    ended = found.end() - found.group().endswith(mark)
    starts, at = line.count(mark, 0, found.start()), line.count(mark, 0, ended)
    place = line.rfind(mark, 0, ended) + len(mark) if at else 0
    varies = next((group for group in range(1, found.re.groups + 1) if found.start(group) >= place), 0)
    if not varies:
        return None
    step = found.re
    if starts < at:  # the rest of the head stands here, and between the same texts
        begin = mark + b" " + line[place : found.start(varies)].rstrip(b" ")
        end = line[found.end(varies) : ended] + mark
        step = re.compile(rb"(?<=%b) *(\d{1,9})(?=%b)" % (re.escape(begin), re.escape(end)))
    before = [Column(piece, pieces[piece]) for piece in range(starts)]
    heads = [Column(piece, pieces[piece]) for piece in range(starts, at)]
    if heads:
        heads[0] = heads[0]._replace(end=line[found.start() :].partition(mark)[0])
        heads[1:] = [column._replace(begin=column.piece, end=column.piece) for column in heads[1:]]
    return Head(at, pieces[at], step, found.groups(b""), varies - 1, (*before, *heads), starts, found.re)


def _column_of(at: int, piece: bytes, called: Callable[[bytes], tuple[str, float]]) -> Column | None:
    """Column in one piece of a line; None if its value cannot be located."""
    begin = _BEGIN.match(piece)
    if begin is None:
        return None
    name, value = called(piece.partition(b":")[0].strip())
    if not name:
        return Column(at, piece, piece[: piece.index(b":") + 1])
    if value == ABSENT:  # what stands here was not read in the lines before
        return None
    end = _END.search(piece, begin.end())
    bare = piece[begin.end() : end.start() if end else len(piece)]
    if not bare:
        return Column(at, piece, called=name, value=value)
    try:
        float(bare)
    except ValueError:
        return None
    return Column(at, piece, begin.group().rstrip(b" "), piece[begin.end() + len(bare) :], name, value)


FEWEST = 16
"""Lines in a row that are worth slicing."""
_MOST_ODD = 64
"""Lines of another length in a chunk, beyond which looking for each of them takes longer than splitting all."""


class Field(NamedTuple):
    """The place of a value."""

    start: int
    stop: int
    called: str
    value: float
    fixed: bool = False
    """Whether it is a word, which has to be the same."""


class Even(NamedTuple):
    """The places of a line."""

    line: bytes
    same: tuple[int, ...]
    """Those where every line has the same byte."""
    varies: tuple[int, ...]
    """Those where a digit may be another, a sign, or a space: of values that are read over."""
    step: Field
    groups: tuple[bytes, ...]
    """The groups of the head."""
    group: int
    """Which of them is the step."""
    fields: tuple[Field, ...]

    def match(self, chunk: bytes) -> Taken | None:
        """Values of a chunk whose lines all have this length and shape; None if one differs."""
        length = len(self.line)
        lines = len(chunk) // length
        if lines * length != len(chunk) or not self._is_alike(chunk, lines):
            return None
        heads: list[Sequence[bytes]] = [[group] * lines for group in self.groups]
        heads[self.group] = self._texts(self.step, chunk, lines)
        columns: dict[str, tuple[float, Sequence[bytes]]] = {}
        for field in self.fields:
            stays = self._stays(field, chunk, lines)
            texts = () if stays else self._texts(field, chunk, lines)
            if not stays and (field.fixed or not texts):
                return None
            columns.setdefault(field.called, (field.value, texts))
        return Taken(heads, lines, columns)

    def _texts(self, field: Field, chunk: bytes, lines: int) -> Sequence[bytes]:
        """Text of a field in each line; empty if one is not a single word."""
        if b" " in chunk[field.stop - 1 :: len(self.line)]:
            return ()
        width = field.stop - field.start + 1
        text = bytearray(b"\n" * (lines * width))
        for place in range(width - 1):
            text[place::width] = chunk[field.start + place :: len(self.line)]
        whole = bytes(text)
        if any(control in whole for control in CONTROLS):
            return ()
        values = whole.split(b"\n")
        values.pop()
        return values if len(values) == lines else ()

    def _is_alike(self, chunk: bytes, lines: int) -> bool:
        """True if the lines differ only in their values."""
        line, length = self.line, len(self.line)
        return (
            all(chunk[at::length] == line[at : at + 1] * lines for at in self.same)
            and not any(chunk[at::length].translate(None, VARIES) for at in self.varies)
            and self._counts(chunk, lines)
        )

    def _counts(self, chunk: bytes, lines: int) -> bool:
        """True if all steps have equally many digits, with spaces before."""
        places = [chunk[at :: len(self.line)] for at in range(self.step.start, self.step.stop)]
        digits = [place.isdigit() for place in places]
        spaces = digits.count(False)
        return digits[-1] and not any(digits[:spaces]) and places[:spaces] == [b" " * lines] * spaces

    def _stays(self, field: Field, chunk: bytes, lines: int) -> bool:
        """True if a value is equal in all lines."""
        line, length = self.line, len(self.line)
        places = range(field.stop - 1, field.start - 1, -1)
        return all(chunk[at::length] == line[at : at + 1] * lines for at in places)

    def parts(self, chunk: bytes) -> Iterator[tuple[bytes, bool]]:
        """Chunk in parts, with True for those whose lines all have this length."""
        length, at, odd, begun = len(self.line), 0, 0, 0
        while at < len(chunk) and odd <= _MOST_ODD:
            ends = chunk[at + length - 1 :: length]
            lines = len(ends) - len(ends.lstrip(b"\n"))
            if lines >= FEWEST:
                if begun < at:
                    yield chunk[begun:at], False
                begun = at + lines * length
                yield chunk[at:begun], True
                at = begun
            else:
                at = chunk.index(b"\n", at + lines * length) + 1 if at + lines * length < len(chunk) else len(chunk)
                odd += 1
        if begun < len(chunk):
            yield chunk[begun:], False


def even_of(line: bytes, shape: Shape) -> Even | None:
    """Positions of the values in a line of a known shape; None if it is too irregular."""
    heads = list(shape.head.whole.finditer(line))
    pieces = line[:-1].split(shape.mark)
    if len(heads) != 1 or len(pieces) != shape.width:
        return None
    group = shape.head.varies + 1
    start, stop = heads[0].span(group)
    while line[start - 2 : start] == b"  ":  # the head's pattern may ask for one
        start -= 1
    step = Field(start, stop, "", 0.0)
    try:
        fields, over = _fields_of(line, pieces, shape)
    except ValueError:  # a value that is no number
        return None
    if len({field.called for field in fields}) < len(fields):
        return None
    over.update(range(heads[0].start()))
    taken = {place for field in (step, *fields) for place in range(field.start, field.stop)}
    varies = {place for place in over if line[place] in VARIES}
    same = tuple(place for place in range(len(line)) if place not in taken and place not in varies)
    return Even(line, same, tuple(varies), step, heads[0].groups(b""), group - 1, tuple(fields))


def _fields_of(line: bytes, pieces: Sequence[bytes], shape: Shape) -> tuple[list[Field], set[int]]:
    """Byte range of each value in a line, and the positions that may vary freely."""
    begins = [0]
    for piece in pieces:
        begins.append(begins[-1] + len(piece) + len(shape.mark))
    fields: list[Field] = []
    over: set[int] = set()
    for column in shape.columns:
        begin, end = begins[column.at], begins[column.at + 1] - len(shape.mark)
        if not column.called:
            over.update(range(begin + len(column.begin), end))
        elif column.begin:
            begin, end = begin + len(column.begin), end - len(column.end)
            fields.append(Field(begin, end, column.called, column_value(float(line[begin:end]))))
        else:
            fields.append(Field(begin, end, column.called, column.value, fixed=True))
    return fields, over


_MOST_PROBLEMS = 20
_MOST_COLUMNS = 256
"""Training lines have some twenty; a pattern of thousands would take all memory."""
_SAMPLE = 64
_NOTHING = frozenset((b"", b"None", b"unavailable", b"N/A"))
_NOT_HERE = re.compile(rb"N/A \([^)\n]*\)")
"""A pipeline stage without the loss says so, with a comma in the sentence."""
_RATE = re.compile(rb"\d\.(\d{3,9})[eE][-+]?\d{2}")
"""A learning rate with as many digits as every other one of its log."""
_FLAGS = {b"True": 1.0, b"False": 0.0}


def plain_steps(groups: Sequence[Sequence[bytes]]) -> list[int]:
    """Steps of a form whose first group is the step."""
    return list(map(int, groups[0]))


def piped_value(name: bytes, wanted: bool) -> bytes:
    """Pattern of a column between bars, capturing if `wanted`."""
    return b" *" + re.escape(name) + (rb": *([^ |\n]*) *\|" if wanted else rb":[^|\n]*\|")


class Form(NamedTuple):
    """Syntax of a framework's training lines."""

    framework: str
    dialect: str
    head: bytes
    """A pattern up to the first column; its groups give the step."""
    steps: Callable[[Sequence[Sequence[bytes]]], list[int]]
    """The steps of many lines from the head's groups, one sequence a group."""
    marks: tuple[bytes, ...]
    """What a training line has even where it is damaged: any of these."""
    separator: bytes
    known: Mapping[str, str]
    value: Callable[[bytes, bool], bytes]
    """The pattern of a column by its name, and whether its value is wanted (as a group) or read over."""
    last: tuple[str, ...]
    """The columns that end a whole line; the first of them that a layout has must be there."""
    begun: re.Pattern[bytes]
    """What even the beginning of a training line looks like, for a last line without line end."""
    ended: re.Pattern[bytes]
    """What the end of a whole line looks like, for a last line without line end."""
    nothing: frozenset[bytes] = frozenset()
    """Further words that say that there is no value."""
    later: re.Pattern[bytes] | None = None
    """By what a version is known that prints the first iteration of a process without beginning a new mean."""
    suspicious: bytes = b""
    """Where a chunk has this, its values are converted one by one."""
    start: bytes = b""
    """What a process says before its first training line."""
    fixed_rates: bool = False
    """Whether every learning rate has as many digits as the first."""
    means: bool = False
    """Whether a loss is the mean since the line before, and every line that has none was NaN."""


class Lines:
    """The training lines of one form, as they are read."""

    def __init__(self, form: Form, *, announced: bool = False) -> None:
        self.form = form
        self.steps = array("q")
        self.numbers = array("q")
        """The line of the file that each step stands on."""
        self.columns: dict[str, array[float]] = {}
        self.problems: list[Diagnostic] = []
        self.unreadable = 0
        self.keeps_first = False
        """Whether the version prints a process's first iteration without beginning a new mean."""
        self.rate_digits: int | None = None
        """How many digits the first learning rate is printed with, if it is printed with its exponent."""
        self.starts: list[int] = [0] if announced else []
        """Before which rows a process said that its training starts."""
        self._head = re.compile(form.head)
        self._names: list[bytes] = []
        self._pattern: re.Pattern[bytes] | None = None
        self._groups = self._head.groups
        self._wanted: list[str] = []
        self._strict: set[str] = set()
        """The columns whose every value has to be a number."""
        self._last = ""
        self._shape: Shape | None = None
        """What most lines look like."""
        self._even: Even | None = None
        """Where in most of these lines what stands."""

    def __len__(self) -> int:
        return len(self.steps)

    def take(self, chunk: bytes, first: int, file: str) -> None:
        """Read the training lines of a chunk that starts at line `first` of the file."""
        start = self.form.start
        if start and start in chunk:
            *before, chunk = chunk.split(start)
            for part in before:
                self._take(part, first, file)
                self.starts.append(len(self))
                first += part.count(b"\n")
        self._take(chunk, first, file)

    def _take(self, chunk: bytes, first: int, file: str) -> None:
        """Read a chunk at once if all lines fit the known pattern, else line by line."""
        marked = max(map(chunk.count, self.form.marks))
        if not marked:
            return
        if self._pattern is not None and self._take_at_once(chunk, first, marked):
            return
        if not len(self) and self.form.later is not None:
            self.keeps_first = self.form.later.search(chunk) is not None
        known = len(self._names)
        if self._learn(chunk) and len(self._names) != known and self._take_at_once(chunk, first, marked):
            return
        for number, line in enumerate(chunk.split(b"\n"), first):
            if not self._looks(line):
                continue
            why = self._one(line, number)
            if why is not None:
                self.unreadable += 1
                if len(self.problems) < _MOST_PROBLEMS:
                    self.problems.append(problem(say.unparsable(why=why, text=excerpt(line)), file, number))

    def take_last(self, line: bytes, number: int, file: str) -> bool:
        """Read a last line without line end; False if it is a truncated training line."""
        if not self._looks(line):
            return self.form.begun.search(line) is None
        if self._head.search(line) is None or not self.form.ended.search(line):
            return False
        self.take(line, number, file)
        return True

    def _looks(self, line: bytes) -> bool:
        """True if a line contains one of the form's marks."""
        return any(mark in line for mark in self.form.marks)

    def _take_at_once(self, chunk: bytes, first: int, marked: int) -> bool:
        """Read all lines of a chunk by one pattern; takes nothing and returns False if it misses one."""
        pattern = self._pattern
        if pattern is None:
            return False
        rows: list[tuple[bytes, ...]] = []
        numbers: Sequence[int] = ()
        if marked == chunk.count(b"\n") + (not chunk.endswith(b"\n")):
            rows = pattern.findall(chunk)
            if len(rows) == marked:
                numbers = range(first, first + marked)
        self._shape = self._even = None
        if not numbers:
            rows, numbers = _with_lines(pattern, chunk, first)
        if len(rows) != marked or not rows:
            return False
        if not self._append(rows, numbers, one_by_one=bool(self.form.suspicious) and self.form.suspicious in chunk):
            return False
        if isinstance(numbers, range):
            line = _last_line(chunk)
            self._shape = self._shape_of(line)
            self._even = None if self._shape is None else even_of(line, self._shape)
        return True

    def take_alike(self, chunk: bytes, first: int, count: int) -> bool:
        """Read a chunk of `count` lines that all have a known shape; False if one differs."""
        if self._shape is None or (self.form.suspicious and self.form.suspicious in chunk):
            return False
        parts = self._parts(chunk)
        if parts is None or sum(part.lines for part in parts) != count:
            return False
        found = [self._of_part(part) for part in parts]
        if None in found:
            return False
        for part, columns in zip(parts, found, strict=True):
            self._extend(part.heads, range(first, first + part.lines), columns or [])
            first += part.lines
        return True

    def _parts(self, chunk: bytes) -> list[Taken] | None:
        """Values of the chunk's lines, grouped by line length; None if one has another shape."""
        assert self._shape is not None
        chunks: list[Taken] = []
        even = self._even
        for part, alike in [(chunk, False)] if even is None else even.parts(chunk):
            taken = even.match(part) if even is not None and alike else None
            if taken is None:
                taken = self._shape.match(part, part.count(b"\n"))
                if taken is None:
                    return None
                if taken.lines >= FEWEST:  # from now on most lines may be as long as the last of these
                    self._even = even_of(_last_line(part), self._shape)
            chunks.append(taken)
        return chunks

    def _of_part(self, taken: Taken) -> list[tuple[str, array[float]]] | None:
        """Columns of a part; None if a value is not a number."""
        found: list[tuple[str, array[float]]] = []
        for name, (value, texts) in taken.columns.items():
            values = self._values(texts, one_by_one=False) if texts else array("d", [value]) * taken.lines
            if values is None or (texts and ABSENT in values):  # whether a column may be empty, the pattern knows
                return None
            found.append((name, values))
        return found

    def _shape_of(self, line: bytes) -> Shape | None:
        """Shape of the line read last."""
        names = [name.decode("utf-8", "replace") for name in self._names]
        last = next((name for name in self.form.last if name in names), "")

        def name_and_value(name: bytes) -> tuple[str, float]:
            own = self._column_name(name.decode("utf-8", "replace")) or ""
            return own, self.columns[own][-1] if own in self.columns else ABSENT

        return shape_of(line, self._head, self.form.separator.strip(), last.encode(), name_and_value)

    def _append(self, rows: list[tuple[bytes, ...]], numbers: Sequence[int], *, one_by_one: bool) -> bool:
        """Add rows of texts as numbers; False, adding nothing, if a value is not one."""
        columns = list(zip(*rows, strict=True))
        new_columns: list[tuple[str, array[float]]] = []
        for name, column in zip(self._wanted, columns[self._groups :], strict=True):
            values = self._values(column, one_by_one=one_by_one)
            if values is None and name not in self._strict:
                values = array("d", [ABSENT]) * len(column)
            if values is None or (name == self._last and b"" in column):
                return False
            new_columns.append((name, values))
            if name == LEARNING_RATE and self.rate_digits is None and self.form.fixed_rates:
                printed = _RATE.fullmatch(column[0].strip())
                self.rate_digits = None if printed is None else 1 + len(printed[1])
        self._extend(columns[: self._groups], numbers, new_columns)
        return True

    def _extend(
        self, heads: Sequence[Sequence[bytes]], numbers: Sequence[int], found: list[tuple[str, array[float]]]
    ) -> None:
        """Add steps, line numbers and columns; new columns are padded for earlier rows."""
        before = len(self.steps)
        self.steps.extend(self.form.steps(heads))
        self.numbers.extend(numbers)
        for name, values in found:
            column_of = self.columns.setdefault(name, array("d"))
            if len(column_of) < before:
                column_of.extend([ABSENT] * (before - len(column_of)))
            if len(column_of) == before:
                column_of.extend(values)
                continue
            for row, value in enumerate(values, before):  # two spellings of one name: the first with a value counts
                if column_of[row] == ABSENT:
                    column_of[row] = value

    def _values(self, column: Sequence[bytes], *, one_by_one: bool) -> array[float] | None:
        """Numbers of a column; None if a text is not one."""
        if not one_by_one:
            try:
                values = _floats(column)
            except ValueError:
                pass
            else:
                usual = max(values) <= LARGEST and min(values) >= -LARGEST
                return array("d", values if usual else map(column_value, values))
        # Flags and the like are few words, over and over.
        numbers: dict[bytes, float] = {}
        for text in set(column):
            number = self._number(text)
            if number is None:
                return None
            numbers[text] = number
        return array("d", map(numbers.__getitem__, column))

    def _number(self, text: bytes) -> float | None:
        """Number in a text; absent for known placeholders, None if it is not one."""
        text = text.strip()
        if text in _NOTHING or text in self.form.nothing:
            return ABSENT
        try:
            return column_value(float(text))
        except ValueError:
            return _FLAGS.get(text)

    def _learn(self, chunk: bytes) -> bool:
        """Extend the pattern by columns of some readable lines; True if it changed."""
        for found in self._head.finditer(chunk):
            end = chunk.find(b"\n", found.end())
            rest = chunk[found.end() : end if end >= 0 else len(chunk)]
            names = self._layout(rest)
            if names and not self._knows(names):
                self._merge(names)
                return True
        return False

    def _knows(self, names: list[bytes]) -> bool:
        """True if the pattern has these columns in this order."""
        known = iter(self._names)
        return all(name in known for name in names)

    def _merge(self, names: list[bytes]) -> None:
        """Add a line's new columns to the known order and rebuild the pattern."""
        merged = list(self._names)
        at = 0
        for name in names:
            if name in merged:
                at = merged.index(name) + 1
            else:
                merged.insert(at, name)
                at += 1
        if len(merged) > _MOST_COLUMNS:
            return
        self._names = merged
        texts = [name.decode("utf-8", "replace") for name in merged]
        last = next((name for name in self.form.last if name in texts), texts[-1])
        self._wanted = []
        parts = [self.form.head]
        for name, text in zip(merged, texts, strict=True):
            wanted = self._column_name(text)
            if wanted is not None:
                self._wanted.append(wanted)
                if text in self.form.known or is_loss(text):
                    self._strict.add(wanted)
            part = self.form.value(name, wanted is not None)
            parts.append(part if text == last else b"(?:" + part + b")?")
            if text == last:
                self._last = wanted or ""
                break
        self._pattern = re.compile(b"".join(parts))

    def _column_name(self, name: str) -> str | None:
        """Unified name of a column; None if it is not needed."""
        known = self.form.known.get(name)
        return known or (own_name(name) if is_metric(name) else None)

    def _layout(self, rest: bytes) -> list[bytes]:
        """Column names of a line; empty if the line is incomplete."""
        names: list[bytes] = []
        for piece in _NOT_HERE.sub(b"N/A", rest).removeprefix(self.form.separator).split(self.form.separator):
            name, colon, value = piece.partition(b":")
            if not colon or not name.strip() or not value.strip():
                break
            names.append(name.strip())
        texts = {name.decode("utf-8", "replace") for name in names}
        return names if texts & set(self.form.last) else []

    def _one(self, line: bytes, number: int) -> Words | None:
        """Read one line, which may be several joined training lines; returns the reason if it cannot."""
        heads = list(self._head.finditer(line))
        if not heads:
            return say.line_has_no_step()
        ends = [head.start() for head in heads[1:]] + [len(line)]
        for head, end in zip(heads, ends, strict=True):
            part = line[head.start() : end]
            names = self._layout(line[head.end() : end])
            if not names:
                last = self.form.last[0]
                return say.line_ends_before(last=repr(last))
            if not self._knows(names):
                self._merge(names)
            found = self._pattern.match(part) if self._pattern is not None else None
            if found is None:
                return say.line_columns_damaged()
            if not self._append([found.groups(b"")], (number,), one_by_one=True):
                return say.line_value_no_number()
        return None

    def padded_columns(self) -> dict[str, array[float]]:
        """All columns, padded to the number of steps."""
        count = len(self.steps)
        for values in self.columns.values():
            values.extend([ABSENT] * (count - len(values)))
        return self.columns


def _last_line(chunk: bytes) -> bytes:
    return chunk[chunk.rfind(b"\n", 0, -1) + 1 :]


def _floats(texts: Sequence[bytes]) -> list[float]:
    """Numbers of many texts; repeated texts are converted once."""
    if len(set(texts[:_SAMPLE])) < _SAMPLE // 2:
        numbers = {text: float(text) for text in set(texts)}
        return list(map(numbers.__getitem__, texts))
    return list(map(float, texts))


def _with_lines(pattern: re.Pattern[bytes], chunk: bytes, first: int) -> tuple[list[tuple[bytes, ...]], array[int]]:
    """Matches of a pattern in a chunk, with the line number of each."""
    rows: list[tuple[bytes, ...]] = []
    numbers = array("q")
    before, number = 0, first
    for found in pattern.finditer(chunk):
        start = found.start()
        number += chunk.count(b"\n", before, start)
        before = start
        rows.append(found.groups(b""))
        numbers.append(number)
    return rows, numbers
