"""The loss report: one line for every field and key, saying what became of it."""

from __future__ import annotations

from ...schemas.config import Value, json_value
from ...schemas.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ...mappings.tables import Impact, Status
    from ...schemas.diagnostic import Language

STATUSES: tuple[Status, ...] = ("exact", "conditional", "approximate", "made-explicit", "dropped", "unresolved")


class ReportRow(NamedTuple):
    """What became of one field, or of one key without a field."""

    field: str | None
    source: tuple[str, ...]
    target: tuple[str, ...]
    value: Value
    status: Status
    impact: Impact
    reversible: bool
    en: str = ""
    zh: str = ""
    explicit: bool = True
    """Whether the source writes it; otherwise it is a default."""

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """The contract's row."""
        return {
            "field": self.field,
            "from": list(self.source),
            "to": list(self.target),
            "value": json_value(self.value),
            "status": self.status,
            "impact": self.impact,
            "reversible": self.reversible,
            "origin": "explicit" if self.explicit else "default",
            "message": self.zh if language == "zh" else self.en,
        }


def summary(rows: tuple[ReportRow, ...]) -> dict[str, int]:
    """How many rows have each status."""
    counts = dict.fromkeys(STATUSES, 0)
    for row in rows:
        counts[row.status] += 1
    return {status: count for status, count in counts.items() if count}
