"""Primus' experiments: what cannot be read, variables, and every public one against Primus' own loader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accmap.schemas.compilers.tables import load_table
from accmap.schemas.megatron.dialects import dialect_named
from accmap.schemas.reader import read_config

CASES: list[dict[str, Any]] = load_table((Path(__file__).parent / "dialects" / "primus.yaml").read_text("utf-8"))
PRIMUS = os.environ.get("ACCMAP_PRIMUS_TREE")
"""A checkout of Primus 26.5.1."""
HEAD = "modules:\n  pre_trainer:\n    framework: megatron\n"
UNREADABLE = {
    "a model that is nowhere": ("    config: pre_trainer.yaml\n    model: llama9.yaml\n", "MAP167", 5),
    "a trainer that is nowhere": ("    config: my_trainer\n    model: llama3_8B.yaml\n", "MAP167", 4),
    "outside of the presets": ("    config: ../../../../etc/passwd\n    model: llama3_8B.yaml\n", "MAP167", 4),
    "no model": ("    config: pre_trainer.yaml\n", "MAP167", None),
    "a model that a variable names": ("    config: pre_trainer.yaml\n    model: ${MODEL}.yaml\n", "MAP167", 5),
    "no YAML": ("    config: [\n", "SYN070", None),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_the_loader_refuses(accmap: Any, name: str) -> None:
    text, code, line = UNREADABLE[name]
    answer = accmap("show", "exp.yaml", files={"exp.yaml": HEAD + text})
    assert (answer.code, code in answer.out + answer.err) == (2, True)
    assert line is None or f"exp.yaml:{line}:" in answer.out + answer.err


def test_presets_that_extend_each_other_end(accmap: Any) -> None:
    files = {
        "primus/configs/modules/module_base.yaml": "extends: [megatron/a.yaml]\n",
        "primus/configs/modules/megatron/a.yaml": "extends: [../module_base.yaml]\n",
        "primus/configs/models/megatron/m.yaml": "num_layers: 2\n",
        "exp.yaml": HEAD + "    config: a\n    model: m\n",
    }
    answer = accmap("show", "exp.yaml", files=files)
    assert (answer.code, "MAP167" in answer.out + answer.err) == (2, True)


def test_variables_and_a_folder(accmap: Any) -> None:
    words = ("show", "exp.yaml", "--var", "PRIMUS_TP=4", "--var", "PRIMUS_MODEL=llama3_8B", "--format", "json")
    shown = json.loads(accmap(*words, files=CASES[0]["files"]).out)
    values = {one["key"]: one["value"] for one in shown["values"]}
    assert (values["tensor_model_parallel_size"], values["ffn_hidden_size"]) == (4, 14336)
    linted = json.loads(accmap("lint", ".", "--format", "json").out)
    assert [one["file"] for one in linted["summary"]["versions"]] == ["exp.yaml"]


LOADER = """
import json, sys
from primus.core.config.primus_config import load_primus_config
from primus.core.utils.yaml_utils import nested_namespace_to_dict
answers = {}
for path in sys.stdin.read().split():
    module = next(one for one in load_primus_config(path).modules if "trainer" in one.name)
    answers[path] = nested_namespace_to_dict(module.params)
print("ANSWERS" + json.dumps(answers))
"""
MEGATRON = "framework: megatron\n"
NOT_VALUES = frozenset(("model", "bases"))
TEMPLATE = "native_hf_to_megatron_sft.template.yaml"
"""Its model is `<YOUR_MODEL_YAML>`."""


@pytest.mark.frameworks
def test_every_public_experiment_has_the_values_of_its_own_loader(tmp_path: Path) -> None:
    if PRIMUS is None:
        pytest.skip("ACCMAP_PRIMUS_TREE names no checkout of Primus")
    paths = [str(path) for folder in ("examples", "tests/trainer") for path in Path(PRIMUS, folder).rglob("*.yaml")]
    paths = [path for path in paths if MEGATRON in Path(path).read_text("utf-8") and TEMPLATE not in path]
    words = [sys.executable, "-c", LOADER]
    environment = {"PYTHONPATH": PRIMUS, "PATH": ""}
    ran = subprocess.run(
        words, input="\n".join(paths), capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
    )
    loaded: dict[str, dict[str, Any]] = json.loads(ran.stdout.partition("ANSWERS")[2])
    assert len(loaded) >= 200
    assert {path: wrong for path, values in loaded.items() if (wrong := differences(path, values))} == {}


def differences(path: str, loaded: dict[str, Any]) -> dict[str, tuple[object, object]]:
    """The values that are read otherwise: the words that the file becomes, and the defaults of what has none."""
    config, fork = read_config(path), dialect_named("primus-26.5")
    assert fork is not None
    wrong: dict[str, tuple[object, object]] = {}
    for key, value in loaded.items():
        fact = fork.known.by_option.get(f"--{key}")
        one = config.settings.get(key if fact is None else fact.dest)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if one is not None and one.raw is not None:
            if one.raw[0] != text:
                wrong[key] = (one.raw[0], text)
        elif key not in NOT_VALUES and (fact is None or fact.default != value):
            wrong[key] = (fact and fact.default, value)
    return wrong
