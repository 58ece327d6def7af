"""The settings of a playbook (`playbook.toml`), the lines that start a run, and what each line makes.

In the table a line `@megatron SCRIPT LOG [NAME=VALUE…]` or `@mindformers CONFIG LOG [NAME=VALUE…]` stands for the
launch of one side, filled in from `playbook.toml`; `@initial FOLDER HOME GIVEN` for the run that makes a checkpoint to
begin with, which falls away where one is given.

`fill_example` completes the example files: weights of their stage, data, devices, programs. Megatron-LM 0.12 to 0.19
`training/arguments.py`: `--finetune` begins at step 0, optimizer and random numbers are not loaded. MindSpore
Transformers 1.6 to 2.1, static graph: `load_checkpoint`.

What nobody has given in `playbook.toml` yet is a stand-in, and is named.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import TYPE_CHECKING, Literal, cast

from ...mapper.align.ladder import CHECKPOINTS, PLACEHOLDER
from ...schemas.border.text_output import shell_word
from ...schemas.diagnostic import WordsError
from ...schemas.fast_records import NamedTuple
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


FILE = "playbook.toml"
_STAND_IN = "/path/to/"
_WORD = re.compile(r"[^\s\"'`$\\;&|<>(){}*?\[\]!#~]*")
"""What stands in scripts and YAMLs as it is, without quoting."""
_FORMS = ("torch_dist", "torch")
_NAMES = re.compile(r"\{(\w+)\}")


class SettingsError(WordsError):
    """A `playbook.toml` that cannot be used, and why."""


class Machines(NamedTuple):
    """The machines of one framework's runs."""

    source: str
    """The framework's source directory, in which its program is started."""
    devices_per_node: int
    launch: str
    """The line that starts a run and keeps its log."""


class Settings(NamedTuple):
    """The whole file."""

    paths: Mapping[str, str] = {}
    """The data by the path that the pair's files name, and where they lie on the machines that train."""
    tokenizer: str = ""
    aligned: str = ""
    """A checkpoint for the two-layer pairs; without it MindSpore Transformers makes one."""
    whole: str = ""
    """A checkpoint of the whole model, for the rungs."""
    form: str = "torch_dist"
    """Megatron-LM's form of a checkpoint: 0.12 loads `torch_dist` with Transformer Engine installed only."""
    megatron: Machines = Machines(
        f"{_STAND_IN}Megatron-LM", 8, "(cd {source} && {environment}bash {script}) 2>&1 | tee {log}"
    )
    mindformers: Machines = Machines(
        f"{_STAND_IN}mindformers",
        8,
        "(cd {source} && source {variables} && {environment}"
        'bash scripts/msrun_launcher.sh "{program} --config {config}" {devices})',
    )

    @property
    def stand_ins(self) -> list[str]:
        """Names of values that are still placeholders."""
        values = {
            "megatron.source": self.megatron.source,
            "mindformers.source": self.mindformers.source,
            **{f'data.paths."{name}"': value for name, value in self.paths.items()},
        }
        return [name for name, value in values.items() if value.startswith(_STAND_IN) or value == PLACEHOLDER]


_PLACES = {
    "megatron": {"source", "environment", "script", "log"},
    "mindformers": {"source", "variables", "environment", "program", "config", "devices", "log"},
}


def settings_text(settings: Settings) -> str:
    """Content of the settings file."""
    lines = [f"# {said}" for said in say.settings_comment().both()]
    lines += ["[data]", f"tokenizer = {_toml_text(settings.tokenizer)}", "", "[data.paths]"]
    lines += [f"{_toml_text(name)} = {_toml_text(value)}" for name, value in settings.paths.items()]
    lines += ["", "[weights]", f"aligned = {_toml_text(settings.aligned)}", f"whole = {_toml_text(settings.whole)}"]
    lines.append(f"form = {_toml_text(settings.form)}")
    for name in ("megatron", "mindformers"):
        machines: Machines = getattr(settings, name)
        lines += ["", f"[{name}]", f"source = {_toml_text(machines.source)}"]
        lines += [f"devices_per_node = {machines.devices_per_node}", f"launch = {_toml_text(machines.launch)}"]
    return "\n".join(lines) + "\n"


def settings_of(content: Mapping[str, object], paths: Mapping[str, str]) -> Settings:
    """Settings in a parsed file; data paths that it omits stay as they are."""
    usual = Settings()
    known = {"data": {"tokenizer", "paths"}, "weights": {"aligned", "whole", "form"}}
    known |= {name: {"source", "devices_per_node", "launch"} for name in ("megatron", "mindformers")}
    for section, table in content.items():
        if section not in known or not isinstance(table, dict):
            raise SettingsError(say.has_no_section(section=section))
        for key in cast("dict[str, object]", table):
            if key not in known[section]:
                raise SettingsError(say.has_no_key(key=f"{section}.{key}"))
    data, weights = _table(content, "data"), _table(content, "weights")
    form = weights.get("form", usual.form)
    if form not in _FORMS:
        raise SettingsError(say.is_no_form(value=form))
    given = {name: _word(f"data.paths.{name}", value) for name, value in _table(data, "paths").items()}
    return Settings(
        {**paths, **{name: value for name, value in given.items() if name in paths or not paths}},
        _word("data.tokenizer", data.get("tokenizer", "")),
        _word("weights.aligned", weights.get("aligned", "")),
        _word("weights.whole", weights.get("whole", "")),
        str(form),
        _read_machines("megatron", _table(content, "megatron"), usual.megatron),
        _read_machines("mindformers", _table(content, "mindformers"), usual.mindformers),
    )


def _read_machines(name: str, table: Mapping[str, object], usual: Machines) -> Machines:
    """Checked source tree, devices for each node and launch line of one framework."""
    count = table.get("devices_per_node", usual.devices_per_node)
    if type(count) is not int or count < 1:
        raise SettingsError(say.is_no_count(key=f"{name}.devices_per_node", value=count))
    launch = table.get("launch", usual.launch)
    if not isinstance(launch, str) or "\n" in launch:
        raise SettingsError(say.is_no_line(key=f"{name}.launch"))
    for place in _NAMES.findall(launch):
        if place not in _PLACES[name]:
            listed = ", ".join(f"{{{one}}}" for one in sorted(_PLACES[name]))
            raise SettingsError(say.has_no_place(key=f"{name}.launch", place=f"{{{place}}}", places=listed))
    return Machines(_word(f"{name}.source", table.get("source", usual.source)), count, launch)


def fill_places(line: str, values: Mapping[str, str]) -> str:
    """Launch line with its placeholders filled; other braces, as in `${HOME}`, stay."""
    return re.sub(r"(?<!\$)\{(\w+)\}", lambda found: values.get(found[1], found[0]), line)


def _table(content: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Section of the settings as a table; SettingsError if it is not one."""
    found = content.get(name, {})
    if not isinstance(found, dict):
        raise SettingsError(say.has_no_section(section=name))
    return cast("dict[str, object]", found)


def _word(key: str, value: object) -> str:
    """Value if it is a usable path word; SettingsError otherwise."""
    if not isinstance(value, str) or not _WORD.fullmatch(value) or value.startswith("-"):
        raise SettingsError(say.is_no_path(key=key))
    return value


def _toml_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


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
    target: tuple[str, ...] = ()
    """Options that name the version and the graph that the pairs are written for; the usual ones without them."""

    def path_of(self, path: str) -> str:
        """Path of a file in the playbook's folder, usable from any other folder."""
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
    """Actions of one table line, as a person or `playbook run` executes them."""
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
    """Launch action of a Megatron-LM script with its log."""
    machines = layout.settings.megatron
    values = {
        "source": machines.source,
        "script": shell_word(layout.path_of(script)),
        "log": shell_word(layout.path_of(log)),
    }
    return Action(_with(machines.launch, values, variables, layout), "launch", log)


def _mindformers(config: str, log: str, variables: list[str] | tuple[()], layout: Layout, made: str) -> Action:
    """Launch action of a MindSpore Transformers YAML with its log; one or several nodes."""
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
    """Filled launch line; variables without a placeholder come first."""
    pairs = [word.partition("=") for word in variables]
    set_here = "".join(f"{name}={shell_word(value.replace('HOME', layout.home, 1))} " for name, _, value in pairs)
    made = fill_places(line, {**values, "environment": set_here})
    return made if "{environment}" in line or not set_here else f"export {set_here.strip()}; {made}"


_SHARED = "2-preparation"
_OWN = "5-scale-up"
_OUTPUT = re.compile(r"^OUTPUT_ARGS=\(\n", re.MULTILINE)
_LOADS = re.compile(rf'^(load_checkpoint| +load_path): (?:""|{CHECKPOINTS}/mindformers)(?:  #.*)?$', re.MULTILINE)
_OF_THE_PAIR = re.compile(
    rf"^ +--load {CHECKPOINTS}/megatron\b.*\n(?: +--(?:finetune|no-load-optim|exit-on-missing-checkpoint)\b.*\n)*",
    re.MULTILINE,
)
"""What a pair loads whose source loads nothing (`mapper/align/pair.py`): a playbook has checkpoints of its own."""
_MADE_AT = re.compile(r'^(?:output_dir: "\./output"|  save_path: "\./output(/checkpoint)")$', re.MULTILINE)
_PROGRAM = re.compile(r"^( +)pretrain_gpt\.py \\$", re.MULTILINE)
_NODES = re.compile(r"^NNODES=(\d+)\nGPUS_PER_NODE=(\d+)$", re.MULTILINE)
_EXAMPLES = ("example.sh", "example.yaml", "example_init_weights.yaml")


def fill_example(path: str, text: str, home: str, settings: Settings) -> str:
    """Example file of the playbook completed for a run; other files unchanged."""
    folder, name = os.path.split(path)
    weights = _weights_of(folder)
    if name not in _EXAMPLES or weights is None:
        return text
    text = _with_data(text, settings.paths)
    place = os.path.join(home, weights).replace("\\", "/")
    if name == "example_init_weights.yaml":
        return _MADE_AT.sub(lambda found: _weights_folder_line(found[1], f"{place}/initial"), text, count=1)
    if name == "example.yaml":
        return _LOADS.sub(lambda found: f'{found[1]}: "{place}/mindformers"', text, count=1)
    program = os.path.join(home, "patches", "pretrain_gpt.py").replace("\\", "/")
    text = _PROGRAM.sub(lambda found: f"{found[1]}{_shell_path(program)} \\", text, count=1)
    text = _on_machines(text, settings.megatron.devices_per_node)
    text = _OF_THE_PAIR.sub("", text, count=1)
    if re.search(r"^ +--load ", text, re.MULTILINE):
        return text
    words = f"    --load '{_escape_quotes(place)}/megatron' --ckpt-format {settings.form}\n"
    words += "    --finetune --no-load-optim --no-load-rng\n"
    return _OUTPUT.sub(lambda found: found[0] + words, text, count=1)


def _weights_folder_line(below: str | None, folder: str) -> str:
    """YAML line that names the folder where initial weights are saved."""
    return f'output_dir: "{folder}"' if below is None else f'  save_path: "{folder}{below}"'


def devices_of(text: str) -> int:
    """Number of devices that a launch script uses."""
    found = _NODES.search(text)
    return int(found[1]) * int(found[2]) if found else 1


def _weights_of(folder: str) -> str | None:
    """Folder for the weights of one of the playbook's examples; None for others."""
    if folder.startswith(_OWN):
        return f"{folder}/weights"
    return f"{_SHARED}/weights" if folder.startswith((_SHARED, "4-long-run")) else None


def _with_data(text: str, paths: Mapping[str, str]) -> str:
    """Text with data paths replaced by those of the settings."""
    for name, place in paths.items():
        if name != place:
            text = re.sub(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", lambda _, to=place: to, text)
    return text


def _on_machines(text: str, local: int) -> str:
    """Text with its devices spread over as many nodes as needed."""
    devices = devices_of(text)
    if not _NODES.search(text) or (devices > local and devices % local):
        return text
    nodes = max(1, devices // local)
    return _NODES.sub(f"NNODES={nodes}\nGPUS_PER_NODE={devices // nodes}", text, count=1)


def _shell_path(path: str) -> str:
    """Path quoted for a shell if necessary."""
    return path if re.fullmatch(r"[\w./+:@%=-]+", path) else f"'{_escape_quotes(path)}'"


def _escape_quotes(path: str) -> str:
    return path.replace("'", "'\\''")
