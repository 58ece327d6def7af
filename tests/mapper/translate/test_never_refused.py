"""One number changed at a time, which its own framework takes: what is written of it, the other framework takes, too.

What it refuses all the same has no equal there, and stands in `REFUSED` with the reason; `convert` says it first.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from accmap.mapper.preconditions import refusals, refusals_of_text, require_accepted
from accmap.mapper.translate.read_back import text_of
from accmap.mapper.translate.translation import translate
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.file_kind import require_training
from accmap.schemas.megatron.catalog import catalog
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator

STATIC: dict[str, Any] = {
    "seed": 7, "use_legacy": False, "run_mode": "train", "use_parallel": False, "output_dir": "./output",
    "trainer": {"type": "CausalLanguageModelingTrainer", "model_name": "qwen3"},
    "runner_config": {"epochs": 1, "batch_size": 1, "gradient_accumulation_steps": 1},
    "optimizer": {"type": "AdamW", "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1},
    "lr_schedule": {"type": "CosineWithWarmUpLR", "learning_rate": 1e-4, "lr_end": 1e-5, "warmup_steps": 2,
                    "total_steps": 16, "warmup_lr_init": 0.0},
    "callbacks": [{"type": "MFLossMonitor", "per_print_times": 2},
                  {"type": "CheckpointMonitor", "save_checkpoint_steps": 5, "keep_checkpoint_max": 2}],
    "train_dataset": {"num_parallel_workers": 2, "data_loader": {
        "type": "BlendedMegatronDatasetDataLoader", "datasets_type": "GPTDataset", "sizes": [16, 0, 0],
        "config": {"seq_length": 32, "data_path": ["1", "/d"], "split": "1,0,0", "seed": 7, "eod": 1, "pad": 2,
                   "num_dataset_builder_threads": 2}}},
    "model": {"model_config": {
        "model_type": "qwen3", "architectures": "Qwen3ForCausalLM", "num_hidden_layers": 2, "hidden_size": 64,
        "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "vocab_size": 512, "seq_length": 32, "max_position_embeddings": 64, "rope_theta": 10000,
        "rms_norm_eps": 1e-6, "initializer_range": 0.02, "hidden_dropout": 0.0, "attention_dropout": 0.0}},
}  # fmt: skip
DYNAMIC: dict[str, Any] = {
    "training": {"steps": 10, "local_batch_size": 1, "global_batch_size": 4, "seed": 7, "max_norm": 1.0},
    "parallelism": {"data_parallel_shard": 1, "tensor_parallel": 1, "pipeline_parallel": 1},
    "checkpoint": {"save_path": "./out", "save_max": 3, "save_interleaved_steps": 5},
    "optimizer": {"type": "AdamW", "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1},
    "lr_scheduler": {"type": "CosineWithWarmUpLR", "learning_rate": 1e-4, "lr_end": 1e-5, "warmup_steps": 2,
                     "total_steps": 10},
    "train_dataset": {"num_parallel_workers": 2, "dataloader": {
        "type": "BlendedMegatronDatasetDataLoader", "sizes": [40, 0, 0],
        "config": {"seq_length": 32, "data_path": ["1", "/d"], "split": "1,0,0", "seed": 7, "eod": 1, "pad": 2,
                   "eod_mask_loss": False, "reset_position_ids": False, "reset_attention_mask": False,
                   "create_compressed_eod_mask": False, "num_dataset_builder_threads": 2}}},
    "model": {
        "model_type": "qwen3", "architectures": "Qwen3ForCausalLM", "num_hidden_layers": 2, "hidden_size": 64,
        "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "vocab_size": 512, "seq_length": 32, "max_position_embeddings": 64, "rope_theta": 10000},
}  # fmt: skip
LAUNCH = (
    "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 "
    "--seq-length 32 --max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 4 --vocab-size 500 "
    "--tokenizer-type NullTokenizer --data-path /d/x --split 1,0,0 --train-iters 125 --lr 1e-4 --bf16 --swiglu "
    "--normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --eval-interval 100 "
    "--position-embedding-type rope"
)
NUMBERS = (0, 1, 1.0e1)
REFUSED = {
    "learning_rate": "a schedule that ends above its peak",
    "lr_end": "a schedule that ends above its peak",
    "warmup_lr_init": "a warm-up from above the peak",
    "total_steps": "a decay that ends within the warm-up",
    "epochs": "a run of no steps",
    "steps": "a run of no steps",
    "batch_size": "a run of no samples",
    "save_checkpoint_steps": "checkpoints at no step",
    "max_position_embeddings": "a fraction that no size is made of",
    "--hidden-dropout": "everything is dropped",
    "--attention-dropout": "everything is dropped",
    "--window-size": "half a window",
    "--adam-beta1": "MindSpore's AdamW takes no moment of nothing or everything",
    "--adam-beta2": "MindSpore's AdamW takes no moment of nothing or everything",
    "--adam-eps": "MindSpore's AdamW divides by it",
    "--micro-batch-size": "not of the global batch",
    "--seq-length": "no sequence",
}
"""By the last part of a key, or the flag."""


def leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the numbers are."""
    if isinstance(node, dict):
        for key, inner in cast("dict[str, Any]", node).items():
            yield from leaves(inner, (*path, key))
    elif isinstance(node, list):
        for place, inner in enumerate(cast("list[Any]", node)):
            if isinstance(inner, dict):
                yield from leaves(inner, (*path, place))
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        yield path


def changed(base: dict[str, Any], path: tuple[Any, ...], value: float) -> str:
    found = copy.deepcopy(base)
    at: Any = found
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return yaml.safe_dump(found)


def refused(text: str, name: str, options: ReadOptions, to: tuple[Any, ...]) -> list[str]:
    """What the other framework says against the file that is written; nothing where the own one refuses already."""
    try:
        source = config_of(SourceText(name, text), options, path=name)
        require_training(source)
        require_accepted(source)
    except UnreadableError:
        return []
    if refusals(source) or any(one.kind.severity == "error" for one in source.problems):
        return []
    translation = translate(source, *to)
    return [one.en for one in refusals_of_text(translation, text_of(translation))]


def _of_yaml(base: dict[str, Any], version: str) -> Iterator[tuple[str, str]]:
    options = ReadOptions(mindformers=version, world_size=1)
    for path in leaves(base):
        for number in NUMBERS:
            name = str(path[-1])
            for said in refused(changed(base, path, number), "a.yaml", options, ("megatron", "0.16")):
                yield name, f"{'.'.join(map(str, path))}: {number}: {said}"


def _of_script(to: tuple[str, str]) -> Iterator[tuple[str, str]]:
    for fact in catalog("0.16").by_dest.values():
        if fact.action != "store" or fact.choices is not None:
            continue
        flag = fact.options[0]
        for number in ("0", "1"):
            text = f"{LAUNCH} {flag} {number}\n"
            for said in refused(text, "a.sh", ReadOptions(megatron="0.16"), ("mindformers", *to)):
                yield flag, f"{flag} {number}: {said}"


@pytest.mark.fuzz
@pytest.mark.parametrize(("base", "version"), [(STATIC, "1.9"), (DYNAMIC, "2.1")])
def test_a_number_of_a_yaml(base: dict[str, Any], version: str) -> None:
    assert refused(yaml.safe_dump(base), "a.yaml", ReadOptions(mindformers=version, world_size=1), ("megatron",)) == []
    assert [said for name, said in _of_yaml(base, version) if name not in REFUSED] == []


@pytest.mark.fuzz
@pytest.mark.parametrize("to", [("1.9", "static"), ("2.1", "dynamic")])
def test_a_number_of_a_script(to: tuple[str, str]) -> None:
    assert [said for flag, said in _of_script(to) if flag not in REFUSED] == []
