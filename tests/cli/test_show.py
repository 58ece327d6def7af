"""`accmap show` as a user runs it: both frameworks, both forms of answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from accmap.cli.outputs import ShowJson

SCRIPT = """\
#!/bin/bash
GPUS=${GPUS:-8}
ARGS=(
    --num-layers 2
    --hidden-size 64 --num-attention-heads 4
    --seq-length 128 --max-position-embeddings 128
    --micro-batch-size 1 --global-batch-size 16
    --lr $RATE
    --train-iters 10 --data-path "$DATA/corpus"
    --surprising-fork-flag 3
)
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node $GPUS pretrain_gpt.py "${ARGS[@]}" 2>&1 | tee log.txt
"""

YAML = """\
seed: 42
use_legacy: False
run_mode: 'train'
runner_config:
  epochs: 1
  batch_size: 1
parallel_config:
  data_parallel: 2
  pipeline_stage: 1
optimizer:
  type: AdamW
  eps: 1e-8
model:
  model_config:
    model_type: qwen3
    architectures: ['Qwen3ForCausalLM']
    num_hidden_layers: 2
    hidden_size: 64
    num_experts_chosen: 2
"""


def values(answer) -> dict[str, dict[str, object]]:
    return {value["key"]: value for value in json.loads(answer.out)["values"]}


def test_a_script_in_json(accmap) -> None:
    answer = accmap("show", "run.sh", "--format", "json", files={"run.sh": SCRIPT})
    assert answer.code == 0
    whole = json.loads(answer.out)
    ShowJson.model_validate(whole)
    assert whole["framework"] == "megatron"
    assert whole["framework_version"] == "0.12"
    assert whole["launch"]["launcher"] == "torchrun"
    assert whole["launch"]["world_size"] == 8
    assert whole["launch"]["env"]["CUDA_DEVICE_MAX_CONNECTIONS"] == "1"
    assert whole["launch"]["argv"][:2] == ["--num-layers", "2"]
    found = values(answer)
    assert found["num_layers"]["origin"] == "explicit"
    assert found["num_layers"]["span"]["line"] == 4
    assert found["ffn_hidden_size"] | {"span": None} == {
        "key": "ffn_hidden_size", "value": 256, "raw": None, "origin": "derived", "derived_from": ["hidden_size"],
        "flag": None, "span": None,
    }  # fmt: skip
    assert found["data_parallel_size"]["value"] == 8
    assert found["adam_beta1"]["origin"] == "default"
    assert found["surprising_fork_flag"]["value"] == ["3"]
    assert found["lr"]["value"] is None
    assert found["lr"]["origin"] == "explicit"
    undecided = {entry["text"]: entry for entry in whole["unresolved"]}
    assert undecided["$RATE"]["may_split"] is True
    assert undecided["$RATE"]["span"]["line"] == 8
    assert undecided["$DATA/corpus"]["may_split"] is False
    assert any("surprising-fork-flag" in problem["message"] for problem in whole["problems"])


def test_variables_and_positional_parameters_decide(accmap) -> None:
    answer = accmap(
        "show", "run.sh", "--var", "RATE=1e-4", "--var", "GPUS=4", "--var=DATA=/d", "--format", "json",
        files={"run.sh": SCRIPT},
    )  # fmt: skip
    found = values(answer)
    assert found["lr"]["value"] == 1e-4
    assert found["data_path"]["value"] == ["/d/corpus"]
    assert json.loads(answer.out)["launch"]["world_size"] == 4
    assert json.loads(answer.out)["unresolved"] == []


def test_the_process_environment_is_read_only_when_asked(accmap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RATE", "0.5")
    assert values(accmap("show", "run.sh", "--format", "json", files={"run.sh": SCRIPT}))["lr"]["value"] is None
    assert values(accmap("show", "run.sh", "--format", "json", "--env"))["lr"]["value"] == 0.5


def test_explicit_and_only(accmap) -> None:
    explicit = values(accmap("show", "run.sh", "--format", "json", "--explicit", files={"run.sh": SCRIPT}))
    assert "num_layers" in explicit
    assert "adam_beta1" not in explicit
    only = values(accmap("show", "run.sh", "--format", "json", "--only", "*_size"))
    assert set(only) >= {"hidden_size", "world_size"}
    assert all("_size" in key for key in only)


def test_standard_input_has_a_name(accmap) -> None:
    answer = accmap("show", "-", "--stdin-filename", "remote/run.sh", "--format", "json", stdin=SCRIPT)
    assert json.loads(answer.out)["file"] == "remote/run.sh"
    assert "num_layers" in accmap("show", "-", stdin="--num-layers 2 --hidden-size 64").out


def test_the_page_for_a_person(accmap) -> None:
    answer = accmap("show", "run.sh", files={"run.sh": SCRIPT})
    assert answer.code == 0
    assert answer.err == ""
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert "run.sh megatron 0.12 (arguments)" in lines
    assert "num_layers 2 explicit :4:5" in lines
    assert "ffn_hidden_size 256 derived from hidden_size" in lines
    assert any(line.startswith("lr $RATE (unresolved) explicit :8:") for line in lines)
    assert not any(line.startswith("adam_beta1") for line in lines)
    assert "adam_beta1" in accmap("show", "run.sh", "--all").out
    assert "未解析" in accmap("show", "run.sh", "--lang", "zh").out


def test_a_yaml_in_json(accmap) -> None:
    answer = accmap("show", "run.yaml", "--format", "json", files={"run.yaml": YAML})
    assert answer.code == 0
    whole = json.loads(answer.out)
    ShowJson.model_validate(whole)
    assert (whole["framework"], whole["framework_version"], whole["dialect"]) == ("mindformers", "1.9", "static")
    found = values(answer)
    assert found["model.model_config.num_hidden_layers"]["value"] == 2
    assert found["resolved.transformer.num_layers"]["value"] == 2
    assert found["resolved.transformer.num_layers"]["derived_from"] == ["model.model_config.num_hidden_layers"]
    assert found["model.model_config.num_experts_chosen"]["acceptance"] == "ignored"
    assert found["optimizer.eps"]["value"] == "1e-8"
    messages = [(problem["code"], problem["span"]["line"]) for problem in whole["problems"] if problem["span"]]
    assert any(line == 12 for _, line in messages)
    assert any(line == 19 for _, line in messages)


def test_a_launch_script_is_followed_to_its_yaml(accmap) -> None:
    script = (
        'export HCCL_DETERMINISTIC=true\nbash scripts/msrun_launcher.sh "run_mindformer.py '
        '--config conf/run.yaml --run_mode finetune" 2\n'
    )
    answer = accmap("show", "go.sh", "--format", "json", files={"go.sh": script, "conf/run.yaml": YAML})
    assert answer.code == 0
    whole = json.loads(answer.out)
    ShowJson.model_validate(whole)
    assert whole["file"] == "go.sh"
    assert whole["launch"]["script"].endswith("run_mindformer.py")
    assert whole["launch"]["world_size"] == 2
    assert whole["launch"]["env"]["HCCL_DETERMINISTIC"] == "true"
    found = values(answer)
    assert found["run_mode"]["value"] == "finetune"
    assert found["model.model_config.hidden_size"]["span"]["file"] == "conf/run.yaml"


def test_a_launch_whose_yaml_cannot_be_decided_is_refused_with_its_place(accmap) -> None:
    answer = accmap("show", "go.sh", files={"go.sh": "python run_mindformer.py --config $CFG\n"})
    assert answer.code == 2
    assert answer.err.startswith("go.sh:1:35: MAP079")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.sh": "echo nothing to launch\n"}, "SYN001 accmap found no launch of a training program"),
        ({"a.sh": 'python pretrain_gpt.py --num-layers "2\n'}, "a.sh:1:"),
        ({"a.yaml": "a: [1, 2\nb: 3\n"}, "a.yaml:"),
        ({"a.yaml": "a:\n\t- 1\n"}, "a.yaml:2:1"),
        ({"a.yaml": "- 1\n- 2\n"}, "a.yaml"),
        ({"a.txt": "just some words"}, "a.txt"),
        ({"a.yaml": "[" * 10_000}, "a.yaml"),
        ({"a.sh": "$(" * 10_000}, "a.sh"),
        ({"a.json": "[1, 2"}, "a.json"),
    ],
)
def test_what_cannot_be_read_is_one_clear_message(accmap, files: dict[str, str], said: str) -> None:
    name = next(iter(files))
    answer = accmap("show", name, "--format", "json", files=files)
    assert answer.code == 2, answer
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1
    assert answer.out == ""


@pytest.mark.parametrize("option", [("--megatron", "0.3"), ("--launch", "9"), ("--launch", "0"), ("--var", "=x")])
def test_wrong_options_are_told(accmap, option: tuple[str, str]) -> None:
    answer = accmap("show", "run.sh", *option, files={"run.sh": SCRIPT})
    assert answer.code == 2
    assert answer.err


def test_what_json_or_the_terminal_cannot_say_is_spelled_out(accmap) -> None:
    text = "use_legacy: False\nmodel:\n  a: 2020-01-02\n  c: !!set {y, x}\n  d: .nan\n  e: 权重\n"
    found = values(accmap("show", "odd.yaml", "--format", "json", files={"odd.yaml": text}))
    assert found["model.a"]["value"] == "2020-01-02"
    assert found["model.c"]["value"] == ["x", "y"]
    assert found["model.d"]["value"] == "nan"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "accmap", "show", "odd.yaml", "--format", "json"],
        capture_output=True, env=environment, check=True,
    )  # fmt: skip
    assert {value["key"]: value["value"] for value in json.loads(done.stdout)["values"]}["model.e"] == "权重"


@pytest.mark.parametrize("command", ["show", "recipe"])
def test_no_value_and_no_key_is_cut(accmap, command: str) -> None:
    names = " ".join(f"/data/part-{number:02}/text_document" for number in range(12))
    script = SCRIPT.replace('"$DATA/corpus"', names).replace("$RATE", "1e-4")
    done = accmap(command, "run.sh", files={"run.sh": script})
    assert "…" not in done.out
    assert all(name in done.out for name in names.split())
