"""Rules about data and seeds that are more than a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rule import Change, Found, Note, Repair, at_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .subject import Subject

_PARALLEL_MODES = (1, "semi", "semi_auto_parallel", 2, "auto", "auto_parallel")


def seed_ignored(subject: Subject) -> Iterator[Found]:
    """The seed of the YAML is used outside semi-automatic parallelism only, and never when it is 0."""
    side = subject.mindformers
    given = None if side is None else side.explicit("seed")
    if side is None or given is None or side.config.dialect == "dynamic":
        return
    if given.value == 0:
        yield Found(at_key("mindformers", "seed"), {"why_en": "when it is 0", "why_zh": "值为 0"})
        return
    mode = side.config.value("parallel.parallel_mode")
    if side.config.value("use_parallel") is True and str(mode).lower() in [str(entry) for entry in _PARALLEL_MODES]:
        yield Found(at_key("mindformers", "seed"), {"why_en": f"in parallel mode {mode}", "why_zh": f"并行模式 {mode}"})


_REQUIRED = ("reset_position_ids", "reset_attention_mask", "eod_mask_loss")
_CONFIG = "train_dataset.data_loader.config."


def data_keys_missing(subject: Subject) -> Iterator[Found]:
    """The Megatron data set is not built without some keys."""
    side = subject.mindformers
    if side is None or side.config.dialect == "dynamic":
        return
    loader = side.config.value("train_dataset.data_loader.type")
    if loader != "BlendedMegatronDatasetDataLoader" or side.config.value("run_mode") not in (None, "train", "finetune"):
        return
    for name in _REQUIRED:
        if side.config.value(_CONFIG + name) is None:
            place = at_key("mindformers", _CONFIG + name)
            repair = Repair(
                "unsafe", f"Write {name}: False.", f"写入 {name}: False。", (Change("set", place, "False"),)
            )
            yield Found(place, {"key": name}, repair=repair)


def two_sequence_lengths(subject: Subject) -> Iterator[Found]:
    """The data set's samples are as long as the model's."""
    side = subject.mindformers
    if side is None or side.config.dialect == "dynamic":
        return
    data, model = side.explicit(_CONFIG + "seq_length"), side.explicit("model.model_config.seq_length")
    if data is not None and model is not None and isinstance(data.value, int) and data.value != model.value:
        note = Note(at_key("mindformers", model.key), f"the model has {model.value}", f"模型为 {model.value}")
        yield Found(at_key("mindformers", data.key), {"data": data.value, "model": model.value}, (note,))
