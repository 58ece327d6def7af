"""Tests: `[ ]`, `test` and `[[ ]]`, answered True, False or None where nobody can know."""

from __future__ import annotations

import posixpath

from ..light_typing import TYPE_CHECKING
from . import pattern
from .arithmetic import ExpressionError, UndecidedError
from .scanning import is_digits, is_whole_number
from .state import Variable
from .syntax import Binary, Logic
from .text import known, plain

if TYPE_CHECKING:
    from .expansion import Expander, Field
    from .syntax import Condition
    from .text import Place, Text

_FILE_TESTS = frozenset("abcdefghkprsuwxGLNOS")
_COMPARE = ("-eq", "-ne", "-lt", "-le", "-gt", "-ge")


class BadTestError(Exception):
    """A test that bash refuses; its status is 2."""


def extended(shell: Expander, condition: Condition) -> bool | None:
    """The answer of `[[ ... ]]`."""
    if isinstance(condition, Logic):
        left = extended(shell, condition.left)
        if condition.operator == "!":
            return None if left is None else not left
        assert condition.right is not None
        if left is not None and left == (condition.operator == "||"):
            return left
        right = extended(shell, condition.right)
        if right is not None and right == (condition.operator == "||"):
            return right
        return None if left is None or right is None else right
    if isinstance(condition, Binary):
        return _extended_binary(shell, condition)
    operand = shell.text(condition.operand)
    return unary(shell, condition.operator or "-n", operand, condition.operand.place)


def _extended_binary(shell: Expander, condition: Binary) -> bool | None:
    operator = condition.operator
    left = shell.text(condition.left)
    string = known(left)
    try:
        if operator in ("=", "==", "!="):
            parts = shell.pattern_parts(condition.right)
            if string is None:
                verdict = _differs(left, parts)
                return None if verdict is None else verdict == (operator == "!=")
            return pattern.matches(parts, string, extended=True) == (operator != "!=")
        if operator == "=~":
            parts = shell.pattern_parts(condition.right)
            return None if string is None else _regular(shell, parts, string, condition.right.place)
        right = known(shell.text(condition.right))
        if string is None or right is None:
            return None
        if operator in ("<", ">"):
            return string < right if operator == "<" else string > right
        if operator in _COMPARE:
            place = condition.left.place
            return _compared(operator, shell.evaluate(string, place), shell.evaluate(right, place))
    except ExpressionError:
        return False
    except (UndecidedError, pattern.TooHardError):
        return None
    return None


def _differs(left: Text, parts: list[tuple[str, bool]]) -> bool | None:
    """True where a partly known text certainly differs from a literal."""
    if any(pattern.has_pattern(text) and not quoted for text, quoted in parts):
        return None
    literal = "".join([text for text, _ in parts])
    first, last = left[0], left[-1]
    if first.doubt is None and not literal.startswith(first.text):
        return True
    if last.doubt is None and not literal.endswith(last.text):
        return True
    if not literal and any(piece.doubt is not None and piece.doubt.atomic for piece in left):
        return True
    return None


def _regular(shell: Expander, parts: list[tuple[str, bool]], subject: str, place: Place) -> bool | None:
    import re

    expression = "".join([re.escape(text) if quoted else text for text, quoted in parts])
    for name, members in pattern.CLASSES.items():
        expression = expression.replace(f"[:{name}:]", members)
    found = pattern.compiled(expression, subject).search(subject)
    groups = (found[0], *[group or "" for group in found.groups()]) if found else ()
    shell.state.variables["BASH_REMATCH"] = Variable(
        None, {number: plain(group, place) for number, group in enumerate(groups)}
    )
    return found is not None


def unary(shell: Expander, operator: str, operand: Text, _place: Place) -> bool | None:
    """The answer of a test with one operand."""
    string = known(operand)
    letter = operator[1:]
    if letter in ("z", "n"):
        if string is not None:
            return (string == "") == (letter == "z")
        sure = any(
            (piece.doubt is None and piece.text) or (piece.doubt is not None and piece.doubt.atomic)
            for piece in operand
        )
        if not sure:
            shell.doubted(operand)
        return (letter == "n") if sure else None
    if string is None:
        return None
    if letter == "v":
        name, bracket, rest = string.partition("[")
        variable = shell.variable(name)
        if bracket and variable is not None:
            index = rest.rstrip("]")
            items = variable.items or {}
            return index in items if variable.keyed else (is_whole_number(index) and int(index) in items)
        if variable is not None and variable.value is not None and any(piece.doubt for piece in variable.value):
            return None
        return variable is not None or name in ("PWD", "PATH", "RANDOM", "SHELL", "TERM")
    if letter == "o":
        return string in shell.state.options
    if letter == "t":
        return None
    if letter == "R":
        held = shell.state.variables.get(string)
        return held is not None and held.reference and bool(held.value)
    if letter in _FILE_TESTS:
        return _file(shell, letter, string)
    return None


def _file(shell: Expander, letter: str, path: str) -> bool | None:
    if path == "":
        return False
    if path.startswith("/"):
        full = posixpath.normpath(path)
    elif shell.state.cwd is None:
        return None
    else:
        full = posixpath.normpath(posixpath.join(shell.state.cwd, path))
    if full in shell.directories:
        return {"d": True, "e": True, "a": True, "f": False, "x": True, "r": True}.get(letter)
    if full in shell.files:
        return {"f": True, "e": True, "a": True, "d": False, "r": True, "s": True}.get(letter)
    return None


def _compared(operator: str, left: int, right: int) -> bool:
    return {
        "-eq": left == right,
        "-ne": left != right,
        "-lt": left < right,
        "-le": left <= right,
        "-gt": left > right,
        "-ge": left >= right,
    }[operator]


def plain_test(shell: Expander, fields: list[Field], place: Place) -> int | None:
    """The status of `test` and `[`."""
    if any(field.split for field in fields):
        kept = [field for field in fields if not field.split]
        # an unquoted unknown word: with operators around it, treat it as one word that is not known
        if len(kept) == len(fields):
            return None
        if not any((field.known() or "")[:1] in ("-", "=", "!") for field in kept):
            return None
        return None
    words = [field.text() for field in fields]
    try:
        answer, used = _expression(shell, words, 0, len(words), place)
        if used != len(words):
            return 2
    except BadTestError:
        return 2
    return None if answer is None else int(not answer)


def _expression(shell: Expander, words: list[Text], start: int, end: int, place: Place) -> tuple[bool | None, int]:
    count = end - start
    strings = [known(word) for word in words[start:end]]
    if count == 0:
        return False, end
    if count == 1:
        return unary(shell, "-n", words[start], place), end
    if count == 2:
        if strings[0] == "!":
            inner, _ = _expression(shell, words, start + 1, end, place)
            return (None if inner is None else not inner), end
        if strings[0] is not None and _is_unary(strings[0]):
            return unary(shell, strings[0], words[start + 1], place), end
        if strings[0] is None:
            return None, end
        raise BadTestError
    if count == 3:
        operator = strings[1]
        if operator in _BINARY:
            return _binary(shell, words[start], operator, words[start + 2], place), end
        if operator in ("-a", "-o"):
            left = unary(shell, "-n", words[start], place)
            right = unary(shell, "-n", words[start + 2], place)
            return _combined(operator, left, right), end
        if strings[0] == "!":
            inner, _ = _expression(shell, words, start + 1, end, place)
            return (None if inner is None else not inner), end
        if strings[0] == "(" and strings[2] == ")":
            return unary(shell, "-n", words[start + 1], place), end
        if None in strings:
            return None, end
        raise BadTestError
    if count == 4 and strings[0] == "!":
        inner, _ = _expression(shell, words, start + 1, end, place)
        return (None if inner is None else not inner), end
    return _or(shell, words, start, end, place, 0)


def _or(shell: Expander, words: list[Text], at: int, end: int, place: Place, depth: int) -> tuple[bool | None, int]:
    if depth > 20:
        raise BadTestError
    left, at = _and(shell, words, at, end, place, depth)
    while at < end and known(words[at]) == "-o":
        right, at = _and(shell, words, at + 1, end, place, depth)
        left = _combined("-o", left, right)
    return left, at


def _and(shell: Expander, words: list[Text], at: int, end: int, place: Place, depth: int) -> tuple[bool | None, int]:
    left, at = _term(shell, words, at, end, place, depth)
    while at < end and known(words[at]) == "-a":
        right, at = _term(shell, words, at + 1, end, place, depth)
        left = _combined("-a", left, right)
    return left, at


def _term(shell: Expander, words: list[Text], at: int, end: int, place: Place, depth: int) -> tuple[bool | None, int]:
    if at >= end:
        raise BadTestError
    first = known(words[at])
    if first == "!":
        inner, at = _term(shell, words, at + 1, end, place, depth + 1)
        return (None if inner is None else not inner), at
    if first == "(" and at + 1 < end:
        inner, at = _or(shell, words, at + 1, end, place, depth + 1)
        if at >= end or known(words[at]) != ")":
            raise BadTestError
        return inner, at + 1
    if at + 2 < end and known(words[at + 1]) in _BINARY:
        operator = known(words[at + 1]) or ""
        return _binary(shell, words[at], operator, words[at + 2], place), at + 3
    if first is not None and at + 1 < end and _is_unary(first):
        return unary(shell, first, words[at + 1], place), at + 2
    return unary(shell, "-n", words[at], place), at + 1


def _combined(operator: str, left: bool | None, right: bool | None) -> bool | None:
    stop = operator == "-o"
    if left is stop or right is stop:
        return stop
    return None if left is None or right is None else right


_BINARY = frozenset(("=", "==", "!=", "<", ">", *_COMPARE, "-nt", "-ot", "-ef"))


def _is_number(string: str) -> bool:
    digits = string.strip(" \t")
    digits = digits[1:] if digits[:1] in ("-", "+") else digits
    # what 64 bits do not hold, bash refuses as it refuses a word
    return is_digits(digits) and len(digits.lstrip("0")) < 20 and int(digits) < 1 << 63


def _is_unary(string: str) -> bool:
    return len(string) == 2 and string[0] == "-" and string[1] in "abcdefghknoprstuvwxzGLNORS"


def _binary(shell: Expander, left: Text, operator: str, right: Text, _place: Place) -> bool | None:
    first, second = known(left), known(right)
    if operator in _COMPARE:
        for string in (first, second):
            if string is not None and not _is_number(string):
                raise BadTestError
        if first is None or second is None:
            shell.doubted(left if first is None else right)
            return None
        return _compared(operator, int(first), int(second))
    if operator in ("=", "==", "!="):
        if first is None or second is None:
            verdict = None
            if first is None and second is not None:
                verdict = _differs(left, [(second, True)])
            elif first is not None:
                verdict = _differs(right, [(first, True)])
            if verdict is None:
                shell.doubted(left if first is None else right)
                return None
            return operator == "!="
        return (first == second) == (operator != "!=")
    if first is None or second is None or operator in ("-nt", "-ot", "-ef"):
        return None
    return first < second if operator == "<" else first > second
