"""Records behave as those of `typing.NamedTuple`."""

from __future__ import annotations

import pickle
from typing import NamedTuple as Standard

import pytest

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
