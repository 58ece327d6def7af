"""A model's `config.json` on the command line: shown, compared, written for either framework, refused by name."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_models import GROUPS, QWEN3

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).parents[2] / "examples"
YARN = {"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0, "beta_fast": 32, "beta_slow": 1}
RUNS = [EXAMPLES / "qwen3_dense" / name for name in ("megatron.sh", "mindformers.yaml")]


def folder(at: Path, **changes: Any) -> str:
    """A model folder; a key of None is left out."""
    keys = {key: value for key, value in {**QWEN3, **changes}.items() if value is not None}
    at.mkdir(exist_ok=True)
    (at / "config.json").write_text(json.dumps(keys, indent=2), "utf-8")
    return str(at)


def fields(accmap: Callable[..., Any], name: str) -> dict[str, Any]:
    answer = json.loads(accmap("recipe", name, "--format", "json").out)
    return {name: entry["value"] for name, entry in answer["fields"].items()}


def test_a_folder_is_shown_with_what_its_class_leaves_open(accmap: Callable[..., Any], tmp_path: Path) -> None:
    answer = json.loads(accmap("show", folder(tmp_path / "m", rms_norm_eps=None), "--format", "json").out)
    values = {entry["key"]: entry for entry in answer["values"]}
    assert (answer["framework"], answer["framework_version"], answer["dialect"]) == ("huggingface", "4.57", "qwen3")
    assert values["rms_norm_eps"]["origin"] == "default"
    assert values["hidden_size"]["span"]["line"] == 4


@pytest.mark.parametrize("run", RUNS, ids=lambda path: path.name)
def test_the_same_model_is_equal_and_another_differs(accmap: Callable[..., Any], tmp_path: Path, run: Path) -> None:
    assert accmap("diff", folder(tmp_path / "same"), str(run)).code == 0
    answer = accmap("diff", folder(tmp_path / "other", head_dim=128), str(run), "--format", "json")
    different = {row["field"] for row in json.loads(answer.out)["rows"] if row["status"] == "different"}
    assert answer.code == 1
    assert "attention.head_dim" in different
    assert not any(name.startswith(("optimizer.", "batch.", "schedule.")) for name in different if name)


def test_a_key_that_holds_two_fields_is_edited_once(accmap: Callable[..., Any], tmp_path: Path) -> None:
    other = folder(tmp_path / "m", num_key_value_heads=8)
    shown = accmap("lint", str(RUNS[1]), f"{other}/config.json").out
    assert "num_key_value_heads: 8" in shown
    assert "num_key_value_heads: 88" not in shown


@pytest.mark.parametrize(
    ("version", "keys", "base"),
    [
        ("4.57.1", {"rope_theta": 5e5}, 5e5),
        ("4.57.1", {"rope_theta": None, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}}, 10000.0),
        ("5.0.0", {"rope_theta": None, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}}, 5e5),
        ("5.9.1", {"rope_theta": 5e5}, 5e5),
        ("5.23.0", {"rope_theta": None}, 10000.0),
        ("4.40.0", {"rope_theta": None}, 10000.0),
    ],
)
def test_rotary_parameters_are_read_where_the_version_looks(
    accmap: Callable[..., Any], tmp_path: Path, version: str, keys: dict[str, Any], base: float
) -> None:
    found = fields(accmap, folder(tmp_path / "m", transformers_version=version, **keys))
    assert found["position.rotary_base"] == base


@pytest.mark.parametrize("to", ["megatron", "mindformers"])
@pytest.mark.parametrize("run", RUNS, ids=lambda path: path.name)
def test_a_base_gives_the_rest_of_the_run(accmap: Callable[..., Any], tmp_path: Path, run: Path, to: str) -> None:
    model = folder(tmp_path / "m", num_hidden_layers=6, intermediate_size=2048, vocab_size=31744)
    out = tmp_path / ("out.sh" if to == "megatron" else "out.yaml")
    answer = accmap("convert", model, "--to", to, "--base", str(run), "-o", str(out))
    assert answer.code == 0, answer.err
    assert accmap("diff", model, str(out)).code == 0
    changed = json.loads(accmap("diff", str(run), str(out), "--format", "json").out)["rows"]
    different = {row["field"] for row in changed if row["status"] == "different" and row["impact"] == "numerics"}
    assert {"model.num_layers", "model.ffn_hidden_size", "model.padded_vocab_size"} <= different
    assert not {name for name in different if name and not name.startswith(("model.", "computed."))}


@pytest.mark.parametrize("to", ["megatron", "mindformers"])
def test_without_a_base_what_stands_in_is_named(accmap: Callable[..., Any], tmp_path: Path, to: str) -> None:
    model, out = folder(tmp_path / "m"), tmp_path / ("out.sh" if to == "megatron" else "out.yaml")
    answer = accmap("convert", model, "--to", to, "-o", str(out))
    assert answer.code == 1
    for field in ("schedule.learning_rate", "data.sequence_length", "batch.micro_size", "run.train_steps"):
        assert field in answer.err
    # What the dynamic graph draws counts for no description: its weights are loaded.
    assert accmap("diff", model, str(out)).code == 0


@pytest.mark.parametrize(
    ("experts", "groups", "words", "status"),
    [
        (4, 2, "megatron", None),
        (8, 2, "megatron", "approximate"),
        (2, 2, "megatron", "approximate"),
        (8, 4, "megatron", None),
        (4, 2, "mindformers", None),
        (8, 2, "mindformers --mindformers 1.9", "approximate"),
        (8, 2, "mindformers", None),
    ],
)
def test_groups_that_transformers_ranks_in_another_way_are_reported(
    accmap: Callable[..., Any], tmp_path: Path, experts: int, groups: int, words: str, status: str | None
) -> None:
    model = folder(tmp_path / "m", **{**GROUPS, "num_experts_per_tok": experts, "topk_group": groups})
    out, report = tmp_path / ("out.sh" if words == "megatron" else "out.yaml"), tmp_path / "report.json"
    accmap("convert", model, "--to", *words.split(), "-o", str(out), "--report", str(report))
    rows = {row["field"]: row["status"] for row in json.loads(report.read_text("utf-8"))["rows"]}
    assert (rows["moe.router.group_topk"], rows.get("moe.router.group_best")) in {
        ("exact", status),
        ("exact", status or "exact"),
    }


@pytest.mark.parametrize("groups", [0, 5])
def test_a_number_of_groups_that_nothing_can_select_is_undecided(
    accmap: Callable[..., Any], tmp_path: Path, groups: int
) -> None:
    """transformers 4.57.1 models/deepseek_v3/modeling_deepseek_v3.py:DeepseekV3TopkRouter.get_topk_indices."""
    model, report = folder(tmp_path / "m", **{**GROUPS, "topk_group": groups}), tmp_path / "report.json"
    answer = accmap("convert", model, "--to", "megatron", "-o", str(tmp_path / "out.sh"), "--report", str(report))
    rows = json.loads(report.read_text("utf-8"))["rows"]
    assert answer.code == 1, answer.err
    assert [row["status"] for row in rows if "topk_group" in row["from"]] == ["unresolved"]
    assert accmap("convert", model, "--to", "mindformers", "-o", str(tmp_path / "out.yaml")).code == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"moe_intermediate_size": 0},
        {"num_experts_per_tok": 0},
        {"rope_scaling": {**YARN, "original_max_position_embeddings": 1.5}},
        {"rope_scaling": {**YARN, "original_max_position_embeddings": 64.0}},
    ],
    ids=str,
)
@pytest.mark.parametrize("to", ["megatron", "mindformers"])
def test_an_absurd_number_is_read_back_as_the_report_says(
    accmap: Callable[..., Any], tmp_path: Path, changes: Any, to: str
) -> None:
    answer = accmap(
        "convert", folder(tmp_path / "m", **{**GROUPS, **changes}), "--to", to, "-o", "out", "--write-anyway"
    )
    assert answer.code == 1, answer.err


def test_custom_code_is_a_remark_where_transformers_has_the_class(accmap: Callable[..., Any], tmp_path: Path) -> None:
    model = folder(tmp_path / "m", auto_map={"AutoModelForCausalLM": "modeling_own.Own"})
    answer = accmap("recipe", model)
    problems = json.loads(accmap("show", model, "--format", "json").out)["problems"]
    assert answer.code == 0
    assert [one["code"] for one in problems] == ["MAP111"]


TELECHAT_7B: dict[str, Any] = {
    "model_type": "telechat", "architectures": ["TelechatForCausalLM"], "hidden_size": 4096, "n_head": 32,
    "n_layer": 30, "ffn_hidden_size": 12288, "vocab_size": 160256, "training_seqlen": 8192, "embed_layernorm": False,
    "auto_map": {"AutoConfig": "configuration_telechat.TelechatConfig"}, "n_inner": None, "seq_length": 8192,
}  # fmt: skip
TELECHAT_12B = {
    "hidden_size": 5120, "n_layer": 38, "vocab_size": 120000, "tie_word_embeddings": False, "logn": False
}  # fmt: skip
TELECHAT_115B = {
    "hidden_size": 8192, "n_head": 64, "num_key_value_heads": 8, "n_layer": 96, "vocab_size": 131072,
    "ffn_hidden_size": 40960, "tie_word_embeddings": False, "base_seqlen": 8192,
}  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "size", "width", "base"),
    [
        ({}, 14_400_036_864, 2, 10000 * 3 ** (128 / 126)),
        (TELECHAT_12B, 24_772_864_000, 2, 10000 * 3 ** (160 / 158)),
        (TELECHAT_115B, 453_131_665_408, 4, 10000),
    ],
    ids=["TeleChat-7B", "TeleChat-12B", "TeleChat2-115B"],
)
def test_telechat_has_the_parameters_of_the_published_checkpoints(
    accmap: Callable[..., Any], tmp_path: Path, keys: dict[str, Any], size: int, width: int, base: float
) -> None:
    """`total_size` of each index that the authors publish, in bytes of the type they publish it in."""
    (tmp_path / "config.json").write_text(json.dumps({**TELECHAT_7B, **keys}), "utf-8")
    found = fields(accmap, "config.json")
    assert found["computed.parameters"] * width == size
    assert math.isclose(found["position.rotary_base"], base, rel_tol=1e-12)
    biases = ("model.ffn_output_bias", "attention.output_bias", "attention.qkv_bias")
    assert [found[name] for name in biases] == [True, True, False]
    problems = json.loads(accmap("show", "config.json", "--format", "json").out)["problems"]
    assert [one["code"] for one in problems] == ["MAP125"]


@pytest.mark.parametrize("to", ["megatron", "mindformers"])
def test_telechat_is_converted_with_its_biases_named_as_lost(
    accmap: Callable[..., Any], tmp_path: Path, to: str
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**TELECHAT_7B, "hidden_dropout": 0.1}), "utf-8")
    run = RUNS[0] if to == "megatron" else RUNS[1]
    out = "out.sh" if to == "megatron" else "out.yaml"
    answer = accmap("convert", "config.json", "--to", to, "--base", str(run), "-o", out)
    assert answer.code == 1
    lost = answer.err.rpartition("could not be converted: ")[2].splitlines()[0].split(", ")
    assert {*lost} >= {"model.ffn_output_bias", "attention.output_bias", "model.hidden_dropout"}
    back = json.loads(accmap("diff", "config.json", out, "--format", "json").out)["rows"]
    parted = {row["field"] for row in back if row["status"] == "different" and not row["field"].startswith("computed.")}
    assert parted <= {*lost}


@pytest.mark.parametrize(("key", "whose"), [("n_embd", "TeleChat-52B"), ("num_experts", "a TeleChat with experts")])
def test_other_code_of_the_same_model_type_is_refused_by_name(
    accmap: Callable[..., Any], tmp_path: Path, key: str, whose: str
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**TELECHAT_7B, key: 8}), "utf-8")
    answer = accmap("recipe", "config.json")
    assert answer.code == 2
    assert all(word in answer.err for word in ("SYN127", key, whose))


@pytest.mark.parametrize(
    ("keys", "code"),
    [({"model_type": "of_nobody"}, "SYN103"), ({"model_type": None, "architectures": ["A"]}, "SYN111")],
)
def test_what_nothing_is_known_of_is_refused_by_name(
    accmap: Callable[..., Any], tmp_path: Path, keys: dict[str, Any], code: str
) -> None:
    answer = accmap("recipe", folder(tmp_path / "m", **keys))
    assert answer.code == 2
    assert code in answer.err
    assert str(keys["model_type"] or "model_type") in answer.err


@pytest.mark.parametrize(
    ("text", "code"), [('{"model_type": ', "SYN119"), ('{"model_type": "qwen3", "hidden_size": "x"}', None)]
)
def test_a_broken_file_is_an_answer(accmap: Callable[..., Any], tmp_path: Path, text: str, code: str | None) -> None:
    (tmp_path / "config.json").write_text(text, "utf-8")
    answer = accmap("recipe", str(tmp_path / "config.json"))
    assert answer.code == (2 if code else 0)
    assert code is None or code in answer.err


@pytest.mark.parametrize(
    "words",
    [
        ("convert", "MODEL"),
        ("convert", "MODEL", "--to", "megatron", "--base", "RUN", "--update", "RUN"),
        ("convert", "RUN", "--to", "megatron", "--base", "RUN"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(
    accmap: Callable[..., Any], tmp_path: Path, words: tuple[str, ...]
) -> None:
    names = {"MODEL": folder(tmp_path / "m"), "RUN": str(RUNS[0])}
    assert accmap(*(names.get(word, word) for word in words)).code == 2


def test_a_model_beside_a_run_is_what_it_is_compared_with(accmap: Callable[..., Any], tmp_path: Path) -> None:
    model = folder(tmp_path / "m", num_hidden_layers=6) + "/config.json"
    found = json.loads(accmap("lint", str(RUNS[0]), str(RUNS[1]), model, "--format", "json").out)["diagnostics"]
    assert sorted(one["file"] for one in found if one["code"] == "NET039") == sorted(map(str, RUNS))


def test_a_model_beside_a_run_is_no_conversion(accmap: Callable[..., Any], tmp_path: Path) -> None:
    """The lone run hears of what Megatron-LM has no equal for; beside a model it is compared with that."""
    run, text = tmp_path / "run.yaml", RUNS[1].with_name("mindformers_dynamic.yaml").read_text("utf-8")
    run.write_text(text.replace("  hidden_size:", "  use_fused_mhc: True\n  hidden_size:"), "utf-8")
    codes = [
        {one["code"] for one in json.loads(accmap("lint", str(run), *more, "--format", "json").out)["diagnostics"]}
        for more in ([], [folder(tmp_path / "m") + "/config.json"])
    ]
    assert ["MAP110" in found for found in codes] == [True, False]


def test_a_field_that_no_expression_can_hold_stays_open(accmap: Callable[..., Any], tmp_path: Path) -> None:
    keys = {"model_type": "llama", "mlp_bias": True, "attention_bias": False}
    answer = json.loads(accmap("diff", folder(tmp_path / "m", **keys), str(RUNS[0]), "--format", "json").out)
    assert "undecided" in {row["status"] for row in answer["rows"] if row["field"] == "model.bias_linear"}


@pytest.mark.parametrize(("to", "name"), [("megatron", "run.sh"), ("mindformers", "run.yaml")])
def test_what_is_written_of_a_model_alone_starts(
    accmap: Callable[..., Any], tmp_path: Path, to: str, name: str
) -> None:
    model = folder(tmp_path / "model")
    written = tmp_path / name
    answer = accmap("convert", model, "--to", to, "-o", str(written))
    assert answer.code == 1
    assert "as a placeholder" in answer.err
    assert "a stand-in: set it" in written.read_text("utf-8")
    found = json.loads(accmap("lint", str(written), "--no-config", "--format", "json").out)["diagnostics"]
    assert not [one["message"] for one in found if one["severity"] == "error"]


EXPERTS = {
    "model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128,
    "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": [],
}  # fmt: skip
LATENT = {
    "model_type": "deepseek_v3", "head_dim": None, "num_key_value_heads": 8, "q_lora_rank": 64, "kv_lora_rank": 32,
    "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32, "n_routed_experts": 8, "n_shared_experts": 1,
    "num_experts_per_tok": 2, "moe_intermediate_size": 128, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1,
    "routed_scaling_factor": 1.0, "scoring_func": "sigmoid", "topk_method": "noaux_tc", "norm_topk_prob": True,
}  # fmt: skip
YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024, "mscale": 1.0, "mscale_all_dim": 1.0}


# mappings/stops.yaml: experts-one-by-one, latent-attention-with-rope-fusion, latent-rope-with-fusion.
# With YaRN, Megatron-LM fuses the rotation of latent attention from 0.13 on.
@pytest.mark.parametrize(
    ("keys", "target", "written", "field"),
    [
        (EXPERTS, "mindformers 1.7", "moe_grouped_gemm: True", "moe.grouped_gemm"),
        (EXPERTS, "mindformers 1.9", "moe_grouped_gemm: True", "moe.grouped_gemm"),
        (EXPERTS, "mindformers 2.1", "moe_grouped_gemm: True", "moe.grouped_gemm"),
        (LATENT, "mindformers 1.9", "mla_qkv_concat: False", "model.mla_layout"),
        (LATENT, "mindformers 2.1", "mla_qkv_concat: False", "model.mla_layout"),
        (LATENT, "megatron 0.12", "--no-rope-fusion", "fusion.rope"),
        (LATENT, "megatron 0.13", "--no-rope-fusion", "fusion.rope"),
        (LATENT, "megatron 0.19", "--no-rope-fusion", "fusion.rope"),
        ({**LATENT, "rope_scaling": YARN}, "megatron 0.12", "--no-rope-fusion", "fusion.rope"),
        ({**LATENT, "rope_scaling": YARN}, "megatron 0.16", "", ""),
    ],
)
def test_a_setting_without_which_a_model_will_not_run_is_written_and_named(
    accmap: Callable[..., Any], tmp_path: Path, keys: dict[str, Any], target: str, written: str, field: str
) -> None:
    framework, version = target.split()
    model, out, report = folder(tmp_path / "m", **keys), tmp_path / "out", tmp_path / "report.json"
    answer = accmap("convert", model, "--to", framework, f"--{framework}", version, "-o", str(out), "--report",
                    str(report))  # fmt: skip
    assert answer.code == 1, answer.err
    text = out.read_text("utf-8")
    assert written in text
    assert ("--no-rope-fusion" in text) == (written == "--no-rope-fusion")
    rows = {row["field"]: row for row in json.loads(report.read_text("utf-8"))["rows"]}
    assert not field or (rows[field]["status"] == "conditional" and "accmap writes" in rows[field]["message"])


@pytest.mark.parametrize(
    ("target", "written"),
    [
        ("mindformers", ["rotary_scaling_factor: 40.0", "mscale: 1.0"]),
        ("megatron", ["--rotary-scaling-factor 40.0", "--mscale 1.0"]),
    ],
)
@pytest.mark.parametrize("kind", ["linear", "llama3"])
def test_the_scale_of_latent_attention_is_written_for_positions_of_any_kind(
    accmap: Callable[..., Any], tmp_path: Path, kind: str, target: str, written: list[str]
) -> None:
    """`DeepseekV3Attention.__init__` scales by `factor` and `mscale_all_dim` whatever `type` names."""
    scaling = {"type": kind, "factor": 40, "mscale_all_dim": 1.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    model = folder(tmp_path / "m", **LATENT, rope_scaling={**scaling, "original_max_position_embeddings": 1024})
    answer = accmap("convert", model, "--to", target, "-o", str(tmp_path / "out"))
    assert answer.code == 1, answer.err
    text = (tmp_path / "out").read_text("utf-8")
    assert not [one for one in written if one not in text]


@pytest.mark.parametrize(
    "words",
    [
        "lr M",
        "verify M RUN",
        "defects M",
        "data check M RUN",
        "playbook M RUN -d book",
        "weights check w M",
        "convert M --to megatron --base M",
    ],
)
def test_what_needs_a_run_refuses_a_model(accmap: Callable[..., Any], tmp_path: Path, words: str) -> None:
    (tmp_path / "w").mkdir()
    model = folder(tmp_path / "model") + "/config.json"
    places = {"M": model, "RUN": str(RUNS[1]), "w": str(tmp_path / "w"), "book": str(tmp_path / "book")}
    answer = accmap(*(places.get(word, word) for word in words.split()))
    assert answer.code == 2
    assert "is a model's config.json" in answer.err or "is not a checkpoint" in answer.err


def test_an_argument_that_nothing_is_known_of_makes_no_equal_network(
    accmap: Callable[..., Any], tmp_path: Path
) -> None:
    text = RUNS[0].read_text("utf-8").replace("--swiglu", "--swiglu --my-own-attention 3")
    (tmp_path / "run.sh").write_text(text, "utf-8")
    answer = accmap("diff", folder(tmp_path / "model"), str(tmp_path / "run.sh"))
    assert answer.code == 1
    assert "my_own_attention" in answer.out


def test_a_pinned_version_reads_the_file_whatever_wrote_it(accmap: Callable[..., Any], tmp_path: Path) -> None:
    """4.57 reads `rope_theta`; 5 reads the one within `rope_parameters`."""
    both = {"rope_theta": 500000.0, "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}}
    name = folder(tmp_path / "m", transformers_version="4.57.1", **both)
    told: dict[str, tuple[str, str, float]] = {}
    for version in ("", "4.57.1", "5.23"):
        more = ("--transformers", version) if version else ()
        answer = json.loads(accmap("show", name, "--format", "json", *more).out)
        field = json.loads(accmap("recipe", name, "--format", "json", *more).out)["fields"]["position.rotary_base"]
        told[version] = (answer["framework_version"], answer["version_origin"], field["value"])
    assert told == {
        "": ("4.57", "detected", 500000.0),
        "4.57.1": ("4.57", "given", 500000.0),
        "5.23": ("5.23", "given", 1000000.0),
    }


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(("pinned", "found"), [("4.57", ["NET039"]), ("5.23", [])])
def test_the_configuration_pins_it_for_the_model_of_a_run(
    accmap: Callable[..., Any], tmp_path: Path, pinned: str, found: list[str], *, named: bool
) -> None:
    """The model in the folder that a script names, and one that stands beside it."""
    both = {"rope_theta": 500000.0, "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}}
    model = folder(tmp_path / "m", **both)
    text = RUNS[0].read_text("utf-8")
    assert "--train-iters" in text
    run = tmp_path / "run.sh"
    run.write_text(text.replace("--load checkpoints/megatron", f"--load {model}") if named else text, "utf-8")
    (tmp_path / "accmap.toml").write_text(f'transformers = "{pinned}"\n', "utf-8")
    beside = [] if named else [f"{model}/config.json"]
    answer = json.loads(accmap("lint", str(run), *beside, "--format", "json").out)
    assert [one["code"] for one in answer["diagnostics"] if one["code"] == "NET039"] == found


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("hidden_size", "８", "an integer from 0 to 2^63 - 1"),
        ("num_hidden_layers", True, "an integer from 0 to 2^63 - 1"),
        ("num_attention_heads", 2**63, "an integer from 0 to 2^63 - 1"),
        ("intermediate_size", -1, "an integer from 0 to 2^63 - 1"),
        ("head_dim", 64.0, "an integer from 0 to 2^63 - 1"),
        ("vocab_size", None, "an integer from 0 to 2^63 - 1"),
        ("num_key_value_heads", [2], "an integer from 0 to 2^63 - 1"),
        ("rms_norm_eps", math.nan, "a finite number"),
        ("rope_theta", 1e290, "a finite number"),
        ("initializer_range", -math.inf, "a finite number"),
        ("hidden_act", 5, "a string"),
        ("rope_scaling", {"rope_type": "yarn", "factor": "4"}, "a finite number"),
    ],
)
def test_a_value_that_no_network_is_built_with_is_undecided(
    accmap: Callable[..., Any], tmp_path: Path, key: str, value: Any, expected: str
) -> None:
    file = Path(folder(tmp_path / "m", **{key: value})) / "config.json"
    if value is None:
        file.write_text(json.dumps({**QWEN3, key: None}))
    found = json.loads(accmap("lint", str(file), "--no-cache", "--format", "json").out)["diagnostics"]
    told = [entry for entry in found if entry["code"] == "MAP059"]
    assert [(entry["severity"], key in entry["message"], expected in entry["message"]) for entry in told] == [
        ("error", True, True)
    ]
    assert accmap("convert", "m", "--to", "megatron", "-o", "out.sh").code == 2
    assert not (tmp_path / "out.sh").exists()
    shown = json.loads(accmap("show", "m", "--format", "json").out)
    assert {entry["key"]: entry["value"] for entry in shown["values"]}[key] is None


def test_every_odd_value_of_a_model_is_named(accmap: Callable[..., Any], tmp_path: Path) -> None:
    folder(tmp_path / "m", hidden_size="x" * 10_000, head_dim=10**400, rms_norm_eps="1e-6")
    answer = accmap("lint", "m/config.json", "--no-cache", "--format", "concise")
    assert answer.out.count("MAP059") == 3
    assert max(map(len, answer.out.splitlines())) < 250, "a value is shortened"
