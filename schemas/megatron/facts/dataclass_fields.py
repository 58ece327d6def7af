"""The fields of a program's dataclasses, read out of source trees without importing them.

A tree of objects (Megatron-Bridge's ConfigContainer) or of Hydra's keys (verl) is configured by the fields of
dataclasses, whose packages ask for much that no machine without their accelerators has. Their source says names,
annotations and plain defaults; bases and re-exports are followed through the imports.
"""

from __future__ import annotations

import ast
import os
import signal
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from ...fast_records import NamedTuple
from .extract import ExtractionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_KIND_OF: dict[type, str] = {bool: "truth?", float: "float?", str: "str?"}
"""Of a value in a tree; a whole number is no promise that no other is taken."""
_PLAIN = {"int": "int?", "float": "float?", "str": "str?", "bool": "truth?"}
_KINDS = {"moe_layer_freq": "frequency?"}
"""What its annotation says as one of several kinds."""
_OPTIONAL = ("Optional[", "| None", "None |")
_TYPES = ("torch.float", "torch.bfloat", "torch.int", "torch.uint")
_NO_ENTRIES = "()"
_SIGNAL = "signal.SIG"
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Pow: lambda one, other: one**other,
    ast.Mult: lambda one, other: one * other,
    ast.Add: lambda one, other: one + other,
    ast.Sub: lambda one, other: one - other,
    ast.Div: lambda one, other: one / other,
}
_TARGET = "_target_"
_PART = "actor_rollout_ref."
"""Not said again in the name of a value: the model that is trained, beside its critic and its rewards."""
_WORD = "str?"
_ALL = "*"
_ANYTHING = "any"


class Field(NamedTuple):
    """One field: its annotation as it stands, and its default where that is a plain value."""

    name: str
    annotation: str
    default: Any

    def kind(self) -> str:
        """The kind of value, in the words of `argument_parser.py`."""
        text = self.annotation.replace("typing.", "").strip("'\"")
        for mark in _OPTIONAL:
            text = text.replace(mark, "")
        text = text.strip()
        word = text if text.startswith("Literal") else text.rstrip("]").strip()
        kind = _WORD if word.startswith("Literal") else _PLAIN.get(word, _ANYTHING)
        return _KINDS.get(self.name, kind)


class Trees(NamedTuple):
    """Folders in which modules are looked up, in order."""

    folders: tuple[str, ...]

    def module(self, name: str) -> tuple[str, ast.Module]:
        """The path and the syntax of a module; ExtractionError where no tree has it."""
        for folder in self.folders:
            below = os.path.join(folder, *name.split("."))
            for path in (f"{below}.py", os.path.join(below, "__init__.py")):
                if os.path.isfile(path):
                    return path, _parse(path)
        raise ExtractionError(f"no tree has {name}")

    def fields(self, target: str) -> list[Field]:
        """The fields of `module:Class` in the order of `dataclasses.fields`: its bases' first."""
        module, _, name = target.partition(":")
        return list(_Classes(self).of(module, name).values())


@cache
def _parse(path: str) -> ast.Module:
    with open(path, encoding="utf-8") as stream:
        return ast.parse(stream.read(), path)


class _Classes:
    def __init__(self, trees: Trees) -> None:
        self.trees = trees

    def of(self, module: str, name: str) -> dict[str, Field]:
        """The fields of a class as a module names it."""
        path, tree = self.trees.module(module)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name == name:
                return self._own(module, node)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self.of(_absolute(module, path, node), alias.name)
        raise ExtractionError(f"{module} has no {name}")

    def _own(self, module: str, node: ast.ClassDef) -> dict[str, Field]:
        found: dict[str, Field] = {}
        for base in reversed(node.bases):
            name = ast.unparse(base).partition("[")[0]
            if name in ("object", "ABC", "Protocol", "Generic"):
                continue
            try:
                found.update(self.of(module, name))
            except ExtractionError:
                continue  # a base of another package, or none that is a dataclass: it adds no field
        for one in node.body:
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                annotation = ast.unparse(one.annotation)
                if not annotation.startswith(("ClassVar", "InitVar", "typing.ClassVar")):
                    found[one.target.id] = Field(one.target.id, annotation, _default(one.value))
        return found


def _absolute(module: str, path: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    kept = len(parts) - node.level + os.path.basename(path).startswith("__init__")
    return ".".join([*parts[:kept], *([node.module] if node.module else [])])


def _default(value: ast.expr | None) -> Any:
    """A default that is a plain value, the name of a type of numbers; None for one that other code makes."""
    if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] == "field":
        value = next((one.value for one in value.keywords if one.arg == "default"), None)
    if value is None:
        return None
    text = ast.unparse(value)
    if text.startswith(_TYPES) or text == _NO_ENTRIES:
        return text
    if text.startswith(_SIGNAL):
        return int(signal.Signals[text.removeprefix("signal.")])
    found = _fold_constant(value)
    return found if isinstance(found, (int, float, str, bool)) and found != float("inf") else None


def _fold_constant(value: ast.expr) -> Any:
    """A constant, or a number that two of them make."""
    if isinstance(value, ast.BinOp) and type(value.op) in _OPERATIONS:
        left, right = _fold_constant(value.left), _fold_constant(value.right)
        return None if None in (left, right) else _OPERATIONS[type(value.op)](left, right)
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError):
        return None


def tree_arguments(path: str) -> Iterator[dict[str, Any]]:
    """The keys of a YAML that Hydra begins with, as options; what refers to another key has no default here."""
    import yaml

    with open(path, encoding="utf-8") as stream:
        yield from _of_tree(yaml.safe_load(stream), "")


def _of_tree(tree: dict[str, object], before: str) -> Iterator[dict[str, Any]]:
    for key, value in tree.items():
        path = f"{before}{key}"
        if isinstance(value, dict) and value:
            yield from _of_tree(cast("dict[str, object]", value), f"{path}.")
        elif key != _TARGET:
            plain = value if isinstance(value, (int, float, str)) and not str(value).startswith("${") else None
            kind = _KIND_OF.get(type(plain), _ANYTHING)
            short = path.removeprefix(_PART).replace(".", "_")
            yield _argument(f"--{path}", short, kind, plain, path.partition(".")[0])


def arguments_of(
    trees: Trees, section: str, targets: Sequence[str], own: Sequence[str], known: set[str]
) -> Iterator[dict[str, Any]]:
    """The fields below a section as options; one that an argument of Megatron-LM's says writes that one."""
    fields: dict[str, Field] = {}
    for target in targets:
        for field in trees.fields(target):
            if not field.name.startswith("_"):
                fields.setdefault(field.name, field)
    last = section.rpartition(".")[2]
    for field in fields.values():
        shared = field.name in known and not ({field.name, _ALL} & set(own))
        dest = field.name if shared else f"{last}_{field.name}"
        yield _argument(f"--{section}.{field.name}", dest, field.kind(), field.default, last)


def _argument(option: str, dest: str, kind: str, default: Any, group: str) -> dict[str, Any]:
    return {
        "options": [option], "dest": dest, "group": group, "action": "store", "type": kind, "default": default,
    }  # fmt: skip
