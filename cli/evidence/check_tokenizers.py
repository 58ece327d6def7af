"""`accmap check tokenizers A B`: whether two tokenizers give the same ids for the same texts.

A and B are tokenizers, or a launch script or YAML, which stands for the tokenizer that it names.

0 where everything is the same, 1 where something differs or was not compared, 2 where a name holds no tokenizer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...evidence.answers_compiled import check_tokenizers_json, tokenizer_json
from ...evidence.data.tokenizer import PROBES, compare, first_difference, is_tokenizer, named_tokenizer, open_tokenizer
from ...schemas.border.file_input import read_text
from ...schemas.border.text_output import emit, json_text, page, paint
from ...schemas.verdict import word_of
from ..exit_codes import BAD, FINE
from ..inputs import load
from ..messages_compiled import say
from ..terminal import wants_colour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...evidence.data.tokenizer import Row, TokenizerFiles, TokenizerPair
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import CheckTokenizersArgs

_WIDEST = 100
_SHOWN = 12


def run(args: CheckTokenizersArgs) -> int:
    """Compare and print."""
    names = [
        name if is_tokenizer(name) else named_tokenizer(load(name, args.reading, args.stdin_filename))
        for name in args.files
    ]
    a, b = (open_tokenizer(name) for name in names)
    texts = PROBES if args.text is None else [line for line in read_text(args.text).text.splitlines() if line]
    found = compare(a, b, texts)
    if args.format == "json":
        emit(json_text(check_tokenizers_json(found, args.lang, tokenizers=list(map(tokenizer_json, (a, b))))))
    else:
        emit(_page(found, (a, b), args.lang))
    return FINE if found.verdict == "same" else BAD


def _page(found: TokenizerPair, sides: Sequence[TokenizerFiles], language: Language) -> Outgoing:
    colour = wants_colour()
    tone = {"same": "green", "different": "red"}.get(found.verdict, "yellow")
    lines = [paint(_word(found.verdict, language), tone, colour)]
    for letter, side in zip("AB", sides, strict=True):
        lines.append(f"  {letter}  {side.file} ({side.kind}, {len(side.pieces):,})")
    for row in found.rows:
        lines += _lines(row, colour)
    lines += [f"  - {one.text(language)}" for one in found.unseen]
    return page(lines)


def _word(verdict: str, language: Language) -> str:
    """The verdict for a person."""
    said = say.tokenizers_are_same() if verdict == "same" else say.tokenizers_are_different()
    return word_of(verdict, language) or said.text(language)


def _lines(row: Row, colour: bool) -> list[str]:
    mark = paint("✓", "green", colour) if row.same else paint("✗", "red", colour)
    lines = [f"  {mark} {row.what}"]
    if not row.same:
        lines += [
            f"      {letter}  {_short_text(value)}" for letter, value in zip("AB", _parts(row.a, row.b), strict=True)
        ]
    return lines


def _parts(a: object, b: object) -> tuple[object, object]:
    """Two lists of ids from where they part; other values as they are."""
    if not (isinstance(a, list) and isinstance(b, list)):
        return a, b  # pyright: ignore[reportUnknownVariableType]
    ones: list[int] = a  # pyright: ignore[reportUnknownVariableType]
    twos: list[int] = b  # pyright: ignore[reportUnknownVariableType]
    at = first_difference(ones, twos)
    return f"[{at}] {ones[at : at + _SHOWN]}", f"[{at}] {twos[at : at + _SHOWN]}"


def _short_text(value: object) -> str:
    said = str(value)
    return said if len(said) <= _WIDEST else said[:_WIDEST] + "…"
