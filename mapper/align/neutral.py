"""What the other framework cannot do leaves an aligned pair: both files get what that framework does instead.

The rows of the loss report decide, so there is no list to keep: a field that the translation drops or only comes near
to, with numeric impact, takes the value that the written file is read back with, or the vocabulary's neutral one.
"""

from __future__ import annotations

from ...schemas.config import ReadOptions
from ...schemas.light_typing import TYPE_CHECKING
from ...schemas.reader import config_of
from ...schemas.source import SourceText
from ..recipe.reading import recipe_of
from ..recipe.values import Recipe, RecipeValue
from ..recipe.vocabulary import vocabulary
from ..translate.megatron_file import megatron_text
from ..translate.mindformers_file import mindformers_text
from .alignment import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value
    from ..translate.report import ReportRow
    from ..translate.target import Translation

_NAMES = {"megatron": "Megatron-LM", "mindformers": "MindSpore Transformers"}
_SOURCES = ("proc.data.same",)


def without_losses(
    recipe: Recipe, across: Callable[[Recipe], Translation], along: Callable[[Recipe], Translation]
) -> tuple[Recipe, tuple[Change, ...]]:
    """The recipe with what the target does instead of what it cannot do, and what was changed.

    `across` translates to the other framework, `along` writes the source's own again.
    """
    first = across(recipe)
    wanted: dict[FieldName, Change] = dict(_instead(recipe, first))
    if not wanted:
        return recipe, ()
    neutral = _with(recipe, wanted)
    # What is still lost, on either side, was not settled by the other value: the source's own stays, and the report
    # says what it loses.
    still = {row.field for written in (across(neutral), along(neutral)) for row in written.rows if _is_lost(row)}
    kept: dict[FieldName, Change] = {field: change for field, change in wanted.items() if field not in still}
    return (neutral if len(kept) == len(wanted) else _with(recipe, kept)), tuple(kept.values())


def _is_lost(row: ReportRow) -> bool:
    return row.field is not None and row.impact == "numerics" and row.status in ("dropped", "approximate")


def _instead(recipe: Recipe, translation: Translation) -> Iterator[tuple[FieldName, Change]]:
    lost = [row for row in translation.rows if _is_lost(row)]
    if not lost:
        return
    back = read_back(translation)
    name = _NAMES[translation.target_framework]
    for row in lost:
        assert row.field is not None
        before, there = recipe.value(row.field), back.fields.get(row.field)
        after: Value = vocabulary()[row.field].default if there is None or not there.decided else there.value
        if after == before and type(after) is type(before):
            continue
        english = f"{name} cannot do the source's; both files have what it does. {row.en}"
        chinese = f"{name} 无法实现源配置的设置，两个文件均采用其实际行为。{row.zh}"
        yield row.field, Change(row.field, before, after, english.strip(), chinese, _SOURCES)


def _with(recipe: Recipe, changes: dict[FieldName, Change]) -> Recipe:
    fields = dict(recipe.fields)
    for name, change in changes.items():
        entry = fields.get(name)
        keys, span = ((), None) if entry is None else (entry.keys, entry.span)
        fields[name] = RecipeValue(change.after, "explicit", span, keys)
    ordered: dict[FieldName, RecipeValue] = {name: fields[name] for name in vocabulary() if name in fields}
    return recipe._replace(fields=ordered)


def read_back(translation: Translation) -> Recipe:
    """What the target's framework makes of the file that is written for it."""
    version = translation.version
    if translation.target_framework == "megatron":
        text, name = megatron_text(translation, comments=False), "example.sh"
        options = ReadOptions(megatron=version)
    else:
        text, name = mindformers_text(translation, comments=False), "example.yaml"
        options = ReadOptions(
            mindformers=version, dialect=translation.dialect, world_size=translation.recipe.world_size
        )
    return recipe_of(config_of(SourceText(name, text), options, path=name))
