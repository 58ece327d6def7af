"""The facts of an installed transformers: the configuration class of every family, its arguments and their defaults.

`python -m accmap.schemas.huggingface.extract PYTHON --version 4.57 [--write]` asks the interpreter PYTHON, in which
that version is installed, and prints what is new, gone and changed against the version's present facts, or else
against the version before it: families, defaults, and classes and functions of the modelling code that changed, which
a person compares with the sections of `mappings/huggingface.yaml`. `--write` needs the version's line in
`schemas/versions.yaml`; it writes `facts.json` and the products. It needs no torch.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compilers.constants import VERSIONS_SOURCE, read_versions
from ..compilers.tables import literal_module, load_table
from ..installation import isolated_python, module_command
from ..megatron.facts.parser_dump import digest
from ..versions import names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import TypeGuard

SOURCE = Path(__file__).with_name("facts.json")
OUTSIDE = Path(__file__).with_name("outside.yaml")
FAMILIES = (
    "llama", "mistral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "deepseek_v2", "deepseek_v3", "mixtral", "glm4",
    "glm4_moe", "gpt2",
)  # fmt: skip
"""The families whose modelling code `mappings/huggingface.yaml` retells."""

_PROBE = """
import inspect, json, sys, transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as MODELS
try:
    from transformers import PreTrainedConfig as Base
except ImportError:
    from transformers import PretrainedConfig as Base
found = {}
for name in json.loads(sys.argv[1]):
    kind = CONFIG_MAPPING[name]
    usual = inspect.signature(Base.__init__).parameters
    own = {
        key: one.default
        for key, one in inspect.signature(kind.__init__).parameters.items()
        if one.default is not inspect.Parameter.empty and key not in usual
    }
    own["tie_word_embeddings"] = kind().tie_word_embeddings
    theta = getattr(kind(), "default_theta", None)
    if own.get("rope_theta") is None and theta is not None and "rope_parameters" in own:
        own["rope_theta"] = theta
    partial = getattr(kind(), "rope_parameters", None) or {}
    if "partial_rotary_factor" in partial:
        own["partial_rotary_factor"] = partial["partial_rotary_factor"]
    found[name] = {
        "class": kind.__name__,
        "model": MODELS[name],
        "renamed": dict(kind.attribute_map),
        "defaults": {key: value for key, value in sorted(own.items())},
    }
common = sorted({*usual, *Base().to_dict()} - {"self", "kwargs"})
told = {"version": transformers.__version__, "families": found, "known": sorted(set(MODELS)), "common": common}
print(json.dumps([transformers.__path__[0], told]))
"""
_SHARED = ("modeling_rope_utils.py", "masking_utils.py", "activations.py", "loss/loss_utils.py", "integrations/moe.py")
"""Code that the models of all families call."""


def read_facts() -> dict[str, Any]:
    """The stored facts by version."""
    found: dict[str, Any] = json.loads(SOURCE.read_text("utf-8"))
    return found


def read_families() -> dict[str, Any]:
    """The stored facts by version, with the families of `outside.yaml`, which are the same in every version."""
    outside: dict[str, Any] = load_table(OUTSIDE.read_text("utf-8"))["families"]
    return {version: {**found, "families": {**found["families"], **outside}} for version, found in read_facts().items()}


def extract_facts(python: str) -> dict[str, Any]:
    """The facts that the transformers of an interpreter states."""
    command = isolated_python(_PROBE, [json.dumps(FAMILIES)], [], python)
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    folder, found = json.loads(told.splitlines()[-1])
    return {**found, "sources": source_digests(Path(folder))}


def source_digests(folder: Path) -> dict[str, dict[str, str]]:
    """Digest of each class and function in the families' modelling code, by file."""
    files = [f"models/{family}/modeling_{family}.py" for family in FAMILIES]
    return {
        name: {node.name: digest(node) for node in ast.parse((folder / name).read_text("utf-8")).body if _is_code(node)}
        for name in (*files, *_SHARED)
        if (folder / name).is_file()
    }


def _is_code(node: ast.stmt) -> TypeGuard[ast.ClassDef | ast.FunctionDef]:
    return isinstance(node, (ast.ClassDef, ast.FunctionDef))


def previous_version(version: str, stored: Collection[str]) -> str | None:
    """Version to compare new facts with: the same one, else the one before."""
    order = _listed_versions()
    until = order[: order.index(version) + 1] if version in order else order
    return next((name for name in reversed(until) if name in stored), None)


def _listed_versions() -> list[str]:
    return [str(entry["name"]) for entry in read_versions()["huggingface"]]


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The differences between the facts of two readings."""
    lines: list[str] = []
    before, after = old.get("families", {}), new["families"]
    for name in after:
        lines += [
            f"{name}: {member} {after[name][member]}"
            for member in ("class", "model", "renamed")
            if before.get(name, {}).get(member) != after[name][member]
        ]
        was, now = before.get(name, {}).get("defaults", {}), after[name]["defaults"]
        lines += [
            f"{name}.{key}: {was.get(key, '-')} -> {now.get(key, '-')}"
            for key in sorted({*was, *now})
            if was.get(key, ...) != now.get(key, ...)
        ]
    for sign, these, others in (("new", new, old), ("gone", old, new)):
        lines += [f"{sign} family {name}" for name in these.get("known", ()) if name not in others.get("known", ())]
    return [*lines, *_changed_code(old["sources"], new["sources"])] if "sources" in old else lines


def _changed_code(old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """The classes and functions whose digests differ."""
    for file, now in new.items():
        was = old.get(file, {})
        yield from (f"source {file}:{name}" for name in now if was.get(name) != now[name])
        yield from (f"source gone {file}:{name}" for name in was if name not in now)


def products() -> dict[str, str]:
    """Text of the compiled module by file name, for the generator."""
    stored = read_families()
    if tuple(stored) != names("huggingface"):
        raise ValueError(f"schemas/huggingface/facts.json holds {tuple(stored)}, and not what versions.yaml names")
    facts = {
        version: {
            name: (
                one["class"],
                one["model"],
                one["renamed"],
                one["defaults"],
                one.get("published", ""),
                tuple((other["part"], other["whose"]) for other in one.get("others", ())),
            )
            for name, one in found["families"].items()
        }
        for version, found in stored.items()
    }
    about = "Configuration classes of transformers by version and family; compiled from facts.json."
    common = tuple(sorted({key for found in stored.values() for key in found["common"]}))
    outside: dict[str, Any] = load_table(OUTSIDE.read_text("utf-8"))
    rotary: dict[str, list[str]] = outside["rotary"]
    made = literal_module(
        about,
        FACTS=facts,
        COMMON=common,
        KINDS=_kinds(stored, outside["nullable"]),
        ROTARY_SECTIONS=tuple(rotary["sections"]),
        ROTARY_NUMBERS=tuple(rotary["numbers"]),
    )
    return {"schemas/huggingface/facts_compiled.py": made}


_KINDS = {"int": "whole", "float": "number", "str": "text"}
_IDENTIFIERS = "_token_id"
"""Numbers of tokens: none, one or several, and minus one."""


def _kinds(stored: Mapping[str, Any], nullable: Sequence[str]) -> dict[str, tuple[str, bool]]:
    """Type of each key's default in all families and versions, and True if null is allowed."""
    given: dict[str, set[str]] = {}
    for found in stored.values():
        for family in found["families"].values():
            for key, value in family["defaults"].items():
                given.setdefault(key, set()).add(type(value).__name__)
    nothing = type(None).__name__
    kinds = {key: sorted(kinds - {nothing}) for key, kinds in given.items() if not key.endswith(_IDENTIFIERS)}
    return {
        key: (_KINDS[kind[0]], nothing in given[key] or key in nullable)
        for key, kind in kinds.items()
        if kind and kind[0] in _KINDS
    }


def main(arguments: list[str]) -> int:
    """Print the changes of facts; write them if requested."""
    parser = argparse.ArgumentParser(prog="accmap.schemas.huggingface.extract")
    parser.add_argument("python")
    parser.add_argument("--version", required=True)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    order = _listed_versions()
    if given.write and given.version not in order:
        print(f"{given.version} has no line in {VERSIONS_SOURCE}", file=sys.stderr)
        return 2
    stored = read_facts() if SOURCE.exists() else {}
    found = extract_facts(given.python)
    before = previous_version(given.version, stored)
    listed = changes(stored[before] if before else {}, found)
    print(f"{given.version} against {before}: {len(listed) or 'no'} changes")
    print("".join(f"{line}\n" for line in listed), end="")
    if given.write:
        stored[given.version] = found
        ordered = {name: stored[name] for name in order if name in stored}
        SOURCE.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")
        root = Path(__file__).resolve().parents[2]
        subprocess.run(module_command("generate", first=[str(root)]), cwd=root, stdout=subprocess.DEVNULL, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
