"""What the public functions answer with belongs to the caller: a change to it, or another thread, changes no other."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any, cast

import pytest

import accmap
from accmap.mapper.recipe import reading
from accmap.mapper.recipe.reading import recipe_of
from accmap.schemas.config import Config
from accmap.schemas.file_kind import what_stops

PLANS = reading._plans  # pyright: ignore[reportPrivateUsage]
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = sorted(str(path) for path in EXAMPLES.glob("*/m*.*") if path.suffix in (".sh", ".yaml"))
MOE = str(EXAMPLES / "deepseek_v3" / "megatron.sh")


def _held(value: object) -> dict[int, object]:
    """Every list and mapping in a value."""
    found: dict[int, object] = {}
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (list, dict)):
            found[id(cast("object", one))] = one
        if isinstance(one, dict):
            waiting += cast("dict[Any, Any]", one).values()
        elif isinstance(one, (list, tuple)):
            waiting += cast("list[Any]", one)
    return found


@pytest.mark.parametrize("first", FILES)
def test_no_two_answers_share_a_list(first: str) -> None:
    second = MOE if first.endswith(".sh") else str(EXAMPLES / "deepseek_v3" / "mindformers.yaml")
    a, b = accmap.load(first), accmap.load(second)
    answers: list[object] = [tuple(a), tuple(b), tuple(a.recipe), tuple(a.recipe), tuple(b.recipe)]
    answers += [accmap.diff(a, b), accmap.diff(a, b)]
    if not what_stops(a):
        answers += [accmap.convert(a).rows, accmap.convert(a).rows]
    seen: dict[int, object] = {}
    for answer in answers:
        held = _held(answer)
        assert not held.keys() & seen.keys()
        seen |= held


def test_a_changed_answer_changes_no_other() -> None:
    config = accmap.load(MOE)
    before = repr(tuple(config)), repr(tuple(config.recipe))
    recipe = config.recipe
    cast("dict[str, Any]", recipe.fields).clear()
    cast("list[int]", config.recipe.fields["moe.layer_pattern"].value).append(7)
    other = accmap.load(MOE)
    for setting in other.settings.values():
        if isinstance(setting.value, list):
            setting.value.append("changed")
    cast("dict[str, Any]", other.settings).pop("num_layers")
    again = accmap.load(MOE)
    assert (repr(tuple(again)), repr(tuple(again.recipe))) == before


def test_a_recipe_is_that_of_the_settings_as_they_are() -> None:
    config = accmap.load(MOE)
    before = config.recipe.value("data.blend")
    for setting in config.settings.values():
        if setting.key == "data_path" and isinstance(setting.value, list):
            setting.value[:] = ["/another"]
    assert config.recipe.value("data.blend") != before


class _Interrupting(dict[str, Any]):
    """Settings at the first look into which another file is read, as a second thread would."""

    def __init__(self, found: Any, then: Any) -> None:
        super().__init__(found)
        self.then = then

    def get(self, key: str, default: Any = None) -> Any:
        then, self.then = self.then, None
        if then is not None:
            then()
        return super().get(key, default)


@pytest.mark.parametrize("path", FILES)
def test_a_reading_that_another_one_interrupts(path: str) -> None:
    PLANS.clear()
    config = accmap.load(path)
    alone = repr(tuple(config.recipe))
    PLANS.clear()
    settings = _Interrupting(config.settings, lambda: config.recipe)
    assert repr(tuple(recipe_of(Config(*config)._replace(settings=settings)))) == alone


def test_several_threads_at_once() -> None:
    alone: dict[str, str] = {}
    for path in FILES:
        PLANS.clear()
        alone[path] = repr(accmap.load(path).recipe)
    found: list[tuple[str, str]] = []

    def read(files: list[str]) -> None:
        found.extend((path, repr(accmap.load(path).recipe)) for path in files)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        PLANS.clear()
        threads = [threading.Thread(target=read, args=(FILES[at:] + FILES[:at],)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert len(found) == 4 * len(FILES)
    assert all(text == alone[path] for path, text in found)
