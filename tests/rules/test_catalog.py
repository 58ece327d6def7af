"""The catalog: compiled modules are fresh, every checklist row is covered, every field is compared, pages are fresh."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from accmap.cli.lint_formats.checklist import checklist_rows
from accmap.rules import compile as compiling
from accmap.rules.pages import every_page, page
from accmap.rules.registry import codes, rule
from accmap.schemas.compilers.tables import load_table

ROOT = Path(__file__).resolve().parents[2]


def test_every_checklist_row_is_covered() -> None:
    ids = load_table((ROOT / "rules" / "checklist.yaml").read_text("utf-8"))
    assert len(ids) == 51
    assert {row.identifier for row in checklist_rows()} == set(ids)
    for row in checklist_rows():
        assert row.codes
        assert row.what
        assert row.what_zh


def test_every_recipe_field_is_compared_or_excused() -> None:
    rules, fields = compiling.catalog(), compiling.recipe_fields()
    owners = compiling.compared_fields(rules, fields)
    excused = load_table((ROOT / "rules" / "not_compared.yaml").read_text("utf-8"))
    by_function = {name for entry in rules.values() if entry.get("owns") for name in entry["fields"]}
    assert set(owners) | set(excused) | by_function == set(fields)


@pytest.mark.parametrize("code", codes())
def test_every_rule_is_whole(code: str) -> None:
    known = rule(code)
    assert known.kind == "checklist-item" or known.messages
    if isinstance(known.check, str) and known.check:
        module, _, name = known.check.partition(":")
        assert callable(getattr(import_module(f"accmap.rules.catalog.{module}"), name))
    for language in ("en", "zh"):
        described = page(code, language)
        assert described is not None
        assert all(text.strip() for _, text in described.sections)


def test_every_reader_code_has_a_page() -> None:
    pages = set(every_page())
    for module in compiling.READERS:
        for kind in compiling.kinds(module):
            assert kind.code in pages, "run python -m accmap.rules.compile"


ELSEWHERE = {
    "ENV001": "cases/launches.yaml",
    "ENV002": "cases/launches.yaml",
    "ENV003": "cases/launches.yaml",
    "NET028": "test_engine.py",
    "MOE025": "cases/dynamic.yaml",
    "NET033": "cases/dynamic.yaml",
}


def test_every_rule_has_a_case_that_passes_and_one_that_fails() -> None:
    folder = Path(__file__).parent
    cases = [case for path in (folder / "cases").glob("*.yaml") for case in load_table(path.read_text("utf-8"))]
    seen: dict[bool, set[str]] = {True: set(), False: set()}
    for case in cases:
        if "code" in case:
            seen["at" in case].update((case["code"], *case.get("codes", ())))
    rules = {code for code, entry in compiling.catalog().items() if entry.get("kind") != "checklist-item"}
    assert rules - seen[True] - set(ELSEWHERE) == set()
    assert rules - seen[False] - set(ELSEWHERE) == set()
    for code, file in ELSEWHERE.items():
        assert code in (folder / file).read_text("utf-8")


def test_rules_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    from accmap.cli.lean import main

    assert main(["rules", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"code", "name", "severity", "profiles", "scope", "sources", "fixable", "kind"} <= set(rows[0])
    named = {source for row in rows for source in row["sources"]}
    ids = set(load_table((ROOT / "rules" / "checklist.yaml").read_text("utf-8")))
    assert ids <= named
    assert len({row["code"] for row in rows}) == len(rows)


def test_columns_name_what_exists() -> None:
    """Each code and role of a column exists: a misspelt one would never hold."""
    known = {*codes(), *every_page()}
    columns = compiling.columns(compiling.catalog(), compiling.recipe_fields())
    named = {code for row in columns["CAUSES"].values() for entry in row[2] for code in entry.split()[:1]}
    named |= {code for later in columns["REPEATS"].values() for code in later} | {*columns["YIELDS_TO"].values()}
    assert named <= known
    source = "".join(path.read_text("utf-8") for path in Path(compiling.ROOM).rglob("*.py"))
    asked = set(re.findall(r'ROLES\["([a-z-]+)"\]', source))
    assert asked == columns["ROLES"].keys()
    strange = {**compiling.catalog(), "NET001": {"roles": ["no-such-role"]}}
    with pytest.raises(AssertionError, match=r"NET001: roles.yaml does not describe no-such-role"):
        compiling.columns(strange, compiling.recipe_fields())
