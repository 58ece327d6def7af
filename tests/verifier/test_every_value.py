"""Every value that a field of the tables can have, one after the other: what is written is what the report says."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent / "proving"))

from candidates import candidates
from minimal_pairs import OTHER, Bench, NotWrittenError, Versions, read

from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.mapper.translate.translation import translate
from accmap.mappings.tables import table
from accmap.schemas.diagnostic import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accmap.mapper.translate.result import Translation
    from accmap.mappings.names_compiled import FieldName
    from accmap.mappings.tables import Row
    from accmap.schemas.config import Framework, Value

VALUES = 6
SIDES: tuple[Framework, ...] = ("megatron", "mindformers")


@pytest.mark.slow
@pytest.mark.parametrize("versions", [("0.12", "1.9"), ("0.16", "1.8"), ("0.19", "2.1")], ids="×".join)
def test_what_is_written_is_what_the_report_says(versions: tuple[str, str]) -> None:
    bench, wrong, asked = Bench(Versions(*versions)), set[str](), 0
    for row in table().rows:
        for field in row.fields:
            context = next(bench.contexts(row, field), "plain")
            for origin in SIDES:
                for value, translation in _translations(bench, row, field, context, origin):
                    asked += 1
                    where = f"{context}: {field} = {value!r} from {origin}"
                    wrong |= {f"{where}: {entry.field} is not named" for entry in translation.unsaid}
                    if not _is_as_said(field, translation):
                        wrong.add(f"{where}: exact, and something else is read back")
    assert not wrong, "\n".join(sorted(wrong))
    assert asked > 500


def _translations(
    bench: Bench, row: Row, field: FieldName, context: str, origin: Framework
) -> Iterator[tuple[Value, Translation]]:
    """One for each value that the framework takes, and that its file then means."""
    try:
        settings, before = bench.settings(context, origin), recipe_of(bench.base(context, origin).origin)
    except NotWrittenError:
        return
    other = OTHER[origin]
    dialect = "static" if other == "mindformers" else None
    for value in candidates(row, field, before.value(field), bench.versions.megatron)[:VALUES]:
        with contextlib.suppress(NotWrittenError, UnreadableError):  # its own framework refuses that
            put = bench.put(origin, field, value, before, {}, stays=True)
            config = read(bench.text(origin, {**settings, **put}), origin, bench.versions.of(origin))
            yield value, translate(config, other, bench.versions.of(other), dialect)


def _is_as_said(field: FieldName, translation: Translation) -> bool:
    row = next((one for one in translation.rows if one.field == field), None)
    if row is None or row.status not in ("exact", "made-explicit") or not row.carried or translation.written is None:
        return True
    given, back = translation.recipe.value(field), recipe_of(translation.written).value(field)
    return given is None or back in (given, None if given == vocabulary()[field].default else given)
