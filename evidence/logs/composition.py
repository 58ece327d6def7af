"""Which losses of two runs mean the same.

Megatron-LM's `lm loss` and the dynamic graph's `loss` are the language model's. The static graph's `loss` is the sum

    lm loss + coefficient · MoE layers · load_balancing_loss + scale / depths · (mtp_1 loss + mtp_2 loss + …)

of `wrapper.py:grads_for_mcore`, in Megatron-LM's own columns: `load_balancing_loss` is the sum over all layers with
experts, those of the further predictions too, without the coefficient, divided by the decoder's such layers and from
0.13 on by the further predictions as well (`moe_utils.py:track_moe_metrics`); `mtp_N loss` comes without the scale.
From 1.7 on `print_separate_loss` prints `lm_loss` beside it, which is then compared. Where only the sum is there, a
configuration says what it contains.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from ...schemas.versions import number_of
from .columns import ABSENT, LM_LOSS, LOSS, MTP, mtp_depths
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...mapper.recipe.values import Recipe
    from ...mappings.names_compiled import FieldName
    from ...schemas.message import Words
    from .run import Run

_MEANS_FROM = (0, 15)
"""The first version of Megatron-LM whose `mtp_N loss` is a mean over the log interval."""
_COUNTS_DEPTHS_FROM = (0, 13)
"""The first version whose `load_balancing_loss` is divided by the further predictions, too."""


class Extras(NamedTuple):
    """What a configuration adds to the language-model loss."""

    balancing: float
    """The coefficient times the number of layers that Megatron-LM divides by."""
    mtp: float
    """The scale of one depth."""
    files: tuple[str, ...]
    mtp_means: bool
    """Whether Megatron-LM's version prints means for its depths."""


class Losses(NamedTuple):
    """The columns to compare, one for each run, and what was done or assumed."""

    a: array[float]
    b: array[float]
    notes: tuple[Words, ...]


def extras_of(recipes: Sequence[Recipe]) -> Extras | None:
    """What configurations say; None without any. Where they disagree, MindSpore Transformers' own counts."""
    if not recipes:
        return None
    chosen = next((recipe for recipe in recipes if recipe.framework == "mindformers"), recipes[0])
    megatron = next((recipe for recipe in recipes if recipe.framework == "megatron"), None)
    version = number_of(megatron.version) if megatron else ()
    coefficient, depths = _number(chosen, "moe.aux_loss_coefficient"), _number(chosen, "mtp.num_layers")
    balanced = chosen.value("moe.router.balancing") not in (None, "none")
    layers = _moe_layers(chosen)
    if layers and version >= _COUNTS_DEPTHS_FROM:
        layers += int(depths)
    return Extras(
        coefficient * layers if balanced else 0.0,
        _number(chosen, "mtp.loss_scale") / depths if depths else 0.0,
        (chosen.file,),
        version >= _MEANS_FROM,
    )


def _number(recipe: Recipe, field: FieldName) -> float:
    value = recipe.value(field)
    return float(value) if isinstance(value, (int, float)) else 0.0


def _moe_layers(recipe: Recipe) -> int:
    if not recipe.value("moe.num_experts"):
        return 0
    layers = recipe.value("model.num_layers")
    pattern = recipe.value("moe.layer_pattern")
    if isinstance(pattern, (list, tuple)):
        return sum(1 for entry in pattern if entry)
    count = layers if isinstance(layers, int) else 0
    every = pattern if isinstance(pattern, int) and pattern > 0 else 1
    return -(-count // every)


def comparable(a: Run, b: Run, extras: Extras | None) -> Losses:
    """The losses of two runs that mean the same, as far as logs and configuration tell."""
    first, second = _language_model(a), _language_model(b)
    if first is not None and second is not None:
        told = () if a.framework == b.framework and a.dialect == b.dialect != "static" else (say.lm(),)
        return Losses(first, second, told)
    if _is_sum(a) and _is_sum(b):
        return Losses(a.column(LOSS), b.column(LOSS), (say.sums(),))
    plain, whole = (a, b) if first is not None else (b, a)
    column, note = _as_sum(plain, extras)
    columns = (column, whole.column(LOSS)) if plain is a else (whole.column(LOSS), column)
    return Losses(*columns, (note,))


def _is_sum(run: Run) -> bool:
    return run.framework == "mindformers" and run.dialect == "static"


def _language_model(run: Run) -> array[float] | None:
    """The language model's loss, where the log has it."""
    if not _is_sum(run):
        return run.column(LOSS)
    return run.column(LM_LOSS) if run.has(LM_LOSS) else None


def _as_sum(run: Run, extras: Extras | None) -> tuple[array[float], Words]:
    """The loss of a run that prints its parts, put together as the static graph does."""
    losses = run.column(LOSS)
    balancing = [name for name in run.columns if name.endswith("load_balancing_loss") and run.has(name)]
    depths = [name for name in mtp_depths(list(run.columns)) if run.has(name)] or [MTP] * run.has(MTP)
    if extras is None:
        parts = ", ".join(balancing + depths)
        return losses, say.assumed_mixed(names=parts) if parts else say.assumed_plain()
    files = ", ".join(extras.files)
    usable = depths if _steps_alone(run, extras) else []
    terms = (("load_balancing_loss", extras.balancing, balancing), ("mtp_N loss", extras.mtp, usable))
    wanted = [term for term in terms if term[1]]
    if not wanted:
        return losses, say.nothing_added(files=files)
    missing = ", ".join(name for name, _, names in wanted if not names)
    if missing:
        parts = " + ".join(f"{scale:g} * {name}" for name, scale, _ in wanted)
        return losses, say.cannot_rebuild(parts=parts, missing=missing)
    summands = [(scale, name) for _, scale, names in wanted for name in names]
    formula = " + ".join(["lm loss", *(f"{scale:g} * {name}" for scale, name in summands)])
    return _summed(run, losses, summands), say.rebuilt(formula=formula, files=files)


def _steps_alone(run: Run, extras: Extras) -> bool:
    """Whether a line's losses of multi-token prediction are of the steps that its loss is of."""
    return run.framework != "megatron" or extras.mtp_means or all(window == 1 for window in run.windows)


def _summed(run: Run, losses: array[float], summands: Sequence[tuple[float, str]]) -> array[float]:
    """The losses with further columns, where both are there."""
    total = array("d", losses)
    for scale, name in summands:
        for row, value in enumerate(run.column(name)):
            if total[row] != ABSENT and value != ABSENT:
                total[row] += scale * value
    return total
