"""The options of MindSpore Transformers' `run_mindformer.py`: type, place in the YAML, order of application.

Read from `run_mindformer.py` of the tags v1.6.0, v1.7.0, v1.8.0 and v1.9.0, the branch r2.0.0 and the newest public
version (2.1). The options are the same in all of them; what differs is `DYNAMIC_SINCE` and the run modes, which are
facts of the version. The rows stand in the order in which the script applies them, so a later row wins where two set
the same place.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

ValueType: TypeAlias = "Literal['str', 'int', 'bool', 'bool-or-str', 'assignments']"
Effect: TypeAlias = (
    "Literal['yaml', 'yaml-if-not-empty', 'yaml-if-section', 'predict', 'config', 'environment', 'help']"
)


class LaunchOption(NamedTuple):
    """One option: what it takes and which places of the YAML it sets."""

    flag: str
    type: ValueType
    paths: tuple[tuple[str, ...], ...] = ()
    many: bool = False
    effect: Effect = "yaml"


def _top(flag: str, kind: ValueType = "str") -> LaunchOption:
    return LaunchOption(flag, kind, ((flag[2:],),))


OPTIONS: tuple[LaunchOption, ...] = (
    LaunchOption("--help", "str", effect="help"),
    LaunchOption("--config", "str", effect="config"),
    LaunchOption("--register_path", "str", effect="environment"),
    _top("--run_mode"),
    LaunchOption("--device_id", "int", (("context", "device_id"),)),
    LaunchOption("--device_target", "str", (("context", "device_target"),)),
    LaunchOption("--mode", "int", (("context", "mode"),)),
    _top("--do_eval", "bool"),
    _top("--seed", "int"),
    _top("--use_parallel", "bool"),
    _top("--load_checkpoint"),
    _top("--src_strategy_path_or_dir"),
    _top("--auto_trans_ckpt", "bool"),
    _top("--transform_process_num", "int"),
    _top("--only_save_strategy", "bool"),
    _top("--resume_training", "bool-or-str"),
    LaunchOption("--strategy_load_checkpoint", "str", (("parallel", "strategy_ckpt_load_file"),)),
    _top("--remote_save_url"),
    _top("--profile", "bool"),
    LaunchOption("--options", "assignments", many=True),
    LaunchOption(
        "--train_dataset_dir", "str", (("train_dataset", "data_loader", "dataset_dir"),), effect="yaml-if-not-empty"
    ),
    LaunchOption(
        "--eval_dataset_dir", "str", (("eval_dataset", "data_loader", "dataset_dir"),), effect="yaml-if-not-empty"
    ),
    LaunchOption("--do_sample", "bool", (("model", "model_config", "do_sample"),)),
    LaunchOption("--predict_data", "str", (("input_data",),), many=True, effect="predict"),
    LaunchOption("--modal_type", "str", many=True, effect="predict"),
    LaunchOption("--predict_batch_size", "int", (("predict_batch_size",),), effect="predict"),
    LaunchOption("--adapter_id", "str", (("adapter_id",),), many=True, effect="predict"),
    LaunchOption("--epochs", "int", (("runner_config", "epochs"),)),
    LaunchOption("--batch_size", "int", (("runner_config", "batch_size"),)),
    LaunchOption("--gradient_accumulation_steps", "int", (("runner_config", "gradient_accumulation_steps"),)),
    LaunchOption("--sink_mode", "bool", (("runner_config", "sink_mode"),)),
    LaunchOption(
        "--num_samples",
        "int",
        (("train_dataset", "data_loader", "num_samples"), ("eval_dataset", "data_loader", "num_samples")),
        effect="yaml-if-section",
    ),
    _top("--output_dir"),
    _top("--trust_remote_code", "bool"),
)

PREDICT_MODES = ("predict", "predict_with_train_model")

DYNAMIC_SINCE = (1, 9)
"""From this version `--mode 1` starts the dynamic graph's trainer, which is given --config and nothing else."""

TOP_LEVEL = (
    "adapter_id", "auto_trans_ckpt", "balanced_load", "callbacks", "ckpt_use_legacy_format", "context",
    "data_skip_steps", "do_eval", "eval_callbacks", "eval_dataset", "eval_dataset_task", "eval_epoch_interval",
    "eval_step_interval", "exclude_cann_cpu", "ignore_data_skip", "infer_precision_sync", "init_start_profile",
    "input_data", "layer_decay", "layer_scale", "load_checkpoint", "load_ckpt_async", "load_ckpt_format",
    "lr_scale", "lr_scale_factor", "lr_schedule", "metric", "micro_batch_interleave_num", "model", "moe_config",
    "monitor_config", "mstx", "only_save_strategy", "optimizer", "output_dir", "parallel", "parallel_config",
    "postprocess_use_numpy", "predict_batch_size", "pretrained_model_dir", "print_separate_loss", "processor",
    "profile", "profile_communication", "profile_level", "profile_memory", "profile_pipeline",
    "profile_rank_ids", "profile_start_step", "profile_stop_step", "recompute_config", "remote_save_url",
    "reshard_worker_num", "resume_training", "run_mode", "runner_config", "runner_wrapper", "save_file", "seed",
    "src_strategy_path_or_dir", "swap_config", "train_dataset", "train_dataset_task", "train_precision_sync",
    "trainer", "transform_process_num", "use_legacy", "use_legacy_format", "use_parallel",
)  # fmt: skip
"""Top-level YAML keys of the static graph: `mindformers/tools/register/template.py`, ConfigTemplate, 1.6 to 2.1."""
