"""Megatron-LM's own YAML configuration is read, by itself and where a launch names it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

CASE: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("yaml_cfg_cases.yaml").read_text("utf-8"))
LAUNCHES = ["--yaml-cfg c.yaml --num-layers 99", "--yaml-cfg=c.yaml"]


def shown(accmap, *words: str, files: dict[str, str]) -> dict[str, Any]:
    return json.loads(accmap("show", *words, "--all", "--format", "json", files=files).out)


@pytest.mark.parametrize("launch", LAUNCHES)
def test_a_launch_that_names_one(accmap, launch: str) -> None:
    script = f"torchrun --nproc_per_node 8 pretrain_gpt.py {launch}\n"
    found = shown(accmap, "run.sh", files={"run.sh": script, "c.yaml": CASE["text"]})
    assert found["dialect"] == "megatron-yaml-0.12"
    values = {entry["key"]: entry for entry in found["values"]}
    assert {key: values[key]["value"] for key in CASE["settings"]} == CASE["settings"]
    recipe = json.loads(accmap("recipe", "run.sh", "--format", "json").out)["fields"]
    assert recipe["activation.gated"]["value"] is True
    assert recipe["optimizer.weight_decay"]["value"] is None


def test_the_file_itself_whatever_version_is_asked_for(accmap) -> None:
    found = shown(accmap, "c.yaml", "--megatron", "0.16", "--world-size", "4", files={"c.yaml": CASE["text"]})
    values = {entry["key"]: entry["value"] for entry in found["values"]}
    assert (values["hidden_size"], values["data_parallel_size"]) == (256, 2)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("activation_func: swiglu", "activation_func: relu", "refused-by-validation"),
        ("hidden_size: 256", "hiden_size: 256", "misspelt-argument"),
        ("lr: 2.5e-4", "lr: much", "invalid-value"),
    ],
)
def test_what_is_wrong_with_one(accmap, old: str, new: str, problem: str) -> None:
    found = shown(accmap, "c.yaml", "--world-size", "4", files={"c.yaml": CASE["text"].replace(old, new)})
    assert problem in {one["name"] for one in found["problems"]}


# Each is an `assert` or `raise` of megatron 0.12 training/yaml_arguments.py:validate_yaml, on keys alone.
REFUSED = {
    "lr_warmup_iters == 0": {"train_iters": 9, "lr_warmup_fraction": 0.1, "lr_warmup_iters": 1},
    "hidden_size % num_attention_heads == 0": {"kv_channels": None, "hidden_size": 250},
    "encoder_num_layers is None": {"encoder_num_layers": 2},
    "max_position_embeddings >= decoder_seq_length": {"decoder_seq_length": 1000000},
    "save_interval is not None": {"save": "/x", "save_interval": None},
    "requires fp16 when fp16_lm_cross_entropy": {"fp16_lm_cross_entropy": True, "fp16": False},
    "fp16 or bf16": {"fp32_residual_connection": True, "fp16": False, "bf16": False},
    "start_weight_decay is None": {"weight_decay_incr_style": "constant", "start_weight_decay": 0.1},
    "start_weight_decay is not None": {
        "weight_decay_incr_style": "linear",
        "start_weight_decay": 0.1,
        "end_weight_decay": None,
    },
    "recompute_method is None": {"recompute_granularity": "selective", "recompute_method": "uniform"},
    "recompute_granularity == 'full'": {"distribute_saved_activations": True},
    "use_distributed_optimizer": {"overlap_param_gather": True, "use_distributed_optimizer": False},
    "not apply_rope_fusion": {"rotary_interleaved": True, "apply_rope_fusion": True},
    "num_experts % expert_model_parallel_size": {"num_moe_experts": 3, "expert_model_parallel_size": 2},
    "micro_batch_size > 0": {"micro_batch_size": 0},
    "spec is None": {"num_moe_experts": 4, "spec": "a.b"},
    # core/transformer/transformer_config.py:TransformerConfig.__post_init__, out of the flags' reach.
    "recompute_granularity in": {"recompute_granularity": "none"},
    "recompute_method in": {"recompute_granularity": "full", "recompute_method": "some"},
    "add_bias_linear": {"activation_func": "gelu", "bias_activation_fusion": True},
    "activation_func == 'swiglu'": {"activation_func": "gelu", "activation_func_fp8_input_store": True},
    "not moe_router_topk_limited_devices": {"moe_router_group_topk": 2, "moe_router_topk_limited_devices": 2},
    "not cpu_offloading": {"enable_cuda_graph": True, "cpu_offloading": True},
    "moe_token_dispatcher_type not in": {"moe_token_dispatcher_type": "allgather", "variable_seq_lengths": True},
}


@pytest.mark.parametrize("condition", REFUSED)
def test_what_validate_yaml_refuses(accmap, condition: str) -> None:
    content = yaml.safe_load(CASE["text"])
    for key, value in REFUSED[condition].items():
        section = next((one for one in content.values() if isinstance(one, dict) and key in one), content)
        section[key] = value
    before = accmap("lint", "c.yaml", "--world-size", "4", files={"c.yaml": CASE["text"]}).out
    after = accmap("lint", "c.yaml", "--world-size", "4", files={"c.yaml": yaml.safe_dump(content)})
    assert condition not in before
    assert condition in " ".join(after.out.split())
    assert after.code == 1


# megatron 0.12 training/yaml_arguments.py:validate_yaml reads the variable; a launch inherits what it does not set.
@pytest.mark.parametrize(
    ("before", "parallel", "stops"),
    [
        ("export CUDA_DEVICE_MAX_CONNECTIONS=8\n", 2, True),
        ("export CUDA_DEVICE_MAX_CONNECTIONS=1\n", 2, False),
        ("export CUDA_DEVICE_MAX_CONNECTIONS=8\n", 1, False),
        ("", 2, False),
    ],
)
def test_the_variable_of_the_launch_is_asked(accmap, before: str, parallel: int, stops: bool) -> None:
    text = CASE["text"].replace("tensor_model_parallel_size: 1", f"tensor_model_parallel_size: {parallel}")
    text = text.replace("bf16: True", "bf16: True\n  async_tensor_model_parallel_allreduce: False")
    script = f"{before}torchrun --nproc_per_node 8 pretrain_gpt.py --yaml-cfg c.yaml\n"
    answer = accmap("lint", "run.sh", files={"run.sh": script, "c.yaml": text})
    assert ("CUDA_DEVICE_MAX_CONNECTIONS" in answer.out) == stops


@pytest.mark.parametrize(
    ("form", "on"),
    [("True", True), ("1", True), ("1.0", True), ("2", True), ('"False"', True), ('"no"', True), ("yes", True)]
    + [("False", False), ("0", False), ("-0.0", False), ("null", False), ('""', False), ("[]", False), ("off", False)],
)
def test_the_truth_of_a_switch_is_asked(accmap, form: str, on: bool) -> None:
    """`training/yaml_arguments.py:load_yaml` keeps what YAML makes of a value, and no parser looks at it."""
    text = CASE["text"].replace("add_bias_linear: False", f"add_bias_linear: {form}")
    found = shown(accmap, "c.yaml", "--world-size", "4", files={"c.yaml": text})
    assert next(entry["value"] for entry in found["values"] if entry["key"] == "add_bias_linear") is on
    recipe = json.loads(accmap("recipe", "c.yaml", "--format", "json").out)["fields"]
    assert recipe["model.bias_linear"]["value"] is on


def test_one_that_is_not_there(accmap) -> None:
    answer = accmap("show", "run.sh", files={"run.sh": "python pretrain_gpt.py --yaml-cfg nowhere.yaml\n"})
    assert answer.code == 2
    assert "nowhere.yaml" in answer.err
