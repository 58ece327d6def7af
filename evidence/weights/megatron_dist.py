"""Megatron-LM's distributed form `torch_dist`: one global parameter, cut into chunks over `__*_*.distcp` files.

`.metadata` says which chunk of which parameter lies where; layers of one kind are stacked along a first axis, and so
are experts (megatron/core/transformer/transformer_block.py, moe/experts.py: sharded_state_dict, 0.12.3).
"""

# ruff: noqa: D102 - the methods are those of `Checkpoint`

from __future__ import annotations

import os
import re
from array import array
from math import prod
from typing import TYPE_CHECKING, Any, Literal, cast

from ...mapper.weight_names import beside_the_weights, canonical
from ...mapper.weights import WeightTable
from ..bounded_json import bytes_of
from .megatron_torch import arguments_of
from .messages_compiled import say
from .model import Amount, Model, View, count
from .number_types_compiled import STORED
from .pickled import Pieces, Places, Record, read_pickle
from .problems import denied, garbled, said_twice, unreadable
from .scattered import Archived, Chunk, Scattered
from .torch_file import TorchFile
from .weight import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ...mapper.weight_names import Beside
    from .places import Found
    from .weight import Shape, Weight

_MOST_METADATA = 1 << 28
_MOST_STACKED = 1 << 16
"""Layers or experts of one parameter."""
_STACKED = re.compile(r"(decoder\.layers\.)(?=[^\d])")
_EXPERTS = re.compile(r"\.mlp\.experts\.experts\.(?=\D)")
_ONE_EXPERT = re.compile(r"\.mlp\.experts\.experts\.(?=\d)")
_HALVES = ("_w", "_v")
"""What gate and up projection are called where each is a parameter of its own: transformer/mlp.py, 0.14."""


class MegatronDist:
    """A distributed checkpoint."""

    framework: Literal["megatron"] = "megatron"
    form: Literal["torch_dist"] = "torch_dist"

    def __init__(self, found: Found) -> None:
        self.folder = found.folder
        common = os.path.join(self.folder, "common.pt")
        content: Any = TorchFile(common).content if os.path.isfile(common) else {}
        if not isinstance(content, dict):
            garbled(common, say.it_is_no_table())
        table = cast("dict[str, Any]", content)
        iteration = table.get("iteration")
        self.iteration = iteration if isinstance(iteration, int) else None
        self.arguments = arguments_of(table.get("args"))
        self._beside: dict[Beside, Amount] = {}
        self._tensors = self._read_metadata()

    def _read_metadata(self) -> dict[str, Scattered]:
        path = os.path.join(self.folder, ".metadata")
        try:
            data = bytes_of(path, _MOST_METADATA)
        except FileNotFoundError:
            unreadable(say.missing_shard(file=path, needed="the list of what the .distcp files hold"), path)
        except OSError as error:
            denied(path, error)
        metadata = read_pickle(data, path)
        del data
        entries = metadata.get("state_dict_metadata") if isinstance(metadata, Record) else None
        places = metadata.get("storage_data") if isinstance(metadata, Record) else None
        if not isinstance(entries, dict) or not isinstance(places, dict):
            garbled(path, say.it_does_not_say_what())
        try:
            where = cast("dict[Any, Places]", places)
            self._check_places(where)
            return dict(self._scattered(cast("dict[str, Any]", entries), where))
        except (AttributeError, TypeError, ValueError, KeyError, IndexError, OverflowError) as error:
            garbled(path, say.an_entry_is_not_as(error=error))

    def _check_places(self, places: Mapping[Any, Places]) -> None:
        """UnreadableError where a file that holds a weight is not there, or ends before it."""
        sizes: dict[str, int] = {}
        for (name, _), held in places.items():
            if beside_the_weights("megatron", name) is not None:
                continue
            for file, start, length in map(held.__getitem__, range(len(held))):
                path = self._path(file)
                if path not in sizes:
                    if not os.path.isfile(path):
                        unreadable(say.missing_shard(file=path, needed=name), path)
                    sizes[path] = os.path.getsize(path)
                if start + length > sizes[path]:
                    unreadable(say.truncated(file=path, tensor=name, needed=start + length, size=sizes[path]), path)

    def _path(self, file: str) -> str:
        return os.path.join(self.folder, os.path.basename(file))

    def _scattered(self, entries: Mapping[str, Any], places: Mapping[Any, Places]) -> Iterator[tuple[str, Scattered]]:
        for name, entry in entries.items():
            what = beside_the_weights("megatron", name)
            if what is not None:
                size = entry.get("size")
                width = 0 if size is None else STORED[_dtype_of(entry.get("properties"))][1]
                count(self._beside, what, prod(size or ()) * width)
                continue
            pieces: Any = entry.get("chunks")
            if pieces is None:
                continue
            shape = tuple(entry.get("size"))
            dtype = _dtype_of(entry.get("properties"))
            whole = Scattered(name, dtype, shape, self._chunks(name, dtype, pieces, places))
            whole.check_whole(self.folder)
            yield name, whole

    def _chunks(self, name: str, dtype: str, pieces: Pieces, places: Mapping[Any, Places]) -> _Chunks:
        """The pieces of a parameter with their places; UnreadableError where one has none that it fits into."""
        whole = places.get((name, None))
        axes = len(pieces[0][0]) if pieces else 0
        found = places.get((name, axes))
        rows = array("q")
        for number, (offsets, size) in enumerate(pieces):
            row = None if found is None else found.row_of(offsets, number)
            held = (whole, len(whole) - 1) if row is None and whole is not None else (found, row)
            if held[0] is None or held[1] is None:
                unreadable(say.missing_shard(file=f"{name} {list(offsets)}", needed=name), self.folder)
            length = held[0][held[1]][2]
            if prod(size) * STORED[dtype][1] > length:
                garbled(
                    os.path.join(self.folder, ".metadata"),
                    say.a_piece_of_in_is(size=list(size), name=name, dtype=dtype, length=length),
                )
            rows.append(-1 if row is None else row)
        if found is not None:
            found.settle()
        return _Chunks(self._path, name, pieces, found, whole, rows)

    def shapes(self) -> Mapping[str, Shape]:
        return {name: weight.shape for name, (_, weight) in self._named().items()}

    def model(self, view: View) -> Model:
        table = WeightTable(view.layout)
        named = self._named()
        unknown = sorted(
            {written for name, (written, _) in named.items() if table.find_pairing("megatron", name) is None}
        )
        weights: dict[str, Weight] = {
            name: weight for name, (written, weight) in named.items() if written not in set(unknown)
        }
        for name, weight in weights.items():
            wanted = view.refuses(name, weight.shape)
            if wanted is not None:
                unreadable(
                    say.shape(
                        tensor=name, file=weight.file, found=list(weight.shape), wanted=list(wanted), source=view.source
                    ),
                    weight.file,
                )
        written_as = {name: written for name, (written, _) in named.items()}
        return Model("megatron", self.folder, weights, written_as, tuple(unknown), self._beside)

    def _named(self) -> dict[str, tuple[str, Weight]]:
        """Every parameter by its own name: layers and experts that are stacked each by themselves."""
        found: dict[str, tuple[str, Weight]] = {}
        for written, weight in self._tensors.items():
            for name, part in _unstacked(written, weight):
                name = canonical("megatron", _ONE_EXPERT.sub(".mlp.experts.local_experts.", name))
                if name in found:
                    said_twice(self.folder, found[name][0], written)
                found[name] = written, part
        for first in [name for name in found if name.endswith(_HALVES[0])]:
            name = first.removesuffix(_HALVES[0])
            if name + _HALVES[1] in found:
                written, gate = found.pop(first)
                found[name] = written, joined([gate, found.pop(name + _HALVES[1])[1]], 0)
        return found


class _Chunks:
    """The pieces of a parameter, each made when it is asked for: there can be a million of them."""

    __slots__ = ("_found", "_name", "_path", "_pieces", "_rows", "_whole")

    def __init__(
        self,
        path: Callable[[str], str],
        name: str,
        pieces: Pieces,
        found: Places | None,
        whole: Places | None,
        rows: array[int],
    ) -> None:
        self._path = path
        self._name = name
        self._pieces = pieces
        self._found = found
        self._whole = whole
        self._rows = rows

    def __len__(self) -> int:
        return len(self._pieces)

    def __iter__(self) -> Iterator[Chunk]:
        for (offsets, size), row in zip(self._pieces, self._rows, strict=True):
            held = self._found if row >= 0 else self._whole
            assert held is not None
            file, start, length = held[row if row >= 0 else len(held) - 1]
            path = self._path(file)
            yield Chunk(offsets, size, path, Archived(path, start, length, self._name))


def _unstacked(name: str, weight: Scattered) -> Iterator[tuple[str, Scattered]]:
    stacked = _STACKED.search(name) is not None or _EXPERTS.search(name) is not None
    if stacked and weight.count and weight.shape[0] > _MOST_STACKED:
        garbled(weight.file, say.stacks_layers(name=name, shape=weight.shape[0]))
    if _STACKED.search(name) is not None and weight.count:
        for inner in weight.along(lambda layer: _STACKED.sub(lambda found: f"{found[1]}{layer}.", name, count=1)):
            yield from _unstacked(inner.name, inner)
    elif _EXPERTS.search(name) is not None and weight.count:
        for inner in weight.along(lambda expert: _EXPERTS.sub(f".mlp.experts.local_experts.{expert}.", name, count=1)):
            yield inner.name, inner
    else:
        yield name, weight


def _dtype_of(properties: Any) -> str:
    """The type in a `TensorProperties`; it is pickled as the list of its fields, or as a table of them."""
    state: Any = properties.state
    if isinstance(state, dict):
        return str(cast("dict[str, Any]", state)["dtype"])
    return str(cast("tuple[Any, ...]", state)[0])
