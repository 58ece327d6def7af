"""Shell patterns as regular expressions, with a guard against texts on which matching could take long."""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    import re

LONGEST_SUBJECT = 100_000
MOST_COMPARISONS = 2_000_000
_MARKS = frozenset("()[]{}?*+-|^$\\.&~# \t\n\r\v\f")
"""What means something in a regular expression."""
_NEGATED = r")\Z).*"
"""The end of `!(a|b)` where nothing follows: anything but what is in it."""
_EXTENDED = {"?": "?", "*": "*", "+": "+", "@": ""}


def has_pattern(text: str, *, extended: bool = False) -> bool:
    """Whether a text has a character that makes it a pattern."""
    return "*" in text or "?" in text or "[" in text or (extended and "(" in text)


def translated(parts: list[tuple[str, bool]], *, extended: bool = False, shortest: bool = False) -> str:
    """The regular expression of a pattern given as (text, quoted) parts."""
    flat = _characters(parts)
    star = ".*?" if shortest else ".*"
    out: list[str] = []
    closers: list[str] = []
    at = 0
    while at < len(flat):
        char, quoted = flat[at]
        if quoted:
            out.append(_escaped(char))
        elif extended and _opens(flat, at):
            out.append(_opened(char, closers))
            at += 1
        elif closers and char in "|)":
            out.append("|" if char == "|" else _closed(closers, last=at + 1 == len(flat)))
        elif char == "*":
            out.extend([star] if out[-1:] != [star] else ())
        elif char == "[":
            found, at = _bracket(flat, at)
            out.append(found)
        else:
            out.append("." if char == "?" else _escaped(char))
        at += 1
    if closers:
        raise TooHardError
    return "".join(out)


def _characters(parts: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """The characters of a pattern, and whether quotes or a backslash protect them."""
    flat: list[tuple[str, bool]] = []
    for text, quoted in parts:
        at = 0
        while at < len(text):
            escaped = not quoted and text[at] == "\\" and at + 1 < len(text)
            at += escaped
            flat.append((text[at], quoted or escaped))
            at += 1
    return flat


def _opens(flat: list[tuple[str, bool]], at: int) -> bool:
    return flat[at][0] in "?*+@!" and flat[at + 1 : at + 2] == [("(", False)]


def _opened(char: str, closers: list[str]) -> str:
    """The beginning of `@(a|b)` and its like; `closers` takes its end."""
    if char != "!":
        closers.append(")" + _EXTENDED[char])
        return "(?:"
    if closers:
        raise TooHardError
    closers.append(_NEGATED)
    return "(?!(?:"


def _closed(closers: list[str], *, last: bool) -> str:
    """The end of the innermost group; behind `!(…)` nothing may follow."""
    if closers[-1] == _NEGATED and not last:
        raise TooHardError
    return closers.pop()


def _escaped(char: str) -> str:
    return "\\" + char if char in _MARKS else char


class TooHardError(Exception):
    """A pattern that is not worth deciding."""


def _bracket(flat: list[tuple[str, bool]], at: int) -> tuple[str, int]:
    end = at + 1
    negated = flat[end : end + 1] in ([("!", False)], [("^", False)])
    if negated:
        end += 1
    first = end
    body: list[str] = []
    while end < len(flat):
        char, quoted = flat[end]
        if char == "]" and not quoted and end > first:
            return ("[^" if negated else "[") + "".join(body) + "]", end
        if char == "[" and not quoted and end + 1 < len(flat) and flat[end + 1][0] == ":":
            members, end = _class(flat, end + 2)
            body.append(members)
            continue
        body.append("-" if char == "-" and not quoted else _escaped(char))
        end += 1
    return _escaped("["), at


def _class(flat: list[tuple[str, bool]], at: int) -> tuple[str, int]:
    """The members of a class such as `[:alpha:]`, and where it ends."""
    close = at
    while close + 1 < len(flat) and not (flat[close][0] == ":" and flat[close + 1][0] == "]"):
        close += 1
    name = "".join([entry[0] for entry in flat[at:close]])
    if name not in CLASSES:
        raise TooHardError
    return CLASSES[name], close + 2


CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9a-fA-F", "print": " -~", "graph": "!-~",
    "cntrl": r"\x00-\x1f", "word": r"\w",
}  # fmt: skip


def compiled(expression: str, subject: str, *, tries: int = 1) -> re.Pattern[str]:
    """The expression, unless matching it `tries` times against the subject could take long."""
    import re

    repeats = expression.count("*") + expression.count("+") + expression.count("{")
    if len(subject) > LONGEST_SUBJECT or repeats > 12 or tries * max(len(subject), 2) ** repeats > MOST_COMPARISONS:
        raise TooHardError
    if len(subject) > 16 and re.search(r"\)[*+{]", expression):
        raise TooHardError
    try:
        return re.compile(expression, re.DOTALL)
    except (re.error, OverflowError, RecursionError):
        raise TooHardError from None


def _segments(parts: list[tuple[str, bool]]) -> list[str] | None:
    """The literal texts between the stars of a pattern that has no other special character."""
    found = [""]
    for text, quoted in parts:
        if quoted:
            found[-1] += text
            continue
        if "?" in text or "[" in text or "\\" in text:
            return None
        first, *rest = text.split("*")
        found[-1] += first
        found.extend(rest)
    return found


def _in_order(segments: list[str], subject: str) -> bool:
    """Whether the segments stand in the subject in their order, the first at its start, the last at its end."""
    if len(segments) == 1:
        return subject == segments[0]
    first, *middle, last = segments
    if len(subject) < len(first) + len(last) or not subject.startswith(first) or not subject.endswith(last):
        return False
    at, end = len(first), len(subject) - len(last)
    for segment in middle:
        found = subject.find(segment, at, end)
        if found < 0:
            return False
        at = found + len(segment)
    return True


def matches(parts: list[tuple[str, bool]], subject: str, *, extended: bool = False) -> bool:
    """Whether the pattern matches the whole subject."""
    if not (extended and any("(" in text and not quoted for text, quoted in parts)):
        segments = _segments(parts)
        if segments is not None:
            return _in_order(segments, subject)
    return compiled(translated(parts, extended=extended), subject).fullmatch(subject) is not None


def without_prefix(parts: list[tuple[str, bool]], subject: str, *, longest: bool, extended: bool = False) -> int:
    """How many leading characters the pattern removes."""
    # an extended pattern's own repetitions are greedy, so every end is tried
    every = longest or extended
    tries = len(subject) if every else 1
    expression = compiled(translated(parts, extended=extended, shortest=not every), subject, tries=tries)
    ends = range(len(subject), -1, -1) if longest else range(len(subject) + 1)
    if not every:
        found = expression.match(subject)
        return found.end() if found else 0
    for end in ends:
        if expression.fullmatch(subject, 0, end):
            return end
    return 0


def without_suffix(parts: list[tuple[str, bool]], subject: str, *, longest: bool, extended: bool = False) -> int:
    """Where the suffix that the pattern removes begins."""
    expression = compiled(translated(parts, extended=extended), subject, tries=len(subject))
    starts = range(len(subject) + 1) if longest else range(len(subject), -1, -1)
    for start in starts:
        if expression.fullmatch(subject, start):
            return start
    return len(subject)
