"""How places and totals are spelled, in every format."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language
    from ...schemas.source import Span
    from ..linting import Report


def place_of(file: str, span: Span | None) -> str:
    """file:line:column."""
    return file if span is None else f"{file}:{span.line}:{span.column}"


def summary_line(report: Report, language: Language) -> str:
    """One line that counts."""
    counts = report.counts()
    profile, configuration = report.settings
    if language == "zh":
        parts = [
            f"{counts['error']} 个错误",
            f"{counts['warning']} 个警告",
            _remarks(counts["info"], report.shows_remarks, zh=True),
        ]
        tail = f"，已忽略 {report.suppressed} 条" if report.suppressed else ""
        read = _versions(report, language)
        counted = f"{'、'.join(parts)}{tail}（{len(report.files)} 个文件，{len(report.pairs)} 对{read}）"
        return f"{counted}；用途 {profile}" + (f"，来自 {configuration}" if configuration else "")
    parts = [
        _many(counts["error"], "error"),
        _many(counts["warning"], "warning"),
        _remarks(counts["info"], report.shows_remarks),
    ]
    tail = f", {report.suppressed} suppressed" if report.suppressed else ""
    files, pairs, read = _many(len(report.files), "file"), _many(len(report.pairs), "pair"), _versions(report, language)
    counted = f"{', '.join(parts)}{tail} in {files} ({pairs}{read})"
    return f"{counted}; profile {profile}" + (f", configuration {configuration}" if configuration else "")


def _remarks(count: int, shown: bool, *, zh: bool = False) -> str:
    hint = "" if shown or not count else "（--remarks 显示）" if zh else " (--remarks)"
    return f"{count} 条提示{hint}" if zh else f"{_many(count, 'remark')}{hint}"


def _versions(report: Report, language: Language) -> str:
    """The versions whose facts were used, each once, and whether each was given, detected or assumed."""
    shown: dict[str, None] = {}
    for _file, basis in report.versions:
        if basis.purpose is None or basis.purpose.trains_gpt:
            shown[basis.name(language)] = None
    comma, colon = ("，", "；") if language == "zh" else (", ", "; ")
    return f"{colon}{comma.join(shown)}" if shown else ""


def _many(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
