"""What MindSpore Transformers makes of a configuration: the rows of `resolution.yaml` over its values.

Every value carries the paths that decided it. What the real code refuses is a problem, and the reading goes on with
the value as written; a section that meets a value of a kind it cannot compute with names it and ends.
"""

from __future__ import annotations

from .. import rows
from ..light_typing import TYPE_CHECKING, NamedTuple
from ..message import Words
from ..named_module import named_module
from ..versions import names, number_of
from .constructors import Builder, Taken, no_such_class, string_number
from .messages_compiled import say
from .reading import Sourced, Undecided, default_setting

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..config import ReadOptions, Setting
    from ..rows import Expression, Row
    from .constructors import Part
    from .reading import Reading

VERSIONS = names("mindformers")
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


STAGES = {"static": ("attributes", "transformer", "trainer"), "dynamic": ("dynamic checks", "dynamic")}
"""The stages whose rows stand in one module."""
_known: dict[tuple[str, str], tuple[Section, ...]] = {}


def module_name(version: str, what: str) -> str:
    """The compiled module of a version's rows for one graph, or of their words."""
    return f"resolution_{version.replace('.', '_')}_{what}_compiled"


def _module(version: str, what: str) -> Any:
    """The same, loaded; a version that is not known has that of the one before it."""
    number = number_of(version)
    name = next((one for one in reversed(VERSIONS) if number_of(one) <= number), VERSIONS[0])
    return named_module(module_name(name, what), __package__)


def words_of(row: Row, version: str, run: Any) -> Words:
    """What a row says of the values at hand."""
    en, zh = _module(version, "words").WORDS.get(row.more.number, ("", ""))
    return Words(en if isinstance(en, str) else en(run), zh if isinstance(zh, str) else zh(run))


def sections(version: str, stage: str) -> tuple[Section, ...]:
    """The sections of a stage."""
    found = _known.get((version, stage))
    if found is None:
        module = _module(version, next(graph for graph, stages in STAGES.items() if stage in stages))
        found = _known[version, stage] = tuple(
            [
                Section(fields, condition, tuple([rows.Row._make((*head, More._make(more))) for *head, more in listed]))
                for fields, condition, listed in module.STAGES[stage]
            ]
        )
    return found


class Fields(rows.Run):
    """Named values under construction, each with the paths that decided it."""

    def __init__(self, reading: Reading, fields: dict[str, Sourced], place: str) -> None:
        self.reading = reading
        self.fields = fields
        self.place = place
        """Where a problem goes whose values nobody wrote."""
        self.locals: dict[str, Sourced] = {}
        self.extra: dict[str, Sourced] = {}
        self.failed: set[str] = set()
        self.blamed: tuple[str, ...] = ()

    def resolve(self, stage: str) -> None:
        """Apply the sections of a stage."""
        for section in sections(self.reading.version, stage):
            if section.condition is None or section.condition(self):
                self.blamed = section.fields
                self.follow(section.rows)

    def __getitem__(self, name: str) -> Any:
        """A value; None where this version has none of that name."""
        one = self.fields.get(name) or self.locals.get(name)
        return None if one is None else one.value

    def has(self, name: str) -> bool:
        """Whether there is such a value."""
        return name in self.fields

    def sources(self, name: str) -> tuple[str, ...]:
        """The paths that decided a value."""
        one = self.fields.get(name) or self.locals.get(name)
        return () if one is None else one.sources

    def write(self, name: str, value: Any, because: tuple[str, ...]) -> None:
        """Change a value that there is; `because` are the others that decided it."""
        if name in self.fields:
            self.fields[name] = Sourced(value, self._decided_by((name, *because)))

    def put(self, name: str, value: Any, because: str) -> None:
        """Change a value, or keep it beside the fields where there is none of that name."""
        if name in self.fields:
            self.write(name, value, (because,))
        else:
            self.extra[name] = Sourced(value, self.sources(because))

    def _decided_by(self, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(names) < 2:
            return self.sources(names[0]) if names else ()
        return tuple(dict.fromkeys([path for name in names for path in self.sources(name)]))

    def refuse(self, name: str, why: Words) -> None:
        """Report that the real code stops because of a value."""
        path = next((path for path in self.sources(name) if path in self.reading.places), None)
        self.reading.note(say.rejected(why=why, version=self.reading.version), path or self.place)

    # The actions of the rows.

    def set(self, row: Row, value: Any) -> None:
        """Write a value."""
        self.write(row.target, value, row.more.because)

    def let(self, row: Row, value: Any) -> None:
        """Keep a value for the rows below."""
        self.locals[row.target] = _sourced((value, self._decided_by(row.more.because), True))

    def require(self, row: Row, value: Any) -> None:
        """Report what does not hold."""
        if not value:
            self.refuse(row.more.at, self._words(row))

    def _words(self, row: Row) -> Words:
        return words_of(row, self.reading.version, self)

    def do(self, row: Row, value: Any) -> None:
        """The function was called with the run."""

    def stop(self, row: Row) -> bool:
        """A value of the wrong kind: say which of those that the section works on are to blame, and end it."""
        del row
        fields = self.blamed
        self.failed.update(name for name in fields[:1] if name in self.fields and self[name] is None)
        if any(isinstance(self[name], Undecided) for name in fields):
            self.failed.update(fields[:1])
            return False
        named = ", ".join(f"{name}={self[name]!r}" for name in fields if self.sources(name))
        self.refuse(fields[0], say.cannot_compute(named=named))
        return False


class Trainer(Builder, Fields):
    """What the trainer makes of the file: a path is the file's value until a row says what stands for it."""

    def __init__(self, reading: Reading, options: ReadOptions, *, legacy: bool) -> None:
        super().__init__(reading, {}, "")
        self.parts: dict[str, Part] = {}
        self.locals = {
            "option.world_size": Sourced(options.world_size),
            "option.steps": Sourced(options.steps, ("--steps",)),
            "option.dataset_size": Sourced(options.dataset_size, ("--dataset-size",)),
            "option.legacy": Sourced(legacy),
            "facts.version": Sourced(reading.version),
            "facts.loaders": Sourced(reading.catalog["loaders"]),
            "facts.data_keys": Sourced(reading.catalog["data_keys"]),
        }

    def __getitem__(self, name: str) -> Any:
        """A value; UndecidedError where it cannot be known."""
        one = self.locals.get(name)
        if one is None:
            return self.reading.get(name)
        if not one.decided:
            raise rows.UndecidedError
        return one.value

    def sources(self, name: str) -> tuple[str, ...]:
        """The paths that decided a value; of `=path` the path."""
        if name[0] == "=":
            return (name[1:],)
        one = self.locals.get(name)
        return (self._path(name),) if one is None else one.sources

    # What the expressions ask.

    def has(self, name: str) -> bool:
        """Whether there is such a value."""
        section, _, key = name.rpartition(".")
        return name in self.locals or key in self.reading.section(section)

    def written(self, name: str) -> bool:
        """Whether the file has it."""
        return name in self.reading.places

    def decided(self, name: str) -> bool:
        """Whether a value can be known."""
        one = self.locals.get(name)
        return "." in name if one is None else one.decided

    def now(self, name: str) -> Any:
        """A value; None where it cannot be known."""
        return self[name] if self.decided(name) else None

    def get(self, name: str, otherwise: Any) -> Any:
        """The file's value, or another one where it has none."""
        return self.reading.get(name, otherwise)

    # The actions of the rows.

    def set(self, row: Row, value: Any) -> None:
        """Record a value."""
        self.reading.resolve(row.target, value, *self._decided_by(row.more.because))

    def reset(self, row: Row, value: Any) -> None:
        """Let another value stand for a written one, and say so."""
        path, reading = row.target, self.reading
        if path in reading.places:
            why = self._words(row)
            reading.note(say.reset_value(key=path, value=reading.get(path), used=value, why=why), path)
        self.let(row, value)

    def refuse(self, name: str, why: Words) -> None:
        """Report that the real code stops because of a value."""
        self.reading.note(say.rejected(why=why, version=self.reading.version), self._path(name))

    def _path(self, name: str) -> str:
        """Where an argument of a part stands in the file."""
        name_of_part, _, key = name.partition(".")
        part = self.parts.get(name_of_part)
        return name if part is None else f"{part.section}.{key}"

    def report(self, row: Row, value: dict[str, Any]) -> None:
        """Report a problem by its name."""
        self.reading.note(getattr(say, row.target)(**value), self._path(row.more.because[0]))

    def expect(self, row: Row, value: Any) -> None:
        """Report a value of another kind than the code computes with."""
        if not value:
            self.wrong(row.more.at, self._words(row))

    def wrong(self, path: str, expected: Words, found: Any = None) -> None:
        """The same, in words."""
        reading = self.reading
        found = reading.get(path) if found is None else found
        shown = "null" if found is None else repr(found)
        reading.note(say.value_type(key=path, value=shown, expected=expected, version=reading.version), path)

    def lacking(self, row: Row, _: Any) -> None:
        """Report a key that the run stops without."""
        key = row.target.rpartition(".")[2]
        self.reading.lacking(
            say.missing_key(key=key, section=str(self._words(row)), version=self.reading.version), row.target
        )

    def lacks(self, row: Row, _: Any) -> None:
        """Report an argument that the schedule stops without."""
        self._lack(row.target, self._words(row))

    def complete(self, row: Row, _: Any) -> None:
        """Report the arguments of a part that have no default, and are not there."""
        for key in self.lacking_arguments(row.target):
            if key != "kwargs":
                self._lack(f"{row.target}.{key}", say.no_default())

    def _lack(self, name: str, why: Words) -> None:
        kind, key = self["schedule_class"], name.rpartition(".")[2]
        self.reading.lacking(say.schedule_argument(type=kind, key=key, why=why), self._path(name))

    # What a section names by `type`.

    def given(self, section: str) -> dict[str, Sourced]:
        """What a section of the file holds."""
        return {str(key): Sourced(value, (f"{section}.{key}",)) for key, value in self.reading.section(section).items()}

    def class_named(self, registry: str, section: str, kind: Any) -> Taken | None:
        """What is known of a class; None where there is none of that name, which is reported."""
        reading, path = self.reading, f"{section}.type"
        classes: dict[str, dict[str, Any]] = reading.catalog["registry"][registry]
        if not isinstance(kind, str) and path in reading.places:
            # tools/register/register.py:MindFormerRegister.get_cls finds no class of that name (1.6-2.1)
            self.wrong(path, say.name_of_a_class(), kind)
        if not isinstance(kind, str) or isinstance(kind, Undecided):
            return None
        facts = classes.get(kind)
        if facts is None and reading.get(f"{section}.auto_register") is None:
            no_such_class(reading, section, kind, classes)
        return None if facts is None else Taken(facts["class"], facts["args"], facts["open"])

    def foreign(self, taken: Taken, section: str, key: str) -> None:
        """Report a key that the class does not take, or takes and ignores."""
        reading, path = self.reading, f"{section}.{key}"
        reading.acceptance[path] = "ignored" if taken.open else "unknown"
        said = say.swallowed_argument(type=taken.name, key=key)
        if not taken.open:
            from ..suggestion import suggestion

            near = suggestion(key, taken.arguments)
            said = say.unknown_argument(type=taken.name, key=key, suggestion=near, version=reading.version)
        reading.note(said, path, on_key=True)

    def ignored(self, row: Row, value: dict[str, Any]) -> None:
        """Report the keys of a section that a class does not ask for."""
        taken = Taken(value["type"], dict.fromkeys(value["known"]), open=True)
        for key in self.reading.section(row.target):
            if key not in taken.arguments:
                self.foreign(taken, row.target, str(key))

    def number(self, part: Part, path: str) -> None:
        """Report a text where the constructor's code computes with a number."""
        if isinstance(self.reading.get(path), str):  # a message loads the catalogue of texts
            string_number(self.reading, path, getattr(say, part.stops)())

    def answer(self, path: str, one: Sourced) -> None:
        """Record a value."""
        self.reading.resolve(path, one.value, *one.sources, decided=one.decided)

    def leave_open(self, row: Row) -> bool:
        """What cannot be known leaves its target open."""
        sources = self._decided_by(row.more.because)
        if row.action == "set":
            self.reading.resolve(row.target, None, *sources, decided=False)
        elif row.target:
            self.locals[row.target] = Sourced(None, sources, decided=False)
        return True

    def stop(self, row: Row) -> bool:
        """Values of another kind leave it as it was: the checks of their kinds name them."""
        return self.leave_open(row) if row.action == "set" else True


class _Attributes(Fields):
    """What the constructor of a model's configuration makes of its arguments."""

    def write(self, name: str, value: Any, because: tuple[str, ...]) -> None:
        """Set an attribute; `because` is all that decided it."""
        self.fields[name] = Sourced(value, self._decided_by(because))

    def written(self, name: str) -> bool:
        """Whether it is not the class's own."""
        return bool(self.sources(name))

    def drop(self, row: Row, _: Any) -> None:
        """Take an attribute away."""
        self.fields.pop(row.target, None)


def constructed(reading: Reading, attributes: dict[str, Sourced], name: str) -> None:
    """Change the attributes as the constructor of the class does."""
    run = _Attributes(reading, attributes, "model.model_config")
    run.locals["model_class"] = Sourced(name)
    run.resolve("attributes")


class _Own(NamedTuple):
    """The fields as a class has them by itself, and what is said of them: the same for every file."""

    values: Mapping[str, Sourced]
    settings: Mapping[str, Setting]


_own: dict[tuple[str, bool], _Own] = {}


def _own_fields(catalog: dict[str, Any], *, mla: bool) -> _Own:
    key: tuple[str, bool] = catalog["version"], mla
    found = _own.get(key)
    if found is None:
        values: dict[str, Any] = {**catalog["transformer"], **(catalog["mla_transformer"] if mla else {})}
        paths = {f"resolved.transformer.{name}": value for name, value in values.items()}
        settings = {path: default_setting(path, value) for path, value in paths.items()}
        found = _own[key] = _Own({name: Sourced(value) for name, value in values.items()}, settings)
    return found


def transformer_config(reading: Reading, fields: dict[str, Sourced], *, mla: bool) -> None:
    """The fields of the (MLA)TransformerConfig, recorded under `resolved.transformer.`."""
    own = _own_fields(reading.catalog, mla=mla)
    run = Fields(reading, dict(own.values), "model.model_config")
    for name, one in fields.items():
        if name in run.fields:
            run.fields[name] = one
        else:
            key = one.sources[0] if one.sources else name
            why = say.latent_alone(key=key, name=name)
            reading.note(say.rejected(why=why, version=reading.version), key)
    run.resolve("transformer")
    reading.resolved.update(own.settings)
    for name, one in {**run.fields, **run.extra}.items():
        if one is own.values.get(name) and name not in run.failed:
            continue  # what the class has by itself
        decided = one.decided and not isinstance(one.value, Undecided) and name not in run.failed
        reading.resolve(f"resolved.transformer.{name}", one.value, *one.sources, decided=decided)
