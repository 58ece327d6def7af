"""The commands on values at their bounds: one step, layer, expert or group, fractions of 0 and 1, short sequences.

`startup_cases.yaml` and `boundary_cases.yaml` say which of these runs start; the real code was asked. Here no command
fails on one of them, and what it writes is read again.
"""

# pyright: basic

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap import convert
from accmap.schemas.compilers.tables import load_table

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = Path(__file__).resolve().parents[1] / "schemas"
LAUNCHES: list[dict[str, Any]] = load_table((SCHEMAS / "megatron/startup_cases.yaml").read_text("utf-8"))
YAMLS: list[Any] = load_table((SCHEMAS / "mindformers/boundary_cases.yaml").read_text("utf-8"))
SOUND = (
    "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 "
    "--micro-batch-size 1 --global-batch-size 8 --train-iters 10 --lr 1e-4 --vocab-size 1000 "
    "--tokenizer-type NullTokenizer --eval-interval 10 --bf16 --swiglu --normalization RMSNorm "
    "--position-embedding-type rope"
)
COMMANDS = (
    "recipe FILE", "lr FILE", "lint --no-cache FILE", "convert FILE -o OTHER --force --write-anyway",
    "lint --no-cache FILE OTHER", "pair FILE -d p --align --force --write-anyway",
)  # fmt: skip
ANSWERS = (0, 1, 2)


def launch_of(case: dict[str, Any]) -> str:
    sound = shlex.split(SOUND)
    for flag in case.get("without", ()):
        place = sound.index(flag)
        sound[place : place + 2] = []
    return f"torchrun --nproc-per-node 8 pretrain_gpt.py {shlex.join([*sound, *shlex.split(case['words'])])}\n"


@cache
def example(graph: str, version: str, number: int) -> str:
    """An example of the repository, as JSON."""
    name = ("qwen3_moe", "deepseek_v3", "qwen3_dense")[number]
    if graph == "static":
        text = (ROOT / "examples" / name / "mindformers.yaml").read_text("utf-8")
    else:
        text = convert(str(ROOT / "examples" / name / "megatron.sh"), version=version, dialect="dynamic").text
    return json.dumps(load_table(text))


def yaml_of(graph: str, version: str, number: int, changes: dict[str, Any]) -> str:
    content = json.loads(example(graph, version, number))
    for path, value in changes.items():
        *sections, key = path.split(".")
        here = content
        for section in sections:
            here = here.setdefault(section, {})
        here[key] = value
    return yaml.safe_dump(content, sort_keys=False)


def no_command_fails(accmap: Any, folder: Path, file: str, other: str, options: tuple[str, ...]) -> None:
    for words in COMMANDS:
        if "OTHER" in words.partition("lint")[2] and not (folder / other).exists():
            continue
        line = shlex.split(words.replace("FILE", file).replace("OTHER", other))
        answer = accmap(*line, *options)
        assert answer.code in ANSWERS, (line, answer.err)
        assert "Traceback" not in answer.err


@pytest.mark.slow
@pytest.mark.parametrize("case", LAUNCHES, ids=lambda case: case["words"][:60])
@pytest.mark.parametrize("dialect", ["static", "dynamic"])
def test_a_launch(accmap: Any, tmp_path: Path, case: dict[str, Any], dialect: str) -> None:
    (tmp_path / "a.sh").write_text(launch_of(case), "utf-8")
    version = case["versions"][0]
    no_command_fails(accmap, tmp_path, "a.sh", "b.yaml", ("--megatron", version, "--dialect", dialect))


@pytest.mark.slow
@pytest.mark.parametrize("case", YAMLS, ids=lambda case: str(case[3])[:60])
def test_a_yaml(accmap: Any, tmp_path: Path, case: Any) -> None:
    graph, version, number, changes, _ = case
    (tmp_path / "a.yaml").write_text(yaml_of(graph, version, number, changes), "utf-8")
    no_command_fails(accmap, tmp_path, "a.yaml", "b.sh", ("--mindformers", version))


# With --moe-layer-freq ([0]*4), or first_k_dense_replace 4, all layers are dense.
@pytest.mark.parametrize("dialect", ["static", "dynamic"])
def test_experts_that_no_layer_uses_are_none(accmap: Any, tmp_path: Path, dialect: str) -> None:
    case = {"words": "--num-experts 4 --moe-layer-freq ([0]*4) --disable-bias-linear", "versions": ["0.12"]}
    (tmp_path / "a.sh").write_text(launch_of(case), "utf-8")
    no_command_fails(accmap, tmp_path, "a.sh", "b.yaml", ("--megatron", "0.12", "--dialect", dialect))
