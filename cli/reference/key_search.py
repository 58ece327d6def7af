"""Search for the things that a word names: arguments of Megatron-LM, keys of MindSpore Transformers, recipe fields."""

from __future__ import annotations

import re
from functools import cache

from ...mapper.recipe.vocabulary import vocabulary
from ...mappings.tables import table
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.catalog import VERSIONS, catalog
from ...schemas.megatron.dialects import dialect_named, dialects_with, known_dialects
from ...schemas.mindformers.dynamic import VERSIONS as DYNAMIC_VERSIONS
from ...schemas.mindformers.dynamic import catalog as dynamic_catalog
from ...schemas.mindformers.versions import STATIC_VERSIONS, static_catalog, static_version
from ...schemas.suggestion import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ...mappings.tables import Row, Side

MODEL_CONFIG = "model.model_config."
REGISTRIES = {"lr_schedule": "lr", "optimizer": "optimizer", "runner_wrapper": "wrapper"}
"""Sections whose keys are the arguments of the class that their `type` names."""
_SHORT = 3
"""A word of so few letters in a sentence means nothing."""
_GIVEN_BY_TRAINER = ("optimizer", "params", "network", "self", "args", "kwargs")


class Named(NamedTuple):
    """Everything that a word names."""

    word: str
    arguments: tuple[str, ...]
    """Destinations of Megatron-LM's parser."""
    keys: tuple[str, ...]
    """Key paths of MindSpore Transformers, both dialects."""
    rows: tuple[Row, ...]
    related: tuple[Row, ...]
    """Rows that read the argument too, to decide something else."""
    mentioned: bool
    """The rows are not about the word; their notes speak of it."""


def find_named(word: str) -> Named | None:
    """Everything that a word names; None if it names nothing that is known."""
    name = word.strip().partition("=")[0]
    arguments = _arguments(name)
    keys = _keys_of_rows(name)
    own, related = _rows_of([*arguments, *(one for dest in arguments for one in _megatron_twins(dest))], keys)
    own |= _rows_named(name, by_ending=not own and not arguments)
    keys.update(dict.fromkeys(_keys_named(name)))
    own |= _rows_reading(name)
    mentioned = not own
    if mentioned:
        own = _rows_mentioning(plain_path(name), known=bool(arguments or keys))
    if not own and not arguments and not keys and name not in vocabulary():
        return None
    rows = table().rows
    found, beside = (tuple(rows[at] for at in sorted(places)) for places in (own, related - own))
    return Named(name, arguments, tuple(keys), found, beside, mentioned and bool(own))


def _keys_of_rows(name: str) -> dict[str, None]:
    """The keys of that name that a row reads; a word with a dash is a flag."""
    return {} if name.startswith("-") else dict.fromkeys(_paths_of_rows(plain_path(name)))


def _keys_named(name: str) -> Iterable[str]:
    """The keys of that name that a version reads."""
    if name.startswith("-"):
        return ()
    reasoned = (path for path in table().mindformers_reasons if "." in path)
    return (path for path in (*known_keys(), *reasoned) if _ends_with_key(plain_path(path), plain_path(name)))


def _rows_of(arguments: Iterable[str], keys: Iterable[str]) -> tuple[set[int], set[int]]:
    """The rows of arguments and keys, and those that read them for something else."""
    own: set[int] = set()
    related: set[int] = set()
    for dest in arguments:
        _sort_in(own, related, _rank_rows(dest, megatron=True))
    for path in keys:
        _sort_in(own, related, _rank_rows(path, megatron=False))
    return own, related


def _rows_named(name: str, *, by_ending: bool) -> set[int]:
    """The rows of a field or variable of that name; `by_ending` where nothing else is called so."""
    named = _rows_by_field()
    if name in named or not by_ending:
        return set(named.get(name, ()))
    ending = f".{plain_path(name)}"
    return {at for field, places in named.items() if field.endswith(ending) for at in places}


@cache
def _rows_by_field() -> Mapping[str, Sequence[int]]:
    """The rows by their fields and environment variables."""
    found: dict[str, list[int]] = {}
    for at, row in enumerate(table().rows):
        variables = (side.environment for side in (*row.megatron, *row.static, *row.dynamic))
        for name in {*row.fields, *filter(None, variables)}:
            found.setdefault(name, []).append(at)
    return found


def _rows_reading(name: str) -> set[int]:
    """The rows that read what the framework makes of keys: `resolved.schedule.warmup_steps`."""
    if not name.startswith("resolved."):
        return set()
    rows = enumerate(table().rows)
    return {at for at, row in rows if any(name in side.read for side in row.static + row.dynamic)}


def _rows_mentioning(key: str, *, known: bool) -> set[int]:
    """The rows whose notes speak of a key; a word of everyday English says nothing where it names something."""
    if "_" not in key if known else len(key) <= _SHORT:
        return set()
    return set(_rows_by_word().get(key, ()))


@cache
def _rows_by_word() -> Mapping[str, Sequence[int]]:
    """The rows by the words of their notes."""
    found: dict[str, list[int]] = {}
    for at, row in enumerate(table().rows):
        for word in _words_of_text(row.en):
            found.setdefault(word, []).append(at)
    return found


def nearest_names(word: str) -> tuple[str, ...]:
    """The flag, the key and the field that are spelled most like an unknown word."""
    name = word.strip().partition("=")[0]
    options = sorted({option for version in VERSIONS for option in catalog(version).by_option})
    flag = closest("--" + name.strip("-").replace("_", "-"), options)
    if name.startswith("-"):
        return () if flag is None else (flag,)
    key = plain_path(name)
    paths = sorted({*_row_paths(), *known_keys()})
    candidates = paths if "." in key else sorted({path.rpartition(".")[2] for path in paths})
    found = (closest(key, vocabulary()), closest(key, candidates), flag)
    return tuple(dict.fromkeys(one for one in found if one is not None))


def known_keys() -> Mapping[str, None]:
    """Every key path that some version knows or deliberately passes over, the static graph's first."""
    if not _known:
        for version in reversed(STATIC_VERSIONS):
            _known.update(dict.fromkeys(static_keys(version)))
        for version in reversed(DYNAMIC_VERSIONS):
            _known.update(dict.fromkeys(dynamic_defaults(version)))
    return _known


_known: dict[str, None] = {}


def static_keys(version: str) -> Iterator[str]:
    """The static graph's key paths, whichever class they belong to; the same ones perhaps several times."""
    facts = static_catalog(static_version(version))
    for name, section in facts["sections"].items():
        if name == "general_config":
            yield from section["defaults"]
            continue
        yield name
        if not section["list"]:
            yield from (f"{name}.{key}" for key in section["defaults"])
    for section, registry in REGISTRIES.items():
        for entry in facts["registry"][registry].values():
            yield from (f"{section}.{key}" for key in entry["args"] if key not in _GIVEN_BY_TRAINER)
    yield from (f"{MODEL_CONFIG}{key}" for key in _model_keys(facts))


def _model_keys(facts: Mapping[str, Any]) -> Iterator[str]:
    """Every key that the model classes of MindSpore Transformers take, with those of the converters."""
    for entry in facts["classes"].values():
        if not entry["legacy"]:
            yield from (*entry["signature"], *entry["mf"])
    for converter in facts["converters"].values():
        for part in ("same", "rules", "mla_same", "mla_rules"):
            yield from converter[part]
    yield from (*facts["white"], *facts["meant"])


def dynamic_defaults(version: str) -> dict[str, object]:
    """The dynamic graph's key paths with their defaults; a section's default is an ellipsis."""
    facts = dynamic_catalog(version)
    found: dict[str, object] = {}
    pending = [("", "TrainConfig")]
    while pending:
        prefix, name = pending.pop()
        for key, field in facts.classes[name]["fields"].items():
            inner = next((part for part in field["type"].split(" | ") if part in facts.classes), None)
            found[f"{prefix}{key}"] = ... if inner else field.get("default")
            if inner:
                pending.append((f"{prefix}{key}.", inner))
    return found


def _arguments(name: str) -> tuple[str, ...]:
    """The destinations that a flag or a destination stands for, in any version."""
    flag = "--" + name.lstrip("-")
    spellings = (name, flag, flag.replace("_", "-"))
    dest = name.lstrip("-").replace("-", "_")
    found: dict[str, None] = {}
    for version in VERSIONS:
        facts = catalog(version)
        found.update(dict.fromkeys(facts.by_option[one].dest for one in spellings if one in facts.by_option))
        if dest in facts.by_dest:
            found[dest] = None
    if dest in _row_arguments() or any(dialects_with(dest)):
        found[dest] = None
    if name.startswith("-") or not found:
        found.update(dict.fromkeys(_fork_options()[one] for one in spellings if one in _fork_options()))
    return tuple(found)


@cache
def _fork_options() -> Mapping[str, str]:
    """The destinations of the forks' own options, some of which are not called so: `--train.micro_batch_size`."""
    forks = (fork for name in known_dialects() if (fork := dialect_named(name)) is not None)
    return {option: fact.dest for fork in forks for fact in fork.arguments for option in fact.options}


@cache
def _megatron_twins(dest: str) -> tuple[str, ...]:
    """The arguments of Megatron-LM's own that say what a fork's says."""
    return tuple(dict.fromkeys(one for fork in dialects_with(dest) for one in fork.targets_of(dest)))


def _paths_of_rows(key: str) -> list[str]:
    """The paths of the tables that end with `key`."""
    return [path for path in _row_paths() if _ends_with_key(plain_path(path), key)]


@cache
def _row_paths() -> tuple[str, ...]:
    """Every key and alias of MindSpore Transformers in the tables."""
    return tuple({path: None for side in _mindformers_sides() for path in _keys_and_aliases(side)})


@cache
def _row_arguments() -> frozenset[str]:
    """Every destination in the tables; some are derived and belong to no flag."""
    return frozenset(one for row in table().rows for side in row.megatron for one in _alternatives(side))


def _rank_rows(name: str, *, megatron: bool) -> Sequence[tuple[int, int]]:
    """The rows that read `name`, with its place among their keys: a row's first key is its own."""
    return _rows_by_key(megatron=megatron).get(name, ())


@cache
def _rows_by_key(*, megatron: bool) -> Mapping[str, Sequence[tuple[int, int]]]:
    """For each key of a framework the rows that read it, each with its first place among the keys of its sides."""
    found: dict[str, dict[int, int]] = {}
    for at, row in enumerate(table().rows):
        for side in row.megatron if megatron else row.static + row.dynamic:
            for place, name in enumerate(_alternatives(side) if megatron else _keys_and_aliases(side)):
                places = found.setdefault(name, {})
                places[at] = min(place, places.get(at, place))
    return {name: [(place, at) for at, place in places.items()] for name, places in found.items()}


def _sort_in(own: set[int], related: set[int], ranked: Sequence[tuple[int, int]]) -> None:
    """The rows whose own key it is, and those that read it for something else."""
    if ranked:
        best = min(place for place, _ in ranked)
        for place, at in ranked:
            (own if place == best else related).add(at)


def _alternatives(side: Side) -> list[str]:
    return [one for key in side.keys + side.aliases for one in key.split("|")]


def _keys_and_aliases(side: Side) -> Iterable[str]:
    return side.keys + side.aliases


def _mindformers_sides() -> Iterator[Side]:
    for row in table().rows:
        yield from row.static + row.dynamic


@cache
def plain_path(path: str) -> str:
    """A path without what tells list items apart: `callbacks[0].type`, `callbacks{MFLossMonitor}.type`."""
    return re.sub(r"\[[^]]*]|\{[^}]*}", "", path).strip(".").lstrip("-").replace("-", "_")


def _ends_with_key(path: str, key: str) -> bool:
    return bool(key) and (path == key or path.endswith(f".{key}"))


def _words_of_text(text: str) -> set[str]:
    return {word.strip(".,;:()").lstrip("-").replace("-", "_") for word in text.split()}
