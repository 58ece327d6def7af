"""A pair that is ready to run: both small files, and the jobs that their frameworks are given."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from ..mapper.computed.results import Values
from ..mapper.recipe.reading import recipe_of
from ..mappings.keys_compiled import LOADED
from ..schemas.fast_records import NamedTuple
from .megatron import from_launch
from .mindformers import from_yaml
from .plan import dimensions, schedules
from .plan.dimensions import SmallFile, small_files
from .plan.samples import Samples, samples_of
from .plan.schedules import LOSS_SCALE_WINDOW, rates_of, scales_of
from .verdict import coverage, native_dtypes
from .verdict.comparison import TOLERANCE
from .verdict.coverage import known_ratios
from .verification import FrameworkRun
from .worker.blueprint import Blueprint, InputPlan, Job
from .worker.processes import Limits, Place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..schemas.config import Config
    from ..schemas.message import Words
    from .installations import Installation
    from .plan.schedules import Rates
    from .verification import Graph, Stage
    from .worker.processes import WorkerAnswer

Configs = tuple["Config", "Config"]
Blueprints = tuple[Blueprint, Blueprint]

SIDES = {"megatron": from_launch, "mindformers": from_yaml}
_STEPS = {"step1": 1, "local-norm": 1, "step2": 2, "all": 4}
_TOKENS = 32
_MOST_SAMPLES = 2
_PROBE_RATE = 0.05
_MICRO_BATCH = {"megatron": "micro_batch_size", "mindformers": "resolved.batch.micro_size"}
_WORKERS: dict[Graph | None, str] = {"static, compiled": "mindformers-graph", "dynamic": "mindformers-dynamic"}


class Options(NamedTuple):
    """Settings of a verification that the command line may choose."""

    sizes: Mapping[str, int] = {}
    """Recipe field → size, in place of the shrinking rule's."""
    keep_sizes: bool = False
    stage: Stage = "all"
    seeds: int = 1
    limits: Limits = Limits()
    tolerance: float = TOLERANCE
    sources: Mapping[str, str] = {}
    """Framework → the folder of a source tree or an unpacked wheel to run it from."""
    pythons: Mapping[str, str] = {}
    """Framework → the interpreter to run it with."""
    store: str | None = None
    """The folder of prepared frameworks."""
    closest: bool = False
    """Run the nearest version if a file's own is not installed."""
    precision: Literal["auto", "float32", "as-written"] = "float32"
    """Run the first pass in the files' own types, too; `auto`: if a type of a single place differs between them."""
    graph: bool = False
    """Compile MindSpore Transformers' static graph instead of running it eagerly."""
    accepted: Sequence[str] = ()
    """Names whose difference decides nothing if it was not run."""
    aside: Sequence[str] = ()
    """Fields and keys to make equal on both sides, so that the rest is verified."""
    explains: bool = True
    """Run the pair again, each suspected field made equal, to find out which of them make it differ."""
    each_source: tuple[str | None, str | None] = (None, None)
    """The folder to run the first file's framework from, and the second's, whatever `sources` says of it."""

    def in_other_order(self) -> Options:
        """Options for the same two files with the sides swapped."""
        return self._replace(each_source=self.each_source[::-1])


class Pair(NamedTuple):
    """Both files, the blueprints of their small models, and the inputs."""

    configs: Configs
    sides: tuple[str, str]
    blueprints: Blueprints
    shrunk: dict[str, list[Any]]
    inputs: tuple[InputPlan, ...]
    padded: InputPlan | None
    known_ratio: dict[str, float]
    probe_scale: float
    routes: bool
    """Tokens choose experts."""
    rates: Rates | None = None
    """The steps that both schedulers are asked about; None if a file leaves its curve open."""
    undrawn: Words | None = None
    """The reason why no samples are drawn."""
    places: tuple[Installation, ...] = ()
    """The installation that each file's own framework is run from."""
    pythons: Mapping[str, str] = {}
    """The interpreter of a framework that has one of its own."""
    compiled: bool = False
    """The static graph is compiled."""
    files: tuple[SmallFile, ...] = ()
    """The files of the small models."""

    @property
    def loads_weights(self) -> bool:
        """True if both runs load a checkpoint."""
        return all(Values(config).loads_weights(LOADED[config.framework]) for config in self.configs)

    @property
    def labels(self) -> tuple[str, str]:
        """Name of each side in an answer: its framework, with a letter if both sides have the same."""
        return side_labels(*self.sides)

    def process_places(self) -> list[Place]:
        """The place of each process's framework."""
        return [
            Place(one.folder if one.origin != "environment" else None, self.pythons.get(side))
            for one, side in zip(self.places, self.sides, strict=True)
        ]

    def worker_kinds(self) -> list[str]:
        """The worker of each side: a compiled graph and the dynamic one have workers of their own."""
        each = zip(self.sides, self.configs, strict=True)
        return [_WORKERS.get(self._graph(config), side) for side, config in each]

    def _graph(self, config: Config) -> Graph | None:
        """The graph that a file's side runs; None for Megatron-LM, which has none."""
        if config.framework == "megatron":
            return None
        if config.dialect == from_yaml.DYNAMIC:
            return "dynamic"
        return "static, compiled" if self.compiled else "static, eager"

    def framework_runs(self, answers: Sequence[WorkerAnswer]) -> tuple[FrameworkRun, ...]:
        """Installation, graph mode and parser of each side's run."""
        found: list[FrameworkRun] = []
        for at, (place, side, config) in enumerate(zip(self.places, self.sides, self.configs, strict=True)):
            version = config.framework_version
            read = from_launch.parsed_launches(answers[at].values.get("parsed") if at < len(answers) else None)
            exact, graph = place.serves(version), self._graph(config)
            found.append(FrameworkRun(place, version, exact, graph, *read, self.pythons.get(side)))
        return tuple(found)

    def job(self, blueprint: Blueprint, options: Options, seed: int) -> Job:
        """The job of one side with one seed."""
        return Job(
            name=f"seed {seed}",
            blueprint=blueprint,
            inputs=tuple(batch._replace(seed=batch.seed + 1000 * seed) for batch in self.inputs),
            padded_input=self.padded,
            seed=seed,
            steps=_STEPS[options.stage],
            probe_scale=self.probe_scale,
            initialisation=seed == 0 and options.stage in ("step1", "all"),
            uneven=coverage.draws_uneven_batches(*self.configs, versions=[place.version for place in self.places]),
        )


def side_labels(a: str, b: str) -> tuple[str, str]:
    """Names of two sides in an answer: the frameworks, with letters if both are the same."""
    return (a, b) if a != b else (f"{a} a", f"{b} b")


def assemble_pair(a: Config, b: Config, options: Options) -> Pair:
    """Pair ready to run: both files made small, and the jobs' inputs, rates, scales and samples chosen."""
    configs = a, b
    whole = _sizes_of(a, b)
    sizes = dimensions.shrink(*whole, options.sizes, keep=options.keep_sizes)
    # One sample if both files train on one at a time, else two: balancing losses are averaged over them.
    alone = all(config.value(_MICRO_BATCH[config.framework]) == 1 for config in configs)
    batch = 1 if alone else _MOST_SAMPLES
    length = _sample_length(batch, options, whole, sizes)
    for small in sizes:
        small[dimensions.SEQUENCE] = length
    files, sizes = small_files(configs, whole, sizes)
    vocabulary = min(small[dimensions.VOCABULARY] for small in sizes)
    pad, masked = _masked_tokens(configs, vocabulary)
    plain = InputPlan(0, batch, length, vocabulary, avoid=masked)
    rates = rates_of(a, b)
    blueprints = _blueprints(configs, (files[0].config, files[1].config), rates)
    if runs_native_dtypes(a, b, options) and any(one.rounded for one in blueprints):
        # Types are compared after the models: in float32 both have the same weights.
        blueprints = _with(blueprints, "rounded", (True, True))
    shrunk = dimensions.summary(*whole, *sizes)
    if schedules.separates_documents(a, b):
        plans = schedules.document_plans(a, b, vocabulary, pad)
        blueprints = _with(blueprints, "documents", plans)
        plain = plain._replace(ends=tuple(dict.fromkeys(plan.end for plan in plans)))
    blueprints, undrawn = _with_optional_stages(configs, blueprints, shrunk, batch, drop=not options.graph)
    padded = plain._replace(seed=99, avoid=(), include=masked) if masked and options.stage != "local-norm" else None
    sides = a.framework, b.framework
    peak = max(blueprint.optimizer.learning_rate for blueprint in blueprints)
    return Pair(
        configs,
        sides,
        blueprints,
        shrunk,
        tuple(plain._replace(seed=101 + at) for at in range(_STEPS[options.stage])),
        padded,
        known_ratios((a, b), sizes[0], blueprints[0].model),
        2.0 ** round(math.log2(_PROBE_RATE / peak)) if peak > 0 else 1.0,
        all(small.get(dimensions.EXPERTS) for small in sizes),
        rates,
        undrawn=undrawn,
        pythons=options.pythons,
        compiled=options.graph,
        files=files,
    )


def _with(blueprints: Blueprints, field: str, values: Sequence[Any]) -> Blueprints:
    """Both blueprints with one field set."""
    one, other = blueprints
    return one._replace(**{field: values[0]}), other._replace(**{field: values[1]})


def _with_optional_stages(
    configs: Configs, blueprints: Blueprints, shrunk: dict[str, list[Any]], batch: int, *, drop: bool
) -> tuple[Blueprints, Words | None]:
    """Blueprints extended by stages that only some pairs have, and the reason if no samples are drawn."""
    scales = scales_of(*blueprints)
    if scales is not None:
        blueprints = _with(blueprints, "scales", scales.plans)
        if scales.windows is not None:
            shrunk[LOSS_SCALE_WINDOW] = list(scales.windows)
    if drop and schedules.runs_dropout(*configs):
        blueprints = _with(blueprints, "drops", (True, True))
    cuts = coverage.micro_batches_of(*configs)
    if cuts is not None:
        blueprints = _with(blueprints, "cut", cuts.plans)
        shrunk.update(cuts.shrunk)
    if coverage.runs_forced_routing(*configs):
        forced = [schedules.forced_routing_settings(config, batch) for config in configs]
        blueprints = _with(blueprints, "unlike", forced)
    samples = samples_of(*configs)
    if not isinstance(samples, Samples):
        return blueprints, samples
    shrunk.update(samples.shrunk)
    return _with(blueprints, "samples", samples.plans), None


def _sample_length(
    batch: int,
    options: Options,
    sizes: tuple[dimensions.Sizes, dimensions.Sizes],
    small: tuple[dimensions.Sizes, dimensions.Sizes],
) -> int:
    """Tokens of one sample; a sample that is alone in its batch is longer, so that balancing has enough tokens."""
    chosen = options.keep_sizes or dimensions.SEQUENCE in options.sizes
    length = min(side.get(dimensions.SEQUENCE) or _TOKENS for side in (small if batch > 1 or chosen else sizes))
    if chosen:
        return length
    # A shorter sample has no room for documents and padding; a table of positions may have no more.
    if not any(dimensions.has_positions(side, "learned_absolute") for side in small):
        length = max(length, dimensions.TARGETS[dimensions.SEQUENCE].size)
    return length if batch > 1 else min(length, _TOKENS)


def _blueprints(configs: Configs, small: Configs, rates: Rates | None) -> Blueprints:
    """The blueprint of each small file, with the file's own launch and the questions to its scheduler."""
    one, other = (SIDES[config.framework].blueprint_of(config) for config in small)
    written = [from_launch.launch_of(config) if config.framework == "megatron" else None for config in configs]
    found = _with((one, other), "written", written)
    if not coverage.runs_token_weights(*configs):
        found = _with(found, "training", [made.training._replace(per_token=False) for made in found])
    return found if rates is None else _with(found, "rates", rates.plans)


def _sizes_of(a: Config, b: Config) -> tuple[dimensions.Sizes, dimensions.Sizes]:
    """Model sizes of both files; a vocabulary size known on one side only serves both."""
    sizes = dimensions.sizes_of(a), dimensions.sizes_of(b)
    known: list[int | None] = []
    for config, side in zip((a, b), sizes, strict=True):
        entry = recipe_of(config).fields.get(dimensions.VOCABULARY)
        known.append(side.get(dimensions.VOCABULARY) if entry is None or entry.decided else None)
    if None in known:
        shared = known[0] or known[1] or dimensions.TARGETS[dimensions.VOCABULARY].size
        for side in sizes:
            side[dimensions.VOCABULARY] = shared
    return sizes


def _masked_tokens(configs: Configs, vocabulary: int) -> tuple[int | None, tuple[int, ...]]:
    """The padding token of the first MindSpore Transformers side, and all tokens that such a side masks."""
    masking = [config for config in configs if config.framework == "mindformers"]
    pads = [from_yaml.padding_token(config, vocabulary) for config in masking]
    pad = next((token for token in pads if token >= 0), None)
    labels = [from_yaml.ignored_label(config, vocabulary) for config in masking]
    tokens = [token for token in (pad, *labels) if token is not None and token >= 0]
    return pad, tuple(dict.fromkeys(tokens))


def runs_native_dtypes(a: Config, b: Config, options: Options) -> bool:
    """True if the first pass is run in the files' own types, too."""
    if options.precision != "auto":
        return options.precision == "as-written"
    runs = not options.graph and from_yaml.DYNAMIC not in (a.dialect, b.dialect)
    return runs and native_dtypes.has_differing_places((a, b))
