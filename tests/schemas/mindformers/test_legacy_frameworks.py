"""The same files, built by the real older model classes of MindSpore Transformers on a CPU.

Wheels are looked for as in `test_static_frameworks.py`.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap.mapper.computed.mindformers import model_class, rotary
from accmap.mapper.computed.quantities import computed_quantities
from accmap.mapper.computed.results import Values
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

HERE = Path(__file__).parent
RUN = HERE.parents[1] / "framework_run.py"
ORACLE = HERE / "legacy_oracle.py"
WHEELS = Path(os.environ.get("ACCMAP_MINDFORMERS", HERE.parents[2] / ".frameworks" / "mindformers"))
CASES: list[dict[str, Any]] = [
    case
    for case in yaml.safe_load((HERE / "legacy_cases.yaml").read_text(encoding="utf-8"))
    if "expected" in case and "only" not in case
]


def folder_of(version: str) -> str | None:
    for folder in (WHEELS / version, WHEELS / f"{version}.0"):
        if folder.is_dir():
            return str(folder)
    return "" if version == "1.9" and importlib.util.find_spec("mindformers") is not None else None


def text_of(case: dict[str, Any]) -> str:
    tree: dict[str, Any] = {"run_mode": "train", "trainer": {"type": "CausalLanguageModelingTrainer"}}
    tree["model"] = {"model_config": case["config"], "arch": {"type": case["arch"]}}
    if "experts" in case:
        tree["moe_config"] = case["experts"]
    return yaml.safe_dump(tree)


@pytest.mark.frameworks
@pytest.mark.parametrize("version", ["1.6", "1.9"])
def test_the_real_networks(version: str, tmp_path: Path) -> None:
    pytest.importorskip("mindspore")
    folder = folder_of(version)
    if folder is None:
        pytest.skip(f"MindSpore Transformers {version} is neither installed nor unpacked")
    paths: list[str] = []
    for case in CASES:
        path = tmp_path / f"{case['name']}.yaml"
        path.write_text(text_of(case), encoding="utf-8")
        paths.append(str(path))
    environment = {**os.environ, "PYTHONPATH": folder} if folder else dict(os.environ)
    done = subprocess.run(
        [sys.executable, str(RUN), str(ORACLE), *paths], env=environment, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert lines, done.stderr[-3000:]
    wrong: dict[str, Any] = {}
    for case, real in zip(CASES, json.loads(lines[-1].removeprefix("RESULT")), strict=True):
        options = ReadOptions(mindformers=version)
        config = config_of(SourceText("train.yaml", text_of(case)), options, path="train.yaml")
        found = _differences(config, real)
        if found:
            wrong[case["name"]] = found
    assert wrong == {}


def _differences(config: Config, real: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Every quantity of the network by accmap's reading beside the real one, where they differ."""
    said: dict[str, Any] = {
        name.removeprefix("resolved.transformer."): setting.value
        for name, setting in config.settings.items()
        if name.startswith("resolved.transformer.")
    }
    shapes: dict[str, list[int]] = real["shapes"]
    glm = config.value("resolved.model.class") == "ChatGLM2Config"
    pairs: dict[str, tuple[Any, Any]] = {
        "normalization": (said["normalization"], "RMSNorm" if real["norms"] else "LayerNorm"),
        "epsilon": (
            [round(said["layernorm_epsilon"], 12)] if said["normalization"] == "RMSNorm" else [],
            [epsilon for _, epsilon in real["norms"]],
        ),
        "cosines": _close(_cosines(config), real["cosines"]),
        "parameters": (computed_quantities(config)["computed.parameters"].value, real["parameters"]),
        "dropout": (said["hidden_dropout"], max(real["dropouts"], default=0.0)),
        **(_glm(said, shapes) if glm else _llama(said, shapes, real)),
    }
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _close(ours: list[list[float]], real: list[list[float]]) -> tuple[Any, Any]:
    same = len(ours[0]) <= len(real[0]) and all(
        math.isclose(one, other, abs_tol=2e-6)
        for mine, theirs in zip(ours, real, strict=True)
        for one, other in zip(mine, theirs[: len(mine)], strict=True)
    )
    return (ours, ours) if same else (ours, real)


def _cosines(config: Config) -> list[list[float]]:
    """What the formulas say of the rotary frequencies, for the first three positions."""
    made_by = model_class(config.value("resolved.model.class"), config.dialect, config.framework_version)
    turning = rotary(Values(config, "resolved.transformer."), made_by)
    assert turning is not None
    rates, amplitude = turning
    rows = [[math.cos(position * rate) * amplitude for rate in rates] for position in range(3)]
    if config.value("resolved.transformer.rotary_interleaved"):
        return [[one for value in row for one in (value, value)] for row in rows]
    return [row + row for row in rows]


def _llama(said: dict[str, Any], shapes: dict[str, list[int]], real: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    layer = "model.layers.0."
    groups = said["num_query_groups"] * said["kv_channels"]
    experts = said["num_moe_experts"]
    inner = [shape for name, shape in shapes.items() if name.endswith("w1.weight")]
    width = said["moe_ffn_hidden_size"] if experts else said["ffn_hidden_size"]
    return {
        "layers": (said["num_layers"], sum(name.endswith("attention.wq.weight") for name in shapes)),
        "embedding": ([said["vocab_size"], said["hidden_size"]], shapes["model.tok_embeddings.embedding_weight"]),
        "keys": ([groups, said["hidden_size"]], shapes[layer + "attention.wk.weight"]),
        "width": (width, inner[0][-2]),
        "gate": (said["gated_linear_unit"], any(name.endswith("w3.weight") for name in shapes)),
        "experts": (experts, inner[0][0] if experts else None),
        "qkv bias": (said["add_qkv_bias"], layer + "attention.wq.bias" in shapes),
        "output bias": (said["add_attention_output_bias"], layer + "attention.wo.bias" in shapes),
        "other bias": (False, any(name.endswith(".bias") and "attention.w" not in name for name in shapes)),
        "tied": (said["tie_word_embeddings"], "lm_head.weight" not in shapes),
        "topk": ([said["moe_router_topk"]] if experts else [], real["topk"] if experts else []),
        "balancing loss": (False, real["returns_loss"]),
        "types": (said["params_dtype"] in real["types"], True),
    }


def _glm(said: dict[str, Any], shapes: dict[str, list[int]]) -> dict[str, tuple[Any, Any]]:
    layer = "transformer.encoder.layers.0."
    rows = (said["num_attention_heads"] + 2 * said["num_query_groups"]) * said["kv_channels"]
    return {
        "layers": (said["num_layers"], sum(name.endswith("mlp.dense_h_to_4h.weight") for name in shapes)),
        "output": ([said["vocab_size"], said["hidden_size"]], shapes["transformer.output_layer.weight"]),
        "qkv": ([rows, said["hidden_size"]], shapes[layer + "self_attention.query_key_value.weight"]),
        "qkv bias": (said["add_qkv_bias"], layer + "self_attention.query_key_value.bias" in shapes),
        "width": (2 * said["ffn_hidden_size"], shapes[layer + "mlp.dense_h_to_4h.weight"][0]),
        "other bias": (
            said["add_bias_linear"],
            any(name.endswith(".bias") and "query_key_value" not in name for name in shapes),
        ),
    }
