"""The lines to insert on both sides, and where."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from ...schemas.border.incoming import package_text
from ...schemas.compilers.tables import load_table
from ...schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .config_request import Side


class Insertion(NamedTuple):
    """Lines of code, and the place in the framework's own file where they belong."""

    side: Side
    file: str
    within: str
    where: str
    """`before` or `after`."""
    anchor: str
    code: str
    en: str
    zh: str


def insertions(dialect: str, parts: int, configs: dict[Side, str]) -> tuple[Insertion, ...]:
    """Every insertion of a pair; `parts` is how many models a rank of Megatron-LM holds."""
    model = "unwrap_model(model)" if parts > 1 else "unwrap_model(model)[0]"
    return (
        *_of("megatron", "megatron", configs["megatron"], model),
        *_of(dialect, "mindformers", configs["mindformers"]),
    )


def _of(block: str, side: Side, config: str, model: str = "") -> Iterator[Insertion]:
    for row in _table()[block]:
        key = "before" if "before" in row else "after"
        code = row["code"].replace("{config}", config).replace("{model}", model)
        yield Insertion(side, row["file"], row["within"], key, row[key], code, row["en"], row["zh"])


@cache
def _table() -> Any:
    return load_table(package_text(os.path.dirname(__file__), "insertions.yaml"))
