"""Which sequences of a file a split gives to training.

`--split 99,1,0` is three weights for training, validation and test; each takes a stretch of the sequences, in order.
Without weights of its own a file is cut this way in both frameworks.

Source: Megatron-Core 0.12 `core/datasets/blended_megatron_dataset_config.py:parse_and_normalize_split`,
`convert_split_vector_to_split_matrix`, `blended_megatron_dataset_builder.py:_build_megatron_dataset_splits`; the same
up to 0.19 and in MindFormers 1.6 to 2.1.
"""

from __future__ import annotations

from ...mapper.data_words import split_weights
from ...schemas.fast_records import NamedTuple
from .messages_compiled import say
from .problems import RefusedError


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
    """Which sequences each part of a split holds. No split: the file is training's own, all of it."""
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
