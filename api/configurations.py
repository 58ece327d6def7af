"""Public functions for one or two files: `load`, `convert`, `upgrade` and `diff`, and the classes of their results."""

from __future__ import annotations

from itertools import pairwise

from accmap.calls import checked_call, path_of, require_text, require_word
from accmap.cli.messages_compiled import say
from accmap.mapper.recipe.values import Recipe
from accmap.results import Answer, own, text_document, with_own_settings
from accmap.schemas.config import Config, Framework, ReadOptions, Value
from accmap.schemas.diagnostic import UsageError
from accmap.schemas.fast_records import TYPE_CHECKING, NamedTuple
from accmap.schemas.reader import read_config
from accmap.schemas.suggestion import suggestion
from accmap.schemas.yaml_reader.document import parse_path

if TYPE_CHECKING:
    import os
    from collections.abc import Container, Sequence
    from typing import Any

    from pydantic import BaseModel

    from accmap.cli.pages.document import Document
    from accmap.mapper.differences import Comparison, Difference
    from accmap.mapper.preconditions import Refusal
    from accmap.mapper.translate.result import Change, ReportRow
    from accmap.mappings.names_compiled import FieldName
    from accmap.schemas.diagnostic import Language
    from accmap.schemas.verdict import Unseen

    Source = str | os.PathLike[str] | Config

FRAMEWORKS: tuple[Framework, ...] = ("megatron", "mindformers")
LANGUAGES: tuple[Language, ...] = ("en", "zh")
WILL_NOT_RUN = "will not run"
_TELLING = ("approximate", "conditional", "dropped", "unresolved")


def _among(name: object, known: Container[str]) -> bool:
    return isinstance(name, str) and name in known


def _values_document(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[object]], language: Language
) -> Document:
    """Values with their origin, which is named in the language."""
    from accmap.cli.pages.document import Document, table
    from accmap.schemas.shared_words import term

    named = [(name, value, term(str(origin), language)) for name, value, origin in rows]
    return Document(title, language, table(heads, named))


class NamedRecipe(Answer, Recipe):
    """A recipe that says which of its names is none of the vocabulary's."""

    __slots__ = ()

    def value(self, field: FieldName) -> Value:
        """The value of a field; None where it is not known, UsageError where there is no such field."""
        from accmap.mapper.recipe.vocabulary import vocabulary

        if not _among(field, vocabulary()):
            raise UsageError(say.vocabulary_has_no(field=field, hint=suggestion(str(field), vocabulary())))
        return super().value(field)

    def page(self, language: Language = "en") -> Document:
        """The fields that are not defaults."""
        told = [(row["field"], row["value"], row["origin"]) for row in self.records() if row["origin"] != "default"]
        return _values_document(f"{self.file}: {self.framework}", ("field", "value", "origin"), told, language)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `accmap recipe`."""
        return self.to_json()

    def records(self) -> list[dict[str, Any]]:
        """A row for each field."""
        return [{"field": name, "value": one.value, "origin": one.origin} for name, one in self.fields.items()]


class Loaded(Answer, Config):
    """The effective values of a file, and what they say in the shared vocabulary."""

    __slots__ = ()

    def page(self, language: Language = "en") -> Document:
        """The settings that are not defaults."""
        told = [(row["key"], row["value"], row["origin"]) for row in self.records() if row["origin"] != "default"]
        title = f"{self.file}: {self.framework} {self.framework_version}"
        return _values_document(title, ("key", "value", "origin"), told, language)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `accmap show`."""
        from accmap.cli.commands.show import to_json

        return to_json(self, self.settings.values(), "en")

    def records(self) -> list[dict[str, Any]]:
        """A row for each key."""
        return [{"key": key, "value": one.value, "origin": one.origin} for key, one in self.settings.items()]

    @property
    def recipe(self) -> Recipe:
        """The run in the vocabulary that both frameworks share; read anew each time it is asked for."""
        from accmap.mapper.recipe.reading import recipe_of

        return NamedRecipe(*own(recipe_of(with_own_settings(Config(*self)))))

    def value(self, key: str) -> Value:
        """The effective value of `key`; None where a YAML has none, UsageError for no argument of Megatron-LM."""
        if self.framework == "megatron" and not _among(key, self.settings):
            hint = suggestion(str(key), self.settings)
            raise UsageError(say.megatron_has_no(key=key, version=self.framework_version, hint=hint))
        require_text("key", key)
        return super().value(key)

    @property
    def typed(self) -> BaseModel:
        """The configuration as a Pydantic model of its version: arguments of a script, or sections of a YAML.

        Arguments are as the framework leaves them; a YAML is validated, so that `pydantic.ValidationError` says where
        a value is none of its key's.
        """
        if self.framework == "megatron":
            from accmap.schemas.megatron.models import model as arguments_of

            return arguments_of(self.framework_version).values_of(Config(*self))
        from accmap.schemas.mindformers.models import model as sections_of

        dialect = self.dialect if self.dialect in ("dynamic", "legacy") else "static"
        return sections_of(dialect, self.framework_version).model_validate(_explicit_tree(self))


def _explicit_tree(config: Config) -> dict[str, Any]:
    """Explicit values of a YAML, nested as in the file."""
    found: dict[str, Any] = {}
    for key, setting in config.settings.items():
        if setting.origin == "explicit" and setting.decided:
            _put(found, parse_path(key), own(setting.value))
    return found


def _put(place: Any, path: Sequence[str | int], value: object) -> None:
    """Set a value at a path in nested dictionaries and lists."""
    for step, following in pairwise(path):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int):
            while len(place) <= step:
                place.append(empty)
            place = place[step]
        else:
            place = place.setdefault(step, empty)
    last = path[-1]
    if isinstance(last, int):
        place.append(value)
    else:
        place[last] = value


class ConvertedRecord(NamedTuple):
    """The fields of `Converted`."""

    text: str
    rows: tuple[ReportRow, ...]
    framework: Framework
    version: str
    dialect: str
    will_not_run: tuple[Refusal, ...] = ()
    """Why the written file loads into no run, or into one that stops."""


class Converted(Answer, ConvertedRecord):
    """The other framework's file, and what became of every key of the source."""

    __slots__ = ()

    def page(self, language: Language = "en") -> Document:
        """Why the file will not run, what is lost, and its text."""
        lost = [
            (row.status, ", ".join(row.source), _sentence_on(row, language))
            for row in self.rows
            if row.status in _TELLING
        ]
        return _written_document(self, ("status", "from", "message"), lost, language)

    def to_dict(self) -> dict[str, Any]:
        """The text and its rows."""
        return _written_json(self)

    def records(self) -> list[dict[str, Any]]:
        """A row for each key of the source."""
        return [dict(row.to_json()) for row in self.rows]


def _sentence_on(row: ReportRow | Refusal, language: Language) -> str:
    return row.zh if language == "zh" else row.en


def _written_document(
    made: ConvertedRecord | UpgradedRecord, heads: Sequence[str], rows: Sequence[Sequence[object]], language: Language
) -> Document:
    """Document that shows a written configuration: refusals, table and text."""
    from accmap.cli.pages.document import Section, note, table

    refusals = made.will_not_run
    stops = table(
        ("key", "message", "instead"),
        [(one.key or one.code, _sentence_on(one, language), one.instead) for one in refusals],
    )
    told = [*([note(WILL_NOT_RUN, "bad")] if stops else []), *stops]
    parts = [*told, Section("", table(heads, rows))] if rows else told
    name = f"{getattr(made, 'framework', 'mindformers')} {made.version}"
    return text_document(name, (), parts, {name: made.text})


def _written_json(made: ConvertedRecord | UpgradedRecord) -> dict[str, Any]:
    rows = [row.to_json() for row in made.rows]
    return {"text": made.text, "rows": rows, "will_not_run": [one.en for one in made.will_not_run]}


@checked_call
def load(path: str | os.PathLike[str], options: ReadOptions | None = None) -> Loaded:
    """Read the file at `path`, of either framework, as the framework would; UnreadableError where it cannot be."""
    return with_own_settings(Loaded(*read_config(path_of(path), options)))


def as_config(source: Source, options: ReadOptions | None = None) -> Config:
    """A loaded file, or the file at a path."""
    return Config(*(source if isinstance(source, Config) else load(source, options)))


@checked_call
def convert(
    source: Source,
    to: Framework | None = None,
    *,
    version: str | None = None,
    dialect: str | None = None,
    options: ReadOptions | None = None,
    read_back: bool = True,
    language: Language = "en",
) -> Converted:
    """Translate a file, or what `load` answered, to the other framework, its comments in a language.

    What is written is read back; ReadBackError where it is something else than the rows say, unless `read_back` is off.
    UnreadableError where the source's own framework would not start it. Without `version` and `dialect` the options say
    them, as they do for a file of that framework; where both files are YAMLs, they then say nothing of the source, as
    `accmap convert --mindformers` does. With `version` they name the source's own.
    """
    from accmap.mapper.preconditions import refusals_of_text, require_accepted
    from accmap.mapper.translate.read_back import require_said, text_of
    from accmap.mapper.translate.translation import translate_as_asked
    from accmap.schemas.file_kind import require_training

    if to is not None:
        require_word("to", to, FRAMEWORKS)
    require_word("language", language, LANGUAGES)
    reading = options or ReadOptions()
    of_target = to == "mindformers" and version is None
    config = as_config(source, reading._replace(mindformers=None, dialect=None) if of_target else reading)
    require_training(config)
    require_accepted(config)
    if version is not None:  # the file is read: only that of what is written counts any more
        reading = reading._replace(megatron=version, mindformers=version)
    reading = reading._replace(dialect=dialect or reading.dialect)
    translation = translate_as_asked(with_own_settings(config), reading, to)
    if read_back:
        require_said(translation)
    written = text_of(translation, language=language)
    return Converted(
        written,
        own(translation.rows),
        translation.target_framework,
        translation.version,
        translation.dialect,
        refusals_of_text(translation, written),
    )


class UpgradedRecord(NamedTuple):
    """The fields of `Upgraded`."""

    text: str
    rows: tuple[ReportRow, ...]
    changes: tuple[Change, ...]
    version: str
    dialect: str
    will_not_run: tuple[Refusal, ...] = ()
    """Why the written file loads into no run, or into one that stops."""


class Upgraded(Answer, UpgradedRecord):
    """The newer YAML, and what became of every key of the older one."""

    __slots__ = ()

    def page(self, language: Language = "en") -> Document:
        """Why the file will not run, what moved, and its text."""
        fates = [(one.kind, ", ".join(one.before), ", ".join(one.after)) for one in self.changes if one.kind != "kept"]
        return _written_document(self, ("change", "from", "to"), fates, language)

    def to_dict(self) -> dict[str, Any]:
        """The text and its rows."""
        return _written_json(self)

    def records(self) -> list[dict[str, Any]]:
        """A row for each key of the older file."""
        return [dict(one.to_json()) for one in self.changes]


@checked_call
def upgrade(
    source: Source,
    *,
    version: str | None = None,
    options: ReadOptions | None = None,
    read_back: bool = True,
    language: Language = "en",
) -> Upgraded:
    """Bring a YAML of MindSpore Transformers to the dynamic graph of a version, by default the newest.

    The options name the version of the file that is read; the layout is that of the file on the disk. What is written
    is read back; ReadBackError where it is something else than the rows say, unless `read_back` is off.
    UnreadableError where its own framework would not start it.
    """
    from accmap.mapper.preconditions import refusals_of_text, require_accepted
    from accmap.mapper.translate.upgrade import upgrade as upgraded_yaml
    from accmap.schemas.border.file_input import read_text
    from accmap.schemas.file_kind import require_training
    from accmap.schemas.yaml_reader.document import read_yaml

    require_word("language", language, LANGUAGES)
    config = as_config(source, options)
    require_training(config)
    require_accepted(config)
    config = with_own_settings(config)
    if config.framework == "mindformers":
        config = config._replace(document=read_yaml(read_text(config.file)))
    found = upgraded_yaml(config, version, read_back=read_back, language=language)
    translation = found.translation
    return Upgraded(
        found.text,
        own(translation.rows),
        found.changes,
        translation.version,
        translation.dialect,
        refusals_of_text(translation, found.text),
    )


class Differences(Answer, tuple["Difference", ...]):
    """Every field of two runs, in a tuple that shows itself as a table in a notebook, and the verdict on them."""

    verdict: str
    """`equal`, `different` or `undecided`, as `accmap diff` answers."""
    not_compared: tuple[Unseen, ...]
    """What is relevant and was not compared."""

    comparison: Comparison
    sides: tuple[Recipe, ...]

    def __new__(cls, found: Comparison, sides: Sequence[Recipe]) -> Differences:
        """The rows of a comparison."""
        made = super().__new__(cls, own(found.rows))
        known = {"verdict": found.verdict, "not_compared": found.unseen, "comparison": found, "sides": tuple(sides)}
        vars(made).update(known)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an answer does not change: {name} cannot be set to {value!r}")

    def page(self, language: Language = "en") -> Document:
        """The page of `accmap diff`."""
        from accmap.cli.commands.diff import diff_document

        return diff_document(self.comparison, self.sides, language)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `accmap diff`."""
        return self.comparison.to_json(self.sides, "en")

    def records(self) -> list[dict[str, Any]]:
        """A row for each field."""
        return [
            {
                "field": row.field,
                "a": None if row.a is None else row.a.value,
                "b": None if row.b is None else row.b.value,
                "status": row.status,
                "impact": row.impact,
            }
            for row in self
        ]


@checked_call
def diff(a: Source, b: Source, options: ReadOptions | None = None) -> Differences:
    """Compare two files of either framework, or what `load` answered, by their effective values."""
    from accmap.mapper.differences import compare
    from accmap.mapper.recipe.reading import recipe_of

    configs = [with_own_settings(as_config(side, options)) for side in (a, b)]
    sides = [recipe_of(config) for config in configs]
    return Differences(compare(configs, sides), sides)
