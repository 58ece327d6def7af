"""What is said of many files stands in the files' own order, in however many processes they are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from accmap.cli.lean import main

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 32 --num-attention-heads 4 --adam-beta2 $BETA\n"
FILES = {
    "a.sh": SCRIPT,
    "b.yaml": "context: [\n",
    "c.sh": SCRIPT,
    "e.sh": "",
    "f.sh": "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 33 --num-attention-heads 4\n",
}


@pytest.mark.parametrize("form", ["json", "concise"])
def test_one_process_and_two_say_the_same_in_the_same_order(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: list[str] = []
    for folder in "pqrs":  # as many as make a process read several of them ahead
        (tmp_path / folder).mkdir()
        for name, text in FILES.items():
            (tmp_path / folder / name).write_text(text, "utf-8")
        names += [f"{folder}/{name}" for name in sorted([*FILES, "d.sh"])]  # which is not there
    answers: list[str] = []
    for jobs in ("1", "2"):
        main(["lint", *names, "--jobs", jobs, "--format", form])
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]
    if form == "json":
        told = [one["file"] for one in json.loads(answers[0])["diagnostics"]]
        assert list(dict.fromkeys(told)) == names
    else:
        told = [line.partition(":")[0] for line in answers[0].splitlines() if line[1:2] == "/"]
    assert {"p/c.sh", "q/d.sh", "s/e.sh"} <= set(told)
    assert told == sorted(told)
