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
    from collections.abc import Iterable
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
    faults: tuple[Fault, ...]


def fill(reading: Reading, given: dict[Any, Any], *, legacy: bool) -> Filled:
    """The sections of `given` with the defaults of the reading's version."""
    catalog = reading.catalog
    sections: dict[str, dict[str, Any]] = catalog["sections"]
    faults: list[Fault] = []
    rest = dict(given)
    general = {key: rest.pop(key) for key in sections[_GENERAL]["defaults"] if key in rest}
    filled: dict[str, Any] = {}
    for name in _applied(catalog, given.get("run_mode"), given.get("do_eval", False)):
        if name == "moe_config" and not legacy:
            continue
        if name == _GENERAL:
            filled.update(_section(reading, name, general, faults))
        else:
            filled[name] = _section(reading, name, rest.pop(name, None), faults)
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


def _section(reading: Reading, name: str, given: Any, faults: list[Fault]) -> Any:
    facts: dict[str, Any] = reading.catalog["sections"][name]
    if facts["list"]:
        return _list_section(reading, name, given, faults)
    if given is None:
        given = {}
    if not is_mapping(given):
        faults.append(_wrong_type(name, say.a_mapping(), given))
        return copied(facts["defaults"])
    section = given
    if not section:
        return copied(facts["defaults"])
    result: dict[Any, Any] = {} if facts["spec"] else copied(facts["defaults"])
    missing = [required for required in facts["required"] if required not in section]
    faults += [_missing(reading, name, required) for required in missing]
    for key, value in section.items():
        if facts["strict"] and key not in facts["defaults"]:
            faults.append(_unknown(reading, name, str(key), facts["defaults"]))
        result[key] = value
    return result


def in_effect(name: str, catalog: dict[str, Any], entries: list[Any]) -> list[Any]:
    """The types of a list section in the framework's order: its defaults first, each type of them once."""
    first: list[Any] = [entry["type"] for entry in catalog["sections"][name]["defaults"].values()]
    kinds = [entry.get("type") for entry in entries if is_mapping(entry)]
    return first + [kind for kind in kinds if kind not in first]


def _list_section(reading: Reading, name: str, given: Any, faults: list[Fault]) -> list[Any]:
    defaults: list[Any] = copied(list(reading.catalog["sections"][name]["defaults"].values()))
    if given is None:
        given = []
    if not is_list(given):
        faults.append(_wrong_type(name, say.a_list(), given))
        return defaults
    # The framework puts its defaults first; here the file's entries keep the places they have in the file.
    result: list[Any] = []
    for place, entry in enumerate(given):
        path = f"{name}[{place}]"
        if not is_mapping(entry):
            faults.append(_wrong_type(path, say.a_mapping(), entry))
            continue
        if "type" not in entry:
            faults.append(_missing(reading, path, "type"))
        result.append(entry)
    named = [entry.get("type") for entry in result]
    result.extend(entry for entry in defaults if entry["type"] not in named)
    return result


def _wrong_type(path: str, expected: Words, given: object) -> Fault:
    found = say.a_list() if is_list(given) else say.a_mapping() if is_mapping(given) else repr(given)
    return Fault(say.section_type(key=path, expected=expected, found=found), path, "type")


def _missing(reading: Reading, section: str, key: str) -> Fault:
    said = say.missing_key(key=key, section=section, version=reading.version)
    return Fault(said, f"{section}.{key}", "missing")


def _unknown(reading: Reading, section: str, key: str, known: Iterable[str]) -> Fault:
    from ..suggestion import suggestion

    near = suggestion(key, known)
    said = say.unknown_section_key(key=key, section=section, suggestion=near, version=reading.version)
    return Fault(said, f"{section}.{key}", "unknown")
