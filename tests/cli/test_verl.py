"""verl's Hydra overrides with Megatron Core's engine are read as a dialect, as reinforcement learning."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Accmap = Callable[..., Any]

WORDS = (
    "python3 -m verl.trainer.main_ppo --config-path=config --config-name='ppo_megatron_trainer.yaml' "
    "data.train_batch_size=64 data.max_prompt_length=512 data.max_response_length=1536 "
    "actor_rollout_ref.model.path=Qwen3-0.6B actor_rollout_ref.rollout.n=4 "
    "actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 "
    "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 trainer.n_gpus_per_node=8 trainer.nnodes=1 "
    "algorithm.adv_estimator=grpo "
)
ACTOR = "actor_rollout_ref.actor."
OPEN = ("model.num_layers", "activation.function", "norm.type", "attention.num_heads")
"""What the model's folder decides, whatever defaults Megatron-LM has."""
TRANSFORMER = f"{ACTOR}megatron.override_transformer_config."


def shown(accmap: Accmap, more: str) -> dict[str, Any]:
    answer = accmap("show", "run.sh", "--format", "json", files={"run.sh": WORDS + more + "\n"})
    return json.loads(answer.out)


@pytest.mark.parametrize(
    ("more", "values"),
    [
        (
            "",
            {
                "world_size": 8, "data_parallel_size": 4, "global_batch_size": 256, "micro_batch_size": 2, "lr": 1e-6,
                "seq_length": 2048, "bf16": True, "sequence_parallel": True, "weight_decay": 0.01, "seed": 42,
                "lr_decay_style": "constant", "attention_backend": "flash", "tokenizer_model": "Qwen3-0.6B",
                "train_iters": None, "lr_warmup_iters": 0, "num_layers": None, "num_experts": None, "adam_beta2": 0.999,
                "masked_softmax_fusion": True,
            },
        ),
        (f"{ACTOR}megatron.tensor_model_parallel_size=1", {"sequence_parallel": False, "data_parallel_size": 8}),
        (f"{ACTOR}use_dynamic_bsz=True", {"micro_batch_size": None}),
        (f"{ACTOR}optim.lr_warmup_steps=10", {"lr_warmup_iters": 10}),
        (f"{ACTOR}optim.lr_warmup_steps=null", {"lr_warmup_iters": 0}),
        (f"{ACTOR}optim.lr_warmup_steps=10 {ACTOR}ppo_mini_batch_size=16", {"lr_warmup_iters": None}),
        ("trainer.total_training_steps=30", {"train_iters": 30, "lr_decay_iters": 30}),
        (f"+{ACTOR}optim.override_optimizer_config.adam_beta2=0.95", {"adam_beta2": 0.95}),
        (
            f"{ACTOR}megatron.dtype=float16",
            {
                "bf16": False, "fp16": True, "params_dtype": "float16", "use_precision_aware_optimizer": True,
                "initial_loss_scale": 32768, "min_loss_scale": 1,
            },
        ),
        (
            f"++{ACTOR}megatron.override_ddp_config.grad_reduce_in_fp32=True",
            {"accumulate_allreduce_grads_in_fp32": True},
        ),
        (
            (
                f"+{TRANSFORMER}moe_router_dtype=fp32 +{TRANSFORMER}num_layers_in_last_pipeline_stage=3 "
                f"{TRANSFORMER}recompute_granularity=full +{TRANSFORMER}attention_dropout=0.1"
            ),
            {
                "moe_router_dtype": "fp32", "decoder_last_pipeline_num_layers": 3, "recompute_granularity": "full",
                "attention_dropout": 0.1, "hidden_dropout": None,
            },
        ),
    ],
)  # fmt: skip
def test_what_its_code_makes_of_the_keys(accmap: Accmap, more: str, values: dict[str, object]) -> None:
    answer = shown(accmap, more)
    assert answer["dialect"] == "verl-0.7"
    found = {entry["key"]: entry["value"] for entry in answer["values"]}
    assert {key: found[key] for key in values} == values
    recipe = json.loads(accmap("recipe", "run.sh", "--format", "json").out)["fields"]
    undecided = [name for name in OPEN if recipe[name]["value"] is not None]
    assert undecided == []
    problems: list[dict[str, str]] = answer["problems"]
    assert [one["message"] for one in problems if one["severity"] in ("error", "warning")] == []
    assert problems[0]["name"] == "post-training"


AWARE = f"{ACTOR}optim.use_precision_aware_optimizer=True {ACTOR}optim.main_grads_dtype="


@pytest.mark.parametrize(
    ("more", "values"),
    [
        (
            "",
            {
                "data_parallel_size": 4, "global_batch_size": 256, "micro_batch_size": 2, "main_grads_dtype": "float32",
                "accumulate_allreduce_grads_in_fp32": True, "use_precision_aware_optimizer": False,
                "moe_router_load_balancing_type": "none", "calculate_per_token_loss": False,
            },
        ),
        (
            f"{AWARE}bf16",
            {
                "accumulate_allreduce_grads_in_fp32": False, "use_precision_aware_optimizer": True,
                "main_grads_dtype": "bfloat16", "exp_avg_dtype": "float32",
            },
        ),
        (f"{AWARE}fp32", {"accumulate_allreduce_grads_in_fp32": True, "main_grads_dtype": "float32"}),
        (
            f"{AWARE}bf16 +{ACTOR}optim.override_optimizer_config.main_grads_dtype=float32",
            {"main_grads_dtype": "float32"},
        ),
        (f"{ACTOR}megatron.vanilla_mbridge=True", {"moe_router_load_balancing_type": None}),
        (f"{ACTOR}megatron.dynamic_context_parallel=True", {"calculate_per_token_loss": True}),
        # The trainer fills 320 samples up to two updates of 256.
        ("data.train_batch_size=80 trainer.total_training_steps=30", {"train_iters": 60}),
        ("trainer.total_training_steps=30 trainer.v1.trainer_mode=separate_async", {"train_iters": None}),
    ],
)  # fmt: skip
def test_what_the_code_of_0_9_makes_of_the_keys(accmap: Accmap, more: str, values: dict[str, object]) -> None:
    words = ("show", "run.sh", "--megatron", "verl-0.9", "--format", "json")
    answer = json.loads(accmap(*words, files={"run.sh": WORDS + more + "\n"}).out)
    assert (answer["dialect"], answer["framework_version"]) == ("verl-0.9", "0.18")
    found = {entry["key"]: entry["value"] for entry in answer["values"]}
    assert {key: found[key] for key in values} == values


def test_a_key_of_0_9_alone_names_that_version(accmap: Accmap) -> None:
    assert shown(accmap, f"{ACTOR}optim.muon_momentum=0.9")["dialect"] == "verl-0.9"
    text = f"{WORDS} {ACTOR}ppo_mini_batch_size=1 trainer.nnodes=4 data.train_batch_size=8\n"
    answer = accmap("lint", "--megatron", "verl-0.9", "b.sh", files={"b.sh": text})
    assert answer.code == 1
    assert "ppo_mini_batch_size" in answer.out


@pytest.mark.parametrize(
    ("more", "code", "word"),
    [
        (f"+{TRANSFORMER}moe_router_dtyp=fp32", "MAP026", "moe_router_dtype"),
        ("+reward_model.reward_kwargs.shade=2", "MAP002", "shade"),
        # workers/config/optimizer.py has them, and utils/megatron/optimizer.py:init_megatron_optim_config hands none on
        (f"{ACTOR}optim.betas=[0.9,0.95]", "MAP033", "betas"),
    ],
)
def test_what_it_does_not_take_is_named(accmap: Accmap, more: str, code: str, word: str) -> None:
    answer = shown(accmap, more)
    problems: list[dict[str, str]] = answer["problems"]
    told = [one for one in problems if one["severity"] in ("error", "warning")]
    assert [one["code"] for one in told] == [code]
    assert word in told[0]["message"]
    found = {entry["key"]: entry["value"] for entry in answer["values"]}
    assert found["adam_beta2"] == 0.999


@pytest.mark.parametrize(
    "more",
    [
        "trainer.n_gpus_per_node=3",
        # protocol.py:DataProto.make_iterator, DataProto.chunk; utils/config.py:validate_config
        f"{ACTOR}ppo_mini_batch_size=12",
        f"{ACTOR}ppo_mini_batch_size=128",
        f"{ACTOR}ppo_mini_batch_size=0",
        "actor_rollout_ref.rollout.n=1 data.train_batch_size=66",
        f"{ACTOR}ppo_micro_batch_size_per_gpu=3",
    ],
)
def test_a_run_that_cannot_be_cut_is_refused(accmap: Accmap, more: str) -> None:
    problems = shown(accmap, more)["problems"]
    assert {one["code"] for one in problems if one["severity"] == "error"} == {"MAP030"}


@pytest.mark.parametrize(
    ("more", "refused"),
    [
        ("", []),
        (f"{ACTOR}megatron.dtype=float16", []),
        (f"+{ACTOR}optim.override_optimizer_config.main_grads_dtype=bf16", ["main_grads_dtype"]),
        (
            (
                f"+{ACTOR}optim.override_optimizer_config.main_grads_dtype=bf16 "
                f"+{ACTOR}optim.override_optimizer_config.use_precision_aware_optimizer=True"
            ),
            [],
        ),
    ],
)
def test_the_types_of_the_optimizer_are_refused_only_if_the_launch_sets_them(
    accmap: Accmap, more: str, refused: list[str]
) -> None:
    answer = accmap("lint", "run.sh", "--format", "json", files={"run.sh": WORDS + more + "\n"})
    reasons = [one["message"] for one in json.loads(answer.out)["diagnostics"] if one["code"] == "MAP126"]
    assert [next(name for name in reason.split() if name.endswith("_dtype")) for reason in reasons] == refused


def test_an_update_takes_as_many_samples_of_every_rank(accmap: Accmap) -> None:
    """workers/megatron_workers.py:ActorRolloutRefWorker.__init__ floors the samples of a rank: 4·6 // 16 is 1."""
    words = f"trainer.nnodes=4 {ACTOR}ppo_mini_batch_size=6 {ACTOR}ppo_micro_batch_size_per_gpu=1 "
    words += "trainer.total_training_steps=3"
    found = {entry["key"]: entry["value"] for entry in shown(accmap, words)["values"]}
    assert (found["global_batch_size"], found["train_iters"]) == (16, 48)


def test_a_group_and_a_deleted_key_are_hydras_words(accmap: Accmap) -> None:
    answer = shown(
        accmap, f"model_engine=megatron ~{ACTOR}optim.clip_grad ~{ACTOR}optim.lr=1e-6 ++{ACTOR}megatron.seed=7"
    )
    assert [one["code"] for one in answer["problems"] if one["severity"] == "error"] == []
    found = {entry["key"]: entry["value"] for entry in answer["values"]}
    assert {key: found[key] for key in ("clip_grad", "lr", "seed")} == {"clip_grad": None, "lr": None, "seed": 7}


def test_another_file_of_a_group_leaves_what_is_read_open(accmap: Accmap) -> None:
    problems = shown(accmap, "optim@actor_rollout_ref.actor.optim=megatron")["problems"]
    told = [one["message"] for one in problems if one["severity"] in ("error", "warning")]
    assert [("group" in message, "cannot determine" in message) for message in told] == [(True, True)]


@pytest.mark.parametrize("word", ["actor_rollout_ref", "+++trainer.nnodes=1", "trainer..nnodes=1", "0a=1", "a:b=1"])
def test_what_hydras_parser_refuses_is_said_of_hydra(accmap: Accmap, word: str) -> None:
    """hydra-core 1.3.8 core/override_parser/overrides_parser.py:OverridesParser.parse_override refuses each."""
    told = [one for one in shown(accmap, word)["problems"] if one["severity"] == "error"]
    assert [one["code"] for one in told] == ["MAP003"]
    assert "Hydra" in told[0]["message"]


@pytest.mark.parametrize("word", [f"{ACTOR}strategy=$ENGINE", "$KEY=3", "~$KEY", f"~{ACTOR}optim.lr=$RATE"])
def test_a_word_that_the_shell_decides_is_no_other_one(accmap: Accmap, word: str) -> None:
    answer = shown(accmap, word)
    assert answer["dialect"] == "verl-0.7"
    assert [one["message"] for one in answer["problems"] if one["severity"] == "error"] == []


def test_the_engine_may_be_said_again(accmap: Accmap) -> None:
    assert shown(accmap, f"{ACTOR}strategy=fsdp {ACTOR}strategy=megatron")["dialect"] == "verl-0.7"


@pytest.mark.parametrize(
    "launch",
    [
        f"python3 -m verl.trainer.main_ppo {ACTOR}strategy=fsdp2 {ACTOR}optim.lr=1e-6",
        "python3 -m verl.trainer.main_ppo --config-name=ppo_trainer",
        f"{WORDS}{ACTOR}strategy=fsdp",
        f"{WORDS}{ACTOR}strategy=megatron ++{ACTOR}strategy='fsdp2'",
    ],
)
def test_another_engine_is_no_run_of_megatron(accmap: Accmap, launch: str) -> None:
    answer = accmap("show", "run.sh", "--format", "json", files={"run.sh": f"{launch}\n"})
    shown_ = json.loads(answer.out)
    assert shown_["dialect"] == "arguments"
    assert "Hydra" in shown_["problems"][0]["message"]


def test_the_training_is_read_and_not_the_conversion_before_it(accmap: Accmap) -> None:
    script = f"python scripts/converter_hf_to_mcore.py --hf_model_path m --output_path o\n{WORDS}\n"
    answer = accmap("show", "run.sh", "--format", "json", files={"run.sh": script})
    assert json.loads(answer.out)["dialect"] == "verl-0.7"


NETWORK = {
    "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 1000, "hidden_size": 64,
    "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 16,
}  # fmt: skip


def test_with_the_models_folder_the_run_becomes_whole(accmap: Accmap) -> None:
    words = f"{WORDS}+{TRANSFORMER}apply_rope_fusion=True\n"
    files = {"run.sh": words, "config.json": json.dumps(NETWORK)}
    answer = accmap("convert", "config.json", "--base", "run.sh", "--to", "mindformers", "-o", "run.yaml", files=files)
    assert answer.code == 1, answer.err
    assert answer.err.startswith("run.sh: This is reinforcement learning with verl")
    for lost in ("algorithm_adv_estimator", "data_train_batch_size"):
        assert lost in answer.err
    written = json.loads(accmap("recipe", "run.yaml", "--format", "json").out)["fields"]
    told = {"model.num_layers": 4, "batch.global_size": 256, "schedule.learning_rate": 1e-6, "parallel.tensor_size": 2}
    assert {name: written[name]["value"] for name in told} == told
    assert "apply_rope_fusion:" not in Path("run.yaml").read_text("utf-8")


def test_a_network_that_is_not_known_is_said_and_never_contradicted(accmap: Accmap) -> None:
    words = f"{WORDS}actor_rollout_ref.model.mtp.enable=True\n"
    answer = accmap("convert", "run.sh", "-o", "run.yaml", files={"run.sh": words})
    assert answer.code == 1, answer.err
    assert "The file does not determine whether the model uses latent attention" in answer.err
