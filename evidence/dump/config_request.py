"""What is wished of a dump, read from the words of a command line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from ...schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .config_modules import ModulePair

DumpKind = Literal["msprobe", "mindspore-o0", "mindspore-o1", "mindspore-o2"]
Side = Literal["megatron", "mindformers"]


class Span(NamedTuple):
    """Steps or ranks from the first to the last, both included."""

    first: int
    last: int

    def text(self) -> str:
        """As both tools write it: `3` or `4-6`."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


class Record(NamedTuple):
    """One end of a scope: a module, the pass and its call, as msprobe numbers them."""

    place: str
    direction: Literal["forward", "backward"] = "forward"
    call: int = 0


class Request(NamedTuple):
    """A dump as it is wished; no spans mean all."""

    kind: DumpKind = "msprobe"
    level: str = "L0"
    task: str = "tensor"
    summary: str = "statistics"
    scope: tuple[Record, ...] = ()
    steps: tuple[Span, ...] = (Span(0, 0),)
    ranks: tuple[Span, ...] = ()
    form: str = "26"
    """msprobe's generation: `26`, or `8` for 8.x and 1.x."""
    precheck: bool = False


def spans_of(text: str) -> tuple[Span, ...]:
    """`0,3-5` as spans, `all` as none; ValueError for anything else."""
    if text == "all":
        return ()
    found: list[Span] = []
    for piece in text.split(","):
        given = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", piece)
        if given is None:
            raise ValueError(piece)
        first = int(given[1])
        last = int(given[2]) if given[2] else first
        if last < first:
            raise ValueError(piece)
        found.append(Span(first, last))
    return tuple(found)


_RECORD = re.compile(
    r"^(?:(?:Cell|Module)\.)?(?P<place>.+?)(?:\.(?P<direction>forward|backward)(?:\.(?P<call>\d+))?)?$"
)


def record_of(text: str) -> Record:
    """A module as a person or msprobe names it; the class, where there is one, is taken off later."""
    given = _RECORD.match(text)
    if given is None:
        return Record(text)
    direction: Literal["forward", "backward"] = "backward" if given["direction"] == "backward" else "forward"
    return Record(given["place"], direction, int(given["call"] or 0))


def resolved(request: Request, modules: Sequence[ModulePair]) -> Request:
    """The request with the scope's modules as places of MindSpore Transformers, without their classes."""
    known = by_any_name(modules)
    return request._replace(
        scope=tuple(
            record._replace(place=known[record.place].mindformers) if record.place in known else record
            for record in request.scope
        )
    )


def by_any_name(modules: Sequence[ModulePair]) -> dict[str, ModulePair]:
    """Every way to name a module: either side's place, with or without its class."""
    found: dict[str, ModulePair] = {}
    for module in modules:
        found.setdefault(module.mindformers, module)
        found.setdefault(f"{module.mindformers}.{module.mindformers_class}", module)
        if module.megatron is not None:
            found.setdefault(module.megatron, module)
            found.setdefault(f"{module.megatron}.{module.megatron_class}", module)
    return found
