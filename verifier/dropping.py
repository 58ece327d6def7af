"""Which elements of a tensor a dropout keeps, by their place alone: the same in every framework.

Random numbers never agree. What is dropped, where, and how what is kept is scaled up can: both frameworks' own calls of
dropout are given this in place of random numbers, for one pass, with the probability that the framework gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..mapper.recipe.reading import recipe_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Config

FIELDS: tuple[FieldName, ...] = ("model.hidden_dropout", "attention.dropout")
NAME = "dropout"
_MIXERS = (0x85EBCA6B, 0xC2B2AE35)
"""Of MurmurHash3's last step."""


def drops(*configs: Config) -> bool:
    """Whether one of the runs drops anything."""
    found = (recipe_of(config).value(field) for config in configs for field in FIELDS)
    return any(isinstance(value, (int, float)) and value > 0 for value in found)


def kept(shape: Sequence[int], probability: float) -> Any:
    """What is left of each element: 0, or what makes up for those that are dropped."""
    if probability >= 1:
        return np.zeros(shape, np.float32)
    mixed = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64)
    for mixer in _MIXERS:
        mixed ^= mixed >> np.uint64(16)
        mixed = (mixed * np.uint64(mixer)) & np.uint64(0xFFFFFFFF)
    share = (mixed ^ (mixed >> np.uint64(16))) / 2.0**32
    factors: Any = ((share >= probability) / (1 - probability)).astype(np.float32)
    return factors.reshape(tuple(shape))


class Dropping:
    """While its block runs, dropout drops by place; outside, it drops nothing."""

    def __init__(self) -> None:
        self.on = False

    def __enter__(self) -> None:
        self.on = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.on = False
