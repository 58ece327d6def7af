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
from ..shape import is_mapping
from .conversion import ModelClass, convert
from .messages_compiled import say
from .resolution import Fields, near, transformer_config
from .value_types import checked_fields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .constructors import Builder
    from .dynamic import Dynamic
    from .reading import Reading
    from .trainer import Trainer

_NO_DIRECTORY = "MAP067"
"""The directory that may name the class is not here, which was said."""
_sourced = Sourced._make


def resolve_network(reading: Reading, run: Builder, latent: Mapping[str, bool] | None = None, name: str = "") -> bool:
    """Answer with the fields that the section and what the trainer hands over set; False where no class is known.

    In the dynamic graph the network's `name` says whether it is `latent`, and the sections' defaults are handed over.
    """
    facts = _selected(reading)
    if facts is None:
        return False
    reading.resolve("resolved.model.class", facts["class"], _type(reading))
    mode = run.locals.get("facts.run_mode", Sourced(None))
    model = _constructed(reading, facts, run.under("attributes."), mode.value)
    handed = run.under("handed.")
    if latent is not None:
        model = model._replace(mla=latent.get(name, model.mla))
        parallel = reading.catalog["sections"]["parallel_config"]["defaults"]
        handed = {**{key: Sourced(value) for key, value in parallel.items()}, **handed}
    fields = checked_fields(reading, convert(reading, model, handed), static=latent is None)
    transformer_config(reading, fields, mla=model.mla)
    return True


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


def _constructed(reading: Reading, facts: dict[str, Any], handed_over: dict[str, Sourced], mode: Any) -> ModelClass:
    """The class with its attributes: its defaults, what is written, what the trainer adds, what it makes of them."""
    given: dict[Any, Any] = reading.section(reading.model)
    models = {name: model for name, model in reading.catalog["models"].items() if not model["legacy"]}
    attributes: dict[str, Sourced] = {}
    for defaults in (facts["mf"], facts["signature"]):
        attributes.update([(key, _sourced((value, (), True))) for key, value in defaults.items()])
    for key in given:
        attributes[str(key)] = _sourced((given[key], (f"{reading.model}.{key}",), True))
    attributes.update(handed_over)
    for name, replaced in facts["attribute_map"].items():
        if name in attributes:
            attributes[replaced] = attributes.pop(name)
    about = {"model_class": facts["class"], "models": models, "run_mode": mode}
    run = Fields(reading, attributes, about)
    run.resolve("attributes")
    for key in facts["ignore"]:
        if attributes.pop(key, None) is not None and key in given:
            reading.acceptance[f"{reading.model}.{key}"] = "ignored"
    for key in reading.catalog["base_attributes"]:
        attributes.setdefault(key, Sourced(None))
    model = models.get(str(run["architecture"]), facts)
    return ModelClass(facts, attributes, model["mla"])


def dynamic_network(run: Dynamic) -> None:
    """The network of the dynamic graph, which builds the same classes (`pynative/trainer/utils.py:_build_model`)."""
    if is_mapping(run.reading.get(run.reading.model)):
        resolve_network(run.reading, run, run["networks"], str(run["network"]))


def static_network(run: Trainer) -> None:
    """The network of the static graph; every field is open where its class is not known."""
    reading = run.reading
    if not resolve_network(reading, run):
        kind = reading.get(_type(reading))
        undecided_network(reading, *((str(kind), _type(reading)) if kind else (reading.model, reading.model)))


def undecided_network(reading: Reading, text: str, path: str) -> None:
    """Leave every field of the network open."""
    span = reading.place(path)
    if span is not None:
        reading.unresolved.append(Unresolved(text, say.network_unknown(), span))
    for name in (*reading.catalog["transformer"], *reading.catalog["mla_transformer"]):
        reading.resolve(f"resolved.transformer.{name}", None, path, decided=False)
