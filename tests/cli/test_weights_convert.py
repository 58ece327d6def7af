"""`accmap weights convert` as a user runs it: exit codes, the page, the JSON, and refusals."""

from __future__ import annotations

import json
import os
import pickle
import sys
import zipfile
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
WHOLE = "model-00001-of-00001.safetensors"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, dict[str, Any]]:
    script, config = weight_files.pair("grouped", tmp_path)
    return script, config, weight_files.arrays(script)


def test_a_page_in_both_languages(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    script, config, found = files
    weight_files.write_megatron(tmp_path / "run", script, found)
    answer = accmap("weights", "convert", "run", "-o", "out", "--config", script, "--config", config)
    assert answer.code == 0
    assert answer.out.splitlines()[0] == "megatron torch 7 → mindformers out"
    assert "21 parameters" in answer.out
    assert "Transformer Engine state" in answer.out
    assert "load_checkpoint: out with load_ckpt_format: safetensors" in answer.out
    assert [line.partition(" (")[0] for line in answer.err.splitlines()] == [
        "written: out/accmap-weights.json",
        "written: out/model-00001-of-00001.safetensors",
        "written: out/param_name_map.json",
    ]
    again = accmap("weights", "convert", "run", "-o", "out", "--config", config, "--resume", "--lang", "zh")
    assert again.code == 0
    assert "其中 1 个文件此前已写出" in again.out


def test_the_json_follows_its_schema(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    script, config, found = files
    weight_files.write_mindformers(tmp_path / "run", config, found)
    words = ("weights", "convert", "run", "-o", "out", "--config", script, "--config", config, "--format", "json")
    answer = accmap(*words, "--tensor-parallel", "2", "--dtype", "bf16")
    assert answer.code == 0
    told = json.loads(answer.out)
    OUTPUTS["weights-convert"].model_validate(told)
    assert told["target"] == {"framework": "megatron", "form": "torch", "directory": "out"}
    assert [file["path"] for file in told["files"]] == [
        "release/mp_rank_00/model_optim_rng.pt",
        "release/mp_rank_01/model_optim_rng.pt",
        "latest_checkpointed_iteration.txt",
    ]
    assert all(os.path.getsize(tmp_path / "out" / file["path"]) == file["size"] for file in told["files"])


@pytest.mark.table(3)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "-o converted"),
        (("-o", "full"), "use `--resume` to continue a conversion or `--force` to overwrite"),
        (("-o", "run"), "contains the source checkpoint"),
        (("-o", "train.yaml"), "is a file"),
        (("-o", "out", "--tensor-parallel", "0"), "above 0"),
        (("-o", "out", "--shard-size", "nan"), "above 0"),
        (("-o", "out", "--shard-size", "inf"), "above 0"),
        (("-o", "out", "--tensor-parallel", "3", "--to", "megatron"), "EVD057"),
        (("-o", "out", "--tensor-parallel", "2", "--to", "mindformers"), "require a Megatron-LM target"),
        (("-o", "out", "--pipeline-parallel", "5", "--to", "megatron"), "layers (2) cannot be divided into 5 equal"),
        (("-o", "out", "--expert-parallel", "2", "--to", "megatron"), "--expert-parallel"),
        (
            ("-o", "out", "--ckpt-format", "torch_dist", "--tensor-parallel", "2"),
            "does not depend on the parallel sizes",
        ),
        (("-o", "out", "--ckpt-format", "torch_dist", "--to", "mindformers"), "require a Megatron-LM target"),
        (("-o", "out", "--ckpt-format", "zarr"), "--ckpt-format must be one of"),
        (("-o", "out", "--num-virtual-stages-per-pipeline-rank", "2"), "EVD100"),
        (("-o", "out", "--pipeline-parallel", "2", "--decoder-last-pipeline-num-layers", "3"), "EVD100"),
        (("-o", "out", "--pipeline-parallel", "2", "--pipeline-model-parallel-layout", "Et|tL"), "EVD100"),
        (("-o", "out", "--dtype", "int8"), "--dtype must be one of bf16, fp32, fp16"),
        (("-o", "out", "--to", "pytorch"), "--to must be one of"),
        (("-o", "out", "--config", "none.yaml"), "none.yaml"),
    ],
)
def test_wrong_use(accmap: Callable[..., Any], files: Any, words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    _, config, found = files
    weight_files.write_mindformers(tmp_path / "run", config, found)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    answer = accmap("weights", "convert", "run", "--config", "train.yaml", *words)
    assert answer.code == 2
    assert told in answer.err
    assert (tmp_path / "full" / "notes.txt").read_text() == "mine"
    assert not list((tmp_path / "out").rglob("*.pt"))


def test_what_is_left_out_is_told_with_its_effect(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    script, _, found = files
    moments = {"exp_avg": np.zeros(3000, np.float32)}
    weight_files.write_megatron(tmp_path / "run", script, found, optimizer={"state": {0: moments}})
    answer = accmap("weights", "convert", "run", "-o", "out", "--config", script)
    assert answer.code == 0
    assert "not converted: 1 tensors of optimizer state, 11.7 KiB" in answer.out
    assert "moments and the learning rate schedule start from zero" in answer.out
    words = ("weights", "convert", "run", "-o", "out", "--config", script, "--force")
    assert "动量从零开始" in accmap(*words, "--lang", "zh").out
    told = json.loads(accmap(*words, "--format", "json").out)
    OUTPUTS["weights-convert"].model_validate(told)
    (entry,) = (entry for entry in told["left_out"] if entry["what"] == "optimizer state")
    assert (entry["tensors"], entry["bytes"]) == (1, 12000)
    assert "moments" in entry["effect"]


def assert_same_arrays(made: Path, meant: Path) -> None:
    found, wanted = (weight_files.read_safetensors(folder / WHOLE) for folder in (made, meant))
    assert found.keys() == wanted.keys()
    assert [name for name in found if not np.array_equal(found[name], wanted[name])] == []


@pytest.mark.parametrize(
    ("family", "model"),
    [
        ("grouped", {"use_interleaved_weight_layout_mlp": False, "use_contiguous_weight_layout_attention": True}),
        ("deepseek", {"use_interleaved_weight_layout_mlp": False, "moe_grouped_gemm": True}),
    ],
)
def test_the_static_graph_s_weights_for_the_dynamic_graph_and_back(
    accmap: Callable[..., Any], tmp_path: Path, family: str, model: dict[str, Any]
) -> None:
    """The graphs arrange rows differently under equal names and shapes: each end needs its own configuration."""
    script, static = weight_files.pair(family, tmp_path, model=model)
    assert accmap("upgrade", static, "-o", "dynamic.yaml", "--write-anyway").code == 1
    found = weight_files.arrays(script)
    weight_files.write_mindformers(tmp_path / "static", static, found)
    weight_files.write_mindformers(tmp_path / "meant", str(tmp_path / "dynamic.yaml"), found)
    ends = ("--config", static, "--config", "dynamic.yaml")
    answer = accmap("weights", "convert", "static", "--to", "mindformers", *ends, "-o", "dynamic", "--format", "json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["configurations"] == [static, "dynamic.yaml"]
    assert_same_arrays(tmp_path / "dynamic", tmp_path / "meant")
    assert accmap("weights", "check", "static", "dynamic", *ends).code == 0
    assert accmap("weights", "check", "static", "static", *ends).code == 1, "the dynamic graph reads other rows"
    back = ("--config", "dynamic.yaml", "--config", static)
    assert accmap("weights", "convert", "dynamic", "--to", "mindformers", *back, "-o", "back").code == 0
    assert_same_arrays(tmp_path / "back", tmp_path / "static")
    for words in (("convert", "static", *ends, "-o", "out"), ("check", "static", *ends)):
        refused = accmap("weights", *words)
        assert (refused.code, "EVD114" in refused.err, "dynamic.yaml" in refused.err) == (2, True, True)


def test_the_distributed_form(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    _, config, found = files
    weight_files.write_mindformers(tmp_path / "run", config, found)
    words = ("weights", "convert", "run", "-o", "out", "--config", config, "--ckpt-format", "torch_dist")
    answer = accmap(*words, "--shard-size", "0.001")
    assert answer.code == 0
    assert "--load out --ckpt-format torch_dist" in answer.out
    assert (tmp_path / "out" / "release" / "__0_1.distcp").exists()
    assert accmap("weights", "check", "out", "run", "--config", config).code == 0
    told = json.loads(accmap(*words, "--force", "--format", "json").out)
    OUTPUTS["weights-convert"].model_validate(told)
    assert told["target"] == {"framework": "megatron", "form": "torch_dist", "directory": "out"}
    path = tmp_path / "out" / "release" / "__0_0.distcp"
    path.write_bytes(path.read_bytes()[:-9])
    cut = accmap("weights", "check", "out", "run", "--config", config)
    assert cut.code == 2
    assert "EVD043" in cut.err


def test_virtual_stages_and_uneven_ones(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    _, config, found = files
    weight_files.write_mindformers(tmp_path / "run", config, found)
    words = ("weights", "convert", "run", "--config", config, "--pipeline-parallel", "2")
    assert accmap(*words, "-o", "a", "--num-layers-per-virtual-pipeline-stage", "1").code == 0
    assert accmap(*words, "-o", "b", "--decoder-first-pipeline-num-layers", "1").code == 0
    assert accmap("weights", "check", "a", "b", "--config", config).code == 0
    newer = ("--megatron", "0.16", "--pipeline-model-parallel-layout", "E|t|t|L")
    assert accmap(*words, "-o", "c", *newer).code == 0
    assert accmap("weights", "check", "c", "b", "--config", config).code == 0


def test_force_writes_beside_other_files(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    _, config, found = files
    weight_files.write_mindformers(tmp_path / "run", config, found)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert accmap("weights", "convert", "run", "--config", config, "-o", "out", "--force").code == 0
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


class Harm:
    """What a prepared file would do, were it unpickled."""

    def __reduce__(self) -> Any:
        return os.system, ("touch harmed",)


@pytest.mark.parametrize("place", ["shard", "common", "metadata"])
def test_a_prepared_checkpoint_runs_nothing(accmap: Callable[..., Any], files: Any, place: str, tmp_path: Path) -> None:
    script, _, _ = files
    data = pickle.dumps({"model": {"output_layer.weight": Harm()}, "args": Harm()})
    folder = tmp_path / "run" / weight_files.ITERATION_FOLDER
    path = {
        "shard": folder / "mp_rank_00" / weight_files.SHARD,
        "common": folder / "common.pt",
        "metadata": folder / ".metadata",
    }[place]
    path.parent.mkdir(parents=True)
    if place == "metadata":
        path.write_bytes(data)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", data)
            archive.writestr("archive/version", "3")
    (folder / "__0_0.distcp").write_bytes(b"") if place != "shard" else None
    for command in (("convert", "run", "-o", "out"), ("check", "run")):
        answer = accmap("weights", *command, "--config", script)
        assert answer.code == 2
        assert "EVD044" in answer.err
        assert "system" in answer.err
    assert not (tmp_path / "harmed").exists()
    assert "未执行" in accmap("weights", "check", "run", "--lang", "zh").err


def test_what_is_not_finite_is_an_answer_of_1(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    script, config, found = files
    found["decoder.final_layernorm.weight"][3] = np.nan
    weight_files.write_megatron(tmp_path / "run", script, found)
    answer = accmap("weights", "convert", "run", "-o", "out", "--config", config)
    assert answer.code == 1
    assert "EVD048 decoder.final_layernorm.weight contains 1 NaN" in answer.err
    assert (tmp_path / "out" / "model-00001-of-00001.safetensors").exists()


def test_an_unknown_weight_is_an_answer_of_1(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    script, config, found = files
    found["decoder.layers.0.mlp.novelty.weight"] = np.ones((2, 2), np.float32)
    weight_files.write_megatron(tmp_path / "run", script, found)
    answer = accmap("weights", "convert", "run", "-o", "out", "--config", config)
    assert answer.code == 1
    assert "EVD046" in answer.err
    assert "decoder.layers.0.mlp.novelty.weight" in answer.err
    assert not (tmp_path / "out").exists()
