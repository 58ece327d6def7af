"""Two runs side by side, by step and never by position.

A loss that is a mean over several steps stands beside the other side's mean over exactly the same steps; where the
other side lacks one of them, the two cannot be compared and this is counted. Norms are each step's own on both sides.
Learning rates are put to the step that uses them.

`comparable` picks losses that mean the same. Megatron-LM's `lm loss` and the dynamic graph's `loss` are the language
model's. The static graph's `loss` is the sum

    lm loss + coefficient · MoE layers · load_balancing_loss + scale / depths · (mtp_1 loss + mtp_2 loss + …)

of `wrapper.py:grads_for_mcore`, in Megatron-LM's own columns: `load_balancing_loss` is the sum over all layers with
experts, those of the further predictions too, without the coefficient, divided by the decoder's such layers and from
0.13 on by the further predictions as well (`moe_utils.py:track_moe_metrics`); `mtp_N loss` comes without the scale.
From 1.7 on `print_separate_loss` prints `lm_loss` beside it, which is then compared. Where only the sum is there, a
configuration says what it contains.
"""

from __future__ import annotations

from array import array
from operator import sub
from typing import TYPE_CHECKING, cast

from ...schemas.fast_records import NamedTuple
from ...schemas.versions import number_of
from .columns import ABSENT, GRAD_NORM, LEARNING_RATE, LM_LOSS, LOSS, MTP, mtp_depths
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...mapper.recipe.values import Recipe
    from ...mappings.names_compiled import FieldName
    from ...schemas.message import Words
    from .run import Run


_SAME_RATE = 1e-3
"""A share by which printed rates of one step differ at most."""


class Pair(NamedTuple):
    """One quantity of two runs at the steps where both have it."""

    steps: array[int]
    a: array[float]
    b: array[float]
    windows: array[int]
    """How many steps, up to and with each one, the values are a mean of."""

    @property
    def size(self) -> int:
        """Number of steps that both runs have."""
        return len(self.steps)

    @property
    def differences(self) -> array[float]:
        """Values of B minus values of A."""
        return array("d", map(sub, self.b, self.a))


class Alignment(NamedTuple):
    """Everything that two runs have in common."""

    loss: Pair
    norm: Pair
    rate: Pair
    only_a: int
    only_b: int
    uncovered: int
    """How many means of one side the other cannot be averaged for."""
    rate_shifts: tuple[int, int] = (0, 0)
    """By how many steps the printed rates of either run are used later."""


def same_windows(one: Pair, other: Pair) -> tuple[Pair, Pair]:
    """Two pairs averaged over equal windows of steps, the longer of both."""
    if max(one.windows, default=1) >= max(other.windows, default=1):
        return one, _average_like(other, one)
    return _average_like(one, other), other


def _average_like(pair: Pair, like: Pair) -> Pair:
    """Pair averaged over the windows of another pair, where it covers them."""
    if pair.windows == like.windows and pair.steps == like.steps:
        return pair
    rows = dict(zip(pair.steps, range(pair.size), strict=True))
    pair_of_means = Pair(array("q"), array("d"), array("d"), array("q"))
    for step, window in zip(like.steps, like.windows, strict=True):
        row = rows.get(step)
        if row is None:
            continue
        means = [_mean(pair.steps, pair.windows, values, row, window) for values in (pair.a, pair.b)]
        if None not in means:
            pair_of_means.steps.append(step)
            pair_of_means.a.append(cast("float", means[0]))
            pair_of_means.b.append(cast("float", means[1]))
            pair_of_means.windows.append(window)
    return pair_of_means


def align(a: Run, b: Run, losses: Losses, shift: int = 0) -> Alignment:
    """Values of two runs side by side: step N of A beside step N + `shift` of B."""
    rows = _common(a.steps, b.steps, shift)
    pair, uncovered = _loss(a, b, losses, rows)
    norm = _values(a.steps, a.column(GRAD_NORM), b.column(GRAD_NORM), rows)
    shifts, rate = _rates(a, b, shift)
    count = len(rows.a)
    return Alignment(pair, norm, rate, len(a.steps) - count, len(b.steps) - count, uncovered, shifts)


def _rates(a: Run, b: Run, shift: int) -> tuple[tuple[int, int], Pair]:
    """Steps by which each run's printed rates are used later, and the rates at the steps that use them.

    If the version of a program decides and the log does not tell it, most rates do: the position where fewest differ.
    """
    own = (0, 1) if a.rate_shift is None else (a.rate_shift,)
    wanted = [
        (ours, theirs) for ours in own for theirs in ((ours, 1 - ours) if b.rate_shift is None else (b.rate_shift,))
    ]
    pairs = [(shifts, _rates_at(a, b, shifts[0] - shifts[1] + shift)) for shifts in wanted]
    shifts, rate = pairs[0] if len(pairs) == 1 else min(pairs, key=lambda one: _share_of_other_rates(one[1]))
    if shifts[0]:
        rate = rate._replace(steps=array("q", (step + shifts[0] for step in rate.steps)))
    return shifts, rate


def _rates_at(a: Run, b: Run, shift: int) -> Pair:
    """Learning rates of both runs at common steps."""
    return _values(a.steps, a.column(LEARNING_RATE), b.column(LEARNING_RATE), _common(a.steps, b.steps, shift))


def _share_of_other_rates(rate: Pair) -> float:
    """Share of common steps whose rates differ."""
    other = sum(abs(a - b) > _SAME_RATE * max(abs(a), abs(b)) for a, b in zip(rate.a, rate.b, strict=True))
    return other / rate.size if rate.size else 1.0


class _Rows(NamedTuple):
    """The rows of two runs that belong together, in the order of the steps."""

    a: Sequence[int]
    b: Sequence[int]


def _common(a: array[int], b: array[int], shift: int) -> _Rows:
    """Rows of both runs that belong together: step of A plus `shift` is the step of B."""
    if not shift and a == b:
        return _Rows(range(len(a)), range(len(b)))
    places: Mapping[int, int] = dict(zip(b, range(len(b)), strict=True))
    ours, theirs = array("q"), array("q")
    for row, step in enumerate(a):
        other = places.get(step + shift)
        if other is not None:
            ours.append(row)
            theirs.append(other)
    return _Rows(ours, theirs)


def _values(steps: array[int], a: array[float], b: array[float], rows: _Rows) -> Pair:
    """One column of both runs at common rows, without rows where a value is absent."""
    if len(rows.a) == len(a) == len(b) and ABSENT not in a and ABSENT not in b:
        return Pair(steps, a, b, array("q", [1]) * len(a))
    found = Pair(array("q"), array("d"), array("d"), array("q"))
    for row, other in zip(rows.a, rows.b, strict=True):
        one, two = a[row], b[other]
        if one != ABSENT and two != ABSENT:
            found.steps.append(steps[row])
            found.a.append(one)
            found.b.append(two)
            found.windows.append(1)
    return found


def _loss(a: Run, b: Run, losses: Losses, rows: _Rows) -> tuple[Pair, int]:
    """Losses of both runs, averaged over equal windows, and the number of steps that no window covers."""
    if max(a.windows, default=1) == 1 and max(b.windows, default=1) == 1:
        return _values(a.steps, losses.a, losses.b, rows), 0
    pair = Pair(array("q"), array("d"), array("d"), array("q"))
    uncovered = 0
    for row, other in zip(rows.a, rows.b, strict=True):
        ours, theirs = a.windows[row], b.windows[other]
        window = max(ours, theirs)
        one = losses.a[row] if ours == window else _mean(a.steps, a.windows, losses.a, row, window)
        two = losses.b[other] if theirs == window else _mean(b.steps, b.windows, losses.b, other, window)
        if one is None or two is None:
            uncovered += 1
        elif one != ABSENT and two != ABSENT:
            pair.steps.append(a.steps[row])
            pair.a.append(one)
            pair.b.append(two)
            pair.windows.append(window)
    return pair, uncovered


def _mean(steps: Sequence[int], windows: Sequence[int], values: Sequence[float], row: int, window: int) -> float | None:
    """Mean over the `window` steps up to a row, from shorter means; None if they do not cover it."""
    start = steps[row] - window
    total = weight = 0.0
    expected = steps[row]
    while expected > start:
        if row < 0 or steps[row] != expected:
            return None
        size = windows[row]
        if values[row] != ABSENT:
            total += values[row] * size
            weight += size
        expected -= size
        row -= 1
    if expected != start:
        return None
    return total / weight if weight else ABSENT


_MEANS_FROM = (0, 15)
"""The first version of Megatron-LM whose `mtp_N loss` is a mean over the log interval."""
_COUNTS_DEPTHS_FROM = (0, 13)
"""The first version whose `load_balancing_loss` is divided by the further predictions, too."""


class Extras(NamedTuple):
    """The terms that a configuration adds to the language-model loss."""

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
    """Added loss terms by the configurations; MindSpore Transformers' if they disagree, None without any."""
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
    """The number in a recipe field; 0 if there is none."""
    value = recipe.value(field)
    return float(value) if isinstance(value, (int, float)) else 0.0


def _moe_layers(recipe: Recipe) -> int:
    """Number of layers with experts."""
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
    """Losses of both runs in one meaning, as far as logs and configurations allow."""
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
    """True if a run prints the sum of its losses, as the static graph does."""
    return run.framework == "mindformers" and run.dialect == "static"


def _language_model(run: Run) -> array[float] | None:
    """Language-model loss of a run, if the log prints it."""
    if not _is_sum(run):
        return run.column(LOSS)
    return run.column(LM_LOSS) if run.has(LM_LOSS) else None


def _as_sum(run: Run, extras: Extras | None) -> tuple[array[float], Words]:
    """Losses of a run that prints parts, summed as the static graph does, with a note."""
    losses = run.column(LOSS)
    balancing = [name for name in run.columns if name.endswith("load_balancing_loss") and run.has(name)]
    depths = [name for name in mtp_depths(list(run.columns)) if run.has(name)] or [MTP] * run.has(MTP)
    if extras is None:
        parts = ", ".join(balancing + depths)
        return losses, say.assumed_mixed(names=parts) if parts else say.assumed_plain()
    files = ", ".join(extras.files)
    usable = depths if _are_of_same_steps(run, extras) else []
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
    return _add_columns(run, losses, summands), say.rebuilt(formula=formula, files=files)


def _are_of_same_steps(run: Run, extras: Extras) -> bool:
    """True if the multi-token prediction losses are of the same steps as the line's main loss."""
    return run.framework != "megatron" or extras.mtp_means or all(window == 1 for window in run.windows)


def _add_columns(run: Run, losses: array[float], summands: Sequence[tuple[float, str]]) -> array[float]:
    """Losses plus other columns, each times its scale."""
    total = array("d", losses)
    for scale, name in summands:
        for row, value in enumerate(run.column(name)):
            if total[row] != ABSENT and value != ABSENT:
                total[row] += scale * value
    return total
