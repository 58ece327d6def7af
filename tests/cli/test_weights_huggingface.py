"""`accmap weights convert|check` of a model folder of transformers: which numbers go where, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

np = pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence" / "weights"))
from weight_files import read_safetensors, write_safetensors  # noqa: E402

from accmap.evidence.weights.model import View  # noqa: E402
from accmap.evidence.weights.opening import inferred_layout, open_checkpoint  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.procedure("proc.weights.convert")
KEYS: dict[str, Any] = {
    "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "vocab_size": 16, "hidden_size": 8,
    "intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 2048, "tie_word_embeddings": False,
}  # fmt: skip
SHAPES = {
    "model.embed_tokens.weight": (16, 8), "model.norm.weight": (8,), "lm_head.weight": (16, 8),
    "model.layers.0.input_layernorm.weight": (8,), "model.layers.0.post_attention_layernorm.weight": (8,),
    "model.layers.0.self_attn.q_proj.weight": (8, 8), "model.layers.0.self_attn.q_proj.bias": (8,),
    "model.layers.0.self_attn.k_proj.weight": (4, 8), "model.layers.0.self_attn.k_proj.bias": (4,),
    "model.layers.0.self_attn.v_proj.weight": (4, 8), "model.layers.0.self_attn.v_proj.bias": (4,),
    "model.layers.0.self_attn.o_proj.weight": (8, 8), "model.layers.0.mlp.gate_proj.weight": (12, 8),
    "model.layers.0.mlp.up_proj.weight": (12, 8), "model.layers.0.mlp.down_proj.weight": (8, 12),
}  # fmt: skip


def model(folder: Path, more: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """A model folder with numbers of its own in every place; `more` adds, replaces or (None) takes away."""
    source = np.random.default_rng(3)
    found = {name: source.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}
    found = {name: one for name, one in {**found, **(more or {})}.items() if one is not None}
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({**KEYS, **keys}), "utf-8")
    write_safetensors(folder / "model.safetensors", found)
    return found


def test_rows_of_queries_keys_and_values_stand_by_group(accmap: Callable[..., Any], tmp_path: Path) -> None:
    given = model(tmp_path / "m")
    assert accmap("weights", "convert", "m", "--to", "megatron", "-o", "out").code == 0
    opened = open_checkpoint(str(tmp_path / "out"))
    found = opened.model(View(inferred_layout(opened))).weights
    q, k, v = (given[f"model.layers.0.self_attn.{one}_proj.weight"] for one in "qkv")
    fused = np.concatenate([q[:4], k[:2], v[:2], q[4:], k[2:], v[2:]])
    assert np.array_equal(found["decoder.layers.0.self_attention.linear_qkv.weight"].read(), fused)
    both = [given[f"model.layers.0.mlp.{one}_proj.weight"] for one in ("gate", "up")]
    assert np.array_equal(found["decoder.layers.0.mlp.linear_fc1.weight"].read(), np.concatenate(both))


@pytest.mark.parametrize("framework", ["megatron", "mindformers"])
def test_there_and_back(accmap: Callable[..., Any], tmp_path: Path, framework: str) -> None:
    given = model(tmp_path / "m")
    config = "run.sh" if framework == "megatron" else "run.yaml"
    assert accmap("convert", "m", "--to", framework, "-o", config).code == 1
    assert accmap("weights", "convert", "m", "--to", framework, "-o", "there", "--config", config).code == 0
    assert accmap("weights", "check", "m", "there", "--config", config).code == 0
    assert accmap("weights", "check", "m", config).code == 0
    both = ("--config", config, "--config", "m")
    answer = accmap("weights", "convert", "there", "--to", "huggingface", *both, "-o", "back", "--shard-size", "1e-6")
    assert answer.code == 0, answer.err
    assert 'from_pretrained("back")' in answer.out
    index = json.loads((tmp_path / "back" / "model.safetensors.index.json").read_text("utf-8"))["weight_map"]
    assert len(set(index.values())) > 1
    found = {
        key: one for file in set(index.values()) for key, one in read_safetensors(tmp_path / "back" / file).items()
    }
    assert found.keys() == given.keys() == index.keys()
    assert all(np.array_equal(found[key], given[key]) for key in given)
    assert json.loads((tmp_path / "back" / "config.json").read_text("utf-8")) == KEYS
    header = (tmp_path / "back" / next(iter(index.values()))).read_bytes()
    assert b'"format":"pt"' in header  # transformers refuses a file of another library


def test_without_a_configuration_the_model_is_described_by_its_run(accmap: Callable[..., Any], tmp_path: Path) -> None:
    model(tmp_path / "m")
    accmap("convert", "m", "--to", "mindformers", "-o", "run.yaml")
    accmap("weights", "convert", "m", "--to", "mindformers", "-o", "there", "--config", "run.yaml")
    assert accmap("weights", "convert", "there", "--to", "huggingface", "--config", "run.yaml", "-o", "back").code == 0
    assert accmap("weights", "check", "m", "back").code == 0


EXTRA = {"model.layers.0.self_attn.q_norm.weight": np.ones(2, np.float32)}
CASES = [
    (EXTRA, {}, 1, "EVD046"),
    ({"model.layers.0.mlp.up_proj.weight": None}, {}, 1, "EVD052"),
    ({"model.norm.weight": np.ones(9, np.float32)}, {}, 2, "EVD047"),
    ({"model.layers.0.mlp.up_proj.weight": np.ones((11, 8), np.float32)}, {}, 2, "EVD047"),
    ({"model.norm.weight": np.float32(1)}, {}, 2, "EVD047"),
    ({}, {"tie_word_embeddings": True}, 1, "EVD055"),
    ({}, {"model_type": "gpt_oss"}, 2, "SYN103"),
    ({}, {"model_type": "telechat"}, 2, "EVD102"),
    ({}, {"num_hidden_layers": "two"}, 2, "EVD"),
    ({}, {"num_hidden_layers": 10**9}, 2, "EVD"),
]


@pytest.mark.parametrize(("more", "keys", "code", "said"), CASES)
def test_what_is_refused(
    accmap: Callable[..., Any], tmp_path: Path, more: dict[str, Any], keys: dict[str, Any], code: int, said: str
) -> None:
    model(tmp_path / "m", more, **keys)
    answer = accmap("weights", "convert", "m", "--to", "megatron", "-o", "out")
    assert (answer.code, said in answer.err) == (code, True), answer.err
    assert not (tmp_path / "out").exists()


def test_a_model_has_no_other_framework(accmap: Callable[..., Any], tmp_path: Path) -> None:
    model(tmp_path / "m")
    answer = accmap("weights", "convert", "m", "-o", "out")
    assert (answer.code, "--to megatron" in answer.err) == (2, True)
    answer = accmap("weights", "convert", "m", "--to", "huggingface", "-o", "out", "--tensor-parallel", "2")
    assert answer.code == 2


def test_a_tied_output_layer_that_is_stored_is_compared(accmap: Callable[..., Any], tmp_path: Path) -> None:
    given = model(tmp_path / "a")
    tied = {"lm_head.weight": given["model.embed_tokens.weight"]}
    model(tmp_path / "m", tied, tie_word_embeddings=True)
    assert accmap("weights", "convert", "m", "--to", "megatron", "-o", "out").code == 0


def test_what_is_no_weight_is_left_out_and_said(accmap: Callable[..., Any], tmp_path: Path) -> None:
    model(tmp_path / "m", {"model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(1, np.float32)})
    answer = accmap("weights", "convert", "m", "--to", "megatron", "-o", "out")
    assert (answer.code, "rotary frequencies" in answer.out) == (0, True), answer.err


def test_a_run_that_no_model_of_transformers_is(accmap: Callable[..., Any], tmp_path: Path) -> None:
    model(tmp_path / "m")
    accmap("convert", "m", "--to", "megatron", "-o", "run.sh")
    accmap("weights", "convert", "m", "--to", "megatron", "-o", "there", "--config", "run.sh")
    text = (tmp_path / "run.sh").read_text("utf-8")
    (tmp_path / "run.sh").write_text(
        text.replace("--swiglu", "--swiglu --rotary-interleaved --no-rope-fusion"), "utf-8"
    )
    answer = accmap("weights", "convert", "there", "--to", "huggingface", "-o", "back", "--config", "run.sh")
    assert (answer.code, "EVD101" in answer.err) == (2, True), answer.err
