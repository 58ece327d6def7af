"""The laws of the lenses, for every side of every row: putting is stable, and an exact row gives back what was put."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.mapper.lenses import LENSES
from accmap.mapper.lenses.lens import Omitted, Scope
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.mappings.tables import table

CONTEXT: dict[str, Any] = {
    "model.num_layers": 8, "attention.num_heads": 8, "parallel.pipeline_size": 2, "parallel.tensor_size": 2,
    "parallel.data_size": 2, "parallel.context_size": 1, "parallel.world_size": 8, "batch.global_size": 16,
    "run.train_steps": 1000, "precision.compute_dtype": "bfloat16", "model.bias_linear": True,
    "moe.ffn_hidden_size": 64, "moe.router.score_function": "softmax", "moe.router.topk": 2, "moe.num_experts": 8,
    "attention.latent.enabled": False, "moe.router.num_groups": 4, "model.implementation": "mcore",
    "checkpoint.load_path": "/weights", "position.yarn.factor": 40.0, "position.yarn.mscale": 0.707,
    "attention.latent.score_scale": 1.5895962614,
}  # fmt: skip
SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "precision.compute_dtype": st.sampled_from(["float32", "float16", "bfloat16"]),
    "precision.loss_scale.mode": st.sampled_from(["none", "static", "dynamic"]),
    "attention.num_query_groups": st.sampled_from([1, 2, 4, 8]),
    "attention.window_size": st.lists(st.integers(1, 4096), min_size=2, max_size=2),
    "moe.layer_pattern": st.lists(st.sampled_from([0, 1]), min_size=8, max_size=8),
    "moe.router.scaling_factor": st.floats(0.1, 8),
    "moe.router.num_groups": st.sampled_from([None, 2, 4, 8]),
    "moe.router.group_topk": st.sampled_from([None, 2, 4]),
    "moe.router.dtype": st.sampled_from(["float32", "bfloat16"]),
    "moe.router.balancing": st.sampled_from(["aux_loss", "global_aux_loss"]),
    "moe.aux_loss_coefficient": st.floats(0, 1),
    "moe.shared.ffn_hidden_size": st.sampled_from([None, 64, 128, 100]),
    "schedule.style": st.sampled_from(["constant", "linear", "cosine"]),
    "schedule.warmup_steps": st.integers(0, 100),
    "schedule.decay_steps": st.integers(200, 900),
    "schedule.learning_rate": st.floats(1e-4, 1e-2),
    "schedule.min_learning_rate": st.just(1e-5),
    "schedule.warmup_init": st.just(0.0),
    "schedule.stable_decay_steps": st.just(None),
    "schedule.stable_decay_style": st.just(None),
    "schedule.power": st.just(1.0),
    "schedule.cycles": st.just(0.5),
    "schedule.warmup_ratio": st.none(),
    "recompute.granularity": st.sampled_from(["none", "selective", "full"]),
    "recompute.num_layers": st.just(None),
    "parallel.pipeline_layers": st.sampled_from(
        [None, [3, 5], [5, 3], [[1, 3], [2, 2]], [[1, 2], [2, 3]], [[1, 2], [3, 2]]]
    ),
    "parallel.virtual_pipeline_size": st.integers(1, 4),
    "data.blend": st.sampled_from([None, [[None, "/data/a"]], [[1, "/data/a"]], [[0.3, "/data/a"], [0.7, "/data/b"]]]),
    "data.split": st.sampled_from(["1,0,0", "969,30,1"]),
    "activation.function": st.sampled_from(["silu"]),
    "activation.gated": st.just(True),
    "position.type": st.sampled_from(["rope", "learned_absolute", "none"]),
    "optimizer.type": st.just("adamw"),
    "parallel.context_method": st.sampled_from(["p2p", "a2a"]),
    "moe.dispatcher": st.just("alltoall"),
    "environment.execution_mode": st.sampled_from(["graph", "eager"]),
    "parallel.optimizer_shard_size": st.just(None),
    "attention.nope_interval": st.just(2),
    "model.mlp_layout": st.sampled_from(["plain", "interleaved"]),
    "model.mla_layout": st.sampled_from(["separate", "concatenated"]),
}


def _values(field: str) -> st.SearchStrategy[Any]:
    if field in SPECIAL:
        return SPECIAL[field]
    kind = vocabulary()[field].type
    if "|" in kind:
        return st.sampled_from(kind.split("|"))
    return {
        "int": st.integers(1, 4096),
        "number": st.integers(1, 100_000),
        "float": st.floats(0.125, 0.875),
        "bool": st.booleans(),
        "dtype": st.sampled_from(["float32", "bfloat16", "float16"]),
        "str": st.sampled_from(["a", "b/c", "/path/to x"]),
        "list": st.lists(st.integers(0, 9), min_size=1, max_size=4),
        "any": st.integers(1, 64),
    }[kind]


SIDES = [
    pytest.param(row, side, name, id=f"{'+'.join(row.fields[:2])}-{name}-{number}")
    for row in table().rows
    for name, sides in (("megatron", row.megatron), ("static", row.static), ("dynamic", row.dynamic))
    for number, side in enumerate(sides)
    if side.keys and side.fixed is None and side.lens not in ("nothing", "alias_of")
]


@pytest.mark.table(5)
@pytest.mark.parametrize(("row", "side", "name"), SIDES)
def test_laws(row: Any, side: Any, name: str) -> None:
    lens = LENSES[side.lens]

    @settings(max_examples=5)
    @given(st.tuples(*(_values(field) for field in row.fields)))
    def check(values: tuple[Any, ...]) -> None:
        fields = {**CONTEXT, **dict(zip(row.fields, values, strict=True))}
        scope = Scope(name, side.since or "1.9", side.options, fields.get)
        put = lens.put(values, scope)
        assert len(put) in (0, len(side.keys))
        keys = tuple(None if isinstance(value, Omitted) else value for value in put)
        got = lens.get(_with_defaults(side, keys, fields), scope)
        assert len(got) == len(row.fields)
        again = lens.put(got, scope._replace(field={**fields, **dict(zip(row.fields, got, strict=True))}.get))
        for one, other in zip(put, again, strict=True):
            if not isinstance(one, Omitted) and not isinstance(other, Omitted):
                assert one == other
        if row.loss == "exact" and len(row.fields) == 1 and not any(isinstance(value, Omitted) for value in put):
            assert got == values

    check()


def _with_defaults(side: Any, keys: tuple[Any, ...], fields: dict[str, Any]) -> tuple[Any, ...]:
    """What the framework has under keys that are only read."""
    known = {
        "num_attention_heads": "attention.num_heads", "num_layers": "model.num_layers", "fp16": None,
        "pipeline_model_parallel_size": "parallel.pipeline_size", "tensor_model_parallel_size": "parallel.tensor_size",
        "moe_router_score_function": "moe.router.score_function", "global_batch_size": "batch.global_size",
        "train_iters": "run.train_steps", "add_bias_linear": "model.bias_linear", "load": "checkpoint.load_path",
    }  # fmt: skip
    filled = list(keys)
    for place, key in enumerate(side.keys):
        name = known.get(key)
        if filled[place] is None and name:
            filled[place] = fields[name]
        if key in ("fp16", "bf16") and filled[place] is None:
            filled[place] = key == "bf16"
    return tuple(filled)
