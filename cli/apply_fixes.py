"""`accmap lint --fix` and `--diff`: apply fixes until nothing is left to fix, and show or write the result."""

from __future__ import annotations

from ..schemas.border.file_output import rewrite
from ..schemas.border.text_output import emit, tell, trust_text, visible
from ..schemas.fast_records import TYPE_CHECKING
from .linting.linter import lint
from .linting.settings import Reader
from .messages_compiled import say as usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..schemas.border.text_output import Outgoing
    from ..schemas.diagnostic import Language
    from ..schemas.source import SourceText
    from .linting.linter import Report
    from .linting.settings import Settings


def mend_files(
    settings: Settings,
    files: Sequence[str],
    stdin_name: str | None,
    language: Language,
    *,
    unsafe: bool,
    write: bool,
    show: Callable[[Outgoing], None] = emit,
) -> tuple[Reader, Report]:
    """Fix the files (or show what would change), and lint what came out."""
    from ..rules.fixes import Seen, mend

    encoding = settings.options.encoding
    first = Reader(stdin_name, encoding=encoding)
    report = lint(settings, files, first)
    names = [first.stdin_name or "<stdin>" if name == "-" else name for name in files]

    def look(texts: Mapping[str, SourceText]) -> Seen:
        found = lint(settings, names, Reader(stdin_name, texts, encoding=encoding), with_subjects=True)
        return Seen(found.diagnostics, [[side.recipe for side in subject.sides] for subject in found.subjects])

    original = dict(report.sources)
    mended = mend(original, look, unsafe=unsafe)
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
    told = [usage.fix_not_made(code=entry.kind.code, place=entry.place) for entry in mended.undone]
    if not mended.converged:
        told.append(usage.fixes_undo_one_another())
    if mended.fixed and write:
        told.append(usage.fixed(count=len(mended.fixed)))
    for sentence in told:
        tell(f"accmap: {sentence.text(language)}")
    last = Reader(stdin_name, mended.texts, encoding=encoding)
    return last, lint(settings, names, last, with_subjects=True)


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
