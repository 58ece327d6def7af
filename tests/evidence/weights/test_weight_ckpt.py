"""MindSpore's `.ckpt` files: the same numbers as mindspore.load_checkpoint gives (2.9.0 `train/serialization.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accmap.evidence.weights.mindformers_files import read_ckpt
from accmap.evidence.weights.opening import open_checkpoint
from accmap.schemas.diagnostic import UnreadableError

np = pytest.importorskip("numpy")

from weight_files import ckpt_entry  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path


def test_parameters_whole_and_in_pieces(tmp_path: Path) -> None:
    wanted = np.arange(4000, dtype="<f4").reshape(400, 10)
    data = ckpt_entry("step_num", (0,), "Int32", b"\7\0\0\0") + ckpt_entry("note", (1,), "str", "a".encode("utf-32-le"))
    data += b"".join(ckpt_entry("a.weight", (400, 10), "Float32", part.tobytes()) for part in np.array_split(wanted, 3))
    data += ckpt_entry("b", (3,), "BFloat16", b"\0\1\2\3\4\5") + b"crc_num" + bytes(10)
    (tmp_path / "a.ckpt").write_bytes(data)
    found = read_ckpt(str(tmp_path / "a.ckpt"))
    assert {name: (weight.dtype, weight.shape) for name, weight in found.items()} == {
        "step_num": ("I32", ()), "a.weight": ("F32", (400, 10)), "b": ("BF16", (3,)),
    }  # fmt: skip
    assert int(found["step_num"].read()) == 7
    assert (found["a.weight"].read() == wanted).all()
    assert (np.concatenate(list(found["a.weight"].blocks())) == wanted).all()
    assert (found["a.weight"].rows(130, 270) == wanted[130:270]).all()
    assert open_checkpoint(str(tmp_path)).form == "ckpt"


@pytest.mark.frameworks
def test_as_mindspore_saves(tmp_path: Path) -> None:
    mindspore = pytest.importorskip("mindspore")
    from mindspore.train import serialization  # pyright: ignore[reportMissingImports]

    serialization.SLICE_SIZE = 4  # KiB: what is larger is cut
    kinds = ("float32", "float16", "bfloat16", "int8", "int32", "int64", "uint8", "bool_", "float64")
    saved = {
        f"p.{kind}": mindspore.Tensor(np.arange(6000).reshape(60, 100) % 2, getattr(mindspore, kind)) for kind in kinds
    }
    saved["one"] = mindspore.Tensor(3.5, mindspore.float32)
    listed = [{"name": name, "data": data} for name, data in saved.items()]
    for more in ({}, {"crc_check": True}):
        path = str(tmp_path / "a.ckpt")
        mindspore.save_checkpoint(listed, path, append_dict={"epoch_num": 3, "note": "text"}, **more)
        found = read_ckpt(path)
        known = mindspore.load_checkpoint(path)
        assert set(found) == {name for name, value in known.items() if not isinstance(value, str)}
        for name, weight in found.items():
            value = known[name]
            assert weight.shape == tuple(value.shape), name
            mine = weight.read()
            if weight.dtype == "BF16":  # numpy has no such type
                mine = (mine.astype(np.uint32) << 16).view(np.float32)
                assert (mine == np.arange(6000).reshape(60, 100) % 2).all()
            else:
                assert (mine == value.asnumpy()).all(), name
    mindspore.save_checkpoint(listed, str(tmp_path / "b.ckpt"), enc_key=b"0123456789abcdef", enc_mode="AES-GCM")
    with pytest.raises(UnreadableError, match="encrypted"):
        read_ckpt(str(tmp_path / "b.ckpt"))
