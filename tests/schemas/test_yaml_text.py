"""The YAML reader: the same values as PyYAML's safe_load, with places, and one clear error for what it refuses."""

from __future__ import annotations

import contextlib
import math
import time
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.messages_compiled import say
from accmap.schemas.source import SourceText, Span
from accmap.schemas.yaml_reader.document import YamlDocument, parse_path, read_yaml


def read(text: str) -> YamlDocument:
    return read_yaml(SourceText("a.yaml", text))


def refused(text: str) -> tuple[str, Span | None]:
    with pytest.raises(UnreadableError) as caught:
        read(text)
    diagnostic = caught.value.diagnostic
    assert diagnostic.message("en")
    assert diagnostic.message("zh")
    return diagnostic.kind.name, diagnostic.span


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1, 1.0 and True apart and lets not-a-number equal itself."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float) and math.isnan(left):
        return math.isnan(right)
    if isinstance(left, dict):
        return list(map(repr, left)) == list(map(repr, right)) and all(
            same(one, other) for one, other in zip(left.values(), right.values(), strict=True)
        )
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


SCALARS = [
    "1e-5",
    "1.0e-5",
    "1.0e5",
    "1.e-5",
    "1.0e+5",
    ".5",
    "5.",
    "-.5e-3",
    "+1",
    "-0",
    "0",
    "017",
    "08",
    "0o17",
    "0x1F",
    "0b101",
    "1_000",
    "1_0.5",
    "12:30",
    "1:2:3.5",
    "190:20:30.15",
    "yes",
    "No",
    "ON",
    "off",
    "y",
    "n",
    "true",
    "FALSE",
    "True",
    "null",
    "Null",
    "~",
    "NULL",
    ".inf",
    "-.INF",
    ".nan",
    ".NaN",
    "2024-01-02",
    "2024-01-02T03:04:05Z",
    "2001-12-14t21:59:43.10-05:00",
    "a",
    "1a",
    "-",
    "1.2.3",
    "0_",
    "++1",
    "1,000",
    "0x",
    "1e5",
    "e5",
    "-1e-5",
    "+.inf",
    "0.0",
    "1.5E+3",
    "1.5E3",
    "0:0",
    "60:00",
]


@pytest.mark.parametrize("text", SCALARS)
@pytest.mark.parametrize("form", ["key: {}", "[{}, x]", "- {}"])
def test_scalars_are_those_of_safe_load(text: str, form: str) -> None:
    whole = form.format(text)
    try:
        expected = yaml.safe_load(whole)
    except (yaml.YAMLError, ValueError):
        refused(whole)
        return
    assert same(read(whole).value, expected)


DOCUMENTS = [
    "a: 1\nb: {c: [1, 2, {d: e}], f: ''}\n",
    "a: &x {b: 1, c: 2}\nd: *x\ne: {<<: *x, c: 3}\nf: [*x, *x]\n",
    "a: |\n  line one\n  line two\n\nb: >-\n  folded\n  text\nc: 'it''s'\nd: \"tab\\tA\"\n",
    "? a\n: b\n? c\n",
    "a: !!str 1\nb: !!int '3'\nc: !!float 1\nd: !!set {x, y}\ne: !!binary aGk=\nf: ! 12\ng: !!omap [{a: 1}]\n",
    "a: ! ''\nb: ! '12'\nc: ! \"x\"\nd: ! |\n  7\ne: [! 'true', ! '1e-5', ! \"1.0\"]\n",
    "on: 1\nyes: 2\n1: 3\n1.0: 4\n~: 5\n",
    "%YAML 1.1\n---\na: 1\n...\n",
    "\r\na: 1\r\nb:\r\n  - x\r\n  - y\r\n",
    'a: 值\nb: "\\u00e9"\n键: [é, ü]\n',
    "a: 1 # one\n# alone\nb: '#not'\nc: a#b\n",
    "a: 1\na: 2\nb: {c: 1, c: 2}\n",
    "- - - 1\n  - 2\n-\n  a: [\n    1, 2\n  ]\n",
    "",
    "# only a comment\n",
]


MERGED: dict[str, set[str]] = {
    "a: &a {key: 1}\nb: &b {key: 2, m: 3}\nc: {<<: [*a, *b], n: 1}\n": {"key"},
    "a: &a {k: 1}\nb: &b {k: 2, m: 3}\nc: {<<: [*a, *b], n: 1}\nd: {n: 0, <<: *b, <<: *a}\n": {"k"},
    "a: &a {key: 1}\nb: &b {key: 2}\nc: {<<: [*a, *b], key: 3}\n": set(),
    "a: &a {key: 1}\nb: &b {key: 1}\nc: {<<: [*a, *b]}\n": set(),
    "a: &a {key: 1}\nb: &b {key: true}\nc: {<<: [*a, *b]}\n": {"key"},
    "a: &a {key: [1, 2]}\nb: &b {key: [1, 2]}\nc: {<<: [*a, *b]}\n": set(),
    "a: &a {key: 1, o: 2}\nb: &b {<<: *a, key: 2}\nc: {<<: *b}\n": set(),
}


@pytest.mark.parametrize("text", MERGED)
def test_a_key_of_two_merged_mappings_is_told_where_pyyaml_versions_differ(text: str) -> None:
    """PyYAML 6.0.4 takes the other mapping's value for most keys; up to 6.0.3 the first mapping's counts."""
    document = read(text)
    told = [problem.message() for problem in document.problems if problem.kind.code == "SYN057"]
    assert {key for key in ("key", "k") if any(f"set {key} to" in message for message in told)} == MERGED[text]
    if not MERGED[text]:
        assert document.value == yaml.safe_load(text)
    elif "[*a, *b]" in text:
        first = next(iter(MERGED[text]))
        assert document.value["c"][first] == document.value["a"][first]


@pytest.mark.parametrize("text", DOCUMENTS)
def test_documents_are_those_of_safe_load(text: str) -> None:
    found, expected = read(text).value, yaml.safe_load(text)
    assert found == expected
    if "!!set" not in text:
        assert same(found, expected)


TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.dates()
    | st.text(max_size=12)
    | st.sampled_from(SCALARS),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=6) | st.sampled_from(SCALARS) | st.integers(), inner, max_size=4)
    ),
    max_leaves=25,
)


@settings(max_examples=300)
@given(TREES, st.sampled_from([None, True, False]), st.booleans())
def test_dumped_values_come_back(tree: Any, flow: bool | None, unicode: bool) -> None:
    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=unicode)
    try:
        expected = yaml.safe_load(text)
    except yaml.YAMLError:
        assume(False)
    document = read(text)
    assert same(document.value, expected)
    again = read(text)
    assert repr(again.root) == repr(document.root)


PIECES = st.sampled_from(
    [*"abc:-?,[]{}#&*!|>'\"% \n\t\r~<=1.0e", "\n  ", ": ", "- ", "<<: ", "*x", "&x ", "!!str ", "---\n", "\u2028", "é"]
)


def slow(text: str) -> Any:
    """What the loaders make of a text, when the one in Python and the one in C agree that it can be loaded."""
    expected = yaml.load(text, Loader=yaml.CSafeLoader)
    if "\t" in text:
        return yaml.safe_load(text)
    if "!" in text:
        with contextlib.suppress(yaml.YAMLError):
            return yaml.safe_load(text)
    return expected


@settings(max_examples=500)
@given(st.lists(PIECES, max_size=40).map("".join))
@example("- \ra")  # PyYAML counts the carriage return as a line's end
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        expected = slow(text)
    except (yaml.YAMLError, ValueError):
        refused(text)
        return
    try:
        document = read(text)
    except UnreadableError:
        assert "&" in text, "what safe_load reads is read, unless it contains itself"
        return
    assert document.value == expected or repr(document.value) == repr(expected)


def test_every_key_and_value_has_its_place() -> None:
    text = "a:\n  b: [1, two]  # note\n  'c': &anchor\n    d: x\ne: *anchor\n"
    document = read(text)
    node = document.find("a.b[1]")
    assert node is not None
    assert (node.value, node.span, node.key_span) == ("two", Span(2, 10, 2, 13), None)
    quoted = document.find("a.c")
    assert quoted is not None
    assert quoted.key_span == Span(3, 3, 3, 6)
    assert quoted.anchor == "anchor"
    alias = document.find("e")
    assert alias is not None
    assert alias.span == Span(5, 4, 5, 11)
    assert alias.anchor_span is not None
    assert alias.anchor_span.line in (3, 4)
    assert alias.value == {"d": "x"}
    assert document.find("a.z") is None
    assert document.find("a.b[9]") is None


@settings(max_examples=150)
@given(st.dictionaries(st.text("abcé", min_size=1), st.text("xyz 1", min_size=1, max_size=8), max_size=5))
def test_a_scalar_stands_where_its_span_says(tree: dict[str, str]) -> None:
    text = yaml.safe_dump({"top": tree}, allow_unicode=True, default_flow_style=False)
    lines = text.split("\n")
    document = read(text)
    for key, value in tree.items():
        node = document.find(("top", key))
        assert node is not None
        span = node.span
        shown = lines[span.line - 1][span.column - 1 : span.end_column - 1]
        assert span.line == span.end_line
        assert yaml.safe_load(shown) == value


def test_positions_survive_odd_line_breaks() -> None:
    document = read("a: 'x\u2028y'\nb: 2\n")
    node = document.find("b")
    assert node is not None
    assert node.span == Span(2, 4, 2, 5)
    windows = read("a: 1\r\nb: 2\r\n").find("b")
    assert windows is not None
    assert windows.span == Span(2, 4, 2, 5)


NOTES = {
    "a: 1e-5": ("number-like-string", "1.0e-5"),
    "a: 5e6": ("number-like-string", "5.0e+6"),
    "a: .5e3": ("number-like-string", "0.5e+3"),
    "a: yes": ("boolean-word", "true"),
    "a: OFF": ("boolean-word", "false"),
    "a: 017": ("octal-integer", "15"),
    "a: 12:30": ("sexagesimal", "750"),
    "a: 2024-01-02": ("date-value", "2024-01-02"),
    "a: 1\na: 2": ("duplicate-key", "2"),
    "on: 1": ("key-not-a-string", "True"),
}


@pytest.mark.parametrize(("text", "expected"), NOTES.items())
def test_surprises_are_named(text: str, expected: tuple[str, str]) -> None:
    name, word = expected
    found = [problem for problem in read(text).problems if problem.kind.name == name]
    assert len(found) == 1
    assert word in found[0].message()
    assert found[0].span is not None


@pytest.mark.parametrize(
    "text", ["a: 1.0e-5", "a: '1e-5'", "a: 'yes'", "a: 0", "a: 10", "a: 1.5", "a: true", "a: v1e5"]
)
def test_ordinary_values_are_not_named(text: str) -> None:
    assert read(text).problems == ()


@pytest.mark.parametrize("better", ["1e-5", "-2e10", "5.e3", ".5e1", "1_0e2"])
def test_the_advised_number_is_a_float(better: str) -> None:
    problem = read(f"a: {better}").problems[0]
    advised = dict(problem.values)["better"]
    assert yaml.safe_load(str(advised)) == pytest.approx(float(better))


REFUSED = {
    "a: [1, 2": "yaml-syntax",
    "a: b: c": "yaml-syntax",
    "a: |# libyaml takes this for a comment\n  b": "yaml-syntax",
    "a: &x !!str >2# c\n  b": "yaml-syntax",
    "\ta: 1": "tab-indentation",
    "a:\n\tb: 1": "tab-indentation",
    "a: 1\t# what libyaml takes and PyYAML does not": "tab-indentation",
    "a: [1,\t2]": "tab-indentation",
    "a: 1\n---\nb: 2": "several-documents",
    "a: !!python/object:os.system x": "unsupported-tag",
    "a: !mine 1": "unsupported-tag",
    "a: 2024-13-45": "unreadable-value",
    "a: =": "unreadable-value",
    "a: !!int x": "unreadable-value",
    "a: !!map [1]": "unreadable-value",
    "? [1]\n: 2": "unhashable-key",
    "a: *b": "undefined-alias",
    "&a [*a]": "recursive-alias",
    "a: &x 1\nb: &x 2": "duplicate-anchor",
    "<<: 1": "bad-merge",
    "a: \x07": "not-printable",
    "[" * 10_000: "too-deep",
    "\n".join("  " * depth + "a:" for depth in range(300)): "too-deep",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: str(REFUSED[text]))
def test_what_safe_load_refuses_is_one_error_with_its_place(text: str) -> None:
    name, span = refused(text)
    assert name == REFUSED[text]
    assert span is not None
    assert 1 <= span.line <= text.count("\n") + 2


def test_alias_bombs_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 30)]
    started = time.perf_counter()
    assert refused("\n".join(lines))[0] == "too-many-values"
    assert time.perf_counter() - started < 1


def test_paths() -> None:
    assert parse_path("a.b[0].c[1][2]") == ("a", "b", 0, "c", 1, 2)


def test_kinds_are_complete() -> None:
    codes = [kind.code for name, kind in say.kinds.items() if "SYN050" <= kind.code <= "SYN099"]
    assert len(codes) == len(set(codes))
    assert all("SYN050" <= code <= "SYN099" for code in codes)
