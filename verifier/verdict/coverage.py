"""The settings that a run of both small models exercises, and those that a CPU run leaves out, with the reason.

A setting is exercised where a module, the loss, the optimizer, clipping or the initial weights depend on it
(`mapper/modules.py`) and no row below says that the run leaves it out. Values and differences are the recipe's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from ...mapper.differences import difference_of, differences
from ...mapper.equality import is_equal_field
from ...mapper.gates import counts, says_something
from ...mapper.modules import MODULES
from ...mapper.recipe.reading import recipe_of
from ...mapper.recipe.vocabulary import COMPUTED, vocabulary
from ...mapper.translate.translation import translate
from ...mappings.keys_compiled import WHOLE_STEP_AT_ONCE
from ...mappings.tables import field_named
from ...schemas.diagnostic import ReadBackError, UnreadableError
from ...schemas.fast_records import NamedTuple
from ...schemas.megatron.dialects import dialect_versions
from ...schemas.megatron.forks import fork_of
from ...schemas.message import Words
from ...schemas.verdict import unresolved_words
from ...schemas.versions import versions_in, within
from ..constants_compiled import GIVEN_ALIKE, INITIAL_WEIGHTS, OWN_DEVIATIONS, PARTED, SWITCHED_OFF
from ..fork_flags_compiled import CHANGED, CHECKED
from ..messages_compiled import say
from ..mindformers.from_yaml import DYNAMIC, kept_type
from ..plan import dimensions, samples, schedules
from .comparison import DifferingSetting, NotCompared, Values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ...mapper.differences import Difference
    from ...mapper.recipe.values import Recipe
    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config, Setting, Value
    from ...schemas.diagnostic import Diagnostic
    from ...schemas.megatron.dialects import Dialect


class LeftOut(NamedTuple):
    """Fields that the run leaves out for one reason."""

    why: Words
    fields: tuple[FieldName, ...]
    listed: Literal[
        "always", "with a meaning", "where set", "without rates", "without scales", "without weighting",
        "without documents", "without dropout", "without forcing", "without graph", "without samples",
        "without keeping",
    ] = "always"  # fmt: skip
    """`with a meaning`: where one of the runs has what the field is about; `where set`: where one sets it;
    `without rates`, `without scales`, `without samples`: where schedulers, loss scalers or data sets were not asked;
    `without weighting`: where tokens cannot be weighed; `without graph`: where none was compiled;
    `without keeping`: where what keeps weights in a narrower type is not run;
    `without documents`, `without dropout`, `without forcing`: where one sets it and it was not run."""


_CURVE: tuple[FieldName, ...] = ("schedule.style",)
"""What the learning-rate curve is about; the schedulers themselves are asked where the files settle it."""

COMPILED = "graph"
"""What was asked where the compiled graph ran."""
_WEIGHTED: tuple[FieldName, ...] = ("gradient.per_token_loss",)
_KEPT: FieldName = "precision.params_dtype"
LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut(
        say.not_run_one_process(),
        (
            "parallel.tensor_size",
            "parallel.pipeline_size",
            "parallel.context_size",
            "parallel.expert_size",
            "parallel.sequence",
        ),
    ),
    LeftOut(say.not_run_float32(), ("precision.compute_dtype",)),
    LeftOut(say.not_run_kept(), (_KEPT,), "without keeping"),
    LeftOut(say.not_run_float32(), ("precision.norm_dtype",), "where set"),
    LeftOut(say.not_run_loss_scale(), ("precision.loss_scale.mode",), "without scales"),
    LeftOut(say.not_run_kernel(), ("attention.flash", "fusion.norm", "fusion.rope", "moe.grouped_gemm")),
    LeftOut(say.not_run_compiled(), ("environment.execution_mode",), "without graph"),
    LeftOut(say.not_run_dropout(), schedules.DROPOUT, "without dropout"),
    LeftOut(say.not_run_schedule(), _CURVE, "without rates"),
    LeftOut(say.not_run_token_weights(), _WEIGHTED, "without weighting"),
    LeftOut(say.not_run_accumulation(), ("batch.global_size",)),
    LeftOut(say.not_run_length(), ("data.sequence_length",)),
    LeftOut(say.not_run_samples(), (samples.SAMPLES,), "without samples"),
    LeftOut(say.not_run_seed(), ("run.seed",)),
    LeftOut(say.not_run_dispatcher(), ("moe.dispatcher",), "with a meaning"),
    LeftOut(say.not_run_router_dtype(), ("moe.router.dtype",), "with a meaning"),
    LeftOut(say.not_run_jitter(), ("moe.input_jitter",), "where set"),
    LeftOut(say.not_run_jitter(), (schedules.FORCED_BALANCE,), "without forcing"),
    LeftOut(say.not_run_window(), ("attention.window_size",), "where set"),
    LeftOut(
        say.not_run_documents(),
        schedules.DOCUMENTS,
        "without documents",
    ),
    LeftOut(
        say.not_run_unproved(),
        (
            "attention.softmax_scale",
            "position.nope_interval",
            "position.scaling.factor",
            "moe.probs_on_input",
            "init.embedding_std",
        ),
        "where set",
    ),
)


_OF_THE_STEPS = (
    "optimizer.",
    "gradient.",
    "schedule.",
    "moe.router.bias_update_rate",
    _KEPT,
    *schedules.MICRO_BATCHES,
)
"""Fields that show once the optimizer has stepped, which `step1` and `local-norm` leave out."""
_OF_THE_WEIGHTS = ("init.",)
"""Fields that only the frameworks' own initial weights show."""
_OF_THE_CURVES = (
    "schedule.", "optimizer.weight_decay_style", "optimizer.weight_decay_start", "optimizer.weight_decay_end",
    "optimizer.fused",
)  # fmt: skip
"""Fields that show where the schedulers are asked: the learning rate's, from which step it is read, and how the weight
decay grows."""
ON_THEIR_OWN: dict[str, tuple[FieldName, ...]] = {
    "scales": schedules.LOSS_SCALE,
    "dropout": schedules.DROPOUT,
    "samples": samples.FIELDS,
}
"""Fields that only a stage of their own shows, which not every pair has."""
_LEFT = frozenset(str(field) for row in LEFT_OUT if not row.listed.startswith("without") for field in row.fields)
_APART = frozenset(str(field) for fields in ON_THEIR_OWN.values() for field in fields)
_AT_TIMES = frozenset(map(str, (schedules.END_TOKEN, *samples.BLAMED)))
"""Fields whose difference shows in some runs only."""
_RUN = tuple(dict.fromkeys(field for row in MODULES for field in row.fields if field not in _LEFT | _APART | _AT_TIMES))


def is_given_alike(field: str, values: Sequence[Value]) -> bool:
    """True for a field that is an input of both models and that one file leaves unset."""
    return field in GIVEN_ALIKE and None in values


def runs_token_weights(*configs: Config) -> bool:
    """True if the run tests the weighting of tokens; some trainers cannot do this.

    The dynamic graph's trainer of 1.9 takes all samples of a step at once, which weighs every token alike.
    """
    return takes_micro_batches(*configs) and not any(
        config.framework == "mindformers" and recipe_of(config).value(_WEIGHTED[0]) is True for config in configs
    )


def takes_micro_batches(*configs: Config, versions: Sequence[str] | None = None) -> bool:
    """True if both trainers average each micro batch by itself; `versions` ran instead of those of the files."""
    return not any(
        config.framework == "mindformers" and config.dialect == DYNAMIC and within(version, *WHOLE_STEP_AT_ONCE)
        for config, version in zip(configs, versions or [one.framework_version for one in configs], strict=True)
    )


def draws_uneven_batches(*configs: Config, versions: Sequence[str] | None = None) -> bool:
    """True if micro batches with different token counts can reveal a difference between these files.

    Not if a trainer takes the whole step at once; nor if only one side averages over the tokens of a step, and no file
    masks any: both averages are then the same.
    """
    if not takes_micro_batches(*configs, versions=versions):
        return False
    recipes = [recipe_of(config) for config in configs]
    averages = {bool(recipe.value(_WEIGHTED[0])) for recipe in recipes}
    return len(averages) == 1 or any(recipe.value("data.mask_loss_after_eod") is not False for recipe in recipes)


class Reach(NamedTuple):
    """The coverage of a pair's run, of what not every run covers."""

    weighed: bool = True
    """Each token's loss by the weighting that the files ask for."""
    separated: bool = False
    """Several documents in a sample."""
    cut: bool = False
    """A step as each file cuts it into micro batches."""
    kept: bool = True
    """Weights in the types that they are kept in; Megatron-LM's main weights are in float32."""


_WHOLE = Reach()


def micro_batches_of(a: Config, b: Config) -> schedules.Cuts | None:
    """Split of a step into micro batches for each side; None if both files split alike."""
    return schedules.cuts_of_step(a, b) if runs_token_weights(a, b) else None


def runs_forced_routing(a: Config, b: Config) -> bool:
    """True if one side's experts are forced in the run, as its file alone says; not in passes of several sizes."""
    return schedules.one_side_forces(a, b) and micro_batches_of(a, b) is None


def reach_of(a: Config, b: Config) -> Reach:
    """Flags of what the small run of these files covers."""
    known = all(config.framework != "mindformers" or kept_type(config) is not None for config in (a, b))
    a_step = micro_batches_of(a, b) is not None
    return Reach(runs_token_weights(a, b), schedules.separates_documents(a, b), a_step, known)


def is_exercised(field: str, stage: str, asked: Collection[str] = (), reach: Reach = _WHOLE) -> bool:
    """True if a difference in a field would have shown in what was run.

    `asked`: the stages that were run of those that not every pair has.
    """
    unrun = {
        schedules.MICRO_BATCH_SIZE: not reach.cut,
        schedules.FORCED_BALANCE: reach.cut,
        _KEPT: not reach.kept,
        **dict.fromkeys(_WEIGHTED, not reach.weighed),
        **dict.fromkeys(schedules.DOCUMENTS, not reach.separated),
    }
    if unrun.get(field):
        return False
    if field == schedules.END_TOKEN:
        return reach.separated
    own = next((name for name, fields in ON_THEIR_OWN.items() if field in fields), None)
    if own is not None:
        return own in asked
    stepped = stage in ("step2", "all") or not field.startswith(_OF_THE_STEPS)
    curves = "rates" in asked or not field.startswith(_OF_THE_CURVES) or field == "schedule.learning_rate"
    return field in _RUN and stepped and curves


def quantities_of_stages(stages: Collection[str]) -> frozenset[str]:
    """The computed quantities of which a difference has shown, by the stages that do not agree."""
    return frozenset(str(field) for stage, fields in PARTED.items() if stage in stages for field in fields)


def differing_settings(a: Config, b: Config, among: Sequence[str] = _RUN) -> list[DifferingSetting]:
    """The fields among these whose values differ between the files and count, with both values, in the given order."""
    recipes, cut = (recipe_of(a), recipe_of(b)), micro_batches_of(a, b) is not None
    rows = {
        str(row.field): row
        for row in differences(*recipes)
        if row.field is not None
        and row.status not in ("equal", "undecided")
        and (cut and None not in _values(row) if row.field in schedules.MICRO_BATCHES else row.impact == "numerics")
        and not is_given_alike(row.field, _values(row))
        and row.counts is not False
    }
    return [DifferingSetting(field, *_values(rows[field])) for field in among if field in rows]


def undecided_fields(a: Config, b: Config) -> dict[str, Values]:
    """The fields that count and that a file leaves undecided, with both values: a default ran in their place.

    Arguments that a checkpoint replaces are undecided, too.
    """
    return {
        str(row.field): _values(row)
        for row in differences(recipe_of(a), recipe_of(b))
        if row.field is not None
        and (row.status == "undecided" or (row.field == "checkpoint.use_arguments" and row.status != "equal"))
        and row.impact == "numerics"
        and row.counts is not False
        and row.field not in GIVEN_ALIKE
        and not row.field.startswith(COMPUTED)
    }


def unread_arguments(configs: Sequence[Config]) -> list[NotCompared]:
    """Words of a launch that accmap cannot read and that may be flags; the model ran without them."""
    return [NotCompared(word, problem.words()) for config in configs for word, problem in unresolved_words(config)]


def unchecked_fork_flags(configs: Sequence[Config]) -> list[NotCompared]:
    """Flags of a fork, or to which it gives another meaning, that a launch uses and no fact is known of.

    No code of a fork runs: what was verified is accmap's own reading of them. A flag that changes the numbers in a way
    that has no translation has the reason of the fork's dialect.
    """
    found: list[NotCompared] = []
    for config in configs:
        fork = fork_of(config)
        if fork is not None:
            flags = _unchecked_flags(config, fork)
            found += [NotCompared(one.flag or one.key, _unchecked_reason(one, config, fork)) for one in flags]
    return list(dict.fromkeys(found))


def _unchecked_reason(setting: Setting, config: Config, fork: Dialect) -> Words:
    reason = fork.reason(setting.key, config.settings, config.launch)
    if reason is not None and reason.impact == "numerics":
        return Words(reason.en, reason.zh)
    return say.fork_flag_not_checked(fork=fork.label)


def _unchecked_flags(config: Config, fork: Dialect) -> Iterator[Setting]:
    """Fork-specific flags in a launch for which accmap has no checked fact."""
    name = next((one for one in CHECKED if fork.name.startswith(f"{one}-")), "") if fork.file is None else ""
    facts, changed = _facts_of(name, fork), CHANGED.get(name, "").split()
    for setting in config.settings.values():
        # A row of the dialect may replace the value that the launch writes; the setting is then derived.
        is_written = setting.origin == "explicit" or (setting.flag is not None and setting.raw is not None)
        if is_written and (setting.key in fork.own or setting.key in changed):
            conditions = [when for arguments, when in facts if setting.key in arguments]
            if not any(not when or fork.holds(when, config.settings, config.launch) for when in conditions):
                yield setting


def _facts_of(name: str, fork: Dialect) -> list[tuple[list[str], str]]:
    """Checked arguments of a fork's version, each group with its condition."""
    order, version = dialect_versions(name), fork.name.removeprefix(f"{name}-")
    return [
        (one["arguments"].split(), one.get("when", ""))
        for one in CHECKED.get(name, ())
        if version in versions_in(str(one["versions"]), order)
    ]


class Findings(NamedTuple):
    """The linter's findings about a pair. The rules stand above this room, so that a caller hands them in."""

    diagnostics: Sequence[Diagnostic] = ()
    of_pairs: frozenset[str] = frozenset()
    """Codes of the rules that compare two files."""

    def leave_out(self, fields: Collection[str]) -> Findings:
        """The findings that are not about these fields or keys alone."""
        rest = [
            one
            for one in self.diagnostics
            if not (one.fields and set(one.fields) <= set(fields)) and dict(one.values).get("key") not in fields
        ]
        return self._replace(diagnostics=rest)


_NOT_CARRIED = "not-carried-over"
"""The rule of what the other framework cannot do at all; of a pair, too, it looks at one file."""
_CERTAIN = ("DEF", "MAP108", "MAP126")
"""Known defects, what loads and cannot run, and what stops where it is built."""


def known_differences(
    configs: Sequence[Config],
    findings: Findings,
    stage: str,
    *,
    asked: Collection[str] = (),
    matched: bool = False,
) -> list[NotCompared]:
    """Everything that is known to change numbers, or to stop a run, and that the small models did not show."""
    unexercised = unexercised_fields(configs, findings, stage, asked=asked, matched=matched)
    return [*unexercised, *unseen_errors(findings)]


def unseen_errors(findings: Findings) -> Iterator[NotCompared]:
    """Errors that are certain to change numbers, or to stop a run.

    Small models are of legal sizes, and of few layers and experts.
    """
    for one in findings.diagnostics:
        if one.kind.code.startswith(_CERTAIN) and one.kind.severity == "error":
            yield NotCompared(one.kind.code, one.words())


def unexercised_fields(
    configs: Sequence[Config],
    findings: Findings,
    stage: str,
    *,
    asked: Collection[str] = (),
    matched: bool = False,
) -> list[NotCompared]:
    """Fields that are known to change numbers and that no model was asked about, with both values.

    Of two frameworks the linter knows it; two files of one framework have the same settings. Where the models
    `matched`, what they were asked about and certainly differs did not show: a capacity that no small expert meets.
    """
    a, b = (recipe_of(config) for config in configs)
    reach = reach_of(*configs)
    known = _differing_fields(a, b) if a.framework == b.framework else _by_rules(a, b, findings)
    open_reason = say.left_open()
    found = {field: NotCompared(field, open_reason, values) for field, values in undecided_fields(*configs).items()}
    for field, entry, certain in known:
        if field is not None and is_given_alike(field, entry.values or ()):
            continue
        if field is None or (_counts(field, a, b) and not is_exercised(field, stage, asked, reach)):
            found.setdefault(entry.field, entry)
        elif matched and certain and not field.startswith(_OF_THE_WEIGHTS) and _may_hide(field, a, b):
            found.setdefault(field, entry._replace(reason=say.unseen()))
    return [*found.values(), *_unknown_arguments(configs)]


def _unknown_arguments(configs: Sequence[Config]) -> Iterator[NotCompared]:
    """Arguments of a launch that its version does not know and the other framework cannot have.

    What a fork makes of it may change the numbers.
    """
    for config in configs if len({config.framework for config in configs}) > 1 else ():
        for entry in recipe_of(config).unmapped:
            setting = config.settings.get(entry.key)
            if entry.impact == "numerics" and setting is not None and setting.acceptance == "unknown":
                yield NotCompared(setting.flag or entry.key, say.unknown_argument())


def _counts(field: FieldName, a: Recipe, b: Recipe) -> bool:
    """True if a difference in the field changes numbers, as far as known."""
    return vocabulary()[field].impact == "numerics" and counts(field, a, b) is not False


def _may_hide(field: FieldName, a: Recipe, b: Recipe) -> bool:
    """True if a difference may change numbers that small models do not show."""
    return _counts(field, a, b) and not schedules.is_settled(field, a, b)


def _by_rules(a: Recipe, b: Recipe, findings: Findings) -> Iterator[tuple[FieldName | None, NotCompared, bool]]:
    """Differing fields or keys according to the linter; True beside those that are certain.

    What a rule says of one file counts, too, where the other file's value is another.
    """
    for finding in findings.diagnostics:
        if finding.kind.severity == "info":
            continue
        reason = finding.words()
        of_both = finding.kind.name == _NOT_CARRIED or finding.kind.code in findings.of_pairs
        if of_both and not finding.fields:
            yield None, NotCompared(str(dict(finding.values).get("key", finding.kind.name)), reason), True
        for field in map(field_named, finding.fields):
            row = difference_of(field, a, b)
            if row is not None and row.status != "equal":
                values = Values(*(_value(side, field) for side in (a, b)))
                yield field, NotCompared(field, reason, values), of_both and finding.kind.severity == "error"


def _value(recipe: Recipe, field: FieldName) -> Value:
    """Value of a field; an unset one gets the neutral value."""
    value = recipe.value(field)
    return vocabulary()[field].default if value is None else value


def _differing_fields(a: Recipe, b: Recipe) -> Iterator[tuple[FieldName | None, NotCompared, bool]]:
    """Fields and keys whose values differ between two files of one framework."""
    reason = say.files_differ_here()
    for row in differences(a, b):
        if row.status != "equal" and row.impact == "numerics" and not (row.field or "").startswith(COMPUTED):
            sides = (row.a, row.b)
            key = next((side.key for side in sides if side is not None and side.key), "")
            values = Values(*(None if side is None else side.value for side in sides))
            yield row.field, NotCompared(row.field or key, reason, values), row.status == "different"


class Losses(NamedTuple):
    """Fields and keys that the conversion of either file into the other's framework loses."""

    differing: tuple[str, ...]
    alike: tuple[str, ...]
    """With equal values, of which the frameworks compute different things; a run can do without."""


def conversion_losses(a: Config, b: Config) -> Losses:
    """What conversion loses, by whether the files differ in it."""
    differing = {name: differs(name, a, b) for name in _lost_names(a, b)}
    return Losses(
        tuple(name for name, apart in differing.items() if apart),
        tuple(name for name, apart in differing.items() if not apart and name in SWITCHED_OFF),
    )


def _lost_names(a: Config, b: Config) -> dict[str, None]:
    """Fields and keys that the conversion of either file loses or only approximates."""
    names: dict[str, None] = {}
    if a.framework == b.framework:
        return names
    for source, target in ((a, b), (b, a)):
        try:
            rows = translate(source, target.framework, target.framework_version, _written_dialect(target)).rows
        except (UnreadableError, ReadBackError):
            continue
        lost = [row for row in rows if row.changes_numbers]
        names.update(dict.fromkeys(name for row in lost for name in (row.field, *row.source) if name is not None))
    return names


def differs(name: str, a: Config, b: Config) -> bool:
    """True if a field differs and changes numbers, or if a key without a field is in one of the files."""
    if name not in vocabulary():
        return a.writes(name) or b.writes(name)
    row = difference_of(field_named(name), recipe_of(a), recipe_of(b))
    return row is not None and row.status != "equal" and row.impact == "numerics" and row.counts is not False


def _written_dialect(config: Config) -> str | None:
    """Dialect of a MindSpore Transformers file; None for a launch."""
    return config.dialect if config.framework == "mindformers" else None


def keys_of(name: str, config: Config) -> Sequence[str]:
    """The keys from which a file's value of a field is read."""
    entry = recipe_of(config).fields.get(field_named(name)) if name in vocabulary() else None
    return () if entry is None else entry.keys


def values_of(name: str, a: Config, b: Config) -> Values:
    """Both values of a field, or of a key without one."""
    if name in vocabulary():
        return Values(*(recipe_of(config).value(field_named(name)) for config in (a, b)))
    return Values(*(config.value(name) for config in (a, b)))


def suspects(a: Config, b: Config, direction: str, stages: Collection[str] = ()) -> list[DifferingSetting]:
    """All settings that differ, if none that the parting module depends on does; no step made two models differ.

    Keys that no field takes up come first: no module is known to be apart from them. Where the settings are equal, what
    each framework's own formula makes of them may not be, and these `stages` show it.
    """
    alone = [field for stage, fields in ON_THEIR_OWN.items() if stage in stages for field in fields]
    more = differing_settings(a, b, [*sorted(quantities_of_stages(stages)), *alone])
    found = [*_without_field(recipe_of(a), recipe_of(b)), *differing_settings(a, b), *more]
    if direction == "initialisation":
        return found
    # Both models have the same weights, whatever the files draw.
    apart = _OF_THE_WEIGHTS if direction == "update" else (*_OF_THE_WEIGHTS, *_OF_THE_STEPS)
    return [entry for entry in found if not entry.field.startswith(apart)]


def _without_field(a: Recipe, b: Recipe) -> Iterator[DifferingSetting]:
    """Differing keys without a recipe field that change numbers, with both values."""
    sure = {entry.key for recipe in (a, b) for entry in recipe.unmapped if entry.sure and entry.impact == "numerics"}
    for row in differences(a, b):
        written = row.a or row.b
        if row.field is None and row.status != "equal" and written is not None and written.key in sure:
            yield DifferingSetting(written.key, *_values(row))


def fields_not_compared(a: Config, b: Config, asked: Collection[str] = ()) -> list[NotCompared]:
    """Fields that are not compared for this pair, with both values if they differ; these stages were `asked`."""
    recipes = recipe_of(a), recipe_of(b)
    reach = reach_of(a, b)
    asked = {*asked, "forcing"} if runs_forced_routing(a, b) else asked
    return [
        NotCompared(field, row.why, _both_values(field, recipes))
        for row in LEFT_OUT
        for field in row.fields
        if _is_listed(field, row, recipes, asked, reach)
    ]


def _is_listed(
    field: FieldName,
    row: LeftOut,
    recipes: tuple[Recipe, Recipe],
    asked: Collection[str],
    reach: Reach,
) -> bool:
    """True if a field that the run does not cover must be listed, by the condition in its table row."""
    always = {
        "always": True,
        "without rates": "rates" not in asked,
        "without scales": "scales" not in asked,
        "without samples": "samples" not in asked,
        "without weighting": not reach.weighed,
        "without keeping": not reach.kept,
        "without graph": COMPILED not in asked,
    }
    if row.listed in always:
        return always[row.listed]
    meant = [recipe for recipe in recipes if says_something(field, recipe) is not False]
    if row.listed.removeprefix("without ") in asked:
        return False
    if row.listed == "with a meaning":
        return bool(meant)
    return not (row.listed == "without documents" and reach.separated) and any(
        _is_set(field, recipe) for recipe in meant
    )


def _is_set(field: FieldName, recipe: Recipe) -> bool:
    """True if the recipe's value differs from the field's default."""
    value = recipe.value(field)
    return value is not None and not is_equal_field(field, value, vocabulary()[field].default)


def _both_values(field: FieldName, recipes: tuple[Recipe, Recipe]) -> Values | None:
    """Values of both sides if both set one and they differ."""
    values = Values(*(recipe.value(field) for recipe in recipes))
    return None if None in values or is_equal_field(field, *values) else values


def _values(row: Difference) -> Values:
    return Values(*(None if side is None else side.value for side in (row.a, row.b)))


_STATIC = "static"


def known_ratios(
    configs: tuple[Config, Config], sizes: dimensions.Sizes, script: Mapping[str, Any]
) -> dict[str, float]:
    """Known ratio of initial spreads between two files, by kind of parameter, that no setting can equalize.

    Experts' second matrix: MindSpore Transformers does not divide. The shared experts' gate: it takes MindSpore's own
    deviation for a Dense layer, 1/√(3·width) (`mindspore/nn/layer/basic.py:Dense`, HeUniform of √5). The dynamic graph
    does not initialize the gate from 2.0 on (DEF561).
    """
    a, b = configs
    less = 1 / math.sqrt(2 * (sizes.get(dimensions.LAYERS) or 1))
    if (a.framework, b.framework) == ("megatron", "mindformers"):
        deviation = _deviation(script)
        known: dict[str, float] = {}
        if sizes.get(dimensions.EXPERTS):
            gate = deviation * math.sqrt(3 * sizes[dimensions.HIDDEN])
            known = dict(_in_blocks({INITIAL_WEIGHTS["experts"]: less, INITIAL_WEIGHTS["gate"]: gate}))
        return known | _ratios_to_dynamic(b, deviation, less)
    if (a.dialect, b.dialect) == (DYNAMIC, _STATIC):
        return {kind: 1 / ratio for kind, ratio in known_ratios((b, a), sizes, script).items()}
    if (a.dialect, b.dialect) != (_STATIC, DYNAMIC) or not within(
        b.framework_version, OWN_DEVIATIONS[-1]["since"], None
    ):
        return {}
    deviation, own = recipe_of(a).value("init.std"), OWN_DEVIATIONS[-1]["deviation"]
    if not isinstance(deviation, (int, float)):
        return {}
    known = _ratios_to_dynamic(b, deviation, less)
    if sizes.get(dimensions.EXPERTS):
        known.update(_in_blocks({INITIAL_WEIGHTS["experts"]: deviation / own}))
    return known


def _ratios_to_dynamic(config: Config, deviation: float, less: float) -> dict[str, float]:
    """Ratios to the dynamic graph, of a side that draws with a deviation and less of it towards the residual stream."""
    known: dict[str, float] = {}
    drawn: Sequence[Mapping[str, Any]] = OWN_DEVIATIONS if config.dialect == DYNAMIC else ()
    for own in drawn:
        if within(config.framework_version, own["since"], own["until"]):
            ratio = deviation / float(own["deviation"])
            each = {"router": ratio, "inward": ratio, "outward": ratio * less, "top": ratio}
            for group in own["of"]:
                ratios = dict.fromkeys(map(str, INITIAL_WEIGHTS[group]), each[group])
                known.update(ratios if group == "top" else _in_blocks(ratios))
    return known


def _in_blocks(ratios: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Ratios repeated under the name of each kind of block."""
    for block in INITIAL_WEIGHTS["blocks"]:
        for name, ratio in ratios.items():
            yield f"{block}.{name}", ratio


def _deviation(script: Mapping[str, Any]) -> float:
    """Standard deviation of the initialization; 0.02 if the launch sets none."""
    given = script.get("init_method_std")
    return float(given) if isinstance(given, (int, float)) else 0.02
