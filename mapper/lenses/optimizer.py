"""Lenses of the optimizer: what its AdamW part uses."""

from __future__ import annotations

from ...mappings.tables import within
from ...schemas.light_typing import TYPE_CHECKING
from .general import as_float
from .lens import OMIT, Lens, entries, items

if TYPE_CHECKING:
    from ...schemas.config import Value
    from .lens import Scope, Values, Written


def _adam(values: Values, scope: Scope) -> Value:
    """Of two keys the one that counts: Muon has its own names for what its AdamW part uses."""
    return values[1] if _is_muon(scope) else values[0]


def _is_muon(scope: Scope) -> bool:
    """Whether the side trains with Muon: where a version has none (`muon_since`), AdamW takes its place."""
    since = (entries(scope.options.get("muon_since")) or {}).get(scope.side)
    return within(scope.version, since if isinstance(since, str) else None, None) and scope.field("optimizer.type") in (
        "muon",
        "dist_muon",
    )


def _at_adam(value: Value, scope: Scope) -> Written:
    return (OMIT, value) if _is_muon(scope) else (value, OMIT)


def _betas_get(values: Values, scope: Scope) -> Values:
    listed = items(_adam(values, scope))
    return (as_float(listed[0]), as_float(listed[1])) if listed is not None and len(listed) == 2 else (None, None)


def _betas_put(values: Values, scope: Scope) -> Written:
    return _at_adam(list(values), scope)


def _epsilon_get(values: Values, scope: Scope) -> Values:
    return (as_float(_adam(values, scope)),)


def _epsilon_put(values: Values, scope: Scope) -> Written:
    return _at_adam(as_float(values[0]), scope)


LENSES = {"betas": Lens(_betas_get, _betas_put), "adam_epsilon": Lens(_epsilon_get, _epsilon_put)}
