"""A writer of Megatron data files for the tests, and pairs of configurations that use them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CODES = {1: "<u1", 2: "<i1", 3: "<i2", 4: "<i4", 5: "<i8", 6: "<f8", 7: "<f4", 8: "<u2"}

SCRIPT = """torchrun --nproc_per_node {ranks} pretrain_gpt.py \\
  --num-layers 2 --hidden-size 64 --num-attention-heads 4 --max-position-embeddings 4096 \\
  --seq-length {length} --micro-batch-size {micro} --global-batch-size {batch} --train-iters {steps} \\
  --lr 1e-4 --seed {seed} --data-path {paths} --split {split} \\
  --tokenizer-type NullTokenizer --vocab-size {vocabulary} {more}
"""
YAML = """use_legacy: False
run_mode: train
use_parallel: {parallel}
runner_config:
  epochs: {epochs}
  batch_size: {micro}
  gradient_accumulation_steps: {accumulate}
  sink_mode: True
  sink_size: 1
train_dataset: &train_dataset
  data_loader:
    type: BlendedMegatronDatasetDataLoader
    datasets_type: GPTDataset
    sizes: [{samples}, 0, 0]
    config:
      seed: {seed}
      seq_length: {length}
      split: "{split}"
      create_attention_mask: False
      eod: {eod}
      pad: {pad}
      data_path: [{paths}]
      {more}
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
    vocab_size: {rows}
    hidden_size: 64
    intermediate_size: 128
    num_hidden_layers: 2
    num_attention_heads: 4
    num_key_value_heads: 4
    pad_token_id: {masked}
"""


def write_data(
    prefix: Path | str,
    sequences: Sequence[Sequence[int]],
    code: int = 4,
    marks: Sequence[int] | None = None,
    modes: Sequence[int] | None = None,
) -> None:
    """Write `prefix`.bin and `prefix`.idx: each sequence a document of its own unless `marks` say otherwise."""
    kind = np.dtype(CODES[code])
    lengths = [len(sequence) for sequence in sequences]
    marks = range(len(lengths) + 1) if marks is None else marks
    with open(f"{prefix}.bin", "wb") as stream:
        for sequence in sequences:
            stream.write(np.asarray(sequence, dtype=kind).tobytes())
    starts = np.concatenate(([0], np.cumsum(lengths)))[:-1] * kind.itemsize if lengths else np.empty(0)
    with open(f"{prefix}.idx", "wb") as stream:
        stream.write(b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, code, len(lengths), len(marks)))
        for array, dtype in ((lengths, "<i4"), (starts, "<i8"), (list(marks), "<i8")):
            stream.write(np.asarray(array, dtype=dtype).tobytes())
        if modes is not None:
            stream.write(np.asarray(modes, dtype="<i1").tobytes())


def write_text(
    prefix: Path | str, count: int = 40, seed: int = 0, eod: int = 99, high: int = 90, longest: int = 60
) -> int:
    """Write `count` documents of random ids that end with `eod`; how many tokens they have."""
    generator = np.random.default_rng(seed)
    documents = [
        [*generator.integers(1, high, size=size).tolist(), eod] for size in generator.integers(3, longest, size=count)
    ]
    write_data(prefix, documents)
    return sum(map(len, documents))


def script(paths: str, **changes: object) -> str:
    """A launch script of Megatron-LM."""
    values: dict[str, object] = {
        "ranks": 1, "length": 16, "micro": 4, "batch": 4, "steps": 10, "seed": 1234, "split": "1,0,0",
        "vocabulary": 127, "more": "",
    }  # fmt: skip
    return SCRIPT.format(paths=paths, **{**values, **changes})


def yaml(paths: str, **changes: object) -> str:
    """A YAML of MindSpore Transformers for the same run as `script`."""
    values: dict[str, object] = {
        "ranks": 1, "length": 16, "micro": 4, "accumulate": 1, "samples": 40, "seed": 1234,
        "split": "1, 0, 0", "epochs": 1, "eod": 99, "pad": -1, "masked": -1, "rows": 128, "parallel": False,
        "more": "eod_mask_loss: False", "columns": "input_ids, labels, loss_mask, position_ids",
    }  # fmt: skip
    return YAML.format(paths=paths, **{**values, **changes})
