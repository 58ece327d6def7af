"""Brings a version of Megatron-LM in: `python -m accmap.schemas.megatron.facts.extract TREE --version 0.20 [--write]`.

TREE is a source tree or an unpacked wheel. The version needs its line in `versions.yaml`; its arguments are read out
of the tree's own parser by `parser_dump.py`, in a process of its own. What changes against the version's present facts,
or else against the version before it, is printed; `--write` puts it into `arguments.json` and makes the products.
`--compare OLD` asks for the changes against another version, `--format json` for the list as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from ...compilers import constants
from ...fast_records import NamedTuple
from ...installation import module_command
from . import fact_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

HERE = os.path.dirname(os.path.realpath(__file__))
PARSER_DUMP = os.path.join(HERE, "parser_dump.py")
_TIME = 300


class ExtractionError(Exception):
    """The tree's parser could not be asked."""


class Extracted(NamedTuple):
    """Arguments and function digests that a tree's own code declares."""

    arguments: list[dict[str, Any]]
    functions: dict[str, str]
    guessed: Mapping[str, str] = {}
    """By option, a function that is handed to argparse as `type` and that is not known, and what it is read as."""


_NO_FACT = ("options", "group")
"""Members of an argument that say what it is called and where it is listed."""


class Change(NamedTuple):
    """One difference between two versions."""

    kind: str
    """`new`, `gone` or `changed`, an argument; `function-new`, `function-gone`, `function-changed`."""
    name: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    def __str__(self) -> str:
        if self.kind == "changed":
            shown = {key: (self.before.get(key), self.after.get(key)) for key in (*self.before, *self.after)}
            return f"changed {self.name}: " + "; ".join(f"{key} {a!r} -> {b!r}" for key, (a, b) in shown.items())
        told = {key: value for key, value in self.after.items() if key not in _NO_FACT}
        return f"{self.kind} {self.name}" + (f" {json.dumps(told)}" if self.kind == "new" else "")


def extract(tree: str, functions: Sequence[str]) -> Extracted:
    """Arguments that a source tree's parser declares, and digests of its functions."""
    if not os.path.isfile(os.path.join(tree, "megatron", "training", "arguments.py")):
        raise ExtractionError(f"{tree} has no megatron/training/arguments.py")
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as wanted:
        wanted.write("\n".join(functions))
        wanted.flush()
        # -I: nothing of this environment is looked at; -B: nothing is written into the tree.
        words = [sys.executable, "-I", "-B", PARSER_DUMP, "version", os.path.abspath(tree), wanted.name]
        ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_TIME)
    if ran.returncode:
        raise ExtractionError(f"{tree}: {ran.stderr.strip()[-2000:]}")
    return Extracted(**json.loads(ran.stdout))


def changes(before: Extracted, after: Extracted) -> list[Change]:
    """New, gone and changed entries: arguments by their options, then functions."""
    old, new = _by_option(before), _by_option(after)
    found: list[Change] = []
    for option in {**old, **new}:
        was, now = old.get(option), new.get(option)
        if was is None or now is None:
            found.append(Change("new" if was is None else "gone", option, was or {}, now or {}))
        elif differing := [key for key in {**was, **now} if key not in _NO_FACT and was.get(key) != now.get(key)]:
            pair = ({key: side.get(key) for key in differing} for side in (was, now))
            found.append(Change("changed", option, *pair))
    return [*found, *_changed_functions(before.functions, after.functions)]


def _by_option(side: Extracted) -> dict[str, dict[str, Any]]:
    return {option: one for one in side.arguments for option in one["options"]}


def _changed_functions(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    for name in sorted({*before, *after}):
        was, now = before.get(name), after.get(name)
        if was != now:
            kind = "new" if was is None else "gone" if now is None else "changed"
            yield Change(f"function-{kind}", name, {"digest": was}, {"digest": now})


def facts_of_version(facts: fact_store.Facts, version: str) -> Extracted:
    """The stored facts of a version."""
    return Extracted(facts.of(version), facts.digests(version))


def comparison_version(facts: fact_store.Facts, version: str, order: Sequence[str]) -> str | None:
    """Version to compare new facts with: the same one, else the one before."""
    if version in facts.versions:
        return version
    return next((name for name in reversed(order[: order.index(version)]) if name in facts.versions), None)


def write(facts: fact_store.Facts) -> None:
    """Write the facts and regenerate everything derived from them."""
    with open(fact_store.PATH, "w", encoding="utf-8") as stream:
        stream.write(fact_store.text(facts))
    root = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
    subprocess.run(module_command("generate", first=[root]), cwd=root, stdout=subprocess.DEVNULL, check=True)


def main(words: Sequence[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m accmap.schemas.megatron.facts.extract", description=__doc__)
    parser.add_argument("tree")
    parser.add_argument("--version", required=True)
    parser.add_argument("--compare")
    parser.add_argument(
        "--watch",
        nargs="+",
        action="extend",
        default=[],
        help="functions, path:name, whose digests are kept from now on",
    )
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    given = parser.parse_args(words)
    order = [str(entry["name"]) for entry in constants.read_versions()["megatron"]]
    if given.version not in order:
        print(f"{given.version} has no line in {constants.VERSIONS_SOURCE}", file=sys.stderr)
        return 2
    facts = fact_store.read()
    try:
        found = extract(given.tree, [*facts.functions, *given.watch])
    except ExtractionError as error:
        print(error, file=sys.stderr)
        return 2
    other = given.compare or comparison_version(facts, given.version, order)
    listed = changes(facts_of_version(facts, other) if other else Extracted([], {}), found)
    if given.format == "json":
        print(json.dumps({"from": other, "to": given.version, "changes": [change._asdict() for change in listed]}))
    else:
        print(f"{given.version} against {other}: {len(listed) or 'no'} changes")
        print("".join(f"{change}\n" for change in listed), end="")
        print("".join(f"type {option}: {said}\n" for option, said in found.guessed.items()), end="")
    if given.write:
        write(fact_store.with_version(facts, given.version, found.arguments, found.functions, order))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
