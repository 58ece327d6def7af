"""The guide's case study as a pair: each of its three causes is named by the lint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accmap.cli.lean import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "qwen3_dense"


@pytest.mark.procedure("proc.case.weight_decay_scope")
@pytest.mark.procedure("proc.case.embedding_dtype")
@pytest.mark.procedure("proc.case.swiglu_fused")
def test_the_case_study_names_each_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = (EXAMPLE / "megatron.sh").read_text("utf-8")
    every_weight = "--weight-decay 0.1\n    --no-weight-decay-cond-type apply_wd_to_qk_layernorm"
    (tmp_path / "gpu.sh").write_text(script.replace("--weight-decay 0.1", every_weight), "utf-8")
    (tmp_path / "npu.yaml").write_text((EXAMPLE / "mindformers.yaml").read_text("utf-8"), "utf-8")
    files = [str(tmp_path / "gpu.sh"), str(tmp_path / "npu.yaml")]
    code = main(["lint", *files, "--megatron", "0.16", "--format", "json", "--no-cache", "--no-config"])
    found = {entry["code"]: entry for entry in json.loads(capsys.readouterr().out)["diagnostics"]}
    assert code == 1
    assert "decay" in found["OPT007"]["message"]
    assert "embedding" in found["PRC006"]["message"]
    assert "SwiGLU" in found["NET029"]["message"]
    places = [Path(place["file"]).name for place in (found["NET029"], *found["NET029"]["related"])]
    assert places == ["npu.yaml", "gpu.sh"]
