"""The program that converts and verifies many launches: what it takes for an answer, and that it goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "pairs"))

import verify_recipes
from pair_files import write_pair

from accmap.verifier.installations import missing_modules

if TYPE_CHECKING:
    from collections.abc import Sequence

BERT = "torchrun pretrain_bert.py --num-layers 2 --hidden-size 64 --num-attention-heads 4\n"
REFUSED = (
    "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --tensor-model-parallel-size 3\n"
)


def run(folder: Path, *words: str, files: Sequence[Path] = ()) -> int:
    names = [str(file) for file in files]
    return verify_recipes.main(["--journal", str(folder / "journal"), "--pair", "0.12x1.9", *words, *names])


def entries(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "journal" / "0.12x1.9.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_what_is_known_is_not_asked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bert.sh").write_text(BERT, "utf-8")
    (tmp_path / "refused.sh").write_text(REFUSED, "utf-8")
    files = (tmp_path / "bert.sh", tmp_path / "refused.sh")
    assert run(tmp_path, "--way", "plain", files=files[:1]) == 0
    assert run(tmp_path, "--way", "plain", files=files) == 0
    assert [entry["verdict"] for entry in entries(tmp_path)] == ["no-gpt", "refused"]
    assert "cannot start" in entries(tmp_path)[1]["reasons"][0]
    assert "0.12x1.9 plain: 2: 1 no-gpt, 1 refused" in capsys.readouterr().out


def test_an_error_of_accmaps_own_fails_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_given: Any, **_named: Any) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(verify_recipes, "convert", broken)
    script, _ = write_pair({"family": "dense"}, tmp_path)
    assert run(tmp_path, "--way", "plain", files=[script]) == 1
    assert "failed 1 × ValueError: no such thing" in capsys.readouterr().out


def test_no_launch_is_begun_after_the_time(tmp_path: Path) -> None:
    script, _ = write_pair({"family": "dense"}, tmp_path)
    assert run(tmp_path, "--seconds", "1e-9", files=[script]) == 0
    assert entries(tmp_path) == []


def test_a_pair_without_recipes_here_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACCMAP_MEGATRON_TREES", str(tmp_path))
    assert run(tmp_path) == 0
    assert "no recipes here" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(
    bool(missing_modules("megatron") or missing_modules("mindformers")), reason="the frameworks are not installed"
)
def test_a_launch_goes_both_ways(tmp_path: Path) -> None:
    # Data that are made up have no equal on the other side, which leaves a launch as it is `partial`.
    named = {"mock-data": None, "data-path": "/data/corpus_text_document"}
    script, _ = write_pair({"family": "dense", "megatron": named}, tmp_path)
    assert run(tmp_path, files=[script]) == 0
    assert [(entry["way"], entry["verdict"]) for entry in entries(tmp_path)] == [
        ("plain", "match"),
        ("aligned", "match"),
    ]
