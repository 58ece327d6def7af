"""The table of the modules that both models are built of (`modules.yaml`)."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from ...schemas.border.incoming import package_text
from ...schemas.compilers.tables import load_table
from .compare_names import module_path

_BLOCKS = ("decoder.layers.*", "mtp.layers.*.transformer_layer")
"""What `{block}` stands for, the number of the layer left open."""


@cache
def module_table() -> Any:
    """`modules.yaml`, read once."""
    return load_table(package_text(os.path.dirname(__file__), "modules.yaml"))


@cache
def shared_modules() -> frozenset[str]:
    """The paths of the modules that both frameworks have, `*` for the number of a layer."""
    rows = [row for row in module_table()["modules"] if row.get("megatron_at", row["at"]) is not None]
    places = (row["at"].replace("{layer}", "*") for row in rows)
    return frozenset(module_path(place.replace("{block}", block)) for place in places for block in _BLOCKS)
