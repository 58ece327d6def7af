"""What the real models say of one row: a value carried over must match, one that only one side has must not."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from candidates import candidates
from minimal_pairs import AS_WRITTEN, CONTEXTS, LAYERS_OF, SEQUENCES, WRITTEN, Bench, NotWrittenError, Written
from recording import CLOSER, DEFECTS

from accmap.cli.commands.verify import findings_of
from accmap.mapper.computed.quantities import computed_quantities
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.recipe.vocabulary import COMPUTED, vocabulary
from accmap.mappings.tables import rows_of
from accmap.schemas.source import SourceText
from accmap.verifier.plan.dimensions import LAYERS, SEQUENCE
from accmap.verifier.verdict.coverage import Findings, undecided_fields
from accmap.verifier.verify import Options, verify

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from minimal_pairs import Versions
    from remembering import RememberingWorkers

    from accmap.mappings.names_compiled import FieldName
    from accmap.mappings.tables import Row
    from accmap.schemas.config import Config, Framework, Value
    from accmap.verifier.verification import Stage, Verification

ORIGINS: tuple[Framework, ...] = ("megatron", "mindformers")
_ORDER = ("nothing-to-set", "no-value", "unwritten", "not-run", "unseen", "untyped", "proved")
_LOSES = ("unsupported", "one-way")
_LATER = (
    "optimizer.",
    "gradient.",
    "schedule.",
    "init.",
    "moe.router.bias_update_rate",
    "tokenizer.",
    "data.",
    "batch.",
)
"""Fields that a first step does not show."""
_MOST_RUN = 4
"""How often the models are asked for one field, in one context after the other, with one side as the origin."""
_OF_A_STEP = (
    "model.", "attention.", "position.", "norm.", "activation.", "init.", "moe.", "mtp.", "optimizer.", "gradient.",
)  # fmt: skip
"""Fields that a step of a model is expected to show; of others one question is enough."""
_MOST_UNSEEN = 3
"""Values of a field that no model shows in one context, before the next context is tried."""
_MOST_LOST = 2
"""Values of which it is proved that they are lost, before no more are looked for that are carried over."""


class Tried(NamedTuple):
    """What came of one value in one context."""

    outcome: str
    """`proved`, `fails`, or why nothing is known: `defect`, `unseen`, `not-run`, `unwritten`, `nothing-to-set`."""
    field: str
    value: Any = None
    context: str = ""
    origin: str = ""
    status: str = ""
    agrees: float | None = None
    """The largest relative difference where both sides have the value."""
    parts: float | None = None
    """The largest one where one side has another."""
    carried: bool = True
    """Whether the other side can have it."""
    computed: tuple[str, ...] = ()
    """Computed quantities that the value changed alike on both sides."""
    said: str = ""
    rounds: float | None = None
    """Where it shows in the files' own types alone: by how many ulp a side's own pass moves, the lesser of both."""

    def to_json(self) -> dict[str, Any]:
        """The journal's entry."""
        return self._asdict()


def numeric_fields(row: Row) -> tuple[FieldName, ...]:
    """The fields of a row that change numbers."""
    known = vocabulary()
    return tuple(field for field in row.fields if (row.impact or known[field].impact) == "numerics")


def _shows(field: str) -> bool:
    """Whether a step of a model is expected to show the field."""
    return field.startswith(_OF_A_STEP)


def _defects(pair: tuple[Config, Config]) -> set[str]:
    found = findings_of(pair, [SourceText(config.file, "") for config in pair])
    return {one.kind.code for one in found if one.kind.code.startswith("DEF")}


class Judge:
    """Asks the models of one pair of versions."""

    def __init__(
        self,
        versions: Versions,
        sources: Mapping[str, str],
        workers: RememberingWorkers,
        hints: Mapping[str, Mapping[str, Any]],
        named: Collection[str] = (),
    ) -> None:
        self._hints = hints
        """What another pair of versions said of a field, which is tried first."""
        self._named = named
        """The first fields of rows that are asked whatever another pair said."""
        self.bench = Bench(versions)
        self._options = Options(sources=sources, explains=False)
        self._workers = workers
        self._known: dict[tuple[str, str, str, str, bool, bool], tuple[str, float | None, str]] = {}

    def row(self, row: Row) -> list[Tried]:
        """The best of what was tried, for every field of the row that changes numbers."""
        return [self._field(row, field) for field in numeric_fields(row)]

    def _field(self, row: Row, field: FieldName) -> Tried:
        hint = self._hints.get(field)
        if hint is not None and hint["outcome"] == "proved":
            tried = self._again(field, hint)
            if tried.outcome == "proved":
                return tried
        settable = any(self.bench.settable(row, origin) for origin in ORIGINS)
        if hint is not None and hint["outcome"] != "proved" and field in CLOSER and row.fields[0] not in self._named:
            return Tried("unseen" if settable else "nothing-to-set", field)  # it is the field, not the versions
        best, lost = Tried("no-value" if settable else "nothing-to-set", field), 0
        for tried in self._all(row, field):
            proved = tried.outcome == "proved" and (tried.carried or row.loss in _LOSES)
            if proved or tried.outcome in ("fails", "defect"):
                return tried
            if _ORDER.index(tried.outcome) > _ORDER.index(best.outcome):
                best = tried
            # That a value is lost is a proof, too, but one that is carried over is looked for first.
            lost += tried.outcome == "proved"
            if lost == _MOST_LOST:
                break
        return best

    def _all(self, row: Row, field: FieldName) -> Iterator[Tried]:
        once = not _shows(field) or self._hints.get(field, {}).get("outcome") in ("unseen", "not-run")
        most = 1 if once else _MOST_RUN
        for origin in ORIGINS:
            if not self.bench.settable(row, origin):
                continue
            asked = 0
            for context in self.bench.contexts(row, field):
                for tried in self._context(row, field, origin, context):
                    yield tried
                    asked += tried.outcome != "unwritten"
                if asked >= most:
                    break

    def _context(self, row: Row, field: FieldName, origin: Framework, context: str) -> Iterator[Tried]:
        try:
            base = self.bench.base(context, origin)
        except NotWrittenError as error:
            yield Tried("unwritten", field, context=context, origin=origin, said=str(error))
            return
        before, unseen = recipe_of(base.origin).value(field), 0
        values = [None] if field in WRITTEN else candidates(row, field, before, self.bench.versions.megatron)
        for value in values:
            tried = self._value(Tried("unwritten", field, value, context, origin), base)
            if tried is not None:
                yield tried
                unseen += tried.outcome in ("unseen", "untyped")
                if tried.outcome in ("proved", "fails") or unseen == (_MOST_UNSEEN if _shows(field) else 1):
                    return

    def _again(self, field: FieldName, hint: Mapping[str, Any]) -> Tried:
        """What proved the field elsewhere."""
        tried = Tried("unwritten", field, hint["value"], hint["context"], hint["origin"])
        try:
            return self._value(tried, self.bench.base(tried.context, hint["origin"])) or tried
        except NotWrittenError as error:
            return tried._replace(said=str(error))

    def _value(self, tried: Tried, base: Written) -> Tried | None:
        """One value; None where this side cannot say it."""
        origin: Any = tried.origin
        field: Any = tried.field
        refused = ""
        if field in WRITTEN:
            return self._changed_by(WRITTEN[field].get(self.bench.versions.side(origin), {}), tried, base)
        others: dict[FieldName, Value] = {other: None for row in rows_of(field) for other in row.fields}
        # The row's other fields as they are, or as they then follow; what the lens leaves out stays, or goes.
        for wanted, stays in (({}, True), ({}, False), (others, True), (others, False)):
            try:
                put = self.bench.put(origin, field, tried.value, recipe_of(base.origin), wanted, stays=stays)
                text = self.bench.text(origin, {**self.bench.settings(tried.context, origin), **put})
                changed = self.bench.convert(text, origin)
            except NotWrittenError as error:
                refused = str(error)[:300]
                continue
            if recipe_of(changed.origin).value(field) == tried.value:
                return self._asked(tried, base, changed)
        return tried._replace(said=refused) if refused else None

    def _changed_by(self, settings: Mapping[str, Value], tried: Tried, base: Written) -> Tried | None:
        """What other arguments or keys make of a field that none writes by itself."""
        origin: Any = tried.origin
        field: Any = tried.field
        if not settings:
            return None
        try:
            text = self.bench.text(origin, {**self.bench.settings(tried.context, origin), **settings})
            changed = self.bench.convert(text, origin)
        except NotWrittenError as error:
            return tried._replace(said=str(error)[:300])
        value = recipe_of(changed.origin).value(field)
        if value == recipe_of(base.origin).value(field):
            return None
        return self._asked(tried._replace(value=value), base, changed)

    def _asked(self, tried: Tried, base: Written, changed: Written) -> Tried:
        """Two pairs: the value on both sides (or, where it cannot be carried over, on neither), and on one."""
        field: Any = tried.field
        carried = recipe_of(changed.converted).value(field) == tried.value
        row = next((one for one in changed.translation.rows if one.field == field), None)
        tried = tried._replace(status="" if row is None else row.status, carried=carried)
        if not carried and tried.status in ("exact", "made-explicit"):
            return self._exact_in_effect(tried, base, changed)
        if carried and tried.status == "approximate" and _lost(changed) - _lost(base) - {field}:
            carried, tried = False, tried._replace(carried=False)  # lost, and another field of the same matter with it
        alike = changed if carried else base
        if carried and (also := _lost(changed) - _lost(base) - {field}):
            # The report says itself that something else is not the same, so nothing was promised.
            return tried._replace(said=f"with it the report also loses {', '.join(sorted(also))}")
        verdict, agrees, said = self._verdict(field, alike.pair)
        if verdict == "mismatch" and not _counts(field, said):
            verdict = "match"
        if verdict == "mismatch" and carried and tried.status in ("approximate", "dropped"):
            return self._written_and_lost(tried, base, changed, said)
        if verdict == "mismatch" and not carried:
            # The other side has not even the context: that the value changes this side's own model is all there is.
            own, parts, why = self._parted(field, (base.origin, changed.origin))
            return tried._replace(outcome="proved" if own == "mismatch" else "unseen", parts=parts, said=why)
        if verdict == "not-verifiable":
            return tried._replace(outcome="not-run", said=said)
        apart = Written(base.origin, changed.converted, base.translation) if carried else changed
        # Carried over, both models have been run to the end; lost, one step of the one that changes may be enough.
        other, parts, why = self._verdict(field, apart.pair) if carried else self._parted(field, apart.pair)
        tried = tried._replace(agrees=agrees, parts=parts)
        if verdict == "match" and is_drawing(said) and why == said:
            other = "match"  # the context's initial weights are drawn otherwise with either value
        if other == "not-verifiable":
            return tried._replace(outcome="not-run", said=why)
        if verdict == "mismatch" and other == "mismatch":
            # What differs whatever the value is the context's, not the row's.
            same = carried and self._verdict(field, base.pair)[0] == "match"
            return self._failed(tried, alike, said) if same else self._on_one_side(tried, base, changed, said)
        if verdict == "mismatch":
            return self._failed(tried, alike, said)
        if other != "mismatch":
            return self._rounded(tried, base, changed)
        return tried._replace(outcome="proved", said=why, computed=_computed(base, changed) if carried else ())

    def _written_and_lost(self, tried: Tried, base: Written, changed: Written, said: str) -> Tried:
        """Of a value that both files have, that the report calls a loss, and with which the models differ.

        Without it they must match. The side of which the report says that it drops the value must match without it on
        the other side, too.
        """
        field = tried.field
        verdict, agrees, why = self._verdict(field, base.pair)
        if verdict == "not-verifiable":
            return tried._replace(outcome="not-run", said=why)
        if verdict == "mismatch" and _counts(field, why):
            return self._on_one_side(tried, base, changed, said)
        if tried.status == "dropped":
            alone = Written(base.origin, changed.converted, base.translation)
            verdict, _, why = self._verdict(field, alone.pair)
            if verdict == "not-verifiable":
                return tried._replace(outcome="not-run", said=why)
            if verdict == "mismatch" and _counts(field, why):
                return self._failed(tried, changed, f"the report calls it dropped, and the other side reads it: {why}")
        _, parts, said = self._verdict(field, changed.pair)
        return tried._replace(outcome="proved", carried=False, agrees=agrees, parts=parts, said=said)

    def _on_one_side(self, tried: Tried, base: Written, changed: Written, said: str) -> Tried:
        """Of a context that the report itself loses: whether the value changes the model of the side that has it."""
        if not _lost(base) & {*CONTEXTS[tried.context]}:
            return tried._replace(outcome="not-run", said=said)
        own, parts, why = self._parted(tried.field, (base.origin, changed.origin))
        if own != "mismatch":
            return tried._replace(outcome="not-run", said=said)
        return tried._replace(outcome="proved", carried=False, agrees=None, parts=parts, said=why)

    def _rounded(self, tried: Tried, base: Written, changed: Written) -> Tried:
        """Of models alike in float32: whether the field moves what a side that has it computes in the files' types.

        Two programs round in different places, so that no number of one side can be held to the other's; a side's
        own pass, done twice, is the same to the last bit.
        """
        if tried.field not in AS_WRITTEN:
            return tried._replace(outcome="unseen")
        sides = [(base.origin, changed.origin), *([(base.converted, changed.converted)] if tried.carried else [])]
        if any(config.dialect == "dynamic" for pair in sides for config in pair):
            return tried._replace(outcome="untyped")  # verify runs the dynamic graph in float32 alone
        moved = [self._moved(tried.field, pair) for pair in sides]
        if not all(moved) or self._moved(tried.field, (base.origin, base.origin)):
            return tried._replace(outcome="unseen", said=f"moved by {moved} ulp")
        return tried._replace(outcome="proved", rounds=float(f"{min(moved):.1e}"))

    def _moved(self, field: str, pair: tuple[Config, Config]) -> float:
        """In ulp, how far the logits or a gradient are from each other in the types of two files of one framework."""
        options = self._options._replace(stage="local-norm", precision="as-written", sizes=_sizes_of(field))
        found = verify(*pair, Findings(), options, workers=self._workers)
        errors = () if found.typed is None or found.typed.failures else found.typed.errors
        return max((row.apart for row in errors), default=0.0)

    def _failed(self, tried: Tried, changed: Written, said: str) -> Tried:
        """A row that fails, or that meets a defect of a framework which is listed for it and which the linter names."""
        bench = self.bench.versions
        listed = {DEFECTS.get((f"{name} {bench.of(name)}", tried.field), "") for name in ORIGINS}
        codes = sorted(listed & _defects(changed.pair))
        outcome = "defect" if codes else "fails"
        return tried._replace(outcome=outcome, said=": ".join((*codes, said)))

    def _exact_in_effect(self, tried: Tried, base: Written, changed: Written) -> Tried:
        """What the report calls exact although another value is read back: the models say whether it may."""
        verdict, agrees, said = self._verdict(tried.field, changed.pair)
        if verdict == "match":
            # Another field of the other side may hold what it comes to.
            apart = Written(base.origin, changed.converted, base.translation)
            other, parts, why = self._verdict(tried.field, apart.pair)
            if other != "mismatch":
                return self._rounded(tried._replace(agrees=agrees, parts=parts), base, changed)
            return tried._replace(outcome="proved", agrees=agrees, parts=parts, said=why, carried=True)
        # What differs whatever the value is the context's, not the row's.
        whatever = verdict == "not-verifiable" or self._verdict(tried.field, base.pair)[0] == "mismatch"
        return tried._replace(
            outcome="not-run" if whatever else "fails",
            said=f"the report calls it exact, and another value is read back: {said}",
        )

    def _parted(self, field: str, pair: tuple[Config, Config]) -> tuple[str, float | None, str]:
        """As `_verdict`; where one step is enough to part the models no more are run."""
        if not field.startswith(_LATER) and field not in AS_WRITTEN:
            found = self._verdict(field, pair, "local-norm")
            if found[0] == "mismatch":
                return found
        return self._verdict(field, pair)

    def _verdict(self, field: str, pair: tuple[Config, Config], stage: Stage = "all") -> tuple[str, float | None, str]:
        sizes = _sizes_of(field)
        typed = field in AS_WRITTEN
        key = (_said(pair[0]), _said(pair[1]), stage, str(sizes), typed, field.startswith("init."))
        if key not in self._known:
            # Where models part is needed only to know whether it hangs on what a file leaves open.
            self._workers.traces = bool(undecided_fields(*pair))
            options = self._options._replace(stage=stage, sizes=sizes, precision="as-written" if typed else "float32")
            found = verify(*pair, Findings(), options, workers=self._workers)
            why = "; ".join(f"{side}: {one.reason}" for side, one in found.failures.items())
            verdict, apart = found.verdict, _disagreements(field, found)
            if verdict != "not-verifiable":
                verdict, why = ("mismatch" if apart else "match"), ", ".join(apart)
            self._known[key] = (verdict, _largest(found), why[:300])
        return self._known[key]


def _sizes_of(field: str) -> dict[str, int]:
    """Sizes at which a field shows, in place of the small models' own."""
    length = next((length for begin, length in SEQUENCES.items() if field.startswith(begin)), 0)
    layers = LAYERS_OF.get(field, 0)
    return {name: size for name, size in ((SEQUENCE, length), (LAYERS, layers)) if size}


def _lost(written: Written) -> set[str]:
    """What the report says is not, or may not be, the same."""
    return {
        row.field or ", ".join(row.source)
        for row in written.translation.rows
        if row.impact == "numerics" and row.status not in ("exact", "made-explicit")
    }


def _disagreements(field: str, found: Verification) -> list[str]:
    """The first row that does not agree of each stage; of initialisers known to differ, too, for fields of these."""
    apart = {stage: rows[0].name for stage, rows in found.worst.disagreements().items()}
    drawn = found.worst.initial_weights.different if field.startswith("init.") else ()
    apart = dict((*apart.items(), *(("initialisation", name) for name in drawn[:1])))
    return [f"{stage} {name}" for stage, name in apart.items()]


def _counts(field: str, said: str) -> bool:
    """True if a difference counts for the field; initial weights only count for fields that draw them."""
    return field.startswith("init.") or not is_drawing(said)


def is_drawing(said: str) -> bool:
    """True if the initial weights are all that differs: the same weights give the same numbers."""
    return said.startswith("initialisation ") and ", " not in said


def _said(config: Config) -> str:
    return repr([(one.key, one.value, one.decided) for one in config.settings.values()])


def _largest(found: Verification) -> float | None:
    """The largest relative difference of a loss, a gradient or a sample; None where the weights are others."""
    worst = found.worst
    if worst.structure:
        return None
    rows = (
        *worst.loss,
        *worst.parts,
        *worst.gradients,
        *worst.optimizer,
        *worst.clipping,
        *worst.padding,
        *worst.samples,
    )
    known = [row.relative for row in rows if row.relative is not None and math.isfinite(row.relative)]
    return float(f"{max(known):.1e}") if known else None


def _computed(base: Written, changed: Written) -> tuple[str, ...]:
    """The quantities that the value changes, to the same on both sides."""
    with contextlib.suppress(ValueError):
        before, ours, theirs = (computed_quantities(one) for one in (base.origin, changed.origin, changed.converted))
        return tuple(
            name
            for name in before
            if name.startswith(COMPUTED)
            and name in theirs
            and ours[name].decided
            and theirs[name].decided
            and before[name].value != ours[name].value == theirs[name].value
        )
    return ()
