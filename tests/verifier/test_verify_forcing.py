"""Experts that one run alone forces tokens on are run so, and the router parts; two such runs are not compared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.commands.verify import findings_of, pair_findings
from accmap.schemas.border.file_input import read_text
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.verifier.installations import missing_modules
from accmap.verifier.plan.schedules import FORCED_BALANCE
from accmap.verifier.verdict import coverage
from accmap.verifier.verdict.comparison import DifferingSetting, Divergence
from accmap.verifier.verdict.coverage import Findings, unexercised_fields
from accmap.verifier.verify import Options, verify

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import write_pair

if TYPE_CHECKING:
    from accmap.schemas.config import Config
    from accmap.verifier.worker.processes import Workers

WHEEL = Path(__file__).parents[2] / ".frameworks" / "megatron" / "0.19.2"
OURS: dict[str, Any] = {"megatron": {"moe-router-force-load-balancing": True}}
THEIRS: dict[str, Any] = {"model": {"moe_router_force_expert_balance": True}}
# The same global batch, in other micro batches than MindSpore Transformers'.
OTHER_CUT = {"megatron": {"micro-batch-size": 1, "global-batch-size": 2}}


def read(change: dict[str, Any], folder: Path) -> tuple[Config, Config]:
    one, other = (
        config_of(read_text(str(path)), ReadOptions(megatron="0.19"), path=str(path))
        for path in write_pair({"family": "moe_softmax", **change}, folder)
    )
    return one, other


@pytest.mark.parametrize(
    ("change", "left_out", "unrun"),
    [
        ({}, False, False),
        (OURS, False, False),
        (THEIRS, False, False),
        ({**OURS, **THEIRS}, True, False),
        ({**OTHER_CUT, **THEIRS}, True, True),
    ],
    ids=["neither", "Megatron-LM", "MindSpore Transformers", "both", "in passes of several sizes"],
)
def test_what_is_forced_on_one_side_alone_is_run(
    change: dict[str, Any], left_out: bool, unrun: bool, tmp_path: Path
) -> None:
    pair = read(change, tmp_path)
    assert (FORCED_BALANCE in {entry.field for entry in coverage.fields_not_compared(*pair)}) == left_out
    findings = findings_of(pair, [read_text(config.file) for config in pair])
    assert (
        FORCED_BALANCE in {entry.field for entry in unexercised_fields(pair, pair_findings(findings), "all")}
    ) == unrun


@pytest.mark.frameworks
@pytest.mark.skipif(
    bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
)
@pytest.mark.skipif(not WHEEL.is_dir(), reason="this Megatron-LM is not here")
@pytest.mark.parametrize("change", [OURS, THEIRS], ids=["Megatron-LM", "MindSpore Transformers"])
def test_the_router_parts(change: dict[str, Any], tmp_path: Path, workers: Workers) -> None:
    found = verify(*read(change, tmp_path), Findings(), Options(sources={"megatron": str(WHEEL)}), workers=workers)
    assert found.verdict == "mismatch", found.failures
    assert found.divergence == Divergence("decoder.layers.0.mlp.router", "forward")
    assert found.differing == (DifferingSetting(FORCED_BALANCE, change is OURS, change is THEIRS),)
