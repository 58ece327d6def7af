"""Digests of the framework's functions that accmap's tables and programs follow: which of them a new version changed.

A function's digest is that of its syntax tree without its documentation, so that comments and layout do not count.
Nothing is imported: the source is parsed.
"""

from __future__ import annotations

import ast
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLLOWED = (
    "core/context/*.py", "core/lr/*.py", "core/parallel_config.py", "core/optim/optimizer_grouped_parameters.py",
    "dataset/base_dataset.py", "dataset/blended_datasets/gpt_dataset.py",
    "dataset/dataloader/blended_megatron_dataloader.py", "dataset/causal_language_model_dataset.py",
    "models/build_config.py", "models/configuration_utils.py", "models/model_config_utils.py",
    "models/*/configuration_*.py", "models/*/config_converter_*.py", "modules/transformer/transformer.py",
    "parallel_core/config_converter.py", "parallel_core/model_parallel_config.py",
    "parallel_core/transformer_config.py", "parallel_core/transformer_config_utils.py",
    "parallel_core/utils/init_method.py", "pynative/config/*.py", "pynative/trainer/utils.py",
    "pynative/trainer/trainer.py", "tools/register/*.py", "trainer/base_trainer.py", "trainer/config_args.py",
    "trainer/optimizer_grouped_parameters.py", "trainer/trainer.py", "trainer/utils.py", "wrapper/wrapper.py",
)  # fmt: skip
"""The readers, converters and configuration classes, in the package."""


def digests(package: Path) -> dict[str, dict[str, str]]:
    """By file, the digest of every function and of every class's own statements."""
    found: dict[str, dict[str, str]] = {}
    for pattern in FOLLOWED:
        for path in sorted(package.glob(pattern)):
            tree = ast.parse(path.read_text("utf-8"))
            found[path.relative_to(package).as_posix()] = dict(_digests(tree, ""))
    return {name: entries for name, entries in found.items() if entries}


def _digests(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, str]]:
    for child in node.body:
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{prefix}{child.name}", _digest([child])
        elif isinstance(child, ast.ClassDef):
            inside = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            own = [one for one in _undocumented(child.body) if not isinstance(one, inside)]
            if own:
                yield f"{prefix}{child.name}", _digest(own)
            yield from _digests(child, f"{prefix}{child.name}.")


def _digest(nodes: list[ast.stmt]) -> str:
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner.body = _undocumented(inner.body)
    text = "\n".join(ast.dump(node) for node in nodes)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _undocumented(body: list[ast.stmt]) -> list[ast.stmt]:
    return [
        one
        for one in body
        if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str))
    ]


def data_keys(package: Path) -> list[str]:
    """What the Megatron data set's loader reads of its `config` (`init_gpt_dataset_config`), in its order."""
    path = package / "dataset/dataloader/blended_megatron_dataloader.py"
    found: list[tuple[int, int, str]] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not (isinstance(node, ast.FunctionDef) and node.name == "init_gpt_dataset_config"):
            continue
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "get":
                first = call.args[0] if call.args else None
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    found.append((call.lineno, call.col_offset, first.value))
    return list(dict.fromkeys(key for _, _, key in sorted(found)))
