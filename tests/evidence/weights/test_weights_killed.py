"""Processes of a conversion that are killed: parts in a loop, and a node of a real local Ray cluster of three."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("numpy")

from weight_files import arrays, pair, write_mindformers

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.procedure("proc.weights.convert")]
NODES = 3
PARTS, KILLS = 3, 20


@pytest.fixture
def cluster() -> Any:
    """A head and two more nodes, each with one processor."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    others = [made.add_node(num_cpus=1) for _ in range(NODES - 1)]
    made.wait_for_nodes()
    yield made, others
    made.shutdown()


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


GIVEN = ("m", "--config", "train.yaml", "--ckpt-format", "torch_dist", "--shard-size", "0.0002")
COMMAND = [sys.executable, "-m", "accmap", "weights", "convert", *GIVEN]


def convert(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False)


def test_parts_that_are_killed_at_random_lose_no_file(tmp_path: Path) -> None:
    """Twenty kills at random moments, most of them while a file is being written."""
    script, config = pair("deepseek", tmp_path)
    write_mindformers(tmp_path / "m", config, arrays(script))
    began = time.monotonic()
    assert convert(tmp_path, "-o", "whole").returncode == 0
    seconds = time.monotonic() - began
    whole = content(tmp_path / "whole")
    source = random.Random(47)
    kills = 0
    for turn in range(40 * KILLS):
        part = 1 + turn % PARTS
        words = [*COMMAND, "-o", "out", "--part", f"{part}/{PARTS}"]
        with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            if kills < KILLS:
                try:
                    process.wait(source.uniform(0.3, 1.0) * seconds)
                except subprocess.TimeoutExpired:
                    process.kill()
                    kills += 1
                else:  # all of this part was finished before it was killed: begin it again
                    for path in list((tmp_path / "out").rglob("*.distcp"))[:PARTS]:
                        path.unlink()
            assert process.wait() <= 0 or kills == KILLS
        if kills == KILLS and turn % PARTS == PARTS - 1 and convert(tmp_path, "-o", "out", "--finish").returncode == 0:
            break
    assert kills == KILLS
    assert content(tmp_path / "out") == whole


def test_a_node_that_is_killed_costs_no_file(cluster: Any, tmp_path: Path) -> None:
    script, config = pair("deepseek", tmp_path)
    write_mindformers(tmp_path / "m", config, arrays(script))
    assert convert(tmp_path, "-o", "whole").returncode == 0
    whole = content(tmp_path / "whole")
    made, others = cluster
    killed: list[int] = []

    def kill() -> None:
        """Take a node away once some files are finished."""
        while not killed and not done.is_set():
            finished = len(list((tmp_path / "out").rglob(".*.finished.json")))
            if finished >= NODES:
                made.remove_node(others[0], allow_graceful=False)
                killed.append(finished)
            time.sleep(0.01)

    done = threading.Event()
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        answer = convert(tmp_path, "-o", "out", "--ray", made.address)
    finally:
        done.set()
        killer.join()
    assert answer.returncode == 0, answer.stderr
    assert len(killed) == 1
    assert killed[0] < len([name for name in whole if name.endswith(".distcp")])
    assert content(tmp_path / "out") == whole


def test_a_task_s_refusal_is_the_command_s(cluster: Any, tmp_path: Path) -> None:
    script, config = pair("grouped", tmp_path)
    found = arrays(script)
    write_mindformers(tmp_path / "m", config, found)
    made, _others = cluster
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "other.safetensors").write_bytes(b"mine")
    answer = convert(tmp_path, "-o", "out", "--ray", made.address)
    assert (answer.returncode, "EVD054" in answer.stderr) == (2, True), answer.stderr
    assert os.listdir(tmp_path / "out") == ["other.safetensors"]
