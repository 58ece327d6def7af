"""Run inside a process that has MindSpore Transformers: how long each job's run is, and its learning rates.

The words are a JSON file of jobs (a YAML's path, and `samples` of the data set or `steps` of the run). The real
template, batch checks, shards, data set operations, runner configuration and schedule classes are used; only the
devices and the samples are made up.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import math
import sys
from pathlib import Path
from typing import Any

CONTEXT: dict[str, Any] = {}
WORLD = [1]


class Samples:
    """A data set of nothing but a length."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, at: int) -> tuple[int]:
        return (at,)


class Sized:
    """Batches that were counted elsewhere."""

    def __init__(self, count: int) -> None:
        self.count = count

    def get_dataset_size(self) -> int:
        return self.count


def made_up_devices() -> None:
    """The parallel context as a launch would set it, without any device."""
    import mindspore
    from mindformers.dataset import base_dataset
    from mindformers.tools.register import register
    from mindformers.trainer import base_trainer

    for module in (mindspore, mindspore.context):
        module.get_auto_parallel_context = CONTEXT.get
        module.set_auto_parallel_context = CONTEXT.update
    for module in (base_trainer, base_dataset):
        if hasattr(module, "get_real_group_size"):
            module.get_real_group_size = lambda: WORLD[0]
        if hasattr(module, "get_real_rank"):
            module.get_real_rank = lambda: 0
    real = mindspore.get_context
    mindspore.get_context = lambda key: 3 if key == "dataset_broadcast_opt_level" else real(key)
    mindspore.context.get_context = mindspore.get_context
    mindspore.set_context = lambda **_: None
    if hasattr(base_trainer, "mf_get_context"):
        base_trainer.mf_get_context = lambda *_: 3
        base_trainer.mf_set_context = lambda **_: None
    for module in (base_trainer, register):
        for name in ("is_legacy_model", "get_legacy"):
            if hasattr(module, name):
                setattr(module, name, lambda: False)


def launched(config: Any) -> None:
    """What `ParallelOperator` hands to MindSpore."""
    from mindformers.tools.utils import PARALLEL_MODE

    CONTEXT.clear()
    CONTEXT.update(pipeline_stages=1, parallel_mode="stand_alone", full_batch=False, dataset_strategy="data_parallel")
    WORLD[0] = 1
    if not config.use_parallel:
        return
    degrees, parallel = config.parallel_config, dict(config.parallel)
    mode, full = PARALLEL_MODE.get(parallel.get("parallel_mode")), parallel.get("full_batch")
    automatic = mode in ("semi_auto_parallel", "auto_parallel")
    CONTEXT.update(parallel_mode=mode, pipeline_stages=degrees.pipeline_stage or 1, full_batch=bool(full) and automatic)
    strategy = parallel.get("dataset_strategy")
    if not CONTEXT["full_batch"] and isinstance(strategy, list):
        CONTEXT["dataset_strategy"] = tuple(tuple(part) for part in strategy)
    for name in ("data_parallel", "model_parallel", "context_parallel", "pipeline_stage"):
        WORLD[0] *= getattr(degrees, name, None) or 1


def with_data(trainer: Any, config: Any, samples: int) -> int:
    """Batches of one epoch, after the trainer's own checks."""
    from mindformers.core.parallel_config import build_parallel_config
    from mindformers.dataset.base_dataset import BaseDataset
    from mindspore.dataset import GeneratorDataset

    launched(config)
    if hasattr(trainer, "_train_dataset_preprocess"):
        sink, config.runner_config.sink_mode = config.runner_config.sink_mode, True
        config = trainer._train_dataset_preprocess(config)
        config.runner_config.sink_mode = sink
    trainer.config = config
    build_parallel_config(config)
    trainer._check_grad_accumulation_steps()
    trainer._check_global_batch_size_for_auto_parallel()
    trainer._reset_wrapper()
    trainer._reset_dataset_batch_size()
    rank, shards = BaseDataset._generate_shard_info()
    data, loader = config.train_dataset, config.train_dataset.data_loader
    split: dict[str, Any] = {}
    if shards is not None and loader.type != "TrainingDataLoader":
        split = {"num_shards": shards, "shard_id": rank or 0}
    if loader.num_samples is not None:
        split["num_samples"] = loader.num_samples // (shards or 1)
    found = GeneratorDataset(Samples(samples), ["sample"], shuffle=False, **split)
    found = found.batch(data.batch_size, drop_remainder=data.drop_remainder)
    if data.get("repeat", 1) > 1:
        found = found.repeat(data.repeat)
    if loader.type == "BlendedMegatronDatasetDataLoader":
        found = found.take(int(loader.sizes[0]) // trainer.global_batch_size)
    return found.get_dataset_size()


def answer(job: dict[str, Any]) -> dict[str, Any]:
    from mindformers.tools.register import MindFormerConfig
    from mindformers.trainer.base_trainer import BaseTrainer
    from mindformers.trainer.utils import check_runner_config
    from mindspore import Tensor
    from mindspore import int32 as int32_type

    config = MindFormerConfig(job["file"])
    trainer = BaseTrainer.__new__(BaseTrainer)
    trainer.config = config
    runner = config.runner_config
    if "steps" in job:
        runner.sink_mode, runner.epochs, size = False, 1, job["steps"]
    else:
        size = with_data(trainer, config, job["samples"])
        config = trainer.config
        runner = config.runner_config
    trainer.train_dataset = Sized(size)
    check_runner_config(config, trainer.train_dataset)
    total = int(runner.epochs * (runner.sink_size if runner.sink_mode else size))
    if config.grouped_lr_schedule is not None and hasattr(trainer, "_create_grouped_lr_scheduler"):
        schedule = trainer._create_grouped_lr_scheduler(config.lr_scale, config.lr_scale_factor)[0]
    elif "lr_config" in BaseTrainer.create_lr_scheduler.__code__.co_varnames:
        schedule = trainer.create_lr_scheduler(config.lr_schedule, config.lr_scale, config.lr_scale_factor)
    else:
        schedule = trainer.create_lr_scheduler(config.lr_scale, config.lr_scale_factor)
    steps = sorted({step for step in (0, 1, *(total * part // 10 for part in range(1, 10)), total - 1) if step >= 0})
    rates = {step: float(schedule(Tensor([step], int32_type)).asnumpy().reshape(-1)[0]) for step in steps}
    assert all(map(math.isfinite, rates.values()))
    return {"data_size": size, "total_steps": total, "rates": rates}


def main() -> None:
    logging.disable(logging.CRITICAL)
    made_up_devices()
    found: list[Any] = []
    for job in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                found.append(answer(job))
            except (TypeError, ValueError) as error:
                found.append({"refused": f"{type(error).__name__}: {error}"})
    print("RESULT" + json.dumps(found))


main()
