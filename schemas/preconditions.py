"""A source that there is no run of to translate, or to verify: its own framework stops, or its network is not known."""

from __future__ import annotations

from .diagnostic import UnreadableError, diagnose
from .fast_records import TYPE_CHECKING
from .messages_compiled import say
from .versions import TITLES

if TYPE_CHECKING:
    from .config import Config
    from .diagnostic import Diagnostic

_NOT_GIVEN = "MAP117"
NOT_KNOWN = "what the model class builds is not known"
"""Why the fields of a network are undecided that nothing is known of."""
_UNKNOWN = ("MAP060", "MAP061", "MAP107")
"""No class, none of this version, none whose code is known here."""
_NO_DIRECTORY = "MAP067"


def what_stops(config: Config) -> list[Diagnostic]:
    """The problems with which the framework's own checks stop at its start."""
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
        framework=TITLES[config.framework],
        version=config.framework_version,
        file=config.file,
        why=first.words(),
        more=more,
    )
    raise UnreadableError(diagnose(said, config.file, first.span))


def unknown_class(config: Config) -> Diagnostic | None:
    """The reason why nothing is known of the network that a file trains; None if its class is known."""
    if config.framework != "mindformers" or config.dialect == "dynamic":
        return None
    codes = _UNKNOWN if "resolved.model.class" in config.settings else (*_UNKNOWN, _NO_DIRECTORY)
    return next((problem for problem in config.problems if problem.kind.code in codes), None)
