"""The table of options: what is misspelt in it stops the maker."""

from __future__ import annotations

import pytest

from accmap.cli.compile_options import SOURCE, compile_tables
from accmap.schemas.compilers.tables import load_table


@pytest.mark.parametrize(
    ("key", "entry"),
    [
        ("--loud", {"en": "Loud.", "zh": "大声。", "metavr": "N"}),
        ("--loud", {"en": "Loud."}),
        ("langg", None),
    ],
    ids=["member", "one-language", "shared-name"],
)
def test_a_misspelt_option_stops_the_maker(key: str, entry: object) -> None:
    content = load_table(SOURCE.read_text("utf-8"))
    content["commands"]["show"]["options"][key] = entry
    with pytest.raises(ValueError, match=rf"cli/options\.yaml: {key}"):
        compile_tables(content)


def test_a_misspelt_member_of_a_command_stops_the_maker() -> None:
    content = load_table(SOURCE.read_text("utf-8"))
    content["commands"]["show"]["read"] = False
    with pytest.raises(ValueError, match=r"cli/options\.yaml: show"):
        compile_tables(content)
