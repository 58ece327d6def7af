"""What of the verifier's own is compiled with a model: the objective, and an output layer that keeps what it gives."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# The frameworks carry no types.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindspore as ms
from mindspore import nn, ops

if TYPE_CHECKING:
    from collections.abc import Sequence


class Objective(nn.Cell):
    """The sum of a model's losses, and its parts."""

    def __init__(self, model: Any, columns: Sequence[str], scale: float) -> None:
        """`columns` are what the model is given beside tokens and labels."""
        super().__init__(auto_prefix=False)
        self.model = model
        self.columns = tuple(columns)
        self.scale = scale

    def construct(self, tokens: Any, labels: Any, *arranged: Any) -> Any:
        """As `MindFormersModel._objective`."""
        named = {}
        for at, name in enumerate(self.columns):
            named[name] = arranged[at]
        found = self.model(tokens, labels=labels, **named)
        if not isinstance(found, tuple):
            return found.sum() * self.scale, found
        total = found[0] + found[1] + found[2]
        return total.sum() * self.scale, found[0], found[1], found[2]


def keeping(layer: Any) -> Any:
    """The output layer, made to keep what it gives in a parameter, as no hook is called in a compiled graph."""
    kind = type(layer)

    class Keeping(kind):
        """Keeps what it gives."""

        def construct(self, x: Any, weight: Any = None) -> Any:
            found, bias = super().construct(x, weight)
            ops.assign(self.kept, found)
            return found, bias

        def make_room(self, shape: Sequence[int]) -> None:
            """For a batch of this shape, [batch, sequence]."""
            if not hasattr(self, "kept"):
                size, length = shape
                zeros = ops.zeros((length, size, self.output_size), self.compute_dtype)
                self.kept = ms.Parameter(zeros, name="accmap.kept", requires_grad=False)

    layer.__class__ = Keeping
    return layer


def adding(block: Any, *, further: bool) -> Any:
    """The last block of 1.6, made to keep the balancing losses and, where it predicts `further`, that loss."""
    kind = type(block)

    class Adding(kind):
        """Keeps both numbers."""

        def construct(self, *given: Any, **named: Any) -> Any:
            found = super().construct(*given, **named)
            if further:
                ops.assign(self.kept_further, found[0].reshape(1))
            ops.assign(self.kept_balancing, found[1].reshape(1))
            return found

    block.__class__ = Adding
    for name in ("kept_further", "kept_balancing"):
        setattr(block, name, ms.Parameter(ops.zeros((1,), ms.float32), name=f"accmap.{name}", requires_grad=False))
    return block


def overflowed(_status: Any, gradients: Any) -> Any:
    """Whether a gradient is too large, in plain operators."""
    wrong: Any = 0
    for gradient in gradients:
        outside: Any = ops.cast(ops.logical_not(ops.isfinite(gradient)), ms.int32)
        wrong = wrong + outside.sum()
    return wrong > 0
