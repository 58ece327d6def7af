"""Prints what a Megatron-LM source tree's own argument parser accepts, as JSON: run by `extract.py`, never imported.

`python -I -B extraction.py TREE FUNCTIONS` imports `megatron/training/arguments.py` of the tree in this process of its
own and asks the parser that `add_megatron_arguments` builds. Whatever the tree imports besides the standard library is
a stand-in, whether or not it is installed: the answer is the same on every machine, and nothing of CUDA is loaded.
FUNCTIONS is a file that names functions, one `path:name` a line; the digest of each one's source is printed, too.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import enum
import faulthandler
import hashlib
import importlib.abc
import importlib.machinery
import io
import json
import os
import re
import sys
import types
import typing
import warnings

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

OWN = (("megatron", "core"), ("megatron", "training"))
"""What is imported from the tree; its other packages (reinforcement learning, older models) add no argument."""
ACTIONS = {
    "_StoreAction": "store",
    "_StoreTrueAction": "true",
    "_StoreFalseAction": "false",
    "BooleanOptionalAction": "switch",
    "_AppendAction": "store",
}
CALLABLES = {
    "moe_freq_type": "frequency", "no_rope_freq_type": "frequency", "la_freq_type": "frequency",
    "tuple_type": "integers", "enum_type_handler": "name", "_parse_cuda_graph_modules_arg": "name", "<lambda>": "name",
}  # fmt: skip
"""What is handed to argparse as `type`, by the name that `converters.py` has for it."""
PLAIN = (int, float, str, bool)


class Inherited:
    """What a class inherits from a missing package."""

    def __init_subclass__(cls, **_: object) -> None:
        super().__init_subclass__()


class Anything:
    """Stands for whatever a missing package holds: a class, a decorator, a number, a version."""

    __file__ = "/nowhere"

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name

    def __getattr__(self, name: str) -> Anything:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        held = self.__dict__[name] = Anything(name)
        return held

    def __call__(self, *given: object, **named: object) -> object:
        """As a decorator it hands back what it decorates."""
        if len(given) == 1 and not named and callable(given[0]) and not isinstance(given[0], Anything):
            return given[0]
        return Anything(self.__name__)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        first = next(base for base in bases if isinstance(base, Anything))
        known = any(isinstance(base, type) and issubclass(base, Inherited) for base in bases)
        return (Inherited,) if first is self and not known else ()

    def __instancecheck__(self, _: object) -> bool:
        return False

    def __fspath__(self) -> str:
        return self.__file__

    def __getitem__(self, _: object) -> Anything:
        return self

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def __enter__(self) -> Anything:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def __lt__(self, _: object) -> bool:
        return False

    def __gt__(self, _: object) -> bool:
        return True

    __le__, __ge__ = __lt__, __gt__

    def __add__(self, _: object) -> Anything:
        return self

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __floordiv__ = __or__ = __ror__ = __add__


class StandIn(types.ModuleType):
    """A package that is not imported; it has every name."""

    __path__ = []  # noqa: RUF012  # pyright: ignore

    def __getattr__(self, name: str) -> object:
        if name == "__version__":
            return "99.0.0"
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        held = Anything(name)
        setattr(self, name, held)
        return held


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a stand-in for all but the standard library and the tree's own packages."""

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """See the class."""
        parts = tuple(fullname.split("."))
        if parts[0] in sys.stdlib_module_names or parts == ("megatron",) or parts[:2] in OWN:
            return None
        return self.stand_in(fullname)

    def stand_in(self, fullname: str) -> importlib.machinery.ModuleSpec:
        """The spec of a package that is not imported."""
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> StandIn:
        """See the class."""
        module = StandIn(spec.name)
        module.__file__ = f"/nowhere/{spec.name}"
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run."""
        del module


def prepare(tree: str, finder: Finder) -> None:
    """Let what the tree itself holds be imported, and nothing else."""
    warnings.simplefilter("ignore")
    Inherited.apply = Anything("apply")  # type: ignore[attr-defined]  # pyright: ignore
    if not hasattr(typing, "override"):
        typing.override = lambda function: function  # type: ignore[attr-defined]  # pyright: ignore
    faulthandler.enable = faulthandler.register = lambda *_, **__: None  # type: ignore  # pyright: ignore
    sys.path.insert(0, tree)
    sys.meta_path.insert(0, finder)


def parser_of(tree: str) -> argparse.ArgumentParser:
    """The parser that the tree builds."""
    prepare(tree, Finder())
    from megatron.training import arguments  # type: ignore  # pyright: ignore

    return arguments.add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))  # type: ignore  # pyright: ignore


def facts_of(parser: argparse.ArgumentParser) -> Iterator[dict[str, object]]:
    """Every argument in the order in which the parser declares them, but for `--help`."""
    titles = {
        id(action): group.title or ""
        for group in parser._action_groups  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        for action in group._group_actions  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    }
    for action in parser._actions:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        if action.dest != "help":
            entry = _fact_of(action, titles[id(action)])
            yield {key: value for key, value in entry.items() if value is not None}


def _fact_of(action: argparse.Action, group: str) -> dict[str, object]:
    kind, choices = type_of(action), action.choices
    if kind == "name" and choices is None and action.type is not None:
        choices = names_taken(action.type)  # type: ignore[arg-type]  # pyright: ignore
    return {
        "options": list(action.option_strings),
        "dest": action.dest,
        "type": kind,
        "nargs": action.nargs or None,
        "const": None if isinstance(action.const, bool) else plain(action.const),
        "default": plain(action.default),
        "choices": None if choices is None else [plain(choice) for choice in choices],
        "action": ACTIONS[type(action).__name__],
        "group": group,
    }


def type_of(action: argparse.Action) -> str | None:
    """The name of what turns a text into the value; ValueError for a callable that we have no converter for."""
    kind = action.type
    if kind is None or kind in PLAIN:
        return None if kind is None else kind.__name__  # type: ignore[union-attr]  # pyright: ignore
    name = str(getattr(kind, "__name__", kind))
    if name not in CALLABLES:
        raise ValueError(f"{action.option_strings}: {name} is no type that converters.py knows")
    return CALLABLES[name]


def names_taken(convert: Callable[[str], object]) -> list[str]:
    """The names that a callable takes, of the texts and enumerations that its code speaks of."""
    code = convert.__code__  # type: ignore[attr-defined]  # pyright: ignore
    texts: list[object] = []
    for held in code.co_consts:
        texts += sorted(held) if isinstance(held, frozenset) else [held]  # pyright: ignore
    spoken = [text for text in texts if isinstance(text, str) and re.fullmatch(r"\w+", text)]
    for name in code.co_names:
        known = convert.__globals__.get(name)  # type: ignore[attr-defined]  # pyright: ignore
        if isinstance(known, type) and issubclass(known, enum.Enum):
            spoken += known.__members__
    return [text for text in dict.fromkeys(spoken) if _takes(convert, text)]


def _takes(convert: Callable[[str], object], text: str) -> bool:
    try:
        convert(text)
    except (KeyError, ValueError, TypeError, AssertionError, argparse.ArgumentTypeError):
        return False
    return True


def plain(value: object) -> object:
    """A value as JSON has it; ValueError where it is none."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]  # pyright: ignore
    if value is None or isinstance(value, PLAIN):
        return value
    raise ValueError(f"{value!r} is no plain value")


def digests(tree: str, wanted: Sequence[str]) -> dict[str, str]:
    """The digest of the code of each function that there is; comments, docstrings and layout do not count."""
    by_file: dict[str, list[str]] = {}
    for one in wanted:
        path, _, name = one.partition(":")
        by_file.setdefault(path, []).append(name)
    found: dict[str, str] = {}
    for path, names in by_file.items():
        full = os.path.join(tree, path)
        if os.path.isfile(full):
            with open(full, encoding="utf-8") as stream:
                nodes = dict(definitions(ast.parse(stream.read()), ""))
            found.update({f"{path}:{name}": digest(nodes[name]) for name in names if name in nodes})
    return found


def definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
    """Every class, function and method by its dotted name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{prefix}{child.name}", child
            yield from definitions(child, f"{prefix}{child.name}.")
        elif isinstance(child, (ast.If, ast.Try, ast.With)):
            yield from definitions(child, prefix)


def digest(node: ast.AST) -> str:
    """Twelve digits of the code's hash."""
    for inner in ast.walk(node):
        body = getattr(inner, "body", None)
        if isinstance(inner, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(inner):
            inner.body = body[1:] or [ast.Pass()]  # type: ignore[index]
    return hashlib.sha256(ast.unparse(node).encode()).hexdigest()[:12]


def main(tree: str, functions: str) -> None:
    """Print the facts."""
    with open(functions, encoding="utf-8") as stream:
        wanted = stream.read().split()
    with contextlib.redirect_stdout(io.StringIO()):
        answer = {"arguments": list(facts_of(parser_of(tree))), "functions": digests(tree, wanted)}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
