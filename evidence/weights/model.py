"""A checkpoint's model: every weight under the weight table's name, whatever form the files have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ...schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...mapper.weight_names import Beside
    from ...mapper.weights import Layout
    from ...schemas.config import Framework
    from .places import Form
    from .weight import Shape, Weight


VOCABULARY = ("embedding.word_embeddings.weight", "output_layer.weight")
"""The weights with a row for each token, of which a checkpoint may have more than the vocabulary."""


class View(NamedTuple):
    """What the reader must know of the model to put its pieces together."""

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
    """How much there is of something."""

    tensors: int = 0
    size: int = 0
    """In bytes."""

    def and_also(self, other: Amount) -> Amount:
        """Both together."""
        return Amount(self.tensors + other.tensors, self.size + other.size)


def count(found: dict[Beside, Amount], what: Beside, size: int = 0, tensors: int = 1) -> None:
    """Count something that is no weight."""
    found[what] = found.get(what, Amount()).and_also(Amount(tensors, size))


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
