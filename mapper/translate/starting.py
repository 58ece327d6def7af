"""Whether what a translation has written gets through its first step, by the target framework's own words.

The written text is read back: what its reader refuses, and what the table of `mappings/stops.yaml` knows to stop
later, are the reasons why the file loads into no run, or into one that stops.
"""

from __future__ import annotations

from ...schemas.config import ReadOptions
from ...schemas.diagnostic import UnreadableError, finding
from ...schemas.light_typing import TYPE_CHECKING, NamedTuple
from ...schemas.messages_compiled import say
from ...schemas.reader import config_of
from ...schemas.source import SourceText
from ..recipe.reading import recipe_of
from ..stopping import stopping

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...schemas.diagnostic import Language
    from .target import Translation

_NAMES = {"megatron": "written.sh", "mindformers": "written.yaml"}


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
        return {"key": self.key, "code": self.code, "message": self.message(language), "instead": self.instead}


def obstacles(translation: Translation, text: str) -> tuple[Obstacle, ...]:
    """Why the file that was written for a translation stops; nothing where it runs, as far as is known."""
    framework = translation.target_framework
    options = (
        ReadOptions(megatron=translation.version)
        if framework == "megatron"
        else ReadOptions(mindformers=translation.version, dialect=translation.dialect)
    )
    return tuple(_found(text, _NAMES[framework], options, whole=not _has_holes(translation)))


def _has_holes(translation: Translation) -> bool:
    """Whether something that the run needs is still to be filled in, which the report says: any reader stops there."""
    return any(row.status == "unresolved" and row.impact != "none" for row in translation.rows)


def _found(text: str, name: str, options: ReadOptions, *, whole: bool) -> Iterator[Obstacle]:
    config = config_of(SourceText(name, text), options, path=name, open_file=_no_other)
    seen: set[str] = set()
    for one in stopping(config, recipe_of(config)):
        seen.add(one.en)
        yield Obstacle(one.stop.at, one.stop.name, one.en, one.zh, one.stop.instead)
    for problem in config.problems if whole else ():
        said = problem.message("en")
        if problem.kind.severity == "error" and said not in seen:
            seen.add(said)
            yield Obstacle(None, problem.kind.code, said, problem.message("zh"), None)


def _no_other(path: str) -> SourceText:
    """What is written is not on the disk, and nothing beside it is read."""
    raise UnreadableError(finding(say.missing(path=path), path))
