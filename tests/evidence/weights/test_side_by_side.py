"""Numbers are put away in a thread, in their order, and what goes wrong there is raised where they are made."""

from __future__ import annotations

import pytest

from accmap.evidence.weights import side_by_side
from accmap.evidence.weights.side_by_side import Behind


def test_blocks_are_taken_in_their_order() -> None:
    found: list[bytes] = []
    with Behind(lambda data: found.append(bytes(data))) as behind:
        for number in range(50):
            behind.put(bytes([number]))
    assert found == [bytes([number]) for number in range(50)]
    assert behind.taken == 50


def test_a_full_disk_is_raised_to_whoever_makes_the_numbers() -> None:
    taken: list[object] = []

    def full(data: object) -> None:
        taken.append(data)
        raise OSError(28, "No space left on device")

    def put_many() -> None:
        with Behind(full) as behind:
            for _ in range(1000):
                behind.put(b"x")

    with pytest.raises(OSError, match="No space"):
        put_many()
    assert len(taken) == 1


def test_the_last_block_counts_too() -> None:
    def full(_data: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"), Behind(full) as behind:
        behind.put(b"x")


def test_what_the_maker_raises_is_raised() -> None:
    with pytest.raises(KeyError), Behind(lambda _data: None):
        raise KeyError


def test_of_large_blocks_there_is_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "_LARGE", 10)
    taken: list[int] = []
    with Behind(lambda data: taken.append(memoryview(data).nbytes)) as behind:
        for number in range(11, 20):
            behind.put(bytes(number))
            assert taken[-1] == number
