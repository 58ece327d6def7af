"""`playbook.toml`: what the runs of a playbook need beyond the pair's two files, asked for once.

Every example file and every launch line is filled in from it. What nobody has given yet is a stand-in, and is named.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, cast

from ...mapper.align.alignment import PLACEHOLDER
from ...schemas.fast_records import NamedTuple
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...schemas.message import Words

FILE = "playbook.toml"
_STAND_IN = "/path/to/"
_WORD = re.compile(r"[^\s\"'`$\\;&|<>(){}*?\[\]!#~]*")
"""What stands in scripts and YAMLs as it is, without quoting."""
_FORMS = ("torch_dist", "torch")
_NAMES = re.compile(r"\{(\w+)\}")


class SettingsError(ValueError):
    """A `playbook.toml` that cannot be used, and why."""

    def __init__(self, said: Words) -> None:
        super().__init__(said)
        self.words = said


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
        """Names of the values that nobody has given yet."""
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
    """The file."""
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
    """The settings that a parsed file gives; a path of the pair's data that it does not name is kept as it is."""
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
        _machines("megatron", _table(content, "megatron"), usual.megatron),
        _machines("mindformers", _table(content, "mindformers"), usual.mindformers),
    )


def _machines(name: str, table: Mapping[str, object], usual: Machines) -> Machines:
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
    """A launch line with its places filled; every other brace, as in `${HOME}`, stays."""
    return re.sub(r"(?<!\$)\{(\w+)\}", lambda found: values.get(found[1], found[0]), line)


def _table(content: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = content.get(name, {})
    if not isinstance(found, dict):
        raise SettingsError(say.has_no_section(section=name))
    return cast("dict[str, object]", found)


def _word(key: str, value: object) -> str:
    if not isinstance(value, str) or not _WORD.fullmatch(value) or value.startswith("-"):
        raise SettingsError(say.is_no_path(key=key))
    return value


def _toml_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
