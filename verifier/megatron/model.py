"""Megatron-Core's real `GPTModel`, its real optimizer and clipping, behind the verifier's `Model`.

The configuration is made as `core_transformer_config_from_args` does and the layer specification as `pretrain_gpt.py`
does with the local implementation (Megatron-LM core_r0.12.0, `megatron/training/arguments.py`, `pretrain_gpt.py`),
from the arguments' effective values.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.
# ruff: noqa: D102 - the methods are those of `session.Model`, which says what each one does

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import logging
import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...mappings.keys_compiled import ARGUMENTS_OF_FIELDS, DECAYS_HEAD_NORMS, SETTLED_LATER
from ..constants_compiled import NEUTRAL as NEUTRAL_SETTINGS
from ..constants_compiled import YARN_FIELDS
from ..worker.inputs import arrange_samples
from ..worker.patches import DROPOUT_STAND_IN
from ..worker.session import record_modules
from . import parser, training
from .stand_ins import (
    DROPPING,
    LISTED,
    EagerCoreAttention,
    ZeroCenteredNorm,
    copy_expert_products,
    has_transformer_engine,
    stand_ins,
    stand_ins_on_device,
    start_cuda,
)
from .training import MegatronTraining, loss_scales, scheduler_of, scheduler_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..worker.blueprint import Blueprint, RatePlan, SamplePlan, ScalePlan
    from ..worker.inputs import Tokens


Array = Any

NEUTRAL: dict[str, Any] = {
    name: torch.float32 if value == "float32" else value for name, value in NEUTRAL_SETTINGS["megatron"].items()
}
"""Settings that one CPU process cannot follow, or that change no result in float32; differences are `not_compared`."""

_SKIPPED = frozenset(("attention_backend", "activation_func", "gated_linear_unit", "bias_activation_fusion"))


class MegatronBackend:
    """Megatron-Core in a process group of one."""

    _taken: set[str] | frozenset[str] = frozenset()
    """The stand-ins that this installation needs."""
    _parses = False
    """The model's arguments are what the framework's own parser makes of its launch."""

    def __init__(self, device: str = "cpu") -> None:
        logging.disable(logging.WARNING)
        warnings.filterwarnings("ignore")
        self._device = device
        self._block = contextlib.ExitStack()
        if device == "cpu":
            torch.set_num_threads(1)
            self._taken = self._block.enter_context(stand_ins()) | {"torch.cuda", "torch.compile"}
        else:
            start_cuda()
            self._taken = self._block.enter_context(stand_ins_on_device())
        from megatron.core import parallel_state
        from megatron.core.tensor_parallel.random import initialize_rng_tracker

        os.environ.update(MASTER_ADDR="127.0.0.1", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
        exchange = "gloo" if device == "cpu" else "nccl"
        torch.distributed.init_process_group(exchange, rank=0, world_size=1, store=torch.distributed.HashStore())
        parallel_state.initialize_model_parallel()
        initialize_rng_tracker(inference_rng_tracker=True)
        self._used = set(self._taken)

    def close(self) -> None:
        """Undo every stand-in."""
        torch.distributed.destroy_process_group()
        self._block.close()

    def versions(self) -> dict[str, str]:
        """The installed versions."""
        import megatron.core

        return {"megatron-core": megatron.core.__version__, "torch": torch.__version__}

    def machine(self) -> dict[str, str]:
        """The GPU by its own name, and the layers that models are built of there."""
        if self._device == "cpu":
            return {}
        layers = "Transformer Engine" if has_transformer_engine() else "Megatron-Core's local layers"
        return {"device": torch.cuda.get_device_name(), "cuda": str(torch.version.cuda), "layers": layers}

    def stand_ins(self) -> dict[str, str]:
        """The stand-ins in use by the model built last."""
        return {
            name: line for name, line in {**LISTED, **training.LISTED, **parser.LISTED}.items() if name in self._used
        }

    def rates(self, plan: RatePlan) -> list[float]:
        """Learning rates of Megatron-LM's real scheduler at the plan's steps."""
        return scheduler_values(plan, "lr")

    def decays(self, blueprint: Blueprint) -> list[float]:
        """Weight decay that the real scheduler sets at the blueprint's steps."""
        return [] if blueprint.rates is None else scheduler_values(blueprint.rates, "weight_decay")

    def scales(self, plan: ScalePlan) -> list[float]:
        """The loss scale of the real optimizer at the start and after each step."""
        return loss_scales(plan, self._device)

    def samples(self, plan: SamplePlan, folder: str) -> tuple[Tokens, int]:
        """First samples of the run and its number of steps, drawn by Megatron-LM's own data sets."""
        found, steps, used = training.draw_samples(plan, folder)
        self._used |= used
        return found, steps

    def parse_launches(self, blueprint: Blueprint) -> tuple[Blueprint, dict[str, Any] | None]:
        """The launches as Megatron-LM's own parser reads them, if it is installed; the model is built from that."""
        if blueprint.launch is None or not parser.is_available():
            return blueprint, None
        plans = {"small": blueprint.launch, "written": blueprint.written}
        answers = {name: parser.answer_launch(plan) for name, plan in plans.items() if plan is not None}
        real = answers["small"].get("values", {})
        self._parses = bool(real)
        model = {ARGUMENTS_OF_FIELDS.get(key, key): value for key, value in real.items() if key not in SETTLED_LATER}
        return blueprint._replace(model={**blueprint.model, **model}), answers

    def build(self, blueprint: Blueprint, seed: int) -> MegatronModel:
        """The model of the blueprint, with Megatron's own initialisation."""
        from megatron.core.models.gpt.gpt_model import GPTModel

        torch.manual_seed(seed)
        args = blueprint.model
        types = written_types(args) if blueprint.as_written else {}
        engine = self._device != "cpu" and has_transformer_engine()
        own = _skipped_initialization(args)
        chosen = {**types, **own, **blueprint.unlike, **_on_device(args, self._device, engine)}
        config = _transformer_config(args, chosen)
        if _position_type(args) == "yarn":
            _set_yarn_fields(config, args)
        spec = _layer_specification(args, config, engine=engine)
        self._note_stand_ins(args, config, engine=engine)
        mtp = None
        if args.get("mtp_num_layers"):
            from megatron.core.models.gpt.gpt_layer_specs import get_gpt_mtp_block_spec

            mtp = get_gpt_mtp_block_spec(config, spec, use_transformer_engine=engine)
        with _unfilled_memory_is_nan() if own else contextlib.nullcontext():
            model = GPTModel(
                config,
                spec,
                vocab_size=args["padded_vocab_size"],
                max_sequence_length=args["max_position_embeddings"],
                share_embeddings_and_output_weights=not args.get("untie_embeddings_and_output_weights"),
                position_embedding_type=_position_type(args),
                rotary_percent=args.get("rotary_percent", 1.0),
                rotary_base=args.get("rotary_base", 10000),
                rope_scaling=bool(args.get("use_rope_scaling")),
                seq_len_interpolation_factor=_interpolation(args),
                mtp_block_spec=mtp,
            )
        if args.get("num_experts") and config.add_bias_linear and not engine:
            copy_expert_products(model)
            self._used.add("expert-bias")
        if self._device == "cpu":
            return DroppingModel(model, blueprint)
        return MegatronModel(model.to(self._device), blueprint, self._device)

    def _note_stand_ins(self, args: Mapping[str, Any], config: Any, *, engine: bool) -> None:
        """Keep the names of the stand-ins that a model with these arguments uses."""
        self._used = self._taken & {"torch.cuda", "torch.compile", "triton"}
        if self._parses:
            self._used.add(parser.NAME)
        if args.get("num_experts"):
            self._used |= self._taken & {"router-product"}
        if args.get("multi_latent_attention") or args.get("mtp_num_layers"):
            self._used |= self._taken & {"absent-classes"}
        if not engine:
            self._used |= _stand_ins_in(args)
        if config.apply_rope_fusion and self._device == "cpu":
            self._used.add("rope-fusion")
        if config.hidden_dropout or config.attention_dropout:
            self._used.add(DROPOUT_STAND_IN)


class MegatronModel:
    """A `GPTModel` with `FP32Optimizer` around torch's AdamW."""

    def __init__(self, model: Any, blueprint: Blueprint, device: str = "cpu") -> None:
        self.model = model
        self._device = device
        self._called, self._scale = (model, 1.0) if not blueprint.as_written else narrow_model(model)
        self.plan = blueprint.optimizer
        self._per_token = blueprint.training.per_token
        self._documents = blueprint.documents
        self._sums_in_fp32 = bool(blueprint.model.get("accumulate_allreduce_grads_in_fp32"))
        self._training: MegatronTraining | None = None
        model.train()
        self._optimizer: Any = None
        self._scheduler: Any = None
        self._logits: Array = None
        model.output_layer.register_forward_hook(self._keep_logits)

    def _keep_logits(self, _module: Any, _given: Any, found: Any) -> None:
        """Forward hook that stores the output layer's result for `logits`."""
        # A copy: the loss works on the logits in place.
        self._logits = found[0].detach().float().cpu().numpy().copy()

    def _parameters(self) -> dict[str, Any]:
        """Parameters of the model by canonical name."""
        return {_canonical_name(name): parameter for name, parameter in self.model.named_parameters()}

    def _biases(self) -> dict[str, Any]:
        """Expert-bias buffers of the routers by canonical name."""
        buffers = self.model.named_buffers()
        return {_canonical_name(name): buffer for name, buffer in buffers if name.endswith("expert_bias")}

    def weights(self) -> dict[str, Array]:
        """Every parameter's effective value: a norm that stores an offset from one has one more."""
        found = {name: parameter.detach() for name, parameter in self._parameters().items()}
        found.update({name: found[name] + 1 for name in self._zero_centered_scales()})
        found.update(self._biases())
        return {name: tensor.float().cpu().numpy().copy() for name, tensor in found.items()}

    def _zero_centered_scales(self) -> frozenset[str]:
        """The scales of norms that store an offset from one."""
        if self.model.config.layernorm_zero_centered_gamma:  # Transformer Engine's own norms
            return frozenset(name for name in self._parameters() if name.endswith("norm.weight"))
        modules = self.model.named_modules()
        return frozenset(
            f"{_canonical_name(name)}.weight" for name, one in modules if isinstance(one, ZeroCenteredNorm)
        )

    def trained_names(self) -> set[str]:
        return {name for name, parameter in self._parameters().items() if parameter.requires_grad}

    def load(self, weights: Mapping[str, Array]) -> None:
        """Copy arrays into parameters and biases; zero-centred scales are stored minus 1, token counts reset to 0."""
        held, centred = self._parameters() | self._biases(), self._zero_centered_scales()
        with torch.no_grad():
            for name, array in weights.items():
                offset = 1 if name in centred else 0
                held[name].copy_(torch.from_numpy(np.ascontiguousarray(array)) - offset)
            for name, buffer in self.model.named_buffers():
                if name.endswith("local_tokens_per_expert"):
                    buffer.zero_()

    def logits(self) -> Array:
        return self._logits

    def arrange(self, batch: Tokens) -> Tokens:
        """Batch with the masks, positions and counted tokens that Megatron's data set makes at ends of documents."""
        if self._documents is None:
            return batch
        from megatron.core.datasets.gpt_dataset import _get_ltor_masks_and_position_ids

        end, positions, attention, weights = self._documents

        def lay_out_sample(sample: Array) -> tuple[Array, Array, Array]:
            tokens = torch.from_numpy(sample).long()
            found = _get_ltor_masks_and_position_ids(tokens, end, positions, attention, weights, True)
            mask, counted, places = (np.asarray(tensor) for tensor in found)
            return mask, counted, places

        return arrange_samples(batch, lay_out_sample)

    def forward_pass(self, batch: Tokens) -> dict[str, float]:
        """Losses of a batch without gradients."""
        with torch.no_grad():
            return self._loss(batch)[1]

    def backward(self, batch: Tokens) -> dict[str, float]:
        """Losses of a batch; the gradients of their sum stay on the parameters."""
        self.model.zero_grad(set_to_none=True)
        loss, parts = self._loss(batch)
        training.set_loss_scale(self._scale, self._device)
        (loss * self._scale).backward()
        return parts

    def accumulate(self, batches: Sequence[Tokens]) -> dict[str, Array]:
        """Sum of the gradients in the buffers of Megatron-Core's wrapper for data parallelism, of one rank."""
        from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig

        settings = DistributedDataParallelConfig(grad_reduce_in_fp32=self._sums_in_fp32)
        called = self._called
        self.model.zero_grad(set_to_none=True)
        self._called = wrapped = DistributedDataParallel(self.model.config, settings, called)
        training.set_loss_scale(self._scale, self._device)
        for batch in batches:
            (self._loss(batch)[0] * self._scale).backward()
        wrapped.finish_grad_sync()
        self._called = called
        return {
            name: parameter.main_grad.float().cpu().numpy() / self._scale
            for name, parameter in self._parameters().items()
            if parameter.requires_grad
        }

    def _loss(self, batch: Tokens) -> tuple[Any, dict[str, float]]:
        """Differentiable sum of all losses of a batch, and each part as a number."""
        training.clear_noted_losses()
        counted = self._tensor(batch.counted)
        loss = (self._each(batch) * counted).sum() / counted.sum()
        parts = {"loss": loss, **training.auxiliary_losses(self.model.config)}
        return loss, {name: float(value.detach()) for name, value in parts.items()}

    def _each(self, batch: Tokens) -> Any:
        """Loss of every token of a batch, not averaged."""
        tokens, labels = self._tensor(batch.tokens).long(), self._tensor(batch.labels).long()
        size, length = tokens.shape
        positions = torch.arange(length, device=self._device)[None].expand(size, -1)
        if batch.positions is not None:
            positions = self._tensor(batch.positions).long()
        mask = torch.ones(1, 1, length, length, device=self._device).triu(1).bool()
        if batch.hidden is not None:
            mask = self._tensor(batch.hidden)
        return self._called(tokens, positions, mask, labels=labels, loss_mask=self._tensor(batch.counted))

    def _tensor(self, array: Array) -> Any:
        """Array as a tensor on the model's device."""
        return torch.from_numpy(array).to(self._device)

    def gradients(self) -> dict[str, Array]:
        """Gradient of every parameter without the loss scale; zeros if a parameter has none."""
        return {
            name: (torch.zeros_like(parameter) if parameter.grad is None else parameter.grad).float().cpu().numpy()
            / self._scale
            for name, parameter in self._parameters().items()
        }

    def set_gradients(self, gradients: Mapping[str, Array]) -> None:
        for name, parameter in self._parameters().items():
            parameter.grad = self._tensor(gradients[name].copy()) if name in gradients else None

    def start_optimizer(self, rate_factor: float) -> None:
        """Create a fresh optimizer and a scheduler with a constant rate: the plan's rate times the factor."""
        from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

        plan = self.plan
        rate = plan.learning_rate * rate_factor
        self._optimizer = self._new_optimizer(rate_factor, rate)
        self._scheduler = OptimizerParamScheduler(
            self._optimizer,
            init_lr=rate,
            max_lr=rate,
            min_lr=rate,
            lr_warmup_steps=0,
            lr_decay_steps=1000,
            lr_decay_style="constant",
            start_wd=plan.weight_decay,
            end_wd=plan.weight_decay,
            wd_incr_steps=1000,
            wd_incr_style="constant",
        )

    def _new_optimizer(self, rate_factor: float, lowest: float) -> Any:
        """The real optimizer; its parameter groups keep the highest and the lowest rate for the scheduler."""
        from megatron.core.distributed import DistributedDataParallelConfig
        from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer

        plan = self.plan
        rate = plan.learning_rate * rate_factor
        ends = None if plan.ends_learning_rate is None else plan.ends_learning_rate * rate_factor
        least = plan.ends_least_rate
        # 0.16 and later
        scope: dict[str, Any] = {DECAYS_HEAD_NORMS: True} if plan.decays_head_norms else {}
        self.model.ddp_config = DistributedDataParallelConfig()
        config = OptimizerConfig(
            optimizer=plan.type,
            lr=rate,
            min_lr=lowest,
            decoupled_lr=ends,
            decoupled_min_lr=None if ends is None else min(ends, lowest if least is None else least * rate_factor),
            weight_decay=plan.weight_decay,
            adam_beta1=plan.beta1,
            adam_beta2=plan.beta2,
            adam_eps=plan.epsilon,
            sgd_momentum=plan.momentum,
            clip_grad=plan.clip_norm,
            **scope,
        )
        return get_megatron_optimizer(config, [self.model])

    def clip(self) -> float:
        """Global gradient norm before clipping; gradients are clipped if the plan has a limit."""
        if self.plan.clip_norm > 0:
            return float(self._optimizer.clip_grad_norm(self.plan.clip_norm))
        return float(self._optimizer.get_grad_norm())

    def update(self) -> None:
        """One optimizer step from the gradients at hand; router biases are updated before it."""
        # The package holds a function of the same name.
        finalize = importlib.import_module("megatron.core.distributed.finalize_model_grads")
        if self.model.config.moe_router_enable_expert_bias:
            finalize._update_router_expert_bias([self.model], self.model.config)  # noqa: SLF001
        if hasattr(finalize, "reset_model_temporary_tensors"):  # before 0.15, the update itself begins the next count
            finalize.reset_model_temporary_tensors(self.model.config, [self.model])
        self._optimizer.step_with_ready_grads()
        self._scheduler.step(1)

    def start_training(self, plan: RatePlan | None) -> None:
        """Create optimizer and scheduler for `train`; without a plan the learning rate is constant."""
        if plan is None:
            self.start_optimizer(1.0)
        else:
            self._optimizer = self._new_optimizer(1.0, plan.arguments["min_lr"])
            self._scheduler = scheduler_of(self._optimizer, plan)
        places = (0, 1, 2) if plan is None else plan.trained
        self._training = MegatronTraining(
            self.model, self._optimizer, self._scheduler, places, per_token=self._per_token
        )

    def train(self, batches: Sequence[Tokens]) -> dict[str, float | None]:
        assert self._training is not None
        return self._training.step(batches, self._each)

    def trace(self, batch: Tokens) -> dict[str, Array]:
        """Inputs, outputs and output gradients of every module in one forward and backward pass."""
        # Transformer Engine's layers hold their norms: in the places of the norms nothing is computed.
        modules = (
            (name, one)
            for name, one in self.model.named_modules()
            if self._device == "cpu" or type(one).__name__ != "IdentityOp"
        )
        return record_modules(modules, _recording_hook, lambda: self.backward(batch))


class DroppingModel(MegatronModel):
    """The same on a CPU, where a stand-in says what is dropped."""

    def drop_by_place(self) -> contextlib.AbstractContextManager[None]:
        return DROPPING


_NORMS_IN_LAYERS = (
    (".self_attention.linear_qkv.layer_norm_", ".input_layernorm."),
    (".mlp.linear_fc1.layer_norm_", ".pre_mlp_layernorm."),
    (".linear_q_up_proj.layer_norm_", ".q_layernorm."),
    (".linear_kv_up_proj.layer_norm_", ".kv_layernorm."),
)
"""Norms that Transformer Engine holds in the layer behind them: `core/models/gpt/gpt_layer_specs.py`, 0.12 to main."""


def _canonical_name(name: str) -> str:
    """The name that a module or parameter has among 0.12's local layers.

    0.17 renamed the layer of a further prediction; Transformer Engine holds some norms elsewhere.
    """
    name = name.replace(".mtp_model_layer", ".transformer_layer")
    for theirs, ours in _NORMS_IN_LAYERS:
        if ".shared_experts." not in name and ".experts." not in name:
            name = name.replace(theirs, ours)
    return name


def _recording_hook(recorder: Any, here: str) -> Any:
    """Forward hook of one module that records its inputs, its outputs and later the outputs' gradients."""
    name = _canonical_name(here)

    def hook(_module: Any, given: Any, found: Any) -> None:
        recorder.record(name, [_plain(value) for value in given], [_plain(value) for value in _flat(found)])
        for position, value in enumerate(_flat(found)):
            if torch.is_tensor(value) and value.requires_grad:
                value.register_hook(lambda slope, at=position: recorder.slope(name, at, _numbers(slope)))

    return hook


def _flat(found: Any) -> list[Any]:
    """Values of a module's result as a list, one value or several."""
    return list(found) if isinstance(found, (tuple, list)) else [found]


def _plain(value: Any) -> Array:
    """Numpy array of a tensor; None for anything else."""
    return _numbers(value) if torch.is_tensor(value) else None


def _numbers(tensor: Any) -> Array:
    """A copy, which numpy can hold: it knows no bfloat16."""
    found = tensor.detach()
    return (found.float() if found.dtype in (torch.bfloat16, torch.float16) else found).cpu().numpy().copy()


def _transformer_config(args: Mapping[str, Any], chosen: Mapping[str, Any] | None = None) -> Any:
    """Megatron-Core's configuration object from parsed arguments; `chosen` and neutral values replace some of them."""
    from megatron.core.transformer.transformer_config import MLATransformerConfig, TransformerConfig

    kind = MLATransformerConfig if args.get("multi_latent_attention") else TransformerConfig
    found: dict[str, Any] = {}
    fixed = NEUTRAL | dict(chosen or {})
    for field in dataclasses.fields(kind):
        name = ARGUMENTS_OF_FIELDS.get(field.name, field.name)
        if field.name in fixed:
            found[field.name] = fixed[field.name]
        elif name in args and field.name not in _SKIPPED:
            found[field.name] = args[name]
    if found.get("window_size"):
        found["window_size"] = tuple(found["window_size"])  # masks are kept by it, and JSON has no tuples
    found.update(_activation(args))
    # Whatever else carries tokens between devices is not needed in one process; only this one refuses no bias.
    found["moe_token_dispatcher_type"] = args.get("moe_token_dispatcher_type")
    if found["moe_token_dispatcher_type"] != "allgather":
        found["moe_token_dispatcher_type"] = "alltoall"
    if found.get("rope_type", "") is None:
        del found["rope_type"]  # the class's own default
    if args.get("init_method_xavier_uniform"):
        found["init_method"] = torch.nn.init.xavier_uniform_
    if not args.get("group_query_attention"):
        found["num_query_groups"] = None
    return kind(**found)


def _set_yarn_fields(config: Any, args: Mapping[str, Any]) -> None:
    """Fields of YaRN without latent attention, which `training/argument_utils.py` sets beside the dataclass."""
    for name, (argument, usual) in YARN_FIELDS.items():
        setattr(config, name, usual if args.get(argument) is None else args[argument])


def _position_type(args: Mapping[str, Any]) -> str:
    """Kind of position embedding; Megatron-LM's own default if the arguments name none."""
    return args.get("position_embedding_type", "learned_absolute")


def _activation(args: Mapping[str, Any]) -> dict[str, Any]:
    """The fields about the activation, which `core_transformer_config_from_args` makes of flags."""
    from torch.nn import functional

    fused = "bias_swiglu_fusion" if args.get("swiglu") else "bias_gelu_fusion"
    found: dict[str, Any] = {"bias_activation_fusion": bool(args.get(fused, True))}
    if args.get("swiglu"):
        found.update(activation_func=functional.silu, gated_linear_unit=True)
    if args.get("squared_relu"):
        # `megatron.training.activations.squared_relu`, which the wheel of Megatron-Core does not contain.
        found["activation_func"] = lambda x: functional.relu(x).square()
    if args.get("quick_geglu"):
        from megatron.core.activations import quick_gelu

        found.update(activation_func=quick_gelu, gated_linear_unit=True)
    return found


def _interpolation(args: Mapping[str, Any]) -> float | None:
    """Sequence-length interpolation factor of rotary positions; only 0.19 and later pass it to the model."""
    import megatron.core as core

    major, minor, *_patch = core.__version__.split(".")
    told = (int(major), int(minor)) >= (0, 19)
    return args.get("rotary_seq_len_interpolation_factor") if told else None


def _layer_specification(args: Mapping[str, Any], config: Any, *, engine: bool) -> Any:
    """The layers of Transformer Engine as `pretrain_gpt.py` chooses them, or the local ones with eager attention."""
    from megatron.core.models.gpt import gpt_layer_specs as specs

    # 0.14 and later; `pretrain_gpt.py` (from 0.16 `gpt_builders.py`) hands it to either.
    chosen: dict[str, Any] = {"qk_l2_norm": True} if args.get("qk_l2_norm") else {}
    if not engine:  # whatever the norm is: this argument chooses torch's norm layers instead of apex's
        chosen["normalization"] = "RMSNorm"
    if args.get("num_experts"):
        spec = specs.get_gpt_decoder_block_spec(config, use_transformer_engine=engine, **chosen)
        layers = spec.layer_specs
    else:
        make = specs.get_gpt_layer_with_transformer_engine_spec if engine else specs.get_gpt_layer_local_spec
        spec = make(
            num_experts=None,
            qk_layernorm=config.qk_layernorm,
            multi_latent_attention=config.multi_latent_attention,
            **chosen,
        )
        layers = [spec]
    for layer in {id(layer): layer for layer in layers}.values():
        if args.get("moe_shared_expert_gate"):
            _with_gate(layer)
        if engine:
            continue
        attention = layer.submodules.self_attention.submodules
        if config.multi_latent_attention:
            attention.core_attention = EagerCoreAttention
        if args.get("apply_layernorm_1p"):
            for owner in (layer.submodules, attention):
                for name in _norms(owner):
                    setattr(owner, name, ZeroCenteredNorm)
    return spec


def _skipped_initialization(args: Mapping[str, Any]) -> dict[str, Any]:
    """Setting that leaves the weights as the memory is: `--no-initialization`."""
    return {"perform_initialization": False} if args.get("perform_initialization") is False else {}


@contextlib.contextmanager
def _unfilled_memory_is_nan() -> Iterator[None]:
    """Context in which torch fills new memory with NaN, so that a weight that nothing initializes is seen."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


def _on_device(args: Mapping[str, Any], device: str, engine: bool) -> dict[str, Any]:
    """Settings that a GPU needs: dropout is 0, because the GPU's kernels drop at random."""
    if device == "cpu":
        return {}
    found: dict[str, Any] = {"hidden_dropout": 0.0, "attention_dropout": 0.0}
    if engine and args.get("apply_layernorm_1p"):
        found["layernorm_zero_centered_gamma"] = True
    return found


def _stand_ins_in(args: Mapping[str, Any]) -> set[str]:
    """The stand-ins among the local layers of a model."""
    used = {"core-attention": "multi_latent_attention", "zero-centered-norm": "apply_layernorm_1p"}
    return {name for name, argument in used.items() if args.get(argument)}


def _with_gate(layer: Any) -> None:
    """Add Megatron-Core's gate of shared experts to a layer spec; `get_moe_module_spec` of 0.12 omits it."""
    shared: Any = getattr(getattr(layer.submodules.mlp, "submodules", None), "shared_experts", None)
    if "gate" in (getattr(shared, "params", None) or ()):
        shared.params = {**shared.params, "gate": True}


def _norms(owner: Any) -> Iterator[str]:
    """Field names of a spec's norm layers that are really norms, not identities."""
    for field in dataclasses.fields(owner):
        value = getattr(owner, field.name)
        if field.name.endswith("layernorm") and getattr(value, "__name__", "") not in ("IdentityOp", ""):
            yield field.name


HALF_SCALE = 1024.0
"""What the loss is multiplied by in float16 and its gradients are divided by, so that none of them vanishes."""
_SOFTMAX_IN_FP32, _LAYER_SCALING = _OWN = ("attention_softmax_in_fp32", "apply_query_key_layer_scaling")
"""Settings of their own that change a result in half precision alone."""


def written_types(args: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration's fields about types: `arguments.py:validate_args`, `core_transformer_config_from_args`."""
    dtype = torch.bfloat16 if args.get("bf16") else torch.float16 if args.get("fp16") else torch.float32
    named = dict.fromkeys(("params_dtype", "pipeline_dtype", "autocast_dtype"), dtype)
    own = {name: args[name] for name in _OWN if args.get(name) is not None}
    if own.get(_LAYER_SCALING):
        own[_SOFTMAX_IN_FP32] = True
    fused = bool(args.get("apply_rope_fusion")) and not args.get("multi_latent_attention") and dtype != torch.float32
    own["apply_rope_fusion"] = fused
    return {**named, **own, "bf16": dtype == torch.bfloat16, "fp16": dtype == torch.float16}


def narrow_model(model: Any) -> tuple[Any, float]:
    """Model as the trainer wraps it for fp16 or bf16 (`training.py:get_model`), and its loss scale."""
    if not (model.config.bf16 or model.config.fp16):
        return model, 1.0
    from megatron.core.transformer.module import Float16Module

    return Float16Module(model.config, model), HALF_SCALE if model.config.fp16 else 1.0
