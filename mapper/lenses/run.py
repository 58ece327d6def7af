"""Lenses of the run: batch sizes in both graphs' modes, run length, data and documents, checkpoints, resuming."""

from __future__ import annotations

from ...mappings.keys_compiled import BATCHES_BY_STEPS
from ...mappings.tables import within
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.plain_values import number_in
from .lens import OMIT, UNDECIDED, Lens, integer, items, pass_through

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...schemas.config import Value
    from ...schemas.megatron.consumption import Consumption, Ramp
    from .lens import Scope, Values, Written


def _quotient(whole: int | None, *parts: int | None) -> int | None:
    """The quotient of `whole` by the product of `parts`; None if something is unknown."""
    product = 1
    for part in parts:
        if not part:
            return None
        product *= part
    return None if whole is None else whole // product


def _megatron_batch_get(values: Values, scope: Scope) -> Values:
    """Micro, global and data-parallel sizes, from Megatron-LM's batch and parallel arguments."""
    micro, whole, data, world, tensor, pipeline, context = (integer(value) for value in values)
    if data is None:
        data = _quotient(world, tensor or 1, pipeline or 1, context or 1) or integer(scope.field("parallel.data_size"))
    if whole is None and micro is not None and data is not None:
        whole = micro * data
    return micro, whole, data, _quotient(whole, micro, data), world or integer(scope.field("parallel.world_size"))


def _megatron_batch_put(values: Values, _scope: Scope) -> Written:
    """Batch arguments of Megatron-LM; parallel sizes are written by other rows."""
    return values[0], values[1], OMIT, OMIT, OMIT, OMIT, OMIT


def _static_batch_get(values: Values, scope: Scope) -> Values:
    """Batch fields of the recipe, from the static graph's keys."""
    whole, micro, data, micros, accumulated, interleave, pipeline = (integer(value) for value in values)
    staged = (pipeline or integer(scope.field("parallel.pipeline_size")) or 1) > 1
    repeats = (micros if staged else accumulated) or 1
    if whole is None and micro is not None and data is not None:
        whole = micro * data * repeats * (interleave or 1)
    return micro, whole, data, _quotient(whole, micro, data), _device_count(data, scope)


def _device_count(data: int | None, scope: Scope) -> int | None:
    """Number of devices: data-parallel size times the other parallel sizes."""
    if data is None:
        return None
    sizes = ("parallel.tensor_size", "parallel.pipeline_size", "parallel.context_size")
    for name in sizes:
        data *= integer(scope.field(name)) or 1
    return data


def _static_batch_put(values: Values, scope: Scope) -> Written:
    """Batch keys of the static graph: micro batches with a pipeline, accumulation without."""
    micro, whole, data, repeats, _ = (integer(value) for value in values)
    data = data or 1
    if micro is None and whole is not None:
        micro = 1  # the global batch can be kept, whatever the micro batch is
    repeats = _quotient(whole, micro, data) or repeats or 1
    staged = (integer(scope.field("parallel.pipeline_size")) or 1) > 1
    micros = repeats if staged else OMIT
    accumulated = OMIT if staged or repeats == 1 else repeats
    return OMIT, micro, data, micros, accumulated, OMIT, OMIT


def _dynamic_batch_get(values: Values, scope: Scope) -> Values:
    """Batch fields of the recipe, from the dynamic graph's keys."""
    micro, whole, data = (integer(value) for value in values)
    if data is None:
        # The file has no key for it: the launch decides, the same one that the recipe already knows.
        data = integer(scope.field("parallel.data_size"))
    return micro, whole, data, _quotient(whole, micro, data), _device_count(data, scope)


def _dynamic_batch_put(values: Values, _scope: Scope) -> Written:
    return values[0], values[1], OMIT


def _length_get(values: Values, scope: Scope) -> Values:
    """Run length in steps and in samples, from Megatron-LM's arguments."""
    steps, samples, whole = (integer(value) for value in values[:3])
    whole = integer(scope.field("batch.global_size")) if whole is None else whole
    if samples is not None and isinstance(values[3], str):
        stepped = batch_by_samples(values[3], scope)
        return (UNDECIDED if stepped is None else stepped.first_after(samples - 1)), samples
    if samples is not None and whole:
        growing = growing_batch(scope)
        if growing is not None:
            return growing.iterations(samples), samples
        # What is left over after the last whole batch is never trained on.
        return samples // whole, samples // whole * whole
    if samples is not None:
        return None, samples
    return steps, (None if steps is None or not whole else steps * whole)


def _length_put(values: Values, scope: Scope) -> Written:
    """Run length argument: iterations, or samples if the batch grows."""
    growing = growing_batch(scope)
    if growing is not None:
        steps, samples = integer(values[0]), integer(values[1])
        if steps is not None and (samples is None or growing.iterations(samples) != steps):
            samples = growing.consumption.samples(steps)
        return OMIT, OMIT if samples is None else samples, OMIT, OMIT
    return values[0], (values[1] if values[0] is None else OMIT), OMIT, OMIT


def growing_batch(scope: Scope) -> Ramp | None:
    """Batch-size ramp, if the batch grows; lengths are then measured in samples."""
    words, whole = items(scope.field("batch.rampup")), integer(scope.field("batch.global_size"))
    if not words or not whole or (scope.side == "megatron" and within(scope.version, *BATCHES_BY_STEPS)):
        return None
    from ...schemas.megatron.consumption import ramp_of

    return ramp_of(words, whole)


def batch_by_samples(schedule: str, scope: Scope) -> Consumption | None:
    """Sample consumption under `--step-batch-size-schedule`; None if Megatron-LM refuses the schedule."""
    from ...schemas.megatron.consumption import parse_step_schedule, stepped_batch

    try:
        pairs = parse_step_schedule(schedule, integer(scope.field("data.sequence_length")))
    except ValueError:
        return None
    return stepped_batch(pairs) if pairs and pairs[0][0] == 0 and all(batch > 0 for _, batch in pairs) else None


def decreased_batch(scope: Scope) -> Consumption | None:
    """Sample consumption if the batch is reduced to divide evenly over devices; None if unknown."""
    whole, micro = integer(scope.field("batch.global_size")), integer(scope.field("batch.micro_size"))
    unit, growing = (micro or 0) * (integer(scope.field("parallel.data_size")) or 0), growing_batch(scope)
    if not unit or not whole:
        return None
    from ...schemas.megatron.consumption import constant_batch

    def shared_batch(batch: int) -> int:
        return max(1, batch // unit * unit)

    return constant_batch(shared_batch(whole)) if growing is None else growing.with_rounding(shared_batch)


def _written_batch(scope: Scope) -> int | None:
    """The global batch size that the static graph's file will have: whole micro batches on every rank."""
    whole = integer(scope.field("batch.global_size"))
    micro, data = integer(scope.field("batch.micro_size")), integer(scope.field("parallel.data_size"))
    if whole is None or not micro or not data:
        return whole
    return micro * data * max(1, whole // (micro * data))


_MEGATRON_DATA = "BlendedMegatronDatasetDataLoader"


def _epochs_get(values: Values, scope: Scope) -> Values:
    """Run length in steps and samples, from epochs and data sizes of the static graph."""
    epochs, listed, whole = integer(values[0]), items(values[1]), _written_batch(scope)
    samples = integer(listed[0]) if listed else None
    steps = _quotient(samples, whole)
    total = integer(values[2])
    if total is None and steps is not None and epochs is not None and values[3] in (None, _MEGATRON_DATA):
        total = steps * epochs  # of no other loader do the sizes say how long the run is
    return total, (None if total is None or not whole else total * whole)


def _epochs_put(values: Values, scope: Scope) -> Written:
    """Epoch and sample keys of the static graph for a run length."""
    steps, samples = integer(values[0]), integer(values[1])
    whole = _written_batch(scope)
    if steps is not None and whole:
        samples = steps * whole
    return (1, OMIT if samples is None else [samples, 0, 0], OMIT, OMIT)


def _steps_get(values: Values, scope: Scope) -> Values:
    """Run length in steps and samples, from the dynamic graph's keys."""
    steps, listed = integer(values[0]), items(values[1])
    samples, growing = integer(listed[0]) if listed else None, growing_batch(scope)
    if samples is None or (growing is not None and growing.iterations(samples) != steps):
        samples = _samples_of_steps(steps, scope)  # of a growing batch the run's length is its steps
    return steps, (None if steps is None else samples)


def _steps_put(values: Values, scope: Scope) -> Written:
    """Step and sample keys of the dynamic graph."""
    samples = _samples_of_steps(integer(values[0]), scope) if values[1] is None else integer(values[1])
    return values[0], (OMIT if samples is None else [samples, 0, 0])


def _samples_of_steps(steps: int | None, scope: Scope) -> int | None:
    """Number of samples in so many steps, a growing batch considered."""
    whole, growing = integer(scope.field("batch.global_size")), growing_batch(scope)
    if steps is None or not whole:
        return None
    return steps * whole if growing is None else growing.consumption.samples(steps)


def _shortest_number(value: float) -> int | float:
    """Whole number as int, any other as it is."""
    return int(value) if value == value and abs(value) < 1e15 and value == int(value) else value


def _dataset_blend(value: Value) -> Value:
    """Data paths with their weights as a list of pairs."""
    listed = [value] if isinstance(value, str) else items(value)
    if not listed:
        return None
    try:
        weights = blend_of(listed).weights
    except SomeWeightsError:
        weights = None
    # One prefix alone is asked for just the run's samples; with a weight both builders ask for 0.5% more.
    if weights is None:
        return [[None, path] for path in listed]
    return [[_shortest_number(weight), path] for weight, path in zip(weights, listed[1::2], strict=True)]


def _flat(value: Value) -> Value:
    """Weights and prefixes in turn, or prefixes that have no weights."""
    pairs = [pair for entry in items(value) or [] if (pair := items(entry)) is not None and len(pair) == 2]
    if any(weight is None for weight, _ in pairs):
        return [path for _, path in pairs]
    return [part for weight, path in pairs for part in (str(weight), path)]


def _split(value: Value) -> Value:
    """Split text without blanks and quotes.

    Both frameworks take the numbers alone: megatron core_v0.12.0 `parse_and_normalize_split`.
    """
    listed = items(value)
    if listed is not None:
        return ",".join(str(entry) for entry in listed)
    return "".join(value.split()).strip("'\"") if isinstance(value, str) else value


def _data_get(values: Values, _scope: Scope) -> Values:
    return _dataset_blend(values[0]), _split(values[1])


def _data_put(values: Values, scope: Scope) -> Written:
    """Data path and split keys; the option `split` fills in a required split.

    Data of the training split alone have no shares.
    """
    if values[0] is None and items(scope.field("data.train_paths")):
        return OMIT, OMIT
    shares = scope.options.get("split") if values[1] is None else values[1]
    return (OMIT if values[0] is None else _flat(values[0])), shares


def _resumes_get(values: Values, _scope: Scope) -> Values:
    """True if Megatron-LM continues a checkpoint's training, without fine-tuning or a fresh optimizer."""
    finetune, without_state, path = values
    return (bool(path) and not finetune and not without_state,)


def _resumes_put(values: Values, scope: Scope) -> Written:
    """Switches of Megatron-LM for continuing a checkpoint's training."""
    path = scope.field("checkpoint.load_path")
    return bool(path) and not values[0], OMIT, path or OMIT


def _dynamic_resumes_get(values: Values, scope: Scope) -> Values:
    """True if the dynamic graph continues a checkpoint's training."""
    without_state, path = values
    return (bool(path or scope.field("checkpoint.load_path")) and not without_state,)


def _dynamic_resumes_put(values: Values, scope: Scope) -> Written:
    return (not values[0] if scope.field("checkpoint.load_path") else OMIT), OMIT


def _loads_optimizer_get(values: Values, _scope: Scope) -> Values:
    """True if Megatron-LM loads the optimizer state."""
    return (not (values[0] or _fine_tunes(*values[1:])),)


def _fine_tunes(told: Value, path: Value, pretrained: Value) -> bool:
    """True if Megatron-LM fine-tunes: by its flag, or from a pretrained checkpoint."""
    return bool(told) or (path is None and pretrained is not None)


def _finetunes_get(values: Values, _scope: Scope) -> Values:
    return (_fine_tunes(values[0], values[2], values[3]),)


def _finetunes_put(values: Values, _scope: Scope) -> Written:
    return bool(values[0]), OMIT, OMIT, OMIT


def _loads_optimizer_put(values: Values, _scope: Scope) -> Written:
    return values[0] is False, OMIT, OMIT, OMIT


def _async_get(values: Values, _scope: Scope) -> Values:
    return (bool(values[0]),)


def _async_put(values: Values, scope: Scope) -> Written:
    """Newer versions save in the background only with a worker that stays."""
    since = scope.options.get("worker_since")
    alone = not isinstance(since, str) or not within(scope.version, since, None)
    return values[0], (OMIT if alone or not values[0] else True)


def _save_path_put(values: Values, scope: Scope) -> Written:
    """Megatron refuses a path without an interval; MindSpore Transformers saves by a callback only."""
    return (OMIT if scope.field("checkpoint.save_interval") is None else values[0],)


# Documents in a sample ------------------------------------------------------------------------------------------------
#
# The code counts, not the data set's flags. The block mask of `reset_attention_mask` reaches the scores only where an
# implementation reads a mask at all, and the positions of `reset_position_ids` only where an embedding reads them:
# - Megatron-LM: Transformer Engine's attention is causal by its type and reads no mask; neither does the local
#   implementation's fused softmax (`core/fusions/fused_softmax.py:FusedScaleMaskSoftmax.is_kernel_available`, which is
#   the same from 0.12 to 0.19). Only learned positions read position ids: rotary ones count from 0
#   (`core/models/gpt/gpt_model.py`).
# - MindSpore Transformers: a model makes its masks of the tokens, without the padding token, if it is handed none (the
#   same function). `use_attn_mask_compression` replaces the mask by a causal one, the compressed mask of document ends
#   is a block mask of its own, and without a mask column the model makes a causal one
#   (`training_graph/base_models/gpt/gpt_model.py:PreprocessLabelsAndMasks`). The static graph drops the position ids
#   unless `use_eod_reset` is set (`GPTModel.construct`); rotary positions matter only if documents see each other,
#   because scores depend on distances.


_COLUMNS = ("input_ids", "labels", "loss_mask", "position_ids", "attention_mask")
_LOSS_MASK, _MASK = _COLUMNS[2], _COLUMNS[-1]
_FUSED = range(17, 4097)
"""Sequence lengths that the local implementation's fused softmax takes."""
_STEP = 4


def _megatron_mask_get(values: Values, _scope: Scope) -> Values:
    """True if attention stops at document ends in Megatron-LM, where the local kernel reads the mask."""
    reset, created, implementation, fusion, half, brain, length, micro, heads, tensor = values
    if not reset or created is False or implementation != "local":
        return (False,)
    sequence, batch, number, size = integer(length), integer(micro), integer(heads), integer(tensor) or 1
    if fusion is False or not (half or brain) or sequence is None:
        return (True,)
    if sequence not in _FUSED or sequence % _STEP:
        return (True,)
    shares = None if batch is None or number is None else batch * (number // size)
    return (shares is not None and shares % _STEP != 0,)


def _megatron_mask_put(_values: Values, _scope: Scope) -> Written:
    return (OMIT,) * 10


def _mask_get(values: Values, _scope: Scope) -> Values:
    """True if attention stops at document ends in MindSpore Transformers."""
    reset, created, compressed, causal, columns = values[:5]
    if compressed:
        return (True,)
    listed = items(columns)
    given = listed is None or _MASK in listed
    return (bool(reset) and (created is None or bool(created)) and not causal and given,)


def _mask_put(values: Values, scope: Scope) -> Written:
    """Keys of MindSpore Transformers for attention that stops at document ends."""
    lists = 1 if scope.side == "dynamic" else 2
    if values[0] is not True:
        return (OMIT,) * (4 + lists)
    columns: Value = list(_COLUMNS)
    return (True, True, OMIT, OMIT, *((columns,) * lists))


def _padding_get(values: Values, scope: Scope) -> Values:
    """Token that attention ignores; -1 if masks come from the data set."""
    pad, created, causal, compressed, columns = values[:5]
    legacy = scope.field("model.implementation") == "legacy"
    listed = items(columns) or ()
    handed = bool(causal or compressed) or (_MASK in listed and (created is None or bool(created)))
    if handed and not legacy and _LOSS_MASK in listed:
        return (-1,)
    return (pad,)


def _padding_put(values: Values, scope: Scope) -> Written:
    """Key of the ignored token, or the data set's masks in versions that do not read it."""
    unread = scope.options.get("unread_until")
    if not isinstance(unread, str) or not within(scope.version, None, unread):
        return (values[0], *(OMIT,) * 5)
    columns: Value = list(_COLUMNS)
    return (OMIT, True, OMIT, OMIT, columns, columns) if values[0] == -1 else (OMIT,) * 6


def _has_learned_positions(scope: Scope) -> bool:
    kind = scope.field("position.type")
    return isinstance(kind, str) and kind.startswith("learned_absolute")


def _learned_positions_get(values: Values, scope: Scope) -> Values:
    """True if learned positions restart at document ends."""
    return (bool(values[0]) and _has_learned_positions(scope),)


def _learned_positions_put(values: Values, scope: Scope) -> Written:
    """The flag that makes learned positions restart; `data.reset_position_ids` has it of other runs."""
    return (True if values[0] is True and _has_learned_positions(scope) else OMIT,)


def _positions_get(values: Values, scope: Scope) -> Values:
    """True if positions restart at document ends and the model uses them."""
    reset, read = values
    if not reset or not read:
        return (False,)
    if _has_learned_positions(scope):
        return (True,)
    rotary = scope.field("position.type") in ("rope", "yarn")
    return (rotary and scope.field("data.document_attention") is not True,)


def _positions_put(values: Values, scope: Scope) -> Written:
    """Keys that make positions restart at document ends."""
    return OMIT, (True if _has_learned_positions(scope) or values[0] is True else OMIT)


def _null_end_get(values: Values, scope: Scope) -> Values:
    """End token of the null tokenizer, which the launch determines; unset for other tokenizers."""
    kind, given, size = values
    if kind != "NullTokenizer":
        return (None,)
    whole = integer(size)
    if given is not None or whole is None:
        return (given,)
    since = scope.options.get("counted_since")
    counted = isinstance(since, str) and within(scope.version, since, None)
    return (whole - 1 if counted else whole,)


def _null_end_put(_values: Values, _scope: Scope) -> Written:
    """No values to write: no single key sets the end token."""
    return OMIT, OMIT, OMIT


LENSES = {
    "megatron_batch": Lens(_megatron_batch_get, _megatron_batch_put, ((0,), (1,), (2,), (0, 1, 2), (3,))),
    "static_batch": Lens(_static_batch_get, _static_batch_put, ((1,), (0, 1, 2, 3, 4, 5), (2,), (3, 4, 5), (2,))),
    "dynamic_batch": Lens(_dynamic_batch_get, _dynamic_batch_put, ((0,), (1,), (2,), (0, 1, 2), (2,))),
    "train_length": Lens(_length_get, _length_put, ((0, 1, 3), (1,))),
    "epochs_and_sizes": Lens(_epochs_get, _epochs_put),
    "dynamic_steps": Lens(_steps_get, _steps_put, ((0,), (0, 1))),
    "data_path": Lens(_data_get, _data_put, ((0,), (1,))),
    "save_path": Lens(pass_through, _save_path_put),
    "loads_optimizer": Lens(_loads_optimizer_get, _loads_optimizer_put, ((0, 1),)),
    "finetunes": Lens(_finetunes_get, _finetunes_put, ((0, 1),)),
    "async_save": Lens(_async_get, _async_put, ((0,),)),
    "dynamic_resumes": Lens(_dynamic_resumes_get, _dynamic_resumes_put, ((0,),)),
    "resumes": Lens(_resumes_get, _resumes_put, ((0, 1),)),
}
DOCUMENT_LENSES = {
    "null_end": Lens(_null_end_get, _null_end_put),
    "megatron_document_mask": Lens(_megatron_mask_get, _megatron_mask_put, ((0,),)),
    "document_mask": Lens(_mask_get, _mask_put, ((0, 1, 2, 3),)),
    "masked_token": Lens(_padding_get, _padding_put, ((0,),)),
    "learned_document_positions": Lens(_learned_positions_get, _learned_positions_put),
    "document_positions": Lens(_positions_get, _positions_put),
}


class Blend(NamedTuple):
    """Prefixes, and their weights where the list has any."""

    prefixes: tuple[str, ...]
    weights: tuple[float, ...] | None


class SomeWeightsError(ValueError):
    """Some of the prefixes have a weight and others none, which both frameworks refuse."""


def blend_of(words: Sequence[object]) -> Blend:
    """The blend that a list of data paths describes."""
    texts = [str(word).strip() for word in words]
    weights = [] if len(texts) % 2 else [number_in(text) for text in texts[::2]]
    known = tuple(weight for weight in weights if weight is not None)
    if not known:
        return Blend(tuple(texts), None)
    if len(known) < len(weights):
        raise SomeWeightsError
    return Blend(tuple(texts[1::2]), known)


def split_weights(split: str) -> list[float]:
    """Numbers of a split; ValueError if a part is not a number."""
    import re

    return [float(word) for word in re.findall(r"[.0-9]+", split)]
