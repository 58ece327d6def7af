"""A finding is said once."""

from __future__ import annotations

from accmap.schemas.diagnostic import Diagnostic, Kind, deduplicate
from accmap.schemas.source import Span

KIND = Kind("SYN001", "x", "error", "it is {what}", "{what}")


def _found(what: str, line: int | None = 1, file: str = "a", other: int = 0) -> Diagnostic:
    span = None if line is None else Span(line, 1, line, 2)
    return Diagnostic(KIND, file, span, (("what", what), ("other", other)))


def test_code_file_place_and_sentence_make_a_finding() -> None:
    first, again, unlike = _found("a"), _found("a", other=1), _found("b")
    elsewhere, nowhere, there = _found("a", 2), _found("a", None), _found("a", file="b")
    found = [first, again, unlike, elsewhere, nowhere, there, unlike, first, nowhere]
    assert deduplicate(found) == [first, unlike, elsewhere, nowhere, there]
