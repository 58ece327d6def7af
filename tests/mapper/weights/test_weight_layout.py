"""What a configuration says of the weights: their names, shapes and arrangement; and the names of checkpoints."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.weight_layout import UndecidedSizeError, expected_weights, layout_of
from accmap.mapper.weights import (
    WeightTable,
    beside_the_weights,
    canonical,
    expert_of,
    layer_of,
    spellings,
    split_of,
    with_expert,
    with_layer,
)
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config

sys.path.insert(0, str(Path(__file__).parents[2] / "verifier" / "pairs"))
from pair_files import TABLE, write_pair

if TYPE_CHECKING:
    from accmap.mapper.weights import Framework

L = "decoder.layers.3."
A = f"{L}self_attention."


@pytest.mark.parametrize("family", TABLE["families"])
def test_both_files_of_a_pair_ask_for_the_same_weights(family: str, tmp_path: Path) -> None:
    script, config = write_pair({"family": family}, tmp_path)
    read = read_config(str(config))
    ours, theirs = expected_weights(recipe_of(read_config(str(script)))), expected_weights(recipe_of(read))
    assert ours == theirs
    table = WeightTable(layout_of(recipe_of(read), read))
    for name in ours:
        pairing = table.find_pairing("megatron", name)
        assert pairing is not None, name
        assert name in pairing.megatron
        share = table.share_shape(pairing, ours[name])
        assert table.undone_shape(pairing, share) == ours[name]


@pytest.mark.parametrize(("version", "key"), [
    ("1.6", "use_contiguous_weight_layout"), ("1.7", "use_contiguous_weight_layout_attention"),
])  # fmt: skip
def test_the_weights_of_queries_keys_and_values_stand_as_the_version_has_them(
    version: str, key: str, tmp_path: Path
) -> None:
    def contiguous(settings: dict[str, object]) -> bool:
        own = {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "multi_latent_attention": False}
        _script, config = write_pair({"family": "dense", "model": own | settings}, tmp_path)
        read = read_config(str(config), ReadOptions(mindformers=version))
        return layout_of(recipe_of(read), read).qkv_contiguous

    assert contiguous({}) is (version == "1.6")
    for value in (True, False, 1, 0, 1.0, "False", None):
        assert contiguous({key: value}) is bool(value)


# pynative/transformers/moe/experts.py, moe_layer.py: 1.9 stacks the experts' rows, 2.0 and 2.1 give them an axis.
@pytest.mark.parametrize(("version", "apart"), [("1.9", False), ("2.0", True), ("2.1", True)])
def test_the_experts_of_the_dynamic_graph_stand_as_the_version_has_them(
    version: str, apart: bool, tmp_path: Path
) -> None:
    _script, config = write_pair({"family": "moe_sigmoid"}, tmp_path)
    read = read_config(str(config), ReadOptions(mindformers=version))
    layout = layout_of(recipe_of(read), read._replace(dialect="dynamic"))
    table = WeightTable(layout)
    pairing = table.find_pairing("megatron", f"{L}mlp.experts.local_experts.0.linear_fc1.weight")
    assert pairing is not None
    assert len(table.share_shape(pairing, (6, 4))) == (3 if apart else 2)
    assert (table.find_pairing("mindformers", f"{L}mlp.expert_bias") is not None) is apart
    assert layout.mlp_interleaved, "the dynamic graph has one arrangement"


def test_an_open_size_is_an_error_that_names_it(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("torchrun pretrain_gpt.py --num-layers 2 --num-attention-heads 4\n")
    with pytest.raises(UndecidedSizeError, match=r"model\.hidden_size"):
        expected_weights(recipe_of(read_config(str(script))))


def test_a_norm_that_the_table_does_not_know_is_an_error_that_names_it(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("torchrun pretrain_gpt.py --num-layers 2 --num-attention-heads 4 --hidden-size 8\n")
    recipe = recipe_of(read_config(str(script)))
    fields = {**recipe.fields, "norm.type": recipe.fields["norm.type"]._replace(value="ScaleNorm")}
    with pytest.raises(UndecidedSizeError, match=r"norm\.type"):
        WeightTable(layout_of(recipe._replace(fields=fields)))


def test_a_pattern_of_layers_that_is_none_is_an_error_that_names_it(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    words = "--num-layers 2 --num-attention-heads 4 --hidden-size 8 --num-experts 2"
    script.write_text(f"torchrun pretrain_gpt.py {words}\n")
    recipe = recipe_of(read_config(str(script)))
    fields = {**recipe.fields, "moe.layer_pattern": recipe.fields["moe.layer_pattern"]._replace(value=[1, None])}
    with pytest.raises(UndecidedSizeError, match=r"moe\.layer_pattern"):
        expected_weights(recipe._replace(fields=fields))


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ("--num-layers 100001", r"model\.num_layers"),
        ("--num-layers 2 --num-experts 100001", r"moe\.num_experts"),
        ("--num-layers 2 --mtp-num-layers 100001", r"mtp\.num_layers"),
    ],
)
def test_more_than_can_be_listed_is_an_error_that_names_it(more: str, field: str, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"torchrun pretrain_gpt.py {more} --num-attention-heads 4 --hidden-size 8\n")
    with pytest.raises(UndecidedSizeError, match=field):
        layout_of(recipe_of(read_config(str(script))))


def test_experts_of_a_model_without_experts_are_no_row(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("torchrun pretrain_gpt.py --num-layers 2 --num-attention-heads 4 --hidden-size 8\n")
    table = WeightTable(layout_of(recipe_of(read_config(str(script)))))
    assert table.find_pairing("mindformers", "decoder.layers.0.mlp.experts.weight1") is None


@pytest.mark.parametrize(
    ("framework", "written", "name"),
    [
        ("megatron", "module.module.output_layer.weight", "output_layer.weight"),
        ("megatron", f"{L}self_attention.linear_qkv.layer_norm_bias", f"{L}input_layernorm.bias"),
        ("megatron", f"{A}linear_kv_up_proj.layer_norm_weight", f"{A}kv_layernorm.weight"),
        ("megatron", f"{L}mlp.linear_fc1.layer_norm_weight", f"{L}pre_mlp_layernorm.weight"),
        ("megatron", f"{L}mlp.experts.linear_fc2.weight11", f"{L}mlp.experts.local_experts.11.linear_fc2.weight"),
        ("megatron", "mtp.layers.0.mtp_model_layer.mlp.x", "mtp.layers.0.transformer_layer.mlp.x"),
        ("mindformers", f"{L}mlp.experts.w1", f"{L}mlp.experts.weight1"),
        ("mindformers", "network.output_layer.weight", "output_layer.weight"),
        ("mindformers", "model.layers.0.x", "model.layers.0.x"),
    ],
)  # fmt: skip
def test_other_spellings(framework: Framework, written: str, name: str) -> None:
    assert canonical(framework, written) == name


@pytest.mark.parametrize("family", ["grouped", "tied", "deepseek"])
@pytest.mark.parametrize("engine", [True, False])
@pytest.mark.parametrize("newer", [True, False])
def test_what_is_written_is_read_as_the_same_parameter(family: str, engine: bool, newer: bool, tmp_path: Path) -> None:
    script, _ = write_pair({"family": family}, tmp_path)
    names = expected_weights(recipe_of(read_config(str(script))))
    written = spellings(names, engine=engine, grouped=engine, newer=newer)
    assert len(set(written.values())) == len(names)
    assert all(canonical("megatron", text) == name for name, text in written.items())
    assert any(text != name for name, text in written.items()) == (engine or (newer and family == "deepseek"))


def test_latent_norms_are_fused_where_transformer_engine_builds_them() -> None:
    names = {f"{L}self_attention.{kind}.weight" for kind in ("linear_q_up_proj", "q_layernorm", "kv_layernorm")}
    written = spellings({*names, f"{L}input_layernorm.weight"}, engine=True, grouped=False)
    assert written[f"{L}self_attention.q_layernorm.weight"].endswith("linear_q_up_proj.layer_norm_weight")
    # Nothing to fuse with:
    assert written[f"{L}self_attention.kv_layernorm.weight"].endswith("kv_layernorm.weight")
    assert written[f"{L}input_layernorm.weight"].endswith("input_layernorm.weight")


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("embedding.word_embeddings.weight", "rows"),
        (f"{L}self_attention.linear_qkv.bias", "rows"),
        (f"{L}self_attention.linear_proj.weight", "columns"),
        (f"{L}self_attention.linear_proj.bias", None),
        (f"{L}self_attention.linear_kv_down_proj.weight", "latent"),
        (f"{L}mlp.experts.local_experts.0.linear_fc1.weight", "gated"),
        (f"{L}mlp.router.weight", None),
        ("mtp.layers.0.eh_proj.weight", "rows"),
    ],
)
def test_how_tensor_parallelism_cuts(name: str, split: str | None) -> None:
    assert split_of(name) == split


@pytest.mark.parametrize(
    ("framework", "name", "told"),
    [
        ("megatron", f"{L}mlp.linear_fc1._extra_state/shard_0_2", "Transformer Engine"),
        ("megatron", "chained_0.optimizer.state.exp_avg.decoder", "optimizer"),
        ("mindformers", "adam_m.output_layer.weight", "optimizer"),
        ("mindformers", f"{L}mlp.router.fi_accu", "counters"),
        ("mindformers", "global_step", "training state"),
        ("mindformers", "output_layer.weight", None),
        ("megatron", f"{L}mlp.router.expert_bias", None),
    ],
)
def test_what_is_no_weight(framework: Framework, name: str, told: str | None) -> None:
    found = beside_the_weights(framework, name)
    assert (found is None) == (told is None)
    if found is not None and told is not None:
        assert told in found.en


def test_numbers_in_names() -> None:
    name = f"{L}mlp.experts.local_experts.5.linear_fc1.weight"
    assert (layer_of(name), expert_of(name)) == (3, 5)
    assert with_layer(with_expert(name, 9), 1) == "decoder.layers.1.mlp.experts.local_experts.9.linear_fc1.weight"
    assert layer_of("mtp.layers.0.enorm.weight") is None
    assert expert_of(f"{L}mlp.shared_experts.linear_fc1.weight") is None
