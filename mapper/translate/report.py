"""The loss report: one line for every field and key, saying what became of it."""

from __future__ import annotations

from ...schemas.config import Value, json_value
from ...schemas.light_typing import TYPE_CHECKING, NamedTuple
from ..recipe.vocabulary import defines_model

if TYPE_CHECKING:
    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Impact, Status
    from ...schemas.diagnostic import Language

_MODEL_KEYS = ("model.", "model_config.")
STATUSES: tuple[Status, ...] = ("exact", "conditional", "approximate", "made-explicit", "dropped", "unresolved")


class FieldValues(NamedTuple):
    """One field of the TransformerConfig that both frameworks have, and what each holds in the end."""

    name: str
    megatron: Value
    mindformers: Value

    def to_json(self) -> dict[str, object]:
        """The contract's entry of `transformer_config`."""
        return {
            "field": self.name,
            "megatron": json_value(self.megatron),
            "mindformers": json_value(self.mindformers),
        }


class ReportRow(NamedTuple):
    """What became of one field, or of one key without a field."""

    field: FieldName | None
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
    resolved: tuple[FieldValues, ...] = ()
    """Fields of the TransformerConfig that this row speaks of, where they differ."""

    @property
    def defines_model(self) -> bool:
        """Whether the row is about which network it is."""
        if self.field is not None:
            return defines_model(self.field)
        return self.impact == "numerics" and any(key.startswith(_MODEL_KEYS) for key in self.source)

    @property
    def changes_numbers(self) -> bool:
        """Whether the translated run computes something else, as far as is known, or can only be guessed at."""
        return self.impact == "numerics" and self.status in ("approximate", "dropped", "unresolved")

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """The contract's row."""
        row: dict[str, object] = {
            "field": self.field,
            "from": list(self.source),
            "to": list(self.target),
            "value": json_value(self.value),
            "status": self.status,
            "impact": self.impact,
            "reversible": self.reversible,
            "defines_model": self.defines_model,
            "proof": None,
            "origin": "explicit" if self.explicit else "default",
            "message": self.zh if language == "zh" else self.en,
        }
        if self.resolved:
            row["transformer_config"] = [values.to_json() for values in self.resolved]
        return row


def summary(rows: tuple[ReportRow, ...]) -> dict[str, int]:
    """How many rows have each status."""
    counts = dict.fromkeys(STATUSES, 0)
    for row in rows:
        counts[row.status] += 1
    return {status: count for status, count in counts.items() if count}
