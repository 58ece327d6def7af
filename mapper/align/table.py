"""The alignment table: which settings are simplified, why, and at which step of the ladder each comes back."""

from __future__ import annotations

import os
from functools import cache

from ...schemas.border.file_input import package_text
from ...schemas.compilers.tables import load_table
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..translate.megatron_file import PARALLEL_SIZES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value
    from ...schemas.diagnostic import Language

ALWAYS = "always"
"""Stands in `back` for a setting that no step gives back: it follows from the others."""


class Step(NamedTuple):
    """One rung of the ladder: a part of the real run that comes back."""

    name: str
    en: str
    zh: str

    def text(self, language: Language) -> str:
        """The part of the real run that comes back, for a person."""
        return self.zh if language == "zh" else self.en


class Simplification(NamedTuple):
    """One field, and what it becomes until its step gives it back."""

    field: FieldName
    value: Value
    rule: str | None
    back: str
    sources: tuple[str, ...]
    en: str
    zh: str
    variable: str | None = None
    """The environment variable that holds the field, where the launch decides it and no file."""


class AlignmentTable(NamedTuple):
    """The whole table."""

    steps: tuple[Step, ...]
    settings: tuple[Simplification, ...]
    environment: tuple[Simplification, ...]
    experiments: Mapping[str, tuple[Simplification, ...]]
    """By name: what an experiment of the guide sets on top."""
    where_lost: Mapping[str, tuple[Simplification, ...]]
    """By a field that neither side can give the other's value: what both have instead."""
    initial_weights: Mapping[str, Mapping[str, Value]]
    """By dialect: the keys of the YAML that saves one checkpoint and stops."""

    def place(self, back: str) -> int:
        """The number of the step that gives a setting back; one above the last for `always`."""
        if back == ALWAYS:
            return len(self.steps)
        return next(number for number, step in enumerate(self.steps) if step.name == back)


@cache
def alignment_table() -> AlignmentTable:
    """The table, read once."""
    content: Any = load_table(package_text(os.path.dirname(__file__), "alignment.yaml"))
    return AlignmentTable(
        tuple(Step(**step) for step in content["steps"]),
        tuple(_simplification(row) for row in content["settings"]),
        tuple(_simplification(row) for row in content["environment"]),
        _simplifications_by_name(content["experiments"]),
        _simplifications_by_name(content["where_lost"]),
        content["initial_weights"],
    )


def _simplifications_by_name(content: Mapping[str, Any]) -> dict[str, tuple[Simplification, ...]]:
    return {name: tuple(_simplification({"back": ALWAYS, **row}) for row in rows) for name, rows in content.items()}


def _simplification(row: dict[str, Any]) -> Simplification:
    return Simplification(
        row["field"],
        row.get("value"),
        row.get("rule"),
        row["back"],
        tuple(row["sources"]),
        row["en"],
        row["zh"],
        row.get("name"),
    )


LAYERS = 2
SEED = 1234


class Situation(NamedTuple):
    """The facts that a rule may ask for."""

    source: Callable[[FieldName], Value]
    """A field of the source."""
    aligned: Callable[[FieldName], Value]
    """The same field as far as it is simplified already, in the order of the table."""
    returned: frozenset[str]
    """Steps of the ladder that have given their part back."""
    framework: str
    """The source's framework."""


def _whole(value: Value) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _size(value: Value) -> int:
    return _whole(value) or 1


def _entries(value: Value) -> list[Value] | None:
    return list(value) if isinstance(value, (list, tuple)) else None


def _two_layers(value: Value, _at: Situation) -> Value:
    layers = _whole(value)
    return value if layers is None else min(layers, LAYERS)


def _two_layer_pattern(value: Value, _at: Situation) -> Value:
    """The first layer, and the first one of the other kind where there is one."""
    pattern = _entries(value)
    if pattern is None or len(pattern) <= LAYERS:
        return value
    other = next((kind for kind in pattern if kind != pattern[0]), pattern[1])
    return [pattern[0], other]


def _two_layer_list(value: Value, at: Situation) -> Value:
    """A number of layers after which one of the other kind comes has to divide the layers (`no_rope_freq`)."""
    number = _whole(value)
    return _two_layer_pattern(value, at) if number is None else min(number, LAYERS)


def _one_at_most(value: Value, _at: Situation) -> Value:
    number = _whole(value)
    return value if number is None else min(number, 1)


def _none_where_layers_go(value: Value, at: Situation) -> Value:
    return value if at.aligned("model.num_layers") == at.source("model.num_layers") else None


def _same_padding(value: Value, at: Situation) -> Value:
    """A divisor that pads the vocabulary to the size it has with the source's tensor parallel size.

    A size that the source gives itself may be no multiple of that (`--padded-vocab-size`), and stays.
    """
    divisor, padded = _whole(value), _whole(at.source("model.padded_vocab_size"))
    before, now = _size(at.source("parallel.tensor_size")), _size(at.aligned("parallel.tensor_size"))
    if divisor is None or divisor * before % now or (padded or 0) % (divisor * before):
        return value
    return divisor * before // now


def _as_long_as_the_samples(value: Value, at: Situation) -> Value:
    """A fork's YaRN counts from a shorter length, which Megatron-LM has no place for beside longer samples."""
    positions, length = _whole(value), _whole(at.source("data.sequence_length"))
    return value if positions is None or length is None else max(positions, length)


def _off_unless_experts_need_it(value: Value, at: Situation) -> Value:
    """Megatron-LM trains experts under tensor parallelism with sequence parallelism only."""
    if (
        "tensor" in at.returned
        and at.source("moe.num_experts") is not None
        and _size(at.source("parallel.tensor_size")) > 1
    ):
        return value
    return False if value else value


def _dispatcher_of_one_device(value: Value, _at: Situation) -> Value:
    return "alltoall" if value == "flex" else value


def _plain_sharding(value: Value, _at: Situation) -> Value:
    return value if value in (None, "no_shard") else "no_shard"


def _devices(value: Value, at: Situation) -> Value:
    if at.source("parallel.data_size") is None and all(at.aligned(name) == at.source(name) for name in PARALLEL_SIZES):
        return value
    devices = 1
    for name in PARALLEL_SIZES:
        devices *= _size(at.aligned(name))
    return devices


def _accumulation(value: Value, at: Situation) -> Value:
    whole, micro = _whole(at.source("batch.global_size")), _whole(at.source("batch.micro_size"))
    if not whole or not micro or at.aligned("parallel.data_size") is None:
        return value
    return max(1, whole // (micro * _size(at.aligned("parallel.data_size"))))


def _run_length(value: Value, at: Situation) -> Value:
    steps = at.source("run.train_steps")
    return value if steps is None else steps


def _zero_where_set(value: Value, _at: Situation) -> Value:
    return value if value is None else 0.0


def _single_balancing_kind(value: Value, _at: Situation) -> Value:
    """Several balancing losses at once have no equal; without any coefficient none of them is added."""
    return "none" if _entries(value) is not None else value


def _a_seed(value: Value, at: Situation) -> Value:
    if value:
        return value
    seed = at.aligned("run.seed")
    return seed or SEED


def _false_where_set(value: Value, _at: Situation) -> Value:
    return False if value else value


def _plain_optimizer(value: Value, at: Situation) -> Value:
    """Megatron-LM's fused Adam computes the same as a plain one: only an explicit wish of the other side is undone."""
    return False if value and at.framework == "mindformers" else value


def _plain_where_latent(value: Value, at: Situation) -> Value:
    return False if value and at.aligned("attention.latent.enabled") else value


def _engine_where_latent(value: Value, at: Situation) -> Value:
    return "transformer_engine" if value == "local" and at.aligned("attention.latent.enabled") else value


RULES: Mapping[str, Callable[[Value, Situation], Value]] = {
    "two_layers": _two_layers,
    "two_layer_pattern": _two_layer_pattern,
    "two_layer_list": _two_layer_list,
    "one_at_most": _one_at_most,
    "none_where_layers_go": _none_where_layers_go,
    "same_padding": _same_padding,
    "as_long_as_the_samples": _as_long_as_the_samples,
    "off_unless_experts_need_it": _off_unless_experts_need_it,
    "dispatcher_of_one_device": _dispatcher_of_one_device,
    "no_sharding": _plain_sharding,
    "devices": _devices,
    "accumulation": _accumulation,
    "run_length": _run_length,
    "zero_where_set": _zero_where_set,
    "one_balancing": _single_balancing_kind,
    "a_seed": _a_seed,
    "false_where_set": _false_where_set,
    "plain_optimizer": _plain_optimizer,
    "plain_where_latent": _plain_where_latent,
    "engine_where_latent": _engine_where_latent,
}
