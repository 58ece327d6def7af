"""The fields that both frameworks' TransformerConfig have: a sound table, and rows that name what differs and why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from accmap.mapper.align.pair import pair_of
from accmap.mapper.conditions import COMPARISONS
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.mapper.translate.shared_fields import TAKES
from accmap.mapper.translate.translation import translate
from accmap.mappings import compile_tables
from accmap.mappings.model import SharedField, TransformerConfigFile
from accmap.mappings.tables import table
from accmap.mappings.transformer_config import shared_fields
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.megatron.catalog import VERSIONS, catalog
from accmap.schemas.mindformers.versions import static_catalog
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from accmap.mapper.translate.result import ReportRow
    from accmap.schemas.config import Config

TABLE = compile_tables.HERE / "transformer_config.yaml"
BASE = (
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 8 "
    "--seq-length 128 --max-position-embeddings 128 --micro-batch-size 2 --train-iters 100 --lr 1e-4 --vocab-size 1024 "
    "--untie-embeddings-and-output-weights --disable-bias-linear "
)
EXPERTS = "--num-experts 8 --moe-router-topk 2 --bf16 "
CASES: list[tuple[str, str, str, dict[str, tuple[Any, Any, str | None]]]] = [
    # arguments, dialect, version, and by field: both values and the recipe field of the row, None for a row of its own
    ("", "static", "1.9", {"mtp_num_layers": (None, 0, None), "moe_router_dtype": (None, "float32", None)}),
    ("--bf16", "static", "1.9", {"params_dtype": ("bfloat16", "float32", None)}),
    (EXPERTS, "static", "1.9", {"moe_router_load_balancing_type": ("aux_loss", "seq_aux_loss", None)}),
    (
        EXPERTS + "--moe-router-load-balancing-type sinkhorn",
        "static",
        "1.9",
        {"moe_router_load_balancing_type": ("sinkhorn", "sub_seq_aux_loss", "moe.router.balancing")},
    ),
    (EXPERTS, "static", "1.9", {"moe_router_dtype": (None, "bfloat16", None)}),
    ("--tensor-model-parallel-size 2", "dynamic", "2.1", {"tensor_model_parallel_size": (2, 1, None)}),
    ("--qk-layernorm", "dynamic", "2.1", {"num_moe_experts": None, "qk_layernorm": None}),  # type: ignore[dict-item]
    ("--squared-relu", "static", "1.9", {"activation_func": ("squared_relu", "gelu", "activation.function")}),
    ("--swiglu --fp16", "static", "1.6", {"fp16": (True, False, None), "bias_activation_fusion": (True, False, None)}),
]


def config(arguments: str, version: str = "0.12") -> Config:
    return config_of(SourceText("run.sh", BASE + arguments), ReadOptions(megatron=version), path="run.sh")


def told(rows: tuple[ReportRow, ...]) -> dict[str, tuple[Any, Any, str | None]]:
    return {one.name: (one.megatron, one.mindformers, row.field) for row in rows for one in row.resolved}


def test_the_table_names_what_there_is() -> None:
    fields = vocabulary()
    known = {name for version in VERSIONS for name in catalog(version).by_dest}
    known |= {"params_dtype", "virtual_pipeline_model_parallel_size"}  # set by validate_args
    known |= set(table().mindformers_reasons)  # keys that have a reason and no row
    classes = [static_catalog(version) for version in ("1.6", "1.7", "1.8", "1.9", "2.1")]
    held = {name for one in classes for kind in ("transformer", "mla_transformer") for name in one[kind]}
    names = [field.name for field in shared_fields()]
    assert len(names) == len(set(names))
    for field in shared_fields():
        assert field.name in held, field.name
        assert set(field.about) <= set(fields) | known, field.name
        if field.take not in ("otherwise", "constant"):
            assert all(set(name.split("|")) & known for name in field.arguments), field.name
        for reason in field.harmless:
            assert reason.en.endswith("."), field.name
            assert reason.zh.endswith("。"), field.name
            assert all(one in fields and word in COMPARISONS for one, word, _ in reason.when), field.name


def test_every_way_of_taking_a_value_is_known() -> None:
    assert set(get_args(SharedField.model_fields["take"].annotation)) == set(TAKES)


def test_every_reason_names_its_source() -> None:
    content = TransformerConfigFile.model_validate(load_table(TABLE.read_text(encoding="utf-8")))
    used = {reason for field in content.fields for reason in field.harmless if isinstance(reason, str)}
    assert used <= set(content.reasons)


@pytest.mark.parametrize(("arguments", "dialect", "version", "expected"), CASES)
def test_a_difference_is_told(arguments: str, dialect: str, version: str, expected: dict[str, Any]) -> None:
    found = told(translate(config(arguments), "mindformers", version, dialect).rows)
    for name, wanted in expected.items():
        assert found.get(name) == wanted, name


def test_a_difference_without_effect_weighs_nothing() -> None:
    rows = translate(config("--bf16"), "mindformers", "1.9").rows
    own = [row for row in rows if row.field is None and row.resolved]
    assert own
    for row in own:
        assert (row.status, row.impact, row.reversible) == ("conditional", "none", True)
        assert row.resolved[0].name in row.en
        assert row.resolved[0].name in row.zh
    answer = next(row.to_json() for row in own if row.resolved[0].name == "mtp_num_layers")
    assert answer["transformer_config"] == [{"field": "mtp_num_layers", "megatron": None, "mindformers": 0}]
    assert "transformer_config" not in next(row for row in rows if not row.resolved).to_json()


def test_coefficients_of_nothing_weigh_nothing() -> None:
    kinds = "--moe-router-load-balancing-type aux_loss seq_aux_loss --moe-aux-loss-coeff 0 0"
    rows = translate(config(EXPERTS + kinds, "0.16"), "mindformers", "1.9").rows
    (row,) = (row for row in rows if any(one.name == "moe_aux_loss_coeff" for one in row.resolved))
    assert row.impact == "none"


def test_a_difference_that_no_row_explains_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tuple(field._replace(harmless=(), about=()) for field in shared_fields())
    monkeypatch.setattr("accmap.mapper.translate.shared_fields.shared_fields", lambda: bare)
    rows = translate(config(""), "mindformers", "1.9").rows
    row = next(row for row in rows if any(one.name == "mtp_num_layers" for one in row.resolved))
    assert row.impact == "numerics"


def test_a_value_that_is_undecided_is_not_compared() -> None:
    found = told(translate(config("--mtp-num-layers $LAYERS"), "mindformers", "1.9").rows)
    assert "mtp_num_layers" not in found


def test_what_a_template_leaves_out_is_not_compared() -> None:
    text = "torchrun pretrain_gpt.py --multi-latent-attention"
    template = config_of(SourceText("run.sh", text), ReadOptions(), path="run.sh")
    rows = translate(template, "mindformers", "1.9").rows
    assert not [row for row in rows if row.field is None and row.resolved and row.impact == "numerics"]


def test_a_forks_argument_is_not_compared() -> None:
    arguments = "--multi-latent-attention --qk-layernorm --beta-fast 16"
    assert "beta_fast" not in told(translate(config(arguments), "mindformers", "1.9").rows)


def test_a_pair_tells_of_the_aligned_run() -> None:
    rows = pair_of(config("--tensor-model-parallel-size 2 --bf16"), step=0, dialect="dynamic", mindformers="2.1").rows
    found = told(rows)
    assert "tensor_model_parallel_size" not in found  # one device
    assert found["params_dtype"] == ("bfloat16", "float32", None)


MINDFORMERS = (
    "use_legacy: False\nmodel: {{model_config: {{num_hidden_layers: 2, hidden_size: 64, num_attention_heads: 4, "
    "vocab_size: 128, {more}}}}}\n"
)
BACK: list[tuple[str, str, dict[str, tuple[Any, Any, str | None]]]] = [
    # a model_config, the version, and by field: both values and the recipe field of the row, None for a row of its own
    ("model_type: qwen3", "1.9", {"qk_layernorm": (True, False, None), "activation_func": ("silu", "gelu", None)}),
    ("model_type: qwen3, fp32_residual_connection: True", "1.7", {"fp32_residual_connection": (False, True, None)}),
    (
        "model_type: qwen3, fp32_residual_connection: True, compute_dtype: bfloat16",
        "1.8",
        {"fp32_residual_connection": (False, True, "precision.residual_in_fp32")},
    ),
]


@pytest.mark.parametrize(("more", "version", "expected"), BACK)
def test_the_other_direction_is_told_too(more: str, version: str, expected: dict[str, Any]) -> None:
    text = MINDFORMERS.format(more=more)
    there = config_of(SourceText("run.yaml", text), ReadOptions(mindformers=version), path="run.yaml")
    rows = translate(there, "megatron", "0.12").rows
    found = told(rows)
    for name, wanted in expected.items():
        assert found.get(name) == wanted, name
    own = [row for row in rows if row.field is None and row.resolved]
    assert {row.impact for row in own} == {"none"}
    for row in own:
        assert all(key.startswith(("model", "runner", "parallel", "resolved", "use_")) for key in row.source), (
            row.source
        )


def test_a_row_names_the_key_that_the_source_writes() -> None:
    text = MINDFORMERS.format(more="model_type: qwen3, num_nextn_predict_layers: 0, moe_router_dtype: float32")
    rows = translate(config_of(SourceText("run.yaml", text), ReadOptions(), path="run.yaml"), "megatron").rows
    (row,) = (row for row in rows if any(one.name == "moe_router_dtype" for one in row.resolved))
    assert "model.model_config.moe_router_dtype" in row.source
    assert row.value == "float32"


def test_a_class_without_a_transformer_config_is_not_compared() -> None:
    text = (
        "use_legacy: True\nmodel: {model_config: {type: LlamaConfig, num_layers: 2, hidden_size: 64, num_heads: 4}}\n"
    )
    there = config_of(SourceText("run.yaml", text), ReadOptions(), path="run.yaml")
    assert not told(translate(there, "megatron").rows)


def test_a_lint_does_not_load_the_table() -> None:
    root = Path(__file__).parents[3] / "examples" / "qwen3_dense"
    files = [str(root / name) for name in ("megatron.sh", "mindformers.yaml")]
    command = [sys.executable, "-X", "importtime", "-m", "accmap", "lint", "--no-cache", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "accmap.rules" in done.stderr
    assert "transformer_config" not in done.stderr
    assert "shared_fields" not in done.stderr
