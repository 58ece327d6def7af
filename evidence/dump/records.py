"""Units of a dump and their tensors, as dumps spell them, and the paths of its steps and ranks.

A dump of a large model describes a million tensors, each of which is looked at once or twice: `PackedTensors` keeps
those of a unit as bytes, a quarter of what the records take.

Other output of msprobe is refused by its name. Sources, of msprobe 26.2.0: `core/monitor_v2/writer.py`,
`pytorch|mindspore/monitor/data_writers.py` and `module_hook.py` (monitor); `pytorch/reproducibility/common.py:58`;
`core/dump/kernel_dump/kernel_config.py` and `mindspore/dump/dump_processor/kernel_kbyk_dump.py`;
`mindspore/dump/exception_dump/kernel_graph_exception_dump.py`; `core/config_check`; `core/single_save/single_saver.py`;
`pytorch|mindspore/api_accuracy_checker` (precheck).
"""

from __future__ import annotations

import marshal
import os
import re
from collections.abc import Sequence
from sys import intern
from typing import TYPE_CHECKING, Any, Literal, overload

from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.fast_records import NamedTuple
from ...schemas.shared_words import system_reason
from .messages_compiled import say
from .names_compiled import DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ...schemas.message import Words

Role = Literal["input", "parameter", "output"]
Direction = Literal["forward", "backward", ""]
Level = Literal["module", "api", "operator", "debug"]


class Statistics(NamedTuple):
    """Statistics of a tensor without its elements."""

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
    tensors: Sequence[Tensor]
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
    notes: tuple[Words, ...] = ()

    @property
    def content(self) -> str:
        """Kind of data to compare: `tensor`, `statistics` or `checksum`."""
        found = "checksum"
        for unit in self.units:
            for tensor in unit.tensors:
                if tensor.path:
                    return "tensor"
                if tensor.statistics.norm is not None:
                    found = "statistics"
        return found


class PackedTensors(Sequence[Tensor]):
    """Some tensors, whose files, where they have any, lie in one folder."""

    __slots__ = ("_count", "_data", "_folder")

    def __init__(self, tensors: Iterable[Tensor], folder: str | None) -> None:
        # What is interned is so again when it is looked at: results do not each hold a text of their own.
        rows = [
            (
                intern(tensor.place),
                intern(tensor.role),
                intern(tensor.dtype),
                tensor.shape,
                tuple(tensor.statistics),
                os.path.basename(tensor.path) if tensor.path else "",
                tensor.value,
            )
            for tensor in tensors
        ]
        self._data = marshal.dumps(rows)
        self._count = len(rows)
        self._folder = folder

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Tensor]:
        for place, role, dtype, shape, statistics, name, value in marshal.loads(self._data):
            path = os.path.join(self._folder, name) if name and self._folder is not None else None
            yield Tensor(place, role, dtype, shape, Statistics(*statistics), path, value)

    @overload
    def __getitem__(self, index: int) -> Tensor: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Tensor, ...]: ...
    def __getitem__(self, index: int | slice) -> Tensor | tuple[Tensor, ...]:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedTensors) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash((self._count, self._folder))

    @property
    def size(self) -> int:
        """Bytes that the packed tensors take."""
        return len(self._data)


_MOST_DIGITS = 16


def parse_unit_name(parts: list[str]) -> tuple[str, str, Direction, int, Level] | None:
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
    """True if text is a decimal count of reasonable length."""
    return text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS


def sizes_in(text: str) -> tuple[int, ...]:
    """Numbers of a shape in a table's text."""
    return tuple(int(size) for size in re.findall(r"[0-9]+", text) if len(size) < _MOST_DIGITS)


def unit_named(name: str) -> Unit:
    """Unit parsed from its name alone."""
    found = parse_unit_name(name.split("."))
    if found is None:
        return Unit(name, name, "", "", 0, "operator", ())
    scope, kind, direction, call, level = found
    return Unit(name, scope, kind, direction, call, level, ())


def dtype_name(written: str) -> str:
    """A number type by its usual name: `torch.bfloat16`, `BFloat16` and `DT_BF16` are all `bfloat16`."""
    short = written.rpartition(".")[2].strip().lower()
    return DTYPES.get(short, short)


def number(written: Any) -> float | None:
    """Statistic as a number, `nan` and `inf` included; None for other text."""
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


_STEP = re.compile(r"step([0-9]{1,15})")
_RANK = re.compile(r"(rank)_?([0-9]{0,12})|(proc)_?([0-9]{1,12})")
_PROCESS = 1 << 40
"""Added to a process id, so that it is told from a rank."""
_OPERATOR_PARTS = 6
_DEEPEST = 6
_MOST_NOTES = 20


class Place(NamedTuple):
    """Path of one step of one rank."""

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
    """Every step and rank of a dump below a path, which may itself be one of them."""
    if not os.path.exists(root):
        raise UnreadableError(diagnose(say.missing(path=root), root))
    above = len(os.path.abspath(root).split(os.sep)) - 3
    if os.path.isfile(root):
        if there := describe_other_output(root):
            raise UnreadableError(diagnose(say.no_dump(path=root, there=there), root))
        form = "mindspore" if os.path.basename(root) == "statistic.csv" else "msprobe"
        path = os.path.dirname(root) or "." if form == "mindspore" else root
        inside = os.path.dirname(os.path.realpath(root))
        return (Place(path, form, *_numbers(root, above), root=inside),)
    search = _Search(os.path.realpath(root), above)
    found = list(search.places(root, 0))
    if not found:
        if search.left_out:
            raise UnreadableError(diagnose(say.broken_table(path=root, why=link_note(search.left_out[0])), root))
        raise UnreadableError(diagnose(say.no_dump(path=root, there=describe_other_output(root)), root))
    found = sorted(found, key=lambda place: (place.step or 0, place.rank or 0, place.path))
    found[0] = found[0]._replace(left_out=tuple(search.left_out))
    return tuple(_number_processes(found))


def lies_in(path: str, root: str) -> bool:
    """True if a path is below a dump's root after following links."""
    return os.path.realpath(path).startswith(os.path.join(root, ""))


def link_note(path: str) -> Words:
    """Note that a link in a dump is not followed."""
    return say.leads_out_of_the_dump(path=path)


def file_names(folder: str, root: str, notes: list[Words]) -> set[str]:
    """File names in a dump's folder, without links that point outside."""
    try:
        with os.scandir(folder) as entries:
            linked = [(entry.name, entry.is_symlink() and not lies_in(entry.path, root)) for entry in entries]
    except OSError as error:
        raise cannot_be_read(folder, error) from None
    left_out = sorted(name for name, leads_out in linked if leads_out)
    notes.extend(link_note(os.path.join(folder, name)) for name in left_out[:_MOST_NOTES])
    return {name for name, leads_out in linked if not leads_out}


def _number_processes(places: list[Place]) -> Iterator[Place]:
    """Places without a rank get one by the order of their process ids."""
    seen: dict[tuple[int | None, str], int] = {}
    for place in places:
        if place.rank is None or place.rank >= _PROCESS:
            at = seen.get((place.step, place.order), 0)
            seen[place.step, place.order] = at + 1
            yield place._replace(rank=at)
        else:
            yield place


class _Search:
    """Looks for steps and ranks below a root: each folder once, and none outside of it."""

    def __init__(self, root: str, above: int) -> None:
        self._root = root
        self._above = above
        self._seen: set[tuple[int, int]] = set()
        self.left_out: list[str] = []

    def places(self, folder: str, depth: int) -> Iterator[Place]:
        """Dumps in a folder and below it, each folder once."""
        try:
            status = os.stat(folder)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise cannot_be_read(folder, error) from None
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
        """True unless an entry is a link out of the dump, which is noted."""
        if not entry.is_symlink() or lies_in(entry.path, self._root):
            return True
        if len(self.left_out) < _MOST_NOTES:
            self.left_out.append(entry.path)
        return False


def _is_operator(name: str) -> bool:
    """True for a file name of MindSpore's operator dump."""
    return name.endswith(".npy") and (".input." in name or ".output." in name) and name.count(".") >= _OPERATOR_PARTS


def _graph_place(folder: str, above: int) -> Place:
    """Place of a folder in MindSpore's layout `rank_0/<network>/<graph>/<iteration>`."""
    parts = os.path.abspath(folder).split(os.sep)[max(above, 0) :]
    step = int(parts[-1]) if is_whole(parts[-1]) else None
    graph = parts[-2] if len(parts) > 1 and is_whole(parts[-2]) else ""
    return Place(folder, "mindspore", step, _numbers(folder, above)[1], graph)


def _numbers(path: str, above: int) -> tuple[int | None, int | None]:
    """Step and rank in the folder names of a path, from the level `above` on."""
    step = rank = None
    for part in os.path.abspath(path).split(os.sep)[max(above, 0) :]:
        if found := _STEP.fullmatch(part):
            step = int(found[1])
        elif found := _RANK.fullmatch(part):
            rank = _PROCESS + int(found[4]) if found[3] else int(found[2] or 0)
    return step, rank


def cannot_be_read(path: str, error: OSError) -> UnreadableError:
    """UnreadableError for a part of a dump that the system refuses."""
    return UnreadableError(diagnose(say.broken_table(path=path, why=system_reason(error)), path))


_OTHER: tuple[tuple[str, Callable[[], Words]], ...] = (
    (r"accuracy_checking_(result|details)_.*\.csv", say.of_the_precheck),
    (r"random_.*\.csv", say.of_the_random_calls),
    (r".*_(step)?\d+-\d+\.csv|module_struct\.json|stack_info\.csv", say.of_the_monitor),
    (r"kernel_kbyk_dump\.json|kernel_config_\d+\.json", say.of_the_kernel_dump),
    (r"kernel_graph_exception_check\.json", say.of_the_exception_dump),
    (r"hyperparameters_(static|dynamic)\.json|ckpt_similarity\.json", say.of_the_config_check),
    (r"configurations\.json", say.of_the_single_save),
)
_MOST = 2000


def describe_other_output(root: str) -> Words | str:
    """Message if a path holds another kind of msprobe output; empty if unknown."""
    for name in _names(root):
        for pattern, what in _OTHER:
            if re.fullmatch(pattern, name):
                return say.other_file(name=name, what=what())
    return ""


def _names(root: str) -> Iterable[str]:
    """Sorted file names at a path, up to a limit."""
    if os.path.isfile(root):
        return (os.path.basename(root),)
    found: list[str] = []
    for _folder, below, files in os.walk(root):
        below.sort()
        found += sorted(files)
        if len(found) > _MOST:
            break
    return found[:_MOST]
