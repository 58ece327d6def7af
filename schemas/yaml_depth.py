"""A guard before PyYAML builds a document: its C loader calls itself for each level, and too many end the process."""

from __future__ import annotations

from .fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

MOST_LEVELS = 100


def refuse_deep(text: str, loader: Any) -> None:
    """`yaml.YAMLError` where a document nests deeper than anything that a person writes."""
    import yaml

    level = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            level += 1
            if level > MOST_LEVELS:
                mark: Any = event.start_mark
                raise yaml.MarkedYAMLError(problem=f"more than {MOST_LEVELS} levels deep", problem_mark=mark)
        elif isinstance(event, yaml.CollectionEndEvent):
            level -= 1
