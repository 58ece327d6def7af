"""Conversion in both directions: every number arrives where the other framework looks for it."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from accmap.evidence.weights.comparison import compare_checkpoints
from accmap.evidence.weights.conversion import Request, convert
from accmap.evidence.weights.megatron_torch import Ranks
from accmap.evidence.weights.opening import open_checkpoint
from accmap.evidence.weights.target_files import MANIFEST, Progress, check_manifest
from accmap.evidence.weights.tensor_files import read_header
from accmap.evidence.weights.weight import RefusedError, cast
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.weight_layout import layout_of
from accmap.mapper.weights import Layout, WeightTable
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.reader import read_config

np = pytest.importorskip("numpy")

import weight_files  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.procedure("proc.weights.convert")


def configs(*files: str) -> list[Any]:
    return [read_config(file) for file in files]


def expected(config: str, found: dict[str, Any]) -> dict[str, Any]:
    """What the MindSpore Transformers checkpoint must hold."""
    read = read_config(config)
    return WeightTable(layout_of(recipe_of(read), read)).to_mindformers(found)


def same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert found[name].shape == array.shape, name
        assert found[name].tobytes() == np.ascontiguousarray(array).tobytes(), name


def one_file(folder: Path) -> dict[str, Any]:
    return weight_files.read_safetensors(folder / "model-00001-of-00001.safetensors")


def offsets(found: dict[str, Any], by: int) -> dict[str, Any]:
    """The scales of the norms moved, and nothing else."""
    scales = {name for name in found if "norm" in name and name.endswith("weight")}
    assert 0 < len(scales) < len(found)
    return {name: (array + np.float32(by) if name in scales else array) for name, array in found.items()}


@pytest.mark.parametrize("family", ["tied", "dense", "latent"])
@pytest.mark.parametrize("form", ["torch", "torch_dist"])
def test_norms_stored_as_an_offset_are_written_as_what_scales(family: str, form: str, tmp_path: Path) -> None:
    """transformer_engine.py:TENorm(zero_centered_gamma) scales by 1 + weight; the biases of LayerNorm stay."""
    script, config = weight_files.pair(family, tmp_path, megatron={"apply-layernorm-1p": True})
    found = weight_files.arrays(script)
    write = weight_files.write_megatron if form == "torch" else weight_files.write_distributed
    source = write(tmp_path / "megatron", script, found)
    convert(Request(str(source), str(tmp_path / "out")), configs(script, config))
    written = one_file(tmp_path / "out")
    same(written, expected(config, offsets(found, 1)))
    checkpoints = [open_checkpoint(str(folder)) for folder in (source, tmp_path / "out")]
    assert compare_checkpoints(*checkpoints, configs(script, config), ReadOptions()).bad == ()
    back = Request(str(tmp_path / "out"), str(tmp_path / "back"), ckpt_format=form)
    convert(back, configs(script, config))
    again = open_checkpoint(str(tmp_path / "back"))
    assert compare_checkpoints(checkpoints[0], again, configs(script, config), ReadOptions(), tolerance=1e-6).bad == ()


def test_an_offset_of_sixteen_bits_is_written_in_float32(tmp_path: Path) -> None:
    """0.001 is a number of bfloat16, and 1.001 is none."""
    script, config = weight_files.pair("dense", tmp_path, megatron={"apply-layernorm-1p": True})
    found = {name: cast(array, "F32", "BF16") for name, array in weight_files.arrays(script).items()}
    source = weight_files.write_megatron(tmp_path / "megatron", script, found)
    convert(Request(str(source), str(tmp_path / "out")), configs(script, config))
    written = one_file(tmp_path / "out")
    scales = {name for name in written if "norm" in name}
    assert {written[name].dtype.name for name in scales} == {"float32"}
    assert {written[name].dtype.name for name in written.keys() - scales} == {"uint16"}
    name = "decoder.final_layernorm.weight"
    assert (written[name] == cast(found[name], "BF16", "F32") + np.float32(1)).all()


@pytest.mark.table(3)
@pytest.mark.parametrize("family", weight_files.FAMILIES)
@pytest.mark.parametrize("form", ["torch", "torch_dist"])
def test_megatron_to_mindformers(family: str, form: str, tmp_path: Path) -> None:
    script, config = weight_files.pair(family, tmp_path)
    found = weight_files.arrays(script)
    write = weight_files.write_megatron if form == "torch" else weight_files.write_distributed
    source = write(tmp_path / "megatron", script, found)
    done = convert(Request(str(source), str(tmp_path / "out")), configs(script, config))
    same(one_file(tmp_path / "out"), expected(config, found))
    assert (done.source, done.form, done.target, done.iteration) == (
        "megatron",
        form,
        "mindformers",
        weight_files.ITERATION,
    )
    assert done.parameters == len(found)
    assert done.numbers == sum(array.size for array in found.values())
    assert done.beside
    names = json.loads((tmp_path / "out" / "param_name_map.json").read_text())
    assert set(names.values()) == {"model-00001-of-00001.safetensors"}
    assert names.keys() == one_file(tmp_path / "out").keys()
    assert check_manifest(str(tmp_path / "out")) == []


def test_a_distributed_checkpoint_of_single_parameters(tmp_path: Path) -> None:
    script, config = weight_files.pair("deepseek", tmp_path)
    found = weight_files.arrays(script)
    source = weight_files.write_distributed(tmp_path / "megatron", script, found, stacked=False)
    convert(Request(str(source), str(tmp_path / "out")), configs(script, config))
    same(one_file(tmp_path / "out"), expected(config, found))


@pytest.mark.table(6)
@pytest.mark.parametrize("family", weight_files.FAMILIES)
@pytest.mark.parametrize("implementation", ["local", "transformer_engine"])
@pytest.mark.parametrize("ranks", [Ranks(), Ranks(tensor=2), Ranks(pipeline=2), Ranks(2, 2, 2), Ranks(expert=4)])
def test_there_and_back_bit_for_bit(family: str, implementation: str, ranks: Ranks, tmp_path: Path) -> None:
    layers = {"megatron": {"num-layers": 4}, "model": {"num_hidden_layers": 4}}
    if family == "deepseek":
        layers["megatron"]["moe-layer-freq"] = "[0]*1+[1]*3"
    script, config = weight_files.pair(family, tmp_path, **layers)
    found = weight_files.arrays(script)
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, found)
    if family in ("grouped", "tied", "latent"):
        ranks = ranks._replace(expert=1)
    request = Request(str(source), str(tmp_path / "there"), ranks=ranks, implementation=implementation)
    done = convert(request, configs(script, config))
    assert len(done.files) == ranks.tensor * ranks.pipeline * ranks.expert + 1
    assert (tmp_path / "there" / "latest_checkpointed_iteration.txt").read_text() == "release\n"
    convert(Request(str(tmp_path / "there"), str(tmp_path / "back")), configs(script, config))
    same(one_file(tmp_path / "back"), expected(config, found))


def test_ranks_hold_what_megatron_gives_them(tmp_path: Path) -> None:
    script, config = weight_files.pair("deepseek", tmp_path)
    found = weight_files.arrays(script)
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, found)
    convert(Request(str(source), str(tmp_path / "out"), ranks=Ranks(2, 1, 2)), configs(script, config))
    shards = {
        (tensor, expert): shard_of(
            tmp_path / "out" / "release" / f"mp_rank_{tensor:02d}_{expert:03d}" / weight_files.SHARD
        )
        for tensor in range(2)
        for expert in range(2)
    }
    layer = "decoder.layers.1."
    gate, up = np.split(found["decoder.layers.0.mlp.linear_fc1.weight"], 2)
    first = shards[1, 0]["decoder.layers.0.mlp.linear_fc1.weight"]
    assert (first == np.concatenate([np.split(gate, 2)[1], np.split(up, 2)[1]])).all()
    second = shards[0, 1]["decoder.layers.0.mlp.linear_fc2.weight"]
    assert (second == np.split(found["decoder.layers.0.mlp.linear_fc2.weight"], 2, axis=1)[0]).all()
    # Sixteen experts on two ranks: the second rank's first is the model's ninth.
    name = f"{layer}mlp.experts.local_experts.{{}}.linear_fc2.weight"
    assert (shards[0, 1][name.format(0)] == np.split(found[name.format(8)], 2, axis=1)[0]).all()
    assert name.format(8) not in shards[0, 1]
    router = f"{layer}mlp.router.weight"
    assert all((shard[router] == found[router]).all() for shard in shards.values())
    rows = found["embedding.word_embeddings.weight"]
    assert (shards[1, 1]["embedding.word_embeddings.weight"] == np.split(rows, 2)[1]).all()
    assert shards[0, 0][f"{layer}self_attention.linear_proj._extra_state"] is None


def shard_of(path: Path) -> dict[str, Any]:
    from accmap.evidence.weights.tensor_files import TorchFile

    file = TorchFile(str(path))
    model = file.content["model"]
    return {name: None if value is None else file.weight(name, value).read() for name, value in model.items()}


def test_transformer_engine_fuses_norms_and_groups_experts(tmp_path: Path) -> None:
    script, config = weight_files.pair("moe_sigmoid", tmp_path, megatron={"moe-grouped-gemm": True})
    found = weight_files.arrays(script)
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, found)
    convert(Request(str(source), str(tmp_path / "out"), implementation="transformer_engine"), configs(script, config))
    shard = shard_of(tmp_path / "out" / "release" / "mp_rank_00" / weight_files.SHARD)
    norms = [name for name in shard if "norm" in name and "layers.0." in name]
    assert sorted(norm.rpartition("0.")[2] for norm in norms) == [
        "mlp.linear_fc1.layer_norm_weight",
        "self_attention.k_layernorm.weight",
        "self_attention.linear_qkv.layer_norm_weight",
        "self_attention.q_layernorm.weight",
    ]
    # A layer of experts keeps its norm to itself.
    assert "decoder.layers.1.pre_mlp_layernorm.weight" in shard
    grouped = shard["decoder.layers.1.mlp.experts.linear_fc1.weight15"]
    assert (grouped == found["decoder.layers.1.mlp.experts.local_experts.15.linear_fc1.weight"]).all()


def test_grouped_experts_of_the_local_implementation(tmp_path: Path) -> None:
    script, config = weight_files.pair("moe_softmax", tmp_path, megatron={"moe-grouped-gemm": True})
    found = weight_files.arrays(script)
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, found)
    convert(Request(str(source), str(tmp_path / "there"), implementation="local"), configs(script, config))
    shard = shard_of(tmp_path / "there" / "release" / "mp_rank_00" / weight_files.SHARD)
    first = shard["decoder.layers.0.mlp.experts.weight1"]
    hidden = 128
    assert first.shape == (hidden, 8 * 2 * 64)
    view = first.reshape(8, hidden, -1)
    third = found["decoder.layers.0.mlp.experts.local_experts.3.linear_fc1.weight"]
    assert (third == view[3].T).all()
    assert shard["decoder.layers.0.mlp.experts.weight2"].shape == (8 * 64, hidden)
    convert(Request(str(tmp_path / "there"), str(tmp_path / "back")), configs(script, config))
    same(one_file(tmp_path / "back"), expected(config, found))


@pytest.mark.procedure("proc.infer.fused_weights")
@pytest.mark.parametrize(
    "model",
    [
        {"use_interleaved_weight_layout_mlp": True},
        {"use_contiguous_weight_layout_attention": True},
        {"use_interleaved_weight_layout_mlp": True, "use_contiguous_weight_layout_attention": True},
    ],
)
def test_the_yaml_decides_how_fused_weights_are_arranged(model: dict[str, Any], tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path, model=model)
    found = weight_files.arrays(script)
    source = weight_files.write_megatron(tmp_path / "megatron", script, found)
    convert(Request(str(source), str(tmp_path / "out")), configs(script, config))
    written = one_file(tmp_path / "out")
    name = "decoder.layers.0.mlp.linear_fc1.weight"
    if model.get("use_interleaved_weight_layout_mlp"):
        assert (written[name][0::2] == found[name][:256]).all()
        assert (written[name][1::2] == found[name][256:]).all()
    name = "decoder.layers.0.self_attention.linear_qkv.weight"
    if model.get("use_contiguous_weight_layout_attention"):
        # Two groups of two query heads of 32 rows: queries, then keys, then values.
        groups = found[name].reshape(2, 4, 32, -1)
        assert (written[name][:128] == groups[:, :2].reshape(128, -1)).all()
        assert (written[name][128:192] == groups[:, 2].reshape(64, -1)).all()
    convert(Request(str(tmp_path / "out"), str(tmp_path / "back")), configs(script, config))
    back = shard_of(tmp_path / "back" / "release" / "mp_rank_00" / weight_files.SHARD)
    assert all((back[name] == array).all() for name, array in found.items())


@pytest.mark.parametrize("with_script", [True, False])
def test_the_dynamic_graph_has_its_own_arrangement(with_script: bool, tmp_path: Path) -> None:
    from accmap.mapper.translate.read_back import text_of
    from accmap.mapper.translate.translation import translate

    script, _ = weight_files.pair("deepseek", tmp_path)
    dynamic = tmp_path / "dynamic.yaml"
    dynamic.write_text(text_of(translate(read_config(script), "mindformers", None, "dynamic")))
    found = weight_files.arrays(script)
    source = weight_files.write_megatron(tmp_path / "megatron", script, found)
    given = configs(*([script] if with_script else []), str(dynamic))
    convert(Request(str(source), str(tmp_path / "out")), given)
    written = one_file(tmp_path / "out")
    experts = written["decoder.layers.1.mlp.experts.weight1"]
    assert experts.shape == (16, 128, 128)
    expert = "decoder.layers.1.mlp.experts.local_experts.5.linear_fc1.weight"
    assert (found[expert] == experts[5].T).all()
    assert (written["decoder.layers.1.mlp.expert_bias"] == found["decoder.layers.1.mlp.router.expert_bias"]).all()
    assert "decoder.layers.0.self_attention.linear_kvb.weight" in written
    first = found["decoder.layers.0.mlp.linear_fc1.weight"]
    assert (written["decoder.layers.0.mlp.linear_fc1.weight"][0::2] == first[: len(first) // 2]).all()
    convert(Request(str(tmp_path / "out"), str(tmp_path / "back")), given)
    back = shard_of(tmp_path / "back" / "release" / "mp_rank_00" / weight_files.SHARD)
    if with_script:
        assert all((back[name] == array).all() for name, array in found.items())


def test_the_arguments_in_the_checkpoint_are_enough(tmp_path: Path) -> None:
    for family in weight_files.FAMILIES:
        folder = tmp_path / family
        script, _ = weight_files.pair(family, folder)
        found = weight_files.arrays(script)
        source = weight_files.write_megatron(folder / "megatron", script, found)
        done = convert(Request(str(source), str(folder / "out")), [])
        assert done.configuration[0].endswith("(args)")
        assert done.parameters == len(found)


@pytest.mark.parametrize("with_yaml", [True, False])
def test_a_script_that_leaves_the_vocabulary_to_its_tokenizer(with_yaml: bool, tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    found = weight_files.arrays(script)
    source = weight_files.write_megatron(tmp_path / "megatron", script, found)
    tokenizer = {"vocab-size": None, "tokenizer-type": "HuggingFaceTokenizer", "tokenizer-model": "/models/x"}
    script, _ = weight_files.pair("grouped", tmp_path, megatron=tokenizer)
    given = configs(script, *([config] if with_yaml else []))
    done = convert(Request(str(source), str(tmp_path / "out")), given, ReadOptions(mindformers="1.9"))
    assert done.vocabulary is None
    same(one_file(tmp_path / "out"), expected(config, found))
    if with_yaml:
        convert(Request(str(tmp_path / "out"), str(tmp_path / "back")), given)
        back = shard_of(tmp_path / "back" / "release" / "mp_rank_00" / weight_files.SHARD)
        assert all((back[name] == array).all() for name, array in found.items())


def test_without_any_account_of_the_model_it_stops(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    found = weight_files.arrays(script)
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, found)
    with pytest.raises(UnreadableError, match="--config"):
        convert(Request(str(source), str(tmp_path / "out")), [])
    assert not (tmp_path / "out").exists()


@pytest.mark.procedure("proc.weights.bf16_cast")
@pytest.mark.parametrize(("dtype", "stored"), [("bf16", "BF16"), ("fp32", "F32"), ("fp16", "F16")])
def test_casts(dtype: str, stored: str, tmp_path: Path) -> None:
    script, config = weight_files.pair("deepseek", tmp_path)
    found = weight_files.arrays(script)
    source = weight_files.write_megatron(tmp_path / "megatron", script, found)
    done = convert(Request(str(source), str(tmp_path / "out"), dtype=dtype), configs(script, config))
    assert set(done.dtypes) == {stored, "F32"}
    written = one_file(tmp_path / "out")
    for name, array in expected(config, found).items():
        # The routers' bias decides by small differences and is kept in float32 by both frameworks.
        kept = name.endswith("expert_bias")
        wanted = array if kept else cast(array, "F32", stored)
        assert written[name].tobytes() == np.ascontiguousarray(wanted).tobytes(), name


def test_bfloat16_shards_go_through_unchanged(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    found = {name: cast(array, "F32", "BF16") for name, array in weight_files.arrays(script).items()}
    source = weight_files.write_megatron(tmp_path / "megatron", script, found)
    done = convert(Request(str(source), str(tmp_path / "out")), configs(script, config))
    assert done.dtypes == ("BF16",)
    same(one_file(tmp_path / "out"), expected(config, found))


def test_a_value_too_large_for_float16_stops_the_cast(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    found = weight_files.arrays(script)
    found["output_layer.weight"][3, 5] = 1e6
    source = weight_files.write_megatron(tmp_path / "megatron", script, found)
    with pytest.raises(RefusedError, match=r"1 values of output_layer\.weight"):
        convert(Request(str(source), str(tmp_path / "out"), dtype="fp16"), configs(script, config))
    assert not list((tmp_path / "out").glob("*.safetensors*"))


@pytest.mark.parametrize(("rows", "size"), [(504, 512), (640, 512)])
def test_the_vocabulary_gets_the_targets_rows(rows: int, size: int, tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path, model={"vocab_size": rows}, megatron={"vocab-size": 500})
    found = weight_files.arrays(script)
    assert found["output_layer.weight"].shape[0] == 504
    for name in ("embedding.word_embeddings.weight", "output_layer.weight"):
        found[name] = np.concatenate([found[name], np.ones((size - 504, 128), np.float32)])
    source = weight_files.write_megatron(tmp_path / "megatron", script, found)
    done = convert(Request(str(source), str(tmp_path / "out")), configs(script, config))
    assert tuple(done.vocabulary) == (size, rows)
    written = one_file(tmp_path / "out")["output_layer.weight"]
    kept = min(rows, size)
    assert (written[:kept] == found["output_layer.weight"][:kept]).all()
    assert not written[kept:].any()


def test_a_vocabulary_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path, model={"vocab_size": 400})
    source = weight_files.write_megatron(tmp_path / "megatron", script, weight_files.arrays(script))
    with pytest.raises(RefusedError, match="512 rows for 511 tokens, but the target has 400 rows"):
        convert(Request(str(source), str(tmp_path / "out")), configs(script, config))


def test_tensor_parallel_ranks_share_the_vocabulary_evenly(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path, megatron={"make-vocab-size-divisible-by": 128})
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, weight_files.arrays(script))
    request = Request(str(source), str(tmp_path / "out"), ranks=Ranks(tensor=4))
    changed = {"megatron": {"make-vocab-size-divisible-by": 200, "vocab-size": 511}}
    script, config = weight_files.pair("grouped", tmp_path, **changed)
    done = convert(request, configs(script, config))
    assert tuple(done.vocabulary) == (512, 800)
    shard = shard_of(tmp_path / "out" / "release" / "mp_rank_01" / weight_files.SHARD)
    assert shard["embedding.word_embeddings.weight"].shape == (200, 128)


def test_virtual_pipeline_chunks_are_put_in_order(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path, megatron={"num-layers": 4}, model={"num_hidden_layers": 4})
    found = weight_files.arrays(script)
    folder = tmp_path / "megatron" / weight_files.ITERATION_FOLDER
    for rank in range(2):
        chunks: dict[str, Any] = {}
        for chunk in range(2):
            layer = f"decoder.layers.{2 * chunk + rank}."
            held = {name.replace(layer, "decoder.layers.0."): a for name, a in found.items() if name.startswith(layer)}
            if (rank, chunk) == (0, 0):
                held["embedding.word_embeddings.weight"] = found["embedding.word_embeddings.weight"]
            if (rank, chunk) == (1, 1):
                held |= {name: a for name, a in found.items() if name.startswith(("decoder.final", "output"))}
            chunks[f"model{chunk}"] = weight_files.megatron_state(held)
        place = folder / f"mp_rank_00_{rank:03d}"
        place.mkdir(parents=True)
        weight_files.write_torch(
            place / weight_files.SHARD, {"iteration": weight_files.ITERATION, "checkpoint_version": 3.0, **chunks}
        )
    convert(Request(str(tmp_path / "megatron"), str(tmp_path / "out")), configs(script, config))
    same(one_file(tmp_path / "out"), expected(config, found))


def test_a_parallel_runs_slices_are_put_together(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    found = weight_files.arrays(script)
    laid = expected(config, found)
    folder = tmp_path / "mindformers"
    folder.mkdir()
    files: list[dict[str, Any]] = [{}, {}]
    entries, places = {}, {}
    for name, array in laid.items():
        halves = np.split(array, 2) if array.ndim == 2 else [array]
        chunks = []
        for number, half in enumerate(halves):
            offset = [number * len(half)] + [0] * (array.ndim - 1) if array.ndim == 2 else [0]
            files[number][name] = half
            chunks.append({"global_offset": offset, "local_shape": list(half.shape)})
            file = f"model-{number:07d}-0000002.safetensors"
            places[str((name, tuple(offset)))] = [{"file_name": file, "storage_rank": number, "rank_group": [number]}]
        entries[name] = {"properties": {"dtype": "Float32"}, "global_shape": list(array.shape), "chunk": chunks}
    for number, held in enumerate(files):
        weight_files.write_safetensors(folder / f"model-{number:07d}-0000002.safetensors", held)
    (folder / "metadata.json").write_text(json.dumps({"state_dict_metadata": entries, "storage_data": places}))
    (folder / "common.json").write_text('{"global_step": 12}')
    convert(Request(str(folder), str(tmp_path / "out")), configs(script, config))
    back = shard_of(tmp_path / "out" / "release" / "mp_rank_00" / weight_files.SHARD)
    assert all((back[name] == array).all() for name, array in found.items())
    assert open_checkpoint(str(folder)).iteration == 12
    (folder / "model-0000001-0000002.safetensors").unlink()
    with pytest.raises(UnreadableError, match=r"model-0000001-0000002\.safetensors.* is missing"):
        open_checkpoint(str(folder))


def test_optimizer_state_and_counters_are_left_out_and_named(tmp_path: Path) -> None:
    script, config = weight_files.pair("moe_sigmoid", tmp_path)
    found = weight_files.arrays(script)
    laid = expected(config, found)
    laid |= {f"adam_m.{name}": array for name, array in laid.items()}
    laid["decoder.layers.1.mlp.router.fi_accu"] = np.zeros(16, np.float32)
    laid["global_step"] = np.zeros(1, np.int32)
    folder = tmp_path / "mindformers"
    folder.mkdir()
    weight_files.write_safetensors(folder / "model.safetensors", laid)
    done = convert(Request(str(folder), str(tmp_path / "out")), configs(script, config))
    sizes = {what.en: amount.size for what, amount in done.beside.items()}
    assert sizes["optimizer state"] == sum(array.nbytes for array in found.values())
    assert {what.en for what in done.beside} == {"optimizer state", "router counters", "training state"}


def test_megatrons_optimizer_state_is_never_dropped_unseen(tmp_path: Path) -> None:
    """It stands beside the model, in a file of its own with the distributed optimizer, or among the tensors."""
    script, config = weight_files.pair("grouped", tmp_path)
    found = weight_files.arrays(script)
    moments = {at: {"exp_avg": np.zeros((4, 8), np.float32), "exp_avg_sq": np.zeros(3, np.float32)} for at in range(2)}
    around: dict[str, Any] = {"optimizer": {"state": moments, "param_groups": [{"lr": 0.1}]}}
    around["optimizer"]["again"] = around["optimizer"]["state"]
    source = weight_files.write_megatron(
        tmp_path / "megatron", script, found, **around, rng_state=[np.zeros(5, np.float32)]
    )
    (source / weight_files.ITERATION_FOLDER / "mp_rank_00" / "distrib_optim.pt").write_bytes(bytes(1000))
    done = convert(Request(str(source), str(tmp_path / "out")), configs(script, config))
    amounts = {what.en: (amount.tensors, amount.size) for what, amount in done.beside.items()}
    assert amounts["optimizer state"] == (4 + 1, 2 * 4 * (32 + 3) + 1000)
    assert amounts["training state"] == (1, 20)
    assert [what.en for what in done.beside if what.anew] == ["optimizer state"]
    distributed = weight_files.write_distributed(tmp_path / "distributed", script, found)
    done = convert(Request(str(distributed), str(tmp_path / "other")), configs(script, config))
    amounts = {what.en: (amount.tensors, amount.size) for what, amount in done.beside.items()}
    assert amounts["optimizer state"] == (1, 12)


def test_many_small_files_and_one_framework(tmp_path: Path) -> None:
    """The same framework on both sides: another number type, other shards."""
    script, config = weight_files.pair("deepseek", tmp_path)
    found = weight_files.arrays(script)
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, found)
    request = Request(str(source), str(tmp_path / "out"), to="mindformers", shard_bytes=1 << 20)
    done = convert(request, configs(script, config))
    assert len(done.files) > 4
    written: dict[str, Any] = {}
    for file in sorted((tmp_path / "out").glob("*.safetensors")):
        written |= weight_files.read_safetensors(file)
    same(written, expected(config, found))
    dense = weight_files.write_megatron(tmp_path / "megatron", script, found)
    request = Request(str(dense), str(tmp_path / "parallel"), to="megatron", ranks=Ranks(tensor=2))
    convert(request, configs(script, config))
    convert(Request(str(tmp_path / "parallel"), str(tmp_path / "back")), configs(script, config))
    same(one_file(tmp_path / "back"), expected(config, found))


class InterruptionError(Exception):
    """Something that ends a conversion in the middle."""


def test_an_interrupted_conversion_continues(tmp_path: Path) -> None:
    script, config = weight_files.pair("deepseek", tmp_path)
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, weight_files.arrays(script))
    request = Request(str(source), str(tmp_path / "out"), ranks=Ranks(tensor=2, expert=2))

    def stop_at_the_third(progress: Progress) -> None:
        if progress.number == 3:
            raise InterruptionError

    with pytest.raises(InterruptionError):
        convert(request, configs(script, config), progress=stop_at_the_third)
    out = tmp_path / "out"
    manifest = json.loads((out / MANIFEST).read_text())
    assert manifest["complete"] is False
    assert len(list(out.rglob(".*.finished.json"))) == 2
    assert not (out / "latest_checkpointed_iteration.txt").exists()
    first = out / "release" / "mp_rank_00_000" / weight_files.SHARD
    before = first.stat().st_mtime_ns
    damaged = out / "release" / "mp_rank_01_000" / weight_files.SHARD
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    done = convert(request._replace(resume=True), configs(script, config))
    assert [file.resumed for file in done.files] == [True, False, False, False, False]
    assert first.stat().st_mtime_ns == before
    assert json.loads((out / MANIFEST).read_text())["complete"] is True
    assert check_manifest(str(out)) == []
    assert not list(out.rglob(".*"))
    whole = convert(request._replace(output=str(tmp_path / "whole")), configs(script, config))
    assert [file.sums for file in whole.files] == [file.sums for file in done.files]


def test_a_checksum_that_is_asked_for_later_is_made_by_writing_again(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, weight_files.arrays(script))
    request = Request(str(source), str(tmp_path / "out"))
    (shard, *_) = convert(request, configs(script, config)).files
    assert [*shard.sums] == ["xxh3_128"]
    (again, *_) = convert(request._replace(resume=True, sha256=True), configs(script, config)).files
    assert not again.resumed
    content = (tmp_path / "out" / shard.path).read_bytes()
    assert again.sums == {**shard.sums, "sha256": hashlib.sha256(content).hexdigest()}
    (kept, *_) = convert(request._replace(resume=True), configs(script, config)).files
    assert kept.resumed
    assert kept.sums == again.sums


@pytest.mark.parametrize("damaged", [False, True])
def test_a_folder_that_has_sha256_alone_is_checked_by_that(tmp_path: Path, damaged: bool) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, weight_files.arrays(script))
    (shard, *_) = convert(Request(str(source), str(tmp_path / "out"), sha256=True), configs(script, config)).files
    path = tmp_path / "out" / MANIFEST
    manifest = json.loads(path.read_text())
    for entry in manifest["files"].values():
        del entry["xxh3_128"]
    path.write_text(json.dumps(manifest))
    if damaged:
        file = tmp_path / "out" / shard.path
        file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert ["the file's checksum differs" in one.message() for one in check_manifest(str(tmp_path / "out"))] == [
        True
    ] * damaged


def test_without_xxhash_a_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, weight_files.arrays(script))
    convert(Request(str(source), str(tmp_path / "out")), configs(script, config))
    monkeypatch.setitem(sys.modules, "xxhash", None)
    with pytest.raises(UnreadableError, match="xxhash is not installed"):
        check_manifest(str(tmp_path / "out"))


def test_another_conversion_is_not_continued(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, weight_files.arrays(script))
    request = Request(str(source), str(tmp_path / "out"))
    convert(request, configs(script, config))
    with pytest.raises(UnreadableError, match="a different dtype"):
        convert(request._replace(resume=True, dtype="bf16"), configs(script, config))
    (source / "model-00001-of-00001.safetensors").touch()
    weight_files.write_mindformers(tmp_path / "again", config, weight_files.arrays(script, seed=1))
    with pytest.raises(UnreadableError, match="a different source"):
        convert(request._replace(resume=True, checkpoint=str(tmp_path / "again")), configs(script, config))


def test_writing_again_leaves_no_file_of_the_earlier_conversion(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    source = weight_files.write_megatron(tmp_path / "megatron", script, weight_files.arrays(script))
    out = tmp_path / "out"
    convert(Request(str(source), str(out), shard_bytes=1 << 18), configs(script, config))
    assert len(list(out.glob("*.safetensors"))) > 2
    convert(Request(str(source), str(out)), configs(script, config))
    assert [file.name for file in out.glob("*.safetensors")] == ["model-00001-of-00001.safetensors"]
    foreign = out / "model-00007-of-00009.safetensors"
    foreign.write_bytes(b"")
    with pytest.raises(UnreadableError, match="00007"):
        convert(Request(str(source), str(out)), configs(script, config))
    assert foreign.exists()


def test_a_nan_is_written_and_reported(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    found = weight_files.arrays(script)
    found["decoder.layers.1.mlp.linear_fc2.weight"][0, :3] = np.nan
    found["decoder.layers.1.mlp.linear_fc2.weight"][1, 0] = np.inf
    source = weight_files.write_megatron(tmp_path / "megatron", script, found)
    done = convert(Request(str(source), str(tmp_path / "out")), configs(script, config))
    (finding,) = done.findings
    assert finding.kind.code == "EVD048"
    assert "decoder.layers.1.mlp.linear_fc2.weight contains 3 NaN and 1 infinite" in finding.message()
    assert "3 个 NaN" in finding.message("zh")


def test_blocks_of_a_large_weight_are_read_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from accmap.evidence.weights import weight

    monkeypatch.setattr(weight, "BLOCK_BYTES", 1 << 12)
    script, config = weight_files.pair("deepseek", tmp_path)
    found = weight_files.arrays(script)
    source = weight_files.write_megatron(tmp_path / "megatron", script, found)
    convert(Request(str(source), str(tmp_path / "out"), dtype="fp32"), configs(script, config))
    same(one_file(tmp_path / "out"), expected(config, found))
    largest: list[int] = []
    checkpoint = open_checkpoint(str(source))
    view_of = checkpoint.model  # the embedding is 512 rows of 512 bytes: 64 blocks of 8 rows
    from accmap.evidence.weights.model import View

    model = view_of(View(layout_of(recipe_of(read_config(script)))))
    largest.extend(block.nbytes for block in model.weights["embedding.word_embeddings.weight"].blocks())
    assert len(largest) == 64
    assert max(largest) == 1 << 12


@pytest.mark.parametrize(
    "layout",
    [Layout(qkv_contiguous=True), Layout(mlp_interleaved=True), Layout()],
    ids=["kinds", "turns", "as-it-is"],
)
def test_rows_in_another_order_are_read_block_by_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: Layout
) -> None:
    from accmap.evidence.weights import mindformers_files, weight

    monkeypatch.setattr(weight, "BLOCK_BYTES", 1 << 10)
    table = WeightTable(layout._replace(heads=8, groups=4, head_dim=16))
    found = {
        "decoder.layers.0.mlp.linear_fc1.weight": np.arange(2 * 96 * 32, dtype=np.float32).reshape(192, 32),
        "decoder.layers.0.self_attention.linear_qkv.weight": np.arange(256 * 32, dtype=np.float32).reshape(256, 32),
    }
    weight_files.write_safetensors(tmp_path / "a.safetensors", found)
    held = read_header(str(tmp_path / "a.safetensors"))
    laid_out, unknown = mindformers_files.as_mindformers(table, held)
    assert not unknown
    for name, whole in table.to_mindformers(found).items():
        blocks = list(laid_out[name].blocks())
        assert max(block.nbytes for block in blocks) == 1 << 10
        np.testing.assert_array_equal(np.concatenate(blocks), whole)
        np.testing.assert_array_equal(laid_out[name].rows(7, 150), whole[7:150])


@pytest.mark.parametrize(("width", "most"), [(1, 6), (8, 48)])
def test_every_second_row_is_picked_out_of_what_is_read_at_once(
    width: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is opened as often as blocks are in it, some blocks being at the border of two, not as often as rows."""
    from accmap.evidence.weights import weight

    monkeypatch.setattr(weight, "BLOCK_BYTES", 1 << 10)
    whole = np.arange(512 * width, dtype="<f4").reshape(512, width)
    whole.tofile(tmp_path / "rows")
    stored = weight.Stored("w", "F32", whole.shape, weight.Place(str(tmp_path / "rows"), 0, whole.nbytes))
    sizes: list[int] = []
    rows = weight.Stored.rows

    def noted(self: weight.Stored, start: int, stop: int) -> Any:
        found = rows(self, start, stop)
        sizes.append(found.nbytes)
        return found

    monkeypatch.setattr(weight.Stored, "rows", noted)
    parted = weight.reorder_rows(stored, lambda array: np.concatenate([array[0::2], array[1::2]]))
    np.testing.assert_array_equal(parted.read(), np.concatenate([whole[0::2], whole[1::2]]))
    assert len(sizes) <= most
    assert max(sizes) <= 1 << 10
    assert parted.rows(5, 5).shape == (0, width)


def test_rows_far_apart_are_read_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from accmap.evidence.weights import weight

    whole = np.arange(64 * 8192, dtype="<f4").reshape(64, 8192)
    whole.tofile(tmp_path / "rows")
    stored = weight.Stored("w", "F32", whole.shape, weight.Place(str(tmp_path / "rows"), 0, whole.nbytes))
    read: list[int] = []
    rows = weight.Stored.rows
    monkeypatch.setattr(
        weight.Stored, "rows", lambda self, start, stop: (read.append(stop - start), rows(self, start, stop))[1]
    )
    order = np.arange(64).reshape(16, 4).T.reshape(-1)
    shuffled = weight.reorder_rows(stored, lambda array: array[order])
    np.testing.assert_array_equal(shuffled.rows(0, 4), whole[[0, 4, 8, 12]])
    assert read == [1, 1, 1, 1]


def test_a_continued_conversion_still_tells_of_a_nan(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    found = weight_files.arrays(script)
    found["embedding.word_embeddings.weight"][0, 0] = np.nan
    source = weight_files.write_megatron(tmp_path / "megatron", script, found)
    request = Request(str(source), str(tmp_path / "out"), shard_bytes=1 << 18)

    def stop(progress: Progress) -> None:
        if progress.number == 2:
            raise InterruptionError

    with pytest.raises(InterruptionError):
        convert(request, configs(script, config), progress=stop)
    assert "interrupted" in check_manifest(str(tmp_path / "out"))[0].message()
    done = convert(request._replace(resume=True), configs(script, config))
    assert [file.resumed for file in done.files][:2] == [True, False]
    assert [finding.kind.code for finding in done.findings] == ["EVD048"]


def test_a_target_within_the_source_can_be_continued(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, weight_files.arrays(script))
    request = Request(str(source), str(source / "megatron"))
    convert(request, configs(script, config))
    assert convert(request._replace(resume=True), configs(script, config)).files[0].resumed


def test_numbers_of_eight_bits_are_not_cast(tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    found = weight_files.arrays(script)
    source = weight_files.write_mindformers(tmp_path / "mindformers", config, found)
    path = source / "model-00001-of-00001.safetensors"
    data = path.read_bytes().replace(b'"F32"', b'"I32"', 1)
    path.write_bytes(data)
    with pytest.raises(UnreadableError, match="from I32 to BF16"):
        convert(Request(str(source), str(tmp_path / "out"), dtype="bf16"), configs(script, config))
