"""Findings that a project has accepted for now, matched by what stands in the file, not by its line number."""

from __future__ import annotations

from ..schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..schemas.border.outgoing import Outgoing
    from ..schemas.diagnostic import Diagnostic
    from ..schemas.source import SourceText

VERSION = 1


def fingerprint(entry: Diagnostic, sources: Mapping[str, SourceText]) -> str:
    """What a finding is by its content: its code and the text of every line it points to."""
    lines = [_line(entry.file, entry.span, sources)]
    lines += sorted({_line(place.file, place.span, sources) for place in entry.related})
    fields = ",".join(entry.fields)
    return "|".join((entry.kind.code, fields, *lines))


def _line(file: str, span: object, sources: Mapping[str, SourceText]) -> str:
    from ..schemas.source import Span

    name = file.replace("\\", "/").rpartition("/")[2]
    source = sources.get(file)
    if source is None or not isinstance(span, Span) or span.line > source.line_count:
        return name
    if (span.line, span.column) == (span.end_line, span.end_column):
        return name  # a missing key: its section may have grown
    return f"{name}:{' '.join(source.line(span.line).split())}"


def written(entries: Iterable[Diagnostic], sources: Mapping[str, SourceText]) -> Outgoing:
    """A baseline file's text."""
    from ..schemas.border.outgoing import json_text

    counts: dict[str, int] = {}
    for entry in entries:
        mark = fingerprint(entry, sources)
        counts[mark] = counts.get(mark, 0) + 1
    rows = [{"fingerprint": mark, "count": count} for mark, count in sorted(counts.items())]
    return json_text({"version": VERSION, "findings": rows}, 1)


def read(found: object) -> dict[str, int]:
    """The accepted findings of a baseline file; ValueError where it is not one."""
    if not isinstance(found, dict) or found.get("version") != VERSION:  # pyright: ignore[reportUnknownMemberType]
        raise ValueError(f"it is not a baseline of version {VERSION}")
    return {str(row["fingerprint"]): int(row["count"]) for row in found["findings"]}  # pyright: ignore


def without(
    entries: Sequence[Diagnostic], accepted: Mapping[str, int], sources: Mapping[str, SourceText]
) -> tuple[list[Diagnostic], int]:
    """The findings that a baseline does not hold, and how many it holds."""
    left = dict(accepted)
    kept: list[Diagnostic] = []
    for entry in entries:
        mark = fingerprint(entry, sources)
        if left.get(mark, 0) > 0:
            left[mark] -= 1
        else:
            kept.append(entry)
    return kept, len(entries) - len(kept)
