"""The real msprobe and the real MindSpore take what is written: configurations, mappings, commands."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from accmap.evidence.dump.config import Plan, insertions, plan
from accmap.evidence.dump.config_modules import mappings_of, modules_of, naming
from accmap.evidence.dump.config_request import Request, Span, Subject, chunks_of, record_of

sys.path.insert(0, str(Path(__file__).parent))
from config_pairs import ROOT, pair_of

HERE = Path(__file__).parent
RUN = (sys.executable, str(HERE.parents[1] / "framework_run.py"))
OLDER = sorted((ROOT / ".frameworks/msprobe").glob("*"))
EAGER = {"mindformers": {"context": {"mode": 1, "device_target": "Ascend"}}}
LOCAL = {**EAGER, "megatron": {"transformer-impl": "local"}}
SCOPE = (record_of("decoder.layers.0.mlp"), record_of("decoder.layers.1.mlp"))

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(find_spec("mindspore") is None, reason="MindSpore is not installed"),
]
needs_msprobe = pytest.mark.skipif(find_spec("msprobe") is None, reason="msprobe is not installed")


def environment(**more: str) -> dict[str, str]:
    """The process's own, with protobuf in Python: MindSpore's files are older than the installed protobuf."""
    return {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python", "GLOG_v": "3", **more}


def done(command: list[str], **more: Any) -> str:
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **more)
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-3000:]
    return found.stdout


def wishes() -> list[Request]:
    """Every form that a configuration can take."""
    return [
        Request(
            level=level,
            task=task,
            summary=summary,
            scope=scope,
            steps=steps,
            ranks=ranks,
            precheck=level == "L1",
        )
        for level, task, summary, scope, steps, ranks in product(
            ("L0", "L1", "mix"),
            ("tensor", "statistics"),
            ("statistics", "md5"),
            ((), SCOPE),
            ((), (Span(0, 0), Span(2, 4))),
            ((), (Span(0, 0),)),
        )
    ]


def written(subject: Subject, request: Request, folder: Path) -> Plan:
    found = plan(subject, request, str(folder))
    assert not found.has_errors, [finding.message() for finding in found.findings]
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in found.files.items():
        (folder / name).write_text(text, "utf-8")
    return found


PARSE = """
import json, sys
if sys.argv[1] == "26":
    import mindspore
    from msprobe.core.dump.common_config import CommonConfig
    from msprobe.mindspore.dump.ms_config import parse_task_config as mindspore_task
    from msprobe.mindspore.dump.debugger.debugger_config import DebuggerConfig
    from msprobe.pytorch.dump.pt_config import parse_task_config as torch_task
    tasks = {"mindformers": mindspore_task, "precheck": mindspore_task, "megatron": torch_task}
else:
    sys.path.insert(0, sys.argv[2])
    from msprobe.core.common_config import BaseConfig, CommonConfig
    def checked(task, config):
        found = BaseConfig(config[task]); found.check_config()
        getattr(found, "_check_summary_mode", bool)()
        return found
    tasks = dict.fromkeys(("mindformers", "precheck", "megatron"), checked)
count = 0
for line in sys.stdin:
    path = line.strip()
    config = json.load(open(path))
    side = path.rsplit("_", 1)[1].removesuffix(".json")
    common = CommonConfig(config)
    task = tasks[side](common.task, config)
    assert (common.task, common.level) == (config["task"], config["level"])
    assert task.scope == config[config["task"]]["scope"], path
    if sys.argv[1] == "26" and side != "megatron":
        DebuggerConfig(common, task)
    count += 1
print(count)
"""


def parsed(folder: Path, *words: str) -> int:
    paths = "\n".join(map(str, sorted(folder.glob("*/msprobe_*.json"))))
    out = done([*RUN, "-c", PARSE, *words], input=paths, env=environment(), cwd=folder)
    return int(out.splitlines()[-1])


def write_all(folder: Path, form: str) -> int:
    subject = pair_of("deepseek", folder, {"mindformers": {**EAGER["mindformers"], "use_parallel": True}})
    for number, request in enumerate(wishes()):
        written(subject, request._replace(form=form), folder / str(number))
    return len(list(folder.glob("*/msprobe_*.json")))


@needs_msprobe
@pytest.mark.procedure("proc.dump.msprobe_config")
@pytest.mark.procedure("proc.dump.precheck")
def test_msprobe_takes_every_configuration(tmp_path: Path) -> None:
    expected = write_all(tmp_path, "26")
    assert expected > 200
    assert parsed(tmp_path, "26") == expected


@pytest.mark.parametrize("older", OLDER or [None], ids=lambda path: path.name if path else "absent")
@pytest.mark.procedure("proc.dump.msprobe_config")
def test_older_msprobe_takes_every_configuration(tmp_path: Path, older: Path | None) -> None:
    if older is None:
        pytest.skip("no older msprobe is unpacked")
    expected = write_all(tmp_path, "8")
    assert parsed(tmp_path, "8", str(older)) == expected


@needs_msprobe
def test_msprobe_refuses_what_is_wrong(tmp_path: Path) -> None:
    """The check itself: a level that msprobe does not have stops it."""
    subject = pair_of("dense", tmp_path, EAGER)
    written(subject, Request(), tmp_path / "0")
    path = tmp_path / "0/msprobe_megatron.json"
    path.write_text(path.read_text().replace('"L0"', '"L7"'))
    with pytest.raises(AssertionError, match="level is invalid"):
        parsed(tmp_path, "26")


# --- mappings ---


@pytest.fixture(scope="module", params=[pytest.param("dense", marks=pytest.mark.slow), "deepseek"])
def dumped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Subject, Plan, Path]:
    """A pair, what was written for it, and both sides' real records of its first step."""
    if find_spec("msprobe") is None or find_spec("megatron.core") is None:
        pytest.skip("msprobe or megatron-core is not installed")
    folder = tmp_path_factory.mktemp(request.param)
    subject = pair_of(request.param, folder, {**LOCAL, "megatron": {"transformer-impl": "local"}})
    found = written(subject, Request(task="statistics"), folder / "dump")
    script, config = folder / "pretrain.sh", folder / "train.yaml"
    for side in ("megatron", "mindformers"):
        words = [side, str(script), str(config), str(folder / f"dump/msprobe_{side}.json")]
        done([*RUN, str(HERE / "real_dump.py"), *words], env=environment(), cwd=folder)
    return subject, found, folder / "dump"


@needs_msprobe
@pytest.mark.procedure("proc.dump.precheck")
def test_the_precheck_runs_on_a_real_record(tmp_path: Path) -> None:
    subject = pair_of("dense", tmp_path, LOCAL)
    found = written(subject, Request(precheck=True), tmp_path / "dump")
    words = ["mindformers", "pretrain.sh", "train.yaml", "dump/msprobe_precheck.json"]
    done([*RUN, str(HERE / "real_dump.py"), *words], env=environment(), cwd=tmp_path)
    command = found.commands["precheck"][0].split()[1:]
    command = [str(next((tmp_path / "dump").glob(word))) if "*" in word else word for word in command]
    code = "import mindspore, sys; sys.argv[0] = 'msprobe'; from msprobe.msprobe import main; main()"
    done([*RUN, "-c", code, *command], env=environment(), cwd=tmp_path / "dump")
    tables = {path.name.rpartition("_")[0] for path in (tmp_path / "dump/result_precheck").glob("*.csv")}
    assert tables == {"accuracy_checking_result", "accuracy_checking_details"}


@needs_msprobe
@pytest.mark.procedure("proc.dump.msprobe_config")
@pytest.mark.parametrize("side", ["megatron", "mindformers"])
def test_a_scope_is_what_is_recorded(tmp_path: Path, side: str) -> None:
    if find_spec("megatron.core") is None:
        pytest.skip("megatron-core is not installed")
    subject = pair_of("dense", tmp_path, LOCAL)
    scope = (record_of("decoder.layers.0.mlp"), record_of("decoder.layers.1.self_attention"))
    written(subject, Request(task="statistics", scope=scope), tmp_path / "dump")
    words = [side, "pretrain.sh", "train.yaml", f"dump/msprobe_{side}.json"]
    done([*RUN, str(HERE / "real_dump.py"), *words], env=environment(), cwd=tmp_path)
    record = json.loads(next((tmp_path / f"dump/{side}/step0").glob("*/dump.json")).read_text())["data"]
    forward = [name.partition(".")[2] for name in record if ".forward." in name]
    assert forward[0].startswith("decoder.layers.0.mlp.linear_fc1.")
    assert forward[-1].startswith("decoder.layers.1.self_attention.")
    assert any(name.startswith("decoder.layers.1.input_layernorm") for name in forward)


@needs_msprobe
def test_megatron_survives_a_dump_of_its_operators(tmp_path: Path) -> None:
    """With the debugger made before the model, as the lines say: the fused activation asks for torch's functions."""
    if find_spec("megatron.core") is None:
        pytest.skip("megatron-core is not installed")
    subject = pair_of("dense", tmp_path, EAGER)
    written(subject, Request(task="statistics", level="mix"), tmp_path / "dump")
    words = ["megatron", "pretrain.sh", "train.yaml", "dump/msprobe_megatron.json"]
    done([*RUN, str(HERE / "real_dump.py"), *words], env=environment(), cwd=tmp_path)
    record = json.loads((tmp_path / "dump/megatron/step0/rank0/dump.json").read_text())["data"]
    assert {"Functional.silu.0.forward", "Module.decoder.layers.1.mlp.MLP.forward.0"} <= record.keys()


def compared(folder: Path, command: str, result: str) -> list[dict[str, str]]:
    """The rows of msprobe's table after a written command."""
    program = [sys.executable, "-m", "msprobe.msprobe"]
    words = command.replace("-o result", f"-o {result}").split()[1:]
    words = [str(next(folder.glob(word))) if "*" in word else word for word in words]
    done([*program, *words], env=environment(), cwd=folder)
    table = next((folder / result).glob("compare_result*.csv"))
    with table.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@needs_msprobe
@pytest.mark.procedure("proc.dump.msprobe_compare")
def test_msprobe_pairs_every_module_by_the_layer_mapping(dumped: tuple[Subject, Plan, Path]) -> None:
    subject, found, folder = dumped
    rows = compared(folder, found.commands["compare"][0], "by_layer")
    check_rows(subject, rows)


@needs_msprobe
@pytest.mark.procedure("proc.dump.msprobe_compare")
def test_msprobe_pairs_every_module_by_the_cell_mapping(dumped: tuple[Subject, Plan, Path]) -> None:
    subject, found, folder = dumped
    command = found.commands["compare"][0].replace("-lm layer_mapping.yaml", "-cm cell_mapping.yaml")
    rows = compared(folder, command, "by_cell")
    check_rows(subject, rows, exact=True)


@pytest.mark.procedure("proc.dump.msprobe_compare")
def test_older_msprobe_compares_by_compare_json(dumped: tuple[Subject, Plan, Path]) -> None:
    older = next((path for path in OLDER if path.name.startswith("8.")), None)
    if older is None:
        pytest.skip("msprobe 8 is not unpacked")
    subject, _found, folder = dumped
    found = plan(subject, Request(task="statistics", form="8"), str(folder))
    (folder / "compare.json").write_text(found.files["compare.json"], "utf-8")
    record = folder / "mindformers/step0/rank"
    if not record.exists():
        shutil.copytree(next(record.parent.glob("proc*")), record)
    words = found.commands["compare"][0].replace("-o result", "-o older").split()[1:]
    code = "import mindspore, sys; sys.argv[0] = 'msprobe'; from msprobe.msprobe import main; main()"
    done([*RUN, "-c", code, *words], env=environment(PYTHONPATH=str(older)), cwd=folder)
    assert list((folder / "older").glob("compare_result*.xlsx"))


STAND_IN = "self_attention.core_attention"
"""Its class is a stand-in of the CPU; the cell mapping names the real one."""


def check_rows(subject: Subject, rows: list[dict[str, str]], *, exact: bool = False) -> None:
    by_name = {row["NPU Name"]: row for row in rows}
    built = {name.split(".layers.")[1].split(".")[0] for name in by_name if name.startswith("Cell.decoder.layers.")}
    met = 0
    for module in modules_of(subject):
        if module.layer is not None and str(module.layer) not in built:
            continue  # the verifier's model is shallower
        if exact and module.mindformers.endswith((STAND_IN, "router", "experts")):
            continue  # what these give differs in type or shape, and msprobe then pairs nothing
        row = by_name.get(f"Cell.{module.mindformers}.{module.mindformers_class}.forward.0.output.0")
        if row is None:
            assert STAND_IN in module.mindformers, module
            continue
        partner = f"Module.{module.megatron}."
        if module.megatron is None:
            assert row["Bench Name"].strip() in ("", "N/A"), row
            continue
        assert row["Bench Name"].startswith(partner), row
        if not module.mindformers.endswith(("router", "experts")) and module.mindformers != "mtp":
            ours, theirs = float(row["NPU l2norm"]), float(row["Bench l2norm"])
            assert ours == pytest.approx(theirs, rel=1e-4), row
        met += 1
    assert met > 15


def record(subject: Subject, stage: int, side: str) -> dict[str, Any]:
    """A dump.json of one pipeline stage as msprobe writes it, without numbers."""
    chunks = [chunk for chunk in chunks_of(subject) if chunk.stage == stage]
    parts = 1 + max(chunk.part for chunk in chunks_of(subject))
    layers = {number for chunk in chunks for number in range(chunk.first, chunk.first + chunk.layers)}
    data: dict[str, Any] = {}
    for module in modules_of(subject):
        if module.layer is not None and module.layer not in layers:
            continue
        names = naming(subject, module, chunks, parts)
        if side == "mindformers":
            data[f"Cell.{names.mindformers}.{module.mindformers_class}.forward.0"] = {}
        elif names.megatron is not None:
            data[f"Module.{names.megatron}.{module.megatron_class}.forward.0"] = {}
    framework = "mindspore" if side == "mindformers" else "pytorch"
    return {"task": "statistics", "level": "L0", "framework": framework, "dump_data_dir": None, "data": data}


@needs_msprobe
@pytest.mark.parametrize("per_chunk", [None, 2], ids=["pipeline", "virtual pipeline"])
def test_msprobe_pairs_the_layers_of_pipeline_stages(tmp_path: Path, per_chunk: int | None) -> None:
    flags = {"num-layers": 8, "pipeline-model-parallel-size": 2, "num-layers-per-virtual-pipeline-stage": per_chunk}
    changes = {"megatron": flags, "model": {"num_hidden_layers": 8}, **EAGER, "devices": 2}
    subject = pair_of("dense", tmp_path, changes)
    found = written(subject, Request(), tmp_path / "dump")
    parts = 1 + max(chunk.part for chunk in chunks_of(subject))
    for mapping in mappings_of(subject):
        for side in ("mindformers", "megatron"):
            folder = tmp_path / f"{side}{mapping.stage}"
            folder.mkdir()
            content = record(subject, mapping.stage, side)
            (folder / "dump.json").write_text(json.dumps(content))
            names: dict[str, list[str]] = {name: [] for name in content["data"]}
            (folder / "stack.json").write_text(json.dumps(names))
            (folder / "construct.json").write_text(json.dumps(dict.fromkeys(names)))
        name = f"layer_mapping_stage{mapping.stage}.yaml"
        assert name in found.files
        code = (
            "import json, sys; import mindspore\n"
            "from msprobe.core.compare.layer_mapping import generate_api_mapping_by_layer_mapping as pairs\n"
            "print(json.dumps(pairs(*sys.argv[1:4])))"
        )
        paths = [str(tmp_path / f"{side}{mapping.stage}/dump.json") for side in ("mindformers", "megatron")]
        words = [*RUN, "-c", code, *paths, str(tmp_path / "dump" / name)]
        pairs = json.loads(done(words, env=environment()).splitlines()[-1])
        chunks = [chunk for chunk in chunks_of(subject) if chunk.stage == mapping.stage]
        met = 0
        for module in modules_of(subject):
            names = naming(subject, module, chunks, parts)
            ours = f"Cell.{names.mindformers}.{module.mindformers_class}.forward.0"
            if ours in pairs and f"{module.layer}" != "None":
                assert pairs[ours] == f"Module.{names.megatron}.{module.megatron_class}.forward.0"
                met += 1
        assert met == 4 * 12


@needs_msprobe
def test_msprobe_takes_the_operator_mapping(tmp_path: Path) -> None:
    from accmap.evidence.dump.config_modules import api_mapping_of

    subject = pair_of("dense", tmp_path, LOCAL)
    dynamic = subject._replace(mindformers=subject.mindformers._replace(dialect="dynamic"))
    assert [row["ms_api"] for row in api_mapping_of(dynamic)] == ["Functional.rms_norm"]
    assert api_mapping_of(subject) == []
    (tmp_path / "api.yaml").write_text(json.dumps(api_mapping_of(dynamic)))
    code = (
        "import json, sys; import mindspore, pandas as pd\n"
        "from msprobe.core.compare.acc_compare import ProcessDf\n"
        "from msprobe.core.compare.config import MappingConfig, MappingDict, ModeConfig\n"
        "mapping = MappingConfig(api_mapping=sys.argv[1]); found = MappingDict(mapping)\n"
        "process = ProcessDf(ModeConfig(), mapping, found)\n"
        "def frame(names, states): return pd.DataFrame({'op_name': names, 'state': states, 'api_origin_name': "
        "['Functional.rms_norm.0.forward'] * len(names)})\n"
        "start = 'Functional.rms_norm.0.forward.'\n"
        "ours = frame([start + 'input.0', start + 'input.1', start + 'output.0'], ['input', 'input', 'output'])\n"
        "theirs = frame([start + 'input.0'], ['input'])\n"
        "print(json.dumps(list(process.assign_npu_df_compare_key(ours, theirs)['compare_key'])))"
    )
    out = done([*RUN, "-c", code, str(tmp_path / "api.yaml")], env=environment())
    start = "Functional.rms_norm.0.forward."
    assert json.loads(out.splitlines()[-1]) == [start + "input.0", start + "input.2", start + "output.0"]


# --- the frameworks' own code ---


def test_the_lines_have_their_place_in_the_installed_mindformers() -> None:
    spec = find_spec("mindformers")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("MindSpore Transformers is not installed")
    root = Path(next(iter(spec.submodule_search_locations))).parent
    for dialect in ("static", "dynamic"):
        for insertion in insertions(dialect, 1, {"megatron": "a", "mindformers": "b"}):
            if insertion.side == "megatron":
                continue
            text = (root / insertion.file).read_text("utf-8")
            inside = text.partition(f"def {insertion.within}(")[2]
            assert sum(line.strip().startswith(insertion.anchor) for line in inside.splitlines()) == 1, insertion


TREES = os.environ.get("ACCMAP_MEGATRON_TREES", "")


@pytest.mark.skipif(not TREES, reason="ACCMAP_MEGATRON_TREES names no source trees")
@pytest.mark.parametrize("version", ["0.12", "0.13", "0.14", "0.15", "0.16", "0.17", "0.18", "0.19"])
def test_the_lines_have_one_place_in_each_megatron(version: str) -> None:
    for insertion in insertions("static", 1, {"megatron": "a", "mindformers": "b"}):
        if insertion.side == "megatron":
            text = (Path(TREES) / version / insertion.file).read_text("utf-8")
            inside = text.partition(f"\ndef {insertion.within}(")[2].partition("\ndef ")[0]
            lines = [line.strip() for line in inside.splitlines()]
            assert sum(line.startswith(insertion.anchor) for line in lines) == 1, insertion


NETWORK = """
import numpy as np, mindspore as ms
from mindspore import nn, Tensor
ms.set_device("CPU"); ms.set_context(mode=ms.GRAPH_MODE)
class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.mlp, self.attention = nn.Dense(4, 4), nn.Dense(4, 4)
    def construct(self, x):
        return self.mlp(self.attention(x))
class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([Layer() for _ in range(2)])
    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.decoder = Block()
    def construct(self, x):
        return self.decoder(x).sum()
net = Net()
for _ in range(3):
    net(Tensor(np.ones((2, 4), np.float32)))
"""


@pytest.mark.parametrize(
    ("kind", "scoped"),
    [
        pytest.param("mindspore-o0", False, marks=pytest.mark.procedure("proc.dump.o0_o1")),
        pytest.param("mindspore-o1", True, marks=pytest.mark.procedure("proc.dump.o0_o1")),
        pytest.param("mindspore-o2", True, marks=pytest.mark.procedure("proc.dump.o2")),
    ],
)
def test_mindspore_dumps_what_is_asked_for(tmp_path: Path, kind: str, scoped: bool) -> None:
    subject = pair_of("dense", tmp_path)
    scope = (record_of("decoder.layers.1.mlp"),) if scoped else ()
    request = Request(kind=kind, scope=scope, steps=(Span(0, 0), Span(2, 2)))  # pyright: ignore[reportArgumentType]
    found = written(subject, request, tmp_path / "dump")
    network = tmp_path / "network.py"
    network.write_text(NETWORK)
    done([sys.executable, str(network)], env=environment(**found.environment), cwd=tmp_path)
    records = sorted((tmp_path / "dump/mindspore").glob("rank_0/*/*/*/*.npy"))
    assert {path.parent.name for path in records} == {"0", "2"}
    chosen = [path.name for path in records if "layers-CellList_1-Layer_mlp-Dense" in path.name]
    assert chosen
    assert (len(chosen) == len(records)) == scoped
    shutil.rmtree(tmp_path / "dump")
