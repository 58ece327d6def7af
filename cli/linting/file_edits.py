"""`accmap lint --fix` and `--diff`: apply fixes until nothing is left to fix, and show or write the result."""

from __future__ import annotations

from ...schemas.border.file_output import rewrite
from ...schemas.border.text_output import emit, tell, trust_text, visible
from ...schemas.fast_records import TYPE_CHECKING
from ..exit_codes import FINE, UNUSABLE
from ..messages_compiled import say
from ..messages_compiled import say as usage
from .linter import lint
from .settings import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.source import SourceText
    from .linter import Report
    from .settings import Settings


def fix_files(
    settings: Settings,
    files: Sequence[str],
    stdin_name: str | None,
    language: Language,
    *,
    unsafe: bool,
    write: bool,
    show: Callable[[Outgoing], None] = emit,
) -> Report:
    """Fix the files (or show what would change), and lint what came out."""
    from ...rules.fixes import LintedTexts, divide_offered, fix_texts

    encoding = settings.options.encoding
    first = Reader(stdin_name, encoding=encoding)
    report = lint(settings._replace(tries_fixes=False), files, first)
    offered: list[Diagnostic] = []
    names = [first.stdin_name or "<stdin>" if name == "-" else name for name in files]

    def look(texts: Mapping[str, SourceText], tries_fixes: bool) -> LintedTexts:
        asked = settings._replace(tries_fixes=tries_fixes and settings.tries_fixes)
        found = lint(asked, names, Reader(stdin_name, texts, encoding=encoding), with_subjects=True)
        if not offered:  # the first look tries the fixes of the files as they are
            offered.extend(found.diagnostics)
        return LintedTexts(found.diagnostics, [[side.recipe for side in subject.sides] for subject in found.subjects])

    original = dict(report.sources)
    mended = fix_texts(original, look, unsafe=unsafe)
    changes: list[Outgoing] = []
    for name, source in mended.texts.items():
        before = original[name]
        if source.text == before.text:
            continue
        if write:
            rewrite(before, source.text)
        else:
            changes.append(difference(name, before.text, source.text))
    if not write:
        show(trust_text("".join(changes)))
    gone, kept = divide_offered(offered, mended, unsafe=unsafe)
    told = [usage.fix_not_made(code=entry.kind.code, place=entry.place) for entry in kept]
    if not mended.converged:
        told.append(usage.fixes_undo_one_another())
    if mended.fixed:
        told.append(usage.fixed(count=len(gone)) if write else usage.would_fix(count=len(gone)))
    for sentence in told:
        tell(f"accmap: {sentence.text(language)}")
    after = lint(settings, names, Reader(stdin_name, mended.texts, encoding=encoding), with_subjects=True)
    return _drop_refused(after, unsafe=unsafe) if mended.converged else after


def _drop_refused(report: Report, *, unsafe: bool) -> Report:
    """The report without the fixes that were asked for and not made: to run again makes none of them."""
    kept = [
        entry._replace(fix=None) if entry.fix is not None and (unsafe or entry.fix.applicability == "safe") else entry
        for entry in report.diagnostics
    ]
    return report._replace(diagnostics=tuple(kept))


def difference(name: str, before: str, after: str) -> Outgoing:
    """A unified diff; the carriage return that ends a line stays, so that the patch fits."""
    from difflib import unified_diff

    lines: list[str] = []
    # Names as in `git diff`, for `patch -p1` in the current folder; a whole path stays one, for `patch -p0`.
    from_name, to_name = (name, name) if name.startswith("/") else (f"a/{name}", f"b/{name}")
    for line in unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), from_name, to_name):
        text = line.rstrip("\r\n")
        ending = line[len(text) :]
        lines.append(visible(text) + (ending or "\n\\ No newline at end of file\n"))
    return trust_text("".join(lines))


_WHOLE = 0
"""The place of a comment that is about the whole file."""


def add_comments(report: Report, language: Language) -> int:
    """One comment a line with findings, above a command or a text that goes on; one a file for what has no line."""
    from ...rules.suppressions import lines_inside

    inside: dict[str, frozenset[int]] = {}
    wanted: dict[str, dict[int, list[str]]] = {}
    for entry in report.diagnostics:
        source = report.sources.get(entry.file)
        if source is None:
            continue
        if entry.file not in inside:
            inside[entry.file] = lines_inside(source)
        codes = wanted.setdefault(entry.file, {}).setdefault(_line_for(entry, source, inside[entry.file]), [])
        if entry.kind.code not in codes:
            codes.append(entry.kind.code)
    for file, places in wanted.items():
        rewrite(report.sources[file], _with_comments(report.sources[file], places))
    count = sum(len(places) for places in wanted.values())
    tell((say.added_one_comment if count == 1 else say.added_comments)(count=count).text(language))
    return UNUSABLE if report.unreadable else FINE


def comment_for(entry: Diagnostic, source: SourceText) -> tuple[int, str]:
    """A comment that silences one finding, and the line, counted from 1, that it is put above."""
    from ...rules.suppressions import lines_inside

    return _suppression_line(source.text.split("\n"), _line_for(entry, source, lines_inside(source)), [entry.kind.code])


def _line_for(entry: Diagnostic, source: SourceText, inside: frozenset[int]) -> int:
    from ...rules.suppressions import first_line

    line = _WHOLE if entry.span is None else first_line(source, entry.span.line, inside)
    # Nothing may stand above the line that names the shell.
    return _WHOLE if line == 1 and source.text.startswith("#!") else line


def _suppression_line(lines: Sequence[str], number: int, codes: Sequence[str]) -> tuple[int, str]:
    listed = ", ".join(codes)
    if number == _WHOLE:
        return 1 + lines[0].startswith("#!"), f"# accmap: ignore-file[{listed}]"
    line = lines[number - 1]
    return number, f"{line[: len(line) - len(line.lstrip())]}# accmap: ignore[{listed}]"


def _with_comments(source: SourceText, places: dict[int, list[str]]) -> str:
    ending = "\r" if "\r\n" in source.text else ""
    lines = source.text.split("\n")
    for number in sorted(places, reverse=True):
        above, comment = _suppression_line(lines, number, places[number])
        lines.insert(above - 1, comment + ending)
    return "\n".join(lines)
