"""A key that is a section is its leaves, in the file's order, and no other key that begins alike."""

from __future__ import annotations

import pytest

from accmap.mapper.recipe.reading import SettingsView
from accmap.schemas.config import Config, Setting

PATHS = ("m.size", "m.rope.factor", "m.ropes", "m.rope-a.b", "z", "m.rope.base", "list[0].type", "m.rope/x")


@pytest.mark.parametrize(
    ("section", "leaves"),
    [
        ("m.rope", ["m.rope.factor", "m.rope.base"]),
        ("m", ["m.size", "m.rope.factor", "m.ropes", "m.rope-a.b", "m.rope.base", "m.rope/x"]),
        ("list[0]", ["list[0].type"]),
        ("list", []),
        ("z", []),
        ("zz", []),
        ("rope", []),
        ("", []),
    ],
)
def test_a_section_is_its_leaves(section: str, leaves: list[str]) -> None:
    settings = {path: Setting(path, 1, "explicit") for path in PATHS}
    view = SettingsView(Config("run.yaml", "mindformers", "1.9", "static", settings))
    assert [setting.key for setting in view.leaves(section)] == leaves
