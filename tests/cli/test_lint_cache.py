"""A cached answer holds as long as nothing has changed that decided it: every file that a run opens or looks for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="fresh processes are forks")

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
LAUNCH = """\
source env.sh
[ -f optional.sh ] && . optional.sh
EXTRA="$(cat more.txt)"
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --ffn-hidden-size 128 \\
  --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 8 \\
  --lr 1e-4 --train-iters 10 --bf16 --swiglu --normalization RMSNorm --disable-bias-linear \\
  --untie-embeddings-and-output-weights --position-embedding-type rope --adam-beta2 $BETA $EXTRA \\
  --tokenizer-type HuggingFaceTokenizer --tokenizer-model ./model --load ./model --data-path data/*.bin
"""
DIALECT = """\
name: mindspeed-llm-2.3
label: Ours
base: "0.12"
arguments:
- {options: --embedding-gain, type: float, default: 1.0}
reasons:
- {arguments: embedding_gain, when: embedding_gain != 1.0, impact: numerics, en: The embedding is scaled.}
"""
MODEL = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 2, "hidden_size": 64}
MODEL |= {"num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 1000}
YAML = (EXAMPLES / "qwen3_dense" / "mindformers.yaml").read_text("utf-8")
CONFIGURATION = """\
extend = "base.toml"
baseline = "baseline.json"
megatron = "fork.yaml"
pairs = [{megatron = "run.sh", mindformers = "run.yaml"}]
"""
COMMON = {
    "run.sh": LAUNCH,
    "env.sh": "BETA=0.95\n",
    "more.txt": "--embedding-gain 2.0\n",
    "data/one.bin": "x",
    "model/config.json": json.dumps(MODEL),
    "run.yaml": YAML.replace("run_mode: train", "run_mode: train\npretrained_model_dir: ./model"),
    "fork.yaml": DIALECT,
    "base.toml": 'profile = "train"\nfail-on = "warning"\n',
    "accmap.toml": CONFIGURATION,
}
EXPERIMENT = {
    "exp.yaml": "defaults: [{train: small}]\nexperiment: {seed: 1, task: {backend: megatron, entrypoint: run.py}}\n",
    "train/small.yaml": "system: {seed: 7}\nmodel: {num_layers: 2, hidden_size: 64, num_attention_heads: 4}\n",
}
MINDFORMERS = {
    "start.sh": 'bash msrun_launcher.sh "run_mindformer.py --config run.yaml --use_parallel False" 8\n',
    "run.yaml": YAML,
}
TREE = {
    "tree/run.sh": "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4\n",
    "tree/megatron/core/package_info.py": "MAJOR = 0\nMINOR = 14\nPATCH = 0\nPRE_RELEASE = ''\n",
    "tree/mindformers/__init__.py": "__version__ = '1.8.0'\n",
    "tree/run.yaml": YAML,
}
CONCISE = ["--format", "concise"]
"""A form without fixes: to search them reads the same files again, which the first scenario does."""
SCENARIOS: dict[str, tuple[dict[str, str], list[str]]] = {
    "a configured pair": (COMMON, ["run.sh"]),
    "a baseline and a configuration that are named": (
        COMMON,
        [
            "run.sh",
            "run.yaml",
            "--baseline",
            "baseline.json",
            "--config",
            "base.toml",
            "--megatron",
            "fork.yaml",
            *CONCISE,
        ],
    ),
    "a model beside a run": (COMMON, ["run.sh", "model/config.json", "--no-config", "--format", "json"]),
    "confined": (COMMON, ["--confine", "run.sh", "run.yaml", *CONCISE]),
    "an experiment": (EXPERIMENT, ["exp.yaml"]),
    "a launch of MindSpore Transformers": (MINDFORMERS, ["start.sh"]),
    "a source tree": (TREE, ["tree/run.sh", "tree/run.yaml", *CONCISE]),
}


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def _run(script: str, given: object, *words: str) -> Any:
    """What a program of this folder answers about something."""
    done = subprocess.run(
        [sys.executable, str(HERE / script), *words],
        input=json.dumps(given), capture_output=True, text=True, check=True,
        env={**os.environ, "ACCMAP_LANG": "en", "COLUMNS": "120"},
    )  # fmt: skip
    return json.loads(done.stdout)


CASES = [
    {"files": files, "words": [*words, *CONCISE], "baseline": "accmap.toml" in files}
    for files, words in SCENARIOS.values()
]


def _noted(cache: Path) -> list[str]:
    """The keys of the one entry that the cache has."""
    (entry,) = cache.iterdir()
    lines = entry.read_bytes().partition(b"\n\n")[0].decode().split("\n")[2:]
    return [bytes.fromhex(line.partition(" ")[2]).decode() for line in lines]


def test_everything_that_a_run_opens_or_looks_for_is_in_its_entry(tmp_path: Path) -> None:
    runs: list[dict[str, object]] = []
    for number, (files, words) in enumerate(SCENARIOS.values()):
        folder = tmp_path / f"work{number}"
        _write(folder, files)
        run = {"folder": str(folder), "cache": str(tmp_path / f"cache{number}"), "words": ["lint", *words]}
        runs += [{**run, "words": [*run["words"], "--write-baseline", "baseline.json"]}, run]
    for run, found in list(zip(runs, _run("watched_runs.py", runs), strict=True))[1::2]:
        _is_noted(Path(str(run["folder"])), found, _noted(Path(str(run["cache"]))))


def _is_noted(folder: Path, run: dict[str, Any], keys: list[str]) -> None:
    assert run["code"] in (0, 1), run
    contents = {key for key in keys if "\0" not in key} | {key.partition("\0")[0] for key in keys if "\0/" in key}
    known = {key.partition("\0")[0] for key in keys}
    ways = tuple(key.partition("\0")[0] + "/" for key in keys if "\0>" in key)
    opened, looked = ({path for path in run[name] if path.startswith(str(folder))} for name in ("opened", "looked"))
    assert len(opened) > 1
    assert opened <= contents
    # To follow the links of a path is to look at every folder on its way.
    assert {path for path in looked - known if not any(way.startswith(path + "/") for way in ways)} == set()


def test_after_an_edit_of_any_input_the_cache_answers_as_a_run_does(tmp_path: Path) -> None:
    found = _run("answers_of_cache.py", CASES[:1], str(tmp_path), "2")
    assert found["differing"] == []
    assert found["cached"] >= found["compared"] // 3


@pytest.mark.slow
def test_after_many_edits_the_cache_answers_as_a_run_does(tmp_path: Path) -> None:
    found = _run("answers_of_cache.py", CASES, str(tmp_path), "100")
    assert found["differing"] == []
    assert found["compared"] >= 2000


def test_a_baseline_that_changed_decides_anew(tmp_path: Path) -> None:
    for name in ("megatron.sh", "mindformers.yaml"):
        shutil.copy(EXAMPLES / "planted" / name, tmp_path / name)
    words = ["lint", "megatron.sh", "mindformers.yaml"]
    run = {"folder": str(tmp_path), "cache": str(tmp_path / "cache"), "words": [*words, "--baseline", "b.json"]}
    runs = [
        {**run, "words": [*words, "--write-baseline", "b.json"]}, run, run,
        {**run, "writes": {"b.json": '{"version": 1, "findings": []}'}}, {**run, "writes": {"b.json": None}},
    ]  # fmt: skip
    answers = _run("watched_runs.py", runs)
    assert [(one["code"], one["cached"]) for one in answers] == [
        (0, False), (0, False), (0, True), (1, False), (2, False),
    ]  # fmt: skip
