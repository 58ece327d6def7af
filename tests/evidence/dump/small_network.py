"""A small network in numpy, forward and backward, that writes dumps as msprobe does, with a fault where one is asked.

Names, order and fields are those that msprobe 26.2 wrote for the real models (`test_compare_frameworks.py` compares
dumps of the real one): modules in the order of completion, parameter gradients as entries of their own.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

Array = Any

LAYERS, HIDDEN, WIDE, VOCABULARY, LENGTH, BATCH = 3, 8, 16, 32, 6, 2
KINDS = {
    "pytorch": {"norm": "RMSNorm", "embedding": "VocabParallelEmbedding", "type": "torch.Tensor", "dtype": "torch.{}"},
    "mindspore": {
        "norm": "FusedRMSNorm",
        "embedding": "VocabParallelEmbedding",
        "type": "mindspore.Tensor",
        "dtype": "{}",
    },
}
MINDSPORE_DTYPES = {
    "float32": "Float32",
    "float16": "Float16",
    "int64": "Int64",
    "int32": "Int32",
    "bfloat16": "BFloat16",
}

LEGACY = {"linear_fc1": "mapping", "linear_fc2": "projection"}
"""How an older generation calls the same modules, for mappings."""


class Dump:
    """Collects entries and writes them."""

    def __init__(self, folder: Path, framework: str, task: str, prefix: str, names: dict[str, str]) -> None:
        self.folder = folder
        self.framework = framework
        self.task = task
        self.prefix = prefix
        self.names = names
        self.data: dict[str, Any] = {}
        self.construct: dict[str, str | None] = {}
        (folder / "dump_tensor_data").mkdir(parents=True, exist_ok=True)

    def name(self, module: str, kind: str, direction: str = "forward", call: int = 0) -> str:
        path = ".".join(self.names.get(part, part) for part in module.split("."))
        return f"{self.prefix}{path}.{kind}.{direction}.{call}"

    def tensor(self, array: Array, name: str) -> dict[str, Any]:
        kind = KINDS[self.framework]
        plain = str(array.dtype)
        dtype = kind["dtype"].format(plain if self.framework == "pytorch" else MINDSPORE_DTYPES[plain])
        wide = array.astype(np.float64)
        found: dict[str, Any] = {"type": kind["type"], "dtype": dtype, "shape": list(array.shape)}
        norm = float(np.sqrt((wide * wide).sum()))
        found.update(Max=float(wide.max()), Min=float(wide.min()), Mean=float(wide.mean()), Norm=norm)
        if self.task == "md5":
            found["md5"] = f"{zlib.crc32(np.ascontiguousarray(array).tobytes()):08x}"
        if self.task == "tensor":
            found["data_name"] = f"{name}.{'pt' if self.framework == 'pytorch' else 'npy'}"
            path = self.folder / "dump_tensor_data" / found["data_name"]
            if self.framework == "pytorch":
                save_torch(path, array)
            else:
                np.save(path, array)
        return found

    def forward(self, module: str, kind: str, given: list[Any], made: list[Array], **parameters: Array) -> None:
        name = self.name(module, kind)
        self.data[name] = {
            "input_args": [self._argument(value, f"{name}.input.{at}") for at, value in enumerate(given)],
            "input_kwargs": {},
            "output": [self.tensor(array, f"{name}.output.{at}") for at, array in enumerate(made)],
            "parameters": {key: self.tensor(array, f"{name}.parameters.{key}") for key, array in parameters.items()},
        }
        self.construct[name] = None

    def backward(self, module: str, kind: str, given: list[Array], made: list[Array], **gradients: Array) -> None:
        name = self.name(module, kind, "backward")
        for key, array in gradients.items():
            entry = self.name(module, kind, "parameters_grad")
            self.data[entry] = {key: [self.tensor(array, f"{entry}.{key}")]}
        self.data[name] = {
            "input": [self.tensor(array, f"{name}.input.{at}") for at, array in enumerate(given)],
            "output": [self.tensor(array, f"{name}.output.{at}") for at, array in enumerate(made)],
        }

    def _argument(self, value: Any, name: str) -> dict[str, Any]:
        if isinstance(value, np.ndarray):
            return self.tensor(value, name)
        return {"type": type(value).__name__, "value": value}

    def write(self) -> Path:
        head = {"task": "tensor" if self.task == "tensor" else "statistics", "level": "L0", "framework": self.framework}
        head["dump_data_dir"] = str(self.folder / "dump_tensor_data")
        (self.folder / "dump.json").write_text(json.dumps({**head, "data": self.data}, indent=1))
        (self.folder / "construct.json").write_text(json.dumps(self.construct))
        (self.folder / "stack.json").write_text("{}")
        return self.folder


def run(
    folder: Path,
    framework: str = "pytorch",
    *,
    task: str = "tensor",
    fault: str = "",
    prefix: str | None = None,
    names: dict[str, str] | None = None,
    dtype: str = "float32",
    noise: float = 0.0,
    place: str = "step0/rank0",
) -> Path:
    """Run the network once and dump it; answers with the root of the dump."""
    with np.errstate(all="ignore"):
        return _run(folder, framework, task, fault, prefix, names, dtype, noise, place)


def _run(
    folder: Path,
    framework: str,
    task: str,
    fault: str,
    prefix: str | None,
    names: dict[str, str] | None,
    dtype: str,
    noise: float,
    place: str,
) -> Path:
    usual = "Module." if framework == "pytorch" else "Cell."
    dump = Dump(folder / place, framework, task, usual if prefix is None else prefix, names or {})
    kind = KINDS[framework]
    random = np.random.default_rng(7)
    shake = np.random.default_rng(11)

    def weight(*shape: int) -> Array:
        return (random.standard_normal(shape) * 0.3).astype(np.float32)

    def kept(array: Array) -> Array:
        moved = array * (1 + noise * shake.standard_normal(array.shape)) if noise else array
        return moved.astype(dtype)

    table, head = weight(VOCABULARY, HIDDEN), weight(HIDDEN, VOCABULARY)
    ups, downs = ([weight(*shape) for _ in range(LAYERS)] for shape in ((HIDDEN, WIDE), (WIDE, HIDDEN)))
    tokens = random.integers(0, VOCABULARY, (BATCH, LENGTH))
    if fault == "weights":
        ups[1] = ups[1] * np.float32(1.01)
    if fault == "data":
        tokens[0, 1] += 1
    if fault == "constant embedding":
        table = table * 0 + table[:1]
    if fault == "zero projection":
        downs[1] = downs[1] * 0
    if fault == "zero head":
        head = head * 0
    epsilons = [0.1 if fault == "computation" and layer == 1 else 1e-6 for layer in range(LAYERS)]

    x = kept(table[tokens])
    dump.forward("embedding.word_embeddings", kind["embedding"], [tokens], [x], weight=table)
    saved: list[tuple[Array, ...]] = []
    for layer in range(LAYERS):
        path = f"decoder.layers.{layer}"
        normed = kept(normalised(x, epsilons[layer]))
        rate = 0.1 if fault == "argument" and layer == 1 else 0.0
        made = kept(normed * 1.02) if fault == "argument" and layer == 1 else normed
        dump.forward(f"{path}.pre_mlp_layernorm", kind["norm"], [x, rate], [made])
        fed = kept(made * 1.01) if fault == "between" and layer == 1 else made
        wide = kept(fed @ ups[layer])
        dump.forward(f"{path}.mlp.linear_fc1", "ColumnParallelLinear", [fed], [wide], weight=ups[layer])
        active = kept(np.tanh(wide))
        if fault == "overflow" and layer == 1:
            active = active.copy()
            active[0, 0, 0] = np.inf
        narrow = kept(active @ downs[layer])
        dump.forward(f"{path}.mlp.linear_fc2", "RowParallelLinear", [active], [narrow], weight=downs[layer])
        dump.forward(f"{path}.mlp", "MLP", [made], [narrow])
        after = kept(x + narrow * (1.02 if fault == "residual" and layer == 1 else 1.0))
        dump.forward(path, "TransformerLayer", [x], [after])
        saved.append((x, made, wide, active))
        x = after
    last = kept(normalised(x, 1e-6) * (0 if fault == "constant norm" else 1))
    dump.forward("decoder.final_layernorm", kind["norm"], [x], [last])
    dump.forward("decoder", "TransformerBlock", [saved[0][0]], [last])
    logits = kept(last @ head)
    dump.forward("output_layer", "ColumnParallelLinear", [last], [logits], weight=head)

    slope = kept(logits / np.float32(logits.size))
    passed = kept(slope @ head.T)
    dump.backward("output_layer", "ColumnParallelLinear", [slope], [passed], weight=kept(flat(last).T @ flat(slope)))
    down = kept(passed)
    dump.backward("decoder.final_layernorm", kind["norm"], [passed], [down])
    for layer in reversed(range(LAYERS)):
        path = f"decoder.layers.{layer}"
        _x, made, wide, active = saved[layer]
        inner = kept(down @ downs[layer].T)
        dump.backward(
            f"{path}.mlp.linear_fc2", "RowParallelLinear", [down], [inner], weight=kept(flat(active).T @ flat(down))
        )
        factor = 1.02 if fault == "backward" and layer == 1 else 1.0
        bent = kept(inner * (1 - np.tanh(wide) ** 2) * factor)
        outer = kept(bent @ ups[layer].T)
        dump.backward(
            f"{path}.mlp.linear_fc1", "ColumnParallelLinear", [bent], [outer], weight=kept(flat(made).T @ flat(bent))
        )
        dump.backward(f"{path}.mlp", "MLP", [down], [outer])
        down = kept(down + outer)
        dump.backward(path, "TransformerLayer", [inner], [down])
    dump.write()
    return folder


def normalised(x: Array, epsilon: float) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)


def flat(array: Array) -> Array:
    return array.reshape(-1, array.shape[-1])


_STORAGES = {
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "float16": "HalfStorage",
    "int64": "LongStorage",
    "bfloat16": "BFloat16Storage",
}


def save_torch(path: Path, array: Array, kind: str | None = None) -> None:
    """A tensor as `torch.save` writes it: the same zip and the same opcodes."""
    array = np.asarray(array, order="C")
    kind = kind or str(array.dtype)

    def word(text: str) -> bytes:
        return b"X" + struct.pack("<I", len(text)) + text.encode()

    def whole(value: int) -> bytes:
        return b"J" + struct.pack("<i", value)

    strides = [stride // array.itemsize for stride in array.strides]
    pickled = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x00((" + word("storage")
    pickled += f"ctorch\n{_STORAGES[kind]}\n".encode() + word("0") + word("cpu") + whole(array.size) + b"tQ" + whole(0)
    pickled += b"(" + b"".join(map(whole, array.shape)) + b"t(" + b"".join(map(whole, strides)) + b"t"
    pickled += b"\x89ccollections\nOrderedDict\n)RtR."
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        stem = path.stem
        archive.writestr(f"{stem}/data.pkl", pickled)
        archive.writestr(f"{stem}/byteorder", "little")
        archive.writestr(f"{stem}/data/0", array.tobytes())
        archive.writestr(f"{stem}/version", "3\n")
