"""Megatron-Core's stand-ins against references, in a process of its own."""

import json
import math

import pytest
import torch

from accmap.verifier.megatron import model
from accmap.verifier.megatron.stand_ins import (
    DROPPING,
    EagerCoreAttention,
    ZeroCenteredNorm,
    copy_expert_products,
    drop_by_place,
    stand_ins,
)


class Config:
    kv_channels = 8
    attention_dropout = 0.0
    normalization = "RMSNorm"


def compared(ours, theirs, inputs):
    """Largest difference of values and of gradients for a random slope."""
    slope = torch.randn_like(theirs)
    found = [ours - theirs]
    mine = torch.autograd.grad((ours * slope).sum(), inputs, retain_graph=True)
    others = torch.autograd.grad((theirs * slope).sum(), inputs)
    found += [a - b for a, b in zip(mine, others, strict=True)]
    return max(float(x.abs().max()) for x in found)


def attention_error():
    q = torch.randn(6, 2, 4, 8, requires_grad=True)
    k = torch.randn(6, 2, 2, 8, requires_grad=True)
    v = torch.randn(6, 2, 2, 8, requires_grad=True)
    mask = torch.ones(6, 6).triu(1).bool()[None, None]
    ours = EagerCoreAttention(Config, 1)(q, k, v, mask)
    moved = [x.permute(1, 2, 0, 3) for x in (q, k.repeat_interleave(2, 2), v.repeat_interleave(2, 2))]
    exact = torch.nn.functional.scaled_dot_product_attention(*moved, is_causal=True, scale=1 / math.sqrt(8))
    return compared(ours, exact.permute(2, 0, 1, 3).reshape(6, 2, -1), (q, k, v))


def dropout_error():
    """Torch's own dropout leaves an element out or scales it up; so does the stand-in, by place."""
    x = torch.randn(40, 50, requires_grad=True)
    kept = torch.nn.functional.dropout(x, 0.3)
    factor = (kept / x)[kept != 0].mean()
    assert torch.equal(drop_by_place(x, 0.3), x)  # outside its pass nothing is dropped
    with DROPPING:
        ours = drop_by_place(x, 0.3)
        assert torch.equal(drop_by_place(x, 0.3, training=False), x)
        assert torch.equal(drop_by_place(x, 0.0), x)
    theirs = x * (ours != 0) * factor
    share = float((ours == 0).float().mean()) - 0.3
    assert abs(share) < 0.03, share
    return compared(ours, theirs, (x,))


def norm_error(kind):
    Config.normalization = kind
    x = torch.randn(5, 3, 8, requires_grad=True)
    norm = ZeroCenteredNorm(Config, 8, eps=1e-5)
    with torch.no_grad():
        norm.weight.normal_()
    scale = 1 + norm.weight
    if kind == "RMSNorm":
        exact = torch.nn.functional.rms_norm(x, (8,), scale, 1e-5)
    else:
        exact = torch.nn.functional.layer_norm(x, (8,), scale, norm.bias, 1e-5)
    return compared(norm(x), exact, (x, norm.weight))


class HandedThrough(torch.autograd.Function):
    """The sum over one rank, as Megatron-Core's `_ReduceFromModelParallelRegion` makes it."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, slope):
        return slope


class Product(torch.nn.Linear):
    def forward(self, x):
        return HandedThrough.apply(x @ self.weight.T), self.bias


def expert_bias_error():
    """Megatron-Core 0.15 core/transformer/mlp.py:MLP.forward adds an expert's bias in place."""
    expert = torch.nn.ModuleDict({"linear_fc2": Product(8, 4)})
    model = torch.nn.ModuleDict({"experts": torch.nn.ModuleDict({"local_experts": torch.nn.ModuleList([expert])})})
    x, product = torch.randn(3, 8, requires_grad=True), expert["linear_fc2"]

    def added():
        found, bias = product(x)
        found += bias
        return found

    with pytest.raises(RuntimeError, match="modified inplace"):  # what the stand-in is for
        added()
    copy_expert_products(model)
    exact = torch.nn.functional.linear(x, product.weight, product.bias)
    return compared(added(), exact, (x, product.weight, product.bias))


def main():
    torch.manual_seed(0)
    watched = ("current_device", "Stream", "Event", "current_stream", "stream", "synchronize")
    before = {name: getattr(torch.cuda, name) for name in watched}
    errors = {"attention": attention_error(), "rms": norm_error("RMSNorm"), "layer": norm_error("LayerNorm")}
    errors["dropout"] = dropout_error()
    errors["expert-bias"] = expert_bias_error()
    own = torch.nn.functional.dropout
    with stand_ins():
        ones = torch.ones(64, 64)
        with DROPPING:
            assert torch.equal(torch.nn.Dropout(0.5)(ones), drop_by_place(ones, 0.5))
            assert not torch.equal(torch.nn.Dropout(0.5)(ones), ones)
        assert torch.equal(torch.nn.Dropout(0.5)(ones), ones)
        assert torch.zeros(2, device="cuda").device.type == "cpu"
        assert torch.cuda.current_device() == "cpu"
        # A process is handed JSON; 0.15 and later keep the masks of windows by the window, which a list cannot be.
        sizes = {"num_layers": 1, "hidden_size": 8, "num_attention_heads": 2, "window_size": [4, 0]}
        assert model._transformer_config(sizes).window_size == (4, 0)
        # A fused router and CUDA graphs of inference ask for Transformer Engine and for a GPU.
        fused = {field: value for field, value in model.NEUTRAL.items() if "fus" in field}
        assert {"moe_router_fusion", "fused_residual_rmsnorm"} <= fused.keys()
        assert not any(fused.values())
    assert torch.nn.functional.dropout is own
    left = [name for name in watched if getattr(torch.cuda, name) is not before[name]]
    try:
        torch.zeros(2, device="cuda")
    except (AssertionError, RuntimeError):
        pass
    else:
        if not torch.cuda.is_available():
            left.append("device")
    print(json.dumps({"errors": errors, "left_behind": left}))
