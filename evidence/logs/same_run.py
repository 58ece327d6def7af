"""Whether two logs are of two runs, each of its own framework: a log that is compared with its own copy shows nothing.

Two runs never take the same time for every step, so that equal bytes with a clock in them are one log, and so are logs
whose steps all took the same times and have the same losses: one was packed, cut, or has a line more. Logs whose times
were taken out may be equal.
"""

from __future__ import annotations

import os
import re
import zlib
from typing import TYPE_CHECKING

from ...mapper.schedule.explanation import NAMES
from ...schemas.border.regular import open_regular
from .columns import LOSS
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
_STEP = re.compile(
    rb"iteration +(\d+)/.*?elapsed time per iteration \(ms\): *([\d.]+)"
    rb"|Epoch:\[ *(\d+)/.*?step:\[ *(\d+)/.*?per_step_time: *(\d+)|step:\[ *(\d+)/.*?per_step_time: *(\d+)"
)
_OF_DAY = re.compile(rb"\d\d:\d\d:\d\d")
_STEPS, _DIFFERENT = 20, 10
"""So many steps of the same times, so many of which are different, are no chance."""


def same_run(a: Run, b: Run, twins: Sequence[Run] = (), recipes: Iterable[Recipe] = ()) -> Words | None:
    """Why two logs are not those of the two runs that are to be compared; None where nothing says so."""
    pairs = [(a, b), *([(twins[0], twins[1])] if len(twins) == 2 else []), *((b, twin) for twin in twins)]
    twice = next((pair for pair in pairs if _is_one_log(*pair) or _took_the_same_times(*pair)), None)
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


def _took_the_same_times(a: Run, b: Run) -> bool:
    """Whether every step that both tell of took the same time and has the same loss."""
    if "events" in (a.source, b.source) or a.framework != b.framework:
        return False
    ours, theirs = (_times(run.files) for run in (a, b))
    common = ours.keys() & theirs.keys()
    if len(common) < _STEPS or len({ours[step] for step in common}) < _DIFFERENT:
        return False
    if not all(_is_one_time(ours[step], theirs[step]) for step in common):
        return False
    # A log that begins as another one may go on as a run of its own.
    losses = dict(zip(b.steps, b.column(LOSS), strict=True))
    return all(losses.get(step, loss) == loss for step, loss in zip(a.steps, a.column(LOSS), strict=True))


def _is_one_time(ours: tuple[bytes, bytes], theirs: tuple[bytes, bytes]) -> bool:
    """Whether a step took the same time, and ended at the same one where both lines say it."""
    return ours[0] == theirs[0] and (ours[1] == theirs[1] or not (ours[1] and theirs[1]))


def _times(files: Sequence[str]) -> dict[tuple[bytes, ...], tuple[bytes, bytes]]:
    """How long each step at the beginning of a log took, and the time of day on its line."""
    found: dict[tuple[bytes, ...], tuple[bytes, bytes]] = {}
    for path in files[:1]:
        for line in _head(path).splitlines():
            took = _STEP.search(line)
            if took is None:
                continue
            *step, time = (part for part in took.groups() if part is not None)
            ended = _OF_DAY.search(line)
            found[tuple(step)] = (time, b"" if ended is None else ended[0])
    return found


def _is_one_file(one: str, other: str) -> bool:
    if os.path.samefile(one, other):
        return True
    with open_regular(one) as ours, open_regular(other) as theirs:
        while block := ours.read(_BLOCK):
            if block != theirs.read(_BLOCK):
                return False
        return not theirs.read(1)


def _has_clock(path: str) -> bool:
    return len(set(_CLOCK.findall(_head(path)))) >= _TIMES


def _head(path: str) -> bytes:
    """The beginning of a log, unpacked; nothing of one that cannot be read, which its reader has told."""
    if not os.path.isfile(path):
        return b""
    try:
        with opened(path) as stream:
            return stream.read(_HEAD)
    except (EOFError, OSError, zlib.error):
        return b""
