"""Minimal files for a proof: the base with a context's fields and the field in question, written through the lenses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from accmap.mapper.conditions import all_hold
from accmap.mapper.gates import meaningful
from accmap.mapper.lenses import LENSES
from accmap.mapper.lenses.lens import Omitted, Scope
from accmap.mapper.preconditions import refusals_of_text, require_accepted
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.recipe.values import Recipe
from accmap.mapper.translate.read_back import text_of
from accmap.mapper.translate.result import TargetSetting, Translation
from accmap.mapper.translate.translation import translate
from accmap.mappings.tables import field_named, rows_of, table
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.megatron.catalog import catalog
from accmap.schemas.megatron.forks import OWN
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accmap.mappings.names_compiled import FieldName
    from accmap.mappings.tables import Row, Side, SideName
    from accmap.schemas.config import Config, Framework, Value

TABLE: dict[str, Any] = load_table(Path(__file__).with_name("contexts.yaml").read_text("utf-8"))
CONTEXTS: dict[str, dict[FieldName, Value]] = TABLE["contexts"]
SEQUENCES: dict[str, int] = TABLE["sequences"]
"""How fields begin that show in longer samples than the small models' own, and how long those are."""
LAYERS_OF: dict[str, int] = TABLE["layers"]
"""Fields that show in more layers than the small models have, and how many those are."""
WRITTEN: dict[str, dict[SideName, dict[str, Value]]] = TABLE["written"]
"""Fields that no lens writes by themselves, with the arguments or keys, by side of a row, that change them."""
SHOWN_IN: dict[str, list[str]] = TABLE["shown_in"]
"""Fields that show in these contexts alone."""
AS_WRITTEN: tuple[str, ...] = tuple(TABLE["as_written"])
"""Fields that show only where the models are run in the files' own types, too."""
_UNREAD = "unread"
"""The lens of keys that a framework accepts and does not read."""
OTHER: dict[Framework, Framework] = {"megatron": "mindformers", "mindformers": "megatron"}


_NOTHING = Recipe("", "megatron", "", OWN, {}, ())


class Versions(NamedTuple):
    """The versions of a pair."""

    megatron: str
    mindformers: str
    graph: Literal["static", "dynamic"] = "static"

    def __str__(self) -> str:
        """As `mappings/proofs.yaml` names the pair: `0.12 × 2.1`, `0.12 × 2.1 dynamic`."""
        return f"{self.megatron} × {self.partner}"

    @property
    def partner(self) -> str:
        """MindSpore Transformers' version, with its graph if that is the dynamic one."""
        return self.mindformers + (" dynamic" if self.graph == "dynamic" else "")

    @property
    def stem(self) -> str:
        """The pair as a word: `0.12x2.1-dynamic`."""
        return str(self).replace(" × ", "x").replace(" ", "-")

    def of(self, framework: Framework) -> str:
        """One side's."""
        return self.megatron if framework == "megatron" else self.mindformers

    def side(self, framework: Framework) -> SideName:
        """The side of a mapping row."""
        return "megatron" if framework == "megatron" else self.graph


class Written(NamedTuple):
    """A file, as its framework reads it, and the one that accmap makes of it for the other framework."""

    origin: Config
    converted: Config
    translation: Translation

    @property
    def pair(self) -> tuple[Config, Config]:
        """Megatron-LM's file first."""
        sides = (self.origin, self.converted)
        return sides if self.origin.framework == "megatron" else (self.converted, self.origin)


class NotWrittenError(Exception):
    """No pair can be written with these values, and why."""


def read(text: str, framework: Framework, version: str) -> Config:
    """The text as its framework takes it; NotWrittenError where that framework refuses it."""
    name = "pretrain.sh" if framework == "megatron" else "train.yaml"
    options = ReadOptions(**{framework: version})
    try:
        config = config_of(SourceText(name, text), options, path=name)
        require_accepted(config)
    except UnreadableError as error:
        raise NotWrittenError(str(error)) from error
    return config


class Bench:
    """Writes files for one pair of versions."""

    def __init__(self, versions: Versions) -> None:
        self.versions = versions
        self._bases: dict[tuple[str, Framework], Mapping[str, Value] | NotWrittenError] = {}
        self._recipes: dict[str, Recipe] = {}
        self._written: dict[tuple[str, Framework], Written] = {}

    def base(self, context: str, framework: Framework) -> Written:
        """The context alone, with one side as the origin."""
        key = (context, framework)
        if key not in self._written:
            self._written[key] = self.convert(self.text(framework, self.settings(context, framework)), framework)
        return self._written[key]

    def settings(self, context: str, framework: Framework) -> Mapping[str, Value]:
        """The arguments or keys of a context."""
        key = (context, framework)
        if key not in self._bases:
            try:
                self._bases[key] = self._context(context, framework)
            except NotWrittenError as error:
                self._bases[key] = error
        found = self._bases[key]
        if isinstance(found, NotWrittenError):
            raise found
        return found

    def _context(self, context: str, framework: Framework) -> Mapping[str, Value]:
        if framework == "mindformers":
            origin = self.base(context, "megatron")
            return {one.key: one.value for one in origin.translation.settings}
        by_option = catalog(self.versions.megatron).by_option
        settings: dict[str, Value] = {}
        needed = TABLE["needed"].get(f"mindformers {self.versions.partner}", {"base": {}, "fields": {}})
        for flag, value in {**TABLE["base"], **needed["base"]}.items():
            fact = by_option[f"--{flag}"]
            settings[fact.dest] = fact.action != "false" if value is True else value
        wanted = {**needed["fields"], **CONTEXTS[context]}
        recipe = recipe_of(read(self.text("megatron", settings), "megatron", self.versions.megatron))
        for field, value in wanted.items():
            settings = {**settings, **self.put("megatron", field, value, recipe, wanted, stays=True)}
        return settings

    def put(
        self,
        framework: Framework,
        field: FieldName,
        value: Value,
        recipe: Recipe,
        wanted: Mapping[FieldName, Value],
        *,
        stays: bool = False,
    ) -> Mapping[str, Value]:
        """What one field's value is as arguments or keys; NotWrittenError where this side cannot say it.

        What the lens leaves out is None, to be taken out, unless it `stays` as the base has it.
        """
        for row in rows_of(field):
            side = self.side(row, framework)
            if side is None or side.fixed is not None or not side.keys:
                continue
            asked = {**wanted, field: value}
            of = lambda name, asked=asked: asked[name] if name in asked else recipe.value(name)  # noqa: E731
            scope = Scope(self.versions.side(framework), self.versions.of(framework), side.options, of)
            put = LENSES[side.lens].put(tuple(of(name) for name in row.fields), scope)
            named = {self._name(key, framework): one for key, one in zip(side.keys, put, strict=False)}
            if stays:
                named = {key: one for key, one in named.items() if not isinstance(one, Omitted)}
            return {key: None if isinstance(one, Omitted) else one for key, one in named.items() if key}
        raise NotWrittenError(f"{framework} has nothing to set for {field}")

    def side(self, row: Row, framework: Framework) -> Side | None:
        """A row's side in this pair."""
        return row.side(self.versions.side(framework), self.versions.of(framework))

    def settable(self, row: Row, framework: Framework) -> bool:
        """True if this side has a key of the row in its version, and reads it."""
        side = self.side(row, framework)
        if side is None or side.fixed is not None or side.lens == _UNREAD:
            return False
        return any(self._name(key, framework) for key in side.keys)

    def _name(self, key: str, framework: Framework) -> str | None:
        if framework == "mindformers":
            return None if key.startswith("resolved.") else key
        known = catalog(self.versions.megatron).by_dest
        return next((one for one in key.split("|") if one in known), None)

    def text(self, framework: Framework, settings: Mapping[str, Value]) -> str:
        """The file that says these."""
        version = self.versions.of(framework)
        ours = framework == "megatron"
        kept = tuple(
            TargetSetting(key, value, (), True, ())
            for key, value in settings.items()
            if not ours or self._says(key, value)
        )
        found = Translation(
            "", "megatron", framework, version, OWN if ours else self.versions.graph, kept, (), _NOTHING
        )
        return text_of(found, comments=False)

    def _says(self, dest: str, value: Value) -> bool:
        """Whether an argument is written: a flag that stores a constant is there or is not."""
        fact = catalog(self.versions.megatron).by_dest.get(dest)
        if fact is None or value is None:
            return False
        return value is (fact.action == "true") if fact.action in ("true", "false") else True

    def convert(self, text: str, framework: Framework) -> Written:
        """The pair that accmap makes of a file; NotWrittenError where it says that the pair will not run."""
        config = read(text, framework, self.versions.of(framework))
        other = OTHER[framework]
        try:
            made = translate(
                config, other, self.versions.of(other), self.versions.graph if other == "mindformers" else None
            )
        except UnreadableError as error:
            raise NotWrittenError(str(error)) from error
        written = text_of(made, comments=False)
        stops = refusals_of_text(made, written)
        if stops:
            raise NotWrittenError(f"will not run: {stops[0].message('en')}")
        return Written(config, read(written, other, self.versions.of(other)), made)

    def _recipe(self, context: str) -> Recipe:
        if context not in self._recipes:
            text = self.text("megatron", self.settings(context, "megatron"))
            self._recipes[context] = recipe_of(read(text, "megatron", self.versions.megatron))
        return self._recipes[context]

    def contexts(self, row: Row, field: FieldName) -> Iterator[str]:
        """The contexts in which a row says something and a difference in the field counts."""
        gate, known = table().gates.get(field), SHOWN_IN.get(field)
        for name in known or CONTEXTS:
            try:
                recipe = self._recipe(name)
            except NotWrittenError:
                continue
            counts = gate is None or all_hold(gate.counts, recipe) is not False
            if known is not None or (counts and meaningful(row, recipe) is not False):
                yield name


def field_of(name: str) -> FieldName:
    """A field by its name."""
    return field_named(name)
