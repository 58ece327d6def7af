"""`accmap diff A B`: two files of either framework, field by field, by their effective values."""

from __future__ import annotations

import json

from ...mapper.differences import compare
from ...mapper.recipe.reading import recipe_of
from ...schemas.border.file_output import deliver
from ...schemas.border.text_output import json_text
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.file_kind import runs_inference
from ...schemas.plain_values import json_value
from ...schemas.shared_words import list_words, term
from ..exit_codes import BAD, FINE
from ..inputs import SideVersions, load_two, tell_refusals
from ..messages_compiled import say as usage
from ..recipe_lines import open_lines
from ..terminal import shorten, show_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...mapper.differences import Comparison, Difference, Found
    from ...mapper.recipe.values import Recipe
    from ...schemas.diagnostic import Language
    from ...schemas.source import SourceText
    from ..arguments_compiled import DiffArgs
    from ..pages.document import Cell, Document, Table, Tone


_LONGEST = 300
"""Characters of a value in a table; a pattern of layers is longer."""
_TONES: Mapping[str, Tone] = {"different": "bad", "undecided": "open", "equal": "good"}


def run(args: DiffArgs) -> int:
    """Print the comparison; 1 where something that both sides have differs, or numbers depend on one side alone."""
    versions = SideVersions(args.a_version, args.b_version)
    configs = load_two(args.files, args.reading, versions, args.stdin_filename, model=True)
    tell_refusals(configs, args.lang)
    sides = [recipe_of(config) for config in configs]
    if any(map(runs_inference, configs)):
        from ...rules.catalog.inference import add_generation
        from ..inputs import open_input
        from ..linting.file_groups import files_beside

        def open_beside(name: str) -> SourceText:
            return open_input(name, args.reading)[0]

        folders = [files_beside(one.file, open_beside) if one.framework == "huggingface" else {} for one in configs]
        sides = add_generation(configs, sides, folders)
    found = compare(configs, sides)
    if args.format == "json":
        deliver(json_text(found.to_json(sides, args.lang)), args.output, force=args.force)
    else:
        from ..pages.formats import write_document

        def build(language: Language) -> Document:
            return diff_document(found, sides, language)

        to_file = args.output is not None
        text = write_document(build, args.format, args.lang, everything=args.all, to_file=to_file)
        if to_file or args.format != "text":
            deliver(text, args.output, force=args.force)
        else:
            show_page(text, paged=not args.no_pager)
    return FINE if found.verdict == "equal" else BAD


def totals(found: Comparison, language: Language) -> str:
    """Numbers of fields by status, in a line."""
    word: Callable[..., str] = usage.page("diff_status", language)
    return list_words((f"{count} {word(status)}" for status, count in found.summary.items()), language)


def diff_document(found: Comparison, sides: Sequence[Recipe], language: Language) -> Document:
    """Every field of two files: the gravest differences first, then those without effect; the equal are folded."""
    from ..pages.document import Document, Section, Verdict, bullets

    word, report = usage.page("diff", language), usage.page("report", language)
    verdict: Callable[..., str] = word
    facts = [line for letter, side in zip("AB", sides, strict=True) for line in _name(letter, side, language)]
    tone = "good" if found.verdict == "equal" else "bad" if found.verdict == "different" else "open"
    telling, harmless = differing_rows(found)
    equal = [row for row in found.rows if row.status == "equal"]
    names = " · ".join(dict.fromkeys(side.file.rpartition("/")[2] for side in sides))
    notes = [*open_lines(found.reasons, language), *(one.text(language) for one in found.unseen)]
    parts = [
        Verdict(verdict(found.verdict), tone, [*facts, totals(found, language)]),
        Section(report("fields"), [*field_table(telling, language), *bullets(notes)], "fields", len(telling)),
        Section(report("harmless"), field_table(harmless, language), "harmless", len(harmless)),
        Section(report("equal"), field_table(equal, language), "equal", len(equal), is_folded=True),
    ]
    return Document(f"accmap diff: {names}", language, parts)


_IMPACTS = ("numerics", "performance", "none")
_STATUSES = ("different", "undecided", "only-a", "only-b")


def differing_rows(found: Comparison) -> tuple[list[Difference], list[Difference]]:
    """Differences that change results or speed, the gravest first, and those without effect."""
    rows = sorted((row for row in found.rows if row.status != "equal"), key=_by_weight)
    return [row for row in rows if row.impact != "none"], [row for row in rows if row.impact == "none"]


def _by_weight(row: Difference) -> tuple[int, int]:
    """Place of a row: what changes numbers comes first, and of that what differs on both sides."""
    return _IMPACTS.index(row.impact), _STATUSES.index(row.status)


def _name(letter: str, side: Recipe, language: Language) -> Iterator[str]:
    """The file behind a letter, its version, and what it does where that is not to train a model."""
    basis = side.basis
    yield f"{letter} {side.file}" + ("" if basis is None else f": {basis.text(language)}")
    if basis is not None and basis.purpose is not None:
        yield basis.purpose.problem.message(language)


def field_table(rows: Sequence[Difference], language: Language) -> list[Table]:
    """Fields with both values, their origin, the status and its weight, as a table; nothing if there are no rows."""
    from ..pages.document import MISSING, Cell, Row, Table, Words, code_cell

    if not rows:
        return []
    word = usage.page("report", language)
    status: Callable[..., str] = usage.page("diff_status", language)
    impact: Callable[..., str] = usage.page("impact", language)

    def side_cell(row: Difference, side: Found | None) -> Cell:
        if side is None:
            return Cell(Words(MISSING))
        return code_cell(shorten(value_text(row_name(row), side, language), _LONGEST), origin_text(side, language))

    listed: list[Row] = []
    for row in rows:
        told = Cell(Words(status(row.status), tone=_TONES.get(row.status, "")), impact(row.impact))
        name = code_cell(row_name(row), "" if row.why is None else row.why.zh if language == "zh" else row.why.en)
        bad = row.status == "different" and row.impact == "numerics"
        both = side_cell(row, row.a), side_cell(row, row.b)
        listed.append(Row([name, *both, told], status(row.status), "bad" if bad else ""))
    return [Table((word("field"), "A", "B", word("status")), listed)]


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
