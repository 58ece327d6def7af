"""Whether two logs are of two runs, each of its own framework: a log that is compared with its own copy shows nothing.

Two runs never take the same time for every step, so that equal bytes with a clock in them are one log; logs whose times
were taken out may be equal.
"""

from __future__ import annotations

import os
import re
import zlib
from typing import TYPE_CHECKING

from ...mapper.schedule.explanation import NAMES
from ...schemas.border.regular import open_regular
from .messages_compiled import say
from .sources import opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...mapper.recipe.values import Recipe
    from ...schemas.message import Words
    from .run import Run

_CLOCK = re.compile(rb"elapsed time per iteration \(ms\): *[\d.]+|per_step_time: *\d+|\d\d:\d\d:\d\d")
_HEAD = 1 << 16
_BLOCK = 1 << 20
_TIMES = 3
"""So many different times in a log are a clock's."""


def same_run(a: Run, b: Run, twins: Sequence[Run] = (), recipes: Iterable[Recipe] = ()) -> Words | None:
    """Why two logs are not those of the two runs that are to be compared; None where nothing says so."""
    pairs = [(a, b), *([(twins[0], twins[1])] if len(twins) == 2 else []), *((b, twin) for twin in twins)]
    twice = next((pair for pair in pairs if _is_one_log(*pair)), None)
    if twice is not None:
        return say.runs_one(a=twice[0].name, b=twice[1].name)
    configured = {recipe.framework for recipe in recipes}
    if a.framework != b.framework or a.framework not in NAMES or not configured or configured == {a.framework}:
        return None
    others = " + ".join(NAMES[one] for one in sorted(configured) if one in NAMES)
    return say.runs_framework(a=a.name, b=b.name, framework=NAMES[a.framework], others=others)


def _is_one_log(a: Run, b: Run) -> bool:
    """Whether both are read from the same bytes, which only one run can have written."""
    if len(a.files) != len(b.files) or not all(map(os.path.isfile, (*a.files, *b.files))):
        return False
    if any(os.path.getsize(one) != os.path.getsize(other) for one, other in zip(a.files, b.files, strict=True)):
        return False
    return all(_is_one_file(one, other) for one, other in zip(a.files, b.files, strict=True)) and (
        a.source == "events" or os.path.samefile(a.files[0], b.files[0]) or _has_clock(a.files[0])
    )


def _is_one_file(one: str, other: str) -> bool:
    if os.path.samefile(one, other):
        return True
    with open_regular(one) as ours, open_regular(other) as theirs:
        while block := ours.read(_BLOCK):
            if block != theirs.read(_BLOCK):
                return False
        return not theirs.read(1)


def _has_clock(path: str) -> bool:
    try:
        with opened(path) as stream:
            return len(set(_CLOCK.findall(stream.read(_HEAD)))) >= _TIMES
    except (EOFError, OSError, zlib.error):
        return False  # the reader has told what is wrong with it
