"""What loads and cannot run: it is neither converted nor written, and said first; `lint` has an error for it.

The conditions are `mappings/stops.yaml`, whose rows name the code that stops; each was seen in the sources it names.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from accmap.mapper.preconditions import stops
from accmap.mapper.recipe.vocabulary import vocabulary

if TYPE_CHECKING:
    from pathlib import Path

LATENT = (
    "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
    "--multi-latent-attention --q-lora-rank 32 --kv-lora-rank 32 --qk-head-dim 16 --qk-pos-emb-head-dim 8 "
    "--v-head-dim 16 --position-embedding-type rope --seq-length 128 --max-position-embeddings 128 "
    "--micro-batch-size 1 --train-iters 10 --lr 1e-4 --vocab-size 1023 --tokenizer-type NullTokenizer --data-path /d "
    "--eval-interval 10 --qk-layernorm --normalization RMSNorm --swiglu --disable-bias-linear "
    "--untie-embeddings-and-output-weights "
)
YAML = """use_legacy: False
run_mode: train
trainer: {type: CausalLanguageModelingTrainer, model_name: deepseekV3}
runner_config: {epochs: 1, batch_size: 1}
parallel_config: {data_parallel: 1}
lr_schedule: {type: ConstantWarmUpLR, learning_rate: 1.0e-4, warmup_steps: 0}
train_dataset: {input_columns: [input_ids, labels, loss_mask, position_ids],
  data_loader: {type: BlendedMegatronDatasetDataLoader, datasets_type: GPTDataset, sizes: [100, 0, 0],
  config: {seq_length: 128, data_path: [/d], split: "1,0,0", eod_mask_loss: False, reset_position_ids: False,
  reset_attention_mask: False, create_attention_mask: False}}}
model:
  model_config: {model_type: deepseek_v3, architectures: [DeepseekV3ForCausalLM], num_hidden_layers: 2, hidden_size: 64,
    num_attention_heads: 4, intermediate_size: 128, vocab_size: 1024, seq_length: 128, max_position_embeddings: 128,
    first_k_dense_replace: 0, n_routed_experts: 8, moe_intermediate_size: 32, moe_grouped_gemm: True,
    mtp_loss_scaling_factor: 0.1, MORE}
"""


def test_the_rows_name_what_there_is() -> None:
    assert len({(stop.name, stop.side) for stop in stops()}) == len(stops())
    named = {condition[0] for stop in stops() for condition in stop.when if not condition[0].startswith(":")}
    assert named <= set(vocabulary())
    assert {stop.rule for stop in stops()} <= {None, "NET032", "DEF024", "PAR012"}


# A functional-test recipe of Megatron-LM 0.15 (reruns_resume_check_grads) has --adam-beta1 0.
STATIC = ("--mindformers", "1.9")
REFUSED_THERE = {"a.sh": LATENT + "--no-rope-fusion --adam-beta1 0.0\n"}


def test_what_would_stop_is_not_written(accmap, tmp_path: Path) -> None:
    words = ("convert", "a.sh", "-o", "b.yaml", "--report", "r.json", *STATIC)
    answer = accmap(*words, files=REFUSED_THERE)
    assert answer.code == 2
    assert {path.name for path in tmp_path.iterdir()} == {"a.sh"}
    assert answer.err.splitlines()[0].startswith("b.yaml will not run: ")
    assert ". The closest settings that work are " in answer.err.splitlines()[0]
    assert "--write-anyway" in answer.err.splitlines()[1]
    assert accmap(*words, "--write-anyway").code == 1
    assert (tmp_path / "b.yaml").exists()
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    found = [(entry["code"], entry["subject"]) for entry in report["will_not_run"]]
    assert found == [("first-moment-of-nothing", "optimizer")]


def test_a_pair_that_would_stop_is_not_written(accmap, tmp_path: Path) -> None:
    assert accmap("pair", "a.sh", "-d", "p", *STATIC, files=REFUSED_THERE).code == 2
    assert not (tmp_path / "p").exists()
    assert accmap("pair", "a.sh", "-d", "p", *STATIC, "--write-anyway").code == 1
    assert (tmp_path / "p" / "example.yaml").exists()


def test_a_file_that_would_stop_is_not_brought_up_to_date(accmap, tmp_path: Path) -> None:
    accmap("convert", "a.sh", "-o", "b.yaml", *STATIC, files={"a.sh": LATENT + "--no-rope-fusion\n"})
    old = (tmp_path / "b.yaml").read_text("utf-8")
    answer = accmap("convert", "a.sh", "--update", "b.yaml", files=REFUSED_THERE)
    assert answer.code == 2
    assert (tmp_path / "b.yaml").read_text("utf-8") == old


def test_what_the_source_leaves_open_is_still_to_be_filled_in(accmap, tmp_path: Path) -> None:
    files = {"a.sh": LATENT.replace("--lr 1e-4", "--lr $LR") + "--no-rope-fusion\n"}
    answer = accmap("convert", "a.sh", "-o", "b.yaml", *STATIC, files=files)
    assert answer.code == 1
    assert "requires learning_rate" in answer.err
    assert (tmp_path / "b.yaml").exists()


@pytest.mark.parametrize("words", [("convert", "-o", "b.yaml"), ("pair", "-d", "p"), ("verify", "a.sh")])
def test_where_the_source_stops_there_is_no_run_to_equal(accmap, tmp_path: Path, words: tuple[str, ...]) -> None:
    answer = accmap(words[0], "a.sh", *words[1:], files={"a.sh": LATENT + "\n"})
    assert answer.code == 2
    assert "cannot start this run: " in answer.err.splitlines()[0]
    assert {path.name for path in tmp_path.iterdir()} == {"a.sh"}


def test_a_refusal_names_a_version_that_was_assumed(accmap) -> None:
    """Another version may accept the run: the reader must know that nothing named this one."""
    files = {"a.sh": LATENT + "\n"}
    assert "Megatron-LM 0.12 (assumed) cannot start" in accmap("convert", "a.sh", "-o", "b.yaml", files=files).err
    assert "Megatron-LM 0.12（假定）无法启动" in accmap("convert", "a.sh", "-o", "b.yaml", "--lang", "zh").err
    assert "Megatron-LM 0.12 cannot start" in accmap("convert", "a.sh", "-o", "b.yaml", "--megatron", "0.12").err
    assert (
        "Megatron-LM 0.12 无法启动"
        in accmap("convert", "a.sh", "-o", "b.yaml", "--megatron", "0.12", "--lang", "zh").err
    )


def test_what_the_source_refuses_imports_no_arrays(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(LATENT + "\n", "utf-8")
    code = "import sys; from accmap.cli.lean import main; print(main(sys.argv[1:]), 'numpy' in sys.modules)"
    command = [sys.executable, "-c", code, "verify", "a.sh", "a.sh"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "2 False\n"


@pytest.mark.parametrize("words", ["show a.sh", "recipe a.sh", "lr a.sh", "diff a.sh a.sh"])
def test_what_answers_about_a_run_that_stops_says_so_first(accmap, words: str) -> None:
    answer = accmap(*words.split(), files={"a.sh": LATENT + "\n"})
    assert answer.code == 0
    assert "Megatron-LM 0.12 cannot start this run: " in answer.err.splitlines()[0]
    assert answer.out


# A bad warm-up does not stop a checkpoint, nor a wrong network the data.
@pytest.mark.parametrize(
    ("words", "stops"),
    [("--num-experts 2 --moe-router-topk 4", "dump"), ("--lr-warmup-init 1.0", ""), ("--global-batch-size 0", "data")],
)
def test_each_command_asks_for_its_own_subjects(accmap, words: str, stops: str) -> None:
    files = {"a.sh": f"{LATENT} --no-rope-fusion {words}\n"}
    answers = {
        "dump": accmap("dump", "config", "a.sh", "-d", "d", files=files),
        "data": accmap("data", "check", "a.sh", files=files),
    }
    assert [name for name, one in answers.items() if "cannot start this run" in one.err] == [stops] * bool(stops)


# Megatron 0.12 core/optimizer/optimizer_config.py:OptimizerConfig.__post_init__, which training.py makes.
@pytest.mark.parametrize(
    ("words", "stops", "rewritten_stops"),
    [
        ("--exp-avg-dtype fp16", True, True),
        # An argument of a fork may change what its optimizer takes. What pair writes has neither argument.
        ("--exp-avg-dtype fp16 --of-a-fork", False, False),
        ("--exp-avg-dtype fp16 --skip-train", False, False),
    ],
)
def test_an_optimizer_that_the_source_cannot_build(
    accmap, tmp_path: Path, words: str, stops: bool, rewritten_stops: bool
) -> None:
    files = {"a.sh": f"{LATENT} --no-rope-fusion {words}\n"}
    answer = accmap("convert", "a.sh", "-o", "b.yaml", files=files)
    said = "cannot start this run: the run requires exp_avg_dtype == 'float32' when not use_precision_aware_optimizer"
    assert (said in answer.err, answer.code == 2) == (stops, stops)
    paired = accmap("pair", "a.sh", "-d", "p")
    why = "example.sh will not run: the run requires exp_avg_dtype" if not stops else said
    assert (why in paired.err, paired.code == 2) == (rewritten_stops, rewritten_stops)


def test_what_runs_has_an_empty_list(accmap, tmp_path: Path) -> None:
    files = {"a.sh": LATENT + "--no-rope-fusion\n"}
    assert accmap("convert", "a.sh", "-o", "b.yaml", "--report", "r.json", *STATIC, files=files).code == 0
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["will_not_run"] == []


# Megatron 0.12 to 0.19 core_transformer_config_from_args; the real class of 0.12 raises a TypeError.
def test_a_flag_that_stops_every_version(accmap) -> None:
    files = {"a.sh": LATENT + "--no-rope-fusion --init-method-xavier-uniform\n"}
    answer = accmap("lint", "a.sh", "--no-config", "--format", "json", files=files)
    found = json.loads(answer.out)["diagnostics"]
    assert [one["severity"] for one in found if one["code"] == "DEF024"] == ["error"]
    assert not [one for one in found if one["code"] == "MAP108"]


@pytest.mark.parametrize(
    ("more", "version", "instead"),
    [
        # MindFormers 1.9.0 moe/router.py:TopKRouter.SUPPORTED_LOAD_BALANCING_TYPES
        ("moe_router_load_balancing_type: aux_loss", "1.9", "seq_aux_loss"),
        ("moe_router_load_balancing_type: nonsense", "1.7", "seq_aux_loss"),
        # MindFormers 1.9.0 gpt_model.py:GPTModel.construct
        ("position_embedding_type: learned_absolute", "1.9", "use_eod_reset: True"),
        # MindFormers 1.6.0 to 2.1.0 mask_generate.py:CausalMaskGenerate
        ("use_flash_attention: True, use_attn_mask_compression: True", "1.8", "use_attn_mask_compression: False"),
        # MindFormers 1.9.0 moe/router.py multiplies by none
        ("routed_scaling_factor: null", "1.9", "routed_scaling_factor: 1.0"),
        # MindFormers 1.8.0 to 2.1.0 moe/router.py divides by none; tests/verifier/prove.py, 1.9.0
        ("n_group: 2, topk_group: null", "1.8", "n_group: null"),
        # MindFormers 1.7.0 to 2.1.0 moe_module_specs.py:get_moe_module_spec
        ("moe_grouped_gemm: False", "1.9", "moe_grouped_gemm: True"),
        # MindFormers 1.8.0 gpt_model.py:GPTModel.__init__
        ("rotary_dtype: float16", "1.8", "rotary_dtype: float32"),
    ],
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_yaml_that_cannot_run(accmap, more: str, version: str, instead: str, lang: str) -> None:
    files = {"a.yaml": YAML.replace("MORE", more)}
    answer = accmap("lint", "a.yaml", "--mindformers", version, "--lang", lang, "--no-config", files=files)
    assert answer.code == 1
    assert any("MAP108" in line for line in answer.out.splitlines())
    assert instead in answer.out


# MindFormers 1.9.0 multi_token_prediction.py:MultiTokenPredictionBlock.construct: the real class stops there, also
# where the one layer is the default of deepseek_v3.
@pytest.mark.parametrize(("layers", "stops_there"), [("", True), ("num_nextn_predict_layers: 0", False)])
def test_mtp_layers_need_the_weight_of_their_loss(accmap, layers: str, stops_there: bool) -> None:
    files = {"a.yaml": YAML.replace("mtp_loss_scaling_factor: 0.1,", "").replace("MORE", layers)}
    answer = accmap("lint", "a.yaml", "--mindformers", "1.9", "--no-config", files=files)
    assert ("mtp_loss_scaling_factor: 0.1" in answer.out) is stops_there


@pytest.mark.parametrize(("size", "stops_there"), [("0", True), ("-1", True), ("1", False)])
def test_experts_split_in_no_parts(accmap, size: str, stops_there: bool) -> None:
    files = {"run.sh": f"{LATENT} --num-experts 4 --moe-router-topk 2 --expert-tensor-parallel-size {size}\n"}
    answer = accmap("lint", "run.sh", "--megatron", "0.19", "--no-config", files=files)
    assert ("--expert-tensor-parallel-size must be above 0" in answer.out) is stops_there


OPTIMIZER = "optimizer: {{type: {type}, betas: {betas}, eps: {eps}, swap: {swap}}}\n"


@pytest.mark.parametrize(
    ("given", "version", "names"),
    [
        # MindFormers 1.6.0 to 2.1.0 core/optim/adamw.py:_check_param_value (the real class was built with each)
        ({"betas": "[0.0, 0.95]"}, "1.6", "betas[0] is 0.0"),
        ({"betas": "[0.9, 1.0]"}, "1.9", "betas[1] is 1.0"),
        ({"eps": "0.0"}, "1.9", "requires an eps that is greater than 0"),
        ({"betas": "[0.0, 0.95]", "type": "FusedAdamW"}, "1.9", None),
        # MindFormers 1.8.0 to 2.1.0 core/optim/muon.py:Muon.__init__, Muon._verify_model
        ({"type": "Muon"}, "1.9", "only supports models with multi-latent attention"),
        ({"type": "Muon", "swap": "True"}, "1.8", "does not support swap"),
        ({}, "1.9", None),
    ],
)
def test_an_optimizer_that_refuses_its_settings(accmap, given: dict[str, str], version: str, names: str | None) -> None:
    usual = {"type": "AdamW", "betas": "[0.9, 0.95]", "eps": "1.0e-8", "swap": "False"}
    files = {"a.yaml": OPTIMIZER.format(**{**usual, **given}) + YAML.replace("MORE", "multi_latent_attention: False")}
    answer = accmap("lint", "a.yaml", "--mindformers", version, "--no-config", files=files)
    assert ("MAP108" in answer.out) is (names is not None)
    assert names is None or names in answer.out


# MindFormers 1.6.0 to 2.1.0 gpt_model.py:GPTModel.__init__ reads config.qk_pos_emb_head_dim; the classes were built.
@pytest.mark.parametrize(
    ("family", "kind", "stops_there"),
    [("qwen3", "Qwen3", True), ("telechat3", "TeleChat3", True), ("deepseek_v3", "DeepseekV3", False)],
)
def test_yarn_needs_latent_attention(accmap, family: str, kind: str, stops_there: bool) -> None:
    more = "multi_latent_attention: DS, position_embedding_type: yarn, routed_scaling_factor: 1.0"
    content = YAML.replace("MORE", more.replace("DS", str(not stops_there)))
    content = content.replace("deepseek_v3", family).replace("DeepseekV3For", f"{kind}For")
    answer = accmap("lint", "a.yaml", "--mindformers", "1.9", "--no-config", files={"a.yaml": content})
    assert ("YaRN reads its dimension" in answer.out) is stops_there


def test_muon_with_latent_attention_runs(accmap) -> None:
    content = OPTIMIZER.format(type="Muon", betas="[0.9, 0.95]", eps="1.0e-8", swap="False")
    files = {"a.yaml": content + YAML.replace("MORE", "multi_latent_attention: True")}
    assert "MAP108" not in accmap("lint", "a.yaml", "--no-config", files=files).out


@pytest.mark.parametrize(
    ("more", "version"), [("moe_router_load_balancing_type: aux_loss", "1.6"), ("rotary_dtype: float16", "1.7")]
)
def test_a_version_that_takes_it(accmap, more: str, version: str) -> None:
    files = {"a.yaml": YAML.replace("MORE", more)}
    assert "MAP108" not in accmap("lint", "a.yaml", "--mindformers", version, "--no-config", files=files).out


@pytest.mark.parametrize(
    ("more", "version", "stops_there"),
    [
        ("", "0.12", True),
        ("--no-rope-fusion", "0.12", False),
        # Megatron 0.14 MLATransformerConfig.__post_init__: "apply_rope_fusion for MLA only works with YARN RoPE"
        ("--rope-type rope", "0.16", True),
        ("--rope-type rope --no-rope-fusion", "0.16", False),
        ("--rope-type yarn", "0.16", False),
    ],
)
def test_a_script_that_cannot_run(accmap, more: str, version: str, stops_there: bool) -> None:
    answer = accmap("lint", "a.sh", "--megatron", version, "--no-config", files={"a.sh": LATENT + more + "\n"})
    assert ("MAP108" in answer.out) is stops_there


def test_inference_is_left_alone(accmap) -> None:
    content = YAML.replace("run_mode: train", "run_mode: predict").replace("MORE", "rotary_dtype: float16")
    assert "MAP108" not in accmap("lint", "a.yaml", "--no-config", files={"a.yaml": content}).out


@pytest.mark.parametrize(("more", "stops"), [("", True), (", create_compressed_eod_mask: False", False)])
def test_a_loader_of_the_dynamic_graph_needs_its_mask_key(more: str, stops: bool) -> None:
    """mindformers 2.1.0 `pynative/trainer/utils.py`: `dataloader_config['create_compressed_eod_mask']`, no default."""
    from accmap.mapper.preconditions import startup_refusals
    from accmap.mapper.recipe.reading import recipe_of
    from accmap.schemas.config import ReadOptions
    from accmap.schemas.reader import config_of
    from accmap.schemas.source import SourceText

    text = (
        "training: {steps: 10, local_batch_size: 1, global_batch_size: 1}\nparallelism: {data_parallel: 1}\n"
        f"train_dataset: {{dataloader: {{type: HFDataLoader, path: json{more}}}}}\n"
        "model: {model_type: qwen3, num_hidden_layers: 2, hidden_size: 64, num_attention_heads: 4, vocab_size: 512}\n"
    )
    config = config_of(SourceText("a.yaml", text), ReadOptions(mindformers="2.1"), path="a.yaml")
    assert config.dialect == "dynamic"
    names = [one.code for one in startup_refusals(config, recipe_of(config))]
    assert ("loader-without-mask-key" in names) is stops


# Megatron 0.12 core/optimizer_param_scheduler.py:OptimizerParamScheduler.__init__; PolynomialWarmUpLR and others of
# MindFormers 1.9.0 core/lr/lr_schedule.py have no default for it.
@pytest.mark.parametrize(
    ("lost", "script", "yaml"),
    [
        ("--lr 1e-4", "requires --lr, which has no default", "requires learning_rate"),
        ("--micro-batch-size 1", "micro_batch_size", None),
    ],
)
def test_what_the_source_leaves_out_is_said_of_both_files(accmap, lost: str, script: str, yaml: str | None) -> None:
    # The tokenizer leaves something to be filled in: what stops the file beside that is said all the same.
    words = LATENT.replace(lost, "").replace("--vocab-size 1023 --tokenizer-type NullTokenizer", "")
    answer = accmap("pair", "a.sh", "-d", "p", *STATIC, files={"a.sh": words + "--no-rope-fusion --$FORK\n"})
    said = [line for line in answer.err.splitlines() + answer.out.splitlines() if "will not run" in line]
    assert any(line.startswith("example.sh") and script in line for line in said)
    assert yaml is None or any(line.startswith("example.yaml") and yaml in line for line in said)


# Megatron 0.12 moe_utils.py:topk_softmax_with_capacity and MindFormers 1.9.0 moe/router.py:TopKRouter: k out of range.
def test_more_experts_than_there_are(accmap) -> None:
    words = LATENT + "--no-rope-fusion --num-experts 2 --moe-router-topk 4\n"
    answer = accmap("pair", "a.sh", "-d", "p", files={"a.sh": words})
    assert answer.code == 2
    assert "The router selects 4 experts for each token, but the model has only 2" in answer.err


# Megatron 0.12 rope_utils.py:_apply_rotary_pos_emb_bshd, and ApplyRotaryPosEmb of MindFormers 1.9.0, 2.1.0 and its
# dynamic graph, were run: five components meet six frequencies, and stop; of 15, 0.7 are ten, and run;
# the training classes of MindFormers take all without multi-latent attention.
@pytest.mark.parametrize(
    ("words", "stopping"),
    [
        ("--qk-pos-emb-head-dim 5", ["a.sh:1:553:"]),
        ("--qk-pos-emb-head-dim 5 --rope-type yarn", ["a.sh:1:553:"]),
        ("--qk-pos-emb-head-dim 6", []),
        ("--kv-channels 15", []),
        ("LATENT --kv-channels 15", ["a.sh:1:529:"]),
        ("LATENT --hidden-size 60", ["a.sh:"]),
        ("LATENT --kv-channels 15 --rotary-percent 0.7", ["example.yaml"]),
        ("LATENT --kv-channels 15 --position-embedding-type none", []),
        ("LATENT --kv-channels 15 --position-embedding-type learned_absolute", []),
    ],
)
@pytest.mark.parametrize("dialect", ["static", "dynamic"])
def test_heads_of_an_odd_width(accmap, words: str, stopping: list[str], dialect: str) -> None:
    plain = LATENT.replace("--multi-latent-attention ", "")
    text = f"{plain if 'LATENT' in words else LATENT} --no-rope-fusion {words.replace('LATENT', '')}\n"
    answer = accmap("pair", "a.sh", "-d", "p", "--dialect", dialect, files={"a.sh": text})
    said = [line.split()[0] for line in (answer.err + answer.out).splitlines() if "rotates pairs of dimensions" in line]
    assert said == stopping, answer.err


# MindFormers 2.1.0 pynative/trainer/trainer.py:_setup_seed_and_determinism: set_seed and np.random.seed were asked.
@pytest.mark.parametrize(("seed", "stops_there"), [("-1", True), ("4294967296", True), ("0", False)])
def test_a_seed_of_the_dynamic_graph(accmap, seed: str, stops_there: bool) -> None:
    words = f"{LATENT} --no-rope-fusion\n"
    text = accmap("convert", "a.sh", "--dialect", "dynamic", files={"a.sh": words}).out.replace(
        "seed: 1234", f"seed: {seed}", 1
    )
    answer = accmap("lint", "c.yaml", "--no-config", files={"c.yaml": text})
    assert ("seeds from 0 to" in answer.out) is stops_there


# Megatron 0.15.3 fused_bias_swiglu.py:weighted_bias_swiglu_impl and mlp.py:MLP.forward, run with biases in its experts.
@pytest.mark.parametrize(
    ("words", "instead"),
    [
        ("--swiglu", "--no-bias-swiglu-fusion"),
        ("--swiglu --no-bias-swiglu-fusion", None),
        ("--swiglu --disable-bias-linear", None),
        ("--transformer-impl local", "--transformer-impl transformer_engine"),
        ("--transformer-impl local --expert-model-parallel-size 2", None),
    ],
)
def test_biases_of_experts(accmap, words: str, instead: str | None) -> None:
    base = "torchrun --nproc_per_node 2 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4"
    base += " --seq-length 32 --max-position-embeddings 32 --micro-batch-size 1 --global-batch-size 2 --lr 1e-4"
    base += " --train-iters 2 --num-experts 4 --moe-router-topk 2 --moe-token-dispatcher-type alltoall"
    answer = accmap("lint", "run.sh", "--megatron", "0.15", "--no-config", files={"run.sh": f"{base} {words}\n"})
    assert ("MAP108" in answer.out) is (instead is not None), answer.out
    assert instead is None or instead in answer.out
    older = accmap("lint", "run.sh", "--megatron", "0.12", "--no-config", files={"run.sh": f"{base} {words}\n"})
    assert "MAP108" not in older.out


# Megatron 0.12 to main training/training.py:training_log: `iteration % args.log_interval`.
@pytest.mark.parametrize(("more", "stops_there"), [("0", True), ("1", False), ("0 --skip-train", False)])
def test_a_log_of_every_zero_steps(accmap, more: str, stops_there: bool) -> None:
    files = {"a.sh": f"{LATENT} --no-rope-fusion --log-interval {more}\n"}
    answer = accmap("lint", "a.sh", "--no-config", files=files)
    assert ("divides the step number by --log-interval" in answer.out) is stops_there


# MindFormers 2.1.0 pynative/callback/checkpoint_callback.py:CheckpointCallback.on_step_end
@pytest.mark.parametrize(("section", "stops_there"), [("0}", True), ("1}", False), ("0, enable_save: False}", False)])
def test_a_checkpoint_every_zero_steps(accmap, section: str, stops_there: bool) -> None:
    text = accmap("convert", "a.sh", "--dialect", "dynamic", files={"a.sh": f"{LATENT} --no-rope-fusion\n"}).out
    start, _, end = text.partition("\ncheckpoint:\n")
    others = itertools.dropwhile(lambda line: line.startswith(" "), end.splitlines())
    made = "\n".join([start, f"checkpoint: {{save_path: ./o, save_interleaved_steps: {section}", *others, ""])
    answer = accmap("lint", "c.yaml", "--no-config", files={"c.yaml": made})
    assert ("divides the step number by save_interleaved_steps" in answer.out) is stops_there


# transformers 4.57 stops at the same networks; what trains one, and what one framework lacks, is no affair of its file.
@pytest.mark.parametrize(
    ("words", "stops_there"),
    [
        ("--kv-channels 15", "rotates pairs of dimensions"),
        ("--group-query-attention --num-query-groups 3", "is not divisible by the number of query groups"),
        ("--num-experts 2 --moe-router-topk 4", "selects 4 experts"),
        ("--tokenizer-type GPT2BPETokenizer", None),
        ("--seed 0", None),
        ("--log-interval 0", None),
    ],
)
def test_a_network_that_stops_in_any_program(accmap, tmp_path: Path, words: str, stops_there: str | None) -> None:
    plain = LATENT.replace("--multi-latent-attention ", "")
    answer = accmap("convert", "a.sh", "-o", "config.json", "--report", "r.json", files={"a.sh": f"{plain} {words}\n"})
    said = [line for line in answer.err.splitlines() if "cannot start this run" in line]
    assert all(stops_there in line for line in said if stops_there)
    assert (bool(said), answer.code == 2, not (tmp_path / "config.json").exists()) == (bool(stops_there),) * 3


# transformers' own models have no position ids to drop; MindSpore Transformers is not what a config.json is for.
def test_a_model_is_not_asked_what_stops_a_run_of_one_framework(accmap) -> None:
    sizes = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 2048, "vocab_size": 256, "n_inner": 256}
    model = {"model_type": "gpt2", "transformers_version": "4.57.0", "activation_function": "gelu_new", **sizes}
    dropout = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    answer = accmap(
        "convert",
        "config.json",
        "-o",
        "a.sh",
        "--to",
        "megatron",
        files={"config.json": json.dumps({**model, **dropout})},
    )
    assert answer.code == 1
    assert "cannot start" not in answer.err


# arguments.py:validate_args refuses samples that are longer than the table of positions.
@pytest.mark.parametrize(("positions", "length"), [(64, 64), (2048, 1024)])
def test_a_model_s_placeholder_of_the_sample_length_fits_its_positions(
    accmap, tmp_path: Path, positions: int, length: int
) -> None:
    sizes = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": positions, "vocab_size": 256, "n_inner": 256}
    model = {"model_type": "gpt2", "transformers_version": "4.57.0", "activation_function": "gelu_new", **sizes}
    answer = accmap(
        "convert", "config.json", "-o", "a.sh", "--to", "megatron", files={"config.json": json.dumps(model)}
    )
    assert answer.code == 1, answer.err
    assert "cannot start" not in answer.err
    assert f"--seq-length {length} " in (tmp_path / "a.sh").read_text("utf-8")


# Megatron 0.12 and 0.13 training/arguments.py:validate_args refuse --rotary-interleaved with the fusion, which is on.
@pytest.mark.parametrize(("version", "unfused"), [("0.12", True), ("0.13", True), ("0.16", False)])
def test_a_rotation_of_pairs_is_written_so_that_it_runs(accmap, tmp_path: Path, version: str, unfused: bool) -> None:
    glm = {
        "model_type": "glm4", "transformers_version": "4.57.0", "hidden_size": 64, "intermediate_size": 128,
        "head_dim": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256,
        "max_position_embeddings": 2048, "hidden_act": "silu", "pad_token_id": 0,
    }  # fmt: skip
    answer = accmap(
        "convert",
        "config.json",
        "--to",
        "megatron",
        "-o",
        "a.sh",
        "--megatron",
        version,
        files={"config.json": json.dumps(glm)},
    )
    assert answer.code == 1, answer.err
    assert ("--no-rope-fusion" in (tmp_path / "a.sh").read_text("utf-8")) == unfused


# MindFormers 1.9 base_trainer.py:learning_rate_scale: the scaled rate is below lr_end, which Megatron-LM refuses.
def test_a_pair_that_stops_is_refused_before_it_is_read_back(accmap) -> None:
    text = YAML.replace("MORE", "seq_aux_loss: False").replace(
        "type: ConstantWarmUpLR, learning_rate: 1.0e-4",
        "type: CosineWithWarmUpLR, lr_end: 1.0e-5, learning_rate: 1.0e-4",
    )
    more = "lr_scale: True\nlr_scale_factor: 256\noptimizer: {type: AdamW}\n"
    answer = accmap("pair", "a.yaml", "-d", "p", *STATIC, files={"a.yaml": text + more})
    assert answer.code == 2, answer.err
    assert "example.sh will not run: Megatron-LM 0.12 rejects this run, because it requires min_lr <= lr" in answer.err


# MindFormers 1.9 pynative/trainer/trainer.py:Trainer.__init__.
@pytest.mark.parametrize(
    ("version", "devices", "stops_there"), [("1.9", 8, True), ("1.9", 1, False), ("2.1", 8, False)]
)
def test_more_than_one_process_of_the_first_dynamic_graph(
    accmap, version: str, devices: int, stops_there: bool
) -> None:
    plain = LATENT[: LATENT.index("--multi-latent")] + LATENT[LATENT.index("--position-embedding-type") :]
    files = {"a.sh": plain.replace("per_node 1", f"per_node {devices}") + "\n"}
    words = ("convert", "a.sh", "-o", "b.yaml", "--dialect", "dynamic", "--mindformers", version)
    answer = accmap(*words, files=files)
    assert ("more than one process" in answer.err, answer.code) == (stops_there, 2 if stops_there else 1)
    assert "Traceback" not in answer.err
