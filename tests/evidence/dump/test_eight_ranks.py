"""Eight ranks of one real run, dumped by the real msprobe, are compared at once; one that is off is named."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.lean import main

HERE = Path(__file__).parent
MODULE = "decoder.layers.1.linear_fc2"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("msprobe", "torch")), reason="needs msprobe and torch"
    ),
]


def dumped(out: Path, *faulty: str) -> Path:
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "8"]
    script = [str(HERE / "eight_ranks.py"), str(out), *faulty]
    done = subprocess.run([*words, *script], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return out


def test_one_of_eight_ranks_and_its_partner_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sound, off = dumped(tmp_path / "sound"), dumped(tmp_path / "off", "5")
    capsys.readouterr()

    def told(a: Path) -> tuple[int, dict[str, Any]]:
        code = main(["dump", "compare", str(a), str(sound), "--quiet", "--format", "json", "--jobs", "2"])
        return code, json.loads(capsys.readouterr().out)

    code, same = told(sound)
    assert (code, same["verdict"], len(same["parts"])) == (0, "match", 8)
    assert same["parts"][0]["compared"]["tensors"] > 30
    code, found = told(off)
    assert (code, found["verdict"], len(found["parts"])) == (1, "diverged", 8)
    differing = {part["rank"]: part["first_divergence"] for part in found["parts"] if part["first_divergence"]}
    assert {rank: one["module"] for rank, one in differing.items()} == dict.fromkeys((4, 5), MODULE)
    # The sum of what both computed reaches rank 4; rank 5 alone has other weights.
    assert {rank: one["cause"] for rank, one in differing.items()} == {4: "computation", 5: "weights"}
    assert [one["module"] for one in found["merged"]] == [MODULE] * 2
