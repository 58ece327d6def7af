"""What both models are given: weights, tokens and probe gradients, drawn once.

Every array depends on the seed and on its own Megatron-Core name alone, so that two processes that never speak to
each other draw the same numbers. Norms and biases are drawn too: an untouched 1 or 0 would hide a mistake.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ..schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .blueprint import InputPlan

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


def weight(name: str, shape: Sequence[int], seed: int, *, rounded: bool = False) -> Array:
    """The weight of a Megatron-Core parameter; `rounded` puts it on the bfloat16 grid, as a run loads it."""
    source = _source(name, seed)
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


def gradient(name: str, shape: Sequence[int], seed: int, step: int) -> Array:
    """A gradient for the optimizer probe: sizes from 1e-7 to 1, signs that change, never near zero."""
    source = _source(f"{name}/{step}", seed)
    sizes = 10.0 ** source.uniform(-7, 0, shape)
    signs = np.where(source.uniform(size=shape) < 0.5, -1.0, 1.0)
    return (sizes * signs).astype(np.float32)


def tokens(plan: InputPlan) -> Tokens:
    """A batch without the tokens `avoid`; each of `include` stands at a few places of it."""
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


def thinning(plan: InputPlan) -> Tokens:
    """Samples of which each counts fewer tokens than the one before, down to half: every cut weighs them otherwise."""
    found = tokens(plan)
    left = np.linspace(plan.sequence, plan.sequence // 2, plan.batch).astype(int)
    return found._replace(counted=found.counted * (np.arange(plan.sequence) < left[:, None]).astype(np.float32))


def cut(batch: Tokens, size: int) -> list[Tokens]:
    """A batch as micro batches of so many samples."""
    starts = range(0, len(batch.tokens), size)
    return [Tokens(*(None if array is None else array[at : at + size] for array in batch)) for at in starts]


def arranged(batch: Tokens, laid_out: Callable[[Array], tuple[Array, Array, Array]]) -> Tokens:
    """The batch with the mask, the weights and the positions that a data set gives each of its samples."""
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


def _source(name: str, seed: int) -> np.random.Generator:
    digest = hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
