"""Writes `stops_compiled.py` from its YAML: `python -m accmap.mappings.stops_compile`."""

from __future__ import annotations

from pathlib import Path
from pprint import pformat
from typing import Any, cast

import yaml

from .model import StopsFile

SOURCE = Path(__file__).with_name("stops.yaml")
TARGET = Path(__file__).with_name("stops_compiled.py")
_HEAD = '"""What loads and cannot run; compiled from the YAML beside it, do not edit."""'


def compiled() -> str:
    """The text of the compiled module."""
    content = StopsFile.model_validate(yaml.safe_load(SOURCE.read_text("utf-8")))
    rows = tuple(
        (
            stop.name,
            stop.side,
            stop.since,
            stop.until,
            tuple(_condition(condition) for condition in stop.when),
            stop.at,
            stop.instead,
            stop.rule,
            stop.en,
            stop.zh,
        )
        for stop in content.stops
    )
    parts = [_HEAD, "", "from __future__ import annotations", "", "TYPE_CHECKING = False", "if TYPE_CHECKING:"]
    parts += ["    from typing import Any", "", f"STOPS: Any = {pformat(rows, width=160, compact=True)}"]
    return "\n".join(parts) + "\n"


def _condition(condition: tuple[Any, ...]) -> tuple[Any, ...]:
    field, comparison, *rest = condition
    operand = rest[0] if rest else None
    return (field, comparison, tuple(cast("list[Any]", operand)) if isinstance(operand, list) else operand)


if __name__ == "__main__":
    TARGET.write_text(compiled(), "utf-8")
