"""The rows of `validation.yaml` about the optimizer's configuration, held to the real `OptimizerConfig`."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from accmap.schemas.config import ReadOptions
from accmap.schemas.megatron.validation import unmet_rows
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

pytestmark = pytest.mark.frameworks

SOUND = (
    "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 "
    "--micro-batch-size 1 --global-batch-size 8 --train-iters 10 --lr 1e-4 --vocab-size 1000 "
    "--tokenizer-type NullTokenizer"
)
SWITCHES = ("--use-precision-aware-optimizer", "--use-distributed-optimizer", "--optimizer sgd")
TYPES = ("", "--main-grads-dtype bf16", "--main-params-dtype fp16", "--exp-avg-dtype fp16", "--exp-avg-sq-dtype fp8")


def refuses(values: dict[str, Any]) -> bool:
    """Whether the real class does; that Transformer Engine is missing is another matter."""
    torch = pytest.importorskip("torch")
    real = pytest.importorskip("megatron.core.optimizer.optimizer_config").OptimizerConfig
    named = {name: getattr(torch, value) if name.endswith("_dtype") else value for name, value in values.items()}
    try:
        real(**named)
    except AssertionError:
        return True
    except RuntimeError as error:
        return "TransformerEngine" not in str(error)
    return False


@pytest.mark.parametrize("written", TYPES)
@pytest.mark.parametrize("switches", [chosen for n in range(4) for chosen in itertools.combinations(SWITCHES, n)])
def test_what_the_optimizers_configuration_refuses(switches: tuple[str, ...], written: str) -> None:
    words = " ".join((SOUND, *switches, written))
    source = SourceText("run.sh", f"torchrun pretrain_gpt.py {words}\n")
    config = config_of(source, ReadOptions(megatron="0.12"), path="run.sh")
    asked = ("optimizer", "use_precision_aware_optimizer", "use_distributed_optimizer")
    types = ("main_grads_dtype", "main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype")
    found = [condition for condition, _when, _names in unmet_rows(config)]
    assert bool(found) is refuses({name: config.value(name) for name in (*asked, *types)}), found
