"""Run inside a process that has MindSpore Transformers: at which of its own checks each YAML stops, if it stops.

`startup_oracle.py GRAPH LIST ANSWERS`: YAMLs by their paths, one a line; the answers are JSON objects, one a line:
`{"accepted": true}`, or `{"stage", "refused", "at"}` with the place in the framework that raised. The real template,
context, trainer checks, schedule, optimizer and configuration classes are asked in the trainer's order; devices,
communication, samples and parameters are stand-ins.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accmap.verifier.worker import patches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WORLD = [1]
LATENT = ("DeepseekV3ForCausalLM", "TeleChat3MoeForCausalLM", "DeepseekV4ForCausalLM")
STEPS = 1000


class Sized:
    """Batches of no samples."""

    def get_dataset_size(self) -> int:
        return STEPS


def nothing(*_: Any, **__: Any) -> None:
    """Stand in for a call to a device."""


def without_devices() -> None:
    """Stand-ins for all that asks a device or other processes; checks of arguments stay the real ones."""
    import mindspore
    from mindformers.core.context import parallel
    from mindformers.tools.register import register

    target = mindspore.context._Context
    target.set_device_target = lambda _self, name: check_target(name)
    target.setters["device_target"] = target.set_device_target
    target.setters["device_id"] = nothing
    mindspore.context._check_ascend_device_context_initialized = nothing
    mindspore.context._check_target_specific_cfgs = lambda *_: True
    mindspore.set_device = lambda device_target, device_id=None: check_target(device_target, device_id)
    mindspore.runtime.set_cpu_affinity = nothing
    context = importlib.import_module("mindformers.core.context.build_context")  # the package has a function so named
    for name in ("set_ms_affinity", "set_cpu_affinity"):
        if hasattr(context, name):
            setattr(context, name, nothing)
    parallel.init = nothing
    parallel.get_group_size = lambda: WORLD[0]
    parallel.get_rank = lambda: 0
    parallel.initialize_model_parallel = nothing
    parallel.set_strategy_save_path = nothing
    for name in ("is_legacy_model", "get_legacy"):
        if hasattr(register, name):
            setattr(register, name, lambda: False)
    from mindformers.tools import check_rules
    from mindformers.trainer import base_trainer, trainer

    for module in (base_trainer, trainer, check_rules):
        for name, value in (("get_real_group_size", lambda: WORLD[0]), ("get_real_rank", lambda: 0)):
            if hasattr(module, name):
                setattr(module, name, value)
        if hasattr(module, "is_legacy_model"):
            module.is_legacy_model = lambda: False


def check_target(name: Any, number: Any = None) -> None:
    """What `mindspore.set_device` asks of its arguments (`mindspore/device_manager.py`)."""
    if name not in ("CPU", "GPU", "Ascend"):
        raise ValueError(f"device_target {name}")
    if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
        raise TypeError(f"device_id {number}")
    if number is not None and number < 0:
        raise ValueError(f"device_id {number}")


def static_stages(path: str) -> Iterator[tuple[str, Callable[[], Any]]]:  # noqa: C901 - the trainer's order
    from mindformers.core.context.build_context import build_context
    from mindformers.core.parallel_config import build_parallel_config
    from mindformers.models.build_config import get_model_config
    from mindformers.tools import check_rules
    from mindformers.tools.register import MindFormerConfig
    from mindformers.trainer.base_trainer import BaseTrainer
    from mindformers.trainer.trainer import Trainer
    from mindformers.trainer.utils import check_runner_config

    held: dict[str, Any] = {}

    def load() -> None:
        held["config"] = config = MindFormerConfig(path)
        degrees = config.parallel_config or {}
        WORLD[0] = 1
        if config.use_parallel:
            for name in ("data_parallel", "model_parallel", "context_parallel", "pipeline_stage"):
                value = degrees.get(name) or 1
                WORLD[0] *= value if isinstance(value, int) and value > 0 else 1

    yield "template", load
    config = held["config"]
    yield "context", lambda: build_context(config)
    above = Trainer.__new__(Trainer)
    above.config = config
    for name in ("is_model_instance", "reset_model"):
        setattr(above, name, False)
    trainer = BaseTrainer.__new__(BaseTrainer)
    trainer.config = config
    if hasattr(Trainer, "_reassign_monitor_config"):
        yield "monitor", above._reassign_monitor_config
    yield "parallel_config", lambda: build_parallel_config(config)
    yield "profile", lambda: above._build_profile_cb()
    yield "trainer", above._check_config_type
    yield "trainer", above._check_config_rules

    def data() -> None:
        found = config
        if hasattr(trainer, "_train_dataset_preprocess"):
            found = trainer._train_dataset_preprocess(config)
        trainer.set_config(found, is_full_config=True)

    yield "data", data

    def run() -> None:
        trainer.train_dataset = Sized()
        check_runner_config(config, trainer.train_dataset)

    yield "runner", run
    where = config.load_checkpoint
    if not isinstance(where, str) and config.get("use_legacy_format", True):  # that a path is there is not asked
        yield "load", lambda: Trainer.get_load_checkpoint(where)
    for name in ("_check_parallel", "_check_recompute", "_check_config_campacity", "_check_swap"):
        if hasattr(check_rules, name):
            yield "rules", lambda name=name: getattr(check_rules, name)(config)

    def model() -> None:
        arguments = {"parallel_config": config.parallel_config, "batch_size": config.runner_config.batch_size}
        found = get_model_config(config.model, default_args=arguments)
        names = found.architectures
        latent = (names[0] if isinstance(names, (list, tuple)) else names) in LATENT
        if hasattr(found, "convert_to_transformer_config"):
            found.convert_to_transformer_config(is_mla_model=latent)
        else:
            from mindformers.parallel_core.transformer_config_utils import convert_to_transformer_config

            convert_to_transformer_config(found, is_mla_model=latent)

    yield "model", model

    def schedule() -> None:
        scale = (config.lr_scale, config.lr_scale_factor)
        if config.grouped_lr_schedule is not None and hasattr(trainer, "_create_grouped_lr_scheduler"):
            held["rate"] = trainer._create_grouped_lr_scheduler(*scale)[0]
        elif "lr_config" in BaseTrainer.create_lr_scheduler.__code__.co_varnames:
            held["rate"] = trainer.create_lr_scheduler(config.lr_schedule, *scale)
        else:
            held["rate"] = trainer.create_lr_scheduler(*scale)
        first_rates(held["rate"])

    yield "schedule", schedule
    yield "optimizer", lambda: build_static_optimizer(config, held.get("rate"))
    yield "wrapper", lambda: build_static_wrapper(config)
    yield "callbacks", lambda: build_static_callbacks(config)


def first_rates(schedule: Any) -> None:
    """Ask a schedule for two rates, in no layout."""
    from mindspore import PYNATIVE_MODE, Tensor, context
    from mindspore import int32 as int32_type

    context.reset_auto_parallel_context()
    context.set_context(mode=PYNATIVE_MODE)
    if schedule is not None and callable(schedule):
        for step in (0, STEPS // 2):
            schedule(Tensor([step], int32_type))


def parameters() -> list[Any]:
    import numpy as np
    from mindspore import Parameter, Tensor

    return [Parameter(Tensor(np.ones((4, 4), np.float32)), name=f"layer.{at}.weight") for at in range(2)]


def build_static_optimizer(config: Any, rate: Any) -> None:
    """The optimizer class with two parameters (`BaseTrainer.create_optimizer_scheduler`)."""
    from mindformers.core.optim import build_optim

    settings = dict(config.optimizer)
    if settings.get("type") == "Muon":
        return
    group = [{"params": parameters(), "weight_decay": settings.get("weight_decay") or 0.0}]
    given: dict[str, Any] = {"params": group}
    if rate is not None:
        given["learning_rate"] = rate
    build_optim(settings, default_args=given)


def build_static_wrapper(config: Any) -> None:
    """The loss scale of the wrapper; the cell itself needs a network."""
    from mindformers.wrapper import build_wrapper

    settings = config.runner_wrapper
    if not settings:
        return
    from mindformers.tools.register import MindFormerModuleType, MindFormerRegister

    MindFormerRegister.get_cls(MindFormerModuleType.WRAPPER, settings.type)
    sense = settings.get("scale_sense")
    if isinstance(sense, dict):
        build_wrapper(dict(sense))


def build_static_callbacks(config: Any) -> None:
    from mindformers.core.callback import build_callback

    for entry in config.callbacks or []:
        given: dict[str, Any] = {}
        if entry.get("type") in ("MFLossMonitor", "CheckpointMonitor", "CheckpointMointor"):
            continue
        if entry.get("type") in ("TrainingStateMonitor", "StressDetectCallBack", "SDCMonitor", "TrainFaultTolerance"):
            continue
        build_callback(dict(entry), default_args=given)


def dynamic_stages(path: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    from mindformers.pynative.config import TrainConfig
    from mindformers.pynative.trainer import trainer as module
    from mindformers.pynative.trainer import utils
    from mindformers.tools.register import MindFormerModuleType, MindFormerRegister

    held: dict[str, Any] = {}

    def load() -> None:
        held["config"] = TrainConfig.load_from_yaml(path)

    yield "config", load
    config = held["config"]
    layout = config.parallelism
    WORLD[0] = 1
    for name in ("tensor_parallel", "pipeline_parallel", "context_parallel"):
        value = getattr(layout, name)
        WORLD[0] *= value if isinstance(value, int) and value > 0 else 1
    trainer = module.Trainer.__new__(module.Trainer)
    trainer.config, trainer.world_size, trainer.is_inference = config, WORLD[0], config.run_mode == "predict"

    def mode() -> None:
        if config.run_mode not in ("train", "predict"):  # Trainer.__init__
            raise ValueError(f"run_mode {config.run_mode}")
        if hasattr(module, "configure_max_logits_tracking"):
            module.configure_max_logits_tracking(config, None, None)

    yield "trainer", mode

    def batch() -> None:
        trainer.global_batch_size = config.training.global_batch_size
        trainer.dynamic_batch_enabled = getattr(config.training, "rampup_batch_size", None) is not None
        trainer._compute_data_parallel_size()

    yield "batch", batch

    def model() -> None:
        found = MindFormerRegister.get_instance_from_cfg(config.model.to_dict(), MindFormerModuleType.CONFIG)
        utils._sync_eod_compression_flag(config.train_dataset, found)
        found = utils.attach_context_parallel_runtime_hints(found, layout)
        MindFormerRegister.get_cls(MindFormerModuleType.MODELS, found.architectures)
        found.convert_to_transformer_config(is_mla_model=found.architectures in LATENT)

    yield "model", model
    if hasattr(utils, "validate_balance_config"):
        yield "data", lambda: utils.validate_balance_config(config.train_dataset)
    yield "data", lambda: build_dynamic_data(config)

    def schedule() -> None:
        held["rate"] = utils._build_lr_scheduler(config.lr_scheduler, config.training.steps)
        first_rates(held["rate"])

    yield "schedule", schedule

    def optimizer() -> None:
        class Model:
            def trainable_params(self) -> list[Any]:
                return parameters()

        if config.optimizer.to_dict().get("type") != "Muon":
            utils._build_optimizer(config.optimizer, [Model()], held["rate"])

    yield "optimizer", optimizer
    yield "callbacks", lambda: [utils._build_callback(one) for one in config.callbacks or []]


def build_dynamic_data(config: Any) -> None:
    """The data set's own settings, without its files."""
    from mindformers.dataset.blended_datasets import utils as blended
    from mindformers.dataset.blended_datasets.gpt_dataset import GPTDatasetConfig
    from mindformers.pynative.trainer import utils

    loader = config.train_dataset.dataloader.to_dict()
    kind = loader.get("type")
    known = ("BlendedMegatronDatasetDataLoader", "HFDataLoader", "MindDataset", "OrderedIndexDataLoader")
    if kind not in known or (not hasattr(utils, kind) and kind != "MindDataset"):
        raise ValueError(f"Unsupported dataloader type: {kind}")  # utils._build_dataset
    if kind != "BlendedMegatronDatasetDataLoader":
        return
    inner = dict(loader.get("config") or {})
    if not isinstance(inner.get("data_path"), (list, type(None))):
        raise TypeError("data_path")
    blend = blended.get_blend_from_list(inner.get("data_path"))
    fields = set(GPTDatasetConfig.__dataclass_fields__)
    given = {key: value for key, value in inner.items() if key in fields}
    given.setdefault("sequence_length", inner.get("seq_length"))
    given.setdefault("random_seed", inner.get("seed"))
    for name in ("reset_position_ids", "reset_attention_mask", "eod_mask_loss"):
        given.setdefault(name, False)  # as `init_gpt_dataset_config` does
    given["blend"] = blend
    if "tokenizer" in fields:
        given["tokenizer"] = "unknown"
    GPTDatasetConfig(**given)


def answer_of(path: str, stages: Callable[[str], Iterator[tuple[str, Callable[[], Any]]]]) -> dict[str, Any]:
    stage = ""
    try:
        for name, ask in stages(path):
            stage = name
            ask()
    except BaseException as error:  # noqa: BLE001 - whatever it raises is its answer
        frames = [one for one in traceback.extract_tb(error.__traceback__) if "mindformers/" in one.filename]
        frames = [one for one in frames if "/tests/" not in one.filename] or traceback.extract_tb(error.__traceback__)
        last = frames[-1]
        place = last.filename.rpartition("mindformers/")[2]
        deep = traceback.extract_tb(error.__traceback__)[-1]
        if "mindspore" in deep.filename:
            place += f" > {deep.filename.rpartition('site-packages/')[2]}:{deep.lineno}"
        text = f"{type(error).__name__}: {error}"[:300]
        return {"stage": stage, "refused": text, "at": f"{place}:{last.name}:{last.lineno}"}
    return {"accepted": True}


def alone(path: str, stages: Any) -> str:
    """The answer of a process of its own: contexts are kept by a process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            answer = answer_of(path, stages)
        with os.fdopen(writing, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(answer))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as stream:
        found = stream.read()
    os.waitpid(child, 0)
    return found or json.dumps({"stage": "", "refused": "the process ended", "at": ""})


def main() -> None:
    logging.disable(logging.CRITICAL)
    graph, listed, answer = sys.argv[1:]
    if graph == "dynamic":
        patches.install_hyper_parallel()
    without_devices()
    stages = dynamic_stages if graph == "dynamic" else static_stages
    answers = [alone(path, stages) for path in Path(listed).read_text("utf-8").splitlines()]
    Path(answer).write_text("\n".join(answers) + "\n", "utf-8")


if __name__ == "__main__":
    main()
