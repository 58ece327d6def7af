"""How an evaluation was made, as its report says it: two scores are one task's only where both were.

lm-evaluation-harness (`lm_eval/evaluator.py:evaluate`) writes beside `results` how many samples of each task were
taken, the shots, the task's version, and for which metrics a higher score is the better one. OpenCompass' summary has
columns for the version (the prompt's hash) and the mode.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any, cast

from ..schemas.fast_records import NamedTuple
from .bounded_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_LISTS = {"n-samples": "samples", "n-shot": "shots", "versions": "version"}
_COLUMNS = ("version", "mode")
_LOWER = re.compile(r"perplexity|bits_per_byte|(^|[/_])(ppl|wer|cer|mse|mae|brier_score)$|loss$")
"""Metrics of which less is better, whatever a report says of them."""


class Settings(NamedTuple):
    """What a report says beside its scores."""

    told: Mapping[tuple[str, str], str]
    """By task and by what it is: `samples`, `shots`, `version`, `mode`."""
    lower: frozenset[str]
    """`task/metric` of which less is better."""


class Apart(NamedTuple):
    """A task that was not evaluated alike."""

    task: str
    what: str
    scores: str
    benchmark: str


NOTHING_SAID = Settings({}, frozenset())
"""Of a number, or a mere list of scores."""


def settings_of(text: str) -> Settings:
    """What a report's text says."""
    text = text.strip()
    if text.startswith("{"):
        return _of_report(parse_json(text.encode("utf-8", "surrogatepass"), 2))
    return Settings(dict(_of_table(text)), frozenset())


def apart(scores: Settings, benchmark: Settings) -> Iterator[Apart]:
    """What both reports say, and say otherwise."""
    for (task, what), ours in scores.told.items():
        theirs = benchmark.told.get((task, what), ours)
        if ours != theirs:
            yield Apart(task, what, ours, theirs)


def lower_is_better(name: str, *reports: Settings) -> bool:
    """Whether less of a metric (`task/metric`) is the better score."""
    return any(name in report.lower for report in reports) or _LOWER.search(name.lower()) is not None


def _of_report(report: Any) -> Settings:
    found: dict[tuple[str, str], str] = {}
    if not isinstance(report, dict):
        return Settings(found, frozenset())
    whole = cast("dict[str, Any]", report)
    for key, what in _LISTS.items():
        for task, value in _entries(whole.get(key)):
            known = value.get("effective") if isinstance(value, dict) else value  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            if isinstance(known, (int, float, str)):
                found[task, what] = str(known)
    lower = {
        f"{task}/{metric}"
        for task, metrics in _entries(whole.get("higher_is_better"))
        for metric, higher in _entries(metrics)
        if higher is False
    }
    return Settings(found, frozenset(lower))


def _entries(written: Any) -> list[tuple[str, Any]]:
    return list(cast("dict[str, Any]", written).items()) if isinstance(written, dict) else []


def _of_table(text: str) -> Iterator[tuple[tuple[str, str], str]]:
    try:
        rows: Sequence[Sequence[str]] = list(csv.reader(io.StringIO(text)))
    except csv.Error:
        return  # no table; the scores were read by another form
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    for row in rows[1:]:
        for what in _COLUMNS:
            if what in header and len(row) == len(header):
                yield (row[0].strip(), what), row[header.index(what)].strip()
