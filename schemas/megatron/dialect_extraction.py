"""Prints what the parser of a fork's tree accepts, as JSON: run by `extract_dialect.py`, never imported.

`python -I -B dialect_extraction.py MEGATRON PACKAGE TREE...` calls Megatron-LM's own `parse_args` as PACKAGE's
`training/arguments.py` wraps it, so that every feature registers its arguments, and asks the parser that it has built
by then. The TREEs hold PACKAGE and what it stands on. All else that is imported is a stand-in, as in `extraction.py`.
Where PACKAGE is `megatron`, its own tree is the fork's: what it parses with nothing around it is taken.
A PACKAGE of the form `slime.utils.arguments:get_slime_extra_args_provider` names the function that adds a program's
arguments to Megatron-LM's own parser, or what makes it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.machinery
import inspect
import io
import json
import os
import sys
import typing

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import extraction

if typing.TYPE_CHECKING:
    from collections.abc import Sequence

OWN = "megatron"
PACKAGES = ("mindspeed", "mindspeed_llm")
REAL = ("features_manager", "training.arguments")
"""What of the packages is imported; what patches Megatron-LM's modules is a stand-in."""
AS_TEXT = ("loads", "parse_list_for_virtual_optimizer", "<lambda>")
"""What turns a text into something that no table asks for: the text is kept."""


class Finder(extraction.Finder):
    """Lets the packages' own features through."""

    def find_spec(self, fullname: str, *given: object) -> importlib.machinery.ModuleSpec | None:
        """See the class."""
        package, _, rest = fullname.partition(".")
        if package in PACKAGES:
            real = any(f"{one}.".startswith(f"{rest}.") or rest.startswith(f"{one}.") for one in REAL)
            return None if not rest or real else self.stand_in(fullname)
        return super().find_spec(fullname, *given)


class BuiltError(Exception):
    """The parser is complete, and is asked to parse."""


def parser_of(megatron: str, package: str, trees: Sequence[str]) -> argparse.ArgumentParser:
    """The parser as the package's own `parse_args` builds it."""
    built: list[argparse.ArgumentParser] = []

    def asked(self: argparse.ArgumentParser, *_: object, **__: object) -> None:
        built.append(self)
        raise BuiltError

    extraction.prepare(megatron, Finder())
    sys.path[:0] = trees
    parse_args = importlib.import_module("megatron.training.arguments").parse_args
    if package != OWN:
        extraction.CALLABLES.update(dict.fromkeys(AS_TEXT, "str"))
        importlib.import_module(f"{package}.features_manager")
        parse_args = importlib.import_module(f"{package}.training.arguments").parse_args_decorator(parse_args)
    argparse.ArgumentParser.parse_args = argparse.ArgumentParser.parse_known_args = asked  # type: ignore
    with contextlib.suppress(BuiltError):
        parse_args(None, True)
    return built[0]


class ProviderFinder(extraction.Finder):
    """Lets one package through."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, fullname: str, *given: object) -> importlib.machinery.ModuleSpec | None:
        """See the class."""
        return None if fullname.partition(".")[0] == self.package else super().find_spec(fullname, *given)


def with_provider(megatron: str, target: str, tree: str) -> argparse.ArgumentParser:
    """Megatron-LM's parser with the arguments that a program's own function adds."""
    module, _, name = target.partition(":")
    extraction.prepare(megatron, ProviderFinder(module.partition(".")[0]))
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


def main(megatron: str, package: str, *trees: str) -> None:
    """Print the facts."""
    with contextlib.redirect_stdout(io.StringIO()):
        given = with_provider(megatron, package, trees[0]) if ":" in package else parser_of(megatron, package, trees)
        answer = list(extraction.facts_of(given))
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
