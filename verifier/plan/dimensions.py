"""The sizes of a model under their recipe names, made small, and the file written out again with the small sizes.

`shrink` makes both sides small by one rule: what is equal in the files stays equal, what differs stays different,
ratios that mean something (heads to groups, the order of dense and expert layers) are kept.
"""

from __future__ import annotations

import os
import shlex
from math import lcm, prod
from typing import TYPE_CHECKING, Any, TypeAlias

from ...mapper.differences import difference_of
from ...mapper.equality import is_equal_field
from ...mapper.gates import says_something
from ...mapper.lenses import LENSES
from ...mapper.lenses.lens import OMIT, Omitted, Scope
from ...mapper.recipe.reading import recipe_of, side_of
from ...mapper.recipe.vocabulary import vocabulary
from ...mapper.translate.megatron_file import words_of
from ...mapper.translate.mindformers_file import put as put_at
from ...mapper.translate.yaml_text import block
from ...mappings.keys_compiled import DATASET, DATASET_TASK, LEADING_DENSE_LAYERS
from ...mappings.tables import field_named, table
from ...schemas.config import ReadOptions, explicit_of
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ...schemas.megatron.forks import OWN, catalog
from ...schemas.reader import config_of
from ...schemas.source import SourceText
from ..constants_compiled import DECIDED_BY, OF_SEVERAL_PROCESSES, ONE_PROCESS, SIZES, SWITCHED_OFF
from ..constants_compiled import TARGETS as SIZES_TARGETED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ...mapper.recipe.values import Recipe
    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Row, Side, SideName
    from ...schemas.config import Config, Setting, Value
    from ...schemas.megatron.catalog import ArgumentFact

Sizes: TypeAlias = "dict[str, Any]"

LAYERS, PATTERN, HIDDEN, FFN = "model.num_layers", "moe.layer_pattern", "model.hidden_size", "model.ffn_hidden_size"
HEADS, GROUPS, HEAD = "attention.num_heads", "attention.num_query_groups", "attention.head_dim"
EXPERTS, TOPK = "moe.num_experts", "moe.router.topk"
EXPERT_FFN, SHARED_FFN = "moe.ffn_hidden_size", "moe.shared.ffn_hidden_size"
EXPERT_GROUPS, GROUP_TOPK = "moe.router.num_groups", "moe.router.group_topk"
VOCABULARY, SEQUENCE, POSITIONS = "model.padded_vocab_size", "data.sequence_length", "position.max_embeddings"
MTP, KIND_OF_POSITIONS = "mtp.num_layers", "position.type"


def sizes_of(config: Config) -> Sizes:
    """Sizes of the model by recipe field; None if a size does not apply or is unknown."""
    recipe = recipe_of(config)
    return {
        name: None if says_something(field, recipe) is False else recipe.value(field) or None
        for name in SIZES
        if (field := field_named(name))
    }


class Target(NamedTuple):
    """A small size, and the step in which it may differ between the sides."""

    size: int
    step: int = 2


TARGETS: dict[str, Target] = {field: Target(*given) for field, given in SIZES_TARGETED.items()}

YARN_ROPE = Target(32)
_HEADS, _GROUPS, _MOST_RATIO = 4, 2, 16
_MOST_RUNS = 4


def shrink(a: Sizes, b: Sizes, chosen: Mapping[str, int], *, keep: bool) -> tuple[Sizes, Sizes]:
    """Both sides' sizes made small; `chosen` fixes some of them, `keep` leaves the others as they are."""
    small_a, small_b = dict(a), dict(b)
    if not keep:
        _layers(a, b, small_a, small_b)
        for field, target in TARGETS.items():
            _set(field, _pair(a.get(field), b.get(field), _target(field, target, a, b)), small_a, small_b)
        _heads(a, b, small_a, small_b)
        _experts(a, b, small_a, small_b)
        _positions(a, b, small_a, small_b)
    for field, value in chosen.items():
        _choose(field, value, small_a, small_b)
    if not keep or HEADS in chosen or HIDDEN in chosen:
        _fit_hidden(small_a, small_b, HIDDEN in chosen)
    return small_a, small_b


def summary(a: Sizes, b: Sizes, small_a: Sizes, small_b: Sizes) -> dict[str, list[Any]]:
    """Changed sizes by recipe field as [from, to]; sides that differ are {"a", "b"}."""
    found: dict[str, list[Any]] = {}
    for field in dict.fromkeys((*a, *b)):
        before, after = both(a.get(field), b.get(field)), both(small_a.get(field), small_b.get(field))
        if before != after:
            found[field] = [before, after]
    return found


def has_positions(sizes: Sizes, kind: str) -> bool:
    """True if a model uses this kind of position embedding, alone or with others."""
    return kind in str(sizes.get(KIND_OF_POSITIONS)).split("+")


def both(a: Any, b: Any) -> Any:
    """The value if both sides have the same, else {"a", "b"}."""
    return a if a == b else {"a": a, "b": b}


def _target(field: str, target: Target, a: Sizes, b: Sizes) -> Target:
    """Small size to aim at for a field; experts in groups and some rotary sizes need larger ones."""
    if field == EXPERTS and (a.get(EXPERT_GROUPS) or b.get(EXPERT_GROUPS)):
        return Target(8, 4)
    if field.endswith("qk_rope_head_dim") and (has_positions(a, "yarn") or has_positions(b, "yarn")):
        return YARN_ROPE
    return target


def _pair(a: int | None, b: int | None, target: Target) -> tuple[int | None, int | None]:
    """Small sizes of both sides for one field; a side without a size keeps None."""
    if not a or not b:
        return (min(a, target.size) if a else a), (min(b, target.size) if b else b)
    return made_small(a, b, target)


def made_small(a: int, b: int, target: Target) -> tuple[int, int]:
    """Two sizes made small: equal ones equal, different ones different and in the same order."""
    small = min(a, b, target.size)
    if a == b:
        return small, small
    more = small + target.step * max(1, round((max(a, b) / min(a, b) - 1) * small / target.step))
    larger = min(more, small * 2) if small * 2 > small + target.step else small + target.step
    return (small, larger) if a < b else (larger, small)


def _set(field: str, values: tuple[int | None, int | None], a: Sizes, b: Sizes) -> None:
    """Assign each side's value of a field, if that side has the field."""
    for side, value in zip((a, b), values, strict=True):
        if field in side:
            side[field] = value


def _layers(a: Sizes, b: Sizes, small_a: Sizes, small_b: Sizes) -> None:
    """Set few layers: one for each run of equal kinds on both sides, two if that leaves one of many."""
    kinds = list(_zip_longest(_pattern(a), _pattern(b)))
    runs = [kind for at, kind in enumerate(kinds) if at == 0 or kind != kinds[at - 1]]
    differing = [kind for kind in runs if kind[0] != kind[1]]
    short = runs[:_MOST_RUNS]
    short += [kind for kind in differing if kind not in short]
    if len(short) == 1 and len(kinds) > 1:
        short = short * 2
    for side, small, at in ((a, small_a, 0), (b, small_b, 1)):
        pattern = [kind[at] for kind in short if kind[at] is not None]
        small[LAYERS] = len(pattern)
        if side.get(PATTERN) is not None:
            small[PATTERN] = pattern


def _zip_longest(a: Sequence[int], b: Sequence[int]) -> list[tuple[int | None, int | None]]:
    """Pairs of both lists' entries; None fills the shorter list."""
    length = max(len(a), len(b))
    return [(a[at] if at < len(a) else None, b[at] if at < len(b) else None) for at in range(length)]


def _pattern(sizes: Sizes) -> list[int]:
    """Kind of each layer (1: experts) as a list."""
    pattern = sizes.get(PATTERN)
    return list(pattern) if pattern else [0] * (sizes.get(LAYERS) or 0)


def _heads(a: Sizes, b: Sizes, small_a: Sizes, small_b: Sizes) -> None:
    """Set small numbers of attention heads and query groups, keeping the sides' ratios equal or different."""
    heads, groups = a.get(HEADS) or 0, a.get(GROUPS) or a.get(HEADS) or 0
    if not heads or not groups:
        return
    ratio = max(1, heads // groups)
    if ratio == 1:
        few_groups = min(groups, _HEADS)
    else:
        few_groups = min(groups, _GROUPS) if ratio <= _MOST_RATIO else 1
    few = min(ratio, 2 * _MOST_RATIO) * few_groups
    small_a[HEADS], small_a[GROUPS] = few, few_groups
    other = b.get(HEADS) or 0
    few_b = few if other == heads else (few * 2 if other > heads else max(1, few // 2))
    groups_b = b.get(GROUPS) or other
    same_ratio = other and groups_b and other // groups_b == ratio
    if same_ratio:
        small_groups = max(1, few_b // ratio)
    else:
        ideal = max(1, round(few_b * groups_b / other)) if other else 1
        small_groups = next((n for n in range(ideal, few_b + 1) if few_b % n == 0 and n != few_groups), few_b)
    small_b[HEADS], small_b[GROUPS] = few_b, small_groups


def _experts(a: Sizes, b: Sizes, small_a: Sizes, small_b: Sizes) -> None:
    """Set experts per token and expert groups that are valid for the reduced number of experts."""
    one, two = a.get(EXPERT_GROUPS), b.get(EXPERT_GROUPS)
    if one and two and one != two:
        _set(EXPERT_GROUPS, (2, 4) if one < two else (4, 2), small_a, small_b)
    else:
        _set(EXPERT_GROUPS, (one and min(one, 4), two and min(two, 4)), small_a, small_b)
    _chosen_groups(a, b, small_a, small_b)
    _experts_per_token(a, b, small_a, small_b)


def _chosen_groups(a: Sizes, b: Sizes, small_a: Sizes, small_b: Sizes) -> None:
    """Set how many groups a token may choose: as large a share of them as in the files, all only if it is all there."""
    each = ((a, small_a), (b, small_b))
    one, two = (_share_of_groups(whole, small) for whole, small in each)
    before, other = a.get(GROUP_TOPK) or 0, b.get(GROUP_TOPK) or 0
    if one and two and one == two and before != other:
        one, two = (1, 2) if before < other else (2, 1)
    _set(GROUP_TOPK, (one, two), small_a, small_b)


def _share_of_groups(whole: Sizes, small: Sizes) -> int | None:
    """A side's small number of chosen groups; two at most unless it chooses all."""
    chosen, before, after = whole.get(GROUP_TOPK), whole.get(EXPERT_GROUPS), small.get(EXPERT_GROUPS)
    if not (chosen and before and after):
        return chosen and min(chosen, 2)
    return after if chosen >= before else min(max(1, round(chosen * after / before)), max(1, after - 1), 2)


def _experts_per_token(a: Sizes, b: Sizes, small_a: Sizes, small_b: Sizes) -> None:
    """Set experts per token: no more than the chosen groups have, and as many of a group as rank it in the files."""
    one, two = a.get(TOPK), b.get(TOPK)
    if one and two and (small_a.get(GROUP_TOPK) or small_b.get(GROUP_TOPK)):
        _set(TOPK, _experts_of_groups(one, two, ((a, small_a), (b, small_b))), small_a, small_b)
    elif one and two and one != two:
        few = 1 if min(one, two) == 1 else 2
        _set(TOPK, (few, few + 1) if one < two else (few + 1, few), small_a, small_b)
    else:
        _set(TOPK, (one and min(one, 2), two and min(two, 2)), small_a, small_b)


def _experts_of_groups(one: int, two: int, sides: tuple[tuple[Sizes, Sizes], ...]) -> tuple[int, int]:
    """Experts per token of both sides where a side chooses groups first; their order stays that of the files."""
    rooms = [min(value, _eligible(small)) for value, (_whole, small) in zip((one, two), sides, strict=True)]
    pairs = [
        (x, y)
        for x in range(1, rooms[0] + 1)
        for y in range(1, rooms[1] + 1)
        if (x < y, x > y) == (one < two, one > two)
    ]

    def order(pair: tuple[int, int]) -> tuple[int, int, int]:
        """More is better: sides whose groups are ranked as in the files, whole shares of a group, experts."""
        found = list(zip(pair, sides, strict=True))
        ranked = sum(_of_a_group(x, small) == _of_a_group(whole[TOPK], whole) for x, (whole, small) in found)
        even = sum(x % (small.get(GROUP_TOPK) or 1) == 0 for x, (_whole, small) in found)
        return ranked, even, sum(pair)

    return max(pairs, key=order, default=(1, 1))


def _of_a_group(topk: int, sizes: Sizes) -> int | None:
    """How many experts of a group rank it; None without a choice of groups."""
    chosen = sizes.get(GROUP_TOPK)
    return topk // chosen if chosen and chosen < (sizes.get(EXPERT_GROUPS) or 0) else None


def _eligible(small: Sizes) -> int:
    """The most experts of a token: four, or as many as the chosen groups of a side have."""
    groups, chosen = small.get(EXPERT_GROUPS), small.get(GROUP_TOPK)
    if not (groups and chosen and small.get(EXPERTS)):
        return 4
    return min(4, chosen * (small[EXPERTS] // groups))


def _positions(a: Sizes, b: Sizes, small_a: Sizes, small_b: Sizes) -> None:
    """Cut a learned position table to the small length; rotary lengths stay, because they only scale frequencies."""
    if has_positions(a, "learned_absolute") or has_positions(b, "learned_absolute"):
        _set(POSITIONS, _pair(a.get(POSITIONS), b.get(POSITIONS), Target(32, 8)), small_a, small_b)


def _fit_hidden(small_a: Sizes, small_b: Sizes, fixed: bool) -> None:
    """Round the hidden size to a multiple of the heads, which MindSpore Transformers requires."""
    if fixed:
        return
    heads = lcm(small_a.get(HEADS) or 1, small_b.get(HEADS) or 1)
    for small in (small_a, small_b):
        if small.get(HIDDEN):
            small[HIDDEN] = -(-small[HIDDEN] // heads) * heads


def _choose(field: str, value: int, small_a: Sizes, small_b: Sizes) -> None:
    """Set a size that the user chose on both sides; a layer pattern is cut or repeated to match."""
    for small in (small_a, small_b):
        if small.get(field) is None:
            continue
        small[field] = value
        if field == LAYERS and small.get(PATTERN) is not None:
            pattern = list(small[PATTERN])
            small[PATTERN] = (pattern + [pattern[-1]] * value)[:value]


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
        found = sizes_of(written[0].config), sizes_of(written[1].config)
        stuck = [(at, field) for at in (0, 1) for field in _differing_sizes(found[at], sizes[at])]
        for at, field in stuck:
            for side in (0, 1) if _is_same_size(whole[0].get(field), whole[1].get(field)) else (at,):
                if sizes[side].get(field) is not None:
                    sizes[side][field] = found[at][field]
        if not stuck:
            return written, sizes
    return (small_file(files[0], sizes[0]), small_file(files[1], sizes[1])), sizes


def _differing_sizes(found: Mapping[str, Value], wanted: Mapping[str, Value]) -> list[str]:
    """Names of sizes that differ from the wanted ones."""
    return [name for name, value in wanted.items() if value is not None and not _is_same_size(found[name], value)]


def small_file(config: Config, sizes: Sizes) -> SmallFile:
    """Copy of the file with these model sizes."""
    fields: dict[FieldName, Value] = {field_named(name): value for name, value in sizes.items() if value is not None}
    fields |= ONE_PROCESS | _vocabulary(config, sizes.get(VOCABULARY))
    refused = dict.fromkeys(OF_SEVERAL_PROCESSES, OMIT) if config.framework == "megatron" else {}
    found = _write_small(config, {**_keys(config, fields), **_leading_dense_layers(config, sizes), **refused})
    for _round in range(_ROUNDS):
        apart = _differing_sizes(sizes_of(found.config), sizes)
        if not apart:
            break
        found = _write_small(found.config, _keys(found.config, {field_named(name): sizes[name] for name in apart}))
    steps = recipe_of(config).value(_STEPS)
    if steps is not None and recipe_of(found.config).value(_STEPS) != steps:
        # The length is counted in samples, of which a step of one device needs fewer.
        found = _write_small(found.config, _keys(found.config, {_STEPS: steps}))
    return found


_STEPS: FieldName = "run.train_steps"


def with_settings(
    config: Config, fields: Mapping[FieldName, Value], keys: Mapping[str, Value], without: Collection[str]
) -> SmallFile:
    """Copy of the file with changed fields and keys, and without keys that start with any of `without`."""
    given = [setting.key for setting in explicit_of(config.settings)]
    dropped = [key for key in given if key.startswith(tuple(without))]
    return _write_small(config, {**dict.fromkeys(dropped, OMIT), **_keys(config, fields), **keys})


def _leading_dense_layers(config: Config, sizes: Sizes) -> dict[str, Value | Omitted]:
    """Values for keys that count other dense layers than the small model has, in a model that has no others."""
    layers, whole = sizes.get(LAYERS), recipe_of(config).value(LAYERS)
    if sizes.get(EXPERTS) is not None or not isinstance(layers, int):
        return {}
    every = whole if isinstance(whole, int) and 0 < whole < layers else layers + 1
    given = ((key, config.value(key)) for key in LEADING_DENSE_LAYERS)
    return {key: layers for key, value in given if isinstance(value, int) and value >= every}


def _is_same_size(found: Value, wanted: Value) -> bool:
    return (list(found) if isinstance(found, tuple) else found) == wanted


def _vocabulary(config: Config, tokens: Value) -> dict[FieldName, Value]:
    """Values that replace the tokenizer: Megatron-LM's vocabulary size, MindSpore Transformers' padding token."""
    if not isinstance(tokens, int):
        return {}
    if config.framework == "megatron":
        return {**_SMALL_TOKENIZER, "model.vocab_size": tokens}
    before = sizes_of(config)[VOCABULARY]
    found: dict[FieldName, Value] = {}
    for name in _MASKED:
        token = recipe_of(config).value(name)
        if isinstance(token, int) and token >= 0:
            found[name] = token_within(token, before, tokens)
    return found


def token_within(token: Value, before: Value, tokens: int) -> int:
    """Masked token moved into a smaller vocabulary; -1 if there is none."""
    if not isinstance(token, int) or token < 0 or (isinstance(before, int) and token >= before):
        return -1
    return min(token, tokens - 1)


def _keys(config: Config, fields: Mapping[FieldName, Value]) -> dict[str, Value | Omitted]:
    """Keys that set these fields; a key whose field becomes unset is omitted."""
    changes = _Changes(fields, recipe_of(config), side_of(config), config.framework_version)
    given = {setting.key for setting in explicit_of(config.settings)}
    if config.framework == "megatron" and config.dialect != OWN:  # the small launch writes what a fork's code sets, too
        given |= {setting.key for setting in config.settings.values() if setting.origin == "derived"}
    found: dict[str, Value | Omitted] = {}
    for row in table().rows:
        side = row.side(changes.side_name, changes.version)
        if side is None or not side.keys or fields.keys().isdisjoint(row.fields):
            continue
        alike = changes.is_unchanged(row)
        if alike and ONE_PROCESS.keys().isdisjoint(row.fields):
            continue
        for name, one in zip(side.keys, changes.put(row, side), strict=False):
            key = _spelling(name, side, given, config.framework_version)
            if not isinstance(one, Omitted) and (key in given or not alike):
                found[key] = one
        for key in sorted(given & _names((*side.keys, *side.aliases))):
            if not changes.is_set_elsewhere(key, row, leads=key in side.keys[0].split("|")):
                found.setdefault(key, OMIT)
    return found


class _Changes(NamedTuple):
    """New values of some fields of a file."""

    fields: Mapping[FieldName, Value]
    recipe: Recipe
    side_name: SideName
    version: str

    def value(self, field: FieldName) -> Value:
        return self.fields[field] if field in self.fields else self.recipe.value(field)

    def put(self, row: Row, side: Side) -> Sequence[Value | Omitted]:
        """Values of the row's keys."""
        scope = Scope(self.side_name, self.version, side.options, self.value)
        return LENSES[side.lens].put(tuple(map(self.value, row.fields)), scope)

    def is_unchanged(self, row: Row) -> bool:
        """True if the row's values stay, and so does the unit in which a launch counts them."""
        counted = _COUNTED_TOGETHER if self.fields.keys() >= set(_COUNTED_TOGETHER) else ()
        same = all(_is_same_size(self.recipe.value(field), self.value(field)) for field in row.fields)
        return same and set(counted).isdisjoint(row.fields)

    def is_set_elsewhere(self, key: str, row: Row, *, leads: bool) -> bool:
        """True if another row writes the key and has none of these fields, or leads with it and this row does not."""
        for other in table().rows:
            side = None if other is row else other.side(self.side_name, self.version)
            if side is None or key not in _names(side.keys):
                continue
            if not leads and key in side.keys[0].split("|"):
                return True
            if self.fields.keys().isdisjoint(other.fields):
                written = zip(side.keys, self.put(other, side), strict=False)
                if any(key in name.split("|") for name, one in written if not isinstance(one, Omitted)):
                    return True
        return False


def _names(keys: Sequence[str]) -> set[str]:
    return {name for key in keys for name in key.split("|")}


def _spelling(key: str, side: Side, given: set[str], version: str) -> str:
    """Name under which the file already sets a key (an alias of the row), else the key as its version names it."""
    if "|" in key:
        known = catalog(version).by_dest
        key = next((name for name in key.split("|") if name in known), key)
    if key in given or len(side.keys) != 1:
        return key
    return next((alias for alias in side.aliases if alias in given), key)


def make_equal(a: Config, b: Config, name: str, *, keeps_first: bool = True) -> tuple[Config, Config] | None:
    """Both files with one field, or key without a field, equal; None if neither file can express the other's value.

    The second file takes the first one's value if it can, else the first the second's, else both the neutral one. A key
    is removed.
    """
    if not keeps_first:
        other = make_equal(b, a, name)
        return None if other is None else (other[1], other[0])
    if name not in vocabulary():
        one, other = (_write_again(config, {name: OMIT}) if config.writes(name) else config for config in (a, b))
        return one, other
    if not _still_differs(field_named(name), recipe_of(a), recipe_of(b)):
        return a, b
    second = _take_value(b, a, field_named(name))
    if second is not None:
        return a, second
    first = _take_value(a, b, field_named(name))
    return _take_neutral_value(a, b, field_named(name)) if first is None else (first, b)


def _take_neutral_value(a: Config, b: Config, field: FieldName) -> tuple[Config, Config] | None:
    """Both files with the field's neutral value: with dropout the dynamic graph has the key and drops nothing."""
    neutral = vocabulary()[field].default
    if neutral is None:
        return None
    one, two = (_with_values(config, {field: neutral}) for config in (a, b))
    if one is None or two is None:
        return None
    changed = (field, *changed_fields(a, one), *changed_fields(b, two))
    return None if any(_still_differs(name, recipe_of(one), recipe_of(two)) for name in changed) else (one, two)


def switch_off(a: Config, b: Config, name: str) -> tuple[Config, Config] | None:
    """Both files without what a field switches on; None if a file cannot do without it."""
    fields: Mapping[FieldName, Value] = SWITCHED_OFF.get(name, {})
    one, two = (_with_values(config, fields) for config in (a, b))
    return None if not fields or one is None or two is None else (one, two)


def _take_value(config: Config, other: Config, field: FieldName) -> Config | None:
    """File with the other file's value of a field; None if it does not read back or changes other fields."""
    wanted, along = recipe_of(other), companion_fields(field)
    counted = _COUNTED_TOGETHER if field in _COUNTED_TOGETHER else ()
    parts = _parts_of(field) if _value_or_neutral(wanted, field) == vocabulary()[field].default else ()
    own: FieldName = DECIDED_BY.get(field, field)
    tried: list[tuple[FieldName, ...]] = [(own, *more, *parts) for more in ((), along, counted)]
    partly: list[tuple[Config, tuple[FieldName, ...]]] = []
    for fields in tried:
        found = _with_values_of(wanted, config, fields)
        if found is None:
            continue
        apart = _fields_apart(field, config, found, wanted)
        if not apart:
            return found
        if field not in apart:
            partly.append((found, apart))
    for before, apart in partly:
        # A flag may decide a second field: without biases, Megatron-LM's queries have theirs by another flag.
        found = _with_values_of(wanted, before, apart)
        if found is not None and not _fields_apart(field, config, found, wanted):
            return found
    return None


def _with_values_of(wanted: Recipe, config: Config, fields: Sequence[FieldName]) -> Config | None:
    """File with these fields of another file; None if it cannot be written or read. An unset field is neutral."""
    return _with_values(config, {one: _value_or_neutral(wanted, one) for one in fields})


def _with_values(config: Config, fields: Mapping[FieldName, Value]) -> Config | None:
    """File with other values of some fields; None if it cannot be written or read."""
    try:
        return _write_again(config, _keys(config, fields))
    except (UnreadableError, ValueError, TypeError):
        return None


def _fields_apart(field: FieldName, before: Config, after: Config, wanted: Recipe) -> tuple[FieldName, ...]:
    """The field and those that changed along, if they still differ from the other file."""
    written = recipe_of(after)
    return tuple(one for one in (field, *changed_fields(before, after)) if _still_differs(one, written, wanted))


def _value_or_neutral(recipe: Recipe, field: FieldName) -> Value:
    value = recipe.value(field)
    return vocabulary()[field].default if value is None else value


def _parts_of(field: FieldName) -> tuple[FieldName, ...]:
    """The fields that mean nothing without this one, and that a framework may refuse then."""
    return tuple(one for row in table().rows if row.part_of == field for one in row.fields)


def companion_fields(name: str) -> tuple[FieldName, ...]:
    """The other fields that the same keys express, if no file can change this field alone."""
    return tuple(one for group in _EXPRESSED_TOGETHER if name in group for one in group if one != name)


_EXPRESSED_TOGETHER: tuple[tuple[FieldName, ...], ...] = (
    ("position.yarn.mscale", "position.yarn.mscale_all_dim"),
    ("activation.gated", "activation.function"),
    ("data.document_attention", "data.reset_attention_mask"),
)
_COUNTED_TOGETHER: tuple[FieldName, ...] = ("schedule.warmup_steps", "schedule.decay_steps", "run.train_steps")
"""A launch counts all of them in samples, or all of them in steps."""


def _still_differs(field: FieldName, a: Recipe, b: Recipe) -> bool:
    """True if the field still differs between two files and changes numbers."""
    row = difference_of(field, a, b)
    return row is not None and row.status != "equal" and row.impact == "numerics" and row.counts is not False


def _write_again(config: Config, put: Mapping[str, Value | Omitted]) -> Config:
    """File in its original size with some keys set or omitted."""
    written = _launch(config, put, _devices_of(config)) if config.framework == "megatron" else _document(config, put)
    return written.config._replace(file=config.file)


def _devices_of(config: Config) -> int:
    """Devices of a launch; if the script does not determine them, the fewest over which its model can be spread."""
    if config.launch is not None and config.launch.world_size:
        return config.launch.world_size
    recipe = recipe_of(config)
    groups = [[size for name in names if isinstance(size := recipe.value(name), int) and size > 0] for names in _SPREAD]
    return lcm(*map(prod, groups))


_SPREAD: tuple[tuple[FieldName, ...], ...] = (
    ("parallel.tensor_size", "parallel.pipeline_size", "parallel.context_size"),
    ("parallel.expert_tensor_size", "parallel.expert_size", "parallel.pipeline_size"),
)
"""Groups of devices that together hold a model once: of its dense layers, and of its experts."""


def _write_small(config: Config, put: Mapping[str, Value | Omitted]) -> SmallFile:
    """Small file with some keys set or omitted, in its framework's form."""
    if config.framework == "megatron":
        return _launch(config, put, 1)
    return _document(config, put)


def _launch(config: Config, put: Mapping[str, Value | Omitted], devices: int) -> SmallFile:
    """Launch script for so many devices with every argument of the file."""
    known = catalog(config.framework_version).by_dest
    given = _given_words(config, known, devices)
    for key, value in put.items():
        fact = known.get(key)
        if fact is None or isinstance(value, Omitted) or value == fact.default:
            given.pop(key, None)
        else:
            given[key] = words_of(fact, value)
    for alias, name in _aliases().items():  # Megatron-LM refuses both
        if name in given:
            given.pop(alias, None)
    return _with_fork_values(config, _of_words(config, given, devices), known)


def _aliases() -> dict[str, str]:
    """Argument that another one sets, too, by the name of the other one."""
    sides = (side for row in table().rows for side in row.megatron if side.lens == "alias_of")
    return {key: str(side.options["of"]) for side in sides for key in side.keys}


def _with_fork_values(config: Config, small: SmallFile, known: Mapping[str, ArgumentFact]) -> SmallFile:
    """Small launch with a fork's values that Megatron-LM itself has no argument for.

    No words of Megatron-LM's say them. The recipe and the model's builder read them all the same.
    """
    read = {
        str(key) for row in table().rows for side in row.megatron for key in (*side.keys, side.options.get("fork", ""))
    }
    more = {
        key: one
        for key, one in config.settings.items()
        if key in read and key not in known and key not in small.config.settings  # what a launch settles by itself
        if one.decided and one.acceptance == "accepted"
    }
    if not more:
        return small
    told = ", ".join(f"{key}={one.value}" for key, one in more.items())
    settings = {**small.config.settings, **more}
    return SmallFile(f"# {config.dialect}: {told}\n{small.text}", small.config._replace(settings=settings))


_MADE_SMALL = (
    *SIZES, "model.vocab_size", "model.vocab_divisor", "model.encoder_num_layers", "tokenizer.", "data.eod",
    "data.encoder_sequence_length", "run.train_samples", "batch.", "parallel.", "computed.",
)  # fmt: skip
"""Sizes, the tokenizer, the layout of devices, and their sums: a small file has others."""


def changed_fields(config: Config, small: Config) -> list[FieldName]:
    """Fields that change numbers and that the small file sets differently from the original, sizes apart."""
    before, after = recipe_of(config), recipe_of(small)
    return [
        field
        for field, entry in before.fields.items()
        if entry.decided
        and not field.startswith(_MADE_SMALL)
        and vocabulary()[field].impact == "numerics"
        and not is_equal_field(field, entry.value, after.value(field))
        and says_something(field, before) is not False
    ]


def _of_words(config: Config, given: Mapping[str, Sequence[str]], devices: int) -> SmallFile:
    """Small launch script read from these command-line words, with the launch's environment and so many devices."""
    told: Mapping[str, str | None] = {} if config.launch is None else config.launch.env
    words = [f"{name}={shlex.quote(value)}" for name, value in told.items() if value is not None and name != _DEVICES]
    lines = [
        " ".join([*words, f"torchrun --nproc_per_node {devices} pretrain_gpt.py"]),
        *map(shlex.join, given.values()),
    ]
    options = ReadOptions(megatron=config.release or config.framework_version, world_size=devices)
    return _read(_SCRIPT, " \\\n    ".join(lines) + "\n", options)


def _words_given(fact: ArgumentFact, setting: Setting, *, is_own: bool) -> list[str]:
    """The words of an argument as the file writes them; Megatron-LM's own where a fork or a YAML spells it."""
    flag, raw = setting.flag, setting.raw
    if flag is None or raw is None or not (is_own or flag in fact.options):
        return words_of(fact, setting.value)
    if setting.value is None if fact.action == "store" else raw:
        return words_of(fact, setting.value)
    return [flag, *raw]


def _given_words(config: Config, known: Mapping[str, ArgumentFact], devices: int) -> dict[str, list[str]]:
    """Command-line words of the settings that the file gives, translated to Megatron-LM's own flags."""
    taken = {key: one for key, one in config.settings.items() if one.decided and one.acceptance == "accepted"}
    given = {
        key: _words_given(known[key], one, is_own=config.dialect == OWN)
        for key, one in taken.items()
        if key in known and one.origin == "explicit" and not (one.value is None and one.raw != ())
    }
    return given if config.dialect == OWN else _as_fork_reads(config, given, known, devices)


def _as_fork_reads(
    config: Config, given: Mapping[str, list[str]], known: Mapping[str, ArgumentFact], devices: int
) -> dict[str, list[str]]:
    """These words, and those of Megatron-LM's own that give the values which the fork's code makes of them."""
    plain, found = _of_words(config, given, devices).config, dict(given)
    for key, one in config.settings.items():
        if key not in known or not one.decided or one.acceptance != "accepted" or one.value == plain.value(key):
            continue
        choices = known[key].choices or ()
        if one.value in (None, known[key].default):  # a YAML writes what a launch leaves out
            found.pop(key, None)
        elif not choices or one.value in choices or not isinstance(one.value, str):
            found[key] = words_of(known[key], one.value)
    return found


def _read(path: str, text: str, options: ReadOptions) -> SmallFile:
    """Text read as a configuration, together with the text."""
    return SmallFile(text, config_of(SourceText(path, text), options, path=path))


def _document(config: Config, put: Mapping[str, Value | Omitted]) -> SmallFile:
    """Sections of a YAML as one document; data-set keys appear a second time under the data-set task."""
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
    """Second path of a data-set key, under the data-set task."""
    if key.startswith(f"{DATASET}."):
        yield f"{DATASET_TASK}.dataset_config{key[len(DATASET) :]}"


def nested(said: Mapping[str, Any]) -> dict[str, Any]:
    """Nested dictionaries and lists from values by dotted path."""
    found: dict[str, Any] = {}
    for key, value in said.items():
        put_at(found, key, value)
    return found
