"""Arrays compared element by element: the numbers against plain numpy, the verdicts, and what is refused."""

from __future__ import annotations

import contextlib
import math
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.evidence import arrays
from accmap.evidence.array_check import Rules, check_arrays, check_files
from accmap.evidence.arrays import TOLERANCES, agreement, coarser, first_difference, measure, precision_of, read_array
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
        "sum_abs_a": float(abs(a).sum()),
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


CASES: dict[str, tuple[Any, Any, Rules, str, tuple[str, ...]]] = {
    "equal": ([1.0, 2.0], [1.0, 2.0], Rules(), "equal", ()),
    "close": ([1.0, 2.0], [1.0, 2.00001], Rules(), "close", ()),
    "far": ([1.0, 2.0], [1.0, 2.1], Rules(), "different", ("far",)),
    "wider tolerance": ([1.0, 2.0], [1.0, 2.1], Rules(0.1), "close", ()),
    "shape": ([1.0, 2.0], [[1.0, 2.0]], Rules(), "different", ("shape",)),
    "empty": ([], [], Rules(), "undecided", ("empty",)),
    "empty of another shape": ([], [[]], Rules(), "different", ("shape",)),
    "nan": ([1.0, math.nan], [1.0, 2.0], Rules(), "different", ("nan",)),
    "nan on both sides": ([1.0, math.nan], [1.0, math.nan], Rules(), "different", ("nan",)),
    "equal nan": ([1.0, math.nan], [1.0, math.nan], Rules(equal_nan=True), "equal", ()),
    "nan elsewhere": ([math.nan, 1.0], [1.0, math.nan], Rules(equal_nan=True), "different", ("nan",)),
    "all nan": ([math.nan] * 3, [math.nan] * 3, Rules(), "different", ("nan",)),
    "same infinity": ([math.inf, 1.0], [math.inf, 1.0], Rules(), "equal", ()),
    "other infinity": ([math.inf, 1.0], [-math.inf, 1.0], Rules(), "different", ("infinite",)),
    "infinity against a number": ([math.inf, 1.0], [5.0, 1.0], Rules(), "different", ("infinite",)),
    "zeros of another sign": ([0.0, 1.0], [-0.0, 1.0], Rules(), "close", ()),
    "equal nan of another sign": ([math.nan, 1.0], [-math.nan, 1.0], Rules(equal_nan=True), "close", ()),
    "zeros": ([0.0, 0.0], [0.0, 0.0], Rules(), "equal", ()),
    "zero against something": ([0.0, 0.0], [0.0, 1.0], Rules(), "different", ("far",)),
    "guide passes": ([1.0, 2.0], [1.0, 2.01], Rules(by_guide=True), "close", ()),
    "guide sees a smaller sum": ([1.0, 1.9], [1.0, 2.0], Rules(by_guide=True), "different", ("magnitude",)),
    "guide sees another direction": (
        [1.0, 2.0],
        [2.0, 1.0],
        Rules(by_guide=True),
        "different",
        ("cosine", "divergence"),
    ),
}


@pytest.mark.procedure("proc.infer.precision_checker")
@pytest.mark.parametrize("name", CASES)
def test_verdicts(name: str) -> None:
    a, b, rules, verdict, reasons = CASES[name]
    found = check_arrays(name, np.array(a, np.float32), np.array(b, np.float32), rules)
    assert (found.verdict, found.reasons) == (verdict, reasons)


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


def test_number_types_are_judged_by_the_coarser() -> None:
    random = np.random.default_rng(0)
    a = random.standard_normal(1000).astype(np.float32)
    half = a.astype(np.float16)
    assert check_arrays("x", a, half, Rules()).reasons == ("dtype",)
    assert check_arrays("x", a, half, Rules(any_dtype=True)).verdict == "close"
    rounded = ((a.view(np.uint32) + 0x8000) & 0xFFFF0000).view(np.float32)
    assert check_arrays("x", a, rounded, Rules()).reasons == ("far",)
    assert check_arrays("x", a, rounded, Rules(precision="bfloat16")).verdict == "close"
    assert coarser("float32", "bfloat16") == "bfloat16"
    whole = np.arange(5)
    assert check_arrays("x", whole, whole + 1, Rules()).verdict == "different"
    large = np.array([2**60, 2**60 + 1])
    assert check_arrays("x", large, large[::-1], Rules()).verdict == "different"


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


@pytest.mark.parametrize(
    "broken", ["missing", "empty", "garbage", "cut", "objects", "text", "complex", "archive", "folder"]
)
def test_what_is_no_array_is_refused(broken: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.ones((8, 8)))
    data = path.read_bytes()
    if broken == "missing":
        path.unlink()
    elif broken == "objects":
        np.save(path, np.array([{}, 1], dtype=object))
    elif broken == "text":
        np.save(path, np.array(["a", "b"]))
    elif broken == "complex":
        np.save(path, np.ones(3, np.complex64))
    elif broken == "archive":
        np.savez(tmp_path / "z.npz", a=np.ones(2))
        (tmp_path / "z.npz").rename(path)
    elif broken == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(
            {"empty": b"", "garbage": b"\x93NUMPY\x01\x00\x10\x00{'descr': oops}\n", "cut": data[:200]}[broken]
        )
    with pytest.raises(UnreadableError) as error:
        read_array(str(path))
    assert "{" not in error.value.diagnostic.message("zh").replace("{'descr'", "")


@settings(max_examples=80)
@given(data=st.binary(max_size=200), cut=st.integers(0, 300))
def test_no_bytes_crash_the_reader(data: bytes, cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("bytes") / "x.npy"
    np.save(path, np.arange(30.0))
    whole = path.read_bytes()
    path.write_bytes(whole[:cut] + data)
    with contextlib.suppress(UnreadableError):
        read_array(str(path))


def test_folders_are_compared_by_name(tmp_path: Path) -> None:
    for side in ("a", "b"):
        (tmp_path / side / "inner").mkdir(parents=True)
        np.save(tmp_path / side / "one.npy", np.ones(3, np.float32))
        np.save(tmp_path / side / "inner" / "two.npy", np.ones(3, np.float32) * (1 if side == "a" else 2))
        np.save(tmp_path / side / f"only_{side}.npy", np.ones(1))
        (tmp_path / side / "bad.npy").write_bytes(b"bad")
    found = check_files(str(tmp_path / "a"), str(tmp_path / "b"), Rules())
    assert [(check.name, check.verdict) for check in found.checks] == [
        ("inner/two.npy", "different"),
        ("one.npy", "equal"),
    ]
    assert (found.only_a, found.only_b, len(found.unreadable)) == (("only_a.npy",), ("only_b.npy",), 1)
    (tmp_path / "c").mkdir()
    with pytest.raises(UnreadableError):
        check_files(str(tmp_path / "a"), str(tmp_path / "c"), Rules())


def test_memory_does_not_grow_with_the_arrays(tmp_path: Path) -> None:
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.ones((4, 1 << 21), np.float32))
    a, b = (read_array(str(tmp_path / f"{name}.npy")) for name in ("a", "b"))
    tracemalloc.start()
    check_arrays("x", a, b, Rules())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 << 20
