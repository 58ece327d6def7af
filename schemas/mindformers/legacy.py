"""The legacy dialect's model section: its keys over the defaults of the class that `type` names.

The older model classes take their arguments as they are; there is no `TransformerConfig`. What the class would
default to is recorded under `resolved.model.` for the classes whose facts are known.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from .shape import is_mapping

if TYPE_CHECKING:
    from typing import Any

    from .reading import Reading

_CONFIG = "model.model_config"


def legacy_model(reading: Reading) -> None:
    """Record the class and the effective arguments of a legacy model."""
    given: dict[Any, Any] = reading.section(_CONFIG)
    kind = given.get("type")
    reading.resolve("resolved.model.class", kind, f"{_CONFIG}.type")
    facts: dict[str, Any] | None = reading.catalog["classes"].get(kind) if isinstance(kind, str) else None
    defaults: dict[str, Any] = facts["signature"] if facts is not None and facts["legacy"] else {}
    for name, default in defaults.items():
        if name not in given:
            reading.resolve(f"resolved.model.{name}", default)
    for key, value in given.items():
        if key != "type" and not is_mapping(value):
            reading.resolve(f"resolved.model.{key}", value, f"{_CONFIG}.{key}")
