"""A translation as a launch script of Megatron-LM: bash arrays by topic and one torchrun line."""

from __future__ import annotations

import re
from math import lcm, prod

from ...mappings.keys_compiled import EVALUATION_INTERVAL, HEAD_WIDTH, TOKENIZER_FLAGS
from ...mappings.tables import ARRAYS
from ...schemas.border.text_output import visible
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.megatron.argument_parser import negative_number
from ...schemas.megatron.forks import catalog
from ...schemas.versions import title_of
from .messages_compiled import say
from .result import TOKENIZER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value
    from ...schemas.diagnostic import Language
    from ...schemas.megatron.catalog import ArgumentFact
    from ...schemas.megatron.dialects import Dialect
    from ..recipe.values import Recipe
    from .result import TargetSetting, Translation

_ORDER = (
    "MODEL_ARGS", "MOE_ARGS", "DATA_ARGS", "TRAINING_ARGS", "OPTIMIZER_ARGS", "PRECISION_ARGS", "PARALLEL_ARGS",
    "OUTPUT_ARGS",
)  # fmt: skip
PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:=,+@%-]+")
"""A word that bash takes without quotes."""
GPUS_PER_NODE = 8
_LATENT_WIDTH: FieldName = "attention.latent.qk_head_dim"
EVALUATES_EVERY = 1000
"""Steps between evaluations where the source has none: Megatron-LM's own default up to 0.15."""
EXPERT_PARALLEL_SIZES: tuple[FieldName, ...] = (
    "parallel.expert_size", "parallel.expert_tensor_size", "parallel.pipeline_size",
)  # fmt: skip
PARALLEL_SIZES: tuple[FieldName, ...] = (
    "parallel.data_size", "parallel.tensor_size", "parallel.pipeline_size", "parallel.context_size",
)  # fmt: skip


def megatron_text(translation: Translation, *, comments: bool = True, language: Language = "en") -> str:
    """The script, its comments in a language."""
    arrays: dict[str, list[str]] = {}
    for array, words, note in _written_arguments(translation, language):
        line = "    " + " ".join(quote_word(word) for word in words)
        arrays.setdefault(array, []).append(f"{line}  # {visible(note)}" if comments and note else line)
    world = devices_of(translation.recipe)
    nodes, each = _nodes_and_gpus(world)
    lines = ["#!/bin/bash"]
    if comments:
        name = visible(translation.source.rsplit("/", 1)[-1]) or say.standard_input().text(language)
        lines.append(f"# {say.written_script(title=_title(translation), source=name).text(language)}")
    lines += ["", "export CUDA_DEVICE_MAX_CONNECTIONS=1"]
    if translation.recipe.value("run.deterministic"):
        lines += [
            "export NCCL_ALGO=Ring",
            "export NVTE_ALLOW_NONDETERMINISTIC_ALGO=0",
            "export CUBLAS_WORKSPACE_CONFIG=:4096:8",
        ]
    lines.append("")
    lines += [f"NNODES={nodes}", f"GPUS_PER_NODE={each}", "NODE_RANK=${NODE_RANK:-0}"]
    lines += ["MASTER_ADDR=${MASTER_ADDR:-localhost}", "MASTER_PORT=${MASTER_PORT:-6000}", ""]
    names = [name for name in _ORDER if name in arrays]
    for name in names:
        lines += [f"{name}=(", *arrays[name], ")", ""]
    lines += [
        "torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NNODES --node_rank $NODE_RANK \\",
        "    --master_addr $MASTER_ADDR --master_port $MASTER_PORT \\",
        "    pretrain_gpt.py \\",
    ]
    lines += [f'    "${{{name}[@]}}"' + (" \\" if name != names[-1] else "") for name in names]
    return "\n".join(lines) + "\n"


def _written_arguments(translation: Translation, language: Language) -> list[tuple[str, list[str], str]]:
    """Arguments with target array, words and comment, including those the program requires."""
    fork = translation.fork
    known = catalog(translation.version, translation.fork).by_dest
    found: list[tuple[str, list[str], str]] = []
    for setting in translation.settings if fork is None else _of_fork(fork, translation.settings):
        fact = known.get(setting.key)
        if fact is not None:
            array = ARRAYS[setting.fields[0].split(".", 1)[0]] if setting.fields else "TRAINING_ARGS"
            found.append((array, words_of(fact, setting.value), ", ".join(setting.notes[:2])))
    evaluation = None if fork is not None else known.get(EVALUATION_INTERVAL)
    if evaluation is not None and evaluation.default is None and not _has_setting(translation, EVALUATION_INTERVAL):
        # Without one the program divides by none when it counts the samples of evaluation.
        note = say.evaluation_of_the_run().text(language)
        found.append(("TRAINING_ARGS", words_of(evaluation, EVALUATES_EVERY), note))
    if not _heads_divide(translation):
        note = say.width_that_nothing_reads().text(language)
        found.append(("MODEL_ARGS", words_of(known[HEAD_WIDTH], translation.recipe.value(_LATENT_WIDTH)), note))
    if translation.source_framework != "megatron":
        # MindSpore Transformers reads token ids; Megatron-LM asks for the tokenizer they were made with.
        note = say.tokenizer_of_the_data().text(language)
        found.append(("DATA_ARGS", [TOKENIZER_FLAGS[0], "HuggingFaceTokenizer"], note))
        found.append(("DATA_ARGS", [TOKENIZER_FLAGS[1], TOKENIZER], ""))
    return found


def _heads_divide(translation: Translation) -> bool:
    """True if Megatron-LM starts without the width of a head, which latent attention has no use for."""
    value = translation.recipe.value
    hidden, heads = value("model.hidden_size"), value("attention.num_heads")
    if not value("attention.latent.enabled") or _has_setting(translation, HEAD_WIDTH):
        return True
    return not (isinstance(hidden, int) and isinstance(heads, int) and heads > 0 and hidden % heads)


def _has_setting(translation: Translation, key: str) -> bool:
    return any(setting.key == key for setting in translation.settings)


def _title(translation: Translation) -> str:
    """The framework and version that the script is written for."""
    fork = translation.fork
    return title_of("megatron", translation.version) if fork is None else fork.label


def _of_fork(fork: Dialect, settings: Sequence[TargetSetting]) -> list[TargetSetting]:
    """Settings renamed to a fork's own arguments where it has them."""
    given = {setting.key: setting for setting in settings}
    written = fork.to_fork_arguments({key: setting.value for key, setting in given.items()})
    return [given[one.of]._replace(key=one.key, value=one.value) for one in written]


def words_of(fact: ArgumentFact, value: Value) -> list[str]:
    """Command-line words of an argument: its flag and values."""
    option = fact.options[0]
    if fact.action in ("true", "false"):
        return [option]
    if fact.action == "switch":
        return [option if value else next((one for one in fact.options if one.startswith("--no-")), option)]
    if isinstance(value, (list, tuple)):
        if fact.nargs is not None:
            return [option, *(_word_of_value(entry) for entry in value)]
        return [option, _pattern(list(value))]
    if fact.type == "int" and isinstance(value, float) and value.is_integer():
        return [option, str(int(value))]  # YAML takes 1.0e3 for a number with a fraction
    word = _word_of_value(value)
    # argparse takes another word with a leading minus for an option.
    return [f"{option}={word}"] if word.startswith("-") and not negative_number(word) else [option, word]


def _word_of_value(value: Value) -> str:
    if isinstance(value, float):
        return repr(value)
    return str(value)


def _pattern(entries: list[Value]) -> str:
    """A list as an expression of repeated parts: ([0]*3+[1]*58)."""
    runs: list[tuple[Value, int]] = []
    for entry in entries:
        if runs and runs[-1][0] == entry:
            runs[-1] = (entry, runs[-1][1] + 1)
        else:
            runs.append((entry, 1))
    if len(runs) > len(entries) // 2:
        return "[" + ",".join(str(entry) for entry in entries) + "]"
    return "(" + "+".join(f"[{entry}]*{count}" for entry, count in runs) + ")"


def quote_word(word: str) -> str:
    """Word quoted for bash if necessary."""
    if PLAIN_WORD.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def devices_of(recipe: Recipe) -> int:
    """Number of devices of a run: its own, else the least that its parallel sizes allow."""
    size = recipe.value("parallel.world_size")
    if isinstance(size, int) and size > 0:
        return size
    parts = map(recipe.value, PARALLEL_SIZES)
    dense = prod(part for part in parts if isinstance(part, int) and part > 0)
    if not recipe.value("moe.num_experts"):
        return dense
    parts = map(recipe.value, EXPERT_PARALLEL_SIZES)
    return lcm(dense, prod(part for part in parts if isinstance(part, int) and part > 0))


def _nodes_and_gpus(world: int) -> tuple[int, int]:
    """Number of nodes and of GPUs on each."""
    if world <= GPUS_PER_NODE or world % GPUS_PER_NODE:
        return 1, world
    return world // GPUS_PER_NODE, GPUS_PER_NODE
