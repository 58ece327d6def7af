"""What is said about a wish for a dump, and when nothing is written because of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.evidence.dump.config import Plan, plan
from accmap.evidence.dump.config_request import Request, Span, record_of, spans_of
from accmap.evidence.dump.messages_compiled import say
from accmap.schemas.compilers.tables import load_table

sys.path.insert(0, str(Path(__file__).parent))
from config_pairs import pair_of

CASES: list[dict[str, Any]] = load_table(Path(__file__).with_name("config_requests.yaml").read_text("utf-8"))


def request_of(wish: dict[str, Any]) -> Request:
    """A request in a case's words."""
    values: dict[str, Any] = {**wish}
    for name in ("steps", "ranks"):
        if name in values:
            values[name] = spans_of(values[name])
    values["scope"] = tuple(record_of(word) for word in values.get("scope", ()))
    return Request()._replace(**values)


def planned(case: dict[str, Any], folder: Path) -> Plan:
    changes = {name: {**case.get(name, {})} for name in ("megatron", "model", "mindformers")}
    if "mode" in case:
        changes["mindformers"]["context"] = {"mode": case["mode"], "device_target": "Ascend"}
    subject = pair_of(case["pair"], folder, {**changes, "devices": case.get("devices")})
    return plan(subject, request_of(case.get("request", {})), str(folder / "dump"))


@pytest.mark.table(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_wish(case: dict[str, Any], tmp_path: Path) -> None:
    found = planned(case, tmp_path)
    assert [finding.kind.code for finding in found.findings] == case["findings"]
    assert found.has_errors == case.get("failed", False)
    assert bool(found.files) != found.has_errors
    assert case.get("says", "") in " ".join(finding.message() for finding in found.findings)
    assert all(finding.message("zh") != finding.message() for finding in found.findings)


def test_every_kind_of_finding_is_met() -> None:
    met = {code for case in CASES for code in case["findings"]}
    assert met == {kind.code for kind in say.kinds.values() if kind.code < "EVD030" or kind.code > "EVD109"}


@given(st.lists(st.tuples(st.integers(0, 999), st.integers(0, 99)), min_size=1, max_size=5))
def test_spans_are_read_as_they_are_written(pairs: list[tuple[int, int]]) -> None:
    spans = tuple(Span(first, first + more) for first, more in pairs)
    assert spans_of(",".join(span.text() for span in spans)) == spans


@pytest.mark.parametrize("text", ["", "a", "3-1", "1,,2", "-1", "1.5", "0-", "9999999999"])
def test_what_is_no_span(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the message is the piece that is wrong
        spans_of(text)


@pytest.mark.parametrize(
    ("text", "place", "direction", "call"),
    [
        ("decoder.layers.0.mlp", "decoder.layers.0.mlp", "forward", 0),
        ("Cell.decoder.layers.0.mlp.MLP.forward.2", "decoder.layers.0.mlp.MLP", "forward", 2),
        ("Module.decoder.layers.0.mlp.MLP.backward.0", "decoder.layers.0.mlp.MLP", "backward", 0),
        ("decoder.backward", "decoder", "backward", 0),
    ],
)
def test_a_record_is_named_by_a_person_or_by_msprobe(text: str, place: str, direction: str, call: int) -> None:
    assert tuple(record_of(text)) == (place, direction, call)
