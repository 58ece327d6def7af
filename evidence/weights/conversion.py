"""A checkpoint of one framework as files of the other, and the record by which two folders are known to be equal.

Every conversion leaves `accmap-weights.json`: the source folder, its state, the number type, and the checksum of each
file. Two folders are equal if one was converted from the other, or both from one third, nothing was changed since, and
the number types are the same.
"""

from __future__ import annotations

import json
import os
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from ...mapper.differences import differences
from ...mapper.weights import WeightTable
from ...mappings.keys_compiled import EXPERT_RANKS, LAYERS_OF, SINKS
from ...schemas.border.file_output import free_bytes
from ...schemas.config import partner
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ...schemas.huggingface.model_config import FILE
from ...schemas.shared_words import join_words
from ...schemas.versions import number_of
from ..threads import map_in_threads
from .huggingface_files import INDEX, huggingface_units, index_text, safetensors_shards
from .megatron_dist import distributed_states, distributed_units
from .megatron_optimizer import (
    distributed_optimizer,
    number_parameters,
    resumed_run,
    shard_optimizer,
    sort_parameters,
    state_name,
    states_of,
)
from .megatron_torch import Build, Ranks, rank_folder, ranks_of
from .messages_compiled import say
from .mindformers_files import ADAM, COMMON_INFO, MAP, as_mindformers
from .model import (
    AVERAGES,
    SHARD,
    SQUARES,
    TRACKER,
    VOCABULARY,
    AdamState,
    Problems,
    View,
    checkpoint_at,
    differing_copies,
)
from .names_compiled import DESCRIBING
from .number_types_compiled import EIGHT_BITS
from .opening import Sides, configs_of_ends, open_checkpoint, shift_norm_scales, sides_of, written_model
from .target_files import (
    MANIFEST,
    Report,
    Unit,
    Writer,
    Written,
    amount_text,
    cast_to,
    check_manifest,
    is_recorded,
    measure_disk,
    read_manifest,
    resident_memory,
    share_units,
    write_units,
)
from .tensor_files import Global, Made
from .weight import (
    BLOCK_BYTES,
    CHOSEN,
    SLICE_BYTES,
    RefusedError,
    join_weights,
    list_names,
    problem,
    raise_unreadable,
    rows_of,
    zeros,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...mapper.weights import Beside
    from ...schemas.config import Config, Framework, ReadOptions
    from ...schemas.diagnostic import Diagnostic
    from ...schemas.message import Words
    from .megatron_optimizer import ResumedRun
    from .model import Amount, Checkpoint, Form, Model
    from .opening import Side
    from .weight import Shape, Weight


_RELEASE = "release"
Loading = Literal[
    "torch", "torch_dist", "resumed_torch", "resumed_torch_dist", "safetensors", "dynamic", "resumed", "huggingface"
]
"""The ways in which a target's framework loads it."""
_BFLOAT16 = "BF16"
"""What 8-bit weights become without `--dtype`, as their publisher writes them (`fp8_cast_bf16.py`)."""


class Request(NamedTuple):
    """A conversion's settings."""

    checkpoint: str
    output: str
    to: Framework | None = None
    dtype: str | None = None
    """`bf16`, `fp32` or `fp16`; None keeps each weight's own."""
    ranks: Ranks = Ranks()
    shard_bytes: int = 4 << 30
    ckpt_format: Literal["torch", "torch_dist"] = "torch"
    """Megatron-LM's form to write."""
    implementation: str | None = None
    """`transformer_engine` or `local`; None for what the configuration says."""
    resume: bool = False
    sha256: bool = False
    """True if the files get this checksum, too."""
    workers: int = 1
    """Processes that write."""
    part: tuple[int, int] | None = None
    """Which part of the files is written, counted from one, and how many parts there are; None for all of them."""
    finish: bool = False
    """True if all files are written, and only what follows them is left to do."""
    optimizer: bool = False
    """True if Adam's state is converted, too."""


class Vocabulary(NamedTuple):
    """Rows of the vocabulary before and after."""

    before: int
    after: int


class Conversion(NamedTuple):
    """The result of a conversion."""

    source: Framework
    target: Framework
    form: str
    target_form: Form
    iteration: int | None
    files: tuple[Written, ...]
    parameters: int
    numbers: int
    dtypes: tuple[str, ...]
    vocabulary: Vocabulary | None
    beside: Mapping[Beside, Amount]
    configuration: tuple[str, ...]
    findings: tuple[Diagnostic, ...]
    dequantized: DequantizedTensors | None = None
    part: tuple[int, int] | None = None
    oversized: tuple[str, ...] = ()
    """Tensors larger than a shard, each in a file of its own."""
    updates: int | None = None
    """The updates that Adam's state has seen, if it was converted."""
    loading: Loading = "safetensors"
    """The way in which the target's framework loads it."""


class DequantizedTensors(NamedTuple):
    """The 8-bit tensors of a checkpoint that were written as wider numbers."""

    tensors: int
    scale: str
    """What the name of a scale ends with."""
    block: tuple[int, int]
    """Rows and columns that have one scale."""
    dtype: str
    """The type they were written in."""


class Plan(NamedTuple):
    """Everything that is decided before the first file is written."""

    checkpoint: Checkpoint
    sides: Sides
    """The model as the checkpoint has it."""
    goal: Sides
    """The model as the target has it: the same account, unless one framework's two configurations are given."""
    target: Framework
    model: Model
    weights: Mapping[str, Weight]
    """In the target's vocabulary size and number type, under the weight table's names."""
    units: tuple[Unit, ...]
    vocabulary: Vocabulary | None
    adam: AdamState | None = None
    run: ResumedRun | None = None
    """The run of Megatron-LM that goes on, if Adam's state is converted for it."""

    @property
    def unconverted_tensors(self) -> Mapping[Beside, Amount]:
        """What is in the checkpoint and is not converted."""
        if self.adam is None:
            return self.model.beside
        return {what: amount for what, amount in self.model.beside.items() if not what.anew}

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that describe the model."""
        ends = self.sides.of(self.checkpoint.framework), self.goal.of(self.target)
        described = (self.sides.megatron, self.sides.mindformers) if self.goal is self.sides else ends
        return tuple(dict.fromkeys(side.source for side in described))


def convert(
    request: Request,
    configs: Sequence[Config],
    options: ReadOptions | None = None,
    progress: Report = lambda _progress: None,
) -> Conversion:
    """Write the other framework's form of a checkpoint, or a part of its files."""
    plan = plan_conversion(request, configs, options)
    beside = list(_beside_files(plan))
    paths = [*(unit.path for unit in plan.units), *(path for path, _ in beside)]
    # Each part would read the copies; one of them does it for all.
    if not request.finish and (request.part is None or request.part[0] == 1):
        _check_copies(plan.model)
    mode = "part" if request.part else "resume" if request.resume or request.finish else "new"
    _check_space(request, plan)
    writer = Writer(request.output, _conversion_identity(request, plan), paths, mode=mode, sha256=request.sha256)
    try:
        written = _write_files(request, plan, writer, progress)
        if request.part is None:
            others = [writer.text(path, text) for path, text in beside]
            writer.finish(others)
            written += others
    finally:
        writer.close()
    return _conversion_of(request, plan, written, writer.findings)


def prepare_conversion(request: Request, configs: Sequence[Config], options: ReadOptions | None = None) -> int:
    """The number of files of weights to write; whatever keeps them from being written stops here."""
    plan = plan_conversion(request, configs, options)
    _check_copies(plan.model)
    _check_space(request, plan)
    return len(tasks_of(plan.units))


def _conversion_of(
    request: Request, plan: Plan, written: Sequence[Written], findings: Sequence[Diagnostic]
) -> Conversion:
    """Report of a finished conversion."""
    weights = [weight for unit in plan.units for weight in unit.contents.values()]
    return Conversion(
        plan.checkpoint.framework,
        plan.target,
        plan.checkpoint.form,
        request.ckpt_format if plan.target == "megatron" else "safetensors",
        plan.checkpoint.iteration,
        tuple(written),
        len(plan.weights),
        sum(weight.count for weight in plan.weights.values()),
        tuple(sorted({weight.dtype for weight in weights})),
        plan.vocabulary,
        plan.unconverted_tensors,
        plan.sources,
        tuple(findings),
        eight_bit_tensors(request, plan.model),
        request.part,
        _oversized_tensors(request, plan),
        None if plan.adam is None else plan.adam.step,
        _form_to_load(request, plan),
    )


def _form_to_load(request: Request, plan: Plan) -> Loading:
    """A word for the form of the written checkpoint, which decides the way to load it."""
    if plan.target == "megatron":
        if plan.run is None:
            return request.ckpt_format
        return "resumed_torch" if request.ckpt_format == "torch" else "resumed_torch_dist"
    if plan.target == "huggingface":
        return "huggingface"
    if plan.adam is not None:
        return "resumed"
    return "dynamic" if plan.goal.mindformers.config.dialect == "dynamic" else "safetensors"


def tasks_of(units: Sequence[Unit]) -> list[Unit]:
    """The files of weights, each of which can be written by itself; what tells of them all follows them."""
    return [unit for unit in units if unit.weights]


def _write_files(request: Request, plan: Plan, writer: Writer, progress: Report) -> list[Written]:
    """Write the planned files, or with `finish` check that all parts are there, then the listing files."""
    tasks = tasks_of(plan.units)
    if request.part is not None:
        return write_units(writer, _own_tasks(request, plan), request.workers, progress)
    if request.finish:
        # Reading and summing leave the interpreter free.
        kept = list(zip(tasks, map_in_threads(writer.keep, tasks, request.workers), strict=True))
        absent = [unit.path for unit, written in kept if written is None]
        if absent:
            said = say.not_finished(count=len(absent), files=len(tasks), path=request.output, names=list_names(absent))
            raise_unreadable(said, request.output)
        written = [one for _, one in kept if one is not None]
    else:
        written = write_units(writer, tasks, request.workers, progress)
    return written + [writer.write(unit) for unit in plan.units if not unit.weights]


def _oversized_tensors(request: Request, plan: Plan) -> tuple[str, ...]:
    if plan.target == "megatron" and request.ckpt_format == "torch":
        return ()
    sizes = {name: weight.size for unit in plan.units for name, weight in unit.weights.items()}
    return tuple(name for name, size in sizes.items() if size > request.shard_bytes)


class Estimate(NamedTuple):
    """What a conversion will take."""

    files: tuple[tuple[str, int, int], ...]
    """Path, tensors and bytes of weights of each file."""
    read: int
    """Bytes of weights that are read."""
    write: int
    kept: int
    """Bytes of files that stand there finished already."""
    free: int
    """Bytes that the target's disk has left, with those of files that are replaced."""
    memory: int
    """Bytes of a worker's memory at most, about."""
    bandwidth: float | None
    """Bytes a second that the disk takes; None if it was not given and cannot be measured."""
    oversized: tuple[str, ...]

    @property
    def minutes(self) -> float | None:
        """How long it takes at that bandwidth, if nothing else is slower."""
        if not self.bandwidth:
            return None
        share = 1 - self.kept / max(1, self.write)
        return max(self.read, self.write) * share / self.bandwidth / 60


def estimate_conversion(
    request: Request, configs: Sequence[Config], options: ReadOptions | None = None, bandwidth: float | None = None
) -> tuple[Plan, Estimate]:
    """The plan of a conversion and what it will take; nothing is converted.

    Without a `bandwidth` some bytes are written where the target will stand, and taken away again.
    """
    plan = plan_conversion(request, configs, options)
    tasks = tasks_of(plan.units)
    files = tuple((unit.path, len(unit.contents), unit.size) for unit in tasks)
    free, kept = _space(request, plan)
    largest = max((weight.size for unit in tasks for weight in unit.contents.values()), default=0)
    model = plan.model
    eight_bit: Mapping[str, int] = {} if model.dequantized is None else model.dequantized.weights
    read = sum(weight.count if name in eight_bit else weight.size for name, weight in model.weights.items())
    memory = resident_memory() + _SLICES * min(largest, SLICE_BYTES) + _BLOCKS * BLOCK_BYTES
    speed = bandwidth or measure_disk(_standing_folder(request.output))
    written = sum(unit.size for unit in tasks)
    return plan, Estimate(files, read, written, kept, free, memory, speed, _oversized_tensors(request, plan))


_SLICES, _BLOCKS = 2, 24
"""A slice that is written and the next one; the blocks between reading and writing, some in float32."""


def _standing_folder(path: str) -> str:
    """The folder itself, or the nearest one above it that is there."""
    place = os.path.abspath(path)
    while not os.path.isdir(place):
        place = os.path.dirname(place)
    return place


def _space(request: Request, plan: Plan) -> tuple[int, int]:
    """Bytes that the disk has for the files to write, those of files that are replaced too; bytes of finished files."""
    places = [os.path.join(request.output, *unit.path.split("/")) for unit in _own_tasks(request, plan)]
    standing = {place: os.path.getsize(place) for place in places if os.path.isfile(place)}
    is_continued = request.resume or request.finish or request.part is not None
    finished = sum(size for place, size in standing.items() if is_continued and is_recorded(place))
    free = free_bytes(_standing_folder(request.output))
    return free + sum(standing.values()) - finished, finished


def _check_space(request: Request, plan: Plan) -> None:
    """UnreadableError if the disk has too little room for what is left to write."""
    free, finished = _space(request, plan)
    needed = sum(unit.size for unit in _own_tasks(request, plan)) - finished
    if needed > free:
        said = say.no_space(path=request.output, free=amount_text(free), needed=amount_text(needed))
        raise_unreadable(said, request.output)


def _own_tasks(request: Request, plan: Plan) -> list[Unit]:
    """The files of weights that this request writes."""
    tasks = tasks_of(plan.units)
    return tasks if request.part is None else share_units(tasks, request.part[1])[request.part[0] - 1]


def eight_bit_tensors(request: Request, model: Model) -> DequantizedTensors | None:
    """The 8-bit tensors that a conversion writes as wider numbers; None if there are none."""
    made = model.dequantized
    if made is None or not made.weights:
        return None
    dtype = _BFLOAT16 if request.dtype is None else CHOSEN[request.dtype]
    return DequantizedTensors(sum(made.weights.values()), made.suffix, made.block, dtype)


def plan_conversion(request: Request, configs: Sequence[Config], options: ReadOptions | None = None) -> Plan:
    """Read the checkpoint's lists and decide every file; nothing is written yet."""
    checkpoint = open_checkpoint(request.checkpoint)
    framework = checkpoint.framework
    target = request.to or partner(framework)
    sides, goal = _accounts(request, configs, options, checkpoint, target)
    wanted = sides.expected_shapes(framework)
    there = goal.expected_shapes(target)
    _check_same_model(sides.of(framework), goal.of(target), wanted, there)
    source = sides.of(framework).source
    gathered = Problems()
    view = View(sides.layout, wanted, source, problems=gathered)
    model = checkpoint.model(view)
    _check_complete(request.checkpoint, model, wanted, source, gathered)
    table = WeightTable(goal.layout)
    adam = _adam_state(request, checkpoint, model, view, table) if request.optimizer else None
    run = None if adam is None or target != "megatron" else _resumed_run(request, checkpoint, goal, adam)
    held = model.weights if adam is None else {**model.weights, **adam.masters}
    fit = partial(_with_vocabulary, goal=goal, there=there, target=target, request=request)
    weights, vocabulary = fit(held)
    weights = shift_norm_scales(weights, table, sides.of(framework), goal.of(target))
    if adam is not None:
        masters = {name: cast_to(name, weights[name], "F32") for name in adam.averages}
        adam = AdamState(adam.step, fit(adam.averages)[0], fit(adam.squares)[0], masters)
    dtype = CHOSEN.get(request.dtype or ("" if run is None else _run_dtype(goal)))
    weights = _cast_weights(weights, model, table, dtype)
    maker = _Maker(request, checkpoint, goal, table, weights, adam, run)
    return Plan(checkpoint, sides, goal, target, model, weights, tuple(_MAKERS[target](maker)), vocabulary, adam, run)


def _run_dtype(goal: Sides) -> str:
    """The type of the weights of Megatron-LM's model while it trains."""
    config = goal.megatron.config
    return next((name for name in ("bf16", "fp16") if config.value(name)), "fp32")


def _resumed_run(request: Request, checkpoint: Checkpoint, goal: Sides, adam: AdamState) -> ResumedRun:
    """The state of Megatron-LM's run that goes on with the weights."""
    told = checkpoint.arguments or {}
    is_numbered = request.ckpt_format == "torch"
    experts = request.ranks.expert if is_numbered else goal.megatron.config.value(EXPERT_RANKS)
    return resumed_run(
        goal.megatron.config,
        request.checkpoint,
        adam.step,
        checkpoint.iteration,
        told.get("consumed_train_samples"),
        form=request.ckpt_format,
        ranks_of_experts=experts if isinstance(experts, int) else 1,
    )


class _Maker(NamedTuple):
    """The weights, states and settings that the files of a target are written from."""

    request: Request
    checkpoint: Checkpoint
    goal: Sides
    table: WeightTable
    weights: Mapping[str, Weight]
    adam: AdamState | None
    run: ResumedRun | None


def _adam_state(request: Request, checkpoint: Checkpoint, model: Model, view: View, table: WeightTable) -> AdamState:
    """The state of Adam for every trained weight; RefusedError if there is none that can be converted."""
    target = request.to or partner(checkpoint.framework)
    if target == "huggingface":
        raise RefusedError(
            problem(say.adam_target(path=request.checkpoint, why=say.adam_transformers()), request.checkpoint)
        )
    state = checkpoint.adam_state(view)
    if state is None:
        raise RefusedError(_unread_state(request.checkpoint, checkpoint, model))
    shapes = view.wanted or {}
    trained = _trained_names(shapes, table)
    for held in (state.averages, state.squares):
        missing = [name for name in trained if name not in held or not _has_shape(held[name], name, shapes)]
        if missing:
            said = say.adam_incomplete(path=request.checkpoint, names=list_names(missing))
            raise RefusedError(problem(said, request.checkpoint))
    averages, squares, masters = (
        {name: cast_to(name, held[name], "F32") for name in trained if name in held}
        for held in (state.averages, state.squares, state.masters)
    )
    return AdamState(state.step, averages, squares, masters)


def _unread_state(path: str, checkpoint: Checkpoint, model: Model) -> Diagnostic:
    """The size of the optimizer's state that a checkpoint has, and why it cannot be read."""
    held = [amount for what, amount in model.beside.items() if what.anew]
    why = checkpoint.explain_adam() if held else say.adam_absent()
    size = amount_text(sum(amount.size for amount in held))
    return problem(say.no_adam_state(path=path, tensors=sum(one.tensors for one in held), size=size, why=why), path)


def _trained_names(names: Iterable[str], table: WeightTable) -> list[str]:
    pairings = ((name, table.find_pairing("megatron", name)) for name in names)
    return [name for name, pairing in pairings if pairing is not None and not pairing.kept]


def _has_shape(weight: Weight, name: str, shapes: Mapping[str, Shape]) -> bool:
    return weight.shape[1:] == shapes[name][1:] if name in VOCABULARY else weight.shape == shapes[name]


def _adam_units(request: Request, table: WeightTable, adam: AdamState) -> Iterator[Unit]:
    """The files of Adam's state, named as the framework names them: checkpoint/utils.py:is_optimizer_ckpt_file, 2.1."""
    named: dict[str, Weight] = {}
    for kind, held in ((AVERAGES, adam.averages), (SQUARES, adam.squares)):
        found, _ = as_mindformers(table, held)
        named |= {ADAM[kind] + name: weight for name, weight in found.items()}
    groups = [group for _, group in safetensors_shards(named, request.shard_bytes)]
    for number, group in enumerate(groups, 1):
        yield Unit(f"opt-{number:07d}-{len(groups):07d}.safetensors", group, "safetensors")


def _accounts(
    request: Request,
    configs: Sequence[Config],
    options: ReadOptions | None,
    checkpoint: Checkpoint,
    target: Framework,
) -> tuple[Sides, Sides]:
    """The model as the checkpoint has it, and as the target has it."""
    own, theirs = configs_of_ends(configs, checkpoint.framework, target)
    described = target == "huggingface"
    sides = sides_of(own, [checkpoint], options, described=described)
    if sides is None or (checkpoint.framework == "mindformers" and not sides.has_arrangement):
        # Gate and up rows may alternate or not, and nothing in the file tells which.
        raise_unreadable(say.no_configuration(path=request.checkpoint), request.checkpoint)
    goal = sides if theirs == own else sides_of(theirs, [checkpoint], options, described=described)
    assert goal is not None
    return sides, goal


def _cast_weights(
    weights: Mapping[str, Weight], model: Model, table: WeightTable, dtype: str | None
) -> dict[str, Weight]:
    """The weights in the number type that is asked for, those that were read from 8 bits in bfloat16 without one."""
    kept = {name for name in weights if (pairing := table.find_pairing("megatron", name)) is not None and pairing.kept}
    eight_bit: Mapping[str, int] = {} if model.dequantized is None else model.dequantized.weights
    return {
        name: weight if name in kept else cast_to(name, weight, dtype or (_BFLOAT16 if name in eight_bit else None))
        for name, weight in weights.items()
    }


def _check_same_model(here: Side, there: Side, own: Mapping[str, Shape], theirs: Mapping[str, Shape]) -> None:
    """RefusedError if the two configurations describe models with different weights."""
    for name in (*own, *(name for name in theirs if name not in own)):
        a, b = own.get(name), theirs.get(name)
        if a != b and not (name in VOCABULARY and a and b and a[1:] == b[1:]):
            one, other = ("-" if shape is None else list(shape) for shape in (a, b))
            said = say.models_differ(named=name, first=here.source, second=there.source, a=one, b=other)
            raise RefusedError(problem(said, here.source))
    frameworks = (here.config.framework, there.config.framework)
    if "huggingface" in frameworks or (frameworks[0] == frameworks[1] and here is not there):
        _check_arranged(here, there)


_HEADS = ("attention.num_heads", "attention.num_query_groups", "attention.head_dim")
"""What says where one head's rows end; other numbers of them may have the same shapes."""
_SAID = ("norm.epsilon", "position.rotary_base")
"""What no shape tells, where the model is written with a `config.json` that was given."""


def _check_arranged(here: Side, there: Side) -> None:
    asked = (*_HEADS, *_SAID) if there.config.framework == "huggingface" else _HEADS
    for row in differences(here.recipe, there.recipe):
        if row.field in asked and row.status == "different":
            a, b = (None if side is None else side.value for side in (row.a, row.b))
            said = say.models_differ(named=row.field, first=here.source, second=there.source, a=a, b=b)
            raise RefusedError(problem(said, here.source))


def _check_complete(path: str, model: Model, wanted: Mapping[str, Shape], source: str, gathered: Problems) -> None:
    """Everything that keeps a checkpoint from being this model's, at once."""
    found = [*gathered.found, *_unknown_weights(path, model, wanted)]
    missing = [name for name in wanted if name not in model.weights and name not in gathered.names]
    if missing:
        counted = say.counted_weights(count=len(wanted), missing=len(missing))
        named = list_names(", ".join(model.spell(name)) for name in missing)
        found.append(problem(say.missing(path=path, names=named, source=source, counted=counted), path))
    if len(found) == 1 and gathered.found:
        raise UnreadableError(found[0])
    if found:
        raise RefusedError(*found, unreadable=bool(gathered.found))


def _unknown_weights(path: str, model: Model, wanted: Mapping[str, Shape]) -> Iterator[Diagnostic]:
    unknown = [*model.unknown, *(name for name in model.weights if name not in wanted)]
    if unknown:
        spelled = model.spellings or {name: (written,) for name, written in model.written_as.items()}
        known = [one for names in spelled.values() for one in names]
        yield problem(say.unknown(names=name_unknown(unknown, known), side=model.framework), path)


_KINDS = 6
_NUMBER = re.compile(r"\d+")


def name_unknown(unknown: Sequence[str], known: Sequence[str]) -> Words:
    """Tensors that no row knows: one of each kind, how many there are of it, and the nearest known key."""
    kinds: dict[str, list[str]] = {}
    for name in unknown:
        kinds.setdefault(_NUMBER.sub("0", name), []).append(name)
    patterns = {_NUMBER.sub("0", name): name for name in known}
    named = [_name_kind(names, kind, patterns) for kind, names in list(kinds.items())[:_KINDS]]
    more = say.further_kinds(count=len(kinds) - _KINDS) if len(kinds) > _KINDS else None
    return join_words([*named, *([] if more is None else [more])])


def _name_kind(names: Sequence[str], kind: str, patterns: Mapping[str, str]) -> Words:
    """Message on unknown tensors of one kind, with the nearest known name."""
    from difflib import get_close_matches

    nearest = next(iter(get_close_matches(kind, patterns, 1)), None)
    first = names[0]
    counted: object = first if len(names) == 1 else say.first_of_kind(name=first, count=len(names))
    if nearest is None:
        return say.unknown_tensor(name=counted)
    numbers = iter(_NUMBER.findall(first))
    alike = nearest.count("0") == kind.count("0")
    key = _NUMBER.sub(lambda found: next(numbers, found[0]), patterns[nearest]) if alike else patterns[nearest]
    return say.unknown_but_near(name=counted, key=key)


def _check_copies(model: Model) -> None:
    """RefusedError if a weight stands in the checkpoint twice and differs."""
    found = tuple(differing_copies(model.copies))
    if found:
        raise RefusedError(*found)


def _vocabulary_rows(goal: Sides, rows: int, target: Framework, request: Request) -> int:
    """The rows of the target's vocabulary, padded for its tensor ranks."""
    if target != "megatron" or request.ranks.tensor == 1:
        return rows
    step = goal.megatron.recipe.value("model.vocab_divisor")
    step = (step if isinstance(step, int) and not isinstance(step, bool) else 1) * request.ranks.tensor
    return -(-rows // step) * step


def _with_vocabulary(
    held: Mapping[str, Weight], *, goal: Sides, there: Mapping[str, Shape], target: Framework, request: Request
) -> tuple[dict[str, Weight], Vocabulary | None]:
    """The weights with as many rows of the vocabulary as the target has."""
    weights = {name: held[name] for name in there if name in held}
    rows = _vocabulary_rows(goal, there[VOCABULARY[0]][0] or weights[VOCABULARY[0]].shape[0], target, request)
    changed: Vocabulary | None = None
    for name in VOCABULARY:
        weight = weights.get(name)
        if weight is None or weight.shape[0] == rows:
            continue
        changed = Vocabulary(weight.shape[0], rows)
        used = goal.megatron.recipe.value("model.vocab_size") or goal.mindformers.recipe.value("model.vocab_size")
        if weight.shape[0] > rows:
            if isinstance(used, int) and used > rows:
                said = say.vocabulary(path=request.checkpoint, found=weight.shape[0], vocabulary=used, wanted=rows)
                raise RefusedError(problem(said, weight.file))
            weights[name] = rows_of(weight, 0, rows)
        else:
            padding = zeros(weight.dtype, (rows - weight.shape[0], *weight.shape[1:]), weight.file)
            weights[name] = join_weights([weight, padding], 0)
    return weights, changed


def _mindformers_units(maker: _Maker) -> Iterator[Unit]:
    """Files of a MindSpore Transformers checkpoint to write."""
    request = maker.request
    found, unknown = as_mindformers(maker.table, maker.weights)
    if unknown:
        raise RefusedError(problem(say.unknown(names=list_names(unknown), side="mindformers"), request.checkpoint))
    for path, group in safetensors_shards(found, request.shard_bytes):
        yield Unit(path, group, "safetensors")
    if maker.adam is not None:
        yield from _adam_units(request, maker.table, maker.adam)


def _huggingface_units(maker: _Maker) -> Iterator[Unit]:
    """Files of a model folder to write."""
    request, goal = maker.request, maker.goal
    family = goal.of("huggingface").config.dialect
    return huggingface_units(request.checkpoint, maker.weights, family, goal.layout, request.shard_bytes)


def _megatron_build(request: Request, side: Side, *, latent: bool) -> Build:
    """The way in which Megatron-LM builds the layers of the target."""
    chosen = request.implementation or side.config.value(LAYERS_OF) or "transformer_engine"
    version = number_of(side.config.framework_version)
    frequency = side.config.value("moe_layer_freq")
    return Build(
        chosen == "transformer_engine",
        bool(side.recipe.value("moe.grouped_gemm")),
        version,
        latent=latent,
        alike=frequency is None or (isinstance(frequency, int) and frequency <= 1),
    )


def _megatron_units(maker: _Maker) -> Iterator[Unit]:
    """Files of a Megatron-LM checkpoint to write: distributed, or one shard for each rank."""
    request, weights, run = maker.request, maker.weights, maker.run
    side = maker.goal.megatron
    build = _megatron_build(request, side, latent=maker.goal.layout.mla)
    iteration = (maker.checkpoint.iteration or 0) if run is None else run.iteration
    folder = _megatron_folder(run)
    kinds = {} if run is None or maker.adam is None else states_of(run, maker.adam)
    arguments = _arguments(side, weights, request, run)
    gated = maker.goal.layout.gated
    if request.ckpt_format == "torch_dist":
        common = {"args": arguments, "checkpoint_version": 3.0, "iteration": iteration}
        states = None if run is None else distributed_states(weights, build, run, kinds, gated=gated)
        common |= {} if run is None else distributed_optimizer(run, kinds[AVERAGES])
        yield from distributed_units(folder, weights, build, request.shard_bytes, common, states)
        return
    ranks = request.ranks
    held_by = {kind: ranks_of(held, ranks, build, gated=gated) for kind, held in kinds.items()}
    for rank, models in ranks_of(weights, ranks, build, gated=gated):
        place = f"{folder}/{rank_folder(rank, pipeline=ranks.pipeline > 1, expert=ranks.expert > 1)}/{SHARD}"
        if run is None:
            yield Unit(place, _chunk_weights(models), "torch", iteration, tuple(models))
            continue
        states = {kind: next(shards)[1] for kind, shards in held_by.items()}
        yield _resumed_shard(place, models, states, run, arguments)


def _megatron_folder(run: ResumedRun | None) -> str:
    return _RELEASE if run is None else f"iter_{run.iteration:07d}"


def _chunk_weights(models: Mapping[str, Mapping[str, Weight]]) -> dict[str, Weight]:
    """The weights of a shard; with several model chunks each name begins with that of its chunk."""
    return {
        name if len(models) == 1 else f"{model}.{name}": weight
        for model, names in models.items()
        for name, weight in names.items()
    }


def _resumed_shard(
    place: str,
    models: Mapping[str, Mapping[str, Weight]],
    states: Mapping[str, Mapping[str, Mapping[str, Weight]]],
    run: ResumedRun,
    arguments: Made,
) -> Unit:
    """A shard with the state of its optimizer, whose numbers follow the order of the model's modules."""
    ordered = {model: {name: weights[name] for name in sort_parameters(weights)} for model, weights in models.items()}
    groups = number_parameters(run, states[AVERAGES])
    named = {
        state_name(kind, f"{model}.{name}"): weight
        for kind, chunks in states.items()
        for model, weights in chunks.items()
        for name, weight in weights.items()
    }

    def rest(tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {"args": arguments, **shard_optimizer(run, groups, tensors)}

    return Unit(place, _chunk_weights(ordered), "torch", run.iteration, tuple(ordered), states=named, rest=rest)


_MAKERS = {"megatron": _megatron_units, "mindformers": _mindformers_units, "huggingface": _huggingface_units}


def _arguments(side: Side, weights: Mapping[str, Weight], request: Request, run: ResumedRun | None) -> Made:
    """The arguments in a checkpoint: they describe the model and how far the run is."""
    found: dict[str, Any] = {
        name: value
        for name in DESCRIBING
        if isinstance(value := side.config.value(name), (bool, int, float, str)) or _is_pattern(value)
    }
    found["padded_vocab_size"] = weights[VOCABULARY[0]].shape[0]
    is_cut = request.ckpt_format == "torch"
    found["tensor_model_parallel_size"] = request.ranks.tensor if is_cut else 1
    found["pipeline_model_parallel_size"] = request.ranks.pipeline if is_cut else 1
    found |= {"no_save_optim": True, "no_save_rng": True, "ckpt_format": request.ckpt_format}
    found |= {} if run is None else {"global_batch_size": side.recipe.value("batch.global_size"), **run.arguments}
    return Made(Global("argparse", "Namespace"), found)


def _is_pattern(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, int) for item in cast("list[object]", value))


def _beside_files(plan: Plan) -> Iterator[tuple[str, str]]:
    """The small files that tell the framework what there is."""
    if plan.target == "megatron":
        # A release holds weights alone: Megatron-LM starts at iteration 0 and asks for no optimizer state.
        yield TRACKER, f"{_RELEASE if plan.run is None else plan.run.iteration}\n"
        return
    if plan.target == "huggingface":
        yield INDEX, index_text(plan.units)
        is_quantized = any(weight.dtype in EIGHT_BITS for weight in plan.weights.values())
        without = () if is_quantized else ("quantization_config",)
        yield FILE, written_model(plan.goal.of("huggingface").config, without)
        return
    side = plan.goal.of("mindformers")
    if plan.adam is not None or side.config.dialect == "dynamic":
        yield COMMON_INFO, _common_info(side, 0 if plan.adam is None else plan.adam.step)
    where = {name: unit.path for unit in plan.units for name in unit.weights}
    yield MAP, json.dumps(where, indent=2) + "\n"


def _common_info(side: Side, step: int) -> str:
    """What the dynamic graph's trainer reads from every checkpoint, and the static one's where a run is resumed.

    Source: mindformers 1.9 to 2.1 `pynative/trainer/trainer.py:_load_checkpoint`, `trainer/base_trainer.py`. Where data
    is sunk, which is the default, an epoch is a step.
    """
    is_epoch_whole = not side.config.is_on(SINKS, otherwise=True)
    counts = {"epoch_num": min(step, 1) if is_epoch_whole else step, "step_num": step, "global_step": step}
    batch = side.recipe.value("batch.global_size")
    return json.dumps({**counts, "loss_scale": 1.0, "global_batch_size": batch}, indent=4) + "\n"


def _conversion_identity(request: Request, plan: Plan) -> dict[str, Any]:
    """The identity of a conversion, for `--resume`."""
    return {
        "source": os.path.abspath(plan.checkpoint.folder),
        "source_state": state_of(plan.checkpoint.folder, request.output),
        "from": plan.checkpoint.framework,
        "to": plan.target,
        "dtype": request.dtype,
        "form": request.ckpt_format if plan.target == "megatron" else "safetensors",
        "ranks": [list(part) if isinstance(part, tuple) else part for part in request.ranks]
        if plan.target == "megatron"
        else None,
        "layout": plan.goal.layout._asdict(),
        **({"optimizer": True} if request.optimizer else {}),
        **({} if plan.goal is plan.sides else {"layout_of_source": plan.sides.layout._asdict()}),
        "tensors": _digest(plan),
    }


def state_of(folder: str, output: str) -> list[list[Any]]:
    """Names, sizes and times of the source's files, so that a changed checkpoint is noticed."""
    if os.path.isfile(folder):
        return [_stamp(folder, os.path.basename(folder))]
    found: list[list[Any]] = []
    for parent, inner, names in os.walk(folder):
        # The target may be a folder within the source.
        inner[:] = [name for name in inner if os.path.realpath(os.path.join(parent, name)) != os.path.realpath(output)]
        found.extend(
            _stamp(os.path.join(parent, name), os.path.relpath(os.path.join(parent, name), folder)) for name in names
        )
    return sorted(found)


def _stamp(path: str, name: str) -> list[Any]:
    """Name, size and time of change of a file, by which a changed file is noticed."""
    # A link that leads nowhere is no part of the checkpoint, but it must not be a crash either.
    state = os.lstat(path) if os.path.islink(path) and not os.path.exists(path) else os.stat(path)
    return [name, state.st_size, state.st_mtime_ns]


def _digest(plan: Plan) -> str:
    """Checksum of the planned files with names, types and shapes of their tensors."""
    import hashlib

    listing = [
        (unit.path, name, weight.dtype, list(weight.shape))
        for unit in plan.units
        for name, weight in unit.contents.items()
    ]
    return hashlib.sha256(json.dumps(listing).encode()).hexdigest()


class Record(NamedTuple):
    """True if two folders hold the same weights, and why."""

    same: bool
    why: Words


def read_record(a: str, b: str) -> Record:
    """The verdict of two folders' records; UnreadableError if a record cannot be read."""
    found = {folder: _recorded_conversion(folder) for folder in (a, b)}
    made = {folder: about for folder, about in found.items() if about is not None}
    if not made:
        return Record(False, say.no_conversion_recorded(a=a, b=b, record=MANIFEST))
    for folder in made:
        if check_manifest(folder):
            return Record(False, say.not_as_converted(folder=folder))
    for folder, about in made.items():
        if not _is_unchanged(about, folder):
            return Record(False, say.source_changed_since(source=about.get("source"), folder=folder))
    gone = next((folder for folder in (a, b) if not os.path.exists(folder)), None)
    if gone is not None:
        return Record(False, say.folder_gone(folder=gone))
    if len(made) == 2:
        return _from_one_source(a, b, made[a], made[b])
    ((folder, about),) = made.items()
    return _from_the_other(folder, b if folder == a else a, about)


def _from_one_source(a: str, b: str, one: Mapping[str, Any], two: Mapping[str, Any]) -> Record:
    """Verdict on two converted folders: equal source and number type, or the reason against it."""
    if one.get("source") != two.get("source"):
        return Record(False, say.converted_from_different(a=a, b=b))
    types = one.get("dtype"), two.get("dtype")
    if types[0] != types[1]:
        return Record(False, say.written_as_other_types(a=a, first=types[0], b=b, second=types[1]))
    source = one.get("source")
    if one.get("source_state") != two.get("source_state"):
        return Record(False, say.source_changed_between(source=source, a=a, b=b))
    return Record(True, say.converted_from_one(source=source))


def _from_the_other(folder: str, other: str, about: Mapping[str, Any]) -> Record:
    source, dtype = about.get("source"), about.get("dtype")
    if source not in _source_folders(other):
        return Record(False, say.converted_from_another(folder=folder, source=source, other=other))
    if dtype is not None:
        return Record(False, say.cast_on_one_side(folder=folder, dtype=dtype, other=other))
    return Record(True, say.converted_from_the_other(folder=folder, other=other))


def _source_folders(folder: str) -> set[str]:
    """The folder, and that of the iteration which its tracker names, from where a conversion reads it."""
    found = checkpoint_at(folder)
    return {os.path.abspath(folder), *([] if found is None else [os.path.abspath(found.folder)])}


def _recorded_conversion(folder: str) -> Mapping[str, Any] | None:
    """The record of a finished conversion in a folder's manifest; None if there is none."""
    path = os.path.join(folder, MANIFEST)
    if not os.path.isfile(path):
        return None
    manifest = read_manifest(path)
    return manifest["conversion"] if manifest["state"]["complete"] else None


def _is_unchanged(about: Mapping[str, Any], output: str) -> bool:
    """True if the source still is what was converted; a source that is gone contradicts nothing."""
    source = str(about.get("source"))
    return not os.path.exists(source) or state_of(source, output) == about.get("source_state")
