"""The rows of the accuracy guide's checklists, and the rules that cover each of them."""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from .checklist_compiled import ROWS as _COMPILED

if TYPE_CHECKING:
    from ..mappings.names_compiled import FieldName


class Row(NamedTuple):
    """One row. `by_person` says that no file decides all of it: a person ticks it, with the evidence of the fields."""

    identifier: str
    key: str
    codes: tuple[str, ...]
    fields: tuple[FieldName, ...]
    by_person: bool
    when: tuple[FieldName, ...]
    """The row applies where a side has one of these; always where there are none."""
    compares: bool
    """Whether two values decide it, so that nothing is decided without one."""
    what: str
    what_zh: str


ROWS = tuple(Row(*row) for row in _COMPILED)
