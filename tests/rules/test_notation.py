"""The same file in another notation has the same findings, and at most remarks about the notation itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
import yaml
from planting import SCRIPT, SETTINGS, YAML, planted_pair, sides_of
from rewriting import NOTATION, rewritten_launch, rewritten_yaml

from accmap.cli.commands.lint import exit_code
from accmap.cli.linting.linter import lint
from accmap.cli.linting.settings import Reader
from accmap.schemas.source import SourceText

EXAMPLES = Path(__file__).parents[2] / "examples"
FEW = range(8)
MANY = range(8, 400)


def answer(texts: dict[str, str]) -> tuple[Counter[object], int]:
    """The findings of a pair but for those about its notation, and the exit code."""
    sources = {name: SourceText(name, text) for name, text in texts.items()}
    report = lint(SETTINGS._replace(profile="train"), list(texts), Reader(None, sources))
    found = Counter[object](
        (entry.kind.code, entry.kind.severity, tuple(sorted(entry.fields)))
        for entry in report.diagnostics
        if entry.kind.code not in NOTATION
    )
    return found, exit_code(report, "error")


def in_both_notations(seed: int) -> None:
    random = Random(seed)
    texts = planted_pair(random, most=3)
    side = sides_of({SCRIPT: texts[SCRIPT]})[SCRIPT]
    texts[SCRIPT] = rewritten_launch(side.config, None)
    before = answer(texts)
    for name, new in (
        (YAML, rewritten_yaml(texts[YAML], random)),
        (SCRIPT, rewritten_launch(side.config, random)),
    ):
        found, code = answer({**texts, name: new})
        assert (found - before[0], before[0] - found) == (Counter(), Counter()), new
        assert code == before[1]


@pytest.mark.parametrize("seed", FEW)
def test_the_findings_are_the_same(seed: int) -> None:
    in_both_notations(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_the_findings_of_many_pairs_are_the_same(seed: int) -> None:
    in_both_notations(seed)


WRITTEN_ONCE = """\
train_dataset: &train_dataset
  data_loader: {type: MindDataset, dataset_dir: /path/to/data}
eval_dataset: *train_dataset
load_checkpoint: &checkpoint /path/to/checkpoint
auto_trans_ckpt: True
resume_training: *checkpoint
output_dir: /path/to/data
"""


@pytest.mark.parametrize("seed", range(12))
def test_a_mapping_that_is_written_once_is_written_once_again(seed: int) -> None:
    """A placeholder in a mapping that has an alias is one finding, and so is each name of a text."""
    before, after = answer({YAML: WRITTEN_ONCE}), answer({YAML: rewritten_yaml(WRITTEN_ONCE, Random(seed))})
    assert after == before
    assert sum(count for (code, *_), count in before[0].items() if code == "SYN101") == 4  # type: ignore[misc]  # pyright: ignore


@pytest.mark.parametrize(
    ("flag", "value"), [("--num-layers", "few"), ("--optimizer", "adan"), ("--moe-layer-freq", "([1]")]
)
def test_a_value_that_is_refused_is_written_once_again(flag: str, value: str) -> None:
    """A parser would refuse each of two."""
    text = f"torchrun --nproc_per_node 8 pretrain_gpt.py --seq-length 64 {flag} '{value}'\n"
    config = sides_of({SCRIPT: text})[SCRIPT].config
    before = answer({SCRIPT: text})
    for seed in range(40):
        assert answer({SCRIPT: rewritten_launch(config, Random(seed))}) == before


def test_every_notation_is_written() -> None:
    """What the property compares is not the same text twice."""
    text = "a: 16\nb: [x, 1.0e-5]\nc: {d: True, e: null}\nf: text\ng: 16\nh: text\n"
    found = "".join(rewritten_yaml(text, Random(seed)) for seed in range(150))
    for mark in ("020", "0x10", "+16", "0b10000", "{d:", "yes", "~", '"text"', "&a0", "*a", "#", "!!str", "- x"):
        assert mark in found
    assert any(len(yaml.compose(new).value) > 6 for new in (rewritten_yaml(text, Random(seed)) for seed in range(60)))  # type: ignore[union-attr]  # pyright: ignore
    side = sides_of({SCRIPT: (EXAMPLES / "qwen3_dense" / SCRIPT).read_text("utf-8")})[SCRIPT]
    script = "".join(rewritten_launch(side.config, Random(seed)) for seed in range(80))
    for mark in ("--num-layers=", "'--num-layers'", '--nu"m-layers"', "VALUE_0=", ":-0}", "PART_0+=(", "\\\n", '[@]}"'):
        assert mark in script
    assert max(rewritten_launch(side.config, Random(seed)).count("--num-layers") for seed in range(80)) == 2
