"""Two tensors of a dump compared by what there is of them: elements, statistics, or a checksum alone.

Elements are compared in pieces (`..arrays`). Where a side kept statistics only, the norm is compared relative to
the smaller one, largest and smallest element relative to the largest magnitude of both sides, the mean relative to the
root mean square: the mean of centred data is a difference of large numbers. The ends of whole numbers are equal or not.
Statistics can agree where elements do not; the answer says which of the two was compared, and `lacking` says which of
the two one side alone has.

A NaN that both sides have in the same place is no difference, and nothing of it was compared.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ..arrays import ELEMENT, TOLERANCES, WHOLE, agreement, coarser, measure, open_numpy, precision_of, read_tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...schemas.diagnostic import Diagnostic
    from ..array_sums import Measured
    from .records import Role, Tensor

_MOST_AXES = 4
_TWO = 2
EXACT = WHOLE


class TensorResult(NamedTuple):
    """The comparison of one tensor with its partner."""

    place: str
    partner: str
    role: Role
    dtype_a: str
    dtype_b: str
    shape_a: tuple[int, ...] | None
    shape_b: tuple[int, ...] | None
    agrees: bool | None
    """None where nothing could be compared."""
    how: str
    """`elements`, `statistics`, `checksum`, `value` or empty: what was compared."""
    why: str
    """`equal`, `close`, `far`, `element`, `widespread`, `scaled`, `nan`, `infinite`, `shape`, `unreadable`, `missing`,
    `empty`, `rounding` where only checksums of two frameworks are there, and they differ."""
    error: float | None = None
    """Relative distance of the elements, or the largest relative difference of the statistics."""
    measured: Measured | None = None
    layout: str = ""
    """How b was laid out to meet a: `transposed (1, 0, 2)`, `reshaped` or `sorted`."""
    note: str = ""
    lacking: str = ""
    """`elements` or `statistics` that one side alone has, so that less was compared than could have been."""
    unreadable: Diagnostic | None = None
    """Why a file with its elements could not be read; what is left are the statistics."""


class Judge(NamedTuple):
    """Options of the judgement of tensors."""

    tolerance: float | None = None
    """One for all, instead of one by precision."""
    crossing: bool = False
    """The sides are of different frameworks: layouts may differ."""
    exact: bool = False
    """Checksums decide."""


def compare_tensors(a: Tensor, b: Tensor, judge: Judge, *, laid_out: bool = False) -> TensorResult:
    """Result of one tensor pair; `laid_out` permits rows in another order."""
    blank = TensorResult(a.place, b.place, a.role, a.dtype, b.dtype, a.shape, b.shape, None, "", "missing")
    if a.value is not None or b.value is not None:
        same = a.value == b.value or (a.value != a.value and b.value != b.value)  # NaN is the one value unlike itself
        return blank._replace(
            agrees=same, how="value", why="equal" if same else "far", note=f"{a.value!r} | {b.value!r}"
        )
    if a.path and b.path:
        try:
            return _elements(a, b, judge, blank, laid_out=laid_out)
        except UnreadableError as error:
            found = _without_elements(a, b, judge, blank)
            return found._replace(unreadable=error.diagnostic, why="unreadable" if found.agrees is None else found.why)
    found = _without_elements(a, b, judge, blank)
    return found._replace(lacking="elements") if found.how == "statistics" and (a.path or b.path) else found


def _elements(a: Tensor, b: Tensor, judge: Judge, blank: TensorResult, *, laid_out: bool) -> TensorResult:
    """Result by all elements, trying layouts that the frameworks use."""
    left, right = _read(a), _read(b)
    blank = blank._replace(
        dtype_a=a.dtype or precision_of(left), dtype_b=b.dtype or precision_of(right), how="elements",
        shape_a=tuple(left.shape), shape_b=tuple(right.shape),
    )  # fmt: skip
    if left.size != right.size or (left.shape != right.shape and not judge.crossing):
        return blank._replace(agrees=False, why="shape")
    if not left.size:
        return blank._replace(why="empty")
    precision = coarser(blank.dtype_a, blank.dtype_b)
    best = _best_layout(blank, left, right, precision, None if precision in EXACT else judge.tolerance)
    if not best.agrees and laid_out and judge.crossing and best.why in ("far", "element", "widespread", "scaled"):
        found = _compare_arrays(best, _sort_rows(left), _sort_rows(right), precision, judge.tolerance, "sorted")
        return found if found.agrees else best
    return best


def _best_layout(blank: TensorResult, left: Any, right: Any, precision: str, tolerance: float | None) -> TensorResult:
    """Result of the first axis order that agrees, else of the one with the smallest error."""
    tried: list[TensorResult] = []
    for layout, laid in _layouts(left, right):
        found = _compare_arrays(blank, left, laid, precision, tolerance, layout)
        if found.agrees is not False:
            return found
        tried.append(found)
    return min(tried, key=lambda found: found.error or 0)


def _compare_arrays(
    blank: TensorResult, left: Any, right: Any, precision: str, tolerance: float | None, layout: str
) -> TensorResult:
    """Result of two arrays in a given layout."""
    measured = measure(left, right)
    judged = agreement(measured, precision, tolerance, equal_nan=True)
    if measured.nan_both == measured.elements:
        return blank._replace(why="nan", measured=measured, layout=layout)
    return blank._replace(
        agrees=judged.agrees, why=judged.why, error=measured.relative, measured=measured, layout=layout
    )


def _read(tensor: Tensor) -> Any:
    """The elements of a tensor from its file."""
    assert tensor.path is not None
    return read_tensor(tensor.path)


def _layouts(a: Any, b: Any) -> list[tuple[str, Any]]:
    """B as it is, or with its axes permuted or reshaped to A's shape."""
    if a.shape == b.shape:
        return [("", b)]
    if a.ndim == b.ndim <= _MOST_AXES:
        orders = [
            order
            for order in itertools.permutations(range(b.ndim))
            if tuple(b.shape[axis] for axis in order) == tuple(a.shape)
        ]
        if orders:
            return [(f"transposed {order}", b.transpose(order)) for order in orders]
    return [("reshaped", b.reshape(a.shape)), *_token_orders(a, b)]


def _token_orders(a: Any, b: Any) -> Iterator[tuple[str, Any]]:
    """B with its token axis ordered by sequence or by sample, if one side merges these axes."""
    if a.shape[-1:] != b.shape[-1:]:
        return
    outer_a, outer_b = ([size for size in side.shape[:-1] if size > 1] for side in (a, b))
    if len(outer_a) == _TWO and len(outer_b) == 1:
        first, second = outer_a
        yield "tokens reordered", b.reshape((second, first, a.shape[-1])).transpose((1, 0, 2)).reshape(a.shape)
    elif len(outer_b) == _TWO and len(outer_a) == 1:
        flat = b.reshape((*outer_b, b.shape[-1]))
        yield "tokens reordered", flat.transpose((1, 0, 2)).reshape(a.shape)


def compare_routed(a: Tensor, b: Tensor, judge: Judge) -> TensorResult:
    """Result for router weights in different layouts: the non-zero weights, sorted by size.

    What can be compared whatever the arrangement are the weights that are not zero, in order of size; of statistics
    the norm and the largest.
    """
    blank = TensorResult(a.place, b.place, a.role, a.dtype, b.dtype, a.shape, b.shape, None, "", "missing")
    if not (a.path and b.path):
        ours, theirs = (side._replace(statistics=side.statistics._replace(lowest=None, mean=None)) for side in (a, b))
        return _without_elements(ours._replace(shape=None), theirs._replace(shape=None), judge, blank)
    np = open_numpy()
    try:
        left, right = (np.asarray(_read(side)).reshape(-1) for side in (a, b))
    except UnreadableError as error:
        return blank._replace(unreadable=error.diagnostic, why="unreadable")
    left, right = (np.sort(side[side != 0]) for side in (left, right))
    if left.size != right.size:
        return blank._replace(agrees=False, how="elements", why="shape", note=f"{left.size} | {right.size} weights")
    return _compare_arrays(
        blank._replace(how="elements"), left, right, coarser(a.dtype, b.dtype), judge.tolerance, "sorted"
    )


def _sort_rows(array: Any) -> Any:
    """Array with each row's elements sorted, for rows of unknown arrangement."""
    np = open_numpy()
    return np.sort(np.asarray(array).reshape(-1)) if array.ndim <= 2 else np.sort(np.asarray(array), axis=-1)


def _without_elements(a: Tensor, b: Tensor, judge: Judge, blank: TensorResult) -> TensorResult:
    """Result by shapes, checksums and statistics, if one side has no elements."""
    ours, theirs = a.statistics, b.statistics
    if None not in (a.shape, b.shape) and a.shape != b.shape and not _same_size(a, b, judge):
        return blank._replace(agrees=False, why="shape")
    if ours.checksum is not None and theirs.checksum is not None:
        if ours.checksum == theirs.checksum:
            return blank._replace(agrees=True, how="checksum", why="equal", error=0.0)
        if judge.exact or not judge.crossing or ours.norm is None or theirs.norm is None:
            # Those of two frameworks differ by rounding alone; whole numbers are not rounded.
            if judge.crossing and not judge.exact and not (a.dtype == b.dtype and a.dtype in EXACT):
                return blank._replace(how="checksum", why="rounding")
            return blank._replace(agrees=False, how="checksum", why=_not_finite(a, b) or "far")
    precision = coarser(a.dtype, b.dtype)
    allowed = judge.tolerance if judge.tolerance is not None else TOLERANCES.get(precision, TOLERANCES["float32"])
    return _statistics(a, b, allowed, blank._replace(how="statistics"))


def _same_size(a: Tensor, b: Tensor, judge: Judge) -> bool:
    """True if two frameworks' tensors have equal numbers of elements."""
    assert a.shape is not None
    assert b.shape is not None
    return judge.crossing and math.prod(a.shape) == math.prod(b.shape)


def _statistics(a: Tensor, b: Tensor, allowed: float, blank: TensorResult) -> TensorResult:
    """Result by maximum, minimum, mean and norm."""
    pairs = list(zip(a.statistics[:4], b.statistics[:4], strict=True))
    known = [(one, other) for one, other in pairs if one is not None and other is not None]
    if not known:
        return blank._replace(how="", why="empty" if all(0 in (side.shape or ()) for side in (a, b)) else "missing")
    if not_finite := _not_finite(a, b):
        return blank._replace(agrees=False, why=not_finite)
    if any(math.isnan(one) for one, _ in known):
        return blank._replace(why="nan")
    if len(known) < sum(pair != (None, None) for pair in pairs):
        blank = blank._replace(lacking="statistics")
    error, beyond = _furthest(a, b, allowed)
    if beyond:
        return blank._replace(agrees=False, why="far", error=error, note=beyond)
    return blank._replace(agrees=True, why="equal" if error == 0 else "close", error=error)


def _furthest(a: Tensor, b: Tensor, allowed: float) -> tuple[float, str]:
    """Largest relative difference of the statistics, and the name of the worst one beyond tolerance."""
    error, furthest, beyond = 0.0, 1.0, ""
    for name, one, other, scale, factor in _scaled_rows(a, b):
        relative = relative_error(abs(one - other), scale) if math.isfinite(one) else 0.0
        error = max(error, relative / (factor or 1.0))
        share = relative_error(relative, factor * allowed)
        if share > furthest:
            furthest, beyond = share, f"{name}: {one:.6g} | {other:.6g}"
    return error, beyond


def relative_error(difference: float, scale: float) -> float:
    """Difference divided by a scale; infinite if the scale is 0."""
    return difference / scale if scale else math.inf if difference else 0.0


def _not_finite(a: Tensor, b: Tensor) -> str:
    """`nan` or `infinite` if only one side's statistics have it; else empty."""
    for one, other in zip(a.statistics[:4], b.statistics[:4], strict=True):
        if one is None or other is None:
            continue
        if math.isnan(one) != math.isnan(other):
            return "nan"
        if (math.isinf(one) or math.isinf(other)) and one != other:
            return "infinite"
    return ""


def _scaled_rows(a: Tensor, b: Tensor) -> list[tuple[str, float, float, float, float]]:
    """Each statistic's name, both values, its scale and its number of tolerances.

    Relative to the smaller side: a further error would enlarge the larger one, and with it what passes.
    """
    ours, theirs = a.statistics, b.statistics
    exact = coarser(a.dtype, b.dtype) in EXACT
    ends = (ours.highest, theirs.highest), (ours.lowest, theirs.lowest)
    largest = max((smaller_end(one, other) for one, other in ends), default=0.0)
    norm = None if ours.norm is None or theirs.norm is None else min(ours.norm, theirs.norm)
    elements = math.prod(a.shape) if a.shape is not None else 0
    spread = largest if norm is None or not elements else norm / math.sqrt(elements)
    rows = [
        ("norm", ours.norm, theirs.norm, norm or 0.0, 1.0),
        ("max", ours.highest, theirs.highest, largest, 0.0 if exact else ELEMENT),
        ("min", ours.lowest, theirs.lowest, largest, 0.0 if exact else ELEMENT),
        ("mean", ours.mean, theirs.mean, spread, 1.0),
    ]
    return [
        (name, one, other, scale, factor)
        for name, one, other, scale, factor in rows
        if one is not None and other is not None
    ]


def smaller_end(one: float | None, other: float | None) -> float:
    """Smaller absolute value of two; 0 if one is unknown or not finite."""
    if one is None or other is None or not (math.isfinite(one) and math.isfinite(other)):
        return 0.0
    return min(abs(one), abs(other))
