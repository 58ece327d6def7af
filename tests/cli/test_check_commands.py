"""`accmap check npy`: arrays and folders of them, what is refused, and the guide's checker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path


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


ALIKE: dict[str, tuple[object, object, tuple[str, ...], int, str]] = {
    "squares that overflow": (np.array([1e200, 2e200]), np.array([1e200, 4e200]), (), 1, "different"),
    "squares that vanish": (np.array([1e-170, 2e-170]), np.array([1e-170, 4e-170]), (), 1, "different"),
    "large and the same": (np.array([1e200, 2e200]), np.array([1e200, 2e200]), (), 0, "equal"),
    "a neighbour of a float": (np.array([2**53 + 1]), np.array([2.0**53]), ("--any-dtype",), 1, "different"),
    "a whole number and its float": (np.array([7]), np.array([7.0]), ("--any-dtype",), 0, "equal"),
    "one enormous element": (
        np.array([1e6, *[1.0] * 4096], "f4"), np.array([1e6, *[1.5] * 4096], "f4"), (), 1, "a quarter of the elements",
    ),
    "another order of bytes": (np.arange(9.0), np.arange(9.0).astype(">f8"), (), 0, "equal"),
    "no elements": (np.zeros((0, 3)), np.zeros((0, 3)), (), 1, "undecided"),
    "no elements and another shape": (np.zeros((0, 3)), np.zeros((0, 4)), (), 1, "different"),
    "a shape that would broadcast": (np.ones((3, 1)), np.ones((3, 3)), (), 1, "different"),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_like_is_compared_with_like(accmap, tmp_path: Path, name: str) -> None:
    a, b, words, code, told = ALIKE[name]
    np.save(tmp_path / "a.npy", np.asarray(a))
    np.save(tmp_path / "b.npy", np.asarray(b))
    for files in (("a.npy", "b.npy"), ("b.npy", "a.npy")):
        answer = accmap("check", "npy", *files, *words)
        assert (answer.code, told in answer.out) == (code, True), answer.out


def test_an_array_without_elements_is_named_among_others(accmap, tmp_path: Path) -> None:
    for side in ("x", "y"):
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "one.npy", np.ones(3, np.float32))
        np.save(tmp_path / side / "none.npy", np.ones((0, 3), np.float32))
    answer = accmap("check", "npy", "x", "y", "--format", "json")
    found = json.loads(answer.out)
    jsonschema.validate(found, json.loads(accmap("schema", "check-npy").out))
    assert (answer.code, found["verdict"]) == (1, "partial")
    assert found["not_compared"] == [{"what": "none.npy", "reason": "it has no elements"}]
    assert "none.npy: it has no elements" in accmap("check", "npy", "x", "y").out


@pytest.mark.parametrize(
    "words",
    [
        ("a.npy", "bad.npy"),
        ("a.npy", "nothing.npy"),
        ("a.npy", "."),
        ("a.npy",),
        ("a.npy", "a.npy", "--tolerance", "7"),
    ],
)
def test_npy_that_cannot_be_used(accmap, arrays: None, words: tuple[str, ...]) -> None:
    answer = accmap("check", "npy", *words)
    assert answer.code == 2
    assert answer.err


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
    assert "文件被截断" in accmap("check", "npy", "cut.npy", "a.npy", "--lang", "zh").err
