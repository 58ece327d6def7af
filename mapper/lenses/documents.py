"""Lenses of documents in a sample: whether attention stays inside a document, and whether positions start anew there.

What counts is what the code computes, not the data set's flags. The block mask of `reset_attention_mask` reaches the
scores only where an implementation reads a mask at all, and the positions of `reset_position_ids` only where an
embedding reads them:

- Megatron-LM: Transformer Engine's attention is causal by its type and reads no mask; neither does the local
  implementation's fused softmax (`core/fusions/fused_softmax.py:FusedScaleMaskSoftmax.is_kernel_available`, which is
  the same from 0.12 to 0.19). Only learned positions read position ids: rotary ones count from 0
  (`core/models/gpt/gpt_model.py`).
- MindSpore Transformers: a model makes its masks of the tokens, without the padding token, where it is handed none
  (the same function). `use_attn_mask_compression` replaces the mask by a causal one, the compressed mask of
  document ends is a block mask of its own, and without a mask column the model makes a causal one
  (`training_graph/base_models/gpt/gpt_model.py:PreprocessLabelsAndMasks`). The static graph drops the position ids
  unless `use_eod_reset` is set (`GPTModel.construct`); rotary positions matter where documents see each other only,
  because scores depend on distances.
"""

from __future__ import annotations

from ...mappings.tables import within
from ...schemas.fast_records import TYPE_CHECKING
from .lens import OMIT, Lens, integer, items

if TYPE_CHECKING:
    from ...schemas.config import Value
    from .lens import Scope, Values, Written

_COLUMNS = ("input_ids", "labels", "loss_mask", "position_ids", "attention_mask")
_LOSS_MASK, _MASK = _COLUMNS[2], _COLUMNS[-1]
_FUSED = range(17, 4097)
"""Sequence lengths that the local implementation's fused softmax takes."""
_STEP = 4


def _megatron_mask_get(values: Values, scope: Scope) -> Values:
    reset, created, implementation, fusion, half, brain, length, micro, heads, tensor = values
    del scope
    if not reset or created is False or implementation != "local":
        return (False,)
    sequence, batch, number, size = integer(length), integer(micro), integer(heads), integer(tensor) or 1
    if fusion is False or not (half or brain) or sequence is None:
        return (True,)
    if sequence not in _FUSED or sequence % _STEP:
        return (True,)
    shares = None if batch is None or number is None else batch * (number // size)
    return (shares is not None and shares % _STEP != 0,)


def _megatron_mask_put(values: Values, scope: Scope) -> Written:
    del values, scope
    return (OMIT,) * 10


def _mask_get(values: Values, scope: Scope) -> Values:
    reset, created, compressed, causal, columns = values[:5]
    del scope
    if compressed:
        return (True,)
    listed = items(columns)
    given = listed is None or _MASK in listed
    return (bool(reset) and (created is None or bool(created)) and not causal and given,)


def _mask_put(values: Values, scope: Scope) -> Written:
    lists = 1 if scope.side == "dynamic" else 2
    if values[0] is not True:
        return (OMIT,) * (4 + lists)
    columns: Value = list(_COLUMNS)
    return (True, True, OMIT, OMIT, *((columns,) * lists))


def _padding_get(values: Values, scope: Scope) -> Values:
    """The token that no position looks at; -1 where the model is handed both masks and makes none of its tokens."""
    pad, created, causal, compressed, columns = values[:5]
    legacy = scope.field("model.implementation") == "legacy"
    listed = items(columns) or ()
    handed = bool(causal or compressed) or (_MASK in listed and (created is None or bool(created)))
    if handed and not legacy and _LOSS_MASK in listed:
        return (-1,)
    return (pad,)


def _padding_put(values: Values, scope: Scope) -> Written:
    """The key; or, up to the version that does not read it, the data set's own masks."""
    unread = scope.options.get("unread_until")
    if not isinstance(unread, str) or not within(scope.version, None, unread):
        return (values[0], *(OMIT,) * 5)
    columns: Value = list(_COLUMNS)
    return (OMIT, True, OMIT, OMIT, columns, columns) if values[0] == -1 else (OMIT,) * 6


def _learned(scope: Scope) -> bool:
    kind = scope.field("position.type")
    return isinstance(kind, str) and kind.startswith("learned_absolute")


def _learned_positions_get(values: Values, scope: Scope) -> Values:
    return (bool(values[0]) and _learned(scope),)


def _learned_positions_put(values: Values, scope: Scope) -> Written:
    del scope
    return (OMIT,) * len(values)


def _positions_get(values: Values, scope: Scope) -> Values:
    reset, read = values
    if not reset or not read:
        return (False,)
    if _learned(scope):
        return (True,)
    rotary = scope.field("position.type") in ("rope", "yarn")
    return (rotary and scope.field("data.document_attention") is not True,)


def _positions_put(values: Values, scope: Scope) -> Written:
    """Learned positions need the position ids, which nothing else hands over."""
    return OMIT, (True if _learned(scope) or values[0] is True else OMIT)


def _null_end_get(values: Values, scope: Scope) -> Values:
    """Of all tokenizers only the null one is described by the launch: it ends documents behind its vocabulary."""
    kind, given, size = values
    if kind != "NullTokenizer":
        return (None,)
    whole = integer(size)
    if given is not None or whole is None:
        return (given,)
    since = scope.options.get("counted_since")
    counted = isinstance(since, str) and within(scope.version, since, None)
    return (whole - 1 if counted else whole,)


def _not_placed(values: Values, scope: Scope) -> Written:
    """None of the lens's own three keys says it alone."""
    del values, scope
    return OMIT, OMIT, OMIT


LENSES = {
    "null_end": Lens(_null_end_get, _not_placed),
    "megatron_document_mask": Lens(_megatron_mask_get, _megatron_mask_put, ((0,),)),
    "document_mask": Lens(_mask_get, _mask_put, ((0, 1, 2, 3),)),
    "masked_token": Lens(_padding_get, _padding_put, ((0,),)),
    "learned_document_positions": Lens(_learned_positions_get, _learned_positions_put),
    "document_positions": Lens(_positions_get, _positions_put),
}
