"""What a translation answers: the settings of the other framework's file, and the rows of the loss report."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING, NamedTuple
from .report import summary

if TYPE_CHECKING:
    from ...schemas.config import Config, Framework, Value
    from ...schemas.diagnostic import Language
    from ..differences import Difference
    from ..families import Choice
    from ..recipe.values import Recipe
    from .report import ReportRow

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
        }
