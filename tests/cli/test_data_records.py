"""`accmap data check` and `data show` of MindRecord files: alone, with a YAML, and against Megatron's samples."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence" / "data"))
from data_writer import script, write_text
from record_writer import page, record, row, rows_yaml, write_rows

from accmap.evidence.data.check import plan_of
from accmap.evidence.data.draws import Draws
from accmap.evidence.data.indexed_file import read_indexed
from accmap.schemas.reader import read_config

Run = Any
COUNT = 40
PLAIN = {"dataset_dir": "rows", "shuffle": False}


@pytest.fixture
def samples(tmp_path: Path) -> list[list[int]]:
    """What the script below feeds its model, sample by sample."""
    write_text(tmp_path / "data")
    (tmp_path / "plan.sh").write_text(script(str(tmp_path / "data")), "utf-8")
    plan = plan_of(read_config(str(tmp_path / "plan.sh")))
    draws = Draws(plan, {str(tmp_path / "data"): read_indexed(str(tmp_path / "data"))})
    return [draws.tokens(number).tolist() for number in range(COUNT)]


@pytest.fixture
def ask(accmap: Run, tmp_path: Path) -> Any:
    def answer(rows: list[list[int]], yaml: str, *, labels: bool = False, files: int = 1) -> dict[str, Any]:
        (tmp_path / "rows").mkdir()
        for number in range(files):
            own = rows[number * len(rows) // files : (number + 1) * len(rows) // files]
            place = tmp_path / "rows" / f"{number}.mindrecord"
            write_rows(
                place, [one[:-1] for one in own] if labels else own, [one[1:] for one in own] if labels else None
            )
        found = accmap(
            "data", "check", "a.sh", "b.yaml", "--format", "json", files={"a.sh": script("data"), "b.yaml": yaml}
        )
        said = json.loads(found.out)
        jsonschema.validate(said, json.loads(accmap("schema", "data-check").out))
        return {**said, "exit": found.code, "codes": [(one["code"], one["severity"]) for one in said["problems"]]}

    return answer


@pytest.mark.procedure("proc.data.same")
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("files", [1, 3])
def test_rows_that_are_megatrons_samples(ask: Run, samples: list[list[int]], labels: bool, files: int) -> None:
    yaml = rows_yaml(PLAIN, columns="input_ids, labels" if labels else "input_ids")
    found = ask(samples, yaml, labels=labels, files=files)
    assert (found["exit"], found["verdict"], found["codes"]) == (0, "good", [])
    assert found["agreement"]["equal_steps"] == COUNT // 4
    assert found["agreement"]["first_difference"] is None


@pytest.mark.parametrize("column", ["loss_mask", "position_ids", "attention_mask"])
def test_a_column_that_is_not_read_leaves_the_verdict_partial(
    accmap: Run, samples: list[list[int]], tmp_path: Path, column: str
) -> None:
    rows = [row(one, [0] * len(one)) for one in samples]
    (tmp_path / "0.mindrecord").write_bytes(record(rows, "0.mindrecord", ("input_ids", column)))
    (tmp_path / "0.mindrecord.db").write_bytes(b"")
    yaml = rows_yaml({"dataset_dir": "0.mindrecord", "shuffle": False}, columns=f"input_ids, {column}")
    files = {"a.sh": script("data"), "b.yaml": yaml}
    found = accmap("data", "check", "a.sh", "b.yaml", "--format", "json", files=files)
    answer = json.loads(found.out)
    assert (found.code, answer["verdict"]) == (1, "partial")
    assert [one["what"] for one in answer["not_compared"]] == [f"b.yaml: {column}"]
    shown = accmap("data", "show", "a.sh", "b.yaml", "--step", "1", "--format", "json", files=files)
    answer = json.loads(shown.out)
    assert (shown.code, answer["verdict"]) == (1, "partial")
    assert [one["what"] for one in answer["not_compared"]] == [f"b.yaml: {column}"]


@pytest.mark.parametrize(
    ("flags", "resets", "differs"),
    [
        ("", False, []),
        ("", True, ["attention", "positions"]),
        ("--reset-position-ids", True, ["attention"]),
        ("--reset-position-ids --reset-attention-mask", True, []),
        ("--reset-position-ids --reset-attention-mask", False, ["attention", "positions"]),
    ],
)
def test_what_begins_anew_at_the_end_of_a_document(
    accmap: Run, samples: list[list[int]], tmp_path: Path, flags: str, resets: bool, differs: list[str]
) -> None:
    write_rows(tmp_path / "0.mindrecord", samples)
    yaml = rows_yaml({"dataset_dir": "0.mindrecord", "shuffle": False}, columns="input_ids")
    if resets:
        yaml = yaml.replace("  drop_remainder", "  eod_reset: True\n  eod_token_id: 99\n  drop_remainder", 1)
    # The tokenizer adds one id, which is the end of a document: the data have 99 there.
    start = script("data", more=flags).replace("--vocab-size 127", "--vocab-size 99")
    found = accmap("data", "check", "a.sh", "b.yaml", "--format", "json", files={"a.sh": start, "b.yaml": yaml})
    said = json.loads(found.out)
    told = [one["message"] for one in said["problems"] if "Only one side" in one["message"]]
    words = {"attention": "Only one side keeps attention", "positions": "Only one side resets positions"}
    assert sorted(name for name, begins in words.items() if any(one.startswith(begins) for one in told)) == differs
    assert (found.code, said["verdict"]) == ((1, "bad") if differs else (0, "good")), told


@pytest.mark.parametrize(
    ("masked", "expected"), [("shifted", "bad"), ("same", "bad"), ("last", "bad"), ("none", "good")]
)
def test_labels_that_are_masked_are_no_equal_samples(
    accmap: Run, samples: list[list[int]], tmp_path: Path, masked: str, expected: str
) -> None:
    def labels(one: list[int]) -> list[int]:
        return {
            "shifted": [-100] * (len(one) - 1), "same": [*one[:-2], -100], "last": [*one[1:-1], -100], "none": one[1:]
        }[masked]  # fmt: skip

    write_rows(tmp_path / "0.mindrecord", [one[:-1] for one in samples], [labels(one) for one in samples])
    write_rows(tmp_path / "1.mindrecord", [one[:-1] for one in samples], [one[1:] for one in samples])
    yamls = [
        rows_yaml({"dataset_dir": f"{number}.mindrecord", "shuffle": False}, columns="input_ids, labels")
        for number in range(2)
    ]
    files = {"a.sh": script("data"), "b.yaml": yamls[0], "c.yaml": yamls[1]}
    for other in ("a.sh", "c.yaml"):
        found = accmap("data", "check", other, "b.yaml", "--format", "json", files=files)
        assert json.loads(found.out)["verdict"] == expected, other
        shown = accmap("data", "show", other, "b.yaml", "--step", "1", "--format", "json", files=files)
        assert json.loads(shown.out)["verdict"] == {"good": "same", "bad": "different"}[expected], other


def test_no_rows_asked_for_are_all_rows(ask: Run, samples: list[list[int]]) -> None:
    found = ask(samples, rows_yaml({**PLAIN, "num_samples": 0}))
    assert (found["exit"], found["verdict"], found["sides"][1]["samples"]) == (0, "good", COUNT)
    assert found["sides"][1]["steps"] == COUNT // 4


def test_one_row_that_is_another(ask: Run, samples: list[list[int]]) -> None:
    samples[9] = [*samples[9][:-1], samples[9][-1] ^ 1]
    found = ask(samples, rows_yaml(PLAIN))
    assert (found["exit"], found["verdict"], found["codes"]) == (1, "bad", [("EVD077", "error")])
    assert found["agreement"]["first_different_step"]["sample"] == 9
    assert found["agreement"]["first_different_step"]["step"] == 2


def test_rows_in_another_order_within_a_step(ask: Run, samples: list[list[int]]) -> None:
    samples[4], samples[7] = samples[7], samples[4]
    found = ask(samples, rows_yaml(PLAIN))
    assert found["codes"] == [("EVD077", "warning")]
    assert found["agreement"]["equal_steps"] == COUNT // 4


@pytest.mark.parametrize("loader", [{"dataset_dir": "rows", "shuffle": True}, {"dataset_dir": "rows"}])
def test_shuffled_rows_are_compared_as_a_set(ask: Run, samples: list[list[int]], loader: dict[str, Any]) -> None:
    found = ask(samples[::-1], rows_yaml(loader))
    assert (found["exit"], found["verdict"]) == (1, "undecided")
    assert found["members"] == {"looked_at": COUNT, "found": COUNT, "rows": COUNT, "missing": None}
    assert found["codes"] == [("EVD074", "error"), ("EVD077", "info")]


def test_a_sample_that_is_no_row(ask: Run, samples: list[list[int]]) -> None:
    found = ask([one for number, one in enumerate(samples) if number != 3], rows_yaml({"dataset_dir": "rows"}))
    assert (found["exit"], found["verdict"]) == (1, "bad")
    assert found["members"] == {"looked_at": COUNT, "found": COUNT - 1, "rows": COUNT - 1, "missing": 3}


def test_rows_of_another_length_and_fewer(ask: Run, samples: list[list[int]]) -> None:
    found = ask([one[:-1] for one in samples[:24]], rows_yaml(PLAIN))
    assert ("EVD076", "error") in found["codes"]
    assert found["sides"][1]["samples"] == 24
    assert found["sides"][1]["sample_length"] == 15
    assert found["sides"][1]["steps"] == 6


def test_the_samples_of_a_step(accmap: Run, samples: list[list[int]], tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.mindrecord", samples)
    files = {"a.sh": script("data"), "b.yaml": rows_yaml({"dataset_dir": "rows.mindrecord", "shuffle": False})}
    found = accmap("data", "show", "a.sh", "b.yaml", "--step", "3", "--steps", "2", "--format", "json", files=files)
    answer = json.loads(found.out)
    assert (found.code, answer["verdict"]) == (0, "same")
    assert [fed["ids"] for step in answer["sides"][1]["steps"] for fed in step["samples"]] == samples[8:16]


def test_the_files_alone(accmap: Run, samples: list[list[int]], tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.mindrecord", samples)
    found = accmap("data", "check", "rows.mindrecord", "--vocabulary", "50", "--format", "json")
    answer = json.loads(found.out)
    (dataset,) = answer["datasets"]
    assert (dataset["sequences"], dataset["columns"]) == (COUNT, ["input_ids"])
    flat = [token for one in samples for token in one]
    assert (dataset["seen"]["minimum"], dataset["seen"]["maximum"]) == (min(flat), max(flat))
    assert found.code == 1
    assert f"{sum(token >= 50 for token in flat)} ids are outside" in answer["problems"][0]["message"]
    said = accmap("data", "check", "rows.mindrecord", "--lang", "zh")
    assert "MindRecord，1 个文件" in said.out


def test_a_folder_without_rows(accmap: Run, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    found = accmap("data", "check", "b.yaml", files={"b.yaml": rows_yaml(PLAIN)})
    assert found.code == 1
    assert "EVD107" in found.out


@pytest.mark.parametrize("loader", [{"dataset_files": []}, {"dataset_dir": []}, {"dataset_files": [""]}, {}])
def test_a_loader_that_names_no_file(accmap: Run, loader: dict[str, Any]) -> None:
    found = accmap("data", "check", "b.yaml", files={"b.yaml": rows_yaml({**loader, "shuffle": False})})
    assert found.code == 1
    assert "EVD074" in found.out
    assert "contains no MindRecord files" in found.out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "cannot be the header length"),
        (b"\xff" * 64, "cannot be the header length"),
        (record([row([1, 2])], version="2.0"), "version 2.0"),
        (record([row([1, 2])], shard_addresses=[]), "instead of an integer up to -1"),
        (record([row([1, 2])], shard_addresses=["a\0b"]), "instead of a name"),
        (record([row([1, 2])], shard_addresses=["a\ud800b"]), "instead of a name"),
        (record([row([1, 2])], schema=None), "TypeError"),
        (record([row([1, 2])], columns=("other",)), "no column input_ids"),
        (record([row([1, 2])])[:-3], "truncated"),
        (record([row([1, 2]), b"\xff" * 8]), "a row has"),
        (record([b"\x08" + bytes(7) + b"\0\0\0\x09" + bytes(4)]), "9 packed numbers do not match 8 bytes"),
        (record([row([1, 2])], page=[page(15, 0, 1)] * 2), "page 0 is listed twice"),
        (record([row([1, 2])] * 2, page_size=15, page=[page(15, 0, 1), page(15, 0, 1, 1)]), "the next row is 1"),
        (record([row([1, 2])], page=[page(15, 5, 6)]), "the next row is 0"),
        (record([row([1, 2])], page=[page(15, 1, 0)]), "the next row is 0"),
        (record([row([1, 2])], header_size=64), "header_size is 64"),
        (record([row([1, 2]), row([3])], page=[]), None),
    ],
)
def test_damaged_files_are_told(accmap: Run, tmp_path: Path, content: bytes, said: str | None) -> None:
    (tmp_path / "a.mindrecord").write_bytes(content)
    (tmp_path / "a.mindrecord.db").write_bytes(b"")
    found = accmap("data", "check", "a.mindrecord")
    if said is None:
        assert found.code == 1
        assert "no tokens" in found.out
    else:
        assert found.code == 2
        assert "EVD099" in found.err
        assert said in found.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (record([row([1, 2])], version="2.0"), "版本 2.0"),
        (record([row([1, 2])], shard_addresses=[]), "0 处应为不超过 -1 的整数"),
        (record([row([1, 2])], page=[page(15, 0, 1)] * 2), "第 0 页被列出两次"),
        (record([row([1, 2])], page=[page(15, 5, 6)]), "第 0 页含第 5 至 6 行，但该页应从第 0 行开始"),
    ],
)
def test_damaged_files_are_told_in_chinese(accmap: Run, tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a.mindrecord").write_bytes(content)
    (tmp_path / "a.mindrecord.db").write_bytes(b"")
    found = accmap("data", "check", "a.mindrecord", "--lang", "zh")
    assert found.code == 2
    assert f"（{said}）" in found.err
