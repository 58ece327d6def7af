"""Every value of Megatron-LM's own functional-test recipes, against its real `parse_args` and `validate_args`.

`ACCMAP_MEGATRON_TREES` names a folder with Megatron-LM source trees by version (`0.12/`, `0.16/`, …); PyTorch must
be importable.
"""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from accmap.schemas.config import Config, ReadOptions, json_value
from accmap.schemas.megatron.catalog import VERSIONS
from accmap.schemas.megatron.effective import megatron_config
from accmap.schemas.megatron.inputs import read_recipe
from accmap.schemas.source import SourceText

TREES = os.environ.get("ACCMAP_MEGATRON_TREES", "")
ORACLE = os.path.join(os.path.dirname(__file__), "megatron_oracle.py")
RECIPES = "tests/functional_tests/test_cases/**/model_config.yaml"
NAMES = "DATA_PATH CHECKPOINT_LOAD_PATH CHECKPOINT_SAVE_PATH TENSORBOARD_PATH DATA_CACHE_PATH INFERENCE_OUTPUT_PATH"
MORE = "WANDB_EXPERIMENT WANDB_SAVE_PATH DATA_BLEND OUTPUT_PATH ARTIFACTS_ROOT TOKENIZER_TYPE TOKENIZER_MODEL_PATH"
PATHS = {name: f"/x/{name}" for name in (NAMES + " " + MORE).split()} | {"REPEAT": "1"}
LATER = {"padded_vocab_size", "train_iters", "lr_decay_iters", "lr_decay_samples"}
REFUSED = {"MAP030", "MAP031", "MAP035"}

pytestmark = pytest.mark.frameworks


def configs(version: str) -> list[tuple[str, Config]]:
    options = ReadOptions(megatron=version, variables=PATHS)
    found: list[tuple[str, Config]] = []
    for path in sorted(glob.glob(os.path.join(TREES, version, RECIPES), recursive=True)):
        with open(path, encoding="utf-8") as stream:
            recipe = read_recipe(SourceText(path, stream.read()), options)
        config = megatron_config(recipe.arguments, file=path, options=options, launch=recipe.launch)
        if all(word.resolved for word in recipe.arguments):
            found.append((path, config))
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_every_value_of_every_recipe(version: str) -> None:
    pytest.importorskip("torch")
    if not os.path.isdir(os.path.join(TREES, version)) or not TREES:
        pytest.skip("ACCMAP_MEGATRON_TREES names no tree of this version")
    read = configs(version)
    jobs = "\n".join(json.dumps(_job(config)) for _, config in read)
    ran = subprocess.run(
        [sys.executable, ORACLE, os.path.join(TREES, version)], input=jobs, capture_output=True, text=True, check=False
    )
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(lines) == len(read) + 1, ran.stderr[-2000:]
    wrong: list[str] = []
    for (path, config), real in zip(read, lines[1:], strict=True):
        wrong += [f"{path}: {text}" for text in _differences(config, real, lines[0])]
    assert not wrong


def _job(config: Config) -> dict[str, Any]:
    launch = config.launch
    assert launch is not None
    argv = [word.text for word in launch.arguments]
    return {"argv": argv, "world_size": launch.world_size, "env": dict(launch.env)}


def _differences(config: Config, real: dict[str, Any], defaults: dict[str, Any]) -> list[str]:
    refused = REFUSED & {problem.kind.code for problem in config.problems}
    if "refused" in real:
        unread = {"MAP004", "MAP005", "MAP006"} & {problem.kind.code for problem in config.problems}
        return [] if refused or unread else [f"not refused: {real['refused']}"]
    wrong = [f"refused: {sorted(refused)}"] if refused else []
    for key, value in real["values"].items():
        if key in LATER and value == defaults.get(key):
            continue
        ours = json.loads(json.dumps(json_value(config.value(key))))
        if ours != value or type(ours) is not type(value):
            wrong.append(f"{key}: {ours!r}, really {value!r}")
    return wrong
