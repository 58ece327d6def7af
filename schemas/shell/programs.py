"""Small programs whose output follows from their arguments and input alone: `expr`, `basename`, `seq`, `tr`, ...

Each takes its arguments and its input (None where that is not known) and answers with what it prints and its
status, or None where that is not certain.
"""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING
from .scanning import is_digits, is_whole_number

if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from typing import TypeAlias

Printed: TypeAlias = "tuple[str, int] | None"

LONGEST_SEQUENCE = 10_000


def lines_of(text: str, *, ends: bool = False) -> list[str]:
    """The lines of a text as programs see them: only a line feed ends one."""
    found = text.split("\n")
    rest = found.pop()
    if ends:
        found = [line + "\n" for line in found]
    return [*found, rest] if rest else found


def _basename(arguments: list[str], _: str | None) -> Printed:
    if not arguments:
        return "", 1
    if not arguments or (arguments[0].startswith("-") and len(arguments[0]) > 1):
        return None
    path = arguments[0]
    found = path.rstrip("/").rpartition("/")[2] or ("/" if path.startswith("/") else "")
    if len(arguments) == 2 and found != arguments[1] and found.endswith(arguments[1]) and arguments[1]:
        found = found[: -len(arguments[1])]
    return (found + "\n", 0) if len(arguments) <= 2 else None


def _dirname(arguments: list[str], _: str | None) -> Printed:
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    if not arguments:
        return "", 1
    if any(argument.startswith("-") for argument in arguments):
        return None
    return "".join([_parent(path) + "\n" for path in arguments]), 0


def _parent(path: str) -> str:
    stripped = path.rstrip("/")
    if not stripped:
        return "/" if path else "."
    head, slash, _ = stripped.rpartition("/")
    return (head.rstrip("/") or "/") if slash else "."


def _seq(arguments: list[str], _: str | None) -> Printed:
    separator, equal, waiting = _seq_options(arguments)
    if not 1 <= len(waiting) <= 3 or not all(is_whole_number(argument) for argument in waiting):
        return None
    if "\\" in separator or (equal and any(argument.startswith(("-", "0")) for argument in waiting)):
        return None
    first, step, last = _bounds([int(argument) for argument in waiting])
    if step == 0 or abs(last - first) // abs(step) > LONGEST_SEQUENCE:
        return None
    width = equal * max(len(str(first)), len(str(last)))
    listed = [str(number).zfill(width) for number in range(first, last + (1 if step > 0 else -1), step)]
    return (separator.join(listed) + "\n" if listed else ""), 0


def _bounds(numbers: list[int]) -> tuple[int, int, int]:
    """`seq LAST`, `seq FIRST LAST`, `seq FIRST STEP LAST`: the first, the step and the last."""
    return numbers[0] if numbers[1:] else 1, numbers[1] if numbers[2:] else 1, numbers[-1]


def _seq_options(arguments: list[str]) -> tuple[str, bool, list[str]]:
    """The separator, whether all are made equally wide, and the numbers; none of those where an option is not known."""
    separator, equal = "\n", False
    waiting = list(arguments)
    while waiting and waiting[0][:1] == "-" and not is_whole_number(waiting[0]):
        option = waiting.pop(0)
        if option in ("-s", "--separator") and waiting:
            separator = waiting.pop(0)
        elif option.startswith(("--separator=", "-s")):
            separator = option.partition("=")[2] if option[1] == "-" else option[2:]
        elif option in ("-w", "--equal-width"):
            equal = True
        elif option != "--":
            return "", False, []
    return separator, equal, waiting


def _expr(arguments: list[str], _: str | None) -> Printed:
    import re

    run = _Expression(arguments)
    try:
        found = run.either(0)
        if run.at < len(arguments):
            return "", 2
    except _ExpressionError:
        return "", 2
    except _UnsureError:
        return None
    return found + "\n", int(found in ("", "0") or bool(re.fullmatch(r"-?0+", found)))


class _ExpressionError(Exception):
    pass


class _UnsureError(Exception):
    pass


class _Expression:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0

    def peek(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def either(self, depth: int) -> str:
        if depth > 40:
            raise _UnsureError
        left = self.both(depth)
        while self.peek() == "|":
            self.at += 1
            right = self.both(depth)
            left = left if left not in ("", "0") else right or "0"
        return left

    def both(self, depth: int) -> str:
        left = self.compared(depth)
        while self.peek() == "&":
            self.at += 1
            right = self.compared(depth)
            left = left if left not in ("", "0") and right not in ("", "0") else "0"
        return left

    def compared(self, depth: int) -> str:
        left = self.sum(depth)
        while (operator := self.peek()) in ("=", "==", "!=", "<", "<=", ">", ">="):
            self.at += 1
            right = self.sum(depth)
            a: int | str = left
            b: int | str = right
            if is_whole_number(left) and is_whole_number(right):
                a, b = int(left), int(right)
            left = str(
                int(
                    {
                        "=": a == b, "==": a == b, "!=": a != b, "<": a < b,  # type: ignore[operator]
                        "<=": a <= b, ">": a > b, ">=": a >= b,  # type: ignore[operator]
                    }[operator]
                )
            )  # fmt: skip
        return left

    def sum(self, depth: int) -> str:
        left = self.product(depth)
        while (operator := self.peek()) in ("+", "-"):
            self.at += 1
            right = self.product(depth)
            left = str(_whole(left) + (_whole(right) if operator == "+" else -_whole(right)))
        return left

    def product(self, depth: int) -> str:
        left = self.primary(depth)
        while (operator := self.peek()) in ("*", "/", "%", ":"):
            self.at += 1
            right = self.primary(depth)
            if operator == ":":
                raise _UnsureError
            a, b = _whole(left), _whole(right)
            if operator == "*":
                left = str(a * b)
                continue
            if b == 0:
                raise _ExpressionError
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            left = str(quotient if operator == "/" else a - quotient * b)
        return left

    def primary(self, depth: int) -> str:
        token = self.peek()
        if token is None:
            raise _ExpressionError
        self.at += 1
        if token == "(":
            found = self.either(depth + 1)
            if self.peek() != ")":
                raise _ExpressionError
            self.at += 1
            return found
        if token in ("match", "substr", "index"):
            raise _UnsureError
        if token == "length" and self.peek() is not None:
            return str(len(self.primary(depth + 1)))
        return token


def _whole(text: str) -> int:
    if not is_whole_number(text):
        raise _ExpressionError
    return int(text)


def _bc(arguments: list[str], given: str | None) -> Printed:
    import re

    if given is None or any(argument not in ("-q",) for argument in arguments):
        return None
    scale = 0
    printed: list[str] = []
    for statement in re.split(r"[;\n]", given):
        statement = statement.strip()
        if not statement:
            continue
        setting = re.fullmatch(r"scale\s*=\s*([0-9]{1,2})", statement)
        if setting:
            scale = int(setting[1])
            continue
        found = _calculated(statement, scale)
        if found is None:
            return None
        if not found:
            return "", 0  # bc complains and prints nothing
        printed.append(found)
    return "".join([line + "\n" for line in printed]), 0


def _calculated(statement: str, scale: int) -> str | None:  # noqa: C901 - one grammar, read in one place
    """One expression of bc: numbers carry their own scale, a quotient has the set one, everything is cut off."""
    import re

    tokens = re.findall(r"[0-9]+\.?[0-9]*|\.[0-9]+|[-+*/%()^]|\S", statement)
    if len(tokens) > 200 or any(not re.fullmatch(r"[0-9]+\.?[0-9]*|\.[0-9]+|[-+*/%()^]", token) for token in tokens):
        return None
    at = 0

    def peek() -> str:
        return tokens[at] if at < len(tokens) else ""

    def total(depth: int) -> tuple[int, int]:
        nonlocal at
        if depth > 30:
            raise ValueError
        left = term(depth)
        while peek() in ("+", "-"):
            sign = 1 if tokens[at] == "+" else -1
            at += 1
            right = term(depth)
            places = max(left[1], right[1])
            left = left[0] * 10 ** (places - left[1]) + sign * right[0] * 10 ** (places - right[1]), places
        return left

    def term(depth: int) -> tuple[int, int]:
        nonlocal at
        left = power(depth)
        while peek() in ("*", "/", "%"):
            operator = tokens[at]
            at += 1
            right = power(depth)
            if operator == "*":
                places = left[1] + right[1]
                keep = min(places, max(scale, left[1], right[1]))
                left = _cut_off(left[0] * right[0], 10 ** (places - keep)), keep
                continue
            if right[0] == 0:
                raise ValueError
            top, bottom = left[0] * 10 ** (scale + right[1]), right[0] * 10 ** left[1]
            quotient = _cut_off(top, bottom), scale
            if operator == "%":
                if scale or left[1] or right[1]:
                    raise ValueError
                quotient = left[0] - quotient[0] * right[0], 0
            left = quotient
        return left

    def power(depth: int) -> tuple[int, int]:
        nonlocal at
        base = atom(depth)
        if peek() != "^":
            return base
        at += 1
        exponent = power(depth + 1)
        if exponent[1] or base[1] or not 0 <= exponent[0] <= 200:
            raise ValueError
        return base[0] ** exponent[0], 0

    def atom(depth: int) -> tuple[int, int]:
        nonlocal at
        token = peek()
        at += 1
        if token == "(":
            found = total(depth + 1)
            if peek() != ")":
                raise ValueError
            at += 1
            return found
        if token == "-":
            found = atom(depth + 1)
            return -found[0], found[1]
        if token in ("", "*", "/", "%", "^", ")", "+"):
            raise _ExpressionError
        whole, _, fraction = token.partition(".")
        if len(token) > 60 or not is_digits(whole + fraction):
            raise ValueError
        return int(whole + fraction), len(fraction)

    try:
        value, places = total(0)
    except _ExpressionError:
        return ""
    except (ValueError, RecursionError):
        return None
    if at < len(tokens) or abs(value) >= 10**60:
        return None
    digits = str(abs(value)).rjust(places + 1, "0")
    text = digits[:-places] + "." + digits[-places:] if places else digits
    if value == 0:
        return "0"
    text = text[1:] if text.startswith("0.") else text
    return ("-" if value < 0 else "") + text


def _cut_off(top: int, bottom: int) -> int:
    quotient = abs(top) // abs(bottom)
    return quotient if (top < 0) == (bottom < 0) else -quotient


def _tr(arguments: list[str], given: str | None) -> Printed:
    import re

    if given is None or len(arguments) != 2:
        return None
    option = arguments[0] if arguments[0] in ("-d", "-s") else ""
    if arguments[0].startswith("-") and not option:
        return None
    first = _characters(arguments[1] if option else arguments[0])
    if first is None:
        return None
    if option == "-d":
        return "".join([char for char in given if char not in first]), 0
    if option == "-s":
        return re.sub("([" + re.escape(first) + r"])\1+", r"\1", given), 0
    second = _characters(arguments[1])
    if not second:
        return None
    second = second.ljust(len(first), second[-1])
    return given.translate({ord(a): b for a, b in reversed(list(zip(first, second, strict=False)))}), 0


def _characters(written: str) -> str | None:
    classes = {"[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
               "[:space:]": " \t\n\r\v\f", "[:blank:]": " \t", "[:digit:]": "0123456789"}  # fmt: skip
    if written in classes:
        return classes[written]
    if "[" in written or not written:
        return None
    out = ""
    at = 0
    while at < len(written):
        char = written[at]
        if char == "\\":
            if at + 1 >= len(written) or written[at + 1] not in "nt\\":
                return None
            out += {"n": "\n", "t": "\t", "\\": "\\"}[written[at + 1]]
            at += 2
        elif written[at + 1 : at + 2] == "-" and at + 2 < len(written):
            if not "0" <= char <= written[at + 2] <= "z":
                return None
            out += "".join(map(chr, range(ord(char), ord(written[at + 2]) + 1)))
            at += 3
        else:
            out += char
            at += 1
    return out


def _cut(arguments: list[str], given: str | None) -> Printed:
    import re

    options = _cut_options(arguments)
    if given is None or options is None:
        return None
    delimiter, chosen, characters = options
    bounds = re.fullmatch(r"([0-9]{0,4})(-?)([0-9]{0,4})", chosen)
    if len(delimiter) != 1 or bounds is None or chosen in ("", "-"):
        return None
    first = int(bounds[1] or 1)
    last = int(bounds[3]) if bounds[3] else (10**6 if bounds[2] else first)
    if first < 1:
        return None
    lines: list[str] = []
    for line in lines_of(given):
        if characters:
            lines.append(line[first - 1 : last])
        else:
            lines.append(delimiter.join(line.split(delimiter)[first - 1 : last]) if delimiter in line else line)
    return "".join([line + "\n" for line in lines]), 0


def _cut_options(arguments: list[str]) -> tuple[str, str, bool] | None:
    """The delimiter, what is chosen and whether that are characters; None where an option is not known."""
    delimiter, chosen, characters = "\t", "", False
    waiting = list(arguments)
    while waiting:
        argument = waiting.pop(0)
        if argument[:2] not in ("-d", "-f", "-c"):
            return None
        value = argument[2:] or (waiting.pop(0) if waiting else "")
        if argument[1] == "d":
            delimiter = value
        else:
            chosen, characters = value, argument[1] == "c"
    return delimiter, chosen, characters


def _sed(arguments: list[str], given: str | None) -> Printed:
    extended = False
    while arguments and arguments[0] in ("-E", "-r", "-e"):
        extended = extended or arguments[0] != "-e"
        arguments = arguments[1:]
    found = _substitution(arguments[0], extended=extended) if len(arguments) == 1 else None
    if given is None or found is None:
        return None
    expression, after, count = found
    lines = lines_of(given)
    return "".join([expression.sub(lambda _: after, line[:5000], count) + "\n" for line in lines]), 0


def _substitution(script: str, *, extended: bool) -> tuple[re.Pattern[str], str, int] | None:
    """What `s/before/after/` looks for, writes and how often; None where sed's expressions are not Python's."""
    import re

    found = re.fullmatch(r"s(.)(.*)", script, re.DOTALL)
    if found is None or found[1].isalnum() or found[1] == "\\":
        return None
    pieces = re.split(r"(?<!\\)" + re.escape(found[1]), found[2])
    if len(pieces) != 3 or pieces[2] not in ("", "g"):
        return None
    before, after = pieces[0].replace("\\" + found[1], found[1]), pieces[1].replace("\\" + found[1], found[1])
    # only what sed's and Python's expressions agree on
    checked = re.sub(r"\\[./*$^\[\]-]", "", before)
    if re.search(r"[\\{}()+?|]" if not extended else r"[\\{}()|]", checked) or re.search(r"[\\&\n]", after):
        return None
    if "[:" in before or not before or (before.count("*") + before.count("+") > 3):
        return None
    try:
        return re.compile(before), after, 0 if pieces[2] == "g" else 1
    except re.error:
        return None


def _awk(arguments: list[str], given: str | None) -> Printed:
    import re

    if given is None:
        return None
    separator: str | None = None
    waiting = list(arguments)
    while waiting and waiting[0].startswith("-F"):
        argument = waiting.pop(0)
        separator = argument[2:] or (waiting.pop(0) if waiting else None)
        if separator is None:
            return None
    if len(waiting) != 1:
        return None
    found = re.fullmatch(r"\s*\{\s*print\s+\$([0-9]+|NF)\s*;?\s*\}\s*", waiting[0])
    if found is None or (separator is not None and (len(separator) != 1 or separator in "\\^$.[|()*+?")):
        return None
    return "".join([_awk_field(line, found[1], separator) + "\n" for line in lines_of(given)]), 0


def _awk_field(line: str, named: str, separator: str | None) -> str:
    """One field of a line: by its number, the last by `NF`, the line itself by 0."""
    words = line.split(None if separator == " " else separator)
    if named == "0":
        return line
    if named == "NF":
        return words[-1] if words else line
    number = int(named[:6])
    return words[number - 1] if number <= len(words) else ""


def _wc(arguments: list[str], given: str | None) -> Printed:
    if given is None or len(arguments) != 1 or arguments[0] not in ("-l", "-w", "-c"):
        return None
    count = {"-l": given.count("\n"), "-w": len(given.split()), "-c": len(given.encode())}[arguments[0]]
    return f"{count}\n", 0


def _count_of(arguments: list[str]) -> int | None:
    import re

    found = re.fullmatch(r"-(?:n\s*)?([0-9]{1,6})", " ".join(arguments) if arguments else "-10")
    return None if found is None else int(found[1])


def _head(arguments: list[str], given: str | None) -> Printed:
    count = _count_of(arguments)
    if given is None or count is None:
        return None
    return "".join(lines_of(given, ends=True)[:count]), 0


def _tail(arguments: list[str], given: str | None) -> Printed:
    count = _count_of(arguments)
    if given is None or count is None:
        return None
    lines = lines_of(given, ends=True)
    return "".join(lines[-count:] if count else []), 0


def _xargs(arguments: list[str], given: str | None) -> Printed:
    if given is None or arguments or any(mark in given for mark in "'\"\\"):
        return None
    return " ".join(given.split()) + "\n", 0


def _rev(arguments: list[str], given: str | None) -> Printed:
    if given is None or arguments:
        return None
    return "".join([line[::-1] + "\n" for line in lines_of(given)]), 0


TABLE: dict[str, Callable[[list[str], str | None], Printed]] = {
    "basename": _basename,
    "dirname": _dirname,
    "seq": _seq,
    "expr": _expr,
    "bc": _bc,
    "tr": _tr,
    "cut": _cut,
    "sed": _sed,
    "awk": _awk,
    "wc": _wc,
    "head": _head,
    "tail": _tail,
    "xargs": _xargs,
    "rev": _rev,
}
