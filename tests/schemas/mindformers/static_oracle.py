"""Run inside a process that has MindSpore Transformers: print the TransformerConfig of each YAML named as argument.

The real template, the real model configuration class and the real conversion are used; only the registry is told
that the model is not a legacy one, which a running trainer would tell it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import logging
import sys
from typing import Any


def plain(value: Any) -> Any:
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    return str(value).lower()


def main() -> None:
    logging.disable(logging.CRITICAL)
    from mindformers.core.parallel_config import build_parallel_config
    from mindformers.models.build_config import get_model_config
    from mindformers.tools.register import MindFormerConfig, register

    for name in ("is_legacy_model", "get_legacy"):
        if hasattr(register, name):
            setattr(register, name, lambda: False)
    if not hasattr(register, "is_legacy_model"):
        real = register.get_context
        register.get_context = lambda key, *rest: False if key == "use_legacy" else real(key, *rest)
    found: list[Any] = []
    for path in sys.argv[1:]:
        with contextlib.redirect_stdout(io.StringIO()):
            config = MindFormerConfig(path)
            build_parallel_config(config)
            arguments = {"parallel_config": config.parallel_config, "batch_size": config.runner_config.batch_size}
            model = get_model_config(config.model, default_args=arguments)
            mla = type(model).__name__ in ("DeepseekV3Config", "TeleChat3MoeConfig")
            if hasattr(model, "convert_to_transformer_config"):
                resolved = model.convert_to_transformer_config(is_mla_model=mla)
            else:
                from mindformers.parallel_core.transformer_config_utils import convert_to_transformer_config

                resolved = convert_to_transformer_config(model, is_mla_model=mla)
        fields = [field.name for field in dataclasses.fields(resolved)]
        found.append({name: plain(getattr(resolved, name)) for name in fields if hasattr(resolved, name)})
    print("RESULT" + json.dumps(found))


if __name__ == "__main__":
    main()
