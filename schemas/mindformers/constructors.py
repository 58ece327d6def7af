"""Classes that a section names by `type`, and what their constructors get: one engine for both graphs.

Source: `tools/register/register.py:MindFormerRegister.get_instance_from_cfg`, 1.6-2.1. The classes' signatures are in
the catalog. Which section names a class of which register, and what the trainer itself says, are rows of
`resolution.yaml`: `choose`, `fill` and `record`, with rows between them that change the arguments.
"""

from __future__ import annotations

from .. import rows
from ..light_typing import TYPE_CHECKING, NamedTuple
from .messages_compiled import say
from .reading import Sourced, Undecided

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ..message import Words
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
    numbers: tuple[str, ...] = ()
    """Arguments that are computed with, where a text stops the run."""
    stops: str = ""
    """How it stops: a text of messages.yaml."""
    known: Taken | None = None


def no_such_class(reading: Reading, section: str, name: str, known: Iterable[str], path: str | None = None) -> None:
    """Report a name that no class of its kind has."""
    from ..suggestion import suggestion

    near = suggestion(name, known)
    said = say.unknown_class(section=section, value=name, suggestion=near, version=reading.version)
    reading.note(said, path or f"{section}.type")


def string_number(reading: Reading, path: str, why: Words) -> None:
    """Report a number that YAML 1.1 reads as a string, such as `1e-5`."""
    value = reading.get(path)
    if not isinstance(value, str) or isinstance(value, Undecided):
        return
    try:
        better = repr(float(value))
    except ValueError:
        better = say.a_number()
    if "e" in better and "." not in better:
        better = better.replace("e", ".e")
    reading.note(say.string_number(key=path, value=value, why=why, better=better), path)


class Builder(rows.Run):
    """A run whose rows construct what sections name; an argument is a name for the rows, `<part>.<argument>`."""

    locals: dict[str, Sourced]
    parts: dict[str, Part]

    # What the two graphs do each in its way.

    def given(self, section: str) -> dict[str, Sourced]:
        """What a section holds, by its keys."""
        raise NotImplementedError

    def class_named(self, registry: str, section: str, kind: Any) -> Taken | None:
        """What is known of a class; None where there is none of that name, which is reported."""
        raise NotImplementedError

    def foreign(self, taken: Taken, section: str, key: str) -> None:
        """Report a written key that the constructor does not take, or takes and ignores."""
        raise NotImplementedError

    def number(self, part: Part, path: str) -> None:
        """Report a text where the constructor's code computes with a number."""

    def answer(self, path: str, one: Sourced) -> None:
        """Record a value under `resolved.`."""
        raise NotImplementedError

    # What both do alike.

    def under(self, prefix: str) -> dict[str, Sourced]:
        """The values for the rows whose names begin so, by the rest."""
        return {name[len(prefix) :]: one for name, one in self.locals.items() if name.startswith(prefix)}

    def choose(self, row: Row, value: dict[str, Any]) -> None:
        """The class that a section names; its arguments are what is written, where no row above says otherwise."""
        part = Part(**value)
        given = self.given(part.section)
        kind = self.locals.get(f"{row.target}.type") or given.get("type") or Sourced(None, (f"{part.section}.type",))
        known = self.class_named(part.registry, part.section, kind.value)
        self.parts[row.target] = part._replace(known=known)
        name = kind.value if known is None else known.name
        self.answer(f"resolved.{part.under}.type", kind._replace(value=name))
        self.locals[f"{row.target}_class"] = Sourced(str(name))
        for key, one in given.items():
            self.locals.setdefault(f"{row.target}.{key}", one)

    def fill(self, row: Row, _: Any) -> None:
        """The constructor's arguments in its order, with its defaults; a key that is none of them is reported."""
        part, prefix = self.parts[row.target], f"{row.target}."
        given = self.under(prefix)
        for key in given:
            del self.locals[prefix + key]
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

    def record(self, row: Row, _: Any) -> None:
        """Answer with the arguments as they stand."""
        part = self.parts[row.target]
        for key, one in self.under(f"{row.target}.").items():
            self.answer(f"resolved.{part.under}.{key}", one)
        for key in part.numbers:
            self.number(part, f"{part.section}.{key}")

    def lacking_arguments(self, name: str) -> list[str]:
        """The arguments of a part that its class has no default for and nothing gives."""
        known = self.parts[name].known
        arguments: Mapping[str, Any] = {} if known is None else known.arguments
        return [key for key, default in arguments.items() if default == REQUIRED and f"{name}.{key}" not in self.locals]
