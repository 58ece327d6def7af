"""An edit of a YAML changes one node: in round-trip trees of ruamel.yaml all others are equal, comments included."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
from ruamel.yaml import YAML

from accmap.mapper.translate.editors import YamlEditor, apply_edits
from accmap.schemas.source import SourceText
from accmap.schemas.yaml_reader.document import read_yaml

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*.yaml"))
SHIPPED = sorted((ROOT / ".frameworks" / "mindformers").glob("*/**/*.yaml"))
VALUES = (7, 0.125, True, "a text", "1e-4", "no", "a: b # c", None, [1, 2])
EDITS = 12
COMMENTED = """\
# of the file
run_mode: train  # behind a word
seed: 1234   # behind a number

# of a section
optimizer:
  type: AdamW # behind a type
  # within
  eps: 1.0e-8
  note: 'quoted # no comment'  # behind quotes
  empty:  # behind nothing
lr_schedule: # behind a key
  type: "ConstantWarmUpLR"

  # before a value
  total_steps: -1
# at the end
"""


def tree(text: str) -> dict[str, Any]:
    """Values, styles and comments by their paths."""
    found: dict[str, Any] = {}

    def comments(node: Any) -> Any:
        if isinstance(node, (list, tuple)):
            return [comments(one) for one in node]
        return getattr(node, "value", None)

    def walk(node: Any, path: str) -> None:
        if isinstance(node, (dict, list)):
            found[f"{path} kind"] = type(node).__name__, node.fa.flow_style(), node.anchor.value  # type: ignore[attr-defined]
            found[f"{path} #"] = comments([node.ca.comment, node.ca.end])  # type: ignore[attr-defined]
            for key, items in node.ca.items.items():  # type: ignore[attr-defined]
                found[f"{path}.{key} #"] = comments(items)
            for key, value in node.items() if isinstance(node, dict) else enumerate(node):
                walk(value, f"{path}.{key}")
        else:
            found[path] = type(node).__name__, repr(node)

    walk(YAML(typ="rt").load(StringIO(text)), "")
    return found


def remarks(found: dict[str, Any]) -> list[str]:
    """The lines of all comments of a tree."""

    def texts(entry: Any) -> list[str]:
        return [text for one in entry for text in texts(one)] if isinstance(entry, list) else [entry or ""]

    lines = [
        line
        for name, entry in found.items()
        if name.endswith(" #")
        for text in texts(entry)
        for line in text.split("\n")
    ]
    return sorted(line.strip() for line in lines if line.strip())


def is_of_one_place(document: Any, key: str) -> bool:
    """True for a scalar that no alias repeats, neither it nor what holds it."""
    steps = key.split(".")
    nodes = [document.find(tuple(steps[:size])) for size in range(1, len(steps) + 1)]
    if any(node is None or node.anchor or node.anchor_span for node in nodes):
        return False
    return nodes[-1].kind == "scalar" and all(not node.flow for node in nodes)


def scalars(value: Any, path: str = "") -> list[str]:
    if not isinstance(value, dict):
        return [path]
    return [key for name, one in value.items() for key in scalars(one, f"{path}.{name}" if path else str(name))]


def judge(name: str, text: str, count: int) -> int:
    source = SourceText(name, text)
    document = read_yaml(source)
    keys = [key for key in scalars(document.value) if is_of_one_place(document, key)]
    if not keys:
        return 0
    before = tree(source.text)
    draw = Random(name)
    judged = 0
    for _ in range(count):
        key, value = draw.choice(keys), draw.choice(VALUES)
        editor = YamlEditor(source, shared=False)
        edited = apply_edits(source.text, [*editor.put(key, value), *editor.rest()])
        assert edited is not None
        after = tree(edited)
        spot = f".{key}"
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        allowed = (f"{spot} kind", f"{spot} #", f"{spot}.")
        if isinstance(value, list):  # behind a list ruamel.yaml keeps comments elsewhere, or loses them
            changed = {name for name in changed if not name.endswith(" #")}
        else:
            assert remarks(before) == remarks(after), (key, value)
        assert all(name == spot or name.startswith(allowed) for name in changed), (key, value)
        written: Any = YAML(typ="safe").load(edited)
        for step in key.split("."):
            written = written[step]
        assert written == value or (value == "1e-4" and written in ("1e-4", 1e-4)), (key, value, written)
        judged += 1
    return judged


@pytest.mark.parametrize("path", EXAMPLES, ids=[str(path.relative_to(ROOT)) for path in EXAMPLES])
def test_an_edit_changes_one_node(path: Path) -> None:
    assert judge(path.name, path.read_text("utf-8"), EDITS) == EDITS


def test_comments_stay_where_they_are() -> None:
    assert judge("comments.yaml", COMMENTED, 60) == 60


@pytest.mark.slow
@pytest.mark.skipif(not SHIPPED, reason="needs the wheels under .frameworks")
def test_an_edit_of_a_shipped_file_changes_one_node() -> None:
    assert sum(judge(path.name, path.read_text("utf-8"), 3) for path in SHIPPED) > len(SHIPPED)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_section_whose_keys_all_go_goes_with_them(newline: str) -> None:
    """MindFormers 1.9.0 parallel.pipeline_config: what is left of it would be null, and stop the run."""
    text = "a:\n  b: 1\n  c: # why\n    d: 2\n    e: 3\n  f: 4\n".replace("\n", newline)
    editor = YamlEditor(SourceText("a.yaml", text), shared=True)
    edits = [edit for key in ("a.c.d", "a.c.e") for edit in editor.drop(key)]
    assert apply_edits(text, [*edits, *editor.rest()]) == f"a:{newline}  b: 1{newline}  # why{newline}  f: 4{newline}"
    plain = text.replace(" # why", "")
    editor = YamlEditor(SourceText("a.yaml", plain), shared=True)
    edits = [edit for key in ("a.c.d", "a.c.e") for edit in editor.drop(key)]
    assert apply_edits(plain, [*edits, *editor.rest()]) == f"a:{newline}  b: 1{newline}  f: 4{newline}"
