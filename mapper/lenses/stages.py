"""Lenses of the parallel layout: the pipeline's stages and chunks, and recomputation.

The recipe's list of stages names the layers of every stage in order; with virtual stages it has one such list for every
round of chunks. None stands for stages of equal size.
"""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.megatron.validation_functions import layout_chunks
from ...schemas.plain_values import whole_number
from .lens import OMIT, Lens, Omitted, integer, items, pass_through

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...schemas.config import Value
    from .lens import Scope, Values, Written


_MOST_STAGES = 4096


def chunks_of(value: Value) -> list[int] | None:
    """The layers of every chunk in the order of the layers, whether the list has rounds or not."""
    listed = items(value)
    if not listed:
        return None
    flat = [entry for one in listed for entry in (items(one) or [one])]
    whole = [number for entry in flat if (number := integer(entry)) is not None]
    return whole if len(whole) == len(flat) else None


def embedding_and_loss(chunks: list[int]) -> tuple[bool, bool] | None:
    """Two flags: the first and the last chunk have one layer less than the others; None if another chunk differs."""
    usual = max(chunks)
    if len(chunks) < 3 or any(one != usual for one in chunks[1:-1]) or min(chunks[0], chunks[-1]) < usual - 1:
        return None
    return chunks[0] < usual, chunks[-1] < usual


def takes_chunks(scope: Scope) -> bool:
    """True if Megatron-LM needs the number of virtual stages; a layout already contains it."""
    chunks, size = chunks_of(scope.field("parallel.pipeline_layers")), integer(scope.field("parallel.pipeline_size"))
    if chunks is None or size is None:
        return True
    return embedding_and_loss(chunks) is not None or _ends(chunks, size) is not None


def _shape_rounds(chunks: list[int], size: int) -> Value:
    """Chunks grouped by rounds of `size`; None if all are equal."""
    if len(set(chunks)) < 2 or size < 1 or len(chunks) % size:
        return None
    if len(chunks) == size:
        return [*chunks]
    return [chunks[at : at + size] for at in range(0, len(chunks), size)]


def _ends(chunks: list[int], size: int) -> tuple[int, int, int] | None:
    """Layers of the first, usual and last stage; None if another stage differs."""
    first = chunks[:size]
    if size < 2 or len(chunks) % size or chunks != first * (len(chunks) // size) or len(set(first[1:-1])) > 1:
        return None
    rounds = len(chunks) // size
    return first[0] * rounds, first[len(first) // 2] * rounds, first[-1] * rounds


def _megatron_get(values: Values, scope: Scope) -> Values:
    """Layers of each pipeline stage, from Megatron-LM's arguments; None if equal."""
    first, last, layers, stages = (integer(value) for value in values[:4])
    embedding, loss = (bool(value) for value in values[4:6])
    layout = values[6] if len(values) > 6 else None
    if layers is None or not stages or not 1 < stages <= _MOST_STAGES:
        return (None,)
    if isinstance(layout, str) and layout:
        try:
            return (_shape_rounds([chunk.count("t") for chunk in layout_chunks(layout)], stages),)
        except ValueError:
            return (None,)
    rounds = integer(scope.field("parallel.virtual_pipeline_size")) or 1
    if first is not None or last is not None:
        return (_stages_from_ends(first, last, layers, stages, rounds),)
    return (_chunks_from_ends(layers, stages, rounds, embedding=embedding, loss=loss),)


def _stages_from_ends(first: int | None, last: int | None, layers: int, stages: int, rounds: int) -> Value:
    """Layers of each stage if the first's or last's are given; None if all are equal."""
    inner = stages - (first is not None) - (last is not None)
    each = (layers - (first or 0) - (last or 0)) // inner if inner else 0
    row = [*([] if first is None else [first]), *[each] * inner, *([] if last is None else [last])]
    if sum(row) == layers and len(set(row)) == 1:
        return None
    if rounds <= 1:
        return [*row]
    if rounds > _MOST_STAGES:
        return None
    return None if any(stage % rounds for stage in row) else [[stage // rounds for stage in row]] * rounds


def _chunks_from_ends(layers: int, stages: int, rounds: int, *, embedding: bool, loss: bool) -> Value:
    """Layers of each chunk if embedding or loss count as a layer."""
    whole = layers + embedding + loss
    if whole == layers or whole < 1 or rounds > _MOST_STAGES or whole % (stages * rounds):
        return None
    chunks = [whole // (stages * rounds)] * (stages * rounds)
    chunks[0] -= embedding
    chunks[-1] -= loss
    return _shape_rounds(chunks, stages)


def _megatron_put(values: Values, scope: Scope) -> Written:
    """Megatron-LM's arguments for the layers of each pipeline stage."""
    laid_out = scope.options.get("layout") is True
    layers, size = integer(scope.field("model.num_layers")), integer(scope.field("parallel.pipeline_size"))
    if layers is None or size is None:
        return _arguments(laid_out)
    chunks = _wanted_chunks(values[0], layers, size, scope) if 1 < size <= _MOST_STAGES else None
    if chunks is None:
        return _arguments(laid_out)
    ends, said = _ends(chunks, size), embedding_and_loss(chunks)
    if ends is None and said is not None:
        return _arguments(laid_out, embedding=said[0] or OMIT, loss=said[1] or OMIT)
    if ends is None and laid_out:
        return _arguments(laid_out, layout=_layout(chunks, integer(scope.field("mtp.num_layers")) or 0))
    first, usual, last = ends or _nearest_ends(layers, size)
    # Of two stages only one is told: Megatron-LM 0.12 divides what is left among the others.
    return _arguments(laid_out, first=_omit_if_usual(first, usual), last=_omit_if_usual(last, usual))


def _omit_if_usual(size: Value, usual: Value) -> Value | Omitted:
    return OMIT if size == usual else size


def _wanted_chunks(value: Value, layers: int, size: int, scope: Scope) -> list[int] | None:
    """Chunks to write; None if equal ones suffice."""
    chunks = chunks_of(value)
    if chunks is not None and not len(chunks) % size and sum(chunks) == layers:
        return chunks
    rounds = integer(scope.field("parallel.virtual_pipeline_size")) or 1
    return _spread(layers, size) if layers % (size * rounds) else None


def _arguments(
    laid_out: bool,
    *,
    first: Value | Omitted = OMIT,
    last: Value | Omitted = OMIT,
    embedding: Value | Omitted = OMIT,
    loss: Value | Omitted = OMIT,
    layout: Value | Omitted = OMIT,
) -> Written:
    """The arguments in the order of the row's keys; a version without layouts has no key for one."""
    return (first, last, OMIT, OMIT, embedding, loss, *((layout,) if laid_out else ()))


def _spread(layers: int, stages: int) -> list[int]:
    """Layers spread over stages, the first ones with one more if they do not divide."""
    each, more = divmod(layers, stages)
    return [each + (at < more) for at in range(stages)]


def _nearest_ends(layers: int, size: int) -> tuple[int, int, int]:
    """First, usual and last stage size nearest to an even spread."""
    if layers % size == 0 or size < 3:
        return layers // size, layers // size, layers - layers // size * (size - 1)
    usual = max(1, min(-(-layers // size), (layers - 2) // (size - 2)))
    rest = layers - usual * (size - 2)
    return rest // 2, usual, rest - rest // 2


def _layout(chunks: list[int], predicted: int) -> str:
    """Pipeline layout text such as `Et*3|t*4|t*4mL`."""
    stages = ["t" if layers == 1 else f"t*{layers}" if layers else "" for layers in chunks]
    stages[0] = "E" + stages[0]
    stages[-1] += "m" * predicted + "L"
    return "|".join(stages)


def _offset_get(values: Values, scope: Scope) -> Values:
    """Layers of each pipeline stage, from MindSpore Transformers' `offset`."""
    offsets = items(values[0])
    layers, stages = integer(scope.field("model.num_layers")), integer(scope.field("parallel.pipeline_size"))
    if not offsets or layers is None or not stages:
        return (None,)
    nested = items(offsets[0]) is not None
    rounds = len(offsets) if nested else integer(scope.field("parallel.virtual_pipeline_size")) or 1
    whole = chunks_of(offsets)
    if whole is None or not any(whole):
        return (None,)
    if not nested and len(whole) == stages and rounds > 1 and stages * rounds <= _MOST_STAGES:
        whole = whole * rounds  # one list stands for every round
    if len(whole) != stages * rounds:
        return (None,)
    return (_shape_rounds([layers // len(whole) + offset for offset in whole], stages),)


def _offset_put(values: Values, scope: Scope) -> Written:
    """Key `offset` for the layers of each pipeline stage."""
    chunks, layers = _trainable_chunks(values[0], scope), integer(scope.field("model.num_layers"))
    if chunks is None or layers is None:
        return (OMIT,)
    usual = layers // len(chunks)
    offsets = [chunk - usual for chunk in chunks]
    size = len(items(values[0]) or ())
    first = (items(values[0]) or [None])[0]
    if items(first) is None:
        return (offsets,)
    each = len(chunks) // size
    return ([offsets[at : at + each] for at in range(0, len(offsets), each)],)


def _trainable_chunks(value: Value, scope: Scope) -> list[int] | None:
    """Chunks that MindSpore Transformers accepts: only the ends may be empty, none in the dynamic graph."""
    chunks = chunks_of(value)
    if chunks is None:
        return None
    needed = chunks if scope.side == "dynamic" else chunks[1:-1]
    if all(chunk > 0 for chunk in needed):
        return chunks
    pieces, size = len(chunks), integer(scope.field("parallel.pipeline_size"))
    if scope.side == "dynamic" and sum(chunks) < pieces and size:
        pieces = size  # fewer layers than pieces: one piece a stage
    return _spread(sum(chunks), pieces)


def _ranges_get(values: Values, _scope: Scope) -> Values:
    """Layers of each pipeline stage, from ranges such as `0-3` for each rank."""
    ranks = items(values[0])
    if not ranks:
        return (None,)
    table: list[list[int]] = []
    for rank in ranks:
        parts = [_length(part) for part in str(rank).split(",")]
        whole = [part for part in parts if part is not None]
        if len(whole) != len(parts):
            return (None,)
        table.append(whole)
    if len({len(row) for row in table}) != 1:
        return (None,)
    return (_shape_rounds([row[at] for at in range(len(table[0])) for row in table], len(table)),)


def _length(part: str) -> int | None:
    """The number of layers that `4-7` names."""
    first, _, last = part.strip().partition("-")
    start, end = whole_number(first), whole_number(last or first)
    return None if start is None or end is None else end - start + 1


def _ranges_put(values: Values, scope: Scope) -> Written:
    """Layer ranges of each rank, such as `0-3`, for the layers of each stage."""
    chunks, size = _trainable_chunks(values[0], scope), integer(scope.field("parallel.pipeline_size"))
    if not chunks or not size or len(chunks) % size:
        return (OMIT,)
    ranges: list[str] = []
    at = 0
    for layers in chunks:
        ranges.append(_range_of(at, layers))
        at += layers
    return ([",".join(ranges[rank::size]) for rank in range(size)],)


def _virtual_get(values: Values, _scope: Scope) -> Values:
    """Number of virtual stages, from Megatron-LM's alternative arguments."""
    stages, chunk_layers, known, layers, size = (integer(value) for value in values)
    if known:
        return (known,)
    if stages:
        return (stages,)
    if chunk_layers and layers and size:
        return (max(1, layers // (size * chunk_layers)),)
    return (1,)


def _virtual_put(values: Values, scope: Scope) -> Written:
    chunks = integer(values[0])
    said = chunks is not None and chunks > 1 and takes_chunks(scope)
    return (chunks if said else OMIT), OMIT, OMIT, OMIT, OMIT


def _interleave_get(values: Values, _scope: Scope) -> Values:
    """Chunks of each stage; without `pipeline_interleave` there is one, whatever their number is set to."""
    return ((integer(values[0]) or 1) if values[1] is True else 1,)


def _interleave_put(values: Values, _scope: Scope) -> Written:
    chunks = integer(values[0])
    return (chunks, True, "1f1b") if chunks and chunks > 1 else (OMIT, OMIT, OMIT)


def _filled_put(values: Values, scope: Scope) -> Written:
    """The dynamic graph has no piece without layers: with fewer layers than pieces, every stage gets one."""
    rounds, layers = integer(values[0]), integer(scope.field("model.num_layers"))
    size = integer(scope.field("parallel.pipeline_size"))
    short = rounds is not None and layers is not None and size is not None and layers < size * rounds
    return (1 if short else values[0],)


def _recompute_get(values: Values, scope: Scope) -> Values:
    """Kind and extent of recomputation, from Megatron-LM's arguments."""
    granularity, activations, count, method, _, _ = values
    if granularity is None:
        return ("selective" if activations else "none"), None
    if granularity == "full" and method == "block":
        # The block method recomputes the layers below the count, and skips multi-token prediction.
        if _is_no_layer(count):
            return "none", None
        return "full", None if _is_every_layer(_named_layers(count, scope), scope) else count
    return granularity, None


def _recompute_put(values: Values, scope: Scope) -> Written:
    """Recomputation arguments of Megatron-LM."""
    granularity, count = values
    if granularity == "full":
        layers = _of_every_stage(count, scope)
        if layers is not None:
            return "full", OMIT, layers, "block", OMIT, OMIT
        return "full", OMIT, 1, "uniform", OMIT, OMIT
    return (granularity if granularity == "selective" else OMIT), OMIT, OMIT, OMIT, OMIT, OMIT


def _is_no_layer(count: Value) -> bool:
    """True if the count, or each count of a list, is 0 or less."""
    counts = chunks_of(count) or [integer(count)]
    return all(one is not None and one <= 0 for one in counts)


def _of_every_stage(count: Value, scope: Scope) -> Value:
    """Number of recomputed layers if all stages have the same; None for all layers."""
    listed = items(count)
    if listed is None:
        return count
    if any(isinstance(entry, str) for entry in listed):
        named = sum(_in_range(entry) for entry in listed)
        layers = integer(scope.field("model.num_layers"))
        return None if named == layers else -(-named // (integer(scope.field("parallel.pipeline_size")) or 1))
    flat = [entry for one in listed for entry in (items(one) or [one])]
    return max((integer(entry) or 0 for entry in flat), default=0)


def _in_range(entry: Value) -> int:
    """The number of layers that `2-5` names."""
    return len(_layers_of(entry))


def _layers_of(entry: Value) -> range:
    """The layers that `2-5` names."""
    first, _, last = str(entry).partition("-")
    start, end = whole_number(first), whole_number(last or first)
    return range(0) if start is None or end is None else range(start, end + 1)


def _config_get(values: Values, scope: Scope) -> Values:
    """Kind and extent of recomputation, from the static graph's keys."""
    whole, selected = values
    listed = items(whole)
    if whole is True or (listed and all(isinstance(entry, str) for entry in listed)):
        return "full", None  # a list of texts recomputes every layer, whatever the texts name
    counts = _counts_of_stages(whole, scope)
    named = _named_layers(counts, scope)
    if not whole or _is_no_layer(counts) or named == []:
        return ("selective" if selected else "none"), None
    return "full", counts if named is None else _extent(named, scope)


def _counts_of_stages(whole: Value, scope: Scope) -> Value:
    """Counts of recomputed layers with True as all layers and False as none; a stage without an entry has none.

    As LayerSetting._format_recompute_list and _alloc_recompute_layer of training_graph/transformer/utils.py.
    """
    listed = items(whole)
    if listed is None or any(isinstance(entry, str) for entry in listed):
        return whole
    counts: list[Value] = [_count_of_bool(entry, scope) for entry in listed]
    if any(items(entry) is not None for entry in listed):
        return counts
    stages = integer(scope.field("parallel.pipeline_size")) or 1
    return [*counts, *[0] * (min(stages, _MOST_STAGES) - len(counts))]


def _count_of_bool(entry: Value, scope: Scope) -> Value:
    listed = items(entry)
    if listed is not None:
        return [_count_of_bool(one, scope) for one in listed]
    if isinstance(entry, bool):
        return (integer(scope.field("model.num_layers")) or _MOST_STAGES) if entry else 0
    return entry


def _config_put(values: Values, scope: Scope) -> Written:
    """Recomputation keys of the static graph."""
    granularity, count = values
    if granularity == "full":
        if count is None:
            return True, False
        if items(count) is not None:
            return count, False
        stages = integer(scope.field("parallel.pipeline_size")) or 1
        return [count] * min(max(stages, 1), _MOST_STAGES), False
    return False, granularity == "selective"


def _mode_get(values: Values, scope: Scope) -> Values:
    """Kind and extent of recomputation, from the dynamic graph's keys."""
    mode, named = values
    if mode != "full":
        return ("selective" if mode == "select" else "none"), None
    listed = items(named)
    if not listed or integer(scope.field("model.num_layers")) is None:
        return "full", named
    return "full", _extent(listed, scope)


def _extent(listed: list[Value], scope: Scope) -> Value:
    """The shortest count that names these layers; None for all layers, the names themselves if no count does."""
    if _is_every_layer(listed, scope):
        return None
    names = [str(one) for one in listed]
    return next((count for count in _counts_of(listed, scope) if _named_layers(count, scope) == names), listed)


def _counts_of(listed: Sequence[Value], scope: Scope) -> Iterator[Value]:
    """Counts of recomputed layers that may name these: one for every stage, then one for each, as static graph mode."""
    counts: list[int] = []
    start = 0
    for piece in _layers_of_pieces(integer(scope.field("model.num_layers")) or 0, scope):
        ranges = [_layers_of(entry) for entry in listed]
        counts.append(sum(max(0, min(one.stop, start + piece) - max(one.start, start)) for one in ranges))
        start += piece
    stages = integer(scope.field("parallel.pipeline_size")) or 1
    yield max(counts, default=0)
    rows: list[Value] = [counts[at : at + stages] for at in range(0, len(counts), stages)]
    if len(rows) > 1:
        yield rows[0] if all(row == rows[0] for row in rows) else rows
    yield counts


def _is_every_layer(listed: list[Value] | None, scope: Scope) -> bool:
    """True if ranges of layers name all layers, those of multi-token prediction too."""
    layers = integer(scope.field("model.num_layers"))
    if listed is None or layers is None:
        return False
    return sum(map(_in_range, listed)) >= layers + (integer(scope.field("mtp.num_layers")) or 0)


def _mode_put(values: Values, scope: Scope) -> Written:
    """Recomputation keys of the dynamic graph, which stops without the names of the layers."""
    granularity, count = values
    layers = _named_layers(count, scope)
    if granularity == "full":
        return ("full", layers) if layers else (OMIT, OMIT)
    return ("None" if granularity != "selective" else "select" if layers else OMIT), OMIT


def _named_layers(count: Value, scope: Scope) -> list[Value] | None:
    """Ranges of layers as the dynamic graph names them: the first ones of each stage, or all."""
    layers, listed = integer(scope.field("model.num_layers")), items(count)
    if listed is not None and any(isinstance(entry, str) for entry in listed):
        return listed
    if layers is None or layers < 1:
        return None
    if count is None:
        return [_range_of(0, layers + (integer(scope.field("mtp.num_layers")) or 0))]
    pieces = _layers_of_pieces(layers, scope)
    counts = chunks_of(count) or [integer(count) or 0]
    times, rest = divmod(len(pieces), len(counts))  # a list with one count for each stage holds for every chunk
    return _first_layers([max(counts)] * len(pieces) if rest else counts * times, pieces)


def _layers_of_pieces(layers: int, scope: Scope) -> list[int]:
    """Number of layers of each pipeline stage, or of each of its chunks."""
    return chunks_of(scope.field("parallel.pipeline_layers")) or _spread(layers, _number_of_pieces(scope))


def _first_layers(counts: list[int], pieces: list[int]) -> list[Value]:
    """Ranges of the first layers of each piece."""
    ranges: list[Value] = []
    start = 0
    for wanted, piece in zip(counts, pieces, strict=True):
        if min(wanted, piece) > 0:
            ranges.append(_range_of(start, min(wanted, piece)))
        start += piece
    return ranges


def _number_of_pieces(scope: Scope) -> int:
    """Pipeline stages times the chunks of each, at most as many as lists may have."""
    stages = integer(scope.field("parallel.pipeline_size")) or 1
    return min(max(1, stages * (integer(scope.field("parallel.virtual_pipeline_size")) or 1)), _MOST_STAGES)


def _range_of(start: int, size: int) -> str:
    return f"{start}-{start + size - 1}" if size > 1 else str(start)


def _modules_get(values: Values, scope: Scope) -> Values:
    """The parts that are recomputed; the core attention of all layers by Megatron-LM's name."""
    return (["core_attn"],) if values[0] and values[0] == _core_attention(scope) else values


def _modules_put(_values: Values, scope: Scope) -> Written:
    """The part that Megatron-LM recomputes by default, by the name that the dynamic graph has for it."""
    return ((_core_attention(scope) or OMIT) if scope.field("recompute.granularity") == "selective" else OMIT,)


def _core_attention(scope: Scope) -> Value:
    layers = _named_layers(None, scope)
    return layers and {"self_attention.core_attention": layers}


LENSES = {
    "megatron_stages": Lens(_megatron_get, _megatron_put, ((0, 1, 4, 5, 6),)),
    "stage_offset": Lens(_offset_get, _offset_put),
    "stage_ranges": Lens(_ranges_get, _ranges_put),
    "virtual_pipeline": Lens(_virtual_get, _virtual_put, ((0, 1, 2),)),
    "pipeline_interleave": Lens(_interleave_get, _interleave_put, ((0,),)),
    "filled_pieces": Lens(pass_through, _filled_put),
    "megatron_recompute": Lens(_recompute_get, _recompute_put, ((0, 1), (2, 3))),
    "recompute_config": Lens(_config_get, _config_put),
    "recompute_mode": Lens(_mode_get, _mode_put),
    "selected_modules": Lens(_modules_get, _modules_put),
}
