"""A model folder of transformers: its `config.json`, and safetensors or `pytorch_model*.bin` with its parameters.

Published FP8 weights stand beside a scale for each block of rows and columns (`weight_scale_inv`). They are read as
their publisher reads them: the number and its block's scale multiplied in float32
(deepseek-ai/DeepSeek-V3 `inference/kernel.py:weight_dequant_kernel`).
"""

# ruff: noqa: D102 - the methods are those of `Checkpoint`

from __future__ import annotations

import json
import os
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, cast

from ...mapper.recipe.reading import recipe_of
from ...mapper.weight_layout import UndecidedSizeError, expected_weights, layout_of
from ...mapper.weights import (
    beside_a_model,
    by_group,
    by_kind,
    has_further_layers,
    homeless,
    huggingface_layer,
    layer_of,
    parts_of,
    predicted_layer,
    prediction,
    repeated_parts,
)
from ...schemas.border.file_input import read_text
from ...schemas.config import ReadOptions
from ...schemas.huggingface.model_config import FILE
from ...schemas.plain_values import is_list
from ...schemas.reader import config_of
from .messages_compiled import say
from .mindformers_files import whole_parameters
from .model import PICKLED, Amount, Copy, EightBitWeights, Model, count
from .number_types_compiled import EIGHT_BITS
from .target_files import Unit
from .tensor_files import header_bytes, read_parameters
from .weight import (
    Computed,
    RefusedError,
    join_weights,
    list_names,
    problem,
    raise_garbled,
    raise_unreadable,
    reorder_rows,
    rows_of,
    scale_blocks,
    transform,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...mapper.weights import Beside, HuggingfaceParts, Layout
    from ...schemas.config import Config
    from ...schemas.message import Words
    from .model import Found, View
    from .weight import Shape, Weight

INDEX = "model.safetensors.index.json"
_BIN_INDEX = "pytorch_model.bin.index.json"
_EMBEDDING, _OUTPUT = "embedding.word_embeddings.weight", "output_layer.weight"
_SCALE = "_scale_inv"
_BLOCK = (128, 128)
"""Rows and columns of a block, if `config.json` names none."""


def _transformers_files(names: list[str]) -> list[str]:
    """The files that transformers loads, where others lie beside them: the same weights in another form."""
    if not any(name.endswith(".safetensors") for name in names):
        return _files_of_form(names, PICKLED, ".bin", _BIN_INDEX)
    return _files_of_form(names, "model", ".safetensors", INDEX) or [name for name in names if name != _BIN_INDEX]


def _files_of_form(names: list[str], start: str, end: str, index: str) -> list[str]:
    """The files of one form, and their index."""
    return [name for name in names if name == index or (name.startswith(start) and name.endswith(end))]


class HuggingFaceFiles:
    """A folder that transformers loads, or its only file of weights."""

    framework: Literal["huggingface"] = "huggingface"
    form: Literal["safetensors", "torch"] = "safetensors"
    iteration: int | None = None
    arguments: Mapping[str, Any] | None = None

    def __init__(self, found: Found) -> None:
        self.folder = found.folder
        alone = os.path.isfile(found.folder)
        described = os.path.join(os.path.dirname(found.folder) if alone else found.folder, FILE)
        self.config: Config = config_of(read_text(described), ReadOptions(), path=described)
        """What its `config.json` says."""
        self.form = "torch" if found.form == "torch" else "safetensors"
        stored: Mapping[str, Weight] = (
            read_parameters(found.folder)
            if alone
            else dict(whole_parameters(found.folder, _transformers_files(sorted(os.listdir(found.folder)))))
        )
        self._scaled: set[str] = set()
        self._block = _block_size(self.config)
        self._tensors: Mapping[str, Weight] = dict(self._dequantize(stored))

    def _dequantize(self, stored: Mapping[str, Weight]) -> Iterator[tuple[str, Weight]]:
        """The parameters as their network computes with them: FP8 ones times their scales, without these."""
        for name, weight in stored.items():
            scaled = stored.get(name.removesuffix(_SCALE)) if name.endswith(_SCALE) else None
            if scaled is not None and scaled.dtype in EIGHT_BITS:
                continue
            scale = stored.get(name + _SCALE)
            if weight.dtype not in EIGHT_BITS:
                yield name, weight
                continue
            if scale is None:
                raise_unreadable(say.scale_missing(tensor=name, file=weight.file, scale=name + _SCALE), weight.file)
            rows, columns = self._block
            wanted = [-(-weight.shape[0] // rows), -(-weight.shape[-1] // columns)] if len(weight.shape) == 2 else []
            if list(scale.shape) != wanted or scale.dtype != "F32":
                found = f"{scale.dtype} {list(scale.shape)}"
                asked = f"F32 {wanted}"
                source = f"{name} {list(weight.shape)}"
                raise_unreadable(
                    say.shape(tensor=name + _SCALE, file=scale.file, found=found, wanted=asked, source=source),
                    scale.file,
                )
            self._scaled.add(name)
            yield name, scale_blocks(weight, scale, self._block)

    def shapes(self) -> Mapping[str, Shape]:
        return {name: weight.shape for name, weight in self._tensors.items()}

    def raw(self) -> Mapping[str, Weight]:
        """The parameters under their own names."""
        return {name: weight for name, weight in self._tensors.items() if beside_a_model(name) is None}

    def adam_state(self, view: View) -> None:
        del view

    def explain_adam(self) -> Words:
        return say.adam_absent()

    def model(self, view: View) -> Model:
        """Weights of the folder under Megatron-Core's names, with tensors that have no place there."""
        family, recipe = self.config.dialect, recipe_of(self.config)
        why = homeless(family)
        if why is not None:
            raise_unreadable(say.homeless(family=family, why=why), self.config.file)
        try:
            further = sum(name.endswith(".eh_proj.weight") for name in view.wanted or ())
            layout, wanted = layout_of(recipe), expected_weights(recipe, further)
            layers = decoder_layers(wanted)
        except UndecidedSizeError as error:
            raise_unreadable(say.open_size(file=error.file, fields=", ".join(error.fields)), error.file)
        parts = _parts_by_weight(dict.fromkeys((*wanted, *(view.wanted or ()))), family, layers)
        weights = self._weights(parts, layout, wanted, view)
        taken = {part for one in parts.values() for part in one.names}
        repeats = {written: name for name, written in self._repeats(wanted, range(layers, layers + further))}
        taken.update(repeats)
        unasked = range(layers + further, layers + max(further, further_layers(self.config)))
        unknown, beside = self._sort_rest(taken, unasked)
        spelled = {name: one.names for name, one in parts.items()}
        eight_bit = {name: len(self._scaled.intersection(spelled[name])) for name in weights}
        return Model(
            "huggingface",
            self.folder,
            weights,
            {name: ", ".join(spelled[name]) for name in weights},
            unknown,
            beside,
            tuple(self._copies(weights, repeats)),
            EightBitWeights(dict(filter(itemgetter(1), eight_bit.items())), self._block, _SCALE),
            spelled,
        )

    def _weights(
        self, parts: Mapping[str, HuggingfaceParts], layout: Layout, wanted: Mapping[str, Shape], view: View
    ) -> dict[str, Weight]:
        """Each weight of which all parts are there."""
        found: dict[str, Weight] = {}
        for name, one in parts.items():
            if all(part in self._tensors for part in one.names):
                with view.gather(name):
                    found[name] = self._join(one, layout, wanted.get(name) if view.strict else None)
        return found

    def _repeats(self, wanted: Mapping[str, Shape], further: range) -> Iterator[tuple[str, str]]:
        """Weights and the tensors that repeat them: a tied output layer, and what a layer of prediction has again."""
        tied = parts_of(_OUTPUT, self.config.dialect)
        if tied is not None and _OUTPUT not in wanted:
            yield _EMBEDDING, tied.names[0]
        for layer in further:
            for name, written in repeated_parts(layer):
                # transformers reads the embedding alone if the output layer is tied to it.
                yield (_EMBEDDING if name == _OUTPUT and _OUTPUT not in wanted else name), written

    def _copies(self, weights: Mapping[str, Weight], repeats: Mapping[str, str]) -> Iterator[Copy]:
        """The tensors that repeat a weight, each beside it."""
        for written, name in repeats.items():
            if name in weights and written in self._tensors:
                yield Copy(written, weights[name], self._tensors[written])

    def _sort_rest(self, taken: set[str], unasked: range) -> tuple[tuple[str, ...], dict[Beside, Amount]]:
        """Tensors that no parameter is made of: those without a meaning here, and the amount of the others."""
        unknown: list[str] = []
        beside: dict[Beside, Amount] = {}
        for name, tensor in self._tensors.items():
            what = prediction() if huggingface_layer(name) in unasked else beside_a_model(name)
            if what is not None:
                count(beside, what, tensor.size)
            elif name not in taken:
                unknown.append(name)
        return tuple(unknown), beside

    def _join(self, parts: HuggingfaceParts, layout: Layout, wanted: Shape | None) -> Weight:
        """Megatron-Core weight of several Hugging Face tensors; UnreadableError if shapes do not fit."""
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
        return _join_parts(parts, held, shape, layout)


def _join_parts(parts: HuggingfaceParts, held: Sequence[Weight], shape: Shape, layout: Layout) -> Weight:
    """Parameters of a transformers model as the one that Megatron-Core has of them."""
    if parts.same:
        return held[0]
    if not parts.turned:
        joined = join_weights(held, 0)
        if parts.relation != "heads":
            return joined
        grouped = layout._replace(qkv_contiguous=True)
        return reorder_rows(joined, lambda array: by_group(array, grouped))

    def blocks() -> Iterator[Any]:
        yield parts.join([one.read() for one in held], layout)

    return Computed(held[0].dtype, shape, held[0].file, blocks)


def _parts_by_weight(names: Iterable[str], family: str, layers: int) -> dict[str, HuggingfaceParts]:
    """The parameters of a family's model for each weight that a row knows."""
    return {name: parts for name in names if (parts := parts_of(name, family, layers)) is not None}


_FURTHER = "num_nextn_predict_layers"


def further_layers(config: Config) -> int:
    """Layers of multi-token prediction that a `config.json` counts."""
    found = config.value(_FURTHER) if has_further_layers(config.dialect) else None
    return found if isinstance(found, int) else 0


def _block_size(config: Config) -> tuple[int, int]:
    """Rows and columns of a block of FP8 numbers that has one scale."""
    quantized: object = config.value("quantization_config")
    keys = cast("dict[str, Any]", quantized) if isinstance(quantized, dict) else {}
    given: Any = keys.get("weight_block_size")
    if given is None:
        return _BLOCK
    sizes = given if is_list(given) else []
    if len(sizes) != len(_BLOCK) or not all(type(one) is int and one > 0 for one in sizes):
        raise_garbled(config.file, say.no_block_size(given=str(given)))
    return sizes[0], sizes[1]


def decoder_layers(names: Iterable[str]) -> int:
    """The number of the decoder's layers among Megatron-Core's parameters."""
    return 1 + max((layer for name in names if (layer := layer_of(name)) is not None), default=-1)


def as_huggingface(weights: Mapping[str, Weight], family: str, layout: Layout) -> tuple[dict[str, Weight], list[str]]:
    """Every parameter as a family's model has it, and the weights that have no place in it."""
    found: dict[str, Weight] = {}
    unknown: list[str] = []
    layers = decoder_layers(weights)
    for name, weight in weights.items():
        parts = parts_of(name, family, layers)
        if parts is None:
            unknown.append(name)
            continue
        shapes = parts.parted_shapes(weight.shape, layout)
        for number, (part, shape) in enumerate(zip(parts.names, shapes, strict=True)):
            found[part] = _huggingface_part(parts, number, weight, shape, layout)
        if name.endswith(".eh_proj.weight"):
            again = repeated_parts(layers + predicted_layer(name))
            found |= {copy: weights[first] for first, copy in again if first in weights}
    return found, unknown


def _huggingface_part(parts: HuggingfaceParts, number: int, weight: Weight, shape: Shape, layout: Layout) -> Weight:
    """The Hugging Face tensor with this number that a Megatron-Core weight is split into."""
    if parts.same:
        return weight
    if parts.relation == "stacked" and not parts.turned:
        return rows_of(weight, number * shape[0], (number + 1) * shape[0])
    if parts.relation == "heads" and not parts.turned:
        kinds = layout._replace(qkv_contiguous=True)
        start = sum(one[0] for one in parts.parted_shapes(weight.shape, layout)[:number])
        return rows_of(reorder_rows(weight, lambda array: by_kind(array, kinds)), start, start + shape[0])
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
