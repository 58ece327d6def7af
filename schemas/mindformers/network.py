"""From the model's section to the `TransformerConfig` of its network, in both graphs.

A key that is not written takes the default of the configuration class that `model_type` selects, not a neutral one:
`deepseek_v3` without any other key is the 671B model. Sources, 1.6-2.1: `models/build_config.py:get_model_config`,
`tools/register/register.py:get_instance_from_cfg`, `models/model_config_utils.py` (the two decorators),
`models/configuration_utils.py:PretrainedConfig` and each `models/*/configuration_*.py`.
"""

from __future__ import annotations

from ..config import Unresolved
from ..light_typing import TYPE_CHECKING
from ..rows import Sourced
from .conversion import convert
from .messages_compiled import say
from .reading import default_setting
from .trainer import Trainer
from .value_types import checked_fields

if TYPE_CHECKING:
    from typing import Any

    from ..config import Setting
    from .reading import Reading

_own: dict[tuple[str, bool], tuple[dict[str, Sourced], dict[str, Setting]]] = {}


def network(run: Trainer) -> None:
    """The fields of the network that the section and what the trainer hands over make; none without a class."""
    reading = run.reading
    within = Trainer(reading, run.locals)
    within.sections.update(dict.fromkeys(("model", "attributes", "transformer"), reading.model))
    within.resolve("model")
    if within.has("model_class"):
        facts: dict[str, Any] = within["model_class"]
        run.locals["facts.model_class"] = within.locals["facts.model_class"] = Sourced(facts["class"])
        attributes, mla = _constructed(within, facts)
        latent = run.now("latent")
        mla = mla if latent is None else latent
        fields = convert(reading, facts, attributes, within.under("handed."), mla=mla)
        _transformer_config(within, checked_fields(reading, fields, run.now("choices") or {}), mla=mla)


def undecided(run: Trainer) -> None:
    """Leave every field open: the class is not known."""
    reading = run.reading
    path = f"{reading.model}.model_type"
    kind = reading.get(path)
    undecided_network(reading, *((str(kind), path) if kind else (reading.model, reading.model)))


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
    run.locals.update({f"attributes.{key}": one for key, one in attributes.items()})
    reading.resolve("resolved.model.class", facts["class"], f"{reading.model}.model_type")
    run.resolve("attributes")
    attributes = run.take("attributes.")
    for key in facts["ignore"]:
        if attributes.pop(key, None) is not None and key in given:
            reading.acceptance[f"{reading.model}.{key}"] = "ignored"
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
