"""Text with its history: known pieces that remember where they were written, and pieces nobody can know yet.

A shell value is a tuple of `Piece`s. A piece taken from the file as it stands can be cut and still says where
each part was written; `chain` lists the expansions it went through, so that a word put together from several
variables can be shown where it was put together.
"""

from __future__ import annotations

from bisect import bisect_right

from ..fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from ..message import Words
    from ..source import SourceText, Span

LONGEST_CHAIN = 8


class Place(NamedTuple):
    """A stretch of a source text, by character offsets."""

    source: SourceText
    start: int
    end: int

    def snippet(self) -> str:
        """Source text at this place."""
        return self.source.text[self.start : self.end]

    def line(self) -> int:
        """Line number of the start."""
        return self.source.position(self.start)[0]

    def span(self, home: str) -> Span:
        """Span of the place, with the file if it is not `home`."""
        found = self.source.span(self.start, self.end)
        return found if self.source.name == home else found._replace(file=self.source.name)


class Doubt(NamedTuple):
    """Reason for which a piece of text is not known.

    An `atomic` one is certainly one plain word, whatever it is; a `loose` one may be any number of words, even
    within quotes (an array's elements).
    """

    reason: Words
    place: Place
    atomic: bool = False
    loose: bool = False


class Piece(NamedTuple):
    """Some text. With a `doubt`, the text only stands for what is not known."""

    text: str
    place: Place
    verbatim: bool = False
    chain: tuple[Place, ...] = ()
    doubt: Doubt | None = None

    def cut(self, start: int, end: int) -> Piece:
        """The part between two offsets of the text."""
        if start == 0 and end == len(self.text):
            return self
        place = self.place
        if self.verbatim:
            place = Place(place.source, place.start + start, place.start + end)
        return Piece(self.text[start:end], place, self.verbatim, self.chain, self.doubt)


_place, _piece = Place._make, Piece._make
Text: TypeAlias = "tuple[Piece, ...]"


def string_of(text: Text) -> str | None:
    """Text as a string; None if a part is unknown."""
    if len(text) == 1:
        piece = text[0]
        return piece.text if piece.doubt is None else None
    for piece in text:
        if piece.doubt is not None:
            return None
    return "".join([piece.text for piece in text])


def display(text: Text) -> str:
    """Text for a person; unknown parts appear as their source."""
    if len(text) == 1:
        return text[0].text
    return "".join([piece.text for piece in text])


def doubt_of(text: Text) -> Doubt | None:
    """The first reason why the text is not known."""
    for piece in text:
        if piece.doubt is not None:
            return piece.doubt
    return None


def character(body: str) -> str:
    """Character of an escape such as `x41`, `u00e9` or `101`, or a byte of one; nothing for zero."""
    is_byte = body[0] not in "uU"
    code = int(body[1:], 16) if body[0] in "xuU" else int(body, 8) & 0xFF
    if code == 0:
        return ""
    if code >= 0x110000:
        return f"\\{body}"
    if is_byte and code >= 0x80:
        return chr(0xDC00 + code)  # as Python reads a byte that is not a character
    return chr(code).encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")


def join_bytes(pieces: Sequence[str]) -> str:
    """Text of pieces; the bytes of one character, which escapes may write one by one, become this character."""
    text = "".join(pieces)
    is_plain = text.isascii() or not any("\udc80" <= char <= "\udcff" for char in text)
    return text if is_plain else text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def plain(string: str, place: Place) -> Text:
    """Known text made at a place."""
    return (Piece(string, place),) if string else ()


def unknown_text(reason: Words, place: Place, *, atomic: bool = False) -> Text:
    """Unknown text, shown as the source at a place."""
    return (Piece(place.snippet() or "?", place, False, (), Doubt(reason, place, atomic)),)


def hole(reason: Words, place: Place, *, loose: bool = False) -> Text:
    """Unknown text without source of its own."""
    return (Piece("", place, False, (), Doubt(reason, place, loose=loose)),)


def is_loose(text: Text) -> bool:
    """True if a text may be any number of words, even within quotes."""
    return any(piece.doubt is not None and piece.doubt.loose for piece in text)


def cut(text: Text, start: int, end: int) -> Text:
    """The part of a text between two offsets."""
    found: list[Piece] = []
    at = 0
    for piece in text:
        low, high = max(start - at, 0), min(end - at, len(piece.text))
        if high > low:
            found.append(piece.cut(low, high))
        elif not piece.text and start <= at <= end:
            found.append(piece)
        at += len(piece.text)
    return tuple(found)


def between(texts: Sequence[Text], separator: Text) -> Text:
    """Texts joined by a separator."""
    found: list[Piece] = []
    for number, text in enumerate(texts):
        if number:
            found.extend(separator)
        found.extend(text)
    return tuple(found)


def with_expansion(text: Text, site: Place) -> Text:
    """The text after the expansion at `site` produced it."""
    if len(text) == 1:
        written, place, verbatim, chain, doubt = text[0]
        if written and len(chain) < LONGEST_CHAIN:
            return (_piece((written, place, verbatim, (*chain, site), doubt)),)
    return tuple(
        [
            Piece(
                piece.text or (site.snippet() if piece.doubt else ""),
                piece.place if piece.text else site,
                piece.verbatim,
                (*piece.chain, site) if len(piece.chain) < LONGEST_CHAIN else piece.chain,
                piece.doubt,
            )
            for piece in text
        ]
    )


def same(one: Text, other: Text) -> bool:
    """True if two values are certainly equal."""
    if one is other:
        return True
    first, second = string_of(one), string_of(other)
    if first is not None and second is not None:
        return first == second
    if len(one) != len(other):
        return False
    return all(a.text == b.text and a.doubt == b.doubt for a, b in zip(one, other, strict=True))


def place_of(text: Text, fallback: Place) -> Place:
    """Place of a word: its characters, or the expansion that made it."""
    if not text:
        return fallback
    if len(text) == 1:
        return text[0].place
    chains = [piece.chain for piece in text]
    shared = 0
    shortest = min(len(chain) for chain in chains)
    while shared < shortest and len({_source_range(chain[-1 - shared]) for chain in chains}) == 1:
        shared += 1
    places = [piece.chain[-1 - shared] if len(piece.chain) > shared else piece.place for piece in text]
    if len({id(place.source) for place in places}) > 1:
        return fallback
    return Place(places[0].source, min(place.start for place in places), max(place.end for place in places))


def _source_range(place: Place) -> tuple[int, int, int]:
    return id(place.source), place.start, place.end


class Code:
    """Text that is to be parsed as shell code: a file's own, or one that an expansion produced (`eval`, `bash -c`).

    Unknown pieces of produced code are represented by one private character each, which the parser treats as a
    letter and `pieces` turns back into the unknown piece.
    """

    __slots__ = ("_starts", "_text", "site", "source", "text")

    def __init__(self, source: SourceText, made_of: Text | None = None, site: Place | None = None) -> None:
        self.source = source
        self.site = site
        self._text: Text | None = made_of
        self._starts: list[int] = []
        if made_of is None:
            self.text = source.text
            return
        parts: list[str] = []
        at = 0
        for piece in made_of:
            self._starts.append(at)
            part = piece.text if piece.doubt is None else UNKNOWN_LETTER
            parts.append(part)
            at += len(part)
        self.text = "".join(parts)

    def place(self, start: int, end: int) -> Place:
        """Place at which the code between two offsets was written."""
        if self._text is None:
            return _place((self.source, start, end))
        return place_of(self.pieces(start, max(end, start)), self.site or Place(self.source, 0, 0))

    def pieces(self, start: int, end: int) -> Text:
        """The code between two offsets as text."""
        made_of = self._text
        if made_of is None:
            return (_piece((self.text[start:end], _place((self.source, start, end)), True, (), None)),)
        found: list[Piece] = []
        index = max(bisect_right(self._starts, start) - 1, 0)
        while index < len(made_of) and self._starts[index] < end:
            piece = made_of[index]
            first = self._starts[index]
            if piece.doubt is not None:
                if first >= start:
                    found.append(piece)
            else:
                low, high = max(start - first, 0), min(end - first, len(piece.text))
                if high > low:
                    found.append(piece.cut(low, high))
            index += 1
        return tuple(found)


UNKNOWN_LETTER = "\U0010fffd"


def upper_case(string: str) -> str:
    """Each character in upper case by itself, as bash does it: of `ß` Python makes two."""
    upper = string.upper()
    return upper if len(upper) == len(string) else "".join([_same_length(char, char.upper()) for char in string])


def lower_case(string: str) -> str:
    """Each character in lower case by itself."""
    lower = string.lower()
    return lower if len(lower) == len(string) else "".join([_same_length(char, char.lower()) for char in string])


def _same_length(char: str, changed: str) -> str:
    return changed if len(changed) == 1 else char
