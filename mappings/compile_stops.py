"""Makes `stops_compiled.py` from `stops.yaml`."""

from __future__ import annotations

from pathlib import Path

from ..schemas.compilers.tables import literal_module, load_table, members
from .compile_tables import conditions
from .model import StopsFile

SOURCE = Path(__file__).with_name("stops.yaml")


def products() -> dict[str, str]:
    """The compiled module."""
    content = StopsFile.model_validate(load_table(SOURCE.read_text("utf-8")))
    rows = tuple(
        members(stop, "sources", side=side, at=at, when=conditions(stop.when))
        for stop in content.stops
        for side, at in stop.places().items()
    )
    about = "What loads and cannot run; compiled from stops.yaml."
    return {"mappings/stops_compiled.py": literal_module(about, STOPS=rows)}
