"""The fields of dataclasses are read out of source as `dataclasses.fields` has them, and a tree of keys as it is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from accmap.schemas.compilers.tables import load_table
from accmap.schemas.megatron.facts import fact_store
from accmap.schemas.megatron.facts.compile_dialects import FOLDER
from accmap.schemas.megatron.facts.extract import ExtractionError
from accmap.schemas.megatron.facts.extract_dialect import (
    Trees,
    arguments_of,
    facts_of_parser,
    of_sections,
    tree_arguments,
)

TREES = os.environ.get("ACCMAP_DIALECT_TREES")
"""A folder with `<dialect>/<version>/fork` and `<dialect>/<version>/own`, the Megatron-LM that it stands on."""
BASE = '''
import signal
from dataclasses import dataclass, field
from typing import ClassVar, Optional
import torch
class Plain:
    pass
@dataclass
class Model(Plain):
    size: int
    """Its size."""
    rate: Optional[float] = 2.0**3
    kind: "str | None" = None
    type: torch.dtype = torch.float32
    quiet: bool = field(default=True, metadata={"a": 1})
    layers: list[int] = field(default_factory=list)
    stop: object = signal.SIGTERM
    known: ClassVar[int] = 3
    mode: Optional[Literal["a", "b"]] = "a"
    _own: int = 1
'''
OTHER = """
from .base import Model as Before
from elsewhere import Unknown
class Model(Before, Unknown):
    size: int = 5
    more: float = -1.5
"""


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    package = tmp_path / "src" / "a" / "b"
    package.mkdir(parents=True)
    (package / "base.py").write_text(BASE, encoding="utf-8")
    (package / "other.py").write_text(OTHER, encoding="utf-8")
    (package / "__init__.py").write_text("from .other import Model\n", encoding="utf-8")
    return Trees((str(tmp_path), str(tmp_path / "src")))


def test_bases_come_first_and_what_overrides_them_stays_in_place(trees: Trees) -> None:
    found = [(one.name, one.kind(), one.default) for one in trees.fields("a.b:Model")]
    assert found == [
        ("size", "int?", 5), ("rate", "float?", 8.0), ("kind", "str?", None), ("type", "any", "torch.float32"),
        ("quiet", "truth?", True), ("layers", "any", None), ("stop", "any", 15), ("mode", "str?", "a"),
        ("_own", "int?", 1), ("more", "float?", -1.5),
    ]  # fmt: skip


def test_a_field_writes_the_argument_of_its_name_unless_it_says_something_else(trees: Trees) -> None:
    found = list(arguments_of(trees, "x.model", ["a.b:Model"], ["rate"], {"size", "rate"}))
    assert {one["options"][0]: one["dest"] for one in found} == {
        f"--x.model.{name}": name if name == "size" else f"model_{name}"
        for name in ("size", "rate", "kind", "type", "quiet", "layers", "stop", "mode", "more")
    }


@pytest.mark.parametrize("target", ["a.c:Model", "a.b:Nothing"])
def test_what_no_tree_has(trees: Trees, target: str) -> None:
    with pytest.raises(ExtractionError):
        trees.fields(target)


def test_the_keys_of_a_tree(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    actor = "{lr: 1.0e-6, size: 1, flag: true, of: '${a.b}', _target_: c.D, more: {}}"
    text = f"actor_rollout_ref: {{actor: {actor}}}\nseed: null\n"
    path.write_text(text, encoding="utf-8")
    found = [(one["options"][0], one["dest"], one["type"], one["default"]) for one in tree_arguments(str(path))]
    assert found == [
        ("--actor_rollout_ref.actor.lr", "actor_lr", "float?", 1e-6),
        ("--actor_rollout_ref.actor.size", "actor_size", "any", 1),
        ("--actor_rollout_ref.actor.flag", "actor_flag", "truth?", True),
        ("--actor_rollout_ref.actor.of", "actor_of", "any", None),
        ("--actor_rollout_ref.actor.more", "actor_more", "any", None),
        ("--seed", "seed", "any", None),
    ]


@pytest.mark.frameworks
@pytest.mark.parametrize(("name", "version"), [("megatron-bridge", "0.7"), ("verl", "0.7"), ("verl", "0.9")])
def test_the_facts_are_those_of_the_source(name: str, version: str) -> None:
    parts = [str(Path(TREES or "", name, version, part)) for part in ("fork", "own")]
    if TREES is None or not all(map(os.path.isdir, parts)):
        pytest.skip(f"ACCMAP_DIALECT_TREES names no source of {name}")
    content: dict[str, Any] = load_table((FOLDER / f"{name}.yaml").read_text("utf-8"))
    found = facts_of_parser(content, version, of_sections(content, parts))
    known = fact_store.read(str(FOLDER / content["facts"])).of(version)
    assert {json.dumps(one, sort_keys=True) for one in found} == {json.dumps(one, sort_keys=True) for one in known}
