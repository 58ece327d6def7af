"""Lenses of checkpoints: where a run starts, what it takes along, what it leaves."""

from __future__ import annotations

from ...mappings.tables import within
from ...schemas.light_typing import TYPE_CHECKING
from .general import unchanged
from .lens import OMIT, Lens

if TYPE_CHECKING:
    from ...schemas.config import Value
    from .lens import Scope, Values, Written


def _resumes_get(values: Values, scope: Scope) -> Values:
    """Megatron goes on where a checkpoint stopped, unless it is told to fine-tune or to leave the optimizer's state."""
    del scope
    finetune, without_state, path = values
    return (bool(path) and not finetune and not without_state,)


def _resumes_put(values: Values, scope: Scope) -> Written:
    path = scope.field("checkpoint.load_path")
    return bool(path) and not values[0], OMIT, path or OMIT


def _dynamic_resumes_get(values: Values, scope: Scope) -> Values:
    """The dynamic graph goes on where a checkpoint stopped unless it leaves the optimizer's state."""
    without_state, path = values
    return (bool(path or scope.field("checkpoint.load_path")) and not without_state,)


def _dynamic_resumes_put(values: Values, scope: Scope) -> Written:
    return (not values[0] if scope.field("checkpoint.load_path") else OMIT), OMIT


def _loads_optimizer_get(values: Values, scope: Scope) -> Values:
    """Megatron leaves the optimizer's state when it is told so, and when it fine-tunes."""
    del scope
    return (not (values[0] or _fine_tunes(*values[1:])),)


def _fine_tunes(told: Value, path: Value, pretrained: Value) -> bool:
    """Megatron fine-tunes when it is told so, and from a pretrained checkpoint."""
    return bool(told) or (path is None and pretrained is not None)


def _finetunes_get(values: Values, scope: Scope) -> Values:
    del scope
    return (_fine_tunes(values[0], values[2], values[3]),)


def _finetunes_put(values: Values, scope: Scope) -> Written:
    del scope
    return bool(values[0]), OMIT, OMIT, OMIT


def _loads_optimizer_put(values: Values, scope: Scope) -> Written:
    del scope
    return values[0] is False, OMIT, OMIT, OMIT


def _async_get(values: Values, scope: Scope) -> Values:
    del scope
    return (bool(values[0]),)


def _async_put(values: Values, scope: Scope) -> Written:
    """Newer versions save in the background only with a worker that stays."""
    since = scope.options.get("worker_since")
    alone = not isinstance(since, str) or not within(scope.version, since, None)
    return values[0], (OMIT if alone or not values[0] else True)


def _save_path_put(values: Values, scope: Scope) -> Written:
    """Megatron refuses a path without an interval; MindSpore Transformers saves by a callback only."""
    return (OMIT if scope.field("checkpoint.save_interval") is None else values[0],)


LENSES = {
    "save_path": Lens(unchanged, _save_path_put),
    "loads_optimizer": Lens(_loads_optimizer_get, _loads_optimizer_put, ((0, 1),)),
    "finetunes": Lens(_finetunes_get, _finetunes_put, ((0, 1),)),
    "async_save": Lens(_async_get, _async_put, ((0,),)),
    "dynamic_resumes": Lens(_dynamic_resumes_get, _dynamic_resumes_put, ((0,),)),
    "resumes": Lens(_resumes_get, _resumes_put, ((0, 1),)),
}
