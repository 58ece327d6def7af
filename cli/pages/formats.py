"""A document in the form that an option names: a page, Markdown, text or JSON."""

from __future__ import annotations

from itertools import islice

from ...schemas.border.text_output import json_text, markdown, markdown_code, page, paint, trust_text, visible
from ...schemas.fast_records import TYPE_CHECKING
from ..terminal import columns, line_limit, wants_colour, wrap
from .document import document_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from .document import (
        Card,
        Cell,
        Chart,
        Code,
        Document,
        Items,
        Note,
        Part,
        Section,
        SideBySide,
        Table,
        Verdict,
        Words,
    )

LANGUAGES: tuple[Language, ...] = ("en", "zh")
_STYLES = {"good": "green", "bad": "red", "open": "yellow", "soft": "dim"}


def write_document(build: Callable[[Language], Document], form: str, language: Language) -> Outgoing:
    """The document in a form; a page holds it in both languages, the wanted one first."""
    if form == "html":
        from .html_page import html_page

        return html_page(*map(build, sorted(LANGUAGES, key=lambda one: one != language)))
    document = build(language)
    if form == "json":
        return json_text(document_json(document))
    if form == "markdown":
        return trust_text("".join(f"{line}\n" for line in _markdown_lines(document)))
    limit = line_limit()
    return page(row for line, indent in _text_lines(document, wants_colour()) for row in wrap(line, limit, indent))


def text_lines(document: Document, width: int, most: int) -> list[str]:
    """The first lines of the text, without colour."""
    rows = (visible(row) for line, indent in _text_lines(document, False) for row in wrap(line, width, indent))
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


def _text_lines(document: Document, colour: bool) -> Iterator[tuple[str, str]]:
    """Lines, each with the indent of the rows that it may go on in."""
    yield paint(document.title, "bold", colour), ""
    yield from _text_parts(document.parts, "", colour)
    if document.footer:
        yield from (("", ""), (document.footer, ""))


def _text_parts(parts: Iterable[Part], indent: str, colour: bool) -> Iterator[tuple[str, str]]:
    for part in parts:
        kind = part.kind
        if kind in ("section", "card", "verdict", "chart"):
            yield "", ""
        for line, more in _TEXT[kind](part, colour):
            yield (indent + line if line else ""), indent + more


def _paint_words(words: Sequence[Words], colour: bool, tone: str = "") -> str:
    styles = [_STYLES.get(one.tone or tone) for one in words]
    return "".join(
        paint(one.text, style, colour) if style else one.text for one, style in zip(words, styles, strict=True)
    )


def _text_verdict(part: Verdict, colour: bool) -> Iterator[tuple[str, str]]:
    yield paint(part.text, _STYLES.get(part.tone, "bold"), colour), ""
    yield from ((f"- {fact}", "  ") for fact in part.facts)


def _text_note(part: Note, colour: bool) -> Iterator[tuple[str, str]]:
    yield _paint_words(part.words, colour, part.tone), "  "


def _text_items(part: Items, colour: bool) -> Iterator[tuple[str, str]]:
    yield from ((f"- {_paint_words(one.words, colour, one.tone)}", "  ") for one in part.notes)


def _text_table(part: Table, colour: bool) -> Iterator[tuple[str, str]]:
    """Columns of one width; a row that is too wide wraps under its second column."""
    lines = [[_cell_text(cell) for cell in row.cells if cell.share is None] for row in part.rows]
    heads = [list(part.heads[: len(lines[0])])] if any(part.heads) and lines else []
    widths = [min(48, max(map(columns, column))) for column in zip(*heads, *lines, strict=False)]
    for at, line in enumerate([*heads, *lines]):
        padded = [text + " " * (width - columns(text)) for text, width in zip(line, widths, strict=False)]
        tone = "bold" if at < len(heads) else _STYLES.get(part.rows[at - len(heads)].tone, "")
        yield paint("  ".join(padded).rstrip(), tone or "bold", colour and bool(tone)), "    "


def _cell_text(cell: Cell) -> str:
    return cell.words.text + (f" ({cell.note})" if cell.note else "")


def _text_code(part: Code, colour: bool) -> Iterator[tuple[str, str]]:
    for at, line in enumerate(part.lines, part.first):
        number = str(at) if part.first else ""
        yield f"  {number} | {line}" if number else f"  {line}", "      "
        for mark in part.marks if part.first else ():
            if mark.line == at and mark.start < len(line):
                before = " " * (len(number) + 5 + columns(line[: mark.start]))
                signs = "^" * max(1, columns(line[mark.start : mark.stop]))
                yield before + paint(signs, _STYLES.get(mark.tone, "bold"), colour), ""


def _text_sides(part: SideBySide, colour: bool) -> Iterator[tuple[str, str]]:
    del colour
    yield f"A {part.a.file} · B {part.b.file}", ""


def _text_chart(part: Chart, colour: bool) -> Iterator[tuple[str, str]]:
    from .terminal_plot import chart_lines

    yield part.title, ""
    yield from ((line, "") for line in chart_lines(part, colour))


def _text_card(part: Card, colour: bool) -> Iterator[tuple[str, str]]:
    yield _paint_words(part.head, colour), "  "
    yield from _text_parts(part.parts, "  ", colour)


def _text_section(part: Section, colour: bool) -> Iterator[tuple[str, str]]:
    count = "" if part.size is None else f" ({part.size})"
    yield paint(f"{part.title}{count}", "bold", colour), ""
    yield from _text_parts(part.parts, "" if part.name else "  ", colour)


_TEXT: dict[str, Callable[..., Iterator[tuple[str, str]]]] = {
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
