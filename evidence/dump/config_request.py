"""The dump that a command line asks for, and the pair that it is configured for, with the place of every layer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from ...mapper.recipe.reading import recipe_of
from ...mapper.translate.megatron_file import megatron_text
from ...mapper.translate.mindformers_file import mindformers_text
from ...mapper.translate.translation import translate_as_asked
from ...schemas.config import ReadOptions
from ...schemas.diagnostic import WordsError
from ...schemas.fast_records import NamedTuple
from ...schemas.reader import config_of
from ...schemas.source import SourceText
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...mapper.recipe.values import Recipe
    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config, Value

DumpKind = Literal["msprobe", "mindspore-o0", "mindspore-o1", "mindspore-o2"]
Side = Literal["megatron", "mindformers"]


class Span(NamedTuple):
    """Steps or ranks from the first to the last, both included."""

    first: int
    last: int

    def text(self) -> str:
        """Range as both tools write it: `3` or `4-6`."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


class Record(NamedTuple):
    """One end of a scope: a module, the pass and its call, as msprobe numbers them."""

    place: str
    direction: Literal["forward", "backward"] = "forward"
    call: int = 0


class Request(NamedTuple):
    """A dump as it is wished; no spans mean all."""

    kind: DumpKind = "msprobe"
    level: str = "L0"
    task: str = "tensor"
    summary: str = "statistics"
    scope: tuple[Record, ...] = ()
    steps: tuple[Span, ...] = (Span(0, 0),)
    ranks: tuple[Span, ...] = ()
    form: str = "26"
    """msprobe's generation: `26`, or `8` for 8.x and 1.x."""
    precheck: bool = False


def spans_of(text: str) -> tuple[Span, ...]:
    """Ranges in a text such as `0,3-5`; none for `all`; ValueError otherwise."""
    if text == "all":
        return ()
    found: list[Span] = []
    for piece in text.split(","):
        given = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", piece)
        if given is None:
            raise ValueError(piece)
        first = int(given[1])
        last = int(given[2]) if given[2] else first
        if last < first:
            raise ValueError(piece)
        found.append(Span(first, last))
    return tuple(found)


_RECORD = re.compile(
    r"^(?:(?:Cell|Module)\.)?(?P<place>.+?)(?:\.(?P<direction>forward|backward)(?:\.(?P<call>\d+))?)?$"
)


def record_of(text: str) -> Record:
    """Module record from a name as people or msprobe write it."""
    given = _RECORD.match(text)
    if given is None:
        return Record(text)
    direction: Literal["forward", "backward"] = "backward" if given["direction"] == "backward" else "forward"
    return Record(given["place"], direction, int(given["call"] or 0))


class Subject(NamedTuple):
    """Both sides as they run; a side that no file gives is the translation of the other."""

    megatron: Config
    mindformers: Config
    megatron_recipe: Recipe
    mindformers_recipe: Recipe
    derived: str | None = None
    """The side that was translated, where only one file is given."""

    @property
    def dialect(self) -> str:
        """Graph mode of the MindSpore Transformers side: `static` or `dynamic`."""
        return "dynamic" if self.mindformers.dialect == "dynamic" else "static"

    @property
    def layers(self) -> int:
        """Number of decoder layers, from the side that sets it."""
        return self.number("model.num_layers", 0)

    def number(self, field: FieldName, default: int) -> int:
        """Count from Megatron-LM's side, else MindSpore Transformers', else the default."""
        for recipe in (self.megatron_recipe, self.mindformers_recipe):
            value = recipe.value(field)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return default


def subject_of(configs: Sequence[Config], options: ReadOptions) -> Subject:
    """Pair of configurations to dump, completed by conversion if one is given; ValueError for two of one framework."""
    first = configs[0]
    if len(configs) == 2:
        sides = {config.framework: config for config in configs}
        if len(sides) < 2:
            raise ValueError(first.framework)
        megatron, mindformers = sides["megatron"], sides["mindformers"]
        return Subject(megatron, mindformers, recipe_of(megatron), recipe_of(mindformers))
    if first.framework == "megatron":
        translated = translate_as_asked(first, options)
        written, name = mindformers_text(translated), "translated.yaml"
        pinned = ReadOptions(mindformers=translated.version, dialect=translated.dialect)
        other = config_of(SourceText(name, written), pinned, path=name)
        return Subject(first, other, recipe_of(first), recipe_of(other), "mindformers")
    translated = translate_as_asked(first, options)
    name = "translated.sh"
    size = recipe_of(first).value("parallel.world_size")
    pinned = ReadOptions(megatron=translated.version, world_size=size if isinstance(size, int) else None)
    other = config_of(SourceText(name, megatron_text(translated)), pinned, path=name)
    return Subject(other, first, recipe_of(other), recipe_of(first), "megatron")


class Chunk(NamedTuple):
    """A run of decoder layers that Megatron-LM keeps in one model of one pipeline stage."""

    stage: int
    part: int
    """Which of the stage's models, counted from 0: more than one with a virtual pipeline."""
    first: int
    """The number of its first layer in the whole model."""
    layers: int


class LayoutUnknownError(WordsError):
    """The layers of the pipeline stages cannot be told."""


def chunks_of(subject: Subject) -> tuple[Chunk, ...]:
    """Layers of each pipeline stage and of each virtual part in it, as Megatron-LM places them.

    Source: megatron-core 0.12 `transformer/transformer_layer.py:get_transformer_layer_offset`.
    """
    recipe, config = subject.megatron_recipe, subject.megatron
    layers = subject.layers
    stages = _count(recipe, "parallel.pipeline_size")
    parts = _count(recipe, "parallel.virtual_pipeline_size")
    if config.value("pipeline_model_parallel_layout"):
        raise LayoutUnknownError(say.pipeline_model_parallel_layout_places())
    given = recipe.value("parallel.pipeline_layers") if stages > 1 else None
    if isinstance(given, list):
        table = _told_rounds(given, parts)
        if len(table) != parts or any(len(row) != stages for row in table) or sum(map(sum, table)) != layers:
            raise LayoutUnknownError(
                say.the_stages_have_layers_which(given=given, layers=layers, stages=stages, parts=parts)
            )
    else:
        ahead = int(bool(config.value("account_for_embedding_in_pipeline_split")))
        behind = int(bool(config.value("account_for_loss_in_pipeline_split")))
        size, rest = divmod(layers + ahead + behind, stages * parts)
        if rest:
            raise LayoutUnknownError(say.layers_cannot_be_cut_into(layers=layers, stages=stages * parts))
        table = [[size] * stages for _ in range(parts)]
        table[0][0] -= ahead
        table[-1][-1] -= behind
    found: list[Chunk] = []
    first = 0
    for part, row in enumerate(table):
        for stage, count in enumerate(row):
            found.append(Chunk(stage, part, first, count))
            first += count
    return tuple(sorted(found, key=lambda chunk: (chunk.stage, chunk.part)))


def _told_rounds(given: Sequence[Value], parts: int) -> list[list[int]]:
    """Layers of every stage, a row for each virtual part; empty if the numbers do not divide."""
    rounds = [entry for entry in given if isinstance(entry, list)]
    if rounds:
        return [[count for count in row if isinstance(count, int)] for row in rounds]
    counts = [count for count in given if isinstance(count, int)]
    return [] if any(count % parts for count in counts) else [[count // parts for count in counts]] * parts


def _count(recipe: Recipe, field: FieldName) -> int:
    """Positive whole number of a field, else 1."""
    value = recipe.value(field)
    return value if isinstance(value, int) and value > 0 else 1
