"""A document in the form that an option names: a page, Markdown, text or JSON."""

from __future__ import annotations

from itertools import dropwhile, islice

from ...schemas.border.text_output import json_text, markdown, markdown_code, page, paint, trust_text, visible
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.shared_words import in_brackets
from ..messages_compiled import say
from ..terminal import can_draw, columns, in_stdout_encoding, line_limit, pad, wants_colour, wrap
from .document import MISSING, Chart, Section, document_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from .document import (
        Card,
        Cell,
        Code,
        Document,
        Items,
        Note,
        Part,
        Row,
        SideBySide,
        Table,
        Verdict,
        Words,
    )

LANGUAGES: tuple[Language, ...] = ("en", "zh")
_STYLES = {"head": "bold", "good": "green", "bad": "red", "open": "yellow", "soft": "dim"}


def write_document(
    build: Callable[[Language], Document],
    form: str,
    language: Language,
    *,
    everything: bool | None = None,
    limit: int | None = None,
    to_file: bool = False,
) -> Outgoing:
    """The document in a form; a page holds it in both languages, the wanted one first.

    A text has lines of at most `limit` columns, otherwise of those of the terminal. It is the beginning of long parts
    with a line on the rest, unless `everything` is true; None is for a command without that option.
    """
    if form == "html":
        from .html_page import html_page

        return html_page(*map(build, sorted(LANGUAGES, key=lambda one: one != language)))
    document = build(language)
    if form == "json":
        return json_text(document_json(document))
    if form == "markdown":
        return trust_text("".join(f"{line}\n" for line in _markdown_lines(document)))
    look = _Look(document.language, wants_colour() and not to_file, to_file or can_draw(), bool(everything))
    text = _text(document, look, limit if to_file else limit or line_limit(), everything is not None)
    return text if look.draws else trust_text(in_stdout_encoding(text))


def _text(document: Document, look: _Look, most: int | None, has_all: bool) -> Outgoing:
    """The lines of the text, the last of which names the option that shows the rest."""
    lines = [*_text_lines(document, look)]
    if any(line.lstrip().startswith(_CUT) or line.endswith(_FOLDED) for line, _ in lines):
        lines += [("", ""), (_word(look)("rest", "--all" if has_all else "-o report.html"), "")]
    return page(row for line, indent in lines for row in wrap(line, most, indent))


def text_lines(document: Document, width: int, most: int) -> list[str]:
    """The first lines of the text, without colour."""
    rows = (
        visible(row)
        for line, indent in _text_lines(document, _Look(document.language))
        for row in wrap(line, width, indent)
    )
    found = list(islice(rows, most + 1))
    return found if len(found) <= most else [*found[: most - 1], "…"]


def _markdown_lines(document: Document) -> Iterator[str]:
    yield f"# {markdown(document.title)}"
    yield from _markdown_parts(document.parts, 2)
    if document.footer:
        yield from ("", markdown(document.footer))


def _markdown_parts(parts: Iterable[Part], level: int) -> Iterator[str]:
    for part in parts:
        yield ""
        yield from _MARKDOWN[part.kind](part, level)


def _markdown_words(words: Sequence[Words]) -> str:
    """Words as Markdown: links to https addresses, code in backticks, the rest escaped."""
    return "".join(
        f"[{markdown(one.text)}]({one.href})"
        if one.href.startswith("https://")
        else markdown_code(one.text)
        if one.is_code
        else markdown(one.text)
        for one in words
    )


def _markdown_verdict(part: Verdict, level: int) -> Iterator[str]:
    del level
    yield f"**{markdown(part.text)}**"
    yield ""
    yield from (f"- {markdown(fact)}" for fact in part.facts)


def _markdown_note(part: Note, level: int) -> Iterator[str]:
    del level
    yield _markdown_words(part.words)


def _markdown_items(part: Items, level: int) -> Iterator[str]:
    del level
    yield from (f"- {_markdown_words(one.words)}" for one in part.notes)


def _markdown_cell(cell: Cell) -> str:
    if cell.share is not None:
        return ""
    return _markdown_words([cell.words]) + (f" ({markdown(cell.note)})" if cell.note else "")


def _markdown_table(part: Table, level: int) -> Iterator[str]:
    del level
    width = max(len(part.heads), *(len(row.cells) for row in part.rows), 1)
    heads = [*map(markdown, part.heads), *[""] * (width - len(part.heads))]
    yield f"| {' | '.join(heads)} |"
    yield "|" + " --- |" * width
    yield from (f"| {' | '.join(map(_markdown_cell, row.cells))} |" for row in part.rows)


def _markdown_code(part: Code, level: int) -> Iterator[str]:
    del level
    lines = [visible(line) for line in part.lines]
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    yield from (fence, *lines, fence)


def _markdown_sides(part: SideBySide, level: int) -> Iterator[str]:
    del level
    yield from (f"- {markdown_code(one.file)}" for one in (part.a, part.b))


def _markdown_chart(part: Chart, level: int) -> Iterator[str]:
    del level
    yield f"*{markdown(part.title)}*"
    for curve in part.curves:
        known = [(step, value) for step, value in zip(curve.steps, curve.values, strict=True) if value == value]
        ends = ", ".join(f"{step}: {value:.6g}" for step, value in (*known[:1], *known[-1:]))
        yield f"- {markdown(curve.name)}: {ends}"


def _markdown_card(part: Card, level: int) -> Iterator[str]:
    yield f"{'#' * min(level, 6)} {_markdown_words(part.head)}"
    yield from _markdown_parts(part.parts, level + 1)


def _markdown_section(part: Section, level: int) -> Iterator[str]:
    count = "" if part.size is None else f" ({part.size})"
    yield f"{'#' * min(level, 6)} {markdown(part.title)}{count}"
    yield from _markdown_parts(part.parts, level + 1)


_MARKDOWN: dict[str, Callable[..., Iterator[str]]] = {
    "verdict": _markdown_verdict,
    "note": _markdown_note,
    "items": _markdown_items,
    "table": _markdown_table,
    "code": _markdown_code,
    "side_by_side": _markdown_sides,
    "chart": _markdown_chart,
    "card": _markdown_card,
    "section": _markdown_section,
}


class _Look(NamedTuple):
    """The form of a text: its language, colours, signs, and if it shows what is folded and the end of long parts."""

    language: Language
    colour: bool = False
    draws: bool = True
    everything: bool = False

    def paint(self, text: str, tone: str, usual: str = "") -> str:
        """The text in the colour of its tone."""
        style = _STYLES.get(tone, usual)
        return paint(text, style, self.colour) if style else text


_Lines: TypeAlias = "Iterator[tuple[str, str]]"
"""Lines, each with the indent of the rows that it may go on in."""
_CUT, _FOLDED = "… ", " …"
"""Signs of what a text leaves out: before a line on it, and after the title of a folded section."""
_MOST_CHARTS = 2
"""Charts of a section that a text shows."""
_MOST_ROWS = 10
"""Rows of a table of numbers that a text shows; of a longer one first those that are marked."""
_MOST_ITEMS = 6
"""Items of a long list that a text shows."""
_WIDEST = 72
"""Columns of a terminal that a column of a table takes at most."""
_SIGNS = {"bad": ("✗", "x"), "good": ("✓", "v")}


def _text_lines(document: Document, look: _Look) -> _Lines:
    yield from dropwhile(lambda line: not line[0], _text_parts(document.parts, "", look))
    if document.footer:
        yield from (("", ""), (document.footer, ""))


def _text_parts(parts: Sequence[Part], indent: str, look: _Look) -> _Lines:
    """The parts of a document as indented lines for a terminal; charts beyond a limit are only named."""
    left_out = [] if look.everything else [part for part in parts if isinstance(part, Chart)][_MOST_CHARTS:]
    for part in parts:
        if part in left_out:
            continue
        if part.kind in ("card", "verdict", "chart") or (isinstance(part, Section) and _is_open(part, look)):
            yield "", ""
        for line, more in _TEXT[part.kind](part, look):
            yield (indent + line if line else ""), indent + more
    if left_out:
        yield indent + _CUT + " · ".join(one.title for one in left_out), indent + "  "


def _is_open(part: Section, look: _Look) -> bool:
    return look.everything or not part.is_folded


def _paint_words(words: Sequence[Words], look: _Look, tone: str = "") -> str:
    return "".join(look.paint(one.text, one.tone or tone) for one in words)


def _text_verdict(part: Verdict, look: _Look) -> _Lines:
    yield look.paint(part.text, part.tone, "bold"), ""
    yield from ((f"  {fact}", "    ") for fact in part.facts)


def _text_note(part: Note, look: _Look) -> _Lines:
    yield _paint_words(part.words, look, part.tone), "  "


def _text_items(part: Items, look: _Look) -> _Lines:
    notes = part.notes[:_MOST_ITEMS] if part.is_long and not look.everything else part.notes
    yield from ((f"- {_paint_words(one.words, look, one.tone)}", "  ") for one in notes)
    yield from _count_of_rest(len(part.notes) - len(notes), look)


def _count_of_rest(count: int, look: _Look) -> _Lines:
    """A line on the number of rows or items that are left out, if there are any."""
    yield from [(_word(look)("more", count), "")][:count]


def _word(look: _Look) -> Callable[..., str]:
    return say.page("page", look.language)


def _text_table(part: Table, look: _Look) -> _Lines:
    """Columns of one width; the values of two sides stand below each other."""
    if {"A", "B"} <= {*part.heads} and not part.is_numeric:
        yield from (line for row in part.rows for line in _text_record(part.heads, row, look))
    elif part.rows:
        yield from _text_columns(part, look)


def _text_columns(part: Table, look: _Look) -> _Lines:
    """Columns of one width, the last of which goes on below itself; a sign before each row if some are marked."""
    rows = part.rows if look.everything or not part.is_numeric else _first_rows(part.rows)
    lines = [[_cell_text(cell, look) for cell in row.cells if cell.share is None] for row in rows]
    tones = [row.tone or row.cells[0].words.tone for row in rows]
    if any(part.heads):
        lines, tones = [[*part.heads[: len(lines[0])]], *lines], ["head", *tones]
    if any(row.tone in _SIGNS for row in part.rows):
        lines = [[_SIGNS.get(tone, "  ")[not look.draws], *line] for tone, line in zip(tones, lines, strict=True)]
    widths = [min(_WIDEST, max(map(columns, column))) for column in zip(*lines, strict=True)]
    begin = sum(widths[:-1]) + 2 * len(widths[:-1])
    for tone, line in zip(tones, lines, strict=True):
        first, *others = map(pad, line, widths)
        yield "  ".join([look.paint(first, tone), *others]).rstrip(), " " * (begin if begin <= _WIDEST else 4)
    yield from _count_of_rest(len(part.rows) - len(rows), look)


def _first_rows(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows of a table of numbers that a text shows: those that are marked, or the first."""
    return rows if len(rows) <= _MOST_ROWS else ([row for row in rows if row.tone == "bad"] or rows)[:_MOST_ROWS]


def _text_record(heads: Sequence[str], row: Row, look: _Look) -> _Lines:
    """The last cell of a row and its first one, and the values of both sides below them."""
    named = dict(zip(heads, row.cells, strict=True))
    name, *_between, last = row.cells
    told = look.paint(last.words.text, last.words.tone or row.tone)
    yield f"{told}  {name.words.text}" + _remark(last.note, look), "    "
    for side in "AB":
        if named[side].words.text != MISSING:
            yield f"    {side}  {named[side].words.text:<24}  {named[side].note}".rstrip(), "       "
    if name.note:
        yield f"    {name.note}", "    "


def _cell_text(cell: Cell, look: _Look) -> str:
    return cell.words.text + _remark(cell.note, look)


def _remark(note: str, look: _Look) -> str:
    """A remark behind a text, in the brackets of its language."""
    return in_brackets(note, look.language) if note else ""


def _text_code(part: Code, look: _Look) -> _Lines:
    """An excerpt with line numbers, and `^` below the marked columns."""
    for at, line in enumerate(part.lines, part.first):
        number = str(at) if part.first else ""
        yield f"  {number} | {line}" if number else f"  {line}", "      "
        for mark in part.marks if part.first else ():
            if mark.line == at and mark.start < len(line):
                before = " " * (len(number) + 5 + columns(line[: mark.start]))
                signs = "^" * max(1, columns(line[mark.start : mark.stop]))
                yield before + look.paint(signs, mark.tone, "bold"), ""


def _text_sides(part: SideBySide, look: _Look) -> _Lines:
    del look
    yield f"A {part.a.file} · B {part.b.file}", ""


def _text_chart(part: Chart, look: _Look) -> _Lines:
    from .terminal_plot import chart_lines

    yield part.title, ""
    yield from ((line, "") for line in chart_lines(part, colour=look.colour, unicode=look.draws))


def _text_card(part: Card, look: _Look) -> _Lines:
    yield _paint_words(part.head, look), "  "
    yield from _text_parts(part.parts, "  ", look)


def _text_section(part: Section, look: _Look) -> _Lines:
    count = "" if part.size is None else f" ({part.size})"
    yield look.paint(f"{part.title}{count}", part.tone, "bold") + ("" if _is_open(part, look) else _FOLDED), ""
    if _is_open(part, look):
        yield from _text_parts(part.parts, "" if part.name else "  ", look)


_TEXT: dict[str, Callable[..., _Lines]] = {
    "verdict": _text_verdict,
    "note": _text_note,
    "items": _text_items,
    "table": _text_table,
    "code": _text_code,
    "side_by_side": _text_sides,
    "chart": _text_chart,
    "card": _text_card,
    "section": _text_section,
}
