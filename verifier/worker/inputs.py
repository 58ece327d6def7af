"""The inputs of both models, drawn by seed: weights, tokens, probe gradients and small corpora.

Every array depends on the seed and on its own Megatron-Core name alone, so that two processes that never speak to
each other draw the same numbers. Norms and biases are drawn too: an untouched 1 or 0 would hide a mistake.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import struct
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .blueprint import InputPlan, SamplePlan


Array = Any

_EMBEDDING_STD = 0.05
_MATRIX_GAIN = 0.9
_BIAS_STD = 0.1
_NORM_STD = 0.2
_MOST_EXPERT_BIAS = 0.15


class Tokens(NamedTuple):
    """One batch: tokens, the labels to predict, and 1 where a label counts in the loss; all [batch, sequence]."""

    tokens: Array
    labels: Array
    counted: Array
    positions: Array = None
    """The position of each token, where the data set says it."""
    hidden: Array = None
    """[batch, 1, sequence, sequence]: what a position does not see, where the data set says it."""


def draw_weight(name: str, shape: Sequence[int], seed: int, *, rounded: bool = False) -> Array:
    """The weight of a Megatron-Core parameter; `rounded` puts it on the bfloat16 grid, as a run loads it."""
    source = _generator(name, seed)
    if name.endswith("expert_bias"):
        # Not below zero: MindSpore Transformers hides experts outside the chosen groups with a score of 0, to which a
        # negative sum of score and bias would lose. No trained bias is near that.
        drawn = _MOST_EXPERT_BIAS * source.uniform(size=shape)
    elif name.endswith("bias"):
        drawn = _BIAS_STD * source.standard_normal(shape)
    elif len(shape) < 2:
        drawn = 1 + _NORM_STD * source.standard_normal(shape)
    elif "embedding" in name:
        drawn = _EMBEDDING_STD * source.standard_normal(shape)
    else:
        drawn = _MATRIX_GAIN / np.sqrt(shape[-1]) * source.standard_normal(shape)
    single = drawn.astype(np.float32)
    return to_bfloat16(single) if rounded else single


_WEIGHTS = "run-0/weight/"
"""The beginning of a weight's name in a record; another file has the names alone."""


def stored_weights(path: str, shapes: Mapping[str, Sequence[int]], *, rounded: bool) -> dict[str, Array]:
    """A model's weights from an `.npz` by Megatron-Core name; ValueError if one is missing or has another shape."""
    with np.load(path, allow_pickle=False) as stored:
        names = {name.removeprefix(_WEIGHTS): name for name in stored.files}
        missing = [name for name in shapes if name not in names]
        if missing:
            raise ValueError(f"{path} has no weight {missing[0]} ({len(missing)} of {len(shapes)} are missing)")
        arrays = {name: stored[names[name]] for name in shapes}
    for name, array in arrays.items():
        if array.shape != tuple(shapes[name]) or array.dtype.kind != "f":
            raise ValueError(f"{path}: {name} is {array.dtype} {array.shape}, the model needs {tuple(shapes[name])}")
    single = {name: array.astype(np.float32) for name, array in arrays.items()}
    return {name: to_bfloat16(array) if rounded else array for name, array in single.items()}


def draw_gradient(name: str, shape: Sequence[int], seed: int, step: int) -> Array:
    """Random gradient for the optimizer test: sizes 1e-7 to 1, both signs, never near zero."""
    source = _generator(f"{name}/{step}", seed)
    sizes = 10.0 ** source.uniform(-7, 0, shape)
    signs = np.where(source.uniform(size=shape) < 0.5, -1.0, 1.0)
    return (sizes * signs).astype(np.float32)


def draw_tokens(plan: InputPlan) -> Tokens:
    """Random batch without the tokens `avoid`, and with each of `include` at a few places."""
    source = np.random.default_rng(plan.seed)
    allowed = np.setdiff1d(np.arange(plan.vocabulary), [*plan.ends, *plan.avoid])
    found = source.choice(allowed, (plan.batch, plan.sequence + 1)).astype(np.int32)
    for at, masked in enumerate(plan.include):
        found[:, 2 + at] = masked
        found[-1, plan.sequence // 2 + at] = masked
    for at, end in enumerate(plan.ends):
        # Documents of unequal length; the last one goes on behind the sample.
        found[:, [plan.sequence // 4 + at, plan.sequence // 4 + plan.sequence // 3 + at]] = end
    counted = np.ones((plan.batch, plan.sequence), np.float32)
    counted[:, plan.sequence - plan.uncounted :] = 0
    return Tokens(np.ascontiguousarray(found[:, :-1]), np.ascontiguousarray(found[:, 1:]), counted)


def thinning_tokens(plan: InputPlan) -> Tokens:
    """Batch in which each sample counts fewer tokens than the one before: every split weighs them differently."""
    found = draw_tokens(plan)
    left = np.linspace(plan.sequence, plan.sequence // 2, plan.batch).astype(int)
    return found._replace(counted=found.counted * (np.arange(plan.sequence) < left[:, None]).astype(np.float32))


def split_batch(batch: Tokens, size: int) -> list[Tokens]:
    """A batch as micro batches of so many samples."""
    starts = range(0, len(batch.tokens), size)
    return [Tokens(*(None if array is None else array[at : at + size] for array in batch)) for at in starts]


def arrange_samples(batch: Tokens, laid_out: Callable[[Array], tuple[Array, Array, Array]]) -> Tokens:
    """Batch with masks, counted tokens and positions from `laid_out`, applied to each sample."""
    masks, counted, positions = zip(*map(laid_out, batch.tokens), strict=True)
    return batch._replace(
        counted=(batch.counted * np.stack(counted)).astype(np.float32),
        positions=np.stack(positions).astype(np.int32),
        hidden=None if masks[0] is None else np.stack(masks).astype(np.bool_),
    )


def to_bfloat16(array: Array) -> Array:
    """The nearest bfloat16 values (ties to even), as float32."""
    single: Array = np.ascontiguousarray(array, dtype=np.float32)
    bits: Array = single.view(np.uint32)
    rounded: Array = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)


def _generator(name: str, seed: int) -> np.random.Generator:
    digest = hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


MEAN_DOCUMENT = 12
"""Tokens of a document, on an average."""
_SPECIAL_SHARE = 0.06
"""Of the tokens that stand for something, each."""
_INT32 = 4
"""The code of the tokens' type: `core/datasets/indexed_dataset.py:DType`."""


def write_corpora(plan: SamplePlan, folder: str) -> None:
    """Write a `.bin` and an `.idx` file for each corpus, with documents of random length."""
    for name, number in plan.corpora.items():
        for ending, data in zip(("bin", "idx"), corpus_bytes(plan, number), strict=True):
            with open(os.path.join(folder, f"{name}.{ending}"), "xb") as stream:
                stream.write(data)


def corpus_bytes(plan: SamplePlan, number: int) -> tuple[bytes, bytes]:
    """The content of a corpus' `.bin` and `.idx`."""
    source: Any = np.random.default_rng(number)
    # Two corpora are not alike in size, either: without weights they are mixed by it.
    lengths = source.integers(4, 2 * MEAN_DOCUMENT - 3, size=plan.documents + number % (plan.documents // 4))
    tokens = source.integers(1, plan.vocabulary, size=int(lengths.sum())).astype("<i4")
    chosen = source.uniform(size=tokens.size)
    for place, token in enumerate(plan.special):
        tokens[(chosen >= place * _SPECIAL_SHARE) & (chosen < (place + 1) * _SPECIAL_SHARE)] = token
    ends = np.cumsum(lengths)
    tokens[ends - 1] = plan.special[0]
    return tokens.tobytes(), _index_bytes(tokens, lengths, ends)


def _index_bytes(tokens: Any, lengths: Any, ends: Any) -> bytes:
    """Content of an `.idx` file in the format of Megatron's `indexed_dataset.py`."""
    return b"".join((
        b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, _INT32, lengths.size, lengths.size + 1),
        lengths.astype("<i4").tobytes(),
        ((ends - lengths) * tokens.itemsize).astype("<i8").tobytes(),
        np.arange(lengths.size + 1, dtype="<i8").tobytes(),
    ))  # fmt: skip


INDEX_FUNCTIONS = "index-functions"
INDEX_FUNCTIONS_LINE = "Python in place of the data sets' compiled index functions"


def provide_index_functions(name: str) -> bool:
    """Make the module `name` of index builders importable; True if Python stand-ins replace the compiled ones."""
    try:
        found = importlib.import_module(name)
    except ImportError:
        found = ModuleType(name)
        found.build_sample_idx = build_sample_index  # type: ignore[attr-defined]
        found.build_sample_idx_int32 = build_sample_index  # type: ignore[attr-defined]
        found.build_sample_idx_int64 = build_sample_index  # type: ignore[attr-defined]
        found.build_blending_indices = build_blending_indices  # type: ignore[attr-defined]
        sys.modules[name] = found
        above, _dot, last = name.rpartition(".")
        setattr(importlib.import_module(above), last, found)
    return getattr(found, "build_blending_indices", None) is build_blending_indices


def build_sample_index(
    sizes: Array,
    documents: Array,
    length: int,
    epochs: int,
    tokens_per_epoch: int,
    drop_last: bool = True,
    extra: int = 1,
) -> Array:
    """Stand-in of `build_sample_idx`: document number and offset at which each sample begins."""
    tokens = epochs * tokens_per_epoch - extra
    count = tokens // length if drop_last else int(np.ceil(np.float32(tokens) / length))
    sizes_in_line = np.asarray(sizes)[documents].astype(np.int64)
    ends = np.cumsum(sizes_in_line)
    begins = np.arange(count + 1, dtype=np.int64) * length
    # With an extra token a sample begins on its first token, without one behind the last token before it.
    at = np.searchsorted(ends, begins, side="right" if extra else "left")
    at = np.minimum(at, len(ends) - 1)
    offsets = np.minimum(begins - (ends - sizes_in_line)[at], sizes_in_line[at] - extra)
    at[0] = offsets[0] = 0
    return np.stack([at, offsets], axis=1).astype(np.int32)


def build_blending_indices(
    dataset: Array,
    sample: Array,
    weights: Sequence[float],
    count: int,
    size: int,
    verbose: bool,
) -> None:
    """Stand-in of `build_blending_indices`: each sample comes from the data set furthest below its share."""
    del verbose
    shares = np.asarray(weights, dtype=np.float64)
    taken = np.zeros(count, dtype=np.int64)
    for turn in range(size):
        behind = int(np.argmax(shares * max(float(turn), 1.0) - taken))
        dataset[turn], sample[turn] = behind, taken[behind]
        taken[behind] += 1
