"""`accmap weights check` as a user runs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.outputs import OUTPUTS

np = pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence" / "weights"))
from weight_files import arrays, namespace, pair, write_megatron, write_mindformers  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "decoder.layers.1.mlp.linear_fc2.weight"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, dict[str, Any]]:
    script, config = pair("grouped", tmp_path)
    return script, config, arrays(script)


def test_equal_checkpoints(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    script, config, found = files
    write_megatron(tmp_path / "a", script, found)
    write_mindformers(tmp_path / "b", config, found)
    answer = accmap("weights", "check", "a", "b", "--config", config)
    assert answer.code == 0
    assert "21 equal" in answer.out
    log = {"infer.log": "These parameters are not loaded in the network: []\n"}
    both = ("weights", "check", "a", config, "--log", "infer.log")
    assert "21 equal" in accmap(*both, files=log).out
    assert "cannot report a checkpoint and a log together" in accmap(*both, "--format", "json").err
    assert "Without a configuration" not in answer.out
    assert "Without a configuration" in accmap("weights", "check", "a", "b").out
    assert NAME in accmap("weights", "check", "a", "b", "--all").out
    assert "Transformer Engine 的附加状态" in accmap("weights", "check", "a", "b", "--lang", "zh").out


def test_weights_of_another_model_are_partial(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    script, config, found = files
    write_megatron(tmp_path / "a", script, found)
    write_mindformers(tmp_path / "b", config, found)
    other = Path(__file__).parents[2] / "examples" / "qwen3_dense" / "mindformers.yaml"
    answer = accmap("weights", "check", "a", "b", "--config", str(other))
    assert answer.code == 1
    assert "21 equal" in answer.out
    assert "the weights do not match" in answer.out
    told = json.loads(accmap("weights", "check", "a", "b", "--config", str(other), "--format", "json").out)
    assert told["verdict"] == "partial"
    assert len(told["not_compared"]) == 2


def test_a_long_comparison_is_told_of(
    accmap: Callable[..., Any], files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, config, found = files
    write_megatron(tmp_path / "a", script, found)
    write_mindformers(tmp_path / "b", config, found)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert not accmap("weights", "check", "a", "b").err
    monkeypatch.setattr("accmap.cli.progress.QUIET", 0.001)
    assert " of 21: decoder." in accmap("weights", "check", "a", "b").err
    assert not accmap("weights", "check", "a", "b", "--quiet").err


def test_a_difference_is_shown_with_both_sides(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    script, config, found = files
    write_megatron(tmp_path / "a", script, found)
    other = {name: array.copy() for name, array in found.items()}
    other[NAME] *= 2
    write_mindformers(tmp_path / "b", config, other)
    answer = accmap("weights", "check", "a", "b", "--config", config)
    assert answer.code == 1
    assert f"different  {NAME}" in answer.out
    assert "0.5 of the largest value" in answer.out
    assert "20 相同、1 不同" in accmap("weights", "check", "a", "b", "--config", config, "--lang", "zh").out.replace(
        "1 不同, 20 相同", "20 相同、1 不同"
    )
    told = json.loads(accmap("weights", "check", "a", "b", "--config", config, "--format", "json").out)
    OUTPUTS["weights-check"].model_validate(told)
    assert told["verdict"] == "different"
    assert told["summary"] == {"equal": 20, "different": 1}
    (row,) = (row for row in told["rows"] if row["status"] == "different")
    assert row["b"]["statistics"]["norm"] == pytest.approx(2 * row["a"]["statistics"]["norm"])


def test_a_checkpoint_against_a_configuration(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    _, config, found = files
    write_mindformers(tmp_path / "b", config, found)
    assert accmap("weights", "check", "b", "train.yaml").code == 0
    (tmp_path / "other").mkdir()
    pair("grouped", tmp_path / "other", model={"num_hidden_layers": 3, "intermediate_size": 192})
    answer = accmap("weights", "check", "b", "other/train.yaml")
    assert answer.code == 1
    assert "shapes differ  decoder.layers.0.mlp.linear_fc1.weight" in answer.out
    assert "[512, 128]" in answer.out
    assert "[384, 128]" in answer.out
    assert "only in B  decoder.layers.2.input_layernorm.weight" in answer.out


def test_a_changed_file_of_a_conversion_is_named(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    script, config, found = files
    write_megatron(tmp_path / "a", script, found)
    assert accmap("weights", "convert", "a", "-o", "out", "--config", config).code == 0
    assert accmap("weights", "check", "out", config).code == 0
    path = tmp_path / "out" / "model-00001-of-00001.safetensors"
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)
    answer = accmap("weights", "check", "out", config)
    assert answer.code == 1
    assert "EVD042" in answer.err
    assert "checksum" in answer.err


def test_copies_within_a_checkpoint(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    from accmap.evidence.weights.tensor_files import TorchFile

    _, config, found = files
    write_mindformers(tmp_path / "run", config, found)
    assert accmap("weights", "convert", "run", "-o", "two", "--config", config, "--tensor-parallel", "2").code == 0
    assert "copies within a checkpoint: 9 compared, 0 different" in accmap("weights", "check", "two", config).out
    (tmp_path / "two" / "accmap-weights.json").unlink()
    shard = tmp_path / "two" / "release" / "mp_rank_01" / "model_optim_rng.pt"
    file = TorchFile(str(shard))
    weight = file.weight("x", file.content["model"]["decoder.final_layernorm.weight"])
    with shard.open("r+b") as stream:
        stream.seek(weight.place.offset)
        stream.write(np.float32(77).tobytes())
    answer = accmap("weights", "check", "two", config)
    assert answer.code == 1
    assert "EVD055 decoder.final_layernorm.weight should be the same in" in answer.err
    assert "1 different" in answer.out
    assert "不同 1 个" in accmap("weights", "check", "two", config, "--lang", "zh").out
    told = json.loads(accmap("weights", "check", "two", config, "--format", "json").out)
    OUTPUTS["weights-check"].model_validate(told)
    assert told["copies"] == {"compared": 9, "different": 1}
    assert told["findings"][0]["code"] == "EVD055"
    assert told["verdict"] == "different"


@pytest.mark.procedure("proc.infer.weight_loading")
def test_an_inference_log(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    log = (
        "These parameters are not loaded in the network: ['decoder.layers.0.self_attention.linear_qkv.bias']\n"
        "These parameters are not loaded in the weights: ['global_step']\n"
    )
    answer = accmap("weights", "check", "train.yaml", "--log", "infer.log", files={"infer.log": log})
    assert answer.code == 1
    assert "the network has a bias" in answer.out
    assert "infer.log:1" in answer.out
    assert "harmless" in answer.out
    told = json.loads(accmap("weights", "check", "--log", "infer.log", "--format", "json").out)
    OUTPUTS["weights-log"].model_validate(told)
    assert told["verdict"] == "problems"
    assert told["summary"] == {"names": 2, "problems": 1}
    empty = "These parameters are not loaded in the network: []\n"
    answer = accmap("weights", "check", "--log", "empty.log", files={"empty.log": empty})
    assert answer.code == 0
    assert "so no weight is missing" in answer.out
    assert "a different order" in answer.out
    piped = accmap("weights", "check", "--log", "-", stdin=log)
    assert piped.code == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "requires a checkpoint, or an inference log with `--log FILE`"),
        (("nowhere",), "EVD040"),
        (("train.yaml",), "a different type"),
        (("--log", "nowhere.log"), "nowhere.log"),
        (("--log", "train.yaml"), "EVD042"),
        (("empty",), "the folder contains no checkpoint"),
        (("a", "b", "c"), "remove 'c'"),
        (("train.yaml", "--tolerance", "nan"), "--tolerance must be 0 or more"),
        (("train.yaml", "--tolerance", "-1"), "--tolerance must be 0 or more"),
    ],
)
def test_wrong_use(accmap: Callable[..., Any], files: Any, words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    answer = accmap("weights", "check", *words)
    assert answer.code == 2
    assert told in answer.err


def test_numpy_is_asked_for_by_name(
    accmap: Callable[..., Any], files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, config, found = files
    write_mindformers(tmp_path / "b", config, found)
    monkeypatch.setitem(sys.modules, "numpy", None)
    answer = accmap("weights", "check", "b", "train.yaml")
    assert answer.code == 2
    assert "[evidence]" in answer.err


def test_a_configuration_is_spoken_of_in_its_own_names(accmap: Callable[..., Any], tmp_path: Path) -> None:
    script, config = pair("latent", tmp_path)
    found = arrays(script)
    write_mindformers(tmp_path / "whole", config, found)
    own = json.loads(accmap("weights", "check", "whole", config, "--format", "json").out)
    renamed = [row for row in own["rows"] if row["b"] is not None and row["b"]["name"] != row["name"]]
    assert renamed, "latent attention is written otherwise"
    assert all(row["a"]["name"] == row["b"]["name"] for row in renamed)
    assert all(row["status"] == "equal" for row in own["rows"])
    spelled = [row["b"]["name"] for row in renamed]
    alone = next(row for row in renamed if spelled.count(row["b"]["name"]) == 1)
    lost = alone["name"]
    write_mindformers(tmp_path / "lacking", config, {name: array for name, array in found.items() if name != lost})
    answer = accmap("weights", "check", "lacking", config)
    assert answer.code == 1
    assert f"only in B  {alone['b']['name']}" in answer.out
    assert f"  {lost}\n" not in answer.out


def test_a_hugging_face_folder_is_said_to_be_one(accmap: Callable[..., Any], files: Any, tmp_path: Path) -> None:
    script, config, found = files
    write_megatron(tmp_path / "a", script, found)
    (tmp_path / "hf").mkdir()
    from weight_files import write_safetensors

    names = ("model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight", "lm_head.weight")
    write_safetensors(tmp_path / "hf" / "model.safetensors", {name: np.ones((4, 4), np.float32) for name in names})
    answer = accmap("weights", "check", "a", "hf", "--config", config)
    assert answer.code == 1
    assert "hf has 3 tensors with Hugging Face names" in answer.out
    assert "lm_head.weight" not in answer.out
    assert "lm_head.weight" in accmap("weights", "check", "a", "hf", "--all").out
    assert "hf 中有 3 个张量使用 Hugging Face 名称" in accmap("weights", "check", "a", "hf", "--lang", "zh").out


@pytest.mark.parametrize(
    "value", [2**63, 10**9, pytest.param(10**4999, id="long"), -1, 1.5, "8", float("nan"), [1], None]
)
@pytest.mark.parametrize(
    "name", ["tensor_model_parallel_size", "pipeline_model_parallel_size", "num_layers", "num_experts", "kv_channels"]
)
def test_an_argument_of_a_checkpoint_may_be_any_number(
    accmap: Callable[..., Any], files: Any, tmp_path: Path, name: str, value: object
) -> None:
    """Nothing is as large as a number that a stranger's pickle holds."""
    script, _, found = files
    arguments = namespace(script)
    setattr(arguments, name, value)
    write_megatron(tmp_path / "a", script, found, args=arguments)
    for words in (("check", "a"), ("convert", "a", "--plan"), ("convert", "a", "-o", "out", "--force")):
        answer = accmap("weights", *words)
        assert answer.code in (0, 1, 2), answer.err
        assert "Traceback" not in answer.err
