"""The samples of a MindSpore Transformers run, by its own loader with what its trainer passes to it.

`dataset/causal_language_model_dataset.py` (static graph) and `pynative/trainer/utils.py:_build_dataset` (dynamic) make
batches of what `BlendedMegatronDatasetDataLoader` gives; the static graph's trainer cuts them to the run's length
(`trainer/base_trainer.py:_process_megatron_dataset`, 1.6 to 2.1).
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# The frameworks carry no types.

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..worker import inputs
from ..worker.inputs import Tokens
from ..worker.patches import Patches

if TYPE_CHECKING:
    from ..worker.blueprint import SamplePlan


LISTED = {inputs.INDEX_FUNCTIONS: inputs.INDEX_FUNCTIONS_LINE}
_COLUMNS = ("input_ids", "labels", "loss_mask")


def draw_samples(plan: SamplePlan, folder: str) -> tuple[Tokens, int | None, set[str]]:
    """The first samples in the order in which they are trained on, the steps until they begin anew, and what stood in.

    The dynamic graph's run has a length of its own, which need not be that of its data.
    """
    stood_in = inputs.provide_index_functions("mindformers.dataset.blended_datasets.helpers")
    import mindspore.dataset
    from mindformers.dataset.dataloader import blended_megatron_dataloader as loading

    given = plan.settings
    words = [os.path.join(folder, word) if word in plan.corpora else word for word in given["words"]]
    config = {**given["config"], "train_data_path" if given["own"] else "data_path": words}
    mindspore.dataset.config.set_seed(given["seed"])
    with Patches() as patches, contextlib.redirect_stdout(None):
        # It compiles inside the installed package.
        patches.put(loading, "compile_helpers", lambda: None)
        rows: Any = loading.BlendedMegatronDatasetDataLoader(
            datasets_type="GPTDataset",
            sizes=[plan.samples, 0, 0],
            config=config,
            column_names=given["columns"],
            shuffle=given["shuffle"],
        )
    batches = rows.batch(plan.batch, drop_remainder=given["drop_remainder"])
    if given["cut"]:
        batches = batches.take(plan.samples // plan.batch)
    found: list[list[np.ndarray]] = [[] for _name in _COLUMNS]
    steps = batches.create_dict_iterator(num_epochs=1, output_numpy=True)
    batch: Any
    for _step, batch in zip(range(plan.drawn // plan.batch), steps, strict=False):
        for column, name in zip(found, _COLUMNS, strict=True):
            column.append(batch[name])
    passes = batches.get_dataset_size() if given["cut"] else None
    return Tokens(*map(np.concatenate, found)), passes, {inputs.INDEX_FUNCTIONS} if stood_in else set()
