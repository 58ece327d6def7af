"""When a field counts, and what is said where that depends on what cannot be read (`gates.yaml`), by lint and diff."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_cases import pair_of

from accmap.cli.lean import main
from accmap.schemas.house_yaml import house_yaml

CASES: list[dict[str, Any]] = house_yaml((Path(__file__).parent / "gates.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["about"] for case in CASES])
def test_a_gate_that_is_not_known_is_not_closed(
    case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = pair_of(case, tmp_path)
    given = [str(files["megatron"]), str(files["mindformers"]), "--format", "json"]
    main(["lint", *given, "--profile", "train", "--no-cache", "--no-config"])
    entries = [
        entry for entry in json.loads(capsys.readouterr().out)["diagnostics"] if entry["fields"] == [case["field"]]
    ]
    assert [entry["severity"] for entry in entries if not entry["code"].startswith("MAP")] == [case["lint"]]
    if case["counts"] is None:
        assert "depends on what cannot be read" in entries[0]["message"]
    main(["diff", *given])
    answer = json.loads(capsys.readouterr().out)
    row = next(row for row in answer["rows"] if row["field"] == case["field"])
    assert (row["status"], row.get("counts", True)) == (case["status"], case["counts"])
    assert (row["impact"] == "none") == (case["counts"] is False)
