"""Findings as every format shows them: places, totals, groups, order, and the findings that follow from another."""

from __future__ import annotations

from ...rules.catalog_compiled import CAUSES, ROLES, RULES
from ...schemas.border.text_output import paint
from ...schemas.diagnostic import causes_of
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.file_kind import INFERENCE, NO_TRAINING, UNKNOWN_CLASS
from ...schemas.shared_words import in_brackets, list_words, mark
from ..linting.linter import count_fixes
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from ...rules.repairs import Hunk
    from ...schemas.diagnostic import Diagnostic, Edit, Fix, Language
    from ...schemas.message import Words
    from ...schemas.source import SourceText, Span
    from ..linting.linter import Report

    ShownFixes: TypeAlias = "dict[frozenset[Edit], Diagnostic]"
    """The edits of each fix that a page has shown already, with the finding that they are shown under."""


def place_of(file: str, span: Span | None) -> str:
    """file:line:column."""
    return file if span is None else f"{file}:{span.line}:{span.column}"


def summary_line(report: Report, language: Language) -> str:
    """One line that counts: the findings in their groups, the files, and the profile with its origin."""
    word: Callable[..., str] = say.page("summary", language)
    (profile, configuration), origin = report.settings, report.profile_origin
    found = zip(report.diagnostics, causes_of(report.diagnostics), strict=True)
    counts = count_groups([entry for entry, cause in found if cause is None], report)
    return word(
        "all",
        counts=totals(counts, report, language),
        suppressed=word("suppressed", report.suppressed) if report.suppressed else "",
        files=count_phrase(len(report.files), "file", language),
        pairs=count_phrase(len(report.pairs), "pair", language),
        versions=_versions(report, language),
        profile=profile,
        origin=word(f"profile_{origin}", configuration),
        configuration=word("configuration", configuration) if configuration and origin != "configuration" else "",
        uncompared="".join(_comparison_gaps(report, language)),
    )


def _comparison_gaps(report: Report, language: Language) -> Iterator[str]:
    """The files of pairs whose network is not known, and those of two files that neither train nor run a GPT model."""
    paired = {file for pair in report.pairs for file in pair}
    unknown = {one.file: None for one in report.diagnostics if one.kind.code in UNKNOWN_CLASS and one.file in paired}
    checked = _inference_files(report)
    others = {one.file: None for one in report.diagnostics if one.kind.code in NO_TRAINING and one.file not in checked}
    if unknown:
        yield say.page("summary", language)("network", list_words(unknown, language))
    if others and len(report.files) == _PAIR and not paired:
        yield say.page("summary", language)("no_training", list_words(others, language))


def _inference_files(report: Report) -> set[str]:
    """The inference configurations, which have rules of their own."""
    purposes = ((file, basis.purpose) for file, basis in report.versions)
    return {file for file, purpose in purposes if purpose is not None and purpose.kind == INFERENCE}


_PAIR = 2
"""Files that a user names to have them compared."""


def fixable_lines(report: Report, language: Language) -> list[str]:
    """`1 fixable with --fix, 8 more with --fix --unsafe; --diff shows the changes.`; nothing if there is no fix."""
    word: Callable[..., str] = say.page("fixable", language)
    counts = [(name, count) for name, count in count_fixes(report.diagnostics).items() if count]
    hidden = {} if report.shows_remarks else count_fixes(report.diagnostics, severity="info")
    other = "a" if report.fix_side == "b" else "b"
    parts = [
        word(f"more_{name}" if number else name, count, other)
        + (word("advice", hidden[name]) if hidden.get(name) else "")
        for number, (name, count) in enumerate(counts)
    ]
    return [word("line", list_words(parts, language))] if parts else []


def totals(counts: Mapping[str, int], report: Report, language: Language, colour: bool = False) -> str:
    """`9 errors (1 stops the run, 8 change numbers), 2 warnings, 18 pieces of advice (--remarks)`."""
    word = say.page("summary", language)
    errors = sum([counts[group] for group in ERRORS])
    parts = [paint(count_phrase(errors, "error", language), "red", colour and errors > 0)]
    grouped = [count_phrase(counts[group], group, language) for group in ERRORS if counts[group]]
    if grouped:
        parts[0] += in_brackets(list_words(grouped, language), language)
    parts.append(
        paint(count_phrase(counts["depends"], "depends", language), "yellow", colour and counts["depends"] > 0)
    )
    advice = count_phrase(counts[ADVICE], ADVICE, language)
    parts.append(advice + word("hidden") if counts[ADVICE] and not report.shows_remarks else advice)
    return list_words(parts, language)


def _versions(report: Report, language: Language) -> str:
    """The versions whose facts were used, each once, and whether each was given, detected or assumed."""
    shown: dict[str, None] = {}
    for _file, basis in report.versions:
        if basis.purpose is None or basis.purpose.trains_gpt:
            shown[basis.name(language)] = None
    return mark("semicolon", language) + list_words(shown, language, "clause") if shown else ""


def count_phrase(count: int, what: str, language: Language) -> str:
    """`8 change numbers`: a number of findings of a group, or of files."""
    word: Callable[..., str] = say.page("summary", language)
    return word(what if count == 1 else f"{what}_many", count)


ERRORS: tuple[str, ...] = ("unread", "stops", "numbers", "undecided", "raised")
"""Groups of errors: files that cannot be read, what stops a run, what changes numbers, and what waits for a value.

The last are advice that the configuration calls an error.
"""
GROUPS: tuple[str, ...] = (*ERRORS, "depends")
"""The groups of errors, and warnings; a finding is in one group, so that all counts agree."""
ADVICE: str = "advice"


def group_of(entry: Diagnostic, report: Report | None) -> str:
    """Group of a finding by its severity, and of an error by its effect on the run."""
    severity = entry.kind.severity
    if severity != "error":
        return "depends" if severity == "warning" else ADVICE
    if report is not None and entry in report.unreadable:
        return "unread"
    return {"depends": "undecided", "advice": "raised"}.get(entry.effect, entry.effect)


def count_groups(entries: Iterable[Diagnostic], report: Report) -> dict[str, int]:
    """Numbers of findings in each group."""
    counts = dict.fromkeys((*GROUPS, ADVICE), 0)
    for entry in entries:
        counts[group_of(entry, report)] += 1
    return counts


def harm(entry: Diagnostic, report: Report | None) -> int:
    """Sort key of a finding; the smallest is the worst."""
    group = group_of(entry, report)
    return GROUPS.index(group) if group in GROUPS else len(GROUPS)


def worst_first(
    causes: Sequence[Diagnostic], follow: Sequence[Sequence[Diagnostic]], report: Report | None = None
) -> list[tuple[Diagnostic, Sequence[Diagnostic]]]:
    """The errors and warnings, each with what follows from it."""
    louder = [(entry, more) for entry, more in zip(causes, follow, strict=True) if entry.kind.severity != "info"]
    return sorted(louder, key=lambda one: (harm(one[0], report), -len(one[1])))


def group_by_cause(found: Sequence[Diagnostic]) -> tuple[list[Diagnostic], Mapping[int, list[Diagnostic]]]:
    """The causes in their order, and by the place of each in that list what follows from it."""
    causes = causes_of(found)
    heads: list[Diagnostic] = []
    places: dict[int, int] = {}
    for number, entry in enumerate(found):
        if causes[number] is None:
            places[number] = len(heads)
            heads.append(entry)
    follow: dict[int, list[Diagnostic]] = {}
    for number, cause in enumerate(causes):
        if cause is not None:
            follow.setdefault(places[cause], []).append(found[number])
    return heads, follow


def because(cause: Diagnostic, language: Language) -> str:
    """Description of a cause in a few words."""
    word = say.page("following", language)
    row = CAUSES.get(cause.kind.code)
    if row is not None and row[3]:
        return word("row", row[3][language == "zh"])
    values = dict(cause.values)
    for name in ("flag", "key", "text"):
        if values.get(name):
            return word("of", values[name])
    rule = RULES.get(cause.kind.code)
    if len(cause.fields) == 1 and rule is not None and rule[2] == "pair":
        return word("differs", cause.fields[0])
    return word("of", cause.kind.code)


def follower_count(cause: Diagnostic, follow: Sequence[Diagnostic], language: Language, advice: int = 0) -> str:
    """`because moe.num_experts differs: 4 more, 12 pieces of advice (--remarks)`: of `advice` no line is written."""
    word, more = say.page("following", language), len(follow) - advice
    parts = [word("more", more)] if more else []
    if advice:
        parts.append(count_phrase(advice, ADVICE, language) + say.page("summary", language)("hidden"))
    return word("counted", because(cause, language), list_words(parts, language, "clause"))


def from_what(cause: Diagnostic, language: Language) -> str:
    """The end of a message of its own, where a format has no place for what belongs together."""
    return say.page("following", language)("from", cause.kind.code, place_of(cause.file, cause.span))


def messages(found: Sequence[Diagnostic], language: Language) -> list[tuple[Diagnostic, str]]:
    """Every finding with its sentence, the causes first: where only so many are shown, they are the ones."""
    causes = causes_of(found)
    heads = [(entry, entry.sentences(language)) for entry, cause in zip(found, causes, strict=True) if cause is None]
    followers = [
        (entry, entry.message(language) + from_what(found[cause], language))
        for entry, cause in zip(found, causes, strict=True)
        if cause is not None
    ]
    return [*heads, *followers]


def is_absent(file: str, span: Span | None, sources: Mapping[str, SourceText]) -> bool:
    """True if a place is one that a missing key belongs at: the line there is about something else."""
    source = sources.get(file)
    if source is None or span is None or span[:2] != span[2:4] or span.line > source.line_count:
        return False
    return not source.line(span.line)[: span.column - 1].rstrip().endswith(":")  # an empty value is there


def fix_lines(
    entry: Diagnostic, report: Report, language: Language, colour: bool, shown: ShownFixes
) -> Iterator[tuple[str, str]]:
    """Every fix of a finding as a small diff: each line with the indent of the rows that it may go on in.

    Of several fixes each is enough by itself, and each names its file. What is `shown` already is referred to.
    """
    from ...rules.repairs import hunks_of

    sources = report.sources
    other = ("a" if report.fix_side == "b" else "b") if entry.fix is None else ""
    if not entry.fixes and (blank := _blank_of(entry, sources)) is not None:
        yield f"  {paint(say.fill_in().text(language), 'green', colour)}", "    "
        yield from _indented_diff(blank, colour, "")
    for number, fix in enumerate(entry.fixes):
        hunks = hunks_of(fix.edits, sources)
        if hunks:
            head = paint(_instruction(fix, hunks, other, is_other=number > 0).text(language), "green", colour)
            for line, indent in _lines_of_fix(entry, fix, hunks, shown, _Look(sources, language, colour)):
                yield f"{head and f'  {head}'}{line}".rstrip(), indent
                head = ""
        else:
            yield f"  {fix.zh if language == 'zh' else fix.en}", "    "


def _instruction(fix: Fix, hunks: Sequence[Hunk], fix_side: str, *, is_other: bool) -> Words:
    """The sentence before the edit: what to do with which file, and the fix that does it."""
    files = ", ".join(dict.fromkeys(hunk.file for hunk in hunks))
    name = say.fix() if fix.applicability == "safe" else say.unsafe_fix()
    if fix_side:
        name = say.with_fix_side(fix=name, side=fix_side)
    if not any(hunk.before for hunk in hunks):
        return say.or_add(files=files) if is_other else say.add(files=files, fix=name)
    if not any(hunk.after for hunk in hunks):
        return say.or_remove(files=files) if is_other else say.remove(files=files, fix=name)
    return say.or_change(files=files) if is_other else say.change(files=files, fix=name)


class _Look(NamedTuple):
    """The texts, the language and the colour of a page."""

    sources: Mapping[str, SourceText]
    language: Language
    colour: bool


def _lines_of_fix(
    entry: Diagnostic, fix: Fix, hunks: Sequence[Hunk], shown: ShownFixes, look: _Look
) -> Iterator[tuple[str, str]]:
    """The end of the first line of a fix, and the lines of its diff that the page does not have yet."""
    edits, lines = frozenset(fix.edits), sum(len(hunk.before) + len(hunk.after) for hunk in hunks)
    for known, one in shown.items():
        if edits == known or (edits < known and lines > _FEW_LINES):
            yield say.mended_by(code=one.kind.code, place=place_of(one.file, one.span)).text(look.language), "    "
            return
    yield "", "    "
    part, rest = _hunks_to_show(hunks, edits, shown, look.sources)
    shown[edits] = entry
    if part is not None:
        said = say.mended_with(code=part.kind.code, place=place_of(part.file, part.span))
        yield f"    {said.text(look.language)}", "      "
    for hunk in rest:
        yield from _indented_diff(hunk, look.colour, _section_of(hunk, look.sources[hunk.file]))
    if fix.command:
        yield f"    {say.same_by(command=fix.command).text(look.language)}", "      "


def acceptance_line(entry: Diagnostic, sources: Mapping[str, SourceText], language: Language) -> str | None:
    """The comment that accepts a finding, and its place; None if the run stops by it, or if it waits for a value."""
    if entry.effect not in _ACCEPTABLE or entry.file not in sources or _blank_of(entry, sources):
        return None
    from ..linting.file_edits import comment_for

    line, comment = comment_for(entry, sources[entry.file])
    return say.accept_by(comment=comment.strip(), file=entry.file, line=line).text(language)


_ACCEPTABLE = ("numbers", "depends")
"""Effects of findings that a person may accept; a run that stops is not accepted."""
_FEW_LINES = 3
"""Lines of a diff that are shown again rather than referred to."""


def _hunks_to_show(
    hunks: Sequence[Hunk], edits: frozenset[Edit], shown: ShownFixes, sources: Mapping[str, SourceText]
) -> tuple[Diagnostic | None, Sequence[Hunk]]:
    """The finding whose fix is a large part of this one, and the hunks that its page does not have yet."""
    from ...rules.repairs import hunks_of

    parts = [(len(known), known, one) for known, one in shown.items() if known < edits]
    for _, known, one in sorted(parts, key=lambda part: -part[0]):
        of_part = hunks_of(known, sources)
        rest = [hunk for hunk in hunks if hunk not in of_part]
        lines = sum(len(hunk.before) + len(hunk.after) for hunk in hunks if hunk in of_part)
        if lines > _FEW_LINES and len(rest) == len(hunks) - len(of_part):
            return one, rest
    return None, hunks


def _indented_diff(hunk: Hunk, colour: bool, section: str) -> Iterator[tuple[str, str]]:
    return ((line, "      ") for line in _diff_lines(hunk, colour, section))


def _blank_of(entry: Diagnostic, sources: Mapping[str, SourceText]) -> Hunk | None:
    """The line of a script that assigns a placeholder to a variable, with a blank for the value of its flag."""
    from ...rules.repairs import Hunk

    source, span, flag = sources.get(entry.file), entry.span, dict(entry.values).get("flag")
    if source is None or span is None or entry.kind.code not in (*ROLES["stray-word"], *ROLES["undecided-argument"]):
        return None
    line = source.line(span.line)
    name, equals, value = line.partition("=")
    is_assigned = name.strip().removeprefix("export ").isidentifier() and span.column > len(name)
    if not (flag and equals and is_assigned) or set(value) & set("#;$`"):
        return None
    return Hunk(entry.file, span.line, [line], [f'{name}="<{flag}>"'])


def _section_of(hunk: Hunk, source: SourceText) -> str:
    """The section of a YAML that new lines belong to; nothing for lines that replace others, and in a script."""
    if hunk.before or not hunk.file.endswith((".yaml", ".yml")):
        return ""
    indent = len(hunk.after[0]) - len(hunk.after[0].lstrip())
    names: list[str] = []
    for number in range(hunk.line - 1, 0, -1):
        text = source.line(number)
        name, colon, _ = text.strip().partition(":")
        own = len(text) - len(text.lstrip())
        if own < indent and colon and not name.startswith(("#", "-")):
            names.append(name)
            indent = own
    return ".".join(reversed(names))


def _diff_lines(hunk: Hunk, colour: bool, section: str = "") -> Iterator[str]:
    """The old lines and the new ones, without the indent that all of them share; the first new one has the place."""
    before, after = hunk.shown()
    lines = [*before, *after]
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    marked = len(before) if after else 0
    for place, line in enumerate(lines):
        sign, style = ("-", "red") if place < len(before) else ("+", "green")
        where = f"{hunk.file}:{hunk.line}" + (f" ({section})" if section else "")
        at = f"   {paint(where, 'dim', colour)}" if place == marked else ""
        yield f"    {paint(f'{sign} {line[margin:]}', style, colour)}{at}"
