"""Megatron-LM's real TransformerConfig of some runs: `shared_fields_megatron.py [TREE]`, one JSON job a line.

With a source tree its own parser, validation and `core_transformer_config_from_args` make it of `argv`. Without one,
the installed megatron-core's class is filled from `args`, the effective values that accmap reads out of the launch:
the function that does so in the real program is not on PyPI. Answers one JSON line each: `fields`, or `refused`.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import enum
import functools
import importlib
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import types

ORACLE = Path(__file__).parents[2] / "schemas" / "megatron"
RENAMED = {
    "layernorm_zero_centered_gamma": "apply_layernorm_1p",
    "layernorm_epsilon": "norm_epsilon",
    "num_moe_experts": "num_experts",
}


def said(value: Any) -> object:
    """A value as JSON: a function by what it computes, a type by its name."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, functools.partial):
        return f"normal({value.keywords['std']:.12g})"
    if isinstance(value, (list, tuple)):
        return [said(entry) for entry in cast("list[Any]", value)]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return getattr(value, "__name__", str(value).removeprefix("torch."))


def from_values(args: dict[str, Any]) -> object:
    """The installed class, filled as `core_transformer_config_from_args` of the same version fills it."""
    torch = importlib.import_module("torch")
    config = importlib.import_module("megatron.core.transformer.transformer_config")
    owner = config.MLATransformerConfig if args["multi_latent_attention"] else config.TransformerConfig
    taken = {RENAMED.get(field.name, field.name): field.name for field in dataclasses.fields(owner)}
    given = {field: args[name] for name, field in taken.items() if name in args}
    given["params_dtype"] = given["pipeline_dtype"] = getattr(torch, args["params_dtype"])
    given["persist_layer_norm"] = not args["no_persist_layer_norm"]
    given["num_query_groups"] = args["num_query_groups"] if args["group_query_attention"] else None
    given["bias_activation_fusion"] = args["bias_swiglu_fusion" if args["swiglu"] else "bias_gelu_fusion"]
    if args["swiglu"]:
        given |= {"activation_func": torch.nn.functional.silu, "gated_linear_unit": True}
    if args["squared_relu"]:
        given["activation_func"] = importlib.import_module("megatron.core.activations").squared_relu
    if args["init_method_xavier_uniform"]:
        given["init_method"] = given["scaled_init_method"] = torch.nn.init.xavier_uniform_
    if len(args["cp_comm_type"]) == 1:
        given["cp_comm_type"] = args["cp_comm_type"][0]
    del given["attention_backend"]  # an enumeration that the class alone has
    return owner(**given)


def from_arguments(arguments: types.ModuleType, job: dict[str, Any]) -> object:
    """What the tree's own functions make of a launch."""
    sys.argv = ["pretrain_gpt.py", *job["argv"]]
    os.environ.update(job["env"], WORLD_SIZE=str(job["world_size"]), RANK="0")
    namespace = arguments.parse_args(ignore_unknown_args=True)
    arguments.validate_args(namespace)
    return arguments.core_transformer_config_from_args(namespace)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tree", nargs="?")
    tree = parser.parse_args().tree
    jobs = [json.loads(line) for line in sys.stdin.read().splitlines()]
    output = sys.stdout
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "1")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        arguments = None
        sys.path.insert(0, str(ORACLE))
        oracle = importlib.import_module("megatron_oracle")
        if tree:
            arguments = oracle.prepare(tree)
        else:
            oracle.with_kernels()
        for job in jobs:
            try:
                made: Any = from_values(job["args"]) if arguments is None else from_arguments(arguments, job)
                answer = {"fields": {field.name: said(getattr(made, field.name)) for field in dataclasses.fields(made)}}
            except (Exception, SystemExit) as error:  # noqa: BLE001 - Megatron also exits
                answer = {"refused": f"{type(error).__name__}: {error}"}
            output.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
