"""Lenses of the parallel layout and of recomputation."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING
from ...schemas.number_text import whole_number
from .lens import OMIT, Lens, integer, items
from .stages import takes_chunks

if TYPE_CHECKING:
    from ...schemas.config import Value
    from .lens import Scope, Values, Written


def _virtual_get(values: Values, scope: Scope) -> Values:
    stages, chunk_layers, known, layers, size = (integer(value) for value in values)
    del scope
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


def _interleave_get(values: Values, scope: Scope) -> Values:
    del scope
    return (integer(values[0]) or 1,)


def _interleave_put(values: Values, scope: Scope) -> Written:
    del scope
    chunks = integer(values[0])
    return (chunks, True, "1f1b") if chunks and chunks > 1 else (OMIT, OMIT, OMIT)


def _filled_get(values: Values, scope: Scope) -> Values:
    del scope
    return values


def _filled_put(values: Values, scope: Scope) -> Written:
    """The dynamic graph has no piece without layers: with fewer layers than pieces, every stage gets one."""
    rounds, layers = integer(values[0]), integer(scope.field("model.num_layers"))
    size = integer(scope.field("parallel.pipeline_size"))
    short = rounds is not None and layers is not None and size is not None and layers < size * rounds
    return (1 if short else values[0],)


def _recompute_get(values: Values, scope: Scope) -> Values:
    granularity, activations, count, method, _, _ = values
    del scope
    if granularity is None:
        return ("selective" if activations else "none"), None
    if granularity == "full" and method == "block":
        return "full", count
    return granularity, None


def _recompute_put(values: Values, scope: Scope) -> Written:
    granularity, count = values
    if granularity == "full":
        layers = _of_every_stage(count, scope)
        if layers is not None:
            return "full", OMIT, layers, "block", OMIT, OMIT
        return "full", OMIT, 1, "uniform", OMIT, OMIT
    return (granularity if granularity == "selective" else OMIT), OMIT, OMIT, OMIT, OMIT, OMIT


def _of_every_stage(count: Value, scope: Scope) -> Value:
    """The number of layers where every stage has the same; None for all layers."""
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
    """How many layers `2-5` names."""
    first, _, last = str(entry).partition("-")
    start, end = whole_number(first), whole_number(last or first)
    return 0 if start is None or end is None else max(0, end - start + 1)


def _config_get(values: Values, scope: Scope) -> Values:
    whole, selected = values
    del scope
    listed = items(whole)
    if listed is not None:
        same = len({str(entry) for entry in listed}) == 1
        return "full", (listed[0] if same else listed)
    if isinstance(whole, bool) or whole is None:
        if whole:
            return "full", None
        return ("selective" if selected else "none"), None
    return "full", whole


def _config_put(values: Values, scope: Scope) -> Written:
    granularity, count = values
    if granularity == "full":
        if count is None:
            return True, False
        if items(count) is not None:
            return count, False
        return [count] * (integer(scope.field("parallel.pipeline_size")) or 1), False
    return False, granularity == "selective"


def _mode_get(values: Values, scope: Scope) -> Values:
    mode, layers = values
    del scope
    if mode == "full":
        return "full", layers
    return ("selective" if mode == "select" else "none"), None


def _mode_put(values: Values, scope: Scope) -> Written:
    granularity, count = values
    del scope
    if granularity == "full":
        return "full", OMIT if items(count) is None else count
    return ("select" if granularity == "selective" else "None"), OMIT


LENSES = {
    "virtual_pipeline": Lens(_virtual_get, _virtual_put, ((0, 1, 2),)),
    "pipeline_interleave": Lens(_interleave_get, _interleave_put, ((0,),)),
    "filled_pieces": Lens(_filled_get, _filled_put),
    "megatron_recompute": Lens(_recompute_get, _recompute_put, ((0, 1), (2, 3))),
    "recompute_config": Lens(_config_get, _config_put),
    "recompute_mode": Lens(_mode_get, _mode_put),
}
