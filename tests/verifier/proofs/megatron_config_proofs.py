"""What Megatron-LM's own `core_transformer_config_from_args` makes of arguments, and what the verifier makes of them.

The tree stands on the path; only fields that a CPU process cannot follow are left out.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config
from accmap.verifier import megatron_model, megatron_side
from accmap.verifier.megatron_stand_ins import stand_ins

sys.path.insert(0, str(Path(__file__).parents[1] / "pairs"))
from pair_files import TABLE, write_pair

CPU = {"apply_rope_fusion": False, "params_dtype": torch.float32}
NO_MODEL = {"attention_backend", "inference_sampling_seed"}
"""Which kernel, and a seed of inference."""


def main(version: str) -> None:
    """Print the fields that differ, by pair."""
    found: dict[str, Any] = {}
    with stand_ins(), tempfile.TemporaryDirectory() as folder:
        from megatron.training.arguments import core_transformer_config_from_args

        for name, pair in TABLE["equal"].items():
            config = read_config(str(write_pair(pair, Path(folder))[0]), ReadOptions(megatron=version))
            blueprint = megatron_side.blueprint(config, megatron_side.sizes_of(config))
            settings = {key: setting.value for key, setting in config.settings.items()}
            small = {key: value for key, value in blueprint.model.items() if key in settings}
            real = core_transformer_config_from_args(argparse.Namespace(**{**settings, **small, **CPU}))
            ours = megatron_model._config(blueprint.model)
            assert type(real) is type(ours)
            found[name] = [
                field.name
                for field in dataclasses.fields(real)
                if field.name not in {*megatron_model.NEUTRAL, *NO_MODEL}
                and plain(getattr(real, field.name)) != plain(getattr(ours, field.name))
            ]
    print(json.dumps(found))


def plain(value: Any) -> Any:
    """A function by its name: each call makes its own."""
    return getattr(value, "__name__", type(value).__name__) if callable(value) else value
