"""`accmap pair` on the command line: what is written, what is said, and that nothing is written by halves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.lean import main

EXAMPLES = Path(__file__).parents[2] / "examples"
SOURCE = str(EXAMPLES / "deepseek_v3" / "megatron.sh")
STATIC = ["--mindformers", "1.9"]
FILES = {"example.sh", "example.yaml", "README.md", "README.zh-CN.md"}


@pytest.mark.procedure("proc.pair.example_sh")
@pytest.mark.procedure("proc.pair.example_yaml")
def test_a_pair_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "new" / "pair"
    assert main(["pair", SOURCE, "-d", str(target), *STATIC]) == 0
    assert {path.name for path in target.iterdir()} == FILES
    assert "example.yaml" in capsys.readouterr().err
    readme = (target / "README.md").read_text("utf-8")
    assert "bash /path/to/example.sh" in readme
    assert 'scripts/msrun_launcher.sh "run_mindformer.py --config /path/to/example.yaml" 1' in readme
    assert "iteration = (epoch - 1) × steps_per_epoch + step" in readme
    assert "global_norm" in readme
    assert "对齐" in (target / "README.zh-CN.md").read_text("utf-8")
    assert "HCCL_DETERMINISTIC" not in readme


def test_alignment_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pair", SOURCE, "-d", str(tmp_path), "--align", "--init-weights", "--format", "json", *STATIC]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer) >= {"source", "target", "rows", "summary", "files", "changes", "step", "environment"}
    assert {Path(name).name for name in answer["files"]} == FILES | {"example_init_weights.yaml"}
    assert all(set(change) >= {"field", "from", "to", "reason"} for change in answer["changes"])
    layers = next(change for change in answer["changes"] if change["field"] == "model.num_layers")
    assert (layers["from"], layers["to"]) == (4, 2)
    text = (tmp_path / "example.yaml").read_text("utf-8")
    assert "local_norm: True" in text
    assert "num_hidden_layers: 2  # aligned" in text
    readme = (tmp_path / "README.md").read_text("utf-8")
    assert "export HCCL_DETERMINISTIC=true" in readme
    assert "export ASCEND_LAUNCH_BLOCKING=1" in readme


@pytest.mark.procedure("proc.stage3.scale_up")
def test_a_step_of_the_ladder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pair", SOURCE, "-d", str(tmp_path), "--step", "1", "--lang", "zh"]) == 0
    shown = capsys.readouterr().out
    assert "第 1 级（共 12 级" in shown
    assert "+ model.num_layers" in shown
    written = (tmp_path / "example.yaml").read_text("utf-8") + (tmp_path / "example.sh").read_text("utf-8")
    assert "# 为对齐而修改" in written
    assert "aligned" not in written


def test_every_explicit_key_of_the_source_is_in_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", SOURCE, "--format", "json", "--explicit"]) == 0
    keys = {value["key"] for value in json.loads(capsys.readouterr().out)["values"] if value["origin"] == "explicit"}
    assert main(["pair", SOURCE, "-d", str(tmp_path), "--align", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert keys <= {key for row in rows for key in row["from"]}


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", "utf-8")
    assert main(["pair", SOURCE, "-d", str(tmp_path)]) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"README.md"}
    assert (tmp_path / "README.md").read_text("utf-8") == "mine"
    assert main(["pair", SOURCE, "-d", str(tmp_path), "--force", *STATIC]) == 0
    assert {path.name for path in tmp_path.iterdir()} == FILES


def test_a_directory_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    assert main(["pair", SOURCE, "-d", str(tmp_path / "file" / "pair")]) == 2
    assert "cannot be created" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--step", "13"], ["--step", "-1"]])
def test_wrong_use(words: list[str], tmp_path: Path) -> None:
    where = ["-d", str(tmp_path / "pair")] if words else []
    assert main(["pair", SOURCE, *where, *words]) == 2
    assert not (tmp_path / "pair").exists()


def test_an_unreadable_source_writes_nothing(tmp_path: Path) -> None:
    source = tmp_path / "broken.yaml"
    source.write_text("a: [", "utf-8")
    assert main(["pair", str(source), "-d", str(tmp_path / "pair")]) == 2
    assert not (tmp_path / "pair").exists()


def test_several_nodes_are_launched_on_each(tmp_path: Path) -> None:
    source = Path(__file__).parents[1] / "mapper" / "align" / "cluster.sh"
    # Under context parallelism 0.12 keeps half of the balancing term (DEF001), which no key undoes.
    words = ["pair", str(source), "-d", str(tmp_path), *STATIC]
    assert main(words) == 1
    assert main([*words, "--force", "--accept-loss", "computed.loss_terms,DEF001,DEF212"]) == 0
    readme = (tmp_path / "README.md").read_text("utf-8")
    assert 'example.yaml" 64 8 $MASTER_ADDR 8118 $NODE_RANK output/msrun_log False 7200' in readme


def test_the_dynamic_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pair", SOURCE, "-d", str(tmp_path), "--align", "--init-weights"]) == 0
    readme = (tmp_path / "README.md").read_text("utf-8")
    assert "--mode 1" in readme
    for row in (
        "`iteration` | `step` |",
        "`grad norm` | `grad_norm` |",
        "both sides print the learning rate of the next step",
    ):
        assert row in readme  # mindformers 2.1.0 pynative/callback/loss_callback.py:LossCallback._print_log
    assert not {word for word in ("epoch", "global_norm", "prints the sum") if word in readme}
    default = "mindformers 2.1 assumed (dynamic graph, the default; `--mindformers 1.9` selects static graph mode)"
    assert default in capsys.readouterr().err


def with_evaluation(folder: Path) -> str:
    """The source with the interval that Megatron-LM has no default for from 0.16 on."""
    path = folder / "source.sh"
    path.write_text(Path(SOURCE).read_text("utf-8").replace("--lr ", "--eval-interval 1000 --lr ", 1), "utf-8")
    return str(path)


@pytest.mark.parametrize(("words", "written"), [([], "0.16 detected"), (["--megatron", "0.14"], "0.14 given")])
def test_a_side_is_written_for_the_version_of_the_source(
    words: list[str], written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pair", with_evaluation(tmp_path), "-d", str(tmp_path / "first"), "--megatron", "0.16"]) in (0, 1)
    capsys.readouterr()
    source = str(tmp_path / "first" / "example.sh")
    assert main(["pair", source, "-d", str(tmp_path / "second"), *words, "--format", "json"]) in (0, 1)
    told = json.loads(capsys.readouterr().out)
    assert f"{told['versions'][0]['framework_version']} {told['versions'][0]['version_origin']}" == written
    assert f"core_r{written[:4]}.0;" in (tmp_path / "second" / "example.sh").read_text("utf-8")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("version", ["2.0", "1.8"])
def test_what_was_written_is_read_for_its_version(
    version: str, language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--megatron", "main", "--mindformers", version, "--lang", language]
    assert main(["pair", with_evaluation(tmp_path), "-d", str(tmp_path), *words]) in (0, 1)
    capsys.readouterr()
    for name, asked in (("example.sh", "main"), ("example.yaml", version)):
        assert main(["show", str(tmp_path / name), "--format", "json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["framework_version"], told["version_origin"]) == (asked, "detected")
        assert told["version_reason"] == f"accmap wrote the file for {asked}"
    # The pair's own YAML keeps the graph and the version of the file.
    assert main(["pair", str(tmp_path / "example.yaml"), "-d", str(tmp_path / "again")]) in (0, 1)
    again = (tmp_path / "again" / "example.yaml").read_text("utf-8")
    graph = "dynamic" if version == "2.0" else "static"
    assert again.startswith(f"# MindSpore Transformers {version}, {graph} graph; written by accmap")


@pytest.mark.parametrize(
    "head",
    [
        "# Megatron-LM core_r0.99.0; written by accmap from a.sh.",
        "# Megatron-LM core_r0.16.0, by hand",
        "# accmap",
        # What is written where nobody says a version: that makes it no better known.
        "# Megatron-LM core_r0.12.0; written by accmap from a.sh.",
    ],
)
def test_other_first_lines_say_nothing(head: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = Path(SOURCE).read_text("utf-8").partition("\n")[2]
    (tmp_path / "run.sh").write_text(f"#!/bin/bash\n{head}\n{text}", "utf-8")
    assert main(["show", str(tmp_path / "run.sh"), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["framework_version"], told["version_origin"]) == ("0.12", "assumed")


@pytest.mark.procedure("proc.stage3.lr_zero")
@pytest.mark.procedure("proc.stage3.benchmark_error")
@pytest.mark.parametrize(
    ("name", "script", "changed"),
    [
        ("lr-zero", ["--lr 0.0 ", "--train-iters 1000 "], {"schedule.learning_rate": [0.0001, 0.0]}),
        ("benchmark", ["--lr 0.0001 "], {"run.deterministic": None}),
    ],
)
def test_an_experiment_of_the_guide(
    accmap, name: str, script: list[str], changed: dict[str, list[float] | None]
) -> None:
    source = EXAMPLES / "qwen3_dense" / "megatron.sh"
    answer = accmap("pair", str(source), "-d", "pair", "--align", "--experiment", name, "--format", "json")
    assert answer.code == 0
    written = Path("pair/example.sh").read_text("utf-8")
    assert all(text in written for text in script)
    assert ("--deterministic-mode" in written) == (name != "benchmark")
    found = {change["field"]: [change["from"], change["to"]] for change in json.loads(answer.out)["changes"]}
    assert {field: found.get(field) for field in changed} == changed


def test_folders_are_made_and_go_again_where_nothing_is_written(accmap) -> None:
    source = str(EXAMPLES / "qwen3_dense" / "megatron.sh")
    assert accmap("pair", source, "-d", "new/deeper/pair/").code == 0
    assert Path("new/deeper/pair/example.sh").is_file()
    Path("file").write_text("", "utf-8")
    answer = accmap("pair", source, "-d", "file/below")
    assert answer.code == 2
    assert "cannot be created" in answer.err


@pytest.mark.parametrize(
    "tokenizer", ["GPT2BPETokenizer --vocab-file v.json --merge-file m.txt", "HuggingFaceTokenizer --tokenizer-model t"]
)
@pytest.mark.parametrize("words", ["--align", "--step 2"])
def test_an_open_vocabulary_is_the_same_on_both_sides_of_an_aligned_pair(
    tmp_path: Path, tokenizer: str, words: str
) -> None:
    text = (EXAMPLES / "qwen3_dense" / "megatron.sh").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.strip().startswith(("--vocab-size", "--make-vocab"))]
    text = "\n".join(lines).replace("--tokenizer-type NullTokenizer", f"--tokenizer-type {tokenizer}") + "\n"
    assert tokenizer in text
    (tmp_path / "run.sh").write_text(text, "utf-8")
    main(["pair", str(tmp_path / "run.sh"), "-d", str(tmp_path / "made"), *words.split()])
    script, yaml = ((tmp_path / "made" / name).read_text("utf-8").split() for name in ("example.sh", "example.yaml"))
    assert script[script.index("--vocab-size") + 1] == yaml[yaml.index("vocab_size:") + 1]


def test_a_fork_that_leaves_layers_out_is_aligned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--noop-layers` also sets the other name of the number of layers, which is no setting of its own."""
    script = tmp_path / "pretrain.sh"
    script.write_text(
        "torchrun --nproc_per_node 8 pretrain_gpt.py --use-mcore-models --num-layers 16 --noop-layers 0,15 "
        "--hidden-size 64 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 1024 "
        "--micro-batch-size 1 --global-batch-size 8 --train-iters 100 --lr 1e-4 --lr-decay-style cosine --bf16 "
        "--normalization RMSNorm --swiglu --disable-bias-linear --untie-embeddings-and-output-weights "
        "--position-embedding-type rope --tokenizer-type PretrainedFromHF --data-path d --attention-dropout 0.1\n",
        "utf-8",
    )
    assert main(["pair", str(script), "--megatron", "mindspeed-llm-2.2", "-d", str(tmp_path / "made"), "--align"]) <= 1
    assert "read back" not in capsys.readouterr().err
    assert (tmp_path / "made" / "example.yaml").is_file()


def test_a_norm_that_no_framework_has_stays_open(accmap: Any) -> None:
    """What each side makes of a setting that is left out is not compared as if the source had set it."""
    text = (EXAMPLES / "qwen3_dense" / "mindformers.yaml").read_text("utf-8")
    for old, new in {
        "load_checkpoint: checkpoints/mindformers": "load_checkpoint: ''",
        "normalization: RMSNorm": 'normalization: "{0} ${X}"',
    }.items():
        assert old in text
        text = text.replace(old, new)
    answer = accmap("pair", "a.yaml", "-d", "pair", files={"a.yaml": text})
    assert answer.code == 1, answer.err
    assert "norm.type" in answer.err
