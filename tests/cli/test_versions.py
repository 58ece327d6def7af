"""A version that accmap does not know is refused, on both sides alike and whether or not a file needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accmap.cli.lean import main
from accmap.schemas.versions import known_names, minor_of, names

if TYPE_CHECKING:
    from pathlib import Path

_SCRIPT = (
    "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --train-iters 10 --lr 1e-4\n"
)
_YAML = "run_mode: train\nuse_legacy: False\ntrainer:\n  type: CausalLanguageModelingTrainer\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "run.sh").write_text(_SCRIPT, encoding="utf-8")
    (tmp_path / "run.yaml").write_text(_YAML, encoding="utf-8")
    return str(tmp_path / "run.sh"), str(tmp_path / "run.yaml")


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("1.9", "1.9"),
        ("1.9.0", "1.9"),
        ("v1.9.0", "1.9"),
        ("r1.7.0", "1.7"),
        ("2.1.0rc1", "2.1"),
        ("core_r0.12.0", "0.12"),
        ("core_v0.16.1", "0.16"),
        ("abc", None),
        ("0.12.zz", None),
        ("1", None),
        ("", None),
        ("1.x", None),
        ("²", None),
    ],
)
def test_a_version_is_two_numbers_with_or_without_a_patch(text: str, minor: str | None) -> None:
    assert minor_of(text) == minor


@pytest.mark.parametrize("command", ["show", "recipe", "lint", "convert", "lr"])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    ("option", "given", "known"),
    [
        ("--megatron", "0.99", known_names("megatron")),
        ("--megatron", "abc", known_names("megatron")),
        ("--megatron", "0.12.zz", known_names("megatron")),
        ("--mindformers", "9.9", ", ".join(names("mindformers"))),
        ("--mindformers", "abc", ", ".join(names("mindformers"))),
        ("--mindformers", "1.5", ", ".join(names("mindformers"))),
        ("--transformers", "4.40", ", ".join(names("huggingface"))),
        ("--transformers", "abc", ", ".join(names("huggingface"))),
    ],
)
def test_an_unknown_version_is_refused_with_those_that_are_known(
    files: tuple[str, str],
    command: str,
    which: int,
    option: str,
    given: str,
    known: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([command, files[which], option, given]) == 2
    said = capsys.readouterr().err
    assert given in said
    assert known in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(("name", "given"), [("megatron", "0.20"), ("mindformers", "2.2")])
def test_a_schema_of_an_unknown_version_is_refused(name: str, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", name, f"--{name}", given]) == 2
    assert given in capsys.readouterr().err


@pytest.mark.parametrize(("key", "given"), [("megatron", "0.20"), ("mindformers", "abc"), ("transformers", "4.40")])
def test_the_configuration_is_held_to_the_same_rule(
    files: tuple[str, str], key: str, given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "accmap.toml").write_text(f'{key} = "{given}"\n', encoding="utf-8")
    assert main(["lint", *files]) == 2
    said = capsys.readouterr().err
    assert "accmap.toml" in said
    assert given in said


def test_a_patch_is_no_other_version(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", files[1], "--mindformers", "v1.8.0"]) == 0
    assert "mindformers 1.8" in capsys.readouterr().out
