"""What one of the two files cannot say, or the source leaves open, is the same in both files of an aligned pair.

The rows of the loss report decide, so there is no list to keep: a field that the translation drops or only comes near
to, with numeric impact, takes the value that the written file is read back with, or the vocabulary's neutral one. What
the source's own framework cannot be told again, as a fork's argument in a script for Megatron-LM itself, goes likewise.
"""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.message import Words
from ...schemas.versions import TITLES
from ..gates import says_something
from ..messages_compiled import say
from ..recipe.reading import recipe_of
from ..recipe.values import Recipe, RecipeValue
from ..recipe.vocabulary import COMPUTED, vocabulary
from ..translate.read_back import as_read
from ..translate.writing import text_of
from .alignment import Change
from .table import alignment_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value
    from ..translate.report import ReportRow
    from ..translate.target import Translation
    from .table import Simplification

_ROUNDS = 3
"""What one value in place of another loses in its turn is settled, too."""
_SOURCES = ("proc.data.same",)


def without_losses(
    recipe: Recipe, across: Callable[[Recipe], Translation], along: Callable[[Recipe], Translation]
) -> tuple[Recipe, tuple[Change, ...]]:
    """The recipe with what each of the files does instead of what it cannot say, and what was changed.

    `across` translates to the other framework, `along` writes the source's own again.
    """
    wanted: dict[FieldName, Change] = {}
    neutral = recipe
    for _round in range(_ROUNDS):
        own: dict[FieldName, Change] = dict(_instead(neutral, along(neutral)))
        found: dict[FieldName, Change] = {**own, **dict(_instead(neutral, across(neutral)))}
        if wanted.keys() >= found.keys():
            break
        wanted = {**found, **wanted}
        neutral = _with(recipe, wanted)
    still = _lost(across(neutral), along(neutral))
    for field, lines in alignment_table().where_lost.items():
        if field in still:
            wanted.update({line.field: _changed(recipe, line) for line in lines})
            neutral = _with(recipe, wanted)
            still = _lost(across(neutral), along(neutral))
    # What is still lost, on either side, was not settled by the other value: the source's own stays, and the report
    # says what it loses.
    kept: dict[FieldName, Change] = {
        field: change
        for field, change in wanted.items()
        if field not in still and says_something(field, neutral) is not False
    }
    return (neutral if len(kept) == len(wanted) else _with(recipe, kept)), tuple(kept.values())


def _lost(*written: Translation) -> set[str | None]:
    return {row.field for one in written for row in one.rows if _is_lost(row)}


def _changed(recipe: Recipe, line: Simplification) -> Change:
    return Change(line.field, recipe.value(line.field), line.value, line.en, line.zh, line.sources)


def settled(
    recipe: Recipe, across: Callable[[Recipe], Translation], along: Callable[[Recipe], Translation]
) -> tuple[Recipe, tuple[Change, ...], tuple[ReportRow, ...]]:
    """The recipe with one value for what the source leaves open of the network, and the rows that still ask for it.

    Left open, each framework's own default would stand in its place. What the source's own file says all the same is
    taken first, and then what the other file is read back with.
    """
    there = across(recipe)
    rows = [row for row in there.rows if row.field is not None and row.status == "unresolved" and row.defines_model]
    if not rows:
        return recipe, (), ()
    here, other = recipe_read_back(along(recipe)).fields, recipe_read_back(there).fields
    changes: dict[FieldName, Change] = {}
    for row in rows:
        assert row.field is not None
        after = _after_reading(here.get(row.field), other.get(row.field))
        before = recipe.fields.get(row.field)
        if after is None or before is None or (before.decided and before.value == after):
            continue
        changes[row.field] = Change(row.field, before.value, after, *say.left_open().both(), _SOURCES)
    changes.update(_following(_with(recipe, changes), across, along))
    return _with(recipe, changes), tuple(changes.values()), tuple(row for row in rows if row.field in changes)


def _following(
    recipe: Recipe, across: Callable[[Recipe], Translation], along: Callable[[Recipe], Translation]
) -> Iterator[tuple[FieldName, Change]]:
    """What the source's framework derives from the sizes that were open, where the other one derives another value.

    Without a hidden size there was no feed-forward width to write, and each side would take its own.
    """
    here, other = recipe_read_back(along(recipe)).fields, recipe_read_back(across(recipe)).fields
    for name, entry in recipe.fields.items():
        mine, theirs = here.get(name), other.get(name)
        if entry.value is not None or mine is None or theirs is None or mine.origin != "derived":
            continue
        if name.startswith(COMPUTED):
            continue
        if vocabulary()[name].impact == "numerics" and mine.value is not None and mine.value != theirs.value:
            yield name, Change(name, None, mine.value, *say.left_open().both(), _SOURCES)


def _after_reading(here: RecipeValue | None, other: RecipeValue | None) -> Value:
    """What the source's own file says all the same, else what the other file is read back with."""
    explicit = here is not None and here.decided and here.origin == "explicit"
    found = here if explicit else other
    return found.value if found is not None and found.decided else None


def placed(row: ReportRow, recipe: Recipe) -> ReportRow:
    """A row about an open setting, with what both files have in its place."""
    assert row.field is not None
    said = say.both_have_for_now(said=Words(row.en, row.zh), value=recipe.value(row.field))
    return row._replace(en=str(said), zh=said.zh)


def _is_lost(row: ReportRow) -> bool:
    return row.field is not None and row.impact == "numerics" and row.status in ("dropped", "approximate")


def _instead(recipe: Recipe, translation: Translation) -> Iterator[tuple[FieldName, Change]]:
    lost = [row for row in translation.rows if _is_lost(row)]
    if not lost:
        return
    back = recipe_read_back(translation)
    name = TITLES[translation.target_framework]
    for row in lost:
        assert row.field is not None
        before, there = recipe.value(row.field), back.fields.get(row.field)
        after: Value = vocabulary()[row.field].default if there is None or not there.decided else there.value
        if after == before and type(after) is type(before):
            continue
        said = say.both_do_what_it_does(framework=name, said=Words(row.en, row.zh))
        yield row.field, Change(row.field, before, after, said.strip(), said.zh, _SOURCES)


def _with(recipe: Recipe, changes: dict[FieldName, Change]) -> Recipe:
    fields = dict(recipe.fields)
    for name, change in changes.items():
        entry = fields.get(name)
        keys, span = ((), None) if entry is None else (entry.keys, entry.span)
        fields[name] = RecipeValue(change.after, "explicit", span, keys)
    ordered: dict[FieldName, RecipeValue] = {
        name: entry for name in vocabulary() if (entry := fields.get(name)) is not None
    }
    return recipe._replace(fields=ordered)


def recipe_read_back(translation: Translation) -> Recipe:
    """What the target's framework makes of the file that is written for it."""
    written = translation.written or as_read(translation, text_of(translation))
    return recipe_of(written)
