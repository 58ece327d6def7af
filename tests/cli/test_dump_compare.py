"""`accmap dump compare` as a command: exit codes, forms, languages, and what it says of the pair."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "evidence" / "dump"))
from small_network import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAIR = [str(EXAMPLES / "planted" / name) for name in ("megatron.sh", "mindformers.yaml")]


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("dumps")
    made = {
        "a": run(root / "a"),
        "b": run(root / "b", "mindspore"),
        "fault": run(root / "fault", fault="computation"),
        "backward": run(root / "backward", fault="backward"),
        "statistics": run(root / "statistics", task="statistics"),
        "b_statistics": run(root / "b_statistics", "mindspore", task="statistics"),
        "nan": run(root / "nan", fault="overflow"),
    }
    for rank in (0, 1):
        run(root / "ranks", task="statistics", place=f"step0/rank{rank}")
        run(root / "ranks2", task="statistics", place=f"step0/rank{rank}", fault="weights" if rank else "")
    return {
        **{name: str(path) for name, path in made.items()},
        "ranks": str(root / "ranks"),
        "ranks2": str(root / "ranks2"),
    }


def test_a_match(accmap, dumps: dict[str, str]) -> None:
    answer = accmap("dump", "compare", dumps["a"], dumps["b"])
    assert answer.code == 0, answer.out
    assert answer.out.startswith("match")


def test_two_dumps_of_one_framework_are_no_pair(accmap, dumps: dict[str, str]) -> None:
    pair = [str(EXAMPLES / "qwen3_dense" / name) for name in ("megatron.sh", "mindformers.yaml")]
    answer = accmap("dump", "compare", dumps["a"], dumps["a"], "--config", *pair)
    assert answer.code == 1
    assert answer.out.startswith("partial")
    assert "both dumps belong to PyTorch" in answer.out
    assert accmap("dump", "compare", dumps["a"], dumps["b"], "--config", *pair).code == 0
    assert accmap("dump", "compare", dumps["a"], dumps["a"]).code == 0


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("partial", "B lacks the backward pass of decoder.layers.0", "--only MODULE")),
        ("zh", ("部分比较", "B 缺少 decoder.layers.0 的反向", "--only MODULE")),
    ],
)
def test_a_dump_cut_to_a_third_is_no_match(
    accmap, dumps: dict[str, str], tmp_path: Path, language: str, words: tuple[str, ...]
) -> None:
    shutil.copytree(dumps["b"], tmp_path / "cut")
    path = tmp_path / "cut/step0/rank0/dump.json"
    written = json.loads(path.read_text())
    names = list(written["data"])
    written["data"] = {name: written["data"][name] for name in names[: len(names) // 3]}
    path.write_text(json.dumps(written))
    answer = accmap("dump", "compare", dumps["a"], "cut", "--lang", language)
    assert answer.code == 1
    assert answer.out.startswith(words[0])
    assert all(word in answer.out for word in words)
    found = json.loads(accmap("dump", "compare", dumps["a"], "cut", "--format", "json").out)
    jsonschema.validate(found, json.loads(accmap("schema", "dump-compare").out))
    assert found["verdict"] == "partial"
    assert {gap["side"] for gap in found["parts"][0]["gaps"]} == {"a"}
    chosen = accmap("dump", "compare", dumps["a"], "cut", "--only", "embedding", "--lang", language)
    assert chosen.code == 0
    nobody = accmap("dump", "compare", dumps["a"], "cut", "--only", "nowhere", "--lang", language)
    assert nobody.code == 2
    assert "nowhere" in nobody.err


def test_only_what_was_asked_for_is_compared(accmap, dumps: dict[str, str]) -> None:
    answer = accmap("dump", "compare", dumps["fault"], dumps["b"], "--only", "embedding", "--format", "json")
    assert answer.code == 0
    units = json.loads(answer.out)["parts"][0]["units"]
    assert units
    assert all(unit["module"].startswith("embedding") for unit in units)


@pytest.mark.procedure("proc.dump.first_divergence")
@pytest.mark.parametrize(
    ("language", "words"), [("en", ("first divergence", "next dump")), ("zh", ("首个差异", "下一步采集"))]
)
def test_the_first_divergence_its_settings_and_the_next_dump(
    accmap, dumps: dict[str, str], language: str, words: tuple[str, str]
) -> None:
    answer = accmap("dump", "compare", dumps["fault"], dumps["b"], "--config", *PAIR, "--lang", language)
    assert answer.code == 1
    lines = answer.out.splitlines()
    assert any(words[0] in line and "decoder.layers.1.pre_mlp_layernorm" in line for line in lines)
    command = f"accmap dump config {PAIR[0]} {PAIR[1]} --level mix --task tensor --scope decoder.layers.1.pre_mlp"
    assert any(words[1] in line and command in line for line in lines)
    assert any("norm." in line for line in lines)


@pytest.mark.parametrize(("version", "named"), [("1.6", ["DEF531"]), ("1.7", [])])
def test_a_known_defect_behind_the_first_divergence(
    accmap, dumps: dict[str, str], version: str, named: list[str]
) -> None:
    yaml = Path(PAIR[1]).read_text("utf-8")
    half = yaml.replace("layernorm_compute_dtype: float32", "layernorm_compute_dtype: bfloat16")
    assert half != yaml
    words = ("dump", "compare", dumps["fault"], dumps["b"], "--config", PAIR[0], "a.yaml", "--mindformers", version)
    answer = accmap(*words, "--format", "json", files={"a.yaml": half})
    first = json.loads(answer.out)["parts"][0]["first_divergence"]
    assert [one["code"] for one in first["defects"]] == named
    assert ("DEF531" in accmap(*words).out) == bool(named)


def test_json_is_as_its_schema_says(accmap, dumps: dict[str, str], tmp_path: Path) -> None:
    schema = json.loads(accmap("schema", "dump-compare").out)
    lines = (
        (dumps["fault"], dumps["b"], "--config", *PAIR),
        (dumps["a"], dumps["b"]),
        (dumps["backward"], dumps["a"]),
        (dumps["nan"], dumps["a"]),
        (dumps["statistics"], dumps["b"]),
    )
    for line in lines:
        answer = accmap("dump", "compare", *line, "--format", "json")
        found = json.loads(answer.out)
        jsonschema.validate(found, schema)
        assert (found["verdict"] == "match") == (answer.code == 0)
    differing = json.loads(accmap("dump", "compare", *lines[0], "--format", "json").out)["parts"][0]["first_divergence"]
    assert {row["field"] for row in differing["different_fields"]} <= set(differing["fields"])
    (tmp_path / "accuracy_checking_result_1.csv").write_text(
        "API Name,Forward Test Success,Backward Test Success,Message\nMint.add.0,error,pass,bad\n"
    )
    answer = accmap("dump", "compare", "accuracy_checking_result_1.csv", "--format", "json")
    assert answer.code == 1
    jsonschema.validate(json.loads(answer.out), schema)


def test_csv_has_a_row_for_every_tensor(accmap, dumps: dict[str, str]) -> None:
    answer = accmap("dump", "compare", dumps["fault"], dumps["a"], "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    assert len(rows) > 60
    first = next(row for row in rows if row["agrees"] == "False")
    assert first["module"] == "decoder.layers.1.pre_mlp_layernorm"
    assert float(first["cosine"]) <= 1


def test_steps_and_ranks(accmap, dumps: dict[str, str]) -> None:
    assert accmap("dump", "compare", dumps["ranks"], dumps["ranks2"], "--rank", "0").code == 0
    answer = accmap("dump", "compare", dumps["ranks"], dumps["ranks2"])
    assert answer.code == 1
    assert "rank 0" in answer.out
    assert "rank 1" in answer.out
    answer = accmap("dump", "compare", dumps["ranks"], dumps["statistics"], "-q")
    assert answer.code == 1
    assert answer.out.startswith("partial")
    assert accmap("dump", "compare", dumps["ranks"], dumps["statistics"], "-q", "--rank", "0").code == 0
    assert "only in A, not compared: step 0 rank 1" in answer.out
    places = json.loads(accmap("dump", "compare", dumps["ranks"], dumps["statistics"], "--format", "json").out)[
        "other_places"
    ]
    assert places == {"a": ["step 0 rank 1"], "b": []}
    answer = accmap("dump", "compare", dumps["ranks"], dumps["ranks2"], "--rank", "7")
    assert answer.code == 2
    assert "EVD035" in answer.err


@pytest.mark.parametrize(
    "words",
    [
        ("nothing", "nothing"),
        ("a.csv", "b.csv"),
        (".",),
        (".", "."),
        ("x", "y", "--tolerance", "3"),
        ("x", "y", "--jobs", "0"),
        ("x", "y", "--config", "a", "b", "c"),
    ],
)
def test_wrong_use_is_told(accmap, words: tuple[str, ...]) -> None:
    answer = accmap("dump", "compare", *words)
    assert answer.code == 2
    assert answer.err
    assert not answer.out


def test_an_unreadable_tensor_makes_the_answer_incomplete(accmap, dumps: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(dumps["b"], tmp_path / "c")
    file = next((tmp_path / "c/step0/rank0/dump_tensor_data").glob("*linear_fc2*output.0.npy"))
    file.write_bytes(file.read_bytes()[:40])
    answer = accmap("dump", "compare", "c", dumps["b"])
    assert answer.code == 2
    assert answer.out.startswith("partial")
    assert file.name in answer.out


def test_what_is_more_than_a_few_lines_is_counted_and_shown_on_request(
    accmap, dumps: dict[str, str], tmp_path: Path
) -> None:
    shutil.copytree(dumps["b"], tmp_path / "c")
    files = sorted((tmp_path / "c/step0/rank0/dump_tensor_data").glob("*.npy"))[:9]
    for file in files:
        file.write_bytes(file.read_bytes()[:40])
    answer = accmap("dump", "compare", "c", dumps["b"])
    assert answer.out.endswith("… use --all to show the rest\n")
    assert not all(file.name in answer.out for file in files)
    whole = accmap("dump", "compare", "c", dumps["b"], "--all")
    assert "more" not in whole.out
    assert all(file.name in whole.out for file in files)
    told = accmap("dump", "compare", "c", dumps["b"], "--format", "json").out
    assert all(file.name in told for file in files)


def test_all_units_and_a_file(accmap, dumps: dict[str, str], tmp_path: Path) -> None:
    answer = accmap("dump", "compare", dumps["fault"], dumps["a"], "--all", "-o", "report.txt")
    assert answer.code == 1
    text = (tmp_path / "report.txt").read_text("utf-8")
    assert text.count("✓") > 5
    assert "✗" in text
    assert accmap("dump", "compare", dumps["a"], dumps["b"], "-o", "report.txt").code == 2
    assert accmap("dump", "compare", dumps["a"], dumps["b"], "-o", "report.txt", "--force").code == 0


def _tensors(entry: Any) -> Iterator[dict[str, Any]]:
    if isinstance(entry, dict) and "Max" in entry:
        yield entry
    elif isinstance(entry, (dict, list)):
        for below in entry.values() if isinstance(entry, dict) else entry:
            yield from _tensors(below)


def _rewritten(source: str, folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    shutil.copytree(source, folder)
    file = folder / "step0/rank0/dump.json"
    written = json.loads(file.read_text("utf-8"))
    for unit in written["data"].values():
        for tensor in _tensors(unit):
            change(tensor)
    file.write_text(json.dumps(written), "utf-8")


def test_sums_against_statistics_are_no_match(accmap, dumps: dict[str, str], tmp_path: Path) -> None:
    def sums(tensor: dict[str, Any]) -> None:
        for key in ("Max", "Min", "Mean", "Norm"):
            del tensor[key]
        tensor["md5"] = "00000000"

    _rewritten(dumps["statistics"], tmp_path / "md5", sums)
    for words in (("md5", dumps["statistics"]), (dumps["statistics"], "md5"), ("md5", dumps["b"])):
        answer = accmap("dump", "compare", *words)
        assert answer.code == 2, answer.out
        assert "EVD039" in answer.err
    assert "相同的统计量" in accmap("dump", "compare", "md5", dumps["b"], "--lang", "zh").err
    assert accmap("dump", "compare", "md5", "md5").code == 0


def test_tensors_that_cannot_be_compared_are_counted(accmap, dumps: dict[str, str], tmp_path: Path) -> None:
    left = iter(range(1000))

    def emptied(tensor: dict[str, Any]) -> None:
        if next(left) % 2:
            tensor.update(Max=None, Min=None, Mean=None, Norm=None)

    _rewritten(dumps["statistics"], tmp_path / "half", emptied)
    answer = accmap("dump", "compare", "half", dumps["b"])
    assert answer.code == 1
    assert answer.out.startswith("partial")
    missing = json.loads(accmap("dump", "compare", "half", dumps["b"], "--format", "json").out)["parts"][0]["compared"]
    assert missing["missing"] >= missing["without_numbers"] > 10
    assert f"not compared: {missing['without_numbers']} tensors" in answer.out


def _without_outputs(source: str, target: Path, units: slice) -> None:
    shutil.copytree(source, target)
    file = next(target.rglob("dump.json"))
    written = json.loads(file.read_text("utf-8"))
    forward = [name for name in written["data"] if ".forward." in name]
    for name in forward[units]:
        written["data"][name]["output"] = []
    file.write_text(json.dumps(written), "utf-8")


@pytest.mark.parametrize("units", [slice(None), slice(-1, None)])
@pytest.mark.parametrize("other", ["statistics", "b_statistics"])
def test_a_dump_without_outputs_is_no_match(
    accmap, dumps: dict[str, str], tmp_path: Path, units: slice, other: str
) -> None:
    """Of one framework and across frameworks: what one side alone has is named, and the match is one in part."""
    _without_outputs(dumps["statistics"], tmp_path / "bare", units)
    for words, side in ((("bare", dumps[other]), "b"), ((dumps[other], "bare"), "a")):
        answer = accmap("dump", "compare", *words, "--format", "json")
        found = json.loads(answer.out)
        assert (answer.code, found["verdict"]) == (1, "partial")
        alone = found["parts"][0]["unmatched"]
        assert alone
        assert {one["side"] for one in alone} == {side}
        assert {one["place"] for one in alone} == {"output.0"}
        assert alone[0]["unit"] in found["not_compared"][0]["reason"]


@pytest.mark.parametrize("other", ["statistics", "b_statistics"])
def test_two_dumps_without_outputs_are_no_match(accmap, dumps: dict[str, str], tmp_path: Path, other: str) -> None:
    _without_outputs(dumps["statistics"], tmp_path / "bare", slice(None))
    _without_outputs(dumps[other], tmp_path / "too", slice(None))
    answer = accmap("dump", "compare", "bare", "too")
    assert (answer.code, answer.out.partition(":")[0].split()[0]) == (1, "partial")
    assert "neither dump has their outputs" in answer.out


@pytest.mark.parametrize("other", ["statistics", "b_statistics"])
def test_two_dumps_without_a_backward_pass_say_so(accmap, dumps: dict[str, str], tmp_path: Path, other: str) -> None:
    for source, target in ((dumps["statistics"], tmp_path / "one"), (dumps[other], tmp_path / "two")):
        shutil.copytree(source, target)
        file = next(target.rglob("dump.json"))
        written = json.loads(file.read_text("utf-8"))
        written["data"] = {name: unit for name, unit in written["data"].items() if ".forward." in name}
        file.write_text(json.dumps(written), "utf-8")
    answer = accmap("dump", "compare", "one", "two")
    assert answer.out.startswith("match")
    assert "neither dump has a backward pass" in answer.out


_ABSENT = {
    "a gradient": "Module.decoder.layers.1.mlp.linear_fc2.RowParallelLinear.parameters_grad.0",
    "a layer's unit": "Module.decoder.layers.1.mlp.linear_fc2.RowParallelLinear.forward.0",
    "a module around others": "Module.decoder.layers.1.mlp.MLP.backward.0",
    "a module of its own": "Module.decoder.final_layernorm.RMSNorm.forward.0",
}


@pytest.mark.parametrize("name", _ABSENT)
@pytest.mark.parametrize("other", ["statistics", "b_statistics"])
def test_what_differs_and_is_absent_on_one_side_is_no_match(
    accmap, dumps: dict[str, str], tmp_path: Path, name: str, other: str
) -> None:
    shutil.copytree(dumps["statistics"], tmp_path / "changed")
    file = next((tmp_path / "changed").rglob("dump.json"))
    written = json.loads(file.read_text("utf-8"))
    for tensor in _tensors(written["data"][_ABSENT[name]]):
        tensor.update(Max=tensor["Max"] * 3 + 1, Norm=tensor["Norm"] * 2 + 1)
    file.write_text(json.dumps(written), "utf-8")
    assert (
        json.loads(accmap("dump", "compare", "changed", dumps[other], "--format", "json").out)["verdict"] == "diverged"
    )
    del written["data"][_ABSENT[name]]
    file.write_text(json.dumps(written), "utf-8")
    for words in (("changed", dumps[other]), (dumps[other], "changed")):
        answer = accmap("dump", "compare", *words, "--format", "json")
        found = json.loads(answer.out)
        assert (answer.code, found["verdict"]) == (1, "partial")
        assert any(
            reason["reason"].endswith(")") and " exist in only one dump (" in reason["reason"]
            for reason in found["not_compared"]
        )
        assert "exist in only one dump" in accmap("dump", "compare", *words).out


def test_statistics_that_one_side_lacks_are_counted(accmap, dumps: dict[str, str], tmp_path: Path) -> None:
    _rewritten(dumps["statistics"], tmp_path / "norms", lambda tensor: tensor.update(Max=None, Min=None))
    answer = accmap("dump", "compare", "norms", dumps["statistics"], "--format", "json")
    found = json.loads(answer.out)
    assert (answer.code, found["verdict"]) == (1, "partial")
    assert found["parts"][0]["compared"]["statistics_alone"] > 60
    assert "some statistics exist in only one dump" in found["not_compared"][0]["reason"]


def test_elements_in_one_dump_alone_are_counted(accmap, dumps: dict[str, str]) -> None:
    for words in ((dumps["a"], dumps["statistics"]), (dumps["b_statistics"], dumps["a"])):
        answer = accmap("dump", "compare", *words)
        assert answer.code == 1
        assert answer.out.startswith("partial")
        assert "tensors, only one dump has elements, so accmap compared their statistics" in answer.out
    assert (
        "accmap only compared statistics" in accmap("dump", "compare", dumps["statistics"], dumps["b_statistics"]).out
    )


@pytest.mark.parametrize("kind", ["nan", "nan statistics"])
def test_a_nan_in_the_same_place_is_no_divergence(accmap, dumps: dict[str, str], tmp_path: Path, kind: str) -> None:
    if kind == "nan":
        run(tmp_path / "x", "mindspore")
        file = next((tmp_path / "x").rglob("*layers.1.mlp.linear_fc1*forward*output.0.npy"))
        array = np.load(file)
        array[0, 0, 0] = np.nan
        np.save(file, array)
        other = dumps["b"]
    else:
        _rewritten(dumps["statistics"], tmp_path / "x", lambda tensor: tensor.update(Max="nan", Norm="nan"))
        other = dumps["statistics"]
    answer = accmap("dump", "compare", "x", "x", "--format", "json")
    found = json.loads(answer.out)
    assert (answer.code, found["verdict"]) == (1, "partial")
    assert (found["parts"][0]["compared"]["nan"] == 1) == (kind == "nan")
    assert "NaN at the same positions on both sides (" in answer.out
    assert accmap("dump", "compare", "x", other).out.startswith("diverged")


def test_two_single_dumps_of_other_steps_say_so(accmap, dumps: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(f"{dumps['a']}/step0", tmp_path / "later/step3")
    assert "A is step 3, rank 0; B is step 0, rank 0" in accmap("dump", "compare", "later", dumps["b"]).out
    assert "A is step" not in accmap("dump", "compare", dumps["a"], dumps["b"]).out


def test_a_folder_that_is_called_proc(accmap, dumps: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(f"{dumps['a']}/step0/rank0", tmp_path / "proc/step0/proc123")
    assert accmap("dump", "compare", "proc", dumps["b"]).code == 0


def test_an_existing_report_is_refused_before_anything_is_compared(accmap, tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text("kept")
    answer = accmap("dump", "compare", "nowhere", "either", "-o", "report.txt")
    assert answer.code == 2
    assert "report.txt already exists" in answer.err


def test_tensors_that_cannot_be_listed(accmap, dumps: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    listed = os.scandir

    def locked(path: str) -> Any:
        if path.endswith("dump_tensor_data"):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr("os.scandir", locked)
    answer = accmap("dump", "compare", dumps["a"], dumps["b"])
    assert answer.code == 2
    assert "dump_tensor_data: Permission denied" in answer.err


def test_a_dump_of_the_structure_alone_says_so(accmap, tmp_path: Path) -> None:
    # msprobe 26.2.0, task structure
    for side in ("a", "b"):
        folder = tmp_path / side / "step0" / "rank0"
        folder.mkdir(parents=True)
        written = {"task": "structure", "level": "L0", "framework": "pytorch", "dump_data_dir": None, "data": {}}
        (folder / "dump.json").write_text(json.dumps(written))
        (folder / "construct.json").write_text('{"Module.layer.Linear.forward.0": null}')
    answer = accmap("dump", "compare", str(tmp_path / "a"), str(tmp_path / "b"))
    assert answer.code == 2
    assert "dump statistics or tensors" in answer.err


@pytest.mark.parametrize("changed", ["a", "b"])
def test_a_tensor_beside_a_plain_argument_was_not_compared(accmap, tmp_path: Path, changed: str) -> None:
    for side in ("a", "b"):
        run(tmp_path / side, task="statistics")
    path = tmp_path / changed / "step0" / "rank0" / "dump.json"
    told = json.loads(path.read_text())
    unit = next(one for name, one in told["data"].items() if ".linear_fc1." in name and ".forward." in name)
    unit["input_args"][0] = {"type": "float", "value": 1.0}
    path.write_text(json.dumps(told))
    answer = accmap("dump", "compare", "a", "b")
    assert answer.code == 1
    assert answer.out.startswith("partial")
    assert "input.0" in answer.out


_UNIT = "Module.a.Linear.forward.0"
_TABLE = (
    "NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU l2norm,Bench l2norm,Result\n"
    f"{_UNIT}.output.0,{_UNIT}.output.0,float32,float32,2.0,1.0,error\n"
)
_SKIPPED = "API Name,Forward Test Success,Backward Test Success,Message\nMint.add.1,pass,pass,\nMint.mul.1,SKIP,SKIP,\n"
_PRECHECK = "API Name,Forward Test Success,Backward Test Success,Message\nMint.add.1,error,SKIP,off\n"


@pytest.mark.parametrize(
    ("text", "kind", "first"),
    [
        (_TABLE, "table", f",,a,forward,{_UNIT},{_UNIT},output.0,output.0,output,False,far,statistics,1.0"),
        (_PRECHECK, "precheck", "Mint.add.1,forward,error,off"),
    ],
    ids=["table", "precheck"],
)
def test_what_msprobe_wrote_is_answered_in_each_form(accmap, text: str, kind: str, first: str) -> None:
    written = accmap("dump", "compare", "table.csv", "--format", "json", files={"table.csv": text})
    answer = json.loads(written.out)
    assert (written.code, answer["kind"], answer["verdict"]) == (1, kind, "diverged")
    if kind == "table":
        assert answer["parts"][0]["marked_by_msprobe"] == [_UNIT]
    rows = accmap("dump", "compare", "table.csv", "--format", "csv").out.splitlines()
    assert rows[1].startswith(first)


def test_what_a_precheck_skipped_is_named(accmap) -> None:
    answer = accmap("dump", "compare", "t.csv", "--format", "json", files={"t.csv": _SKIPPED})
    found = json.loads(answer.out)
    assert (answer.code, found["verdict"]) == (1, "partial")
    assert found["not_compared"] == [{"what": "precheck", "reason": "1 APIs were skipped"}]
    none = _SKIPPED.replace("pass,pass", "SKIP,SKIP")
    answer = accmap("dump", "compare", "t.csv", "--format", "json", files={"t.csv": none})
    assert (answer.code, json.loads(answer.out)["verdict"]) == (1, "undecided")


def test_a_rounded_cosine_hides_no_statistic(accmap) -> None:
    """A cosine of six digits hides a distance of 2e-3; the norms of the same row do not."""
    head = "NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU l2norm,Bench l2norm,Cosine,MaxAbsErr\n"
    row = f"{_UNIT}.output.0,{_UNIT}.output.0,float32,float32,1.001,1.0,1.0,\n"
    answer = accmap("dump", "compare", "t.csv", files={"t.csv": head + row})
    assert answer.code == 1
    assert answer.out.startswith("diverged")
