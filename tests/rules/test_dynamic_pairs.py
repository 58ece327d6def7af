"""Rules that only the dynamic graph has: on a pair written for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from planting import SETTINGS, findings

from accmap.mapper.align.pair import pair_of
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "deepseek_v3" / "megatron.sh"


def pair(version: str) -> dict[str, str]:
    texts = pair_of(read_config(str(EXAMPLE), ReadOptions()), mindformers=version, dialect="dynamic").texts()
    return {"a.sh" if name.endswith(".sh") else "b.yaml": text for name, text in texts.items()}


def codes(texts: dict[str, str], version: str) -> set[str]:
    settings = SETTINGS._replace(options=ReadOptions(mindformers=version, dialect="dynamic", world_size=1))
    return {entry.kind.code for entry in findings(texts, settings)}


def without(text: str, *names: str) -> str:
    kept = [line for line in text.split("\n") if line.strip().partition(":")[0] not in names]
    return "\n".join(kept)


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_the_dynamic_graph_builds_what_is_written(version: str) -> None:
    assert "MOE025" not in codes(pair(version), version)


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_moe025_grouped_products_are_a_must(version: str) -> None:
    texts = pair(version)
    texts["b.yaml"] = texts["b.yaml"].replace("moe_grouped_gemm: True", "moe_grouped_gemm: False")
    assert "MOE025" in codes(texts, version)


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_moe025_deepseek_needs_experts(version: str) -> None:
    texts = pair(version)
    texts["b.yaml"] = texts["b.yaml"].replace("n_routed_experts: 8", "n_routed_experts: null")
    assert "MOE025" in codes(texts, version)


def with_dropout(texts: dict[str, str], megatron: str, mindformers: str) -> dict[str, str]:
    script, text = texts["a.sh"], texts["b.yaml"]
    assert "--attention-dropout 0.0" in script
    assert "attention_dropout: 0.0" in text
    return {
        "a.sh": script.replace("--attention-dropout 0.0", f"--attention-dropout {megatron}"),
        "b.yaml": text.replace("attention_dropout: 0.0", f"attention_dropout: {mindformers}"),
    }


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_net033_equal_attention_dropout_is_applied_on_one_side_only(version: str) -> None:
    assert "NET033" not in codes(pair(version), version)
    assert "NET033" in codes(with_dropout(pair(version), "0.1", "0.1"), version)


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_net022_an_attention_dropout_that_the_dynamic_graph_ignores_is_none(version: str) -> None:
    settings = SETTINGS._replace(options=ReadOptions(mindformers=version, dialect="dynamic", world_size=1))
    for megatron, severity in (("0.0", "info"), ("0.2", "error")):
        found = findings(with_dropout(pair(version), megatron, "0.1"), settings)
        assert {entry.kind.severity for entry in found if entry.kind.code == "NET022"} == {severity}
