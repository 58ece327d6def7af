"""A model folder of transformers: its `config.json`, and safetensors with its parameters."""

# ruff: noqa: D102 - the methods are those of `Checkpoint`

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal

from ...mapper.recipe.reading import recipe_of
from ...mapper.weight_layout import UndecidedSizeError, expected_weights, layout_of
from ...mapper.weights import beside_a_model, homeless, parts_of
from ...schemas.border.file_input import read_text
from ...schemas.config import ReadOptions
from ...schemas.huggingface.model_config import FILE
from ...schemas.reader import config_of
from .messages_compiled import say
from .mindformers_files import whole_parameters
from .model import Amount, Copy, Model, count
from .target_files import Unit
from .tensor_files import header_bytes, read_header
from .weight import Computed, RefusedError, join_weights, list_names, problem, raise_unreadable, rows_of, transform

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...mapper.weights import Beside, HuggingfaceParts, Layout
    from ...schemas.config import Config
    from .model import Found, View
    from .weight import Shape, Weight

INDEX = "model.safetensors.index.json"
_EMBEDDING, _OUTPUT = "embedding.word_embeddings.weight", "output_layer.weight"


def _transformers_files(names: list[str]) -> list[str]:
    """The files that transformers loads, where others lie beside them: the same weights in another form."""
    own = [name for name in names if name == INDEX or (name.startswith("model") and name.endswith(".safetensors"))]
    return own or names


class HuggingFaceFiles:
    """A folder that transformers loads, or its only file of weights."""

    framework: Literal["huggingface"] = "huggingface"
    form: Literal["safetensors"] = "safetensors"
    iteration: int | None = None
    arguments: Mapping[str, Any] | None = None

    def __init__(self, found: Found) -> None:
        self.folder = found.folder
        alone = os.path.isfile(found.folder)
        described = os.path.join(os.path.dirname(found.folder) if alone else found.folder, FILE)
        self.config: Config = config_of(read_text(described), ReadOptions(), path=described)
        """What its `config.json` says."""
        self._tensors: Mapping[str, Weight] = (
            read_header(found.folder)
            if alone
            else dict(whole_parameters(found.folder, _transformers_files(sorted(os.listdir(found.folder)))))
        )

    def shapes(self) -> Mapping[str, Shape]:
        return {name: weight.shape for name, weight in self._tensors.items()}

    def raw(self) -> Mapping[str, Weight]:
        """The parameters under their own names."""
        return {name: weight for name, weight in self._tensors.items() if beside_a_model(name) is None}

    def model(self, view: View) -> Model:
        family, recipe = self.config.dialect, recipe_of(self.config)
        why = homeless(family)
        if why is not None:
            raise_unreadable(say.homeless(family=family, why=why), self.config.file)
        try:
            layout, wanted = layout_of(recipe), expected_weights(recipe)
        except UndecidedSizeError as error:
            raise_unreadable(say.open_size(file=error.file, fields=", ".join(error.fields)), error.file)
        weights: dict[str, Weight] = {}
        written_as: dict[str, str] = {}
        taken: set[str] = set()
        copies: list[Copy] = []
        for name in dict.fromkeys((*wanted, *(view.wanted or ()), _OUTPUT)):
            parts = parts_of(name, family)
            held = () if parts is None else [part for part in parts.names if part in self._tensors]
            taken.update(held)
            if parts is None or len(held) < len(parts.names):
                continue
            weight = self._join(parts, layout, wanted.get(name) if view.strict else None)
            if name == _OUTPUT and name not in wanted:
                if _EMBEDDING in weights:  # tied: transformers reads the embedding alone
                    copies.append(Copy(name, weights[_EMBEDDING], weight))
                continue
            weights[name] = weight
            written_as[name] = ", ".join(parts.names)
        beside: dict[Beside, Amount] = {}
        for name, tensor in self._tensors.items():
            what = beside_a_model(name)
            if what is not None:
                count(beside, what, tensor.size)
        unknown = tuple(name for name in self.raw() if name not in taken)
        return Model("huggingface", self.folder, weights, written_as, unknown, beside, tuple(copies))

    def _join(self, parts: HuggingfaceParts, layout: Layout, wanted: Shape | None) -> Weight:
        held = [self._tensors[name] for name in parts.names]
        shapes = [one.shape for one in held]
        shape = parts.joined_shape(shapes) if all(shapes) else ()
        alike = len({(one.dtype, one.shape[1:]) for one in held}) == 1
        fits = bool(shape) and alike and shapes == list(parts.parted_shapes(shape, layout))
        said = shape if wanted is None else wanted
        if not fits or shape != said:
            names = ", ".join(parts.names)
            found = [list(one) for one in shapes]
            raise_unreadable(
                say.shape(tensor=names, file=held[0].file, found=found, wanted=list(said), source=FILE), held[0].file
            )
        if parts.same:
            return held[0]
        if parts.relation == "stacked" and not parts.turned:
            return join_weights(held, 0)

        def blocks() -> Iterator[Any]:
            yield parts.join([one.read() for one in held], layout)

        return Computed(held[0].dtype, shape, held[0].file, blocks)


def as_huggingface(weights: Mapping[str, Weight], family: str, layout: Layout) -> tuple[dict[str, Weight], list[str]]:
    """Every parameter as a family's model has it, and the weights that have no place in it."""
    found: dict[str, Weight] = {}
    unknown: list[str] = []
    for name, weight in weights.items():
        parts = parts_of(name, family)
        if parts is None:
            unknown.append(name)
            continue
        shapes = parts.parted_shapes(weight.shape, layout)
        for number, (part, shape) in enumerate(zip(parts.names, shapes, strict=True)):
            found[part] = _part(parts, number, weight, shape, layout)
    return found, unknown


def _part(parts: HuggingfaceParts, number: int, weight: Weight, shape: Shape, layout: Layout) -> Weight:
    if parts.same:
        return weight
    if parts.relation == "stacked" and not parts.turned:
        return rows_of(weight, number * shape[0], (number + 1) * shape[0])
    return transform(weight, shape, lambda array: parts.split(array, layout)[number])


def huggingface_units(
    checkpoint: str, weights: Mapping[str, Weight], family: str, layout: Layout, shard_bytes: int
) -> Iterator[Unit]:
    """The files of a model folder, but for its `config.json` and its index."""
    found, unknown = as_huggingface(weights, family, layout)
    if unknown:
        raise RefusedError(problem(say.unknown(names=list_names(unknown), side=f"transformers {family}"), checkpoint))
    for path, group in safetensors_shards(found, shard_bytes):
        # transformers asks each file which library wrote it (modeling_utils.py:load_state_dict).
        yield Unit(path, group, "bytes", start=header_bytes(group.items(), "pt"))


def safetensors_shards(weights: Mapping[str, Weight], shard_bytes: int) -> Iterator[tuple[str, dict[str, Weight]]]:
    """The weights in files of at most so many bytes, in their order; a larger weight has a file of its own."""
    groups: list[dict[str, Weight]] = [{}]
    size = 0
    for name, weight in weights.items():
        if groups[-1] and size + weight.size > shard_bytes:
            groups.append({})
            size = 0
        groups[-1][name] = weight
        size += weight.size
    for number, group in enumerate(groups, 1):
        yield f"model-{number:05d}-of-{len(groups):05d}.safetensors", group


def index_text(units: Sequence[Unit]) -> str:
    """The list of which file holds which parameter."""
    where = {name: unit.path for unit in units for name in unit.weights}
    total = sum(weight.size for unit in units for weight in unit.weights.values())
    return json.dumps({"metadata": {"total_size": total}, "weight_map": where}, indent=2) + "\n"
