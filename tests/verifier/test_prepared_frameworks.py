"""`accmap verify clean`: the frameworks that `--prepare` downloaded, with their sizes, listed and removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accmap.cli.commands.verify import prepare_frameworks
from accmap.cli.lean import main

if TYPE_CHECKING:
    from pathlib import Path

VERSIONS = {"megatron": ("0.16.1", "0.17.0"), "mindformers": ("2.1.0",)}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("ACCMAP_CACHE_DIR", str(cache))
    for framework, versions in VERSIONS.items():
        for version in versions:
            folder = cache / "frameworks" / framework / version / framework
            folder.mkdir(parents=True)
            (folder / "code.py").write_bytes(bytes(3 << 20))
    return cache / "frameworks"


def test_what_is_there_is_listed_with_its_size(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "clean", "--list"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[:2] for line in said] == [
        ["megatron 0.16.1", "3.0 MiB"],
        ["megatron 0.17.0", "3.0 MiB"],
        ["mindformers 2.1.0", "3.0 MiB"],
    ]
    assert (store / "megatron" / "0.16.1").is_dir()


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ([], []),
        (["megatron"], ["mindformers/2.1.0"]),
        (["megatron-0.17.0", "mindformers"], ["megatron/0.16.1"]),
    ],
)
def test_named_frameworks_are_removed(
    words: list[str], kept: list[str], store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "clean", *words]) == 0
    assert [f"{one.parent.name}/{one.name}" for one in sorted(store.glob("*/*"))] == kept
    assert capsys.readouterr().out.count("removed") == 3 - len(kept)


def test_an_unknown_name_removes_nothing(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "clean", "megatron", "megatron-9"]) == 2
    assert "megatron-9" in capsys.readouterr().err
    assert (store / "megatron" / "0.16.1").is_dir()
    assert main(["verify", "clean", "nothing", "--lang", "zh"]) == 2
    assert "没有" in capsys.readouterr().err


def test_preparing_tells_how_large_the_folder_is(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare_frameworks((), str(store), "en")
    said = capsys.readouterr().err
    assert f"3 downloaded frameworks in {store}: 9.0 MiB" in said
    assert "accmap verify clean" in said


def test_an_empty_folder_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACCMAP_CACHE_DIR", str(tmp_path / "none"))
    assert main(["verify", "clean"]) == 0
    assert "no downloaded framework" in capsys.readouterr().out
