"""Two checkpoints weight by weight, and one against a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from accmap.evidence.weights.comparison import Tally, compare_checkpoints, compare_with_configuration
from accmap.evidence.weights.opening import open_checkpoint
from accmap.evidence.weights.weight import cast, widen
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config

np = pytest.importorskip("numpy")

import weight_files  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

    from accmap.evidence.weights.comparison import Check

NAME = "decoder.layers.1.mlp.linear_fc2.weight"


def checked(a: Path, b: Path | None, *given: str, **options: Any) -> Check:
    configs = [read_config(file) for file in given]
    if b is None:
        return compare_with_configuration(open_checkpoint(str(a)), configs, ReadOptions())
    return compare_checkpoints(open_checkpoint(str(a)), open_checkpoint(str(b)), configs, ReadOptions(), **options)


def statuses(found: Check) -> dict[str, str]:
    return {row.name: row.status for row in found.bad}


@pytest.mark.parametrize("family", weight_files.FAMILIES)
@pytest.mark.parametrize(
    "given", ["both", pytest.param("yaml", marks=pytest.mark.slow), pytest.param("none", marks=pytest.mark.slow)]
)
def test_the_same_weights_in_every_form(family: str, given: str, tmp_path: Path) -> None:
    script, config = weight_files.pair(family, tmp_path)
    found = weight_files.arrays(script)
    files = {"both": (script, config), "yaml": (config,), "none": ()}[given]
    torch = weight_files.write_megatron(tmp_path / "torch", script, found)
    distributed = weight_files.write_distributed(tmp_path / "distributed", script, found)
    safetensors = weight_files.write_mindformers(tmp_path / "mindformers", config, found)
    for a, b in ((torch, safetensors), (safetensors, distributed), (torch, distributed), (safetensors, safetensors)):
        answer = checked(a, b, *files)
        assert statuses(answer) == {}, (a.name, b.name)
        assert len(answer.rows) == len(found)
        assert all(row.max_difference == 0 for row in answer.rows)


@pytest.mark.parametrize("family", weight_files.FAMILIES)
def test_equal_checkpoints_of_another_model_are_no_runs_weights(family: str, tmp_path: Path) -> None:
    script, config = weight_files.pair(family, tmp_path)
    found = weight_files.arrays(script)
    a, b = (
        weight_files.write_megatron(tmp_path / "a", script, found),
        weight_files.write_mindformers(tmp_path / "b", config, found),
    )
    assert [checked(a, b, *files).misfits for files in ((script, config), (script,), (config,), ())] == [()] * 4
    (tmp_path / "other").mkdir()
    others = weight_files.pair(next(name for name in weight_files.FAMILIES if name != family), tmp_path / "other")
    for files in (others, others[:1], others[1:]):
        assert len(checked(a, b, *files).misfits) == 2


def test_what_differs_is_named_with_its_size(tmp_path: Path) -> None:
    script, config = weight_files.pair("deepseek", tmp_path)
    found = weight_files.arrays(script)
    a = weight_files.write_megatron(tmp_path / "a", script, found)
    other = {name: array.copy() for name, array in found.items()}
    expert = "decoder.layers.2.mlp.experts.local_experts.7.linear_fc1.weight"
    other[expert][3, 4] += 0.5
    b = weight_files.write_mindformers(tmp_path / "b", config, other)
    answer = checked(a, b, script, config)
    assert statuses(answer) == {expert: "different"}
    (row,) = answer.bad
    assert row.max_difference == pytest.approx(0.5, abs=1e-5)
    assert row.b is not None
    assert row.b.name == "decoder.layers.2.mlp.experts.weight1"
    assert row.relative is not None
    assert statuses(checked(a, b, script, config, tolerance=0.5)) == {}


@pytest.mark.procedure("proc.infer.fused_weights")
def test_rows_in_another_order_are_a_difference(tmp_path: Path) -> None:
    """Names and shapes agree, and nothing is reported as not loaded: only the numbers show it."""
    script, config = weight_files.pair("grouped", tmp_path)
    found = weight_files.arrays(script)
    a = weight_files.write_megatron(tmp_path / "a", script, found)
    _, other = weight_files.pair("grouped", tmp_path / "other", model={"use_contiguous_weight_layout_attention": True})
    b = weight_files.write_mindformers(tmp_path / "b", other, found)
    answer = checked(a, b, script, config)
    assert set(statuses(answer).values()) == {"different"}
    assert all(".linear_qkv." in name for name in statuses(answer))
    assert statuses(checked(a, b, script, other)) == {}


@pytest.mark.procedure("proc.weights.bf16_cast")
def test_weights_that_agree_only_as_bfloat16(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    found = weight_files.arrays(script)
    rounded = {name: cast(array, "F32", "BF16") for name, array in found.items()}
    a = weight_files.write_megatron(tmp_path / "a", script, rounded)
    b = weight_files.write_mindformers(tmp_path / "b", config, found)
    answer = checked(a, b, script, config)
    assert set(statuses(answer).values()) == {"rounded"}
    # The same values, stored in a wider type, are the same weights.
    wide = {name: widen(array, "BF16") for name, array in rounded.items()}
    c = weight_files.write_mindformers(tmp_path / "c", config, wide)
    assert statuses(checked(a, c, script, config)) == {}
    away = {name: array * np.float32(1.02) for name, array in found.items()}
    d = weight_files.write_mindformers(tmp_path / "d", config, away)
    assert set(statuses(checked(a, d, script, config)).values()) == {"different"}


def test_missing_left_over_misshapen_and_broken(tmp_path: Path) -> None:
    script, _ = weight_files.pair("grouped", tmp_path)
    found = weight_files.arrays(script)
    a = weight_files.write_megatron(tmp_path / "a", script, found)
    other = {name: array.copy() for name, array in found.items()}
    del other["decoder.layers.0.self_attention.linear_qkv.bias"]
    other["decoder.layers.0.self_attention.linear_proj.bias"] = np.zeros(128, np.float32)
    other["decoder.layers.1.mlp.linear_fc1.weight"] = np.zeros((256, 128), np.float32)
    other[NAME][5, 6] = np.nan
    other["decoder.layers.0.mlp.new.weight"] = np.zeros((2, 2), np.float32)
    b = weight_files.write_megatron(tmp_path / "b", script, other)
    answer = checked(a, b, script)
    assert statuses(answer) == {
        "decoder.layers.0.self_attention.linear_qkv.bias": "only-a",
        "decoder.layers.0.self_attention.linear_proj.bias": "only-b",
        "decoder.layers.1.mlp.linear_fc1.weight": "shape",
        NAME: "not-finite",
        "decoder.layers.0.mlp.new.weight": "unknown",
    }


@pytest.mark.table(3)
@pytest.mark.parametrize("side", ["megatron", "mindformers"])
@pytest.mark.parametrize("family", weight_files.FAMILIES)
def test_a_checkpoint_against_its_configuration(side: str, family: str, tmp_path: Path) -> None:
    script, config = weight_files.pair(family, tmp_path)
    found = weight_files.arrays(script)
    if side == "megatron":
        source = weight_files.write_megatron(tmp_path / "a", script, found)
    else:
        source = weight_files.write_mindformers(tmp_path / "a", config, found)
    for given in ((script, config), (config, script), (config,)):
        answer = checked(source, None, *given)
        assert answer.kind == "configuration"
        assert statuses(answer) == {}
        assert len(answer.rows) == len(found)


@pytest.mark.procedure("proc.infer.bias")
def test_a_bias_that_the_configuration_asks_for_and_the_weights_lack(tmp_path: Path) -> None:
    _, without = weight_files.pair(
        "grouped", tmp_path, model={"attention_bias": False}, megatron={"add-qkv-bias": None}
    )
    script, _ = weight_files.pair("grouped", tmp_path / "plain", megatron={"add-qkv-bias": None})
    source = weight_files.write_mindformers(tmp_path / "a", without, weight_files.arrays(script))
    assert statuses(checked(source, None, without)) == {}
    _, biased = weight_files.pair("grouped", tmp_path / "biased")
    answer = checked(source, None, biased)
    assert statuses(answer) == {
        f"decoder.layers.{layer}.self_attention.linear_qkv.bias": "only-b" for layer in range(2)
    }
    biased_weights = weight_files.write_mindformers(
        tmp_path / "b", biased, weight_files.arrays(weight_files.pair("grouped", tmp_path / "c")[0])
    )
    answer = checked(biased_weights, None, without)
    assert set(statuses(answer).values()) == {"only-a"}


def test_without_anything_to_compare_with_the_numbers_are_looked_at(tmp_path: Path) -> None:
    script, config = weight_files.pair("deepseek", tmp_path)
    found = weight_files.arrays(script)
    found["output_layer.weight"][0, 0] = np.inf
    answer = checked(weight_files.write_mindformers(tmp_path / "a", config, found), None)
    assert answer.kind == "alone"
    assert answer.inferred
    assert statuses(answer) == {"output_layer.weight": "not-finite"}


def test_statistics() -> None:
    tally = Tally("F32")
    for piece in ([3.0, np.nan], [-4.0, np.inf], []):
        tally.add(np.array(piece, np.float32))
    assert tuple(tally.statistics()) == (-4.0, 3.0, -0.5, 5.0, 1, 1)
    counts = Tally("I32")
    counts.add(np.array([1, 2], np.int32))
    assert counts.statistics() is None
    broken = Tally("F32")
    broken.add(np.array([np.nan], np.float32))
    found = broken.statistics()
    assert found is not None
    assert np.isnan(found.norm)


def test_padding_of_the_vocabulary_is_no_difference(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path, megatron={"vocab-size": 500})
    found = weight_files.arrays(script)
    a = weight_files.write_mindformers(tmp_path / "a", config, found)
    padded = {name: array.copy() for name, array in found.items()}
    for name in ("embedding.word_embeddings.weight", "output_layer.weight"):
        padded[name] = np.concatenate([found[name], np.ones((8, 128), np.float32)])
    b = weight_files.write_megatron(tmp_path / "b", script, padded)
    assert statuses(checked(a, b, script, config)) == {}
    # Without a configuration nobody knows which rows are tokens.
    assert set(statuses(checked(a, a, config))) == set()
    padded["output_layer.weight"][499] += 1
    c = weight_files.write_megatron(tmp_path / "c", script, padded)
    assert statuses(checked(a, c, script, config)) == {"output_layer.weight": "different"}


@pytest.mark.parametrize("size", [1, 3, 7, 24, 1000])
def test_pieces_of_two_weights_go_side_by_side(size: int) -> None:
    from accmap.evidence.weights.weight import Computed, pieces

    numbers = np.arange(24, dtype=np.float32).reshape(6, 4)
    weight = Computed("F32", (6, 4), "x", lambda: iter((numbers[:1], numbers[1:5], numbers[5:])))
    found = list(pieces(weight, size))
    assert all(piece.size == size for piece in found[:-1])
    assert np.concatenate(found).tolist() == numbers.ravel().tolist()


def test_mindspores_shorter_names_of_experts(tmp_path: Path) -> None:
    """Some versions of MindSpore call the experts' matrices by the names given to the parameters."""
    from weight_files import read_safetensors

    script, config = weight_files.pair("moe_softmax", tmp_path)
    found = weight_files.arrays(script)
    a = weight_files.write_mindformers(tmp_path / "a", config, found)
    laid = read_safetensors(a / "model-00001-of-00001.safetensors")
    (tmp_path / "b").mkdir()
    short = {name.replace("experts.weight", "experts.w"): array for name, array in laid.items()}
    weight_files.write_safetensors(tmp_path / "b" / "model.safetensors", short)
    assert statuses(checked(a, tmp_path / "b", config)) == {}


@pytest.mark.parametrize(
    ("kind", "one", "other", "expected"),
    [
        ("<f4", 3e38, -3e38, 6e38),
        ("<i8", (1 << 40) + 1, 1 << 40, 1.0),
        ("<f8", 1.0, 1.0 + 2**-40, 2**-40),
        ("<f4", float("nan"), 1.0, 0.0),
    ],
)
def test_a_difference_beyond_float32_is_one(kind: str, one: float, other: float, expected: float) -> None:
    from accmap.evidence.weights.weight import largest_difference

    found = largest_difference(np.array([one], kind), np.array([other], kind))
    assert found == pytest.approx(expected, rel=1e-6)
