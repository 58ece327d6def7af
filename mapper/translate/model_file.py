"""A model's `config.json` of a run: what transformers needs to build the same network.

Every family that can be written is tried, and what it says is read back as any `config.json` is: the family whose
network is the run's own is written, and what it cannot say is in the report.
"""

from __future__ import annotations

from ...mappings.keys_compiled import MODEL_TYPE_NAME
from ...mappings.tables import table
from ...schemas.huggingface.reading import huggingface_config
from ...schemas.light_typing import TYPE_CHECKING, NamedTuple, cast
from ...schemas.rows import TOO_ODD, UndecidedError
from ...schemas.source import SourceText
from ..differences import differences
from ..gates import meaningful
from ..recipe.reading import recipe_of
from ..recipe.vocabulary import COMPUTED, defines_model
from .based import OF_ITS_FILE
from .messages_compiled import say
from .report import ReportRow
from .target import Translation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from ...schemas.config import Config
    from ..differences import Difference
    from ..recipe.values import Recipe

FILE = "config.json"
VERSION = "4.57"
"""The version whose keys are written: 5 reads them, too."""
_RELEASE = "4.57.1"


class ModelFile(NamedTuple):
    """A written `config.json`."""

    keys: Mapping[str, object]
    translation: Translation


class _Candidate(NamedTuple):
    family: str
    keys: dict[str, object]
    written: Config
    recipe: Recipe
    rows: tuple[Difference, ...]

    @property
    def lost(self) -> int:
        """How much of the network it says otherwise, or does not say."""
        parted = ("different", "undecided")
        own = (one for one in self.rows if one.field is not None and not one.field.startswith(COMPUTED))
        return sum(one.status in parted and one.impact == "numerics" for one in own)


def model_file(config: Config) -> ModelFile:
    """The `config.json` of a run's network, and what became of everything the run says."""
    from ...mappings.huggingface_compiled import WRITTEN

    recipe = recipe_of(config)
    written = cast("Mapping[str, tuple[tuple[str, Callable[[Any], Any]], ...]]", WRITTEN)
    found = min((_candidate(recipe, family, written[family]) for family in written), key=lambda one: one.lost)
    rows = tuple(_rows(config, recipe, found))
    translation = Translation(
        config.file, config.framework, "huggingface", VERSION, found.family, (), rows, recipe, written=found.written,
        compared=len(found.rows),
    )  # fmt: skip
    return ModelFile(found.keys, translation)


_OPEN = object()
"""Stands for what nothing is known of."""


class _Fields:
    """The recipe's fields as expressions ask for them."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def __getitem__(self, name: str) -> Any:
        entry = self.recipe.fields.get(cast("Any", name))
        if entry is not None and not entry.decided:
            raise UndecidedError(name)
        return None if entry is None else entry.value

    def answer(self, expression: Callable[[Any], Any]) -> object:
        """What an expression makes of the fields."""
        try:
            return expression(self)
        except (UndecidedError, *TOO_ODD):
            return _OPEN


def _candidate(recipe: Recipe, family: str, rows: tuple[tuple[str, Callable[[Any], Any]], ...]) -> _Candidate:
    from json import dumps

    from ...schemas.huggingface.facts_compiled import FACTS

    fields = _Fields(recipe)
    keys: dict[str, object] = {
        "architectures": [FACTS[VERSION][family][1]],
        MODEL_TYPE_NAME: family,
        **{key: fields.answer(expression) for key, expression in rows},
        "transformers_version": _RELEASE,
    }
    keys = {key: value for key, value in keys.items() if value is not _OPEN}
    written = huggingface_config(SourceText(FILE, dumps(keys)))
    back = recipe_of(written)
    return _Candidate(family, keys, written, back, differences(recipe, back))


def _rows(config: Config, recipe: Recipe, made: _Candidate) -> Iterator[ReportRow]:
    """What became of every field of the network, then of what is no part of it."""
    said: set[str] = set()
    for one in made.rows:
        if one.field is None or one.field.startswith(COMPUTED):
            continue
        entry, back = recipe.fields.get(one.field), made.recipe.fields.get(one.field)
        keys = () if entry is None else entry.keys
        target = () if back is None else back.keys
        value = None if back is None else back.value
        said.update(keys)
        given = entry is not None and entry.origin == "explicit"
        if one.status == "equal":
            yield ReportRow(one.field, keys, target, value, "exact", one.impact, True, explicit=given)
        elif one.status == "undecided":
            text = say.model_undecided().both()
            yield ReportRow(one.field, keys, target, value, "unresolved", one.impact, False, *text, explicit=given)
        elif one.status == "different":
            text = say.family_says_otherwise(family=made.family, value=value).both()
            yield ReportRow(one.field, keys, target, value, "dropped", one.impact, False, *text, explicit=given)
    telling = {name for row in table().rows if meaningful(row, recipe) is not False for name in row.fields}
    for name, entry in recipe.fields.items():
        if name in OF_ITS_FILE or name in made.recipe.fields:
            said.update(entry.keys)
        elif entry.origin == "explicit" and defines_model(name) and entry.value and name in telling:
            said.update(entry.keys)
            text = say.family_has_no_field().both()
            yield ReportRow(name, entry.keys, (), entry.value, "dropped", "numerics", False, *text)
    left = tuple(key for key, one in config.settings.items() if one.origin == "explicit" and key not in said)
    if left:
        yield ReportRow(None, left, (), None, "dropped", "none", False, *say.no_part_of_a_model().both())
