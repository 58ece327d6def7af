"""Two files of one framework: both real models, each in its own version, with the same weights and tokens."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.lean import main
from accmap.verifier.installations import missing_modules

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import write_pair

ROOT = Path(__file__).resolve().parents[2]
NEWEST = ROOT / ".frameworks" / "mindformers" / "2.1.0"
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(
        bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
    ),
]


def verified(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    main(["verify", "--format", "json", *words])
    return json.loads(capsys.readouterr().out)


def largest_error(answer: dict[str, Any]) -> float:
    """The largest relative difference of losses, logits and gradients."""
    rows = [*answer["loss"], answer["logits"], *answer["gradients"]]
    return max(row["relative"] for row in rows)


@pytest.mark.parametrize("name", ["megatron.sh", "mindformers.yaml"])
def test_two_runs_of_one_version(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "examples" / "qwen3_dense" / name).read_text("utf-8")
    files = [tmp_path / letter / name for letter in "ab"]
    for file in files:
        file.parent.mkdir()
        file.write_text(text, "utf-8")
    assert verified(capsys, *map(str, files))["verdict"] == "match"
    old, new = {
        "megatron.sh": ("--norm-epsilon 1.0e-6", "--norm-epsilon 1.0e-3"),
        "mindformers.yaml": ("rms_norm_eps: 1.0e-6", "rms_norm_eps: 1.0e-3"),
    }[name]
    files[1].write_text(text.replace(old, new), "utf-8")
    answer = verified(capsys, *map(str, files))
    assert (answer["verdict"], len(set(answer["sides"]))) == ("mismatch", 1)
    assert "norm.epsilon" in answer["first_divergence"]["fields"]


@pytest.mark.skipif(not NEWEST.is_dir(), reason="MindSpore Transformers 2.1 is not here")
def test_a_static_yaml_and_the_dynamic_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    static, dynamic = ROOT / "examples" / "qwen3_dense" / "mindformers.yaml", tmp_path / "new.yaml"
    assert main(["convert", str(static), "--to", "mindformers", "--mindformers", "2.1", "-o", str(dynamic)]) == 0
    versions = {"1.9": "1.9.0", "2.1": "2.1.0"}
    for files, places in (
        ((static, dynamic), ("--b-source", str(NEWEST))),
        ((dynamic, static), ("--a-source", str(NEWEST))),
    ):
        answer = verified(capsys, *map(str, files), *places)
        assert [versions[one["asked"]] for one in answer["ran"]] == [one["version"] for one in answer["ran"]]
        assert largest_error(answer) < 1e-5
        assert (answer["verdict"], answer["initial_weights"]["drawn"]) == ("match", "differently")
        assert {entry["side"] for entry in answer["stand_ins"]} == {"mindformers a", "mindformers b"}


@pytest.mark.skipif(not NEWEST.is_dir(), reason="MindSpore Transformers 2.1 is not here")
def test_counts_begin_with_each_step_and_padding_is_masked_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "examples" / "qwen3_moe" / "mindformers.yaml").read_text("utf-8")
    for old, new in (
        ("load_balancing_type: seq_aux_loss", "load_balancing_type: gbs_aux_loss"),
        ("moe_aux_loss_coeff: 0.001", "moe_aux_loss_coeff: 0.1"),
        ("pad_token_id: -1", "pad_token_id: 5"),
        ("[input_ids, labels, loss_mask, position_ids]", "[input_ids, labels]"),
    ):
        assert old in text
        text = text.replace(old, new)
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(text, "utf-8")
    assert main(["upgrade", str(old), "--from-version", "2.1", "-o", str(new)]) == 0
    places = [word for side in "ab" for word in (f"--{side}-version", "2.1", f"--{side}-source", str(NEWEST))]
    answer = verified(capsys, str(old), str(new), *places)
    assert answer["verdict"] == "match"


def test_weights_that_no_code_initializes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, _config = write_pair({"family": "dense"}, tmp_path)
    other = tmp_path / "b.sh"
    other.write_text(script.read_text("utf-8").replace("--bf16", "--bf16 --no-initialization"), "utf-8")
    answer = verified(capsys, str(script), str(other))
    assert answer["verdict"] == "mismatch"
    assert answer["first_divergence"]["module"] == "initialisation"
    assert answer["first_divergence"]["fields"][0] == "init.skip"
    assert largest_error(answer) == 0.0


def test_gradients_are_added_up_in_the_buffers_of_each_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, _config = write_pair({"family": "dense"}, tmp_path)
    other = tmp_path / "b.sh"
    other.write_text(script.read_text("utf-8").replace("--bf16", "--bf16 --grad-reduce-in-bf16"), "utf-8")
    answer = verified(capsys, str(script), str(other), "--precision", "as-written")
    errors = {row["name"]: row["apart"] for row in answer["precision"]["errors"]}
    buffers = {name: apart for name, apart in errors.items() if name.startswith("accumulated/")}
    assert 0 < max(buffers.values()) < 2
    assert {apart for name, apart in errors.items() if name not in buffers} == {0.0}
