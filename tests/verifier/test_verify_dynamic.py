"""The dynamic graph of MindSpore Transformers beside the real Megatron-Core: equal pairs match, others part."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config
from accmap.schemas.versions import minor_of, names, within
from accmap.verifier.installations import missing_modules
from accmap.verifier.verdict.coverage import Findings
from accmap.verifier.verify import Options, verify

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import script_of

if TYPE_CHECKING:
    from accmap.verifier.verification import Verification
    from accmap.verifier.worker.processes import Workers

TABLE: dict[str, Any] = load_table((Path(__file__).parent / "pairs" / "dynamic.yaml").read_text("utf-8"))
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(
        bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
    ),
]


WHEELS = Path(__file__).parents[2] / ".frameworks" / "mindformers"
MEGATRON = WHEELS.parent / "megatron"
PLACES = {"1.9": None, **{version: WHEELS / f"{version}.0" for version in ("2.0", "2.1")}}
HERE = [version for version, place in PLACES.items() if place is None or place.is_dir()]
EQUAL = [
    pytest.param(
        name,
        version,
        marks=[pytest.mark.slow] * (version == "2.0" and name != "dense")
        + [pytest.mark.smoke] * (version == "2.1" and name == "dense"),
    )
    for name, pair in TABLE["equal"].items()
    for version in HERE
    if within(version, pair.get("since"), None)
]
DIFFERENT = [
    (name, version)
    for name, pair in TABLE["different"].items()
    for version in pair.get("versions", ("1.9", "2.1"))
    if version in HERE and ("megatron_source" not in pair or (MEGATRON / pair["megatron_source"]).is_dir())
]


def verified(pair: dict[str, Any], version: str, folder: Path, workers: Workers) -> Verification:
    common, family = TABLE["common"], TABLE["families"][pair["family"]]
    sections = {name: {**given, **pair.get("sections", {}).get(name, {})} for name, given in common["sections"].items()}
    sections["model"] = {**common["model"], **family["model"], **pair.get("model", {})}
    script, config = folder / "pretrain.sh", folder / "train.yaml"
    flags = {**common["megatron"], **family["megatron"], **pair.get("megatron", {})}
    script.write_text(script_of(flags), "utf-8")
    config.write_text(yaml.safe_dump(sections, sort_keys=False), "utf-8")
    read = read_config(str(config), ReadOptions(mindformers=version))
    assert read.dialect == "dynamic"
    place = PLACES[version]
    sources = {} if place is None else {"mindformers": str(place)}
    own = pair.get("megatron_source")
    if own is not None:
        sources["megatron"] = str(MEGATRON / own)
    options = Options(sources=sources)
    return verify(
        read_config(str(script), ReadOptions(megatron=minor_of(own or ""))), read, Findings(), options, workers=workers
    )


def test_every_dynamic_graph_is_run() -> None:
    assert set(names("mindformers", "dynamic", "verify")) == set(names("mindformers", "dynamic")) == set(PLACES)


@pytest.mark.parametrize(("name", "version"), EQUAL)
def test_equal_pairs_match(name: str, version: str, tmp_path: Path, workers: Workers) -> None:
    pair = TABLE["equal"][name]
    found = verified(pair, version, tmp_path, workers)
    assert found.verdict == "match", (found.worst.disagreements(), found.failures, found.not_compared[:3])
    compared = found.worst
    assert max(row.relative or 0 for row in (*compared.loss, *compared.gradients, *compared.training)) <= 1e-5
    assert len(compared.loss) == 4
    assert compared.optimizer
    assert compared.rates
    assert compared.clipping
    assert bool(compared.samples) == ("train_dataset" in pair.get("sections", {}))
    used = found.stand_ins["mindformers"]
    assert {"hyper-parallel", "views", "rms-norm", "core-attention"} <= set(used)
    assert ("count" in used) == (pair["family"] == "latent")
    assert ({"backward", "to-empty", "drawn", "laid-out", "in-place"} <= set(used)) == (version != "1.9")
    assert ("wide-logits" in used) == (version == "2.0")
    # The trainer of 1.9 takes all samples of a step at once.
    assert ("gradient.per_token_loss" in {entry.field for entry in found.not_compared}) == (version == "1.9")


@pytest.mark.parametrize(("name", "version"), DIFFERENT)
def test_what_differs_is_found(name: str, version: str, tmp_path: Path, workers: Workers) -> None:
    pair = TABLE["different"][name]
    found = verified(pair, version, tmp_path, workers)
    assert found.verdict == "mismatch", found.failures
    assert pair["stage"] in found.worst.disagreements()
    if "module" in pair:
        assert found.divergence is not None
        assert found.divergence.module == pair["module"]
    if pair.get("outputs") == "alike":  # the loss beside them differs, and the outputs of all modules are the same
        assert any(row.name.endswith(".router") for row in found.worst.activations)
        assert [row.name for row in found.worst.activations if not row.agrees] == []
