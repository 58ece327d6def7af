"""The public functions: what the README shows, and that importing the package loads nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import accmap

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPT = str(EXAMPLES / "qwen3_dense" / "megatron.sh")
YAML = str(EXAMPLES / "qwen3_dense" / "mindformers.yaml")


def test_every_public_name_is_there() -> None:
    for name in accmap.__all__:
        assert getattr(accmap, name) is not None
    with pytest.raises(AttributeError):
        _ = accmap.nothing


def test_loading_a_file_and_its_recipe() -> None:
    config = accmap.load(SCRIPT)
    assert config.value("num_layers") == 4
    assert config.settings["encoder_num_layers"].derived_from == ("num_layers",)
    assert config.recipe.value("model.num_layers") == 4
    assert accmap.load(YAML).recipe.value("model.num_layers") == 4


def test_reading_options_are_taken() -> None:
    config = accmap.load(SCRIPT, accmap.ReadOptions(variables={"DATA_PATH": "/elsewhere"}))
    assert config.value("data_path") == ["/elsewhere"]


def test_converting_there_and_back(tmp_path: Path) -> None:
    there = accmap.convert(SCRIPT)
    assert (there.framework, there.version, there.dialect) == ("mindformers", "2.1", "dynamic")
    assert "model_type: qwen3" in there.text
    assert accmap.convert(SCRIPT, options=accmap.ReadOptions(mindformers="1.7")).version == "1.7"
    assert {row.status for row in there.rows} <= {"exact", "conditional", "made-explicit", "dropped", "approximate"}
    written = tmp_path / "out.yaml"
    written.write_text(there.text)
    back = accmap.convert(accmap.load(str(written)), "megatron", version="0.16")
    assert "--num-layers 4" in back.text


def test_options_name_the_target_where_both_files_are_yamls(tmp_path: Path) -> None:
    source = tmp_path / "old.yaml"
    text = (Path(SCRIPT).parent / "mindformers.yaml").read_text("utf-8")
    source.write_text(
        text.replace("\n    compute_dtype:", "\n    residual_dtype: float32\n    compute_dtype:"), "utf-8"
    )
    options = accmap.ReadOptions(mindformers="1.8")  # which would not start the source
    assert accmap.convert(str(source), "mindformers", options=options).version == "1.8"
    with pytest.raises(accmap.UnreadableError, match="residual_dtype"):
        accmap.convert(str(source), "mindformers", version="1.9", options=options)


def test_what_would_not_start_is_not_converted_in_silence(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(Path(SCRIPT).read_text("utf-8").replace("--bf16", "--bf16 --fp16", 1))
    with pytest.raises(accmap.UnreadableError, match="cannot start this run"):
        accmap.convert(script)
    script.write_text(re.sub(r"--adam-beta1 \S+", "--adam-beta1 0.0", Path(SCRIPT).read_text("utf-8")))
    static = accmap.ReadOptions(mindformers="1.9")
    made, paired = accmap.convert(script, options=static), accmap.pair(script, options=static)
    assert [stop.code for stop in made.will_not_run] == ["first-moment-of-nothing"]
    assert paired.will_not_run == {"example.yaml": made.will_not_run}
    assert "will not run" in made._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "will not run" in paired._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert (accmap.convert(SCRIPT).will_not_run, accmap.pair(SCRIPT).will_not_run) == ((), {})


def test_comparing_two_files() -> None:
    rows = {row.field: row for row in accmap.diff(SCRIPT, YAML)}
    assert rows["norm.epsilon"].status == "equal"
    assert rows["norm.epsilon"].a is not None
    assert rows["norm.epsilon"].a.key == "norm_epsilon"


def test_a_file_that_cannot_be_read_raises_with_its_diagnostic() -> None:
    with pytest.raises(accmap.UnreadableError, match="no such file: ") as caught:
        accmap.load("nowhere.sh")
    assert caught.value.diagnostic.kind.code == "SYN900"
    assert "不存在" in caught.value.diagnostic.message("zh")


def test_a_wrong_name_is_said_and_not_taken_for_an_absent_value(tmp_path: Path) -> None:
    script, run = tmp_path / "a.sh", tmp_path / "a.yaml"
    script.write_text("python pretrain_gpt.py --num-layers 2\n")
    run.write_text("use_legacy: False\nmodel: {model_config: {model_type: qwen3, num_hidden_layers: 2}}\n")
    config = accmap.load(script)
    with pytest.raises(accmap.UsageError, match=r"Megatron-LM 0.12 has no argument 'num_layer'.*num_layers"):
        config.value("num_layer")
    with pytest.raises(accmap.UsageError, match=r"'model.num_layer' is not a field of accmap.*model.num_layers"):
        config.recipe.value("model.num_layer")  # pyright: ignore[reportArgumentType]
    assert (config.value("num_layers"), config.value("data_path")) == (2, None)
    assert config.recipe.value("data.blend") is None
    assert accmap.load(run).value("model.model_config.mtp_loss_factor") is None
    assert accmap.diff(config, run)
    assert all(config.value(key) == setting.value for key, setting in config.settings.items())
