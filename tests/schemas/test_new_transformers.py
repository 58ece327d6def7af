"""A pretended transformers comes in by the line and the command of CONTRIBUTING, and the commands know it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest

from accmap.schemas.huggingface import extract
from accmap.schemas.versions import names, number_of

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("api", "cli", "generate", "evidence", "mapper", "mappings", "rules", "schemas", "tools", "verifier")
NEWEST = names("huggingface")[-1]
NEW = f"{number_of(NEWEST)[0]}.{number_of(NEWEST)[1] + 1}"
SECTION = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Add a version of transformers\n")[2]
(LINE,) = re.findall(r"```yaml\n(.*?)\n```", SECTION.partition("\n## ")[0], re.DOTALL)
(COMMAND,) = re.findall(r"```bash\n(.*?)\n```", SECTION.partition("\n## ")[0], re.DOTALL)
PACKAGE = """
import json, pathlib
__version__ = "{version}.0"
class PreTrainedConfig:
    attribute_map = {{}}
    def __init__(self, {common}):
        pass
    def to_dict(self):
        return {{}}
"""
CONFIGURATIONS = """
import json, pathlib
from transformers import PreTrainedConfig
class Mapping(dict):
    pass
CONFIG_MAPPING = Mapping()
for name, one in json.loads(pathlib.Path(__file__).with_name("families.json").read_text()).items():
    words = ", ".join(f"{key}={value!r}" for key, value in one["defaults"].items())
    held = {}
    tie = one["defaults"].get("tie_word_embeddings")
    exec(f"def __init__(self, {words}): self.tie_word_embeddings = {tie!r}", held)
    members = {"__init__": held["__init__"], "attribute_map": one["renamed"]}
    CONFIG_MAPPING[name] = type(one["class"], (PreTrainedConfig,), members)
"""
MODELS = """
import json, pathlib
families = json.loads(pathlib.Path(__file__).with_name("families.json").read_text())
MODEL_FOR_CAUSAL_LM_MAPPING_NAMES = {name: one["model"] for name, one in families.items()}
"""
ANSWER = "class LlamaMLP:\n    def forward(self, x):\n        return x * {}\n"


def pretended(folder: Path, scale: int) -> str:
    """An interpreter with a transformers whose Llama has another default and another code."""
    stored = extract.read_facts()[NEWEST]
    families = json.loads(json.dumps(stored["families"]))
    families["llama"]["defaults"]["rms_norm_eps"] = 0.5
    auto = folder / "transformers" / "models" / "auto"
    llama = folder / "transformers" / "models" / "llama"
    for package in (auto, llama):
        package.mkdir(parents=True)
    for path in (folder / "transformers" / "models" / "__init__.py", auto / "__init__.py", llama / "__init__.py"):
        path.write_text("", "utf-8")
    own = {key for one in families.values() for key in one["defaults"]}
    common = ", ".join(f"{key}=None" for key in stored["common"] if key.isidentifier() and key not in own)
    (folder / "transformers" / "__init__.py").write_text(PACKAGE.format(version=NEW, common=common), "utf-8")
    (auto / "configuration_auto.py").write_text(CONFIGURATIONS, "utf-8")
    (auto / "modeling_auto.py").write_text(MODELS, "utf-8")
    (auto / "families.json").write_text(json.dumps(families), "utf-8")
    (llama / "modeling_llama.py").write_text(ANSWER.format(scale), "utf-8")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" -B "$@"\n', "utf-8")
    python.chmod(0o755)
    return str(python)


@pytest.mark.slow
def test_one_line_and_one_command(tmp_path: Path) -> None:
    house = tmp_path / "house"
    for room in ROOMS:
        copytree(ROOT / room, house / room, ignore=ignore_patterns("__pycache__"))
    copytree(ROOT / ".typing", house / ".typing", symlinks=True)
    copy(ROOT / "README.md", house)
    environment = {**os.environ, "PYTHONPATH": str(house / ".typing"), "ACCMAP_CACHE_DIR": str(tmp_path / "cache")}

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=house, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    source = house / "schemas" / "versions.yaml"
    shown = re.findall(r'"([\d.]+)"', LINE)[0]
    source.write_text(source.read_text("utf-8").rstrip() + f"\n  {LINE.replace(shown, NEW)}\n", "utf-8")
    python = pretended(tmp_path / "installed", 2)
    words: dict[str, str] = {"python": sys.executable, "PYTHON": python, str(shown): NEW}
    said = run(*[words.get(word, word) for word in COMMAND.split()]).splitlines()
    assert said[0].startswith(f"{NEW} against {NEWEST}: ")
    assert (
        f"llama.rms_norm_eps: {extract.read_facts()[NEWEST]['families']['llama']['defaults']['rms_norm_eps']} -> 0.5"
        in said
    )
    assert "source models/llama/modeling_llama.py:LlamaMLP" in said
    model = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_attention_heads": 4}
    (house / "config.json").write_text(json.dumps(model), "utf-8")
    for version, epsilon in ((NEWEST, 1e-06), (NEW, 0.5)):
        asked = ("show", "--format", "json", "--transformers", version, "config.json")
        values = json.loads(run(sys.executable, "-m", "accmap", *asked))["values"]
        assert {one["key"]: one["value"] for one in values}["rms_norm_eps"] == epsilon
