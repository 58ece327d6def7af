"""Sections of a YAML, such as `lr_schedule`: their keys, their counterparts, an example as `convert` writes it."""

from __future__ import annotations

from functools import cache

from ...mapper.mapping_rows import behaviour, megatron_names
from ...mappings.tables import table
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.mindformers.dynamic import VERSIONS as DYNAMIC_VERSIONS
from ...schemas.mindformers.versions import DEFAULT_DYNAMIC, DEFAULT_STATIC, STATIC_VERSIONS
from ...schemas.source import SourceText
from .key_search import dynamic_defaults, plain_path, static_keys
from .reference_compiled import SAMPLE, SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Literal, TypeAlias

    from ...mappings.tables import Row
    from ...schemas.diagnostic import Language

    Graph: TypeAlias = Literal["static", "dynamic"]

_GRAPHS: tuple[Graph, ...] = ("static", "dynamic")
_OTHER: Mapping[Graph, Graph] = {"static": "dynamic", "dynamic": "static"}
_WRITTEN = {"static": DEFAULT_STATIC, "dynamic": DEFAULT_DYNAMIC}
_RESOLVED = "resolved"
_NO_ROW = -1
_MINOR = 4
"""A section of the other graph that has a quarter of the keys of the first one is named beside it."""


def sections_named(word: str) -> tuple[str, ...]:
    """The paths of the sections that a word names: a whole path, or the end of one."""
    name = plain_path(word)
    known = _section_keys()
    if name in known or name in SECTIONS:
        return (name,)
    return tuple(path for path in dict.fromkeys((*known, *SECTIONS)) if path.endswith(f".{name}"))


def same_as(word: str) -> str:
    """The path with its section replaced by another section that has the same keys; else the path unchanged."""
    name = plain_path(word)
    for path, entry in SECTIONS.items():
        if entry["as"] and name.startswith(f"{path}."):
            return f"{entry['as']}.{name.removeprefix(f'{path}.')}"
    return word


def section_record(path: str, language: Language) -> dict[str, Any]:
    """The explanation of a section as JSON: content, keys of each graph mode, reason and examples."""
    entry = SECTIONS.get(path)
    keys = _section_keys().get((entry and entry["as"]) or path, {})
    graphs = [_graph_record(path, graph, keys[graph], language) for graph in _GRAPHS if graph in keys]
    reason = None if any(one["rows"] for one in graphs) else table().mindformers_reason(path)
    return {
        "section": path,
        "holds": entry["says"][language == "zh"] if entry else None,
        "graphs": graphs,
        "reason": None if reason is None else reason.zh if language == "zh" else reason.en,
        "impact": None if reason is None else reason.impact,
        "examples": _examples(path, [one["graph"] for one in graphs]),
    }


def _graph_record(path: str, graph: Graph, keys: Sequence[str], language: Language) -> dict[str, Any]:
    """The keys of a section in one graph: those of each row together, sections within it, keys without a row."""
    below = (SECTIONS[path]["as"] if path in SECTIONS else None) or path
    by_row: dict[int, list[str]] = {}
    for key in keys:
        by_row.setdefault(_row_of(graph).get(key, _NO_ROW), []).append(key)
    alone = by_row.pop(_NO_ROW, [])
    rows = table().rows
    inner = [one for one in _section_keys() if one.startswith(f"{below}.") and graph in _section_keys()[one]]
    return {
        "graph": graph,
        "rows": [
            {
                "keys": [key.removeprefix(f"{below}.") for key in listed],
                "fields": list(rows[at].fields),
                "megatron": _megatron_words(rows[at], language),
            }
            for at, listed in sorted(by_row.items())
        ],
        "sections": [one for one in inner if "." not in one.removeprefix(f"{below}.")],
        "other_graph": _sections_of_rows(by_row or _rows_within(inner, graph), _OTHER[graph]),
        "without_row": [key.removeprefix(f"{below}.") for key in alone if key not in _alias_paths()],
    }


def _megatron_words(row: Row, language: Language) -> list[str]:
    """The flags of a row, or what Megatron-LM does instead."""
    names = [name for side in row.megatron for name in megatron_names(side) if not name.startswith("(")]
    instead = [words for side in row.megatron if (words := behaviour(side, language)) is not None]
    return list(dict.fromkeys(names or instead))


def _rows_within(sections: Iterable[str], graph: Graph) -> list[int]:
    keys = [key for one in sections for key in _section_keys()[one].get(graph, ())]
    return sorted({_row_of(graph)[key] for key in keys if key in _row_of(graph)})


def _sections_of_rows(rows: Iterable[int], graph: Graph) -> list[str]:
    """The sections that hold most of the rows' keys in a graph."""
    counts: dict[str, int] = {}
    for at in rows:
        row = table().rows[at]
        for side in row.static if graph == "static" else row.dynamic:
            for path in {plain_path(key).rpartition(".")[0] for key in _alternatives(side.keys)}:
                if path and not path.startswith(_RESOLVED):
                    counts[path] = counts.get(path, 0) + 1
    most = max(counts.values(), default=0)
    return [path for path, count in sorted(counts.items(), key=lambda one: -one[1]) if count * _MINOR >= most]


@cache
def _row_of(graph: Graph) -> dict[str, int]:
    """The row of each key: the one among whose keys it stands first."""
    best: dict[str, tuple[int, int]] = {}
    for at, row in enumerate(table().rows):
        for side in row.static if graph == "static" else row.dynamic:
            for place, key in enumerate(side.keys):
                for one in _alternatives((key,)):
                    best[plain_path(one)] = min(best.get(plain_path(one), (place, at)), (place, at))
    return {key: at for key, (_, at) in best.items()}


@cache
def _alias_paths() -> frozenset[str]:
    sides = (side for row in table().rows for side in row.static + row.dynamic)
    return frozenset(plain_path(one) for side in sides for one in _alternatives(side.aliases))


def _alternatives(keys: Iterable[str]) -> list[str]:
    """Single keys of entries such as `a|b`."""
    return [one for key in keys for one in key.split("|")]


@cache
def _section_keys() -> Mapping[str, Mapping[Graph, tuple[str, ...]]]:
    """The keys that stand directly in each section, by the section's path and the graph."""
    found: dict[str, dict[Graph, dict[str, None]]] = {}
    for graph in _GRAPHS:
        paths = {plain_path(path): None for path in (*_known_paths(graph), *_row_of(graph))}
        for path in paths:
            section = path.rpartition(".")[0]
            while section and not section.startswith(_RESOLVED):
                keys = found.setdefault(section, {}).setdefault(graph, {})
                if path.rpartition(".")[0] == section:
                    keys[path] = None
                section = section.rpartition(".")[0]
    return {
        section: {graph: tuple(key for key in keys if key not in found) for graph, keys in graphs.items()}
        for section, graphs in found.items()
    }


def _known_paths(graph: Graph) -> Iterable[str]:
    if graph == "static":
        return (path for version in reversed(STATIC_VERSIONS) for path in static_keys(version))
    return (path for version in reversed(DYNAMIC_VERSIONS) for path in dynamic_defaults(version))


def _examples(path: str, graphs: Sequence[Graph]) -> list[dict[str, Any]]:
    """YAML lines that show the section in use, for each graph mode."""
    own = SECTIONS[path]["example"] if path in SECTIONS else None
    if own is not None:
        return [{"graph": "static", "version": None, "text": own}]
    cuts = ((graph, _cut(_sample(graph).split("\n"), path.split("."))) for graph in graphs)
    return [{"graph": graph, "version": _WRITTEN[graph], "text": "\n".join(lines)} for graph, lines in cuts if lines]


@cache
def _sample(graph: Graph) -> str:
    """The YAML that `convert` writes for the sample launch in one graph mode."""
    from ...mapper.translate.read_back import text_of
    from ...mapper.translate.translation import translate
    from ...schemas.config import ReadOptions
    from ...schemas.reader import config_of

    config = config_of(SourceText("sample.sh", SAMPLE + "\n"), ReadOptions(), path="sample.sh", open_file=_empty_file)
    return text_of(translate(config, "mindformers", _WRITTEN[graph], graph), comments=True, language="en")


def _empty_file(name: str) -> SourceText:
    """An empty text for any file that the sample launch names."""
    return SourceText(name, "")


def _cut(lines: Sequence[str], path: Sequence[str], indent: int = 0) -> list[str]:
    """The lines of one section of a written YAML, below the headings of the sections around it."""
    start = next((at for at, line in enumerate(lines) if line.startswith(f"{' ' * indent}{path[0]}:")), None)
    if start is None:
        return []
    end = start + 1
    while end < len(lines) and (
        lines[end].startswith(" " * (indent + 1)) or lines[end].startswith(f"{' ' * indent}- ")
    ):
        end += 1
    inner = list(lines[start + 1 : end])
    if len(path) > 1:
        inner = _cut(inner, path[1:], indent + 2)
        return [lines[start], *inner] if inner else []
    return [lines[start], *inner]
