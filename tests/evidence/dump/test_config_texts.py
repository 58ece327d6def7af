"""The files of a dump: MindSpore's JSON, msprobe's, the mappings, the lines to insert, the commands."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest
import yaml

from accmap.evidence.dump.config import Plan, insertions, plan, readme
from accmap.evidence.dump.config_modules import mappings_of, modules_of
from accmap.evidence.dump.config_request import Chunk, LayoutUnknownError, Request, Span, chunks_of, record_of
from accmap.schemas.border.text_output import markdown

sys.path.insert(0, str(Path(__file__).parent))
from config_pairs import pair_of

COMPILED = {"mindformers": {"context": {"mode": 0, "device_target": "Ascend"}}}
EAGER = {"mindformers": {"context": {"mode": 1, "device_target": "Ascend"}}}
SCOPE = (record_of("decoder.layers.1.mlp"), record_of("Cell.decoder.layers.1.mlp.MLP.backward.0"))


def planned(folder: Path, name: str = "dense", changes: dict | None = None, **wish: object) -> Plan:
    found = plan(pair_of(name, folder, changes or EAGER), Request()._replace(**wish), "/dump")
    assert not found.has_errors, [finding.message() for finding in found.findings]
    return found


@pytest.mark.procedure("proc.dump.o0_o1")
@pytest.mark.parametrize("kind", ["mindspore-o0", "mindspore-o1"])
def test_mindspore_o0_and_o1(tmp_path: Path, kind: str) -> None:
    found = planned(tmp_path, changes=COMPILED, kind=kind, steps=(Span(0, 0), Span(5, 8)))
    written = json.loads(found.files["mindspore_dump.json"])
    assert written["common_dump_settings"] == {
        "op_debug_mode": 0,
        "dump_mode": 0,
        "path": "/dump/mindspore",
        "net_name": "telechat3",
        "iteration": "0|5-8",
        "saved_data": "tensor",
        "input_output": 0,
        "kernels": [],
        "support_device": list(range(8)),
    }
    assert written["e2e_dump_settings"] == {"enable": True, "trans_flag": True}
    assert found.environment == {"MINDSPORE_DUMP_CONFIG": "/dump/mindspore_dump.json"}
    assert found.files["environment.sh"] == "export MINDSPORE_DUMP_CONFIG=/dump/mindspore_dump.json\n"


@pytest.mark.procedure("proc.dump.o2")
def test_mindspore_o2(tmp_path: Path) -> None:
    found = planned(tmp_path, changes=COMPILED, kind="mindspore-o2", task="statistics")
    written = json.loads(found.files["mindspore_dump.json"])
    assert "e2e_dump_settings" not in written
    assert written["common_dump_settings"]["file_format"] == "npy"
    assert written["common_dump_settings"]["statistic_category"] == ["max", "min", "avg", "l2norm"]
    assert found.environment == dict.fromkeys(
        ("MINDSPORE_DUMP_CONFIG", "MS_ACL_DUMP_CFG_PATH"), "/dump/mindspore_dump.json"
    )


def test_operators_of_a_module_are_chosen_by_their_path(tmp_path: Path) -> None:
    found = planned(tmp_path, changes=COMPILED, kind="mindspore-o0", scope=SCOPE[:1], ranks=(Span(0, 0),))
    settings = json.loads(found.files["mindspore_dump.json"])["common_dump_settings"]
    assert settings["dump_mode"] == 1
    assert settings["kernels"] == ["name-regex(.*/decoder-[^/]+/layers-[^/]+/1-[^/]+/mlp-[^/]+/.*)"]
    assert settings["support_device"] == [0]


@pytest.mark.parametrize(("version", "named"), [("1.6", "md5"), ("1.9", "hash:md5")])
def test_md5_is_called_as_the_version_of_mindspore_does(tmp_path: Path, version: str, named: str) -> None:
    subject = pair_of("dense", tmp_path, COMPILED)
    pinned = subject._replace(mindformers=subject.mindformers._replace(framework_version=version))
    found = plan(pinned, Request(kind="mindspore-o0", task="statistics", summary="md5"), "/dump")
    settings = json.loads(found.files["mindspore_dump.json"])["common_dump_settings"]
    assert settings["statistic_category"] == [named]


@pytest.mark.procedure("proc.dump.msprobe_config")
def test_msprobe_l0_tensor_is_the_guides(tmp_path: Path) -> None:
    found = planned(tmp_path)
    for side in ("megatron", "mindformers"):
        assert json.loads(found.files[f"msprobe_{side}.json"]) == {
            "task": "tensor",
            "dump_path": f"/dump/{side}",
            "rank": [],
            "step": [0],
            "level": "L0",
            "tensor": {"scope": [], "list": [], "data_mode": ["all"]},
        }


@pytest.mark.procedure("proc.dump.msprobe_config")
def test_msprobe_statistics_with_md5_and_mix_with_a_scope(tmp_path: Path) -> None:
    found = planned(
        tmp_path, level="mix", task="statistics", summary="md5", scope=SCOPE, steps=(Span(0, 0), Span(2, 4))
    )
    ours, theirs = (json.loads(found.files[f"msprobe_{side}.json"]) for side in ("mindformers", "megatron"))
    assert ours["statistics"]["summary_mode"] == "md5"
    assert ours["step"] == [0, "2-4"]
    assert ours["statistics"]["scope"] == [
        "Cell.decoder.layers.1.mlp.MLP.forward.0",
        "Cell.decoder.layers.1.mlp.MLP.backward.0",
    ]
    assert theirs["statistics"]["scope"] == [
        "Module.decoder.layers.1.mlp.MLP.forward.0",
        "Module.decoder.layers.1.mlp.MLP.backward.0",
    ]


def test_a_scope_named_by_one_side_is_translated_to_the_other(tmp_path: Path) -> None:
    record = record_of("Module.decoder.layers.1.self_attention.linear_q_up_proj.forward.0")
    found = planned(tmp_path, "deepseek", scope=(record,))
    ours, theirs = (json.loads(found.files[f"msprobe_{side}.json"]) for side in ("mindformers", "megatron"))
    assert (
        ours["tensor"]["scope"] == ["Cell.decoder.layers.1.self_attention.linear_qb.ColumnParallelLinear.forward.0"] * 2
    )
    named = "TELayerNormColumnParallelLinear"
    assert (
        theirs["tensor"]["scope"] == [f"Module.decoder.layers.1.self_attention.linear_q_up_proj.{named}.forward.0"] * 2
    )


def test_a_run_without_ranks_gets_no_list_of_them(tmp_path: Path) -> None:
    found = planned(tmp_path, ranks=(Span(0, 0),))
    assert json.loads(found.files["msprobe_mindformers.json"])["rank"] == []
    assert json.loads(found.files["msprobe_megatron.json"])["rank"] == [0]
    assert "mindformers/step0/proc*/dump.json" in found.commands["compare"][0]


@pytest.mark.procedure("proc.dump.msprobe_compare")
def test_the_comparison_of_msprobe_26(tmp_path: Path) -> None:
    found = planned(tmp_path, changes={"mindformers": {**EAGER["mindformers"], "use_parallel": True}})
    assert found.commands["compare"] == [
        (
            "msprobe compare -tp mindformers/step0/rank0/dump.json -gp megatron/step0/rank0/dump.json "
            "-o result -lm layer_mapping.yaml"
        )
    ]
    assert found.files["compare.sh"].splitlines()[0] == "#!/usr/bin/env bash"


@pytest.mark.procedure("proc.dump.msprobe_compare")
def test_the_comparison_of_older_msprobe(tmp_path: Path) -> None:
    changes = {"mindformers": {**EAGER["mindformers"], "use_parallel": True}}
    found = planned(tmp_path, changes=changes, form="8")
    assert found.commands["compare"] == [
        "msprobe -f mindspore compare -i compare.json -o result -lm layer_mapping.yaml"
    ]
    assert json.loads(found.files["compare.json"]) == {
        "npu_path": "mindformers/step0/rank0/dump.json",
        "bench_path": "megatron/step0/rank0/dump.json",
        "stack_path": "mindformers/step0/rank0/stack.json",
        "is_print_compare_log": True,
    }


@pytest.mark.procedure("proc.dump.precheck")
@pytest.mark.parametrize(("form", "command"), [("26", "msprobe acc_check"), ("8", "msprobe -f mindspore run_ut")])
def test_the_precheck(tmp_path: Path, form: str, command: str) -> None:
    changes = {"mindformers": {**EAGER["mindformers"], "use_parallel": True}}
    found = planned(tmp_path, changes=changes, form=form, precheck=True, task="statistics")
    written = json.loads(found.files["msprobe_precheck.json"])
    assert (written["level"], written["dump_path"]) == ("L1", "/dump/precheck")
    assert found.commands["precheck"] == [f"{command} -api_info precheck/step0/rank0/dump.json -o result_precheck"]
    assert "accuracy_checking_result_" in readme(found, "en")
    assert found.commands["precheck"][0] in found.files["precheck.sh"]


# --- mappings ---


@pytest.mark.procedure("proc.dump.msprobe_compare")
def test_layers_are_mapped_where_their_names_differ(tmp_path: Path) -> None:
    renamed = {"linear_qb": "linear_q_up_proj", "k_layernorm": "kv_layernorm", "linear_kvb": "linear_kv_up_proj"}
    found = yaml.safe_load(planned(tmp_path, "deepseek").files["layer_mapping.yaml"])
    assert found == {
        "TopLayer": {"mtp.output_layer": "output_layer", "output_layer": "without_partner"},
        "MLASelfAttentionConcatenated": renamed,
        "self_attention": renamed,
    }
    assert yaml.safe_load(planned(tmp_path, "dense").files["layer_mapping.yaml"]) == {}


def test_cells_are_mapped_with_their_classes(tmp_path: Path) -> None:
    local = {**EAGER, "megatron": {"transformer-impl": "local"}}
    found = yaml.safe_load(planned(tmp_path, "moe_softmax", local).files["cell_mapping.yaml"])
    layer = "decoder.layers.1"
    assert found[f"{layer}.input_layernorm.FusedRMSNorm"] == f"{layer}.input_layernorm.RMSNorm"
    assert found[f"{layer}.mlp.experts.FFNGroupedGEMM"] == f"{layer}.mlp.experts.GroupedMLP"
    assert f"{layer}.self_attention.linear_qkv.ColumnParallelLinear" not in found
    further = yaml.safe_load(planned(tmp_path, "further").files["cell_mapping.yaml"])
    assert further["output_layer.ColumnParallelLinear"] == "without_partner.ColumnParallelLinear"
    engine = yaml.safe_load(planned(tmp_path, "moe_softmax").files["cell_mapping.yaml"])
    same = f"{layer}.self_attention.linear_qkv"
    assert engine[f"{same}.ColumnParallelLinear"] == f"{same}.TELayerNormColumnParallelLinear"


def test_dense_and_expert_layers_are_told_apart(tmp_path: Path) -> None:
    places = {module.mindformers for module in modules_of(pair_of("deepseek", tmp_path))}
    assert "decoder.layers.0.mlp.linear_fc1" in places
    assert "decoder.layers.0.mlp.router" not in places
    assert "decoder.layers.1.mlp.router" in places
    assert "mtp.layers.0.transformer_layer.mlp.router" in places


def test_a_later_megatron_calls_the_layer_of_further_predictions_otherwise(tmp_path: Path) -> None:
    subject = pair_of("further", tmp_path)
    later = subject._replace(megatron=subject.megatron._replace(framework_version="0.18"))
    theirs = {module.megatron for module in modules_of(later)}
    assert "mtp.layers.0.mtp_model_layer.mlp" in theirs
    assert mappings_of(later)[0].layers["MultiTokenPredictionLayer"] == {"transformer_layer": "mtp_model_layer"}


STAGED = {
    "megatron": {"num-layers": 8, "pipeline-model-parallel-size": 2},
    "model": {"num_hidden_layers": 8},
    "mindformers": {**EAGER["mindformers"], "use_parallel": True},
    "devices": 2,
}


def test_pipeline_stages_have_mappings_of_their_own(tmp_path: Path) -> None:
    subject = pair_of("dense", tmp_path, STAGED)
    first, second = mappings_of(subject)
    assert first.layers == {}
    moved = {f"layers.{4 + number}": f"layers.{number}" for number in range(4)}
    assert second.layers == {"TransformerBlock": moved, "decoder": moved}
    assert second.cells["decoder.layers.7.mlp.linear_fc2.RowParallelLinear"] == (
        "decoder.layers.3.mlp.linear_fc2.TERowParallelLinear"
    )
    assert "embedding.word_embeddings.VocabParallelEmbedding" not in second.cells


def test_a_virtual_pipeline_names_the_part_first(tmp_path: Path) -> None:
    flags = {**STAGED["megatron"], "num-layers-per-virtual-pipeline-stage": 2}
    subject = pair_of("dense", tmp_path, {**STAGED, "megatron": flags})
    assert chunks_of(subject) == (Chunk(0, 0, 0, 2), Chunk(0, 1, 4, 2), Chunk(1, 0, 2, 2), Chunk(1, 1, 6, 2))
    first, second = mappings_of(subject)
    assert first.layers["TopLayer"] == {
        "embedding": "0.embedding",
        "decoder": "0.decoder",
        "decoder.layers.0": "0.decoder.layers.0",
        "decoder.layers.1": "0.decoder.layers.1",
        "decoder.layers.4": "1.decoder.layers.0",
        "decoder.layers.5": "1.decoder.layers.1",
    }
    assert second.layers["TopLayer"]["decoder.final_layernorm"] == "1.decoder.final_layernorm"
    assert second.layers["TopLayer"]["output_layer"] == "1.output_layer"
    code = insertions("static", 2, {"megatron": "a", "mindformers": "b"})[1].code
    assert code.splitlines()[-1] == "PrecisionDebugger.start(model=unwrap_model(model))"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"decoder-first-pipeline-num-layers": 2}, [2, 6]),
        ({"decoder-last-pipeline-num-layers": 3}, [5, 3]),
        (
            {
                "num-layers": 6,
                "account-for-embedding-in-pipeline-split": True,
                "account-for-loss-in-pipeline-split": True,
            },
            [3, 3],
        ),
    ],
)
def test_uneven_stages(tmp_path: Path, flags: dict, expected: list[int]) -> None:
    changes = {**STAGED, "megatron": {**STAGED["megatron"], **flags}}
    if "num-layers" in flags:
        changes["model"] = {"num_hidden_layers": flags["num-layers"]}
    assert [chunk.layers for chunk in chunks_of(pair_of("dense", tmp_path, changes))] == expected


def test_a_layout_that_cannot_be_told_is_said(tmp_path: Path) -> None:
    changes = {**STAGED, "megatron": {**STAGED["megatron"], "num-layers": 7}, "model": {"num_hidden_layers": 7}}
    with pytest.raises(LayoutUnknownError):
        chunks_of(pair_of("dense", tmp_path, changes))


@pytest.mark.parametrize("name", ["dense", "deepseek", "latent_separate", "moe_softmax", "further"])
def test_the_places_agree_with_the_weights(tmp_path: Path, name: str) -> None:
    """Whatever weight the table of weights pairs, the modules that hold it are paired here."""
    subject = pair_of(name, tmp_path)
    from accmap.evidence.dump.config_modules import _Reading  # pyright: ignore[reportPrivateUsage]

    weights = _Reading(subject).weights
    checked = 0
    for module in modules_of(subject):
        pairing = weights.find_pairing("mindformers", f"{module.mindformers}.weight")
        if pairing is not None and len(pairing.megatron) == 1 and module.megatron is not None:
            assert pairing.megatron[0].rpartition(".")[0] == module.megatron
            checked += 1
    assert checked > 5


# --- code and prose ---


@pytest.mark.parametrize("dialect", ["static", "dynamic"])
@pytest.mark.parametrize("parts", [1, 2])
def test_the_lines_to_insert_are_python(dialect: str, parts: int) -> None:
    found = insertions(dialect, parts, {"megatron": "/a/b.json", "mindformers": "/a/c.json"})
    for insertion in found:
        ast.parse(insertion.code)
        assert insertion.where in ("before", "after")
        assert insertion.zh != insertion.en
    assert {insertion.side for insertion in found} == {"megatron", "mindformers"}
    text = "".join(insertion.code for insertion in found)
    assert "/a/b.json" in text
    assert "/a/c.json" in text


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", ["dense", "deepseek"])
def test_the_readme_says_all(tmp_path: Path, name: str, language: str) -> None:
    found = planned(tmp_path, name, precheck=True)
    text = readme(found, language)
    for command in (*found.commands["compare"], *found.commands["precheck"]):
        assert command in text
    for insertion in found.insertions:
        assert insertion.code.splitlines()[0] in text
        assert insertion.file in text
    for finding in found.findings:
        assert markdown(finding.message(language)) in text
    assert ("multi-token prediction" in text or "多 token 预测" in text) == (name == "deepseek")


def test_one_file_is_enough(tmp_path: Path) -> None:
    from accmap.evidence.dump.config_request import subject_of
    from accmap.schemas.config import ReadOptions

    pair = pair_of("moe_softmax", tmp_path)
    for given, derived in ((pair.megatron, "mindformers"), (pair.mindformers, "megatron")):
        subject = subject_of([given], ReadOptions())
        assert subject.derived == derived
        assert {module.mindformers for module in modules_of(subject)} == {
            module.mindformers for module in modules_of(pair)
        }
        assert "accmap converted it" in readme(plan(subject, Request(), "/dump"), "en")
