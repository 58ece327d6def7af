"""Shell patterns, matched against texts and file names with a guard against those on which matching takes long."""

from __future__ import annotations

import posixpath

from ..fast_records import TYPE_CHECKING
from .session import is_within

if TYPE_CHECKING:
    import re

    from .session import Session

LONGEST_SUBJECT = 100_000
MOST_COMPARISONS = 2_000_000
MOST_MATCHES = 1_000
_OTHERWISE = ("shopt-globstar", "shopt-dotglob", "shopt-nocaseglob")
"""Options that change what a pattern matches."""
_MARKS = frozenset("()[]{}?*+-|^$\\.&~# \t\n\r\v\f")
"""What means something in a regular expression."""
_NEGATED = r")\Z).*"
"""The end of `!(a|b)` where nothing follows: anything but what is in it."""
_EXTENDED = {"?": "?", "*": "*", "+": "+", "@": ""}


def has_pattern(text: str, *, extended: bool = False) -> bool:
    """True if a text contains pattern characters."""
    return "*" in text or "?" in text or "[" in text or (extended and "(" in text)


def is_pattern(word: str, *, extended: bool = False) -> bool:
    """True if a whole word is a pattern: a bracket that nothing closes makes none."""
    return "]" in word.partition("[")[2] or has_pattern(word.replace("[", ""), extended=extended)


def to_regex(parts: list[tuple[str, bool]], *, extended: bool = False, shortest: bool = False) -> str:
    """Regular expression for a pattern of quoted and unquoted parts."""
    flat = _characters(parts)
    star = ".*?" if shortest else ".*"
    out: list[str] = []
    closers: list[str] = []
    at = 0
    while at < len(flat):
        char, quoted = flat[at]
        if quoted:
            out.append(_escape_mark(char))
        elif extended and char in "?*+@!" and flat[at + 1 : at + 2] == [("(", False)]:
            out.append(_group_start(char, closers))
            at += 1
        elif closers and char in "|)":
            out.append("|" if char == "|" else _group_end(closers, last=at + 1 == len(flat)))
        elif char == "*":
            out.extend([star] if out[-1:] != [star] else ())
        elif char == "[":
            found, at = _bracket_expression(flat, at)
            out.append(found)
        else:
            out.append("." if char == "?" else _escape_mark(char))
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


def _group_start(char: str, closers: list[str]) -> str:
    """Start of an extended group such as `@(`; its end goes to `closers`."""
    if char != "!":
        closers.append(")" + _EXTENDED[char])
        return "(?:"
    if closers:
        raise TooHardError
    closers.append(_NEGATED)
    return "(?!(?:"


def _group_end(closers: list[str], *, last: bool) -> str:
    """The end of the innermost group; behind `!(…)` nothing may follow."""
    if closers[-1] == _NEGATED and not last:
        raise TooHardError
    return closers.pop()


def _escape_mark(char: str) -> str:
    return "\\" + char if char in _MARKS else char


class TooHardError(Exception):
    """A pattern that is not worth deciding."""


def _bracket_expression(flat: list[tuple[str, bool]], at: int) -> tuple[str, int]:
    """Regular expression of a bracket expression, and its last position."""
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
        body.append("-" if char == "-" and not quoted else _escape_mark(char))
        end += 1
    return _escape_mark("["), at


def _class(flat: list[tuple[str, bool]], at: int) -> tuple[str, int]:
    """Members of a class such as `[:alpha:]`, and the position after it."""
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


def compile_bounded(expression: str, subject: str, *, tries: int = 1) -> re.Pattern[str]:
    """Compiled expression; an error if matching the subject could be slow."""
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
    """True if segments occur in order, the first at the start and the last at the end."""
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
    """True if the pattern matches the whole subject."""
    if not (extended and any("(" in text and not quoted for text, quoted in parts)):
        segments = _segments(parts)
        if segments is not None:
            return _in_order(segments, subject)
    return compile_bounded(to_regex(parts, extended=extended), subject).fullmatch(subject) is not None


def without_prefix(parts: list[tuple[str, bool]], subject: str, *, longest: bool, extended: bool = False) -> int:
    """Number of leading characters that the pattern removes."""
    # an extended pattern's own repetitions are greedy, so every end is tried
    every = longest or extended
    tries = len(subject) if every else 1
    expression = compile_bounded(to_regex(parts, extended=extended, shortest=not every), subject, tries=tries)
    ends = range(len(subject), -1, -1) if longest else range(len(subject) + 1)
    if not every:
        found = expression.match(subject)
        return found.end() if found else 0
    for end in ends:
        if expression.fullmatch(subject, 0, end):
            return end
    return 0


def without_suffix(parts: list[tuple[str, bool]], subject: str, *, longest: bool, extended: bool = False) -> int:
    """Start of the suffix that the pattern removes."""
    expression = compile_bounded(to_regex(parts, extended=extended), subject, tries=len(subject))
    starts = range(len(subject) + 1) if longest else range(len(subject), -1, -1)
    for start in starts:
        if expression.fullmatch(subject, start):
            return start
    return len(subject)


# File name patterns, matched against the names in the tree beside the script.


def matching_files(shell: Session, written: str) -> list[str] | None:
    """Names that a pattern matches; None if uncertain or none.

    No match is not certain either: the files may be there when the script runs.
    """
    state = shell.state
    if state.cwd is None or "\\" in written or written.endswith("/"):
        return None
    if "GLOBIGNORE" in state.variables or not state.options.isdisjoint(_OTHERWISE):
        return None
    found = ["/" if written.startswith("/") else ""]
    plain = True
    for part in [part for part in written.split("/") if part]:
        plain = plain and not has_pattern(part, extended="shopt-extglob" in state.options)
        if plain:
            found = [posixpath.join(path, part) for path in found]
            continue
        found = _match_level(shell, state.cwd, found, part)
        if not found or len(found) > MOST_MATCHES:
            return None
    return found


def _match_level(shell: Session, cwd: str, paths: list[str], part: str) -> list[str]:
    """Matches of one path part in some directories."""
    extended = "shopt-extglob" in shell.state.options
    found: list[str] = []
    for path in paths:
        names = _names(shell, posixpath.normpath(posixpath.join(cwd, path)))
        if names is None:
            return []
        shown = [name for name in names if part[0] == "." or name[0] != "."]
        found.extend([posixpath.join(path, name) for name in shown if _name_matches(part, name, extended=extended)])
    shell.spend(len(found))
    return found


def _name_matches(part: str, name: str, *, extended: bool) -> bool:
    try:
        return matches([(part, False)], name, extended=extended)
    except TooHardError:
        return False


def _names(shell: Session, directory: str) -> list[str] | None:
    """The names in a directory of the tree, unless the script itself changes them."""
    below = posixpath.join(directory, "")
    shell.spend((len(shell.changed_files) + len(shell.removed_files)) // 32 + 1)
    if not (is_within(directory, shell.roots) or directory in shell.roots):
        return None
    if shell.list_directory is None or any(path.startswith(below) for path in shell.removed_files):
        return None
    names = shell.list_directory(directory)
    if names is None:
        return None
    shell.spend(len(names) // 16 + 1)
    held = set(names)
    made = [path[len(below) :].partition("/")[0] for path in shell.changed_files if path.startswith(below)]
    return names if held.issuperset(made) else None
