"""A file written out again with the sizes of the small model, as one process can start it, and read again.

Rows of the tables say which keys hold a size, and how; whatever else the file says stays as it stands there.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from ...mapper.lenses import LENSES
from ...mapper.lenses.lens import OMIT, Omitted, Scope
from ...mapper.recipe.reading import recipe_of, side_of
from ...mapper.translate.megatron_file import words_of
from ...mapper.translate.mindformers_file import put as put_at
from ...mapper.translate.yaml_text import block
from ...mappings.keys_compiled import DATASET, DATASET_TASK
from ...mappings.tables import field_named, table
from ...schemas.config import ReadOptions, explicit_of
from ...schemas.fast_records import NamedTuple
from ...schemas.megatron.forks import OWN, catalog
from ...schemas.reader import config_of
from ...schemas.source import SourceText
from ..constants_compiled import ONE_PROCESS
from . import dimensions as size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Row, Side, SideName
    from ...schemas.config import Config, Value
    from ...schemas.megatron.catalog import ArgumentFact
    from .dimensions import Sizes


_ROUNDS = 3
"""A size that a file leaves to others is said once these have others."""
_SCRIPT, _DOCUMENT = "megatron.sh", "mindformers.yaml"
_MASKED: tuple[FieldName, ...] = ("tokenizer.pad_token", "tokenizer.ignore_label")
"""Tokens that MindSpore Transformers masks; a number below 0 is none."""
_SMALL_TOKENIZER: dict[FieldName, Value] = {"tokenizer.type": "NullTokenizer", "model.vocab_divisor": 1}
"""A tokenizer has its own number of tokens, whatever a launch says of it; the null one has as many as it is told."""


_DEVICES = "WORLD_SIZE"
"""The variable that says over how many devices a launch is spread: the small one is over one."""


class SmallFile(NamedTuple):
    """The file of one side's small model."""

    text: str
    config: Config
    """What is read of it."""


def small_files(
    files: tuple[Config, Config], whole: tuple[Sizes, Sizes], small: tuple[Sizes, Sizes]
) -> tuple[tuple[SmallFile, SmallFile], tuple[Sizes, Sizes]]:
    """Both files with these sizes, and the sizes that they then have.

    A size that a side's model has whatever its file says stays, and where both sides have the same it stays on both.
    """
    sizes = dict(small[0]), dict(small[1])
    for _round in range(_ROUNDS):
        written = small_file(files[0], sizes[0]), small_file(files[1], sizes[1])
        found = size.sizes_of(written[0].config), size.sizes_of(written[1].config)
        stuck = [(at, field) for at in (0, 1) for field in _differing_sizes(found[at], sizes[at])]
        for at, field in stuck:
            for side in (0, 1) if _is_same_size(whole[0].get(field), whole[1].get(field)) else (at,):
                if sizes[side].get(field) is not None:
                    sizes[side][field] = found[at][field]
        if not stuck:
            return written, sizes
    return (small_file(files[0], sizes[0]), small_file(files[1], sizes[1])), sizes


def _differing_sizes(found: Mapping[str, Value], wanted: Mapping[str, Value]) -> list[str]:
    """The sizes that are others than was wanted."""
    return [name for name, value in wanted.items() if value is not None and not _is_same_size(found[name], value)]


def small_file(config: Config, sizes: Sizes) -> SmallFile:
    """The file with these sizes."""
    fields: dict[FieldName, Value] = {field_named(name): value for name, value in sizes.items() if value is not None}
    fields |= ONE_PROCESS | _vocabulary(config, sizes.get(size.VOCABULARY))
    found = _write_small(config, _keys(config, fields))
    for _round in range(_ROUNDS):
        apart = _differing_sizes(size.sizes_of(found.config), sizes)
        if not apart:
            break
        found = _write_small(found.config, _keys(found.config, {field_named(name): sizes[name] for name in apart}))
    return found


def _is_same_size(found: Value, wanted: Value) -> bool:
    return (list(found) if isinstance(found, tuple) else found) == wanted


def _vocabulary(config: Config, tokens: Value) -> dict[FieldName, Value]:
    """Fields in place of the tokenizer: Megatron-LM asks it for its size, MindSpore Transformers masks a token."""
    if not isinstance(tokens, int):
        return {}
    if config.framework == "megatron":
        return {**_SMALL_TOKENIZER, "model.vocab_size": tokens}
    before = size.sizes_of(config)[size.VOCABULARY]
    found: dict[FieldName, Value] = {}
    for name in _MASKED:
        token = recipe_of(config).value(name)
        if isinstance(token, int) and token >= 0:
            found[name] = token_within(token, before, tokens)
    return found


def token_within(token: Value, before: Value, tokens: int) -> int:
    """A token that is masked, in a smaller vocabulary; -1 for none."""
    if not isinstance(token, int) or token < 0 or (isinstance(before, int) and token >= before):
        return -1
    return min(token, tokens - 1)


def _keys(config: Config, fields: Mapping[FieldName, Value]) -> dict[str, Value | Omitted]:
    """The keys that say what these fields are to be; left out where a key says nothing of it any more."""
    recipe, side_name, version = recipe_of(config), side_of(config), config.framework_version
    given = {setting.key for setting in explicit_of(config.settings)}
    found: dict[str, Value | Omitted] = {}

    def value(field: FieldName) -> Value:
        return fields[field] if field in fields else recipe.value(field)

    for row in table().rows:
        side = row.side(side_name, version)
        if side is None or not side.keys or fields.keys().isdisjoint(row.fields):
            continue
        alike = all(_is_same_size(recipe.value(field), value(field)) for field in row.fields)
        if alike and ONE_PROCESS.keys().isdisjoint(row.fields):
            continue
        written = LENSES[side.lens].put(tuple(map(value, row.fields)), Scope(side_name, version, side.options, value))
        for name, one in zip(side.keys, written, strict=False):
            key = _spelling(name, side, given)
            if not isinstance(one, Omitted) and (key in given or not alike):
                found[key] = one
        for name in (*side.keys, *side.aliases):
            for key in name.split("|"):
                if key in given and _leads(key, row, side, side_name, version):
                    found.setdefault(key, OMIT)
    return found


def _spelling(key: str, side: Side, given: set[str]) -> str:
    """The name under which the file says it already; a row of several keys has one name for each."""
    if key in given or len(side.keys) != 1:
        return key
    return next((alias for alias in side.aliases if alias in given), key)


def _leads(key: str, row: Row, side: Side, side_name: SideName, version: str) -> bool:
    """True if a key is this row's own, and none that another row is led by."""
    if key in side.keys[0].split("|"):
        return True
    others = (one.side(side_name, version) for one in table().rows if one is not row)
    return not any(other is not None and other.keys and key in other.keys[0].split("|") for other in others)


def _write_small(config: Config, put: Mapping[str, Value | Omitted]) -> SmallFile:
    if config.framework == "megatron":
        return _launch(config, put)
    return _document(config, put)


def _launch(config: Config, put: Mapping[str, Value | Omitted]) -> SmallFile:
    """A launch on one device, with every argument that the file gives."""
    known = catalog(config.framework_version).by_dest
    given = _given_words(config, known)
    for key, value in put.items():
        fact = known.get(key)
        if fact is None or isinstance(value, Omitted) or value == fact.default:
            given.pop(key, None)
        else:
            given[key] = words_of(fact, value)
    return _of_words(config, given)


def _of_words(config: Config, given: Mapping[str, Sequence[str]]) -> SmallFile:
    told: Mapping[str, str | None] = {} if config.launch is None else config.launch.env
    words = [f"{name}={shlex.quote(value)}" for name, value in told.items() if value is not None and name != _DEVICES]
    lines = [" ".join([*words, "torchrun --nproc_per_node 1 pretrain_gpt.py"]), *map(shlex.join, given.values())]
    options = ReadOptions(megatron=config.release or config.framework_version, world_size=1)
    return _read(_SCRIPT, " \\\n    ".join(lines) + "\n", options)


def _given_words(config: Config, known: Mapping[str, ArgumentFact]) -> dict[str, list[str]]:
    """The words of what the file gives; of another program's words, what Megatron-LM's own mean the same."""
    taken = {key: one for key, one in config.settings.items() if one.decided and one.acceptance == "accepted"}
    given = {
        key: words_of(known[key], one.value) if one.flag is None or one.raw is None else [one.flag, *one.raw]
        for key, one in taken.items()
        if key in known and one.origin == "explicit"
    }
    if config.dialect != OWN:
        plain = _of_words(config, given).config
        for key, one in taken.items():
            if key in known and one.value not in (None, known[key].default, plain.value(key)):
                given[key] = words_of(known[key], one.value)
    return given


def _read(path: str, text: str, options: ReadOptions) -> SmallFile:
    return SmallFile(text, config_of(SourceText(path, text), options, path=path))


def _document(config: Config, put: Mapping[str, Value | Omitted]) -> SmallFile:
    """The file's own sections, as one document; the data set's stands there twice, as an alias does."""
    said: dict[str, Value] = {setting.key: setting.value for setting in explicit_of(config.settings)}
    for key, value in put.items():
        for one in (key, *(copy for copy in _copies(key) if copy in said)):
            if isinstance(value, Omitted):
                said.pop(one, None)
            else:
                said[one] = value
    options = ReadOptions(mindformers=config.release or config.framework_version, dialect=config.dialect)
    path = os.path.join(os.path.dirname(config.file), _DOCUMENT)
    return _read(path, "\n".join(block(nested(said), {})) + "\n", options)


def _copies(key: str) -> Iterator[str]:
    if key.startswith(f"{DATASET}."):
        yield f"{DATASET_TASK}.dataset_config{key[len(DATASET) :]}"


def nested(said: Mapping[str, Any]) -> dict[str, Any]:
    """Values by path, as the sections and lists that the paths name."""
    found: dict[str, Any] = {}
    for key, value in said.items():
        put_at(found, key, value)
    return found
