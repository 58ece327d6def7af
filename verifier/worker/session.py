"""The work on a model once it is built: the same for every framework, so that nothing but the model differs.

A backend gives a `Model`; `perform` draws its weights, runs it and answers with plain numbers and arrays under
Megatron-Core's names and in its layout.
"""

from __future__ import annotations

import re
import tempfile
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from ...schemas.fast_records import NamedTuple
from . import inputs
from .blueprint import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from .blueprint import Blueprint, InputPlan, Job, RatePlan, SamplePlan, ScalePlan


Array = Any


class Model(Protocol):
    """A built model of one framework, with its optimizer."""

    def weights(self) -> dict[str, Array]:
        """Every weight, and the expert biases, as Megatron-Core names and lays them out."""
        ...

    def trained_names(self) -> set[str]:
        """Names of the weights that the optimizer updates."""
        ...

    def load(self, weights: Mapping[str, Array]) -> None:
        """Set the model's weights."""
        ...

    def arrange(self, batch: inputs.Tokens) -> inputs.Tokens:
        """Batch as the framework's own data set delivers it."""
        ...

    def forward_pass(self, batch: inputs.Tokens) -> dict[str, float]:
        """The loss and its parts (`loss`, `mtp`, `auxiliary`) without gradients."""
        ...

    def backward(self, batch: inputs.Tokens) -> dict[str, float]:
        """The same, leaving the gradients of their sum."""
        ...

    def logits(self) -> Array:
        """The output layer's output in the last pass, [sequence, batch, vocabulary]."""
        ...

    def gradients(self) -> dict[str, Array]:
        """The gradients left by `backward` or `set_gradients`."""
        ...

    def set_gradients(self, gradients: Mapping[str, Array]) -> None:
        """Replace the gradients as if `backward` had computed them."""
        ...

    def start_optimizer(self, rate_factor: float) -> None:
        """A fresh optimizer with the file's settings; the factor multiplies the learning rate."""
        ...

    def clip(self) -> float:
        """Clip the gradients as the file says and answer with their global norm before."""
        ...

    def update(self) -> None:
        """One optimizer step with the gradients at hand, and the expert biases' own update."""
        ...

    def start_training(self, plan: RatePlan | None) -> None:
        """The trainer with a fresh optimizer and the run's scheduler; without a plan, at the peak."""
        ...

    def train(self, batches: Sequence[inputs.Tokens]) -> dict[str, float | None]:
        """One of the trainer's steps over these micro batches: `loss`, `norm` and learning `rate`."""
        ...

    def trace(self, batch: inputs.Tokens) -> dict[str, Array]:
        """Recording of one `backward`: `input/…`, `output/…` and `slope/…` (gradient of the output) by module."""
        ...


@runtime_checkable
class Accumulating(Protocol):
    """A model whose framework adds up gradients in buffers of a type of their own."""

    def accumulate(self, batches: Sequence[inputs.Tokens]) -> dict[str, Array]:
        """The sum of the gradients of micro batches, as the buffers hold it."""
        ...


class Backend(Protocol):
    """One framework, ready to build models."""

    def build(self, blueprint: Blueprint, seed: int) -> Model:
        """A model with the framework's own initialisation."""
        ...

    def versions(self) -> dict[str, str]:
        """The installed versions."""
        ...

    def stand_ins(self) -> dict[str, str]:
        """Name and description of every stand-in that is in use."""
        ...

    def machine(self) -> dict[str, str]:
        """The device by its own name, and the kernels that the models use there; empty for a CPU."""
        ...

    def rates(self, plan: RatePlan) -> list[float]:
        """The learning rates of the framework's own scheduler."""
        ...

    def decays(self, blueprint: Blueprint) -> list[float]:
        """The weight decay at the same steps."""
        ...

    def scales(self, plan: ScalePlan) -> list[float]:
        """The scale of the framework's own scaler at the start and after each step."""
        ...

    def samples(self, plan: SamplePlan, folder: str) -> tuple[inputs.Tokens, int | None]:
        """The first samples that a run takes of the corpora in a folder, and after how many steps it begins anew."""
        ...


@runtime_checkable
class Parsing(Protocol):
    """A backend with a parser of its own for launches."""

    def parse_launches(self, blueprint: Blueprint) -> tuple[Blueprint, dict[str, Any] | None]:
        """Blueprint with arguments as the real parser reads them, and the parse result of each launch.

        Where what runs holds no parser, the blueprint as it is and None.
        """
        ...


@runtime_checkable
class Dropping(Protocol):
    """A model that drops what its file says, if it is asked to."""

    def drop_by_place(self) -> AbstractContextManager[None]:
        """Context in which dropout drops elements by position."""
        ...


class Outcome(NamedTuple):
    """The answer of a worker: plain values and arrays."""

    values: dict[str, Any]
    arrays: dict[str, Array]


def perform(job: Job, backend: Backend, *, note: Callable[[str], None] = lambda _stage: None) -> Outcome:
    """Build the job's model, run every requested stage, and return values and arrays."""
    values: dict[str, Any] = {"versions": backend.versions()}
    arrays: dict[str, Array] = {}
    note("building")
    started = time.perf_counter(), time.process_time()
    model = _build_model(job, backend, values)
    first = model.weights()
    shapes = {name: tuple(array.shape) for name, array in first.items()}
    values["shapes"] = shapes
    values["trained"] = sorted(model.trained_names())
    if job.initialisation:
        values["initialisation"] = {
            name: _statistics(array) for name, array in first.items() if name in values["trained"]
        }
    built = time.perf_counter(), time.process_time()
    drawn = _weights_of(job, shapes, arrays)
    model.load(drawn)
    if job.trace:
        note("tracing")
        traced = _trace(job, model)
        arrays.update({f"trace/{name}": array for name, array in traced.items()})
        return Outcome(values, arrays)
    _train(job, model, drawn, values, arrays, note)
    if job.steps > 1:
        _run_schedules(job, backend, values, note)
        _draw_samples(job, backend, values, arrays, note)
    if job.blueprint.drops and isinstance(model, Dropping):
        note("dropout")
        model.load(drawn)
        with model.drop_by_place():
            values["dropped"] = model.backward(_drawn_batch(model, job.inputs[0]))
        arrays["dropped_logits"] = model.logits()
        values["dropped_norms"] = {name: float(np.linalg.norm(array)) for name, array in model.gradients().items()}
    if job.padded_input is not None:
        note("padding token")
        model.load(drawn)
        values["padded"] = model.forward_pass(_drawn_batch(model, job.padded_input))
    values["stand_ins"] = backend.stand_ins()
    ended = time.perf_counter(), time.process_time()
    values["seconds"] = {"build": built[0] - started[0], "run": ended[0] - built[0]}
    values["cpu"] = {"build": built[1] - started[1], "run": ended[1] - built[1]}
    return Outcome(values, arrays)


def _weights_of(job: Job, shapes: Mapping[str, tuple[int, ...]], arrays: dict[str, Array]) -> dict[str, Array]:
    """Weights drawn by the seed or read from a file; also stored in `arrays` if the job asks for that."""
    rounded = job.blueprint.rounded
    if job.weights:
        drawn = inputs.stored_weights(job.weights, shapes, rounded=rounded)
    else:
        drawn = {name: inputs.draw_weight(name, shape, job.seed, rounded=rounded) for name, shape in shapes.items()}
    if job.keeps:
        arrays.update({f"weight/{name}": array for name, array in drawn.items()})
        tokens = inputs.draw_tokens(job.inputs[0])
        arrays.update({"input/tokens": tokens.tokens, "input/labels": tokens.labels, "input/counted": tokens.counted})
    return drawn


def _build_model(job: Job, backend: Backend, values: dict[str, Any]) -> Model:
    """Model of the job; launches are first parsed by the backend's own parser if it has one."""
    blueprint = job.blueprint
    if isinstance(backend, Parsing):
        blueprint, values["parsed"] = backend.parse_launches(blueprint)
    return backend.build(blueprint, job.seed)


def _trace(job: Job, model: Model) -> dict[str, Array]:
    """Trace of the first batch, with dropout by position if the job asks for it."""
    batch = _drawn_batch(model, job.inputs[0])
    if job.drops and isinstance(model, Dropping):
        with model.drop_by_place():
            return model.trace(batch)
    return model.trace(batch)


def _run_schedules(job: Job, backend: Backend, values: dict[str, Any], note: Callable[[str], None]) -> None:
    """Asks the scheduler and the loss scaler, which need no model."""
    rates, scales = job.blueprint.rates, job.blueprint.scales
    if rates is not None:
        note("learning rates")
        values["rates"] = backend.rates(rates)
        values["decays"] = backend.decays(job.blueprint)
    if scales is not None:
        note("loss scale")
        values["scales"] = backend.scales(scales)


def _draw_samples(
    job: Job,
    backend: Backend,
    values: dict[str, Any],
    arrays: dict[str, Array],
    note: Callable[[str], None],
) -> None:
    """Draw samples of the data set into `arrays`; a refusal of small corpora is noted and does not fail the job."""
    plan = job.blueprint.samples
    if plan is None:
        return
    note("samples")
    with tempfile.TemporaryDirectory() as folder:
        inputs.write_corpora(plan, folder)
        try:
            found, values["passes"] = backend.samples(plan, folder)
        except Exception as error:  # noqa: BLE001 - whatever a framework raises is told
            values["samples_refused"] = describe_error(error)[:300]
            return
    arrays.update({"samples/tokens": found.tokens, "samples/labels": found.labels, "samples/counted": found.counted})


def _train(
    job: Job,
    model: Model,
    drawn: Mapping[str, Array],
    values: dict[str, Any],
    arrays: dict[str, Array],
    note: Callable[[str], None],
) -> None:
    """The first gradients, the steps after them, and the optimizer alone."""
    note("gradients")
    batches = [_drawn_batch(model, plan) for plan in job.inputs]
    losses = [model.backward(batches[0])]
    arrays["logits"] = model.logits()
    gradients = model.gradients()
    arrays.update({f"gradient/{name}": array for name, array in gradients.items()})
    values["losses"] = losses
    if job.accumulates and isinstance(model, Accumulating):
        again = job.inputs[0]._replace(seed=job.inputs[0].seed + 1)
        summed = model.accumulate([batches[0], _drawn_batch(model, again)])
        arrays.update({f"accumulated/{name}": array for name, array in summed.items()})
    if job.steps > 1:
        note("steps")
        model.load(drawn)
        model.start_training(job.blueprint.rates)
        steps: list[dict[str, float | None]] = []
        for step, (one, two) in enumerate(pairwise(job.inputs), 1):
            steps.append(model.train(_micro_batches(job, model, one, two)))
            losses.append(model.forward_pass(batches[step]))
        values["steps"] = steps
        after = model.weights()
        arrays.update({f"expert_bias/{name}": after[name] for name in after if name.endswith("expert_bias")})
        note("optimizer probe")
        _probe(job, model, drawn, gradients, values, arrays)


def _micro_batches(job: Job, model: Model, one: InputPlan, two: InputPlan) -> Sequence[inputs.Tokens]:
    """Micro batches of one step: split as the side's file says, else `one` and `two`."""
    cut = job.blueprint.cut
    if cut is not None:
        return inputs.split_batch(model.arrange(inputs.thinning_tokens(one._replace(batch=cut.samples))), cut.size)
    short = two._replace(uncounted=two.sequence // 2 if job.uneven else 0)
    return _drawn_batch(model, one), _drawn_batch(model, short)


def _probe(
    job: Job,
    model: Model,
    drawn: Mapping[str, Array],
    gradients: Mapping[str, Array],
    values: dict[str, Any],
    arrays: dict[str, Array],
) -> None:
    """Feed fixed gradients to the optimizer and to clipping, so that every setting has an effect."""
    model.load(drawn)
    norm = float(np.sqrt(sum(float(np.square(array, dtype=np.float64).sum()) for array in gradients.values())))
    forced = {name: (array * (job.forced_norm / norm)).astype(np.float32) for name, array in gradients.items()}
    model.start_optimizer(job.probe_scale)
    model.set_gradients(forced)
    values["forced_norm"] = model.clip()
    values["clipped_norm"] = float(
        np.sqrt(sum(float(np.square(array, dtype=np.float64).sum()) for array in model.gradients().values()))
    )
    updated = model.trained_names()
    trained = [name for name in drawn if name in updated]  # in one order, run after run
    for step in range(3):
        model.set_gradients(
            {
                name: inputs.draw_gradient(name, drawn[name].shape, job.seed, step)
                for name in trained
                if name in gradients
            }
        )
        model.update()
    after = model.weights()
    for name in trained:
        arrays[f"update/{name}"] = after[name].astype(np.float64) - drawn[name]


def _drawn_batch(model: Model, plan: InputPlan) -> inputs.Tokens:
    """Tokens drawn for one plan, in the arrangement that the model takes."""
    return model.arrange(inputs.draw_tokens(plan))


def _statistics(array: Array) -> dict[str, float]:
    wide = np.asarray(array, dtype=np.float64)
    return {"count": wide.size, "sum": float(wide.sum()), "squares": float(np.square(wide).sum())}


class Recorder:
    """The first tensor in, and every tensor out, of each module; a module that runs twice keeps both passes."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self._passes: dict[str, int] = {}
        self._order = 0

    def record(self, name: str, given: Sequence[Array], found: Sequence[Array]) -> None:
        """Store the input and output tensors of a module that ran."""
        turn = self._passes.get(name, 0)
        self._passes[name] = turn + 1
        tensors = [array for array in given if array is not None]
        if tensors:
            self.arrays[f"input/{name}/{turn}/0"] = tensors[0]
        for position, array in enumerate(found):
            if array is not None:
                self.arrays[f"output/{name}/{turn}/{position}"] = array
        self.arrays[f"order/{name}/{turn}"] = np.asarray(self._order)
        self._order += 1

    def slope(self, name: str, position: int, array: Array) -> None:
        """Store the gradient of a module's output; backward passes arrive last first."""
        key = f"slope/{name}"
        turn = self._passes[name] - 1 - sum(1 for known in self.arrays if known.startswith(key + "/"))
        self.arrays[f"{key}/{max(turn, 0)}/{position}"] = array

    def keep(self, name: str, values: Mapping[str, float]) -> None:
        """Store plain numbers beside the tensors."""
        for part, value in values.items():
            self.arrays[f"{name}/{part}"] = np.asarray(value)


def record_modules(
    modules: Iterable[tuple[str, Any]],
    hook: Callable[[Recorder, str], Any],
    backward: Callable[[], Mapping[str, float]],
) -> dict[str, Array]:
    """Arrays recorded by hooks on all modules during `backward`, with its losses."""
    recorder = Recorder()
    hooks = [module.register_forward_hook(hook(recorder, name)) for name, module in modules if name]
    try:
        losses = backward()
    finally:
        for one in hooks:
            one.remove()
    recorder.keep("loss", losses)
    return _name_output_passes(recorder.arrays)


def _name_output_passes(arrays: dict[str, Array]) -> dict[str, Array]:
    """Rename the output layer's passes for multi-token prediction, which run first, to `mtp.output_layer`."""
    further = sum(1 for key in arrays if re.fullmatch(r"output/output_layer/\d+/0", key)) - 1
    found: dict[str, Array] = {}
    for key, array in arrays.items():
        kind, _, rest = key.partition("/")
        if rest.startswith("output_layer/"):
            _, turn, *place = rest.split("/")
            later = int(turn) - further
            name = f"mtp.output_layer/{turn}" if later < 0 else f"output_layer/{later}"
            key = "/".join((kind, name, *place))
        found[key] = array
    return found
