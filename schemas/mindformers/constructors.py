"""Classes that a section names by `type`, and what their constructors get: one engine for both graphs.

Source: `tools/register/register.py:MindFormerRegister.get_instance_from_cfg`, 1.6-2.1. The classes' signatures are in
the catalog. Which section names a class of which register, and what the trainer itself says, are rows of
`resolution.yaml`: `choose`, `fill` and `record`, with rows between them that change the arguments.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING, NamedTuple
from ..rows import Sourced
from .resolution import Values

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..rows import Row

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


class Builder(Values):
    """A run whose rows construct what sections name; an argument is a name for the rows, `<part>.<argument>`."""

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
        for key, one in self.under(f"{row.target}.").items():
            self.answer(f"resolved.{self.parts[row.target].under}.{key}", one)
