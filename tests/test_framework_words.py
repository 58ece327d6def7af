"""What a framework calls its keys, and what its versions do, stands in tables: Python of the rooms above names neither.

A word is a literal that is an argument of Megatron-LM, a key of MindSpore Transformers, or a version of either one, by
the fact base. A single English word (`seed`) is not counted, for it says nothing. The exceptions are listed with their
number and their reason; the number may only fall.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap.mapper.lenses import LENSES
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.megatron.catalog import VERSIONS, catalog
from accmap.schemas.versions import names

ROOT = Path(__file__).parents[1]
ROOMS = ("mapper", "rules", "cli", "evidence", "verifier")
_DATA = "what each framework's own data set code is given: its numbers of samples are worked out as that code does"
_RECORDS = "a configuration that is handed to msprobe or to MindSpore, and what it is checked against"
_CHECKPOINT = "names that stand in a checkpoint"
_BUILDER = "builds the real model or runs its trainer, under the framework's own names"
_SCHEDULER = "the scheduler's own arguments: the typed record of the curve that is computed from them"
EXCEPTIONS: dict[str, tuple[int, str]] = {
    "cli/pages/curve_page.py": (4, "the curve's own record: which of its numbers a page shows"),
    "cli/commands/agents.py": (1, "an option of accmap itself"),
    "cli/commands/lr.py": (1, "the curve's own record"),
    "cli/reference/key_explanation.py": (3, "the shape of the fact file, whose groups it searches"),
    "cli/reference/key_search.py": (4, "the shape of the fact file, whose groups it searches"),
    "mapper/schedule/comparison.py": (41, _SCHEDULER),
    "mapper/schedule/from_config.py": (59, _SCHEDULER),
    "mapper/schedule/megatron.py": (2, _SCHEDULER),
    "mapper/schedule/mindformers.py": (51, _SCHEDULER),
    "mapper/lenses/optimizer.py": (5, "the shape of one value: the members of a scale_sense"),
    "evidence/answers.py": (1, "an attribute of a record"),
    "evidence/data/framework_plans.py": (63, _DATA),
    "evidence/data/dataset.py": (1, _DATA),
    "evidence/data/tokenizer_comparison.py": (2, "a key of a tokenizer's own file"),
    "evidence/dump/compare.py": (1, "the name of a module in a dump"),
    "evidence/dump/compare_divergence.py": (1, "a level of msprobe"),
    "evidence/dump/config.py": (7, _RECORDS),
    "evidence/dump/config_modules.py": (7, "which modules a model has, under the names that msprobe records"),
    "evidence/dump/config_request.py": (3, "what lays the stages out, which no row answers"),
    "evidence/logs/columns.py": (2, "columns of a log"),
    "evidence/logs/line_forms.py": (1, "a column of a log"),
    "evidence/weights/conversion.py": (10, _CHECKPOINT),
    "evidence/weights/huggingface_files.py": (2, _CHECKPOINT),
    "evidence/weights/megatron_optimizer.py": (15, _CHECKPOINT),
    "evidence/weights/megatron_torch.py": (6, _CHECKPOINT),
    "evidence/weights/loading_lists.py": (1, _CHECKPOINT),
    "verifier/verdict/native_dtypes.py": (3, "members of the built configuration"),
    "verifier/plan/dimensions.py": (1, "a size that two names have"),
    "verifier/verdict/coverage.py": (4, "what a version draws, beside the place in its source"),
    "verifier/megatron/model.py": (60, _BUILDER),
    "verifier/megatron/from_launch.py": (24, _BUILDER),
    "verifier/megatron/training.py": (6, _BUILDER),
    "verifier/mindformers/dynamic.py": (6, _BUILDER),
    "verifier/mindformers/model.py": (8, _BUILDER),
    "verifier/mindformers/from_yaml.py": (18, _BUILDER),
    "verifier/mindformers/training.py": (1, _BUILDER),
    "verifier/mindformers/eager_stand_ins.py": (1, _BUILDER),
    "verifier/plan/samples.py": (22, _DATA),
    "verifier/plan/schedules.py": (15, "the curve's own record, and the loss scale's own classes, which it runs"),
    "verifier/pair.py": (2, _BUILDER),
}
_TOP = frozenset(
    (
        "callbacks", "checkpoint", "context", "data", "lr_schedule", "lr_scheduler", "model", "moe_config",
        "monitor_config", "optimizer", "parallel", "parallel_config", "parallel_speed_up", "processor", "recompute",
        "recompute_config", "resolved", "runner_config", "runner_wrapper", "swap_config", "train_dataset",
        "train_dataset_task", "training",
    )
)  # fmt: skip
_PATH = re.compile(r"[a-z_]+(\{\w+\})?(\.\w+(\[\d+\])?)+")
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+|[a-z]+\d+")
_OURS = frozenset(("bf16", "fp16", "fp8", "fp4", "bool", "int32", "float16", "float32"))
"""Types, which are written alike everywhere."""


def _names_in(content: Any) -> set[str]:
    if isinstance(content, dict):
        return {str(key).partition(" @")[0] for key in content} | set().union(*map(_names_in, content.values()))
    return set().union(*map(_names_in, content)) if isinstance(content, list) else set()


@cache
def framework_words() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Arguments of Megatron-LM, keys of MindSpore Transformers, versions of both."""
    arguments = {name for version in VERSIONS for name in (*catalog(version).by_dest, *catalog(version).by_option)}
    keys = _names_in(load_table((ROOT / "schemas/mindformers/facts.yaml").read_text("utf-8")))
    versions = {name for framework in ("megatron", "mindformers") for name in names(framework) if name[0].isdigit()}
    choices = {choice for field in vocabulary().values() for choice in field.type.split("|")}
    own = {*LENSES, *vocabulary(), *choices, *_OURS}
    return frozenset(arguments - own), frozenset(keys - own), frozenset(versions)


def is_word(text: str) -> bool:
    arguments, keys, versions = framework_words()
    if text in versions or (text.startswith("--") and text in arguments):
        return True
    if _PATH.fullmatch(text) and text.partition(".")[0].partition("{")[0] in _TOP and text not in vocabulary():
        return text.startswith("resolved.") or text.rpartition(".")[2] in keys
    return bool(_NAME.fullmatch(text)) and (text in arguments or text in keys)


def words_of(path: Path) -> list[tuple[int, str]]:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    said = {node.value for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    words = [
        (node.lineno, node.value)
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in said and is_word(node.value)
    ]
    return words + [(node.lineno, ast.unparse(node)) for node in nodes if is_comparison_of_versions(node)]


def is_comparison_of_versions(node: ast.AST) -> bool:
    """Whether something is above or below a version in numbers: `number_of(version) >= (0, 13)`."""
    return isinstance(node, ast.Compare) and any(
        isinstance(sign, (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
        and isinstance(side, ast.Tuple)
        and all(isinstance(part, ast.Constant) and isinstance(part.value, int) for part in side.elts)
        and "sys.version_info" not in ast.unparse(node)
        for sign, side in [*zip(node.ops, node.comparators, strict=True), (node.ops[0], node.left)]
    )


FILES = [
    path
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.py"))
    if not path.name.endswith("_compiled.py") and not path.name.startswith("compile")
]


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(ROOT).as_posix() for path in FILES])
def test_python_names_no_key_and_no_version(path: Path) -> None:
    found = words_of(path)
    most, _ = EXCEPTIONS.get(path.relative_to(ROOT).as_posix(), (0, ""))
    assert len(found) <= most, f"a fact belongs into a table (mappings/keys.yaml, or the row): {found}"


def test_the_search_finds_what_it_looks_for() -> None:
    for word in ("num_layers", "--num-layers", "runner_config.epochs", "model.model_config.offset", "1.8", "0.14"):
        assert is_word(word), word
    for word in ("seed", "model.num_layers", "head_dim", "bf16", "megatron", "squared_relu"):
        assert not is_word(word), word


def test_a_version_in_numbers_is_found() -> None:
    for text, found in (
        ("number_of(v) >= (0, 13)", True), ("(1, 9) > v", True), ("v < (0, 13, 1)", True), ("within(v, *SINCE)", False),
        ("size == (1, 0)", False), ("sys.version_info >= (3, 11)", False), ("v in (0, 1)", False),
    ):  # fmt: skip
        assert is_comparison_of_versions(ast.parse(text, mode="eval").body) is found, text


def test_every_exception_is_a_file() -> None:
    assert {ROOT / name for name in EXCEPTIONS} <= set(FILES)


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [one for part in value.values() for one in _strings(part)]
    if isinstance(value, list):
        return [one for part in value for one in _strings(part)]
    return [value] if isinstance(value, str) else []  # a value that stands in for another is no name


def test_the_table_of_keys_names_what_there_is() -> None:
    arguments, keys, _ = framework_words()
    content = yaml.safe_load((ROOT / "mappings/keys.yaml").read_text("utf-8"))
    files = [*(ROOT / "schemas/mindformers").glob("*.yaml"), *(ROOT / "mappings").glob("*.yaml")]
    texts = "".join(path.read_text("utf-8") for path in files if path.name != "keys.yaml")
    known = {"attention_dropout_rate", *arguments, *keys, *re.findall(r"\w+", texts)}
    unknown = [one for one in _strings(content) if one not in known and one.rpartition(".")[2] not in known]
    assert unknown == []
