"""Prints how long `accmap weights convert --plan` takes for the whole of DeepSeek-V3, and how much memory.

    python benchmarks/weights_plan.py [--accmap PROGRAM] [--folder DIR]

The model folder has the published `config.json`'s sizes, key names, types and index: 61 layers, 256 experts in 58 of
them, FP8 with a scale for each block of 128×128, a layer of multi-token prediction. Its files are sparse: they have
headers and lengths, and take some 10 MB. Key names: alibaba/Pai-Megatron-Patch
`toolkits/distributed_checkpoints_convertor/impl/deepseek_v3`; transformers 4.57 `DeepseekV3ForCausalLM`.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Numbers = Callable[[str, str, tuple[int, ...]], Iterable[bytes]]
    """The blocks of a tensor, by its name, type and shape."""

SECONDS, MEMORY = 5, 500 << 20
HIDDEN, HEADS, WORDS, LAYERS, DENSE, EXPERTS = 7168, 128, 129280, 61, 3, 256
INNER, EXPERT_INNER, QUERY_RANK, LATENT, ROTARY, PLAIN = 18432, 2048, 1536, 512, 64, 128
SHARD = 4_300_000_000
CONFIG = {
    "model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "vocab_size": WORDS,
    "hidden_size": HIDDEN, "intermediate_size": INNER, "moe_intermediate_size": EXPERT_INNER,
    "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": HEADS,
    "n_routed_experts": EXPERTS, "n_shared_experts": 1, "num_experts_per_tok": 8, "n_group": 8, "topk_group": 4,
    "first_k_dense_replace": DENSE, "moe_layer_freq": 1, "num_nextn_predict_layers": 1, "norm_topk_prob": True,
    "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "topk_method": "noaux_tc", "q_lora_rank": QUERY_RANK,
    "kv_lora_rank": LATENT, "qk_rope_head_dim": ROTARY, "qk_nope_head_dim": PLAIN, "v_head_dim": PLAIN,
    "max_position_embeddings": 163840, "rope_theta": 10000, "rms_norm_eps": 1e-6, "tie_word_embeddings": False,
    "rope_scaling": {"type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0,
                     "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096},
    "hidden_act": "silu", "attention_bias": False, "attention_dropout": 0.0, "initializer_range": 0.02,
    "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
                            "weight_block_size": [128, 128]},
}  # fmt: skip


def tensors(layers: int = LAYERS, dense: int = DENSE, experts: int = EXPERTS) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Type and shape of every tensor of the published checkpoint, or of one with fewer layers and experts."""
    found: dict[str, tuple[str, tuple[int, ...]]] = {"model.embed_tokens.weight": ("BF16", (WORDS, HIDDEN))}

    def eight_bit(name: str, rows: int, columns: int) -> None:
        found[f"{name}.weight"] = "F8_E4M3", (rows, columns)
        found[f"{name}.weight_scale_inv"] = "F32", (-(-rows // 128), -(-columns // 128))

    def mlp(name: str, inner: int) -> None:
        eight_bit(f"{name}.gate_proj", inner, HIDDEN)
        eight_bit(f"{name}.up_proj", inner, HIDDEN)
        eight_bit(f"{name}.down_proj", HIDDEN, inner)

    for layer in range(layers + 1):
        start = f"model.layers.{layer}"
        if layer == layers:
            found |= {f"{start}.{norm}.weight": ("BF16", (HIDDEN,)) for norm in ("enorm", "hnorm", "shared_head.norm")}
            found[f"{start}.eh_proj.weight"] = "BF16", (HIDDEN, 2 * HIDDEN)
            found |= {
                f"{start}.{key}.weight": ("BF16", (WORDS, HIDDEN)) for key in ("embed_tokens", "shared_head.head")
            }
        for norm in ("input_layernorm", "post_attention_layernorm"):
            found[f"{start}.{norm}.weight"] = "BF16", (HIDDEN,)
        attention = f"{start}.self_attn"
        found[f"{attention}.q_a_layernorm.weight"] = "BF16", (QUERY_RANK,)
        found[f"{attention}.kv_a_layernorm.weight"] = "BF16", (LATENT,)
        eight_bit(f"{attention}.q_a_proj", QUERY_RANK, HIDDEN)
        eight_bit(f"{attention}.q_b_proj", HEADS * (PLAIN + ROTARY), QUERY_RANK)
        eight_bit(f"{attention}.kv_a_proj_with_mqa", LATENT + ROTARY, HIDDEN)
        eight_bit(f"{attention}.kv_b_proj", HEADS * 2 * PLAIN, LATENT)
        eight_bit(f"{attention}.o_proj", HIDDEN, HEADS * PLAIN)
        if layer < dense:
            mlp(f"{start}.mlp", INNER)
            continue
        found[f"{start}.mlp.gate.weight"] = "BF16", (experts, HIDDEN)
        found[f"{start}.mlp.gate.e_score_correction_bias"] = "F32", (experts,)
        mlp(f"{start}.mlp.shared_experts", EXPERT_INNER)
        for expert in range(experts):
            mlp(f"{start}.mlp.experts.{expert}", EXPERT_INNER)
    return {**found, "model.norm.weight": ("BF16", (HIDDEN,)), "lm_head.weight": ("BF16", (WORDS, HIDDEN))}


WIDTHS = {"F8_E4M3": 1, "BF16": 2, "F32": 4}


def write_folder(
    folder: Path,
    every: Mapping[str, tuple[str, tuple[int, ...]]],
    config: Mapping[str, object],
    numbers: Numbers | None = None,
) -> tuple[int, int]:
    """The model folder: the number of its files, and its bytes; without numbers the files are sparse."""
    shards: list[dict[str, tuple[str, tuple[int, ...]]]] = [{}]
    size = total = 0
    for name, (dtype, shape) in every.items():
        width = WIDTHS[dtype] * prod(shape)
        if shards[-1] and size + width > SHARD:
            shards.append({})
            size = 0
        shards[-1][name] = dtype, shape
        size += width
        total += width
    where: dict[str, str] = {}
    for number, shard in enumerate(shards, 1):
        file = f"model-{number:05d}-of-{len(shards):06d}.safetensors"
        write_shard(folder / file, shard, numbers)
        where |= dict.fromkeys(shard, file)
    index = {"metadata": {"total_size": total}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    return len(shards), total


def write_shard(path: Path, shard: Mapping[str, tuple[str, tuple[int, ...]]], numbers: Numbers | None) -> None:
    """A safetensors file; without numbers they take no room on the disk."""
    header: dict[str, object] = {}
    at = 0
    for name, (dtype, shape) in shard.items():
        end = at + WIDTHS[dtype] * prod(shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        if numbers is None:
            file.truncate(8 + len(text) + at)
            return
        for name, (dtype, shape) in shard.items():
            file.writelines(numbers(name, dtype, shape))


def main() -> int:
    """Write the folder and plan both targets; 1 if a plan takes longer or more memory than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accmap", default=str(Path(sys.executable).with_name("accmap")))
    parser.add_argument("--folder", default=None)
    args = parser.parse_args()
    slow = False
    with tempfile.TemporaryDirectory(dir=args.folder) as place:
        folder = Path(place) / "model"
        folder.mkdir()
        every = tensors()
        files, total = write_folder(folder, every, CONFIG)
        print(f"{files} files, {len(every)} tensors, {total / 1e9:.1f} GB")
        for framework, config, key in (
            ("megatron", "run.sh", "--num-layers"),
            ("mindformers", "run.yaml", "num_nextn_predict_layers: 0"),
        ):
            path = Path(place) / config
            made = [args.accmap, "convert", str(folder), "--to", framework, "-o", str(path), "--write-anyway"]
            subprocess.run(made, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wanted = "--mtp-num-layers 1 --num-layers" if framework == "megatron" else key.replace("0", "1")
            path.write_text(path.read_text("utf-8").replace(key, wanted, 1), "utf-8")
            words = [args.accmap, "weights", "convert", str(folder), "--to", framework, "--config", str(path)]
            form = ["--ckpt-format", "torch_dist"] if framework == "megatron" else []
            words += [*form, "-o", f"{place}/out", "--plan", "--bandwidth", "1000", "--format", "json"]
            began = time.monotonic()
            answer = Path(place) / "plan.json"
            with answer.open("wb") as stream:
                process = subprocess.Popen(words, stdout=stream)
                _, _, usage = os.wait4(process.pid, 0)
            wall, seconds, memory = time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10
            text = answer.read_text("utf-8")
            if not text:
                return 1
            plan = json.loads(text)
            for problem in plan["problems"]:
                print(problem["message"])
            print(
                f"{framework}: {wall:.1f} s ({seconds:.1f} s of a processor), {memory / 1e6:.0f} MB at most; "
                f"{len(plan['files'])} files, {plan['bytes_to_read'] / 1e9:.1f} GB to read, "
                f"{plan['bytes_to_write'] / 1e9:.1f} GB to write, {plan['minutes']:.0f} min, "
                f"{len(plan['oversized'])} tensors larger than a shard"
            )
            slow |= seconds > SECONDS or memory > MEMORY
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
