"""Simplification for alignment, its ladder, and pairs that are equal by construction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap.mapper.align.ladder import ALWAYS, RULES, align, alignment_table, steps
from accmap.mapper.align.pair import CONFIGURATION, INITIAL, SCRIPT, pair_of, readme
from accmap.mapper.differences import differences
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.reader import config_of, read_config
from accmap.schemas.source import SourceText

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[2] / "examples"
CASES: list[dict[str, Any]] = load_table((HERE / "cases.yaml").read_text("utf-8"))
BASE = {
    "--num-layers": "2", "--hidden-size": "64", "--num-attention-heads": "4", "--seq-length": "32",
    "--max-position-embeddings": "32", "--micro-batch-size": "1", "--global-batch-size": "8", "--train-iters": "100",
    "--lr": "1e-4", "--min-lr": "0.0", "--hidden-dropout": "0.0", "--attention-dropout": "0.0",
}  # fmt: skip
SIDES = {SCRIPT: "megatron", CONFIGURATION: "mindformers"}
# What one side has by nature and the other has not, or holds in other words; none of them changes what is computed.
BY_NATURE = {
    "model.family", "model.architecture", "model.encoder_num_layers", "model.vocab_size", "model.vocab_divisor",
    "optimizer.fused", "moe.router.balancing", "data.encoder_sequence_length", "data.eod_token", "data.pad_token",
    "data.fill_in_middle", "tokenizer.type", "tokenizer.model", "environment.transformer_impl", "activation.gelu_form",
    "attention.mask_from_dataloader", "run.deterministic", "tokenizer.pad_token",
}  # fmt: skip


def small(words: str, world: int = 1, options: ReadOptions | None = None) -> Config:
    arguments = dict(BASE)
    given = words.split()
    for at, word in enumerate(given):
        if word.startswith("--"):
            value = given[at + 1] if at + 1 < len(given) and not given[at + 1].startswith("--") else ""
            arguments[word] = value
    arguments = {flag: value if value.startswith("$") else value and f"'{value}'" for flag, value in arguments.items()}
    lines = [f"    {flag} {value}" if value else f"    {flag}" for flag, value in arguments.items()]
    text = (
        "#!/bin/bash\nA=(\n"
        + "\n".join(lines)
        + f'\n)\ntorchrun --nproc_per_node {world} pretrain_gpt.py "${{A[@]}}"\n'
    )
    return config_of(SourceText("small.sh", text), options or ReadOptions(), path="small.sh")


@pytest.mark.procedure("proc.align.num_layers")
@pytest.mark.procedure("proc.align.learning_rate_type")
@pytest.mark.procedure("proc.align.warmup_steps")
@pytest.mark.procedure("proc.align.adam_eps")
@pytest.mark.procedure("proc.align.dropout")
@pytest.mark.procedure("proc.align.parallel_off")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_alignment_changes(case: dict[str, Any]) -> None:
    options = ReadOptions(megatron=case.get("megatron"))
    found = align(recipe_of(small(case["arguments"], case.get("world", 1), options)))
    changes = {change.field: [change.before, change.after] for change in found.changes}
    for field, wanted in case.get("changes", {}).items():
        assert changes.get(field) == wanted, field
        if not field.startswith("environment."):
            assert found.recipe.value(field) == wanted[1]
    assert not set(case.get("unchanged", ())) & set(changes)


def test_the_table_names_what_exists() -> None:
    table = alignment_table()
    names = {step.name for step in table.steps} | {ALWAYS}
    lines = [*table.settings, *table.environment]
    assert len({line.field for line in lines}) == len(lines)
    for line in lines:
        assert line.field in vocabulary()
        assert line.back in names
        assert line.rule is None or line.rule in RULES
        assert line.en.endswith(".")
        assert line.zh.endswith("。")
        assert line.sources
    assert set(RULES) == {line.rule for line in lines if line.rule is not None}


@pytest.mark.parametrize(
    "row",
    ["num_layers", "learning_rate_type", "warmup_steps", "adam_eps", "dropout", "parallel_off"],
)
def test_every_line_of_the_guide_is_there(row: str) -> None:
    assert any(f"proc.align.{row}" in line.sources for line in alignment_table().settings)


def test_the_last_step_is_the_source() -> None:
    recipe = recipe_of(read_config(str(HERE / "cluster.sh")))
    last = align(recipe, len(steps()) - 1)
    assert last.changes == ()
    assert last.environment == {}
    assert dict(last.recipe.fields) == dict(recipe.fields)


def test_every_change_comes_back_once() -> None:
    recipe = recipe_of(read_config(str(HERE / "cluster.sh")))
    ladder = [align(recipe, number) for number in range(len(steps()))]
    back = [field for rung in ladder for field in rung.returned]
    # Devices and accumulation follow the other sizes, at more than one step.
    following = {"parallel.world_size", "batch.accumulation_steps"}
    settled = [field for field in back if field not in following]
    assert len(settled) == len(set(settled))
    assert set(back) == {change.field for change in ladder[0].changes}


def test_the_ladder_adds_one_part_at_a_time() -> None:
    recipe = recipe_of(read_config(str(HERE / "cluster.sh")))
    sizes = [align(recipe, number).recipe.value("parallel.world_size") for number in range(len(steps()))]
    assert sizes == [1, 1, 4, 8, 32, 32, 64, 64, 64, 64, 64, 64, 64]
    with_tensor = align(recipe, 3)
    assert "parallel.sequence" in with_tensor.returned  # experts under tensor parallelism need it


@pytest.mark.parametrize("step", [None, *range(13)])
def test_both_files_say_the_same(step: int | None) -> None:
    pair = pair_of(read_config(str(HERE / "cluster.sh")), step=step)
    script, configuration = read_back(pair.texts())
    # What the codes of both make of equal settings is told of the whole pair; of a rung `lint` says it.
    by_code = set() if step is None else {"computed.loss_terms"}
    assert silent(script, configuration, pair) - by_code == set()
    for config in (script, configuration):
        assert [problem for problem in config.problems if problem.kind.severity == "error"] == []
    for config in (script, configuration):
        recipe = recipe_of(config)
        assert recipe.value("batch.global_size") == 64
        assert recipe.value("model.padded_vocab_size") == 32256


@pytest.mark.table(4)
@pytest.mark.parametrize("name", ["qwen3_dense", "qwen3_moe", "deepseek_v3"])
@pytest.mark.parametrize("file", ["megatron.sh", "mindformers.yaml"])
@pytest.mark.parametrize("step", [None, 0, 5])
def test_examples_give_equal_pairs(name: str, file: str, step: int | None) -> None:
    pair = pair_of(read_config(str(EXAMPLES / name / file)), step=step)
    script, configuration = read_back(pair.texts())
    # The balancing loss of the dynamic graph is another one: the report has its field.
    follows = {"computed.loss_terms"} if any(row.field == "moe.router.balancing" for row in pair.rows) else set()
    assert silent(script, configuration, pair) - follows == set()


ONE_SIDED = {
    # What each of them computes: Megatron-LM 0.12 arguments.py:_add_fp8_args, _add_learning_rate_args (decoupled_lr),
    # transformer_config.py (init_method_xavier_uniform); MindFormers 1.9.0 has
    # no such field in parallel_core/transformer_config.py:TransformerConfig, nor a second rate in core/optim.
    "--fp8-format hybrid": ("precision.fp8", "--fp8-format"),
    "--decoupled-lr 1e-3": ("optimizer.decoupled_lr", "--decoupled-lr"),
    "--init-method-xavier-uniform": ("init.xavier_uniform", "--init-method-xavier-uniform"),
    "--rotary-percent 0.5": ("position.rotary_fraction", "--rotary-percent 0.5"),
    "--squared-relu": ("activation.function", "--squared-relu"),
}
ONE_SIDED_BASE = (
    "--untie-embeddings-and-output-weights --vocab-size 100 --tokenizer-type NullTokenizer "
    "--position-embedding-type rope --data-path /d/x --split 1,0,0"
)


@pytest.mark.table(3)
@pytest.mark.parametrize("words", ONE_SIDED)
def test_an_aligned_pair_has_nothing_that_one_side_cannot_do(words: str) -> None:
    field, spelt = ONE_SIDED[words]
    source = small(f"{ONE_SIDED_BASE} {words}")
    pair = pair_of(source, step=0)
    assert field in {change.field for change in pair.changes}
    assert spelt not in pair.texts()[SCRIPT]
    assert [row.field for row in pair.rows if row.changes_numbers] == []
    kept = pair_of(source, step=len(steps()) - 1)
    assert spelt in kept.texts()[SCRIPT]
    assert kept.alignment is not None
    assert field in kept.alignment.returned
    assert field in {row.field for row in kept.rows if row.changes_numbers}


def test_an_aligned_yaml_has_nothing_that_megatron_cannot_do() -> None:
    """Megatron-LM masks no padding token (gpt_dataset.py) and before 0.17 casts the residual back."""
    text = pair_of(small(f"{ONE_SIDED_BASE} --bf16"), mindformers="1.9").texts()[CONFIGURATION]
    text = text.replace("pad_token_id: -1", "pad_token_id: 3")
    text = text.replace("fp32_residual_connection: False", "fp32_residual_connection: True")
    pair = pair_of(config_of(SourceText("m.yaml", text), ReadOptions(), path="m.yaml"), step=0)
    changes = {change.field: change.after for change in pair.changes}
    assert changes["tokenizer.pad_token"] == -1
    assert changes["precision.residual_in_fp32"] is False
    assert "pad_token_id: -1" in pair.texts()[CONFIGURATION]
    assert [row.field for row in pair.rows if row.changes_numbers] == []


def test_an_aligned_script_has_nothing_that_plain_megatron_cannot_say() -> None:
    """MindSpeed-LLM 2.2 has the shared experts' gate (moe/shared_experts.py); Megatron-LM 0.12 only SharedExpertMLP."""
    base = ONE_SIDED_BASE.replace("/d/x", "$DATA")  # an open path is a change, after which all is computed anew
    words = f"{base} --swiglu --disable-bias-linear --normalization RMSNorm --num-experts 4 --moe-router-topk 2"
    words += " --n-shared-experts 2 --shared-expert-gate"
    text = small(words, options=ReadOptions(megatron="mindspeed-llm-2.2"))
    kept = pair_of(text)
    lost = {row.field: row.status for row in kept.rows if row.changes_numbers}
    assert lost["moe.shared.gate"] == "dropped"
    # What follows of the parameters is no contradiction.
    assert kept.megatron.unsaid == kept.mindformers.unsaid == ()
    pair = pair_of(text, step=0)
    assert "moe.shared.gate" in {change.field for change in pair.changes}
    assert "use_shared_expert_gating: True" not in pair.texts()[CONFIGURATION]
    assert "moe.shared.gate" not in {row.field for row in pair.rows if row.changes_numbers}
    assert pair.mindformers.unsaid == ()


def test_experts_alone_are_aligned_as_gated_units() -> None:
    """MindFormers 1.9.0 training_graph/transformer/moe/ffn.py:FFNGroupedGEMM.construct: gated SiLU, always."""
    pair = pair_of(
        small(f"{ONE_SIDED_BASE} --disable-bias-linear --num-experts 4 --moe-router-topk 2"), mindformers="1.9", step=0
    )
    assert {"activation.function", "activation.gated"} <= {change.field for change in pair.changes}
    assert "--swiglu" in pair.texts()[SCRIPT]
    assert [row.field for row in pair.rows if row.changes_numbers] == []


def test_a_window_in_every_second_layer_becomes_one_in_every_layer() -> None:
    """MindFormers 1.9.0 attention.py:Attention.__init__: its first two layers both count from 1."""
    words = "--window-size 16,0 --window-attn-skip-freq 2 --swiglu --disable-bias-linear"
    text = small(f"{ONE_SIDED_BASE} {words}", options=ReadOptions(megatron="0.15"))
    pair = pair_of(text, mindformers="1.9", step=0)
    assert "attention.window_skip_frequency" in {change.field for change in pair.changes}
    assert [row.field for row in pair.rows if row.changes_numbers] == []
    assert "--window-size 16,0" in pair.texts()[SCRIPT]


def test_a_padded_size_that_is_given_needs_no_divisor_of_the_source() -> None:
    """Megatron-LM 0.14 arguments.py takes --padded-vocab-size as it is, a multiple of nothing."""
    base = ONE_SIDED_BASE.replace("--vocab-size 100", "--padded-vocab-size 202048")
    options = ReadOptions(megatron="0.14")
    for words in (base, f"{base} --vocab-size 50000".replace("NullTokenizer", "HuggingFaceTokenizer")):
        script, configuration = read_back(pair_of(small(words, options=options)).texts())
        assert recipe_of(script).value("model.padded_vocab_size") == 202048
        assert recipe_of(configuration).value("model.padded_vocab_size") == 202048


@pytest.mark.parametrize(
    "words",
    [
        # Megatron-LM 0.12 mlp.py:MLP.forward: erf without linear bias; MindFormers 1.9.0 activation.py:GELU: tanh.
        "--disable-bias-linear",
        "--squared-relu --disable-bias-linear --no-bias-gelu-fusion",
        # The class is another one without tied embeddings, and has no experts but gated ones.
        "--disable-bias-linear --no-bias-gelu-fusion --num-experts 4 --moe-router-topk 2 --untied",
        # MindFormers 1.9.0 multi_latent_attention.py: no bias in the output projection.
        "--multi-latent-attention --no-rope-fusion",
    ],
)
def test_what_neither_side_has_the_other_of_becomes_what_both_have(words: str) -> None:
    base = ONE_SIDED_BASE
    if words.endswith("--untied"):
        words, base = words.removesuffix("--untied"), base.replace("--untie-embeddings-and-output-weights ", "")
    pair = pair_of(small(f"{base} {words}"), mindformers="1.9", step=0)
    assert [row.field for row in pair.rows if row.changes_numbers] == []
    assert "--swiglu" in pair.texts()[SCRIPT]
    assert "activation.gelu_form" not in {change.field for change in pair.changes}


@pytest.mark.parametrize("field", ["activation.function", "position.type"])
def test_a_default_that_comes_back_by_itself_is_not_lost(field: str) -> None:
    """Megatron-LM 0.12 arguments.py has no flag for a plain GELU or learned positions: they are what it does."""
    assert field not in {row.field for row in pair_of(small("--vocab-size 100")).rows if row.status == "dropped"}


def test_a_pair_keeps_the_run() -> None:
    source = read_config(str(EXAMPLES / "deepseek_v3" / "megatron.sh"))
    script, _ = read_back(pair_of(source).texts())
    before = {key: value.value for key, value in source.settings.items() if value.origin == "explicit"}
    assert {key: script.value(key) for key in before} == before


def test_one_set_of_weights_serves_both_sides_of_an_aligned_pair() -> None:
    """LayerNorm-1p is the same network, stored another way."""
    source = small(f"{ONE_SIDED_BASE} --apply-layernorm-1p")
    assert "--apply-layernorm-1p" not in pair_of(source, step=0).texts()[SCRIPT]
    kept = pair_of(source)
    assert "--apply-layernorm-1p" in kept.texts()[SCRIPT]
    assert "norm.zero_centered_gamma" not in {row.field for row in kept.rows if row.changes_numbers}


def test_files_of_a_tokenizer_that_are_not_known_have_placeholders() -> None:
    words = "--tokenizer-type GPT2BPETokenizer --vocab-file $HERE/vocab.json --merge-file $HERE/merges.txt"
    pair = pair_of(small(f"{ONE_SIDED_BASE.replace('--tokenizer-type NullTokenizer', words)}"), step=0)
    assert {change.field for change in pair.changes} >= {"tokenizer.vocab_file", "tokenizer.merge_file"}
    assert "--vocab-file /path/to/vocab.json" in pair.texts()[SCRIPT]


def test_both_files_load_the_checkpoint_of_the_source_or_one_that_they_name() -> None:
    script, configuration = [pair_of(small(""), mindformers="1.9").texts()[name] for name in (SCRIPT, CONFIGURATION)]
    words = [line.split("#")[0].strip() for line in script.splitlines()]
    assert {"--load checkpoints/megatron", "--finetune", "--exit-on-missing-checkpoint"} <= set(words)
    assert "load_checkpoint: checkpoints/mindformers" in configuration
    own = pair_of(small("--load /w/step_7 --finetune"), mindformers="1.9")
    assert "checkpoint.load_path" not in {change.field for change in own.changes}
    assert "--exit-on-missing-checkpoint" not in own.texts()[SCRIPT]
    assert yaml.safe_load(own.texts()[CONFIGURATION])["load_checkpoint"] == "/w/step_7"
    page = readme(pair_of(small("")), "en")
    assert "accmap weights convert checkpoints/megatron --to mindformers -o checkpoints/mindformers" in page


@pytest.mark.parametrize(
    ("words", "before", "reason"),
    [("--load /w/step_7", "/w/step_7", "does not fit a model of two layers"), ("", None, "does not load a checkpoint")],
)
def test_the_reason_for_another_checkpoint_is_true_of_the_source(words: str, before: str | None, reason: str) -> None:
    pair = pair_of(small(f"{words} --num-layers 8"), step=0)
    (loaded,) = [change for change in pair.changes if change.field == "checkpoint.load_path"]
    assert (loaded.before, loaded.after) == (before, "checkpoints/megatron")
    assert reason in loaded.en


def test_an_undecided_path_is_the_same_placeholder_on_both_sides() -> None:
    pair = pair_of(small("--data-path $DATA"))
    texts = pair.texts()
    assert [change.field for change in pair.changes] == ["data.blend", "data.split", "checkpoint.load_path"]
    assert all("/path/to/data_text_document" in text for text in texts.values())
    assert all("969,30,1" in text for text in texts.values())
    said = pair_of(small("--data-path $DATA --split 99,1,0"))
    assert [change.field for change in said.changes] == ["data.blend", "checkpoint.load_path"]
    assert all("99,1,0" in text for text in said.texts().values())


def test_mock_data_become_the_same_placeholder_on_both_sides() -> None:
    pair = pair_of(small(f"{ONE_SIDED_BASE} --mock-data".replace("--data-path /d/x --split 1,0,0 ", "")), step=0)
    assert {"data.mock", "data.blend"} <= {change.field for change in pair.changes}
    assert all("/path/to/data_text_document" in text for text in pair.texts().values())


def test_what_is_open_of_the_network_is_the_same_on_both_sides_and_still_asked_for() -> None:
    """Left out of both files, the frameworks' own defaults would stand there: LayerNorm, and a class's RMSNorm."""
    source = small(f"{ONE_SIDED_BASE} --normalization $NORM")
    pair = pair_of(source, step=0)
    assert "norm.type" in {change.field for change in pair.changes}
    texts = pair.texts()
    assert "--normalization RMSNorm" in texts[SCRIPT]
    assert "normalization: RMSNorm" in texts[CONFIGURATION]
    row = next(row for row in pair.rows if row.field == "norm.type")
    assert (row.status, row.changes_numbers) == ("unresolved", True)
    assert "Both files use RMSNorm for now." in row.en
    kept = pair_of(source, step=len(steps()) - 1)
    assert "norm.type" not in {change.field for change in kept.changes}
    assert "--normalization" not in kept.texts()[SCRIPT]


def test_what_follows_of_an_open_size_is_the_same_on_both_sides() -> None:
    """Megatron-LM 0.12 validate_args makes the width four hidden sizes; the classes of MindFormers have their own."""
    words = "--seq-length 32 --max-position-embeddings 32 --micro-batch-size 1 --lr 1e-4 --global-batch-size 8"
    text = f"torchrun --nproc_per_node 1 pretrain_gpt.py {words} {ONE_SIDED_BASE} --train-iters 100\n"
    pair = pair_of(config_of(SourceText("small.sh", text), ReadOptions(), path="small.sh"), step=0)
    values = {change.field: change.after for change in pair.changes}
    width = values["model.ffn_hidden_size"]
    assert f"--ffn-hidden-size {width}" in pair.texts()[SCRIPT]
    assert f"intermediate_size: {width}" in pair.texts()[CONFIGURATION]
    assert not [field for field in values if field.startswith("computed.")]


def test_latent_heads_that_do_not_divide_the_hidden_size_have_a_width_written() -> None:
    """Megatron-LM 0.12 validate_args: hidden_size % num_attention_heads == 0 where kv_channels is None."""
    latent = "--multi-latent-attention --q-lora-rank 32 --kv-lora-rank 32 --qk-head-dim 16 --v-head-dim 16"
    words = f"{ONE_SIDED_BASE} {latent} --qk-pos-emb-head-dim 8 --num-attention-heads 5 --kv-channels 16"
    texts = pair_of(small(words), step=0).texts()
    assert "--kv-channels 16" in texts[SCRIPT]
    script, _ = read_back(texts)
    assert not [one for one in script.problems if one.kind.severity == "error"]
    assert "--kv-channels" not in pair_of(small(words.replace("heads 5", "heads 4")), step=0).texts()[SCRIPT]


def test_what_is_open_stays_so_where_a_decided_setting_would_follow_it() -> None:
    """The tokenizer decides the vocabulary; what the YAML would have in its place is not what the script pads to."""
    base = ONE_SIDED_BASE.replace("--vocab-size 100 --tokenizer-type NullTokenizer ", "")
    words = "--tokenizer-type HuggingFaceTokenizer --tokenizer-model /t --make-vocab-size-divisible-by 16032"
    pair = pair_of(small(f"{base} {words}"), step=0)
    assert pair.megatron.unsaid == pair.mindformers.unsaid == ()


@pytest.mark.procedure("proc.pair.initial_weights")
def test_initial_weights_stop_after_one_checkpoint() -> None:
    pair = pair_of(small("--num-layers 4"), mindformers="1.9", step=0, initial_weights=True)
    content = yaml.safe_load(pair.texts()[INITIAL])
    callbacks = {entry["type"]: entry for entry in content["callbacks"]}
    assert callbacks["TrainCallBack"]["stop_step"] == 1
    monitor = callbacks["CheckpointMonitor"]
    assert monitor["save_checkpoint_steps"] == 1
    assert monitor["checkpoint_format"] == "safetensors"
    assert monitor["prefix"] == content["model"]["model_config"]["model_type"]
    assert content["load_checkpoint"] == ""
    plain = yaml.safe_load(pair.texts()[CONFIGURATION])
    assert "TrainCallBack" not in [entry["type"] for entry in plain["callbacks"]]


def test_the_dynamic_graph_has_its_own_way_to_stop() -> None:
    pair = pair_of(small("--num-layers 4"), step=0, initial_weights=True)
    content = yaml.safe_load(pair.texts()[INITIAL])
    assert content["training"]["steps"] == 1
    assert content["checkpoint"]["save_interleaved_steps"] == 1


def read_back(texts: dict[str, str]) -> tuple[Config, Config]:
    script, configuration = (
        config_of(SourceText(name, texts[name]), ReadOptions(), path=name) for name in (SCRIPT, CONFIGURATION)
    )
    return script, configuration


def silent(script: Config, configuration: Config, pair: Any) -> set[str]:
    """Fields with numeric impact that differ and are not in the report."""
    told = {row.field for row in pair.rows if row.status in ("dropped", "approximate", "conditional", "unresolved")}
    found = differences(recipe_of(script), recipe_of(configuration))
    return {
        row.field
        for row in found
        if row.field is not None and row.status != "equal" and row.impact == "numerics" and row.field not in told
    } - BY_NATURE


@pytest.mark.parametrize(
    ("name", "version"),
    # Megatron-LM 0.19 arguments.py:_add_training_args; core/optim of 1.7 has no Muon, of 1.9 none of the others.
    [("soap", "1.9"), ("adaptive_muon", "1.9"), ("lion", "1.9"), ("muon", "1.7"), ("dist_muon", "1.7")],
)
def test_an_optimizer_that_one_side_has_is_both_sides_adam(name: str, version: str) -> None:
    """The aligned pair runs, and the change names what both have in its place."""
    source = small(f"{ONE_SIDED_BASE} --bf16 --optimizer {name}", options=ReadOptions(megatron="0.19"))
    pair = pair_of(source, mindformers=version, megatron="0.19", step=0)
    script, configuration = read_back(pair.texts())
    assert (script.value("optimizer"), configuration.value("optimizer.type")) == ("adam", "AdamW")
    assert "optimizer.type" in {change.field for change in pair.changes}
