"""The model keys of a Hugging Face directory: `pretrained_model_dir` with its `config.json`."""

from __future__ import annotations

import os

from ..diagnostic import UnreadableError
from ..light_typing import TYPE_CHECKING
from ..source import SourceText, Span
from ..yaml_text import read_yaml
from .messages_compiled import say
from .reading import Undecided
from .shape import is_mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..yaml_node import Node
    from .reading import Reading

_PREFIX = "model.model_config"


def pretrained_keys(reading: Reading, directory: str, open_file: Callable[[str], SourceText]) -> dict[str, Any] | None:
    """The keys of the directory's `config.json`, their places recorded where the YAML does not write them itself.

    None where it cannot be read.
    """
    import json

    path = os.path.join(directory, "config.json")
    if isinstance(directory, Undecided):
        reading.note(say.pretrained_unreadable(named=path, why=say.path_is_a_placeholder()), "pretrained_model_dir")
        return None
    try:
        source = _opened(path, reading.file, open_file)
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
    _place(reading, source, keys)
    found: dict[str, Any] = keys
    return found


def _opened(path: str, beside: str, open_file: Callable[[str], SourceText]) -> SourceText:
    """The file at `path`; a relative one counts from the working directory, as in MindFormers, or from the YAML."""
    try:
        return open_file(path)
    except UnreadableError:
        if os.path.isabs(path):
            raise
        return open_file(os.path.join(os.path.dirname(beside), path))


def _place(reading: Reading, source: SourceText, keys: dict[str, Any]) -> None:
    try:
        root = read_yaml(SourceText(source.name, source.text.replace("\t", " "))).root  # JSON allows tabs
    except UnreadableError:
        root = None
    items: Mapping[Any, Node] = {} if root is None else root.items
    whole = Span(1, 1, source.line_count, len(source.line(source.line_count)) + 1, source.name)
    for key in keys:
        if key not in items:
            reading.places.setdefault(f"{_PREFIX}.{key}", whole)
    for key, node in items.items():
        path = f"{_PREFIX}.{key}"
        if path not in reading.places:
            reading.record(path, node, source.name)
    reading.places.setdefault(_PREFIX, Span(1, 1, 1, 1, source.name))
