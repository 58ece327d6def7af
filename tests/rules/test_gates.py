"""When a field counts, and what is said where that depends on what cannot be read (`gates.yaml`), by lint and diff."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_cases import base_text, pair_of

from accmap.cli.lean import main
from accmap.schemas.compilers.tables import load_table

CASES: list[dict[str, Any]] = load_table((Path(__file__).parent / "gates.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["about"] for case in CASES])
def test_a_gate_that_is_not_known_is_not_closed(
    case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = pair_of(case, tmp_path)
    given = [str(files["megatron"]), str(files["mindformers"]), "--format", "json", *case.get("arguments", ())]
    main(["lint", *given, "--profile", "train", "--no-cache", "--no-config"])
    entries = [
        entry for entry in json.loads(capsys.readouterr().out)["diagnostics"] if entry["fields"] == [case["field"]]
    ]
    assert [entry["severity"] for entry in entries if not entry["code"].startswith("MAP")] == (
        [] if case["lint"] is None else [case["lint"]]
    )
    if case["counts"] is None:
        assert "depends on what cannot be read" in entries[0]["message"]
    main(["diff", *given])
    answer = json.loads(capsys.readouterr().out)
    row = next(row for row in answer["rows"] if row["field"] == case["field"])
    assert (row["status"], row.get("counts", True)) == (case["status"], case["counts"])
    assert (row["impact"] == "none") == (case["counts"] is False)


@pytest.mark.parametrize(("one", "other", "counted"), [("-1", "-2", False), ("-1", "32000", False), ("-1", "0", True)])
@pytest.mark.parametrize(("key", "field"), [("pad", "data.pad_token"), ("eod", "data.eod_token")])
def test_two_tokens_that_no_vocabulary_holds_are_one(
    key: str, field: str, one: str, other: str, counted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GPTDataset.__getitem__ looks for both among the tokens; what none of them is changes nothing."""
    text = base_text("qwen3_dense", "mindformers", "mindformers.yaml", None)
    text = text.replace("eod_mask_loss: False", "eod_mask_loss: True")
    given: list[str] = []
    for name, value in (("a", one), ("b", other)):
        given.append(str(tmp_path / f"{name}.yaml"))
        Path(given[-1]).write_text(re.sub(rf" {key}: .*", f" {key}: {value}", text), "utf-8")
    main(["diff", *given, "--format", "json"])
    row = next(row for row in json.loads(capsys.readouterr().out)["rows"] if row["field"] == field)
    assert row.get("counts", True) is counted


def test_a_gate_of_shared_experts_that_are_not_there_is_a_remark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MoELayer builds shared experts, and they their gate, only where a width is given."""
    norms = "    moe_router_dtype: float32\n"
    case = {"base": "qwen3_moe", "mindformers": {norms: norms + "    use_shared_expert_gating: True\n"}}
    files = pair_of(case, tmp_path)
    main(["lint", *map(str, files.values()), "--format", "json", "--profile", "train", "--no-cache", "--no-config"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert {entry["severity"] for entry in found if entry["fields"] == ["moe.shared.gate"]} == {"info"}
