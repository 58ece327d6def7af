"""Numbers are made in a thread, handed out in their order, and what goes wrong there is raised where they are used."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from accmap.evidence.weights.target_files import Ahead

if TYPE_CHECKING:
    from collections.abc import Iterator


def none_large(_made: int) -> bool:
    return False


def test_what_is_made_comes_in_its_order() -> None:
    with Ahead(iter(range(50)), none_large) as ahead:
        assert list(ahead) == list(range(50))


def test_it_is_made_in_another_thread() -> None:
    def thread() -> Iterator[int]:
        yield threading.get_ident()

    with Ahead(thread(), none_large) as ahead:
        assert list(ahead) != [threading.get_ident()]


def test_what_the_maker_raises_is_raised_in_its_turn() -> None:
    def damaged() -> Iterator[int]:
        yield from range(3)
        raise KeyError("damaged")

    found: list[int] = []
    with Ahead(damaged(), none_large) as ahead, pytest.raises(KeyError, match="damaged"):
        found.extend(ahead)
    assert found == [0, 1, 2]


@pytest.mark.parametrize("large", [False, True])
def test_a_full_disk_ends_the_maker_too(large: bool) -> None:
    made: list[int] = []

    def endless() -> Iterator[int]:
        while True:
            made.append(len(made))
            yield made[-1]

    def put_away() -> None:
        with Ahead(endless(), lambda _made: large) as ahead:
            for number in ahead:
                if number == 2:
                    raise OSError(28, "No space left on device")

    before = threading.active_count()
    with pytest.raises(OSError, match="No space"):
        put_away()
    assert threading.active_count() == before
    assert len(made) < 20


def test_little_is_made_before_it_is_needed() -> None:
    made: list[int] = []

    def noted() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    with Ahead(noted(), none_large) as ahead:
        for number in ahead:
            assert len(made) <= number + 8
    assert len(made) == 100


def test_behind_what_is_large_nothing_is_made_before_it_is_put_away() -> None:
    made: list[int] = []

    def noted() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    with Ahead(noted(), lambda number: number >= 50) as ahead:
        for number in ahead:
            if number > 51:
                assert len(made) == number + 1
