"""Whether a conversion's record says that two folders hold the same weights.

Every conversion leaves `accmap-weights.json`: from which folder, in which state, with which number type, and the
checksum of each file. Two folders are known to be equal where one was converted from the other, or both from one
third, nothing was changed since, and the number types are the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from .conversion import state_of
from .messages_compiled import say
from .places import checkpoint_at
from .writing import MANIFEST, check_manifest, read_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ...schemas.message import Words


class Record(NamedTuple):
    """Whether two folders hold the same weights, and why."""

    same: bool
    why: Words


def recorded(a: str, b: str) -> Record:
    """What the records of two folders say; UnreadableError where a record cannot be read."""
    found = {folder: _conversion(folder) for folder in (a, b)}
    made = {folder: about for folder, about in found.items() if about is not None}
    if not made:
        return Record(False, say.no_conversion_recorded(a=a, b=b, record=MANIFEST))
    for folder in made:
        if check_manifest(folder):
            return Record(False, say.not_as_converted(folder=folder))
    for folder, about in made.items():
        if not _as_it_was(about, folder):
            return Record(False, say.source_changed_since(source=about.get("source"), folder=folder))
    gone = next((folder for folder in (a, b) if not os.path.exists(folder)), None)
    if gone is not None:
        return Record(False, say.folder_gone(folder=gone))
    if len(made) == 2:
        return _from_one_source(a, b, made[a], made[b])
    ((folder, about),) = made.items()
    return _from_the_other(folder, b if folder == a else a, about)


def _from_one_source(a: str, b: str, one: Mapping[str, Any], two: Mapping[str, Any]) -> Record:
    if one.get("source") != two.get("source"):
        return Record(False, say.converted_from_different(a=a, b=b))
    types = one.get("dtype"), two.get("dtype")
    if types[0] != types[1]:
        return Record(False, say.written_as_other_types(a=a, first=types[0], b=b, second=types[1]))
    source = one.get("source")
    if one.get("source_state") != two.get("source_state"):
        return Record(False, say.source_changed_between(source=source, a=a, b=b))
    return Record(True, say.converted_from_one(source=source))


def _from_the_other(folder: str, other: str, about: Mapping[str, Any]) -> Record:
    source, dtype = about.get("source"), about.get("dtype")
    if source not in _places(other):
        return Record(False, say.converted_from_another(folder=folder, source=source, other=other))
    if dtype is not None:
        return Record(False, say.cast_on_one_side(folder=folder, dtype=dtype, other=other))
    return Record(True, say.converted_from_the_other(folder=folder, other=other))


def _places(folder: str) -> set[str]:
    """The folder, and that of the iteration which its tracker names, from where a conversion reads it."""
    found = checkpoint_at(folder)
    return {os.path.abspath(folder), *([] if found is None else [os.path.abspath(found.folder)])}


def _conversion(folder: str) -> Mapping[str, Any] | None:
    path = os.path.join(folder, MANIFEST)
    if not os.path.isfile(path):
        return None
    manifest = read_manifest(path)
    return manifest["conversion"] if manifest["state"]["complete"] else None


def _as_it_was(about: Mapping[str, Any], output: str) -> bool:
    """Whether the source still is what was converted; a source that is gone contradicts nothing."""
    source = str(about.get("source"))
    return not os.path.exists(source) or state_of(source, output) == about.get("source_state")
