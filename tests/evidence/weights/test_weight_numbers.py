"""Number types: bfloat16 held in 16 bits, casts, and values that are not finite."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.evidence.weights.weight import STORED, cast, not_finite, widen

np = pytest.importorskip("numpy")

pytestmark = pytest.mark.procedure("proc.weights.bf16_cast")


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (1.0, 0x3F80),
        (-2.5, 0xC020),
        (0.0, 0x0000),
        (-0.0, 0x8000),
        (float("inf"), 0x7F80),
        (3.4e38, 0x7F80),  # the nearest bfloat16 is beyond the largest one
        (1 + 2**-8, 0x3F80),  # a tie goes to the even neighbour …
        (1 + 3 * 2**-8, 0x3F82),  # … on either side
        (1 + 2**-8 + 2**-20, 0x3F81),
        (1e-40, 0x0001),
    ],
)
def test_bfloat16_rounds_to_the_nearest_even_value(value: float, bits: int) -> None:
    assert int(cast(np.array([value], np.float32), "F32", "BF16")[0]) == bits


@pytest.mark.parametrize("bits", [0x7F800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FC00000])
def test_a_nan_stays_a_nan(bits: int) -> None:
    rounded = cast(np.array([bits], np.uint32).view(np.float32), "F32", "BF16")
    assert np.isnan(widen(rounded, "BF16"))[0]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_rounded_value_is_half_a_step_away_at_most(value: float) -> None:
    single = np.array([value], np.float32)
    rounded = widen(cast(single, "F32", "BF16"), "BF16")
    if np.isinf(rounded[0]):
        assert abs(value) > 3.38e38
        return
    assert abs(float(rounded[0]) - value) <= max(abs(value) * 2.0**-8, 2.0**-134)
    assert (cast(rounded, "F32", "BF16") == cast(single, "F32", "BF16")).all()


def test_every_bfloat16_survives_the_way_to_float32_and_back() -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    wide = widen(every, "BF16")
    kept = ~np.isnan(wide)
    assert (cast(wide, "F32", "BF16")[kept] == every[kept]).all()


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16", "F64"])
def test_values_that_are_not_finite_are_counted(dtype: str) -> None:
    values = np.array([1.0, np.nan, np.inf, -np.inf, 0.0], np.float32)
    assert not_finite(cast(values, "F32", dtype), dtype) == (1, 2)
    assert not_finite(cast(values[[0, 4]], "F32", dtype), dtype) == (0, 0)


def test_whole_numbers_are_not_cast() -> None:
    counts = np.arange(3, dtype=np.int32)
    assert cast(counts, "I32", "BF16") is counts
    assert not_finite(counts, "I32") == (0, 0)


@given(st.sampled_from(["F64", "F32", "BF16", "F16"]), st.lists(st.binary(min_size=8, max_size=8), min_size=1))
def test_what_is_not_finite_is_what_numpy_says(dtype: str, bits: list[bytes]) -> None:
    found = np.frombuffer(b"".join(bits), STORED[dtype][0])
    wide = widen(found, dtype)
    assert not_finite(found, dtype) == (int(np.isnan(wide).sum()), int(np.isinf(wide).sum()))
    turned = found.reshape(-1, len(bits)).T
    assert not_finite(turned, dtype) == not_finite(found, dtype)
