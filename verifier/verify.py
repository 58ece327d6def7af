"""Verifies a pair: builds both real models from two files' effective values and says whether they are the same.

`verify` takes two read files and answers with a `Verification`, whose `to_json` is the contract's. Frameworks run in
worker processes, which `Workers` keeps so that many pairs share one import.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from ..mapper.modules import fields_of
from ..mapper.recipe.reading import recipe_of
from ..mapper.recipe.vocabulary import vocabulary
from ..mappings.tables import field_named
from ..schemas.fast_records import NamedTuple
from ..schemas.message import verbatim
from . import (
    comparison,
    coverage,
    dimensions,
    documents,
    forced_routing,
    installations,
    launches,
    localise,
    megatron_side,
    mindformers_side,
    native_dtypes,
    samples,
)
from .blueprint import Blueprint, InputPlan, Job
from .dropping import drops
from .initial_spreads import known_ratios
from .interpreters import interpreter
from .messages_compiled import say
from .needs import NEEDS, MissingFrameworkError, missing
from .not_compared import NotCompared, Values
from .processes import HERE, Limits, Place, Worker, WorkerAnswer, WorkerFailure
from .rates import rates_of
from .scales import WINDOW, scales_of
from .small_files import SmallFile, small_files
from .verification import Ran, Verification
from .workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..schemas.config import Config
    from ..schemas.message import Words
    from .comparison import Comparison
    from .not_compared import Differing
    from .rates import Rates
    from .verification import Graph, Stage, Verdict


_STEPS = {"step1": 1, "local-norm": 1, "step2": 2, "all": 4}
_TOKENS = 32
_MOST_SAMPLES = 2
_PROBE_RATE = 0.05
_OTHER_SEEDS = (7001, 7002)


class Options(NamedTuple):
    """What the command line may choose."""

    sizes: Mapping[str, int] = {}
    """Recipe field → size, in place of the shrinking rule's."""
    keep_sizes: bool = False
    stage: Stage = "all"
    seeds: int = 1
    against: Literal["", "torch"] = ""
    limits: Limits = Limits()
    tolerance: float = comparison.TOLERANCE
    sources: Mapping[str, str] = {}
    """Framework → the folder of a source tree or an unpacked wheel to run it from."""
    pythons: Mapping[str, str] = {}
    """Framework → the interpreter to run it with."""
    store: str | None = None
    """The folder that prepared frameworks stand in."""
    closest: bool = False
    """Run the nearest version where a file's own is not here."""
    precision: Literal["auto", "float32", "as-written"] = "float32"
    """Run the first pass in the files' own types, too; `auto`: where a type that it shows differs between them."""
    graph: bool = False
    """Compile MindSpore Transformers' static graph, and do not run it eagerly."""
    accepted: Sequence[str] = ()
    """Names whose difference, where it was not run, decides nothing."""


def verify(
    a: Config,
    b: Config,
    options: Options | None = None,
    *,
    workers: Workers | None = None,
    progress: Callable[[Words], None] = lambda _line: None,
    language: str = "en",
) -> Verification:
    """Build both models small, run them on the same weights and tokens, and compare."""
    chosen = options or Options()
    if (a.framework, b.framework) == ("mindformers", "megatron"):
        a, b = b, a
    obstacles = {
        config.framework: WorkerFailure(why.text(language), "error")
        for config in (a, b)
        if (why := _SIDES[config.framework].obstacle(config))
    }
    if obstacles:
        return _unbuildable(a, b, chosen, obstacles, language)
    found = tuple(_installation(config, chosen) for config in (a, b))
    _require(a, b, chosen, found)
    elsewhere = {
        config.framework: WorkerFailure(why.reason.text(language), "version", remedy=_remedy(why, language))
        for config, (_one, why) in zip((a, b), found, strict=True)
        if why is not None
    }
    if elsewhere:
        return _unbuildable(a, b, chosen, elsewhere, language)
    pair = _prepare(a, b, chosen)._replace(places=tuple(one for one, _why in found if one is not None))
    if workers is None:
        with Workers(chosen.limits) as started:
            return _run(pair, chosen, started, progress, language)
    return _run(pair, chosen, workers, progress, language)


def _installation(
    config: Config, options: Options
) -> tuple[installations.Installation | None, installations.NotHere | None]:
    """What a file's own side is run with."""
    source = options.sources.get(config.framework)
    dialect = mindformers_side.DYNAMIC if config.dialect == mindformers_side.DYNAMIC else None
    store, closest, path = options.store, options.closest, options.pythons.get(config.framework)
    python = None if path is None else interpreter(path, NEEDS[config.framework])
    return installations.chosen(
        config.basis, source=source, store=store, closest=closest, dialect=dialect, python=python
    )


def _require(
    a: Config,
    b: Config,
    options: Options,
    found: tuple[tuple[installations.Installation | None, installations.NotHere | None], ...],
) -> None:
    """MissingFrameworkError where a module is not installed and does not stand elsewhere."""
    sides = (a.framework, options.against or b.framework)
    absent: dict[str | None, dict[str, None]] = {}
    for side, (place, _why) in zip(sides, found, strict=True):
        python = options.pythons.get(side)
        for name in missing(side, python):
            own = name in installations.PACKAGES.values()
            if not own or (place is None and not options.sources.get(side)):
                absent.setdefault(python, {})[name] = None
    for python, modules in absent.items():
        raise MissingFrameworkError(tuple(modules), python)


def _remedy(why: installations.NotHere, language: str) -> str:
    return "" if why.remedy is None else why.remedy.text(language)


def _unbuildable(
    a: Config, b: Config, options: Options, obstacles: Mapping[str, WorkerFailure], language: str
) -> Verification:
    """The answer where a file does not say enough to build its model, or its version is not here."""
    return Verification(
        verdict="not-verifiable",
        sides=(a.framework, options.against or b.framework),
        files=(a.file, b.file),
        shrunk={},
        inputs=(),
        tolerance=options.tolerance,
        stage=options.stage,
        compared=(),
        seeds=(),
        stand_ins={},
        not_compared=tuple(coverage.uncompared(a, b, language)),
        divergence=None,
        divergence_fields=(),
        differing=(),
        failures=obstacles,
        versions={},
        cost={},
        language=language,
    )


class _Pair(NamedTuple):
    configs: tuple[Config, Config]
    sides: tuple[str, str]
    blueprints: tuple[Blueprint, Blueprint]
    shrunk: dict[str, list[Any]]
    inputs: tuple[InputPlan, ...]
    padded: InputPlan | None
    known_ratio: dict[str, float]
    probe_scale: float
    routes: bool
    """Tokens choose experts."""
    rates: Rates | None = None
    """What both schedulers are asked; None where a file leaves its curve open."""
    small: tuple[dimensions.Sizes, dimensions.Sizes] = ({}, {})
    """The sizes of both small models."""
    undrawn: Words | None = None
    """Why no samples are drawn."""
    places: tuple[installations.Installation, ...] = ()
    """What each file's own framework is run from."""
    pythons: Mapping[str, str] = {}
    """The interpreter of a framework, where it has one of its own."""
    compiled: bool = False
    """The static graph is compiled."""
    files: tuple[SmallFile, ...] = ()
    """What the small models are built from."""

    def found_at(self) -> list[Place]:
        """Where each process finds its framework."""
        folders = [one.folder if one.origin != "environment" else None for one in self.places]
        own = [side == config.framework for side, config in zip(self.sides, self.configs, strict=True)]
        pythons = [self.pythons.get(side) for side in self.sides]
        each = zip(folders, pythons, own, strict=True)
        return [Place(folder, python) if mine else HERE for folder, python, mine in each]

    def kinds(self) -> list[str]:
        """The worker of each side: a compiled graph and the dynamic one have workers of their own."""
        each = zip(self.sides, self.configs, strict=True)
        return [_WORKERS.get(self._graph(config), side) if side == config.framework else side for side, config in each]

    def _graph(self, config: Config) -> Graph | None:
        """Which graph a file's side runs; None for Megatron-LM, which has none."""
        if config.framework == "megatron":
            return None
        if config.dialect == mindformers_side.DYNAMIC:
            return "dynamic"
        return "static, compiled" if self.compiled else "static, eager"

    def ran(self, answers: Sequence[WorkerAnswer]) -> tuple[Ran, ...]:
        """What each side was run with, beside what its file asks for."""
        found: list[Ran] = []
        for at, (one, side, config) in enumerate(zip(self.places, self.sides, self.configs, strict=True)):
            if side == config.framework:
                exact = one.serves(config.framework_version)
                told = answers[at].values.get("parsed") if at < len(answers) else None
                python = self.pythons.get(side)
                graph, read = self._graph(config), (launches.parsed(told), launches.asked_of_its_own(told))
                found.append(Ran(one, config.framework_version, exact, graph, *read, python))
        return tuple(found)


_WORKERS: dict[Graph | None, str] = {"static, compiled": "mindformers-graph", "dynamic": "mindformers-dynamic"}
_SIDES = {"megatron": megatron_side, "mindformers": mindformers_side}


def _prepare(a: Config, b: Config, options: Options) -> _Pair:
    ours, theirs = _sizes_of(a, b)
    small_a, small_b = dimensions.shrink(ours, theirs, options.sizes, keep=options.keep_sizes)
    batch = _batch_size(a, b)
    length = _length(batch, options, (ours, theirs), (small_a, small_b))
    for small in (small_a, small_b):
        small[dimensions.SEQUENCE] = length
    files, (small_a, small_b) = small_files((a, b), (ours, theirs), (small_a, small_b))
    vocabulary = min(small_a[dimensions.VOCABULARY], small_b[dimensions.VOCABULARY])
    pad = _padding_token((a, b), vocabulary)
    masked = _masked((a, b), vocabulary, pad)
    plain = InputPlan(0, batch, length, vocabulary, avoid=masked)
    rates = None if options.against else rates_of(a, b)
    blueprints = _blueprints((a, b), (files[0].config, files[1].config), rates)
    if _in_own_types(a, b, options) and any(one.rounded for one in blueprints):
        # Types are tried by themselves, after the models: in float32 both have the same weights.
        blueprints = (blueprints[0]._replace(rounded=True), blueprints[1]._replace(rounded=True))
    if options.against:
        blueprints = (blueprints[0], blueprints[0])
    elif documents.separates(a, b):
        one, other = documents.plans_of(a, b, vocabulary, pad)
        blueprints = blueprints[0]._replace(documents=one), blueprints[1]._replace(documents=other)
        plain = plain._replace(ends=tuple(dict.fromkeys((one.end, other.end))))
    shrunk = dimensions.summary(ours, theirs, small_a, small_b)
    undrawn = None
    if not options.against:
        blueprints = _with_stages_of_their_own((a, b), blueprints, shrunk, drop=not options.graph)
        blueprints = _with_cuts((a, b), blueprints, shrunk)
        if coverage.forces(a, b):
            one, other = (forced_routing.settings_of(config, batch) for config in (a, b))
            blueprints = blueprints[0]._replace(unlike=one), blueprints[1]._replace(unlike=other)
        blueprints, undrawn = _with_samples((a, b), blueprints, shrunk)
    inputs = tuple(plain._replace(seed=101 + at) for at in range(_STEPS[options.stage]))
    padded = plain._replace(seed=99, avoid=(), include=masked) if masked and options.stage != "local-norm" else None
    sides = (a.framework, b.framework if not options.against else options.against)
    peak = max(blueprint.optimizer.learning_rate for blueprint in blueprints)
    return _Pair(
        (a, b),
        sides,  # pyright: ignore[reportArgumentType]
        blueprints,
        shrunk,
        inputs,
        padded,
        known_ratios(sides, small_a, blueprints[0].model, b),
        2.0 ** round(math.log2(_PROBE_RATE / peak)) if peak > 0 else 1.0,
        bool(small_a.get(dimensions.EXPERTS) and small_b.get(dimensions.EXPERTS)),
        rates,
        (small_a, small_b),
        undrawn=undrawn,
        pythons=options.pythons,
        compiled=options.graph,
        files=files[:1] if options.against else files,
    )


def _with_samples(
    configs: tuple[Config, Config],
    blueprints: tuple[Blueprint, Blueprint],
    shrunk: dict[str, list[Any]],
) -> tuple[tuple[Blueprint, Blueprint], Words | None]:
    """What both data sets are asked, or why they are not."""
    found = samples.samples_of(*configs)
    if not isinstance(found, samples.Samples):
        return blueprints, found
    shrunk.update(found.shrunk)
    one, other = blueprints
    return (one._replace(samples=found.plans[0]), other._replace(samples=found.plans[1])), None


def _with_cuts(
    configs: tuple[Config, Config], blueprints: tuple[Blueprint, Blueprint], shrunk: dict[str, list[Any]]
) -> tuple[Blueprint, Blueprint]:
    """How each trainer is given a step, where the files cut it differently."""
    found = coverage.cuts_of(*configs)
    if found is None:
        return blueprints
    shrunk.update(found.shrunk)
    one, other = blueprints
    return one._replace(cut=found.plans[0]), other._replace(cut=found.plans[1])


def _with_stages_of_their_own(
    configs: tuple[Config, Config],
    blueprints: tuple[Blueprint, Blueprint],
    shrunk: dict[str, list[Any]],
    *,
    drop: bool,
) -> tuple[Blueprint, Blueprint]:
    """What is run of the loss scale and of dropout, where the pair has any."""
    one, other = blueprints
    scales = scales_of(one, other)
    if scales is not None:
        one, other = one._replace(scales=scales.plans[0]), other._replace(scales=scales.plans[1])
        if scales.windows is not None:
            shrunk[WINDOW] = list(scales.windows)
    if drop and drops(*configs):
        one, other = one._replace(drops=True), other._replace(drops=True)
    return one, other


def _length(
    batch: int,
    options: Options,
    sizes: tuple[dimensions.Sizes, dimensions.Sizes],
    small: tuple[dimensions.Sizes, dimensions.Sizes],
) -> int:
    """Tokens of a sample: a lone sample is longer, so that balancing has as many to look at."""
    chosen = options.keep_sizes or dimensions.SEQUENCE in options.sizes
    whole = small if batch > 1 or chosen else sizes
    length = min(side.get(dimensions.SEQUENCE) or _TOKENS for side in whole)
    tabled = any(dimensions.has_positions(side, "learned_absolute") for side in small)
    # A shorter sample has no room for documents and padding; a table of positions may have no more.
    length = length if tabled or chosen else max(length, dimensions.TARGETS[dimensions.SEQUENCE].size)
    return length if batch > 1 or chosen else min(length, _TOKENS)


def _blueprints(
    files: tuple[Config, Config], small: tuple[Config, Config], rates: Rates | None
) -> tuple[Blueprint, Blueprint]:
    """What each side builds of its small file, with what its scheduler is asked."""
    one, other = (_SIDES[config.framework].blueprint(config) for config in small)
    one, other = (
        made._replace(written=megatron_side.launch_of(config)) if config.framework == "megatron" else made
        for made, config in zip((one, other), files, strict=True)
    )
    if not coverage.weighs_tokens(*files):
        one, other = (made._replace(training=made.training._replace(per_token=False)) for made in (one, other))
    if rates is None:
        return one, other
    return one._replace(rates=rates.plans[0]), other._replace(rates=rates.plans[1])


def _sizes_of(a: Config, b: Config) -> tuple[dimensions.Sizes, dimensions.Sizes]:
    """The sizes of both; a vocabulary is known only where its tokenizer is: the other side's serves both."""
    ours, theirs = dimensions.sizes_of(a), dimensions.sizes_of(b)
    recipes = recipe_of(a).fields, recipe_of(b).fields
    decided = [(found := fields.get(dimensions.VOCABULARY)) is None or found.decided for fields in recipes]
    known = [
        sizes.get(dimensions.VOCABULARY) if sure else None for sizes, sure in zip((ours, theirs), decided, strict=True)
    ]
    if None in known:
        found = known[0] or known[1] or dimensions.TARGETS[dimensions.VOCABULARY].size
        ours[dimensions.VOCABULARY] = theirs[dimensions.VOCABULARY] = found
    return ours, theirs


def _padding_token(configs: tuple[Config, Config], vocabulary: int) -> int | None:
    """The first side's padding token that MindSpore Transformers would mask; None where there is none."""
    given = [one for one in configs if one.framework == "mindformers"]
    tokens = [mindformers_side.padding_token(one, vocabulary) for one in given]
    return next((token for token in tokens if token >= 0), None)


def _masked(configs: tuple[Config, Config], vocabulary: int, pad: int | None) -> tuple[int, ...]:
    """The token of padding, and the labels that MindSpore Transformers takes out of the loss, where they are tokens."""
    labels = (mindformers_side.ignored_label(one, vocabulary) for one in configs if one.framework == "mindformers")
    return tuple(dict.fromkeys(token for token in (pad, *labels) if token is not None and token >= 0))


def _batch_size(a: Config, b: Config) -> int:
    """One sample where both files train on one at a time, else two: balancing losses are averaged over them."""
    keys = {"megatron": "micro_batch_size", "mindformers": "resolved.batch.micro_size"}
    sizes = [config.value(keys[config.framework]) for config in (a, b)]
    return 1 if all(size == 1 for size in sizes) else _MOST_SAMPLES


class _Found(NamedTuple):
    """What the seeds brought, up to the first that disagrees or cannot be run."""

    compared: tuple[Comparison, ...]
    answers: list[WorkerAnswer]
    failures: dict[str, WorkerFailure]
    divergence: localise.Divergence | None
    near_ties: tuple[int, ...]

    @property
    def asked(self) -> frozenset[str]:
        """The stages that not every pair has and that were run."""
        return frozenset[str]().union(*(one.asked() for one in self.compared))

    @property
    def verdict(self) -> Verdict:
        """Whether the two models are the same."""
        if self.failures or not self.compared:
            return "not-verifiable"
        return "mismatch" if any(one.disagreeing() for one in self.compared) else "match"


def _seeds_run(pair: _Pair, options: Options, processes: list[Worker], progress: Callable[[Words], None]) -> _Found:
    compared: list[Comparison] = []
    near_ties: list[int] = []
    answers: list[WorkerAnswer] = []
    for seed in range(options.seeds):
        jobs = [_job(pair, blueprint, options, seed) for blueprint in pair.blueprints]
        found = _both(processes, jobs, pair.sides, progress)
        failures = _failures(pair, found)
        if failures:
            return _Found(tuple(compared), answers, failures, None, tuple(near_ties))
        answers = [one for one in found if isinstance(one, WorkerAnswer)]
        one = _compared(pair, options, answers)
        if one.disagreeing() and pair.routes and _is_near_tie(pair, options, one, seed, processes, progress):
            near_ties.append(seed)
            others = [job._replace(seed=job.seed + _OTHER_SEEDS[0], initialisation=job.initialisation) for job in jobs]
            substitute = _both(processes, others, pair.sides, progress)
            failures = _failures(pair, substitute)
            if failures:
                return _Found(tuple(compared), answers, failures, None, tuple(near_ties))
            answers = [one for one in substitute if isinstance(one, WorkerAnswer)]
            compared.append(_compared(pair, options, answers))
            continue
        compared.append(one)
        if one.disagreeing():
            progress(say.looking_for_the_module())
            divergence = _locate(pair, jobs, one, processes, progress)
            return _Found(tuple(compared), answers, {}, divergence, tuple(near_ties))
    return _Found(tuple(compared), answers, {}, None, tuple(near_ties))


def _failures(pair: _Pair, found: Sequence[WorkerAnswer | WorkerFailure]) -> dict[str, WorkerFailure]:
    return {side: one for side, one in zip(pair.sides, found, strict=True) if isinstance(one, WorkerFailure)}


def _run(
    pair: _Pair, options: Options, workers: Workers, progress: Callable[[Words], None], language: str
) -> Verification:
    copies = (0, 1) if pair.sides[0] == pair.sides[1] else (0, 0)
    processes = [
        workers.of(kind, copy, place) for kind, copy, place in zip(pair.kinds(), copies, pair.found_at(), strict=True)
    ]
    found = _seeds_run(pair, options, processes, progress)
    typed = _typed(pair, options, found, processes, progress)
    unsure = _left_to_defaults(pair, found, language)
    if unsure:
        return _unbuildable(*pair.configs, options, unsure, language)
    blame = _blamed(pair, options, found, typed)
    asked = found.asked | ({coverage.COMPILED} if options.graph else set[str]())
    told = (one.values.get("parsed") for one in found.answers)
    unparsed = [entry for one in told for entry in launches.unasked(one, language)]
    unrun = samples.said(coverage.uncompared(*pair.configs, language, asked), _undrawn(pair, found), language)
    return Verification(
        verdict="mismatch" if _rounds_apart(typed) else found.verdict,
        sides=pair.sides,
        files=(pair.configs[0].file, pair.configs[1].file),
        shrunk=pair.shrunk,
        inputs=pair.inputs + (() if pair.padded is None else (pair.padded,)),
        tolerance=options.tolerance,
        stage=options.stage,
        compared=found.compared,
        seeds=tuple(range(options.seeds)),
        stand_ins=_stand_ins(pair, found.answers, typed),
        not_compared=(*unparsed, *native_dtypes.said(unrun, typed)),
        divergence=blame.divergence,
        divergence_fields=blame.fields,
        differing=tuple(blame.differing),
        failures=found.failures,
        versions={name: value for one in found.answers for name, value in one.values["versions"].items()},
        cost=_cost(pair.sides, processes, found.answers),
        near_ties=found.near_ties,
        language=language,
        ran=pair.ran(found.answers),
        typed=typed,
        small=pair.files,
    ).in_part(
        [
            *_in_place(pair, language),
            *_readings_apart(pair, found, language),
            *coverage.unread_words(pair.configs, language),
            *native_dtypes.not_proved(typed, language),
        ],
        options.accepted,
    )


def _undrawn(pair: _Pair, found: _Found) -> Words | None:
    """Why no samples were compared, where that is not the files' own doing."""
    refused = ((side, one.values.get("samples_refused")) for side, one in zip(pair.sides, found.answers, strict=False))
    each = (say.samples_refused(side=verbatim(side), reason=verbatim(why)) for side, why in refused if why)
    return pair.undrawn or next(each, None)


class _Blame(NamedTuple):
    """Where two models part, the settings that it depends on, and those of them that differ."""

    divergence: localise.Divergence | None
    fields: tuple[str, ...]
    differing: Sequence[Differing]


def _left_to_defaults(pair: _Pair, found: _Found, language: str) -> dict[str, WorkerFailure]:
    """Why models that part prove nothing: all that the place depends on and is not equal, a file leaves undecided."""
    where = () if found.divergence is None else fields_of(found.divergence.module)
    values = coverage.left_open(*pair.configs)
    behind = [field for field in where if field in values]
    if found.divergence is None or not behind or coverage.differing(*pair.configs, where):
        return {}
    named = ", ".join(_as_written(field, pair.configs) for field in behind)
    why = say.parts_where_undecided(fields=named, module=found.divergence.module).text(language)
    undecided = {at for field in behind for at, value in enumerate(values[field]) if value is None}
    return {pair.configs[at].framework: WorkerFailure(why, "error") for at in sorted(undecided or {0})}


def _as_written(field: str, configs: Sequence[Config]) -> str:
    """A field that is open, and the words of a file that leave it so: a variable, or a value of a fork's own."""
    for config in configs:
        entry = recipe_of(config).fields.get(field_named(field))
        for key in () if entry is None else entry.keys:
            setting = config.settings.get(key)
            if setting is not None and not setting.decided and setting.flag and setting.raw:
                return f"{field} ({setting.flag} {' '.join(setting.raw)})"
    return field


def _rounds_apart(typed: native_dtypes.AsWritten | None) -> bool:
    """Whether the models are the same in float32 and not in the files' own types."""
    return typed is not None and not typed.agrees and not typed.failures


def _blamed(pair: _Pair, options: Options, found: _Found, typed: native_dtypes.AsWritten | None) -> _Blame:
    if typed is not None and _rounds_apart(typed):
        differing = native_dtypes.blamed(typed, pair.configs)
        fields = tuple(entry.field for entry in differing)
        return _Blame(localise.Divergence("rounding", "rounding"), fields, differing)
    divergence = found.divergence
    where = fields_of(divergence.module) if divergence is not None else ()
    changed = coverage.differing(*pair.configs, where) if not options.against else []
    if divergence is not None and not changed and not options.against:
        # Nothing that the module itself depends on differs: whatever does differ is the lead.
        changed = coverage.leads(*pair.configs, divergence.direction, found.compared[-1].disagreeing())
    if divergence is not None and len({blueprint.rounded for blueprint in pair.blueprints}) > 1:
        # The weights of one side alone were put on a grid, beginning with the first that are used.
        changed = [*native_dtypes.differing(pair.configs), *changed]
        first = divergence.module == "embedding.word_embeddings" and divergence.direction == "forward"
        divergence = localise.Divergence("rounding", "rounding") if first else divergence
    ahead = [entry.field for entry in changed if entry.field in vocabulary()]
    return _Blame(divergence, (*ahead, *(field for field in where if field not in ahead)), changed)


def _in_own_types(a: Config, b: Config, options: Options) -> bool:
    """Whether the first pass is run in the files' own types, too."""
    if options.against or options.precision != "auto":
        return options.precision == "as-written" and not options.against
    runs = not options.graph and mindformers_side.DYNAMIC not in (a.dialect, b.dialect)
    return runs and native_dtypes.shows((a, b))


def _typed(
    pair: _Pair, options: Options, found: _Found, processes: Sequence[Worker], progress: Callable[[Words], None]
) -> native_dtypes.AsWritten | None:
    """Both files' own types, of models that are the same in float32; the reference has none."""
    if found.verdict != "match" or not _in_own_types(*pair.configs, options):
        return None
    one, other = (_job(pair, blueprint, options, 0) for blueprint in pair.blueprints)
    return native_dtypes.run(pair.configs, (one, other), processes, progress, routes=pair.routes)


def _stand_ins(
    pair: _Pair, answers: Sequence[WorkerAnswer], typed: native_dtypes.AsWritten | None
) -> dict[str, dict[str, str]]:
    """What stood in on each side, in whichever pass."""
    more: Mapping[str, Mapping[str, str]] = {} if typed is None else typed.stand_ins
    each = zip(pair.sides, answers, strict=False)
    return {side: {**one.values["stand_ins"], **more.get(side, {})} for side, one in each}


def _in_place(pair: _Pair, language: str) -> list[NotCompared]:
    """The versions that ran in place of those that the files ask for."""
    found: list[NotCompared] = []
    for one, config in zip(pair.places, pair.configs, strict=True):
        asked = config.framework_version
        if not one.serves(asked):
            said = say.in_place_of(framework=one.framework, version=one.version, asked=asked)
            values = Values(asked, one.version)
            found.append(NotCompared(f"{one.framework}.version", said.text(language), values))
    return found


def _readings_apart(pair: _Pair, found: _Found, language: str) -> list[NotCompared]:
    """What the parser that runs makes of a launch in another way than accmap; another version's is another parser."""
    return [
        entry
        for config, place, small, answer in zip(pair.configs, pair.places, pair.files, found.answers, strict=False)
        if place.serves(config.framework_version)
        for entry in launches.readings_apart(config, small.config, answer.values.get("parsed"), language)
    ]


def _compared(pair: _Pair, options: Options, answers: list[WorkerAnswer]) -> Comparison:
    found = comparison.compare(answers[0], answers[1], tolerance=options.tolerance, known_ratio=pair.known_ratio)
    if pair.rates is not None:
        found = found._replace(rates=comparison.compared_rates(answers[0], answers[1], pair.rates))
    plans = pair.blueprints[0].samples, pair.blueprints[1].samples
    if plans[0] is not None and plans[1] is not None:
        found = found._replace(samples=comparison.compared_samples(answers[0], answers[1], (plans[0], plans[1])))
    return _staged(found, options.stage)


def _is_near_tie(
    pair: _Pair,
    options: Options,
    compared: Comparison,
    seed: int,
    processes: list[Worker],
    progress: Callable[[Words], None],
) -> bool:
    """Whether two experts of almost the same score are all that a disagreement comes from.

    Which of them is chosen is decided by rounding, which no two programs share; a difference between the models shows
    with any other weights and tokens too, so those are tried.
    """
    wrong = compared.disagreeing()
    if any(
        stage in wrong
        for stage in ("structure", "initialisation", "clipping", "optimizer", "rates", "scales", "samples")
    ):
        return False
    for other in _OTHER_SEEDS:
        progress(say.trying_other_weights())
        jobs = [_job(pair, blueprint, options, seed + other) for blueprint in pair.blueprints]
        again = _both(processes, jobs, pair.sides, progress)
        answers = [one for one in again if isinstance(one, WorkerAnswer)]
        if len(answers) < len(again) or _compared(pair, options, answers).disagreeing():
            return False
    return True


def _cost(sides: tuple[str, str], processes: list[Worker], answers: list[WorkerAnswer]) -> dict[str, Any]:
    return {
        side: {
            "import": process.start_cost,
            "seconds": answer.values.get("seconds"),
            "cpu": answer.values.get("cpu"),
            "peak_megabytes": round(process.peak_megabytes),
        }
        for side, process, answer in zip(sides, processes, answers, strict=False)
    }


def _job(pair: _Pair, blueprint: Blueprint, options: Options, seed: int) -> Job:
    return Job(
        name=f"seed {seed}",
        blueprint=blueprint,
        inputs=tuple(batch._replace(seed=batch.seed + 1000 * seed) for batch in pair.inputs),
        padded_input=pair.padded,
        seed=seed,
        steps=_STEPS[options.stage],
        probe_scale=pair.probe_scale,
        initialisation=seed == 0 and options.stage in ("step1", "all"),
        uneven=coverage.takes_micro_batches(*pair.configs),
    )


def _staged(compared: Comparison, stage: Stage) -> Comparison:
    """Only what the stage asks for."""
    if stage == "step1":
        return compared._replace(
            gradients=(), elements=(), norms=(), training=(), clipping=(), optimizer=(), expert_bias=()
        )
    if stage == "local-norm":
        return compared._replace(clipping=(), optimizer=(), expert_bias=(), initialisation=())
    return compared


def _stage(name: str) -> Words:
    """What a framework's process is busy with, by the name that it says."""
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


def _both(
    processes: list[Worker], jobs: list[Job], sides: tuple[str, str], progress: Callable[[Words], None]
) -> list[WorkerAnswer | WorkerFailure]:
    for process, job in zip(processes, jobs, strict=True):
        process.ask(job)
    return [
        process.answer(lambda stage, side=side: progress(say.side_at(side=verbatim(side), stage=_stage(stage))))
        for process, side in zip(processes, sides, strict=True)
    ]


def _locate(
    pair: _Pair, jobs: list[Job], compared: Comparison, processes: list[Worker], progress: Callable[[Words], None]
) -> localise.Divergence | None:
    known = localise.without_trace(compared)
    if known is not None:
        return known
    wrong = compared.disagreeing()
    alike = not any(stage in wrong for stage in ("gradients", "logits", "parts", "elements"))
    dropping = alike and "dropout" in wrong
    only_padding = alike and "padding" in wrong and not dropping
    inputs = (pair.padded,) if only_padding and pair.padded is not None else jobs[0].inputs
    asked = [job._replace(trace=True, drops=dropping, inputs=inputs) for job in jobs]
    traced = _both(processes, asked, pair.sides, progress)
    answers = [one for one in traced if isinstance(one, WorkerAnswer)]
    if len(answers) < len(traced):
        return None
    return localise.from_trace(
        answers[0],
        answers[1],
        compared,
        lambda module: bool(coverage.differing(*pair.configs, fields_of(module))),
    )
