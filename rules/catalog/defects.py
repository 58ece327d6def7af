"""Known defects of the frameworks that concern a file: the advisory table against its version and its settings.

A finding is certain where the file's version is known and every release of it has the defect. It `may` concern the run,
and speaks one severity lower, where the version is assumed and another one lacks the defect, where a patch release
mended it and nobody says which one runs (a tree's own number may be ahead of its code), where a package beside the
framework decides, of which a file says nothing, where the program is a fork (of the fork's own defects: where a version
of it that its words allow is without), or where a condition rests on what cannot be read and another one is met: of a
file whose model stands elsewhere nothing is said.
"""

from __future__ import annotations

from ...mapper.conditions import COMPARISONS, all_hold
from ...mapper.gates import says_something
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.megatron.forks import fork_of
from ...schemas.message import Words
from ..catalog_compiled import ROLES
from ..defects_compiled import DEFECTS, EVERYWHERE, FORKS
from ..messages_compiled import say
from ..rule import Found, Place, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ...mappings.names_compiled import Comparison, FieldName
    from ...schemas.config import Config, Value
    from ...schemas.diagnostic import Severity
    from ..subject import Side, Subject

_BELOW: Mapping[Severity, Severity] = {"error": "warning", "warning": "info", "info": "info"}
CANCELLED = "cancelled"
"""Among the values of a finding whose defect both sides have: it explains no difference between them."""


def codes() -> tuple[str, ...]:
    """Codes of all advisories."""
    own = {row[0] for versions in DEFECTS.values() for rows in versions.values() for row in rows}
    return tuple(sorted(own | {row[0] for rows in FORKS.values() for row, *_ in rows}))


def rule_of(code: str) -> Rule:
    """Rule record of an advisory."""
    from ..defects_listed_compiled import RULES

    return Rule(*RULES[code])


def advisories(subject: Subject) -> Iterator[tuple[str, Found]]:
    """Code and finding of each known defect that affects one of the files."""
    concerning = [list(_matching_defects(side)) for side in subject.sides]
    met = {code for rows in concerning for code, *_ in rows}
    for side, rows in zip(subject.sides, concerning, strict=True):
        for code, place, doubts, cancels in rows:
            at = Place(side, "field" if place[0] == "field" else "key", place[1])
            if any(other in met for other in cancels):
                yield code, Found(at, {CANCELLED: True}, variant="both", severity="info")
            elif doubts:
                why, why_zh = doubts[0].both()
                severity = _BELOW[rule_of(code).severity]
                yield code, Found(at, {"why": why, "why_zh": why_zh}, variant="may", severity=severity)
            else:
                yield code, Found(at)


def _matching_defects(side: Side) -> Iterator[tuple[str, tuple[str, str], list[Words], tuple[str, ...]]]:
    """Code, place, doubts and cancelled codes of each defect whose conditions a file meets or may meet."""
    config = side.config
    for (code, patched, dialects, when, place, cancels, beside), doubtful in _candidates(config):
        if (not dialects or config.dialect in dialects) and not is_mended(config.release, patched):
            met = _are_all_met(when, side)
            if met or (met is None and any(_is_met(condition, side) for condition in when)):
                doubts = [*_doubts(side, patched, met), *doubtful]
                if beside is not None:
                    doubts.append(say.runs_with_package(package=Words(*beside)))
                yield code, place, doubts, cancels


def _candidates(config: Config) -> Iterator[tuple[tuple[Any, ...], list[Words]]]:
    """Defects of a file's version and fork, each with reasons for doubt about the version."""
    versions: Mapping[str, Any] = DEFECTS.get(config.framework, {})
    fork = fork_of(config)
    for row in versions.get(config.framework_version, ()):
        doubts: list[Words] = []
        if config.version_origin == "assumed" and row[0] not in EVERYWHERE[config.framework]:
            doubts.append(
                say.version_is_assumed(version=config.framework_version, option=f"--{config.framework} VERSION")
            )
        if fork is not None:
            doubts.append(say.runs_a_fork())
        yield row, doubts
    # What is known of a fork says nothing of a user's file of that name.
    for row, has, stays in FORKS.get(fork.name, ()) if fork is not None and fork.file is None else ():
        # What is not given is the lowest version that takes every argument: a later one may run.
        if config.version_origin != "given" and not stays:
            option = f"--megatron {(config.dialect or '').rpartition('-')[0]}-VERSION"
            yield row, [say.version_or_later(version=config.dialect, option=option)]
        elif has:
            yield row, []


def is_mended(release: str | None, patched: str) -> bool:
    """True if the named patch release fixes a defect."""
    if release is None or not patched:
        return False
    ours, theirs = ([int(part) for part in name.split(".")] for name in (release, patched))
    return ours >= theirs


def _doubts(side: Side, patched: str, met: bool | None) -> Iterator[Words]:
    """Reasons for which a defect may, and need not, be met."""
    config = side.config
    if met is None:
        yield say.depends_on_unreadable()
    if patched and config.release is None:
        yield say.unless_patched(patched=patched)
    if any(problem.kind.code in ROLES["unknown-argument"] for problem in config.problems):
        yield say.runs_a_fork()


def _are_all_met(when: tuple[tuple[Any, ...], ...], side: Side) -> bool | None:
    """True if a file meets all conditions; None if one cannot be decided."""
    answers: list[bool | None] = []
    for condition in when:
        answer = _is_met(condition, side)
        if answer is False:
            return False
        answers.append(answer)
    return None if None in answers else True


def _is_met(condition: tuple[Any, ...], side: Side) -> bool | None:
    """True if a file meets a condition; None if undecided."""
    kind, name, *rest = condition
    if kind == "any":
        answers = [_are_all_met(every, side) for every in rest[0]]
        return True if True in answers else None if None in answers else False
    comparison, operand = rest
    if kind == "field":
        return _holds(name, comparison, operand, side)
    if kind == "environment":
        return COMPARISONS[comparison](side.environment(name), operand, side.recipe.value)
    setting = side.setting(name)
    if setting is not None and not setting.decided:
        # A fork's own word has no value here, and is still the one that a condition excludes.
        return False if comparison == "not_in" and setting.raw and setting.raw[0] in operand else None
    return COMPARISONS[comparison](None if setting is None else setting.value, operand, side.recipe.value)


def _holds(name: FieldName, comparison: Comparison, operand: Value, side: Side) -> bool | None:
    """True if a condition on a recipe field holds; False for fields without effect."""
    answer = all_hold(((name, comparison, operand),), side.recipe)
    idle = answer and comparison != "unset" and says_something(name, side.recipe) is False
    return False if idle else answer
