"""The vector is taken apart as the standard library's argparse does it, for every version's arguments."""

from __future__ import annotations

import argparse
import contextlib
import io
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.schemas.config import Argument
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.megatron.argument_parser import Parsed, convert, parse, pattern, with_declarations
from accmap.schemas.megatron.catalog import VERSIONS, catalog
from accmap.schemas.source import Span

if TYPE_CHECKING:
    from accmap.schemas.megatron.catalog import ArgumentFact, Catalog

ERRORS = {"MAP002", "MAP003", "MAP004", "MAP005", "MAP006", "MAP007", "MAP008"}
SMALL = (
    "num_layers",
    "lr",
    "bf16",
    "add_bias_linear",
    "data_path",
    "moe_layer_freq",
    "attention_backend",
    "spec",
    "rampup_batch_size",
    "window_size",
    "onnx_safe",
    "rl_partial_rollouts",
    "save_interval",
    "yarn_correction_range_round_to_int",
    "timing_log_level",
    "cp_comm_type",
)


def words(*texts: str) -> tuple[Argument, ...]:
    return tuple(Argument(text, Span(1, at + 1, 1, at + 2)) for at, text in enumerate(texts))


def parsed(*texts: str, version: str = "0.12") -> Parsed:
    return parse(words(*texts), catalog(version), "x")


def codes(found: Parsed) -> list[str]:
    return [problem.kind.code for problem in found.problems]


def real_parser(known: Catalog) -> argparse.ArgumentParser:
    """Megatron's parser as argparse itself: the same arguments, choices, counts and types."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for fact in known.arguments:
        parser.add_argument(*_options(fact), dest=fact.dest, **_keywords(fact, known.version))
    return parser


def _options(fact: ArgumentFact) -> tuple[str, ...]:
    if fact.action != "switch":
        return fact.options
    return tuple(option for option in fact.options if not option.startswith("--no-"))


def _keywords(fact: ArgumentFact, version: str) -> dict[str, Any]:
    if fact.action == "switch":
        return {"action": argparse.BooleanOptionalAction, "default": fact.default}
    if fact.action != "store":
        return {"action": f"store_{fact.action}", "default": fact.default}

    def type_of(text: str) -> Any:
        return convert(fact.type, text, version)

    kind = _OF_PYTHON.get(fact.type or "", type_of)
    return {"nargs": fact.nargs, "type": kind, "choices": fact.choices, "default": fact.default}


_OF_PYTHON: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": bool}
"""The types that `arguments.py` names; the others are functions of its own."""


@cache
def parser_of(version: str) -> argparse.ArgumentParser:
    return real_parser(catalog(version))


def outcome(version: str, texts: list[str]) -> dict[str, Any] | None:
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            return vars(parser_of(version).parse_args(texts))
        except SystemExit:
            return None


@st.composite
def vectors(draw: st.DrawFn) -> tuple[str, list[str]]:
    version = draw(st.sampled_from(VERSIONS))
    known = catalog(version)
    small = [option for dest in SMALL for fact in known.arguments if fact.dest == dest for option in fact.options]
    flag = st.one_of(st.sampled_from(small), st.sampled_from(sorted(known.by_option)))
    value = st.sampled_from(
        [
            "1",
            "2",
            "-1",
            "-1e-5",
            "-.5",
            "1e-4",
            "x",
            "a b",
            "--x y",
            "-",
            "",
            "flash",
            "True",
            "([0]*1+[1]*3)",
            "[1",
            "1,2",
            "p2p",
            "--",
            "-5\n",
            "１",
            "1_0",
            " 3 ",
            "+16",
            "3_000",
            "1_0.5",
            "0x10",
            "1__0",
            "-inf",
            "1e999",
            "٣٢",
            "²",
            "9" * 5000,
            "nan",
        ]
    )
    joined = st.tuples(flag, value).map("=".join)
    odd = st.sampled_from(["--num-layer", "--no-such", "--no-such=3", "-x", "-h1", "--lr=", "=3", "--num-layers ="])
    weighted = st.one_of(flag, value, value, joined, flag, odd)
    return version, draw(st.lists(weighted, max_size=8))


@settings(max_examples=400)
@given(vectors())
def test_equals_argparse(drawn: tuple[str, list[str]]) -> None:
    version, texts = drawn
    expected = outcome(version, texts)
    found = parse(words(*texts), catalog(version), "x")
    if expected is None:
        assert set(codes(found)) & ERRORS, texts
        return
    if any(text == "--" or text.endswith("=--") for text in texts):
        return  # Pythons differ: newer ones take a lone -- without complaint, older ones drop it behind =
    assert not set(codes(found)) & ERRORS, (texts, [problem.message() for problem in found.problems])
    for dest, fact in catalog(version).by_dest.items():
        value = found.given[dest].value if dest in found.given else fact.default
        assert value == expected[dest] or value != value, (texts, dest)
        assert type(value) is type(expected[dest])


@settings(max_examples=200)
@given(st.lists(st.text(max_size=12), max_size=6), st.sampled_from(VERSIONS), st.booleans())
def test_nothing_escapes_and_reading_twice_is_the_same(texts: list[str], version: str, resolved: bool) -> None:
    vector = tuple(Argument(text, Span(1, 1, 1, 2), resolved, not resolved) for text in texts)
    first = parse(vector, catalog(version), "x")
    assert first == parse(vector, catalog(version), "x")
    for problem in first.problems:
        assert problem.message()
        assert problem.message("zh")


def test_every_explicit_word_is_kept() -> None:
    found = parsed("--foo-bar", "a", "b", "--lr", "1e-4", "stray", "--bf16")
    assert found.given["foo_bar"].value == ["a", "b"]
    assert found.given["foo_bar"].fact is None
    assert codes(found) == ["MAP002", "MAP003"]
    assert parsed("--foo=3").given["foo"].value == ["3"]
    assert parsed("--foo").given["foo"].value is True


@pytest.mark.parametrize(
    ("flag", "version", "better"),
    [
        ("--seq-lengt", "0.12", "--seq-length"),
        ("--num_layers", "0.12", "--num-layers"),
        ("--use-custom-fsdp", "0.19", "--use-megatron-fsdp"),
        ("--cuda-graph-modules", "0.16", "--cuda-graph-scope"),
        ("--zzz-unheard-of", "0.12", None),
    ],
)
def test_suggestion(flag: str, version: str, better: str | None) -> None:
    if flag in catalog(version).by_option:
        pytest.skip("known in this version")
    problem = parsed(flag, version=version).problems[0]
    assert dict(problem.values)["suggestion"] == (f" (closest: {better})" if better else "")


def test_repeated_arguments_take_the_last_and_move_behind() -> None:
    found = parsed("--lr", "1", "--bf16", "--lr", "2")
    assert list(found.given) == ["bf16", "lr"]
    assert found.given["lr"].value == 2.0
    assert codes(found) == ["MAP011"]
    assert codes(parsed("--lr", "1", "--lr", "1.0")) == []


def test_wrong_values_are_named_and_left_open() -> None:
    found = parsed("--num-layers", "x", "--attention-backend", "flas", "--lr", "--bf16=1")
    assert codes(found) == ["MAP005", "MAP006", "MAP004", "MAP007"]
    assert all(given.value is None and not given.decided for given in found.given.values())
    assert found.problems[0].span == Span(1, 2, 1, 3)


def test_undecided_words() -> None:
    lr = Argument("$LR", Span(1, 9, 1, 12), resolved=False, may_split=True)
    found = parse((*words("--lr"), lr, *words("--bf16")), catalog("0.12"), "x")
    assert not found.given["lr"].decided
    assert found.given["bf16"].value is True
    assert found.overridable is None
    assert codes(found) == ["MAP009"]
    extra = Argument("$EXTRA", Span(1, 9, 1, 12), resolved=False, may_split=True)
    found = parse((*words("--bf16"), extra, *words("--lr", "1")), catalog("0.12"), "x")
    assert found.overridable == {"lr"}
    assert codes(found) == ["MAP010"]
    joined = Argument("--num-layers=$N", Span(1, 9, 1, 12), resolved=False)
    found = parse((*words("--bf16"), joined), catalog("0.12"), "x")
    assert not found.given["num_layers"].decided
    assert found.given["num_layers"].flag == "--num-layers"


def test_declared_arguments() -> None:
    known = with_declarations(catalog("0.12"), ("--use-cp-algo:1", "swap:0", "--sizes:+:int", "-k:?"))
    found = parse(words("--use-cp-algo", "ring", "--swap", "--sizes", "1", "2", "-k"), known, "x")
    assert [given.value for given in found.given.values()] == ["ring", True, [1, 2], None]
    assert not found.problems
    for wrong in ("--x:many", "--x:1:path", ":1"):
        with pytest.raises(UnreadableError):
            with_declarations(catalog("0.12"), (wrong,))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("([0]*3+[1]*2)", [0, 0, 0, 1, 1]),
        ("[1]*2+[0]", [1, 1, 0]),
        ("[1,0]*2", [1, 0, 1, 0]),
        ("2*[1]", [1, 1]),
        ("[]", []),
        ("[1]*2**3", [1] * 8),
        ("[+1]", [1]),
        ("[*[0]*2,1]", [0, 0, 1]),
        ("[1,4][1]", 4),
        ("[(1,2)]", [[1, 2]]),
    ],
)
def test_layer_patterns(text: str, value: object) -> None:
    assert pattern(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "[1]*9999999999",
        "[1",
        "__import__('os')",
        "[x]",
        "[1]-[0]",
        "[" * 5000,
        "[1]**2",
        "[0.5]",
        "",
        "[1]*9**9**9",
        "2**[1]",
        "[0]+(1,)",
        "[0]*3+1",
        "([1],)",
        "[1][1]",
        "[1](0)",
    ],
)
def test_patterns_that_are_none(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any of its kinds
        pattern(text)
