"""Fields that a file leaves open, and what settles them, in words."""

from __future__ import annotations

from ..schemas.border.outgoing import say
from ..schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..mappings.names_compiled import FieldName
    from ..schemas.diagnostic import Language


def print_open(reasons: Mapping[FieldName, tuple[str, str]], language: Language) -> None:
    """One line a reason, with the fields that it leaves open."""
    fields: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        fields.setdefault(reason[language == "zh"], []).append(name)
    for reason, names in fields.items():
        say()
        say(f"? {', '.join(names)}{'：' if language == 'zh' else ': '}{reason}")
