"""The samples of a pair's own run, by both real data sets: equal where accmap converted one file from the other."""

from __future__ import annotations
import __future__

import ast
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml

from accmap import ReadOptions, convert, diff
from accmap.mapper.modules import fields_of
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.reader import read_config
from accmap.verifier.installations import missing_modules
from accmap.verifier.plan.samples import Samples, samples_of
from accmap.verifier.verdict import coverage
from accmap.verifier.verdict.comparison import compare_samples
from accmap.verifier.verdict.coverage import Findings
from accmap.verifier.verify import verify
from accmap.verifier.worker.processes import WorkerAnswer, Workers

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import script_of

if TYPE_CHECKING:
    from accmap.schemas.config import Config

TABLE: dict[str, Any] = load_table((Path(__file__).parent / "pairs" / "samples.yaml").read_text("utf-8"))
HERE = Path(__file__).parent
SIDES = ("megatron", "mindformers")
real = [
    pytest.mark.frameworks,
    pytest.mark.skipif(
        bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
    ),
]
_CONFIG = ("seed", "split", "data_path", "seq_length", "pad", "eod", "eod_mask_loss")


def pair(case: dict[str, Any], folder: Path) -> tuple[Config, Config]:
    """The script of a case, and what accmap makes of it with the case's changes."""
    script, written = folder / "pretrain.sh", folder / "train.yaml"
    flags = {**TABLE["base"], **case.get("script", {})}
    lists = {name: flags.pop(name) for name in list(flags) if name.endswith("-path") or name == "rampup-batch-size"}
    words = "".join(f" \\\n    --{name} {value}" for name, value in lists.items() if value is not None)
    script.write_text(script_of(flags).rstrip("\n").replace("'$SEED'", "$SEED") + words + "\n", "utf-8")
    # What no YAML can be made of is converted without the changes.
    plain = folder / "plain.sh"
    plain.write_text(
        script_of({**TABLE["base"], "data-path": None}).rstrip("\n") + " --data-path /data/corpus\n", "utf-8"
    )
    config = read_config(str(script))
    sections = yaml.safe_load(
        convert(
            read_config(str(plain)) if "said" in case or "mock-data" in flags else config,
            options=ReadOptions(mindformers="1.9"),
        ).text
    )
    for key, value in case.get("yaml", {}).items():
        _change(sections, key, value)
    written.write_text(yaml.safe_dump(sections), "utf-8")
    return config, read_config(str(written))


def _change(sections: dict[str, Any], key: str, value: Any) -> None:
    loader = sections["train_dataset"]["data_loader"]
    runner = sections["runner_config"]
    place = loader["config"] if key in _CONFIG else runner if key in runner else loader
    place = sections["train_dataset"] if key == "drop_remainder" else place
    if value is None:
        del place[key]
    else:
        place[key] = value
    if key == "seq_length":
        sections["model"]["model_config"][key] = value


def answer(function: str, *words: str) -> dict[str, Any]:
    """What a proof says in a process of its own."""
    paths = [str(HERE / "proofs"), *(path for path in sys.path if path)]
    code = f"from sample_proofs import *; {function}(*{words!r})"
    done = subprocess.run(
        [sys.executable, str(HERE.parent / "framework_run.py"), "-c", code],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def classes_of(file: Path, torch: Any) -> dict[str, Any]:
    """The classes of a module whose imports need a whole training program."""
    parts = [part for part in ast.parse(file.read_text("utf-8")).body if isinstance(part, ast.ClassDef)]
    space: dict[str, Any] = {"torch": torch, "Dataset": torch.utils.data.Dataset, "Any": Any, "random": random}
    exec(compile(ast.Module(parts, []), str(file), "exec", flags=__future__.annotations.compiler_flag), space)
    return space


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By case: the files, and the rows of what both data sets drew."""
    folder = tmp_path_factory.mktemp("drawn")
    pairs: dict[str, tuple[Config, Config]] = {}
    asked: dict[str, Samples] = {}
    for name, case in TABLE["cases"].items():
        (folder / name).mkdir()
        pairs[name] = pair(case, folder / name)
        found = samples_of(*pairs[name])
        assert isinstance(found, Samples), (name, found)
        asked[name] = found
    told: list[dict[str, Any]] = []
    for side, framework in enumerate(SIDES):
        plans = {name: one.plans[side]._asdict() for name, one in asked.items()}
        (folder / f"{framework}.json").write_text(json.dumps(plans), "utf-8")
        told.append(answer("main", framework, str(folder)))
    assert [one["refused"] for one in told] == [{}, {}]
    assert "sampler" in told[0]["stand_ins"]
    rows: dict[str, Any] = {}
    for name, one in asked.items():
        sides: list[WorkerAnswer] = []
        for framework in SIDES:
            with np.load(folder / f"{framework}-{name}.npz") as kept:
                values = {key: kept[key] for key in kept.files}
            passes = int(values.pop("passes"))
            sides.append(WorkerAnswer({"passes": passes}, {f"samples/{key}": each for key, each in values.items()}))
        rows[name] = pairs[name], compare_samples(sides[0], sides[1], one.plans)
    return rows


class TestBothDataSets:
    pytestmark = real

    @pytest.mark.parametrize("name", TABLE["cases"])
    def test_they_draw_the_same_or_part_where_the_files_do(self, name: str, drawn: dict[str, Any]) -> None:
        case = TABLE["cases"][name]
        configs, rows = drawn[name]
        parted = [row for row in rows if not row.agrees]
        if "row" not in case:
            assert parted == []
            assert len(rows) > 3
            return
        assert parted[0].name == case["row"], rows
        if case["row"] == "step 1":
            assert parted[0].note
        if "field" in case:
            found = coverage.differing_settings(*configs, fields_of("samples"))
            assert found, name
            assert found[0].field == case["field"], found

    @pytest.mark.parametrize("framework", SIDES)
    def test_the_stand_in_for_index_functions_is_the_compiled_one(self, framework: str, tmp_path: Path) -> None:
        found = answer("functions", framework, str(tmp_path))
        assert found["same"] == found["of"]

    def test_the_stand_in_for_the_sampler_takes_samples_as_megatron_does(self) -> None:
        torch = pytest.importorskip("torch")
        from accmap.verifier.megatron.training import sampling_order

        trees = os.environ.get("ACCMAP_MEGATRON_TREES")
        folders = [HERE.parents[1] / ".frameworks" / "megatron", *([Path(trees)] if trees else [])]
        files = [file for folder in folders for file in folder.glob("*/megatron/*/data*/data_samplers.py")]
        if not files:
            pytest.skip("no tree of Megatron-LM is here")
        for file in files:
            kinds = classes_of(file, torch)
            for total, micro, sharded in ((24, 1, True), (1001, 1, False), (30, 1, False)):
                common = {"total_samples": total, "consumed_samples": 0, "micro_batch_size": micro}
                common |= {"data_parallel_rank": 0, "data_parallel_size": 1}
                line = kinds["MegatronPretrainingSampler"](**common)
                assert [at for batch in line for at in batch] == list(sampling_order(total, "single"))
                mixed = kinds["MegatronPretrainingRandomSampler"](None, data_sharding=sharded, **common)
                assert [at for batch in mixed for at in batch] == list(sampling_order(total, "cyclic")), file

    @pytest.mark.parametrize(("name", "verdict"), [("a weighted mix", "match"), ("seed", "mismatch")])
    def test_they_are_part_of_the_verdict(self, name: str, verdict: str, tmp_path: Path) -> None:
        configs = pair(TABLE["cases"][name], tmp_path)
        with Workers() as workers:
            found = verify(*configs, Findings(), workers=workers)
        assert found.verdict == verdict, (found.worst.disagreements(), found.failures)
        told = found.to_json()
        assert told["samples"]
        if verdict == "mismatch":
            assert (told["first_divergence"]["module"], told["first_divergence"]["direction"]) == ("samples", "data")
            assert [entry["field"] for entry in told["first_divergence"]["differing"]] == ["data.seed"]


@pytest.mark.parametrize("name", TABLE["undrawn"])
def test_why_no_samples_are_drawn(name: str, tmp_path: Path) -> None:
    found = samples_of(*pair(TABLE["undrawn"][name], tmp_path))
    assert not isinstance(found, Samples)
    assert TABLE["undrawn"][name]["said"] in found.text("en")
    assert found.text("zh") != found.text("en")


@pytest.mark.parametrize("samples", [20, 20_000, 40_000, 80_000])
def test_a_dynamic_run_has_a_length_of_its_own(samples: int, tmp_path: Path) -> None:
    script, written = tmp_path / "pretrain.sh", tmp_path / "train.yaml"
    script.write_text(
        script_of({**TABLE["base"], "data-path": None}).rstrip("\n") + " --data-path 0.3 /d/a 0.7 /d/b\n", "utf-8"
    )
    config = read_config(str(script))
    text = convert(config, options=ReadOptions(mindformers="2.1")).text
    assert "sizes: [40000, 0, 0]" in text
    written.write_text(text.replace("sizes: [40000, 0, 0]", f"sizes: [{samples}, 0, 0]"), "utf-8")
    found = samples_of(config, read_config(str(written)))
    assert isinstance(found, Samples)
    megatron, mindformers = found.plans
    steps = megatron.samples // megatron.batch
    assert (megatron.steps, mindformers.steps) == (None, steps)
    assert (mindformers.samples // mindformers.batch < steps) is (samples < 40_000)


@pytest.mark.parametrize(
    ("paths", "status", "row"),
    [
        ("/d/a", "undecided", ("run.train_samples", "conditional")),
        ("0.3 /d/a 0.7 /d/b", "different", ("computed.samples", "approximate")),
    ],
)
def test_data_that_end_before_a_dynamic_run(paths: str, status: str, row: tuple[str, str], tmp_path: Path) -> None:
    script, written = tmp_path / "pretrain.sh", tmp_path / "train.yaml"
    text = script_of({**TABLE["base"], "data-path": None}).rstrip("\n")
    script.write_text(f"{text} --data-path {paths}\n", "utf-8")
    text = convert(str(script), options=ReadOptions(mindformers="2.1")).text
    written.write_text(text.replace("sizes: [40000, 0, 0]", "sizes: [20000, 0, 0]"), "utf-8")
    rows = {str(one.field): one for one in diff(str(script), str(written))}
    assert rows["computed.samples"].status == status
    back = convert(str(written), options=ReadOptions(megatron="0.12"))
    assert row in [(one.field, one.status) for one in back.rows]
