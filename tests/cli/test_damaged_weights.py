"""Damaged, incomplete and foreign checkpoints, through the command line: each is named, and nothing is written.

A case makes a checkpoint at `run` and names what the command line says of it: the code, the file, the weight.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import shutil
import struct
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

np = pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence" / "weights"))
from weight_files import (  # noqa: E402
    ITERATION_FOLDER,
    SHARD,
    arrays,
    ckpt_entry,
    pair,
    read_safetensors,
    write_distributed,
    write_megatron,
    write_mindformers,
    write_safetensors,
    write_torch,
)

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.procedure("proc.weights.convert")
FILE = "model-00001-of-00001.safetensors"
NORM = "decoder.final_layernorm.weight"
LAYER = "decoder.layers.1.mlp"


class Model(NamedTuple):
    """The configurations of a small model, its weights, and the folder of the command line."""

    folder: Path
    script: str
    config: str
    arrays: dict[str, Any]
    accmap: Callable[..., Any]

    @property
    def run(self) -> Path:
        return self.folder / "run"

    def convert(self, *words: str, source: str = "run", output: str = "out") -> Any:
        return self.accmap(
            "weights", "convert", source, "-o", output, "--config", self.script, "--config", self.config, *words
        )


def model_of(family: str, folder: Path, accmap: Callable[..., Any]) -> Model:
    script, config = pair(family, folder)
    return Model(folder, script, config, arrays(script), accmap)


# --- checkpoints of the frameworks ---


def spoilt(spoil: Callable[[bytes], bytes]) -> Callable[[Model], object]:
    """A file of safetensors whose bytes are changed."""

    def make(model: Model) -> None:
        path = write_mindformers(model.run, model.config, model.arrays) / FILE
        path.write_bytes(spoil(path.read_bytes()))

    return make


def indexed(index: Callable[[list[str]], object]) -> Callable[[Model], object]:
    """A folder of safetensors with an index."""

    def make(model: Model) -> None:
        path = write_mindformers(model.run, model.config, model.arrays) / FILE
        (model.run / "param_name_map.json").write_text(json.dumps(index(list(read_safetensors(path)))))

    return make


def two_checkpoints(model: Model) -> None:
    path = write_mindformers(model.run, model.config, model.arrays) / FILE
    shutil.copy(path, model.run / "other.safetensors")


def of_ranks(spoil: Callable[[Path], object], *ranks: str) -> Callable[[Model], object]:
    """A Megatron-LM checkpoint of several ranks."""

    def make(model: Model) -> None:
        write_mindformers(model.folder / "source", model.config, model.arrays)
        assert model.convert(*ranks, source="source", output="run").code == 0
        spoil(model.run / "release")

    return make


FOUR = ("--tensor-parallel", "2", "--pipeline-parallel", "2")


def shards(content: Callable[[Model, int], dict[str, Any]]) -> Callable[[Model], object]:
    """A Megatron-LM checkpoint of two ranks, each with its own content."""

    def make(model: Model) -> None:
        for rank in range(2):
            place = model.run / ITERATION_FOLDER / f"mp_rank_{rank:02d}"
            place.mkdir(parents=True)
            write_torch(place / SHARD, content(model, rank))

    return make


def with_another_norm(model: Model, rank: int) -> dict[str, Any]:
    held = {name: np.split(a, 2)[rank] if "vocab" in name else a for name, a in model.arrays.items()}
    return {"iteration": 7, "model": {**held, NORM: held[NORM] + rank}}


def distributed(spoil: Callable[[Path], object]) -> Callable[[Model], object]:
    """A distributed checkpoint, one file of which is changed."""

    def make(model: Model) -> None:
        spoil(write_distributed(model.run, model.script, model.arrays) / ITERATION_FOLDER)

    return make


def larger_chunk(place: Path) -> None:
    data = (place / ".metadata").read_bytes()
    assert data.count(b"M\x00\x02K\x80\x86")  # (512, 128)
    (place / ".metadata").write_bytes(data.replace(b"M\x00\x02K\x80\x86", b"M\x00\xffK\x80\x86"))


def changed(
    change: Callable[[dict[str, Any]], object], write: Callable[..., object] = write_megatron
) -> Callable[[Model], object]:
    """A checkpoint with other weights than the configurations have."""

    def make(model: Model) -> None:
        found = dict(model.arrays)
        change(found)
        write(model.run, model.script, found)

    return make


def cut_layers(found: dict[str, Any]) -> None:
    for name in [name for name in found if name.endswith("linear_fc2.weight")]:
        found[name] = found[name][:100]


def twice(found: dict[str, Any]) -> None:
    found[f"module.{NORM}"] = found[NORM] + 1


def twice_in_safetensors(model: Model) -> None:
    path = write_mindformers(model.run, model.config, model.arrays) / FILE
    held = dict(read_safetensors(path))
    write_safetensors(path, {**held, f"network.{NORM}": held[NORM] + 1})


CHECKPOINTS: dict[str, tuple[Callable[[Model], object], str]] = {
    "safetensors cut in the length": (spoilt(lambda data: data[:4]), "EVD042 .* shorter than a safetensors header"),
    "safetensors cut in the header": (spoilt(lambda data: data[:100]), "EVD043 .* the header ends at byte"),
    "safetensors cut in the data": (spoilt(lambda data: data[:-10]), r"EVD043 .* output_layer\.weight ends at byte"),
    "a header of 2 to the 60": (
        spoilt(lambda data: struct.pack("<Q", 1 << 60) + data[8:]), "EVD042 .* the header, 1152921504606846976"
    ),
    "a header that is a list": (spoilt(lambda data: data[:8] + b"[" + data[9:]), "EVD042 .* not JSON"),
    "a header of bytes": (spoilt(lambda data: data[:8] + b"\xff" + data[9:]), "EVD042 .* not JSON"),
    "an unknown type": (spoilt(lambda data: data.replace(b'"F32"', b'"F99"', 1)), "EVD042 .* type 'F99'"),
    "no shape": (spoilt(lambda data: data.replace(b'"shape"', b'"shabe"', 1)), "EVD042 .* incomplete"),
    "another shape": (
        spoilt(lambda data: data.replace(b"[512, 128]", b"[512, 129]", 1)),
        "EVD042 .* requires 264192 bytes, but its entry has 262144",
    ),
    "a shape with a text": (spoilt(lambda data: data.replace(b"[512, 128]", b'[512, "8"]', 1)), f"{FILE}: EVD042"),
    "a name twice": (
        spoilt(lambda data: data.replace(b"layers.1.mlp", b"layers.0.mlp", 1)), r"EVD042 .* contains '.*' twice"
    ),
    "a file that the index names is missing": (
        indexed(lambda names: dict.fromkeys(names, "model-00001-of-00002.safetensors")),
        r"model-00001-of-00002\.safetensors is missing, but (decoder\.layers\.0|embedding).* requires it",
    ),
    "a weight that the index names is missing": (
        indexed(lambda _names: {"weight_map": {"decoder.more.weight": FILE}}), r"decoder\.more\.weight"
    ),
    "two checkpoints in one folder": (two_checkpoints, "a folder must contain only one checkpoint"),
    **{
        f"{rank} without its {part}": (of_ranks(spoil, *FOUR), rf"EVD041.*{rank}")
        for rank in ("mp_rank_00_001", "mp_rank_01_000")
        for part, spoil in (
            ("folder", lambda place, rank=rank: shutil.rmtree(place / rank)),
            ("file", lambda place, rank=rank: (place / rank / SHARD).unlink()),
        )
    },
    "a rank that is cut": (
        of_ranks(
            lambda place: os.truncate(path := place / "mp_rank_01" / SHARD, path.stat().st_size - 1000),
            "--tensor-parallel",
            "2",
        ),
        "EVD042.*mp_rank_01|mp_rank_01.*EVD042",
    ),
    "shards of two iterations": (
        shards(lambda model, rank: {"iteration": 7 + rank, "model": model.arrays}),
        "EVD045.*from iteration 7.*from iteration 8",
    ),
    "ranks with two norms": (
        shards(with_another_norm), r"EVD055.*decoder\.final_layernorm\.weight should be the same in"
    ),
    "no such chunks": (
        distributed(lambda place: (place / "__0_1.distcp").unlink()),
        r"EVD041.*__0_1\.distcp is missing, but decoder\.layers\..* requires it",
    ),
    "no metadata": (
        distributed(lambda place: (place / ".metadata").unlink()),
        r"EVD041.*\.metadata is missing, but __\*\.distcp requires it",
    ),
    "chunks cut short": (
        distributed(lambda place: (place / "__0_0.distcp").write_bytes(b"short")), "EVD043.*__0_0.distcp is truncated"
    ),
    "garbled metadata": (
        distributed(lambda place: (place / ".metadata").write_bytes(b"\x80\x02garbage.")), r"\.metadata: EVD042"
    ),
    "metadata without a table": (
        distributed(lambda place: (place / ".metadata").write_bytes(b"\x80\x02}.")), r"\.metadata: EVD042"
    ),
    "a common file of another kind": (
        distributed(lambda place: (place / "common.pt").write_bytes(b"PK\x03\x04")), r"common\.pt: EVD042"
    ),
    "garbled chunks": (
        distributed(lambda place: (file := place / "__0_0.distcp").write_bytes(b"\0" * file.stat().st_size)),
        r"__0_0\.distcp",
    ),
    "a chunk larger than its bytes": (distributed(larger_chunk), "cannot have [0-9]+ bytes"),
    "a shape of another model, in chunks": (
        changed(cut_layers, write_distributed), r"layers\.0\.mlp\.linear_fc2\.weight.*\[100, 256\].*\[128, 256\]"
    ),
    "a weight that no row knows": (
        changed(lambda found: found.update({f"{LAYER}.some_new_gate.weight": np.ones((2, 2), np.float32)})),
        r"EVD046.*decoder\.layers\.1\.mlp\.some_new_gate\.weight",
    ),
    "a missing weight": (
        changed(lambda found: found.pop("decoder.layers.1.self_attention.linear_qkv.bias")),
        r"EVD052.*decoder\.layers\.1\.self_attention\.linear_qkv\.bias",
    ),
    "a shape of another model": (
        changed(lambda found: found.update({f"{LAYER}.linear_fc1.weight": np.ones((256, 128), np.float32)})),
        r"EVD047.*\[256, 128\]",
    ),
    "the legacy model": (
        lambda model: write_megatron(
            model.run, model.script, model.arrays, model={"language_model": {"encoder": {}}}
        ),
        "legacy",
    ),
    "one weight under two names": (changed(twice), "are the same weight"),
    "one weight under two names, in chunks": (changed(twice, write_distributed), "are the same weight"),
    "one weight under two names, in safetensors": (twice_in_safetensors, "are the same weight"),
}  # fmt: skip


@pytest.fixture
def model(accmap: Callable[..., Any], tmp_path: Path) -> Model:
    return model_of("grouped", tmp_path, accmap)


def refuses(model: Model, says: str) -> None:
    answer = model.convert()
    said = " ".join((answer.err + answer.out).split())
    assert answer.code in (1, 2)
    assert re.search(says, said), said
    assert not [path for path in (model.folder / "out").rglob("*") if path.suffix in (".safetensors", ".pt")]


@pytest.mark.table(3)
@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint(model: Model, name: str) -> None:
    make, says = CHECKPOINTS[name]
    make(model)
    refuses(model, says)


def test_configurations_of_two_models_are_refused(model: Model, tmp_path: Path) -> None:
    write_megatron(model.run, model.script, model.arrays)
    _, other = pair("grouped", tmp_path / "other", model={"intermediate_size": 192})
    refuses(model._replace(config=other), "EVD058.*linear_fc1")


def test_tied_copies_that_differ_are_refused(accmap: Callable[..., Any], tmp_path: Path) -> None:
    model = model_of("tied", tmp_path, accmap)
    first = model.arrays["embedding.word_embeddings.weight"]
    write_megatron(model.run, model.script, {**model.arrays, "output_layer.weight": first + 1})
    refuses(model, "EVD055")
    write_megatron(tmp_path / "equal", model.script, {**model.arrays, "output_layer.weight": first})
    assert f"{len(model.arrays)} parameters" in model.convert(source="equal").out


def test_expert_ranks_that_disagree_about_a_norm_are_refused(accmap: Callable[..., Any], tmp_path: Path) -> None:
    model = model_of("moe_softmax", tmp_path, accmap)
    words = ("--to", "megatron", "--expert-parallel", "2", "--transformer-impl", "local")
    write_megatron(tmp_path / "source", model.script, model.arrays)
    assert model.convert(*words, source="source", output="run").code == 0
    assert model.convert(output="fine").code == 0
    write_megatron(tmp_path / "other", model.script, {**model.arrays, NORM: model.arrays[NORM] + 1})
    assert model.convert(*words, source="other", output="three").code == 0
    second = sorted((model.run / "release").iterdir())[1]
    shutil.copy(tmp_path / "three" / "release" / second.name / SHARD, second / SHARD)
    refuses(model, r"decoder\.final_layernorm\.weight should be the same in")


# --- files by themselves ---


class Calls:
    """An object whose pickle calls a function when it is loaded."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = (function, args)

    def __reduce__(self) -> Any:
        return self.call


def described(text: bytes) -> bytes:
    """A file of torch.save with a description of its own."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", text)
        archive.writestr("archive/byteorder", b"little")
        archive.writestr("archive/data/0", bytes(64))
    return stream.getvalue()


def saved(count: int, **changes: Any) -> dict[str, bytes]:
    """The entries of a file of torch.save with one weight."""
    stream = io.BytesIO()
    write_torch(stream, {"model": {"w": np.arange(count, dtype=np.float32)}})
    with zipfile.ZipFile(stream) as archive:
        return {name: archive.read(name) for name in archive.namelist()} | changes


def packed(entries: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return stream.getvalue()


def tuples(*, fetch_twice: bool) -> bytes:
    """Sixty pairs, each twice the one before it, as the key of a dictionary: 2 to the 60 hashes in 500 bytes."""
    text = b"\x80\x02}NN\x86q\x000"
    for number in range(60):
        fetch = b"h" + bytes([number])
        text += fetch + (fetch if fetch_twice else b"2") + b"\x86q" + bytes([number + 1]) + b"0"
    return text + b"h\x3cK\x01s."


RUNS = {
    "os.system": Calls(os.system, "touch ran"),
    "eval": Calls(eval, "__import__('os').system('touch ran')"),
    "exec": Calls(exec, "open('ran', 'w')"),
    "getattr": Calls(getattr, "x", "__class__"),
    "__import__": Calls(__import__, "os"),
    "open": Calls(open, "ran", "w"),
    "os.unlink": Calls(os.unlink, "a.pt"),
    "pickle.loads": Calls(pickle.loads, b""),
}
DAMAGED_PICKLES = (
    b"", b"\x80\x02", b"not a pickle", b"\x80\x02}q\x00(X\x05\x00\x00\x00mod", b"\x80\x02(((((((((t.",
    b"\x80\x02K\x01K\x02R.", b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nK\x01tR.",
    b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(K\x01K\x00)K\x00)tR.", b"\x80\x02(X\x07\x00\x00\x00storagetQ.",
    b"\x80\xffK\x01.", b"\x80\x02\x81.", b"(" * 10_000 + b"t" * 10_000 + b".",
)  # fmt: skip
CLAIMS = (
    b"\x80\x02Nr\x00\x00\x00\x40.",  # LONG_BINPUT: room for two thousand million objects
    b"\x80\x02Np1000000000\n.",
    b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b".",
    b"\x80\x05\x96" + (30 << 30).to_bytes(8, "little") + b".",
    b"\x80\x02X\xff\xff\xff\x7fabc.",
)
WHOLE = packed(saved(100))
FILES: dict[str, tuple[str, bytes, str]] = {
    **{
        f"a pickle of protocol {protocol} that calls {name}": (
            "a.pt", described(pickle.dumps({"model": {"x": call}}, protocol)), r"a\.pt: EVD044"
        )
        for protocol in (0, 2, 4, 5)
        for name, call in RUNS.items()
    },
    "what a pickle asks for": ("a.pt", described(pickle.dumps(RUNS["os.system"], 2)), r"(posix|nt)\.system"),
    **{f"a damaged pickle {at}": ("a.pt", described(text), r"a\.pt: EVD04") for at, text in enumerate(DAMAGED_PICKLES)},
    **{f"a claim {at}": ("a.pt", described(text), r"EVD042.*it claims") for at, text in enumerate(CLAIMS)},
    "tuples that double": ("a.pt", described(tuples(fetch_twice=True)), "a tuple that holds more than"),
    "tuples that repeat": ("a.pt", described(tuples(fetch_twice=False)), "a tuple that holds more than"),
    **{f"torch's file up to {keep}": ("a.pt", WHOLE[:keep], r"a\.pt: EVD042") for keep in (0, 1, 40, 200, -1, -30)},
    "a compressed file": ("a.pt", packed(saved(4), zipfile.ZIP_DEFLATED), r"data\.pkl is compressed"),
    "a short storage": (
        "a.pt", packed(saved(4, **{"archive/data/0": b"\0" * 8})), "w requires 16 bytes, but its storage has 8"
    ),
    "the form before torch 1.6": (
        "a.pt", pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2), r"1\.6"
    ),
    "bytes as a .ckpt": ("a.ckpt", b"\x4d\x52\x1f" * 100, "EVD056"),
    "a .ckpt with a short value": (
        "a.ckpt", ckpt_entry("a", (2,), "Float32", b"\0" * 4), "has the wrong size, 4 bytes"
    ),
    "a .ckpt with an unknown type": ("a.ckpt", ckpt_entry("a", (1,), "Int4", b"\0"), "has the type 'Int4'"),
    "a .ckpt with a name twice": (
        "a.ckpt", b"".join(ckpt_entry(name, (1,), "Int8", b"\0") for name in ("a", "b", "a")), "twice"
    ),
    "a .ckpt that is cut": ("a.ckpt", ckpt_entry("a", (1,), "Float32", b"\0" * 4)[:-1], "EVD056"),
    "an empty .ckpt": ("a.ckpt", b"", "contains no parameter"),
}  # fmt: skip


@pytest.mark.table(3)
@pytest.mark.parametrize("name", FILES)
def test_a_file(accmap: Callable[..., Any], tmp_path: Path, name: str) -> None:
    file, data, says = FILES[name]
    answer = accmap("weights", "check", file, files={file: data})
    said = " ".join((answer.err + answer.out).split())
    assert answer.code == 2, said
    assert re.search(says, said), said
    assert [path.name for path in tmp_path.iterdir()] == [file]


PLACES: dict[str, tuple[dict[str, str], str]] = {
    "nothing": ({}, "the path does not exist"),
    "an empty folder": ({"x/": ""}, "the folder contains no checkpoint"),
    "a text": ({"x": "x"}, "the file has a different type"),
    "folders of ranks": ({"x/rank_0/": "", "x/rank_1/": ""}, "the folder contains no checkpoint"),
    "a .ckpt for each rank": ({"x/0.ckpt": "", "x/1.ckpt": ""}, "ckpt_to_safetensors"),
    "two iterations": (
        {"x/iter_0000001/mp_rank_00/": "", "x/iter_0000002/mp_rank_00/": ""}, "iter_0000001, iter_0000002"
    ),
    "an iteration that is gone": ({"x/latest_checkpointed_iteration.txt": "30"}, "iter_0000030"),
    "an empty rank": ({"x/mp_rank_00/": ""}, "mp_rank_00"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_what_is_not_a_checkpoint(accmap: Callable[..., Any], tmp_path: Path, name: str) -> None:
    files, says = PLACES[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).mkdir() if path.endswith("/") else (tmp_path / path).write_text(text)
    answer = accmap("weights", "check", "x")
    assert answer.code == 2
    assert says in " ".join(answer.err.split())
