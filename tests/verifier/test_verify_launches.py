"""Megatron-LM's own parser reads the launch where what runs holds it, and what accmap reads otherwise is named."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of, read_config
from accmap.schemas.source import SourceText
from accmap.verifier.installations import missing_modules
from accmap.verifier.megatron import from_launch
from accmap.verifier.verdict.coverage import Findings
from accmap.verifier.verify import Options, verify
from accmap.verifier.worker.blueprint import LaunchPlan
from accmap.verifier.worker.processes import Workers
from accmap.verifier.worker.session import describe_error

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import TABLE, write_pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accmap.schemas.config import Config

ROOT = Path(__file__).parents[2]
WHEEL = ROOT / ".frameworks" / "megatron" / "0.17.1"
LAUNCH = "CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers {} --hidden-size 64\n"


def script(text: str, version: str = "0.17") -> Config:
    return config_of(SourceText("run.sh", text), ReadOptions(megatron=version), path="run.sh")


def test_a_launch_is_asked_as_it_stands() -> None:
    told = from_launch.launch_of(script(LAUNCH.format(4)))
    environment, defaults = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}, {"tokenizer_type": "GPT2BPETokenizer"}
    assert told == LaunchPlan(("--num-layers", "4", "--hidden-size", "64"), 8, environment, defaults)


def test_what_accmap_cannot_read_never_reaches_a_parser_that_evaluates_it() -> None:
    """`megatron/training/arguments.py:_eval_pattern` hands words to Python's `eval`."""
    text = LAUNCH.format(4).rstrip() + " --num-experts 4 --moe-layer-freq '[print(1) for _ in range(4)]'\n"
    assert from_launch.launch_of(script(text)) is None
    assert from_launch.launch_of(script(text.replace("[print(1) for _ in range(4)]", "([0]*1+[1]*3)"))) is not None


@pytest.mark.parametrize("text", [LAUNCH.format("$LAYERS"), LAUNCH.format(4).replace("8", "$GPUS")])
def test_a_launch_with_an_open_word_is_not_asked(text: str) -> None:
    assert from_launch.launch_of(script(text)) is None


def test_another_reading_is_named_with_both_values() -> None:
    config = script(LAUNCH.format(4))
    real = {key: setting.value for key, setting in config.settings.items()}
    same = {"written": {"values": real}, "small": {"values": real}}
    # What is settled later, and what accmap does not know, proves nothing.
    same["small"]["values"] = {**real, "padded_vocab_size": 7, "of_a_fork": 1}
    assert from_launch.differing_readings(config, config, json.loads(json.dumps(same, default=str))) == []
    (entry,) = from_launch.differing_readings(config, config, {"small": {"values": {"num_layers": 5}}})
    assert (entry.field, tuple(entry.values or ())) == ("num_layers", (4, 5))
    assert "read num_layers of the launch differently" in entry.reason


def test_a_refusal_is_named_once_and_for_the_users_own_launch() -> None:
    config = script(LAUNCH.format(4))
    answers = {"small": {"refused": "AssertionError: small"}, "written": {"refused": "AssertionError: theirs"}}
    (entry,) = from_launch.differing_readings(config, config, answers)
    assert (entry.field, entry.reason.rpartition(" ")[2]) == ("launch", "theirs")
    assert from_launch.parsed_launches(answers) == (False, True)
    assert from_launch.parsed_launches({"small": {"values": {}}}) == (True, False)
    (left,) = from_launch.unparsed_launch({"small": {"absent": "ModuleNotFoundError: omegaconf"}})
    assert left.reason.endswith("ModuleNotFoundError: omegaconf")
    assert from_launch.differing_readings(config, config, None) == from_launch.unparsed_launch(None) == []


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    for framework in ("megatron", "mindformers"):
        if missing_modules(framework):
            pytest.skip(f"{framework} is not installed")
    if not WHEEL.is_dir():
        pytest.skip("the wheel of 0.17 is not unpacked")
    with Workers() as started:
        yield started


def pair_of(folder: Path, **flags: Any) -> tuple[Config, Config]:
    pair = dict(TABLE["equal"]["dense"])
    pair["megatron"] = {**pair.get("megatron", {}), **flags}
    one, other = write_pair(pair, folder)
    return (
        read_config(str(one), ReadOptions(megatron="0.17", world_size=1)),
        read_config(str(other), ReadOptions(mindformers="1.9")),
    )


OPTIONS = Options(sources={"megatron": str(WHEEL)}, stage="step1")


@pytest.mark.frameworks
def test_the_parser_that_runs_reads_the_launch(tmp_path: Path, workers: Workers) -> None:
    found = verify(*pair_of(tmp_path), Findings(), OPTIONS, workers=workers)
    assert found.verdict == "match", found.to_json()["disagreeing"]
    assert (found.ran[0].parsed, found.ran[0].own_launch) == (True, True)
    assert "validation" in found.stand_ins["megatron"]
    assert {entry["framework"]: entry["parsed"] for entry in found.to_json()["ran"]}["mindformers"] is None


@pytest.mark.frameworks
def test_a_misreading_of_ours_is_no_match(tmp_path: Path, workers: Workers) -> None:
    script, config = pair_of(tmp_path)
    wrong = script.settings["adam_beta2"]._replace(value=0.5)
    found = verify(
        script._replace(settings={**script.settings, "adam_beta2": wrong}), config, Findings(), OPTIONS, workers=workers
    )
    assert found.verdict == "not-verifiable"
    assert "does not support optimizer.beta2" in found.to_json()["failures"][0]["reason"]


@pytest.mark.frameworks
def test_what_the_real_validation_refuses_is_no_match(
    tmp_path: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = from_launch.launch_of

    def odd(config: Config) -> LaunchPlan | None:
        plan = whole(config)
        return None if plan is None else plan._replace(words=(*plan.words, "--tensor-model-parallel-size", "3"))

    monkeypatch.setattr(from_launch, "launch_of", odd)
    found = verify(*pair_of(tmp_path), Findings(), OPTIONS, workers=workers)
    assert (found.verdict, found.ran[0].parsed) == ("partial", False)
    (entry,) = [one for one in found.not_compared if one.differs]
    assert entry.field == "launch"
    assert "AssertionError" in entry.reason


def test_a_bare_assertion_is_described_by_its_condition(tmp_path: Path) -> None:
    module = tmp_path / "arguments.py"
    module.write_text("def check(a):\n    assert a[\n        'x'] is None\ncheck({'x': 1})\n", "utf-8")
    with pytest.raises(AssertionError) as caught:
        runpy.run_path(str(module))
    assert describe_error(caught.value) == "AssertionError: a['x'] is None (arguments.py:2)"
    assert describe_error(ValueError("a\nb")) == "ValueError: a b"


_ASKED = """
import builtins, json, os, sys
import torch
from accmap.verifier.megatron import parser
from accmap.verifier.worker.blueprint import LaunchPlan

def state():
    places = (torch.cuda.get_device_capability, torch.cuda.current_device, builtins.exit, sys.argv)
    return [*map(id, places), list(map(id, sys.meta_path)), dict(os.environ)]

parser.import_arguments()
before = state()
words = "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 --bf16"
sound = (*words.split(), "--micro-batch-size", "1", "--deterministic-mode")
environment, defaults = {"NCCL_ALGO": "Ring", "OF_THE_LAUNCH": "1"}, {"tokenizer_type": "NullTokenizer"}
found = parser.answer_launch(LaunchPlan(sound, 8, environment, defaults))
refused = parser.answer_launch(LaunchPlan((*sound, "--num-layers"), 8, {}, {}))
split = (*sound, "--tensor-model-parallel-size", "2", "--vocab-size", "1024")
shell = [parser.answer_launch(LaunchPlan(split, 8, {"NCCL_ALGO": "Ring", **more}, defaults)) for more in (
    {}, {"CUDA_DEVICE_MAX_CONNECTIONS": "8"})]
left = [name for name, module in sys.modules.items() if type(module).__name__ == "_StandIn"]
same = state() == before and not torch.are_deterministic_algorithms_enabled() and not left
print(json.dumps([same, found.get("values", found), refused, shell]))
"""


@pytest.mark.frameworks
def test_asking_leaves_nothing_behind() -> None:
    if not WHEEL.is_dir() or missing_modules("megatron"):
        pytest.skip("the wheel of 0.17 is not unpacked")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(WHEEL), *(path for path in sys.path if path)])}
    done = subprocess.run([sys.executable, "-c", _ASKED], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    same, values, refused, (unset, other) = json.loads(done.stdout.splitlines()[-1])
    assert same
    # The file leaves the variable to the shell, or sets a value that Megatron-LM refuses beside tensor parallelism.
    assert unset["values"]["tensor_model_parallel_size"] == 2, unset
    assert "CUDA_DEVICE_MAX_CONNECTIONS" in other["refused"]
    told = ("num_layers", "world_size", "params_dtype", "tokenizer_type")
    assert [values[name] for name in told] == [4, 8, "bfloat16", "NullTokenizer"]
    assert "SystemExit" in refused["refused"]
