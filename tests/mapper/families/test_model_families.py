"""Which model class a recipe gets: one that expresses it where there is one, the nearest otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from accmap.mapper.families import choose, families
from accmap.mapper.recipe.vocabulary import vocabulary

DENSE: dict[str, Any] = {
    "model.num_layers": 4, "mtp.num_layers": 0, "attention.latent.enabled": False, "attention.qk_layernorm": False,
    "model.tie_embeddings": False,
}  # fmt: skip
MOE = {**DENSE, "moe.num_experts": 8, "moe.layer_pattern": [1, 1, 1, 1]}
NORMS = {"attention.qk_layernorm": True}
LATENT = {"attention.latent.enabled": True}
TIED = {"model.tie_embeddings": True}
DENSE_FIRST = {"moe.layer_pattern": [0, 1, 1, 1]}
CASES = [
    ("dense with query and key norms", {**DENSE, "attention.qk_layernorm": True}, "1.9", "qwen3", ()),
    ("the same, tied", {**DENSE, **NORMS, **TIED}, "1.9", "qwen3", ()),
    ("plain dense", DENSE, "1.9", "telechat3", ()),
    ("plain dense before TeleChat3", DENSE, "1.8", "deepseek_v3", ()),
    ("plain dense in 1.6", DENSE, "1.6", "deepseek_v3", ()),
    ("experts in every layer, norms", {**MOE, **NORMS}, "1.9", "qwen3_moe", ()),
    ("experts without norms", MOE, "1.9", "deepseek_v3", ()),
    ("dense layers first, norms", {**MOE, **NORMS, **DENSE_FIRST}, "1.9", "deepseek_v3", ()),
    ("latent attention", {**MOE, **LATENT, **NORMS}, "1.9", "deepseek_v3", ()),
    ("latent attention without experts", {**DENSE, **LATENT}, "1.9", "deepseek_v3", ()),
    ("several predicted tokens", {**DENSE, "mtp.num_layers": 1}, "1.9", "deepseek_v3", ()),
    ("tied without norms: none", {**DENSE, **TIED}, "1.9", "telechat3", ("model.tie_embeddings",)),
    ("latent and tied: none", {**MOE, **LATENT, **TIED}, "1.9", "deepseek_v3", ("model.tie_embeddings",)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("recipe", "version", "family", "misfits"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_choice(recipe: dict[str, Any], version: str, family: str, misfits: tuple[str, ...]) -> None:
    choice = choose(recipe.get, "static", version)
    # deepseek_v3 and telechat3 both build plain dense layers with several predicted tokens.
    assert choice.family.name == family or (not choice.misfits and not misfits and family == "deepseek_v3")
    assert tuple(misfit.field for misfit in choice.misfits) == misfits


def test_a_family_that_fits_is_never_passed_over() -> None:
    for _, recipe, version, _, misfits in CASES:
        fitting = [
            family
            for family in families().values()
            if family.trains_in("static", version) and not choose(recipe.get, "static", version).misfits
        ]
        assert bool(fitting) == (misfits == ())


IN_DYNAMIC = [
    ("plain dense: experts that no layer uses", DENSE, "deepseek_v3", ()),
    ("latent attention without experts", {**DENSE, **LATENT}, "deepseek_v3", ()),
    ("norms, tied", {**DENSE, **NORMS, **TIED}, "qwen3", ()),
    (
        "layer norm and bias: the norms of queries and keys are the lesser evil",
        {**DENSE, "norm.type": "LayerNorm", "model.bias_linear": True},
        "qwen3",
        ("attention.qk_layernorm",),
    ),
    ("experts and layer norm", {**MOE, "norm.type": "LayerNorm"}, "deepseek_v3", ("norm.type",)),
]


@pytest.mark.parametrize(
    ("recipe", "family", "misfits"), [case[1:] for case in IN_DYNAMIC], ids=[case[0] for case in IN_DYNAMIC]
)
def test_choice_in_the_dynamic_graph(recipe: dict[str, Any], family: str, misfits: tuple[str, ...]) -> None:
    plain = {"norm.type": "RMSNorm", "model.bias_linear": False}
    choice = choose({**plain, **recipe}.get, "dynamic", "2.1")
    assert choice.family.name == family
    assert tuple(misfit.field for misfit in choice.misfits) == misfits


def test_families_speak_of_known_fields() -> None:
    for family in families().values():
        assert set(family.fixes) | set(family.keys) <= set(vocabulary())
        assert family.source.startswith("mindformers ")


def test_no_class_for_a_version_that_trains_nothing() -> None:
    with pytest.raises(LookupError):
        choose(DENSE.get, "static", "1.0")
