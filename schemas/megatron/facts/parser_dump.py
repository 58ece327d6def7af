"""Prints what the argument parser of a source tree accepts, as JSON: run in a process of its own, `python -I -B`.

Whatever a tree imports besides the standard library is a stand-in, whether or not it is installed: the answer is the
same on every machine, and nothing of CUDA is loaded. The first word says whose parser is asked.

- `parser_dump.py version TREE FUNCTIONS`: Megatron-LM's own, as `add_megatron_arguments` builds it. FUNCTIONS is a file
  that names functions, one `path:name` a line; the digest of each one's source is printed, too, and the type of each
  argument whose function `CALLABLES` does not name: it is tried on some texts.
- `parser_dump.py fork MEGATRON PACKAGE TREE...`: Megatron-LM's `parse_args` as PACKAGE's `training/arguments.py` wraps
  it, so that every feature registers its arguments. The TREEs hold PACKAGE and what it stands on. Where PACKAGE is
  `megatron`, its own tree is the fork's. A PACKAGE of the form `slime.utils.arguments:get_slime_extra_args_provider`
  names the function that adds a program's arguments to Megatron-LM's own parser, or that makes this function.
- `parser_dump.py dataclass PACKAGE MODULE:CLASS TREE [KEPT...]`: the parser that the real transformers makes of a
  dataclass. Of PACKAGE the folder of the class and each KEPT are imported.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import enum
import faulthandler
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import inspect
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
"""What is handed to argparse as `type`, by the name that `argument_parser.py` has for it."""
PLAIN = (int, float, str, bool)


class Inherited:
    """Base of a class that inherits from a missing package."""

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
        """Another stand-in; called as a decorator, the decorated function itself."""
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
        """Spec of a stand-in for modules that are not in the tree."""
        parts = tuple(fullname.split("."))
        if parts[0] in sys.stdlib_module_names or parts == ("megatron",) or parts[:2] in OWN:
            return None
        return self.stand_in(fullname)

    def stand_in(self, fullname: str) -> importlib.machinery.ModuleSpec:
        """The spec of a package that is not imported."""
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> StandIn:
        """Stand-in module."""
        module = StandIn(spec.name)
        module.__file__ = f"/nowhere/{spec.name}"
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: a stand-in has no code."""
        del module


def prepare(tree: str, finder: Finder) -> None:
    """Make the tree's own modules importable, with stand-ins for all others."""
    warnings.simplefilter("ignore")
    sys.dont_write_bytecode = True  # a .pth file of the environment can undo `-B`
    Inherited.apply = Anything("apply")  # type: ignore[attr-defined]  # pyright: ignore
    if not hasattr(typing, "override"):
        typing.override = lambda function: function  # type: ignore[attr-defined]  # pyright: ignore
    faulthandler.enable = faulthandler.register = lambda *_, **__: None  # type: ignore  # pyright: ignore
    sys.path.insert(0, tree)
    sys.meta_path.insert(0, finder)


def version_parser(tree: str) -> argparse.ArgumentParser:
    """Argument parser that the tree builds."""
    prepare(tree, Finder())
    from megatron.training import arguments  # type: ignore  # pyright: ignore

    return arguments.add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))  # type: ignore  # pyright: ignore


def facts_of(parser: argparse.ArgumentParser) -> Iterator[dict[str, object]]:
    """Facts of every argument in declaration order, except `--help`."""
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
    """Facts of one argparse action."""
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


GUESSED: dict[str, str] = {}
"""By option, the function of a type that `CALLABLES` does not name, and what it was read as."""


def type_of(action: argparse.Action) -> str | None:
    """The name of what turns a text into the value."""
    kind = action.type
    if kind is None or kind in PLAIN:
        return None if kind is None else kind.__name__  # type: ignore[union-attr]  # pyright: ignore
    name = str(getattr(kind, "__name__", kind))
    if name in CALLABLES:
        return CALLABLES[name]
    guess = guessed_type(kind)  # type: ignore[arg-type]  # pyright: ignore
    GUESSED[action.option_strings[0]] = f"{name}, read as {guess}"
    return guess


def guessed_type(convert: Callable[[str], object]) -> str:
    """Kind of values that a conversion function accepts: number, name or any text."""
    if _accepts_text(convert, "a text"):
        return "str"
    named = hasattr(convert, "__code__") and names_taken(convert)
    numbers = [kind for kind, text in (("float", "0.5"), ("int", "3")) if _accepts_text(convert, text)]
    if named:
        return "str" if numbers else "name"
    return numbers[0] if numbers else "str"


def names_taken(convert: Callable[[str], object]) -> list[str]:
    """Names that a conversion function accepts, found in its code."""
    code = convert.__code__  # type: ignore[attr-defined]  # pyright: ignore
    texts: list[object] = []
    for held in code.co_consts:
        texts += sorted(held, key=str) if isinstance(held, (frozenset, tuple)) else [held]  # pyright: ignore
    spoken = [text for text in texts if isinstance(text, str) and re.fullmatch(r"\w+", text)]
    for name in code.co_names:
        known = convert.__globals__.get(name)  # type: ignore[attr-defined]  # pyright: ignore
        if isinstance(known, type) and issubclass(known, enum.Enum):
            spoken += known.__members__
    return [text for text in dict.fromkeys(spoken) if _accepts_text(convert, text)]


def _accepts_text(convert: Callable[[str], object], text: str) -> bool:
    try:
        convert(text)
    except (KeyError, ValueError, TypeError, AssertionError, AttributeError, argparse.ArgumentTypeError):
        return False
    return True


def plain(value: object) -> object:
    """Value in JSON form; ValueError if it has none."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]  # pyright: ignore
    if value is None or isinstance(value, PLAIN):
        return value
    raise ValueError(f"{value!r} is no plain value")


def digests(tree: str, wanted: Sequence[str]) -> dict[str, str]:
    """Digest of each function's code, without comments and layout."""
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


# Forks.

MEGATRON = "megatron"
FEATURE_PACKAGES = ("mindspeed", "mindspeed_llm")
REAL_MODULES = ("features_manager", "training.arguments")
"""What of the packages is imported; what patches Megatron-LM's modules is a stand-in."""
AS_TEXT = ("loads", "parse_list_for_virtual_optimizer", "<lambda>")
"""What turns a text into something that no table asks for: the text is kept."""


class FeatureFinder(Finder):
    """Lets the packages' own features through."""

    def find_spec(self, fullname: str, *given: object) -> importlib.machinery.ModuleSpec | None:
        """Spec of a stand-in for a fork's feature modules."""
        package, _, rest = fullname.partition(".")
        if package in FEATURE_PACKAGES:
            real = any(f"{one}.".startswith(f"{rest}.") or rest.startswith(f"{one}.") for one in REAL_MODULES)
            return None if not rest or real else self.stand_in(fullname)
        return super().find_spec(fullname, *given)


class BuiltError(Exception):
    """The parser is complete, and is asked to parse."""


def fork_parser(megatron: str, package: str, trees: Sequence[str]) -> argparse.ArgumentParser:
    """Parser as the fork's own `parse_args` builds it."""
    built: list[argparse.ArgumentParser] = []

    def capture(self: argparse.ArgumentParser, *_: object, **__: object) -> None:
        built.append(self)
        raise BuiltError

    prepare(megatron, FeatureFinder())
    sys.path[:0] = trees
    parse_args = importlib.import_module("megatron.training.arguments").parse_args
    if package != MEGATRON:
        CALLABLES.update(dict.fromkeys(AS_TEXT, "str"))
        importlib.import_module(f"{package}.features_manager")
        parse_args = importlib.import_module(f"{package}.training.arguments").parse_args_decorator(parse_args)
    argparse.ArgumentParser.parse_args = argparse.ArgumentParser.parse_known_args = capture  # type: ignore
    with contextlib.suppress(BuiltError):
        parse_args(None, True)
    return built[0]


class ProviderFinder(Finder):
    """Lets one package through."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, fullname: str, *given: object) -> importlib.machinery.ModuleSpec | None:
        """Spec of a stand-in for any module outside the provider's package."""
        return None if fullname.partition(".")[0] == self.package else super().find_spec(fullname, *given)


def provider_parser(megatron: str, target: str, tree: str) -> argparse.ArgumentParser:
    """Megatron-LM's parser with a program's added arguments."""
    module, _, name = target.partition(":")
    prepare(megatron, ProviderFinder(module.partition(".")[0]))
    sys.path.insert(0, tree)
    arguments = importlib.import_module("megatron.training.arguments")
    parser = arguments.add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))
    theirs = set(parser._actions)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    provider = getattr(importlib.import_module(module), name)
    asks = any(one.default is one.empty for one in inspect.signature(provider).parameters.values())
    built: argparse.ArgumentParser = provider(parser) if asks else provider()(parser)
    for action in set(built._actions) - theirs:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        if getattr(action.type, "__name__", "") in AS_TEXT:
            action.type = str
    return built


# Programs whose arguments are dataclasses.

TRUTH = "string_to_bool"
"""How transformers reads a boolean: `hf_argparser.py:string_to_bool`."""


class DataclassFinder(Finder):
    """Stands before all others: what is not asked for is a stand-in, and so is what only leads there."""

    def __init__(self, package: str, tree: str, kept: Sequence[str]) -> None:
        self.tree = tree
        self.kept = [f"{package}.{one}." for one in kept]
        self.loaded = {name.partition(".")[0] for name in sys.modules} | set(sys.stdlib_module_names)

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """Spec of a stand-in for modules that a dataclass imports."""
        name = f"{fullname}."
        if fullname.partition(".")[0] in self.loaded or any(name.startswith(one) for one in self.kept):
            return None
        spec = self.stand_in(fullname)
        if any(one.startswith(name) for one in self.kept):
            spec.submodule_search_locations = [os.path.join(self.tree, *fullname.split("."))]
        return spec

    def exec_module(self, module: types.ModuleType) -> None:
        """Mark the stand-in as a package."""
        if module.__spec__ is not None:
            module.__path__ = module.__spec__.submodule_search_locations or []


def dataclass_parser(package: str, target: str, tree: str, kept: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of a class."""
    from transformers import HfArgumentParser

    module, _, name = target.partition(":")
    sys.path.insert(0, tree)
    own = module.removeprefix(f"{package}.").rpartition(".")[0]
    sys.meta_path.insert(0, DataclassFinder(package, tree, [own, *kept]))
    return HfArgumentParser([getattr(importlib.import_module(module), name)])  # type: ignore[no-any-return]


def dataclass_facts(parser: argparse.ArgumentParser) -> Iterator[dict[str, object]]:
    """Every argument, with the names of `argument_parser.py`."""
    for action in parser._actions:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        truth = getattr(action.type, "__name__", "") == TRUTH
        if truth or (action.type is not None and action.type not in PLAIN):
            known = next(iter(action.choices or ()), "")
            action.type = str if truth else type(known)
        if action.default is argparse.SUPPRESS or not _is_plain(action.default):
            action.default = None
        for one in _action_facts(action):
            yield {**one, "type": "truth", **({"const": True} if action.nargs == "?" else {})} if truth else one


def _action_facts(action: argparse.Action) -> Iterator[dict[str, object]]:
    alone = argparse.ArgumentParser(add_help=False)
    alone._add_action(action)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return facts_of(alone)


def _is_plain(value: object) -> bool:
    try:
        plain(value)
    except ValueError:
        return False
    return True


def main(whose: str, *words: str) -> None:
    """Print the facts."""
    answer: object
    with contextlib.redirect_stdout(io.StringIO()):
        if whose == "version":
            tree, functions = words
            with open(functions, encoding="utf-8") as stream:
                wanted = stream.read().split()
            arguments = list(facts_of(version_parser(tree)))
            answer = {"arguments": arguments, "functions": digests(tree, wanted), "guessed": GUESSED}
        elif whose == "fork":
            megatron, package, *trees = words
            provides = ":" in package
            parser = provider_parser(megatron, package, trees[0]) if provides else fork_parser(megatron, package, trees)
            answer = list(facts_of(parser))
        else:
            package, target, tree, *kept = words
            with contextlib.redirect_stderr(io.StringIO()):
                answer = list(dataclass_facts(dataclass_parser(package, target, tree, kept)))
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
