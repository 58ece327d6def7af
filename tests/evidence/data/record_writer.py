"""A writer of small MindRecord files for tests without MindSpore; the real one is asked in `test_mindrecord.py`."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

HEADER, PAGE = 16384, 32768


def packed(values: Sequence[int]) -> bytes:
    """Whole numbers as MindSpore packs them."""
    kinds: list[int] = []
    body = b""
    for value in values:
        kind = next(kind for kind in range(4) if -(1 << (8 << kind) - 1) <= value < 1 << (8 << kind) - 1)
        kinds.append(kind)
        body += value.to_bytes(1 << kind, "little", signed=True)
    kinds += [0] * (-len(kinds) % 4)
    bits = bytes(a << 6 | b << 4 | c << 2 | d for a, b, c, d in zip(*[iter(kinds)] * 4, strict=True))
    return struct.pack(">I", len(values)) + bits + body


def row(*arrays: Sequence[int]) -> bytes:
    """The arrays of one row, with its length before it."""
    parts = [packed(array) for array in arrays]
    whole = parts[0] if len(parts) == 1 else b"".join(struct.pack(">Q", len(part)) + part for part in parts)
    return struct.pack("<Q", len(whole)) + whole


def page(size: int, start: int, end: int, place: int = 0) -> dict[str, Any]:
    """What a header says of one page."""
    return {
        "page_id": place, "page_type": "BLOB_DATA", "page_size": size, "start_row_id": start, "end_row_id": end,
        "page_type_id": place, "row_group_ids": [{"id": 0, "offset": 0}], "shard_id": 0,
    }  # fmt: skip


def record(
    rows: Sequence[bytes], name: str = "a.mindrecord", columns: Sequence[str] = ("input_ids",), **changes: Any
) -> bytes:
    """A file of one page; `changes` are of its header."""
    body = b"".join(rows)
    header: dict[str, Any] = {
        "header_size": HEADER, "page_size": PAGE, "page": [page(len(body), 0, len(rows))],
        "compression_size": 1, "shard_id": 0,
        "shard_addresses": [name], "index_fields": None, "statistics": None, "version": "3.0",
        "schema": [
            {"desc": "", "blob_fields": list(columns),
             "schema": {column: {"type": "int32", "shape": [-1]} for column in columns}}
        ],
        **changes,
    }  # fmt: skip
    text = json.dumps(header).encode()
    return (struct.pack("<Q", len(text)) + text).ljust(HEADER, b"\0") + body


def write_rows(path: Path, rows: Sequence[Sequence[int]], labels: Sequence[Sequence[int]] | None = None) -> None:
    """A file with its index beside it, which nothing here reads."""
    columns = ("input_ids",) if labels is None else ("input_ids", "labels")
    made = [row(*arrays) for arrays in zip(rows, *([] if labels is None else [labels]), strict=True)]
    path.write_bytes(record(made, path.name, columns))
    path.with_name(f"{path.name}.db").write_bytes(b"")


YAML = """use_legacy: False
run_mode: train
use_parallel: {parallel}
runner_config: {{epochs: {epochs}, batch_size: {micro}, sink_mode: True, sink_size: 1}}
train_dataset: &train_dataset
  data_loader: {loader}
  input_columns: [{columns}]
  drop_remainder: True
train_dataset_task: {{type: CausalLanguageModelDataset, dataset_config: *train_dataset}}
context: {{mode: 0}}
parallel: {{parallel_mode: 1}}
parallel_config: {{data_parallel: {ranks}, model_parallel: 1, pipeline_stage: 1, micro_batch_num: 1}}
model:
  model_config:
    model_type: qwen3
    architectures: Qwen3ForCausalLM
    vocab_size: 128
    hidden_size: 64
    intermediate_size: 128
    num_hidden_layers: 2
    num_attention_heads: 4
    num_key_value_heads: 4
    seq_length: 16
"""


def rows_yaml(loader: Mapping[str, Any], **changes: object) -> str:
    """A YAML of MindSpore Transformers that reads rows."""
    values: dict[str, object] = {
        "ranks": 1, "micro": 4, "epochs": 1, "parallel": False, "columns": "input_ids", **changes,
    }  # fmt: skip
    return YAML.format(loader=json.dumps({"type": "MindDataset", **loader}), **values)
