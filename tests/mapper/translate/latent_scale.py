"""Run inside a framework: the scale that its real latent attention gives its scores, and the angles it turns by.

`python latent_scale.py megatron|mindformers '{"settings": {...}, "positions": 32}'` prints one line of JSON. Only what
the constructor builds besides is left out: the projections and the kernel. Scale, kind of positions and frequencies
are the framework's own lines.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from contextlib import suppress
from types import ModuleType, SimpleNamespace
from typing import Any


class BuiltError(Exception):
    """The core attention was asked for, with this scale."""


class Kernels(ModuleType):
    """Triton, whose kernels Megatron-LM from 0.18 on defines where it is imported, and which nothing here starts."""

    __path__ = ()
    __file__ = "triton.py"
    __version__ = "9"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return decorator


def decorator(*given: Any, **_: Any) -> Any:
    """`@triton.jit`, `@triton.autotune(…)` and whatever else stands in a module's body."""
    return given[0] if len(given) == 1 and callable(given[0]) else decorator


def megatron(settings: dict[str, Any], positions: int) -> dict[str, Any]:
    import torch

    if importlib.util.find_spec("triton") is None:
        importlib.import_module("torch._inductor.utils")  # which asks for the real one
        for name in ("triton", "triton.language", "triton.language.extra", "triton.language.extra.libdevice"):
            sys.modules[name] = Kernels(name)
            above, _, last = name.rpartition(".")
            if above:
                setattr(sys.modules[above], last, sys.modules[name])
    torch.cuda.current_device = lambda: torch.device("cpu")
    module: Any = importlib.import_module("megatron.core.transformer.multi_latent_attention")
    fields = importlib.import_module("megatron.core.transformer.transformer_config").MLATransformerConfig
    state: Any = importlib.import_module("megatron.core.parallel_state")
    state.get_context_parallel_world_size = lambda *_: 1
    known = {name: field.default for name, field in fields.__dataclass_fields__.items()}
    config = SimpleNamespace(**{**known, **settings, "use_cpu_initialization": True})

    def begin(self: Any, *_: Any, **__: Any) -> None:
        torch.nn.Module.__init__(self)
        self.config, self.layer_number, self.attn_mask_type, self.attention_type = config, 1, None, "self"
        self.pg_collection = self.model_comm_pgs = SimpleNamespace(cp=None, tp=None)

    module.Attention.__init__ = begin
    built: dict[str, Any] = {}

    def build(*_: Any, **named: Any) -> Any:
        if "softmax_scale" in named:
            built["scale"] = named["softmax_scale"]
            raise BuiltError
        return None

    module.build_module = build
    module.MultiLatentAttention.__abstractmethods__ = frozenset()
    attention = module.MultiLatentAttention.__new__(module.MultiLatentAttention)
    parts = SimpleNamespace(core_attention=None, linear_proj=None)
    with suppress(BuiltError):
        module.MultiLatentAttention.__init__(attention, config, parts, 1, None, "self")
    found = attention.rotary_pos_emb(positions)
    pair = found if isinstance(found, tuple) else (found, 1.0)
    return {"scale": built["scale"], "angles": pair[0].flatten().tolist(), "magnitude": pair[1]}


def mindformers(settings: dict[str, Any], positions: int) -> dict[str, Any]:
    module: Any = importlib.import_module("mindformers.parallel_core.training_graph.transformer.multi_latent_attention")
    config_module: Any = importlib.import_module("mindformers.parallel_core.transformer_config")
    known = {name: field.default for name, field in config_module.MLATransformerConfig.__dataclass_fields__.items()}
    config = SimpleNamespace(**{**known, **settings, "context_parallel_size": 1, "tensor_model_parallel_size": 1,
                                "hierarchical_context_parallel_sizes": 1})  # fmt: skip
    built: dict[str, Any] = {}

    def build(*_: Any, **named: Any) -> Any:
        if "softmax_scale" in named:
            built["scale"] = named["softmax_scale"]
            raise BuiltError
        return None

    module.build_module = build
    with suppress(BuiltError):
        module.MultiLatentAttention(config, SimpleNamespace(core_attention=None), 1, "self")
    where = "mindformers.parallel_core.training_graph.base_models.common.embeddings"
    if settings["position_embedding_type"] == "yarn":
        yarn: Any = importlib.import_module(f"{where}.yarn_rotary_pos_embedding").YarnRotaryEmbedding
        embedding = yarn(
            config.qk_pos_emb_head_dim, rotary_base=settings["rotary_base"],
            scaling_factor=config.rotary_scaling_factor,
            original_max_position_embeddings=settings["max_position_embeddings"], beta_fast=config.beta_fast,
            beta_slow=config.beta_slow, mscale=config.mscale, mscale_all_dim=config.mscale_all_dim,
        )  # fmt: skip
    else:
        rotary: Any = importlib.import_module(f"{where}.rotary_pos_embedding").RotaryEmbedding
        embedding = rotary(config.qk_pos_emb_head_dim, rotary_base=settings["rotary_base"])
    import mindspore as ms
    import numpy as np

    # MindSpore's CPU target has no outer product.
    embedding.__dict__["outer"] = lambda one, other: ms.Tensor(np.outer(one.asnumpy(), other.asnumpy()))
    embedding.__dict__.get("_cells", {}).pop("outer", None)
    embedding.__dict__.get("_primitives", {}).pop("outer", None)
    angles, magnitude = embedding(positions)
    return {"scale": built["scale"], "angles": angles.asnumpy().flatten().tolist(), "magnitude": float(magnitude)}


if __name__ == "__main__":
    asked = json.loads(sys.argv[2])
    answer = {"megatron": megatron, "mindformers": mindformers}[sys.argv[1]](asked["settings"], asked["positions"])
    print(json.dumps(answer))
