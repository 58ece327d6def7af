"""What a translation answers: the settings of the other framework's file, and the rows of the loss report."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.forks import OWN
from ...schemas.versions import minor_of
from .report import summary

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config, Framework, Value, VersionOrigin
    from ...schemas.diagnostic import Language
    from ...schemas.megatron.dialects import Dialect
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


def versions_of_proofs(megatron: tuple[str, str], mindformers: tuple[str, str]) -> tuple[str, str] | None:
    """The versions that proofs speak of, from each side's version and dialect: of no fork and no other graph."""
    if (megatron[1], mindformers[1]) != (OWN, "static"):
        return None
    return minor_of(megatron[0]) or megatron[0], minor_of(mindformers[0]) or mindformers[0]


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
    version_origin: VersionOrigin = "assumed"
    """Whether somebody named the version to write; into a file's own framework it is where the file's comes from."""
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
    def back(self) -> ReadBack:
        """How the written file, read back, compares."""
        verdict: Verdict = "not-read" if self.written is None else "differs" if self.unsaid else "as-reported"
        return ReadBack(verdict, self.compared, self.undecided, self.unsaid)

    @property
    def proved_versions(self) -> tuple[str, str] | None:
        """Megatron-LM's version and MindSpore Transformers'; None for a dialect that proofs do not speak of."""
        source, written = (self.recipe.version, self.recipe.dialect), (self.version, self.dialect)
        if self.target_framework == "megatron":
            source, written = written, source
        return versions_of_proofs(source, written)

    def versions(self, language: Language) -> list[dict[str, object]]:
        """Both frameworks' versions, and where each comes from."""
        basis = self.recipe.basis
        target: dict[str, object] = {
            "framework": self.target_framework,
            "framework_version": self.version,
            "version_origin": self.version_origin,
        }
        return [*([] if basis is None else [{"file": self.source, **basis.to_json(language)}]), target]

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """The contract's `convert --report`."""
        return {
            "source": self.source,
            "target": f"{self.target_framework} {self.version} ({self.dialect})",
            "versions": self.versions(language),
            "rows": [row.to_json(language, self.proved_versions) for row in self.rows],
            "summary": summary(self.rows),
            "read_back": self.back.to_json(),
        }
