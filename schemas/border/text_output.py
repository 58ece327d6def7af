"""The door through which text goes out: one writer a format, so that nothing from a file steers what shows it.

Values, names and messages hold whatever stood in somebody's file. A terminal runs escape sequences, a CI runner runs
lines of its log, a spreadsheet runs cells, a page runs markup. Each writer here gives text that its reader takes for
text: `Outgoing` is what they make, and `emit` takes nothing else.
"""

from __future__ import annotations

import sys

from ..fast_records import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, NewType

    Outgoing = NewType("Outgoing", str)
    """Text that a writer of this module made."""

_STYLES = ("bold", "dim", "red", "green", "yellow", "blue", "magenta", "cyan")
_CODES = ("1", "2", "31", "32", "33", "34", "35", "36")
_FIRST = 0xFDD0
"""Code points that Unicode keeps for a program's own use: they carry our colours through the writers of lines."""
_PAINT = {style: chr(_FIRST + number) for number, style in enumerate(_STYLES)}
_PLAIN = chr(_FIRST + len(_STYLES))
_JOINERS = "\u200c\u200d"
"""Format characters that are a part of words and signs."""


class _VisibleCharacters(dict[int, object]):
    """The forms of characters in a line for a person, each worked out once."""

    def __init__(self, known: dict[int, object]) -> None:
        super().__init__(known)

    def __missing__(self, code: int) -> object:
        character = chr(code)
        shown = self[code] = character if _is_harmless(character) else _escape_character(code)
        return shown


class _JsonCharacters(_VisibleCharacters):
    """The same within a JSON text, where an escape is read back as the character."""

    def __missing__(self, code: int) -> object:
        character = chr(code)
        shown = self[code] = character if _is_harmless(character) else _json_escape(code)
        return shown


def _is_harmless(character: str) -> bool:
    """True if a character can be printed to a terminal or log without side effects."""
    if character.isprintable() or character in _JOINERS:
        return True
    from unicodedata import category

    code = ord(character)
    if code & 0xFFFE == 0xFFFE or _FIRST <= code < _FIRST + 32:  # no characters: readers of YAML and XML stop at some
        return False
    return category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _escape_character(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return {10: "\\n", 13: "\\r"}.get(code) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


_SHOWN = _VisibleCharacters({9: "\t"})
_JSON = _JsonCharacters({10: "\n"})


def paint(text: str, style: str, colour: bool) -> str:
    """`text` in a style, where colour is wanted; the writers of lines turn the marks into the terminal's codes."""
    if not (colour and text):
        return text
    if ord(_PLAIN) not in _SHOWN:  # where no colour is wanted, the marks are characters like others
        _SHOWN[ord(_PLAIN)] = "\033[0m"
        _SHOWN.update({ord(mark): f"\033[{code}m" for mark, code in zip(_PAINT.values(), _CODES, strict=True)})
    return f"{_PAINT[style]}{text}{_PLAIN}"


def forget_colours() -> None:
    """Stop treating colour marks as special, at the start of a command."""
    for mark in (*_PAINT.values(), _PLAIN):
        _SHOWN.pop(ord(mark), None)


def visible(text: str) -> str:
    """One line of text with control characters shown as escapes."""
    if not text.isprintable():
        text = text.translate(cast("dict[int, str]", _SHOWN))
    if "##" in text:
        text = _without_commands(text, "#\\x23")
    if "::" in text and text.lstrip().startswith("::"):
        at = text.index("::")
        text = f"{text[:at]}\\x3a{text[at + 1 :]}"
    return text


def _without_commands(text: str, written: str) -> str:
    """Text with CI log commands such as `##vso[…]` disabled."""
    import re

    return re.sub(r"##(?=[A-Za-z]*\[)", lambda _: written, text)


def page(lines: Iterable[str]) -> Outgoing:
    """Output text of lines for a person, made safe for terminals."""
    return cast("Outgoing", "".join([f"{visible(line)}\n" for line in lines]))


def json_text(value: object, indent: int | None = None, default: Callable[[Any], object] | None = None) -> Outgoing:
    """Output text of a JSON value with a line end; `default` converts other types.

    `default` gives the JSON form of what has none of its own.
    """
    text = _json_encoder(indent, default)(value)
    if not text.isprintable():
        text = text.translate(cast("dict[int, str]", _JSON))
    if "##" in text:
        text = _without_commands(text, "#\\u0023")
    return cast("Outgoing", text + "\n")


_encoders: dict[tuple[int | None, Callable[[Any], object] | None], Callable[[object], str]] = {}
"""The writers of JSON; one of a run that writes many values is made once."""


def _json_encoder(indent: int | None, default: Callable[[Any], object] | None) -> Callable[[object], str]:
    """JSON encoder function for an indentation, created once."""
    encoder = _encoders.get((indent, default))
    if encoder is None:
        from json import JSONEncoder

        encoder = JSONEncoder(ensure_ascii=False, allow_nan=False, indent=indent, default=default).encode
        _encoders[indent, default] = encoder
    return encoder


def json_with(key: str, entries: Iterable[Outgoing], rest: Mapping[str, object]) -> Outgoing:
    """Output text of a JSON object whose first key is a list of encoded values."""
    listed = ", ".join([entry[:-1] for entry in entries])
    return cast("Outgoing", f'{{"{key}": [{listed}], {json_text(rest)[1:]}')


def json_with_number(entry: Outgoing, key: str, number: int) -> Outgoing:
    """Output text of a JSON object with a number in place of one key's `null`.

    Within a string a quotation mark is written with a backslash, so that nothing there looks like the key.
    """
    return cast("Outgoing", entry.replace(f'"{key}": null', f'"{key}": {number}', 1))


def csv_text(rows: Iterable[Sequence[object]]) -> Outgoing:
    """Output text of a CSV table; cells that spreadsheets would execute are quoted."""
    from csv import writer
    from io import StringIO

    out = StringIO()
    table = writer(out, lineterminator="\n")
    for row in rows:
        table.writerow([_csv_cell(cell) if isinstance(cell, str) else cell for cell in row])
    return cast("Outgoing", out.getvalue())


_BEGINS_A_FORMULA = "=+-@\uff1d\uff0b\uff0d\uff20"
"""The full-width signs, too, which a spreadsheet takes for the plain ones."""


def _csv_cell(text: str) -> str:
    """Text of a cell of a CSV; a leading quote keeps a spreadsheet from reading a formula."""
    from ..plain_values import is_number

    text = visible(text)
    start = text.lstrip("\t \u3000\u00a0")[:1]
    return f"'{text}" if start and start in _BEGINS_A_FORMULA and not is_number(text) else text


def markdown(text: str) -> str:
    """Text escaped for a line or cell of Markdown."""
    text = visible(text)
    for special in "\\`*_{}[]<>|~":
        if special in text:
            text = text.replace(special, f"\\{special}")
    return text.replace("&", "&amp;").replace("://", ":\u200b//")


def markdown_code(text: str) -> str:
    """Text as code inside a line or a cell of Markdown."""
    text = visible(text).replace("|", "\\|")
    fence = "`"
    while fence in text:
        fence += "`"
    edge = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{edge}{text}{edge}{fence}"


def shell_word(text: str) -> str:
    """Text quoted as one word of bash on one line."""
    if text.isascii() and text.translate(_SAFE_IN_A_WORD).isalnum():
        return text  # without a module more
    from shlex import quote

    if text.isprintable():
        return quote(text)
    special = {"\\": "\\\\", "'": "\\'"}
    return (
        "$'"
        + "".join(special.get(one) or (one if one.isprintable() else _escape_character(ord(one))) for one in text)
        + "'"
    )


_SAFE_IN_A_WORD = dict.fromkeys(map(ord, "_./-"))


def markup(text: str) -> str:
    """Text in an element or an attribute of HTML or XML."""
    from html import escape

    return escape(visible(text), quote=True).translate(_NOT_XML)


_NOT_XML = {9: "&#9;"}
"""A reader of XML takes a tab in an attribute for a blank."""


def github_data(text: str) -> str:
    """The message of a workflow command."""
    return _replace_each(visible_lines(text), (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")))


def github_property(text: str) -> str:
    """A property of a workflow command."""
    return _replace_each(github_data(text), ((":", "%3A"), (",", "%2C")))


def azure_text(text: str) -> str:
    """The message or a property of a logging command."""
    return _replace_each(
        visible_lines(text), (("%", "%AZP25"), (";", "%3B"), ("\r", "%0D"), ("\n", "%0A"), ("]", "%5D"))
    )


def visible_lines(text: str) -> str:
    """Multi-line text with control characters escaped, for formats that escape line ends."""
    return "\n".join([visible(line) for line in text.split("\n")])


def _replace_each(text: str, table: Iterable[tuple[str, str]]) -> str:
    for plain, written in table:
        text = text.replace(plain, written)
    return text


def trust_text(text: str) -> Outgoing:
    """Mark a whole text as safe for output, because its parts were escaped or must stay exact.

    Exact are the files that a command writes (a converted script, a configuration), which are quoted by their own
    language's rules.
    """
    return cast("Outgoing", text)


def emit(text: Outgoing) -> None:
    """Write an answer to standard output."""
    _begin_answer()
    sys.stdout.write(text)


def say(*words: str) -> None:
    """One line for a person on standard output."""
    _begin_answer()
    sys.stdout.write(f"{visible(' '.join(words))}\n")


def tell(*words: str) -> None:
    """One line for a person on standard error."""
    _take_line_away()
    _write_message(f"{visible(' '.join(words))}\n")


def _write_message(text: str) -> None:
    """Write to standard error; if its disk is full or its terminal gone, the command goes on without messages."""
    try:
        sys.stderr.write(text)
    except BrokenPipeError:
        raise
    except OSError:
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def tell_crash(error: BaseException) -> None:
    """The traceback of a bug on standard error, line by line: its messages quote files."""
    from traceback import format_exception

    for line in "".join(format_exception(type(error), error, error.__traceback__)).splitlines():
        tell(line)


def transient(line: str, columns: int = 70) -> None:
    """Show a progress line on standard error, replaced by the next one or removed if empty.

    Nothing more is told once the answer has begun: whoever reads it may have it before him, in `less`.
    """
    if not line:
        _take_line_away()
        return
    if _answering[0]:
        return
    _write_message(f"\r{visible(line):<{columns}}")
    _standing[:] = [columns]


def allow_progress() -> None:
    """A command starts: progress lines may be shown until its answer begins."""
    _answering[0] = False


def _begin_answer() -> None:
    _answering[0] = True
    _take_line_away()


def _take_line_away() -> None:
    """No answer stands behind a line of progress."""
    if not _standing:
        return
    columns = _standing.pop()
    try:
        sys.stderr.write(f"\r{' ' * columns}\r")
        sys.stderr.flush()
    except OSError:  # a terminal that has hung up shows no line; the answer may go elsewhere
        return


_standing: list[int] = []
"""The columns of the line of progress that stands on the terminal."""
_answering = [False]
"""Whether something was written to standard output since the command began."""


def clear_screen() -> None:
    """Clear the terminal, if the answer goes to one."""
    if sys.stdout.isatty():
        sys.stdout.write("\033[2J\033[H")


def flush() -> None:
    """Bring out what was written so far."""
    sys.stdout.flush()
