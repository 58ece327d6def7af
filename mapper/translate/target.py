"""What a translation answers: the settings of the other framework's file, and the rows of the loss report."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING, NamedTuple
from .report import summary

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config, Framework, Value
    from ...schemas.diagnostic import Language
    from ..differences import Difference
    from ..families import Choice
    from ..recipe.values import Recipe
    from .report import ReportRow

Verdict: TypeAlias = "Literal['as-reported', 'differs', 'not-read']"
TOKENIZER = "/path/to/tokenizer"
"""Stands for the tokenizer that MindSpore Transformers does not know."""


class TargetSetting(NamedTuple):
    """One key of the written file."""

    key: str
    value: Value
    fields: tuple[str, ...]
    explicit: bool
    """Whether the source names it; otherwise a default is made explicit."""
    notes: tuple[str, ...]
    """The source's own names for it, for the comment."""


class ReadBack(NamedTuple):
    """What the written file says to its own framework's reader, beside the source's recipe."""

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
    target_given: bool = False
    """Whether somebody named the version to write."""
    written: Config | None = None
    """What the target's framework makes of the written file."""
    unsaid: tuple[Difference, ...] = ()
    """What is another one there though no row says so: an error of accmap's own."""
    compared: int = 0
    undecided: tuple[FieldName, ...] = ()
    model: str | None = None
    """The `config.json` whose network was put in place of the source's."""

    @property
    def back(self) -> ReadBack:
        """How the written file, read back, compares."""
        verdict: Verdict = "not-read" if self.written is None else "differs" if self.unsaid else "as-reported"
        return ReadBack(verdict, self.compared, self.undecided, self.unsaid)

    def versions(self, language: Language) -> list[dict[str, object]]:
        """Both frameworks' versions, and where each comes from."""
        basis = self.recipe.basis
        target: dict[str, object] = {
            "framework": self.target_framework,
            "framework_version": self.version,
            "version_origin": "given" if self.target_given else "assumed",
        }
        return [*([] if basis is None else [{"file": self.source, **basis.to_json(language)}]), target]

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """The contract's `convert --report`."""
        return {
            "source": self.source,
            "target": f"{self.target_framework} {self.version} ({self.dialect})",
            "versions": self.versions(language),
            "rows": [row.to_json(language) for row in self.rows],
            "summary": summary(self.rows),
            "read_back": self.back.to_json(),
        }
