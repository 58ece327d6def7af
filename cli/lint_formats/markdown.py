"""A page for a review: the findings as a table, then the checklist with boxes for a person to tick."""

from __future__ import annotations

from ...schemas.border.text_output import markdown, markdown_code, trust_text
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.wording import term
from .checklist import checklists, state_word
from .following import messages
from .messages_compiled import say
from .places import place_of, summary_line
from .ranking import harm

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..linting.linter import Report


def write(report: Report, language: Language) -> Outgoing:
    """The page."""
    word = say.page("markdown", language)
    boxes = {state_word("passed", language): "[x]", state_word("none", language): "–"}
    totals = summary_line(report._replace(shows_remarks=True), language)
    text = [f"## {word('findings')}", "", markdown(totals), ""]
    if report.diagnostics:
        text += [word("head"), "| --- | --- | --- | --- |"]
    for entry, told in sorted(messages(report.diagnostics, language), key=lambda one: harm(one[0])):
        place = place_of(entry.file, entry.span)
        code = f"[{entry.kind.code}]({entry.to_json()['url']})"
        text.append(f"| {term(entry.kind.severity, language)} | {code} | {markdown_code(place)} | {markdown(told)} |")
    for subject, lines in checklists(report, language):
        names = " ↔ ".join(side.config.file for side in subject.sides)
        text += ["", f"## {word('checklist', markdown(names))}", "", word("row")]
        text.append("| --- | --- | --- | --- | --- | --- | --- |")
        for line in lines:
            box = boxes.get(line.state, "[ ]")
            result = f"{line.state} {line.codes}".strip()
            told = [markdown(cell) for cell in (line.key, result, line.megatron, line.mindformers, line.what)]
            text.append("| " + " | ".join((box, f"`{line.identifier}`", *told)) + " |")
    return trust_text("\n".join(text) + "\n")
