"""Prints how fast `accmap weights convert` is against a plain copy of the same bytes, in both directions.

    python benchmarks/weights.py [--layers 12] [--runs 3] [--accmap PROGRAM] [--folder DIR]

A dense model of bfloat16 numbers (1.7 GB with 12 layers) is made in a temporary directory: the pair is
examples/qwen3_dense with larger sizes. A conversion and a copy (`cp` and then `fsync`, as a conversion brings its files
to the disk too) take turns; the figure is the median of their ratios, since a disk's speed changes by the minute.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

PAIR = Path(__file__).resolve().parent.parent / "examples" / "qwen3_dense"
GOAL = 0.7
HIDDEN, WIDE, HEADS, GROUPS, WIDTH, WORDS = 2048, 8192, 16, 4, 128, 32000
SIZES = {
    "--hidden-size 512": f"--hidden-size {HIDDEN}",
    "--ffn-hidden-size 1536": f"--ffn-hidden-size {WIDE}",
    "--num-attention-heads 8": f"--num-attention-heads {HEADS}",
    "--num-query-groups 2": f"--num-query-groups {GROUPS}",
    "--kv-channels 64": f"--kv-channels {WIDTH}",
}


def shapes(layers: int) -> dict[str, tuple[int, ...]]:
    """What MindSpore Transformers holds for the model."""
    found: dict[str, tuple[int, ...]] = {"embedding.word_embeddings.weight": (WORDS, HIDDEN)}
    for number in range(layers):
        layer = f"decoder.layers.{number}"
        found |= {
            f"{layer}.input_layernorm.weight": (HIDDEN,),
            f"{layer}.self_attention.linear_proj.weight": (HIDDEN, HEADS * WIDTH),
            f"{layer}.self_attention.linear_qkv.weight": ((HEADS + 2 * GROUPS) * WIDTH, HIDDEN),
            f"{layer}.self_attention.q_layernorm.weight": (WIDTH,),
            f"{layer}.self_attention.k_layernorm.weight": (WIDTH,),
            f"{layer}.pre_mlp_layernorm.weight": (HIDDEN,),
            f"{layer}.mlp.linear_fc1.weight": (2 * WIDE, HIDDEN),
            f"{layer}.mlp.linear_fc2.weight": (HIDDEN, WIDE),
        }
    return found | {"decoder.final_layernorm.weight": (HIDDEN,), "output_layer.weight": (WORDS, HIDDEN)}


def write_checkpoint(path: Path, layers: int) -> None:
    """A safetensors file of small numbers."""
    header: dict[str, object] = {}
    at = 0
    for name, shape in shapes(layers).items():
        size = 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": (at, at + size)}
        at += size
    text = json.dumps(header).encode()
    # Each number is between -4 and 4: no NaN, and no two blocks alike.
    block = bytes(byte & 0xBF if place % 2 else byte for place, byte in enumerate(os.urandom(1 << 20)))
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        while at > 0:
            file.write(block[: min(at, len(block))])
            at -= len(block)


def pair(accmap: str, folder: Path, layers: int) -> list[str]:
    """The options that name the two configurations."""
    script = (PAIR / "megatron.sh").read_text("utf-8").replace("--num-layers 4", f"--num-layers {layers}")
    for small, large in SIZES.items():
        assert small in script, small
        script = script.replace(small, large)
    files = [str(folder / "megatron.sh"), str(folder / "mindformers.yaml")]
    Path(files[0]).write_text(script, "utf-8")
    subprocess.run([accmap, "convert", files[0], "-o", files[1]], stderr=subprocess.DEVNULL, check=False)
    return ["--config", files[0], "--config", files[1]]


def copied(source: Path, target: Path) -> float:
    """Elapsed seconds of a plain copy that ends on the disk."""
    began = time.perf_counter()
    shutil.copytree(source, target)
    for path in target.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    return time.perf_counter() - began


def converted(accmap: str, source: Path, target: Path, config: list[str]) -> float:
    """Elapsed seconds of a conversion."""
    began = time.perf_counter()
    subprocess.run(
        [accmap, "weights", "convert", str(source), "-o", str(target), *config],
        capture_output=True,
        check=True,
    )
    return time.perf_counter() - began


def main() -> int:
    """Measure and print; 1 where a gigabyte or more misses the goal. Less is a smoke, whose time is start-up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--accmap", default=str(Path(sys.executable).with_name("accmap")))
    parser.add_argument("--folder", help="where the temporary directory is made, such as /dev/shm")
    given = parser.parse_args()
    missed = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(dir=given.folder) as scratch:
        home = Path(scratch)
        config = pair(given.accmap, home, given.layers)
        (home / "mindformers").mkdir()
        write_checkpoint(home / "mindformers" / "model-00001-of-00001.safetensors", given.layers)
        converted(given.accmap, home / "mindformers", home / "megatron", config)
        for source, target in (("mindformers", "megatron"), ("megatron", "mindformers")):
            size = sum(path.stat().st_size for path in (home / source).rglob("*") if path.is_file())
            ours: list[float] = []
            theirs: list[float] = []
            for _ in range(given.runs):
                ours.append(converted(given.accmap, home / source, home / "converted", config))
                shutil.rmtree(home / "converted")
                os.sync()
                theirs.append(copied(home / source, home / "copy"))
                shutil.rmtree(home / "copy")
                os.sync()
            share = median(copy / conversion for copy, conversion in zip(theirs, ours, strict=True))
            missed |= share < GOAL and size >= 1e9
            print(
                f"{f'{size / 1e9:.2f} GB, {source} to {target}':44}{size / 1e6 / median(ours):8.0f} MB/s, "
                f"{share:.0%} of a copy's {size / 1e6 / median(theirs):.0f}    >= {GOAL:.0%}"
            )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
