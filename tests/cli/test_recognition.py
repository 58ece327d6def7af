"""What is no GPT training run is said first, by every command; the version is named in every answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SIZES = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 "
SIZES += "--micro-batch-size 1 --lr 1e-4 --train-iters 10 --tokenizer-type NullTokenizer --vocab-size 64 "
GPT = f"torchrun --nproc_per_node 1 pretrain_gpt.py {SIZES}\n"
T5 = f"torchrun --nproc_per_node 1 pretrain_t5.py {SIZES} --encoder-seq-length 64 --decoder-seq-length 64\n"
POD = "apiVersion: v1\nkind: Pod\nspec: {containers: []}\n"
PREDICT = "run_mode: predict\nuse_legacy: False\nrunner_config: {epochs: 1}\ncontext: {mode: 0}\n"
PREDICT += "lr_schedule: {type: ConstantWarmUpLR, learning_rate: 1.e-4, warmup_steps: 0}\n"
TRAIN = (
    "run_mode: train\nuse_legacy: False\nrunner_config: {epochs: 1, batch_size: 1}\n"
    "model: {model_config: {model_type: qwen3, architectures: Qwen3ForCausalLM}}\n"
)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("run.sh", T5, "trains T5"),
        ("run.sh", "python tools/preprocess_data.py --input x --tokenizer-type NullTokenizer\n", "prepares data"),
        ("run.sh", "torchrun pretrain_gpt.py --yaml-cfg $WHICH\n", "--yaml-cfg"),
        ("run.sh", "python -m swift.cli._megatron.export --load x --save y\n", "ms-swift"),
        ("run.yaml", "model: {_target_: nemo.collections.llm.GPTModel}\n", "_target_"),
        ("run.yaml", POD, "a Kubernetes manifest"),
        ("run.yaml", "exp_manager: {name: x}\nmodel: {num_layers: 2}\n", "a NeMo configuration"),
        ("run.sh", "torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config x\n", "torchtitan"),
        ("run.yaml", PREDICT, "inference configuration"),
        ("run.sh", f"torchrun finetune_huggingface_llama.py {SIZES}\n", "a Hugging Face model"),
        ("run.sh", f"torchrun pretrain_megatron_falcon40b.py {SIZES}\n", "trains Falcon"),
    ],
)
def test_said_first_and_refused(accmap, name: str, text: str, said: str) -> None:
    files = {name: text, "gpt.sh": GPT}
    for words in (("convert", name, "-o", "out"), ("pair", name, "-d", "out"), ("verify", name, "gpt.sh")):
        answer = accmap(*words, files=files)
        assert answer.code == 2, words
        assert said in answer.err.splitlines()[0]
        assert answer.out == ""
        assert not Path("out").exists()
    lint = accmap("lint", name, "--format", "json")
    assert lint.code == 0
    found = json.loads(lint.out)["diagnostics"]
    assert found[0]["severity"] == "info"
    assert said in found[0]["message"]
    assert not [entry for entry in found if entry["severity"] == "error"]
    shown = json.loads(accmap("show", name, "--format", "json").out)
    assert said in shown["purpose"]["message"]
    assert said in shown["problems"][0]["message"]
    recipe = json.loads(accmap("recipe", name, "--format", "json").out)
    decided = {field for field, value in recipe["fields"].items() if value.get("decided", True)}
    diff = accmap("diff", name, "gpt.sh", "--format", "json")
    assert diff.code == 1
    if text is PREDICT:  # its network is compared, and nothing of training
        assert {field.partition(".")[0] for field in decided} <= {"model", "attention", "precision", "norm", "position"}
        return
    assert not decided
    assert not [row for row in json.loads(diff.out)["rows"] if row["status"] in ("equal", "different")]


@pytest.mark.parametrize(
    ("name", "text", "english", "chinese"),
    [
        ("recipe.py", "from megatron.bridge.recipes.llama import x\n", "run_config.yaml", "Megatron-Bridge 的配方"),
        ("recipe.py", "import nemo_run as run\nfrom nemo.collections import llm\n", "a NeMo recipe.", "NeMo 的配方"),
        ("recipe.py", "import nemo_automodel\n", "a NeMo Automodel recipe.", "NeMo Automodel 的配方"),
        ("train.py", "from torchtitan.trainer import Trainer\n", "torchtitan", "torchtitan 的配置"),
        ("train.toml", "[activation_checkpoint]\nmode = 'selective'\n", "torchtitan", "torchtitan 的配置"),
    ],
)
def test_recipes_of_other_programs_are_refused_by_name(
    accmap: Any, name: str, text: str, english: str, chinese: str
) -> None:
    for words in (("show", name), ("convert", name, "-o", "out"), ("lint", name), ("lr", name), ("recipe", name)):
        for language, said in (("en", english), ("zh", chinese)):
            answer = accmap(*words, "--lang", language, files={name: text})
            assert answer.code == 2, words
            assert said in answer.out + answer.err
            assert "SYN953" in answer.out + answer.err


@pytest.mark.parametrize("name", ["other.py", "other.toml"])
@pytest.mark.parametrize("text", ["", "\0", "import torch\n", "[tool]\nx = 1\n", "[[[", "=" * 1000])
def test_other_programs_are_no_files_of_ours(accmap: Any, name: str, text: str) -> None:
    answer = accmap("show", name, files={name: text})
    assert (answer.code, "Traceback" in answer.err) == (2, False)


def test_a_schedule_is_drawn_wherever_it_is_stated(accmap) -> None:
    files = {"t5.sh": T5, "predict.yaml": PREDICT, "pod.yaml": POD}
    assert accmap("lr", "t5.sh", files=files).code == 0
    assert accmap("lr", "predict.yaml", "--steps", "10").code == 0
    answer = accmap("lr", "pod.yaml")
    assert answer.code == 2
    assert "Kubernetes" in answer.err


def test_post_training_is_translated_and_says_what_is_not(accmap) -> None:
    answer = accmap(
        "convert", "run.sh", "-o", "out.yaml", "--megatron", "0.13",
        files={"run.sh": GPT[:-1] + " --sft --tokenizer-type NullTokenizer --vocab-size 500\n"},
    )  # fmt: skip
    assert answer.code == 1
    assert "cannot convert the dialogues and their loss mask" in answer.err.splitlines()[0]
    assert Path("out.yaml").exists()
    assert accmap("pair", "run.sh", "-d", "pair").code == 1


def test_lint_of_what_is_none_of_ours_is_fine(accmap) -> None:
    files = {
        "setup.sh": "pip install x\n",
        ".pre-commit-config.yaml": "repos: []\n",
        "many.yaml": "kind: A\n---\nkind: B\n",
        "chart.yaml": "a: {{ .Values.x }}\n",
        "run.sh": GPT,
        "run.yaml": TRAIN,
    }
    answer = accmap("lint", "setup.sh", ".pre-commit-config.yaml", "many.yaml", "chart.yaml", files=files)
    assert answer.code == 0, answer.out
    assert "0 errors, 0 warnings, 4 pieces of advice" in answer.out
    # They do not come between the two files of a pair.
    assert "(1 pair" in accmap("lint", "setup.sh", "run.sh", ".pre-commit-config.yaml", "run.yaml").out
    # A launch that is there, and that cannot be followed, is no setup script.
    assert accmap("lint", "x.sh", files={"x.sh": 'CMD="torchrun pretrain_gpt.py --num-layers 2"\n'}).code == 2


def tree(version: str) -> str:
    major, minor, patch = version.split(".")
    return f"MAJOR = {major}\nMINOR = {minor}\nPATCH = {patch}\nPRE_RELEASE = ''\n"


def version_of(accmap, *words: str, files: dict[str, str | bytes] | None = None) -> tuple[str, str]:
    shown = json.loads(accmap("show", *words, "--format", "json", files=files).out)
    return shown["framework_version"], shown["version_origin"]


def test_where_megatrons_version_comes_from(accmap, tmp_path: Path) -> None:
    assert version_of(accmap, "run.sh", files={"run.sh": GPT}) == ("0.12", "assumed")
    assert version_of(accmap, "run.sh", "--megatron", "0.14.1") == ("0.14", "given")
    # megatron/training/arguments.py has --moe-router-fusion from core_v0.14.0 on.
    later = GPT[:-1] + " --moe-router-fusion\n"
    assert version_of(accmap, "later.sh", files={"later.sh": later}) == ("0.14", "detected")
    package = {"Megatron-LM/megatron/core/package_info.py": tree("0.16.1")}
    cd = {"cd.sh": f"cd {tmp_path}/Megatron-LM\n{GPT}", "Megatron-LM/examples/run.sh": GPT}
    assert version_of(accmap, "cd.sh", files={**package, **cd}) == ("0.16", "detected")
    assert version_of(accmap, "Megatron-LM/examples/run.sh") == ("0.16", "detected")
    assert version_of(accmap, "cd.sh", "--megatron", "0.12") == ("0.12", "given")
    named = GPT.replace("pretrain_gpt", f"{tmp_path}/Megatron-LM/pretrain_gpt")
    assert version_of(accmap, "named.sh", files={"named.sh": named}) == ("0.16", "detected")
    old = {"old/megatron/core/package_info.py": tree("0.9.0"), "old/run.sh": GPT}
    answer = accmap("lint", "old/run.sh", files=old)
    assert "MAP114" in answer.out
    assert version_of(accmap, "old/run.sh") == ("0.12", "assumed")


@pytest.mark.parametrize(
    ("exported", "said"),
    [
        # package_info.py of the commits that Pai-Megatron-Patch a098ca5 keeps there: 0.14.0rc0 and 0.12.0rc0.
        ("PYTHONPATH=$PATCH:$PATCH/backends/megatron/Megatron-LM-250624:$PYTHONPATH", ("0.14", "detected")),
        ('PYTHONPATH="$PATCH/backends/megatron/Megatron-LM-250328"', ("0.12", "detected")),
        # 0.10.0rc0: none that is known.
        ("PYTHONPATH=$PATCH/backends/megatron/Megatron-LM-241113", ("0.12", "assumed")),
        ("PYTHONPATH=$PATCH/Megatron-LM-250624-mine", ("0.12", "assumed")),
        ("ELSEWHERE=$PATCH/backends/megatron/Megatron-LM-250624", ("0.12", "assumed")),
    ],
)
def test_a_known_tree_of_a_fork_says_its_version(accmap, exported: str, said: tuple[str, str]) -> None:
    files = {"run.sh": f"export {exported}\n{GPT}", "pinned.sh": f"export {exported}\n{GPT}"}
    assert version_of(accmap, "run.sh", files=files) == said
    assert version_of(accmap, "pinned.sh", "--megatron", "0.16") == ("0.16", "given")


PACKED = (
    "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --use-flash-attn "
    "--reset-attention-mask --use-fused-rmsnorm --use-fused-swiglu\n"
)
"""A launch of MindSpeed-LLM that 2.2 and 2.3 accept; only 2.3 keeps attention inside each document."""


@pytest.mark.parametrize(
    ("mark", "dialect"),
    [
        ("__init__.py", "mindspeed-llm-2.1"),
        ("core/transformer/custom_dot_product_attention.py", "mindspeed-llm-2.2"),
        ("core/datasets/dataset_preprocess.py", "mindspeed-llm-2.3"),
        ("core/models/common/chunk_loss.py", "mindspeed-llm-26.0"),
        ("core/models/deepseek4/deepseek4_model.py", "mindspeed-llm-26.1"),
        ("features_manager/memory/swap_layer_input.py", "mindspeed-llm-master"),
    ],
)
def test_a_checkout_of_a_fork_shows_its_version(accmap, mark: str, dialect: str) -> None:
    older = {f"tree/mindspeed_llm/{one}": "" for one in ("__init__.py", mark)}
    run = "tree/examples/mcore/llama3/run.sh"
    shown = json.loads(accmap("show", run, "--format", "json", files={**older, run: PACKED}).out)
    assert (shown["dialect"], shown["version_origin"]) == (dialect, "detected")
    assert mark in shown["version_reason"]
    assert "MAP168" not in accmap("lint", run).out
    asked = json.loads(accmap("show", run, "--megatron", "mindspeed-llm-26.0", "--format", "json").out)
    assert asked["dialect"] == "mindspeed-llm-26.0"


def test_versions_of_a_fork_that_read_a_launch_differently_are_named(accmap) -> None:
    without = PACKED.replace(" --reset-attention-mask", "")
    answer = accmap("lint", "run.sh", files={"run.sh": PACKED, "without.sh": without})
    assert "warning[MAP168]" in answer.out
    assert "assumes MindSpeed-LLM 2.2. MindSpeed-LLM 2.3 accepts" in answer.out
    assert "transformer_impl (transformer_engine / local)" in answer.out
    assert "MAP168" not in accmap("lint", "without.sh").out
    assert "MAP168" not in accmap("lint", "run.sh", "--megatron", "mindspeed-llm-2.3").out


def test_where_mindformers_version_comes_from(accmap) -> None:
    assert version_of(accmap, "run.yaml", files={"run.yaml": TRAIN}) == ("1.9", "assumed")
    assert version_of(accmap, "run.yaml", "--mindformers", "1.7") == ("1.7", "given")
    # models/deepseek4 is in 2.1.0 alone.
    v4 = TRAIN.replace("qwen3", "deepseek_v4")
    assert version_of(accmap, "v4.yaml", files={"v4.yaml": v4}) == ("2.1", "detected")
    files = {"mf/mindformers/__init__.py": '__version__ = "1.8.0"\n', "mf/configs/run.yaml": TRAIN}
    assert version_of(accmap, "mf/configs/run.yaml", files=files) == ("1.8", "detected")
    launch = {"run.sh": "python mf/run_mindformer.py --config configs/run.yaml\n"}
    assert version_of(accmap, "run.sh", files=launch) == ("1.8", "detected")


def test_a_development_tree_is_of_the_version_whose_files_it_has(accmap) -> None:
    # mindformers master at 167a50dec (2026-07-24): __version__ 1.9.0, and the dynamic graph of 2.1.0.
    files = {
        "mf/mindformers/__init__.py": '__version__ = "1.9.0"\n',
        "mf/mindformers/pynative/distributed/parallelize.py": "",
        "mf/configs/run.yaml": TRAIN,
    }
    assert version_of(accmap, "mf/configs/run.yaml", files=files) == ("2.0", "detected")
    assert "parallelize.py exists from 2.0" in accmap("show", "mf/configs/run.yaml", "--format", "json").out
    both = {"mf/mindformers/pynative/trainer/dynamic_batch.py": ""}
    assert version_of(accmap, "mf/configs/run.yaml", files=both) == ("2.1", "detected")
    newer = {"mf/mindformers/__init__.py": '__version__ = "2.1.0"\n'}
    assert version_of(accmap, "mf/configs/run.yaml", files=newer) == ("2.1", "detected")


def test_every_answer_names_the_versions(accmap) -> None:
    files = {"run.sh": GPT, "run.yaml": TRAIN}
    lint = json.loads(accmap("lint", "run.sh", "run.yaml", "--format", "json", files=files).out)
    assert [(entry["framework_version"], entry["version_origin"]) for entry in lint["summary"]["versions"]] == [
        ("0.12", "assumed"),
        ("1.9", "assumed"),
    ]
    assert "megatron 0.12 assumed, mindformers 1.9 assumed)" in accmap("lint", "run.sh", "run.yaml").out
    assert "megatron 0.13 指定" in accmap("lint", "run.sh", "--megatron", "0.13", "--lang", "zh").out
    for words in (("diff", "run.sh", "run.yaml"), ("lr", "run.sh"), ("pair", "run.sh", "-d", "out")):
        answer = json.loads(accmap(*words, "--format", "json").out)
        assert answer["versions"][0]["framework_version"] == "0.12", words
        assert answer["versions"][0]["version_origin"] == "assumed", words
    accmap("convert", "run.sh", "-o", "o.yaml", "--report", "r.json", "--mindformers", "1.8")
    report = json.loads(Path("r.json").read_text())
    assert [entry["version_origin"] for entry in report["versions"]] == ["assumed", "given"]


def test_a_dynamic_file_of_1_9_is_read_with_its_facts(accmap) -> None:
    # Loaded by mindformers 1.9.0 pynative/config/config.py:TrainConfig.load_from_yaml; 2.0.0 has none of these keys.
    text = (
        "training: {steps: 100, local_batch_size: 1, global_batch_size: 8}\n"
        "parallelism: {hsdp_shard_size: 1, hsdp_optimizer_level: Level1, hsdp_threshold: 64}\n"
        "lr_scheduler: {type: ConstantWarmUpLR, learning_rate: 1.0e-4, warmup_steps: 0}\n"
        "recompute: {full_recompute: True, select_recompute: False}\n"
        "profiler: {enable_profiler: False, start_step: 10, stop_step: 20, profiler_level: Level0}\n"
        "train_dataset: {dataloader: {type: HFDataLoader, create_compressed_eod_mask: False}}\n"
        "model: {model_type: deepseek_v3, architectures: DeepseekV3ForCausalLM, moe_grouped_gemm: True}\n"
        "checkpoint: {save_path: ./output}\n"
    )
    # Known defects of the version apart: the groups of experts that the class has by default are not obeyed.
    answer = accmap("lint", "run.yaml", "--ignore", "DEF", files={"run.yaml": text})
    assert "0 errors" in answer.out
    assert "mindformers 1.9 detected" in answer.out
    assert accmap("lint", "run.yaml", "--ignore", "DEF", "--mindformers", "1.9").code == 0
    assert "MAP091" in accmap("lint", "run.yaml", "--mindformers", "2.0").out
