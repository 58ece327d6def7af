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

One whose YAML names Megatron-LM's arguments and lays presets below them says in `presets` of its file where those are:
`extract_dialect primus 26.5 --megatron MEGATRON PRIMUS` asks Megatron-LM's own parser, and reads the presets and the
names that the program's code asks for.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...compilers.tables import load_table
from ...fast_records import NamedTuple
from ..argument_parser import NULLABLE
from ..dialects import base_of
from . import fact_store
from .compile_dialects import FOLDER
from .extract import PARSER_DUMP, ExtractionError, extract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

_TIME = 300


def parser_of(megatron: str, package: str, trees: Sequence[str]) -> list[dict[str, Any]]:
    """Every argument of the fork's parser."""
    return _run_parser_dump(["fork", os.path.abspath(megatron), package, *map(os.path.abspath, trees)])


def parser_of_dataclass(package: str, target: str, tree: str, kept: Sequence[str]) -> list[dict[str, Any]]:
    """Arguments of the parser that transformers builds from a dataclass."""
    return _run_parser_dump(["dataclass", package, target, os.path.abspath(tree), *kept])


def of_sections(content: Mapping[str, Any], trees: Sequence[str]) -> list[dict[str, Any]]:
    """Options of a program from its configuration tree and the fields of its classes."""
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
    """Arguments that are not equal to any of the others."""
    known = [_without_group(one) for one in others]
    return [fact_store.without_nothing(one) for one in arguments if _without_group(one) not in known]


def new_options(arguments: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The arguments none of whose options the others have."""
    known = {option for one in others for option in one["options"]}
    return [fact_store.without_nothing(one) for one in arguments if known.isdisjoint(one["options"])]


def _without_group(one: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key != "group" and value is not None}


def facts_of_parser(content: Mapping[str, Any], version: str, found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Facts of a version, from all arguments of its parser."""
    if "alone" in content or "presets" in content:
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
    elif "presets" in content:
        taken = of_presets(content, given.version, given.megatron, given.trees[0], write=given.write)
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
        """Path and syntax tree of a module; ExtractionError if no source tree has it."""
        for folder in self.folders:
            below = os.path.join(folder, *name.split("."))
            for path in (f"{below}.py", os.path.join(below, "__init__.py")):
                if os.path.isfile(path):
                    return path, _parse_file(path)
        raise ExtractionError(f"no tree has {name}")

    def fields(self, target: str) -> list[Field]:
        """The fields of `module:Class` in the order of `dataclasses.fields`: its bases' first."""
        module, _, name = target.partition(":")
        return list(_Classes(self).of(module, name).values())


@cache
def _parse_file(path: str) -> ast.Module:
    with open(path, encoding="utf-8") as stream:
        return ast.parse(stream.read(), path)


class _Classes:
    def __init__(self, trees: Trees) -> None:
        self.trees = trees

    def of(self, module: str, name: str) -> dict[str, Field]:
        """Fields of a class named in a module."""
        path, tree = self.trees.module(module)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name == name:
                return self._own(module, node)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self.of(_absolute_module(module, path, node), alias.name)
        raise ExtractionError(f"{module} has no {name}")

    def _own(self, module: str, node: ast.ClassDef) -> dict[str, Field]:
        """Fields of a dataclass with those of its bases."""
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


def _absolute_module(module: str, path: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    kept = len(parts) - node.level + os.path.basename(path).startswith("__init__")
    return ".".join([*parts[:kept], *([node.module] if node.module else [])])


def _default(value: ast.expr | None) -> Any:
    """Plain default value; None for one that code computes."""
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
    """Constant, or the result of simple arithmetic on constants."""
    if isinstance(value, ast.BinOp) and type(value.op) in _OPERATIONS:
        left, right = _fold_constant(value.left), _fold_constant(value.right)
        return None if None in (left, right) else _OPERATIONS[type(value.op)](left, right)
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError):
        return None


def tree_arguments(path: str) -> Iterator[dict[str, Any]]:
    """Options for the keys of a Hydra configuration's YAML."""
    import yaml

    with open(path, encoding="utf-8") as stream:
        yield from _of_tree(yaml.safe_load(stream), "")


def _of_tree(tree: dict[str, object], before: str) -> Iterator[dict[str, Any]]:
    """Option facts for each leaf of a configuration tree."""
    for key, value in tree.items():
        path = f"{before}{key}"
        if isinstance(value, dict) and value:
            yield from _of_tree(cast("dict[str, object]", value), f"{path}.")
        elif key != _TARGET:
            plain = value if isinstance(value, (int, float, str)) and not str(value).startswith("${") else None
            kind = _KIND_OF.get(type(plain), _ANYTHING)
            short = path.removeprefix(_PART).replace(".", "_")
            yield _argument_facts(f"--{path}", short, kind, plain, path.partition(".")[0])


def arguments_of(
    trees: Trees, section: str, targets: Sequence[str], own: Sequence[str], known: set[str]
) -> Iterator[dict[str, Any]]:
    """Options for the fields below a section; known ones write Megatron-LM's argument."""
    fields: dict[str, Field] = {}
    for target in targets:
        for field in trees.fields(target):
            if not field.name.startswith("_"):
                fields.setdefault(field.name, field)
    last = section.rpartition(".")[2]
    for field in fields.values():
        shared = field.name in known and not ({field.name, _ALL} & set(own))
        dest = field.name if shared else f"{last}_{field.name}"
        yield _argument_facts(f"--{section}.{field.name}", dest, field.kind(), field.default, last)


def of_presets(
    content: Mapping[str, Any], version: str, megatron: str, tree: str, *, write: bool = False
) -> list[dict[str, Any]]:
    """Megatron-LM's arguments under their value names, then keys only in presets or code.

    `write` puts the presets into their table, unchanged ones once for all versions.
    """
    named = content["presets"]
    read = _presets_in(os.path.join(tree, named["of"]), named["folders"])
    table = preset_table(str(FOLDER / named["table"]))
    table = preset_table_with(table, version, read, list(content["versions"]))
    if write:
        _write_presets(str(FOLDER / named["table"]), table)
    presets, values = presets_of(table, version), dict[str, Any]()
    for path in named["defaults"]:
        values = {**preset_values(presets, path), **values}
    own = {key: values.get(key) for content_of in read.values() for key in content_of if key != EXTENDS}
    own.update(dict.fromkeys(sorted(_names_asked(os.path.join(tree, named["code"])) - own.keys())))
    found = {one["dest"]: one for one in reversed(extract(megatron, ()).arguments)}
    taken = {one["dest"] for one in fact_store.read().arguments}.union(named["renamed"])
    return [
        *(_argument_facts(f"--{key}", key, _value_kind(one), one.get("default"), one["group"])
          for key, one in reversed(found.items())),
        *(_own_argument(key, default, f"{content['name']}_{key}" if key in taken else key, content["label"])
          for key, default in own.items() if key not in found),
    ]  # fmt: skip


def _own_argument(key: str, default: object, dest: str, group: str) -> dict[str, Any]:
    """Option fact for a program's own key, with its presets' default."""
    plain = default if isinstance(default, (int, float, str)) and "${" not in str(default) else None
    return _argument_facts(f"--{key}", dest, _KIND_OF.get(type(plain), _ANYTHING), plain, group)


def _value_kind(one: Mapping[str, Any]) -> str:
    """The kind of value by which a YAML writes an argument of a parser."""
    if one["action"] != "store":
        return "truth?"
    kind = f"{one.get('type') or 'str'}?"
    return kind if one.get("nargs") is None and kind in NULLABLE else _WORD if kind == "name?" else _ANYTHING


def _presets_in(folder: str, folders: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Content of each preset YAML by path."""
    import yaml

    found: dict[str, dict[str, Any]] = {}
    for path in sorted(path for part in folders for path in Path(folder).glob(part)):
        content = yaml.safe_load(path.read_text("utf-8"))
        if isinstance(content, dict):
            found[path.relative_to(folder).as_posix()] = cast("dict[str, Any]", content)
    return found


_HOLDERS = ("args", "params", "backend_args", "megatron_args", "cfg", "config")


def _names_asked(folder: str) -> set[str]:
    """Names that code reads from its arguments, such as `args.NAME`."""
    names: set[str] = set()
    for path in sorted(Path(folder).rglob("*.py")):
        for node in ast.walk(_parse_file(str(path))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == _HOLDERS[0]:
                names.add(node.attr)
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr" and len(node.args) > 2:
                holder, name = ast.unparse(node.args[0]).rpartition(".")[2], node.args[1]
                if holder in _HOLDERS and isinstance(name, ast.Constant) and isinstance(name.value, str):
                    names.add(name.value)
    return {name for name in names if not name.startswith("_")}


EXTENDS = "extends"
PresetRow: TypeAlias = "tuple[str, tuple[str, ...], dict[str, Any]]"


def preset_table(path: str) -> list[PresetRow]:
    """Rows of a preset table: path, versions and content."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as stream:
        return [(name, tuple(versions), content) for name, versions, content in json.load(stream)]


def presets_of(table: Sequence[PresetRow], version: str) -> dict[str, dict[str, Any]]:
    """The presets of one version by path."""
    return {path: content for path, versions, content in table if version in versions}


def preset_table_with(
    table: Sequence[PresetRow], version: str, read: Mapping[str, dict[str, Any]], order: Sequence[str]
) -> list[PresetRow]:
    """Preset table with one version's presets added or replaced."""
    rows = [(path, {one for one in versions if one != version}, content) for path, versions, content in table]
    for path, content in read.items():
        same = next((row for row in rows if row[0] == path and row[2] == content), None)
        if same is None:
            rows.append((path, {version}, content))
        else:
            same[1].add(version)
    kept = [(path, tuple(one for one in order if one in versions), content) for path, versions, content in rows]
    return sorted((row for row in kept if row[1]), key=lambda row: row[:2])


def preset_values(presets: Mapping[str, dict[str, Any]], path: str) -> dict[str, Any]:
    """All values of a preset, inherited ones included."""
    content = presets[path]
    found: dict[str, Any] = {}
    for name in content.get(EXTENDS, ()):
        found.update(preset_values(presets, os.path.normpath(os.path.join(os.path.dirname(path), name))))
    return {**found, **{key: value for key, value in content.items() if key != EXTENDS}}


def _write_presets(path: str, table: Sequence[PresetRow]) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in table) + "\n]\n")


def _argument_facts(option: str, dest: str, kind: str, default: Any, group: str) -> dict[str, Any]:
    return {
        "options": [option], "dest": dest, "group": group, "action": "store", "type": kind, "default": default,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
