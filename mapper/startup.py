"""Reasons why a file loads into no run, or into a run that stops, by the framework's own words.

A file's own reader refuses some settings; the table of `mappings/stops.yaml` knows others that stop a run later, and
Megatron-LM's builders refuse a few more. A written text is read back and asked the same.
"""

from __future__ import annotations

from ..mappings.tables import field_named
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.megatron.effective import unmet_requirements
from ..schemas.megatron.forks import fork_of
from ..schemas.versions import within
from .conditions import holds
from .recipe.reading import recipe_of, side_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..mappings.tables import Condition, SideName
    from ..schemas.config import Config, Value
    from ..schemas.diagnostic import Language
    from .recipe.values import Recipe
    from .translate.result import Translation


class StopReason(NamedTuple):
    """A row of the table that holds for a file, its sentences filled in."""

    stop: Stop
    en: str
    zh: str


def stop_reasons(config: Config, recipe: Recipe) -> Iterator[StopReason]:
    """Every row of the table that holds for a file; a legacy file, and what is undecided, are let pass."""
    if config.dialect == "legacy":
        return
    side, version = side_of(config), config.framework_version

    def value_of(name: str) -> Value:
        return config.value(name[1:]) if name.startswith(":") else recipe.value(field_named(name))

    forked = fork_of(config) is not None
    for stop in stops():
        if (
            not stop.covers(side, version)
            or (forked and stop.program)
            or not all(holds(condition, value_of) for condition in stop.when)
        ):
            continue
        if all(_is_decided(name, config, recipe) for name, *_ in stop.when):
            yield StopReason(stop, _fill_fields(stop.en, value_of), _fill_fields(stop.zh, value_of))


def _is_decided(name: str, config: Config, recipe: Recipe) -> bool:
    """True if a value, or that there is none, can be told from the file."""
    entry = config.settings.get(name[1:]) if name.startswith(":") else recipe.fields.get(field_named(name))
    return entry is None or entry.decided


def _fill_fields(text: str, value_of: Callable[[str], Value]) -> str:
    """A sentence with the fields that it names in braces."""
    for part in text.split("{")[1:]:
        name = part.split("}", 1)[0]
        text = text.replace("{" + name + "}", str(value_of(name)))
    return text


class Obstacle(NamedTuple):
    """One reason why a file does not run."""

    key: str | None
    code: str
    en: str
    zh: str
    instead: str | None
    """The nearest setting that runs, as the file would say it."""

    def message(self, language: Language) -> str:
        """The reason in one language."""
        return self.zh if language == "zh" else self.en

    def to_json(self, language: Language) -> dict[str, object]:
        """The contract's entry of `will_not_run`."""
        from .answers_compiled import obstacle_json

        return obstacle_json(self, language)


def obstacles(translation: Translation, text: str) -> tuple[Obstacle, ...]:
    """The reasons why the file that was written for a translation stops; none if it runs, as far as is known."""
    from .translate.read_back import as_read

    config = translation.written or as_read(translation, text)
    found = list(startup_obstacles(config))
    seen = {one.en for one in found}
    for problem in config.problems:
        text = problem.message("en")
        if problem.kind.severity == "error" and text not in seen:
            seen.add(text)
            found.append(Obstacle(None, problem.kind.code, text, problem.message("zh"), None))
    return tuple(found)


def startup_obstacles(config: Config) -> tuple[Obstacle, ...]:
    """The known reasons that stop a file which loads: at its first step, or when Megatron-LM builds what trains it."""
    return (
        *(_obstacle(one) for one in stop_reasons(config, recipe_of(config))),
        *(
            Obstacle(one.key, "stops-when-built", *one.why.both(), None)
            for one in unmet_requirements(config)
            if one.certain
        ),
    )


def network_obstacles(config: Config) -> tuple[Obstacle, ...]:
    """The reasons that stop a network in any program: all that matters of a run whose `config.json` is written.

    What trains it, what that is built from (`unmet_requirements`), and what one framework alone cannot do stay behind.
    """
    return tuple(_obstacle(one) for one in stop_reasons(config, recipe_of(config)) if one.stop.network)


def _obstacle(reason: StopReason) -> Obstacle:
    return Obstacle(reason.stop.at, reason.stop.name, reason.en, reason.zh, reason.stop.instead)


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
        """True if it speaks of a side and a version of it."""
        return self.side == side and within(version, self.since, self.until)


_loaded: list[tuple[Stop, ...]] = []


def stops() -> tuple[Stop, ...]:
    """Every row of the table."""
    if not _loaded:
        from ..mappings.stops_compiled import STOPS

        _loaded.append(tuple(Stop(*row) for row in STOPS))
    return _loaded[0]
