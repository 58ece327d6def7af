"""The loss report for a person: what a translation could not carry over exactly, the gravest first."""

from __future__ import annotations

import os
import sys
from collections import Counter
from itertools import chain

from ...mappings.messages_compiled import say as of_rows
from ...schemas.border.text_output import paint, tell
from ...schemas.config import Basis
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.shared_words import in_brackets, join_words, list_words, mark, term
from ..configuration import find_configuration, ignored_configurations
from ..exit_codes import BAD, FINE
from ..messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...mapper.preconditions import Refusal
    from ...mapper.translate.result import ReportRow, Translation
    from ...schemas.config import Config
    from ...schemas.diagnostic import Diagnostic, Language
    from ..messages_compiled import LossReportWords


_STYLE = {"dropped": "red", "unresolved": "red", "approximate": "yellow", "conditional": "cyan"}
_STYLE_OF = {"error": "red", "warning": "yellow"}
_RANK = ("unresolved", "dropped", "approximate", "conditional")
_IMPACT = ("numerics", "performance", "none")
_MOST_PROBLEMS = 10
_LEFT_OPEN = ("MAP034",)
"""What leaves values open that no word of the file can be shown for: how many devices there are."""


def print_problems(config: Config, language: Language, *, of_run: bool = True) -> None:
    """Print to stderr what is wrong with the source itself, so that its translation is not taken for a run's.

    To the network alone, unless `of_run`, it is all one on how many devices it would be trained.
    """
    left_open = _LEFT_OPEN if of_run else ()
    telling = [one for one in config.problems if _is_grave(one) or one.kind.code in left_open]
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    if config.purpose is not None:
        tell(f"{config.file}: {config.purpose.problem.message(language)}")
    for problem in telling[:_MOST_PROBLEMS]:
        span, severity = problem.span, problem.kind.severity
        place = config.file if span is None else span.at(config.file)
        word = paint(term(severity, language), _STYLE_OF[severity], colour)
        tell(f"{place}: {word} {problem.kind.code} {problem.message(language)}")
    if len(telling) > _MOST_PROBLEMS:
        tell(_word(language)("more", count=len(telling) - _MOST_PROBLEMS, file=config.file))


def _word(language: Language) -> LossReportWords:
    return say.page("loss_report", language)


def _is_grave(problem: Diagnostic) -> bool:
    """True if a framework stops at it, or it makes a file read otherwise than it looks; keys have rows already."""
    severity = problem.kind.severity
    return severity == "error" or (severity == "warning" and problem.kind.code.startswith("SYN"))


def print_refusals(file: str, refusals: Sequence[Refusal], language: Language) -> None:
    """Print to stderr why the written file will not run, before anything else is said of it."""
    colour, word = sys.stderr.isatty() and not os.environ.get("NO_COLOR"), _word(language)
    for refusal in refusals:
        line = word("stops", file=file, reason=refusal.message(language))
        more = "" if refusal.instead is None else mark("sentence", language) + word("instead", instead=refusal.instead)
        tell(paint(line, "red", colour) + more)


def print_report(translation: Translation, language: Language) -> None:
    """Print the rows that need a person's eye to stderr, and a line that counts all of them."""
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    said: set[tuple[tuple[str, ...], str]] = set()
    lines: dict[tuple[object, ...], tuple[ReportRow, list[str]]] = {}
    for row in sorted(filter(is_told, translation.rows), key=_harm):
        if row.source and (row.source, row.en) in said:
            continue  # two fields of one key, with one thing to say
        said.add((row.source, row.en))
        names = [*map(_whole, row.source)] or [row.field or ""]
        # What has one thing to say stands in one line.
        lines.setdefault((row.defines_model, row.status, row.impact, row.en), (row, []))[1].extend(names)
    for row, names in lines.values():
        tell(_line(row, list(dict.fromkeys(names)), language, colour))
    tell(_count(translation, language))
    proofs = _proofs(translation, language)
    if proofs:
        tell(proofs)
    tell(_versions(translation, language))


_OF_THE_RUN = "run."
"""Fields of how a run goes and when it ends: what is lost of them is told although no number changes."""


def is_told(row: ReportRow) -> bool:
    """True if a person needs to know; a default that is only about speed is in the report for programs."""
    if row.status not in _RANK or (row.status == "conditional" and not row.en):
        return False
    if row.status == "unresolved" or row.impact == "numerics":
        return True
    if row.status == "conditional" and row.target and not row.source:
        return True  # written although the source does not know it
    ends = row.status == "dropped" and (row.field or "").startswith(_OF_THE_RUN)
    return row.explicit and (row.impact != "none" or ends)


def _harm(row: ReportRow) -> tuple[bool, int, int]:
    """Sort key: another network first, then other numbers, then speed."""
    return (not row.defines_model, _IMPACT.index(row.impact), _RANK.index(row.status))


def _whole(key: str) -> str:
    """The list that a key is an entry of, or the key itself."""
    return key.rpartition("[")[0] if key.endswith("]") else key


def _line(row: ReportRow, names: list[str], language: Language, colour: bool) -> str:
    """One row of the loss report as text: its weight, the names in both frameworks, and the reason."""
    word = _word(language)
    impact = word("model") if row.defines_model else term(row.impact, language)
    named = f" {', '.join(filter(None, names))}".rstrip()
    status = paint(term(row.status, language), _STYLE[row.status], colour)
    return word("line", status=status, impact=impact, named=named, said=row.zh if language == "zh" else row.en)


def _count(translation: Translation, language: Language) -> str:
    """A line with the number of rows of each status, and of those resolved without any effect on numbers."""
    counts: dict[str, int] = {}
    silent = 0
    for row in translation.rows:
        if row.field is None and row.resolved and row.impact == "none":
            silent += 1
        else:
            counts[row.status] = counts.get(row.status, 0) + 1
    word = _word(language)
    named = [word("of", count=count, words=term(status, language)) for status, count in sorted(counts.items())]
    if silent:
        named.append(word("silent", silent))
    return f"{translation.source}{mark('colon', language)}{list_words(named, language, 'clause')}"


def _proofs(translation: Translation, language: Language) -> str:
    """A line with the number of exact rows that change numbers, grouped by the kind of proof."""
    versions = translation.proved_versions
    held = [row for row in translation.rows if row.impact == "numerics" and row.status == "exact" and row.field]
    words = Counter(str(proof["words"]) for row in held if (proof := row.proof(versions, language)) is not None)
    if not held:
        return ""
    word = _word(language)
    named = [word("of", count=count, words=said) for said, count in words.most_common()]
    left = len(held) - sum(words.values())
    if left:
        named.append(word("of", count=left, words=of_rows.exact_by_reading().text(language)))
    return word("exact", count=len(held), named=list_words(named, language, "clause"))


def _versions(translation: Translation, language: Language) -> str:
    """A line with both versions, each with its origin, and the graph mode that is written."""
    basis = translation.recipe.basis
    target = Basis(translation.target_framework, translation.version, translation.version_origin)
    named = [entry.name(language) for entry in (basis, target) if entry is not None]
    choice = [one.text(language) for one in (translation.graph, translation.version_reason) if one]
    return " -> ".join(named) + in_brackets(list_words(choice, language, "clause"), language)


def accepted_losses(file: str, given: Sequence[str], language: Language) -> tuple[str, ...]:
    """The recipe fields and keys whose loss is accepted, by the command line and by the project's configuration."""
    words = [name.strip() for word in given for name in word.split(",")]
    found = find_configuration(file)
    said = ignored_configurations(found, language)
    if said is not None:
        tell(f"accmap: {said}")
    return tuple(dict.fromkeys(_key_of(name) for name in (*words, *found.words("accept-loss")) if name))


def _key_of(name: str) -> str:
    """The key of a flag: `my_scale` for `--my-scale`; other names stay."""
    return name[2:].replace("-", "_") if name.startswith("--") else name


def close_report(
    rows: Sequence[ReportRow],
    accepted: Sequence[str],
    language: Language,
    *,
    defects: Sequence[Diagnostic] = (),
    strict: bool = False,
) -> int:
    """Say on stderr what changes numbers; the exit code of the translation. `strict` accepts nothing.

    Numbers change by what was lost, and by known defects of the written framework.
    """
    losses = [row for row in rows if row.changes_numbers]
    _tell_unused(accepted, {*chain(*map(_names, losses), *map(_names_of_defect, defects))}, language)
    _tell_defects(defects, language)
    left = [one for one in defects if strict or not _names_of_defect(one) & set(accepted)]
    lost = [row for row in losses if strict or not _names(row) & set(accepted)]
    if lost:
        names = list(dict.fromkeys(map(_label, lost)))
        said = say.one_setting_lost if len(names) == 1 else say.settings_lost
        tell(said(count=len(names), names=join_words(names)).text(language))
    return BAD if lost or left else FINE


def _tell_unused(accepted: Sequence[str], names: set[str], language: Language) -> None:
    """Say which accepted names name nothing that was lost."""
    for name in accepted:
        if name not in names:
            tell(f"accmap: {say.nothing_lost_by_name(name=name).text(language)}")


def _names_of_defect(one: Diagnostic) -> set[str]:
    return {one.kind.code, *one.fields}


def _tell_defects(defects: Sequence[Diagnostic], language: Language) -> None:
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    for one in defects:
        word = paint(term(one.kind.severity, language), _STYLE_OF[one.kind.severity], colour)
        tell(f"{one.file}: {word} {one.kind.code} {one.message(language)}")


def _label(row: ReportRow) -> str:
    """The name of a row in messages: its field, else its keys, else its value."""
    return row.field or ", ".join(row.source) or str(row.value)


def _names(row: ReportRow) -> set[str]:
    """Names by which a person can accept the loss of a row: its source keys and its label."""
    return {*row.source, _label(row)}
