"""`accmap lint --fix` and `--diff`: apply fixes until nothing is left to fix, and show or write the result."""

from __future__ import annotations

import sys

from ..schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..schemas.diagnostic import Diagnostic, Language
    from ..schemas.source import SourceText
    from .lint import Reader, Report, Settings


def mend_files(
    settings: Settings, files: Sequence[str], stdin_name: str | None, language: Language, *, unsafe: bool, write: bool
) -> tuple[Reader, Report]:
    """Fix the files (or print what would change), and lint what came out."""
    from ..rules.fixes import mend
    from .lint import Reader, lint

    first = Reader(stdin_name)
    report = lint(settings, files, first)
    names = [first.stdin_name or "<stdin>" if name == "-" else name for name in files]

    def find(texts: Mapping[str, SourceText]) -> Sequence[Diagnostic]:
        return lint(settings, names, Reader(stdin_name, texts)).diagnostics

    original = dict(report.sources)
    mended = mend(original, find, unsafe=unsafe)
    for name, source in mended.texts.items():
        before = original[name]
        if source.text == before.text:
            continue
        if write:
            _write(name, source.text)
        else:
            sys.stdout.write(difference(name, before.text, source.text))
    if not mended.converged:
        text = (
            "不同规则的修复相互抵消；保留最后的状态"
            if language == "zh"
            else "fixes of different rules undo one another; the last state is kept"
        )
        print(f"accmap: {text}", file=sys.stderr)
    if mended.fixed and write:
        count = len(mended.fixed)
        print(f"accmap: 已修复 {count} 处" if language == "zh" else f"accmap: fixed {count}", file=sys.stderr)
    last = Reader(stdin_name, mended.texts)
    return last, lint(settings, names, last, with_subjects=True)


def difference(name: str, before: str, after: str) -> str:
    """A unified diff."""
    from difflib import unified_diff

    lines = unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _write(name: str, text: str) -> None:
    """Write a file as it was encoded, in one step."""
    import os

    with open(name, "rb") as stream:
        mark = b"\xef\xbb\xbf" if stream.read(3) == b"\xef\xbb\xbf" else b""
    target = os.path.realpath(name)
    temporary = f"{target}.accmap-{os.getpid()}"
    try:
        with open(temporary, "wb") as stream:
            stream.write(mark + text.encode("utf-8"))
        os.chmod(temporary, os.stat(target).st_mode)
        os.replace(temporary, target)
    except OSError as error:
        from ..schemas.system_reasons import system_reason
        from .parsing import UsageError

        if os.path.exists(temporary):
            os.unlink(temporary)
        why, why_zh = system_reason(error)
        raise UsageError(f"{name} cannot be written: {why}", f"无法写入 {name}：{why_zh}") from None
