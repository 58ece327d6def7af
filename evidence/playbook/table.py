"""The guide's stages and checks as `stages.yaml` has them."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from ...schemas.border.file_input import package_text
from ...schemas.compilers.tables import load_table
from ...schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...mappings.tables import Condition
    from ...schemas.diagnostic import Language
    from .launches import Action


class Answer(NamedTuple):
    """The JSON file that a long command wrote, and what in it decides."""

    file: str
    key: str
    good: str
    has: tuple[str, ...] = ()
    """What such a file cannot lack: the numbers that the answer rests on."""
    open: str = ""
    """The answer that decides nothing: it could not be found out here."""
    why: str = ""
    """The list whose first entry says why, as `reason` and `explanation`."""


class Check(NamedTuple):
    """One thing to be established, as the table has it or (after `filled`) for one pair."""

    id: str
    title: Mapping[str, str]
    accept: Mapping[str, str]
    otherwise: Mapping[str, str]
    sources: tuple[str, ...]
    do: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    judge: tuple[str, ...] = ()
    answer: Answer | None = None
    ticks: str | None = None
    prepare: tuple[str, ...] = ()
    each: str | None = None
    optional: bool = False
    when: tuple[Condition, ...] = ()

    steps: tuple[Action, ...] = ()
    """`do` for one pair."""

    def actions(self, language: Language) -> tuple[str, ...]:
        """Lines for a person, with the remarks in one language."""
        said = f"# {language}: "
        lines = [(action.kind, action.line) for action in self.steps]
        return tuple(
            line if kind != "remark" else f"# {line.removeprefix(said)}"
            for kind, line in lines
            if kind != "remark" or line.startswith(said)
        )


class Stage(NamedTuple):
    """Some checks that belong together, and the accmap commands that write the stage's files."""

    id: str
    number: int
    title: Mapping[str, str]
    aim: Mapping[str, str]
    checks: tuple[Check, ...]
    prepare: tuple[tuple[str, ...], ...] = ()
    writes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Files that hold what a command prints."""

    @property
    def folder(self) -> str:
        """The stage's own folder."""
        return f"{self.number}-{self.id}"


@cache
def stages() -> tuple[Stage, ...]:
    """The whole table, read once."""
    content: Any = load_table(package_text(os.path.dirname(__file__), "stages.yaml"))
    return tuple(_stage(number, row) for number, row in enumerate(content["stages"], start=1))


@cache
def patches() -> dict[str, str]:
    """The files of code for the frameworks' side, by path."""
    return load_table(package_text(os.path.dirname(__file__), "patches.yaml"))


def _stage(number: int, row: dict[str, Any]) -> Stage:
    return Stage(
        row["id"],
        number,
        {"en": row["en"], "zh": row["zh"]},
        row["aim"],
        tuple(_check(entry) for entry in row["checks"]),
        tuple(tuple(words) for words in row.get("prepare", ())),
        tuple((file, tuple(words)) for file, words in row.get("writes", {}).items()),
    )


def _check(row: dict[str, Any]) -> Check:
    conditions = [
        (field, comparison, operand[0] if operand else None) for field, comparison, *operand in row.get("when", [])
    ]
    return Check(
        row["id"],
        {"en": row["en"], "zh": row["zh"]},
        row["accept"],
        row["else"],
        tuple(row["sources"]),
        tuple(row.get("do", ())),
        tuple(row.get("needs", ())),
        tuple(row.get("judge", ())),
        Answer(**row["answer"]) if "answer" in row else None,
        row.get("ticks"),
        tuple(row.get("prepare", ())),
        row.get("each"),
        row.get("optional", False),
        tuple(conditions),
    )
