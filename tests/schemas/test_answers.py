"""The compiled writers write what the models of answers say: every key, in their order, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from accmap.evidence import answers as uppermost
from accmap.evidence import answers_compiled as uppermost_writers
from accmap.evidence.dump.overflow import Overflow, Scan
from accmap.evidence.dump.records import Tree, Unit
from accmap.evidence.logs.departure import Criterion
from accmap.mapper import answers as upper
from accmap.mapper import answers_compiled as upper_writers
from accmap.mapper.translate.result import FieldValues, ReportRow
from accmap.schemas import answers, answers_compiled
from accmap.schemas.config import Basis, Setting, Unresolved
from accmap.schemas.diagnostic import Diagnostic, Edit, Fix, Kind, Related
from accmap.schemas.message import Words
from accmap.schemas.source import Span

SPAN = Span(3, 5, 3, 9)
KIND = Kind("SYN001", "some-name", "error", "It is {what}.", "它是 {what}。")
RECORDS: list[tuple[str, Any, dict[str, Any]]] = [
    ("SpanJson", SPAN._replace(file="b.sh"), {}),
    ("ValueJson", Setting("lr", float("inf"), "explicit", SPAN, ("--lr", "inf"), "--lr", (), True, "ignored"), {}),
    ("UnresolvedJson", Unresolved("$X", "a variable", SPAN), {}),
    ("BasisJson", Basis("megatron", "0.12", "detected", Words("a flag", "一个参数")), {}),
    (
        "DiagnosticJson",
        Diagnostic(
            KIND,
            "a.sh",
            SPAN,
            (("what", "it"),),
            (Related("b.yaml", None, "there", "那里"),),
            ("model.num_layers",),
            Fix("safe", "write it", "写入", (Edit("a.sh", SPAN, "x"),)),
        ),
        {"because_of": 2},
    ),
    (
        "ReportRowJson",
        ReportRow("model.num_layers", ("a",), ("b",), 4, "exact", "numerics", True, "yes", "是", True, (
            FieldValues("num_layers", 4, 5),
        )),
        {},
    ),
    (
        "DumpScannedJson",
        Scan(
            Tree("dump", "msprobe", "pytorch", "tensor", "L0", 1, 0, (), (Words("a note", "说明"),)),
            3,
            1,
            (Overflow("layer", "output.0", "output", "nan"),),
            Unit("layer", "layer", "Layer", "forward", 0, "module", ()),
            (Diagnostic(KIND, "a.npy", None, (("what", "it"),)),),
        ),
        {},
    ),
    ("DumpScannedJson", Scan(Tree("dump", "mindspore", "", "", "O1", None, None, ()), 3, 0, (), None, ()), {}),
    ("LogCriterionJson", Criterion("mean", "pass", Words("fine", "正常"), float("nan"), 0.1), {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "record", "given"), RECORDS, ids=[row[0] for row in RECORDS])
def test_a_record_is_written_as_its_model_says(name: str, record: Any, given: dict[str, Any]) -> None:
    rooms = ((answers, answers_compiled), (upper, upper_writers), (uppermost, uppermost_writers))
    room, compiled = next(entry for entry in rooms if hasattr(entry[1], _function(name)))
    model = getattr(room, name)
    for language in ("en", "zh"):
        written = getattr(compiled, _function(name))(record, language, **given)
        keys = [field.alias or key for key, field in model.model_fields.items()]
        assert list(written) == [key for key in keys if key in written]
        assert set(keys) - set(written) <= {"version_label", "purpose", "release"}
        assert model.model_validate(written).model_extra == {}


def test_texts_are_in_the_language_of_the_answer() -> None:
    record = RECORDS[4][1]
    written = answers_compiled.diagnostic_json(record, "zh")
    assert (written["message"], written["related"][0]["message"], written["fix"]["description"]) == (
        "它是 it。",
        "那里",
        "写入",
    )
    assert record.to_json("zh") == written


def test_each_text_of_a_list_is_in_the_language_of_the_answer() -> None:
    written = uppermost_writers.dump_scanned_json(RECORDS[6][1], "zh")
    assert (written["origin"], written["unreadable"], written["notes"]) == ("layer", ["它是 it。"], ["说明"])
    assert uppermost_writers.dump_scanned_json(RECORDS[7][1])["origin"] is None


def test_what_is_not_worth_a_word_is_left_out() -> None:
    plain = Setting("lr", 1.0, "default")
    assert list(plain.to_json()) == ["key", "value", "raw", "origin", "derived_from", "flag", "span"]
    assert "file" not in SPAN.to_json()


def _function(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")
