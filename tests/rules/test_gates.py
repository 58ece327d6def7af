"""Two tokens that no vocabulary holds are one, for `accmap diff` of two YAMLs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from test_cases import base_text

from accmap.cli.lean import main


@pytest.mark.parametrize(("one", "other", "counted"), [("-1", "-2", False), ("-1", "32000", False), ("-1", "0", True)])
@pytest.mark.parametrize(("key", "field"), [("pad", "data.pad_token"), ("eod", "data.eod_token")])
def test_two_tokens_that_no_vocabulary_holds_are_one(
    key: str, field: str, one: str, other: str, counted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GPTDataset.__getitem__ looks for both among the tokens; what none of them is changes nothing."""
    text = base_text("qwen3_dense", "mindformers", None)
    text = text.replace("eod_mask_loss: False", "eod_mask_loss: True")
    given: list[str] = []
    for name, value in (("a", one), ("b", other)):
        given.append(str(tmp_path / f"{name}.yaml"))
        Path(given[-1]).write_text(re.sub(rf" {key}: .*", f" {key}: {value}", text), "utf-8")
    main(["diff", *given, "--format", "json"])
    row = next(row for row in json.loads(capsys.readouterr().out)["rows"] if row["field"] == field)
    assert row.get("counts", True) is counted
