"""What Megatron-LM's own `core_transformer_config_from_args` makes of arguments, and what the verifier makes of them.

The tree stands on the path; only fields that a CPU process cannot follow are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys
import tempfile
import typing
from pathlib import Path
from typing import Any

import torch
import typing_extensions

from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config
from accmap.verifier.megatron import from_launch, model
from accmap.verifier.megatron.stand_ins import stand_ins
from accmap.verifier.worker.patches import inert_triton

sys.path.insert(0, str(Path(__file__).parents[1] / "pairs"))
from pair_files import TABLE, write_pair

CPU = {"apply_rope_fusion": False, "params_dtype": torch.float32}
NO_MODEL = {"attention_backend", "inference_sampling_seed"}
"""Which kernel, and a seed of inference."""
EXPERTS_ALONE = {"moe_token_dispatcher_type"}
"""What a model without experts does not read."""
VARIANTS: dict[str, dict[str, Any]] = {
    "squared relu": {"swiglu": None, "squared-relu": True},
    "gelu": {"swiglu": None},
    "layer norm": {"normalization": "LayerNorm", "disable-bias-linear": None, "swiglu": None},
    "initialisation": {"init-method-std": 0.006},
    "residual": {"fp32-residual-connection": True, "apply-residual-connection-post-layernorm": True},
    "rotation": {"rotary-percent": 0.5, "rotary-interleaved": True},
    "learned positions": {"position-embedding-type": "learned_absolute", "hidden-dropout": 0.1},
    "query groups": {"group-query-attention": True, "num-query-groups": 2, "qk-layernorm": True, "add-qkv-bias": True},
    "softmax": {"attention-softmax-in-fp32": True, "no-masked-softmax-fusion": True, "attention-dropout": 0.2},
    "per token": {"calculate-per-token-loss": True, "tp-comm-overlap": None},
}
"""What is changed of the plain launch."""


def main(version: str) -> None:
    """Print the fields that differ, by pair."""
    found: dict[str, Any] = {}
    typing.override = typing_extensions.override  # type: ignore[attr-defined] - Python 3.12's, which 0.18 asks for
    pairs = {**TABLE["equal"], **{name: {"family": "dense", "megatron": flags} for name, flags in VARIANTS.items()}}
    with stand_ins(), inert_triton(), tempfile.TemporaryDirectory() as folder:
        from megatron.training.arguments import core_transformer_config_from_args

        for name, pair in pairs.items():
            config = read_config(str(write_pair(pair, Path(folder))[0]), ReadOptions(megatron=version))
            blueprint = from_launch.blueprint_of(config)
            settings = {key: setting.value for key, setting in config.settings.items()}
            small = {key: value for key, value in blueprint.model.items() if key in settings}
            real = core_transformer_config_from_args(argparse.Namespace(**{**settings, **small, **CPU}))
            ours = model._transformer_config(blueprint.model)
            assert type(real) is type(ours)
            found[name] = [
                field.name
                for field in dataclasses.fields(real)
                if field.name not in {*model.NEUTRAL, *NO_MODEL, *(() if real.num_moe_experts else EXPERTS_ALONE)}
                and plain(getattr(real, field.name)) != plain(getattr(ours, field.name))
            ]
    print(json.dumps(found))


def plain(value: Any) -> Any:
    """A function of numbers, or one that draws them, by what it gives, another by its name: each call makes its own."""
    torch.manual_seed(0)
    with contextlib.suppress(Exception):
        return value(torch.linspace(-3, 3, 13)).tolist()
    return getattr(value, "__name__", type(value).__name__) if callable(value) else value
