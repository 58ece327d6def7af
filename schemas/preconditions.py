"""Problems of a file that leave no run to compare: its framework stops at its start, or its network is not known."""

from __future__ import annotations

from .fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from .config import Config
    from .diagnostic import Diagnostic

ARGUMENTS_NOT_GIVEN = "MAP117"
"""The script hands its own arguments on, and lacks what a run needs."""
NOT_KNOWN = "what the model class builds is not known"
"""Why the fields of a network are undecided that nothing is known of."""
_UNKNOWN = ("MAP060", "MAP061", "MAP107")
"""No class, none of this version, none whose code is known here."""
_NO_DIRECTORY = "MAP067"


def what_stops(config: Config) -> list[Diagnostic]:
    """The problems with which the framework's own checks stop at its start."""
    return [one for one in config.problems if one.effect == "stops"]


def unknown_class(config: Config) -> Diagnostic | None:
    """The reason why nothing is known of the network that a file trains; None if its class is known."""
    if config.framework != "mindformers" or config.dialect == "dynamic":
        return None
    codes = _UNKNOWN if "resolved.model.class" in config.settings else (*_UNKNOWN, _NO_DIRECTORY)
    return next((problem for problem in config.problems if problem.kind.code in codes), None)
