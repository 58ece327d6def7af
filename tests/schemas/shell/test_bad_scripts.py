"""Whatever a file holds: bounded time, no exception but UnreadableError, and twice the same answer."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError, finding
from accmap.schemas.messages_compiled import say
from accmap.schemas.shell.script import looks_like_script, read_script
from accmap.schemas.source import SourceText

DEEP = 10_000
LAUNCH = "\ntorchrun pretrain_gpt.py --num-layers 2\n"
BAD = {
    "parentheses": "(" * DEEP,
    "substitutions": "$(" * DEEP,
    "backticks": "`" * DEEP,
    "expansions": "${x:-" * DEEP,
    "arithmetic": "x=$((" + "(" * DEEP + "1" + ")" * DEEP + "))" + LAUNCH,
    "braces": "echo " + "{a," * DEEP + "}" * DEEP + LAUNCH,
    "ifs": "if " * DEEP,
    "quotes": '"$(' * DEEP,
    "conditions": "[[ " + "( " * DEEP + "a" + " )" * DEEP + " ]]" + LAUNCH,
    "negations": "[ " + "! " * DEEP + "a ]" + LAUNCH,
    "a long sequence": "echo {1..999999999}" + LAUNCH,
    "a product of braces": "echo " + "{a,b}" * 40 + LAUNCH,
    "doubling": "x=aaaa\nfor i in {1..60}; do x=$x$x; done" + LAUNCH,
    "a doubling array": 'x=(a b)\nfor i in {1..60}; do x=("${x[@]}" "${x[@]}"); done' + LAUNCH,
    "an endless for": "for ((;;)); do x=$x; done" + LAUNCH,
    "branching recursion": "f() { if [ -f a ]; then f; else f; fi; }; f" + LAUNCH,
    "recursion in a substitution": "f() { x=$(f); }; f" + LAUNCH,
    "eval of itself": 'x=\'eval "$x"\'; eval "$x"' + LAUNCH,
    "exponential arithmetic": ";".join([f"x{n}=x{n + 1}+x{n + 1}" for n in range(40)]) + "; echo $((x0))" + LAUNCH,
    "a regular expression bomb": "x=" + "a" * 400 + "\n[[ $x =~ (a|a)*b ]]" + LAUNCH,
    "a pattern bomb": "x=" + "a" * 400 + "\ncase $x in *a*a*[ab]*a*a*a*a*a*b) ;; esac" + LAUNCH,
    "a power tower": 'x=$(echo "9^9^9^9" | bc); y=$((2**9**9**9))' + LAUNCH,
    "a wide number": 'x=$(printf "%0999999999d" 1)' + LAUNCH,
    "many lines": "x=1\n" * 200_000 + LAUNCH,
    "many arguments": "torchrun p.py --num-layers 2 " + "--x 1 " * 200_000,
    "a sweep of sweeps": "for a in {1..50}; do for b in {1..50}; do for c in {1..50}; do "
    "torchrun p.py --num-layers $a $b $c; done; done; done",
    "many launches in a loop": "for a in {1..2000}; do " + "torchrun p.py --num-layers $a; " * 40 + "done",
    "conditions in conditions": "".join([f"if [ -f {n} ]; then " for n in range(50)]) + ":" + "; fi" * 50 + LAUNCH,
    "many conditions": "".join([f"[ -f {n} ] && x=$x{n}\n" for n in range(5000)]) + LAUNCH,
    "conditions in a loop": "for a in {1..200}; do if [ -f $a ]; then break; fi; x=$x$a; done" + LAUNCH,
    "many words for xargs": "echo {1..9000} | xargs -n1 torchrun p.py --num-layers",
    "open here-documents": "cat <<EOF\n" * 3000,
    "control characters": "\x01\x02\x7f" * 1000,
    "unclosed braces in one word": "echo " + "{a," * 50_000 + LAUNCH,
    "a here-document of expansions": "cat <<EOF\n" + "$x " * 300_000 + "\nEOF" + LAUNCH,
    "a word of escapes": "torchrun p.py --num-layers " + "\\a" * 500_000,
    "a string of expansions": 'torchrun p.py --num-layers "' + "$a" * 500_000 + '"',
}


def absent(path: str) -> SourceText:
    raise UnreadableError(finding(say.missing(path=path), path))


def outcome(text: str, *, unset_empty: bool = True) -> object:
    options = ReadOptions(unset_empty=unset_empty, positional=("a", "8"))
    try:
        found = read_script(SourceText("x.sh", text), options, absent, path="x.sh", cwd="/w")
    except UnreadableError as refused:
        return refused.diagnostic.kind.code, str(refused)
    return found.launches, found.chosen, found.unresolved, [problem.message() for problem in found.problems]


LONG = "9" * 5000
NUMBERS = (
    "x=${²}", "x=$²", "x=$((²))", "x=$((1²))", "x=$((٣))", f"x=$((0x{'f' * 4000}))", "x=$((10**5000))",
    f"x=$(({LONG}))", f"x=$(({LONG}#1))", f"x=$((0{'7' * 5000}))", f"shift {LONG}", "shift ²", "f() { return ²; }; f",
    f"f() {{ return {LONG}; }}; f", "for i in 1; do break ²; done", f"for i in 1; do break {LONG}; done",
    "[ ² -eq 1 ] && x=1", f"[ {LONG} -gt 1 ] && x=1", f"[[ {LONG} -gt 1 ]] && x=1", "a=(1); unset 'a[²]'",
    f"a=(1); unset 'a[{LONG}]'", "a=(1); [[ -v a[²] ]]", f"a=(1); [[ -v a[{LONG}] ]]", "OPTIND=²; getopts a x",
    f"OPTIND={LONG}; getopts a x -a", "OPTIND=0; getopts a x -a", "_accmap_optpos=x; getopts a x -a",
    "x=$(expr ² + 1)", f"x=$(seq {LONG})", "x=$(echo '²+1' | bc)", f"x=$(printf %d {LONG})", "x=$(printf %d ²)",
    f"x=abc; y=${{x:{LONG}}}", f"a=(1); a[-{LONG}]=1", "x={1..²}", f"x=$(echo {{1..{LONG}}})", f"x=${{{LONG}}}",
    f"declare -i n={LONG}; n+={LONG}", "n=x; declare -i n; n+=²", "exec ²>f", "echo a | xargs -n² torchrun p.py",
    f"echo a | xargs -n{LONG} torchrun p.py", f"srun -n{LONG} python p.py --num-layers 1",
    "torchrun --nproc_per_node ² p.py --num-layers 1", f"torchrun --nnodes {LONG} p.py --num-layers 1",
    "msrun --worker_num ² p.py --num-layers 1", f"x=$((1{'+1' * 3000}))", f"x=$(({'-' * 3000}1))",
    f"x=$(({'1?' * 3000}1{':1' * 3000}))", f"shopt -s extglob\ncase a in {'@(' * 3000}a{')' * 3000}) x=1;; esac",
    "shopt -s extglob\ncase aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa in +(+(+(a)))b) ;; esac", "declare -n a=b b=a; a=1; a+=(1)",
    "declare -n a='b[a]'; a=1; x=$a", f"declare -n a='b[{'[' * 5000}'; a=1", "printf -v 'a[²]' 1",
)  # fmt: skip


@pytest.mark.table(4)
@pytest.mark.parametrize("text", NUMBERS, ids=[text[:40] for text in NUMBERS])
def test_numbers_of_any_length_and_any_script(text: str) -> None:
    started = time.process_time()
    for unset_empty in (True, False):
        outcome(text + "\ntorchrun --nproc_per_node 2 p.py --num-layers $x\n", unset_empty=unset_empty)
    assert time.process_time() - started < 4


@pytest.mark.fuzz
@pytest.mark.parametrize("name", BAD)
def test_bounded(name: str) -> None:
    started = time.process_time()
    outcome(BAD[name])
    assert time.process_time() - started < 4  # two seconds on the machine it is meant for


@pytest.mark.fuzz
@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("x=1\nf() { f; }\nf" + LAUNCH, 2, 7),
        ("x=aaaa\n" + "x=$x$x\n" * 60 + LAUNCH, None, 1),
        ("x=1\n\ntorchrun p.py {1..999999999}\n", 3, 1),
        ("x=1\ntorchrun p.py " + "\\a" * 200_000, 2, 200_015),
    ],
)
def test_too_much_work_names_where_reading_stopped(text: str, line: int | None, column: int) -> None:
    with pytest.raises(UnreadableError) as refused:
        read_script(SourceText("x.sh", text), ReadOptions(), absent, path="x.sh", cwd="/")
    span = refused.value.diagnostic.span
    assert refused.value.diagnostic.kind.code == "SYN006"
    assert span is not None
    assert span.column == column
    assert span.line == line or (line is None and span.line > 10)


def test_a_launch_behind_an_endless_loop_says_so() -> None:
    with pytest.raises(UnreadableError) as refused:
        read_script(SourceText("x.sh", "while :; do :; done" + LAUNCH), ReadOptions(), absent, path="x.sh", cwd="/")
    assert "does not end" in str(refused.value)


def test_braces_nested_too_deep_are_refused_and_not_taken_as_written() -> None:
    text = "torchrun p.py --num-layers " + "{a," * 60 + "b" + "}" * 60
    with pytest.raises(UnreadableError) as refused:
        read_script(SourceText("x.sh", text), ReadOptions(), absent, path="x.sh", cwd="/")
    assert refused.value.diagnostic.kind.code == "SYN006"


def test_many_braces_side_by_side_are_all_expanded() -> None:
    text = "torchrun p.py --num-layers " + "{1..1}" * 40
    reading = read_script(SourceText("x.sh", text), ReadOptions(), absent, path="x.sh", cwd="/")
    assert reading.chosen is not None
    assert [argument.text for argument in reading.chosen.arguments] == ["--num-layers", "1" * 40]


def test_a_file_that_sources_itself() -> None:
    text = "source x.sh" + LAUNCH
    with pytest.raises(UnreadableError) as refused:
        read_script(SourceText("x.sh", text), ReadOptions(), lambda path: SourceText(path, text), path="x.sh", cwd="/")
    assert refused.value.diagnostic.kind.code == "SYN006"


PIECES = st.sampled_from(
    [
        '"',
        "'",
        "`",
        "$(",
        "$((",
        "${",
        ")",
        "}",
        "))",
        "(",
        "{",
        "[[",
        "]]",
        "if",
        "then",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "while",
        "case",
        "esac",
        "<<E",
        "E",
        "\\",
        "$@",
        '"$@"',
        "${A[@]}",
        "${A[*]:1}",
        "${!x}",
        "${x//a/b}",
        "${x%%*}",
        "${x^^}",
        "((i++))",
        "$((i+=1))",
        "eval",
        "source",
        "f()",
        "local",
        "export",
        "A=(1",
        "A+=(3)",
        "IFS=,",
        "set",
        "-e",
        "-u",
        "--",
        "shift",
        "|",
        "&&",
        "||",
        "&",
        ";",
        "<",
        ">",
        "2>&1",
        "{1..5}",
        "{a,b}",
        "~",
        "*",
        "[a]",
        "=",
        "#",
        "break",
        "continue",
        "return",
        "exit",
        "read",
        "<<<",
        "printf",
        "%d",
        "expr",
        "bash",
        "-c",
        "torchrun",
        "p.py",
        "--num-layers",
        "$x",
        "declare",
        "-A",
        "M[a]=1",
        "unset",
        "-z",
        '"$x"',
        "-eq",
        "test",
        "-o",
        "!",
        "getopts",
        "let",
        "$[1+2]",
        "$'a'",
        '$"x"',
        "<(ls)",
        "coproc",
        "time",
        "select",
    ]
    + ["\n", "\n", " ", " ", "\\\n", "\\ \n", "\r", "é", "\U0010fffd"]
)


@settings(max_examples=250)
@given(st.lists(PIECES, max_size=60), st.booleans())
def test_nothing_escapes_and_twice_is_the_same(pieces: list[str], unset_empty: bool) -> None:
    text = " ".join(pieces).replace(" \n ", "\n")
    assert outcome(text, unset_empty=unset_empty) == outcome(text, unset_empty=unset_empty)
    looks_like_script(SourceText("x.sh", text))


@settings(max_examples=150)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    assert outcome(text) == outcome(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#!/bin/bash\n", True),
        ("#!/usr/bin/env python\n", False),
        ("A=1\ntrue\n", True),
        ("torchrun x.py\n", True),
        ("model:\n  type: x\n", False),
        ("--num-layers 2\n", False),
        ('["--num-layers", "2"]', False),
    ],
)
def test_looks_like_script(text: str, expected: bool) -> None:
    assert looks_like_script(SourceText("x", text)) is expected
