"""Prints how fast `accmap weights convert` is against a plain copy of the same bytes, in both directions.

    python benchmarks/weights.py [--layers 12] [--runs 5] [--accmap PROGRAM] [--folder DIR]

A dense model of bfloat16 numbers (1.7 GB with 12 layers) is made in a temporary directory: the pair is
examples/qwen3_dense with larger sizes. A plain copy is `cp` and then `fsync`, since a conversion brings its files to
the disk, too. The two take turns, and the figure is the median of their ratios: a disk's speed changes by the minute. A
conversion asks more of the processors than a copy (its sums most of all) and does that while the disk writes, so that
the figure means little where others have the processors: the last column says how many of them others had.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

PAIR = Path(__file__).resolve().parent.parent / "examples" / "qwen3_dense"
GOAL, WORKERS, MEMORY = 0.7, 1.6, 500e6
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


def converted(accmap: str, source: Path, target: Path, words: list[str]) -> tuple[float, int]:
    """Elapsed seconds of a conversion, and the most memory of one of its processes in bytes."""
    began = time.perf_counter()
    command = [accmap, "weights", "convert", str(source), "-o", str(target), *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {status}")
    return time.perf_counter() - began, usage.ru_maxrss << 10


def compare_workers(accmap: str, home: Path, config: list[str], runs: int) -> None:
    """Print the ratio of one worker's time to that of two, which take turns with a copy that shows the disk's limit."""
    source, target = home / "megatron", home / "converted"
    words = [*config, "--shard-size", "0.1"]
    load = Load()
    ratios: list[float] = []
    limits: list[float] = []
    memory = 0
    for _ in range(runs):
        seconds: list[float] = []
        for workers in ("1", "2"):
            elapsed, most = converted(accmap, source, target, [*words, "--workers", workers])
            seconds.append(elapsed)
            memory = max(memory, most)
            shutil.rmtree(target)
            os.sync()
        ratios.append(seconds[0] / seconds[1])
        limits.append(seconds[0] / copied(source, target))
        shutil.rmtree(target)
        os.sync()
    print(
        f"two workers are {median(ratios):.2f} times as fast as one    >= {WORKERS:.1f} if processors are free and the "
        f"disk allows: a copy is {median(limits):.2f} times as fast; {memory / 1e6:.0f} MB of memory for a process at "
        f"most, <= {MEMORY / 1e6:.0f}; others had {load.others():.1f} of {os.cpu_count()} processors, load "
        f"{os.getloadavg()[0]:.1f}"
    )


class Load:
    """What of the processors this benchmark and everybody else have had since it was made."""

    def __init__(self) -> None:
        self._at = time.perf_counter()
        self._busy, self._own = _busy_seconds(), _own_seconds()

    def others(self) -> float:
        """How many processors others had; what the system did for nobody's own sake is among it."""
        busy, own = _busy_seconds() - self._busy, sum(_own_seconds()) - sum(self._own)
        return max(0.0, busy - own) / (time.perf_counter() - self._at)

    def own(self) -> tuple[float, float]:
        """The seconds of processor that this process had, for copies, and its children, for conversions."""
        copies, conversions = _own_seconds()
        return copies - self._own[0], conversions - self._own[1]


def _own_seconds() -> tuple[float, float]:
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return found[0].ru_utime + found[0].ru_stime, found[1].ru_utime + found[1].ru_stime


def _busy_seconds() -> float:
    """What all processors have done since the machine began; 0 where no system tells."""
    try:
        told = [int(word) for word in Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()[1:]]
    except OSError:
        return 0.0
    return (sum(told[:8]) - told[3] - told[4]) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure and print; 1 where a gigabyte or more misses the goal. Less is a smoke, whose time is start-up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--runs", type=int, default=5)
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
            load = Load()
            for _ in range(given.runs):
                ours.append(converted(given.accmap, home / source, home / "converted", config)[0])
                shutil.rmtree(home / "converted")
                os.sync()
                theirs.append(copied(home / source, home / "copy"))
                shutil.rmtree(home / "copy")
                os.sync()
            share = median(copy / conversion for copy, conversion in zip(theirs, ours, strict=True))
            missed |= share < GOAL and size >= 1e9
            copying, converting = (seconds / given.runs for seconds in load.own())
            print(
                f"{f'{size / 1e9:.2f} GB, {source} to {target}':44}{size / 1e6 / median(ours):8.0f} MB/s, "
                f"{share:.0%} of a copy's {size / 1e6 / median(theirs):.0f}    >= {GOAL:.0%}    "
                f"{converting:.1f} s of processor, a copy {copying:.1f}; "
                f"others had {load.others():.1f} of {os.cpu_count()}"
            )
        compare_workers(given.accmap, home, config, given.runs)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
