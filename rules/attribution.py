"""Which of several values is at fault where a framework refuses what they make together.

A file alone cannot say whether 2,048 tokens are too many or 1,024 positions too few; the other framework's file can:
the value that it has otherwise was changed.
"""

from __future__ import annotations

import re

from ..mapper.recipe.reading import side_of
from ..mappings.tables import table
from ..schemas.diagnostic import Related
from ..schemas.fast_records import TYPE_CHECKING
from .catalog_compiled import ROLES
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..schemas.config import Setting
    from ..schemas.diagnostic import Diagnostic
    from .subject import Side, Subject

_SAID = ("condition", "why")
_NAME = re.compile(r"\w+")


def at_fault(subject: Subject, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings, with each refusal at the one value of it that the other side has otherwise."""
    differing = {entry.fields[0] for entry in found if len(entry.fields) == 1 and entry.related}
    return [
        _moved(subject, entry, differing) if differing and entry.kind.code in ROLES["disputed-values"] else entry
        for entry in found
    ]


def _named(side: Side, entry: Diagnostic) -> set[str]:
    """The settings that a sentence names, and what those are worked out from."""
    values = dict(entry.values)
    names = set(_NAME.findall(" ".join(str(values.get(key, "")) for key in _SAID)))
    for name in tuple(names):
        made = side.setting(name)
        if made is not None and made.origin == "derived":
            names.update(made.derived_from)
    return names


def _moved(subject: Subject, entry: Diagnostic, differing: set[str]) -> Diagnostic:
    side = next((one for one in subject.sides if one.config.file == entry.file), None)
    if side is None:
        return entry
    names = _named(side, entry)
    other: list[Setting] = []
    for setting in side.config.settings.values():
        if setting.span is None:
            continue
        fields = decided_by(side, setting.key)
        named = setting.key.rpartition(".")[2] in names if names else not set(entry.fields).isdisjoint(fields)
        if named and not differing.isdisjoint(fields):
            other.append(setting)
    if len(other) != 1 or other[0].span == entry.span:
        return entry
    return _at(entry, other[0])


def _at(entry: Diagnostic, setting: Setting) -> Diagnostic:
    """A finding at one of the values that it is about; the place that it had is a further one."""
    related = [one for one in entry.related if one.span != setting.span]
    if entry.span is not None and entry.span[:2] != entry.span[2:4]:
        related.insert(0, Related(entry.file, entry.span, *say.together_with_this().both()))
    return entry._replace(span=setting.span, related=tuple(related))


def decided_by(side: Side, key: str) -> list[str]:
    """The fields that a key decides before all others."""
    found: list[str] = []
    for row in table().rows:
        wanted = row.side(side_of(side.config), side.config.framework_version)
        if wanted is None:
            continue
        names = [name for one in (*wanted.keys[:1], *wanted.read[:1]) for name in one.split("|")]
        if key in names or (len(wanted.keys) == 1 and key in wanted.aliases):
            found += row.fields
    return found
