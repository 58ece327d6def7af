"""The launches that small models are built from, against Megatron-LM's own parser and validation.

What the verifier hands to the real model is what the real program would make of the small file's own words.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.schemas.config import ReadOptions
from accmap.schemas.megatron.catalog import VERSIONS
from accmap.schemas.plain_values import json_value
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText
from accmap.verifier.megatron import from_launch
from accmap.verifier.plan import dimensions as size
from accmap.verifier.plan.dimensions import small_file

sys.path.insert(0, str(Path(__file__).parents[2] / "verifier" / "pairs"))
sys.path.insert(0, str(Path(__file__).parents[2] / "verifier" / "proofs"))
from pair_files import TABLE, script_of

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.frameworks

SPREAD = {"tensor-model-parallel-size": 2, "pipeline-model-parallel-size": 2, "sequence-parallel": True}
"""The launches of a pair are spread over eight devices, and their small ones over one."""
DEVICES = 8
LATER = {"padded_vocab_size", "make_vocab_size_divisible_by", "lr_decay_iters", "lr_decay_samples"}
"""What is settled where the tokenizer is built and the schedule begins."""
RENAMED = {"norm_epsilon": "layernorm_epsilon", "apply_layernorm_1p": "layernorm_zero_centered_gamma"}
ENVIRONMENT = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}


def launches() -> dict[str, dict[str, Any]]:
    """The arguments of every family's equal pairs."""
    common = TABLE["common"]["megatron"]
    found: dict[str, dict[str, Any]] = {}
    for name, pair in TABLE["equal"].items():
        family = TABLE["families"][pair["family"]]
        found[name] = {**common, **family.get("megatron", {}), **pair.get("megatron", {}), **SPREAD}
        found[name]["global-batch-size"] = 8
        found[name]["num-layers"] = 4
        found[name].pop("moe-layer-freq", None)
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_the_real_parser_makes_the_same_of_them(version: str, oracle_of: Callable[[str], Any]) -> None:
    oracle = oracle_of(version)
    options = ReadOptions(megatron=version, world_size=DEVICES)
    wrong: list[str] = []
    taken = 0
    for name, flags in launches().items():
        config = config_of(SourceText("run.sh", script_of(flags)), options, path="run.sh")
        whole = size.sizes_of(config)
        small = small_file(config, size.shrink(whole, whole, {}, keep=False)[0])
        argv = shlex.split(small.text.replace("\\\n", " "))[4:]
        real = oracle.ask({"argv": argv, "world_size": 1, "env": ENVIRONMENT})
        if "refused" in real:
            spread = shlex.split(script_of(flags).replace("\\\n", " "), comments=True)[4:]
            before = oracle.ask({"argv": spread, "world_size": DEVICES, "env": ENVIRONMENT})
            wrong += [] if "refused" in before else [f"{name}: refused: {real['refused']}"]
            continue
        taken += 1
        ours = from_launch.blueprint_of(small.config).model
        for key, value in ours.items():
            told = real["values"].get(key, real["values"].get(RENAMED.get(key, ""), value))
            said = json.loads(json.dumps(json_value(value)))
            if key != "moe_layer_freq" and key not in LATER and said != told:
                wrong.append(f"{name}: {key}: {said!r}, really {told!r}")
    assert not wrong, "\n".join(wrong[:20])
    assert taken > len(launches()) / 2
