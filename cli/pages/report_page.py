"""The page of `accmap report`: the two files, what was found of them, their fields and their learning rates.

It holds no script and loads nothing. Whatever stands in a file is written as text.
"""

from __future__ import annotations

from accmap import __version__

from ...schemas.border.text_output import markup, shell_word
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.wording import in_brackets, list_words, mark, term
from ..commands.diff import origin_text, row_name, totals, value_text
from ..lint_formats.following import follower_count, group_by_cause
from ..lint_formats.messages_compiled import say as lint_words
from ..lint_formats.places import place_of, summary_line
from ..lint_formats.ranking import GROUPS, REMARK, group_name, group_of, harm
from ..lint_formats.text import frame
from ..messages_compiled import say
from ..terminal import shorten
from ..undecided_fields import open_lines
from .curve_page import notes
from .curve_svg import curve_svg
from .page_shell import bullets, document, page_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from ...mapper.comparison import Comparison
    from ...mapper.differences import Difference, Found
    from ...schemas.config import Config
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.source import Span
    from ..linting.linter import Report
    from ..messages_compiled import ReportWords
    from .curve_report import Report as Curves

Rates: TypeAlias = "Curves | list[str]"
"""Two curves, or why there are none."""

_ALWAYS = ("stops", "numbers", "depends")
"""Of these it is said, too, that there is none."""
_LONGEST = 300
"""Characters of a value; a pattern of layers is longer."""
_POLICY = """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">\n"""


class Pair(NamedTuple):
    """What is known of two files."""

    configs: Sequence[Config]
    findings: Report
    fields: Comparison
    rates: Rates

    @property
    def files(self) -> list[str]:
        """Their names."""
        return [config.file for config in self.configs]


def web_page(pair: Pair, language: Language) -> str:
    """The page."""
    word = say.page("report", language)
    names = dict.fromkeys(name.rpartition("/")[2] for name in pair.files)
    title = word("title", " · ".join(names if len(names) > 1 else pair.files))
    heads, follow = group_by_cause(pair.findings.diagnostics)
    groups = _group_findings(heads, follow, pair.files)
    parts = [
        f"<h1>{markup(title)}</h1>\n",
        _verdict(pair, groups, language),
        _basis(pair.configs, word, language),
        _limits(pair, word, language),
        _findings(pair.findings, groups, word, language),
        _fields(pair.fields, word, language),
        _curves(pair.rates, word),
        _equal(pair.fields.rows, word, language),
        f"<footer>{markup(word('made', __version__))}</footer>\n",
    ]
    return document(title, language, page_file("report_page.css"), "".join(parts), head=_POLICY)


_Grouped: TypeAlias = "Mapping[str, Sequence[tuple[Diagnostic, Sequence[Diagnostic]]]]"


def _group_findings(
    heads: Sequence[Diagnostic], follow: Mapping[int, Sequence[Diagnostic]], files: Sequence[str]
) -> _Grouped:
    """The findings of each group by their place, with what follows from them."""
    order = {file: number for number, file in reversed(list(enumerate(files)))}

    def place(number: int) -> tuple[int, str, tuple[int, int]]:
        entry = heads[number]
        at = (0, 0) if entry.span is None else (entry.span.line, entry.span.column)
        return order.get(entry.file, len(order)), entry.file, at

    groups: dict[str, list[tuple[Diagnostic, Sequence[Diagnostic]]]] = {group: [] for group in (*GROUPS, REMARK)}
    for number in sorted(range(len(heads)), key=place):
        groups[group_of(heads[number])].append((heads[number], sorted(follow.get(number, ()), key=harm)))
    return groups


def _verdict(pair: Pair, groups: _Grouped, language: Language) -> str:
    """What was found, in a sentence, and what the two comparisons came to."""
    word: Callable[..., str] = say.page("report", language)
    counts = {group: len(found) for group, found in groups.items()}
    said = [word(group, count) for group, count in counts.items() if count or group in _ALWAYS]
    if pair.findings.suppressed:
        said.append(word("suppressed", pair.findings.suppressed))
    verdict, rates = pair.fields.verdict, pair.rates
    curves = list_words([word("undrawn"), *rates], language, "sentence") if isinstance(rates, list) else rates.summary
    of_fields: Callable[..., str] = say.page("diff", language)
    how_many = in_brackets(totals(pair.fields, language), language)
    gist = [
        f"{word('compared')}{mark('colon', language)}{of_fields(verdict)}{how_many}",
        f"{word('rates')}{mark('colon', language)}{curves}",
    ]
    if not pair.findings.pairs:
        gist.insert(0, word("alone"))
    bad = counts["stops"] or counts["numbers"] or verdict == "different"
    sentence = list_words(said, language, "semicolon") + mark("stop", language)
    return f'<p class="answer{" bad" if bad else ""}">{markup(sentence)}</p>\n{bullets(gist)}'


def _basis(configs: Sequence[Config], word: ReportWords, language: Language) -> str:
    """The two files, and the version that is known of each."""
    rows = ""
    for letter, config in zip("AB", configs, strict=True):
        basis = config.basis
        purpose = "" if basis.purpose is None else f"<br>{markup(basis.purpose.problem.message(language))}"
        rows += f"<tr><td>{letter}</td><td><code>{markup(config.file)}</code></td>"
        rows += f"<td>{markup(basis.text(language))}{purpose}</td></tr>\n"
    return _table("files", ("", word("file"), word("version")), rows)


def _limits(pair: Pair, word: ReportWords, language: Language) -> str:
    """What a page made by reading cannot show, and what shows it."""
    runs = all(config.framework != "huggingface" for config in pair.configs)
    verify = " ".join(("accmap verify", *map(shell_word, pair.files if runs else ())))
    said = f"{markup(word('limits'))} <code>{markup(verify)}</code>"
    left = bullets(one.text(language) for one in pair.fields.unseen)
    return f'<p class="limits">{said}</p>\n{left}'


def _findings(report: Report, groups: _Grouped, word: ReportWords, language: Language) -> str:
    """Every finding: what stops a run first, the remarks folded at the end."""
    parts = [
        f"<h2>{markup(word('findings'))}</h2>\n",
        _note(summary_line(report._replace(shows_remarks=True), language)),
    ]
    if not report.diagnostics:
        parts.append(_note(word("none")))
    for group, found in groups.items():
        told = "".join(_finding_html(entry, more, report, language) for entry, more in found)
        name = lint_words.remarks() if group == REMARK else group_name(group)
        title = lint_words.counted(what=name, number=len(found)).text(language)
        if found and group == REMARK:
            parts.append(_details(title, told))
        elif found:
            parts.append(f'<h3 class="{group}">{markup(title)}</h3>\n{told}')
    return "".join(parts)


def _finding_html(entry: Diagnostic, more: Sequence[Diagnostic], report: Report, language: Language) -> str:
    """One finding: its sentence, its places with their lines, how it is mended, and what follows from it."""
    places = _place(entry.file, entry.span, "", report)
    for number, place in enumerate(entry.related):
        note = place.zh if language == "zh" else place.en
        places += _place(place.file, place.span, note, None if number else report)
    fix = follows = ""
    if entry.fix is not None:
        name = lint_words.fix() if entry.fix.applicability == "safe" else lint_words.unsafe_fix()
        text = entry.fix.zh if language == "zh" else entry.fix.en
        fix = f'<p class="fix"><b>{markup(name.text(language))}</b>{mark("colon", language)}{markup(text)}</p>\n'
    if more:
        items = "".join(f"<li>{_brief(one, language)}</li>\n" for one in more)
        follows = _details(follower_count(entry, more, language), f"<ul>{items}</ul>\n")
    head = f"{_code(entry)} {markup(entry.kind.name)} <small>{markup(term(entry.kind.severity, language))}</small>"
    said = markup(entry.message(language))
    return f"<article>\n<h4>{head}</h4>\n<p>{said}</p>\n<ul>{places}</ul>\n{fix}{follows}</article>\n"


def _brief(entry: Diagnostic, language: Language) -> str:
    """A finding that follows from another one."""
    place = markup(place_of(entry.file, entry.span))
    return f"{_code(entry)} <code>{place}</code>{mark('colon', language)}{markup(entry.message(language))}"


def _code(entry: Diagnostic) -> str:
    """The code, which leads to the page of its rule."""
    return f'<a href="{markup(entry.url)}" rel="noreferrer">{markup(entry.kind.code)}</a>'


def _place(file: str, span: Span | None, note: str, report: Report | None) -> str:
    """A place, with its line where the report that holds the text is given."""
    found = () if report is None else frame(file, span, report, False, "")
    lines = "\n".join(markup(line.removeprefix("  ")) for line in found)
    shown = f"<pre>{lines}</pre>" if lines else ""
    return f"<li><code>{markup(place_of(file, span))}</code> {markup(note)}{shown}</li>\n"


def _fields(found: Comparison, word: ReportWords, language: Language) -> str:
    """What differs or stands on one side alone, as `diff` says it; what changes nothing is folded."""
    rows = [row for row in found.rows if row.status != "equal"]
    telling = [row for row in rows if row.impact != "none"]
    harmless = [row for row in rows if row.impact == "none"]
    parts = [f"<h2>{markup(word('fields'))}</h2>\n", _note(totals(found, language))]
    parts.append(_rows(telling, word, language))
    parts.append(bullets(open_lines(found.reasons, language)))
    if harmless:
        parts.append(_details(word("harmless", len(harmless)), _rows(harmless, word, language)))
    return "".join(parts)


def _equal(rows: Iterable[Difference], word: ReportWords, language: Language) -> str:
    """The effective values of which both files say the same."""
    equal = [row for row in rows if row.status == "equal"]
    return _details(word("equal", len(equal)), _rows(equal, word, language)) if equal else ""


def _rows(rows: Sequence[Difference], word: ReportWords, language: Language) -> str:
    if not rows:
        return ""
    status: Callable[..., str] = say.page("diff_status", language)
    impact: Callable[..., str] = say.page("impact", language)
    body = "".join(
        f"<tr><td><code>{markup(row_name(row))}</code></td>{_cell('A', row, row.a, language)}"
        f"{_cell('B', row, row.b, language)}<td>{markup(status(row.status))}"
        f"<small>{markup(impact(row.impact))}</small></td></tr>\n"
        for row in rows
    )
    return _table("fields", (word("field"), "A", "B", word("status")), body)


def _cell(letter: str, row: Difference, side: Found | None, language: Language) -> str:
    """What one file says of a field, and where it comes from."""
    if side is None:
        return f'<td data-side="{letter}">–</td>'
    value = markup(shorten(value_text(row_name(row), side, language), _LONGEST))
    return f'<td data-side="{letter}"><code>{value}</code><small>{markup(origin_text(side, language))}</small></td>'


def _curves(rates: Rates, word: ReportWords) -> str:
    """Both learning rates in one picture, or why there is none."""
    title = f"<h2>{markup(word('rates'))}</h2>\n"
    if isinstance(rates, list):
        return f"{title}{_note(word('undrawn'))}{bullets(rates)}"
    return f'{title}<figure class="sheet">\n{curve_svg(rates)}</figure>\n{bullets(notes(rates))}'


def _note(text: str) -> str:
    return f"<p>{markup(text)}</p>\n"


def _details(title: str, body: str) -> str:
    return f"<details><summary>{markup(title)}</summary>\n{body}</details>\n"


def _table(kind: str, heads: Iterable[str], rows: str) -> str:
    head = "".join(f"<th>{markup(text)}</th>" for text in heads)
    table = f'<table class="{kind}"><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>'
    return f'<div class="sheet">{table}</div>\n'
