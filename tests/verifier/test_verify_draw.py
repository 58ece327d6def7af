"""What both models are given is drawn from names and seeds alone."""

from __future__ import annotations

import pytest

from accmap.verifier.worker.blueprint import InputPlan

np = pytest.importorskip("numpy")
inputs = pytest.importorskip("accmap.verifier.worker.inputs")


def test_a_weight_depends_on_its_name_and_seed_alone() -> None:
    once = inputs.draw_weight("decoder.layers.0.mlp.linear_fc1.weight", (4, 3), 1)
    assert (once == inputs.draw_weight("decoder.layers.0.mlp.linear_fc1.weight", (4, 3), 1)).all()
    assert (once != inputs.draw_weight("decoder.layers.1.mlp.linear_fc1.weight", (4, 3), 1)).any()
    assert (once != inputs.draw_weight("decoder.layers.0.mlp.linear_fc1.weight", (4, 3), 2)).any()


def test_nothing_keeps_its_neutral_value() -> None:
    assert abs(inputs.draw_weight("a.input_layernorm.weight", (64,), 0) - 1).min() > 0
    assert abs(inputs.draw_weight("a.linear_fc1.bias", (64,), 0)).min() > 0
    assert inputs.draw_weight("a.router.expert_bias", (64,), 0).min() >= 0


def test_bfloat16_is_rounded_to_nearest_even() -> None:
    given = np.array([1.0, 1.00390625, 1.01171875, -1.0e-3, 3.1415927], np.float32)
    assert inputs.to_bfloat16(given).tolist() == [1.0, 1.0, 1.015625, -0.00099945068359375, 3.140625]
    rounded = inputs.draw_weight("x.weight", (8, 8), 0, rounded=True)
    assert (rounded.view(np.uint32) & 0xFFFF == 0).all()


def test_tokens_avoid_and_include_what_is_masked() -> None:
    plain = inputs.draw_tokens(InputPlan(3, 2, 16, 40, avoid=(7,)))
    assert not (plain.tokens == 7).any()
    assert (plain.tokens[:, 1:] == plain.labels[:, :-1]).all()
    padded = inputs.draw_tokens(InputPlan(3, 2, 16, 40, include=(7, 8)))
    assert (padded.tokens == 7).any()
    assert (padded.labels == 8).any()


def test_probe_gradients_span_many_sizes() -> None:
    sizes = abs(inputs.draw_gradient("x.weight", (64, 64), 0, 0))
    assert sizes.min() < 1e-6
    assert sizes.max() > 0.1
