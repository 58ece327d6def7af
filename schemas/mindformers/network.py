"""From the model's section to the `TransformerConfig` of its network, in both graphs.

A key that is not written takes the default of the configuration class that `model_type` selects, not a neutral one:
`deepseek_v3` without any other key is the 671B model. Sources, 1.6-2.1: `models/build_config.py:get_model_config`,
`tools/register/register.py:get_instance_from_cfg`, `models/model_config_utils.py` (the two decorators),
`models/configuration_utils.py:PretrainedConfig` and each `models/*/configuration_*.py`.
"""

from __future__ import annotations

from ..config import Unresolved
from ..light_typing import TYPE_CHECKING
from ..message import NOTHING
from ..rows import Sourced
from .conversion import convert
from .messages_compiled import say
from .reading import default_setting
from .resolution import near
from .trainer import Trainer
from .value_types import checked_fields

if TYPE_CHECKING:
    from typing import Any

    from ..config import Setting
    from .reading import Reading

_NO_DIRECTORY = "MAP067"
"""The directory that may name the class is not here, which was said."""
_own: dict[tuple[str, bool], tuple[dict[str, Sourced], dict[str, Setting]]] = {}


def network(run: Trainer) -> None:
    """The fields of the network that the section and what the trainer hands over make; none without a class."""
    reading = run.reading
    facts = _selected(reading)
    if facts is not None:
        run.locals["facts.model_class"] = Sourced(facts["class"])
        within = Trainer(reading, run.locals)
        attributes, mla = _constructed(within, facts)
        latent = run.now("latent")
        mla = mla if latent is None else latent
        fields = convert(reading, facts, attributes, within.under("handed."), mla=mla)
        _transformer_config(within, checked_fields(reading, fields, run.now("choices") or {}), mla=mla)


def undecided(run: Trainer) -> None:
    """Leave every field open: the class is not known."""
    reading = run.reading
    kind = reading.get(_type(reading))
    undecided_network(reading, *((str(kind), _type(reading)) if kind else (reading.model, reading.model)))


def _type(reading: Reading) -> str:
    return f"{reading.model}.model_type"


def _selected(reading: Reading) -> dict[str, Any] | None:
    """The class that `model_type` selects; None where there is none, which is reported."""
    classes: dict[str, dict[str, Any]] = reading.catalog["classes"]
    names: dict[str, str] = reading.catalog["names"]
    usable = {name: key for name, key in names.items() if not classes[key]["legacy"] and not name.startswith("mcore_")}
    written = reading.get(_type(reading))
    if isinstance(written, str) and written in usable:
        return classes[usable[written]]
    known = ", ".join(sorted(usable))
    if written is not None:
        meant = near(str(written), usable)
        said = say.unknown_model_type(value=written, known=known, suggestion=meant, version=reading.version)
        reading.note(said, _type(reading))
    elif not any(problem.kind.code == _NO_DIRECTORY for problem in reading.problems):
        hint = say.or_a_config_json() if reading.get("pretrained_model_dir") else NOTHING
        reading.note(say.no_model_type(known=known, hint=hint), reading.model)
    return None


def _constructed(run: Trainer, facts: dict[str, Any]) -> tuple[dict[str, Sourced], bool]:
    """The class's attributes: its defaults, what is written, what the trainer adds, what it makes of them.

    With them stands whether its network converts to an MLATransformerConfig.
    """
    reading = run.reading
    given: dict[Any, Any] = reading.section(reading.model)
    attributes = {key: Sourced(value) for key, value in {**facts["mf"], **facts["signature"]}.items()}
    attributes.update(Trainer.given(run, reading.model))
    attributes.update(run.take("attributes."))
    for name, replaced in facts["attribute_map"].items():
        if name in attributes:
            attributes[replaced] = attributes.pop(name)
    run.sections["attributes"] = reading.model
    run.locals.update({f"attributes.{key}": one for key, one in attributes.items()})
    reading.resolve("resolved.model.class", facts["class"], _type(reading))
    run.resolve("attributes")
    attributes = run.take("attributes.")
    for key in facts["ignore"]:
        if attributes.pop(key, None) is not None and key in given:
            reading.acceptance[f"{reading.model}.{key}"] = "ignored"
    for key in reading.catalog["base_attributes"]:
        attributes.setdefault(key, Sourced(None))
    model = reading.catalog["models"].get(str(run.now("architecture")), facts)
    return attributes, (facts if model.get("legacy") else model)["mla"]


def _own_fields(catalog: dict[str, Any], *, mla: bool) -> tuple[dict[str, Sourced], dict[str, Setting]]:
    """The fields as a class has them by itself, and what is said of them: the same for every file."""
    key: tuple[str, bool] = catalog["version"], mla
    found = _own.get(key)
    if found is None:
        values: dict[str, Any] = {**catalog["transformer"], **(catalog["mla_transformer"] if mla else {})}
        paths = {f"resolved.transformer.{name}": value for name, value in values.items()}
        settings = {path: default_setting(path, value) for path, value in paths.items()}
        found = _own[key] = {f"transformer.{name}": Sourced(value) for name, value in values.items()}, settings
    return found


def _transformer_config(run: Trainer, fields: dict[str, Sourced], *, mla: bool) -> None:
    """The fields of the (MLA)TransformerConfig, recorded under `resolved.transformer.`."""
    reading = run.reading
    own, settings = _own_fields(reading.catalog, mla=mla)
    run.locals.update(own)
    for name, one in fields.items():
        if f"transformer.{name}" in own:
            run.locals[f"transformer.{name}"] = one._replace(decided=True)
            run.open.update(() if one.decided else (f"transformer.{name}",))
        else:
            key = one.sources[0] if one.sources else name
            why = say.latent_alone(key=key, name=name)
            reading.note(say.rejected(why=why, version=reading.version), key)
    reading.resolved.update(settings)
    run.sections["transformer"] = reading.model
    run.resolve("transformer")
    for name, default in own.items():
        one = run.locals[name]
        if one is not default or name in run.open:
            reading.resolve(f"resolved.{name}", one.value, *one.sources, decided=name not in run.open)


def undecided_network(reading: Reading, text: str, path: str) -> None:
    """Leave every field of the network open."""
    span = reading.place(path)
    if span is not None:
        reading.unresolved.append(Unresolved(text, say.network_unknown(), span))
    for name in (*reading.catalog["transformer"], *reading.catalog["mla_transformer"]):
        reading.resolve(f"resolved.transformer.{name}", None, path, decided=False)
