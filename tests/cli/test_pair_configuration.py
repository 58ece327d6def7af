"""What the configuration says of a pair holds for its files in every command that reads them, not in `lint` alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.lean import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "qwen3_dense"
PAIR = 'pairs = [{ megatron = "run.sh", mindformers = "run.yaml", '


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    """A script, and a YAML whose length is not in the file."""
    text = (EXAMPLE / "mindformers.yaml").read_text("utf-8")
    text = text.replace("total_steps: 1000", "total_steps: -1").replace(
        "BlendedMegatronDatasetDataLoader", "MindDataset"
    )
    (tmp_path / "run.yaml").write_text(text, "utf-8")
    (tmp_path / "run.sh").write_text((EXAMPLE / "megatron.sh").read_text("utf-8"), "utf-8")
    return str(tmp_path / "run.sh"), str(tmp_path / "run.yaml")


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    code = main([*words])
    out = capsys.readouterr().out
    return code, json.loads(out) if out.startswith(("{", "[")) else out


def test_the_length_of_a_pair(tmp_path: Path, pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    script, yaml = pair
    before = asked(capsys, "recipe", yaml, "--format", "json")[1]["fields"]["schedule.decay_steps"]
    assert before["value"] is None
    assert asked(capsys, "lr", yaml, "--format", "json")[0] == 2
    (tmp_path / "accmap.toml").write_text(PAIR + "steps = 1000 }]\n", "utf-8")
    after = asked(capsys, "recipe", yaml, "--format", "json")[1]["fields"]["schedule.decay_steps"]
    assert after["value"] == 1000
    code, curves = asked(capsys, "lr", script, yaml, "--format", "json")
    assert (code, curves["verdict"], curves["not_compared"]) == (0, "equal", [])
    rows = asked(capsys, "diff", script, yaml, "--format", "json")[1]["rows"]
    assert next(row["status"] for row in rows if row["field"] == "schedule.decay_steps") == "equal"
    values = asked(capsys, "show", yaml, "--format", "json")[1]["values"]
    assert next(row["value"] for row in values if row["key"] == "resolved.schedule.total_steps") == 1000
    # The command line wins, and a file of no pair takes nothing.
    assert (
        asked(capsys, "recipe", yaml, "--steps", "70", "--format", "json")[1]["fields"]["schedule.decay_steps"]["value"]
        == 70
    )
    (tmp_path / "accmap.toml").write_text((PAIR + "steps = 1000 }]\n").replace("run.", "other."), "utf-8")
    assert asked(capsys, "recipe", yaml, "--format", "json")[1]["fields"]["schedule.decay_steps"]["value"] is None


def test_the_branches_of_a_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = (EXAMPLE / "megatron.sh").read_text("utf-8").replace("--train-iters 1000", '--train-iters "$STEPS"')
    choice = 'if [ "$(hostname)" = big ]; then\n    STEPS=1000\nelse\n    STEPS=500\nfi\n'
    lines = script.split("\n")
    path = tmp_path / "run.sh"
    path.write_text("\n".join([lines[0], choice, *lines[1:]]), "utf-8")
    (tmp_path / "run.yaml").write_text((EXAMPLE / "mindformers.yaml").read_text("utf-8"), "utf-8")

    def steps() -> object:
        return asked(capsys, "recipe", str(path), "--format", "json")[1]["fields"]["run.train_steps"]["value"]

    assert steps() is None
    for answer, wanted in (("yes", 1000), ("no", 500)):
        (tmp_path / "accmap.toml").write_text(PAIR + f'branch = ["2={answer}"] }}]\n', "utf-8")
        assert steps() == wanted
        words = ["lint", str(path), str(tmp_path / "run.yaml"), "--format", "json", "--no-cache"]
        codes = {entry["code"] for entry in asked(capsys, *words)[1]["diagnostics"]}
        assert ("RUN002" in codes) == (answer == "no")


IN_FOLDERS = {
    "root.sh": "torchrun pretrain_gpt.py --num-layers 2 --nonsense 1\n",
    "a/run.sh": "torchrun pretrain_gpt.py --num-layers 2 --nonsense 1\n",
    "b/run.sh": "torchrun pretrain_gpt.py --num-layers 2 --nonsense 1\n",
    "plain/run.sh": "torchrun pretrain_gpt.py --num-layers 2 --nonsense 1\n",
}
USED: list[tuple[list[str], list[str], str | None, list[str]]] = [
    (["a"], ["a/run.sh", "plain/run.sh"], "a", []),
    (["a"], ["plain/run.sh", "plain"], None, []),
    (["a", "b"], ["a/run.sh", "b/run.sh"], None, ["a", "b"]),
    (["a", "b", "."], ["a/run.sh", "b/run.sh", "plain/run.sh"], ".", ["a", "b"]),
    (["a", "."], ["a/run.sh", "root.sh"], ".", ["a"]),
    (["."], ["a/run.sh", "b/run.sh"], ".", []),
    (["a", "b"], ["a", "a/run.sh"], "a", []),
]


@pytest.mark.parametrize(("configured", "named", "used", "told"), USED)
def test_the_order_of_files_does_not_choose_the_configuration(
    accmap, configured: list[str], named: list[str], used: str | None, told: list[str]
) -> None:
    files = {**IN_FOLDERS, **{f"{folder}/accmap.toml": 'profile = "train"\n' for folder in configured}}
    for order in (named, named[::-1]):
        answer = accmap("lint", "--no-cache", "--format", "json", *order, files=files)
        expected = None if used is None else str(Path(used) / "accmap.toml")
        assert json.loads(answer.out)["summary"]["configuration"] == expected
        assert ("did not use" in answer.err) is bool(told)
        assert all(f"{folder}/accmap.toml" in answer.err for folder in told)
