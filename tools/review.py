"""A list of checks for a person when a version comes in: `python tools/review.py 0.19 0.20`.

`python tools/review.py --mindformers 2.1 2.2` answers for MindSpore Transformers: what its facts say anew, and the
rows of `resolution.yaml`, tables and programs that cite a function whose source changed. For Megatron-LM:

Lays the two versions' facts beside each other. Each argument that is new, gone or changed, and each function whose
code changed, is listed with the rows, rules and validation entries that name the one or cite the other.
`--tree TREE` lists the functions cited anywhere that the tree has and the facts do not watch (`extract.py --watch`
takes them), and the conditions before the first step that `schemas/megatron/conditions.yaml` does not know;
with `--mindformers` those of a tree of MindSpore Transformers.
`--format json` answers as JSON.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from accmap.schemas.megatron.facts import fact_store
from accmap.schemas.megatron.facts.extract import Change, changes, facts_of_version
from accmap.schemas.megatron.facts.parser_dump import definitions
from accmap.schemas.mindformers.extract import print_changes
from accmap.schemas.mindformers.extract import stored_facts as stored_mindformers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
TABLES = ("mappings", "rules", "schemas/megatron", "schemas/purposes.yaml", "mapper", "evidence")
"""Where tables stand that speak of Megatron-LM."""
_CITED = re.compile(r"((?:\w+/)*\w+\.py):([A-Za-z_][\w.]*(?:, [A-Za-z_]\w*\.?\w*(?=[\"',;)\]]))*)")
_FRAMEWORK = re.compile(r"\b(megatron|mindformers)\b", re.IGNORECASE)
_HEADS = (
    re.compile(r"^\s*- \{?(?:field|fields|section|check): *(\[[^]]*\]|[^,}]+)"),
    re.compile(r"^([A-Z]{3}\d{3}):"),
)


class Place(NamedTuple):
    """A line of a table, and what stands there."""

    file: str
    line: int
    entry: str
    """The row, rule or section that the line belongs to."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.entry})" if self.entry else f"{self.file}:{self.line}"


class Line(NamedTuple):
    """One line of a table."""

    place: Place
    text: str


def lines() -> list[Line]:
    """Every line of the authored tables."""
    found: list[Line] = []
    for part in TABLES:
        path = ROOT / part
        for file in sorted(path.rglob("*.yaml")) if path.is_dir() else [path]:
            entry = ""
            for number, text in enumerate(file.read_text("utf-8").splitlines(), 1):
                head = next((match for match in (pattern.match(text) for pattern in _HEADS) if match), None)
                entry = head[1].strip() if head else entry
                found.append(Line(Place(file.relative_to(ROOT).as_posix(), number, entry), text))
    return found


def citations(listed: Sequence[Line]) -> Iterator[tuple[str, str, Place]]:
    """Every function of Megatron-LM that a table cites, as its path's end and its name."""
    for line in listed:
        for match in _CITED.finditer(line.text):
            said = _FRAMEWORK.findall(line.text[: match.start(2)])
            if said and said[-1].lower() == "mindformers":
                continue
            for name in match[2].split(", "):
                yield match[1], name.rstrip("."), line.place


def is_cited(function: str, path: str, name: str) -> bool:
    """True if a citation means a function; one of a class means every method of it."""
    full, _, dotted = function.partition(":")
    return f"/{full}".endswith(f"/{path}") and (dotted == name or dotted.startswith(f"{name}."))


def mentions(listed: Sequence[Line], dest: str) -> list[Place]:
    """The lines that name an argument's destination or its flag."""
    word = re.compile(rf"(?<![\w.])(?:--)?(?:{dest}|{dest.replace('_', '-')})(?![\w-])")
    return [line.place for line in listed if word.search(line.text)]


def review(before: str, after: str) -> list[tuple[Change, list[Place]]]:
    """Every change between two versions with the places that it may touch."""
    facts, listed = fact_store.read(), lines()
    cited = list(citations(listed))
    found: list[tuple[Change, list[Place]]] = []
    for change in changes(facts_of_version(facts, before), facts_of_version(facts, after)):
        if change.kind.startswith("function"):
            places = [place for path, name, place in cited if is_cited(change.name, path, name)]
        else:
            dests = {fact["dest"] for v in (before, after) for fact in facts.of(v) if change.name in fact["options"]}
            places = [place for dest in sorted(dests) for place in mentions(listed, dest)]
        found.append((change, list(dict.fromkeys(places))))
    return found


def unwatched_functions(tree: str) -> list[str]:
    """Functions that the tables cite and the tree has, and whose digests the facts do not keep."""
    watched = fact_store.read().functions
    cited: dict[str, set[str]] = {}
    for path, name, _ in citations(lines()):
        cited.setdefault(path.rpartition("/")[2], set()).add(f"{path}:{name}")
    found: set[str] = set()
    for folder, _, names in os.walk(os.path.join(tree, "megatron")):
        for name in names:
            if name not in cited:
                continue
            full = os.path.relpath(os.path.join(folder, name), tree)
            defined = dict(definitions(ast.parse(Path(tree, full).read_text("utf-8")), ""))
            for one in cited[name]:
                path, _, function = one.partition(":")
                known_already = f"{full}:{function}" in watched or function.startswith(
                    "_add_"
                )  # its arguments are facts
                if f"/{full}".endswith(f"/{path}") and function in defined and not known_already:
                    found.add(f"{full}:{function}")
    return sorted(found)


def main(words: Sequence[str]) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", metavar="VERSION")
    parser.add_argument("--tree")
    parser.add_argument("--mindformers", action="store_true")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    given = parser.parse_args(words)
    if given.tree:
        from list_conditions import MEGATRON, MINDFORMERS, new_conditions

        framework = MINDFORMERS if given.mindformers else MEGATRON
        print("" if given.mindformers else "\n".join(unwatched_functions(given.tree)))
        print("\n".join(f"new condition {one}" for one in new_conditions(given.tree, framework)))
        return 0
    if len(given.versions) != 2:
        parser.error("give the two versions to compare")
    listed = review(*given.versions)
    if given.mindformers:
        before, after = given.versions
        print_changes(after, before, stored_mindformers(before), stored_mindformers(after))
        return 0
    if given.format == "json":
        print(json.dumps([{**change._asdict(), "places": [p._asdict() for p in places]} for change, places in listed]))
        return 0
    touched = sum(bool(places) for _, places in listed)
    print(f"{given.versions[0]} -> {given.versions[1]}: {len(listed)} changes, {touched} of them named by a table")
    for change, places in sorted(listed, key=lambda one: not one[1]):
        print(f"{change}" + "".join(f"\n    {place}" for place in places))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
