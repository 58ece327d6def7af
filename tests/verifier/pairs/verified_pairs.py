"""Runs both real models of a pair of `pairs.yaml`, and holds what was found against what its table expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pair_files import write_pair

from accmap.schemas.reader import read_config
from accmap.verifier.verdict.coverage import Findings
from accmap.verifier.verify import Options, verify

if TYPE_CHECKING:
    from pathlib import Path

    from accmap.verifier.verification import Verification
    from accmap.verifier.worker.processes import Workers


def verified(pair: dict[str, Any], folder: Path, workers: Workers, **options: Any) -> Verification:
    script, config = write_pair(pair, folder)
    return verify(read_config(str(script)), read_config(str(config)), Findings(), Options(**options), workers=workers)


def check(expected: dict[str, Any], found: Verification) -> None:
    assert found.verdict == expected["verdict"], (found.worst.disagreements(), found.failures)
    if "side" in expected:
        assert expected["side"] in found.failures
        assert found.failures[expected["side"]].kind == "error"
        told = found.to_json()["failures"][0]
        assert told["explanation"]
        assert expected["about"] in told["fields"]
    if "module" in expected:
        assert found.divergence is not None
        assert found.divergence.module == expected["module"]
    if "field" in expected:
        assert found.divergence is not None
        assert expected["field"] in found.divergence_fields, found.divergence
    if "initial" in expected:
        row = next(row for row in found.worst.initialisation if row.name == expected["initial"])
        assert (row.relative or 0) > 0.3
        assert row.note
