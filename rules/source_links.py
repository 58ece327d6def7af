"""The address of a source of a rule: the framework's file at its tag, a pull request, the guide's page.

Used when the pages are made. A source in which no file is named leads to the whole tree of its version.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from ..schemas.addresses_compiled import REPOSITORY
from ..schemas.compilers.tables import load_table

ROOM = Path(__file__).resolve().parent
_FILE = re.compile(r"([\w./-]+\.py)")
_MEGATRON_TOP = ("pretrain_gpt.py", "gpt_builders.py", "model_provider.py", "megatron/")
_MINDFORMERS_TOP = ("run_mindformer.py", "mindformers/")
_PACKAGES = {"transformer_engine": "engine", "mindspeed_llm": "mindspeed_llm"}
_OWNERS = {"MindSpore Transformers": "mindformers", "MindSpeed-LLM": "mindspeed_llm"}
_COMMIT = re.compile(r"\bcommit ([0-9a-f]{7,40})\b")


@cache
def _link_table() -> dict[str, Any]:
    return load_table((ROOM / "source_links.yaml").read_text("utf-8"))


@cache
def _tags() -> dict[str, dict[str, str]]:
    """Repository path of each version's files."""
    versions = load_table((ROOM.parent / "schemas" / "versions.yaml").read_text("utf-8"))
    return {
        "megatron": {row["name"]: row["tag"] for row in versions["megatron"]},
        "mindformers": {row["name"]: f"v{row['name']}.0" for row in versions["mindformers"] if row["name"] < "2"}
        | _link_table()["mindformers"]["branches"],
    }


def link_of(source: str) -> str | None:
    """Web address of a source; None if it has none."""
    found = _page_of(source) or _request_of(source)
    if found:
        return found
    first, _, rest = source.partition(" ")
    if first in ("megatron", "mindformers"):
        return _framework(first, rest)
    if first in _PACKAGES:
        version, _, path = rest.partition(" ")
        return _link_table()[_PACKAGES[first]]["file"].format(version=version, path=path.partition(":")[0])
    if first == "transformers":
        version, _, path = rest.partition(" ")
        return _link_table()["transformers"].format(version=version, path=path.partition(":")[0])
    if first == "accmap" or source.startswith(("tests/", "mappings/")):
        path = source.removeprefix("accmap ").split("::")[0].split(":")[0]
        return f"{REPOSITORY}/blob/main/{path.replace('*.yaml', '')}" if REPOSITORY else None
    return None


def _page_of(source: str) -> str | None:
    rows = {**_link_table()["guide"], **_link_table()["pages"]}
    fitting = [start for start in rows if source.startswith(start)]
    return rows[max(fitting, key=len)] if fitting else None


def _request_of(source: str) -> str | None:
    """A pull request or a commit."""
    request = re.match(r"(Megatron-LM|Transformer Engine) (pull request|issue) #(\d+)", source)
    if request:
        whose = _link_table()["megatron" if request[1] == "Megatron-LM" else "engine"]
        kind = "pull" if request[2] == "pull request" else "issue"
        return whose[kind].format(number=request[3])
    commit = _COMMIT.search(source)
    if not commit:
        return None
    owner = next((key for name, key in _OWNERS.items() if source.startswith(name)), "megatron")
    return _link_table()[owner]["commit"].format(commit=commit[1])


def _framework(framework: str, rest: str) -> str | None:
    """Address of a source file at its version's tag."""
    version = re.match(r"(?:core_v)?(\d+\.\d+|main)", rest)
    if version is None:
        return None
    addresses, tag = _link_table()[framework], _tags()[framework].get(version[1])
    if tag is None:
        return addresses["wheel"].format(version=f"{version[1]}.0") if "wheel" in addresses else None
    path = _FILE.search(rest)
    if path is None or "*" in rest[: path.end()]:
        return addresses["tree"].format(tag=tag)
    return addresses["file"].format(tag=tag, path=_whole(framework, path[1]))


def _whole(framework: str, path: str) -> str:
    """Full repository path of a shortened one."""
    if framework == "mindformers":
        return path if path.startswith(_MINDFORMERS_TOP) else f"mindformers/{_under_parallel_core(path)}"
    if path.startswith(_MEGATRON_TOP):
        return path
    return f"megatron/training/{path}" if path in ("arguments.py", "training.py") else f"megatron/{path}"


def _under_parallel_core(path: str) -> str:
    """The path with `parallel_core` before it if it begins with `training_graph`."""
    return f"parallel_core/{path}" if path.startswith("training_graph/") else path
