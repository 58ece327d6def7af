"""Run in a process of its own whose path holds an unpacked MindSpore Transformers: print what its classes say.

`python probe.py` imports the real package and writes one JSON object after the line `FACTS`. It knows nothing of
accmap and judges nothing: defaults, signatures, registered names, converters as they are finally resolved, and the
annotations of the configuration classes. `extract.py` starts it.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportIncompatibleVariableOverride=false, reportUnnecessaryComparison=false
# ruff: noqa: SLF001, ARG001, ARG002, ARG005, SIM118 - the framework's own members, and Python's signatures

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import inspect
import io
import json
import logging
import os
import sys
import textwrap
import types
import typing
from typing import Any

_REQUIRED = "<required>"
_NO_CALLBACKS = (
    "Callback", "CallbackManager", "CheckpointConfig", "CheckpointManager", "InternalCallbackParam", "RunContext",
)  # fmt: skip
"""What stands in the registry of callbacks because MindSpore's whole module is registered."""


def main() -> None:
    """Print the facts of the installed version as JSON."""
    logging.disable(logging.CRITICAL)
    _stand_in_for_hyper_parallel()
    with contextlib.redirect_stdout(io.StringIO()):
        facts = {"static": _probe_static_graph(), "dynamic": _dynamic_facts()}
    sys.stdout.write("\nFACTS\n" + json.dumps(facts) + "\n")
    sys.stdout.flush()
    os._exit(0)  # the framework's threads may abort a process that takes itself apart


# --- the static graph ------------------------------------------------------------------------------------------------


def _probe_static_graph() -> dict[str, Any]:
    """The static graph's facts, from the registers and templates of the imported `mindformers`."""
    import mindformers
    from mindformers.tools.register import MindFormerModuleType as Kind
    from mindformers.tools.register import MindFormerRegister as Register
    from mindformers.tools.register import template

    kinds: dict[str, Any] = {name: getattr(Kind, name.upper()) for name in ("lr", "optimizer", "wrapper")}
    facts: dict[str, Any] = {"release": getattr(mindformers, "__version__", None)}
    facts["sections"] = {name: _section_facts(one) for name, one in template.CONFIG_NAME_TO_CLASS.items()}
    orders = ("general_configs", "train_configs", "do_eval_configs", "predict_configs", "eval_configs")
    facts["order"] = {name: getattr(template.ConfigTemplate, name) for name in orders}
    facts["run_modes"] = template.ConfigTemplate._run_modes
    configs = Register.registry[Kind.CONFIG]
    facts["classes"] = {name: _config_class(name, one) for name, one in configs.items()}
    facts["names"] = _search_names(Register, Kind, configs)
    facts["models"] = {name: _model(one) for name, one in Register.registry[Kind.MODELS].items()}
    facts.update(_conversion_facts())
    facts["registry"] = {
        name: {key: _constructor(one, further=name == "optimizer") for key, one in Register.registry[kind].items()}
        for name, kind in kinds.items()
    }
    callbacks = Register.registry[Kind.CALLBACK]
    facts["callbacks"] = {name: _constructor_words(one) for name, one in callbacks.items() if name not in _NO_CALLBACKS}
    loaders = Register.registry[Kind.DATASET_LOADER]
    facts["loaders"] = sorted(name for name, one in loaders.items() if _is_a(one, "Dataset") or "Loader" in name)
    facts["handed"] = _section_key_types()
    return facts


def _section_key_types() -> dict[str, Any]:
    """Keys of sections passed on to MindSpore, with the types that it checks."""
    from mindspore import context
    from mindspore.parallel import _auto_parallel_context as layout

    module = importlib.import_module("mindformers.core.context.build_context")  # the package has a function of its name
    own = dict.fromkeys(module.MFContextConfig.get_supported_kwargs(), "")
    own |= dict.fromkeys(("jit_level", "infer_boost"), "")  # MSContextOperator._set_predict_jit_config
    applier = getattr(module, "_MSContextApplier", None)
    if applier is None:
        known: Any = context._Context
        names = {*known.setters, *(key for key in dir(known) if not key.startswith(("_", "set_", "get_")))}
        names |= {key for key in context.ms_ctx_param.__members__ if not key.startswith("_")}
        names |= {"auto_tune_mode", "enable_auto_mixed_precision", "enable_sparse"}  # skipped with a warning
        names = {key for key in names if not _is_refused(context._check_key, key)}
    else:
        names = {key for _, keys, _ in applier._migrate for key in keys}
    told = _checked_kinds(context.set_context)
    if applier is not None:
        told = {"jit_config": told["jit_config"]}  # all else goes to newer functions
    setters = layout._set_auto_parallel_context_func_map
    return {
        "parallel": {"keys": _kinds_of(setters, _checked_kinds(layout._set_auto_parallel_context)), "stops": True},
        "context": {"keys": {**_kinds_of(names, told), **own}, "stops": applier is None},
    }


def _is_refused(check: Any, key: str) -> bool:
    try:
        check(key)
    except ValueError:
        return True
    return False


def _checked_kinds(function: Any) -> dict[str, str]:
    """Type of each key that a function's `args_type_check` checks."""
    kinds: Any = inspect.getclosurevars(function).nonlocals["bound_types"]
    words: dict[Any, str] = {
        bool: "bool",
        int: "int",
        str: "str",
        dict: "dict",
        list: "list",
        (bool, int): "bool | int",
    }
    return {name: f"{words[kind]} | None" for name, kind in kinds.get("kwargs", kinds).items()}


def _kinds_of(names: Any, told: dict[str, str]) -> dict[str, str]:
    return {name: told.get(name, "") for name in sorted(names)}


def _section_facts(one: Any) -> dict[str, Any]:
    """Facts of one section of the YAML template: defaults, required keys and strictness."""
    names = [klass.__name__ for klass in one.__mro__]
    return {
        "defaults": {key: plain(getattr(one, key)) for key in one.keys()},
        "strict": one._raise_error_for_unexpected_key,
        "spec": "SpecConfig" in names,
        "list": "ListConfig" in names,
        "required": one._required_keys,
    }


def _config_class(name: str, one: Any) -> dict[str, Any]:
    """Facts of a configuration class, read through its decorators."""
    given: dict[str, Any] = {}
    ignored: list[str] = []
    init = one.__init__
    while True:
        held = inspect.getclosurevars(init).nonlocals if hasattr(init, "__code__") else {}
        given = {**given, **held.get("mf_model_kwargs", {})} if isinstance(held.get("mf_model_kwargs"), dict) else given
        ignored += held.get("ignore_param_names", ())
        inner = getattr(init, "__wrapped__", None)
        if inner is None:
            break
        init = inner
    converter = getattr(inspect.getmodule(one), "ConfigConverter", None)
    own = [
        value.__name__
        for value in vars(inspect.getmodule(one)).values()
        if inspect.isclass(value) and value.__name__.endswith("ConfigConverter") and value is not converter
    ]
    convert = vars(one).get("convert_to_transformer_config")
    mla = None if convert is None else inspect.signature(convert).parameters["is_mla_model"].default
    return {
        "class": one.__name__,
        "module": one.__module__,
        "model_type": plain(getattr(one, "model_type", None)),
        "mf": plain(given),
        "signature": _default_arguments(init),
        "ignore": sorted(set(ignored)),
        "attribute_map": plain(getattr(one, "attribute_map", {})),
        "converter": own[0] if own else None,
        "mla_by_default": mla,
    }


def _model(one: Any) -> dict[str, Any]:
    """Facts of one network class: its static-graph module and its conversion."""
    folder = os.path.dirname(inspect.getfile(one))
    static = dynamic = ""
    for name in sorted(os.listdir(folder)):
        if name.startswith("modeling_") and name.endswith(".py") and "infer" not in name:
            with open(os.path.join(folder, name), encoding="utf-8") as stream:
                text = stream.read()
            if "pynative" in name:
                dynamic += text
            else:
                static += text
    latent = "is_mla_model=True"
    return {
        "module": one.__module__,
        "training": "GPTModel" in static and "class Training" in static,
        "mla": latent in static,
        "mla_dynamic": latent in dynamic,
    }


def _default_arguments(function: Any) -> dict[str, Any]:
    listed = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {
        name: _REQUIRED if one.default is inspect.Parameter.empty else plain(one.default)
        for name, one in inspect.signature(function).parameters.items()
        if name not in ("self", "cls") and one.kind not in listed
    }


def _search_names(register: Any, kind: Any, configs: dict[str, Any]) -> dict[str, str]:
    known: dict[Any, str] = getattr(register, "search_names_map", {})
    found: dict[str, set[str]] = {name: {name} for name in configs}
    for (module, name), target in known.items():
        if module == kind.CONFIG:
            found[target].add(name if name in configs else name.removeprefix("mcore_"))
    return {name: target for target, names in found.items() for name in sorted(names)}


def _conversion_facts() -> dict[str, Any]:
    """Facts of TransformerConfig and of the conversion of keys to its fields."""
    from mindformers.parallel_core import transformer_config, transformer_config_utils

    plain_class, mla_class = transformer_config.TransformerConfig, transformer_config.MLATransformerConfig
    fields, mla_fields = dataclass_defaults(plain_class), dataclass_defaults(mla_class)
    facts: dict[str, Any] = {
        "white": sorted(transformer_config_utils.DEFAULT_WHITE_KEY),
        "transformer": fields,
        "mla_transformer": {
            name: value for name, value in mla_fields.items() if name not in fields or fields[name] != value
        },
        "annotations": {
            field.name: annotation(field.type)
            for klass in (plain_class, mla_class)
            for field in dataclasses.fields(klass)
        },
    }
    mapping = transformer_config_utils.COMMON_CONFIG_MAPPING
    scattered = transformer_config_utils.scatter_multi_mapping_keys_to_mapping(mapping)
    scattered = mapping if scattered is None else scattered
    facts["common"] = {key: _target_pairs(spec) for key, spec in _one_by_one(scattered)}
    try:
        from mindformers.parallel_core.config_converter import ConfigConverter
    except ImportError:
        facts["converters"] = None
    else:
        facts["converters"] = {one.__name__: _converter_targets(one) for one in _all_subclasses(ConfigConverter)}
    return facts


def _one_by_one(mapping: dict[Any, Any]) -> list[tuple[str, Any]]:
    return [(one, spec) for key, spec in mapping.items() for one in (key if isinstance(key, tuple) else (key,))]


def _target_pairs(spec: Any) -> list[list[Any]]:
    if isinstance(spec, str):
        return [[spec, None]]
    if isinstance(spec, tuple) and len(spec) == 2 and callable(spec[1]):
        return [[spec[0], spec[1].__name__]]
    return [target for one in spec for target in _target_pairs(one)]


def _converter_targets(one: Any) -> dict[str, Any]:
    """Fields that a converter sets from each key, with and without latent attention."""

    class Silent:
        def __getattr__(self, name: str) -> Any:
            return lambda *_, **__: None

    return {
        name: {key: _target_pairs(spec) for key, spec in one._get_final_mapping(Silent(), mla).items()}
        for name, mla in (("plain", False), ("mla", True))
    }


def _all_subclasses(one: Any) -> list[Any]:
    return [found for child in one.__subclasses__() for found in (child, *_all_subclasses(child))]


def _constructor(one: Any, *, further: bool = False) -> dict[str, Any]:
    """Arguments of a class; for optimizers also those taken from `**kwargs`."""
    own = one.__init__ if inspect.isclass(one) else one
    if inspect.isclass(one) and "__init__" not in vars(one) and "__new__" in vars(one):
        own = one.__new__
    target = _unwrap(own)
    parameters = inspect.signature(target).parameters
    taken = [name for name, found in parameters.items() if found.kind is inspect.Parameter.VAR_KEYWORD]
    more, refused = _keyword_defaults(target, taken[0]) if taken and further else ({}, False)
    arguments = {**_default_arguments(target), **more}
    return {"class": getattr(one, "__name__", str(one)), "args": arguments, "open": bool(taken) and not refused}


def _keyword_defaults(function: Any, name: str) -> tuple[dict[str, Any], bool]:
    """Keys that a constructor reads from `**kwargs`, and True if it refuses others."""
    found: dict[str, Any] = {}
    refused = False
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return found, refused
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == name):
            continue
        if node.func.attr in ("get", "pop") and len(node.args) == 2:
            with contextlib.suppress(ValueError):
                found[ast.literal_eval(node.args[0])] = ast.literal_eval(node.args[1])
        refused = refused or node.func.attr == "keys"
    return found, refused


def _unwrap(function: Any) -> Any:
    """Function inside decorators that hide it."""
    function = inspect.unwrap(function)
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    if names != ["args", "kwargs"] or not hasattr(function, "__code__"):
        return function
    held = inspect.getclosurevars(function).nonlocals.values()
    inner = next((value for value in held if inspect.isfunction(value)), None)
    return function if inner is None else _unwrap(inner)


def _is_a(one: Any, base: str) -> bool:
    """True if a class inherits from one of that name."""
    one = inspect.unwrap(one)
    return inspect.isclass(one) and any(klass.__name__ == base for klass in one.__mro__)


def _constructor_words(one: Any) -> list[str]:
    facts = _constructor(one)
    return [*facts["args"], *(["**"] if facts["open"] else [])]


# --- the dynamic graph -----------------------------------------------------------------------------------------------


def _dynamic_facts() -> dict[str, Any] | None:
    """Facts of the dynamic graph's classes; None if the version has none."""
    try:
        from mindformers.pynative.config import config
    except ImportError:
        return None
    from mindformers.pynative.trainer import utils
    from mindformers.tools.register import MindFormerModuleType as Kind
    from mindformers.tools.register import MindFormerRegister as Register

    classes = [one for one in vars(config).values() if inspect.isclass(one) and dataclasses.is_dataclass(one)]
    schedules = Register.registry[Kind.LR]
    callbacks = Register.registry[Kind.CALLBACK]
    return {
        "classes": {one.__name__: _config_dataclass(one) for one in classes if one.__name__ != "BaseConfig"},
        "optimizers": {
            name: _constructor_parameters(getattr(utils, name)) for name in ("AdamW", "Muon") if hasattr(utils, name)
        },
        "schedules": {
            name: _constructor_parameters(one)
            for name, one in schedules.items()
            if one.__module__.startswith("mindformers.") and name == one.__name__ != "LearningRateWiseLayer"
        },
        "callbacks": {
            name: _constructor_parameters(inspect.unwrap(one))
            for name, one in callbacks.items()
            if one.__module__.startswith("mindformers.pynative.")
        },
    }


def _config_dataclass(one: Any) -> dict[str, Any]:
    """Fields of a configuration dataclass with types and defaults."""
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(one):
        kind = annotation(field.type)
        entry: dict[str, Any] = {"type": kind}
        value = _field_default(field)
        if dataclasses.is_dataclass(value):
            value = _REQUIRED
        if value != _REQUIRED:
            entry["default"] = plain(value)
        fields[field.name] = entry
    return {"extra": bool(one.allow_extra), "fields": fields}


def _constructor_parameters(one: Any) -> dict[str, Any]:
    """Parameters of a registered class, required ones, and if it takes others."""
    facts = _constructor(one, further="optim" in one.__module__)
    parameters = {
        name: None if value == _REQUIRED else value
        for name, value in facts["args"].items()
        if name not in ("params", "learning_rate", "model", "cls") or "lr" in one.__module__.split(".")
    }
    required = [name for name in parameters if facts["args"][name] == _REQUIRED]
    return {"extra": facts["open"], "parameters": parameters, "required": required}


# --- values ----------------------------------------------------------------------------------------------------------


def dataclass_defaults(one: Any) -> dict[str, Any]:
    """Every field of a dataclass with its default."""
    return {field.name: plain(_field_default(field)) for field in dataclasses.fields(one)}


def _field_default(field: Any) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    return _REQUIRED if field.default_factory is dataclasses.MISSING else field.default_factory()


def annotation(kind: Any) -> str:
    """Type as text for YAML authors: `int | None`, `list[str]`."""
    if kind is type(None) or kind is None:
        return "None"
    if isinstance(kind, str):
        return kind
    origin, words = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union or origin is getattr(types, "UnionType", None):
        return " | ".join(annotation(word) for word in words)
    if origin is not None:
        name = getattr(origin, "__name__", str(origin)).lower()
        return f"{name}[{', '.join(annotation(word) for word in words)}]" if words else name
    return getattr(kind, "__name__", str(kind))


def plain(value: Any) -> Any:
    """Value in JSON form."""
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        entries = [plain(entry) for entry in value]
        return entries if isinstance(value, (list, tuple)) else sorted(entries, key=repr)
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if dataclasses.is_dataclass(value):
        return plain(dataclasses.asdict(value))
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if callable(getattr(type(value), "keys", None)):
        return {key: plain(getattr(value, key)) for key in value.keys()}
    name = getattr(value, "__name__", None)
    return "<function>" if name == "<lambda>" else name or str(value)


# --- a library that is on no registry --------------------------------------------------------------------------------


class _Anything(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _stand_in_class(name)

    def __or__(cls, other: Any) -> Any:
        return cls

    def __ror__(cls, other: Any) -> Any:
        return cls


def _stand_in_class(name: str) -> Any:
    def nothing(*_: Any, **__: Any) -> None:
        """Take anything."""

    return _Anything(name, (), {"__init__": nothing, "__call__": lambda self, *words, **_: words[0] if words else None})


class _Module(types.ModuleType):
    __path__: typing.ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _stand_in_class(name)
        setattr(self, name, found)
        return found


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.partition(".")[0] != "hyper_parallel":
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        return _Module(spec.name)

    def exec_module(self, module: Any) -> None:
        """Do nothing: a stand-in has no code."""


def _stand_in_for_hyper_parallel() -> None:
    """Make an unavailable library importable as an empty package."""
    sys.meta_path.append(_Finder())


if __name__ == "__main__":
    main()
