"""Verifies a pair: builds both real models from two files' effective values and says whether they are the same.

`verify` takes two read files and answers with a `Verification`, whose `to_json` is the contract's. Frameworks run in
worker processes, which `Workers` keeps so that many pairs share one import.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..mapper.modules import fields_of
from ..mapper.recipe.reading import recipe_of
from ..mapper.recipe.vocabulary import COMPUTED, vocabulary
from ..mappings.tables import field_named
from ..schemas.fast_records import NamedTuple
from ..schemas.message import verbatim
from .constants_compiled import DECIDED_BY
from .installations import (
    NEEDS,
    PACKAGES,
    MissingFrameworkError,
    choose_installation,
    missing_modules,
    probe_interpreter,
)
from .megatron import from_launch
from .messages_compiled import say
from .mindformers.from_yaml import DYNAMIC
from .pair import SIDES, Options, Pair, assemble_pair, runs_native_dtypes, side_labels
from .plan import samples
from .plan.dimensions import changed_fields, companion_fields, make_equal, switch_off
from .verdict import comparison, coverage, native_dtypes
from .verdict.comparison import DifferingSetting, NotCompared, Suspect, Values
from .verification import Effect, Verification
from .worker.processes import WorkerAnswer, WorkerFailure, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Config
    from ..schemas.message import Words
    from .installations import Installation, MissingVersion
    from .verdict.comparison import Comparison
    from .verdict.coverage import Findings
    from .verification import Verdict
    from .worker.blueprint import Job
    from .worker.processes import Worker

    Progress = Callable[[Words], None]

OTHER_SEEDS = (7001, 7002)
"""Seeds that decide if two experts of almost the same score are all that a disagreement comes from."""
_MOST_KNOWN = 6
"""Answers that are kept, the first ones: each holds a model's weights and gradients several times."""
_ROUNDING = comparison.Divergence("rounding", "rounding")
_SKIPS: FieldName = "init.skip"
_WITHOUT_ROUTES = frozenset((
    "structure", "initialisation", "clipping", "optimizer", "rates", "scales", "samples",
))  # fmt: skip
"""Stages whose disagreement no choice of experts explains."""


def verify(
    a: Config,
    b: Config,
    findings: Findings,
    options: Options | None = None,
    *,
    workers: Workers | None = None,
    progress: Progress = lambda _line: None,
) -> Verification:
    """Build both models small, run them on the same weights and tokens, and compare.

    The verdict is of the pair: the linter's `findings` about it name the differences that no small model shows.
    """
    chosen = options or Options()
    if (a.framework, b.framework) == ("mindformers", "megatron"):
        a, b, chosen = b, a, chosen.in_other_order()
    labels = side_labels(a.framework, b.framework)
    obstacles = {
        label: WorkerFailure(why, "error")
        for label, config in zip(labels, (a, b), strict=True)
        if (why := SIDES[config.framework].build_obstacle(config))
    }
    if obstacles:
        return _unbuildable(a, b, chosen, obstacles)
    found = tuple(find_installation(*one, chosen) for one in zip((a, b), chosen.each_source, strict=True))
    _require_modules(a, b, chosen, tuple(place for place, _why in found))
    absent = {
        label: WorkerFailure(why.reason, "version", remedy=why.remedy or "")
        for label, (_place, why) in zip(labels, found, strict=True)
        if why is not None
    }
    if absent:
        return _unbuildable(a, b, chosen, absent)
    places = tuple(place for place, _why in found if place is not None)
    pair = assemble_pair(a, b, chosen)._replace(places=places)
    unkept = _unkept_failures(pair)
    if unkept:
        return _unbuildable(a, b, chosen, unkept)
    if workers is None:
        with Workers(chosen.limits) as started:
            return _verify_pair(pair, findings, _Session(chosen, started, progress))
    return _verify_pair(pair, findings, _Session(chosen, workers, progress))


def find_installation(
    config: Config, own: str | None, options: Options
) -> tuple[Installation | None, MissingVersion | None]:
    """Installation with which a file's side is run, or the reason for none."""
    path = options.pythons.get(config.framework)
    return choose_installation(
        config.basis,
        source=own or options.sources.get(config.framework),
        store=options.store,
        closest=options.closest,
        dialect=DYNAMIC if config.dialect == DYNAMIC else None,
        python=None if path is None else probe_interpreter(path, NEEDS[config.framework]),
    )


def _require_modules(a: Config, b: Config, options: Options, places: Sequence[Installation | None]) -> None:
    """MissingFrameworkError if a module is neither installed nor in a folder of its own."""
    absent: dict[str | None, dict[str, None]] = {}
    for config, place, source in zip((a, b), places, options.each_source, strict=True):
        side = config.framework
        python = options.pythons.get(side)
        for name in missing_modules(side, python):
            own = name in PACKAGES.values()
            if not own or (place is None and not (source or options.sources.get(side))):
                absent.setdefault(python, {})[name] = None
    for python, modules in absent.items():
        raise MissingFrameworkError(tuple(modules), python)


def _unbuildable(a: Config, b: Config, options: Options, obstacles: Mapping[str, WorkerFailure]) -> Verification:
    """Verification without a run: a file does not determine its model, or its version is not installed."""
    return Verification(
        verdict="not-verifiable",
        sides=(a.framework, b.framework),
        files=(a.file, b.file),
        tolerance=options.tolerance,
        stage=options.stage,
        not_compared=tuple(coverage.fields_not_compared(a, b)),
        failures=obstacles,
    )


def _unkept_failures(pair: Pair) -> dict[str, WorkerFailure]:
    """Failure for each side whose small file lost a setting, so that its model would be another one."""
    each = zip(pair.labels, pair.configs, pair.files, strict=False)
    lost = {label: changed_fields(config, small.config) for label, config, small in each}
    return {
        label: WorkerFailure(say.small_file_loses(fields=", ".join(fields)), "error")
        for label, fields in lost.items()
        if fields
    }


class SeedResults(NamedTuple):
    """The comparison of each seed, up to the first that disagrees or cannot be run."""

    compared: tuple[Comparison, ...]
    answers: Sequence[WorkerAnswer]
    failures: Mapping[str, WorkerFailure]
    divergence: comparison.Divergence | None = None
    near_ties: tuple[int, ...] = ()

    @property
    def optional_stages(self) -> frozenset[str]:
        """The stages that not every pair has and that were run."""
        return frozenset[str]().union(*(one.optional_stages() for one in self.compared))

    @property
    def verdict(self) -> Verdict:
        """The verdict on the models in float32."""
        if self.failures or not self.compared:
            return "not-verifiable"
        return "mismatch" if any(one.disagreements() for one in self.compared) else "match"


class _Session:
    """What all runs of one verification share: the options, the processes, and the answers that are known already."""

    def __init__(self, options: Options, workers: Workers, progress: Progress) -> None:
        self.options, self.workers, self.progress = options, workers, progress
        self.known: dict[str, WorkerAnswer] = {}
        """By side and job: a setting that is made equal changes one side, and the other's answer stands."""

    def run_of(self, pair: Pair) -> _Run:
        """Run of a pair in processes that stay alive for later pairs."""
        copies = (0, 1) if pair.sides[0] == pair.sides[1] else (0, 0)
        each = zip(pair.worker_kinds(), copies, pair.process_places(), strict=True)
        processes = [self.workers.worker(kind, copy, place) for kind, copy, place in each]
        return _Run(pair, self.options, processes, self.progress, self.known)


class _Run(NamedTuple):
    """A pair and the processes that run it."""

    pair: Pair
    options: Options
    processes: Sequence[Worker]
    progress: Progress
    known: dict[str, WorkerAnswer]

    def answers(self, jobs: Sequence[Job]) -> tuple[list[WorkerAnswer], dict[str, WorkerFailure]]:
        """Both sides' answers, or the failure of each side that has none."""
        keys = self._keys_of(jobs)
        unknown = [at for at, key in enumerate(keys) if key not in self.known]
        for at in unknown:
            self.processes[at].ask(jobs[at])
        each = [self._answer(at) if at in unknown else self.known[key] for at, key in enumerate(keys)]
        if self.options.explains:
            self._remember(keys, jobs, each)
        failures = {
            side: one for side, one in zip(self.pair.labels, each, strict=True) if isinstance(one, WorkerFailure)
        }
        return [one for one in each if isinstance(one, WorkerAnswer)], failures

    def _keys_of(self, jobs: Sequence[Job]) -> list[str]:
        """The key of each side's job among the known answers."""
        each = zip(self.pair.labels, jobs, strict=True)
        return [f"{label} {json.dumps({**job.to_json(), 'name': ''}, sort_keys=True)}" for label, job in each]

    def _answer(self, at: int) -> WorkerAnswer | WorkerFailure:
        """The answer of one side's process, with its stages as progress."""
        side = verbatim(self.pair.labels[at])
        return self.processes[at].answer(lambda stage: self.progress(say.side_at(side=side, stage=stage_words(stage))))

    def _remember(self, keys: Sequence[str], jobs: Sequence[Job], each: Sequence[WorkerAnswer | WorkerFailure]) -> None:
        """Store answers for later questions, up to a limit; traces are not stored."""
        for key, job, one in zip(keys, jobs, each, strict=True):
            if isinstance(one, WorkerAnswer) and not job.trace and len(self.known) < _MOST_KNOWN:
                self.known[key] = one

    def jobs(self, seed: int) -> list[Job]:
        """Both sides' jobs with one seed."""
        return [self.pair.job(blueprint, self.options, seed) for blueprint in self.pair.blueprints]

    def seeds(self, *, locates: bool = True) -> SeedResults:
        """Results of every seed, with the module at which the models diverge if `locates`."""
        compared: list[Comparison] = []
        near_ties: list[int] = []
        answers: list[WorkerAnswer] = []
        for seed in range(self.options.seeds):
            jobs = self.jobs(seed)
            answers, failures = self.answers(jobs)
            if failures:
                return SeedResults(tuple(compared), answers, failures, None, tuple(near_ties))
            rows = self.compare(answers)
            if rows.disagreements() and self.pair.routes and self.is_near_tie(rows, seed):
                near_ties.append(seed)
                answers, failures = self.answers([job._replace(seed=job.seed + OTHER_SEEDS[0]) for job in jobs])
                if failures:
                    return SeedResults(tuple(compared), answers, failures, None, tuple(near_ties))
                compared.append(self.compare(answers))
                continue
            compared.append(rows)
            if rows.disagreements():
                if not locates:
                    return SeedResults(tuple(compared), answers, {}, None, tuple(near_ties))
                self.progress(say.looking_for_the_module())
                place, outputs = self.locate(jobs, rows)
                compared[-1] = rows._replace(activations=outputs)
                return SeedResults(tuple(compared), answers, {}, place, tuple(near_ties))
        return SeedResults(tuple(compared), answers, {}, None, tuple(near_ties))

    def compare(self, answers: Sequence[WorkerAnswer]) -> Comparison:
        """Both answers side by side, as far as the stage asks for."""
        pair, stage = self.pair, self.options.stage
        a, b = answers
        found = comparison.compare_answers(
            a, b, tolerance=self.options.tolerance, known_ratio=pair.known_ratio, loaded=pair.loads_weights
        )
        if pair.rates is not None:
            found = found._replace(rates=comparison.compare_rates(a, b, pair.rates))
        plans = pair.blueprints[0].samples, pair.blueprints[1].samples
        if plans[0] is not None and plans[1] is not None:
            found = found._replace(samples=comparison.compare_samples(a, b, (plans[0], plans[1])))
        if stage == "step1":
            return found._replace(
                gradients=(), elements=(), norms=(), training=(), clipping=(), optimizer=(), expert_bias=()
            )
        if stage == "local-norm":
            return found._replace(clipping=(), optimizer=(), expert_bias=(), initialisation=())
        return found

    def is_near_tie(self, compared: Comparison, seed: int) -> bool:
        """True if two experts of almost the same score are all that a disagreement comes from.

        Which of them is chosen is decided by rounding, which no two programs share; a difference between the models
        shows with any other weights and tokens too, so those are tried.
        """
        if not _WITHOUT_ROUTES.isdisjoint(compared.disagreements()):
            return False
        for other in OTHER_SEEDS:
            self.progress(say.trying_other_weights())
            answers, failures = self.answers(self.jobs(seed + other))
            if failures or self.compare(answers).disagreements():
                return False
        return True

    def locate(
        self, jobs: Sequence[Job], compared: Comparison
    ) -> tuple[comparison.Divergence | None, tuple[comparison.Row, ...]]:
        """The module at which two models part, and the outputs of all modules if a trace had to tell."""
        known = comparison.locate_without_trace(compared)
        if known is not None:
            return known, ()
        pair, wrong = self.pair, compared.disagreements()
        same = not any(stage in wrong for stage in ("gradients", "logits", "parts", "elements"))
        dropping = same and "dropout" in wrong
        only_padding = same and "padding" in wrong and not dropping
        inputs = (pair.padded,) if only_padding and pair.padded is not None else jobs[0].inputs
        answers, failures = self.answers([job._replace(trace=True, drops=dropping, inputs=inputs) for job in jobs])
        if failures:
            return None, ()
        place = comparison.locate_in_trace(
            answers[0],
            answers[1],
            compared,
            lambda module: bool(coverage.differing_settings(*pair.configs, fields_of(module))),
        )
        return place, comparison.output_rows(answers[0].arrays, answers[1].arrays)

    def native_dtypes(self, results: SeedResults) -> native_dtypes.AsWritten | None:
        """The first pass in both files' own types, of models that are the same in float32."""
        pair = self.pair
        if results.verdict != "match" or not runs_native_dtypes(*pair.configs, self.options):
            return None
        one, other = self.jobs(0)
        return native_dtypes.run_native_dtypes(
            pair.configs, (one, other), self.processes, self.progress, routes=pair.routes
        )

    def cost(self, answers: Sequence[WorkerAnswer]) -> dict[str, dict[str, object]]:
        """The time and memory of each side."""
        return {
            side: {
                "import": process.start_cost,
                "seconds": answer.values.get("seconds"),
                "cpu": answer.values.get("cpu"),
                "peak_megabytes": round(process.peak_megabytes),
            }
            for side, process, answer in zip(self.pair.labels, self.processes, answers, strict=False)
        }


def run_pair(pair: Pair, findings: Findings, options: Options, workers: Workers, progress: Progress) -> Verification:
    """The comparison of a pair whose jobs these workers answer."""
    return _run(pair, findings, _Session(options, workers, progress)).list_suspects_once()


def _verify_pair(pair: Pair, findings: Findings, session: _Session) -> Verification:
    """The verdict of a pair, with the fields that were shown to cause it and the verdict of the rest."""
    session.progress(say.starting_frameworks(frameworks=", ".join(dict.fromkeys(pair.sides))))
    found = _run(pair, findings, session)
    options = session.options
    if found.verdict not in ("mismatch", "partial") or not options.explains:
        return found.list_suspects_once()
    if _differs_by_type(found.typed):
        return found.list_suspects_once()
    return _Explanation(pair, findings, session, found).answer().list_suspects_once()


def _run(pair: Pair, findings: Findings, session: _Session) -> Verification:
    """Run all seeds of a pair and assemble the verification: verdict, divergence, failures and uncovered fields."""
    options, run = session.options, session.run_of(pair)
    results = run.seeds()
    typed = run.native_dtypes(results)
    undecided = _undecided_failures(pair, results)
    if undecided:
        return _unbuildable(*pair.configs, options, undecided)
    blame = _blame(pair, results, typed)
    asked = results.optional_stages | ({coverage.COMPILED} if options.graph else set[str]())
    parsed = [answer.values.get("parsed") for answer in results.answers]
    unparsed = [entry for one in parsed for entry in from_launch.unparsed_launch(one)]
    unrun = samples.explain_samples(coverage.fields_not_compared(*pair.configs, asked), _undrawn_samples(pair, results))
    found = Verification(
        verdict="mismatch" if _differs_by_type(typed) else results.verdict,
        sides=pair.sides,
        files=(pair.configs[0].file, pair.configs[1].file),
        shrunk=pair.shrunk,
        inputs=pair.inputs + (() if pair.padded is None else (pair.padded,)),
        tolerance=options.tolerance,
        stage=options.stage,
        compared=results.compared,
        seeds=tuple(range(options.seeds)),
        stand_ins={
            side: {**one.values["stand_ins"], **({} if typed is None else typed.stand_ins.get(side, {}))}
            for side, one in zip(pair.labels, results.answers, strict=False)
        },
        not_compared=(*unparsed, *native_dtypes.without_types(unrun, typed)),
        divergence=blame.divergence,
        divergence_fields=blame.fields,
        differing=blame.proved,
        suspected=blame.suspected,
        failures=results.failures,
        versions=_versions_of(pair, results.answers),
        cost=run.cost(results.answers),
        near_ties=results.near_ties,
        ran=pair.framework_runs(results.answers),
        typed=typed,
        small=pair.files,
        arrays_of_sides=tuple(one.arrays for one in results.answers),
    )
    return found.as_partial(_list_unproved(pair, findings, options, results, found), options.accepted)


def _list_unproved(
    pair: Pair, findings: Findings, options: Options, results: SeedResults, found: Verification
) -> list[NotCompared]:
    """Known differences that stop agreeing models from proving that the full runs agree."""
    differing = [
        *_other_versions(pair),
        *_differing_readings(pair, results),
        *coverage.unread_arguments(pair.configs),
        *coverage.unchecked_fork_flags(pair.configs),
        *native_dtypes.undecided_types(found.typed),
    ]
    if found.verdict == "not-verifiable":
        return differing
    tried, matched = found.native_dtype_fields(), found.verdict == "match"
    known = coverage.known_differences(
        pair.configs, findings, options.stage, asked=found.worst.optional_stages(), matched=matched
    )
    return differing + [entry for entry in known if entry.field not in tried]


_MOST_SUSPECTS = 6
"""Suspected fields that are made equal one by one."""


class _Explanation:
    """Further runs of a pair, some fields made equal, which show what each of them does."""

    def __init__(self, pair: Pair, findings: Findings, session: _Session, found: Verification) -> None:
        self.pair, self.findings, self.session, self.found = pair, findings, session, found
        self._results: dict[frozenset[str], SeedResults] = {}
        self._pairs: dict[tuple[str, ...], Pair | None] = {}
        self._ways: dict[tuple[str, ...], list[tuple[Config, Config]]] = {}
        self._lost = coverage.conversion_losses(*pair.configs)

    def answer(self) -> Verification:
        """The verification with the fields that cause it, each one's effect, and the verdict of the rest."""
        aside = self._list_named()
        causes: list[str] = []
        if self.found.verdict == "mismatch" and (not aside or self._verdict(aside) == "mismatch"):
            causes = self._causes(aside, self.found.divergence.direction if self.found.divergence else "update")
            if causes and self._verdict((*aside, *causes)) == "mismatch":
                # The first pass differed: what differs in the steps behind it shows once the passes agree.
                causes += self._causes((*aside, *causes), "update")
        # Beside the causes, what conversion loses and no small model shows would leave the rest a partial match.
        unrun = self._list_equalizable(self._list_unrun_losses([*aside, *causes]), [*aside, *causes]) if causes else []
        fields = [*aside, *causes, *unrun]
        found = self._with_effects(fields) if fields else self.found
        if found.verdict != "mismatch":
            return found
        is_explained = found.rest is not None and found.rest != "mismatch"
        return found._replace(suspected=() if is_explained else tuple(self._list_suspected(fields)))

    def _with_effects(self, fields: Sequence[str]) -> Verification:
        """The verification with the effect of each of these fields and the verdict of the rest."""
        effects = tuple(self._effect(name, fields) for name in fields)
        differing = [DifferingSetting(one.field, one.a, one.b) for one in effects if one.stage is not None]
        shown = {one.field for one in differing}
        rest, why = self._rest(fields)
        told = tuple(entry for entry in (*self.found.not_compared, *why) if entry.field not in shown)
        found = self.found._replace(effects=effects, rest=rest, not_compared=told)
        if found.verdict != "mismatch":
            return found
        where = (field for field in self.found.divergence_fields if field not in fields)
        ahead = [one.field for one in differing if one.field in vocabulary()]
        return found._replace(differing=tuple(differing), divergence_fields=(*ahead, *where))

    def _list_suspected(self, fields: Sequence[str]) -> Iterator[Suspect]:
        """The suspects beside these fields that no run clears, each with the reason."""
        tried = 0
        for one in self.found.suspected:
            if one.field in fields:
                continue
            if self._pair_with((*fields, one.field)) is None:
                yield one._replace(reason=say.suspect_stays_unequal())
            elif tried == _MOST_SUSPECTS:
                yield one._replace(reason=say.suspect_beyond_limit(most=_MOST_SUSPECTS))
            else:
                tried += 1
                parting = self._parting((*fields, one.field))
                if parting is None:
                    yield one._replace(reason=say.suspect_not_run())
                elif parting != self._parting(fields):
                    yield one._replace(reason=say.suspect_in_part())

    def _list_named(self) -> list[str]:
        """Fields that the user names; for a partial match, also those that conversion loses."""
        options, configs = self.session.options, self.pair.configs
        named = [name for name in options.aside if coverage.differs(name, *configs)]
        if self.found.verdict == "partial":
            named += self._list_unrun_losses()
        return self._list_equalizable(named, ())

    def _list_unrun_losses(self, equal: Sequence[str] = ()) -> list[str]:
        """Fields and keys that conversion loses and that no model was asked about, once these fields are equal.

        What is read from the key of a cause is equal with it: beside it, the cause would have no effect of its own.
        """
        unrun = {entry.field for entry in self.found.not_compared if entry.differs}
        lost = coverage.conversion_losses(*(self._pair_with(equal) or self.pair).configs)
        return [name for name in lost.differing if not unrun.isdisjoint(self._words_of((name,)))]

    def _list_equalizable(self, names: Iterable[str], others: Sequence[str]) -> list[str]:
        """Those of these fields that can be made equal beside the others and one another."""
        found: list[str] = []
        wanted = [name for name in names if name not in others]
        for name in (*wanted, *wanted):  # some can be equal only beside one that comes later
            if name not in found and self._pair_with((*others, *found, name)) is not None:
                found.append(name)
        return found

    def _causes(self, aside: Sequence[str], direction: str) -> list[str]:
        """The suspected fields without which differing quantities agree: one if it is enough, or all that take part."""
        suspects = self._suspects(aside, direction)
        if suspects and self._verdict((*aside, suspects[0])) == "match":
            return suspects[:1]
        # What remains has causes of its own: a field that takes part adds to it. Quantities of parameters that only one
        # model has are first compared once both have them.
        rest, before = self._parting((*aside, *suspects)), self._comparison(aside)
        if rest is None or before is None:
            return []
        parted = self._parting(aside) or frozenset()
        if parted <= rest or not rest & before.compared_names <= parted:
            return []
        without = {name: self._parting(self._names_but(name, (*aside, *suspects))) for name in suspects}
        causes = [name for name, parting in without.items() if parting is not None and not parting <= rest]
        if causes and self._parting((*aside, *causes)) is None:
            # A framework refuses the causes alone: the fields without which nothing ran take part, too.
            return [name for name, parting in without.items() if name in causes or parting is None]
        return causes

    def _suspects(self, aside: Sequence[str], direction: str) -> list[str]:
        """The fields that may cause the first difference and can be made equal, the likeliest first."""
        configs, worst = self.pair.configs, self._comparison(aside) or self.found.worst
        more = coverage.suspects(*configs, direction, worst.disagreements())
        behind = [one.field for one in self.found.suspected]
        losses, equal = self._lost
        first = [name for name in (*equal, *losses) if name in behind or name in self.found.divergence_fields]
        ahead = [*sorted((one.field for one in more), key=lambda name: name not in losses), *equal]
        names = list(dict.fromkeys((*first, *behind, *ahead)))
        # The other computed quantities follow from these.
        settings = [name for name in names if not name.startswith(COMPUTED) or name in DECIDED_BY]
        own = [name for at, name in enumerate(settings) if not set(companion_fields(name)).intersection(settings[:at])]
        return self._list_equalizable(own, aside)[:_MOST_SUSPECTS]

    def _comparison(self, fields: Sequence[str]) -> Comparison | None:
        """The comparison that disagrees most, or the last one, once these fields are equal; None if there is none."""
        worst = self.found.worst if not fields else None
        if worst is None:
            results = self._run_with(fields)
            worst = results.compared[-1] if results is not None and results.compared else None
        return worst

    def _parting(self, fields: Sequence[str]) -> frozenset[tuple[str, str]] | None:
        """Quantities that differ once these fields are equal; None if nothing was compared."""
        worst = self._comparison(fields)
        if worst is None:
            return None
        return frozenset((stage, name) for stage, names in worst.disagreeing_names.items() for name in names)

    def _effect(self, name: str, fields: Sequence[str]) -> Effect:
        """First quantity that differs if only this one of the fields differs."""
        a, b = coverage.values_of(name, *self.pair.configs)
        results = self._run_with(self._names_but(name, fields))
        rest = self._parting(fields) or frozenset()
        compared = results.compared if results is not None else ()
        shown = comparison.first_difference(compared[-1], rest, of_one_value=a == b) if compared else None
        if shown is None:
            return Effect(name, a, b)
        return Effect(name, a, b, comparison.TABLES.get(shown[0], shown[0]), shown[1])

    def _rest(self, fields: Sequence[str]) -> tuple[Verdict, list[NotCompared]]:
        """Verdict of the pair once these fields are equal, and entries of its list that the pair as it is has not."""
        pair = self._pair_with(fields)
        if pair is None:
            return "not-verifiable", []
        open_fields = coverage.undecided_fields(*self.pair.configs)
        aside = self._words_of(fields)
        kept = [
            one
            for one in self.found.not_compared
            if one.differs and one.field not in aside and (one.field not in vocabulary() or one.field in open_fields)
        ]
        found = _run(pair, self.findings.leave_out(aside), self.session)
        listed = {*fields, *(one.field for one in self.found.not_compared)}
        why = [one for one in found.not_compared if one.differs and one.field not in listed]
        return found.as_partial(kept, self.session.options.accepted).verdict, why

    def _words_of(self, fields: Sequence[str]) -> set[str]:
        """These fields and keys; of what a launch writes for them, the flags and the words after them."""
        given = [
            config.settings.get(key)
            for config in self.pair.configs
            for name in fields
            for key in (name, *coverage.keys_of(name, config))
        ]
        flags = [(one.flag, *(one.raw or ())) for one in given if one is not None and one.flag is not None]
        return {*fields, *(word for words in flags for word in words)}

    @staticmethod
    def _names_but(name: str, fields: Sequence[str]) -> tuple[str, ...]:
        """The fields without one of them."""
        return tuple(one for one in fields if one != name)

    def _verdict(self, fields: Sequence[str]) -> Verdict:
        """Verdict of a run with these fields equal."""
        results = self._run_with(fields)
        return "not-verifiable" if results is None else results.verdict

    def _run_with(self, fields: Sequence[str]) -> SeedResults | None:
        """The comparison with these fields equal; None if they cannot be made so together."""
        key = frozenset(fields)
        if key not in self._results:
            pair = self._pair_with(fields)
            if pair is None:
                return None
            self.session.progress(say.making_equal(fields=", ".join(fields)))
            self._results[key] = self.session.run_of(pair).seeds(locates=False)
            if self._results[key].failures:
                self._run_otherwise(tuple(fields), pair)
        return self._results[key]

    def _run_otherwise(self, fields: tuple[str, ...], refused: Pair) -> None:
        """Run the other ways of making these fields equal until one runs: a framework may refuse one side's values."""
        texts = [[small.text for small in refused.files]]
        for configs in self._ways[fields][1:]:
            pair = self._assemble(configs)
            if [small.text for small in pair.files] in texts:
                continue
            texts.append([small.text for small in pair.files])
            results = self.session.run_of(pair).seeds(locates=False)
            if not results.failures:
                self._results[frozenset(fields)], self._pairs[fields] = results, pair
                return

    def _pair_with(self, fields: Sequence[str]) -> Pair | None:
        """The pair with these fields equal; None if that is not possible, or brings another difference along."""
        key = tuple(fields)
        if key not in self._pairs:
            self._ways[key] = ways = self._list_ways(key)
            self._pairs[key] = self._assemble(ways[0]) if ways else None
        return self._pairs[key]

    def _assemble(self, configs: tuple[Config, Config]) -> Pair:
        return assemble_pair(*configs, self.session.options)._replace(places=self.pair.places)

    def _list_ways(self, fields: Sequence[str]) -> list[tuple[Config, Config]]:
        """Both files with these fields equal, first in the way that leaves the fewest differences.

        Without a gate, Megatron-LM computes a GELU that a YAML cannot express; with the gate of the YAML, both compute
        the same. Fields of which the frameworks compute different things may need it with the values of one file only.
        """
        before = self._differing_names(*self.pair.configs)
        ways = [
            equal
            for keeps_first, names in ((True, fields), (False, fields), (False, fields[::-1]))
            if (equal := self._make_all_equal(names, before, keeps_first=keeps_first)) is not None
            and self._differing_names(*equal) <= before
        ]

        def remaining(equal: tuple[Config, Config]) -> tuple[int, int]:
            alike = coverage.conversion_losses(*equal).alike if self._lost.alike else ()
            return len(self._differing_names(*equal)), len(alike)

        return sorted(ways, key=remaining)

    def _make_all_equal(
        self, fields: Sequence[str], before: set[str], *, keeps_first: bool
    ) -> tuple[Config, Config] | None:
        """Both files with all these fields equal; None if one cannot be made equal."""
        configs = self.pair.configs
        for name in fields:
            if coverage.differs(name, *self.pair.configs):
                equal = make_equal(*configs, name, keeps_first=keeps_first)
            else:
                equal = switch_off(*configs, name)
            if equal is None:
                return None
            configs = equal
        # A value may bring a difference along that the files did not have: a GELU comes in two forms.
        for name in sorted(self._differing_names(*configs) - before):
            configs = make_equal(*configs, name) or configs
        return configs

    @staticmethod
    def _differing_names(a: Config, b: Config) -> set[str]:
        """Names of fields whose values differ between two files."""
        return {one.field for one in coverage.differing_settings(a, b)}


def _undrawn_samples(pair: Pair, results: SeedResults) -> Words | None:
    """Reason for no comparison of samples, unless the files themselves have none."""
    refused = (
        (side, one.values.get("samples_refused")) for side, one in zip(pair.labels, results.answers, strict=False)
    )
    each = (say.samples_refused(side=verbatim(side), reason=verbatim(why)) for side, why in refused if why)
    return pair.undrawn or next(each, None)


def _versions_of(pair: Pair, answers: Sequence[WorkerAnswer]) -> dict[str, str]:
    """The version of each package that ran; of one that ran in two, also that of the second side."""
    found: dict[str, str] = {}
    for label, one in zip(pair.labels, answers, strict=False):
        for name, value in one.values["versions"].items():
            found[name if found.get(name, value) == value else f"{name} ({label})"] = value
    return found


class _Blame(NamedTuple):
    """The divergence of two models, the settings that it depends on, and those of them that differ."""

    divergence: comparison.Divergence | None
    fields: tuple[str, ...]
    proved: tuple[DifferingSetting, ...] = ()
    suspected: tuple[Suspect, ...] = ()


def _undecided_failures(pair: Pair, results: SeedResults) -> dict[str, WorkerFailure]:
    """Failures in place of a mismatch, if only undecided settings could explain it."""
    where = () if results.divergence is None else fields_of(results.divergence.module)
    values = coverage.undecided_fields(*pair.configs)
    behind = [field for field in where if field in values]
    if results.divergence is None or not behind or coverage.differing_settings(*pair.configs, where):
        return {}
    written = {field: _undecided_setting(field, pair.configs) for field in behind}
    # A word without a variable is decided: it is a value of a fork, which no option makes Megatron-LM accept.
    foreign = {field: flag for field, flag in written.items() if flag and not set(flag) & set("$`")}
    named = ", ".join(f"{field} ({flag})" if flag else field for field, flag in (foreign or written).items())
    reason = say.parts_where_value_unsupported if foreign else say.parts_where_undecided
    why = reason(fields=named, module=results.divergence.module)
    undecided = {at for field in behind for at, value in enumerate(values[field]) if value is None}
    return {pair.labels[at]: WorkerFailure(why, "error") for at in sorted(undecided or {0})}


def _undecided_setting(field: str, configs: Sequence[Config]) -> str:
    """The flag and words that leave a field undecided; empty if the field has no flag of its own."""
    for config in configs:
        entry = recipe_of(config).fields.get(field_named(field))
        for key in () if entry is None else entry.keys:
            setting = config.settings.get(key)
            if setting is not None and not setting.decided and setting.flag and setting.raw:
                return f"{setting.flag} {' '.join(setting.raw)}"
    return ""


def _differs_by_type(typed: native_dtypes.AsWritten | None) -> bool:
    """True if the models are the same in float32 and not in the files' own types."""
    return typed is not None and not typed.agrees and not typed.failures


def _blame(pair: Pair, results: SeedResults, typed: native_dtypes.AsWritten | None) -> _Blame:
    """Place of the divergence and the differing settings that may cause it, likeliest first."""
    if typed is not None and _differs_by_type(typed):
        differing = native_dtypes.types_to_blame(typed, pair.configs)
        named = tuple(entry.field for entry in differing)
        if len(differing) == 1:  # with all types equal, in float32, the models agree
            return _Blame(_ROUNDING, named, tuple(differing))
        return _Blame(_ROUNDING, named, suspected=_suspects_of(differing, say.suspect_among_types()))
    place = results.divergence
    where = fields_of(place.module) if place is not None else ()
    own = coverage.differing_settings(*pair.configs, where)
    changed = own if place is None else _leads(pair, results, place, own)
    if place is not None and len({blueprint.rounded for blueprint in pair.blueprints}) > 1:
        # The weights of one side alone were put on a grid, beginning with the first that are used.
        changed = [*native_dtypes.differing_types(pair.configs), *changed]
        first = place.module == "embedding.word_embeddings" and place.direction == "forward"
        place = _ROUNDING if first else place
    ahead = [entry.field for entry in changed if entry.field in vocabulary()]
    fields = (*ahead, *(field for field in where if field not in ahead))
    return _Blame(place, fields, suspected=_suspects_of(changed, say.suspect_not_tried()))


def _leads(
    pair: Pair, results: SeedResults, place: comparison.Divergence, own: list[DifferingSetting]
) -> list[DifferingSetting]:
    """The settings that may cause a divergence: those of the module that differ, or all that differ."""
    worst = results.compared[-1]
    if place.direction == "initialisation" and worst.lacks_initial_values:
        return [entry for entry in own if entry.field == _SKIPS]  # no other setting leaves weights as the memory is
    return own or coverage.suspects(*pair.configs, place.direction, worst.disagreements())


def _suspects_of(settings: Iterable[DifferingSetting], reason: Words) -> tuple[Suspect, ...]:
    each: dict[str, Suspect] = {}
    for one in settings:
        each.setdefault(one.field, Suspect(*one, reason))
    return tuple(each.values())


def _other_versions(pair: Pair) -> list[NotCompared]:
    """Versions that ran instead of those that the files ask for."""
    return [
        NotCompared(
            f"{place.framework}.version",
            say.in_place_of(framework=place.framework, version=place.version, asked=config.framework_version),
            Values(config.framework_version, place.version),
        )
        for place, config in zip(pair.places, pair.configs, strict=True)
        if not place.serves(config.framework_version)
    ]


def _differing_readings(pair: Pair, results: SeedResults) -> list[NotCompared]:
    """Arguments that the parser that ran reads in another way than accmap; another version's is another parser."""
    return [
        entry
        for config, place, small, answer in zip(pair.configs, pair.places, pair.files, results.answers, strict=False)
        if place.serves(config.framework_version)
        for entry in from_launch.differing_readings(config, small.config, answer.values.get("parsed"))
    ]


def stage_words(name: str) -> Words:
    """Readable label of a stage that a worker reports."""
    known = {
        "imported": say.stage_imported(),
        "building": say.stage_building(),
        "gradients": say.stage_gradients(),
        "steps": say.stage_steps(),
        "learning rates": say.stage_learning_rates(),
        "dropout": say.stage_dropout(),
        "loss scale": say.stage_loss_scale(),
        "samples": say.stage_samples(),
        "padding token": say.stage_padding_token(),
        "optimizer probe": say.stage_optimizer_probe(),
        "tracing": say.stage_tracing(),
    }
    return known.get(name, verbatim(name))
