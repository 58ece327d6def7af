"""`accmap doctor`: what is installed, what belongs together, and what makes a launch deterministic."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest

from accmap.cli.evidence import doctor
from accmap.evidence.environment import Installed

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAIR = (str(EXAMPLES / "qwen3_dense/megatron.sh"), str(EXAMPLES / "qwen3_dense/mindformers.yaml"))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """Sets what is installed."""

    def install(**versions: str) -> None:
        entries = tuple(
            Installed(name.replace("_", "-"), version, "both", "python") for name, version in versions.items()
        )
        monkeypatch.setattr(doctor, "installed_software", lambda: (entries, ()))

    return install


@pytest.mark.procedure("proc.pair.versions")
def test_a_set_that_belongs_together(accmap, machine) -> None:
    machine(mindformers="1.8.0", mindspore="2.7.2", cann="8.5.0")
    answer = accmap("doctor")
    assert answer.code == 0
    assert "mindformers 1.8.0 with mindspore 2.7.2, cann 8.5.0, driver 25.5.0" in answer.out
    assert "The installed versions match each other." in answer.out


@pytest.mark.procedure("proc.pair.versions")
def test_a_set_that_does_not(accmap, machine) -> None:
    machine(mindformers="1.8.0", mindspore="2.9.0")
    answer = accmap("doctor", "--lang", "zh")
    assert answer.code == 1
    assert "EVD080 mindspore 2.9.0 与 mindformers 1.8.0 不配套" in answer.out
    assert answer.out.count("1.8.0 软件包元数据") == 2
    assert "package metadata" not in answer.out
    assert "package metadata" in accmap("doctor").out


def test_nothing_installed(accmap, machine) -> None:
    machine(python="3.11.0")
    answer = accmap("doctor", "--format", "json")
    assert (answer.code, json.loads(answer.out)["verdict"]) == (1, "undecided")
    assert "Neither framework is installed" in accmap("doctor").out


def test_a_laptop_with_numpy_alone_is_fine(accmap, machine) -> None:
    machine(python="3.11.7", numpy="2.4.6")
    answer = accmap("doctor", *PAIR, "--lang", "zh")
    assert answer.code == 0, answer.out
    assert "EVD086" in answer.out
    assert "本机: EVD086" in answer.out
    assert "本机未安装 mindformers" in answer.out
    machine(python="3.11.7", numpy="2.4.6", mindformers="1.9.0")
    assert accmap("doctor", *PAIR).code == 1


def test_the_files_are_asked_for_their_environment(accmap, machine) -> None:
    machine(python="3.11.0")
    text = Path(PAIR[1]).read_text()
    script = (
        "export HCCL_DETERMINISTIC=false\nbash scripts/msrun_launcher.sh 'run_mindformer.py --config train.yaml' 8\n"
    )
    answer = accmap("doctor", PAIR[0], "run.sh", files={"train.yaml": text, "run.sh": script})
    assert answer.code == 0
    assert "ENV002 HCCL_DETERMINISTIC is false" in answer.out
    assert "ENV003" in answer.out
    assert "mindformers 1.9.0 with" in answer.out


def test_json_is_as_its_schema_says(accmap, machine) -> None:
    schema = json.loads(accmap("schema", "doctor").out)
    jsonschema.validate(json.loads(accmap("doctor", "--format", "json").out), schema)
    machine(mindformers="1.8.0", mindspore="2.9.0", megatron_core="0.12.0", torch="2.6.0")
    told = json.loads(accmap("doctor", *PAIR, "--format", "json").out)
    jsonschema.validate(told, schema)
    assert told["verdict"] == "apart"
    assert told["environment"]["mindformers"]["HCCL_DETERMINISTIC"] == "true"


@pytest.mark.procedure("proc.determinism.npu_env")
def test_the_printed_environment_is_a_script(accmap, tmp_path: Path) -> None:
    (tmp_path / "environment.sh").write_text(accmap("doctor", "--print-env").out)
    command = "set -eu; . ./environment.sh; echo $HCCL_DETERMINISTIC $ASCEND_LAUNCH_BLOCKING $NCCL_ALGO"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "true 1 Ring\n"
    ours = accmap("doctor", "--print-env", PAIR[1]).out
    assert "HCCL" in ours
    assert "NCCL" not in ours


@pytest.mark.procedure("proc.determinism.torch_seed")
@pytest.mark.procedure("proc.determinism.mindspore_seed")
@pytest.mark.parametrize("framework", ["torch", "mindspore"])
def test_the_printed_code_is_python(accmap, framework: str) -> None:
    answer = accmap("doctor", "--print-seed-code", framework)
    assert answer.code == 0
    compile(answer.out, "seed.py", "exec")
    assert f"import {framework}" in answer.out


def test_wrong_use(accmap) -> None:
    assert accmap("doctor", "--print-seed-code", "jax").code == 2
    assert accmap("doctor", PAIR[0], PAIR[0]).code == 2
    assert accmap("doctor", "nothing.yaml").code == 2


def test_known_defects_of_what_is_installed(accmap, machine) -> None:
    machine(mindformers="1.7.0")
    answer = accmap("doctor")
    assert "Known defects of the installed versions" in answer.out
    assert "DEF501 mindformers" in answer.out
    assert "DEF001" not in answer.out
    found = json.loads(accmap("doctor", "--format", "json").out)
    jsonschema.validate(found, json.loads(accmap("schema", "doctor").out))
    assert "DEF501" in {entry["id"] for entry in found["defects"]}
    machine(mindformers="1.8.0")
    assert "DEF501" not in accmap("doctor").out


def test_known_defects_of_an_engine_beneath(accmap, machine) -> None:
    def told(**versions: str) -> set[str]:
        machine(**versions)
        return {entry["id"] for entry in json.loads(accmap("doctor", "--format", "json").out)["defects"]}

    megatron = {"megatron-core": "0.14.0"}
    assert "DEF076" not in told(**megatron)
    assert "DEF076" in told(**megatron, **{"transformer-engine": "2.6.0"})
    assert "DEF076" not in told(**megatron, **{"transformer-engine": "2.7.0"})


def test_known_defects_of_a_file(accmap, machine) -> None:
    machine(python="3.11.0")
    script = (EXAMPLES / "qwen3_moe/megatron.sh").read_text("utf-8")
    script = script.replace("--nproc_per_node 1", "--nproc_per_node 2").replace(
        "--bf16", "--bf16 --context-parallel-size 2"
    )
    answer = accmap("doctor", "a.sh", "--megatron", "0.15", files={"a.sh": script})
    assert answer.code == 1
    assert "DEF001" in answer.out
