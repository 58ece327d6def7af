"""The token that MindSpore Transformers' attention and loss leave out, as its code decides it, by version.

Run on the real classes of 1.6.0 and 1.7.0: a file that asks for `pad_token_id: -1` is built with 0, and the loss of a
batch that holds token 0 is another one with the data set's causal mask (4.8462 against 4.8410 in 1.6). The masks
are made in `training_graph/base_models/gpt/gpt_model.py:PreprocessLabelsAndMasks.construct` (1.6: GPTModel).
"""

from __future__ import annotations

import pytest

from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.translate.read_back import text_of
from accmap.mapper.translate.translation import translate
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

SCRIPT = (
    "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --swiglu "
    "--seq-length 64 --max-position-embeddings 64 --position-embedding-type rope --normalization RMSNorm "
    "--disable-bias-linear --untie-embeddings-and-output-weights --vocab-size 511 --tokenizer-type NullTokenizer "
    "--micro-batch-size 1 --train-iters 10 --lr 1e-3 --data-path /d --split 1,0,0"
)
YAML = """
use_legacy: False
run_mode: train
train_dataset:
  data_loader: {{type: BlendedMegatronDatasetDataLoader, config: {{create_attention_mask: {created}}}}}
  input_columns: [{columns}]
model:
  model_config: {{model_type: qwen3, num_hidden_layers: 2, hidden_size: 64, num_attention_heads: 4, vocab_size: 512,
    seq_length: 64, {more}}}
"""
FIVE = "input_ids, labels, loss_mask, position_ids, attention_mask"


def token(text: str, version: str) -> object:
    config = config_of(SourceText("a.yaml", text), ReadOptions(mindformers=version), path="a.yaml")
    return recipe_of(config).value("tokenizer.pad_token")


@pytest.mark.parametrize("version", ["1.6", "1.7", "1.8", "1.9", "2.1"])
def test_what_is_written_masks_no_token(version: str) -> None:
    config = config_of(SourceText("a.sh", SCRIPT), ReadOptions(), path="a.sh")
    text = text_of(translate(config, "mindformers", version, "static"))
    assert token(text, version) == -1
    assert ("pad_token_id: -1" in text) is (version not in ("1.6", "1.7"))
    assert ("create_attention_mask: True" in text) is (version in ("1.6", "1.7"))


@pytest.mark.parametrize(
    ("version", "created", "columns", "more", "expected"),
    [
        ("1.7", "False", FIVE.rpartition(",")[0], "pad_token_id: -1", 0),
        ("1.7", "True", FIVE, "", -1),
        ("1.7", "False", FIVE.rpartition(",")[0], "use_attn_mask_compression: True", -1),
        ("1.9", "False", FIVE.rpartition(",")[0], "pad_token_id: -1", -1),
        ("1.9", "False", FIVE.rpartition(",")[0], "pad_token_id: 7", 7),
        ("1.9", "True", FIVE, "pad_token_id: 7", -1),
        ("1.9", "True", "input_ids, labels", "pad_token_id: 7", 7),
        ("1.9", "True", "input_ids, labels, attention_mask", "pad_token_id: 7", 7),  # the loss leaves it out
    ],
)
def test_what_is_read(version: str, created: str, columns: str, more: str, expected: int) -> None:
    assert token(YAML.format(created=created, columns=columns, more=more), version) == expected
