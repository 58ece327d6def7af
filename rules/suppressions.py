"""Comments that silence findings: `# accmap: ignore[CODE] reason` in a script or a YAML.

On a line with something else the comment covers that line. On a line of its own it covers the line below, with all
its continuation lines and those of a text that begins there, because no comment can stand inside either.
`ignore-file` covers the file. No code means every code. A comment that silences nothing is itself a finding.
"""

from __future__ import annotations

from ..schemas.diagnostic import diagnose
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.source import Span
from .messages_compiled import say
from .text_lines import last_line, lines_inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..schemas.diagnostic import Diagnostic
    from ..schemas.source import SourceText

_WORD = "accmap:"


class Suppression(NamedTuple):
    """One comment: the lines it covers (none for the whole file) and the codes it silences (none for all)."""

    file: str
    span: Span
    codes: tuple[str, ...]
    first: int | None
    last: int | None

    def covers(self, code: str, file: str, span: Span | None) -> bool:
        """Whether a finding with this code and place is meant."""
        if file != self.file or (self.codes and not any(code.startswith(prefix) for prefix in self.codes)):
            return False
        if self.first is None or self.last is None:
            return True
        return span is not None and span.line <= self.last and span.end_line >= self.first


def suppressions_in(source: SourceText) -> list[Suppression]:
    """Every such comment of a file."""
    if _WORD not in source.text:
        return []
    import re

    inside = lines_inside(source)
    pattern = re.compile(r"#\s*accmap:\s*(ignore-file|ignore)(?:\[([^\]]*)\])?")
    found: list[Suppression] = []
    for number in range(1, source.line_count + 1):
        line = source.line(number)
        match = pattern.search(line) if _WORD in line else None
        if match is None or number in inside:
            continue
        codes = tuple(code.strip() for code in (match[2] or "").split(",") if code.strip())
        first, last = (
            (None, None)
            if match[1] == "ignore-file"
            else _lines(source, number, inside, alone=not line[: match.start()].strip())
        )
        span = Span(number, match.start() + 1, number, match.end() + 1)
        found.append(Suppression(source.name, span, codes, first, last))
    return found


def _lines(source: SourceText, number: int, inside: frozenset[int], *, alone: bool) -> tuple[int, int]:
    if not alone:
        return number, number
    first = number + 1
    while first < source.line_count and source.line(first).lstrip().startswith("#"):
        first += 1  # several comments may stand above one line
    return number, last_line(source, first, inside)


def silence(
    diagnostics: Sequence[Diagnostic], comments: Sequence[Suppression], known: Iterable[str]
) -> tuple[list[Diagnostic], int]:
    """The findings that remain, with one for each comment that silences nothing, and how many were silenced."""
    if not comments:
        return list(diagnostics), 0
    used: set[Suppression] = set()
    kept: list[Diagnostic] = []
    for entry in diagnostics:
        fitting = [comment for comment in comments if _silences(comment, entry)]
        used.update(fitting)
        if not fitting:
            kept.append(entry)
    kept.extend(_complaints(comments, used, frozenset(known)))
    return kept, len(diagnostics) - len(kept) + sum(1 for _ in _complaints(comments, used, frozenset(known)))


def _silences(comment: Suppression, entry: Diagnostic) -> bool:
    code = entry.kind.code
    places = [(entry.file, entry.span), *((place.file, place.span) for place in entry.related)]
    return any(comment.covers(code, file, span) for file, span in places)


def _complaints(comments: Sequence[Suppression], used: set[Suppression], known: frozenset[str]) -> Iterator[Diagnostic]:
    from ..schemas.suggestion import suggestion

    for comment in comments:
        wrong = [code for code in comment.codes if not any(name.startswith(code) for name in known)]
        for code in wrong:
            problem = say.unknown_code(code=code, suggestion=suggestion(code, known))
            yield diagnose(problem, comment.file, comment.span)
        if comment not in used and not wrong:
            problem = say.unused_ignore(codes=", ".join(comment.codes) or "everything")
            yield diagnose(problem, comment.file, comment.span)
