"""How long a training run is: steps of one pass over the data, and of the whole run.

Only Megatron's data loader states its size in the file. Everything else that stands for the run's length follows the
data set, so it is undecided until `--steps` or `--dataset-size` settles it. Sources, 1.6-2.1:
`trainer/utils.py:check_runner_config` (epochs and sinks), `trainer/base_trainer.py:_process_megatron_dataset`,
`_train_dataset_preprocess` and `_set_full_batch_with_strategy` (how a batch is dealt out, from 1.7),
`dataset/base_dataset.py:_generate_shard_info`, `dataset/causal_language_model_dataset.py:dataset_batch_func`.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING, NamedTuple
from .reading import Sourced, Undecided
from .shape import is_list, is_mapping

if TYPE_CHECKING:
    from typing import Any

    from ..config import ReadOptions
    from .parallelism import Parallelism
    from .reading import Reading

MEGATRON_DATA = "BlendedMegatronDatasetDataLoader"
_LOADER = "train_dataset.data_loader"
_STEPS, _DATASET = "--steps", "--dataset-size"


class Steps(NamedTuple):
    """How long the training runs."""

    data_size: Sourced
    """Steps of one pass over the data."""
    total: Sourced


class _Loader(NamedTuple):
    """How a data loader deals its samples out."""

    sharded: bool
    """Whether each shard gets its own part of them, the last one filled up."""
    source: str


_LOADERS = {
    "MindDataset": _Loader(True, "causal_language_model_dataset.py:_process_mindrecord_data"),
    "HFDataLoader": _Loader(True, "dataloader/hf_dataloader.py:HFDataLoader.__new__"),
    "CommonDataLoader": _Loader(True, "dataloader/common_dataloader.py:CommonDataLoader.__new__"),
    "ADGenDataLoader": _Loader(True, "dataloader/adgen_dataloader.py:ADGenDataLoader.__new__"),
    "ToolAlpacaDataLoader": _Loader(True, "dataloader/toolaplaca_dataloader.py:ToolAlpacaDataLoader.__new__"),
    "SFTDataLoader": _Loader(True, "dataloader/sft_dataloader.py:SFTDataLoader.__new__"),
    "MultiSourceDataLoader": _Loader(True, "dataloader/multi_source_dataloader.py:MultiSourceDataLoader.__new__"),
    "TrainingDataLoader": _Loader(False, "dataloader/training_dataloader.py:TrainingDataLoader.__new__"),
}
"""Loaders whose steps follow from a number of samples; of another one `--dataset-size` says too little."""
_DATASETS = ("CausalLanguageModelDataset", "KeyWordGenDataset", "MultiTurnDataset")
"""Data sets that batch, drop the remainder and repeat, and do nothing else to the number of samples."""


def run_length(reading: Reading, parallel: Parallelism, options: ReadOptions) -> Steps:
    """Record the length under `resolved.runner.`."""
    size = _data_size(reading, parallel, options)
    epochs = _number(reading, "runner_config.epochs")
    sink = _number(reading, "runner_config.sink_size")
    sources = ("runner_config.epochs", "runner_config.sink_mode", "runner_config.sink_size", *size.sources)
    if reading.get("runner_config.sink_mode"):
        if sink is not None and sink != -1 and sink <= 0:
            reading.note(
                "rejected",
                "runner_config.sink_size",
                why="sink_size is -1 or above 0",
                why_zh="sink_size 应为 -1 或大于 0",
            )
        if sink not in (None, -1, 0) and size.value is not None and epochs is not None:
            epochs = _product(epochs, size.value, sink)
        elif sink == -1:
            sink = size.value
        total = None if epochs is None or sink is None or size.value is None else _product(epochs, sink)
    else:
        sink = -1
        total = None if epochs is None or size.value is None else _product(epochs, size.value)
    known = size.value is not None
    if options.steps is not None and (total is None or _DATASET in size.sources):
        total, sources = options.steps, (*sources, _STEPS)
    sink_mode = "runner_config.sink_mode"
    reading.resolve("resolved.runner.sink_mode", reading.get(sink_mode), sink_mode)
    reading.resolve("resolved.runner.sink_size", sink, "runner_config.sink_size", sink_mode, decided=sink is not None)
    reading.resolve("resolved.runner.epochs", epochs, *sources, decided=known or sink == -1)
    reading.resolve("resolved.runner.data_size", size.value, *size.sources, decided=known)
    reading.resolve("resolved.runner.total_steps", total, *sources, decided=total is not None)
    return Steps(size, Sourced(total, sources, total is not None))


def _product(epochs: Any, steps: Any, by: Any = None) -> int | None:
    """Steps of all epochs; None where a number is too large, or infinite: the framework cannot count them either."""
    try:
        return int(epochs * steps if by is None else (steps / by) * epochs)
    except (OverflowError, ValueError):
        return None


def _data_size(reading: Reading, parallel: Parallelism, options: ReadOptions) -> Sourced:
    """Steps of one pass over the data."""
    loader = reading.get(f"{_LOADER}.type")
    if loader == MEGATRON_DATA:
        return _stated_size(reading, parallel)
    if options.dataset_size is not None and isinstance(loader, str):
        found = _counted_size(reading, parallel, options.dataset_size, loader)
        if found is not None:
            return Sourced(found, (f"{_LOADER}.type", *parallel.global_size.sources, _DATASET))
    return Sourced(None, (f"{_LOADER}.type",), decided=False)


def _stated_size(reading: Reading, parallel: Parallelism) -> Sourced:
    """Megatron's loader is cut to the whole batches of `sizes`."""
    path = f"{_LOADER}.sizes"
    sizes = reading.get(path)
    if not is_list(sizes) or not sizes:
        return Sourced(None, (f"{_LOADER}.type",), decided=False)
    whole = parallel.global_size.value
    try:
        first: Any = sizes[0]
        count = int(first)
    except (TypeError, ValueError, OverflowError):
        return Sourced(None, (path,), decided=False)
    if isinstance(sizes[0], Undecided) or not isinstance(whole, int) or whole <= 0:
        return Sourced(None, (path,), decided=False)
    return Sourced(count // whole, (path, *parallel.global_size.sources))


def _counted_size(reading: Reading, parallel: Parallelism, samples: int, loader: str) -> int | None:
    """Batches that a device gets out of so many samples; None where the file leaves open how they are dealt out."""
    facts = _LOADERS.get(loader)
    task = reading.get("train_dataset_task.type", "CausalLanguageModelDataset")
    whole, shards = parallel.global_size.value, _shards(reading, parallel, loader)
    drops, repeat = reading.get("train_dataset.drop_remainder"), reading.get("train_dataset.repeat")
    if facts is None or task not in _DATASETS or not _is_count(whole) or shards is None or whole % shards:
        return None
    if not isinstance(drops, bool) or reading.get(f"{_LOADER}.streaming"):
        return None
    if repeat is not None and not _is_count(repeat):
        return None
    most = reading.get(f"{_LOADER}.num_samples")
    if most is not None:
        if loader != "MindDataset" or not _is_count(most):
            return None
        # `_reset_num_samples`: the number is of all shards.
        most = most // shards
    share = -(-samples // shards) if facts.sharded else samples
    share = share if most is None else min(share, most)
    batch = whole // shards
    batches = share // batch if drops else -(-share // batch)
    return batches * (repeat or 1)


def batch_of_a_shard(reading: Reading, parallel: Parallelism) -> int | None:
    """Samples that a device reads in one step (`train_dataset.batch_size` of the trainer); None where it is open."""
    whole, shards = parallel.global_size.value, _shards(reading, parallel, reading.get(f"{_LOADER}.type"))
    return whole // shards if _is_count(whole) and shards is not None else None


def _shards(reading: Reading, parallel: Parallelism, loader: object) -> int | None:
    """Into how many parts the samples are cut: none where every device reads the full batch."""
    if not parallel.automatic:
        world = reading.resolved["resolved.parallel.world_size"].value
        return world if isinstance(world, int) and world > 0 else None
    full = _full_batch(reading, loader)
    if full is None:
        return None
    data = parallel.handed_over["data_parallel"].value
    return 1 if full else data if _is_count(data) else None


def _full_batch(reading: Reading, loader: object) -> bool | None:
    """Whether every device reads all samples of a step; None where a placeholder decides."""
    full, strategy = reading.get("parallel.full_batch"), reading.get("parallel.dataset_strategy")
    if reading.version != "1.6":
        if strategy is None and "dataset_strategy" not in reading.section("parallel"):
            strategy = None if _makes_masks(reading, loader) else "full_batch"
        if isinstance(strategy, Undecided):
            return None
        if strategy != "full_batch":
            return False
    return None if isinstance(full, Undecided) else bool(full)


def _makes_masks(reading: Reading, loader: object) -> bool:
    """`_get_columns_with_strategy`: data that bring a mask along are cut over the data parallel ranks."""
    if loader == MEGATRON_DATA:
        return True
    if reading.get(f"{_LOADER}.create_compressed_eod_mask") or reading.get(f"{_LOADER}.create_attention_mask"):
        return True
    handlers = reading.get(f"{_LOADER}.handler")
    return (
        loader in ("HFDataLoader", "CommonDataLoader")
        and is_list(handlers)
        and any(is_mapping(one) and one.get("type") == "PackingHandler" for one in handlers)
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _number(reading: Reading, path: str) -> int | float | None:
    value = reading.get(path)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
