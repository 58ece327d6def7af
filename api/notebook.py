"""How answers look in a notebook: a heading and a table; whatever comes from a file is escaped."""

from __future__ import annotations

from accmap.schemas.border.text_output import markup
from accmap.schemas.fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_ROWS = 60


def table(heading: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A heading and a table of at most so many rows, as HTML."""
    listed = list(rows)
    head = "".join(f"<th>{markup(column)}</th>" for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{markup(_text(cell))}</td>' for cell in row)}</tr>" for row in listed[:MOST_ROWS]
    )
    rest = f"<p>… {len(listed) - MOST_ROWS} more</p>" if len(listed) > MOST_ROWS else ""
    return f"<p><b>{markup(heading)}</b></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def text(heading: str, content: str) -> str:
    """A heading and a text as it is."""
    shown = "\n".join(markup(line) for line in content.split("\n"))
    return f"<p><b>{markup(heading)}</b></p><pre>{shown}</pre>"


def _text(cell: object) -> str:
    return "" if cell is None else str(cell)
