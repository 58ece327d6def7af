"""Detection of a file's Megatron-LM version: by its tree, by the header that accmap wrote, or by its arguments."""

from __future__ import annotations

from ..diagnostic import diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple
from ..versions import known_names, name_with, number_of
from .catalog import DEFAULT_VERSION, VERSIONS
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..diagnostic import Diagnostic
    from ..message import Words
    from .catalog import Catalog

FORK = 4
"""From so many arguments on that no version knows, they are a fork's and not mistakes one by one."""
_NAMED = 3


class Chosen(NamedTuple):
    """A version that was detected, and by what."""

    version: str
    reason: Words


def by_tree(found: tuple[str, str] | None, file: str) -> tuple[Chosen | None, tuple[Diagnostic, ...]]:
    """The version that a source tree states; one that accmap does not know is said, and not used."""
    if found is None:
        return None, ()
    given, path = found
    version = name_with("megatron", number_of(given))
    if version is None:
        known = known_names("megatron")
        problem = diagnose(
            say.tree_of_unknown_version(given=given, path=path, known=known, used=DEFAULT_VERSION), file, None
        )
        return None, (problem,)
    return Chosen(version, say.tree_says(path=path, given=given)), ()


def by_known_tree(version: str, folder: str) -> Chosen:
    """The version that a fork keeps in a folder of this name."""
    return Chosen(version, say.tree_is_known(folder=folder, version=version))


def by_header(given: str) -> Chosen | None:
    """The version in a written file's header; None for an unknown one and for the default.

    The default is what it writes for where nobody has said a version, which makes it no better known.
    """
    known = given in VERSIONS and given != DEFAULT_VERSION
    return Chosen(given, say.written_for(version=given)) if known else None


def by_arguments(flags: Sequence[str], known: Catalog) -> Chosen | None:
    """The lowest version that knows as many of the flags as any, where the default knows fewer.

    `known` holds what the default version and the user's declarations know. A fork has arguments of later versions,
    too, and is none of them.
    """
    from .option_versions_compiled import OPTIONS

    masks = {flag: OPTIONS[flag] for flag in flags if flag in OPTIONS}
    strange = sum(flag not in OPTIONS and flag not in known.by_option for flag in flags)
    if not masks or strange >= FORK:
        return None
    counts = [sum(mask >> at & 1 for mask in masks.values()) for at in range(len(VERSIONS))]
    best = counts.index(max(counts))
    usual = VERSIONS.index(DEFAULT_VERSION)
    if counts[best] <= counts[usual]:
        return None
    later = [flag for flag, mask in masks.items() if mask >> best & 1 and not mask >> usual & 1]
    shown = ", ".join(later[:_NAMED]) + (", …" if len(later) > _NAMED else "")
    version = VERSIONS[best]
    return Chosen(version, say.lowest_that_knows(flags=shown))


def versions_of(flag: str) -> tuple[str, ...]:
    """The versions that know an option; none where no version does, or all do."""
    from .option_versions_compiled import OPTIONS

    mask = OPTIONS.get(flag, 0)
    return tuple(version for at, version in enumerate(VERSIONS) if mask >> at & 1)
