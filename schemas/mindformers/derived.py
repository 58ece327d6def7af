"""What MindSpore Transformers derives from a static-graph configuration, in the order in which it does so.

Source: the path `Trainer.__init__` → `BaseTrainer.training_process` → `create_network`, 1.6-2.1.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from .parallelism import parallelism
from .reading import Sourced
from .shape import is_mapping
from .training import training

if TYPE_CHECKING:
    from ..config import ReadOptions
    from .parallelism import Parallelism
    from .reading import Reading

_LOADER = "train_dataset.data_loader"
_MEGATRON_DATA = "BlendedMegatronDatasetDataLoader"


def derive(reading: Reading, options: ReadOptions, *, legacy: bool) -> None:
    """Fill `reading.resolved`."""
    parallel = parallelism(reading, options)
    training(reading, parallel, options, legacy=legacy)
    if legacy:
        from .legacy import legacy_model

        legacy_model(reading)
    else:
        _model(reading, parallel)
    from .value_types import check_sections

    check_sections(reading)
    reading.resolve("resolved.run_mode", reading.get("run_mode"), "run_mode")


def _model(reading: Reading, parallel: Parallelism) -> None:
    from .conversion import convert
    from .model_class import model_class
    from .resolution import transformer_config
    from .value_types import checked_fields

    if not is_mapping(reading.get("model.model_config")) and not reading.get("pretrained_model_dir"):
        return
    model = model_class(reading, _handed_over(reading, parallel))
    if model is None:
        from .legacy import undecided_network

        kind = reading.get("model.model_config.model_type")
        text, path = (
            (str(kind), "model.model_config.model_type") if kind else ("model.model_config", "model.model_config")
        )
        undecided_network(reading, text, path)
        return
    reading.resolve("resolved.model.class", model.facts["class"], "model.model_config.model_type")
    handed = parallel.handed_over
    if reading.version == "1.6":
        handed = {key: one for key, one in handed.items() if not key.startswith("recompute.")}
        recompute = parallel.handed_over[_RECOMPUTE]
        handed["recompute"] = recompute._replace(value={"recompute": recompute.value})
    fields = convert(reading, model, handed)
    transformer_config(reading, checked_fields(reading, fields), mla=model.mla)


_RECOMPUTE = "recompute.recompute"


def _handed_over(reading: Reading, parallel: Parallelism) -> dict[str, Sourced]:
    """What the trainer itself writes into the model's configuration, over the file's keys."""
    handed = {
        "calculate_per_token_loss": Sourced(reading.get("calculate_per_token_loss"), ("calculate_per_token_loss",))
    }
    if not reading.get("load_checkpoint"):
        handed["batch_size"] = Sourced(reading.get("runner_config.batch_size"), ("runner_config.batch_size",))
    if reading.version != "1.6" and parallel.lazy_inline_off:
        handed["disable_lazy_inline"] = Sourced(
            True, ("runner_config.gradient_accumulation_steps", "parallel_config.pipeline_stage")
        )
    mask = _eod_mask(reading)
    if mask is not None and reading.get(mask):
        handed["use_eod_attn_mask_compression"] = Sourced(True, (mask,))
    if reading.version not in ("1.6", "1.7"):
        handed.update(_logit_tracking(reading))
    return handed


def _eod_mask(reading: Reading) -> str | None:
    """Where the data section may ask for the compressed end-of-document mask, which the model then follows."""
    if reading.get(f"{_LOADER}.type") == _MEGATRON_DATA:
        return f"{_LOADER}.config.create_compressed_eod_mask"
    return None if reading.version == "1.6" else f"{_LOADER}.create_compressed_eod_mask"


def _logit_tracking(reading: Reading) -> dict[str, Sourced]:
    monitor = "monitor_config.max_attention_logit_format"
    if reading.get("optimizer.type") == "Muon":
        return {"track_max_attention_logit": Sourced(True, ("optimizer.type",))}
    if reading.get("monitor_config.monitor_on") and reading.get(monitor):
        return {"track_max_attention_logit": Sourced(True, (monitor,))}
    return {}
