"""Everything that `accmap logs` has to say, whatever the format: runs, each judged against the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...evidence.logs.comparison import Comparison, compare
from ...evidence.logs.verdict import NOTHING_MORE, overall_answer, usable_alone
from ...schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...evidence.logs.criteria import Criterion
    from ...evidence.logs.run import Run
    from ...evidence.logs.verdict import Answer, Experiment, Grounds
    from ...mapper.recipe.values import Recipe
    from ...schemas.diagnostic import Diagnostic, Language

_BEFORE_AN_UPDATE = ("loss", "weights", "data", "logged")
"""What the first loss shows."""


class Report(NamedTuple):
    """Everything `logs` has to say, whatever the format."""

    runs: tuple[Run, ...]
    comparisons: tuple[Comparison, ...]
    alone: tuple[Criterion, ...]
    """What a single log has to meet."""
    experiment: str
    answer: Answer
    language: Language
    defects: tuple[Diagnostic, ...] = ()
    """Known defects that concern the configurations and are off in what was found to be off."""

    def letter(self, run: Run) -> str:
        """The letter that a run goes by."""
        place = next((place for place, other in enumerate(self.runs) if other is run), 0)
        return chr(ord("A") + place) if place < 26 else f"#{place + 1}"


def report_of(
    runs: Sequence[Run],
    twins: Sequence[Run],
    experiment: Experiment,
    recipes: Sequence[Recipe] = (),
    language: Language = "en",
    grounds: Grounds = NOTHING_MORE,
    defects: Sequence[Diagnostic] = (),
) -> Report:
    """Judge every run but the first against the first."""
    comparisons = tuple(compare(runs[0], other, experiment, recipes, twins, grounds) for other in runs[1:])
    alone = usable_alone(runs[0]) if len(runs) == 1 else ()
    answer = overall_answer([comparison.verdict for comparison in comparisons], alone)
    off = {quantity for one in comparisons for quantity in _off(one.verdict.criteria)}
    fit: tuple[Diagnostic, ...] = ()
    if defects:
        from ..reference.advisories import matching_defects

        fit = matching_defects(defects, off)
    return Report(tuple(runs), comparisons, alone, "benchmark" if twins else experiment, answer, language, fit)


def _off(criteria: Iterable[Criterion]) -> Iterator[str]:
    """What may be off in a run that fails these criteria."""
    failed = [criterion.name for criterion in criteria if criterion.status == "fail" and criterion.decides]
    for name in failed:
        if name == "first loss":
            yield from _BEFORE_AN_UPDATE
        elif name == "learning rate":
            yield "learning rate"
        elif "norm" in name:
            yield from ("gradient", *_BEFORE_AN_UPDATE)
        elif "first loss" in failed:
            yield from (*_BEFORE_AN_UPDATE, "gradient", "learning rate")
        else:  # the first loss is right, and a later one is not: what an update does
            yield from ("gradient", "learning rate", "weights", "data")
