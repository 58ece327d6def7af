"""The alignment ladder: which settings are simplified, why, and at which step each comes back to the real run."""

from __future__ import annotations

import os
from functools import cache

from ...mappings.tables import rows_of
from ...schemas.border.file_input import package_text
from ...schemas.compilers.tables import load_table
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.message import Words
from ...schemas.versions import TITLES
from ..gates import says_something
from ..messages_compiled import say
from ..recipe.reading import recipe_of
from ..recipe.values import Recipe, RecipeValue
from ..recipe.vocabulary import COMPUTED, vocabulary
from ..translate.megatron_file import PARALLEL_SIZES
from ..translate.read_back import as_read, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value
    from ...schemas.diagnostic import Language
    from ..translate.result import ReportRow, Translation


PLACEHOLDER = "/path/to/data_text_document"
SHARES = "969,30,1"
_SPLIT_SOURCE = "megatron 0.12 arguments.py:validate_args"
CHECKPOINTS = "checkpoints"
"""Both files of a pair load from a folder below it, named after the framework, if the source names no checkpoint."""
LOADED: FieldName = "checkpoint.load_path"
_AT_STEP_0: tuple[tuple[FieldName, bool], ...] = (
    ("checkpoint.resume", False), ("checkpoint.finetune", True), ("checkpoint.load_optimizer", False),
)  # fmt: skip
"""Such a checkpoint holds weights alone."""
_TOKENIZER: dict[FieldName, str] = {
    "tokenizer.vocab_file": "/path/to/vocab.json",
    "tokenizer.merge_file": "/path/to/merges.txt",
    "tokenizer.model": "/path/to/tokenizer",
}


class Change(NamedTuple):
    """One field that was given another value, and why."""

    field: FieldName
    before: Value
    after: Value
    en: str
    zh: str
    sources: tuple[str, ...] = ()

    def reason(self, language: Language) -> str:
        """The reason, for a person."""
        return self.zh if language == "zh" else self.en

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """The contract's entry of `changes`."""
        from ..answers_compiled import change_json

        return change_json(self, language)


class Alignment(NamedTuple):
    """A recipe as it is written, what was changed in it, and the environment its launch needs."""

    recipe: Recipe
    changes: tuple[Change, ...]
    environment: Mapping[str, str]
    number: int
    step: Step
    returned: tuple[str, ...]
    """Fields that this step gave back the source's value."""


def steps() -> tuple[Step, ...]:
    """All steps of the alignment ladder, from the simplest run to the source's own."""
    return alignment_table().steps


def align(recipe: Recipe, number: int = 0) -> Alignment:
    """Recipe simplified to step `number` of the ladder, with the changes."""
    table = alignment_table()
    here = _Simplifier(recipe, table, number)
    before = {change.field: change for change in _Simplifier(recipe, table, number - 1).changes} if number else {}
    now = {change.field: change for change in here.changes}
    returned = tuple(
        field
        for field, change in before.items()
        if (here_now := now.get(field)) is None or here_now.after != change.after
    )
    return Alignment(here.recipe(), tuple(here.changes), here.environment, number, table.steps[number], returned)


def experiment(recipe: Recipe, name: str) -> tuple[Recipe, tuple[Change, ...]]:
    """The recipe with what an experiment of the guide sets on top."""
    fields = dict(recipe.fields)
    changes: list[Change] = []
    for line in alignment_table().experiments[name]:
        entry = fields.get(line.field)
        before = None if entry is None else entry.value
        if _is_same_value(before, line.value):
            continue
        keys, span = ((), None) if entry is None else (entry.keys, entry.span)
        fields[line.field] = RecipeValue(line.value, "explicit", span, keys)
        changes.append(Change(line.field, before, line.value, line.en, line.zh, line.sources))
    ordered = {field: entry for field in vocabulary() if (entry := fields.get(field)) is not None}
    return recipe._replace(fields=ordered), tuple(changes)


def with_paths(recipe: Recipe, *, cut: bool = False) -> tuple[Recipe, tuple[Change, ...]]:
    """Recipe with placeholders for unknown paths, so that both files name the same data.

    `cut`: the source loads a checkpoint, which no longer fits the recipe.
    """
    given = [*_without_data(recipe), *_without_tokenizer(recipe), *_without_checkpoint(recipe, cut=cut)]
    fields = dict(recipe.fields)
    for one in given:
        fields[one.field] = fields[one.field]._replace(value=one.after, origin="explicit", decided=True)
        if one.field == LOADED:
            fields.update((name, fields[name]._replace(value=value)) for name, value in _AT_STEP_0 if name in fields)
    return recipe._replace(fields=fields), tuple(given)


def _without_data(recipe: Recipe) -> Iterator[Change]:
    """Changes that put placeholders for a missing data path and, for Megatron-LM, a missing split."""
    entry = recipe.fields.get("data.blend")
    if entry is None or entry.value is not None or recipe.value("data.mock") or recipe.value("data.train_paths"):
        return
    blend: Value = [[None, PLACEHOLDER]]
    yield Change("data.blend", None, blend, *say.data_path_unknown().both(), ("proc.data.same",))
    split = recipe.fields.get("data.split")
    if recipe.framework == "megatron" and split is not None and split.value is None:
        yield Change("data.split", None, SHARES, *say.shares_of_megatron().both(), (_SPLIT_SOURCE,))


def _without_tokenizer(recipe: Recipe) -> Iterator[Change]:
    """Changes that remove tokenizer files: Megatron-LM opens them, MindSpore Transformers does not."""
    for field, placeholder in _TOKENIZER.items():
        entry = recipe.fields.get(field)
        if entry is not None and not entry.decided:
            source = "megatron 0.12 training/tokenizer/tokenizer.py:build_tokenizer"
            yield Change(field, None, placeholder, *say.tokenizer_unknown().both(), (source,))


def _without_checkpoint(recipe: Recipe, *, cut: bool) -> Iterator[Change]:
    """Changes that make both sides load one checkpoint, because random weights differ between frameworks."""
    entry = recipe.fields.get(LOADED)
    if entry is not None and entry.decided and not entry.value:
        place = f"{CHECKPOINTS}/{recipe.framework}"
        reason = say.checkpoint_of_all_layers() if cut else say.checkpoint_unknown()
        yield Change(LOADED, None, place, *reason.both(), ("proc.weights.convert",))


class _Simplifier:
    def __init__(self, recipe: Recipe, table: AlignmentTable, number: int) -> None:
        self.source = recipe
        self.number = number
        self.fields: dict[FieldName, RecipeValue] = dict(recipe.fields)
        self.changes: list[Change] = []
        self.environment: dict[str, str] = {}
        order = [step.name for step in table.steps]
        self.situation = Situation(recipe.value, self._now, frozenset(order[: number + 1]), recipe.framework)
        for line in table.settings:
            if table.place(line.back) > number:
                self._simplify(line)
        for line in table.environment:
            if table.place(line.back) > number and line.variable is not None:
                self._launch(line)

    def recipe(self) -> Recipe:
        """The simplified recipe."""
        order = vocabulary()
        fields = {
            name: entry for name in order if (entry := self.fields.get(name)) is not None and not self._is_copy(name)
        }
        devices = self._now("parallel.world_size")
        world = devices if isinstance(devices, int) else self.source.world_size
        return self.source._replace(fields=fields, world_size=world)

    def _is_copy(self, field: FieldName) -> bool:
        """True if the framework copies the field from another one, which may have changed."""
        entry = self.fields[field]
        return bool(self.changes) and any(
            side.lens == "alias_of" and (entry.origin == "derived" or not set(side.keys) & set(entry.keys))
            for row in rows_of(field)
            for side in row.megatron
        )

    def _now(self, field: FieldName) -> Value:
        """Current value of a field, after earlier simplifications."""
        found = self.fields.get(field)
        return None if found is None else found.value

    def _simplify(self, line: Simplification) -> None:
        """Apply one line of the simplification table to its field, if the field means anything here."""
        if says_something(line.field, self.source) is False:
            return
        entry = self.fields.get(line.field)
        before = None if entry is None else entry.value
        after = line.value if line.rule is None else RULES[line.rule](before, self.situation)
        if _is_same_value(before, after) or (
            before is None and _is_same_value(after, vocabulary()[line.field].default)
        ):
            return
        if after is None and entry is not None and entry.origin == "derived":
            return  # the framework derives it from the settings that change
        keys = () if entry is None else entry.keys
        span = None if entry is None else entry.span
        self.fields[line.field] = RecipeValue(after, "explicit", span, keys)
        self.changes.append(Change(line.field, before, after, line.en, line.zh, line.sources))

    def _launch(self, line: Simplification) -> None:
        """Apply a line that sets an environment variable, and record the change."""
        assert line.variable is not None
        self.environment[line.variable] = str(line.value)
        before = self.source.value(line.field)
        if before != line.value:
            self.changes.append(Change(line.field, before, line.value, line.en, line.zh, line.sources))


def _is_same_value(one: Value, other: Value) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return list(one) == list(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return (one or False) is (other or False)
    return one == other


_ROUNDS = 3
"""What one value in place of another loses in its turn is settled, too."""
_SOURCES = ("proc.data.same",)


def without_losses(
    recipe: Recipe, across: Callable[[Recipe], Translation], along: Callable[[Recipe], Translation]
) -> tuple[Recipe, tuple[Change, ...]]:
    """Recipe in which values that one file cannot express take what that file does, and the changes.

    `across` translates to the other framework, `along` writes the source's own again.
    """
    wanted: dict[FieldName, Change] = {}
    neutral = recipe
    for _round in range(_ROUNDS):
        own: dict[FieldName, Change] = dict(_lost_field_changes(neutral, along(neutral)))
        found: dict[FieldName, Change] = {**own, **dict(_lost_field_changes(neutral, across(neutral)))}
        if wanted.keys() >= found.keys():
            break
        wanted = {**found, **wanted}
        neutral = _recipe_with_changes(recipe, wanted)
    still = _lost_fields(across(neutral), along(neutral))
    for field, lines in alignment_table().where_lost.items():
        if field in still:
            wanted.update(
                {
                    line.field: Change(line.field, recipe.value(line.field), line.value, line.en, line.zh, line.sources)
                    for line in lines
                }
            )
            neutral = _recipe_with_changes(recipe, wanted)
            still = _lost_fields(across(neutral), along(neutral))
    # What is still lost, on either side, was not settled by the other value: the source's own stays, and the report
    # says what it loses.
    kept: dict[FieldName, Change] = {
        field: change
        for field, change in wanted.items()
        if field not in still and says_something(field, neutral) is not False
    }
    return (neutral if len(kept) == len(wanted) else _recipe_with_changes(recipe, kept)), tuple(kept.values())


def _lost_fields(*written: Translation) -> set[str | None]:
    """Fields that some translation loses."""
    return {row.field for one in written for row in one.rows if _is_lost(row)}


def settle_open_fields(
    recipe: Recipe, across: Callable[[Recipe], Translation], along: Callable[[Recipe], Translation]
) -> tuple[Recipe, tuple[Change, ...], tuple[ReportRow, ...]]:
    """Recipe with a value for each undecided field of the network, the changes, and rows that ask for them.

    Left open, each framework's own default would stand in its place. What the source's own file says all the same is
    taken first, and then what the other file is read back with.
    """
    there = across(recipe)
    rows = [row for row in there.rows if row.defines_model and _is_left_open(row, recipe)]
    if not rows:
        return recipe, (), ()
    here, other = recipe_read_back(along(recipe)).fields, recipe_read_back(there).fields
    changes: dict[FieldName, Change] = {}
    for row in rows:
        assert row.field is not None
        after = _value_read_back(here.get(row.field), other.get(row.field))
        before = recipe.fields.get(row.field)
        if after is None or before is None or (before.decided and before.value == after):
            continue
        changes[row.field] = Change(row.field, before.value, after, *say.left_open().both(), _SOURCES)
    changes.update(_derived_changes(_recipe_with_changes(recipe, changes), across, along))
    return (
        _recipe_with_changes(recipe, changes),
        tuple(changes.values()),
        tuple(row for row in rows if row.field in changes),
    )


def _is_left_open(row: ReportRow, recipe: Recipe) -> bool:
    """True if a report row asks for a value, or a placeholder was written for an undecided one."""
    return row.field is not None and (row.status == "unresolved" or recipe.is_open(row.field))


def _derived_changes(
    recipe: Recipe, across: Callable[[Recipe], Translation], along: Callable[[Recipe], Translation]
) -> Iterator[tuple[FieldName, Change]]:
    """Changes for sizes derived from undecided ones, if the two frameworks derive different values.

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


def _value_read_back(here: RecipeValue | None, other: RecipeValue | None) -> Value:
    """Explicit value of the source's file, else the value that the written file reads back with."""
    explicit = here is not None and here.decided and here.origin == "explicit"
    found = here if explicit else other
    return found.value if found is not None and found.decided else None


def with_placeholder_text(row: ReportRow, recipe: Recipe) -> ReportRow:
    """Report row on an undecided setting, naming the placeholder in both files."""
    assert row.field is not None
    said = say.both_have_for_now(said=Words(row.en, row.zh), value=recipe.value(row.field))
    return row._replace(en=str(said), zh=said.zh)


def _is_lost(row: ReportRow) -> bool:
    """True for a report row on a dropped or approximate value that changes numbers."""
    return row.field is not None and row.impact == "numerics" and row.status in ("dropped", "approximate")


def _lost_field_changes(recipe: Recipe, translation: Translation) -> Iterator[tuple[FieldName, Change]]:
    """Change for each field that a translation loses: the value that the other framework uses instead."""
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


def _recipe_with_changes(recipe: Recipe, changes: dict[FieldName, Change]) -> Recipe:
    """Recipe with the values of these changes."""
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
    """The recipe that the target's framework reads in the file written for it."""
    written = translation.written or as_read(translation, text_of(translation))
    return recipe_of(written)


ALWAYS = "always"
"""Stands in `back` for a setting that no step gives back: it follows from the others."""


class Step(NamedTuple):
    """One rung of the ladder: a part of the real run that comes back."""

    name: str
    en: str
    zh: str

    def text(self, language: Language) -> str:
        """The part of the real run that comes back, for a person."""
        return self.zh if language == "zh" else self.en


class Simplification(NamedTuple):
    """One field, and what it becomes until its step gives it back."""

    field: FieldName
    value: Value
    rule: str | None
    back: str
    sources: tuple[str, ...]
    en: str
    zh: str
    variable: str | None = None
    """The environment variable that holds the field, where the launch decides it and no file."""


class AlignmentTable(NamedTuple):
    """The whole table."""

    steps: tuple[Step, ...]
    settings: tuple[Simplification, ...]
    environment: tuple[Simplification, ...]
    experiments: Mapping[str, tuple[Simplification, ...]]
    """By name: what an experiment of the guide sets on top."""
    where_lost: Mapping[str, tuple[Simplification, ...]]
    """By a field that neither side can give the other's value: what both have instead."""
    initial_weights: Mapping[str, Mapping[str, Value]]
    """By dialect: the keys of the YAML that saves one checkpoint and stops."""

    def place(self, back: str) -> int:
        """Number of the step that restores a setting; one above the last for `always`."""
        if back == ALWAYS:
            return len(self.steps)
        return next(number for number, step in enumerate(self.steps) if step.name == back)


@cache
def alignment_table() -> AlignmentTable:
    """The table, read once."""
    content: Any = load_table(package_text(os.path.dirname(__file__), "alignment.yaml"))
    return AlignmentTable(
        tuple(Step(**step) for step in content["steps"]),
        tuple(_simplification_of_row(row) for row in content["settings"]),
        tuple(_simplification_of_row(row) for row in content["environment"]),
        _simplifications_by_name(content["experiments"]),
        _simplifications_by_name(content["where_lost"]),
        content["initial_weights"],
    )


def _simplifications_by_name(content: Mapping[str, Any]) -> dict[str, tuple[Simplification, ...]]:
    return {
        name: tuple(_simplification_of_row({"back": ALWAYS, **row}) for row in rows) for name, rows in content.items()
    }


def _simplification_of_row(row: dict[str, Any]) -> Simplification:
    """Simplification record of a table row."""
    return Simplification(
        row["field"],
        row.get("value"),
        row.get("rule"),
        row["back"],
        tuple(row["sources"]),
        row["en"],
        row["zh"],
        row.get("name"),
    )


LAYERS = 2
SEED = 1234


class Situation(NamedTuple):
    """The facts that a rule may ask for."""

    source: Callable[[FieldName], Value]
    """A field of the source."""
    aligned: Callable[[FieldName], Value]
    """The same field as far as it is simplified already, in the order of the table."""
    returned: frozenset[str]
    """Steps of the ladder that have given their part back."""
    framework: str
    """The source's framework."""


def _whole_number(value: Value) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _size_or_one(value: Value) -> int:
    return _whole_number(value) or 1


def _list_entries(value: Value) -> list[Value] | None:
    return list(value) if isinstance(value, (list, tuple)) else None


def _two_layers(value: Value, _at: Situation) -> Value:
    """Number of layers, at most two."""
    layers = _whole_number(value)
    return value if layers is None else min(layers, LAYERS)


def _two_layer_pattern(value: Value, _at: Situation) -> Value:
    """Pattern of the first layer and, if there is another kind, its first layer."""
    pattern = _list_entries(value)
    if pattern is None or len(pattern) <= LAYERS:
        return value
    other = next((kind for kind in pattern if kind != pattern[0]), pattern[1])
    return [pattern[0], other]


def _two_layer_list(value: Value, at: Situation) -> Value:
    """A number of layers after which one of the other kind comes has to divide the layers (`no_rope_freq`)."""
    number = _whole_number(value)
    return _two_layer_pattern(value, at) if number is None else min(number, LAYERS)


def _one_at_most(value: Value, _at: Situation) -> Value:
    """The number, at most 1."""
    number = _whole_number(value)
    return value if number is None else min(number, 1)


def _none_where_layers_go(value: Value, at: Situation) -> Value:
    """None if the number of layers was reduced, else the value."""
    return value if at.aligned("model.num_layers") == at.source("model.num_layers") else None


def _same_padding(value: Value, at: Situation) -> Value:
    """Divisor that pads the vocabulary to the size that it has under the source's tensor parallel size.

    A size that the source gives itself may be no multiple of that (`--padded-vocab-size`), and stays.
    """
    divisor, padded = _whole_number(value), _whole_number(at.source("model.padded_vocab_size"))
    before, now = _size_or_one(at.source("parallel.tensor_size")), _size_or_one(at.aligned("parallel.tensor_size"))
    if divisor is None or divisor * before % now or (padded or 0) % (divisor * before):
        return value
    return divisor * before // now


def _as_long_as_the_samples(value: Value, at: Situation) -> Value:
    """A fork's YaRN counts from a shorter length, which Megatron-LM has no place for beside longer samples."""
    positions, length = _whole_number(value), _whole_number(at.source("data.sequence_length"))
    return value if positions is None or length is None else max(positions, length)


def _off_unless_experts_need_it(value: Value, at: Situation) -> Value:
    """Megatron-LM trains experts under tensor parallelism with sequence parallelism only."""
    if (
        "tensor" in at.returned
        and at.source("moe.num_experts") is not None
        and _size_or_one(at.source("parallel.tensor_size")) > 1
    ):
        return value
    return False if value else value


def _dispatcher_of_one_device(value: Value, _at: Situation) -> Value:
    """Token dispatcher that a single device can use."""
    return "alltoall" if value == "flex" else value


def _plain_sharding(value: Value, _at: Situation) -> Value:
    """`no_shard` in place of any sharding of optimizer state."""
    return value if value in (None, "no_shard") else "no_shard"


def _aligned_devices(value: Value, at: Situation) -> Value:
    """Number of devices that the reduced parallel sizes need."""
    if at.source("parallel.data_size") is None and all(at.aligned(name) == at.source(name) for name in PARALLEL_SIZES):
        return value
    devices = 1
    for name in PARALLEL_SIZES:
        devices *= _size_or_one(at.aligned(name))
    return devices


def _aligned_accumulation(value: Value, at: Situation) -> Value:
    """Number of micro batches that keeps the global batch size after the reduction."""
    whole, micro = _whole_number(at.source("batch.global_size")), _whole_number(at.source("batch.micro_size"))
    if not whole or not micro or at.aligned("parallel.data_size") is None:
        return value
    return max(1, whole // (micro * _size_or_one(at.aligned("parallel.data_size"))))


def _run_length(value: Value, at: Situation) -> Value:
    """Number of training steps of the source, if it has one."""
    steps = at.source("run.train_steps")
    return value if steps is None else steps


def _zero_where_set(value: Value, _at: Situation) -> Value:
    """0 for a number that is set; None stays."""
    return value if value is None else 0.0


def _single_balancing_kind(value: Value, _at: Situation) -> Value:
    """`none` in place of several balancing kinds, which the other framework cannot combine."""
    return "none" if _list_entries(value) is not None else value


def _a_seed(value: Value, at: Situation) -> Value:
    """The given seed, else the run's, else the default one."""
    if value:
        return value
    seed = at.aligned("run.seed")
    return seed or SEED


def _false_where_set(value: Value, _at: Situation) -> Value:
    """False for a switch that is on; other values stay."""
    return False if value else value


def _plain_optimizer(value: Value, at: Situation) -> Value:
    """False for a fused optimizer that MindSpore Transformers' file asks for: both forms compute the same."""
    return False if value and at.framework == "mindformers" else value


def _plain_where_latent(value: Value, at: Situation) -> Value:
    """False for a switch that latent attention cannot use."""
    return False if value and at.aligned("attention.latent.enabled") else value


def _engine_where_latent(value: Value, at: Situation) -> Value:
    """`transformer_engine` in place of `local` layers if the model has latent attention."""
    return "transformer_engine" if value == "local" and at.aligned("attention.latent.enabled") else value


RULES: Mapping[str, Callable[[Value, Situation], Value]] = {
    "two_layers": _two_layers,
    "two_layer_pattern": _two_layer_pattern,
    "two_layer_list": _two_layer_list,
    "one_at_most": _one_at_most,
    "none_where_layers_go": _none_where_layers_go,
    "same_padding": _same_padding,
    "as_long_as_the_samples": _as_long_as_the_samples,
    "off_unless_experts_need_it": _off_unless_experts_need_it,
    "dispatcher_of_one_device": _dispatcher_of_one_device,
    "no_sharding": _plain_sharding,
    "devices": _aligned_devices,
    "accumulation": _aligned_accumulation,
    "run_length": _run_length,
    "zero_where_set": _zero_where_set,
    "one_balancing": _single_balancing_kind,
    "a_seed": _a_seed,
    "false_where_set": _false_where_set,
    "plain_optimizer": _plain_optimizer,
    "plain_where_latent": _plain_where_latent,
    "engine_where_latent": _engine_where_latent,
}
