"""The conditions that the dynamic graph's configuration classes check beyond the types of their fields.

Each row is one check of a `__post_init__` in `mindformers/pynative/config/config.py` (or of `Trainer.__init__`), with
the first version that makes it.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

from ..light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Check(NamedTuple):
    """A condition on the values of some keys."""

    since: tuple[int, int]
    keys: tuple[str, ...]
    holds: Callable[..., bool]
    en: str
    zh: str
    before: tuple[int, int] | None = None


def _positive(key: str, since: tuple[int, int] = (2, 0)) -> Check:
    return Check(since, (key,), lambda value: value > 0, f"{key} must be greater than 0", f"{key} 必须大于 0")


def _is_regex(text: Any) -> bool:
    import re

    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _is_ramp(ramp: Any) -> bool:
    if ramp is None:
        return True
    whole = len(ramp) == 3 and all(isinstance(number, int) and not isinstance(number, bool) for number in ramp)
    return whole and ramp[0] > 0 and ramp[1] > 0 and ramp[2] >= 0


def _are_layers(layers: Any) -> bool:
    if layers is None:
        return True
    if isinstance(layers, bool):
        return False
    return layers > 0 if isinstance(layers, int) else all(layer >= 0 for layer in layers)


def _output_ending(path: str) -> bool:
    name = path.replace("\\", "/").rpartition("/")[2]
    return not path or "." not in name.lstrip(".") or name.lower().endswith((".jsonl", ".json", ".txt"))


_LOADER = "train_dataset.dataloader"


def _number(name: str) -> Check:
    key = f"lr_scheduler.{name}"
    return Check((2, 0), (key,), _is_number, f"{key} must be a number", f"{key} 必须是数")


def _whole(name: str) -> Check:
    key = f"lr_scheduler.{name}"
    return Check((2, 0), (key,), _is_whole, f"{key} must be a whole number", f"{key} 必须是整数")


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _is_whole(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _given(name: str) -> Check:
    """`gpt_dataset.py:GPTDatasetConfig.__post_init__` (2.0, 2.1): null is no False."""
    key = f"{_LOADER}.config.{name}"
    return Check(
        (2, 0), (key,), lambda value: value is not None, f"{key} must be True or False", f"{key} 应为 True 或 False"
    )


def _loaders(since: tuple[int, int], names: tuple[str, ...], before: tuple[int, int] | None = None) -> Check:
    """`pynative/trainer/utils.py:_build_dataset` (1.9, 2.0, 2.1): any other class is refused by its name."""
    english = f"the dynamic graph builds {', '.join(names)} only"
    chinese = f"动态图只能构建 {'、'.join(names)}"
    return Check(since, (f"{_LOADER}.type",), lambda name: name is None or name in names, english, chinese, before)


_LOADERS = ("BlendedMegatronDatasetDataLoader", "HFDataLoader", "MindDataset")
CHECKS: tuple[Check, ...] = (
    _loaders((1, 9), _LOADERS, before=(2, 1)),
    _loaders((2, 1), (*_LOADERS, "OrderedIndexDataLoader")),
    _given("reset_position_ids"),
    _given("reset_attention_mask"),
    _given("eod_mask_loss"),
    # dataset/dataloader/blended_megatron_dataloader.py:MegatronDatasetBuilder (2.0, 2.1)
    Check(
        (2, 0),
        (f"{_LOADER}.datasets_type", f"{_LOADER}.type"),
        lambda kind, loader: loader != "BlendedMegatronDatasetDataLoader" or kind == "GPTDataset",
        "BlendedMegatronDatasetDataLoader builds a GPTDataset only",
        "BlendedMegatronDatasetDataLoader 只能构建 GPTDataset",
    ),
    Check(
        (2, 0),
        (f"{_LOADER}.sizes", f"{_LOADER}.type"),
        lambda sizes, loader: loader != "BlendedMegatronDatasetDataLoader" or isinstance(sizes, list),
        "sizes is a list of three numbers of samples",
        "sizes 应为三个样本数的列表",
    ),
    Check(
        (2, 0),
        (f"{_LOADER}.config.data_path",),
        lambda paths: paths is None or isinstance(paths, list),
        "data_path is a list of path prefixes, with or without weights",
        "data_path 应为路径前缀的列表（可带权重）",
    ),
    Check(
        (2, 0),
        (f"{_LOADER}.config.seq_length",),
        lambda length: isinstance(length, int) and not isinstance(length, bool) and length > 0,
        "seq_length must be a whole number above 0",
        "seq_length 必须是大于 0 的整数",
    ),
    Check(
        (2, 0),
        (f"{_LOADER}.config.seed",),
        lambda seed: isinstance(seed, int) and not isinstance(seed, bool),
        "the data set's seed must be a whole number",
        "数据集的 seed 必须是整数",
    ),
    # core/lr/lr_schedule.py: each class checks the kinds of its arguments (2.0, 2.1)
    *(_number(name) for name in ("lr_end", "warmup_lr_init", "warmup_ratio", "decay_ratio", "power", "num_cycles")),
    *(_whole(name) for name in ("warmup_steps", "decay_steps", "decay_start_steps", "keep_steps")),
    _positive("training.global_batch_size"),
    _positive("training.local_batch_size"),
    Check(
        (2, 1),
        ("training.max_consecutive_skipped_steps",),
        lambda steps: steps >= 0,
        "training.max_consecutive_skipped_steps must not be negative",
        "training.max_consecutive_skipped_steps 不能为负数",
    ),
    Check(
        (2, 1),
        ("training.rampup_batch_size",),
        _is_ramp,
        "training.rampup_batch_size is [start > 0, increment > 0, samples >= 0], three whole numbers",
        "training.rampup_batch_size 应为三个整数 [起始值 > 0, 增量 > 0, 样本数 >= 0]",
    ),
    Check(
        (2, 1),
        ("parallelism.tensor_parallel", "parallelism.sequence_parallel"),
        lambda tensor, sequence: tensor <= 1 or bool(sequence),
        "tensor parallelism needs parallelism.sequence_parallel: True",
        "张量并行需要 parallelism.sequence_parallel: True",
    ),
    Check(
        (2, 0),
        ("parallelism.moe_token_dispatcher_type", "parallelism.expert_parallel", "parallelism.npu_nums_per_device"),
        lambda kind, expert, devices: kind != "alltoall_deredundancy" or expert >= devices,
        "alltoall_deredundancy needs parallelism.expert_parallel of at least parallelism.npu_nums_per_device",
        "alltoall_deredundancy 要求 parallelism.expert_parallel 不小于 parallelism.npu_nums_per_device",
    ),
    Check(
        (2, 0),
        ("profiler.start_step", "profiler.end_step"),
        lambda start, end: 0 < start <= end,
        "the profiler's start_step and end_step must be positive and in order",
        "profiler 的 start_step 与 end_step 必须为正且有序",
    ),
    Check(
        (2, 0),
        ("recompute.mode",),
        lambda mode: mode in ("None", "full", "select"),
        "recompute.mode is the string 'None', 'full' or 'select'",
        "recompute.mode 应为字符串 'None'、'full' 或 'select'",
    ),
    Check(
        (2, 0),
        ("monitor.moe_monitor.save_tokens_per_expert_interval",),
        lambda steps: steps is None or steps > 0,
        "monitor.moe_monitor.save_tokens_per_expert_interval must be greater than 0 or null",
        "monitor.moe_monitor.save_tokens_per_expert_interval 必须大于 0 或为 null",
    ),
    Check(
        (2, 0),
        ("monitor.moe_monitor.target_layers",),
        _are_layers,
        "monitor.moe_monitor.target_layers is a positive number of layers or a list of layers from 0 on",
        "monitor.moe_monitor.target_layers 应为正的层数，或从 0 起的层号列表",
    ),
    Check(
        (2, 1),
        ("checkpoint.save_trainable_only", "checkpoint.base_load_path"),
        lambda only, path: not only or bool(str(path).strip()),
        "checkpoint.save_trainable_only needs checkpoint.base_load_path",
        "checkpoint.save_trainable_only 需要 checkpoint.base_load_path",
    ),
    Check(
        (2, 1),
        ("run_mode",),
        lambda mode: mode in ("train", "predict"),
        "run_mode is train or predict in the dynamic graph",
        "动态图的 run_mode 只能是 train 或 predict",
    ),
    Check(
        (2, 1),
        ("run_mode", "inference"),
        lambda mode, section: mode != "predict" or section is not None,
        "run_mode predict needs an inference section",
        "run_mode 为 predict 时需要 inference 段",
    ),
    Check(
        (2, 1),
        ("lora_config.target_modules",),
        lambda modules: bool(modules.strip()) and _is_regex(modules),
        "lora_config.target_modules must be a regular expression that is not empty",
        "lora_config.target_modules 必须是非空的正则表达式",
    ),
    _positive("lora_config.lora_rank", (2, 1)),
    _positive("lora_config.lora_alpha", (2, 1)),
    Check(
        (2, 1),
        ("lora_config.lora_dropout",),
        lambda rate: 0.0 <= rate < 1.0,
        "lora_config.lora_dropout must be at least 0 and below 1",
        "lora_config.lora_dropout 必须在 [0, 1) 内",
    ),
    _positive("inference.max_new_tokens", (2, 1)),
    _positive("inference.batch_size", (2, 1)),
    Check(
        (2, 1),
        ("inference.output",),
        _output_ending,
        "inference.output ends in .jsonl, .json or .txt, or has no ending",
        "inference.output 须以 .jsonl、.json 或 .txt 结尾，或没有后缀",
    ),
)
