"""Checkpoints through three other layouts and back: every family, form and cut, chosen by chance, bit by bit."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.evidence.weights.model import View
from accmap.evidence.weights.opening import open_checkpoint, sides_of
from accmap.schemas.reader import read_config

np = pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence" / "weights"))
from weight_files import FAMILIES, arrays, pair, write_megatron  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.slow, pytest.mark.procedure("proc.weights.convert")]
LAYERS, TRIPS, LEGS = 8, 100, 3
CUTS: list[tuple[str, ...]] = [
    (),
    ("--pipeline-parallel", "2"),
    ("--pipeline-parallel", "2", "--num-layers-per-virtual-pipeline-stage", "2"),
    ("--pipeline-parallel", "3", "--decoder-first-pipeline-num-layers", "1", "--decoder-last-pipeline-num-layers", "3"),
    ("--pipeline-parallel", "5", "--account-for-embedding-in-pipeline-split",
     "--account-for-loss-in-pipeline-split"),
]  # fmt: skip


def leg(source: random.Random, family: str) -> tuple[str, ...]:
    """The options of one conversion."""
    form = source.choice(("torch", "torch", "torch_dist", "static", "dynamic"))
    if form in ("static", "dynamic"):
        return (form,)
    implementation = ("--transformer-impl", source.choice(("local", "transformer_engine")))
    if form == "torch_dist":
        return ("megatron", *implementation, "--ckpt-format", form, "--shard-size", "0.001")
    ranks = ["--tensor-parallel", source.choice("12")]
    if family.startswith("moe") or family == "deepseek":
        ranks += ["--expert-parallel", source.choice("124")]
    return ("megatron", *implementation, *ranks, *source.choice(CUTS))


@pytest.mark.table(10)
@pytest.mark.parametrize("seed", range(TRIPS))
def test_there_and_back(accmap: Callable[..., Any], tmp_path: Path, seed: int) -> None:
    source = random.Random(seed)
    family = source.choice(FAMILIES)
    depth: dict[str, Any] = {"num-layers": LAYERS}
    depth |= {"moe-layer-freq": "[0]*1+[1]*7"} if family == "deepseek" else {}
    model = (
        {"num_hidden_layers": LAYERS, "moe_grouped_gemm": True}
        if family != "grouped"
        else {"num_hidden_layers": LAYERS}
    )
    model["use_interleaved_weight_layout_mlp"] = source.choice((True, False))
    script, static = pair(family, tmp_path, megatron=depth, model=model)
    accmap("upgrade", static, "-o", "dynamic.yaml", "--write-anyway")
    yaml = {"static": static, "dynamic": str(tmp_path / "dynamic.yaml")}
    found = arrays(script, seed)
    write_megatron(tmp_path / "0", script, found)
    at = "megatron"
    legs = [leg(source, family) for _ in range(LEGS)]
    for number, (there, *options) in enumerate(legs, 1):
        ends = [yaml[graph] for graph in (at, there) if graph in yaml]
        given = [word for file in dict.fromkeys([script, *ends]) for word in ("--config", file)]
        to = "megatron" if there == "megatron" else "mindformers"
        answer = accmap("weights", "convert", str(number - 1), "-o", str(number), "--to", to, *given, *options)
        assert answer.code == 0, (legs, answer.err)
        at = there
    config = read_config(yaml.get(at, static))
    checkpoint = open_checkpoint(str(tmp_path / str(LEGS)))
    sides = sides_of([read_config(script), config], [checkpoint])
    assert sides is not None
    back = checkpoint.model(View(sides.layout, sides.expected_shapes("megatron"))).weights
    wrong = [name for name in found if not np.array_equal(back[name].read()[: len(found[name])], found[name])]
    assert (wrong, back.keys()) == ([], found.keys()), legs
