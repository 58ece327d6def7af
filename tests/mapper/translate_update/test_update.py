"""Updating an existing file: what differs in effect changes, every other byte stays."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.mapper.differences import differences
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.translate.translation import Translation, translate
from accmap.mapper.translate.update import Updated, update
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.reader import config_of, read_config
from accmap.schemas.source import SourceText

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[2] / "examples"
CASES: dict[str, list[dict[str, Any]]] = load_table((HERE / "cases.yaml").read_text("utf-8"))
ARGUMENTS = (
    "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32 "
    "--micro-batch-size 1 --global-batch-size 1 --train-iters 100 --lr 1e-4 --lr-decay-style constant "
)
SETTINGS: dict[str, Any] = {
    "use_legacy": False,
    "lr_schedule.type": "ConstantWarmUpLR",
    "lr_schedule.learning_rate": 1e-4,
    "model.model_config.model_type": "qwen3",
    "model.model_config.hidden_size": 64,
    "model.model_config.num_hidden_layers": 2,
    "model.model_config.num_attention_heads": 4,
}
PAIRS = [
    (f"{one}/megatron.sh", f"{other}/mindformers.yaml")
    for one in ("qwen3_dense", "qwen3_moe", "deepseek_v3")
    for other in ("qwen3_dense", "qwen3_moe", "deepseek_v3", "planted")
]


def read(name: str, text: str) -> Config:
    return config_of(SourceText(name, text), ReadOptions(), path=name)


def from_megatron(words: str) -> Translation:
    return translate(read("source.sh", f"torchrun pretrain_gpt.py {ARGUMENTS} {words}\n"), dialect="static")


def from_mindformers(changes: dict[str, Any]) -> Translation:
    content: dict[str, Any] = {}
    for key, value in {**SETTINGS, **changes}.items():
        node = content
        *sections, last = key.split(".")
        for section in sections:
            node = node.setdefault(section, {})
        node[last] = value
    return translate(read("source.yaml", yaml.safe_dump(content).replace("1.0e-04", "0.0001")))


def brought(name: str, text: str, translation: Translation) -> Updated:
    return update(text, translation, read(name, text))


def still_different(name: str, found: Updated, translation: Translation) -> set[str]:
    """Refused fields aside, those that the new text does not have as a newly written file has them."""
    again = update(found.text, translation, read(name, found.text))
    assert again.text == found.text
    return {refusal.field or "" for refusal in again.refused} - {refusal.field or "" for refusal in found.refused}


def check_case(case: dict[str, Any], name: str, translation: Translation) -> None:
    text: str = case["target"]
    found = brought(name, text, translation)
    lines = found.text.split("\n")
    for line in case.get("there", ()):
        assert line in lines
    for line in case.get("gone", ()):
        assert line not in lines
    for start in case.get("starts", ()):
        assert any(line.startswith(start) for line in lines), found.text
    assert still_different(name, found, translation) == set()


@pytest.mark.table(3)
@pytest.mark.parametrize("case", CASES["yaml"], ids=lambda case: case["name"])
def test_a_yaml(case: dict[str, Any]) -> None:
    check_case(case, "target.yaml", from_megatron(case["arguments"]))


@pytest.mark.parametrize("case", CASES["script"], ids=lambda case: case["name"])
def test_a_script(case: dict[str, Any]) -> None:
    check_case(case, "target.sh", from_mindformers(case["changes"]))
    text = brought("target.sh", case["target"], from_mindformers(case["changes"])).text
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0


@pytest.mark.table(4)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_an_example_is_brought_to_another(source: str, target: str) -> None:
    translation = translate(read_config(str(EXAMPLES / source)), dialect="static")
    path = EXAMPLES / target
    text = path.read_text("utf-8")
    found = update(text, translation, read_config(str(path)))
    assert found.refused == ()
    check_effect(found.text, translation, str(path))
    comments = [line.partition("#")[2] for line in text.splitlines() if "#" in line]
    assert all(comment in found.text for comment in comments)


@pytest.mark.table(3)
@pytest.mark.parametrize(("target", "source"), PAIRS)
def test_a_script_is_brought_to_another(target: str, source: str) -> None:
    translation = translate(read_config(str(EXAMPLES / source)))
    path = EXAMPLES / target
    text = path.read_text("utf-8")
    found = update(text, translation, read_config(str(path)))
    assert {refusal.field for refusal in found.refused} <= {"parallel.world_size"}
    check_effect(found.text, translation, str(path))
    comments = [line.partition("#")[2] for line in text.splitlines() if "#" in line]
    assert all(comment in found.text for comment in comments)
    assert subprocess.run(["bash", "-n"], input=found.text, text=True, check=False).returncode == 0


def check_effect(text: str, translation: Translation, path: str) -> None:
    """The new text says for every numeric field what the translation wrote."""
    config = config_of(SourceText(path, text), ReadOptions(), path=path)
    assert update(text, translation, config).text == text
    source = translation.recipe
    told = {row.field for row in translation.rows if row.status not in ("exact", "made-explicit")}
    wanted = {field for setting in translation.settings for field in setting.fields}
    for row in differences(source, recipe_of(config)):
        if row.field in wanted and row.field not in told and row.impact == "numerics" and row.status == "different":
            assert row.field in ("model.vocab_size", "model.vocab_divisor", "moe.router.balancing"), row


def test_nothing_is_touched_where_nothing_differs() -> None:
    path = EXAMPLES / "qwen3_dense" / "mindformers.yaml"
    text = path.read_text("utf-8")
    translation = translate(read_config(str(EXAMPLES / "qwen3_dense" / "megatron.sh")), dialect="static")
    found = update(text, translation, read_config(str(path)))
    assert set(found.changed) <= {"train_dataset.num_parallel_workers"}
    assert update(text, translation, read_config(str(path))).text == found.text


def test_a_missing_section_is_written_whole() -> None:
    found = brought("target.yaml", "# mine\nseed: 1234\n", from_megatron("--clip-grad 0.5"))
    content = yaml.safe_load(found.text)
    assert found.text.startswith("# mine\nseed: 1234\n")
    assert content["runner_wrapper"]["type"] == "MFTrainOneStepCell"
    assert content["runner_wrapper"]["max_grad_norm"] == 0.5
    assert content["lr_schedule"]["type"] == "ConstantWarmUpLR"


def test_the_callback_of_the_expert_bias_comes_with_it() -> None:
    text = "callbacks:\n  - type: MFLossMonitor # loss\n    per_print_times: 1\n"
    words = "--num-experts 4 --moe-router-enable-expert-bias --moe-router-score-function sigmoid"
    content = yaml.safe_load(brought("target.yaml", text, from_megatron(words)).text)
    assert [entry["type"] for entry in content["callbacks"]] == ["MFLossMonitor", "TopkBiasBalanceCallback"]


def test_folders_of_checkpoints_are_kept() -> None:
    text = "output_dir: ./mine\nload_checkpoint: /mine/weights\n"
    found = brought("target.yaml", text, from_megatron("--load /theirs/start --save /theirs --save-interval 10"))
    content = yaml.safe_load(found.text)
    assert (content["output_dir"], content["load_checkpoint"]) == ("./mine", "/mine/weights")
    rows = {str(row.field): row for row in found.rows}
    assert rows["checkpoint.load_path"].status == "conditional"
    assert "the file keeps load_checkpoint (/mine/weights)" in rows["checkpoint.load_path"].en
    new = brought("target.yaml", "seed: 1\n", from_megatron("--load /theirs/start"))
    assert yaml.safe_load(new.text)["load_checkpoint"] == "/theirs/start"


def test_an_undecided_value_is_left_and_said() -> None:
    text = "torchrun pretrain_gpt.py --hidden-size $WIDTH --lr 1e-4\n"
    found = brought("target.sh", text, from_mindformers({}))
    assert "--hidden-size $WIDTH" in found.text
    refusal = next(refusal for refusal in found.refused if refusal.field == "model.hidden_size")
    assert "cannot determine" in refusal.en
    assert "64" in refusal.reason("zh")


def test_the_number_of_devices_is_said() -> None:
    found = brought("target.sh", "torchrun --nproc_per_node 8 pretrain_gpt.py --lr 1e-4\n", from_mindformers({}))
    assert "parallel.world_size" in [refusal.field for refusal in found.refused]


@pytest.mark.parametrize(
    ("name", "text"),
    [("target.sh", "torchrun pretrain_gpt.py --lr 1e-4\n"), ("target.txt", "--lr 1e-4 --num-layers 2")],
)
def test_a_file_of_the_other_framework_is_refused(name: str, text: str) -> None:
    with pytest.raises(UnreadableError):
        brought(name, text, from_megatron(""))


def test_an_argument_list_cannot_be_updated() -> None:
    with pytest.raises(UnreadableError, match="--update can only edit a Megatron-LM launch script"):
        brought("target.txt", "--lr 1e-4 --num-layers 2\n", from_mindformers({}))


@settings(max_examples=25)
@given(
    st.fixed_dictionaries(
        {
            "--hidden-size": st.sampled_from(["64", "128"]),
            "--seed": st.sampled_from(["1", "2"]),
            "--adam-eps": st.sampled_from(["1e-8", "1e-6"]),
            "--weight-decay": st.sampled_from(["0.0", "0.1"]),
            "--lr-warmup-iters": st.sampled_from(["0", "5"]),
            "--num-experts": st.sampled_from(["", "4"]),
            "--attention-dropout": st.sampled_from(["0.0", "0.1"]),
        }
    ),
    st.lists(st.sampled_from(["# one", "", "unknown_key: 1 # two"]), max_size=3),
)
def test_any_run_onto_any_other(arguments: dict[str, str], extra: list[str]) -> None:
    words = " ".join(f"{flag} {value}" for flag, value in arguments.items() if value)
    path = EXAMPLES / "qwen3_moe" / "mindformers.yaml"
    text = path.read_text("utf-8") + "\n".join(dict.fromkeys(extra)) + "\n"
    translation = from_megatron(words)
    found = brought("target.yaml", text, translation)
    assert found.refused == ()
    assert still_different("target.yaml", found, translation) == set()
    assert all(line in found.text.splitlines() for line in extra)


DENSE = "--untie-embeddings-and-output-weights --disable-bias-linear --swiglu --normalization RMSNorm --bf16 "


@pytest.mark.parametrize(
    ("words", "own", "kept", "named"),
    [
        (DENSE, "deepseek_v3", "deepseek_v3", None),
        (DENSE + "--qk-layernorm", "qwen3", "qwen3", None),
        (DENSE + "--qk-layernorm", "telechat3", "telechat3", None),
        (DENSE, "qwen3", "telechat3", "attention.qk_layernorm False"),
        (DENSE + "--multi-latent-attention", "qwen3", "deepseek_v3", "attention.latent.enabled True"),
        (DENSE, "glm4", "telechat3", "cannot train"),
    ],
)
def test_the_model_class_stays_where_it_can(words: str, own: str, kept: str, named: str | None) -> None:
    source = read("source.sh", f"torchrun pretrain_gpt.py {ARGUMENTS} {words}\n")
    text = f"use_legacy: False\nmodel:\n  model_config:\n    model_type: {own}\n    hidden_size: 64\n"
    found = brought("target.yaml", text, translate(source, dialect="static", family=own))
    assert f"    model_type: {kept}" in found.text.split("\n")
    assert [named in remark.en for remark in found.remarks if named] == ([True] if named else [])
    assert [remark.field for remark in found.remarks] == (["model.family"] if named else [])
