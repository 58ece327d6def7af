"""The dynamic graph of MindSpore Transformers 1.9 beside the real Megatron-Core: equal pairs match, others part."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap.schemas.config import ReadOptions
from accmap.schemas.house_yaml import house_yaml
from accmap.schemas.reader import read_config
from accmap.verifier.verify import Options, Verification, Workers, missing, verify

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import script_of

TABLE: dict[str, Any] = house_yaml((Path(__file__).parent / "pairs" / "dynamic.yaml").read_text("utf-8"))
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(bool(missing("megatron") + missing("mindformers")), reason="the frameworks are not installed"),
]


def verified(pair: dict[str, Any], folder: Path, workers: Workers) -> Verification:
    common, family = TABLE["common"], TABLE["families"][pair["family"]]
    sections = {name: {**given, **pair.get("sections", {}).get(name, {})} for name, given in common["sections"].items()}
    sections["model"] = {**common["model"], **family["model"], **pair.get("model", {})}
    script, config = folder / "pretrain.sh", folder / "train.yaml"
    flags = {**common["megatron"], **family["megatron"], **pair.get("megatron", {})}
    script.write_text(script_of(flags), "utf-8")
    config.write_text(yaml.safe_dump(sections, sort_keys=False), "utf-8")
    read = read_config(str(config), ReadOptions(mindformers="1.9"))
    assert read.dialect == "dynamic"
    return verify(read_config(str(script)), read, Options(), workers=workers)


@pytest.mark.parametrize("name", TABLE["equal"])
def test_equal_pairs_match(name: str, tmp_path: Path, workers: Workers) -> None:
    found = verified(TABLE["equal"][name], tmp_path, workers)
    assert found.verdict == "match", (found.worst.disagreeing(), found.failures, found.not_compared[:3])
    compared = found.worst
    assert max(row.relative or 0 for row in (*compared.loss, *compared.gradients, *compared.training)) <= 1e-5
    assert len(compared.loss) == 4
    assert compared.optimizer
    assert compared.rates
    assert compared.clipping
    assert bool(compared.samples) == ("train_dataset" in TABLE["equal"][name].get("sections", {}))
    used = found.stand_ins["mindformers"]
    assert {"hyper-parallel", "views", "rms-norm", "core-attention"} <= set(used)
    assert ("count" in used) == (TABLE["equal"][name]["family"] == "latent")
    assert "gradient.per_token_loss" in {entry["field"] for entry in found.not_compared}


@pytest.mark.parametrize("name", TABLE["different"])
def test_what_differs_is_found(name: str, tmp_path: Path, workers: Workers) -> None:
    pair = TABLE["different"][name]
    found = verified(pair, tmp_path, workers)
    assert found.verdict == "mismatch", found.failures
    assert pair["stage"] in found.worst.disagreeing()
    if "module" in pair:
        assert found.divergence is not None
        assert found.divergence.module == pair["module"]


def test_a_dynamic_graph_that_is_not_run_says_which_is(tmp_path: Path, workers: Workers) -> None:
    script, config = tmp_path / "pretrain.sh", tmp_path / "train.yaml"
    common, family = TABLE["common"], TABLE["families"]["dense"]
    script.write_text(script_of({**common["megatron"], **family["megatron"]}), "utf-8")
    config.write_text(yaml.safe_dump({**common["sections"], "model": {**common["model"], **family["model"]}}), "utf-8")
    read = read_config(str(config), ReadOptions(mindformers="2.1"))
    found = verify(read_config(str(script)), read, Options(), workers=workers)
    assert found.verdict == "not-verifiable"
    assert "1.9, not of 2.1" in found.failures["mindformers"].reason
