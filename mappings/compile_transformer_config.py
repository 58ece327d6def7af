"""Makes `transformer_config_compiled.py` from `transformer_config.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..schemas.compilers.tables import literal_module, load_table, members
from .compile_tables import conditions
from .model import Harmless, TransformerConfigFile

SOURCE = Path(__file__).with_name("transformer_config.yaml")


def products() -> dict[str, str]:
    """The compiled module."""
    content = TransformerConfigFile.model_validate(load_table(SOURCE.read_text("utf-8")))
    reasons: list[Harmless] = list(content.reasons.values())
    places = {name: place for place, name in enumerate(content.reasons)}
    fields: list[tuple[Any, ...]] = []
    for field in content.fields:
        why: list[int] = []
        for reason in field.harmless:
            if isinstance(reason, str):
                why.append(places[reason])
            else:
                if reason not in reasons:
                    reasons.append(reason)
                why.append(reasons.index(reason))
        arguments = field.arguments or [field.name]
        fields.append(members(field, arguments=arguments, harmless=why))
    about = "The fields of both TransformerConfigs; compiled from transformer_config.yaml."
    closed = {name: (why.en, why.zh) for name, why in content.closed.items()}
    text = literal_module(about, CLOSED=closed, REASONS=tuple(map(_reason, reasons)), FIELDS=tuple(fields))
    return {"mappings/transformer_config_compiled.py": text}


def _reason(reason: Harmless) -> tuple[Any, ...]:
    own = members(reason, "en", "zh", "sources", when=conditions(reason.when))
    return (*own, reason.en, reason.zh)
