"""Faults planted into equal pairs of every kind but one of each framework: two scripts, two YAMLs, a model and a YAML.

A fault changes one value that the run's numbers may depend on. It counts as found if an error or a warning is there
that was not there before. Harmless edits change the text, or what no number depends on: they raise neither.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import planting
import pytest
import yaml

from accmap.cli.lean import main
from accmap.cli.linting.linter import lint
from accmap.cli.linting.settings import Reader
from accmap.mapper.differences import difference_of
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.mapper.translate.model_file import model_file
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = ("qwen3_dense", "qwen3_moe", "deepseek_v3")
CASES = yaml.safe_load((Path(__file__).parent / "harmless_edits.yaml").read_text("utf-8"))
KINDS = ("scripts", "graphs", "model")
SEED, DRAWN = 43, 20
SETTINGS = planting.SETTINGS._replace(pairs_alike=True, named_in_order=True)
ABSENT = {".sh": ("MindSpore Transformers", "MindFormers"), ".yaml": ("Megatron-LM",)}
"""The framework that no side of a pair is, by the ending of both its files."""


def example(name: str, file: str) -> str:
    return (EXAMPLES / name / file).read_text("utf-8")


@cache
def pair_of(kind: str, name: str) -> dict[str, str]:
    """The texts of an equal pair, by their files."""
    script, static = example(name, "megatron.sh"), example(name, "mindformers.yaml")
    if kind == "scripts":
        return {"gpu.sh": script, "npu.sh": script}
    source = EXAMPLES / name / "mindformers.yaml"
    if kind == "model":
        made = model_file(config_of(SourceText("static.yaml", static), ReadOptions(), path="static.yaml"))
        return {"config.json": json.dumps(made.keys, indent=2), "static.yaml": static}
    with TemporaryDirectory() as folder:
        target = Path(folder) / "dynamic.yaml"
        main(["convert", str(source), "--to", "mindformers", "--mindformers", "2.1", "-o", str(target)])
        return {"static.yaml": static, "dynamic.yaml": target.read_text("utf-8")}


def loud(texts: dict[str, str]) -> set[str]:
    """The errors and warnings about a pair; a file that cannot be read is one."""
    reader = Reader(None, {name: SourceText(name, text) for name, text in texts.items()})
    report = lint(SETTINGS, tuple(texts), reader)
    assert len(report.pairs) == 1 or report.unreadable, texts.keys()
    endings = {Path(name).suffix for name in texts}
    absent = ABSENT[endings.pop()] if len(endings) == 1 else ()
    messages = [one.message() for one in report.diagnostics]
    assert not [one for one in messages if any(name in one for name in absent)]
    return {f"{one.kind.code} {one.message()}" for one in report.diagnostics if one.kind.severity != "info"}


def changed_numbers(before: str, after: str, file: str) -> set[str]:
    """The fields by which a run's numbers change, as the tables have it that were proved by the real models."""
    try:
        one, other = (planting.sides_of({file: text})[file].recipe for text in (before, after))
    except UnreadableError:
        return set()
    rows = (difference_of(name, one, other) for name in vocabulary() if not name.startswith("computed."))
    wrong = ("different", "only-a", "only-b")
    return {
        str(row.field)
        for row in rows
        if row is not None and row.status in wrong and row.impact == "numerics" and row.counts
    }


def model_faults(text: str) -> Iterator[planting.Fault]:
    """Other numbers and switches in a model's own file."""
    keys = json.loads(text)
    for key, value in keys.items():
        changed = planting.other_value(str(value), value)
        if changed is not None and not isinstance(value, str):
            new = json.dumps({**keys, key: yaml.safe_load(changed)}, indent=2)
            yield planting.Fault(f"change {key} {value} -> {changed}", "config.json", new, range(1, 1000))


def faults_in(file: str, text: str, plant: int) -> list[planting.Fault]:
    if file == "config.json":
        return list(model_faults(text))
    side = planting.sides_of({file: text})[file]
    kinds = (
        (planting.script_faults,) if side.framework == "megatron" else (planting.yaml_faults, planting.renamed_faults)
    )
    return list(kinds[plant % len(kinds)](file, SourceText(file, text), side))


def drawn_faults(kind: str, random: Random) -> Iterator[tuple[str, planting.Fault]]:
    """Faults that change a number, each with the example that it is planted in."""
    while True:
        name = random.choice(NAMES)
        texts = pair_of(kind, name)
        file = random.choice(sorted(texts))
        faults = faults_in(file, texts[file], random.randrange(6))
        if not faults:
            continue
        fault = random.choice(faults)
        fields = changed_numbers(texts[file], fault.text, file)
        if kind == "model":  # what the model's own file says nothing of is the run's alone
            model = planting.sides_of({"config.json": texts["config.json"]})["config.json"]
            fields &= {str(one) for one in model.recipe.fields}
            fields = {
                one
                for one in fields
                if not one.startswith(("init.", "mtp.", "model.hidden_dropout", "attention.dropout"))
            }
        if fields:
            yield name, fault


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_faults_are_found(kind: str, record_property: pytest.FixtureRequest) -> None:
    missed: list[str] = []
    draws = drawn_faults(kind, Random(SEED))
    for _ in range(DRAWN):
        name, fault = next(draws)
        texts = pair_of(kind, name)
        if not loud({**texts, fault.file: fault.text}) - loud(texts):
            missed.append(f"{name} {fault.file}: {fault.what}")
    print(f"{kind}: {DRAWN - len(missed)} of {DRAWN} found")
    assert len(missed) <= 1, missed


def edited(text: str, edit: dict[str, str]) -> str | None:
    """The text after an edit; None if it has no such place."""
    return text.replace(edit["old"], edit["new"], 1) if edit["old"] in text else None


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_harmless_edits_raise_no_alarm(kind: str) -> None:
    alarms: list[str] = []
    tried = 0
    for name in NAMES:
        texts = pair_of(kind, name)
        known = loud(texts)
        for file in texts:
            for edit in CASES[file.rpartition(".")[2]]:
                new = edited(texts[file], edit)
                if new is not None:
                    tried += 1
                    told = loud({**texts, file: new}) - known
                    alarms += [f"{name} {file}: {edit} {one}" for one in told]
    assert tried >= DRAWN, tried
    print(f"{kind}: {len(alarms)} alarms of {tried} harmless edits")
    assert not alarms
