"""MindSpore Transformers configurations as typed Pydantic models, one a dialect and version.

For editors, for JSON Schema and for programs that write configurations; the readers do not use them. The models are
built from the same compiled facts as the readers: sections, defaults, the kinds that the readers check values by, and
the registered optimizers, schedules, wrappers and callbacks told apart by their `type`.
"""

from __future__ import annotations

from functools import cache, reduce
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, create_model

from .dynamic import catalog as dynamic_catalog
from .meanings_compiled import MEANINGS
from .resolution import KINDS
from .versions import known_version, static_catalog, static_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Dialect = Literal["static", "dynamic", "legacy"]

_RUNTIME = frozenset(("params", "parameters", "network", "optimizer", "model", "loss_fn", "learning_rate_schedule"))
"""Constructor arguments that are objects of the running program, never written in a YAML."""

_WIDER: dict[str, Any] = {
    # Keys that take more than the type of their default, by the code that reads them.
    "resume_training": bool | str | None,
    "layer_swap": list[Any] | dict[str, Any] | None,
    "op_swap": list[Any] | dict[str, Any] | None,
    "parallel_mode": int | str | None,
    "moe_token_drop_policy": str | bool | None,
    "scale_sense": float | dict[str, Any] | None,
    "offset": int | list[Any] | None,
    "train_precision_sync": bool | None,
    "stable_rank_config": dict[str, Any] | None,
    "health_checkpoint": dict[str, Any] | None,
    "first_k_dense_replace": int | bool | None,
    "moe_layer_freq": int | list[int] | str | None,
    "mscale": float | None,
    "learning_rate": float | None,
    "activation_func": str | None,
    "architectures": str | list[str] | None,
    "rope_scaling": dict[str, Any] | None,
}
_ANY_RECOMPUTE = bool | list[Any] | dict[str, Any] | None
_REGISTERED = {"optimizer": "optimizer", "lr_schedule": "lr", "runner_wrapper": "wrapper"}


def model(dialect: Dialect, version: str) -> type[BaseModel]:
    """The model of a whole configuration file."""
    version = known_version(version)
    if dialect == "dynamic":
        return _dynamic_model(dynamic_catalog(version).version)
    return _static_model(static_version(version), legacy=dialect == "legacy")


@cache
def _static_model(version: str, *, legacy: bool) -> type[BaseModel]:
    """Pydantic model of a static-graph configuration."""
    facts = static_catalog(version)
    sections = facts["sections"]
    fields: dict[str, Any] = {
        key: (_type_of(key, default, facts["section_types"].get(key)), _field_of(key, default=default))
        for key, default in sections["general_config"]["defaults"].items()
    }
    for name, section in sections.items():
        if name != "general_config":
            fields[name] = (_section_type(name, section, facts, legacy=legacy) | None, _field_of(name, default=None))
    kind = "Legacy" if legacy else "Static"
    doc = f"A {kind.lower()}-graph configuration of MindSpore Transformers {version}."
    return _create_model(f"{kind}Config", fields, doc, closed=False)


def _section_type(name: str, section: Mapping[str, Any], facts: Mapping[str, Any], *, legacy: bool) -> Any:
    """Type of one section: a model, a list of models, or one for each registered class."""
    if name == "model":
        return _model_section(facts, legacy=legacy)
    registered = facts["registry"].get(_REGISTERED.get(name, ""))
    if registered:
        return _one_of(name, registered, facts["section_types"])
    defaults: Mapping[str, Any] = {} if section["list"] else section["defaults"]
    fields: dict[str, Any] = {
        key: (
            _ANY_RECOMPUTE
            if name == "recompute_config"
            else _type_of(key, default, facts["section_types"].get(f"{name}.{key}")),
            _field_of(key, default=default),
        )
        for key, default in defaults.items()
    }
    kinds: Mapping[str, str] = facts["section_types"]
    more = _fields_of_kinds(name, kinds)
    fields |= {key: field for key, field in more.items() if key not in fields or f"{name}.{key}" not in kinds}
    for key in section["required"]:
        if key not in fields:
            fields[key] = (str | None if name.endswith("_task") else str, _field_of(key))
    built = _create_model(_camel_case(name), fields, f"The section {name}.", closed=bool(section["strict"]))
    return list[built] | dict[str, Any] if section["list"] else built


def _fields_of_kinds(owner: str, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Fields for keys below a section whose type is known."""
    fields: dict[str, Any] = {}
    for path in kinds:
        if path.startswith(f"{owner}."):
            key = path[len(owner) + 1 :].partition(".")[0]
            inner = f"{owner}.{key}"
            if inner in kinds:
                fields[key] = (_annotation(kinds[inner]), _field_of(key, default=None))
            elif key not in fields:
                built = _create_model(
                    _camel_case(inner.replace(".", "_")), _fields_of_kinds(inner, kinds), f"`{inner}`.", closed=False
                )
                fields[key] = (built | None, _field_of(key, default=None))
    return fields


def _model_section(facts: Mapping[str, Any], *, legacy: bool) -> Any:
    """Type of the `model` section, with one model for each class."""
    common = {**facts["transformer"], **facts["mla_transformer"]}
    kinds = {} if legacy else _kinds_of_model(facts)
    named: list[type[BaseModel]] = []
    typed = [one for one in facts["classes"].values() if not legacy and not one["legacy"] and one.get("model_type")]
    for entry in typed:
        own = {**common, **entry["mf"], **entry["signature"]}
        fields: dict[str, Any] = {
            key: (_type_of(key, own[key], kinds.get(key)), _field_of(key, default=own[key]))
            for key in own
            if key != "model_type"
        }
        fields["model_type"] = (Literal[entry["model_type"]], _field_of("model_type"))
        named.append(_create_model(entry["class"], fields, f"The model class {entry['class']}.", closed=False))
    other: dict[str, Any] = {
        key: (_type_of(key, common.get(key), kinds.get(key)), _field_of(key, default=None))
        for key in dict.fromkeys((*common, *kinds))
    }
    other["model_type"] = (_other_than(entry["model_type"] for entry in typed), _field_of("model_type", default=None))
    plain = _create_model("OtherModelConfig", other, "A model whose class the YAML does not name.", closed=False)
    config: Any = plain
    if named:
        config = Annotated[_union_type(named), Field(discriminator="model_type")] | plain
    fields = {"model_config_": (config, Field(alias="model_config", description=MEANINGS["model_config"]))}
    return _create_model("Model", fields, MEANINGS["model"], closed=False)


def _other_than(names: Iterable[str]) -> Any:
    """Text type that excludes some names, each of which has its own model."""
    known = sorted(names)

    def refuse(value: Any) -> Any:
        if value in known:
            raise ValueError(f"{value} has a model of its own")
        return value

    return Annotated[Any, AfterValidator(refuse), WithJsonSchema({"not": {"enum": known}})]


def _kinds_of_model(facts: Mapping[str, Any]) -> dict[str, str]:
    """Types of keys that become TransformerConfig fields unchanged."""
    fields = {key: key for key in facts["types"]}
    for converter in facts["converters"].values():
        for key, targets in converter["rules"].items():
            fields.pop(key, None)
            if len(targets) == 1 and targets[0][1] is None:
                fields[key] = targets[0][0]
    kinds = {key: facts["types"].get(field, "bool") for key, field in fields.items()}
    return {key: kind for key, kind in kinds.items() if not kind.startswith("bool")}


def _one_of(section: str, registered: Mapping[str, Any], kinds: Mapping[str, str]) -> Any:
    """Union of a registry's classes by `type`."""
    members: list[type[BaseModel]] = []
    for name, entry in registered.items():
        given = {key: default for key, default in entry["args"].items() if key not in _RUNTIME}
        fields: dict[str, Any] = {
            key: (
                _type_of(key, None if default == "<required>" else default, kinds.get(f"{section}.{key}")),
                _field_of(key, default=None if default == "<required>" else default),
            )
            for key, default in given.items()
        }
        fields["type"] = (Literal[name], _field_of("type"))
        # The trainer adds what it has (learning rate, parameters), so a closed constructor still sees further keys.
        members.append(_create_model(_camel_case(f"{section}_{name}"), fields, f"{entry['class']}.", closed=False))
    return Annotated[_union_type(members), Field(discriminator="type")]


@cache
def _dynamic_model(version: str) -> type[BaseModel]:
    """Pydantic model of a dynamic-graph configuration."""
    facts = dynamic_catalog(version)
    built: dict[str, Any] = {}

    def build(name: str) -> Any:
        if name not in built:
            built[name] = _dynamic_class(name, facts.classes[name], build, facts)
        return built[name]

    return cast("type[BaseModel]", build("TrainConfig"))


def _dynamic_class(name: str, entry: Mapping[str, Any], build: Any, facts: Any) -> Any:
    """Pydantic model of one configuration class, or a union by `type` for registries."""
    fields: dict[str, Any] = {}
    for key, field in entry["fields"].items():
        kind = str(field["type"])
        annotation = _annotation(kind, build)
        if "default" not in field:
            mandatory = kind in ("ModelConfig", "LrSchedulerConfig", "TrainDatasetConfig", "DataloaderConfig")
            fields[key] = (
                (annotation, _field_of(key)) if mandatory else (annotation | None, _field_of(key, default=None))
            )
        elif field["default"] is None and "None" not in kind.split(" | "):
            fields[key] = (annotation, _field_of(key))
        else:
            fields[key] = (annotation, _field_of(key, default=field["default"]))
    doc = f"`{name}` of the dynamic graph."
    registered = {"OptimizerConfig": facts.optimizers, "LrSchedulerConfig": facts.schedules}.get(name)
    if registered is None:
        return _create_model(name, fields, doc, closed=not entry["extra"])
    members: list[type[BaseModel]] = []
    for kind, constructor in registered.items():
        own = dict(fields)
        for key, default in constructor["parameters"].items():
            own.setdefault(key, (_type_of(key, default), _field_of(key, default=default)))
        own["type"] = (
            Literal[kind],
            _field_of("type") if name != "OptimizerConfig" else _field_of("type", default=kind),
        )
        members.append(_create_model(f"{name}{kind}", own, f"{kind}.", closed=False))
    return Annotated[_union_type(members), Field(discriminator="type")]


def _annotation(kind: str, build: Any = None) -> Any:
    """Python type of a type text such as `int?`, `list[int]` or a class name."""
    options = kind.replace("?", " | None").split(" | ")
    if len(options) > 1:
        return _union_type([_annotation(option, build) for option in options])
    if kind.startswith("list["):
        element: Any = _annotation(kind[5:-1], build)
        return list[element]
    if kind.endswith("Config"):
        return build(kind)
    if kind == "None":
        return None
    if kind not in KINDS:
        return Any
    known = KINDS[kind]
    number: Any = Annotated[known.types[-1], Field(ge=known.least, le=known.largest)]
    return number | Annotated[str, Field(pattern=r"^\s*-?\d+\s*$")] if known.is_spelled else number


def _create_model(name: str, fields: dict[str, Any], doc: str, *, closed: bool) -> type[BaseModel]:
    """Pydantic model whose field names avoid reserved ones by aliases; `closed` forbids other keys."""
    config = ConfigDict(
        extra="forbid" if closed else "allow", strict=True, protected_namespaces=(), populate_by_name=True
    )
    safe: dict[str, Any] = {}
    for key, (annotation, field) in fields.items():
        if key.startswith("_") or hasattr(BaseModel, key) or not key.isidentifier():
            field.alias = field.validation_alias = field.serialization_alias = key
            safe[f"{key.strip('_')}_"] = (annotation, field)
        else:
            safe[key] = (annotation, field)
    return create_model(name, __config__=config, __doc__=doc, __module__=__name__, **safe)


def _field_of(key: str, **default: Any) -> Any:
    meaning = MEANINGS.get(key) or f"{key.replace('_', ' ').capitalize()}."
    return Field(description=meaning, **default)


def _type_of(key: str, default: Any, kind: str | None = None) -> Any:
    """Python type of a key, by its known type or else its default."""
    if kind is not None:
        return _annotation(kind)
    wider = _WIDER.get(key)
    if wider is not None:
        return wider
    if isinstance(default, bool):
        return bool | None
    if isinstance(default, (int, float)):
        return float | None if isinstance(default, float) or "lr" in key or "scale" in key else int | None
    if isinstance(default, str):
        return str | None
    if isinstance(default, (list, tuple)):
        return list[Any] | None
    if isinstance(default, dict):
        return dict[str, Any] | None
    return Any


def _union_type(members: Iterable[Any]) -> Any:
    return reduce(lambda one, other: one | other, members)


def _camel_case(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
