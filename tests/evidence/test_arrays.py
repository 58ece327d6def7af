"""Arrays compared element by element: the numbers against plain numpy, the verdicts, and what is refused."""

from __future__ import annotations

import contextlib
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.evidence import arrays
from accmap.evidence.array_check import Rules, check_arrays
from accmap.evidence.arrays import TOLERANCES, agreement, first_difference, measure, precision_of, read_array
from accmap.schemas.diagnostic import UnreadableError

if TYPE_CHECKING:
    from pathlib import Path


def plain(a: Any, b: Any) -> dict[str, float]:
    """The same numbers in one go, as the formulas say."""
    a, b = a.astype(np.float64).reshape(-1), b.astype(np.float64).reshape(-1)
    zero = (b == 0) * np.finfo(np.float32).eps
    errors = abs((a + zero) - (b + zero)) / abs(b + zero)
    return {
        "norm_a": float(np.linalg.norm(a)),
        "norm_b": float(np.linalg.norm(b)),
        "distance": float(np.linalg.norm(a - b)),
        "max_abs": float(abs(a - b).max()),
        "max_rel": float(errors.max()),
        "within_thousandth": float((errors < 0.001).mean()),
        "within_five_thousandths": float((errors < 0.005).mean()),
    }


@settings(max_examples=60)
@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    seed=st.integers(0, 1000),
    step=st.sampled_from([0.0, 1e-6, 1e-3, 1.0]),
    block=st.integers(1, 40),
)
def test_the_numbers_are_those_of_the_formulas(shape: list[int], seed: int, step: float, block: int) -> None:
    random = np.random.default_rng(seed)
    a = random.standard_normal(shape).astype(np.float32)
    b = (a + step * random.standard_normal(shape)).astype(np.float32)
    b.reshape(-1)[seed % b.size] = 0
    whole = arrays._BLOCK
    arrays._BLOCK = block
    try:
        found = measure(a, b)
    finally:
        arrays._BLOCK = whole
    for name, value in plain(a, b).items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-9, abs=1e-12), name
    both = found.norm_a * found.norm_b
    if both:
        assert found.cosine == pytest.approx(float(np.dot(a.reshape(-1).astype(float), b.reshape(-1))) / both, abs=1e-9)
    assert abs(a - b)[found.max_abs_at] == pytest.approx(found.max_abs)
    assert found.statistics_a == pytest.approx((a.max(), a.min(), a.astype(float).mean()), abs=1e-9)
    limit = 1e-4
    first = first_difference(a, b, limit)
    beyond = np.argwhere(abs(a.astype(float) - b.astype(float)) > limit)
    assert first == (tuple(beyond[0].tolist()) if len(beyond) else None)


def test_a_small_error_in_one_element_is_seen() -> None:
    a = np.ones(200_000, np.float32)
    b = a.copy()
    b[77] = 1.01
    measured = measure(a, b)
    assert measured.relative < TOLERANCES["float32"]
    assert agreement(measured, "float32").why == "element"
    assert first_difference(a, b, 1e-3) == (77,)


@pytest.mark.parametrize(
    ("factor", "noise", "precision", "why"),
    [
        (1.02, 0.0, "bfloat16", "scaled"),
        (0.98, 0.002, "bfloat16", "scaled"),
        (1.0, 0.02, "bfloat16", "close"),
        # Within one rounding of the type, or no more of the distance than rounding leaves.
        (1.003, 0.0, "bfloat16", "close"),
        (1.008, 0.009, "bfloat16", "close"),
        # Noise beside a factor hides nothing of it.
        (1.02, 0.02, "bfloat16", "scaled"),
        (1.002, 0.0, "float16", "scaled"),
    ],
)
def test_a_factor_is_no_rounding(factor: float, noise: float, precision: str, why: str) -> None:
    draw = np.random.default_rng(5)
    a = draw.standard_normal((64, 32))
    b = a * factor + noise * draw.standard_normal(a.shape)
    assert agreement(measure(a, b), precision).why == why
    # Who gives a tolerance says what passes.
    assert agreement(measure(a, b), precision, 0.05).why == "close"


@pytest.mark.procedure("proc.infer.precision_checker")
def test_the_guides_checker_is_computed_as_it_does() -> None:
    random = np.random.default_rng(5)
    for step in (0.0, 1e-3, 0.05, 0.3):
        golden = random.standard_normal((3, 50))
        given_ = golden + step * random.standard_normal((3, 50))
        log_p, log_q = (side.reshape(-1) - np.log(np.exp(side).sum()) for side in (golden, given_))
        found = check_arrays("x", given_, golden, Rules()).guide
        assert found is not None
        assert found.divergence == pytest.approx(float((np.exp(log_p) * (log_p - log_q)).sum()), abs=1e-12)
        assert found.magnitude == pytest.approx(abs(given_).sum() / abs(golden).sum() - 1)


def test_bfloat16_that_numpy_wrote_as_raw_bytes_is_read(tmp_path: Path) -> None:
    values = np.array([[1.5, -2.0], [3.140625, 0.0]], np.float32)
    bits = (values.view(np.uint32) >> 16).astype(np.uint16)
    path = tmp_path / "b.npy"
    np.save(path, bits.view("V2"))
    found = read_array(str(path))
    assert precision_of(found) == "bfloat16"
    assert np.asarray(found).tolist() == values.tolist()
    assert measure(found, values).unequal == 0


@settings(max_examples=80)
@given(data=st.binary(max_size=200), cut=st.integers(0, 300))
def test_no_bytes_crash_the_reader(data: bytes, cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("bytes") / "x.npy"
    np.save(path, np.arange(30.0))
    whole = path.read_bytes()
    path.write_bytes(whole[:cut] + data)
    with contextlib.suppress(UnreadableError):
        read_array(str(path))


def test_memory_does_not_grow_with_the_arrays(tmp_path: Path) -> None:
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.ones((4, 1 << 21), np.float32))
    a, b = (read_array(str(tmp_path / f"{name}.npy")) for name in ("a", "b"))
    tracemalloc.start()
    check_arrays("x", a, b, Rules())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 << 20
