"""`accmap dump scan`, ranks merged, and the tree of a comparison."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "evidence" / "dump"))
from small_network import run

Run = Any


@pytest.mark.procedure("proc.dump.first_divergence")
@pytest.mark.parametrize("task", ["tensor", "statistics"])
def test_the_unit_that_makes_an_overflow_is_named(accmap: Run, tmp_path: Path, task: str) -> None:
    run(tmp_path / "bad", fault="overflow", task=task)
    run(tmp_path / "good", task=task)
    found = accmap("dump", "scan", "bad", "--format", "json")
    answer = json.loads(found.out)
    assert (found.code, answer["verdict"]) == (1, "overflow")
    (part,) = answer["parts"]
    assert part["origin"] is not None
    origin = next(one for one in part["found"] if one["unit"] == part["origin"])
    assert origin["role"] == "output"
    assert len({one["unit"] for one in part["found"]}) > 1, "it spreads"
    assert part["origin"] in accmap("dump", "scan", "bad").out
    assert "最先由" in accmap("dump", "scan", "bad", "--lang", "zh").out
    good = accmap("dump", "scan", "good")
    assert (good.code, good.out.split()[0]) == (0, "finite")


CONSTANT = {
    "constant embedding": "embedding.word_embeddings",
    "constant norm": "decoder.final_layernorm",
    "zero head": "output_layer",
    "zero projection": None,  # a layer may begin as the identity
    "": None,
}


@pytest.mark.parametrize("fault", CONSTANT)
@pytest.mark.parametrize("task", ["tensor", "statistics"])
def test_the_unit_that_makes_the_output_constant_is_named(accmap: Run, tmp_path: Path, fault: str, task: str) -> None:
    run(tmp_path / "dump", fault=fault, task=task)
    run(tmp_path / "good")
    found = accmap("dump", "scan", "dump", "--format", "json")
    answer = json.loads(found.out)
    (part,) = answer["parts"]
    unit = CONSTANT[fault]
    if unit is None or (task == "statistics" and fault == "constant embedding"):  # equal rows have no statistics
        assert (found.code, answer["verdict"], part["constant"]) == (0, "finite", None)
        return
    assert (found.code, answer["verdict"]) == (1, "constant")
    assert f".{unit}." in part["constant"]
    assert part["constant"] in accmap("dump", "scan", "dump", "--lang", "zh").out
    if task == "tensor":
        compared = json.loads(accmap("dump", "compare", "dump", "good", "--format", "json").out)
        (diverged,) = [one["first_divergence"] for one in compared["parts"]]
        assert (diverged["a"], diverged["constant"]) == (part["constant"], ["a"])
        assert "On side A, the output is the same for every token" in accmap("dump", "compare", "dump", "good").out


def test_a_backward_unit_does_not_make_a_nan_that_a_forward_one_was_given(accmap: Run, tmp_path: Path) -> None:
    run(tmp_path / "bad", task="statistics")
    path = tmp_path / "bad" / "step0" / "rank0" / "dump.json"
    told = json.loads(path.read_text())
    names = list(told["data"])
    first = next(name for name in names if ".linear_fc1." in name and ".forward." in name)
    last = next(name for name in reversed(names) if ".backward." in name and told["data"][name].get("output"))
    for name, place in ((first, "input_args"), (last, "output")):
        tensor = next(one for one in told["data"][name][place] if one and "Max" in one)
        tensor.update(Max=float("nan"), Min=float("nan"), Mean=float("nan"), Norm=float("nan"))
    path.write_text(json.dumps(told))
    found = accmap("dump", "scan", "bad")
    assert found.code == 1
    assert f"{first} is the first module that contains NaN or infinity" in found.out
    assert "is the first module that produces NaN or infinity" not in found.out
    assert json.loads(accmap("dump", "scan", "bad", "--format", "json").out)["parts"][0]["origin"] is None


def test_checksums_say_nothing_of_an_overflow(accmap: Run, tmp_path: Path) -> None:
    run(tmp_path / "sums", fault="overflow", task="md5")
    path = tmp_path / "sums" / "step0" / "rank0" / "dump.json"
    path.write_text(re.sub(r'"(Max|Min|Mean|Norm)": [^,}]+,?', "", path.read_text()).replace(", }", "}"))
    found = json.loads(accmap("dump", "scan", "sums", "--format", "json").out)
    assert found["verdict"] == "undecided"
    assert found["parts"][0]["unknown"]
    assert accmap("dump", "scan", "sums").code == 1


def test_a_tensor_that_cannot_be_read_is_not_finite(accmap: Run, tmp_path: Path) -> None:
    run(tmp_path / "cut")
    path = sorted((tmp_path / "cut").rglob("*output*"))[0]
    path.write_bytes(path.read_bytes()[:40])
    found = accmap("dump", "scan", "cut")
    assert found.code == 2
    assert "cannot be read" in found.out


@pytest.mark.parametrize(
    ("words", "said"),
    [(("gone",), "gone"), ((".",), "no"), (("good", "--rank", "7"), "good"), (("good", "--jobs", "0"), "--jobs")],
)
def test_no_dump(accmap: Run, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    if words[0] == "good":
        run(tmp_path / "good", task="statistics")
    found = accmap("dump", "scan", *words)
    assert found.code == 2
    assert said in found.err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("grad_reduced_step0-9.csv", "monitor"), ("grad_reduced_0-9.csv", "monitor"), ("stack_info.csv", "monitor"),
        ("random_20260101.csv", "random function calls"), ("kernel_kbyk_dump.json", "kernel dump"),
        ("kernel_graph_exception_check.json", "exception dump"), ("hyperparameters_static.json", "config_check"),
        ("configurations.json", "accmap check npy"), ("accuracy_checking_result_1.csv", "accmap dump compare"),
    ],
)  # fmt: skip
def test_other_files_of_msprobe_are_named(accmap: Run, tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "other" / "rank0").mkdir(parents=True)
    (tmp_path / "other" / "rank0" / name).write_text("{}", "utf-8")
    for path in ("other", f"other/rank0/{name}"):
        found = accmap("dump", "scan", path)
        assert found.code == 2
        assert name in found.err.split("xlsx).")[1]
        assert said in found.err


def test_eight_ranks_are_merged(accmap: Run, tmp_path: Path) -> None:
    for rank in range(8):
        place = f"step0/rank{rank}"
        run(tmp_path / "a", task="statistics", place=place)
        run(tmp_path / "b", task="statistics", place=place, fault="computation" if rank in (3, 5) else "")
    whole = accmap("dump", "compare", "a", "b", "--format", "json")
    answer = json.loads(whole.out)
    assert whole.code == 1
    assert [part["rank"] for part in answer["parts"]] == list(range(8))
    (merged,) = answer["merged"]
    assert merged["places"] == ["step 0 rank 3", "step 0 rank 5"]
    for jobs in ("1", "3"):
        again = accmap("dump", "compare", "a", "b", "--format", "json", "--jobs", jobs)
        assert json.loads(again.out) == answer
    text = accmap("dump", "compare", "a", "b").out
    assert "2 of 8 steps and ranks diverge" in text
    assert merged["module"] in text
    same = json.loads(accmap("dump", "compare", "a", "a", "--format", "json").out)
    assert same["verdict"] == "match"
    assert not same.get("merged")


def test_the_tree_marks_the_first_divergence(accmap: Run, tmp_path: Path) -> None:
    run(tmp_path / "a")
    run(tmp_path / "b", fault="computation")
    found = accmap("dump", "compare", "a", "b", "--tree", "--format", "json")
    (part,) = json.loads(found.out)["parts"]
    marked = [line for line in part["tree"] if line.endswith("◀")]
    assert len(marked) == 1
    assert "✗" in marked[0]
    assert len(part["tree"]) == part["a"]["units"]
    assert any(line.startswith("  ") for line in part["tree"])
    text = accmap("dump", "compare", "a", "b", "--tree").out
    assert marked[0].strip() in text
    construct = tmp_path / "a" / "step0" / "rank0" / "construct.json"
    names = list(json.loads(construct.read_text()))
    construct.write_text(json.dumps({names[0]: names[1], names[1]: names[0]}))
    circle = json.loads(accmap("dump", "compare", "a", "b", "--tree", "--format", "json").out)["parts"][0]
    assert len(circle["tree"]) == part["a"]["units"]
