"""A configuration's value as the contract writes it in JSON."""

from __future__ import annotations

import math


def json_value(value: object) -> object:
    """A value as the contract writes it: not-a-number and the infinities are strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if isinstance(value, dict):
        return {str(key): json_value(entry) for key, entry in value.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, (list, tuple)):
        return [json_value(entry) for entry in value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    # YAML also has dates and bytes: they are shown as written.
    return str(value)
