"""Conditions that a framework checks before the first step, and those that a configuration does not meet.

Every command asks `refusals`, and none has a check of its own. The conditions are rows: of the readers (what parser,
validation and configuration classes refuse: `validation.yaml`, `resolution.yaml`), of what Megatron-LM builds after
its validation (the stage `building` of `validation.yaml`), and of `mappings/stops.yaml` (what loads and stops later).
A text that was written is read back and asked the same.
"""

from __future__ import annotations

from ..mappings.keys_compiled import ADAPTER_TARGETS, RATE_GROUP_NAMES, RATE_GROUPS, RUN_MODE
from ..mappings.tables import field_named, table
from ..schemas.diagnostic import UnreadableError, diagnose
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.file_kind import ARGUMENTS_NOT_GIVEN
from ..schemas.megatron.effective import more_may_stand, unmet_requirements
from ..schemas.megatron.forks import UNKNOWN_FLAGS, fork_of, may_take_stop
from ..schemas.message import NOTHING, Words
from ..schemas.messages_compiled import say
from ..schemas.plain_values import brief_text
from ..schemas.shared_words import in_brackets, join_words, mark
from ..schemas.versions import TITLES, within
from .conditions import holds
from .recipe.reading import recipe_of, side_of
from .recipe.vocabulary import is_infinite, limit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Literal, TypeAlias

    from ..mappings.tables import Condition, SideName
    from ..schemas.config import Config, Value
    from ..schemas.diagnostic import Diagnostic, Language
    from ..schemas.source import Span
    from .recipe.values import Recipe
    from .translate.result import Translation

    Subject: TypeAlias = Literal["model", "layout", "data", "schedule", "optimizer", "precision", "environment"]
    FoundBy: TypeAlias = Literal["reader", "builder", "table"]

_SUBJECTS: dict[str, Subject] = {
    **dict.fromkeys(("model", "attention", "position", "norm", "activation", "init", "moe", "mtp"), "model"),
    **dict.fromkeys(("parallel", "recompute", "fusion"), "layout"),
    **dict.fromkeys(("data", "batch"), "data"),
    **dict.fromkeys(("optimizer", "gradient"), "optimizer"),
    "schedule": "schedule",
    "run": "schedule",
    "precision": "precision",
}
"""The subject of a condition by the topic of the field that its key decides; of any other key, the environment."""
OF_NETWORK: tuple[Subject, ...] = ("model",)
"""What a checkpoint depends on."""
OF_DATA: tuple[Subject, ...] = ("data",)
"""What the samples depend on."""


class Refusal(NamedTuple):
    """One condition that a configuration does not meet, so that its run stops before the first step."""

    subject: Subject
    key: str | None
    """The key that it is about."""
    code: str
    en: str
    zh: str
    instead: str | None
    """The nearest setting that runs, as the file would say it."""
    span: Span | None
    certain: bool
    """False if what is not in the file, or a fork, may meet the condition."""
    fields: frozenset[str]
    """The fields of the recipe that it depends on, as far as they are known."""
    found_by: FoundBy
    condition: str = ""
    """The framework's own expression, where it is known."""
    rule: str | None = None
    """A rule of the linter that says the same."""

    def message(self, language: Language) -> str:
        """The reason in one language."""
        return self.zh if language == "zh" else self.en

    def to_json(self, language: Language) -> dict[str, object]:
        """The contract's entry of `will_not_run`."""
        from .answers_compiled import refusal_json

        return refusal_json(self, language)


def refusals(config: Config) -> tuple[Refusal, ...]:
    """All conditions that a configuration does not meet; empty for files that are not training runs."""
    recipe = recipe_of(config)
    return (*_by_reader(config, recipe), *startup_refusals(config, recipe))


def startup_refusals(config: Config, recipe: Recipe) -> tuple[Refusal, ...]:
    """Unmet conditions of a loadable file that stop the run when it is built or at the first step."""
    return (
        *_by_size(config, recipe), *_by_builders(config, recipe), *_by_table(config, recipe), *_by_names(config, recipe)
    )  # fmt: skip


def require_accepted(config: Config, subjects: Collection[Subject] | None = None) -> None:
    """UnreadableError with all reasons if the source's framework would stop before the first step.

    With `subjects` only their conditions count: a checkpoint does not depend on the schedule.
    """
    found = [one for one in refusals(config) if one.certain and (subjects is None or one.subject in subjects)]
    if not found:
        return
    said = say.refused(
        framework=TITLES[config.framework],
        version=_version_text(config),
        file=config.file,
        why=join_words((_without_stop(one) for one in found), "semicolon"),
        another=_another_version(config),
    )
    file, span = config.file, found[0].span
    if span is not None and span.file is not None:  # a launch whose YAML is at fault
        file, span = span.file, span._replace(file=None)
    raise UnreadableError(diagnose(said, file, span))


def _version_text(config: Config) -> Words:
    """The version, with a remark if nothing names it: another version may accept the run."""
    version = config.framework_version
    if config.version_origin != "assumed":
        return Words(version, f"{version} ")  # a Chinese sentence goes on after a bracket without a space
    remark = say.assumed()
    return Words(version + in_brackets(remark.en, "en"), version + in_brackets(remark.zh, "zh"))


def _another_version(config: Config) -> Words:
    """How to ask for another version, if nothing names the one that refuses the run."""
    if config.version_origin != "assumed":
        return NOTHING
    return say.another_version_may_start(file=config.file, framework=config.framework)


def _without_stop(one: Refusal) -> Words:
    """Texts without the full stop at the end."""
    return Words(one.en.rstrip(mark("stop", "en")), one.zh.rstrip(mark("stop", "zh")))


def refusals_of_text(translation: Translation, text: str) -> tuple[Refusal, ...]:
    """Reasons why a written file would stop; empty if none is known.

    A reason is not certain if what it is about is still to be filled in: a field that the source leaves open, or one
    that neither file says.
    """
    from .translate.read_back import as_read

    config = translation.written or as_read(translation, text)
    recipe = recipe_of(config)
    found = {one.en: one for one in startup_refusals(config, recipe) if one.certain}
    told = {one.span for one in found.values() if one.found_by == "table" and one.span is not None}
    for problem in config.problems:
        # What the framework refuses at a place where the table says it too, and what to write instead, is one reason.
        if problem.kind.code in UNKNOWN_FLAGS:
            continue
        if problem.kind.severity == "error" and not (problem.effect == "stops" and problem.span in told):
            found.setdefault(problem.message("en"), _of_problem(problem, config, recipe))
    return tuple(_judge_certainty(found.values(), translation, recipe))


def _judge_certainty(found: Iterable[Refusal], translation: Translation, recipe: Recipe) -> Iterator[Refusal]:
    """Refusals, marked uncertain if they concern a value still to be filled in."""
    left_open = {row.field for row in translation.rows if row.status == "unresolved"}
    written = {name for name, value in recipe.fields.items() if value.origin == "explicit"}
    for one in found:
        is_missing = bool(one.fields) and written.isdisjoint(one.fields)
        yield one._replace(certain=left_open.isdisjoint(one.fields) and not is_missing)


def network_refusals(config: Config) -> tuple[Refusal, ...]:
    """Reasons that stop a network in any program, independent of training settings.

    What trains it, what that is built from, and what one framework alone cannot do stay behind.
    """
    recipe = recipe_of(config)
    names = {stop.name for stop in stops() if stop.network}
    return tuple(one for one in _by_table(config, recipe) if one.code in names)


def _by_reader(config: Config, recipe: Recipe) -> Iterator[Refusal]:
    """Problems of the readers that stop the run: refusals of parser, validation and configuration classes."""
    for problem in config.problems:
        if problem.kind.code in UNKNOWN_FLAGS:
            continue  # the flag is dropped with a row of its own: a fork may know it
        if problem.effect == "stops" or problem.kind.code == ARGUMENTS_NOT_GIVEN:
            yield _of_problem(problem, config, recipe)


def _of_problem(problem: Diagnostic, config: Config, recipe: Recipe) -> Refusal:
    """Refusal for a problem that the reader found."""
    span = problem.span
    if span is not None and span.file is None and problem.file != config.file:
        span = span._replace(file=problem.file)  # a launch's YAML
    key = _key_at(config, span)
    spans = [place.span for place in problem.related]
    named = [str(value) for name, value in problem.values if name in ("key", "condition")]
    keys = [key, *(_key_at(config, span) for span in spans), *_names_in(" ".join(named))]
    return Refusal(
        _subject(key, recipe),
        None,
        problem.kind.code,
        problem.message("en"),
        problem.message("zh"),
        None,
        span,
        certain=True,
        fields=_fields_of(keys, config, recipe),
        found_by="reader",
    )


def _by_size(config: Config, recipe: Recipe) -> Iterator[Refusal]:
    """Refusals for infinite numbers, for integers out of range and for counts beyond any memory."""
    told: set[str] = set()
    for name, entry in recipe.fields.items():
        for key in () if entry.decided else entry.keys:
            value = config.value(key)
            limit = limit_of(name, value)
            if (limit is None and not is_infinite(name, value)) or key in told:
                continue
            told.add(key)
            given = brief_text(value)
            why = (
                say.is_finite(key=key, value=given)
                if limit is None
                else say.is_at_most(key=key, most=limit, value=given)
            )
            instead = "a finite number" if limit is None else f"{key}: {limit}"
            yield Refusal(
                _subject(key, recipe), key, "number-too-large", *why.both(), instead, _span_of(config, key),
                certain=True, fields=frozenset((name,)), found_by="table",
            )  # fmt: skip


def _by_builders(config: Config, recipe: Recipe) -> Iterator[Refusal]:
    """Refusals for settings that pass Megatron-LM's validation but that it cannot build."""
    for one in unmet_requirements(config):
        yield Refusal(
            _subject(one.key, recipe),
            one.key,
            "stops-when-built",
            *one.why.both(),
            None,
            _span_of(config, one.key),
            certain=one.certain,
            fields=_fields_of([one.key], config, recipe),
            found_by="builder",
            condition=one.condition,
        )


def _by_table(config: Config, recipe: Recipe) -> Iterator[Refusal]:
    """Refusals by the rows of `stops.yaml` whose condition holds."""
    side, version = side_of(config), config.framework_version
    if config.dialect == "legacy" or _has_other_mode(config):
        return

    def value_of(name: str) -> Value:
        return config.value(name[1:]) if name.startswith(":") else recipe.value(field_named(name))

    forked = fork_of(config) is not None
    for stop in stops():
        if (
            not stop.covers(side, version)
            or (config.framework == "huggingface" and not stop.network)  # a model, which no framework trains yet
            or (forked and stop.program)
            or not all(holds(condition, value_of) for condition in stop.when)
            or not all(_is_decided(name, config, recipe) for name, *_ in stop.when)
        ):
            continue
        yield Refusal(
            _subject(stop.at, recipe),
            stop.at,
            stop.name,
            _fill_fields(stop.en, value_of),
            _fill_fields(stop.zh, value_of),
            stop.instead,
            _span_of(config, stop.at),
            certain=not may_take_stop(config, stop.rule) and (config.writes(stop.at) or not _may_stand(config)),
            fields=frozenset(name for name, *_ in stop.when if not name.startswith(":")),
            found_by="table",
            rule=stop.rule,
        )


def _by_names(config: Config, recipe: Recipe) -> Iterator[Refusal]:
    """Refusals for groups of learning rates and for adapters whose patterns fit no name of the model."""
    first, target = f"{RATE_GROUPS}[0].{RATE_GROUP_NAMES}", config.value(ADAPTER_TARGETS)
    if not (config.writes(first) or isinstance(target, str)) or config.dialect == "legacy" or _has_other_mode(config):
        return
    from .messages_compiled import say as named
    from .weight_layout import UndecidedSizeError, groups_without_parameters, has_adapters

    found: list[tuple[str, Words, str]] = []
    try:
        for group in groups_without_parameters(recipe, config):
            key = f"{RATE_GROUPS}[{group}].{RATE_GROUP_NAMES}"
            found.append((key, named.group_without_parameters(group=group), "params: ['*embedding*']"))
        if isinstance(target, str) and not has_adapters(recipe, config):
            found.append((ADAPTER_TARGETS, named.no_adapters(target=target), "target_modules: linear_proj"))
    except UndecidedSizeError:
        return
    for key, why, instead in found:
        yield Refusal(
            "optimizer", key, "no-such-parameter", *why.both(), instead, _span_of(config, key),
            certain=True, fields=frozenset(), found_by="table",
        )  # fmt: skip


def _has_other_mode(config: Config) -> bool:
    """True if a YAML is for something else than training."""
    return config.framework == "mindformers" and config.value(RUN_MODE) not in (None, "train", "finetune")


def _may_stand(config: Config) -> bool:
    """True if a launch may contain arguments that accmap cannot see."""
    launch = config.launch
    return launch is not None and (launch.not_given is not None or more_may_stand(config.unresolved, config.problems))


def _subject(key: str | None, recipe: Recipe) -> Subject:
    """Topic of a condition about a key, from the first field that the key decides."""
    for name, found in recipe.fields.items():
        if key in found.keys:
            return _SUBJECTS.get(name.partition(".")[0], "environment")
    return "environment"


def _fields_of(keys: Iterable[str | None], config: Config, recipe: Recipe) -> frozenset[str]:
    """Recipe fields that these keys decide; for an absent key all that could."""
    found: set[str] = set()
    for key in keys:
        if key is None:
            continue
        found.update(name for name, value in recipe.fields.items() if key in value.keys)
        for row in table().rows:
            ways = row.side(side_of(config), config.framework_version)
            if ways is not None and any(one.rpartition(".")[2] == key for one in ways.keys):
                found.update(row.fields)
    return frozenset(found)


def _names_in(text: str) -> list[str]:
    """The words of a key, or of an expression over arguments."""
    return "".join(letter if letter.isalnum() or letter in "_." else " " for letter in text).split()


def _key_at(config: Config, span: Span | None) -> str | None:
    """The key whose value stands at a place."""
    if span is None:
        return None
    return next((one.key for one in config.settings.values() if one.span is not None and one.span == span), None)


def _span_of(config: Config, key: str) -> Span | None:
    """File position of a key's setting; None if it is not written."""
    setting = config.settings.get(key)
    return None if setting is None else setting.span


def _is_decided(name: str, config: Config, recipe: Recipe) -> bool:
    """True if the file determines a value, or its absence."""
    entry = config.settings.get(name[1:]) if name.startswith(":") else recipe.fields.get(field_named(name))
    return entry is None or entry.decided


def _fill_fields(text: str, value_of: Callable[[str], Value]) -> str:
    """Sentence with field values filled in for their names in braces."""
    for part in text.split("{")[1:]:
        name = part.split("}", 1)[0]
        text = text.replace("{" + name + "}", str(value_of(name)))
    return text


class Stop(NamedTuple):
    """One kind of run that does not get through its first step."""

    name: str
    side: str
    since: str | None
    until: str | None
    when: tuple[Condition, ...]
    """Of recipe fields or, with a colon in front, of the side's own keys."""
    at: str
    """The key it is about."""
    instead: str
    """What runs and comes nearest, as that side writes it."""
    program: bool
    """Whether it is the framework's own program that stops: a fork has a loop of its own."""
    network: bool
    """Whether the network stops in any program, so that a model's `config.json` does, too."""
    rule: str | None
    """A rule of the linter that says the same."""
    en: str
    zh: str

    def covers(self, side: SideName, version: str) -> bool:
        """True if the row applies to a framework side and version."""
        return self.side == side and within(version, self.since, self.until)


_loaded: list[tuple[Stop, ...]] = []


def stops() -> tuple[Stop, ...]:
    """Every row of the table."""
    if not _loaded:
        from ..mappings.stops_compiled import STOPS

        _loaded.append(tuple(Stop(*row) for row in STOPS))
    return _loaded[0]
