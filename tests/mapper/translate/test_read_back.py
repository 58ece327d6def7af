"""What convert and pair write is read back: what no row of the report names is accmap's own error, exit code 3."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import accmap
from accmap.cli.lean import main
from accmap.mapper.align.pair import pair_of
from accmap.mapper.computed import mindformers
from accmap.mapper.differences import differences
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.translate import mindformers_file, read_back
from accmap.mapper.translate.translation import translate, translate_recipe
from accmap.mapper.translate.update import update
from accmap.mappings.tables import field_named
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from accmap.mapper.differences import Difference
    from accmap.mapper.recipe.values import Recipe
    from accmap.mapper.translate.result import Translation
    from accmap.schemas.config import Config

CASES = load_table(Path(__file__).with_name("cases").joinpath("read_back.yaml").read_text("utf-8"))
EXAMPLE = Path(__file__).parents[3] / "examples" / "qwen3_dense"
SCRIPT, YAML = EXAMPLE / "megatron.sh", EXAMPLE / "mindformers.yaml"


def config(case: dict[str, Any]) -> Config:
    if "arguments" in case:
        text, name = f"torchrun pretrain_gpt.py {case['arguments']}\n", "run.sh"
    elif "model" in case:
        text, name = json.dumps(case["model"]), "config.json"
    else:
        text, name = case["yaml"], "run.yaml"
    options = ReadOptions(
        megatron=case.get("megatron"), mindformers=case.get("mindformers"), world_size=case.get("devices")
    )
    return config_of(SourceText(name, text), options, path=name)


def translated(case: dict[str, Any]) -> Translation:
    return translate(config(case), case.get("into"), case.get("to"), case.get("dialect"))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_difference_has_its_row(case: dict[str, Any]) -> None:
    found = translated(case)
    assert found.unsaid == ()
    assert found.written is not None
    for field, value in case.get("value", {}).items():
        assert recipe_of(found.written).value(field) == value, field
    rows = {row.field: row for row in found.rows if row.field is not None}
    for field, wanted in case.get("report", {}).items():
        assert [rows[field].status, rows[field].impact] == wanted, field
        assert rows[field].en
        assert rows[field].zh
        assert not rows[field].carried or wanted[0] == "approximate"


@pytest.mark.parametrize("field", ["norm.epsilon", "position.rotary_base", "optimizer.beta2", "run.seed"])
def test_what_a_default_decides_is_a_difference_whoever_forgot_it(field: str) -> None:
    # The translation says so itself; what is read back says it where the translation is silent.
    source = config(next(case for case in CASES if case["name"].startswith("what a script leaves open")))
    silent = translate_recipe(recipe_of(source), source, "mindformers", "1.9")
    assert [row.status for row in silent.rows if row.field == field] == ["unresolved"]
    silent = silent._replace(rows=tuple(row for row in silent.rows if row.field != field))
    found = read_back.read_back(silent, source)
    assert [(row.status, row.impact) for row in found.rows if row.field == field] == [("unresolved", "numerics")]


@pytest.mark.parametrize("source", [SCRIPT, YAML], ids=["script", "yaml"])
@pytest.mark.parametrize("step", [None, 0, 3])
def test_both_files_of_a_pair_are_read_back(source: Path, step: int | None) -> None:
    pair = pair_of(accmap.load(str(source)), step=step)
    for side in (pair.megatron, pair.mindformers):
        assert side.written is not None
        assert side.unsaid == ()


@pytest.mark.parametrize("source", [SCRIPT, YAML], ids=["script", "yaml"])
@pytest.mark.parametrize("rung", [{"step": 0}, {"step": 5}, {"step": 0, "trial": "lr-zero"}, {}], ids=str)
def test_what_both_files_of_a_rung_compute_is_compared(
    monkeypatch: pytest.MonkeyPatch, source: Path, rung: dict[str, Any]
) -> None:
    def halved(*_: object) -> float:
        return 0.5

    monkeypatch.setattr(mindformers, "scale", halved)
    pair = pair_of(accmap.load(str(source)), **rung)
    across = pair.mindformers if source is SCRIPT else pair.megatron
    assert [one.field for one in across.unsaid] == ["computed.attention_scale"]
    along = pair.megatron if source is SCRIPT else pair.mindformers
    assert along.unsaid == ()


def test_a_null_tokenizer_s_own_token_is_counted_by_the_version_that_is_written() -> None:
    # Megatron-LM 0.12 training/tokenizer/tokenizer.py:_NullTokenizer has vocab_size + 1 tokens; 0.18
    # core/tokenizers/text/libraries/null_tokenizer.py:NullTokenizer has vocab_size.
    case = {"arguments": "--num-layers 2 --vocab-size 128256 --tokenizer-type NullTokenizer", "megatron": "0.19"}
    pair = pair_of(config(case), megatron="0.12")
    assert pair.megatron.unsaid == ()
    assert pair.megatron.written is not None
    assert (pair.megatron.written.value("vocab_size"), pair.megatron.written.value("padded_vocab_size")) == (
        128255, 128256,
    )  # fmt: skip


def _changed(monkeypatch: pytest.MonkeyPatch, key: str, value: object) -> None:
    """Let the writer get one value wrong, whatever the tables say."""
    real = mindformers_file.mindformers_settings

    def wrong(translation: Translation) -> dict[str, Any]:
        return {**real(translation), key: value}

    monkeypatch.setattr(mindformers_file, "mindformers_settings", wrong)


def test_what_is_written_wrongly_is_not_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _changed(monkeypatch, "model.intermediate_size", 4097)
    out = tmp_path / "new.yaml"
    report = tmp_path / "report.json"
    assert main(["convert", str(SCRIPT), "-o", str(out), "--report", str(report)]) == 3
    assert not out.exists()
    assert not report.exists()
    said = capsys.readouterr().err
    assert "  model.ffn_hidden_size: " in "".join(line[:25] for line in said.split("\n"))
    assert "4097" in said
    assert "--no-read-back" in said
    assert main(["convert", str(SCRIPT), "-o", str(out), "--lang", "zh"]) == 3
    assert "accmap 的缺陷" in capsys.readouterr().err
    assert main(["convert", str(SCRIPT), "-o", str(out), "--no-read-back"]) in (0, 1)
    assert "intermediate_size: 4097" in out.read_text("utf-8")
    folder = tmp_path / "pair"
    assert main(["pair", str(SCRIPT), "-d", str(folder)]) == 3
    assert not folder.exists()
    with pytest.raises(accmap.ReadBackError) as raised:
        accmap.convert(str(SCRIPT))
    assert "model.ffn_hidden_size" in raised.value.message("zh")
    assert "4097" in accmap.convert(str(SCRIPT), read_back=False).text


def test_the_report_says_what_was_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def asked(*words: str) -> dict[str, Any]:
        report = tmp_path / "report.json"
        main(["convert", *words, "-o", str(tmp_path / "new.yaml"), "--report", str(report), "--force"])
        capsys.readouterr()
        return json.loads(report.read_text("utf-8"))["read_back"]

    said = asked(str(SCRIPT))
    assert (said["verdict"], said["undecided"], said["unsaid"]) == ("as-reported", [], [])
    assert said["compared"] > 100
    open_ = tmp_path / "open.sh"
    open_.write_text(SCRIPT.read_text("utf-8").replace("--num-layers 4", "--num-layers $LAYERS"), "utf-8")
    assert "model.num_layers" in asked(str(open_))["undecided"]
    main(["pair", str(SCRIPT), "-d", str(tmp_path / "pair"), "--format", "json"])
    both = json.loads(capsys.readouterr().out)["read_back"]
    assert {name: one["verdict"] for name, one in both.items()} == {
        "example.sh": "as-reported", "example.yaml": "as-reported",
    }  # fmt: skip
    _changed(monkeypatch, "model.intermediate_size", 4097)
    said = asked(str(SCRIPT), "--no-read-back")
    assert said["verdict"] == "differs"
    assert "model.ffn_hidden_size" in [one["field"] for one in said["unsaid"]]


def _says_nothing(*_: object) -> None:
    """In place of the update's own list of what is left."""


def test_what_an_update_leaves_wrong_is_a_row_of_its_report(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "there.yaml"
    there.write_text(YAML.read_text("utf-8").replace("num_hidden_layers: 4", "num_hidden_layers: 6"), "utf-8")
    monkeypatch.setattr("accmap.mapper.translate.update._ROUNDS", 0)
    monkeypatch.setattr("accmap.mapper.translate.update.Updater._say_what_is_left", _says_nothing)
    assert main(["convert", str(SCRIPT), "--update", str(there)]) == 1
    assert "model.num_layers" in capsys.readouterr().err


def test_an_update_is_read_back() -> None:
    source = accmap.load(str(SCRIPT))
    there = YAML.read_text("utf-8").replace("num_hidden_layers: 4", "num_hidden_layers: 6")
    found = update(
        there,
        translate(source, dialect="static"),
        config_of(SourceText("there.yaml", there), ReadOptions(), path="there.yaml"),
    )
    assert not [row for row in found.rows if row.changes_numbers]
    assert "num_hidden_layers: 4" in found.text


def test_the_comparison_is_that_of_diff(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def watched(a: Recipe, b: Recipe, *, whole: bool) -> tuple[Difference, ...]:
        seen.append(f"{a.framework} {b.framework}")
        return differences(a, b, whole=whole)

    monkeypatch.setattr(read_back, "differences", watched)
    source = accmap.load(str(SCRIPT))
    assert translate(source).unsaid == ()
    assert seen == ["megatron mindformers"]


def test_what_only_one_side_says_is_no_difference_where_it_is_what_the_other_does_unasked() -> None:
    # MindFormers 1.9 core/config: an explicit neutral value, which Megatron-LM has no argument for.
    text = YAML.read_text("utf-8").replace(
        "model_config:", "model_config:\n    moe_router_force_expert_balance: False", 1
    )
    one = recipe_of(config_of(SourceText("a.yaml", text), ReadOptions(), path="a.yaml"))
    other = recipe_of(accmap.load(str(SCRIPT)))
    for row in differences(one, other):
        if row.field == "moe.router.force_balance":
            assert row.impact == "none"


# MindSpeed-LLM 2.3.0 features_manager/common/rotary.py: --rope-scaling-type llama3 is Megatron-LM's --use-rope-scaling.
FORK = (
    "--use-mcore-models --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --swiglu "
    "--max-position-embeddings 32 --micro-batch-size 1 --train-iters 4 --lr 1e-4 --bf16 --disable-bias-linear "
    "--normalization RMSNorm --position-embedding-type rope --untie-embeddings-and-output-weights --vocab-size 512 "
    "--tokenizer-type NullTokenizer --data-path a --rope-scaling-type llama3 --rope-scaling-factor 8.0"
)


def test_a_quantity_of_a_rewritten_fork_follows_from_the_fork_s_own_words() -> None:
    pair = pair_of(config({"arguments": FORK, "megatron": "mindspeed-llm-2.3"}), megatron="0.12")
    lost = {row.field: row.source for row in pair.mindformers.rows if row.status == "dropped"}
    assert lost["position.scaling.enabled"] == ("rope_scaling_type",)
    assert pair.mindformers.unsaid == ()
    assert pair.megatron.unsaid == ()


def test_coefficients_of_a_fork_that_are_unequal_by_default_are_no_silence() -> None:
    # MindSpeed-LLM 2.3.0 rotary_pos_embedding.py:apply_rotary_pos_emb_bshd: the quotient of 1.0 and 0.0 is no 1.
    latent = "--multi-latent-attention --q-lora-rank 8 --kv-lora-rank 8 --qk-head-dim 8 --qk-pos-emb-head-dim 8"
    yarn = (
        "--v-head-dim 8 --rope-scaling-type yarn --beta-fast 32 --beta-slow 1 --num-experts 4 --moe-ffn-hidden-size 8"
    )
    words = FORK.replace("--rope-scaling-type llama3", f"{latent} {yarn}")
    words += " --rope-scaling-original-max-position-embeddings 4096"
    for more, is_lost in (("", True), (" --rope-scaling-mscale 1.0 --rope-scaling-mscale-all-dim 1.0", False)):
        found = translated({"arguments": words + more, "megatron": "mindspeed-llm-2.3"})
        lost = {key for row in found.rows if row.status == "dropped" for key in row.source}
        assert ("rope_scaling_type" in lost) is is_lost
        assert found.unsaid == ()


def test_a_fork_s_ramp_of_yarn_is_carried_both_ways() -> None:
    # MindSpeed-LLM 2.3.0 rotary_pos_embedding.py:apply_yarn_scaling; MindFormers 1.9.0 YarnRotaryEmbedding.
    latent = "--multi-latent-attention --q-lora-rank 8 --kv-lora-rank 8 --qk-head-dim 8 --qk-pos-emb-head-dim 8"
    words = FORK.replace("llama3", f"yarn {latent} --v-head-dim 8 --beta-fast 4 --beta-slow 2")
    words += " --rope-scaling-mscale-all-dim 1.0 --rope-scaling-original-max-position-embeddings 4096"
    case: dict[str, Any] = {"arguments": words, "megatron": "mindspeed-llm-2.3"}
    pair = pair_of(config(case), megatron="mindspeed-llm-2.3")
    for made in (pair.mindformers, pair.megatron):
        assert [one.field for one in made.unsaid if str(one.field).startswith("position.")] == []
        assert "position.yarn.beta_fast" not in {row.field for row in made.rows if row.status == "dropped"}
        assert made.written is not None
        back = recipe_of(made.written)
        assert [back.value(field_named(f"position.yarn.beta_{end}")) for end in ("fast", "slow")] == [4, 2]
    plain = pair_of(config(case), megatron="0.12").megatron
    assert {row.field for row in plain.rows if row.status == "dropped"} >= {"position.yarn.beta_fast"}


def test_a_share_that_no_float_gives_back_is_rounding_alone() -> None:
    # megatron 0.12 training/training.py:get_optimizer_param_scheduler: lr_warmup_fraction * lr_decay_steps
    case = {
        "arguments": "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings"
        " 32 --micro-batch-size 1 --global-batch-size 128 --lr 1e-4 --train-samples 1953125000"
        " --lr-decay-samples 1949218748 --lr-warmup-samples 3906252"
    }
    pair = pair_of(config(case))
    warmup = recipe_of(pair.megatron.written).value("schedule.warmup_steps") if pair.megatron.written else None
    assert (pair.megatron.recipe.value("schedule.warmup_steps"), warmup) == (30517.59375, 30517.593750000004)
    assert pair.megatron.unsaid == ()


def test_a_vocabulary_padded_to_an_open_multiple_is_open() -> None:
    # megatron 0.12 training/tokenizer/tokenizer.py:_vocab_size_with_padding; a multiple of the divisor times the ranks.
    for more in ("--tensor-model-parallel-size $TP", "--make-vocab-size-divisible-by $DIVISOR"):
        made = translated({"arguments": f"{FORK.partition('--rope-scaling')[0]} {more}"})
        padded = made.recipe.fields[field_named("model.padded_vocab_size")]
        assert (padded.value, padded.decided) == (None, False)
        assert "unresolved" in {row.status for row in made.rows if row.field == "model.padded_vocab_size"}
        assert "model.model_config.vocab_size" not in {setting.key for setting in made.settings}


@pytest.mark.parametrize("dialect", ["static", "dynamic"])
def test_a_sequence_length_that_a_launch_leaves_open_is_reported(tmp_path: Path, dialect: str) -> None:
    script = tmp_path / "run.sh"
    script.write_text(
        "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 $MORE\n", "utf-8"
    )
    rows = {row.field: row for row in accmap.convert(str(script), version="2.1", dialect=dialect).rows}
    assert (rows["data.sequence_length"].status, rows["data.sequence_length"].impact) == ("unresolved", "numerics")
