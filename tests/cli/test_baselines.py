"""A baseline accepts the findings of the files that it was written for, wherever they are moved, and of no others."""

from __future__ import annotations

import json
import os
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

HEAD = "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 \\\n"
FAULTY = HEAD + "  --no-such-flag 3 \\\n  --seq-length 64\n"
MENDED = HEAD + "  --seq-length 64\n"
LINT = ("lint", "--megatron", "0.12", "--select", "MAP002", "--format", "json", "--no-cache")
OLD = json.dumps(
    {"version": 1, "findings": [{"fingerprint": "MAP002||run.sh:--no-such-flag 3 \\", "count": 1}]}, indent=1
)
"""As accmap 0.1.0 wrote it before paths were part of a fingerprint."""


def reported(accmap: Any, *words: str, files: dict[str, str] | None = None) -> list[str]:
    answer = accmap(*LINT, *words, files=files)
    assert answer.code in (0, 1), answer.err
    return [entry["file"] for entry in json.loads(answer.out)["diagnostics"] if entry["code"] == "MAP002"]


def accept(accmap: Any, files: dict[str, str]) -> None:
    assert accmap(*LINT, *files, "--write-baseline", "known.json", files=files).code == 0


def test_what_is_accepted_in_one_folder_is_not_in_another(accmap: Any) -> None:
    accept(accmap, {"a/run.sh": FAULTY, "b/run.sh": MENDED})
    known = ("a/run.sh", "b/run.sh", "--baseline", "known.json")
    assert reported(accmap, *known) == []
    assert reported(accmap, *known, files={"a/run.sh": MENDED, "b/run.sh": FAULTY}) == ["b/run.sh"]
    assert reported(accmap, *known, files={"a/run.sh": FAULTY}) == ["b/run.sh"]
    assert reported(accmap, "b/run.sh", "--baseline", "known.json") == ["b/run.sh"]


def test_it_is_the_same_from_any_folder(accmap: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    accept(accmap, {"a/run.sh": FAULTY, "b/run.sh": MENDED})
    (tmp_path / "b" / "run.sh").write_text(FAULTY, "utf-8")
    monkeypatch.chdir(tmp_path / "a")
    assert reported(accmap, "run.sh", "../b/run.sh", "--baseline", "../known.json") == ["../b/run.sh"]
    assert reported(accmap, str(tmp_path / "a" / "run.sh"), "--baseline", str(tmp_path / "known.json")) == []


MOVES: list[tuple[list[str], list[str], list[str]]] = [
    (["a/run.sh"], ["c/run.sh"], []),
    (["a/run.sh"], ["run.sh"], []),
    # Two may be the moved one, or two are gone.
    (["a/run.sh"], ["c/run.sh", "d/run.sh"], ["c/run.sh", "d/run.sh"]),
    (["a/run.sh", "b/run.sh"], ["c/run.sh"], ["c/run.sh"]),
    # Another name is another file.
    (["a/run.sh"], ["a/start.sh"], ["a/start.sh"]),
]


@pytest.mark.parametrize(("gone", "new", "expected"), MOVES)
def test_a_file_that_was_moved_keeps_its_findings_if_that_is_certain(
    accmap: Any, gone: list[str], new: list[str], expected: list[str]
) -> None:
    accept(accmap, {"a/run.sh": FAULTY, "b/run.sh": FAULTY})
    for name in gone:
        os.unlink(name)
    assert reported(accmap, *new, "--baseline", "known.json", files=dict.fromkeys(new, FAULTY)) == expected


def test_a_copy_is_not_a_move(accmap: Any) -> None:
    accept(accmap, {"a/run.sh": FAULTY})
    assert reported(accmap, "c/run.sh", "--baseline", "known.json", files={"c/run.sh": FAULTY}) == ["c/run.sh"]


def test_a_baseline_of_version_1_still_works(accmap: Any) -> None:
    files = {"a/run.sh": FAULTY, "old.json": OLD}
    assert reported(accmap, "a/run.sh", files=files) == ["a/run.sh"]
    assert reported(accmap, "a/run.sh", "--baseline", "old.json") == []
    assert reported(accmap, "a/run.sh", "--baseline", "old.json", files={"a/run.sh": FAULTY.replace("3", "4")})
    assert accmap(*LINT, "a/run.sh", "--write-baseline", "old.json").code == 0
    assert json.loads(Path("old.json").read_text("utf-8"))["version"] == 2


BEFORE = Path(__file__).parent / "written_before"


def test_what_the_version_before_has_written_is_still_accepted(accmap, tmp_path: Path, monkeypatch: Any) -> None:
    """A baseline, comments and accepted losses of 2026-11-28 leave the pair without a finding and without a loss."""
    copytree(BEFORE, tmp_path / "before")
    monkeypatch.chdir(tmp_path / "before")
    pair = ("megatron.sh", "mindformers.yaml")
    for answer in (
        accmap("lint", *pair, "--no-cache"),
        accmap("lint", *(f"ignored/{name}" for name in pair), "--no-cache", "--no-config"),
    ):
        assert answer.code == 0
        assert "0 errors, 0 warnings, 0 pieces of advice, 46 suppressed in 2 files (1 pair; " in answer.out
    # The frameworks draw other weights, which was no loss then.
    assert accmap("convert", "megatron.sh", "-o", "new.yaml", "--accept-loss", "init.std").code == 0
    assert accmap("convert", "megatron.sh", "-o", "other.yaml", "--strict").code == 1
    changed = (tmp_path / "before" / "ignored" / "mindformers.yaml").read_text("utf-8")
    (tmp_path / "before" / "ignored" / "mindformers.yaml").write_text(
        changed.replace("hidden_size: ", "hidden_size: 1")
    )
    assert accmap("lint", *(f"ignored/{name}" for name in pair), "--no-cache", "--no-config").code == 1
