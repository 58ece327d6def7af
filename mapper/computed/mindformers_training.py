"""What a run of MindSpore Transformers takes in a step, by the code of its own trainer."""

from __future__ import annotations

from ...mappings.keys_compiled import DATA_LENGTH, LOADER, RESOLVED_GLOBAL_BATCH, RUN_LENGTH
from ...schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .values import Values


def samples(config: Values, dialect: str) -> int:
    """1.6–2.1 `trainer/base_trainer.py:BaseTrainer.training_process`: what every update takes, to the run's end."""
    if dialect == "dynamic":
        from . import dynamic_objective

        return dynamic_objective.samples(config)
    return int(config.get(RUN_LENGTH)) * int(config.get(RESOLVED_GLOBAL_BATCH))


def tokens_per_step(config: Values, dialect: str) -> int:
    """1.6–2.1 `trainer/base_trainer.py:BaseTrainer._check_global_batch_size_for_auto_parallel`, times the sequence.

    The dynamic graph takes sequences as they come (`pynative/base_models/gpt/gpt_model.py:GPTModel.language_model`).
    """
    given = config.get(f"{LOADER['dynamic']}.{DATA_LENGTH}") if dialect == "dynamic" else None
    return int(config.get(RESOLVED_GLOBAL_BATCH)) * int(config.seq_length if given is None else given)
