"""The alignment table: which settings are simplified, why, and at which step of the ladder each comes back."""

from __future__ import annotations

import os
from functools import cache

from ...schemas.border.file_input import package_text
from ...schemas.compilers.tables import load_table
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value
    from ...schemas.diagnostic import Language

ALWAYS = "always"
"""Stands in `back` for a setting that no step gives back: it follows from the others."""


class Step(NamedTuple):
    """One rung of the ladder: a part of the real run that comes back."""

    name: str
    en: str
    zh: str

    def text(self, language: Language) -> str:
        """What comes back, for a person."""
        return self.zh if language == "zh" else self.en


class Simplification(NamedTuple):
    """One field, and what it becomes until its step gives it back."""

    field: FieldName
    value: Value
    rule: str | None
    back: str
    sources: tuple[str, ...]
    en: str
    zh: str
    variable: str | None = None
    """The environment variable that holds the field, where the launch decides it and no file."""


class AlignmentTable(NamedTuple):
    """The whole table."""

    steps: tuple[Step, ...]
    settings: tuple[Simplification, ...]
    environment: tuple[Simplification, ...]
    experiments: Mapping[str, tuple[Simplification, ...]]
    """By name: what an experiment of the guide sets on top."""
    where_lost: Mapping[str, tuple[Simplification, ...]]
    """By a field that neither side can give the other's value: what both have instead."""
    initial_weights: Mapping[str, Mapping[str, Value]]
    """By dialect: the keys of the YAML that saves one checkpoint and stops."""

    def place(self, back: str) -> int:
        """The number of the step that gives a setting back; one above the last for `always`."""
        if back == ALWAYS:
            return len(self.steps)
        return next(number for number, step in enumerate(self.steps) if step.name == back)


@cache
def alignment_table() -> AlignmentTable:
    """The table, read once."""
    content: Any = load_table(package_text(os.path.dirname(__file__), "alignment.yaml"))
    return AlignmentTable(
        tuple(Step(**step) for step in content["steps"]),
        tuple(_simplification(row) for row in content["settings"]),
        tuple(_simplification(row) for row in content["environment"]),
        _named(content["experiments"]),
        _named(content["where_lost"]),
        content["initial_weights"],
    )


def _named(content: Mapping[str, Any]) -> dict[str, tuple[Simplification, ...]]:
    return {name: tuple(_simplification({"back": ALWAYS, **row}) for row in rows) for name, rows in content.items()}


def _simplification(row: dict[str, Any]) -> Simplification:
    return Simplification(
        row["field"],
        row.get("value"),
        row.get("rule"),
        row["back"],
        tuple(row["sources"]),
        row["en"],
        row["zh"],
        row.get("name"),
    )
