"""Text edits: pieces of a text that are replaced, all at once, with every other character kept."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Edit(NamedTuple):
    """The characters from `start` to `end` become `text`, for the sake of `key`."""

    start: int
    end: int
    text: str
    key: str


def applied(text: str, edits: Sequence[Edit]) -> str | None:
    """The text after all edits, those at one place in their order; None where two of them overlap."""
    newline = "\r\n" if "\r\n" in text else "\n"
    distinct = list(dict.fromkeys((edit.start, edit.end, edit.text) for edit in edits))
    ordered = sorted(distinct, key=lambda edit: (edit[0], edit[1]))
    parts: list[str] = []
    at = 0
    for start, end, new in ordered:
        if start < at:
            return None
        parts += [text[at:start], new.replace("\n", newline)]
        at = end
    return "".join([*parts, text[at:]])
