"""Data paths and splits, as the data sets of both frameworks read them.

A list that alternates weights and prefixes is weighted; a list of prefixes alone is not. A split is the numbers that
stand in it, whatever is between them.

Sources: Megatron-Core 0.12 to 0.19 `core/datasets/utils.py:get_blend_from_list`,
`core/datasets/blended_megatron_dataset_config.py:parse_and_normalize_split`; MindFormers 1.6 to 2.1
`dataset/blended_datasets`, the same files.
"""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.plain_values import number_in

if TYPE_CHECKING:
    from collections.abc import Sequence


class Blend(NamedTuple):
    """Prefixes, and their weights where the list has any."""

    prefixes: tuple[str, ...]
    weights: tuple[float, ...] | None


class SomeWeightsError(ValueError):
    """Some of the prefixes have a weight and others none, which both frameworks refuse."""


def blend_of(words: Sequence[object]) -> Blend:
    """The blend that a list of data paths describes."""
    texts = [str(word).strip() for word in words]
    weights = [] if len(texts) % 2 else [number_in(text) for text in texts[::2]]
    known = tuple(weight for weight in weights if weight is not None)
    if not known:
        return Blend(tuple(texts), None)
    if len(known) < len(weights):
        raise SomeWeightsError
    return Blend(tuple(texts[1::2]), known)


def split_weights(split: str) -> list[float]:
    """The numbers of a split; ValueError where a part of it only looks like one."""
    import re

    return [float(word) for word in re.findall(r"[.0-9]+", split)]
