"""`accmap diff A B`: two files of either framework, field by field, by their effective values."""

from __future__ import annotations

import json

from ...mapper.differences import compare
from ...mapper.recipe.reading import recipe_of
from ...schemas.border.text_output import emit, json_text, paint, say
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.plain_values import json_value
from ...schemas.shared_words import list_words, term
from ..exit_codes import BAD, FINE
from ..inputs import load
from ..messages_compiled import say as usage
from ..recipe_lines import print_open
from ..terminal import shorten, wants_colour

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...mapper.differences import Comparison, Difference, Found
    from ...mapper.recipe.values import Recipe
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import DiffArgs


_STYLE = {"different": "red", "undecided": "yellow", "only-a": "cyan", "only-b": "cyan", "equal": "green"}


def run(args: DiffArgs) -> int:
    """Print the comparison; 1 where something that both sides have differs, or numbers depend on one side alone."""
    configs = [load(name, args.reading, args.stdin_filename, model=True) for name in args.files]
    sides = [recipe_of(config) for config in configs]
    found = compare(configs, sides)
    if args.format == "json":
        emit(json_text(found.to_json(sides, args.lang)))
    else:
        _page(found, sides, args.lang, everything=args.all)
    return FINE if found.verdict == "equal" else BAD


def totals(found: Comparison, language: Language) -> str:
    """Numbers of fields by status, in a line."""
    word: Callable[..., str] = usage.page("diff_status", language)
    return list_words((f"{count} {word(status)}" for status, count in found.summary.items()), language)


def _name(letter: str, side: Recipe, language: Language, *, colour: bool) -> None:
    """The file behind a letter, its version, and what it does where that is not to train a model."""
    basis = side.basis
    say(f"{letter} {paint(side.file, 'bold', colour)}  {'' if basis is None else basis.text(language)}")
    if basis is not None and basis.purpose is not None:
        say(f"  {basis.purpose.problem.message(language)}")


def _page(found: Comparison, sides: Sequence[Recipe], language: Language, *, everything: bool) -> None:
    colour = wants_colour()
    status_word: Callable[..., str] = usage.page("diff_status", language)
    for letter, side in zip("AB", sides, strict=True):
        _name(letter, side, language, colour=colour)
    say()
    for row in found.rows:
        if not everything and (row.status == "equal" or row.impact == "none"):
            continue
        say(f"{paint(status_word(row.status), _STYLE[row.status], colour)}  {row_name(row)}")
        for letter, side in (("A", row.a), ("B", row.b)):
            if side is not None:
                value = shorten(value_text(row_name(row), side, language), 48)
                say(f"    {letter}  {value:<24}  {origin_text(side, language)}".rstrip())
        if row.why is not None:
            say(f"    {row.why.zh if language == 'zh' else row.why.en}")
    say(totals(found, language))
    print_open(found.reasons, language)
    for one in found.unseen:
        say(one.text(language))
    verdict = found.verdict
    word: Callable[..., str] = usage.page("diff", language)
    say(paint(word(verdict), "green" if verdict == "equal" else "red", wants_colour()))


def row_name(row: Difference) -> str:
    """The field of a row, or the key that has none."""
    side = row.a or row.b
    return row.field or ("" if side is None else side.key or "")


def value_text(name: str, side: Found, language: Language) -> str:
    """Value of one side as a person reads it."""
    value = "?" if not side.decided else json.dumps(json_value(side.value), ensure_ascii=False)
    if language == "zh" and name.startswith("computed."):
        from ...mapper.computed.results import in_both

        return in_both(value).zh
    return value


def origin_text(side: Found, language: Language) -> str:
    """Source of a value: its origin, its place in the file, its key."""
    place = "" if side.span is None else f":{side.span.line}:{side.span.column}"
    return f"{term(side.origin, language)} {place} {side.key or ''}".rstrip()
