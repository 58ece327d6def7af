"""Builds the real `GPTModel` of a Megatron-LM tree from argument lists and says how many parameters it has.

`python megatron_network.py TREE` reads one JSON job a line (`argv`, `padded`: the rows of the embedding table) and
answers with one JSON line each: the number of trainable parameters by name, and what attention makes of the
configuration. The arguments go through the tree's own
parser, validation and `core_transformer_config_from_args`; the layers are chosen as `pretrain_gpt.py` and
`gpt_builders.py` choose them without Transformer Engine.
Stand-ins, which have no parameters: the core attention of latent attention, which is Transformer Engine's alone.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import sys
import traceback
import types
import typing
from pathlib import Path

HERE = Path(__file__).resolve()


def prepared(tree: str) -> types.ModuleType:
    """The tree's own arguments, with the stand-ins of the arguments' oracle."""
    place = HERE.parents[2] / "schemas" / "megatron" / "megatron_oracle.py"
    spec = importlib.util.spec_from_file_location("megatron_oracle", place)
    assert spec is not None
    assert spec.loader is not None
    oracle = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oracle)
    arguments = oracle.prepare(tree)
    import torch

    torch.cuda.current_device = lambda: "cpu"
    torch.distributed.init_process_group("gloo", rank=0, world_size=1, store=torch.distributed.HashStore())
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel.random import initialize_rng_tracker

    parallel_state.initialize_model_parallel()
    with contextlib.suppress(Exception):
        initialize_rng_tracker(inference_rng_tracker=True)
    return arguments


def namespace(arguments: types.ModuleType, argv: list[str]) -> typing.Any:
    sys.argv = ["pretrain.py", *argv]
    os.environ.update(WORLD_SIZE="1", RANK="0", CUDA_DEVICE_MAX_CONNECTIONS="1")
    args = arguments.parse_args(ignore_unknown_args=True)
    return arguments.validate_args(args)


def without_parameters() -> type:
    """A core attention that takes any arguments and has no parameters."""
    from megatron.core.transformer.module import MegatronModule

    class Core(MegatronModule):
        def __init__(self, config: typing.Any, *_: object, **__: object) -> None:
            super().__init__(config=config)

    return Core


def with_types() -> None:
    """Classes of Transformer Engine that are asked for by `isinstance`, where it is not installed."""
    from megatron.core.transformer import attention, multi_latent_attention

    for module in (attention, multi_latent_attention):
        for name in ("Linear", "TELinear", "TEColumnParallelLinear"):
            if not isinstance(getattr(module, name, type), type):
                setattr(module, name, type(name, (), {}))


def layers(specs: types.ModuleType, args: typing.Any, config: typing.Any) -> typing.Any:
    """`pretrain_gpt.py:model_provider`, `gpt_builders.py:gpt_builder` for `transformer_impl` local."""
    import inspect

    further = {"normalization": args.normalization, "qk_l2_norm": getattr(args, "qk_l2_norm", False)}
    if args.num_experts:
        builder = specs.get_gpt_decoder_block_spec
        known = inspect.signature(builder).parameters
        return builder(config, use_transformer_engine=False, **{k: v for k, v in further.items() if k in known})
    builder = specs.get_gpt_layer_local_spec
    given = {
        "num_experts": args.num_experts,
        "moe_grouped_gemm": args.moe_grouped_gemm,
        "qk_layernorm": args.qk_layernorm,
        "multi_latent_attention": args.multi_latent_attention,
        **further,
    }
    known = inspect.signature(builder).parameters
    if "num_experts" in known:
        given = {key: value for key, value in given.items() if key in known}
    return builder(**given)


def model(arguments: types.ModuleType, job: dict[str, typing.Any]) -> typing.Any:
    from megatron.core.models.gpt import gpt_layer_specs as specs
    from megatron.core.models.gpt.gpt_model import GPTModel

    args = namespace(arguments, job["argv"])
    for name in ("gradient_accumulation_fusion", "async_tensor_model_parallel_allreduce"):
        setattr(args, name, False)
    args.use_cpu_initialization, args.perform_initialization = True, bool(job.get("drawn"))
    args.no_persist_layer_norm = True
    config = arguments.core_transformer_config_from_args(args)
    spec = layers(specs, args, config)
    if args.multi_latent_attention:
        with_types()
        for one in getattr(spec, "layer_specs", [spec]):
            one.submodules.self_attention.submodules.core_attention = without_parameters()
    mtp = None
    if args.mtp_num_layers is not None:
        mtp = specs.get_gpt_mtp_block_spec(config, spec, use_transformer_engine=False)
    further = {}
    if importlib.util.find_spec("megatron.training.models") and hasattr(args, "rotary_seq_len_interpolation_factor"):
        with contextlib.suppress(ImportError):
            from megatron.training.argument_utils import gpt_config_from_args  # noqa: F401 - from 0.19 on

            further["seq_len_interpolation_factor"] = args.rotary_seq_len_interpolation_factor
    return GPTModel(
        config,
        spec,
        vocab_size=job["padded"],
        max_sequence_length=args.max_position_embeddings,
        share_embeddings_and_output_weights=not args.untie_embeddings_and_output_weights,
        position_embedding_type=args.position_embedding_type,
        rotary_percent=args.rotary_percent,
        rotary_base=args.rotary_base,
        rope_scaling=args.use_rope_scaling,
        mtp_block_spec=mtp,
        **further,
    )


def attention(built: typing.Any) -> dict[str, object]:
    """What its real modules scale scores with, the angles at position 1 and their amplitude, and the windows."""
    blocks = [layer.self_attention for layer in built.decoder.layers]
    latent = hasattr(blocks[0], "rotary_pos_emb")
    core = blocks[0].core_attention
    scale = blocks[0].softmax_scale if latent else core.softmax_scale
    if not latent and built.config.apply_query_key_layer_scaling:
        scale *= core.scale_mask_softmax.scale  # what is divided here is multiplied there
    turning = blocks[0].rotary_pos_emb if latent else getattr(built, "rotary_pos_emb", None)
    angles, amplitude = None, None
    if turning is not None:
        found = turning(2)
        table, amplitude = found if isinstance(found, tuple) else (found, 1.0)
        row = table[1, 0, 0]
        angles = row[: len(row) // 2].tolist()
    windows = [getattr(getattr(one.core_attention, "scale_mask_softmax", None), "window_size", None) for one in blocks]
    return {"scale": scale, "angles": angles, "amplitude": amplitude, "windows": windows}


def drawn(arguments: types.ModuleType, job: dict[str, typing.Any], built: typing.Any) -> dict[str, object]:
    """Of every parameter its deviation, and its weight decay by the tree's own groups (`optimizer/__init__.py`)."""
    import dataclasses
    import inspect

    from megatron.core import optimizer
    from megatron.core.optimizer import OptimizerConfig

    args = namespace(arguments, job["argv"])
    fields = [field.name for field in dataclasses.fields(OptimizerConfig) if hasattr(args, field.name)]
    config = OptimizerConfig(**{name: getattr(args, name) for name in fields})
    given: dict[str, typing.Any] = {
        "model_chunks": [built], "no_weight_decay_cond": None, "scale_lr_cond": None, "lr_mult": 1.0,
        "lr": args.lr, "min_lr": args.min_lr, "decoupled_lr": None, "decoupled_min_lr": None,
        "config": config,
        # 0.14 and 0.15 training/training.py:setup_model_and_optimizer
        "default_skip_embedding_weight_decay": getattr(args, "embedding_init_method_std", None) is not None,
    }  # fmt: skip
    known = inspect.signature(optimizer._get_param_groups).parameters
    if "config_overrides" in known:  # from 0.16 on training/training.py:get_megatron_optimizer_config asks for these
        given["config_overrides"] = optimizer.get_standard_config_overrides(config)
    built.ddp_config = types.SimpleNamespace(use_custom_fsdp=False, use_megatron_fsdp=False)
    groups = optimizer._get_param_groups(**{name: value for name, value in given.items() if name in known})
    shrinks = {id(one): group["wd_mult"] * args.weight_decay for group in groups for one in group["params"]}
    return {
        name: {"dimensions": one.dim(), "size": one.numel(), "std": float(one.std()), "decay": shrinks[id(one)]}
        for name, one in built.named_parameters()
        if one.requires_grad
    }


def answer(arguments: types.ModuleType, job: dict[str, typing.Any]) -> dict[str, object]:
    try:
        built = model(arguments, job)
    except BaseException as error:  # noqa: BLE001 - Megatron also exits
        return {"refused": f"{type(error).__name__}: {error}", "where": traceback.format_exc()[-900:]}
    sizes = {name: one.numel() for name, one in built.named_parameters() if one.requires_grad}
    further = {"drawn": drawn(arguments, job, built)} if job.get("drawn") else {}
    return {"sizes": sizes, "attention": attention(built), **further}


def main() -> None:
    jobs = os.fdopen(os.dup(0), encoding="utf-8")
    output = sys.stdout
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        arguments = prepared(sys.argv[1])
        for line in jobs:
            print(json.dumps(answer(arguments, json.loads(line))), file=output, flush=True)


if __name__ == "__main__":
    main()
