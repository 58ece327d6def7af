"""A YAML that the launch script writes or edits is read as the run will read it, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copy
from typing import Any

import pytest

from accmap.cli.lean import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "qwen3_dense"
LAUNCH = "msrun --worker_num=1 run_mindformer.py --config mindformers.yaml"


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("megatron.sh", "mindformers.yaml"):
        copy(EXAMPLE / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lint(capsys: pytest.CaptureFixture[str], script: str) -> tuple[int, dict[str, Any]]:
    Path("launch.sh").write_text(f"#!/bin/bash\n{script}\n", "utf-8")
    code = main(["lint", "--no-cache", "--no-config", "megatron.sh", "launch.sh", "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def errors(answer: dict[str, Any]) -> list[str]:
    return [one["code"] for one in answer["diagnostics"] if one["severity"] == "error" and not one.get("because_of")]


@pytest.mark.parametrize(
    "change",
    [
        "sed -i 's/learning_rate: 1.0e-4/learning_rate: 3.0e-4/' mindformers.yaml",
        "sed 's/learning_rate: 1.0e-4/learning_rate: 3.0e-4/' mindformers.yaml > t && mv t mindformers.yaml",
        "cat mindformers.yaml | sed 's/learning_rate: 1.0e-4/learning_rate: 3.0e-4/' > t && cp t mindformers.yaml",
    ],
)
def test_a_known_edit_counts(change: str, pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = lint(capsys, f"{change}\n{LAUNCH}")
    assert (code, errors(answer)) == (1, ["SCH051"])
    assert "0.0003" in answer["diagnostics"][0]["message"] + json.dumps(answer)
    Path("launch.sh").write_text(f"{LAUNCH}\n", "utf-8")
    assert lint(capsys, LAUNCH)[0] == 0


@pytest.mark.parametrize(
    "change",
    ["mkdir -p sub; cp mindformers.yaml sub", "cp mindformers.yaml sub/mindformers.yaml", "mv mindformers.yaml sub/"],
)
def test_a_copy_is_read_as_what_was_copied(change: str, pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launch = LAUNCH.replace("mindformers.yaml", "sub/mindformers.yaml")
    assert lint(capsys, f"{change}\n{launch}")[0] == 0
    wrong = "sed -i 's/learning_rate: 1.0e-4/learning_rate: 3.0e-4/' sub/mindformers.yaml"
    assert errors(lint(capsys, f"{change}\n{wrong}\n{launch}")[1]) == ["SCH051"]


def test_a_folder_that_is_not_here(pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the script writes there is not the file of that name that lies here."""
    script = f"cd /workspace/mindformers\ncat > mindformers.yaml <<'EOF'\nseed: 1\nEOF\n{LAUNCH}"
    code, answer = lint(capsys, script)
    assert code == 2
    assert "SYN048" in [one["code"] for one in answer["diagnostics"]]


def test_a_yaml_that_the_script_holds_needs_no_file(pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (pair / "mindformers.yaml").read_text("utf-8").replace("learning_rate: 1.0e-4", "learning_rate: ${LR}")
    for stale in (None, "run_mode: train\n"):
        if stale is not None:
            Path("run.yaml").write_text(stale, "utf-8")
        for rate, wanted in (("1.0e-4", []), ("3.0e-4", ["SCH051"])):
            script = f"LR={rate}\ncat > run.yaml <<EOF\n{text}EOF\n{LAUNCH.replace('mindformers.yaml', 'run.yaml')}"
            assert errors(lint(capsys, script)[1]) == wanted


@pytest.mark.parametrize(
    "change",
    [
        "yq -i '.seed = 7' mindformers.yaml",
        "python - <<PY\nimport yaml\nyaml.safe_dump({}, open('mindformers.yaml', 'w'))\nPY",
        "sed -i '/seed/d' mindformers.yaml",
        'if [ -n "$NODES" ]; then sed -i s/1234/7/ mindformers.yaml; fi',
        "envsubst < mindformers.yaml > t && mv t mindformers.yaml",
        "cd $WORK; sed -i s/1234/7/ mindformers.yaml; cd -",
        "(cd nowhere && sed -i s/1234/7/ mindformers.yaml)",
        "install -m 644 new.yaml mindformers.yaml",
        "sed -ri 's/1234/7/' mindformers.yaml",
        "cp -r other/. .",
        "ln -sf other.yaml mindformers.yaml",
        "sudo tee mindformers.yaml < /dev/null",
        "find . -name '*.yaml' -exec sed -i s/1234/7/ {} +",
        "echo mindformers.yaml | xargs sed -i s/1234/7/",
        "python - mindformers.yaml <<PY\nimport sys\nopen(sys.argv[1], 'w')\nPY",
    ],
)
def test_what_cannot_be_known_is_not_read_as_it_lies(
    change: str, pair: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, answer = lint(capsys, f"{change}\n{LAUNCH}")
    assert code == 2
    assert "SYN048" in [one["code"] for one in answer["diagnostics"]]
    assert main(["lr", "megatron.sh", "launch.sh"]) == 2
    assert "mindformers.yaml" in capsys.readouterr().err


@pytest.mark.parametrize(
    "harmless",
    [
        "ls mindformers.yaml",
        "cat mindformers.yaml",
        "cp mindformers.yaml /tmp/kept.yaml",
        "yq --indent 2 .seed mindformers.yaml",
        "python -c \"import json, yaml; print(json.dumps(yaml.safe_load(open('mindformers.yaml'))))\"",
        "find . -name '*.yaml' | xargs grep seed",
        "python -c '# open " + "A" * 60_000 + "'",
    ],
)
def test_reading_the_yaml_changes_nothing(harmless: str, pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(capsys, f"{harmless}\n{LAUNCH}")[0] == 0


def test_findings_of_a_launch_are_told_without_a_repair(pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The script is no YAML that could be mended in its place."""
    code, answer = lint(capsys, f'echo "start: $(date)"\n{LAUNCH} --options optimizer.weight_decay=0.5')
    assert (code, errors(answer)) == (1, ["OPT006"])
