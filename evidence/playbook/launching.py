"""The lines of a playbook that start a run, and what each line of a check makes.

In the table a line `@megatron SCRIPT LOG [NAME=VALUE…]` or `@mindformers CONFIG LOG [NAME=VALUE…]` stands for the
launch of one side, filled in from `playbook.toml`; `@initial FOLDER HOME GIVEN` for the run that makes a checkpoint to
begin with, which falls away where one is given.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Literal

from ...schemas.border.outgoing import shell_word
from ...schemas.fast_records import NamedTuple
from .settings import Settings, filled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MADE = "initial/checkpoint"
"""Where MindSpore Transformers leaves a checkpoint below its output directory."""
_PORT = "8118"
_PATIENCE = "7200"


class Layout(NamedTuple):
    """Where a playbook lies, and how its runs are started."""

    home: str = "."
    settings: Settings = Settings()
    devices: Mapping[str, int] = {}
    """How many devices the example files of a folder take; one where it is not listed."""
    dynamic: bool = False
    """Whether MindSpore Transformers runs its dynamic graph."""
    trees: tuple[str, ...] = ()
    """Options that name the source trees that are here, for the commands that run both models."""

    def inside(self, path: str) -> str:
        """A path of the directory, from anywhere."""
        return os.path.join(self.home, path).replace("\\", "/")


class Action(NamedTuple):
    """One line of what is to be done."""

    line: str
    kind: Literal["remark", "launch", "accmap", "shell"]
    makes: str = ""
    """The file or folder by which is seen that it was done."""
    words: tuple[str, ...] = ()
    """Of an accmap command."""


def actions_of(line: str, layout: Layout) -> Iterator[Action]:
    """A line of the table as what a person or `playbook run` does."""
    first, *rest = shlex.split(line, comments=False) if line[:1] == "@" else [line]
    if first == "@initial":
        folder, home, given = rest
        if not given:
            made = f"{home}/{MADE}"
            yield _mindformers(f"{folder}/example_init_weights.yaml", f"{home}/initial.log", (), layout, made)
    elif first == "@megatron":
        yield _megatron(rest[0], rest[1], rest[2:], layout)
    elif first == "@mindformers":
        yield _mindformers(rest[0], rest[1], rest[2:], layout, rest[1])
    elif line.startswith("# "):
        yield Action(line, "remark")
    elif line.startswith("accmap "):
        words = tuple(shlex.split(line)[1:])
        made = next((words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-o", "-d", "--output")), "")
        yield Action(line, "accmap", made, words)
    else:
        yield Action(line, "shell")


def _megatron(script: str, log: str, variables: list[str], layout: Layout) -> Action:
    machines = layout.settings.megatron
    values = {
        "source": machines.source,
        "script": shell_word(layout.inside(script)),
        "log": shell_word(layout.inside(log)),
    }
    return Action(_with(machines.launch, values, variables, layout), "launch", log)


def _mindformers(config: str, log: str, variables: list[str] | tuple[()], layout: Layout, made: str) -> Action:
    machines = layout.settings.mindformers
    folder = os.path.dirname(config)
    count, local = layout.devices.get(folder, 1), machines.devices_per_node
    logs = shell_word(layout.inside(log))
    one = f"{count} {_PORT} {logs} False {_PATIENCE}"
    several = f"{count} {local} $MASTER_ADDR {_PORT} $NODE_RANK {logs} False {_PATIENCE}"
    values = {
        "source": machines.source,
        "variables": shell_word(layout.inside("2-preparation/environment.sh")),
        "program": layout.inside("patches/run_mindformer.py"),
        "config": layout.inside(config) + (" --mode 1" if layout.dynamic else ""),
        "devices": one if count <= local else several,
        "log": logs,
    }
    return Action(_with(machines.launch, values, list(variables), layout), "launch", made)


def _with(line: str, values: Mapping[str, str], variables: list[str], layout: Layout) -> str:
    """A launch line with its places filled and, where it has no place for them, its variables in front."""
    pairs = [word.partition("=") for word in variables]
    set_here = "".join(f"{name}={shell_word(value.replace('HOME', layout.home, 1))} " for name, _, value in pairs)
    made = filled(line, {**values, "environment": set_here})
    return made if "{environment}" in line or not set_here else f"export {set_here.strip()}; {made}"
