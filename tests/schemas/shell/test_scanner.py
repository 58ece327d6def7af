"""Each small step over shell text goes as far as the regular expression that says the same."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.schemas.shell import scanner
from accmap.schemas.shell.arithmetic import Evaluator
from accmap.schemas.shell.session import ExpressionError

TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            ["if", "do", "done", "function", "in", "[[", "-eq", "==", "0x1F", "16#ff", "<<-", "&>>", "{fd}", "\\\n"]
        ),
        st.sampled_from(" \t\n;&|<>()$`\"'\\{}[]!=~+-*/%^?:,#@_09azAZé٣"),
    ),
    max_size=8,
).map("".join)
RESERVED = re.compile(
    r"(if|then|elif|else|fi|do|done|while|until|for|case|esac|select|function|time|coproc|in|\{|\}|!|\[\[)"
    r"(?=[ \t\n;&|<>()]|\\\n|$)"
)
REDIRECTION = re.compile(r"([0-9]+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<&|<>|<(?!\()|>&|&>>|&>|>>|>\||>(?!\())")
BINARY = re.compile(r"(==|=~|!=|=|<|>|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))(?=[ \t\n(\\])")
TOKEN = re.compile(
    r"[ \t\n]*(?:([0-9]+#[0-9A-Za-z@_]+|0[xX][0-9A-Fa-f]+|[0-9]+)|([A-Za-z_][A-Za-z0-9_]*)"
    r"|(<<=|>>=|\*\*|\+\+|--|&&|\|\||<<|>>|<=|>=|==|!=|\+=|-=|\*=|/=|%=|&=|\^=|\|=|[-+*/%<>=!~&^|?:,()\[\]]))"
)


def length(pattern: str, text: str) -> int:
    found = re.match(pattern, text)
    return 0 if found is None else found.end()


@settings(max_examples=1500)
@given(TEXTS)
def test_steps(text: str) -> None:
    assert scanner.name_end(text, 0) == length(r"[A-Za-z_][A-Za-z0-9_]*", text)
    assert scanner.word_end(text, 0) == length(r"[A-Za-z_]\w*", text)
    assert scanner.is_name(text) == bool(re.fullmatch(r"[A-Za-z_]\w*", text))
    assert scanner.blanks_end(text, 0) == length(r"(?:[ \t]|\\\n)*", text)
    assert scanner.run_end(text, 0, len(text), scanner.PLAIN_ENDS) == length(r"[^ \t\n;&|<>()$`\"'\\]*", text)
    assert scanner.run_end(text, 0, len(text), scanner.DOUBLE_ENDS) == length(r"[^\"$`\\]*", text)
    assert scanner.is_whole_number(text) == bool(re.fullmatch(r"-?[0-9]{1,18}", text))


@settings(max_examples=1500)
@given(TEXTS)
def test_words_and_operators(text: str) -> None:
    reserved = RESERVED.match(text)
    assert scanner.reserved_word(text, 0) == (reserved[1] if reserved else "")
    binary = BINARY.match(text)
    assert scanner.binary_test(text, 0) == (binary[1] if binary else "")
    redirection = REDIRECTION.match(text)
    assert scanner.redirection(text, 0) == ((redirection[1] or "", redirection[2]) if redirection else None)


@settings(max_examples=1500)
@given(TEXTS)
def test_tokens_of_arithmetic(text: str) -> None:
    expected: list[str] | None = []
    at, end = 0, len(text.rstrip(" \t\n"))
    while expected is not None and at < end:
        found = TOKEN.match(text, at)
        at = end if found is None else found.end()
        expected = None if found is None else [*expected, found[0].strip(" \t\n")]
    try:
        tokens = Evaluator(lambda *_: "", lambda *_: None)._tokens(text)
    except ExpressionError:
        tokens = None
    if tokens is not None and expected is not None and {"++", "--"} & set(expected):
        # Two signs are one token only beside a variable (`constructs.yaml` has what bash makes of them).
        assert "".join(tokens) == "".join(expected)
    else:
        assert tokens == expected
