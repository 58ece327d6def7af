"""What an advisory is: the shape of `defects/<framework>/DEFnnn.yaml`, read when the table is compiled."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Both = Annotated[list[str], Field(min_length=2, max_length=2)]
"""A sentence in English and in Chinese."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Condition = tuple[str, str, Any]
"""A recipe field, a key of the framework's own or an environment variable; a comparison; what it is compared with."""


class Alternatives(_Strict):
    """Sets of conditions, one of which holds."""

    any: list[list[Condition]] = Field(min_length=2)


class Package(_Strict):
    """A package whose version decides beside the framework's, and which no configuration names."""

    name: Literal["transformer-engine"]
    at_least: str | None = Field(default=None, pattern=r"^\d+\.\d+(\.\d+)?$")
    """The first release that has the defect; None where every older one that was read has it."""
    below: str | None = Field(default=None, pattern=r"^\d+\.\d+(\.\d+)?$")
    """The first one that was mended; None where the newest that was read still has it."""

    @model_validator(mode="after")
    def _is_bounded(self) -> Package:
        if self.at_least is None and self.below is None:
            raise ValueError("a package that decides has a first or a mended release")
        return self


class Affected(_Strict):
    """Which versions have the defect: the sets name releases by their first two numbers, as every table does."""

    versions: str
    patched: dict[str, str] = {}
    """Of those, the ones that a later patch release mended, and which: a file that names `0.15` alone gets `may`."""
    package: Package | None = None
    """What has to be installed beside it: a file alone gets `may`, an installation is asked."""
    first: str
    """Since when: the oldest tag or the commit that was read with it."""
    fixed: str | None
    """By which change and tag; None where the newest version that was read still has it."""


class Evidence(_Strict):
    """What the advisory rests on."""

    kind: Literal["measured", "read", "reported"]
    code: list[str] = Field(min_length=1)
    """`version file:function`, of an affected and of a mended version where there is one."""
    figures: Both | None = None
    test: str | None = None
    """The marked test that repeats a measurement."""

    @model_validator(mode="after")
    def _measured_is_repeated(self) -> Evidence:
        if self.kind == "measured" and (self.test is None or self.figures is None):
            raise ValueError("what was measured names its figures and the test that repeats it")
        return self


class Defect(_Strict):
    """One known defect of one framework."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)+$")
    title: Both
    """One sentence: what the framework does and should not."""
    affected: Affected
    dialects: list[Literal["static", "dynamic", "legacy"]] = []
    """Of MindSpore Transformers: the dialects that have it; all of them where none is named."""
    when: list[Condition | Alternatives] = Field(min_length=1)
    """All of which hold."""
    at: str
    """The recipe field or key that a finding points at."""
    quantities: list[Literal["loss", "gradient", "learning rate", "weights", "data", "logged", "stops"]] = Field(
        min_length=1
    )
    """What is off, for those who look at a run."""
    effect: Both
    """Which number is off, in which direction and by how much, and which step shows it."""
    severity: Literal["error", "warning", "info"]
    do: Both
    """The setting, the version or the lines that mend it."""
    cancels: list[str] = []
    """Defects of the other framework that make the same mistake: with both, the two runs agree."""
    sources: list[str] = Field(min_length=1)
    evidence: Evidence

    @model_validator(mode="after")
    def _reports_warn_at_most(self) -> Defect:
        if self.evidence.kind == "reported" and self.severity == "error":
            raise ValueError("what is only reported is a warning at most")
        return self
