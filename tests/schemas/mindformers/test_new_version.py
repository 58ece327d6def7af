"""A version that nobody has seen comes in by one line and one command: the newest wheel with some changes.

It comes as a release and as a development branch, both graphs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
from typing import NamedTuple

import pytest

from accmap.schemas.versions import names, number_of

ROOT = Path(__file__).resolve().parents[3]
WHEELS = Path(os.environ.get("ACCMAP_MINDFORMERS", ROOT / ".frameworks" / "mindformers"))
ROOMS = ("api", "cli", "generate", "evidence", "mapper", "mappings", "rules", "schemas", "tools", "verifier")
NEWEST = names("mindformers")[-1]
NEXT = f"{number_of(NEWEST)[0]}.{number_of(NEWEST)[1] + 1}"
BRANCH = "development"
"""A branch comes in by a line with its number and a label."""
_BEHIND = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Add a MindSpore Transformers version\n")[2]
SECTION = _BEHIND.partition("\n## ")[0]
(LINE,) = re.findall(r"```yaml\n(.*?)\n```", SECTION, re.DOTALL)
COMMANDS = [
    line.split() for block in re.findall(r"```bash\n(.*?)```", SECTION, re.DOTALL) for line in block.splitlines()
]
SHOWN_BEFORE, SHOWN = COMMANDS[1][-2:]
"""The versions that the section speaks of."""
BATCH = {"static": "runner_config.batch_size", "dynamic": "training.local_batch_size"}
RATE = "    moe_router_bias_update_rate: float = field(\n        default={}"
STATIC, DYNAMIC = "parallel_core/transformer_config.py", "pynative/config/config.py"
CHANGES = (
    # TransformerConfig: a default, and a key that is gone for one that is new; TrainingConfig: a default
    (STATIC, RATE.format("1e-3"), RATE.format("0.125")),
    (STATIC, "    mask_func_type: str = field(", "    fresh_scale: float = field("),
    (DYNAMIC, "    max_norm: float = 1.0", "    max_norm: float = 0.5"),
)
YAML = """use_legacy: False
run_mode: train
trainer: {type: CausalLanguageModelingTrainer}
lr_schedule: {type: ConstantWarmUpLR, learning_rate: 1.0e-4, warmup_steps: 0, total_steps: 10}
optimizer: {type: AdamW}
train_dataset: {data_loader: {type: MindDataset, dataset_dir: /data/train.mindrecord}}
model:
  model_config:
    model_type: deepseek_v3
    architectures: DeepseekV3ForCausalLM
    num_hidden_layers: 4
    first_k_dense_replace: 1
    num_nextn_predict_layers: 0
    moe_grouped_gemm: True
"""
PYNATIVE = """training: {steps: 10, global_batch_size: 8}
optimizer: {type: AdamW}
lr_scheduler: {type: ConstantWarmUpLR}
parallelism: {tensor_parallel: 1}
model: {model_config: {model_type: qwen3, architectures: Qwen3ForCausalLM}}
"""


class House(NamedTuple):
    """A copy of accmap into which a pretended version came."""

    folder: Path
    new: str


def line_of(new: str) -> str:
    """The line of CONTRIBUTING for the pretended version."""
    name = f'name: {new}, number: "{NEXT}", label: "{NEXT} dev, 2026-11-20"' if new == BRANCH else f'name: "{new}"'
    line = re.sub(r'name: "[\d.]+"', name, LINE)
    assert line != LINE
    return line


@pytest.fixture(scope="module", params=[NEXT, BRANCH])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> House:
    """A copy of accmap into which the pretended version came."""
    pytest.importorskip("mindspore")
    wheel = WHEELS / f"{NEWEST}.0"
    if not wheel.is_dir():
        pytest.skip(f"MindSpore Transformers {NEWEST} is not unpacked")
    folder = tmp_path_factory.mktemp("house")
    for room in ROOMS:
        copytree(ROOT / room, folder / room, ignore=ignore_patterns("__pycache__"))
    copytree(ROOT / ".typing", folder / ".typing", symlinks=True)
    copy(ROOT / "README.md", folder)
    tree = folder / "tree"
    copytree(wheel / "mindformers", tree / "mindformers", ignore=ignore_patterns("__pycache__"))
    for name, before, after in CHANGES:
        source = tree / "mindformers" / name
        text = source.read_text("utf-8")
        assert text.count(before) == 1, before
        source.write_text(text.replace(before, after), "utf-8")
    source = folder / "schemas/versions.yaml"
    listed, _, rest = source.read_text("utf-8").partition("\n\n# What reads")
    source.write_text(f"{listed}\n  {line_of(request.param)}\n\n# What reads{rest}", "utf-8")
    (folder / "train.yaml").write_text(YAML, "utf-8")
    words = {"TREE": str(tree), SHOWN: request.param, SHOWN_BEFORE: NEWEST}
    for name, command in zip(("told", "review", "conditions", "made"), COMMANDS, strict=True):
        assert command[0] == "python"
        (folder / f"{name}.txt").write_text(run(folder, *(words.get(word, word) for word in command[1:])), "utf-8")
    return House(folder, request.param)


def run(folder: Path, *words: str, codes: tuple[int, ...] = (0,)) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder / ".typing"), "ACCMAP_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in codes, done.stdout + done.stderr
    return done.stdout


def accmap(house: House, *words: str, codes: tuple[int, ...] = (0,)) -> str:
    return run(house.folder, "-m", "accmap", *words, codes=codes)


@pytest.mark.frameworks
def test_the_changes_are_listed(house: House) -> None:
    told = (house.folder / "told.txt").read_text("utf-8").splitlines()
    assert "changed transformer.moe_router_bias_update_rate: 0.001 -> 0.125" in told
    assert any(line.startswith("new     transformer.fresh_scale") for line in told)
    assert any(line.startswith("gone    transformer.mask_func_type") for line in told)
    assert any(line.startswith("source  parallel_core/transformer_config.py:TransformerConfig") for line in told)
    assert f"## dynamic: 1 changes from {NEWEST} to {house.new}" in told
    assert "changed classes.TrainingConfig.fields.max_norm.default: 1.0 -> 0.5" in told
    review = (house.folder / "review.txt").read_text("utf-8")
    assert "moe_router_bias_update_rate" in review
    assert (house.folder / "made.txt").read_text("utf-8") == "", "the first command made the products"


@pytest.mark.frameworks
def test_every_command_knows_it(house: House) -> None:
    def value(version: str, name: str, key: str) -> object:
        shown = json.loads(accmap(house, "show", "--format", "json", "--mindformers", version, name))
        return {one["key"]: one["value"] for one in shown["values"]}[key]

    folder, new, rate = house.folder, house.new, "resolved.transformer.moe_router_bias_update_rate"
    assert (value(NEWEST, "train.yaml", rate), value(new, "train.yaml", rate)) == (0.001, 0.125)
    (folder / "pynative.yaml").write_text(PYNATIVE, "utf-8")
    norm = "training.max_norm"
    assert (value(NEWEST, "pynative.yaml", norm), value(new, "pynative.yaml", norm)) == (1.0, 0.5)
    (folder / "gone.yaml").write_text(f"{YAML}    mask_func_type: attn_mask_fill\n", "utf-8")
    (folder / "fresh.yaml").write_text(f"{YAML}    fresh_scale: a\n", "utf-8")

    def codes(version: str, name: str) -> set[str]:
        words = ("lint", "--format", "json", "--no-cache", "--fail-on", "never", "--mindformers", version, name)
        return {one["code"] for one in json.loads(accmap(house, *words))["diagnostics"]}

    ignored, wrong_type = "MAP056", "MAP078"
    assert ignored in codes(new, "gone.yaml") - codes(NEWEST, "gone.yaml")
    assert ignored in codes(NEWEST, "fresh.yaml") - codes(new, "fresh.yaml")
    assert wrong_type in codes(new, "fresh.yaml") - codes(NEWEST, "fresh.yaml")
    there = ("convert", "--to", "megatron", "--mindformers", new, "--steps", "10", "train.yaml", "-o", "run.sh")
    accmap(house, *there, codes=(1,))
    for dialect in ("static", "dynamic"):
        back = ("convert", "--to", "mindformers", "--mindformers", new, "--dialect", dialect, "run.sh")
        accmap(house, *back, "-o", f"back_{dialect}.yaml", codes=(0, 1))
        assert value(new, f"back_{dialect}.yaml", BATCH[dialect]) is not None
    for key in ("model.model_config.fresh_scale", "moe_router_bias_update_rate"):
        assert new in accmap(house, "explain", key), key
    assert new in (folder / "docs/matrix.md").read_text("utf-8")
