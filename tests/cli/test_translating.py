"""`accmap recipe`, `convert` and `diff` as a user runs them, on the shipped examples and on spoilt input."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from accmap.cli.outputs import ConvertJson, DiffJson
from accmap.mapper.recipe.vocabulary import json_schema

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAIRS = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())
FILES = [f"{pair}/{name}" for pair in PAIRS for name in ("megatron.sh", "mindformers.yaml")]


@pytest.mark.table(4)
@pytest.mark.parametrize("file", FILES)
def test_the_recipe_of_every_example(accmap, file: str) -> None:
    answer = accmap("recipe", str(EXAMPLES / file), "--format", "json")
    assert answer.code == 0
    whole = json.loads(answer.out)
    jsonschema.validate(whole, json_schema())
    assert whole["fields"]["model.num_layers"]["value"] == 4
    page = accmap("recipe", str(EXAMPLES / file))
    assert "model.num_layers" in page.out


@pytest.mark.table(2)
@pytest.mark.parametrize("file", FILES)
def test_every_written_key_of_an_example_is_in_the_report(accmap, tmp_path: Path, file: str) -> None:
    source = str(EXAMPLES / file)
    answer = accmap("convert", source, "-o", "out", "--report", "report.json")
    if file == "planted/mindformers.yaml":  # `eps: 1e-8`, at which its own framework stops
        assert answer.code == 2
        assert "SYN952" in answer.err
        assert not (tmp_path / "out").exists()
        return
    report = json.loads((tmp_path / "report.json").read_text())
    ConvertJson.model_validate(report)
    lost = [
        row
        for row in report["rows"]
        if row["impact"] == "numerics" and row["status"] in ("approximate", "dropped", "unresolved")
    ]
    assert answer.code == (1 if lost else 0)
    shown = json.loads(accmap("show", source, "--format", "json", "--explicit").out)
    keys = {value["key"] for value in shown["values"]}
    assert keys - {key for row in report["rows"] for key in row["from"]} == set()
    counts: dict[str, int] = {}
    for row in report["rows"]:
        counts[row["status"]] = counts.get(row["status"], 0) + 1
    assert counts == report["summary"]
    suffix = ".yaml" if file.endswith(".sh") else ".sh"
    (tmp_path / "out").rename(tmp_path / f"out{suffix}")
    again = accmap("show", f"out{suffix}", "--format", "json")
    assert again.code == 0
    assert json.loads(again.out)["framework"] != shown["framework"]


def test_a_file_is_not_overwritten_unasked(accmap, tmp_path: Path) -> None:
    source = str(EXAMPLES / "qwen3_dense" / "megatron.sh")
    kept = {"out.yaml": "mine\n"}
    answer = accmap("convert", source, "-o", "out.yaml", files=kept)
    assert answer.code == 2
    assert "--force" in answer.err
    assert (tmp_path / "out.yaml").read_text() == "mine\n"
    assert accmap("convert", source, "-o", "out.yaml", "--force").code == 0
    assert "model_type: qwen3" in (tmp_path / "out.yaml").read_text()
    assert list(tmp_path.iterdir()) == [tmp_path / "out.yaml"]


def test_nothing_is_half_written(accmap, tmp_path: Path) -> None:
    source = str(EXAMPLES / "qwen3_dense" / "megatron.sh")
    answer = accmap("convert", source, "-o", "out.yaml", "--report", "report.json", files={"report.json": "mine"})
    assert answer.code == 2
    assert not (tmp_path / "out.yaml").exists()
    assert accmap("convert", source, "-o", "no/such/folder/out.yaml").code == 2


def test_strict_counts_what_is_lost(accmap) -> None:
    words = "--squared-relu --no-bias-gelu-fusion --train-iters 9"
    files = {"run.sh": f"python pretrain_gpt.py {START.partition('.py')[2]} {SIZES} {words}\n"}
    answer = accmap("convert", "run.sh", "--strict", files=files)
    assert answer.code == 1
    assert "squared" in answer.err
    assert accmap("convert", "run.sh").code == 1


LOSSY = (
    "python pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --squared-relu --seq-length 8 "
    "--max-position-embeddings 8 --micro-batch-size 1 --vocab-size 64 --train-iters 9 --lr 1e-4 --data-path p "
    "--position-embedding-type rope --untie-embeddings-and-output-weights --normalization RMSNorm "
    "--disable-bias-linear --load l --tokenizer-type NullTokenizer --attention-dropout 0 --hidden-dropout 0\n"
)


def test_the_exit_code_is_that_of_what_was_lost(accmap, tmp_path: Path) -> None:
    """A loss that changes numbers is exit 1 with the file written; what the user accepts leaves the code."""
    answer = accmap("convert", "run.sh", "-o", "run.yaml", files={"run.sh": LOSSY})
    assert answer.code == 1
    assert (tmp_path / "run.yaml").exists()
    closing, written = answer.err.splitlines()[-2:]
    assert written.startswith("written: run.yaml (")
    assert " that change" in closing
    lost = closing.rpartition(": ")[2].split(", ")
    assert "activation.function" in lost
    first = answer.err.splitlines()[0]
    assert "(another model)" in first, "what makes another network comes first"
    accepted = accmap("convert", "run.sh", "--accept-loss", ",".join(lost))
    assert accepted.code == 0
    assert accmap("convert", "run.sh", "--accept-loss", ",".join(lost), "--strict").code == 1
    listed = json.dumps(lost)
    assert accmap("convert", "run.sh", files={"accmap.toml": f"accept-loss = {listed}\n"}).code == 0
    stale = accmap("convert", "run.sh", "--accept-loss", "moe.num_experts")
    assert "moe.num_experts: this conversion does not drop moe.num_experts" in stale.err
    assert accmap("pair", "run.sh", "-d", "pair").code == 0


@pytest.mark.parametrize("flags", ["--accumulate-allreduce-grads-in-fp32", ""])
@pytest.mark.parametrize("version", ["1.9", "2.1"])
def test_gradients_in_float32_are_no_loss(accmap, version: str, flags: str) -> None:
    """Megatron-LM sets the flag by itself for bfloat16; accmap writes float32 weights, so the gradients are float32."""
    script = (EXAMPLES / "qwen3_dense" / "megatron.sh").read_text("utf-8").replace("--bf16", f"--bf16 {flags}")
    answer = accmap("convert", "run.sh", "--mindformers", version, "-o", "run.yaml", files={"run.sh": script})
    assert answer.code == 0, answer.err
    assert accmap("lint", "run.sh", "run.yaml").code == 0


def test_gradients_in_float16_beside_bfloat16_are_a_loss(accmap) -> None:
    """The static graph accumulates in the dtype of the weights; with bf16, Megatron-LM accumulates in float32."""
    text = (EXAMPLES / "qwen3_dense" / "mindformers.yaml").read_text("utf-8")
    text = text.replace("params_dtype: float32", "params_dtype: float16")
    answer = accmap("convert", "run.yaml", "-o", "run.sh", files={"run.yaml": text})
    assert (answer.code, "gradient.accumulate_in_fp32" in answer.err) == (1, True), answer.err


def test_a_word_that_may_hold_any_argument_is_a_loss(accmap, tmp_path: Path) -> None:
    """What it says could replace every value that is called exact; where bash takes it for nothing, nothing is lost."""
    text = (EXAMPLES / "qwen3_dense/megatron.sh").read_text("utf-8")
    (tmp_path / "run.sh").write_text(f"{text.rstrip()} $MOE_ARGS\n", "utf-8")
    before = accmap("convert", str(EXAMPLES / "qwen3_dense/megatron.sh"), "-o", "known.yaml")
    answer = accmap("convert", "run.sh", "-o", "out.yaml", "--report", "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert (before.code, answer.code) == (0, 1), before.err
    assert "accmap cannot determine $MOE_ARGS" in answer.err
    (row,) = (row for row in report["rows"] if row["from"] == ["$MOE_ARGS"])
    assert (row["status"], row["impact"], row["field"]) == ("unresolved", "numerics", None)
    assert accmap("convert", "run.sh", "-o", "out.yaml", "--force", "--accept-loss", "$MOE_ARGS").code == 0
    assert accmap("convert", "run.sh", "-o", "out.yaml", "--force", "--var", "MOE_ARGS=").code == 0


def test_a_pair_that_is_equal_and_one_that_is_not(accmap) -> None:
    pair = [str(EXAMPLES / "planted" / name) for name in ("megatron.sh", "mindformers.yaml")]
    answer = accmap("diff", *pair, "--format", "json")
    assert answer.code == 1
    whole = json.loads(answer.out)
    DiffJson.model_validate(whole)
    different = {row["field"] for row in whole["rows"] if row["status"] == "different"}
    assert {"norm.epsilon", "optimizer.beta2", "optimizer.weight_decay", "batch.global_size"} <= different
    assert accmap("diff", pair[0], pair[0]).code == 0
    assert "norm.epsilon" in accmap("diff", *pair).out


def test_a_run_that_would_not_start_equals_none(accmap) -> None:
    words = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 8 --max-position-embeddings 8"
    run = f"python pretrain_gpt.py {words} --micro-batch-size 1 --vocab-size 8 --tokenizer-type NullTokenizer"
    files = {"a.sh": f"{run}\n", "b.sh": f"{run} --moe-router-group-topk 2\n"}
    answer = accmap("diff", "a.sh", "b.sh", files=files)
    assert (answer.code, "b.sh:1: this run cannot start" in answer.out) == (1, True)
    assert accmap("diff", "b.sh", "b.sh").code == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("template.sh", "torchrun pretrain_gpt.py --num-layers <layers> --hidden-size 8 --num-attention-heads 2\n"),
        ("fork.sh", "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 8 --use-mystery 3 --other\n"),
        ("contrary.sh", "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 9 --num-attention-heads 2 --bf16\n"),
        ("unknown.yaml", "use_legacy: False\nmodel: {model_config: {model_type: qwen3}}\nsurprise: {a: 1}\n"),
        ("half.yaml", "use_legacy: False\nmodel: {model_config: {model_type: <type>, num_hidden_layers: '<n>'}}\n"),
        ("bare.yaml", "use_legacy: False\nmodel:\nrunner_config:\n"),
        ("wrong.yaml", "use_legacy: False\nmodel: {model_config: [1, 2]}\noptimizer: 3\nlr_schedule: x\n"),
    ],
)
def test_spoilt_input_gets_a_report_and_no_traceback(accmap, name: str, text: str) -> None:
    for command in ("convert", "recipe", "show"):
        answer = accmap(command, name, files={name: text})
        assert answer.code in ((0, 1, 2) if command == "convert" else (0, 2)), answer.err
        assert "Traceback" not in answer.err
    assert accmap("diff", name, name).code in (0, 1, 2)


START = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
SIZES = "--seq-length 8 --max-position-embeddings 8 --micro-batch-size 1 --vocab-size 64 --lr 1e-4 "
SIZES += "--tokenizer-type NullTokenizer "


def test_batches_that_contradict_each_other_are_said(accmap) -> None:
    files = {"run.sh": START + SIZES + "--global-batch-size 1 --train-iters 10\n"}
    answer = accmap("convert", "run.sh", files=files)
    assert (answer.code, answer.out) == (2, "")
    assert "cannot start this run: the run requires global_batch_size % (micro_batch_size * d" in answer.err
    more = "--global-batch-size 12 --decrease-batch-size-if-needed --train-iters 10\n"
    files = {"run.sh": START + SIZES + more}
    answer = accmap("convert", "run.sh", "--dialect", "static", files=files)
    assert "approximate (numerics) global_batch_size: A global batch size of 12 does not divide" in answer.err
    answer = accmap("convert", "run.sh", files=files)
    assert (answer.code, answer.out) == (2, "")
    assert "will not run: global_batch_size 12 is not a multiple of" in answer.err


def test_what_stands_in_is_said(accmap) -> None:
    static = "--mindformers", "1.9"
    answer = accmap("convert", "run.sh", *static, files={"run.sh": START + SIZES + "--train-iters $N\n"})
    assert (
        "data.blend: The source contains no data path, so accmap used /path/to/data_text_document as a placeholder"
        in answer.err
    )
    assert "run.train_steps: The source does not set the number of training steps" in answer.err
    answer = accmap("convert", "run.sh", files={"run.sh": START + SIZES + '--train-iters 10 --data-path "<path>"\n'})
    assert "unresolved (numerics) data_path: <path> is a placeholder. Replace the placeholder." in answer.err
    assert "<path>" not in answer.out
    answer = accmap("convert", str(EXAMPLES / "qwen3_dense" / "mindformers.yaml"))
    assert "tokenizer.model: Megatron requires the tokenizer" in answer.err


def test_layers_of_another_file_are_left_to_the_user(accmap) -> None:
    """Recomputation and a dense model need the number of layers; without it, the file is written and both are named."""
    for granularity in ("full", "selective"):
        tuning = f"NPROC_PER_NODE=2 megatron sft --model m --dataset d --recompute_granularity {granularity}\n"
        answer = accmap("convert", "tune.sh", files={"tune.sh": tuning})
        assert "recompute_granularity: Dynamic graph mode requires a list" in answer.err
        assert "recompute:\n" not in answer.out
        assert "model:\n" in answer.out
    dense = START.replace("--num-layers 2", "--num-layers $1") + SIZES
    dense += "--train-iters 10 --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights\n"
    answer = accmap("convert", "run.sh", files={"run.sh": dense})
    assert "n_routed_experts: 2" in answer.out
    assert "Set first_k_dense_replace to the number of layers" in answer.err


def test_update_names_the_model_class_that_it_changes(accmap, tmp_path: Path) -> None:
    target = "use_legacy: False\nmodel:\n  model_config:\n    model_type: qwen3\n"
    files = {"run.sh": START + SIZES + "--train-iters 10 --untie-embeddings-and-output-weights\n", "run.yaml": target}
    answer = accmap("convert", "run.sh", "--update", "run.yaml", files=files)
    assert "model.family: The model class qwen3 does not support attention.qk_layernorm False" in answer.err
    files["run.sh"] = files["run.sh"].replace("\n", " --qk-layernorm\n")
    answer = accmap("convert", "run.sh", "--update", "run.yaml", files=files)
    assert "model.family" not in answer.err
    assert "model_type: qwen3" in (tmp_path / "run.yaml").read_text()


def test_another_network_is_said(accmap) -> None:
    files = {"run.sh": (START + SIZES + "--train-iters 10\n").replace("pretrain_gpt", "pretrain_t5")}
    answer = accmap("convert", "run.sh", "-o", "out.yaml", files=files)
    assert answer.code == 2
    assert answer.err.startswith("run.sh:1:1: SYN914 pretrain_t5.py trains T5")
    assert not Path("out.yaml").exists()


def test_a_dash_is_standard_output(accmap) -> None:
    source = str(EXAMPLES / "qwen3_dense" / "megatron.sh")
    plain = accmap("convert", source)
    dashed = accmap("convert", source, "-o", "-")
    assert (dashed.code, dashed.out) == (0, plain.out)
    report = accmap("convert", source, "-o", "x.yaml", "--report", "-")
    assert report.code == 2
    assert "standard output" in report.err
    assert not Path("-").exists()
    assert not Path("x.yaml").exists()


def test_experts_decide_the_devices_of_a_yaml_that_names_none(accmap, tmp_path: Path) -> None:
    text = (EXAMPLES / "qwen3_moe" / "mindformers_dynamic.yaml").read_text("utf-8")
    for old, new in (("shard: 1", "shard: -1"), ("expert_parallel: 1", "expert_parallel: 8"), ("size: 1 ", "size: 8 ")):
        assert old in text
        text = text.replace(old, new)
    answer = accmap("convert", "run.yaml", "-o", "run.sh", files={"run.yaml": text})
    assert answer.code == 1, answer.err
    assert (
        "The number of devices is unknown. accmap writes the smallest number that fits the other parallel sizes"
        in answer.err
    )
    assert "GPUS_PER_NODE=8\n" in (tmp_path / "run.sh").read_text("utf-8")


def test_a_softmax_in_half_precision_of_a_run_in_float32_is_a_loss(accmap) -> None:
    text = (EXAMPLES / "qwen3_dense" / "mindformers.yaml").read_text("utf-8")
    for old, new in (
        ("softmax_compute_dtype: float32", "softmax_compute_dtype: bfloat16"),
        (" compute_dtype: bfloat16", " compute_dtype: float32"),
        ("use_flash_attention: True", "use_flash_attention: False"),
    ):
        assert old in text
        text = text.replace(old, new)
    answer = accmap("convert", "run.yaml", "-o", "run.sh", files={"run.yaml": text})
    assert answer.code == 1, answer.err
    assert "attention.softmax_in_fp32" in answer.err


def test_the_scope_of_weight_decay_is_a_loss_and_stays_in_an_upgrade(accmap) -> None:
    text = (EXAMPLES / "qwen3_dense" / "mindformers_dynamic.yaml").read_text("utf-8")
    assert "\noptimizer:\n" in text
    text = text.replace("\noptimizer:\n", "\noptimizer:\n  weight_decay_exclude: [embedding]\n")
    answer = accmap("convert", "run.yaml", "-o", "run.sh", files={"run.yaml": text})
    assert answer.code == 1
    assert "optimizer.weight_decay_scope" in answer.err
    # megatron 0.16 training/arguments.py:validate_args hands the older word on to --apply-wd-to-qk-layernorm.
    script = (EXAMPLES / "qwen3_dense" / "megatron.sh").read_text("utf-8")
    decayed = "--weight-decay 0.1 --eval-interval 100 --no-weight-decay-cond-type apply_wd_to_qk_layernorm"
    files = {"a.sh": script.replace("--weight-decay 0.1", decayed)}
    assert decayed in files["a.sh"]
    written = accmap("convert", "a.sh", "--megatron", "0.16", files=files)
    assert "weight_decay_include: [q_layernorm, k_layernorm]" in written.out.replace('"', "").replace("'", "")
    assert "weight_decay_scope" not in written.err
    newer = accmap("upgrade", "run.yaml", "--from-version", "2.0", "--mindformers", "2.1")
    assert "weight_decay_exclude: [embedding]" in newer.out.replace('"', "").replace("'", "")


STALE_YAML = [
    ("  pipeline_stage: 1\n  micro_batch_num: 1\n", "  pipeline_stage: 4\n  micro_batch_num: 4\n"),
    ("use_parallel: False", "use_parallel: True"),
    ("    num_hidden_layers: 4\n", "    num_hidden_layers: 4\n    offset: [1, -1, 0, 0]\n"),
    ("  weight_decay: 0.1\n", "  weight_decay: 0.2\n  swap: True\n"),
    ("  recompute: False\n", "  recompute: True\n"),
]
"""A run on four stages that saves memory in two ways, beside a script for two stages."""
TWO_STAGES = [
    ("--nproc_per_node 1", "--nproc_per_node 2"),
    ("--pipeline-model-parallel-size 1", "--pipeline-model-parallel-size 2"),
    ("GLOBAL_BATCH=1", "GLOBAL_BATCH=4"),
]


@pytest.fixture
def stale(tmp_path: Path) -> Path:
    """A script, and a YAML whose keys no longer fit it."""
    source = EXAMPLES / "qwen3_dense"
    for name, beside, changes in (("run.sh", "megatron.sh", TWO_STAGES), ("run.yaml", "mindformers.yaml", STALE_YAML)):
        text = (source / beside).read_text()
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        (tmp_path / name).write_text(text)
    return tmp_path / "run.yaml"


def test_an_update_names_each_key_that_it_changes(accmap, stale: Path) -> None:
    answer = accmap("convert", "run.sh", "--update", "run.yaml")
    assert answer.code == 0, answer.err
    lines = {line.split()[1]: line for line in answer.err.splitlines() if line.startswith("run.yaml: ")}
    assert "model.model_config.offset ([1, -1, 0, 0])" in lines["removed"]
    assert "optimizer.weight_decay (0.2 -> 0.1)" in lines["changed"]
    assert "parallel_config.pipeline_stage (4 -> 2)" in lines["changed"]
    # no number depends on these, and the script does not speak of them
    text = stale.read_text()
    assert "  swap: True\n" in text
    assert "  recompute: True\n" in text


def test_an_update_is_shown_before_it_is_made(accmap, stale: Path) -> None:
    before = stale.read_text()
    answer = accmap("convert", "run.sh", "--update", "run.yaml", "--diff")
    assert answer.code == 0, answer.err
    assert "run.yaml: would remove model.model_config.offset ([1, -1, 0, 0])" in answer.err
    assert ": changed " not in answer.err
    assert "-    offset: [1, -1, 0, 0]\n" in answer.out
    assert "-  weight_decay: 0.2\n+  weight_decay: 0.1\n" in answer.out
    assert "written:" not in answer.err
    assert stale.read_text() == before
    accmap("convert", "run.sh", "--update", "run.yaml")
    assert stale.read_text() != before


def test_an_update_of_a_forks_script_leaves_the_forks_arguments(accmap) -> None:
    fork = "--use-fused-rmsnorm --use-fused-swiglu --tokenizer-name-or-path /tok "
    script = (EXAMPLES / "qwen3_dense" / "megatron.sh").read_text("utf-8").replace("--bf16", f"{fork}--bf16")
    assert accmap("convert", "run.sh", "-o", "run.yaml", files={"run.sh": script}).code in (0, 1)
    path = Path("run.yaml")
    path.write_text(path.read_text("utf-8").replace("rms_norm_eps: 1.0e-06", "rms_norm_eps: 1.0e-03"), "utf-8")
    answer = accmap("convert", "run.yaml", "--update", "run.sh", "--diff")
    told = [line for line in answer.err.splitlines() if line.startswith("run.sh: would ")]
    assert told == ["run.sh: would change --norm-epsilon (1e-06 -> 0.001)"], answer.err
    assert "use_fused" not in answer.err


def test_there_is_no_diff_of_a_new_file(accmap, stale: Path) -> None:
    answer = accmap("convert", "run.sh", "--diff")
    assert answer.code == 2
    assert "--diff shows the changes that --update would make" in answer.err
