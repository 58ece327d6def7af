"""Adam's state in Megatron-LM's checkpoints, read and written.

An optimizer numbers its parameters: group by group, and in a group in the order of the model's modules. A distributed
checkpoint names them instead. Source: megatron-core 0.12 to 0.19 `optimizer/__init__.py:_get_param_groups`, `optimizer/
optimizer.py`, `optimizer/distrib_optimizer.py`, `optimizer_param_scheduler.py:load_state_dict`; `training/
checkpointing.py:load_checkpoint`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

from ...mapper.schedule.curve import UndecidedError
from ...mapper.schedule.from_config import megatron_parameters
from ...mapper.schedule.megatron import scheduler_arguments, weight_decay_ends
from ...mapper.weights import beside_the_weights, expert_of
from ...mappings.keys_compiled import (
    DISTRIBUTED_OPTIMIZER,
    LAYERS_OF,
    OPTIMIZER_NAME,
    OTHER_OPTIMIZER_FORMS,
    OTHER_PARAMETER_GROUPS,
)
from ...schemas.fast_records import NamedTuple
from ...schemas.versions import number_of
from .checkpoint_pickle import Tensor
from .messages_compiled import say
from .model import AVERAGES, MASTERS, SQUARES
from .weight import RefusedError, problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...schemas.config import Config
    from ...schemas.message import Words
    from .model import AdamState
    from .tensor_files import TorchFile
    from .weight import Shape, Weight

KINDS = (AVERAGES, SQUARES, MASTERS)

Entry = tuple[int, str, Any]
"""Model chunk, name and value of something in a shard's model."""

_MODULES = (
    *("embedding", "decoder", "mtp", "output_layer", "word_embeddings", "position_embeddings", "layers"),
    *("enorm", "hnorm", "eh_proj", "transformer_layer", "mtp_model_layer", "final_layernorm"),
    *("input_layernorm", "self_attention", "pre_mlp_layernorm", "mlp"),
    *("linear_proj", "linear_qkv", "linear_q_proj", "linear_q_down_proj", "linear_q_up_proj", "linear_kv_down_proj"),
    *("linear_kv_up_proj", "q_layernorm", "k_layernorm", "kv_layernorm"),
    *("router", "experts", "shared_experts", "local_experts", "gate_weight", "linear_fc1", "linear_fc2"),
    *("layer_norm_weight", "layer_norm_bias", "weight", "bias"),
)
"""The words of parameters' names in the order in which the modules make them; a module's own parameters come first.

Source: megatron-core 0.12 to 0.19 `models/gpt/gpt_model.py`, `transformer/{transformer_layer,attention,mlp,
multi_latent_attention,multi_token_prediction}.py`, `transformer/moe/{moe_layer,shared_experts}.py`; Transformer Engine
`pytorch/module/layernorm_linear.py`.
"""
_RANKS = {word: rank for rank, word in enumerate(_MODULES)}


def sort_parameters(names: Iterable[str]) -> list[str]:
    """The names of a model's parameters in the order of its modules; ValueError for one that is not known."""
    return sorted(names, key=lambda name: [_word_rank(word) for word in name.split(".")])


def _word_rank(word: str) -> tuple[int, int]:
    """The rank of a word; a number after it is that of an expert, and one by itself that of a layer or an expert."""
    if word in _RANKS:
        return _RANKS[word], 0
    start = word.rstrip("0123456789")
    if start == word or (start and start not in _RANKS):
        raise ValueError(word)
    return _RANKS.get(start, -1), int(word[len(start) :])


def is_decayed(name: str, shape: Shape) -> bool:
    """True if weight decay shrinks a parameter."""
    return len(shape) > 1 and not name.endswith(".bias")


_MOST_STEPS = 1 << 40


ODD = (AttributeError, TypeError, ValueError, KeyError, IndexError, OverflowError)
"""Errors that reading a table raises if the frameworks did not write it."""


def adam_step(file: TorchFile, optimizer: Any) -> int | None:
    """Number of updates in an optimizer's state, in the first state if there are several; None without a number."""
    try:
        table = _inner_optimizer(optimizer)
        return None if table is None else next(filter(None, map(partial(_step_number, file), _told_steps(table))), None)
    except ODD:
        return None


def _told_steps(table: Mapping[str, Any]) -> Iterator[Any]:
    """The steps in a state: optimizers store one for all weights, one for each weight, or one for each group."""
    states = cast("dict[Any, Any]", table.get("state", {}))
    yield states.get("common_step")
    for told in (states.values(), table["param_groups"]):
        yield from [cast("dict[str, Any]", one).get("step") for one in told if isinstance(one, dict)][:1]


def _step_number(file: TorchFile, told: Any) -> int | None:
    numbers: Any = file.weight("step", told).read().reshape(-1) if isinstance(told, Tensor) else (told,)
    number = numbers[0]
    return int(number) if number is not None and 0 < number < _MOST_STEPS and number == int(number) else None


def _inner_optimizer(optimizer: Any) -> dict[str, Any] | None:
    """The table with `param_groups`: inside that of other weights, or of the first optimizer."""
    table: Any = optimizer
    for _ in range(3):
        if not isinstance(table, dict):
            return None
        found = cast("dict[Any, Any]", table)
        if "param_groups" in found:
            return found if isinstance(found["param_groups"], list) else None
        table = found.get("optimizer", found.get(0))
    return None


def adam_states(optimizer: Any, entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Adam's state of a shard's `entries` by its kind; empty if its form is unknown."""
    found: dict[str, list[Entry]] = {}
    held = [entry for entry in entries if _is_trained(entry)]
    try:
        for (chunk, name, value), state in _numbered_states(optimizer, held):
            for kind in KINDS:
                if isinstance(one := state.get(kind), Tensor) and one.shape == value.shape:
                    found.setdefault(kind, []).append((chunk, name, one))
    except ODD:
        return {}
    return found if all(len(kind) == len(held) for kind in found.values()) else {}


def _numbered_states(optimizer: Mapping[str, Any], held: Sequence[Entry]) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Each parameter with its state; ValueError if there are other numbers of them."""
    table: Mapping[str, Any] = optimizer if "state" in optimizer else optimizer["optimizer"]
    masters: Sequence[Any] | None = optimizer.get("fp32_from_fp16_params")
    for at, group in enumerate(table["param_groups"]):
        decays = bool(group["wd_mult"])
        named = [entry for entry in held if is_decayed(entry[1], entry[2].shape) is decays]
        for place, (number, entry) in enumerate(zip(group["params"], named, strict=True)):
            own = {} if masters is None else {MASTERS: masters[at][place]}
            yield entry, {**table["state"][number], **own}


def _is_trained(entry: Entry) -> bool:
    _, name, value = entry
    is_counter = beside_the_weights("megatron", name) is not None or name.endswith(".expert_bias")
    return isinstance(value, Tensor) and not is_counter


class ResumedRun(NamedTuple):
    """The state that Megatron-LM loads, besides the weights, to continue a run."""

    iteration: int
    samples: int
    """Samples that it has read."""
    step: int
    """Updates that Adam has made."""
    rates: Mapping[str, Any]
    """Adam's settings, which are those of each group of parameters."""
    scheduler: Mapping[str, Any]
    version: tuple[int, ...]
    has_masters: bool
    """The optimizer has float32 weights of its own."""
    is_distributed: bool
    has_expert_optimizer: bool
    """Experts have an optimizer of their own."""
    counts_apart: bool
    """torch's own Adam keeps the step with each parameter, those of Transformer Engine and Apex with each group."""

    @property
    def sharding(self) -> str | None:
        """The form of the distributed optimizer's state."""
        if not self.is_distributed:
            return None
        return _FULLY_RESHARDABLE if self.version >= _WHOLE_STATES else _FULLY_SHARDED

    @property
    def is_flat(self) -> bool:
        """True if each state is stored as one row of numbers."""
        return self.sharding == _FULLY_SHARDED

    @property
    def content_metadata(self) -> dict[str, Any]:
        """The description of its form that a checkpoint contains from 0.15 on; empty for earlier versions."""
        if self.version < _WHOLE_STATES:
            return {}
        own = {} if self.sharding is None else {"distrib_optim_sharding_type": self.sharding}
        return {"content_metadata": {**own, "singleton_local_shards": False, "chained_optim_avoid_prefix": True}}

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments in the checkpoint that tell how far the run is."""
        own = {"iteration": self.iteration, "consumed_train_samples": self.samples, "consumed_valid_samples": 0}
        return {**own, "no_save_optim": False, "no_save_rng": True, "ckpt_fully_parallel_save": True}


_WHOLE_STATES = (0, 15)
"""Since when the distributed optimizer's state is stored in the shapes of the parameters."""
_SORTED_GROUPS = (0, 16)
_FULLY_RESHARDABLE, _FULLY_SHARDED = "fully_reshardable", "fully_sharded_model_space"


def resumed_run(
    config: Config, path: str, step: int, iteration: int | None, samples: object, *, form: str, ranks_of_experts: int
) -> ResumedRun:
    """The state of a configured run after so many updates; RefusedError if its form is not known."""
    _check_form(config, path, is_numbered=form == "torch", has_expert_optimizer=ranks_of_experts > 1)
    _number(config, path, "global_batch_size")  # the schedule and the data are counted in samples
    try:
        parameters = megatron_parameters(config)
        counted, consumption = scheduler_arguments(parameters)
        ends = weight_decay_ends(parameters)
    except UndecidedError as error:
        raise RefusedError(*error.problems) from None
    iteration = step if iteration is None else iteration
    read = samples if isinstance(samples, int) and samples > 0 else consumption.samples(iteration)
    version = number_of(config.framework_version)
    scheduler = {
        "max_lr": parameters.lr, "lr_warmup_steps": counted.warmup, "num_steps": read,
        "lr_decay_style": parameters.lr_decay_style, "lr_decay_steps": counted.decay, "min_lr": parameters.min_lr,
        "start_wd": ends[0], "end_wd": ends[1], "wd_incr_style": parameters.weight_decay_incr_style,
        "wd_incr_steps": counted.weight_decay,
    }  # fmt: skip
    rates = {
        "max_lr": parameters.lr, "min_lr": parameters.min_lr, "lr": parameters.lr,
        "betas": tuple(_number(config, path, name) for name in ("adam_beta1", "adam_beta2")),
        "eps": _number(config, path, "adam_eps"), "weight_decay": float(parameters.weight_decay),
        "decoupled_weight_decay": True,  # no argument changes it
    }  # fmt: skip
    is_distributed = config.is_on(DISTRIBUTED_OPTIMIZER)
    return ResumedRun(
        iteration,
        read,
        step,
        rates,
        scheduler,
        version,
        has_masters=is_distributed or bool(config.value("bf16") or config.value("fp16")),
        is_distributed=is_distributed,
        has_expert_optimizer=ranks_of_experts > 1,
        counts_apart=config.value(LAYERS_OF) == "local",
    )


def _check_form(config: Config, path: str, *, is_numbered: bool, has_expert_optimizer: bool) -> None:
    """RefusedError if the run stores its optimizer's state in a form that is not written here."""
    # Only the numbered form depends on the groups of parameters.
    others = (*OTHER_OPTIMIZER_FORMS, *(OTHER_PARAMETER_GROUPS if is_numbered else ()))
    for name in (OPTIMIZER_NAME, DISTRIBUTED_OPTIMIZER, LAYERS_OF, "bf16", "fp16", *others):
        setting = config.settings.get(name)
        if setting is not None and not setting.decided:
            _refuse(path, say.adam_undecided(argument=setting.flag or f"--{name.replace('_', '-')}"))
    optimizer = config.value(OPTIMIZER_NAME)
    if optimizer not in (None, "adam"):
        _refuse(path, say.adam_argument(argument=f"--{OPTIMIZER_NAME} {optimizer}"))
    if is_numbered and config.is_on(DISTRIBUTED_OPTIMIZER):
        _refuse(path, say.adam_distributed_torch())
    if is_numbered and has_expert_optimizer:
        _refuse(path, say.adam_experts_torch())
    for name in others:
        if config.value(name) not in (None, False):
            _refuse(path, say.adam_argument(argument=f"--{name.replace('_', '-')}"))


def _number(config: Config, path: str, name: str) -> float:
    value = config.value(name)
    if not isinstance(value, (int, float)):
        _refuse(path, say.adam_undecided(argument=f"--{name.replace('_', '-')}"))
    return float(value)


def _refuse(path: str, why: Words) -> NoReturn:
    raise RefusedError(problem(say.adam_target(path=path, why=why), path))


def _group(run: ResumedRun, *, decays: bool, is_expert: bool) -> dict[str, Any]:
    """A group of parameters with its settings, as the optimizers save it."""
    group = {"wd_mult": float(decays), "lr_mult": 1.0, "is_expert_parallel": is_expert, "is_decoupled_lr": False}
    decay = run.rates["weight_decay"] if decays else 0.0
    rest = {"bias_correction": True, "default_config": True, "step": run.step}
    return {**group, **run.rates, "weight_decay": decay, **rest}


def number_parameters(run: ResumedRun, models: Mapping[str, Mapping[str, Weight]]) -> list[tuple[bool, list[str]]]:
    """The groups of a shard's optimizer: whether weight decay applies, and its parameters after their chunk's key."""
    groups: dict[bool, list[str]] = {}
    for chunk, weights in models.items():
        for name in sort_parameters(weights):
            groups.setdefault(is_decayed(name, weights[name].shape), []).append(f"{chunk}.{name}")
    if run.version >= _SORTED_GROUPS:
        return sorted(groups.items(), reverse=True)
    return list(groups.items())


def shard_optimizer(run: ResumedRun, groups: Sequence[tuple[bool, list[str]]], tensors: Mapping[str, Any]) -> Any:
    """The optimizer and scheduler entries of a shard; `tensors` has the state by kind and parameter."""
    numbers = {name: number for number, name in enumerate(name for _, names in groups for name in names)}
    counted: dict[str, Any] = {"step": run.step} if run.counts_apart else {}
    state = {
        number: {**counted, **{kind: tensors[state_name(kind, name)] for kind in (AVERAGES, SQUARES)}}
        for name, number in numbers.items()
    }
    listed = [
        {**_group(run, decays=decays, is_expert=False), "params": [numbers[name] for name in names]}
        for decays, names in groups
    ]
    optimizer: dict[str, Any] = {"state": state, "param_groups": listed}
    if run.has_masters:
        masters = [[tensors[state_name(MASTERS, name)] for name in names] for _, names in groups]
        optimizer = {"optimizer": optimizer, "fp32_from_fp16_params": masters}
    return {"optimizer": optimizer, "opt_param_scheduler": dict(run.scheduler)}


def state_name(kind: str, name: str) -> str:
    """The name of a parameter's state among the weights of a file."""
    return f"optimizer.{kind}.{name}"


def states_of(run: ResumedRun, adam: AdamState) -> dict[str, Mapping[str, Weight]]:
    """The kinds of state that a run has."""
    held = {AVERAGES: adam.averages, SQUARES: adam.squares, MASTERS: adam.masters}
    return held if run.has_masters else {kind: held[kind] for kind in (AVERAGES, SQUARES)}


def distributed_state_key(run: ResumedRun, kind: str, key: str, name: str) -> str:
    """The name of a parameter's state in a distributed checkpoint; before 0.15 several optimizers have prefixes."""
    number = int(expert_of(name) is not None)
    prefix = f"chained_{number}." if run.has_expert_optimizer and run.version < _WHOLE_STATES else ""
    return f"{prefix}optimizer.state.{kind}.{key}"


def distributed_optimizer(run: ResumedRun, names: Mapping[str, Weight]) -> dict[str, Any]:
    """The entries of a distributed checkpoint about its optimizers, without the states."""
    ordered = sort_parameters(names)
    optimizers: list[dict[str, Any]] = []
    for is_expert in (False, True) if run.has_expert_optimizer else (False,):
        own = [name for name in ordered if not run.has_expert_optimizer or (expert_of(name) is not None) is is_expert]
        decaying = dict.fromkeys(is_decayed(name, names[name].shape) for name in own)
        groups = [_group(run, decays=decays, is_expert=is_expert) for decays in decaying]
        if run.is_distributed:
            optimizers.append({"optimizer": {"param_groups": groups}, "param_state_sharding_type": run.sharding})
            continue
        inner = {"state": {"common_step": run.step} if run.counts_apart else {}, "param_groups": groups}
        optimizers.append({"optimizer": inner} if run.has_masters else inner)
    told = optimizers[0] if len(optimizers) == 1 else dict(enumerate(optimizers))
    return {"optimizer": told, "opt_param_scheduler": dict(run.scheduler), **run.content_metadata}
