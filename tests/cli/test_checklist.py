"""The printed checklist: a line is ticked only by what the files say.

The rows are the guide's (`check.*`); what each pair of files says was decided by the recipes of both frameworks.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).parents[2] / "examples"
DENSE, EXPERTS = ("qwen3_dense", "deepseek_v3")


def states(accmap: Callable[..., Any], example: str, change: tuple[str, str] = ("", "")) -> dict[str, str]:
    files = {name: (EXAMPLES / example / name).read_text("utf-8") for name in ("megatron.sh", "mindformers.yaml")}
    files["megatron.sh"] = files["megatron.sh"].replace(*change)
    answer = accmap("lint", "megatron.sh", "mindformers.yaml", "--format", "csv", "--fail-on", "never", files=files)
    return {row["id"]: row["state"] for row in csv.DictReader(io.StringIO(answer.out))}


def test_rows_on_experts_do_not_apply_to_a_dense_model(accmap: Callable[..., Any]) -> None:
    dense, experts = (states(accmap, example) for example in (DENSE, EXPERTS))
    rows = [row for row in dense if row.startswith("check.moe.")]
    assert {dense[row] for row in rows} == {"not applicable"}
    assert experts["check.moe.expert_num"] == "passed"
    assert "not applicable" not in {experts[row] for row in rows}


@pytest.mark.parametrize(
    "row",
    ["check.other.data_check", "check.other.input_ids_check", "check.other.version_check"],
)
def test_what_no_file_decides_is_not_ticked(accmap: Callable[..., Any], row: str) -> None:
    assert states(accmap, DENSE)[row] == "undecided"


def test_another_implementation_says_nothing_of_overflows(accmap: Callable[..., Any]) -> None:
    local = ("--bf16", "--bf16 --transformer-impl local")
    assert states(accmap, DENSE, local)["check.other.overflow_detection"] == "undecided"


def test_a_difference_fails_its_row_alone(accmap: Callable[..., Any]) -> None:
    found = states(accmap, DENSE, ("--weight-decay 0.1", "--weight-decay 0.2"))
    assert found["check.optimizer.weight_decay"] == "failed"
    assert found["check.optimizer.eps"] == "passed"


def test_a_value_that_is_not_decided_passes_nothing(accmap: Callable[..., Any]) -> None:
    found = states(accmap, DENSE, ("--weight-decay 0.1", "--weight-decay $DECAY"))
    assert found["check.optimizer.weight_decay"] in ("undecided", "failed")


def test_the_page_tells_the_worst_first(accmap: Callable[..., Any]) -> None:
    files = [str(EXAMPLES / "planted" / name) for name in ("megatron.sh", "mindformers.yaml")]
    page = accmap("lint", *files, "--format", "markdown").out
    severities = re.findall(r"^\| (error|warning|info) \|", page, re.MULTILINE)
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    assert "MAP072" in next(line for line in page.splitlines() if line.startswith("| error"))
    assert "--remarks" not in page


def test_the_page_ticks_only_what_passed(accmap: Callable[..., Any]) -> None:
    files = [str(EXAMPLES / DENSE / name) for name in ("megatron.sh", "mindformers.yaml")]
    page = accmap("lint", *files, "--format", "markdown", "--fail-on", "never").out
    rows = [line.split(" | ") for line in page.splitlines() if "`check." in line]
    assert len(rows) == 51
    for box, _, _, state, *_ in rows:
        assert (box == "| [x]") == (state == "passed")
        assert (box == "| –") == (state == "not applicable")
