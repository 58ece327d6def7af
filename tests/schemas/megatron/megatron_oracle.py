"""Runs a Megatron-LM tree's own functions on a machine without a GPU, as the oracle.

`python megatron_oracle.py TREE` reads one JSON job a line (`argv`, `world_size`, `env`) and answers with one JSON
line each: `values` (the namespace after validation), or `refused`, which `parse_args`, `validate_args` or
`core_transformer_config_from_args` did. The first line answers the parser's defaults. They are run as `accmap verify`
runs them (`verifier/megatron/parser.py`); what stands in for a GPU stays for as long as the process lives.

A job with `startup` goes on up to the first step: the calculator of micro-batches, the process groups (without
processes), the seed, the configurations of optimizer and data, and the schedule. `place` is then the line of the tree
that refuses.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# The frameworks carry no types.

from __future__ import annotations

import argparse
import ast
import atexit
import contextlib
import dataclasses
import importlib
import inspect
import io
import json
import os
import sys
import textwrap
import traceback
import typing
import unittest.mock
import warnings
from unittest.mock import MagicMock

from accmap.verifier.megatron import parser
from accmap.verifier.worker.blueprint import LaunchPlan
from accmap.verifier.worker.patches import Patches, inert_triton

if typing.TYPE_CHECKING:
    import types
    from collections.abc import Iterator

_BLOCK = contextlib.ExitStack()
atexit.register(_BLOCK.close)


def prepare(tree: str) -> types.ModuleType:
    warnings.simplefilter("ignore")
    sys.path.insert(0, tree)
    import torch
    import torch._dynamo

    torch.compile = lambda *given, **_: given[0] if given and callable(given[0]) else lambda function: function
    _BLOCK.enter_context(inert_triton())
    arguments = parser.import_arguments()
    _BLOCK.enter_context(parser.pretend_gpu(arguments))
    return arguments


def with_kernels() -> None:
    """Stand-ins for the kernels whose presence the class asks for."""
    for module, name, value in parser.kernels():
        setattr(module, name, value)


@contextlib.contextmanager
def _without_processes(args: argparse.Namespace) -> Iterator[None]:
    """As many processes as the launch has seem to be there, and groups of them cost nothing."""
    import torch.distributed

    state = importlib.import_module("megatron.core.parallel_state")
    with Patches() as patches:
        for name, value in {
            "is_initialized": True,
            "get_rank": 0,
            "get_world_size": args.world_size,
            "new_group": MagicMock(),
            "get_backend": "nccl",
            "barrier": None,
        }.items():
            patches.put(torch.distributed, name, lambda *_, value=value, **__: value)
        patches.put(state, "create_group", lambda *_, **__: MagicMock())
        if hasattr(state, "create_hierarchical_groups"):
            patches.put(state, "create_hierarchical_groups", lambda *_, **__: ([MagicMock()] * 9, [MagicMock()] * 9))
        yield


def start(args: argparse.Namespace, script: str) -> None:
    """The conditions after the validation, in the order of `pretrain`, each asked by the tree's own function."""
    variables = importlib.import_module("megatron.training.global_vars")
    training = importlib.import_module("megatron.training.training")
    initialize = importlib.import_module("megatron.training.initialize")
    optimizers = importlib.import_module("megatron.core.optimizer.optimizer_config")
    with _without_processes(args), Patches() as patches:
        for name in ("_set_tensorboard_writer", "_set_one_logger", "_set_adlr_autoresume", "_set_signal_handler"):
            patches.put(variables, name, lambda *_: None)
        for name in ("_set_energy_monitor", "_set_telemetry", "disable_jit_fuser", "_set_wandb_writer"):
            if hasattr(variables, name):
                patches.put(variables, name, lambda *_: None)
        if hasattr(optimizers, "is_te_min_version"):
            patches.put(optimizers, "is_te_min_version", lambda *_: True)
        variables.destroy_global_vars()
        training.destroy_num_microbatches_calculator()
        variables.set_global_variables(args, build_tokenizer=False)
        _groups(initialize, args)
        patches.put(initialize, "mpu", MagicMock(**{"get_pipeline_model_parallel_rank.return_value": 0}))
        initialize._set_random_seed(args.seed)
        if args.enable_ft_package:
            _fault_tolerance(args)
        _optimizer(training, args)
        _scale(args)
        if args.skip_train:
            return
        group = {"lr": 0.0, "weight_decay": 0.0, "is_decoupled_lr": False, "default_config": True}
        training.get_optimizer_param_scheduler(MagicMock(param_groups=[group]))
        training.get_train_valid_test_num_samples()
        _data(script, args)
        # As `train` does before its first step.
        training.update_num_microbatches(0, consistency_check=True)


def _scale(args: argparse.Namespace) -> None:
    """The scaler of gradients, as `_get_megatron_optimizer_based_on_param_groups` makes it."""
    scalers = importlib.import_module("megatron.core.optimizer.grad_scaler")
    if not (args.fp16 or args.bf16 or args.use_distributed_optimizer):
        return
    tensor = scalers.torch.tensor
    with unittest.mock.patch.object(scalers.torch, "tensor", lambda *given, **named: tensor(*given)):  # on a CPU
        if args.loss_scale:
            scalers.ConstantGradScaler(args.loss_scale)
        elif args.fp16:
            scalers.DynamicGradScaler(
                initial_scale=args.initial_loss_scale,
                min_scale=args.min_loss_scale,
                growth_factor=2.0,
                backoff_factor=0.5,
                growth_interval=args.loss_scale_window,
                hysteresis=args.hysteresis,
            )


def _groups(initialize: types.ModuleType, args: argparse.Namespace) -> None:
    """The call of `initialize_model_parallel` that stands in `_initialize_distributed`."""
    state = importlib.import_module("megatron.core.parallel_state")
    tree = ast.parse(textwrap.dedent(inspect.getsource(initialize._initialize_distributed)))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    call = next(node for node in calls if ast.unparse(node.func).endswith("initialize_model_parallel"))
    state.destroy_model_parallel()
    known = {"args": args, "mpu": state, "get_embedding_ranks": None, "get_position_embedding_ranks": None}
    eval(compile(ast.Expression(call), state.__file__ or "", "eval"), known)
    state.get_expert_model_parallel_rank()  # as `_set_random_seed` asks on a device
    state.destroy_model_parallel()


def _fault_tolerance(args: argparse.Namespace) -> None:
    """The setup of NVIDIA's package, which writes beside the checkpoints; from 0.16 on it parses for itself."""
    tolerance = importlib.import_module("megatron.training.ft_integration")
    tolerance._GLOBAL_RANK_MONITOR_CLIENT = None
    modules = {name: MagicMock() for name in ("nvidia_resiliency_ext", "nvidia_resiliency_ext.fault_tolerance")}
    with (
        unittest.mock.patch.dict(sys.modules, modules),
        unittest.mock.patch.object(os, "makedirs"),
        Patches() as patches,
    ):
        if inspect.signature(tolerance.setup).parameters:
            patches.put(tolerance, "print_rank_0", lambda *_: None)
            tolerance.setup(args)
        else:
            patches.put(tolerance, "arguments", MagicMock(**{"parse_args.return_value": args}))
            tolerance.setup()


class _FusedAdam:
    """The arguments of Transformer Engine's, for which the configuration of the optimizer looks."""

    def __init__(
        self, master_weight_dtype: str, exp_avg_dtype: str, exp_avg_sq_dtype: str, use_decoupled_grad: bool
    ) -> None: ...


def _optimizer(training: types.ModuleType, args: argparse.Namespace) -> None:
    kernels = MagicMock(FusedAdam=_FusedAdam, __spec__=None)
    names = ("transformer_engine", "transformer_engine.pytorch", "transformer_engine.pytorch.optimizers")
    with unittest.mock.patch.dict(sys.modules, dict.fromkeys(names, kernels)):
        _configure_optimizer(training, args)


def _configure_optimizer(training: types.ModuleType, args: argparse.Namespace) -> None:
    if hasattr(training, "get_megatron_optimizer_config"):
        training.get_megatron_optimizer_config(args)
        return
    names = [field.name for field in dataclasses.fields(training.OptimizerConfig)]
    training.OptimizerConfig(**{name: getattr(args, name) for name in names if hasattr(args, name)})


def _data(script: str, args: argparse.Namespace) -> None:
    program = importlib.import_module(script)
    with Patches() as patches:
        for name in ("get_tokenizer", "build_tokenizer"):
            if hasattr(program, name):
                patches.put(program, name, lambda *_, **__: MagicMock(vocab_size=1000))
        program.core_gpt_dataset_config_from_args(args)


def answer(arguments: types.ModuleType, job: dict[str, typing.Any], tree: str) -> dict[str, typing.Any]:
    """The answer to a job that goes on up to the first step."""
    plan = LaunchPlan(tuple(job["argv"]), job["world_size"], job["env"], job.get("defaults", {}))
    errors = io.StringIO()
    try:
        surroundings = {**plan.environment, "WORLD_SIZE": str(plan.world_size), "RANK": "0"}
        with contextlib.redirect_stderr(errors), unittest.mock.patch.dict(os.environ, surroundings):
            start(parser.parse_launch(arguments, plan), job["startup"])
    except (OSError, ImportError) as error:
        return {"absent": f"{type(error).__name__}: {error}"}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - Megatron-LM also exits
        frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.startswith(tree + os.sep)]
        last = frames[-1]
        place = f"{os.path.relpath(last.filename, tree)}:{last.lineno}"
        message = errors.getvalue().strip().rpartition("error: ")[2] if isinstance(error, SystemExit) else str(error)
        return {"refused": f"{type(error).__name__}: {message}", "place": place, "statement": last.line}
    return {"accepted": True}


def main() -> None:
    output = sys.stdout
    tree = os.path.abspath(sys.argv[1])
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        arguments = prepare(tree)
        known = arguments.add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))
        defaults = parser.values_of(known.parse_args([]))
        print(json.dumps(defaults), file=output, flush=True)
        for line in sys.stdin:
            job = json.loads(line)
            if "startup" in job:
                print(json.dumps(answer(arguments, job, tree)), file=output, flush=True)
                continue
            plan = LaunchPlan(tuple(job["argv"]), job["world_size"], job["env"], job.get("defaults", {}))
            found = parser.answer_launch(plan)
            told = found if "values" in found else {"refused": next(iter(found.values()))}
            print(json.dumps(told), file=output, flush=True)


if __name__ == "__main__":
    main()
