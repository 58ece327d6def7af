"""`accmap diff A B`: two files of either framework, field by field, by their effective values."""

from __future__ import annotations

import json

from ...mapper.differences import compare
from ...mapper.recipe.reading import recipe_of
from ...schemas.border.text_output import emit, json_text, page, paint
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.plain_values import json_value
from ...schemas.shared_words import list_words, term
from ..exit_codes import BAD, FINE
from ..inputs import SideVersions, load_two, tell_refusals
from ..messages_compiled import say as usage
from ..recipe_lines import open_lines
from ..terminal import line_limit, show_page, wants_colour, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...mapper.differences import Comparison, Difference, Found
    from ...mapper.recipe.values import Recipe
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import DiffArgs


_STYLE = {"different": "red", "undecided": "yellow", "only-a": "cyan", "only-b": "cyan", "equal": "green"}


def run(args: DiffArgs) -> int:
    """Print the comparison; 1 where something that both sides have differs, or numbers depend on one side alone."""
    versions = SideVersions(args.a_version, args.b_version)
    configs = load_two(args.files, args.reading, versions, args.stdin_filename, model=True)
    tell_refusals(configs, args.lang)
    sides = [recipe_of(config) for config in configs]
    found = compare(configs, sides)
    if args.format == "json":
        emit(json_text(found.to_json(sides, args.lang)))
    else:
        limit = line_limit()
        lines = _page_lines(found, sides, args.lang, everything=args.all)
        wrapped = (row for line in lines for row in wrap(line, limit, "       "))
        show_page(page(wrapped), paged=not args.no_pager)
    return FINE if found.verdict == "equal" else BAD


def totals(found: Comparison, language: Language) -> str:
    """Numbers of fields by status, in a line."""
    word: Callable[..., str] = usage.page("diff_status", language)
    return list_words((f"{count} {word(status)}" for status, count in found.summary.items()), language)


def _name(letter: str, side: Recipe, language: Language, *, colour: bool) -> Iterator[str]:
    """The file behind a letter, its version, and what it does where that is not to train a model."""
    basis = side.basis
    yield f"{letter} {paint(side.file, 'bold', colour)}  {'' if basis is None else basis.text(language)}"
    if basis is not None and basis.purpose is not None:
        yield f"  {basis.purpose.problem.message(language)}"


def _page_lines(found: Comparison, sides: Sequence[Recipe], language: Language, *, everything: bool) -> Iterator[str]:
    """Every field that is not equal with both values, the equal ones if asked for, the totals and the verdict."""
    colour = wants_colour()
    for letter, side in zip("AB", sides, strict=True):
        yield from _name(letter, side, language, colour=colour)
    yield ""
    for row in found.rows:
        if everything or row.status != "equal":
            yield from _row_lines(row, language, colour=colour)
    yield totals(found, language)
    for line in open_lines(found.reasons, language):
        yield from ("", line)
    yield from (one.text(language) for one in found.unseen)
    word: Callable[..., str] = usage.page("diff", language)
    yield paint(word(found.verdict), "green" if found.verdict == "equal" else "red", colour)


def _row_lines(row: Difference, language: Language, *, colour: bool) -> Iterator[str]:
    """One field: its status, both values with their origin, and why they are the same or differ."""
    status_word: Callable[..., str] = usage.page("diff_status", language)
    yield f"{paint(status_word(row.status), _STYLE[row.status], colour)}  {row_name(row)}"
    for letter, side in (("A", row.a), ("B", row.b)):
        if side is not None:
            value = value_text(row_name(row), side, language)
            yield f"    {letter}  {value:<24}  {origin_text(side, language)}".rstrip()
    if row.why is not None:
        yield f"    {row.why.zh if language == 'zh' else row.why.en}"


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
