"""What differs, changes numbers and was run by no model makes a match partial, with both values."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from accmap import convert
from accmap.cli.commands.verify import findings_of, pair_findings
from accmap.cli.lean import main
from accmap.cli.pages.formats import write_document
from accmap.cli.pages.html_page import html_page
from accmap.cli.pages.verify_report import verify_document
from accmap.mapper.recipe.reading import recipe_of
from accmap.schemas.border.file_input import read_text
from accmap.schemas.config import ReadOptions
from accmap.schemas.megatron.catalog import catalog
from accmap.schemas.megatron.dialects import dialect_named, dialect_versions
from accmap.schemas.reader import config_of
from accmap.schemas.versions import versions_in
from accmap.verifier.fork_flags_compiled import CHECKED
from accmap.verifier.installations import missing_modules
from accmap.verifier.pair import _sizes_of  # pyright: ignore[reportPrivateUsage]
from accmap.verifier.verdict import coverage
from accmap.verifier.verdict.comparison import Comparison, DifferingSetting, Divergence, NotCompared, Row, Values
from accmap.verifier.verdict.coverage import Findings, differing_settings, unexercised_fields, unseen_errors
from accmap.verifier.verification import Verification
from accmap.verifier.verify import SeedResults, _undecided_failures  # pyright: ignore[reportPrivateUsage]

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import TABLE, write_pair
from stand_in_workers import use_stand_ins

if TYPE_CHECKING:
    from accmap.mappings.names_compiled import FieldName
    from accmap.schemas.config import Config
    from accmap.verifier.worker.processes import WorkerFailure


def text_of(answer: dict[str, Any], language: Any) -> str:
    return write_document(lambda one: verify_document(answer, one), "text", language)


SCRIPT = (
    "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 2 --hidden-size 128 --num-attention-heads 4 --swiglu "
    "--ffn-hidden-size 256 --seq-length 64 --max-position-embeddings 64 --position-embedding-type rope --bf16 "
    "--disable-bias-linear --normalization RMSNorm --untie-embeddings-and-output-weights --vocab-size 511 "
    "--make-vocab-size-divisible-by 8 --tokenizer-type NullTokenizer --micro-batch-size 2 --global-batch-size 2 "
    "--train-iters 100 --lr 1e-3 --lr-decay-style cosine --min-lr 1e-4 --lr-warmup-iters 10 --attention-dropout 0 "
    "--hidden-dropout 0 --data-path /d --split 1,0,0 --accumulate-allreduce-grads-in-fp32 "
    "--no-bias-swiglu-fusion --eval-iters 0 --attention-softmax-in-fp32 "
)
# megatron core_v0.12.0: eod-mask-loss `core/datasets/gpt_dataset.py:_get_ltor_masks_and_position_ids`, per-token loss
# `pretrain_gpt.py:loss_func`, dropout `core/transformer/dot_product_attention.py`, fp32 residual (from 0.17)
# `core/fusions/fused_bias_dropout.py`; mindformers 1.9.0: rotary type `rotary_pos_embedding.py:apply_rotary_pos_emb`,
# normalisation `parallel_core/training_graph/transformer/norm.py`, graph kernels, which it leaves out unlike 1.8
# `core/context/build_context.py:MSContextOperator._warn_set_context_excluded`.
LEFT: dict[str, tuple[dict[str, Any], str | None, tuple[Any, Any]]] = {
    "the end of a document in the loss": (
        {"megatron": {"eod-mask-loss": True}}, None, (),
    ),
    "tokens weighted over the batch, which eager MindSpore cannot": (
        {"mindformers": {"calculate_per_token_loss": True}}, "gradient.per_token_loss", (False, True),
    ),
    "tokens weighted over the batch by Megatron-LM": (
        {"megatron": {"calculate-per-token-loss": True}}, None, (),
    ),
    "dropout on one side": ({"megatron": {"attention-dropout": 0.1}}, "attention.dropout", (0.1, 0.0)),
    "dropout on the other": ({"model": {"hidden_dropout": 0.1}}, "model.hidden_dropout", (0.0, 0.1)),
    "the type of a normalisation": (
        {"model": {"layernorm_compute_dtype": "bfloat16"}}, "precision.norm_dtype", ("float32", "bfloat16"),
    ),
    "the type of the rotation": (
        {"model": {"rotary_dtype": "bfloat16"}}, "precision.rotary_dtype", ("float32", "bfloat16"),
    ),
    "fp16 on one side": (
        {"megatron": {"bf16": None, "fp16": True}}, "precision.compute_dtype", ("float16", "bfloat16"),
    ),
    "the warm-up": ({"megatron": {"lr-warmup-iters": 20}}, "schedule.warmup_steps", (20, 10)),
    "a step at which one run stops": ({"megatron": {"exit-interval": 40}}, "run.stop_step", (40, None)),
    "a step at which the run ends anyway": ({"megatron": {"exit-interval": 100}}, None, (None, None)),
    "operators that are rewritten": (
        {"mindformers": {"context": {"enable_graph_kernel": True}}, "version": "1.8"},
        "environment.graph_kernel", (False, True),
    ),
    "a residual that 0.12 casts back": ({"megatron": {"fp32-residual-connection": True}}, None, (None, None)),
    "positions that no rotation reads": ({"megatron": {"reset-position-ids": True}}, None, (None, None)),
    "what the models were run with": ({"megatron": {"norm-epsilon": 1e-4}}, None, (None, None)),
}  # fmt: skip


def left(pair: dict[str, Any], folder: Path, stage: str = "all", *, matched: bool = False) -> dict[str, NotCompared]:
    sources = [read_text(str(path)) for path in write_pair({"family": "dense", **pair}, folder)]
    options = ReadOptions(mindformers=pair.get("version"))
    configs = [config_of(source, options, path=source.name) for source in sources]
    found = unexercised_fields(configs, pair_findings(findings_of(configs, sources)), stage, matched=matched)
    return {entry.field: entry for entry in found}


@pytest.mark.table(3)
@pytest.mark.parametrize("name", LEFT)
def test_what_was_not_run_is_named_with_both_values(name: str, tmp_path: Path) -> None:
    change, field, values = LEFT[name]
    before, after = left({"version": change.get("version")}, tmp_path), left(change, tmp_path)
    if field is None:
        assert after.keys() == before.keys()
    else:
        assert field not in before
        assert after[field].values == Values(*values)
        assert after[field].reason


def test_a_difference_that_the_models_did_not_show_is_named(tmp_path: Path) -> None:
    """Two experts of eight a token: a capacity factor of 4 drops none, and the models are the same."""
    pair = {"family": "moe_softmax", "megatron": {"moe-expert-capacity-factor": 4.0}}
    assert "moe.capacity.factor" not in left(pair, tmp_path)
    found = left(pair, tmp_path, matched=True)["moe.capacity.factor"]
    assert found.values == Values(4.0, None)


@pytest.mark.parametrize("name", TABLE["equal"])
def test_nothing_is_unseen_of_equal_models(name: str, tmp_path: Path) -> None:
    assert left(TABLE["equal"][name], tmp_path, matched=True).keys() == left(TABLE["equal"][name], tmp_path).keys()


def test_a_stage_without_steps_says_nothing_of_the_optimizer(tmp_path: Path) -> None:
    change = {"megatron": {"adam-beta2": 0.99}}
    assert "optimizer.beta2" not in left(change, tmp_path)
    assert "optimizer.beta2" in left(change, tmp_path, "step1")


def written(folder: Path, *changes: tuple[str, str]) -> tuple[Config, Config]:
    """A dense pair, its script changed by these replacements."""
    script, other = write_pair({"family": "dense"}, folder)
    text = script.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    script.write_text(text, "utf-8")
    one, two = (config_of(read_text(str(path)), ReadOptions(), path=str(path)) for path in (script, other))
    return one, two


# megatron core_v0.12.0 training/checkpointing.py:load_args_from_checkpoint replaces arguments that are given, too.
@pytest.mark.parametrize(
    ("change", "field", "values"),
    [
        (("--norm-epsilon 1e-06", "--norm-epsilon $EPS"), "norm.epsilon", (None, 1e-6)),
        (("--global-batch-size 4", "--global-batch-size $BATCH"), "batch.global_size", (None, 2)),
        (("--bf16", "--bf16 --use-checkpoint-args --load /c"), "checkpoint.use_arguments", (True, False)),
    ],
)
def test_what_a_file_leaves_open_is_no_match_whatever_a_default_brings(
    change: tuple[str, str], field: str, values: tuple[Any, Any], tmp_path: Path
) -> None:
    assert field not in {entry.field for entry in unexercised_fields(written(tmp_path), Findings(), "all")}
    found = {entry.field: entry for entry in unexercised_fields(written(tmp_path, change), Findings(), "all")}
    assert found[field].values == Values(*values)


def test_where_tokens_and_weights_lie_and_a_vocabulary_are_given_to_both_models_alike(tmp_path: Path) -> None:
    changes = (("--bf16", "--bf16 --load $LOAD --data-path $DATA --vocab-size $SIZE"),)
    assert coverage.undecided_fields(*written(tmp_path, *changes)) == {}


@pytest.mark.parametrize(("words", "stops"), [("2", 0), ("3", 2)])
def test_what_stops_a_run_and_no_small_model_shows_is_named(words: str, stops: int, tmp_path: Path) -> None:
    """The heads of a small model are a multiple of its groups, whatever those of the file are."""
    script, other = tmp_path / "run.sh", tmp_path / "run.yaml"
    script.write_text(SCRIPT + "--group-query-attention --num-query-groups 2", "utf-8")
    text = convert(script, "mindformers").text
    other.write_text(text.replace("num_key_value_heads: 2", f"num_key_value_heads: {words}"), "utf-8")
    script.write_text(f"{SCRIPT} --group-query-attention --num-query-groups {words}", "utf-8")
    sources = [read_text(str(path)) for path in (script, other)]
    configs = [config_of(source, ReadOptions(), path=source.name) for source in sources]
    found = list(unseen_errors(pair_findings(findings_of(configs, sources))))
    assert [entry.field for entry in found] == ["MAP108"] * stops


def test_what_stops_where_it_is_built_is_named(tmp_path: Path) -> None:
    """Megatron's OptimizerConfig refuses moments in another type without its precision-aware optimizer."""
    script, other = tmp_path / "run.sh", tmp_path / "run.yaml"
    script.write_text(SCRIPT, "utf-8")
    other.write_text(convert(script, "mindformers").text, "utf-8")
    script.write_text(f"{SCRIPT} --exp-avg-dtype fp16", "utf-8")
    sources = [read_text(str(path)) for path in (script, other)]
    configs = [config_of(source, ReadOptions(), path=source.name) for source in sources]
    found = list(unseen_errors(pair_findings(findings_of(configs, sources))))
    assert "MAP126" in [entry.field for entry in found]


def test_a_path_of_data_that_one_file_leaves_out_is_no_difference_that_was_not_run(tmp_path: Path) -> None:
    """A wrapper may add it; paths that both give, and that differ, are named."""

    def named(words: str) -> bool:
        script = tmp_path / "run.sh"
        script.write_text(words, "utf-8")
        other = tmp_path / "run.yaml"
        other.write_text(convert(tmp_path / "converted.sh", "mindformers").text, "utf-8")
        sources = [read_text(str(path)) for path in (script, other)]
        pair = [config_of(source, ReadOptions(), path=source.name) for source in sources]
        return "data.blend" in {
            entry.field for entry in unexercised_fields(pair, pair_findings(findings_of(pair, sources)), "all")
        }

    (tmp_path / "converted.sh").write_text(SCRIPT, "utf-8")
    assert not named(SCRIPT.replace("--data-path /d ", ""))
    assert named(SCRIPT.replace("--data-path /d ", "--data-path 0.3 /d 0.7 /e "))


def test_a_vocabulary_that_a_file_leaves_open_is_the_other_files(tmp_path: Path) -> None:
    size, taken = ("--vocab-size 511", "--vocab-size 700"), ("--bf16", "--bf16 --load /c --use-checkpoint-args")
    tokenizer = ("'NullTokenizer'", "HuggingFaceTokenizer --tokenizer-model /t")
    for changes, expected in (((size,), [704, 512]), ((size, tokenizer, taken), [512, 512])):
        assert [side["model.padded_vocab_size"] for side in _sizes_of(*written(tmp_path, *changes))] == expected


def test_models_that_part_where_a_default_ran_prove_nothing(tmp_path: Path) -> None:
    def why(module: str, *changes: tuple[str, str]) -> dict[str, WorkerFailure]:
        pair: Any = SimpleNamespace(configs=written(tmp_path, *changes), labels=("megatron", "mindformers"))
        return _undecided_failures(pair, SeedResults((), [], {}, Divergence(module, "forward"), ()))

    norm, opened = "decoder.layers.0.input_layernorm", ("--norm-epsilon 1e-06", "--norm-epsilon $EPS")
    assert why(norm) == {}
    reason = why(norm, opened)["megatron"].reason
    assert "norm.epsilon (--norm-epsilon $EPS)" in reason
    assert "--var" in reason
    # A fork's own word is open, too: it is no variable, and stands there.
    own = ("--normalization 'RMSNorm'", "--normalization DeepNorm --a-word --another --third --fourth")
    for changes in ((own,), (own, opened)):  # no option helps, beside an unknown variable neither
        reason = why(norm, *changes)["megatron"].reason
        assert "(--normalization DeepNorm)" in reason
        assert "--var" not in reason
    assert why("embedding", opened) == {}  # the open value decides nothing there
    assert why(norm, opened, ("--normalization 'RMSNorm'", "")) == {}


def test_what_a_fork_makes_of_its_own_argument_is_not_compared(tmp_path: Path) -> None:
    """Forks build other networks by such a flag (`--use-bridge`): models without it prove nothing of that."""
    known, strange = ("--bf16", "--bf16 --no-one-logger"), "--use-bridge --hf-model x"
    told = [entry.field for entry in unexercised_fields(written(tmp_path, known), Findings(), "all")]
    assert told == []
    own = ("--bf16", f"--bf16 {strange}")
    told = [entry.field for entry in unexercised_fields(written(tmp_path, own), Findings(), "all")]
    assert told == ["--use-bridge", "--hf-model"]


_PACKS = "--use-flash-attn --transformer-impl local --no-masked-softmax-fusion"


# The cited functions of verifier/fork_flags.yaml, read in MindSpeed-LLM 2.1.0, 2.2.0, 2.3.0 and 26.1.0, and
# in those of the other forks that the table names.
_TURBO = "--enable_primus_turbo true --use_turbo_attention true"
_FUSED = f"{_TURBO} --num-experts 8 --disable-bias-linear --turbo_sync_free_moe_stage 1"


@pytest.mark.parametrize(
    ("fork", "words", "unchecked"),
    [
        ("mindspeed-llm-2.3", "--use-fused-rmsnorm --use-fused-swiglu", {}),
        ("mindspeed-llm-2.3", "--add-rmsnorm-offset", {"--add-rmsnorm-offset": "no equivalent"}),
        ("mindspeed-llm-2.2", f"{_PACKS} --reset-position-ids", {}),
        ("mindspeed-llm-2.1", f"{_PACKS} --reset-position-ids", {"--reset-position-ids": "the code of"}),  # two samples
        ("mindspeed-llm-2.2", f"{_PACKS} --reset-attention-mask", {"--reset-attention-mask": "the code of"}),
        ("mindspeed-llm-2.3", f"{_PACKS} --reset-attention-mask", {}),
        ("mindspeed-llm-2.3", "--spec mindspeed_llm.tasks.models.spec.qwen3_spec layer_spec --qk-layernorm", {}),
        ("mindspeed-llm-2.3", "--spec mindspeed_llm.tasks.models.spec.hunyuan_spec layer_spec", {"--spec": ""}),
        ("mindspeed-llm-2.3", "--num-experts 8 --moe-router-load-balancing-type none --jit-compile --use-mc2", {}),
        ("mindspeed-llm-2.2", "--num-experts 8 --moe-router-load-balancing-type sparsemixer_topk", {
            "--moe-router-load-balancing-type": "only exists in",
        }),
        ("mindspeed-llm-2.2", "--num-experts 8 --moe-router-load-balancing-type group_limited_greedy", {
            "--moe-router-load-balancing-type": "ranks groups by their best expert",
        }),
        ("mindspeed-llm-2.1", "--use-fused-swiglu --trust-remote-code", {}),  # the version that has it
        ("mindspeed-llm-2.1", "--disable-gloo-group --use-mc2 --variable-seq-lengths", {"--use-mc2": "the code of"}),
        ("mindspeed-llm-2.3", "--variable-seq-lengths --is-instruction-dataset", {
            "--variable-seq-lengths": "the code of", "--is-instruction-dataset": "",
        }),
        ("mindspeed-llm-2.3", "--enable-high-availability --enable-hbmfault-repair", {}),
        ("mindspeed-llm-2.3", "--enable-high-availability --enable-elastic-training", {
            "--enable-high-availability": "the code of", "--enable-elastic-training": "the code of",
        }),
        ("primus-26.5", f"{_TURBO} --log_avg_reset_interval 5", {}),
        ("primus-26.5", f"{_TURBO} --softmax-type learnable", {
            "--enable_primus_turbo": "the code of Primus 26.5", "--use_turbo_attention": "did not run the code of",
        }),
        ("primus-26.5", "--enable_primus_turbo true --use_turbo_rms_norm true --apply-layernorm-1p", {
            "--use_turbo_rms_norm": "the code of",
        }),
        ("primus-26.5", f"{_FUSED} --moe-router-topk 2", {}),
        ("primus-26.5", f"{_FUSED} --moe-router-topk 1 --moe-router-score-function sigmoid", {
            "--turbo_sync_free_moe_stage": "the code of",
        }),
        ("primus-26.5", "--final_logit_softcapping 30", {"--final_logit_softcapping": "Only Primus' own code"}),
        ("flagscale-0.9", "--multiple-of 256 --norm-init-weight 0.5", {}),
        ("flagscale-0.9", "--multiple-of 256 --auto-skip-spiky-loss", {"--auto-skip-spiky-loss": "training steps"}),
        ("slime-0.3", "--sglang-mem-fraction-static 0.7 --colocate --balance-data", {}),
        ("slime-0.3", "--balance-data --num-experts 4", {"--balance-data": "how samples are generated"}),
        ("slime-0.3", "--eps-clip 0.2 --use-wandb", {"--eps-clip": "reinforcement learning"}),
    ],
)  # fmt: skip
def test_a_flag_of_a_fork_is_named_unless_its_meaning_was_compared_with_the_fork_s_code(
    fork: str, words: str, unchecked: dict[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"{SCRIPT} {words}\n", "utf-8")
    config = config_of(read_text(str(script)), ReadOptions(megatron=fork), path=str(script))
    found = {entry.field: entry.reason for entry in coverage.unchecked_fork_flags([config])}
    assert list(found) == list(unchecked)
    for flag, part in unchecked.items():
        assert part in found[flag]


def test_a_condition_on_a_fork_names_arguments_of_each_of_its_versions() -> None:
    """A condition that reads another argument never holds."""
    unknown: list[tuple[str, str, str]] = []
    for name, rows in CHECKED.items():
        for row in rows:
            read = {node.id for node in ast.walk(ast.parse(row.get("when") or "0")) if isinstance(node, ast.Name)}
            for version in versions_in(str(row["versions"]), dialect_versions(name)):
                fork = dialect_named(f"{name}-{version}")
                assert fork is not None
                known = {*fork.own, *catalog(fork.base).by_dest, "raw", "launched"}
                unknown += [(fork.name, row["arguments"], one) for one in read - known]
    assert not unknown


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("", "moe.router.normalize_topk", True),
        ("--turbo_sync_free_moe_stage 1", "moe.router.normalize_topk", False),
        ("--moe_use_fused_router_with_aux_score true", "moe.router.normalize_topk", False),
        ("--turbo_sync_free_moe_stage 1 --disable_primus_topk_router true", "moe.router.normalize_topk", True),
        ("--moe-router-score-function sigmoid --moe-router-enable-expert-bias", "moe.router.expert_bias", True),
        (
            "--moe-router-score-function sigmoid --moe-router-enable-expert-bias --turbo_sync_free_moe_stage 1",
            "moe.router.expert_bias",
            False,
        ),
        ("--attention-dropout 0.1", "attention.dropout", 0.1),
        ("--attention-dropout 0.1 --use_turbo_attention true", "attention.dropout", 0.0),
    ],
)
def test_what_primus_turbo_computes_in_the_place_of_megatron_lm(
    words: str, field: FieldName, value: object, tmp_path: Path
) -> None:
    """Its router takes the softmax before the choice and adds no bias; its attention drops nothing."""
    script = tmp_path / "run.sh"
    experts = "--num-experts 8 --moe-router-topk 2 --disable-bias-linear --enable_primus_turbo true"
    script.write_text(f"{SCRIPT} {experts} {words}\n", "utf-8")
    config = config_of(read_text(str(script)), ReadOptions(megatron="primus-26.5"), path=str(script))
    assert recipe_of(config).value(field) == value


@pytest.mark.parametrize(
    ("fork", "words", "separate"),
    [
        ("mindspeed-llm-2.2", "--use-flash-attn --reset-position-ids", True),
        ("mindspeed-llm-2.3", "--use-flash-attn --reset-position-ids", False),
        ("mindspeed-llm-2.3", "--use-flash-attn --reset-attention-mask", True),
        ("mindspeed-llm-2.2", "--use-flash-attn --reset-attention-mask", False),
        ("pai-megatron-patch-250624", "--dataset MMAP --train-mode pretrain --reset-position-ids", True),
        ("pai-megatron-patch-250624", "--dataset MMAP --train-mode pretrain", False),
    ],
)
def test_pack_mode_of_a_fork_keeps_attention_inside_a_document(
    fork: str, words: str, separate: bool, tmp_path: Path
) -> None:
    """Attention of variable length reads no mask: Megatron-LM's own with Transformer Engine would be causal."""
    script = tmp_path / "run.sh"
    script.write_text(f"{SCRIPT} {words}\n", "utf-8")
    config = config_of(read_text(str(script)), ReadOptions(megatron=fork), path=str(script))
    assert recipe_of(config).value("data.document_attention") is separate


def test_two_files_of_one_framework_are_compared_as_they_are(tmp_path: Path) -> None:
    script, _ = write_pair({"family": "dense"}, tmp_path)
    text = script.read_text("utf-8")
    other = tmp_path / "other.sh"
    other.write_text(text.rstrip() + " --attention-dropout 0.1\n", "utf-8")
    configs = [config_of(read_text(str(path)), ReadOptions(), path=str(path)) for path in (script, other)]
    assert [entry.field for entry in unexercised_fields(configs, Findings(), "all")] == ["attention.dropout"]
    assert unexercised_fields([configs[0], configs[0]], Findings(), "all") == []


def test_nothing_compared_is_no_match() -> None:
    nothing = SeedResults((), [], {}, None, ())
    assert nothing.verdict == "not-verifiable"
    assert nothing._replace(compared=(Comparison(),)).verdict == "match"


def test_only_a_match_becomes_partial() -> None:
    entry = NotCompared("attention.dropout", "it differs", Values(0.1, 0.0))
    known = NotCompared("attention.dropout", "random"), NotCompared("run.seed", "drawn")
    found = Verification(
        "match", ("megatron", "mindformers"), ("a.sh", "b.yaml"), {}, (), 1e-5, "all", (), (), {}, known, None, (), (),
        {}, {}, {},
    )  # fmt: skip
    partial = found.as_partial([entry])
    assert found.as_partial([]).verdict == "match"
    assert partial.verdict == "partial"
    assert [one.field for one in partial.not_compared] == ["attention.dropout", "run.seed"]
    assert found._replace(verdict="mismatch").as_partial([entry]).verdict == "mismatch"
    for language in ("en", "zh"):
        for page in (text_of(partial.to_json(), language), html_page(verify_document(partial.to_json(), language))):
            assert "attention.dropout (0.1 | 0.0): it differs" in page


def test_a_key_that_is_blamed_for_a_mismatch_did_show() -> None:
    """A key that no field takes up, too: both values stand beside the module, and nobody says that it did not show."""
    entry = NotCompared("window_attn_skip_freq", "it has no equal", Values(None, 2))
    found = Verification(
        "mismatch", ("megatron", "mindformers"), ("a.sh", "b.yaml"), {}, (), 1e-5, "all", (Comparison(),), (), {}, (),
        None, (), (DifferingSetting("window_attn_skip_freq", None, 2),), {}, {}, {},
    )  # fmt: skip
    assert found.as_partial([entry]).not_compared == ()
    assert found._replace(differing=()).as_partial([entry]).not_compared == (entry._replace(differs=True),)


def test_a_computed_difference_that_the_models_showed_was_run() -> None:
    """The schedulers gave other rates: nobody says that the rates were not run. Where they agreed, it stays."""
    entry = NotCompared("computed.learning_rates", "they differ", Values([0.1], [0.2]))
    rate = Row("3", 0.1, 0.2, 0.5, agrees=False)
    found = Verification(
        "mismatch", ("megatron", "mindformers"), ("a.sh", "b.yaml"), {}, (), 1e-5, "all",
        (Comparison(rates=(rate,)),), (0,), {}, (), None, (), (),
        {}, {}, {},
    )  # fmt: skip
    assert found.as_partial([entry]).not_compared == ()
    agreeing = found._replace(compared=(found.compared[0]._replace(rates=(rate._replace(agrees=True),)),))
    assert [one.field for one in agreeing.as_partial([entry]).not_compared] == ["computed.learning_rates"]


def verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], accept: str
) -> tuple[int, dict[str, Any], str]:
    """`accmap verify` of a pair whose models match, with dropout on one side and this configuration."""
    script, config = write_pair({"family": "dense", "megatron": {"attention-dropout": 0.1}}, tmp_path)
    (tmp_path / "accmap.toml").write_text(accept, "utf-8")
    use_stand_ins(monkeypatch)
    code = main(["verify", str(script), str(config), "--format", "json", "--quiet"])
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else {}, said.err


def test_what_the_project_accepts_stays_named_and_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found, _said = verified(tmp_path, monkeypatch, capsys, "")
    assert (code, found["verdict"]) == (1, "partial")
    fields = [entry["field"] for entry in found["not_compared"] if entry.get("differs")]
    assert "attention.dropout" in fields
    listed = ", ".join(f'"{field}"' for field in fields)
    code, found, said = verified(tmp_path, monkeypatch, capsys, f"[verify]\naccept = [{listed}]\n")
    assert (code, found["verdict"], said) == (0, "match", "")
    entry = next(one for one in found["not_compared"] if one["field"] == "attention.dropout")
    assert (entry["accepted"], entry["a"], entry["b"]) == (True, 0.1, 0.0)
    assert "differs" not in entry
    page = text_of({**found, "files": [], "ran": []}, "en")
    assert "was not run" not in page
    assert "accepted difference; this run does not show its effect: attention.dropout (0.1 | 0.0)" in page


def test_a_flag_is_accepted_with_and_without_its_hyphens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = 'declare = ["my-scale:1:float"]\n[verify]\naccept = ["attention.dropout", {name}]\n'
    script, config = write_pair({"family": "dense", "megatron": {"attention-dropout": 0.1, "my-scale": 2.0}}, tmp_path)
    use_stand_ins(monkeypatch)
    answers: dict[str, dict[str, Any]] = {}
    for name in ('"--my-scale"', '"my_scale"'):
        (tmp_path / "accmap.toml").write_text(declared.format(name=name), "utf-8")
        main(["verify", str(script), str(config), "--format", "json", "--quiet"])
        said = capsys.readouterr()
        assert "my_scale" not in said.err
        answers[name] = {one["field"]: one for one in json.loads(said.out)["not_compared"]}
        assert answers[name]["--my-scale"]["accepted"] is True
    assert answers['"--my-scale"'] == answers['"my_scale"']


def test_what_is_accepted_in_vain_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    accept = '[verify]\naccept = ["model.hidden_dropout"]\n'
    code, found, said = verified(tmp_path, monkeypatch, capsys, accept)
    assert (code, found["verdict"]) == (1, "partial")
    assert (
        "remove model.hidden_dropout from accept under [verify], because model.hidden_dropout does not differ" in said
    )


@pytest.mark.parametrize(
    ("written", "wrong"), [("accept = 1", "array"), ("accept = [1]", "string"), ("excuse = []", "excuse")]
)
def test_a_table_that_is_no_such_table_is_wrong_use(
    written: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _found, said = verified(tmp_path, monkeypatch, capsys, f"[verify]\n{written}\n")
    assert code == 2
    assert wrong in said


@pytest.mark.frameworks
@pytest.mark.skipif(
    bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
)
@pytest.mark.parametrize(
    ("more", "named"), [("", []), ("--exit-interval 40", ["run.stop_step"]), ("$MOE_ARGS", ["$MOE_ARGS"])]
)
def test_what_convert_writes_matches_and_what_it_was_not_told_is_named(
    more: str, named: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, written = tmp_path / "a.sh", tmp_path / "b.yaml"
    script.write_text(SCRIPT + "\n", "utf-8")
    assert main(["convert", str(script), "--mindformers", "1.9", "-o", str(written)]) == 0
    script.write_text(SCRIPT + more + "\n", "utf-8")
    capsys.readouterr()
    assert main(["verify", str(script), str(written), "--format", "json", "--quiet"]) == bool(named)
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == ("partial" if named else "match"), answer["not_compared"]
    differing_settings = [entry["field"] for entry in answer["not_compared"] if entry.get("differs")]
    assert differing_settings == named


def test_a_fork_s_ramp_of_yarn_that_the_model_takes_is_not_called_unrun(tmp_path: Path) -> None:
    """MLATransformerConfig.beta_fast: the real model is built with the fork's value."""
    script = tmp_path / "run.sh"
    script.write_text(
        "torchrun pretrain_gpt.py --use-mcore-models --num-layers 2 --hidden-size 64 --num-attention-heads 4 --swiglu "
        "--seq-length 32 --max-position-embeddings 32 --micro-batch-size 1 --train-iters 4 --lr 1e-4 --bf16 "
        "--normalization RMSNorm --position-embedding-type rope --vocab-size 512 --tokenizer-type NullTokenizer "
        "--data-path a --multi-latent-attention --q-lora-rank 8 --kv-lora-rank 8 --qk-head-dim 8 "
        "--qk-pos-emb-head-dim 8 --v-head-dim 8 --rope-scaling-type yarn --rope-scaling-factor 8.0 --beta-fast 4 "
        "--rope-scaling-mscale-all-dim 1.0 --rope-scaling-original-max-position-embeddings 4096\n",
        "utf-8",
    )
    options = ReadOptions(megatron="mindspeed-llm-2.3")
    other = tmp_path / "run.yaml"
    written = convert(config_of(read_text(str(script)), options, path=str(script))).text
    other.write_text(written.replace("beta_fast: 4.0", "beta_fast: 32.0"), "utf-8")
    sources = [read_text(str(path)) for path in (script, other)]
    configs = [config_of(source, options, path=source.name) for source in sources]
    found = {entry.field for entry in unexercised_fields(configs, pair_findings(findings_of(configs, sources)), "all")}
    assert not found & {"beta_fast", "--beta-fast", "position.yarn.beta_fast"}
    assert "position.yarn.beta_fast" in {entry.field for entry in differing_settings(configs[0], configs[1])}
