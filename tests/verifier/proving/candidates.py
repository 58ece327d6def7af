"""Values that a field could have in place of its own: from its type, the parser's choices and the tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.mappings.tables import table
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.megatron.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accmap.mappings.names_compiled import FieldName
    from accmap.mappings.tables import Row
    from accmap.schemas.config import Value

VALUES: dict[str, list[Value]] = load_table(Path(__file__).with_name("contexts.yaml").read_text("utf-8"))["values"]
"""Values of fields of whose type nothing follows."""
_DTYPES = ("float32", "bfloat16", "float16")


def candidates(row: Row, field: FieldName, before: Value, version: str) -> list[Value]:
    """What to try, in order; `before` is the value of the base."""
    found: list[Value] = []
    own = VALUES.get(field, ())
    for value in (*own, *_by_type(vocabulary()[field].type, before), *_named_by(row, field), *_chosen(row, version)):
        if value is not None and not _same(value, before) and not any(_same(value, one) for one in found):
            found.append(value)
    return found


def _same(one: Value, other: Value) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _by_type(kind: str, before: Value) -> Iterator[Value]:
    if kind == "bool":
        yield True
        if before is not None:  # a switch that is not set is off
            yield False
    elif kind == "dtype":
        yield from _DTYPES
    elif "|" in kind:
        yield from kind.split("|")
    elif kind == "int":
        yield from _whole(before)
    elif kind in ("float", "number"):
        yield from _real(before)
    elif kind in ("list", "any") and isinstance(before, (list, tuple)):
        yield from _lists(list(before))


def _whole(before: Value) -> Iterator[Value]:
    if isinstance(before, int) and before > 0:
        yield from (before * 2, before // 2 or 4, before + before // 2, before + 1, max(before - 1, 0))
    yield from (1, 2, 4, 8, 64)


def _real(before: Value) -> Iterator[Value]:
    if isinstance(before, int) and not isinstance(before, bool) and before > 1:
        yield from (before // 2, before * 2)  # a number of steps is a whole one
    if isinstance(before, (int, float)) and not isinstance(before, bool) and before:
        yield from (before * 0.5, before * 2.0, before * 100.0)
    yield from (0.5, 2.0, 0.1, 8.0, 0.0)


def _lists(before: list[Value]) -> Iterator[Value]:
    for place, entry in enumerate(before):
        if isinstance(entry, int) and not isinstance(entry, bool):
            other = 1 - entry if entry in (0, 1) else entry * 2
            yield [*before[:place], other, *before[place + 1 :]]


def _named_by(row: Row, field: FieldName) -> Iterator[Value]:
    """The values that conditions of the tables compare the field with."""
    gates = table().gates
    conditions = [condition for caveat in row.caveats for condition in caveat.when]
    conditions += [condition for other in table().rows for condition in other.only]
    conditions += [condition for gate in gates.values() for condition in (*gate.counts, *gate.certain)]
    for name, comparison, operand in conditions:
        if name == field and comparison in ("eq", "ne"):
            yield operand
        elif name == field and comparison in ("in", "not_in") and isinstance(operand, (list, tuple)):
            yield from operand


def _chosen(row: Row, version: str) -> Iterator[Value]:
    """What Megatron-LM's parser offers for the first argument of the row."""
    for side in row.megatron:
        for key in side.keys[:1]:
            fact = catalog(version).by_dest.get(key.split("|")[0])
            if fact is not None and fact.choices:
                yield from fact.choices
