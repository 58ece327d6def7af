"""Two workers' answers side by side: each number's relative difference, and the first module where they part."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from ...schemas.fast_records import NamedTuple
from ...schemas.message import text_in
from ..messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ...schemas.config import Value
    from ..plan.schedules import Rates
    from ..worker.blueprint import SamplePlan
    from ..worker.processes import WorkerAnswer

TOLERANCE = 1e-5
"""Largest relative difference of a loss or a gradient norm; equal models agree to 1e-6 in float32."""
FLOOR_SHARE = 1e-3
"""The floor of a gradient's norm, as a share of the global norm: below it rounding is compared, not the model."""
ELEMENT_FACTOR = 30.0
"""Single elements may differ more than a norm does, relative to the largest of their array."""
UPDATE_TOLERANCE = 1e-4
INITIALISATION_SIGMAS = 6.0
_SHOWN = 12
"""Samples whose steps are told one by one."""

Stage = str
"""`structure`, `initialisation`, `loss`, `logits`, `gradients`, `clipping`, `optimizer`, `rates`, `padding` …"""


class Row(NamedTuple):
    """One quantity on both sides."""

    name: str
    a: float | None
    b: float | None
    relative: float | None
    agrees: bool = True
    note: str = ""
    decides: bool = True
    """False if a difference leaves the verdict alone: both models get the same weights, whatever they would draw."""

    def note_text(self, language: str) -> str:
        """The note in a language."""
        return text_in(self.note, language)

    @property
    def step(self) -> int:
        """Training step of a loss row, read from its name."""
        return int(self.name)


class InitialWeights(NamedTuple):
    """The weights that both frameworks draw for these files, whatever a checkpoint replaces them with."""

    kinds: int
    """How many kinds of parameters were compared; none if the stage was not run."""
    different: list[str]
    """The kinds that the two sides draw otherwise."""

    @property
    def verdict(self) -> str:
        """One-word result of the comparison of initial weights."""
        return "not-compared" if not self.kinds else "differently" if self.different else "alike"


class Comparison(NamedTuple):
    """Everything that was compared, by stage; a stage that was not run is empty."""

    structure: tuple[Row, ...] = ()
    loss: tuple[Row, ...] = ()
    parts: tuple[Row, ...] = ()
    logits: tuple[Row, ...] = ()
    gradients: tuple[Row, ...] = ()
    elements: tuple[Row, ...] = ()
    norms: tuple[Row, ...] = ()
    """The global gradient norm of each of the trainers' steps."""
    training: tuple[Row, ...] = ()
    """Loss and learning rate of each."""
    clipping: tuple[Row, ...] = ()
    optimizer: tuple[Row, ...] = ()
    expert_bias: tuple[Row, ...] = ()
    initialisation: tuple[Row, ...] = ()
    padding: tuple[Row, ...] = ()
    rates: tuple[Row, ...] = ()
    dropout: tuple[Row, ...] = ()
    """Parts of the loss, logits and norms of gradients of a pass in which something is dropped."""
    scales: tuple[Row, ...] = ()
    """The loss scale at the start and after each step, some of which overflow."""
    samples: tuple[Row, ...] = ()
    """What both data sets draw: how long and how many, and the first batches, token by token."""
    activations: tuple[Row, ...] = ()
    """The outputs of all modules in the order in which they ran; of a mismatch that was traced."""
    floor: float = 0.0
    shared: frozenset[str] = frozenset()
    """The parameters that both models have."""

    def optional_stages(self) -> frozenset[str]:
        """The stages that not every pair has and that this one had."""
        return frozenset(stage for stage in ("rates", "dropout", "scales", "samples") if getattr(self, stage))

    @property
    def largest_logits(self) -> Row | None:
        """Row of the logits, which there is one of; None if they were not compared."""
        return self.logits[0] if self.logits else None

    @property
    def disagreeing_names(self) -> dict[str, list[str]]:
        """The names of the rows that do not agree, by stage."""
        return {stage: [row.name for row in rows] for stage, rows in self.disagreements().items()}

    @property
    def compared_names(self) -> frozenset[tuple[Stage, str]]:
        """Stage and name of each row."""
        return frozenset((stage, row.name) for stage in self._fields[:-2] for row in getattr(self, stage))

    @property
    def initial_weights(self) -> InitialWeights:
        """The initialisers of both sides by kind of parameter."""
        return InitialWeights(len(self.initialisation), [row.name for row in self.initialisation if not row.agrees])

    @property
    def lacks_initial_values(self) -> bool:
        """True if initial weights differ only because a framework does not initialize them."""
        rows = self.disagreements().get("initialisation", ())
        return bool(rows) and all(row.relative is None for row in rows)

    def disagreements(self) -> dict[Stage, tuple[Row, ...]]:
        """The rows that do not agree and decide the verdict, by stage."""
        found: dict[Stage, tuple[Row, ...]] = {}
        for stage in self._fields[:-2]:
            rows = tuple(row for row in getattr(self, stage) if not row.agrees and row.decides)
            if rows:
                found[stage] = rows
        return found


TABLES: Mapping[Stage, str] = {"optimizer": "updates", "elements": "gradient_elements"}
"""The table of a stage in the answer, if it has another name."""
_TOLD_FIRST = ("loss", "parts", "dropout", "padding", "training", "rates", "norms", "gradients", "logits")
"""Stages whose numbers say most to a person."""


_TOLD_OF_ONE_VALUE = ("parts", "dropout")
"""Stages that compare what a framework computes from a setting, before it reaches the loss."""


def first_difference(
    compared: Comparison, apart_from: Collection[tuple[str, str]] = (), *, of_one_value: bool = False
) -> tuple[Stage, Row] | None:
    """Most telling disagreement with its stage, ignoring quantities in `apart_from`.

    Of a setting that has one value in both files, what the frameworks compute from it says most.
    """
    own = {
        stage: [row for row in rows if (stage, row.name) not in apart_from]
        for stage, rows in compared.disagreements().items()
    }
    wrong = {stage: rows for stage, rows in own.items() if rows}
    for stage in (*(_TOLD_OF_ONE_VALUE if of_one_value else ()), *_TOLD_FIRST, *wrong):
        if stage in wrong:
            largest = max(wrong[stage], key=lambda row: row.relative or 0.0)
            return stage, next((row for row in wrong[stage] if row.name == "loss"), largest)
    return None


def compare_answers(
    a: WorkerAnswer,
    b: WorkerAnswer,
    *,
    tolerance: float = TOLERANCE,
    known_ratio: Mapping[str, float] | None = None,
    loaded: bool = False,
) -> Comparison:
    """All quantities of two answers; `known_ratio` names initial spreads that the frameworks themselves differ in.

    Of runs that both load a checkpoint (`loaded`) no difference of what they draw decides anything.
    """
    losses, parts = _losses(a, b, tolerance)
    floor = _floor(a, b)
    return Comparison(
        structure=tuple(_structure(a, b)),
        loss=losses,
        parts=parts,
        logits=tuple(_logits(a, b, tolerance)),
        gradients=tuple(_gradients(a, b, floor, tolerance)),
        elements=tuple(_elements(a, b, floor, tolerance * ELEMENT_FACTOR)),
        norms=tuple(row._replace(name=row.name.removesuffix(" norm")) for row in _steps(a, b, ("norm",), tolerance)),
        training=tuple(_steps(a, b, ("loss", "rate"), tolerance)),
        clipping=tuple(_clipping_rows(a, b, tolerance)),
        optimizer=tuple(_update_rows(a, b)),
        expert_bias=tuple(_expert_bias(a, b)),
        initialisation=tuple(_initialisation(a, b, known_ratio or {}, loaded=loaded)),
        padding=tuple(
            _row(part, a.values["padded"].get(part), b.values["padded"].get(part), tolerance)
            for part in ("loss", "mtp")
            if part in a.values.get("padded", ()) and part in b.values.get("padded", ())
        ),
        dropout=tuple(_rows_of_dropout_pass(a, b, floor, tolerance)),
        scales=tuple(_scale_rows(a, b, tolerance)),
        floor=floor,
        shared=frozenset(a.values["shapes"]) & frozenset(b.values["shapes"]),
    )


def compare_rates(a: WorkerAnswer, b: WorkerAnswer, asked: Rates) -> tuple[Row, ...]:
    """The learning rates of both schedulers by step, and a weight decay that changes; relative to the largest."""
    each = zip(asked.steps, a.values.get("rates", ()), b.values.get("rates", ()), strict=False)
    rows = [_row(str(step), one, two, asked.tolerance, asked.peak) for step, one, two in each]
    decays: list[Sequence[float]] = [side.values.get("decays", ()) for side in (a, b)]
    if any(len(set(side)) > 1 for side in decays):
        largest = max(map(max, decays))
        each = zip(asked.steps, *decays, strict=False)
        rows += [_row(f"weight decay {step}", one, two, asked.tolerance, largest) for step, one, two in each]
    return tuple(rows)


def compare_samples(a: WorkerAnswer, b: WorkerAnswer, plans: tuple[SamplePlan, SamplePlan]) -> tuple[Row, ...]:
    """The samples that both data sets draw, in the order in which they are used; empty where one draws none."""
    if not all("passes" in side.values for side in (a, b)):
        return ()
    ours, theirs = a.arrays["samples/tokens"], b.arrays["samples/tokens"]
    rows = [
        _row("tokens of a sample", ours.shape[1], theirs.shape[1], 0.0),
        _row("samples of a step", plans[0].batch, plans[1].batch, 0.0),
    ]
    if a.values["passes"] is not None and b.values["passes"] is not None:
        rows.append(_row("steps until they begin anew", a.values["passes"], b.values["passes"], 0.0))
    if ours.shape[1] != theirs.shape[1]:
        return tuple(rows)
    count = min(len(ours), len(theirs))
    if not rows[1].agrees:
        return (*rows, _batch_row("samples", a, b, slice(0, count)))
    size = plans[0].batch
    shown = min(count, size * -(-_SHOWN // size))
    rows += [
        _batch_row(f"step {start // size + 1}", a, b, slice(start, start + size)) for start in range(0, shown, size)
    ]
    if shown < count:
        rows.append(_batch_row("the steps behind them", a, b, slice(shown, count)))
    return tuple(rows)


def _batch_row(name: str, a: WorkerAnswer, b: WorkerAnswer, samples: slice) -> Row:
    """Row that compares sample batches: the first position that differs, and the share of positions that do."""
    apart = {
        kind: a.arrays[f"samples/{kind}"][samples] != b.arrays[f"samples/{kind}"][samples]
        for kind in ("tokens", "labels", "counted")
    }
    share = max(float(places.mean()) for places in apart.values())
    found = [
        (*map(int, divmod(places.argmax(), places.shape[1])), kind) for kind, places in apart.items() if places.any()
    ]
    sample, place, kind = min(found, key=lambda one: one[:2], default=(0, 0, "tokens"))
    one, other = (float(side.arrays[f"samples/{kind}"][samples][sample, place]) for side in (a, b))
    note = say.differs_in_sample(kind=kind, sample=samples.start + sample + 1, place=place + 1) if found else ""
    return Row(name, one, other, share, agrees=not found, note=note)


def _scale_rows(a: WorkerAnswer, b: WorkerAnswer, tolerance: float) -> Iterable[Row]:
    """Rows of the loss scale by step."""
    for step, (one, two) in enumerate(zip(a.values.get("scales", ()), b.values.get("scales", ()), strict=False)):
        yield _row(str(step), one, two, tolerance)


def relative(a: float, b: float, floor: float = 0.0) -> float:
    """The difference over the larger of both and the floor; infinite where one side is not a number."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return 0.0 if a == b else math.inf
    scale = max(abs(a), abs(b), floor)
    return abs(a - b) / scale if scale else 0.0


def _row(name: str, a: float | None, b: float | None, tolerance: float, floor: float = 0.0) -> Row:
    """A row that compares two numbers; it agrees if both are missing or their difference is within tolerance."""
    if a is None or b is None:
        return Row(name, a, b, None, agrees=a is b)
    difference = relative(a, b, floor)
    return Row(name, a, b, difference, agrees=difference <= tolerance)


def _structure(a: WorkerAnswer, b: WorkerAnswer) -> Iterable[Row]:
    """Rows for parameters that only one model has, or whose shapes differ."""
    ours, theirs = a.values["shapes"], b.values["shapes"]
    for name in dict.fromkeys((*ours, *theirs)):
        here, there = ours.get(name), theirs.get(name)
        if here is None or there is None:
            missing = say.second_lacks_parameter() if there is None else say.first_lacks_parameter()
            yield Row(name, _count(here), _count(there), None, agrees=False, note=missing)
        elif list(here) != list(there):
            yield Row(name, _count(here), _count(there), None, agrees=False, note=say.shapes_differ(a=here, b=there))


def _count(shape: Any) -> float | None:
    """Number of elements of a shape."""
    return None if shape is None else float(math.prod(shape))


def _losses(a: WorkerAnswer, b: WorkerAnswer, tolerance: float) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Rows of the loss at each step, and of the extra losses at the first step."""
    losses: list[Row] = []
    parts: list[Row] = []
    for step, (one, two) in enumerate(zip(a.values.get("losses", ()), b.values.get("losses", ()), strict=False), 1):
        losses.append(_row(str(step), one["loss"], two["loss"], tolerance))
        if step == 1:
            # A balancing loss with weight 0 is not computed by one side and is 0 on the other.
            parts = [
                _row(part, one.get(part, 0.0), two.get(part, 0.0), tolerance, 1e-6)
                for part in ("mtp", "auxiliary")
                if part in one or part in two
            ]
    return tuple(losses), tuple(parts)


def _logits(a: WorkerAnswer, b: WorkerAnswer, tolerance: float, key: str = "logits") -> Iterable[Row]:
    """Row with the largest difference of the logits, relative to the largest logit."""
    ours, theirs = a.arrays.get(key), b.arrays.get(key)
    if ours is None or theirs is None:
        return
    if ours.shape != theirs.shape:
        yield Row("logits", None, None, None, agrees=False, note=say.shapes_differ(a=ours.shape, b=theirs.shape))
        return
    largest = float(max(abs(ours).max(), abs(theirs).max()))
    difference = float(abs(ours - theirs).max()) / largest if largest else 0.0
    agrees = difference <= tolerance * ELEMENT_FACTOR
    yield Row("logits", float(abs(ours).max()), float(abs(theirs).max()), difference, agrees=agrees)


def _rows_of_dropout_pass(a: WorkerAnswer, b: WorkerAnswer, floor: float, tolerance: float) -> Iterable[Row]:
    """Losses, logits and gradient norms of the pass in which both models drop the same elements; none without it."""
    one, two = a.values.get("dropped"), b.values.get("dropped")
    if one is None or two is None:
        return
    for part in ("loss", "mtp", "auxiliary"):
        if part in one or part in two:
            yield _row(part, one.get(part, 0.0), two.get(part, 0.0), tolerance, 1e-6)
    yield from _logits(a, b, tolerance, "dropped_logits")
    theirs = b.values["dropped_norms"]
    for name, norm in a.values["dropped_norms"].items():
        if name in theirs:
            yield _row(name, norm, theirs[name], tolerance, floor)


def _norm(array: Any) -> float:
    wide = array.astype("float64")
    return float((wide * wide).sum()) ** 0.5


def _common_arrays(a: WorkerAnswer, b: WorkerAnswer, prefix: str) -> Iterable[tuple[str, Any, Any]]:
    for key, array in a.arrays.items():
        if key.startswith(prefix) and key in b.arrays and array.shape == b.arrays[key].shape:
            yield key[len(prefix) :], array, b.arrays[key]


def _floor(a: WorkerAnswer, b: WorkerAnswer) -> float:
    """Smallest gradient norm that counts, as a share of the global norm."""
    total = sum(_norm(x) ** 2 + _norm(y) ** 2 for _, x, y in _common_arrays(a, b, "gradient/"))
    return FLOOR_SHARE * math.sqrt(total / 2)


def _gradients(a: WorkerAnswer, b: WorkerAnswer, floor: float, tolerance: float) -> Iterable[Row]:
    """Rows of each parameter's gradient norm."""
    for name, ours, theirs in _common_arrays(a, b, "gradient/"):
        yield _row(name, _norm(ours), _norm(theirs), tolerance, floor)


def _elements(a: WorkerAnswer, b: WorkerAnswer, floor: float, tolerance: float) -> Iterable[Row]:
    """Rows of the largest difference between gradient elements."""
    for name, ours, theirs in _common_arrays(a, b, "gradient/"):
        largest = max(float(abs(ours).max()), float(abs(theirs).max()))
        scale = max(largest, floor / math.sqrt(ours.size))
        difference = float(abs(ours - theirs).max()) / scale if scale else 0.0
        yield Row(name, float(abs(ours).max()), float(abs(theirs).max()), difference, agrees=difference <= tolerance)


def _steps(a: WorkerAnswer, b: WorkerAnswer, parts: tuple[str, ...], tolerance: float) -> Iterable[Row]:
    """Rows of loss, norm and rate of each training step."""
    for step, (one, two) in enumerate(zip(a.values.get("steps", ()), b.values.get("steps", ()), strict=False), 1):
        for part in parts:
            yield _row(f"step {step} {part}", one[part], two[part], tolerance)


def _clipping_rows(a: WorkerAnswer, b: WorkerAnswer, tolerance: float) -> Iterable[Row]:
    for name in ("forced_norm", "clipped_norm"):
        if name in a.values and name in b.values:
            yield _row(name, a.values[name], b.values[name], tolerance)


def _update_rows(a: WorkerAnswer, b: WorkerAnswer) -> Iterable[Row]:
    """Rows of each parameter's update, by the norm of the difference."""
    for name, ours, theirs in _common_arrays(a, b, "update/"):
        size = max(_norm(ours), _norm(theirs))
        difference = _norm(ours - theirs) / size if size else 0.0
        yield Row(name, _norm(ours), _norm(theirs), difference, agrees=difference <= UPDATE_TOLERANCE)


def _expert_bias(a: WorkerAnswer, b: WorkerAnswer) -> Iterable[Row]:
    """Rows of the expert biases' largest difference."""
    for name, ours, theirs in _common_arrays(a, b, "expert_bias/"):
        largest = max(float(abs(ours).max()), float(abs(theirs).max()), 1e-12)
        difference = float(abs(ours - theirs).max()) / largest
        yield Row(name, _norm(ours), _norm(theirs), difference, agrees=difference <= UPDATE_TOLERANCE)


def _initialisation(a: WorkerAnswer, b: WorkerAnswer, known: Mapping[str, float], *, loaded: bool) -> Iterable[Row]:
    """Rows that compare mean and spread of initial weights by kind of parameter, within statistical noise."""
    ours, theirs = _kinds(a.values.get("initialisation", {})), _kinds(b.values.get("initialisation", {}))
    for kind, (count, total, squares) in ours.items():
        if kind not in theirs:
            continue
        count_b, total_b, squares_b = theirs[kind]
        one, two = _spread(count, total, squares), _spread(count_b, total_b, squares_b)
        mean, mean_b = total / count, total_b / count_b
        if math.isnan(mean) or math.isnan(mean_b):
            yield _never_initialized(kind, one, two, loaded=loaded)
            continue
        if one < 1e-12 and two < 1e-12:
            # Constants, as norms and biases start: they must be the same ones.
            agrees = abs(mean - mean_b) < 1e-6
            yield Row(kind, one, two, relative(mean, mean_b, 1.0), agrees=agrees, decides=not loaded)
            continue
        difference = relative(one, two)
        noise = math.sqrt(1 / (2 * count) + 1 / (2 * count_b))
        away = abs(math.log(one / two)) if one and two else math.inf
        agrees = away <= INITIALISATION_SIGMAS * noise
        note = ""
        ratio = known.get(kind)
        # A constant has no spread to compare.
        spreads = not agrees and away < math.inf
        if spreads and ratio is not None and abs(math.log(two / one * ratio)) <= INITIALISATION_SIGMAS * noise:
            note = say.frameworks_differ()
        yield Row(kind, one, two, difference, agrees=agrees, note=note, decides=not (note or loaded))


def _never_initialized(kind: str, a: float, b: float, *, loaded: bool) -> Row:
    """Row of a weight that a framework allocates and does not fill, which `to_empty` of the worker shows as NaN."""
    lacking = math.isnan(a), math.isnan(b)
    note = say.first_does_not_initialize() if lacking[0] else say.second_does_not_initialize()
    if all(lacking):
        note = say.neither_initializes()
    known_a, known_b = (None if math.isnan(side) else side for side in (a, b))
    return Row(kind, known_a, known_b, None, agrees=False, note=note, decides=not (loaded or all(lacking)))


def _kinds(each: Mapping[str, Mapping[str, float]]) -> dict[str, tuple[float, float, float]]:
    """Statistics summed by kind of parameter; numbers in names become `*`."""
    found: dict[str, tuple[float, float, float]] = {}
    for name, entry in each.items():
        kind = re.sub(r"\.\d+", ".*", name)
        count, total, squares = found.get(kind, (0.0, 0.0, 0.0))
        found[kind] = count + entry["count"], total + entry["sum"], squares + entry["squares"]
    return found


def _spread(count: float, total: float, squares: float) -> float:
    """Standard deviation from count, sum and sum of squares."""
    return math.sqrt(max(squares / count - (total / count) ** 2, 0.0))  # in this order, NaN stays NaN


class DifferingSetting(NamedTuple):
    """A setting whose values differ between the files."""

    field: str
    a: Value
    b: Value


class Suspect(NamedTuple):
    """A setting whose values differ, and the reason why no run shows that it causes the mismatch."""

    field: str
    a: Value
    b: Value
    reason: str

    def reason_in(self, language: str) -> str:
        """The reason in a language."""
        return text_in(self.reason, language)


class Values(NamedTuple):
    """Each file's value."""

    a: Value
    b: Value


class NotCompared(NamedTuple):
    """A field, or a key that has none, which was not compared, with the reason."""

    field: str
    reason: str
    values: Values | None = None
    """Where they differ."""
    differs: bool = False
    """It makes a match one in part."""
    accepted: bool = False
    """It would, and the configuration accepts it."""

    def reason_in(self, language: str) -> str:
        """Reason in a language."""
        return text_in(self.reason, language)


Array = Any

_TRACE = "trace/"
OUTPUT_TOLERANCE = 1e-4
"""The difference of two outputs of a module, relative to the largest number of both."""
_ROUNDED = 3e-6
"""What rounding alone does to an output, relative to its largest number."""
_LATENT_NAMES = (
    (".self_attention.linear_qb", ".self_attention.linear_q_up_proj"),
    (".self_attention.linear_kvb", ".self_attention.linear_kv_up_proj"),
)
_INCOMPARABLE = re.compile(
    r"\.(experts|token_dispatcher)(\.|$)|rotary_pos_emb|scale_mask_softmax|dropout|loss$|cross_att"
)
_LAID_OUT = (".linear_fc1", ".linear_qkv")
"""Modules whose output follows the layout of their weight, which need not be the same on both sides."""


class Divergence(NamedTuple):
    """The module at which two models part, and the direction."""

    module: str
    direction: str
    """`structure`, `forward`, `backward`, `update`, `initialisation` or `data`."""


_BY_THEMSELVES = {
    "scales": Divergence("loss_scaling", "update"),
    "initialisation": Divergence("initialisation", "initialisation"),
    "samples": Divergence("samples", "data"),
}
"""Stages that no other one follows from."""


def locate_without_trace(compared: Comparison) -> Divergence | None:
    """The divergence by the compared numbers alone, most telling first; None if a trace must decide."""
    wrong = compared.disagreements()
    if "structure" in wrong:
        return Divergence(_structural(wrong["structure"][0], compared), "structure")
    if _first_pass_differs(compared):
        return None
    alone = (place for stage, place in _BY_THEMSELVES.items() if stage in wrong)
    return _of_the_update(wrong, updates_agree=bool(compared.optimizer) and "optimizer" not in wrong) or next(
        alone, None
    )


def _of_the_update(wrong: Mapping[str, tuple[Row, ...]], *, updates_agree: bool) -> Divergence | None:
    """Divergence of models that agree in the first pass and differ after an update."""
    if "clipping" in wrong:
        return Divergence("clipping", "update")
    steps = {row.name for stage in ("norms", "training") for row in wrong.get(stage, ())}
    if steps & {"step 1", "step 1 loss"}:
        # One batch is trained alike, and two of unequal length together are not.
        return Divergence("accumulation", "update")
    if _biases_lead(wrong):
        return Divergence(_module_of(wrong["expert_bias"][0].name), "update")
    if "optimizer" not in wrong and ("rates" in wrong or any(name.endswith("rate") for name in steps)):
        return Divergence("schedule", "update")
    if "optimizer" in wrong or "loss" in wrong or steps:
        # Where given gradients are applied alike, the passes of a step left something for the next.
        return Divergence("accumulation" if updates_agree else "optimizer", "update")
    return None


def _biases_lead(wrong: Mapping[str, tuple[Row, ...]]) -> bool:
    """True if expert biases differ although weights do not, so that they are the cause."""
    return "expert_bias" in wrong and not {"optimizer", "rates"} & wrong.keys()


def _structural(row: Row, compared: Comparison) -> str:
    """Module of a parameter with another shape; for a missing one, the largest module that is missing whole."""
    module = _module_of(row.name)
    if row.a is not None and row.b is not None:
        return module
    lone = {
        other.name for other in compared.structure if (other.a is None) == (row.a is None) and other.relative is None
    }
    shared = compared.shared
    while True:
        parent = module.rpartition(".")[0]
        if parent in ("", "decoder", "decoder.layers", "mtp.layers") or any(
            name.startswith(parent + ".") and name not in lone for name in shared
        ):
            return module
        module = parent


def _first_pass_differs(compared: Comparison) -> bool:
    """True if the models differ before any update."""
    stages = ("logits", "parts", "gradients", "elements", "dropout", "padding")
    first = any(not row.agrees for row in compared.loss[:1])
    return first or any(stage in compared.disagreements() for stage in stages)


def locate_in_trace(
    a: WorkerAnswer, b: WorkerAnswer, compared: Comparison, suspected: Callable[[str], bool] = lambda _module: True
) -> Divergence | None:
    """The first divergence in the traces of one pass, forward then backward.

    Where the files say nothing else of that module, it may make a small difference large, as a router's choice does:
    the first module that they do say something else of and that parts at all is the one.
    """
    found = _first_divergence(a, b, compared)
    if found is not None and not suspected(found.module):
        closer = _first_forward_divergence(a.arrays, b.arrays, _ROUNDED)
        return Divergence(closer, "forward") if closer is not None and suspected(closer) else found
    return found


def _first_divergence(a: WorkerAnswer, b: WorkerAnswer, compared: Comparison) -> Divergence | None:
    """Place at which two models first differ: forward modules, then losses, then gradients."""
    forward = _first_forward_divergence(a.arrays, b.arrays)
    if forward is not None:
        return Divergence(forward, "forward")
    wrong = compared.disagreements()
    if any(not row.agrees for row in compared.loss[:1]):
        # Every module agrees and the loss does not: it is averaged over other tokens.
        return Divergence("loss", "forward")
    if any(row.name == "auxiliary" for row in wrong.get("parts", ())):
        return Divergence(_first_router(a.arrays) or "loss", "forward")
    if any(row.name == "mtp" for row in wrong.get("parts", ())):
        return Divergence("mtp", "forward")
    if "padding" in wrong:
        return Divergence("loss", "forward")
    module = _last_backward_divergence(a.arrays, compared) or ("dropout" if "dropout" in wrong else None)
    return None if module is None else Divergence(module, "backward")


def _first_forward_divergence(
    a: Mapping[str, Array], b: Mapping[str, Array], allowed: float = OUTPUT_TOLERANCE
) -> str | None:
    """First module whose output differs; its parent if already its inputs differ."""
    theirs = {_megatron_name(key): array for key, array in b.items()}
    for module, turn, ours, others in _paired_outputs(a, theirs):
        if _agree(ours, others, allowed, laid_out=module.endswith(_LAID_OUT)):
            continue
        if not module.endswith(".router") and not _inputs_agree(a, theirs, module, turn, allowed):
            # What its parent did between the modules before it and this one.
            return "rotary_pos_emb" if module.endswith(".core_attention") else module.rpartition(".")[0] or module
        if module.endswith(".mlp") and any(f"{module}.router/" in key for key in a):
            # Its router and shared experts ran before it and agree: the routed experts are left.
            return f"{module}.experts"
        return module
    return None


def _paired_outputs(a: Mapping[str, Array], b: Mapping[str, Array]) -> Iterator[tuple[str, str, Array, Array]]:
    """The outputs of both sides by module and turn, in the order in which they ran; `b` has Megatron-Core's names."""
    for module, turn in _in_order(a):
        ours, others = _outputs(a, module, turn), _outputs(b, module, turn)
        if not _INCOMPARABLE.search(module) and ours is not None and others is not None and ours.size == others.size:
            yield module, turn, ours, others


def output_rows(a: Mapping[str, Array], b: Mapping[str, Array]) -> tuple[Row, ...]:
    """The largest number of each module's output on both sides, and how far the outputs are apart."""
    found: list[Row] = []
    for module, turn, ours, others in _paired_outputs(a, {_megatron_name(key): array for key, array in b.items()}):
        name = module if turn == "0" else f"{module} ({turn})"
        one, other = (float(abs(side).max(initial=0)) for side in (ours, others))
        apart = _distance(ours, others, laid_out=module.endswith(_LAID_OUT))
        found.append(Row(name, one, other, apart, agrees=apart <= OUTPUT_TOLERANCE, decides=False))
    return tuple(found)


def _distance(ours: Array, others: Array, *, laid_out: bool) -> float:
    """Largest difference of two arrays, relative to the largest number; `laid_out` compares them sorted."""
    import numpy as np

    if laid_out:
        ours, others = np.sort(ours, axis=-1), np.sort(others, axis=-1)
    largest = max(float(abs(ours).max(initial=0)), float(abs(others).max(initial=0)))
    return float(abs(ours - others.reshape(ours.shape)).max(initial=0)) / largest if largest else 0.0


def _agree(ours: Array, others: Array, allowed: float, *, laid_out: bool) -> bool:
    """True if two arrays are at most `allowed` apart."""
    return _distance(ours, others, laid_out=laid_out) <= allowed


def _inputs_agree(a: Mapping[str, Array], b: Mapping[str, Array], module: str, turn: str, allowed: float) -> bool:
    """True if a module's inputs agree, or were not recorded on both sides."""
    ours, others = a.get(f"{_TRACE}input/{module}/{turn}/0"), b.get(f"{_TRACE}input/{module}/{turn}/0")
    if ours is None or others is None or ours.size != others.size:
        return True
    return _agree(ours, others, allowed, laid_out=False)


def _outputs(traced: Mapping[str, Array], module: str, turn: str) -> Array:
    """A module's output, with the bias that some modules hand on beside it."""
    found, beside = (traced.get(f"{_TRACE}output/{module}/{turn}/{place}") for place in (0, 1))
    if found is not None and beside is not None and beside.shape == found.shape[-1:] and beside.size > 1:
        return found + beside
    return found


def _in_order(traced: Mapping[str, Array]) -> Iterator[tuple[str, str]]:
    """Module and turn of each recorded output, in running order."""
    prefix = f"{_TRACE}order/"
    keys = sorted((int(array), key) for key, array in traced.items() if key.startswith(prefix))
    for _order, key in keys:
        module, _, turn = key[len(prefix) :].rpartition("/")
        yield module, turn


def _megatron_name(key: str) -> str:
    """Trace key with the latent attention's names replaced by Megatron-Core's."""
    for theirs, ours in _LATENT_NAMES:
        key = key.replace(theirs + "/", ours + "/")
    return key


def _first_router(traced: Mapping[str, Array]) -> str | None:
    return next((module for module, _turn in _in_order(traced) if module.endswith(".router")), None)


def _last_backward_divergence(a: Mapping[str, Array], compared: Comparison) -> str | None:
    """The last module of the forward pass whose own parameters' gradients differ."""
    wrong = {_module_of(row.name) for row in (*compared.gradients, *compared.elements) if not row.agrees}
    for module, _turn in reversed(list(_in_order(a))):
        if module in wrong or any(name.startswith(f"{module}.experts.") for name in wrong):
            return module
    return min(wrong) if wrong else None


def _module_of(parameter: str) -> str:
    """Module of a parameter; single experts become `.experts`."""
    module = parameter.rpartition(".")[0]
    return re.sub(r"\.experts\.local_experts\.\d+\..*", ".experts", module)
