"""A version that nobody has seen comes in by one line and one command: the newest wheel with three changes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

ROOT = Path(__file__).resolve().parents[3]
WHEELS = Path(os.environ.get("ACCMAP_MINDFORMERS", ROOT / ".frameworks" / "mindformers"))
ROOMS = ("api", "cli", "generate", "evidence", "mapper", "mappings", "rules", "schemas", "tools", "verifier")
NEWEST, NEW = "2.1", "2.3"
SECTION = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Add a MindSpore Transformers version\n")[2]
(LINE,) = re.findall(r"```yaml\n(.*?)\n```", SECTION, re.DOTALL)
COMMANDS = [
    line.split() for block in re.findall(r"```bash\n(.*?)```", SECTION, re.DOTALL) for line in block.splitlines()
]
RATE = "    moe_router_bias_update_rate: float = field(\n        default={}"
CHANGES = (
    # parallel_core/transformer_config.py:TransformerConfig: a default, and a key that is gone for one that is new
    (RATE.format("1e-3"), RATE.format("0.125")),
    ("    mask_func_type: str = field(", "    fresh_scale: float = field("),
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
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of accmap into which the pretended version came."""
    pytest.importorskip("mindspore")
    wheel = WHEELS / f"{NEWEST}.0"
    if not wheel.is_dir():
        pytest.skip(f"MindSpore Transformers {NEWEST} is not unpacked")
    folder = tmp_path_factory.mktemp("house")
    for room in ROOMS:
        copytree(ROOT / room, folder / room, ignore=ignore_patterns("__pycache__"))
    copytree(ROOT / ".typing", folder / ".typing", symlinks=True)
    tree = folder / "tree"
    copytree(wheel / "mindformers", tree / "mindformers", ignore=ignore_patterns("__pycache__"))
    source = tree / "mindformers/parallel_core/transformer_config.py"
    text = source.read_text("utf-8")
    for before, after in CHANGES:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    source.write_text(text, "utf-8")
    source = folder / "schemas/versions.yaml"
    listed, _, rest = source.read_text("utf-8").partition("\n\n# What reads")
    source.write_text(f"{listed}\n  {LINE}\n\n# What reads{rest}", "utf-8")
    (folder / "train.yaml").write_text(YAML, "utf-8")
    for name, command in zip(("told", "review", "made"), COMMANDS, strict=True):
        assert command[0] == "python"
        said = run(folder, *(str(tree) if word == "TREE" else word for word in command[1:]))
        (folder / f"{name}.txt").write_text(said, "utf-8")
    return folder


def run(folder: Path, *words: str, code: int = 0) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder / ".typing"), "ACCMAP_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def accmap(folder: Path, *words: str, code: int = 0) -> str:
    return run(folder, "-m", "accmap", *words, code=code)


@pytest.mark.frameworks
def test_the_changes_are_listed(house: Path) -> None:
    told = (house / "told.txt").read_text("utf-8").splitlines()
    assert "changed transformer.moe_router_bias_update_rate: 0.001 -> 0.125" in told
    assert any(line.startswith("new     transformer.fresh_scale") for line in told)
    assert any(line.startswith("gone    transformer.mask_func_type") for line in told)
    assert any(line.startswith("source  parallel_core/transformer_config.py:TransformerConfig") for line in told)
    assert "## dynamic: 0 changes from 2.1 to 2.3" in told
    review = (house / "review.txt").read_text("utf-8")
    assert "moe_router_bias_update_rate" in review
    assert (house / "made.txt").read_text("utf-8") == "", "the first command made the products"


@pytest.mark.frameworks
def test_every_command_knows_it(house: Path) -> None:
    def rate(version: str) -> object:
        shown = json.loads(accmap(house, "show", "--format", "json", "--mindformers", version, "train.yaml"))
        by_key = {one["key"]: one["value"] for one in shown["values"]}
        return by_key["resolved.transformer.moe_router_bias_update_rate"]

    assert (rate(NEWEST), rate(NEW)) == (0.001, 0.125)
    (house / "gone.yaml").write_text(f"{YAML}    mask_func_type: attn_mask_fill\n", "utf-8")
    (house / "fresh.yaml").write_text(f"{YAML}    fresh_scale: a\n", "utf-8")

    def codes(version: str, name: str) -> set[str]:
        words = ("lint", "--format", "json", "--no-cache", "--fail-on", "never", "--mindformers", version, name)
        return {one["code"] for one in json.loads(accmap(house, *words))["diagnostics"]}

    ignored, wrong_type = "MAP056", "MAP078"
    assert ignored in codes(NEW, "gone.yaml") - codes(NEWEST, "gone.yaml")
    assert ignored in codes(NEWEST, "fresh.yaml") - codes(NEW, "fresh.yaml")
    assert wrong_type in codes(NEW, "fresh.yaml") - codes(NEWEST, "fresh.yaml")
    for dialect in ("static", "dynamic"):
        words = ("convert", "--to", "megatron", "--mindformers", NEW, "train.yaml", "-o", f"{dialect}.sh")
        accmap(house, *words, code=1)
        back = ("convert", "--to", "mindformers", "--mindformers", NEW, "--dialect", dialect, f"{dialect}.sh")
        accmap(house, *back, "-o", f"back_{dialect}.yaml", code=1)
    for key in ("model.model_config.fresh_scale", "moe_router_bias_update_rate"):
        assert NEW in accmap(house, "explain", key), key
    assert NEW in (house / "docs/matrix.md").read_text("utf-8")
