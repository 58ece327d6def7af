"""A page for a review: the findings as a table, then the checklist with boxes for a person to tick."""

from __future__ import annotations

from ...schemas.border.outgoing import composed, markdown, markdown_code
from ...schemas.light_typing import TYPE_CHECKING
from ...schemas.terms import term
from .checklist import STATES, lines
from .following import messages
from .places import place_of, summary_line
from .ranking import harm

if TYPE_CHECKING:
    from ...schemas.border.outgoing import Outgoing
    from ...schemas.diagnostic import Language
    from ..linting import Report

_WORDS = {
    "findings": ("Findings", "发现"),
    "head": ("| Severity | Code | Place | Message |", "| 级别 | 代码 | 位置 | 消息 |"),
    "checklist": ("Checklist", "检查清单"),
    "row": ("| | Row | Key | Result | Megatron-LM | MindSpore Transformers | What |",
            "| | 编号 | 键 | 结果 | Megatron-LM | MindSpore Transformers | 检查内容 |"),
}  # fmt: skip

_BOXES = {word: box for state, box in (("passed", "[x]"), ("none", "–")) for word in STATES[state]}


def write(report: Report, language: Language) -> Outgoing:
    """The page."""
    chinese = language == "zh"
    totals = summary_line(report._replace(shows_remarks=True), language)
    text = [f"## {_WORDS['findings'][chinese]}", "", markdown(totals), ""]
    if report.diagnostics:
        text += [_WORDS["head"][chinese], "| --- | --- | --- | --- |"]
    for entry, told in sorted(messages(report.diagnostics, language), key=lambda one: harm(one[0])):
        place = place_of(entry.file, entry.span)
        code = f"[{entry.kind.code}]({entry.to_json()['url']})"
        text.append(f"| {term(entry.kind.severity, language)} | {code} | {markdown_code(place)} | {markdown(told)} |")
    for subject in report.subjects:
        names = " ↔ ".join(side.config.file for side in subject.sides)
        colon = "：" if chinese else ": "
        text += ["", f"## {_WORDS['checklist'][chinese]}{colon}{markdown(names)}", "", _WORDS["row"][chinese]]
        text.append("| --- | --- | --- | --- | --- | --- | --- |")
        for line in lines(report, subject, language):
            box = _BOXES.get(line.state, "[ ]")
            result = f"{line.state} {line.codes}".strip()
            told = [markdown(cell) for cell in (line.key, result, line.megatron, line.mindformers, line.what)]
            text.append("| " + " | ".join((box, f"`{line.identifier}`", *told)) + " |")
    return composed("\n".join(text) + "\n")
