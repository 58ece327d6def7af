"""A run whose length no file says: undecided in every command alike, and settled in every command alike.

What is right is in tests/schemas/mindformers/run_length_cases.yaml, by the real code
(mindformers 1.6-2.1 trainer/base_trainer.py:create_lr_scheduler).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64"
SCRIPT = (
    f"torchrun --nproc_per_node 8 pretrain_gpt.py {MODEL} --micro-batch-size 1 --global-batch-size 8 --bf16 "
    "--train-iters {iters} --lr {lr} --min-lr 1e-5 --lr-decay-style cosine --lr-warmup-iters 60\n"
)
YAML = """\
run_mode: 'train'
use_legacy: False
use_parallel: True
trainer: {type: CausalLanguageModelingTrainer}
runner_config: {epochs: 2, batch_size: 1, sink_mode: True, sink_size: 1}
parallel: {parallel_mode: 1, full_batch: True}
parallel_config: {data_parallel: 8, model_parallel: 1, pipeline_stage: 1}
lr_schedule:
  type: CosineWithWarmUpLR
  learning_rate: 1.e-4
  lr_end: 1.e-5
  warmup_ratio: 0.03
  total_steps: -1
optimizer: {type: AdamW, weight_decay: 0.01}
train_dataset:
  data_loader: {type: MindDataset, dataset_dir: ""}
  input_columns: ["input_ids"]
  drop_remainder: True
train_dataset_task: {type: CausalLanguageModelDataset}
model:
  model_config:
    model_type: qwen3
    architectures: Qwen3ForCausalLM
    num_hidden_layers: 2
    hidden_size: 64
    num_attention_heads: 4
"""
FILES = {"a.sh": SCRIPT.format(iters=2000, lr="1e-4"), "b.yaml": YAML}
SETTLED = [("--steps", "2000"), ("--dataset-size", "8007")]
"""2,000 steps: 8,007 samples are 1,000 whole batches of 8, twice."""


@pytest.mark.parametrize(("option", "value"), SETTLED)
def test_lr_follows_the_length(accmap: Callable[..., Any], option: str, value: str) -> None:
    answer = accmap("lr", "b.yaml", option, value, "--format", "json", files=FILES)
    assert answer.code == 0, answer.err
    series = json.loads(answer.out)["series"][0]["schedule"]
    assert (series["total_steps"], series["warmup_steps"], series["decay_end"]) == (2000, 60, 2000)
    assert accmap("lr", "a.sh", "b.yaml", option, value, files=FILES).code == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_lr_says_what_settles_it(accmap: Callable[..., Any], language: str) -> None:
    answer = accmap("lr", "b.yaml", "--lang", language, files=FILES)
    assert answer.code == 2
    assert "--steps N" in answer.err
    assert "--dataset-size N" in answer.err
    assert ("depends on the dataset" in answer.err) == (language == "en")


def test_show_and_recipe_leave_it_open_with_a_reason(accmap: Callable[..., Any]) -> None:
    shown = json.loads(accmap("show", "b.yaml", "--format", "json", files=FILES).out)
    values = {entry["key"]: entry["value"] for entry in shown["values"]}
    assert values["resolved.schedule.total_steps"] is None
    assert values["resolved.schedule.warmup_steps"] is None
    assert "run-length-open" in [problem["name"] for problem in shown["problems"]]
    fields = json.loads(accmap("recipe", "b.yaml", "--format", "json", files=FILES).out)["fields"]
    for name in ("run.train_steps", "schedule.warmup_steps", "schedule.decay_steps"):
        assert fields[name]["value"] is None
        assert "--dataset-size N" in fields[name]["reason"]
    assert "? run.train_steps" in accmap("recipe", "b.yaml", files=FILES).out


@pytest.mark.parametrize(("option", "value"), SETTLED)
def test_show_and_recipe_follow_the_length(accmap: Callable[..., Any], option: str, value: str) -> None:
    shown = json.loads(accmap("show", "b.yaml", option, value, "--format", "json", files=FILES).out)
    values = {entry["key"]: entry for entry in shown["values"]}
    assert values["resolved.schedule.total_steps"]["value"] == 2000
    assert option in values["resolved.schedule.total_steps"]["derived_from"]
    fields = json.loads(accmap("recipe", "b.yaml", option, value, "--format", "json", files=FILES).out)["fields"]
    assert fields["run.train_steps"]["value"] == 2000
    assert fields["schedule.decay_steps"]["value"] == 2000
    assert fields["schedule.warmup_steps"]["value"] == 60
    assert all("reason" not in entry for entry in fields.values())


def test_convert_writes_no_length_that_it_does_not_know(accmap: Callable[..., Any], tmp_path: Any) -> None:
    answer = accmap("convert", "b.yaml", "-o", "out.sh", "--report", "report.json", files=FILES)
    written = (tmp_path / "out.sh").read_text(encoding="utf-8")
    assert "--train-iters" not in written
    assert "--lr-decay-iters" not in written
    assert "--lr-warmup-iters" not in written
    rows = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["rows"]
    found = {row["field"]: row for row in rows}
    for name in ("run.train_steps", "schedule.warmup_steps", "schedule.decay_steps"):
        assert found[name]["status"] == "unresolved", name
        assert "--dataset-size N" in found[name]["message"]
    assert "--dataset-size N" in answer.err


def test_a_missing_total_is_unresolved_as_well(accmap: Callable[..., Any], tmp_path: Any) -> None:
    files = {"b.yaml": YAML.replace("  total_steps: -1\n", "")}
    accmap("convert", "b.yaml", "-o", "out.sh", "--report", "report.json", files=files)
    rows = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["rows"]
    assert {row["status"] for row in rows if row["field"] == "schedule.decay_steps"} == {"unresolved"}


@pytest.mark.parametrize(("option", "value"), SETTLED)
def test_convert_and_pair_follow_the_length(accmap: Callable[..., Any], option: str, value: str, tmp_path: Any) -> None:
    answer = accmap("convert", "b.yaml", option, value, "-o", "out.sh", files=FILES)
    assert "run." not in answer.err.splitlines()[-1], "the length is settled"
    written = (tmp_path / "out.sh").read_text(encoding="utf-8")
    assert "--train-iters 2000" in written
    assert "--lr-warmup-iters 60" in written
    assert "run." not in accmap("pair", "b.yaml", option, value, "-d", "pair", files=FILES).err.splitlines()[-1]
    assert accmap("lr", "pair/example.sh", "pair/example.yaml").code == 0
    assert "--train-iters 2000" in (tmp_path / "pair" / "example.sh").read_text(encoding="utf-8")


def test_pair_says_what_it_does_not_know(accmap: Callable[..., Any], tmp_path: Any) -> None:
    answer = accmap("pair", "b.yaml", "-d", "pair", files=FILES)
    assert "--dataset-size N" in answer.err
    assert "--train-iters" not in (tmp_path / "pair" / "example.sh").read_text(encoding="utf-8")


def test_diff_is_undecided_with_the_reason(accmap: Callable[..., Any]) -> None:
    answer = accmap("diff", "a.sh", "b.yaml", "--format", "json", files=FILES)
    rows = {row["field"]: row for row in json.loads(answer.out)["rows"]}
    assert rows["schedule.decay_steps"]["status"] == "undecided"
    assert "--steps N" in rows["schedule.decay_steps"]["reason"]
    settled = accmap("diff", "a.sh", "b.yaml", "--steps", "2000", "--format", "json", files=FILES)
    rows = {row["field"]: row for row in json.loads(settled.out)["rows"]}
    assert rows["schedule.decay_steps"]["status"] == "equal"
    assert rows["run.train_steps"]["status"] == "equal"


def codes(answer: Any) -> list[tuple[str, str]]:
    found = json.loads(answer.out)["diagnostics"]
    return [(entry["code"], entry["severity"]) for entry in found if entry["code"].startswith(("SCH05", "RUN002"))]


def lint(accmap: Callable[..., Any], files: dict[str, str], *words: str) -> list[tuple[str, str]]:
    return codes(
        accmap("lint", "a.sh", "b.yaml", "--profile", "train", "--no-cache", "--format", "json", *words, files=files)
    )


def test_lint_calls_an_open_length_no_error_and_keeps_no_silence(accmap: Callable[..., Any]) -> None:
    found = lint(accmap, FILES)
    assert ("SCH057", "warning") in found
    assert "error" not in [severity for _, severity in found]


def test_lint_still_finds_what_does_not_follow_the_length(accmap: Callable[..., Any]) -> None:
    found = lint(accmap, {**FILES, "a.sh": SCRIPT.format(iters=2000, lr="3e-4")})
    assert ("SCH051", "error") in found
    assert ("SCH057", "warning") in found


@pytest.mark.parametrize(("option", "value"), SETTLED)
def test_lint_follows_the_length(accmap: Callable[..., Any], option: str, value: str) -> None:
    assert lint(accmap, FILES, option, value) == []
    wrong = lint(accmap, {**FILES, "a.sh": SCRIPT.format(iters=1500, lr="1e-4")}, option, value)
    assert ("SCH050", "error") in wrong
    assert ("RUN002", "error") in wrong


@pytest.mark.parametrize(
    "configuration",
    [
        "steps = 2000\n",
        "dataset-size = 8007\n",
        '[[pairs]]\nmegatron = "*.sh"\nmindformers = "*.yaml"\nsteps = 2000\n',
        'steps = 1\n[[pairs]]\nmegatron = "a.sh"\nmindformers = "b.yaml"\ndataset-size = 8007\n',
    ],
)
def test_the_configuration_settles_it(accmap: Callable[..., Any], configuration: str) -> None:
    assert lint(accmap, {**FILES, "accmap.toml": configuration}) == []


def test_the_steps_of_a_pair_leave_the_samples_of_all(accmap: Callable[..., Any]) -> None:
    """Up to 1.7 a warm-up in epochs counts the batches, whatever the length of the run."""
    yaml = YAML.replace("warmup_ratio: 0.03", "warmup_epochs: 1")
    pair = '[[pairs]]\nmegatron = "a.sh"\nmindformers = "b.yaml"\nsteps = 1500\n'
    files = {**FILES, "b.yaml": yaml, "accmap.toml": f"dataset-size = 8007\n{pair}"}
    answer = accmap("lr", "b.yaml", "--mindformers", "1.7", "--format", "json", files=files)
    assert answer.code == 0, answer.err
    schedule = json.loads(answer.out)["series"][0]["schedule"]
    assert schedule["warmup_steps"] == 1000, schedule


def test_the_command_line_stands_over_the_configuration(accmap: Callable[..., Any]) -> None:
    files = {**FILES, "accmap.toml": "dataset-size = 8007\n"}
    assert ("SCH050", "error") in lint(accmap, files, "--steps", "1000")


@pytest.mark.parametrize(
    ("configuration", "said"),
    [
        ("steps = 0\n", "steps must be from 1 to 9007199254740992, not 0"),
        ('dataset-size = "many"\n', "dataset-size must be a TOML integer"),
        (
            '[[pairs]]\nmegatron = "a"\nmindformers = "b"\nsteps = -1\n',
            "pairs.steps must be from 1 to 9007199254740992, not -1",
        ),
        (
            '[[pairs]]\nmegatron = "a"\nmindformers = "b"\nstep = 1\n',
            "pairs has no key 'step' (did you mean steps?)",
        ),
    ],
)
def test_a_wrong_length_in_the_configuration_is_a_sentence(
    accmap: Callable[..., Any], configuration: str, said: str
) -> None:
    answer = accmap("lint", "a.sh", files={**FILES, "accmap.toml": configuration})
    assert answer.code == 2
    assert said in answer.err


@pytest.mark.parametrize("command", ["show", "recipe", "convert", "lint", "lr"])
@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--steps", "0", "--steps starts at 1, not 0"),
        ("--dataset-size", "-3", "--dataset-size starts at 1, not -3"),
        ("--dataset-size", "many", "--dataset-size must be an integer, not 'many'"),
    ],
)
def test_a_wrong_length_is_a_sentence(
    accmap: Callable[..., Any], command: str, option: str, value: str, said: str
) -> None:
    answer = accmap(command, "b.yaml", option, value, files=FILES)
    assert answer.code == 2
    assert said in answer.err


def test_a_script_that_leaves_its_length_open_is_settled_too(accmap: Callable[..., Any]) -> None:
    files = {"a.sh": SCRIPT.format(iters="$ITERS", lr="1e-4"), "b.yaml": YAML}
    fields = json.loads(accmap("recipe", "a.sh", "--steps", "2000", "--format", "json", files=files).out)["fields"]
    assert fields["run.train_steps"]["value"] == 2000
    assert fields["schedule.decay_steps"]["value"] == 2000
    assert lint(accmap, files, "--steps", "2000") == []
    assert "Set --steps N" in accmap("recipe", "a.sh", files=files).out


def test_a_length_that_a_file_states_stands(accmap: Callable[..., Any]) -> None:
    fields = json.loads(accmap("recipe", "a.sh", "--steps", "7", "--format", "json", files=FILES).out)["fields"]
    assert fields["run.train_steps"]["value"] == 2000


def test_a_share_of_an_open_length_stays_a_share(accmap: Callable[..., Any]) -> None:
    # mindformers 1.9.0 lr_schedule.py:_get_lr_steps takes int(total_steps * warmup_ratio) of the length that
    # base_trainer.py:create_lr_scheduler puts in, megatron 0.12 optimizer_param_scheduler.py the share itself: for
    # 1,250 steps and 0.01 the real classes warm up over 12 and 12.5 steps. No warm-up at all is neither.
    script = SCRIPT.format(iters="$ITERS", lr="1e-4").replace("--lr-warmup-iters 60", "--lr-warmup-fraction 0.01")
    answer = accmap("convert", "run.sh", "-o", "out.yaml", files={"run.sh": script})
    assert answer.code == 1
    text = Path("out.yaml").read_text("utf-8")
    assert "warmup_ratio: 0.01" in text
    assert "warmup_steps" not in text
    accmap("convert", "run.sh", "-o", "known.yaml", "--steps", "1250")
    assert "warmup_steps: 13" in Path("known.yaml").read_text("utf-8")  # the nearest whole number of steps
    accmap("convert", "b.yaml", "-o", "back.sh", files=FILES)
    assert "--lr-warmup-fraction 0.03" in Path("back.sh").read_text("utf-8")
