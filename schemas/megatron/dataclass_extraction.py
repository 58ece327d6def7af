"""Prints what a program takes whose arguments are dataclasses, as JSON: run by `extract_dialect.py`, never imported.

`python -I -B dataclass_extraction.py PACKAGE MODULE:CLASS TREE [KEPT...]` imports the class from TREE and asks the
parser that transformers' own `HfArgumentParser` makes of it. Of the package, MODULE's own parent and the KEPT ones are
imported; all else but what transformers itself has loaded is a stand-in, as in `extraction.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.machinery
import io
import json
import os
import sys
import typing

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import extraction

if typing.TYPE_CHECKING:
    import types
    from collections.abc import Iterator

TRUTH = "string_to_bool"
"""How transformers reads a boolean: `hf_argparser.py:string_to_bool`."""


class Finder(extraction.Finder):
    """Stands before all others: what is not asked for is a stand-in, and so is what only leads there."""

    def __init__(self, package: str, tree: str, kept: typing.Sequence[str]) -> None:
        self.tree = tree
        self.kept = [f"{package}.{one}." for one in kept]
        self.loaded = {name.partition(".")[0] for name in sys.modules} | set(sys.stdlib_module_names)

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """See the class."""
        name = f"{fullname}."
        if fullname.partition(".")[0] in self.loaded or any(name.startswith(one) for one in self.kept):
            return None
        spec = self.stand_in(fullname)
        if any(one.startswith(name) for one in self.kept):
            spec.submodule_search_locations = [os.path.join(self.tree, *fullname.split("."))]
        return spec

    def exec_module(self, module: types.ModuleType) -> None:
        """A stand-in that leads somewhere is a package."""
        if module.__spec__ is not None:
            module.__path__ = module.__spec__.submodule_search_locations or []


def parser_of(package: str, target: str, tree: str, kept: typing.Sequence[str]) -> argparse.ArgumentParser:
    """The parser of a class."""
    from transformers import HfArgumentParser

    module, _, name = target.partition(":")
    sys.path.insert(0, tree)
    own = module.removeprefix(f"{package}.").rpartition(".")[0]
    sys.meta_path.insert(0, Finder(package, tree, [own, *kept]))
    return HfArgumentParser([getattr(importlib.import_module(module), name)])  # type: ignore[no-any-return]


def facts_of(parser: argparse.ArgumentParser) -> Iterator[dict[str, object]]:
    """Every argument, with the names of `converters.py`."""
    for action in parser._actions:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        truth = getattr(action.type, "__name__", "") == TRUTH
        if truth or (action.type is not None and action.type not in extraction.PLAIN):
            known = next(iter(action.choices or ()), "")
            action.type = str if truth else type(known)
        if action.default is argparse.SUPPRESS or not _plain(action.default):
            action.default = None
        for one in _of(action):
            yield {**one, "type": "truth", **({"const": True} if action.nargs == "?" else {})} if truth else one


def _of(action: argparse.Action) -> Iterator[dict[str, object]]:
    alone = argparse.ArgumentParser(add_help=False)
    alone._add_action(action)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return extraction.facts_of(alone)


def _plain(value: object) -> bool:
    try:
        extraction.plain(value)
    except ValueError:
        return False
    return True


def main(package: str, target: str, tree: str, *kept: str) -> None:
    """Print the facts."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        answer = list(facts_of(parser_of(package, target, tree, kept)))
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
