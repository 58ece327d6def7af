"""A rule and its findings: places named symbolically, a message's values, and a repair.

A rule never touches a line or a column. It names a recipe field, a key, an environment variable or the launch, and
`places.py` turns that into a span once, at the end: where the value stands, or where it would be written.
"""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Literal, TypeAlias

    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Framework
    from ..schemas.diagnostic import Confidence, Severity
    from ..schemas.source import Span
    from .subject import Side, Subject

Scope: TypeAlias = "Literal['pair', 'megatron', 'mindformers', 'any', 'inference']"
RuleKind: TypeAlias = "Literal['rule', 'checklist-item', 'advisory']"
PlaceKind: TypeAlias = "Literal['field', 'key', 'environment', 'launch', 'file', 'span']"


class Place(NamedTuple):
    """A place in one of the two files, by name."""

    side: Side | Framework
    """The file, or its framework where one file of the pair has it."""
    kind: PlaceKind
    name: str = ""
    span: Span | None = None


class Note(NamedTuple):
    """A second place of a finding, and what is to be seen there in both languages."""

    at: Place
    en: str
    zh: str
    repeats: str = ""
    """The side (`a` or `b`) whose key and value the message has, so that the place is all that is new here."""


class Change(NamedTuple):
    """One change of a file. `set` replaces the value at a key, or writes the key where it is missing."""

    kind: Literal["set", "replace", "delete"]
    at: Place
    text: str = ""
    """The new value of a YAML's key, as text."""
    words: tuple[str, ...] = ()
    """The flag and its words that a script's argument becomes."""


class Repair(NamedTuple):
    """Changes that mend a finding; `unsafe` ones change what the run does."""

    applicability: Literal["safe", "unsafe"]
    changes: tuple[Change, ...]


class Found(NamedTuple):
    """One occurrence of a rule. `variant` picks among the rule's messages where it has several."""

    at: Place
    values: Mapping[str, object] = {}
    notes: tuple[Note, ...] = ()
    fields: tuple[str, ...] = ()
    repair: Repair | None = None
    alternatives: tuple[Repair, ...] = ()
    """Other repairs of a difference, each enough by itself; the engine picks the one that changes side b."""
    variant: str = ""
    severity: Severity | None = None


class Rule(NamedTuple):
    """A rule as the engine runs it.

    `messages` holds an English and a Chinese sentence for each variant. `check` is a function, or its place as
    `module:function`, which is imported only when the rule is about to run. A rule of another distribution gives
    its function, whose docstring (under the headings *What it checks*, *Why it matters*, *Example*, *Use instead*,
    *Source*) is its documentation.
    """

    code: str
    name: str
    severity: Severity
    scope: Scope
    messages: Mapping[str, tuple[str, str]]
    check: Callable[[Subject], Iterable[Found]] | str
    profiles: tuple[str, ...] = ("align", "train")
    fields: tuple[str, ...] = ()
    kind: RuleKind = "rule"
    confidence: Confidence = "high"
    sources: tuple[str, ...] = ()
    fixable: bool = False
    effect: str = ""
    """Of an error that is not about a pair: `numbers`, where the run does not stop."""


def on(side: Side | Framework, field: FieldName) -> Place:
    """The place of a recipe field on one side."""
    return Place(side, "field", field)


def at_key(side: Side | Framework, key: str) -> Place:
    """The place of a framework's own key: an argument's destination, or a dotted path."""
    return Place(side, "key", key)


def at_environment(side: Side | Framework, name: str) -> Place:
    """The place where an environment variable is set, or the launch."""
    return Place(side, "environment", name)


def at_span(side: Side | Framework, span: Span) -> Place:
    """A place that the reader already knows."""
    return Place(side, "span", "", span)
