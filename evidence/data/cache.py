"""Indices that an earlier run left beside the data: they are taken again even where the data have changed since.

Both frameworks name a cached index by the settings, not by the data, so that new data at an old path get old indices.

Sources: Megatron-Core 0.12 `core/datasets/gpt_dataset.py:GPTDataset._build_document_sample_shuffle_indices`,
`megatron_dataset.py` (the description); MindFormers 1.9.0, the same files.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ..arrays import read_array
from ..bounded_json import bytes_of, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .gpt_index import GptIndex
    from .plan import Plan

_MOST_BYTES = 1 << 24
_DESCRIPTION = "-GPTDataset-train-description.txt"


class Cached(NamedTuple):
    """A cached index that a plan would take, and whether it is the one its data give."""

    path: str
    fits: bool


def cached_indices(plan: Plan, prefix: str, request: int | None, index: GptIndex) -> Iterator[Cached]:
    """The cached indices that the settings of `plan` would find for a prefix."""
    folder = plan.cache or os.path.join(prefix, "cache", "GPTDataset_indices")
    if not os.path.isdir(folder):
        return
    for name in sorted(os.listdir(folder)):
        if not name.endswith(_DESCRIPTION):
            continue
        path = os.path.join(folder, name)
        described = _described(path)
        if (
            described.get("dataset_path") == prefix
            and described.get("num_samples") == request
            and described.get("random_seed") == plan.seed
            and described.get("sequence_length") == plan.sample_length
            and described.get("split") == plan.split
        ):
            yield Cached(path, _fits(path[: -len("description.txt")], index))


def _described(path: str) -> dict[str, Any]:
    try:
        found = parse_json(bytes_of(path, _MOST_BYTES), 2)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _fits(stem: str, index: GptIndex) -> bool:
    import numpy as np

    try:
        documents = read_array(f"{stem}document_index.npy")
        order = read_array(f"{stem}shuffle_index.npy")
        cuts = read_array(f"{stem}sample_index.npy")
    except UnreadableError:
        return False
    if not np.array_equal(documents, index.documents) or not np.array_equal(order, index.order):
        return False
    # The cuts follow from the lengths, which may have changed while their number has not.
    some = np.unique(np.linspace(0, len(index), num=min(len(index) + 1, 4096)).astype(np.int64))
    return cuts.shape == (len(index) + 1, 2) and all(tuple(map(int, cuts[at])) == index.place(int(at)) for at in some)
