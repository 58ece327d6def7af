"""An error is one wherever it is read: not behind a test that bash may not pass, nor where a fork may take it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.lean import main
from accmap.mapper.recipe.reading import recipe_of
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "qwen3_dense"
GPT = (
    "--num-layers 47 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 "
    "--micro-batch-size 1 --train-iters 5 --lr 1e-4 --tokenizer-type NullTokenizer --vocab-size 100 --mock-data"
)
CASES: list[dict[str, Any]] = load_table(Path(__file__).with_name("true_errors.yaml").read_text("utf-8"))
FORK = "--own-norm --own-swiglu --own-matmul --own-dispatch --own-swap"


def linted(folder: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, Any]]]:
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    code = main(["lint", str(folder / "run.sh"), "--format", "json", "--no-cache", "--no-config"])
    return code, json.loads(capsys.readouterr().out)["diagnostics"]


def test_a_problem_of_a_file_that_is_read_names_that_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Megatron-LM 0.12 arguments.py:validate_args asks for layers that the stages divide."""
    files = {
        "model.sh": f"# 47 layers\nMODEL=({GPT})\n",
        "run.sh": (
            'cd "$(dirname "$0")"\n#\n#\n. model.sh\n'
            "torchrun --nproc_per_node 2 pretrain_gpt.py ${MODEL[@]} --pipeline-model-parallel-size 2\n"
        ),
    }
    code, found = linted(tmp_path, files, capsys)
    layers = [entry for entry in found if entry["code"] in ("PAR011", "MAP030")]
    assert code == 1
    assert {entry["code"] for entry in layers if entry["because_of"] is None} == {"PAR011"}
    for entry in layers:
        assert entry["file"].endswith("model.sh")
        assert entry["span"]["line"] == 2
        assert "file" not in entry["span"]


def test_a_fork_may_take_what_stands_in_a_file_that_it_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MindSpeed-LLM master takes `--num-layer-list`, and slime a split of its own, for layers that do not divide."""
    files = {
        "model.sh": f"MODEL=({GPT})\n",
        "run.sh": (
            'cd "$(dirname "$0")"\n. model.sh\n'
            f"torchrun --nproc_per_node 2 pretrain_gpt.py ${{MODEL[@]}} {FORK} --pipeline-model-parallel-size 2\n"
        ),
    }
    code, found = linted(tmp_path, files, capsys)
    assert code == 0, [entry["message"] for entry in found if entry["severity"] == "error"]
    assert {entry["severity"] for entry in found if entry["code"] == "PAR011"} == {"warning"}


@pytest.mark.parametrize(("test", "severity"), [('[ "$BATCH" = 0 ]', "warning"), ("true", "error")])
def test_a_redirection_on_a_way_that_bash_may_not_take(
    test: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """bash 5.2 runs the other branch and never looks for the file."""
    command = f"torchrun --nproc_per_node 1 pretrain_gpt.py {GPT}"
    text = f"if {test}; then srun --container-image <path to image> sh -c '{command}'; else {command}; fi\n"
    _, found = linted(tmp_path, {"run.sh": text + f"{command}\n"}, capsys)
    assert [entry["severity"] for entry in found if entry["code"] == "SYN025"] == [severity]


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (". ./missing.sh\nexit 1\ntorchrun pretrain_gpt.py --num-layers 2\n", "warning"),
        ("if [ $# -lt 2 ]; then exit 1; fi\ntorchrun pretrain_gpt.py --num-layers 2\n", "warning"),
        ("CMD='torchrun pretrain_gpt.py --num-layers 2'\n", "error"),
    ],
)
def test_a_start_that_is_not_found_for_want_of_an_answer(
    text: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """bash 5.2 starts the first two where the file says so and where two words are given."""
    code, found = linted(tmp_path, {"run.sh": text}, capsys)
    assert code == (2 if severity == "error" else 0)
    assert [(entry["code"], entry["severity"]) for entry in found] == [("SYN001", severity)]


def test_a_dynamic_configuration_for_a_version_that_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MindFormers 1.6.0 template.py:apply_template: "The config 'model' is missing a required key: model_config"."""
    file = tmp_path / "run.yaml"
    file.write_text(
        "training: {steps: 5, local_batch_size: 1}\nparallelism: {no_such: 1}\nmodel: {model_type: x}\n", "utf-8"
    )
    main(["lint", str(file), "--mindformers", "1.6", "--format", "json", "--no-cache", "--no-config"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [entry["code"] for entry in found if entry["severity"] == "error"] == ["MAP130"]


@pytest.mark.parametrize(("rate", "severity"), [("", "warning"), (", learning_rate: 1.e-4", "error")])
def test_a_missing_schedule_contradicts_a_rate_alone(
    rate: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MindFormers 1.9.0 base_trainer.py:create_lr_scheduler takes a cosine from 5e-5, whatever the optimizer says."""
    file = tmp_path / "run.yaml"
    file.write_text(f"run_mode: train\nuse_legacy: False\noptimizer: {{type: AdamW{rate}}}\n", "utf-8")
    main(["lint", str(file), "--format", "json", "--no-cache", "--no-config"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [entry["severity"] for entry in found if entry["code"] == "OPT013"] == [severity]


def pair_of(folder: Path, **changes: str) -> tuple[str, str]:
    """The example's two files, the configuration with one line changed."""
    script, yaml = folder / "m.sh", folder / "m.yaml"
    script.write_text((EXAMPLE / "megatron.sh").read_text("utf-8"), "utf-8")
    text = (EXAMPLE / "mindformers.yaml").read_text("utf-8")
    for old, new in changes.items():
        assert f"\n{old}: " in text
        text = re.sub(rf"(?m)^{old}: .*$", new, text)
    yaml.write_text(text, "utf-8")
    return str(script), str(yaml)


def answered(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, Any]]]:
    code = main(["lint", *words, "--format", "json", "--no-cache", "--no-config"])
    return code, json.loads(capsys.readouterr().out)["diagnostics"]


def test_a_pair_of_which_one_file_does_not_train(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MindFormers 1.9.0 run_mindformer.py:main calls predict, and no train."""
    script, yaml = pair_of(tmp_path, run_mode="run_mode: predict")
    code, found = answered(capsys, script, yaml)
    assert code == 1
    [error] = [entry for entry in found if entry["severity"] == "error"]
    assert (error["code"], error["span"]["line"]) == ("MAP138", 4)
    code, found = answered(capsys, yaml)
    assert code == 0
    assert {entry["severity"] for entry in found} == {"info"}


def test_a_class_that_nobody_knows_differs_by_what_it_builds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MindFormers 1.9.0 has no older class of that name: its numbers are neither the same nor others."""
    _, found = answered(capsys, *pair_of(tmp_path, use_legacy="use_legacy: True"))
    said = next(entry for entry in found if entry["code"] == "RUN001")
    assert (said["severity"], found[said["because_of"]]["code"]) == ("warning", "MAP107")
    assert "not the numbers" not in said["message"]


def test_a_false_value_turns_the_older_classes_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MindFormers 1.9.0 register.py:is_legacy_model takes the value as it is written; 0 is none."""
    code, _ = answered(capsys, *pair_of(tmp_path, use_legacy="use_legacy: 0"))
    assert code == 0


def test_a_misspelt_use_legacy_is_one_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MindFormers 1.9.0 takes the older classes by default, which know no model_type."""
    code, found = answered(capsys, *pair_of(tmp_path, use_legacy="use_legcy: False"))
    alone = [entry for entry in found if entry["because_of"] is None and entry["severity"] != "info"]
    assert code == 1
    assert [(entry["code"], entry["severity"]) for entry in alone] == [("MAP054", "error")]


def test_a_difference_does_not_follow_from_an_idle_name_beside_the_one_that_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MindFormers 1.9.0 configuration_qwen3_moe.py ignores num_experts_chosen; num_experts_per_tok decides."""
    example = EXAMPLE.parent / "qwen3_moe"
    text = (example / "mindformers.yaml").read_text("utf-8")
    both = "num_experts_per_tok: 3\n    num_experts_chosen: 2"
    (tmp_path / "m.yaml").write_text(text.replace("num_experts_per_tok: 4", both), "utf-8")
    _, found = answered(capsys, str(example / "megatron.sh"), str(tmp_path / "m.yaml"))
    topk = next(entry for entry in found if entry["code"] == "MOE002")
    assert (topk["severity"], topk["because_of"]) == ("error", None)
    idle = next(entry for entry in found if entry["code"] == "MAP056")
    assert idle["severity"] == "warning"


@pytest.mark.parametrize(
    ("key", "impact"),
    [
        ("remove_redundancy: True", "none"),  # 1.9.0 trainer/utils.py:load_ckpt alone
        ("profiler_level: 1", "none"),  # 1.9.0 trainer/trainer.py hands it to the profiler's callback
        ("auto_tune: True", "performance"),  # 1.9.0 dataset/base_dataset.py:init_dataset_config
        ("auto_map: {AutoConfig: own.Config}", "none"),  # 1.6-2.1 model_config_utils.py:IGNORE_COMMON_HF_PARAMETER
        ("router_aux_loss_coef: 0.5", "none"),  # 1.9.0 configuration_qwen3_moe.py: NotSupportedInfo.useless
        ("grouped_lr_schedule: {default: {type: ConstantWarmUpLR, learning_rate: 2.e-4, warmup_steps: 1}}", "numerics"),
    ],
)
def test_a_key_without_a_row_has_the_impact_of_what_reads_it(key: str, impact: str) -> None:
    text = (EXAMPLE.parent / "qwen3_moe" / "mindformers.yaml").read_text("utf-8")
    of_the_model = key.startswith(("router", "auto_map"))
    place = "    num_experts_per_tok: 4\n" if of_the_model else "run_mode: train\n"
    assert place in text
    text = text.replace(place, place + ("    " if of_the_model else "") + key + "\n")
    recipe = recipe_of(config_of(SourceText("m.yaml", text), ReadOptions(), path="m.yaml"))
    name = key.partition(":")[0]
    assert {one.impact for one in recipe.unmapped if name in one.key} == {impact}


@pytest.mark.parametrize(("program", "code"), [("pretrain_gpt.py", "MAP106"), ("my_pretrain.py", "MAP146")])
def test_an_argument_of_another_version_may_be_the_programs_own(
    program: str, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pai-Megatron-Patch's arguments.py:get_patch_args declares --padded-vocab-size, which 0.12's parser lacks."""
    text = f"torchrun --nproc_per_node 1 {program} {GPT} --padded-vocab-size 128\n"
    (tmp_path / "run.sh").write_text(text, "utf-8")
    _, found = answered(capsys, str(tmp_path / "run.sh"), "--megatron", "0.12")
    said = {entry["code"]: entry["severity"] for entry in found if "padded" in entry["message"]}
    assert said == {code: "error" if code == "MAP106" else "warning"}


@pytest.mark.table(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["source"])[:60])
def test_an_error_is_one_where_the_real_code_says_so(
    case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / case.get("file", "run.sh")
    file.write_text(case["text"].replace("GPT", GPT, 1), "utf-8")
    main(["lint", str(file), *case.get("arguments", ()), "--format", "json", "--no-cache", "--no-config"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    for code, severity in case["found"].items():
        said = {entry["severity"] for entry in found if entry["code"] == code}
        assert said == (set() if severity is None else {severity}), [entry["message"] for entry in found]
    stops = [entry["message"] for entry in found if entry["effect"] == "stops" and entry["severity"] == "error"]
    code = main(["convert", str(file), *case.get("arguments", ()), "-o", str(tmp_path / "converted")])
    said = capsys.readouterr().err
    assert ("SYN952" in said) == bool(stops), (code, said, stops)


OPTIMIZER = "@MindFormerRegister.register(MindFormerModuleType.OPTIMIZER"


@pytest.mark.parametrize(
    ("program", "severity"),
    [
        ("@MindFormerRegister.register(MindFormerModuleType.OPTIMIZER)\nclass OwnAdam(Cell):\n    pass\n", "warning"),
        ("@MindFormerRegister.register(MindFormerModuleType.OPTIMIZER)\nclass OwnAdamW(Cell):\n    pass\n", "error"),
        ("class OwnAdam(Cell):\n    pass\n", "error"),
        (None, "error"),
        ("# @MindFormerRegister.register(MindFormerModuleType.OPTIMIZER)\nclass OwnAdam(Cell):\n    pass\n", "error"),
        (f"{OPTIMIZER})\nclass X: pass\nclass OwnAdam: pass\n", "error"),
        ("@MindFormerRegister.register(MindFormerModuleType.MODELS)\nclass OwnAdam(Cell):\n    pass\n", "error"),
        ("@MindFormerRegister.register()\nclass OwnAdam(Cell):\n    pass\n", "error"),
        (f"{OPTIMIZER}, alias='Other')\nclass OwnAdam(Cell):\n    pass\n", "error"),
        (f"{OPTIMIZER})\nclass OwnAdam(Cell):\n  def f(:\n", "error"),
        (f"{OPTIMIZER}, alias='OwnAdam')\nclass Implementation(Cell):\n    pass\n", "warning"),
        (f"{OPTIMIZER}, 'OwnAdam')\nclass Implementation(Cell):\n    pass\n", "warning"),
        (f"{OPTIMIZER}, search_names=['OwnAdam'])\nclass Implementation(Cell):\n    pass\n", "warning"),
        (f"{OPTIMIZER}, **MORE)\nclass Implementation(Cell):\n    pass\n", "warning"),
        ("@MindFormerRegister.register('optimizer')\nclass OwnAdam: pass\n", "warning"),
        ("MindFormerRegister.register_cls(OwnAdam, MindFormerModuleType.OPTIMIZER)\n", "warning"),
        ("MindFormerRegister.register_cls(OwnAdam)\n", "error"),
        ("MindFormerRegister.register(MindFormerModuleType.OPTIMIZER)(OwnAdam)\n", "warning"),
        (
            "from m import MindFormerRegister as R\n@R.register(MindFormerModuleType.OPTIMIZER)\nclass OwnAdam: pass\n",
            "warning",
        ),
        (
            (
                "@MindFormerRegister.register(\n    module_type=MindFormerModuleType.OPTIMIZER,\n    legacy=True,\n)\n"
                "class OwnAdam(Cell):\n    pass\n"
            ),
            "warning",
        ),
    ],
)
def test_a_class_may_be_registered_by_the_program_of_the_yamls_name(
    program: str | None, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MindFormers 1.6-2.1 tools/register/register.py:MindFormerRegister, as tests/st/test_build.py does."""
    text = (EXAMPLE / "mindformers.yaml").read_text("utf-8").replace("type: AdamW\n", "type: OwnAdam\n")
    (tmp_path / "run.yaml").write_text(text, "utf-8")
    if program is not None:
        (tmp_path / "run.py").write_text(program, "utf-8")
    _, found = answered(capsys, str(tmp_path / "run.yaml"))
    said = [one for one in found if one["code"] == "MAP071"]
    assert [one["severity"] for one in said] == [severity]
    lines = (program or "").split("\n")
    named = [number for number, line in enumerate(lines, 1) if line.startswith(("class", "MindFormerRegister"))]
    assert [place["span"]["line"] for place in said[0]["related"]] == (named if severity == "warning" else [])
