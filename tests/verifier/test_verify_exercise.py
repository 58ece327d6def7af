"""What differs between two files, and what a run leaves out, is what the recipe says; no framework is needed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.mapper.modules import fields_of
from accmap.mapper.schedule.from_config import schedule_of
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config
from accmap.verifier.megatron import from_launch
from accmap.verifier.mindformers import from_yaml
from accmap.verifier.plan import schedules
from accmap.verifier.plan.schedules import Scales, rates_of, scales_of
from accmap.verifier.verdict import coverage
from accmap.verifier.verdict.comparison import Values
from accmap.verifier.worker import patches

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import TABLE, write_pair

if TYPE_CHECKING:
    from accmap.schemas.config import Config
    from accmap.verifier.verdict.comparison import NotCompared

_ONE_SAMPLE = "moe.router.balancing"
"""Over one sequence both kinds of balancing loss are one sum: what the files say differs, and the models do not."""


def configs(pair: dict[str, Any], folder: Path) -> tuple[Config, Config]:
    script, written = write_pair(pair, folder)
    return read_config(str(script)), read_config(str(written))


@pytest.mark.table(4)
@pytest.mark.parametrize("name", TABLE["faults"])
def test_the_planted_field_is_among_those_that_differ(name: str, tmp_path: Path) -> None:
    pair = TABLE["faults"][name]
    a, b = configs(pair, tmp_path)
    behind = fields_of(pair["expect"]["module"]) if "module" in pair["expect"] else ()
    found = coverage.differing_settings(a, b, behind) or coverage.differing_settings(a, b)
    assert pair["expect"]["field"] in [entry.field for entry in found]
    assert all(entry.a != entry.b for entry in found)


@pytest.mark.parametrize("name", TABLE["equal"])
def test_nothing_differs_between_equal_files(name: str, tmp_path: Path) -> None:
    found = coverage.differing_settings(*configs(TABLE["equal"][name], tmp_path))
    assert [entry for entry in found if entry.field != _ONE_SAMPLE] == []


def test_yarn_that_extends_counts_and_by_a_factor_of_one_does_not(tmp_path: Path) -> None:
    pair: dict[str, Any] = {"family": "latent", "megatron": {"rotary-scaling-factor": 1.0}}
    assert coverage.differing_settings(*configs(pair, tmp_path)) == []
    pair["megatron"]["rotary-scaling-factor"] = 40.0
    found = {entry.field: (entry.a, entry.b) for entry in coverage.differing_settings(*configs(pair, tmp_path))}
    assert found["position.type"] == ("yarn", "rope")


def test_what_megatron_core_is_told_of_its_optimizer_and_its_heads(tmp_path: Path) -> None:
    more = {"decoupled-lr": 0.0005, "decoupled-min-lr": 0.0001, "qk-layernorm": True, "apply-wd-to-qk-layernorm": True}
    script, _written = write_pair({"family": "dense", "megatron": more}, tmp_path)
    config = read_config(str(script), ReadOptions(megatron="0.19"))
    told = from_launch.blueprint_of(config).optimizer
    assert (told.ends_learning_rate, told.ends_least_rate, told.decays_head_norms) == (0.0005, 0.0001, True)
    script, _written = write_pair({"family": "dense", "megatron": {"qk-l2-norm": True}}, tmp_path)
    config = read_config(str(script), ReadOptions(megatron="0.19"))
    assert from_launch.build_obstacle(config) is None
    plain = from_launch.blueprint_of(config)
    assert plain.model["qk_l2_norm"] is True
    assert (plain.optimizer.ends_least_rate, plain.optimizer.decays_head_norms) == (None, False)


def test_what_is_left_out_is_listed_where_it_means_something_with_values_that_differ(tmp_path: Path) -> None:
    def left(pair: dict[str, Any]) -> dict[str, NotCompared]:
        listed = coverage.fields_not_compared(*configs({"family": "dense", **pair}, tmp_path))
        return {entry.field: entry for entry in listed}

    plain = left({})
    assert "parallel.tensor_size" in plain
    assert plain.keys().isdisjoint(("attention.dropout", "moe.dispatcher", "data.mask_loss_after_eod"))
    changed = left({"megatron": {"attention-dropout": 0.1, "eod-mask-loss": True, "tensor-model-parallel-size": 2}})
    assert changed["attention.dropout"].values == Values(0.1, 0.0)
    assert "data.mask_loss_after_eod" not in changed
    compressed = {"train_dataset": {"data_loader": {"type": "BlendedMegatronDatasetDataLoader", "config": COMPRESSED}}}
    assert "data.mask_loss_after_eod" in left({"megatron": {"eod-mask-loss": True}, "mindformers": compressed})
    assert changed["parallel.tensor_size"].values == Values(2, 1)
    assert "moe.dispatcher" in left({"family": "deepseek"})
    assert plain["run.seed"].reason_in("zh") != plain["run.seed"].reason_in("en")


def test_a_setting_of_the_steps_is_no_lead_for_models_that_part_before_them(tmp_path: Path) -> None:
    both = {"megatron": {"lr-warmup-iters": 20}, "model": {"rms_norm_eps": 1.0e-5}}
    a, b = configs({"family": "dense", **both}, tmp_path)
    assert {entry.field for entry in coverage.suspects(a, b, "update")} >= {"schedule.warmup_steps", "norm.epsilon"}
    for direction in ("structure", "forward", "backward"):
        assert [entry.field for entry in coverage.suspects(a, b, direction)] == ["norm.epsilon"]


def test_what_the_frameworks_make_of_equal_settings_is_a_lead_where_the_models_show_it(tmp_path: Path) -> None:
    """Megatron-LM 0.16 divides the balancing loss of sigmoid scores otherwise: SCH080 says so."""
    script, config = write_pair({"family": "moe_sigmoid"}, tmp_path)
    a, b = read_config(str(script), ReadOptions(megatron="0.16")), read_config(str(config))
    assert coverage.suspects(a, b, "forward") == []
    assert [entry.field for entry in coverage.suspects(a, b, "forward", ("loss", "parts"))] == ["computed.loss_terms"]


COMPRESSED = {"eod": 511, "eod_mask_loss": False, "create_compressed_eod_mask": True, "eod_pad_length": 8}


@pytest.mark.parametrize("field", [*schedules.DOCUMENTS, schedules.END_TOKEN])
def test_documents_are_exercised_where_they_were_run(field: str) -> None:
    assert coverage.is_exercised(field, "all", ("rates",), coverage.Reach(separated=True))
    assert not coverage.is_exercised(field, "all", ("rates",))


def test_ends_of_documents_stay_equal_different_or_the_padding_token(tmp_path: Path) -> None:
    def plans(pair: str, **script: Any) -> tuple[Any, Any]:
        changed = TABLE["equal"][pair]
        a, b = configs({**changed, "megatron": {**changed["megatron"], **script}}, tmp_path)
        assert schedules.separates_documents(a, b)
        return schedules.document_plans(a, b, 96, None)

    one, other = plans("documents_unseen")
    assert one == other
    assert other[1:] == (False, True, False)
    uncounted = plans("documents_uncounted")
    assert [plan.loss for plan in uncounted] == [True, True]
    opened = plans(
        "documents_uncounted", **{"tokenizer-type": "GPT2BPETokenizer", "vocab-file": "v", "merge-file": "m"}
    )
    assert opened[0].end == opened[1].end
    odd = TABLE["equal"]["documents_uncounted"]["mindformers"]["train_dataset"]
    odd = {**odd, "data_loader": {**odd["data_loader"], "config": {**odd["data_loader"]["config"], "eod": [1]}}}
    changed = {**TABLE["equal"]["documents_uncounted"], "mindformers": {"train_dataset": odd}}
    assert len({plan.end for plan in schedules.document_plans(*configs(changed, tmp_path), 96, None)}) == 1
    twice = plans("documents_uncounted", **{"vocab-size": 500})
    assert twice[0].end != twice[1].end
    a, b = configs(TABLE["equal"]["documents_uncounted"], tmp_path)
    assert schedules.document_plans(a, b, 96, 95)[1].end == 94


@pytest.mark.parametrize("field", ["attention.dropout", "position.nope_interval", "run.name"])
def test_what_is_left_out_is_not_exercised(field: str) -> None:
    assert not coverage.is_exercised(field, "all", ("rates",))


def test_the_curve_is_exercised_where_the_schedulers_were_asked_and_the_peak_always() -> None:
    for field in ("schedule.style", "schedule.warmup_steps", "schedule.min_learning_rate"):
        assert coverage.is_exercised(field, "all", ("rates",))
        assert not coverage.is_exercised(field, "all")
        assert not coverage.is_exercised(field, "step1", ("rates",))
    assert coverage.is_exercised("schedule.learning_rate", "all")


def test_a_curve_that_the_files_leave_open_is_listed_as_not_compared(tmp_path: Path) -> None:
    def left(pair: dict[str, Any]) -> tuple[bool, set[str]]:
        a, b = configs({"family": "dense", **pair}, tmp_path)
        asked = rates_of(a, b) is not None
        return asked, {entry.field for entry in coverage.fields_not_compared(a, b, ("rates",) if asked else ())}

    assert left({})[0] is True
    assert "schedule.style" not in left({})[1]
    open_ended = left({"megatron": {"train-iters": "$STEPS"}})
    assert open_ended[0] is False
    assert "schedule.style" in open_ended[1]


def test_what_is_asked_of_the_schedulers_counts_as_each_side_counts(tmp_path: Path) -> None:
    asked = rates_of(*configs({"family": "dense"}, tmp_path))
    assert asked is not None
    ours, theirs = asked.plans
    assert ours.at == tuple(4 * step for step in asked.steps)
    assert (ours.arguments["lr_warmup_steps"], ours.arguments["lr_decay_steps"]) == (40, 400)
    assert theirs.at == asked.steps
    fused = rates_of(*configs({"family": "dense", "mindformers": {"optimizer": {"use_fused": True}}}, tmp_path))
    assert fused is not None
    assert fused.plans[1].at == tuple(step - 1 for step in fused.steps)


def test_what_a_module_depends_on_is_exercised_and_the_optimizer_by_its_steps() -> None:
    assert coverage.is_exercised("norm.epsilon", "step1", ("rates",))
    assert not coverage.is_exercised("optimizer.beta2", "step1", ("rates",))
    assert coverage.is_exercised("optimizer.beta2", "step2")


def test_a_layer_specification_that_is_not_known_is_said_by_name(tmp_path: Path) -> None:
    config, _ = configs({"family": "dense", "megatron": {"spec": "mine.layers narrow_spec"}}, tmp_path)
    assert "mine.layers narrow_spec" in (from_launch.build_obstacle(config) or "")


def test_a_table_of_learned_positions_of_unknown_length_is_said(tmp_path: Path) -> None:
    changes = {"max-position-embeddings": "$LENGTH", "position-embedding-type": "learned_absolute"}
    config, _ = configs({"family": "dense", "megatron": changes}, tmp_path)
    assert "max_position_embeddings" in (from_launch.build_obstacle(config) or "")
    changes["position-embedding-type"] = "rope"
    assert from_launch.build_obstacle(configs({"family": "dense", "megatron": changes}, tmp_path)[0]) is None


def test_a_parting_behind_many_turns_is_asked_for(tmp_path: Path) -> None:
    flags = {"global-batch-size": 80, "train-iters": None, "train-samples": 80000, "lr-warmup-iters": None}
    flags |= {"lr-decay-style": "WSD", "lr-wsd-decay-samples": 4000}
    sides: list[Config] = []
    for style in ("linear", "cosine"):
        script, _ = write_pair({"family": "dense", "megatron": {**flags, "lr-wsd-decay-style": style}}, tmp_path)
        script.write_text(f"{script.read_text('utf-8').rstrip()} --rampup-batch-size 4 4 8000\n", "utf-8")
        sides.append(read_config(str(script)))
    asked = rates_of(*sides)
    assert asked is not None
    curves = [schedule_of(side).learning_rate for side in sides]
    assert len(curves[0].pieces) > 15
    assert max(abs(curves[0].value(step) - curves[1].value(step)) for step in asked.steps) > 0.05 * asked.peak


def test_groups_of_experts_of_unknown_number_are_said(tmp_path: Path) -> None:
    limited = {"family": "deepseek", "megatron": {"moe-router-num-groups": None, "moe-router-group-topk": 2}}
    config, _ = configs(limited, tmp_path)
    assert "expert groups" in (from_launch.build_obstacle(config) or "")
    assert from_launch.build_obstacle(configs({"family": "deepseek"}, tmp_path)[0]) is None


SCALED = {
    "family": "dense",
    "megatron": {"bf16": None, "fp16": True, "hysteresis": 2},
    "model": {"compute_dtype": "float16"},
}
MOVING = {"type": "DynamicLossScaleUpdateCell", "loss_scale_value": 65536, "scale_factor": 2, "scale_window": 500}


def asked_scales(folder: Path, scale: Any, **changes: Any) -> Scales | None:
    pair = {"family": "dense", "mindformers": {"runner_wrapper": {"scale_sense": scale}}, **changes}
    a, b = configs(pair, folder)
    return scales_of(
        from_launch.blueprint_of(a),
        from_yaml.blueprint_of(b),
    )


def test_scalers_are_asked_where_a_scale_moves_or_meets_float16(tmp_path: Path) -> None:
    """A constant one changes no number of bfloat16, and of a class that nobody knows nothing is said."""
    assert asked_scales(tmp_path, 1.0) is None
    assert asked_scales(tmp_path, 65536) is None
    assert asked_scales(tmp_path, {**MOVING, "type": "MineUpdateCell"}, **SCALED) is None
    constant = {**SCALED, "megatron": {**SCALED["megatron"], "loss-scale": 1}}
    assert asked_scales(tmp_path, 1.0, **constant) is None
    assert asked_scales(tmp_path, 128, **constant) is not None
    assert asked_scales(tmp_path, MOVING) is not None


def test_windows_are_short_and_in_the_same_order(tmp_path: Path) -> None:
    asked = asked_scales(tmp_path, MOVING, **SCALED)
    assert asked is not None
    assert asked.windows == (1000, 5)
    assert [plan.settings.get("loss_scale_window", plan.settings.get("scale_window")) for plan in asked.plans] == [5, 3]
    same = asked_scales(tmp_path, {**MOVING, "scale_window": 1000}, **SCALED)
    assert same is not None
    assert same.windows == (1000, 3)
    adaptive = asked_scales(tmp_path, {**MOVING, "type": "AdaptiveLossScaleUpdateCell", "min_scale_window": 500})
    assert adaptive is not None
    given = adaptive.plans[1].settings
    assert (given["min_scale_window"], given["scale_window"], given["max_scale_window"]) == (3, 3, 5)


def test_a_scale_is_exercised_where_the_scalers_were_asked() -> None:
    for field in schedules.LOSS_SCALE:
        assert coverage.is_exercised(field, "all", ("scales",))
        assert not coverage.is_exercised(field, "all", ("rates",))


def test_what_is_dropped_depends_on_place_and_probability_alone() -> None:
    one, other = patches.dropout_factors((40, 50), 0.1), patches.dropout_factors((40, 50), 0.3)
    assert (one == patches.dropout_factors((40, 50), 0.1)).all()
    for share, factors in ((0.1, one), (0.3, other)):
        assert abs((factors == 0).mean() - share) < 0.03
        assert factors.max() == pytest.approx(1 / (1 - share))
    assert ((one != 0) | (other == 0)).all()
    assert (patches.dropout_factors((4,), 0.0) == 1).all()
    assert (patches.dropout_factors((4,), 1.0) == 0).all()
    rows = patches.dropout_factors((64, 64), 0.5) != 0
    assert 0.3 < rows.mean(0).min() <= rows.mean(0).max() < 0.75


def test_a_pass_with_dropout_is_run_where_one_side_drops(tmp_path: Path) -> None:
    assert not schedules.runs_dropout(*configs({"family": "dense"}, tmp_path))
    assert schedules.runs_dropout(*configs({"family": "dense", "model": {"hidden_dropout": 0.1}}, tmp_path))
    listed = {entry.field for entry in coverage.fields_not_compared(*configs(DROPPED, tmp_path), ("dropout",))}
    assert listed.isdisjoint(schedules.DROPOUT)
    unrun = {entry.field for entry in coverage.fields_not_compared(*configs(DROPPED, tmp_path))}
    assert "attention.dropout" in unrun
    assert coverage.is_exercised("attention.dropout", "step1", ("dropout",))


DROPPED = {"family": "dense", "megatron": {"attention-dropout": 0.1}}
