"""Effective values after validation, against what the real Megatron-LM made of the same arguments."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from accmap.schemas.config import Argument, Config, Launch, ReadOptions
from accmap.schemas.megatron.catalog import VERSIONS, catalog
from accmap.schemas.megatron.effective import megatron_config
from accmap.schemas.megatron.facts.compile_validation import names, read_rows
from accmap.schemas.plain_values import json_value
from accmap.schemas.source import Span

if TYPE_CHECKING:
    from accmap.schemas.diagnostic import Diagnostic

HERE = os.path.dirname(__file__)
SPAN = Span(1, 1, 1, 1)
REFUSED = {"MAP030", "MAP035"}
ENV = {"CUDA_DEVICE_MAX_CONNECTIONS": "1", "NCCL_ALGO": "Ring"}
# Written after validation, by the training set-up.
LATER = {"padded_vocab_size", "train_iters", "lr_decay_iters", "lr_decay_samples"}


def _table(name: str) -> dict[str, Any]:
    with open(os.path.join(HERE, name), encoding="utf-8") as stream:
        return yaml.load(stream, Loader=yaml.CSafeLoader)


TABLE = _table("effective_cases.yaml")
MODELS = _table("model_cases.yaml")["cases"]


def words(text: str) -> tuple[Argument, ...]:
    return tuple(Argument(word, Span(1, at + 1, 1, at + 2)) for at, word in enumerate(text.split()))


def read(text: str, version: str = "0.12", *, world_size: int | None = 1, env: Any = None, **options: Any) -> Config:
    arguments = words(text)
    launch = Launch("torchrun", None, arguments, world_size, ENV if env is None else env, SPAN)
    return megatron_config(arguments, file="x", options=ReadOptions(megatron=version, **options), launch=launch)


def plain(value: object) -> object:
    return json.loads(json.dumps(json_value(value)))  # type: ignore[arg-type]


def measured() -> list[Any]:
    return [
        pytest.param(case, group, version, id=f"{case['name']}-{version}")
        for case in TABLE["cases"]
        for group in case["expected"]
        for version in group["versions"]
    ]


@pytest.mark.parametrize("case", MODELS, ids=[case["arguments"] for case in MODELS])
def test_refuses_what_the_configuration_of_the_model_refuses(case: dict[str, Any]) -> None:
    for version in (*case.get("refused", ()), *case.get("accepted", ())):
        config = read(f"{TABLE['smallest']} {case['arguments']}", version, world_size=8)
        codes = {problem.kind.code for problem in config.problems}
        assert bool(codes & REFUSED) == (version in case.get("refused", ())), version


@pytest.mark.table(5)
@pytest.mark.parametrize(("case", "group", "version"), measured())
def test_equals_the_real_validation(case: dict[str, Any], group: dict[str, Any], version: str) -> None:
    config = read(case["arguments"], version, world_size=case["world_size"], env=case.get("env"))
    codes = {problem.kind.code for problem in config.problems}
    if group.get("refused"):
        assert codes & REFUSED
        return
    assert not codes & REFUSED, [problem.message() for problem in config.problems]
    expected = {row["key"]: row["value"] for row in TABLE["baseline"] if version in row["versions"]}
    expected.update(group["differs"])
    known = catalog(version)
    for key, value in expected.items():
        setting = config.settings[key]
        if value == "(as given)":
            assert setting.origin in ("explicit", "default"), key
        else:
            assert plain(setting.value) == value, key
            assert type(plain(setting.value)) is type(value), key
    for key, setting in config.settings.items():
        if key in known.by_dest and key not in expected and key not in LATER and setting.origin != "explicit":
            left_alone = known.by_dest[key].default
            assert setting.value == (case["world_size"] if key == "inprocess_active_world_size" else left_alone), key


def test_a_derived_value_names_what_it_came_from() -> None:
    settings = read(TABLE["smallest"] + " --swiglu", "0.16").settings
    assert settings["ffn_hidden_size"].value == 320
    assert settings["ffn_hidden_size"].derived_from == ("swiglu", "hidden_size")
    assert settings["data_parallel_size"].derived_from[0] == "world_size"


def test_a_value_that_validation_overrules_shows_both() -> None:
    config = read(TABLE["smallest"] + " --sequence-parallel")
    setting = config.settings["sequence_parallel"]
    assert (setting.value, setting.origin, setting.flag) == (False, "derived", "--sequence-parallel")
    problem = next(entry for entry in config.problems if entry.kind.name == "overruled-by-validation")
    assert problem.span == setting.span
    assert "tensor_model_parallel_size == 1" in problem.message()
    assert "--sequence-parallel" in problem.message("zh")


def test_another_spelling_stays_explicit() -> None:
    config = read(TABLE["smallest"] + " --bf16 --main-grads-dtype bf16 --num-experts 0", "0.16")
    assert config.settings["main_grads_dtype"].value == "bfloat16"
    assert config.settings["main_grads_dtype"].origin == "explicit"
    assert not [entry for entry in config.problems if entry.kind.severity != "info"]


def test_a_refused_requirement_says_condition_and_values() -> None:
    config = read(TABLE["smallest"] + " --lr 1e-5 --min-lr 1e-4")
    problem = next(entry for entry in config.problems if entry.kind.code == "MAP030")
    assert "min_lr <= lr" in problem.message()
    assert "min_lr = 0.0001" in problem.message()
    assert config.value("ffn_hidden_size") == 512


def test_a_refusal_leaves_out_guards_that_nothing_sets() -> None:
    problem = refusal("--num-layers 12 --pipeline-model-parallel-size 8")
    assert problem.message() == (
        "Megatron-LM 0.15 rejects this run, because it requires num_layers % transformer_pipeline_model_parallel_size"
        " == 0, but num_layers = 12, transformer_pipeline_model_parallel_size = 8."
    )


def test_a_refusal_keeps_guards_that_the_user_set_and_short_ones() -> None:
    problem = refusal("--num-layers 12 --pipeline-model-parallel-size 8 --account-for-loss-in-pipeline-split")
    assert " when (account_for_embedding_in_pipeline_split or account_for_loss_in_pipeline_split)" in problem.message()
    assert "num_layers = 12" in problem.message()
    assert "account_for_loss_in_pipeline_split = True" in problem.message()
    problem = refusal("--num-layers 4", hidden_size=66)
    assert "hidden_size % num_attention_heads == 0 when kv_channels is None, but" in problem.message()


def refusal(flags: str, hidden_size: int = 64) -> Diagnostic:
    script = f"--hidden-size {hidden_size} --num-attention-heads 4 --micro-batch-size 2 --seq-length 64 {flags}"
    config = read(f"{script} --max-position-embeddings 64", "0.15", world_size=8)
    return next(entry for entry in config.problems if entry.kind.code == "MAP030")


@pytest.mark.table(5)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("flags", "refused"),
    [("--swiglu --squared-relu", True), ("--swiglu", False), ("--squared-relu --no-bias-gelu-fusion", False)],
)
def test_two_activations_are_refused(flags: str, refused: bool, version: str) -> None:
    text = "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --micro-batch-size 2 --seq-length 64"
    config = read(f"{text} --max-position-embeddings 64 {flags}", version)
    assert any(entry.kind.code == "MAP030" for entry in config.problems) is refused


def test_without_device_count_what_depends_on_it_stays_open() -> None:
    config = read(TABLE["smallest"], world_size=None)
    for key in ("world_size", "data_parallel_size", "global_batch_size"):
        assert config.settings[key].value is None
        assert not config.settings[key].decided
    assert "world-size-unknown" in {entry.kind.name for entry in config.problems}
    assert read(TABLE["smallest"], world_size=None, env={"WORLD_SIZE": "4"}).value("global_batch_size") == 8
    config = megatron_config(words(TABLE["smallest"]), file="x", options=ReadOptions(world_size=3))
    assert config.value("global_batch_size") == 6


def test_an_undecided_value_leaves_open_only_what_depends_on_it() -> None:
    arguments = (*words(TABLE["smallest"] + " --bf16 --hidden-size"), Argument("$HIDDEN", SPAN, False))
    config = megatron_config(arguments, file="x", options=ReadOptions())
    settings = config.settings
    assert settings["hidden_size"].value is None
    assert settings["hidden_size"].origin == "explicit"
    for key in ("ffn_hidden_size", "kv_channels"):
        assert settings[key].value is None
        assert not settings[key].decided
        assert "hidden_size" in settings[key].derived_from
    assert settings["params_dtype"].value == "bfloat16"
    assert settings["sequence_parallel"].decided


def test_training_defaults_of_the_script() -> None:
    arguments = words(TABLE["smallest"])
    launch = Launch("torchrun", "/opt/Megatron-LM/pretrain_gpt.py", arguments, 1, {}, SPAN)
    config = megatron_config(arguments, file="x", options=ReadOptions(), launch=launch)
    assert config.value("tokenizer_type") == "GPT2BPETokenizer"
    assert not config.settings["padded_vocab_size"].decided


@pytest.mark.parametrize(("version", "padded"), [("0.12", 1280), ("0.17", 1280), ("0.18", 1024)])
def test_padded_vocabulary(version: str, padded: int) -> None:
    text = TABLE["smallest"] + " --tokenizer-type NullTokenizer --vocab-size 1024 --tensor-model-parallel-size 2"
    assert read(text, version, world_size=2).value("padded_vocab_size") == padded


def test_schedule_length() -> None:
    by_samples = read(TABLE["smallest"] + " --train-samples 1001 --global-batch-size 10")
    assert by_samples.value("train_iters") == 100
    assert by_samples.value("lr_decay_samples") == 1001
    assert read(TABLE["smallest"] + " --train-iters 7").value("lr_decay_iters") == 7
    ramp = read(TABLE["smallest"] + " --train-samples 1001 --rampup-batch-size 2 2 100 --global-batch-size 10")
    # 13 steps of 2, 6 of 4, 5 of 6 and 3 of 8 take 104 samples; what is left fills 89 of 10
    assert ramp.value("train_iters") == 116
    refused = read(TABLE["smallest"] + " --train-samples 1001 --rampup-batch-size 2 3 100 --global-batch-size 10")
    assert refused.value("train_iters") is None
    assert any(problem.kind.severity == "error" for problem in refused.problems)


def test_values_from_outside_are_marked() -> None:
    config = read(TABLE["smallest"] + " --use-checkpoint-args --load x")
    assert config.settings["swiglu"].overridable
    assert not config.settings["hidden_size"].overridable
    assert config.settings["ffn_hidden_size"].overridable
    assert not config.settings["lr"].overridable
    assert "values-from-outside" in {entry.kind.name for entry in config.problems}
    assert all(entry.overridable for entry in read("--yaml-cfg x.yaml").settings.values())


def test_every_name_in_the_table_is_known() -> None:
    defined = {"rank", "world_size"}
    unknown: list[str] = []
    known = names(read_rows())
    for row in read_rows():
        for version in row.versions:
            read = {name for text in (row.to, row.when) if text for name in known.read(text)}
            if row.action == "ignored":
                read.add(row.target)
            unknown += [
                f"{version}: {name} in {row}"
                for name in read
                if not catalog(version).knows(name) and (version, name) not in defined and name not in defined
            ]
            if row.action in ("set", "respell", "let"):
                defined.add((version, row.target))  # type: ignore[arg-type]
    assert not unknown


def test_every_row_names_its_source() -> None:
    assert all(".py:" in row.source for row in read_rows())


def test_every_argument_is_listed_explicit_first() -> None:
    for version in VERSIONS:
        config = read("--lr 1e-4 --num-layers 2", version)
        assert set(catalog(version).by_dest) <= set(config.settings)
        assert list(config.settings)[:2] == ["lr", "num_layers"]


@pytest.mark.parametrize("version", ["0.12", "0.19"])
def test_absurd_values_neither_crash_nor_grow(version: str) -> None:
    huge = str(10**15)
    for flag in (
        "--num-layers",
        "--hidden-size",
        "--tensor-model-parallel-size",
        "--mtp-num-layers",
        "--micro-batch-size",
    ):
        for value in ("0", "-1", huge, "x"):
            text = f"{TABLE['smallest']} --mtp-hybrid-override-pattern M --hybrid-override-pattern M {flag} {value}"
            for problem in read(text, version).problems:
                assert problem.message("zh")
