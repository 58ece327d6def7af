"""Answers of two runs to the same questions: which are equal, where the others part, and how each was judged.

The guide's way from a score that is too low to its cause: "Identify the questions where the output does not align with
the benchmark answers, extract the questions separately" (seed 004, Precision Error).

Read are JSON Lines, a JSON list or object of records, and CSV or TSV with a header; `score_names.yaml` says which
members hold the question and the answer. A file is gone through once for an index of its questions, and an answer of it
is read again only if the other side's differs: a million answers stay in little memory.
"""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from array import array
from hashlib import blake2b
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ..schemas.border.file_input import (
    MAX_BYTES,
    is_pipe,
    open_given,
    read_bytes,
    read_text,
    refuse_larger,
    whole_number,
)
from ..schemas.diagnostic import UnreadableError, diagnose
from ..schemas.fast_records import NamedTuple
from ..schemas.message import verbatim
from ..schemas.verdict import Unseen, conclude
from .bounded_files import parse_json
from .data.tokenizer_comparison import first_difference
from .messages_compiled import say
from .score_names_compiled import ANSWER_ENDS, ANSWERS, JUDGED, QUESTION_IDS, QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ..schemas.message import Words

_LONGEST = MAX_BYTES
"""Bytes of one record."""
_MOST_BYTES = 1 << 28
"""Bytes of a JSON file that is one value, and has to be read whole."""
_DECODER = json.JSONDecoder(parse_int=whole_number)
"""Made once: `json.loads` makes one for each record, which takes a third of the time of a million."""
_SAMPLE = 50
"""Records from which the members that hold question and answer are taken."""


class Columns(NamedTuple):
    """The members of a file's records that hold the question, the answer and the judgement; None if it has none."""

    question: str | None
    answer: str
    judged: str | None


class AnswerRow(NamedTuple):
    """One question that is answered otherwise."""

    question: str
    a: str
    b: str
    character: int
    """The first character that differs, counted from 1."""
    token: int
    """The first token that differs, counted from 1; without a tokenizer, the first word."""


class Judgement(NamedTuple):
    """The mean of what both files say of their answers, and how many questions they judge otherwise."""

    a_column: str
    b_column: str
    a: float
    b: float
    otherwise: int


class AnswerCheck(NamedTuple):
    """Two files of answers compared."""

    verdict: str
    columns: tuple[Columns, Columns]
    compared: int
    equal: int
    alike: int
    """Equal but for spaces, the form of letters, and tokens that end an answer."""
    different: int
    unit: str
    """What `token` counts: `token` or `word`."""
    at_once: int
    """Answers that part at their first token."""
    median_token: float | None
    judgement: Judgement | None
    rows: tuple[AnswerRow, ...]
    unseen: tuple[Unseen, ...]
    notes: tuple[Words, ...]


class AnswerFile:
    """The records of one file, one after another, or the one at a place."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._stream: BinaryIO = io.BytesIO(read_bytes(path)) if is_pipe(path) else _open_stream(path)
        self._listed: list[dict[str, Any]] | None = None
        self._header: list[str] | None = None
        self._separator = ","
        self._take_form()

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each record with its position, which `record_at` accepts."""
        if self._listed is not None:
            yield from enumerate(self._listed)
        elif self._header is not None:
            rows = self._rows(0, 1)
            next(rows, None)
            for place, number, row in rows:
                yield place, self._by_column(row, number)
        else:
            yield from self._json_lines()

    def record_at(self, place: int) -> dict[str, Any]:
        """Record at a position that `records` returned."""
        if self._listed is not None:
            return self._listed[place]
        if self._header is not None:
            return self._by_column(next(self._rows(place, 1))[2], 0)
        self._stream.seek(place)
        return self._parse_record(self._stream.readline(_LONGEST + 1), 0)

    def refuse(self, why: Words, line: int | None = None) -> UnreadableError:
        """Error for a file that does not hold answers."""
        told = say.answers_unreadable(path=self.path, why=why)
        if line is not None:
            told = say.answers_unreadable_at(path=self.path, line=line, why=why)
        return UnreadableError(diagnose(told, self.path))

    def _take_form(self) -> None:
        """Detect the file's form: JSON Lines, one JSON value, or a table."""
        first, second = self._first_lines()
        start = first.lstrip(b"\xef\xbb\xbf").lstrip()[:1]
        if start == b"{" and _is_object(first) and (second or _is_record(first)):
            return
        if start in (b"{", b"["):
            self._listed = self._whole()
            return
        name = self.path.lower()
        if name.endswith((".csv", ".tsv")) or b"," in first or b"\t" in first:
            self._separator = "\t" if name.endswith(".tsv") or b"," not in first else ","
            header = next(self._rows(0, 1), None)
            self._header = [] if header is None else [cell.strip() for cell in header[2]]
            return
        raise self.refuse(say.answers_form())

    def _first_lines(self) -> tuple[bytes, bytes]:
        """The first two lines that are not blank."""
        lines: list[bytes] = []
        self._stream.seek(0)
        while len(lines) < 2 and (line := self._stream.readline(_LONGEST + 1)):
            if line.strip():
                lines.append(line)
        if not lines:
            raise self.refuse(say.answers_empty())
        return lines[0], lines[1] if len(lines) > 1 else b""

    def _whole(self) -> list[dict[str, Any]]:
        """Records of a file that is one JSON value; refuses other values and large files."""
        self._stream.seek(0)
        data = self._stream.read(_MOST_BYTES + 1)
        refuse_larger(self.path, len(data), _MOST_BYTES)
        try:
            value = parse_json(data, 40)
        except ValueError as error:
            raise self.refuse(verbatim(str(error))) from None
        value = _listed_records(cast("dict[str, Any]", value)) if isinstance(value, dict) else value
        found = [cast("dict[str, Any]", one) for one in cast("list[Any]", value) if isinstance(one, dict)]
        if not found or len(found) != len(cast("list[Any]", value)):
            raise self.refuse(say.answers_form())
        return found

    def _json_lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Byte position and record of each line."""
        self._stream.seek(0)
        place = number = 0
        while line := self._stream.readline(_LONGEST + 1):
            number += 1
            if len(line) > _LONGEST:
                raise self.refuse(say.answers_long_line(limit=_LONGEST), number)
            if line.strip():
                yield place, self._parse_record(line, number)
            place += len(line)

    def _parse_record(self, line: bytes, number: int) -> dict[str, Any]:
        """JSON object in a line; refuses anything else."""
        try:
            record: object = _DECODER.decode(line.decode("utf-8-sig" if line.startswith(b"\xef\xbb\xbf") else "utf-8"))
        except RecursionError:
            raise self.refuse(say.nested_too_deeply(), number) from None
        except ValueError as error:
            raise self.refuse(verbatim(str(error)), number) from None
        if not isinstance(record, dict):
            raise self.refuse(say.answers_form(), number)
        return cast("dict[str, Any]", record)

    def _rows(self, place: int, number: int) -> Iterator[tuple[int, int, list[str]]]:
        """Position, line number and cells of each table row from a position on."""
        lines = _Lines(self._stream, place)
        reader = csv.reader(lines, delimiter=self._separator, strict=True)
        while True:
            start, at = lines.place, number + reader.line_num
            try:
                row = next(reader, None)
            except (csv.Error, UnicodeDecodeError) as error:
                raise self.refuse(verbatim(str(error)), at) from None
            if row is None:
                return
            if row:
                yield start, at, row

    def _by_column(self, row: Sequence[str], number: int) -> dict[str, Any]:
        """Cells of a row by column name; refuses a row of another length."""
        header = self._header or []
        if len(row) != len(header):
            raise self.refuse(say.answers_cells(cells=len(row), columns=len(header)), number)
        return dict(zip(header, row, strict=True))


class _Lines:
    """The lines of a stream as text, and the place of the next one."""

    def __init__(self, stream: BinaryIO, place: int) -> None:
        stream.seek(place)
        self._stream = stream
        self.place = place

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(_LONGEST + 1)
        if not line:
            raise StopIteration
        self.place += len(line)
        return line.decode("utf-8-sig" if self.place == len(line) else "utf-8")


def _open_stream(path: str) -> BinaryIO:
    """Opened file; UnreadableError if it cannot be opened."""
    try:
        return open_given(path)
    except (OSError, ValueError):
        read_text(path)  # says why, in the words of every command
        raise


def _listed_records(named: Mapping[str, Any]) -> list[Any]:
    """Records in a JSON object: a list under a known key, or values by question."""
    if all(isinstance(one, str) for one in named.values()):
        return [{"question": key, "answer": one} for key, one in named.items()]
    lists = [key for key, one in named.items() if isinstance(one, list)]
    if len(lists) == 1:
        return named[lists[0]]
    return [{"number": key, **cast("dict[str, Any]", one)} for key, one in named.items() if isinstance(one, dict)]


def _is_object(line: bytes) -> bool:
    """True if a line is a JSON object."""
    try:
        return isinstance(json.loads(line.decode("utf-8-sig")), dict)
    except (ValueError, RecursionError):
        return False


def _is_record(line: bytes) -> bool:
    """True if a one-line file is a single record, not an object of many answers."""
    record: dict[str, Any] = json.loads(line.decode("utf-8-sig"))
    if not any(all(isinstance(value, kind) for value in record.values()) for kind in (str, dict, list)):
        return True
    named: Sequence[str] = (*ANSWERS, *QUESTIONS)
    return any(member(record, path) is not None for path in named)


def member(record: Mapping[str, Any], path: str) -> Any:
    """The member at a path such as `choices.0.message.content`; None if there is none."""
    if path in record:
        return record[path]
    if "+" in path:
        parts = [member(record, part) for part in path.split("+")]
        return "\n".join(map(_text_of, parts)) if all(part is not None for part in parts) else None
    value: Any = record
    for part in path.split("."):
        if isinstance(value, dict):
            value = cast("dict[str, Any]", value).get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(cast("list[Any]", value)):
            value = cast("list[Any]", value)[int(part)]
        else:
            return None
    return value


def columns_of(file: AnswerFile, question: str | None = None, answer: str | None = None) -> Columns:
    """Keys of a file's questions, answers and judgements: as given, or by usual names."""
    sample = [record for _, record in islice(file.records(), _SAMPLE)]
    if not sample:
        raise file.refuse(say.answers_empty())
    keys = ", ".join(dict.fromkeys(key for record in sample for key in record))
    for asked in (question, answer):
        if asked is not None and not _has(sample, asked):
            raise file.refuse(say.answers_no_member(member=asked, known=keys))
    answered = answer or _first_member(sample, ANSWERS)
    if answered is None:
        raise file.refuse(say.answers_none(known=keys))
    asked = question or _first_member(sample, (*QUESTIONS, *QUESTION_IDS))
    judged = next((path for path in JUDGED if _judged_value(sample[0], path) is not None), None)
    return Columns(asked, answered, judged)


def _first_member(sample: Sequence[dict[str, Any]], paths: Sequence[str]) -> str | None:
    """First of these paths at which some record has a value."""
    return next((path for path in paths if _has(sample, path)), None)


def _has(sample: Sequence[dict[str, Any]], path: str) -> bool:
    """True if any of these records has a value at a path."""
    return any(member(record, path) not in (None, [], {}) for record in sample)


def check_answers(
    a: AnswerFile,
    b: AnswerFile,
    columns: tuple[Columns, Columns],
    *,
    encode: Callable[[str], list[int]] | None = None,
    most: int | None = None,
) -> AnswerCheck:
    """Comparison of answers to common questions; at most `most` differing rows are kept."""
    comparison = _Comparison(_Index(b, columns[1]), columns, encode, most)
    for number, (_, record) in enumerate(a.records()):
        comparison.add(record, number)
    return comparison.result(a.path, b.path)


class _Comparison:
    """Counts what one file's records are beside those of the other."""

    def __init__(
        self,
        known: _Index,
        columns: tuple[Columns, Columns],
        encode: Callable[[str], list[int]] | None,
        most: int | None,
    ) -> None:
        self._known = known
        self._columns = columns
        self._encode = encode
        self._most = most
        self._judged = _Judgements()
        self._compared = self._equal = self._alike = self._alone = self._silent = 0
        self._rows: list[AnswerRow] = []
        self._tokens = array("I")
        self._some_answers: set[bytes] = set()
        """Two of the answers, if there are two."""

    def add(self, record: dict[str, Any], number: int) -> None:
        """Compare a record with the other file's answer to the same question."""
        known, ours = self._known, self._columns[0]
        question, mine = _question(record, ours, number), member(record, ours.answer)
        row = known.take(question)
        if row is None:
            self._alone += 1
        elif mine is None or known.is_silent(row):
            self._silent += 1
        else:
            self._compared += 1
            self._judged.add(_judged_value(record, ours.judged), known.judged[row])
            self._compare(question, _text_of(mine), row)

    def _compare(self, question: str, text: str, row: int) -> None:
        """Count two answers as equal, alike or different; keeps a row of different ones."""
        if len(self._some_answers) < 2:
            self._some_answers.add(_digest(text))
        if self._known.answers[row] == _short_digest(text):
            self._equal += 1
            return
        theirs = _text_of(member(self._known.record(row), self._columns[1].answer))
        if plain_text(text) == plain_text(theirs):
            self._alike += 1
            return
        one = _row(question, text, theirs, self._encode)
        self._tokens.append(one.token)
        if self._most is None or len(self._rows) < self._most:
            self._rows.append(one)

    def result(self, a: str, b: str) -> AnswerCheck:
        """Verdict and its reasons; `a` and `b` are file names."""
        known, tokens = self._known, self._tokens
        different = self._compared - self._equal - self._alike
        judgement = self._judged.result(*self._columns)
        unseen = [
            *_missing_questions(a, self._alone),
            *_missing_questions(b, known.count_left()),
            *_silence(self._silent),
        ]
        if any(one.question is None for one in self._columns):
            unseen.append(Unseen(say.answers_questions().en, *say.answers_by_place().both()))
        if judgement is not None and judgement.otherwise and not different:
            told = say.answers_judged_otherwise(count=judgement.otherwise)
            unseen.append(Unseen(judgement.a_column, *told.both()))
        at_once = sum(token == 1 for token in tokens)
        constant = [
            path for path, count in ((a, len(self._some_answers)), (b, known.distinct)) if count == 1 < self._compared
        ]
        return AnswerCheck(
            conclude("same", "different", wrong=different > 0, compared=self._compared, unseen=unseen),
            self._columns,
            self._compared,
            self._equal,
            self._alike,
            different,
            "word" if self._encode is None else "token",
            at_once,
            median(tokens) if tokens else None,
            judgement,
            tuple(self._rows),
            tuple(unseen),
            (
                *(say.answers_constant(path=path, count=self._compared) for path in constant),
                *_advice(at_once, len(tokens)),
            ),
        )


def _advice(at_once: int, different: int) -> Iterator[Words]:
    """Advice by the first differing token: at once, or later."""
    if different:
        yield say.answers_part_at_once() if at_once * 2 > different else say.answers_part_later()


class _Index:
    """The answers of a file by the digests of their questions."""

    def __init__(self, file: AnswerFile, columns: Columns) -> None:
        self._file = file
        self._rows: dict[bytes, int] = {}
        self._places = array("Q")
        self.answers = array("Q")
        self.judged = array("d")
        """NaN where there is no judgement."""
        self._again: dict[bytes, int] = {}
        """Questions that stand more than once, and how often."""
        first: set[bytes] = set()
        for number, (place, record) in enumerate(file.records()):
            question = _question(record, columns, number)
            key = _digest(question)
            if key in self._rows:
                self._again[key] = times = self._again.get(key, 1) + 1
                key = _digest(f"{times}\0{question}")
            self._rows[key] = number
            self._places.append(place)
            answer = member(record, columns.answer)
            self.answers.append(_SILENT if answer is None else _short_digest(_text_of(answer)))
            judged = _judged_value(record, columns.judged)
            self.judged.append(float("nan") if judged is None else judged)
            if len(first) < 2 and answer is not None:
                first.add(_digest(_text_of(answer)))
        self.distinct = len(first)
        self._taken = bytearray(len(self._places))
        self._asked: dict[bytes, int] = {}

    def take(self, question: str) -> int | None:
        """Record number for a question, None if none is left; repeated questions are served in order."""
        key = _digest(question)
        if key in self._again:
            self._asked[key] = times = self._asked.get(key, 0) + 1
            key = key if times == 1 else _digest(f"{times}\0{question}")
        row = self._rows.get(key)
        if row is None or self._taken[row]:
            return None
        self._taken[row] = 1
        return row

    def is_silent(self, row: int) -> bool:
        """True if a record's answer is empty."""
        return self.answers[row] == _SILENT

    def record(self, row: int) -> dict[str, Any]:
        """Record read from the file again."""
        return self._file.record_at(self._places[row])

    def count_left(self) -> int:
        """Number of records that `take` never returned."""
        return self._taken.count(0)


_SILENT = 0
"""In place of an answer's digest: the record has none."""


class _Judgements:
    """The sums of what both files say of their answers."""

    def __init__(self) -> None:
        self._sums = [0.0, 0.0]
        self._count = 0
        self._otherwise = 0

    def add(self, ours: float | None, theirs: float) -> None:
        """Count one question's judgements if both sides have one."""
        if ours is None or theirs != theirs:
            return
        self._sums = [self._sums[0] + ours, self._sums[1] + theirs]
        self._count += 1
        self._otherwise += ours != theirs

    def result(self, ours: Columns, theirs: Columns) -> Judgement | None:
        """Mean judgement of each side; None if no question has two."""
        if not self._count or ours.judged is None or theirs.judged is None:
            return None
        a, b = (total / self._count for total in self._sums)
        return Judgement(ours.judged, theirs.judged, a, b, self._otherwise)


def _row(question: str, a: str, b: str, encode: Callable[[str], list[int]] | None) -> AnswerRow:
    """Row for two different answers, with the first differing token."""
    at = first_difference(a, b)
    if encode is None:
        common = a[:at].split()
        starts_word = at == 0 or a[at - 1].isspace() or all(text[at : at + 1].strip() == "" for text in (a, b))
        return AnswerRow(question, a, b, at + 1, len(common) + (1 if starts_word else 0))
    return AnswerRow(question, a, b, at + 1, first_difference(encode(a), encode(b)) + 1)


def plain_text(text: str) -> str:
    """Text without invisible differences: end marks, kinds of spaces, Unicode forms."""
    text = text.strip()
    while end := next((end for end in ANSWER_ENDS if text.endswith(end)), None):
        text = text.removesuffix(end).rstrip()
    return " ".join(unicodedata.normalize("NFC", text).split())


def differing_lines(rows: Iterable[AnswerRow]) -> str:
    """JSON Lines of the differing questions with both answers, fit to be asked again."""
    return "".join(
        json.dumps({"question": row.question, "a": row.a, "b": row.b}, ensure_ascii=False) + "\n" for row in rows
    )


def _question(record: Mapping[str, Any], columns: Columns, number: int) -> str:
    """Question of a record; its number if it has none."""
    value = None if columns.question is None else member(record, columns.question)
    return str(number) if value is None else _text_of(value)


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _short_digest(text: str) -> int:
    """64-bit digest of an answer, never 0."""
    return int.from_bytes(_digest(text)[:8], "big") | 1


def _text_of(value: Any) -> str:
    """Text of a member; a one-item list or a message gives its content."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and len(cast("list[Any]", value)) == 1:
        return _text_of(value[0])
    if isinstance(value, dict) and isinstance(value.get("content"), str):  # pyright: ignore[reportUnknownMemberType]
        return cast("str", value["content"])
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _judged_value(record: Mapping[str, Any], path: str | None) -> float | None:
    """Judgement as a number (true is 1); None if there is none."""
    value = None if path is None else member(record, path)
    if isinstance(value, str):
        value = {"true": 1.0, "false": 0.0}.get(value.strip().lower(), value)
        try:
            value = float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, (int, float)) and value == value else None


def _missing_questions(path: str, count: int) -> Iterator[Unseen]:
    """Note on questions that only one file has."""
    if count:
        yield Unseen(path, *say.answers_only_here(count=count).both())


def _silence(count: int) -> Iterator[Unseen]:
    """Note on questions without an answer."""
    if count:
        yield Unseen(say.answers_missing().en, *say.answers_without(count=count).both())
