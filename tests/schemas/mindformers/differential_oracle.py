"""Run inside a process that has MindSpore Transformers: what it makes of each YAML named in a list file, or why not.

As `static_oracle.py`, for many files of which some are refused. One JSON object a line, in the order of the list:
`{"fields": …}` or `{"refused": …}`.
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
from typing import Any

from static_oracle import plain

LATENT = ("DeepseekV3ForCausalLM", "TeleChat3MoeForCausalLM")


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
    return {one.name: plain(getattr(found, one.name)) for one in dataclasses.fields(found) if hasattr(found, one.name)}


def alone(path: str) -> str:
    """The answer of a process of its own: 1.8 keeps what one conversion wrote for the next one."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                answer: dict[str, Any] = {"fields": resolved(path)}
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
    from mindformers.tools.register import register

    for name in ("is_legacy_model", "get_legacy"):
        if hasattr(register, name):
            setattr(register, name, lambda: False)
    if not hasattr(register, "is_legacy_model"):
        real = register.get_context
        register.get_context = lambda key, *rest: False if key == "use_legacy" else real(key, *rest)
    answers = [alone(path) for path in Path(sys.argv[1]).read_text("utf-8").splitlines()]
    Path(sys.argv[2]).write_text("\n".join(answers), "utf-8")


if __name__ == "__main__":
    main()
