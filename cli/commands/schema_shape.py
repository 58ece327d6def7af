"""Faults in the shape of a framework's own file: its typed model finds them, its reader says which version applies.

A model is open where the framework takes further keys. A key that the model does not know is a fault if the reader
says that nothing uses it; so this agrees with `lint`, which has the same reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...schemas.fast_records import NamedTuple
from ...schemas.plain_values import is_list, is_mapping
from .schema_faults import Fault, Place, faults, nearest, unknown_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...schemas.config import Config, Setting
    from ...schemas.source import Span
    from .schema_faults import Path


class FrameworkCheck(NamedTuple):
    """The faults of a framework's file, and the place of each entry that a path names."""

    kind: str
    faults: Sequence[Fault]
    place: Callable[[Path], Place | None]


def check_mindformers(
    config: Config, schema: Mapping[str, Any], value: Any, place: Callable[[Path], Place | None]
) -> FrameworkCheck:
    """The faults of a YAML's value, by the model of the dialect and version that the reader found."""
    spans = [problem.span for problem in config.problems if problem.span is not None]

    def is_reported(fault: Fault) -> bool:
        span = nearest(fault.path, place, of_key=fault.is_about_key)
        return any(_begin_together(one, span) for one in spans)

    # A class of its own program's, and a key that a legacy class carries along, are no mistakes.
    found = [fault for fault in faults(value, schema) if fault.keyword not in ("const", "enum") or is_reported(fault)]
    reported = {fault.path for fault in found}
    unused = _unused_keys(value, schema, schema, config.settings, ())
    unknown = (fault for fault in unused if fault.path not in reported and is_reported(fault))
    return FrameworkCheck("mindformers", [*found, *unknown], place)


def check_megatron(config: Config, schema: Mapping[str, Any]) -> FrameworkCheck:
    """The faults of a launch's arguments, by the model of the version that the reader found."""
    known: Mapping[str, Any] = schema["properties"]
    flags = [f"--{key.replace('_', '-')}" for key in known]
    spans = [problem.span for problem in config.problems if problem.span is not None]
    written = _written_settings(config)
    # What the parser takes has a value; a fork's parser takes more than Megatron-LM's.
    refused = {
        key: setting.raw
        for key, setting in written.items()
        if not setting.decided and key in known and any(_is_behind(span, setting.span) for span in spans)
    }
    values = {key: raw[0] if len(raw) == 1 else list(raw) for key, raw in refused.items() if raw}
    unknown = (
        unknown_key((key,), (), setting.flag or key, flags)
        for key, setting in written.items()
        if setting.acceptance == "unknown" and any(_begin_together(span, setting.span) for span in spans)
    )

    def place(path: Path) -> Place | None:
        setting = written.get(str(path[0]))
        if setting is None or setting.span is None:
            return None
        return Place(setting.span, next((span for span in spans if _is_behind(span, setting.span)), setting.span))

    return FrameworkCheck("megatron", [*faults(values, schema), *unknown], place)


def _written_settings(config: Config) -> dict[str, Setting]:
    """The arguments that the launch itself has, with all of their words read."""
    unread = {word.text for word in config.unresolved}
    return {
        key: setting
        for key, setting in config.settings.items()
        if setting.origin == "explicit" and setting.raw and unread.isdisjoint(setting.raw)
    }


def _is_behind(span: Span, whole: Span | None) -> bool:
    """True for a part of a span that does not begin with it: the value behind a flag."""
    if whole is None or (span.end_line, span.end_column) > (whole.end_line, whole.end_column):
        return False
    return (span.line, span.column) > (whole.line, whole.column)


def _begin_together(span: Span, other: Span | None) -> bool:
    return other is not None and (span.line, span.column) == (other.line, other.column)


def _unused_keys(
    value: Any, schema: Mapping[str, Any], whole: Mapping[str, Any], settings: Mapping[str, Setting], path: Path
) -> Iterator[Fault]:
    """Keys that nothing uses, the outermost ones, each with the key of the model that was probably meant."""
    if is_list(value):
        for number, entry in enumerate(value):
            yield from _unused_keys(entry, {}, whole, settings, (*path, number))
    if not is_mapping(value):
        return
    known = dict(_members(schema, whole, value))
    for key, entry in value.items():
        if known and _is_unused((*path, key), settings):
            yield unknown_key((*path, key), path, str(key), [name for name in known if name != key])
        else:
            yield from _unused_keys(entry, known.get(key, {}), whole, settings, (*path, key))


def _is_unused(path: Path, settings: Mapping[str, Setting]) -> bool:
    """True if the reader says of a key, or of all below it, that nothing uses it."""
    name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
    below = [one for key, one in settings.items() if key == name or key.startswith((f"{name}.", f"{name}["))]
    return bool(below) and all(one.acceptance in ("ignored", "unknown") for one in below)


def _members(
    schema: Mapping[str, Any], whole: Mapping[str, Any], value: Mapping[Any, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The members that a mapping may have: of alternatives told apart by a key, those of the one that is named."""
    if "$ref" in schema:
        schema = whole["$defs"][str(schema["$ref"]).rpartition("/")[2]]
    yield from schema.get("properties", {}).items()
    discriminator = schema.get("discriminator")
    if discriminator is not None:
        chosen = discriminator["mapping"].get(value.get(discriminator["propertyName"]))
        branches = [] if chosen is None else [{"$ref": chosen}]
    else:
        branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
        named = [branch for branch in branches if "discriminator" in branch and any(_members(branch, whole, value))]
        branches = named or branches
    for branch in branches:
        yield from _members(branch, whole, value)
