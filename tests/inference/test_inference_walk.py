"""The inference guide walked as a user does: real transformers beside real MindSpore Transformers, faults and edits.

The rows are those of the guide: 1 answers, 2 scores, 3 loading lists, 4 fused and split weights, 5 a copied
configuration, 6 an output that does not change, 7 a first token that agrees and later ones that do not, 8 number
types, 9 the questions to run again.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.lean import main
from accmap.verifier.installations import missing_modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
RUN = HERE.parent / "framework_run.py"
PREDICT = (HERE / "predict.yaml").read_text("utf-8")

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_modules("mindformers")), reason="the frameworks are not installed"),
]


def run_real(script: str, folder: Path) -> Any:
    environment = {**os.environ, "GLOG_v": "4", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE)}
    command = [sys.executable, "-W", "ignore", str(RUN), str(HERE / script), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with everything that both frameworks wrote."""
    for name in ("transformers", "tokenizers", "msprobe"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("walk")
    run_real("walk_transformers.py", folder)
    (folder / "predict.yaml").write_text(PREDICT, "utf-8")
    train = folder / "train.yaml"
    main(["convert", str(folder / "hf"), "--to", "mindformers", "--mindformers", "1.9", "-o", str(train)])
    (folder / "theta.yaml").write_text(train.read_text("utf-8").replace("rope_theta: 10000.0", "rope_theta: 100000.0"))
    for name in ("hf", "hf-transposed", "hf-exchanged"):
        words = ["--to", "mindformers", "--config", str(train), "-o", str(folder / f"{name}.ms")]
        assert main(["weights", "convert", str(folder / name), *words]) == 0
    without_a_weight(folder / "hf.ms", folder / "hf-missing.ms")
    checkpoints = {"mindformers": "hf.ms", "transposed": "hf-transposed.ms", "exchanged": "hf-exchanged.ms",
                   "missing": "hf-missing.ms", "theta": "hf.ms"}  # fmt: skip
    jobs = [
        [name, str(folder / ("theta.yaml" if name == "theta" else "train.yaml")), str(folder / checkpoint)]
        for name, checkpoint in checkpoints.items()
    ]
    (folder / "jobs.json").write_text(json.dumps(jobs), "utf-8")
    run_real("walk_mindformers.py", folder)
    (folder / "benchmark.txt").write_text("mmlu 62.5\nceval 71.0\n", "utf-8")
    return folder


def without_a_weight(source: Path, to: Path) -> None:
    from safetensors.numpy import load_file, save_file

    shutil.copytree(source, to)
    for file in to.glob("*.safetensors"):
        arrays = load_file(file)
        arrays.pop("decoder.layers.1.mlp.linear_fc2.weight", None)
        save_file(arrays, file)


@pytest.fixture
def case(walk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of everything, in which a test edits."""
    shutil.copytree(walk, tmp_path / "walk")
    monkeypatch.chdir(tmp_path / "walk")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("ACCMAP_LANG", raising=False)
    return tmp_path / "walk"


def replace(file: str, before: str, after: str) -> None:
    text = Path(file).read_text("utf-8")
    assert before in text, f"{file} has no {before}"
    Path(file).write_text(text.replace(before, after), "utf-8")


def rewrite(change: Callable[[list[dict[str, str]]], list[dict[str, str]]]) -> Callable[[], None]:
    """An edit of the answers of MindSpore Transformers."""

    def edit() -> None:
        path = Path("mindformers.jsonl")
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        path.write_text("".join(json.dumps(row) + "\n" for row in change(rows)), "utf-8")

    return edit


def as_table() -> None:
    rows = [json.loads(line) for line in Path("mindformers.jsonl").read_text("utf-8").splitlines()]
    text = io.StringIO()
    table = csv.DictWriter(text, ["question", "answer"])
    table.writeheader()
    table.writerows(rows)
    Path("mindformers.csv").write_text(text.getvalue(), "utf-8")


def indented(file: str) -> Callable[[], None]:
    def edit() -> None:
        value = json.loads(Path(file).read_text("utf-8"))
        changed = dict(reversed(value.items())) if isinstance(value, dict) else value
        Path(file).write_text(json.dumps(changed, indent=4), "utf-8")

    return edit


def set_key(file: str, key: str, value: object) -> Callable[[], None]:
    def edit() -> None:
        content = json.loads(Path(file).read_text("utf-8"))
        content[key] = value
        Path(file).write_text(json.dumps(content), "utf-8")

    return edit


def two_tokenizers(edit: Callable[[], None] | None = None) -> Callable[[], None]:
    """A copy of the tokenizer in `other`, and an edit of it."""

    def both() -> None:
        shutil.copytree("hf", "other")
        if edit is not None:
            edit()

    return both


def without_a_merge() -> None:
    content = json.loads(Path("other/tokenizer.json").read_text("utf-8"))
    content["model"]["merges"].pop(20)
    Path("other/tokenizer.json").write_text(json.dumps(content), "utf-8")


def other_template() -> None:
    replace("other/chat_template.jinja", "assistant", "bot")


def ending(text: str) -> Callable[[], None]:
    return rewrite(lambda rows: [{**row, "answer": row["answer"] + text} for row in rows])


def in_two_files() -> None:
    from safetensors.numpy import load_file, save_file

    (file,) = Path("hf").glob("*.safetensors")
    arrays = load_file(file)
    names = sorted(arrays)
    parts = {"model-00001-of-00002.safetensors": names[:9], "model-00002-of-00002.safetensors": names[9:]}
    for part, inside in parts.items():
        save_file({name: arrays[name] for name in inside}, Path("hf") / part, {"format": "pt"})
    places = {name: part for part, inside in parts.items() for name in inside}
    Path("hf/model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}), "utf-8")
    file.unlink()


LINT = ["lint", "predict.yaml", "hf/config.json", "--no-cache", "--no-config"]
OTHER = "other/tokenizer_config.json"
TOKENIZERS = ["check", "tokenizers", "hf", "other"]
ANSWERS = ["check", "answers", "mindformers.jsonl", "benchmark.jsonl"]
WEIGHTS = ["weights", "check", "hf", "--config", "train.yaml"]
QUANTIZED = "use_past: True\n    quantization_config: {quant_method: rtn}"
SCORES = ["check", "scores", "scores.txt", "benchmark.txt"]


def lint_edit(before: str, after: str) -> Callable[[], None]:
    return lambda: replace("predict.yaml", before, after)


def scores(text: str) -> Callable[[], None]:
    return lambda: Path("scores.txt").write_text(text, "utf-8") and None


def nothing() -> None:
    """Everything stays as the frameworks wrote it."""


FAULTS: dict[str, tuple[Callable[[], None], list[str], str]] = {
    "5 sampling": (lint_edit("do_sample: False", "do_sample: True"), LINT, "INF001"),
    "5 sampling of the class": (lint_edit("    do_sample: False\n", ""), LINT, "INF001"),
    "5 eos": (lint_edit("eos_token_id: 2", "eos_token_id: 1"), LINT, "INF003"),
    "5 padding side": (lint_edit("padding_side: right", "padding_side: left"), LINT, "INF004"),
    "5 template": (lint_edit("<|im_start|>assistant", "<|im_start|>bot"), LINT, "INF005"),
    "5 length": (lint_edit("max_length: 64", "max_length: 32"), LINT, "INF006"),
    "5 quantization": (lint_edit("use_past: True", QUANTIZED), LINT, "INF007"),
    "5 no cache": (lint_edit("use_past: True", "use_past: False"), LINT, "INF009"),
    "5 small cache": (lint_edit("num_blocks: 16", "num_blocks: 2"), LINT, "INF010"),
    "5 rope": (lint_edit("theta: 10000.0", "theta: 1000000.0"), LINT, "position.rotary_base"),
    "5 bias": (lint_edit("qkv_has_bias: False", "qkv_has_bias: True"), LINT, "attention.qkv_bias"),
    "5 tokenizer eos": (two_tokenizers(set_key(OTHER, "eos_token", "<|endoftext|>")), TOKENIZERS, "eos"),
    "5 tokenizer merge": (two_tokenizers(without_a_merge), TOKENIZERS, "merges"),
    "5 tokenizer side": (two_tokenizers(set_key(OTHER, "padding_side", "left")), TOKENIZERS, "padding_side"),
    "5 tokenizer template": (two_tokenizers(other_template), TOKENIZERS, "assistant"),
    "4 transposed": (nothing, [*WEIGHTS, "hf-transposed.ms"], "layers.1.self_attention.linear_q"),
    "4 exchanged": (nothing, [*WEIGHTS, "hf-exchanged.ms"], "layers.0.self_attention"),
    "3 missing": (nothing, ["weights", "check", "--log", "missing.log"], "decoder.layers.1.mlp.linear_fc2.weight"),
    "1 other weights": (nothing, [*ANSWERS[:2], "transposed.jsonl", ANSWERS[3]], "at the first token"),
    "1 other rope": (nothing, [*ANSWERS[:2], "theta.jsonl", ANSWERS[3]], "different: 11 of 12"),
    "6 one answer": (rewrite(lambda rows: [{**row, "answer": "x"} for row in rows]), ANSWERS, "same answer"),
    "6 infinite": (nothing, ["dump", "scan", "dump/infinite"], "layers.1.mlp.up_proj"),
    "6 constant": (nothing, ["dump", "scan", "dump/constant"], "from Module.model.norm"),
    "7 prefill": (nothing, ["dump", "compare", "dump/epsilon", "dump/benchmark"], "layers.1.post_attention_layernorm"),
    "7 decode": (nothing, ["dump", "compare", "dump/decode", "dump/benchmark"], "decode 1"),
    "8 type": (lint_edit("compute_dtype: float32", "compute_dtype: float16"), LINT, "INF008"),
    "8 array": (nothing, ["check", "npy", "theta.npy", "benchmark.npy"], "exceeds the tolerance"),
    "2 scores": (scores("mmlu 62.1\nceval 71.0\n"), SCORES, "mmlu"),
}  # fmt: skip
WARNINGS = ("5 length", "5 no cache", "5 small cache")
HARMLESS: dict[str, tuple[Callable[[], None], list[str]]] = {
    "as written": (nothing, LINT),
    "comment": (lint_edit("run_mode: predict", "# answers of the benchmark\nrun_mode: predict"), LINT),
    "quotes": (lint_edit("run_mode: predict", "run_mode: 'predict'"), LINT),
    "exponent": (lint_edit("theta: 10000.0", "theta: 1.0e+4"), LINT),
    "greedy temperature": (lint_edit("do_sample: False", "do_sample: False\n    temperature: 0.7\n    top_k: 3"), LINT),
    "list of one": (lint_edit("eos_token_id: 2", "eos_token_id: [2]"), LINT),
    "whole number": (lint_edit("repetition_penalty: 1.0", "repetition_penalty: 1"), LINT),
    "larger cache": (lint_edit("num_blocks: 16", "num_blocks: 512"), LINT),
    "order of keys": (indented("hf/config.json"), LINT),
    "order of generation keys": (indented("hf/generation_config.json"), LINT),
    "version": (set_key("hf/generation_config.json", "transformers_version", "4.40.0"), LINT),
    "tokenizer copied": (two_tokenizers(), TOKENIZERS),
    "tokenizer indented": (two_tokenizers(indented("other/tokenizer.json")), TOKENIZERS),
    "tokenizer named": (two_tokenizers(set_key(OTHER, "name_or_path", "x")), TOKENIZERS),
    "weights": (nothing, [*WEIGHTS, "hf.ms"]),
    "weights in two files": (in_two_files, [*WEIGHTS, "hf.ms"]),
    "loaded": (nothing, ["weights", "check", "--log", "mindformers.log"]),
    "answers": (nothing, ANSWERS),
    "answers in another order": (rewrite(lambda rows: rows[::-1]), ANSWERS),
    "answers with spaces": (ending(" \n"), ANSWERS),
    "answers with an end": (ending("<|im_end|>"), ANSWERS),
    "answers as a table": (as_table, ["check", "answers", "mindformers.csv", "benchmark.jsonl"]),
    "dump of a repetition": (nothing, ["dump", "compare", "dump/repeated", "dump/benchmark"]),
    "dump": (nothing, ["dump", "scan", "dump/benchmark"]),
    "array": (nothing, ["check", "npy", "mindformers.npy", "benchmark.npy"]),
    "scores": (scores("ceval 71.2\nmmlu 62.5\n"), SCORES),
}  # fmt: skip


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., tuple[int, str]]]:
    def ask(words: list[str]) -> tuple[int, str]:
        capsys.readouterr()
        code = main(list(words))
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return ask


@pytest.mark.usefixtures("case")
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_named_at_its_row(name: str, said: Callable[..., tuple[int, str]]) -> None:
    edit, words, expected = FAULTS[name]
    edit()
    code, text = said(words)
    assert (code, expected in text) == (int(name not in WARNINGS), True), text


@pytest.mark.usefixtures("case")
@pytest.mark.parametrize("name", HARMLESS)
def test_a_harmless_edit_is_no_finding(name: str, said: Callable[..., tuple[int, str]]) -> None:
    edit, words = HARMLESS[name]
    edit()
    code, text = said(words)
    assert code == 0, text
    assert words[0] != "lint" or "0 errors, 0 warnings" in text, text


@pytest.mark.usefixtures("case")
def test_the_questions_that_differ_run_again(said: Callable[..., tuple[int, str]]) -> None:
    code, _ = said(["check", "answers", "theta.jsonl", "benchmark.jsonl", "--differing", "again.jsonl"])
    rows = [json.loads(line) for line in Path("again.jsonl").read_text("utf-8").splitlines()]
    asked = {json.loads(line)["question"] for line in Path("benchmark.jsonl").read_text("utf-8").splitlines()}
    assert code == 1
    assert len(rows) == 11
    assert {row["question"] for row in rows} < asked
