"""MindSpore Transformers' real training-graph `GPTModel`, its real AdamW and clipping, behind the verifier's `Model`.

The framework's own builder makes the class that the YAML names of the YAML's own keys, by that class's converter and
layer specification; what one CPU process cannot follow is put in where the converter makes its `TransformerConfig`.
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ...mapper.weights import Layout, WeightTable
from ...mappings.keys_compiled import LAYOUT_SWITCHES
from ..constants_compiled import NEUTRAL as NEUTRAL_SETTINGS
from ..constants_compiled import TYPES
from ..worker import inputs
from ..worker.inputs import Tokens, arrange_samples
from ..worker.patches import HYPER_PARALLEL, Patches, install_hyper_parallel, used_hyper_parallel
from ..worker.session import record_modules
from .training import LISTED as TRAINING_LISTED
from .training import MindFormersTraining, average_by_batch, loss_scales, named_columns, resume_schedule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..worker.blueprint import Blueprint, DocumentPlan, OptimizerPlan, RatePlan, SamplePlan, ScalePlan

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.
# ruff: noqa: D102 - the methods are those of `session.Model`, which says what each one does


Array = Any


_KEPT = "kept-type"
_LISTED = {_KEPT: "weights that the file keeps in another type are rounded to it after each update by itself"}
NEUTRAL: dict[str, Any] = NEUTRAL_SETTINGS["mindformers"]
"""As of Megatron-LM's model."""
_HALF_SCALE = 1024.0
"""What the loss is multiplied by in float16 and its gradients are divided by, so that none of them vanishes."""


_TARGETS = {"cpu": "CPU", "npu": "Ascend"}
"""MindSpore's name of each device."""


def start_mindspore(device: str = "cpu") -> Any:
    """MindSpore, ready to run eagerly on a device."""
    os.environ.setdefault("GLOG_v", "4")
    logging.disable(logging.WARNING)
    import mindspore as ms

    ms.set_device(_TARGETS[device])
    ms.set_context(mode=ms.PYNATIVE_MODE)
    if device == "cpu":
        # Without its pipeline of threads that wait for each other, small models run thirty times faster on a CPU.
        ms.runtime.launch_blocking()
    else:
        ms.set_deterministic(True)
    return ms


class MindFormersBackend:
    """MindSpore Transformers on MindSpore, eager execution."""

    def __init__(self, device: str = "cpu") -> None:
        self._device = device
        ms = start_mindspore(device)
        install_hyper_parallel()
        import mindformers

        from .eager_stand_ins import LISTED
        from .eager_stand_ins import WIDENING as WIDENING_LISTED

        self._listed = {
            **HYPER_PARALLEL,
            **LISTED,
            **TRAINING_LISTED,
            **WIDENING_LISTED,
            **_LISTED,
        }
        self._versions = {"mindspore": ms.__version__, "mindformers": mindformers.__version__}
        self._block = contextlib.ExitStack()
        self.used = self._block.enter_context(self._stand_ins())
        self._wide = Patches()

    def _stand_ins(self) -> contextlib.AbstractContextManager[set[str]]:
        """Context with the stand-ins that this worker needs."""
        from .eager_stand_ins import stand_ins

        return stand_ins(self._device)

    def close(self) -> None:
        """Undo every stand-in."""
        self._wide.restore()
        self._block.close()

    def versions(self) -> dict[str, str]:
        """The installed versions."""
        return self._versions

    def machine(self) -> dict[str, str]:
        """Device target by MindSpore's name; empty for a CPU."""
        return {} if self._device == "cpu" else {"device": _TARGETS[self._device]}

    def stand_ins(self) -> dict[str, str]:
        """The stand-ins that were called since the last model was built."""
        listed = {**self._listed, **LISTED}
        return {name: line for name, line in listed.items() if name in self.used}

    def rates(self, plan: RatePlan) -> list[float]:
        """The learning rates of the real class at these steps."""
        import mindspore as ms
        from mindformers.core.lr import build_lr

        with contextlib.redirect_stdout(None):
            schedule: Any = build_lr(dict(plan.arguments))
        return [float(schedule(ms.Tensor([step], ms.int32)).asnumpy().reshape(-1)[0]) for step in plan.at]

    def decays(self, blueprint: Blueprint) -> list[float]:
        """One weight decay for the whole run: no class of `core/optim` changes it."""
        return [] if blueprint.rates is None else [blueprint.optimizer.weight_decay] * len(blueprint.rates.at)

    def scales(self, plan: ScalePlan) -> list[float]:
        """The loss scale of the real cells at the start and after each step."""
        return loss_scales(plan)

    def samples(self, plan: SamplePlan, folder: str) -> tuple[Tokens, int | None]:
        """The first samples of the run, from the real loader."""
        found, steps, used = draw_samples(plan, folder)
        self.used |= used
        return found, steps

    def build(self, blueprint: Blueprint, seed: int) -> MindFormersModel:
        """The model that the file's class builds from its own keys, with the framework's own initialisation."""
        import mindspore as ms

        from .eager_stand_ins import call_recorder, put_core_attention, widen_operators

        _forget_layouts()
        self.used.clear()
        self.used.update(used_hyper_parallel())
        self._wide.restore()
        if self._device == "cpu" and blueprint.as_written:
            widen_operators(self._wide, self.used)
        # FlashAttention takes no float32.
        plain_attention = self._device == "cpu" or not blueprint.as_written
        if self._device != "cpu" and plain_attention:
            put_core_attention(self._wide, call_recorder(self.used))
        ms.set_seed(seed)
        with _SmallModel(blueprint, plain_attention=plain_attention), contextlib.redirect_stdout(None):
            network = _network(blueprint.model["keys"])
        average_by_batch(network)
        return self._model(network, blueprint)

    def _model(self, network: Any, blueprint: Blueprint) -> MindFormersModel:
        """Wrap a network as this backend's model."""
        return MindFormersModel(network, blueprint, self.used)


def _network(keys: Mapping[str, Any]) -> Any:
    """The network of the YAML's section `model`, as the trainer builds it: `trainer/base_trainer.py:create_network`."""
    from mindformers.models.build_model import build_model
    from mindformers.tools.register import MindFormerConfig

    return build_model(MindFormerConfig(model=keys).model)


class CpuConfiguration(Patches):
    """Settings that a CPU can follow, put in while a model is built."""

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__()
        self.model = blueprint.model
        kept = {name: value for name, value in NEUTRAL.items() if not (blueprint.as_written and name in TYPES)}
        self.fixed = {**kept, **blueprint.model["put"], **blueprint.unlike}

    def __enter__(self) -> CpuConfiguration:
        from mindformers.parallel_core import transformer_config

        for kind in (transformer_config.TransformerConfig, transformer_config.MLATransformerConfig):
            self.put(kind, "__init__", _configuration_start(kind, self.fixed))
        return self


class _SmallModel(CpuConfiguration):
    """The same, and the core attention of plain operators."""

    def __init__(self, blueprint: Blueprint, *, plain_attention: bool) -> None:
        super().__init__(blueprint)
        self._plain_attention = plain_attention
        if not plain_attention:
            self.fixed.pop("use_flash_attention")

    def __enter__(self) -> _SmallModel:
        super().__enter__()
        if not self._plain_attention:
            return self
        from mindformers.parallel_core.training_graph.base_models.gpt import gpt_layer_specs

        from .eager_stand_ins import CausalCoreAttention, EagerCoreAttention

        core = CausalCoreAttention if self.model["compressed"] else EagerCoreAttention
        self.put(gpt_layer_specs, "FlashAttention", core)
        return self


def _configuration_start(kind: Any, fixed: Mapping[str, Any]) -> Any:
    """Replacement of a configuration class's `__init__` that fixes some values to what a CPU can run."""
    begin, known = kind.__init__, set(kind.__dataclass_fields__)
    chosen = {name: value for name, value in fixed.items() if name in known}

    def begin_on_cpu(self: Any, **given: Any) -> None:
        if given.get("hidden_act") == "fusedswiglu":
            given["hidden_act"] = "swiglu"
        begin(self, **{**given, **chosen})

    return begin_on_cpu


class MindFormersModel:
    """A `GPTModel` with MindSpore Transformers' AdamW."""

    def __init__(self, network: Any, blueprint: Blueprint, used: set[str]) -> None:
        import mindspore as ms

        self.network = network
        # 1.6 has no method for it.
        self.model = model = network.get_gpt_model() if hasattr(network, "get_gpt_model") else network.model
        self.config = config = model.config
        self.plan = blueprint.optimizer
        self._trains = blueprint.training
        cut = blueprint.cut
        self._micro_batches = 2 if cut is None else cut.samples // cut.size
        self._documents = blueprint.documents
        self._columns = _input_columns(config, blueprint.documents)
        self._training: MindFormersTraining | None = None
        self._used = used
        self._scale = _HALF_SCALE if config.compute_dtype == ms.float16 else 1.0
        self._table = WeightTable(self._layout())
        self._parameters = {
            _plain_name(parameter.name): parameter
            for parameter in model.get_parameters()
            if parameter.requires_grad or parameter.name.endswith("expert_bias")
        }
        self._trained = [name for name, parameter in self._parameters.items() if parameter.requires_grad]
        model.set_train(True)
        self._gradients: dict[str, Any] = {}
        self._optimizer: Any = None
        self._logits: Any = None
        self._watch()
        self._differentiate()

    def _layout(self) -> Layout:
        """Layout that converts weight names and shapes between the two frameworks."""
        return layout_of(self.config)

    def _differentiate(self) -> None:
        """Prepare the function that returns losses and gradients."""
        import mindspore as ms

        self._differentiated = ms.value_and_grad(self._objective, None, self._weights(), has_aux=True)

    def _weights(self) -> Any:
        """Trained parameters as MindSpore's tuple."""
        from mindspore import ParameterTuple

        return ParameterTuple([self._parameters[name] for name in self._trained])

    def _watch(self) -> None:
        """Install hooks that store the logits and the extra losses of each pass."""
        self.model.output_layer.register_forward_hook(self._keep_logits)
        for block in (self.model.decoder, getattr(self.model, "mtp", None)):
            if block is not None:
                block.register_forward_hook(self._keep_added)

    def _keep_added(self, _cell: Any, _given: Any, found: Any) -> None:
        """Forward hook that stores the last block's extra losses."""
        self._added = found

    def _keep_logits(self, _cell: Any, _given: Any, found: Any) -> None:
        """Forward hook that stores the output layer's result for `logits`."""
        self._logits = found[0]

    def _objective(self, tokens: Any, labels: Any, *arranged: Any) -> Any:
        """Differentiable sum of all losses, times the loss scale, with the parts beside it."""
        # 1.6 answers with the sum, 1.7 and 1.8 with the three parts, 1.9 with a fourth of sparse attention alone.
        found = self.model(tokens, labels=labels, **dict(zip(self._columns, arranged, strict=True)))
        parts = found[:3] if isinstance(found, tuple) else (found,)
        total = parts[0] if len(parts) == 1 else parts[0] + parts[1] + parts[2]
        return total.sum() * self._scale, *parts

    def _to_megatron(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Arrays under Megatron-Core's names and in its layout."""
        stacked = {name: self._stack_experts(name, array) for name, array in arrays.items()}
        return self._table.to_megatron(stacked, self._joined_rows())

    def _stack_experts(self, name: str, array: Array) -> Array:
        """Experts' first matrices stacked by rows; 1.6 stores the same memory as one wide matrix."""
        if array.ndim != 2 or not name.endswith("experts.weight1"):
            return array
        return array.reshape(self.config.num_moe_experts * self.config.hidden_size, -1)

    def _joined_rows(self) -> dict[str, int]:
        """Row counts of the projections that concatenated latent attention merges into one."""
        config = self.config
        if not config.multi_latent_attention:
            return {}
        rows = config.kv_lora_rank + config.qk_pos_emb_head_dim
        suffix = "self_attention.linear_kv_down_proj.weight"
        blocks = {name.rpartition("self_attention.")[0] for name in self._parameters if "self_attention." in name}
        return {f"{block}{suffix}": rows for block in blocks}

    def weights(self) -> dict[str, Array]:
        return self._to_megatron({name: _numbers(parameter) for name, parameter in self._parameters.items()})

    def trained_names(self) -> set[str]:
        """Megatron-Core names of the parameters that the optimizer updates."""
        names = set(self._trained)
        found: set[str] = set()
        for name in names:
            pairing = self._table.find_pairing("mindformers", name)
            if pairing is not None:
                found.update(pairing.megatron)
        return found

    def load(self, weights: Mapping[str, Array]) -> None:
        """Set the parameters from arrays with Megatron-Core names; token counts reset to 0."""
        from mindspore import Tensor

        for name, array in self._table.to_mindformers(weights).items():
            parameter = self._parameters[name]
            given = Tensor(np.ascontiguousarray(array.reshape(parameter.shape), dtype=np.float32))
            parameter.set_data(given.astype(parameter.dtype))
        self._forget_loads()

    def _forget_loads(self) -> None:
        """Reset the routers' counts of tokens by expert to 0."""
        from mindspore import Tensor

        for parameter in self.model.get_parameters():
            if parameter.name.endswith(("expert_load", "fi_accu", "tokens_per_expert", "ga_steps")):
                parameter.set_data(Tensor(np.zeros(parameter.shape, np.float32)))

    def logits(self) -> Array:
        return _numbers(self._logits)

    def arrange(self, batch: Tokens) -> Tokens:
        """Batch with the masks, positions and counted tokens that the framework's data set makes of documents."""
        plan = self._documents
        if plan is None and not self._columns:
            return batch
        from mindformers.dataset.blended_datasets.gpt_dataset import _get_ltor_masks_and_position_ids

        # Without documents of their own the samples hold one each, in which no token is the end.
        end, positions, attention, loss = plan or (-1, False, False, False)
        return arrange_samples(
            batch, lambda sample: _get_ltor_masks_and_position_ids(sample, end, positions, attention, loss, attention)
        )

    def _network_inputs(self, batch: Tokens) -> list[Array]:
        """The network's inputs, in the order of `_objective`."""
        columns = named_columns(batch)
        return [batch.tokens, batch.labels, *(columns[name] for name in self._columns)]

    def forward_pass(self, batch: Tokens) -> dict[str, float]:
        """Losses of a batch without gradients; resets the expert counts."""
        from mindspore import Tensor

        found = self._parts(self._objective(*map(Tensor, self._network_inputs(batch))))
        self._forget_loads()  # experts are counted in training alone, and this was none
        return found

    def backward(self, batch: Tokens) -> dict[str, float]:
        from mindspore import Tensor

        differentiated: Any = self._differentiated(*map(Tensor, self._network_inputs(batch)))
        found, gradients = differentiated
        self._gradients = dict(zip(self._trained, gradients, strict=True))
        return self._parts(found)

    @contextlib.contextmanager
    def drop_by_place(self) -> Iterator[None]:
        """Context in training mode in which dropout drops elements by position."""
        from .eager_stand_ins import DROPPING

        before = self.model.training
        self.model.set_train(True)  # its own cells drop in training alone
        with DROPPING:
            yield
        self.model.set_train(before)

    def _parts(self, found: Any) -> dict[str, float]:
        """Losses by name (`loss`, `mtp`, `auxiliary`) from the network's result."""
        _sum, loss, *rest = found
        if not rest:
            loss, *rest = self._split_sum(loss)
        further, extra = rest
        parts = {"loss": float(loss.asnumpy().sum())}
        if self.config.mtp_num_layers:
            parts["mtp"] = float(further.asnumpy().sum())
        if self.config.num_moe_experts:
            parts["auxiliary"] = float(np.asarray(extra.asnumpy()).sum())
        return parts

    def _split_sum(self, total: Any) -> Any:
        """Main loss, multi-token prediction loss and balancing loss of 1.6, which returns their sum only."""
        computed, balancing = self._added
        further = computed if self.config.mtp_num_layers else balancing * 0
        return total - further - balancing, further, balancing

    def gradients(self) -> dict[str, Array]:
        found = {name: _numbers(gradient) / np.float32(self._scale) for name, gradient in self._gradients.items()}
        return self._to_megatron(found)

    def set_gradients(self, gradients: Mapping[str, Array]) -> None:
        """Take gradients with Megatron-Core names as if `backward` had left them."""
        from mindspore import Tensor

        laid_out = self._table.to_mindformers(gradients)
        self._gradients = {
            name: Tensor(np.ascontiguousarray(array.reshape(self._parameters[name].shape), dtype=np.float32))
            for name, array in laid_out.items()
        }

    def start_optimizer(self, rate_factor: float) -> None:
        from mindformers.trainer.optimizer_grouped_parameters import get_optimizer_grouped_parameters

        plan = self.plan
        groups = get_optimizer_grouped_parameters(self.model, plan.weight_decay)
        self._optimizer = _optimizer(plan, groups, plan.learning_rate * rate_factor)
        self._keep()

    def _keep(self) -> None:
        """Round the trained weights to the type that they are kept in: a CPU assigns no bfloat16."""
        import mindspore as ms

        if self.plan.kept == "float32":
            return
        self._used.add(_KEPT)
        for name in self._trained:
            parameter = self._parameters[name]
            parameter.set_data(parameter.astype(getattr(ms, self.plan.kept)).astype(parameter.dtype))

    def clip(self) -> float:
        """Global gradient norm before clipping; gradients are clipped if the plan has a limit."""
        from mindformers.core.clip_grad import ClipGradNorm

        names = list(self._gradients)
        given = tuple(self._gradients[name] for name in names)
        outcome: Any = ClipGradNorm(self.plan.clip_norm or 1.0)(given)
        clipped, norm = outcome
        if self.plan.clip_norm > 0:
            self._gradients = dict(zip(names, clipped, strict=True))
        return float(norm.asnumpy().sum())

    def update(self) -> None:
        """One optimizer step from the gradients at hand, and the expert biases' own update."""
        by_name = {self._parameters[name].name: gradient for name, gradient in self._gradients.items()}
        self._optimizer(tuple(by_name[parameter.name] for parameter in self._optimizer.parameters))
        self._keep()
        if self.config.moe_router_enable_expert_bias:
            self.model.update_topk_bias()

    def start_training(self, plan: RatePlan | None) -> None:
        """Create optimizer and trainer cell for `train`; without a plan the learning rate is constant."""
        from mindformers.core.lr import build_lr
        from mindformers.trainer.optimizer_grouped_parameters import get_optimizer_grouped_parameters

        rate: Any = self.plan.learning_rate
        schedule = None
        if plan is not None:
            with contextlib.redirect_stdout(None):
                rate = schedule = resume_schedule(build_lr(dict(plan.arguments)), plan.trained[0])
        groups = get_optimizer_grouped_parameters(self.model, self.plan.weight_decay, dynamic_lr_schedule=schedule)
        optimizer = _optimizer(self.plan, groups, rate)
        self._used.update(TRAINING_LISTED)
        self._training = MindFormersTraining(
            self.network, optimizer, self.plan, self._trains, self._columns, self._micro_batches
        )

    def train(self, batches: Sequence[Tokens]) -> dict[str, float | None]:
        """One trainer step over micro batches, then the updates of expert biases and counts."""
        assert self._training is not None
        found = self._training.step(batches)
        if self.config.moe_router_enable_expert_bias:
            # As `core/callback/callback.py:TopkBiasBalanceCallback` does after the step.
            self.model.update_topk_bias(len(batches))
        if getattr(self.config, "moe_router_load_balancing_type", None) == "gbs_aux_loss":
            self._begin_counts()
        return found

    def _begin_counts(self) -> None:
        """Reset global-batch expert counts after a step, as `callback.py:MFLossMonitor` does from 1.9 on."""
        from mindformers.core.callback.callback import MFLossMonitor

        if hasattr(MFLossMonitor, "_reset_accu_gbs_fi"):
            self.model.reset_accu_gbs_fi()

    def trace(self, batch: Tokens) -> dict[str, Array]:
        """Inputs, outputs and output gradients of every cell in one pass, routers in Megatron-Core's form."""
        found = record_modules(self.model.cells_and_names(), _recording_hook, lambda: self.backward(batch))
        spread_routes(found, self.config.num_moe_experts or 0, self._token_order(batch))
        return found

    def _token_order(self, batch: Tokens) -> Array:
        """The row of a router's output for each of Megatron-Core's tokens; the static graph routes sample by sample."""
        size, length = batch.tokens.shape
        return np.arange(size * length).reshape(size, length).T.ravel()


def _forget_layouts() -> None:
    """Clear MindFormers' process-wide layout singletons, because each model needs its own; 1.6 has none."""
    try:
        from mindformers.parallel_core.training_graph.device_matrix import layout, layout_moe
    except ModuleNotFoundError:
        return
    for kept in (layout, layout_moe):
        kept._layout = kept._config = kept._layout_type = None  # noqa: SLF001


def spread_routes(arrays: dict[str, Array], experts: int, order: Array) -> None:
    """Change a router's recorded choices to Megatron-Core's form, [tokens, experts], in place.

    The static graph gives the chosen experts and their weights, the dynamic graph the weights and the chosen experts.
    """
    for key in [key for key in arrays if key.startswith("output/") and ".router/" in key and key.endswith("/0")]:
        pair = (arrays[key], arrays.get(key[:-1] + "1"))
        chosen, weights = pair if np.issubdtype(pair[0].dtype, np.integer) else pair[::-1]
        if chosen is None or weights is None or chosen.size != weights.size:
            continue
        spread = np.zeros((len(order), experts), np.float32)
        columns = chosen.reshape(len(order), -1).astype(np.int64)
        np.put_along_axis(spread, columns, weights.reshape(len(order), -1), axis=1)
        arrays[key] = spread[order]


def _optimizer(plan: OptimizerPlan, groups: Any, rate: float) -> Any:
    """The real optimizer class of the file; the fused AdamW is the same update in another kernel."""
    from mindspore import nn

    common = {"learning_rate": rate, "eps": plan.epsilon, "weight_decay": plan.weight_decay}
    if plan.type in ("AdamW", "FusedAdamW"):
        from mindformers.core.optim import AdamW

        return AdamW(groups, betas=(plan.beta1, plan.beta2), **common)
    if plan.type in ("Adam", "AdamWeightDecay", "Lamb"):
        return getattr(nn, plan.type)(groups, beta1=plan.beta1, beta2=plan.beta2, **common)
    if plan.type in ("SGD", "sgd", "Momentum"):
        del common["eps"]
        kind = nn.Momentum if plan.type == "Momentum" else nn.SGD
        return kind(groups, momentum=plan.momentum, **common)
    raise NotImplementedError(f"the optimizer {plan.type} has no kernels on a CPU")


def _recording_hook(recorder: Any, name: str) -> Any:
    """Forward hook of one cell that records its inputs, its outputs and later the outputs' gradients."""

    def hook(_cell: Any, given: Any, found: Any) -> None:
        flat = list(found) if isinstance(found, (tuple, list)) else [found]
        recorder.record(name, [_plain(value) for value in given], [_plain(value) for value in flat])

    return hook


def _plain(value: Any) -> Array:
    """Numpy copy of a tensor; None for anything else."""
    from mindspore import Tensor

    return _numbers(value).copy() if isinstance(value, Tensor) else None


def _numbers(tensor: Any) -> Array:
    """A tensor's numbers; numpy knows no bfloat16."""
    import mindspore as ms

    return (tensor.astype(ms.float32) if tensor.dtype in (ms.bfloat16, ms.float16) else tensor).asnumpy()


def _input_columns(config: Any, documents: DocumentPlan | None) -> tuple[str, ...]:
    """Names of the network's inputs beside tokens and labels."""
    return (
        *(("position_ids",) if getattr(config, "use_eod_reset", False) else ()),
        *(("attention_mask",) if documents is not None and documents.attention else ()),
        *(("loss_mask",) if documents is not None and documents.loss else ()),
    )


def _plain_name(name: str) -> str:
    """Parameter name with the endings `.w1` and `.w2` replaced by `.weight1` and `.weight2`."""
    ends = {".w1": ".weight1", ".w2": ".weight2"}
    for short, long in ends.items():
        if name.endswith(short):
            return name[: -len(short)] + long
    return name


def layout_of(config: Any) -> Layout:
    """The static graph's layout of its weights."""

    def switch(kind: str) -> bool:
        return any(bool(getattr(config, name, False)) for name in LAYOUT_SWITCHES[kind])

    return Layout(
        norm=config.normalization,
        gated=bool(config.gated_linear_unit),
        heads=config.num_attention_heads,
        groups=config.num_query_groups,
        head_dim=config.kv_channels,
        experts=config.num_moe_experts or 0,
        mla=bool(config.multi_latent_attention),
        q_lora=bool(getattr(config, "q_lora_rank", None)),
        mlp_interleaved=switch("gated"),
        qkv_contiguous=not config.multi_latent_attention and switch("grouped"),
        mla_concatenated=bool(config.multi_latent_attention) and switch("latent"),
    )


# The frameworks carry no types.


LISTED = {inputs.INDEX_FUNCTIONS: inputs.INDEX_FUNCTIONS_LINE}
_COLUMNS = ("input_ids", "labels", "loss_mask")


def draw_samples(plan: SamplePlan, folder: str) -> tuple[Tokens, int | None, set[str]]:
    """First samples in training order, the steps until they repeat, and the names of stand-ins used.

    The dynamic graph's run has a length of its own: only data that end before it repeat.
    """
    stood_in = inputs.provide_index_functions("mindformers.dataset.blended_datasets.helpers")
    import mindspore.dataset
    from mindformers.dataset.dataloader import blended_megatron_dataloader as loading

    given = plan.settings
    words = [os.path.join(folder, word) if word in plan.corpora else word for word in given["words"]]
    config = {**given["config"], "train_data_path" if given["own"] else "data_path": words}
    mindspore.dataset.config.set_seed(given["seed"])
    with Patches() as patches, contextlib.redirect_stdout(None):
        # It compiles inside the installed package.
        patches.put(loading, "compile_helpers", lambda: None)
        rows: Any = loading.BlendedMegatronDatasetDataLoader(
            datasets_type="GPTDataset",
            sizes=[plan.samples, 0, 0],
            config=config,
            column_names=given["columns"],
            shuffle=given["shuffle"],
        )
    batches = rows.batch(plan.batch, drop_remainder=given["drop_remainder"])
    if given["cut"]:
        batches = batches.take(plan.samples // plan.batch)
    found: list[list[np.ndarray]] = [[] for _name in _COLUMNS]
    steps = batches.create_dict_iterator(num_epochs=1, output_numpy=True)
    batch: Any
    for _step, batch in zip(range(plan.drawn // plan.batch), steps, strict=False):
        for column, name in zip(found, _COLUMNS, strict=True):
            column.append(batch[name])
    size = int(batches.get_dataset_size())
    passes = size if plan.steps is None else min(size, plan.steps)
    return Tokens(*map(np.concatenate, found)), passes, {inputs.INDEX_FUNCTIONS} if stood_in else set()
