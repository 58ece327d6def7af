"""Stages that only some pairs have: several documents in a sample, uneven micro batches, forced experts, dropout.

The samples are laid out by each framework's own data set code, in its worker.
"""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING, Any

from ...mapper.recipe.reading import recipe_of
from ...mappings.keys_compiled import FORCED_EXPERTS, FORCED_SAMPLES
from ...schemas.fast_records import NamedTuple
from ..worker.blueprint import CutPlan, DocumentPlan
from .dimensions import Target, both, made_small

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...mapper.recipe.values import Recipe
    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config, Value


DOCUMENTS: tuple[FieldName, ...] = ("data.document_positions", "data.document_attention", "data.mask_loss_after_eod")
"""What a run makes of the end of a document, by what its code computes."""
END_TOKEN: FieldName = "data.eod_token"
"""Which token that is; it counts where a run makes something of it."""
_COMPRESSED = "train_dataset.data_loader.config.create_compressed_eod_mask"


def separates_documents(*configs: Config) -> bool:
    """True if one of the runs treats an end of a document as more than a token, and this can be run.

    A mask that the attention kernel makes of the documents' lengths is an Ascend kernel's own.
    """
    if any(config.framework == "mindformers" and config.value(_COMPRESSED) for config in configs):
        return False
    return any(recipe_of(config).value(field) is True for config in configs for field in DOCUMENTS)


def document_plans(a: Config, b: Config, vocabulary: int, pad: int | None) -> tuple[DocumentPlan, DocumentPlan]:
    """The documents of both runs; ends that differ, or are the padding token, stay so when they shrink."""
    ends = _end_token(a), _end_token(b)
    padding = [recipe_of(config).value("tokenizer.pad_token") for config in (a, b)]
    small = _small_end_tokens(ends, padding, vocabulary, pad)
    # Where one file leaves it open, its end is the other's.
    other = next(iter(small.values()))
    return _document_plan(a, small.get(ends[0], other)), _document_plan(b, small.get(ends[1], other))


def _end_token(config: Config) -> int | None:
    """The token that ends a document; None where the file leaves it open, or says no token."""
    value = recipe_of(config).value(END_TOKEN)
    return value if isinstance(value, int) else None


def _small_end_tokens(
    ends: tuple[int | None, int | None], padding: Sequence[Value], vocabulary: int, pad: int | None
) -> dict[int | None, int]:
    """Each known end's token in the small vocabulary."""
    free = iter(token for token in range(vocabulary - 1, -1, -1) if token != pad)
    known = [end for end in dict.fromkeys(ends) if end is not None]
    small: dict[int | None, int] = {end: pad if pad is not None and end in padding else next(free) for end in known}
    return small or dict.fromkeys(ends, next(free))


def _document_plan(config: Config, end: int) -> DocumentPlan:
    said = recipe_of(config)
    return DocumentPlan(end, *(said.value(field) is True for field in DOCUMENTS))


MICRO_BATCH_SIZE: FieldName = "batch.micro_size"
MICRO_BATCHES: tuple[FieldName, ...] = (MICRO_BATCH_SIZE, "batch.accumulation_steps")
"""What is told of steps that part: of equal steps, the number of micro batches follows their size."""
_GLOBAL_BATCH_SIZE: FieldName = "batch.global_size"
_NOTED_BY_MICRO_BATCH: tuple[FieldName, ...] = ("gradient.per_token_loss", "mtp.num_layers")
"""Of a run with both: further predictions are trained by token, and noted as the mean of each micro batch."""
_SMALL_MICRO_BATCH = Target(2, 1)
_LEAST_MICRO_BATCHES = 2
"""Micro batches of the side that makes fewest: a lone one adds nothing up."""


class Cuts(NamedTuple):
    """The samples and micro batches of each step, for both trainers."""

    plans: tuple[CutPlan, CutPlan]
    shrunk: Mapping[str, list[Any]]


def cuts_of_step(a: Config, b: Config) -> Cuts | None:
    """Both cuts of as many samples, made small; None where the files cut alike, or a step has not as many samples."""
    recipes = recipe_of(a), recipe_of(b)
    sizes, steps = ([recipe.value(field) for recipe in recipes] for field in (MICRO_BATCH_SIZE, _GLOBAL_BATCH_SIZE))
    one, other = sizes
    if not (isinstance(one, int) and isinstance(other, int)) or one == other or None in steps or steps[0] != steps[1]:
        return None
    if any(all(recipe.value(field) for field in _NOTED_BY_MICRO_BATCH) for recipe in recipes):
        return None
    small = made_small(one, other, _SMALL_MICRO_BATCH)
    samples = _LEAST_MICRO_BATCHES * lcm(*small)
    plans = CutPlan(samples, small[0]), CutPlan(samples, small[1])
    return Cuts(plans, {MICRO_BATCH_SIZE: [both(*sizes), both(*small)]} if (one, other) != small else {})


def is_settled(field: str, a: Recipe, b: Recipe) -> bool:
    """True if steps that agree show that a difference changes nothing.

    A balancing loss of every micro batch may hide behind the tolerance.
    """
    return field == MICRO_BATCH_SIZE and not any(recipe.value(_EXPERTS) for recipe in (a, b))


FORCED_BALANCE: FieldName = "moe.router.force_balance"
_EXPERTS: FieldName = "moe.num_experts"


def one_side_forces(a: Config, b: Config) -> bool:
    """True if both have experts and one run alone forces."""
    recipes = recipe_of(a), recipe_of(b)
    forced = [recipe.value(FORCED_BALANCE) is True for recipe in recipes]
    return forced[0] != forced[1] and all(recipe.value(_EXPERTS) for recipe in recipes)


def forced_routing_settings(config: Config, samples: int) -> Mapping[str, Any]:
    """Settings of its configuration class; MindSpore Transformers lays the turns out for `samples` of a pass."""
    if recipe_of(config).value(FORCED_BALANCE) is not True:
        return {}
    found = {FORCED_EXPERTS[config.framework]: True}
    return found if config.framework == "megatron" else {**found, FORCED_SAMPLES: samples}


DROPOUT: tuple[FieldName, ...] = ("model.hidden_dropout", "attention.dropout")


def runs_dropout(*configs: Config) -> bool:
    """True if one of the runs drops anything."""
    found = (recipe_of(config).value(field) for config in configs for field in DROPOUT)
    return any(isinstance(value, (int, float)) and value > 0 for value in found)
