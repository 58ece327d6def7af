"""Pickles are read without running anything in them (tests/cli/test_damaged_weights.py has those that are refused)."""

from __future__ import annotations

import argparse
import contextlib
import io
import pickle
import pickletools
import struct
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from accmap.evidence.weights.checkpoint_pickle import Record, Tensor, read_pickle
from accmap.evidence.weights.opening import open_checkpoint
from accmap.evidence.weights.tensor_files import TorchFile
from accmap.schemas.diagnostic import UnreadableError

np = pytest.importorskip("numpy")

from weight_files import write_safetensors, write_torch  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path


def test_even_a_harmless_looking_package_is_not_imported() -> None:
    data = (
        b"\x80\x02cmegatron.core.this_module_does_not_exist\nAnything\nq\x00)\x81q\x01}q\x02X\x01\x00\x00\x00aK\x01sb."
    )
    found = read_pickle(data, "model.pt")
    assert isinstance(found, Record)
    assert found.get("a") == 1


def test_functions_of_allowed_packages_are_not_called() -> None:
    data = b"\x80\x02ctorch.hub\nload\n(X\x01\x00\x00\x00xtR."
    found = read_pickle(data, "model.pt")
    assert isinstance(found, Record)
    assert found.args == ("x",)


def test_a_namespace_is_its_values() -> None:
    found = read_pickle(pickle.dumps(argparse.Namespace(num_layers=2, bf16=True)), "model.pt")
    assert found.state == {"num_layers": 2, "bf16": True}


def test_what_a_pickle_does_to_a_class_stays_in_its_file() -> None:
    # BUILD on the class itself: every object of that name would be changed, were the class shared.
    spoiling = b"\x80\x02cmegatron.core\nThing\n}X\x05\x00\x00\x00state(K\x01tsb."
    for _ in range(2):
        with pytest.raises(UnreadableError):
            read_pickle(spoiling, "spoiling.pt")
    good = pickle.dumps(argparse.Namespace(a=1))
    assert read_pickle(good, "good.pt").state == {"a": 1}


def test_every_single_byte_may_be_wrong(tmp_path: Path) -> None:
    stream = io.BytesIO()
    write_torch(stream, {"model": {"w": np.arange(6, dtype=np.float32).reshape(2, 3)}, "args": argparse.Namespace(a=1)})
    with zipfile.ZipFile(stream) as archive:
        data = archive.read("archive/data.pkl")
    assert sum(1 for _ in pickletools.genops(data)) > 20
    for at in range(len(data)):
        for value in (0x00, 0xFF, data[at] ^ 0x01, data[at] ^ 0x80):
            with contextlib.suppress(UnreadableError):
                read_pickle(data[:at] + bytes([value]) + data[at + 1 :], "model.pt")


def test_every_byte_of_a_header_may_be_wrong(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_safetensors(path, {"a": np.ones((2, 3), np.float32), "b": np.ones(4, np.float32)})
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    for at in range(8 + length):
        for value in (0, 0xFF, data[at] ^ 1):
            path.write_bytes(data[:at] + bytes([value]) + data[at + 1 :])
            with contextlib.suppress(UnreadableError):
                open_checkpoint(str(path))


def test_tensors_are_found_with_their_strides(tmp_path: Path) -> None:
    plain = np.arange(6, dtype=np.float32).reshape(2, 3)
    turned = np.asfortranarray(plain + 10)
    half = np.arange(4, dtype=np.uint16)
    write_torch(tmp_path / "x.pt", {"plain": plain, "turned": turned, "half": half})
    file = TorchFile(str(tmp_path / "x.pt"))
    assert all(isinstance(value, Tensor) for value in file.content.values())
    read = {name: file.weight(name, value) for name, value in file.content.items()}
    assert read["plain"].read().tolist() == plain.tolist()
    assert read["plain"].rows(1, 2).tolist() == plain[1:2].tolist()
    assert read["turned"].strides == (1, 2)
    assert read["turned"].read().tolist() == turned.tolist()
    assert read["turned"].rows(1, 2).tolist() == turned[1:2].tolist()
    assert read["half"].dtype == "BF16"


@pytest.mark.parametrize("protocol", [2, 4, *(pytest.param(other, marks=pytest.mark.slow) for other in (0, 1, 3, 5))])
def test_what_pickle_writes_claims_what_it_has(protocol: int) -> None:
    found: list[Any] = [1, -1, 1 << 40, 1 << 3000, 1.5, None, True, "r" * 70000, b"p\n" * 70000, ("a", [])]
    found += [{str(number): [number] for number in range(70000)}, found[0], argparse.Namespace(p="r", r=b"p")]
    read = read_pickle(pickle.dumps(found, protocol), "model.pt")
    assert read[9] == ("a", [])
    assert read[10] == found[10]


@pytest.mark.parametrize("protocol", range(6))
def test_a_truth_is_read_as_one_in_every_protocol(protocol: int) -> None:
    read = read_pickle(pickle.dumps([True, False, 1, 0], protocol), "model.pt")
    assert [(type(value), value) for value in read] == [(bool, True), (bool, False), (int, 1), (int, 0)]


def test_a_tensor_that_repeats_a_few_numbers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    write_torch(path, {"w": np.arange(4, dtype=np.float32)})
    file = TorchFile(str(path))
    repeated = file.content["w"]._replace(shape=(1 << 40,), strides=(0,))
    with pytest.raises(UnreadableError, match="its storage has 16"):
        file.weight("w", repeated)


def test_many_shared_tuples_are_read_as_ever() -> None:
    held = {"a": [(1, 2)] * 100, (1, (2, 3)): {"b": ((1, 2),) * 50}}
    assert read_pickle(pickle.dumps(held, 2), "x.pt") == held
