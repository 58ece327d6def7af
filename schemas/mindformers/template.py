"""What MindSpore Transformers makes of the YAML's sections before anything runs (`ConfigTemplate`).

By run mode a list of sections applies. A section gets defaults for the keys it lacks; some sections get them only
where they are empty or missing; some refuse a key they do not know. Source: `tools/register/template.py`
(`Config.apply`, `ListConfig.apply`, `ConfigTemplate.apply_template`), MindSpore Transformers 1.6-2.1.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from ..shape import copied, is_list, is_mapping
from .messages_compiled import say
from .resolution import near

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from ..message import Problem, Words
    from .reading import Reading

Faults: TypeAlias = "list[tuple[Problem, str]]"
"""What sections refuse, and where."""
_GENERAL = "general_config"


def fill(reading: Reading, given: dict[Any, Any], faults: Faults, *, legacy: bool) -> tuple[dict[str, Any], list[str]]:
    """The sections of `given` with the defaults of the reading's version, and the keys that belong to none of them."""
    sections: dict[str, dict[str, Any]] = reading.catalog["sections"]
    rest = dict(given)
    general = {key: rest.pop(key) for key in sections[_GENERAL]["defaults"] if key in rest}
    filled: dict[str, Any] = {}
    for name in _applied(reading.catalog, given.get("run_mode"), given.get("do_eval", False)):
        if name == _GENERAL:
            filled.update(_section(reading, name, general, faults))
        elif name != "moe_config" or legacy:
            filled[name] = _section(reading, name, rest.pop(name, None), faults)
    return {**rest, **filled}, [str(key) for key in rest]


def _applied(catalog: dict[str, Any], run_mode: Any, do_eval: Any) -> list[str]:
    groups = ["general_configs"]
    if run_mode in ("eval", "predict"):
        groups.append(f"{run_mode}_configs")
    elif run_mode in catalog["run_modes"]:
        groups += ["train_configs", *(["do_eval_configs"] if do_eval else [])]
    return [name for group in groups for name in catalog["order"][group]]


def _section(reading: Reading, name: str, given: Any, faults: Faults) -> Any:
    facts: dict[str, Any] = reading.catalog["sections"][name]
    listed, defaults = facts["list"], facts["defaults"]
    if given is not None and not (is_list(given) if listed else is_mapping(given)):
        faults.append(_wrong_type(name, say.a_list() if listed else say.a_mapping(), given))
        given = None
    if listed:
        return _entries(reading, name, given or [], copied(list(defaults.values())), faults)
    if not given:
        return copied(defaults)
    faults += [_missing(reading, name, key) for key in facts["required"] if key not in given]
    for key in given if facts["strict"] else ():
        if key not in defaults:
            meant = near(str(key), defaults)
            said = say.unknown_section_key(key=str(key), section=name, suggestion=meant, version=reading.version)
            faults.append((said, f"{name}.{key}"))
    return dict(given) if facts["spec"] else {**copied(defaults), **given}


def _entries(reading: Reading, name: str, given: list[Any], defaults: list[Any], faults: Faults) -> list[Any]:
    """The entries of a list section; the framework puts its defaults first, here the file's keep their places."""
    for place, entry in enumerate(given):
        path = f"{name}[{place}]"
        if not is_mapping(entry):
            faults.append(_wrong_type(path, say.a_mapping(), entry))
        elif "type" not in entry:
            faults.append(_missing(reading, path, "type"))
    result = [entry for entry in given if is_mapping(entry)]
    named = [entry.get("type") for entry in result]
    return [*result, *(entry for entry in defaults if entry["type"] not in named)]


def _wrong_type(path: str, expected: Words, given: object) -> tuple[Problem, str]:
    found = say.a_list() if is_list(given) else say.a_mapping() if is_mapping(given) else repr(given)
    return say.section_type(key=path, expected=expected, found=found), path


def _missing(reading: Reading, section: str, key: str) -> tuple[Problem, str]:
    return say.missing_key(key=key, section=section, version=reading.version), f"{section}.{key}"
