"""Which finding is worse: what stops a run, then what changes its numbers, then what depends on something unsaid.

Of two that are alike in this, the one from which more follows is the worse one.
"""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...schemas.diagnostic import Diagnostic
    from ...schemas.message import Words

GROUPS: tuple[str, ...] = ("stops", "numbers", "depends", "advice")
REMARK: str = "remark"
_SEVERITIES = ("error", "warning", "info")


def group_of(entry: Diagnostic) -> str:
    """What a finding means for the run; an effect that is not certain is one that depends."""
    severity = entry.kind.severity
    if severity == "info":
        return REMARK
    effect = entry.effect
    return "depends" if severity == "warning" and effect != "advice" else effect


def group_name(group: str) -> Words:
    """What a group is called on a page."""
    if group == "stops":
        return say.will_not_start()
    if group == "numbers":
        return say.numbers_differ()
    return say.depends_on() if group == "depends" else say.advice()


def harm(entry: Diagnostic) -> tuple[int, int]:
    """How bad a finding is; the smallest is the worst."""
    severity = _SEVERITIES.index(entry.kind.severity)
    return (severity, 0) if entry.kind.severity == "info" else (severity, GROUPS.index(group_of(entry)))


def worst_first(
    causes: Sequence[Diagnostic], follow: Mapping[int, Sequence[Diagnostic]]
) -> list[tuple[Diagnostic, Sequence[Diagnostic]]]:
    """The causes that are no remarks, each with what follows from it."""

    def badness(number: int) -> tuple[int, int, int]:
        return *harm(causes[number]), -len(follow.get(number, ()))

    louder = [number for number, entry in enumerate(causes) if entry.kind.severity != "info"]
    return [(causes[number], follow.get(number, ())) for number in sorted(louder, key=badness)]
