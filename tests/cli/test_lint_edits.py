"""The edits that `accmap lint` shows and offers: their lines, their places, both directions."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest

from accmap.cli.lean import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPT, YAML = "planted/megatron.sh", "planted/mindformers.yaml"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the faulty pair."""
    copytree(EXAMPLES / "planted", tmp_path / "planted")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def block_of(code: str, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The lines of one finding."""
    main(["lint", "--no-cache", *words, "--all"])
    blocks = capsys.readouterr().out.split("\n\n")
    return next(block for block in blocks if f"[{code}]" in block) + "\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (
            "OPT006",
            "    - weight_decay: 0.01\n    + weight_decay: 0.1   planted/mindformers.yaml:21\n",
        ),
        (
            "MAP056",
            "    - num_experts_chosen: 4\n    + num_experts_per_tok: 4   planted/mindformers.yaml:123\n",
        ),
        ("NET009", "    + rope_theta: 1000000.0   planted/mindformers.yaml:132\n"),
        ("MOE015", "    + norm_topk_prob: True   planted/mindformers.yaml:132\n"),
    ],
)
def test_an_edit_is_shown_at_its_place(capsys: pytest.CaptureFixture[str], code: str, lines: str) -> None:
    assert lines in block_of(code, capsys, SCRIPT, YAML)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("code", ["OPT013", "NET009", "MOE015"])
def test_a_missing_key_quotes_no_line_of_another_key(capsys: pytest.CaptureFixture[str], code: str) -> None:
    assert "moe_grouped_gemm" not in block_of(code, capsys, SCRIPT, YAML)
