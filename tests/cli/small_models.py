"""Small models of two families, as their `config.json` describes them."""

from __future__ import annotations

from typing import Any

QWEN3: dict[str, Any] = {
    "model_type": "qwen3",
    "vocab_size": 32000,
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "max_position_embeddings": 4096,
    "rope_theta": 1000000.0,
    "rms_norm_eps": 1e-06,
    "tie_word_embeddings": False,
}
GROUPS: dict[str, Any] = {
    "model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "num_key_value_heads": 8, "head_dim": None,
    "n_routed_experts": 16, "moe_intermediate_size": 64, "n_shared_experts": 1, "first_k_dense_replace": 1,
    "norm_topk_prob": True, "routed_scaling_factor": 2.5, "n_group": 4, "topk_group": 2, "q_lora_rank": 64,
    "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32, "hidden_act": "silu",
}  # fmt: skip
"""Arguments of a model with latent attention and expert groups, in place of the small one's; None removes a key."""
