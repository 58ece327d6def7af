"""Lists the conditions that a framework's code checks before the first step: `python tools/list_conditions.py TREE`.

A condition is an `assert`, a `raise` or a parser's error in a function that static name resolution reaches from the
entry points. Its digest is of the statement and of the tests around it, so that one that moves keeps it.
`schemas/megatron/conditions.yaml` judges each digest; those that it does not know are marked `new`. With
`--mindformers` the tree is of MindSpore Transformers, and the table `schemas/mindformers/conditions.yaml`.
`--count` prints the numbers of a tree alone, `--format json` answers as JSON.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import sys
from collections import Counter
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent


class Framework(NamedTuple):
    """A framework's files, and where the start of a run enters them."""

    package: str
    files: tuple[str, ...]
    """Patterns of the files whose conditions are listed, in a tree."""
    entries: tuple[str, ...]
    """Functions and classes by which the start of a run enters these files."""
    whole: tuple[str, ...]
    """Files of which every function is an entry: what a registry calls."""
    after: tuple[str, ...]
    """Functions of the run itself, which the walk does not enter."""
    table: Path


MEGATRON = Framework(
    package="megatron",
    files=(
        "megatron/training/*.py",
        "megatron/training/config/*.py",
        "megatron/core/optimizer_param_scheduler.py",
        "megatron/core/optimizer/*.py",
        "megatron/core/model_parallel_config.py",
        "megatron/core/transformer/*config*.py",
        "megatron/core/datasets/*config*.py",
        "megatron/core/datasets/gpt_dataset.py",
        "megatron/core/num_microbatches_calculator.py",
        "megatron/core/parallel_state.py",
    ),
    entries=(
        "parse_args", "validate_args", "core_transformer_config_from_args", "initialize_megatron", "pretrain",
        "set_global_variables", "get_optimizer_param_scheduler", "setup_model_and_optimizer",
        "get_megatron_optimizer_config", "get_train_valid_test_num_samples", "get_blend_and_blend_per_split",
        "OptimizerConfig", "AdamOptimizerConfig", "SGDOptimizerConfig", "DistributedDataParallelConfig",
        "TransformerConfig", "MLATransformerConfig", "ModelParallelConfig", "HeterogeneousTransformerConfig",
        "GPTDatasetConfig", "BlendedMegatronDatasetConfig", "OptimizerParamScheduler",
    ),
    whole=(),
    after=(
        "train", "train_step", "evaluate", "evaluate_and_print_results", "save_checkpoint", "save_checkpoint_and_time",
    ),
    table=ROOT / "schemas" / "megatron" / "conditions.yaml",
)  # fmt: skip
MINDFORMERS = Framework(
    package="mindformers",
    files=(
        "mindformers/core/context/*.py", "mindformers/core/parallel_config.py", "mindformers/core/lr/*.py",
        "mindformers/core/optim/build_optim.py", "mindformers/trainer/*.py", "mindformers/models/build*.py",
        "mindformers/models/configuration_utils.py", "mindformers/models/model_config_utils.py",
        "mindformers/parallel_core/*.py", "mindformers/tools/register/*.py", "mindformers/tools/check_rules.py",
        "mindformers/modules/transformer/transformer.py", "mindformers/pynative/config/*.py",
        "mindformers/pynative/trainer/*.py", "mindformers/dataset/blended_datasets/*config*.py",
    ),
    entries=(
        "build_context", "build_parallel_config", "Trainer", "Trainer.train", "Trainer.finetune", "BaseTrainer",
        "BaseTrainer.training_process", "BaseTrainer.set_config", "BaseTrainer.init_config",
        "CausalLanguageModelingTrainer.train", "TrainConfig", "get_model_config", "convert_to_transformer_config",
        "TransformerConfig", "MLATransformerConfig", "ModelParallelConfig", "check_rules", "check_runner_config",
        "MindFormerConfig", "PretrainedConfig", "build_lr", "build_optim", "TransformerOpParallelConfig",
        "GPTDatasetConfig",
    ),
    whole=(
        "mindformers/pynative/config/config.py", "mindformers/pynative/config/utils.py",
        "mindformers/core/lr/lr_schedule.py", "mindformers/core/context/validators.py",
        "mindformers/tools/register/template.py",
    ),
    after=("predict_process", "evaluate_process", "export_process", "evaluate", "predict", "export"),
    table=ROOT / "schemas" / "mindformers" / "conditions.yaml",
)  # fmt: skip
REASONS = ("parser", "yaml", "kinds", "names", "device", "file", "unreachable", "open")
"""Why no row judges a condition; the head of the table explains them."""
TABLES = ("row", "stop")
"""The lists of conditions that rows judge."""


class Condition(NamedTuple):
    """One check of the framework's code."""

    path: str
    function: str
    line: int
    digest: str
    text: str
    names: tuple[str, ...]
    """The arguments and fields that the check and the tests around it read."""

    def __str__(self) -> str:
        return f"{self.digest} {self.path}:{self.line} {self.function}: {self.text}"


class Function(NamedTuple):
    """A function, or the body of a class, of one file."""

    path: str
    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: str | None
    """The class that it is a method of."""


class Tree:
    """The functions of the files of a tree, and what their names mean."""

    def __init__(self, root: str, framework: Framework = MEGATRON) -> None:
        self.framework = framework
        self.functions: dict[tuple[str, str], Function] = {}
        self.classes: dict[tuple[str, str], ast.ClassDef] = {}
        self.imports: dict[str, dict[str, tuple[str, str | None]]] = {}
        self.root = root
        files = sorted(str(path.relative_to(root)) for path in Path(root, framework.package).rglob("*.py"))
        self.paths = [path for path in files if any(PurePath(path).match(pattern) for pattern in framework.files)]
        for path in self.paths:
            module = ast.parse(Path(root, path).read_text("utf-8"))
            self._define(path, module.body, None)
            self.imports[path] = dict(self._imports(path, module))

    def _define(self, path: str, body: Sequence[ast.stmt], owner: str | None) -> None:
        """Record the functions and classes of a module, also those inside classes and conditions."""
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                name = node.name if owner is None else f"{owner}.{node.name}"
                self.functions[path, name] = Function(path, name, node, owner)
            elif isinstance(node, ast.ClassDef):
                self.classes[path, node.name] = node
                self._define(path, node.body, node.name)
            elif isinstance(node, (ast.If, ast.Try)):
                self._define(path, node.body + node.orelse, owner)

    def reached_functions(self) -> list[Function]:
        """Every function that the entry points reach."""
        entries = self.framework.entries
        waiting = [key for path in self.paths for name in entries for key in self._resolve(path, name)]
        waiting += [key for key in self.functions if key[0] in self.framework.whole]
        found: dict[tuple[str, str], Function] = {}
        while waiting:
            key = waiting.pop()
            if key in found or key not in self.functions or key[1] in self.framework.after:
                continue
            function = found[key] = self.functions[key]
            waiting += self._used(function)
        return [found[key] for key in sorted(found)]

    def _used(self, function: Function) -> Iterator[tuple[str, str]]:
        """The functions of the tree that a function may call, by path and name."""
        for node in ast.walk(function.node):
            if isinstance(node, ast.Name):
                yield from self._resolve(function.path, node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id in ("self", "cls") and function.owner:
                    yield from self._methods(function.path, function.owner, node.attr)
                place = self.imports[function.path].get(node.value.id)
                if place is not None and place[1] is None:
                    yield from self._resolve(place[0], node.attr)

    def _resolve(self, path: str, name: str) -> Iterator[tuple[str, str]]:
        """The functions that a name of a file stands for: those of its constructor, if it is a class."""
        place = self.imports.get(path, {}).get(name)
        if place is not None and place[1] is not None and place[0] != path:
            yield from self._resolve(place[0], place[1])
        elif (path, name) in self.classes:
            for method in ("__init__", "__post_init__"):
                yield from self._methods(path, name, method)
        else:
            yield path, name

    def _methods(self, path: str, owner: str, name: str) -> Iterator[tuple[str, str]]:
        """The methods of a name in a class and its bases."""
        yield path, f"{owner}.{name}"
        for base in self.classes[path, owner].bases if (path, owner) in self.classes else ():
            if isinstance(base, ast.Name):
                place = self.imports[path].get(base.id, (path, base.id))
                yield from self._methods(place[0], place[1] or base.id, name)

    def _imports(self, path: str, module: ast.Module) -> Iterator[tuple[str, tuple[str, str | None]]]:
        """The imported names of a file: the file they are of, and the name there (None for a module)."""
        for node in ast.walk(module):
            if not isinstance(node, ast.ImportFrom):
                continue
            parts = path.split("/")[: -node.level] if node.level else []
            base = "/".join([*parts, *(node.module or "").split(".")]).rstrip("/")
            for alias in node.names:
                inner = self._file(f"{base}/{alias.name}")
                place = self._file(base) or f"{base}.py"
                yield alias.asname or alias.name, (place, alias.name) if inner is None else (inner, None)
                if alias.name == "mpu":
                    yield alias.asname or alias.name, ("megatron/core/parallel_state.py", None)

    def _file(self, module: str) -> str | None:
        """The file of a module or package."""
        names = (f"{module}.py", f"{module}/__init__.py")
        return next((name for name in names if Path(self.root, name).is_file()), None)


def conditions(root: str, framework: Framework = MEGATRON) -> list[Condition]:
    """Every check in the source tree of a framework, in the order of files, without duplicates."""
    found: dict[str, Condition] = {}
    for function in Tree(root, framework).reached_functions():
        for one in _checks(function, function.node.body, ()):
            found.setdefault(one.digest, one)
    return sorted(found.values(), key=lambda one: (one.path, one.line))


def _checks(function: Function, body: Sequence[ast.stmt], tests: tuple[ast.expr, ...]) -> Iterator[Condition]:
    """The assertions and raised errors in a body, with the conditions of the branches around each."""
    for node in body:
        if isinstance(node, (ast.If, ast.While)):
            yield from _checks(function, node.body, (*tests, node.test))
            yield from _checks(function, node.orelse, (*tests, ast.UnaryOp(ast.Not(), node.test)))
        elif is_check(node):
            yield _condition(function, node, tests)
        else:
            for name in ("body", "orelse", "finalbody"):
                yield from _checks(function, getattr(node, name, ()), tests)
            for handler in getattr(node, "handlers", ()):
                yield from _checks(function, handler.body, tests)


def is_check(node: ast.stmt) -> bool:
    """True for an assertion, for what raises, and for a parser's error."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func).endswith("parser.error")
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Raise) and node.exc is not None)


def _condition(function: Function, node: ast.stmt, tests: tuple[ast.expr, ...]) -> Condition:
    """The record of one assertion or raised error: its text, a digest of it, and the attributes it reads."""
    read = [node.test] if isinstance(node, ast.Assert) else []
    around = " and ".join(ast.unparse(test) for test in tests)
    text = ast.unparse(read[0]) if read else ast.unparse(node).splitlines()[0]
    kind = "assert" if read else "raise"
    # Without the message of what is raised, which changes nothing (and which Python versions unparse differently).
    asked = text if read else text.partition("(")[0]
    digest = "c" + hashlib.sha256(f"{function.name}\n{around}\n{kind} {asked}".encode()).hexdigest()[:10]
    names = {
        part.attr
        for test in (*tests, *read)
        for part in ast.walk(test)
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)
    }
    whole = f"{kind} {text}" + (f" if {around}" if around else "")
    return Condition(function.path, function.name, node.lineno, digest, whole, tuple(sorted(names)))


def judgements(framework: Framework = MEGATRON) -> dict[str, str]:
    """The judgement of each digest: `row: …` with the row's condition, `stop: …` with its name, or a reason."""
    table = yaml.safe_load(framework.table.read_text("utf-8"))
    judged = [
        (name, row, digest) for name in TABLES for row, listed in table.get(name, {}).items() for digest in listed
    ]
    found = {digest: f"{name}: {row}" for name, row, digest in judged}
    found.update({digest: reason for reason in REASONS for digest in table.get(reason, ())})
    return found


def new_conditions(root: str, framework: Framework = MEGATRON) -> list[Condition]:
    """The conditions of a tree that the table does not know."""
    known = judgements(framework)
    return [one for one in conditions(root, framework) if one.digest not in known]


def main(words: Sequence[str]) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree")
    parser.add_argument("--mindformers", action="store_true")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    given = parser.parse_args(words)
    framework = MINDFORMERS if given.mindformers else MEGATRON
    known = judgements(framework)
    listed = [(known.get(one.digest, "new"), one) for one in conditions(given.tree, framework)]
    if given.format == "json":
        print(json.dumps([{**one._asdict(), "judged": verdict} for verdict, one in listed]))
        return 0
    if not given.count:
        print("".join(f"{one}\n    {verdict}\n" for verdict, one in listed), end="")
    print(", ".join(f"{count} {name}" for name, count in Counter(v.partition(":")[0] for v, _ in listed).most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
