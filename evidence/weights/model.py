"""A checkpoint's model: every weight under the weight table's name, and its copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ...schemas.fast_records import NamedTuple
from .messages_compiled import say
from .number_types import largest_difference, widen
from .problems import problem
from .weight import BLOCK_BYTES, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...mapper.weight_names import Beside
    from ...mapper.weights import Layout
    from ...schemas.config import Framework
    from ...schemas.diagnostic import Diagnostic
    from ...schemas.message import Words
    from .places import Form
    from .weight import Shape, Weight


VOCABULARY = ("embedding.word_embeddings.weight", "output_layer.weight")
"""The weights with a row for each token, of which a checkpoint may have more than the vocabulary."""


class View(NamedTuple):
    """The facts of a model by which a reader puts its pieces together."""

    layout: Layout
    wanted: Mapping[str, Shape] | None = None
    """Every weight with its shape, where a configuration tells."""
    source: str = ""
    """Where that comes from."""
    strict: bool = True
    """A weight of another shape stops the reading; a check wants to show it instead."""

    def refuses(self, name: str, shape: Shape) -> Shape | None:
        """The shape that a weight must have, where it has another and that stops the reading."""
        wanted = None if self.wanted is None or not self.strict or name in VOCABULARY else self.wanted.get(name)
        return None if wanted == shape else wanted


class Copy(NamedTuple):
    """A weight that stands in the checkpoint twice and must be the same in both."""

    name: str
    first: Weight
    second: Weight


class Amount(NamedTuple):
    """A number of tensors and their bytes."""

    tensors: int = 0
    size: int = 0
    """In bytes."""

    def plus(self, other: Amount) -> Amount:
        """Both together."""
        return Amount(self.tensors + other.tensors, self.size + other.size)


def count(found: dict[Beside, Amount], what: Beside, size: int = 0, tensors: int = 1) -> None:
    """Count something that is no weight."""
    found[what] = found.get(what, Amount()).plus(Amount(tensors, size))


class Model(NamedTuple):
    """The weights of a checkpoint."""

    framework: Framework
    folder: str
    weights: Mapping[str, Weight]
    written_as: Mapping[str, str]
    """What the checkpoint itself calls a weight, where that is another name."""
    unknown: tuple[str, ...] = ()
    """Tensors that no row of the weight table knows."""
    beside: Mapping[Beside, Amount] = {}
    """What else is in the checkpoint, and how much of it."""
    copies: tuple[Copy, ...] = ()


class Checkpoint(Protocol):
    """An opened checkpoint, before it is known how its pieces belong together."""

    @property
    def framework(self) -> Framework:
        """Whose checkpoint it is."""
        ...

    @property
    def form(self) -> Form:
        """In which form."""
        ...

    folder: str
    iteration: int | None
    arguments: Mapping[str, Any] | None
    """The run's arguments that stand in the checkpoint."""

    def shapes(self) -> Mapping[str, Shape]:
        """The shapes of single pieces, from which an arrangement can be told without a configuration."""
        ...

    def model(self, view: View) -> Model:
        """The weights, put together."""
        ...


def differing_copies(copies: Sequence[Copy]) -> Iterator[Diagnostic]:
    """One finding for each copy that is not the same."""
    for copy in copies:
        found = _difference(copy)
        if found is not None:
            first, second = copy.first.file, copy.second.file
            yield problem(say.disagree(tensor=copy.name, first=first, second=second, difference=found), second)


def _difference(copy: Copy) -> Words | None:
    """The difference of two copies; None if every bit is the same."""
    import numpy as np

    first, second = copy.first, copy.second
    if first.shape != second.shape or first.dtype != second.dtype:
        one, other = (f"{weight.dtype} {list(weight.shape)}" for weight in (first, second))
        return say.two_forms(one=one, other=other)
    largest, numbers = 0.0, 0
    size = max(1, BLOCK_BYTES // 8)
    for one, other in zip(pieces(first, size), pieces(second, size), strict=True):
        # Bits, not values: a copy of a NaN is the same NaN.
        bits = f"u{one.itemsize}"
        mine: Any = np.ascontiguousarray(one)
        theirs: Any = np.ascontiguousarray(other)
        apart = int((mine.view(bits) != theirs.view(bits)).sum())
        if apart:
            numbers += apart
            largest = max(largest, largest_difference(widen(one, first.dtype), widen(other, second.dtype)))
    if not numbers:
        return None
    return say.numbers_differ(numbers=numbers, count=first.count, largest=largest)
