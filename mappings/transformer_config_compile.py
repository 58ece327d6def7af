"""Writes `transformer_config_compiled.py` from its YAML: `python -m accmap.mappings.transformer_config_compile`."""

from __future__ import annotations

from pathlib import Path
from pprint import pformat
from typing import Any, cast

import yaml

from .model import Harmless, TransformerConfigFile

SOURCE = Path(__file__).with_name("transformer_config.yaml")
TARGET = Path(__file__).with_name("transformer_config_compiled.py")
_HEAD = '"""The fields of both TransformerConfigs; compiled from the YAML beside it, do not edit."""'


def compiled() -> str:
    """The text of the compiled module."""
    content = TransformerConfigFile.model_validate(yaml.safe_load(SOURCE.read_text("utf-8")))
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
        fields.append(
            (
                field.name,
                tuple(field.arguments or [field.name]),
                field.take,
                tuple(field.values),
                field.here,
                field.asked,
                field.latent,
                field.since_megatron,
                field.until_megatron,
                tuple(field.about),
                tuple(why),
            )
        )
    parts = [_HEAD, "", "from __future__ import annotations", "", "TYPE_CHECKING = False", "if TYPE_CHECKING:"]
    parts += ["    from typing import Any", ""]
    for name, value in (("REASONS", tuple(_reason(one) for one in reasons)), ("FIELDS", tuple(fields))):
        parts.append(f"{name}: Any = {pformat(value, width=160, compact=True)}")
    return "\n".join(parts) + "\n"


def _reason(reason: Harmless) -> tuple[Any, ...]:
    return (
        tuple(_condition(condition) for condition in reason.when),
        None if reason.megatron is None else tuple(reason.megatron),
        None if reason.mindformers is None else tuple(reason.mindformers),
        reason.dialect,
        reason.since,
        reason.until,
        reason.en,
        reason.zh,
    )


def _condition(condition: tuple[Any, ...]) -> tuple[Any, ...]:
    field, comparison, *rest = condition
    operand = rest[0] if rest else None
    return (field, comparison, tuple(cast("list[Any]", operand)) if isinstance(operand, list) else operand)


if __name__ == "__main__":
    TARGET.write_text(compiled(), "utf-8")
