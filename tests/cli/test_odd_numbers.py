"""Numbers that no run could use, infinite, negative or of four hundred digits: every command answers in a sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from accmap.cli.lean import main

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MANY_DIGITS = "1" + "0" * 400


@pytest.mark.table(3)
@pytest.mark.parametrize(
    ("key", "value", "example"),
    [
        ("warmup_steps", ".inf", "qwen3_dense"),
        ("warmup_steps", ".nan", "qwen3_dense"),
        ("total_steps", ".inf", "qwen3_dense"),
        ("epochs", "-1", "qwen3_dense"),
        ("epochs", MANY_DIGITS, "qwen3_dense"),
        ("sizes", "[.inf]", "qwen3_dense"),
        ("eps", MANY_DIGITS, "qwen3_dense"),
        ("learning_rate", MANY_DIGITS, "qwen3_dense"),
        ("weight_decay", MANY_DIGITS, "qwen3_dense"),
        ("scale_sense", MANY_DIGITS, "qwen3_dense"),
        ("max_grad_norm", MANY_DIGITS, "qwen3_dense"),
        ("num_hidden_layers", MANY_DIGITS, "qwen3_moe"),
        ("moe_aux_loss_coeff", MANY_DIGITS, "qwen3_moe"),
        ("mscale", MANY_DIGITS, "deepseek_v3"),
    ],
)
def test_a_number_that_no_run_could_use(
    key: str, value: str, example: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = EXAMPLES / example
    text, changed = re.subn(
        rf"(?m)^(\s*{key}:) .*$", lambda found: f"{found[1]} {value}", (folder / "mindformers.yaml").read_text("utf-8")
    )
    assert changed
    path = tmp_path / "train.yaml"
    path.write_text(text, "utf-8")
    script = str(folder / "megatron.sh")
    commands: Sequence[Sequence[str]] = (
        ("lint", "--no-cache", script, str(path)),
        ("recipe", str(path)),
        ("convert", str(path), "-o", str(tmp_path / "out.sh")),
        ("lr", str(path)),
    )
    for words in commands:
        assert main(words) in (0, 1, 2), words
        assert "Traceback" not in capfd.readouterr().err
