"""`accmap lint -j N`: the rules of several pairs in several processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..rules.subject import Side
    from ..schemas.diagnostic import Diagnostic
    from .lint import Settings


def spread(groups: Sequence[tuple[Side, ...]], settings: Settings, jobs: int) -> list[tuple[list[Diagnostic], bool]]:
    """The outcome of each group, in order."""
    from functools import partial
    from multiprocessing import get_context

    with get_context().Pool(min(jobs, len(groups))) as pool:
        return pool.map(partial(_one, settings), groups, chunksize=max(1, len(groups) // (jobs * 4)))


def _one(settings: Settings, group: tuple[Side, ...]) -> tuple[list[Diagnostic], bool]:
    from .lint import checked

    return checked(group, settings)
