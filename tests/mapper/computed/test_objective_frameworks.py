"""What the formulas say of a loss and of the terms beside it is what the real frameworks' gradients hold."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from accmap.mapper.computed import megatron
from accmap.mapper.computed.results import EVERY_TOKEN, STEP, Z_LOSS, Values, balancing_term
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

pytestmark = pytest.mark.frameworks

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = load_table((HERE / "objective_cases.yaml").read_text("utf-8"))["megatron"]
TREES = os.environ.get("ACCMAP_MEGATRON_TREES", "")
VERSIONS = ("0.12", "0.13", "0.14", "0.15", "0.16", "0.17", "0.18", "0.19")
COMMON = (
    "--num-layers 2 --hidden-size 8 --num-attention-heads 2 --seq-length 16 --max-position-embeddings 64 "
    "--num-experts 4 --moe-router-topk 2 --train-iters 10 --lr 1e-4 --transformer-impl local "
    "--tokenizer-type NullTokenizer --vocab-size 100 --data-path d --disable-bias-linear "
)
GROUP = re.compile(r"each group of (?:1/(\d+) of )?(\d+) samples? alike")


def read(version: str, case: dict[str, Any]) -> Config:
    script = f"torchrun --nproc_per_node 2 pretrain_gpt.py {COMMON}{case['argv']}\n"
    return config_of(SourceText("n.sh", script), ReadOptions(megatron=version), path="n.sh")


def asked(version: str, cases: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """What two ranks of the tree say of every case."""
    jobs = [{"argv": case["argv"].split(), "masked": case.get("masked", False)} for case in cases]
    given = "".join(json.dumps(job) + "\n" for job in jobs)
    command = [sys.executable, "-B", str(HERE / "megatron_objective.py"), os.path.join(TREES, version)]
    environment = {**os.environ, "TORCHDYNAMO_DISABLE": "1", "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen(
            [*command, str(rank), str(folder / "store")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        for rank in (0, 1)
    ]
    for one in ranks:
        assert one.stdin is not None
        one.stdin.write(given)
        one.stdin.close()
        one.stdin = None
    told = [one.communicate(timeout=900)[0] for one in ranks]
    found = [json.loads(line) for line in told[0].splitlines()]
    assert len(found) == len(jobs)
    return found


def expected_weights(told: str, mask: list[Any]) -> list[float]:
    """How much every token weighs (micro batch, copy, sample, position) where groups count as a formula says."""
    parts, samples = 1, len(mask) * len(mask[0]) * len(mask[0][0])
    if told != EVERY_TOKEN:
        found = GROUP.fullmatch(told)
        assert found is not None, told
        parts, samples = int(found[1] or 1), int(found[2])
    rounds, copies, batch, length = len(mask), len(mask[0]), len(mask[0][0]), len(mask[0][0][0])
    places = list(product(range(rounds), range(copies), range(batch), range(length)))
    sample = {place: (place[0] * copies + place[1]) * batch + place[2] for place in places}
    group = {place: (sample[place] // samples, place[3] * parts // length) for place in places}
    sums: dict[tuple[int, int], float] = {}
    for place in places:
        sums[group[place]] = sums.get(group[place], 0.0) + mask[place[0]][place[1]][place[2]][place[3]]
    return [mask[a][b][c][d] / sums[group[a, b, c, d]] / len(sums) for a, b, c, d in places]


def expected_terms(found: dict[str, Any], case: dict[str, Any], config: Config) -> dict[str, float]:
    """The terms by the names that the program gives them."""
    args = Values(config)
    batch, step = int(args.micro_batch_size), int(args.global_batch_size)
    of_batch = balancing_term(STEP if batch == step else f"{batch} sample{'s' * (batch > 1)}")
    names = {balancing_term("1 sample"): "sample", of_batch: "batch", balancing_term(STEP): "step", Z_LOSS: "z"}
    if "seq_aux_loss" not in case["argv"] and batch == 1:
        names[balancing_term("1 sample")] = "batch"
    return {names[name]: value for name, value in found.items()}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_objective_of_megatron(version: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    if not os.path.isdir(os.path.join(TREES, version, "megatron")):
        pytest.skip(f"no source of Megatron-LM {version}: ACCMAP_MEGATRON_TREES names none")
    cases = [case for case in CASES if version in case.get("versions", [version])]
    assert len(cases) >= 12
    wrong: list[str] = []
    for case, real in zip(cases, asked(version, cases, tmp_path), strict=True):
        config = read(version, case)
        if "refused" in real:
            wrong.append(f"{case['name']}: {real}")
            continue
        weighting = megatron.loss_weighting(Values(config))
        if real["weights"] != pytest.approx(expected_weights(weighting, real["mask"]), rel=1e-4):
            wrong.append(f"{case['name']}: {weighting}, but {real['weights'][:9]}")
        if case.get("terms", True):
            terms = expected_terms(megatron.terms(Values(config)), case, config)
            rest = real["kept"].pop("rest")
            if rest > 1e-3 or real["kept"] != pytest.approx(terms, rel=1e-4):
                wrong.append(f"{case['name']}: {terms} for {real['kept']}, and {rest}")
    assert wrong == []


LAYOUTS = [
    # kind of balancing, copies, context, tensor, samples of a micro batch, samples and parts of a group by the formula
    ("sub_seq_aux_loss", 1, 1, 1, 1, (1, 1)),
    ("sub_seq_aux_loss", 2, 1, 2, 1, (1, 2)),
    ("sub_seq_aux_loss", 1, 2, 2, 2, (2, 4)),
    ("seq_aux_loss", 1, 1, 1, 2, (2, 1)),
    ("seq_aux_loss", 2, 1, 1, 1, (1, 1)),
    ("seq_aux_loss", 1, 1, 2, 1, (1, 1)),
    ("seq_aux_loss", 2, 2, 1, 1, (1, 2)),
    ("seq_aux_loss", 1, 2, 2, 2, (2, 2)),
    ("gbs_aux_loss", 1, 1, 1, 1, None),
    ("gbs_aux_loss", 2, 1, 2, 2, None),
    ("gbs_aux_loss", 2, 2, 1, 1, None),
]


def _balance(scores: Any, groups: Any, counts: Any = None) -> float:
    """The mean over groups of the experts times the sum of their share of tokens and their mean score."""
    import numpy as np

    told: list[float] = []
    for group in groups:
        probs = scores[group].reshape(-1, scores.shape[-1])
        chosen = np.zeros_like(probs)
        np.put_along_axis(chosen, np.argsort(-probs, -1)[:, :2], 0.5, -1)
        share = chosen.mean(0) if counts is None else counts
        told.append(float(probs.shape[-1] * (share * probs.mean(0)).sum()))
    return sum(told) / len(told)


@pytest.mark.parametrize("version", ["1.9", "1.8", "2.1"])
def test_the_objective_of_mindformers(version: str) -> None:
    pytest.importorskip("mindformers")
    wheels = os.environ.get("ACCMAP_MINDFORMERS_WHEELS", "")
    if version != "1.9" and not os.path.isdir(os.path.join(wheels, f"{version}.0")):
        pytest.skip(f"no MindSpore Transformers {version}: ACCMAP_MINDFORMERS_WHEELS names no folder of wheels")
    import numpy as np

    random, length, experts = np.random.default_rng(1), 8, 4
    jobs: list[dict[str, Any]] = []
    wanted: list[list[float]] = []
    for kind, copies, context, tensor, batch, group in LAYOUTS:
        # micro batch, copy, part of a sequence, sample, position, expert: as the devices hold them
        shape = (2, copies, context * tensor, batch, length // (context * tensor), experts)
        scores = random.dirichlet(np.ones(experts), shape[:-1])
        jobs.append({
            "balancing": True, "kind": kind, "copies": copies, "context": context, "tensor": tensor,
            "coefficient": 0.5, "scores": scores.reshape(2, -1, experts).tolist(),
        })  # fmt: skip
        if group is None:  # the share is that of all tokens so far
            chosen = np.zeros_like(scores)
            np.put_along_axis(chosen, np.argsort(-scores, -1)[..., :2], 0.5, -1)
            shares = [chosen[: last + 1].reshape(-1, experts).mean(0) for last in range(2)]
            wanted.append([0.5 * _balance(scores[one], [...], shares[one]) for one in range(2)])
        else:
            samples, parts = group
            assert samples == batch
            size = context * tensor // parts
            groups = [(copy, slice(part * size, part * size + size)) for copy in range(copies) for part in range(parts)]
            wanted.append([0.5 * _balance(scores[one], groups) for one in range(2)])
    for by_token in (False, True):
        logits, labels = random.normal(size=(32, 10)), random.integers(0, 10, 32)
        mask = (random.random(32) > 0.3).astype(float)
        jobs.append({"mask": mask.tolist(), "logits": logits.tolist(), "labels": labels.tolist(), "by_token": by_token})
        losses = np.log(np.exp(logits).sum(-1)) - logits[np.arange(32), labels]
        numerator, denominator = float((losses * mask).sum()), float(mask.sum())
        wanted.append([numerator, denominator] if by_token else [numerator / denominator])
    environment = {**os.environ, "PYTHONPATH": os.path.join(wheels, f"{version}.0") if version != "1.9" else ""}
    given = "".join(json.dumps(job) + "\n" for job in jobs)
    command = [sys.executable, "-B", str(HERE / "mindformers_objective.py")]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, env=environment)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(jobs), done.stderr[-2000:]
    told = [one.get("losses", one.get("parts", one)) for one in found]
    assert [one for one in zip(jobs, told, wanted, strict=True) if one[1] != pytest.approx(one[2], rel=1e-5)] == []


@pytest.mark.parametrize("version", ["2.1", "2.0"])
def test_the_objective_of_the_dynamic_graph(version: str) -> None:
    pytest.importorskip("mindformers")
    wheel = os.path.join(os.environ.get("ACCMAP_MINDFORMERS_WHEELS", ""), f"{version}.0")
    if not os.path.isdir(wheel):
        pytest.skip(f"no MindSpore Transformers {version}: ACCMAP_MINDFORMERS_WHEELS names no folder of wheels")
    import numpy as np

    random, length, batch, experts = np.random.default_rng(1), 4, 2, 4
    scores = random.dirichlet(np.ones(experts), (length, batch))  # as the router sees a micro batch
    groups = {"aux_loss": [...], "seq_aux_loss": [(slice(None), one) for one in range(batch)]}
    shared = {"length": length, "batch": batch, "coefficient": 0.5, "by_scores": version == "2.1"}
    jobs: list[dict[str, Any]] = [
        {"kind": kind, "scores": scores.reshape(-1, experts).tolist(), **shared} for kind in groups
    ]
    wanted = [0.5 * _balance(scores, group) for group in groups.values()]
    logits, labels = random.normal(size=(32, 10)), random.integers(0, 10, 32)
    mask = (random.random(32) > 0.3).astype(float)
    jobs.append({"mask": mask.tolist(), "logits": logits.tolist(), "labels": labels.tolist()})
    losses = np.log(np.exp(logits).sum(-1)) - logits[np.arange(32), labels]
    wanted.append(float((losses * mask).sum() / mask.sum()))
    given = "".join(json.dumps(job) + "\n" for job in jobs)
    command = [sys.executable, "-B", str(HERE / "dynamic_objective.py")]
    environment = {**os.environ, "PYTHONPATH": wheel}
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, env=environment)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(jobs), done.stderr[-2000:]
    assert [one.get("told", one) for one in found] == pytest.approx(wanted, rel=1e-5)
