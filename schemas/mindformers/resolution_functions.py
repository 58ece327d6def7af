"""What the rows of `resolution.yaml` and the fields of `legacy_classes.yaml` call: plain values in, a plain value out.

Those under `do` are programs: they get the run whose values they change.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from ..rows import UndecidedError
from .constructors import (
    begin_schedule,
    build_callbacks,
    build_optimizer,
    build_wrapper,
    check_data_keys,
    check_loader,
    fill_schedule,
    packs,
    record_schedule,
)
from .reading import Undecided
from .shape import is_list

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .resolution import Fields

__all__ = [
    "begin_schedule", "build_callbacks", "build_optimizer", "build_wrapper", "check_data_keys", "check_loader",
    "fill_schedule", "packs", "record_schedule",
]  # fmt: skip
"""Programs of their own module that rows name; those of the dynamic graph alone stand in `dynamic_model`."""

DTYPES = {
    "float64": "float64", "fp64": "float64", "float32": "float32", "fp32": "float32", "bfloat16": "bfloat16",
    "bf16": "bfloat16", "float16": "float16", "fp16": "float16", "int8": "int8", "int16": "int16", "int32": "int32",
    "int64": "int64", "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
    "complex64": "complex64", "complex128": "complex128",
}  # fmt: skip
DTYPE_NAMES = ", ".join(DTYPES)


def known(value: Any) -> bool:
    """Whether a value is the file's own, and not what a placeholder will be."""
    return not isinstance(value, Undecided)


def is_dtype(name: Any) -> bool:
    """Whether a text names a type."""
    return isinstance(name, str) and name in DTYPES


def dtype(name: str) -> str:
    """A type by its one name (`models/utils.py:convert_mstype`); KeyError for what is none."""
    return DTYPES[name]


def or_the_float(value: Any, words: str) -> str:
    """What to write for a whole number where a float is asked for."""
    return f"{words}{float(value)}" if isinstance(value, int) and not isinstance(value, bool) else ""


def spread_rope_scaling(run: Fields) -> None:
    """The entries of `rope_scaling` become fields (`TransformerConfig.__post_init__`), or settings beside them."""
    because = "rope_scaling"
    rest: dict[Any, Any] = dict(run[because])
    for key in run["naming_keys"]:
        rest.pop(key, None)
    run.put("rotary_scaling_factor", rest.pop("factor", None), because)
    original = rest.pop("original_max_position_embeddings", None) or run["seq_length"]
    run.write("max_position_embeddings", original, (because, "seq_length"))
    for key, value in rest.items():
        run.put(str(key), value, because)
    run.write(because, None, ())


# Kinds of values.


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def above_one(value: Any) -> bool:
    """Whether a value is a whole number above 1."""
    return isinstance(value, int) and value > 1


def number(value: Any) -> int | float | None:
    """A number; None for anything else."""
    return value if is_number(value) else None


def settled(value: Any) -> Any:
    """A value that is not what a placeholder will be."""
    if isinstance(value, Undecided):
        raise UndecidedError
    return value


def some(value: Any) -> Any:
    """A value that there is."""
    if value is None:
        raise UndecidedError
    return value


def whole(value: Any) -> int:
    """A whole number."""
    if not isinstance(value, int):
        raise UndecidedError
    return value


def positive(value: Any) -> int:
    """A whole number above 0."""
    if not isinstance(value, int) or value <= 0:
        raise UndecidedError
    return value


def count(value: Any) -> int:
    """The same, and no truth."""
    return positive(None if isinstance(value, bool) else value)


def whole_number(value: Any) -> int:
    """What `int()` makes of a value."""
    try:
        return int(settled(value))
    except (TypeError, ValueError, OverflowError):
        raise UndecidedError from None


def undecided() -> Any:
    """What cannot be known, or has no word here."""
    raise UndecidedError


def product(*factors: Any) -> int:
    """Whole numbers multiplied."""
    total = 1
    for factor in factors:
        if not is_whole(factor):
            raise UndecidedError
        total *= factor
    return total


def first_item(value: Any) -> Any:
    """The first entry of a list."""
    return value[0] if is_list(value) and value else None


# The trainer.

# tools/utils.py:PARALLEL_MODE
PARALLEL_MODES = {
    0: "data_parallel", 1: "semi_auto_parallel", 2: "auto_parallel", 3: "hybrid_parallel",
    "DATA_PARALLEL": "data_parallel", "SEMI_AUTO_PARALLEL": "semi_auto_parallel", "AUTO_PARALLEL": "auto_parallel",
    "HYBRID_PARALLEL": "hybrid_parallel", "STAND_ALONE": "stand_alone", "MANUAL_PARALLEL": "stand_alone",
}  # fmt: skip
PARALLEL_MODE_NAMES = ", ".join(map(str, PARALLEL_MODES))

DEALT_OUT = {
    # causal_language_model_dataset.py:_process_mindrecord_data
    "MindDataset": True,
    # dataloader/hf_dataloader.py:HFDataLoader.__new__, and of the others beside it
    "HFDataLoader": True,
    "CommonDataLoader": True,
    "ADGenDataLoader": True,
    "ToolAlpacaDataLoader": True,
    "SFTDataLoader": True,
    "MultiSourceDataLoader": True,
    "TrainingDataLoader": False,
}
"""Loaders whose steps follow from a number of samples, and whether each shard gets its own part of them, filled up."""
BATCHING = ("CausalLanguageModelDataset", "KeyWordGenDataset", "MultiTurnDataset")
"""Data sets that batch, drop the remainder and repeat, and do nothing else to the number of samples."""


def parallel_mode(value: Any) -> str | None:
    """A parallel mode by its one name."""
    return PARALLEL_MODES.get(value) if isinstance(value, (int, str)) else None


def batches(
    samples: int, loader: str, whole: int, shards: int, task: Any, drops: Any, repeat: Any, streaming: Any, most: Any
) -> int:
    """Batches that a device gets out of so many samples (`causal_language_model_dataset.py:dataset_batch_func`)."""
    sharded = DEALT_OUT.get(loader)
    if sharded is None or task not in BATCHING or whole % shards or not isinstance(drops, bool) or streaming:
        raise UndecidedError
    times = 1 if repeat is None else count(repeat)
    share = -(-samples // shards) if sharded else samples
    if most is not None:
        if loader != "MindDataset":
            raise UndecidedError
        # `_reset_num_samples`: the number is of all shards; MindSpore 2.9 takes all rows where it is to take none
        none = not isinstance(most, bool) and most == 0
        share = share if none else min(share, count(most) // shards or share)
    batch = whole // shards
    return (share // batch if drops else -(-share // batch)) * times


def steps(epochs: Any, size: Any, by: Any = None) -> int | None:
    """Steps of all epochs; None where a number is too large, or infinite: the framework cannot count them either."""
    try:
        return int(epochs * size if by is None else (size / by) * epochs)
    except (OverflowError, ValueError):
        return None


def steps_of_epochs(epochs: Any, size: Any) -> int:
    """`int(warmup_epochs * data_size)` (`trainer/base_trainer.py:BaseTrainer.create_lr_scheduler`)."""
    if epochs == 0:
        return 0
    if not isinstance(epochs, int) or epochs < 0 or not isinstance(size, int):
        raise UndecidedError
    return int(epochs * size)


def share(total: Any, ratio: Any) -> int:
    """A ratio of the total, cut to whole steps (`core/lr/lr_schedule.py:_get_lr_steps`)."""
    if not isinstance(ratio, (int, float)) or not 0 <= ratio <= 1:
        raise UndecidedError
    if isinstance(total, int):
        return int(total * ratio)
    if ratio == 0:
        return 0
    raise UndecidedError


def scaled_rate(rate: Any, factor: Any, devices: Any, batch: Any) -> float:
    """`trainer/base_trainer.py:BaseTrainer.learning_rate_scale`: the rate times the devices and their batch."""
    if isinstance(rate, float) and isinstance(factor, (int, float)) and isinstance(devices, int) and batch:
        return rate * devices * batch / factor
    raise UndecidedError


# The dynamic graph.


def is_ramp(ramp: Any) -> bool:
    """Whether a batch can grow so: start, increment, samples."""
    return len(ramp) == 3 and all(map(is_whole, ramp)) and ramp[0] > 0 and ramp[1] > 0 and ramp[2] >= 0


def first_batch(ramp: Sequence[int], total: int, unit: int) -> int | None:
    """The batch of the first step (`dynamic_batch.py:BatchSizeScheduler`); None where it cannot grow in such units."""
    start, increment, samples = ramp
    if start > total or (total - start) % increment or any(level % unit for level in range(start, total, increment)):
        return None
    return start if samples and start < total else total


def are_layers(layers: Any) -> bool:
    """Whether a value is a number of layers, or a list of them."""
    if isinstance(layers, bool):
        return False
    return layers > 0 if isinstance(layers, int) else all(layer >= 0 for layer in layers)


def is_regex(text: Any) -> bool:
    """Whether a text is a regular expression that is not empty."""
    import re

    try:
        re.compile(text)
    except re.error:
        return False
    return bool(text.strip())


def is_output(path: str) -> bool:
    """Whether answers can be written to a file of that name."""
    name = path.replace("\\", "/").rpartition("/")[2]
    return not path or "." not in name.lstrip(".") or name.lower().endswith((".jsonl", ".json", ".txt"))


# What the older classes compute.


def swiglu_width(hidden_size: int, multiple_of: int, multiplier: float | None) -> int:
    """The width of a Llama's feed-forward network that none is given for (`LlamaFeedForward.__init__`)."""
    width = 4 * hidden_size
    if multiplier is not None:
        width = int((multiplier + 0.01) * width)
    width = int(2 * width / 3)
    return multiple_of * ((width + multiple_of - 1) // multiple_of)


def balancing(kinds: Any, factors: Any) -> float:
    """The coefficient of the balancing loss over experts (`moe.py:_check_aux_loss_config`)."""
    if not is_list(kinds) or not is_list(factors):
        return 0.0
    return float(dict(zip(kinds, factors, strict=False)).get("expert", 0.0))
