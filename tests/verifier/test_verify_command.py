"""`accmap verify` as a command: wrong use, missing frameworks, and the report in every form."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accmap.cli.commands.verify import list_without_defects, pair_findings, rules_for, shown_defects
from accmap.cli.lean import main
from accmap.cli.pages.formats import write_document
from accmap.cli.pages.html_page import html_page
from accmap.cli.pages.verify_report import verify_document
from accmap.cli.reference.known_defects import defects_of_files
from accmap.mapper.modules import MODULES, fields_of
from accmap.schemas.border.file_input import read_text
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.verifier import verify
from accmap.verifier.installations import Installation
from accmap.verifier.mindformers.model import spread_routes
from accmap.verifier.verdict import coverage
from accmap.verifier.verdict.comparison import (
    Comparison,
    DifferingSetting,
    Divergence,
    NotCompared,
    Row,
    Values,
    compare_answers,
    locate_without_trace,
)
from accmap.verifier.verification import FrameworkRun, Verification
from accmap.verifier.worker.processes import WorkerAnswer, WorkerFailure

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import TABLE, write_pair
from stand_in_workers import use_stand_ins


def text_of(answer: dict[str, Any], language: Any) -> str:
    return write_document(lambda one: verify_document(answer, one), "text", language)


ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    script, config = write_pair(TABLE["equal"]["dense"], tmp_path)
    return str(script), str(config)


def test_a_missing_framework_names_the_one_command(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        verify, "missing_modules", lambda framework, *_python: ("mindspore",) if framework == "mindformers" else ()
    )
    assert main(["verify", *pair]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "mindspore" in said.err
    assert "pip install " in said.err
    assert '[verify]"' in said.err
    assert main(["verify", *pair, "--lang", "zh"]) == 2
    assert "请运行" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ONE"], "A B"),
        (["ONE", "TWO", "--seeds", "0"], "--seeds"),
        (["ONE", "TWO", "--layers", "0"], "--layers"),
        (["ONE", "TWO", "--sequence", "11"], "--sequence"),
        (["ONE", "TWO", "--precision", "fp8"], "as-written"),
        (["ONE", "TWO", "--stage", "step9"], "step1"),
        (["ONE", "TWO", "--ranks"], "verify no longer has --ranks"),
        (["ONE", "--against", "torch"], "`verify record` on the machine of each framework, then `verify join`"),
        (["ONE", "TWO", "--ranks", "--lang", "zh"], "已移除"),
    ],
)
def test_wrong_use(words: list[str], said: str, pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    named = [{"ONE": pair[0], "TWO": pair[1]}.get(word, word) for word in words]
    assert main(["verify", *named]) == 2
    assert said in capsys.readouterr().err


def outcome(shift: float = 0.0, **values: Any) -> WorkerAnswer:
    """A worker's answer about one small parameter."""
    np = pytest.importorskip("numpy")
    gradient = np.full((4, 4), 0.5, np.float32)
    answer: dict[str, Any] = {
        "shapes": {"decoder.layers.0.mlp.router.weight": [4, 4]},
        "losses": [{"loss": 4.0 + shift}, {"loss": 3.9}, {"loss": 3.8}, {"loss": 3.7}],
        "steps": [{"loss": 4.0, "norm": 1.0, "rate": 1e-3}] * 3,
        "forced_norm": 4.0,
        "clipped_norm": 1.0,
        "initialisation": {"decoder.layers.0.mlp.router.weight": {"count": 4096, "sum": 0.0, "squares": 1.6384}},
        "stand_ins": {},
        "versions": {"torch": "2"},
        **values,
    }
    name = "decoder.layers.0.mlp.router.weight"
    arrays = {
        f"gradient/{name}": gradient + np.float32(shift),
        f"update/{name}": gradient.astype(np.float64),
        "logits": gradient,
    }
    return WorkerAnswer(answer, arrays)


def test_equal_answers_agree() -> None:
    assert compare_answers(outcome(), outcome()).disagreements() == {}


def test_a_difference_above_the_tolerance_is_told() -> None:
    assert "loss" not in compare_answers(outcome(), outcome(3e-5)).disagreements()
    assert {"loss", "gradients"} <= compare_answers(outcome(), outcome(1e-3)).disagreements().keys()


@pytest.mark.parametrize("lost", [float("inf"), float("-inf"), float("nan")])
def test_a_number_that_one_side_lost_is_a_difference(lost: float) -> None:
    assert "loss" in compare_answers(outcome(), outcome(losses=[{"loss": lost}])).disagreements()


def test_a_parameter_without_partner_is_named() -> None:
    lone = outcome(
        shapes={"decoder.layers.0.mlp.router.weight": [4, 4], "decoder.layers.1.mlp.linear_fc1.weight": [2, 2]}
    )
    compared = compare_answers(outcome(), lone)
    assert [row.name for row in compared.structure] == ["decoder.layers.1.mlp.linear_fc1.weight"]
    assert locate_without_trace(compared) == Divergence("decoder.layers.1", "structure")


@pytest.mark.parametrize(
    ("values", "module", "direction"),
    [
        ({"clipped_norm": 4.0}, "clipping", "update"),
        ({"losses": [{"loss": 4.0}, {"loss": 3.0}]}, "accumulation", "update"),
        (
            {"initialisation": {"decoder.layers.0.mlp.router.weight": {"count": 4096, "sum": 0.0, "squares": 0.2}}},
            "initialisation",
            "initialisation",
        ),
    ],
)
def test_what_parts_after_the_first_pass_is_the_update(values: dict[str, Any], module: str, direction: str) -> None:
    assert locate_without_trace(compare_answers(outcome(), outcome(**values))) == Divergence(module, direction)


def test_a_known_difference_of_the_initialisers_is_told_and_decides_nothing() -> None:
    other = {"decoder.layers.0.mlp.router.weight": {"count": 4096, "sum": 0.0, "squares": 1.6384 * 4}}
    compared = compare_answers(
        outcome(), outcome(initialisation=other), known_ratio={"decoder.layers.*.mlp.router.weight": 0.5}
    )
    assert compared.disagreements() == {}
    assert compared.initial_weights.different == ["decoder.layers.*.mlp.router.weight"]
    assert compared.initial_weights.verdict == "differently"
    assert compared.initialisation[0].note
    assert (compared.initialisation[0].relative or 0) > 0.4


def test_what_is_drawn_decides_nothing_if_both_runs_load_a_checkpoint() -> None:
    other = {"decoder.layers.0.mlp.router.weight": {"count": 4096, "sum": 0.0, "squares": 0.2}}
    compared = compare_answers(outcome(), outcome(initialisation=other), loaded=True)
    assert (compared.disagreements(), compared.initial_weights.verdict) == ({}, "differently")
    assert compare_answers(outcome(), outcome()).initial_weights.verdict == "alike"


def test_every_field_of_the_modules_is_in_the_vocabulary() -> None:
    from accmap.mapper.recipe.fields_compiled import FIELDS

    named = {field for row in MODULES for field in row.fields} | {
        field for row in coverage.LEFT_OUT for field in row.fields
    }
    assert named <= set(FIELDS)


@pytest.mark.parametrize(
    ("module", "field"),
    [
        ("decoder.layers.3.mlp.router", "moe.router.topk"),
        ("decoder.layers.3.input_layernorm", "norm.epsilon"),
        ("mtp.layers.0.transformer_layer.self_attention.core_attention", "position.yarn.mscale"),
        ("decoder.layers.3", "model.num_layers"),
        ("decoder.layers.3.mlp", "moe.num_experts"),
        ("decoder.layers.3.self_attention.linear_proj", "attention.latent.v_head_dim"),
        ("decoder.layers.3.mlp.shared_experts.linear_fc1", "moe.shared.ffn_hidden_size"),
    ],
)
def test_fields_of_a_module(module: str, field: str) -> None:
    assert field in fields_of(module)


def verification(**changes: Any) -> Verification:
    found = Verification(
        verdict="mismatch",
        sides=("megatron", "mindformers"),
        files=("a.sh", "<b>.yaml"),
        shrunk={"model.num_layers": [32, 2], "model.ffn_hidden_size": [{"a": 9, "b": 8}, {"a": 4, "b": 2}]},
        inputs=(),
        tolerance=1e-5,
        stage="all",
        compared=(Comparison(loss=(Row("1", 4.0, 5.0, 0.2, agrees=False), Row("2", 4.0, 4.0, 0.0))),),
        seeds=(0,),
        stand_ins={"megatron": {"torch.cuda": "nothing"}},
        not_compared=(NotCompared("run.seed", "drawn here"),),
        divergence=Divergence("decoder.layers.0.input_layernorm", "forward"),
        divergence_fields=("norm.epsilon",),
        differing=(DifferingSetting("norm.epsilon", 1e-5, 1e-6),),
        failures={},
        versions={},
        cost={},
    )
    return found._replace(**changes)


def test_the_rule_of_a_divergence_is_named() -> None:
    assert rules_for(verification()) == ("NET016",)
    nothing_differs = verification(divergence_fields=("position.yarn.mscale",), differing=())
    assert "NET014" in rules_for(nothing_differs)
    assert rules_for(verification(divergence=None)) == ()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_pages(language: Any) -> None:
    answer = verification().to_json(("NET016",))
    json.dumps(answer, allow_nan=False)
    for page in (text_of(answer, language), html_page(verify_document(answer, language))):
        assert "decoder.layers.0.input_layernorm" in page
        assert "NET016" in page
        assert "norm.epsilon" in page
    page = html_page(verify_document(answer, language))
    assert "&lt;b&gt;.yaml" in page
    assert "http" not in page[page.index("<main ") : page.index("</main>")]
    HTMLParser().feed(page)


def test_what_was_not_compared_has_a_reason_for_each_field_and_each_reason_stands_once() -> None:
    unrun = (
        NotCompared("run.seed", "drawn here"),
        NotCompared("x.y", "a kernel", Values(1, 2)),
        NotCompared("z", "a kernel"),
    )
    text = str(text_of(verification(not_compared=unrun).to_json(), "en"))
    reasons = "not compared\n- run.seed: drawn here\n- x.y (1 | 2), z: a kernel\n"
    assert text.endswith(reasons + "\n… use -o report.html to show the rest\n")


def test_the_progress_says_what_happens_before_a_framework_answers(
    pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_stand_ins(monkeypatch)
    told: list[str] = []
    configs = [config_of(read_text(name), ReadOptions(), path=name) for name in pair]
    verify.verify(configs[0], configs[1], coverage.Findings(), progress=lambda words: told.append(words.text("en")))
    assert told[0] == "importing megatron, mindformers"


@pytest.mark.parametrize(("parsed", "own", "said"), [
    (True, True, " (the training program's own parser read the launch command)"),
    (True, False, " (Megatron-LM's parser read the command for the small model; "),
    (False, True, " (accmap read the launch command, because the training program's own parser did not run)"),
    (None, None, "  /t"),
])  # fmt: skip
def test_whose_launch_was_parsed_is_said(parsed: bool | None, own: bool | None, said: str) -> None:
    """A fork's own script is no launch that Megatron-LM's parser read."""
    place = Installation("megatron", "0.17.1", "/t", "source")
    page = text_of(verification(ran=(FrameworkRun(place, "0.17", True, None, parsed, own),)).to_json(), "en")
    assert f"ran: megatron 0.17.1{said}" in page


def test_a_failure_is_shown_with_its_log() -> None:
    failure = WorkerFailure("the process ended with code 7", "crash", log=("the kernel is gone",))
    answer = verification(
        verdict="not-verifiable", failures={"mindformers": failure}, divergence=None, compared=()
    ).to_json()
    assert "the kernel is gone" in text_of(answer, "en")
    assert "the kernel is gone" in html_page(verify_document(answer, "en"))


def test_what_the_framework_refuses_is_said_in_its_words() -> None:
    """Megatron-Core 0.12.3 transformer_config.py:TransformerConfig.__post_init__."""
    where = "megatron/core/transformer/transformer_config.py:__post_init__"
    failure = WorkerFailure("ValueError: Please use --moe-router-pre-softmax when topk is 1.", "error", where)
    answer = verification(verdict="not-verifiable", failures={"megatron": failure}, divergence=None, compared=())
    said = answer.to_json()["failures"][0]["explanation"]
    assert said.startswith("the framework itself rejects these values")
    assert said.endswith(": Please use --moe-router-pre-softmax when topk is 1.")
    other = answer._replace(failures={"megatron": failure._replace(where="verifier/worker/session.py:perform")})
    assert other.to_json()["failures"][0]["explanation"] is None


@pytest.mark.parametrize(
    ("reason", "where", "said"),
    [
        # Megatron-Core 0.15.3, run with biases in its experts, and 0.16.1 with a latent size of them.
        (
            "NotImplementedError: Bias is not supported for weighted swiglu fusion",
            "megatron/core/fusions/fused_bias_swiglu.py:weighted_bias_swiglu_impl",
            "--no-bias-swiglu-fusion",
        ),
        (
            "AssertionError: TransformerEngine is required for MoE latent projections. when instantiating MoELayer",
            "megatron/core/transformer/moe/moe_layer.py:__init__",
            "--moe-latent-size",
        ),
    ],
)
def test_a_known_failure_is_said_with_what_to_do(reason: str, where: str, said: str) -> None:
    failures = {"megatron": WorkerFailure(reason, "error", where)}
    answer = verification(verdict="not-verifiable", failures=failures, divergence=None, compared=())
    assert said in answer.to_json()["failures"][0]["explanation"]


OLDER = (
    "torchrun pretrain_gpt.py --hidden-size 64 --num-attention-heads 4 --num-layers 2 --use-legacy-models "
    "--ckpt-format torch --transformer-impl local --seq-length 8 --max-position-embeddings 8 "
    "--micro-batch-size 1 --global-batch-size 1 --lr 1e-4 --train-iters 2 --tokenizer-type NullTokenizer "
    "--vocab-size 64\n"
)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("torchrun pretrain_gpt.py --hidden-size 64 --num-attention-heads 4 --num-layers $LAYERS\n", "num_layers"),
        (OLDER, "legacy"),
    ],
)
def test_a_file_that_says_too_little_is_not_verifiable(
    script: str, said: str, pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path(pair[0]).write_text("#!/bin/bash\n" + script, "utf-8")
    assert main(["verify", *pair, "--format", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "not-verifiable"
    assert said in answer["failures"][0]["reason"]
    assert {"field", "reason"} <= answer["not_compared"][0].keys()
    assert any("to compile the static graph, use `--graph`" in entry["reason"] for entry in answer["not_compared"])


NAMED_LAYERS = {
    # megatron-core 0.12.3 transformer_block.py:_get_block_submodules, run: "specialize for function."
    "megatron.core.models.gpt.gpt_layer_specs get_gpt_layer_local_spec": "TransformerBlock",
    "mindspeed_llm.tasks.models.spec.hunyuan_spec layer_spec": "HunyuanLargeAttention",
    "mindspeed_llm.tasks.models.spec.qwen3_next_spec layer_spec": "GatedDeltaNet",
    "ours.layers layer_spec": None,
}


@pytest.mark.parametrize("named", NAMED_LAYERS)
def test_layers_that_a_script_names_are_said_by_name(
    named: str, pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    script = Path(pair[0])
    script.write_text(script.read_text("utf-8").rstrip() + f" --spec {named}\n", "utf-8")
    assert main(["verify", *pair, "--format", "json"]) == 1
    failure = json.loads(capsys.readouterr().out)["failures"][0]
    known = NAMED_LAYERS[named]
    assert named in failure["reason"]
    if known is None:
        assert failure["explanation"] is None
    else:
        assert known in failure["explanation"]
        assert failure["fields"] == ["model.spec"]


def test_a_number_that_yaml_makes_a_text_of_is_no_run_to_verify(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    config = Path(pair[1])
    config.write_text(config.read_text("utf-8").replace("eps: 1.0e-08", "eps: 1e-8", 1), "utf-8")
    assert main(["verify", *pair]) == 2
    assert "PyYAML reads optimizer.eps: 1e-8 as a string" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ran", "fields_behind", "shown"),
    [
        ("0.12.3", ("position.yarn.mscale",), True),
        ("0.14.0", ("position.yarn.mscale",), False),
        ("0.12.3", ("norm.epsilon",), False),
    ],
)
def test_known_defects_are_shown_or_named_as_unseen(
    tmp_path: Path, ran: str, fields_behind: tuple[str, ...], *, shown: bool
) -> None:
    text = (ROOT / "examples" / "deepseek_v3" / "megatron.sh").read_text("utf-8")
    path = tmp_path / "a.sh"
    path.write_text(text.replace("--mscale-all-dim 1.0", "--mscale-all-dim 0.5"), "utf-8")
    source = read_text(str(path))
    findings = defects_of_files([config_of(source, ReadOptions(megatron="0.12"), path=str(path))], [source])
    found = verification(divergence_fields=fields_behind, versions={"megatron-core": ran})
    seen = shown_defects(found, findings)
    assert [one.kind.code for one in seen] == ["DEF006"] * shown
    unseen = tuple(coverage.unseen_errors(pair_findings(findings)))
    left = list_without_defects(found._replace(not_compared=unseen), seen).not_compared
    assert [entry.field for entry in left] == ["DEF006"] * (not shown)


@pytest.mark.parametrize("weights_first", [False, True])
def test_choices_of_a_router_are_compared_as_weights_of_all_experts(weights_first: bool) -> None:
    chosen = np.array([[7, 0], [1, 2], [3, 4], [5, 6]], np.int64)
    weights = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]], np.float32)
    recorded = (weights, chosen) if weights_first else (chosen, weights)
    arrays = {f"output/decoder.layers.1.mlp.router/0/{at}": array for at, array in enumerate(recorded)}
    spread_routes(arrays, 8, np.array([0, 2, 1, 3]))
    found = arrays["output/decoder.layers.1.mlp.router/0/0"]
    assert found.shape == (4, 8)
    assert [sorted(np.flatnonzero(row)) for row in found] == [[0, 7], [3, 4], [1, 2], [5, 6]]
    assert found[0, 7] == np.float32(0.9)
    assert found[2, 2] == np.float32(0.2)
