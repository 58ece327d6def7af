"""A planted fault is named as the first divergence, whatever was dumped and whoever dumped it."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from accmap.evidence.dump.compare import Comparison, compare_trees, restrict_to
from accmap.evidence.dump.compare_divergence import next_dump, settings_behind
from accmap.evidence.dump.compare_names import read_mapping
from accmap.evidence.dump.overflow import scan
from accmap.evidence.dump.records import Statistics, Tensor, Tree, Unit, find_places
from accmap.evidence.dump.statistics import Judge, compare_tensors
from accmap.evidence.dump.trees import read_tree
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.schemas.diagnostic import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable

sys.path.insert(0, str(Path(__file__).parent))
from small_network import LEGACY, run

FAULTS: dict[str, tuple[str, str, str]] = {
    "weights": ("decoder.layers.1.mlp.linear_fc1", "forward", "weights"),
    "computation": ("decoder.layers.1.pre_mlp_layernorm", "forward", "computation"),
    "between": ("decoder.layers.1.mlp.linear_fc1", "forward", "between"),
    "residual": ("decoder.layers.1", "forward", "computation"),
    "data": ("embedding.word_embeddings", "forward", "data"),
    "overflow": ("decoder.layers.1.mlp.linear_fc2", "forward", "overflow"),
    "backward": ("decoder.layers.1.mlp.linear_fc1", "backward", "between"),
}
"""Where each planted fault is met first: module, direction, cause."""


def compared(a: Path, b: Path, **options: Any) -> Comparison:
    trees = [read_tree(find_places(str(root))[0]) for root in (a, b)]
    return compare_trees(*trees, **options)


def found(comparison: Comparison) -> tuple[str, str, str]:
    divergence = comparison.divergence
    assert divergence is not None
    return divergence.unit.module, divergence.unit.a.direction, divergence.cause


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """The dump of a run without a fault, by framework and task; nothing writes to it."""

    @cache
    def made(framework: str, task: str) -> Path:
        return run(tmp_path_factory.mktemp("sound"), framework, task=task)

    return made


@pytest.mark.table(6)
@pytest.mark.procedure("proc.dump.first_divergence")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("frameworks", [("pytorch", "pytorch"), ("pytorch", "mindspore"), ("mindspore", "pytorch")])
@pytest.mark.parametrize("task", ["tensor", "statistics"])
def test_a_planted_fault_is_the_first_divergence(
    fault: str, frameworks: tuple[str, str], task: str, tmp_path: Path, sound: Callable[[str, str], Path]
) -> None:
    a = run(tmp_path / "a", frameworks[0], task=task, fault=fault)
    assert found(compared(a, sound(frameworks[1], task))) == FAULTS[fault]


@pytest.mark.parametrize("fault", FAULTS)
def test_checksums_decide_within_one_framework(fault: str, tmp_path: Path) -> None:
    a, b = (run(tmp_path / side, task="md5", fault=given) for side, given in (("a", fault), ("b", "")))
    assert found(compared(a, b)) == FAULTS[fault]
    close = run(tmp_path / "c", task="md5", noise=1e-7)
    assert compared(close, b).divergence is not None
    crossing = run(tmp_path / "d", "mindspore", task="md5", noise=1e-7)
    assert compared(crossing, b).divergence is None
    assert compared(crossing, b, judge=Judge(exact=True)).divergence is not None


def test_an_argument_that_differs_is_the_cause(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", fault="argument"), run(tmp_path / "b")
    assert found(compared(a, b)) == ("decoder.layers.1.pre_mlp_layernorm", "forward", "argument")


@pytest.mark.parametrize("task", ["tensor", "statistics"])
@pytest.mark.parametrize("frameworks", [("pytorch", "pytorch"), ("pytorch", "mindspore")])
def test_equal_runs_match(task: str, frameworks: tuple[str, str], tmp_path: Path) -> None:
    a, b = (run(tmp_path / str(at), framework, task=task) for at, framework in enumerate(frameworks))
    comparison = compared(a, b)
    assert comparison.divergence is None
    assert not comparison.only_a
    assert not comparison.only_b
    assert all(tensor.agrees for tensor in comparison.tensors if tensor.how != "value")
    assert len(comparison.tensors) > 60


def test_the_answer_does_not_depend_on_threads(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", fault="weights"), run(tmp_path / "b", "mindspore")
    assert compared(a, b, jobs=4).units == compared(a, b, jobs=1).units


def test_rounding_of_low_precision_passes(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", dtype="float16", noise=5e-4), run(tmp_path / "b", "mindspore", dtype="float16")
    assert compared(a, b).divergence is None
    assert found(compared(run(tmp_path / "c", dtype="float16", fault="weights"), b))[0] == FAULTS["weights"][0]


def test_an_error_that_grows_is_called_gradual(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", noise=1e-4), run(tmp_path / "b")
    divergence = compared(a, b, judge=Judge(2.2e-4)).divergence
    assert divergence is not None
    assert divergence.gradual
    fault = compared(run(tmp_path / "c", fault="computation"), b).divergence
    assert fault is not None
    assert not fault.gradual


@pytest.mark.table(2)
@pytest.mark.parametrize(
    ("prefix", "names"),
    [
        ("Module.module.module.", {}),
        ("Module.0.module.", {}),
        ("Cell.network.model.", {}),
        ("Cell.network_with_loss.model.language_model.", {**LEGACY, "decoder": "encoder"}),
    ],
)
def test_wrappers_and_older_names_are_the_same_modules(prefix: str, names: dict[str, str], tmp_path: Path) -> None:
    framework = "mindspore" if prefix.startswith("Cell") else "pytorch"
    a, b = run(tmp_path / "a", framework, prefix=prefix, names=names, fault="weights"), run(tmp_path / "b")
    comparison = compared(a, b)
    assert found(comparison) == FAULTS["weights"]
    assert not comparison.only_a


def test_a_mapping_names_the_partners(tmp_path: Path) -> None:
    names = {"mlp": "feed_forward", "linear_fc1": "w_in", "linear_fc2": "w_out"}
    a, b = run(tmp_path / "a", "mindspore", names=names, fault="weights"), run(tmp_path / "b")
    without = compared(a, b)
    assert any("feed_forward" in unit.name for unit in without.only_a)
    mapping = tmp_path / "layer_mapping.yaml"
    mapping.write_text(
        "TransformerLayer: {feed_forward: mlp}\nMLP: {w_in: linear_fc1, w_out: linear_fc2}\n", encoding="utf-8"
    )
    for one, other in ((a, b), (b, a)):
        comparison = compared(one, other, mapping=read_mapping(str(mapping)))
        assert not comparison.only_a
        assert not comparison.only_b
        assert comparison.divergence is not None
        assert "layers.1" in comparison.divergence.unit.a.name
    cells = tmp_path / "cell_mapping.yaml"
    cells.write_text(
        "".join(
            f"Cell.decoder.layers.{n}.feed_forward{theirs}: Module.decoder.layers.{n}.mlp{ours}\n"
            for n in range(3)
            for theirs, ours in (
                (".MLP.forward.0", ".MLP.forward.0"),
                (".w_in.ColumnParallelLinear.forward.0", ".linear_fc1.ColumnParallelLinear.forward.0"),
                (".w_out.RowParallelLinear.forward.0", ".linear_fc2.RowParallelLinear.forward.0"),
            )
        )
    )
    assert not compared(a, b, mapping=read_mapping(str(cells))).only_a


def test_an_empty_mapping_renames_nothing(tmp_path: Path) -> None:
    path = tmp_path / "layer_mapping.yaml"
    path.write_text("# class: {MindSpore Transformers: Megatron-LM}\n{}\n")
    a, b = run(tmp_path / "a", "mindspore"), run(tmp_path / "b")
    assert not compared(a, b, mapping=read_mapping(str(path))).only_a


@pytest.mark.parametrize("text", ["", "- a", "a: 3", "{", "just words"])
def test_a_mapping_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(text)
    with pytest.raises(UnreadableError):
        read_mapping(str(path))


def test_a_module_that_is_listed_before_its_parts_is_narrowed_down(tmp_path: Path) -> None:
    """Backward passes, and msprobe before 26, may list a module before what ran inside it."""
    a, b = run(tmp_path / "a", fault="weights"), run(tmp_path / "b")
    path = a / "step0/rank0/dump.json"
    written = json.loads(path.read_text())
    holder = "Module.decoder.layers.1.mlp.MLP.forward.0"
    ordered: dict[str, Any] = {}
    for name, entry in written["data"].items():
        if name.startswith("Module.decoder.layers.1.mlp.linear_fc1") and holder not in ordered:
            ordered[holder] = written["data"][holder]
        ordered.setdefault(name, entry)
    written["data"] = ordered
    path.write_text(json.dumps(written))
    assert found(compared(a, b)) == FAULTS["weights"]


@pytest.mark.parametrize(
    ("ours", "theirs", "agrees"),
    [
        ((1.0, -1.0, 0.0, 10.0), (1.0, -1.0, 0.0, 10.0), True),
        ((1.0, -1.0, 0.0, 10.0), (1.0, -1.0, 0.0, 10.1), False),
        ((1.0, -1.0, 0.0, 10.0), (1.001, -1.0, 0.0, 10.0), False),
        ((1.0, -1.0, 0.0, 10.0), (1.0, -1.001, 0.0, 10.0), False),
        ((1.0, -1.0, 1e-5, 10.0), (1.0, -1.0, -1e-6, 10.0), True),
        ((1.0, -1.0, 0.01, 10.0), (1.0, -1.0, 0.0, 10.0), False),
        ((float("nan"), -1.0, 0.0, 10.0), (1.0, -1.0, 0.0, 10.0), False),
        ((None, None, None, None), (1.0, -1.0, 0.0, 10.0), None),
        ((None, None, None, 10.0), (1.0, -1.0, 0.0, 10.0), True),
    ],
)
def test_statistics(ours: tuple[Any, ...], theirs: tuple[Any, ...], agrees: bool | None) -> None:
    a, b = (Tensor("output.0", "output", "float32", (10, 10), Statistics(*known)) for known in (ours, theirs))
    assert compare_tensors(a, b, Judge()).agrees is agrees


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_tensor_beside_a_plain_number_is_not_compared_and_that_is_told(side: str, tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", task="statistics"), run(tmp_path / "b", task="statistics")
    name = "Torch.addcmul.0.forward"
    for folder in (a, b):
        file = next(folder.rglob("dump.json"))
        content = json.loads(file.read_text("utf-8"))
        unit = next(unit for unit in content["data"].values() if unit.get("input_args"))
        inputs = [unit["input_args"][0]] * 2
        content["data"][name] = {"input_args": inputs, "input_kwargs": {}, "output": unit["input_args"][:1]}
        if folder.name != side:
            inputs[1] = {"type": "float", "value": 0.5}
        file.write_text(json.dumps(content), "utf-8")
    assert [(one.side, one.unit, one.place) for one in compared(a, b).alone] == [(side, name, "input.1")]


def test_what_has_no_partner_is_listed(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a"), run(tmp_path / "b")
    path = a / "step0/rank0/dump.json"
    written = json.loads(path.read_text())
    gone = "Module.decoder.layers.1.mlp.linear_fc2.RowParallelLinear.forward.0"
    del written["data"][gone]
    path.write_text(json.dumps(written))
    comparison = compared(a, b)
    assert [unit.name for unit in comparison.only_b] == [gone]
    assert comparison.divergence is None


def keep(folder: Path, share: float) -> None:
    """Cut a dump as a run that was stopped does: its last units are gone."""
    path = folder / "step0/rank0/dump.json"
    written = json.loads(path.read_text())
    names = list(written["data"])
    written["data"] = {name: written["data"][name] for name in names[: int(len(names) * share)]}
    path.write_text(json.dumps(written))


@pytest.mark.table(3)
@pytest.mark.parametrize("frameworks", [("pytorch", "pytorch"), ("pytorch", "mindspore"), ("mindspore", "pytorch")])
@pytest.mark.parametrize("share", [0.33, 0.5, 0.8])
def test_a_dump_that_was_cut_has_gaps(frameworks: tuple[str, str], share: float, tmp_path: Path) -> None:
    a, b = (run(tmp_path / str(at), framework) for at, framework in enumerate(frameworks))
    assert compared(a, b).gaps == ()
    keep(b, share)
    comparison = compared(a, b)
    assert comparison.divergence is None
    gaps = {(gap.side, gap.part, gap.direction) for gap in comparison.gaps}
    assert ("a", "decoder.layers.0", "backward") in gaps
    assert all(side == "a" for side, _, _ in gaps)
    assert {(gap.side, gap.part) for gap in compared(b, a).gaps} == {("b", gap.part) for gap in comparison.gaps}


def test_many_single_units_without_a_partner_are_a_gap_within_one_framework(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a"), run(tmp_path / "b")
    path = a / "step0/rank0/dump.json"
    written = json.loads(path.read_text())
    written["data"] = {name: entry for name, entry in written["data"].items() if "layernorm" not in name}
    path.write_text(json.dumps(written))
    (gap,) = compared(a, b).gaps
    assert (gap.side, gap.part) == ("b", "")
    assert 0.1 <= gap.units / gap.of < 0.5


def test_a_part_of_a_dump(tmp_path: Path) -> None:
    tree = read_tree(find_places(str(run(tmp_path / "a")))[0])
    found = restrict_to(tree, ["decoder.layers.1.mlp"])
    assert {unit.scope.rpartition("layers.")[2].split(".")[:2][1] for unit in found.units} == {"mlp"}
    assert restrict_to(tree, []) == tree
    assert not restrict_to(tree, ["decoder.layers.1.ml"]).units


def test_axes_in_another_order_are_found(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", "mindspore", fault="weights"), run(tmp_path / "b")
    transpose(a)
    comparison = compared(a, b)
    assert found(comparison) == FAULTS["weights"]
    assert any(tensor.layout.startswith("transposed") for tensor in comparison.tensors)


def transpose(root: Path) -> None:
    """Activations as [sequence, batch, hidden], as the other framework may have them."""
    path = root / "step0/rank0/dump.json"
    written = json.loads(path.read_text())
    for name, entry in written["data"].items():
        for tensor in [*entry.get("input_args", ()), *entry.get("output", ()), *entry.get("input", ())]:
            if len(tensor.get("shape", ())) == 3:
                file = path.parent / "dump_tensor_data" / tensor["data_name"]
                np.save(file, np.load(file).transpose(1, 0, 2).copy())
                tensor["shape"] = [tensor["shape"][at] for at in (1, 0, 2)]
        assert name
    path.write_text(json.dumps(written))


def test_a_linear_layer_that_normalises_its_own_input_meets_norm_and_linear(tmp_path: Path) -> None:
    """Transformer Engine's `TELayerNormColumnParallelLinear`, beside an identity where the norm was."""
    a, b = run(tmp_path / "a"), run(tmp_path / "b", "mindspore")
    path = a / "step0/rank0/dump.json"
    written = json.loads(path.read_text())
    data: dict[str, Any] = {}
    norms: dict[str, Any] = {}
    for name, entry in written["data"].items():
        if ".pre_mlp_layernorm.RMSNorm.forward" in name:
            norms[name.partition(".pre_mlp")[0]] = entry
            given = entry["input_args"]
            data[name.replace("RMSNorm", "IdentityOp")] = {**entry, "output": given[:1]}
        elif ".linear_fc1.ColumnParallelLinear" in name and "parameters_grad" not in name:
            renamed = name.replace("ColumnParallelLinear", "TELayerNormColumnParallelLinear")
            fused = dict(entry)
            if "forward" in name:
                fused["input_args"] = norms[name.partition(".mlp")[0]]["input_args"][:1]
            data[renamed] = fused
        else:
            data[name] = entry
    written["data"] = data
    path.write_text(json.dumps(written))
    comparison = compared(a, b)
    assert comparison.divergence is None
    assert [unit.skipped for unit in comparison.units].count("fused") == 3


@pytest.mark.parametrize("broken", ["cut", "garbled", "missing", "empty"])
def test_a_tensor_that_cannot_be_read_falls_back_to_its_statistics_and_is_told(broken: str, tmp_path: Path) -> None:
    for framework, ending in (("pytorch", "pt"), ("mindspore", "npy")):
        a, b = run(tmp_path / framework / "a", framework), run(tmp_path / framework / "b", framework)
        files = sorted((a / "step0/rank0/dump_tensor_data").glob(f"*linear_fc2*output.0.{ending}"))
        data = files[0].read_bytes()
        if broken == "missing":
            files[0].unlink()
        else:
            files[0].write_bytes({"cut": data[: len(data) // 2], "garbled": b"\x00" * 400, "empty": b""}[broken])
        comparison = compared(a, b)
        assert comparison.divergence is None
        told = [tensor.unreadable.message() for tensor in comparison.unreadable if tensor.unreadable]
        told += [note.en for note in comparison.a.notes]
        assert any(files[0].name in line for line in told), told


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"data": {"a": ', "EVD032"),
        ("", "EVD032"),
        ("[]", "EVD033"),
        ('{"task": 1}', "EVD033"),
        ('{"data": {}}', "EVD034"),
        (b"\xff\xfe", "EVD032"),
        ("[" * 100_000, "EVD032"),
    ],
)
def test_a_broken_dump_is_refused_with_its_place(text: str | bytes, code: str, tmp_path: Path) -> None:
    a, b = run(tmp_path / "a"), run(tmp_path / "b")
    path = a / "step0/rank0/dump.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UnreadableError) as error:
        compared(a, b)
    assert error.value.diagnostic.kind.code == code
    assert "{" not in str(error.value)


def test_entries_that_are_no_units_are_noted(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a"), run(tmp_path / "b")
    path = a / "step0/rank0/dump.json"
    written = json.loads(path.read_text())
    written["data"]["nonsense"] = 3
    written["data"]["Module.x.Y.forward.0"] = {"output": [{"type": "torch.Tensor", "shape": "?", "Max": "x"}]}
    path.write_text(json.dumps(written))
    comparison = compared(a, b)
    assert comparison.divergence is None
    assert any("nonsense" in note.en for note in comparison.a.notes)


def test_a_nan_is_named_where_it_appears_first(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", "mindspore"), run(tmp_path / "b", "mindspore")
    name = "Cell.decoder.layers.1.mlp.linear_fc1.ColumnParallelLinear.forward.0.output.0.npy"
    file = a / "step0/rank0/dump_tensor_data" / name
    array = np.load(file)
    array[0, 0, 0] = np.nan
    np.save(file, array)
    assert found(compared(a, b)) == ("decoder.layers.1.mlp.linear_fc1", "forward", "overflow")


@pytest.mark.table(3)
@pytest.mark.parametrize("fault", FAULTS)
def test_settings_behind_a_divergence_are_fields_of_the_recipe(fault: str, tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", fault=fault), run(tmp_path / "b")
    divergence = compared(a, b).divergence
    assert divergence is not None
    fields = settings_behind(divergence)
    assert fields
    assert set(fields) <= set(vocabulary())


def test_the_next_dump_is_the_guides(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", fault="backward"), run(tmp_path / "b", "mindspore")
    divergence = compared(a, b).divergence
    assert divergence is not None
    dump = next_dump(divergence, "L0", "tensor", 0, 0)
    assert dump.scope_b == (
        "Cell.decoder.layers.1.mlp.linear_fc2.RowParallelLinear.backward.0",
        "Cell.decoder.layers.1.mlp.linear_fc1.ColumnParallelLinear.backward.0",
    )
    assert dump._replace(configs=("a.sh", "b.yaml")).command == (
        "accmap dump config a.sh b.yaml --level mix --task tensor --scope "
        "decoder.layers.1.mlp.linear_fc2.backward.0 decoder.layers.1.mlp.linear_fc1.backward.0 "
        "--steps 0 -d next-dump"
    )
    assert "--ranks 3" in (next_dump(divergence, "L0", "tensor", None, 3).command or "")
    assert next_dump(divergence, "mix", "tensor", 0, 0).command is None
    assert next_dump(divergence, "mix", "statistics", 0, 0).command is not None


def test_places_are_found_from_any_folder(tmp_path: Path) -> None:
    root = tmp_path / "dump"
    for place in ("step0/rank0", "step0/rank1", "step2/rank0"):
        run(root, task="statistics", place=place)
    numbers = [(place.step, place.rank) for place in find_places(str(root))]
    assert numbers == [(0, 0), (0, 1), (2, 0)]
    assert [(place.step, place.rank) for place in find_places(str(root / "step0"))] == [(0, 0), (0, 1)]
    assert [(place.step, place.rank) for place in find_places(str(root / "step2/rank0"))] == [(2, 0)]
    assert [(place.step, place.rank) for place in find_places(str(root / "step2/rank0/dump.json"))] == [(2, 0)]
    processes = run(tmp_path / "other", task="statistics", place="step0/proc4711")
    assert [(place.step, place.rank) for place in find_places(str(processes))] == [(0, 0)]
    for path in (tmp_path / "nothing", tmp_path):
        if path.exists():
            continue
        with pytest.raises(UnreadableError):
            find_places(str(path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableError):
        find_places(str(tmp_path / "empty"))


@pytest.mark.parametrize("numbered", [True, False])
def test_two_micro_batches_have_gradients_of_their_own(tmp_path: Path, numbered: bool) -> None:
    # msprobe 26.2.0 `core/dump/data_dump/data_collector.py:params_data_collect` numbers them by micro batch.
    root = run(tmp_path / "x", "pytorch", task="statistics")
    file = next(root.rglob("dump.json"))
    dump = json.loads(file.read_text())
    again: dict[str, Any] = {}
    for number, scale in ((0, 1.0), (1, 3.0)):
        for name, entry in dump["data"].items():
            told = json.loads(json.dumps(entry))
            if ".parameters_grad" in name:
                head = name.partition(".parameters_grad")[0] + ".parameters_grad"
                for (leaf,) in told.values():
                    leaf.update({key: leaf[key] * scale for key in ("Max", "Min", "Mean", "Norm")})
                again[f"{head}.{number}" if numbered else head] = told
            else:
                *parts, _ = name.split(".")
                again[".".join((*parts, str(number)))] = told
    dump["data"] = again
    file.write_text(json.dumps(dump))
    construct = file.with_name("construct.json")
    construct.write_text("{}")
    comparison = compared(root, root)
    assert comparison.divergence is None
    tree = read_tree(find_places(str(root))[0])
    gradients = [unit for unit in tree.units if any(one.place.startswith("gradient.") for one in unit.tensors)]
    assert {unit.call for unit in gradients} == ({0, 1} if numbered else {1})
    for unit in gradients:
        places = [one.place for one in unit.tensors]
        assert len(places) == len(set(places)), unit.name


@pytest.mark.parametrize(
    ("name", "beta", "differs"), [("baddbmm", 0.0, False), ("baddbmm", 1.0, True), ("bmm", 0.0, True)]
)
def test_an_input_that_is_multiplied_by_nothing_is_not_looked_at(
    name: str, beta: float, differs: bool, tmp_path: Path
) -> None:
    """torch.baddbmm with beta 0 does not read its first input, an uninitialised buffer in Megatron-Core's attention."""

    def tensor(norm: float) -> dict[str, Any]:
        known = {"Max": norm, "Min": -norm, "Mean": 0.0, "Norm": norm}
        return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 4, 4], **known}

    for side, norm in (("a", 3.0), ("b", float("inf"))):
        unit = {
            "input_args": [tensor(norm), tensor(2.0), tensor(2.0)],
            "input_kwargs": {"beta": {"type": "float", "value": beta}},
            "output": [tensor(4.0)],
        }
        (tmp_path / side / "step0" / "rank0").mkdir(parents=True)
        written = {
            "task": "statistics",
            "level": "L1",
            "framework": "pytorch",
            "data": {f"Torch.{name}.0.forward": unit},
        }
        (tmp_path / side / "step0" / "rank0" / "dump.json").write_text(json.dumps(written))
    comparison = compared(tmp_path / "a", tmp_path / "b")
    assert (comparison.divergence is not None) is differs
    assert bool(scan(comparison.b).found) is differs


MODULES = ("embedding.word_embeddings", "decoder.layers.0.mlp", "output_layer")


def inference_tree(passes: list[int], fault: tuple[int, str] | None = None, weight: float | None = None) -> Tree:
    """A dump of passes of so many tokens; `fault`: the pass and module that computes something else."""
    units: list[Unit] = []
    for call, tokens in enumerate(passes):
        off = 0.0
        for name in MODULES:
            off += 7.0 if fault == (call, name) else 0.0
            norm = 10.0 * tokens + off
            made = Statistics(norm / 2, -norm / 2, 0.1, norm)
            tensors = [Tensor("output.0", "output", "torch.float32", (tokens, 1, 8), made)]
            if weight is not None:
                own = weight if name == MODULES[1] else 1.0
                tensors.append(
                    Tensor("parameters.weight", "parameter", "torch.float32", (8, 8), Statistics(own, -1.0, 0.0, own))
                )
            units.append(
                Unit(f"Module.{name}.Linear.forward.{call}", name, "Linear", "forward", call, "module", tensors)
            )
    return Tree("dump", "msprobe", "pytorch", "statistics", "L0", 0, 0, tuple(units))


def test_prefill_goes_with_prefill_and_decode_with_decode() -> None:
    chunks, whole = inference_tree([9, 9, 1, 1, 1]), inference_tree([9, 1, 1, 1])
    same = compare_trees(chunks, whole)
    assert same.divergence is None
    assert [unit.call for unit in same.only_a] == [1, 1, 1]
    assert {unit.inference_pass for unit in same.units} == {"prefill 1", "decode 1", "decode 2", "decode 3"}
    divergence = compare_trees(inference_tree([9, 9, 1, 1, 1], fault=(3, MODULES[1])), whole).divergence
    assert divergence is not None
    assert (divergence.unit.module, divergence.unit.inference_pass) == ("decoder.layers.0.mlp", "decode 2")
    assert all(not unit.inference_pass for unit in compare_trees(inference_tree([9, 9]), inference_tree([9, 9])).units)


def test_weights_that_are_not_finite_are_the_cause() -> None:
    bad, good = inference_tree([9, 1], fault=(0, MODULES[1]), weight=float("inf")), inference_tree([9, 1], weight=1.0)
    divergence = compare_trees(bad, good).divergence
    assert divergence is not None
    assert (divergence.unit.module, divergence.cause) == ("decoder.layers.0.mlp", "weights")


@pytest.mark.parametrize(("weight", "cause"), [(float("inf"), "weights"), (1.0, "computation"), (None, "unknown")])
def test_a_scan_tells_what_makes_a_nan(weight: float | None, cause: str) -> None:
    tree = inference_tree([9, 1], weight=weight)
    at = next(place for place, unit in enumerate(tree.units) if unit.scope == MODULES[1])
    nan = Statistics(float("nan"), float("nan"), float("nan"), float("nan"))
    made = [tensor._replace(statistics=nan) if tensor.role == "output" else tensor for tensor in tree.units[at].tensors]
    units = [*tree.units[:at], tree.units[at]._replace(tensors=made), *tree.units[at + 1 :]]
    told = scan(tree._replace(units=tuple(units)))
    assert told.origin is not None
    assert (told.origin.scope, told.cause) == (MODULES[1], cause)
