"""The model's configuration class: which one a file selects, and the attributes it ends up with.

A key that is not written takes the class's default, not a neutral one: `deepseek_v3` without any other key is the
671B model. Sources, 1.6-2.1: `models/build_config.py:get_model_config`,
`tools/register/register.py:get_instance_from_cfg`, `models/model_config_utils.py` (the two decorators),
`models/configuration_utils.py:PretrainedConfig` and each `models/*/configuration_*.py`.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING, NamedTuple
from ..message import NOTHING
from .constructors import no_such_class
from .messages_compiled import say
from .reading import Sourced
from .resolution import constructed
from .shape import is_list

if TYPE_CHECKING:
    from typing import Any

    from .reading import Reading

PREFIX = "model.model_config"

_NO_DIRECTORY = "MAP067"
"""The directory that may name the class is not here, which was said."""
_sourced = Sourced._make


class ModelClass(NamedTuple):
    """A model configuration class and its attributes, in the order in which they are converted."""

    facts: dict[str, Any]
    attributes: dict[str, Sourced]
    mla: bool
    """Whether the model class converts to an MLATransformerConfig."""


def model_class(reading: Reading, handed_over: dict[str, Sourced]) -> ModelClass | None:
    """The class that `model_type` selects, with its attributes; None where there is none, which is reported."""
    given: dict[Any, Any] = reading.section(PREFIX)
    facts = _selected(reading, given)
    if facts is None:
        return None
    attributes: dict[str, Sourced] = {}
    for defaults in (facts["mf"], facts["signature"]):
        attributes.update([(key, _sourced((value, (), True))) for key, value in defaults.items()])
    for key in given:
        attributes[str(key)] = _sourced((given[key], (f"{PREFIX}.{key}",), True))
    attributes.update(handed_over)
    for name, replaced in facts["attribute_map"].items():
        if name in attributes:
            attributes[replaced] = attributes.pop(name)
    constructed(reading, attributes, facts["class"])
    for key in facts["ignore"]:
        if attributes.pop(key, None) is not None and key in given:
            reading.acceptance[f"{PREFIX}.{key}"] = "ignored"
    for key in reading.catalog["base_attributes"]:
        attributes.setdefault(key, Sourced(None))
    return ModelClass(facts, attributes, _architecture(reading, attributes, facts))


def _architecture(reading: Reading, attributes: dict[str, Sourced], facts: dict[str, Any]) -> bool:
    """Check the model class that `architectures` names; the answer is whether it converts to MLA."""
    models: dict[str, dict[str, bool]] = {
        name: model for name, model in reading.catalog["models"].items() if not model["legacy"]
    }
    written = attributes["architectures"].value if "architectures" in attributes else None
    name: Any = written[0] if is_list(written) and written else written
    path = f"{PREFIX}.architectures"
    if not isinstance(name, str):
        reading.lacking(say.no_architecture(known=", ".join(models), version=reading.version), path)
        return facts["mla"]
    if name not in models:
        no_such_class(reading, "model", name, models, path)
        return facts["mla"]
    if not models[name]["trainable"] and reading.get("run_mode") in ("train", "finetune"):
        reading.note(say.not_trainable(model=name, version=reading.version), path)
    return models[name]["mla"]


def _selected(reading: Reading, given: dict[Any, Any]) -> dict[str, Any] | None:
    classes: dict[str, dict[str, Any]] = reading.catalog["classes"]
    names: dict[str, str] = reading.catalog["names"]
    usable = {name: key for name, key in names.items() if not classes[key]["legacy"] and not name.startswith("mcore_")}
    written = given.get("model_type")
    if isinstance(written, str) and written in usable:
        return classes[usable[written]]
    known = ", ".join(sorted(usable))
    if written is not None:
        from ..suggestion import suggestion

        near = suggestion(str(written), usable)
        said = say.unknown_model_type(value=written, known=known, suggestion=near, version=reading.version)
        reading.note(said, f"{PREFIX}.model_type")
    elif not any(problem.kind.code == _NO_DIRECTORY for problem in reading.problems):
        hint = say.or_a_config_json() if reading.get("pretrained_model_dir") else NOTHING
        reading.note(say.no_model_type(known=known, hint=hint), PREFIX)
    return None
