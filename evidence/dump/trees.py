"""A dump on disk as a list of units in execution order, whoever wrote it.

A *unit* is one call of a module, an API or an operator, forward or backward, with the tensors that went in, its
parameters, and the tensors that came out. msprobe writes one folder a step and rank:

    dump_path/step0/rank0/{dump,construct,stack}.json  dump_tensor_data/*.pt|*.npy

(`proc…` instead of `rank…` without a launcher)
and MindSpore's own dump one folder a rank, graph and iteration (`trees_graph.py`). Reading a tree reads names and
statistics only; the tensors stay on disk until they are compared.

The order of `dump.json` is the order of completion (msprobe 26.2, `core/dump/data_dump/json_writer.py:update_data`:
a module that is written again moves to the end), so a module stands behind everything that ran inside it.
"""

from __future__ import annotations

import os
import re
from sys import intern
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ...schemas.diagnostic import UnreadableError, finding
from ...schemas.system_reasons import system_reason
from ..json_members import BrokenJsonError, Budget, members
from .compare_problems import PROBLEMS, Note
from .packed import PackedTensors
from .records import Direction, Level, Role, Statistics, Tensor, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..json_members import Member

_ROLES: tuple[tuple[str, str, Role], ...] = (
    ("input_args", "input", "input"),
    ("input_kwargs", "input", "input"),
    ("input", "input", "input"),
    ("parameters", "parameters", "parameter"),
    ("output", "output", "output"),
)
"""The lists of a unit in dump.json, what its tensors are called, and what they are to the unit."""
_STEP = re.compile(r"step([0-9]{1,15})")
_RANK = re.compile(r"(rank)_?([0-9]{0,12})|(proc)_?([0-9]{1,12})")
_PROCESS = 1 << 40
"""Added to a process id, so that it is told from a rank."""
_OPERATOR_PARTS = 6
_DEEPEST = 6
_MOST_JSON = 1 << 29
_NESTED = 100
_MOST_NOTES = 20
_MOST_DIGITS = 16
_UNIT, _RESULT, _NOTE = 400, 100, 200
"""Bytes that a unit takes besides its tensors, what is said of a tensor later, and a note."""


class Tree(NamedTuple):
    """One step of one rank."""

    path: str
    form: Literal["msprobe", "mindspore"]
    framework: str
    """`pytorch`, `mindspore` or empty."""
    task: str
    level: str
    step: int | None
    rank: int | None
    units: tuple[Unit, ...]
    notes: tuple[Note, ...] = ()

    @property
    def content(self) -> str:
        """`tensor`, `statistics` or `checksum`: what there is to compare."""
        found = "checksum"
        for unit in self.units:
            for tensor in unit.tensors:
                if tensor.path:
                    return "tensor"
                if tensor.statistics.norm is not None:
                    found = "statistics"
        return found


class Place(NamedTuple):
    """Where one step of one rank lies."""

    path: str
    form: Literal["msprobe", "mindspore"]
    step: int | None
    rank: int | None
    order: str = ""
    """Further parts of the path (network, graph) that tell several of one step and rank apart."""
    root: str = ""
    """The dump that it is a part of, with all links followed: nothing outside of it is read."""
    left_out: tuple[str, ...] = ()
    """Links of the dump that lead out of it."""


def find_places(root: str) -> tuple[Place, ...]:
    """Every step and rank below a path; the path may also be one of them, or a dump.json itself."""
    if not os.path.exists(root):
        raise UnreadableError(finding(PROBLEMS, "missing", root, path=root))
    above = len(os.path.abspath(root).split(os.sep)) - 3
    if os.path.isfile(root):
        form = "mindspore" if os.path.basename(root) == "statistic.csv" else "msprobe"
        path = os.path.dirname(root) or "." if form == "mindspore" else root
        inside = os.path.dirname(os.path.realpath(root))
        return (Place(path, form, *_numbers(root, above), root=inside),)
    search = _Search(os.path.realpath(root), above)
    found = list(search.places(root, 0))
    if not found:
        if search.left_out:
            en, zh = outside(search.left_out[0])
            raise UnreadableError(finding(PROBLEMS, "broken-table", root, path=root, why=en, why_zh=zh))
        raise UnreadableError(finding(PROBLEMS, "no-dump", root, path=root))
    found = sorted(found, key=lambda place: (place.step or 0, place.rank or 0, place.path))
    found[0] = found[0]._replace(left_out=tuple(search.left_out))
    return tuple(_numbered(found))


def lies_in(path: str, root: str) -> bool:
    """Whether a path is below the root of a dump with all links followed."""
    return os.path.realpath(path).startswith(os.path.join(root, ""))


def outside(path: str) -> Note:
    """That a link of a dump is not followed."""
    return Note(f"{path} leads out of the dump and is not followed", f"{path} 指向采集目录之外，未读取")


def file_names(folder: str, root: str, notes: list[Note]) -> set[str]:
    """The names in a folder of a dump, without links that lead out of it."""
    try:
        with os.scandir(folder) as entries:
            linked = [(entry.name, entry.is_symlink() and not lies_in(entry.path, root)) for entry in entries]
    except OSError as error:
        raise _cannot(folder, error) from None
    left_out = sorted(name for name, leads_out in linked if leads_out)
    notes.extend(outside(os.path.join(folder, name)) for name in left_out[:_MOST_NOTES])
    return {name for name, leads_out in linked if not leads_out}


def _numbered(places: list[Place]) -> Iterator[Place]:
    """Processes without a rank are named after their process ids: they are counted in order."""
    seen: dict[tuple[int | None, str], int] = {}
    for place in places:
        if place.rank is None or place.rank >= _PROCESS:
            at = seen.get((place.step, place.order), 0)
            seen[place.step, place.order] = at + 1
            yield place._replace(rank=at)
        else:
            yield place


def read_tree(place: Place) -> Tree:
    """The units of one step and rank."""
    if place.form == "mindspore":
        from .trees_graph import read_graph_tree

        return read_graph_tree(place)
    return _read_msprobe(place)


class _Search:
    """Looks for steps and ranks below a root: each folder once, and none outside of it."""

    def __init__(self, root: str, above: int) -> None:
        self._root = root
        self._above = above
        self._seen: set[tuple[int, int]] = set()
        self.left_out: list[str] = []

    def places(self, folder: str, depth: int) -> Iterator[Place]:
        try:
            status = os.stat(folder)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise _cannot(folder, error) from None
        if (status.st_dev, status.st_ino) in self._seen:
            return
        self._seen.add((status.st_dev, status.st_ino))
        names = {entry.name for entry in entries if self._is_ours(entry)}
        for name in ("dump.json", "debug.json"):
            if name in names:
                step, rank = _numbers(folder, self._above)
                yield Place(os.path.join(folder, name), "msprobe", step, rank, root=self._root)
        if "dump.json" not in names and ("statistic.csv" in names or any(_is_operator(name) for name in names)):
            yield _graph_place(folder, self._above)._replace(root=self._root)
        if depth < _DEEPEST:
            for entry in entries:
                if entry.name in names and entry.name != "dump_tensor_data" and entry.is_dir():
                    yield from self.places(entry.path, depth + 1)

    def _is_ours(self, entry: os.DirEntry[str]) -> bool:
        if not entry.is_symlink() or lies_in(entry.path, self._root):
            return True
        if len(self.left_out) < _MOST_NOTES:
            self.left_out.append(entry.path)
        return False


def _is_operator(name: str) -> bool:
    return name.endswith(".npy") and (".input." in name or ".output." in name) and name.count(".") >= _OPERATOR_PARTS


def _graph_place(folder: str, above: int) -> Place:
    """MindSpore's `rank_0/<network>/<graph>/<iteration>`."""
    parts = os.path.abspath(folder).split(os.sep)[max(above, 0) :]
    step = int(parts[-1]) if is_whole(parts[-1]) else None
    graph = parts[-2] if len(parts) > 1 and is_whole(parts[-2]) else ""
    return Place(folder, "mindspore", step, _numbers(folder, above)[1], graph)


def _numbers(path: str, above: int) -> tuple[int | None, int | None]:
    """Step and rank as the folders are called, from two above the root on: it may itself be a step or a rank."""
    step = rank = None
    for part in os.path.abspath(path).split(os.sep)[max(above, 0) :]:
        if found := _STEP.fullmatch(part):
            step = int(found[1])
        elif found := _RANK.fullmatch(part):
            rank = _PROCESS + int(found[4]) if found[3] else int(found[2] or 0)
    return step, rank


def _cannot(path: str, error: OSError) -> UnreadableError:
    reason = system_reason(error)
    why, why_zh = str(reason), reason.zh
    return UnreadableError(finding(PROBLEMS, "broken-table", path, path=path, why=why, why_zh=why_zh))


def _read_msprobe(place: Place) -> Tree:
    folder = os.path.dirname(place.path)
    notes = [outside(path) for path in place.left_out]
    root = place.root or os.path.dirname(os.path.realpath(place.path))
    beside = {name for name in ("construct.json", "dump_tensor_data") if lies_in(os.path.join(folder, name), root)}
    apart = [os.path.join(folder, name) for name in ("construct.json", "dump_tensor_data") if name not in beside]
    notes += [outside(path) for path in apart if os.path.lexists(path)]
    parents: Mapping[str, str] = (
        _parents(os.path.join(folder, "construct.json"), notes) if "construct.json" in beside else {}
    )
    tensors = os.path.join(folder, "dump_tensor_data")
    has_tensors = "dump_tensor_data" in beside and os.path.isdir(tensors)
    files = file_names(tensors, root, notes) if has_tensors else set[str]()
    reader = _MsprobeReader(tensors if has_tensors else None, files, parents, _budget(place.path))
    written: dict[str, str] = {}
    has_data = False
    for within, key, value in read_members(place.path, (("data",),)):
        if within:
            has_data = True
            reader.take(key, value)
        elif key == "data":
            has_data = has_data or value == {}
        elif key in ("framework", "task", "level"):
            written[key] = str(value or "")
    if not has_data:
        raise UnreadableError(
            finding(PROBLEMS, "not-a-dump", place.path, path=place.path, why="it has no `data`", why_zh="没有 `data`")
        )
    units = tuple(reader.units())
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


def _budget(path: str) -> Budget:
    try:
        return Budget(os.stat(path).st_size)
    except OSError as error:
        raise _cannot(path, error) from None


def read_members(path: str, opened: tuple[tuple[str, ...], ...] = ()) -> Iterator[Member]:
    """The members of a JSON file one by one, or UnreadableError with the place where it breaks."""
    try:
        yield from members(path, _MOST_JSON, opened)
        return
    except BrokenJsonError as error:
        why, why_zh, line, column = str(error), f"JSON 有误（{error}）", error.line, error.column
    except UnicodeDecodeError:
        why, why_zh, line, column = "not UTF-8", "不是 UTF-8", 1, 1
    except OSError as error:
        raise _cannot(path, error) from None
    except ValueError as error:
        why, why_zh, line, column = str(error), "含有过大的数，或值过多", 1, 1
    told = {"why": why, "why_zh": why_zh, "line": line, "column": column}
    raise UnreadableError(finding(PROBLEMS, "broken-json", path, path=path, **told)) from None


def _parents(path: str, notes: list[Note]) -> Mapping[str, str]:
    """Which unit each one ran inside: msprobe's construct.json; an API's entry may also hold its kind."""
    if not os.path.exists(path):
        return {}
    found: dict[str, str] = {}
    try:
        for _, name, parent in read_members(path):
            listed = _listed(parent)
            first = listed[0] if listed else parent
            if isinstance(first, str):
                found[name] = intern(first)
    except UnreadableError as error:
        notes.append(Note(error.diagnostic.message(), error.diagnostic.message("zh")))
        return {}
    return found


def _entries(written: object) -> dict[str, Any]:
    """A JSON object; nothing for anything else."""
    return written if isinstance(written, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _listed(written: object) -> list[Any]:
    return written if isinstance(written, list) else []  # pyright: ignore[reportUnknownVariableType]


def _framework_of(units: Iterable[Unit]) -> str:
    for unit in units:
        if unit.name.startswith(("Cell.", "Mint", "Primitive.")):
            return "mindspore"
        if unit.name.startswith(("Module.", "Torch.", "Functional.", "NPU.", "Aten.")):
            return "pytorch"
    return ""


class _MsprobeReader:
    """Turns the entries of a dump.json into units."""

    def __init__(self, tensors: str | None, files: set[str], parents: Mapping[str, str], budget: Budget) -> None:
        self._tensors = tensors
        self._files = files
        self._parents = parents
        self._budget = budget
        self._found: dict[str, Unit] = {}
        self.notes: list[Note] = []

    def take(self, name: str, entry: object) -> None:
        """Read an entry; of two with one name the later one counts, as with `json.loads`."""
        before = len(self.notes)
        unit = self._unit(name, entry)
        if unit is None:
            self.notes.append(Note(f"{name}: not an entry of a module or API", f"{name}：不是模块或 API 的条目"))
        else:
            kept = PackedTensors(unit.tensors, self._tensors)
            self._found[name] = unit._replace(tensors=kept)
            self._budget.take(_UNIT + 2 * len(name) + kept.size + _RESULT * len(kept))
        self._budget.take((len(self.notes) - before) * (_NOTE + 2 * len(name)))

    def units(self) -> Iterator[Unit]:
        """What was read, in its order; gradients of parameters belong to the backward of their module."""
        gradients: dict[str, list[Tensor]] = {}
        found: list[Unit] = []
        for unit in self._found.values():
            if unit.kind == "":
                gradients.setdefault(unit.scope, []).extend(unit.tensors)
            else:
                found.append(unit)
        backward = {f"{unit.scope}.{unit.kind}": at for at, unit in enumerate(found) if unit.direction == "backward"}
        for scope, tensors in gradients.items():
            at = backward.get(scope)
            if at is None:
                path, _, kind = scope.rpartition(".")
                kept = PackedTensors(tensors, self._tensors)
                found.append(Unit(f"{scope}.parameters_grad", path, kind, "backward", 0, "module", kept))
            else:
                kept = PackedTensors((*found[at].tensors, *tensors), self._tensors)
                found[at] = found[at]._replace(tensors=kept)
        return iter(found)

    def _unit(self, name: str, entry: object) -> Unit | None:
        parts = name.split(".")
        if "parameters_grad" in parts[-2:]:
            end = parts.index("parameters_grad", len(parts) - 2)
            tensors = self._leaves(entry, "gradient", "output")
            return Unit(name, ".".join(parts[:end]), "", "backward", 0, "module", tuple(tensors))
        if parts[-1] == "debug":
            call = int(parts[-2]) if len(parts) > 2 and is_whole(parts[-2]) else 0
            tensors = self._leaves(entry, "output", "output")
            return Unit(name, ".".join(parts[:-2]), "variable", "", call, "debug", tuple(tensors))
        placed = _placed(parts)
        if placed is None or not isinstance(entry, dict):
            return None
        scope, kind, direction, call, level = placed
        lists = _entries(entry)  # pyright: ignore[reportUnknownArgumentType]
        tensors = [
            tensor for key, place, role in _ROLES if key in lists for tensor in self._leaves(lists[key], place, role)
        ]
        return Unit(name, scope, kind, direction, call, level, tuple(tensors), self._parents.get(name))

    def _leaves(self, entry: object, place: str, role: Role, depth: int = 0) -> Iterator[Tensor]:
        if depth > _NESTED:
            self.notes.append(Note(f"{place}: nested too deeply", f"{place}：嵌套过深"))
            return
        for at, value in enumerate(_listed(entry)):
            yield from self._leaves(value, place if place.startswith("gradient.") else f"{place}.{at}", role, depth + 1)
        entries = _entries(entry)
        if isinstance(entries.get("type"), str):
            yield self._tensor(entries, place, role)
            return
        for key, value in entries.items():
            yield from self._leaves(value, f"{place}.{key}", role, depth + 1)

    def _tensor(self, entry: Mapping[str, Any], place: str, role: Role) -> Tensor:
        if "dtype" not in entry and "value" in entry:
            return Tensor(place, role, str(entry["type"]), None, value=entry["value"])
        shape = _listed(entry.get("shape"))
        sizes = tuple(size for size in shape if isinstance(size, int))
        highest, lowest, mean, norm = (number(entry.get(key)) for key in ("Max", "Min", "Mean", "Norm"))
        checksum = None if entry.get("md5") is None else str(entry["md5"])
        statistics = Statistics(highest, lowest, mean, norm, checksum)
        dtype = dtype_name(str(entry.get("dtype", "")))
        return Tensor(place, role, dtype, sizes if "shape" in entry else None, statistics, self._path(entry))

    def _path(self, entry: Mapping[str, Any]) -> str | None:
        name = entry.get("data_name")
        if not isinstance(name, str) or name in ("", "-1") or self._tensors is None or os.path.basename(name) != name:
            return None
        if name not in self._files:
            said = f"{name}: named in dump.json, but not in dump_tensor_data"
            self.notes.append(Note(said, f"{name}：dump.json 中有，但 dump_tensor_data 中没有"))
            return None
        return os.path.join(self._tensors, name)


def _placed(parts: list[str]) -> tuple[str, str, Direction, int, Level] | None:
    """Scope, kind, direction, call and level of a name of msprobe.

    Modules are `Module.<path>.<Class>.forward.<call>`, APIs `Torch.matmul.<call>.forward`.
    """
    last, before = parts[-1], parts[-2] if len(parts) > 1 else ""
    if before in ("forward", "backward") and is_whole(last) and len(parts) >= 4:
        path = parts[:-2]
        return ".".join(path[:-1]), intern(path[-1]), before, int(last), "module"  # pyright: ignore[reportReturnType]
    if last in ("forward", "backward") and is_whole(before) and len(parts) >= 4:
        path = parts[:-2]
        return ".".join(path), intern(path[-1]), last, int(before), "api"  # pyright: ignore[reportReturnType]
    return None


def is_whole(text: str) -> bool:
    """Whether a piece of a name is a count: `²` is a digit too, and a name may have thousands of them."""
    return text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS


def sizes_in(text: str) -> tuple[int, ...]:
    """The numbers of a shape as a table writes it."""
    return tuple(int(size) for size in re.findall(r"[0-9]+", text) if len(size) < _MOST_DIGITS)


def unit_named(name: str) -> Unit:
    """A unit of which only the name is known."""
    placed = _placed(name.split("."))
    if placed is None:
        return Unit(name, name, "", "", 0, "operator", ())
    scope, kind, direction, call, level = placed
    return Unit(name, scope, kind, direction, call, level, ())


def dtype_name(written: str) -> str:
    """A number type by its usual name: `torch.bfloat16`, `BFloat16` and `DT_BF16` are all `bfloat16`."""
    short = written.rpartition(".")[2].strip().lower()
    return _DTYPES.get(short, short)


_DTYPES = {
    "bf16": "bfloat16",
    "dt_bf16": "bfloat16",
    "dt_bfloat16": "bfloat16",
    "half": "float16",
    "fp16": "float16",
    "dt_float16": "float16",
    "float": "float32",
    "fp32": "float32",
    "dt_float": "float32",
    "double": "float64",
    "dt_double": "float64",
    "long": "int64",
    "int": "int32",
    "dt_int32": "int32",
    "dt_int64": "int64",
    "dt_bool": "bool",
}


def number(written: Any) -> float | None:
    """A statistic as a number: `nan` and ` inf` too; None for what is not one."""
    if isinstance(written, bool):
        return float(written)
    if isinstance(written, (int, float)):
        try:
            return float(written)
        except OverflowError:  # a whole number of more than three hundred digits
            return None
    if isinstance(written, str):
        try:
            return float(written.strip().removesuffix("%"))
        except ValueError:
            return {"true": 1.0, "false": 0.0}.get(written.strip().lower())
    return None
