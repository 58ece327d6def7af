"""The files that small models are built from: what they say, and that making them small again changes nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.translate.mindformers_file import mindformers_text
from accmap.mapper.translate.translation import translate
from accmap.mappings.tables import field_named
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.megatron.catalog import catalog
from accmap.schemas.reader import config_of, read_config
from accmap.schemas.source import SourceText
from accmap.verifier.megatron.from_launch import blueprint_of
from accmap.verifier.plan import dimensions as size
from accmap.verifier.plan.dimensions import small_file, small_files
from accmap.verifier.verdict.coverage import Findings
from accmap.verifier.verify import verify

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import TABLE, write_pair
from stand_in_workers import use_stand_ins

LAYOUT = {
    "defer-embedding-wgrad-compute": True,
    "tensor-model-parallel-size": 2,
    "pipeline-model-parallel-size": 2,
    "num-layers-per-virtual-pipeline-stage": 1,
    "context-parallel-size": 2,
    "sequence-parallel": True,
}


def made(a: Config, b: Config, chosen: dict[str, int] | None = None) -> tuple[Any, Any]:
    whole = size.sizes_of(a), size.sizes_of(b)
    return small_files((a, b), whole, size.shrink(*whole, chosen or {}, keep=False))


def refused(config: Config) -> set[str]:
    return {problem.kind.code for problem in config.problems if problem.kind.severity == "error"}


@pytest.mark.parametrize("name", TABLE["equal"])
def test_both_files_have_the_sizes_and_no_more_changes(name: str, tmp_path: Path) -> None:
    a, b = (read_config(str(file)) for file in write_pair(TABLE["equal"][name], tmp_path))
    files, sizes = made(a, b)
    for at, (before, file) in enumerate(zip((a, b), files, strict=True)):
        assert {key: value for key, value in size.sizes_of(file.config).items() if value} == {
            key: value for key, value in sizes[at].items() if value
        }
        assert size.sizes_of(file.config)[size.HIDDEN] < size.sizes_of(before)[size.HIDDEN]
        assert refused(file.config) <= refused(before)
        others = recipe_of(before).fields.keys() - recipe_of(file.config).fields.keys()
        assert not others
    again, same = made(files[0].config, files[1].config)
    assert ([file.text for file in again], same) == ([file.text for file in files], sizes)


def moved(config: Config) -> list[str]:
    """The other fields that are others in the small file."""
    return list(map(str, size.changed_fields(config, made(config, config)[0][0].config)))


@pytest.mark.parametrize("name", TABLE["equal"])
def test_what_is_no_size_stays(name: str, tmp_path: Path) -> None:
    for file in write_pair(TABLE["equal"][name], tmp_path):
        assert moved(read_config(str(file))) == []


@pytest.mark.parametrize(
    ("version", "changes"),
    [
        ("0.16", {"--num-layers": "--encoder-num-layers", "--seq-length": "--encoder-seq-length"}),
        ("slime-0.3", {"--seq-length": "--max-position-embeddings"}),  # which sets both lengths itself
    ],
)
def test_a_size_is_set_by_one_argument(version: str, changes: dict[str, str], tmp_path: Path) -> None:
    text = write_pair(TABLE["equal"]["grouped"], tmp_path)[0].read_text("utf-8")
    for name, other in changes.items():
        text = text.replace(name, other)
    config = config_of(SourceText("run.sh", text), ReadOptions(megatron=version), path="run.sh")
    small = small_file(config, {size.LAYERS: 2, size.SEQUENCE: 16})
    assert (small.config.value("num_layers"), small.config.value("seq_length")) == (2, 16)
    assert refused(small.config) == set()


def test_another_program_is_said_in_the_words_of_megatron(tmp_path: Path) -> None:
    script = write_pair(TABLE["equal"]["grouped"], tmp_path)[0].read_text("utf-8").rstrip()
    shared = "--n-shared-experts 1 --moe-intermediate-size 32 --num-experts 4 --routed-scaling-factor 2.5"
    text = f"{script} --use-fused-rmsnorm --use-fused-swiglu --use-fused-rotary-pos-emb {shared}\n"
    config = config_of(SourceText("run.sh", text), ReadOptions(megatron="mindspeed-llm-2.3"), path="run.sh")
    small = small_file(config, {size.LAYERS: 2})
    assert (small.config.dialect, moved(config)) == ("arguments", [])
    assert "fused-rmsnorm" not in small.text
    assert "encoder-num-layers" not in small.text
    assert not [problem for problem in small.config.problems if problem.kind.code == "MAP004"]


_LATENT = (
    "--multi-latent-attention --q-lora-rank 8 --kv-lora-rank 8 --qk-head-dim 8 --qk-pos-emb-head-dim 8 --v-head-dim 8 "
    "--rope-scaling-type yarn --rope-scaling-factor 8.0 --rope-scaling-original-max-position-embeddings 4096 "
    "--rope-scaling-mscale 1.0 --rope-scaling-mscale-all-dim 1.0"
)


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (
            "--num-experts 4 --moe-router-topk 2 --n-shared-experts 1 --shared-expert-gate",
            "moe_shared_expert_gate",
            True,
        ),
        (f"{_LATENT} --beta-fast 4", "beta_fast", 4),
    ],
)
def test_a_fork_s_value_that_megatron_has_no_argument_for_reaches_the_small_model(
    words: str, key: str, value: object
) -> None:
    """Megatron-LM 0.12 has neither argument; its classes have both settings."""
    text = (
        "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --swiglu --seq-length 64 "
        "--max-position-embeddings 64 --micro-batch-size 1 --lr 1e-4 --train-iters 4 --position-embedding-type rope "
        f"--normalization RMSNorm --vocab-size 512 --tokenizer-type NullTokenizer {words}\n"
    )
    config = config_of(SourceText("run.sh", text), ReadOptions(megatron="mindspeed-llm-2.3"), path="run.sh")
    small = small_file(config, {size.LAYERS: 2})
    assert blueprint_of(small.config).model[key] == value
    assert f"{key}={value}" in small.text
    assert moved(config) == []


def test_a_file_that_the_small_one_cannot_say_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A score that only a fork has is no word of Megatron-LM's: its models would prove nothing."""
    use_stand_ins(monkeypatch)
    script, other = write_pair(TABLE["equal"]["moe_sigmoid"], tmp_path)
    text = script.read_text("utf-8").replace(
        "--moe-router-score-function 'sigmoid'", "--moe-router-score-function sqrtsoftplus"
    )
    config = config_of(SourceText("run.sh", text), ReadOptions(megatron="mindspeed-llm-26.1"), path="run.sh")
    found = verify(config, read_config(str(other)), Findings())
    assert found.verdict == "not-verifiable"
    assert "moe.router.score_function" in found.failures["megatron"].reason


LENGTH = ("batch.global_size", "run.train_steps")
PIPELINE = {
    "use_parallel: False": "use_parallel: True",
    "pipeline_stage: 1": "pipeline_stage: 2",
    "micro_batch_num: 1": "micro_batch_num: 4",
    "epochs: 1": "epochs: 2",
}


def test_a_run_that_counts_epochs_keeps_its_steps() -> None:
    """The small run has one sample a step: its data set has as many samples as the whole run has steps."""
    example = Path(__file__).resolve().parents[2] / "examples" / "qwen3_dense" / "mindformers.yaml"
    text = example.read_text("utf-8")
    for old, new in PIPELINE.items():
        assert old in text
        text = text.replace(old, new)
    config = config_of(SourceText("run.yaml", text), ReadOptions(mindformers="1.9"), path="run.yaml")
    small = small_file(config, size.sizes_of(config)).config
    assert size.changed_fields(config, small) == []
    values = [{name: recipe_of(one).value(field_named(name)) for name in LENGTH} for one in (config, small)]
    assert [one["batch.global_size"] for one in values] == [4, 1]
    assert [one["run.train_steps"] for one in values] == [500, 500]


def test_a_layout_becomes_one_process(tmp_path: Path) -> None:
    pair = TABLE["equal"]["dense"]
    pair = {**pair, "megatron": {**pair.get("megatron", {}), **LAYOUT}}
    script = read_config(str(write_pair(pair, tmp_path)[0]), ReadOptions(world_size=8))
    small = small_file(script, size.sizes_of(script)).config
    assert small.launch is not None
    assert (small.launch.world_size, small.value("sequence_parallel")) == (1, False)
    assert small.value("num_layers_per_virtual_pipeline_stage") is None
    assert not small.value("defer_embedding_wgrad_compute")
    parallel = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
    assert [small.value(key) for key in parallel] == [1, 1, 1]
    assert size.sizes_of(small) == size.sizes_of(script)


@pytest.mark.parametrize("version", ["0.12", "0.17", "0.18", "0.19", "main"])
def test_a_vocabulary_of_a_tokenizer_becomes_one_of_as_many_tokens(version: str) -> None:
    words = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64"
    text = f"torchrun pretrain_gpt.py {words} --tokenizer-type HuggingFaceTokenizer --tokenizer-model /data/tokenizer\n"
    script = config_of(SourceText("run.sh", text), ReadOptions(megatron=version), path="run.sh")
    assert size.sizes_of(script)[size.VOCABULARY] is None
    small = small_file(script, {size.VOCABULARY: 96})
    assert recipe_of(small.config).value(field_named(size.VOCABULARY)) == 96
    assert "NullTokenizer" in small.text


def test_a_size_that_others_make_is_said_once_they_are_others() -> None:
    words = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64"
    script = config_of(SourceText("run.sh", f"torchrun pretrain_gpt.py {words}\n"), ReadOptions(), path="run.sh")
    small = small_file(script, {size.HIDDEN: 32, size.HEADS: 4, size.HEAD: 16})
    assert (small.config.value("hidden_size"), small.config.value("kv_channels")) == (32, 16)


def test_the_name_that_a_file_uses_stays(tmp_path: Path) -> None:
    _script, file = write_pair(TABLE["equal"]["moe_sigmoid"], tmp_path)
    text = file.read_text("utf-8")
    assert "num_moe_experts: 16" in text
    small = small_file(read_config(str(file)), {size.EXPERTS: 2})
    assert "num_moe_experts: 2\n" in small.text
    assert "n_routed_experts" not in small.text


def test_a_size_that_a_class_has_anyway_stays_on_both_sides(tmp_path: Path) -> None:
    """TeleChat3's class with experts reads no width of a head (1.9)."""
    pair = TABLE["equal"]["deepseek"]
    script, file = write_pair(pair, tmp_path)
    text = file.read_text("utf-8").replace("DeepseekV3ForCausalLM", "TeleChat3MoeForCausalLM")
    text = text.replace("deepseek_v3", "telechat3_moe")
    heads = "attention.latent.qk_head_dim"
    other = config_of(SourceText("b.yaml", text), ReadOptions(mindformers="1.9"), path="b.yaml")
    a = read_config(str(script))
    whole = size.sizes_of(a), size.sizes_of(other)
    one = {**whole[0], heads: whole[1][heads]}
    (_small_a, small_b), sizes = small_files((a, other), (one, whole[1]), size.shrink(one, whole[1], {}, keep=False))
    assert sizes[0][heads] == sizes[1][heads] == size.sizes_of(small_b.config)[heads] == whole[1][heads]


def test_the_copy_of_a_data_set_follows(tmp_path: Path) -> None:
    _script, file = write_pair(TABLE["equal"]["dense"], tmp_path)
    text = (
        file.read_text("utf-8")
        + "train_dataset_task:\n  dataset_config:\n    data_loader: {config: {seq_length: 64}}\n"
    )
    config = config_of(SourceText("b.yaml", text), ReadOptions(), path="b.yaml")
    assert "seq_length: 64" in text
    small = small_file(config, {size.SEQUENCE: 32}).config
    lengths = [setting.value for key, setting in small.settings.items() if key.endswith("config.seq_length")]
    assert set(lengths) == {32}


@pytest.mark.parametrize(
    "more",
    [
        "x: [[{a: 1}, 2], 3]",
        "x: [a, {type: b}]",
        "x: [[1, 2], [3]]",
        '"x[a]": {b: 1}',
        "x: {1: {2: 3}}",
        "x: {}\ny: []",
    ],
)
def test_lists_of_lists_and_odd_names_stand_as_they_stood(more: str, tmp_path: Path) -> None:
    _script, file = write_pair(TABLE["equal"]["dense"], tmp_path)
    text = f"{file.read_text('utf-8')}{more}\n"
    config = config_of(SourceText("b.yaml", text), ReadOptions(), path="b.yaml")
    small = small_file(config, {size.LAYERS: 2})
    before, after = ({str(key): value for key, value in yaml.safe_load(one).items()} for one in (text, small.text))
    for name in ("x", "y", "x[a]"):
        assert json.loads(json.dumps(after.get(name))) == json.loads(json.dumps(before.get(name)))


_EXPERIMENT = """\
modules:
  pre_trainer:
    framework: megatron
    config: pre_trainer.yaml
    model: qwen3_30B_A3B.yaml
    overrides:
      train_iters: 50
      micro_batch_size: 1
      global_batch_size: 8
      seq_length: 4096
      max_position_embeddings: 4096
      mock_data: true
      load: null
      save: null
      finetune: false
      no_load_optim: null
      apply_rope_fusion: false
      enable_primus_turbo: true
      turbo_sync_free_moe_stage: 1
"""


def test_what_a_yaml_of_a_fork_leaves_out_is_left_out(tmp_path: Path) -> None:
    """`null` and `false` are no words of a command line; what the fork's own code decides is one."""
    (tmp_path / "exp.yaml").write_text(_EXPERIMENT, "utf-8")
    config = read_config(str(tmp_path / "exp.yaml"), ReadOptions(world_size=8))
    small = small_file(config, {size.LAYERS: 2})
    words = small.text.split()
    assert not {"--load", "--save", "--finetune", "--no-load-optim", "null", "None", "float32"}.intersection(words)
    known = {option for fact in catalog("0.17").by_dest.values() for option in fact.options}
    assert {word for word in words if word.startswith("--")} - known == {"--nproc_per_node"}
    assert {"--no-rope-fusion", "--moe-router-pre-softmax"} <= set(words)
    assert [config.value("world_size"), small.config.value("world_size")] == [8, 1]
    assert size.changed_fields(config, small.config) == []


def test_more_layers_than_the_file_has_are_dense_as_its_own() -> None:
    """The dynamic graph's class has experts that no layer uses: the leading dense layers are all layers."""
    flags = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --swiglu --disable-bias-linear --seq-length 64"
    rest = "--max-position-embeddings 64 --micro-batch-size 1 --train-iters 4 --untie-embeddings-and-output-weights"
    launch = config_of(
        SourceText("a.sh", f"python pretrain_gpt.py {flags} {rest} --vocab-size 100"), ReadOptions(), path="a.sh"
    )
    text = mindformers_text(translate(launch, "mindformers", "2.1", "dynamic"))
    config = config_of(SourceText("b.yaml", text), ReadOptions(mindformers="2.1"), path="b.yaml")
    assert config.value("model.first_k_dense_replace") == 2
    for layers in (3, 1):
        small, _ = made(launch, config, {size.LAYERS: layers})
        assert small[1].config.value("model.first_k_dense_replace") == layers
        assert recipe_of(small[1].config).value(field_named("moe.num_experts")) is None
