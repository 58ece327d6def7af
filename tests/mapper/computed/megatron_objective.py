"""What the real loss, router, schedule and gradient reduction of a Megatron-LM tree make of constructed inputs.

`python megatron_objective.py TREE RANK STORE` is one of two ranks. It reads one JSON job a line (`argv`, `masked`) and
rank 0 answers with one JSON line each: how much every token of a step weighs in the gradient, and how much is left of a
balancing loss and of a z loss, measured on the router's weight against their definitions over the tokens in question.
The loss of a token is a parameter of its own, so that its gradient is its weight. `pretrain_gpt.py:loss_func`,
`schedules.py:forward_step`, `DistributedDataParallel` and `finalize_model_grads` are the tree's own.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import io
import json
import os
import sys
import traceback
import types
import typing
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))
LENGTH, HIDDEN, EXPERTS, CHOSEN = 16, 8, 4, 2
COMMON = (
    f"--num-layers 2 --hidden-size {HIDDEN} --num-attention-heads 2 --seq-length {LENGTH} --max-position-embeddings 64 "
    f"--num-experts {EXPERTS} --moe-router-topk {CHOSEN} --train-iters 10 --lr 1e-4 --transformer-impl local "
    "--tokenizer-type NullTokenizer --vocab-size 100 --data-path d --disable-bias-linear --no-rope-fusion "
    "--position-embedding-type rope --no-gradient-accumulation-fusion --no-check-for-nan-in-loss-and-grad "
)


def prepared(tree: str, rank: int, store: str) -> types.ModuleType:
    """The tree's arguments, as `megatron_network.py` prepares them, with two ranks."""
    import torch

    # Streams order what a device does; here everything is done in turn.
    stream = types.SimpleNamespace(wait_stream=lambda *_: None, synchronize=lambda: None, wait_event=lambda *_: None)
    torch.cuda.current_stream = torch.cuda.Stream = lambda *_, **__: stream
    torch.cuda.stream = lambda *_: contextlib.nullcontext()
    torch.cuda.synchronize = lambda *_: None
    started = torch.distributed.init_process_group
    place = torch.distributed.FileStore(store, 2)
    torch.distributed.init_process_group = lambda *_, **__: started("gloo", rank=rank, world_size=2, store=place)
    from megatron_network import prepared as network_prepared

    return network_prepared(tree)


def loss_function(tree: str, args: typing.Any) -> typing.Any:
    """The function of `pretrain_gpt.py` alone, over the names that it uses."""
    import torch
    from megatron.core import mpu

    source = ast.parse((Path(tree) / "pretrain_gpt.py").read_text("utf-8"))
    found = next(one for one in source.body if isinstance(one, ast.FunctionDef) and one.name == "loss_func")
    for one in found.args.args:
        one.annotation = None
    names = {
        "torch": torch, "mpu": mpu, "get_args": lambda: args, "get_rerun_state_machine": lambda: None,
        "has_nvidia_modelopt": False,
    }  # fmt: skip
    exec(compile(ast.Module([found], []), "pretrain_gpt.py", "exec"), names)
    return names["loss_func"]


def build(arguments: types.ModuleType, argv: list[str], rank: int) -> tuple[typing.Any, typing.Any]:
    """The arguments and the TransformerConfig, and the groups of ranks that they ask for."""
    from megatron.core import parallel_state

    sys.argv = ["pretrain.py", *COMMON.split(), *argv]
    os.environ.update(WORLD_SIZE="2", RANK=str(rank), LOCAL_RANK=str(rank), CUDA_DEVICE_MAX_CONNECTIONS="1")
    args = arguments.validate_args(arguments.parse_args(ignore_unknown_args=True))
    args.use_cpu_initialization, args.perform_initialization = True, False
    config = arguments.core_transformer_config_from_args(args)
    parallel_state.destroy_model_parallel()
    parallel_state.initialize_model_parallel(
        args.tensor_model_parallel_size, context_parallel_size=args.context_parallel_size
    )
    return args, config


def router_of(config: typing.Any) -> typing.Any:
    from megatron.core.transformer.moe import moe_utils
    from megatron.core.transformer.moe.router import TopKRouter

    if not hasattr(moe_utils, "te_general_gemm"):
        moe_utils.te_general_gemm = None  # where Transformer Engine is not installed
    known = inspect.signature(TopKRouter.__init__).parameters
    further = {}
    for name, maker in (
        ("model_comm_pgs", "get_default_model_comm_pgs"),
        ("pg_collection", "get_default_pg_collection"),
    ):
        if name in known:
            further[name] = getattr(moe_utils, maker)()
    router = TopKRouter(config, **further)
    router.set_layer_number(1)
    return router


def answer(tree: str, arguments: types.ModuleType, job: dict[str, typing.Any], rank: int) -> dict[str, object]:
    import torch
    from megatron.core import parallel_state as groups
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
    from megatron.core.distributed.finalize_model_grads import finalize_model_grads
    from megatron.core.pipeline_parallel.schedules import forward_step

    args, config = build(arguments, job["argv"], rank)
    tensor, context, copies = args.tensor_model_parallel_size, args.context_parallel_size, args.data_parallel_size
    batch = args.micro_batch_size
    rounds = args.global_batch_size // (batch * copies)
    place = {
        "tensor": groups.get_tensor_model_parallel_rank(), "context": groups.get_context_parallel_rank(),
        "copy": groups.get_data_parallel_rank(),
    }  # fmt: skip
    make = torch.Generator().manual_seed(1)
    inputs = torch.randn(rounds, copies, LENGTH, batch, HIDDEN, generator=make)
    mask = torch.ones(rounds, copies, batch, LENGTH)
    if job.get("masked"):
        mask = (torch.rand(mask.shape, generator=make) > 0.3).float()
    weight = torch.randn(EXPERTS, HIDDEN, generator=make)

    class Model(torch.nn.Module):
        """A loss for every token, beside the real router."""

        def __init__(self) -> None:
            super().__init__()
            self.config, self.model_type, self.vp_stage = config, None, None
            self.tokens = torch.nn.Parameter(torch.zeros(mask.numel()))
            self.router = router_of(config)
            self.router.weight.data.copy_(weight)
            self.share_embeddings_and_output_weights = False
            self.pre_process = self.post_process = True

        def set_input_tensor(self, tensor: object) -> None:
            pass

    model = Model()
    parallel = DistributedDataParallel(config, DistributedDataParallelConfig(overlap_grad_reduce=False), model)
    parallel.vp_stage = None
    loss_func = loss_function(tree, args)
    numbers = torch.arange(mask.numel()).reshape(mask.shape)
    counted = torch.tensor(0, dtype=torch.int)
    for number in range(rounds):
        own = slice(*(LENGTH // context * (place["context"] + one) for one in (0, 1)))
        parts = LENGTH // context // tensor
        routed = inputs[number, place["copy"], own][parts * place["tensor"] : parts * (place["tensor"] + 1)]

        def step(
            _data: object, _model: object, number: int = number, own: slice = own, routed: torch.Tensor = routed
        ) -> object:
            probs, _ = model.router(routed)
            losses = model.tokens[numbers[number, place["copy"], :, own]] + 0.0 * probs.sum()
            return losses, functools.partial(loss_func, mask[number, place["copy"], :, own].contiguous())

        known = inspect.signature(forward_step).parameters
        further = {"cp_group_size": context} if "cp_group_size" in known else {}
        output, tokens = forward_step(step, None, parallel, rounds, None, [], config, **further)
        counted = counted + tokens
        (output[0] if isinstance(output, list) else output).backward()
    finalize_model_grads([parallel], counted if config.calculate_per_token_loss else None)
    return {
        "weights": model.tokens.main_grad.tolist(),
        "mask": mask.tolist(),
        "kept": kept(inputs, weight, model.router.weight.main_grad, args),
    }


def kept(inputs: typing.Any, weight: typing.Any, found: typing.Any, args: typing.Any) -> dict[str, float]:
    """How often the gradient holds that of each term by its definition, over one sample, a micro batch or the step."""
    import torch

    rounds, copies, length, batch, hidden = inputs.shape

    def gradient(term: str) -> typing.Any:
        own = weight.clone().requires_grad_()
        samples = inputs.permute(0, 1, 3, 2, 4)  # rounds, copies, batch, length, hidden
        sizes = {"sample": length, "batch": batch * length, "step": rounds * copies * batch * length}
        if term == "z":
            logits = samples.reshape(-1, hidden) @ own.T
            torch.logsumexp(logits, -1).square().mean().backward()
            return own.grad
        logits = samples.reshape(-1, sizes[term], hidden) @ own.T
        probs = torch.softmax(logits, -1)
        chosen = torch.zeros_like(probs).scatter(-1, logits.topk(CHOSEN, -1).indices, 1.0)
        (EXPERTS * (probs.mean(1) * chosen.mean(1) / CHOSEN).sum(-1)).mean().backward()
        return own.grad

    terms = {"batch": "aux_loss", "sample": "seq_aux_loss", "step": "global_aux_loss"}
    wanted = [
        one for one, name in terms.items() if name == args.moe_router_load_balancing_type and args.moe_aux_loss_coeff
    ]
    wanted += ["z"] if args.moe_z_loss_coeff else []
    if not wanted:
        return {"rest": 0.0}
    columns = torch.stack([gradient(one).flatten() for one in wanted], 1)
    solved = torch.linalg.lstsq(columns, found.flatten()[:, None])
    rest = (columns @ solved.solution - found.flatten()[:, None]).norm() / found.norm()
    return {
        **{one: float(value) for one, value in zip(wanted, solved.solution.flatten(), strict=True)},
        "rest": float(rest),
    }


def main() -> None:
    jobs = os.fdopen(os.dup(0), encoding="utf-8")
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    tree, rank = sys.argv[1], int(sys.argv[2])
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        arguments = prepared(tree, rank, sys.argv[3])
        for line in jobs:
            try:
                found = answer(tree, arguments, json.loads(line), rank)
            except BaseException as error:  # noqa: BLE001 - Megatron also exits
                found = {"refused": f"{type(error).__name__}: {error}", "where": traceback.format_exc()[-1500:]}
            if rank == 0:
                print(json.dumps(found), file=output, flush=True)


if __name__ == "__main__":
    main()
