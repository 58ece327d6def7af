"""Classes that a section names by `type`, and what their constructors get: one engine for both graphs.

Source: `tools/register/register.py:MindFormerRegister.get_instance_from_cfg`, 1.6-2.1. The classes' signatures are in
the catalog. Which section names a class of which register, and what the trainer itself says, are rows of
`resolution.yaml`: `choose`, `fill` and `record`, with rows between them that change the arguments.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING, NamedTuple
from ..rows import Sourced
from .messages_compiled import say
from .reading import Undecided
from .resolution import near
from .trainer import Trainer, wrong_kind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..rows import Row
    from .reading import Reading

REQUIRED = "<required>"
"""The default of an argument that has none."""


class Taken(NamedTuple):
    """A class, and what its constructor takes."""

    name: str
    arguments: Mapping[str, Any]
    open: bool = False
    """Whether it takes everything else, too, and does nothing with it."""


class Part(NamedTuple):
    """What a `choose` row says, and the class that was chosen."""

    section: str
    registry: str
    under: str
    """The arguments are answered as `resolved.<under>.…`."""
    apart: tuple[str, ...] = ("type",)
    """Keys of the section that the trainer or the register reads, so that they are no mistake."""
    handed: tuple[str, ...] = ()
    """Arguments that the trainer always hands over, so that their defaults never count."""
    keeps: bool = False
    """Whether what the constructor does not take is answered all the same."""
    known: Taken | None = None


class Builder(Trainer):
    """A run whose rows construct what sections name; an argument is a name for the rows, `<part>.<argument>`."""

    def __init__(self, reading: Reading, known: dict[str, Sourced]) -> None:
        super().__init__(reading, known)
        self.parts: dict[str, Part] = {}

    def choose(self, row: Row, value: dict[str, Any]) -> None:
        """The class that a section names; its arguments are what is written, where no row above says otherwise."""
        part = Part(**value)
        given = self.given(part.section)
        kind = self.locals.get(f"{row.target}.type") or given.get("type") or Sourced(None, (f"{part.section}.type",))
        known = self.class_named(part.registry, part.section, kind.value)
        self.parts[row.target] = part._replace(known=known)
        self.sections[row.target] = part.section
        name = kind.value if known is None else known.name
        self.answer(f"resolved.{part.under}.type", kind._replace(value=name))
        self.locals[f"{row.target}_class"] = Sourced(str(name))
        for key, one in given.items():
            self.locals.setdefault(f"{row.target}.{key}", one)

    def fill(self, row: Row, _: Any) -> None:
        """The constructor's arguments in its order, with its defaults; a key that is none of them is reported."""
        part, prefix = self.parts[row.target], f"{row.target}."
        given = self.take(prefix)
        given.pop("type", None)
        if part.known is not None:
            arguments = part.known.arguments
            for key in self.given(part.section):
                if key not in arguments and key not in part.apart:
                    self.foreign(part.known, part.section, key)
            own = {
                key: given.pop(key, None) or Sourced(default)
                for key, default in arguments.items()
                if key in given or (default != REQUIRED and key not in part.handed)
            }
            given = {**own, **given} if part.keeps else own
        self.locals.update({prefix + key: one for key, one in given.items()})

    def complete(self, row: Row, _: Any) -> None:
        """Report the arguments of a schedule that have no default, and are not there."""
        known = self.parts[row.target].known
        for key, default in () if known is None else known.arguments.items():
            name = f"{row.target}.{key}"
            if default == REQUIRED and name not in self.locals:
                kind = self[f"{row.target}_class"]
                said = say.schedule_argument(type=kind, key=key, why=say.no_default())
                self.reading.lacking(said, self.path(name))

    def record(self, row: Row, _: Any) -> None:
        """Answer with the arguments as they stand."""
        for key, one in self.under(f"{row.target}.").items():
            self.answer(f"resolved.{self.parts[row.target].under}.{key}", one)

    def ignored(self, row: Row, value: dict[str, Any]) -> None:
        """Report the keys of a section that a class does not ask for."""
        taken = Taken(value["type"], dict.fromkeys(value["known"]), open=True)
        for key in self.reading.section(row.target):
            if key not in taken.arguments:
                self.foreign(taken, row.target, str(key))

    # What the dynamic graph does in its own way.

    def given(self, section: str) -> dict[str, Sourced]:
        """What a section of the file holds, by its keys."""
        return {str(key): Sourced(value, (f"{section}.{key}",)) for key, value in self.reading.section(section).items()}

    def class_named(self, registry: str, section: str, kind: Any) -> Taken | None:
        """What is known of a class; None where there is none of that name, which is reported."""
        reading, path = self.reading, f"{section}.type"
        classes: dict[str, dict[str, Any]] = reading.catalog["registry"][registry]
        if not isinstance(kind, str) and path in reading.places:
            # tools/register/register.py:MindFormerRegister.get_cls finds no class of that name (1.6-2.1)
            wrong_kind(reading, path, kind, say.name_of_a_class())
        if not isinstance(kind, str) or isinstance(kind, Undecided):
            return None
        facts = classes.get(kind)
        if facts is None and reading.get(f"{section}.auto_register") is None:
            meant = near(kind, classes)
            reading.note(say.unknown_class(section=section, value=kind, suggestion=meant, version=self.version), path)
        return None if facts is None else Taken(facts["class"], facts["args"], facts["open"])

    def foreign(self, taken: Taken, section: str, key: str) -> None:
        """Report a key that the class does not take, or takes and ignores."""
        reading, path = self.reading, f"{section}.{key}"
        reading.acceptance[path] = "ignored" if taken.open else "unknown"
        said = say.swallowed_argument(type=taken.name, key=key)
        if not taken.open:
            meant = near(key, taken.arguments)
            said = say.unknown_argument(type=taken.name, key=key, suggestion=meant, version=self.version)
        reading.note(said, path, on_key=True)

    def answer(self, path: str, one: Sourced) -> None:
        """Record a value."""
        self.reading.resolve(path, one.value, *one.sources, decided=one.decided)
