"""Records behave as those of `typing.NamedTuple`, but equal records of their own class only."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from typing import Any
from typing import NamedTuple as Standard
from unittest.mock import ANY

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.schemas.fast_records import NamedTuple


class Point(NamedTuple):
    """A point."""

    x: int
    y: int = 2
    label: str = ""

    @property
    def total(self) -> int:
        return self.x + self.y


class Shift(NamedTuple):
    """What has the fields of a point, and is none."""

    x: int
    y: int = 2
    label: str = ""


class Marked(Point):
    """A point of a class below."""

    __slots__ = ()


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
        assert made != other
        assert (made == tuple(made)) is (kind is theirs)
    assert told[0] == told[1]


def test_construction() -> None:
    assert tuple(Point(1)) == (1, 2, "") == Same(1)
    assert Point(y=5, x=1) == Point(1, 5, "")
    assert Point._make([1, 2, "a"]) == Point(1, 2, "a")
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
    assert point._replace(y=3) == Point(1, 3, "")
    assert point._asdict() == {"x": 1, "y": 2, "label": ""}
    assert repr(point) == "Point(x=1, y=2, label='')" == repr(Same(1)).replace("Same", "Point")
    assert (Point._fields, Point._field_defaults) == (Same._fields, Same._field_defaults)
    assert Point.__match_args__ == Same.__match_args__
    assert Point.__doc__ == "A point."
    with pytest.raises(ValueError, match="unexpected field names"):
        point._replace(z=1)


def test_records_of_any_size() -> None:
    for size in (0, 1, 16, 17, 40):
        names = [f"field{number}" for number in range(size)]
        body = {"__annotations__": dict.fromkeys(names, "int"), "__module__": __name__, "__qualname__": "Made"}
        made = type(NamedTuple)("Made", (NamedTuple,), {**body, **({names[-1]: 7} if names else {})})
        filled = made(**dict.fromkeys(names[:-1], 1))
        assert tuple(filled) == (*[1] * (size - 1), *([7] if names else []))
        assert made._fields == tuple(names)
        for values, named in (
            ((1,) * (size + 1), {}),
            ((), {**dict.fromkeys(names, 1), "other": 1}),
            *[((1,), dict.fromkeys(names, 1)) for _ in names[:1]],
            *[((), {}) for _ in names[:-1]][:1],
        ):
            with pytest.raises(TypeError):
                made(*values, **named)


OTHERS = (Shift(1), Marked(1), tuple(Point(1)), [1, 2, ""], Point(2), Point(1, 2, "a"), None, "Point")


@pytest.mark.parametrize("other", OTHERS, ids=repr)
def test_another_class_is_another_value(other: Any) -> None:
    """Wherever values meet: signs, containers, keys, arguments that a cache knows, and values inside of others."""
    point = Point(1)
    for one, two in ((point, other), (other, point)):
        assert not one == two  # noqa: SIM201 - both signs are asked
        assert one != two
        assert one not in [two]
        assert [one] != [two]
        assert (0, one) != (0, two)
        assert {"at": one} != {"at": two}
        with pytest.raises(ValueError, match="not in"):
            [two].index(one)
    if not isinstance(other, list):
        assert len({point, other}) == 2
        assert {point: "point", other: "other"}[point] == "point"

        @cache
        def class_of(value: object) -> type:
            return type(value)

        assert [class_of(one) for one in (point, other, point)] == [Point, type(other), Point]


def test_the_same_record_is_the_same_value() -> None:
    point, twin = Point(1), Point(1)
    assert point == twin
    assert not point != twin  # noqa: SIM202 - both signs are asked
    assert hash(point) == hash(twin)
    assert len({point, twin}) == 1
    assert [twin].index(point) == 0
    assert Marked(1) == Marked(1)
    assert point == ANY == point  # what is no tuple may say for itself
    assert sorted([Point(2), Point(1, 3), point]) == [point, Point(1, 3), Point(2)]


@pytest.mark.parametrize("made", [Point(1), Marked(1), Point(3, 4, "a")], ids=repr)
def test_copies_keep_the_class(made: Point) -> None:
    protocols = range(pickle.HIGHEST_PROTOCOL + 1)
    copies = [copy.copy(made), copy.deepcopy(made), *[pickle.loads(pickle.dumps(made, one)) for one in protocols]]
    assert [(type(one), one) for one in copies] == [(type(made), made)] * len(copies)
