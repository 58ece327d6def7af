"""Replacements for CUDA, Transformer Engine and expert kernels, with which Megatron-Core runs on a CPU.

Each is listed in the report by its name and line, holds only inside `stand_ins()`, and a test proves the ones that
compute something against a reference, values and gradients.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import math
import os
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from ..constants_compiled import STAND_INS
from ..worker.patches import DropoutSwitch, Patches, dropout_factors, import_without_triton

if TYPE_CHECKING:
    from collections.abc import Iterator


_MODEL = "megatron.core.models.gpt.gpt_model"

_COMPARED_WITH = ("TEColumnParallelLinear", "TELinear", "Linear")
_INFERENCE_LAYERS = ("InferenceColumnParallelLinear", "InferenceLayerNormColumnParallelLinear")

LISTED: dict[str, str] = STAND_INS["megatron"]


DROPPING = DropoutSwitch()


def drop_by_place(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Replacement of torch's `dropout` that drops elements by their position, not at random."""
    del inplace
    if not (DROPPING.on and training and p > 0):
        return x
    return x * torch.from_numpy(dropout_factors(x.shape, p)).to(x.dtype)


class EagerCoreAttention(torch.nn.Module):
    """Softmax attention whose queries and values may have different widths; [s, b, n, d] in, [s, b, n·d] out."""

    def __init__(
        self,
        config: Any,
        layer_number: int,
        attn_mask_type: Any = None,
        attention_type: str = "self",
        attention_dropout: float | None = None,
        softmax_scale: float | None = None,
        k_channels: int | None = None,
        v_channels: int | None = None,
        cp_comm_type: str | None = None,
        **_later: Any,
    ) -> None:
        super().__init__()
        del layer_number, attn_mask_type, attention_type, v_channels, cp_comm_type
        self.dropout = config.attention_dropout if attention_dropout is None else attention_dropout
        width = k_channels or config.kv_channels
        self.scale = 1 / math.sqrt(width) if softmax_scale is None else softmax_scale

    def forward(self, query: Any, key: Any, value: Any, attention_mask: Any, **_unused: Any) -> Any:
        """Attention context of every position, computed with plain matrix products."""
        repeats = query.shape[2] // key.shape[2]
        if repeats > 1:
            key, value = key.repeat_interleave(repeats, 2), value.repeat_interleave(repeats, 2)
        scores = torch.einsum("sbnd,tbnd->bnst", query, key) * self.scale
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask, -10000.0)
        weights = torch.nn.functional.dropout(scores.softmax(-1), self.dropout, self.training)
        context = torch.einsum("bnst,tbnd->sbnd", weights, value)
        return context.reshape(*context.shape[:2], -1)


class ZeroCenteredNorm(torch.nn.Module):
    """LayerNorm or RMSNorm whose scale is 1 + weight."""

    def __init__(self, config: Any, hidden_size: int, eps: float = 1e-5, **_unused: Any) -> None:
        super().__init__()
        self.eps = eps
        self.centres = config.normalization == "LayerNorm"
        self.weight = torch.nn.Parameter(torch.zeros(hidden_size))
        self.bias = torch.nn.Parameter(torch.zeros(hidden_size)) if self.centres else None

    def forward(self, x: Any) -> Any:
        """The normalised activations."""
        if self.centres:
            x = x - x.mean(-1, keepdim=True)
        x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * (1 + self.weight)
        return x if self.bias is None else x + self.bias


def rotate_in_float32(t: Any, freqs: Any, *_given: Any, interleaved: bool = False, **_named: Any) -> Any:
    """The rotation of Transformer Engine's fused kernel, whose angles and products are float32."""
    from megatron.core.models.common.embeddings import rope_utils

    turned: Any = getattr(rope_utils, "_apply_rotary_pos_emb_bshd")(t.float(), freqs, rotary_interleaved=interleaved)  # noqa: B009
    return turned.to(t.dtype)


def copy_expert_products(model: Any) -> None:
    """Make every expert return a copy of its second product."""
    for name, module in model.named_modules():
        if ".local_experts." in name and name.endswith(".linear_fc2"):
            module.register_forward_hook(_copy_product)


def _copy_product(_module: Any, _given: Any, found: Any) -> Any:
    """Forward hook that clones the product of an expert's second layer."""
    product, bias = found
    return product.clone(), bias


class _Nothing:
    """A stream or an event that has nothing to wait for."""

    def __init__(self, *_given: Any, **_named: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_given, **_named: self


class _CudaMeansCpu(TorchFunctionMode):
    """Tensors asked for on 'cuda' are made on the CPU, and say of themselves what a CUDA tensor would."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
        if func is torch.Tensor.cuda:
            return args[0]
        found = func(*args, **kwargs)
        if func is torch.Tensor.type and len(args) == 1 and found == "torch.FloatTensor":
            return "torch.cuda.FloatTensor"
        return found


def _put_absent_classes(patches: Patches) -> set[str]:
    """Patch in stand-ins for Transformer Engine classes that are not installed; returns their words."""
    from megatron.core.transformer import multi_latent_attention as latent
    from megatron.core.transformer.moe import moe_utils

    found: set[str] = set()
    if hasattr(moe_utils, "RouterGatingLinearFunction") and not hasattr(moe_utils, "te_general_gemm"):
        patches.put(moe_utils, "te_general_gemm", None)
        found.add("router-product")
    for module, names in ((latent, _COMPARED_WITH), (_inference_layers(), _INFERENCE_LAYERS)):
        for name in names:
            if not isinstance(vars(module).get(name, object), type):
                patches.put(module, name, type(name, (), {}))
                found.add("absent-classes")
    return found


def _inference_layers() -> Any:
    """Module of Megatron-Core's inference layers; `contextlib`, which has none of them, in older versions."""
    try:
        return importlib.import_module("megatron.core.tensor_parallel.inference_layers")
    except ImportError:
        return contextlib


def has_transformer_engine() -> bool:
    """True if Transformer Engine is installed, whose layers a GPU then runs."""
    return importlib.util.find_spec("transformer_engine") is not None


_REPEATABLE = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "NVTE_ALLOW_NONDETERMINISTIC_ALGO": "0"}
"""Settings with which cuBLAS and Transformer Engine repeat bit for bit."""


def start_cuda() -> None:
    """Select the first GPU and repeatable kernels; RuntimeError if there is no GPU."""
    if not torch.cuda.is_available():
        raise RuntimeError("torch finds no CUDA device here")
    for name, value in _REPEATABLE.items():
        os.environ.setdefault(name, value)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.cuda.set_device(0)


@contextlib.contextmanager
def stand_ins_on_device() -> Iterator[set[str]]:
    """Context with stand-ins for missing classes only: on a GPU all kernels are the framework's own."""
    with Patches() as patches:
        without_triton = import_without_triton(_MODEL)[1]
        yield ({"triton"} if without_triton else set()) | _put_absent_classes(patches)


@contextlib.contextmanager
def stand_ins() -> Iterator[set[str]]:
    """Context with stand-ins for CUDA and missing classes; yields the names of those in use."""
    import torch._dynamo as dynamo

    cuda = torch.cuda
    with Patches() as patches, _CudaMeansCpu():
        patches.put(cuda, "current_device", lambda: "cpu")
        patches.put(cuda, "Stream", _Nothing)
        patches.put(cuda, "Event", _Nothing)
        patches.put(cuda, "current_stream", lambda *_given: _Nothing())
        patches.put(cuda, "stream", lambda _stream: contextlib.nullcontext())
        patches.put(cuda, "synchronize", lambda *_given: None)
        patches.put(torch.nn.functional, "dropout", drop_by_place)
        before = dynamo.config.disable
        dynamo.config.disable = True
        try:
            without_triton = import_without_triton(_MODEL)[1]
            patches.put(
                importlib.import_module("megatron.core.models.common.embeddings.rope_utils"),
                "fused_apply_rotary_pos_emb",
                rotate_in_float32,
            )
            yield ({"triton"} if without_triton else set()) | _put_absent_classes(patches)
        finally:
            dynamo.config.disable = before
