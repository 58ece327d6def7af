"""Public models at their published size: as many parameters as published, and as the classes of transformers have."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.mapper.computed.quantities import computed_quantities
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from accmap.schemas.config import Config

HERE = Path(__file__).parent
MODELS: list[dict[str, Any]] = load_table((HERE / "public_models.yaml").read_text("utf-8"))
UNITS = {"M": 10**6, "B": 10**9}
SHARED = (
    "--seq-length 1024 --micro-batch-size 1 --global-batch-size 8 --train-iters 10 --lr 1e-4 --bf16 "
    "--tokenizer-type NullTokenizer --data-path d"
)


def configs(model: dict[str, Any]) -> list[Config]:
    """The model as both frameworks' files."""
    words = model["megatron"].replace("(", "\\(").replace(")", "\\)").replace("*", "\\*")
    script = f"torchrun --nproc_per_node 1 pretrain_gpt.py {SHARED} {words}\n"
    found = [config_of(SourceText("n.sh", script), ReadOptions(megatron="0.19"), path="n.sh")]
    if "mindspeed_llm" in model:
        script = f"torchrun --nproc_per_node 1 pretrain_gpt.py {SHARED} {model['mindspeed_llm']}\n"
        found.append(config_of(SourceText("m.sh", script), ReadOptions(megatron="mindspeed-llm-26.1"), path="m.sh"))
    if "mindformers" in model:
        text = f"use_legacy: False\nrun_mode: train\nmodel: {{model_config: {{{model['mindformers']}}}}}\n"
        found.append(config_of(SourceText("n.yaml", text), ReadOptions(mindformers="1.9"), path="n.yaml"))
    return found


def printed(number: int, like: str) -> set[str]:
    """A number in the unit and to the precision of a published one: rounded, and cut."""
    figure, unit = like.split()
    step = Decimal(1).scaleb(-len(figure.partition(".")[2]))
    return {f"{(Decimal(number) / UNITS[unit]).quantize(step, way)} {unit}" for way in (ROUND_HALF_UP, ROUND_DOWN)}


def counted(config: Config, name: str) -> int:
    value = computed_quantities(config)[f"computed.{name}"].value  # type: ignore[index]
    assert isinstance(value, int), (config.framework, name, value)
    return value


@pytest.mark.parametrize("model", MODELS, ids=[model["name"] for model in MODELS])
def test_the_published_figures(model: dict[str, Any]) -> None:
    for config in configs(model):
        assert model["total"] in printed(counted(config, "parameters"), model["total"])
        if "active" in model:
            assert model["active"] in printed(counted(config, "active_parameters"), model["active"])


def test_a_figure_is_held_to_its_precision() -> None:
    assert printed(8_030_261_248, "8.03 B") == {"8.03 B"}
    assert printed(7_615_616_512, "7.61 B") == {"7.61 B", "7.62 B"}
    assert printed(124_439_808, "124 M") == {"124 M"}


@pytest.mark.frameworks
def test_the_classes_of_transformers() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    command = [sys.executable, "-B", str(HERE / "transformers_sizes.py")]
    jobs = json.dumps([{"class": model["class"], "config": model["config"]} for model in MODELS])
    done = subprocess.run(command, input=jobs, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(MODELS) >= 8
    wrong: list[str] = []
    for model, (total, expert) in zip(MODELS, json.loads(done.stdout), strict=True):
        shape: dict[str, int] = model["config"]
        number = shape.get("num_experts", shape.get("num_local_experts", shape.get("n_routed_experts", 0)))
        layers = shape.get("num_hidden_layers", 0) - shape.get("first_k_dense_replace", 0)
        idle = (number - shape.get("num_experts_per_tok", 0)) * layers * expert
        for config in configs(model):
            found = counted(config, "parameters"), counted(config, "active_parameters")
            if found != (total, total - idle):
                wrong.append(f"{model['name']}, {config.framework}: {found} for {(total, total - idle)}")
    assert wrong == []
