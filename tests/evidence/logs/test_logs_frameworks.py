"""Logs that the real MindSpore Transformers writes, and the real models' parameter orders."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from accmap.evidence.logs.columns import GRAD_NORM, LEARNING_RATE, LOSS, SKIPPED
from accmap.evidence.logs.local_norms import NormList, order_of
from accmap.evidence.logs.log_reader import read_run
from accmap.mapper.recipe.reading import recipe_of
from accmap.schemas.border.file_input import read_text
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of

pytestmark = pytest.mark.frameworks
RUN = Path(__file__).parents[2] / "framework_run.py"
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
MONITOR = """
import sys
from types import SimpleNamespace
import mindspore as ms
ms.set_device("CPU")
from mindformers.core.callback import MFLossMonitor

class Network(ms.nn.Cell):
    def get_gpt_transformer_config(self):
        return SimpleNamespace(moe_router_load_balancing_type="none")

class Given(dict):
    __getattr__ = dict.__getitem__

monitor = MFLossMonitor(origin_epochs=2, dataset_size=3, global_batch_size=8)
monitor.mf_calculated, monitor.full_model_flops = True, 1e12
network = Network()
for step, loss in enumerate((11.0, 10.5, float("nan"), 9.5, 9.25, 9.0), 1):
    outputs = [ms.Tensor(loss, ms.float32), ms.Tensor(step == 4), ms.Tensor(1.0), ms.Tensor(1e-5 * step, ms.float32)]
    outputs += [ms.Tensor([1.5 * step], ms.float32)]
    if step < 3:
        outputs += [ms.Tensor([float(place) for place in range(1, 40)]), ms.Tensor(list(range(1, 40)))]
    given = Given(cur_step_num=step, cur_epoch_num=(step - 1) // 3 + 1, batch_num=3, mode="train", optimizer=None,
                  train_network=network, network=network, net_outputs=tuple(outputs),
                  dataset_sink_mode=sys.argv[1] == "sink")
    context = SimpleNamespace(original_args=lambda: given)
    if step % 3 == 1:
        monitor.on_train_epoch_begin(context)
    monitor.on_train_step_begin(context)
    monitor.on_train_step_end(context)
"""
ORDERS = """
import json, sys
from accmap.schemas.config import ReadOptions
from accmap.schemas.border.file_input import read_text
from accmap.schemas.reader import config_of
if sys.argv[1] == "megatron":
    from accmap.verifier.megatron.from_launch import blueprint_of
    from accmap.verifier.megatron.model import MegatronBackend as Backend
else:
    from accmap.verifier.mindformers.from_yaml import blueprint_of
    from accmap.verifier.mindformers.model import MindFormersBackend as Backend
backend = Backend()
found = {}
for file in sys.argv[3:]:
    config = config_of(read_text(file), ReadOptions(), path=file)
    model = backend.build(blueprint_of(config), 0).model
    if sys.argv[1] == "megatron":
        kept = model.named_parameters()
    else:
        kept = [(one.name, one) for one in model.trainable_params()]
    found[file] = [[name, len(one.shape) == 1 or name.endswith(".bias")] for name, one in kept]
open(sys.argv[2], "w").write(json.dumps(found))
"""


@pytest.fixture(scope="module", params=["sink", "steps"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the real callback has written its logs."""
    pytest.importorskip("mindformers")
    home = tmp_path_factory.mktemp(request.param)
    done = subprocess.run(
        [sys.executable, str(RUN), "-c", MONITOR, request.param],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (home / "worker_0.log").write_text(done.stdout)
    return home


@pytest.mark.procedure("proc.logs.fields")
@pytest.mark.parametrize("name", ["worker_0.log", "output/log"])
def test_the_real_callbacks_lines(folder: Path, name: str) -> None:
    run = read_run(str(folder / name))
    assert (run.framework, run.dialect) == ("mindformers", "static")
    assert list(run.steps) == [1, 2, 3, 4, 5, 6]
    losses = run.column(LOSS)
    assert math.isnan(losses[2])
    assert [losses[row] for row in (0, 1, 3, 4, 5)] == [11.0, 10.5, 9.5, 9.25, 9.0]
    assert list(run.column(GRAD_NORM)) == [1.5, 3.0, 4.5, 6.0, 7.5, 9.0]
    assert list(run.column(LEARNING_RATE)) == pytest.approx([1e-5 * step for step in range(1, 7)])
    assert list(run.column(SKIPPED)) == [0, 0, 0, 1, 0, 0]
    assert not run.problems


@pytest.mark.procedure("proc.stage2.local_norm")
def test_the_real_callbacks_local_norms(folder: Path) -> None:
    norms = read_run(str(folder / "worker_0.log")).norms
    assert [found.step for found in norms] == [1, 2]
    assert norms[0].values == pytest.approx([math.sqrt(place) for place in range(1, 40)])
    assert norms[0].sizes == tuple(range(1, 40))


@pytest.mark.procedure("proc.logs.fields")
def test_the_real_writers_event_files(tmp_path: Path) -> None:
    writer = pytest.importorskip("tensorboardX").SummaryWriter(str(tmp_path))
    for step in range(1, 5):
        for tag, value in (
            ("loss", 11.0 - step),
            ("grad-norm", 2.0),
            ("learning-rate", 1e-5),
            ("lm-loss", 10.0 - step),
        ):
            writer.add_scalar(tag, value, global_step=step)
            writer.add_scalar(f"{tag} vs samples", value, global_step=step * 8)
    writer.add_scalar("local_norm/decoder.final_layernorm.weight", 0.5, global_step=1)
    writer.add_text("config", "text")
    writer.close()
    run = read_run(str(tmp_path))
    assert (run.framework, run.dialect, list(run.steps)) == ("mindformers", "static", [1, 2, 3, 4])
    assert list(run.column(LOSS)) == [10.0, 9.0, 8.0, 7.0]
    assert run.norms == (NormList(1, ("decoder.final_layernorm.weight",), (0.5,)),)
    assert not run.problems


@pytest.mark.procedure("proc.stage2.local_norm")
@pytest.mark.parametrize(
    ("framework", "package", "file"),
    [("megatron", "megatron.core", "megatron.sh"), ("mindformers", "mindformers", "mindformers.yaml")],
)
def test_the_order_of_the_real_models_parameters(framework: str, package: str, file: str, tmp_path: Path) -> None:
    pytest.importorskip(package)
    files = [str(EXAMPLES / name / file) for name in ("qwen3_dense", "qwen3_moe", "deepseek_v3")]
    done = subprocess.run(
        [sys.executable, str(RUN), "-c", ORDERS, framework, str(tmp_path / "orders.json"), *files],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (tmp_path / "orders.json").exists(), done.stderr[-2000:]
    real = json.loads((tmp_path / "orders.json").read_text())
    for name in files:
        parameters: list[tuple[str, bool]] = real[name]
        expected = [one for one, plain in parameters if not plain] + [one for one, plain in parameters if plain]
        recipe = recipe_of(config_of(read_text(name), ReadOptions(), path=name))
        order = order_of(framework, NormList(1, None, (1.0,) * len(expected)), [recipe])
        assert order is not None
        assert list(order.names) == expected
