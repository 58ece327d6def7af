"""`accmap report A B`: one self-contained page about a pair, for those who decide whether it is launched.

It says what `lint`, `diff` and `lr` say of the two files, which are read once, as `lint` reads them. The exit code is
that of `lint`; of two files that `lint` does not compare with each other it is that of `diff`, too.
"""

from __future__ import annotations

from accmap import __version__

from ...mapper.differences import compare
from ...mapper.schedule.curve import UndecidedError
from ...schemas.border.file_output import deliver
from ...schemas.border.text_output import markup, shell_word, trust_text
from ...schemas.diagnostic import UnreadableError, UsageError
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.shared_words import in_brackets, list_words, mark, term
from ..configuration import Configuration, find_configuration
from ..exit_codes import BAD
from ..inputs import SideVersions, description_file, require_run, tell_refusals
from ..lint_formats.findings import (
    ADVICE,
    GROUPS,
    count_phrase,
    follower_count,
    group_by_cause,
    group_of,
    harm,
    place_of,
    summary_line,
)
from ..lint_formats.messages_compiled import say as lint_words
from ..lint_formats.text import frame
from ..linting.file_groups import read_side
from ..linting.linter import lint
from ..linting.settings import Reader, language_for, settings_of, start_of
from ..messages_compiled import say
from ..pages.curve_page import curve_notes, curve_svg
from ..pages.page_shell import bullets, document, page_file
from ..recipe_lines import open_lines
from ..terminal import shorten
from .diff import origin_text, row_name, totals, value_text
from .lint import exit_code, subtract_baseline
from .lr import curves, problem_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from ...mapper.differences import Comparison, Difference, Found
    from ...rules.subject import Side
    from ...schemas.config import Config
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.source import Span
    from ..arguments_compiled import ReportArgs
    from ..linting.linter import Report
    from ..linting.settings import Settings
    from ..messages_compiled import ReportWords
    from ..pages.curve_terminal import Report as Curves

Rates: TypeAlias = "Curves | list[str]"
"""Two curves, or why there are none."""

_ALWAYS = ("stops", "numbers", "depends")
"""Of these it is said, too, that there is none."""
_LONGEST = 300
"""Characters of a value; a pattern of layers is longer."""
_POLICY = """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">\n"""


class ReportPair(NamedTuple):
    """Two files, their findings, fields and rates."""

    configs: Sequence[Config]
    findings: Report
    fields: Comparison
    rates: Rates

    @property
    def files(self) -> list[str]:
        """Their names."""
        return [config.file for config in self.configs]

    @property
    def groups(self) -> _Grouped:
        """The findings of each group by their place, with what follows from them."""
        return _group_findings(*group_by_cause(self.findings.diagnostics), self.files, self.findings)


def web_page(pair: ReportPair, language: Language) -> str:
    """The page."""
    word = say.page("report", language)
    names = dict.fromkeys(name.rpartition("/")[2] for name in pair.files)
    title = word("title", " · ".join(names if len(names) > 1 else pair.files))
    parts = [
        f"<h1>{markup(title)}</h1>\n",
        *(section(pair, language) for section in SECTIONS),
        f"<footer>{markup(word('made', __version__))}</footer>\n",
    ]
    return document(title, language, page_file("report_page.css"), "".join(parts), head=_POLICY)


_Grouped: TypeAlias = "Mapping[str, Sequence[tuple[Diagnostic, Sequence[Diagnostic]]]]"


def _group_findings(
    heads: Sequence[Diagnostic], follow: Mapping[int, Sequence[Diagnostic]], files: Sequence[str], report: Report
) -> _Grouped:
    """The findings of each group by their place, with what follows from them."""
    order = {file: number for number, file in reversed(list(enumerate(files)))}

    def place(number: int) -> tuple[int, str, tuple[int, int]]:
        entry = heads[number]
        at = (0, 0) if entry.span is None else (entry.span.line, entry.span.column)
        return order.get(entry.file, len(order)), entry.file, at

    groups: dict[str, list[tuple[Diagnostic, Sequence[Diagnostic]]]] = {group: [] for group in (*GROUPS, ADVICE)}
    for number in sorted(range(len(heads)), key=place):
        more = sorted(follow.get(number, ()), key=lambda one: harm(one, report))
        groups[group_of(heads[number], report)].append((heads[number], more))
    return groups


def _verdict_html(pair: ReportPair, language: Language) -> str:
    """Summary of the findings in a sentence, and the results of the two comparisons."""
    word: Callable[..., str] = say.page("report", language)
    counts = {group: len(found) for group, found in pair.groups.items()}
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


def _basis_html(pair: ReportPair, language: Language) -> str:
    """The two files, and the version that is known of each."""
    word, rows = say.page("report", language), ""
    for letter, config in zip("AB", pair.configs, strict=True):
        basis = config.basis
        purpose = "" if basis.purpose is None else f"<br>{markup(basis.purpose.problem.message(language))}"
        rows += f"<tr><td>{letter}</td><td><code>{markup(config.file)}</code></td>"
        rows += f"<td>{markup(basis.text(language))}{purpose}</td></tr>\n"
    return _table_html("files", ("", word("file"), word("version")), rows)


def _limits_html(pair: ReportPair, language: Language) -> str:
    """Limits of a page made by reading, and the command that goes beyond them."""
    word = say.page("report", language)
    runs = all(config.framework != "huggingface" for config in pair.configs)
    verify = " ".join(("accmap verify", *map(shell_word, pair.files if runs else ())))
    said = f"{markup(word('limits'))} <code>{markup(verify)}</code>"
    left = bullets(one.text(language) for one in pair.fields.unseen)
    return f'<p class="limits">{said}</p>\n{left}'


def _findings_html(pair: ReportPair, language: Language) -> str:
    """Every finding: what stops a run first, the remarks folded at the end."""
    word, report = say.page("report", language), pair.findings
    parts = [
        f"<h2>{markup(word('findings'))}</h2>\n",
        _note_html(summary_line(report._replace(shows_remarks=True), language)),
    ]
    if not report.diagnostics:
        parts.append(_note_html(word("none")))
    for group, found in pair.groups.items():
        told = "".join(_finding_html(entry, more, report, language) for entry, more in found)
        title = count_phrase(len(found), group, language)
        if found and group == ADVICE:
            parts.append(_details(title, told))
        elif found:
            parts.append(f'<h3 class="{group}">{markup(title)}</h3>\n{told}')
    return "".join(parts)


def _finding_html(entry: Diagnostic, more: Sequence[Diagnostic], report: Report, language: Language) -> str:
    """One finding: its sentence, its places with their lines, how it is mended, and what follows from it."""
    places = _place_html(entry.file, entry.span, "", report)
    for number, place in enumerate(entry.related):
        note = place.zh if language == "zh" else place.en
        places += _place_html(place.file, place.span, note, None if number else report)
    fix = follows = ""
    for one in entry.fixes:
        name = lint_words.fix() if one.applicability == "safe" else lint_words.unsafe_fix()
        text = one.zh if language == "zh" else one.en
        fix += f'<p class="fix"><b>{markup(name.text(language))}</b>{mark("colon", language)}{markup(text)}</p>\n'
    if more:
        items = "".join(f"<li>{_brief_html(one, language)}</li>\n" for one in more)
        follows = _details(follower_count(entry, more, language), f"<ul>{items}</ul>\n")
    head = f"{_code_html(entry)} {markup(entry.kind.name)} <small>{markup(term(entry.kind.severity, language))}</small>"
    said = markup(entry.message(language))
    return f"<article>\n<h4>{head}</h4>\n<p>{said}</p>\n<ul>{places}</ul>\n{fix}{follows}</article>\n"


def _brief_html(entry: Diagnostic, language: Language) -> str:
    """A finding that follows from another one."""
    place = markup(place_of(entry.file, entry.span))
    return f"{_code_html(entry)} <code>{place}</code>{mark('colon', language)}{markup(entry.message(language))}"


def _code_html(entry: Diagnostic) -> str:
    """The code, which leads to the page of its rule."""
    return f'<a href="{markup(entry.url)}" rel="noreferrer">{markup(entry.kind.code)}</a>'


def _place_html(file: str, span: Span | None, note: str, report: Report | None) -> str:
    """A place, with its line where the report that holds the text is given."""
    found = () if report is None else frame(file, span, report, False, "")
    lines = "\n".join(markup(line.removeprefix("  ")) for line in found)
    shown = f"<pre>{lines}</pre>" if lines else ""
    return f"<li><code>{markup(place_of(file, span))}</code> {markup(note)}{shown}</li>\n"


def _fields_html(pair: ReportPair, language: Language) -> str:
    """Fields that differ or that one side has, as `diff` prints them; harmless ones are folded."""
    word, found = say.page("report", language), pair.fields
    rows = [row for row in found.rows if row.status != "equal"]
    telling = [row for row in rows if row.impact != "none"]
    harmless = [row for row in rows if row.impact == "none"]
    parts = [f"<h2>{markup(word('fields'))}</h2>\n", _note_html(totals(found, language))]
    parts.append(_rows_html(telling, word, language))
    parts.append(bullets(open_lines(found.reasons, language)))
    if harmless:
        parts.append(_details(word("harmless", len(harmless)), _rows_html(harmless, word, language)))
    return "".join(parts)


def _equal_html(pair: ReportPair, language: Language) -> str:
    """The effective values of which both files say the same."""
    word = say.page("report", language)
    equal = [row for row in pair.fields.rows if row.status == "equal"]
    return _details(word("equal", len(equal)), _rows_html(equal, word, language)) if equal else ""


def _rows_html(rows: Sequence[Difference], word: ReportWords, language: Language) -> str:
    if not rows:
        return ""
    status: Callable[..., str] = say.page("diff_status", language)
    impact: Callable[..., str] = say.page("impact", language)
    body = "".join(
        f"<tr><td><code>{markup(row_name(row))}</code></td>{_cell_html('A', row, row.a, language)}"
        f"{_cell_html('B', row, row.b, language)}<td>{markup(status(row.status))}"
        f"<small>{markup(impact(row.impact))}</small></td></tr>\n"
        for row in rows
    )
    return _table_html("fields", (word("field"), "A", "B", word("status")), body)


def _cell_html(letter: str, row: Difference, side: Found | None, language: Language) -> str:
    """Value of a field in one file, and its source."""
    if side is None:
        return f'<td data-side="{letter}">–</td>'
    value = markup(shorten(value_text(row_name(row), side, language), _LONGEST))
    return f'<td data-side="{letter}"><code>{value}</code><small>{markup(origin_text(side, language))}</small></td>'


def _curves_html(pair: ReportPair, language: Language) -> str:
    """Both learning rates in one picture, or why there is none."""
    word, rates = say.page("report", language), pair.rates
    title = f"<h2>{markup(word('rates'))}</h2>\n"
    if isinstance(rates, list):
        return f"{title}{_note_html(word('undrawn'))}{bullets(rates)}"
    return f'{title}<figure class="sheet">\n{curve_svg(rates)}</figure>\n{bullets(curve_notes(rates))}'


def _note_html(text: str) -> str:
    return f"<p>{markup(text)}</p>\n"


def _details(title: str, body: str) -> str:
    return f"<details><summary>{markup(title)}</summary>\n{body}</details>\n"


def _table_html(kind: str, heads: Iterable[str], rows: str) -> str:
    head = "".join(f"<th>{markup(text)}</th>" for text in heads)
    table = f'<table class="{kind}"><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>'
    return f'<div class="sheet">{table}</div>\n'


SECTIONS: tuple[Callable[[ReportPair, Language], str], ...] = (
    _verdict_html,
    _basis_html,
    _limits_html,
    _findings_html,
    _fields_html,
    _curves_html,
    _equal_html,
)
"""The sections of a page in their order: each is made of the pair, in a language."""


def run(args: ReportArgs) -> int:
    """Write the page; 1 where a finding is grave enough, or what is compared by its fields alone differs."""
    names = [description_file(name) for name in args.files]
    reader = Reader(args.stdin_filename, encoding=args.reading.encoding)
    found = Configuration()
    if not args.no_config:
        start = start_of(names, args.stdin_filename)
        found = find_configuration(start, given=args.config, confine=args.reading.confine is not None)
    settings = settings_of(found, args.reading, args.profile, (), ())
    language = language_for(found, args.lang, "report")
    versions = SideVersions(args.a_version, args.b_version)
    settings = settings.with_versions(names, versions)
    sides = {name: read_side(name, settings, reader) for name in names}
    versions.require_clear([side.config for side in sides.values()], args.reading)
    for name, side in sides.items():
        versions.require_own(names, name, side.config)
    findings = _findings(sides, settings, reader)
    both = [sides[name] for name in names]
    configs = [side.config for side in both]
    tell_refusals(configs, args.lang)
    fields = compare(configs, [side.recipe for side in both])
    page = web_page(ReportPair(configs, findings, fields, _rates(configs, args.reading.steps, language)), language)
    deliver(trust_text(page), args.output, force=args.force)
    limit = args.fail_on or settings.fail_on
    if limit != "never" and not findings.pairs and fields.verdict != "equal":
        return max(exit_code(findings, limit), BAD)
    return exit_code(findings, limit)


def _findings(sides: Mapping[str, Side], settings: Settings, reader: Reader) -> Report:
    """Findings of `lint` about these two, whatever partners a configuration gives them, less the accepted ones."""
    found = settings.configuration
    alone = settings._replace(configuration=found.without_pairs(), pairs_alike=True)
    report = lint(alone, tuple(sides), reader, sides=sides)
    baseline = settings.baseline(None)
    return report if baseline is None else subtract_baseline(report, baseline)


def _rates(configs: Sequence[Config], steps: int | None, language: Language) -> Rates:
    """Both curves, or why there are none."""
    files = [config.file for config in configs]
    try:
        return curves(files, [require_run(config) for config in configs], steps, language)
    except UndecidedError as error:
        return list(problem_lines(error.problems, files, language))
    except UnreadableError as error:
        return list(problem_lines([error.diagnostic], files, language))
    except UsageError as error:
        return [error.message(language)]
