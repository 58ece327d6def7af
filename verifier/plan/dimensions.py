"""The sizes of a model under their recipe names, and how they are made small.

`shrink` makes both sides small by one rule: what is equal in the files stays equal, what differs stays different,
ratios that mean something (heads to groups, the order of dense and expert layers) are kept.
"""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING, Any, TypeAlias

from ...mapper.gates import says_something
from ...mapper.recipe.reading import recipe_of
from ...mappings.tables import field_named
from ...schemas.fast_records import NamedTuple
from ..constants_compiled import SIZES
from ..constants_compiled import TARGETS as SIZES_TARGETED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...schemas.config import Config


Sizes: TypeAlias = "dict[str, Any]"

LAYERS, PATTERN, HIDDEN, FFN = "model.num_layers", "moe.layer_pattern", "model.hidden_size", "model.ffn_hidden_size"
HEADS, GROUPS, HEAD = "attention.num_heads", "attention.num_query_groups", "attention.head_dim"
EXPERTS, TOPK = "moe.num_experts", "moe.router.topk"
EXPERT_FFN, SHARED_FFN = "moe.ffn_hidden_size", "moe.shared.ffn_hidden_size"
EXPERT_GROUPS, GROUP_TOPK = "moe.router.num_groups", "moe.router.group_topk"
VOCABULARY, SEQUENCE, POSITIONS = "model.padded_vocab_size", "data.sequence_length", "position.max_embeddings"
MTP, KIND_OF_POSITIONS = "mtp.num_layers", "position.type"


def sizes_of(config: Config) -> Sizes:
    """The model's sizes by recipe field; a size that does not apply, or that nobody says, is None."""
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
    """Recipe field → [from, to]; where the sides differ each entry is {"a", "b"}."""
    found: dict[str, list[Any]] = {}
    for field in dict.fromkeys((*a, *b)):
        before, after = both(a.get(field), b.get(field)), both(small_a.get(field), small_b.get(field))
        if before != after:
            found[field] = [before, after]
    return found


def has_positions(sizes: Sizes, kind: str) -> bool:
    """True if a model has positions of this kind, alone or beside others."""
    return kind in str(sizes.get(KIND_OF_POSITIONS)).split("+")


def both(a: Any, b: Any) -> Any:
    """One value for both sides, or each one's."""
    return a if a == b else {"a": a, "b": b}


def _target(field: str, target: Target, a: Sizes, b: Sizes) -> Target:
    if field == EXPERTS and (a.get(EXPERT_GROUPS) or b.get(EXPERT_GROUPS)):
        return Target(8, 4)
    if field.endswith("qk_rope_head_dim") and (has_positions(a, "yarn") or has_positions(b, "yarn")):
        return YARN_ROPE
    return target


def _pair(a: int | None, b: int | None, target: Target) -> tuple[int | None, int | None]:
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
    for side, value in zip((a, b), values, strict=True):
        if field in side:
            side[field] = value


def _layers(a: Sizes, b: Sizes, small_a: Sizes, small_b: Sizes) -> None:
    """One layer for each stretch in which neither side changes its kind; two where that leaves one."""
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
    length = max(len(a), len(b))
    return [(a[at] if at < len(a) else None, b[at] if at < len(b) else None) for at in range(length)]


def _pattern(sizes: Sizes) -> list[int]:
    pattern = sizes.get(PATTERN)
    return list(pattern) if pattern else [0] * (sizes.get(LAYERS) or 0)


def _heads(a: Sizes, b: Sizes, small_a: Sizes, small_b: Sizes) -> None:
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
    """Experts per token and groups, legal for the smaller number of experts."""
    for field, size in ((EXPERT_GROUPS, 4), (GROUP_TOPK, 2)):
        one, two = a.get(field), b.get(field)
        if one and two and one != two:
            _set(field, (2, 4) if one < two else (4, 2), small_a, small_b)
        else:
            _set(field, (min(one, size) if one else one, min(two, size) if two else two), small_a, small_b)
    _experts_per_token(a, b, small_a, small_b)


def _experts_per_token(a: Sizes, b: Sizes, small_a: Sizes, small_b: Sizes) -> None:
    """No more than the chosen groups have."""
    limited = small_a.get(GROUP_TOPK) or small_b.get(GROUP_TOPK)
    room = min(_eligible(small_a), _eligible(small_b))
    most = room if limited else 2
    one, two = a.get(TOPK), b.get(TOPK)
    if not one or not two or one == two:
        _set(TOPK, (min(one, most) if one else one, min(two, most) if two else two), small_a, small_b)
    else:
        step = small_a.get(GROUP_TOPK) or 1
        few = step if step > 1 or min(one, two) == 1 or room < 3 else 2
        _set(TOPK, (few, few + step) if one < two else (few + step, few), small_a, small_b)


def _eligible(small: Sizes) -> int:
    """The most experts of a token: four, or as many as the chosen groups of a side have."""
    groups, chosen = small.get(EXPERT_GROUPS), small.get(GROUP_TOPK)
    if not (groups and chosen and small.get(EXPERTS)):
        return 4
    return min(4, chosen * (small[EXPERTS] // groups))


def _positions(a: Sizes, b: Sizes, small_a: Sizes, small_b: Sizes) -> None:
    """A table of positions is cut; elsewhere the length only scales frequencies and stays."""
    if has_positions(a, "learned_absolute") or has_positions(b, "learned_absolute"):
        _set(POSITIONS, _pair(a.get(POSITIONS), b.get(POSITIONS), Target(32, 8)), small_a, small_b)


def _fit_hidden(small_a: Sizes, small_b: Sizes, fixed: bool) -> None:
    """The hidden size is a multiple of the heads, which MindSpore Transformers asks for."""
    if fixed:
        return
    heads = lcm(small_a.get(HEADS) or 1, small_b.get(HEADS) or 1)
    for small in (small_a, small_b):
        if small.get(HIDDEN):
            small[HIDDEN] = -(-small[HIDDEN] // heads) * heads


def _choose(field: str, value: int, small_a: Sizes, small_b: Sizes) -> None:
    for small in (small_a, small_b):
        if small.get(field) is None:
            continue
        small[field] = value
        if field == LAYERS and small.get(PATTERN) is not None:
            pattern = list(small[PATTERN])
            small[PATTERN] = (pattern + [pattern[-1]] * value)[:value]
