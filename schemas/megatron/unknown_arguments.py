"""What unknown arguments mean: a misspelt one stops the run, many are a fork's, and some are another version's."""

from __future__ import annotations

from ..diagnostic import finding
from ..light_typing import TYPE_CHECKING
from ..suggestion import edits
from .problems import PROBLEMS
from .suggestions import glued
from .version_problems import PROBLEMS as VERSION_PROBLEMS

if TYPE_CHECKING:
    from ..diagnostic import Diagnostic
    from .parsing import Parsed

_NAMED = 3
_SHORT = 8
_WORD = 4
"""Words shorter than this are another word where a letter differs."""


def summed_up(parsed: Parsed, version: str, file: str, *, certain: bool) -> tuple[Diagnostic, ...]:
    """The problems of a parsed vector, with those about unknown arguments told apart by what they mean.

    `certain` says that the version is not assumed, so that an argument of another version stops the run.
    """
    if not any(problem.kind.name == "unknown-argument" for problem in parsed.problems):
        return parsed.problems
    from .catalog import catalog
    from .versions import FORK, versions_of

    told: list[Diagnostic] = []
    strange: list[int] = []
    later: list[int] = []
    for problem in parsed.problems:
        told.append(problem)
        if problem.kind.name != "unknown-argument":
            continue
        values = dict(problem.values)
        flag, near = str(values["flag"]), str(values["near"])
        versions = versions_of(flag)
        if versions:
            known = ", ".join(versions)
            kind = "other-version" if certain else "other-version-assumed"
            later.append(len(told) - 1)
            told[-1] = finding(VERSION_PROBLEMS, kind, file, problem.span, version=version, flag=flag, known=known)
        elif near and nearly(flag, near):
            told[-1] = finding(PROBLEMS, "misspelt", file, problem.span, version=version, flag=flag, near=near)
        elif (apart := glued(flag, catalog(version))) is not None:
            told[-1] = finding(
                PROBLEMS, "misspelt", file, problem.span, version=version, flag=flag, near=" ".join(apart)
            )
        else:
            strange.append(len(told) - 1)
    if len(strange) < FORK:
        return tuple(told)
    # A fork has arguments of later versions, too.
    first = strange[0]
    dropped = {*strange[1:], *later}
    unknown = [dict(parsed.problems[at].values) for at in sorted((*strange, *later))]
    flags = list(dict.fromkeys(str(values["flag"]) for values in unknown))
    declare = ", ".join(f'"{values["flag"]}:{values["nargs"]}"' for values in unknown[:2])
    place = told[first].span
    named = ", ".join(flags[:_NAMED])
    told[first] = finding(
        PROBLEMS, "fork", file, place, version=version, count=len(flags), named=named, declare=declare
    )
    return tuple(entry for at, entry in enumerate(told) if at not in dropped)


def nearly(flag: str, known: str) -> bool:
    """Whether one is the other with a slip of the pen: a letter more, less, other or swapped; two in a long name."""
    one, other = (text.lstrip("-").replace("_", "-").lower() for text in (flag, known))
    allowed = 1 if min(len(one), len(other)) <= 2 * _SHORT else 2
    if min(len(one), len(other)) < _SHORT // 2 or abs(len(one) - len(other)) > allowed:
        return False
    if [digit for digit in one if digit.isdigit()] != [digit for digit in other if digit.isdigit()]:
        return False  # --stage2 is no misspelt --stage1
    words, others = one.split("-"), other.split("-")
    if len(words) == len(others) and any(
        len(word) == len(twin) < _WORD and sorted(word) != sorted(twin)
        for word, twin in zip(words, others, strict=True)
    ):
        return False  # --o-lora-rank is no misspelt --q-lora-rank
    return edits(one, other) <= allowed
