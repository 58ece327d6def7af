"""Steps, learning rate, optimizer and wrapper: what the training run is built from.

Sources, 1.6-2.1: `trainer/base_trainer.py:create_optimizer_scheduler`, `create_model_wrapper`, `_reset_wrapper*`,
`core/optim/build_optim.py`, `trainer/trainer.py:Trainer.__init__` (seed).
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from .arguments import REQUIRED, class_facts, foreign_argument, string_number
from .reading import Sourced, Undecided
from .run_length import MEGATRON_DATA, run_length
from .schedule import schedule
from .shape import is_list, is_mapping
from .template import in_effect

if TYPE_CHECKING:
    from typing import Any

    from ..config import ReadOptions
    from .parallelism import Parallelism
    from .reading import Reading

_LOADER = "train_dataset.data_loader"
_HANDED_BY_THE_TRAINER = ("params", "learning_rate", "cls", "network", "optimizer", "model")


def training(reading: Reading, parallel: Parallelism, options: ReadOptions, *, legacy: bool) -> None:
    """Record what the trainer builds, under `resolved.runner.`, `.schedule.`, `.optimizer.`, `.wrapper.` and others."""
    steps = run_length(reading, parallel, options)
    _dataset(reading, legacy=legacy)
    _seed(reading, parallel)
    if reading.get("lr_schedule") is not None or reading.get("optimizer") is not None:
        _optimizer(reading, schedule(reading, steps, parallel))
        _wrapper(reading, parallel)
    _callbacks(reading)


def _dataset(reading: Reading, *, legacy: bool) -> None:
    loader = reading.section(_LOADER)
    kind = f"{_LOADER}.type"
    reading.resolve("resolved.dataset.type", loader.get("type"), kind)
    reading.resolve("resolved.dataset.seed", reading.get("seed"), "seed")
    needs_slices = loader.get("type") == MEGATRON_DATA and (legacy or reading.version == "1.6")
    if needs_slices and not reading.get("model.model_config.input_sliced_sig"):
        reading.note(
            "rejected",
            kind,
            why=f"{MEGATRON_DATA} needs model.model_config.input_sliced_sig: True",
            why_zh=f"{MEGATRON_DATA} 要求 model.model_config.input_sliced_sig: True",
        )
    if not loader.get("type") and not legacy and _trains(reading):
        _without_data(reading)
    if loader.get("type") == MEGATRON_DATA:
        _data_keys(reading)
        for name in ("datasets_type", "sizes"):
            if name not in loader:
                reading.lacking("missing-key", f"{_LOADER}.{name}", key=name, section=_LOADER)
        _megatron_values(reading, loader)
    elif isinstance(loader.get("type"), str):
        _loader_class(reading, loader["type"])
    path = f"{_LOADER}.config.data_path"
    if reading.get(path) is not None:
        reading.resolve("resolved.dataset.data_path", reading.get(path), path)
    if loader.get("sizes") is not None:
        reading.resolve("resolved.dataset.sizes", loader.get("sizes"), f"{_LOADER}.sizes")


def _trains(reading: Reading) -> bool:
    """Whether the file is written for training: a part of one, or a template to be filled in, lacks what trains."""
    mode = reading.get("run_mode")
    return mode in (None, "train", "finetune") and "optimizer" in reading.places and "model" in reading.places


def _without_data(reading: Reading) -> None:
    """No loader to read samples from: `base_trainer.py:training_process` asks for it (1.6-2.1)."""
    for section, key in (("", "train_dataset"), ("train_dataset", "data_loader"), (_LOADER, "type")):
        path = f"{section}.{key}" if section else key
        value = reading.get(path)
        if isinstance(value, Undecided) or (value and key == "type"):
            return
        if not value or key == "type":
            where = section or "run_mode train"
            reading.lacking("missing-key", path, key=key, section=where)
            return


_NEVER_NULL = ("reset_position_ids", "reset_attention_mask", "eod_mask_loss")
"""What `gpt_dataset.py:GPTDatasetConfig.__post_init__` asserts to be given: null is no False (1.6-2.1)."""


def _megatron_values(reading: Reading, loader: dict[Any, Any]) -> None:
    """Values that the builder of Megatron's data sets stops at (`blended_megatron_dataloader.py`, 1.6-2.1)."""
    kind, sizes = loader.get("datasets_type"), loader.get("sizes")
    if "datasets_type" in loader and kind != "GPTDataset" and not isinstance(kind, Undecided):
        path = f"{_LOADER}.datasets_type"
        reading.note("value-type", path, key=path, value=repr(kind), expected="GPTDataset", expected_zh="GPTDataset")
    if "sizes" in loader and not is_list(sizes) and not isinstance(sizes, Undecided):
        path = f"{_LOADER}.sizes"
        words = ("a list of three numbers of samples", "三个样本数的列表")
        reading.note("value-type", path, key=path, value=repr(sizes), expected=words[0], expected_zh=words[1])
    section = f"{_LOADER}.config"
    given = reading.section(section)
    if isinstance(given.get("data_path"), str) and not isinstance(given["data_path"], Undecided):
        path, value = f"{section}.data_path", repr(given["data_path"])
        words = ("a list of path prefixes, with or without weights", "路径前缀的列表（可带权重）")
        reading.note("value-type", path, key=path, value=value, expected=words[0], expected_zh=words[1])
    for name in _NEVER_NULL:
        if name in given and given[name] is None:
            path, english, chinese = f"{section}.{name}", "True or False", "True 或 False"
            reading.note("value-type", path, key=path, value="null", expected=english, expected_zh=chinese)


def _loader_class(reading: Reading, name: str) -> None:
    known: list[str] = reading.catalog["loaders"].split()
    if name in known or isinstance(name, Undecided) or reading.get(f"{_LOADER}.auto_register") is not None:
        return
    from ..suggestion import suggestion_in_both

    near, near_zh = suggestion_in_both(name, known)
    reading.note(
        "unknown-class", f"{_LOADER}.type", section=_LOADER, value=name, suggestion=near, suggestion_zh=near_zh
    )


def _data_keys(reading: Reading) -> None:
    """Keys of the data set's configuration that its builder does not ask for (`init_gpt_dataset_config`)."""
    section = f"{_LOADER}.config"
    known: list[str] = reading.catalog["data_keys"].split()
    for key in reading.section(section):
        if key not in known and key not in _DATA_ELSEWHERE:
            path = f"{section}.{key}"
            reading.acceptance[path] = "ignored"
            reading.note("swallowed-argument", path, on_key=True, type=MEGATRON_DATA, key=key)


_DATA_ELSEWHERE = frozenset(("tokenizer", "shuffle"))
"""Keys beside those that other code of the loader reads."""


def _seed(reading: Reading, parallel: Parallelism) -> None:
    seed = reading.get("seed")
    takes_effect = bool(seed) and not parallel.automatic
    reading.resolve("resolved.seed", seed if takes_effect else None, "seed", "parallel.parallel_mode", "use_parallel")


def _optimizer(reading: Reading, rate: Sourced) -> None:
    section = "optimizer"
    given: dict[Any, Any] = reading.section(section)
    kind = given.get("type")
    if reading.get("layer_scale") is True and reading.version not in ("1.6", "1.7"):
        # trainer/optimizer_grouped_parameters.py:get_optimizer_grouped_parameters (1.8-2.1)
        reading.note("rejected", "layer_scale", why="layer_scale is not supported", why_zh="不支持 layer_scale")
    facts = class_facts(reading, "optimizer", section, kind)
    reading.resolve("resolved.optimizer.type", facts["class"] if facts else kind, f"{section}.type")
    arguments: dict[str, Any] = {} if facts is None else facts["args"]
    for name, default in arguments.items():
        if name not in given and default != REQUIRED and name not in _HANDED_BY_THE_TRAINER:
            reading.resolve(f"resolved.optimizer.{name}", default)
    for key, value in given.items():
        path = f"{section}.{key}"
        if key in ("type", "learning_rate", "auto_register"):
            continue
        reading.resolve(f"resolved.optimizer.{key}", value, path)
        if facts is not None and arguments and key not in arguments:
            foreign_argument(reading, facts, path, str(key))
        if key in ("eps", "weight_decay"):
            string_number(reading, path, "building the optimizer fails", "优化器将构建失败")
    reading.resolve("resolved.optimizer.learning_rate", rate.value, *rate.sources, decided=rate.decided)
    own = f"{section}.learning_rate"
    if own in reading.places and rate.sources != (own,):
        decided_by = "lr_schedule.learning_rate" if "lr_schedule" in reading.places else "CosineWithWarmUpLR at 5e-05"
        written = reading.get(own)
        if written != rate.value or "lr_schedule" not in reading.places:
            reading.note("rate-overridden", own, schedule=f"{decided_by}: {rate.value}")


def _wrapper(reading: Reading, parallel: Parallelism) -> None:
    section = "runner_wrapper"
    given: dict[Any, Any] = dict(reading.section(section))
    if not given:
        return
    norm = f"{section}.max_grad_norm"
    if given.get("use_clip_grad") is True and "max_grad_norm" in given and given["max_grad_norm"] is None:
        reading.note("value-type", norm, key=norm, value="null", expected="a number", expected_zh="数")
    values = {str(key): Sourced(value, (f"{section}.{key}",)) for key, value in given.items()}
    per_token = Sourced(reading.get("calculate_per_token_loss"), ("calculate_per_token_loss",))
    if parallel.automatic and (parallel.pipeline != 1 or _above_one(parallel.accumulation.value)):
        reason = "parallel_config.pipeline_stage" if parallel.pipeline != 1 else parallel.accumulation.sources[0]
        values["type"] = Sourced("MFPipelineWithLossScaleCell", (f"{section}.type", reason))
        if parallel.pipeline != 1:
            values["micro_batch_num"] = parallel.handed_over["micro_batch_num"]
        if _above_one(parallel.accumulation.value):
            values["micro_batch_num"] = parallel.accumulation
    values["calculate_per_token_loss"] = per_token
    for name in ("print_separate_loss", "use_skip_data_by_global_norm"):
        values[name] = Sourced(reading.get(name), (name,))
    if reading.get("monitor_config") is not None:
        path = "monitor_config.global_norm_spike_threshold"
        values["global_norm_spike_threshold"] = Sourced(reading.get(path), (path,))
    facts = class_facts(reading, "wrapper", section, values["type"].value if "type" in values else None)
    if facts is not None:
        for name, default in facts["args"].items():
            if name not in values and default != REQUIRED and name not in _HANDED_BY_THE_TRAINER:
                values[name] = Sourced(default)
        for key in given:
            if key != "type" and key not in facts["args"]:
                foreign_argument(reading, facts, f"{section}.{key}", str(key))
    for name, one in values.items():
        reading.resolve(f"resolved.wrapper.{name}", one.value, *one.sources, decided=one.decided)


def _callbacks(reading: Reading) -> None:
    entries = reading.get("callbacks")
    if not is_list(entries):
        return
    _callback_arguments(reading, entries)
    kinds: list[Any] = in_effect("callbacks", reading.catalog, entries)
    sources = ["callbacks"]
    if reading.get("monitor_config.monitor_on") and "TrainingStateMonitor" not in kinds:
        kinds.append("TrainingStateMonitor")
        sources.append("monitor_config.monitor_on")
    reading.resolve("resolved.callbacks", kinds, *sources)


def _callback_arguments(reading: Reading, entries: list[Any]) -> None:
    """Arguments that a callback's constructor does not take."""
    classes: dict[str, str] = reading.catalog["callbacks"]
    for place, entry in enumerate(entries):
        kind: Any = entry.get("type") if is_mapping(entry) else None
        taken = classes.get(kind) if isinstance(kind, str) else None
        arguments = [] if taken is None else taken.split()
        if taken is None or "**" in arguments:
            continue
        for key in entry:
            if key not in _NOT_ARGUMENTS and key not in arguments:
                facts = {"class": entry["type"], "args": arguments, "open": False}
                foreign_argument(reading, facts, f"callbacks[{place}].{key}", str(key))


_NOT_ARGUMENTS = ("type", "auto_register")


def _above_one(value: Any) -> bool:
    return isinstance(value, int) and value > 1
