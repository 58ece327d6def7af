"""The samples of a Megatron-LM run, by Megatron-Core's own data sets as `pretrain_gpt.py` builds them.

Its arguments become `GPTDatasetConfig` as in `core_gpt_dataset_config_from_args` (0.12 to main); the sampler is
Megatron-LM's (`data_samplers.py`), which no wheel up to 0.16 has, and stands in below.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false
# The frameworks carry no types.

from __future__ import annotations

import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from ..worker import inputs
from ..worker.inputs import Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..worker.blueprint import SamplePlan


SAMPLER = "sampler"
LISTED = {
    inputs.INDEX_FUNCTIONS: inputs.INDEX_FUNCTIONS_LINE,
    SAMPLER: "the order in which one rank takes samples, as Megatron-LM's sampler says it, which is outside "
    "Megatron-Core",
}


class _Tokenizer:
    """A tokenizer for data sets whose tokens are made already."""

    unique_identifiers: ClassVar[dict[str, str]] = {}
    special_tokens_dict: ClassVar[dict[str, int]] = {}

    def __init__(self, end: int, vocabulary: int) -> None:
        self.eod = end
        self.vocab_size = vocabulary


def draw_samples(plan: SamplePlan, folder: str) -> tuple[Tokens, int, set[str]]:
    """The first samples in the order in which one rank takes them, the run's steps, and what stood in."""
    stood_in = inputs.provide_index_functions("megatron.core.datasets.helpers_cpp")
    from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
    from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig, MockGPTDataset
    from megatron.core.datasets.utils import get_blend_from_list

    given = plan.settings
    blend = get_blend_from_list(
        [os.path.join(folder, word) if word in plan.corpora else word for word in given["words"]]
    )
    told: dict[str, Any] = {
        **given["arguments"],
        "blend": None if given["own"] else blend,
        "blend_per_split": [blend, None, None] if given["own"] else None,
        "tokenizer": _Tokenizer(given["end"], plan.vocabulary),
    }
    if given["mock"]:
        told |= {"blend": None, "blend_per_split": None}
    known = {one.name for one in fields(GPTDatasetConfig)}
    config = GPTDatasetConfig(**{name: value for name, value in told.items() if name in known})
    # Each part of the split draws by itself, and only the first is trained on.
    kind = MockGPTDataset if given["mock"] else GPTDataset
    dataset: Any = BlendedMegatronDatasetBuilder(kind, [plan.samples, 0, 0], lambda: True, config).build()[0]
    order = sampling_order(len(dataset), given["order"])
    each = [dataset[at] for at, _count in zip(order, range(plan.drawn), strict=False)]
    columns = (np.stack([np.asarray(one[name]) for one in each]) for name in ("tokens", "labels", "loss_mask"))
    used = {SAMPLER, *([inputs.INDEX_FUNCTIONS] if stood_in else ())}
    return Tokens(*columns), plan.samples // plan.batch, used


def sampling_order(total: int, order: str) -> Sequence[int]:
    """`MegatronPretrainingSampler`, or `MegatronPretrainingRandomSampler` in its first epoch, of one rank."""
    if order != "cyclic":
        return range(total)
    return torch.randperm(total, generator=torch.Generator().manual_seed(0)).tolist()
