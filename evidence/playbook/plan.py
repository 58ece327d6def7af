"""Which checks of the guide concern one pair, with the pair's names filled in."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple, cast

from ...mapper.align.alignment import align, steps
from ...mapper.conditions import holds
from .table import Stage, stages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ...mapper.recipe.values import Recipe
    from .table import Check


class Names(NamedTuple):
    """The pair's files as seen from the playbook's directory."""

    megatron: str
    mindformers: str
    source: str


class Plan(NamedTuple):
    """The stages for one pair."""

    names: Names
    rungs: tuple[int, ...]
    stages: tuple[Stage, ...]

    def to_json(self) -> dict[str, object]:
        """What `plan.json` records: names and numbers, never commands."""
        return {
            "format": FORMAT,
            **self.names._asdict(),
            "rungs": list(self.rungs),
            "checks": [f"{stage.id}/{check.id}" for stage in self.stages for check in stage.checks],
        }


FILE = "plan.json"
FORMAT = 1


class PlanError(ValueError):
    """A `plan.json` that is none."""


def plan_of(recipe: Recipe, names: Names) -> Plan:
    """The plan for a recipe: the checks whose conditions hold, and the rungs that give something back."""
    last = len(steps()) - 1
    rungs = tuple(number for number in range(1, last + 1) if number == last or align(recipe, number).returned)
    return _planned(names, rungs, lambda check: all(holds(condition, recipe.value) for condition in check.when))


def plan_from(content: object) -> Plan:
    """The plan that a `plan.json` describes; PlanError where it describes none."""
    if not isinstance(content, dict):
        raise PlanError("it is not a playbook's plan")
    found = cast("dict[str, object]", content)
    if found.get("format") != FORMAT:
        raise PlanError("it is not a playbook's plan of this version")
    texts = [found.get(name) for name in Names._fields]
    rungs, checks = (cast("list[object] | None", found.get(name)) for name in ("rungs", "checks"))
    known = range(1, len(steps()))
    if not all(isinstance(text, str) and text and not text.startswith("-") for text in texts):
        raise PlanError("it does not name the pair's files")
    if not isinstance(rungs, list) or not all(type(rung) is int and rung in known for rung in rungs):
        raise PlanError("its rungs are not those of the ladder")
    if not isinstance(checks, list):
        raise PlanError("it does not list its checks")
    chosen = {str(check) for check in checks}
    numbers = tuple(cast("int", rung) for rung in rungs)
    plan = _planned(Names(*(str(text) for text in texts)), numbers, lambda _check: True)
    kept = [
        stage._replace(checks=tuple(check for check in stage.checks if f"{stage.id}/{check.id}" in chosen))
        for stage in plan.stages
    ]
    unknown = chosen - {f"{stage.id}/{check.id}" for stage in plan.stages for check in stage.checks}
    if unknown:
        raise PlanError(f"it lists checks that this version does not have: {', '.join(sorted(unknown))}")
    return plan._replace(stages=tuple(stage for stage in kept if stage.checks))


def _planned(names: Names, rungs: tuple[int, ...], wanted: Callable[[Check], bool]) -> Plan:
    found: list[Stage] = []
    for stage in stages():
        checks = tuple(filled for check in stage.checks if wanted(check) for filled in _filled(check, names, rungs))
        prepare = tuple(_words(words, names._asdict()) for words in stage.prepare)
        found.append(stage._replace(checks=checks, prepare=prepare))
    return Plan(names, rungs, tuple(found))


def _filled(check: Check, names: Names, rungs: Iterable[int]) -> Iterator[Check]:
    if check.each is None:
        yield _with(check, names._asdict(), {}, {})
        return
    ladder = steps()
    for rung in rungs:
        step = ladder[rung]
        values = {**names._asdict(), "rung": str(rung), "name": step.name}
        yield _with(check, values, {"text": step.en}, {"text": step.zh})


def _with(check: Check, values: Mapping[str, str], en: Mapping[str, str], zh: Mapping[str, str]) -> Check:
    titles = {"en": check.title["en"].format(**values, **en), "zh": check.title["zh"].format(**values, **zh)}
    return check._replace(
        id=check.id.format(**values),
        title=titles,
        do=_words(check.do, {name: shlex.quote(value) for name, value in values.items()}),
        needs=_words(check.needs, values),
        judge=_words(check.judge, values),
        prepare=_words(check.prepare, values),
    )


def _words(words: Iterable[str], values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word.format(**values) for word in words)
