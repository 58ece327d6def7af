"""Reads a version of a fork that comes with accmap out of its source, as `extract.py` does for Megatron-LM's own.

`python -m accmap.schemas.megatron.facts.extract_dialect mindspeed-llm 26.1 --megatron TREE --package mindspeed_llm
TREE...`
prints what its parser has that the dialect's file does not say and the other way round; `--write` puts it into the
file. MEGATRON is the source tree that the fork stands on, the TREEs hold the fork and its own packages. What is exactly
Megatron-LM's own is left out; a version that is `like` another keeps only what that one does not know.

A program of its own (`alone`) whose arguments are a dataclass is asked with `--dataclass MODULE:CLASS` and the real
transformers, `--package swift TREE`; `--keep` names what else of the package is imported.

One that is configured by a tree of objects or of keys says in `sections` of its file whose fields they are: those
dataclasses, and the YAML that Hydra begins with (`tree`), are read out of the TREEs without importing them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from ...compilers.tables import load_table
from ..dialects import base_of
from . import fact_store
from .compile_dialects import FOLDER
from .dataclass_fields import Trees, arguments_of, tree_arguments
from .extract import PARSER_DUMP, ExtractionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TIME = 300


def parser_of(megatron: str, package: str, trees: Sequence[str]) -> list[dict[str, Any]]:
    """Every argument of the fork's parser."""
    return _run_parser_dump(["fork", os.path.abspath(megatron), package, *map(os.path.abspath, trees)])


def parser_of_dataclass(package: str, target: str, tree: str, kept: Sequence[str]) -> list[dict[str, Any]]:
    """Every argument of a parser that transformers makes of a dataclass."""
    return _run_parser_dump(["dataclass", package, target, os.path.abspath(tree), *kept])


def of_sections(content: Mapping[str, Any], trees: Sequence[str]) -> list[dict[str, Any]]:
    """Every option of a program whose file names its sections: the keys of its tree, then the fields of classes."""
    known = {one["dest"] for one in fact_store.read().of(str(content["base"]))}
    folders = tuple(f"{os.path.abspath(tree)}{below}" for tree in trees for below in ("", "/src"))
    found = list(tree_arguments(_file_in(folders, content["tree"]))) if "tree" in content else []
    for section, named in content["sections"].items():
        fields = list(arguments_of(Trees(folders), section, named["of"], named.get("own", ()), known))
        told = {one["options"][0]: one["default"] for one in found}
        said = {one["options"][0] for one in fields}
        if "tree" in content:
            # the class's default is overruled by what the program makes of a model's folder; the tree's is not
            fields = [{**one, "default": told.get(one["options"][0])} for one in fields]
        found = [one for one in found if one["options"][0] not in said] + fields
    return found


def _file_in(folders: Sequence[str], name: str) -> str:
    paths = [path for folder in folders if os.path.isfile(path := os.path.join(folder, name))]
    if not paths:
        raise ExtractionError(f"no tree has {name}")
    return paths[0]


def _run_parser_dump(words: Sequence[str]) -> list[dict[str, Any]]:
    command = [sys.executable, "-I", "-B", PARSER_DUMP, *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIME)
    if ran.returncode:
        raise ExtractionError(f"{words}: {ran.stderr.strip()[-2000:]}")
    return json.loads(ran.stdout)


def own_of(arguments: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The arguments that are not among the others, just as they are."""
    known = [_without_group(one) for one in others]
    return [fact_store.without_nothing(one) for one in arguments if _without_group(one) not in known]


def new_options(arguments: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The arguments none of whose options the others have."""
    known = {option for one in others for option in one["options"]}
    return [fact_store.without_nothing(one) for one in arguments if known.isdisjoint(one["options"])]


def _without_group(one: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key != "group" and value is not None}


def facts_of_parser(content: Mapping[str, Any], version: str, found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The facts of a version, taken from all that its parser has."""
    if "alone" in content:
        return [fact_store.without_nothing(one) for one in found]
    base = fact_store.read().of(base_of(content, version))
    like = content["versions"][version].get("like")
    if like is None:
        return own_of(found, base)
    return new_options(found, [*base, *fact_store.read(str(FOLDER / content["facts"])).of(like)])


def main(words: Sequence[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m accmap.schemas.megatron.facts.extract_dialect", description=__doc__
    )
    parser.add_argument("name")
    parser.add_argument("version")
    parser.add_argument("--megatron")
    parser.add_argument("--package")
    parser.add_argument("--dataclass")
    parser.add_argument("--keep", action="append", default=[])
    parser.add_argument("trees", nargs="+")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(words)
    content = load_table((FOLDER / f"{given.name}.yaml").read_text("utf-8"))
    order = list(content["versions"])
    path = str(FOLDER / content["facts"])
    facts = fact_store.read(path) if os.path.exists(path) else fact_store.Facts([], [], {})
    if "sections" in content:
        taken = of_sections(content, given.trees)
    elif given.dataclass is None:
        taken = parser_of(given.megatron, given.package, given.trees)
    else:
        taken = parser_of_dataclass(given.package, given.dataclass, given.trees[0], given.keep)
    found = facts_of_parser(content, given.version, taken)
    before = {json.dumps(one, sort_keys=True) for one in facts.of(given.version)}
    after = {json.dumps(one, sort_keys=True) for one in found}
    for sign, changed in (("-", before - after), ("+", after - before)):
        print("".join(f"{sign} {one}\n" for one in sorted(changed)), end="")
    if given.write:
        text = fact_store.text(fact_store.with_version(facts, given.version, found, {}, order))
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
