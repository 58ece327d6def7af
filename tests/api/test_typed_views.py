"""`load(path).typed`: the same values as a documented Pydantic model of the file's version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import accmap

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "qwen3_dense"


def test_arguments() -> None:
    loaded = accmap.load(str(EXAMPLES / "megatron.sh"))
    typed: Any = loaded.typed
    assert typed.num_layers == loaded.value("num_layers")
    assert typed.add_bias_linear is False
    assert "layers" in type(typed).model_fields["num_layers"].description


def test_a_yaml_with_lists(tmp_path: Path) -> None:
    loaded = accmap.load(str(EXAMPLES / "mindformers.yaml"))
    typed: Any = loaded.typed
    assert typed.optimizer.type == loaded.value("optimizer.type")
    assert typed.model.model_config_.num_hidden_layers == loaded.value("model.model_config.num_hidden_layers")
    written = tmp_path / "a.yaml"
    written.write_text(
        "use_legacy: False\nrun_mode: train\ntrainer: {type: CausalLanguageModelingTrainer}\n"
        "model:\n  model_config: {model_type: qwen3, num_hidden_layers: 2}\n"
        "callbacks:\n- type: MFLossMonitor\n- type: CheckpointMonitor\n  save_checkpoint_steps: 5\n"
    )
    lists: Any = accmap.load(str(written)).typed
    assert [getattr(one, "type", None) or one["type"] for one in lists.callbacks] == [
        "MFLossMonitor",
        "CheckpointMonitor",
    ]


def test_a_value_that_is_none_of_its_key(tmp_path: Path) -> None:
    written = tmp_path / "a.yaml"
    written.write_text(
        "use_legacy: False\nrun_mode: train\nseed: many\n"
        "model:\n  model_config: {model_type: qwen3, num_hidden_layers: 2}\n"
    )
    with pytest.raises(ValidationError, match="seed"):
        _ = accmap.load(str(written)).typed
