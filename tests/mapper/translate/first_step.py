"""The real training classes of YAML files, built and taken through one step on a CPU: `first_step.py FILE...`.

The file goes through MindSpore Transformers' `MindFormerConfig`, its template and the model class's own configuration
into the class that the trainer builds; then come one forward and backward pass, the schedule and the optimizer that
the file names, and a second pass. Kernels that a CPU lacks are the verifier's stand-ins. One JSON line a file: the
losses, or `stops`.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import os
import sys
from typing import Any

import numpy as np
from shared_fields_mindformers import CLASSES

from accmap.verifier.mindformers.eager_stand_ins import EagerCoreAttention, stand_ins

GRAPH = "mindformers.parallel_core.training_graph"
LEGACY = ("mindformers.core.optim.muon", "mindformers.parallel_core.utils.model_mixin")
"""Modules that ask the trainer's context, which is not here, whether the model is a legacy one."""
SAMPLES = 2


def network(loaded: Any) -> Any:
    """The training class, as the trainer builds it of the file."""
    model = loaded.model.model_config
    folder, name, _ = CLASSES[model.model_type]
    model.parallel_config = loaded.parallel_config
    model.parallel_config.recompute = loaded.recompute_config
    settings_of = importlib.import_module(f"mindformers.models.{folder}.configuration_{model.model_type}")
    training = importlib.import_module(f"mindformers.models.{folder}.modeling_{model.model_type}_train")
    return getattr(training, f"Training{name}ForCausalLM")(getattr(settings_of, f"{name}Config")(**model))


def optimizer(loaded: Any, net: Any, rate: float) -> Any:
    """The file's optimizer class with the file's arguments."""
    groups = importlib.import_module(
        "mindformers.trainer.optimizer_grouped_parameters"
    ).get_optimizer_grouped_parameters
    given = dict(loaded.optimizer)
    kind, decay = given.pop("type"), given.pop("weight_decay", 0.0)
    more = {"model": net} if kind == "Muon" else {}
    owner = getattr(importlib.import_module("mindformers.core.optim"), kind)
    for key in ("learning_rate", "swap", "use_fused"):
        given.pop(key, None)
    return owner(groups(net, decay), learning_rate=rate, weight_decay=decay, **given, **more)


def step(path: str) -> dict[str, Any]:
    """The loss before and after one update."""
    import mindspore as ms

    register = importlib.import_module("mindformers.tools.register")
    loaded = register.MindFormerConfig(path)
    importlib.import_module("mindformers.tools.register.template").ConfigTemplate.apply_template(loaded)
    loaded = register.MindFormerConfig(**loaded)
    layouts = importlib.import_module(f"{GRAPH}.device_matrix")
    for kept in (layouts.layout, layouts.layout_moe):
        kept._layout = kept._config = kept._layout_type = None  # singletons of the process
    net = network(loaded)
    net.set_train(True)
    length, size = net.model.config.seq_length, net.model.config.vocab_size
    words = np.random.default_rng(0).integers(1, size, (2, SAMPLES, length)).astype(np.int32)
    tokens, labels = ms.Tensor(words[0]), ms.Tensor(words[1])
    positions = ms.Tensor(np.tile(np.arange(length, dtype=np.int32), (SAMPLES, 1)))
    weights = ms.ParameterTuple([one for one in net.get_parameters() if one.requires_grad])

    def loss_of() -> Any:
        return sum(part.sum() for part in net(tokens, position_ids=positions, labels=labels))

    differentiated = ms.value_and_grad(loss_of, None, weights)
    before, gradients = differentiated()
    schedule = dict(loaded.lr_schedule)
    owner = getattr(importlib.import_module("mindformers.core.lr"), schedule.pop("type"))
    rate = float(owner(**schedule)(ms.Tensor([1], ms.int32)).asnumpy().sum())
    update = optimizer(loaded, net, rate)
    by_name = {one.name: gradient for one, gradient in zip(weights, gradients, strict=True)}
    update(tuple(by_name[one.name] for one in update.parameters))
    after, _ = differentiated()
    return {"class": type(net).__name__, "loss": float(before.asnumpy()), "then": float(after.asnumpy())}


def main() -> None:
    os.environ.update(GLOG_v="4", RUN_MODE="train")
    logging.disable(logging.WARNING)
    import mindspore as ms

    ms.set_device("CPU")
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.runtime.launch_blocking()
    output = sys.stdout
    with stand_ins():
        importlib.import_module(f"{GRAPH}.base_models.gpt.gpt_layer_specs").FlashAttention = EagerCoreAttention
        for module in LEGACY:
            importlib.import_module(module).is_legacy_model = bool
        for path in sys.argv[1:]:
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    answer = step(path)
            except Exception as error:  # noqa: BLE001 - why it stops is the answer
                answer = {"stops": f"{type(error).__name__}: {error}"}
            output.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
