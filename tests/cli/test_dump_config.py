"""`accmap dump config`: what is written, what is refused, in both forms of answer."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DENSE = (str(EXAMPLES / "qwen3_dense/megatron.sh"), str(EXAMPLES / "qwen3_dense/mindformers.yaml"))
FILES = {
    "msprobe_megatron.json", "msprobe_mindformers.json", "layer_mapping.yaml", "cell_mapping.yaml", "compare.sh",
    "README.md", "README.zh-CN.md",
}  # fmt: skip


@pytest.mark.procedure("proc.dump.msprobe_config")
@pytest.mark.parametrize("name", ["qwen3_dense", "qwen3_moe", "deepseek_v3"])
def test_every_example_gets_its_files(accmap, tmp_path: Path, name: str) -> None:
    answer = accmap(
        "dump", "config", *(str(EXAMPLES / name / file) for file in ("megatron.sh", "mindformers.yaml")), "-d", "d"
    )
    assert answer.code == 0, answer.out
    assert {path.name for path in (tmp_path / "d").iterdir()} == FILES
    settings = json.loads((tmp_path / "d/msprobe_mindformers.json").read_text())
    assert settings["dump_path"] == str(tmp_path / "d/mindformers")


def test_one_file_of_either_side(accmap, tmp_path: Path) -> None:
    for number, file in enumerate(DENSE):
        assert accmap("dump", "config", file, "-d", str(number)).code == 0
        assert (tmp_path / str(number) / "layer_mapping.yaml").read_text() == (
            tmp_path / "0/layer_mapping.yaml"
        ).read_text()
    assert "accmap converted it" in (tmp_path / "0/README.md").read_text()


@pytest.mark.procedure("proc.dump.o2")
def test_the_environment_of_mindspores_own_dump(accmap, tmp_path: Path) -> None:
    answer = accmap(
        "dump", "config", DENSE[1], "-d", "d", "--kind", "mindspore-o2", "--steps", "0,5-8", "--format", "json"
    )
    told = json.loads(answer.out)
    path = str(tmp_path / "d/mindspore_dump.json")
    assert told["environment"] == {"MINDSPORE_DUMP_CONFIG": path, "MS_ACL_DUMP_CFG_PATH": path}
    assert json.loads(Path(path).read_text())["common_dump_settings"]["iteration"] == "0|5-8"


def test_json_is_as_its_schema_says(accmap) -> None:
    schema = json.loads(accmap("schema", "dump-config").out)
    for words in ((), ("--steps", "999999"), ("--kind", "mindspore-o0"), ("--msprobe", "8", "--precheck")):
        answer = accmap("dump", "config", *DENSE, "-d", f"d{len(words)}{words[-1:]}", "--format", "json", *words)
        jsonschema.validate(json.loads(answer.out), schema)


def test_nothing_is_written_where_the_dump_would_be_empty(accmap, tmp_path: Path) -> None:
    answer = accmap("dump", "config", *DENSE, "-d", "d", "--steps", "999999")
    assert answer.code == 1
    assert "EVD020 The run never reaches step 999999" in answer.out
    assert not (tmp_path / "d").exists()
    chinese = accmap("dump", "config", *DENSE, "-d", "d", "--scope", "decoder.layers.999.mlp", "--lang", "zh")
    assert chinese.code == 1
    assert "该模型没有模块 decoder.layers.999.mlp" in chinese.out


def test_a_size_that_the_file_leaves_open(accmap) -> None:
    text = Path(DENSE[0]).read_text().replace("--num-layers", "--num-layers $DEPTH # ")
    for others in ((), (DENSE[1],)):
        answer = accmap("dump", "config", "run.sh", *others, "-d", "d", files={"run.sh": text})
        assert answer.code == 1
        assert "EVD025" in answer.out
        assert "run.sh does not contain the value of model.num_layers" in answer.out
    assert accmap("dump", "config", "run.sh", "-d", "d", "--var", "DEPTH=4").code == 0


def test_existing_files_are_kept_unless_forced(accmap, tmp_path: Path) -> None:
    assert accmap("dump", "config", *DENSE, "-d", "d").code == 0
    (tmp_path / "d/compare.sh").write_text("mine")
    refused = accmap("dump", "config", *DENSE, "-d", "d")
    assert refused.code == 2
    assert "--force" in refused.err
    assert (tmp_path / "d/compare.sh").read_text() == "mine"
    assert accmap("dump", "config", *DENSE, "-d", "d", "--force").code == 0
    assert (tmp_path / "d/compare.sh").read_text() != "mine"
    assert not [name for name in os.listdir(tmp_path / "d") if name.startswith(".")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "-d dump"),
        (("-d", "d", "--steps", "x"), "--steps accepts numbers"),
        (("-d", "d", "--ranks", "3-1"), "--ranks accepts numbers"),
        (("-d", "d", "--scope", "a", "b", "c"), "one or two modules"),
        (("-d", "d", "--level", "L7"), "--level must be one of"),
        (("-d", "d", "--kind", "o0"), "--kind must be one of"),
    ],
)
def test_wrong_use(accmap, words: tuple[str, ...], said: str) -> None:
    answer = accmap("dump", "config", *DENSE, *words)
    assert answer.code == 2
    assert said in answer.err


def test_two_files_of_one_framework(accmap) -> None:
    answer = accmap("dump", "config", DENSE[0], DENSE[0], "-d", "d")
    assert answer.code == 2
    assert "both files belong to megatron" in answer.err


def test_a_file_that_is_none(accmap) -> None:
    assert accmap("dump", "config", "nothing.sh", "-d", "d").code == 2


def test_a_directory_that_cannot_be_made(accmap) -> None:
    answer = accmap("dump", "config", *DENSE, "-d", "file/d", files={"file": "x"})
    assert answer.code == 2
    assert "cannot be created" in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--kind", "mindspore-o1", "--level", "L1"), "require `--kind msprobe`"),
        (("--kind", "mindspore-o0", "--precheck"), "require `--kind msprobe`"),
        (("--kind", "mindspore-o2", "--msprobe", "8"), "require `--kind msprobe`"),
        (("--summary", "md5"), "--task statistics"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(accmap, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    answer = accmap("dump", "config", *DENSE, "-d", "d", *words)
    assert answer.code == 2
    assert said in answer.err
    assert not (tmp_path / "d").exists()


def test_lines_for_a_shell_are_quoted(accmap) -> None:
    answer = accmap("dump", "config", DENSE[1], "-d", "a b", "--kind", "mindspore-o0")
    assert "export MINDSPORE_DUMP_CONFIG='/" in answer.out


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no UTF-8")
def test_a_directory_whose_name_is_no_utf8(accmap) -> None:
    answer = accmap("dump", "config", *DENSE, "-d", "\udcff")
    assert answer.code == 2
    assert "not UTF-8" in answer.err
    assert not os.path.exists("\udcff")
