"""bfloat16 on MindSpore's CPU, most of whose kernels refuse it, for values or for gradients.

A kernel for bfloat16 computes in float32 inside and rounds what it hands on. So does every operator here: given
bfloat16, it is called with the same values as float32 and its results are rounded to bfloat16; its gradient follows.
Reshaping and moving changes no value either way.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# The frameworks carry no types.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindspore as ms
from mindspore.ops import operations
from mindspore.ops.auto_generate import gen_ops_prim as primitives
from mindspore.ops.primitive import Primitive

if TYPE_CHECKING:
    from .patches import Patches

NAME = "widening"
LISTED = {
    NAME: "an operator that is given bfloat16 computes in float32 and rounds its result, as a kernel for bfloat16 does",
}
_EXACT = frozenset(("Cast", "DType", "Shape", "Rank", "Depend"))
"""Operators that compute nothing of a value; the first is what widens."""


def widen(patches: Patches, used: set[str]) -> None:
    """Let every operator of MindSpore take bfloat16, while the patches hold."""
    kinds = {kind for module in (primitives, operations) for kind in vars(module).values() if _is_operator(kind)}
    for kind in {*kinds, Primitive}:
        if "__call__" in vars(kind) and kind.__name__ not in _EXACT:
            patches.put(kind, "__call__", _widened(vars(kind)["__call__"], used))


def _is_operator(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Primitive)


def _widened(call: Any, used: set[str]) -> Any:
    cast = operations.Cast()

    def wide(value: Any) -> Any:
        if isinstance(value, ms.Tensor):
            return cast(value, ms.float32) if value.dtype == ms.bfloat16 else value
        if isinstance(value, (tuple, list)):
            return type(value)(map(wide, value))
        return value

    def narrow(value: Any) -> Any:
        if isinstance(value, ms.Tensor):
            return cast(value, ms.bfloat16) if value.dtype == ms.float32 else value
        if isinstance(value, (tuple, list)):
            return type(value)(map(narrow, value))
        return value

    def called(self: Any, *given: Any, **named: Any) -> Any:
        if self.name == "Cast" or not _has_bfloat16(given):
            return call(self, *given, **named)
        used.add(NAME)
        return narrow(call(self, *wide(given), **named))

    return called


def _has_bfloat16(values: Any) -> bool:
    return any(
        value.dtype == ms.bfloat16
        if isinstance(value, ms.Tensor)
        else isinstance(value, (tuple, list)) and _has_bfloat16(value)
        for value in values
    )
