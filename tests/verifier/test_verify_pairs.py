"""Both real models from pairs of files: equal pairs match, differences point at their module and field."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accmap.cli.commands.verify import findings_of, rules_for
from accmap.schemas.border.file_input import read_text
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of, read_config
from accmap.verifier.installations import missing_modules
from accmap.verifier.pair import Options, assemble_pair
from accmap.verifier.verdict.comparison import compare_answers
from accmap.verifier.worker.processes import WorkerAnswer, Workers

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
sys.path.insert(0, str(Path(__file__).parent / "proofs"))
from pair_files import TABLE, write_pair
from proof_process import answer
from verified_pairs import check, verified

if TYPE_CHECKING:
    from accmap.verifier.worker.blueprint import Job

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(
        bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
    ),
]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.smoke] if name == "moe_softmax" else []) for name in TABLE["equal"]]
)
def test_equal_pairs_match(name: str, tmp_path: Path, workers: Workers) -> None:
    found = verified(TABLE["equal"][name], tmp_path, workers)
    assert found.verdict == "match", (found.worst.disagreements(), found.failures)
    compared = found.worst
    assert len(compared.loss) == 4
    assert max(row.relative or 0 for row in (*compared.loss, *compared.gradients)) <= 1e-5
    assert compared.gradients
    assert compared.optimizer
    assert {"0", "10", "99"} <= {row.name for row in compared.rates}
    assert compared.clipping


@pytest.mark.parametrize("name", TABLE["semantic"])
def test_the_frameworks_own_differences(name: str, tmp_path: Path, workers: Workers) -> None:
    pair = TABLE["semantic"][name]
    found = verified(pair, tmp_path, workers)
    check(pair["expect"], found)
    if "rule" in pair["expect"]:
        sources = [read_text(str(path)) for path in write_pair(pair, tmp_path)]
        configs = [config_of(source, ReadOptions(), path=source.name) for source in sources]
        assert pair["expect"]["rule"] in rules_for(found, findings_of(configs, sources))


@pytest.mark.parametrize(("name", "seeds"), [("grouped", 6), ("moe_sigmoid", 6), ("deepseek", 2)])
def test_no_false_mismatch_over_many_seeds(name: str, seeds: int, tmp_path: Path, workers: Workers) -> None:
    found = verified(TABLE["equal"][name], tmp_path, workers, seeds=seeds)
    assert found.verdict == "match", found.worst.disagreements()
    assert len(found.compared) == seeds
    assert len(found.near_ties) <= 1


@pytest.mark.parametrize("family", ["grouped", "tied", "latent_yarn", "deepseek"])
def test_a_reference_in_torch_proves_both_frameworks(family: str, tmp_path: Path, workers: Workers) -> None:
    for file in write_pair(TABLE["equal"][family], tmp_path):
        config = read_config(str(file))
        pair = assemble_pair(config, config, Options())
        # The reference has neither schedulers nor data sets, and separates no documents.
        plain = pair.blueprints[0]._replace(
            rates=None, drops=False, scales=None, documents=None, samples=None, cut=None, unlike={}
        )
        job = pair._replace(inputs=tuple(one._replace(ends=()) for one in pair.inputs)).job(plain, Options(), 0)
        real = workers.worker(config.framework).run(job)
        assert isinstance(real, WorkerAnswer), real
        found = compare_answers(real, reference_answer(job, tmp_path))
        assert not found.disagreements(), (family, config.framework, found.disagreements())
        assert found.gradients
        assert found.optimizer


def reference_answer(job: Job, folder: Path) -> WorkerAnswer:
    """The answer of the reference, which runs in a process of its own."""
    words, arrays = (str(folder / "job.json"), str(folder / "arrays.npz"))
    Path(words).write_text(json.dumps(job.to_json()), "utf-8")
    values = answer("reference_model", words, arrays)
    with np.load(arrays) as stored:
        return WorkerAnswer(values, {name: stored[name] for name in stored.files})


@pytest.mark.parametrize(("stage", "losses"), [("step1", 1), ("local-norm", 1), ("step2", 2)])
def test_stages_of_the_guide(stage: str, losses: int, tmp_path: Path, workers: Workers) -> None:
    found = verified(TABLE["equal"]["dense"], tmp_path, workers, stage=stage)
    assert found.verdict == "match"
    assert len(found.worst.loss) == losses
    assert bool(found.worst.gradients) == (stage != "step1")
    assert bool(found.worst.optimizer) == (stage == "step2")


@pytest.mark.alone
def test_a_run_stays_within_its_cost_and_memory(tmp_path: Path) -> None:
    with Workers() as fresh:
        found = verified(TABLE["equal"]["dense"], tmp_path, fresh)
    # What is waited for: two of MindSpore's own threads spin beside the one that computes, and double the processor's.
    start = sum(side["import"]["seconds"] + side["seconds"]["build"] for side in found.cost.values())
    rest = sum(side["seconds"]["run"] for side in found.cost.values())
    assert rest <= 0.3 * start, found.cost
    assert sum(side["peak_megabytes"] for side in found.cost.values()) < 2000
