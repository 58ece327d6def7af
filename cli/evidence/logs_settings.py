"""What the configurations of two runs say of a comparison of their logs: which settings make the numbers differ.

A log shows what moves its numbers by more than its limits. A rotary base of 100 moves the first loss of a small model
by less than bfloat16 does, and the decay of the second moment moves nothing before the third step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...evidence.logs.grounds import Settings
from ...evidence.logs.sentences import Both
from ...mapper.differences import differences
from ...mapper.gates import counts
from ...rules.engine import Selection, check
from ...rules.subject import Side, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...mapper.recipe.values import Recipe
    from ...schemas.config import Config
    from ...schemas.source import SourceText


def settings_of(read: Sequence[tuple[Config, SourceText]], recipes: Sequence[Recipe]) -> Settings:
    """What is told by two configurations: of a pair by the rules, of one framework by its fields."""
    sides = [Side(config, recipe, source) for (config, source), recipe in zip(read, recipes, strict=True)]
    by_name = {side.framework: side for side in sides}
    found = _by_rules(by_name) if len(by_name) == len(sides) else _by_fields(recipes[0], recipes[1])
    (_, first), (_, second) = read
    return Settings((first.name, second.name), tuple(found))


def _by_rules(sides: dict[str, Side]) -> Iterator[Both]:
    """The errors that change numbers; those that follow from another one are that one."""
    subject = Subject(sides.get("megatron"), sides.get("mindformers"), "train", {}, {})
    for one in check(subject, Selection()).diagnostics:
        if one.kind.severity == "error" and one.effect == "numbers" and one.because is None:
            yield Both(f"{one.kind.code} {one.message()}", f"{one.kind.code} {one.message('zh')}")


def _by_fields(a: Recipe, b: Recipe) -> Iterator[Both]:
    """The fields that both runs have and that differ."""
    for row in differences(a, b):
        if row.status != "different" or row.impact != "numerics" or not (row.field and row.a and row.b):
            continue
        if counts(row.field, a, b) is not False:
            text = f"{row.field}: {row.a.value} | {row.b.value}"
            yield Both(text, text)
