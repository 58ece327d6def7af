"""`--branch`: what a user says of conditions that reading cannot decide, and what else decides how a script is read."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.argument_parser import UsageError, branches_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Answer

SCRIPT = "LR=1\nif [ -f there ]; then LR=2; fi\ntorchrun pretrain_gpt.py --num-layers 2 --lr $LR\n"
SWEEP = "for LR in 1e-4 3e-4; do torchrun pretrain_gpt.py --num-layers 2 --lr $LR --bf16; done\n"


def shown(accmap: Callable[..., Answer], *words: str, script: str = SCRIPT) -> dict[str, Any]:
    answer = accmap("show", "run.sh", "--format", "json", *words, files={"run.sh": script})
    assert answer.code in (0, 1), answer.err
    return json.loads(answer.out)


def rate(found: dict[str, Any]) -> object:
    return next(value["value"] for value in found["values"] if value["key"] == "lr")


@pytest.mark.parametrize(("answer", "wanted"), [("2=yes", 2.0), ("2=no", 1.0), ("run.sh:2=yes", 2.0)])
def test_a_condition_is_settled(accmap: Callable[..., Answer], answer: str, wanted: float) -> None:
    found = shown(accmap, "--branch", answer)
    assert rate(found) == wanted
    assert not found["unresolved"]


def test_the_reason_names_what_decides(accmap: Callable[..., Answer]) -> None:
    found = shown(accmap)
    assert rate(found) is None
    assert "--branch 2=yes" in found["unresolved"][0]["reason"]
    messages = [problem["message"] for problem in found["problems"] if problem["code"] == "MAP009"]
    assert "--branch 2=yes" in messages[0]
    assert "--var" not in messages[0]


def test_a_variable_decides_where_the_condition_asks_for_one(accmap: Callable[..., Answer]) -> None:
    script = '[ -z "$TP" ] && TP=4\ntorchrun pretrain_gpt.py --num-layers 2 --tensor-model-parallel-size $TP\n'
    assert "--var TP=VALUE" in shown(accmap, script=script)["unresolved"][0]["reason"]
    assert not shown(accmap, "--var", "TP=2", script=script)["unresolved"]


@pytest.mark.parametrize(
    "bad", ["2=maybe", "x=yes", "=yes", "2", "0=no", "²=yes", ":2=yes", "9" * 40 + "=yes", "-1=yes"]
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_no_answer(accmap: Callable[..., Answer], bad: str, language: str) -> None:
    answer = accmap("show", "run.sh", "--lang", language, f"--branch={bad}", files={"run.sh": SCRIPT})
    assert answer.code == 2
    assert "--branch" in answer.err
    assert "Traceback" not in answer.err


def test_both_answers() -> None:
    assert branches_of(["3=yes", "3=yes", "a.sh:4=no"]) == {"3": True, "a.sh:4": False}
    with pytest.raises(UsageError, match="both"):
        branches_of(["3=yes", "3=no"])


def test_a_line_that_asks_nothing_is_said(accmap: Callable[..., Answer]) -> None:
    found = shown(accmap, "--branch", "1=yes")
    (said,) = [problem for problem in found["problems"] if problem["code"] == "SYN037"]
    assert "line 1 has no unknown condition. Lines with unknown conditions: 2." in said["message"]
    assert said["span"]["line"] == 1


def test_the_configuration_answers_by_file(accmap: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCMAP_CACHE_DIR", os.path.join(os.getcwd(), "cache"))
    files = {"jobs/run.sh": SCRIPT, "jobs/other.sh": SCRIPT}
    before = accmap("lint", "jobs/run.sh", "jobs/other.sh", "--format", "concise", files=files)
    assert before.out.count("MAP009") == 2
    files = {"accmap.toml": 'branch = ["jobs/run.sh:2=yes"]\n'}
    after = accmap("lint", "jobs/run.sh", "jobs/other.sh", "--format", "concise", files=files)
    assert [line.split(":")[0] for line in after.out.splitlines() if "MAP009" in line] == ["jobs/other.sh"]
    assert "SYN037" not in after.out
    wrong = accmap("lint", "jobs/run.sh", files={"accmap.toml": 'branch = ["2=perhaps"]\n'})
    assert wrong.code == 2
    assert "2=perhaps" in wrong.err


def test_the_rounds_of_a_sweep(accmap: Callable[..., Answer]) -> None:
    found = shown(accmap, script=SWEEP)
    assert found["launch"]["argv"][3] == "1e-4"
    assert [other["argv"][3] for other in found["other_launches"]] == ["3e-4"]
    assert [problem["code"] for problem in found["problems"]].count("SYN029") == 1
    assert rate(shown(accmap, "--launch", "2", script=SWEEP)) == 3e-4
    text = accmap("show", "run.sh").out
    assert "--lr 3e-4" in text


def test_a_pattern_s_names_are_part_of_what_is_remembered(
    accmap: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ACCMAP_CACHE_DIR", str(tmp_path / "cache"))
    script = "torchrun pretrain_gpt.py --num-layers 2 --data-path parts/*.bin\n"
    files = {"run.sh": script, "parts/a.bin": "-", "parts/b.bin": "-"}
    assert "MAP010" not in accmap("lint", "run.sh", "--format", "concise", files=files).out
    shown_names = shown(accmap, script=script)["launch"]["argv"]
    assert shown_names[3:] == ["parts/a.bin", "parts/b.bin"]
    os.unlink("parts/a.bin")
    os.unlink("parts/b.bin")
    after = accmap("lint", "run.sh", "--format", "concise").out
    assert "MAP009" in after or "MAP010" in after


def test_a_byte_order_mark_is_bash_s_first_word(accmap: Callable[..., Answer]) -> None:
    script = "\ufeffLAYERS=4\ntorchrun pretrain_gpt.py --num-layers ${LAYERS:-2}\n"
    found = shown(accmap, script=script)
    assert found["launch"]["argv"] == ["--num-layers", "2"]
    assert "SYN045" in [problem["code"] for problem in found["problems"]]
    plain = shown(accmap, script="\ufeff#!/bin/bash\nLAYERS=4\ntorchrun pretrain_gpt.py --num-layers ${LAYERS:-2}\n")
    assert plain["launch"]["argv"] == ["--num-layers", "4"]


def test_conditions_that_hide_the_start_are_named_and_settle_it(accmap: Callable[..., Answer]) -> None:
    # bash with nothing set starts python with these words: both conditions are false there
    script = (
        'APP="python pretrain_gpt.py --num-layers 2 --rank $R"\n'
        'if [[ $profile == a ]]; then APP+=" --x"; elif [[ $profile == b ]]; then APP="prof ${APP}"; fi\n${APP}\n'
    )
    answer = accmap("show", "run.sh", files={"run.sh": script})
    assert answer.code == 2
    assert "the conditions on lines 2 (profile is not set in the file; set it with `--var profile=VALUE`)" in answer.err
    assert "--branch" in answer.err
    assert shown(accmap, "--branch", "2=no", script=script)["launch"]["argv"][:2] == ["--num-layers", "2"]
