"""The whole answer of a verification, whose `to_json` is the contract's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ..schemas.fast_records import NamedTuple
from ..schemas.message import text_in
from .answers_compiled import divergence_json, verify_json
from .constants_compiled import KNOWN_FAILURES, SPECIFICATIONS
from .messages_compiled import say
from .verdict import coverage, native_dtypes
from .verdict.comparison import TOLERANCE, Comparison

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..schemas.config import Value
    from ..schemas.diagnostic import Language
    from ..schemas.message import Words
    from . import installations
    from .plan.dimensions import SmallFile
    from .verdict import comparison
    from .verdict.comparison import DifferingSetting, NotCompared, Row, Suspect
    from .worker.blueprint import InputPlan
    from .worker.processes import WorkerFailure


Verdict = Literal["match", "partial", "mismatch", "not-verifiable"]
Stage = Literal["step1", "local-norm", "step2", "all"]
Graph = Literal["static, eager", "static, compiled", "dynamic"]


class Verification(NamedTuple):
    """The whole answer."""

    verdict: Verdict
    sides: tuple[str, str]
    files: tuple[str, str]
    shrunk: Mapping[str, list[Any]] = {}
    inputs: tuple[InputPlan, ...] = ()
    tolerance: float = TOLERANCE
    stage: Stage = "all"
    compared: tuple[Comparison, ...] = ()
    """One for each seed."""
    seeds: tuple[int, ...] = ()
    stand_ins: Mapping[str, Mapping[str, str]] = {}
    not_compared: tuple[NotCompared, ...] = ()
    divergence: comparison.Divergence | None = None
    divergence_fields: tuple[str, ...] = ()
    differing: tuple[DifferingSetting, ...] = ()
    """The settings without whose difference quantities agree that differ with it."""
    failures: Mapping[str, WorkerFailure] = {}
    versions: Mapping[str, str] = {}
    cost: Mapping[str, Any] = {}
    near_ties: tuple[int, ...] = ()
    """Seeds left out because rounding alone decided between two experts; other seeds stood in for them."""
    ran: tuple[FrameworkRun, ...] = ()
    typed: native_dtypes.AsWritten | None = None
    """The first pass in the files' own types; None where that was not asked for, or float32 already parts."""
    small: tuple[SmallFile, ...] = ()
    """The files that the small models were built from."""
    arrays_of_sides: tuple[Mapping[str, Any], ...] = ()
    """The arrays of each side's last run, by the names that a record has."""
    recorded: tuple[RecordedSide, ...] = ()
    """The conditions of each side, if two records were joined."""
    effects: tuple[Effect, ...] = ()
    """The fields that were made equal on both sides, and what each of them changes alone."""
    rest: Verdict | None = None
    """The verdict of the pair with these fields equal; None if nothing was made equal."""
    suspected: tuple[Suspect, ...] = ()
    """Other settings that differ and may be the cause."""

    @property
    def equal_fields(self) -> list[str]:
        """The fields that were made equal on both sides."""
        return [effect.field for effect in self.effects]

    @property
    def worst(self) -> Comparison:
        """First comparison with a disagreement, else the first of all."""
        for compared in self.compared:
            if compared.disagreements():
                return compared
        return self.compared[0] if self.compared else Comparison()

    def native_dtype_fields(self) -> frozenset[str]:
        """Data-type fields that were run as written, so that a difference is shown or listed."""
        if self.typed is None or self.typed.failures:
            return frozenset()
        return frozenset((native_dtypes.COMPUTE, *(entry.field for entry in self.typed.places)))

    def as_partial(self, differing: Sequence[NotCompared], accepted: Sequence[str] = ()) -> Verification:
        """Answer that is a partial match if known differences were not run; accepted fields do not count.

        What the user accepts by name stays named and decides nothing.
        """
        unshown = self._list_unshown(differing)
        if not unshown:
            return self
        rest = (entry for entry in self.not_compared if entry.field not in unshown)
        told = [entry._replace(differs=True) for entry in unshown.values() if not is_accepted(entry.field, accepted)]
        let = [entry._replace(accepted=True) for entry in unshown.values() if is_accepted(entry.field, accepted)]
        return self._replace(
            verdict="partial" if self.verdict == "match" and told else self.verdict,
            not_compared=(*told, *let, *rest),
        )

    def list_suspects_once(self) -> Verification:
        """The answer that names a suspected field once: not among the differences that were not run."""
        suspected = {one.field for one in self.suspected}
        return self._replace(not_compared=tuple(one for one in self.not_compared if one.field not in suspected))

    def _list_unshown(self, differing: Sequence[NotCompared]) -> dict[str, NotCompared]:
        """The first entry of each field that the models did not show."""
        shown = coverage.quantities_of_stages(self.worst.disagreements()) | {entry.field for entry in self.differing}
        first: dict[str, NotCompared] = {}
        for entry in differing:
            if entry.field not in shown:
                first.setdefault(entry.field, entry)
        return first

    @property
    def decided_seeds(self) -> list[Seed]:
        """Seeds whose result was not a matter of rounding."""
        decided = [seed for seed in self.seeds if seed not in self.near_ties]
        pairs = zip(decided, self.compared, strict=False)
        return [Seed(seed, not compared.disagreements()) for seed, compared in pairs]

    @property
    def each_stand_in(self) -> list[StandIn]:
        """Stand-ins of both sides as a list."""
        return [StandIn(side, *one) for side, listed in self.stand_ins.items() for one in listed.items()]

    @property
    def each_failure(self) -> list[FailedSide]:
        """Failures of both sides as a list."""
        return [FailedSide(*one) for one in self.failures.items()]

    def to_json(
        self,
        rules: Sequence[str] = (),
        defects: Sequence[Mapping[str, Any]] = (),
        read_as: Sequence[Mapping[str, Any]] = (),
        language: Language = "en",
    ) -> dict[str, Any]:
        """The contract's answer: `rules` and `defects` are of the divergence, `read_as` is of the files."""
        divergence = None
        if self.divergence is not None:
            divergence = divergence_json(self, language, rules=list(rules), defects=list(defects))
        return verify_json(self, language, first_divergence=divergence, read_as=list(read_as))


class Effect(NamedTuple):
    """A field that differs, and the first quantity that it changes alone."""

    field: str
    a: Value
    b: Value
    stage: str | None = None
    """None if nothing that ran shows it."""
    row: Row | None = None


class Seed(NamedTuple):
    """True if both models were the same with one seed."""

    seed: int
    agrees: bool


class StandIn(NamedTuple):
    """A stand-in for something that this machine does not have."""

    side: str
    name: str
    description: str


class RecordedSide(NamedTuple):
    """The conditions in which one side of two records was run."""

    side: str
    device: str
    machine: Mapping[str, str]
    noise: float | None
    """The largest relative difference between two runs of this side; None if it was run once."""
    settings: Mapping[str, str]
    """Variables of the environment that decide if a run repeats bit for bit."""
    weights: str
    """A digest of the file that weights were taken from; empty if the seed drew them."""


class FrameworkRun(NamedTuple):
    """A side's installation and graph, beside the version that its file asks for."""

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
        """Recipe fields that cause the failure, if known."""
        known = explain_failure(self.failure)
        return () if known is None else known.fields

    def reason(self, language: str) -> str:
        """Reason of the failure; a framework's own message is not translated."""
        return text_in(self.failure.reason, language)

    def explanation(self, language: str) -> str | None:
        """Meaning of the failure or its remedy; None if unknown."""
        known = explain_failure(self.failure)
        return text_in(self.failure.remedy if known is None else known.words(), language) or None


class KnownFailure(NamedTuple):
    """A place and a word of the framework's own error, and what to do."""

    where: str
    says: str
    fields: tuple[str, ...]
    words: Callable[[], Words]


_CHECKED = "transformer_config.py:__post_init__"
"""Where both frameworks check the values of a configuration, each check in words of its own."""


def explain_failure(failure: WorkerFailure) -> KnownFailure | None:
    """The known failure that this one is; None where it is not known."""
    for where, says, fields, words in KNOWN_FAILURES:
        if where in failure.where and says in failure.reason:
            return KnownFailure(where, says, fields, getattr(say, words))
    _, given, named = failure.reason.partition("--spec ")
    for layers, words in SPECIFICATIONS.items():
        if given and layers in named:
            return KnownFailure("", layers, ("model.spec",), getattr(say, words))
    kind, _, words = failure.reason.partition(": ")
    if kind == "ValueError" and _CHECKED in failure.where:
        return KnownFailure(_CHECKED, words, (), lambda: say.values_refused(where=_CHECKED, words=words))
    return None


def is_accepted(field: str, accepted: Collection[str]) -> bool:
    """True if a field, a code or a flag is accepted; `my_scale` accepts `--my-scale`, as `--accept-loss` does."""
    return field in accepted or (field.startswith("--") and field[2:].replace("-", "_") in accepted)
