"""The extractor: what it reads out of a tree, how the facts keep it, and what it says of two versions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.schemas.megatron.catalog import VERSIONS
from accmap.schemas.megatron.facts import extract, fact_store
from accmap.schemas.versions import text_of, versions_in

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[3]
PARSER = """
# A tree imports what this machine need not have.
import torch
import transformer_engine as te
from megatron.core.kinds import Scope, Small, Triple


@torch.compile
class Layer(torch.nn.Module, te.Base):
    scale = torch.ones(1) * 2.0


def triple_type(text):
    return Triple[text]


def moe_freq_type(text):
    return eval(text)


def tuple_type(text):
    return text if text == "all" else Scope[text]


def add_megatron_arguments(parser):
    group = parser.add_argument_group(title="network")
    group.add_argument("--num-layers", type=int, default=None, help="a help text")
    group.add_argument("--no-bias", "--disable-bias", action="store_false", dest="bias")
    group.add_argument("--kind", choices=list(Small), default=Small.one)
    group = parser.add_argument_group(title="moe")
    group.add_argument("--moe-layer-freq", type=moe_freq_type, default=1)
    group.add_argument("--scope", nargs="+", type=lambda text: text if text == "all" else Scope[text], default=[])
    return parser


def validate_args(args):
    '''Checks.'''
    args.x = 1  # so
"""
KINDS = "import enum\nSmall = enum.Enum('Small', 'one two')\nScope = enum.Enum('Scope', 'attn mlp')\nTriple = Scope\n"
WATCHED = ["megatron/training/arguments.py:validate_args", "megatron/core/kinds.py:gone"]


def tree(folder: Path, parser: str = PARSER) -> str:
    for name, text in (
        ("megatron/core/__init__.py", ""),
        ("megatron/training/__init__.py", "import apex.optimizers\nfrom megatron.rl import whatever\n"),
        ("megatron/core/kinds.py", KINDS),
        ("megatron/training/arguments.py", parser),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return str(folder)


def test_what_the_parser_declares(tmp_path: Path) -> None:
    found = extract.extract(tree(tmp_path), WATCHED)
    network, moe = {"group": "network", "action": "store"}, {"group": "moe", "action": "store"}
    assert found.arguments == [
        {**network, "options": ["--num-layers"], "dest": "num_layers", "type": "int"},
        {**network, "options": ["--no-bias", "--disable-bias"], "dest": "bias", "default": True, "action": "false"},
        {**network, "options": ["--kind"], "dest": "kind", "default": "one", "choices": ["one", "two"]},
        {**moe, "options": ["--moe-layer-freq"], "dest": "moe_layer_freq", "type": "frequency", "default": 1},
        {
            **moe, "options": ["--scope"], "dest": "scope", "type": "name", "nargs": "+", "default": [],
            "choices": ["all", "attn", "mlp"],
        },
    ]  # fmt: skip
    assert list(found.functions) == WATCHED[:1]
    assert not list(tmp_path.rglob("__pycache__"))


def test_a_digest_is_of_the_code(tmp_path: Path) -> None:
    told = (
        PARSER.replace("'''Checks.'''", "'''Checks it.'''")
        .replace("# so", "# so or so")
        .replace("args.x = 1", "args.x=1")
    )
    same = [extract.extract(tree(tmp_path / name, text), WATCHED) for name, text in (("a", PARSER), ("b", told))]
    other = extract.extract(tree(tmp_path / "c", PARSER.replace("args.x = 1", "args.x = 2")), WATCHED)
    assert same[0] == same[1]
    assert [change.kind for change in extract.changes(same[0], other)] == ["function-changed"]


@pytest.mark.parametrize(
    ("code", "kind", "choices"),
    [
        ("return text", "str", None),
        ("return int(text)", "int", None),
        ("return float(text)", "float", None),
        ("return text if text == 'max' else int(text)", "str", None),
        ("return {'near': 1, 'far': 2}[text]", "name", ["far", "near"]),
        ("return text.missing", "str", None),
        ("return Triple[text]", "name", ["attn", "mlp"]),
    ],
)
def test_a_type_that_nobody_has_seen_is_tried_and_told(
    code: str, kind: str, choices: list[str] | None, tmp_path: Path
) -> None:
    parser = PARSER.replace("type=moe_freq_type", "type=triple_type").replace("return Triple[text]", code)
    found = extract.extract(tree(tmp_path, parser), [])
    fact = next(one for one in found.arguments if one["dest"] == "moe_layer_freq")
    assert (fact["type"], fact.get("choices")) == (kind, choices)
    assert found.guessed == {"--moe-layer-freq": f"triple_type, read as {kind}"}


def test_what_is_no_tree_is_said(tmp_path: Path) -> None:
    with pytest.raises(extract.ExtractionError, match=r"arguments\.py"):
        extract.extract(str(tmp_path), [])
    command = [sys.executable, "-m", "accmap.schemas.megatron.facts.extract", str(tmp_path), "--version"]
    for version, said in (("0.12", "arguments.py"), ("0.99", "has no line in")):
        ran = subprocess.run([*command, version], capture_output=True, text=True, check=False)
        assert (ran.returncode, said in ran.stderr) == (2, True)


def argument(name: str, **more: object) -> dict[str, Any]:
    return {"options": [f"--{name}"], "dest": name, "action": "store", "group": "g", **more}


def test_a_version_is_added_in_the_order_of_its_parser() -> None:
    order = ["0.12", "0.13", "0.14"]
    found = fact_store.with_version(
        fact_store.Facts([], [], {}), "0.12", [argument("a"), argument("c")], {"f": "1"}, order
    )
    found = fact_store.with_version(
        found, "0.13", [argument("a"), argument("b"), argument("c")], {"f": "1", "g": "2"}, order
    )
    assert [(row["dest"], row["versions"]) for row in found.arguments] == [
        ("a", ["0.12", "0.13"]),
        ("b", ["0.13"]),
        ("c", ["0.12", "0.13"]),
    ]
    assert found.functions == {"f": {"0.12": "1", "0.13": "1"}, "g": {"0.13": "2"}}
    again = fact_store.with_version(found, "0.12", [argument("a", type="int"), argument("c")], {}, order)
    assert [row["dest"] for row in again.of("0.12")] == ["a", "c"]
    assert [row["dest"] for row in again.of("0.13")] == ["a", "b", "c"]
    assert again.digests("0.12") == {}


def test_changes_are_named() -> None:
    before = extract.Extracted([argument("a", default=1), argument("b")], {"x.py:f": "1", "x.py:g": "1"})
    after = extract.Extracted([argument("a", default=2), argument("c", type="int")], {"x.py:f": "2"})
    assert [(change.kind, change.name) for change in extract.changes(before, after)] == [
        ("changed", "--a"),
        ("gone", "--b"),
        ("new", "--c"),
        ("function-changed", "x.py:f"),
        ("function-gone", "x.py:g"),
    ]
    assert str(extract.changes(before, after)[0]) == "changed --a: default 1 -> 2"
    assert extract.changes(before, after)[-2][2:] == ({"digest": "1"}, {"digest": "2"})


def test_the_file_is_written_as_it_is_read() -> None:
    with open(fact_store.PATH, encoding="utf-8") as stream:
        assert fact_store.text(fact_store.read()) == stream.read()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_that_is_written_again_leaves_the_file_as_it_was(version: str) -> None:
    kept = fact_store.read()
    again = fact_store.with_version(kept, version, kept.of(version), kept.digests(version), kept.versions)
    assert fact_store.text(again) == fact_store.text(kept)


ORDER = ("0.12", "0.13", "0.14", "0.15", "main")


@given(st.sets(st.sampled_from(ORDER)))
def test_a_set_of_versions_reads_back(versions: set[str]) -> None:
    if versions:
        assert set(versions_in(text_of(versions, ORDER), ORDER)) == versions


def test_sets_of_versions() -> None:
    assert versions_in("-0.13, 0.15-", ORDER) == ("0.12", "0.13", "0.15", "main")
    assert text_of({"0.13", "0.14", "main"}, ORDER) == "0.13-0.14, main-"
    with pytest.raises(ValueError, match="before"):
        versions_in("0.14-0.12", ORDER)
    with pytest.raises(ValueError, match="no version"):
        versions_in("0.20", ORDER)


@pytest.mark.long
def test_what_to_review_is_listed_with_the_tables_that_speak_of_it() -> None:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "review.py"), "0.18", "0.19", "--format", "json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    places = {
        (change["kind"], change["name"]): {place["file"] for place in change["places"]}
        for change in json.loads(ran.stdout)
    }
    assert "mappings/moe.yaml" in places["changed", "--moe-router-load-balancing-type"]
    assert "schemas/megatron/validation.yaml" in places["function-changed", WATCHED[0]]
    assert not any(name == "--num-layers" for _, name in places)


@pytest.mark.frameworks
@pytest.mark.parametrize("version", VERSIONS)
def test_a_known_version_is_read_again_value_by_value(version: str, tree_of: Callable[[str], str]) -> None:
    kept = fact_store.read()
    found = extract.extract(tree_of(version), list(kept.functions))
    differing = extract.changes(extract.facts_of_version(kept, version), found)
    assert [str(change) for change in differing if not change.kind.startswith("function")] == []
    assert found.arguments == kept.of(version)


@pytest.mark.frameworks
@pytest.mark.parametrize("version", VERSIONS)
def test_every_cited_function_is_watched(version: str, tree_of: Callable[[str], str]) -> None:
    """A function that a table cites and of which the facts keep no digest would never be reviewed."""
    command = [sys.executable, str(ROOT / "tools" / "review.py"), "--tree", tree_of(version)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == []
