"""Result tables that msprobe wrote, read into the same form as a comparison of dumps, or into failed APIs.

`compare_result_<time>.csv` (or `.xlsx`) has one row a tensor. What msprobe itself puts into `Result` is kept and
counted, but the numbers are judged anew with this program's tolerances: msprobe marks a module only where its output
is off almost everywhere (26.2, `core/compare/indicator_analysis/algorithm.py:OneThousandthErrChecker`: fewer than a
tenth of the elements within a thousandth, more than nine tenths of input and parameters), and never its weights.

`accuracy_checking_result_<time>.csv` of the precheck has one row an API, `accuracy_checking_details_<time>.csv` one row
an output. Columns: msprobe 26.2 `core/common/const.py:CompareConst`, `pytorch/api_accuracy_checker/compare/
compare_utils.py:DETAIL_TEST_ROWS`, `mindspore/api_accuracy_checker/data_manager.py`; older versions have a subset.

`python-calamine` would not do: it has no limit of memory and ends the process (0.9.1: for a sheet of 1,417 bytes, whose
two cells lie far apart, it asks for 550 GB).
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import zipfile
import zlib
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree

from ...schemas.border.inputs import open_regular
from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.fast_records import NamedTuple
from ...schemas.shared_words import system_reason
from ..arrays import ELEMENT, TOLERANCES, coarser
from ..bounded_files import Budget, Unpacked, UnpackLimit, Window, opened_archive
from .compare import (
    Alone,
    Gap,
    Incomplete,
    alone_counts,
    compared_places,
    gaps_of,
    incomplete_of,
    unit_path,
    without_numbers,
)
from .compare_divergence import Divergence, UnitResult, first_divergence
from .messages_compiled import say
from .records import Statistics, Tensor, Unit, dtype_name, lies_in, number, sizes_in, unit_named
from .statistics import EXACT, Judge, TensorResult, compare_tensors, relative_error, smaller_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...schemas.message import Words
    from .records import Role

Form = Literal["compare", "precheck", "precheck-details"]

_FORMS: tuple[tuple[Form, frozenset[str]], ...] = (
    ("compare", frozenset(("NPU Name", "Bench Name"))),
    ("precheck", frozenset(("API Name", "Forward Test Success", "Backward Test Success"))),
    ("precheck-details", frozenset(("API Name", "Bench Dtype", "Status"))),
)
_RECORD, _CELL = 1200, 50
"""Bytes of memory for a record of some twenty columns, and for a cell."""
_COSINE_DIGITS = 2e-3
"""The distance that a cosine written with six digits can hide."""
_NOTHING = ("", "N/A", "None", "nan", "Nan", "unsupported", "No data")
_PLACE = re.compile(
    r"(?P<unit>.+\.(?:(?:forward|backward)\.\d+|\d+\.(?:forward|backward)))"
    r"\.(?P<place>(?:input|kwargs|output|parameters)(?:\..+)?)"
)
_GRADIENT = re.compile(r"(?P<unit>.+)\.parameters_grad(?:\.(?P<call>\d+))?\.(?P<name>.+)")
_BAD = ("error", "false", "no", "fail", "failed")
_GOOD = ("pass", "true", "yes", "")


class Table(NamedTuple):
    """A comparison that msprobe made."""

    path: str
    units: tuple[UnitResult, ...]
    only_a: tuple[str, ...]
    divergence: Divergence | None
    marked: tuple[str, ...]
    """Units that msprobe itself marked as an error."""
    only_b: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    alone: tuple[Alone, ...] = ()
    without_numbers: int = 0
    incomplete: Incomplete = Incomplete()


class Failure(NamedTuple):
    """One API that the precheck found wanting."""

    name: str
    direction: Literal["forward", "backward"]
    status: str
    message: str
    details: tuple[Mapping[str, str], ...]
    """The rows of its outputs that failed, by column."""


class Precheck(NamedTuple):
    """The result of a precheck."""

    path: str
    apis: int
    passed: int
    skipped: int
    failures: tuple[Failure, ...]
    notes: tuple[Words, ...]


def form_of(path: str, columns_of: Sequence[str]) -> Form:
    """Kind of a table, by its column names."""
    header = frozenset(cell.strip() for cell in columns_of)
    for form, columns in _FORMS:
        if columns <= header:
            return form
    names = ", ".join(list(header)[:6]) or "-"
    raise UnreadableError(diagnose(say.foreign_table(path=path, columns=names), path))


def read_table(path: str, judge: Judge | None = None) -> Table | Precheck:
    """Content of a table file: a comparison's result or a precheck's."""
    rows = read_rows(path)
    header = next(rows)
    form = form_of(path, header)
    if form == "compare":
        return _comparison(path, _records(path, header, rows), judge or Judge())
    if form == "precheck":
        beside = _details_path(path)
        notes: tuple[Words, ...] = ()
        details: list[Mapping[str, str]] = []
        if beside is None:
            notes = (say.accuracy_checking_details_csv_is(),)
        else:
            others = read_rows(beside)
            details = _read_all(beside, _records(beside, next(others), others))
        return _precheck(path, _read_all(path, _records(path, header, rows)), details, notes)
    return _precheck_details(path, _read_all(path, _records(path, header, rows)))


def _read_all(path: str, records: Iterable[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """All records of a table; refuses more than its size makes plausible."""
    budget = Budget(os.stat(path).st_size, free=128 << 20)
    found: list[Mapping[str, str]] = []
    try:
        for record in records:
            budget.take(_RECORD + sum(_CELL + len(cell) for cell in record.values() if cell))
            found.append(record)
    except ValueError as error:
        raise broken(path, say.too_many_cells(said=error)) from None
    return found


def _records(path: str, columns: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[Mapping[str, str]]:
    """Records of a table by column name; refuses short rows and tables without rows."""
    header = [cell.strip() for cell in columns]
    empty = True
    for line, row in enumerate(rows, 2):
        # A message may be left out at the end of a row, a column of numbers may not.
        if len(row) < min(len(header), 3):
            raise broken(path, say.row_has_of_columns_the(line=line, count=len(row), count2=len(header)))
        empty = False
        yield dict(zip(header, (cell.strip() for cell in row), strict=False))
    if empty:
        raise broken(path, say.it_has_a_header_and())


def _comparison(path: str, records: Iterable[Mapping[str, str]], judge: Judge) -> Table:
    """Comparison result in msprobe's table, judged again by our tolerances."""
    units: dict[str, tuple[Unit, Unit, list[TensorResult]]] = {}
    only: tuple[list[str], list[str]] = ([], [])
    beside: list[tuple[Alone, Tensor]] = []
    marked: list[str] = []
    for record in records:
        named, theirs = _unit_and_place(record["NPU Name"]), _unit_and_place(record["Bench Name"])
        if named is None or theirs is None:
            for at, column in enumerate(("NPU Name", "Bench Name")):
                if record[column] not in _NOTHING:
                    only[at].append(record[column])
                    beside += _unmatched_tensor("ab"[at], record[column], record, column.partition(" ")[0])
            continue
        name, place = named
        if record.get("Result", record.get("Accuracy Reached or Not", "")).lower() in ("error", "different", "no"):
            marked.append(name)
        if name not in units:
            units[name] = (unit_named(name), unit_named(theirs[0]), [])
        units[name][2].append(_result(place, theirs[1], record, judge))
    results = tuple(UnitResult(one, other, unit_path(one), tuple(tensors)) for one, other, tensors in units.values())
    if not any(tensor.agrees is not None for unit in results for tensor in unit.tensors):
        raise UnreadableError(diagnose(say.empty(path=path, why=say.no_row_has_numbers_on()), path))
    paired = [one for one, _, _ in units.values()], [other for _, other, _ in units.values()]
    alone = _units_alone(paired[0], only[0], "NPU"), _units_alone(paired[1], only[1], "Bench")
    crossing = _crosses(results)
    missing = (
        *gaps_of("a", [*paired[0], *alone[0]], alone[0], unit_path, crossing=True),
        *gaps_of("b", [*paired[1], *alone[1]], alone[1], unit_path, crossing=True),
    )
    divergence = first_divergence(results)
    return Table(
        path, results, tuple(only[0]), divergence, tuple(dict.fromkeys(marked)), tuple(only[1]), missing,
        tuple(_that_count(beside, results)), without_numbers(results, crossing=crossing),
        incomplete_of(results, alone, unit_path, crossing=crossing),
    )  # fmt: skip


def _crosses(units: Sequence[UnitResult]) -> bool:
    """True if the units are of two frameworks, by their names (`Module`, `Cell`)."""
    return any(unit.a.name.partition(".")[0] != unit.b.name.partition(".")[0] for unit in units)


def _unmatched_tensor(side: str, name: str, record: Mapping[str, str], column: str) -> Iterator[tuple[Alone, Tensor]]:
    """Tensor that stands in one column only."""
    if found := _unit_and_place(name):
        place = found[1]
        yield Alone("a" if side == "a" else "b", found[0], place), _tensor(place, _role(place), record, column)


def _that_count(beside: Sequence[tuple[Alone, Tensor]], units: Sequence[UnitResult]) -> Iterator[Alone]:
    """Unmatched tensors of paired units that affect the verdict."""
    known = {("a", unit.a.name): unit for unit in units} | {("b", unit.b.name): unit for unit in units}
    crossing, compared = _crosses(units), compared_places(units)
    for one, tensor in beside:
        unit = known.get((one.side, one.unit))
        if unit is not None and alone_counts(unit, tensor, compared, crossing=crossing):
            yield one


def _role(place: str) -> Role:
    """The role of a tensor by its place in the module: input, parameter or output."""
    return "input" if place.startswith("input") else "parameter" if place.startswith("param") else "output"


def _units_alone(matched: Sequence[Unit], only: Sequence[str], column: str) -> list[Unit]:
    """Units that stand in one column only, with their tensors' places."""
    known = {unit.name for unit in matched}
    places: dict[str, list[str]] = {}
    for name in only:
        if (found := _unit_and_place(name)) and found[0] not in known:
            places.setdefault(found[0], []).append(found[1])
    return [
        unit_named(name)._replace(tensors=tuple(_tensor(place, _role(place), {}, column) for place in inner))
        for name, inner in places.items()
    ]


def _unit_and_place(written: str) -> tuple[str, str] | None:
    """Unit and place in a tensor's name; parameter gradients go to their module's backward pass."""
    if written in _NOTHING:
        return None
    if found := _PLACE.fullmatch(written):
        return found["unit"], re.sub(r"^kwargs\b", "input", found["place"])
    if found := _GRADIENT.fullmatch(written):
        return f"{found['unit']}.backward.{found['call'] or 0}", f"gradient.{found['name']}"
    unit, _, place = written.rpartition(".output.")
    return (unit, f"output.{place}") if unit else None


def _result(place: str, partner: str, record: Mapping[str, str], judge: Judge) -> TensorResult:
    """Result of one row: statistics compared by us, and msprobe's own distances."""
    role = _role(place)
    a, b = (_tensor(place, role, record, side) for side in ("NPU", "Bench"))
    blank = compare_tensors(a, b, judge)
    distance, largest = _distance(record)
    if blank.agrees is None or blank.why in ("nan", "infinite", "shape") or (distance is None and largest is None):
        return blank._replace(partner=partner)
    precision = coarser(a.dtype, b.dtype)
    exact = precision in EXACT
    given = TOLERANCES.get(precision, TOLERANCES["float32"]) if judge.tolerance is None else judge.tolerance
    allowed = 0.0 if exact else given
    hidden = _COSINE_DIGITS if "EucDist" not in record else 0.0
    far = distance is not None and distance > max(allowed, hidden)
    element = largest is not None and largest > ELEMENT * allowed
    error = distance if distance is not None else largest
    why = "far" if far else "element" if element else "close" if error else "equal"
    if blank.agrees is False and not (far or element):
        return blank._replace(partner=partner)  # the statistics see what a rounded cosine hides
    return blank._replace(
        partner=partner, how="elements", agrees=not (far or element), why=why, error=error, note=_note(record)
    )


def _distance(record: Mapping[str, str]) -> tuple[float | None, float | None]:
    """Relative distance, and largest error relative to the largest element; None if the row lacks them."""
    norms = [number(record.get(f"{side} l2norm")) for side in ("NPU", "Bench")]
    ends = [[number(record.get(f"{side} {end}")) for side in ("NPU", "Bench")] for end in ("max", "min")]
    magnitude = max(smaller_end(*pair) for pair in ends)
    norm = None if None in norms else min(value for value in norms if value is not None)
    apart, most, cosine = (number(record.get(name)) for name in ("EucDist", "MaxAbsErr", "Cosine"))
    distance = None
    if norm is not None and apart is not None:
        distance = relative_error(apart, norm)
    elif cosine is not None and None not in norms and norm:
        one, other = (float(value or 0.0) for value in norms)
        distance = math.sqrt(max(one * one + other * other - 2 * one * other * cosine, 0.0)) / norm
    known = any(None not in pair for pair in ends)
    largest = relative_error(most, magnitude) if most is not None and known else None
    return distance, largest


def _tensor(place: str, role: Role, record: Mapping[str, str], side: str) -> Tensor:
    """Tensor of one side from a row's shape, type and statistics."""
    shape = record.get(f"{side} Tensor Shape", "")
    sizes = sizes_in(shape) if shape not in _NOTHING else None
    highest, lowest, mean, norm = (number(record.get(f"{side} {end}")) for end in ("max", "min", "mean", "l2norm"))
    checksum = record.get("NPU MD5" if side == "NPU" else "BENCH MD5")
    known = Statistics(highest, lowest, mean, norm, None if checksum in (None, *_NOTHING) else checksum)
    return Tensor(place, role, dtype_name(record.get(f"{side} Dtype", "")), sizes, known)


def _note(record: Mapping[str, str]) -> str:
    """Row's own measures as text."""
    shown = ("Cosine", "MaxAbsErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio")
    return ", ".join(f"{name} {record[name]}" for name in shown if record.get(name, "") not in _NOTHING)


def _details_path(path: str) -> str | None:
    """Path of the details file of a precheck: the matching name, or the only one in the folder."""
    folder, name = os.path.split(path)
    same = os.path.join(folder, name.replace("result", "details"))
    root = os.path.realpath(folder or ".")
    if same != path and os.path.exists(same) and lies_in(same, root):
        return same
    pattern = re.compile(r"accuracy_checking_details.*\.csv")
    entries = [entry for entry in os.listdir(folder or ".") if pattern.fullmatch(entry)]
    others = [entry for entry in entries if lies_in(os.path.join(folder, entry), root)]
    return os.path.join(folder, others[0]) if len(others) == 1 else None


def _precheck(
    path: str, records: Sequence[Mapping[str, str]], details: Sequence[Mapping[str, str]], notes: tuple[Words, ...]
) -> Precheck:
    """Result of msprobe's precheck: passed, skipped and failed APIs with details."""
    failures: list[Failure] = []
    passed = skipped = 0
    for record in records:
        states = {
            direction: record.get(f"{direction.capitalize()} Test Success", "") for direction in ("forward", "backward")
        }
        bad = [direction for direction, state in states.items() if _is_bad(state)]
        if not bad:
            good = any(state.lower() in _GOOD[:-1] for state in states.values())
            passed += good
            skipped += not good
        for direction in bad:
            rows = [row for row in details if _belongs(row, record["API Name"], direction)]
            failures.append(
                Failure(
                    record["API Name"],
                    direction,  # pyright: ignore[reportArgumentType]
                    states[direction],
                    record.get("Message", ""),
                    tuple(row for row in rows if _is_bad(row.get("Status", ""))) or tuple(rows),
                )
            )
    return Precheck(path, len(records), passed, skipped, tuple(failures), notes)


def _precheck_details(path: str, records: Sequence[Mapping[str, str]]) -> Precheck:
    """Precheck result from the details alone: an API fails if one of its outputs does."""
    apis: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    for record in records:
        apis.setdefault(_api_of(record["API Name"]), []).append(record)
    failures = [
        Failure(
            name,
            direction,  # pyright: ignore[reportArgumentType]
            "error",
            next((row.get("Message", "") for row in rows if row.get("Message")), ""),
            tuple(row for row in rows if _is_bad(row.get("Status", ""))),
        )
        for (name, direction), rows in apis.items()
        if any(_is_bad(row.get("Status", "")) for row in rows)
    ]
    skipped = sum(all(row.get("Status", "").lower() in ("skip", "") for row in rows) for rows in apis.values())
    return Precheck(path, len(apis), len(apis) - len(failures) - skipped, skipped, tuple(failures), ())


def _api_of(name: str) -> tuple[str, str]:
    """API and direction in a record's name."""
    found = re.match(r"(?P<api>.+?)\.(?P<direction>forward|backward)(?:\.|$)", name)
    return (found["api"], found["direction"]) if found else (name, "forward")


def _belongs(row: Mapping[str, str], api: str, direction: str) -> bool:
    """True if a row of details is about an API and direction."""
    name, its = _api_of(row.get("API Name", ""))
    return its == direction and (name == api or row.get("API Name", "").startswith(f"{api}.{direction}"))


def _is_bad(state: str) -> bool:
    return state.strip().lower() in _BAD


_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_SHEET = "xl/worksheets/sheet1.xml"
_STRINGS = "xl/sharedStrings.xml"
MOST_ROOM = 600 << 20
"""What a sheet may unpack to; msprobe's of a whole model have some tens of megabytes."""
_LONGEST_ROW = 1 << 22
"""Characters of a row: a cell holds a whole call stack."""
_PACKED = 40
"""A sheet of numbers is packed to a tenth or twentieth."""
_SMALL = 8 << 20
_DEEPEST = 32
_MOST_HELD = 100_000
"""Elements of one row; the widest sheet there is has 16,384 cells in it."""
_SHEET_CELL = 58
"""Bytes of memory for a cell, without what is in it."""


def read_rows(path: str) -> Iterator[list[str]]:
    """Non-empty rows of a table file, one by one; UnreadableError if it is missing, truncated or not a table."""
    if not os.path.isfile(path):
        raise UnreadableError(diagnose(say.missing(path=path), path))
    try:
        empty = True
        for row in _sheet(path) if path.lower().endswith(".xlsx") else _csv(path):
            empty = False
            yield row
    except (
        OSError, UnicodeDecodeError, csv.Error, zipfile.BadZipFile, zlib.error, KeyError, EOFError, RuntimeError,
        NotImplementedError, ValueError,
    ) as error:  # fmt: skip
        raise broken(path, why_unreadable(error)) from None
    except ElementTree.ParseError as error:
        raise broken(path, say.its_sheet_is_not_whole(error=error)) from None
    if empty:
        raise broken(path, say.the_table_is_empty())


def broken(path: str, why: Words) -> UnreadableError:
    """UnreadableError for an unusable table."""
    return UnreadableError(diagnose(say.broken_table(path=path, why=why), path))


def why_unreadable(error: Exception) -> Words:
    """The reason why a table cannot be read."""
    if isinstance(error, OSError):
        return system_reason(error)
    if isinstance(error, UnicodeDecodeError):
        return say.byte_is_not_utf_8(start=error.start)
    return say.it_cannot_be_read(error=error)


def _csv(path: str) -> Iterator[list[str]]:
    """Rows of a CSV file that are not empty."""
    csv.field_size_limit(_LONGEST_ROW)
    for row in csv_rows(path, strict=True):
        if any(cell.strip() for cell in row):
            yield row


def csv_rows(path: str, *, strict: bool) -> Iterator[list[str]]:
    """The rows of a CSV file that are not empty; OSError, UnicodeDecodeError or csv.Error where it is none."""
    with open_regular(path) as opened, io.TextIOWrapper(opened, encoding="utf-8-sig", newline="") as stream:
        lines = _Lines(stream)
        for row in csv.reader(lines, strict=strict):
            lines.held = 0
            if row:
                yield row


class _Lines:
    """The lines of a table, of which one row holds so many characters at most."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream
        self.held = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(_LONGEST_ROW + 1)
        self.held += len(line)
        if self.held > _LONGEST_ROW:
            raise csv.Error("one of its rows holds more than any table of msprobe")
        if not line:
            raise StopIteration
        return line


def _sheet(path: str) -> Iterator[list[str]]:
    """Non-empty rows of the first sheet in an .xlsx file, within a memory limit."""
    with open_regular(path) as opened:
        size = os.fstat(opened.fileno()).st_size
        with opened_archive(Window(opened, 0, size)) as archive:
            budget = UnpackLimit(min(MOST_ROOM, _PACKED * size + _SMALL))
            strings = list(_strings(archive, budget)) if _STRINGS in archive.namelist() else []
            with archive.open(_SHEET) as stream:
                for element in _elements(_Sheet(stream, budget), f"{_MAIN}row"):
                    row = _row(element, strings, budget)
                    if any(cell.strip() for cell in row):
                        yield row


class _Sheet(Unpacked):
    _last = b""

    def read(self, size: int = -1) -> bytes:
        """Next bytes of a sheet; refuses XML entities, which can expand without limit."""
        data = super().read(size)
        # Entities multiply a few bytes into any amount of text, and no spreadsheet has them.
        if b"<!" in self._last + data:
            raise zipfile.BadZipFile("its sheet declares entities")
        self._last = data[-1:]
        return data


def _elements(stream: _Sheet, tag: str) -> Iterator[ElementTree.Element]:
    """XML elements with a tag, one by one; memory is freed after each."""
    above: list[ElementTree.Element] = []
    inside = held = others = 0
    for event, element in ElementTree.iterparse(stream, ("start", "end")):  # pyright: ignore[reportArgumentType]
        if event == "start":
            above.append(element)
            inside += element.tag == tag
            held += 1
            if len(above) > _DEEPEST or held > _MOST_HELD:
                raise zipfile.BadZipFile("one of its rows holds more than any table of msprobe")
            continue
        above.pop()
        inside -= element.tag == tag
        if inside:
            continue
        if element.tag == tag:
            yield element
        elif others < _MOST_HELD:
            others += 1
        else:
            raise zipfile.BadZipFile("it holds more than rows")
        element.clear()
        if above:
            above[-1].clear()
        held = len(above)


def _strings(archive: zipfile.ZipFile, budget: UnpackLimit) -> Iterator[str]:
    """The shared strings of a spreadsheet, which its cells refer to by number."""
    with archive.open(_STRINGS) as stream:
        for element in _elements(_Sheet(stream, budget), f"{_MAIN}si"):
            text = _text(element)
            budget.take(_SHEET_CELL + len(text) if text else 8)
            yield text


def _row(element: ElementTree.Element, strings: list[str], budget: UnpackLimit) -> list[str]:
    """Cells of a sheet's row as texts; gaps are empty."""
    row: list[str] = []
    for cell in element.iter(f"{_MAIN}c"):
        column = _column(cell.get("r", ""), len(row))
        budget.take(8 * (column + 1 - len(row)))
        row += [""] * (column - len(row))
        kind = cell.get("t")
        value = cell.find(f"{_MAIN}v")
        text = "" if value is None or value.text is None else value.text
        if kind == "s":
            at = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else len(strings)
            text = strings[at] if at < len(strings) else text
        elif kind == "inlineStr":
            text = _text(cell)
        row.append(text)
    return row


def _text(element: ElementTree.Element) -> str:
    return "".join(part.text or "" for part in element.iter(f"{_MAIN}t"))


def _column(reference: str, following: int) -> int:
    """Zero-based column of a cell reference such as `AB12`."""
    letters = re.match(r"[A-Z]{1,3}", reference)
    if letters is None:
        return following
    at = 0
    for letter in letters[0]:
        at = at * 26 + ord(letter) - ord("A") + 1
    return max(at - 1, following)
