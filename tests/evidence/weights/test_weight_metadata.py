"""The `.metadata` that torch.distributed.checkpoint itself writes: read as torch reads it, in bounded memory.

The oracle is the installed torch (2.13): `distributed/checkpoint/metadata.py` and `filesystem.py:FileSystemWriter`.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from accmap.evidence.weights import checkpoint_pickle
from accmap.evidence.weights.checkpoint_pickle import read_pickle
from accmap.evidence.weights.megatron_dist import MegatronDist
from accmap.evidence.weights.model import Found
from accmap.schemas.diagnostic import UnreadableError

pytest.importorskip("numpy")

if TYPE_CHECKING:
    from pathlib import Path

SAVED = """
import sys, torch, torch.distributed.checkpoint as dcp
torch.manual_seed(1)
state = {
    "decoder.final_layernorm.weight": torch.randn(8, dtype=torch.bfloat16),
    "embedding.word_embeddings.weight": torch.randn(16, 8),
    "output_layer.weight": torch.randn(16, 8).t(),
    "optimizer.state.exp_avg.output_layer.weight": torch.randn(16, 8),
    "rng": b"some bytes",
}
dcp.save(state, checkpoint_id=sys.argv[1], no_dist=True)
numbers = {name: tensor.double().tolist() for name, tensor in state.items() if name != "rng"}
import json; print(json.dumps(numbers))
"""
MADE = """
import json, pickle, sys, torch
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata, Metadata, MetadataIndex, TensorProperties, TensorStorageMetadata)
from torch.distributed.checkpoint.planner import SavePlan, TensorWriteData, WriteItem, WriteItemType
folder, layers, experts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
entries, places, at, items = {}, {}, 0, []
names = ["decoder.layers.mlp.experts.experts.linear_fc1.weight", "decoder.layers.mlp.experts.experts.linear_fc2.weight"]
for prefix in ("", "optimizer.state.fp32_param.", "optimizer.state.exp_avg.", "optimizer.state.exp_avg_sq."):
    for name in names:
        chunks = []
        for layer in range(layers):
            for expert in range(experts):
                offsets = torch.Size((layer, expert, 0, 0))
                chunk = ChunkStorageMetadata(offsets=offsets, sizes=torch.Size((1, 1, 64, 300)))
                index = MetadataIndex(prefix + name, offsets if expert % 2 else torch.Size(tuple(offsets)), len(chunks))
                chunks.append(chunk)
                places[index] = _StorageInfo(f"__{at % 8}_0.distcp", at * 40000, 64 * 300 * 2 + 1000)
                at += 1
        properties = TensorProperties(dtype=torch.bfloat16)
        entries[prefix + name] = TensorStorageMetadata(properties, torch.Size((layers, experts, 64, 300)), chunks)
        data = TensorWriteData(chunk=chunks[0], properties=properties, size=torch.Size((layers, experts, 64, 300)))
        items.append(WriteItem(index=index, type=WriteItemType.SHARD, tensor_data=data))
metadata = Metadata(state_dict_metadata=entries, storage_data=places, planner_data={"x": ("model", 0, "y")})
metadata.all_local_plans = [SavePlan(items)]
with open(folder + "/.metadata", "wb") as stream:
    pickle.dump(metadata, stream)
for number in range(8):
    with open(folder + f"/__{number}_0.distcp", "wb") as stream:
        stream.truncate(at * 40000 + 50000)
first = entries[names[0]].chunks
print(json.dumps([[*one.offsets, *one.sizes] for one in first[:: max(1, len(first) // 50)]]))
"""
READ = """
import re, sys
from pathlib import Path
from accmap.evidence.weights.megatron_dist import MegatronDist
from accmap.evidence.weights.model import Found
found = MegatronDist(Found("megatron", "torch_dist", sys.argv[1]))
count = len(found.shapes())
# Of this program alone: ru_maxrss begins with what the process held that started it.
print(count, re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def ran(script: str, *words: object) -> str:
    done = subprocess.run([sys.executable, "-c", script, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.frameworks
def test_what_torch_saves_is_read_number_for_number(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    import numpy as np

    numbers = json.loads(ran(SAVED, tmp_path).splitlines()[-1])
    found = MegatronDist(Found("megatron", "torch_dist", str(tmp_path)))
    shapes = found.shapes()
    assert set(shapes) == {name for name in numbers if not name.startswith("optimizer.")}
    tensors = found._tensors  # pyright: ignore[reportPrivateUsage]
    for name, (_, weight) in found._named_weights(tensors).items():  # pyright: ignore[reportPrivateUsage]
        array = weight.read()
        if weight.dtype == "BF16":
            array = (array.astype(np.uint32) << 16).view(np.float32)
        assert array.astype(np.float64).tolist() == numbers[name], name


@pytest.mark.frameworks
def test_pieces_are_where_torch_says(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    wanted = json.loads(ran(MADE, tmp_path, 5, 10).splitlines()[-1])
    found = MegatronDist(Found("megatron", "torch_dist", str(tmp_path)))
    whole = found._tensors["decoder.layers.mlp.experts.experts.linear_fc1.weight"]  # pyright: ignore[reportPrivateUsage]
    assert [[*chunk.offsets, *chunk.shape] for chunk in whole.chunks] == wanted
    assert [(chunk.file[-13:], chunk.whole[1:3]) for chunk in whole.chunks] == [  # type: ignore[index]  # pyright: ignore
        (f"/__{at % 8}_0.distcp", (at * 40000, 64 * 300 * 2 + 1000)) for at in range(50)
    ]
    assert len(found.shapes()) == 2 * 5 * 10


@pytest.mark.frameworks
@pytest.mark.slow
def test_fifty_megabytes_take_twice_as_much(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    ran(MADE, tmp_path, 160, 256)
    size = (tmp_path / ".metadata").stat().st_size
    assert size > 50 << 20
    count, peak = map(int, ran(READ, tmp_path).split())
    assert count == 2 * 160 * 256
    assert peak << 10 < 2 * size + (150 << 20)


ATOMS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.binary(max_size=8)
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=4)
        | st.sets(st.text(max_size=4) | st.integers(), max_size=4)
        | inner.map(lambda one: [one, one])
    ),
    max_leaves=20,
)


@given(VALUES, st.integers(2, 5))
def test_plain_values_are_what_python_makes_of_them(value: Any, protocol: int) -> None:
    """The oracle is Python's own unpickler; before protocol 3 it calls functions for bytes and sets."""
    bytes_in_it = "b'" in repr(value) or 'b"' in repr(value)
    text = pickle.dumps(value, 3 if protocol == 2 and bytes_in_it else protocol)
    assume(protocol > 3 or ("set(" not in repr(value) and "{" not in repr(value)))
    assert read_pickle(text, "x.pt") == value


STEPS = {
    "values": b"N", "marks": b"(", "lists": b"]", "tuples": b"\x85", "objects": b"h\x00)\x81", "numbers": b"K\x01",
    "tables": b"}q\x00", "floats": b"G" + bytes(8), "texts": b"X\x01\x00\x00\x00a",
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("known", ["torch.distributed.checkpoint.metadata\nMetadataIndex", "torch\nX"])
def test_opcodes_without_end_are_refused(known: str, step: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_pickle, "_FREE", 1 << 16)
    text = b"\x80\x02c" + known.encode() + b"\nq\x00" + step * ((1 << 18) // len(step)) + b"h\x00."
    with pytest.raises(UnreadableError, match="describe more objects"):
        read_pickle(text, "x.pt")
