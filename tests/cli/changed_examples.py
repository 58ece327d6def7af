"""Configurations to compare: the shipped examples with some of their lines changed, the same ones every time."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("qwen3_dense", "qwen3_moe", "deepseek_v3", "planted")
FILES = SCRIPT, YAML = "megatron.sh", "mindformers.yaml"
_FLAG = re.compile(r"^(\s+--[a-z0-9-]+)(?: (\S+))?$")
_KEY = re.compile(r"^(\s*[a-z_0-9]+): (\S+)$")
_OTHER = {
    "True": "False", "False": "True", "cosine": "linear", "rope": "learned_absolute", "RMSNorm": "LayerNorm",
    "bfloat16": "float32", "float32": "bfloat16", "seq_aux_loss": "aux_loss", "aux_loss": "none", "adam": "sgd",
    "CosineWithWarmUpLR": "ConstantWarmUpLR", "AdamW": "PmaAdamW",
}  # fmt: skip
RAMPED = {
    '--micro-batch-size "$MICRO_BATCH"': "--micro-batch-size 1",
    '--global-batch-size "$GLOBAL_BATCH"': "--global-batch-size 16 --rampup-batch-size 4 4 2040",
    "--train-iters 1000": "--train-samples 16000",
    "--lr-decay-iters 1000": "--lr-decay-samples 16000",
    "--lr-warmup-iters 50": "--lr-warmup-samples 800",
}
"""What makes the batch of `qwen3_dense` grow."""


def example(name: str, file: str) -> str:
    """The text of a shipped file."""
    return (EXAMPLES / name / file).read_text("utf-8")


def ramped() -> str:
    """A launch whose batch grows."""
    text = example("qwen3_dense", SCRIPT)
    for one, other in RAMPED.items():
        assert one in text
        text = text.replace(one, other)
    return text


def changed(text: str, random: Random) -> str:
    """The text with one to three of its settings changed or taken out."""
    lines = text.split("\n")
    places = [number for number, line in enumerate(lines) if _FLAG.match(line) or _KEY.match(line)]
    for number in random.sample(places, random.randint(1, 3)):
        lines[number] = _changed_line(lines[number], random)
    return "\n".join(line for line in lines if line != _GONE)


_GONE = "\0"


def _changed_line(line: str, random: Random) -> str:
    found = _FLAG.match(line) or _KEY.match(line)
    value = None if found is None else found.group(2)
    other = _other_value(value, random)
    if value is None or other is None or random.random() < 0.25:
        return _GONE
    return line[: -len(value)] + other


def _other_value(value: str | None, random: Random) -> str | None:
    if value is None or value in _OTHER:
        return None if value is None else _OTHER[value]
    if re.fullmatch(r"-?\d+", value):
        return str(int(value) * 2 if random.random() < 0.5 else int(value) + 1)
    return str(float(value) * 2) if re.fullmatch(r"-?\d*\.\d+(?:e-?\d+)?|\d+e-?\d+", value) else None


def pairs(count: int, seed: int, files: Sequence[str] = FILES) -> Iterator[tuple[str, str, str, str]]:
    """Names and texts of two files each: changed, of one example or of two, of one framework or of both."""
    random = Random(seed)
    for _ in range(count):
        two = [(random.choice(NAMES), random.choice(files)) for _ in range(2)]
        if random.random() < 0.6:
            two = [(two[0][0], SCRIPT), (two[0][0], YAML)]
        texts = [changed(example(*one), random) if random.random() < 0.8 else example(*one) for one in two]
        endings = [Path(file).suffix for _, file in two]
        yield f"a{endings[0]}", texts[0], f"b{endings[1]}", texts[1]


def read(file: str, text: str) -> Config | None:
    """A configuration; None of a file that nobody can read."""
    try:
        return config_of(SourceText(file, text), ReadOptions(), path=file)
    except UnreadableError:
        return None
