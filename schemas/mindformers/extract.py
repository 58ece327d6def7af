"""Facts of a MindSpore Transformers version, read out of its source: `python -m accmap.schemas.mindformers.extract`.

    python -m accmap.schemas.mindformers.extract TREE --version 2.2            what differs from what stands here
    python -m accmap.schemas.mindformers.extract TREE --version 2.2 --write    ... write facts.yaml and the products
    python -m accmap.schemas.mindformers.extract --remove 2.2                  take a version out again

TREE is an unpacked wheel or a source tree: the folder that holds `mindformers`. Its package is imported in a process
of its own (MindSpore is needed there, nothing installed is touched), and parsed. A version that stands here is
compared with itself; a new one with the version before it, as a list of changes: what is new, gone or changed, and
the functions whose source changed, each with the places in accmap that cite it. `--write` needs the version's line in
`schemas/versions.yaml`.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compilers import constants
from ..installation import isolated_python, module_command
from ..plain_values import is_list, is_mapping
from .fact_base import SOURCE, fact_file_text, facts_of, merge_versions, read_facts

if TYPE_CHECKING:
    from collections.abc import Iterator


HERE = Path(__file__).resolve().parent
DIGESTS = HERE / "digests.yaml"
_HEAD = """# What every version of MindSpore Transformers accepts, defaults to and converts: written by
# `python -m accmap.schemas.mindformers.extract`, which reads the real source; do not edit. ` @1.7-1.9` behind a key are
# the versions in which it counts (`fact_file.py`). What the source does not say as data stands in `judged.yaml`.
"""
_DIGESTS_HEAD = """# Digests of the functions that accmap follows, by version (`source_digests.py`); written by
# `python -m accmap.schemas.mindformers.extract`, do not edit.
"""
_KINDS = ("bool", "int", "float", "str")
_RUN_PROBE = """
import runpy
sys.dont_write_bytecode = True
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""
_SECTION = re.compile(r"- section: (.*)")
"""Where the rows of `resolution.yaml` that a citation is about begin."""
_CITING = ("schemas", "mappings", "rules", "mapper", "verifier")


def extract_facts(tree: Path, python: str = sys.executable) -> dict[str, Any]:
    """Facts of one version by dialect, and digests of its functions."""
    package = tree / "mindformers"
    if not package.is_dir():
        raise ValueError(f"{tree} holds no folder mindformers")
    command = isolated_python(_RUN_PROBE, [str(HERE / "probe.py")], [str(tree.resolve())], python)
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tree)
    _, mark, answer = done.stdout.rpartition("\nFACTS\n")
    if not mark:
        raise ValueError(f"{tree} cannot be imported:\n{done.stderr.strip()[-2000:]}")
    raw = json.loads(answer)
    found = {"static": _static_facts(raw["static"], package), "digests": digests(package)}
    if raw["dynamic"] is not None:
        found["dynamic"] = _sorted_facts(raw["dynamic"])
    return found


def _static_facts(raw: dict[str, Any], package: Path) -> dict[str, Any]:
    """Facts of the static graph in the form of the fact file."""
    fields = {**raw["transformer"], **raw["mla_transformer"]}
    return {
        "source": f"mindformers {raw['release']}",
        "sections": raw["sections"],
        "order": raw["order"],
        "run_modes": raw["run_modes"],
        "classes": _class_facts(raw),
        "names": raw["names"],
        "models": _model_facts(raw["models"]),
        "white": raw["white"],
        "converters": _converters(raw),
        "common": _converter_facts(raw["common"], raw["transformer"]),
        "transformer": raw["transformer"],
        "mla_transformer": raw["mla_transformer"],
        "types": _types(raw["annotations"], fields),
        "registry": raw["registry"],
        "callbacks": {name: sorted(words) for name, words in sorted(raw["callbacks"].items())},
        "loaders": raw["loaders"],
        "handed": _section_key_types(raw["handed"]),
        "data_keys": data_keys(package),
    }


def _section_key_types(raw: dict[str, Any]) -> dict[str, Any]:
    """Sections passed on to MindSpore: key types, and if other keys are refused."""
    found: dict[str, Any] = {}
    for name, one in sorted(raw.items()):
        kinds: dict[str, list[str]] = {}
        for key, kind in one["keys"].items():
            kinds.setdefault(kind or "any", []).append(key)
        found[name] = {"stops": one["stops"], "keys": {kind: sorted(kinds[kind]) for kind in sorted(kinds)}}
    return found


def _model_facts(raw: dict[str, Any]) -> dict[str, Any]:
    """For each model: older class or not, trainable, and with latent attention or not."""
    found: dict[str, Any] = {}
    for name, one in raw.items():
        legacy = not name.startswith("mcore_")
        bare = name.removeprefix("mcore_")
        trained = legacy or one["training"]
        found[bare] = {"legacy": legacy, "trainable": trained, "mla": not legacy and trained and one["mla"]}
    return found


def _class_facts(raw: dict[str, Any]) -> dict[str, Any]:
    """Facts of each configuration class."""
    found: dict[str, Any] = {}
    models = _model_facts(raw["models"])
    beside = {name.removeprefix("mcore_"): one["module"].rpartition(".")[0] for name, one in raw["models"].items()}
    latent = {one["module"].rpartition(".")[0] for one in raw["models"].values() if one["mla"] or one["mla_dynamic"]}
    for name, one in raw["classes"].items():
        legacy = not name.startswith("mcore_")
        folder = one["module"].rpartition(".")[0]
        own = [
            models[model] for model, place in beside.items() if place == folder and models[model]["legacy"] == legacy
        ]
        found[name] = {
            "class": one["class"],
            "legacy": legacy,
            "model_type": one["model_type"],
            "mf": one["mf"],
            "signature": one["signature"],
            "ignore": one["ignore"],
            "attribute_map": one["attribute_map"],
            "mla": not legacy and folder in latent,
            "converter": one["converter"],
            "trainable": any(model["trainable"] for model in own),
        }
    return found


def _converters(raw: dict[str, Any]) -> dict[str, Any]:
    """Key conversions of each class; keys that keep their name are left out."""
    if raw["converters"] is None:
        return {}
    every = {**raw["transformer"], **raw["mla_transformer"]}
    found: dict[str, Any] = {}
    for name, one in raw["converters"].items():
        plain, latent = _converter_facts(one["plain"], raw["transformer"]), _converter_facts(one["mla"], every)
        apart = {key: value for key, value in latent["rules"].items() if plain["rules"].get(key) != value}
        found[name] = {**plain, "mla_rules": apart, "mla_without": latent["without"]}
    return found


def _converter_facts(mapping: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Keys that set another field, fields without a key, and keys without a field."""
    rules = {key: _target_texts(targets) for key, targets in mapping.items() if targets != [[key, None]]}
    without = sorted(field for field in fields if mapping.get(field) != [[field, None]])
    beyond = sorted(key for key, targets in mapping.items() if targets == [[key, None]] and key not in fields)
    return {"rules": dict(sorted(rules.items())), "without": without, **({"beyond": beyond} if beyond else {})}


def _target_texts(targets: list[list[Any]]) -> Any:
    texts = [field if transform is None else f"{field} | {transform}" for field, transform in targets]
    return texts[0] if len(texts) == 1 else texts


def _types(annotations: dict[str, str], defaults: dict[str, Any]) -> dict[str, list[str]]:
    """Fields by simple type; `?` if None is allowed."""
    found: dict[str, list[str]] = {}
    for name, kind in annotations.items():
        bare = kind.removesuffix(" | None")
        if bare in _KINDS:
            optional = bare != kind or defaults.get(name) is None
            found.setdefault(f"{bare}?" if optional else bare, []).append(name)
    return {kind: sorted(found[kind]) for kind in sorted(found)}


def _sorted_facts(value: Any) -> Any:
    if is_mapping(value):
        return {key: _sorted_facts(value[key]) for key in sorted(value)}
    return value


# --- the files -------------------------------------------------------------------------------------------------------


def update_version(facts: dict[str, Any], digest: dict[str, Any], version: str, new: dict[str, Any] | None) -> None:
    """Put a version's facts into both fact trees, or remove them.

    Their order is that of `versions.yaml`: what is compiled of it does not know a line that was just written.
    """
    for dialect in ("static", "dynamic"):
        content = None if new is None else new.get(dialect)
        facts[dialect] = _replace_dialect(facts.get(dialect), version, content)
    held = _replace_dialect(digest, version, None if new is None else new["digests"])
    digest.clear()
    digest.update(held)


def _replace_dialect(dialect: dict[str, Any] | None, version: str, new: Any) -> dict[str, Any]:
    """Dialect's facts with one version replaced, or removed if `new` is None."""
    old: dict[str, Any] = dialect or {"versions": [], "facts": {}}
    trees = {one: facts_of(old["facts"], one, old["versions"]) for one in old["versions"] if one != version}
    if new is not None:
        trees[version] = new
    versions = sorted(trees, key=_listed_versions().index)
    return {
        "versions": versions,
        "facts": merge_versions({one: trees[one] for one in versions}, versions) if trees else {},
    }


# --- the list of changes ---------------------------------------------------------------------------------------------


def changes(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, str, Any, Any]]:
    """The entries that are `new`, `gone` or `changed` between two trees: the path, and the two values."""
    if is_mapping(old) and is_mapping(new):
        for key in {**old, **new}:
            here = f"{path}.{key}" if path else str(key)
            if key not in new:
                yield "gone", here, old[key], None
            elif key not in old:
                yield "new", here, None, new[key]
            else:
                yield from changes(old[key], new[key], here)
    elif repr(old) != repr(new):
        yield from _differences(old, new, path)


def _differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, str, Any, Any]]:
    """The differences of two values: of lists the entries, unless only their order differs."""
    lists = is_list(old) and is_list(new)
    if lists:
        yield from (("gone", path, one, None) for one in old if one not in new)
        yield from (("new", path, None, one) for one in new if one not in old)
    if not lists or sorted(map(repr, old)) == sorted(map(repr, new)):
        yield "changed", path, old, new


def citations(root: Path, functions: set[str]) -> dict[str, list[str]]:
    """Places in tables and programs that cite one of the functions."""
    found: dict[str, list[str]] = {}
    name = re.compile(r"([\w/]+\.py):([\w.]+(?:, [A-Za-z_]\w*\.\w+)*)")
    for room in _CITING:
        for path in sorted((root / room).rglob("*")):
            if path.suffix not in (".yaml", ".py") or path.stem.endswith("_compiled") or path == DIGESTS:
                continue
            entry = ""
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                head = _SECTION.match(line)
                entry = f" ({head[1]})" if head else entry
                for file, listed in name.findall(line):
                    place = f"{path.relative_to(root)}:{number}{entry}"
                    for full in _cited_functions(functions, file, listed.split(", ")):
                        found.setdefault(full, []).append(place)
    return found


def _cited_functions(functions: set[str], file: str, listed: list[str]) -> Iterator[str]:
    """Functions that a citation names; a class means all its methods."""
    for full in functions:
        where, _, what = full.partition(":")
        if f"/{where}".endswith(f"/{file}") and any(what == one or what.startswith(f"{one}.") for one in listed):
            yield full


def stored_facts(version: str) -> dict[str, Any]:
    """The stored facts of a version by dialect, and its digests."""
    digest = read_facts(DIGESTS)
    found: dict[str, Any] = {"digests": facts_of(digest["facts"], version, digest["versions"])}
    for dialect, content in read_facts().items():
        if version in content["versions"]:
            found[dialect] = facts_of(content["facts"], version, content["versions"])
    return found


def print_changes(version: str, before: str | None, old: dict[str, Any], new: dict[str, Any]) -> int:
    """Print the list of changes; how many there are."""
    count = 0
    for dialect in ("static", "dynamic"):
        found = list(changes(old.get(dialect, {}), new.get(dialect, {})))
        count += len(found)
        print(f"## {dialect}: {len(found)} changes from {before} to {version}")
        for kind, path, left, right in found:
            shown = {"new": repr(right), "gone": repr(left), "changed": f"{left!r} -> {right!r}"}[kind]
            print(f"{kind:8}{path}: {shown[:160]}")
    sources = list(changes(old["digests"], new["digests"]))
    functions: set[str] = set()
    for kind, path, left, right in sources:
        file, mark, function = path.partition(".py.")
        whole = right if kind == "new" else left
        names = [function] if mark else list(whole) if is_mapping(whole) else []
        functions |= {f"{file.removesuffix('.py')}.py:{one}" for one in names}
    places = citations(HERE.parents[1], functions)
    print(f"## {len(functions)} functions or classes whose source changed, {len(places)} of them cited here")
    for name in sorted(functions, key=lambda one: (one not in places, one)):
        print(f"source  {name}" + (f"  cited in {', '.join(places[name])}" if name in places else ""))
    return count


FOLLOWED = (
    "core/context/*.py", "core/lr/*.py", "core/parallel_config.py", "core/optim/adamw.py",
    "core/optim/optimizer_grouped_parameters.py",
    "dataset/base_dataset.py", "dataset/blended_datasets/gpt_dataset.py",
    "dataset/dataloader/blended_megatron_dataloader.py", "dataset/causal_language_model_dataset.py",
    "models/build_config.py", "models/configuration_utils.py", "models/model_config_utils.py",
    "models/*/configuration_*.py", "models/*/config_converter_*.py", "modules/transformer/transformer.py",
    "parallel_core/config_converter.py", "parallel_core/model_parallel_config.py",
    "parallel_core/transformer_config.py", "parallel_core/transformer_config_utils.py",
    "parallel_core/training_graph/transformer/utils.py", "parallel_core/utils/init_method.py",
    "pynative/config/*.py", "pynative/optimizer/adamw.py",
    "pynative/optimizer/muon.py", "pynative/trainer/dynamic_batch.py", "pynative/trainer/utils.py",
    "pynative/trainer/trainer.py", "tools/check_rules.py", "tools/register/*.py",
    "trainer/base_trainer.py", "trainer/config_args.py",
    "trainer/optimizer_grouped_parameters.py", "trainer/trainer.py", "trainer/utils.py", "wrapper/wrapper.py",
)  # fmt: skip
"""The readers, converters and configuration classes, in the package."""


def digests(package: Path) -> dict[str, dict[str, str]]:
    """By file, the digest of every function and of every class's own statements."""
    found: dict[str, dict[str, str]] = {}
    for pattern in FOLLOWED:
        for path in sorted(package.glob(pattern)):
            tree = ast.parse(path.read_text("utf-8"))
            found[path.relative_to(package).as_posix()] = dict(_function_digests(tree, ""))
    return {name: entries for name, entries in found.items() if entries}


def _function_digests(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, str]]:
    """Name and digest of each function and class body in a module."""
    for child in node.body:
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{prefix}{child.name}", _digest_of_body([child])
        elif isinstance(child, ast.ClassDef):
            inside = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            own = [one for one in _leave_out_docstring(child.body) if not isinstance(one, inside)]
            if own:
                yield f"{prefix}{child.name}", _digest_of_body(own)
            yield from _function_digests(child, f"{prefix}{child.name}.")


def _digest_of_body(nodes: list[ast.stmt]) -> str:
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner.body = _leave_out_docstring(inner.body)
    text = "\n".join(ast.dump(node) for node in nodes)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _leave_out_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    return [
        one
        for one in body
        if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str))
    ]


def data_keys(package: Path) -> list[str]:
    """Keys that the Megatron data set's loader reads from its `config`."""
    path = package / "dataset/dataloader/blended_megatron_dataloader.py"
    found: list[tuple[int, int, str]] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not (isinstance(node, ast.FunctionDef) and node.name == "init_gpt_dataset_config"):
            continue
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "get":
                first = call.args[0] if call.args else None
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    found.append((call.lineno, call.col_offset, first.value))
    return list(dict.fromkeys(key for _, _, key in sorted(found)))


def main(words: list[str] | None = None) -> int:
    """Run the command; 1 if a stored version differs from its source."""
    parser = argparse.ArgumentParser(
        prog="accmap.schemas.mindformers.extract", description="Facts of a MindSpore Transformers version."
    )
    parser.add_argument("tree", nargs="?", type=Path, help="an unpacked wheel or a source tree")
    parser.add_argument("--version", help="what the version is called here: 2.2")
    parser.add_argument("--write", action="store_true", help="write facts.yaml and digests.yaml")
    parser.add_argument("--remove", metavar="VERSION", help="take a version out")
    given = parser.parse_args(words)
    facts = read_facts() if SOURCE.exists() else {}
    digest = read_facts(DIGESTS) if DIGESTS.exists() else {}
    if given.remove:
        update_version(facts, digest, given.remove, None)
        _write_facts(facts, digest)
        return 0
    if given.tree is None or given.version is None:
        parser.error("TREE and --version are needed")
    if given.write and given.version not in _listed_versions():
        print(f"{given.version} has no line in {constants.VERSIONS_SOURCE}", file=sys.stderr)
        return 2
    try:
        new = extract_facts(given.tree.resolve())
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    before = _previous_version(facts, given.version)
    old: dict[str, Any] = stored_facts(before) if before else {"digests": {}}
    count = print_changes(given.version, before, old, new)
    if given.write:
        update_version(facts, digest, given.version, new)
        _write_facts(facts, digest)
        return 0
    return int(count > 0 and before == given.version)


def _listed_versions() -> list[str]:
    """The versions of `versions.yaml`, oldest first."""
    return [entry["name"] for entry in constants.read_versions()["mindformers"]]


def _previous_version(facts: dict[str, Any], version: str) -> str | None:
    order = _listed_versions()
    until = order[: order.index(version) + 1] if version in order else order
    return next((one for one in reversed(until) if one in facts.get("static", {"versions": []})["versions"]), None)


def _write_facts(facts: dict[str, Any], digest: dict[str, Any]) -> None:
    """Write the fact and digest files and regenerate the products."""
    SOURCE.write_text(fact_file_text(_HEAD, facts), "utf-8")
    DIGESTS.write_text(fact_file_text(_DIGESTS_HEAD, digest), "utf-8")
    subprocess.run(
        module_command("generate", first=[str(HERE.parents[1])]),
        cwd=HERE.parents[1],
        stdout=subprocess.DEVNULL,
        check=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
