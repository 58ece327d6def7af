"""Keys of a pair that do nothing, while what they would have said is the same on both sides anyway.

Alone, a file with such a key is suspicious. Of a pair the effective values are compared, so the key is worth a warning
only where one of the fields that it means differs, or is open and cannot be compared.
"""

from __future__ import annotations

from ..mappings.tables import rows_of
from ..schemas.fast_records import TYPE_CHECKING
from .catalog_compiled import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..schemas.diagnostic import Diagnostic
    from .subject import Side, Subject

IDLE: tuple[str, ...] = ROLES["inert-key"]


def softened(subject: Subject, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings; those about a key that does nothing are remarks where it makes no difference."""
    if not any(_loud(entry) and entry.kind.code in IDLE for entry in found):
        return list(found)
    apart = {field for entry in found if _loud(entry) and entry.kind.code not in IDLE for field in entry.fields}
    names = names_of([*apart, *(field for side in subject.sides for field in _open(side))])
    return [
        entry._replace(kind=entry.kind._replace(severity="info"))
        if entry.kind.code in IDLE and _loud(entry) and not key_of(entry) & names
        else entry
        for entry in found
    ]


def _open(side: Side) -> Iterator[str]:
    """The fields that a file leaves undecided."""
    return (name for name, value in side.recipe.fields.items() if not value.decided)


def _loud(entry: Diagnostic) -> bool:
    return entry.kind.severity != "info"


def key_of(entry: Diagnostic) -> set[str]:
    """The key that a finding is about, and the name that works in its place."""
    from .keys import working_name

    values = dict(entry.values)
    key = str(values.get("key", values.get("flag", ""))).lstrip("-").replace("-", "_").rpartition(".")[2]
    return {name for name in (key, working_name(key)) if name}


def names_of(fields: Iterable[str], *, main: bool = False) -> set[str]:
    """The last parts of every key and alias of the rows of some fields, or of the first key of each alone."""
    found: set[str] = set()
    for field in set(fields):
        for row in rows_of(field):
            for side in row.megatron + row.static + row.dynamic:
                for name in (side.keys[:1] if main else side.keys) + side.aliases:
                    found.update(one.rpartition(".")[2] for one in name.split("|"))
    return found
