"""Upgraded YAMLs in the real classes of the dynamic graph: they load, and no default was left out wrongly.

The sources are the YAMLs that the wheels under `.frameworks` ship for the static graph. Each is upgraded with the
version of its wheel; the newest classes have to make the same of it as of the translation in full, but for keys that
`upgrade` alone carries over.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap.mapper.translate.mindformers_file import mindformers_text
from accmap.mapper.translate.translation import translate
from accmap.mapper.translate.upgrade import UpgradedYaml, upgrade
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.file_kind import require_training
from accmap.schemas.mindformers.versions import DEFAULT_DYNAMIC, STATIC_VERSIONS
from accmap.schemas.reader import read_config

ROOT = Path(__file__).resolve().parents[3]
WHEELS = Path(os.environ.get("ACCMAP_MINDFORMERS", ROOT / ".frameworks" / "mindformers"))
ORACLE = ROOT / "tests" / "schemas" / "mindformers" / "differential_oracle.py"
LEAST = 2
"""Files of a wheel that can be upgraded; the templates that name a folder of the user's cannot."""


def upgraded_files(version: str) -> list[tuple[Config, UpgradedYaml]]:
    paths = sorted((WHEELS / f"{version}.0" / "configs").rglob("pretrain_*.yaml"))
    return [found for path in paths if (found := upgraded_file(path, version)) is not None]


def upgraded_file(path: Path, version: str) -> tuple[Config, UpgradedYaml] | None:
    """The file before and after; None for a dynamic one, and a template whose model stands in a folder elsewhere."""
    try:
        config = read_config(str(path), ReadOptions(mindformers=version))
        require_training(config)
        return None if config.dialect == "dynamic" else (config, upgrade(config))
    except UnreadableError:
        return None


def real_answers(texts: list[str], folder: Path) -> list[dict[str, Any]]:
    paths = [folder / f"{number:03}.yaml" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, "utf-8")
    listed, answer = folder / "list.txt", folder / "answers.txt"
    listed.write_text("\n".join(map(str, paths)), "utf-8")
    places = os.pathsep.join((str(WHEELS / f"{DEFAULT_DYNAMIC}.0"), str(ORACLE.parent)))
    words = [sys.executable, str(ROOT / "tests" / "framework_run.py"), str(ORACLE), "dynamic", str(listed), str(answer)]
    environment = {**os.environ, "PYTHONPATH": places, "RUN_MODE": "train"}
    done = subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert answer.exists(), done.stderr[-2000:]
    return [json.loads(line) for line in answer.read_text("utf-8").splitlines()]


@pytest.mark.frameworks
@pytest.mark.parametrize("version", [one for one in STATIC_VERSIONS if one >= "1.8"])
def test_the_real_classes_load_it_and_miss_no_default(version: str, tmp_path: Path) -> None:
    pytest.importorskip("mindspore")
    if not (WHEELS / f"{version}.0").is_dir() or not (WHEELS / f"{DEFAULT_DYNAMIC}.0").is_dir():
        pytest.skip(f"MindSpore Transformers {version} or {DEFAULT_DYNAMIC} is not unpacked")
    files = upgraded_files(version)
    assert len(files) >= LEAST
    full = [mindformers_text(translate(config, "mindformers", DEFAULT_DYNAMIC, "dynamic")) for config, _ in files]
    answers = real_answers([*(found.text for _, found in files), *full], tmp_path)
    shorts, wholes = answers[: len(files)], answers[len(files) :]
    for (config, found), text, short, whole in zip(files, full, shorts, wholes, strict=True):
        assert "fields" in short, (config.file, short)
        carried = set(yaml.safe_load(found.text)["model"]) - set(yaml.safe_load(text)["model"])
        names = {name for name in short["fields"] if "init_method" not in name} - carried
        apart = {name for name in names if short["fields"][name] != whole["fields"].get(name)}
        assert apart == set(), config.file
