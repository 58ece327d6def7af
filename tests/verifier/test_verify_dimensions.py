"""Shrinking: what is equal stays equal, what differs stays different, and ratios keep their meaning."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText
from accmap.verifier import constants_compiled as c
from accmap.verifier.megatron import from_launch
from accmap.verifier.plan import dimensions as d

DENSE = {
    d.LAYERS: 32, d.HIDDEN: 4096, d.FFN: 11008, d.HEADS: 32, d.GROUPS: 8, d.HEAD: 128, d.VOCABULARY: 151936,
    d.SEQUENCE: 4096, d.POSITIONS: 4096, d.PATTERN: None, d.EXPERTS: None, d.TOPK: None, "position.type": "rope",
}  # fmt: skip
SPARSE = {
    **DENSE, d.EXPERTS: 256, d.TOPK: 8, d.EXPERT_GROUPS: 8, d.GROUP_TOPK: 4, "moe.ffn_hidden_size": 2048,
    d.PATTERN: [0] * 3 + [1] * 29,
}  # fmt: skip


def small(a: dict[str, Any], b: dict[str, Any] | None = None, **chosen: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return d.shrink(dict(a), dict(b or a), chosen, keep=False)


def test_a_pair_of_equals_stays_equal() -> None:
    one, two = small(SPARSE)
    assert one == two
    assert one[d.HIDDEN] <= 128
    assert one[d.HEADS] // one[d.GROUPS] == 4
    assert one[d.HIDDEN] % one[d.HEADS] == 0


def test_the_order_of_dense_and_expert_layers_is_kept() -> None:
    assert small(SPARSE)[0][d.PATTERN] == [0, 1]
    alternating = {**SPARSE, d.PATTERN: [1, 0] * 16}
    assert small(alternating)[0][d.PATTERN] == [1, 0, 1, 0]


def test_a_layer_that_only_one_side_makes_dense_survives() -> None:
    other = {**SPARSE, d.PATTERN: [0] + [1] * 31}
    one, two = small(SPARSE, other)
    assert (one[d.PATTERN], two[d.PATTERN]) == ([0, 0, 1], [0, 1, 1])


def test_another_number_of_layers_survives() -> None:
    one, two = small(DENSE, {**DENSE, d.LAYERS: 30})
    assert one[d.LAYERS] > two[d.LAYERS]


def test_another_top_k_is_no_single_expert() -> None:
    ungrouped = {**SPARSE, d.EXPERT_GROUPS: None, d.GROUP_TOPK: None}
    assert {side[d.TOPK] for side in small({**ungrouped, d.TOPK: 2}, {**ungrouped, d.TOPK: 3})} == {2, 3}


def test_top_k_stays_legal() -> None:
    one, _ = small(SPARSE)
    assert one[d.TOPK] % one[d.GROUP_TOPK] == 0
    assert one[d.GROUP_TOPK] <= one[d.EXPERT_GROUPS]
    assert one[d.EXPERTS] % one[d.EXPERT_GROUPS] == 0


@pytest.mark.parametrize(("groups", "chosen", "topk"), [(8, 1, 6), (8, 4, 8), (2, 1, 8), (64, 1, 1)])
@pytest.mark.parametrize("other", [0, 2])
def test_the_chosen_groups_have_as_many_experts(groups: int, chosen: int, topk: int, other: int) -> None:
    limited = {**SPARSE, d.EXPERT_GROUPS: groups, d.GROUP_TOPK: chosen, d.TOPK: topk}
    for side in small(limited, {**limited, d.TOPK: topk + other}):
        assert side[d.TOPK] <= side[d.GROUP_TOPK] * (side[d.EXPERTS] // side[d.EXPERT_GROUPS])


@pytest.mark.parametrize(
    ("one", "two"),
    [((4, 2, 2), (4, 1, 2)), ((8, 4, 8), (8, 8, 8)), ((8, 4, 8), (8, 4, 4)), ((16, 8, 8), (16, 8, 16))],
)
def test_the_choice_of_groups_is_ranked_as_in_the_files(one: tuple[int, int, int], two: tuple[int, int, int]) -> None:
    keys = (d.EXPERT_GROUPS, d.GROUP_TOPK, d.TOPK)
    files = [{**SPARSE, **dict(zip(keys, side, strict=True))} for side in (one, two)]
    found = small(*files)
    for whole, side in zip(files, found, strict=True):
        limits = whole[d.GROUP_TOPK] < whole[d.EXPERT_GROUPS]
        assert (side[d.GROUP_TOPK] < side[d.EXPERT_GROUPS]) == limits
        assert side[d.TOPK] <= side[d.GROUP_TOPK] * (side[d.EXPERTS] // side[d.EXPERT_GROUPS])
        if limits:
            assert side[d.TOPK] // side[d.GROUP_TOPK] == whole[d.TOPK] // whole[d.GROUP_TOPK]
    for key in keys:
        a, b = (side[key] for side in files)
        x, y = (side[key] for side in found)
        assert (x < y, x > y) == (a < b, a > b)


FIELDS = [field for field in DENSE if isinstance(DENSE[field], int) and field not in (d.POSITIONS, d.LAYERS)]


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_differs_stays_different(field: str) -> None:
    other = {**DENSE, field: DENSE[field] * 2 if field != d.GROUPS else 4}
    one, two = small(DENSE, other)
    assert one[field] != two[field]


@given(st.integers(2, 200000), st.integers(2, 200000))
def test_sizes_keep_their_order(a: int, b: int) -> None:
    one, two = small({**DENSE, d.FFN: a}, {**DENSE, d.FFN: b})
    assert (one[d.FFN] < two[d.FFN]) == (a < b)
    assert (one[d.FFN] == two[d.FFN]) == (a == b)


@given(st.sampled_from([1, 2, 3, 4, 5, 7, 8, 12, 28, 32, 40, 64, 96, 128]), st.integers(1, 16))
def test_heads_are_a_multiple_of_groups(groups: int, ratio: int) -> None:
    one, two = small({**DENSE, d.HEADS: groups * ratio, d.GROUPS: groups})
    assert one == two
    assert one[d.HEADS] % one[d.GROUPS] == 0
    assert one[d.HEADS] // one[d.GROUPS] == ratio
    assert one[d.HIDDEN] % one[d.HEADS] == 0


def test_sizes_can_be_chosen_and_kept() -> None:
    one, two = d.shrink(dict(SPARSE), dict(SPARSE), {d.LAYERS: 5}, keep=False)
    assert one[d.PATTERN] == two[d.PATTERN] == [0, 1, 1, 1, 1]
    kept, _ = d.shrink(dict(SPARSE), dict(SPARSE), {}, keep=True)
    assert kept == SPARSE


def test_the_summary_says_both_sides_where_they_differ() -> None:
    other = {**DENSE, d.FFN: 8192}
    one, two = small(DENSE, other)
    told = d.summary(DENSE, other, one, two)
    assert told[d.FFN][0] == {"a": 11008, "b": 8192}
    assert told[d.HIDDEN] == [4096, one[d.HIDDEN]]


@pytest.mark.parametrize("version", ["0.12", "0.15", "0.16", "0.19"])
def test_arguments_that_later_versions_keep_under_another_name(version: str) -> None:
    words = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --norm-epsilon 1e-6 --apply-layernorm-1p"
    config = config_of(
        SourceText("run.sh", f"python pretrain_gpt.py {words}"), ReadOptions(megatron=version), path="run.sh"
    )
    values = from_launch.argument_values(config)
    assert (values["norm_epsilon"], values["apply_layernorm_1p"]) == (1e-6, True)


@pytest.mark.parametrize(
    ("version", "more", "length"),
    [
        ("0.12", "--rotary-scaling-factor 40", 64),
        ("0.13", "--rotary-scaling-factor 40", 64),
        ("0.14", "--rotary-scaling-factor 40", 4096),
        ("0.16", "--rotary-scaling-factor 40", 4096),
        ("0.16", "--rope-type rope", 64),
    ],
)
def test_the_length_that_latent_attention_scales_from(version: str, more: str, length: int) -> None:
    words = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64"
    text = f"python pretrain_gpt.py {words} --multi-latent-attention --position-embedding-type rope {more}"
    config = config_of(SourceText("run.sh", text), ReadOptions(megatron=version), path="run.sh")
    assert d.sizes_of(config)[d.POSITIONS] == length


def test_the_tables_name_fields() -> None:
    parted = {field for fields in c.PARTED.values() for field in fields}
    assert {*d.SIZES, *c.SIZE_OPTIONS.values(), *c.ONE_PROCESS, *c.GIVEN_ALIKE, *parted} <= set(vocabulary())
    assert set(d.TARGETS) <= set(d.SIZES)
