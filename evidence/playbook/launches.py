"""The lines of a playbook that start a run, and what each line of a check makes.

In the table a line `@megatron SCRIPT LOG [NAME=VALUE…]` or `@mindformers CONFIG LOG [NAME=VALUE…]` stands for the
launch of one side, filled in from `playbook.toml`; `@initial FOLDER HOME GIVEN` for the run that makes a checkpoint to
begin with, which falls away where one is given.

`fill_example` completes the example files: weights of their stage, data, devices, programs. Megatron-LM 0.12 to 0.19
`training/arguments.py`: `--finetune` begins at step 0, optimizer and random numbers are not loaded. MindSpore
Transformers 1.6 to 2.1, static graph: `load_checkpoint`.
"""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, Literal

from ...schemas.border.text_output import shell_word
from ...schemas.fast_records import NamedTuple
from .settings import Settings, fill_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MADE = "initial/checkpoint"
"""Where MindSpore Transformers leaves a checkpoint below its output directory."""
_PORT = "8118"
_PATIENCE = "7200"


class Layout(NamedTuple):
    """The place of a playbook, and the settings by which its runs are started."""

    home: str = "."
    settings: Settings = Settings()
    devices: Mapping[str, int] = {}
    """How many devices the example files of a folder take; one where it is not listed."""
    dynamic: bool = False
    """Whether MindSpore Transformers runs its dynamic graph."""
    trees: tuple[str, ...] = ()
    """Options that name the source trees that are here, for the commands that run both models."""

    def path_of(self, path: str) -> str:
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
        "script": shell_word(layout.path_of(script)),
        "log": shell_word(layout.path_of(log)),
    }
    return Action(_with(machines.launch, values, variables, layout), "launch", log)


def _mindformers(config: str, log: str, variables: list[str] | tuple[()], layout: Layout, made: str) -> Action:
    machines = layout.settings.mindformers
    folder = os.path.dirname(config)
    count, local = layout.devices.get(folder, 1), machines.devices_per_node
    logs = shell_word(layout.path_of(log))
    one = f"{count} {_PORT} {logs} False {_PATIENCE}"
    several = f"{count} {local} $MASTER_ADDR {_PORT} $NODE_RANK {logs} False {_PATIENCE}"
    values = {
        "source": machines.source,
        "variables": shell_word(layout.path_of("2-preparation/environment.sh")),
        "program": layout.path_of("patches/run_mindformer.py"),
        "config": layout.path_of(config) + (" --mode 1" if layout.dynamic else ""),
        "devices": one if count <= local else several,
        "log": logs,
    }
    return Action(_with(machines.launch, values, list(variables), layout), "launch", made)


def _with(line: str, values: Mapping[str, str], variables: list[str], layout: Layout) -> str:
    """A launch line with its places filled and, where it has no place for them, its variables in front."""
    pairs = [word.partition("=") for word in variables]
    set_here = "".join(f"{name}={shell_word(value.replace('HOME', layout.home, 1))} " for name, _, value in pairs)
    made = fill_places(line, {**values, "environment": set_here})
    return made if "{environment}" in line or not set_here else f"export {set_here.strip()}; {made}"


_SHARED = "2-preparation"
_OWN = "5-scale-up"
_OUTPUT = re.compile(r"^OUTPUT_ARGS=\(\n", re.MULTILINE)
_EMPTY = re.compile(r'^load_checkpoint: ""$', re.MULTILINE)
_MADE_AT = re.compile(r'^output_dir: "\./output"$', re.MULTILINE)
_PROGRAM = re.compile(r"^( +)pretrain_gpt\.py \\$", re.MULTILINE)
_NODES = re.compile(r"^NNODES=(\d+)\nGPUS_PER_NODE=(\d+)$", re.MULTILINE)
_EXAMPLES = ("example.sh", "example.yaml", "example_init_weights.yaml")


def fill_example(path: str, text: str, home: str, settings: Settings) -> str:
    """An example file of the playbook with everything that a run needs; any other file as it is."""
    folder, name = os.path.split(path)
    weights = _weights_of(folder)
    if name not in _EXAMPLES or weights is None:
        return text
    text = _with_data(text, settings.paths)
    place = os.path.join(home, weights).replace("\\", "/")
    if name == "example_init_weights.yaml":
        return _MADE_AT.sub(lambda _: f'output_dir: "{place}/initial"', text, count=1)
    if name == "example.yaml":
        return _EMPTY.sub(lambda _: f'load_checkpoint: "{place}/mindformers"', text, count=1)
    program = os.path.join(home, "patches", "pretrain_gpt.py").replace("\\", "/")
    text = _PROGRAM.sub(lambda found: f"{found[1]}{_shell_path(program)} \\", text, count=1)
    text = _on_machines(text, settings.megatron.devices_per_node)
    if re.search(r"^ +--load ", text, re.MULTILINE):
        return text
    words = f"    --load '{_escape_quotes(place)}/megatron' --ckpt-format {settings.form}\n"
    words += "    --finetune --no-load-optim --no-load-rng\n"
    return _OUTPUT.sub(lambda found: found[0] + words, text, count=1)


def devices_of(text: str) -> int:
    """Number of devices that a written script takes."""
    found = _NODES.search(text)
    return int(found[1]) * int(found[2]) if found else 1


def _weights_of(folder: str) -> str | None:
    """Folder of an example's weights; None if the example is not one of the playbook's."""
    if folder.startswith(_OWN):
        return f"{folder}/weights"
    return f"{_SHARED}/weights" if folder.startswith((_SHARED, "4-long-run")) else None


def _with_data(text: str, paths: Mapping[str, str]) -> str:
    for name, place in paths.items():
        if name != place:
            text = re.sub(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", lambda _, to=place: to, text)
    return text


def _on_machines(text: str, local: int) -> str:
    """The same devices on as many machines as they need."""
    devices = devices_of(text)
    if not _NODES.search(text) or (devices > local and devices % local):
        return text
    nodes = max(1, devices // local)
    return _NODES.sub(f"NNODES={nodes}\nGPUS_PER_NODE={devices // nodes}", text, count=1)


def _shell_path(path: str) -> str:
    return path if re.fullmatch(r"[\w./+:@%=-]+", path) else f"'{_escape_quotes(path)}'"


def _escape_quotes(path: str) -> str:
    return path.replace("'", "'\\''")
