"""What MindSpore Transformers derives from a static-graph configuration, in the order in which it does so.

Source: the path `Trainer.__init__` → `BaseTrainer.training_process` → `create_network`, 1.6-2.1.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from .resolution import Trainer, transformer_config
from .shape import is_mapping

if TYPE_CHECKING:
    from ..config import ReadOptions
    from .reading import Reading


def derive(reading: Reading, options: ReadOptions, *, legacy: bool) -> None:
    """Fill `reading.resolved`."""
    trainer = Trainer(reading, options, legacy=legacy)
    trainer.resolve("trainer")
    if legacy:
        from .legacy import legacy_model

        legacy_model(reading)
    else:
        _model(reading, trainer)
    from .value_types import check_sections

    check_sections(reading)
    reading.resolve("resolved.run_mode", reading.get("run_mode"), "run_mode")


def _model(reading: Reading, trainer: Trainer) -> None:
    from .conversion import convert
    from .model_class import model_class
    from .value_types import checked_fields

    if not is_mapping(reading.get("model.model_config")) and not reading.get("pretrained_model_dir"):
        return
    model = model_class(reading, trainer.under("attributes."))
    if model is None:
        from .legacy import undecided_network

        kind = reading.get("model.model_config.model_type")
        text, path = (
            (str(kind), "model.model_config.model_type") if kind else ("model.model_config", "model.model_config")
        )
        undecided_network(reading, text, path)
        return
    reading.resolve("resolved.model.class", model.facts["class"], "model.model_config.model_type")
    fields = convert(reading, model, trainer.under("handed."))
    transformer_config(reading, checked_fields(reading, fields), mla=model.mla)
