"""What a file is for: by the tables, by the arguments, and by what the real trees hold."""

from __future__ import annotations

import pytest

from accmap.schemas.compilers import constants
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.file_kind import (
    is_mindformers,
    may_be_mindformers,
    program_kind,
    require_training,
    without_training,
)
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

GPT = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 "
GPT += "--micro-batch-size 1 --lr 1e-4 --train-iters 10 "


def purpose(text: str, name: str = "run.sh") -> str | None:
    found = config_of(SourceText(name, text), ReadOptions(), path=name).purpose
    return None if found is None else found.kind


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        # What each program's model_provider builds: Megatron-LM core_v0.12.0 and core_v0.19.0.
        ("pretrain_gpt.py", None),
        ("/opt/megatron/pretrain_gpt.py", None),
        ("my_pretrain.py", None),
        ("pretrain_t5.py", "other-model"),
        ("pretrain_bert.py", "other-model"),
        ("pretrain_mamba.py", "other-model"),
        ("pretrain_hybrid_flex.py", "other-model"),
        ("pretrain_vlm.py", "other-model"),
        ("pretrain_llava.py", "other-model"),  # Pai-Megatron-Patch examples/llava_mcore
        ("examples/multimodal/train.py", "other-model"),  # LLaVA: its own `add_multimodal_extra_args`
        ("train.py", None),
        ("pretrain_retro.py", "other-model"),
        ("pretrain_vision_dino.py", "other-model"),
        ("-m examples.mimo.pretrain_mimo", "other-model"),
        ("train_rl.py", "post-training"),
        ("posttrain_gpt.py", "post-training"),
        ("tools/preprocess_data.py", "data"),
        ("tools/checkpoint/convert.py", "conversion"),
        ("convert_ckpt_v2.py", "conversion"),
        ("tools/run_text_generation_server.py", "inference"),
        ("-m tools.run_dynamic_text_generation_server", "inference"),
        ("inference.py", "inference"),
        ("evaluation.py", "evaluation"),
        ("tools/report_theoretical_memory.py", "tool"),
        ("report_auto_config.py", "tool"),
        ("tasks/main.py", "evaluation"),
        ("../../tasks/msdp/main.py", "evaluation"),
        ("main.py", None),
        ("other/main.py", None),
        ("tools/merge_mp_partitions.py", "conversion"),
        ("rlhf_gpt.py", "tool"),  # hydra.main reads its words, no parser of Megatron-LM's
    ],
)
def test_programs(program: str, kind: str | None) -> None:
    assert purpose(f"python {program} {GPT}\n") == kind


def test_a_program_that_is_given_nothing_of_megatrons() -> None:
    assert purpose("python download.py --url x --into y\n") == "tool"
    assert (
        purpose("torchrun run_clm.py --bf16 --per_device_train_batch_size 4 --num_train_epochs 3 --do_train\n")
        == "tool"
    )
    assert purpose("python download.py --url $URL --into $DIR\n") == "tool"
    assert purpose(f"torchrun train.py {GPT}\n") is None
    assert purpose("torchrun train.py $ARGS --bf16\n") is None  # what it is given is not known
    assert purpose("python train.py $ARGS\n") is None
    # a few names that Megatron-LM has, too, are no run: there is no model, no batch and no rate
    assert purpose("torchrun -m torch.distributed.run straggler.py --train-iters 100 --report-interval 5\n") == "tool"
    assert purpose('python scrape.py "$DIR/tc.tsv" http://localhost:9500/metrics\n') == "tool"
    assert purpose("python3 -m venv /tmp/$$/venv\n") == "tool"
    # verl main trainer/main_ppo.py:main is hydra's, which takes `key=value`; its --config-name is none of Megatron-LM's
    words = "algorithm.adv_estimator=grpo data.train_files=$HOME/a.parquet trainer.nnodes=1"
    assert purpose(f"python3 -m verl.trainer.main_ppo --config-name=a.yaml {words} $@\n") == "tool"
    assert purpose(f"torchrun -m verl.trainer.fsdp_sft_trainer {words}\n") == "tool"
    assert purpose(f"torchrun -m another.entry {words}\n") == "tool"
    assert purpose('python entry.py grpo --config-file a.yaml load="${CKPT}"\n') == "tool"
    assert purpose("python entry.py grpo --config-file a.yaml load=${CKPT}\n") is None  # may be flags


def test_the_launcher_behind_a_program_that_is_not_known() -> None:
    # As bash starts it: what $NSYS is given before torchrun is none of the training program's.
    config = config_of(
        SourceText("run.sh", f"$NSYS profile -w true -o out torchrun --nproc_per_node 2 -m my.main {GPT}\n"),
        ReadOptions(),
        path="run.sh",
    )
    assert config.launch is not None
    assert (config.launch.launcher, config.launch.script, config.launch.world_size) == ("torchrun", "my.main", 2)
    assert [one.text for one in config.launch.arguments] == GPT.split()
    assert not [problem for problem in config.problems if problem.kind.severity == "error"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # what bash refuses, or where a plain run ends, is no error of a file that trains nothing
        ("exit 1\ntorchrun -m examples.inference.launch_server --num-layers 2\n", "runs a model"),
        ("exit 1\ntorchrun tools/checkpoint/convert.py --model-type GPT\n", "converts"),
        (
            "uv run coverage run -m pytest -x \\\n tests/flux/test_flux_pretrain.py\ncoverage combine\n",
            "does not start training",
        ),
        ('CMD="cd <path/to/repo> && python tools/preprocess_data.py --input x"\neval $CMD\n', "prepares data"),
        ("A=<fill in>\npython -m torch.distributed.launch tasks/msdp/main.py --task X\n(\n", "dialogues"),
        ('OPTIONS="--num-layers 2 --attention-backend flash \\\n --hidden-size 64"\n', "does not start training"),
    ],
)
def test_no_error_where_nothing_is_trained(text: str, said: str) -> None:
    source = SourceText("run.sh", text)
    with pytest.raises(UnreadableError) as caught:
        config_of(source, ReadOptions(), path="run.sh")
    remark = without_training(caught.value.diagnostic, source)
    assert remark is not None
    assert remark.kind.severity == "info"
    assert said in remark.message()


@pytest.mark.parametrize(
    "text",
    [
        "exit\ntorchrun pretrain_gpt.py --num-layers 2\n",
        "exit\ntorchrun my_train.py --num-layers 2\npython tools/preprocess_data.py\n",
        "(\ntorchrun pretrain_gpt.py --num-layers 2\n",
    ],
)
def test_a_training_that_cannot_be_followed_stays_an_error(text: str) -> None:
    source = SourceText("run.sh", text)
    with pytest.raises(UnreadableError) as caught:
        config_of(source, ReadOptions(), path="run.sh")
    assert without_training(caught.value.diagnostic, source) is None


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("--sft", "post-training"),
        ("--perform-rl-step", "post-training"),
        ("--is-hybrid-model", None),  # pretrain_gpt.py:model_provider of core_v0.12.0 does not read it
        ("--encoder-seq-length 64", None),
    ],
)
def test_arguments_of_the_gpt_program(arguments: str, kind: str | None) -> None:
    assert purpose(f"torchrun pretrain_gpt.py {GPT} {arguments}\n") == kind


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("--encoder-seq-length 64 --decoder-seq-length 64 --encoder-num-layers 2", "other-model"),
        ("--hybrid-override-pattern M-M*", "other-model"),
        ("--retro-add-retriever", "other-model"),
        # core_v0.16.0 examples/mimo/train.py:add_mimo_args, core_v0.12.0 tasks/msdp/main.py:get_tasks_args
        ("--model-provider llava_vlm --dataset-provider llava_vlm", "other-model"),
        ("--task MSDP-EVAL-F1", "evaluation"),
        ("--disable-vision-class-token --max-padding-length 4096", "other-model"),  # pretrain_vlm.py:add_vlm_extra_args
        ("--model-provider mine", None),
        ("--bf16", None),
    ],
)
def test_an_argument_list(arguments: str, kind: str | None) -> None:
    assert purpose(f"{GPT} {arguments}\n", "args.txt") == kind


@pytest.mark.parametrize(
    ("folder", "extra", "kind"),
    [
        ("gpt", "", None),
        ("bert", "", "other-model"),
        ("hybrid", "", "other-model"),
        ("gpt-nemo", "", "tool"),  # _run_training.sh: IS_NEMO_TEST
        ("gpt", "MODE: inference\n", "inference"),
    ],
)
def test_recipes(folder: str, extra: str, kind: str | None) -> None:
    # tests/test_utils/recipes of core_v0.16.0 name the program of each folder; MODE chooses the inference driver.
    text = f"{extra}MODEL_ARGS:\n  --num-layers: 2\n  --hidden-size: 64\n"
    assert purpose(text, f"tests/functional_tests/test_cases/{folder}/x/model_config.yaml") == kind


OTHERS = {
    "kubernetes": "apiVersion: batch/v1\nkind: Job\nspec: {template: {}}\n",
    "compose": "services:\n  web: {image: x}\n",
    "workflow": "on: push\njobs: {build: {steps: []}}\n",
    "pre-commit": "repos:\n- repo: local\n  hooks: []\n",
    "helm-values": "image: {repository: x}\nreplicas: 1\n",
    "mkdocs": "site_name: x\nnav: []\n",
    "conda": "name: x\nchannels: [defaults]\ndependencies: [python]\n",
    "lightning": "trainer: {max_epochs: 3}\nmodel: {class_path: x}\noptimizer: {class_path: y}\ndata: {}\n",
    "megatron": "language_model:\n  num_layers: 24\n  hidden_size: 1024\n",
    "mindspeed": "model: {model_id: x}\ndata: {}\nparallel: {cp_size: 1}\ntraining: {stage: pt, lr: 1.0e-5}\n",
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_yaml(name: str) -> None:
    assert purpose(OTHERS[name], f"{name}.yaml") == "foreign"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("run_mode: train\ntrainer: {type: x}\n", None),
        ("run_mode: predict\nuse_legacy: False\nmodel: {model_config: {}}\n", "inference"),
        ("run_mode: finetune\nmodel: {model_config: {pet_config: {pet_type: lora}}}\n", "post-training"),
        ("run_mode: finetune\nmodel: {model_config: {pet_config: null}}\n", None),
        ("training: {local_batch_size: 1}\n", None),
        ("model: {model_type: deepseek_v3}\ntraining: {steps: 3}\n", None),
        ("model: {model_config: {hidden_size: 8}}\n", None),
        ("llama: {input_path: }\ngpt: {input_path: , layers: }\n", "conversion"),
        ("TopLayer:\n  network: 0.module\n", "conversion"),
    ],
)
def test_yaml_of_mindformers(text: str, kind: str | None) -> None:
    assert purpose(text, "x.yaml") == kind


@pytest.mark.parametrize(
    "text", ["kind: Job\n---\nkind: Job\n", "a: {{ x }}\n", "{% if x %}\na: 1\n{% endif %}\n", "- 1\n"]
)
def test_yaml_that_no_configuration_can_be(text: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        purpose(text, "x.yaml")
    assert caught.value.diagnostic.kind.code == "SYN930"


def test_a_broken_configuration_is_still_one() -> None:
    text = "run_mode: train\nmodel: {model_config: [}\ntrainer: {type: x}\n"
    with pytest.raises(UnreadableError) as caught:
        purpose(text, "x.yaml")
    assert caught.value.diagnostic.kind.code == "SYN070"
    assert without_training(caught.value.diagnostic, SourceText("x.yaml", text)) is None
    template = "run_mode: train\nmodel: {{ model }}\ntrainer: {type: x}\n"
    with pytest.raises(UnreadableError) as caught:
        purpose(template, "x.yaml")
    assert "template" in caught.value.diagnostic.message()


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("pip install -r requirements.txt\n", True),
        ("export PATH=/opt/bin:$PATH\n", True),
        ('ARGS="--num-layers 2"\n', True),  # read by another script
        ('CMD="torchrun pretrain_gpt.py"\n', False),
        ("# torchrun pretrain_gpt.py\necho\n", True),
    ],
)
def test_a_script_without_a_launch(text: str, remark: bool) -> None:
    source = SourceText("x.sh", text)
    with pytest.raises(UnreadableError) as caught:
        config_of(source, ReadOptions(), path="x.sh")
    assert (without_training(caught.value.diagnostic, source) is not None) == remark


def test_what_trains_is_taken_where_both_stand_in_one_script() -> None:
    text = f"torchrun pretrain_gpt.py {GPT}\npython tools/checkpoint/convert.py --tensor-model-parallel-size 2\n"
    config = config_of(SourceText("x.sh", text), ReadOptions(), path="x.sh")
    assert config.launch is not None
    assert config.launch.script == "pretrain_gpt.py"
    require_training(config)


def test_every_program_row_says_where_it_was_seen() -> None:
    content = load_table((constants.ROOT / "schemas" / "purposes.yaml").read_text("utf-8"))
    for part in ("programs", "modules", "recipes", "arguments"):
        assert all(row["source"] for row in content[part])


def test_a_text_that_may_be_a_configuration() -> None:
    assert may_be_mindformers(SourceText("x", "run_mode: train\ntrainer: [\n"))
    assert not may_be_mindformers(SourceText("x", "services:\n  - [\n"))
    assert is_mindformers({"use_legacy": False})
    assert program_kind(None) is None
