"""The result of a translation: the settings of the other framework's file, and the rows of the loss report."""

from __future__ import annotations

from ...mappings.tables import DYNAMIC
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.forks import OWN
from ...schemas.message import NOTHING, Words
from ...schemas.verdict import unresolved_words
from ...schemas.versions import minor_of
from ..recipe.vocabulary import defines_model
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal, TypeAlias

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Impact, Status
    from ...schemas.config import Config, Framework, Value, VersionOrigin
    from ...schemas.diagnostic import Language
    from ...schemas.megatron.dialects import Dialect
    from ..differences import Difference
    from ..families import Choice
    from ..recipe.values import Recipe

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
    """The fate of one field, or of one key without a field."""

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
    """True if the source writes it; otherwise it is a default."""
    resolved: tuple[FieldValues, ...] = ()
    """Fields of the TransformerConfig that this row speaks of, where they differ."""
    carried: bool = False
    """True if the row says that the written file means the same by the field, be it that it has no effect in this run:
    what is read back is held to it."""
    through: FieldName | None = None
    """The computed quantity that says so where the value is another one, of which the row's proof is none."""

    @property
    def defines_model(self) -> bool:
        """True if the row's field is part of the network's definition."""
        if self.field is not None:
            return defines_model(self.field)
        return self.impact == "numerics" and any(key.startswith(_MODEL_KEYS) for key in self.source)

    @property
    def changes_numbers(self) -> bool:
        """True if the translated run computes differently, or might."""
        return self.impact == "numerics" and self.status in ("approximate", "dropped", "unresolved")

    @property
    def origin(self) -> str:
        """Origin of the value in the source: written or default."""
        return "explicit" if self.explicit else "default"

    def proof(self, versions: tuple[str, str] | None, language: Language = "en") -> dict[str, object] | None:
        """The proof of this field by the real models, in these versions or in each of them."""
        if versions is None or self.field is None or self.impact != "numerics" or self.through is not None:
            return None
        from ...mappings.proofs import proof_json

        return proof_json(self.field, *versions, self.status, language)

    def to_json(self, language: Language = "en", versions: tuple[str, str] | None = None) -> dict[str, object]:
        """The contract's row; `versions` are Megatron-LM's and MindSpore Transformers', where proofs speak of both."""
        from ..answers_compiled import report_row_json

        return report_row_json(self, language, proof=self.proof(versions, language))


def beyond_fields(config: Config) -> Iterator[ReportRow]:
    """Report rows for parts of a file that no field represents and the target does not get.

    That is what makes it more than the training of a model, and the words of a launch that nobody can read here and
    that may be flags: each could replace any value.
    """
    purpose = config.purpose
    if purpose is not None:
        text = purpose.problem.message("en"), purpose.problem.message("zh")
        yield ReportRow(None, (), (), purpose.kind, "dropped", "numerics", False, *text)
    for word, problem in unresolved_words(config):
        text = problem.message("en"), problem.message("zh")
        yield ReportRow(None, (word,), (), None, "unresolved", "numerics", False, *text)


def summary(rows: tuple[ReportRow, ...]) -> dict[str, int]:
    """The number of rows of each status."""
    counts = dict.fromkeys(STATUSES, 0)
    for row in rows:
        counts[row.status] += 1
    return {status: count for status, count in counts.items() if count}


ChangeKind: TypeAlias = "Literal['kept', 'renamed', 'moved', 'derived', 'written-out', 'no-counterpart']"
Verdict: TypeAlias = "Literal['as-reported', 'differs', 'not-read']"
TOKENIZER = "/path/to/tokenizer"
"""Stands for the tokenizer that MindSpore Transformers does not know."""


class TargetSetting(NamedTuple):
    """One key of the written file."""

    key: str
    value: Value
    fields: tuple[str, ...]
    explicit: bool
    """True if the source names it; otherwise a default is made explicit."""
    notes: tuple[str, ...]
    """The source's own names for it, for the comment."""


class Change(NamedTuple):
    """The fate of a key of a YAML that is brought to a newer version."""

    kind: ChangeKind
    before: tuple[str, ...]
    """Keys of the old file."""
    after: tuple[str, ...]
    """Keys of the new file."""
    value: Value
    en: str = ""
    zh: str = ""

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """The contract's entry of `changes`."""
        from ..answers_compiled import key_change_json

        return key_change_json(self, language)


def versions_of_proofs(megatron: tuple[str, str], mindformers: tuple[str, str]) -> tuple[str, str] | None:
    """The versions as proofs name them, from each side's version and dialect; None for forks and legacy YAMLs."""
    if megatron[1] != OWN or mindformers[1] not in ("static", "dynamic"):
        return None
    graph = DYNAMIC if mindformers[1] == "dynamic" else ""
    return minor_of(megatron[0]) or megatron[0], (minor_of(mindformers[0]) or mindformers[0]) + graph


class ReadBack(NamedTuple):
    """The written file as its own framework's reader has it, beside the source's recipe."""

    verdict: Verdict
    compared: int
    """Fields of which both values are known."""
    undecided: tuple[FieldName, ...]
    """Fields that count and of which one side's value cannot be read."""
    unsaid: tuple[Difference, ...]

    def to_json(self) -> dict[str, object]:
        """The contract's `read_back`."""
        from ..answers_compiled import read_back_json

        return read_back_json(self)


class Translation(NamedTuple):
    """Everything that is known of one translation."""

    source: str
    source_framework: Framework
    target_framework: Framework
    version: str
    dialect: str
    settings: tuple[TargetSetting, ...]
    rows: tuple[ReportRow, ...]
    recipe: Recipe
    family: Choice | None = None
    version_origin: VersionOrigin = "assumed"
    """True if somebody named the version to write; into a file's own framework it is where the file's comes from."""
    version_reason: Words = NOTHING
    """The reason for the version that is written, if nobody named it."""
    written: Config | None = None
    """What the target's framework makes of the written file."""
    unsaid: tuple[Difference, ...] = ()
    """What is another one there though no row says so: an error of accmap's own."""
    compared: int = 0
    undecided: tuple[FieldName, ...] = ()
    fork: Dialect | None = None
    """The dialect of a fork of Megatron-LM that is written."""
    model: str | None = None
    """The `config.json` whose network was put in place of the source's."""

    @property
    def read_back_summary(self) -> ReadBack:
        """The comparison of the written file, read back, with the source."""
        verdict: Verdict = "not-read" if self.written is None else "differs" if self.unsaid else "as-reported"
        return ReadBack(verdict, self.compared, self.undecided, self.unsaid)

    @property
    def proved_versions(self) -> tuple[str, str] | None:
        """Versions of both frameworks for which proofs exist; None for other dialects."""
        source, written = (self.recipe.version, self.recipe.dialect), (self.version, self.dialect)
        if self.target_framework == "megatron":
            source, written = written, source
        return versions_of_proofs(source, written)

    @property
    def graph(self) -> Words:
        """The graph that a written YAML is for; no words for a launch script."""
        if self.target_framework != "mindformers":
            return NOTHING
        return say.dynamic_graph() if self.dialect == "dynamic" else say.static_graph()

    def versions(self, language: Language) -> list[dict[str, object]]:
        """Both frameworks' versions, and where each comes from."""
        basis = self.recipe.basis
        target: dict[str, object] = {
            "framework": self.target_framework,
            "framework_version": self.version,
            "version_origin": self.version_origin,
        }
        if self.target_framework == "mindformers":
            target["dialect"] = self.dialect
        if self.version_reason:
            target["version_reason"] = self.version_reason.text(language)
        return [*([] if basis is None else [{"file": self.source, **basis.to_json(language)}]), target]

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """The contract's `convert --report`."""
        return {
            "source": self.source,
            "target": f"{self.target_framework} {self.version} ({self.dialect})",
            "versions": self.versions(language),
            "rows": [row.to_json(language, self.proved_versions) for row in self.rows],
            "summary": summary(self.rows),
            "read_back": self.read_back_summary.to_json(),
        }
