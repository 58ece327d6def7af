"""More error never makes the verdict on two dumps better, and less evidence makes it partial at best."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accmap.evidence.dump.compare import compare_trees
from accmap.evidence.dump.compare_verdict import coverage_gaps, part_of_dumps, verdict_of
from accmap.evidence.dump.records import Statistics, Tensor, Tree, Unit, find_places
from accmap.evidence.dump.statistics import Judge, compare_tensors
from accmap.evidence.dump.trees import read_tree
from accmap.schemas.diagnostic import UnreadableError

sys.path.insert(0, str(Path(__file__).parent))
from small_network import run

Random = np.random.Generator
ORDER = {"match": 0, "partial": 1, "undecided": 1, "unusable": 1, "diverged": 2}
FEW, MANY = 12, 1000
ELEMENTS = 0.15
"""The share of pairs that have elements: each takes twenty times as long as one of statistics."""


def read(root: Path) -> Tree:
    tree = read_tree(find_places(str(root))[0])
    return tree._replace(units=tuple(unit._replace(tensors=tuple(unit.tensors)) for unit in tree.units))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tree]:
    """One run as each framework and each task dumps it."""
    root = tmp_path_factory.mktemp("sound")
    names = [(framework, task) for framework in ("pytorch", "mindspore") for task in ("tensor", "statistics")]
    return {f"{one} {task}": read(run(root / f"{one}-{task}", one, task=task)) for one, task in names}


def verdict(a: Tree, b: Tree) -> str:
    try:
        part = part_of_dumps(compare_trees(a, b), tree=False)
    except UnreadableError:
        return "unusable"
    return verdict_of([part], None, coverage_gaps([part], None, ()))


class Spoiler:
    """Changes a dump step by step: errors that grow, and evidence that goes."""

    def __init__(self, tree: Tree, random: Random, folder: Path) -> None:
        self.tree = tree
        self._random = random
        self._folder = folder
        self._errors: dict[tuple[str, str], Any] = {}
        self._sound = {(unit.name, tensor.place): tensor for unit in tree.units for tensor in unit.tensors}

    def worse(self) -> str:
        """A larger error, or one in another place."""
        known = [key for key in self._errors if self._find(key) is not None]
        if known and self._random.random() < 0.5:
            key = known[self._random.integers(len(known))]
            self._errors[key] = self._errors[key] * self._random.uniform(1.5, 8)
        else:
            units = [unit for unit in self.tree.units if self._numbers(unit)]
            unit = units[self._random.integers(len(units))]
            tensors = self._numbers(unit)
            key = unit.name, tensors[self._random.integers(len(tensors))].place
            if key not in self._errors:
                self._errors[key] = 10.0 ** self._random.uniform(-6, 1)
        self._put(key, self._spoilt(key))
        return f"{self._errors[key]:.2g} in {'.'.join(key)}"

    def less(self) -> str:
        """A unit, a tensor, its elements or one of its statistics is not there any more."""
        unit = self.tree.units[self._random.integers(len(self.tree.units))]
        what = self._random.choice(["unit", "tensor", "statistic", "elements", "nan"])
        tensors = self._numbers(unit)
        if what == "unit" or not tensors:
            self.tree = self.tree._replace(units=tuple(one for one in self.tree.units if one.name != unit.name))
            return f"without {unit.name}"
        tensor = tensors[self._random.integers(len(tensors))]
        key = unit.name, tensor.place
        if what == "tensor":
            self._put(key, None)
        elif what == "elements":
            self._put(key, tensor._replace(path=None))
        elif what == "statistic" and tensor.path is None:
            gone = self._random.choice(Statistics._fields[:4])
            self._put(key, tensor._replace(statistics=tensor.statistics._replace(**{str(gone): None})))
        else:
            self._put(key, tensor._replace(path=None, statistics=Statistics()))
        return f"without the {what} of {'.'.join(key)}"

    def _numbers(self, unit: Unit) -> list[Tensor]:
        return [one for one in unit.tensors if one.dtype == "float32"]

    def _find(self, key: tuple[str, str]) -> Tensor | None:
        for unit in self.tree.units:
            if unit.name == key[0]:
                return next((one for one in unit.tensors if one.place == key[1]), None)
        return None

    def _spoilt(self, key: tuple[str, str]) -> Tensor:
        tensor, error = self._sound[key], self._errors[key]
        now = self._find(key) or tensor
        known = tensor.statistics
        moved = {
            name: None if value is None else value * (1 + error)
            for name, value in known._asdict().items()
            if name != "checksum"
        }
        told = [name for name, value in now.statistics._asdict().items() if value is None]
        statistics = Statistics(**moved)._replace(**dict.fromkeys(told))
        if now.path is None or tensor.path is None:
            return now._replace(statistics=statistics)
        from accmap.evidence.arrays import read_tensor

        path = self._folder / f"{len(list(self._folder.iterdir()))}.npy"
        np.save(path, (np.asarray(read_tensor(tensor.path)) * (1 + error)).astype(np.float32))
        return now._replace(path=str(path), statistics=statistics)

    def _put(self, key: tuple[str, str], tensor: Tensor | None) -> None:
        units: list[Unit] = []
        for unit in self.tree.units:
            if unit.name == key[0]:
                kept = [tensor if one.place == key[1] else one for one in unit.tensors]
                unit = unit._replace(tensors=tuple(one for one in kept if one is not None))
            units.append(unit)
        self.tree = self.tree._replace(units=tuple(units))


def violations(sound: dict[str, Tree], count: int, seed: int, folder: Path) -> list[str]:
    """Pairs of dumps that get worse step by step, whose verdicts do not."""
    found: list[str] = []
    for number in range(count):
        random = np.random.default_rng((seed, number))
        task = "tensor" if random.random() < ELEMENTS else "statistics"
        one, other = (f"{random.choice(['pytorch', 'mindspore'])} {task}" for _ in "ab")
        a, b = sound[one], Spoiler(sound[other], random, folder)
        told = [verdict(a, b.tree)]
        if told != ["match"]:
            found.append(f"{number}: two equal dumps: {told}")
        steps: list[str] = []
        for _ in range(5):
            gone = random.random() < 0.4
            steps.append(b.less() if gone else b.worse())
            told.append(verdict(a, b.tree))
            best = min(ORDER[told[-2]], ORDER["partial"]) if gone else ORDER[told[-2]]
            if ORDER[told[-1]] < best:
                found.append(f"{number}: {one}: {told} after {steps}")
        if ORDER[verdict(b.tree, a)] != ORDER[told[-1]]:
            found.append(f"{number}: {one}: {told[-1]}, and {verdict(b.tree, a)} with the sides swapped, after {steps}")
        for path in folder.iterdir():
            path.unlink()
    return found


def test_more_error_or_less_evidence_is_not_better(sound: dict[str, Tree], tmp_path: Path) -> None:
    assert violations(sound, FEW, 1, tmp_path) == []


@pytest.mark.slow
def test_more_error_or_less_evidence_is_not_better_in_a_thousand_pairs(sound: dict[str, Tree], tmp_path: Path) -> None:
    assert violations(sound, MANY, 2, tmp_path) == []


@pytest.mark.parametrize(
    ("sound", "less", "more"),
    [
        # Of bfloat16, four tolerances are 12% of the largest element that both have.
        ((1.0, -1.1, 0.0, 10.0), (1.14, -1.1, 0.0, 10.0), (1.14, -1.2, 0.0, 10.0)),
        # The mean may be 3% of the root mean square; a larger norm makes none of it.
        ((3.0, -3.0, 0.0, 10.0), (3.0, -3.0, 0.0305, 10.0), (3.0, -3.0, 0.0305, 10.29)),
    ],
)
def test_a_further_statistic_that_is_off_hides_none(
    sound: tuple[float, ...], less: tuple[float, ...], more: tuple[float, ...]
) -> None:
    tensors = [Tensor("output.0", "output", "bfloat16", (10, 10), Statistics(*known)) for known in (sound, less, more)]
    for other in tensors[1:]:
        assert compare_tensors(tensors[0], other, Judge()).agrees is False
        assert compare_tensors(other, tensors[0], Judge()).agrees is False


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("name", ["decoder.layers.1.TransformerLayer", "decoder.final_layernorm.RMSNorm"])
def test_a_result_that_other_layers_have_is_named(sound: dict[str, Tree], name: str, own: bool) -> None:
    a, b = sound["pytorch statistics"], sound[f"{'pytorch' if own else 'mindspore'} statistics"]
    units = [
        unit._replace(tensors=tuple(one for one in unit.tensors if one.place != "output.0"))
        if unit.name == f"Module.{name}.backward.0"
        else unit
        for unit in a.units
    ]
    assert verdict(a, b) == "match"
    assert verdict(a._replace(units=tuple(units)), b) == "partial"
