"""What the trainer makes of a configuration: a path is its value until a row says what stands for it.

Every value carries the paths that decided it. What the real code refuses is a problem, and the reading goes on with
the value as written; a section that meets a value of a kind it cannot compute with names it and ends.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from ..rows import Run, Sourced, UndecidedError
from .messages_compiled import say
from .reading import Undecided
from .resolution import sections, words

if TYPE_CHECKING:
    from typing import Any

    from ..message import Severity, Words
    from ..rows import Row
    from .reading import Reading

_LONGEST = 60
"""How much of a value is shown."""


def wrong_kind(reading: Reading, path: str, value: Any, expected: Words, severity: Severity | None = None) -> None:
    """Report a value of another kind than the code computes with."""
    shown = "null" if value is None else repr(value)
    shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
    said = say.value_type(key=path, value=shown, expected=expected, version=reading.version)
    reading.note(said, path, severity=severity)


class Trainer(Run):
    """The values of one file while the rows are applied to them."""

    blamed: tuple[str, ...]
    """What to name where the section at hand cannot compute with a value."""

    def __init__(self, reading: Reading, known: dict[str, Sourced]) -> None:
        self.reading = reading
        self.version = reading.version
        self.locals = {"facts": Sourced(reading.catalog), "facts.version": Sourced(reading.version), **known}
        self.sections: dict[str, str] = {}
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

    def decided_by(self, row: Row) -> tuple[str, ...]:
        """The paths that decided what the row says."""
        names = row.more.because
        if len(names) < 2:
            return self.sources(names[0]) if names else ()
        return tuple(dict.fromkeys([path for name in names for path in self.sources(name)]))

    def under(self, prefix: str) -> dict[str, Sourced]:
        """The values for the rows whose names begin so, by the rest."""
        return {name[len(prefix) :]: one for name, one in self.locals.items() if name.startswith(prefix)}

    def take(self, prefix: str) -> dict[str, Sourced]:
        """The same, taken away."""
        found = self.under(prefix)
        for name in found:
            del self.locals[prefix + name]
        return found

    # What the expressions ask.

    def has(self, name: str) -> bool:
        """Whether there is such a value."""
        section, _, key = name.rpartition(".")
        return name in self.locals or key in self.reading.section(section)

    def written(self, name: str) -> bool:
        """Whether the file has it."""
        return self.path(name) in self.reading.places

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

    def path(self, name: str) -> str:
        """Where a value stands in the file."""
        part, _, key = name.partition(".")
        section = self.sections.get(part)
        return name if section is None else f"{section}.{key}"

    def asked(self, name: str) -> Any:
        """What the file itself has for it."""
        return self.reading.get(self.path(name))

    # The actions of the rows.

    def set(self, row: Row, value: Any) -> None:
        """Record a value."""
        self.reading.resolve(row.target, value, *self.decided_by(row))

    def reset(self, row: Row, value: Any) -> None:
        """Let another value stand for a written one, and say so."""
        path, reading = row.target, self.reading
        if path in reading.places:
            why = words(self.version, row, self)
            reading.note(say.reset_value(key=path, value=reading.get(path), used=value, why=why), path)
        self.let(row, value)

    def drop(self, row: Row, _: Any) -> None:
        """Take a value away."""
        self.locals.pop(row.target, None)

    def refuse(self, row: Row) -> None:
        """Report that the real code stops because of a value."""
        self._refuse(row.more.at, words(self.version, row, self))

    def _refuse(self, name: str, why: Words) -> None:
        path = next((path for path in self.sources(name) if path in self.reading.places), self.path(name))
        self.reading.note(say.rejected(why=why, version=self.version), path)

    def report(self, row: Row, value: dict[str, Any]) -> None:
        """Report a problem by its name."""
        self.reading.note(getattr(say, row.target)(**value), self.path(row.more.at))

    def lacking(self, row: Row, value: dict[str, Any]) -> None:
        """Report a problem with something that is missing."""
        self.reading.lacking(getattr(say, row.target)(**value), self.path(row.more.at))

    def expect(self, row: Row, value: Any) -> None:
        """Report a value of another kind than the code computes with."""
        if not value:
            wrong_kind(self.reading, row.more.at, self.reading.get(row.more.at), words(self.version, row, self))

    def leave_open(self, row: Row) -> bool:
        """What cannot be known leaves its target open."""
        if row.action == "set":
            self.reading.resolve(row.target, None, *self.decided_by(row), decided=False)
        return super().leave_open(row)

    def stop(self, row: Row) -> bool:
        """Values of another kind: their section names them and ends; without one, the checks of their kinds do."""
        if not self.blamed:
            return self.leave_open(row) if row.action == "set" else True
        first = self.blamed[0]
        open_already = any(isinstance(self[name], Undecided) for name in self.blamed)
        if open_already or self[first] is None:
            self.open.add(first)
        if not open_already:
            values = {name.partition(".")[2]: self[name] for name in self.blamed if self.sources(name)}
            self._refuse(first, say.cannot_compute(named=", ".join(f"{name}={one!r}" for name, one in values.items())))
        return False
