"""Sets of versions as the authored facts and tables write them: `0.13`, `0.14-`, `-0.15`, `0.13-0.16, 0.18`."""

from __future__ import annotations

from .fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def versions_in(text: str, order: Sequence[str]) -> tuple[str, ...]:
    """The versions that a text means, of those there are; ValueError where it names another."""
    chosen: set[str] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        unknown = {first, last} - {"", *order}
        if unknown:
            raise ValueError(f"{text!r}: there is no version {unknown.pop()}")
        start = order.index(first) if first else 0
        end = order.index(last) if last else len(order) - 1 if dash else start
        if end < start:
            raise ValueError(f"{text!r}: {last} comes before {first}")
        chosen.update(order[start : end + 1])
    return tuple(version for version in order if version in chosen)


def text_of(versions: Collection[str], order: Sequence[str]) -> str:
    """The shortest text that means these versions; what holds in the newest one is left open, as it may go on."""
    parts: list[str] = []
    at = 0
    while at < len(order):
        start = at
        while at < len(order) and order[at] in versions:
            at += 1
        if at > start:
            first, last = order[start], order[at - 1]
            parts.append(f"{first}-" if at == len(order) else first if first == last else f"{first}-{last}")
        at += 1
    return ", ".join(parts)
