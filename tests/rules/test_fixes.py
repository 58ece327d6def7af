"""A fix stays only where its finding is gone and no other error or warning has come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accmap.rules.fixes import mend
from accmap.schemas.diagnostic import Diagnostic, Edit, Fix, Kind
from accmap.schemas.source import SourceText, Span

if TYPE_CHECKING:
    from collections.abc import Mapping


def finding(code: str, line: int = 0, text: str = "", severity: str = "error") -> Diagnostic:
    kind = Kind(code, code.lower(), severity, code, code)
    fix = None
    if line:
        span = Span(line, 1, line, 2)
        fix = Fix("safe", text, text, (Edit("a", span, text),))
    return Diagnostic(kind, "a", None, (), (), (code,), fix)


def mended(text: str, rules: dict[str, tuple[int, str]], comes: dict[str, str]) -> tuple[str, list[str], list[str]]:
    """`rules`: the fix of each wrong letter (line, new letter); `comes`: the finding that a letter brings."""

    def find(texts: Mapping[str, SourceText]) -> list[Diagnostic]:
        letters = texts["a"].text.split("\n")
        found = [finding(f"BAD{letter}", *fix) for letter, fix in rules.items() if letters[fix[0] - 1] == letter]
        return found + [finding(code) for letter, code in comes.items() if letter in letters]

    done = mend({"a": SourceText("a", text)}, find, unsafe=False)
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


def test_a_remark_may_come() -> None:
    def find(texts: Mapping[str, SourceText]) -> list[Diagnostic]:
        return [finding("BADx", 1, "a")] if texts["a"].text == "x" else [finding("SAID", severity="info")]

    assert mend({"a": SourceText("a", "x")}, find, unsafe=False).texts["a"].text == "a"
