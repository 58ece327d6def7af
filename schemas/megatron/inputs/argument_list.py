"""A plain list of arguments, as words: blanks separate, quotes join, `#` starts a comment; or a JSON list.

Nothing is expanded: a `$` is a dollar sign. A backslash at the end of a line continues it, as in the script that
such a list is usually cut from.
"""

from __future__ import annotations

from ...config import Argument
from ...diagnostic import UnreadableError, diagnose
from ...fast_records import TYPE_CHECKING
from ...plain_values import is_number
from ..messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from ...message import Words
    from ...source import SourceText

_BLANK = " \t\r\n\f\v"
_ESCAPED_IN_QUOTES = '"\\$`\n'


def read_arguments(source: SourceText) -> tuple[Argument, ...]:
    """The words of a plain or JSON argument list; UnreadableError where it is neither."""
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
            word, end = _word(source, at)
            words.append(Argument(word, source.span(at, end)))
            at = end
    return tuple(words)


def split_words(text: str) -> list[str] | None:
    """The words of one line without places; None where a quote is not closed."""
    from ...source import SourceText

    try:
        return [word.text for word in plain_words(SourceText("", text))]
    except UnreadableError:
        return None


def _word(source: SourceText, at: int) -> tuple[str, int]:
    text = source.text
    size = len(text)
    parts: list[str] = []
    while at < size and text[at] not in _BLANK:
        character = text[at]
        if character == "'":
            end = text.find("'", at + 1)
            if end < 0:
                _refuse(source, at, say.quote_open())
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
        _refuse(source, start, say.double_quote_open())
    return "".join(parts), at + 1


def _number_at(source: SourceText, at: int) -> tuple[str, int]:
    """A number as it is written, and where it ends."""
    text, end = source.text, at
    while end < len(text) and text[end] not in ",]" + _BLANK:
        end += 1
    value = text[at:end]
    if not value or value[0] in "[{}" or not is_number(value):
        _refuse(source, at, say.neither_string_nor_number(shown=value[:20] or text[at : at + 1]))
    return value, end


def json_words(source: SourceText) -> tuple[Argument, ...]:
    """The strings of a JSON list, each with its place; a number counts as the text it is written as."""
    from json import decoder

    # The function is not in the type stubs; it reads one JSON string from an offset.
    scan: Callable[[str, int, bool], tuple[str, int]] = vars(decoder)["scanstring"]

    text = source.text
    words: list[Argument] = []
    at = _skip(text, text.index("[") + 1)
    while at < len(text) and text[at] != "]":
        if text[at] == '"':
            try:
                value, end = scan(text, at + 1, True)
            except decoder.JSONDecodeError as error:
                _refuse(source, min(error.pos, len(text) - 1), say.broken_string(said=error.msg))
        else:
            value, end = _number_at(source, at)
        words.append(Argument(value, source.span(at, end)))
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
            if text[at : at + 1] == "]":
                _refuse(source, at, say.nothing_after_comma())
        elif text[at : at + 1] != "]":
            _refuse(source, min(at, len(text) - 1), say.comma_or_end_missing())
    if at >= len(text):
        _refuse(source, len(text) - 1, say.list_open())
    rest = _skip(text, at + 1)
    if rest < len(text):
        _refuse(source, rest, say.more_after_list())
    return tuple(words)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _refuse(source: SourceText, at: int, why: Words) -> NoReturn:
    span = source.span(at, at + 1)
    raise UnreadableError(diagnose(say.not_a_list(why=why), source.name, span))
