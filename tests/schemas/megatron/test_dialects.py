"""The dialects that come with accmap: every argument has a meaning or a reason, and the facts are the real parser's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from accmap.mappings.tables import table
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.expressions import Expression
from accmap.schemas.megatron.dialects import dialect_named, known_dialects
from accmap.schemas.megatron.facts import fact_store
from accmap.schemas.megatron.facts.compile_dialects import FOLDER
from accmap.schemas.megatron.facts.compile_validation import read_rows
from accmap.schemas.megatron.facts.extract_dialect import facts_of_parser, parser_of, parser_of_dataclass

TREES = os.environ.get("ACCMAP_DIALECT_TREES")
"""A folder with `megatron`, `<version>/fork` and `<version>/own` of MindSpeed-LLM, and `ms-swift/<version>`."""
NAMES = [row.keys for one in table().rows for row in one.megatron]
FORKS_OWN = {str(row.options["fork"]) for one in table().rows for row in one.megatron if "fork" in row.options}


@pytest.mark.parametrize("name", known_dialects())
def test_every_argument_means_something_or_has_a_reason(name: str) -> None:
    dialect = dialect_named(name)
    assert dialect is not None
    taken = FORKS_OWN | {one for keys in NAMES for key in keys for one in key.split("|")}
    assert (
        sorted(dest for dest in dialect.own if dest not in dialect.read | taken and dialect.about(dest) is None) == []
    )


@pytest.mark.table(4)
@pytest.mark.parametrize("name", known_dialects())
def test_what_a_dialect_names_there_is(name: str) -> None:
    dialect = dialect_named(name)
    assert dialect is not None
    asked = {row.to for row in read_rows() if row.action == "require" and dialect.base in row.versions}
    assert dialect.rows.lifted <= asked
    rows = (*dialect.rows.before, *dialect.rows.after)
    derived = {row.target for row in read_rows()} | {row.target for row in rows} | {"rank"}
    for row in rows:
        for part in (row.value, row.condition):
            names = part.reads if isinstance(part, Expression) else ()
            assert [one for one in names if not dialect.known.knows(one) and one not in derived] == [], row.more
    for one in dialect.writing:
        assert all(dialect.known.knows(dest) for dest in (one.of, *(dest for dest, _ in one.to)))


@pytest.mark.frameworks
@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3", "26.0", "26.1", "master"])
def test_the_facts_are_the_parsers(version: str) -> None:
    if TREES is None or not Path(TREES, version).is_dir():
        pytest.skip("ACCMAP_DIALECT_TREES names no source of MindSpeed-LLM")
    content: dict[str, Any] = load_table((FOLDER / "mindspeed-llm.yaml").read_text("utf-8"))
    base = Path(TREES, version, "megatron") if Path(TREES, version, "megatron").is_dir() else Path(TREES, "megatron")
    found = parser_of(str(base), "mindspeed_llm", [str(Path(TREES, version, part)) for part in ("fork", "own")])
    known = fact_store.read(str(FOLDER / content["facts"])).of(version)
    assert facts_of_parser(content, version, found) == known


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a + 2 * b - 1", 8),
        ("a // 2 if not flag else 0", 1),
        ("1 < a <= 3 and b in [4, 3]", True),
        ("flag or name == 'x'", True),
        ("max(a, b) % 2 == 1", True),
        ("[0] * 2 + [1]", [0, 0, 1]),
        ("-a", -3),
        ("none is None", True),
    ],
)
def test_expressions(text: str, value: object) -> None:
    run = {"a": 3, "b": 3, "flag": False, "name": "x", "none": None}
    assert Expression(text, {"max": max}, frozenset())(run) == value


@pytest.mark.parametrize(
    "text",
    ["a.b", "a[0]", "a ** 2", "f(1)", "max(a, key=b)", "lambda: 1", "[x for x in a]", "a +", "f'{a}'", "max(*a)"],
)
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(ValueError, match=r"no such|no expression"):
        Expression(text, {"max": max}, frozenset())


@pytest.mark.parametrize("text", ["[0] * 10000000000", "'a' * 10000000000", "10000000000 * 'a'", "'%999999999d' % 1"])
def test_what_would_grow_without_bound(text: str) -> None:
    with pytest.raises(ValueError, match=r"entries|% of a text"):
        Expression(text, {}, frozenset())({})


@pytest.mark.frameworks
@pytest.mark.parametrize("version", ["4.0", "4.1", "4.2", "4.3", "4.4", "4.5", "4.6"])
def test_the_facts_are_those_of_the_dataclass(version: str) -> None:
    if TREES is None or not Path(TREES, "ms-swift", version).is_dir():
        pytest.skip("ACCMAP_DIALECT_TREES names no source of ms-swift")
    pytest.importorskip("transformers")
    content: dict[str, Any] = load_table((FOLDER / "ms-swift.yaml").read_text("utf-8"))
    target = "swift.megatron.arguments.sft_args:MegatronSftArguments"
    found = parser_of_dataclass("swift", target, str(Path(TREES, "ms-swift", version)), ["arguments"])
    assert facts_of_parser(content, version, found) == fact_store.read(str(FOLDER / content["facts"])).of(version)
