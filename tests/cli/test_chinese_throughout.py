"""Every command on a small input, asked for Chinese: no English word of ours stands in what it prints.

A word of Latin letters is a name where the input, a table or the command line knows it: a key, an argument, a value, a
file, a command. What is left is one of `KEPT`, which says why, or is English.
"""

from __future__ import annotations

import re
import shutil
from functools import cache
from html import unescape
from pathlib import Path

import pytest

from accmap.cli.options import all_commands, options_of
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.mappings.tables import table
from accmap.schemas.megatron.catalog import VERSIONS, catalog

PLANTED = Path(__file__).resolve().parents[2] / "examples" / "planted"
PAIR = "megatron.sh mindformers.yaml"
LINES = (
    f"lint {PAIR}",
    f"lint {PAIR} --all --remarks",
    f"lint {PAIR} --format markdown",
    "lint megatron.sh",
    "show megatron.sh",
    "show mindformers.yaml",
    "recipe megatron.sh",
    "recipe mindformers.yaml",
    f"diff {PAIR} --all",
    f"lr {PAIR}",
    f"report {PAIR} --format markdown",
    f"lr {PAIR} --format markdown",
    f"diff {PAIR} --format markdown",
    "convert megatron.sh -o converted.yaml",
    "convert sound.yaml -o converted.sh",
    "pair megatron.sh -d made --align",
    "init .",
    "explain --num-layers moe.router.topk model.model_config.use_past",
    "defects megatron.sh",
    f"doctor {PAIR}",
    f"playbook {PAIR} -d playbook",
    f"dump config {PAIR} -d dump",
    f"data check {PAIR}",
    "logs megatron.log mindformers.log",
    "check scores a.json b.json",
    "check npy a.npy b.npy --guide",
    "defects megatron.sh --from 0.12 --to 0.17",
)
KEPT = {
    "names of programs and projects": (
        "accmap bash python torch torchrun numpy mindspore mindformers megatron msprobe apex cann driver cuda"
    ),
    "values": (
        "true false null none unset nan inf int float bool str list dict any number string off vanilla fusedswiglu"
    ),
    "rows of the guide's checklist, and the documents that `doctor` cites": (
        "computation documentation installation metadata"
    ),
    "words that Chinese engineers say in English": (
        "token tokens loss rank batch micro router embedding logits softmax dropout norm dump checkpoint bias eager "
        "epsilon yarn adam warmup shell global local main"
    ),
}
SCORES = '{"mmlu": 60.1, "ceval": 50.0}'
_WORD = re.compile(r"[A-Za-z0-9_./:=<>\[\]{}$'\"@+~*%#|\\-]+")
_PLAIN = re.compile(r"[a-z]{3,}")


def _split(names: object) -> set[str]:
    return set(_PLAIN.findall(str(names).lower()))


@cache
def names() -> frozenset[str]:
    """Every word that is part of a name which a file or a command line may hold."""
    known = _split([*KEPT.values(), SCORES])
    for name, command in all_commands().items():
        known |= _split(name) | _split([[*option.names, option.choices] for option in options_of(command)])
    for name, field in vocabulary().items():
        known |= _split(name) | _split(field.type)
    for row in table().rows:
        known |= _split([side.keys for side in (*row.megatron, *row.static, *row.dynamic)])
    for argument in catalog(VERSIONS[0]).by_dest.values():
        known |= _split([argument.options, argument.choices, argument.default, argument.group])
    for path in PLANTED.iterdir():
        known |= _split(path.read_text("utf-8"))
    return frozenset(known)


def english(text: str) -> set[str]:
    """The words of a text that are no part of a name, and stand in no quotation."""
    plain = re.sub(r"`[^`]*`|https?://\S+", "", text)
    words = (word.strip("'\".:[](){}<>=,;|*\\") for word in _WORD.findall(plain))
    return {word for word in words if _PLAIN.fullmatch(word)} - names()


@pytest.mark.parametrize("line", LINES)
def test_no_english_word_is_left(accmap, tmp_path: Path, line: str) -> None:
    shutil.copytree(PLANTED, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.md"))
    shutil.copy(PLANTED.parent / "qwen3_dense" / "mindformers.yaml", tmp_path / "sound.yaml")
    steps = range(1, 40)
    if ".npy" in line:
        numpy = pytest.importorskip("numpy")
        for name, factor in (("a", 1.0), ("b", 1.5)):
            numpy.save(tmp_path / f"{name}.npy", numpy.arange(6.0) * factor)
    files = {
        "a.json": SCORES,
        "b.json": '{"mmlu": 59.1, "ceval": 52.0}',
        "megatron.log": "".join(
            f" iteration {step}/ 40 | learning rate: 1.0E-04 | global batch size: 8 | lm loss: {9 - step / 9:.6E} | "
            "loss scale: 1.0 | grad norm: 1.5 | number of skipped iterations: 0 | number of nan iterations: 0 |\n"
            for step in steps
        ),
        "mindformers.log": "".join(
            f"2025-01-01 00:00:00,000 - mindformers[callback.py:500] - INFO - {{ Epoch:[  1/  1], step:[{step}/40], "
            f"loss: {9.1 - step / 9:.3f}, per_step_time: 9ms, lr: 1e-04, overflow cond: False, loss_scale: 1.0, "
            "global_norm: [1.5], train_throughput_per_npu: 1.0T\n"
            for step in steps
        ),
    }
    answer = accmap(*line.split(), "--lang", "zh", files=files)
    assert answer.code in (0, 1), answer.err
    assert english(read(answer.out) + answer.err) == set()


def read(text: str) -> str:
    """What a person reads of a text, which may be a page."""
    return unescape(re.sub(r"(?s)<style>.*?</style>|<[^>]*>", " ", text)) if text.startswith("<!doctype") else text


def test_what_is_english_is_found() -> None:
    assert english("共 3 处 finding，`kept` 除外，num_layers 为 4") == {"finding"}
