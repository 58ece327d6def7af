"""Reading both frameworks into the recipe: values, origins, places, and what is left over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.recipe.vocabulary import json_schema, vocabulary
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from accmap.mapper.recipe.values import Recipe

SCRIPT = """
torchrun --nproc_per_node 8 pretrain_gpt.py \\
    --num-layers 4 --hidden-size 64 --num-attention-heads 8 --group-query-attention --num-query-groups 2 \\
    --seq-length 128 --max-position-embeddings 128 --micro-batch-size 2 --global-batch-size 32 --train-iters 100 \\
    --lr 1e-4 --lr-decay-style cosine --lr-warmup-fraction 0.1 --min-lr 1e-5 --swiglu --normalization RMSNorm \\
    --disable-bias-linear --position-embedding-type rope --untie-embeddings-and-output-weights --bf16 \\
    --tensor-model-parallel-size 2 --num-experts 8 --moe-layer-freq "([0]*1+[1]*3)" --moe-router-topk 2 \\
    --data-path 0.3 /data/a 0.7 /data/b --split 99,1,0 --distributed-timeout-minutes 60 $EXTRA
"""
YAML = """
use_legacy: False
run_mode: train
use_parallel: True
seed: 7
trainer: {type: CausalLanguageModelingTrainer}
runner_config: {batch_size: 2, epochs: 2}
optimizer: {type: AdamW, betas: [0.9, 0.95], eps: 1.e-8}
lr_schedule: {type: CosineWithWarmUpLR, learning_rate: 1.0e-4, lr_end: 1.0e-5, warmup_steps: 10, total_steps: 100}
parallel: {parallel_mode: 1, enable_parallel_optimizer: True}
parallel_config: {data_parallel: 2, model_parallel: 2, pipeline_stage: 2, micro_batch_num: 4}
train_dataset:
  data_loader: {type: BlendedMegatronDatasetDataLoader, sizes: [1600, 0, 0], config: {data_path: ['1', /d/a]}}
model:
  model_config: {model_type: qwen3, num_hidden_layers: 4, hidden_size: 64, num_attention_heads: 8, qk_layernorm: False,
                 num_heads: 16, tie_word_embeddings: True, vocab_size: 1000}
callbacks:
  - {type: MFLossMonitor, per_print_times: 5}
  - {type: CheckpointMonitor, save_checkpoint_steps: 50}
runner_wrapper: {type: MFTrainOneStepCell, scale_sense: 1.0, use_clip_grad: True, max_grad_norm: 0.5}
"""


def read(text: str, path: str, **options: object) -> Recipe:
    return recipe_of(config_of(SourceText(path, text), ReadOptions(**options), path=path))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def script() -> Recipe:
    return read(SCRIPT, "run.sh")


@pytest.fixture(scope="module")
def yaml() -> Recipe:
    return read(YAML, "run.yaml", mindformers="1.9", world_size=8)


@pytest.mark.parametrize(
    ("field", "value", "origin"),
    [
        ("model.num_layers", 4, "explicit"),
        ("attention.num_query_groups", 2, "explicit"),
        ("model.bias_linear", False, "explicit"),
        ("model.tie_embeddings", False, "explicit"),
        ("activation.function", "silu", "explicit"),
        ("activation.gated", True, "explicit"),
        ("position.type", "rope", "explicit"),
        ("precision.compute_dtype", "bfloat16", "explicit"),
        ("schedule.warmup_steps", 10, "explicit"),
        ("schedule.decay_steps", 100, "explicit"),
        ("batch.accumulation_steps", 4, "explicit"),
        ("parallel.data_size", 4, "derived"),
        ("moe.layer_pattern", [0, 1, 1, 1], "explicit"),
        ("moe.router.dtype", "bfloat16", "default"),
        ("moe.router.normalize_topk", True, "default"),
        ("data.blend", [[0.3, "/data/a"], [0.7, "/data/b"]], "explicit"),
        ("optimizer.beta2", 0.999, "default"),
        ("norm.epsilon", 1e-5, "default"),
    ],
)
def test_megatron(script: Recipe, field: str, value: object, origin: str) -> None:
    assert (script.fields[field].value, script.fields[field].origin) == (value, origin)


# What the trainer and the optimizer of the static graph store follows the weights, in part by the optimizer's class.
@pytest.mark.parametrize(
    ("optimizer", "version", "expected"),
    [
        ("AdamW", "1.9", ["bfloat16", "float32", "float32"]),
        ("Muon", "1.9", ["bfloat16", "bfloat16", "bfloat16"]),
        ("Came", "2.1", ["bfloat16", "bfloat16", "bfloat16"]),
    ],
)
def test_what_is_stored_beside_bfloat16_weights(optimizer: str, version: str, expected: list[str]) -> None:
    text = YAML.replace("num_heads: 16,", "params_dtype: bfloat16,").replace("type: AdamW", f"type: {optimizer}")
    recipe = read(text, "run.yaml", mindformers=version)
    fields = ("precision.main_grads_dtype", "precision.exp_avg_dtype", "precision.exp_avg_sq_dtype")
    assert [recipe.value(field) for field in fields] == expected
    sums = ("gradient.reduce_in_bf16", "gradient.accumulate_in_fp32")
    assert [recipe.value(field) for field in sums] == [True, False]
    float32 = read(YAML, "run.yaml", mindformers=version)
    assert float32.value("precision.main_grads_dtype") == "float32"
    assert [float32.value(field) for field in sums] == [False, True]


@pytest.mark.parametrize(
    ("field", "value", "origin"),
    [
        ("model.num_layers", 4, "explicit"),
        ("attention.qk_layernorm", True, "derived"),
        ("model.tie_embeddings", True, "explicit"),
        ("attention.num_heads", 8, "explicit"),
        ("optimizer.beta2", 0.95, "explicit"),
        ("gradient.clip_norm", 0.5, "explicit"),
        ("schedule.style", "cosine", "explicit"),
        ("schedule.min_learning_rate", 1e-5, "explicit"),
        ("batch.global_size", 16, "explicit"),
        ("batch.accumulation_steps", 4, "explicit"),
        ("run.train_steps", 200, "explicit"),
        ("parallel.distributed_optimizer", True, "explicit"),
        ("logging.interval", 5, "explicit"),
        ("checkpoint.save_interval", 50, "explicit"),
        ("precision.loss_scale.mode", "none", "explicit"),
        ("data.blend", [[1, "/d/a"]], "explicit"),
        ("run.seed", 7, "explicit"),
    ],
)
def test_mindformers(yaml: Recipe, field: str, value: object, origin: str) -> None:
    assert (yaml.fields[field].value, yaml.fields[field].origin) == (value, origin)


@pytest.mark.parametrize(
    ("written", "instead", "field", "value"),
    [
        ("num_heads: 16", "add_bias_linear: 0.5", "model.bias_linear", True),
        ("num_heads: 16", "add_bias_linear: ''", "model.bias_linear", False),
        ("seed: 7", "seed: 7\noutput_dir: [1]", "checkpoint.save_path", None),
        ("seed: 7", "seed: 7\nload_checkpoint: 0.5", "checkpoint.load_path", None),
        ("train_dataset:", "train_dataset:\n  num_parallel_workers: [1]", "data.num_workers", None),
    ],
)
def test_a_value_of_another_kind_is_open_and_a_switch_is_what_is_true(
    written: str, instead: str, field: Any, value: object
) -> None:
    assert written in YAML
    found = read(YAML.replace(written, instead, 1), "run.yaml").fields.get(field)
    assert found is not None
    assert (found.value, found.decided) == (value, value is not None)


@pytest.mark.parametrize(
    ("words", "blend"),
    [
        ("/d/a", [[None, "/d/a"]]),
        ("1e3 /d/a .5 /d/b", [[1000, "/d/a"], [0.5, "/d/b"]]),
        ("/d/a /d/b", [[None, "/d/a"], [None, "/d/b"]]),
        ("1 /d/a 2", [[None, "1"], [None, "/d/a"], [None, "2"]]),
        # Both frameworks refuse it, and no weight of it is known.
        ("1 /d/a x /d/b", [[None, word] for word in ("1", "/d/a", "x", "/d/b")]),
    ],
)
def test_numbers_and_paths_in_turn_are_weights(words: str, blend: list[list[object]]) -> None:
    script = SCRIPT.replace("0.3 /data/a 0.7 /data/b", words)
    assert read(script, "run.sh").value("data.blend") == blend


def test_a_section_in_place_of_a_path_is_no_path() -> None:
    found = read(YAML.replace("seed: 7", "seed: 7\nload_checkpoint: {a: 1}"), "run.yaml")
    assert found.value("checkpoint.load_path") is None
    assert "load_checkpoint.a" in {entry.key for entry in found.unmapped}


def test_what_one_key_alone_decides_is_open_where_that_key_is() -> None:
    """The micro batch and the devices say what the global batch is where nothing is written, and never otherwise."""
    given = "--global-batch-size 32"
    for text, expected in ((given, (32, True)), ("--global-batch-size $BATCH", (None, False)), ("", (8, True))):
        recipe = read(SCRIPT.replace(given, text), "run.sh")
        found = recipe.fields["batch.global_size"]
        assert (found.value, found.decided) == expected
        assert recipe.value("batch.micro_size") == 2


def test_left_over_keys_are_named_with_a_reason(script: Recipe, yaml: Recipe) -> None:
    assert {entry.key for entry in script.unmapped} == {"distributed_timeout_minutes"}
    left = {entry.key: entry.en for entry in yaml.unmapped}
    assert "does not read this key" in left["model.model_config.num_heads"]


def test_places(script: Recipe, yaml: Recipe) -> None:
    span = script.fields["model.num_layers"].span
    assert span is not None
    assert span.line == 3
    span = yaml.fields["gradient.clip_norm"].span
    assert span is not None
    assert span.line == 20


def test_json_follows_the_schema(script: Recipe, yaml: Recipe) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for recipe in (script, yaml):
        jsonschema.validate(recipe.to_json(), json_schema())


def test_fields_come_in_the_order_of_the_vocabulary(script: Recipe) -> None:
    order = list(vocabulary())
    assert sorted(script.fields, key=order.index) == list(script.fields)


def test_reading_stays_lean() -> None:
    code = (
        "import sys\nfrom accmap.schemas.config import ReadOptions\nfrom accmap.schemas.reader import config_of\n"
        "from accmap.schemas.source import SourceText\nfrom accmap.mapper.recipe.reading import recipe_of\n"
        f"recipe_of(config_of(SourceText('run.yaml', {YAML!r}), ReadOptions(), path='run.yaml'))\n"
        "print([name for name in ('pydantic', 'dataclasses', 'inspect', 'numpy', 'typer', 'jsonschema', 'fnmatch') "
        "if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() in ("[]", "['fnmatch']")


def test_experts_that_no_layer_uses_are_none() -> None:
    text = YAML.replace("model_type: qwen3", "model_type: deepseek_v3, n_routed_experts: 8, first_k_dense_replace: {}")
    assert read(text.replace("{}", "4"), "run.yaml").value("moe.num_experts") is None
    assert read(text.replace("{}", "1"), "run.yaml").value("moe.num_experts") == 8


def test_a_key_that_no_class_reads_ties_nothing() -> None:
    text = YAML.replace("tie_word_embeddings: True", "untie_embeddings_and_output_weights: True")
    found = read(text, "run.yaml")
    assert found.value("model.tie_embeddings") is False
    assert [entry.impact for entry in found.unmapped if "untie" in entry.key] == ["none"]


def test_a_tokenizer_does_not_state_the_vocabulary() -> None:
    found = read("torchrun pretrain_gpt.py --tokenizer-type GPT2BPETokenizer --vocab-file v.json", "run.sh").fields
    assert found["model.padded_vocab_size"].origin != "explicit"


def test_what_a_stray_word_may_replace_leaves_the_rest_known() -> None:
    """`$MORE` may hold any flag, and how many devices there are is open; the batch sizes are written."""
    text = "deepspeed pretrain_gpt.py --micro-batch-size 2 --global-batch-size 512 --num-layers 2 $MORE"
    recipe = recipe_of(config_of(SourceText("a.sh", text), ReadOptions(), path="a.sh"))
    assert (recipe.value("batch.micro_size"), recipe.value("batch.global_size")) == (2, 512)
    for field in ("batch.accumulation_steps", "parallel.data_size", "parallel.world_size"):
        assert recipe.fields[field].decided is False, field


def test_the_entries_of_a_section_speak_for_the_fields_they_become() -> None:
    """mindformers 1.9.0 `TransformerConfig.__post_init__` takes `rope_scaling` apart; other entries have no row."""
    spread = "rope_scaling: {type: yarn, factor: 8.0, mscale: 1.0, original_max_position_embeddings: 64, other: 1},"
    model = (
        "model: {model_config: {model_type: deepseek_v3, num_hidden_layers: 2, hidden_size: 64, n_routed_experts: 8, "
        f"num_attention_heads: 8, {spread} vocab_size: 96, seq_length: 128}}}}\n"
    )
    found = read("use_legacy: False\nrun_mode: train\n" + model, "run.yaml")
    assert found.value("position.yarn.factor") == 8.0
    assert found.value("position.max_embeddings") == 64
    left = [entry.key for entry in found.unmapped]
    assert not [key for key in left if "rope_scaling" in key and not key.endswith("other")]


@pytest.mark.parametrize(
    ("key", "impact"),
    [
        ("remove_redundancy: True", "none"),  # 1.9.0 trainer/utils.py:load_ckpt alone
        ("profiler_level: 1", "none"),  # 1.9.0 trainer/trainer.py hands it to the profiler's callback
        ("auto_tune: True", "performance"),  # 1.9.0 dataset/base_dataset.py:init_dataset_config
        ("auto_map: {AutoConfig: own.Config}", "none"),  # 1.6-2.1 model_config_utils.py:IGNORE_COMMON_HF_PARAMETER
        ("router_aux_loss_coef: 0.5", "none"),  # 1.9.0 configuration_qwen3_moe.py: NotSupportedInfo.useless
        ("grouped_lr_schedule: {default: {type: ConstantWarmUpLR, learning_rate: 2.e-4, warmup_steps: 1}}", "numerics"),
    ],
)
def test_a_key_without_a_row_has_the_impact_of_what_reads_it(key: str, impact: str) -> None:
    text = (Path(__file__).parents[3] / "examples" / "qwen3_moe" / "mindformers.yaml").read_text("utf-8")
    of_the_model = key.startswith(("router", "auto_map"))
    place = "    num_experts_per_tok: 4\n" if of_the_model else "run_mode: train\n"
    assert place in text
    text = text.replace(place, place + ("    " if of_the_model else "") + key + "\n")
    recipe = recipe_of(config_of(SourceText("m.yaml", text), ReadOptions(), path="m.yaml"))
    name = key.partition(":")[0]
    assert {one.impact for one in recipe.unmapped if name in one.key} == {impact}
