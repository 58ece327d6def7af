"""Several datasets in one, and the part of each for training: weights, requests, turns and splits.

A list without weights is mixed by the datasets' own sizes. Each sample comes from the dataset that lags furthest
behind its share.

Where the frameworks differ: of a dataset with weight w, Megatron asks ceil(ceil(N·w)·1.005) samples and draws
Σ ceil(N·w) in all; MindFormers asks ceil(N·w·1.005) and draws the sum of that. One prefix with the weight "1" is a
weighted list in both, one without is asked for exactly N. More samples can mean one more epoch, and then every
sample changes its place.

Sources: Megatron-Core 0.12 to 0.19 `core/datasets/utils.py:normalize`,
`blended_megatron_dataset_builder.py:_get_size_per_split_per_dataset`, `_build_blended_dataset_splits`,
`helpers.cpp:build_blending_indices`; MindFormers 1.6 to 2.1 `dataset/blended_datasets`, the same files.

`--split 99,1,0` is three weights for training, validation and test; each takes a stretch of the sequences, in order.
Without weights of its own a file is cut this way in both frameworks.

Source: Megatron-Core 0.12 `core/datasets/blended_megatron_dataset_config.py:parse_and_normalize_split`,
`convert_split_vector_to_split_matrix`, `blended_megatron_dataset_builder.py:_build_megatron_dataset_splits`; the same
up to 0.19 and in MindFormers 1.6 to 2.1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from ...mapper import data_words
from ...mapper.data_words import split_weights
from ...schemas.fast_records import NamedTuple
from .messages_compiled import say
from .problems import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...mapper.data_words import Blend

Rounding = Literal["megatron", "mindformers"]


def blend_of(words: Sequence[object]) -> Blend:
    """The blend that a list of data paths names; RefusedError if no run can go by it."""
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


def normalize(weights: Sequence[float]) -> list[float]:
    """Weights that add up to 1, as NumPy adds them."""
    import numpy as np

    array = np.array(weights, dtype=np.float64)
    return (array / np.sum(array)).tolist()


class BlendRequest(NamedTuple):
    """The samples that a weighted blend asks of its datasets."""

    samples: tuple[int, ...]
    """Of each dataset."""
    size: int
    """Of the blend."""


def request_of(weights: Sequence[float], samples: int, rounding: Rounding, surplus: float = 0.005) -> BlendRequest:
    """The samples that a blend of normalized `weights` asks of each dataset, for `samples` in all."""
    if rounding == "mindformers":
        each = tuple(math.ceil(samples * weight * 1.005) for weight in weights)
        return BlendRequest(each, sum(each))
    due = [math.ceil(samples * weight) for weight in weights]
    return BlendRequest(tuple(math.ceil(count * (1 + surplus)) for count in due), sum(due))


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


def shares(split: str) -> tuple[float, float, float]:
    """The shares of training, validation and test that a split asks for."""
    try:
        weights = split_weights(split)
    except ValueError:
        raise RefusedError(say.the_split_is_no_list(split=split)) from None
    weights += [0.0] * (3 - len(weights))
    if len(weights) > 3:
        raise RefusedError(say.the_split_has_more_than(split=split))
    total = weights[0] + weights[1] + weights[2]
    if not total:
        raise RefusedError(say.the_split_adds_up_to(split=split))
    return weights[0] / total, weights[1] / total, weights[2] / total


class Ranges(NamedTuple):
    """The sequences of each part, as first and last-but-one; None where the part has no share."""

    training: tuple[int, int]
    validation: tuple[int, int] | None
    test: tuple[int, int] | None


def ranges(split: str | None, sequences: int) -> Ranges:
    """The sequences of each part of a split. No split: the file is training's own, all of it."""
    if split is None:
        return Ranges((0, sequences), None, None)
    found: list[tuple[int, int] | None] = []
    edge = 0.0
    for share in shares(split):
        following = edge + share
        places = round(edge * float(sequences)), round(following * float(sequences))
        found.append(places if following > edge else None)
        edge = following
    training, validation, test = found
    if training is None:
        raise RefusedError(say.the_split_leaves_nothing_for(split=split))
    return Ranges(training, validation, test)
