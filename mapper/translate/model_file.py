"""A model's `config.json` of a run: what transformers needs to build the same network.

Every family that can be written is tried, and what it says is read back as any `config.json` is: the family whose
network is the run's own is written, and what it cannot say is in the report.
"""

from __future__ import annotations

from ...mappings.keys_compiled import MODEL_TYPE_NAME
from ...mappings.tables import table
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple, cast
from ...schemas.huggingface.model_config import huggingface_config
from ...schemas.rows import TOO_ODD, UndecidedError
from ...schemas.source import SourceText
from ..differences import differences
from ..gates import meaningful
from ..recipe.reading import recipe_of
from ..recipe.vocabulary import COMPUTED, defines_model, vocabulary
from .messages_compiled import say
from .result import ReportRow, Translation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Status
    from ...schemas.config import Config
    from ..differences import Difference
    from ..recipe.values import Recipe, RecipeValue

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
    def lost_fields(self) -> int:
        """Number of network fields that this candidate changes or leaves open."""
        parted = ("different", "undecided")
        own = (one for one in self.rows if one.field is not None and not one.field.startswith(COMPUTED))
        return sum(one.status in parted and one.impact == "numerics" for one in own)


def model_file(config: Config) -> ModelFile:
    """Hugging Face `config.json` of a run's network, with a report on everything the run sets."""
    from ...mappings.huggingface_compiled import WRITTEN

    recipe = recipe_of(config)
    written = cast("Mapping[str, tuple[tuple[str, Callable[[Any], Any]], ...]]", WRITTEN)
    candidates = [_candidate_of_family(recipe, family, written[family]) for family in written]
    found = min(candidates, key=lambda one: one.lost_fields + sum(1 for _ in _lost_rows(recipe, one)))
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
        """Value of an expression over the fields; unset if JSON cannot represent it."""
        from json import dumps

        try:
            found = expression(self)
            dumps(found, allow_nan=False)
        except (UndecidedError, *TOO_ODD):
            return _OPEN
        return found


def _candidate_of_family(recipe: Recipe, family: str, rows: tuple[tuple[str, Callable[[Any], Any]], ...]) -> _Candidate:
    """`config.json` of one family for a recipe, read back and compared."""
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
    """Report rows for network fields, then for keys outside the network."""
    rows = [row for one in made.rows if (row := _row(recipe, made, one)) is not None]
    rows += _lost_rows(recipe, made)
    rows += _without_field(recipe)
    yield from rows
    said = {key for row in rows for key in row.source}
    said.update(key for name in OF_ITS_FILE | set(made.recipe.fields) for key in _keys_of(recipe, name))
    left = tuple(key for key, one in config.settings.items() if one.origin == "explicit" and key not in said)
    if left:
        yield ReportRow(None, left, (), None, "dropped", "none", False, *say.no_part_of_a_model().both())


def _without_field(recipe: Recipe) -> Iterator[ReportRow]:
    """Report rows for keys without a field that may change the computation."""
    for entry in recipe.unmapped:
        if entry.impact != "none":
            status: Status = "dropped" if entry.decided else "unresolved"
            yield ReportRow(None, (entry.key,), (), entry.value, status, entry.impact, False, entry.en, entry.zh)


def _keys_of(recipe: Recipe, name: str) -> tuple[str, ...]:
    entry = recipe.fields.get(cast("Any", name))
    return () if entry is None else entry.keys


def _row(recipe: Recipe, made: _Candidate, one: Difference) -> ReportRow | None:
    """Report row of a field; None if only the run has it or it follows from others."""
    name = one.field
    if name is None or name.startswith(COMPUTED) or one.status not in _STATUS:
        return None
    value = None if one.b is None else one.b.value
    said = {
        "undecided": say.model_undecided(),
        "different": say.family_says_otherwise(family=made.family, value=value),
    }.get(one.status)
    texts = ("", "") if said is None else said.both()
    entry = recipe.fields.get(name)
    given = entry is not None and entry.origin == "explicit"
    keys, target = _keys_of(recipe, name), _keys_of(made.recipe, name)
    status = _STATUS[one.status]
    return ReportRow(name, keys, target, value, status, one.impact, status == "exact", *texts, explicit=given)


_STATUS: Mapping[str, Status] = {"equal": "exact", "undecided": "unresolved", "different": "dropped"}


def _lost_rows(recipe: Recipe, made: _Candidate) -> Iterator[ReportRow]:
    """Rows for fields of the network that no key of a `config.json` has."""
    telling = {name for row in table().rows if meaningful(row, recipe) is not False for name in row.fields}
    for name, entry in recipe.fields.items():
        known = name in OF_ITS_FILE or name in made.recipe.fields or name not in telling
        if not known and entry.origin == "explicit" and entry.value and defines_model(name):
            texts = say.family_has_no_field().both()
            yield ReportRow(name, entry.keys, (), entry.value, "dropped", "numerics", False, *texts)


OF_ITS_FILE = frozenset(
    (
        "model.vocab_size", "model.vocab_divisor", "model.family", "model.architecture", "model.encoder_num_layers",
        "model.decoder_num_layers",
    )
)  # fmt: skip
"""What says in other words how many rows and layers there are, and which class builds the network."""


def with_model(base: Recipe, model: Recipe) -> Recipe:
    """Recipe of `base` with the network fields of `model`."""
    fields: dict[FieldName, RecipeValue] = {
        name: entry for name, entry in base.fields.items() if not name.startswith(COMPUTED) and name not in OF_ITS_FILE
    }
    for name, entry in model.fields.items():
        replaced = base.fields.get(name)
        keys = (*entry.keys, *(() if replaced is None else replaced.keys))
        span = None if entry.span is None else entry.span._replace(file=model.file)
        fields[name] = entry._replace(keys=tuple(dict.fromkeys(keys)), span=span)
    ordered = {name: entry for name in vocabulary() if (entry := fields.get(name)) is not None}
    unmapped = tuple(one for one in model.unmapped if one.impact != "none")
    return base._replace(fields=ordered, unmapped=(*base.unmapped, *unmapped))
