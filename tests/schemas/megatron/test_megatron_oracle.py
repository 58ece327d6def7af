"""Every value of Megatron-LM's own functional-test recipes and of generated arguments, against its real code.

That is `parse_args`, `validate_args` and `core_transformer_config_from_args` of the trees that `tree_of` finds; PyTorch
must be importable. The values of generated arguments are shrunk to the first difference.
"""

from __future__ import annotations

import glob
import json
import os
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.megatron.catalog import VERSIONS, ArgumentFact, catalog
from accmap.schemas.megatron.effective import megatron_config
from accmap.schemas.megatron.inputs.functional_test import read_recipe
from accmap.schemas.plain_values import json_value
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Callable

RECIPES = "tests/functional_tests/test_cases/**/model_config.yaml"
NAMES = "DATA_PATH CHECKPOINT_LOAD_PATH CHECKPOINT_SAVE_PATH TENSORBOARD_PATH DATA_CACHE_PATH INFERENCE_OUTPUT_PATH"
MORE = "WANDB_EXPERIMENT WANDB_SAVE_PATH DATA_BLEND OUTPUT_PATH ARTIFACTS_ROOT TOKENIZER_TYPE TOKENIZER_MODEL_PATH"
PATHS = {name: f"/x/{name}" for name in (NAMES + " " + MORE).split()} | {"REPEAT": "1", "NUM_NODES": "1"}
LATER = {"padded_vocab_size", "train_iters", "lr_decay_iters", "lr_decay_samples"}
REFUSED = {"MAP030", "MAP031", "MAP035"}

EXAMPLES = 150
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
SOUND = shlex.split(
    "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 "
    "--micro-batch-size 1 --global-batch-size 8 --train-iters 10 --lr 1e-4 --vocab-size 1000 "
    "--tokenizer-type NullTokenizer --dataloader-type single"
)
ENVIRONMENT = {"NCCL_ALGO": "Ring", "CUDA_DEVICE_MAX_CONNECTIONS": "1", "NVTE_CPU_OFFLOAD_V1": "1"}
OUTSIDE = {
    # What the parser reads another file or package for.
    "yaml_cfg", "use_checkpoint_args", "enable_msc", "disable_msc_deprecated", "ckpt_convert_format",
    "heterogeneous_layers_config_path", "heterogeneous_layers_config_encoded_json", "retro_project_dir",
    # What build_tokenizer refuses, and what a row of stops.yaml tells.
    "make_vocab_size_divisible_by", "init_method_xavier_uniform",
    # Files of quantization recipes.
    "te_precision_config_file", "kitchen_config_file",
    # Python's own code, which validation evaluates or imports.
    "spec", "pipeline_model_parallel_layout",
}  # fmt: skip
TEXTS = {
    "int": ["1", "2", "4", "8", "0", "64", "3"],
    "float": ["0.1", "0.5", "1.0", "0", "2"],
    "bool": ["1", "true"],
    "frequency": ["1", "2", "[1,0]*2"],
    "integers": ["64,0"],
}

pytestmark = pytest.mark.frameworks


def configs(version: str, tree: str) -> list[tuple[str, Config]]:
    options = ReadOptions(megatron=version, variables=PATHS)
    found: list[tuple[str, Config]] = []
    for path in sorted(glob.glob(os.path.join(tree, RECIPES), recursive=True)):
        with open(path, encoding="utf-8") as stream:
            recipe = read_recipe(SourceText(path, stream.read()), options)
        config = megatron_config(recipe.arguments, file=path, options=options, launch=recipe.launch)
        if all(word.resolved for word in recipe.arguments):
            found.append((path, config))
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_every_value_of_every_recipe(
    version: str, tree_of: Callable[[str], str], oracle_of: Callable[[str], Any]
) -> None:
    read = configs(version, tree_of(version))
    if not read:
        pytest.skip("a wheel holds no recipes")
    oracle = oracle_of(version)
    wrong: list[str] = []
    for path, config in read:
        wrong += [f"{path}: {text}" for text in _differences(config, oracle.ask(_job(config)), oracle.defaults)]
    assert not wrong


@st.composite
def command_lines(draw: st.DrawFn, version: str) -> list[str]:
    """A run that is sound, and some of the version's arguments with values of their types."""
    known = [fact for fact in catalog(version).arguments if fact.dest not in OUTSIDE]
    words: list[str] = []
    for fact in draw(st.lists(st.sampled_from(known), min_size=1, max_size=5)):
        words.append(draw(st.sampled_from(fact.options)))
        if fact.action == "store":
            most = fact.nargs if isinstance(fact.nargs, int) else 2 if fact.nargs else 1
            least = most if isinstance(fact.nargs, int) else 1
            words += draw(st.lists(st.sampled_from(_texts(fact)), min_size=least, max_size=most))
    return words


def _texts(fact: ArgumentFact) -> list[str]:
    return [str(choice) for choice in fact.choices] if fact.choices else TEXTS.get(fact.type or "", ["a", "b"])


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_every_value_of_generated_arguments(version: str, oracle_of: Callable[[str], Any]) -> None:
    oracle = oracle_of(version)

    @settings(max_examples=EXAMPLES, derandomize=True, suppress_health_check=SLOW)
    @given(command_lines(version))
    def compared(words: list[str]) -> None:
        variables = " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items())
        text = f"{variables} torchrun --nproc-per-node 8 pretrain_gpt.py {shlex.join([*SOUND, *words])}\n"
        config = config_of(SourceText("run.sh", text), ReadOptions(megatron=version), path="run.sh")
        real = oracle.ask({"argv": [*SOUND, *words], "world_size": 8, "env": ENVIRONMENT})
        assert _differences(config, real, oracle.defaults) == [], shlex.join(words)

    compared()


def _job(config: Config) -> dict[str, Any]:
    launch = config.launch
    assert launch is not None
    argv = [word.text for word in launch.arguments]
    return {"argv": argv, "world_size": launch.world_size, "env": dict(launch.env)}


def _differences(config: Config, real: dict[str, Any], defaults: dict[str, Any]) -> list[str]:
    refused = REFUSED & {problem.kind.code for problem in config.problems}
    if "refused" in real:
        unread = {"MAP004", "MAP005", "MAP006"} & {problem.kind.code for problem in config.problems}
        return [] if refused or unread else [f"not refused: {real['refused']}"]
    wrong = [f"refused: {sorted(refused)}"] if refused else []
    for key, value in real["values"].items():
        if key in LATER and value == defaults.get(key):
            continue
        ours = json.loads(json.dumps(json_value(config.value(key))))
        if ours != value or type(ours) is not type(value):
            wrong.append(f"{key}: {ours!r}, really {value!r}")
    return wrong
