"""`verify export`: a folder whose sides run without accmap, and whose launches, weights and data belong together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from accmap.cli.lean import main
from accmap.schemas.border.file_input import read_text
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.verifier.installations import missing_modules

np = pytest.importorskip("numpy")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
TREES = os.environ.get("ACCMAP_MEGATRON_TREES", "")
needs_frameworks = [
    pytest.mark.frameworks,
    pytest.mark.skipif(
        bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
    ),
]
PAIRS = [
    ("qwen3_dense", "mindformers.yaml", []),
    ("deepseek_v3", "mindformers.yaml", []),
    ("qwen3_moe", "mindformers_dynamic.yaml", ["--mindformers", "2.1"]),
]


def export(name: str, document: str, options: list[str], folder: Path) -> Path:
    pair = [str(EXAMPLES / name / file) for file in ("megatron.sh", document)]
    place = folder / "small"
    assert main(["verify", "export", *pair, "-d", str(place), *options]) == 0
    return place


@pytest.mark.parametrize(("name", "document", "options"), PAIRS)
def test_launches_weights_and_data_belong_together(
    name: str, document: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = export(name, document, options, tmp_path)
    sides = [str(place / "megatron" / "launch.sh"), str(place / "mindformers" / "mindformers.yaml")]
    assert main(["weights", "check", *(str(place / side / "checkpoint") for side in ("megatron", "mindformers")),
                 "--config", sides[0], "--config", sides[1]]) == 0  # fmt: skip
    assert main(["data", "check", *sides]) == 0
    monkeypatch.chdir(place / "mindformers")
    launched = config_of(read_text("launch.sh"), ReadOptions(), path="launch.sh")
    assert launched.value("model.model_config.num_hidden_layers") or launched.value("model.num_hidden_layers")
    for readme in ("README.md", "README.zh-CN.md"):
        assert "accmap verify join megatron/record.npz" in (place / readme).read_text("utf-8")
    assert json.loads((place / "dump" / "msprobe_megatron.json").read_text("utf-8"))
    text = (place / "megatron" / "launch.sh").read_text("utf-8")
    assert "--save" not in text
    assert "--data-path ../data/corpus" in text


def test_a_folder_that_is_not_empty_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = [str(EXAMPLES / "qwen3_dense" / file) for file in ("megatron.sh", "mindformers.yaml")]
    kept = tmp_path / "kept.txt"
    kept.write_text("mine", "utf-8")
    assert main(["verify", "export", *pair, "-d", str(tmp_path)]) == 2
    assert "not an empty folder" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["kept.txt"]
    assert main(["verify", "export", *pair, "-d", str(kept)]) == 2
    assert main(["verify", "export", *pair]) == 2
    assert "-d DIR" in capsys.readouterr().err
    assert main(["verify", "export", *pair, "--lang", "zh"]) == 2
    assert "目录" in capsys.readouterr().err
    assert main(["verify", "export", pair[0], "-d", str(tmp_path / "new")]) == 2
    assert not (tmp_path / "new").exists()


@pytest.fixture(scope="module")
def without_accmap(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter that has the packages of this one, but not accmap."""
    folder = tmp_path_factory.mktemp("frameworks")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [packages] = folder.glob("lib/python3.*/site-packages")
    (packages / "frameworks.pth").write_text(f"{Path(np.__file__).parents[1]}\n", "utf-8")
    python = str(folder / "bin" / "python")
    assert subprocess.run([python, "-c", "import accmap"], capture_output=True, check=False, cwd=folder).returncode
    return python


@pytest.mark.slow
@pytest.mark.parametrize(("name", "document", "options"), PAIRS[:1])
def test_both_sides_run_without_accmap_and_join(
    name: str,
    document: str,
    options: list[str],
    tmp_path: Path,
    without_accmap: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for mark in needs_frameworks[1:]:
        if mark.args[0]:
            pytest.skip("the frameworks are not installed")
    place = export(name, document, options, tmp_path)
    for side in ("megatron", "mindformers"):
        done = subprocess.run(
            [without_accmap, str(place / side / "run_cpu.py")],
            capture_output=True, text=True, check=False, cwd=tmp_path,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        assert "stand-ins" in done.stdout
    capsys.readouterr()
    records = [str(place / side / "record.npz") for side in ("mindformers", "megatron")]
    assert main(["verify", "join", *records, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "match"


@pytest.mark.slow
@pytest.mark.skipif(not TREES, reason="ACCMAP_MEGATRON_TREES names no trees")
def test_the_launches_pass_the_real_parser_and_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if missing_modules("megatron") + missing_modules("mindformers"):
        pytest.skip("the frameworks are not installed")
    place = export(*PAIRS[0], tmp_path)
    sides = [str(place / "megatron" / "launch.sh"), str(place / "mindformers" / "mindformers.yaml")]
    capsys.readouterr()
    assert main(["verify", *sides, "--megatron-source", f"{TREES}/0.12", "--stage", "step1", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ran"][0]["parsed"]
