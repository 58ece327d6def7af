"""Whether what a translation has written gets through its first step, by the target framework's own words.

The written text is read back: what its reader refuses, and what the table of `mappings/stops.yaml` knows to stop
later, are the reasons why the file loads into no run, or into one that stops.
"""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.building import not_built
from ..recipe.reading import recipe_of
from ..stopping import stopping
from .read_back import as_read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...schemas.config import Config
    from ...schemas.diagnostic import Language
    from ..stopping import Stopping
    from .target import Translation


_UNBUILT = "stops-when-built"


class Obstacle(NamedTuple):
    """One reason why the written file does not run."""

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
        from ..answers_compiled import obstacle_json

        return obstacle_json(self, language)


def obstacles(translation: Translation, text: str) -> tuple[Obstacle, ...]:
    """Why the file that was written for a translation stops; nothing where it runs, as far as is known."""
    config = translation.written or as_read(translation, text)
    return tuple(_found(config))


def of_network(config: Config) -> tuple[Obstacle, ...]:
    """What stops a network in any program: all that matters of a run whose model's `config.json` is written.

    What trains it, what that is built from (`not_built`), and what one framework alone cannot do stay behind.
    """
    return tuple(_obstacle(one) for one in stopping(config, recipe_of(config)) if one.stop.network)


def _obstacle(one: Stopping) -> Obstacle:
    return Obstacle(one.stop.at, one.stop.name, one.en, one.zh, one.stop.instead)


def standing(config: Config) -> tuple[Obstacle, ...]:
    """What is known to stop a file that loads: at its first step, or where Megatron-LM builds what trains it."""
    stops = [_obstacle(one) for one in stopping(config, recipe_of(config))]
    stops += [Obstacle(one.key, _UNBUILT, *one.why.both(), None) for one in not_built(config) if one.certain]
    return tuple(stops)


def _found(config: Config) -> Iterator[Obstacle]:
    stops = standing(config)
    yield from stops
    seen = {one.en for one in stops}
    for problem in config.problems:
        said = problem.message("en")
        if problem.kind.severity == "error" and said not in seen:
            seen.add(said)
            yield Obstacle(None, problem.kind.code, said, problem.message("zh"), None)
