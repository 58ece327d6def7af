"""Unsafe fixes write Megatron-LM's value into the YAML: they converge, and touch nothing but the value."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from planting import findings

from accmap.rules.fixes import Seen, mend
from accmap.schemas.source import SourceText

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FAULTS = {
    "a changed value, with its comment": {"rms_norm_eps: 1.0e-6": "rms_norm_eps: 1.0e-5  # from the model card"},
    "missing keys of one section": {
        "    head_dim: 64\n": "", "    rms_norm_eps: 1.0e-6\n": "", "    num_key_value_heads: 2\n": "",
        "    rope_theta: 1000000.0\n": "",
    },
    "a missing list": {"  betas: [0.9, 0.95]\n": ""},
    "another name that counts": {"hidden_act: silu": "hidden_act: gelu"},
    "many at once": {
        "num_hidden_layers: 4": "num_hidden_layers: 8", "weight_decay: 0.1": "weight_decay: 0.0",
        "learning_rate: 1.0e-4": "learning_rate: 3.0e-4", "initializer_range: 0.02": "initializer_range: 0.01",
        "max_grad_norm: 1.0": "max_grad_norm: 0.5", "pad_token_id: -1": "pad_token_id: 0",
    },
    "a number that YAML reads as a string": {"eps: 1.0e-8": "eps: 1e-6"},
}  # fmt: skip


@pytest.mark.parametrize("what", FAULTS)
def test_fixes_converge_and_keep_comments(what: str) -> None:
    folder = EXAMPLES / "qwen3_dense"
    script, text = ((folder / name).read_text("utf-8") for name in ("megatron.sh", "mindformers.yaml"))
    for old, new in FAULTS[what].items():
        assert old in text
        text = text.replace(old, new, 1)
    planted = {"run.yaml": SourceText("run.yaml", text)}

    def find(texts: dict[str, SourceText]) -> list[object]:
        return list(findings({"run.sh": script, "run.yaml": texts["run.yaml"].text}))

    assert [entry for entry in find(planted) if entry.kind.severity == "error"]  # type: ignore[attr-defined]
    mended = mend(planted, lambda texts: Seen(find(texts)), unsafe=True)  # type: ignore[arg-type]
    after = mended.texts["run.yaml"].text
    assert mended.converged
    assert not [entry for entry in mended.remaining if entry.kind.severity != "info"]
    assert isinstance(yaml.safe_load(after), dict)
    assert re.findall(r"#.*", after) == re.findall(r"#.*", text)
    changed = set(text.split("\n")) ^ set(after.split("\n"))
    assert len(changed) <= 2 * len(FAULTS[what])
