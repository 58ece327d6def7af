"""Tests: `[ ]`, `test` and `[[ ]]`, answered True, False or None where nobody can know."""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING
from . import pattern
from .scanner import is_digits, is_whole_number
from .session import ExpressionError, UndecidedError
from .state import Variable
from .syntax import Binary, Logic
from .text import display, plain, string_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .expansion import Expander, Field
    from .syntax import Condition
    from .text import Place, Text

_COMPARE = ("-eq", "-ne", "-lt", "-le", "-gt", "-ge")


class BadTestError(Exception):
    """A test that bash refuses; its status is 2."""


def extended_test(shell: Expander, condition: Condition) -> bool | None:
    """The answer of `[[ ... ]]`."""
    if isinstance(condition, Logic):
        left = extended_test(shell, condition.left)
        if condition.right is None:
            return _negate_decided(left)
        if left is not None and left == (condition.operator == "||"):
            return left
        return _combine_decided(
            "-o" if condition.operator == "||" else "-a", left, extended_test(shell, condition.right)
        )
    if isinstance(condition, Binary):
        return _extended_binary(shell, condition)
    return unary(shell, condition.operator or "-n", shell.text(condition.operand))


def _extended_binary(shell: Expander, condition: Binary) -> bool | None:
    """Result of a binary test in `[[ ]]`; None if undecided."""
    operator = condition.operator
    left = shell.text(condition.left)
    string = string_of(left)
    if string is None:
        shell.note_doubt(left)
    try:
        if operator in ("=", "==", "!=", "=~"):
            parts = shell.pattern_parts(condition.right)
            if operator == "=~":
                return None if string is None else _matches_regex(shell, parts, string, condition.right.place)
            if string is None:
                return None if not _differs(left, parts) else operator == "!="
            return pattern.matches(parts, string, extended=True) == (operator != "!=")
        right_text = shell.text(condition.right)
        if operator in _COMPARE:
            sides = ((left, condition.left.place), (right_text, condition.right.place))
            return _compare_numbers(operator, *_numbers(shell, sides))
        right = string_of(right_text)
        if string is None or right is None:
            return None
        if operator in ("<", ">"):
            return string < right if operator == "<" else string > right
    except ExpressionError:
        return False
    except (UndecidedError, pattern.TooHardError):
        pass
    return None


def _numbers(shell: Expander, sides: Sequence[tuple[Text, Place]]) -> tuple[int, int]:
    """Values of both sides of a comparison; if one is undecided, so are the variables that the rest assigns."""
    values: list[int] = []
    try:
        for text, place in sides:
            values.append(shell.evaluate(shell.decide(text), place))
    except UndecidedError:
        for text, place in sides[len(values) :]:
            shell.forget_assigned(display(text), place)
        raise
    return values[0], values[1]


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


def _matches_regex(shell: Expander, parts: list[tuple[str, bool]], subject: str, place: Place) -> bool | None:
    """Result of `=~`; sets BASH_REMATCH."""
    import re

    expression = "".join([re.escape(text) if quoted else text for text, quoted in parts])
    for name, members in pattern.CLASSES.items():
        expression = expression.replace(f"[:{name}:]", members)
    found = pattern.compile_bounded(expression, subject).search(subject)
    groups = (found[0], *[group or "" for group in found.groups()]) if found else ()
    shell.state.variables["BASH_REMATCH"] = Variable(
        None, {number: plain(group, place) for number, group in enumerate(groups)}
    )
    return found is not None


def unary(shell: Expander, operator: str, operand: Text) -> bool | None:
    """The answer of a test with one operand."""
    string = string_of(operand)
    letter = operator[1:]
    if string is None:
        shell.note_doubt(operand)
    if letter in ("z", "n"):
        if string is None and not any(piece.text if piece.doubt is None else piece.doubt.atomic for piece in operand):
            return None
        return (string == "") == (letter == "z")
    if string is None or letter == "t":
        return None
    if letter == "v":
        return _is_set(shell, string)
    if letter == "o":
        return _is_on(shell, string)
    if letter == "R":
        held = shell.state.variables.get(string)
        return held is not None and held.reference and bool(held.value)
    return _test_file(shell, letter, string)


def _is_on(shell: Expander, option: str) -> bool | None:
    """Result of `-o`: True if an option is on; None if it may be."""
    return None if f"?{option}" in shell.state.options else option in shell.state.options


def _is_set(shell: Expander, string: str) -> bool | None:
    """Result of `-v`: True if a variable or element is set; None if undecided."""
    name, bracket, rest = string.partition("[")
    variable = shell.variable(name)
    if variable is None:
        return name in ("PWD", "PATH", "RANDOM", "SHELL", "TERM")
    if bracket:
        index = rest.rstrip("]")
        items = variable.items or {}
        return index in items if variable.keyed else (is_whole_number(index) and int(index) in items)
    return None if any(piece.doubt for piece in variable.value or ()) else True


def _test_file(shell: Expander, letter: str, path: str) -> bool | None:
    """Result of a file test; None if the path is unknown."""
    if path == "":
        return False
    full = shell.absolute(path)
    if full in shell.directories:
        return {"d": True, "e": True, "a": True, "f": False, "x": True, "r": True}.get(letter)
    if full in shell.files:
        return {"f": True, "e": True, "a": True, "d": False, "r": True, "s": True}.get(letter)
    return None


def _compare_numbers(operator: str, left: int, right: int) -> bool:
    """The answer of a comparison such as `-lt` between two numbers."""
    return {
        "-eq": left == right,
        "-ne": left != right,
        "-lt": left < right,
        "-le": left <= right,
        "-gt": left > right,
        "-ge": left >= right,
    }[operator]


def plain_test(shell: Expander, fields: list[Field]) -> int | None:
    """The status of `test` and `[`."""
    if any(field.split for field in fields):
        return None
    words = [field.text() for field in fields]
    try:
        answer, used = _expression(shell, words, 0, len(words))
    except BadTestError:
        return 2
    if used != len(words):
        return 2
    return None if answer is None else int(not answer)


def _expression(shell: Expander, words: list[Text], start: int, end: int) -> tuple[bool | None, int]:
    """Result of a test by the number of arguments, as POSIX defines."""
    strings = list(map(string_of, words[start:end]))
    count = end - start
    if count < 2:
        return (unary(shell, "-n", words[start]) if count else False), end
    if count == 3 and strings[1] in (*_BINARY, "-a", "-o"):
        left, operator, right = words[start], str(strings[1]), words[start + 2]
        if operator in ("-a", "-o"):
            return _combine_decided(operator, unary(shell, "-n", left), unary(shell, "-n", right)), end
        return _compare_operands(shell, left, operator, right), end
    if strings[0] == "!" and count <= 4:
        return _negate_decided(_expression(shell, words, start + 1, end)[0]), end
    if count > 3:
        return _parse_or(shell, words, start, end, 0)
    if strings[0::2] == ["(", ")"]:
        return unary(shell, "-n", words[start + 1]), end
    first = strings[0] or ""
    if count == 2 and _is_unary(first):
        return unary(shell, first, words[start + 1]), end
    if None in strings[: 3 if count == 3 else 1]:
        return None, end
    raise BadTestError


def _parse_or(shell: Expander, words: list[Text], at: int, end: int, depth: int) -> tuple[bool | None, int]:
    """Result of terms joined by `-o`, and the position after them."""
    if depth > 20:
        raise BadTestError
    left, at = _parse_and(shell, words, at, end, depth)
    while at < end and string_of(words[at]) == "-o":
        right, at = _parse_and(shell, words, at + 1, end, depth)
        left = _combine_decided("-o", left, right)
    return left, at


def _parse_and(shell: Expander, words: list[Text], at: int, end: int, depth: int) -> tuple[bool | None, int]:
    """Result of terms joined by `-a`, and the position after them."""
    left, at = _parse_term(shell, words, at, end, depth)
    while at < end and string_of(words[at]) == "-a":
        right, at = _parse_term(shell, words, at + 1, end, depth)
        left = _combine_decided("-a", left, right)
    return left, at


def _parse_term(shell: Expander, words: list[Text], at: int, end: int, depth: int) -> tuple[bool | None, int]:
    """Result of one term of `test`, and the position after it."""
    if at >= end:
        raise BadTestError
    first = string_of(words[at])
    if first == "!":
        inner, at = _parse_term(shell, words, at + 1, end, depth + 1)
        return _negate_decided(inner), at
    if first == "(" and at + 1 < end:
        inner, at = _parse_or(shell, words, at + 1, end, depth + 1)
        if at >= end or string_of(words[at]) != ")":
            raise BadTestError
        return inner, at + 1
    if at + 2 < end and string_of(words[at + 1]) in _BINARY:
        operator = string_of(words[at + 1]) or ""
        return _compare_operands(shell, words[at], operator, words[at + 2]), at + 3
    if first is not None and at + 1 < end and _is_unary(first):
        return unary(shell, first, words[at + 1]), at + 2
    return unary(shell, "-n", words[at]), at + 1


def _negate_decided(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _combine_decided(operator: str, left: bool | None, right: bool | None) -> bool | None:
    """Result of `-o` or `-a` for two results that may be undecided."""
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


def _compare_operands(shell: Expander, left: Text, operator: str, right: Text) -> bool | None:
    """Result of a binary operator in `test`; None if undecided."""
    first, second = string_of(left), string_of(right)
    if operator in _COMPARE and any(string is not None and not _is_number(string) for string in (first, second)):
        raise BadTestError
    if first is None or second is None:
        return _half_known(shell, left if first is None else right, operator, second if first is None else first)
    if operator in _UNDECIDED:
        return None if operator[0] == "-" else first < second if operator == "<" else first > second
    if operator in _COMPARE:
        return _compare_numbers(operator, int(first), int(second))
    return (first == second) == (operator != "!=")


def _half_known(shell: Expander, open_side: Text, operator: str, other: str | None) -> bool | None:
    """Result of a comparison with an unknown side; None unless the known part decides it."""
    equality = operator in ("=", "==", "!=") and other is not None
    if equality and _differs(open_side, [(other or "", True)]) is not None:
        return operator == "!="
    if operator not in _UNDECIDED:
        shell.note_doubt(open_side)
    return None


_UNDECIDED = ("<", ">", "-nt", "-ot", "-ef")
