"""MindSpore Transformers 1.6, which has one class to train: what is converted to it runs, and its faults show."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.lean import main
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config
from accmap.verifier.installations import missing_modules
from accmap.verifier.verdict.coverage import Findings
from accmap.verifier.verify import Options, verify

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import write_pair

if TYPE_CHECKING:
    from accmap.verifier.verification import Verification
    from accmap.verifier.worker.processes import Workers

TABLE: dict[str, Any] = load_table((Path(__file__).parent / "pairs" / "oldest.yaml").read_text("utf-8"))
PLACE = Path(__file__).parents[2] / ".frameworks" / "mindformers" / "1.6.0"
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(
        bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
    ),
    pytest.mark.skipif(not PLACE.is_dir(), reason="MindSpore Transformers 1.6 is not here"),
]


def verified(pair: dict[str, Any], folder: Path, workers: Workers) -> Verification:
    script, config = write_pair({**pair, "megatron": {**TABLE["common"], **pair.get("megatron", {})}}, folder)
    words = ["convert", str(script), "--to", "mindformers", "--mindformers", "1.6", "-o", str(config), "--force"]
    assert main(words) in (0, 1)
    read = read_config(str(config), ReadOptions(mindformers="1.6"))
    options = Options(sources={"mindformers": str(PLACE)})
    return verify(read_config(str(script)), read, Findings(), options, workers=workers)


@pytest.mark.parametrize("name", TABLE["equal"])
def test_what_is_converted_matches(name: str, tmp_path: Path, workers: Workers) -> None:
    found = verified(TABLE["equal"][name], tmp_path, workers)
    assert found.verdict == "match", (found.worst.disagreements(), found.failures, found.not_compared[:3])
    compared = found.worst
    assert max(row.relative or 0 for row in (*compared.loss, *compared.gradients, *compared.training)) <= 1e-5
    assert len(compared.loss) == 4
    assert compared.samples
    used = set(found.stand_ins["mindformers"])
    assert {"context", "drawn-first", "core-attention", "accumulation"} <= used
    experts = TABLE["equal"][name]["family"] == "deepseek"
    assert {("exchange" in used), ("grouped-product" in used), bool(compared.expert_bias), bool(compared.parts)} == {
        experts
    }


@pytest.mark.parametrize("name", TABLE["different"])
def test_its_faults_show(name: str, tmp_path: Path, workers: Workers) -> None:
    pair = TABLE["different"][name]
    found = verified(pair, tmp_path, workers)
    assert found.verdict == "mismatch", found.failures
    assert pair["stage"] in found.worst.disagreements()
    if "module" in pair:
        assert found.divergence is not None
        assert found.divergence.module == pair["module"]
