"""What `accmap convert` says of the source itself, of versions that it cannot write, and of keys with one reason."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPT = (EXAMPLES / "qwen3_dense" / "megatron.sh").read_text(encoding="utf-8")
YAML = (EXAMPLES / "qwen3_dense" / "mindformers.yaml").read_text(encoding="utf-8")


def test_what_the_framework_stops_at_is_said_first(accmap: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text(SCRIPT.replace("--bf16", "--bf16\n    --fp16"), encoding="utf-8")
    first, *_ = accmap("convert", str(path)).err.splitlines()
    assert "SYN952" in first
    assert "not (fp16 and bf16)" in first


def test_a_refusal_by_an_assumed_version_says_how_to_name_another(
    accmap: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = YAML.replace("recompute_config:\n", "recompute_config:\n  recompute_slice_activation: True\n")
    assert text != YAML
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    refused = accmap("upgrade", "a.yaml", "-o", "b.yaml")
    assert refused.code == 2
    assert "set it: `accmap lint a.yaml --mindformers VERSION`" in refused.err
    assert accmap("lint", "a.yaml", "--mindformers", "1.9").code == 1
    assert "If you use another version" not in accmap("upgrade", "a.yaml", "-o", "b.yaml", "--from-version", "1.9").err


def test_a_key_written_twice_is_said(accmap: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(YAML + "seed: 7\n", encoding="utf-8")
    first, *_ = accmap("convert", str(path)).err.splitlines()
    assert "warning SYN050" in first


@pytest.mark.parametrize("version", ["0.12", "0.17", "0.18", "0.19", "main"])
def test_an_example_is_translated_without_loss(accmap: Callable[..., Any], version: str) -> None:
    """0.18-main arguments.py has no --use-legacy-models: there are mcore models alone."""
    source = str(EXAMPLES / "qwen3_dense" / "mindformers.yaml")
    assert accmap("convert", source, "--strict", "--megatron", version).code == 0


def test_an_argument_of_an_earlier_version_or_of_slime_that_changes_no_numbers(
    accmap: Callable[..., Any], tmp_path: Path
) -> None:
    """Megatron-LM 23.04 megatron/arguments.py; slime main slime/utils/arguments.py:add_cluster_arguments."""
    path = tmp_path / "a.sh"
    words = "--DDP-impl local --data-impl mmap --log-batch-size-to-tensorboard --actor-num-nodes 2 --colocate"
    path.write_text(SCRIPT.replace("--bf16", f"--bf16 {words} --sglang-tp-size 2 --first-of-a-fork 1"), "utf-8")
    last = accmap("convert", str(path)).err.splitlines()[-1]
    assert last.endswith("could not be converted: first_of_a_fork")


def test_keys_with_one_reason_stand_in_one_line(accmap: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text(
        SCRIPT.replace("--bf16", "--bf16\n    --first-of-a-fork 1\n    --second-of-a-fork"), encoding="utf-8"
    )
    lines = [line for line in accmap("convert", str(path)).err.splitlines() if "of_a_fork" in line]
    assert len(lines) == 2
    assert "first_of_a_fork, second_of_a_fork:" in lines[0]
    assert lines[1].endswith("could not be converted: first_of_a_fork, second_of_a_fork")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--mindformers", "1.5"), "MAP105"),
        (("--mindformers", "3.7"), "MAP105"),
        (("--mindformers", "no-number"), "MAP105"),
        (("--mindformers", "1.6", "--dialect", "dynamic"), "SYN922"),
        (("--dialect", "legacy"), "SYN922"),
    ],
)
def test_a_version_that_cannot_be_written(
    accmap: Callable[..., Any], tmp_path: Path, options: tuple[str, ...], code: str
) -> None:
    out = tmp_path / "out.yaml"
    answer = accmap("convert", str(EXAMPLES / "qwen3_dense" / "megatron.sh"), "-o", str(out), *options)
    assert answer.code == 2
    assert code in answer.err
    assert not out.exists()


def test_a_version_of_megatron_that_cannot_be_written(accmap: Callable[..., Any]) -> None:
    answer = accmap("convert", str(EXAMPLES / "qwen3_dense" / "mindformers.yaml"), "--megatron", "0.11")
    assert (answer.code, answer.out) == (2, "")
    assert "MAP001" in answer.err


def test_a_byte_order_mark_stays(accmap: Callable[..., Any], tmp_path: Path) -> None:
    source, target = tmp_path / "a.sh", tmp_path / "b.yaml"
    source.write_text(SCRIPT.replace("--num-layers 4", "--num-layers 6"), encoding="utf-8")
    target.write_bytes(b"\xef\xbb\xbf" + YAML.encode())
    assert accmap("convert", str(source), "--update", str(target)).code == 0
    text = target.read_bytes()
    assert text.startswith(b"\xef\xbb\xbf#")
    assert b"num_hidden_layers: 6" in text


LEGACY = """\
run_mode: train
trainer: {type: CausalLanguageModelingTrainer}
runner_config: {epochs: 1, batch_size: 1}
optimizer: {type: AdamW, eps: 1.e-8}
lr_schedule: {type: ConstantWarmUpLR, learning_rate: 1.0e-4, warmup_steps: 0, total_steps: 100}
model:
  model_config: {type: LlamaConfig, num_layers: 2, hidden_size: 64, num_heads: 4, n_kv_heads: 2, vocab_size: 256,
                 seq_length: 32, theta: 500000, qkv_has_bias: True, compute_dtype: bfloat16, param_init_type: float32}
  arch: {type: LlamaForCausalLM}
"""
"""mindformers 1.6.0-2.1.0 models/llama/llama.py; no key here says its norm, its gate or its positions."""


@pytest.mark.parametrize("version", ["0.12", "0.16", "0.19"])
def test_an_older_model_is_what_its_class_builds(accmap: Callable[..., Any], tmp_path: Path, version: str) -> None:
    source, target, report = (tmp_path / name for name in ("a.yaml", "a.sh", "report.json"))
    source.write_text(LEGACY, encoding="utf-8")
    words = ("-o", str(target), "--report", str(report), "--megatron", version)
    assert accmap("convert", str(source), *words).code == 1
    text = target.read_text(encoding="utf-8")
    for argument in (
        "--normalization RMSNorm", "--swiglu", "--disable-bias-linear", "--add-qkv-bias",
        "--position-embedding-type rope", "--rotary-base 500000", "--hidden-dropout 0.0",
        "--attention-dropout 0.0", "--num-query-groups 2",
        "--untie-embeddings-and-output-weights", "--ffn-hidden-size 256",
    ):  # fmt: skip
        assert argument in text
    assert "--use-legacy-models" not in text, "0.12 and 0.16 refuse it with their other defaults"
    rows = json.loads(report.read_text(encoding="utf-8"))["rows"]
    idle = [row for row in rows if "no effect in this run" in row["message"]]
    assert not {"model.model_config.theta", "model.model_config.n_kv_heads"} & {
        key for row in idle for key in row["from"]
    }
    found = {row["field"]: row["status"] for row in rows}
    assert (found["norm.type"], found["position.rotary_base"]) == ("made-explicit", "exact")
    assert accmap("lint", str(target), str(source), "--select", "NET").code == 0


def test_a_class_that_nobody_knows_is_not_translated(accmap: Callable[..., Any], tmp_path: Path) -> None:
    source = tmp_path / "a.yaml"
    source.write_text(LEGACY.replace("LlamaForCausalLM", "WhaleForCausalLM"), encoding="utf-8")
    script = str(EXAMPLES / "qwen3_dense" / "megatron.sh")
    for words in (
        ("convert", str(source), "-o", str(tmp_path / "a.sh")),
        ("pair", str(source), "-d", str(tmp_path / "pair")),
        ("verify", script, str(source)),
    ):
        answer = accmap(*words)
        assert answer.code == 2
        assert answer.out == ""
        assert "MAP107" in answer.err
        assert len(answer.err.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.yaml"]
    assert accmap("lint", script, str(source), "--select", "NET").code == 0
    shown = json.loads(accmap("show", str(source), "--format", "json").out)
    values = {entry["key"]: entry["value"] for entry in shown["values"]}
    assert values["resolved.transformer.num_layers"] is None
    assert shown["unresolved"][0]["reason"] == "accmap does not support the network of the model class"


@pytest.mark.parametrize(("version", "written"), [("0.12", False), ("0.16", True)])
def test_expert_parallelism_in_float16(
    accmap: Callable[..., Any], tmp_path: Path, version: str, *, written: bool
) -> None:
    """Megatron-LM 0.12-0.15 arguments.py:validate_args: "Expert parallelism is not supported with fp16 training"."""
    source = tmp_path / "a.yaml"
    text = LEGACY.replace("bfloat16", "float16").replace("runner_config:", "use_parallel: True\nrunner_config:")
    experts = "moe_config: {expert_num: 4, num_experts_chosen: 2, capacity_factor: 1.1, routing_policy: TopkRouterV2}\n"
    degrees = "parallel: {parallel_mode: 1}\nparallel_config: {data_parallel: 2, expert_parallel: 2}\n"
    source.write_text(text + experts + degrees, encoding="utf-8")
    answer = accmap("convert", str(source), "--megatron", version)
    assert "--num-experts 4" in answer.out
    assert "--moe-expert-capacity-factor 1.1" in answer.out
    assert ("--expert-model-parallel-size 2" in answer.out) is written
    assert ("Before version 0.16, Megatron does not support" in answer.err) is not written


@pytest.mark.parametrize("options", [(), ("--dialect", "static")])
@pytest.mark.parametrize("upgrades", [True, False])
def test_an_older_file_is_not_updated(
    accmap: Callable[..., Any], tmp_path: Path, options: tuple[str, ...], *, upgrades: bool
) -> None:
    """The value with an anchor was moved along before, and the command ended as a fault of its own."""
    anchored = LEGACY + "parallel_config: {micro_batch_num: &x 8}\ncallbacks: [{type: MFLossMonitor, num: *x}]\n"
    text = anchored if upgrades else anchored.replace("LlamaForCausalLM", "WhaleForCausalLM")
    source, new = tmp_path / "a.yaml", str(tmp_path / "new.yaml")
    source.write_text(text, encoding="utf-8")
    script = str(EXAMPLES / "qwen3_dense" / "megatron.sh")
    answer = accmap("convert", script, "--update", str(source), *options)
    assert answer.code == 2
    assert "SYN920" in answer.err
    assert (f"`accmap upgrade {source} -o NEW.yaml`" in answer.err) is upgrades
    assert source.read_text(encoding="utf-8") == text
    for command in re.findall(r"`accmap ([^`]*)`", answer.err):
        assert accmap(*command.replace("NEW.yaml", new).split(), "--write-anyway", "--force").code in (0, 1), command


def test_a_file_that_leaves_the_network_open_is_updated_with_losses(accmap: Callable[..., Any], tmp_path: Path) -> None:
    """mindformers 1.8.0 configs/general/llm_pretrain_moe_template.yaml names a folder that has the network."""
    target = tmp_path / "run.yaml"
    target.write_text(ELSEWHERE.replace("KEYS", "params_dtype: float32"), "utf-8")
    script = str(EXAMPLES / "qwen3_dense" / "megatron.sh")
    answer = accmap("convert", script, "--update", str(target), "--write-anyway")
    assert answer.code == 1
    assert "model.tie_embeddings" in answer.err.rpartition("could not be converted: ")[2]


ELSEWHERE = """\
use_legacy: False
run_mode: train
trainer: {type: CausalLanguageModelingTrainer}
pretrained_model_dir: hub
model: {model_config: {KEYS}}
"""


def test_a_model_that_stands_in_a_directory(accmap: Callable[..., Any], tmp_path: Path) -> None:
    """mindformers 1.9.0 models/build_config.py:merge_model_config: the file's keys over those of config.json."""
    source = tmp_path / "a.yaml"
    source.write_text(ELSEWHERE.replace("KEYS", "hidden_size: 64"), encoding="utf-8")
    answer = accmap("convert", str(source))
    assert (answer.code, answer.out) == (2, "")
    assert "MAP067" in answer.err
    fields = json.loads(accmap("recipe", str(source), "--format", "json").out)["fields"]
    assert fields["model.hidden_size"]["value"] is None
    named = "model_type: qwen3, architectures: Qwen3ForCausalLM, hidden_size: 64"
    source.write_text(ELSEWHERE.replace("KEYS", named), encoding="utf-8")
    answer = accmap("convert", str(source))
    assert answer.code == 1
    assert "--hidden-size 64" in answer.out
    assert "--num-layers" not in answer.out, "the directory may say it"
    assert "unresolved (numerics)" in answer.err
    (tmp_path / "hub").mkdir()
    keys = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 2, "hidden_size": 32}
    (tmp_path / "hub" / "config.json").write_text(json.dumps(keys), encoding="utf-8")
    source.write_text(ELSEWHERE.replace("KEYS", "hidden_size: 64"), encoding="utf-8")
    answer = accmap("convert", str(source))
    assert answer.code == 1
    assert "--num-layers 2" in answer.out
    assert "--hidden-size 64" in answer.out


KEPT = {
    "a peak rate that the framework divides": ({"context:": "lr_scale: True\ncontext:"}, "schedule.learning_rate"),
    "a fused optimizer": ({"  eps: 1.0e-8": "  eps: 1.0e-8\n  use_fused: True"}, "optimizer.fused"),
    "a window": (
        {"    qk_layernorm: True": "    qk_layernorm: True\n    window_size: [8, 0]"},
        "attention.window_size",
    ),
    "nothing": ({}, None),
    "adapters": (
        {"    qk_layernorm: True": "    qk_layernorm: True\n    pet_config: {pet_type: lora}"},
        "post-training",
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_an_updated_file_keeps_is_a_loss(accmap: Callable[..., Any], tmp_path: Path, name: str) -> None:
    changes, lost = KEPT[name]
    text = YAML
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    target = tmp_path / "run.yaml"
    target.write_text(text, "utf-8")
    words = ("convert", str(EXAMPLES / "qwen3_dense" / "megatron.sh"), "--update", str(target))
    answer = accmap(*words, "--report", "report.json")
    assert answer.code == (0 if lost is None else 1), answer.err
    if lost is None:
        return
    assert f"could not be converted: {lost}\n" in answer.err
    rows = json.loads((tmp_path / "report.json").read_text("utf-8"))["rows"]
    assert [row["status"] for row in rows if row["field"] == lost] in (["dropped"], [])
    assert accmap(*words, "--accept-loss", lost).code == 0


def test_a_word_that_an_updated_script_keeps_could_override_it(accmap: Callable[..., Any], tmp_path: Path) -> None:
    target = tmp_path / "run.sh"
    target.write_text(SCRIPT.rstrip() + " $MORE\n", "utf-8")
    answer = accmap("convert", str(EXAMPLES / "qwen3_dense" / "mindformers.yaml"), "--update", str(target))
    assert answer.code == 1
    assert "could not be converted: $MORE" in answer.err


def test_an_updated_file_is_held_to_running(accmap: Callable[..., Any], tmp_path: Path) -> None:
    source, target = tmp_path / "run.sh", tmp_path / "run.yaml"
    experts = "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 128 --moe-grouped-gemm"
    source.write_text(SCRIPT.rstrip() + f" {experts}\n", "utf-8")
    target.write_text(YAML, "utf-8")
    assert accmap("convert", str(source), "--update", str(target)).code == 0
    assert "routed_scaling_factor: 1.0" in target.read_text("utf-8")
    assert accmap("lint", str(source), str(target)).code == 0
    target.write_text(YAML.replace("context:", "layer_scale: True\ncontext:"), "utf-8")
    answer = accmap("convert", str(source), "--update", str(target))
    assert answer.code == 0
    assert f"{target}: removed layer_scale (True)\n" in answer.err
    assert f"{target}: layer_scale: MindSpore Transformers 1.9 rejects this value in the new run" in answer.err
    assert "together with another value that changed" not in answer.err
    assert accmap("lint", str(source), str(target)).code == 0
    # another key is an alias of it, so it cannot be removed
    shared = YAML.replace("context:", "layer_scale: &on True\nmy_own: *on\ncontext:")
    target.write_text(shared, "utf-8")
    answer = accmap("convert", str(source), "--update", str(target))
    assert answer.code == 2
    assert "will not run: MindSpore Transformers 1.9 rejects this configuration: layer_scale" in answer.err


@pytest.mark.parametrize(
    ("dialect", "written"), [("static", "data_parallel: 1"), ("dynamic", "data_parallel_shard: 1")]
)
def test_an_unknown_number_of_devices_is_said_where_it_stands(
    accmap: Callable[..., Any], tmp_path: Path, dialect: str, written: str
) -> None:
    path = tmp_path / "a.sh"
    path.write_text(SCRIPT.replace("--nproc_per_node 1", "--nproc_per_node $GPUS"), encoding="utf-8")
    answer = accmap("convert", str(path), "--dialect", dialect)
    assert written in answer.out
    first, *more = answer.err.splitlines()
    assert first.startswith(f"{path}:")
    assert "MAP034" in first
    (line,) = [line for line in more if "the smallest number that fits the other parallel sizes" in line]
    assert line.startswith("unresolved (performance)")
    assert "micro_batch_size" in line
    assert "cannot determine the value from the file" not in answer.err
    assert "MAP034" not in accmap("convert", str(path), "-o", str(tmp_path / "config.json")).err
    assert "MAP034" not in accmap("convert", str(path), "--dialect", dialect, "--world-size", "2").err


@pytest.mark.parametrize(
    ("example", "change", "version", "codes"),
    [
        ("qwen3_dense", ("_BATCH=1", "_BATCH=2"), "1.6", {"DEF503", "DEF539"}),
        ("qwen3_dense", ("_BATCH=1", "_BATCH=2"), "1.7", set[str]()),
        ("qwen3_dense", ("", ""), "1.6", {"DEF539"}),
        ("deepseek_v3", ("", ""), "1.6", {"DEF509"}),
    ],
)
def test_a_defect_of_the_target_that_changes_numbers_is_no_success(
    accmap: Callable[..., Any], tmp_path: Path, example: str, change: tuple[str, str], version: str, codes: set[str]
) -> None:
    """`convert` and `pair` name what `lint` of the written files names."""
    text = (EXAMPLES / example / "megatron.sh").read_text("utf-8").replace(*change)
    (tmp_path / "a.sh").write_text(text, "utf-8")
    words = ("a.sh", "--mindformers", version)
    converted = accmap("convert", *words, "-o", "b.yaml", "--report", "r.json")
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    paired = accmap("pair", *words, "-d", "p", "--format", "json")
    found = json.loads(accmap("lint", "b.yaml", "--mindformers", version, "--format", "json").out)["diagnostics"]
    linted = {one["code"] for one in found if one["code"].startswith("DEF") and one["effect"] == "numbers"}
    assert {one["code"] for one in report["defects"]} == linted == codes
    assert {one["code"] for one in json.loads(paired.out)["defects"] if one["file"] == "example.yaml"} == codes
    assert all(f"b.yaml: error {code} " in converted.err for code in codes)
    if codes:
        assert (converted.code, paired.code) == (1, 1)
    lost = {row["field"] for row in report["rows"] if row["status"] in ("approximate", "dropped", "unresolved")}
    accepted = ",".join(sorted(codes | {name for name in lost if name}))
    assert accmap("convert", *words, "-o", "c.yaml", "--accept-loss", accepted or "none").code == 0


def test_an_undecided_value_names_its_own_reason(accmap: Callable[..., Any]) -> None:
    """A word that may hold options leaves every value open; what one value lacks is its own."""
    optional = "if [ -n \"$WANDB\" ]; then MORE='--wandb-project x'; fi\n"
    script = SCRIPT.replace("DATA_PATH=${DATA_PATH:-/data/corpus_text_document}", f"DATA_PATH=$3\n{optional}")
    script = script.replace("--load checkpoints/megatron", "--load $WEIGHTS").replace(
        "    --swiglu", "    --swiglu $MORE"
    )
    answer = accmap("convert", "run.sh", "-o", "run.yaml", files={"run.sh": script})
    assert "data_path: accmap cannot determine the value: the script argument 3 is not set" in answer.err
    assert "load: accmap cannot determine the value: WEIGHTS is not set in the file" in answer.err
    assert "another configuration file" not in answer.err


@pytest.mark.parametrize("name", ["my_scale", "--my-scale"])
def test_the_loss_of_a_declared_flag_is_accepted_by_its_key_and_by_its_name(
    accmap: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.sh").write_text(SCRIPT.replace("--bf16", "--bf16\n    --my-scale 2.0"), encoding="utf-8")
    declared = 'declare = ["my-scale:1:float"]\n'
    (tmp_path / "accmap.toml").write_text(declared, encoding="utf-8")
    assert accmap("convert", "a.sh").code == 1
    (tmp_path / "accmap.toml").write_text(f'{declared}accept-loss = ["{name}"]\n', encoding="utf-8")
    answer = accmap("convert", "a.sh")
    assert answer.code == 0, answer.err
    assert "does not drop" not in answer.err
