"""Inputs of strangers for the commands that look at real runs: each ends in a sentence, in little time and memory.

A case writes files into an empty folder and names the words of a command line. Whatever stands in them, the exit code
is 0, 1 or 2, an unusable input is told in a sentence, nothing that steers a terminal or a CI runner comes out, and the
memory is bounded by what the files are.
"""

# ruff: noqa: E501, UP031 - inputs are written as they stand in a file

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import re
import socket
import struct
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))
from case import Case, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MEGABYTES = 180
"""What such a command may take beside twice the size of its files: what it imports, too."""
EVIL = "##vso[task.setvariable variable=x]y\n::stop-commands::z\x1b[2J\x1b]0;t\x07\u202e"
"""What a terminal, a workflow or a pipeline runs, at the start of a line and within it."""
DEEP = 100_000


# --- the forms, as their writers lay them out ---


def safetensors(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype: object = "F32", shape: object = (1,), offsets: object = (0, 4)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def archive(entries: dict[str, bytes], packed: int = zipfile.ZIP_STORED, folder: str = "archive/") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packed) as made:
        for name, data in entries.items():
            made.writestr(folder + name, data)
    return out.getvalue()


def torch_file(description: bytes, storage: bytes = b"\0" * 64, **more: bytes) -> bytes:
    return archive({"data.pkl": description, "byteorder": b"little", "data/0": storage, **more})


def described(
    offset: object = 0, shape: object = (2, 2), strides: object = (2, 1), kind: bytes = b"FloatStorage"
) -> bytes:
    """A pickle of one tensor, as torch.save writes it."""

    def number(value: object) -> bytes:
        if isinstance(value, tuple):
            return b"(" + b"".join(map(number, value)) + b"t"
        assert isinstance(value, int)
        data = value.to_bytes((value.bit_length() + 8) // 8, "little", signed=True)
        return b"\x8b" + struct.pack("<i", len(data)) + data

    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\n"
        + kind
        + b"\nX\x01\0\0\x000X\x03\0\0\0cpu"
        b"K\x10tQ" + number(offset) + number(shape) + number(strides) + b"\x89ccollections\nOrderedDict\n)RtR."
    )


def npy(header: str | bytes, data: bytes = b"", version: tuple[int, int] = (1, 0), length: int | None = None) -> bytes:
    text = header.encode() if isinstance(header, str) else header
    size = len(text) if length is None else length
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version == (1, 0) else "<I", size) + text + data


def shaped(shape: str, descr: str = "'<f4'", data: bytes = b"\0" * 16) -> bytes:
    return npy(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n", data)


def sheet(xml: bytes, strings: bytes = b"", packed: int = zipfile.ZIP_DEFLATED) -> bytes:
    entries = {"xl/worksheets/sheet1.xml": xml}
    if strings:
        entries["xl/sharedStrings.xml"] = strings
    return archive(entries, packed, "")


SPACE = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def rows(inner: bytes) -> bytes:
    return b"<worksheet " + SPACE + b"><sheetData>" + inner + b"</sheetData></worksheet>"


def index(sequences: int, marks: int, body: bytes = b"", code: int = 4, version: int = 1) -> bytes:
    return b"MMIDIDX\0\0" + struct.pack("<QBQQ", version, code, sequences, marks) + body


def event(record: bytes) -> bytes:
    from accmap.evidence.logs.event_files import masked_crc

    head = struct.pack("<Q", len(record))
    return head + struct.pack("<I", masked_crc(head)) + record + struct.pack("<I", masked_crc(record))


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def ckpt_value(tag: bytes, dims: bytes, kind: bytes, content: bytes) -> bytes:
    """One entry of MindSpore's `checkpoint.proto`."""
    return field(1, field(1, tag) + field(2, dims + field(2, kind) + field(3, content)))


LINE = (
    " [2025-01-01 10:00:00] iteration {:8}/      20 | consumed samples: {:12} | elapsed time per iteration (ms): 10.0 | "
    "learning rate: 1.0E-05 | global batch size:     8 | lm loss: 1.0{}E+01 | loss scale: 1.0 | grad norm: 1.0 | "
    "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
)
LOG = "".join(LINE.format(step, step * 8, step % 10) for step in range(1, 5))
STATIC = (
    "Epoch:[  1/  1], step:[  {}/  9], loss: {}, per_step_time: 10ms, lr: 1e-5, overflow cond: False, loss_scale: 1.0\n"
)
UNIT = '{"input_args":[{"type":"torch.Tensor","dtype":"torch.float32","shape":[2],"Max":%s,"Min":0,"Mean":1,"Norm":1}]}'


def dump(data: str) -> str:
    return '{"task":"statistics","level":"L0","framework":"pytorch","data":{%s}}' % data


def named_dump(name: str, highest: str = "1") -> str:
    return dump(f"{json.dumps(name)}:{UNIT % highest}")


GOOD_DUMP = named_dump("Module.module.a.Linear.forward.0")

# --- the cases ---

EVIDENCE_CASES: list[Case] = []


def case(
    name: str,
    line: str,
    files: Mapping[str, str | bytes | Callable[[], bytes]],
    make: Callable[[Path], object] | None = None,
    *,
    codes: tuple[int, ...] = (0, 1, 2),
    says: tuple[str, ...] = (),
) -> None:
    EVIDENCE_CASES.append(Case(name, words_of(line), files, make, codes, says, megabytes=MEGABYTES))


def fifo(path: str) -> Callable[[Path], object]:
    return lambda folder: (folder / path).parent.mkdir(parents=True, exist_ok=True) or os.mkfifo(folder / path)


def link(path: str, target: str) -> Callable[[Path], object]:
    return lambda folder: (
        (folder / path).parent.mkdir(parents=True, exist_ok=True) or (folder / path).symlink_to(target)
    )


def listening(path: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        here = Path.cwd()
        os.chdir(folder)  # the path of a socket is short
        socket.socket(socket.AF_UNIX).bind(path)
        os.chdir(here)

    return make


# Every place where a file is named: a pipe, a device, a socket, a folder, a dangling link, nothing.
WHERE = {
    "check.npy": "check npy {} good.npy",
    "check.scores": "check scores {} 1.5",
    "logs": "logs {}",
    "logs-two": "logs good.log {}",
    "weights": "weights check {}.safetensors",
    "weights-pt": "weights check {}.pt",
    "weights-ckpt": "weights check {}.ckpt",
    "convert": "weights convert {}.safetensors -o out",
    "dump": "dump compare {} good",
    "dump-csv": "dump compare {}.csv {}.csv",
    "dump-xlsx": "dump compare {}.xlsx {}.xlsx",
    "data": "data check {}.idx",
    "record": "data check {}.mindrecord",
    "tokenizer": "data check good.idx --tokenizer {}",
    "mapping": "dump compare good good --mapping {}",
    "status": "playbook status {}",
    "doctor": "doctor {}",
}
GOOD: dict[str, str | bytes] = {
    "good.npy": shaped("(4,)"),
    "good.log": LOG,
    "good/dump.json": GOOD_DUMP,
    "good.idx": index(1, 2, struct.pack("<iqqq", 4, 0, 0, 1)),
    "good.bin": struct.pack("<4i", 1, 2, 3, 4),
}
for command, line in WHERE.items():
    named = re.search(r"\{\}(\S*)", line)
    assert named is not None
    odd = "odd" + named[1]
    words = line.format("odd", "odd")
    case(f"{command}:nothing", words, GOOD)
    case(f"{command}:pipe", words, GOOD, make=fifo(odd))
    case(f"{command}:device", words, GOOD, make=link(odd, "/dev/zero"))
    case(f"{command}:empty", words, {**GOOD, odd: b""})
    case(f"{command}:random", words, {**GOOD, odd: bytes(range(256)) * 40})
    if command in ("check.npy", "logs", "weights", "dump", "data", "record", "tokenizer"):
        case(f"{command}:loop", words, GOOD, make=link(odd, odd))
        case(f"{command}:socket", words, GOOD, make=listening(odd))
        case(f"{command}:terminal", words, GOOD, make=link(odd, "/dev/tty"))

# safetensors
for name, content in {
    "dtype-is-an-object": safetensors({"a": tensor({})}, b"\0" * 4),
    "dtype-is-a-list": safetensors({"a": tensor([[]])}, b"\0" * 4),
    "shape-is-text": safetensors({"a": tensor(shape="12")}, b"\0" * 4),
    "shape-of-booleans": safetensors({"a": tensor(shape=[True])}, b"\0" * 4),
    "shape-negative": safetensors({"a": tensor(shape=[-1, -1])}, b"\0" * 4),
    "shape-huge": safetensors({"a": tensor(shape=[10**20, 10**20])}, b"\0" * 4),
    "shape-of-many-digits": safetensors(b'{"a":{"dtype":"F32","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,4]}}'),
    "shape-of-300-digits": safetensors({"a": tensor(shape=[10**299] * 60)}, b"\0" * 4),
    "shape-empty-and-huge": safetensors({"a": tensor(shape=[0, 10**20], offsets=[0, 0])}),
    "shape-of-a-thousand-axes": safetensors({"a": tensor(shape=[1] * 1000)}, b"\0" * 4),
    "offsets-backwards": safetensors({"a": tensor(offsets=[4, 0])}, b"\0" * 4),
    "offsets-are-floats": safetensors({"a": tensor(offsets=[0.0, 4.0])}, b"\0" * 4),
    "offsets-beyond": safetensors({"a": tensor(offsets=[1 << 62, (1 << 62) + 4])}, b"\0" * 4),
    "overlapping": lambda: safetensors(
        {f"a{at}": tensor(shape=[250], offsets=[0, 1000]) for at in range(500)}, b"\0" * 1000
    ),
    "header-longer-than-file": safetensors({}, length=1 << 40),
    "header-claims-all": safetensors({}, length=(1 << 64) - 1),
    "header-of-brackets": lambda: safetensors(b'{"__metadata__":[' + b"[],[]," * 1_000_000 + b"[]]}"),
    "header-nested": safetensors(b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}"),
    "header-not-utf8": safetensors(b'{"\xff\xfe":1}'),
    "header-of-nan": safetensors(b'{"a":{"dtype":"F32","shape":[NaN],"data_offsets":[0,4]}}', b"\0" * 4),
    "header-repeats": safetensors(b'{"a":1,"a":2}'),
    "header-is-null": safetensors(b"null"),
    "names-steer": safetensors({EVIL: tensor(), "\ud800": tensor(offsets=[4, 8])}, b"\0" * 8),
    "dtype-steers": safetensors({"a": tensor(EVIL)}, b"\0" * 4),
    "many-tensors": lambda: safetensors({f"{at}": tensor(shape=[0], offsets=[0, 0]) for at in range(20_000)}),
}.items():
    case(f"safetensors:{name}", "weights check a.safetensors", {"a.safetensors": content})
# What the format's own library refuses, too: the framework would not load it.
for name, content in {
    "shape-is-an-object": safetensors({"a": tensor(shape={})}, b"\0" * 4),
    "bytes-of-nobody-at-the-end": safetensors({"a": tensor()}, b"\0" * 9),
    "bytes-of-nobody-at-the-start": safetensors({"a": tensor(offsets=[4, 8])}, b"\0" * 8),
    "metadata-of-numbers": safetensors({"__metadata__": {"a": 1}, "a": tensor()}, b"\0" * 4),
    "metadata-is-a-list": safetensors({"__metadata__": [], "a": tensor()}, b"\0" * 4),
}.items():
    case(f"safetensors:{name}", "weights check a.safetensors", {"a.safetensors": content}, codes=(2,))
case(
    "npy:unknown-format",
    "check npy a.npy a.npy",
    {"a.npy": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", b"\0" * 4, version=(2, 7))},
    codes=(2,),
)
for name, header in {"numbers-of-python-2": b"(1L,)}", "not-utf8": b"(1,)} #\xff"}.items():
    content = npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': " + header + b"\n", b"\0" * 4, version=(3, 0))
    case(f"npy:version-three-{name}", "check npy a.npy a.npy", {"a.npy": content}, codes=(2,))
case(
    "safetensors:names-steer-json",
    "weights check a.safetensors --format json",
    {"a.safetensors": safetensors({EVIL: tensor()}, b"\0" * 4)},
)
for name, content in {
    "nested": "[" * DEEP,
    "digits": '{"weight_map":' + "9" * 10_000 + "}",
    "climbs": '{"weight_map":{"a":"../../../../etc/passwd"}}',
    "foreign": '{"weight_map":{"a":7,"b":null,"c":[]}}',
    "list": "[1]",
    "steers": json.dumps({"weight_map": {EVIL: EVIL}}),
}.items():
    case(f"index:{name}", "weights check here", {"here/x.index.json": content, "here/a.safetensors": safetensors({})})
for name, content in {
    "climbs": {
        "state_dict_metadata": {"a": {"global_shape": [1], "chunk": [{"global_offset": [0]}]}},
        "storage_data": {"('a', (0,))": [{"file_name": "../../etc/passwd"}]},
    },
    "shapes": {"state_dict_metadata": {"a": {"global_shape": [1 << 70], "chunk": []}}, "storage_data": {}},
    "offsets": {
        "state_dict_metadata": {"a": {"global_shape": "x", "chunk": 3}},
        "storage_data": {"('a', (" + "9" * 5000 + ",))": []},
    },
    "null": {"state_dict_metadata": None, "storage_data": None},
}.items():
    case(
        f"slices:{name}",
        "weights check here",
        {"here/metadata.json": json.dumps(content), "here/a.safetensors": safetensors({})},
    )
for name, content in {
    "climbs": {"conversion": {}, "files": {"../../x": {"sha256": "", "size": 1}}},
    "types": {"conversion": {}, "files": {"a": {"sha256": [], "size": {}}}},
    "list": {"conversion": [], "files": []},
    "steers": {
        "conversion": {},
        "files": {EVIL: {"sha256": "", "size": 1, "not_finite": [[EVIL, 1, 1, EVIL]]}},
        "complete": True,
    },
}.items():
    case(
        f"manifest:{name}",
        "weights check here",
        {"here/accmap-weights.json": json.dumps(content), "here/a.safetensors": safetensors({})},
    )
case("tracker:steers", "weights check here", {"here/latest_checkpointed_iteration.txt": EVIL})
case("tracker:climbs", "weights check here", {"here/latest_checkpointed_iteration.txt": "../../etc"})
case("tracker:pipe", "weights check here", {"here/a": b""}, make=fifo("here/latest_checkpointed_iteration.txt"))

# files of torch.save
TUPLES = b"\x80\x02)" + b"2\x86" * 60
for name, content in {
    "not-a-zip": b"PK\x03\x04" + b"\0" * 100,
    "only-an-end": b"PK\x05\x06" + b"\0" * 18,
    "end-lies": b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 9, 9, 1 << 31, 1 << 31, 0),
    "end-of-zip64-lies": b"PK\x06\x06"
    + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 9, 9, 1 << 62, 1 << 62)
    + b"PK\x06\x07"
    + struct.pack("<IQI", 0, 0, 1)
    + b"PK\x05\x06"
    + b"\xff" * 16
    + b"\0\0",
    "packed": lambda: archive({"data.pkl": b"\x80\x02" + b"]" * (100 << 20)}, zipfile.ZIP_DEFLATED),
    "packed-byteorder": lambda: archive(
        {"data.pkl": described(), "byteorder": b"l" * (50 << 20), "data/0": b""}, zipfile.ZIP_DEFLATED
    ),
    "many-entries": lambda: archive({f"{at}": b"" for at in range(20_000)}),
    "no-description": archive({"x": b""}),
    "calls": torch_file(b"cos\nsystem\n(S'true'\ntR."),
    "claims-memory": torch_file(b"\x80\x04\x8e" + struct.pack("<Q", 1 << 60) + b"."),
    "claims-memo": torch_file(b"\x80\x02Nr\xff\xff\xff\xff."),
    "claims-string": torch_file(b"\x80\x02X\xff\xff\xff\x7f."),
    "empty-lists": lambda: torch_file(b"\x80\x02" + b"]" * (6 << 20) + b"."),
    "nested-lists": torch_file(b"\x80\x02" + b"]" * DEEP + b"a" * (DEEP - 1) + b"."),
    "nested-tuples": torch_file(b"\x80\x02)" + b"\x85" * DEEP + b"."),
    "stack-empty": torch_file(b"\x80\x02t."),
    "no-stop": torch_file(b"\x80\x02" + b"N" * 1000),
    "unknown-opcode": torch_file(b"\x80\x02\xfe."),
    "storage-without-name": torch_file(
        b"\x80\x02(X\x07\0\0\0storagectorch\nFloatStorage\n" + TUPLES[2:] + b"X\x03\0\0\0cpuK\x01tQ."
    ),
    "strides-short": torch_file(described(strides=(1,))),
    "strides-zero": torch_file(described(shape=(1 << 40, 1 << 20), strides=(0, 0))),
    "strides-negative": torch_file(described(strides=(-2, -1))),
    "shape-huge": torch_file(described(shape=(1 << 70, 2))),
    "shape-of-many-digits": torch_file(described(shape=(1 << 40_000, 2))),
    "shape-empty-and-huge": torch_file(described(shape=(0, 1 << 70), strides=(1, 1))),
    "axes": torch_file(described(shape=(1,) * 200, strides=(1,) * 200)),
    "offset-beyond": torch_file(described(offset=1 << 62)),
    "offset-negative": torch_file(described(offset=-4)),
    "kind-unknown": torch_file(described(kind=b"StrangeStorage")),
    "storage-cut": archive({"data.pkl": described()}),
    "old-form": b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19." + b"\0" * 100,
}.items():
    case(f"torch:{name}", "weights check a.pt", {"a.pt": content})
    tree = {
        "a/dump.json": dump(
            '"Module.module.a.Linear.forward.0":{"output":[{"type":"torch.Tensor","dtype":"torch.float32","shape":[2,2],"data_name":"x.pt"}]}'
        ),
        "a/dump_tensor_data/x.pt": content,
    }
    case(
        f"dumped-torch:{name}",
        "dump compare a b",
        {**tree, **{path.replace("a/", "b/", 1): text for path, text in tree.items()}},
    )
# MindRecord


def record(header: object, body: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (struct.pack("<Q", len(text) if length is None else length) + text).ljust(1 << 14, b"\0") + body


def record_header(page: object = None, **more: object) -> dict[str, object]:
    good = {"page_id": 0, "page_type": "BLOB_DATA", "page_size": 21, "start_row_id": 0, "end_row_id": 1}
    return {
        "header_size": 1 << 14, "page_size": 1 << 15, "page": [good if page is None else page], "shard_id": 0,
        "shard_addresses": ["x.mindrecord"], "version": "3.0",
        "schema": [{"blob_fields": ["input_ids"], "schema": {"input_ids": {"type": "int32", "shape": [-1]}}}],
        **more,
    }  # fmt: skip


def page(**more: object) -> dict[str, object]:
    return {"page_id": 0, "page_type": "BLOB_DATA", "page_size": 21, "start_row_id": 0, "end_row_id": 1, **more}


ROW = struct.pack("<QI", 13, 5) + b"\0\0" + b"\1\2\3\4\5" + b"\0\0"
for name, content in {
    "length-of-all-memory": record(record_header(), length=1 << 62),
    "length-of-the-file": lambda: struct.pack("<Q", 90 << 20) + bytes(90 << 20),
    "nested": record(b"[" * DEEP),
    "brackets": lambda: record(b'{"page":[' + b"[],[]," * 1_000_000 + b"[]]}"),
    "digits": record(b'{"header_size":' + b"9" * 5000 + b"}"),
    "null": record(None),
    "list": record([record_header()]),
    "nan": record(record_header(page(page_size=float("nan")))),
    "page-beyond": record(record_header(page(page_id=1 << 40))),
    "page-of-all-memory": record(record_header(page(page_size=1 << 60), page_size=1 << 60)),
    "page-negative": record(record_header(page(page_id=-1))),
    "page-listed-often": record(
        record_header(page=None) | {"page": [page(page_size=21 * 200, end_row_id=200)] * 100}, ROW * 200
    ),
    "page-size-zero": record(record_header(page(page_size=0, end_row_id=0), page_size=0)),
    "pages-are-text": record(record_header(page="xyz")),
    "type-is-an-object": record(
        record_header(schema=[{"blob_fields": ["input_ids"], "schema": {"input_ids": {"type": {}}}}])
    ),
    "names-steer": record(record_header(schema=[{"blob_fields": [EVIL], "schema": {EVIL: {"type": "int32"}}}])),
    "shards-lead-out": record(record_header(shard_addresses=["../../../../etc/passwd", "/dev/zero"])),
    "shards-many": record(record_header(shard_addresses=["x.mindrecord"] * 10_000)),
    "shard-with-nul": record(record_header(shard_addresses=["x\0.mindrecord"])),
    "shard-half-a-character": record(record_header(shard_addresses=["x\ud800.mindrecord"])),
    "column-half-a-character": record(
        record_header(schema=[{"blob_fields": ["\ud800"], "schema": {"\ud800": {"type": "int32"}}}])
    ),
    "row-of-all-memory": record(record_header(), struct.pack("<Q", 1 << 62) + bytes(13)),
    "count-of-all-memory": record(record_header(), struct.pack("<QI", 13, 0xFFFFFFFF) + bytes(9)),
    "count-is-wrong": record(record_header(), ROW[:-2] + b"\0\0"),
    "bits-are-wrong": record(record_header(), struct.pack("<QI", 13, 5) + b"\xff" * 9),
    "no-page": record(record_header(page=[]), ROW),
}.items():
    case(f"record:{name}", "data check x.mindrecord", {"x.mindrecord": content, "x.mindrecord.db": b""})
case("record:folder-of-itself", "data check here", {"here/a.mindrecord": b""}, make=link("here/b", "../here"))

case("dist:empty-lists", "weights check here", {"here/.metadata": b"\x80\x02" + b"]" * (6 << 20) + b"."})
case("dist:no-table", "weights check here", {"here/.metadata": pickle.dumps([1, 2])})
case("dist:pipe", "weights check here", {"here/x.distcp": b""}, make=fifo("here/.metadata"))

# MindSpore's own checkpoints
for name, content in {
    "empty-message": field(1, b""),
    "tag-without-tensor": field(1, field(1, b"a")),
    "length-lies": b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    "length-beyond": b"\x0a\x7f\x0a",
    "varint-endless": b"\xff" * 1000,
    "dims-lie": ckpt_value(b"a", varint(8) + varint(1 << 40), b"Float32", b"\0" * 4),
    "dims-huge": ckpt_value(b"a", (varint(8) + varint((1 << 63) - 1)) * 64, b"Float32", b"\0" * 4),
    "dims-negative": ckpt_value(b"a", varint(8) + varint((1 << 64) - 1), b"Float32", b"\0" * 4),
    "dims-many": ckpt_value(b"a", (varint(8) + varint(1)) * 100_000, b"Float32", b"\0" * 4),
    "kind-unknown": ckpt_value(b"a", varint(8) + varint(1), EVIL.encode(), b"\0" * 4),
    "names-steer": ckpt_value(EVIL.encode(), varint(8) + varint(1), b"Float32", b"\0" * 4),
    "name-not-utf8": ckpt_value(b"\xff\xfe", varint(8) + varint(1), b"Float32", b"\0" * 4),
    "apart": ckpt_value(b"a", varint(8) + varint(1), b"Float32", b"\0" * 4)
    + ckpt_value(b"b", varint(8) + varint(1), b"Float32", b"\0" * 4)
    + ckpt_value(b"a", varint(8) + varint(1), b"Float32", b"\0" * 4),
    "many": field(1, b"") * 500_000,
    "groups": b"\x0b" * 1000,
    "encrypted": b"\x4d\x46\x4d\x46" + bytes(range(256)) * 8,
}.items():
    case(f"ckpt:{name}", "weights check a.ckpt", {"a.ckpt": content})

# arrays
for name, content in {
    "shape-empty-and-huge": shaped(f"(0, {10**20})"),
    "shape-huge": shaped(f"({10**20}, {10**20})"),
    "shape-of-many-digits": shaped(f"({'9' * 4000}, {'9' * 4000})"),
    "shape-negative": shaped("(-2, -2)"),
    "shape-boolean": shaped("(True, 4)"),
    "shape-is-text": shaped("'abcd'"),
    "axes": shaped("(" + "1," * 1000 + ")"),
    "nested": shaped("(" * 4000 + ")" * 4000),
    "nested-more": npy("(" * 60_000, length=60_000),
    "runs": shaped("__import__('os').system('true')"),
    "objects": shaped("(2,)", "'|O'"),
    "fields": shaped("(2,)", "[('a', '<f4'), ('\x1b[2J', '<f4')]"),
    "subarray": shaped("(1,)", "('<f4', (1000000, 1000000))"),
    "kind-unknown": shaped("(2,)", "'<q9'"),
    "strings": shaped("(2,)", "'<U1000000000'"),
    "complex": shaped("(1,)", "'<c16'"),
    "header-longer-than-file": npy("{", length=60_000),
    "header-of-four-bytes": npy("{}", version=(2, 0), length=(1 << 32) - 1),
    "version-unknown": npy("{}", version=(9, 9)),
    "version-three": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}\n", b"\0" * 16, version=(3, 0)),
    "cut": shaped("(400,)"),
    "only-magic": b"\x93NUMPY",
    "zip": archive({"a.npy": b""}),
}.items():
    case(f"npy:{name}", "check npy odd.npy good.npy", {**GOOD, "odd.npy": content})

# scores
for name, content in {
    "digits.json": '{"a":' + "9" * 5000 + "}",
    "big.json": '{"a": 1e999, "b": -1e999, "c": NaN}',
    "nested.json": "[" * DEEP,
    "steers.json": json.dumps({EVIL: 1.0}),
    "nested.yaml": "a: " + "[" * 20_000,
    "laughs.yaml": "a: &a [1,1,1,1,1,1,1,1,1]\n"
    + "".join(f"{chr(98 + at)}: &{chr(98 + at)} [{','.join(['*' + chr(97 + at)] * 9)}]\n" for at in range(9)),
    "digits.yaml": "a: " + "9" * 20_000,
    "sexagesimal.yaml": "a: " + "1:" * 20_000 + "1",
    "object.yaml": "a: !!python/object/apply:os.system ['true']",
    "odd.csv": "dataset,score\n" + '"' * 9999,
    "wide.csv": "dataset," + "x," * 50_000 + "score\na,1\n",
    "digits.txt": "a " + "9" * 100_000,
    "line.txt": "a" * 1_000_000,
    "blank.txt": " " * 200_000 + "x",
    "steers.txt": EVIL + " 1\n" + EVIL,
    "colons.txt": "a" + ":" * 100_000,
    "utf16.txt": "a 1".encode("utf-16"),
    "nul.txt": b"a\0b 1",
}.items():
    case(f"scores:{name}", f"check scores {name} {name}", {name: content})

# logs
for name, content in {
    "colons": "Epoch:[  1/  1], step:[  1/  9], loss: 1, per_step_time: 1ms, lr: 1, | loss: norm: 1.000 |\n",
    "loss-norm": LOG
    + " iteration        5/      20 | loss: norm: 1.000 | lm loss: 1.0E+01 | grad norm: 1.0 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
    "loss-norm-alone": " iteration        5/      20 | loss: norm: 1.000 | lm loss: 1.0 |\n" * 3,
    "steps-huge": LOG.replace("       3/", "9" * 12 + "/"),
    "steps-of-many-digits": " iteration " + "9" * 5000 + "/ 10 | lm loss: 1.0E+01 | number of nan iterations: 0 |\n",
    "static-steps": STATIC.format("9" * 30, "1.0") * 2,
    "static-steps-digits": STATIC.format("9" * 6000, "1.0"),
    "static-epochs": STATIC.format(1, "1.0").replace("Epoch:[  1/  1]", "Epoch:[" + "9" * 40 + "/  1]"),
    "dynamic-steps": "{ step:[" + "9" * 5000 + "/ 10], loss: 1.0, per_step_time: 1ms }\n",
    "values-huge": LOG.replace("1.0", "1" + "0" * 4000),
    "values-are-words": LOG.replace("1.00E", EVIL.replace("\n", " ")),
    "names-steer": LOG.replace("lm loss", "lm \x1b[2Jloss"),
    "lines-steer": LOG + f" iteration 5/ 20 | lm loss: {EVIL}\n",
    "columns-many": " iteration 1/ 20 | "
    + "".join(f"x{at} loss: 1 | " for at in range(3000))
    + "lm loss: 1.0 | number of nan iterations: 0 |\n",
    "columns-new": "".join(
        f" iteration {at}/ 20 | x{at} loss: 1.0 | lm loss: 1.0 | number of nan iterations: 0 |\n"
        for at in range(1, 400)
    ),
    "no-line-end": " iteration 1/ 2 |" * 200_000,
    "one-long-line": lambda: b"x" * (40 << 20),
    "norms-begun": "print torch local norm:" * 200_000,
    "norms-sizes": "norm_size:" * 300_000,
    "norms-open": "norm_size:1 local_norm: [" * 100_000,
    "norms-spaces": "local_norm:" + " " * 1_000_000 + "x",
    "norms-tensors": "dump local norm: a Tensor(" * 100_000,
    "norms-names": "local_norm/" + "a" * 1_000_000,
    "norms-at": '{ "step": ' + "9" * 5000 + ' }\n{ "local_norm": a: 1.0 }\n' + LOG,
    "norms-epochs": "Epoch:[ " + "9" * 5000 + "/ 1], step:[ 1/ 1] local_norm/a: 1.0\n" + LOG,
    "brackets": "iteration " + " " * 1_000_000,
    "nul": b"\0" * 1_000_000,
    "utf16": LOG.encode("utf-16"),
    "not-utf8": LOG.encode().replace(b"lm loss", b"lm \xff\xfeloss"),
    "gzip-cut": gzip.compress(LOG.encode() * 100)[:-20],
    "gzip-bomb": lambda: gzip.compress(b"\0" * (300 << 20)),
    "gzip-garbled": b"\x1f\x8b\x08" + bytes(range(200)),
    "gzip-of-gzip": gzip.compress(gzip.compress(LOG.encode())),
    "event-claims": struct.pack("<Q", 1 << 60) + b"\0" * 20,
    "event-endless": event(b"\xff" * 100),
    "event-name": event(field(5, field(1, field(1, EVIL.encode()) + b"\x15\0\0\x80?"))) * 3,
    "event-large": lambda: event(b"\0" * (1 << 20)),
    "event-loss": event(b"\x10\x01" + field(5, field(1, field(1, b"lm loss") + b"\x15\0\0\xc0\x7f"))),
    "event-steps": event(b"\x10" + b"\xff" * 9 + b"\x01" + field(5, field(1, field(1, b"lm loss") + b"\x15\0\0\x80?"))),
    "event-tags": lambda: event(
        field(5, b"".join(field(1, field(1, str(at).encode()) + b"\x15\0\0\x80?") for at in range(20_000)))
    ),
}.items():
    case(f"log:{name}", "logs odd.log", {"odd.log": content})
case("log:names-steer-json", "logs odd.log --format json", {"odd.log": LOG.replace("lm loss", "lm \x1b[2Jloss")})
case(
    "log:names-steer-csv",
    "logs odd.log --format csv",
    {"odd.log": LOG.replace("| lm loss", "| =cmd() loss: 1.0 | lm loss")},
)
case(
    "log:names-steer-html",
    "logs odd.log --format html",
    {"odd.log": LOG.replace("| lm loss", "| <script>x</script> loss: 1.0 | lm loss")},
)
case("log:folder-of-pipes", "logs here", {"here/a": b""}, make=fifo("here/worker_0.log"))
case("log:folder-steers", "logs here", {f"here/worker_{at}.log": LOG for at in range(3)})

# dumps
for name, content in {
    "max-of-many-digits": named_dump("Module.module.a.Linear.forward.0", "1" + "0" * 400),
    "max-of-five-thousand": named_dump("Module.module.a.Linear.forward.0", "9" * 5000),
    "max-infinite": named_dump("Module.module.a.Linear.forward.0", "1e999"),
    "max-nan": named_dump("Module.module.a.Linear.forward.0", "NaN"),
    "call-not-decimal": named_dump("Module.module.a.Linear.forward.\u00b2"),
    "call-of-many-digits": named_dump("Module.module.a.Linear.forward." + "9" * 5000),
    "debug-not-decimal": named_dump("a.\u00b2.debug"),
    "names-steer": named_dump(f"Module.{EVIL}.Linear.forward.0"),
    "surrogate": named_dump("Module.\ud800.Linear.forward.0"),
    "data-is-a-list": '{"data": []}',
    "units-are-numbers": dump('"Module.module.a.Linear.forward.0": 7, "b": null, "c": []'),
    "shape-strange": dump(
        '"Module.module.a.Linear.forward.0": {"output": [{"type": "t", "dtype": {}, "shape": ["x", -1, 1e9, true], "Max": [], "md5": {}}]}'
    ),
    "nested": "[" * DEEP,
    "arguments-nested": dump('"Module.module.a.Linear.forward.0": {"output": ' + "[" * 900 + "]" * 900 + "}"),
    "brackets": '{"data": [' + "[],[]," * 1_000_000 + "[]]}",
    "name-climbs": dump(
        '"Module.module.a.Linear.forward.0": {"output": [{"type": "t", "dtype": "f", "shape": [1], "data_name": "../../../etc/passwd"}]}'
    ),
    "name-nul": dump(
        '"Module.module.a.Linear.forward.0": {"output": [{"type": "t", "dtype": "f", "shape": [1], "data_name": "a\\u0000b"}]}'
    ),
    "value-strange": dump(
        '"Module.module.a.Linear.forward.0": {"input_args": [{"type": "int", "value": %s}]}' % ("9" * 250)
    ),
    "value-steers": dump(
        '"Module.module.a.Linear.forward.0": {"input_args": [{"type": "str", "value": %s}]}' % json.dumps(EVIL)
    ),
    "not-utf8": b'{"data": {"\xff": 1}}',
}.items():
    case(f"dump:{name}", "dump compare a b", {"a/dump.json": content, "b/dump.json": content})
    case(f"dump-and-good:{name}", "dump compare a b --format json", {"a/dump.json": content, "b/dump.json": GOOD_DUMP})
PASSWORDS = '{"data": {"Module.module.a.Linear.forward.0": {"output": [{"type": "t", "dtype": "f", "shape": [1], "data_name": "x.npy"}]}}}'
LEADS_OUT = ("is outside the dump", "could not compare any tensor")
"""Of a tensor that is a link alone, the unit is there and has nothing to be compared."""
SECRET: dict[str, str | bytes] = {"secret/x.npy": shaped("(4,)"), "secret/dump.json": GOOD_DUMP}
case(
    "dump:links-to-a-folder",
    "dump compare a a",
    {**SECRET, "a/x": b""},
    make=link("a/rank0", "../secret"),
    codes=(2,),
    says=LEADS_OUT,
)
case(
    "dump:links-to-a-file",
    "dump compare a a",
    {**SECRET, "a/x": b""},
    make=link("a/dump.json", "../secret/dump.json"),
    codes=(2,),
    says=LEADS_OUT,
)
case(
    "dump:links-to-tensors",
    "dump compare a a",
    {**SECRET, "a/dump.json": PASSWORDS},
    make=link("a/dump_tensor_data", "../secret"),
    codes=(2,),
    says=LEADS_OUT,
)
case(
    "dump:links-to-a-tensor",
    "dump compare a a",
    {**SECRET, "a/dump.json": PASSWORDS},
    make=link("a/dump_tensor_data/x.npy", "../../secret/x.npy"),
    codes=(2,),
    says=LEADS_OUT,
)
case(
    "dump:links-in-a-circle",
    "dump compare a a",
    {"a/x": b""},
    make=lambda folder: [(folder / f"a/{at}").symlink_to(".") for at in range(50)],
)
case("dump:pipes", "dump compare a a", {"a/x": b""}, make=fifo("a/dump.json"))
case("dump:tensor-is-a-pipe", "dump compare a a", {"a/dump.json": PASSWORDS}, make=fifo("a/dump_tensor_data/x.npy"))
HEADER = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,L2Norm Value\n"
for name, content in {
    "shape-of-many-digits": HEADER + f'MatMul,x,0,0,1,output,0,4,float32,"({"9" * 5000},)",1,1,1,1\n',
    "time-infinite": HEADER + 'MatMul,x,0,0,inf,output,0,4,float32,"(1,)",1,1,1,1\n',
    "time-nan": HEADER + 'MatMul,x,0,0,nan,output,0,4,float32,"(1,)",1,1,1,1\n',
    "names-steer": HEADER + f'"{EVIL}","{EVIL}",0,0,1,output,0,4,float32,"(1,)",nan,inf,-inf,1\n',
    "quotes": HEADER + '"' * 10_001,
    "nul": HEADER + "a\0b,x\n",
    "columns": "," * 500_000,
    "field": HEADER + "x" * 500_000,
}.items():
    case(f"statistics:{name}", "dump compare a b", {"a/statistic.csv": content, "b/statistic.csv": content})
TABLE = "NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,Bench Tensor Shape,Cosine,NPU max,NPU min,NPU mean,NPU l2norm,Bench max,Bench min,Bench mean,Bench l2norm,Result\n"
ROW = "Module.module.a.Linear.forward.0.output.0,Module.module.a.Linear.forward.0.output.0,float32,float32,{},{},1.0,1,1,1,1,1,1,1,1,pass\n"
for name, content in {
    "shape-of-many-digits": TABLE + ROW.format('"[' + "9" * 5000 + ']"', '"[1]"'),
    "numbers-strange": TABLE + ROW.format('"[1]"', '"[1]"').replace(",1,1", ",1e999,nan"),
    "names-steer": TABLE + ROW.format('"[1]"', '"[1]"').replace("module.a", '"' + EVIL.replace("\n", " ") + '"'),
    "columns-steer": '"' + EVIL + '",b\n1,2\n',
    "header-only": TABLE,
}.items():
    case(f"table:{name}", "dump compare t.csv", {"t.csv": content})
for name, content in {
    "bomb": lambda: sheet(rows(b"<row>" + b"<c><v>" + b"1" * (200 << 20) + b"</v></c></row>")),
    "bomb-of-strings": lambda: sheet(
        rows(b""), b"<sst " + SPACE + b"><si><t>" + b"a" * (200 << 20) + b"</t></si></sst>"
    ),
    "bomb-of-cells": lambda: sheet(rows(b"<row>" + b"<c/>" * 3_000_000 + b"</row>")),
    "bomb-of-rows": lambda: sheet(rows(b"<row><c><v>1</v></c></row>" * 1_000_000)),
    "bomb-of-elements": lambda: sheet(rows(b"<x/>" * 3_000_000)),
    "columns": lambda: sheet(rows(b'<row><c r="ZZZ1"><v>1</v></c></row>' * 50_000)),
    "shared": sheet(
        rows(b'<row><c t="s"><v>0</v></c></row>' * 10_000),
        b"<sst " + SPACE + b"><si><t>" + b"a" * 100_000 + b"</t></si></sst>",
    ),
    "string-number": sheet(rows(b'<row><c t="s"><v>' + b"9" * 5000 + b"</v></c></row>"), b"<sst " + SPACE + b"/>"),
    "string-not-decimal": sheet(rows('<row><c t="s"><v>\u00b2</v></c></row>'.encode()), b"<sst " + SPACE + b"/>"),
    "laughs": sheet(
        b"<!DOCTYPE x ["
        + b"".join(b'<!ENTITY a%d "%s">' % (at, b"&a%d;" % (at - 1) * 10 if at else b"ha") for at in range(10))
        + b"]>"
        + rows(b"<row><c><v>&a9;</v></c></row>")
    ),
    "reads-files": sheet(
        b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + rows(b"<row><c><v>&a;</v></c></row>")
    ),
    "nested": sheet(b"<a>" * DEEP),
    "not-whole": sheet(rows(b"")[:-20]),
    "no-sheet": archive({"a": b""}, folder=""),
    "unknown-packing": sheet(rows(b"")).replace(b"\x08\0", b"\x63\0"),
    "encrypted": sheet(rows(b""), packed=zipfile.ZIP_STORED).replace(b"\x14\0\0\0", b"\x14\0\x01\0"),
}.items():
    case(f"xlsx:{name}", "dump compare t.xlsx", {"t.xlsx": content})
for name, content in {
    "nested": "- " * 5000 + "a",
    "laughs": "a: &a [1,1]\nb: [*a,*a]\n",
    "steers": json.dumps([{EVIL: EVIL}]),
    "digits": "a: " + "9" * 20_000,
    "objects": "!!python/object/apply:os.system ['true']",
}.items():
    case(f"mapping:{name}", "dump compare good good --mapping m.yaml", {**GOOD, "m.yaml": content})

# training data
for name, content in {
    "claims-all": index((1 << 64) - 1, (1 << 64) - 1),
    "claims-much": index(1 << 40, 1 << 40),
    "lengths-negative": index(1, 2, struct.pack("<iqqq", -4, 0, 0, 1)),
    "lengths-huge": index(2, 2, struct.pack("<iiqqqq", 2**31 - 1, 2**31 - 1, 0, 2**62, 0, 2)),
    "offsets-negative": index(1, 2, struct.pack("<iqqq", 4, -(2**62), 0, 1)),
    "marks-negative": index(1, 2, struct.pack("<iqqq", 4, 0, -1, -5)),
    "marks-beyond": index(1, 2, struct.pack("<iqqq", 4, 0, 0, 2**62)),
    "no-marks": index(0, 0),
    "code-unknown": index(1, 2, struct.pack("<iqqq", 4, 0, 0, 1), code=77),
    "version-unknown": index(1, 2, version=99),
    "doubles": index(1, 2, struct.pack("<iqqq", 2, 0, 0, 1), code=6),
    "cut": index(1, 2)[:20],
}.items():
    case(f"data:{name}", "data check odd.idx --decode 2", {"odd.idx": content, "odd.bin": b"\xff" * 16})
case("data:bin-is-a-pipe", "data check odd.idx", {"odd.idx": GOOD["good.idx"]}, make=fifo("odd.bin"))
for name, content in {
    "nested": "[" * DEEP,
    "digits": '{"model":{"vocab":{"a":' + "9" * 5000 + "}}}",
    "vocabulary-strange": '{"model":{"vocab":{"a":1.5,"b":null}}}',
    "vocabulary-of-lists": '{"model":{"vocab":[[],[[]],["a",1],7]}}',
    "id-huge": '{"model":{"vocab":{"a":' + "9" * 200 + "}}}",
    "pieces-steer": json.dumps({"model": {"vocab": {EVIL: 1, "\ud800": 2, "\x9b31m": 3, "b": 4}}}),
    "decoders-nested": '{"model":{"vocab":{"a":1}},"decoder":'
    + '{"type":"Sequence","decoders":[' * 700
    + "]}" * 700
    + "}",
    "added-strange": '{"model":{"vocab":{"a":1}},"added_tokens":[{"id":{},"content":[]},7,null]}',
    "bytes-strange": '{"model":{"vocab":{"<0xZZ>":1,"<0x":2,"<0x111>":3},"byte_fallback":true}}',
    "brackets": '{"model":[' + "[],[]," * 1_000_000 + "[]]}",
    "list": "[]",
}.items():
    case(
        f"tokenizer:{name}",
        "data check good.idx --decode 2 --tokenizer t/tokenizer.json",
        {**GOOD, "t/tokenizer.json": content},
    )
case(
    "tokenizer:beside-is-a-pipe",
    "data check good.idx --tokenizer t",
    {**GOOD, "t/tokenizer.json": '{"model":{"vocab":{"a":1}}}'},
    make=fifo("t/tokenizer_config.json"),
)

# a playbook's folder
for name, content in {
    "nested": "[" * DEEP,
    "digits": "9" * 5000,
    "list": "[]",
    "foreign": '{"format": 1, "megatron": [], "mindformers": {}, "source": 7}',
    "steers": json.dumps({"format": EVIL, "checks": [EVIL]}),
}.items():
    case(f"plan:{name}", "playbook status here", {"here/plan.json": content})

# names
for name in (
    "\x1b[2J",
    "a\nb",
    "::stop-commands::x",
    "##vso[task.logissue]x",
    "\udcff\udcfe",
    "\u202egnp.a",
    "=cmd()",
    "<b>|`x`",
):
    shown = name.encode("unicode_escape").decode()
    for command, file, content in (
        ("logs", f"{name}.log", LOG),
        ("logs", f"{name}-odd.log", "nothing\n"),
        ("logs --format html", f"{name}.log", LOG),
        ("logs --format csv", f"{name}.log", LOG),
        ("weights check", f"{name}.safetensors", safetensors({})),
        ("dump compare", f"{name}.csv", "a,b\n"),
        ("data check", f"{name}.idx", b"x"),
        ("check npy", f"{name}.npy", b"x"),
        ("check scores", f"{name}.json", "{"),
        ("doctor", f"{name}.sh", "python pretrain_gpt.py --num-layers 2\n"),
    ):
        again = 2 if command in ("check npy", "check scores") else 1
        words = (*command.split(" "), *["./" + file] * again)
        called = f"name:{shown}:{command}:{len(EVIDENCE_CASES)}"
        EVIDENCE_CASES.append(Case(called, words, {file: content}, megabytes=MEGABYTES))
