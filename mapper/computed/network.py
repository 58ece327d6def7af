"""What both sides' formulas say of a network: how many parameters of which kind, and the kind of every layer."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple, cast
from .values import UndecidedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...schemas.config import Value


class ModelClass(NamedTuple):
    """What a model class hands to its network: a row of `classes` of facts.yaml."""

    layers: str
    experts: bool
    qk_norm: str
    tied: str
    latent: bool
    mtp: str
    gated: str
    joined: str
    norm: str
    own_layers: bool
    versions: tuple[str, ...]


class Layer(NamedTuple):
    """The parameters of one transformer layer, and what of its experts one token does not use."""

    attention: int
    norm: int
    feed_forward: int = 0
    router: int = 0
    experts: int = 0
    shared_experts: int = 0
    idle: int = 0
    kind: str = ""

    def total(self) -> int:
        """All of it."""
        return sum(self[:6])


class Ends(NamedTuple):
    """The parameters before and behind the layers."""

    embedding: int
    position: int
    output: int

    def by_kind(self) -> Mapping[str, Value]:
        """Those that there are."""
        return {kind: size for kind, size in zip(self._fields, self, strict=True) if size}


class Network(NamedTuple):
    """The layers of a network as one side builds them: trainable parameters, each tensor once."""

    layers: Sequence[Layer]
    final_norm: int
    mtp: int
    mtp_layers: Sequence[Layer] = ()

    def by_kind(self) -> Mapping[str, Value]:
        """The parameters by kind of module, without the kinds that it has none of."""
        found = dict.fromkeys(Layer._fields[:6], 0)
        for layer in self.layers:
            for kind, size in zip(Layer._fields[:6], layer[:6], strict=True):
                found[kind] += size
        found["norm"] += self.final_norm
        found["mtp"] = self.mtp
        return {kind: size for kind, size in found.items() if size}

    def total(self, ends: Ends) -> int:
        """Every parameter."""
        return sum(ends) + sum(layer.total() for layer in self.layers) + self.final_norm + self.mtp

    def active(self, ends: Ends) -> int:
        """The parameters that the next token's logits go through: none of multi-token prediction."""
        return self.total(ends) - self.mtp - sum(layer.idle for layer in self.layers)

    def kinds(self) -> list[Value]:
        """The kind of every layer, alike ones that follow each other with their number."""
        found: list[Value] = [f"{count} {kind}" for count, kind in _runs(layer.kind for layer in self.layers)]
        return [*found, *(f"{count} mtp: {kind}" for count, kind in _runs(layer.kind for layer in self.mtp_layers))]


def pattern_of(written: object, count: int) -> list[bool]:
    """A list that says of every layer whether it has experts."""
    if not isinstance(written, (list, tuple)):
        raise UndecidedError
    entries = cast("list[object]", written)
    if len(entries) != count or any(one not in (0, 1) for one in entries):
        raise UndecidedError
    return [one == 1 for one in entries]


def _runs(kinds: Iterable[str]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for kind in kinds:
        if found and found[-1][1] == kind:
            found[-1] = found[-1][0] + 1, kind
        else:
            found.append((1, kind))
    return found
