"""A recipe is the same whatever files were read before it, down to types, order and places; forks of one base too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.mapper.recipe.reading import recipe_of
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = Path(__file__).parents[3] / "examples"
TEXTS = {path: path.read_text("utf-8") for path in sorted(EXAMPLES.glob("*/m*.*")) if path.suffix in (".sh", ".yaml")}
INSTEAD = ("0", "1", "2", "8", "64", "0.0", "-0.0", "1.0e-4", "true", "false", "null", "adam", "[0, 1]", "float32")
FORKS = ("0.12", "mindspeed-llm-2.3", "mindspeed-llm", "pai-megatron-patch", "megatron-bridge", "ms-swift")
"""Versions that read one script in their own way, most of them upon the same Megatron-LM."""
File = tuple[str, str, str]


@st.composite
def files(draw: st.DrawFn) -> File:
    """One of the examples, from which lines are missing and in which values are others; and the version it is for."""
    path = draw(st.sampled_from(sorted(TEXTS)))
    lines = TEXTS[path].split("\n")
    for at in draw(st.lists(st.integers(0, len(lines) - 1), max_size=6)):
        head, colon, _ = lines[at].partition(": ") if path.suffix == ".yaml" else lines[at].rpartition(" ")
        word = draw(st.sampled_from(("", *INSTEAD)))
        lines[at] = f"{head}{colon}{word}" if colon and word else ""
    return f"case{path.suffix}", "\n".join(lines), draw(st.sampled_from(FORKS))


def read(file: File) -> str:
    """Everything that is read of it, with types and in order."""
    name, text, version = file
    try:
        config = config_of(SourceText(name, text), ReadOptions(megatron=version), path=name)
    except UnreadableError as error:
        return repr(error)
    recipe = recipe_of(config)
    return repr((config.problems, list(recipe.fields.items()), recipe))


def in_order(several: Sequence[File]) -> list[str]:
    return [read(file) for file in several]


@settings(max_examples=20)
@given(st.lists(files(), min_size=2, max_size=5))
def test_a_file_is_read_as_it_is_after_any_other(several: list[File]) -> None:
    assert in_order(several[::-1])[::-1] == in_order(several)


def test_forks_of_one_base_keep_what_is_theirs() -> None:
    script = TEXTS[EXAMPLES / "deepseek_v3" / "megatron.sh"]
    several = [("case.sh", script, version) for version in (*FORKS, *FORKS[::-1])]
    found = in_order(several)
    assert found == found[::-1]
    assert len(set(found)) == len(FORKS), "each reads the script in its own way"
