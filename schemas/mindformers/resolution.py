"""Loads the rows of `resolution.yaml` for a version: the values that MindSpore Transformers makes of a configuration.

The rows are compiled; `trainer.py` applies them.
"""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING, NamedTuple, named_module
from ..message import Words
from ..versions import names, newest_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ..rows import Expression, Row

VERSIONS = names("mindformers")
STAGES = {"static": ("model", "attributes", "transformer", "trainer"), "dynamic": ("dynamic checks", "dynamic")}
"""The stages whose rows stand in one module."""


class More(NamedTuple):
    """The members of a row beside its action: `Row.more`."""

    because: tuple[str, ...]
    at: str
    number: int
    """By which what the row says is found."""


class Section(NamedTuple):
    """The rows of one section, and the values to name where its code cannot compute with one."""

    fields: tuple[str, ...]
    condition: Expression | None
    rows: tuple[Row, ...]


def module_name(version: str, what: str) -> str:
    """The compiled module of a version's rows for one graph, or of their words."""
    return f"resolution_{version.replace('.', '_')}_{what}_compiled"


def _module(version: str, what: str) -> Any:
    """The same, loaded; a version that is not known has that of the one before it."""
    return named_module(module_name(newest_until(version, VERSIONS), what), __package__)


def sections(version: str, stage: str) -> tuple[Section, ...]:
    """The sections of a stage."""
    graph = next(graph for graph, stages in STAGES.items() if stage in stages)
    return _module(version, graph).STAGES[stage]


def words(version: str, row: Row, run: object) -> Words:
    """The message of a row for the values at hand."""
    texts = _module(version, "words").WORDS.get(row.more.number, ("", ""))
    return Words(*[text if isinstance(text, str) else text(run) for text in texts])


def definition(name: str) -> Callable[..., Any]:
    """A definition of the table by its name, for other programs."""
    return getattr(named_module("resolution_definitions_compiled", __package__), name)


def suggest(name: str, known: Iterable[str]) -> Words:
    """The name that was probably meant; few files need the code for it."""
    from ..suggestion import suggestion

    return suggestion(name, known)
