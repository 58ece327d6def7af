"""The verdict of a comparison of dumps, and all that was not compared: the only place that decides either.

| what | verdict at best |
| --- | --- |
| a divergence; an API that failed its precheck | diverged |
| a row of `_GAPS`; a step or rank that one dump has; dumps of one framework beside configurations of two | partial |
| no tensor was compared | undecided |

What neither dump has is told (`notes`) and leaves the verdict as it is.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from ...schemas.shared_words import first_of
from ...schemas.verdict import Unseen, conclude
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ...schemas.message import Words
    from .compare_parts import Part
    from .tables import Precheck

FRAMEWORK = "framework"
"""What is not compared where both dumps are of one framework."""
_MOST_NAMED = 6


def verdict_of(parts: Sequence[Part], precheck: Precheck | None, unseen: Sequence[Unseen]) -> str:
    """The word for an answer."""
    if precheck is not None:
        compared = precheck.passed + len(precheck.failures)
        return conclude("match", "diverged", wrong=bool(precheck.failures), compared=compared, unseen=unseen)
    compared = sum(part.compared.tensors for part in parts)
    return conclude("match", "diverged", wrong=has_diverged(parts), compared=compared, unseen=unseen)


def has_diverged(parts: Iterable[Part]) -> bool:
    """True if the runs part anywhere."""
    return any(part.divergence is not None for part in parts)


def coverage_gaps(
    parts: Sequence[Part], elsewhere: Mapping[str, Sequence[str]] | None, frameworks: Iterable[tuple[str, str]]
) -> tuple[Unseen, ...]:
    """Uncompared things that both sides should have; `frameworks` are those of a pair of configurations."""
    found = [*_of_one_framework(frameworks)]
    for part in parts:
        found += (Unseen(part.place or "dump", *words.both()) for gap in _GAPS for words in gap.sentences(part))
    for side, names in (elsewhere or {}).items():
        if names:
            what = first_of(names, _MOST_NAMED)
            found.append(Unseen(what, *say.places_alone(count=len(names), side=side.upper()).both()))
    return tuple(found)


def skipped_apis(precheck: Precheck) -> tuple[Unseen, ...]:
    """The APIs that a precheck passed over."""
    if not precheck.skipped:
        return ()
    return (Unseen("precheck", *say.apis_skipped(count=precheck.skipped).both()),)


class _Gap(NamedTuple):
    """Something of a part that was not compared: how much, the words for it, and its names if these are told."""

    amount: Callable[[Part], int]
    says: Callable[..., Words]
    names: Callable[[Part], Sequence[str]] | None = None

    def sentences(self, part: Part) -> Iterator[Words]:
        count = self.amount(part)
        if count and self.names is not None:
            yield self.says(count=count, names=first_of(self.names(part), _MOST_NAMED))
        elif count:
            yield self.says(count=count)


def _amount_of(name: str) -> Callable[[Part], int]:
    return attrgetter(f"compared.{name}")


def _operations(part: Part) -> int:
    """Single operations of two frameworks decide nothing; modules do, if there are any."""
    return 0 if any(unit.a.level == "module" for unit in part.units) else part.compared.operations


def _parts(part: Part) -> list[str]:
    sides = {"a": "B", "b": "A"}
    return [f"{sides[gap.side]}: {gap.part} {gap.direction}".rstrip(": ") for gap in part.gaps]


def _units(part: Part) -> Sequence[str]:
    return part.incomplete.units


def _nans(part: Part) -> Sequence[str]:
    return part.incomplete.nan


def _tensors(part: Part) -> list[str]:
    return [f"{one.side.upper()}: {one.unit}.{one.place}" for one in part.alone]


def _unreadable(part: Part) -> int:
    return len(part.unreadable)


_GAPS = (
    _Gap(_amount_of("parts"), say.parts_missing, _parts),
    _Gap(_amount_of("units_alone"), say.units_alone, _units),
    _Gap(_operations, say.operations_apart),
    _Gap(_amount_of("arranged"), say.arranged_weights),
    _Gap(_amount_of("checksums"), say.checksums_apart),
    _Gap(_amount_of("without_numbers"), say.tensors_without_numbers),
    _Gap(_amount_of("elements_alone"), say.elements_alone),
    _Gap(_amount_of("statistics_alone"), say.statistics_alone),
    _Gap(_amount_of("nan"), say.nan_on_both_sides, _nans),
    _Gap(_amount_of("inputs_alone"), say.inputs_alone),
    _Gap(_amount_of("unmatched"), say.tensors_alone, _tensors),
    _Gap(_unreadable, say.tensors_unreadable),
)
"""Each makes an answer partial."""


def _of_one_framework(frameworks: Iterable[tuple[str, str]]) -> Iterator[Unseen]:
    """Two dumps of one framework beside configurations of both: one side of the pair is not here."""
    names = {"pytorch": "PyTorch", "mindspore": "MindSpore"}
    same = [names[one] for one, other in frameworks if one == other and one in names]
    if same:
        yield Unseen(FRAMEWORK, *say.one_framework(name=same[0]).both())
