"""A dump on disk as a list of units in execution order, whoever wrote it.

A *unit* is one call of a module, an API or an operator, forward or backward, with the tensors that went in, its
parameters, and the tensors that came out. msprobe writes one folder a step and rank:

    dump_path/step0/rank0/{dump,construct,stack}.json  dump_tensor_data/*.pt|*.npy

(`proc…` instead of `rank…` without a launcher), MindSpore's own dump of a compiled graph one `.npy`
file an operator's tensor, or one table of statistics:

    rank_0/<network>/<graph>/<iteration>/
        <type>.<name>.<task>.<stream>.<time>.<input|output>.<slot>.<format>[.<dtype>].npy   or   statistic.csv
    rank_0/execution_order/ms_execution_order_graph_<graph>.csv

The order is that of the execution-order file where there is one, else of the timestamps. File names that were too long
stand in `mapping.csv`. Measured on MindSpore 2.9.0's CPU target (tests/evidence/dump/test_compare_frameworks.py).

Reading a tree reads names and statistics only; the tensors stay on disk until they are compared.

The order of `dump.json` is the order of completion (msprobe 26.2, `core/dump/data_dump/json_writer.py:update_data`:
a module that is written again moves to the end), so a module stands behind everything that ran inside it.
"""

from __future__ import annotations

import csv
import glob
import math
import os
import re
from itertools import islice
from sys import intern
from typing import TYPE_CHECKING, Any

from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.fast_records import NamedTuple
from ..bounded_files import BrokenJsonError, Budget, as_list, as_object, members
from .messages_compiled import say
from .records import (
    PackedTensors,
    Role,
    Statistics,
    Tensor,
    Tree,
    Unit,
    cannot_be_read,
    dtype_name,
    file_names,
    is_whole,
    lies_in,
    link_note,
    number,
    parse_unit_name,
    sizes_in,
)
from .tables import broken, csv_rows, why_unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ...schemas.message import Words
    from ..bounded_files import Member
    from .records import Direction, Place


def read_tree(place: Place) -> Tree:
    """Units of one step and rank of a dump."""
    return read_graph_tree(place) if place.form == "mindspore" else read_msprobe_tree(place)


_FILE = re.compile(
    r"(?P<type>[^.]+)\.(?P<name>.+)\.(?P<task>\d+)\.(?P<stream>\d+)\.(?P<time>[0-9]+)"
    r"\.(?P<io>input|output)\.(?P<slot>\d+)\.(?P<format>[^.]+)(?:\.(?P<dtype>[^.]+))?\.npy"
)
_COLUMNS = ("Op Type", "Op Name", "Timestamp", "IO", "Slot", "Data Type", "Shape")
"""Columns that a statistic.csv must have; statistics are as many as `statistic_category` asked for."""
_STATISTICS = ("Max Value", "Min Value", "Avg Value", "L2Norm Value")


class _Record(NamedTuple):
    kind: str
    name: str
    time: int
    tensor: Tensor
    task: str


def read_graph_tree(place: Place) -> Tree:
    """Operators of one iteration and rank of MindSpore's own dump."""
    notes = [link_note(path) for path in place.left_out]
    names = file_names(place.path, place.root or os.path.realpath(place.path), notes)
    files = list(_files(place.path, names, notes))
    records = files or (list(_rows(os.path.join(place.path, "statistic.csv"))) if "statistic.csv" in names else [])
    order = _execution_order(place)
    last = len(order)  # parameters, which are saved last and which the order does not name, follow by time
    in_order = sorted(_units(records), key=lambda entry: (order.get(entry[1].name, last), entry[0]))
    units = tuple(unit for _time, unit in in_order)
    task = "tensor" if files else "statistics"
    return Tree(place.path, "mindspore", "mindspore", task, "operator", place.step, place.rank, units, tuple(notes))


def _files(folder: str, names: set[str], notes: list[Words]) -> Iterator[_Record]:
    """Records of the `.npy` files of an operator dump."""
    renamed: Mapping[str, str] = _mapping(os.path.join(folder, "mapping.csv")) if "mapping.csv" in names else {}
    for file in sorted(names):
        if not file.endswith(".npy"):
            continue
        found = _FILE.fullmatch(renamed.get(file, file))
        if found is None:
            notes.append(say.no_name_of_an_operator(file=file))
            continue
        role = "input" if found["io"] == "input" else "output"
        tensor = Tensor(
            f"{role}.{found['slot']}", role, dtype_name(found["dtype"] or ""), None, path=os.path.join(folder, file)
        )
        yield _Record(found["type"], found["name"], int(found["time"]), tensor, found["task"])


def _mapping(path: str) -> Mapping[str, str]:
    """Original file names by the shortened ones of `mapping.csv`."""
    return {row[0]: row[1] for row in islice(_table(path), 1, None) if len(row) > 1}


def _rows(path: str) -> Iterator[_Record]:
    """Records of the statistics table of an operator dump."""
    rows = _table(path)
    header = [cell.strip() for cell in next(rows, list[str]())]
    missing = [name for name in _COLUMNS if name not in header]
    if missing:
        listed = ", ".join(missing)
        raise broken(path, say.it_has_no_column(listed=listed))
    shapes: dict[tuple[int, ...], tuple[int, ...]] = {}
    at = {name: header.index(name) for name in (*_COLUMNS, *_STATISTICS, "MD5", "Task ID") if name in header}
    for line, row in enumerate(rows, 2):
        if len(row) < len(header):
            raise broken(path, say.line_has_of_columns_the(line=line, count=len(row), count2=len(header)))
        cells = {name: row[column].strip() for name, column in at.items()}
        role = "input" if cells["IO"] == "input" else "output"
        highest, lowest, mean, norm = (number(cells.get(name)) for name in _STATISTICS)
        statistics = Statistics(highest, lowest, mean, norm, cells.get("MD5") or None)
        shape = sizes_in(cells["Shape"])
        place, dtype = intern(f"{role}.{cells['Slot']}"), intern(dtype_name(cells["Data Type"]))
        tensor = Tensor(place, role, dtype, shapes.setdefault(shape, shape), statistics)
        time = _time(cells["Timestamp"])
        name = intern(cells["Op Name"].replace("/", "_"))
        yield _Record(intern(cells["Op Type"]), name, time, tensor, intern(cells.get("Task ID", "")))


def _time(written: str) -> int:
    """Time stamp as a whole number; 0 if it is not one."""
    found = number(written)
    return int(found) if found is not None and math.isfinite(found) else 0


def _table(path: str) -> Iterator[list[str]]:
    """Rows of a CSV table of a dump; UnreadableError if it is damaged."""
    try:
        yield from csv_rows(path, strict=False)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise broken(path, why_unreadable(error)) from None


def _units(records: Iterable[_Record]) -> Iterator[tuple[int, Unit]]:
    """Operators with the time of their first tensor; a repeated operator has two task numbers."""
    grouped: dict[tuple[str, str, str], list[_Record]] = {}
    for record in records:
        grouped.setdefault((record.kind, record.name, record.task), []).append(record)
    calls: dict[str, int] = {}
    for (kind, name, _task), parts in sorted(grouped.items(), key=lambda entry: min(part.time for part in entry[1])):
        call = calls.get(name, 0)
        calls[name] = call + 1
        direction: Direction = "backward" if name.startswith("Gradients") else "forward"
        tensors = tuple(sorted((part.tensor for part in parts), key=lambda tensor: (tensor.role, tensor.place)))
        folder = next((os.path.dirname(tensor.path) for tensor in tensors if tensor.path), None)
        kept = PackedTensors(tensors, folder)
        yield min(part.time for part in parts), Unit(name, name, kind, direction, call, "operator", kept)


def _execution_order(place: Place) -> Mapping[str, int]:
    """Position of each operator, from the dump's `execution_order` folder."""
    above = os.path.realpath(os.path.join(place.path, os.pardir, os.pardir, os.pardir))
    folder = os.path.join(place.path, os.pardir, os.pardir, os.pardir, "execution_order")
    for path in sorted(
        glob.glob(os.path.join(glob.escape(folder), f"ms_execution_order_graph_{place.order or '*'}.csv"))
    ):
        if not lies_in(path, above):
            continue
        names = [row[0].strip() for row in _table(path)]
        return {name.replace("/", "_"): at for at, name in enumerate(names)}
    return {}


_ROLES: tuple[tuple[str, str, Role], ...] = (
    ("input_args", "input", "input"),
    ("input_kwargs", "input", "input"),
    ("input", "input", "input"),
    ("parameters", "parameters", "parameter"),
    ("output", "output", "output"),
)
"""The lists of a unit in dump.json, what its tensors are called, and what they are to the unit."""
_SCALED_BY_BETA = ("addbmm", "addmm", "addmv", "addr", "baddbmm")
"""Operations that add their first input times `beta` and do not read it where beta is 0 (torch 2.13,
`torch/_torch_docs.py:baddbmm`): Megatron-Core's attention gives one an uninitialised buffer there
(`megatron/core/transformer/dot_product_attention.py:forward`), whose numbers are chance."""
_MOST_JSON = 1 << 29
_NESTED = 100
_NO_CALL = -1
"""Gradients of older dumps do not say of which micro batch they are."""
_NO_VALUES = "structure"
"""The task that lists modules and nothing else."""
_UNIT, _RESULT, _NOTE = 400, 100, 200
"""Bytes that a unit takes besides its tensors, what is said of a tensor later, and a note."""


def read_msprobe_tree(place: Place) -> Tree:
    """Units of one step and rank of an msprobe dump."""
    folder = os.path.dirname(place.path)
    notes = [link_note(path) for path in place.left_out]
    root = place.root or os.path.dirname(os.path.realpath(place.path))
    beside = {name for name in ("construct.json", "dump_tensor_data") if lies_in(os.path.join(folder, name), root)}
    apart = [os.path.join(folder, name) for name in ("construct.json", "dump_tensor_data") if name not in beside]
    notes += [link_note(path) for path in apart if os.path.lexists(path)]
    parents: Mapping[str, str] = (
        _parents(os.path.join(folder, "construct.json"), notes) if "construct.json" in beside else {}
    )
    tensors = os.path.join(folder, "dump_tensor_data")
    has_tensors = "dump_tensor_data" in beside and os.path.isdir(tensors)
    files = file_names(tensors, root, notes) if has_tensors else set[str]()
    reader = _MsprobeReader(tensors if has_tensors else None, files, parents, _budget(place.path))
    written = _read_into(reader, place.path)
    if written is None:
        raise UnreadableError(diagnose(say.not_a_dump(path=place.path, why=say.it_has_no_data()), place.path))
    units = tuple(reader.units())
    if not units and written.get("task") == _NO_VALUES:
        raise UnreadableError(diagnose(say.not_a_dump(path=place.path, why=say.it_holds_no_values()), place.path))
    return Tree(
        folder,
        "msprobe",
        written.get("framework") or _framework_of(units),
        written.get("task", ""),
        written.get("level", ""),
        place.step,
        place.rank,
        units,
        (*notes, *reader.notes),
    )


def _read_into(reader: _MsprobeReader, path: str) -> dict[str, str] | None:
    """Feed all units of a file to the reader; returns the file's settings, or None if it has no units."""
    written: dict[str, str] = {}
    has_data = False
    for within, key, value in read_members(path, (("data",),)):
        if within:
            has_data = True
            reader.take(key, value)
        elif key == "data":
            has_data = has_data or value == {}
        elif key in ("framework", "task", "level"):
            written[key] = str(value or "")
    return written if has_data else None


def _budget(path: str) -> Budget:
    """Memory limit for reading a file, by its size."""
    try:
        return Budget(os.stat(path).st_size)
    except OSError as error:
        raise cannot_be_read(path, error) from None


def read_members(path: str, opened: tuple[tuple[str, ...], ...] = ()) -> Iterator[Member]:
    """The members of a JSON file one by one, or UnreadableError with the place where it breaks."""
    try:
        yield from members(path, _MOST_JSON, opened)
        return
    except BrokenJsonError as error:
        why, line, column = say.json_wrong(said=error), error.line, error.column
    except UnicodeDecodeError:
        why, line, column = say.not_utf8(), 1, 1
    except OSError as error:
        raise cannot_be_read(path, error) from None
    except ValueError as error:
        why, line, column = say.too_large(said=error), 1, 1
    raise UnreadableError(diagnose(say.broken_json(path=path, why=why, line=line, column=column), path)) from None


def _parents(path: str, notes: list[Words]) -> Mapping[str, str]:
    """Parent of each unit from msprobe's construct.json."""
    if not os.path.exists(path):
        return {}
    found: dict[str, str] = {}
    try:
        for _, name, parent in read_members(path):
            listed = as_list(parent)
            first = listed[0] if listed else parent
            if isinstance(first, str):
                found[name] = intern(first)
    except UnreadableError as error:
        notes.append(error.diagnostic.words())
        return {}
    return found


def _framework_of(units: Iterable[Unit]) -> str:
    """Framework of a dump, by the names of its units."""
    for unit in units:
        if unit.name.startswith(("Cell.", "Mint", "Primitive.")):
            return "mindspore"
        if unit.name.startswith(("Module.", "Torch.", "Functional.", "NPU.", "Aten.")):
            return "pytorch"
    return ""


def _as_read(tensors: list[Tensor]) -> list[Tensor]:
    """Tensors of an operation; an input that a `beta` of 0 leaves unread has no values."""
    if not any(tensor.place == "input.beta" and tensor.value == 0 for tensor in tensors):
        return tensors
    unread = {"statistics": Statistics(), "path": None}
    return [tensor._replace(**unread) if tensor.place == "input.0" else tensor for tensor in tensors]


class _MsprobeReader:
    def __init__(self, tensors: str | None, files: set[str], parents: Mapping[str, str], budget: Budget) -> None:
        self._tensors = tensors
        self._files = files
        self._parents = parents
        self._budget = budget
        self._found: dict[str, Unit] = {}
        self.notes: list[Words] = []

    def take(self, name: str, entry: object) -> None:
        """Add an entry; a later one with the same name replaces it."""
        before = len(self.notes)
        unit = self._unit(name, entry)
        if unit is None:
            self.notes.append(say.not_an_entry_of_a(name=name))
        else:
            kept = PackedTensors(unit.tensors, self._tensors)
            self._found[name] = unit._replace(tensors=kept)
            self._budget.take(_UNIT + 2 * len(name) + kept.size + _RESULT * len(kept))
        self._budget.take((len(self.notes) - before) * (_NOTE + 2 * len(name)))

    def units(self) -> Iterator[Unit]:
        """Units in order; parameter gradients belong to their module's backward pass."""
        gradients: dict[tuple[str, int], list[Tensor]] = {}
        ordered: list[Unit] = []
        for unit in self._found.values():
            if unit.kind == "":
                gradients.setdefault((unit.scope, unit.call), []).extend(unit.tensors)
            else:
                ordered.append(unit)
        backward: dict[str, dict[int, int]] = {}
        for at, unit in enumerate(ordered):
            if unit.direction == "backward":
                backward.setdefault(f"{unit.scope}.{unit.kind}", {})[unit.call] = at
        for (scope, call), tensors in gradients.items():
            calls = backward.get(scope, {})
            # Without the micro batch's number they are those of the last one, in which they are complete.
            at = calls.get(call, calls[max(calls)] if calls else None)
            if at is None:
                path, _, kind = scope.rpartition(".")
                kept = PackedTensors(tensors, self._tensors)
                number = f".{call}" if call > 0 else ""
                ordered.append(
                    Unit(f"{scope}.parameters_grad{number}", path, kind, "backward", max(call, 0), "module", kept)
                )
            else:
                kept = PackedTensors((*ordered[at].tensors, *tensors), self._tensors)
                ordered[at] = ordered[at]._replace(tensors=kept)
        return iter(ordered)

    def _unit(self, name: str, entry: object) -> Unit | None:
        """Unit of an entry, by its name's form; None if the name has another form."""
        parts = name.split(".")
        if "parameters_grad" in parts[-2:]:
            end = parts.index("parameters_grad", len(parts) - 2)
            tensors = self._leaves(entry, "gradient", "output")
            call = int(parts[-1]) if is_whole(parts[-1]) else _NO_CALL
            return Unit(name, ".".join(parts[:end]), "", "backward", call, "module", tuple(tensors))
        if parts[-1] == "debug":
            call = int(parts[-2]) if len(parts) > 2 and is_whole(parts[-2]) else 0
            tensors = self._leaves(entry, "output", "output")
            return Unit(name, ".".join(parts[:-2]), "variable", "", call, "debug", tuple(tensors))
        found = parse_unit_name(parts)
        if found is None or not isinstance(entry, dict):
            return None
        scope, kind, direction, call, level = found
        lists = as_object(entry)  # pyright: ignore[reportUnknownArgumentType]
        tensors = [
            tensor for key, place, role in _ROLES if key in lists for tensor in self._leaves(lists[key], place, role)
        ]
        if level == "api" and kind.rstrip("_") in _SCALED_BY_BETA:
            tensors = _as_read(tensors)
        return Unit(name, scope, kind, direction, call, level, tuple(tensors), self._parents.get(name))

    def _leaves(self, entry: object, place: str, role: Role, depth: int = 0) -> Iterator[Tensor]:
        """All tensors in a nested entry, each with its place."""
        if depth > _NESTED:
            self.notes.append(say.nested_too_deeply(place=place))
            return
        for at, value in enumerate(as_list(entry)):
            yield from self._leaves(value, place if place.startswith("gradient.") else f"{place}.{at}", role, depth + 1)
        entries = as_object(entry)
        if isinstance(entries.get("type"), str):
            yield self._tensor(entries, place, role)
            return
        for key, value in entries.items():
            yield from self._leaves(value, f"{place}.{key}", role, depth + 1)

    def _tensor(self, entry: Mapping[str, Any], place: str, role: Role) -> Tensor:
        """Tensor of an entry: a plain value, or type, shape and statistics with a file."""
        if "dtype" not in entry and "value" in entry:
            return Tensor(place, role, str(entry["type"]), None, value=entry["value"])
        shape = as_list(entry.get("shape"))
        sizes = tuple(size for size in shape if isinstance(size, int))
        highest, lowest, mean, norm = (number(entry.get(key)) for key in ("Max", "Min", "Mean", "Norm"))
        checksum = None if entry.get("md5") is None else str(entry["md5"])
        statistics = Statistics(highest, lowest, mean, norm, checksum)
        dtype = dtype_name(str(entry.get("dtype", "")))
        return Tensor(place, role, dtype, sizes if "shape" in entry else None, statistics, self._path(entry))

    def _path(self, entry: Mapping[str, Any]) -> str | None:
        """Path of an entry's tensor file; None if it has none or the file is absent, which is noted."""
        name = entry.get("data_name")
        if not isinstance(name, str) or name in ("", "-1") or self._tensors is None or os.path.basename(name) != name:
            return None
        if name not in self._files:
            self.notes.append(say.named_and_not_there(name=name))
            return None
        return os.path.join(self._tensors, name)
