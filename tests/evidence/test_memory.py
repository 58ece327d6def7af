"""Parsed text takes twice the files' size and 150 MB at most, however many small values it holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("numpy")
pytestmark = pytest.mark.slow
STATISTICS = "Max Value,Min Value,Avg Value,L2Norm Value"


def dump(folder: Path) -> list[str]:
    def tensor(number: int) -> dict[str, object]:
        return {
            "type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [4096, 2, 512], "Max": number / 7,
            "Min": -number / 3, "Mean": number / 1e5, "Norm": number / 11, "requires_grad": True,
        }  # fmt: skip

    units = {
        f"Module.module.decoder.layers.{at}.self_attention.linear_qkv.ColumnParallelLinear.forward.0": {
            "input_args": [tensor(at), {"type": "int", "value": 3}],
            "input_kwargs": {},
            "parameters": {"weight": tensor(at + 1)},
            "output": [tensor(at + 2), tensor(at + 3)],
        }
        for at in range(30_000)
    }
    (folder / "dump.json").write_text(json.dumps({"task": "statistics", "level": "L0", "data": units}))
    return ["dump", "compare", "dump.json", "dump.json", "--quiet"]


def statistics(folder: Path) -> list[str]:
    rows = (
        f"MatMul,Default/net/layers/{at // 4}-MatMul-op{at // 4},{at // 4},0,{at},{'input' if at % 4 else 'output'},"
        f'{at % 4},4096,bfloat16,"(4096, 512)",{at / 7},{-at / 3},{at / 1e5},{at / 11}\n'
        for at in range(150_000)
    )
    head = f"Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,{STATISTICS}\n"
    (folder / "statistic.csv").write_text(head + "".join(rows))
    return ["dump", "compare", ".", ".", "--quiet"]


def index(folder: Path) -> list[str]:
    files = {
        f"model.layers.{at // 900}.mlp.experts.{at}.down_proj.weight": "model-0.safetensors" for at in range(400_000)
    }
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": files}))
    return ["weights", "check", "."]


@pytest.mark.parametrize(
    ("made", "times"), [(dump, 2), (statistics, 2), (index, 1)], ids=["dump", "statistics", "index"]
)
def test_memory_is_bounded_by_the_files(made, times: int, tmp_path: Path) -> None:
    words = made(tmp_path)
    size = times * sum(file.stat().st_size for file in tmp_path.iterdir())
    assert size > 20 << 20
    script = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=-3, stderr=-3);"
        "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, sys.executable, "-m", "accmap", *words],
        cwd=tmp_path, capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    code, peak = map(int, done.stdout.split())
    assert code in (0, 2)
    assert peak << 10 < 2 * size + (150 << 20)
