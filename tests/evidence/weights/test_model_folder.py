"""A model folder of transformers whose parts, `config.json` and run do not fit together is never joined wrongly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from accmap.cli.lean import main

np = pytest.importorskip("numpy")

from weight_files import arrays, pair, read_safetensors, write_megatron, write_safetensors  # noqa: E402

if TYPE_CHECKING:
    from typing import Any

LAYER = "model.layers.0.self_attn"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`run.sh`, `run.yaml`, Megatron-LM's checkpoint of them, and the model folder that is written of it."""
    script, config = pair("grouped", tmp_path)
    Path(script).rename(tmp_path / "run.sh")
    Path(config).rename(tmp_path / "run.yaml")
    write_megatron(tmp_path / "checkpoint", str(tmp_path / "run.sh"), arrays(str(tmp_path / "run.sh")))
    monkeypatch.chdir(tmp_path)
    assert accmap("weights convert checkpoint --to huggingface --config run.sh -o model") == 0
    model = tmp_path / "model"
    found = tensors(model)
    for path in model.iterdir():
        if path.name != "config.json":
            path.unlink()
    write_safetensors(model / "model.safetensors", found)
    return model


def accmap(line: str) -> int:
    return main(line.split())


def change(model: Path, **keys: Any) -> None:
    path = model / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **keys}), "utf-8")


def rewrite(model: Path, found: dict[str, Any]) -> None:
    (path,) = model.glob("*.safetensors")
    write_safetensors(path, found)


def tensors(model: Path) -> dict[str, Any]:
    (path,) = model.glob("*.safetensors")
    return read_safetensors(path)


def test_what_fits_comes_back(made: Path) -> None:
    assert accmap("weights convert model --to mindformers --config run.yaml -o out") == 0
    assert accmap("weights check model out --config run.yaml") == 0
    assert accmap("weights check model run.sh") == 0


@pytest.mark.parametrize("target", ["megatron --config run.sh", "mindformers --config run.yaml"])
def test_other_heads_of_the_same_shapes(made: Path, target: str, capfd: pytest.CaptureFixture[str]) -> None:
    known = json.loads((made / "config.json").read_text("utf-8"))
    heads, groups = known["num_attention_heads"], known["num_key_value_heads"]
    width = known.get("head_dim", known["hidden_size"] // heads)
    change(made, num_attention_heads=heads * 2, num_key_value_heads=groups * 2, head_dim=width // 2)
    assert accmap(f"weights convert model --to {target} -o out") == 1
    assert "EVD058" in capfd.readouterr().err


@pytest.mark.parametrize("key", ["rms_norm_eps", "rope_theta"])
def test_the_config_that_is_written_is_the_run_s(made: Path, key: str, capfd: pytest.CaptureFixture[str]) -> None:
    change(made, **{key: 0.5 if key == "rms_norm_eps" else 77.0})
    assert accmap("weights convert checkpoint --to huggingface --config run.sh --config model -o out") == 1
    assert "EVD058" in capfd.readouterr().err


def test_parts_that_only_together_have_the_right_rows(made: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = tensors(made)
    k, v = found[f"{LAYER}.k_proj.weight"], found[f"{LAYER}.v_proj.weight"]
    rewrite(made, {**found, f"{LAYER}.k_proj.weight": np.concatenate([k, v[:4]]), f"{LAYER}.v_proj.weight": v[4:]})
    assert accmap("weights convert model --to megatron --config run.sh -o out") == 2
    assert "EVD047" in capfd.readouterr().err


def test_an_output_layer_without_its_embedding(made: Path, capfd: pytest.CaptureFixture[str]) -> None:
    change(made, tie_word_embeddings=True)
    found = tensors(made)
    output = found.pop("model.embed_tokens.weight")
    rewrite(made, {**found, "lm_head.weight": output})
    assert accmap("weights convert model --to megatron -o out") == 1
    assert "EVD052" in capfd.readouterr().err


def test_no_heads(made: Path, capfd: pytest.CaptureFixture[str]) -> None:
    change(made, num_attention_heads=0)
    assert accmap("weights convert model --to megatron -o out") == 2
    assert "EVD051" in capfd.readouterr().err


def test_another_file_of_weights_beside_the_model(made: Path) -> None:
    write_safetensors(made / "consolidated.safetensors", {"tok_embeddings.weight": np.zeros((4, 4), np.float32)})
    assert accmap("weights convert model --to megatron --config run.sh -o out") == 0


def test_a_tensor_that_the_family_does_not_have_is_named(made: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rewrite(made, {**tensors(made), f"{LAYER}.extra.weight": np.zeros(3, np.float32)})
    assert accmap("weights check model run.sh") == 1
    assert "extra.weight" in capfd.readouterr().out
