"""The rows of `resolution.yaml` applied to a configuration: a path is its value until a row sets another one.

The rows of a version are compiled. Every value carries the paths that decided it. If the real code refuses a value,
that is a problem, and the reading goes on with the value as written; a section that meets a value of a kind it cannot
compute with names it and ends.

Classes that a section names by `type`, and what their constructors get, are the same in both graphs
(`tools/register/register.py:MindFormerRegister.get_instance_from_cfg`, 1.6-2.1; their signatures are in the catalog):
which section names a class of which register, and what the trainer itself says, are rows, `choose`, `fill` and
`record`, with rows between them that change the arguments.
"""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING, NamedTuple, named_module
from ..message import Words
from ..plain_values import in_full, is_list
from ..rows import Run, Sourced, UndecidedError
from ..shared_words import join_words
from ..versions import names, newest_until
from .config_state import Undecided
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from ..message import Severity
    from ..rows import Expression, Row
    from .config_state import Reading
    from .messages_compiled import ProblemName

VERSIONS = names("mindformers")
STAGES = {"static": ("model", "attributes", "transformer", "trainer"), "dynamic": ("dynamic checks", "dynamic")}
"""The stages whose rows stand in one module."""


class More(NamedTuple):
    """The members of a row beside its action: `Row.more`."""

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
    """Compiled module of a version, or of the version before an unknown one."""
    return named_module(module_name(newest_until(version, VERSIONS), what), __package__)


def sections(version: str, stage: str) -> tuple[Section, ...]:
    """The sections of a stage."""
    graph = next(graph for graph, stages in STAGES.items() if stage in stages)
    return _module(version, graph).STAGES[stage]


def words(version: str, row: Row, run: object) -> Words:
    """The message of a row for the values at hand."""
    texts = _module(version, "words").WORDS.get(row.more.number, ("", ""))
    return Words(*[text if isinstance(text, str) else text(run) for text in texts])


def definition(name: str) -> Callable[..., Any]:
    """A definition of the table by its name, for other programs."""
    return getattr(named_module("resolution_definitions_compiled", __package__), name)


def suggest(name: str, known: Iterable[str]) -> Words:
    """Suggestion for a misspelt name."""
    from ..suggestion import suggestion

    return suggestion(name, known)


REQUIRED = "<required>"
"""The default of an argument that has none."""


class Taken(NamedTuple):
    """A class, and what its constructor takes."""

    name: str
    arguments: Mapping[str, Any]
    open: bool = False
    """Whether it takes everything else, too, and does nothing with it."""


class Part(NamedTuple):
    """The result of a `choose` row, and the class that was chosen."""

    section: str
    registry: str = ""
    under: str = ""
    """The arguments are answered as `resolved.<under>.…`."""
    apart: tuple[str, ...] = ("type",)
    """Keys of the section that the trainer or the register reads, so that they are no mistake."""
    handed: tuple[str, ...] = ()
    """Arguments that the trainer always hands over, so that their defaults never count."""
    keeps: bool = False
    """Whether what the constructor does not take is answered all the same."""
    known: Taken | None = None


class Kind(NamedTuple):
    """The values of a kind; `is_spelled` also accepts a text that spells an integer of the range."""

    types: tuple[type, ...]
    least: int | None = None
    largest: int | None = None
    is_spelled: bool = False
    unit: str = ""
    """With one, a text: a number above 0 and the unit."""


KINDS = {
    "str": Kind((str,)),
    "int": Kind((int,)),
    "float": Kind((int, float)),
    "bool": Kind((bool,)),
    "positive": Kind((int,), 1),
    "seed": Kind((int,), 0, 2**32 - 1),
    "natural": Kind((int,), 0),
    "count": Kind((int,), is_spelled=True),
    "depth": Kind((bool, int, float), 1, 2**32 - 1, is_spelled=True),
    "memory": Kind((str,), unit="GB"),
    "dict": Kind((dict,)),
    "list": Kind((list,)),
}
"""The kinds of single values that the facts name; `models.py` makes its types of them, too."""


def fits(value: Any, kind: str) -> bool:
    """True if a value has a type given as text: `int?`, `list[int]`, `'O0' | 'O1'`."""
    options = kind.replace("?", " | None").split(" | ")
    if len(options) > 1:
        return any((value is None) if option == "None" else fits(value, option) for option in options)
    if kind.startswith("'"):
        return value == kind[1:-1]
    if kind.startswith("list["):
        return is_list(value) and all(fits(item, kind[5:-1]) for item in value)
    known = KINDS.get(kind)
    if value is None or known is None:
        return value is not None
    if known.is_spelled and isinstance(value, str):
        spelled = value.strip()
        if not spelled.removeprefix("-").isdecimal():
            return False
        value = int(spelled)
    if known.unit:
        return isinstance(value, str) and _is_amount(value, known.unit)
    return (
        type(value) in known.types
        and (known.least is None or value >= known.least)
        and (known.largest is None or value <= known.largest)
    )


def _is_amount(text: str, unit: str) -> bool:
    """True if a text is a positive number with a unit, as MindSpore requires."""
    number = text.removesuffix(unit)
    whole, _, rest = number.partition(".")
    digits = whole.isdecimal() and (not rest or rest.isdecimal()) and text.isascii()
    return number != text and digits and (whole[0] != "0" or (whole == "0" and bool(rest.strip("0"))))


def kind_words(kind: str) -> Words:
    """A kind for a message; choices are named together."""
    names = {
        "str": say.a_string(),
        "int": say.a_whole_number(),
        "natural": say.from_0_up(),
        "positive": say.above_0(),
        "depth": say.above_0(),
        "float": say.a_number(),
        "bool": say.true_or_false(),
        "dict": say.a_mapping(),
        "list": say.a_list(),
        "memory": say.amount_of_memory(),
        "None": "null",
    }
    options = kind.split(" | ")
    choices = ", ".join(option[1:-1] for option in options if option.startswith("'"))
    parts = [names.get(option, option) for option in options if not option.startswith("'")]
    return join_words([*([say.one_of(known=choices)] if choices else []), *parts], "or")


def wrong_kind(reading: Reading, path: str, value: Any, expected: Words, severity: Severity | None = None) -> None:
    """Report a value of another kind than the code computes with."""
    shown = "null" if value is None else in_full(repr(value))
    said = say.value_type(key=path, value=shown, expected=expected, version=reading.version)
    reading.note(said, path, severity=severity)


class Trainer(Run):
    """The values of one file while the rows are applied to them."""

    blamed: tuple[str, ...]
    """What to name where the section at hand cannot compute with a value."""

    def __init__(self, reading: Reading, known: dict[str, Sourced]) -> None:
        self.reading, self.version = reading, reading.version
        told = {"facts": reading.catalog, "facts.version": reading.version, "facts.section": reading.model}
        self.locals = {**{name: Sourced(value) for name, value in told.items()}, **known}
        self.parts: dict[str, Part] = {}
        """Where a part of the names stands in the file: the attributes of the model, the arguments of a class."""
        self.open: set[str] = set()
        """Names whose value a section could not make."""

    def resolve(self, stage: str) -> None:
        """Apply the sections of a stage."""
        for section in sections(self.version, stage):
            if section.condition is None or section.condition(self):
                self.blamed = section.fields
                self.follow(section.rows)

    def __getitem__(self, name: str) -> Any:
        """A value; UndecidedError where it cannot be known."""
        one = self.locals.get(name)
        if one is None:
            return self.reading.get(name)
        if not one.decided:
            raise UndecidedError
        return one.value

    def sources(self, name: str) -> tuple[str, ...]:
        """The paths that decided a value; of `=path` the path."""
        if name[0] == "=":
            return (name[1:],)
        one = self.locals.get(name)
        return (self.path(name),) if one is None else one.sources

    def source_paths(self, row: Row) -> tuple[str, ...]:
        """Paths that decided a row's value."""
        names = row.more.because
        if len(names) < 2:
            return self.sources(names[0]) if names else ()
        return tuple(dict.fromkeys([path for name in names for path in self.sources(name)]))

    def take(self, prefix: str) -> dict[str, Sourced]:
        """Values below a prefix, removed from the run."""
        found = self.under(prefix)
        for name in found:
            del self.locals[prefix + name]
        return found

    # What the expressions ask.

    def has(self, name: str) -> bool:
        """True if there is such a value."""
        section, _, key = name.rpartition(".")
        return name in self.locals or key in self.reading.section(section)

    def is_written(self, name: str) -> bool:
        """True if the file writes a name."""
        return self.path(name) in self.reading.places

    def is_decided(self, name: str) -> bool:
        """True if a value can be known."""
        one = self.locals.get(name)
        return "." in name if one is None else one.decided

    def now(self, name: str) -> Any:
        """Current value; None if it cannot be known."""
        return self[name] if self.is_decided(name) else None

    def get(self, name: str, otherwise: Any) -> Any:
        """File's value of a name; `otherwise` if absent."""
        return self.reading.get(name, otherwise)

    def path(self, name: str) -> str:
        """The place of a value in the file."""
        prefix, _, key = name.partition(".")
        part = self.parts.get(prefix)
        return name if part is None else f"{part.section}.{key}"

    def file_value(self, name: str) -> Any:
        """The value that the file itself has."""
        return self.reading.get(self.path(name))

    def has_problem(self, problem: ProblemName) -> bool:
        """True if a problem of this name was reported."""
        return any(one.kind is say.kinds[problem] for one in self.reading.problems)

    # The actions of the rows.

    def set(self, row: Row, value: Any) -> None:
        """Record a row's value."""
        self.reading.resolve(row.target, value, *self.source_paths(row))

    def reset(self, row: Row, value: Any) -> None:
        """Replace a written value and report it."""
        path, reading = row.target, self.reading
        if path in reading.places:
            why = words(self.version, row, self)
            reading.note(say.reset_value(key=path, value=reading.get(path), used=value, why=why), path)
        self.let(row, value)

    def drop(self, row: Row, _: Any) -> None:
        """Remove a value."""
        self.locals.pop(row.target, None)

    def refuse(self, row: Row) -> None:
        """Report that the real code stops because of a value."""
        self._refuse(row.more.at, words(self.version, row, self))

    def _refuse(self, name: str, why: Words) -> None:
        """Report that the framework rejects a value, at the place of the first key it comes from."""
        path = next((path for path in self.sources(name) if path in self.reading.places), self.path(name))
        self.reading.note(say.rejected(why=why, version=self.version), path)

    def report(self, row: Row, value: dict[str, Any]) -> None:
        """Report a row's problem by name."""
        self.reading.note(getattr(say, row.target)(**value), self.path(row.more.at))

    def report_missing(self, row: Row, value: dict[str, Any]) -> None:
        """Report a problem with something that is missing."""
        self.reading.note_missing(getattr(say, row.target)(**value), self.path(row.more.at))

    def expect(self, row: Row, value: Any) -> None:
        """Report a value of another kind than the code computes with."""
        if not value:
            wrong_kind(self.reading, row.more.at, self.reading.get(row.more.at), words(self.version, row, self))

    def leave_open(self, row: Row) -> bool:
        """Mark a row's target as undecided."""
        if row.action == "set":
            self.reading.resolve(row.target, None, *self.source_paths(row), decided=False)
        return super().leave_open(row)

    def stop(self, row: Row) -> bool:
        """Handle values of an unexpected type: the section ends with a report."""
        if not self.blamed:
            return self.leave_open(row) if row.action == "set" else True
        first = self.blamed[0]
        open_already = any(isinstance(self[name], Undecided) for name in self.blamed)
        if open_already or self[first] is None:
            self.open.add(first)
        if not open_already:
            named = [name for name in self.blamed if self.sources(name)] or self.blamed
            values = {name.partition(".")[2] or name: self[name] for name in named}
            self._refuse(first, say.cannot_compute(named=", ".join(f"{name}={one!r}" for name, one in values.items())))
        return False

    # Classes that a section names by `type`; an argument is a name for the rows, `<part>.<argument>`.

    def choose(self, row: Row, value: dict[str, Any]) -> None:
        """Select the class that a section names, with its written arguments."""
        part = Part(**value)
        given = self.section_values(part.section)
        kind = self.locals.get(f"{row.target}.type") or given.get("type") or Sourced(None, (f"{part.section}.type",))
        known = self.class_named(part.registry, part.section, kind.value)
        self.parts[row.target] = part._replace(known=known)
        name = kind.value if known is None else known.name
        self.answer(f"resolved.{part.under}.type", kind._replace(value=name))
        self.locals[f"{row.target}_class"] = Sourced(str(name))
        for key, one in given.items():
            self.locals.setdefault(f"{row.target}.{key}", one)

    def fill(self, row: Row, _: Any) -> None:
        """Complete the arguments by the constructor's defaults; reports keys it does not take."""
        part, prefix = self.parts[row.target], f"{row.target}."
        given = self.take(prefix)
        given.pop("type", None)
        if part.known is not None:
            arguments = part.known.arguments
            self.strange(
                part.known, part.section, [key for key in self.section_values(part.section) if key not in part.apart]
            )
            own = {
                key: given.pop(key, None) or Sourced(default)
                for key, default in arguments.items()
                if key in given or (default != REQUIRED and key not in part.handed)
            }
            given = {**own, **given} if part.keeps else own
        self.locals.update({prefix + key: one for key, one in given.items()})

    def complete(self, row: Row, _: Any) -> None:
        """Report required arguments that are missing."""
        known = self.parts[row.target].known
        for key, default in () if known is None else known.arguments.items():
            name = f"{row.target}.{key}"
            if default == REQUIRED and name not in self.locals:
                kind = self[f"{row.target}_class"]
                said = say.schedule_argument(type=kind, key=key, why=say.no_default())
                self.reading.note_missing(said, self.path(name))

    def record(self, row: Row, _: Any) -> None:
        """Store the arguments as the section's result."""
        for key, one in self.under(f"{row.target}.").items():
            self.answer(f"resolved.{self.parts[row.target].under}.{key}", one)

    def report_ignored(self, row: Row, value: dict[str, Any]) -> None:
        """Report the keys of a section that a class does not ask for."""
        taken = Taken(value["type"], dict.fromkeys(value["known"]), open=True)
        self.strange(taken, row.target, self.reading.section(row.target))

    def strange(self, taken: Taken, section: str, keys: Iterable[Any]) -> None:
        """Report keys of a section that its class does not take."""
        for key in [one for one in keys if one not in taken.arguments]:
            self.foreign(taken, section, str(key))

    # What the dynamic graph does in its own way.

    def section_values(self, section: str) -> dict[str, Sourced]:
        """The values of a section of the file, by its keys."""
        return {str(key): Sourced(value, (f"{section}.{key}",)) for key, value in self.reading.section(section).items()}

    def class_named(self, registry: str, section: str, kind: Any) -> Taken | None:
        """Facts of a registered class; None, with a report, if unknown."""
        reading, path = self.reading, f"{section}.type"
        classes: dict[str, dict[str, Any]] = reading.catalog["registry"][registry]
        if not isinstance(kind, str) and path in reading.places:
            # tools/register/register.py:MindFormerRegister.get_cls finds no class of that name (1.6-2.1)
            wrong_kind(reading, path, kind, say.name_of_a_class())
        if not isinstance(kind, str) or isinstance(kind, Undecided):
            return None
        facts = classes.get(kind)
        if facts is None and reading.get(f"{section}.auto_register") is None:
            meant = suggest(kind, classes)
            reading.note(say.unknown_class(section=section, value=kind, suggestion=meant, version=self.version), path)
        return None if facts is None else Taken(facts["class"], facts["args"], facts["open"])

    def foreign(self, taken: Taken, section: str, key: str) -> None:
        """Report a key that the class refuses or ignores."""
        reading, path = self.reading, f"{section}.{key}"
        reading.acceptance[path] = "ignored" if taken.open else "unknown"
        meant = suggest(key, taken.arguments)
        said = say.swallowed_argument(type=taken.name, key=key, suggestion=meant)
        if not taken.open:
            said = say.unknown_argument(type=taken.name, key=key, suggestion=meant, version=self.version)
        reading.note(said, path, on_key=True)

    def answer(self, path: str, one: Sourced) -> None:
        """Record a value with its sources."""
        self.reading.resolve(path, one.value, *one.sources, decided=one.decided)
