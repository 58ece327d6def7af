"""Checkpoints as their publishers lay them out: key names of transformers' classes, shards with an index, FP8, MTP."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.schemas.compilers.tables import load_table

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

WEIGHTS = Path(__file__).parents[1] / "evidence" / "weights"
sys.path.insert(0, str(WEIGHTS))
from weight_files import read_safetensors  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.procedure("proc.weights.convert"), pytest.mark.long]
MODELS: dict[str, Any] = load_table((WEIGHTS / "huggingface_models.yaml").read_text("utf-8"))["models"]
FILES = {"megatron": "run.sh", "mindformers": "run.yaml"}
BLOCK = (16, 32)
"""Rows and columns of a block; most matrices here end within one."""
PREDICTION = ("enorm.weight", "hnorm.weight", "eh_proj.weight", "shared_head.norm.weight", "shared_head.head.weight",
    "embed_tokens.weight")  # fmt: skip
"""Keys of a layer of multi-token prediction that a layer of the decoder lacks: DeepSeek-V3 README_WEIGHTS.md."""


def published(
    folder: Path, keys: dict[str, Any], *, predicting: bool = False, eight_bit: bool = False, spread: float = 1.0
) -> Any:
    """A model folder with random weights under its published keys; its tensors, and what they stand for."""
    transformers = pytest.importorskip("transformers")
    source = torch.Generator().manual_seed(5)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(
            transformers.AutoConfig.for_model(**keys), dtype=torch.bfloat16
        )
    shapes = {name: tuple(one.shape) for name, one in model.state_dict().items()}
    if keys.get("tie_word_embeddings", transformers.AutoConfig.for_model(**keys).tie_word_embeddings):
        shapes.pop("lm_head.weight", None)
    if keys["model_type"] == "llama":  # as Llama 2 was published
        shapes["model.layers.0.self_attn.rotary_emb.inv_freq"] = (8,)
    stored = {name: (spread * torch.randn(shape, generator=source)).to(kind(name)) for name, shape in shapes.items()}
    if predicting:
        stored |= prediction_layer(stored, keys, source)
    meant = dict(stored)
    for name in [one for one in stored if eight_bit and is_quantized(one)]:
        stored[name], scale, meant[name] = quantize(stored[name])
        stored[f"{name}_scale_inv"] = scale
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config(keys, predicting, eight_bit)), "utf-8")
    return stored, meant


def kind(name: str) -> Any:
    """The type that DeepSeek-V3 and GLM-4.5 store a parameter in."""
    return torch.float32 if name.endswith("e_score_correction_bias") else torch.bfloat16


def prediction_layer(stored: dict[str, Any], keys: dict[str, Any], source: Any) -> dict[str, Any]:
    """The layer behind the decoder's: like its last one, with a projection, norms and copies of its own."""
    last, size = keys["num_hidden_layers"] - 1, keys["hidden_size"]
    made = {
        name.replace(f".{last}.", f".{last + 1}.", 1): torch.randn(one.shape, generator=source).to(kind(name))
        for name, one in stored.items()
        if name.startswith(f"model.layers.{last}.")
    }
    copies = {
        "shared_head.head.weight": stored["lm_head.weight"],
        "embed_tokens.weight": stored["model.embed_tokens.weight"],
    }
    for key in PREDICTION:
        shape = (size, 2 * size) if key.startswith("eh_proj") else (size,)
        new = torch.randn(shape, generator=source).to(torch.bfloat16)
        made[f"model.layers.{last + 1}.{key}"] = copies.get(key, new)
    return made


def config(keys: dict[str, Any], predicting: bool, eight_bit: bool) -> dict[str, Any]:
    transformers = pytest.importorskip("transformers")
    name = type(transformers.AutoConfig.for_model(**keys)).__name__.replace("Config", "ForCausalLM")
    quantization = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": list(BLOCK)}
    return {
        **keys, "architectures": [name], "num_nextn_predict_layers": int(predicting),
        **({"quantization_config": quantization} if eight_bit else {}),
    }  # fmt: skip


def is_quantized(name: str) -> bool:
    """What DeepSeek-V3 stores in 8 bits: the projections of attention and MLP, but no router."""
    return (name.endswith("_proj.weight") and not name.endswith("eh_proj.weight")) or name.endswith("_with_mqa.weight")


def quantize(weight: Any) -> tuple[Any, Any, Any]:
    """A matrix in 8 bits, the scale of each block, and what it stands for by the publisher's formula."""
    rows, columns = (-(-size // step) for size, step in zip(weight.shape, BLOCK, strict=True))
    scale = torch.rand(rows, columns, generator=torch.Generator().manual_seed(rows)) * 0.01 + 1e-4
    small = (weight.float() * 100).to(torch.float8_e4m3fn)
    spread = scale.repeat_interleave(BLOCK[0], 0).repeat_interleave(BLOCK[1], 1)
    return small, scale, small.to(torch.float32) * spread[: weight.shape[0], : weight.shape[1]]


def save(folder: Path, tensors: dict[str, Any], form: str = "safetensors", shards: int = 3) -> None:
    """The tensors in shards, with the index that transformers writes."""
    from safetensors.torch import save_file

    stem, ending = ("model", "safetensors") if form == "safetensors" else ("pytorch_model", "bin")
    where: dict[str, str] = {}
    for number in range(shards):
        name = f"{stem}-{number + 1:05d}-of-{shards:05d}.{ending}"
        part = {key: one.clone() for at, (key, one) in enumerate(sorted(tensors.items())) if at % shards == number}
        save_file(part, folder / name, {"format": "pt"}) if form == "safetensors" else torch.save(part, folder / name)
        where |= dict.fromkeys(part, name)
    (folder / f"{stem}.{ending}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}), "utf-8")


def bits(array: Any) -> Any:
    """An array's bits, which a comparison of bfloat16 needs."""
    return array.view(np.uint16) if array.itemsize == 2 else array


def numbers(tensor: Any) -> Any:
    return bits(tensor.contiguous().view(torch.int16).numpy()) if tensor.dtype == torch.bfloat16 else tensor.numpy()


def run_file(folder: Path, framework: str, *, predicting: bool) -> str:
    """The run's configuration as a user has it, with the layer of multi-token prediction asked for."""
    path = folder.parent / FILES[framework]
    text = path.read_text("utf-8")
    if predicting and framework == "megatron":
        text = text.replace("--num-layers", "--mtp-num-layers 1 --num-layers", 1)
    elif predicting:
        # The static graph has no default for the factor: parallel_core/training_graph/transformer, 1.9.
        text = re.sub(
            r"( *)num_nextn_predict_layers: 0", r"\1num_nextn_predict_layers: 1\n\1mtp_loss_scaling_factor: 0.1", text
        )
    path.write_text(text, "utf-8")
    return str(path)


CASES = [
    *((name, framework, "safetensors", ()) for name in MODELS if name != "gpt2" for framework in FILES),
    ("llama", "megatron", "bin", ()),
    ("deepseek_v3", "megatron", "safetensors", ("predicting",)),
    ("glm4_moe", "megatron", "safetensors", ("predicting",)),
    ("deepseek_v3", "mindformers", "safetensors", ("predicting", "eight_bit")),
    ("deepseek_v3", "mindformers", "safetensors", ("predicting", "eight_bit", "static")),
    ("deepseek_v3", "megatron", "safetensors", ("predicting", "eight_bit")),
    ("qwen3", "mindformers", "safetensors", ("eight_bit",)),
]


@pytest.mark.table(4)
@pytest.mark.parametrize(("name", "framework", "form", "switches"), CASES)
def test_there_and_back(
    accmap: Callable[..., Any], tmp_path: Path, name: str, framework: str, form: str, switches: tuple[str, ...]
) -> None:
    keys = {**MODELS[name]["keys"]}
    asked = {switch: switch in switches for switch in ("predicting", "eight_bit")}
    stored, meant = published(tmp_path / "m", keys, **asked)
    save(tmp_path / "m", stored, form)
    static = ("--mindformers", "1.9") if "static" in switches else ()
    accmap("convert", "m", "--to", framework, "-o", FILES[framework], "--write-anyway", *static)
    given = ("--config", run_file(tmp_path / "m", framework, predicting="predicting" in switches), *static)
    there = accmap("weights", "convert", "m", "--to", framework, *given, "-o", "there")
    if framework in MODELS[name].get("refused", {}):
        assert there.code in (1, 2)
        assert not (tmp_path / "there").exists()
        return
    assert there.code == 0, there.err
    assert ("FP8 tensors: " in there.out) == ("eight_bit" in switches)
    back = accmap("weights", "convert", "there", "--to", "huggingface", *given, "--config", "m", "-o", "back")
    assert back.code == 0, back.err
    found = {
        key: one for file in (tmp_path / "back").glob("*.safetensors") for key, one in read_safetensors(file).items()
    }
    buffers = {key for key in meant if key.endswith("inv_freq")}
    assert found.keys() == meant.keys() - buffers
    wrong = [key for key in found if not np.array_equal(bits(found[key]), numbers(meant[key].to(kind(key))))]
    assert wrong == []


LAYER = "model.layers.2"
NORM, SCALE = f"{LAYER}.shared_head.norm.weight", "model.layers.0.self_attn.o_proj.weight_scale_inv"
DAMAGE = {
    "missing-scale": ({SCALE: None}, 2, ("EVD103", SCALE)),
    "wrong-scale": ({SCALE: torch.ones(2, 2)}, 2, ("EVD047", SCALE, "[4, 2]")),
    "unknown-scale": (
        {SCALE.replace("weight_scale_inv", "input_scale"): torch.ones(1)},
        1,
        ("EVD046", "nearest known key is model.layers.0.self_attn.o_proj.weight"),
    ),
    "missing-norm": ({NORM: None}, 1, ("EVD052", NORM)),
    "other-head": ({f"{LAYER}.shared_head.head.weight": torch.zeros(128, 64).to(torch.bfloat16)}, 1, ("EVD055", LAYER)),
}


@pytest.fixture
def eight_bit(accmap: Callable[..., Any], tmp_path: Path) -> Any:
    """A folder in DeepSeek-V3's published form, not saved yet, and the run that asks for all of it."""
    keys = {**MODELS["deepseek_v3"]["keys"]}
    stored, meant = published(tmp_path / "m", keys, predicting=True, eight_bit=True)
    accmap("convert", "m", "--to", "megatron", "-o", "run.sh", "--write-anyway")
    (tmp_path / "plain.sh").write_text((tmp_path / "run.sh").read_text("utf-8"), "utf-8")
    run_file(tmp_path / "m", "megatron", predicting=True)
    return stored, meant


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_wrong_is_named(accmap: Callable[..., Any], eight_bit: Any, tmp_path: Path, damage: str) -> None:
    changes, code, told = DAMAGE[damage]
    stored, _ = eight_bit
    save(tmp_path / "m", {name: one for name, one in {**stored, **changes}.items() if one is not None})
    answer = accmap("weights", "convert", "m", "--to", "megatron", "--config", "run.sh", "-o", "out")
    assert (answer.code, [one for one in told if one not in answer.err]) == (code, []), answer.err
    assert not (tmp_path / "out").exists()


def test_float32_keeps_the_product(accmap: Callable[..., Any], eight_bit: Any, tmp_path: Path) -> None:
    stored, meant = eight_bit
    save(tmp_path / "m", stored)
    words = ("weights", "convert", "m", "--to", "megatron", "--config", "run.sh", "-o", "there", "--dtype", "fp32")
    told = json.loads(accmap(*words, "--format", "json").out)["dequantized"]
    assert (told["scale"], told["block"], told["dtype"]) == ("_scale_inv", list(BLOCK), "F32")
    assert told["tensors"] == sum(name.endswith("_scale_inv") for name in stored)
    given = ("--config", "run.sh", "--config", "m")
    assert accmap("weights", "convert", "there", "--to", "huggingface", *given, "-o", "back").code == 0
    files = (tmp_path / "back").glob("*.safetensors")
    found = {key: one for file in files for key, one in read_safetensors(file).items()}
    assert all(np.array_equal(found[key], meant[key].float().numpy()) for key in found)
    assert "quantization_config" not in json.loads((tmp_path / "back" / "config.json").read_text("utf-8"))


def test_a_layer_that_nobody_asks_for_is_left_out_and_named(
    accmap: Callable[..., Any], eight_bit: Any, tmp_path: Path
) -> None:
    save(tmp_path / "m", eight_bit[0])
    words = ("weights", "convert", "m", "--to", "megatron", "--config", "plain.sh", "-o", "out")
    answer = accmap(*words)
    assert (answer.code, "multi-token prediction layers (the configuration sets no such layers)" in answer.out) == (
        0,
        True,
    )
    assert "个 FP8 张量" in accmap(*words, "--force", "--lang", "zh").out


def test_a_block_without_sense_and_a_missing_file(accmap: Callable[..., Any], eight_bit: Any, tmp_path: Path) -> None:
    save(tmp_path / "m", eight_bit[0])
    words = ("weights", "convert", "m", "--to", "megatron", "--config", "run.sh", "-o", "out")
    place = tmp_path / "m" / "config.json"
    text = place.read_text("utf-8")
    place.write_text(text.replace(json.dumps(list(BLOCK)), '[0, "x"]'), "utf-8")
    answer = accmap(*words)
    assert (answer.code, "weight_block_size" in answer.err) == (2, True)
    place.write_text(text, "utf-8")
    (tmp_path / "m" / "model-00002-of-00003.safetensors").unlink()
    answer = accmap(*words)
    assert (answer.code, "EVD041" in answer.err, "model-00002-of-00003.safetensors" in answer.err) == (2, True, True)
