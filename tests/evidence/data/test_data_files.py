"""Data files as they should be, and as they should not."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from data_writer import CODES, write_data

from accmap.evidence.data import dataset as token_module
from accmap.evidence.data.dataset import scan, sequence_at
from accmap.evidence.data.indexed_file import DTYPES, prefix_of, read_indexed
from accmap.schemas.diagnostic import UnreadableError

if TYPE_CHECKING:
    from accmap.evidence.data.indexed_file import IndexedFile

SEQUENCES = st.lists(st.lists(st.integers(0, 120), max_size=12), min_size=1, max_size=20)
GOOD = [[1, 2, 3], [4, 5], [6]]


@settings(max_examples=60)
@given(sequences=SEQUENCES, code=st.sampled_from(sorted(CODES)), multimodal=st.booleans())
@pytest.mark.procedure("proc.data.bin_idx")
def test_what_is_written_is_read(
    sequences: list[list[int]], code: int, multimodal: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    prefix = tmp_path_factory.mktemp("data") / "text"
    write_data(prefix, sequences, code, modes=[1] * len(sequences) if multimodal else None)
    data = read_indexed(str(prefix))
    assert data.sound
    assert (data.dtype, data.itemsize) == DTYPES[code]
    assert (data.sequences, data.documents) == (len(sequences), len(sequences))
    assert data.tokens == sum(map(len, sequences))
    assert (data.modes is not None) == multimodal
    assert [data.read(number).tolist() for number in range(data.sequences)] == sequences
    assert data.empty_sequences == sum(not sequence for sequence in sequences)


@settings(max_examples=60)
@given(sequences=SEQUENCES, chunk=st.sampled_from([4, 12, 40, 4000]))
def test_a_scan_counts_as_one_would_by_hand(
    sequences: list[list[int]], chunk: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    prefix = tmp_path_factory.mktemp("data") / "text"
    write_data(prefix, sequences)
    data = read_indexed(str(prefix))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_module, "CHUNK", chunk)
        found = scan(data, [3, 7], [100, 5])
    flat = [token for sequence in sequences for token in sequence]
    ends = [sequence[-1] for sequence in sequences if sequence]
    assert found.tokens == len(flat)
    assert (found.minimum, found.maximum) == ((min(flat), max(flat)) if flat else (None, None))
    assert found.counts == {3: flat.count(3), 7: flat.count(7)}
    assert found.ends == {token: ends.count(token) for token in set(ends)}
    for outside in found.outside:
        wrong = [at for at, token in enumerate(flat) if token >= outside.limit]
        assert outside.times == len(wrong)
        assert (outside.id, outside.offset) == (flat[wrong[0]], wrong[0] * 4)
        assert sequences[outside.sequence][outside.position] == outside.id
    assert {outside.limit for outside in found.outside} == {limit for limit in (100, 5) if flat and max(flat) >= limit}


def test_a_quick_look_reads_whole_sequences(tmp_path: Path) -> None:
    write_data(tmp_path / "text", [[number] * 5 for number in range(100)])
    found = scan(read_indexed(str(tmp_path / "text")), [0, 99], [50], quick=10)
    assert (found.tokens, found.complete, found.sequences) == (50, False, 10)
    assert found.counts == {0: 5, 99: 5}
    assert found.outside[0].sequence >= 50
    assert scan(read_indexed(str(tmp_path / "text")), quick=100).complete


def test_the_place_of_a_token_skips_empty_sequences(tmp_path: Path) -> None:
    write_data(tmp_path / "text", [[1], [], [], [2, 3]])
    data = read_indexed(str(tmp_path / "text"))
    assert [sequence_at(data, token) for token in range(3)] == [(0, 0), (3, 0), (3, 1)]


def test_a_name_is_data_by_its_ending_or_by_what_lies_there(tmp_path: Path) -> None:
    write_data(tmp_path / "text", GOOD)
    whole = str(tmp_path / "text")
    assert prefix_of(whole) == prefix_of(f"{whole}.idx") == prefix_of(f"{whole}.bin") == whole
    assert prefix_of("nowhere.bin") == "nowhere"
    assert prefix_of("pretrain.sh") is None


UNREADABLE = {
    "no index": (lambda idx, bin_: idx.unlink(), "EVD060", "text.idx"),
    "no tokens": (lambda idx, bin_: bin_.unlink(), "EVD060", "although"),
    "no bytes": (lambda idx, bin_: idx.write_bytes(b""), "EVD064", "byte 0"),
    "other file": (lambda idx, bin_: idx.write_bytes(b"\x93NUMPY" + bytes(200)), "EVD061", "Byte 0"),
    "version 2": (lambda idx, bin_: poke(idx, 9, struct.pack("<Q", 2)), "EVD061", "version 2"),
    "unknown dtype": (lambda idx, bin_: poke(idx, 17, b"\x2a"), "EVD061", "42 is not a dtype"),
    "half a header": (lambda idx, bin_: cut(idx, 20), "EVD064", "header"),
    "half the lengths": (lambda idx, bin_: cut(idx, 40), "EVD064", "sequence lengths"),
    "half the offsets": (lambda idx, bin_: cut(idx, 60), "EVD064", "sequence offsets"),
    "half the marks": (lambda idx, bin_: cut(idx, 90), "EVD064", "document marks"),
    "a huge count": (lambda idx, bin_: poke(idx, 18, struct.pack("<Q", 1 << 60)), "EVD064", "1152921504606846976"),
}
FAULTY = {
    "a negative length": (lambda idx, bin_: poke(idx, 38, struct.pack("<i", -2)), "EVD065", "At byte 38"),
    "a wrong offset": (lambda idx, bin_: poke(idx, 54, struct.pack("<q", 400)), "EVD065", "At byte 54"),
    "a mark that falls": (lambda idx, bin_: poke(idx, 86, struct.pack("<q", 0)), "EVD065", "At byte 86"),
    "a first mark": (lambda idx, bin_: poke(idx, 70, struct.pack("<q", 1)), "EVD065", "At byte 70"),
    "a last mark": (lambda idx, bin_: poke(idx, 94, struct.pack("<q", 9)), "EVD065", "both frameworks fail"),
    "tokens cut off": (lambda idx, bin_: cut(bin_, 20), "EVD066", "truncated"),
    "tokens of another width": (lambda idx, bin_: bin_.write_bytes(bytes(12)), "EVD066", "uint16 (8)"),
    "tokens too many": (lambda idx, bin_: bin_.write_bytes(bin_.read_bytes() + b"x"), "EVD066", "After byte 24"),
    "another dtype": (lambda idx, bin_: poke(idx, 17, b"\x08"), "EVD065", "4 int32"),
    "bytes after the index": (lambda idx, bin_: idx.write_bytes(idx.read_bytes() + b"xx"), "EVD069", "2 more"),
}


def poke(path: Path, offset: int, data: bytes) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:offset] + data + whole[offset + len(data) :])


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def spoiled(folder: Path, spoil: object) -> IndexedFile:
    write_data(folder / "text", GOOD)
    spoil(folder / "text.idx", folder / "text.bin")  # pyright: ignore[reportCallIssue]
    return read_indexed(str(folder / "text"))


@pytest.mark.parametrize("name", UNREADABLE)
def test_files_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    spoil, code, words = UNREADABLE[name]
    with pytest.raises(UnreadableError) as caught:
        spoiled(tmp_path, spoil)
    assert caught.value.diagnostic.kind.code == code
    assert words in caught.value.diagnostic.message("en")
    assert any("\u4e00" <= letter <= "\u9fff" for letter in caught.value.diagnostic.message("zh"))


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_data(tmp_path / "text", GOOD)
    monkeypatch.setattr("os.access", lambda *_words: False)
    with pytest.raises(UnreadableError, match="may be read"):
        read_indexed(str(tmp_path / "text"))


@pytest.mark.parametrize("name", FAULTY)
def test_files_that_are_wrong(name: str, tmp_path: Path) -> None:
    spoil, code, words = FAULTY[name]
    found = spoiled(tmp_path, spoil).problems
    assert code in {entry.kind.code for entry in found}
    told = next(entry for entry in found if entry.kind.code == code)
    assert words in told.message("en")
    assert any("\u4e00" <= letter <= "\u9fff" for letter in told.message("zh"))


def test_every_byte_of_an_index_may_be_wrong_and_nothing_breaks(tmp_path: Path) -> None:
    write_data(tmp_path / "text", GOOD)
    whole = (tmp_path / "text.idx").read_bytes()
    generator = np.random.default_rng(0)
    for offset in range(len(whole)):
        for byte in (0, 255, int(generator.integers(1, 255))):
            (tmp_path / "text.idx").write_bytes(whole[:offset] + bytes([byte]) + whole[offset + 1 :])
            try:
                data = read_indexed(str(tmp_path / "text"))
            except UnreadableError:
                continue
            if data.sound:
                scan(data, [1], [3])


def test_empty_sequences_and_documents_are_counted(tmp_path: Path) -> None:
    write_data(tmp_path / "text", [[], [1], []], marks=[0, 0, 3])
    data = read_indexed(str(tmp_path / "text"))
    assert (data.empty_sequences, data.empty_documents, data.sound) == (2, 1, True)
    assert data.problems[0].kind.code == "EVD068"


@pytest.mark.parametrize("code", [6, 7])
def test_floats_that_are_no_numbers(tmp_path: Path, code: int) -> None:
    write_data(tmp_path / "text", [[1, float("nan"), float("inf"), 3.5]], code)  # pyright: ignore[reportArgumentType]
    data = read_indexed(str(tmp_path / "text"))
    assert data.problems[0].kind.code == "EVD069"
    assert data.read(0).tolist() == [1, -1, 2**62, 3]
    assert scan(data, limits=[10]).outside[0].times == 2


def test_no_sequences_at_all(tmp_path: Path) -> None:
    write_data(tmp_path / "text", [])
    data = read_indexed(str(tmp_path / "text"))
    assert (data.sequences, data.tokens, data.sound) == (0, 0, True)
    assert scan(data, [1], [2]).minimum is None
