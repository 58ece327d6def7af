"""Compares conversions of DeepSeek-V3's published form, at its real tensor sizes, with the formula in plain torch.

    python benchmarks/weights_published.py [--experts 64] [--accmap PROGRAM] [--folder DIR] [--target NAME]

The checkpoint has one dense layer, one with experts and one of multi-token prediction, in FP8 with a scale for each
block of 128×128, and random numbers: 13.6 GB with 64 experts. accmap converts it to Megatron-LM's distributed form and
to both graphs of MindSpore Transformers, a part of the files at a time. Each part is compared bit by bit and then
removed, so that the disk needs room for the checkpoint and one part. Every file has a line of its own.
Formula: deepseek-ai/DeepSeek-V3 `inference/kernel.py:weight_dequant`, `inference/fp8_cast_bf16.py`.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import safe_open
from weights_plan import CONFIG, tensors, write_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LAYERS, DENSE, PARTS, BLOCK = 2, 1, 4, 128
TARGETS = ("torch_dist", "static", "dynamic")
VERSIONS = {"torch_dist": [], "static": ["--mindformers", "1.9"], "dynamic": ["--mindformers", "2.1"]}
NAMES = {
    "input_layernorm": "input_layernorm",
    "self_attention.linear_q_down_proj": "self_attn.q_a_proj",
    "self_attention.q_layernorm": "self_attn.q_a_layernorm",
    "self_attention.linear_q_up_proj": "self_attn.q_b_proj",
    "self_attention.linear_kv_down_proj": "self_attn.kv_a_proj_with_mqa",
    "self_attention.kv_layernorm": "self_attn.kv_a_layernorm",
    "self_attention.linear_kv_up_proj": "self_attn.kv_b_proj",
    "self_attention.linear_proj": "self_attn.o_proj",
    "pre_mlp_layernorm": "post_attention_layernorm",
    "mlp.linear_fc1": ("mlp.gate_proj", "mlp.up_proj"),
    "mlp.linear_fc2": "mlp.down_proj",
    "mlp.router": "mlp.gate",
    "mlp.shared_experts.linear_fc1": ("mlp.shared_experts.gate_proj", "mlp.shared_experts.up_proj"),
    "mlp.shared_experts.linear_fc2": "mlp.shared_experts.down_proj",
    "enorm": "enorm", "hnorm": "hnorm", "eh_proj": "eh_proj", "final_layernorm": "shared_head.norm",
}  # fmt: skip
"""A module of Megatron-Core, and what the published layer calls it."""
FUSED = {
    "self_attention.linear_q_up_proj.layer_norm_weight": "self_attention.q_layernorm.weight",
    "self_attention.linear_kv_up_proj.layer_norm_weight": "self_attention.kv_layernorm.weight",
    "mlp.linear_fc1.layer_norm_weight": "pre_mlp_layernorm.weight",
    "self_attention.linear_qb.weight": "self_attention.linear_q_up_proj.weight",
    "self_attention.linear_kvb.weight": "self_attention.linear_kv_up_proj.weight",
    "mlp.expert_bias": "mlp.router.expert_bias",
}
"""Other spellings of parameters: those of Transformer Engine and of MindSpore Transformers."""


def write_checkpoint(folder: Path, experts: int) -> None:
    """The model folder with random numbers."""
    config = {**CONFIG, "num_hidden_layers": LAYERS, "first_k_dense_replace": DENSE, "n_routed_experts": experts}
    write_folder(folder, tensors(LAYERS, DENSE, experts), config, random_blocks)


def random_blocks(name: str, dtype: str, shape: tuple[int, ...]) -> Iterator[bytes]:
    """The numbers of a tensor, a block at a time."""
    size = 1 << 24
    for start in range(0, prod(shape), size):
        yield random_numbers(f"{name}{start}", dtype, min(size, prod(shape) - start))


def random_numbers(name: str, dtype: str, count: int) -> bytes:
    """Every finite number of 8 bits, positive scales, or bfloat16 between -2 and 2; copies are equal."""
    # Multi-token prediction repeats the embedding and the output layer.
    name = name.replace("model.layers.2.embed_tokens", "model.embed_tokens")
    source = np.random.default_rng(list(name.replace("model.layers.2.shared_head.head", "lm_head").encode()))
    if dtype == "F8_E4M3":
        found = np.frombuffer(source.bytes(count), np.uint8).copy()
        found[(found & 0x7F) == 0x7F] = 0x3C
        return found.tobytes()
    if dtype == "F32":
        return (source.random(count, np.float32) * 1e-3 + 1e-6).tobytes()
    return (np.frombuffer(source.bytes(2 * count), np.uint16) & 0xBFFF).tobytes()


class Published:
    """The parameters of Megatron-Core out of the published files, in plain torch."""

    def __init__(self, folder: Path) -> None:
        index = json.loads((folder / "model.safetensors.index.json").read_text("utf-8"))
        self._files: dict[str, Any] = {
            file: safe_open(str(folder / file), "pt") for file in set(index["weight_map"].values())
        }
        self._where: dict[str, str] = index["weight_map"]

    def read(self, name: str) -> Any:
        """A tensor of the checkpoint; one of 8 bits as the product with its scales, in bfloat16."""
        found = self._files[self._where[name]].get_tensor(name)
        scales = f"{name}_scale_inv"
        if scales not in self._where:
            return found
        scale = self._files[self._where[scales]].get_tensor(scales)
        spread = scale.repeat_interleave(BLOCK, 0)[: found.shape[0]].repeat_interleave(BLOCK, 1)[:, : found.shape[1]]
        return (found.to(torch.float32) * spread).to(torch.bfloat16)

    def parameter(self, name: str) -> Any:
        """A parameter of Megatron-Core."""
        plain = {
            "embedding.word_embeddings.weight": "model.embed_tokens.weight",
            "output_layer.weight": "lm_head.weight", "decoder.final_layernorm.weight": "model.norm.weight",
        }.get(name)  # fmt: skip
        if plain is not None:
            return self.read(plain)
        words = name.replace("mtp.layers.0.transformer_layer.", "mtp.layers.0.").split(".")
        layer = LAYERS if words[0] == "mtp" else int(words[2])
        start, rest, kind = f"model.layers.{layer}", ".".join(words[3:-1]), words[-1]
        if kind == "expert_bias":
            return self.read(f"{start}.mlp.gate.e_score_correction_bias")
        if rest.startswith("mlp.experts.local_experts."):
            expert, matrix = rest.split(".")[3:]
            inner = ("gate_proj", "up_proj") if matrix == "linear_fc1" else ("down_proj",)
            return torch.cat([self.read(f"{start}.mlp.experts.{expert}.{part}.weight") for part in inner])
        parts = NAMES[rest]
        names = (parts,) if isinstance(parts, str) else parts
        return torch.cat([self.read(f"{start}.{part}.weight") for part in names])


def plain_name(name: str) -> str:
    """The name of Megatron-Core's own implementation for a parameter."""
    for other, own in FUSED.items():
        if name.endswith(other):
            return name.removesuffix(other) + own
    return name


def equal(found: Any, meant: Any) -> bool:
    """True if every bit is the same."""
    bits = torch.int16 if meant.dtype == torch.bfloat16 else torch.int32
    same = found.dtype == meant.dtype and found.shape == meant.shape
    return same and bool((found.contiguous().view(bits) == meant.contiguous().view(bits)).all())


def compare_mindformers(path: Path, published: Published, layout: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Each parameter of a file of MindSpore Transformers, and true if it is as it should be."""
    opened: Any = safe_open(str(path), "pt")
    with opened as file:
        for name in map(str, file.keys()):
            if ".experts.weight" in name:
                yield name, same_experts(file.get_slice(name), name, published, layout)
                continue
            found = file.get_tensor(name)
            core = plain_name(name)
            if layout["latent_joined"] and ".self_attention." in core:
                core = core.replace(".k_layernorm.", ".kv_layernorm.")
            if layout["latent_joined"] and core.endswith("linear_qkv.weight"):
                downs = (core.replace("linear_qkv", f"linear_{kind}_down_proj") for kind in ("q", "kv"))
                meant = torch.cat([published.parameter(down) for down in downs])
            else:
                meant = published.parameter(core)
            if layout["alternating"] and core.endswith("linear_fc1.weight"):
                meant = meant.reshape(2, -1, meant.shape[-1]).swapaxes(0, 1).reshape(meant.shape)
            yield name, equal(found, meant)


def same_experts(whole: Any, name: str, published: Published, layout: dict[str, Any]) -> bool:
    """True if one parameter holds the matrices of all experts, each transposed."""
    core = name.replace("experts.weight", "experts.local_experts.{}.linear_fc") + ".weight"
    count = layout["experts"]
    rows, columns = published.parameter(core.format(0)).T.shape
    if list(whole.get_shape()) != ([count, rows, columns] if layout["dynamic"] else [count * rows, columns]):
        return False
    for expert in range(count):
        found = whole[expert] if layout["dynamic"] else whole[expert * rows : (expert + 1) * rows]
        if not equal(found, published.parameter(core.format(expert)).T):
            return False
    return True


def compare_distributed(path: Path, published: Published, where: Any) -> Iterator[tuple[str, bool]]:
    """Each piece of a `.distcp` file, read by torch, and true if it is as it should be."""
    with path.open("rb") as file:
        for index, place in where.items():
            if place.relative_path != path.name or index.fqn.endswith(("_extra_state",)) or index.offset is None:
                continue
            file.seek(place.offset)
            found = torch.load(io.BytesIO(file.read(place.length)), weights_only=True)
            name, at = index.fqn, list(index.offset)
            if ".experts.experts." in name:
                name = name.replace(".experts.experts.", f".experts.local_experts.{at[0]}.")
                found = found[0]
            yield f"{name} {at}", equal(found, published.parameter(plain_name(name)))


def layout_of(text: str, experts: int, *, dynamic: bool) -> dict[str, Any]:
    """Row order of the gate and up matrices, as the YAML sets it; the dynamic graph has only one."""
    return {
        "experts": experts, "dynamic": dynamic,
        "alternating": dynamic or "use_interleaved_weight_layout_mlp: False" not in text,
        "latent_joined": dynamic or "mla_qkv_concat: False" not in text,
    }  # fmt: skip


def check_target(place: Path, target: str, given: argparse.Namespace, published: Published) -> bool:
    """Convert in parts and compare each; prints a line."""
    framework = "megatron" if target == "torch_dist" else "mindformers"
    config = place / ("run.sh" if framework == "megatron" else f"{target}.yaml")
    made = [given.accmap, "convert", str(place / "model"), "--to", framework, *VERSIONS[target], "-o", str(config)]
    subprocess.run([*made, "--write-anyway"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    key = "--num-layers" if framework == "megatron" else "num_nextn_predict_layers: 0"
    wanted = "--mtp-num-layers 1 --num-layers" if framework == "megatron" else key.replace("0", "1")
    text = config.read_text("utf-8").replace(key, wanted, 1)
    config.write_text(text, "utf-8")
    words = [given.accmap, "weights", "convert", str(place / "model"), "--to", framework, "--config", str(config),
        *VERSIONS[target], "-o", str(place / target), "--shard-size", "1"]  # fmt: skip
    words += ["--ckpt-format", "torch_dist"] if framework == "megatron" else []
    compare: Callable[[Path], Iterator[tuple[str, bool]]]
    if framework == "megatron":
        entries = metadata(words)
        compare = lambda path: compare_distributed(path, published, entries)  # noqa: E731
    else:
        layout = layout_of(text, given.experts, dynamic=target == "dynamic")
        compare = lambda path: compare_mindformers(path, published, layout)  # noqa: E731
    seconds, memory, size = 0.0, 0, 0
    results: dict[str, bool] = {}
    for part in range(1, PARTS + 1):
        began = time.monotonic()
        status, peak = run_measured([*words, "--part", f"{part}/{PARTS}", "--quiet"])
        seconds, memory = seconds + time.monotonic() - began, max(memory, peak)
        if status:
            return False
        for path in sorted((place / target).rglob("*.safetensors" if framework == "mindformers" else "*.distcp")):
            size += path.stat().st_size
            compared = dict(compare(path))
            wrong = [name for name, same in compared.items() if not same]
            print(
                f"  {path.name}: {path.stat().st_size / 1e9:.2f} GB, {len(compared)} tensors, differ: {wrong}",
                flush=True,
            )
            results |= compared
            path.unlink()
    wrong = [name for name, same in results.items() if not same]
    print(
        f"{target}: {size / 1e9:.1f} GB, {len(results)} tensors, {len(wrong)} differ{': ' if wrong else ''}"
        f"{', '.join(wrong[:5])}; {seconds:.0f} s, {memory / 1e6:.0f} MB of memory at most, "
        f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()}", flush=True,
    )  # fmt: skip
    return not wrong and bool(results)


def run_measured(words: list[str]) -> tuple[int, int]:
    """The exit code of a command, and the most memory that it had; `getrusage` would count this process's own."""
    memory = 0
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            try:
                told = Path(f"/proc/{process.pid}/status").read_text("utf-8")
            except OSError:
                continue
            memory = max([memory, *(int(line.split()[1]) << 10 for line in told.splitlines() if "VmHWM" in line)])
            time.sleep(0.05)
    return process.returncode, memory


def metadata(words: list[str]) -> Any:
    """The places of all pieces, from the `.metadata` that `--finish` would write, read by torch."""
    import pickle

    from accmap.evidence.weights.conversion import Request, plan_conversion
    from accmap.schemas.reader import read_config

    at = words.index("--config")
    request = Request(words[3], "-", "megatron", ckpt_format="torch_dist", shard_bytes=1 << 30)
    last = plan_conversion(request, [read_config(words[at + 1])]).units[-1]
    start = last.start if isinstance(last.start, bytes) else last.start()
    return pickle.loads(start).storage_data


def main() -> int:
    """Write the checkpoint and check the targets; 1 if a bit differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accmap", default=str(Path(sys.executable).with_name("accmap")))
    parser.add_argument("--experts", type=int, default=64)
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--folder", default=None)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder = Path(place) / "model"
        folder.mkdir()
        write_checkpoint(folder, given.experts)
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{len(tensors(LAYERS, DENSE, given.experts))} tensors, {size / 1e9:.1f} GB", flush=True)
        published = Published(folder)
        results = [check_target(Path(place), target, given, published) for target in given.target or TARGETS]
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
