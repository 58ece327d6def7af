"""Makes small checkpoints for the tests, without either framework.

Pickles are written by Python's own pickler from stand-ins that bear torch's and Megatron-Core's names, so that the
readers see what the real frameworks write.
"""

from __future__ import annotations

import argparse
import io
import json
import pickle
import struct
import sys
import types
import zipfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.weight_layout import expected_weights, layout_of
from accmap.mapper.weights import WeightTable
from accmap.schemas.reader import read_config

PAIRS = Path(__file__).parents[2] / "verifier" / "pairs"
sys.path.insert(0, str(PAIRS))
from pair_files import TABLE, write_pair  # noqa: E402

FAMILIES = ("grouped", "tied", "moe_softmax", "latent", "deepseek")
ITERATION = 7
ITERATION_FOLDER = f"iter_{ITERATION:07d}"
SHARD = "model_optim_rng.pt"
DTYPES = {"<f4": "FloatStorage", "<u2": "BFloat16Storage", "<f2": "HalfStorage"}


def pair(family: str, folder: Path, **changes: Any) -> tuple[str, str]:
    """The script and the YAML of a family, built by the local implementation expert by expert."""
    megatron = {"transformer-impl": "local", "moe-grouped-gemm": None, **changes.pop("megatron", {})}
    if "multi-latent-attention" in TABLE["families"][family].get("megatron", {}):
        megatron = {"no-rope-fusion": True, **megatron}  # Megatron-LM refuses latent attention with the fusion
    folder.mkdir(parents=True, exist_ok=True)
    script, config = write_pair({"family": family, "megatron": megatron, **changes}, folder)
    return str(script), str(config)


def arrays(script: str, seed: int = 0) -> dict[str, Any]:
    """Numbers for every weight of the model, under the weight table's names."""
    source = np.random.default_rng(seed)
    wanted = expected_weights(recipe_of(read_config(script)))
    return {name: source.standard_normal(shape).astype(np.float32) for name, shape in wanted.items()}


def megatron_state(found: dict[str, Any]) -> dict[str, Any]:
    """What `state_dict_for_save_checkpoint` of the local implementation holds."""
    state: dict[str, Any] = {}
    for name, array in found.items():
        state[name] = array
        if name.endswith(("linear_fc1.weight", "linear_qkv.weight")):
            state[name.replace(".weight", "._extra_state")] = None
    return state


def write_megatron(folder: Path, script: str, found: dict[str, Any], **content: Any) -> Path:
    """A `torch` checkpoint of one rank, with the run's arguments in it."""
    place = folder / ITERATION_FOLDER / "mp_rank_00"
    place.mkdir(parents=True)
    everything = {
        "args": namespace(script),
        "checkpoint_version": 3.0,
        "iteration": ITERATION,
        "model": megatron_state(found),
        **content,
    }
    write_torch(place / SHARD, everything)
    (folder / "latest_checkpointed_iteration.txt").write_text(str(ITERATION))
    return folder


def namespace(script: str) -> argparse.Namespace:
    """The arguments as validation leaves them."""
    config = read_config(script)
    known = {key: setting.value for key, setting in config.settings.items()}
    known["padded_vocab_size"] = recipe_of(config).value("model.padded_vocab_size")
    return argparse.Namespace(**known)


def write_mindformers(folder: Path, config: str, found: dict[str, Any]) -> Path:
    """A folder of safetensors as the framework writes it."""
    read = read_config(config)
    laid = WeightTable(layout_of(recipe_of(read), read)).to_mindformers(found)
    folder.mkdir(parents=True)
    write_safetensors(folder / "model-00001-of-00001.safetensors", laid)
    return folder


def write_safetensors(path: Path, found: dict[str, Any], **header_changes: Any) -> None:
    """A safetensors file; uint16 arrays stand for bfloat16."""
    names = {"<f4": "F32", "<u2": "BF16", "<f2": "F16", "<i4": "I32", "<f8": "F64"}
    header: dict[str, Any] = {}
    at = 0
    data = b""
    for name, array in found.items():
        raw = np.ascontiguousarray(array).tobytes()
        offsets = [at, at + len(raw)]
        header[name] = {"dtype": names[array.dtype.str], "shape": list(array.shape), "data_offsets": offsets}
        at += len(raw)
        data += raw
    header.update(header_changes)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path: Path) -> dict[str, Any]:
    """The arrays of a safetensors file, read by plain means."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    kinds = {"F32": "<f4", "BF16": "<u2", "F16": "<f2", "F64": "<f8"}
    found: dict[str, Any] = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            first, last = (8 + length + offset for offset in entry["data_offsets"])
            found[name] = np.frombuffer(data[first:last], kinds[entry["dtype"]]).reshape(entry["shape"])
    return found


def write_torch(target: Path | io.BytesIO, content: Any, name: str = "archive") -> None:
    """What `torch.save` would write."""
    storages: list[Any] = []
    with torch_names() as torch:
        data = io.BytesIO()
        pickler = _Pickler(data, storages, torch)
        pickler.dump(content)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{name}/data.pkl", data.getvalue())
        archive.writestr(f"{name}/byteorder", "little")
        for number, array in enumerate(storages):
            archive.writestr(f"{name}/data/{number}", array.tobytes())
        archive.writestr(f"{name}/version", "3\n")


class _Pickler(pickle.Pickler):
    """Writes numpy arrays as torch tensors."""

    def __init__(self, stream: io.BytesIO, storages: list[Any], torch: Any) -> None:
        super().__init__(stream, protocol=2)
        self._storages = storages
        self._torch = torch

    def reducer_override(self, found: Any) -> Any:
        if not isinstance(found, np.ndarray):
            return NotImplemented
        # A column-major array is a view with other strides, as a transposed tensor is.
        transposed = found.ndim == 2 and found.flags.f_contiguous and not found.flags.c_contiguous
        self._storages.append(np.ascontiguousarray(found.T if transposed else found))
        key = str(len(self._storages) - 1)
        storage = _Storage(getattr(self._torch, DTYPES[found.dtype.str]), key, found.size)
        strides = tuple(step // found.itemsize for step in found.strides)
        return self._torch._utils._rebuild_tensor_v2, (storage, 0, found.shape, strides, False, None)

    def persistent_id(self, found: Any) -> Any:
        return ("storage", found.kind, found.key, "cpu", found.size) if isinstance(found, _Storage) else None


class _Storage:
    def __init__(self, kind: Any, key: str, size: int) -> None:
        self.kind, self.key, self.size = kind, key, size


class torch_names:  # noqa: N801 - a context, used like a function
    """Modules with torch's names, so that the pickler can name what is in them."""

    def __enter__(self) -> Any:
        torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
        metadata = types.ModuleType("torch.distributed.checkpoint.metadata")
        filesystem = types.ModuleType("torch.distributed.checkpoint.filesystem")
        for kind in DTYPES.values():
            setattr(torch, kind, type(kind, (), {"__module__": "torch"}))
        torch.float32 = _Named("float32")
        _define(utils, "_rebuild_tensor_v2")
        torch._utils = utils
        for name in ("Metadata", "TensorStorageMetadata", "ChunkStorageMetadata", "BytesStorageMetadata",
                     "MetadataIndex", "TensorProperties"):  # fmt: skip
            setattr(metadata, name, type(name, (), {"__module__": metadata.__name__}))
        filesystem._StorageInfo = type("_StorageInfo", (), {"__module__": filesystem.__name__})
        torch.metadata, torch.filesystem = metadata, filesystem
        modules = {
            "torch": torch,
            "torch._utils": utils,
            metadata.__name__: metadata,
            filesystem.__name__: filesystem,
        }
        self._patch = patch.dict(sys.modules, modules)
        self._patch.start()
        return torch

    def __exit__(self, *_error: object) -> None:
        self._patch.stop()


def _define(module: Any, name: str) -> None:
    def function(*_args: Any) -> None:
        raise AssertionError

    function.__module__, function.__qualname__ = module.__name__, name
    setattr(module, name, function)


class _Named:
    """A value that is pickled by its name in torch."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> str:
        return self.name

    __module__ = "torch"


def adam_state(found: dict[str, Any], step: int, kinds: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What the optimizer of one rank saves: numbered, those with weight decay first."""
    decaying = [name for name, array in found.items() if array.ndim > 1 and not name.endswith(".bias")]
    sparing = [name for name in found if name not in decaying and not name.endswith(".expert_bias")]
    order = [*decaying, *sparing]
    state = {
        at: {"step": step, **{kind: arrays[name] for kind, arrays in kinds.items()}} for at, name in enumerate(order)
    }
    numbers = list(range(len(order)))
    groups = [
        {"wd_mult": mult, "lr_mult": 1.0, "params": part}
        for mult, part in ((1.0, numbers[: len(decaying)]), (0.0, numbers[len(decaying) :]))
    ]
    return {"state": state, "param_groups": groups}


def write_distributed(
    folder: Path,
    script: str,
    found: dict[str, Any],
    *,
    stacked: bool = True,
    adam: dict[str, dict[str, Any]] | None = None,
    flat: bool = False,
    step: int = 0,
    buffers: dict[str, Any] | None = None,
) -> Path:
    """A `torch_dist` checkpoint: two files, layers and experts stacked, first projections in two chunks.

    Without `stacked` every expert, and gate and up projection, is a parameter of its own (`singleton_local_shards`).
    `adam` has arrays for each kind of the optimizer's state, which are stored as the distributed optimizer does if
    they are `flat`; `buffers` are what it stores in a form that depends on its ranks.
    """
    place = folder / ITERATION_FOLDER
    place.mkdir(parents=True)
    common = {"optimizer": {"state": {"common_step": step}, "param_groups": []}} if adam else {}
    write_torch(place / "common.pt", {"args": namespace(script), "iteration": ITERATION, **common}, "common")
    whole = _stack(found) if stacked else _singletons(found)
    if adam is None:
        whole["optimizer.state.exp_avg.decoder.final_layernorm.weight"] = np.zeros(3, np.float32)
    for key, array in (buffers or {}).items():
        whole[f"optimizer.distributed.dp_group_idx_0.gbuf_idx_0.{key}"] = array
    for kind, state in (adam or {}).items():
        for key, array in _stack(state).items():
            whole[f"optimizer.state.{kind}.{key}"] = _flatten(key, array) if flat else array
    files = [b"", b""]
    with torch_names() as torch:
        entries, places = {}, {}
        for number, (name, array) in enumerate(whole.items()):
            chunks = []
            for offsets, piece in _pieces(array, halves="linear_fc1" in name):
                file = number % 2
                stream = io.BytesIO()
                write_torch(stream, piece)
                index = _made(torch.metadata.MetadataIndex, fqn=name, offset=offsets, index=0)
                length = len(stream.getvalue())
                places[index] = _made(
                    torch.filesystem._StorageInfo, relative_path=f"__0_{file}.distcp", offset=len(files[file]),
                    length=length,
                )  # fmt: skip
                files[file] += stream.getvalue()
                chunks.append(_made(torch.metadata.ChunkStorageMetadata, offsets=offsets, sizes=piece.shape))
            properties = _made(torch.metadata.TensorProperties, dtype=torch.float32)
            entries[name] = _made(
                torch.metadata.TensorStorageMetadata, properties=properties, size=array.shape, chunks=chunks
            )
        entries["decoder.layers.self_attention.linear_qkv._extra_state/shard_0_1"] = _made(
            torch.metadata.BytesStorageMetadata
        )
        metadata = _made(torch.metadata.Metadata, state_dict_metadata=entries, storage_data=places, planner_data=None)
        (place / ".metadata").write_bytes(pickle.dumps(metadata))
    for number, data in enumerate(files):
        (place / f"__0_{number}.distcp").write_bytes(data)
    (place / "metadata.json").write_text('{"sharded_backend": "torch_dist"}')
    (folder / "latest_checkpointed_iteration.txt").write_text(str(ITERATION))
    return folder


def _flatten(key: str, array: Any) -> Any:
    """Pieces one after the other: `[X, Y]` in pieces `[x, y]` is `[X / x, Y / y, x * y]`. Two ranks cut columns."""
    stacked = int(key.startswith("decoder.layers.") and not key.split(".")[2].isdecimal()) + int(
        ".experts.experts." in key
    )
    outer, inner = array.shape[:stacked], array.shape[stacked:]
    if key.endswith(("linear_proj.weight", "linear_fc2.weight")):
        halves = np.stack(np.split(array, 2, axis=-1), axis=stacked)
        return np.ascontiguousarray(halves).reshape(*outer, 1, 2, -1)
    return array.reshape(*outer, *(1 for _ in inner), -1)


def _made(kind: Any, **state: Any) -> Any:
    found = kind()
    found.__dict__.update(state)
    return found


def _pieces(array: Any, *, halves: bool) -> list[tuple[tuple[int, ...], Any]]:
    """The chunks of a parameter, split along its last-but-one axis."""
    axis = max(0, array.ndim - 2)
    if not halves or array.shape[axis] < 2:
        return [((0,) * array.ndim, array)]
    half = array.shape[axis] // 2
    first, second = np.split(array, [half], axis=axis)
    offsets = [0] * array.ndim
    offsets[axis] = half
    return [((0,) * array.ndim, np.ascontiguousarray(first)), (tuple(offsets), np.ascontiguousarray(second))]


def _singletons(found: dict[str, Any]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for name, array in found.items():
        name = name.replace(".local_experts.", ".experts.")
        if name.endswith("linear_fc1.weight"):
            whole[f"{name}_w"], whole[f"{name}_v"] = map(np.ascontiguousarray, np.split(array, 2))
        else:
            whole[name] = array
    return whole


def _stack(found: dict[str, Any]) -> dict[str, Any]:
    """Experts as one parameter each, and layers too where all are alike."""
    grouped: dict[str, list[Any]] = {}
    for name, array in found.items():
        start, _, rest = name.partition(".local_experts.")
        key = f"{start}.experts.{rest.partition('.')[2]}" if rest else name
        grouped.setdefault(key, []).append(array)
    experts = {key: np.stack(parts) if ".experts.experts." in key else parts[0] for key, parts in grouped.items()}
    layers: dict[str, list[Any]] = {}
    for name, array in experts.items():
        pieces = name.split(".")
        key = ".".join(("decoder.layers", *pieces[3:])) if name.startswith("decoder.layers.") else name
        layers.setdefault(key, []).append(array)
    count = max(map(len, layers.values()))
    if any(key.startswith("decoder.layers.") and len(parts) != count for key, parts in layers.items()):
        return experts
    return {key: np.stack(parts) if key.startswith("decoder.layers.") else parts[0] for key, parts in layers.items()}


__all__ = [
    "FAMILIES", "ITERATION", "TABLE", "adam_state", "arrays", "megatron_state", "namespace", "pair", "read_safetensors",
    "torch_names", "write_distributed", "write_megatron", "write_mindformers", "write_safetensors", "write_torch",
]  # fmt: skip


def ckpt_entry(tag: str, dims: tuple[int, ...], kind: str, content: bytes) -> bytes:
    """A parameter as MindSpore's `checkpoint.proto` has it."""

    def varint(value: int) -> bytes:
        found = bytearray()
        while value >= 0x80:
            found.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes([*found, value])

    def field(number: int, data: bytes) -> bytes:
        return bytes([number << 3 | 2]) + varint(len(data)) + data

    sizes = b"".join(b"\x08" + varint(size) for size in dims)
    return field(1, field(1, tag.encode()) + field(2, sizes + field(2, kind.encode()) + field(3, content)))
