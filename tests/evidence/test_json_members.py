"""JSON read member by member: what `json.loads` makes of it, in a bounded memory, with the place where it breaks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accmap.evidence import bounded_files
from accmap.evidence.bounded_files import BrokenJsonError, Budget, members

if TYPE_CHECKING:
    from pathlib import Path

LEAVES = st.none() | st.booleans() | st.integers(-(10**40), 10**40) | st.floats() | st.text()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4)
)


def nested(path: Path, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for within, key, value in members(str(path), 1 << 30, **options):
        place = found
        for name in within:
            place = place.setdefault(name, {})
        place[key] = value
    return found


@settings(max_examples=100)
@example(content={}, inner={"": 0.0}, chunk=1, indent=None, ascii=False)
@example(content={"a": 1e-7}, inner={"": -2.5e300}, chunk=1, indent=None, ascii=False)
@given(
    content=st.dictionaries(st.text(max_size=9), VALUES, max_size=6),
    inner=st.dictionaries(st.text(max_size=9), VALUES, min_size=1, max_size=6),
    chunk=st.integers(1, 50),
    indent=st.sampled_from([None, 0, 3]),
    ascii=st.booleans(),
)
def test_as_json_reads_it(
    content: dict[str, Any],
    inner: dict[str, Any],
    chunk: int,
    indent: int | None,
    ascii: bool,  # noqa: A002
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("json") / "a.json"
    whole = {**content, "data": inner}
    path.write_bytes(json.dumps(whole, indent=indent, ensure_ascii=ascii).encode("utf-8", "surrogatepass"))
    try:
        expected = json.loads(path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_files, "_CHUNK", chunk)
        assert repr(nested(path)) == repr(expected)
        assert repr(nested(path, opened=[("data",)])) == repr(expected)
        del expected["data"]
        assert repr(nested(path, skipped=[("data",)])) == repr(expected)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{"a": 1,\n "b" 2}', 2, 6),
        ('{"a": 1,\n "b": x}', 2, 7),
        ('{"a": [1, 2', 1, 12),
        ('{"a": "x', 1, 7),
        ('{"a": 1}\n\n {', 3, 2),
        ('{"a": 1', 1, 8),
        ("{", 1, 2),
        ('{"a": 1,}', 1, 9),
        ("{a: 1}", 1, 2),
        ('{\n"a":\n{"x": 1,\n"y": tru}}', 4, 6),
        ("", 1, 1),
    ],
)
@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
def test_where_it_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, line: int, column: int, chunk: int
) -> None:
    monkeypatch.setattr(bounded_files, "_CHUNK", chunk)
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(BrokenJsonError) as caught:
        nested(tmp_path / "a.json")
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ('{"a": [' + "[]," * 3_000_000 + "[]]}", "values, more than a file of its kind"),
        ('{"a": "' + "x" * (20 << 20) + '"}', "has more than"),
    ],
)
@pytest.mark.long
def test_what_is_nested_in_one_member_is_bounded(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(BrokenJsonError, match=why):
        nested(tmp_path / "a.json")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}" + " " * 100)
    with pytest.raises(OSError, match="large"):
        list(members(str(tmp_path / "a.json"), 100))


def test_a_budget_is_twice_the_file() -> None:
    budget = Budget(1000, free=0)
    budget.take(2000)
    with pytest.raises(ValueError, match="small values"):
        budget.take(1)
