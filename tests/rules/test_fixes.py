"""A fix stays only where its finding is gone and no other error or warning has come."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from planting import SETTINGS, planted_pair

from accmap.cli.linting.linter import lint
from accmap.cli.linting.settings import Reader
from accmap.mapper.recipe.reading import recipe_of
from accmap.rules.fixes import LintedTexts, fix_texts
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import Diagnostic, Edit, Fix, Kind
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLE = Path(__file__).parents[2] / "examples" / "qwen3_dense"


def finding(code: str, line: int = 0, text: str = "", severity: str = "error") -> Diagnostic:
    kind = Kind(code, code.lower(), severity, code, code)
    fix = None
    if line:
        span = Span(line, 1, line, 2)
        fix = Fix("safe", text, text, (Edit("a", span, text),))
    return Diagnostic(kind, "a", None, (), (), (code,), fix)


def mended(text: str, rules: dict[str, tuple[int, str]], comes: dict[str, str]) -> tuple[str, list[str], list[str]]:
    """`rules`: the fix of each wrong letter (line, new letter); `comes`: the finding that a letter brings."""

    def look(texts: Mapping[str, SourceText], _tries_fixes: bool) -> LintedTexts:
        letters = texts["a"].text.split("\n")
        found = [finding(f"BAD{letter}", *fix) for letter, fix in rules.items() if letters[fix[0] - 1] == letter]
        return LintedTexts(found + [finding(code) for letter, code in comes.items() if letter in letters])

    done = fix_texts({"a": SourceText("a", text)}, look, unsafe=False)
    assert done.converged
    return done.texts["a"].text, [one.kind.code for one in done.fixed], [one.kind.code for one in done.undone]


def test_a_fix_is_made() -> None:
    assert mended("x\ny", {"x": (1, "a"), "y": (2, "b")}, {}) == ("a\nb", ["BADx", "BADy"], [])


def test_one_that_brings_another_finding_is_not() -> None:
    assert mended("x", {"x": (1, "a")}, {"a": "NEW"}) == ("x", [], ["BADx"])


def test_one_that_leaves_its_finding_is_not() -> None:
    assert mended("x", {"x": (1, "x")}, {}) == ("x", [], ["BADx"])


def test_the_good_one_of_two_is_made() -> None:
    assert mended("x\ny", {"x": (1, "a"), "y": (2, "b")}, {"a": "NEW"}) == ("x\nb", ["BADy"], ["BADx"])


def test_one_that_only_another_one_makes_possible_is_tried_again() -> None:
    """`a` is wrong beside `y`, `c` always: only when `y` is mended can `x` be, in the same run."""
    fixes = {"x": (1, "a"), "y": (2, "b"), "z": (3, "c")}

    def look(texts: Mapping[str, SourceText], _tries_fixes: bool) -> LintedTexts:
        letters = texts["a"].text.split("\n")
        found = [finding(f"BAD{letter}", *fix) for letter, fix in fixes.items() if letter in letters]
        comes = [finding("NEW")] if "c" in letters or {"a", "y"} <= set(letters) else []
        return LintedTexts(found + comes)

    done = fix_texts({"a": SourceText("a", "x\ny\nz")}, look, unsafe=False)
    assert done.converged
    assert done.texts["a"].text == "a\nb\nz"
    assert [one.kind.code for one in done.undone] == ["BADz"]
    again = fix_texts(done.texts, look, unsafe=False)
    assert (again.texts, again.undone) == (done.texts, done.undone)


def test_a_remark_may_come() -> None:
    def look(texts: Mapping[str, SourceText], _tries_fixes: bool) -> LintedTexts:
        return LintedTexts([finding("BADx", 1, "a")] if texts["a"].text == "x" else [finding("SAID", severity="info")])

    assert fix_texts({"a": SourceText("a", "x")}, look, unsafe=False).texts["a"].text == "a"


def repaired(text: str, written: str, fields: tuple[str, ...], partner: str | None) -> tuple[str, list[str]]:
    """A YAML after the fix of a finding about `fields`, which writes `written` over the line of rms_norm_eps."""
    number = next(at for at, line in enumerate(text.split("\n"), 1) if "rms_norm_eps: 1.0e-5" in line)
    span = Span(number, 1, number, len(text.split("\n")[number - 1]) + 1)
    fix = Fix("safe", "", "", (Edit("b.yaml", span, f"    {written}"),))
    wrong = Diagnostic(Kind("BAD001", "bad", "error", "", ""), "b.yaml", None, (), (), fields, fix)

    def look(texts: Mapping[str, SourceText], _tries_fixes: bool) -> LintedTexts:
        files = [texts["b.yaml"], *([] if partner is None else [SourceText("a.sh", partner)])]
        recipes = [recipe_of(config_of(file, ReadOptions(), path=file.name)) for file in files]
        return LintedTexts([wrong] if "rms_norm_eps: 1.0e-5" in texts["b.yaml"].text else [], [recipes])

    done = fix_texts({"b.yaml": SourceText("b.yaml", text)}, look, unsafe=False)
    return done.texts["b.yaml"].text, [one.kind.code for one in done.undone]


@pytest.mark.parametrize(
    ("written", "fields", "with_partner", "is_made"),
    [
        ("rms_norm_eps: 1.0e-6", ("norm.epsilon",), True, True),
        ("rms_norm_eps: 1.0e-6\n    hidden_dropout: 0.2", ("norm.epsilon",), True, False),
        ("rms_norm_eps: 1.0e-6\n    hidden_dropout: 0.2", ("norm.epsilon", "model.hidden_dropout"), True, True),
        # what the fix changes besides was wrong, and is now as the partner has it
        ("rms_norm_eps: 1.0e-6\n    rope_theta: 1000000.0", ("norm.epsilon",), True, True),
        ("rms_norm_eps: 1.0e-6\n    rope_theta: 1000000.0", ("norm.epsilon",), False, False),
        # a finding that names no field is about the line that it mends
        ("rms_norm_eps: 1.0e-6", (), False, True),
    ],
)
def test_a_fix_changes_no_other_field(written: str, fields: tuple[str, ...], with_partner: bool, is_made: bool) -> None:
    text = (EXAMPLE / "mindformers.yaml").read_text("utf-8")
    text = text.replace("    rope_theta: 1000000.0\n", "").replace("    hidden_dropout: 0.0\n", "")
    text = text.replace("rms_norm_eps: 1.0e-6", "rms_norm_eps: 1.0e-5")
    script = (EXAMPLE / "megatron.sh").read_text("utf-8") if with_partner else None
    after, undone = repaired(text, written, fields, script)
    assert repaired(text.replace("seed: 1234", "seed: ${SEED}"), written, fields, script)[1] == undone
    assert ((after != text), undone) == (is_made, [] if is_made else ["BAD001"])


def looking(texts: Mapping[str, SourceText], tries_fixes: bool = True) -> LintedTexts:
    """What the linter sees in a pair."""
    found = lint(SETTINGS._replace(tries_fixes=tries_fixes), list(texts), Reader(None, texts), with_subjects=True)
    return LintedTexts(found.diagnostics, [[side.recipe for side in subject.sides] for subject in found.subjects])


def is_at_its_end(seed: int) -> None:
    texts = {name: SourceText(name, text) for name, text in planted_pair(Random(seed), most=8).items()}
    safe = fix_texts(texts, looking, unsafe=False)
    ends = [fix_texts(texts, looking, unsafe=True), fix_texts(safe.texts, looking, unsafe=True)]
    for unsafe, done in ((False, safe), *((True, end) for end in ends)):
        assert done.converged
        again = fix_texts(done.texts, looking, unsafe=unsafe)
        assert again.fixed == ()
        assert [one.mark for one in again.undone] == [one.mark for one in done.undone]
    assert {name: one.text for name, one in ends[0].texts.items()} == {
        name: one.text for name, one in ends[1].texts.items()
    }


@pytest.mark.parametrize("seed", range(3))
def test_one_run_reaches_the_end(seed: int) -> None:
    is_at_its_end(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 80))
def test_one_run_reaches_the_end_of_many(seed: int) -> None:
    is_at_its_end(seed)
