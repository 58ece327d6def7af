"""Pickles are read without running anything in them."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import pickle
import pickletools
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from accmap.evidence.weights.checkpoint_pickle import Record, Tensor, read_pickle
from accmap.evidence.weights.tensor_files import TorchFile
from accmap.schemas.diagnostic import UnreadableError

np = pytest.importorskip("numpy")

from weight_files import write_torch  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path


class Calls:
    """An object whose pickle calls a function when it is loaded."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = (function, args)

    def __reduce__(self) -> Any:
        return self.call


def code_of(data: bytes) -> str:
    with pytest.raises(UnreadableError) as raised:
        read_pickle(data, "model.pt")
    return raised.value.diagnostic.kind.code


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (os.system, ("touch ran",)),
        (eval, ("__import__('os').system('touch ran')",)),
        (exec, ("open('ran', 'w')",)),
        (getattr, ("x", "__class__")),
        (__import__, ("os",)),
        (open, ("ran", "w")),
        (os.unlink, ("model.pt",)),
        (pickle.loads, (b"",)),
    ],
)
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_a_pickle_that_calls_something_is_refused(
    function: Any, args: Any, protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = pickle.dumps({"model": {"x": Calls(function, *args)}}, protocol=protocol)
    assert code_of(data) == "EVD044"
    assert not (tmp_path / "ran").exists()


def test_the_message_names_what_was_asked_for() -> None:
    with pytest.raises(UnreadableError, match=r"posix\.system|nt\.system") as raised:
        read_pickle(pickle.dumps(Calls(os.system, "true")), "a/model.pt")
    assert "a/model.pt" in str(raised.value)


def test_even_a_harmless_looking_package_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x02",
        b"not a pickle",
        b"\x80\x02}q\x00(X\x05\x00\x00\x00mod",
        b"\x80\x02(((((((((t.",
        b"\x80\x02K\x01K\x02R.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nK\x01tR.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(K\x01K\x00)K\x00)tR.",
        b"\x80\x02(X\x07\x00\x00\x00storagetQ.",
        b"\x80\xffK\x01.",
        b"\x80\x02\x81.",
        b"(" * 10_000 + b"t" * 10_000 + b".",
    ],
)
def test_a_damaged_pickle_is_named_and_never_a_crash(data: bytes) -> None:
    with contextlib.suppress(UnreadableError):
        read_pickle(data, "model.pt")


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


@pytest.mark.parametrize("keep", [0, 1, 40, 200, -1, -30])
def test_a_truncated_file_is_named(keep: int, tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    write_torch(path, {"w": np.arange(100, dtype=np.float32)})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UnreadableError, match=r"x\.pt") as raised:
        TorchFile(str(path))
    assert raised.value.diagnostic.kind.code == "EVD042"


def test_a_compressed_or_lying_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    write_torch(path, {"w": np.arange(4, dtype=np.float32)})
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    with pytest.raises(UnreadableError, match=r"data\.pkl is compressed"):
        TorchFile(str(path))
    entries["archive/data/0"] = b"\0" * 8
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    file = TorchFile(str(path))
    with pytest.raises(UnreadableError, match="w needs 16 bytes, its storage has 8"):
        file.weight("w", file.content["w"])


def test_the_format_before_torch_1_6_is_named(tmp_path: Path) -> None:
    path = tmp_path / "old.pt"
    path.write_bytes(pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2) + pickle.dumps(1001, protocol=2))
    with pytest.raises(UnreadableError, match=r"1\.6"):
        TorchFile(str(path))


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02Nr\x00\x00\x00\x40.",  # LONG_BINPUT: room for two thousand million objects
        b"\x80\x02Np1000000000\n.",
        b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b".",
        b"\x80\x05\x96" + (30 << 30).to_bytes(8, "little") + b".",
        b"\x80\x02X\xff\xff\xff\x7fabc.",
    ],
)
def test_a_few_bytes_cannot_claim_the_machines_memory(data: bytes) -> None:
    with pytest.raises(UnreadableError, match="it claims") as raised:
        read_pickle(data, "model.pt")
    assert raised.value.diagnostic.kind.code == "EVD042"


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


@pytest.mark.parametrize("fetch_twice", [True, False])
def test_a_tuple_that_is_small_and_has_a_hash_without_end_is_refused(fetch_twice: bool) -> None:
    """Sixty pairs, each twice the one before it, as the key of a dictionary: 2 to the 60 hashes in 500 bytes."""
    text = b"\x80\x02}NN\x86q\x000"
    for number in range(60):
        fetch = b"h" + bytes([number])
        text += fetch + (fetch if fetch_twice else b"2") + b"\x86q" + bytes([number + 1]) + b"0"
    with pytest.raises(UnreadableError, match="a tuple that holds more than"):
        read_pickle(text + b"h\x3cK\x01s.", "x.pt")


def test_many_shared_tuples_are_read_as_ever() -> None:
    held = {"a": [(1, 2)] * 100, (1, (2, 3)): {"b": ((1, 2),) * 50}}
    assert read_pickle(pickle.dumps(held, 2), "x.pt") == held
