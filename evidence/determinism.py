"""What makes a launch compute the same bits twice: variables for the shell, and code that fixes every seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..mapper.align.table import alignment_table
from ..schemas.fast_records import NamedTuple
from .environment import version_table
from .messages_compiled import say
from .seeding_compiled import SEEDING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..schemas.diagnostic import Language


class Variable(NamedTuple):
    """One exported variable of a deterministic launch, and why."""

    name: str
    value: str
    en: str
    zh: str


def deterministic_variables(side: str) -> tuple[Variable, ...]:
    """The variables of one side's launch."""
    if side == "mindformers":
        rows = alignment_table().environment
        return tuple(Variable(str(row.variable), str(row.value), row.en, row.zh) for row in rows)
    return tuple(Variable(row["name"], row["value"], row["en"], row["zh"]) for row in version_table()["deterministic"])


def export_lines(sides: Iterable[str], language: Language) -> list[str]:
    """The deterministic set as lines for a shell."""
    lines: list[str] = []
    for side in sides:
        named = say.side_mindformers() if side == "mindformers" else say.side_megatron()
        lines.append(f"# {named.text(language)}")
        for variable in deterministic_variables(side):
            why = variable.zh if language == "zh" else variable.en
            lines.append(f"export {variable.name}={variable.value}  # {why}")
    return lines


_PLACES = {"torch": say.seeding_torch, "mindspore": say.seeding_mindspore}
"""Where the code belongs."""


def seeding_code(framework: str, language: Language) -> str:
    """The lines that fix every seed and switch deterministic kernels on, with the place where they belong."""
    return f"{_PLACES[framework]().text(language)}\n{SEEDING[framework]}"
