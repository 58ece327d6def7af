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

import json
import os
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ...schemas.diagnostic import UnreadableError, finding
from ...schemas.system_reasons import system_reason
from ..stranger_json import bytes_of, parse_json
from .compare_problems import PROBLEMS, Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Role = Literal["input", "parameter", "output"]
Direction = Literal["forward", "backward", ""]
Level = Literal["module", "api", "operator", "debug"]

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


class Statistics(NamedTuple):
    """What a dump says of a tensor without its elements."""

    highest: float | None = None
    lowest: float | None = None
    mean: float | None = None
    norm: float | None = None
    checksum: str | None = None


class Tensor(NamedTuple):
    """One tensor, or one plain argument, of a unit."""

    place: str
    """`input.0`, `parameters.weight`, `output.0`, `gradient.weight`."""
    role: Role
    dtype: str
    shape: tuple[int, ...] | None
    statistics: Statistics = Statistics()
    path: str | None = None
    value: object = None
    """A plain argument's value; tensors have none."""


class Unit(NamedTuple):
    """One call of a module, an API or an operator."""

    name: str
    """As the dump spells it: what goes into a scope."""
    scope: str
    """The path of the module, API or operator without kind, direction and call."""
    kind: str
    """The class of a module; the name of an API or an operator."""
    direction: Direction
    call: int
    level: Level
    tensors: tuple[Tensor, ...]
    parent: str | None = None
    """The name of the unit that it ran inside, where the dump tells."""


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
        tensors = [tensor for unit in self.units for tensor in unit.tensors]
        if any(tensor.path for tensor in tensors):
            return "tensor"
        return "statistics" if any(tensor.statistics.norm is not None for tensor in tensors) else "checksum"


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
    why, why_zh = system_reason(error)
    return UnreadableError(finding(PROBLEMS, "broken-table", path, path=path, why=why, why_zh=why_zh))


def _read_msprobe(place: Place) -> Tree:
    written = _entries(read_json(place.path))
    data = _entries(written.get("data"))
    if not isinstance(written.get("data"), dict):
        raise UnreadableError(
            finding(PROBLEMS, "not-a-dump", place.path, path=place.path, why="it has no `data`", why_zh="没有 `data`")
        )
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
    reader = _MsprobeReader(tensors if has_tensors else None, files, parents)
    units = tuple(reader.units(data))
    return Tree(
        folder,
        "msprobe",
        str(written.get("framework") or _framework_of(units)),
        str(written.get("task") or ""),
        str(written.get("level") or ""),
        place.step,
        place.rank,
        units,
        (*notes, *reader.notes),
    )


def read_json(path: str) -> Any:
    """A JSON file, or UnreadableError with the place where it breaks."""
    try:
        return parse_json(bytes_of(path, _MOST_JSON), 10)
    except json.JSONDecodeError as error:
        why, why_zh, line, column = error.msg, f"JSON 有误（{error.msg}）", error.lineno, error.colno
    except UnicodeDecodeError as error:
        why, why_zh = "not UTF-8", "不是 UTF-8"
        line, column = error.object.count(b"\n", 0, error.start) + 1, 1
    except OSError as error:
        raise _cannot(path, error) from None
    except ValueError as error:
        why, why_zh, line, column = str(error), "嵌套过深或含有过大的数", 1, 1
    told = {"why": why, "why_zh": why_zh, "line": line, "column": column}
    raise UnreadableError(finding(PROBLEMS, "broken-json", path, path=path, **told)) from None


def _parents(path: str, notes: list[Note]) -> Mapping[str, str]:
    """Which unit each one ran inside: msprobe's construct.json; an API's entry may also hold its kind."""
    if not os.path.exists(path):
        return {}
    try:
        written = read_json(path)
    except UnreadableError as error:
        notes.append(Note(error.diagnostic.message(), error.diagnostic.message("zh")))
        return {}
    found: dict[str, str] = {}
    for name, parent in _entries(written).items():
        listed = _listed(parent)
        first = listed[0] if listed else parent
        if isinstance(first, str):
            found[name] = first
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

    def __init__(self, tensors: str | None, files: set[str], parents: Mapping[str, str]) -> None:
        self._tensors = tensors
        self._files = files
        self._parents = parents
        self.notes: list[Note] = []

    def units(self, data: Mapping[str, Any]) -> Iterator[Unit]:
        gradients: dict[str, tuple[Tensor, ...]] = {}
        found: list[Unit] = []
        for name, entry in data.items():
            unit = self._unit(name, entry)
            if unit is None:
                self.notes.append(Note(f"{name}: not an entry of a module or API", f"{name}：不是模块或 API 的条目"))
            elif unit.kind == "":
                gradients[unit.scope] = (*gradients.get(unit.scope, ()), *unit.tensors)
            else:
                found.append(unit)
        backward = {f"{unit.scope}.{unit.kind}": at for at, unit in enumerate(found) if unit.direction == "backward"}
        for scope, tensors in gradients.items():
            at = backward.get(scope)
            if at is None:
                path, _, kind = scope.rpartition(".")
                found.append(Unit(f"{scope}.parameters_grad", path, kind, "backward", 0, "module", tensors))
            else:
                found[at] = found[at]._replace(tensors=(*found[at].tensors, *tensors))
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
        return ".".join(path[:-1]), path[-1], before, int(last), "module"  # pyright: ignore[reportReturnType]
    if last in ("forward", "backward") and is_whole(before) and len(parts) >= 4:
        path = parts[:-2]
        return ".".join(path), path[-1], last, int(before), "api"  # pyright: ignore[reportReturnType]
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
