"""A node of a YAML document: a value and its place; and the limits of depth and size."""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from ..source import Span


MAX_DEPTH = 100
MAX_EXPANDED = 200_000
"""How many values a file may have once its aliases are written out: an alias bomb has billions."""
SAME_VALUE = "same_value"
"""Of a key that is written twice: whether both have one value."""
KEPT_AT = "kept_at"
"""Of such a key: where the value stands that counts."""


class Node(NamedTuple):
    """A value and where it stands.

    Where the value is written as an alias (`*name`), `span` is the alias and `anchor_span` is what it stands for.
    `items` holds a mapping's values by key, merged ones included; `entries` holds a sequence's.
    """

    kind: Literal["mapping", "sequence", "scalar"]
    value: Any
    span: Span
    key_span: Span | None = None
    items: Mapping[Any, Node] = {}
    entries: tuple[Node, ...] = ()
    anchor: str | None = None
    anchor_span: Span | None = None
    text: str | None = None
    """A scalar's text before it was turned into a value."""
    plain: bool = False
    """A scalar written without quotes or block marks."""
    flow: bool = False
    """A mapping or sequence written with braces or brackets."""
    size: int = 1


def refuse_deep(text: str, loader: Any) -> None:
    """Raise `yaml.YAMLError` for a document nested deeper than people write.

    PyYAML's C loader calls itself for each level of a document, and too many end the process.
    """
    import yaml

    level = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            level += 1
            if level > MAX_DEPTH:
                mark: Any = event.start_mark
                raise yaml.MarkedYAMLError(problem=f"more than {MAX_DEPTH} levels deep", problem_mark=mark)
        elif isinstance(event, yaml.CollectionEndEvent):
            level -= 1
