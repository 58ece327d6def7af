"""The weight table: names, layouts, both directions, and parameters that it does not know."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.mapper.weights import Layout, UnmatchedWeightError, WeightTable

np = pytest.importorskip("numpy")

LAYER = "decoder.layers.1"


def array(*shape: int) -> Any:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize(
    ("layout", "megatron", "mindformers"),
    [
        (Layout(), f"{LAYER}.input_layernorm.weight", f"{LAYER}.input_layernorm.weight"),
        (Layout(norm="LayerNorm"), f"{LAYER}.input_layernorm.bias", f"{LAYER}.input_layernorm.beta"),
        (Layout(norm="LayerNorm"), "decoder.final_layernorm.weight", "decoder.final_layernorm.gamma"),
        (Layout(), f"{LAYER}.self_attention.linear_qkv.bias", f"{LAYER}.self_attention.linear_qkv.bias"),
        (
            Layout(mla=True, mla_concatenated=True),
            f"{LAYER}.self_attention.kv_layernorm.weight",
            f"{LAYER}.self_attention.k_layernorm.weight",
        ),
        (
            Layout(mla=True, mla_concatenated=True),
            "mtp.layers.0.transformer_layer.self_attention.linear_kv_up_proj.weight",
            "mtp.layers.0.transformer_layer.self_attention.linear_kvb.weight",
        ),
        (Layout(norm="LayerNorm"), "mtp.layers.0.enorm.bias", "mtp.layers.0.enorm.beta"),
    ],
)
def test_names(layout: Layout, megatron: str, mindformers: str) -> None:
    table = WeightTable(layout)
    there = table.find_pairing("megatron", megatron)
    back = table.find_pairing("mindformers", mindformers)
    assert there is not None
    assert there == back
    assert there.mindformers == mindformers
    assert megatron in there.megatron


def test_interleaved_rows_alternate_gate_and_up() -> None:
    name = f"{LAYER}.mlp.linear_fc1.weight"
    laid = WeightTable(Layout(mlp_interleaved=True)).to_mindformers({name: array(6, 2)})[name]
    assert laid[:, 0].tolist() == [0, 6, 2, 8, 4, 10]


def test_an_ungated_layer_is_left_alone() -> None:
    name = f"{LAYER}.mlp.linear_fc1.weight"
    table = WeightTable(Layout(gated=False, mlp_interleaved=True))
    assert table.to_mindformers({name: array(6, 2)})[name].tolist() == array(6, 2).tolist()


def test_contiguous_rows_stand_by_kind() -> None:
    # Two groups of two query heads, one row a head: q0 q1 k v | q2 q3 k v.
    name = f"{LAYER}.self_attention.linear_qkv.weight"
    table = WeightTable(Layout(heads=4, groups=2, head_dim=1, qkv_contiguous=True))
    assert table.to_mindformers({name: array(8, 1)})[name].ravel().tolist() == [0, 1, 4, 5, 2, 6, 3, 7]


def test_experts_are_transposed_and_stacked() -> None:
    names = [f"{LAYER}.mlp.experts.local_experts.{expert}.linear_fc2.weight" for expert in range(2)]
    table = WeightTable(Layout(experts=2))
    laid = table.to_mindformers({names[0]: array(3, 2), names[1]: 10 + array(3, 2)})
    assert laid[f"{LAYER}.mlp.experts.weight2"].tolist() == [[0, 2, 4], [1, 3, 5], [10, 12, 14], [11, 13, 15]]


@pytest.mark.parametrize(
    ("framework", "name"),
    [("megatron", f"{LAYER}.mlp.linear_fc9.weight"), ("mindformers", "lm_head.weight")],
)
def test_an_unknown_parameter_is_named(framework: str, name: str) -> None:
    table = WeightTable(Layout())
    convert = table.to_mindformers if framework == "megatron" else table.to_megatron
    with pytest.raises(UnmatchedWeightError, match=name.replace(".", r"\.")) as raised:
        convert({name: array(2, 2)})
    assert raised.value.names == (name,)


def test_a_missing_expert_is_an_error() -> None:
    name = f"{LAYER}.mlp.experts.local_experts.0.linear_fc1.weight"
    with pytest.raises(UnmatchedWeightError):
        WeightTable(Layout(experts=2)).to_mindformers({name: array(4, 2)})


layouts = st.builds(
    Layout,
    norm=st.sampled_from(["RMSNorm", "LayerNorm"]),
    gated=st.booleans(),
    heads=st.just(4),
    groups=st.sampled_from([1, 2, 4]),
    head_dim=st.sampled_from([1, 2, 3]),
    experts=st.integers(1, 3),
    mla=st.booleans(),
    q_lora=st.booleans(),
    mlp_interleaved=st.booleans(),
    qkv_contiguous=st.booleans(),
    mla_concatenated=st.booleans(),
).filter(lambda layout: layout.mla or not layout.mla_concatenated)


def model(layout: Layout) -> dict[str, Any]:
    """One layer of everything that the layout has."""
    own = ["weight", "bias"] if layout.norm == "LayerNorm" else ["weight"]
    shapes: dict[str, tuple[int, ...]] = {
        "embedding.word_embeddings.weight": (5, 4),
        f"{LAYER}.mlp.linear_fc1.weight": (6, 4),
        f"{LAYER}.mlp.linear_fc1.bias": (6,),
        f"{LAYER}.mlp.router.expert_bias": (layout.experts,),
        **{f"{LAYER}.pre_mlp_layernorm.{kind}": (4,) for kind in own},
    }
    attention = f"{LAYER}.self_attention"
    for expert in range(layout.experts):
        shapes[f"{LAYER}.mlp.experts.local_experts.{expert}.linear_fc1.weight"] = (6, 4)
        shapes[f"{LAYER}.mlp.experts.local_experts.{expert}.linear_fc2.weight"] = (4, 3)
    if layout.mla:
        shapes[f"{attention}.linear_kv_down_proj.weight"] = (5, 4)
        shapes[f"{attention}.linear_q_{'down_' if layout.q_lora else ''}proj.weight"] = (3, 4)
        shapes |= {f"{attention}.kv_layernorm.{kind}": (4,) for kind in own}
    else:
        rows = (layout.heads + 2 * layout.groups) * layout.head_dim
        shapes |= {f"{attention}.linear_qkv.weight": (rows, 4), f"{attention}.linear_qkv.bias": (rows,)}
    return {name: array(*shape) for name, shape in shapes.items()}


@given(layouts)
def test_there_and_back_is_the_same(layout: Layout) -> None:
    table = WeightTable(layout)
    given_arrays = model(layout)
    sizes = {f"{LAYER}.self_attention.linear_kv_down_proj.weight": 5}
    found = table.to_megatron(table.to_mindformers(given_arrays), sizes)
    assert found.keys() == given_arrays.keys()
    assert all((found[name] == given_arrays[name]).all() for name in found)
