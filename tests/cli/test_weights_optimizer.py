"""`accmap weights convert --optimizer`: Adam's moments, the step, and because the optimizer updates float32 weights."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.outputs import OUTPUTS

np = pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence" / "weights"))
import weight_files  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.procedure("proc.weights.convert")
STEP = 12
MODEL, OPTIMIZER = "model-00001-of-00001.safetensors", "opt-0000001-0000001.safetensors"
FORMS = ("torch", "torch, bfloat16", "torch_dist", "torch_dist, flat")


def kinds_of(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Other numbers for each moment; the counters of experts have none."""
    trained = {name: array for name, array in found.items() if not name.endswith(".expert_bias")}
    return {
        "exp_avg": {name: array * np.float32(0.5) for name, array in trained.items()},
        "exp_avg_sq": {name: array * array for name, array in trained.items()},
    }


def rounded(array: Any) -> Any:
    """The upper 16 bits, which stand for bfloat16."""
    return (array.view(np.uint32) >> 16).astype(np.uint16)


def save(folder: Path, form: str, script: str, found: dict[str, Any]) -> None:
    kinds = kinds_of(found)
    if form.startswith("torch_dist"):
        weight_files.write_distributed(folder, script, found, adam=kinds, flat="flat" in form, step=STEP)
        return
    state = weight_files.adam_state(found, STEP, kinds)
    if "bfloat16" in form:
        decaying: list[Any] = []
        sparing: list[Any] = []
        for name, array in found.items():
            (decaying if array.ndim > 1 and not name.endswith(".bias") else sparing).append(array)
        state = {"optimizer": state, "fp32_from_fp16_params": [decaying, sparing]}
        found = {name: rounded(array) for name, array in found.items()}
    weight_files.write_megatron(folder, script, found, optimizer=state)


def written(folder: Path, config: str, meant: dict[str, Any], prefix: str, file: str) -> list[str]:
    """The parameters of a file that are not what they should be."""
    expected = weight_files.read_safetensors(
        weight_files.write_mindformers(folder.parent / f"{folder.name}.{prefix}", config, meant) / MODEL
    )
    there = {
        name.removeprefix(prefix): one
        for name, one in weight_files.read_safetensors(folder / file).items()
        if prefix in name
    }
    assert there.keys() == expected.keys()
    return [name for name in there if not np.array_equal(there[name], expected[name])]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("graph", ["static", "dynamic"])
def test_megatron_s_state_for_mindspore_transformers(
    accmap: Callable[..., Any], tmp_path: Path, form: str, graph: str
) -> None:
    family = "moe_softmax" if form.startswith("torch_dist") else "grouped"
    script, config = weight_files.pair(
        family, tmp_path, model={"moe_grouped_gemm": True} if family == "moe_softmax" else {}
    )
    if graph == "dynamic":
        accmap("upgrade", config, "-o", "dynamic.yaml", "--write-anyway")
        config = str(tmp_path / "dynamic.yaml")
    found = weight_files.arrays(script)
    save(tmp_path / "run", form, script, found)
    words = ("weights", "convert", "run", "-o", "out", "--config", config, "--optimizer", "--format", "json")
    answer = accmap(*words)
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    OUTPUTS["weights-convert"].model_validate(told)
    assert (told["updates"], told["dtypes"]) == (STEP, ["F32"])
    assert "optimizer state" not in [entry["what"] for entry in told["left_out"]]
    common = json.loads((tmp_path / "out" / "common.json").read_text("utf-8"))
    assert (common["global_step"], common["step_num"], common["global_batch_size"]) == (STEP, STEP, 2)
    kinds = kinds_of(found)
    assert written(tmp_path / "out", config, found, "", MODEL) == [], "because the optimizer updates float32 weights"
    assert written(tmp_path / "out", config, kinds["exp_avg"], "adam_m.", OPTIMIZER) == []
    assert written(tmp_path / "out", config, kinds["exp_avg_sq"], "adam_v.", OPTIMIZER) == []


def test_a_page_and_the_other_graph(accmap: Callable[..., Any], tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    accmap("upgrade", config, "-o", "dynamic.yaml", "--write-anyway")
    found = weight_files.arrays(script)
    save(tmp_path / "run", "torch", script, found)
    words = ("weights", "convert", "run", "-o", "static", "--config", config, "--optimizer")
    plan = json.loads(accmap(*words, "--plan", "--format", "json").out)
    assert OPTIMIZER in [file["path"] for file in plan["files"]]
    assert "optimizer state" not in [entry["what"] for entry in plan["left_out"]]
    page = accmap(*words)
    assert "with Adam's moments, after 12 updates" in page.out
    assert "no_load_optim: False" in page.out
    ends = ("--config", config, "--config", "dynamic.yaml")
    words = ("weights", "convert", "static", "--to", "mindformers", *ends, "--optimizer")
    chinese = accmap(*words, "-o", "dynamic", "--lang", "zh")
    assert (chinese.code, "已更新 12 次" in chinese.out) == (0, True), chinese.err
    dynamic = str(tmp_path / "dynamic.yaml")
    assert written(tmp_path / "dynamic", dynamic, kinds_of(found)["exp_avg"], "adam_m.", OPTIMIZER) == []
    again = accmap("weights", "convert", "static", "--to", "mindformers", *ends, "-o", "dynamic", "--resume")
    assert (again.code, "EVD054" in again.err) == (2, True), "without --optimizer it is another conversion"


def test_what_the_dynamic_graph_s_trainer_asks_of_every_checkpoint(accmap: Callable[..., Any], tmp_path: Path) -> None:
    """`pynative/trainer/trainer.py:_load_checkpoint` stops without a `common.json`, 1.9 to 2.1."""
    script, config = weight_files.pair("grouped", tmp_path)
    accmap("upgrade", config, "-o", "dynamic.yaml", "--write-anyway")
    weight_files.write_megatron(tmp_path / "run", script, weight_files.arrays(script))
    dynamic = accmap("weights", "convert", "run", "-o", "dynamic", "--config", "dynamic.yaml")
    assert "checkpoint.load_path: dynamic with checkpoint.no_load_optim: True" in dynamic.out
    assert json.loads((tmp_path / "dynamic" / "common.json").read_text("utf-8"))["global_step"] == 0
    assert accmap("weights", "convert", "run", "-o", "static", "--config", config).code == 0
    assert not (tmp_path / "static" / "common.json").exists()


@pytest.mark.parametrize(
    ("damage", "words", "code", "told"),
    [
        ("none", (), 1, "(0 tensors, 0.0 MiB): the checkpoint contains weights only"),
        ("short", (), 1, "the model's parameters"),
        ("other shape", (), 1, "EVD116"),
        ("chained", (), 1, "several optimizers"),
        ("buffers", (), 1, "distrib_optim.pt contains the distributed optimizer's buffers"),
        ("buffers", ("--lang", "zh"), 1, "缓冲区"),
        ("distributed buffers", (), 1, "--dist-ckpt-optim-fully-reshardable"),
        ("missing", (), 1, "EVD117"),
        ("", ("--to", "megatron", "--expert-parallel", 2), 1, "EVD118"),
        ("", ("--dtype", "bf16"), 2, "fp32"),
    ],
)
def test_what_cannot_be_carried_is_refused(
    accmap: Callable[..., Any], tmp_path: Path, damage: str, words: tuple[str, ...], code: int, told: str
) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    found = weight_files.arrays(script)
    kinds = kinds_of(found)
    state: Any = weight_files.adam_state(found, STEP, kinds)
    if damage == "missing":
        del kinds["exp_avg"]["decoder.final_layernorm.weight"]
        weight_files.write_distributed(tmp_path / "run", script, found, adam=kinds, step=STEP)
    elif damage == "none":
        weight_files.write_megatron(tmp_path / "run", script, found)
    elif damage == "buffers":
        place = (
            weight_files.write_megatron(tmp_path / "run", script, found) / weight_files.ITERATION_FOLDER / "mp_rank_00"
        )
        (place / "distrib_optim.pt").write_bytes(bytes(1 << 21))
    elif damage == "distributed buffers":
        weight_files.write_distributed(tmp_path / "run", script, found, adam={}, buffers=kinds["exp_avg"])
    else:
        if damage == "short":
            state["param_groups"][0]["params"].pop()
        elif damage == "other shape":
            state["state"][0]["exp_avg"] = np.zeros((2, 2), np.float32)
        elif damage == "chained":
            state = {0: state, 1: state}
        weight_files.write_megatron(tmp_path / "run", script, found, optimizer=state)
    answer = accmap("weights", "convert", "run", "-o", "out", "--config", config, "--optimizer", *words)
    assert (answer.code, told in answer.err) == (code, True), answer.err
    assert not (tmp_path / "out").exists()


LAYOUTS = {
    "torch": ({}, ()),
    "torch, half": ({"bf16": True}, ()),
    "torch, cut": ({}, ("--tensor-parallel", 2, "--pipeline-parallel", 2)),
    "torch, chunks": ({"num-layers": 4}, ("--pipeline-parallel", 2, "--num-layers-per-virtual-pipeline-stage", 1)),
    "torch_dist": ({}, ()),
    "torch_dist, half": ({"bf16": True}, ()),
    "torch_dist, distributed": ({"bf16": True, "use-distributed-optimizer": True}, ()),
    "torch_dist, experts": ({"expert-model-parallel-size": 2}, ("--transformer-impl", "transformer_engine")),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_state_for_megatron_in_every_layout_and_back(accmap: Callable[..., Any], tmp_path: Path, layout: str) -> None:
    """The weights that the optimizer updates, and its moments, are the same numbers after two conversions."""
    flags, words = LAYOUTS[layout]
    family = "moe_softmax" if "experts" in layout else "grouped"
    model = {"num_hidden_layers": flags.get("num-layers", 2), "moe_grouped_gemm": family == "moe_softmax"}
    sizes = {"bf16": None, "num-layers": model["num_hidden_layers"]}
    plain, _ = weight_files.pair(family, tmp_path / "plain", megatron=sizes, model=model)
    save(tmp_path / "run", "torch", plain, weight_files.arrays(plain))
    script, config = weight_files.pair(family, tmp_path, megatron={**sizes, **flags}, model=model)
    ends = ("--config", script, "--config", config, "--optimizer")
    assert accmap("weights", "convert", "run", "-o", "before", *ends).code == 0
    form = layout.partition(",")[0]
    there = accmap("weights", "convert", "before", "-o", "there", *ends, "--ckpt-format", form, *words)
    assert (there.code, f"--ckpt-format {form} --no-load-rng" in there.out) == (0, True), there.err
    assert (tmp_path / "there" / "latest_checkpointed_iteration.txt").read_text().strip() == str(STEP)
    back = accmap("weights", "convert", "there", "-o", "back", *ends, "--format", "json")
    assert (back.code, json.loads(back.out)["updates"]) == (0, STEP), back.err
    for name in (MODEL, OPTIMIZER):
        assert (tmp_path / "back" / name).read_bytes() == (tmp_path / "before" / name).read_bytes(), name
    straight = ("weights", "convert", "run", "-o", "straight", *ends, "--to", "megatron", "--ckpt-format", form, *words)
    assert accmap(*straight).code == 0
    assert accmap("weights", "check", "straight", "there", "--config", script).code == 0


@pytest.mark.parametrize(
    ("flags", "words", "why"),
    [
        ({"use-distributed-optimizer": True}, (), "data-parallel"),
        ({"use-distributed-optimizer": True}, ("--lang", "zh"), "缓冲区"),
        ({"optimizer": "sgd"}, ("--ckpt-format", "torch_dist"), "--optimizer sgd"),
        ({"decoupled-lr": 0.1}, ("--ckpt-format", "torch_dist"), "--decoupled-lr"),
        ({"train-iters": None}, (), "train_iters"),
        ({"optimizer": "$OPTIMIZER"}, ("--ckpt-format", "torch_dist"), "the argument --optimizer"),
        ({"embedding-init-method-std": "$STD"}, (), "the argument --embedding-init-method-std"),
        ({"transformer-impl": "$IMPLEMENTATION"}, (), "the argument --transformer-impl"),
    ],
)
def test_why_state_is_not_written_for_megatron(
    accmap: Callable[..., Any], tmp_path: Path, flags: dict[str, Any], words: tuple[str, ...], why: str
) -> None:
    script, _config = weight_files.pair("grouped", tmp_path, megatron=flags)
    save(tmp_path / "run", "torch", script, weight_files.arrays(script))
    answer = accmap(
        *("weights", "convert", "run", "-o", "out", "--config", script, "--to", "megatron", "--optimizer", *words)
    )
    assert (answer.code, why in answer.err) == (1, True), answer.err
    assert not (tmp_path / "out").exists()


def test_moments_of_a_file_without_a_step(accmap: Callable[..., Any], tmp_path: Path) -> None:
    script, config = weight_files.pair("grouped", tmp_path)
    found = weight_files.arrays(script)
    folder = weight_files.write_mindformers(tmp_path / "run", config, found)
    stored = weight_files.read_safetensors(folder / MODEL)
    state = {f"{prefix}.{name}": array for prefix in ("adam_m", "adam_v") for name, array in stored.items()}
    weight_files.write_safetensors(folder / "opt-0000000-0000001.safetensors", state)
    words = ("weights", "convert", "run", "--to", "mindformers", "--config", config, "--optimizer")
    refused = accmap(*words, "-o", "out")
    assert (refused.code, "EVD116" in refused.err) == (1, True), refused.err
    weight_files.write_safetensors(
        folder / "opt-0000000-0000001.safetensors", {**state, "global_step": np.array([7], np.int32)}
    )
    answer = accmap(*words, "-o", "out", "--format", "json")
    assert json.loads(answer.out)["updates"] == 7, answer.err
