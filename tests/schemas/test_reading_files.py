"""Files are read whole, also those that hold more than they say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from accmap.schemas.border.file_input import read_regular
from accmap.schemas.border.inputs import read_at_once
from accmap.schemas.diagnostic import UnreadableError


@pytest.mark.parametrize("size", [0, 1, 8191, 8192, 8193, 100_000])
def test_a_file_is_read_to_its_end_and_no_further_than_asked(size: int, tmp_path: Path) -> None:
    place = tmp_path / "file"
    data = bytes(number % 251 for number in range(size))
    place.write_bytes(data)
    assert read_regular(str(place)) == data
    with place.open("rb") as stream:
        assert read_at_once(stream, 10) == data[:10]
        stream.seek(max(size - 10, 0))
        assert read_at_once(stream, 10) == data[-10:]


@pytest.mark.parametrize("written", [1, 20_000])
def test_a_file_that_grows_behind_its_size_is_read_to_its_end(
    written: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "file"
    place.write_bytes(b"a" * 10)
    real = os.fstat

    def and_grow(descriptor: int) -> os.stat_result:
        found = real(descriptor)
        with place.open("ab") as more:
            more.write(b"b" * written)
        return found

    with place.open("rb") as stream:
        monkeypatch.setattr(os, "fstat", and_grow)
        assert read_at_once(stream, 1_000_000) == b"a" * 10 + b"b" * written


@pytest.mark.skipif(not os.path.exists("/proc/self/cmdline"), reason="no files that say they are empty")
def test_a_file_that_says_it_is_empty_is_read_all_the_same() -> None:
    assert os.stat("/proc/self/cmdline").st_size == 0
    assert read_regular("/proc/self/cmdline") == Path("/proc/self/cmdline").read_bytes()
    with pytest.raises(UnreadableError):
        read_regular("/proc/self/cmdline", limit=3)
