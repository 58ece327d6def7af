"""Whether anything is known of the network that a file trains."""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..config import Config
    from ..diagnostic import Diagnostic

REASON = "what the model class builds is not known"
"""Why the fields of such a network are undecided."""
_UNKNOWN = ("MAP060", "MAP061", "MAP107")
"""No class, none of this version, none whose code is known here."""
_NO_DIRECTORY = "MAP067"


def unknown_class(config: Config) -> Diagnostic | None:
    """Why nothing is known of the network that a file trains; None where its class is known."""
    if config.framework != "mindformers" or config.dialect == "dynamic":
        return None
    codes = _UNKNOWN if "resolved.model.class" in config.settings else (*_UNKNOWN, _NO_DIRECTORY)
    return next((problem for problem in config.problems if problem.kind.code in codes), None)
