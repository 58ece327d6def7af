"""Whether a written value is of the kind that MindSpore Transformers computes with, and one of those it knows.

The kinds are facts of a version (`facts.yaml`, `judged.yaml`: `types` of TransformerConfig's fields, `section_types`
of the other sections, `choices`); a kind that ends in `?` may be null. Which values stop the run was tried on the real
classes (`get_model_config`, `convert_to_transformer_config`, `GPTModel`, `create_optimizer_scheduler`, 1.6-1.9).
Switches are `switches.yaml`'s.
"""

from __future__ import annotations

from math import inf

from ..light_typing import TYPE_CHECKING
from .messages_compiled import say
from .reading import Undecided
from .resolution import definition
from .switches import is_switch, switch_field
from .trainer import wrong_kind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..message import Severity
    from ..rows import Sourced
    from .reading import Reading
    from .trainer import Trainer

_TYPES = {"str": (str,), "count": (int, str), "float": (int, float)}
"""What the values of a kind are; of any other, whole numbers."""
_RANGES = {"positive": (1, inf), "seed": (0, 2**32 - 1)}
"""The least and the largest value of a kind that is not of all numbers."""
_WORDS = {"positive": "above_0", "seed": "of_32_bits", "float": "a_number", "str": "a_text"}
"""Kinds by what messages.yaml calls them; any other is a whole number."""


def fits(value: Any, kind: str) -> bool:
    """Whether a value is of a kind."""
    base = kind.rstrip("?")
    if value is None:
        return base != kind
    if type(value) not in _TYPES.get(base, (int,)):
        return False
    if base == "count" and isinstance(value, str):
        return value.strip().removeprefix("-").isdecimal()
    bounds = _RANGES.get(base)
    return bounds is None or bounds[0] <= value <= bounds[1]


def checked_fields(reading: Reading, fields: dict[str, Sourced], choices: Mapping[str, str]) -> dict[str, Sourced]:
    """The written fields of the TransformerConfig; one of the wrong kind is reported and left open."""
    values = {name: one.value for name, one in fields.items()}
    result = dict(fields)
    for name, one in fields.items():
        path = one.sources[0] if one.sources else ""
        known = one.decided and not isinstance(one.value, Undecided)
        if not known or path not in reading.places:
            continue
        if is_switch(reading, name):
            result[name] = one._replace(value=switch_field(reading, name, one.value, path))
        elif _is_wrong(reading, name, values, path, choices):
            result[name] = one._replace(value=Undecided(str(one.value)))
    return result


def _is_wrong(reading: Reading, name: str, values: Mapping[str, Any], path: str, choices: Mapping[str, str]) -> bool:
    """Report a value of another kind, or one that the code does not know; whether nothing is computed with it."""
    value, counts = values[name], bool(values.get("num_moe_experts")) or not name.startswith("moe_")
    kind: str | None = reading.catalog["types"].get(name)
    if name == "max_position_embeddings" and values.get("position_embedding_type", "rope") == "rope":
        kind = None  # learned positions and YaRN alone compute with it
    if kind is not None and not fits(value, kind):
        checked = reading.catalog["checked_without_experts"]
        return _report(reading, path, value, kind, None if counts or name in checked else "warning")
    names = choices.get(name, "").split() if counts else []
    if names and isinstance(value, str) and (value.lower() if name == "hidden_act" else value) not in names:
        wrong_kind(reading, path, value, say.one_of(known=", ".join(names)))
    return False


def check_sections(run: Trainer) -> None:
    """Report the written values outside the model that are of the wrong kind."""
    reading = run.reading
    said = {dict(problem.values).get("key") for problem in reading.problems}
    for path, kind in reading.catalog["section_types"].items():
        value = reading.get(path)
        if path in reading.places and path not in said and not isinstance(value, Undecided) and not fits(value, kind):
            _report(reading, path, value, kind)


def _report(reading: Reading, path: str, value: Any, kind: str, severity: Severity | None = None) -> bool:
    """Say that a value is of the wrong kind; the answer is whether the run stops there."""
    base = kind.rstrip("?")
    better: str = definition("better")(value) if base == "float" and isinstance(value, str) else ""
    if better:
        said = say.string_number(key=path, value=value, why=say.run_cannot(), better=better)
        reading.note(said, path, severity=severity)
    else:
        wrong_kind(reading, path, value, getattr(say, _WORDS.get(base, "a_whole_number"))(), severity)
    return True
