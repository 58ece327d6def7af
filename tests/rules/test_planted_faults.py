"""From an equal pair, change any one value: a new finding on the right line, and none while nothing is changed."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import planting
import pytest
from planting import (
    SETTINGS,
    added_faults,
    findings,
    marks,
    outcome,
    renamed_faults,
    script_faults,
    sides_of,
    values_of,
    yaml_faults,
)

from accmap.mapper.align.pair import pair_of
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from accmap.cli.linting.settings import Settings

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SHIPPED = ("qwen3_dense", "qwen3_moe", "deepseek_v3")
TARGETS = (
    ("1.6", "static"),
    ("1.7", "static"),
    ("1.8", "static"),
    ("1.9", "static"),
    ("2.1", "static"),
    ("2.0", "dynamic"),
    ("2.1", "dynamic"),
)
PAIRS = tuple((name, None, None) for name in SHIPPED) + tuple((name, *to) for to in TARGETS for name in SHIPPED)
NO_FAULTS = {
    "delete --transformer-impl": "kernels of the GPU side; the other framework has no such setting",
    "--eval-iters": "how long an evaluation is changes no training step, and the other framework has no such setting",
    "--eval-interval": "the same of how often there is one",
    "--retriever-seq-length": "no training of a decoder reads it",
    "--num-dataset-builder-threads": "how the data index is built",
    "print_separate_loss": "what is logged",
    "auto_trans_ckpt": "how a checkpoint is cut, where none is loaded",
    "keep_checkpoint_max": "how many checkpoints are kept",
    "run_mode": "train is what a file without it does",
    "delete train_dataset.data_loader.config.create_attention_mask": "True is what the loader does without it",
    "runner_wrapper.scale_sense": "a loss scale of 1 is the class's default, and none is the same",
    "context.mode": "both modes compute the same",
    "qwen3_dense: delete model.model_config.pad_token_id": "the class's own, 151643, is beyond the vocabulary of 32000",
    "parallel.parallel_mode": "one device",
    "num_parallel_workers": "how many threads load the data",
    "delete train_dataset_task.dataset_config.input_columns": "the trainer names the columns that the samples have",
    "context.max_device_memory": "how much fits",
    "apply-layernorm-1p": "the same scale, stored as an offset from one",
    "train_dataset.seed": "the Megatron data sets draw from the seed of their own section",
    "config.seed to": "1234 is what both sides draw from where nothing is written",
    "delete train_dataset.dataloader.config.seed": "the same",
    "delete train_dataset.data_loader.config.seed": "the same",
    "delete train_dataset_task.dataset_config.data_loader.config.seed": "the same",
}
"""Changes that the recipe sees, or that are about files and devices, and that make no difference between the runs."""


UNEQUAL = {
    "1.6": ("DEF509", "DEF539", "DEF558", "NET037"),
    **{f"deepseek_v3-{version}-static": ("DEF508",) for version in ("1.7", "1.8", "1.9", "2.0", "2.1")},
    "deepseek_v3-2.0-dynamic": ("SCH080",),
    "deepseek_v3-2.1-dynamic": ("SCH080",),
}
"""What no setting of a version mends: 1.6 has no groups of experts, and no norms of queries and keys without MLA; the
dynamic graph balances experts by their scores alone, without the bias that chooses them; the static graph prefers
experts of other groups to those whose score plus bias is below 0."""


ROTATES_IN_THE_COMPUTE_TYPE = ("1.6", "1.7")
"""Versions whose rotation no key makes float32, as that of Megatron's fused kernel is: the script has it not fused."""


@cache
def pair(name: str, version: str | None, dialect: str | None) -> tuple[dict[str, str], Settings]:
    """The texts of a pair as it is shipped, or as it is written for another version and dialect."""
    folder = EXAMPLES / name
    if version is None:
        return {file: (folder / file).read_text("utf-8") for file in ("megatron.sh", "mindformers.yaml")}, SETTINGS
    path = folder / "megatron.sh"
    text = path.read_text("utf-8")
    if version in ROTATES_IN_THE_COMPUTE_TYPE and "--multi-latent-attention" not in text:
        text = text.replace("    --bf16\n", "    --bf16\n    --no-rope-fusion\n")
    config = config_of(SourceText(str(path), text), ReadOptions(), path=str(path))
    texts = pair_of(config, mindformers=version, dialect=dialect).texts(comments=True)
    named = {"megatron.sh" if file.endswith(".sh") else "mindformers.yaml": text for file, text in texts.items()}
    options = ReadOptions(mindformers=version, dialect=dialect, world_size=1)
    return named, SETTINGS._replace(options=options)


def called(entry: tuple[str, str | None, str | None]) -> str:
    return "-".join(part for part in entry if part)


@pytest.mark.table(4)
@pytest.mark.parametrize("which", PAIRS, ids=called)
def test_an_equal_pair_has_no_error_and_no_warning(which: tuple[str, str | None, str | None]) -> None:
    texts, settings = pair(*which)
    unmended = UNEQUAL.get(which[1] or "", UNEQUAL.get(called(which), ()))
    for profile in ("align", "train"):
        found = findings(texts, settings._replace(profile=profile))
        loud = [entry for entry in found if entry.kind.severity != "info" and entry.kind.code not in unmended]
        assert not loud, [f"{entry.kind.code} {entry.message()}" for entry in loud]


@pytest.mark.parametrize(
    "which",
    [
        pytest.param(
            which,
            id=called(which),
            marks=[pytest.mark.slow]
            if which == ("deepseek_v3", None, None)
            else [pytest.mark.long]
            if which[1]
            else [],
        )
        for which in PAIRS
    ],
)
def test_every_planted_fault_is_found(which: tuple[str, str | None, str | None]) -> None:
    texts, settings = pair(*which)
    before, sides = marks(findings(texts, settings)), sides_of(texts, settings)
    recipes = {file: values_of(side) for file, side in sides.items()}
    counts: Counter[str] = Counter()
    missed: list[str] = []
    step = (
        1 if which == ("deepseek_v3", None, None) else 7 if which[1] is None else 53
    )  # others repeat most of its rows
    planted: list[planting.Fault] = []
    for file, side in sides.items():
        faults = (script_faults,) if side.framework == "megatron" else (yaml_faults, renamed_faults)
        planted += [fault for plant in (*faults, added_faults) for fault in plant(file, side.source, side)]
    for fault in planted[PAIRS.index(which) % step :: step]:
        if any(part in f"{which[0]}: {fault.what}" for part in NO_FAULTS):
            continue
        what = outcome(texts, before, recipes, fault, settings)
        counts[what] += 1
        if what in ("missed", "elsewhere"):
            missed.append(f"{what}: {fault.what}")
    assert counts["found"] >= 200 // step
    assert len(missed) <= 0.01 * counts["found"], missed


def test_planting_sees_what_is_not_found() -> None:
    """The check itself: with no finding at all, a fault counts as missed."""
    texts, _ = pair("qwen3_dense", None, None)
    sides = sides_of(texts)
    recipes = {file: values_of(side) for file, side in sides.items()}
    fault = next(iter(script_faults("megatron.sh", sides["megatron.sh"].source, sides["megatron.sh"])))
    every = marks(findings({**texts, fault.file: fault.text}))
    assert outcome(texts, every, recipes, fault) in ("missed", "without effect")
    assert planting.other_value("4", 4) == "8"
