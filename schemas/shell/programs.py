"""Small programs whose output follows from their arguments and input alone: those that public launch scripts run.

Each takes its arguments and its input (None where that is not known) and answers with what it prints and its
status, or None where that is not certain.
"""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING
from .scanner import is_whole_number

if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from typing import TypeAlias

Printed: TypeAlias = "tuple[str, int] | None"

LONGEST_SEQUENCE = 10_000


def lines_of(text: str, *, ends: bool = False) -> list[str]:
    """Lines of a text, ended by line feeds only."""
    found = text.split("\n")
    rest = found.pop()
    if ends:
        found = [line + "\n" for line in found]
    return [*found, rest] if rest else found


def _basename(arguments: list[str], _: str | None) -> Printed:
    """Program `basename`: output and status; None if unsupported."""
    if not arguments:
        return "", 1
    if arguments[0].startswith("-") and len(arguments[0]) > 1:
        return None
    path = arguments[0]
    found = path.rstrip("/").rpartition("/")[2] or ("/" if path.startswith("/") else "")
    if len(arguments) == 2 and found != arguments[1] and found.endswith(arguments[1]) and arguments[1]:
        found = found[: -len(arguments[1])]
    return (found + "\n", 0) if len(arguments) <= 2 else None


def _dirname(arguments: list[str], _: str | None) -> Printed:
    """Program `dirname`: output and status; None if unsupported."""
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    if not arguments:
        return "", 1
    if any(argument.startswith("-") for argument in arguments):
        return None
    return "".join([_parent_folder(path) + "\n" for path in arguments]), 0


def _parent_folder(path: str) -> str:
    stripped = path.rstrip("/")
    if not stripped:
        return "/" if path else "."
    head, slash, _ = stripped.rpartition("/")
    return (head.rstrip("/") or "/") if slash else "."


def _seq(arguments: list[str], _: str | None) -> Printed:
    """Program `seq`: output and status; None if unsupported."""
    separator, equal, waiting = _seq_options(arguments)
    if not 1 <= len(waiting) <= 3 or not all(is_whole_number(argument) for argument in waiting):
        return None
    if "\\" in separator or (equal and any(argument.startswith(("-", "0")) for argument in waiting)):
        return None
    numbers = [int(argument) for argument in waiting]  # LAST, FIRST LAST, or FIRST STEP LAST
    first, step, last = numbers[0] if numbers[1:] else 1, numbers[1] if numbers[2:] else 1, numbers[-1]
    if step == 0 or abs(last - first) // abs(step) > LONGEST_SEQUENCE:
        return None
    width = equal * max(len(str(first)), len(str(last)))
    listed = [str(number).zfill(width) for number in range(first, last + (1 if step > 0 else -1), step)]
    return (separator.join(listed) + "\n" if listed else ""), 0


def _seq_options(arguments: list[str]) -> tuple[str, bool, list[str]]:
    """Separator, equal width and numbers of `seq`."""
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


def _tr(arguments: list[str], given: str | None) -> Printed:
    """Program `tr`: output and status; None if unsupported."""
    import re

    if given is None or len(arguments) != 2:
        return None
    option = arguments[0] if arguments[0] in ("-d", "-s") else ""
    if arguments[0].startswith("-") and not option:
        return None
    first = _character_set(arguments[1] if option else arguments[0])
    if first is None:
        return None
    if option == "-d":
        return "".join([char for char in given if char not in first]), 0
    if option == "-s":
        return re.sub("([" + re.escape(first) + r"])\1+", r"\1", given), 0
    second = _character_set(arguments[1])
    if not second:
        return None
    second = second.ljust(len(first), second[-1])
    return given.translate({ord(a): b for a, b in reversed(list(zip(first, second, strict=False)))}), 0


def _character_set(written: str) -> str | None:
    """Characters of a `tr` set; None if unsupported."""
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


def _sed(arguments: list[str], given: str | None) -> Printed:
    """Program `sed` with one substitution: output and status; None if unsupported."""
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
    """Expression, replacement and count of `s/before/after/`; None if sed's expressions are not Python's."""
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


TABLE: dict[str, Callable[[list[str], str | None], Printed]] = {
    "basename": _basename,
    "dirname": _dirname,
    "seq": _seq,
    "tr": _tr,
    "sed": _sed,
}
