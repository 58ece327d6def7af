"""Rules about the environment of a MindSpore Transformers launch script, which a bare YAML does not have."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copy

import pytest

from accmap.cli.lean import main
from accmap.schemas.compilers.tables import load_table

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "qwen3_dense" / "mindformers.yaml"
CASES = load_table("""
- {code: ENV001, line: "", found: true}
- {code: ENV001, line: "export MS_ASCEND_CHECK_OVERFLOW_MODE=INFNAN_MODE", found: false}
- {code: ENV002, line: "export HCCL_DETERMINISTIC=false", found: true}
- {code: ENV002, line: "export HCCL_DETERMINISTIC=true", found: false}
- {code: ENV003, line: "", found: true}
- {code: ENV003, line: "export ASCEND_LAUNCH_BLOCKING=1", found: false}
""")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['code']}-{case['found']}")
def test_environment(case: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy(EXAMPLE, tmp_path / "run.yaml")
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/bash\n{case['line']}\npython run_mindformer.py --config run.yaml\n", "utf-8")
    main(["lint", str(script), "--format", "json", "--no-cache", "--no-config"])
    found = [entry["code"] for entry in json.loads(capsys.readouterr().out)["diagnostics"]]
    assert (case["code"] in found) is case["found"]
