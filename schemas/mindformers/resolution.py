"""What MindSpore Transformers makes of a configuration: the rows of `resolution.yaml` over its values.

Every value carries the paths that decided it. What the real code refuses is a problem, and the reading goes on with
the value as written; a section that meets a value of a kind it cannot compute with names it and ends.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING, NamedTuple
from ..message import Words
from ..named_module import named_module
from ..rows import Run, Sourced
from ..versions import names, newest_until
from .messages_compiled import say
from .reading import Undecided, default_setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from ..config import Setting
    from ..rows import Expression, Row
    from .reading import Reading

VERSIONS = names("mindformers")
STAGES = {"static": ("attributes", "transformer", "trainer"), "dynamic": ("dynamic checks", "dynamic")}
"""The stages whose rows stand in one module."""
_sourced = Sourced._make


class More(NamedTuple):
    """What a row says beside its action: `Row.more`."""

    because: tuple[str, ...]
    at: str
    number: int
    """By which what the row says is found."""


class Section(NamedTuple):
    """The rows of one section, and the values to name where its code cannot compute with one."""

    fields: tuple[str, ...]
    condition: Expression | None
    rows: tuple[Row, ...]


def module_name(version: str, what: str) -> str:
    """The compiled module of a version's rows for one graph, or of their words."""
    return f"resolution_{version.replace('.', '_')}_{what}_compiled"


def _module(version: str, what: str) -> Any:
    """The same, loaded; a version that is not known has that of the one before it."""
    return named_module(module_name(newest_until(version, VERSIONS), what), __package__)


def sections(version: str, stage: str) -> tuple[Section, ...]:
    """The sections of a stage."""
    graph = next(graph for graph, stages in STAGES.items() if stage in stages)
    return _module(version, graph).STAGES[stage]


def definition(name: str) -> Callable[..., Any]:
    """What the table defines under a name, for other programs."""
    return getattr(named_module("resolution_definitions_compiled", __package__), name)


def near(name: str, known: Iterable[str]) -> Words:
    """What was probably meant by a name; few files need the code for it."""
    from ..suggestion import suggestion

    return suggestion(name, known)


class Values(Run):
    """Values by their names while the rows are applied, each with the paths that decided it."""

    version: str
    blamed: tuple[str, ...]
    """What to name where the section at hand cannot compute with a value."""

    def sources(self, name: str) -> tuple[str, ...]:
        """The paths that decided a value."""
        raise NotImplementedError

    def resolve(self, stage: str) -> None:
        """Apply the sections of a stage."""
        for section in sections(self.version, stage):
            if section.condition is None or section.condition(self):
                self.blamed = section.fields
                self.follow(section.rows)

    def words(self, row: Row) -> Words:
        """What a row says of the values at hand."""
        texts = _module(self.version, "words").WORDS.get(row.more.number, ("", ""))
        return Words(*[text if isinstance(text, str) else text(self) for text in texts])

    def sources_of(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The paths that decided some values."""
        if len(names) < 2:
            return self.sources(names[0]) if names else ()
        return tuple(dict.fromkeys([path for name in names for path in self.sources(name)]))

    def decided_by(self, row: Row) -> tuple[str, ...]:
        """The paths that decided what the row says."""
        return self.sources_of(row.more.because)


class Fields(Values):
    """The attributes of a model's configuration, or the fields of its TransformerConfig, under construction."""

    def __init__(self, reading: Reading, fields: dict[str, Sourced], facts: Mapping[str, Any]) -> None:
        self.reading = reading
        self.version = reading.version
        self.fields = fields
        self.locals = {f"facts.{name}": Sourced(value) for name, value in {"version": self.version, **facts}.items()}

    def __getitem__(self, name: str) -> Any:
        """A value; None where this version has none of that name."""
        one = self.fields.get(name) or self.locals.get(name)
        return None if one is None else one.value

    def sources(self, name: str) -> tuple[str, ...]:
        """The paths that decided a value."""
        one = self.fields.get(name) or self.locals.get(name)
        return () if one is None else one.sources

    def has(self, name: str) -> bool:
        """Whether there is such a value."""
        return name in self.fields

    def written(self, name: str) -> bool:
        """Whether it is not the class's own."""
        return bool(self.sources(name))

    def set(self, row: Row, value: Any) -> None:
        """Write a value."""
        self.fields[row.target] = _sourced((value, self.decided_by(row), True))

    def drop(self, row: Row, _: Any) -> None:
        """Take an attribute away."""
        self.fields.pop(row.target, None)

    def report(self, row: Row, value: dict[str, Any]) -> None:
        """Report a problem with an attribute by its name."""
        self.reading.note(getattr(say, row.target)(**value), f"{self.reading.model}.{row.more.at}")

    def lacking(self, row: Row, value: dict[str, Any]) -> None:
        """The same of one that is missing."""
        self.reading.lacking(getattr(say, row.target)(**value), f"{self.reading.model}.{row.more.at}")

    def refuse(self, row: Row) -> None:
        """Report that the real code stops because of a value."""
        self._refuse(row.more.at, self.words(row))

    def _refuse(self, name: str, why: Words) -> None:
        path = next((path for path in self.sources(name) if path in self.reading.places), self.reading.model)
        self.reading.note(say.rejected(why=why, version=self.version), path)

    def stop(self, row: Row) -> bool:
        """A value of the wrong kind: say which of those that the section works on are to blame, and end it."""
        del row
        first = self.blamed[0]
        open_already = any(isinstance(self[name], Undecided) for name in self.blamed)
        if first in self.fields and (open_already or self[first] is None):
            self.fields[first] = self.fields[first]._replace(decided=False)
        if not open_already:
            named = ", ".join(f"{name}={self[name]!r}" for name in self.blamed if self.sources(name))
            self._refuse(first, say.cannot_compute(named=named))
        return False


_own: dict[tuple[str, bool], tuple[dict[str, Sourced], dict[str, Setting]]] = {}


def _own_fields(catalog: dict[str, Any], *, mla: bool) -> tuple[dict[str, Sourced], dict[str, Setting]]:
    """The fields as a class has them by itself, and what is said of them: the same for every file."""
    key: tuple[str, bool] = catalog["version"], mla
    found = _own.get(key)
    if found is None:
        values: dict[str, Any] = {**catalog["transformer"], **(catalog["mla_transformer"] if mla else {})}
        paths = {f"resolved.transformer.{name}": value for name, value in values.items()}
        settings = {path: default_setting(path, value) for path, value in paths.items()}
        found = _own[key] = {name: Sourced(value) for name, value in values.items()}, settings
    return found


def transformer_config(reading: Reading, fields: dict[str, Sourced], *, mla: bool) -> None:
    """The fields of the (MLA)TransformerConfig, recorded under `resolved.transformer.`."""
    own, settings = _own_fields(reading.catalog, mla=mla)
    for name, one in fields.items():
        if name not in own:
            key = one.sources[0] if one.sources else name
            why = say.latent_alone(key=key, name=name)
            reading.note(say.rejected(why=why, version=reading.version), key)
    reading.resolved.update(settings)
    run = Fields(reading, {**own, **{name: one for name, one in fields.items() if name in own}}, {})
    run.resolve("transformer")
    for name, default in own.items():
        one = run.fields[name]
        if one is not default:
            reading.resolve(f"resolved.transformer.{name}", one.value, *one.sources, decided=one.decided)
