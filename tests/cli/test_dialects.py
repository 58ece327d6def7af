"""Forks of Megatron-LM are data: MindSpeed-LLM comes with accmap, another is one file of the user's own."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SIZES = (
    "--num-layers {layers} --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 4 --seq-length 64 "
    "--max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 8 --lr 1e-4 --train-iters 10 --bf16 "
    "--swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights "
    "--position-embedding-type rope "
)
EXPERTS = "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 32 --moe-grouped-gemm "
SPEC = "mindspeed_llm.tasks.models.spec"
LATENT = f"--spec {SPEC}.deepseek_spec layer_spec --multi-latent-attention --qk-layernorm --kv-lora-rank 32 "
LATENT += "--qk-head-dim 16 --qk-pos-emb-head-dim 8 --v-head-dim 16 --no-rope-fusion --rope-scaling-type yarn "
LATENT += "--rope-scaling-factor 40 --rope-scaling-mscale 1.0 --rope-scaling-mscale-all-dim 1.0 "
LATENT += "--rope-scaling-original-max-position-embeddings 4096 "

BENT = "--rope-scaling-type llama3 --rope-scaling-factor 32 --low-freq-factor 2 --high-freq-factor 8 "
BENT += "--original-max-position-embeddings 4096 "


def script(*more: str, layers: int = 8, program: str = "pretrain_gpt.py") -> str:
    words = " ".join(
        (SIZES.format(layers=layers), "--vocab-size 1024 --tokenizer-type NullTokenizer --eval-interval 10", *more)
    )
    return f"torchrun --nproc_per_node 8 {program} {words}\n"


def recipe(accmap, text: str, *words: str) -> dict[str, object]:
    answer = accmap("recipe", "run.sh", *words, "--format", "json", files={"run.sh": text})
    assert answer.code == 0, answer.err
    return {name: entry["value"] for name, entry in json.loads(answer.out)["fields"].items()}


MEANINGS = [
    ("--first-k-dense-replace 2 " + EXPERTS + "--norm-topk-prob", {"moe.layer_pattern": [0, 0, 1, 1, 1, 1, 1, 1]}),
    (
        "--first-k-dense-replace 1 --moe-layer-freq 2 " + EXPERTS + "--seq-aux",
        {"moe.layer_pattern": [0, 0, 1, 0, 1, 0, 1, 0]},
    ),
    (
        "--noop-layers 6,7 --norm-topk-prob --pipeline-model-parallel-size 2",
        {"model.num_layers": 6, "parallel.pipeline_layers": [4, 2]},
    ),
    ("--n-shared-experts 2 --seq-aux " + EXPERTS, {"moe.shared.ffn_hidden_size": 64}),
    ("--moe-intermediate-size 48 --n-shared-experts 2 --num-experts 8", {"moe.ffn_hidden_size": 48}),
    (
        "--moe-router-load-balancing-type softmax_topk --norm-topk-prob --seq-aux " + EXPERTS,
        {"moe.router.normalize_topk": True, "moe.router.balancing": "none"},
    ),
    (
        "--moe-router-load-balancing-type softmax_topk --n-shared-experts 1 " + EXPERTS,
        {"moe.router.normalize_topk": False},
    ),
    (
        "--moe-router-load-balancing-type pai_megatron_aux_loss --moe-router-num-groups 4 --moe-router-group-topk 1 "
        "--moe-router-topk-scaling-factor 2.0 --n-shared-experts 1 " + EXPERTS,
        {
            "moe.router.num_groups": None,
            "moe.router.group_topk": None,
            "moe.router.scaling_factor": 1.0,
            "moe.router.normalize_topk": False,
        },
    ),
    (
        "--moe-router-load-balancing-type pai_megatron_aux_loss --norm-topk-prob --moe-router-score-function sigmoid "
        "--moe-router-enable-expert-bias --n-shared-experts 1 " + EXPERTS,
        {
            "moe.router.normalize_topk": False,
            "moe.router.score_function": "softmax",
            "moe.router.expert_bias": False,
        },
    ),
    (
        "--moe-router-load-balancing-type aux_loss --moe-router-enable-expert-bias --swap-optimizer --n-hash-layers 0 "
        + EXPERTS,
        {"moe.router.expert_bias": False},
    ),
    (
        "--moe-router-load-balancing-type softmax_topk --moe-router-enable-expert-bias --swap-optimizer "
        "--n-hash-layers 0 " + EXPERTS,
        {"moe.router.expert_bias": True},
    ),
    (
        "--moe-router-load-balancing-type group_limited_greedy --topk-group 2 --expert-model-parallel-size 4 "
        "--n-shared-experts 1 " + EXPERTS,
        {"moe.router.num_groups": 4, "moe.router.group_topk": 2, "moe.router.normalize_topk": False},
    ),
    (
        "--moe-router-load-balancing-type none --moe-aux-loss-coeff 0.001 --seq-aux --n-shared-experts 1 " + EXPERTS,
        {"moe.router.balancing": "seq_aux_loss"},
    ),
    (
        LATENT,
        {
            "position.yarn.factor": 40.0,
            "position.max_embeddings": 4096,
            "attention.qk_layernorm": True,
            "model.spec": None,
        },
    ),
    (f"--spec {SPEC}.qwen3_spec layer_spec --qk-layernorm", {"attention.qk_layernorm": True, "model.spec": None}),
    *(
        (f"--spec {SPEC}.{one}_spec layer_spec", {"model.spec": None})
        for one in ("gemma2", "grok", "phi35_moe", "minimax")
    ),
    ("--qk-layernorm --norm-topk-prob --seq-aux", {"attention.qk_layernorm": False}),
    (
        "--partial-rotary-factor 0.5 --use-glm-rope",
        {"position.rotary_fraction": 0.5, "position.rotary_interleaved": True},
    ),
    ("--padded-vocab-size 1152 --norm-topk-prob", {"model.padded_vocab_size": 1152}),
    (
        BENT,
        {
            "position.scaling.enabled": True,
            "position.scaling.factor": 32.0,
            "position.scaling.low_frequency_factor": 2,
            "position.scaling.high_frequency_factor": 8,
            "position.scaling.original_length": 4096,
        },
    ),
    # 2.3.0 core/models/gpt/gpt_model.py:GPTModel.__init__ builds its rotary embedding without it.
    ("--use-rope-scaling --norm-topk-prob --seq-aux", {"position.scaling.enabled": False}),
]


@pytest.mark.parametrize(
    ("words", "fields"), MEANINGS, ids=[words.split()[0] + str(at) for at, (words, _) in enumerate(MEANINGS)]
)
def test_its_arguments_are_read_as_what_they_mean(accmap, words: str, fields: dict[str, object]) -> None:
    found = recipe(accmap, script(words))
    assert {name: found.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    ("words", "lost", "written"),
    [
        ("--moe-router-score-function sqrtsoftplus", "moe.router.score_function", "moe_router_score_function: sigmoid"),
        ("--moe-router-load-balancing-type softmax_topk", "moe.router.expert_bias", "expert_bias: False"),
    ],
)
def test_a_router_that_the_other_side_refuses_is_a_loss_by_name(accmap, words: str, lost: str, written: str) -> None:
    text = script(words, "--moe-router-enable-expert-bias --num-zero-experts 0 --n-hash-layers 0", EXPERTS)
    answer = accmap(
        "convert", "run.sh", "-o", "run.yaml", "--report", "r.json", *("--mindformers", "1.9"), files={"run.sh": text}
    )
    assert answer.code == 1
    assert "will not run" not in answer.err
    (row,) = [one for one in json.loads(Path("r.json").read_text("utf-8"))["rows"] if one["field"] == lost]
    assert row["status"] in ("approximate", "dropped")
    assert written in Path("run.yaml").read_text("utf-8")


def test_an_argument_that_becomes_another_is_named_there(accmap) -> None:
    words = ("convert", "run.sh", "-o", "run.yaml", "--report", "r.json")
    accmap(*words, files={"run.sh": script(LATENT)})
    rows = [
        one for one in json.loads(Path("r.json").read_text("utf-8"))["rows"] if "rope_scaling_factor" in one["from"]
    ]
    assert {one["status"] for one in rows} == {"exact"}
    assert "position.yarn.factor" in {one["field"] for one in rows}


def test_show_names_the_dialect_and_why(accmap) -> None:
    answer = accmap(
        "show", "run.sh", "--format", "json", files={"run.sh": script("--noop-layers 7 --n-shared-experts 1")}
    )
    shown = json.loads(answer.out)
    assert (shown["framework_version"], shown["dialect"]) == ("0.12", "mindspeed-llm-2.2")
    assert shown["version_reason"] == "MindSpeed-LLM 2.2, by --noop-layers, --n-shared-experts"
    values = {entry["key"]: entry for entry in shown["values"]}
    assert values["num_layers"]["origin"] == "derived"
    assert "noop_layers" in values["num_layers"]["derived_from"]
    assert not [problem for problem in shown["problems"] if "unknown" in problem["name"]]
    assert "MindSpeed-LLM 2.2" in accmap("show", "run.sh").out


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("--position-embedding-type alibi --use-fused-rmsnorm --use-fused-swiglu", "position_embedding_type"),
        (
            "--moe-router-load-balancing-type sparsemixer_topk --n-shared-experts 1 " + EXPERTS,
            "moe_router_load_balancing_type",
        ),
        (
            "--moe-router-load-balancing-type group_limited_greedy --topk-group 1 --n-group 2 --n-shared-experts 1 "
            + EXPERTS,
            "moe_router_load_balancing_type",
        ),
        ("--moe-router-load-balancing-type pai_megatron_aux_loss --seq-aux --n-shared-experts 1 " + EXPERTS, None),
    ],
)
def test_a_value_of_which_the_nearest_is_written_is_a_loss(accmap, words: str, key: str | None) -> None:
    files = {"run.sh": script(words)}
    words_of_answer = ("-o", "o.yaml", "--report", "r.json", "--mindformers", "1.9", "--accept-loss", "init.std")
    answer = accmap("convert", "run.sh", *words_of_answer, files=files)
    rows = json.loads(Path("r.json").read_text("utf-8"))["rows"]
    lost = {name for row in rows if row["status"] == "dropped" and row["impact"] == "numerics" for name in row["from"]}
    assert (answer.code, lost) == ((1, {key}) if key else (0, set())), answer.err


@pytest.mark.parametrize(
    ("words", "dialect"),
    [
        ("--norm-topk-prob --seq-aux", "mindspeed-llm-2.2"),
        ("--norm-topk-prob --hccl-op-mode x", "mindspeed-llm-26.1"),
        ("--seq-aux --rope-scaling-type plm", "mindspeed-llm-2.3"),
        ("--seq-aux --recompute-mtp-norm", "mindspeed-llm-2.1"),
        (f"--spec {SPEC}.qwen3_spec layer_spec", "mindspeed-llm-2.2"),
        ("--tokenizer-type PretrainedFromHF --tokenizer-name-or-path x", "mindspeed-llm-2.2"),
        ("--seq-aux", "arguments"),
    ],
)
def test_the_lowest_version_that_takes_it(accmap, words: str, dialect: str) -> None:
    answer = accmap("show", "run.sh", "--format", "json", files={"run.sh": script(words)})
    assert json.loads(answer.out)["dialect"] == dialect


@pytest.mark.parametrize(
    ("words", "dialect"),
    [
        ("--seq-aux --rope-scaling-type=plm", "mindspeed-llm-2.3"),
        ("--seq-aux '--rope-scaling-type'=plm", "mindspeed-llm-2.3"),
        ('--seq-aux "--rope-scaling-type=plm"', "mindspeed-llm-2.3"),
        ("--seq-aux --rope-scaling-type llama3 --rope-scaling-type=plm", "mindspeed-llm-2.3"),
        # the last one counts, for argparse too: this is no sign of a version that knows plm
        ("--seq-aux --norm-topk-prob --rope-scaling-type plm --rope-scaling-type=llama3", "mindspeed-llm-2.2"),
        ("--moe-router-load-balancing-type=noaux_tc --seq-aux", "mindspeed-llm-2.1"),
        ("--seq-aux --norm-topk-prob=$UNSET", "mindspeed-llm-2.2"),
        ('--seq-aux "--norm-topk-prob=$UNSET"', "mindspeed-llm-2.2"),
        # one argument three times is one sign, and one sign is not enough
        ("--seq-aux --seq-aux --seq-aux", "arguments"),
        ("--topk-group 1 --topk-group=1 --topk-group 2", "arguments"),
        ("--moe-router-load-balancing-type noaux_tc " * 3, "arguments"),
    ],
)
def test_a_fork_is_known_by_its_arguments_however_they_are_spelt(accmap, words: str, dialect: str) -> None:
    answer = accmap("show", "run.sh", "--format", "json", files={"run.sh": script(words)})
    assert json.loads(answer.out)["dialect"] == dialect


def test_older_scripts_are_read_with_other_facts_and_that_is_said(accmap) -> None:
    text = script("--moe-router-load-balancing-type noaux_tc --seq-aux --recompute-mtp-norm " + EXPERTS)
    answer = accmap("show", "run.sh", "--format", "json", files={"run.sh": text})
    problems = {problem["code"]: problem["message"] for problem in json.loads(answer.out)["problems"]}
    assert "up to 2.1.0" in problems["MAP166"]
    assert "MAP006" not in problems


def test_pinned(accmap) -> None:
    plain = {"run.sh": script()}
    for name, dialect in (("mindspeed-llm-2.3", "mindspeed-llm-2.3"), ("mindspeed-llm", "mindspeed-llm-master")):
        shown = json.loads(accmap("show", "run.sh", "--megatron", name, "--format", "json", files=plain).out)
        assert (shown["dialect"], shown["version_origin"]) == (dialect, "given")
    assert accmap("show", "run.sh", "--megatron", "mindspeed-llm-9.9", files=plain).code == 2
    late = script("--hccl-op-mode x --norm-topk-prob")
    shown = json.loads(
        accmap("show", "run.sh", "--megatron", "mindspeed-llm-2.3", "--format", "json", files={"run.sh": late}).out
    )
    assert any("--hccl-op-mode" in problem["message"] for problem in shown["problems"])


LOSSES = [
    "--moe-router-load-balancing-type group_limited_greedy --seq-aux " + EXPERTS,
    "--rope-scaling-type yarn --rope-scaling-original-max-position-embeddings 32",
    "--rope-scaling-type longrope --long-factor 1 --short-factor 1",
    BENT,
    "--embedding-multiplier-scale 2.0 --seq-aux",
    f"--spec {SPEC}.gemma2_spec layer_spec --post-norm",
    f"--spec {SPEC}.grok_spec layer_spec --interleave-sliding-window 4096",
    f"--spec {SPEC}.phi35_moe_spec layer_spec --add-dense-bias",
    f"--spec {SPEC}.minimax_spec layer_spec --qk-layernorm",
    "--enable-dsa-indexer --index-topk 64",
    "--is-instruction-dataset --prompt-type qwen",
    "--full-attention-interval 4 --linear-num-key-heads 2",
    "--moe-router-topk 1 --use-fused-rmsnorm " + EXPERTS.replace("--moe-router-topk 2", ""),
]


@pytest.mark.parametrize("words", LOSSES)
def test_what_has_no_equal_is_said_and_is_no_success(accmap, words: str) -> None:
    answer = accmap("convert", "run.sh", "-o", "run.yaml", "--report", "r.json", files={"run.sh": script(words)})
    assert answer.code == 1, answer.err
    rows = json.loads(Path("r.json").read_text("utf-8"))["rows"]
    first = next(word for word in words.split() if word.startswith("--"))[2:].replace("-", "_")
    assert any(first in row["from"] and row["impact"] == "numerics" for row in rows)


def test_kernels_and_memory_cost_nothing(accmap) -> None:
    words = "--use-fused-rmsnorm --use-fused-swiglu --swap-attention --reuse-fp32-param --no-shared-storage"
    static = "--mindformers", "1.9"
    plain = accmap("convert", "run.sh", "-o", "a.yaml", *static, files={"run.sh": script()})
    answer = accmap("convert", "fork.sh", "-o", "b.yaml", *static, files={"fork.sh": script(words)})
    assert (plain.code, answer.code) == (0, 0), answer.err
    texts = [re.sub("#.*", "", Path(name).read_text("utf-8")) for name in ("a.yaml", "b.yaml")]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["deepseek_v3", "qwen3_moe", "qwen3_dense"])
def test_written_in_its_words_and_read_back(accmap, name: str) -> None:
    yaml = (ROOT / "examples" / name / "mindformers.yaml").read_text("utf-8")
    to = ("--to", "megatron", "--megatron", "mindspeed-llm-26.1", "-o", "run.sh")
    assert accmap("convert", "run.yaml", *to, files={"run.yaml": yaml}).code == 0
    text = Path("run.sh").read_text("utf-8")
    assert "MindSpeed-LLM 26.1" in text
    assert f"{SPEC}." in text
    assert ("--first-k-dense-replace 1" in text) is (name == "deepseek_v3")
    diff = json.loads(accmap("diff", "run.sh", "run.yaml", "--megatron", "mindspeed-llm-26.1", "--format", "json").out)
    moved = [row["field"] for row in diff["rows"] if row["status"] == "different" and row["impact"] == "numerics"]
    assert not [
        field for field in moved if field.startswith(("model.", "moe.layer", "position.", "attention.", "computed."))
    ]


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 2.0, "high_freq_factor": 4.0}


def test_llama3_positions_are_written_in_its_words(accmap) -> None:
    scaling = {**LLAMA3, "original_max_position_embeddings": 32}
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4}
    model = {"model_type": "llama", **sizes, "vocab_size": 128, "rope_scaling": scaling}
    to = ("--to", "megatron", "--megatron", "mindspeed-llm-26.1", "-o", "run.sh")
    accmap("convert", "config.json", *to, files={"config.json": json.dumps(model)})
    text = Path("run.sh").read_text("utf-8")
    for words in ("type llama3", "factor 8.0"):
        assert f"--rope-scaling-{words}" in text
    for words in ("low-freq-factor 2", "high-freq-factor 4", "original-max-position-embeddings 32"):
        assert f"--{words}" in text
    assert "--use-rope-scaling" not in text
    diff = json.loads(accmap("diff", "run.sh", "config.json", "--format", "json").out)
    assert [row["field"] for row in diff["rows"] if row["impact"] == "numerics" and row["status"] != "equal"] == []


# --- a dialect of the user's own ---

PAGE = (ROOT / "docs" / "dialects.md").read_text("utf-8")
FORK = re.search(r"```yaml\n# my-fork.yaml\n(.*?)```", PAGE, re.S)
OURS = "--dense-layers 1 --drop-layers 7 --embedding-gain 2.0 --fast-norm --team-tag x " + EXPERTS


def test_a_fork_with_five_arguments_takes_one_file(accmap) -> None:
    assert FORK is not None
    files = {"my-fork.yaml": FORK[1], "run.sh": script(OURS)}
    named = ("--megatron", "my-fork.yaml")
    plain = accmap("lint", "run.sh", files=files)
    assert "MAP042" in plain.out
    lint = accmap("lint", "run.sh", *named)
    assert "MAP042" not in lint.out
    assert "MAP002" not in lint.out
    shown = json.loads(accmap("show", "run.sh", *named, "--format", "json").out)
    assert shown["dialect"] == "my-fork"
    found = json.loads(accmap("recipe", "run.sh", *named, "--format", "json").out)
    assert found["fields"]["moe.layer_pattern"]["value"] == [0, 1, 1, 1, 1, 1, 1]
    assert found["fields"]["model.num_layers"]["value"] == 7
    assert accmap("convert", "run.sh", *named, "-o", "run.yaml", "--report", "r.json").code == 1
    rows = {
        row["from"][0]: row["impact"] for row in json.loads(Path("r.json").read_text("utf-8"))["rows"] if row["from"]
    }
    assert [rows[key] for key in ("embedding_gain", "fast_norm", "team_tag")] == ["numerics", "performance", "none"]
    back = accmap("convert", "run.yaml", "--to", "megatron", *named, "-o", "back.sh")
    assert back.code in (0, 1)
    assert "--dense-layers 1" in Path("back.sh").read_text("utf-8")


def test_a_fork_in_the_configuration(accmap) -> None:
    assert FORK is not None
    files = {"my-fork.yaml": FORK[1], "run.sh": script(OURS), "accmap.toml": 'megatron = "my-fork.yaml"\n'}
    assert "MAP042" not in accmap("lint", "run.sh", files=files).out
    assert accmap("lint", "run.sh").out == accmap("lint", "run.sh").out  # the second is remembered
    changed = FORK[1].replace("- {require: dense_layers >= 0}", "- {require: dense_layers >= 5}")
    assert changed != FORK[1]
    again = accmap("lint", "run.sh", files={"my-fork.yaml": changed})
    assert "dense_layers >= 5" in again.out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: my-fork", "nome: my-fork", "nome"),
        ('base: "0.12"', 'base: "0.3"', "0.3"),
        ("base: ", "bases: ", "bases"),
        ("to: num_layers - len(dropped)", "to: __import__('os')", "no such function"),
        ("to: num_layers - len(dropped)", "to: num_layers.real", "no such thing"),
        ("to: num_layers - len(dropped)", "to: '(lambda: 1)()'", "no such function"),
        ("{require: dense_layers >= 0}", "{demand: dense_layers >= 0}", "no row"),
        ("impact: numerics", "impact: grave", "grave"),
        ("type: int", "type: whole", "no argument"),
        ("name: my-fork", "{", "no dialect"),
        ("name: my-fork", "- 1\n- 2\n#", "no dialect"),
    ],
)
def test_a_malformed_dialect_is_refused_by_name(accmap, old: str, new: str, said: str) -> None:
    assert FORK is not None
    assert old in FORK[1]
    answer = accmap(
        "show", "run.sh", "--megatron", "f.yaml", files={"run.sh": script(), "f.yaml": FORK[1].replace(old, new)}
    )
    assert answer.code == 2
    assert "MAP158" in answer.err
    assert said in answer.err.replace("does not describe a dialect", "no dialect")
    assert accmap("show", "run.sh", "--megatron", "missing.yaml").code == 2


def test_an_expression_without_bounds_ends(accmap) -> None:
    assert FORK is not None
    big = FORK[1].replace("to: num_layers - len(dropped)", 'to: "len([0] * 1000000000000)"')
    answer = accmap("show", "run.sh", "--megatron", "f.yaml", files={"run.sh": script(OURS), "f.yaml": big})
    assert answer.code in (0, 1)


def test_megatrons_own_files_load_nothing_of_a_dialect(accmap) -> None:
    import sys

    for name in [name for name in sys.modules if "dialect" in name]:
        del sys.modules[name]
    assert accmap("lint", "run.sh", files={"run.sh": script()}).code in (0, 1)
    assert not [name for name in sys.modules if "dialect" in name]


NAMED = """\
name: {name}
base: "{base}"
arguments:
- {{options: --gain, type: float, default: 1.0}}
rows:
- {{stage: before, read: num_layers, to: "num_layers + {layers}", when: gain}}
"""
SHIPPED = ("--megatron", "mindspeed-llm-2.3")


def _read_as(accmap: Any, *words: str) -> tuple[object, object]:
    answer = json.loads(accmap("show", "run.sh", *words, "--format", "json").out)
    layers = next(one["value"] for one in answer["values"] if one["key"] == "num_layers")
    return answer["framework_version"], layers


def test_a_name_is_no_identity(accmap) -> None:
    """A user's file with the name of one that comes with accmap replaces nothing, and two of a name are two."""
    files = {"run.sh": script("--first-k-dense-replace 2", EXPERTS)}
    files |= {
        "a.yaml": NAMED.format(name="mindspeed-llm-2.3", base="0.14", layers=4),
        "b.yaml": NAMED.format(name="ours", base="0.15", layers=8),
        "c/ours.yaml": NAMED.format(name="ours", base="0.16", layers=16),
    }
    before = accmap("convert", "run.sh", *SHIPPED, files=files)
    assert _read_as(accmap, *SHIPPED) == ("0.12", 8)
    for _ in range(2):
        assert _read_as(accmap, "--megatron", "a.yaml") == ("0.14", 12)
        assert _read_as(accmap, "--megatron", "b.yaml") == ("0.15", 16)
        assert _read_as(accmap, "--megatron", "c/ours.yaml") == ("0.16", 24)
        assert _read_as(accmap, *SHIPPED) == ("0.12", 8)
    assert accmap("convert", "run.sh", *SHIPPED)[:2] == before[:2]


def test_a_dialect_stays_itself_where_two_are_read_side_by_side(accmap) -> None:
    """Both files were read before either is asked for what its dialect says."""
    from accmap import ReadOptions, load

    accmap("show", "run.sh", files={"run.sh": script(), "a.yaml": NAMED.format(name="ours", base="0.14", layers=4)})
    Path("b.yaml").write_text(NAMED.format(name="ours", base="0.15", layers=8), "utf-8")
    first, second = (load("run.sh", ReadOptions(megatron=name)) for name in ("a.yaml", "b.yaml"))
    assert [one.value("num_layers") for one in (first, second)] == [12, 16]
    assert [one.fork.base for one in (first, second) if one.fork is not None] == ["0.14", "0.15"]
    copies = pickle.loads(pickle.dumps([first, second]))
    assert [one.fork for one in copies] == [first.fork, second.fork]


def test_a_script_in_the_words_of_a_users_fork_is_read_back_by_it(accmap) -> None:
    """The file that was written is read with the dialect that it was written for, not with the one of its name."""
    files = {"fork.yaml": FORK[1].replace("name: my-fork", "name: mindspeed-llm-2.3"), "run.sh": script(OURS)}
    assert accmap("convert", "run.sh", "--megatron", "fork.yaml", "-o", "run.yaml", files=files).code == 1
    answer = accmap("convert", "run.yaml", "--to", "megatron", "--megatron", "fork.yaml", "--report", "r.json")
    assert "--dense-layers" in answer.out
    assert answer.code in (0, 1), answer.err


@pytest.mark.parametrize("name", ["arguments", "log", "static", "dynamic"])
def test_a_fork_is_not_called_like_what_no_fork_is(accmap, name: str) -> None:
    files = {"run.sh": script(), "f.yaml": NAMED.format(name=name, base="0.12", layers=0)}
    answer = accmap("show", "run.sh", "--megatron", "f.yaml", files=files)
    assert answer.code == 2
    assert "MAP158" in answer.err


def test_a_forks_argument_that_the_written_file_holds_is_not_dropped(accmap) -> None:
    """The plain router reads no `--norm-topk-prob`; the written key has its value for all that."""
    words = ("convert", "run.sh", "--mindformers", "1.9", "-o", "run.yaml", "--report", "report.json")
    answer = accmap(*words, files={"run.sh": script("--norm-topk-prob", "--n-shared-experts 1", EXPERTS)})
    assert answer.code in (0, 1), answer.err
    rows = [
        row for row in json.loads(Path("report.json").read_text("utf-8"))["rows"] if row["from"] == ["norm_topk_prob"]
    ]
    assert [(row["status"], row["to"]) for row in rows] == [("exact", ["model.model_config.norm_topk_prob"])]
    assert "norm_topk_prob: True" in Path("run.yaml").read_text("utf-8")
