"""Run inside a process that has MindSpore Transformers: what it makes of each YAML named in a list file, or why not.

As `static_oracle.py`, for many files of either graph, of which some are refused. One JSON object a line, in the order
of the list: `{"fields": …}` or `{"refused": …}`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from static_oracle import plain

from accmap.verifier.worker import patches

if TYPE_CHECKING:
    from collections.abc import Callable

LATENT = ("DeepseekV3ForCausalLM", "TeleChat3MoeForCausalLM", "DeepseekV4ForCausalLM")


def resolved(path: str) -> dict[str, Any]:
    from mindformers.core.parallel_config import build_parallel_config
    from mindformers.models.build_config import get_model_config
    from mindformers.tools.register import MindFormerConfig

    config = MindFormerConfig(path)
    build_parallel_config(config)
    arguments = {"parallel_config": config.parallel_config, "batch_size": config.runner_config.batch_size}
    model = get_model_config(config.model, default_args=arguments)
    names = model.architectures
    latent = (names[0] if isinstance(names, (list, tuple)) else names) in LATENT
    if hasattr(model, "convert_to_transformer_config"):
        found = model.convert_to_transformer_config(is_mla_model=latent)
    else:
        from mindformers.parallel_core.transformer_config_utils import convert_to_transformer_config

        found = convert_to_transformer_config(model, is_mla_model=latent)
    return fields_of(found)


def resolved_dynamically(path: str) -> dict[str, Any]:
    """As the dynamic graph's trainer makes it (`pynative/trainer/utils.py:_build_model`) before the model is built."""
    from mindformers.pynative.config import TrainConfig
    from mindformers.pynative.trainer import utils
    from mindformers.tools.register import MindFormerModuleType, MindFormerRegister

    config = TrainConfig.load_from_yaml(path)
    model = MindFormerRegister.get_instance_from_cfg(config.model.to_dict(), MindFormerModuleType.CONFIG)
    if hasattr(utils, "_sync_eod_compression_flag"):
        utils._sync_eod_compression_flag(config.train_dataset, model)
        model = utils.attach_context_parallel_runtime_hints(model, config.parallelism)
    return fields_of(model.convert_to_transformer_config(is_mla_model=model.architectures in LATENT))


def fields_of(found: Any) -> dict[str, Any]:
    return {one.name: plain(getattr(found, one.name)) for one in dataclasses.fields(found) if hasattr(found, one.name)}


def alone(path: str, resolve: Callable[[str], dict[str, Any]]) -> str:
    """The answer of a process of its own: 1.8 keeps what one conversion wrote for the next one."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                answer: dict[str, Any] = {"fields": resolve(path)}
            except Exception as error:  # noqa: BLE001 - whatever it raises is its answer
                answer = {"refused": f"{type(error).__name__}: {error}"[:300]}
        with os.fdopen(writing, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(answer))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as stream:
        found = stream.read()
    os.waitpid(child, 0)
    return found


def main() -> None:
    logging.disable(logging.CRITICAL)
    graph, listed, answer = sys.argv[1:]
    if graph == "dynamic":
        patches.install_hyper_parallel()
    from mindformers.tools.register import register

    for name in ("is_legacy_model", "get_legacy"):
        if hasattr(register, name):
            setattr(register, name, lambda: False)
    if not hasattr(register, "is_legacy_model"):
        real = register.get_context
        register.get_context = lambda key, *rest: False if key == "use_legacy" else real(key, *rest)
    resolve = resolved_dynamically if graph == "dynamic" else resolved
    answers = [alone(path, resolve) for path in Path(listed).read_text("utf-8").splitlines()]
    Path(answer).write_text("\n".join(answers), "utf-8")


if __name__ == "__main__":
    main()
