"""Prints how long `accmap logs` takes on a log of a million lines, a tenth and all of them training lines.

    python benchmarks/logs.py [--lines 1000000] [--runs 3] [--accmap PROGRAM]

Logs of both frameworks are written to a temporary directory; each figure is the median of the elapsed seconds of a
process that was started anew, with its largest resident memory.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

GOALS = {10: 2.0, 1: 2.0}
"""Seconds a million lines may take, by how many lines stand between two training lines."""
SERVED = "2025-01-01 10:00:00,123 - mindformers[mindformers/core/callback/callback.py:764] - INFO -   0.1% | | 19.4 samples/s/p  1:02:03 }\n"  # fmt: skip  # noqa: E501


def loss(step: int) -> float:
    """A loss that falls."""
    return 2 + 9 * math.exp(-step / 5000) + 0.01 * (step % 7 - 3)


def megatron_line(step: int, last: int) -> str:
    """A line as Megatron-LM writes it."""
    return (
        f" [2025-01-01 10:00:00] iteration {step:8d}/{last:8d} | consumed samples: {step * 16:12d} | elapsed time per "
        f"iteration (ms): 412.3 | throughput per GPU (TFLOP/s/GPU): 101.2 | learning rate: {1e-4:.6E} | global batch "
        f"size:    16 | lm loss: {loss(step):.6E} | loss scale: 1.0 | grad norm: {1 + step % 9 / 10:.3f} | number of "
        "skipped iterations:   0 | number of nan iterations:   0 |\n"
    )


def mindformers_line(step: int, last: int) -> str:
    """A line as MindSpore Transformers writes it."""
    return (
        "2025-01-01 10:00:00,123 - mindformers[mindformers/core/callback/callback.py:747] - INFO - { Epoch:[  1/  1], "
        f"step:[{step:5d}/{last:5d}], loss: {loss(step):5.6f}, per_step_time: 412ms, lr: 1e-04, overflow cond: False, "
        f"loss_scale: 1.0, global_norm: [{1 + step % 9 / 10:.6f}], train_throughput_per_npu: 12.123T\n"
    )


def write(path: Path, lines: int, every: int, framework: str) -> None:
    """A log with a training line every so many lines."""
    line = megatron_line if framework == "megatron" else mindformers_line
    with path.open("w", encoding="utf-8") as log:
        for number in range(lines):
            log.write(line(number // every + 1, lines // every) if number % every == 0 else SERVED)


def measured(command: list[str], runs: int) -> tuple[float, float]:
    """Median elapsed seconds, and the largest resident memory in MB."""
    script = (
        "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:], stdout=-3).returncode;"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, code)"
    )
    taken: list[float] = []
    memory = 0.0
    for _ in range(runs):
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", script, *command], capture_output=True, text=True, check=True
        )
        taken.append(time.perf_counter() - started)
        largest, code = done.stdout.split()
        if code != "0":
            raise SystemExit(f"{' '.join(command)} ended with {code}: {done.stderr}")
        memory = max(memory, int(largest) / 1024)
    return median(taken), memory


def main() -> int:
    """Measure and print; 1 where a million lines or more miss a goal. Fewer are a smoke, whose time says little."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--accmap", default=str(Path(sys.executable).with_name("accmap")))
    given = parser.parse_args()
    missed = False
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for every, goal in GOALS.items():
            for framework in ("megatron", "mindformers"):
                log = Path(scratch) / f"{framework}.log"
                write(log, given.lines, every, framework)
                seconds, memory = measured([given.accmap, "logs", log.name], given.runs)
                limit = goal * given.lines / 1_000_000 + 0.5
                missed |= seconds > limit
                what = f"{given.lines:,} lines, 1 in {every} of {framework}"
                print(f"{what:44}{seconds:8.2f} s  <= {goal:.0f} for 1,000,000   {memory:6.1f} MB")
                log.unlink()
        os.chdir("/")
    return int(missed and given.lines >= 1_000_000)


if __name__ == "__main__":
    sys.exit(main())
