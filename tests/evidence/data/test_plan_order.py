"""More difference between two runs' data never makes the verdict better, and less evidence makes it partial at best."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accmap.evidence.data import dataset
from accmap.evidence.data.check import check
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

sys.path.insert(0, str(Path(__file__).parent))
from data_writer import script, write_data, yaml

Random = np.random.Generator
ORDER = {"good": 0, "partial": 1, "undecided": 1, "bad": 2}
FEW, MANY = 12, 500
TYPES = (3, 4, 5, 8)
"""int16, int32, int64, uint16."""
DIFFERENCES = ("seed", "length", "split", "batch", "token", "document", "shorter")
REMOVALS = ("quick", "samples", "elsewhere")


class Run:
    """What one side asks for."""

    def __init__(self, name: str, prefix: Path, documents: list[list[int]], code: int) -> None:
        self.name = name
        self.prefix = prefix
        self.documents = [list(document) for document in documents]
        self.code = code
        self.settings: dict[str, Any] = {"seed": 1234, "length": 16, "split": "1,0,0", "batch": 4, "steps": 10}
        self.here = True

    def config(self) -> Config:
        write_data(self.prefix, self.documents, self.code)
        path = str(self.prefix) if self.here else "/nowhere/corpus"
        known = self.settings
        if self.name.endswith(".sh"):
            text = script(path, **known)
        else:
            samples = known["steps"] * known["batch"]
            text = yaml(f'"1", {path}', **{**known, "samples": samples, "split": known["split"].replace(",", ", ")})
            text = text.replace("batch_size: 4", f"batch_size: {known['batch']}")
        return config_of(SourceText(self.name, text), ReadOptions(), path=self.name)

    def worse(self, random: Random) -> str:
        """Another difference from the other side."""
        kind = str(random.choice(DIFFERENCES))
        at = int(random.integers(len(self.documents)))
        if kind == "token":
            self.documents[at][0] = 90 + (self.documents[at][0] + 1) % 9
        elif kind == "document":
            self.documents[at] = [90 + (token + 1) % 9 for token in self.documents[at]]
        elif kind == "shorter":
            self.settings["steps"] = max(1, self.settings["steps"] - int(random.integers(1, 5)))
        else:
            other = {"seed": 1235, "length": 8, "split": "8,1,1", "batch": 2}[kind]
            self.settings[kind] = other
        return kind


def verdict(a: Run, b: Run, *, quick: int | None = None, samples: int = 64) -> str:
    configs = [a.config(), b.config()]
    return check([], configs, dataset.CheckOptions(samples=samples, quick=quick)).verdict


def violations(count: int, seed: int, folder: Path) -> list[str]:
    """Pairs of runs that grow apart step by step, whose verdicts do not."""
    found: list[str] = []
    for number in range(count):
        random = np.random.default_rng((seed, number))
        sizes = random.integers(3, 60, 40)
        documents = [[*random.integers(1, 90, size).tolist(), 99] for size in sizes]
        names = ("a.sh", str(random.choice(["b.sh", "b.yaml"])))
        a, b = (
            Run(name, folder / name[0], documents, int(random.choice(TYPES))) for name in names
        )  # fmt: skip
        told, steps = [verdict(a, b)], ["the same"]
        if told != ["good"]:
            found.append(f"{number}: the same data as {a.code} and {b.code}: {told}")
        options: dict[str, int] = {}
        for _ in range(3):
            gone = random.random() < 0.3
            if gone:
                steps.append(str(random.choice(REMOVALS)))
                if steps[-1] == "elsewhere":
                    b.here = False
                else:
                    options[steps[-1]] = 3
            else:
                steps.append(b.worse(random))
            told.append(verdict(a, b, **options))
            best = min(ORDER[told[-2]], ORDER["partial"]) if gone else ORDER[told[-2]]
            if ORDER[told[-1]] < best:
                found.append(f"{number}: {names}: {told} after {steps}")
        if ORDER[swapped := verdict(b, a, **options)] != ORDER[told[-1]]:
            found.append(f"{number}: {names}: {told[-1]}, and {swapped} with the sides swapped, after {steps}")
    return found


def test_more_difference_or_less_evidence_is_not_better(tmp_path: Path) -> None:
    assert violations(FEW, 1, tmp_path) == []


@pytest.mark.slow
def test_more_difference_or_less_evidence_is_not_better_in_500_plans(tmp_path: Path) -> None:
    assert violations(MANY, 2, tmp_path) == []
