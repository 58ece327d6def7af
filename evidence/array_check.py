"""Two arrays, or two folders of them, judged: the check that the inference guide makes on dumped outputs.

The verdict of a pair is `equal` (bit for bit), `close` (within the tolerance of its precision), `different`, with
every reason by name, or `undecided` if there are no elements. `verdict_of` makes one of all. Beside it stand the three
numbers of the guide's own checker, which `by_guide` makes decisive: cosine above 0.999, the sums of magnitudes within
1% (the guide's checker forgets the side below), and the Kullback-Leibler divergence of the softmax over all elements
below 0.005.

Source: seed 003, "Precision Error"; `tests/utils/precision_utils.py:PrecisionChecker` of MindSpore Transformers 1.7.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, Literal

from ..schemas.diagnostic import UnreadableError, diagnose
from ..schemas.fast_records import NamedTuple
from ..schemas.verdict import Unseen, conclude
from .array_sums import Measured, wide
from .arrays import (
    TOLERANCES,
    agreement,
    blocks,
    coarser,
    first_difference,
    measure,
    open_numpy,
    precision_of,
    read_array,
)
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator

Verdict = Literal["equal", "close", "different", "undecided"]

GUIDE = {"cosine": 0.999, "magnitude": 0.01, "divergence": 0.005}


class GuideCheck(NamedTuple):
    """The numbers of the guide's checker; None where they do not exist."""

    cosine: float | None
    magnitude: float | None
    """Sum of magnitudes of A relative to that of B, minus one."""
    divergence: float | None

    @property
    def failures(self) -> tuple[str, ...]:
        """Names of the guide's three checks that fail."""
        found: list[str] = []
        if self.cosine is None or not self.cosine > GUIDE["cosine"]:
            found.append("cosine")
        if self.magnitude is None or not abs(self.magnitude) < GUIDE["magnitude"]:
            found.append("magnitude")
        if self.divergence is None or not self.divergence < GUIDE["divergence"]:
            found.append("divergence")
        return tuple(found)


class ArrayCheck(NamedTuple):
    """The judgement of one pair of arrays."""

    name: str
    verdict: Verdict
    reasons: tuple[str, ...]
    """`shape`, `dtype`, `empty`, `nan`, `infinite`, `far`, `element`, `widespread`, `scaled`, `cosine`, `magnitude`,
    `divergence`."""
    dtype_a: str
    dtype_b: str
    shape_a: tuple[int, ...]
    shape_b: tuple[int, ...]
    precision: str
    tolerance: float
    measured: Measured | None = None
    guide: GuideCheck | None = None
    first: tuple[int, ...] | None = None
    """The first element that is off by more than the tolerance."""
    first_values: tuple[float, float] | None = None


class Rules(NamedTuple):
    """Options of the judgement."""

    tolerance: float | None = None
    precision: str | None = None
    any_dtype: bool = False
    equal_nan: bool = False
    by_guide: bool = False


class FilesCheck(NamedTuple):
    """Every pair that was compared, and what could not be."""

    checks: tuple[ArrayCheck, ...]
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    unreadable: tuple[UnreadableError, ...] = ()


def verdict_of(found: FilesCheck) -> tuple[str, tuple[Unseen, ...]]:
    """Overall verdict of all pairs, and the parts that were not compared. Decided here only.

    | what | verdict at best |
    | --- | --- |
    | a pair is `different`; a file has no partner | different |
    | a file cannot be read; a pair has no elements | partial |
    | nothing was compared | undecided |
    """
    empty = [check.name for check in found.checks if check.verdict == "undecided"]
    unseen = [Unseen(error.diagnostic.file, *say.array_cannot_be_read().both()) for error in found.unreadable]
    unseen += [Unseen(name, *say.array_without_elements().both()) for name in empty]
    verdicts = {check.verdict for check in found.checks}
    wrong = "different" in verdicts or bool(found.only_a or found.only_b)
    fine = "close" if "close" in verdicts else "equal"
    compared = len(found.checks) - len(empty)
    return conclude(fine, "different", wrong=wrong, compared=compared, unseen=unseen), tuple(unseen)


def check_files(a: str, b: str, rules: Rules) -> FilesCheck:
    """Comparison of two files, or of all files with equal names in two folders; lists unreadable files."""
    if not (os.path.isdir(a) and os.path.isdir(b)):
        return FilesCheck((check_arrays(a, read_array(a), read_array(b), rules),))
    ours, theirs = set(_arrays_in(a)), set(_arrays_in(b))
    common = sorted(ours & theirs)
    if not common:
        raise UnreadableError(diagnose(say.no_arrays(a=a, b=b), a))
    checks: list[ArrayCheck] = []
    unreadable: list[UnreadableError] = []
    for name in common:
        try:
            one, other = (read_array(os.path.join(folder, name)) for folder in (a, b))
        except UnreadableError as error:
            unreadable.append(error)
            continue
        checks.append(check_arrays(name, one, other, rules))
    return FilesCheck(tuple(checks), tuple(sorted(ours - theirs)), tuple(sorted(theirs - ours)), tuple(unreadable))


def _arrays_in(folder: str) -> Iterator[str]:
    """Paths of all `.npy` files below a folder, relative to it."""
    for inner, _folders, files in os.walk(folder):
        for name in files:
            if name.endswith(".npy"):
                yield os.path.relpath(os.path.join(inner, name), folder)


def check_arrays(name: str, a: Any, b: Any, rules: Rules) -> ArrayCheck:
    """Comparison of array A with the benchmark B."""
    dtypes = precision_of(a), precision_of(b)
    precision = rules.precision or coarser(*dtypes)
    allowed = rules.tolerance if rules.tolerance is not None else TOLERANCES.get(precision, 0.0)
    shapes = tuple(a.shape), tuple(b.shape)
    reasons: list[str] = []
    if dtypes[0] != dtypes[1] and not rules.any_dtype:
        reasons.append("dtype")
    blank = ArrayCheck(name, "different", tuple(reasons), *dtypes, *shapes, precision, allowed)
    if shapes[0] != shapes[1]:
        return blank._replace(reasons=(*reasons, "shape"))
    if not a.size:
        return blank._replace(verdict="different" if reasons else "undecided", reasons=(*reasons, "empty"))
    measured = measure(a, b)
    judged = agreement(measured, precision, rules.tolerance, equal_nan=rules.equal_nan)
    guide = guide_check(a, b, measured, equal_nan=rules.equal_nan)
    if rules.by_guide:
        reasons += [judged.why] if judged.why in ("nan", "infinite") else guide.failures
    elif not judged.agrees:
        reasons.append(judged.why)
    verdict: Verdict = "different" if reasons else "equal" if not measured.unequal and _same_bits(a, b) else "close"
    apart = verdict == "different" and (measured.unequal or judged.why == "nan")
    first = _first(a, b, measured, allowed, rules) if apart else None
    values = None if first is None else _values(a, b, first)
    return blank._replace(
        verdict=verdict, reasons=tuple(reasons), measured=measured, guide=guide, first=first, first_values=values
    )


def _same_bits(a: Any, b: Any) -> bool:
    """True if all floats have the same bits on both sides; equal numbers may not, such as +0.0 and -0.0."""
    np = open_numpy()
    for one, other, _start in blocks(a, b):
        left, right = (np.ascontiguousarray(side) for side in (one, other))
        if "f" not in left.dtype.kind + right.dtype.kind:
            continue
        left, right = (side.astype(side.dtype.newbyteorder("="), copy=False) for side in (left, right))
        if left.dtype != right.dtype:
            left, right = wide(np, left), wide(np, right)
        if (left.reshape(-1).view(np.uint8) != right.reshape(-1).view(np.uint8)).any():
            return False
    return True


def _first(a: Any, b: Any, measured: Measured, allowed: float, rules: Rules) -> tuple[int, ...] | None:
    """Index of the first element beyond the tolerance, relative to the largest element or else to a usual one."""
    limits = (allowed * magnitude for magnitude in (measured.largest, measured.usual))
    found = (first_difference(a, b, limit, equal_nan=rules.equal_nan) for limit in limits)
    return next((place for place in found if place is not None), None)


def _values(a: Any, b: Any, at: tuple[int, ...]) -> tuple[float, float]:
    """Elements of both arrays at an index, as floats."""
    np = open_numpy()
    one, other = (float(np.asarray(side[at])) for side in (a, b))
    return one, other


def guide_check(a: Any, b: Any, measured: Measured, *, equal_nan: bool = False) -> GuideCheck:
    """The three numbers that the guide's checker computes; `b` is the golden side."""
    comparable = agreement(measured, "", 1.0, equal_nan=equal_nan).why not in ("nan", "infinite")
    divergence = _divergence(a, b, measured) if comparable else None
    return GuideCheck(measured.cosine, measured.magnitude, divergence)


def _divergence(a: Any, b: Any, measured: Measured) -> float:
    """KL(softmax(b) | softmax(a)) over all elements that are finite, in two passes."""
    np = open_numpy()
    top_a, top_b = measured.statistics_a[0], measured.statistics_b[0]
    sum_a = sum_b = 0.0
    for one, other in _finite_blocks(a, b):
        sum_a += float(np.exp(one - top_a).sum())
        sum_b += float(np.exp(other - top_b).sum())
    if not (sum_a and sum_b):
        return 0.0
    log_a, log_b = top_a + math.log(sum_a), top_b + math.log(sum_b)
    total = 0.0
    for one, other in _finite_blocks(a, b):
        share = other - log_b
        taken = np.exp(share)
        # Of nothing the divergence is nothing, however far apart the exponents are.
        total += float(np.where(taken > 0, taken * (share - (one - log_a)), 0.0).sum())
    return max(total, 0.0)


def _finite_blocks(a: Any, b: Any) -> Iterator[tuple[Any, Any]]:
    """Pairs of blocks of both arrays as float64, without positions where either is not finite."""
    np = open_numpy()
    with np.errstate(all="ignore"):
        for one, other, _start in blocks(a, b):
            left, right = wide(np, one), wide(np, other)
            finite = np.isfinite(left) & np.isfinite(right)
            yield (left, right) if finite.all() else (left[finite], right[finite])
