"""Two files of one framework are a pair: a GPU script and its fork, a static YAML and a dynamic one."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from accmap.cli.lean import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = ("gpu/run.sh", "npu/run.sh")
YAMLS = ("old.yaml", "new.yaml")
OTHERS: dict[tuple[str, str], tuple[str, ...]] = {
    SCRIPTS: ("MindSpore Transformers", "MindFormers"),
    YAMLS: ("Megatron",),
}
"""The framework that no side of a pair is."""


@pytest.fixture(scope="module")
def dynamic(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The static example for the dynamic graph."""
    target = tmp_path_factory.mktemp("dynamic") / "new.yaml"
    source = str(EXAMPLES / "qwen3_dense" / "mindformers.yaml")
    assert main(["convert", source, "--to", "mindformers", "--mindformers", "2.1", "-o", str(target)]) == 0
    return target.read_text("utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dynamic: str) -> Path:
    """Equal pairs of each framework."""
    monkeypatch.chdir(tmp_path)
    for name in SCRIPTS:
        Path(name).parent.mkdir()
        Path(name).write_text((EXAMPLES / "qwen3_dense" / "megatron.sh").read_text("utf-8"), "utf-8")
    Path(YAMLS[0]).write_text((EXAMPLES / "qwen3_dense" / "mindformers.yaml").read_text("utf-8"), "utf-8")
    Path(YAMLS[1]).write_text(dynamic, "utf-8")
    return tmp_path


def lint(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    main(["lint", "--no-cache", "--format", "json", *words])
    return json.loads(capsys.readouterr().out)


def replace(name: str, old: str, new: str) -> None:
    text = Path(name).read_text("utf-8")
    assert old in text
    Path(name).write_text(text.replace(old, new), "utf-8")


FAULTS = [
    (SCRIPTS, "--adam-eps 1.0e-8", "--adam-eps 1.0e-5", "OPT003"),
    (SCRIPTS, "--num-layers 4", "--num-layers 5", "NET001"),
    (SCRIPTS, "--lr 1.0e-4", "--lr 2.0e-4", "SCH051"),
    (SCRIPTS, "--disable-bias-linear", "--disable-bias-linear\n    --use-mup", "MAP110"),
    (YAMLS, "hidden_size: 512", "hidden_size: 1024", "NET003"),
    (YAMLS, "rope_theta: 1000000.0", "rope_theta: 10000.0", "NET009"),
]


@pytest.mark.parametrize(("files", "old", "new", "code"), FAULTS, ids=[code for *_, code in FAULTS])
def test_a_difference_is_found_and_mended_on_either_side(
    files: tuple[str, str], old: str, new: str, code: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = lint(capsys, *files)
    assert before["summary"]["pairs"] == 1
    assert not [one for one in before["diagnostics"] if one["severity"] != "info"]
    replace(files[1], old, new)
    for language in ("en", "zh"):
        after = lint(capsys, *files, "--lang", language)["diagnostics"]
        told = [one for one in after if one["severity"] == "error"]
        assert code in {one["code"] for one in told}
        assert not [one["message"] for one in told if any(title in one["message"] for title in OTHERS[files])]
        assert all("run.sh" in one["message"] or "new.yaml" in one["message"] for one in told if one["code"] == code)
    for place, side in enumerate("ab"):
        texts = {name: Path(name).read_text("utf-8") for name in files}
        main(["lint", "--no-cache", *files, "--fix", "--unsafe", "--fix-side", side])
        if code != "MAP110":
            assert Path(files[1 - place]).read_text("utf-8") == texts[files[1 - place]]
            assert Path(files[place]).read_text("utf-8") != texts[files[place]]
            assert not [one for one in lint(capsys, *files)["diagnostics"] if one["severity"] == "error"]
        for name, text in texts.items():
            Path(name).write_text(text, "utf-8")


def test_the_order_of_the_files_decides_the_letters_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replace(SCRIPTS[1], "--adam-eps 1.0e-8", "--adam-eps 1.0e-5")
    one, other = (lint(capsys, *files)["diagnostics"] for files in (SCRIPTS, SCRIPTS[::-1]))
    assert {entry["code"] for entry in one} == {entry["code"] for entry in other}
    (message,) = [entry["message"] for entry in other if entry["code"] == "OPT003"]
    assert message.index("1e-05 in npu/run.sh") < message.index("1e-08 in gpu/run.sh")


PAIRS = '[[pairs]]\na = "gpu/*.sh"\nb = "npu/*.sh"\n[[pairs]]\na = "old.yaml"\nb = "new.yaml"\n'


def test_a_configuration_pairs_files_of_one_framework(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replace(SCRIPTS[0], "--adam-eps 1.0e-8", "--adam-eps 1.0e-5")
    assert lint(capsys, "--configured-pairs", *SCRIPTS)["summary"]["pairs"] == 0
    Path("accmap.toml").write_text(PAIRS, "utf-8")
    answer = lint(capsys, "--configured-pairs", SCRIPTS[1], YAMLS[1])
    assert answer["summary"]["pairs"] == 2
    (message,) = [entry["message"] for entry in answer["diagnostics"] if entry["code"] == "OPT003"]
    assert message.index("gpu/run.sh") < message.index("npu/run.sh")


@pytest.mark.parametrize(
    "row", ['a = "x.sh"', 'b = "x.sh"', 'a = "x.sh"\nmegatron = "y.sh"', "steps = 1", 'megatron = "x.sh"']
)
def test_a_pair_names_two_files_in_one_way(row: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("accmap.toml").write_text(f"[[pairs]]\n{row}\n", "utf-8")
    assert main(["lint", "--no-cache", *SCRIPTS]) == 2
    assert "pairs" in capsys.readouterr().err


def test_a_search_pairs_no_files_of_one_framework(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in YAMLS:
        Path(name).unlink()
    copytree("gpu", "more/gpu")
    copytree("npu", "more/npu")
    assert lint(capsys, "more")["summary"]["pairs"] == 0


WRONG_VERSIONS = [
    (("lr", SCRIPTS[0], "--a-version", "0.16"), "require two files"),
    (("lint", *SCRIPTS, "--a-version", "9.9"), "--a-version: '9.9' is not a known version"),
    (("lint", *SCRIPTS, "--b-version", "2.1"), "--b-version 2.1 is not a version of Megatron-LM"),
    (("diff", *SCRIPTS, "--a-version", "0.16", "--megatron", "0.12"), "--megatron applies to both"),
    (("diff", *YAMLS, "--mindformers", "2.1"), "--mindformers applies to both"),
    (("lint", *YAMLS, "--mindformers", "2.1"), "--mindformers applies to both"),
    (("report", *YAMLS, "--mindformers", "2.1"), "use --a-version and --b-version"),
    (("lint", ".", "--a-version", "0.12"), "require two files"),
]


@pytest.mark.parametrize(("words", "said"), WRONG_VERSIONS, ids=[" ".join(words) for words, _ in WRONG_VERSIONS])
def test_a_version_that_is_unclear_is_wrong_use(
    words: tuple[str, ...], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(words)) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", ["lint", "diff", "lr"])
def test_each_side_has_its_version(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for files, versions in ((SCRIPTS, ("0.12", "0.13")), (YAMLS, ("1.8", "2.0"))):
        capsys.readouterr()
        main([command, *files, "--a-version", versions[0], "--b-version", versions[1]])
        out = capsys.readouterr().out
        assert [f"{version} (given)" in out or f"{version} given" in out for version in versions] == [True, True]


def test_one_option_names_the_version_of_two_scripts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--no-cache", *SCRIPTS, "--megatron", "0.13"]) == 0
    assert "megatron 0.13 given" in capsys.readouterr().out


def test_convert_tells_the_version_that_is_read_from_the_one_that_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--to", "mindformers", "--mindformers", "2.1", "--dialect", "dynamic", "-o", "made.yaml", "--force")
    for given, said in (((), "mindformers 1.9 assumed"), (("--from-version", "1.8"), "mindformers 1.8 given")):
        assert main(["convert", YAMLS[0], *words, *given]) == 0
        assert f"{said} -> mindformers 2.1" in capsys.readouterr().err


def test_a_model_and_a_run_are_a_pair(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", YAMLS[0], "--to", "huggingface", "-o", "config.json"]) in (0, 1)
    assert lint(capsys, "config.json", YAMLS[0])["summary"]["pairs"] == 1
    replace("config.json", '"num_hidden_layers": 4', '"num_hidden_layers": 5')
    for run in (YAMLS[0], YAMLS[1], SCRIPTS[0]):
        answer = lint(capsys, "config.json", run)
        assert [one["severity"] for one in answer["diagnostics"] if one["code"] == "NET039"] == ["error"]
