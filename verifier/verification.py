"""The whole answer of a verification, whose `to_json` is the contract's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ..schemas.fast_records import NamedTuple
from . import coverage, native_dtypes
from .answers_compiled import divergence_json, verify_json
from .comparison import Comparison
from .known_failures import explained

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from . import installations, localise
    from .blueprint import InputPlan
    from .not_compared import Differing, NotCompared
    from .processes import WorkerFailure
    from .small_files import SmallFile

Verdict = Literal["match", "partial", "mismatch", "not-verifiable"]
Stage = Literal["step1", "local-norm", "step2", "all"]
Graph = Literal["static, eager", "static, compiled", "dynamic"]


class Verification(NamedTuple):
    """The whole answer."""

    verdict: Verdict
    sides: tuple[str, str]
    files: tuple[str, str]
    shrunk: Mapping[str, list[Any]]
    inputs: tuple[InputPlan, ...]
    tolerance: float
    stage: Stage
    compared: tuple[Comparison, ...]
    """One for each seed."""
    seeds: tuple[int, ...]
    stand_ins: Mapping[str, Mapping[str, str]]
    not_compared: tuple[NotCompared, ...]
    divergence: localise.Divergence | None
    divergence_fields: tuple[str, ...]
    differing: tuple[Differing, ...]
    failures: Mapping[str, WorkerFailure]
    versions: Mapping[str, str]
    cost: Mapping[str, Any]
    near_ties: tuple[int, ...] = ()
    """Seeds left out because rounding alone decided between two experts; other seeds stood in for them."""
    language: str = "en"
    ran: tuple[Ran, ...] = ()
    typed: native_dtypes.AsWritten | None = None
    """The first pass in the files' own types; None where that was not asked for, or float32 already parts."""
    small: tuple[SmallFile, ...] = ()
    """The files that the small models were built from."""

    @property
    def worst(self) -> Comparison:
        """The first comparison with a disagreement, or the first of all."""
        for compared in self.compared:
            if compared.disagreeing():
                return compared
        return self.compared[0] if self.compared else Comparison()

    def typed_fields(self) -> frozenset[str]:
        """The fields about types that were run as the files write them: a difference is shown, or told beside them."""
        if self.typed is None or self.typed.failures:
            return frozenset()
        return frozenset((native_dtypes.COMPUTE, *(entry.field for entry in self.typed.places)))

    def in_part(self, differing: Sequence[NotCompared], accepted: Sequence[str] = ()) -> Verification:
        """The answer beside what is known to differ, changes numbers and was not run: such models match in part.

        What the user accepts by name stays named and decides nothing.
        """
        shown = coverage.parted(self.worst.disagreeing()) | {entry.field for entry in self.differing}
        differing = [entry for entry in differing if entry.field not in shown]
        if not differing:
            return self
        named = {entry.field for entry in differing}
        rest = (entry for entry in self.not_compared if entry.field not in named)
        told = [entry._replace(differs=True) for entry in differing if entry.field not in accepted]
        let = [entry._replace(accepted=True) for entry in differing if entry.field in accepted]
        return self._replace(
            verdict="partial" if self.verdict == "match" and told else self.verdict,
            not_compared=(*told, *let, *rest),
        )

    @property
    def decided_seeds(self) -> list[Seed]:
        """The seeds that rounding did not decide."""
        decided = [seed for seed in self.seeds if seed not in self.near_ties]
        pairs = zip(decided, self.compared, strict=False)
        return [Seed(seed, not compared.disagreeing()) for seed, compared in pairs]

    @property
    def each_stand_in(self) -> list[StandIn]:
        """What stood in, side after side."""
        return [StandIn(side, *one) for side, listed in self.stand_ins.items() for one in listed.items()]

    @property
    def each_failure(self) -> list[FailedSide]:
        """Why a side gave no answer, side after side."""
        return [FailedSide(*one) for one in self.failures.items()]

    def to_json(
        self,
        rules: Sequence[str] = (),
        defects: Sequence[Mapping[str, Any]] = (),
        read_as: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        """The contract's answer: `rules` and `defects` are of the divergence, `read_as` is of the files."""
        divergence = None
        if self.divergence is not None:
            divergence = divergence_json(self, self.language, rules=list(rules), defects=list(defects))
        return verify_json(self, self.language, first_divergence=divergence, read_as=list(read_as))


class Seed(NamedTuple):
    """Whether both models were the same with one seed."""

    seed: int
    agrees: bool


class StandIn(NamedTuple):
    """What stood in for something that this machine does not have."""

    side: str
    name: str
    description: str


class Ran(NamedTuple):
    """What a side was run with, beside the version that its file asks for."""

    place: installations.Installation
    asked: str
    exact: bool
    graph: Graph | None
    parsed: bool | None = None
    """The framework's own parser read the launch that the model is built from; None where what runs holds none."""
    own_launch: bool | None = None
    """It was given the file's own launch, too, which another program may have to parse."""
    python: str | None = None
    """The interpreter, where it is not the one that accmap runs with."""


class FailedSide(NamedTuple):
    """A side that gave no answer, and what is known of that."""

    side: str
    failure: WorkerFailure

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that it comes from, where it is known."""
        known = explained(self.failure)
        return () if known is None else known.fields

    def explanation(self, language: str) -> str | None:
        """What it means, or what to do about it."""
        known = explained(self.failure)
        return (self.failure.remedy if known is None else known.words().text(language)) or None
