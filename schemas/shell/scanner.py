"""Small steps over shell text: where a run of characters ends, which word or operator stands at a place.

These are loops, not regular expressions: what they step over is a few characters long, and compiling the expressions
would cost every start more than a whole script takes to read.
"""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

BLANKS = frozenset(" \t\n")
PLAIN_ENDS = frozenset(" \t\n;&|<>()$`\"'\\")
"""What ends a run of characters that mean nothing but themselves."""
DOUBLE_ENDS = frozenset('"$`\\')
"""The same between double quotes."""

_DECIMAL = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
_NAME_STARTS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME_CHARACTERS = _NAME_STARTS | frozenset("0123456789")
_NEAR = 64
"""Blanks are looked for in so many characters at a time: a line may be as long as a file."""
_WORD_ENDS = frozenset(" \t\n;&|<>()")
_RESERVED = frozenset(
    ("if", "then", "elif", "else", "fi", "do", "done", "while", "until", "for", "case", "esac", "select", "function",
     "time", "coproc", "in", "{", "}", "!", "[[")
)  # fmt: skip
_LONGEST_RESERVED = len("function")
_REDIRECTIONS = ("<<<", "<<-", "<<", "<&", "<>", ">&", "&>>", "&>", ">>", ">|")
_TEST_ENDS = frozenset(" \t\n(\\")
_BINARY_TESTS = frozenset(
    ("==", "=~", "!=", "=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef")
)


def run_end(text: str, at: int, end: int, stops: Container[str]) -> int:
    """End of the run of characters from `at` on: the first of `stops`, or `end`."""
    while at < end and text[at] not in stops:
        at += 1
    return at


def name_end(text: str, at: int) -> int:
    """End of the variable name at a position; the position itself without a name."""
    size = len(text)
    if at < size and text[at] in _NAME_STARTS:
        at += 1
        while at < size and text[at] in _NAME_CHARACTERS:
            at += 1
    return at


def word_end(text: str, at: int) -> int:
    """Offset of the end of a name that may contain letters of any script."""
    end = name_end(text, at)
    if end > at:
        while (char := text[end : end + 1]) and (char == "_" or char.isalnum()):
            end += 1
    return end


def is_name(text: str) -> bool:
    """True if a text is a variable name."""
    return bool(text) and word_end(text, 0) == len(text)


def blanks_end(text: str, at: int) -> int:
    """End of blanks and continued lines."""
    while True:
        near = text[at : at + _NEAR]
        at += len(near) - len(near.lstrip(" \t"))
        if text.startswith("\\\n", at):
            at += 2
        elif text[at : at + 1] not in (" ", "\t"):
            return at


def reserved_word(text: str, at: int) -> str:
    """Reserved word at a position; empty if there is none."""
    end = at
    most = min(len(text), at + _LONGEST_RESERVED + 1)
    while end < most and text[end] not in _WORD_ENDS and not text.startswith("\\\n", end):
        end += 1
    word = text[at:end]
    return word if word in _RESERVED else ""


def binary_test(text: str, at: int) -> str:
    """Binary operator of `[[ ]]` at a position; empty if there is none."""
    end = at
    most = min(len(text), at + 4)
    while end < most and text[end] not in _TEST_ENDS:
        end += 1
    word = text[at:end]
    return word if end < len(text) and word in _BINARY_TESTS and text[end] in _TEST_ENDS else ""


def redirection(text: str, at: int) -> tuple[str, str] | None:
    """Descriptor and operator of the redirection at a position."""
    end = at
    if text[end : end + 1] == "{":
        end = word_end(text, at + 1)
        if end == at + 1 or text[end : end + 1] != "}":
            return None
        end += 1
    else:
        while text[end : end + 1] in _DECIMAL:
            end += 1
    for operator in _REDIRECTIONS:
        if text.startswith(operator, end):
            return text[at:end], operator
    char = text[end : end + 1]
    if (char == "<" or char == ">") and text[end + 1 : end + 2] != "(":
        return text[at:end], char
    return None


def is_whole_number(text: str) -> bool:
    """True for a whole number that fits 64 bits."""
    digits = text[1:] if text[:1] == "-" else text
    return is_digits(digits) and len(digits) <= 18


def is_digits(text: str) -> bool:
    """True for a text of ASCII digits."""
    return text.isascii() and text.isdigit()
