"""How long a run is, and everything that stands for it: the same YAMLs through the real code where it is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.recipe.values import open_because
from accmap.mapper.schedule.curve import UndecidedError
from accmap.mapper.schedule.from_config import schedule_of
from accmap.schemas.border.file_input import read_text
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.mindformers.effective import mindformers_config
from accmap.schemas.source import SourceText

HERE = Path(__file__).parent
RUN = HERE.parents[1] / "framework_run.py"
WHEELS = Path(os.environ.get("ACCMAP_MINDFORMERS", HERE.parents[2] / ".frameworks" / "mindformers"))
CASES: list[dict[str, Any]] = load_table((HERE / "run_length_cases.yaml").read_text(encoding="utf-8"))
BASE: dict[str, Any] = {
    "run_mode": "train",
    "use_legacy": False,
    "use_parallel": True,
    "trainer": {"type": "CausalLanguageModelingTrainer", "model_name": "qwen3"},
    "runner_config": {"epochs": 2, "batch_size": 1, "sink_mode": True, "sink_size": 1},
    "optimizer": {"type": "AdamW", "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.0},
    "lr_schedule": {
        "type": "CosineWithWarmUpLR",
        "learning_rate": 1e-5,
        "lr_end": 0.0,
        "warmup_ratio": 0.03,
        "total_steps": -1,
    },
    "train_dataset": {
        "data_loader": {"type": "MindDataset", "dataset_dir": ""},
        "input_columns": ["input_ids"],
        "drop_remainder": True,
    },
    "train_dataset_task": {"type": "CausalLanguageModelDataset"},
    "parallel": {"parallel_mode": 1, "full_batch": True},
    "parallel_config": {"data_parallel": 8, "model_parallel": 1, "pipeline_stage": 1, "micro_batch_num": 1},
    "model": {"model_config": {"model_type": "qwen3", "architectures": "Qwen3ForCausalLM"}},
}
PAIRS = [(case, version) for case in CASES for version in case["versions"]]


def text_of(case: dict[str, Any]) -> str:
    document = {**BASE, **case["yaml"]}
    document["train_dataset_task"] = {**document["train_dataset_task"], "dataset_config": document["train_dataset"]}
    return yaml.safe_dump(document, sort_keys=False)


def read(case: dict[str, Any], version: str, *, settled: bool = True) -> Config:
    options = ReadOptions(mindformers=version)
    if settled:
        options = options._replace(steps=case.get("steps"), dataset_size=case.get("samples"))
    return mindformers_config(SourceText("run.yaml", text_of(case)), options, read_text)


@pytest.mark.table(4)
@pytest.mark.parametrize(("case", "version"), PAIRS, ids=[f"{case['name']}-{version}" for case, version in PAIRS])
def test_the_length_settles_what_stands_for_it(case: dict[str, Any], version: str) -> None:
    config = read(case, version)
    if case.get("refused"):
        assert "rejected-value" in [problem.kind.name for problem in config.problems]
        return
    names = {
        "data_size": "runner.data_size",
        "total_steps": "runner.total_steps",
        "schedule_total": "schedule.total_steps",
    }
    found = {name: config.value(f"resolved.{names.get(name, f'schedule.{name}')}") for name in case["expect"]}
    assert found == case["expect"]
    assert not open_because(config, recipe_of(config))


@pytest.mark.table(4)
@pytest.mark.parametrize(("case", "version"), PAIRS, ids=[f"{case['name']}-{version}" for case, version in PAIRS])
def test_without_it_nothing_is_guessed(case: dict[str, Any], version: str) -> None:
    if case.get("refused"):
        return
    known = read(case, version)
    config = read(case, version, settled=False)
    schedule = recipe_of(config)
    for name, entry in recipe_of(known).fields.items():
        if name.startswith(("schedule.", "run.train")):
            own = schedule.fields[name]
            # the share that a warm-up is of an open length is written in the file itself
            assert own.value in (None, entry.value) or name == "schedule.warmup_ratio", name
            assert own.decided or own.value is None, name
    try:
        curve = schedule_of(config).learning_rate
    except UndecidedError:
        return
    wanted = schedule_of(known).learning_rate
    assert [curve.value(step) for step in range(0, 900, 7)] == [wanted.value(step) for step in range(0, 900, 7)]


def test_an_open_length_has_a_reason_in_both_languages() -> None:
    config = read(CASES[0], "1.9", settled=False)
    said = [problem.message(language) for problem in config.problems for language in ("en", "zh")]
    assert any("--dataset-size N" in text for text in said)
    reasons = open_because(config, recipe_of(config))
    assert {"run.train_steps", "schedule.decay_steps", "schedule.warmup_steps"} <= reasons.keys()
    assert all("--steps N" in text for reason in reasons.values() for text in reason.both())


@pytest.mark.parametrize(
    "section",
    [
        {"train_dataset_task": {"type": "ModalToTextSFTDataset"}},
        {"train_dataset": {**BASE["train_dataset"], "data_loader": {"type": "MyOwnDataLoader"}}},
        {"train_dataset": {**BASE["train_dataset"], "data_loader": {"type": "HFDataLoader", "streaming": True}}},
        {"train_dataset": {**BASE["train_dataset"], "drop_remainder": "${DROP}"}},
        {"runner_config": {**BASE["runner_config"], "batch_size": "${BATCH}"}},
        {"parallel": {"parallel_mode": 1, "full_batch": "${FULL}"}},
    ],
)
def test_samples_settle_nothing_where_the_file_leaves_open_how_they_are_dealt_out(section: dict[str, Any]) -> None:
    case = {"yaml": section, "samples": 1000}
    assert read(case, "1.9").value("resolved.runner.total_steps") is None
    settled = read({**case, "steps": 50}, "1.9")
    assert settled.value("resolved.runner.total_steps") == 50
    assert settled.value("resolved.schedule.warmup_steps") == 1


def test_warm_up_in_epochs_needs_the_data() -> None:
    case = next(case for case in CASES if case["name"] == "warm-up-in-epochs")
    config = read({**case, "samples": None, "steps": 250}, "1.7")
    assert config.value("resolved.schedule.warmup_steps") is None
    assert recipe_of(config).fields["schedule.warmup_steps"].decided is False
    with pytest.raises(UndecidedError) as caught:
        schedule_of(config)
    assert "--dataset-size N" in caught.value.problems[0].message("zh")


def test_steps_that_are_given_stand_over_those_that_are_counted() -> None:
    config = read({"yaml": {}, "samples": 1000, "steps": 50}, "1.9")
    assert config.value("resolved.runner.total_steps") == 50
    assert config.value("resolved.runner.data_size") == 125


@pytest.mark.frameworks
@pytest.mark.parametrize("version", ["1.6", "1.7", "1.8", "1.9", "2.1"])
def test_equals_the_real_run(version: str, tmp_path: Path) -> None:
    pytest.importorskip("mindspore")
    folder = WHEELS / f"{version}.0"
    if not folder.is_dir():
        pytest.skip(f"MindSpore Transformers {version} is not unpacked")
    cases = [case for case in CASES if version in case["versions"]]
    jobs: list[dict[str, Any]] = []
    for case in cases:
        path = tmp_path / f"{case['name']}.yaml"
        path.write_text(text_of(case), encoding="utf-8")
        jobs.append({"file": str(path), **{key: case[key] for key in ("steps", "samples") if key in case}})
    (tmp_path / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(RUN), str(HERE / "run_length_oracle.py"), str(tmp_path / "jobs.json")],
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT"))
    for case, real in zip(cases, json.loads(line[len("RESULT") :]), strict=True):
        assert ("refused" in real) == bool(case.get("refused")), (case["name"], real)
        if case.get("refused"):
            continue
        config = read(case, version)
        if "steps" not in case:
            assert config.value("resolved.runner.data_size") == real["data_size"], case["name"]
        assert config.value("resolved.runner.total_steps") == real["total_steps"], case["name"]
        schedule = schedule_of(config)
        for step, rate in real["rates"].items():
            found = schedule.learning_rate.value(int(step))
            assert abs(found - rate) <= 4e-7 * max(schedule.traits.peak, abs(rate)), (case["name"], step)
