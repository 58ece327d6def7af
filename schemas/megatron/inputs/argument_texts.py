"""Arguments as plain text: a list of words or a JSON list, and the block that Megatron-LM prints in its log.

In a list blanks separate, quotes join and `#` starts a comment. Nothing is expanded: a `$` is a dollar sign. A
backslash at the end of a line continues it, as in the script that such a list is usually cut from.

A line of the block is `name ..... value`, possibly behind `[rank0]:`, `0:`, a timestamp or another launcher's prefix.
The values are what validation left, so nothing is derived again; of several blocks in one log (a restarted run) the
last one counts. Without `--megatron`, the version whose arguments fit the block best is taken.
"""

from __future__ import annotations

import re

from ...border.file_input import MAX_ARGUMENTS, refuse_larger
from ...config import Argument, Config, Setting
from ...diagnostic import UnreadableError, diagnose
from ...fast_records import TYPE_CHECKING, NamedTuple
from ...file_kind import purpose_of_arguments
from ...message import NOTHING
from ...plain_values import is_number, number_in
from ...versions import release_of
from ..argument_parser import pattern
from ..catalog import VERSIONS, catalog
from ..forks import normalise_version
from ..messages_compiled import say
from .detection import BLOCK_END, BLOCK_START

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from ...config import ReadOptions, Value
    from ...diagnostic import Diagnostic
    from ...message import Words
    from ...source import SourceText, Span
    from ..catalog import ArgumentFact, Catalog


_LINE = re.compile(r"(?:^|[\s:\]>|)])(?:([A-Za-z_]\w*) \.+|([A-Za-z_]\w{47,}) ) (.*)$")
"""megatron/training/arguments.py:_print_args pads a name with dots up to 48 characters."""
_ENUM = re.compile(r"<\w+\.(\w+): [^>]*>|\b[A-Z]\w*\.(\w+)")


class LogEntry(NamedTuple):
    """One line of the block."""

    key: str
    text: str
    span: Span


def block_entries(source: SourceText) -> tuple[tuple[LogEntry, ...], tuple[Diagnostic, ...]]:
    """Entries of the last printed arguments block in a log, and problems reading it."""
    start, closed = _last_block(source)
    entries: list[LogEntry] = []
    problems: list[Diagnostic] = []
    for number in range(start + 1, closed or source.line_count + 1):
        line = source.line(number)
        if not line.strip():
            continue
        found = _LINE.search(line)
        whole = source.span(0, 0)._replace(line=number, column=1, end_line=number, end_column=len(line) + 1)
        if found is None:
            if closed is None:
                closed = number
                break
            problems.append(diagnose(say.log_line(text=line.strip()[:80]), source.name, whole))
            continue
        which = 1 if found.group(1) else 2
        span = whole._replace(column=found.start(which) + 1, end_column=found.end(3) + 1)
        entries.append(LogEntry(found.group(which), found.group(3), span))
    if source.text.find(BLOCK_END, source.text.rfind(BLOCK_START)) < 0:
        last = entries[-1].span if entries else None
        line = start if last is None else last.line
        problems.append(diagnose(say.log_cut(line=line), source.name, last))
    return tuple(entries), tuple(problems)


def _last_block(source: SourceText) -> tuple[int, int | None]:
    """First and last line of the log's last arguments block; None if the log breaks off."""
    at = source.text.rfind(BLOCK_START)
    if at < 0:
        raise UnreadableError(diagnose(say.not_a_list(why=say.no_first_line()), source.name))
    start = source.position(at)[0]
    end = source.text.find(BLOCK_END, at)
    refuse_larger(source.name, (len(source.text) if end < 0 else end) - at, MAX_ARGUMENTS)
    return start, None if end < 0 else source.position(end)[0]


def read_log(source: SourceText, options: ReadOptions) -> Config:
    """The effective values that a log's arguments block states."""
    entries, problems = block_entries(source)
    if options.megatron is None:
        version = _best_version({entry.key for entry in entries})
    else:
        version = normalise_version(options.megatron)
    known = catalog(version)
    explicit: dict[str, Setting] = {}
    same: dict[str, Setting] = {}
    for entry in entries:
        fact = known.by_dest.get(entry.key)
        value = logged_value(entry.text, fact)
        explicit.pop(entry.key, None)
        same.pop(entry.key, None)
        flag = fact.options[0] if fact is not None else None
        if fact is not None and value == fact.default and type(value) is type(fact.default):
            same[entry.key] = Setting(entry.key, value, "default", entry.span, (entry.text,), flag)
        else:
            explicit[entry.key] = Setting(entry.key, value, "explicit", entry.span, (entry.text,), flag)
    missing = {
        fact.dest: Setting(fact.dest, fact.default, "default")
        for fact in known.arguments
        if fact.dest not in explicit and fact.dest not in same
    }
    settings = {**explicit, **same, **missing}
    purpose = purpose_of_arguments(settings, None, source.name)
    if purpose is not None:
        problems = (purpose.problem, *problems)
    origin, reason = ("given", NOTHING) if options.megatron is not None else ("detected", say.by_names())
    return Config(
        source.name,
        "megatron",
        version,
        "log",
        settings,
        problems=problems,
        version_origin=origin,
        version_reason=reason,
        purpose=purpose,
        release=release_of(options.megatron),
    )


def logged_value(text: str, fact: ArgumentFact | None) -> Value:
    """Value behind a printed text."""
    if text in _WORDS:
        return _WORDS[text]
    if text.startswith("torch."):
        return _DTYPES.get(text[6:], text[6:])
    number = _number_in_text(text)
    if fact is not None and fact.nargs is None and fact.action == "store" and fact.type in (None, "str"):
        return _name(text, fact)
    if number is not None:
        return _signal(number) if fact is not None and "SIGTERM" in (fact.choices or ()) else number
    if text.startswith(("[", "(")):
        return _list_in_text(text)
    return _name(text, fact)


_WORDS = {"None": None, "True": True, "False": False}
_DTYPES = {"float": "float32", "half": "float16", "double": "float64"}


def _number_in_text(text: str) -> int | float | None:
    try:
        return int(text)
    except ValueError:
        return number_in(text)


def _signal(number: float) -> Value:
    """A signal's name: newer Pythons print its number."""
    import signal

    try:
        return signal.Signals(int(number)).name
    except ValueError:
        return number


def _name(text: str, fact: ArgumentFact | None) -> str:
    """Enumeration member's name without its class; other text unchanged."""
    head, dot, name = text.rpartition(".")
    if dot and head.isidentifier() and fact is not None and fact.choices and name in fact.choices:
        return name
    return text


def _list_in_text(text: str) -> Value:
    """List in a printed text; plain patterns, else item by item."""
    try:
        return pattern(text)
    except ValueError:
        pass
    body = text[1:-1].strip()
    if not body:
        return []
    return [_list_item(part.strip()) for part in _split_at_commas(body)]


def _split_at_commas(body: str) -> list[str]:
    """The parts between commas outside of quotes; blank ones fall away, and brackets are not looked at."""
    parts: list[str] = []
    quote = ""
    word = ""
    for character in body:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == ",":
            parts.append(word)
            word = ""
            continue
        word += character
    return [part for part in (*parts, word) if part.strip()]


def _list_item(text: str) -> Value:
    """Value of one printed list item: quoted text, enumeration name, number or word."""
    if text[:1] in "'\"" and text[-1:] == text[:1]:
        return text[1:-1]
    found = _ENUM.fullmatch(text)
    if found is not None:
        return found.group(1) or found.group(2)
    number = _number_in_text(text)
    return _WORDS.get(text, text) if number is None else number


def _best_version(keys: set[str]) -> str:
    """Version whose arguments fit a printed block best."""

    def misfit(known: Catalog) -> int:
        own = set(known.by_dest)
        return len(own - keys) - len(own & keys)

    return min(VERSIONS, key=lambda version: misfit(catalog(version)))


_BLANK = " \t\r\n\f\v"
_ESCAPED_IN_QUOTES = '"\\$`\n'


def read_arguments(source: SourceText) -> tuple[Argument, ...]:
    """Words of a plain or JSON argument list; UnreadableError for other texts."""
    return json_words(source) if source.text.lstrip().startswith("[") else plain_words(source)


def plain_words(source: SourceText) -> tuple[Argument, ...]:
    """The words of a list, each with its place."""
    text = source.text
    size = len(text)
    words: list[Argument] = []
    at = 0
    while at < size:
        character = text[at]
        if character in _BLANK:
            at += 1
        elif character == "#":
            end = text.find("\n", at)
            at = size if end < 0 else end
        elif text.startswith(("\\\n", "\\\r\n"), at):
            at = text.index("\n", at) + 1
        else:
            word, end = _read_word(source, at)
            words.append(Argument(word, source.span(at, end)))
            at = end
    return tuple(words)


def split_words(text: str) -> list[str] | None:
    """Words of one line; None if a quote is not closed."""
    from ...source import SourceText

    try:
        return [word.text for word in plain_words(SourceText("", text))]
    except UnreadableError:
        return None


def _read_word(source: SourceText, at: int) -> tuple[str, int]:
    """One shell word of an argument list, and the position after it."""
    text = source.text
    size = len(text)
    parts: list[str] = []
    while at < size and text[at] not in _BLANK:
        character = text[at]
        if character == "'":
            end = text.find("'", at + 1)
            if end < 0:
                _refuse_list(source, at, say.quote_open())
            parts.append(text[at + 1 : end])
            at = end + 1
        elif character == '"':
            quoted, at = _double_quoted(source, at)
            parts.append(quoted)
        elif character == "\\":
            following = text[at + 1 : at + 2]
            if following == "\n" or text.startswith("\\\r\n", at):
                at = text.index("\n", at) + 1
                continue
            parts.append(following)
            at += 2
        else:
            end = at + 1
            while end < size and text[end] not in _BLANK and text[end] not in "'\"\\":
                end += 1
            parts.append(text[at:end])
            at = end
    return "".join(parts), min(at, size)


def _double_quoted(source: SourceText, start: int) -> tuple[str, int]:
    """Content of a double-quoted string, and the position after it."""
    text = source.text
    parts: list[str] = []
    at = start + 1
    while at < len(text) and text[at] != '"':
        if text[at] == "\\" and text[at + 1 : at + 2] in _ESCAPED_IN_QUOTES:
            parts.append("" if text[at + 1 : at + 2] == "\n" else text[at + 1 : at + 2])
            at += 2
        else:
            parts.append(text[at])
            at += 1
    if at >= len(text):
        _refuse_list(source, start, say.double_quote_open())
    return "".join(parts), at + 1


def _number_at(source: SourceText, at: int) -> tuple[str, int]:
    """Number at a position as text, and the position after it."""
    text, end = source.text, at
    while end < len(text) and text[end] not in ",]" + _BLANK:
        end += 1
    value = text[at:end]
    if not value or value[0] in "[{}" or not is_number(value):
        _refuse_list(source, at, say.neither_string_nor_number(shown=value[:20] or text[at : at + 1]))
    return value, end


def json_words(source: SourceText) -> tuple[Argument, ...]:
    """Strings of a JSON list with their places; numbers count as text."""
    from json import decoder

    # The function is not in the type stubs; it reads one JSON string from an offset.
    scan: Callable[[str, int, bool], tuple[str, int]] = vars(decoder)["scanstring"]

    text = source.text
    words: list[Argument] = []
    at = _skip_blanks(text, text.index("[") + 1)
    while at < len(text) and text[at] != "]":
        if text[at] == '"':
            try:
                value, end = scan(text, at + 1, True)
            except decoder.JSONDecodeError as error:
                _refuse_list(source, min(error.pos, len(text) - 1), say.broken_string(said=error.msg))
        else:
            value, end = _number_at(source, at)
        words.append(Argument(value, source.span(at, end)))
        at = _skip_blanks(text, end)
        if text[at : at + 1] == ",":
            at = _skip_blanks(text, at + 1)
            if text[at : at + 1] == "]":
                _refuse_list(source, at, say.nothing_after_comma())
        elif text[at : at + 1] != "]":
            _refuse_list(source, min(at, len(text) - 1), say.comma_or_end_missing())
    if at >= len(text):
        _refuse_list(source, len(text) - 1, say.list_open())
    rest = _skip_blanks(text, at + 1)
    if rest < len(text):
        _refuse_list(source, rest, say.more_after_list())
    return tuple(words)


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _refuse_list(source: SourceText, at: int, why: Words) -> NoReturn:
    span = source.span(at, at + 1)
    raise UnreadableError(diagnose(say.not_a_list(why=why), source.name, span))
