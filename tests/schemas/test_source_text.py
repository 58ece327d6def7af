"""Offsets into a text as lines and columns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from accmap.schemas.source import SourceText, Span


@given(st.text(alphabet="ab\n\r\u2028é", max_size=30), st.data())
def test_a_span_is_its_two_positions(text: str, data: st.DataObject) -> None:
    source = SourceText("x", text)
    start, end = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))

    def position(offset: int) -> tuple[int, int]:
        before = text[:offset]
        return before.count("\n") + 1, offset - before.rfind("\n")

    assert source.span(start, end) == Span(*position(start), *position(end))
    assert source.line_count == text.count("\n") + 1
