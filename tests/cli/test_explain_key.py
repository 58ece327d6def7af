"""`accmap explain KEY`: every name of the guide has an answer, in three forms and two languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accmap.cli.reference.key_explanation import argument_history, class_defaults, explain_key, key_history
from accmap.cli.reference.key_search import find_named, known_keys, nearest_names
from accmap.cli.terminal import columns
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.mappings.tables import table
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.megatron.catalog import VERSIONS, catalog

GUIDE: dict[str, list[str]] = load_table(Path(__file__).with_name("guide_names.yaml").read_text("utf-8"))
ROWS = {source: row for row in table().rows for source in row.sources}
ELSEWHERE = {
    "map.model.19": {"scaling_factor"},
    "map.training.06": {"global_batch_size"},
    "map.training.15": {"load_checkpoint"},
}
"""Names whose own row is another one than the guide's line: the guide uses them for several things."""


def _explained(word: str) -> dict:
    text = explain_key(word, "en", "json")
    assert text is not None, word
    return json.loads(text)


def _state(states: tuple, version: str, model: str | None = None):
    found = [one for one in states if version in one.versions and (model is None or model in one.models)]
    assert len(found) == 1, (version, model, states)
    return found[0]


@pytest.mark.table(5)
@pytest.mark.parametrize("line", GUIDE)
def test_every_name_of_the_guide_is_explained_by_its_row(line: str) -> None:
    for name in GUIDE[line]:
        found = find_named(name)
        assert found is not None, name
        assert found.rows, name
        if name not in ELSEWHERE.get(line, ()):
            assert any(line in row.sources for row in found.rows), (line, name)


def test_every_line_of_the_guide_is_here() -> None:
    assert len(GUIDE) == 169
    assert all(GUIDE.values())
    assert set(GUIDE) <= set(ROWS)


@pytest.mark.parametrize("word", ["--num-layers", "num_layers", "num-layers", "--num_layers", "--num-layers=4"])
def test_a_flag_in_every_spelling(word: str) -> None:
    answer = _explained(word)
    assert answer["arguments"] == ["num_layers"]
    assert [field["field"] for field in answer["rows"][0]["fields"]] == ["model.num_layers"]
    assert answer["rows"][0]["static"][0]["names"] == ["model.model_config.num_hidden_layers"]


@pytest.mark.parametrize(
    ("word", "field"),
    [
        ("num_hidden_layers", "model.num_layers"),
        ("model.model_config.num_hidden_layers", "model.num_layers"),
        ("model.num_layers", "model.num_layers"),
        ("lr_schedule.type", "schedule.style"),
        ("use_gmm", "moe.grouped_gemm"),
        ("callbacks[0].per_print_times", "logging.interval"),
        ("--no-rope-fusion", "fusion.rope"),
        ("HCCL_DETERMINISTIC", "environment.collective_determinism"),
        ("--norm-epsilon", "norm.epsilon"),
        ("layernorm_epsilon", "norm.epsilon"),
    ],
)
def test_keys_aliases_fields_and_variables(word: str, field: str) -> None:
    assert field in [one["field"] for row in _explained(word)["rows"] for one in row["fields"]]


def test_every_field_argument_and_key_of_the_tables_is_explained() -> None:
    for row in table().rows:
        for field in row.fields:
            found = find_named(field)
            assert found is not None, field
            assert row in found.rows, field
        for side in row.megatron + row.static + row.dynamic:
            for key in side.keys + side.aliases:
                assert all(find_named(name) is not None for name in key.split("|")), key


def test_an_argument_without_a_row_has_its_reason() -> None:
    answer = _explained("--wandb-project")
    assert answer["rows"] == []
    assert [reason["impact"] for reason in answer["reasons"]] == ["none"]
    assert "logging" in answer["reasons"][0]["text"]
    rows = table()
    silent = [
        dest
        for dest in {**catalog("0.12").by_dest, **catalog("0.19").by_dest}
        if (found := find_named(dest)) is None or not (found.rows or rows.megatron_reason(dest))
    ]
    assert silent == []


def test_a_key_without_a_row_has_its_reason() -> None:
    answer = _explained("swap_config.default_prefetch")
    assert answer["rows"] == []
    assert answer["reasons"][0]["impact"] == "performance"


def test_defaults_and_versions_of_an_argument() -> None:
    assert [state.versions for state in argument_history("num_layers")] == [VERSIONS]
    choices = {state.versions[0]: state.choices for state in argument_history("optimizer")}
    assert choices["0.12"] == ("adam", "sgd")
    unknown = _state(argument_history("mtp_use_repeated_layer"), "0.12")
    assert not unknown.known
    for dest in ("adam_eps", "clip_grad", "moe_router_topk", "window_size"):
        for version in VERSIONS:
            fact = catalog(version).by_dest.get(dest)
            state = _state(argument_history(dest), version)
            assert state.known == (fact is not None)
            assert fact is None or state.default == fact.default


# Measured on the real classes of each version with DeepSeek-V3; `unknown` and `conflict` stop the run.
ACCEPTANCE = {
    "num_hidden_layers": ("accepted", "accepted", "accepted"),
    "num_layers": ("conflict", "conflict", "conflict"),
    "num_heads": ("conflict", "conflict", "ignored"),
    "use_gmm": ("accepted", "accepted", "ignored"),
    "softmax_compute_type": ("unknown", "unknown", "ignored"),
    "scaling_factor": ("ignored", "ignored", "ignored"),
    "moe_aux_loss_coeff": ("unknown", "accepted", "accepted"),
}


@pytest.mark.parametrize("key", ACCEPTANCE)
def test_what_versions_make_of_a_model_key(key: str) -> None:
    states = key_history(f"model.model_config.{key}")
    found = tuple(_state(states, version, "deepseek_v3").acceptance for version in ("1.6", "1.7", "1.9"))
    assert found == ACCEPTANCE[key]


def test_class_and_section_defaults() -> None:
    defaults = {one.model: one.value for one in class_defaults("model.model_config.num_hidden_layers")}
    assert defaults["deepseek_v3"] == 61
    weight_decay = {(one.dialect, one.versions): one.default for one in key_history("optimizer.weight_decay")}
    assert 0.0 in [value for (dialect, _), value in weight_decay.items() if dialect == "static"]
    assert 0.01 in [value for (dialect, _), value in weight_decay.items() if dialect == "dynamic"]
    strict = _state(key_history("parallel_config.expert_model_parallel"), "1.9") if key_history(
        "parallel_config.expert_model_parallel"
    ) else None  # fmt: skip
    assert strict is None or strict.acceptance == "unknown"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_three_forms_say_the_same(language) -> None:
    for word in ("--num-layers", "optimizer", "use_gmm", "capacity_factor", "wandb_project", "train_iters"):
        text, page, answer = (explain_key(word, language, form) for form in ("text", "markdown", "json"))
        assert text is not None
        assert page is not None
        assert answer is not None
        whole = json.loads(answer)
        assert page.startswith(f"# `{word}`")
        for row in whole["rows"]:
            assert all(source in page for source in row["sources"])
            assert all(field["meaning"] in page for field in row["fields"])
            assert not row["note"] or row["note"] in page
        for entry in whole["megatron"]:
            assert entry["argument"] in text
        assert "{" not in page.replace("{MFLossMonitor}", "")


def test_text_is_wrapped() -> None:
    long = [line for language in ("en", "zh") for line in explain_key("lr", language, "text").splitlines()]
    assert max(map(columns, long)) <= 100


def test_an_unknown_name_has_no_explanation_and_near_ones() -> None:
    assert explain_key("bogus_thing", "en", "text") is None
    assert "--num-layers" in nearest_names("num_layer")
    assert nearest_names("--num-layer") == ("--num-layers",)
    assert "num_hidden_layers" in nearest_names("num_hiden_layers")
    assert "model.num_layers" in nearest_names("model.num_layer")
    assert "lr_schedule.warmup_steps" in nearest_names("lr_schedule.warmup_step")


def test_the_command(accmap) -> None:
    answer = accmap("explain", "num_hidden_layers", "use_gmm")
    assert answer.code == 0
    assert "--num-layers" in answer.out
    assert "ignored" in answer.out
    unknown = accmap("explain", "no_such_key_at_all", "num_layers")
    assert unknown.code == 2
    assert "no_such_key_at_all" in unknown.err
    assert "--num-layers" in unknown.out


def test_known_keys_are_paths_of_both_dialects() -> None:
    keys = known_keys()
    assert {"seed", "parallel_config.data_parallel", "training.steps", "model.model_config.n_routed_experts"} <= set(
        keys
    )
    assert all(field in vocabulary() for row in table().rows for field in row.fields)


@pytest.mark.parametrize("share", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_a_key_that_has_a_reason_in_place_of_a_row_is_explained(share: int) -> None:
    paths = [path for path in table().mindformers_reasons if "." in path]
    assert "train_dataset.eod_reset" in paths
    assert [path for path in paths[::share] if not _explained(path)["keys"]] == []
