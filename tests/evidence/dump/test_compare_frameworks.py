"""Real models dumped by the real msprobe on the CPU: equal pairs match, a planted fault is named, tables agree."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from accmap.cli.lean import main
from accmap.evidence.arrays import measure, read_torch
from accmap.evidence.dump import tables
from accmap.evidence.dump.compare import Comparison, compare_trees
from accmap.evidence.dump.compare_divergence import settings_behind
from accmap.evidence.dump.compare_names import NameMapping, read_mapping
from accmap.evidence.dump.records import find_places
from accmap.evidence.dump.statistics import Judge
from accmap.evidence.dump.trees import read_tree

HERE = Path(__file__).parent
NEEDED = ("msprobe", "torch", "megatron", "mindspore", "mindformers")

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.slow,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in NEEDED), reason="the frameworks or msprobe are missing"
    ),
]

EQUAL = (
    "dense",
    "grouped",
    "tied",
    "moe_softmax",
    "moe_sigmoid",
    "latent",
    "latent_concatenated",
    "further_moe",
    "deepseek",
)
FAULTS = {
    "norm_epsilon": ("decoder.layers.0.input_layernorm", "norm.epsilon"),
    "rotary_base": ("rotary_pos_emb", "position.rotary_base"),
    "rotary_fraction": ("rotary_pos_emb", "position.rotary_fraction"),
    "residual_after_norm": ("decoder.layers.0.pre_cross_attn_layernorm", "model.residual_post_layernorm"),
    "scaling_factor": ("decoder.layers.1.mlp.router", "moe.router.scaling_factor"),
    "pre_softmax": ("decoder.layers.0.mlp.router", "moe.router.normalize_topk"),
    "latent_rotary_base": ("decoder.layers.0.self_attention.core_attention", "position.rotary_base"),
    "yarn_factor": ("decoder.layers.0.self_attention.core_attention", "position.yarn.factor"),
}
"""Faults of `tests/verifier/pairs/pairs.yaml`: the first module that parts, and the field behind it."""

ENLARGED = (
    "decoder.layers.1.mlp.linear_fc2",
    "decoder.layers.0.self_attention.core_attention",
    "decoder.final_layernorm",
)
"""Modules of Megatron-Core's model whose output is made 1% larger."""


PLANTED = "decoder.layers.1.mlp.linear_fc2"
KINDS = [
    f"{task}-{level}-{summary}"
    for task, summary in (("tensor", "statistics"), ("statistics", "statistics"), ("statistics", "md5"))
    for level in ("L0", "L1", "mix")
]
"""Every task and level of msprobe that keeps what a model computed."""
RATIO = "One Thousandth Err Ratio"
"""The column of msprobe that decides across frameworks: its verdict is `error` in every row there, because the two
frameworks spell their types (`Float32`, `torch.float32`) differently."""
SWIGLU = "swiglu.decoder.layers.1.mlp"
"""The guide's own case of msprobe: one side composes SwiGLU of operations, the other has it in one, whose backward is
coarser."""


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every pair dumped on both sides: the folder of each framework."""
    plain = [f"equal/{name}" for name in EQUAL] + [f"faults/{name}" for name in FAULTS]
    enlarged = [f"equal/dense--{module}" for module in ENLARGED]
    equal = [f"equal/dense__{kind}" for kind in KINDS]
    planted = [f"equal/dense--{PLANTED}__{kind}" for kind in KINDS]
    guides = [f"equal/dense--{SWIGLU}", f"equal/dense--{SWIGLU}__tensor-mix-statistics"]
    found: dict[str, Path] = {}
    asked = {"megatron": [*plain, *enlarged, *guides, *equal, *planted], "mindformers": [*plain, *equal]}
    for framework, names in asked.items():
        root = tmp_path_factory.mktemp(framework)
        done = subprocess.run(
            [sys.executable, str(HERE / "real_dumps.py"), framework, str(root), *names],
            capture_output=True, text=True, check=False, timeout=1800, cwd=root,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )  # fmt: skip
        assert all((root / name / framework).exists() for name in names), done.stderr[-3000:]
        found[framework] = root
    return found


def compared(dumps: dict[str, Path], ours: str, theirs: str, mapping: NameMapping | None = None) -> Comparison:
    trees = [
        read_tree(find_places(str(dumps[framework] / name / framework))[0])
        for framework, name in (("megatron", ours), ("mindformers", theirs))
    ]
    return compare_trees(*trees, mapping=mapping, jobs=2)


@pytest.mark.parametrize("name", EQUAL)
def test_equal_models_match_module_by_module(name: str, dumps: dict[str, Path]) -> None:
    found = compared(dumps, f"equal/{name}", f"equal/{name}")
    assert found.divergence is None, found.divergence.unit.a.name if found.divergence else ""
    assert not found.unreadable
    agreeing = [tensor for tensor in found.tensors if tensor.agrees]
    assert len(agreeing) > 150
    assert max(tensor.error or 0 for tensor in agreeing) < 1e-5
    directions = {unit.a.direction for unit in found.units if unit.agrees}
    assert directions == {"forward", "backward"}


@pytest.mark.parametrize("name", ["dense", "latent_concatenated", "deepseek"])
def test_the_generated_mappings_are_read(name: str, dumps: dict[str, Path], tmp_path: Path) -> None:
    folder = dumps["megatron"] / "equal" / name
    given = [str(folder / file) for file in ("pretrain.sh", "train.yaml")]
    assert main(["dump", "config", *given, "-d", str(tmp_path / "next")]) == 0
    plain = compared(dumps, f"equal/{name}", f"equal/{name}")
    for file in ("layer_mapping.yaml", "cell_mapping.yaml"):
        found = compared(dumps, f"equal/{name}", f"equal/{name}", read_mapping(str(tmp_path / "next" / file)))
        assert found.divergence is None
        assert len(found.units) >= len(plain.units)


@pytest.mark.procedure("proc.dump.first_divergence")
@pytest.mark.parametrize("name", FAULTS)
def test_a_wrong_setting_is_named_where_it_shows_first(name: str, dumps: dict[str, Path]) -> None:
    module, field = FAULTS[name]
    divergence = compared(dumps, f"faults/{name}", f"faults/{name}").divergence
    assert divergence is not None
    assert divergence.unit.module == module
    assert field in settings_behind(divergence)


@pytest.mark.procedure("proc.dump.first_divergence")
@pytest.mark.parametrize("module", ENLARGED)
def test_a_fault_in_a_module_is_named(module: str, dumps: dict[str, Path]) -> None:
    divergence = compared(dumps, f"equal/dense--{module}", "equal/dense").divergence
    assert divergence is not None
    assert divergence.unit.module == module
    assert divergence.cause == "computation"
    assert divergence.tensors[0].error == pytest.approx(0.01, rel=0.02)
    assert not divergence.gradual
    assert divergence.before is not None
    assert divergence.before.agrees


def within(dumps: dict[str, Path], ours: str, theirs: str) -> Comparison:
    """Two dumps of one framework."""
    return compare_trees(
        *(read_tree(find_places(str(dumps["megatron"] / name / "megatron"))[0]) for name in (ours, theirs))
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_dump_is_read(kind: str, dumps: dict[str, Path]) -> None:
    """Equal models agree, and the planted module is named, by whatever the dump holds."""
    equal, planted = f"equal/dense__{kind}", f"equal/dense--{PLANTED}__{kind}"
    across = compared(dumps, equal, equal)
    assert across.divergence is None, across.divergence.unit.a.name if across.divergence else ""
    found = compared(dumps, planted, equal).divergence
    if "L1" not in kind and "md5" not in kind:  # no names in common, and no checksums: what is said is `partial`
        assert found is not None
        assert found.unit.module == PLANTED
    own = within(dumps, planted, equal).divergence
    assert own is not None
    # Where operations are dumped, the planted multiplication itself is one of them.
    assert own.unit.module == PLANTED if "L0" in kind else own.unit.a.level == "api"


def test_operations_alone_decide_nothing_across_frameworks(
    dumps: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [str(dumps[side] / "equal/dense__tensor-L1-statistics" / side) for side in ("megatron", "mindformers")]
    assert main(["dump", "compare", *sides, "--quiet", "--format", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "partial"
    assert "single operations" in answer["not_compared"][0]["reason"]


@pytest.mark.procedure("proc.dump.first_divergence")
@pytest.mark.parametrize("kind", ["", "__tensor-mix-statistics"])
def test_the_guides_case_of_msprobe(kind: str, dumps: dict[str, Path], tmp_path: Path) -> None:
    """The gradient that reaches linear_fc1 differs, the one that leaves linear_fc2 does not: SwiGLU stands between."""
    found = compared(dumps, f"equal/dense--{SWIGLU}{kind}", f"equal/dense{kind}").divergence
    assert found is not None
    assert found.cause == "between"
    assert (found.unit.module, found.unit.a.direction) == ("decoder.layers.1.mlp.linear_fc1", "backward")
    assert found.tensors[0].place.startswith("input.0")
    assert found.before is not None
    assert (found.before.module, found.before.agrees) == ("decoder.layers.1.mlp.linear_fc2", True)
    assert "activation.function" in settings_behind(found)
    if kind:
        return
    # msprobe's own comparison, by the layer mapping that `dump config` writes, begins at the same place.
    folder = dumps["megatron"] / "equal" / "dense"
    given = [str(folder / file) for file in ("pretrain.sh", "train.yaml")]
    assert main(["dump", "config", *given, "-d", str(tmp_path / "next")]) == 0
    sides = [
        next((dumps["mindformers"] / "equal/dense/mindformers").rglob("dump.json")),
        next((dumps["megatron"] / f"equal/dense--{SWIGLU}" / "megatron").rglob("dump.json")),
    ]
    words = [sys.executable, "-m", "msprobe.msprobe", "compare", "-tp", str(sides[0]), "-gp", str(sides[1])]
    words += ["-o", str(tmp_path / "out"), "-lm", str(tmp_path / "next" / "layer_mapping.yaml")]
    given = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    subprocess.run(words, capture_output=True, check=False, timeout=300, env=given)
    with open(next((tmp_path / "out").glob("*.csv")), encoding="utf-8-sig") as stream:
        rows = [row for row in csv.DictReader(stream) if row[RATIO] != "unsupported"]
    wrong = [row["NPU Name"] for row in rows if "unmatched" not in row[RATIO] and float(row[RATIO]) < 0.9]
    assert any(name.endswith("layers.1.mlp.linear_fc1.ColumnParallelLinear.backward.0.input.0") for name in wrong[:2])


@pytest.mark.procedure("proc.dump.msprobe_compare")
def test_msprobes_own_table_leads_to_the_same_module(dumps: dict[str, Path], tmp_path: Path) -> None:
    root = dumps["megatron"]
    sides = [
        root / name / "megatron" / "step0" / "rank0" / "dump.json"
        for name in (f"equal/dense--{ENLARGED[0]}", "equal/dense")
    ]
    for form in ((), ("--xlsx",)):
        words = [sys.executable, "-m", "msprobe.msprobe", "compare", "-tp", str(sides[0]), "-gp", str(sides[1])]
        subprocess.run([*words, "-o", str(tmp_path / "out"), *form], capture_output=True, check=False, timeout=200)
    made = sorted((tmp_path / "out").iterdir())
    assert [path.suffix for path in made] == [".csv", ".xlsx"]
    for path in made:
        found = tables.read_table(str(path), Judge())
        assert isinstance(found, tables.Table)
        assert not found.only_a
        assert found.divergence is not None
        assert found.divergence.unit.module == ENLARGED[0]
        assert found.divergence.cause == "computation"
    _the_same_numbers(made[0], sides)


def _the_same_numbers(path: Path, sides: list[Path]) -> None:
    """Cosine, errors and ratios of msprobe, from the same files."""
    rows = list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))
    checked = 0
    for row in rows:
        files = [
            side.parent / "dump_tensor_data" / f"{row[column]}.pt"
            for side, column in zip(sides, ("NPU Name", "Bench Name"), strict=True)
        ]
        if not all(file.exists() for file in files) or row["Cosine"] in ("unsupported", "N/A", "Nan"):
            continue
        measured = measure(*(read_torch(str(file)) for file in files))
        assert float(row["Cosine"]) == pytest.approx(measured.cosine, abs=2e-6)
        assert float(row["EucDist"]) == pytest.approx(measured.distance, rel=1e-6, abs=1e-9)
        assert float(row["MaxAbsErr"]) == pytest.approx(measured.max_abs, rel=1e-6, abs=1e-9)
        assert float(row["MaxRelativeErr"]) == pytest.approx(measured.max_rel, rel=1e-3, abs=1e-6)
        assert float(row["One Thousandth Err Ratio"]) == pytest.approx(measured.within_thousandth, abs=1e-3)
        assert float(row["Five Thousandths Err Ratio"]) == pytest.approx(measured.within_five_thousandths, abs=1e-3)
        checked += 1
    assert checked > 100


@pytest.mark.procedure("proc.dump.precheck")
def test_the_prechecks_columns_are_those_that_are_read(tmp_path: Path) -> None:
    """The precheck itself runs on an NPU only: its own writers give the tables here."""
    spec = importlib.util.find_spec("msprobe")
    assert spec is not None
    assert spec.origin is not None
    constants = (Path(spec.origin).parent / "mindspore" / "common" / "const.py").read_text("utf-8")
    known = dict(re.findall(r"(\w+_CSV_\w+) = \"(.+)\"", constants))
    result = ["DETAIL_CSV_API_NAME", "RESULT_CSV_FORWARD_TEST_SUCCESS", "RESULT_CSV_BACKWARD_TEST_SUCCESS"]
    details = ["API_NAME", "BENCH_DTYPE", "TESTED_DTYPE", "SHAPE", "PASS_STATUS", "MESSAGE"]
    headers = [
        [known[name] for name in (*result, "DETAIL_CSV_MESSAGE")],
        [known[f"DETAIL_CSV_{name}"] for name in details],
    ]
    script = (
        "from msprobe.pytorch.api_accuracy_checker.compare import compare_utils as its; import json;"
        "print(json.dumps([its.ApiPrecisionCompareColumn.get_result_csv_title(), its.DETAIL_TEST_ROWS[0]]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=200)
    headers += json.loads(done.stdout.splitlines()[-1])
    forms = [tables.form_of("x.csv", header) for header in headers]
    assert forms == ["precheck", "precheck-details", "precheck", "precheck-details"]
    for at in (0, 2):
        rows = {
            "API Name": "Mint.add.0",
            "Forward Test Success": "error",
            "Backward Test Success": "pass",
            "Message": "m",
        }
        details = {"API Name": "Mint.add.0.forward.output.0", "Status": "error"}
        for name, header, row in (("result", headers[at], rows), ("details", headers[at + 1], details)):
            with (tmp_path / f"accuracy_checking_{name}_{at}.csv").open(
                "w", newline="", encoding="utf-8-sig"
            ) as stream:
                writer = csv.writer(stream)
                writer.writerows([header, [row.get(column, "") for column in header]])
        found = tables.read_table(str(tmp_path / f"accuracy_checking_result_{at}.csv"))
        assert isinstance(found, tables.Precheck)
        assert [(failure.name, failure.direction) for failure in found.failures] == [("Mint.add.0", "forward")]
        assert found.failures[0].details


GRAPH = """
import sys, numpy as np, mindspore as ms
from mindspore import Tensor, nn, ops
ms.set_device("CPU"); ms.set_context(mode=ms.GRAPH_MODE)
class Block(nn.Cell):
    def __init__(self, seed, scale):
        super().__init__()
        random = np.random.default_rng(seed)
        draw = lambda *shape: Tensor(random.standard_normal(shape).astype(np.float32) * 0.3)
        self.fc1 = nn.Dense(8, 16, weight_init=draw(16, 8) * scale)
        self.fc2 = nn.Dense(16, 8, weight_init=draw(8, 16))
    def construct(self, x):
        return x + self.fc2(ops.relu(self.fc1(x)))
class Net(nn.Cell):
    def __init__(self, scale):
        super().__init__()
        self.layers = nn.CellList([Block(0, scale), Block(1, 1.0)])
    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.sum()
net = Net(float(sys.argv[1]))
step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.01))
step(Tensor(np.random.default_rng(3).standard_normal((4, 8)).astype(np.float32)))
"""


def test_a_compiled_graphs_dump_is_read_in_execution_order(tmp_path: Path) -> None:
    roots: list[Path] = []
    (tmp_path / "net.py").write_text(GRAPH)
    for name, scale in (("a", "1.01"), ("b", "1.0")):
        common = {
            "op_debug_mode": 0, "dump_mode": 0, "path": str(tmp_path / name), "net_name": "Net", "iteration": "0",
            "saved_data": "tensor", "input_output": 0, "kernels": [], "support_device": [0],
        }  # fmt: skip
        config = tmp_path / f"{name}.json"
        config.write_text(
            json.dumps({"common_dump_settings": common, "e2e_dump_settings": {"enable": True, "trans_flag": True}})
        )
        subprocess.run(
            [sys.executable, str(tmp_path / "net.py"), scale], env={**os.environ, "MINDSPORE_DUMP_CONFIG": str(config)},
            capture_output=True, check=True, timeout=300, cwd=tmp_path,
        )  # fmt: skip
        roots.append(tmp_path / name)
    trees = [read_tree(find_places(str(root))[0]) for root in roots]
    assert trees[0].units[0].name.endswith("fc1-Dense_MatMul-op0")
    assert not trees[0].notes
    divergence = compare_trees(*trees).divergence
    assert divergence is not None
    assert divergence.unit.module == "layers.0.fc1"
    assert divergence.cause == "weights"
    assert np.isclose(divergence.tensors[0].error or 0, 0.0099, rtol=0.01)
    assert compare_trees(trees[1], trees[1]).divergence is None
