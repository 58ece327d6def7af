"""Which versions are found, and which belong together."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.evidence.environment import (
    Installed,
    deterministic_variables,
    export_lines,
    installed_software,
    judge_versions,
    satisfies,
    seeding_code,
    set_of,
    version_sets,
)
from accmap.evidence.messages_compiled import say
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.reader import read_config

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/qwen3_dense"

TABLE: dict[str, Any] = load_table(Path(__file__).with_name("versions.yaml").read_text("utf-8"))
CASES, FOUND = TABLE["versions"], TABLE["files"]


def here(versions: dict[str, str]) -> list[Installed]:
    return [Installed(name, version, "both", "python") for name, version in versions.items()]


@pytest.mark.procedure("proc.pair.versions")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_versions(case: dict[str, Any]) -> None:
    _sets, findings = judge_versions(here(case["installed"]), [])
    assert [finding.kind.code for finding in findings] == case["findings"]
    assert all("{" not in finding.message(language) for finding in findings for language in ("en", "zh"))


def test_a_file_of_another_version_than_the_installed_one() -> None:
    config = read_config(str(EXAMPLE / "mindformers.yaml"))
    sets, findings = judge_versions(here({"mindformers": "1.8.0", "mindspore": "2.7.2"}), [config])
    assert [finding.kind.code for finding in findings] == ["EVD084"]
    assert "--mindformers 1.8" in findings[0].message()
    assert [belongs.version for belongs in sets] == ["1.8.0", "1.9.0"]


def test_a_file_alone_names_its_set() -> None:
    configs = [read_config(str(EXAMPLE / name)) for name in ("megatron.sh", "mindformers.yaml")]
    sets, findings = judge_versions(here({"numpy": "1.26.4"}), configs)
    assert {(belongs.owner, belongs.version) for belongs in sets} == {
        ("mindformers", "1.9.0"),
        ("megatron-core", "0.12"),
    }
    assert not findings


@pytest.mark.parametrize(
    ("versions", "codes"),
    [
        ({"python": "3.11.7", "numpy": "2.4.6"}, ["EVD086"]),  # nothing of either framework: numpy may be what it likes
        ({"numpy": "1.26.4"}, []),
        ({"numpy": "2.4.6", "mindspore": "2.9.0"}, ["EVD080"]),  # this machine is to run MindSpore Transformers
        ({"numpy": "2.4.6", "mindspore": "2.7.1"}, ["EVD080", "EVD080"]),
        ({"numpy": "2.4.6", "mindformers": "1.9.0"}, ["EVD080", "EVD087"]),
        ({"numpy": "1.26.4", "mindformers": "1.9.0", "mindspore": "2.9.0"}, []),
        ({"numpy": "2.4.6", "torch": "2.7.0"}, ["EVD086", "EVD082"]),
    ],
)
def test_what_the_files_need_of_a_machine_without_their_frameworks(versions: dict[str, str], codes: list[str]) -> None:
    configs = [read_config(str(EXAMPLE / name)) for name in ("mindformers.yaml", "megatron.sh")]
    _sets, findings = judge_versions(here(versions), configs)
    assert [finding.kind.code for finding in findings] == codes


@pytest.mark.procedure("proc.pair.versions")
def test_the_guides_table_is_there() -> None:
    found = set_of("megatron-core", "0.12.0")
    assert found is not None
    assert found.reference == {
        "torch": "2.7.0",
        "numpy": "1.26.4",
        "transformer-engine": "2.1.0",
        "apex": "0.1",
        "cuda": "12.1",
        "python": ">=3.10",
    }
    assert set_of("mindformers", "1.5.0") == set_of("mindformers", "1.5.3")
    assert set_of("mindformers", "0.9") is None


def test_every_row_has_a_source_and_conditions_that_can_be_read() -> None:
    for row in version_sets():
        assert row.source
        for condition in row.needs.values():
            satisfies("1.0", condition)


def test_the_linters_item_says_what_the_table_says() -> None:
    catalog: dict[str, Any] = load_table((ROOT / "rules/catalog/environment.yaml").read_text("utf-8"))
    said = catalog["ENV007"]["what"][0]
    sets = re.findall(
        r"([\d.]+) needs (?:MindSpore )?([\d.]+\d)(?: and (?:CANN )?([\d.]+[\w.]*\w))?",
        said,
    )
    assert len(sets) == 4
    for version, mindspore, cann in sets:
        found = set_of("mindformers", version)
        assert found is not None
        assert found.exact["mindspore"].startswith(mindspore)
        assert not cann or found.exact["cann"] == cann


def test_every_problem_is_met() -> None:
    met = {code for case in CASES for code in case["findings"]} | {"EVD084", "EVD085", "EVD086"}
    assert met == {kind.code for kind in say.kinds.values() if kind.code < "EVD089"}


# --- what is installed ---


@pytest.mark.parametrize("case", FOUND, ids=lambda case: f"{case['name']} {case['version']}")
def test_versions_are_read_from_files(tmp_path: Path, case: dict[str, str]) -> None:
    path = tmp_path / case["path"]
    path.parent.mkdir(parents=True)
    path.write_text(case["text"])
    found, problems = installed_software(str(tmp_path))
    assert not problems
    entry = next(entry for entry in found if entry.name == case["name"])
    assert (entry.version, entry.where) == (case["version"], str(path))


@given(content=st.binary(max_size=300))
def test_no_version_file_stops_it(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    root = tmp_path_factory.mktemp("root")
    for case in FOUND:
        path = root / case["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    installed_software(str(root))


def test_a_version_file_without_a_version_is_said(tmp_path: Path) -> None:
    path = tmp_path / "usr/local/Ascend/driver/version.info"
    path.parent.mkdir(parents=True)
    path.write_text("nothing")
    _found, problems = installed_software(str(tmp_path))
    assert [problem.kind.code for problem in problems] == ["EVD085"]
    assert "version.info does not contain a version" in problems[0].message()


def test_python_and_numpy_are_found() -> None:
    names = {entry.name for entry in installed_software("/nowhere")[0]}
    assert {"python", "numpy"} <= names


@given(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30)), st.integers(0, 5))
def test_conditions(release: tuple[int, int, int], candidate: int) -> None:
    text = ".".join(map(str, release))
    early = f"{text}rc{candidate}"
    assert satisfies(text, f"~={text}")
    assert satisfies(text, f">={text},<={text},=={text}")
    assert not satisfies(text, f"<{text}")
    assert satisfies(early, f"<{text}")
    assert satisfies(text, f">{early}")
    assert not satisfies(f"{release[0]}.{release[1] + 1}.0", f"~={text}")
    later = f"{release[0]}.{release[1]}.{release[2] + 1}"
    assert satisfies(later, f"~={text}")
    assert satisfies(later, f"!={text}")


@pytest.mark.parametrize("condition", ["", "2.7", "=2.7", ">=x y"])
def test_what_is_no_condition(condition: str) -> None:
    with pytest.raises(ValueError, match="no condition"):
        satisfies("1.0", condition)


# --- the deterministic set ---


@pytest.mark.procedure("proc.determinism.npu_env")
def test_the_guides_variables_are_exported() -> None:
    wanted = {"HCCL_DETERMINISTIC": "true", "ASCEND_LAUNCH_BLOCKING": "1"}
    given = {variable.name: variable.value for variable in deterministic_variables("mindformers")}
    assert wanted.items() <= given.items()
    lines = export_lines(("mindformers", "megatron"), "en")
    assert all(line.startswith(("export ", "# ")) for line in lines)
    assert any(line.startswith("export HCCL_DETERMINISTIC=true") for line in lines)


@pytest.mark.procedure("proc.determinism.torch_seed")
@pytest.mark.procedure("proc.determinism.mindspore_seed")
@pytest.mark.parametrize(
    ("framework", "calls"),
    [
        ("torch", {"torch.manual_seed", "torch.cuda.manual_seed_all", "torch.use_deterministic_algorithms"}),
        ("mindspore", {"mindspore.set_seed", "mindspore.set_context"}),
    ],
)
def test_the_code_seeds_everything(framework: str, calls: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    from unittest.mock import MagicMock

    import numpy as np

    stand_in = MagicMock()
    monkeypatch.setitem(sys.modules, framework, stand_in)
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    code = seeding_code(framework, "en")
    exec(compile(code, "seed", "exec"), {})
    first = random.random(), np.random.rand()
    exec(compile(code, "seed", "exec"), {})
    assert (random.random(), np.random.rand()) == first
    called = {str(call)[len("call.") :].partition("(")[0] for call in stand_in.mock_calls}
    assert {call.partition(".")[2] for call in calls} <= called
    assert seeding_code(framework, "zh") != code


@pytest.mark.frameworks
@pytest.mark.parametrize("framework", ["torch", "mindspore"])
@pytest.mark.procedure("proc.determinism.torch_seed")
@pytest.mark.procedure("proc.determinism.mindspore_seed")
def test_the_real_frameworks_draw_the_same_twice(framework: str) -> None:
    import subprocess
    import sys

    pytest.importorskip(framework)
    draw = {
        "torch": "print(torch.rand(3).tolist(), torch.are_deterministic_algorithms_enabled())",
        "mindspore": "drawn = mindspore.ops.standard_normal((3,)).asnumpy().tolist()\n"
        "print(drawn, mindspore.get_context('deterministic'))",
    }
    code = seeding_code(framework, "en") + draw[framework]
    runs = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in "ab"
    }
    assert len(runs) == 1
    assert {"torch": "True", "mindspore": "ON"}[framework] in runs.pop()
