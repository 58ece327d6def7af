"""A MindSpore Transformers YAML, read to the values that the framework will really use.

The file's leaves and the template's defaults come first, under their dotted paths; what the framework derives from
them (the model's `TransformerConfig`, the batch, the schedule, the optimizer …) follows under `resolved.`.
"""

from __future__ import annotations

import os

from ..config import Config, Setting
from ..diagnostic import UnreadableError, diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple
from ..file_kind import (
    is_mindformers,
    may_be_mindformers,
    other_yaml,
    purpose_of_fine_tuning,
    purpose_of_run_mode,
    template,
    unread_yaml,
)
from ..plain_values import deep_copy, is_list, is_mapping
from ..rows import Sourced
from ..source_tree import tree_version
from ..versions import header_version, release_of
from ..yaml_reader.document import parse_path, read_yaml
from .config_state import Reading, Undecided, default_setting, plain_value, without_placeholders
from .messages_compiled import say
from .resolution import suggest
from .switches import switch_sections, switch_setting, switch_unread
from .versions import (
    DEFAULT_STATIC,
    detected_dialect,
    dialect_and_version,
    minor_version,
    static_catalog,
    static_version,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from ..config import ReadOptions
    from ..diagnostic import Diagnostic
    from ..file_kind import Purpose
    from ..message import Problem, Words
    from ..source import SourceText, Span
    from ..yaml_reader.document import YamlDocument
    from ..yaml_reader.node import Node
    from .versions import Chosen


Faults: TypeAlias = "list[tuple[Problem, str]]"
"""What sections refuse, and where."""
_GENERAL = "general_config"


def fill(reading: Reading, given: dict[Any, Any], faults: Faults, *, legacy: bool) -> tuple[dict[str, Any], list[str]]:
    """Sections completed by the version's defaults, and keys that belong to no section."""
    sections: dict[str, dict[str, Any]] = reading.catalog["sections"]
    rest = dict(given)
    general = {key: rest.pop(key) for key in sections[_GENERAL]["defaults"] if key in rest}
    filled: dict[str, Any] = {}
    for name in _applied_sections(reading.catalog, given.get("run_mode"), given.get("do_eval", False)):
        if name == _GENERAL:
            filled.update(_read_section(reading, name, general, faults))
        elif name != "moe_config" or legacy:
            filled[name] = _read_section(reading, name, rest.pop(name, None), faults)
    return {**rest, **filled}, [str(key) for key in rest]


def _applied_sections(catalog: dict[str, Any], run_mode: Any, do_eval: Any) -> list[str]:
    groups = ["general_configs"]
    if run_mode in ("eval", "predict"):
        groups.append(f"{run_mode}_configs")
    elif run_mode in catalog["run_modes"]:
        groups += ["train_configs", *(["do_eval_configs"] if do_eval else [])]
    return [name for group in groups for name in catalog["order"][group]]


def _read_section(reading: Reading, name: str, given: Any, faults: Faults) -> Any:
    """One section completed by its defaults; faults for wrong types and missing or unknown keys."""
    facts: dict[str, Any] = reading.catalog["sections"][name]
    listed, defaults = facts["list"], facts["defaults"]
    if given is not None and not (is_list(given) if listed else is_mapping(given)):
        faults.append(_wrong_type(name, say.a_list() if listed else say.a_mapping(), given))
        given = None
    if listed:
        return _entries(reading, name, given or [], deep_copy(list(defaults.values())), faults)
    if not given:
        return deep_copy(defaults)
    faults += [_missing_problem(reading, name, key) for key in facts["required"] if key not in given]
    for key in given if facts["strict"] else ():
        if key not in defaults:
            meant = suggest(str(key), defaults)
            said = say.unknown_section_key(key=str(key), section=name, suggestion=meant, version=reading.version)
            faults.append((said, f"{name}.{key}"))
    return dict(given) if facts["spec"] else {**deep_copy(defaults), **given}


def _entries(reading: Reading, name: str, given: list[Any], defaults: list[Any], faults: Faults) -> list[Any]:
    """Entries of a list section with defaults added."""
    for place, entry in enumerate(given):
        path = f"{name}[{place}]"
        if not is_mapping(entry):
            faults.append(_wrong_type(path, say.a_mapping(), entry))
        elif "type" not in entry:
            faults.append(_missing_problem(reading, path, "type"))
    result = [entry for entry in given if is_mapping(entry)]
    named = [entry.get("type") for entry in result]
    return [*result, *(entry for entry in defaults if entry["type"] not in named)]


def _wrong_type(path: str, expected: Words, given: object) -> tuple[Problem, str]:
    found = say.a_list() if is_list(given) else say.a_mapping() if is_mapping(given) else repr(given)
    return say.section_type(key=path, expected=expected, found=found), path


def _missing_problem(reading: Reading, section: str, key: str) -> tuple[Problem, str]:
    return say.missing_key(key=key, section=section, version=reading.version), f"{section}.{key}"


_MAX_MAPPING_DEPTH = 10
"""`tools/check_rules.py:check_yaml_depth_before_loading`, 1.6-2.1."""
_MAX_BASE_FILES = 20
_MAY_HOLD_PLACEHOLDERS = ("$", "{{", "\\")
"""A text without any of these holds no placeholder; an escape could spell one."""
_OTHERS_YAML = ("SYN072", "SYN073", "SYN075")
"""What `safe_load` refuses and other programs' YAML often has: several documents, tags, keys that are mappings."""
_NEEDED = (("trainer", "type"), ("model", "model_config"))
"""Sections without defaults from which something is built."""


class Override(NamedTuple):
    """A value that an option of a launch script's `run_mindformer.py` sets over the YAML."""

    path: str
    value: Any
    span: Span | None
    option: str


def mindformers_config(
    source: SourceText,
    options: ReadOptions,
    open_file: Callable[[str], SourceText],
    *,
    overrides: Sequence[Override] = (),
    folders: Sequence[str] = (),
) -> Config:
    """Configuration of a YAML with all effective values.

    `folders` are those of a launch that names the YAML: the framework's source tree may be there.
    """
    try:
        document = read_yaml(source)
    except UnreadableError as error:
        other = _unread(source, error.diagnostic)
        if other is None:
            raise
        raise UnreadableError(other.problem) from error
    return _config_of_document(document, options, open_file, overrides, folders)._replace(document=document)


def _config_of_document(
    document: YamlDocument,
    options: ReadOptions,
    open_file: Callable[[str], SourceText],
    overrides: Sequence[Override],
    folders: Sequence[str],
) -> Config:
    """Configuration of a parsed document, after its dialect and version are chosen."""
    source, root = document.source, document.root
    if root is None or root.kind != "mapping" or not is_mapping(root.value):
        if root is not None and root.kind == "sequence":
            raise UnreadableError(other_yaml(root.value, source.name).problem)
        span = None if root is None else root.span
        found = say.nothing() if root is None else repr(root.value)[:60]
        raise UnreadableError(diagnose(say.not_a_mapping(found=found), source.name, span))
    if options.dialect is None and not is_mindformers(root.value):
        return _foreign_config(source.name, root, other_yaml(root.value, source.name))
    here = os.path.dirname(os.path.join(os.getcwd(), source.name))
    dialect, chosen = dialect_and_version(
        root.value,
        options,
        lambda: tree_version("mindformers", (*folders, here), open_file),
        header_version("mindformers", source.text),
    )
    if dialect == "dynamic":
        from .dynamic import dynamic_config

        return dynamic_config(document, source, options, chosen.version, chosen)
    return _static_config(document, root, options, open_file, overrides, dialect, chosen)


def _foreign_config(file: str, root: Node, purpose: Purpose) -> Config:
    """Configuration of a YAML that is not of MindSpore Transformers: written values only."""
    reading = Reading(file, DEFAULT_STATIC, {})
    reading.values = root.value
    reading.record("", root, None)
    settings = _settings(reading)
    return Config(file, "mindformers", DEFAULT_STATIC, "other", settings, problems=(purpose.problem,), purpose=purpose)


def _unread(source: SourceText, problem: Diagnostic) -> Purpose | None:
    """Purpose of a text that is not a plain YAML document; None for a broken configuration."""
    if not may_be_mindformers(source):
        found = template(source)
        if found is None and problem.kind.code in _OTHERS_YAML:
            found = unread_yaml(source.name)
        return found
    line = problem.span.line if problem.span is not None else 0
    near = [source.line(number) for number in (line - 1, line) if 1 <= number <= source.line_count]
    return template(source) if any(mark in text for text in near for mark in ("{{", "{%", "<%")) else None


def _static_config(
    document: YamlDocument,
    root: Node,
    options: ReadOptions,
    open_file: Callable[[str], SourceText],
    overrides: Sequence[Override],
    dialect: str,
    chosen: Chosen,
) -> Config:
    """Configuration of a static-graph YAML: defaults, overrides, resolution and problems."""
    source = document.source
    version = chosen.version
    used = static_version(version)
    reading = Reading(source.name, minor_version(version), static_catalog(used))
    reading.problems.extend(document.problems)
    if used != minor_version(version):
        reading.note(say.version_stand_in(asked=version, used=used), None)
    _check_depth(reading, root)
    given = _with_base_files(reading, source.name, root, open_file)
    if overrides or _may_hold_placeholders(root, source):
        given = without_placeholders(given, "", reading)
    _apply_overrides(reading, given, [change for change in overrides if change.path == "run_mode"])
    if "base_config" in root.value and options.dialect is None:
        dialect = "legacy" if detected_dialect(given) == "legacy" else "static"  # the file below may say use_legacy
    legacy = dialect == "legacy"
    faults: Faults = []
    reading.values, unused = fill(reading, given, faults, legacy=legacy)
    _report_template(reading, unused, faults)
    _apply_overrides(reading, reading.values, [change for change in overrides if change.path != "run_mode"])
    known = _add_pretrained(reading, open_file)
    switch_sections(reading)
    written = _settings(reading)
    from .resolution import Trainer

    Trainer(reading, _option_values(options, legacy=legacy)).resolve("trainer")
    if reading.get("model.model_config.rope_parameters") is not None:
        from .pretrained_config import nested_rope

        nested_rope(reading)
    settings = _with_what_follows(reading, written, known=known)
    purpose = _other_purpose_of(reading, source.name)
    return Config(
        source.name,
        "mindformers",
        reading.version,
        dialect,
        settings,
        unresolved=tuple(reading.unresolved),
        problems=_problems_told(reading, purpose, open_file),
        version_origin=chosen.origin,
        version_reason=chosen.reason,
        purpose=purpose,
        release=release_of(options.mindformers),
    )


def _option_values(options: ReadOptions, *, legacy: bool) -> dict[str, Sourced]:
    """The command-line options as values that the rows of the tables can use, such as `option.steps`."""
    return {
        "option.world_size": Sourced(options.world_size),
        "option.counted_at": Sourced(options.counted_at),
        "option.steps": Sourced(options.steps, ("--steps",)),
        "option.dataset_size": Sourced(options.dataset_size, ("--dataset-size",)),
        "option.legacy": Sourced(legacy),
    }


def _may_hold_placeholders(root: Node, source: SourceText) -> bool:
    """True if the text may contain placeholders, so that a search is worthwhile."""
    return "base_config" in root.value or any(mark in source.text for mark in _MAY_HOLD_PLACEHOLDERS)


def _other_purpose_of(reading: Reading, file: str) -> Purpose | None:
    """Purpose of a file other than pretraining, by `run_mode` or by keys of fine-tuning; None if it has none."""
    found = purpose_of_run_mode(reading.values.get("run_mode"), file, reading.place("run_mode"))
    return purpose_of_fine_tuning(reading.get, reading.place, file) if found is None else found


def _problems_told(
    reading: Reading, purpose: Purpose | None, open_file: Callable[[str], SourceText]
) -> tuple[Diagnostic, ...]:
    """Problems that matter for a file of this purpose."""
    problems = tuple(reading.problems)
    if any(problem.kind is say.kinds["unknown_class"] for problem in problems):
        from .own_classes import of_own_program

        problems = of_own_program(problems, reading.file, open_file)
    if purpose is None:
        return problems
    return (purpose.problem, *(problems if purpose.trains_gpt else ()))


def _with_what_follows(reading: Reading, settings: dict[str, Setting], *, known: bool) -> dict[str, Setting]:
    """Written settings completed by resolved ones; `known` if all deciding files were read."""
    for path, acceptance in reading.acceptance.items():
        if path in settings:
            settings[path] = settings[path]._replace(acceptance=acceptance)
    switch_unread(reading)
    for path, (value, on) in reading.switched.items():
        if path in settings:
            settings[path] = switch_setting(settings[path], value, on=on)
    settings.update(reading.resolved if known else _overridable(reading.resolved, settings))
    if any(problem.kind is say.kinds["base_config"] for problem in reading.problems):
        return {key: _open(setting) for key, setting in settings.items()}
    return settings


def _open(setting: Setting) -> Setting:
    """Setting made undecided, because an unread base file may set it."""
    return setting if setting.origin == "explicit" else setting._replace(value=None, decided=False)


def _check_depth(reading: Reading, root: Node) -> None:
    """Report a mapping that is nested too deeply for the framework."""
    if not _deeper(root, _MAX_MAPPING_DEPTH):
        return
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > _MAX_MAPPING_DEPTH:
            span = node.key_span or node.span
            said = say.too_deep(depth=depth, limit=_MAX_MAPPING_DEPTH)
            reading.problems.append(diagnose(said, reading.file, span))
            return
        stack.extend((child, depth + 1) for child in node.items.values())


def _deeper(node: Node, limit: int) -> bool:
    """True if some key stands in more than `limit` mappings."""
    if limit == 0:
        return bool(node.items)
    return any(_deeper(child, limit - 1) for child in node.items.values() if child.items)


def _with_base_files(
    reading: Reading,
    name: str,
    root: Node,
    open_file: Callable[[str], SourceText],
    depth: int = 0,
    asked: list[str] | None = None,
) -> dict[Any, Any]:
    """Mapping merged over the files named in `base_config`."""
    asked = [] if asked is None else asked
    file = None if depth == 0 else name
    given: dict[Any, Any] = dict(root.value)
    named = given.pop("base_config", None)
    if named is None:
        reading.record("", root, file)
        return given
    merged: dict[Any, Any] = {}
    for base in named if is_list(named) else [named]:
        # Files that name one another several times each would be read for ever, though the depth has an end.
        if depth >= _MAX_BASE_FILES or len(asked) >= 10 * _MAX_BASE_FILES or not isinstance(base, str):
            reading.note(say.base_config(named=base, why=say.files_in_a_circle()), None)
            continue
        path = os.path.join(os.path.dirname(name), base)
        asked.append(path)
        try:
            below = read_yaml(open_file(path))
        except UnreadableError as error:
            said = say.base_config(named=path, why=error.diagnostic.words().without_stop())
            reading.problems.append(diagnose(said, reading.file, root.items["base_config"].span))
            continue
        if below.root is not None and is_mapping(below.root.value):
            merged.update(_with_base_files(reading, path, below.root, open_file, depth + 1, asked))
    reading.record("", root, file)
    return _merge_sections(given, merged)


def _merge_sections(top: dict[Any, Any], below: dict[Any, Any]) -> dict[Any, Any]:
    """Mapping merged over another, section by section."""
    result = dict(below)
    for key, value in top.items():
        under = result.get(key)
        if is_mapping(value) and is_mapping(under):
            result[key] = _merge_sections(value, under)
        else:
            result[key] = value
    return result


def _report_template(reading: Reading, unused: list[str], faults: Faults) -> None:
    """Report sections that no template uses, missing keys and faults of sections."""
    from ..suggestion import suggestion

    sections: dict[str, Any] = reading.catalog["sections"]
    others: list[str] = reading.catalog["read_without_template"].split()
    strange: dict[str, list[str]] = {key: [] for key in unused if key not in others and key not in sections}
    for path in reading.places if strange else ():
        section = path.partition(".")[0].partition("[")[0]
        if section in strange:
            strange[section].append(path)
    for key, below in strange.items():
        known = [*sections, *sections["general_config"]["defaults"], *others]
        mode = reading.values.get("run_mode")
        reading.acceptance.update(dict.fromkeys(below, "ignored"))
        near = suggestion(key, known)
        reading.note(say.unused_section(key=key, mode=mode, suggestion=near, version=reading.version), key, on_key=True)
    for section, key in _NEEDED:
        if section in reading.values and not reading.values[section]:
            reading.note_missing(say.missing_key(key=key, section=section, version=reading.version), f"{section}.{key}")
    for problem, path in faults:
        unknown = problem.kind is say.kinds["unknown_section_key"]
        if unknown:
            reading.acceptance[path] = "unknown"
        if problem.kind is say.kinds["missing_key"]:
            reading.note_missing(problem, path)
        else:
            reading.note(problem, path, on_key=unknown)


def _add_pretrained(reading: Reading, open_file: Callable[[str], SourceText]) -> bool:
    """Merge `model.model_config` over a pretrained `config.json`; False if that cannot be read.

    False where there should be one and it cannot be read.
    """
    directory = reading.get("pretrained_model_dir")
    if not directory or not isinstance(directory, str):
        return True
    from .pretrained_config import pretrained_keys

    found = pretrained_keys(reading, directory, open_file)
    model = reading.values.get("model")
    if found and is_mapping(model):
        own = model.get("model_config")
        model["model_config"] = {**found, **(own if is_mapping(own) else {})}
    return found is not None


def _overridable(resolved: Mapping[str, Setting], written: Mapping[str, Setting]) -> dict[str, Setting]:
    """All settings, with those of the model marked that an unread `config.json` may replace."""

    def is_open(setting: Setting) -> bool:
        sources = [written[key].origin for key in setting.derived_from if key in written]
        return setting.origin != "explicit" and not (sources and all(origin == "explicit" for origin in sources))

    return {
        key: setting._replace(overridable=True)
        if key.startswith("resolved.transformer.") and is_open(setting)
        else setting
        for key, setting in resolved.items()
    }


def _apply_overrides(reading: Reading, values: dict[Any, Any], changes: Sequence[Override]) -> None:
    for change in changes:
        _set_path(values, parse_path(change.path), change.value)
        _place_override(reading, change)


def _place_override(reading: Reading, change: Override) -> None:
    """Move the place of an overridden key to its command-line option."""
    reading.options[change.path] = change.option
    stale = [
        path
        for path in reading.places
        if path == change.path or path.startswith((f"{change.path}.", f"{change.path}["))
    ]
    for path in stale:
        del reading.places[path]
    if change.span is not None:
        reading.places[change.path] = change.span


def _set_path(values: dict[Any, Any], steps: tuple[str | int, ...], value: Any) -> None:
    """Set a value at a path, creating sections but not list entries."""
    here: Any = values
    for step in steps[:-1]:
        if _has_place(here, step):
            here = here[step]
        elif is_mapping(here):
            below = here.get(step)
            if not is_mapping(below) and not is_list(below):
                below = here[step] = {}
            here = below
        else:
            return
    last = steps[-1]
    if is_mapping(here) or _has_place(here, last):
        here[last] = value


def _has_place(value: Any, step: str | int) -> bool:
    return is_list(value) and isinstance(step, int) and step < len(value)


def _settings(reading: Reading) -> dict[str, Setting]:
    """The leaves of the filled template: the written ones in file order, then the defaults."""
    leaves: dict[str, Any] = {}
    _gather("", reading.values, leaves)
    places, options = reading.places, reading.options
    written = sorted((path for path in places if path in leaves), key=lambda path: places[path][:2])
    settings: dict[str, Setting] = {}
    for path in written:
        value = leaves[path]
        decided = not isinstance(value, Undecided)
        held = plain_value(value) if decided else None
        settings[path] = _setting(
            (path, held, "explicit", places[path], None, options.get(path), (), False, "accepted", decided)
        )
    for path, value in leaves.items():
        if path not in settings:
            option = options.get(path)
            if option is None:
                settings[path] = default_setting(path, value)
            else:
                settings[path] = Setting(path, plain_value(value), "explicit", flag=option)
    return settings


_setting = Setting._make


def _gather(path: str, value: Any, leaves: dict[str, Any]) -> None:
    """Collect every leaf value by path."""
    if is_mapping(value) and (value or not path):
        for key, entry in value.items():
            below = f"{path}.{key}" if path else str(key)
            if isinstance(entry, (dict, list)):
                _gather(below, entry, leaves)
            else:
                leaves[below] = entry
    elif is_list(value) and any(isinstance(entry, (dict, list)) for entry in value):
        for place, entry in enumerate(value):
            _gather(f"{path}[{place}]", entry, leaves)
    else:
        leaves[path] = value
