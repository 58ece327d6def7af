"""Both real models from pairs with one planted fault: it is found, and its module and field are named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from accmap.verifier.installations import missing_modules

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import TABLE
from verified_pairs import check, verified

if TYPE_CHECKING:
    from accmap.verifier.worker.processes import Workers

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(
        bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
    ),
]
FAMILIES = list(TABLE["families"])
SPREAD = [
    (name, FAMILIES[(at + step) % len(FAMILIES)])
    for at, name in enumerate(TABLE["everywhere"])
    for step in range(0, len(FAMILIES), 3)
]
"""Each of the faults that any model can have in every third family, begun with another one each."""


@pytest.mark.parametrize("name", TABLE["faults"])
def test_planted_faults_are_found(name: str, tmp_path: Path, workers: Workers) -> None:
    pair = TABLE["faults"][name]
    found = verified(pair, tmp_path, workers)
    check({"verdict": "mismatch", **pair["expect"]}, found)
    assert pair["expect"]["field"] in [entry.field for entry in found.differing]


@pytest.mark.table(2)
@pytest.mark.parametrize(("name", "family"), SPREAD)
def test_a_fault_is_found_in_every_family(name: str, family: str, tmp_path: Path, workers: Workers) -> None:
    pair = {**TABLE["everywhere"][name], "family": family}
    found = verified(pair, tmp_path, workers)
    check({"verdict": "mismatch", **pair["expect"]}, found)
    assert pair["expect"]["field"] in [entry.field for entry in found.differing]
