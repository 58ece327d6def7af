"""Brace expansion: `{a,b}` and `{1..9}` on the parts of a word, before anything else is expanded."""

from __future__ import annotations

import itertools

from ..light_typing import TYPE_CHECKING
from .syntax import Bare, Parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from .syntax import Part
    from .text import Piece

_NUMBERS = r"(-?[0-9]+)\.\.(-?[0-9]+)(?:\.\.(-?[0-9]+))?"
_LETTERS = r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?[0-9]+))?"
DEEPEST = 20

_Char: TypeAlias = "tuple[str, Piece | Part]"


def alternatives(parts: Sequence[Part], spend: Callable[[int], None]) -> list[Sequence[Part]]:
    """The words that a word's braces make of it."""
    if not any(isinstance(part, Bare) and "{" in part.string and part.string != "{}" for part in parts):
        return [parts]
    flat: list[_Char] = []
    for part in parts:
        if isinstance(part, Bare):
            for piece in part.text:
                if piece.doubt is not None:
                    flat.append(("", Bare((piece,), piece.text)))
                else:
                    flat.extend([(char, piece.cut(at, at + 1)) for at, char in enumerate(piece.text)])
        else:
            flat.append(("", part))
    found = _expanded(flat, spend, 0)
    if len(found) == 1 and len(found[0]) == len(flat):
        return [parts]
    return [_assembled(one) for one in found if one]


def _expanded(flat: list[_Char], spend: Callable[[int], None], depth: int) -> list[list[_Char]]:
    spend(len(flat) // 8 + 1)
    found: list[list[_Char]] = [[]]
    done = at = 0
    while True:
        opened = _opening(flat, at, done)
        if opened is None:
            break
        closed, commas = _closing(flat, opened, spend)
        if closed is None:
            at = opened + 1
            continue
        inner = flat[opened + 1 : closed]
        choices: list[list[_Char]] = []
        if any(char == "," for char, _ in inner):
            if depth >= DEEPEST:
                spend(1_000_000_000)
            for low, high in itertools.pairwise((opened, *commas, closed)):
                choices.extend(_expanded(flat[low + 1 : high], spend, depth + 1))
        else:
            # what is no sequence stays as it is, and so does everything within it
            choices = _sequence(inner, spend) or [flat[opened : closed + 1]]
        between = flat[done:opened]
        spend(len(found) * len(choices) * (1 + len(between) // 8))
        found = [[*head, *between, *choice] for head in found for choice in choices]
        done = at = closed + 1
    rest = flat[done:]
    spend(len(found) * len(rest) // 8)
    return [[*head, *rest] for head in found] if rest else found


def _opening(flat: list[_Char], at: int, start: int) -> int | None:
    """The next brace that may open; bash passes over a `{}` that the text starts with."""
    for place in range(at, len(flat)):
        if flat[place][0] == "{" and not (place == start and place + 1 < len(flat) and flat[place + 1][0] == "}"):
            return place
    return None


def _closing(flat: list[_Char], opened: int, spend: Callable[[int], None]) -> tuple[int | None, list[int]]:
    """Where the braces close, and the commas of their own level: a `}` before any comma or `..` is a letter."""
    level = 0
    commas: list[int] = []
    sequence = False
    for at in range(opened + 1, len(flat)):
        char = flat[at][0]
        if char == "{":
            level += 1
        elif char == "}" and level:
            level -= 1
        elif level:
            continue
        elif char == "}" and (commas or sequence):
            spend((at - opened) // 64)
            return at, commas
        elif char == ",":
            commas.append(at)
        elif char == "." and at + 2 < len(flat) and flat[at + 1][0] == "." and flat[at + 2][0] != "}":
            sequence = True
    spend((len(flat) - opened) // 64)
    return None, []


def _sequence(inner: list[_Char], spend: Callable[[int], None]) -> list[list[_Char]] | None:
    """What `1..9` or `a..e` stands for; None where it is neither."""
    if not all(char for char, _ in inner):
        return None
    string = "".join([char for char, _ in inner])
    piece = inner[0][1] if inner else None
    if ".." not in string:
        return None
    import re

    found = re.fullmatch(_NUMBERS, string) or re.fullmatch(_LETTERS, string)
    if found is None or max(len(side or "") for side in found.groups()) > 18:
        return None
    texts = _between(found[1], found[2], abs(int(found[3] or 1)) or 1, spend)
    return [[(text, piece._replace(text=text, verbatim=False))] for text in texts]  # type: ignore[union-attr]


def _between(first: str, last: str, step: int, spend: Callable[[int], None]) -> list[str]:
    """The letters or numbers from one to another, upwards or downwards."""
    letters = first.isalpha()
    start, end = (ord(first), ord(last)) if letters else (int(first), int(last))
    spend(abs(end - start) // step)
    numbers = range(start, end + 1, step) if start <= end else range(start, end - 1, -step)
    width = 0 if letters else _width(first, last)
    return [chr(number) if letters else f"{number:0{width}d}" for number in numbers]


def _width(first: str, last: str) -> int:
    """How wide the numbers of a sequence are made: one that is written with leading zeros asks for it."""
    zeros = any(side.lstrip("-").startswith("0") and len(side.lstrip("-")) > 1 for side in (first, last))
    return max(len(first), len(last)) if zeros else 0


def _assembled(chars: list[_Char]) -> tuple[Part, ...]:
    parts: list[Part] = []
    run: list[Piece] = []

    def flush() -> None:
        if run:
            parts.append(Bare(tuple(run), "".join([piece.text for piece in run])))
            run.clear()

    for char, thing in chars:
        if not char:
            flush()
            parts.append(thing)  # type: ignore[arg-type]
            continue
        before = parts[-1] if parts and not run else None
        if isinstance(before, Parameter) and before.bare and (char.isalnum() or char == "_") and char.isascii():
            # braces are expanded before names are looked for: $x{1,2} is $x1 $x2
            parts[-1] = before._replace(name=before.name + char)
            continue
        joined = _behind(run[-1], thing) if run else None  # type: ignore[arg-type]
        if joined is None:
            run.append(thing)  # type: ignore[arg-type]
        else:
            run[-1] = joined
    flush()
    return tuple(parts)


def _behind(last: Piece, piece: Piece) -> Piece | None:
    """Two pieces as one where they were written one behind the other."""
    if not (last.verbatim and piece.verbatim and last.place.source is piece.place.source):
        return None
    if last.place.end != piece.place.start:
        return None
    return last._replace(text=last.text + piece.text, place=last.place._replace(end=piece.place.end))
