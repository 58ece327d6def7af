"""Paths of the steps and ranks of a dump; nothing outside of the dump is read.

Other output of msprobe is refused by its name. Sources, of msprobe 26.2.0: `core/monitor_v2/writer.py`,
`pytorch|mindspore/monitor/data_writers.py` and `module_hook.py` (monitor); `pytorch/reproducibility/common.py:58`;
`core/dump/kernel_dump/kernel_config.py` and `mindspore/dump/dump_processor/kernel_kbyk_dump.py`;
`mindspore/dump/exception_dump/kernel_graph_exception_dump.py`; `core/config_check`; `core/single_save/single_saver.py`;
`pytorch|mindspore/api_accuracy_checker` (precheck).
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal

from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.fast_records import NamedTuple
from ...schemas.shared_words import system_reason
from .messages_compiled import say
from .records import is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ...schemas.message import Words

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
    """Every step and rank below a path; the path may also be one of them, or a dump.json itself."""
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
    """True if a path is below the root of a dump with all links followed."""
    return os.path.realpath(path).startswith(os.path.join(root, ""))


def link_note(path: str) -> Words:
    """That a link of a dump is not followed."""
    return say.leads_out_of_the_dump(path=path)


def file_names(folder: str, root: str, notes: list[Words]) -> set[str]:
    """The names in a folder of a dump, without links that lead out of it."""
    try:
        with os.scandir(folder) as entries:
            linked = [(entry.name, entry.is_symlink() and not lies_in(entry.path, root)) for entry in entries]
    except OSError as error:
        raise cannot_be_read(folder, error) from None
    left_out = sorted(name for name, leads_out in linked if leads_out)
    notes.extend(link_note(os.path.join(folder, name)) for name in left_out[:_MOST_NOTES])
    return {name for name, leads_out in linked if not leads_out}


def _number_processes(places: list[Place]) -> Iterator[Place]:
    """Processes without a rank are named after their process ids: they are counted in order."""
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


def cannot_be_read(path: str, error: OSError) -> UnreadableError:
    """A part of a dump that the system does not give."""
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
    """The other output of msprobe's that a path is or holds; nothing if none is known."""
    for name in _names(root):
        for pattern, what in _OTHER:
            if re.fullmatch(pattern, name):
                return say.other_file(name=name, what=what())
    return ""


def _names(root: str) -> Iterable[str]:
    """The file names at a path, sorted; not arbitrarily many."""
    if os.path.isfile(root):
        return (os.path.basename(root),)
    found: list[str] = []
    for _folder, below, files in os.walk(root):
        below.sort()
        found += sorted(files)
        if len(found) > _MOST:
            break
    return found[:_MOST]
