"""A schedule that is given no step: its class is at its end at once, and the length of the run does not stand in.

Run on the real classes of 1.9.0 (`core/lr/lr_schedule.py`), seven of them with `total_steps` -5 and 0, with and without
a warm-up: `accmap lr` has their rates. -1 is replaced by the run's length (`trainer/base_trainer.py`).
"""

from __future__ import annotations

import pytest

from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.schedule.from_config import schedule_of
from accmap.mapper.translate.translation import translate
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

YAML = """
use_legacy: False
run_mode: train
runner_config: {{epochs: 1, batch_size: 1, sink_mode: True, sink_size: 1}}
optimizer: {{type: AdamW}}
lr_schedule: {{type: {kind}, learning_rate: 3.0e-4, lr_end: 1.0e-5, warmup_steps: 0, total_steps: {total}}}
train_dataset:
  data_loader: {{type: BlendedMegatronDatasetDataLoader, sizes: [50, 0, 0], config: {{data_path: [/d]}}}}
model:
  model_config: {{model_type: telechat3, num_hidden_layers: 2, hidden_size: 64, num_attention_heads: 4, vocab_size: 512,
    seq_length: 64}}
"""


@pytest.mark.parametrize("total", [-5, 0])
@pytest.mark.parametrize(
    ("kind", "rates"),
    [("CosineWithWarmUpLR", [3e-4, 1e-5, 1e-5]), ("PolynomialWithWarmUpLR", None)],
)
def test_no_step_is_not_the_runs_length(kind: str, rates: list[float] | None, total: int) -> None:
    text = YAML.format(kind=kind, total=total)
    config = config_of(SourceText("a.yaml", text), ReadOptions(mindformers="1.9"), path="a.yaml")
    assert recipe_of(config).value("schedule.decay_steps") == total
    rows = {row.field: row for row in translate(config, "megatron", "0.12").rows if row.changes_numbers}
    assert "schedule.decay_steps" in rows
    schedule = schedule_of(config, 50)
    assert [one.name for one in schedule.notes].count("no_steps") == 1
    if rates is not None:
        assert [schedule.learning_rate.value(step) for step in range(3)] == pytest.approx(rates, rel=1e-6)


def test_minus_one_is() -> None:
    text = YAML.format(kind="PolynomialWithWarmUpLR", total=-1)
    config = config_of(SourceText("a.yaml", text), ReadOptions(mindformers="1.9"), path="a.yaml")
    assert recipe_of(config).value("schedule.decay_steps") == 50
