"""The conversion matrix: whole and well-formed Markdown in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from accmap.mapper.mapping_rows import (
    FILES,
    caveat_words,
    conditions,
    differs_from_guide,
    document,
    flags,
    products,
    with_versions,
)
from accmap.mappings.tables import Caveat, table
from accmap.schemas.shared_words import term

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("language", FILES)
def test_every_row_stands_in_the_matrix(language) -> None:
    text = document(language)
    lines = text.splitlines()
    for row in table().rows:
        cells = [line for line in lines if line.startswith(f"| `{row.fields[0]}` ")]
        assert len(cells) == 1, row.fields
        assert f"| {term(row.loss, language)}" in cells[0]
        assert row.zh in cells[0] if language == "zh" else row.en in cells[0]
        assert all(f"`{field}`" in cells[0] for field in row.fields)
    for source in {source for row in table().rows for source in row.sources}:
        assert f"] {source}" in text


@pytest.mark.parametrize("language", FILES)
def test_tables_have_the_same_columns_throughout(language) -> None:
    width = 0
    for line in document(language).splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        bars = len(re.findall(r"(?<!\\)\|", line))
        width = width or bars
        assert bars == width, line


def test_links_between_the_languages() -> None:
    for name, text in products().items():
        for target in re.findall(r"\]\(([^)]+)\)", text):
            assert (DOCS / target.partition("#")[0]).exists(), (name, target)


def test_where_the_guide_differs_is_listed() -> None:
    listed = (
        document("en")
        .partition("## Differences between the accuracy guide")[2]
        .partition("## Arguments and keys that accmap does not")[0]
    )
    rows = [row for row in table().rows if differs_from_guide(row)]
    assert len(rows) >= 20
    assert listed.count("\n- ") == len(rows)


def test_words_for_flags_versions_and_conditions() -> None:
    assert flags("num_layers") == ("--num-layers",)
    assert flags("apply_rope_fusion") == ("--no-rope-fusion",)
    assert flags("softmax_type")  # unknown to the default version, known to a later one
    assert flags("nothing_like_it") == ()
    score = next(row for row in table().rows if row.fields == ("moe.router.score_function",))
    assert [when for _, when in with_versions(score.static, "en")] == ["up to 1.6", "after 1.6"]
    given = (("moe.num_experts", "set", None), ("schedule.style", "in", ("WSD", "linear")))
    assert conditions(given, "en") == 'moe.num_experts is set and schedule.style is one of "WSD", "linear"'
    assert conditions(given, "zh") == '已设置 moe.num_experts，且 schedule.style 属于 "WSD"、"linear"'


@pytest.mark.parametrize(
    ("source", "to", "since", "en", "zh"),
    [
        (
            "mindformers",
            "megatron",
            None,
            "from MindFormers to Megatron-LM, ",
            "从 MindFormers 转为 Megatron-LM 时，若",
        ),
        (
            "static",
            "dynamic",
            "2.0",
            "from static graph mode to dynamic graph mode from 2.0, ",
            "从静态图转为动态图时（自 2.0），若",
        ),
        ("static", None, None, "from static graph mode to the other side, ", "从静态图转换时，若"),
        (None, None, None, "both ways, ", "双向，若"),
    ],
)
def test_a_caveat_begins_with_its_direction(source, to, since, en, zh) -> None:
    when = (("moe.num_experts", "set", None),)
    caveat = Caveat(to, when, "exact", (), (), "A sentence.", "一句话。", since=since, source=source)
    assert caveat_words(caveat, "en").startswith(f"{en}if moe.num_experts is set (exact): ")
    assert caveat_words(caveat, "zh").startswith(f"{zh}已设置 moe.num_experts（精确）：")
