"""Result tables of msprobe: the same first divergence, read from `.csv` and `.xlsx`, and the precheck's verdicts."""

from __future__ import annotations

import csv
import io
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import pytest

from accmap.evidence.dump.compare import Comparison, compare_trees
from accmap.evidence.dump.records import find_places
from accmap.evidence.dump.tables import Precheck, Table, read_table
from accmap.evidence.dump.trees import read_tree
from accmap.schemas.diagnostic import UnreadableError

sys.path.insert(0, str(Path(__file__).parent))
from small_network import run

if TYPE_CHECKING:
    from collections.abc import Callable

BASIC = [
    "NPU Name", "Bench Name", "NPU Dtype", "Bench Dtype", "NPU Tensor Shape", "Bench Tensor Shape",
    "NPU Requires_grad", "Bench Requires_grad",
]  # fmt: skip
ELEMENTS = [
    "Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio",
]  # fmt: skip
SUMMARY = [f"{side} {end}" for side in ("NPU", "Bench") for end in ("max", "min", "mean", "l2norm")]
LAST = ["Requires_grad Consistent", "Result", "Err_message"]


@cache
def compared(fault: str, mode: str) -> Comparison:
    """Two runs of the small network, compared; every test of a fault begins with it."""
    with tempfile.TemporaryDirectory() as folder:
        task = "md5" if mode == "md5" else "tensor"
        roots = [run(Path(folder) / name, task=task, fault=given) for name, given in (("a", fault), ("b", ""))]
        return compare_trees(*(read_tree(find_places(str(root))[0]) for root in roots))


def table(fault: str, mode: str) -> list[dict[str, str]]:
    """The rows that msprobe writes for two runs, from a comparison of their dumps."""
    found = compared(fault, mode)
    rows: list[dict[str, str]] = []
    for unit in found.units:
        for tensor in unit.tensors:
            if tensor.shape_a is None or tensor.how == "value":
                continue
            ours, theirs = (
                next(entry for entry in side.tensors if entry.place == place)
                for side, place in ((unit.a, tensor.place), (unit.b, tensor.partner))
            )
            row = {"NPU Name": named(unit.a.name, tensor.place), "Bench Name": named(unit.b.name, tensor.partner)}
            row.update({"NPU Dtype": f"torch.{ours.dtype}", "Bench Dtype": f"torch.{theirs.dtype}"})
            row.update(
                {"NPU Tensor Shape": str(list(tensor.shape_a)), "Bench Tensor Shape": str(list(tensor.shape_b or ()))}
            )
            for side, entry in (("NPU", ours), ("Bench", theirs)):
                known = entry.statistics
                values = (known.highest, known.lowest, known.mean, known.norm)
                row.update(
                    {
                        f"{side} {end}": text(value)
                        for end, value in zip(("max", "min", "mean", "l2norm"), values, strict=True)
                    }
                )
            if mode == "md5":
                row.update({"NPU MD5": str(ours.statistics.checksum), "BENCH MD5": str(theirs.statistics.checksum)})
                row["Result"] = "pass" if tensor.agrees else "error"
            measured = tensor.measured
            if mode == "elements" and measured is not None:
                row.update(
                    Cosine=str(round(measured.cosine or 0, 6)),
                    EucDist=text(measured.distance),
                    MaxAbsErr=text(measured.max_abs),
                )
                row["One Thousandth Err Ratio"] = str(measured.within_thousandth)
            rows.append(row)
    return rows


def named(unit: str, place: str) -> str:
    if place.startswith("gradient."):
        return unit.replace(".backward.", ".parameters_grad.") + place.removeprefix("gradient")
    return f"{unit}.{place}"


def text(value: float | None) -> str:
    # msprobe writes an infinity with a blank before it, so that a spreadsheet takes it for text.
    return "None" if value is None else f" {value}" if value in (float("inf"), float("-inf")) else str(value)


def as_csv(rows: list[dict[str, str]], columns: list[str]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, restval="N/A", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def as_xlsx(path: Path, text_: str, *, shared: bool) -> None:
    """The first sheet, with its texts in the cells (as openpyxl writes) or in a table of their own (as Excel does)."""
    strings: list[str] = []

    def cell(value: str) -> str:
        try:
            float(value)
        except ValueError:
            if not shared:
                return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
            strings.append(value)
            return f'<c t="s"><v>{len(strings) - 1}</v></c>'
        return f"<c><v>{value}</v></c>"

    rows = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in csv.reader(io.StringIO(text_)))
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet {main}><sheetData>{rows}</sheetData></worksheet>")
        if shared:
            items = "".join(f"<si><t>{escape(value)}</t></si>" for value in strings)
            archive.writestr("xl/sharedStrings.xml", f"<sst {main}>{items}</sst>")


COLUMNS = {
    "elements": BASIC + ELEMENTS + SUMMARY + LAST,
    "older": BASIC[:6] + ["Cosine", "MaxAbsErr"] + SUMMARY + ["Accuracy Reached or Not", "Err_message"],
    "statistics": BASIC + SUMMARY + LAST,
    "md5": BASIC + ["NPU MD5", "BENCH MD5"] + LAST,
}
FAULTS = {
    "weights": "decoder.layers.1.mlp.linear_fc1",
    "computation": "decoder.layers.1.pre_mlp_layernorm",
    "between": "decoder.layers.1.mlp.linear_fc1",
    "backward": "decoder.layers.1.mlp.linear_fc1",
    "overflow": "decoder.layers.1.mlp.linear_fc2",
}


@pytest.mark.table(8)
@pytest.mark.procedure("proc.dump.msprobe_compare")
@pytest.mark.procedure("proc.dump.first_divergence")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("form", ["csv", "inline.xlsx", "shared.xlsx"])
def test_the_first_divergence_of_a_table(fault: str, columns: str, form: str, tmp_path: Path) -> None:
    mode = {"older": "elements"}.get(columns, columns)
    written = as_csv(table(fault, mode), COLUMNS[columns])
    path = tmp_path / f"compare_result_20261120000000.{form.rpartition('.')[2]}"
    if form == "csv":
        path.write_text("\ufeff" + written, "utf-8")
    else:
        as_xlsx(path, written, shared=form.startswith("shared"))
    found = read_table(str(path))
    assert isinstance(found, Table)
    assert found.divergence is not None
    assert found.divergence.unit.module == FAULTS[fault]
    assert found.divergence.unit.a.direction == ("backward" if fault == "backward" else "forward")


@pytest.fixture
def accmap_table(tmp_path: Path) -> Callable[[list[dict[str, str]]], Table]:
    """The table that holds some rows."""

    def read(rows: list[dict[str, str]]) -> Table:
        path = tmp_path / "compare_result_1.csv"
        path.write_text(as_csv(rows, COLUMNS["elements"]))
        found = read_table(str(path))
        assert isinstance(found, Table)
        return found

    return read


def test_an_equal_table_matches_and_unmatched_rows_are_listed(tmp_path: Path) -> None:
    rows = table("", "elements")
    rows[3]["Bench Name"] = "N/A"
    path = tmp_path / "compare_result_1.csv"
    path.write_text(as_csv(rows, COLUMNS["elements"]))
    found = read_table(str(path))
    assert isinstance(found, Table)
    assert found.divergence is None
    assert found.only_a == (rows[3]["NPU Name"],)
    assert found.only_b == ()
    assert found.gaps == ()


def test_a_table_of_half_a_model_is_not_a_match(accmap_table: Callable[[list[dict[str, str]]], Table]) -> None:
    rows = table("", "elements")
    for row in rows:
        if "layers.1." in row["NPU Name"] and "forward" in row["NPU Name"]:
            row["NPU Name"] = "N/A"
    found = accmap_table(rows)
    assert "N/A" not in found.only_a + found.only_b
    assert [(gap.side, gap.part, gap.direction) for gap in found.gaps] == [("b", "decoder.layers.1", "forward")]


@pytest.mark.parametrize(
    ("numbers", "agrees"),
    [
        ({"EucDist": "1e-9", "MaxAbsErr": "1e-9", "Cosine": "1.0"}, True),
        ({"EucDist": "0.5", "MaxAbsErr": "1e-9", "Cosine": "1.0"}, False),
        ({"EucDist": "1e-9", "MaxAbsErr": "0.5", "Cosine": "1.0"}, False),
        ({"MaxAbsErr": "1e-9", "Cosine": "0.99"}, False),
        ({"MaxAbsErr": "1e-9", "Cosine": "1.0"}, True),
        ({"EucDist": "N/A", "MaxAbsErr": "N/A", "Cosine": "unsupported"}, True),
    ],
)
def test_each_number_of_a_row_counts(numbers: dict[str, str], agrees: bool, tmp_path: Path) -> None:
    row = {"NPU Name": "Module.a.B.forward.0.output.0", "NPU Dtype": "torch.float32", "NPU Tensor Shape": "[4, 4]"}
    row.update({f"NPU {end}": value for end, value in (("max", "1.0"), ("min", "-1"), ("mean", "0"), ("l2norm", "10"))})
    row.update({name.replace("NPU", "Bench"): value for name, value in row.items()})
    path = tmp_path / "compare_result_1.csv"
    path.write_text(as_csv([{**row, **numbers}], [*row, *numbers]))
    found = read_table(str(path))
    assert isinstance(found, Table)
    assert (found.divergence is None) == agrees


RESULT = """API Name,Forward Test Success,Backward Test Success,Message
Torch.matmul.0,pass,pass,
Mint.add.1,error,SKIP,one side is off
Functional.softmax.2,pass,error,
Tensor.to.0,SKIP,SKIP,not supported
"""
DETAILS = """API Name,Bench Dtype,Tested Dtype,Shape,Cosine,MaxAbsErr,MaxRelativeErr,Status,Message
Torch.matmul.0.forward.output.0,Float32,Float32,"[2, 3]",1.0,0.0,0.0,pass,
Mint.add.1.forward.output.0,Float32,Float32,"[4]",0.98,0.3,0.4,error,cosine
Functional.softmax.2.forward.output.0,Float32,Float32,"[4]",1.0,0.0,0.0,pass,
Functional.softmax.2.backward.output.0,Float32,Float32,"[4]",0.5,1.0,2.0,error,
Tensor.to.0.forward.output.0,Float32,Float32,"[4]",,,,SKIP,
"""


@pytest.mark.procedure("proc.dump.precheck")
@pytest.mark.parametrize("given", ["both", "result", "details"])
def test_the_precheck_names_what_failed(given: str, tmp_path: Path) -> None:
    result, details = (tmp_path / f"accuracy_checking_{kind}_20261120000000.csv" for kind in ("result", "details"))
    if given != "details":
        result.write_text("\ufeff" + RESULT, "utf-8")
    if given != "result":
        details.write_text(DETAILS)
    found = read_table(str(details if given == "details" else result))
    assert isinstance(found, Precheck)
    assert [(failure.name, failure.direction) for failure in found.failures] == [
        ("Mint.add.1", "forward"),
        ("Functional.softmax.2", "backward"),
    ]
    if given == "both":
        assert (found.apis, found.passed, found.skipped) == (4, 1, 1)
        assert found.failures[0].details[0]["Cosine"] == "0.98"
        assert found.failures[0].message == "one side is off"
    if given == "result":
        assert found.notes


@pytest.mark.parametrize(
    ("text_", "code"),
    [
        ("", "EVD036"),
        ("a,b\n1,2\n", "EVD037"),
        ("NPU Name,Bench Name,NPU Dtype\n", "EVD036"),
        ("NPU Name,Bench Name,NPU Dtype\nModule.a.B.forward.0.out", "EVD036"),
        ('NPU Name,Bench Name,NPU Dtype\n"open', "EVD036"),
        ("NPU Name,Bench Name,NPU Dtype\nx,y,z\n", "EVD039"),
        (b"\xff\xfe\x00\x01", "EVD036"),
    ],
)
def test_a_broken_table_is_refused(text_: str | bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "compare_result_1.csv"
    path.write_bytes(text_ if isinstance(text_, bytes) else text_.encode())
    with pytest.raises(UnreadableError) as error:
        read_table(str(path))
    assert error.value.diagnostic.kind.code == code


def test_a_broken_sheet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "compare_result_1.xlsx"
    as_xlsx(path, as_csv(table("", "elements"), COLUMNS["elements"]), shared=False)
    data = path.read_bytes()
    for broken in (data[:200], data[: len(data) // 2], b"no zip"):
        path.write_bytes(broken)
        with pytest.raises(UnreadableError):
            read_table(str(path))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/worksheets/sheet1.xml", "<worksheet><sheetData><row>")
    with pytest.raises(UnreadableError):
        read_table(str(path))
    with pytest.raises(UnreadableError):
        read_table(str(tmp_path / "nothing.csv"))
