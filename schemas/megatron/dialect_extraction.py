"""Prints what the parser of a fork's tree accepts, as JSON: run by `extract_dialect.py`, never imported.

`python -I -B dialect_extraction.py MEGATRON PACKAGE TREE...` calls Megatron-LM's own `parse_args` as PACKAGE's
`training/arguments.py` wraps it, so that every feature registers its arguments, and asks the parser that it has built
by then. The TREEs hold PACKAGE and what it stands on. All else that is imported is a stand-in, as in `extraction.py`.
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
    from collections.abc import Sequence

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

    extraction.CALLABLES.update(dict.fromkeys(AS_TEXT, "str"))
    extraction.prepare(megatron, Finder())
    sys.path[:0] = trees
    importlib.import_module(f"{package}.features_manager")
    wrapper = importlib.import_module(f"{package}.training.arguments").parse_args_decorator
    parse_args = importlib.import_module("megatron.training.arguments").parse_args
    argparse.ArgumentParser.parse_args = argparse.ArgumentParser.parse_known_args = asked  # type: ignore
    with contextlib.suppress(BuiltError):
        wrapper(parse_args)(None, True)
    return built[0]


def main(megatron: str, package: str, *trees: str) -> None:
    """Print the facts."""
    with contextlib.redirect_stdout(io.StringIO()):
        answer = list(extraction.facts_of(parser_of(megatron, package, trees)))
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
