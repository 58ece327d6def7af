"""The recipe fields that each module of the model depends on, so that a divergence points at settings.

Names are Megatron-Core's, `*` for any beginning and `#` for a number; the order is that of the forward pass.
"""

from __future__ import annotations

import re

from ..schemas.fast_records import NamedTuple
from .modules_compiled import ROWS


class ModuleFields(NamedTuple):
    """A module by pattern, and what decides its output."""

    pattern: str
    fields: tuple[str, ...]


MODULES = tuple(ModuleFields(*row) for row in ROWS)


def fields_of(module: str) -> tuple[str, ...]:
    """Recipe fields on which a model module depends, by the most specific matching row."""
    best: ModuleFields | None = None
    for row in MODULES:
        if _module_regex(row.pattern).fullmatch(module) and (best is None or len(row.pattern) > len(best.pattern)):
            best = row
    if best is not None:
        return best.fields
    parent, dot, _ = module.rpartition(".")
    return fields_of(parent) if dot else ()


def _module_regex(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", r"[\w.]+").replace(r"\#", r"\d+"))
