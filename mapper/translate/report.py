"""The loss report: one line for every field and key, saying what became of it."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.verdict import open_words
from ..recipe.vocabulary import defines_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Impact, Status
    from ...schemas.config import Config, Value
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
        from ..answers_compiled import transformer_field_json

        return transformer_field_json(self)


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
    carried: bool = False
    """Whether the row says that the written file means the same by the field, be it that it has no effect in this run:
    what is read back is held to it."""
    through: FieldName | None = None
    """The computed quantity that says so where the value is another one, of which the row's proof is none."""

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

    @property
    def origin(self) -> str:
        """Whether the source writes it, or has it by default."""
        return "explicit" if self.explicit else "default"

    def proof(self, versions: tuple[str, str] | None, language: Language = "en") -> dict[str, object] | None:
        """What the real models have proved of this field, in these versions or in each of them."""
        if versions is None or self.field is None or self.impact != "numerics" or self.through is not None:
            return None
        from ...mappings.proofs import proof_json

        return proof_json(self.field, *versions, self.status, language)

    def to_json(self, language: Language = "en", versions: tuple[str, str] | None = None) -> dict[str, object]:
        """The contract's row; `versions` are Megatron-LM's and MindSpore Transformers', where proofs speak of both."""
        from ..answers_compiled import report_row_json

        return report_row_json(self, language, proof=self.proof(versions, language))


def beyond_fields(config: Config) -> Iterator[ReportRow]:
    """What of a file no field holds, and the other framework is not told.

    That is what makes it more than the training of a model, and the words of a launch that nobody can read here and
    that may be flags: each could replace any value.
    """
    purpose = config.purpose
    if purpose is not None:
        text = purpose.problem.message("en"), purpose.problem.message("zh")
        yield ReportRow(None, (), (), purpose.kind, "dropped", "numerics", False, *text)
    for word, problem in open_words(config):
        text = problem.message("en"), problem.message("zh")
        yield ReportRow(None, (word,), (), None, "unresolved", "numerics", False, *text)


def summary(rows: tuple[ReportRow, ...]) -> dict[str, int]:
    """How many rows have each status."""
    counts = dict.fromkeys(STATUSES, 0)
    for row in rows:
        counts[row.status] += 1
    return {status: count for status, count in counts.items() if count}
