"""What stands on disk: MindSpore's operator dumps, torch's tensor files, and the names of modules."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accmap.evidence.arrays import read_torch
from accmap.evidence.dump.compare import compare_trees
from accmap.evidence.dump.compare_names import graph_path, module_path, pair_units
from accmap.evidence.dump.records import Tree, dtype_name, find_places, number, unit_named
from accmap.evidence.dump.trees import read_tree
from accmap.schemas.diagnostic import UnreadableError

sys.path.insert(0, str(Path(__file__).parent))
from small_network import save_torch

CELL = "Default_network-Net_decoder-TransformerBlock_layers-CellList_{n}-Layer_mlp-MLP_"
HEADER = (
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,"
    "L2Norm Value"
)


def graph(root: Path, *, fault: str = "", table: bool = False, order: bool = True) -> Path:
    """Two matrix products and an addition in each of two layers, as MindSpore dumps a compiled graph."""
    folder = root / "rank_0/Net/0/3"
    folder.mkdir(parents=True)
    random = np.random.default_rng(1)
    x = random.standard_normal((4, 8)).astype(np.float32)
    rows = [HEADER]
    names: list[str] = []
    time = 1_790_000_000_000_000

    def record(kind: str, name: str, tensors: dict[str, Any]) -> None:
        nonlocal time
        names.append(name.replace("_", "/"))
        for place, array in tensors.items():
            time += 7
            io, slot = place.split(".")
            if table:
                shape = f'"({",".join(map(str, array.shape))})"'
                ends = f"{array.max()},{array.min()},{array.mean()},{np.sqrt((array**2).sum())}"
                rows.append(
                    f"{kind},{name.replace('_', '/')},0,0,{time},{io},{slot},{array.nbytes},Float32,{shape},{ends}"
                )
            else:
                np.save(folder / f"{kind}.{name}.0.0.{time}.{io}.{slot}.DefaultFormat.Float32.npy", array)

    for layer in range(2):
        cell = CELL.format(n=layer)
        w = random.standard_normal((8, 8)).astype(np.float32)
        if fault == "weights" and layer == 1:
            w = w * np.float32(1.01)
        y = x @ w
        if fault == "computation" and layer == 1:
            y = y * np.float32(1.01)
        record(
            "MatMul", f"{cell}linear_fc1-ColumnParallelLinear_MatMul-op0", {"input.0": x, "input.1": w, "output.0": y}
        )
        z = np.tanh(y)
        record("Tanh", f"{cell}activation-Tanh_Tanh-op0", {"input.0": y, "output.0": z})
        record("Add", f"{cell}Add-op0", {"input.0": x, "input.1": z, "output.0": x + z})
        x = x + z
    if table:
        (folder / "statistic.csv").write_text("\n".join(rows) + "\n")
    if order:
        listed = root / "rank_0/execution_order"
        listed.mkdir()
        head = "NodeExecutionOrder-FullNameWithScope"
        (listed / "ms_execution_order_graph_0.csv").write_text("\n".join([head, *names]) + "\n")
    return root


@pytest.mark.procedure("proc.dump.first_divergence")
@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("fault", ["weights", "computation"])
def test_a_fault_in_an_operator_is_named(table: bool, order: bool, fault: str, tmp_path: Path) -> None:
    roots = (
        graph(tmp_path / "a", fault=fault, table=table, order=order),
        graph(tmp_path / "b", table=table, order=order),
    )
    places = [find_places(str(root))[0] for root in roots]
    assert [(place.step, place.rank) for place in places] == [(3, 0), (3, 0)]
    found = compare_trees(*(read_tree(place) for place in places)).divergence
    assert found is not None
    assert found.unit.module == "decoder.layers.1.mlp.linear_fc1"
    assert found.unit.a.kind == "MatMul"
    assert found.cause == fault


def test_equal_operators_match_and_both_forms_meet(tmp_path: Path) -> None:
    roots = graph(tmp_path / "a"), graph(tmp_path / "b", table=True)
    trees = [read_tree(find_places(str(root))[0]) for root in roots]
    assert [tree.content for tree in trees] == ["tensor", "statistics"]
    assert compare_trees(trees[0], trees[0]).divergence is None


def test_renamed_files_are_found_through_their_table(tmp_path: Path) -> None:
    root = graph(tmp_path / "a")
    folder = root / "rank_0/Net/0/3"
    file = sorted(folder.glob("MatMul*"))[0]
    (folder / "mapping.csv").write_text(f"file,name\n123.npy,{file.name}\n")
    file.rename(folder / "123.npy")
    tree = read_tree(find_places(str(root))[0])
    assert not tree.notes
    assert any(tensor.path and tensor.path.endswith("123.npy") for unit in tree.units for tensor in unit.tensors)
    (folder / "mapping.csv").unlink()
    assert any("123.npy" in note.en for note in read_tree(find_places(str(root))[0]).notes)


@pytest.mark.parametrize("text", ["", "a,b\n", HEADER + "\nMatMul,x,0,0,1,input"])
def test_a_broken_table_of_statistics_is_refused(text: str, tmp_path: Path) -> None:
    root = graph(tmp_path / "a", table=True)
    (root / "rank_0/Net/0/3/statistic.csv").write_text(text)
    with pytest.raises(UnreadableError):
        read_tree(find_places(str(root))[0])


def test_a_dump_by_module_and_one_by_operator_have_nothing_in_common(tmp_path: Path) -> None:
    from small_network import run

    a, b = graph(tmp_path / "a"), run(tmp_path / "b")
    with pytest.raises(UnreadableError) as error:
        compare_trees(*(read_tree(find_places(str(root))[0]) for root in (a, b)))
    assert error.value.diagnostic.kind.code == "EVD034"


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        ("Module.decoder.layers.0.mlp", "decoder.layers.0.mlp"),
        (
            "Module.module.module.decoder.layers.0.self_attention.linear_qkv",
            "decoder.layers.0.self_attention.linear_qkv",
        ),
        ("Module.0.module.decoder", "decoder"),
        ("Cell.network.model.embedding.word_embeddings", "embedding.word_embeddings"),
        (
            "Cell.network_with_loss.model.language_model.encoder.layers.9.mlp.mapping",
            "decoder.layers.9.mlp.linear_fc1",
        ),
        ("Cell.model.language_model.encoder.layers.0.attention.qkv_proj", "decoder.layers.0.self_attention.linear_qkv"),
        (
            "Module.language_model.encoder.layers.1.self_attention.query_key_value",
            "decoder.layers.1.self_attention.linear_qkv",
        ),
        ("Cell.decoder.layers.0.self_attention.linear_qb", "decoder.layers.0.self_attention.linear_q_up_proj"),
        ("Module.model", "model"),
    ],
)
def test_module_paths(scope: str, path: str) -> None:
    assert module_path(scope) == path


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("Default_network-Net_layers-CellList_0-Block_fc1-Dense_MatMul-op0", "layers.0.fc1"),
        (
            (
                "Gradients_Default_network-GPTModel_decoder-TransformerBlock_layers-CellList_0-TransformerLayer_"
                "self_attention-SelfAttention_linear_qkv-ColumnParallelLinear_Grad_MatMul_MatMul-op0"
            ),
            "decoder.layers.0.self_attention.linear_qkv",
        ),
        ("Expand__SumExt_ReduceSum-op0", ""),
        ("layers_0_fc1_weight", ""),
    ],
)
def test_paths_of_operators(name: str, path: str) -> None:
    assert graph_path(name) == path


def test_names_of_units() -> None:
    api = unit_named("Torch.matmul.3.backward")
    assert (api.scope, api.kind, api.direction, api.call, api.level) == ("Torch.matmul", "matmul", "backward", 3, "api")
    module = unit_named("Module.a.b.Linear.forward.1")
    assert (module.scope, module.kind, module.direction, module.call) == ("Module.a.b", "Linear", "forward", 1)
    assert unit_named("anything").level == "operator"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("torch.bfloat16", "bfloat16"),
        ("BFloat16", "bfloat16"),
        ("Float32", "float32"),
        ("torch.int64", "int64"),
        ("", ""),
    ],
)
def test_number_types(written: str, name: str) -> None:
    assert dtype_name(written) == name


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (1, 1.0),
        (" inf", float("inf")),
        ("3.5%", 3.5),
        (True, 1.0),
        ("False", 0.0),
        (None, None),
        ("x", None),
        ([], None),
    ],
)
def test_numbers(written: object, value: float | None) -> None:
    assert number(written) == value


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64"])
@pytest.mark.parametrize("shape", [(3, 4), (5,), (), (0, 4), (2, 3, 4)])
def test_a_torch_file_is_read_without_torch(dtype: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    array = (np.random.default_rng(0).standard_normal(shape) * 9).astype(dtype)
    path = tmp_path / "t.pt"
    save_torch(path, array)
    found = np.asarray(read_torch(str(path)))
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert (found == array).all()


def test_bfloat16_of_torch_becomes_float32(tmp_path: Path) -> None:
    array = np.array([1.5, -2.0, 3.140625], np.float32)
    path = tmp_path / "t.pt"
    save_torch(path, (array.view(np.uint32) >> 16).astype(np.uint16), "bfloat16")
    assert np.asarray(read_torch(str(path))).tolist() == array.tolist()


def test_a_pickle_that_does_more_than_describe_a_tensor_is_refused(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    path = tmp_path / "t.pt"
    for pickled in (
        b"cos\nsystem\n(X" + len(f"touch {marker}").to_bytes(4, "little") + f"touch {marker}".encode() + b"tR.",
        b"\x80\x02]q\x00.",
        b"\x80\x02}q\x00X\x01\x00\x00\x00aK\x01s.",
        b"",
        b"\x80\x02N.",
        b"garbage",
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("t/data.pkl", pickled)
            archive.writestr("t/data/0", b"\0" * 16)
        with pytest.raises(UnreadableError):
            read_torch(str(path))
    assert not marker.exists()


def test_a_torch_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.pt"
    save_torch(path, np.ones((64, 64), np.float32))
    data = path.read_bytes()
    for size in (0, 10, 300, len(data) // 2, len(data) - 30):
        path.write_bytes(data[:size])
        with pytest.raises(UnreadableError):
            read_torch(str(path))


def test_a_storage_that_is_too_small_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.pt"
    save_torch(path, np.ones((4, 4), np.float32))
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content[:8] if name.endswith("data/0") else content)
    with pytest.raises(UnreadableError):
        read_torch(str(path))


def tree(framework: str, names: dict[str, str | None]) -> Tree:
    """A tree of units that have names and parents only."""
    units = tuple(unit_named(name)._replace(parent=parent) for name, parent in names.items())
    return Tree("", "msprobe", framework, "tensor", "mix", 0, 0, units)


def test_apis_are_matched_by_the_module_they_ran_in() -> None:
    a = tree(
        "pytorch",
        {
            "Torch.matmul.0.forward": "Module.decoder.layers.0.mlp.linear_fc1.Linear.forward.0",
            "Torch.matmul.1.forward": "Module.decoder.layers.0.mlp.linear_fc2.Linear.forward.0",
            "Tensor.__add__.7.forward": "Module.decoder.layers.0.TransformerLayer.forward.0",
            "Functional.silu.0.forward": "Module.decoder.layers.0.mlp.MLP.forward.0",
        },
    )
    b = tree(
        "mindspore",
        {
            "Mint.matmul.4.forward": "Cell.network.model.decoder.layers.0.mlp.linear_fc2.Linear.forward.0",
            "Mint.matmul.9.forward": "Cell.network.model.decoder.layers.0.mlp.linear_fc1.Linear.forward.0",
            "Mint.add.2.forward": "Cell.network.model.decoder.layers.0.TransformerLayer.forward.0",
            "Mint.mul.0.forward": "Cell.network.model.decoder.layers.0.mlp.MLP.forward.0",
        },
    )
    found = pair_units(a, b)
    assert [(one.name, other.name) for one, other in found.pairs] == [
        ("Torch.matmul.0.forward", "Mint.matmul.9.forward"),
        ("Torch.matmul.1.forward", "Mint.matmul.4.forward"),
        ("Tensor.__add__.7.forward", "Mint.add.2.forward"),
    ]
    assert [unit.name for unit in (*found.only_a, *found.only_b)] == ["Functional.silu.0.forward", "Mint.mul.0.forward"]
    again = pair_units(a, a)
    assert len(again.pairs) == 4
    assert not again.only_a


def test_backward_passes_are_matched_by_the_number_of_their_call() -> None:
    """Each framework walks back in its own order; a layer that is computed again begins at another number."""
    layer = "Module.decoder.layers.0.TransformerLayer"
    a = tree("pytorch", dict.fromkeys([f"{layer}.backward.1", f"{layer}.backward.0"]))
    b = tree("mindspore", dict.fromkeys([f"{layer}.backward.0", f"{layer}.backward.1"]))
    assert all(one.call == other.call for one, other in pair_units(a, b).pairs)
    again = tree("mindspore", dict.fromkeys([f"{layer}.backward.3"]))
    once = tree("pytorch", dict.fromkeys([f"{layer}.backward.0"]))
    assert len(pair_units(once, again).pairs) == 1


def test_the_output_layer_of_further_predictions_meets_its_partner() -> None:
    """Megatron-Core runs its one output layer for them first."""
    head = "output_layer.ColumnParallelLinear.forward"
    a = tree("pytorch", dict.fromkeys([f"Module.{head}.0", f"Module.{head}.1", "Module.mtp.layers.0.L.forward.0"]))
    b = tree("mindspore", dict.fromkeys([f"Cell.mtp.{head}.0", f"Cell.{head}.0", "Cell.mtp.layers.0.L.forward.0"]))
    assert [(one.name, other.name) for one, other in pair_units(a, b).pairs][:2] == [
        (f"Module.{head}.0", f"Cell.mtp.{head}.0"),
        (f"Module.{head}.1", f"Cell.{head}.0"),
    ]
