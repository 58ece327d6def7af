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
from .trainer import Part, Trainer
from .transformer_defaults import defaults_of
from .value_types import checked_fields

if TYPE_CHECKING:
    from typing import Any

    from .reading import Reading


def network(run: Trainer) -> None:
    """The fields of the network that the section and what the trainer hands over make; none without a class."""
    reading = run.reading
    within = Trainer(reading, run.locals)
    within.parts.update(dict.fromkeys(("model", "attributes", "transformer"), Part(reading.model)))
    within.resolve("model")
    if within.has("model_class"):
        facts: dict[str, Any] = within["model_class"]
        run.locals["facts.model_class"] = within.locals["facts.model_class"] = Sourced(facts["class"])
        attributes, latent = _constructed(within, facts), run.now("latent")
        mla: bool = within["mla"] if latent is None else latent
        fields = convert(reading, facts, attributes, within.under("handed."), mla=mla)
        _transformer_config(within, checked_fields(reading, fields, run.now("choices") or {}), mla=mla)


def undecided(run: Trainer) -> None:
    """Leave every field open: the class is not known."""
    reading = run.reading
    path = f"{reading.model}.model_type"
    kind = reading.get(path)
    undecided_network(reading, *((str(kind), path) if kind else (reading.model, reading.model)))


def _constructed(run: Trainer, facts: dict[str, Any]) -> dict[str, Sourced]:
    """The class's attributes: its defaults, what is written, what the trainer adds, what it makes of them."""
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
    return attributes


def _transformer_config(run: Trainer, fields: dict[str, Sourced], *, mla: bool) -> None:
    """The fields of the (MLA)TransformerConfig, recorded under `resolved.transformer.`."""
    reading, own = run.reading, defaults_of(run.reading.catalog, mla=mla)
    run.locals.update(own.known)
    reading.resolved.update(own.settings)
    for name, one in fields.items():
        if name not in own.names:
            key = one.sources[0] if one.sources else name
            why = say.latent_alone(key=key, name=name)
            reading.note(say.rejected(why=why, version=reading.version), key)
        else:
            run.locals[f"transformer.{name}"] = one if one.decided else one._replace(decided=True)
            if not one.decided:
                run.open.add(f"transformer.{name}")
    run.resolve("transformer")
    for local in {*own.changed(run.locals), *run.open.intersection(own.known)}:
        one = run.locals[local]
        reading.resolve(f"resolved.{local}", one.value, *one.sources, decided=local not in run.open)


def undecided_network(reading: Reading, text: str, path: str) -> None:
    """Leave every field of the network open."""
    span = reading.place(path)
    if span is not None:
        reading.unresolved.append(Unresolved(text, say.network_unknown(), span))
    for name in (*reading.catalog["transformer"], *reading.catalog["mla_transformer"]):
        reading.resolve(f"resolved.transformer.{name}", None, path, decided=False)
