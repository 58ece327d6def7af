"""Small experiments on the real code of one MindSpore Transformers: the figures of a defect, by its code.

`experiments_mindformers.py TREE CODE...`: the tree stands first on the path, and all that is asked of it is asked in
one process. Modules of the static graph run as they are, without compiling; what other ranks would do is computed by
asking as each of them.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import inspect
import json
import sys
import traceback
from types import SimpleNamespace
from typing import Any
from unittest import mock

sys.path.insert(0, sys.argv[1])

import mindspore as ms
import numpy as np
from mindspore import ops

ms.set_context(mode=ms.PYNATIVE_MODE)
EXPERTS, GROUPS = 8, 4


def def501() -> dict[str, Any]:
    """Share of the tokens whose embedding is their own, with two tensor parallel ranks that both hold the table."""
    from mindformers.parallel_core.training_graph.tensor_parallel import layers

    vocabulary, hidden, ranks = 8, 4, 2
    table = ms.Tensor(np.arange(vocabulary * hidden).reshape(vocabulary, hidden), ms.float32)
    tokens = ms.Tensor(np.arange(vocabulary).reshape(1, vocabulary), ms.int32)
    total: Any = 0.0
    for rank in range(ranks):
        made = layers.VocabParallelEmbedding.__new__(layers.VocabParallelEmbedding)
        ms.nn.Cell.__init__(made)
        made.tp, made.sequence_parallel, made.group = ranks, False, ""
        made.enable_embedding_tp = False  # what 1.8 works out from a table that is not split
        made.reshape, made.relu, made.minimum, made.equal = ops.reshape, ops.relu, ops.minimum, ops.equal
        made.vocab_start_index = rank * vocabulary // ranks
        made.parallel_num_embeddings = vocabulary // ranks - 1
        with (
            mock.patch.object(layers.ops, "AllReduce", return_value=lambda tensor: tensor),
            # a CPU has no kernel of mint's
            mock.patch.object(layers.mint.nn.functional, "embedding", lambda ids, weight: ops.gather(weight, ids, 0)),
        ):
            out = made.embedding_func(tokens, table).asnumpy()
        total = (
            out if "enable_embedding_tp" in layers.VocabParallelEmbedding.__init__.__code__.co_names else total + out
        )
    return {"own": float(np.mean(np.all(np.isclose(total[0], table.asnumpy()), axis=-1)))}


def def502() -> dict[str, Any]:
    """The amplitude of YaRN's rotary embedding that the settings ask for, as the module keeps it."""
    from mindformers.parallel_core.training_graph.base_models.common.embeddings import yarn_rotary_pos_embedding

    made = yarn_rotary_pos_embedding.YarnRotaryEmbedding(
        kv_channels=64, scaling_factor=40.0, mscale=1.0, mscale_all_dim=0.5
    )
    return {"mscale": float(made.mscale)}


def def503() -> dict[str, Any]:
    """Share of the positions of two samples whose logits meet their own labels in the loss."""
    from mindformers.parallel_core.training_graph.base_models.gpt.gpt_model import GPTModel

    length, samples, width = 3, 2, 5
    hidden = ms.Tensor(np.arange(length * samples * width).reshape(length, samples, width), ms.float32)
    labels = ms.Tensor(np.arange(samples * length).reshape(samples, length), ms.int32)
    met: dict[str, Any] = {}

    def loss(*given: Any) -> Any:
        arrays = [one.asnumpy() for one in given if one is not None]
        met["logits"] = next(one for one in arrays if one.ndim == 2)
        met["labels"] = next(one for one in arrays if one.ndim == 1)
        return ms.Tensor(0.0)

    flat = labels.reshape(-1)
    by_names = "local_labels" in GPTModel.construct.__code__.co_varnames
    model = SimpleNamespace(
        config=SimpleNamespace(use_eod_reset=False),
        reshape=ops.reshape,
        transpose=ops.transpose,
        cast=lambda tensor, dtype: tensor.astype(dtype),
        add=lambda one, other: one + other,
        morphed_reshape_logits=lambda tensor: ops.reshape(tensor, (-1, tensor.shape[-1])),
        language_model=lambda *_, **__: (hidden, None, ms.Tensor(0.0)),
        output_layer=lambda states, _: (states, None),
        loss=loss,
        _preprocess_input_labels_and_masks=lambda *_: (
            (labels, None, None, flat, None) if by_names else (labels, flat, None, None)
        ),
        training=True,
        mtp_process=False,
        share_embeddings_and_output_weights=False,
        post_process=True,
        fp16_lm_cross_entropy=False,
        calculate_per_token_loss=False,
        init_mtp_loss=0,
        init_numerator1=0,
        init_denominator1=1,
    )
    model.compute_language_model_loss = lambda *given: GPTModel.compute_language_model_loss(model, *given)
    GPTModel.construct(model, labels, labels=labels)
    own = np.stack([hidden.asnumpy()[label % length, label // length] for label in met["labels"]])
    return {"own": float(np.mean(np.all(own == met["logits"], axis=-1)))}


def def504() -> dict[str, Any]:
    """Whether the rate of step -1, with which the fused AdamW begins, is a number without a warm-up."""
    from mindformers.core.lr.lr_schedule import CosineWithWarmUpLR

    rate = CosineWithWarmUpLR(learning_rate=1.0e-4, lr_end=0.0, warmup_steps=0, total_steps=100)
    return {"finite": bool(np.isfinite(float(rate(ms.Tensor(-1, ms.int32)))))}


def def505() -> dict[str, Any]:
    """The type in which half precision queries are rotated where the configuration asks for float32."""
    from mindformers.parallel_core.training_graph.base_models.common.embeddings.rope_utils import ApplyRotaryPosEmb

    made = ApplyRotaryPosEmb(SimpleNamespace(use_eod_reset=False, apply_rope_fusion=False, rotary_dtype=ms.float32))
    seen: list[str] = []
    product = made.mul

    def multiplied(one: Any, other: Any) -> Any:
        seen.append(str(other.dtype))
        return product(one, other)

    made.mul = multiplied
    queries = ms.Tensor(np.random.RandomState(0).randn(4, 1, 1, 8), ms.float16)
    made(queries, (ms.Tensor(np.random.RandomState(1).rand(4, 1, 1, 8), ms.float32), 1.0))
    return {"dtype": seen[0]}


def def506() -> dict[str, Any]:
    """What becomes of a sequence with 200 documents where the mask has room for 128."""
    from mindformers.dataset.blended_datasets.gpt_dataset import _get_eod_attention_mask

    tokens = np.where(np.arange(256) < 200, 9, 5)
    try:
        ends = _get_eod_attention_mask(tokens, 9, 128)
    except ValueError:
        return {"covered": "refused"}
    return {"covered": str(int(ends[-1]))}


def _topk(tensor: Any, k: int, *_: Any, **__: Any) -> tuple[Any, Any]:
    """A CPU has no kernel of TopkExt's."""
    order = np.argsort(-tensor.asnumpy(), axis=-1, kind="stable")[..., :k]
    return ms.Tensor(np.take_along_axis(tensor.asnumpy(), order, axis=-1)), ms.Tensor(order)


def _router(**settings: Any) -> Any:
    from mindformers.parallel_core.training_graph.transformer.moe.router import TopKRouter

    common: dict[str, Any] = {
        "hidden_size": 8,
        "num_moe_experts": EXPERTS,
        "moe_router_topk": 2,
        "moe_router_dtype": ms.float32,
        "moe_router_force_expert_balance": False,
        "moe_router_score_function": "sigmoid",
        "moe_router_enable_expert_bias": True,
        "moe_router_load_balancing_type": "sub_seq_aux_loss",
        "moe_router_num_groups": None,
        "moe_router_group_topk": None,
        "moe_router_topk_scaling_factor": 1.0,
        "moe_aux_loss_coeff": 0.0,
        "aux_loss_types": ["expert"],
        "aux_loss_factors": [0.0],
        "norm_topk_prob": True,
        "seq_length": 4,
        "seq_split_num": 1,
        "batch_size": 1,
        "data_parallel_size": 1,
        "tensor_model_parallel_size": 1,
        "context_parallel_size": 1,
        "pipeline_model_parallel_size": 1,
        "init_method": lambda shape: ms.Tensor(np.zeros(shape), ms.float32),
    }
    made = TopKRouter(SimpleNamespace(**{**common, **settings}))
    made.topk = made.afb_topk = made.tc_topk = _topk
    made.gate_gather = lambda tensor, *_: tensor
    made._update_expert_load = lambda _: None  # counts alone
    return made


def _chosen(made: Any, bias: list[float]) -> Any:
    """The experts of four tokens."""
    made.expert_bias.set_data(ms.Tensor(bias, ms.float32))
    logits = ms.Tensor(np.random.RandomState(2).randn(1, 4, EXPERTS), ms.float32)
    with mock.patch.object(type(made), "_normalize", lambda _, tensor: tensor):
        return made.routing(logits)[1].asnumpy()[0]


def def507() -> dict[str, Any]:
    """How many tokens the busiest expert gets where all are to get the same, and a bias favours two."""
    chosen = _chosen(_router(moe_router_force_expert_balance=True), [9.0, 9.0, *[0.0] * (EXPERTS - 2)])
    return {"busiest": int(np.bincount(chosen.ravel()).max())}


def def508() -> dict[str, Any]:
    """The share of the tokens whose experts are of their best group, where one may be used and the biases are low."""
    made = _router(moe_router_num_groups=GROUPS, moe_router_group_topk=1)
    scores = 1.0 / (1.0 + np.exp(-np.random.RandomState(2).randn(1, 4, EXPERTS)[0]))
    best = scores.reshape(4, GROUPS, -1).sum(-1).argmax(-1)
    chosen = _chosen(made, [-2.0] * EXPERTS)
    return {
        "best": float(np.mean([set((row // 2).tolist()) == {group} for row, group in zip(chosen, best, strict=True)]))
    }


def def509() -> dict[str, Any]:
    """From how many groups a token's experts come where one may be used."""
    made = _router(moe_router_num_groups=GROUPS, moe_router_group_topk=1)
    return {"groups": max(len(set((row // 2).tolist())) for row in _chosen(made, [0.0] * EXPERTS))}


def def510() -> dict[str, Any]:
    """How many different masks two layers draw in two steps, by what decides them: seed and offset."""
    from mindformers.parallel_core.training_graph.transformer.dropout import Dropout

    seen: set[tuple[int, int]] = set()

    def dropout(**given: Any) -> tuple[Any, None]:
        seen.add((int(given["seed"]), int(given["offset"])))
        return given["input"], None

    for _layer in range(2):
        made = Dropout(0.5)
        made.set_train(True)
        made.dropout = dropout
        for _step in range(2):
            made(ms.Tensor([1.0]))
    return {"masks": len(seen)}


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A package that no registry has; what is imported from it takes part in no experiment."""

    def find_spec(self, fullname: str, *_: Any) -> Any:
        own = fullname.partition(".")[0] == "hyper_parallel"
        return importlib.util.spec_from_loader(fullname, self, is_package=True) if own else None

    def create_module(self, spec: Any) -> Any:
        return mock.MagicMock(__spec__=spec, __path__=[], __name__=spec.name)

    def exec_module(self, module: Any) -> None:
        """Nothing to run."""


class _Mask:
    """A mask of ones that is written in place, for which a CPU has no kernel."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._values = np.ones(shape, bool)

    def scatter_(self, axis: int, index: Any, value: bool) -> None:
        np.put_along_axis(self._values, index.asnumpy(), value, axis)

    def unsqueeze(self, axis: int) -> Any:
        return ms.Tensor(np.expand_dims(self._values, axis))


def def511() -> dict[str, Any]:
    """The share of the experts that limiting tokens to one of four groups takes out, in the dynamic graph."""
    sys.meta_path.append(_Absent())
    from mindformers.pynative.transformers.moe.router import TopKRouter
    from mindspore import mint

    made = TopKRouter.__new__(TopKRouter)
    ms.nn.Cell.__init__(made)
    made.num_experts, made.num_expert_groups, made.num_limited_groups = EXPERTS, GROUPS, 1
    made.reshape, made.sum, made.topk = mint.reshape, mint.sum, _topk
    made.ones_like = lambda tensor, **_: _Mask(tensor.shape)
    scores = made._get_node_limited_routing_scores(ms.Tensor(np.random.RandomState(2).rand(3, EXPERTS), ms.float32))
    return {"out": float(np.isinf(scores.asnumpy()).mean())}


def _residual(name: str) -> str:
    """The type of a residual in half precision within a layer (`norm_input`), or after it (`output`)."""
    from mindformers.parallel_core.training_graph.transformer.transformer_layer import TransformerLayer

    types: list[str] = []

    def added(one: Any, other: Any) -> Any:
        types.append(str((one + other).dtype))
        return one + other

    def same(states: Any, *_: Any, **__: Any) -> Any:
        return states

    layer = SimpleNamespace(
        input_layernorm=same,
        pre_cross_attn_layernorm=same,
        pre_mlp_layernorm=same,
        cross_attention=lambda states, **_: states,
        self_attention=lambda states, **_: states.astype(ms.float16),
        mlp=lambda states, **_: (states.astype(ms.float16), None, 0.0),
        hidden_states_dropout=same,
        add=added,
        cast=lambda tensor, dtype: tensor.astype(dtype),
        apply_residual_connection_post_norm=False,
        fp32_residual_connection=True,
        compute_dtype=ms.float16,
        has_self_attention=True,
        has_cross_attention=False,
        use_mla=False,
    )
    out = TransformerLayer.construct(layer, ms.Tensor(np.ones((2, 1, 4)), ms.float16))[0]
    return types[0] if name == "norm_input" else str(out.dtype)


def def520() -> dict[str, Any]:
    """The type of the first residual addition where it is to be float32."""
    return {"dtype": _residual("norm_input")}


def def521() -> dict[str, Any]:
    """The type in which a layer hands its residual on where it is to be float32."""
    return {"dtype": _residual("output")}


def def525() -> dict[str, Any]:
    """How many of the six values of the per-token loss come through the accumulation of two micro batches."""
    from mindformers.wrapper.wrapper import GradAccumulationCellWithMultiOutputs

    six = tuple(ms.Tensor(float(number)) for number in range(6))
    cell = SimpleNamespace(
        micro_size=2,
        micro_inputs=[lambda *_: ()] * 2,
        network=lambda: six,
        add_list=[lambda one, other: one + other] * 2,
        is_reset_accu_gbs_fi=False,
    )
    out = GradAccumulationCellWithMultiOutputs.construct(cell)
    return {"values": len(out) if isinstance(out, tuple) else 1}


def def556() -> dict[str, Any]:
    """The share of the data that some of eight devices read, two of which are data parallel, in the dynamic graph."""
    sys.meta_path.append(_Absent())
    from mindformers.pynative.trainer import utils

    devices, groups = 8, 2
    taken: set[tuple[Any, Any]] = set()

    class Loader:
        """Keeps which share of the data a device asks for."""

        def __init__(self, num_shards: int, shard_id: int, **_: Any) -> None:
            taken.add((num_shards, shard_id))

        def batch(self, **_: Any) -> None:
            """The batches take part in nothing."""

    named = {"type": "BlendedMegatronDatasetDataLoader", "config": {"create_compressed_eod_mask": False}}
    config = mock.MagicMock(dataloader=mock.MagicMock(to_dict=lambda: dict(named)))
    layout = SimpleNamespace(data_parallel=groups, tensor_parallel=devices // groups, context_parallel=1)
    layout.pipeline_parallel = 1
    wanted = inspect.signature(utils._build_dataset).parameters
    given = [config, devices, layout if "parallelism" in wanted else groups]
    for rank in range(devices):
        with (
            mock.patch.object(utils, "get_world_size", return_value=devices),
            mock.patch.object(utils, "get_rank", return_value=rank),
            mock.patch.object(utils, "BlendedMegatronDatasetDataLoader", Loader),
            mock.patch.object(utils, "ms_dataset"),
        ):
            utils._build_dataset(*given)
    return {"read": sum(1 / shares for shares, _share in taken)}


def def558() -> dict[str, Any]:
    """The type that attention's output projection casts to, built as attention builds it, in a float32 model."""
    from mindformers.parallel_core.training_graph.tensor_parallel.layers import RowParallelLinear
    from mindformers.parallel_core.transformer_config import TransformerConfig

    config = TransformerConfig(
        num_layers=1, num_attention_heads=1, hidden_size=8, compute_dtype="float32", params_dtype="float32"
    )
    made = RowParallelLinear(8, 8, config=config, init_method=config.init_method, bias=False, skip_bias_add=True)
    return {"dtype": str(made.compute_dtype)}


def answered(code: str) -> dict[str, Any]:
    """The figures of one experiment, or what it ended in."""
    try:
        return globals()[code.lower()]()
    except Exception:  # noqa: BLE001 - whatever it is, it is this experiment's own
        return {"failed": traceback.format_exc()}


if __name__ == "__main__":
    print(json.dumps({code: answered(code) for code in sys.argv[2:]}))
