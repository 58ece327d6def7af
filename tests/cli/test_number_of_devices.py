"""A run whose parallel sizes do not fit its number of devices, and where that number comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
STATIC = (
    (ROOT / "examples" / "qwen3_dense" / "mindformers.yaml")
    .read_text("utf-8")
    .replace("use_parallel: False", "use_parallel: True")
    .replace("model_parallel: 1", "model_parallel: 2")
    .replace("data_parallel: 1", "data_parallel: 4")
)
DYNAMIC = (
    (ROOT / "examples" / "qwen3_dense" / "mindformers_dynamic.yaml")
    .read_text("utf-8")
    .replace("context_parallel: 1", "")
    .replace("tensor_parallel: 1", "tensor_parallel: 8")
    .replace("sequence_parallel: False", "sequence_parallel: True")
)
LAUNCHED = 'bash msrun_launcher.sh "run_mindformer.py --config run.yaml" $WORKERS\n'
LAUNCHES = {
    f"WORKERS=4\n{LAUNCHED}": "4 ($WORKERS, run.sh:1)",
    f"N=${{N:-4}}\n\nWORKERS=$N\n{LAUNCHED}": "4 ($WORKERS, run.sh:1)",
    f"{LAUNCHED.replace('$WORKERS', '4')}": "4 (run.sh:1)",
    "R=4\nmsrun --worker_num=$R --local_worker_num 2 run_mindformer.py --config run.yaml\n": "4 ($R, run.sh:1)",
    "msrun run_mindformer.py --config run.yaml --use_parallel True\n": "",
}


@pytest.mark.parametrize("script", LAUNCHES)
@pytest.mark.parametrize("command", ["lint", "convert"])
def test_a_static_run_names_the_variable(accmap: Callable[..., Any], script: str, command: str) -> None:
    answer = accmap(command, "run.sh", files={"run.sh": script, "run.yaml": STATIC})
    said = LAUNCHES[script]
    if said:
        assert "4 x 2 x 1 x 1 is not " + said in (answer.out + answer.err).replace("\n", " ")
        assert answer.code == (1 if command == "lint" else 2)
    else:
        assert "must equal the number of devices" not in answer.out + answer.err


def test_the_place_is_in_the_file_that_has_it(accmap: Callable[..., Any]) -> None:
    script = f"WORKERS=4\n{LAUNCHED}"
    answer = accmap("convert", "run.sh", files={"run.sh": script, "run.yaml": STATIC})
    line = STATIC[: STATIC.index("model_parallel: 2")].count("\n") + 1
    assert answer.err.startswith(f"run.yaml:{line}:"), answer.err


def test_a_yaml_alone_names_the_option(accmap: Callable[..., Any]) -> None:
    answer = accmap("lint", "run.yaml", "--world-size", "4", files={"run.yaml": STATIC})
    assert "4 x 2 x 1 x 1 is not 4 (--world-size)" in answer.out
    assert accmap("lint", "run.yaml", "--world-size", "8").code == 0


def test_a_dynamic_run_names_the_variable(accmap: Callable[..., Any]) -> None:
    script = "RANKS=4\nmsrun --worker_num=$RANKS run_mindformer.py --config run.yaml\n"
    answer = accmap("lint", "run.sh", files={"run.sh": script, "run.yaml": DYNAMIC})
    assert "does not divide the 4 devices ($RANKS, run.sh:1)" in answer.out


def test_a_megatron_run_names_the_variables(accmap: Callable[..., Any]) -> None:
    text = (ROOT / "examples" / "qwen3_dense" / "megatron.sh").read_text("utf-8")
    text = text.replace("--nproc_per_node 1 --nnodes 1", "--nproc_per_node $GPUS --nnodes $NODES")
    text = text.replace("--tensor-model-parallel-size 1", "--tensor-model-parallel-size 8")
    script = f"GPUS=2\nNODES=2\n{text}"
    said = "4 ($GPUS, run.sh:1; $NODES, run.sh:2)"
    lint = accmap("lint", "run.sh", files={"run.sh": script})
    assert "4 devices ($GPUS, run.sh:1; $NODES, run.sh:2) are not divisible by 8" in lint.out
    assert f"but world_size is {said}" in lint.out
    assert f"world_size = {said}" in accmap("convert", "run.sh").err
