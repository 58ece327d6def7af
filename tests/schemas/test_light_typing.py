"""Records behave as those of `typing.NamedTuple`."""

from __future__ import annotations

import pickle
from typing import Any
from typing import NamedTuple as Standard

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.schemas.light_typing import NamedTuple


class Point(NamedTuple):
    """A point."""

    x: int
    y: int = 2
    label: str = ""

    @property
    def total(self) -> int:
        return self.x + self.y


class Same(Standard):
    """A point."""

    x: int
    y: int = 2
    label: str = ""


def records(names: list[str], defaults: int) -> list[Any]:
    """Both records of these fields, the last of which have defaults."""
    plain = len(names) - defaults
    lines = [f"    {name}: int" + (f" = {at}" if at >= plain else "") for at, name in enumerate(names)]
    source = "class Record(Base):\n" + "\n".join(lines)
    made: list[Any] = []
    for base in (NamedTuple, Standard):
        space: dict[str, Any] = {"Base": base, "__name__": __name__}
        exec(source, space)
        made.append(space["Record"])
    return made


@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6, unique=True),
    st.lists(st.none() | st.integers() | st.text(max_size=3), max_size=8),
    st.integers(0, 6),
    st.lists(st.sampled_from("abcdefghz"), max_size=3, unique=True),
)
def test_both_records_are_one(names: list[str], values: list[object], last: int, keywords: list[str]) -> None:
    """Made of the same words, both are the same tuple with the same names, or both refuse."""
    ours, theirs = records(names, min(last, len(names)))
    assert (ours._fields, ours._field_defaults) == (theirs._fields, theirs._field_defaults)
    told: list[Any] = []
    for kind in (ours, theirs):
        try:
            made = kind(*values, **dict.fromkeys(keywords, 7))
        except TypeError:
            told.append(None)
            continue
        other = made._replace(**{made._fields[0]: "other"})
        told.append((tuple(made), made._asdict(), repr(made), hash(made), tuple(other), kind._make(made) == made))
    assert told[0] == told[1]


def test_construction() -> None:
    assert Point(1) == (1, 2, "") == Same(1)
    assert Point(y=5, x=1) == (1, 5, "")
    assert Point._make([1, 2, "a"]) == (1, 2, "a")
    assert Point(1, label="a").total == 3
    for wrong in ({}, {"x": 1, "z": 2}):
        with pytest.raises(TypeError):
            Point(**wrong)
    with pytest.raises(TypeError):
        Point(1, 2, "", 4)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Point(1).x = 2  # type: ignore[misc]


def test_methods() -> None:
    point = Point(1)
    assert point._replace(y=3) == (1, 3, "")
    assert type(point._replace(y=3)) is Point
    assert point._asdict() == {"x": 1, "y": 2, "label": ""}
    assert repr(point) == "Point(x=1, y=2, label='')" == repr(Same(1)).replace("Same", "Point")
    assert (Point._fields, Point._field_defaults) == (Same._fields, Same._field_defaults)
    assert Point.__match_args__ == Same.__match_args__
    assert Point.__doc__ == "A point."
    assert pickle.loads(pickle.dumps(point)) == point
    with pytest.raises(ValueError, match="unexpected field names"):
        point._replace(z=1)


def test_records_of_any_size() -> None:
    for size in (0, 1, 16, 17, 40):
        names = [f"field{number}" for number in range(size)]
        body = {"__annotations__": dict.fromkeys(names, "int"), "__module__": __name__, "__qualname__": "Made"}
        made = type(NamedTuple)("Made", (NamedTuple,), {**body, **({names[-1]: 7} if names else {})})
        filled = made(**dict.fromkeys(names[:-1], 1))
        assert filled == (*[1] * (size - 1), *([7] if names else []))
        assert made._fields == tuple(names)
        for values, named in (
            ((1,) * (size + 1), {}),
            ((), {**dict.fromkeys(names, 1), "other": 1}),
            *[((1,), dict.fromkeys(names, 1)) for _ in names[:1]],
            *[((), {}) for _ in names[:-1]][:1],
        ):
            with pytest.raises(TypeError):
                made(*values, **named)
