"""The compiled static graph beside the real Megatron-Core: what matches eagerly matches compiled, and faults part."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.lean import main
from accmap.schemas.compilers.tables import load_table
from accmap.verifier.installations import missing_modules

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import TABLE, write_pair

NEEDED = bool(missing_modules("megatron") + missing_modules("mindformers"))


PLACES = Path(__file__).parents[2] / ".frameworks" / "mindformers"
NEWER, OLDEST = PLACES / "2.1.0", PLACES / "1.6.0"
OLDEST_PAIRS: dict[str, Any] = load_table((Path(__file__).parent / "pairs" / "oldest.yaml").read_text("utf-8"))


def answer(pair: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    script, config = write_pair(pair, folder)
    main(["verify", str(script), str(config), "--graph", "--timeout", "1200", "--format", "json", "--quiet", *words])
    return json.loads(capsys.readouterr().out)


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.skipif(NEEDED, reason="the frameworks are not installed")
@pytest.mark.parametrize("name", ["deepseek", "dropped"])
def test_a_compiled_graph_matches(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(TABLE["equal"][name], tmp_path, capsys)
    assert found["disagreeing"] == {}, found["failures"]
    assert [one["graph"] for one in found["ran"]] == [None, "static, compiled"]
    assert len(found["loss"]) == 4
    assert all(found[stage] for stage in ("gradients", "training", "clipping", "updates", "rates"))
    fields = {entry["field"] for entry in found["not_compared"]}
    assert "environment.execution_mode" not in fields
    assert ("attention.dropout" in fields) == (name == "dropped")
    used = {entry["name"] for entry in found["stand_ins"]}
    assert {"core-attention", "rms-norm", "embedding"} <= used
    assert ("grouped-product" in used) == (name == "deepseek")


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.skipif(NEEDED, reason="the frameworks are not installed")
@pytest.mark.skipif(not NEWER.is_dir(), reason="2.1 is not here")
def test_a_newer_version_is_compiled_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--mindformers", "2.1", "--mindformers-source", str(NEWER))
    found = answer(TABLE["equal"]["dense"], tmp_path, capsys, *words)
    assert found["disagreeing"] == {}, found["failures"]
    assert found["ran"][1]["graph"] == "static, compiled"
    assert max(row["relative"] or 0 for row in (*found["loss"], *found["gradients"], *found["training"])) < 1e-5


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.skipif(NEEDED, reason="the frameworks are not installed")
@pytest.mark.skipif(not OLDEST.is_dir(), reason="1.6 is not here")
def test_the_oldest_version_is_compiled_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = OLDEST_PAIRS["equal"]["experts and their biases"]
    pair = {**pair, "megatron": {**OLDEST_PAIRS["common"], **pair["megatron"]}}
    script, config = write_pair(pair, tmp_path)
    version = ["--mindformers", "1.6"]
    assert main(["convert", str(script), *version, "-o", str(config), "--force"]) in (0, 1)
    capsys.readouterr()
    words = ["--graph", "--mindformers-source", str(OLDEST), "--timeout", "1200", "--format", "json", "--quiet"]
    main(["verify", str(script), str(config), *version, *words])
    found = json.loads(capsys.readouterr().out)
    assert found["disagreeing"] == {}, found["failures"]
    assert found["ran"][1]["graph"] == "static, compiled"
    assert [row["part"] for row in found["parts"]] == ["auxiliary"]
    assert max(row["relative"] or 0 for row in (*found["loss"], *found["gradients"], *found["training"])) < 1e-5


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.skipif(NEEDED, reason="the frameworks are not installed")
def test_where_it_parts_is_looked_for_eagerly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fault = TABLE["faults"]["rotary_base"]
    found = answer(fault, tmp_path, capsys)
    assert found["verdict"] == "mismatch"
    assert found["first_divergence"]["module"] == fault["expect"]["module"]
    assert fault["expect"]["field"] in [entry["field"] for entry in found["first_divergence"]["differing"]]


def test_a_graph_needs_a_file_of_the_static_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, _config = write_pair(TABLE["equal"]["dense"], tmp_path)
    assert main(["verify", str(script), str(script), "--graph"]) == 2
    assert "neither file is for static graph mode" in capsys.readouterr().err
