"""More error never makes the verdict on two arrays better; and what is the same in another form is the same."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from accmap.evidence import arrays
from accmap.evidence.array_check import Rules, check_arrays
from accmap.evidence.arrays import TOLERANCES, agreement, from_bfloat16, measure, read_array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Array = Any
Random = np.random.Generator

ORDER = {"equal": 0, "close": 1, "undecided": 2, "different": 3}
FEW, MANY = 100, 1000
TYPES = ("float64", "float32", "float16", "bfloat16")
SIZES = (1, 3, 7, 64, 65, 300, 4097)


def stored(values: Array, kind: str) -> Array:
    """Values as an array of a number type; bfloat16 as its file is read."""
    if kind != "bfloat16":
        with np.errstate(over="ignore"):  # enormous values are infinite in float16
            return values.astype(kind)
    bits = values.astype(np.float32).view(np.uint32)
    return from_bfloat16(((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16))


def drawn(random: Random, kind: str) -> Array:
    """Values as models have them: of one size, with a few enormous ones, mostly zeros, or all the same."""
    size = int(random.choice(SIZES))
    values = random.standard_normal(size)
    form = random.choice(["plain", "outliers", "sparse", "constant", "ranged"])
    if form == "outliers":
        values[random.integers(0, size, max(1, size // 500))] *= 10.0 ** random.integers(2, 7)
    elif form == "sparse":
        values *= random.random(size) < 0.1
    elif form == "constant":
        values[:] = values[0]
    elif form == "ranged":
        values *= 10.0 ** random.uniform(-6, 0, size)
    return values * (10.0 ** random.integers(-170, 200) if kind == "float64" else 1.0)


def errors(random: Random, values: Array, tolerance: float) -> Iterator[Array]:
    """Errors that grow: each is at least the one before in every element, to the same side."""
    size, scale = values.size, abs(values).max() or 1.0
    usual = np.median(abs(values[values != 0])) if values.any() else 1.0
    error = np.zeros(size)
    for _ in range(6):
        kind = random.choice(["one", "some", "all", "factor", "grow", "largest"])
        amount = tolerance * 10.0 ** random.uniform(-1.5, 1.5) * random.choice([scale, usual])
        if kind == "grow":
            error = error * random.uniform(1.0, 4.0)
            yield error
            continue
        share = {"one": 0.0, "some": 0.3}.get(str(kind), 1.0)
        where = random.random(size) < share
        where[random.integers(size)] = True
        more = np.full(size, amount)
        if kind == "factor":
            more = tolerance * random.uniform(0.1, 2) * values
        if kind == "largest":
            where = abs(values) == scale
        sides = np.where(
            error == 0, np.where(values == 0, 1.0, np.sign(values) * random.choice([-1, 1])), np.sign(error)
        )
        error = error + np.where(where, sides * abs(more), 0.0)
        yield error


def verdict(a: Array, b: Array) -> tuple[int, str]:
    found = check_arrays("x", a, b, Rules(any_dtype=True))
    return ORDER[found.verdict], ", ".join((found.verdict, *found.reasons))


def violations(count: int, seed: int) -> list[str]:
    """Pairs of one array with errors that grow, whose verdicts do not."""
    random = np.random.default_rng(seed)
    found: list[str] = []
    for number in range(count):
        kind = TYPES[number % len(TYPES)]
        values = np.asarray(stored(drawn(random, kind), kind)).astype(np.float64)
        a, last, told = stored(values, kind), -1, ""
        for error in errors(random, values, TOLERANCES[kind]):
            with np.errstate(all="ignore"):
                b = stored(values + error, kind)
            rank, says = verdict(a, b)
            if rank < last:
                found.append(f"{number}: {kind}, {values.size} elements: {told} before {says}")
            if verdict(b, a)[0] != rank:
                found.append(f"{number}: {kind}: {says}, and not so with the sides swapped")
            last, told = rank, says
    return found


def test_more_error_is_not_better() -> None:
    assert violations(FEW, 1) == []


@pytest.mark.slow
def test_more_error_is_not_better_in_a_thousand_arrays() -> None:
    assert violations(MANY, 2) == []


@pytest.mark.parametrize("noise", [0.0, 0.005, 0.01, 0.02])
@pytest.mark.parametrize("factor", [0.982, 1.018])
def test_noise_hides_no_factor(factor: float, noise: float) -> None:
    random = np.random.default_rng(3)
    a = random.standard_normal(50_000)
    assert agreement(measure(a, a * factor + noise * random.standard_normal(a.size)), "bfloat16").why == "scaled"


@pytest.mark.parametrize("enormous", [1e3, 1e6, 1e30])
@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_one_enormous_element_hides_no_others(enormous: float, kind: str, share: float) -> None:
    random = np.random.default_rng(4)
    values = random.standard_normal(4097)
    wrong = np.where(random.random(values.size) < share, values * 0.5, values)
    values[17] = wrong[17] = enormous
    found = check_arrays("x", stored(values, kind), stored(wrong, kind), Rules())
    assert found.verdict == "different"
    assert found.first is not None
    # Rounding beside it is none: of each element, as of a sum that the enormous one is in.
    rounded = values * (1 + TOLERANCES[kind] / 4 * random.standard_normal(values.size))
    assert check_arrays("x", stored(values, kind), stored(rounded, kind), Rules()).verdict == "close"


@pytest.mark.parametrize("share", [0.2, 0.3])
def test_a_quarter_of_the_elements_decides(share: float) -> None:
    values = np.ones(1000)
    wrong = values.copy()
    wrong[: int(share * values.size)] = 1.2
    values[-1] = wrong[-1] = 1e6
    why = agreement(measure(values, wrong), "bfloat16").why
    assert why == ("widespread" if share > 0.25 else "close")
    wrong[wrong == 1.2] = 1.11  # below four tolerances of 3%
    assert agreement(measure(values, wrong), "bfloat16").why == "close"


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-30, 1.0, 1e30, 1e200, 1e300])
@pytest.mark.parametrize("off", [0.0, 1e-3, 1.0])
def test_sums_neither_overflow_nor_vanish(scale: float, off: float) -> None:
    random = np.random.default_rng(5)
    a = random.standard_normal(2000)
    b = a * (1 + off)
    plain, found = measure(a, b), measure(a * scale, b * scale)
    for name in ("relative", "element", "ranked", "factor", "cosine", "magnitude"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), rel=2e-2 if name == "ranked" else 1e-9), name
    for name in ("norm_a", "norm_b", "distance", "max_abs"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name) * scale, rel=1e-9), name
    assert agreement(found, "float64") == agreement(plain, "float64")


def test_the_largest_floats_of_other_signs() -> None:
    most = np.finfo(np.float64).max
    a, b = np.full(100, most), np.full(100, -most)
    found = measure(a, b)
    assert found.relative == pytest.approx(2)
    assert found.element == pytest.approx(2)
    assert found.cosine == pytest.approx(-1)
    assert agreement(measure(a, a), "float64").why == "equal"


WHOLE: dict[str, tuple[Array, Array, str]] = {
    "a neighbour that floats do not tell apart": (np.array([2**53 + 1]), np.array([2**53]), "different"),
    "the same as a float": (np.array([2**53]), np.array([2.0**53]), "equal"),
    "a neighbour against a float": (np.array([2**53 + 1]), np.array([2.0**53]), "different"),
    "the largest against a float": (np.array([2**63 - 1]), np.array([2.0**63]), "different"),
    "the smallest against a float": (np.array([-(2**63)]), np.array([-(2.0**63)]), "equal"),
    "unsigned against signed": (np.array([2**63], np.uint64), np.array([-(2**63)]), "different"),
    "unsigned neighbours": (np.array([2**64 - 1], np.uint64), np.array([2**64 - 2], np.uint64), "different"),
    "unsigned against a float": (np.array([2**64 - 1], np.uint64), np.array([2.0**64]), "different"),
    "16 bits against 64": (np.array([1, 65535], np.uint16), np.array([1, 65535]), "equal"),
    "a fraction": (np.array([1, 2]), np.array([1.0, 2.00000001]), "different"),
    "true and one": (np.array([True, False]), np.array([1, 0], np.int8), "equal"),
    "NaN": (np.array([1, 2]), np.array([1.0, math.nan]), "different"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_are_compared_exactly(name: str) -> None:
    a, b, says = WHOLE[name]
    for one, other in ((a, b), (b, a)):
        found = check_arrays("x", one, other, Rules(any_dtype=True))
        assert found.verdict == says
        if says == "different":
            assert found.first is not None


@pytest.mark.parametrize("nans", [[0], [0, 5], list(range(8))])
def test_nan_in_the_same_place_is_the_same(nans: list[int]) -> None:
    a = np.arange(8, dtype=np.float32)
    a[nans] = np.nan
    b = a.copy()
    assert check_arrays("x", a, b, Rules()).reasons == ("nan",)
    for guide in (False, True):
        assert check_arrays("x", a, b, Rules(equal_nan=True, by_guide=guide)).verdict == "equal"
    b[7] = 70.0 if 7 not in nans else 7.0
    assert check_arrays("x", a, b, Rules(equal_nan=True)).verdict == "different"


FORMS = ("itself", "columns", "big end", "second header", "wider", "pieces", "shuffled", "doubled")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("off", [0.0, 1e-5, 1e-2])
def test_another_form_is_the_same(form: str, off: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(6)
    a = random.standard_normal((40, 30)).astype(np.float32)
    a[3, 4] = -0.0
    b = (a * (1 + off * random.standard_normal(a.shape))).astype(np.float32)
    plain = check_arrays("x", a, b, Rules())
    other = b
    if form == "columns":
        other = np.asfortranarray(b)
    elif form == "big end":
        other = b.astype(">f4")
    elif form == "wider":
        other = b.astype(np.float64)
    elif form == "shuffled":
        a, other = a[::-1, ::-1], b[::-1, ::-1]
    elif form == "doubled":
        a, other = a * np.float32(2), b * np.float32(2)
    elif form == "pieces":
        monkeypatch.setattr(arrays, "_BLOCK", 7)
    with (tmp_path / "b.npy").open("wb") as stream:
        np.lib.format.write_array(stream, other, (2, 0) if form == "second header" else (1, 0))
    found = check_arrays("x", a, read_array(str(tmp_path / "b.npy")), Rules(any_dtype=form == "wider"))
    assert (found.verdict, found.reasons) == (plain.verdict, plain.reasons)


@pytest.mark.parametrize(
    ("kind", "tolerance"), [(kind, tolerance) for kind, tolerance in TOLERANCES.items() if kind != "float16"]
)
@pytest.mark.parametrize("rule", ["far", "element"])
def test_a_verdict_changes_where_the_document_says(kind: str, tolerance: float, rule: str) -> None:
    """A distance of the tolerance, or an element of four times it; `docs/check.md`."""
    for share, says in ((0.999, "close"), (1.001, rule)):
        a = np.ones(10_000)
        b = a.copy()
        if rule == "far":
            b[::2] += share * tolerance * math.sqrt(2)
            b[1::2] -= 1e-12
        else:
            b[5] += share * 4 * tolerance
        assert agreement(measure(a, b), kind, tolerance).why == says
