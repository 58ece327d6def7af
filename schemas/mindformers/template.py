"""What MindSpore Transformers makes of the YAML's sections before anything runs (`ConfigTemplate`).

By run mode a list of sections applies. A section gets defaults for the keys it lacks; some sections get them only
where they are empty or missing; some refuse a key they do not know. Source: `tools/register/template.py`
(`Config.apply`, `ListConfig.apply`, `ConfigTemplate.apply_template`), MindSpore Transformers 1.6-2.1.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING, NamedTuple
from ..shape import copied, is_list, is_mapping
from .messages_compiled import say
from .resolution import near

if TYPE_CHECKING:
    from typing import Any, Literal

    from ..message import Problem, Words
    from .reading import Reading

_TRAINING_MODES = ("train", "finetune", "predict_with_train_model")
_GENERAL = "general_config"


class Fault(NamedTuple):
    """Something a section refuses."""

    problem: Problem
    path: str
    kind: Literal["type", "missing", "unknown"]


class Filled(NamedTuple):
    """The configuration with its defaults."""

    values: dict[str, Any]
    unused: tuple[str, ...]
    faults: list[Fault]


def fill(reading: Reading, given: dict[Any, Any], *, legacy: bool) -> Filled:
    """The sections of `given` with the defaults of the reading's version."""
    sections: dict[str, dict[str, Any]] = reading.catalog["sections"]
    faults: list[Fault] = []
    rest = dict(given)
    general = {key: rest.pop(key) for key in sections[_GENERAL]["defaults"] if key in rest}
    filled: dict[str, Any] = {}
    for name in _applied(reading.catalog, given.get("run_mode"), given.get("do_eval", False)):
        if name == _GENERAL:
            filled.update(_section(reading, name, general, faults))
        elif sections[name]["list"]:
            filled[name] = _entries(reading, name, rest.pop(name, None), faults)
        elif name != "moe_config" or legacy:
            filled[name] = _section(reading, name, rest.pop(name, None), faults)
    return Filled({**rest, **filled}, tuple(map(str, rest)), faults)


def _applied(catalog: dict[str, Any], run_mode: Any, do_eval: Any) -> list[str]:
    order: dict[str, list[str]] = catalog["order"]
    names = list(order["general_configs"])
    if run_mode not in catalog["run_modes"]:
        return names
    if run_mode in _TRAINING_MODES:
        names += order["train_configs"]
        return names + order["do_eval_configs"] if do_eval else names
    return names + (order["predict_configs"] if run_mode == "predict" else order["eval_configs"])


def _section(reading: Reading, name: str, given: Any, faults: list[Fault]) -> dict[Any, Any]:
    facts: dict[str, Any] = reading.catalog["sections"][name]
    defaults: dict[str, Any] = facts["defaults"]
    if given is not None and not is_mapping(given):
        faults.append(_wrong_type(name, say.a_mapping(), given))
    if not is_mapping(given) or not given:
        return copied(defaults)
    faults += [_missing(reading, name, key) for key in facts["required"] if key not in given]
    for key in given if facts["strict"] else ():
        if key not in defaults:
            meant = near(str(key), defaults)
            said = say.unknown_section_key(key=str(key), section=name, suggestion=meant, version=reading.version)
            faults.append(Fault(said, f"{name}.{key}", "unknown"))
    return dict(given) if facts["spec"] else {**copied(defaults), **given}


def _entries(reading: Reading, name: str, given: Any, faults: list[Fault]) -> list[Any]:
    """The entries of a list section; the framework puts its defaults first, here the file's keep their places."""
    if given is not None and not is_list(given):
        faults.append(_wrong_type(name, say.a_list(), given))
    result: list[dict[Any, Any]] = []
    for place, entry in enumerate(given if is_list(given) else ()):
        path = f"{name}[{place}]"
        if is_mapping(entry):
            faults += [] if "type" in entry else [_missing(reading, path, "type")]
            result.append(entry)
        else:
            faults.append(_wrong_type(path, say.a_mapping(), entry))
    named = [entry.get("type") for entry in result]
    defaults: list[dict[Any, Any]] = copied(list(reading.catalog["sections"][name]["defaults"].values()))
    return [*result, *(entry for entry in defaults if entry["type"] not in named)]


def _wrong_type(path: str, expected: Words, given: object) -> Fault:
    found = say.a_list() if is_list(given) else say.a_mapping() if is_mapping(given) else repr(given)
    return Fault(say.section_type(key=path, expected=expected, found=found), path, "type")


def _missing(reading: Reading, section: str, key: str) -> Fault:
    said = say.missing_key(key=key, section=section, version=reading.version)
    return Fault(said, f"{section}.{key}", "missing")
