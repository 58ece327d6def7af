"""Classes that no version has and that the program of a YAML registers itself.

`tools/register/register.py:MindFormerRegister.register` (1.6-2.1) takes a class under its own name, so that a program
that reads the YAML may name it there. That program is known only where it bears the YAML's name and stands beside it.
"""

from __future__ import annotations

import os

from ..diagnostic import Related, UnreadableError
from ..light_typing import TYPE_CHECKING
from ..source import Span
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..diagnostic import Diagnostic
    from ..source import SourceText

_REGISTERS = "MindFormerRegister.register"


def of_own_program(
    problems: Sequence[Diagnostic], file: str, open_file: Callable[[str], SourceText]
) -> tuple[Diagnostic, ...]:
    """The problems; a class that the YAML's own program registers is no error, and the place is named."""
    path = os.path.splitext(file)[0] + ".py"
    try:
        program = open_file(path)
    except UnreadableError:
        return tuple(problems)
    if _REGISTERS not in program.text:
        return tuple(problems)
    lines = program.text.splitlines()
    return tuple(_where_registered(one, lines, path) for one in problems)


def _where_registered(problem: Diagnostic, lines: Sequence[str], path: str) -> Diagnostic:
    if problem.kind is not say.kinds["unknown_class"]:
        return problem
    name = str(dict(problem.values)["value"])
    for number, line in enumerate(lines, 1):
        head, _, rest = line.strip().partition(name)
        registered = any(_REGISTERS in before for before in lines[max(0, number - 3) : number - 1])
        if head == "class " and rest[:1] in (":", "(") and registered:
            said = say.registered_here(name=name)
            place = Related(path, Span(number, 1, number, len(line) + 1, path), said.en, said.zh)
            return problem._replace(kind=problem.kind._replace(severity="warning"), related=(place,))
    return problem
