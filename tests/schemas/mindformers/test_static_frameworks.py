"""The same configurations, through the real MindSpore Transformers: the installed one, and unpacked wheels.

Wheels are looked for under `.frameworks/mindformers/<version>` in the repository's root, or under the folder that the
environment variable ACCMAP_MINDFORMERS names.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accmap.schemas.border.file_input import read_text
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.mindformers.effective import mindformers_config

HERE = Path(__file__).parent
RUN = HERE.parents[1] / "framework_run.py"
CASES: list[dict[str, Any]] = load_table((HERE / "static_cases.yaml").read_text(encoding="utf-8"))
COMPARED = (
    "dense-defaults-of-the-class",
    "latent-attention-with-everything-written",
    "class-defaults-are-the-671b-model",
)
WHEELS = Path(os.environ.get("ACCMAP_MINDFORMERS", HERE.parents[2] / ".frameworks" / "mindformers"))
SET_BY_THE_TRAINER = ("calculate_per_token_loss", "disable_lazy_inline", "init_method", "output_layer_init_method")


def installed_or_unpacked(version: str) -> str | None:
    """A folder for PYTHONPATH, an empty text for the installed one, or None."""
    for folder in (WHEELS / version, WHEELS / f"{version}.0"):
        if folder.is_dir():
            return str(folder)
    if version == "1.9" and importlib.util.find_spec("mindformers") is not None:
        return ""
    return None


@pytest.mark.frameworks
@pytest.mark.parametrize("version", ["1.6", "1.7", "1.8", "1.9"])
def test_equals_the_real_conversion(version: str, tmp_path: Path) -> None:
    pytest.importorskip("mindspore")
    folder = installed_or_unpacked(version)
    if folder is None:
        pytest.skip(f"MindSpore Transformers {version} is neither installed nor unpacked")
    cases = [case for case in CASES if case["name"] in COMPARED and version in case["versions"]]
    paths: list[str] = []
    for case in cases:
        path = tmp_path / f"{case['name']}.yaml"
        path.write_text(case["text"], encoding="utf-8")
        paths.append(str(path))
    environment = {**os.environ, "PYTHONPATH": folder} if folder else dict(os.environ)
    done = subprocess.run(
        [sys.executable, str(RUN), str(HERE / "static_oracle.py"), *paths],
        env=environment,
        cwd=folder or tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    answer = next(line for line in done.stdout.splitlines() if line.startswith("RESULT"))
    for path, real in zip(paths, json.loads(answer[len("RESULT") :]), strict=True):
        config = mindformers_config(read_text(path), ReadOptions(mindformers=version), read_text)
        wrong: dict[str, Any] = {}
        for name, value in real.items():
            setting = config.settings[f"resolved.transformer.{name}"]
            if name not in SET_BY_THE_TRAINER and name != "parallel_config" and setting.value != value:
                wrong[name] = (setting.value, value)
        if not config.value("use_parallel"):
            wrong = {name: pair for name, pair in wrong.items() if not name.endswith("parallel_size")}
        assert wrong == {}, path
