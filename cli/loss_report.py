"""The loss report for a person: what a translation could not carry over exactly, the gravest first."""

from __future__ import annotations

import os
import sys

from ..schemas.light_typing import TYPE_CHECKING
from .terminal import painted

if TYPE_CHECKING:
    from ..mapper.translate.report import ReportRow
    from ..mapper.translate.translation import Translation
    from ..schemas.diagnostic import Language

_STYLE = {"dropped": "red", "unresolved": "red", "approximate": "yellow", "conditional": "cyan"}
_RANK = ("unresolved", "dropped", "approximate", "conditional")
_IMPACT = ("numerics", "performance", "none")
_STATUS_ZH = {
    "exact": "精确",
    "conditional": "有条件",
    "approximate": "近似",
    "made-explicit": "写明默认值",
    "dropped": "未转换",
    "unresolved": "未解析",
}
_IMPACT_ZH = {"numerics": "影响数值", "performance": "影响性能", "none": "无影响"}


def print_report(translation: Translation, language: Language) -> None:
    """Print the rows that need a person's eye to stderr, and a line that counts all of them."""
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    telling = [row for row in translation.rows if row.status in _RANK and (row.en or row.status != "conditional")]
    # A default that is only about speed is in the report for programs.
    telling = [row for row in telling if row.explicit or row.impact == "numerics" or row.status == "unresolved"]
    said: set[tuple[tuple[str, ...], str]] = set()
    for row in sorted(telling, key=lambda row: (_IMPACT.index(row.impact), _RANK.index(row.status))):
        if row.impact == "none" and row.status != "unresolved":
            continue
        if row.source and (row.source, row.en) in said:
            continue  # two fields of one key, with one thing to say
        said.add((row.source, row.en))
        print(_line(row, language, colour), file=sys.stderr)
    print(_count(translation, language), file=sys.stderr)


def _line(row: ReportRow, language: Language, colour: bool) -> str:
    chinese = language == "zh"
    status = _STATUS_ZH[row.status] if chinese else row.status
    impact = _IMPACT_ZH[row.impact] if chinese else row.impact
    named = ", ".join(row.source) or row.field or ""
    named = f" {named}" if named else ""
    return f"{painted(status, _STYLE[row.status], colour)} ({impact}){named}: {row.zh if chinese else row.en}"


def _count(translation: Translation, language: Language) -> str:
    counts: dict[str, int] = {}
    for row in translation.rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    named = (
        f"{count} {_STATUS_ZH[status] if language == 'zh' else status}" for status, count in sorted(counts.items())
    )
    return f"{translation.source}: " + ", ".join(named)
