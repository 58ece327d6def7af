"""Recognizes a launch of MindSpore Transformers; gives its options as changes to the YAML that it names.

The script reads its command line with argparse, abbreviations allowed, loads the YAML and lays the options over it;
`--options a.b=c` and `--a.b c` reach any place. `launch_reading.py` does the same and finds the YAML and the
places that change, in the order of application, each with its span in the launch script. What the script would refuse,
ignore or misread is a problem.
"""

from __future__ import annotations

import posixpath

from ..fast_records import TYPE_CHECKING, NamedTuple
from ..versions import default_name, number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..config import Argument, Launch
    from ..diagnostic import Diagnostic
    from .effective import Override

DEFAULT_VERSION = default_name("mindformers", "static")


class LaunchOverrides(NamedTuple):
    """The YAML that a launch names, and its overrides."""

    config: str | None
    overrides: tuple[Override, ...] = ()
    problems: tuple[Diagnostic, ...] = ()


def is_mindformers_launch(launch: Launch) -> bool:
    """True if this starts MindSpore Transformers: `run_mindformer.py`, or any script under msrun with a YAML."""
    name = posixpath.basename(launch.script or "")
    if name == "run_mindformer.py":
        return True
    named = _yaml_named(launch.arguments)
    if "mindformer" in name or "mindformer" in (launch.script or ""):
        return named
    return named and posixpath.basename(launch.launcher or "") in ("msrun", "msrun_launcher.sh")


def is_dynamic_launch(launch: Launch, version: str = DEFAULT_VERSION) -> bool:
    """True if the launch starts the dynamic graph's trainer: `--mode 1` from 1.9 on."""
    from .launch_reading import DYNAMIC_SINCE, LaunchReading

    return number_of(version) >= DYNAMIC_SINCE and LaunchReading(launch, version, "").is_dynamic


def launch_overrides(launch: Launch, version: str = DEFAULT_VERSION, file: str = "") -> LaunchOverrides:
    """YAML, option overrides and problems of a launch of MindSpore Transformers."""
    from .launch_reading import LaunchReading

    reading = LaunchReading(launch, version or DEFAULT_VERSION, file or launch.span.file or "")
    return LaunchOverrides(reading.config(), tuple(reading.changes()), tuple(reading.problems))


def _yaml_named(arguments: Sequence[Argument]) -> bool:
    """True if `--config` names a YAML file."""
    for at, argument in enumerate(arguments):
        name, equals, value = argument.text.partition("=")
        if name == "--config":
            following = value if equals else arguments[at + 1].text if at + 1 < len(arguments) else ""
            if following.endswith((".yaml", ".yml")):
                return True
    return False
