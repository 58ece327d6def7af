"""A source that its own framework would not start: there is no run to translate, or to verify."""

from __future__ import annotations

from .diagnostic import UnreadableError, finding
from .light_typing import TYPE_CHECKING
from .messages_compiled import say

if TYPE_CHECKING:
    from .config import Config
    from .diagnostic import Diagnostic

_NAMES = {"megatron": "Megatron-LM", "mindformers": "MindSpore Transformers"}
_NOT_GIVEN = "MAP117"


def what_stops(config: Config) -> list[Diagnostic]:
    """What the framework's own checks at its start refuse."""
    return [one for one in config.problems if one.effect == "stops"]


def require_accepted(config: Config) -> None:
    """UnreadableError where what the source's own framework checks at its start stops it."""
    stops = [one for one in config.problems if one.effect == "stops" or one.kind.code == _NOT_GIVEN]
    if not stops:
        return
    first = stops[0]
    others = len(stops) - 1
    more = say.more_stops(count=others) if others else ""
    said = say.refused(
        framework=_NAMES[config.framework],
        version=config.framework_version,
        file=config.file,
        why=first.words(),
        more=more,
    )
    raise UnreadableError(finding(said, config.file, first.span))
