"""Applying a fix never leads to another error: planted faults, each fix by itself and all of them together."""

from __future__ import annotations

import sys
from random import Random
from typing import TYPE_CHECKING

import pytest
from fix_sweep import (
    ROOT,
    SCRIPT,
    SEED,
    SHIPPED,
    YAML,
    Outcome,
    Plant,
    equal_pair,
    loadable_yamls,
    outcome_of,
    plants,
    safe_plants,
    value_plants,
)

sys.path.insert(0, str(ROOT / "tests" / "schemas" / "mindformers"))
from test_startup import WHEELS, real_answers

sys.path.pop(0)

if TYPE_CHECKING:
    from pathlib import Path

QUICK = 80
"""One plant of so many is tried in every run."""


def check(chosen: list[Plant], *, fixed: float, edited: float) -> None:
    outcomes = [outcome_of(plant) for plant in chosen]
    assert not [(outcome.plant.name, outcome.wrong) for outcome in outcomes if outcome.wrong]
    errors = [entry for outcome in outcomes if is_pair(outcome) for entry in outcome.errors]
    assert sum(entry.fix is not None for entry in errors) >= fixed * len(errors)
    assert sum(bool(entry.fixes) for entry in errors) >= edited * len(errors)


def is_pair(outcome: Outcome) -> bool:
    return len(outcome.plant.given) > 1


def test_some_fixes_mend_and_do_no_harm() -> None:
    check(plants(QUICK), fixed=0.7, edited=0.8)


@pytest.mark.slow
def test_every_fix_mends_and_does_no_harm() -> None:
    chosen = plants()
    assert len([plant for plant in chosen if len(plant.given) > 1]) >= 300
    check(chosen, fixed=0.8, edited=0.95)


@pytest.mark.parametrize(
    ("file", "old", "new", "code"),
    [
        # a pattern has an entry for each layer, so that the number alone would stop Megatron-LM
        (YAML, "num_hidden_layers: 4", "num_hidden_layers: 6", "NET001"),
        (SCRIPT, "    --train-iters 1000\n", "", "MAP126"),
        (SCRIPT, "--adam-beta2 0.95", "--adam-beta2 1.9", "OPT005"),
        (SCRIPT, "--bf16", "--bf16 --fp16", "MAP030"),
        (YAML, "use_legacy: False\n", "", "MAP062"),
    ],
)
def test_a_fix_is_found_that_leads_to_no_other_error(file: str, old: str, new: str, code: str) -> None:
    pair = equal_pair(ROOT / "examples" / "deepseek_v3" / SCRIPT, None, None)
    assert pair is not None
    texts, options = pair
    assert old in texts[file]
    outcome = outcome_of(Plant(old, code, {**texts, file: texts[file].replace(old, new, 1)}, (SCRIPT, YAML), options))
    assert not outcome.wrong
    (found,) = [entry for entry in outcome.findings if entry.kind.code == code]
    assert found.fixes
    # What only the other file can mend stays: the YAML cannot take a decay above 1.
    assert any(entry.kind.severity == "error" for entry in outcome.remaining) == (found.fix is None)


def test_a_fix_writes_lines_in_place_of_the_last_one_of_a_section() -> None:
    """Both meet at the end of that line."""
    pair = equal_pair(ROOT / "examples" / "deepseek_v3" / SCRIPT, None, None)
    assert pair is not None
    texts, options = pair
    before, _, rest = texts[YAML].partition("lr_schedule:\n")
    constant = "lr_schedule:\n  type: ConstantWarmUpLR\n  learning_rate: 1.0e-4\n  warmup_ratio: 0\n"
    changed = before + constant + rest[rest.index("\n# ") :]
    outcome = outcome_of(Plant("constant", "SCH051", {**texts, YAML: changed}, (SCRIPT, YAML), options))
    assert not outcome.wrong
    (style,) = [entry for entry in outcome.findings if entry.fields == ("schedule.style",)]
    assert style.fix is not None
    assert style.fix.edits[0].file == YAML


def check_slips(kind: str, most: int, least: int) -> None:
    outcomes = [outcome_of(plant, unsafe=False) for plant in safe_plants(most)[kind]]
    slips = {outcome.plant.name: outcome.plant.name.rpartition(" as ")[2] for outcome in outcomes}
    named = [one for one in outcomes if any(slips[one.plant.name] in entry.message() for entry in one.findings)]
    assert len(named) >= least
    for outcome in named:
        assert not outcome.wrong, (outcome.plant.name, outcome.wrong)
        safe = [entry for entry in outcome.findings if entry.fix is not None and entry.fix.applicability == "safe"]
        assert safe, outcome.plant.name
        assert all(slips[outcome.plant.name] not in text.split() for text in outcome.texts.values())


@pytest.mark.parametrize("kind", ["misspelt", "number", "alias"])
def test_some_slips_have_a_safe_fix(kind: str) -> None:
    check_slips(kind, 4, 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["misspelt", "number", "alias"])
def test_every_slip_that_can_mean_one_thing_has_a_safe_fix(kind: str) -> None:
    check_slips(kind, 60, 40)


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.parametrize(("version", "graph"), [("1.9", "static"), ("2.1", "dynamic")])
def test_the_real_framework_takes_what_is_fixed(version: str, graph: str, tmp_path: Path) -> None:
    pytest.importorskip("mindspore")
    if not (WHEELS / f"{version}.0").is_dir():
        pytest.skip(f"MindSpore Transformers {version} is not unpacked")
    shipped = [ROOT / "examples" / name / SCRIPT for name in SHIPPED]
    chosen = [
        plant
        for plant in value_plants(shipped, Random(SEED), 8)
        if (plant.options.mindformers, plant.options.dialect) == (version, graph)
    ]
    paths = loadable_yamls([outcome_of(plant) for plant in chosen], tmp_path)[version, graph]
    assert len(paths) >= 8
    answers = real_answers(paths, version, graph, tmp_path)
    assert not [(path.name, answer) for path, answer in zip(paths, answers, strict=True) if "refused" in answer]
