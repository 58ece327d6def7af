"""Several datasets in one: the list of weights and prefixes, how much is asked of each, and in which turn they come.

A list without weights is mixed by the datasets' own sizes. Each sample comes from the dataset that lags furthest
behind its share.

Where the frameworks differ: of a dataset with weight w, Megatron asks ceil(ceil(N·w)·1.005) samples and draws
Σ ceil(N·w) in all; MindFormers asks ceil(N·w·1.005) and draws the sum of that. One prefix with the weight "1" is a
weighted list in both, one without is asked for exactly N. More samples can mean one more epoch, and then every
sample changes its place.

Sources: Megatron-Core 0.12 to 0.19 `core/datasets/utils.py:normalize`,
`blended_megatron_dataset_builder.py:_get_size_per_split_per_dataset`, `_build_blended_dataset_splits`,
`helpers.cpp:build_blending_indices`; MindFormers 1.6 to 2.1 `dataset/blended_datasets`, the same files.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from ...mapper import data_words
from ...schemas.fast_records import NamedTuple
from .messages_compiled import say
from .problems import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...mapper.data_words import Blend

Rounding = Literal["megatron", "mindformers"]


def blend_of(words: Sequence[object]) -> Blend:
    """What a list of data paths says, where a run can go by it."""
    if not words:
        raise RefusedError(say.the_list_of_data_paths())
    listed = " ".join(map(str, words))
    try:
        blend = data_words.blend_of(words)
    except data_words.SomeWeightsError:
        raise RefusedError(say.some_prefixes_have_a_weight(listed=listed)) from None
    if blend.weights is not None and (min(blend.weights) <= 0 or not math.isfinite(sum(blend.weights))):
        raise RefusedError(say.every_weight_must_be_above(listed=listed))
    return blend


def normalised(weights: Sequence[float]) -> list[float]:
    """Weights that add up to 1, as NumPy adds them."""
    import numpy as np

    array = np.array(weights, dtype=np.float64)
    return (array / np.sum(array)).tolist()


class Asked(NamedTuple):
    """What a weighted blend asks of its datasets."""

    samples: tuple[int, ...]
    """Of each dataset."""
    size: int
    """Of the blend."""


def asked(weights: Sequence[float], samples: int, rounding: Rounding, surplus: float = 0.005) -> Asked:
    """How many samples a blend of normalised `weights` asks of each dataset, for `samples` in all."""
    if rounding == "mindformers":
        each = tuple(math.ceil(samples * weight * 1.005) for weight in weights)
        return Asked(each, sum(each))
    due = [math.ceil(samples * weight) for weight in weights]
    return Asked(tuple(math.ceil(count * (1 + surplus)) for count in due), sum(due))


def turns(weights: Sequence[float], count: int) -> tuple[Any, Any]:
    """The first `count` samples of a blend: from which dataset, and the how manieth of it."""
    import numpy as np

    shares = np.array(weights, dtype=np.float64)
    taken = np.zeros(len(shares), dtype=np.int64)
    dataset = np.zeros(count, dtype=np.int64)
    sample = np.zeros(count, dtype=np.int64)
    if len(shares) == 1:
        return dataset, np.arange(count, dtype=np.int64)
    for turn in range(count):
        behind = int(np.argmax(shares * max(float(turn), 1.0) - taken))
        dataset[turn] = behind
        sample[turn] = taken[behind]
        taken[behind] += 1
    return dataset, sample
