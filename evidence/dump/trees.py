"""A dump on disk as a list of units in execution order, whoever wrote it.

A *unit* is one call of a module, an API or an operator, forward or backward, with the tensors that went in, its
parameters, and the tensors that came out. msprobe writes one folder a step and rank:

    dump_path/step0/rank0/{dump,construct,stack}.json  dump_tensor_data/*.pt|*.npy

(`proc…` instead of `rank…` without a launcher; `trees_msprobe.py`), MindSpore's own dump of a compiled graph one `.npy`
file an operator's tensor, or one table of statistics:

    rank_0/<network>/<graph>/<iteration>/
        <type>.<name>.<task>.<stream>.<time>.<input|output>.<slot>.<format>[.<dtype>].npy   or   statistic.csv
    rank_0/execution_order/ms_execution_order_graph_<graph>.csv

The order is that of the execution-order file where there is one, else of the timestamps. File names that were too long
stand in `mapping.csv`. Measured on MindSpore 2.9.0's CPU target (tests/evidence/dump/test_compare_frameworks.py).

Reading a tree reads names and statistics only; the tensors stay on disk until they are compared.
"""

from __future__ import annotations

import csv
import glob
import math
import os
import re
from itertools import islice
from sys import intern
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from .messages_compiled import say
from .places import file_names, lies_in, link_note
from .records import PackedTensors, Statistics, Tensor, Tree, Unit, dtype_name, number, sizes_in
from .tables_sheet import broken, csv_rows, why_unreadable
from .trees_msprobe import read_msprobe_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ...schemas.message import Words
    from .places import Place
    from .records import Direction


def read_tree(place: Place) -> Tree:
    """The units of one step and rank."""
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
    """The operators of one iteration of one rank."""
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
    return {row[0]: row[1] for row in islice(_table(path), 1, None) if len(row) > 1}


def _rows(path: str) -> Iterator[_Record]:
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
    found = number(written)
    return int(found) if found is not None and math.isfinite(found) else 0


def _table(path: str) -> Iterator[list[str]]:
    try:
        yield from csv_rows(path, strict=False)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise broken(path, why_unreadable(error)) from None


def _units(records: Iterable[_Record]) -> Iterator[tuple[int, Unit]]:
    """Operators with the time of their first tensor; an operator that runs twice in a graph has two task numbers."""
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
    """Positions of the operators, from `rank_<n>/execution_order`, three folders above the iteration."""
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
