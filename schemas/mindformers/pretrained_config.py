"""The model keys of a Hugging Face directory: `pretrained_model_dir` with its `config.json`."""

from __future__ import annotations

import os

from ..diagnostic import UnreadableError
from ..fast_records import TYPE_CHECKING
from ..plain_values import is_mapping
from ..source import SourceText, Span
from ..yaml_reader.document import json_items
from .config_state import Undecided
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .config_state import Reading

_PREFIX = "model.model_config"


def pretrained_keys(reading: Reading, directory: str, open_file: Callable[[str], SourceText]) -> dict[str, Any] | None:
    """Keys of a pretrained `config.json` with their places; None if it cannot be read.

    None where it cannot be read.
    """
    import json

    path = os.path.join(directory, "config.json")
    if isinstance(directory, Undecided):
        reading.note(say.pretrained_unreadable(named=path, why=say.path_is_a_placeholder()), "pretrained_model_dir")
        return None
    try:
        source = _open_beside(path, reading.file, open_file)
        keys = json.loads(source.text)
    except UnreadableError as error:
        why = error.diagnostic.words().without_stop()
        reading.note(say.pretrained_unreadable(named=path, why=why), "pretrained_model_dir")
        return None
    except (ValueError, RecursionError) as error:
        reading.note(say.pretrained_unreadable(named=path, why=say.no_json(said=error)), "pretrained_model_dir")
        return None
    if not is_mapping(keys):
        reading.note(say.pretrained_unreadable(named=path, why=say.no_json_object()), "pretrained_model_dir")
        return None
    _place_keys(reading, source, keys)
    found: dict[str, Any] = keys
    return found


def nested_rope(reading: Reading) -> None:
    """Report settings in `rope_parameters` that MindFormers ignores and that differ.

    The classes' arguments are `rope_theta` and `rope_scaling` in 1.6-2.1 (`models/qwen3/configuration_qwen3.py`).
    """
    path = f"{_PREFIX}.rope_parameters"
    nested, own = reading.get(path), reading.get(_PREFIX)
    if not is_mapping(nested) or not is_mapping(own):
        return
    base = reading.resolved.get("resolved.transformer.rotary_base")
    lost = _lost_rope_settings(nested, own, None if base is None else base.value)
    if lost:
        place = reading.place(path)
        named = reading.file if place is None or place.file is None else place.file
        used = "-" if base is None else f"rotary_base {base.value}"
        wanted = ", ".join(f"{key}: {value}" for key, value in lost.items())
        reading.note(say.nested_rope(named=named, version=reading.version, used=used, wanted=wanted), path)


def _lost_rope_settings(nested: Mapping[str, Any], own: Mapping[str, Any], base: object) -> dict[str, Any]:
    """Settings of `rope_parameters` that are ignored and differ from the effective ones."""
    lost: dict[str, Any] = {}
    theta = nested.get("rope_theta")
    if theta is not None and base != theta:
        lost["rope_theta"] = theta
    kind = nested.get("rope_type", "default")
    if kind != "default" and not own.get("rope_scaling") and own.get("position_embedding_type") != kind:
        lost["rope_scaling"] = {key: value for key, value in nested.items() if key != "rope_theta"}
    return lost


def _open_beside(path: str, beside: str, open_file: Callable[[str], SourceText]) -> SourceText:
    """Text of a file by a path relative to the working directory or the YAML."""
    try:
        return open_file(path)
    except UnreadableError:
        if os.path.isabs(path):
            raise
        return open_file(os.path.join(os.path.dirname(beside), path))


def _place_keys(reading: Reading, source: SourceText, keys: dict[str, Any]) -> None:
    """Record the places of the keys of a `config.json`."""
    items = json_items(source)
    whole = Span(1, 1, source.line_count, len(source.line(source.line_count)) + 1, source.name)
    for key in keys:
        if key not in items:
            reading.places.setdefault(f"{_PREFIX}.{key}", whole)
    for key, node in items.items():
        path = f"{_PREFIX}.{key}"
        if path not in reading.places:
            reading.record(path, node, source.name)
    reading.places.setdefault(_PREFIX, Span(1, 1, 1, 1, source.name))
