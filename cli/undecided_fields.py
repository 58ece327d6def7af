"""Fields that a file leaves open, and what settles them, in words."""

from __future__ import annotations

from ..schemas.border.text_output import say
from ..schemas.fast_records import TYPE_CHECKING
from ..schemas.wording import mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..mappings.names_compiled import FieldName
    from ..schemas.diagnostic import Language
    from ..schemas.message import Words


def print_open(reasons: Mapping[FieldName, Words], language: Language) -> None:
    """Each reason after an empty line."""
    for line in open_lines(reasons, language):
        say()
        say(line)


def open_lines(reasons: Mapping[FieldName, Words], language: Language) -> Iterator[str]:
    """One line a reason, with the fields that it leaves open."""
    fields: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        fields.setdefault(reason.text(language), []).append(name)
    for reason, names in fields.items():
        yield f"? {', '.join(names)}{mark('colon', language)}{reason}"
