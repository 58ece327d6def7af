"""A recipe is the same whatever files were read before it, down to types, order and places."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.mapper.computed.values import Answers, Noted
from accmap.mapper.recipe import plan
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.recipe.reuse import alike, changed_settings
from accmap.schemas.config import ReadOptions, Setting
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accmap.mapper.recipe.values import Recipe
    from accmap.schemas.config import Config

PLANS = plan._plans  # pyright: ignore[reportPrivateUsage]
EXAMPLES = Path(__file__).parents[3] / "examples"
TEXTS = {path: path.read_text("utf-8") for path in sorted(EXAMPLES.glob("*/m*.*")) if path.suffix in (".sh", ".yaml")}
INSTEAD = ("0", "1", "2", "8", "64", "0.0", "-0.0", "1.0e-4", "true", "false", "null", "adam", "[0, 1]", "float32")


@st.composite
def _files(draw: st.DrawFn) -> tuple[str, str]:
    """One of the examples, from which lines are missing and in which values are others."""
    path = draw(st.sampled_from(sorted(TEXTS)))
    lines = TEXTS[path].split("\n")
    for at in draw(st.lists(st.integers(0, len(lines) - 1), max_size=6)):
        head, colon, _ = lines[at].partition(": ") if path.suffix == ".yaml" else lines[at].rpartition(" ")
        word = draw(st.sampled_from(("", *INSTEAD)))
        lines[at] = f"{head}{colon}{word}" if colon and word else ""
    return f"case{path.suffix}", "\n".join(lines)


def _config(name: str, text: str) -> Config | None:
    try:
        return config_of(SourceText(name, text), ReadOptions(), path=name)
    except UnreadableError:
        return None


def _shown(recipe: Recipe) -> str:
    """Everything, with types and in order."""
    return repr((list(recipe.fields.items()), recipe))


@settings(max_examples=60)
@given(st.lists(_files(), min_size=2, max_size=6))
def test_a_reading_after_others_is_the_first_reading(files: list[tuple[str, str]]) -> None:
    for name, text in files:
        config = _config(name, text)
        if config is None:
            continue
        after_others = _shown(recipe_of(config))
        assert after_others == _alone(config)


def _alone(config: Config) -> Any:
    """What is read of it where nothing was read before."""
    kept = dict(PLANS)
    PLANS.clear()
    answer = _shown(recipe_of(config))
    PLANS.clear()
    PLANS.update(kept)
    return answer


def _setting(value: Any, line: int = 1, **more: Any) -> Setting:
    return Setting("a", value, "explicit", Span(line, 1, line, 2))._replace(**more)


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (1, True), (0, False), (0.0, -0.0), ([1], [1.0]), ([1], (1,)), ({"a": 1}, {"a": True})]
)
def test_values_of_two_types_are_two_values(one: object, other: object) -> None:
    assert not alike(one, other)
    assert changed_settings({"a": _setting(one)}, {"a": _setting(other)}) == ["a"]


@pytest.mark.parametrize("value", [1, 1.5, 0.0, "x", None, True, [1, [2.0]], {"a": [1]}])
def test_where_and_how_a_value_is_written_does_not_matter(value: object) -> None:
    assert not changed_settings({"a": _setting(value)}, {"a": _setting(value, 7, raw=("x",))})


def test_a_value_without_a_place_is_another_answer() -> None:
    # What a translation holds before it is written stands nowhere; a file read after it does.
    config = _config("case.yaml", HEAD + "runner_config:\n  epochs: 3\n")
    assert config is not None
    nowhere = {key: setting._replace(span=None) for key, setting in config.settings.items()}
    for settings_of in (nowhere, config.settings, nowhere):
        one = config._replace(settings=settings_of)
        after_others = _shown(recipe_of(one))
        assert after_others == _alone(one)


def _first_two(settings_of: Mapping[str, Setting], prefix: str) -> tuple[str, ...]:
    return tuple(key for key in settings_of if key.startswith(prefix))[:2]


def test_a_formula_stands_while_what_it_asked_for_does() -> None:
    before = {"a.b": _setting(1), "a.c": _setting(2), "d": _setting(3)}
    noted = Noted(before)
    assert noted.get("a.b") is before["a.b"]
    known = noted.ask(_first_two, "a.")
    answers = Answers({}, frozenset({"a.b"}), (((_first_two, ("a.",)), known),))
    assert answers.hold(Noted(before), ["d"])
    assert not answers.hold(Noted(before), ["a.b"])
    assert not answers.hold(Noted(dict(reversed(before.items()))), [])  # another order is another answer
    assert "d" not in noted.taken
    assert list(noted)
    whole = Answers({}, frozenset(one for one in noted.taken if isinstance(one, str)), ())
    assert not whole.hold(Noted(before), [])  # what was gone through as a whole is never the same


def test_what_comes_and_goes_has_changed() -> None:
    before, now = {"a": _setting(1), "b": _setting(2)}, {"a": _setting(1), "c": _setting(2)}
    assert changed_settings(before, now) == ["c", "b"]
    assert changed_settings(before, {"a": _setting(math.nan)}) == ["a", "b"]
    assert changed_settings({"a": _setting(1)}, {"a": _setting(1, acceptance="ignored")}) == ["a"]
    assert changed_settings({"a": _setting(1)}, {"a": _setting(1, derived_from=("b",))}) == ["a"]


HEAD = "use_legacy: False\nrun_mode: train\nmodel:\n  model_config:\n    model_type: qwen3\n    hidden_size: 64\n"


@pytest.mark.parametrize(
    ("before", "now"),
    [
        pytest.param(
            "runner_wrapper:\n  scale_sense:\n    type: DynamicLossScaleUpdateCell\n    scale_factor: 2\n",
            "runner_wrapper:\n  scale_sense:\n    scale_factor: 2\n    type: DynamicLossScaleUpdateCell\n",
            id="a section in another order",
        ),
        pytest.param(
            "callbacks: []\n",
            "callbacks:\n- type: CheckpointMonitor\n  save_checkpoint_steps: 7\n",
            id="a callback that comes",
        ),
        pytest.param(
            "callbacks:\n- type: MFLossMonitor\n- type: CheckpointMonitor\n  save_checkpoint_steps: 7\n",
            "callbacks:\n- type: CheckpointMonitor\n  save_checkpoint_steps: 7\n- type: MFLossMonitor\n",
            id="callbacks in another order",
        ),
        pytest.param("seed: 7\n", "# moved\n\nseed: 7\n", id="a value in another line"),
    ],
)
def test_what_makes_another_recipe(before: str, now: str) -> None:
    for first, second in ((before, now), (now, before)):
        PLANS.clear()
        files = [_config("x.yaml", HEAD + text) for text in (first, second)]
        after_another = [_shown(recipe_of(config)) for config in files if config is not None][1]
        PLANS.clear()
        assert files[1] is not None
        assert _shown(recipe_of(files[1])) == after_another
