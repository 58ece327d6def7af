"""MindSpore Transformers' dynamic graph: its own `Trainer` with the model, optimizer and schedule that the YAML names.

The trainer builds the class of the section `model` by that class's converter
(`pynative/trainer/utils.py:_build_model`), groups the parameters of its AdamW and makes its schedule (1.9, 2.0, 2.1).
Nothing of it is imitated.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from . import inert_hyper_parallel
from .mindformers_backward import BackwardModel
from .mindformers_dynamic_model import DynamicModel
from .mindformers_model import Followed, MindFormersBackend, begin
from .patches import Patches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .blueprint import Blueprint

_FIRST_PASS = 10**6
"""Samples of the data set that the trainer is told of; it is never read."""


class DynamicBackend(MindFormersBackend):
    """The dynamic graph on MindSpore's CPU target."""

    def __init__(self) -> None:
        ms = begin()
        inert_hyper_parallel.install()
        import mindformers

        from .mindspore_backward import LISTED as BACKWARD
        from .mindspore_dynamic_stand_ins import LISTED, stand_ins
        from .mindspore_stand_ins import LISTED as SHARED

        self._listed = {**inert_hyper_parallel.LISTED, **SHARED, **BACKWARD, **LISTED}
        self._versions = {"mindspore": ms.__version__, "mindformers": mindformers.__version__}
        self._block = contextlib.ExitStack()
        self.used = self._block.enter_context(stand_ins())
        self._wide = Patches()

    def build(self, blueprint: Blueprint, seed: int) -> DynamicModel:
        """The model of the trainer that the file's own sections make."""
        from mindformers.pynative.trainer.trainer import Trainer

        if blueprint.as_written:
            raise NotImplementedError("the dynamic graph is run in float32 alone")
        self.used.clear()
        self.used.update(inert_hyper_parallel.used())
        with Followed(blueprint), contextlib.redirect_stdout(None):
            trainer = Trainer(config=_sections(blueprint.model["sections"], seed), train_dataset=_Unread())
        kind = BackwardModel if hasattr(trainer, "_forward_backward") else DynamicModel
        return kind(trainer, blueprint, self.used)


class _Unread:
    """A data set of which the trainer asks the length alone."""

    def get_dataset_size(self) -> int:
        return _FIRST_PASS


def _sections(written: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """What the trainer is given: one device, one micro batch a step, and nothing that is saved."""
    training = {**written.get("training", {}), "local_batch_size": 1, "global_batch_size": 1, "seed": seed}
    kept = {name: dict(written[name]) for name in ("optimizer", "lr_scheduler", "train_dataset", "model")}
    return {**kept, "training": training, "checkpoint": {"enable_save": False}}
