"""`accmap upgrade` as a user runs it: the layout of the new file, its report, where it goes, and its exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

import accmap

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
UPGRADED = ("deepseek_v3", "qwen3_dense", "qwen3_moe")
STATIC = """\
# The run of our team.

seed: 42  # of the weights
output_dir: './output' # checkpoints go here
load_checkpoint: /w/step_7
use_legacy: False
run_mode: 'train'

# how long it is
runner_config:
  epochs: 1
  batch_size: &batch 2   # of one rank
  # it is not read any more
  sink_mode: True
lr_schedule:
  type: ConstantWarmUpLR
  # measured in May
  learning_rate: 2.e-5
  warmup_steps: 0
optimizer:
  type: AdamW
  betas:  # as in the paper
    # the first moment
    - 0.9   # or 0.8
    - 0.95
  eps: 1.0e-8
  weight_decay: 0.0
train_dataset: &train_dataset
  data_loader:
    type: BlendedMegatronDatasetDataLoader
    datasets_type: "GPTDataset"
    sizes: [64, 0, 0]
    config:
      split: "1, 0, 0"
      seq_length: &length 128
      eod: 1
      pad: -1
      data_path: ['1', "/data/text_document"]
  drop_remainder: True
  # below the section
train_dataset_task:
  type: CausalLanguageModelDataset
  dataset_config: *train_dataset
trainer:
  type: CausalLanguageModelingTrainer
context:
  mode: 0  # the graph
  max_device_memory: "56GB"
parallel:
  parallel_mode: 1
  full_batch: True
parallel_config:
  model_parallel: 1  # of one node
runner_wrapper:
  type: MFTrainOneStepCell
  scale_sense: 1.0
  use_clip_grad: True
model:
  model_config:
    model_type: qwen3
    architectures: Qwen3ForCausalLM
    # the sizes
    vocab_size: 1024
    hidden_size: 64
    intermediate_size: 128
    num_hidden_layers: 2
    num_attention_heads: 4
    head_dim: 16
    seq_length: *length
    params_dtype: "float32"
    compute_dtype: 'bfloat16'
callbacks:
  - type: MFLossMonitor
# the end
"""
DYNAMIC = """\
# MindSpore Transformers 2.1, dynamic graph; written by accmap from old.yaml.
# The run of our team.

checkpoint:
  save_path: './output' # checkpoints go here
  load_path: /w/step_7
  enable_save: True
  no_load_optim: True

# how long it is
training:
  seed: 42  # of the weights
  steps: 32
  local_batch_size: 2   # of one rank
  global_batch_size: 2
  max_norm: 1.0

lr_scheduler:
  type: ConstantWarmUpLR
  # measured in May
  learning_rate: 2.e-5
  warmup_steps: 0

optimizer:
  type: AdamW
  betas:  # as in the paper
    # the first moment
    - 0.9   # or 0.8
    - 0.95
  eps: 1.0e-8
  weight_decay: 0.0

train_dataset:
  dataloader:
    type: BlendedMegatronDatasetDataLoader
    datasets_type: "GPTDataset"
    sizes: [64, 0, 0]
    config:
      split: "1,0,0"
      seq_length: &length 128
      eod: 1
      pad: -1
      data_path: ['1', "/data/text_document"]
      create_attention_mask: False
      create_compressed_eod_mask: False
      eod_pad_length: 128
    column_names: [input_ids, labels, loss_mask, position_ids]
  drop_remainder: True
  # below the section
  num_parallel_workers: 8

context:
  max_device_memory: "56GB"

parallelism:
  tensor_parallel: 1  # of one node
  data_parallel_shard: 1

model:
  model_type: qwen3
  architectures: Qwen3ForCausalLM
  # the sizes
  vocab_size: 1024
  hidden_size: 64
  intermediate_size: 128
  num_hidden_layers: 2
  num_attention_heads: 4
  head_dim: 16
  seq_length: *length
  params_dtype: "float32"
  compute_dtype: 'bfloat16'
  num_key_value_heads: 4
  qk_layernorm: True
# the end
"""
LOSING = STATIC.replace("    compute_dtype:", "    attention_dropout: 0.1\n    compute_dtype:")
GONE = "  hsdp_shard_size: 1  # gone\n"
OLDER_GRAPH = """\
# a run of 1.9
training:
  steps: 10  # few
  local_batch_size: 1
  global_batch_size: 1
optimizer: {type: AdamW, betas: [0.9, 0.95], eps: 1.e-8, weight_decay: 0.0}
lr_scheduler:
  type: ConstantWarmUpLR
  learning_rate: 1.e-5
  warmup_steps: 0
parallelism:
  tensor_parallel: 1
  hsdp_shard_size: 1  # gone
checkpoint: {enable_save: False}
monitor:
  tensorboard:
    tensorboard_dir: ./board  # 2.1 has another name
train_dataset:
  prefetch_size: 4  # many
  dataloader:
    type: BlendedMegatronDatasetDataLoader
    datasets_type: GPTDataset
    sizes: [10, 0, 0]
    config:
      split: "1, 0, 0"
      seq_length: 128
      create_attention_mask: False
      create_compressed_eod_mask: False
      eod_pad_length: 128
      eod: 1
      pad: -1
      data_path: ["1", "/data/text_document"]
    column_names: [input_ids, labels, loss_mask, position_ids]
model:
  model_type: qwen3
  architectures: Qwen3ForCausalLM
  vocab_size: 1024
  hidden_size: 64
  intermediate_size: 128
  num_hidden_layers: 2
  num_attention_heads: 4
  num_key_value_heads: 4
  seq_length: 128
  qk_layernorm: True
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.yaml"
    path.write_text(STATIC, encoding="utf-8")
    return path


def test_order_comments_and_spelling_stay(accmap, old: Path) -> None:
    answer = accmap("upgrade", "old.yaml")
    assert answer.out == DYNAMIC
    assert answer.code == 0
    assert "mindformers 1.9 assumed -> mindformers 2.1 assumed" in answer.err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("moved runner_config.batch_size -> training.local_batch_size", ()),
        ("moved lr_schedule -> lr_scheduler: type, learning_rate, warmup_steps", ()),
        ("derived training.steps: 32, from runner_config.epochs, ", ()),
        ("written out model.qk_layernorm: True", ()),
        ("no counterpart parallel.parallel_mode, parallel.full_batch, context.mode, ", ()),
        ("无对应 parallel.parallel_mode", ("--lang", "zh")),
    ],
)
def test_the_fate_of_each_key_is_reported(accmap, old: Path, line: str, words: tuple[str, ...]) -> None:
    answer = accmap("upgrade", "old.yaml", "--check", *words)
    assert any(one.startswith(line) for one in answer.err.splitlines()), answer.err


def test_a_key_that_the_old_version_ignores_does_not_begin_to_count(accmap, old: Path) -> None:
    text = STATIC.replace("load_checkpoint: /w/step_7\n", "checkpoint: {load_path: /w/step_7}\n")
    old.write_text(text, encoding="utf-8")
    answer = accmap("upgrade", "old.yaml")
    assert answer.code in (0, 1), answer.err
    assert "load_path" not in answer.out
    assert re.search(r"^no counterpart .*checkpoint\.load_path", answer.err, re.MULTILINE)


@pytest.mark.parametrize(("version", "is_refused"), [("1.5.0", False), ("1.6.0", True)])
def test_an_optimizer_that_1_6_removed(accmap, old: Path, version: str, *, is_refused: bool) -> None:
    """core/optim/build_optim.py of 1.5.0 registers it as a subclass of nn.AdamWeightDecay; 1.6.0 does not."""
    (old.parent / "mindformers").mkdir()
    (old.parent / "mindformers" / "__init__.py").write_text(f'__version__ = "{version}"\n', encoding="utf-8")
    old.write_text(STATIC.replace("type: AdamW\n", "type: FP32StateAdamWeightDecay\n"), encoding="utf-8")
    codes = {one["code"] for one in json.loads(accmap("lint", "old.yaml", "--format", "json").out)["diagnostics"]}
    assert ("MAP071" in codes) == is_refused


@pytest.mark.parametrize(
    ("stages", "keys", "lines"),
    [
        (2, "recompute: [2, 1]", ["full_recompute_layer: ['0-1', 2]", "mode: full"]),
        (2, "recompute: [1, 1]", ["full_recompute_layer: [0, 2]", "mode: full"]),
        (2, "recompute: [1]", ["full_recompute_layer: [0]", "mode: full"]),
        (2, "recompute: [9, 9]", ["full_recompute_layer: [0-3]", "mode: full"]),
        (2, "recompute: [True, False]", ["full_recompute_layer: [0-1]", "mode: full"]),
        (2, "recompute: ['0-1']", ["full_recompute_layer: [0-3]", "mode: full"]),
        (2, "recompute: []", ["mode: None"]),
        (2, "recompute: True", ["full_recompute_layer: [0-3]", "mode: full"]),
        (1, "select_recompute: {'feed_forward\\.mul': True}", ["self_attention.core_attention: [0-3]", "mode: select"]),
    ],
)
def test_recomputed_layers_have_names(accmap, old: Path, stages: int, keys: str, lines: list[str]) -> None:
    text = STATIC.replace("num_hidden_layers: 2", "num_hidden_layers: 4")
    text = text.replace("  model_parallel: 1  # of one node", f"  model_parallel: 1\n  pipeline_stage: {stages}")
    text = f"use_parallel: True\n{text}"
    old.write_text(f"{text}recompute_config:\n  {keys}\n", encoding="utf-8")
    answer = accmap("upgrade", "old.yaml")
    assert answer.code == 0, answer.err
    written = answer.out.replace('"', "").replace("'", "")
    assert [line for line in lines if line.replace("'", "") not in written] == []
    assert accmap("convert", "old.yaml", "--world-size", str(stages), "-o", "run.sh").code in (0, 1)


def test_recomputed_layers_of_each_chunk_have_names(accmap, old: Path) -> None:
    """LayerSetting of 1.9 takes a list of lists as the counts of each stage, chunk by chunk."""
    text = STATIC.replace("num_hidden_layers: 2", "num_hidden_layers: 4\n    pp_interleave_num: 2")
    stages = "  model_parallel: 1\n  pipeline_stage: 2\n  micro_batch_num: 2"
    text = text.replace("  model_parallel: 1  # of one node", stages)
    text = f"use_parallel: True\n{text}recompute_config:\n  recompute: [[1, 0], [1, 1]]\n"
    interleaved = "  parallel_mode: 1\n  pipeline_config: {pipeline_interleave: True, pipeline_scheduler: 1f1b}"
    old.write_text(text.replace("  parallel_mode: 1", interleaved), encoding="utf-8")
    answer = accmap("upgrade", "old.yaml")
    assert answer.code == 0, answer.err
    assert "full_recompute_layer: [0, 2, 3]" in answer.out.replace('"', "").replace("'", "")
    old.write_text(text, encoding="utf-8")
    answer = accmap("upgrade", "old.yaml")
    assert answer.code == 2
    assert "recompute_config.recompute must have one row per model chunk (1)" in answer.err


@pytest.mark.parametrize(
    "section",
    [
        "{type: CosineWithWarmUpLR, learning_rate: 1.e-4, lr_end: 1.e-5, warmup_steps: 4, decay_steps: 20}",
        "{type: CosineWithWarmUpLR, learning_rate: 1.e-4, lr_end: 1.e-5, warmup_steps: 4, decay_ratio: 0.0}",
        "{type: CosineWithWarmUpLR, learning_rate: 1.e-4, lr_end: 1.e-5, warmup_ratio: 0.1}",
        "{type: CosineWithRestartsAndWarmUpLR, learning_rate: 1.e-4, lr_end: 1.e-5, warmup_steps: 4, num_cycles: 2}",
        "{type: PolynomialWithWarmUpLR, learning_rate: 1.e-4, lr_end: 1.e-5, warmup_steps: 4, decay_steps: 20}",
        "{type: WarmUpStableDecayLR, learning_rate: 1.e-4, lr_end: 1.e-5, warmup_steps: 4, decay_start_ratio: 0.5}",
        (
            "{type: ConstantWithCoolDownLR, learning_rate: 1.e-4, lr_end1: 1.e-5, warmup_steps: 4, keep_steps: 8,"
            " decay_steps: 10, final_steps: 5, lr_end2: 1.e-6}"
        ),
    ],
)
def test_a_schedule_keeps_its_class_and_its_arguments(accmap, old: Path, section: str) -> None:
    text = re.sub(r"lr_schedule:\n(  .*\n)+", f"lr_schedule: {section}\n", old.read_text("utf-8"))
    old.write_text(text, encoding="utf-8")
    assert accmap("upgrade", "old.yaml", "-o", "new.yaml").code == 0
    new = yaml.safe_load((old.parent / "new.yaml").read_text("utf-8"))["lr_scheduler"]
    assert new == yaml.safe_load(section)
    assert accmap("lr", "old.yaml", "new.yaml").code == 0


def test_an_optimizer_that_the_dynamic_graph_lacks_is_a_loss(accmap, old: Path) -> None:
    old.write_text(re.sub("AdamW\n(.|\n)*?  eps", "AdamWeightDecay\n  eps", STATIC), encoding="utf-8")
    answer = accmap("upgrade", "old.yaml", "-o", "new.yaml", "--format", "json")
    assert answer.code == 1
    (file,) = json.loads(answer.out)["files"]
    (row,) = [row for row in file["report"]["rows"] if row["field"] == "optimizer.type"]
    assert (row["status"], row["impact"]) == ("dropped", "numerics")
    assert "  type: AdamW\n" in (old.parent / "new.yaml").read_text("utf-8")


def test_check_writes_nothing_and_reports_what_would_be_lost(accmap, old: Path) -> None:
    assert accmap("upgrade", "old.yaml", "--check").code == 0
    old.write_text(LOSING, encoding="utf-8")
    answer = accmap("upgrade", "old.yaml", "--check")
    assert (answer.code, answer.out) == (1, "")
    assert [path.name for path in old.parent.iterdir()] == ["old.yaml"]


def test_a_loss_is_written_and_exits_1_unless_it_is_accepted(accmap, old: Path) -> None:
    old.write_text(LOSING, encoding="utf-8")
    answer = accmap("upgrade", "old.yaml", "-o", "new.yaml", "--format", "json")
    assert answer.code == 1
    assert (old.parent / "new.yaml").exists()
    (file,) = json.loads(answer.out)["files"]
    numeric = [row for row in file["report"]["rows"] if row["impact"] == "numerics"]
    lost = [row["field"] for row in numeric if row["status"] in ("dropped", "approximate", "unresolved")]
    assert lost == ["attention.dropout"]
    assert accmap("upgrade", "old.yaml", "--check", "--accept-loss", ",".join(lost)).code == 0
    assert accmap("upgrade", "old.yaml", "--check", "--accept-loss", ",".join(lost), "--strict").code == 1


def test_the_old_file_is_written_over_in_place_alone(accmap, old: Path) -> None:
    for words in (("-o", "old.yaml"), ("-o", "old.yaml", "--force"), ("-d", "."), ("-d", ".", "--force")):
        assert accmap("upgrade", "old.yaml", *words).code == 2
        assert old.read_text(encoding="utf-8") == STATIC
    assert accmap("upgrade", "old.yaml", "--in-place").code == 0
    assert old.read_text(encoding="utf-8") == DYNAMIC
    assert accmap("upgrade", "old.yaml", "--in-place").code == 0
    assert old.read_text(encoding="utf-8") == DYNAMIC


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("old.yaml", "-o", "new.yaml", "--check"), "one of -o FILE, -d DIR, --in-place and --check"),
        ((".",), "to upgrade a folder of YAMLs, set an output folder"),
        (("old.yaml", "--format", "json"), "choose where to write the YAML"),
        (("old.yaml", "--mindformers", "1.8"), "1.8"),
        (("old.yaml", "--from-version", "0.3"), "--from-version"),
        ((str(EXAMPLES / "qwen3_dense" / "megatron.sh"),), "only accepts MindSpore Transformers YAMLs"),
        (("-", "--in-place"), "standard input cannot be edited in place"),
    ],
)
def test_wrong_use_is_refused(accmap, old: Path, words: tuple[str, ...], said: str) -> None:
    answer = accmap("upgrade", *words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_a_source_that_its_framework_refuses_is_not_upgraded(accmap, old: Path) -> None:
    old.write_text(STATIC.replace("eps: 1.0e-8", "eps: 1e-8"), encoding="utf-8")
    answer = accmap("upgrade", "old.yaml", "-o", "new.yaml")
    assert answer.code == 2
    assert "eps" in answer.err
    assert not (old.parent / "new.yaml").exists()


def test_a_folder_keeps_its_form_and_has_a_table(accmap, old: Path) -> None:
    configs = old.parent / "configs"
    (configs / "small").mkdir(parents=True)
    (configs / "small" / "run.yaml").write_text(STATIC, encoding="utf-8")
    (configs / "losing.yaml").write_text(LOSING, encoding="utf-8")
    (configs / "served.yaml").write_text(STATIC.replace("run_mode: 'train'", "run_mode: predict"), encoding="utf-8")
    (configs / "notes.yaml").write_text("title: a page\n", encoding="utf-8")
    answer = accmap("upgrade", "configs", "-d", "new")
    assert answer.code == 1
    table = {line.split()[0]: " ".join(line.split()[1:]) for line in answer.out.splitlines()}
    assert table["configs/small/run.yaml"] == "upgraded 1.9 static -> 2.1 dynamic"
    assert table["configs/losing.yaml"].startswith("upgraded with losses 1.9 static -> 2.1 dynamic: ")
    assert table["configs/served.yaml"].startswith("left out This is an inference configuration")
    assert answer.out.splitlines()[-1] == "1 upgraded with losses, 1 left out, 1 upgraded"
    assert "configs/notes.yaml" not in answer.out
    written = sorted(str(path.relative_to(old.parent / "new")) for path in (old.parent / "new").rglob("*.yaml"))
    assert written == ["losing.yaml", "small/run.yaml"]
    (configs / "broken.yaml").write_text(STATIC.replace("eps: 1.0e-8", "eps: 1e-8"), encoding="utf-8")
    answer = accmap("upgrade", "configs", "--check", "--format", "json")
    assert answer.code == 2
    assert json.loads(answer.out)["summary"] == {"fine": 1, "lost": 1, "left-out": 1, "not-upgraded": 1}


def test_the_version_that_is_read_and_the_one_that_is_written(accmap, old: Path) -> None:
    answer = accmap("upgrade", "old.yaml", "--from-version", "1.8", "--mindformers", "2.0")
    assert answer.code == 0
    assert "mindformers 1.8 given -> mindformers 2.0 given" in answer.err
    assert answer.out.startswith("# MindSpore Transformers 2.0, dynamic graph")


@pytest.mark.parametrize(
    ("words", "versions"),
    [
        ((), "mindformers 1.9 assumed -> mindformers 2.1 given"),
        (("--dialect", "dynamic"), "mindformers 1.9 assumed -> mindformers 2.1 given"),
        (("--from-version", "1.8"), "mindformers 1.8 given -> mindformers 2.1 given"),
    ],
)
def test_convert_reads_the_source_with_its_own_version(
    accmap, old: Path, words: tuple[str, ...], versions: str
) -> None:
    answer = accmap("convert", "old.yaml", "--to", "mindformers", "--mindformers", "2.1", *words)
    assert answer.code == 0, answer.err
    assert versions in answer.err
    assert accmap("convert", "old.yaml", "--from-version", "0.16").code == 2


def test_an_older_dynamic_file_is_edited_and_loses_only_unknown_keys(accmap, old: Path) -> None:
    old.write_text(OLDER_GRAPH, encoding="utf-8")
    answer = accmap("upgrade", "old.yaml", "--from-version", "1.9")
    assert answer.code == 0, answer.err
    assert answer.out == OLDER_GRAPH.replace("tensorboard_dir:", "output_dir:").replace(GONE, "")
    assert "renamed monitor.tensorboard.tensorboard_dir -> monitor.tensorboard.output_dir" in answer.err
    assert "dropped (performance) parallelism.hsdp_shard_size: " in answer.err


@pytest.mark.parametrize("name", UPGRADED)
def test_the_fields_of_an_example_are_the_same_but_for_named_losses(accmap, tmp_path: Path, name: str) -> None:
    source = EXAMPLES / name / "mindformers.yaml"
    answer = accmap("upgrade", str(source), "-o", "new.yaml", "--format", "json")
    (file,) = json.loads(answer.out)["files"]
    rows = file["report"]["rows"]
    lost = {row["field"] for row in rows if row["status"] not in ("exact", "made-explicit")}
    before = json.loads(accmap("recipe", str(source), "--format", "json").out)["fields"]
    after = json.loads(accmap("recipe", "new.yaml", "--format", "json").out)["fields"]
    numeric = {row["field"] for row in rows if row["field"] and row["impact"] == "numerics"} - lost
    assert len(numeric) > 50
    assert {key for key in numeric if before[key]["value"] != after.get(key, {}).get("value")} == set()
    shown = json.loads(accmap("show", str(source), "--explicit", "--format", "json").out)
    alias = "train_dataset_task.dataset_config."
    keys = {value["key"] for value in shown["values"] if not value["key"].startswith(alias)}
    assert keys - {key for row in rows for key in row["from"]} == set()


def test_lint_names_the_command_once_and_judges_nothing_by_it(accmap, old: Path) -> None:
    (old.parent / "new.yaml").write_text(DYNAMIC, encoding="utf-8")
    static, dynamic = accmap("lint", "old.yaml", "--fail-on", "info"), accmap("lint", "new.yaml")
    assert static.out.count("accmap upgrade old.yaml -o NEW.yaml") == 1
    assert "accmap upgrade" not in dynamic.out
    assert "upgrade" not in accmap("lint", "old.yaml", "--format", "json").out
    (old.parent / "other.yaml").write_text(STATIC, encoding="utf-8")
    assert accmap("lint", ".").out.count("2 YAMLs use static graph mode or an older model class") == 1


def test_a_file_that_upgrade_refuses_is_not_sent_there(accmap, old: Path) -> None:
    for text in ("run_mode: train\nuse_legacy: True\nmodel: {model_config: {type: NoConfig}}\n", "run_mode: predict\n"):
        (old.parent / "refused.yaml").write_text(text + "use_parallel: False\n", encoding="utf-8")
        assert "accmap upgrade" not in accmap("lint", "refused.yaml").out
        assert accmap("upgrade", "refused.yaml").code == 2
    model = "model:\n  arch: {type: LlamaForCausalLM}\n  model_config: {type: LlamaConfig, num_layers: 2}\n"
    (old.parent / "older.yaml").write_text("run_mode: train\nuse_legacy: True\n" + model, encoding="utf-8")
    told = accmap("lint", "older.yaml", "--mindformers", "1.9").out
    assert "or an older model class" in told


def test_python_answers_as_the_command_does(old: Path) -> None:
    found = accmap.upgrade(old)
    assert found.text == DYNAMIC
    assert (found.version, found.dialect, found.will_not_run) == ("2.1", "dynamic", ())
    assert ("moved", ("seed",), ("training.seed",)) in [change[:3] for change in found.changes]
    with pytest.raises(accmap.UsageError, match="only accepts MindSpore"):
        accmap.upgrade(EXAMPLES / "qwen3_dense" / "megatron.sh")


def test_a_file_of_the_older_dynamic_graph_is_edited(accmap, tmp_path: Path) -> None:
    text = (EXAMPLES / "qwen3_dense" / "mindformers_dynamic.yaml").read_text("utf-8")
    answer = accmap("upgrade", "old.yaml", "--from-version", "2.0", "-o", "new.yaml", files={"old.yaml": text})
    assert answer.code in (0, 1), answer.err
    assert (tmp_path / "new.yaml").exists()


def test_no_key_of_evaluation_or_inference_takes_one_of_training(accmap, old: Path) -> None:
    """`train_dataset.batch_size` is not inference's, and an evaluation's `shuffle` is not training's."""
    evaluation = "eval_dataset:\n  data_loader: {type: MindDataset, shuffle: False}\n  batch_size: 3\n"
    head = "train_dataset: &train_dataset\n"
    assert head in STATIC
    old.write_text(STATIC.replace(head, f"{head}  batch_size: 6\n") + evaluation, encoding="utf-8")
    answer = accmap("upgrade", "old.yaml", "-o", "new.yaml")
    written = (old.parent / "new.yaml").read_text("utf-8")
    assert "inference" not in written
    assert "shuffle" not in written
    assert "-> inference" not in answer.err
    assert "eval_dataset.data_loader ->" not in answer.err


def test_a_value_that_is_equal_by_chance_is_derived(accmap, old: Path) -> None:
    """A batch of 1 x 1 x 4 is not `micro_batch_num`, and `warmup_lr_init: 0.0` is not a number of steps."""
    text = STATIC.replace(
        "  model_parallel: 1  # of one node", "  model_parallel: 1\n  pipeline_stage: 2\n  micro_batch_num: 4"
    )
    text = text.replace("batch_size: &batch 2", "batch_size: &batch 1")
    old.write_text(f"use_parallel: True\n{text}", encoding="utf-8")
    answer = accmap("upgrade", "old.yaml", "-o", "new.yaml")
    assert "micro_batch_num -> training.global_batch_size" not in answer.err
    assert "derived training.global_batch_size: " in answer.err
    assert "moved runner_config.batch_size -> training.local_batch_size" in answer.err
