"""`accmap check npy`: arrays and folders of them, what is refused, and the guide's checker."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import jsonschema
import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path


DRAWN = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
ROUNDED = ((DRAWN.view(np.uint32) + 0x8000) & 0xFFFF0000).view(np.float32)


@pytest.fixture
def arrays(tmp_path: Path) -> None:
    a = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    far = a.copy()
    far[1, 2] += 0.5
    nan = a.copy()
    nan[0, 0] = np.nan
    for name, array in (
        ("a", a),
        ("close", a + np.float32(1e-7)),
        ("far", far),
        ("nan", nan),
        ("half", a.astype("f2")),
    ):
        np.save(tmp_path / f"{name}.npy", array)
    (tmp_path / "bad.npy").write_bytes(b"bad")


@pytest.mark.procedure("proc.infer.precision_checker")
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("a.npy", "a.npy"), 0, "equal"),
        (("a.npy", "close.npy"), 0, "close"),
        (("a.npy", "far.npy"), 1, "[1, 2]"),
        (("a.npy", "far.npy", "--tolerance", "0.9"), 0, "close"),
        (("nan.npy", "a.npy"), 1, "NaN"),
        (("nan.npy", "nan.npy"), 1, "NaN"),
        (("nan.npy", "nan.npy", "--equal-nan"), 0, "equal"),
        (("a.npy", "half.npy"), 1, "--any-dtype"),
        (("a.npy", "half.npy", "--any-dtype"), 0, "float16"),
        (("a.npy", "far.npy", "--guide"), 1, "cosine"),
    ],
)
def test_npy(accmap, arrays: None, words: tuple[str, ...], code: int, told: str) -> None:
    answer = accmap("check", "npy", *words)
    assert answer.code == code, answer.out
    assert told in answer.out
    chinese = accmap("check", "npy", *words, "--lang", "zh")
    assert chinese.code == code
    assert any("\u4e00" <= letter <= "\u9fff" for letter in chinese.out)
    found = accmap("check", "npy", *words, "--format", "json")
    jsonschema.validate(json.loads(found.out), json.loads(accmap("schema", "check-npy").out))


NAN, INF = np.nan, np.inf
ALIKE: dict[str, tuple[object, object, tuple[str, ...], str, tuple[str, ...]]] = {
    "equal": ([1.0, 2.0], [1.0, 2.0], (), "equal", ()),
    "close": ([1.0, 2.0], [1.0, 2.00001], (), "close", ()),
    "far": ([1.0, 2.0], [1.0, 2.1], (), "different", ("far",)),
    "wider tolerance": ([1.0, 2.0], [1.0, 2.1], ("--tolerance", "0.1"), "close", ()),
    "shape": ([1.0, 2.0], [[1.0, 2.0]], (), "different", ("shape",)),
    "empty": ([], [], (), "undecided", ("empty",)),
    "empty of another shape": ([], [[]], (), "different", ("shape",)),
    "nan": ([1.0, NAN], [1.0, 2.0], (), "different", ("nan",)),
    "nan on both sides": ([1.0, NAN], [1.0, NAN], (), "different", ("nan",)),
    "equal nan": ([1.0, NAN], [1.0, NAN], ("--equal-nan",), "equal", ()),
    "nan elsewhere": ([NAN, 1.0], [1.0, NAN], ("--equal-nan",), "different", ("nan",)),
    "all nan": ([NAN] * 3, [NAN] * 3, (), "different", ("nan",)),
    "same infinity": ([INF, 1.0], [INF, 1.0], (), "equal", ()),
    "other infinity": ([INF, 1.0], [-INF, 1.0], (), "different", ("infinite",)),
    "infinity against a number": ([INF, 1.0], [5.0, 1.0], (), "different", ("infinite",)),
    "zeros of another sign": ([0.0, 1.0], [-0.0, 1.0], (), "close", ()),
    "equal nan of another sign": ([NAN, 1.0], [-NAN, 1.0], ("--equal-nan",), "close", ()),
    "zeros": ([0.0, 0.0], [0.0, 0.0], (), "equal", ()),
    "zero against something": ([0.0, 0.0], [0.0, 1.0], (), "different", ("far",)),
    "guide passes": ([1.0, 2.0], [1.0, 2.01], ("--guide",), "close", ()),
    "guide sees a smaller sum": ([1.0, 1.9], [1.0, 2.0], ("--guide",), "different", ("magnitude",)),
    "guide sees another direction": ([1.0, 2.0], [2.0, 1.0], ("--guide",), "different", ("cosine", "divergence")),
    "squares that overflow": (np.array([1e200, 2e200]), np.array([1e200, 4e200]), (), "different", ("far",)),
    "squares that vanish": (np.array([1e-170, 2e-170]), np.array([1e-170, 4e-170]), (), "different", ("far",)),
    "large and the same": (np.array([1e200, 2e200]), np.array([1e200, 2e200]), (), "equal", ()),
    "a neighbour of a float": (np.array([2**53 + 1]), np.array([2.0**53]), ("--any-dtype",), "different", ("far",)),
    "a whole number and its float": (np.array([7]), np.array([7.0]), ("--any-dtype",), "equal", ()),
    "whole numbers": (np.arange(5), np.arange(5) + 1, (), "different", ("far",)),
    "large whole numbers": (np.array([2**60, 2**60 + 1]), np.array([2**60 + 1, 2**60]), (), "different", ("far",)),
    "one enormous element": (
        [1e6, *[1.0] * 4096], [1e6, *[1.5] * 4096], (), "different", ("widespread",),
    ),
    "another order of bytes": (np.arange(9.0), np.arange(9.0).astype(">f8"), (), "equal", ()),
    "no elements": (np.zeros((0, 3)), np.zeros((0, 3)), (), "undecided", ("empty",)),
    "no elements and another shape": (np.zeros((0, 3)), np.zeros((0, 4)), (), "different", ("shape",)),
    "a shape that would broadcast": (np.ones((3, 1)), np.ones((3, 3)), (), "different", ("shape",)),
    "another type": (DRAWN, DRAWN.astype("f2"), (), "different", ("dtype",)),
    "another type that may differ": (DRAWN, DRAWN.astype("f2"), ("--any-dtype",), "close", ()),
    "rounded to bfloat16": (DRAWN, ROUNDED, (), "different", ("far",)),
    "computed in bfloat16": (DRAWN, ROUNDED, ("--precision", "bfloat16"), "close", ()),
}  # fmt: skip


@pytest.mark.procedure("proc.infer.precision_checker")
@pytest.mark.parametrize("name", ALIKE)
def test_like_is_compared_with_like(accmap, tmp_path: Path, name: str) -> None:
    a, b, words, verdict, reasons = ALIKE[name]
    for file, array in (("a.npy", a), ("b.npy", b)):
        np.save(tmp_path / file, np.array(array, np.float32) if isinstance(array, list) else np.asarray(array))
    for files in (("a.npy", "b.npy"), ("b.npy", "a.npy")):
        answer = accmap("check", "npy", *files, *words, "--format", "json")
        found = json.loads(answer.out)
        assert answer.code == (verdict not in ("equal", "close"))
        assert (found["verdict"], tuple(found["arrays"][0]["reasons"])) == (verdict, reasons)


def test_an_array_without_elements_is_named_among_others(accmap, tmp_path: Path) -> None:
    for side in ("x", "y"):
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "one.npy", np.ones(3, np.float32))
        np.save(tmp_path / side / "none.npy", np.ones((0, 3), np.float32))
    answer = accmap("check", "npy", "x", "y", "--format", "json")
    found = json.loads(answer.out)
    jsonschema.validate(found, json.loads(accmap("schema", "check-npy").out))
    assert (answer.code, found["verdict"]) == (1, "partial")
    assert found["not_compared"] == [{"what": "none.npy", "reason": "the array has no elements"}]
    assert "none.npy: the array has no elements" in accmap("check", "npy", "x", "y").out


@pytest.mark.parametrize(
    "words",
    [("a.npy", "nothing.npy"), ("a.npy", "."), ("a.npy",), ("a.npy", "a.npy", "--tolerance", "7")],
)
def test_npy_that_cannot_be_used(accmap, arrays: None, words: tuple[str, ...]) -> None:
    answer = accmap("check", "npy", *words)
    assert answer.code == 2
    assert answer.err


def saved(array: object, **more: object) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, array) if more else np.save(stream, np.asarray(array))
    return stream.getvalue()


REFUSED = {
    "empty": b"",
    "bytes": b"bad",
    "garbage": b"\x93NUMPY\x01\x00\x10\x00{'descr': oops}\n",
    "cut": saved(np.ones((8, 8)))[:200],
    "objects": saved(np.array([{}, 1], dtype=object)),
    "text": saved(["a", "b"]),
    "complex": saved(np.ones(3, np.complex64)),
    "archive": saved(np.ones(2), packed=True),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_an_array_is_refused(accmap, arrays: None, name: str) -> None:
    for language in ("en", "zh"):
        answer = accmap("check", "npy", "x.npy", "a.npy", "--lang", language, files={"x.npy": REFUSED[name]})
        assert answer.code == 2
        assert answer.err.startswith("x.npy: ")
        assert "{" not in answer.err.replace("{'descr'", "")


def test_folders_of_arrays(accmap, arrays: None, tmp_path: Path) -> None:
    for side in ("x", "y"):
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "one.npy", np.ones(3, np.float32))
    answer = accmap("check", "npy", "x", "y")
    assert answer.code == 0
    np.save(tmp_path / "x" / "two.npy", np.ones(3, np.float32))
    answer = accmap("check", "npy", "x", "y")
    assert answer.code == 1
    assert "only in A: two.npy" in answer.out
    (tmp_path / "x" / "three.npy").write_bytes(b"bad")
    (tmp_path / "y" / "three.npy").write_bytes(b"bad")
    answer = accmap("check", "npy", "x", "y")
    assert answer.code == 2
    assert "three.npy" in answer.err
    assert "one.npy" in answer.out


def test_bfloat16_against_float32_names_the_first_element(accmap, arrays: None, tmp_path: Path) -> None:
    np.save(tmp_path / "bits.npy", np.zeros((4, 5), "V2"))
    answer = accmap("check", "npy", "bits.npy", "a.npy", "--any-dtype")
    assert answer.code == 1
    assert "[0, 0]" in answer.out


def test_an_array_that_may_not_be_read(accmap, arrays: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(path: str, *_words: object) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("builtins.open", locked)
    answer = accmap("check", "npy", "a.npy", "far.npy")
    assert answer.code == 2
    assert "a.npy cannot be read: Permission denied" in answer.err


def test_a_cut_array_in_chinese(accmap, arrays: None, tmp_path: Path) -> None:
    (tmp_path / "cut.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-8])
    assert "文件不完整" in accmap("check", "npy", "cut.npy", "a.npy", "--lang", "zh").err
