"""Writing YAML that PyYAML, which is YAML 1.1, reads back as the same values.

A float needs a point and a signed exponent, words like `on` need quotes; everything else is kept plain, the way the
framework's own files are written.
"""

from __future__ import annotations

import math

from ...schemas.border.text_output import visible
from ...schemas.fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...schemas.config import Value

_PLAIN_WORDS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-")
_RESERVED = frozenset(
    ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf", "", "~", ".", "-", "--", "---")
)


def scalar(value: Value) -> str:
    """One value on one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, str):
        return (
            value
            if _is_plain(value)
            else ('"' + "".join(_ESCAPES.get(char) or _escape_character(char) for char in value) + '"')
        )
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {scalar(entry)}" for key, entry in value.items()) + "}"
    return "[" + ", ".join(scalar(entry) for entry in value) + "]"


def _float_text(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{exponent if exponent[0] in '+-' else '+' + exponent}"


def _is_plain(text: str) -> bool:
    return (
        text[:1].isalpha()
        and text.isascii()
        and all(char in _PLAIN_WORDS for char in text)
        and text.lower() not in _RESERVED
    )


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def _escape_character(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def block(content: Mapping[str, object], comments: Mapping[str, str], indent: int = 0, path: str = "") -> Iterator[str]:
    """The lines of a mapping; a comment stands behind the value of the path it belongs to."""
    pad = "  " * indent
    for key, value in content.items():
        here = f"{path}.{key}" if path else key
        name = scalar(key)
        if isinstance(value, Anchored):
            yield f"{pad}{name}: &{value.name}"
            yield from block(value.content, comments, indent + 1, here)
        elif isinstance(value, Alias):
            yield f"{pad}{name}: *{value.name}"
        elif isinstance(value, dict) and value:
            yield _with_comment(f"{pad}{name}:", comments.get(here))
            yield from block(value, comments, indent + 1, here)  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(value, list) and value and any(isinstance(entry, dict) for entry in value):  # pyright: ignore
            yield f"{pad}{name}:"
            yield from _entry_lines(value, comments, indent, here)  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield _with_comment(f"{pad}{name}: {scalar(value)}", comments.get(here))  # type: ignore[arg-type]  # pyright: ignore


def _entry_lines(entries: list[object], comments: Mapping[str, str], indent: int, path: str) -> Iterator[str]:
    pad = "  " * indent
    for place, entry in enumerate(entries):
        lines = (
            list(block(entry, comments, indent + 2, f"{path}[{place}]"))  # pyright: ignore[reportUnknownArgumentType]
            if isinstance(entry, dict)
            else ["  " * (indent + 2) + scalar(entry)]  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        )
        yield f"{pad}  - {lines[0].lstrip()}"
        yield from lines[1:]


def _with_comment(line: str, comment: str | None) -> str:
    return f"{line}  # {visible(comment)}" if comment else line


class Anchored:
    """A mapping with an anchor."""

    def __init__(self, name: str, content: dict[str, object]) -> None:
        self.name = name
        self.content = content


class Alias:
    """A reference to an anchored mapping."""

    def __init__(self, name: str) -> None:
        self.name = name
