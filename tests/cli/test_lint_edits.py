"""The edits that `accmap lint` shows and offers: their lines, their places, both directions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shutil import copytree

import pytest
import yaml

from accmap.cli.lean import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPT, YAML = "planted/megatron.sh", "planted/mindformers.yaml"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the faulty pair."""
    copytree(EXAMPLES / "planted", tmp_path / "planted")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def block_of(code: str, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The lines of one finding."""
    main(["lint", "--no-cache", *words, "--all"])
    blocks = capsys.readouterr().out.split("\n\n")
    return next(block for block in blocks if f"[{code}]" in block) + "\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (
            "OPT006",
            "    - weight_decay: 0.01\n    + weight_decay: 0.1   planted/mindformers.yaml:21\n",
        ),
        (
            "MAP056",
            "    - num_experts_chosen: 4\n    + num_experts_per_tok: 4   planted/mindformers.yaml:123\n",
        ),
        (
            "OPT006",
            "    - --weight-decay 0.1\n    + --weight-decay 0.01   planted/megatron.sh:61\n",
        ),
        ("OPT010", "    - GLOBAL_BATCH=16\n    + GLOBAL_BATCH=2   planted/megatron.sh:8\n"),
        ("MOE015", "    + --moe-router-pre-softmax   planted/megatron.sh:46\n"),
        ("NET009", "    + rope_theta: 1000000.0   planted/mindformers.yaml:132 (model.model_config)\n"),
        ("MOE015", "    + norm_topk_prob: True   planted/mindformers.yaml:132 (model.model_config)\n"),
    ],
)
def test_an_edit_is_shown_at_its_place(capsys: pytest.CaptureFixture[str], code: str, lines: str) -> None:
    assert lines in block_of(code, capsys, SCRIPT, YAML)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("code", ["OPT013", "NET009", "MOE015"])
def test_a_missing_key_quotes_no_line_of_another_key(capsys: pytest.CaptureFixture[str], code: str) -> None:
    assert "moe_grouped_gemm" not in block_of(code, capsys, SCRIPT, YAML)


@pytest.mark.usefixtures("folder")
def test_a_description_has_both_values_and_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "--no-cache", SCRIPT, YAML, "--format", "json"])
    found = {entry["code"]: entry for entry in json.loads(capsys.readouterr().out)["diagnostics"]}
    decay = found["OPT006"]
    assert (
        decay["fix"]["description"] == "In mindformers.yaml, write `weight_decay: 0.1` instead of `weight_decay: 0.01`."
    )
    assert [one["description"] for one in decay["alternatives"]] == [
        "In megatron.sh, write `--weight-decay 0.01` instead of `--weight-decay 0.1`."
    ]


ONE_LINE = """\
#!/bin/bash
SEQ=128
ARGS="--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length $SEQ --max-position-embeddings $SEQ"
OPT="--weight-decay 0.1 --micro-batch-size 1 --train-iters 10 --lr 1e-4 --bf16 --tokenizer-type NullTokenizer"
torchrun --nproc_per_node 1 pretrain_gpt.py $ARGS $OPT --vocab-size 99 --mock-data
"""


def test_of_a_long_line_the_argument_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.sh").write_text(ONE_LINE)
    shown = block_of("OPT006", capsys, "one.sh", YAML)
    assert '    - OPT="--weight-decay 0.1\n    + OPT="--weight-decay 0.01   one.sh:4\n' in shown


def test_a_variable_of_several_arguments_is_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.sh").write_text(ONE_LINE)
    shown = block_of("DAT001", capsys, "one.sh", YAML)
    # 1024 positions do not fit the other argument, which changes with it
    new = '--seq-length 1024 --max-position-embeddings 4096"'
    assert f'    - --seq-length $SEQ --max-position-embeddings $SEQ"\n    + {new}   one.sh:3\n' in shown


def test_the_summary_counts_fixes_and_a_second_run_has_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def summary(*words: str) -> str:
        main(["lint", "--no-cache", SCRIPT, YAML, *words])
        return capsys.readouterr().out.rstrip().split("\n")[-2]

    main(["lint", "--no-cache", SCRIPT, YAML, "--format", "json"])
    counts = json.loads(capsys.readouterr().out)["summary"]["fixable"]
    assert summary().startswith(f"{counts['safe']} fixable with --fix, {counts['unsafe']} more with --fix --unsafe")
    assert "--fix --unsafe" not in summary("--fix", "--unsafe")
    mended = (folder / YAML).read_text()
    summary("--fix", "--unsafe")
    assert (folder / YAML).read_text() == mended


OLDER_CLASS = """\
run_mode: train
optimizer:
  type: AdamW
  weight_decay: 0.1
  learning_rate: 3.e-4
lr_schedule: {type: ConstantWarmUpLR, learning_rate: 1.e-4, warmup_steps: 0, total_steps: 10}
runner_config:
  epochs: 1
  batch_size: 4
  sink_mode: True
  sink_size: 1
use_parallel: False
parallel_config: {data_parallel: 1, model_parallel: 1, pipeline_stage: 1, micro_batch_num: 1}
train_dataset:
  data_loader:
    type: MindDataset
    dataset_dir: ./data
trainer: {type: CausalLanguageModelingTrainer, model_name: llama}
model:
  model_config:
    type: LlamaConfig
    hidden_size: 64
    num_heads: 4
    num_layers: 2
    seq_length: 128
    compute_dtype: bfloat16
  arch: {type: LlamaForCausalLM}
runner_wrapper:
  type: MFTrainOneStepCell
  scale_sense:
    type: DynamicLossScaleUpdateCell
    loss_scale_value: 65535
    scale_factor: 2
    scale_window: 1000
  use_clip_grad: True
"""


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("OPT010", "    - batch_size: 4\n    + batch_size: 1   older.yaml:9\n"),
        ("MAP065", "    - learning_rate: 3.e-4   older.yaml:5\n"),
        ("PRC010", "    + scale_sense: 1.0   older.yaml:30\n"),
        ("DAT001", "    + seq_length: 256   older.yaml:25\n"),
    ],
)
def test_a_file_of_an_older_class_has_its_edits(
    folder: Path, capsys: pytest.CaptureFixture[str], code: str, lines: str
) -> None:
    (folder / "one.sh").write_text(ONE_LINE.replace("SEQ=128", "SEQ=256"))
    (folder / "older.yaml").write_text(OLDER_CLASS)
    assert lines in block_of(code, capsys, "one.sh", "older.yaml")


def test_no_fix_gives_a_loader_a_section_that_it_does_not_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "one.sh").write_text(ONE_LINE.replace("--mock-data", "--data-path /a --split 1,0,0"))
    (folder / "older.yaml").write_text(OLDER_CLASS)
    assert "in older.yaml:\n" not in block_of("DAT002", capsys, "one.sh", "older.yaml")
    read = "    dataset_dir: ./data\n    config: {data_path: [/a], split: '1,0,0'}\n"
    (folder / "older.yaml").write_text(OLDER_CLASS.replace("    dataset_dir: ./data\n", read))
    assert "MindDataset accepts data_path but does not use it." in block_of("MAP069", capsys, "one.sh", "older.yaml")


def test_of_advice_that_follows_the_number_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.sh").write_text(ONE_LINE)
    (folder / "older.yaml").write_text(OLDER_CLASS.replace("LlamaConfig", "OursConfig").replace("LlamaFor", "OursFor"))

    def shown(*words: str) -> str:
        main(["lint", "--no-cache", "one.sh", "older.yaml", *words])
        text = capsys.readouterr().out
        return text[text.index("because the model class is unknown") :].split("\n\n")[0]

    heading, *lines = shown().split("\n")
    number = int(re.search(r"(\d+) pieces of advice \(--remarks\)", heading)[1])  # pyright: ignore[reportOptionalSubscript]
    assert number > 20
    assert "info[" not in "".join(lines)
    assert shown("--remarks").count("\n    info[") == number


PLACEHOLDER = """\
SAVE="your save path"
python pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --save $SAVE
"""


def test_a_placeholder_is_shown_with_a_blank(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.sh").write_text(PLACEHOLDER)
    shown = block_of("MAP003", capsys, "one.sh")
    assert '  Fill in:\n    - SAVE="your save path"\n    + SAVE="<--save>"   one.sh:1\n' in shown


def test_a_fix_of_the_other_file_names_its_option(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / SCRIPT
    path.write_text(path.read_text().replace("    --hidden-dropout 0.0\n", ""))
    # a dropout in the YAML would be a finding of its own
    shown = block_of("NET022", capsys, SCRIPT, YAML)
    assert "  Add to planted/megatron.sh (unsafe fix, --fix-side a):\n    + --hidden-dropout 0.0" in shown


@pytest.mark.usefixtures("folder")
def test_the_command_of_a_fix_mends_its_finding(capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "--no-cache", SCRIPT, YAML, "--format", "json"])
    found = {entry["code"]: entry for entry in json.loads(capsys.readouterr().out)["diagnostics"]}
    command = found["OPT013"]["fix"]["command"]
    assert f"accmap convert {SCRIPT} --update {YAML}" == command
    assert command in " ".join(block_of("OPT013", capsys, SCRIPT, YAML).split())
    main(command.split()[1:])
    capsys.readouterr()
    main(["lint", "--no-cache", SCRIPT, YAML, "--format", "json"])
    left = {entry["code"] for entry in json.loads(capsys.readouterr().out)["diagnostics"] if not entry["because_of"]}
    assert not left & {"OPT013", "OPT010"}


@pytest.mark.usefixtures("folder")
def test_the_command_of_a_fix_has_the_given_versions(capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "--no-cache", SCRIPT, YAML, "--format", "json", "--mindformers", "2.1"])
    found = {entry["code"]: entry for entry in json.loads(capsys.readouterr().out)["diagnostics"]}
    assert found["OPT013"]["fix"]["command"].endswith("--mindformers 2.1")


INTERLEAVED = """\
MBS=2
GBS=256
torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 \\
  --max-position-embeddings 128 --micro-batch-size $MBS --global-batch-size $GBS --train-iters 10 --lr 1e-4 --bf16 \\
  --tokenizer-type PretrainedFromHF --tokenizer-name-or-path t --data-path d --reset-attention-mask \\
  --use-mcore-models --use-flash-attn
"""


def test_a_defects_fix_takes_nothing_over_from_the_partner(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """DEF820 is about the micro batch, which its edit changes; the partner's global batch is another finding."""
    (folder / "npu.sh").write_text(INTERLEAVED)
    assert main(["convert", "npu.sh", "--megatron", "mindspeed-llm-2.3", "-o", "new.yaml"]) in (0, 1)
    text = (folder / "new.yaml").read_text()
    (folder / "new.yaml").write_text(
        text.replace("global_batch_size: 256", "global_batch_size: 4").replace(
            "local_batch_size: 2", "local_batch_size: 1"
        )
    )
    capsys.readouterr()
    main(["lint", "--no-cache", "npu.sh", "new.yaml", "--megatron", "mindspeed-llm-2.3", "--format", "json"])
    found = [one for one in json.loads(capsys.readouterr().out)["diagnostics"] if one["code"] == "DEF820"]
    assert [one["fix"]["description"] for one in found] == ["In npu.sh, write `MBS=1` instead of `MBS=2`."]


def write_changed_example(folder: Path, changes: dict[str, tuple[str, str]]) -> None:
    """The dense example with a text replaced in each file."""
    for name in (SCRIPT, YAML):
        text = (EXAMPLES / "qwen3_dense" / Path(name).name).read_text()
        old, new = changes.get(name, ("", ""))
        assert old in text
        (folder / name).write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("changes", "edits"),
    [
        # a checkpoint of one framework is none of the other: the folder is that of `accmap pair`
        (
            {YAML: ("load_checkpoint: checkpoints/mindformers", "load_checkpoint: ''")},
            ["+ load_checkpoint: checkpoints/mindformers", "- --load checkpoints/megatron"],
        ),
        (
            {SCRIPT: ("    --load checkpoints/megatron\n", "")},
            ["- load_checkpoint: checkpoints/mindformers", "+ --load checkpoints/megatron"],
        ),
        # a folder without the framework's name: the converted one has its own name below that of `accmap pair`
        (
            {
                SCRIPT: ("--load checkpoints/megatron", "--load /data/start"),
                YAML: ("load_checkpoint: checkpoints/mindformers", "load_checkpoint: ''"),
            },
            ["+ load_checkpoint: checkpoints/mindformers/start", "- --load /data/start"],
        ),
    ],
)
def test_a_checkpoint_of_the_other_framework_is_not_taken_over(
    folder: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, tuple[str, str]], edits: list[str]
) -> None:
    write_changed_example(folder, changes)
    shown = block_of("RUN003", capsys, SCRIPT, YAML)
    for edit in edits:
        assert f"    {edit}   planted/" in shown


def test_a_fix_that_is_shown_is_referred_to(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / YAML
    path.write_text(
        path.read_text().replace(
            "micro_batch_num: 1",
            "micro_batch_num: 1\nlr_schedule:\n  type: ConstantWarmUpLR\n  learning_rate: 2.0e-5\n  lr_end: 1.0e-5",
        )
    )
    main(["lint", "--no-cache", SCRIPT, YAML])
    shown = capsys.readouterr().out
    assert shown.count("+   type: CosineWithWarmUpLR") + shown.count("+ type: CosineWithWarmUpLR") == 1
    assert "see the fix for" in shown


def test_what_has_no_fix_is_accepted_by_the_words_that_are_shown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The id of the document end is in the tokenizer's folder, which accmap does not open."""
    tokenizer = "--tokenizer-type HuggingFaceTokenizer --tokenizer-model /m --eod-mask-loss"
    changes = {
        SCRIPT: ("--tokenizer-type NullTokenizer", tokenizer),
        YAML: ("eod_mask_loss: False", "eod_mask_loss: True"),
    }
    for name, (old, new) in changes.items():
        text = (EXAMPLES / "qwen3_dense" / Path(name).name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    def loud() -> list[str]:
        main(["lint", "--no-cache", SCRIPT, YAML, "--format", "json"])
        found = json.loads(capsys.readouterr().out)["diagnostics"]
        return [entry["code"] for entry in found if entry["severity"] != "info"]

    assert loud() == ["DAT004"]
    line = next(
        one for one in block_of("DAT004", capsys, SCRIPT, YAML).split("\n") if "To accept the difference" in one
    )
    place = re.fullmatch(rf"  To accept the difference, add this comment above line (\d+) of {YAML}: (.*)", line)
    assert place is not None
    lines = (folder / YAML).read_text().split("\n")
    lines.insert(int(place[1]) - 1, place[2])
    (folder / YAML).write_text("\n".join(lines))
    assert loud() == []


@pytest.mark.parametrize("side", ["a", "b"])
def test_the_counts_are_what_a_fix_does(folder: Path, capsys: pytest.CaptureFixture[str], side: str) -> None:
    words = ["lint", "--no-cache", SCRIPT, YAML, "--fix-side", side]
    main([*words, "--format", "json"])
    counts = json.loads(capsys.readouterr().out)["summary"]["fixable"]
    wanted = counts["safe"] + counts["unsafe"]
    main(words)
    assert ("(--fix-side a)" in capsys.readouterr().out) is (side == "b")
    main([*words, "--diff"])
    would = capsys.readouterr().err
    main([*words, "--fix", "--unsafe"])
    done = capsys.readouterr().err
    left = done.count("did not apply the fix")
    assert f"--fix --unsafe would fix {wanted - left}\n" in would
    assert f"fixed {wanted - left}\n" in done


def test_no_command_is_shown_that_refuses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / SCRIPT
    command = f"accmap convert {SCRIPT} --update {YAML}"
    assert command in " ".join(block_of("OPT013", capsys, SCRIPT, YAML).split())
    assert "--num-attention-heads 8" in path.read_text()
    path.write_text(path.read_text().replace("--num-attention-heads 8", "--num-attention-heads 7"))
    assert main(command.split()[1:]) == 2
    capsys.readouterr()
    main(["lint", "--no-cache", SCRIPT, YAML])
    assert command not in " ".join(capsys.readouterr().out.split())


PATHS = """\
      data_path:
        # one prefix alone has no weight
        - /data/corpus_text_document
"""
MOCK = ('--data-path "$DATA_PATH"', "--mock-data")
LISTED, ALONE = "      data_path: [/data/corpus_text_document]\n", "      data_path: /data/corpus_text_document\n"


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        (
            {SCRIPT: MOCK, YAML: (PATHS, LISTED)},
            "/data/corpus_text_document",
        ),
        ({SCRIPT: MOCK, YAML: (PATHS, ALONE)}, "/data/corpus_text_document"),
        ({YAML: (PATHS, "")}, '--data-path "$DATA_PATH"'),
    ],
)
def test_no_fix_takes_a_runs_data_away(
    folder: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, tuple[str, str]], kept: str
) -> None:
    """A partner that makes its samples up, or names none, is no reason for a run to have none."""
    write_changed_example(folder, changes)
    main(["lint", "--no-cache", SCRIPT, YAML, "--format", "json"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    fixes = [fix for entry in found for fix in (entry["fix"], *entry["alternatives"]) if fix is not None]
    assert fixes
    texts = {name: (folder / name).read_text() for name in (SCRIPT, YAML)}
    for edit in (edit for fix in fixes for edit in fix["edits"]):
        span, lines = edit["span"], texts[edit["file"]].split("\n")
        taken = lines[span["line"] - 1 : span["end_line"]]
        taken[-1] = taken[-1][: span["end_column"] - 1]
        taken[0] = taken[0][span["column"] - 1 :]
        assert kept not in "\n".join(taken)


OLDER = """\
run_mode: train
trainer: {type: CausalLanguageModelingTrainer}
runner_config: {epochs: 1, batch_size: 1}
optimizer: {type: AdamW, eps: 1.e-8, weight_decay: 0.01}
lr_schedule: {type: ConstantWarmUpLR, learning_rate: 1.0e-4, warmup_steps: 7, total_steps: 100}
model:
  model_config: {type: LlamaConfig, num_layers: 3, hidden_size: 512, num_heads: 8, vocab_size: 32000, seq_length: 1024}
  arch: {type: LlamaForCausalLM}
"""


@pytest.mark.parametrize(
    ("code", "field", "here", "there"),
    [
        ("OPT006", "optimizer.weight_decay", "weight_decay: 0.1", "--weight-decay 0.01"),
        ("SCH051", "schedule.warmup_steps", "warmup_steps: 50", "--lr-warmup-iters 7"),
    ],
)
def test_a_yaml_of_an_older_class_is_mended_on_both_sides(
    folder: Path, capsys: pytest.CaptureFixture[str], code: str, field: str, here: str, there: str
) -> None:
    """MindFormers 1.9 reads these keys for its older classes, too; the network's under the names of the class."""
    script = folder / SCRIPT
    script.write_text((EXAMPLES / "qwen3_dense" / "megatron.sh").read_text())
    (folder / YAML).write_text(OLDER)
    main(["lint", "--no-cache", SCRIPT, YAML, "--profile", "train", "--format", "json"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    entry = next(one for one in found if one["code"] == code and one["fields"] == [field])
    described = [fix["description"] for fix in (entry["fix"], *entry["alternatives"]) if fix]
    assert any(here in text for text in described), described
    assert any(there in text for text in described), described


def test_two_files_of_which_one_trains_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "prepare.sh").write_text("python preprocess_data.py --input a.json --output-prefix a\n")
    main(["lint", "--no-cache", "prepare.sh", YAML])
    assert capsys.readouterr().out.rstrip().endswith("nothing was compared: prepare.sh does not train a GPT model")


def findings_of(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, object]]:
    """The first finding of each code."""
    main(["lint", "--no-cache", *words, "--format", "json"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    return {entry["code"]: entry for entry in reversed(found)}


def test_a_loaded_checkpoint_is_one_cause(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The drawn weights of the other side follow, and the one finding names both keys."""
    write_changed_example(folder, {YAML: ("load_checkpoint: checkpoints/mindformers", "load_checkpoint: ''")})
    shown = block_of("RUN003", capsys, SCRIPT, YAML)
    assert "checkpoints/megatron in Megatron-LM (--load)" in shown
    assert "unset in MindSpore Transformers (load_checkpoint)" in shown
    assert "[WGT005]" in shown[shown.index("because checkpoint.load_path differs") :]


def test_two_checkpoints_need_not_have_one_path(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_changed_example(folder, {SCRIPT: ("--load checkpoints/megatron", "--load /data/start")})
    shown = block_of("RUN003", capsys, SCRIPT, YAML)
    assert "warning[RUN003]" in shown
    assert "Check that both folders hold the same weights, each in the format of its framework." in shown
    assert "Use the same value" not in shown


SPLIT = "  dataset_strategy: [[1, 1], [1, 1], [1, 1], [1, 1]]\n  full_batch: False\n"


def test_a_new_column_of_the_data_has_its_row_of_the_strategy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MindSpore stops at the first step if the two numbers differ."""
    masked = "--reset-attention-mask --transformer-impl local --no-masked-softmax-fusion"
    write_changed_example(folder, {SCRIPT: ("--bf16", f"--bf16 {masked}"), YAML: ("  full_batch: True\n", SPLIT)})
    text = (folder / YAML).read_text().replace("use_parallel: False", "use_parallel: True")
    (folder / YAML).write_text(text)
    shown = block_of("DAT005", capsys, SCRIPT, YAML)
    assert "    + dataset_strategy: [[1, 1], [1, 1], [1, 1], [1, 1], [1, 1, 1, 1]]" in shown
    columns = "[input_ids, labels, loss_mask, position_ids, attention_mask]"
    (folder / YAML).write_text(text.replace("[input_ids, labels, loss_mask, position_ids]", columns))
    assert "dataset_strategy must have one row for each column" in block_of("MAP108", capsys, YAML)


def test_batch_and_length_of_a_run_are_one_edit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A YAML counts its steps in batches of its samples."""
    write_changed_example(folder, {SCRIPT: ("GLOBAL_BATCH=1", "GLOBAL_BATCH=8"), YAML: ("  epochs: 1", "  epochs: 2")})
    found = findings_of(capsys, SCRIPT, YAML, "--profile", "train")
    assert [found[code]["severity"] for code in ("RUN002", "OPT010")] == ["error", "error"]
    assert found["RUN002"]["fix"] == found["OPT010"]["fix"]
    main(["lint", "--no-cache", SCRIPT, YAML, "--profile", "train"])
    assert "(unsafe fix): see the fix for" in capsys.readouterr().out
    assert findings_of(capsys, SCRIPT, YAML)["RUN002"]["severity"] == "warning"  # while two runs are aligned


@pytest.mark.parametrize("code", ["OPT006", "NET009", "OPT010"])
def test_a_finding_with_a_fix_is_accepted_with_what_follows(
    folder: Path, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    main(["lint", "--no-cache", SCRIPT, YAML, "--format", "json"])
    before = json.loads(capsys.readouterr().out)["diagnostics"]
    at = next(number for number, entry in enumerate(before) if entry["code"] == code)
    gone = [at, *(number for number, entry in enumerate(before) if entry["because_of"] == at)]
    assert before[at]["fix"]
    place = re.search(
        rf"To accept the difference, add this comment above line (\d+) of {YAML}: (.*)",
        block_of(code, capsys, SCRIPT, YAML),
    )
    assert place is not None
    lines = (folder / YAML).read_text().split("\n")
    lines.insert(int(place[1]) - 1, place[2])
    (folder / YAML).write_text("\n".join(lines))
    main(["lint", "--no-cache", SCRIPT, YAML, "--format", "json"])
    after = json.loads(capsys.readouterr().out)["diagnostics"]
    left = [entry["message"] for number, entry in enumerate(before) if number not in gone]
    assert [entry["message"] for entry in after] == left


def test_a_flag_whose_value_a_fork_replaces_is_not_called_unset(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "npu.sh").write_text(INTERLEAVED)
    assert main(["convert", "npu.sh", "--megatron", "mindspeed-llm-2.3", "-o", "new.yaml"]) in (0, 1)
    (folder / "new.yaml").write_text((folder / "new.yaml").read_text().replace("eod: 0", "eod: 1"))
    capsys.readouterr()
    shown = block_of("DAT004", capsys, "npu.sh", "new.yaml", "--megatron", "mindspeed-llm-2.3")
    assert "(from --tokenizer-type)" in shown
    assert "  npu.sh:5:3: --tokenizer-type is PretrainedFromHF\n" in shown


def test_a_section_with_keys_is_not_called_unset(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.sh").write_text(ONE_LINE)
    (folder / "older.yaml").write_text(OLDER_CLASS)
    shown = block_of("PRC010", capsys, "one.sh", "older.yaml")
    assert "runner_wrapper.scale_sense.scale_factor is 2\n" in shown
    assert "runner_wrapper.scale_sense is not set" not in shown


def test_a_defect_of_an_assumed_version_names_the_option(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "npu.sh").write_text(INTERLEAVED)
    assert "(set the version with --megatron mindspeed-llm-VERSION)" in block_of("DEF820", capsys, "npu.sh", YAML)
    assert "[DEF820]" not in findings_of(capsys, "npu.sh", YAML, "--megatron", "mindspeed-llm-26.0")


def test_the_advice_about_two_balancing_formulas_is_followed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a micro batch of one in one file, the other file is the next to mend."""
    source = EXAMPLES / "qwen3_moe"
    script = (source / "megatron.sh").read_text().replace("GLOBAL_BATCH=1", "GLOBAL_BATCH=2")
    (folder / SCRIPT).write_text(script.replace("MICRO_BATCH=1", "MICRO_BATCH=2"))
    (folder / YAML).write_text(
        (source / "mindformers.yaml")
        .read_text()
        .replace("  batch_size: 1", "  batch_size: 2")
        .replace("[1000,", "[2000,")
    )
    shown = block_of("MOE006", capsys, SCRIPT, YAML)
    assert f"a micro batch of 2 ({SCRIPT}, {YAML})" in shown
    assert "+ --moe-router-load-balancing-type aux_loss" in shown
    (folder / SCRIPT).write_text(script)
    found = findings_of(capsys, SCRIPT, YAML)
    assert found["MOE006"]["because_of"] is not None
    assert found["OPT011"]["because_of"] is None
    assert found["OPT011"]["fix"]


def test_degrees_that_divide_one_another_are_one_edit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The other tensor parallel size alone would leave experts that the devices do not divide."""
    script = (EXAMPLES / "qwen3_moe" / "megatron.sh").read_text()
    degrees = "--expert-model-parallel-size 8 --expert-tensor-parallel-size 1 --sequence-parallel"
    script = script.replace("--nproc_per_node 1", "--nproc_per_node 8").replace("GLOBAL_BATCH=1", "GLOBAL_BATCH=8")
    sizes = "--tensor-model-parallel-size 1", f"--tensor-model-parallel-size 2 {degrees}"
    (folder / SCRIPT).write_text(script.replace(*sizes))
    assert main(["convert", SCRIPT, "--mindformers", "1.9", "--dialect", "static", "-o", "new.yaml"]) in (0, 1)
    text = (folder / "new.yaml").read_text()
    changed = text.replace("model_parallel: 2", "model_parallel: 4").replace("data_parallel: 4", "data_parallel: 2")
    assert changed != text
    (folder / "new.yaml").write_text(changed)
    capsys.readouterr()
    shown = block_of("PAR002", capsys, SCRIPT, "new.yaml")
    assert "+ data_parallel: 4" in shown
    assert "+ model_parallel: 2" in shown


def test_a_fix_that_mends_two_errors_is_shown_at_both(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The fused optimizer shifts the schedule, so that no value of the schedule itself is to be changed."""
    write_changed_example(folder, {YAML: ("  type: AdamW\n", "  type: AdamW\n  use_fused: True\n")})
    found = findings_of(capsys, SCRIPT, YAML)
    assert found["SCH050"]["fix"] == found["OPT015"]["fix"]
    assert found["OPT015"]["fix"]


def test_a_batch_on_other_stages_is_one_edit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With stages the batch is a number of micro batches, and without them one of accumulated gradients."""
    stages = ("  pipeline_stage: 1\n  micro_batch_num: 1\n", "  pipeline_stage: 2\n  micro_batch_num: 2\n")
    write_changed_example(folder, {SCRIPT: ("GLOBAL_BATCH=1", "GLOBAL_BATCH=8"), YAML: stages})
    text = (folder / YAML).read_text().replace("use_parallel: False", "use_parallel: True")
    (folder / YAML).write_text(text.replace("sizes: [1000,", "sizes: [2000,"))
    found = findings_of(capsys, SCRIPT, YAML, "--profile", "train")
    assert found["OPT010"]["fix"]
    main(["lint", "--no-cache", SCRIPT, YAML, "--profile", "train", "--fix", "--unsafe"])
    capsys.readouterr()
    assert not {"OPT010", "RUN002", "MAP108"} & findings_of(capsys, SCRIPT, YAML, "--profile", "train").keys()


def test_an_inference_configuration_takes_the_values_of_its_model(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = yaml.safe_load((Path(__file__).parents[1] / "rules" / "cases" / "inference.yaml").read_text())[0]
    (folder / "hf").mkdir()
    for name, text in case["files"].items():
        (folder / name).write_text(text)
    wrong = (folder / "predict.yaml").read_text()
    changes = {"eos_token_id: 2": "eos_token_id: 3", "compute_dtype: bfloat16": "compute_dtype: float16"}
    changes |= {"penalty: 1.0": "penalty: 1.05", "theta: 10000.0": "theta: 500000.0"}
    for old, new in {**changes, "padding_side: right": "padding_side: left"}.items():
        assert old in wrong
        wrong = wrong.replace(old, new)
    (folder / "predict.yaml").write_text(wrong)
    words = ("predict.yaml", "hf/config.json")
    assert {"INF002", "INF003", "INF004", "INF008", "INF011"} <= findings_of(capsys, *words).keys()
    main(["lint", "--no-cache", *words, "--fix", "--unsafe"])
    capsys.readouterr()
    assert findings_of(capsys, *words).keys() == {"SYN914"}  # it does not train
    for old in changes:
        assert old in (folder / "predict.yaml").read_text()
