"""History of an argument or a key: the versions that know, ignore or refuse it, and its defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ...schemas.config import ReadOptions
from ...schemas.fast_records import NamedTuple
from ...schemas.megatron.catalog import VERSIONS, catalog
from ...schemas.megatron.dialects import dialects_with
from ...schemas.mindformers.versions import DEFAULT_STATIC, STATIC_VERSIONS, static_catalog
from ...schemas.source import SourceText
from .key_search import DYNAMIC_VERSIONS, MODEL_CONFIG, REGISTRIES, dynamic_defaults

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...schemas.config import Acceptance, Value
    from ...schemas.megatron.catalog import ArgumentFact

_PROBE = """
use_legacy: False
run_mode: train
model: {{model_config: {{model_type: {model}, architectures: [{architecture}], {key}: 1}}}}
"""


class ArgumentState(NamedTuple):
    """State of an argument in some versions of Megatron-LM; `known` is False if they do not have it."""

    versions: tuple[str, ...]
    known: bool
    flags: tuple[str, ...]
    type: str | None
    choices: tuple[Value, ...] | None
    default: Value


class KeyState(NamedTuple):
    """State of a key in some versions of MindSpore Transformers."""

    versions: tuple[str, ...]
    dialect: str
    acceptance: Acceptance
    """`unknown` and `conflict` stop the run."""
    models: tuple[str, ...]
    """The model types it holds for; none where the key belongs to a section."""
    default: Value
    has_default: bool


class ClassDefault(NamedTuple):
    """The value that a model type takes where the key is not written."""

    model: str
    value: Value


_State = TypeVar("_State", ArgumentState, KeyState)


def argument_history(dest: str) -> tuple[ArgumentState, ...]:
    """The states of an argument, each with the versions that share it."""
    states: list[ArgumentState] = []
    for version in VERSIONS:
        facts = [fact for fact in catalog(version).arguments if fact.dest == dest]
        states.append(_argument_state(version, facts))
    states += [
        _argument_state(fork.name, [fact for fact in fork.arguments if fact.dest == dest])
        for fork in dialects_with(dest)
    ]
    return tuple(_merge_states(states))


def _argument_state(version: str, facts: Sequence[ArgumentFact]) -> ArgumentState:
    if not facts:
        return ArgumentState((version,), False, (), None, None, None)
    first = facts[0]
    kind = first.type if first.action == "store" else "bool"
    flags = tuple(option for fact in facts for option in fact.options)
    return ArgumentState((version,), True, flags, kind, first.choices, first.default)


def key_history(path: str) -> tuple[KeyState, ...]:
    """The states of a key path, each with the versions that share it."""
    states: list[KeyState] = []
    if path.startswith(MODEL_CONFIG) and "." not in path.removeprefix(MODEL_CONFIG):
        for version in STATIC_VERSIONS:
            states += _model_states(version, path.removeprefix(MODEL_CONFIG))
    elif any(_section_state(version, path).acceptance == "accepted" for version in STATIC_VERSIONS):
        states += [_section_state(version, path) for version in STATIC_VERSIONS]
    dynamic = {version: dynamic_defaults(version) for version in DYNAMIC_VERSIONS}
    if any(path in defaults for defaults in dynamic.values()):
        states += [_dynamic_state(version, path, defaults) for version, defaults in dynamic.items()]
    return tuple(_merge_states(states))


def class_defaults(path: str, version: str = DEFAULT_STATIC) -> tuple[ClassDefault, ...]:
    """Defaults of a key of `model_config`, by the model types that can be trained."""
    if not path.startswith(MODEL_CONFIG):
        return ()
    key = path.removeprefix(MODEL_CONFIG)
    found: list[ClassDefault] = []
    for model, entry in _models(version):
        for defaults in (entry["signature"], entry["mf"]):
            if key in defaults:
                found.append(ClassDefault(model, defaults[key]))
                break
    return tuple(found)


def _models(version: str) -> list[tuple[str, dict[str, Any]]]:
    """The model types that can be trained on the static graph, with the facts of their classes."""
    entries = [entry for entry in static_catalog(version)["classes"].values() if not entry["legacy"]]
    return [(entry["model_type"], entry) for entry in entries if entry["trainable"] and entry["model_type"]]


def _model_states(version: str, key: str) -> list[KeyState]:
    """Found by reading a file with the key in it, once a model type: the reader is what knows."""
    from ...schemas.mindformers.effective import mindformers_config

    by_acceptance: dict[Acceptance, list[str]] = {}
    for model, entry in _models(version):
        text = _PROBE.format(model=model, architecture=_architecture(version, str(entry["class"])), key=key)
        source = SourceText("probe.yaml", text)
        config = mindformers_config(source, ReadOptions(mindformers=version, dialect="static"), _nothing)
        setting = config.settings.get(MODEL_CONFIG + key)
        if setting is not None:
            by_acceptance.setdefault(setting.acceptance, []).append(model)
    return [
        KeyState((version,), "static", acceptance, tuple(models), None, False)
        for acceptance, models in by_acceptance.items()
    ]


def _architecture(version: str, name: str) -> str:
    """The network that a configuration class belongs to."""
    wanted = name.removesuffix("Config").lower() + "forcausallm"
    return next((one for one in static_catalog(version)["models"] if one.lower() == wanted), name)


def _nothing(path: str) -> SourceText:
    return SourceText(path, "")


def _section_state(version: str, path: str) -> KeyState:
    facts = static_catalog(version)
    section, _, key = path.partition(".")
    general = facts["sections"]["general_config"]["defaults"]
    if not key:
        known = section in general or section in facts["sections"]
        return _state(version, known, general.get(section), strict=False, has=section in general)
    entry = facts["sections"].get(section)
    defaults: dict[str, Any] = {} if entry is None or entry["list"] else entry["defaults"]
    arguments = {
        name
        for one in facts["registry"].get(REGISTRIES.get(section, ""), {}).values()
        for name in one["args"]
    }  # fmt: skip
    strict = entry is not None and bool(entry["strict"])
    return _state(version, key in defaults or key in arguments, defaults.get(key), strict=strict, has=key in defaults)


def _state(version: str, known: bool, default: Value, *, strict: bool, has: bool) -> KeyState:
    acceptance: Acceptance = "accepted" if known else "unknown" if strict else "ignored"
    return KeyState((version,), "static", acceptance, (), default, has)


def _dynamic_state(version: str, path: str, defaults: dict[str, object]) -> KeyState:
    known = path in defaults
    default = defaults.get(path)
    has = known and default is not ...
    return KeyState((version,), "dynamic", "accepted" if known else "unknown", (), default if has else None, has)  # type: ignore[arg-type]


def _merge_states(states: Iterable[_State]) -> list[_State]:
    """States that only differ in the version, as one."""
    merged: list[_State] = []
    for state in states:
        for at, earlier in enumerate(merged):
            if repr(earlier[1:]) == repr(state[1:]):
                merged[at] = earlier._replace(versions=earlier.versions + state.versions)
                break
        else:
            merged.append(state)
    return merged
