"""Where no comment can stand: inside strings of several lines, here-documents and multi-line scalars."""

from __future__ import annotations

import pytest

from accmap.rules.suppressions import first_line, last_line, lines_inside
from accmap.schemas.source import SourceText

SCRIPTS = {
    "a string": ('A="\n --x 1\n"\necho\n', {2, 3}),
    "a plain string": ("A='\n --x \"\n'\necho\n", {2, 3}),
    "an escaped quote": ('A="\\"\n x"\necho\n', {2}),
    "ansi": ("A=$'it\\'s\n'\necho\n", {2}),
    "a comment with a quote": ("# don't\nA=1 # \"x\nB=2\n", set()),
    "a number sign in a word": ("A=x#'\n'\nB=2\n", {2}),
    "a continued command": ("run \\\n --x 1 \\\n --y 2\n", set()),
    "an array": ("A=(\n --x 1\n --y 2\n)\n", set()),
    "a command in a string": ('A="$(cat "b c"\n echo)"\necho\n', {2}),
    "a command": ("A=$(cat\n echo)\necho\n", set()),
    "a parameter's default": ('A="${B:-"c d"}"\necho\n', set()),
    "a default in quotes": ('echo "${A:-it\'s}"\necho\n', set()),
    "a quoted default": ("A=${B:-'c\n'}\necho\n", {2}),
    "a shift": ("A=$((1 << B))\necho\n", set()),
    "a shift in quotes": ('A="$(((1 + B) << C))"\necho\n', set()),
    "a shift of its own": ("((A = B << C))\necho $( ((A << B)); echo)\ncat <<EOF\n x\nEOF\n", {4, 5}),
    "a here-document": ("cat <<EOF\n it's\nEOF\necho\n", {2, 3}),
    "a quoted one": ("cat <<'EOF' > x\n $A\nEOF\necho\n", {2, 3}),
    "an indented one": ("cat <<-END\n\tx\n\tEND\necho\n", {2, 3}),
    "two of them": ("cat <<A <<B\nx\nA\ny\nB\necho\n", {2, 3, 4, 5}),
    "a here-string": ("cat <<< x\necho\n", set()),
    "without an end": ("cat <<EOF\nx\n", {2}),
    "a case": ("case $A in\n a) x;;\nesac\necho\n", set()),
    "Windows": ('A="\r\n --x 1\r\n"\r\necho\r\n', {2, 3}),
}
YAMLS = {
    "a block": ("a: |\n  x\n  y\nb: 1\n", {2, 3}),
    "a quoted one": ('a: "x\n  y"\nb: 1\n', {2}),
    "a plain one": ("a: x\n  y\nb: 1\n", {2}),
    "none": ("a:\n  - 1\n  # x\n  - 2\n", set()),
    "broken": ("a: |\n  x\nb: [\n", {2}),
}


@pytest.mark.parametrize(
    ("name", "text", "inside"),
    [("a.sh", *case) for case in SCRIPTS.values()] + [("a.yaml", *case) for case in YAMLS.values()],
    ids=[*SCRIPTS, *(f"yaml {name}" for name in YAMLS)],
)
def test_lines(name: str, text: str, inside: set[int]) -> None:
    assert lines_inside(SourceText(name, text)) == inside


def test_the_extent_of_a_text() -> None:
    source = SourceText("a.sh", 'A="\n --x 1 \\\n --y 2\n"\nrun \\\n --z\n')
    inside = lines_inside(source)
    assert first_line(source, 3, inside) == 1
    assert last_line(source, 1, inside) == 4
    assert (first_line(source, 6, inside), last_line(source, 5, inside)) == (5, 6)
