"""Names the first module whose input agrees and whose output does not: forward first, then backward."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ..worker.processes import WorkerAnswer
    from .comparison import Comparison, Row


Array = Any

_TRACE = "trace/"
_AGREES = 1e-4
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
    """The divergence of models whose first passes agree."""
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
    """True if the experts' biases part by themselves: weights updated otherwise send tokens to other experts."""
    return "expert_bias" in wrong and not {"optimizer", "rates"} & wrong.keys()


def _structural(row: Row, compared: Comparison) -> str:
    """The largest module of which one side has nothing, or the module whose parameter has another shape."""
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
    """True if the models part before any update."""
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


def _first_forward_divergence(a: Mapping[str, Array], b: Mapping[str, Array], allowed: float = _AGREES) -> str | None:
    theirs = {_megatron_name(key): array for key, array in b.items()}
    for module, turn in _in_order(a):
        if _INCOMPARABLE.search(module):
            continue
        ours, others = _outputs(a, module, turn), _outputs(theirs, module, turn)
        if ours is None or others is None or ours.size != others.size:
            continue
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


def _agree(ours: Array, others: Array, allowed: float, *, laid_out: bool) -> bool:
    import numpy as np

    if laid_out:
        ours, others = np.sort(ours, axis=-1), np.sort(others, axis=-1)
    largest = max(float(abs(ours).max(initial=0)), float(abs(others).max(initial=0)))
    if ours.shape != others.shape:
        others = others.reshape(ours.shape)
    difference = abs(ours - others).max(initial=0)
    return bool(difference <= allowed * largest) or largest == 0


def _inputs_agree(a: Mapping[str, Array], b: Mapping[str, Array], module: str, turn: str, allowed: float) -> bool:
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
    prefix = f"{_TRACE}order/"
    keys = sorted((int(array), key) for key, array in traced.items() if key.startswith(prefix))
    for _order, key in keys:
        module, _, turn = key[len(prefix) :].rpartition("/")
        yield module, turn


def _megatron_name(key: str) -> str:
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
    module = parameter.rpartition(".")[0]
    return re.sub(r"\.experts\.local_experts\.\d+\..*", ".experts", module)
