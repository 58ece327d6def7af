"""Local norms of either side, matched by parameter."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from writing_logs import megatron_line, static_line

from accmap.evidence.logs.comparison import Comparison, compare
from accmap.evidence.logs.local_norms import NormList, below_the_model, match_norms, order_of
from accmap.evidence.logs.log_reader import LogReader
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.weights import Layout, WeightTable
from accmap.schemas.border.file_input import read_text
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of

if TYPE_CHECKING:
    from accmap.evidence.logs.run import Run
    from accmap.mapper.recipe.values import Recipe

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
pytestmark = pytest.mark.procedure("proc.stage2.local_norm")


def run(text: str, name: str, *, cut: int | None = None) -> Run:
    data = text.encode()
    reader = LogReader()
    lines = data.splitlines(keepends=True)
    pieces = [b"".join(lines)] if cut is None else [b"".join(lines[:cut]), b"".join(lines[cut:])]
    first = 1
    for piece in pieces:
        if piece:
            reader.take(piece, first, name)
        first += piece.count(b"\n")
    found = reader.run(name, (name,))
    assert found is not None
    return found


def recipe(path: str) -> Recipe:
    file = str(EXAMPLES / path)
    return recipe_of(config_of(read_text(file), ReadOptions(), path=file))


def torch_list(values: list[float]) -> str:
    tensors = ", ".join(f"tensor({value**2:.10e}, device='cuda:0')" for value in values)
    return f"print torch local norm:\n[{tensors}]\n"


def mindspore_list(values: list[float]) -> str:
    squares = "\n ".join(f"{value**2:.9e}" for value in values)
    sizes = "\n ".join("1024" for _ in values)
    return f"x - INFO -  norm_size: [{sizes}]\nlocal_norm:\n[{squares}]\n"


def named_lines(step: int, values: dict[str, float]) -> str:
    return "".join(
        f"x - INFO - Epoch:[  1/  2], step:[{step:5d}/{500:5d}] local_norm/{name}: {value}\n"
        for name, value in values.items()
    )


PAIRS = {
    "embedding.word_embeddings.weight": 3.0,
    "decoder.layers.0.input_layernorm.weight": 0.5,
    "decoder.layers.0.self_attention.linear_qkv.weight": 1.5,
    "decoder.layers.0.mlp.linear_fc1.weight": 1.25,
    "output_layer.weight": 2.0,
}


def judged(a: str, b: str, recipes: tuple[Recipe, ...] = ()) -> Comparison:
    return compare(run(a, "a.log"), run(b, "b.log"), "first-steps", recipes)


def test_named_on_both_sides() -> None:
    lines = "".join(f"local_norm/module.module.{name}: {value}\n" for name, value in PAIRS.items())
    a = lines + megatron_line(1, 11.0) + lines + megatron_line(2, 10.0)
    named = {f"model.{name}": value for name, value in PAIRS.items()}
    found = judged(a, named_lines(1, named) + static_line(1, 11.0) + named_lines(2, named) + static_line(2, 10.0))
    assert found.verdict.answer == "match"
    assert {row.name: row.a for row in found.norms.rows} == PAIRS
    assert not found.norms.only_a
    assert not found.norms.only_b
    off = {**PAIRS, "embedding.word_embeddings.weight": 4.0}
    found = judged(a, named_lines(1, off) + static_line(1, 11.0) + static_line(2, 10.0))
    assert found.verdict.answer == "mismatch"
    local = next(entry for entry in found.verdict.criteria if entry.name == "local norms")
    assert "4 of 5 parameters" in local.said
    assert "embedding.word_embeddings.weight: 3 and 4" in local.said


def test_what_has_no_partner_is_named() -> None:
    a = "".join(f"local_norm/{name}: {value}\n" for name, value in PAIRS.items()) + megatron_line(1, 11.0)
    b = named_lines(1, dict(list(PAIRS.items())[1:]) | {"adapter.weight": 1.0})
    found = judged(a, b + static_line(1, 11.0)).norms
    assert found.only_a == ("embedding.word_embeddings.weight",)
    assert found.only_b == ("adapter.weight",)


def test_experts_are_taken_together() -> None:
    base = "decoder.layers.0.mlp.experts"
    ours = {f"{base}.local_experts.{expert}.linear_fc1.weight": 3.0 + expert for expert in range(2)}
    a = NormList(1, tuple(ours), tuple(ours.values()))
    b = NormList(1, (f"{base}.weight1",), (5.0,))
    found = match_norms([a], [b], ("megatron", "mindformers"), WeightTable(Layout(experts=2)))
    assert len(found.rows) == 1
    assert found.rows[0].a == pytest.approx(5.0)
    back = match_norms([b], [a], ("mindformers", "megatron"), WeightTable(Layout(experts=2)))
    assert back.rows[0].b == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("fused", "plain"),
    [
        ("decoder.layers.1.self_attention.linear_qkv.layer_norm_weight", "decoder.layers.1.input_layernorm.weight"),
        ("decoder.layers.1.mlp.linear_fc1.layer_norm_bias", "decoder.layers.1.pre_mlp_layernorm.bias"),
        ("x.decoder.layers.1.self_attention.linear_kv_up_proj.layer_norm_weight",
         "decoder.layers.1.self_attention.kv_layernorm.weight"),
        ("decoder.layers.1.mlp.experts.linear_fc2.weight13",
         "decoder.layers.1.mlp.experts.local_experts.13.linear_fc2.weight"),
        ("module.module.output_layer.weight", "output_layer.weight"),
        ("something.else", "something.else"),
    ],
)  # fmt: skip
def test_names_of_transformer_engine_and_of_wrappers(fused: str, plain: str) -> None:
    assert below_the_model(fused) == plain


@pytest.mark.parametrize("cut", [None, 1, 2, 3, 5, 8])
def test_the_guides_two_lists_are_named_by_the_configuration(cut: int | None) -> None:
    scripts = recipe("qwen3_dense/megatron.sh"), recipe("qwen3_dense/mindformers.yaml")
    order = order_of("megatron", NormList(1, None, (1.0,) * 35), scripts)
    assert order is not None
    assert order.names[0] == "embedding.word_embeddings.weight"
    decayed = [not name.endswith("norm.weight") for name in order.names]
    assert decayed == sorted(decayed, reverse=True)
    values = [1.0 + place / 10 for place in range(len(order.names))]
    torch, mindspore = torch_list(values), mindspore_list(values)
    a = run(torch * 2 + megatron_line(1, 11.0) + torch + megatron_line(2, 10.0), "a.log", cut=cut)
    b = run(mindspore + static_line(1, 11.0) + mindspore + static_line(2, 10.0), "b.log", cut=cut)
    found = compare(a, b, "first-steps", scripts)
    assert found.verdict.answer == "match", [entry.said for entry in found.verdict.criteria]
    assert [row.name for row in found.norms.rows] == list(order.names) * 2
    assert [row.a for row in found.norms.rows] == pytest.approx(values * 2)
    assert "without names" in " ".join(note for note in found.notes)
    assert compare(a, b, "first-steps").verdict.answer == "undecided"


@pytest.mark.parametrize("factor", [1.0, 0.31])
@pytest.mark.parametrize("lists", [1, 2, 3, 4])
def test_however_often_an_optimizer_asks_for_its_parameters(lists: int, factor: float) -> None:
    """`ChainedOptimizer.step` of core_v0.12 asks for the norm, to clip, and to count zeros: after clipping, that is."""
    scripts = recipe("qwen3_dense/megatron.sh"), recipe("qwen3_dense/mindformers.yaml")
    values = [1.0 + place / 10 for place in range(35)]
    clipped = [round(value * factor, 5) for value in values]
    step = torch_list(values) * min(lists, 2) + torch_list(clipped) * max(0, lists - 2)
    a = run("".join(step + megatron_line(at, 12.0 - at) for at in (1, 2)), "a.log")
    assert [len(norms.values) for norms in a.norms] == [35, 35]
    order = order_of("megatron", NormList(1, None, (1.0,) * 35), scripts)
    assert order is not None
    b = run("".join(mindspore_list(values) + static_line(at, 12.0 - at) for at in (1, 2)), "b.log")
    found = compare(a, b, "first-steps", scripts)
    assert found.verdict.answer == "match", [entry.said for entry in found.verdict.criteria]
    assert {row.name for row in found.norms.rows} == set(order.names)


def test_lists_of_one_framework_are_compared_in_order() -> None:
    a, b = torch_list([1.0, 2.0, 3.0]) + megatron_line(1, 2.0), torch_list([1.0, 2.0, 4.0]) + megatron_line(1, 2.0)
    found = compare(run(a, "a.log"), run(b, "b.log"), "first-steps")
    assert [row.name for row in found.norms.rows] == ["#1", "#2", "#3"]
    assert found.norms.rows[2].relative == pytest.approx(1 / 3)


def test_the_dynamic_graphs_monitor_and_mindspores_dump() -> None:
    text = "".join(
        f'x - INFO - {{ "step": {step}, "micro_step": 1 }}\n'
        f'x - INFO - {{ "local_norm": decoder.layers.0.a.weight:   {step}.500000 }}\n'
        for step in (1, 2)
    )
    found = run(text + static_line(1, 2.0), "b.log")
    assert [(norms.step, norms.values) for norms in found.norms] == [(1, (1.5,)), (2, (2.5,))]
    dumped = "dump local norm: \ndecoder.layers.0.a.weight\n Tensor(shape=[], dtype=Float32, value=0.25)\n"
    assert run(dumped + static_line(1, 2.0), "b.log").norms == (NormList(1, ("decoder.layers.0.a.weight",), (0.25,)),)


def test_nan_norms_are_beyond_every_limit() -> None:
    a = "local_norm/x.weight: nan\n" + megatron_line(1, 2.0) + megatron_line(2, 2.0)
    b = named_lines(1, {"x.weight": 1.0}) + static_line(1, 2.0) + static_line(2, 2.0)
    found = judged(a, b)
    assert found.norms.rows[0].relative == math.inf
    assert found.verdict.answer == "mismatch"


@pytest.mark.parametrize("text", ["print torch local norm:\n[]\n", "print torch local norm:\n[tensor(x)]\n"])
def test_a_list_that_cannot_be_read_is_told(text: str) -> None:
    found = run(text + megatron_line(1, 2.0), "a.log")
    assert [problem.kind.code for problem in found.problems] == ["EVD018"]
