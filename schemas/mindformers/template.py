"""What MindSpore Transformers makes of the YAML's sections before anything runs (`ConfigTemplate`).

By run mode a list of sections applies. A section gets defaults for the keys it lacks; some sections get them only
where they are empty or missing; some refuse a key they do not know. Source: `tools/register/template.py`
(`Config.apply`, `ListConfig.apply`, `ConfigTemplate.apply_template`), MindSpore Transformers 1.6-2.1.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING, NamedTuple
from .messages_compiled import say
from .shape import copied, is_list, is_mapping

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from ..message import Words

_TRAINING_MODES = ("train", "finetune", "predict_with_train_model")
_GENERAL = "general_config"


class WrongType(NamedTuple):
    """A section that is no mapping or no list."""

    path: str
    expected: Words
    found: str


class MissingKey(NamedTuple):
    """A key that a section has to have."""

    section: str
    key: str


class UnknownKey(NamedTuple):
    """A key that a section refuses, and those that it knows."""

    section: str
    key: str
    known: tuple[str, ...]


Fault: TypeAlias = "WrongType | MissingKey | UnknownKey"
"""Something a section refuses."""


class Filled(NamedTuple):
    """The configuration with its defaults."""

    values: dict[str, Any]
    unused: tuple[str, ...]
    faults: tuple[Fault, ...]


def fill(given: dict[Any, Any], catalog: dict[str, Any], run_mode: Any, *, legacy: bool) -> Filled:
    """The sections of `given` with the defaults of the version that `catalog` describes."""
    sections: dict[str, dict[str, Any]] = catalog["sections"]
    faults: list[Fault] = []
    rest = dict(given)
    general = {key: rest.pop(key) for key in sections[_GENERAL]["defaults"] if key in rest}
    filled: dict[str, Any] = {}
    for name in _applied(catalog, run_mode, given.get("do_eval", False)):
        if name == "moe_config" and not legacy:
            continue
        if name == _GENERAL:
            filled.update(_section(name, sections[name], general, faults))
        else:
            filled[name] = _section(name, sections[name], rest.pop(name, None), faults)
    unused = tuple(str(key) for key in rest)
    return Filled({**rest, **filled}, unused, tuple(faults))


def _applied(catalog: dict[str, Any], run_mode: Any, do_eval: Any) -> list[str]:
    order: dict[str, list[str]] = catalog["order"]
    names = list(order["general_configs"])
    if run_mode not in catalog["run_modes"]:
        return names
    if run_mode in _TRAINING_MODES:
        names += order["train_configs"]
        return names + order["do_eval_configs"] if do_eval else names
    return names + (order["predict_configs"] if run_mode == "predict" else order["eval_configs"])


def _section(name: str, facts: dict[str, Any], given: Any, faults: list[Fault]) -> Any:
    if facts["list"]:
        return _list_section(name, facts, given, faults)
    if given is None:
        given = {}
    if not is_mapping(given):
        faults.append(WrongType(name, say.a_mapping(), _kind(given)))
        return copied(facts["defaults"])
    section = given
    if not section:
        return copied(facts["defaults"])
    result: dict[Any, Any] = {} if facts["spec"] else copied(facts["defaults"])
    missing = [required for required in facts["required"] if required not in section]
    faults += [MissingKey(name, required) for required in missing]
    for key, value in section.items():
        if facts["strict"] and key not in facts["defaults"]:
            faults.append(UnknownKey(name, str(key), tuple(facts["defaults"])))
        result[key] = value
    return result


def in_effect(name: str, catalog: dict[str, Any], entries: list[Any]) -> list[Any]:
    """The types of a list section in the framework's order: its defaults first, each type of them once."""
    first: list[Any] = [entry["type"] for entry in catalog["sections"][name]["defaults"].values()]
    kinds = [entry.get("type") for entry in entries if is_mapping(entry)]
    return first + [kind for kind in kinds if kind not in first]


def _list_section(name: str, facts: dict[str, Any], given: Any, faults: list[Fault]) -> list[Any]:
    defaults: list[Any] = copied(list(facts["defaults"].values()))
    if given is None:
        given = []
    if not is_list(given):
        faults.append(WrongType(name, say.a_list(), _kind(given)))
        return defaults
    # The framework puts its defaults first; here the file's entries keep the places they have in the file.
    result: list[Any] = []
    for place, entry in enumerate(given):
        path = f"{name}[{place}]"
        if not is_mapping(entry):
            faults.append(WrongType(path, say.a_mapping(), _kind(entry)))
            continue
        if "type" not in entry:
            faults.append(MissingKey(path, "type"))
        result.append(entry)
    named = [entry.get("type") for entry in result]
    result.extend(entry for entry in defaults if entry["type"] not in named)
    return result


def _kind(value: object) -> str:
    return say.a_list() if is_list(value) else say.a_mapping() if is_mapping(value) else repr(value)
