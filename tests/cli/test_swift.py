"""ms-swift's own command is read as a dialect: its options, its defaults, and what its code makes of them."""

from __future__ import annotations

import json

import pytest

MODEL = {
    "model_type": "qwen3",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 512,
    "transformers_version": "4.57.1",
}
RUN = (
    "NPROC_PER_NODE=2 megatron pt --model m --dataset d --micro_batch_size 1 --global_batch_size 8 --train_iters 100 "
    "--lr 1e-5 --lr_warmup_iters 5 --min_lr 1e-6 --max_length 256 --bf16 true --output_dir out\n"
)


def test_a_yaml_that_is_not_there(accmap) -> None:
    answer = accmap("show", "run.sh", files={"run.sh": "megatron sft nowhere.yaml\n"})
    assert answer.code == 2
    assert "nowhere.yaml" in answer.err


@pytest.mark.parametrize("text", ["- a\n", "just words\n", "", "a: [\n"])
def test_a_yaml_that_holds_no_options(accmap, text: str) -> None:
    answer = accmap("show", "run.sh", "--format", "json", files={"run.sh": "megatron sft a.yaml\n", "a.yaml": text})
    assert answer.code == 2
    assert answer.err.startswith("a.yaml")


@pytest.mark.parametrize("value", ["{a: 2024-01-01}", "{a: !!binary aGk=}", "{a: !!set {b}}"])
def test_a_value_that_json_has_not(accmap, value: str) -> None:
    files = {"run.sh": "megatron sft a.yaml\n", "a.yaml": f"model: m\nmodel_kwargs: {value}\n"}
    answer = accmap("show", "run.sh", "--format", "json", files=files)
    assert answer.code == 2
    assert answer.err.startswith("a.yaml:2:")


def test_a_model_beside_it_makes_a_run(accmap) -> None:
    files = {"run.sh": RUN, "m/config.json": json.dumps(MODEL)}
    answer = accmap("convert", "m", "--base", "run.sh", "--to", "mindformers", "-o", "run.yaml", files=files)
    assert answer.code == 1
    assert answer.err.partition("\n")[0].startswith("run.sh: This is continued pretraining with ms-swift")
    written = json.loads(accmap("recipe", "run.yaml", "--format", "json").out)["fields"]
    wanted = {"model.num_layers": 4, "batch.global_size": 8, "schedule.learning_rate": 1e-5, "run.train_steps": 100}
    assert {name: written[name]["value"] for name in wanted} == wanted
    diff = json.loads(accmap("diff", "run.yaml", "m", "--format", "json").out)
    assert [row["field"] for row in diff["rows"] if row["status"] == "different"] == []


def test_the_model_alone_is_what_is_undecided(accmap) -> None:
    accmap("diff", "run.sh", "m", files={"run.sh": RUN, "m/config.json": json.dumps(MODEL)})
    rows = json.loads(accmap("diff", "run.sh", "m", "--format", "json").out)["rows"]
    assert [row["field"] for row in rows if row["status"] == "different"] == []
    assert "model.num_layers" in [row["field"] for row in rows if row["status"] == "undecided"]
