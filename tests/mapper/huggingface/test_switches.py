"""Switches of a `config.json` in every form: transformers asks for their truth, and null is off."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from accmap.mapper.recipe.reading import recipe_of
from accmap.schemas.config import ReadOptions
from accmap.schemas.plain_values import is_on
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

SMALL: dict[str, Any] = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64,
}  # fmt: skip
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "decoder_sparse_step": 1}
SWITCHES = {
    ("qwen3_moe", "norm_topk_prob"): "moe.router.normalize_topk",
    ("qwen3", "attention_bias"): "attention.qkv_bias",
    ("qwen3", "tie_word_embeddings"): "model.tie_embeddings",
    ("llama", "attention_bias"): "attention.output_bias",
}
FORMS: tuple[Any, ...] = (True, False, 1, 0, 2, 1.0, 0.0, -0.0, None, "True", "False", "1", "", [], [0], {})


def keys(family: str, key: str, value: Any) -> dict[str, Any]:
    return {"model_type": family, **SMALL, **(EXPERTS if family.endswith("moe") else {}), key: value}


def told(family: str, key: str, value: Any) -> Any:
    text = json.dumps(keys(family, key, value), indent=1)
    recipe = recipe_of(config_of(SourceText("config.json", text), ReadOptions(), path="config.json"))
    return recipe.fields[SWITCHES[family, key]].value  # type: ignore[index]


@pytest.mark.parametrize(("family", "key"), SWITCHES)
def test_a_switch_is_on_by_its_truth(family: str, key: str) -> None:
    assert [told(family, key, value) for value in FORMS] == [is_on(value) for value in FORMS]


@pytest.mark.frameworks
def test_the_real_classes_ask_for_the_truth() -> None:
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    for (family, key), value in product(SWITCHES, FORMS):
        config = transformers.AutoConfig.for_model(**keys(family, key, value))
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(config)
        attention = model.model.layers[0].self_attn
        if key == "norm_topk_prob":
            states = torch.randn(1, 3, 32, generator=torch.Generator().manual_seed(1))
            block = model.model.layers[0].mlp
            before = block(states)[0]
            block.norm_topk_prob = True
            real = bool(torch.equal(before, block(states)[0]))
        elif key == "tie_word_embeddings":
            real = model.lm_head.weight is model.model.embed_tokens.weight
        else:
            real = (attention.o_proj if family == "llama" else attention.q_proj).bias is not None
        assert told(family, key, value) is real, (family, key, value)
