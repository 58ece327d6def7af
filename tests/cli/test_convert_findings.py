"""What `accmap convert` says of the source itself, of versions that it cannot write, and of keys with one reason."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPT = (EXAMPLES / "qwen3_dense" / "megatron.sh").read_text(encoding="utf-8")
YAML = (EXAMPLES / "qwen3_dense" / "mindformers.yaml").read_text(encoding="utf-8")


def test_what_the_framework_stops_at_is_said_first(accmap: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text(SCRIPT.replace("--bf16", "--bf16\n    --fp16"), encoding="utf-8")
    first, *_ = accmap("convert", str(path)).err.splitlines()
    assert "error MAP030" in first
    assert "not (fp16 and bf16)" in first


def test_a_key_written_twice_is_said(accmap: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(YAML + "seed: 7\n", encoding="utf-8")
    first, *_ = accmap("convert", str(path)).err.splitlines()
    assert "warning SYN050" in first


def test_an_example_is_translated_without_loss(accmap: Callable[..., Any]) -> None:
    assert accmap("convert", str(EXAMPLES / "qwen3_dense" / "mindformers.yaml"), "--strict").code == 0


def test_keys_with_one_reason_stand_in_one_line(accmap: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text(
        SCRIPT.replace("--bf16", "--bf16\n    --first-of-a-fork 1\n    --second-of-a-fork"), encoding="utf-8"
    )
    lines = [line for line in accmap("convert", str(path)).err.splitlines() if "of_a_fork" in line]
    assert len(lines) == 2
    assert "first_of_a_fork, second_of_a_fork:" in lines[0]
    assert lines[1].endswith("could not be carried over: first_of_a_fork, second_of_a_fork")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--mindformers", "1.5"), "MAP105"),
        (("--mindformers", "3.7"), "MAP105"),
        (("--mindformers", "no-number"), "MAP105"),
        (("--mindformers", "1.6", "--dialect", "dynamic"), "SYN922"),
        (("--dialect", "legacy"), "SYN922"),
    ],
)
def test_a_version_that_cannot_be_written(
    accmap: Callable[..., Any], tmp_path: Path, options: tuple[str, ...], code: str
) -> None:
    out = tmp_path / "out.yaml"
    answer = accmap("convert", str(EXAMPLES / "qwen3_dense" / "megatron.sh"), "-o", str(out), *options)
    assert answer.code == 2
    assert code in answer.err
    assert not out.exists()


def test_a_version_of_megatron_that_cannot_be_written(accmap: Callable[..., Any]) -> None:
    answer = accmap("convert", str(EXAMPLES / "qwen3_dense" / "mindformers.yaml"), "--megatron", "0.11")
    assert (answer.code, answer.out) == (2, "")
    assert "MAP001" in answer.err


def test_a_byte_order_mark_stays(accmap: Callable[..., Any], tmp_path: Path) -> None:
    source, target = tmp_path / "a.sh", tmp_path / "b.yaml"
    source.write_text(SCRIPT.replace("--num-layers 4", "--num-layers 6"), encoding="utf-8")
    target.write_bytes(b"\xef\xbb\xbf" + YAML.encode())
    assert accmap("convert", str(source), "--update", str(target)).code == 0
    text = target.read_bytes()
    assert text.startswith(b"\xef\xbb\xbf#")
    assert b"num_hidden_layers: 6" in text
