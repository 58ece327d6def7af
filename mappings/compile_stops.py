"""Makes `stops_compiled.py` from `stops.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from ..schemas.house_yaml import house_yaml
from ..schemas.literal_module import literal_module
from .model import StopsFile

SOURCE = Path(__file__).with_name("stops.yaml")


def products() -> dict[str, str]:
    """The compiled module."""
    content = StopsFile.model_validate(house_yaml(SOURCE.read_text("utf-8")))
    rows = tuple(
        (
            stop.name,
            stop.side,
            stop.since,
            stop.until,
            tuple(_condition(condition) for condition in stop.when),
            stop.at,
            stop.instead,
            stop.program,
            stop.rule,
            stop.en,
            stop.zh,
        )
        for stop in content.stops
    )
    about = "What loads and cannot run; compiled from stops.yaml."
    return {"mappings/stops_compiled.py": literal_module(about, STOPS=rows)}


def _condition(condition: tuple[Any, ...]) -> tuple[Any, ...]:
    field, comparison, *rest = condition
    operand = rest[0] if rest else None
    return (field, comparison, tuple(cast("list[Any]", operand)) if isinstance(operand, list) else operand)
