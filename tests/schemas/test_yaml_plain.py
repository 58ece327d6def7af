"""The reader of plain YAML answers exactly what the reader of libyaml's events answers, or stands aside."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.source import SourceText
from accmap.schemas.yaml_reader.document import Reader
from accmap.schemas.yaml_reader.fast_path import Beyond, read_plain

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*/*.yaml"))
PLAIN = [
    "a: 1\nb: [1, 2.5, 'x', \"y\"]  # why\nc:\n- d: ~\n  e:\n-  f: yes\n",
    "a: &one\n  x: 1e-5\n  y: 1.0e-5\nb: *one\nc:\n  <<: *one\n  y: off\nd: [*s, 1]\n".replace("*s", "*one"),
    "k: [[1, 2],  # first\n    [3],\n    []\n  ]\nn: {}\nempty:\nlast: ''\n",
    "\n# only a comment below\na:\n\n  - -1\n  - a b  c\n  -\n    z: +3\n",
    "s: &word text\nt: *word\nu: ./path/to\nv: -x\nw: 017\n",
    "",
]
PIECES = st.sampled_from([
    *" \n:-#'\"[],&*{}|>!%@?\t.e+0_~=<\u00e9\u2028\\", "\n  ", ": ", "- ", " #", "<<: *a", "&a ", "*a", "null", "1e-5",
    "1.0e+5", "yes", "- - ", "? ", "---\n", "012", "1:30", "2024-01-01", "[1, 2]", "[a, [b]]", "{a: b}", "''", '""',
    "0x1f", "1_000", ".5", "-.inf", "\r\n",
])  # fmt: skip


def compared(text: str) -> bool:
    """Whether the text is plain; where it is, both readers agree to the last span."""
    reader = Reader(SourceText("f.yaml", text))
    try:
        found = read_plain(reader)
    except Beyond:
        return False
    expected = Reader(reader.source).read()
    assert repr(found) == repr(expected.root)  # 1, 1.0 and True are told apart
    assert tuple(reader.problems) == expected.problems
    return True


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_examples_are_plain(path: Path) -> None:
    assert compared(path.read_text("utf-8"))


@pytest.mark.parametrize("text", PLAIN)
def test_plain_forms(text: str) -> None:
    assert compared(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  b\n",
        "a: b\n  c\n",
        "a:\tb\n",
        "a: {b: 1}\n",
        "a: 1\na: 2\n",
        "a: !x b\n",
        "- a\n-- b\n",
        "a: *b\n",
        "'a': 1\n",
    ],
)
def test_what_goes_beyond(text: str) -> None:
    assert not compared(text)


@settings(max_examples=600)
@given(st.data())
def test_changed_texts(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(PLAIN))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(PIECES) + text[at + data.draw(st.integers(0, 2)) :]
    try:
        compared(text)
    except UnreadableError as error:
        pytest.fail(f"libyaml refuses what was read as plain: {text!r}: {error}")
