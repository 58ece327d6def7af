"""What the configurations of two runs say of a comparison of their logs: which settings make the numbers differ.

A log shows what moves its numbers by more than its limits. A rotary base of 100 moves the first loss of a small model
by less than bfloat16 does, and the decay of the second moment moves nothing before the third step. A setting that is
not known from the files, or that no table knows, may do the same: where one could change numbers, nothing is decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...evidence.logs.verdict_evidence import Settings
from ...mapper.differences import differences
from ...rules.engine import Selection, check
from ...rules.messages_compiled import say as of_rules
from ...rules.subject import Side, Subject
from ...schemas.message import Words, verbatim
from ...schemas.verdict import unseen_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...mapper.differences import Difference
    from ...mapper.recipe.values import Recipe
    from ...rules.engine import Outcome
    from ...schemas.config import Config
    from ...schemas.source import SourceText

_COMPARED = ("megatron", "mindformers")
"""The two that rules compare with one another."""


def settings_of(read: Sequence[tuple[Config, SourceText]], recipes: Sequence[Recipe]) -> Settings:
    """What is told by two configurations: of a pair by the rules, of one framework by its fields."""
    sides = [Side(config, recipe, source) for (config, source), recipe in zip(read, recipes, strict=True)]
    by_name = {side.framework: side for side in sides}
    words = [Words(one.text("en"), one.text("zh")) for one in unseen_words(side.config for side in sides)]
    apart, unknown = _by_rules(by_name) if set(by_name) == set(_COMPARED) else _by_fields(*recipes)
    open_ = dict.fromkeys((*words, *unknown))
    return Settings((read[0][1].name, read[1][1].name), tuple(apart), tuple(open_))


def _by_rules(sides: dict[str, Side]) -> tuple[list[Words], list[Words]]:
    """The errors that change numbers, those that follow from another one being that one; and what is open."""
    outcome = check(Subject(sides["megatron"], sides["mindformers"], "train", {}, {}), Selection())
    apart = [
        Words(f"{one.kind.code} {one.message()}", f"{one.kind.code} {one.message('zh')}")
        for one in outcome.diagnostics
        if one.kind.severity == "error" and one.effect == "numbers" and one.because is None
    ]
    a, b = sides["megatron"].recipe, sides["mindformers"].recipe
    open_ = [_row_words(row) for row in _numeric(a, b) if _is_open(row)]
    return apart, [*_rule_gaps(sides.values(), outcome), *open_]


def _rule_gaps(sides: Iterable[Side], outcome: Outcome) -> Iterator[Words]:
    """Why rules did not look at these runs: one trains no GPT model, or a rule failed."""
    for side in sides:
        purpose = side.config.purpose
        if purpose is not None and not purpose.trains_gpt:
            yield purpose.problem.words()
    for one in outcome.diagnostics:
        if one.kind.code == of_rules.kinds["rule_crashed"].code:
            yield one.words()


def _by_fields(a: Recipe, b: Recipe) -> tuple[list[Words], list[Words]]:
    """The fields that both runs have and that differ; and what is open, keys that no table knows included."""
    apart: list[Words] = []
    open_: list[Words] = []
    for row in _numeric(a, b):
        known = row.field is not None and row.counts is True  # of a key without a field nothing is known
        (apart if row.status == "different" and known else open_).append(_row_words(row))
    return apart, open_


def _numeric(a: Recipe, b: Recipe) -> Iterator[Difference]:
    """What is not known to be equal, and could change numbers."""
    return (row for row in differences(a, b) if row.status != "equal" and row.impact == "numerics")


def _is_open(row: Difference) -> bool:
    """Whether rules about two frameworks cannot say what a difference does; what one side alone decides, they judge."""
    return row.field is None or row.counts is None or not all(side is None or side.decided for side in (row.a, row.b))


def _row_words(row: Difference) -> Words:
    """A field, or a key that has none, with what either run has: `?` is not known from the files."""
    key = next((side.key for side in (row.a, row.b) if side is not None and side.key), "")
    values = ("-" if side is None else side.value if side.decided else "?" for side in (row.a, row.b))
    text = f"{row.field or key}: {' | '.join(map(str, values))}"
    return verbatim(text)
