"""The engine: crashes become findings, selections, repairs and baselines."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import planting
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.rules import baseline, fixes
from accmap.rules.engine import Selection, check
from accmap.rules.rule import Found, Rule, at_key
from accmap.rules.subject import Subject
from accmap.schemas.diagnostic import Diagnostic, Edit, Fix, Kind
from accmap.schemas.source import SourceText, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "qwen3_dense"


def pair() -> Subject:
    texts = {name: (EXAMPLE / name).read_text("utf-8") for name in ("megatron.sh", "mindformers.yaml")}
    sides = planting.sides_of(texts)
    return Subject((sides["megatron.sh"], sides["mindformers.yaml"]), "align", {}, {})


def broken(_: Subject) -> list[Found]:
    raise ZeroDivisionError("on purpose")


def seeing(_: Subject) -> list[Found]:
    return [Found(at_key("mindformers", "optimizer.eps"), {"x": 1})]


def test_a_rule_that_crashes_becomes_a_finding_and_the_others_are_heard() -> None:
    bad = Rule("XXX001", "broken", "error", "any", {"": ("en", "zh")}, broken)
    good = Rule("XXX002", "seeing", "warning", "any", {"": ("x is {x}", "x 为 {x}")}, seeing)
    outcome = check(pair(), None, (bad, good))
    codes = [entry.kind.code for entry in outcome.diagnostics]
    assert outcome.crashed
    assert "SYN990" in codes
    assert "XXX002" in codes
    assert "SCH053" in codes


def test_the_longest_prefix_decides() -> None:
    chosen = Selection(("NET", "OPT003"), ("NET00",), {"NET010": "error"})
    assert chosen.is_enabled("NET010")
    assert not chosen.is_enabled("NET001")
    assert chosen.is_enabled("OPT003")
    assert not chosen.is_enabled("OPT004")
    assert Selection().is_enabled("ANY001")
    assert Selection(("ALL",), ("NET",)).is_enabled("MOE001")
    assert chosen.severity(Kind("NET010", "", "info", "", "")).severity == "error"


KIND = Kind("NET001", "x", "error", "x", "x")


def test_a_baseline_matches_by_content() -> None:
    before = SourceText("a.yaml", "a: 1\nb: 2\n")
    after = SourceText("a.yaml", "# new\na: 1\nb:   2\n")
    entry = Diagnostic(KIND, "a.yaml", Span(2, 1, 2, 5))
    moved = Diagnostic(KIND, "a.yaml", Span(3, 1, 3, 7))
    text = baseline.baseline_text([entry], {"a.yaml": before}, ["a.yaml"], os.getcwd())
    accepted = baseline.read(json.loads(text), os.getcwd())
    kept, known = baseline.without([moved, moved], accepted, {"a.yaml": after}, ["a.yaml"])
    assert known == 1
    assert len(kept) == 1


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5), st.text("xy", max_size=3)), max_size=6))
@settings(max_examples=60)
def test_edits_never_mix(edits: list[tuple[int, int, str]]) -> None:
    text = "abcdefghijklmnopqrstuvwxyz0123456789"
    source = SourceText("f", text)
    found = [
        Diagnostic(KIND, "f", fix=Fix("safe", "", "", (Edit("f", source.span(start, start + length), new),)))
        for start, length, new in edits
    ]
    changed, done = fixes.apply_fixes({"f": source}, found)
    if not done:
        assert not changed
        return
    kept = "".join(character for character in changed["f"] if character not in "xy")
    for entry in done:
        assert entry.fix is not None
    removed = sum(entry.fix.edits[0].span.end_column - entry.fix.edits[0].span.column for entry in done if entry.fix)
    assert len(kept) >= len(text.replace("x", "").replace("y", "")) - removed
    assert sum(len(entry.fix.edits[0].text) for entry in done if entry.fix) + len(text) - removed == len(changed["f"])


def test_fixes_that_undo_each_other_are_not_made() -> None:
    def find(texts: Mapping[str, SourceText], _tries_fixes: bool) -> fixes.LintedTexts:
        text = texts["f"].text
        new = "off" if text.startswith("on") else "on"
        edit = Edit("f", Span(1, 1, 1, len(text) + 1), new)
        return fixes.LintedTexts([Diagnostic(KIND, "f", fix=Fix("safe", "", "", (edit,)))])

    done = fixes.fix_texts({"f": SourceText("f", "on")}, find, unsafe=False)
    assert (done.texts["f"].text, len(done.undone)) == ("on", 1)


def test_multi_token_prediction_with_tied_embeddings() -> None:
    """No shipped class can say both, so the recipe is made to."""
    subject = pair()
    side = subject.mindformers
    assert side is not None
    fields = dict(side.recipe.fields)
    assert "NET028" not in [entry.kind.code for entry in check(subject).diagnostics]
    fields["mtp.num_layers"] = fields["mtp.num_layers"]._replace(value=1)
    fields["model.tie_embeddings"] = fields["model.tie_embeddings"]._replace(value=True)
    changed_side = side._replace(recipe=side.recipe._replace(fields=fields))
    changed = subject._replace(sides=(subject.sides[0], changed_side), worked_out={})
    assert "NET028" in [entry.kind.code for entry in check(changed).diagnostics]


@pytest.mark.parametrize(
    ("key", "sections"),
    [("a.b", ("a", "")), ("a[0].b", ("a[0]", "a", "")), ("a[0]", ("a", "")), ("]", ("",)), ("x.]", ("x", ""))],
)
def test_the_sections_of_a_key(key: str, sections: tuple[str, ...]) -> None:
    from accmap.rules.places import sections_of

    assert sections_of(key) == sections
