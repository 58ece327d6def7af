"""Any text in any kind of file: an answer or a sentence, and twice the same."""

from __future__ import annotations

import io
import os
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from accmap.cli.lean import main

SHELL = (
    '"', "'", "`", "$(", "$((", "${", ")", "}", "))", "(", "{", "[[", "]]", "if", "then", "fi", "for", "in", "do",
    "done", "while", "case", "esac", "<<E", "E", "\\", "$@", '"$@"', "${A[@]}", "${A[*]:1}", "${!x}", "${x//a/b}",
    "${x%%*}", "${x^^}", "((i++))", "$((i+=1))", "eval", "source", "f()", "local", "export", "A=(1", "A+=(3)",
    "IFS=,", "set", "-e", "-u", "--", "shift", "|", "&&", "||", "&", ";", "<", ">", "2>&1", "{1..5}", "{a,b}", "~",
    "*", "[a]", "=", "#", "break", "continue", "return", "exit", "read", "<<<", "printf", "%d", "expr", "bash", "-c",
    "torchrun", "p.py", "--num-layers", "$x", "declare", "-A", "M[a]=1", "unset", "-z", '"$x"', "-eq", "test", "-o",
    "!", "getopts", "let", "$[1+2]", "$'a'", '$"x"', "<(ls)", "coproc", "time", "select", "\n", "\n", "\n", " ", " ",
    "\\\n", "\\ \n", "\r", "\xe9", "\U0010fffd",
)  # fmt: skip
ARGUMENTS = (
    "--lr", " ", "\n", "'", '"', "\\", "[", "]", ",", "#", "- arguments -", "end of arguments -", "MODEL_ARGS:\n",
    "  --a: 1\n", "  lr .... 3", "\n  x: &a *a", "${X}", "true", "{", "0", "é", "\t", "  --b: [1, {c: 2}]\n",
)  # fmt: skip
HEADS = {
    "x.sh": ("",),
    "x.txt": ("--lr 1 ", ""),
    "x.json": ('["--lr", ', ""),
    "x.log": ("---- arguments ----\n", ""),
    "x.yaml": ("MODEL_ARGS:\n", "model:\n", ""),
}
"""What a file of each kind begins with, so that its reader takes it."""


def shown(name: str, text: str, *words: str) -> tuple[int, str]:
    """What `accmap show` answers for a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        Path(path).write_text(text, "utf-8", "surrogatepass", newline="")
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(["show", path, *words])
    return code, (out.getvalue() + err.getvalue()).replace(folder, "")


def answers_in_a_sentence_and_twice_alike(name: str, text: str, *words: str) -> None:
    code, answer = shown(name, text, *words)
    assert code in (0, 1, 2), answer
    assert "Traceback" not in answer
    assert answer.split()
    assert shown(name, text, *words) == (code, answer)


@settings(max_examples=120)
@given(st.lists(st.sampled_from(SHELL), max_size=60), st.booleans())
def test_pieces_of_a_script(pieces: list[str], unset_empty: bool) -> None:
    text = "#!/bin/bash\n" + " ".join(pieces).replace(" \n ", "\n")
    answers_in_a_sentence_and_twice_alike("x.sh", text, *(["--unset-empty"] if unset_empty else []))


@settings(max_examples=150)
@given(
    st.sampled_from([(name, head) for name, heads in HEADS.items() for head in heads]),
    st.one_of(st.lists(st.sampled_from(ARGUMENTS), max_size=14).map("".join), st.text(max_size=60)),
)
@example(("x.sh", ""), "#!/bin/bash\r")
def test_any_text(kind: tuple[str, str], text: str) -> None:
    name, head = kind
    answers_in_a_sentence_and_twice_alike(name, head + text)
